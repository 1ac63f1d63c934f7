"""The private kernel estimator: constants, ordinary limits, strata, errata and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from privexplorer.causal.continuous_laws import CurveLaw
from privexplorer.causal.kernel import (
    constant_under_raw_density,
    kernel_density,
    kernel_error_parts,
    kernel_rate_exponent,
    kernel_regression,
    private_spread,
    rule_of_thumb_bandwidth,
    smoothed_noise_density,
    squared_kernel_mean,
)
from privexplorer.causal.mechanisms import AlphaIdentity, EmpiricalNoise, GaussianNoise, UniformNoise
from privexplorer.errors import DataError, ParameterError

RANGE = (-1.0, 1.0)
NOISY = AlphaIdentity(0.5, UniformNoise(-1, 1))


def draw(n: int = 2000, seed: int = 0, mechanism: AlphaIdentity = NOISY) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y, x = CurveLaw().sample(n, rng)
    return y, mechanism.privatise(x, rng)


@pytest.mark.parametrize(
    "noise", [UniformNoise(-1, 1), GaussianNoise(0.1, 0.5), EmpiricalNoise(np.linspace(-0.9, 0.8, 30))]
)
def test_a_constant_outcome_is_reproduced(noise) -> None:
    mechanism = AlphaIdentity(0.4, noise)
    y, z = draw(mechanism=mechanism)
    fit = kernel_regression(z, np.full_like(y, 3.0), mechanism, RANGE)
    np.testing.assert_allclose(fit.regression[~fit.is_thin], 3.0, rtol=1e-12)
    np.testing.assert_allclose(fit.std_error[~fit.is_thin], 0.0, atol=1e-7)
    if not isinstance(noise, EmpiricalNoise):
        printed = kernel_regression(z, np.full_like(y, 3.0), mechanism, RANGE, density="printed")
        assert np.abs(printed.regression[~printed.is_thin] / 3 - 1).max() > 0.02


def test_without_noise_it_is_the_ordinary_estimator() -> None:
    y, x = draw(300, mechanism=AlphaIdentity(1.0, UniformNoise(-1, 1)))
    fit = kernel_regression(x, y, AlphaIdentity(1.0, UniformNoise(-1, 1)), RANGE, bandwidth=0.2)
    weights = norm.pdf((fit.grid[:, None] - x) / 0.2)
    np.testing.assert_allclose(fit.regression, weights @ y / weights.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(fit.density, weights.mean(axis=1) / 0.2, rtol=1e-12)
    residuals = weights * (y - fit.regression[:, None])
    np.testing.assert_allclose(fit.std_error, np.sqrt((residuals**2).sum(axis=1)) / weights.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(fit.at(fit.grid[[3, 70]]), fit.regression[[3, 70]])


def test_signed_weights_by_hand() -> None:
    y, z = draw(50)
    fit = kernel_regression(z, y, NOISY, RANGE, at=[-0.3, 0.4], bandwidth=0.3)
    for row, x in enumerate((-0.3, 0.4)):
        kernel = norm.pdf((x - z) / 0.3) / 0.3
        noise = quad(lambda t, x=x: norm.pdf((x - t) / 0.3) / 0.3 / 2, -1, 1)[0]
        top = np.mean(2 * kernel * y - noise * y)
        bottom = np.mean(2 * kernel - noise)
        assert fit.regression[row] == pytest.approx(top / bottom, rel=1e-10)
        assert fit.density[row] == pytest.approx(bottom, rel=1e-10)
    np.testing.assert_allclose(kernel_density(z, NOISY, [-0.3, 0.4], 0.3), fit.density)
    raw = kernel_density(z, NOISY, [-0.3], 0.3, form="printed")[0]
    assert raw == pytest.approx(np.mean(2 * norm.pdf((-0.3 - z) / 0.3) / 0.3) - 0.5)


@pytest.mark.parametrize("noise", [UniformNoise(-1, 2), GaussianNoise(0.1, 0.5)])
def test_smoothed_noise_density_is_the_convolution(noise) -> None:
    for x in (-1.1, 0.3, 1.9):
        exact = quad(lambda t, x=x: norm.pdf(t) * float(noise.density(x - 0.4 * t)), -9, 9, limit=400)[0]
        assert smoothed_noise_density(noise, [x], 0.4)[0] == pytest.approx(exact, abs=1e-6)


def test_a_factor_of_x_in_the_regressed_variable() -> None:
    """E[Y X | X = x] = x E[Y | X = x]: fit the product directly, against many records."""
    y, z = draw(60_000)
    fit = kernel_regression(z, y, NOISY, RANGE, bandwidth=0.1, factor=lambda x: x)
    truth = fit.grid * (1 + np.sin(3 * fit.grid))
    inner = np.abs(fit.grid) < 0.85
    assert np.abs(fit.regression - truth)[inner].max() < 0.3
    assert (np.abs(fit.regression - truth)[inner] < 4 * fit.std_error[inner] + 0.12).all()


def test_strata_by_weights_are_the_strata() -> None:
    y, z = draw(400)
    group = np.arange(400) % 2
    whole = kernel_regression(z, y, NOISY, RANGE, bandwidth=0.2, record_weights=group)
    part = kernel_regression(z[group == 1], y[group == 1], NOISY, RANGE, bandwidth=0.2)
    np.testing.assert_allclose(whole.regression, part.regression, rtol=1e-10)
    np.testing.assert_allclose(whole.std_error, part.std_error, rtol=1e-10)
    np.testing.assert_allclose(whole.density, part.density / 2, rtol=1e-10)


def test_curves_are_clipped_and_masked_where_data_is_thin() -> None:
    y, z = draw(400)
    fit = kernel_regression(z, y, NOISY, (-4.0, 4.0), clip=(0.0, 2.0))
    assert fit.is_thin[0]
    assert fit.is_thin[-1]
    assert not fit.is_thin[len(fit.grid) // 2]
    assert fit.regression.min() >= 0
    assert fit.regression.max() <= 2


def test_spread_and_bandwidth_are_private() -> None:
    y, x = draw(200_000, mechanism=AlphaIdentity(1.0, UniformNoise(-1, 1)))
    del y
    z = NOISY.privatise(x, np.random.default_rng(5))
    assert private_spread(z, NOISY, RANGE) == pytest.approx(x.std(), rel=0.02)
    assert z.std() > 1.04 * x.std()
    assert rule_of_thumb_bandwidth(z, NOISY, RANGE) == pytest.approx(
        1.06 * private_spread(z, NOISY, RANGE) * 50_000**-0.2
    )
    assert private_spread([0.0, 0.0], NOISY, RANGE) == 0.1


def test_error_parts_match_direct_integrals_without_noise() -> None:
    law, h = CurveLaw(), 0.2
    parts = kernel_error_parts(law, AlphaIdentity(1.0, UniformNoise(-1, 1)), 100, h)

    def mean(x: float, power: int) -> float:
        def inside(t: float) -> float:
            mu = float(law.curve(np.array(t)))
            moment = mu if power == 1 else mu**2 + 0.25
            return (norm.pdf((x - t) / h) / h) ** power * moment * float(law.density(np.array(t)))

        return quad(inside, -1, 1)[0]

    nodes, weights = np.polynomial.legendre.leggauss(24)
    variance = bias = 0.0
    for x, w in zip(nodes, weights, strict=True):
        p = float(law.density(np.array(x)))
        variance += w * p * (mean(x, 2) - mean(x, 1) ** 2) / p**2 / 100
        bias += w * p * (mean(x, 1) / p - float(law.curve(np.array(x)))) ** 2
    assert parts.variance == pytest.approx(variance, rel=1e-3)
    assert parts.squared_bias == pytest.approx(bias, rel=1e-2)


def test_error_parts_under_noise() -> None:
    law = CurveLaw()
    parts = [kernel_error_parts(law, AlphaIdentity(keep, UniformNoise(-1, 1)), 4000, 0.12) for keep in (0.25, 0.5, 1)]
    assert len({round(part.squared_bias, 12) for part in parts}) == 1
    scaled = [part.variance * keep**2 for part, keep in zip(parts, (0.25, 0.5, 1), strict=True)]
    assert max(scaled) / min(scaled) < 1.05
    assert kernel_error_parts(law, NOISY, 8000, 0.12).variance == pytest.approx(parts[1].variance / 2)


def test_rate_exponents() -> None:
    assert kernel_rate_exponent(2) == (0.8, 0.2)
    assert kernel_rate_exponent(2, 2) == pytest.approx((2 / 3, 1 / 6))
    with pytest.raises(ParameterError, match="at least 1"):
        kernel_rate_exponent(2, 0)


def test_erratum_9_the_raw_noise_density_does_not_reproduce_constants() -> None:
    mechanism = AlphaIdentity(0.3, GaussianNoise(0, 0.5))
    assert constant_under_raw_density(0.0, mechanism, 0.3) == pytest.approx(3.27134, abs=1e-5)
    assert constant_under_raw_density(1.0, mechanism, 0.3) == pytest.approx(0.67767, abs=1e-5)
    y, z = np.ones(6), np.array([-0.9, 0.1, -0.4, 1.2, 0.8, 0.3])
    six = AlphaIdentity(0.6, GaussianNoise(0, 1))
    fits = [
        kernel_regression(z, y, six, (-2, 2), at=[0.2], bandwidth=0.5, density=form).regression[0]
        for form in ("smoothed", "printed")
    ]
    assert fits[0] == pytest.approx(1, abs=1e-12)
    assert fits[1] == pytest.approx(1.0605, abs=5e-5)


def test_erratum_10_the_square_of_the_kernel_is_integrated_not_evaluated() -> None:
    exact, printed, bound = squared_kernel_mean(0.3, 0.4)
    direct = quad(lambda w: norm.pdf((w - 0.3) / 0.4) ** 2 * norm.pdf(w), -8, 8)[0]
    assert exact == pytest.approx(direct, rel=1e-9)
    assert (exact, printed, bound) == pytest.approx((0.04155, 0.05818, 0.04502), abs=5e-6)
    assert exact <= bound < printed


def test_refusals() -> None:
    y, z = draw(20)
    for make, words in (
        (lambda: kernel_regression(z, y[:3], NOISY, RANGE), "but the outcome has 3"),
        (lambda: kernel_regression(np.zeros((3, 2)), np.zeros(3), NOISY, RANGE), "one released column"),
        (lambda: kernel_regression([math.nan], [1.0], NOISY, RANGE), "missing or infinite"),
        (lambda: kernel_regression([5.0, 5.0], [1.0, 1.0], NOISY, (0.9, 1.0), bandwidth=0.01), "nowhere above 0"),
    ):
        with pytest.raises(DataError, match=words):
            make()
    with pytest.raises(ParameterError, match="bandwidth must be above 0; it is 0"):
        kernel_regression(z, y, NOISY, RANGE, bandwidth=0.0)
    with pytest.raises(ParameterError, match="it is 1 to 1"):
        kernel_regression(z, y, NOISY, (1, 1))
    with pytest.raises(ParameterError, match="smoothed or printed"):
        kernel_regression(z, y, NOISY, RANGE, density="raw")  # type: ignore[arg-type]
