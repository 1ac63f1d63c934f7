"""The Gaussian mechanism: exact calibration, the classic formula's range, clipped moments."""

from __future__ import annotations

import itertools
import math

import dp_accounting
import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from privexplorer.errors import ParameterError
from privexplorer.privacy import (
    ApproxDP,
    Gaussian,
    GaussianNoise,
    analytic_gaussian_std,
    classic_gaussian_std,
    gaussian_delta,
    zcdp_gaussian_std,
)

LEVELS = list(itertools.product([0.01, 0.3, 1.0, 2.5, 10.0], [1e-12, 1e-6, 1e-2, 0.4]))


def slack_by_quadrature(std, epsilon):
    """δ from its definition, by integrating the positive part of p - e^ε q for answers one unit apart."""
    p, q = stats.norm(1.0, std), stats.norm(0.0, std)
    start = 0.5 + epsilon * std**2
    return integrate.quad(lambda x: p.pdf(x) - math.exp(epsilon) * q.pdf(x), start, start + 40 * std, limit=200)[0]


@pytest.mark.parametrize(("std", "epsilon"), [(0.5, 1.0), (1.0, 0.0), (2.0, 0.5), (0.3, 4.0)])
def test_slack_agrees_with_its_definition(std, epsilon):
    assert gaussian_delta(3 * std, 3.0, epsilon) == pytest.approx(slack_by_quadrature(std, epsilon), rel=1e-7)


@pytest.mark.parametrize(("epsilon", "delta"), LEVELS)
def test_calibration_is_exact_private_and_agrees_with_another_library(epsilon, delta):
    std = analytic_gaussian_std(epsilon, delta)
    reached = gaussian_delta(std, 1.0, epsilon)
    assert reached <= delta * (1 + 1e-13)
    assert reached == pytest.approx(delta, rel=1e-9)
    assert gaussian_delta(0.9 * std, 1.0, epsilon) > 1.05 * delta
    assert std == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta, tol=1e-12), rel=1e-8)


@pytest.mark.parametrize(("epsilon", "delta"), [(e, d) for e, d in LEVELS if e <= 1])
def test_classic_formula_is_valid_and_wasteful_up_to_one(epsilon, delta):
    std = classic_gaussian_std(epsilon, delta)
    assert gaussian_delta(std, 1.0, epsilon) <= delta
    assert std > analytic_gaussian_std(epsilon, delta)


def test_classic_formula_is_refused_above_one():
    with pytest.raises(ParameterError, match="valid for ε of at most 1; ε is"):
        classic_gaussian_std(1.5, 1e-6)
    with pytest.raises(ParameterError, match="valid for ε of at most 1"):
        Gaussian(epsilon=1.5, calibration="classic")
    # and for good reason: far above 1 it breaks its promise
    assert gaussian_delta(math.sqrt(2 * math.log(1.25 / 1e-3)) / 20, 1.0, 20) > 1e-3


def test_mechanism_states_its_guarantee_and_scales_with_the_sensitivity():
    mechanism = Gaussian(epsilon=0.7, delta=1e-5)
    assert mechanism.guarantee() == ApproxDP(0.7, 1e-5)
    noise = mechanism.noise(4.0)
    assert gaussian_delta(noise.std, 4.0, 0.7) == pytest.approx(1e-5, rel=1e-9)
    rho = mechanism.concentrated().rho
    assert zcdp_gaussian_std(rho) == pytest.approx(mechanism.noise_multiplier(), rel=1e-12)
    values = np.ones((2, 3))
    released = mechanism.release(values, 4.0, np.random.default_rng(3))
    assert released.shape == (2, 3)
    np.testing.assert_array_equal(released, mechanism.release(values, 4.0, np.random.default_rng(3)))
    np.testing.assert_array_equal(mechanism.release(values, 0.0, np.random.default_rng(3)), values)


def test_law_agrees_with_scipy():
    noise, law = GaussianNoise(0.37), stats.norm(scale=0.37)
    x = np.array([-9.0, -0.2, 0.0, 0.1, 3.0])
    np.testing.assert_allclose(noise.log_density(x), law.logpdf(x), rtol=1e-13)
    np.testing.assert_allclose(noise.cdf(x), law.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(noise.survival(x), law.sf(x), rtol=1e-12)
    np.testing.assert_allclose(noise.quantile([0.0, 0.3, 1.0]), law.ppf([0.0, 0.3, 1.0]), rtol=1e-12)
    assert float(noise.cdf(noise.half_width(0.9))) == pytest.approx(0.95)
    still = GaussianNoise(0.0)
    np.testing.assert_array_equal(still.cdf([-1.0, 0.0]), [0.0, 1.0])
    np.testing.assert_array_equal(still.survival([-1.0, 0.0]), [1.0, 0.0])
    np.testing.assert_array_equal(still.quantile([0.1]), [0.0])
    np.testing.assert_array_equal(still.log_density([0.0, 1.0]), [np.inf, -np.inf])


def exact_squared_error(value, target, low, high, std):
    """Mean squared error of the clipped noisy value from truncated normal moments in 400 digits."""
    with mpmath.workdps(400):
        v, t, s = mpmath.mpf(value), mpmath.mpf(target), mpmath.mpf(std)

        def z(y):
            return (mpmath.mpf(y) - v) / s

        def primitive(x):
            if mpmath.isinf(x):
                return ((v - t) ** 2 + s**2) * (1 if x > 0 else 0)
            density = mpmath.npdf(x)
            return ((v - t) ** 2 + s**2) * mpmath.ncdf(x) - 2 * (v - t) * s * density - s**2 * x * density

        total = primitive(z(high)) - primitive(z(low))
        if not math.isinf(low):
            total += (mpmath.mpf(low) - t) ** 2 * mpmath.ncdf(z(low))
        if not math.isinf(high):
            total += (mpmath.mpf(high) - t) ** 2 * mpmath.ncdf(-z(high))
        return float(total)


@pytest.mark.parametrize("std", [1e-6, 0.02, 0.3, 1.0, 1.9, 2.1, 50.0, 1e6])
@pytest.mark.parametrize(
    ("value", "target", "low", "high"),
    [
        (0.3, 0.45, 0.0, 1.0),
        (0.0, 0.0, 0.0, 1.0),
        (1.4, 1.0, 0.0, 1.0),
        (-3.0, 0.1, 0.0, 1.0),
        (3.0, 5.0, 0.0, math.inf),
        (-0.5, 0.7, 0.0, math.inf),
        (6.9, 6.5, -math.inf, math.inf),
    ],
)
def test_clipped_error_and_moments_agree_with_many_digits(value, target, low, high, std):
    noise = GaussianNoise(std)
    expected = exact_squared_error(value, target, low, high, std)
    got = float(noise.clipped_squared_error(value, target, low, high))
    assert got == pytest.approx(expected, rel=1e-11, abs=1e-290)
    mean, second = noise.clipped_moments(value, low, high)
    assert float(second) == pytest.approx(exact_squared_error(value, 0.0, low, high, std), rel=1e-11, abs=1e-290)
    shifted = exact_squared_error(value, 1.0, low, high, std)
    tolerance = 1e-11 * (1 + abs(float(second)))
    assert float(mean) == pytest.approx((float(second) + 1 - shifted) / 2, abs=tolerance)


def test_clipped_error_broadcasts():
    value, target = np.linspace(-1, 2, 7)[:, None], np.linspace(0, 1, 3)
    error = GaussianNoise(0.4).clipped_squared_error(value, target, 0.0, 1.0)
    assert error.shape == (7, 3)
    assert error[6, 1] == pytest.approx(exact_squared_error(2.0, 0.5, 0.0, 1.0, 0.4), rel=1e-11)
    still = GaussianNoise(0.0).clipped_squared_error(value, target, 0.0, 1.0)
    np.testing.assert_allclose(still, (np.clip(value, 0, 1) - target) ** 2)


def test_bad_levels_are_refused():
    with pytest.raises(ParameterError, match="choose Laplace noise for δ = 0"):
        analytic_gaussian_std(1.0, 0.0)
    with pytest.raises(ParameterError, match="ε must be a number above 0"):
        analytic_gaussian_std(0.0, 0.1)
    with pytest.raises(ParameterError, match="standard deviation of the noise"):
        GaussianNoise(-1.0)
    with pytest.raises(ParameterError, match="both be above 0"):
        gaussian_delta(0.0, 1.0, 1.0)
    with pytest.raises(ParameterError, match="ρ must be a number above 0"):
        zcdp_gaussian_std(0.0)
