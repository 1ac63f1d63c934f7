"""Anatomy of the error: Gaussian part, empirical-process part and bias of a one-step estimate ((26)-(28), (62)-(67)).

On a law that is known the error of the estimate splits exactly. The first part is a mean of the true private influence
function, the second tends to 0 when the nuisances are consistent where the noise lands (Lem 2 and 9), and the third is
the right-hand side of Thm 1 at the fitted nuisances, the same with and without noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.causal import discrete
from privexplorer.causal.laws import FiniteLaw
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism
from privexplorer.causal.operators import invert
from privexplorer.causal.targets import CausalTarget, Nuisances, Target
from privexplorer.causal.theory import bias_expansion, private_influence
from privexplorer.distributions.checks import whole_number
from privexplorer.errors import DataError, ParameterError

Finite = AlphaIdentity | FiniteMechanism


@dataclass(frozen=True, eq=False)
class Anatomy:
    """The three parts of √n (estimate - truth); each an array over replications, or one number.

    Attributes
    ----------
    total : array
        √n times the error itself.
    gaussian : array
        √n times the mean of the true private influence function.
    empirical : array
        √n (P_n - P) of the difference between fitted and true private influence function.
    bias : array
        √n times the bias at the fitted nuisances.
    """

    total: FloatArray
    gaussian: FloatArray
    empirical: FloatArray
    bias: FloatArray

    @property
    def gap(self) -> float:
        """Largest difference between the error and the sum of its parts: 0 up to rounding."""
        return float(np.max(np.abs(self.total - self.gaussian - self.empirical - self.bias)))

    @property
    def root_mean_squares(self) -> tuple[float, float, float]:
        """Root mean squares of the Gaussian part, the empirical-process part and the bias."""
        gaussian, empirical, bias = (
            math.sqrt(float(np.mean(p**2))) for p in (self.gaussian, self.empirical, self.bias)
        )
        return gaussian, empirical, bias


def split_error(law: FiniteLaw, target: Target, mechanism: Finite, nuisances: Nuisances, counts: ArrayLike) -> Anatomy:
    """Split the error of the one-step estimate with given nuisances (section 1.2; (26)-(28)).

    Parameters
    ----------
    law : FiniteLaw
        The law that the records come from.
    target : Target
        What is estimated.
    mechanism : AlphaIdentity or FiniteMechanism
        With keep probability 1 this is the split without noise, (62)-(65).
    nuisances : Nuisances
        Fitted on other records, or made up.
    counts : (..., Y, 2, J) array
        Counts of released records by outcome, treatment and shown category; leading axes are replications.

    Returns
    -------
    Anatomy
        Parts of shape (...,).

    Raises
    ------
    DataError
        If the counts do not fit the law, or a replication has no records.
    """
    table = np.asarray(counts, dtype=np.float64)
    if table.shape[-3:] != law.joint.shape:
        raise DataError("The counts must have the outcome values, arms and categories of the law.", field="counts")
    n = table.sum(axis=(-3, -2, -1))
    if np.any(n <= 0):
        raise DataError("There are no records.", field="counts")
    shares = table / n[..., None, None, None]
    truth = target.nuisances(law)
    true_score = private_influence(target.influence(law, truth), mechanism)
    used_score = private_influence(target.influence(law, nuisances), mechanism)
    released = law.privatised(mechanism)
    root = np.sqrt(n)

    def mean(score: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("...ydz,ydz->...", shares, score))

    total = nuisances.value - truth.value + mean(used_score)
    change = used_score - true_score
    empirical = mean(change) - float(np.sum(released * change))
    bias = bias_expansion(law, target, nuisances).total
    return Anatomy(
        np.asarray(root * total),
        np.asarray(root * mean(true_score)),
        np.asarray(root * empirical),
        np.asarray(root * bias),
    )


def fitted_nuisances(
    law: FiniteLaw, target: CausalTarget, mechanism: Finite, counts: ArrayLike, *, trim: float | None = None
) -> Nuisances:
    """Fit the nuisances of a causal target to a table of released records ((21), (23)-(25), section 2.3).

    Parameters
    ----------
    law : FiniteLaw
        Says what the outcome values are.
    target : CausalTarget
        What is estimated.
    mechanism : AlphaIdentity or FiniteMechanism
        How the categories were noised.
    counts : (Y, 2, J) array
        Counts by outcome, treatment and shown category.
    trim : float, optional
        Propensities are clipped to [trim, 1 - trim] and regressions to the range of the outcome; the rule of section
        2.6 if left out.

    Returns
    -------
    Nuisances
        Fitted regressions, representer, p₁, e and initial value.

    Raises
    ------
    DataError
        If an arm has no records.
    """
    table = np.asarray(counts, dtype=np.float64)
    n = float(table.sum())
    if np.any(table.sum(axis=(0, 2)) == 0):
        lacking = "treated" if table[:, 1].sum() == 0 else "control"
        raise DataError(f"There are no {lacking} units.", field="counts")
    channel = mechanism.finite()
    share = discrete.unmix(channel.inverse, table.sum(axis=0) / n)
    outcome = discrete.unmix(channel.inverse, np.einsum("y,ydz->dz", law.values, table) / n)
    least = discrete.trim_level(channel.smallest_singular, int(n)) if trim is None else trim
    found = discrete.clip(discrete.fit(share, outcome), least, float(law.values.min()), float(law.values.max()))
    p1 = float(found.treated_share)
    representer = target.representer(np.arange(2)[:, None], found.propensity, p1)
    value = float(target.plug_in(share, found.regression))
    used = target.uses_treated_share
    return Nuisances(
        regressions=(found.regression,),
        representers=(representer,),
        gammas=np.array([p1]) if used else np.zeros(0),
        shares=np.ones(1) if used else np.zeros(0),
        slopes=np.array([-value / p1]) if used else np.zeros(0),
        value=value,
    )


def fitted_anatomy(
    law: FiniteLaw,
    target: CausalTarget,
    mechanism: Finite,
    n: int,
    replications: int,
    rng: np.random.Generator,
    *,
    trim: float | None = None,
) -> Anatomy:
    """Draw two samples per replication: nuisances from one, the mean from the other, and split the error.

    Parameters
    ----------
    law, target, mechanism
        As in ``split_error``.
    n : int
        Records in each of the two samples.
    replications : int
        How often.
    rng : numpy.random.Generator
        Draws the tables of released counts directly.
    trim : float, optional
        As in ``fitted_nuisances``.

    Returns
    -------
    Anatomy
        Parts of shape (replications,).
    """
    size, runs = _sizes(n, replications)
    tables = released_counts(law, mechanism, size, 2 * runs, rng).reshape(runs, 2, *law.joint.shape)
    parts = [
        split_error(law, target, mechanism, fitted_nuisances(law, target, mechanism, first, trim=trim), second)
        for first, second in tables
    ]
    stacked = (np.array([getattr(part, name) for part in parts]) for name in ("total", "gaussian", "empirical", "bias"))
    return Anatomy(*stacked)


def released_counts(law: FiniteLaw, mechanism: Finite, n: int, replications: int, rng: np.random.Generator) -> IntArray:
    """Draw counts of released records, (replications, Y, 2, J)."""
    shape = law.joint.shape
    return np.asarray(rng.multinomial(n, law.privatised(mechanism).reshape(-1), size=replications)).reshape(-1, *shape)


def _sizes(n: int, replications: int) -> tuple[int, int]:
    size = whole_number(n, "The number of records", "n", least=1)
    return size, whole_number(replications, "The number of replications", "replications", least=1)


# --- nuisances that are wrong by a known amount -------------------------------------------------------------------


def nuisances_off(
    law: FiniteLaw,
    target: Target,
    regression_error: float,
    representer_error: float,
    *,
    regression_direction: ArrayLike | None = None,
    representer_direction: ArrayLike | None = None,
) -> Nuisances:
    """Return nuisances whose regression and representer are off by given L₂ errors (Assumption 1, view 7.14).

    Parameters
    ----------
    law, target
        The truth.
    regression_error, representer_error : float
        ‖μ' - μ‖ and ‖r' - r‖ in L₂ of (treatment, X).
    regression_direction, representer_direction : (2, J) array, optional
        Shape of each error; constant if left out. They are scaled to the wanted size.

    Returns
    -------
    Nuisances
        For a target with one regression.

    Raises
    ------
    ParameterError
        If a direction vanishes where the law has mass.
    """
    truth = target.nuisances(law)
    weights = law.p_dx if truth.regressions[0].shape[0] == 2 else law.p_x[None, :]

    def unit(direction: ArrayLike | None) -> FloatArray:
        table = np.ones(weights.shape) if direction is None else np.asarray(direction, dtype=np.float64)
        table = np.broadcast_to(table, weights.shape)
        size = math.sqrt(float(np.sum(weights * table**2)))
        if not size > 0:
            raise ParameterError("The error of a nuisance must point somewhere.", field="direction")
        return table / size

    return truth.replaced(
        regressions=[truth.regressions[0] + regression_error * unit(regression_direction)],
        representers=[truth.representers[0] + representer_error * unit(representer_direction)],
    )


@dataclass(frozen=True, eq=False)
class RateCurve:
    """Root mean squares of the three parts as n grows, when the nuisance errors shrink at given rates.

    Attributes
    ----------
    n : (K,) int array
        Records.
    gaussian, empirical, bias : (K,) arrays
        Root mean squares of the parts of √n (estimate - truth).
    """

    n: IntArray
    gaussian: FloatArray
    empirical: FloatArray
    bias: FloatArray


def rate_curve(
    law: FiniteLaw,
    target: Target,
    mechanism: Finite,
    sizes: ArrayLike,
    regression_exponent: float,
    representer_exponent: float,
    *,
    scale: float = 1.0,
) -> RateCurve:
    """Return the three parts exactly when ‖μ' - μ‖ = scale · n^(-a) and ‖r' - r‖ = scale · n^(-b) (Assumptions 1, 5).

    No draws are needed: the first two parts are means of independent terms. √n times the bias falls with n if and only
    if a + b exceeds 1/2.

    Parameters
    ----------
    law, target, mechanism
        As in ``split_error``.
    sizes : (K,) array
        Numbers of records.
    regression_exponent, representer_exponent : float
        a and b, at least 0.
    scale : float
        Errors at n = 1.

    Examples
    --------
    >>> from privexplorer.causal.laws import LAW_B
    >>> from privexplorer.causal.mechanisms import uniform_levels
    >>> from privexplorer.causal.targets import ATE
    >>> curve = rate_curve(LAW_B, ATE(), AlphaIdentity(0.5, uniform_levels(2)), [100, 10_000], 0.3, 0.3)
    >>> bool(curve.bias[1] < curve.bias[0])
    True
    """
    if not (regression_exponent >= 0 and representer_exponent >= 0):
        raise ParameterError("The exponents of the nuisance errors must be at least 0.", field="exponent")
    people = np.asarray(sizes, dtype=np.int64)
    released = law.privatised(mechanism)
    truth = private_influence(target.influence(law), mechanism)
    spread = math.sqrt(float(np.sum(released * truth**2)))
    empirical, bias = [], []
    for n in people:
        size = float(n)
        off = nuisances_off(law, target, scale * size**-regression_exponent, scale * size**-representer_exponent)
        change = private_influence(target.influence(law, off), mechanism) - truth
        centred = change - float(np.sum(released * change))
        empirical.append(math.sqrt(float(np.sum(released * centred**2))))
        bias.append(math.sqrt(size) * abs(bias_expansion(law, target, off).total))
    return RateCurve(people, np.full(len(people), spread), np.array(empirical), np.array(bias))


def score_error(law: FiniteLaw, target: Target, mechanism: Finite, nuisances: Nuisances) -> float:
    """Return ‖ψ' - ψ‖ in L₂ of the released law: what Assumption 2 asks to vanish.

    Nuisances that are fine where X lives may be wrong where the noise lands; this number sees it, and their own L₂
    error does not.
    """
    change = invert(mechanism, target.influence(law, nuisances) - target.influence(law))
    return math.sqrt(float(np.sum(law.privatised(mechanism) * change**2)))


CONDITIONS: tuple[tuple[str, str], ...] = (
    (
        "Assumption 1",
        "The errors of regression and representer multiply to less than one over the root of n, the low-dimensional "
        "means are accurate to the root of n, and the curvature in γ is bounded.",
    ),
    (
        "Assumption 2",
        "Scores and representer have finite size where the noise lands too; representer, γ and p are consistent; and "
        "either the outcome's residual is bounded and the regression uniformly consistent, or the fitted residual and "
        "the representer are bounded and the regression is consistent in the norm that counts noise.",
    ),
    (
        "Assumption 4",
        "Without noise: representer, γ and p are consistent; and either the residual is bounded and the regression "
        "uniformly consistent, or the fitted residual and the representer are bounded and the regression is "
        "consistent in mean square.",
    ),
    ("Assumption 5", "Without noise: the same rates as in Assumption 1."),
)
"""What the three parts need in order to behave, in words."""


__all__ = [
    "CONDITIONS",
    "Anatomy",
    "RateCurve",
    "fitted_anatomy",
    "fitted_nuisances",
    "nuisances_off",
    "rate_curve",
    "released_counts",
    "score_error",
    "split_error",
]
