"""The geometric mechanism: its law, truncation, clipped moments, and its guarantee from its own probabilities."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest

from privexplorer.errors import ParameterError
from privexplorer.privacy import Geometric, GeometricNoise, PureDP

SCALES = [0.0, 0.05, 0.7, 3.0, 40.0]


@pytest.mark.parametrize("scale", SCALES)
def test_law_adds_up_and_tails_agree_with_the_probabilities(scale):
    noise = GeometricNoise(scale)
    j = np.arange(-2500, 2501)
    pmf = noise.pmf(j)
    assert pmf.sum() == pytest.approx(1.0, rel=1e-12)
    assert float((pmf * j**2).sum()) == pytest.approx(noise.variance, rel=1e-9)
    inner = np.arange(-30, 31)
    cumulative = np.cumsum(pmf)[inner + 2500]
    np.testing.assert_allclose(noise.cdf(inner), cumulative, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(noise.cdf(inner + 0.5), cumulative, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(noise.survival(inner), 1 - cumulative, rtol=1e-7, atol=1e-12)
    assert float(noise.pmf(0.5)) == 0.0


@pytest.mark.parametrize("scale", SCALES)
def test_quantile_is_the_smallest_number_that_reaches_the_probability(scale):
    noise = GeometricNoise(scale)
    q = np.concatenate([np.linspace(0.001, 0.999, 333), [1e-9, 0.5, 1 - 1e-9], noise.cdf(np.arange(-3, 3))])
    q = q[(q > 0) & (q < 1)]
    found = noise.quantile(q)
    assert np.all(noise.cdf(found) >= q)
    assert np.all(noise.cdf(found - 1) < q)


@pytest.mark.parametrize("scale", SCALES[1:])
def test_half_width_is_the_smallest_that_covers(scale):
    noise = GeometricNoise(scale)
    for level in (0.5, 0.9, 0.95, 0.999):
        width = noise.half_width(level)
        covered = 1 - 2 * float(noise.survival(width))
        assert covered >= level - 1e-12
        assert width == 0 or 1 - 2 * float(noise.survival(width - 1)) < level


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("value", "low", "high"), [(3, 0, 7), (0, 0, 7), (9, 0, 7), (-4, 0, 7), (2, 2, 2)])
def test_clipped_law_and_moments_agree_with_the_sum_over_answers(scale, value, low, high):
    noise = GeometricNoise(scale)
    law = noise.clipped_pmf(value, low, high)
    answers = np.arange(low, high + 1)
    j = np.arange(-3000, 3001)
    direct = np.zeros(len(answers))
    np.add.at(direct, np.clip(value + j, low, high) - low, noise.pmf(j))
    np.testing.assert_allclose(law, direct, rtol=1e-9, atol=1e-13)
    mean, second = noise.clipped_moments(value, low, high)
    assert float(mean) == pytest.approx(float((law * answers).sum()), rel=1e-12, abs=1e-13)
    assert float(second) == pytest.approx(float((law * answers**2).sum()), rel=1e-12, abs=1e-13)
    error = noise.clipped_squared_error(value, 2.6, low, high)
    assert float(error) == pytest.approx(float((law * (answers - 2.6) ** 2).sum()), rel=1e-12)


@pytest.mark.parametrize("scale", [1e2, 1e4, 1e6, 1e9])
@pytest.mark.parametrize(("value", "low", "high"), [(3, 0, 10), (-5, 0, 200), (7, 7, 1000)])
def test_wide_noise_loses_no_digits(scale, value, low, high):
    with mpmath.workdps(50):
        r = mpmath.exp(-1 / mpmath.mpf(scale))
        clipped, target = min(max(value, low), high), mpmath.mpf("2.5")
        q, outside = clipped - target, abs(value - clipped)
        total = q**2
        for sign, room in ((1, high - clipped), (-1, clipped - low)):
            total += sum((2 * sign * q + 2 * j - 1) * r ** (j + outside) for j in range(1, room + 1)) / (1 + r)
        expected = float(total)
    got = float(GeometricNoise(scale).clipped_squared_error(value, 2.5, low, high))
    assert got == pytest.approx(expected, rel=1e-10)


def test_no_bounds_is_the_variance():
    noise = GeometricNoise(3.0)
    assert float(noise.clipped_squared_error(5, 3.0)) == pytest.approx(4 + noise.variance, rel=1e-12)
    mean, second = noise.clipped_moments(5)
    assert float(mean) == 5.0
    assert float(second) == pytest.approx(25 + noise.variance, rel=1e-12)


def largest_log_ratio(noise, shift, low=None, high=None):
    """Largest log ratio of the answer probabilities of two neighbours that lie ``shift`` apart."""
    if low is None:
        j = np.arange(-60, 61)
        return float(np.max(np.abs(noise.log_pmf(j) - noise.log_pmf(j - shift))))
    laws = [noise.clipped_pmf(value, low, high) for value in range(low, high + 1)]
    return max(
        float(np.max(np.abs(np.log(laws[i]) - np.log(laws[j]))))
        for i, j in itertools.combinations(range(len(laws)), 2)
        if j - i <= shift
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("sensitivity", [1, 3])
@pytest.mark.parametrize("bounds", [(None, None), (0, 6)])
def test_guarantee_is_met_with_equality_and_a_tenth_less_noise_breaks_it(epsilon, sensitivity, bounds):
    mechanism = Geometric(epsilon=epsilon)
    assert mechanism.guarantee() == PureDP(epsilon)
    noise = mechanism.noise(sensitivity)
    assert largest_log_ratio(noise, sensitivity, *bounds) == pytest.approx(epsilon, rel=1e-9)
    assert largest_log_ratio(GeometricNoise(0.9 * noise.scale), sensitivity, *bounds) > 1.1 * epsilon


def test_release_gives_whole_numbers_within_bounds():
    mechanism = Geometric(epsilon=0.3)
    values = np.arange(12).reshape(3, 4)
    free = mechanism.release(values, 1, np.random.default_rng(2))
    held = mechanism.release(values, 1, np.random.default_rng(2), low=0, high=11)
    assert free.shape == held.shape == (3, 4)
    assert free.dtype == np.int64
    assert free.min() < 0
    np.testing.assert_array_equal(held, np.clip(free, 0, 11))
    np.testing.assert_array_equal(mechanism.release(values, 0, np.random.default_rng(2)), values)


def test_fractions_are_refused():
    with pytest.raises(ParameterError, match="whole-number questions, so the sensitivity must be whole; it is"):
        Geometric().noise(0.5)
    with pytest.raises(ParameterError, match="whole-number questions; choose Laplace"):
        Geometric().release([0.5], 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="whole or infinite"):
        GeometricNoise(1.0).clipped_moments(1, 0.5, 2)
    with pytest.raises(ParameterError, match="exchange the two"):
        GeometricNoise(1.0).clipped_pmf(1, 3, 2)
    with pytest.raises(ParameterError, match="noise scale"):
        GeometricNoise(math.nan)
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        GeometricNoise(1.0).quantile(1.0)
