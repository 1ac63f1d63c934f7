from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal.laws import LAW_A, LAW_B, FiniteLaw
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism, FiniteNoise, UniformNoise, uniform_levels
from privexplorer.causal.operators import Finite
from privexplorer.causal.targets import (
    ATE,
    ATT,
    CAUSAL_TARGETS,
    CausalTarget,
    Cell,
    KnownRepresenter,
    MeanUnder,
    Nuisances,
    Part,
    SeveralRegressions,
    Target,
    TimeDiscount,
    UntreatedMeanOfTreated,
    two_regressions,
)
from privexplorer.causal.theory import (
    Decomposition,
    bias_expansion,
    decompose,
    decomposition,
    effective_sample_size,
    efficiency_bound,
    extension_bound,
    gateaux_check,
    least_people,
    naive_value,
    plug_in_remainder,
    private_influence,
    product_bias,
    projection_bound,
    sample_size,
    sample_size_for_power,
    second_moment,
    small_sample_guard,
    treatment_nuisances,
    unadjusted_contrast,
)
from privexplorer.errors import ParameterError, UnsupportedCombination

SKEW = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])

TWO_MEANS = SeveralRegressions(
    (
        Part(lambda p: p.y, lambda mu, p: mu(p.at(d=1))),
        Part(lambda p: np.asarray(p.y) ** 2, lambda mu, p: mu(p), given_treatment=False),
    ),
    (
        Cell(lambda p: p.y, lambda p: np.asarray(p.d) == 1),
        Cell(lambda p: np.asarray(p.x) + 1.0, lambda p: np.asarray(p.d) == 0),
    ),
    factor=lambda g: float(g[0] * g[1]),
    factor_gradient=lambda g: np.array([g[1], g[0]]),
)
TARGETS: list[Target] = [*CAUSAL_TARGETS, TimeDiscount(lambda x: x), two_regressions(), TWO_MEANS]


def random_noise(rng: np.random.Generator, levels: int) -> FiniteNoise:
    return FiniteNoise(rng.dirichlet(np.full(levels, rng.choice([0.3, 1.0, 5.0]))))


def random_mechanism(rng: np.random.Generator, levels: int) -> Finite:
    if rng.random() < 0.5:
        return AlphaIdentity(rng.uniform(0.05, 1.0), random_noise(rng, levels))
    return FiniteMechanism(0.3 * np.eye(levels) + 0.7 * rng.dirichlet(np.ones(levels), size=levels).T)


def random_law(rng: np.random.Generator) -> FiniteLaw:
    return FiniteLaw.random(rng, int(rng.integers(2, 6)), int(rng.integers(2, 4)), float(rng.choice([0.5, 1.0, 4.0])))


def random_nuisances(rng: np.random.Generator, law: FiniteLaw, target: Target) -> Nuisances:
    truth = target.nuisances(law)
    return truth.replaced(
        regressions=[t + rng.standard_normal(t.shape) for t in truth.regressions],
        representers=[t + rng.standard_normal(t.shape) for t in truth.representers],
        gammas=np.abs(truth.gammas) + rng.uniform(0.05, 1.0, truth.gammas.shape),
        shares=truth.shares * rng.uniform(0.5, 2.0, truth.shares.shape),
        slopes=truth.slopes + rng.standard_normal(truth.slopes.shape),
        value=truth.value + rng.standard_normal(),
    )


# --- Thm 1 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name + str(getattr(t, "arm", "")))
def test_exact_bias_on_random_laws(target: Target) -> None:
    rng = np.random.default_rng(10)
    for _ in range(25):
        law = random_law(rng)
        found = bias_expansion(law, target, random_nuisances(rng, law, target))
        scale = abs(found.error) + abs(found.product) + abs(found.low_dimensional) + abs(found.curvature)
        assert abs(found.gap) < 1e-10 * max(1.0, scale)
        assert scale > 1e-3
        assert abs(found.product) <= found.product_limit * (1 + 1e-12)
        # with noise: the same, since P_VZ Q⁻¹ = P_VX (28)
        wrong = random_nuisances(rng, law, target)
        mechanism = random_mechanism(rng, law.levels)
        psi = private_influence(target.influence(law, wrong), mechanism)
        with_noise = wrong.value - target.value(law) + float(np.sum(law.privatised(mechanism) * psi))
        assert with_noise == pytest.approx(
            bias_expansion(law, target, wrong).total, abs=1e-10 * (1 + np.abs(psi).max())
        )


@pytest.mark.parametrize("target", CAUSAL_TARGETS, ids=lambda t: t.name + str(getattr(t, "arm", "")))
def test_one_right_nuisance_is_enough(target: CausalTarget) -> None:
    rng = np.random.default_rng(11)
    mu, pi = LAW_A.mu + 0.1 * rng.standard_normal((2, 3)), np.clip(LAW_A.propensity + 0.05, 0, 1)
    for wrong in ({"mu": mu}, {"propensity": pi}):
        found = bias_expansion(LAW_A, target, treatment_nuisances(LAW_A, target, **wrong))
        assert abs(found.error) < 1e-14
    both = bias_expansion(LAW_A, target, treatment_nuisances(LAW_A, target, mu=mu, propensity=pi))
    assert abs(both.error) > 1e-4
    # linear in the regression's error: half of it gives half of the bias
    half = treatment_nuisances(LAW_A, target, mu=(mu + LAW_A.mu) / 2, propensity=pi)
    assert bias_expansion(LAW_A, target, half).error == pytest.approx(both.error / 2, rel=1e-10)


@pytest.mark.parametrize("target", CAUSAL_TARGETS, ids=lambda t: t.name + str(getattr(t, "arm", "")))
def test_closed_form_of_the_product_term(target: CausalTarget) -> None:
    rng = np.random.default_rng(12)
    for _ in range(20):
        law = random_law(rng)
        pi, share = rng.uniform(0.1, 0.9, law.levels), rng.uniform(0.2, 0.8)
        mu = law.mu + rng.standard_normal(law.mu.shape)
        wrong = treatment_nuisances(law, target, propensity=pi, mu=mu, treated_share=share)
        assert product_bias(law, target, pi, mu, share) == pytest.approx(
            bias_expansion(law, target, wrong).product, rel=1e-9, abs=1e-12
        )
    with pytest.raises(UnsupportedCombination, match="closed form"):
        product_bias(LAW_A, KnownRepresenter(lambda p: p.x), LAW_A.propensity, LAW_A.mu)


def test_propensity_at_the_edge_is_refused() -> None:
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        treatment_nuisances(LAW_A, ATE(), propensity=[0.3, 1.0, 0.8])


def test_plug_in_remainder_is_of_second_order() -> None:
    direction = np.random.default_rng(13).uniform(-1, 1, (2, 2, 3))
    for target in (ATE(), ATT(), two_regressions()):
        large, small = (plug_in_remainder(LAW_A, target, direction, step) for step in (0.1, 0.01))
        assert large / small == pytest.approx(100, rel=0.2)


# --- Thm 2 and the decomposition ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name + str(getattr(t, "arm", "")))
def test_private_score_is_the_gradient_of_what_is_shown(target: Target) -> None:
    rng = np.random.default_rng(14)
    for mechanism in (SKEW, AlphaIdentity(0.5, FiniteNoise([0.2, 0.5, 0.3])), AlphaIdentity(1.0, uniform_levels(3))):
        law = FiniteLaw.random(rng, 3, 2, 4.0)
        found = gateaux_check(law, target, rng.standard_normal((2, 2, 3)), mechanism)
        assert abs(found.gap) < 1e-8 * (1 + abs(found.inner_product))
        assert abs(found.inner_product) > 1e-4
    # a wrong transpose is noticed
    slipped = FiniteMechanism(SKEW.matrix, SKEW.inverse.T)
    h = target.influence(LAW_A)
    move = LAW_A.privatised(SKEW) * LAW_A.centred(rng.standard_normal((2, 2, 3)))
    move = move - LAW_A.privatised(SKEW) * move.sum()
    right, wrong = (float(np.sum(move * private_influence(h, m))) for m in (SKEW, slipped))
    assert abs(right - wrong) > 1e-2 * abs(right)


def test_enumeration_equals_the_three_parts_on_random_laws() -> None:
    rng = np.random.default_rng(15)
    for _ in range(150):
        law = random_law(rng)
        target = TARGETS[int(rng.integers(len(TARGETS)))]
        noise, keep = random_noise(rng, law.levels), rng.uniform(0.05, 1.0)
        mechanism = AlphaIdentity(keep, noise)
        h = target.influence(law)
        parts = decomposition(law, target, noise)
        counted = second_moment(private_influence(h, mechanism), law.privatised(mechanism))
        assert float(parts.variance(keep)) == pytest.approx(counted, rel=1e-10)
        assert sum(float(part) for part in parts.parts(keep)) == pytest.approx(counted, rel=1e-10)
        assert min(parts.t0, parts.t1, parts.t2) >= 0
        # P_VX Q[(Q⁻¹h)²] is the same number (17)
        psi = private_influence(h, mechanism)
        forward = np.einsum("ydz,zx,ydx->", psi**2, mechanism.finite().matrix, law.joint)
        assert forward == pytest.approx(counted, rel=1e-10)
        # centred for whatever is shown
        assert abs(float(np.sum(law.privatised(mechanism) * psi))) < 1e-12 * (1 + np.abs(psi).max())


def random_decompositions(count: int) -> tuple[np.ndarray, ...]:
    # many laws at once: T₀, T₁, T₂ and the noise square of random scores
    rng = np.random.default_rng(16)
    p = rng.dirichlet(np.full(12, 0.5), size=count).reshape(count, 4, 3)
    q = rng.dirichlet(np.full(3, 0.7), size=count)[:, None, :]
    h = rng.standard_normal((count, 4, 3)) ** 3
    mean = (h * q).sum(axis=2, keepdims=True)
    v = p.sum(axis=2)
    t0, t1 = ((p * part**2).sum(axis=(1, 2)) for part in (h, h - mean))
    t2, square = ((v * (q * part**2).sum(axis=2)).sum(axis=1) for part in (h - mean, h))
    keep = rng.uniform(0.02, 0.98, count)
    shown = keep[:, None, None] * p + (1 - keep)[:, None, None] * v[:, :, None] * q
    psi = h / keep[:, None, None] - ((1 - keep) / keep)[:, None, None] * mean
    return keep, t0, t1, t2, square, (shown * psi**2).sum(axis=(1, 2))


def test_E3_both_bands_hold_on_2000_laws_and_the_tight_one_is_tighter() -> None:
    keep, t0, t1, t2, square, exact = random_decompositions(2000)
    tightest = [np.inf, np.inf]
    for i in range(2000):
        parts = Decomposition(t0[i], t1[i], t2[i], square[i])
        assert float(parts.variance(keep[i])) == pytest.approx(exact[i], rel=1e-12)
        (low, high), (near_low, near_high) = parts.printed_band(keep[i]), parts.tight_band(keep[i])
        slack = 1e-12 * exact[i]
        assert low <= near_low + slack
        assert near_low <= exact[i] + slack
        assert exact[i] <= near_high + slack
        assert near_high <= high + slack
        tightest = [min(tightest[0], exact[i] / near_low - 1), min(tightest[1], near_high / exact[i] - 1)]
    assert max(tightest) < 0.1  # both ends of the tight band come close somewhere
    # law A at 0.2: [4.28, 185.9] printed, 19.37 exact, tighter lower end 17.04
    parts = decomposition(LAW_A, ATE(), uniform_levels(3))
    assert [float(end) for end in parts.printed_band(0.2)] == pytest.approx([4.28, 185.9], rel=1e-3)
    assert float(parts.variance(0.2)) == pytest.approx(19.37, rel=1e-3)
    low, high = parts.tight_band(0.2)
    assert float(low) == pytest.approx(17.04, rel=1e-3)
    assert float(high) < 185.9 / 3


def test_variance_rises_with_stricter_privacy() -> None:
    _, t0, t1, t2, square, _ = random_decompositions(2000)
    grid = np.linspace(0.02, 1.0, 50)
    for i in range(0, 2000, 10):
        parts = Decomposition(t0[i], t1[i], t2[i], square[i])
        curve = parts.variance(grid)
        assert (np.diff(curve) < 0).all()
        assert curve[-1] == pytest.approx(t0[i], rel=1e-12)
        tiny = 1e-9
        assert tiny**2 * float(parts.variance(tiny)) == pytest.approx(t2[i], rel=1e-6)


def test_variance_is_exact_at_tiny_keep_probabilities() -> None:
    from fractions import Fraction

    # exact arithmetic for a law of two categories
    h, p, q, keep = (
        [Fraction(3), Fraction(-1)],
        [Fraction(1, 4), Fraction(3, 4)],
        [Fraction(1, 3), Fraction(2, 3)],
        Fraction(1, 10**6),
    )
    mean = sum(a * b for a, b in zip(h, q, strict=True))
    exact = sum((keep * p[x] + (1 - keep) * q[x]) * (h[x] / keep - (1 - keep) / keep * mean) ** 2 for x in range(2))
    parts = decompose([[3.0, -1.0]], [[0.25, 0.75]], [1 / 3, 2 / 3])
    assert float(parts.variance(1e-6)) == pytest.approx(float(exact), rel=1e-13)


def test_erasure_grows_only_like_one_over_the_keep_probability() -> None:
    parts = decomposition(LAW_A, ATE(), FiniteNoise([1.0, 0.0, 0.0]))
    assert parts.t2 == 0.0
    assert 1e-4 * float(parts.variance(1e-4)) == pytest.approx(parts.t1, rel=1e-3)
    # no price where the score does not depend on the private column
    flat = decompose(np.broadcast_to([[1.0], [-1.0]], (2, 3)), np.full((2, 3), 1 / 6), [0.2, 0.3, 0.5])
    assert flat.price([0.1, 0.9]) == pytest.approx([1.0, 1.0], rel=1e-12)


def test_bands_of_an_unknown_law_are_refused() -> None:
    with pytest.raises(UnsupportedCombination, match="only its exact curve"):
        Decomposition(1.0, 1.0, 1.0).tight_band(0.5)
    for keep in (0.0, 1.5, math.nan):
        with pytest.raises(ParameterError, match="keep probability"):
            Decomposition(1.0, 1.0, 1.0).variance([0.5, keep])
    with pytest.raises(UnsupportedCombination, match="noise over categories"):
        efficiency_bound(LAW_A, ATE(), AlphaIdentity(0.5, UniformNoise()))


# --- E4 -----------------------------------------------------------------------------------------------------------


def test_E4_bound_is_the_minimum_over_extensions() -> None:
    joint = np.concatenate([LAW_B.joint, np.zeros((2, 2, 1))], axis=2)
    mechanism = AlphaIdentity(0.5, uniform_levels(3))
    rng = np.random.default_rng(17)
    for target in (ATE(), ATT()):
        h = np.concatenate([target.influence(LAW_B), np.zeros((2, 2, 1))], axis=2)
        found = extension_bound(h, joint, mechanism)
        assert found.influence[:, :, :2] == pytest.approx(h[:, :, :2], rel=1e-12)
        shown = np.einsum("zx,ydx->ydz", mechanism.finite().matrix, joint)
        spread = []
        for _ in range(4):
            h[:, :, 2] = 2 * rng.standard_normal((2, 2))
            psi = private_influence(h, mechanism)
            assert float(np.sum(shown * psi)) == pytest.approx(0.0, abs=1e-13)  # every extension is centred
            spread.append(second_moment(psi, shown))
            assert projection_bound(h, joint, mechanism) == pytest.approx(found.bound, rel=1e-10)
        assert min(spread) > 1.02 * found.bound
        assert max(spread) > 1.2 * min(spread)
    # nothing to choose where the law is positive
    h = ATE().influence(LAW_A)
    assert extension_bound(h, LAW_A.joint, SKEW).bound == pytest.approx(efficiency_bound(LAW_A, ATE(), SKEW), rel=1e-12)
    assert projection_bound(h, LAW_A.joint, SKEW) == pytest.approx(efficiency_bound(LAW_A, ATE(), SKEW), rel=1e-10)


# --- people -------------------------------------------------------------------------------------------------------


def test_sample_sizes() -> None:
    # two-sided 95 percent and 80 percent power: (1.959964 + 0.841621)² = 7.848880
    assert float(sample_size_for_power(1.0, 0.1)) == 785.0
    assert float(sample_size_for_power(1.0, -0.1)) == 785.0
    assert float(sample_size(1.0, 0.2, 0.9)) == math.ceil((2 * 1.6448536269514722) ** 2 / 0.04)
    assert effective_sample_size(1000, 1.0, 4.0) == pytest.approx(250.0)
    assert sample_size([1.0, 4.0], 0.1).tolist() == [1537.0, 6147.0]
    # width of the interval with that many people is what was asked for
    n = float(sample_size(3.0, 0.05))
    assert 2 * 1.959963984540054 * math.sqrt(3.0 / n) <= 0.05 < 2 * 1.959963984540054 * math.sqrt(3.0 / (n - 1))
    for bad in (lambda: sample_size(1.0, 0.0), lambda: sample_size_for_power(1.0, 0.0)):
        with pytest.raises(ParameterError, match="above 0"):
            bad()
    with pytest.raises(ParameterError, match="power"):
        sample_size_for_power(1.0, 0.1, power=1.0)


def test_naive_limits_go_from_the_truth_to_the_unadjusted_contrast() -> None:
    for law in (LAW_A, LAW_B):
        uniform = uniform_levels(law.levels)
        for target in (ATE(), ATT()):
            values = [naive_value(law, target, AlphaIdentity(keep, uniform)) for keep in (1.0, 0.7, 0.3, 1e-7)]
            assert values[0] == pytest.approx(target.value(law), rel=1e-12)
            assert values[-1] == pytest.approx(unadjusted_contrast(law), abs=1e-6)
            assert values == sorted(values)
    # section 6.1, law B: naive bias at 0.2
    for target, bias in ((ATE(), 0.109), (ATT(), 0.150)):
        gap = naive_value(LAW_B, target, AlphaIdentity(0.2, uniform_levels(2))) - target.value(LAW_B)
        assert gap == pytest.approx(bias, abs=2e-3)


@pytest.mark.parametrize(
    ("n", "keep", "cell", "kappa", "level"),
    [
        (3000, 0.2, 0.12, 14.4, "red"),
        (3000, 0.5, 0.12, 90.0, "green"),
        (3000, 0.2, 0.04, 4.8, "refused"),
        (3000, 0.5, 0.04, 30.0, "amber"),
        (30000, 0.2, 0.04, 48.0, "amber"),
        (3000, 0.9, 0.04, 97.2, "green"),
    ],
)
def test_small_sample_rule_on_the_coverage_table(n: int, keep: float, cell: float, kappa: float, level: str) -> None:
    found = small_sample_guard(n, keep, smallest_cell=cell)
    assert found.kappa == pytest.approx(kappa, rel=1e-12)
    assert found.level == level
    assert f"κ = {kappa:.3g}" in found.sentence


def test_small_sample_rule_for_coefficients() -> None:
    found = small_sample_guard(20_000, 0.2, coefficients=3)
    assert found.kappa == pytest.approx(800 / 30)
    assert found.level == "red"
    assert "may be unreliable" in found.sentence
    with pytest.raises(ParameterError, match="either"):
        small_sample_guard(100, 0.5)
    with pytest.raises(ParameterError, match="either"):
        small_sample_guard(100, 0.5, smallest_cell=0.1, coefficients=2)
    people = float(least_people(0.3, smallest_cell=0.04))
    assert small_sample_guard(people, 0.3, smallest_cell=0.04).level == "green"
    assert small_sample_guard(people - 1, 0.3, smallest_cell=0.04).level == "amber"


def test_arm_means_of_the_treated_add_up() -> None:
    parts = [efficiency_bound(LAW_A, t, SKEW) for t in (MeanUnder(1), MeanUnder(0), ATE())]
    # variance of a difference is at most (sum of the standard deviations)²
    assert parts[2] <= (math.sqrt(parts[0]) + math.sqrt(parts[1])) ** 2
    assert efficiency_bound(LAW_A, UntreatedMeanOfTreated(), SKEW) > efficiency_bound(LAW_A, UntreatedMeanOfTreated())
