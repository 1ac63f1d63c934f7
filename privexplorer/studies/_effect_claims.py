"""Propositions of locally private inference as numbers that are recomputed (spec sections 1 and 5).

Each item is a list of checks: what is expected, what the package finds, and how far apart they may be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    ATE,
    ATT,
    LAW_A,
    LAW_B,
    LAW_C,
    AlphaIdentity,
    DerivativeLaw,
    DiscreteCounts,
    FiniteLaw,
    FiniteMechanism,
    FiniteNoise,
    GaussianNoise,
    LaplaceAddition,
    Legendre,
    Linear,
    MeanUnder,
    RandomisedResponse,
    SlopeLaw,
    UniformNoise,
    UntreatedMeanOfTreated,
    adjoint,
    bias_expansion,
    decomposition,
    discrete_estimate,
    efficiency_bound,
    exponential_representer,
    gateaux_check,
    identity_bench,
    inequalities,
    kernel_regression,
    laplace_hilbert_schmidt,
    linear_slope_variance,
    ltv_of_ldp,
    naive_value,
    posterior_kept,
    posterior_true,
    private_design,
    private_influence,
    private_moments,
    product_bias,
    sample_size,
    series_rates,
    series_regression,
    tangent_rank,
    treatment_nuisances,
    two_regressions,
    uniform_levels,
)
from privexplorer.causal.geometric import GaussianLine, WeightedLaw, path_nodes, shift_check_gaussian
from privexplorer.causal.operators import invert
from privexplorer.studies._geometric import Rays
from privexplorer.studies._reproduced import MOST_DIGITS, Outcome, yes_or_no
from privexplorer.studies.words import listed, significant, whole

GOLD = 1e-9
"""Expected numbers have twelve digits."""
ROUNDING = 1e-12

UNIFORM = uniform_levels(3)
HALF = AlphaIdentity(0.5, UNIFORM)
SKEW = FiniteMechanism(np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]))
SINGULAR = np.array([[0.5, 0.2, 0.35], [0.3, 0.6, 0.45], [0.2, 0.2, 0.2]])
WRONG_MU = np.array([[0.05, -0.03, 0.02], [-0.02, 0.01, 0.04]])
WRONG_PROPENSITY = np.array([0.02, 0.04, -0.05])
SIX_OUTCOMES = np.array([1, 2, 0.5, 3, 2.5, 1.5])
SIX_SHOWN = np.array([-0.9, 0.1, -0.4, 1.2, 0.8, 0.3])
COUNTS = np.array([[[180, 130, 60], [40, 60, 50]], [[50, 70, 60], [70, 110, 120]]])
"""A thousand people by outcome, treatment and shown category (G24)."""


@dataclass(frozen=True)
class Check:
    """One statement: numbers expected and found, all within ``tolerance`` (relative where they are not 0)."""

    label: str
    text: str
    expected: tuple[float, ...]
    found: tuple[float, ...]
    tolerance: float = GOLD
    at_most: bool = False
    """Found must not exceed expected, instead of being equal."""

    @property
    def error(self) -> float:
        """Largest relative difference; for an inequality, by how much it fails."""
        want, have = np.array(self.expected), np.array(self.found)
        scale = np.where(want == 0, 1.0, np.abs(want))
        gap = (have - want) / scale if self.at_most else np.abs(have - want) / scale
        return float(max(gap.max(), 0.0))

    @property
    def holds(self) -> bool:
        """Whether the numbers agree."""
        return self.error <= self.tolerance

    @property
    def outcome(self) -> Outcome:
        """Whether the numbers agree, in words."""
        return yes_or_no(self.holds)

    @property
    def evidence(self) -> str:
        """Both numbers in words, with as many digits as show why they do not agree."""
        digits = 6
        while True:
            want, have = (listed([number(one, digits) for one in row]) for row in (self.expected, self.found))
            if self.holds or want != have or digits >= MOST_DIGITS:
                break
            digits += 1
        if not self.at_most:
            return f"Expected {want}; found {have}."
        above = "above it" if not self.holds else "not above it, but for rounding" if self.error else "not above it"
        return f"The limit is {want}; found {have}, {above}."


def number(value: float, digits: int = 6) -> str:
    """Write a whole number as one, another with six digits or more.

    Examples
    --------
    >>> number(29762.0), number(11.0), number(0.25), number(-20.17856)
    ('29,762', '11', '0.250000', '−20.1786')
    """
    return whole(value) if value == round(value) and abs(value) < 1e6 else significant(value, digits)


def _check(label: str, text: str, expected: Any, found: Any, tolerance: float = GOLD, at_most: bool = False) -> Check:
    want, have = (tuple(np.atleast_1d(np.asarray(one, dtype=np.float64)).ravel().tolist()) for one in (expected, found))
    return Check(label, text, want, have, tolerance, at_most)


def open_influence() -> tuple[Check, ...]:
    """Prop. 1: influence function, bound and Gateaux derivative without noise."""
    rng = np.random.default_rng(1)
    scores = [target.influence(LAW_A) for target in (ATE(), ATT())]
    along = [gateaux_check(LAW_A, target, rng.uniform(-1, 1, (2, 2, 3))) for target in (ATE(), ATT())]
    return (
        _check(
            "value", "Average effect, effect on the treated and share of treated of law A.",
            [0.22, 0.180434782609, 0.46], [ATE().value(LAW_A), ATT().value(LAW_A), LAW_A.treated_share],
        ),
        _check(
            "score", "Influence functions at (1, 1, 0) and (0, 0, 2).",
            [1.74666666667, 3.33, 1.34688090737, 6.08695652174],
            [h[at] for h in scores for at in ((1, 1, 0), (0, 0, 2))],
        ),
        _check("mean", "Their means are 0 (E1 corrected).", [0, 0], [LAW_A.mean(h) for h in scores], ROUNDING),
        _check(
            "bound", "Bounds without privacy: their second moments.", [1.08492738095, 1.36630258662],
            [efficiency_bound(LAW_A, target) for target in (ATE(), ATT())],
        ),
        _check(
            "Gateaux", "They are the derivative along any path (35).", [one.inner_product for one in along],
            [one.difference for one in along], 1e-7,
        ),
        _check(
            "one arm", "Mean under treatment, and untreated mean of the treated: value and bound.",
            [0.58, 0.616641666667, 0.439130434783, 0.94698188308],
            [
                number
                for target in (MeanUnder(1), UntreatedMeanOfTreated())
                for number in (target.value(LAW_A), efficiency_bound(LAW_A, target))
            ],
        ),
    )  # fmt: skip


def exact_bias() -> tuple[Check, ...]:
    """Theorem 1 and the biases of Ex. 2 and 3."""
    share, pi, mu = LAW_A.treated_share + 0.03, LAW_A.propensity + WRONG_PROPENSITY, LAW_A.mu + WRONG_MU
    wrong = treatment_nuisances(LAW_A, ATT(), propensity=pi, mu=mu, treated_share=share, slope=-1.1)
    parts = bias_expansion(LAW_A, ATT(), wrong)
    one_right = [
        bias_expansion(LAW_A, ATE(), treatment_nuisances(LAW_A, ATE(), propensity=p, mu=m)).total
        for p, m in ((LAW_A.propensity, mu), (pi, LAW_A.mu))
    ]
    both = bias_expansion(LAW_A, ATE(), treatment_nuisances(LAW_A, ATE(), propensity=pi, mu=mu))
    return (
        _check("total", "Bias at five wrong numbers, by its formula and directly.", [0.0202237590688] * 2,
               [parts.total, parts.error]),
        _check("product", "Its product term, by Theorem 1 and by Ex. 3.", [-0.00190223915653] * 2,
               [parts.product, product_bias(LAW_A, ATT(), pi, mu, share)]),
        _check("Ex. 2", "Bias of the mean under treatment.", -0.000936111111111,
               product_bias(LAW_A, MeanUnder(1), pi, mu)),
        _check("one right", "With one model right there is no bias.", [0, 0], one_right, ROUNDING),
        _check("limit", "The product is at most the product of the norms (section 6).", both.product_limit,
               abs(both.product), ROUNDING, at_most=True),
    )  # fmt: skip


def private_score() -> tuple[Check, ...]:
    """Theorem 2 and the private efficiency bound (17)."""
    scores = [private_influence(target.influence(LAW_A), HALF) for target in (ATE(), ATT())]
    shown = LAW_A.privatised(HALF)
    rng = np.random.default_rng(2)
    along = gateaux_check(LAW_A, ATE(), rng.uniform(-1, 1, (2, 2, 3)), HALF)
    return (
        _check("score", "Private influence functions at (1, 1, 0) and (0, 0, 2).",
               [2.60361111111, 5.1680952381, 1.85412728418, 9.79296066253],
               [psi[at] for psi in scores for at in ((1, 1, 0), (0, 0, 2))]),
        _check("mean", "Their means are 0.", [0, 0], [float(np.sum(shown * psi)) for psi in scores], ROUNDING),
        _check("bound", "Average effect at α = 0.2, 0.5 and 0.9.", [19.3683196932, 3.26185616103, 1.24799619856],
               [efficiency_bound(LAW_A, ATE(), AlphaIdentity(keep, UNIFORM)) for keep in (0.2, 0.5, 0.9)]),
        _check("treated", "Effect on the treated at α = 0.2, 0.5 and 0.9.",
               [65.7590257755, 8.94118824347, 1.92735423935],
               [efficiency_bound(LAW_A, ATT(), AlphaIdentity(keep, UNIFORM)) for keep in (0.2, 0.5, 0.9)]),
        _check("matrix", "Both effects under a skew matrix.", [2.8745150854, 7.76991287359],
               [efficiency_bound(LAW_A, target, SKEW) for target in (ATE(), ATT())]),
        _check("one arm", "Mean under treatment, untreated mean of the treated, α = 0.5.",
               [0.899003742284, 8.52186753993],
               [efficiency_bound(LAW_A, target, HALF) for target in (MeanUnder(1), UntreatedMeanOfTreated())]),
        _check("Gateaux", "It is the derivative along a path of what is shown.", along.inner_product,
               along.difference, 1e-7),
        _check("naive", "Naive limits of both effects, α = 0.5.", [0.30729876046, 0.305808011756],
               [naive_value(LAW_A, target, HALF) for target in (ATE(), ATT())]),
    )  # fmt: skip


def price_bounds(laws: int = 60) -> tuple[Check, ...]:
    """(18), Lemma 3(vii) and the three-term identity."""
    parts = decomposition(LAW_A, ATE(), UNIFORM)
    rng = np.random.default_rng(3)
    worst = {"identity": 0.0, "printed": 0.0, "tight": 0.0, "falls": 0.0}
    for _ in range(laws):
        levels = int(rng.integers(2, 5))
        law = FiniteLaw.random(rng, levels)
        noise, keep = FiniteNoise(rng.dirichlet(np.ones(levels))), float(rng.uniform(0.1, 0.95))
        one = decomposition(law, ATE(), noise)
        exact = efficiency_bound(law, ATE(), AlphaIdentity(keep, noise).finite())
        at = np.array(keep)
        worst["identity"] = max(worst["identity"], abs(float(one.variance(at)) / exact - 1))
        for name, band in (("printed", one.printed_band(at)), ("tight", one.tight_band(at))):
            low, high = (float(end) for end in band)
            worst[name] = max(worst[name], (low - exact) / exact, (exact - high) / exact)
        curve = one.variance(np.linspace(0.05, 1.0, 40))
        worst["falls"] = max(worst["falls"], float(np.max(np.diff(curve) / curve[1:])))
    return (
        _check("parts", "T₀, T₁ and T₂ of the average effect.", [1.08492738095, 0.580982581412, 0.797973099332],
               [parts.t0, parts.t1, parts.t2]),
        _check("printed", "Printed bounds (18) at α = 0.5.", [1.88290048028, 17.931010513],
               [float(end) for end in parts.printed_band(np.array(0.5))]),
        _check("people", "People for a 95% interval of width 0.1 at α = 0.1, 0.2, 0.5, 0.9 and 1.",
               [120_056, 29_762, 5_013, 1_918, 1_668], sample_size(parts.variance([0.1, 0.2, 0.5, 0.9, 1.0]), 0.1)),
        _check("identity", f"The three terms add up to the bound, {laws} random laws.", 0, worst["identity"], 1e-10),
        _check("(18)", f"The printed bounds hold, {laws} random laws.", 0, worst["printed"], 1e-10, at_most=True),
        _check("tight", f"The tight bounds hold, {laws} random laws.", 0, worst["tight"], 1e-10, at_most=True),
        _check("falls", f"The variance falls as more is kept, {laws} random laws.", 0, worst["falls"], 1e-10,
               at_most=True),
    )  # fmt: skip


def tangent_space() -> tuple[Check, ...]:
    """Lemma 1: the private model stays nonparametric exactly when the mechanism is invertible."""
    h = ATE().influence(LAW_A)
    table = adjoint(HALF, h, LAW_A.joint)
    p = np.zeros((4, 3))
    p[:, :2] = np.random.default_rng(2).dirichlet(np.ones(8)).reshape(4, 2)
    return (
        _check("adjoint", "Adjoint of the influence function at (1, 1, 0) and (0, 0, 2).",
               [1.19862745099, 0.795311004785], [table[1, 1, 0], table[0, 0, 2]]),
        _check("rank", "Dimension under an invertible and a singular matrix.", [11, 7],
               [tangent_rank(SKEW.matrix, LAW_A.joint), tangent_rank(SINGULAR, LAW_A.joint)]),
        _check("even noise", "Full dimension when a value is kept with probability 0.3.", 11,
               tangent_rank(AlphaIdentity(0.3, UNIFORM).finite().matrix, LAW_A.joint)),
        _check("off the data", "Noise on a value that nobody has leaves 7 of 11 (E4).", 7,
               tangent_rank(HALF.finite().matrix, p)),
    )  # fmt: skip


def operator(laws: int = 60) -> tuple[Check, ...]:
    """Lemmas 3 to 5: operator, inverse, adjoint, posteriors and norms."""
    rng = np.random.default_rng(4)
    normal = AlphaIdentity(0.3, GaussianNoise(0.5, 1.5))

    def h(x: FloatArray) -> FloatArray:
        return np.asarray(2 * np.sin(x) + x**2)

    points, weights = normal.nodes()
    found = float(normal.invert(h(np.array([1.0])), float(np.sum(weights * h(points))))[0])
    measure = slack = 0.0
    for _ in range(laws):
        p, q = rng.dirichlet(np.ones(12)).reshape(4, 3), FiniteNoise(rng.dirichlet(np.ones(3)))
        mechanism = AlphaIdentity(float(rng.uniform(0.1, 0.95)), q)
        table, other = rng.standard_normal((2, 4, 3))
        shown = np.einsum("zx,vx->vz", mechanism.finite().matrix, p)
        measure = max(measure, abs(float(np.sum(shown * invert(mechanism, table)) - np.sum(p * table))))
        slack = max(
            slack, *((float(one.left) / float(one.right) - 1) for one in inequalities(mechanism, p, table, other))
        )
    both = posterior_kept(HALF, LAW_A.joint)[1, 1, 0], posterior_true(HALF, LAW_A.joint)[1, 1, 0]
    return (
        _check("transpose", "Inverse operator of a skew matrix on (1, −2, 5).", [2.5, -7.5, 7.5],
               invert(SKEW, np.array([1.0, -2.0, 5.0]))),
        _check("normal", "Inverse with normal noise.", 2.38345537328, found),
        _check("kept", "Chance that a shown category was kept.", [0.6, 0.473684210526, 0.375],
               posterior_kept(HALF, LAW_A.p_x)),
        _check("true", "Chance that a shown category is true.", [0.8, 0.631578947368, 0.5],
               posterior_true(HALF, LAW_A.p_x)),
        _check("given all", "Both given outcome, treatment and category.", [0.441176470588, 0.588235294118], both),
        _check("measure", f"Change of measure (22), {laws} random laws.", 0, measure, ROUNDING),
        _check("norms", f"Every norm bound of Lemmas 3 to 5, {laws} random laws.", 0, slack, 1e-12, at_most=True),
    )  # fmt: skip


def levels() -> tuple[Check, ...]:
    """Definitions 1 and 2, Lemma 6 and randomised response."""
    response = RandomisedResponse(4, math.log(3))
    five = RandomisedResponse(5, 0.5)
    identity = AlphaIdentity(0.4, FiniteNoise(np.array([0.2, 0.5, 0.3])))
    grid = np.linspace(0.0, 4.0, 81)
    return (
        _check("inverse", "Randomised response, four values, ε = ln 3: diagonal and the rest.", [2.5, -0.5],
               [response.finite().inverse[0, 0], response.finite().inverse[0, 1]]),
        _check("level", "Its total-variation level is its keep probability.", [1 / 3, 1 / 3],
               [response.ltv(), response.keep_probability]),
        _check("skew", "A skew matrix: level, ε and δ(0.5).", [0.6, 1.94591014906, 0.53512787293],
               [SKEW.ltv(), SKEW.ldp_epsilon(), SKEW.ldp_delta(0.5)]),
        _check("identity", "Keeping with α = 0.4: level, ε and δ(1).", [0.4, 1.46633706879, 0.193806180585],
               [identity.ltv(), identity.ldp_epsilon(), identity.ldp_delta(1.0)]),
        _check("Lem. 6", "δ(ε) never exceeds the level.", 0.4,
               max(identity.ldp_delta(float(one)) for one in grid), ROUNDING, at_most=True),
        _check("tight", "Sharp level from (ε, δ) = (1, 0.05) and (0.5, 0).", [0.489011299397, 0.244918662404],
               [ltv_of_ldp(1.0, 0.05), ltv_of_ldp(0.5, 0.0)]),
        _check("e^ε − 1", "Randomised response is (e^ε − 1)-private: five values, ε = 0.5.", math.expm1(0.5),
               five.ltv(), ROUNDING, at_most=True),
    )  # fmt: skip


def examples() -> tuple[Check, ...]:
    """Ex. 4 to 9: slopes, rays, lines, discounts, several regressions."""
    slope, ray, line = DerivativeLaw(), Rays(), GaussianLine(1, 1.0, 1.4)
    found = slope.decomposition(GaussianNoise(0.0, 1.2))
    discount = WeightedLaw.of(
        lambda x: 1 / (1 + x**2), lambda x: 1 + x, lambda x: np.full_like(x, 0.25), path_nodes(), UniformNoise(0.0, 1.0)
    )
    both = two_regressions()

    def square(x: FloatArray) -> FloatArray:
        return np.asarray(x**2 if x.ndim == 1 else np.sum(x**2, axis=1))

    return (
        _check("slope", "Ex. 4: bound without noise, with noise, and the weight at 0.7.",
               [1.13610166675, 105.977330406, 0.504645432384],
               [float(found.variance(np.array(1.0))), float(found.variance(np.array(0.5))),
                float(slope.representer(np.array(0.7)))]),
        _check("condition", "Ex. 4: b of a normal X with step 0.5.", math.exp(0.25),
               shift_check_gaussian(0.5, 1.0).second_moment),
        _check("ray", "Ex. 5: from both sides, and the weight at (1, 0.5).",
               [4.21990870034, 4.21990870034, 1.65731901331],
               [ray.value(square), ray.weighted(square), ray.weight(np.array([[1.0, 0.5]]))[0]]),
        _check("line", "Ex. 6: from both sides, and the weight at 0.6.",
               [0.94031597258, 0.94031597258, 1.53133040218],
               [line.value(square), line.value_by_representer(square), line.representer(np.array([0.6]))[0]]),
        _check("discount", "Ex. 8: value, bound without noise, and with.",
               [1.13197175368, 0.164712882699, 0.369853351891],
               [discount.value, *(float(discount.decomposition.variance(np.array(keep))) for keep in (1.0, 0.5))]),
        _check("several", "Ex. 9: value, bound without noise, and with.", [-0.32, 10.1386416667, 116.019920409],
               [both.value(LAW_A), efficiency_bound(LAW_A, both), efficiency_bound(LAW_A, both, HALF)]),
    )  # fmt: skip


def moments() -> tuple[Check, ...]:
    """Prop. 2, Lemma 7 and Ex. 10."""
    tiny = 1e-6
    rng = np.random.default_rng(5)
    y, x = SlopeLaw(2.0, 1.0, 1.0).sample(400, rng)
    plain = private_moments(private_design(AlphaIdentity(1.0, GaussianNoise(0.0, 1.0)), x, Linear()), y)
    away = x - x.mean()
    slope = float(np.sum(away * y) / np.sum(away**2))
    residual = y - y.mean() - slope * away
    error = math.sqrt(float(np.sum((away * residual) ** 2))) / float(np.sum(away**2))
    at, p, _ = LAW_C.table()
    flat = np.polynomial.legendre.leggauss(len(at))[1] / 2
    mass = (0.4 * p + 0.6 * p.sum(axis=1, keepdims=True) * flat).ravel()
    design = private_design(AlphaIdentity(0.4, UniformNoise(-1.0, 1.0)), np.tile(at, 2), Linear(), shares=mass)
    treated = np.repeat([0.0, 1.0], len(at))
    thetas = [exponential_representer(design, treated, share).coefficients for share in (0.2, 0.5, 1.0)]
    return (
        _check("slope", "Variance of a private slope: b = 2, σ = τ = 1, α = 0.5.", 32,
               linear_slope_variance(2.0, 1.0, 1.0, 0.5)),
        _check("open", "The same at α = 1 is σ².", 1, linear_slope_variance(2.0, 1.0, 1.0, 1.0)),
        _check("growth", "α² times the variance tends to 13.", 13, tiny**2 * linear_slope_variance(2.0, 1.0, 1.0, tiny),
               1e-5),
        _check("Lem. 7", "Without noise: least squares and its robust standard error, by hand.", [slope, error],
               [plain.coefficients[1], plain.std_error[1]], 1e-10),
        _check("Ex. 10", "Weights at γ₀ = 0.2, 0.5 and 1 under noise: the true log odds 0.3 + x each time.",
               [0.3, 1.0] * 3, np.concatenate(thetas), 1e-7),
    )  # fmt: skip


def curves() -> tuple[Check, ...]:
    """Prop. 3 and Ex. 11 to 13: kernel and series."""
    normal, even = AlphaIdentity(0.6, GaussianNoise(0.0, 1.0)), AlphaIdentity(0.7, UniformNoise(-1.0, 1.0))
    kernel = kernel_regression(SIX_SHOWN, SIX_OUTCOMES, normal, (-2.0, 2.0), at=[0.2], bandwidth=0.5)
    constant = kernel_regression(SIX_SHOWN, np.ones(6), normal, (-2.0, 2.0), at=[0.2], bandwidth=0.5)
    series = series_regression(
        even, np.clip(SIX_SHOWN, -1, 1), SIX_OUTCOMES, Legendre(-1, 1, 3, "length"), lambda x: 0 * x + 0.5
    )
    full, quarter = (series_rates(2.0, rate) for rate in (0.5, 0.25))
    return (
        _check("kernel", "Ex. 11: curve and density at 0.2, six points.", [1.68296569218, 0.465849882699],
               [kernel.regression[0], kernel.density[0]]),
        _check("constant", "A constant outcome is reproduced (E9 corrected).", 1, constant.regression[0], ROUNDING),
        _check("series", "Ex. 12: three coefficients and the value at 0.25.",
               [2.47487373415, 2.65361388802, 2.42253056466, 1.00641741071],
               [*series.coefficients.tolist(), float(series.at([0.25])[0])]),
        _check("rates", "Ex. 12, β = 2: exponents 4/5 and 2/5 as the density is known at rate ½ and ¼.", [0.8, 0.4],
               [full.rate, quarter.rate]),
    )  # fmt: skip


def finite_cells() -> tuple[Check, ...]:
    """Prop. 4 and Ex. 1: inversion and plug-in."""
    counts, mechanism = DiscreteCounts.from_counts(COUNTS), AlphaIdentity(0.6, UNIFORM)
    found = [discrete_estimate(counts, mechanism, target) for target in (ATE(), ATT())]
    naive = [one.naive.value for one in found if one.naive is not None]
    repaired = [discrete_estimate(counts, mechanism, target, repair="always") for target in (ATE(), ATT())]
    truth = ATT().nuisances(LAW_A)
    factored = [share * ATT().mean_integrand(LAW_A, truth.regressions, np.array([share])) for share in (0.2, 0.46, 1.0)]
    return (
        _check("estimate", "Both effects from 1,000 people.", [0.245738451545, 0.173694875487],
               [one.value for one in found]),
        _check("error", "Their standard errors.", [0.0417375409419, 0.0558528312949], [one.std_error for one in found]),
        _check("naive", "Both naive.", [0.312068239944, 0.292415458937], naive),
        _check("likelihood", "The likelihood solution is the same where no cell is negative.",
               [one.value for one in found], [one.value for one in repaired], 1e-4),
        _check("factors", "f of the effect on the treated is a function of (v, x, μ) over γ: γ E f at three γ.",
               [0.46 * 0.180434782609] * 3, factored),
    )  # fmt: skip


def added_noise() -> tuple[Check, ...]:
    """Section 10.5: adding noise instead of keeping a value."""
    bump = math.exp(-0.08)
    wide = [laplace_hilbert_schmidt(0.7, reach) for reach in (3.0, 30.0)]
    return (
        _check("Laplace", "Inverse of Laplace noise on a bump.", 1.30307103456,
               float(LaplaceAddition(np.array([0.7])).invert(bump, (0.16 - 1) * bump))),
        _check("compact", "Hilbert–Schmidt norm on [−3, 3].", 2.0178571, wide[0], 1e-7),
        _check("grows", "Without limit as the range grows: 10 times as wide, at least 10 times.", -10 * wide[0],
               -wide[1], ROUNDING, at_most=True),
    )  # fmt: skip


def whole_bench() -> tuple[Check, ...]:
    """Every identity and inequality of sections 1.1 to 1.6 on law B and on a random law."""
    rng = np.random.default_rng(6)
    random = FiniteLaw.random(rng, 3)
    mechanism = AlphaIdentity(0.35, FiniteNoise(rng.dirichlet(np.ones(3) * 3)))
    rows = [
        *identity_bench(LAW_B, ATT(), AlphaIdentity(0.5, uniform_levels(2)), rng),
        *identity_bench(random, ATE(), mechanism, rng),
    ]
    out = []
    for place, row in enumerate(rows):
        name, text = f"{place + 1}", f"{row.name} ({row.source})."
        if row.kind == "inequality":
            out.append(_check(name, text, row.right, row.left, 1e-10, at_most=True))
        else:
            size = 0.0 if row.size != row.size else row.size
            out.append(Check(name, text, (0.0,), (size,), 1e-9 if row.kind == "identity" else 1e-7))
    return tuple(out)


CLAIMS: dict[str, Callable[[], tuple[Check, ...]]] = {
    "prop1": open_influence,
    "thm1": exact_bias,
    "thm2": private_score,
    "bounds": price_bounds,
    "lem1": tangent_space,
    "lem3": operator,
    "lem6": levels,
    "examples": examples,
    "prop2": moments,
    "prop3": curves,
    "prop4": finite_cells,
    "noise": added_noise,
    "bench": whole_bench,
}
"""Claims by the name in the link."""

__all__ = ["CLAIMS", "SIX_OUTCOMES", "SIX_SHOWN", "Check", "number"]
