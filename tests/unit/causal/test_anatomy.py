"""The error of an estimate in three parts, exactly, with and without noise; and what the assumptions ask for."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.causal.anatomy import (
    CONDITIONS,
    fitted_anatomy,
    fitted_nuisances,
    nuisances_off,
    rate_curve,
    released_counts,
    score_error,
    split_error,
)
from privexplorer.causal.laws import LAW_A, LAW_B, FiniteLaw
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism, FiniteNoise, uniform_levels
from privexplorer.causal.operators import invert
from privexplorer.causal.targets import ATE, ATT, CausalTarget, MeanUnder, UntreatedMeanOfTreated
from privexplorer.causal.theory import bias_expansion, efficiency_bound
from privexplorer.errors import DataError, ParameterError

TARGETS = (ATE(), ATT(), MeanUnder(1), UntreatedMeanOfTreated())
SKEW = FiniteMechanism(np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]))
HALF = AlphaIdentity(0.5, uniform_levels(2))
OPEN = AlphaIdentity(1.0, uniform_levels(2))


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("mechanism", [SKEW, AlphaIdentity(0.6, FiniteNoise(np.array([0.2, 0.5, 0.3])))])
def test_parts_add_up_on_random_laws(target: CausalTarget, mechanism: FiniteMechanism | AlphaIdentity) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        law = FiniteLaw.random(rng, 3, 4, concentration=5.0)
        found = fitted_anatomy(law, target, mechanism, 2000, 3, rng)
        assert found.gap < 1e-10 * (1 + np.abs(found.total).max())


def test_the_error_is_that_of_the_mean_of_the_fitted_scores() -> None:
    rng = np.random.default_rng(2)
    first, second = released_counts(LAW_A, SKEW, 5000, 2, rng)
    for target in TARGETS:
        nuisances = fitted_nuisances(LAW_A, target, SKEW, first)
        found = split_error(LAW_A, target, SKEW, nuisances, second)
        scores = invert(SKEW, target.influence(LAW_A, nuisances) + nuisances.value)
        estimate = float(np.sum(second / 5000 * scores))
        assert float(found.total) == pytest.approx(np.sqrt(5000) * (estimate - target.value(LAW_A)), abs=1e-10)


def test_the_initial_value_cancels() -> None:
    rng = np.random.default_rng(2)
    first, second = released_counts(LAW_A, SKEW, 5000, 2, rng)
    for target in TARGETS:
        nuisances = fitted_nuisances(LAW_A, target, SKEW, first)
        moved = nuisances.replaced(value=nuisances.value + 5.0)
        one, other = (split_error(LAW_A, target, SKEW, at, second) for at in (nuisances, moved))
        assert float(one.total) == pytest.approx(float(other.total), abs=1e-9)


def test_fitted_nuisances_in_theorem_1() -> None:
    """R_n is the same with and without noise, since P_VZ Q⁻¹ = P_VX (28)."""
    rng = np.random.default_rng(3)
    counts = released_counts(LAW_A, SKEW, 3000, 1, rng)[0]
    for target in TARGETS:
        nuisances = fitted_nuisances(LAW_A, target, SKEW, counts)
        expansion = bias_expansion(LAW_A, target, nuisances)
        scores = invert(SKEW, target.influence(LAW_A, nuisances))
        with_noise = nuisances.value - target.value(LAW_A) + float(np.sum(LAW_A.privatised(SKEW) * scores))
        assert with_noise == pytest.approx(expansion.total, abs=1e-10)
        assert abs(expansion.total) > 1e-5


def test_exact_counts_give_the_true_nuisances() -> None:
    counts = LAW_A.privatised(SKEW) * 1e6
    for target in TARGETS:
        found, truth = fitted_nuisances(LAW_A, target, SKEW, counts), target.nuisances(LAW_A)
        np.testing.assert_allclose(found.regressions[0], truth.regressions[0], rtol=1e-9)
        np.testing.assert_allclose(found.representers[0], truth.representers[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.slopes, truth.slopes, rtol=1e-9)
        assert found.value == pytest.approx(truth.value, rel=1e-9)


@pytest.mark.parametrize("mechanism", [HALF, OPEN], ids=["with noise", "without"])
@pytest.mark.parametrize("target", [ATE(), ATT()], ids=lambda t: t.name)
def test_middle_part_falls_with_n_and_the_first_keeps_the_bound(target: CausalTarget, mechanism: AlphaIdentity) -> None:
    """Law B: the standard deviation of the middle part falls by more than half from n = 1,000 to 16,000."""
    runs = 300
    small, large = (fitted_anatomy(LAW_B, target, mechanism, n, runs, np.random.default_rng(n)) for n in (1000, 16_000))
    assert large.empirical.std() < 0.5 * small.empirical.std()
    bound = efficiency_bound(LAW_B, target, mechanism)
    for found in (small, large):
        assert abs(found.gaussian.var() / bound - 1) < 4.5 * np.sqrt(2 / runs)
        assert abs(found.gaussian.mean()) < 4 * np.sqrt(bound / runs)
    assert large.root_mean_squares[2] < 0.5 * small.root_mean_squares[2]


def test_rates_multiply() -> None:
    """√n times the bias falls if and only if the exponents add up to more than 1/2 (Assumptions 1 and 5)."""
    sizes = np.array([100, 10_000])
    for a, b, mechanism in (
        (0.3, 0.3, HALF),
        (0.1, 0.45, OPEN),
        (0.2, 0.2, HALF),
        (0.05, 0.3, OPEN),
        (0.25, 0.25, HALF),
    ):
        curve = rate_curve(LAW_B, ATE(), mechanism, sizes, a, b)
        slope = np.log(curve.bias[1] / curve.bias[0]) / np.log(100)
        assert slope == pytest.approx(0.5 - a - b, abs=1e-9)
        assert curve.empirical[1] < curve.empirical[0]
        assert curve.gaussian[0] ** 2 == pytest.approx(efficiency_bound(LAW_B, ATE(), mechanism), rel=1e-10)


def test_middle_part_of_the_rate_curve_is_its_standard_deviation() -> None:
    n, runs = 500, 4000
    off = nuisances_off(LAW_B, ATE(), n**-0.2, n**-0.3)
    counts = released_counts(LAW_B, HALF, n, runs, np.random.default_rng(0))
    drawn = split_error(LAW_B, ATE(), HALF, off, counts)
    curve = rate_curve(LAW_B, ATE(), HALF, [n], 0.2, 0.3)
    assert drawn.empirical.std() == pytest.approx(curve.empirical[0], rel=4 / np.sqrt(2 * runs))
    np.testing.assert_allclose(np.abs(drawn.bias), curve.bias[0], rtol=1e-12)


def test_errors_have_the_wanted_size() -> None:
    off, truth = nuisances_off(LAW_A, ATT(), 0.3, 0.7), ATT().nuisances(LAW_A)
    for name, size in (("regressions", 0.3), ("representers", 0.7)):
        gap = getattr(off, name)[0] - getattr(truth, name)[0]
        assert np.sqrt(np.sum(LAW_A.p_dx * gap**2)) == pytest.approx(size, rel=1e-12)
    with pytest.raises(ParameterError, match="point somewhere"):
        nuisances_off(LAW_A, ATE(), 0.1, 0.1, regression_direction=np.zeros((2, 3)))


def test_nuisances_must_be_right_where_the_noise_lands() -> None:
    """Assumption 2: the same L₂ error in the nuisance, at a rare category that the noise favours or avoids."""
    law = FiniteLaw(np.array([0.98, 0.02])[None, None, :] * np.full((2, 2, 1), 0.25), np.array([0.0, 1.0]))
    rare = np.array([[0.0, 1.0], [0.0, 1.0]])
    off = nuisances_off(law, ATE(), 0.1, 0.0, regression_direction=rare)
    errors = [
        score_error(law, ATE(), AlphaIdentity(0.5, FiniteNoise(np.array([1 - q, q]))), off) for q in (0.02, 0.5, 0.9)
    ]
    assert errors[0] < 0.6 * errors[1] < 0.9 * errors[2]


def test_refusals_and_words() -> None:
    empty = np.zeros((2, 2, 3))
    with pytest.raises(DataError, match="no treated units"):
        fitted_nuisances(LAW_A, ATE(), SKEW, empty)
    with pytest.raises(DataError, match="no records"):
        split_error(LAW_A, ATE(), SKEW, ATE().nuisances(LAW_A), empty)
    with pytest.raises(DataError, match="outcome values, arms and categories"):
        split_error(LAW_A, ATE(), SKEW, ATE().nuisances(LAW_A), np.ones((2, 2, 2)))
    with pytest.raises(ParameterError, match="at least 0"):
        rate_curve(LAW_B, ATE(), HALF, [100], -0.1, 0.5)
    assert [label for label, _ in CONDITIONS] == [f"Assumption {k}" for k in (1, 2, 4, 5)]
