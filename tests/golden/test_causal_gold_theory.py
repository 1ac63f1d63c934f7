"""Gold values G1-G16 and G25-G30 of locally private inference, to 1e-9 relative, and ledger numbers beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal import operators
from privexplorer.causal.laws import LAW_A, Points, binary_law
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    FiniteNoise,
    GaussianNoise,
    LaplaceAddition,
    RandomisedResponse,
    UniformNoise,
    laplace_hilbert_schmidt,
    ltv_of_ldp,
    posterior_kept,
    posterior_true,
    uniform_levels,
)
from privexplorer.causal.targets import (
    ATE,
    ATT,
    AverageDerivative,
    MeanUnder,
    TimeDiscount,
    UntreatedMeanOfTreated,
    two_regressions,
)
from privexplorer.causal.theory import (
    bias_expansion,
    decomposition,
    efficiency_bound,
    naive_value,
    private_influence,
    product_bias,
    sample_size,
    treatment_nuisances,
)

SKEW = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
UNIFORM = uniform_levels(3)
HALF = AlphaIdentity(0.5, UNIFORM)


def gold(value: float) -> object:
    # values are printed to 12 significant digits
    return pytest.approx(value, rel=1e-9, abs=1e-13)


def test_G1_G2_randomised_response() -> None:
    response = RandomisedResponse(4, math.log(3))
    inverse = response.finite().inverse
    assert np.diagonal(inverse) == gold([2.5] * 4)
    assert inverse[~np.eye(4, dtype=bool)] == gold([-0.5] * 12)
    assert response.ltv() == gold(1 / 3)
    assert response.finite().ltv() == gold(1 / 3)
    assert response.keep_probability == gold(1 / 3)


def test_G3_inverse_operator_of_a_skew_matrix() -> None:
    h = np.array([1.0, -2.0, 5.0])
    assert operators.invert(SKEW, h) == gold([2.5, -7.5, 7.5])
    transposed = FiniteMechanism(SKEW.matrix, SKEW.inverse.T)  # the slip that a symmetric matrix cannot show
    assert operators.invert(transposed, h) == gold([-0.538461538462, -4.69230769231, 9.23076923077])


def test_G4_levels_of_a_skew_matrix() -> None:
    assert SKEW.ltv() == gold(0.6)
    assert SKEW.ldp_epsilon() == gold(1.94591014906)
    assert SKEW.ldp_delta(0.5) == gold(0.53512787293)


def test_G5_levels_by_formula_and_by_enumeration() -> None:
    mechanism = AlphaIdentity(0.4, FiniteNoise([0.2, 0.5, 0.3]))
    for at in (mechanism, mechanism.finite()):
        assert at.ltv() == gold(0.4)
        assert at.ldp_epsilon() == gold(1.46633706879)
        assert at.ldp_delta(1.0) == gold(0.193806180585)


def test_G6_inverse_with_normal_noise() -> None:
    mechanism = AlphaIdentity(0.3, GaussianNoise(0.5, 1.5))

    def h(x: np.ndarray) -> np.ndarray:
        return 2 * np.sin(x) + x**2

    assert float(mechanism.invert(h(np.array(1.0)), mechanism.noise.mean_of(h))) == gold(2.38345537328)


def test_G7_inverse_of_laplace_noise() -> None:
    h = math.exp(-0.08)
    assert float(LaplaceAddition(0.7).invert(h, (0.16 - 1) * h)) == gold(1.30307103456)


def test_G8_values() -> None:
    assert ATE().value(LAW_A) == gold(0.22)
    assert ATT().value(LAW_A) == gold(0.180434782609)
    assert LAW_A.treated_share == gold(0.46)


def test_G9_naive_limits() -> None:
    assert naive_value(LAW_A, ATE(), HALF) == gold(0.30729876046)
    assert naive_value(LAW_A, ATT(), HALF) == gold(0.305808011756)


def test_G10_G11_influence_functions() -> None:
    for target, open_values, shown_values in (
        (ATE(), (1.74666666667, 3.33), (2.60361111111, 5.1680952381)),
        (ATT(), (1.34688090737, 6.08695652174), (1.85412728418, 9.79296066253)),
    ):
        h = target.influence(LAW_A)
        assert (h[1, 1, 0], h[0, 0, 2]) == gold(open_values)
        psi = private_influence(h, HALF)
        assert (psi[1, 1, 0], psi[0, 0, 2]) == gold(shown_values)


def test_G12_variances() -> None:
    for target, at_one, private in (
        (ATE(), 1.08492738095, (19.3683196932, 3.26185616103, 1.24799619856)),
        (ATT(), 1.36630258662, (65.7590257755, 8.94118824347, 1.92735423935)),
    ):
        assert efficiency_bound(LAW_A, target) == gold(at_one)
        for keep, value in zip((0.2, 0.5, 0.9), private, strict=True):
            mechanism = AlphaIdentity(keep, UNIFORM)
            assert efficiency_bound(LAW_A, target, mechanism) == gold(value)
            assert efficiency_bound(LAW_A, target, mechanism.finite()) == gold(value)


def test_G13_decomposition_and_printed_band() -> None:
    parts = decomposition(LAW_A, ATE(), UNIFORM)
    assert (parts.t0, parts.t1, parts.t2) == gold((1.08492738095, 0.580982581412, 0.797973099332))
    assert tuple(float(end) for end in parts.printed_band(0.5)) == gold((1.88290048028, 17.931010513))


def test_G14_skew_matrix() -> None:
    assert efficiency_bound(LAW_A, ATE(), SKEW) == gold(2.8745150854)
    assert efficiency_bound(LAW_A, ATT(), SKEW) == gold(7.76991287359)


WRONG_MU = np.array([[0.05, -0.03, 0.02], [-0.02, 0.01, 0.04]])
WRONG_PI = np.array([0.02, 0.04, -0.05])


def test_G15_exact_bias() -> None:
    share = LAW_A.treated_share + 0.03
    wrong = treatment_nuisances(
        LAW_A, ATT(), propensity=LAW_A.propensity + WRONG_PI, mu=LAW_A.mu + WRONG_MU, treated_share=share, slope=-1.1
    )
    parts = bias_expansion(LAW_A, ATT(), wrong)
    assert parts.total == gold(0.0202237590688)
    assert parts.error == gold(0.0202237590688)
    assert parts.product == gold(-0.00190223915653)
    closed = product_bias(LAW_A, ATT(), LAW_A.propensity + WRONG_PI, LAW_A.mu + WRONG_MU, share)
    assert closed == gold(-0.00190223915653)


def test_G16_people() -> None:
    parts = decomposition(LAW_A, ATE(), UNIFORM)
    people = sample_size(parts.variance([0.1, 0.2, 0.5, 0.9, 1.0]), 0.1)
    assert people.tolist() == [120056, 29762, 5013, 1918, 1668]


def test_G17_representer_of_the_average_slope() -> None:
    density = GaussianNoise(0.0, 1.0).density
    assert float(AverageDerivative(0.5).representer(density, 0.7)) == gold(0.504645432384)


def test_G20_time_discount_by_quadrature() -> None:
    target = TimeDiscount(lambda x: x**2)
    x, weights = UniformNoise(0.0, 1.0).nodes()
    b, mu = target.weight(Points(x=x)), 1 + x
    value = float(np.sum(weights * target.integrand(lambda p: 1 + p.x, Points(x=x))))
    assert value == gold(1.13197175368)
    # score b·y: mean square E b²(μ² + 1/4), noise average (E b)·y since the noise is the law of X itself
    second = mu**2 + 0.25
    t0 = float(np.sum(weights * b**2 * second)) - value**2
    mean_b = float(np.sum(weights * b))
    t1 = float(np.sum(weights * (b - mean_b) ** 2 * second))
    t2 = float(np.sum(weights * second)) * (float(np.sum(weights * b**2)) - mean_b**2)
    assert t0 == gold(0.164712882699)
    assert t0 + t1 + 2 * t2 == gold(0.369853351891)


def test_G25_total_variation_of_local_privacy() -> None:
    assert ltv_of_ldp(1.0, 0.05) == gold(0.489011299397)
    assert ltv_of_ldp(0.5, 0.0) == gold(0.244918662404)


def test_G26_what_a_shown_value_says() -> None:
    assert posterior_kept(HALF, LAW_A.p_x) == gold([0.6, 0.473684210526, 0.375])
    assert posterior_true(HALF, LAW_A.p_x) == gold([0.8, 0.631578947368, 0.5])
    assert posterior_kept(HALF, LAW_A.joint)[1, 1, 0] == gold(0.441176470588)
    assert posterior_true(HALF, LAW_A.joint)[1, 1, 0] == gold(0.588235294118)


def test_G27_ranks_of_the_tangent_space() -> None:
    singular = np.array([[0.5, 0.2, 0.35], [0.3, 0.6, 0.45], [0.2, 0.2, 0.2]])
    assert np.linalg.det(SKEW.matrix) == gold(0.26)
    rng = np.random.default_rng(3)
    for law in (LAW_A.joint, rng.dirichlet(np.ones(12)).reshape(4, 3)):
        assert operators.tangent_rank(SKEW.matrix, law) == 11
        assert operators.tangent_rank(singular, law) == 7


def test_G28_adjoint() -> None:
    h = ATE().influence(LAW_A)
    for table in (operators.adjoint(HALF, h, LAW_A.joint), operators.adjoint_by_posterior(HALF, h, LAW_A.joint)):
        assert (table[1, 1, 0], table[0, 0, 2]) == gold((1.19862745099, 0.795311004785))


def test_G29_two_regressions() -> None:
    target = two_regressions()
    assert target.value(LAW_A) == gold(-0.32)
    assert efficiency_bound(LAW_A, target) == gold(10.1386416667)
    assert efficiency_bound(LAW_A, target, HALF) == gold(116.019920409)


def test_G30_one_arm() -> None:
    for target, value, at_one, private in (
        (MeanUnder(1), 0.58, 0.616641666667, 0.899003742284),
        (UntreatedMeanOfTreated(), 0.439130434783, 0.94698188308, 8.52186753993),
    ):
        assert target.value(LAW_A) == gold(value)
        assert efficiency_bound(LAW_A, target) == gold(at_one)
        assert efficiency_bound(LAW_A, target, HALF) == gold(private)
    pi, mu = LAW_A.propensity + WRONG_PI, LAW_A.mu + WRONG_MU
    assert product_bias(LAW_A, MeanUnder(1), pi, mu) == gold(-0.000936111111111)
    wrong = treatment_nuisances(LAW_A, MeanUnder(1), propensity=pi, mu=mu)
    assert bias_expansion(LAW_A, MeanUnder(1), wrong).total == gold(-0.000936111111111)


def test_hilbert_schmidt_norm_of_laplace_noise() -> None:
    assert laplace_hilbert_schmidt(0.7, 3.0) == pytest.approx(2.0178571, abs=5e-8)


def test_noise_law_designer() -> None:
    # section 7.7: same total-variation level, very different cost
    for noise, variance in (
        ([1 / 3] * 3, 19.4),
        (LAW_A.p_x, 15.2),
        ([1, 0, 0], 3.26),
        ([0, 1, 0], 2.14),
        ([0, 0, 1], 14.4),
    ):
        digits = 0.05 if variance > 10 else 0.005
        bound = efficiency_bound(LAW_A, ATE(), AlphaIdentity(0.2, FiniteNoise(noise)))
        assert bound == pytest.approx(variance, abs=digits)


def test_law_of_the_shown_value() -> None:
    assert LAW_A.privatised(HALF).sum(axis=(0, 1)) == pytest.approx([5 / 12, 0.95 / 3, 0.8 / 3], rel=1e-12)


def test_law_B_bounds_of_the_coverage_table() -> None:
    # section 6.1, printed to four digits
    law = binary_law([0.6, 0.4], [0.3, 0.7], [0.2, 0.6], [0.5, 0.7])
    for target, table in ((ATE(), (10.29, 2.237, 1.177)), (ATT(), (23.75, 4.115, 1.530))):
        for keep, value in zip((0.2, 0.5, 0.9), table, strict=True):
            assert efficiency_bound(law, target, AlphaIdentity(keep, uniform_levels(2))) == pytest.approx(
                value, rel=5e-4
            )
