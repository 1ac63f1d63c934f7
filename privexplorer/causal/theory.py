"""What privacy costs: private influence functions, efficiency bounds, exact bias, sample sizes, small-sample rule.

Holds Thm 1, Thm 2, (8), (9), (17), (18), Lem 3(vii), (35) and sections 1.2, 1.6, 2.7 of locally_private_inference. The
variance under a mechanism that keeps the value with probability a has three parts (derived, checked in
tests/unit/causal/test_theory.py),

    σ²(a) = T₀ + (1 - a)/a · T₁ + (1 - a)/a² · T₂,

all non-negative: what is lost anyway, the mixing, and the spread of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.causal.estimate import normal_quantile
from privexplorer.causal.laws import FiniteLaw
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteNoise, check_keep_probability
from privexplorer.causal.operators import Finite, invert, mix, tangent_basis
from privexplorer.causal.targets import ATE, ATT, CausalTarget, MeanUnder, Nuisances, Target, UntreatedMeanOfTreated
from privexplorer.errors import ParameterError, UnsupportedCombination

GuardLevel = Literal["green", "amber", "red", "refused"]

GREEN, AMBER, RED = 90.0, 30.0, 10.0
"""Thresholds of the small-sample rule; read off simulations (section 6), not proved."""


# --- influence function and bound -----------------------------------------------------------------------------


def private_influence(h: ArrayLike, mechanism: Finite) -> FloatArray:
    """ψ = Q⁻¹χ: efficient influence function from what is shown (Thm 2); tables (..., x) to (..., z)."""
    return invert(mechanism, h)


def second_moment(h: ArrayLike, law: ArrayLike) -> float:
    """Mean of h² under a law of the same shape."""
    return float(np.sum(np.asarray(law) * np.asarray(h, dtype=np.float64) ** 2))


def efficiency_bound(law: FiniteLaw, target: Target, mechanism: Finite | None = None) -> float:
    """Smallest asymptotic variance of √n(estimate - truth) (17); without a mechanism: for open data (Prop. 1)."""
    h = target.influence(law)
    if mechanism is None:
        return second_moment(h, law.joint)
    if isinstance(mechanism, AlphaIdentity):
        return float(decompose(h, law.joint, _noise(mechanism)).variance(mechanism.keep_probability))
    return second_moment(invert(mechanism, h), law.privatised(mechanism))


def _noise(mechanism: AlphaIdentity) -> FloatArray:
    if not isinstance(mechanism.noise, FiniteNoise):
        raise UnsupportedCombination("A law over categories needs noise over categories.", field="noise")
    return mechanism.noise.probabilities


@dataclass(frozen=True)
class Decomposition:
    """Three numbers that give the whole privacy curve (derived, section 1.6).

    Attributes
    ----------
    t0 : float
        Variance without noise.
    t1 : float
        E(h - h̄)²: how far the score lies from its noise average.
    t2 : float
        Spread of the score under the noise.
    noise_square : float
        E h² with the private value drawn from the noise; only the bands need it (NaN: not known).
    """

    t0: float
    t1: float
    t2: float
    noise_square: float = math.nan

    def variance(self, keep_probability: ArrayLike) -> FloatArray:
        """σ²(a), shaped like ``keep_probability`` (each in (0, 1])."""
        keep = _keeps(keep_probability)
        lost = (1.0 - keep) / keep
        return np.asarray(self.t0 + lost * self.t1 + lost / keep * self.t2)

    def parts(self, keep_probability: ArrayLike) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the three terms of σ²(a)."""
        keep = _keeps(keep_probability)
        lost = (1.0 - keep) / keep
        return np.full_like(lost, self.t0), np.asarray(lost * self.t1), np.asarray(lost / keep * self.t2)

    def price(self, keep_probability: ArrayLike) -> FloatArray:
        """σ²(a)/σ²(1): how many times as many people are needed."""
        return self.variance(keep_probability) / self.t0

    def printed_band(self, keep_probability: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound of (18) and Lem 3(vii): valid, loose (E3)."""
        keep, square = _keeps(keep_probability), self._square()
        low = self.t0 + (1.0 - keep) / keep * self.t2
        high = (2.0 - keep) / keep * self.t0 + 2.0 * (2.0 - keep) * (1.0 - keep) / keep**2 * square
        return np.asarray(low), np.asarray(high)

    def tight_band(self, keep_probability: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Tighter bounds in the same quantities (derived, section 1.6)."""
        keep, square = _keeps(keep_probability), self._square()
        low = self.t0 + (1.0 - keep) / keep**2 * self.t2
        high = (2.0 - keep) / keep * self.t0 + (1.0 - keep) * np.maximum(1.0, 2.0 * keep) / keep**2 * square
        return np.asarray(low), np.asarray(high)

    def _square(self) -> float:
        if math.isnan(self.noise_square):
            raise UnsupportedCombination("The bounds of this law are not available, only its exact curve.")
        return self.noise_square


def _keeps(keep_probability: ArrayLike) -> FloatArray:
    keep = np.asarray(keep_probability, dtype=np.float64)
    if keep.size and not (np.all(keep > 0) and np.all(keep <= 1)):
        check_keep_probability(float(keep.reshape(-1)[~((keep > 0) & (keep <= 1)).reshape(-1)][0]))
    return keep


def decompose(h: ArrayLike, joint: ArrayLike, noise: ArrayLike) -> Decomposition:
    """T₀, T₁ and T₂ of a score table.

    Parameters
    ----------
    h, joint : (..., J) array_like
        Score and law, private category last; all other axes together are v.
    noise : (J,) array_like
        Noise probabilities.
    """
    score, law, q = (np.asarray(a, dtype=np.float64) for a in (h, joint, noise))
    average = np.sum(score * q, axis=-1, keepdims=True)
    v = law.sum(axis=-1)
    return Decomposition(
        t0=float(np.sum(law * score**2)),
        t1=float(np.sum(law * (score - average) ** 2)),
        t2=float(np.sum(v * np.sum(q * (score - average) ** 2, axis=-1))),
        noise_square=float(np.sum(v * np.sum(q * score**2, axis=-1))),
    )


def decomposition(law: FiniteLaw, target: Target, noise: FiniteNoise) -> Decomposition:
    """T₀, T₁ and T₂ of a target under a finite law."""
    return decompose(target.influence(law), law.joint, noise.probabilities)


# --- people ---------------------------------------------------------------------------------------------------


def _positive(value: float, what: str, field: str) -> float:
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(f"{what} must be a finite number above 0; it is {value:g}.", field=field)
    return float(value)


def sample_size(variance: ArrayLike, width: float, level: float = 0.95) -> FloatArray:
    """People needed for an interval of this full width, ⌈(2z)²σ²/w²⌉, shaped like ``variance``.

    Examples
    --------
    >>> float(sample_size(1.08492738095, 0.1))
    1668.0
    """
    full = 2.0 * normal_quantile(level) / _positive(width, "The width of the interval", "width")
    return np.asarray(np.ceil(full**2 * np.asarray(variance, dtype=np.float64)))


def sample_size_for_power(variance: ArrayLike, effect: float, level: float = 0.95, power: float = 0.8) -> FloatArray:
    """People needed to find an effect of this size with probability ``power``, ⌈(z + z_power)²σ²/effect²⌉.

    Parameters
    ----------
    variance : array_like
        σ² of the estimate times n.
    effect : float
        Size of the effect, not 0.
    level : float
        Level of the two-sided interval, in (0, 1).
    power : float
        In (0, 1).
    """
    if not 0.0 < power < 1.0:
        raise ParameterError(f"The power must lie strictly between 0 and 1; it is {power:g}.", field="power")
    size = _positive(abs(effect), "The size of the effect to be found", "effect")
    reach = max(0.0, normal_quantile(level) + NormalDist().inv_cdf(power)) / size
    return np.asarray(np.ceil(reach**2 * np.asarray(variance, dtype=np.float64)))


def effective_sample_size(n: ArrayLike, open_variance: ArrayLike, private_variance: ArrayLike) -> FloatArray:
    """People with open data that tell as much as ``n`` with noise: n·σ²(1)/σ²(a)."""
    return np.asarray(np.asarray(n) * np.asarray(open_variance) / np.asarray(private_variance), dtype=np.float64)


# --- who ignores the noise ------------------------------------------------------------------------------------


def naive_value(law: FiniteLaw, target: Target, mechanism: Finite) -> float:
    """Return what an analysis finds in the limit that takes the shown value for the true one (section 1.6)."""
    return target.value(law.shown_law(mechanism))


def unadjusted_contrast(law: FiniteLaw) -> float:
    """E[Y | D = 1] - E[Y | D = 0]: where the naive ATE and ATT go as the keep probability goes to 0."""
    arms = np.einsum("y,ydx->d", law.values, law.joint) / law.p_dx.sum(axis=1)
    return float(arms[1] - arms[0])


# --- exact bias (Thm 1) ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BiasExpansion:
    """Both sides of Thm 1 at arbitrary nuisances.

    Attributes
    ----------
    error : float
        Left side: χ' - χ + P χ̃', the bias of the one-step estimate at these nuisances.
    product : float
        -P(r - r')(μ - μ'), summed over the regressions: zero if either is right.
    low_dimensional : float
        (γ - γ')(p/p' · e'' - e'), summed over the low-dimensional means.
    curvature : float
        What is left of f in γ beyond its tangent, with a minus sign.
    product_limit : float
        ‖r - r'‖·‖μ - μ'‖, which the product cannot exceed.
    """

    error: float
    product: float
    low_dimensional: float
    curvature: float
    product_limit: float

    @property
    def total(self) -> float:
        """Right side."""
        return self.product + self.low_dimensional + self.curvature

    @property
    def gap(self) -> float:
        """Left minus right: 0 up to rounding."""
        return self.error - self.total


def bias_expansion(law: FiniteLaw, target: Target, nuisances: Nuisances) -> BiasExpansion:
    """Thm 1 with all terms, for any nuisances.

    Notes
    -----
    The last term is evaluated as the exact remainder of f in γ, so no intermediate point is searched for. The same
    numbers hold with noise, because P_VZ Q⁻¹ = P_VX (28).
    """
    truth = target.nuisances(law)
    error = nuisances.value - truth.value + law.mean(target.influence(law, nuisances))
    product, limit = 0.0, 0.0
    for given, r, r_used, mu, mu_used in zip(
        target.on_arms(),
        truth.representers,
        nuisances.representers,
        truth.regressions,
        nuisances.regressions,
        strict=True,
    ):
        weights = law.p_dx if given else law.p_x[None, :]
        product -= float(np.sum(weights * (r - r_used) * (mu - mu_used)))
        limit += math.sqrt(float(np.sum(weights * (r - r_used) ** 2)) * float(np.sum(weights * (mu - mu_used) ** 2)))
    gap = truth.gammas - nuisances.gammas
    at_used = target.mean_slopes(law, nuisances.regressions, nuisances.gammas)
    low = float(np.sum(gap * (truth.shares / nuisances.shares * nuisances.slopes - at_used)))
    rest = (
        target.mean_integrand(law, nuisances.regressions, truth.gammas)
        - target.mean_integrand(law, nuisances.regressions, nuisances.gammas)
        - float(np.sum(at_used * gap))
    )
    return BiasExpansion(error, product, low, -rest, limit)


def treatment_nuisances(
    law: FiniteLaw,
    target: CausalTarget,
    *,
    propensity: ArrayLike | None = None,
    mu: ArrayLike | None = None,
    treated_share: float | None = None,
    slope: float | None = None,
    value: float | None = None,
) -> Nuisances:
    """Nuisances of a causal target from a propensity and a regression, true where nothing is given.

    Parameters
    ----------
    propensity : (J,) array_like
        π', strictly between 0 and 1; with ``treated_share`` it gives r'.
    mu : (2, J) array_like
        μ'.
    treated_share, slope, value : float
        γ', e'' and χ'; the slope is the mean of ∂f/∂γ at (μ', γ') if not given.
    """
    truth = target.nuisances(law)
    pi = law.propensity if propensity is None else np.asarray(propensity, dtype=np.float64)
    if not np.all((pi > 0) & (pi < 1)):
        raise ParameterError("The propensity must lie strictly between 0 and 1 everywhere.", field="propensity")
    regressions = truth.regressions if mu is None else (np.asarray(mu, dtype=np.float64),)
    gammas = truth.gammas if treated_share is None or not truth.gammas.size else np.array([treated_share])
    share = float(gammas[0]) if gammas.size else math.nan
    representer = target.representer(np.arange(2)[:, None], pi, share)
    slopes = target.mean_slopes(law, regressions, gammas)
    if slope is not None and gammas.size:
        slopes = np.array([float(slope)])
    return Nuisances(
        regressions, (representer,), gammas, truth.shares, slopes, truth.value if value is None else float(value)
    )


def product_bias(
    law: FiniteLaw, target: CausalTarget, propensity: ArrayLike, mu: ArrayLike, treated_share: float | None = None
) -> float:
    """First term of Thm 1 in closed form (Ex. 2 and Ex. 3, bias).

    Parameters
    ----------
    propensity : (J,) array_like
        π'.
    mu : (2, J) array_like
        μ'.
    treated_share : float, optional
        p₁' for targets on the treated; true if not given.

    Raises
    ------
    UnsupportedCombination
        For a target without a closed form; ``bias_expansion`` does all.
    """
    used, true = np.asarray(propensity, dtype=np.float64), law.propensity
    gap = np.asarray(mu, dtype=np.float64) - law.mu
    p1 = law.treated_share
    p1_used = p1 if treated_share is None else float(treated_share)

    def mean(values: FloatArray) -> float:
        return float(np.sum(law.p_x * values))

    def in_arm(arm: int) -> float:
        if arm == 1:
            return mean((used - true) / used * gap[1])
        return mean((true - used) / (1.0 - used) * gap[0])

    def of_treated(arm: int) -> float:
        return (p1_used - p1) / (p1_used * p1) * mean(true * gap[arm])

    untreated = of_treated(0) + mean((true - used) * gap[0] / (1.0 - used)) / p1_used
    match target:
        case MeanUnder():
            return in_arm(target.arm)
        case ATE():
            return in_arm(1) - in_arm(0)
        case UntreatedMeanOfTreated():
            return untreated
        case ATT():
            return of_treated(1) - untreated
    raise UnsupportedCombination("There is no closed form of the bias for this target.", field="target")


# --- checks along paths ---------------------------------------------------------------------------------------

_CENTRAL = ((1, 45.0 / 60.0), (2, -9.0 / 60.0), (3, 1.0 / 60.0))  # sixth-order difference
_LARGEST_MOVE = 5e-3


@dataclass(frozen=True)
class GateauxCheck:
    """Derivative of a target along a path, by differences and by its influence function (Prop. 1, (35)).

    Attributes
    ----------
    difference : float
        Central difference of sixth order.
    inner_product : float
        Mean of score times influence function.
    """

    difference: float
    inner_product: float

    @property
    def gap(self) -> float:
        """How far they are apart."""
        return self.difference - self.inner_product


def gateaux_check(
    law: FiniteLaw,
    target: Target,
    direction: ArrayLike,
    mechanism: Finite | None = None,
    influence: ArrayLike | None = None,
) -> GateauxCheck:
    """Compare the derivative of χ along p·(1 + t·s) with E[s·χ̃]; with a mechanism both for what is shown (Thm 2).

    Parameters
    ----------
    direction : (Y, 2, J) array_like
        Any table; its mean is taken off.
    mechanism : AlphaIdentity or FiniteMechanism, optional
        Then the path runs through the law of (V, Z) and χ is read off through the inverse.
    influence : (Y, 2, J) array_like, optional
        Influence function to be tried instead of the target's own.
    """
    score = target.influence(law) if influence is None else np.asarray(influence, dtype=np.float64)
    base = law.joint if mechanism is None else law.privatised(mechanism)
    s = np.broadcast_to(np.asarray(direction, dtype=np.float64), base.shape)
    move = base * (s - float(np.sum(base * s)))
    inner = float(np.sum(move * (score if mechanism is None else invert(mechanism, score))))
    if mechanism is not None:
        inverse = mechanism.finite().inverse
        move = np.einsum("xz,ydz->ydx", inverse, move)
    supported = law.joint > 0
    largest = float(np.max(np.abs(move[supported]) / law.joint[supported]))
    if largest == 0:
        return GateauxCheck(0.0, inner)
    step = _LARGEST_MOVE / largest
    total = 0.0
    for k, weight in _CENTRAL:
        tables = [law.joint + sign * k * step * move for sign in (1, -1)]
        # the mass is 1 already, unless the inverse is a wrong one, which then shows in the gap
        ahead, behind = (FiniteLaw(table / table.sum(), law.values) for table in tables)
        total += weight * (target.value(ahead) - target.value(behind))
    return GateauxCheck(total / step, inner)


def plug_in_remainder(law: FiniteLaw, target: Target, direction: ArrayLike, step: float) -> float:
    """χ(P') - χ(P) + P χ̃' along P' = p·(1 + step·s): of second order in the step (9)."""
    moved = FiniteLaw(law.tilted(direction, step), law.values)
    return target.value(moved) - target.value(law) + law.mean(target.influence(moved))


# --- noise outside the data (E4) ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ExtensionBound:
    """Bound when noise lands where the data has no mass, so that the score is not determined there (E4).

    Attributes
    ----------
    bound : float
        Smallest variance over all extensions: the efficiency bound.
    influence : (..., J) float array
        The best extension of the score.
    """

    bound: float
    influence: FloatArray


def extension_bound(h: ArrayLike, joint: ArrayLike, mechanism: Finite) -> ExtensionBound:
    """Smallest variance over all values that the score can be given outside the data's support (E4; derived).

    Parameters
    ----------
    h, joint : (..., J) array_like
        Score and law; where the law is 0 the score is free, whatever it holds.
    """
    law = np.asarray(joint, dtype=np.float64)
    table = np.where(law > 0, np.asarray(h, dtype=np.float64), 0.0).reshape(-1, law.shape[-1])
    p = law.reshape(-1, law.shape[-1])
    root = np.sqrt(mix(mechanism, p))
    inverse = mechanism.finite().inverse
    best = table.copy()
    for v in range(p.shape[0]):
        free = p[v] <= 0
        if free.any() and p[v].sum() > 0:
            design = (inverse * root[v]).T  # (z, x)
            fixed = np.einsum("zx,x->z", design, table[v])
            best[v, free] = -np.linalg.lstsq(design[:, free], fixed, rcond=None)[0]
    psi = invert(mechanism, best)
    return ExtensionBound(second_moment(psi, root**2), best.reshape(law.shape))


def projection_bound(h: ArrayLike, joint: ArrayLike, mechanism: Finite) -> float:
    """Second moment of the projection of Q⁻¹h on the private tangent space, for any extension h (Lem 1, E4)."""
    law = np.asarray(joint, dtype=np.float64)
    root = np.sqrt(mix(mechanism, law)).reshape(-1)
    basis = tangent_basis(mechanism.finite().matrix, law)
    psi = invert(mechanism, np.asarray(h, dtype=np.float64)).reshape(-1) * root
    return float(np.sum(np.einsum("ij,i->j", basis, psi) ** 2))


# --- small samples (section 2.7) ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Guard:
    """Verdict of the small-sample rule.

    Attributes
    ----------
    kappa : float
        People who effectively tell something about the thinnest cell or coefficient.
    level : str
        "green", "amber", "red" or "refused".
    sentence : str
        The verdict for a reader.
    """

    kappa: float
    level: GuardLevel
    sentence: str


_VERDICTS: dict[GuardLevel, str] = {
    "green": "There are enough people for this much noise: intervals covered as they should in simulations like this.",
    "amber": "There are few people for this much noise: expect a bias of up to one standard error.",
    "red": "There are very few people for this much noise: the interval may be unreliable.",
    "refused": "There are too few people for this much noise, so no interval is given.",
}


def small_sample_guard(
    n: float, keep_probability: float, *, smallest_cell: float | None = None, coefficients: int | None = None
) -> Guard:
    """Judge whether n people suffice (empirical rule, section 2.7).

    Parameters
    ----------
    n : float
        People.
    keep_probability : float
        For any finite mechanism: its smallest singular value.
    smallest_cell : float
        min P(d, x) for categories: κ = n·a²·min P(d, x).
    coefficients : int
        Largest number of coefficients per nuisance otherwise: κ = n·a²/(10·K). Give exactly one of the two.

    Examples
    --------
    >>> small_sample_guard(3000, 0.5, smallest_cell=0.12).level
    'green'
    """
    if (smallest_cell is None) == (coefficients is None):
        raise ParameterError("Give either the smallest cell or the number of coefficients.", field="n")
    people = n * keep_probability**2
    kappa = float(people * smallest_cell if smallest_cell is not None else people / (10.0 * int(coefficients or 1)))
    # a value that is a threshold up to rounding counts as reached
    reached = kappa * (1.0 + 1e-9)
    level: GuardLevel = (
        "green" if reached >= GREEN else "amber" if reached >= AMBER else "red" if reached >= RED else "refused"
    )
    verdict = _VERDICTS[level].removesuffix(".")
    if keep_probability == 1.0 and smallest_cell is not None:
        verdict = verdict.replace("for this much noise", "in the smallest group")
    return Guard(kappa, level, f"{verdict} (κ = {kappa:.3g}; green from {GREEN:g}).")


def least_people(keep_probability: ArrayLike, level: GuardLevel = "green", *, smallest_cell: float) -> FloatArray:
    """Smallest n that reaches a level of the small-sample rule, for categories."""
    floor = {"green": GREEN, "amber": AMBER, "red": RED, "refused": 0.0}[level]
    return np.asarray(np.ceil(floor / (_keeps(keep_probability) ** 2 * smallest_cell) * (1.0 - 1e-9)))


__all__ = [
    "AMBER",
    "GREEN",
    "RED",
    "BiasExpansion",
    "Decomposition",
    "ExtensionBound",
    "GateauxCheck",
    "Guard",
    "GuardLevel",
    "bias_expansion",
    "decompose",
    "decomposition",
    "effective_sample_size",
    "efficiency_bound",
    "extension_bound",
    "gateaux_check",
    "least_people",
    "naive_value",
    "plug_in_remainder",
    "private_influence",
    "product_bias",
    "projection_bound",
    "sample_size",
    "sample_size_for_power",
    "second_moment",
    "small_sample_guard",
    "treatment_nuisances",
    "unadjusted_contrast",
]
