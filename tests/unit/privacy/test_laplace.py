"""The Laplace mechanism: its law, its clipped moments, and its guarantee from its own density."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from privexplorer.errors import ParameterError
from privexplorer.privacy import Laplace, LaplaceNoise, PureDP


def exact_squared_error(value, target, low, high, scale):
    """Mean squared error of the clipped noisy value, straight from the definition in 60 digits.

    The interior is a polynomial times an exponential, integrated by its antiderivative piece by piece.
    """
    with mpmath.workdps(120):
        v, t, b = mpmath.mpf(value), mpmath.mpf(target), mpmath.mpf(scale)

        def cdf(y):
            x = (y - v) / b
            return mpmath.exp(x) / 2 if x < 0 else 1 - mpmath.exp(-x) / 2

        def survival(y):
            x = (y - v) / b
            return mpmath.exp(-x) / 2 if x > 0 else 1 - mpmath.exp(x) / 2

        def piece(start, end, sign):
            # integral over [start, end] of (y - t)^2 exp(-sign (y - v) / b) / (2 b)
            def primitive(y):
                if mpmath.isinf(y):
                    return mpmath.mpf(0)
                u = y - t
                s = -sign / b
                return mpmath.exp(s * (y - v)) * (u**2 / s - 2 * u / s**2 + 2 / s**3) / (2 * b)

            return primitive(end) - primitive(start)

        low_, high_ = mpmath.mpf(low), mpmath.mpf(high)
        total = mpmath.mpf(0)
        if not mpmath.isinf(low_):
            total += (low_ - t) ** 2 * cdf(low_)
        if not mpmath.isinf(high_):
            total += (high_ - t) ** 2 * survival(high_)
        below, above = (low_, min(v, high_)), (max(v, low_), high_)
        if below[0] < below[1]:
            total += piece(*below, sign=-1)
        if above[0] < above[1]:
            total += piece(*above, sign=1)
        return float(total)


CASES = [
    (value, target, low, high, scale)
    for (value, target, low, high), scale in itertools.product(
        [
            (0.3, 0.45, 0.0, 1.0),
            (0.0, 0.0, 0.0, 1.0),
            (1.0, 0.2, 0.0, 1.0),
            (1.4, 0.9, 0.0, 1.0),
            (-7.0, 0.1, 0.0, 1.0),
            (3.0, 5.0, 0.0, math.inf),
            (-0.5, 0.7, 0.0, math.inf),
            (2.0, 1.0, -math.inf, 2.5),
            (6.9, 6.5, -math.inf, math.inf),
            (0.5, 2.0, 0.5, 0.5),
            (1e6, 1e6 + 0.5, 0.0, 1e6 + 1),
        ],
        [1e-9, 0.01, 0.2, 1.0, 30.0, 1e4, 1e9],
    )
]


@pytest.mark.parametrize(("value", "target", "low", "high", "scale"), CASES)
def test_clipped_squared_error_agrees_with_many_digits(value, target, low, high, scale):
    expected = exact_squared_error(value, target, low, high, scale)
    got = float(LaplaceNoise(scale).clipped_squared_error(value, target, low, high))
    assert got == pytest.approx(expected, rel=2e-13, abs=1e-300)


@pytest.mark.parametrize(("value", "target", "low", "high", "scale"), CASES)
def test_clipped_moments_agree_with_many_digits(value, target, low, high, scale):
    mean, second = LaplaceNoise(scale).clipped_moments(value, low, high)
    assert float(second) == pytest.approx(exact_squared_error(value, 0.0, low, high, scale), rel=2e-13, abs=1e-300)
    # E(Y-1)^2 = E Y^2 - 2 E Y + 1 gives the mean without another formula
    shifted = exact_squared_error(value, 1.0, low, high, scale)
    tolerance = 1e-12 * (1 + abs(float(second)))
    assert float(mean) == pytest.approx((float(second) + 1 - shifted) / 2, abs=tolerance, rel=1e-12)


@pytest.mark.parametrize(("value", "low", "high", "scale"), [(0.3, 0, 1, 0.2), (1.7, 0, 1, 0.9), (2.0, 1.0, 9.0, 3.0)])
def test_clipped_moments_agree_with_quadrature(value, low, high, scale):
    law = stats.laplace(loc=value, scale=scale)
    mean, second = LaplaceNoise(scale).clipped_moments(value, low, high)
    for power, got in ((1, mean), (2, second)):
        breaks = [value] if low < value < high else None
        interior = integrate.quad(lambda y, p=power: y**p * law.pdf(y), low, high, points=breaks, epsabs=1e-13)[0]
        assert float(got) == pytest.approx(low**power * law.cdf(low) + interior + high**power * law.sf(high), rel=1e-10)


def test_small_scale_keeps_the_error_it_adds():
    # the noise adds exactly 2 b^2 here; a formula that squares and subtracts would lose it
    noise = LaplaceNoise(1e-7)
    assert float(noise.clipped_squared_error(0.5, 0.5, 0.0, 1.0)) == pytest.approx(2e-14, rel=1e-13)


@pytest.mark.parametrize("scale", [0.0, 5e-324, 1e-300, 1e150])
def test_extreme_scales_give_finite_limits(scale):
    noise = LaplaceNoise(scale)
    value = np.array([-3.0, 0.0, 0.25, 1.0, 4.0])
    error = noise.clipped_squared_error(value, 0.5, 0.0, 1.0)
    limit = np.full(5, 0.25) if scale > 1 else (np.clip(value, 0, 1) - 0.5) ** 2
    np.testing.assert_allclose(error, limit, rtol=1e-12)
    mean, second = noise.clipped_moments(value, 0.0, 1.0)
    np.testing.assert_allclose(mean, np.full(5, 0.5) if scale > 1 else np.clip(value, 0, 1), rtol=1e-12, atol=1e-290)
    assert np.all(second >= 0)


def test_arrays_broadcast_and_inputs_stay_untouched():
    rng = np.random.default_rng(4)
    value, target = rng.normal(size=(7, 1)), rng.normal(size=(1, 5))
    low, high = np.full((1, 5), -0.4), np.linspace(0.1, 2, 5)[None, :]
    before = [array.copy() for array in (value, target, low, high)]
    error = LaplaceNoise(0.7).clipped_squared_error(value, target, low, high)
    assert error.shape == (7, 5)
    for array, copy in zip((value, target, low, high), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    for i, j in itertools.product(range(7), range(5)):
        expected = exact_squared_error(value[i, 0], target[0, j], low[0, j], high[0, j], 0.7)
        assert error[i, j] == pytest.approx(expected, rel=1e-12)


def test_no_bounds_is_the_textbook_error():
    value = np.array([-1.0, 2.0, 1e8])
    error = LaplaceNoise(0.25).clipped_squared_error(value, value - 3.0)
    np.testing.assert_allclose(error, 9.0 + 2 * 0.0625, rtol=1e-15)


def test_law_agrees_with_scipy():
    noise, law = LaplaceNoise(0.37), stats.laplace(scale=0.37)
    x = np.array([-90.0, -4.0, -0.2, 0.0, 0.1, 3.0, 200.0])
    np.testing.assert_allclose(noise.log_density(x), law.logpdf(x), rtol=1e-13)
    np.testing.assert_allclose(noise.cdf(x), law.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(noise.survival(x), law.sf(x), rtol=1e-12)
    q = np.array([0.0, 1e-12, 0.3, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(noise.quantile(q), law.ppf(q), rtol=1e-12, atol=1e-15)
    assert noise.std == pytest.approx(law.std())
    assert float(noise.cdf(noise.half_width(0.9)) - noise.cdf(-noise.half_width(0.9))) == pytest.approx(0.9)


def test_no_noise_is_a_step():
    noise = LaplaceNoise(0.0)
    np.testing.assert_array_equal(noise.cdf([-1.0, 0.0, 1.0]), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(noise.survival([-1.0, 0.0, 1.0]), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(noise.quantile([0.1, 0.9]), [0.0, 0.0])
    np.testing.assert_array_equal(noise.log_density([0.0, 1.0]), [np.inf, -np.inf])
    np.testing.assert_array_equal(noise.sample(3, np.random.default_rng(0)), np.zeros(3))


def largest_log_ratio(noise, shift):
    """Largest log density ratio of two answers that lie ``shift`` apart, over a wide grid with the kinks on it."""
    x = np.concatenate([np.linspace(-20, 20, 4001), [0.0, shift]])
    return float(np.max(np.abs(noise.log_density(x) - noise.log_density(x - shift))))


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_guarantee_is_met_with_equality_and_a_tenth_less_noise_breaks_it(epsilon):
    mechanism = Laplace(epsilon=epsilon)
    noise = mechanism.noise(1.5)
    promised = mechanism.guarantee()
    assert promised == PureDP(epsilon)
    assert largest_log_ratio(noise, 1.5) == pytest.approx(promised.epsilon, rel=1e-12)
    assert max(largest_log_ratio(noise, shift) for shift in (0.0, 0.3, 1.0)) < promised.epsilon
    assert largest_log_ratio(LaplaceNoise(0.9 * noise.scale), 1.5) > promised.epsilon * 1.1


def test_release_keeps_shape_and_is_repeatable():
    values = np.zeros((3, 4))
    first = Laplace(epsilon=2.0).release(values, 1.0, np.random.default_rng(1))
    second = Laplace(epsilon=2.0).release(values, 1.0, np.random.default_rng(1))
    wider = Laplace(epsilon=1.0).release(values, 1.0, np.random.default_rng(1))
    assert first.shape == (3, 4)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(wider, 2 * first, rtol=1e-15)
    assert Laplace().release(3.0, 0.0, np.random.default_rng(1)) == 3.0


@pytest.mark.parametrize("scale", [-1.0, math.nan, math.inf, 1e160])
def test_impossible_scales_are_refused(scale):
    with pytest.raises(ParameterError, match="noise scale must be a number from 0 to 1e\\+150"):
        LaplaceNoise(scale)


@pytest.mark.parametrize("sensitivity", [-1.0, math.nan, math.inf])
def test_impossible_sensitivities_are_refused(sensitivity):
    with pytest.raises(ParameterError, match="sensitivity must be a finite number"):
        Laplace().noise(sensitivity)


def test_exchanged_bounds_and_levels_are_refused():
    with pytest.raises(ParameterError, match="exchange the two"):
        LaplaceNoise(1.0).clipped_moments(0.0, 1.0, 0.0)
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        LaplaceNoise(1.0).half_width(1.0)
    with pytest.raises(ParameterError, match="between 0 and 1"):
        LaplaceNoise(1.0).quantile([0.2, 1.2])
