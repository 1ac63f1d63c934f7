from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from privexplorer.distributions import Zipf
from privexplorer.errors import ConvergenceError, ParameterError
from privexplorer.properties import (
    START_FAILURE,
    PlugIn,
    boosting_blocks,
    coin_sample_size,
    coverage_sample_size,
    entropy_sample_size,
    laplace_failure,
    mcdiarmid_tail,
    sensitivity_sample_size,
    sgt_privacy_sample_size,
    sgt_sensitivity_bound,
    smallest_epsilon,
    support_bias_sample_size,
    support_privacy_sample_size,
    support_sample_size,
)


def test_branches_of_the_coverage_theorem() -> None:
    small = coverage_sample_size(5, 0.1, 0.5)
    assert (small.branch, small.upper) == ("small", pytest.approx(25 + 10))
    middle = coverage_sample_size(20, 0.1, 0.1)
    assert (middle.branch, middle.upper) == ("middle", pytest.approx(100 + 100))
    large = coverage_sample_size(100, 0.1, 0.1)
    spread = 100 * math.log(10)
    assert (large.branch, large.upper) == ("sublinear", pytest.approx(spread / math.log(100) + spread / math.log(12)))
    assert large.lower == pytest.approx(spread / math.log(100) + 100)
    assert coverage_sample_size(10, 0.1, 5.0).branch == "small"  # tested first


def test_branches_of_the_support_theorem() -> None:
    small = support_sample_size(5, 0.1, 0.5)
    assert small.upper == small.lower == pytest.approx(5 * math.log(5) + 10)
    middle = support_sample_size(20, 0.1, 0.1)
    assert (middle.branch, middle.upper) == ("middle", pytest.approx(20 * math.log(10) + 100))
    assert middle.lower == pytest.approx(20 * math.log(10) ** 2 / math.log(20) + 100)
    assert sum(middle.terms.values()) == middle.upper


def test_entropy_rates_solve_their_equation() -> None:
    for k, accuracy, epsilon in ((1000, 0.1, 1.0), (10**6, 0.3, 0.01), (5, 0.9, 40.0)):
        rates = entropy_sample_size(k, accuracy, epsilon, 0.25)
        noise = 1 / (accuracy * epsilon)

        def learning(n: float, k: float = k, accuracy: float = accuracy) -> float:
            return math.log(min(k, max(n, 2))) ** 2 / accuracy**2

        first = k / accuracy + learning(rates.upper_1) + noise * max(0.0, math.log(noise))
        second = k / (0.0625 * accuracy * math.log(k)) + learning(rates.upper_2) + noise**1.25
        lower = k / (accuracy * math.log(k)) + learning(rates.lower) + noise * math.log(k)
        np.testing.assert_allclose([rates.upper_1, rates.upper_2, rates.lower], [first, second, lower], rtol=1e-10)
        assert rates.non_private < rates.lower


def test_coin() -> None:
    assert coin_sample_size(0.1, 0.1) == pytest.approx(200)


def test_private_condition_is_where_the_printed_sensitivity_meets_its_limit() -> None:
    m, accuracy, epsilon = 10_000, 0.1, 1.0
    n = sgt_privacy_sample_size(m, accuracy, epsilon)
    r = math.log(3 / accuracy)
    assert sgt_sensitivity_bound(r, (m - n) / n) == pytest.approx(accuracy * epsilon * m, rel=1e-10)
    k = 1000
    n = support_privacy_sample_size(k, accuracy, epsilon)
    assert sgt_sensitivity_bound(r, k * r / n - 1) == pytest.approx(accuracy * epsilon * k, rel=1e-10)
    assert support_privacy_sample_size(k, accuracy, epsilon, printed=True) > n
    n = support_bias_sample_size(k, accuracy)
    assert math.exp(r * (k * r / n - 2)) == pytest.approx(accuracy * k / 2, rel=1e-10)


def test_boosting_counts_are_the_smallest_odd_ones() -> None:
    assert [boosting_blocks(b) for b in (0.1, 0.05, 0.01)] == [15, 23, 47]
    assert [boosting_blocks(b, exact=False) for b in (0.1, 0.05, 0.01)] == [42, 54, 83]
    assert boosting_blocks(1 / 3, START_FAILURE) == 47
    assert boosting_blocks(1 / 3, START_FAILURE, exact=False) == 560
    for failure in (0.3, 0.02, 1e-6):
        blocks = boosting_blocks(failure)
        assert (
            stats.binom.sf(blocks // 2, blocks, 1 / 3) <= failure < stats.binom.sf(blocks // 2 - 1, blocks - 2, 1 / 3)
        )
    assert boosting_blocks(0.4) == 1


def test_noise_of_lemma_25() -> None:
    assert pytest.approx(0.469, abs=5e-4) == START_FAILURE
    assert laplace_failure(0.25, 0.5) == pytest.approx(math.exp(-2))


def test_concentration_holds_for_plug_in() -> None:
    n, law = 100, Zipf(k=50).law()
    estimates = PlugIn().table(n).estimate(law.sample_counts(n, 5000, np.random.default_rng(1)))
    sensitivity = PlugIn().sensitivity(n)
    for z in (0.1, 0.2, 0.4):
        tail = (np.abs(estimates - PlugIn().table(n).mean(law)) >= z).mean()
        assert tail <= mcdiarmid_tail(z, n, sensitivity)
    assert mcdiarmid_tail(0.5, 8, 0.25) == pytest.approx(2 * math.exp(-1))
    assert mcdiarmid_tail(0.0, 8, 0.25) == 1.0


def test_the_least_sample_for_a_sensitivity() -> None:
    n = sensitivity_sample_size(PlugIn().sensitivity, 0.05)
    assert PlugIn().sensitivity(n) <= 0.05 < PlugIn().sensitivity(n - 1)
    with pytest.raises(ConvergenceError):
        sensitivity_sample_size(lambda n: 1.0, 0.5, 100)


def test_the_least_epsilon_inverts_the_rates() -> None:
    for n in (5200.0, 9000.0, 40_000.0):
        epsilon = smallest_epsilon(lambda e: coverage_sample_size(10_000, 0.1, e).upper, n)
        assert epsilon is not None
        assert coverage_sample_size(10_000, 0.1, epsilon).upper <= n * (1 + 1e-9)
        assert coverage_sample_size(10_000, 0.1, 0.99 * epsilon).upper > n
    assert smallest_epsilon(lambda e: coin_sample_size(0.1, e), 90) is None
    assert smallest_epsilon(lambda e: coin_sample_size(0.1, e), 200) == pytest.approx(0.1, rel=1e-9)


@pytest.mark.parametrize(
    "call",
    [
        lambda: coverage_sample_size(1, 0.1, 1.0),
        lambda: coverage_sample_size(10, 0.0, 1.0),
        lambda: support_sample_size(10, 1.0, 1.0),
        lambda: support_sample_size(10, 0.1, 0.0),
        lambda: entropy_sample_size(10, 0.1, math.nan),
        lambda: entropy_sample_size(10, 0.1, 1.0, 0.001),
        lambda: sgt_privacy_sample_size(10, 0.1, 1.0),
        lambda: support_bias_sample_size(10, 0.1),
        lambda: support_privacy_sample_size(10, 0.1, 1.0),
        lambda: boosting_blocks(0.1, 0.5),
        lambda: boosting_blocks(0.0),
        lambda: mcdiarmid_tail(-1.0, 5, 0.1),
        lambda: laplace_failure(0.0, 1.0),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize("accuracy", [1e-6, 0.3, 0.9, 0.999999, 1 - 1e-12])
@pytest.mark.parametrize("size", [2.0, 1e3, 1e9])
@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 1.0, 50.0])
def test_lower_rates_against_sixty_digits(accuracy: float, size: float, epsilon: float) -> None:
    """ln(1/accuracy) near 1, tiny ε and large sizes lose no digits."""
    with mpmath.workdps(60):
        a, e, m = (mpmath.mpf(value) for value in (accuracy, epsilon, size))
        spread, noise = -mpmath.log(a), 1 / (a * e)
        coverage = m * spread / mpmath.log(m) + noise
        support = m * mpmath.log(m) + m / e if size <= 1 / accuracy else m * spread**2 / mpmath.log(m) + noise
        found = entropy_sample_size(size, accuracy, epsilon).lower
        entropy = m / (a * mpmath.log(m)) + mpmath.log(m) * noise + mpmath.log(min(m, max(found, 2))) ** 2 / a**2
    assert coverage_sample_size(size, accuracy, epsilon).lower == pytest.approx(float(coverage), rel=1e-12)
    assert support_sample_size(size, accuracy, epsilon).lower == pytest.approx(float(support), rel=1e-12)
    assert found == pytest.approx(float(entropy), rel=1e-12)


def test_the_least_sample_looks_past_a_dip() -> None:
    """A sensitivity may dip below the limit and rise above it again before it falls for good."""
    dip = {1: 0.0, 2: 0.9, 3: 0.4, 4: 0.8, 5: 0.5, 6: 0.45}
    assert sensitivity_sample_size(lambda n: dip.get(n, 2.7 / n), 0.5, 10**6) == 5
    assert sensitivity_sample_size(lambda n: dip.get(n, 2.7 / n), 0.1, 10**6, falling_from=4) == 27
    assert sensitivity_sample_size(lambda n: dip.get(n, 2.7 / n), 1.0, 10**6) == 1
