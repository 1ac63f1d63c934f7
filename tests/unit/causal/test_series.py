"""Private orthogonal series for regressions, densities and representers; rates and variance bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal.bases import Gegenbauer, Legendre, OneHot
from privexplorer.causal.continuous_laws import LAW_C, CurveLaw, DerivativeLaw, parabola_density
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism, GaussianNoise, UniformNoise
from privexplorer.causal.series import (
    floored,
    inverse_variance_bounds,
    series_density,
    series_error_parts,
    series_rates,
    series_regression,
    series_representer,
)
from privexplorer.causal.targets import ATE, ATT, AverageDerivative
from privexplorer.errors import DataError, ParameterError

UNIFORM = UniformNoise(-1, 1)
NO_NOISE = AlphaIdentity(1.0, UNIFORM)


@pytest.mark.parametrize("keep", [0.5, 1.0])
def test_series_regression_finds_the_coefficients_of_the_curve(keep: float) -> None:
    law, basis = CurveLaw(), Legendre(-1, 1, 6, "length")
    rng = np.random.default_rng(0)
    mechanism = AlphaIdentity(keep, UNIFORM)
    y, x = law.sample(40_000, rng)
    fit = series_regression(mechanism, mechanism.privatise(x, rng), y, basis, law.density)
    nodes, mass, mu = law.table()
    truth = (mass / law.density(nodes) * mu) @ basis.evaluate(nodes)
    assert (np.abs(fit.coefficients - truth) < 3.5 * fit.std_error).all()
    assert fit.std_error.max() < 0.06
    assert (np.abs(fit.at([-0.5, 0.2]) - law.curve(np.array([-0.5, 0.2]))) < 4 * fit.std_error_at([-0.5, 0.2])).all()
    exact = law.linear_covariance(lambda at: basis.evaluate(at) / law.density(at)[:, None], mechanism)[1] / 40_000
    np.testing.assert_allclose(fit.covariance, exact, atol=0.06 * exact.max())


def test_series_density_and_its_floor() -> None:
    law, basis = CurveLaw(peak=1.0), Legendre(-1, 1, 3, "length")
    rng = np.random.default_rng(1)
    _, x = law.sample(40_000, rng)
    mechanism = AlphaIdentity(0.5, UNIFORM)
    fit = series_density(mechanism, mechanism.privatise(x, rng), basis)
    assert fit.coefficients[0] == pytest.approx(math.sqrt(0.5), abs=1e-12)  # total mass 1, whatever the noise
    grid = np.linspace(-1, 1, 41)
    assert (np.abs(fit.at(grid) - parabola_density(grid)) < 4 * fit.std_error_at(grid) + 1e-9).all()
    safe = floored(fit.at, grid)
    assert safe(grid).min() == pytest.approx(0.05 * fit.at(grid).max())
    with pytest.raises(DataError, match="nowhere above 0"):
        floored(lambda x: 0 * x - 1, grid)


def test_a_category_column_is_a_series_too() -> None:
    """One function per category and ν the counting measure: coefficients are Q⁻¹-unmixed sums over p."""
    mechanism = FiniteMechanism(np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]))
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, 500)
    z, y = mechanism.privatise(x, rng), x + rng.standard_normal(500)
    p = np.array([0.3, 0.3, 0.4])
    fit = series_regression(mechanism, z, y, OneHot(3), lambda at: p[at.astype(int)])
    np.testing.assert_allclose(fit.coefficients, np.linalg.inv(mechanism.matrix) @ np.bincount(z, y, 3) / 500 / p)


@pytest.mark.parametrize(("keep", "least"), [(1.0, 0.9), (0.5, 0.9)])
def test_representer_series_finds_the_coefficients_of_the_representer(keep: float, least: float) -> None:
    """Law C with ν its own parabola law, under which (D, X) has density π or 1 - π, bounded below."""
    rng = np.random.default_rng(3)
    basis, n = Gegenbauer(-1, 1, 4), 20_000
    mechanism = AlphaIdentity(keep, UNIFORM)
    _, d, x = LAW_C.sample(n, rng)
    z = mechanism.privatise(x, rng)
    densities = (lambda at: 1 - LAW_C.propensity(at), LAW_C.propensity)
    nodes, p, _ = LAW_C.table()
    mass, share = p.sum(axis=0), LAW_C.treated_share
    for target, gamma in ((ATE(), math.nan), (ATT(), share)):
        fit = series_representer(mechanism, z, d, target, basis, densities, gamma=gamma)
        for arm in (0, 1):
            r = target.representer(arm, LAW_C.propensity(nodes), share)
            truth = (mass * r) @ basis.evaluate(nodes)
            series = fit.arms[arm]
            assert (np.abs(series.coefficients - truth) < 3.5 * series.std_error + 1e-9).all()
            wrong = truth * least
            assert np.abs((series.coefficients - wrong) / (series.std_error + 1e-9)).max() > 4
        grid = np.linspace(-0.7, 0.7, 5)
        r = target.representer(1, LAW_C.propensity(grid), share)
        assert np.abs(fit.at(np.ones(5), grid) / r - 1).max() < 0.1


def test_representer_series_without_treatment() -> None:
    """Average derivative on a uniform stretch: the functional alone gives E (φ_j(x + ε) - φ_j(x))/(p ε)."""
    rng = np.random.default_rng(4)
    basis = Legendre(-2, 2, 3, "length")
    x = rng.uniform(-1, 1, 500)
    fit = series_representer(
        NO_NOISE, x, np.zeros(500), AverageDerivative(0.5), basis, [lambda at: 0 * at + 0.5], gamma=math.nan
    )
    by_hand = ((basis.evaluate(x + 0.5) - basis.evaluate(x)) / 0.5 / 0.5).mean(axis=0)
    np.testing.assert_allclose(fit.arms[0].coefficients, by_hand, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(fit.at(np.zeros(2), [0.1, 0.2]), fit.arms[0].at([0.1, 0.2]))
    assert DerivativeLaw().value == 2


def test_rates_lose_the_factor_of_the_density() -> None:
    rates = series_rates(2, 0.25)
    assert (rates.known_rate, rates.known_size, rates.rate, rates.size) == pytest.approx((0.8, 0.2, 0.4, 0.1))
    full = series_rates(2, 0.5)
    assert (full.rate, full.size) == pytest.approx((full.known_rate, full.known_size))
    for make, words in ((lambda: series_rates(0, 0.5), "smoothness"), (lambda: series_rates(1, 0.6), "at most 0.5")):
        with pytest.raises(ParameterError, match=words):
            make()


def test_error_parts_of_a_series_by_simulation() -> None:
    """Known density: variance and bias from 200 fits. Estimated density: its extra mean square, to first order."""
    law, basis, few = CurveLaw(), Legendre(-1, 1, 5, "length"), Legendre(-1, 1, 3, "length")
    mechanism, n, fits = AlphaIdentity(0.5, UNIFORM), 3000, 200
    rng = np.random.default_rng(5)
    nodes, mass, mu = law.table()
    known, extra = np.empty((fits, len(nodes))), np.empty((fits, len(nodes)))
    for i in range(fits):
        y, x = law.sample(n, rng)
        z = mechanism.privatise(x, rng)
        known[i] = series_regression(mechanism, z, y, basis, law.density).at(nodes)
        estimate = series_density(mechanism, z, few)
        extra[i] = series_regression(mechanism, z, y, basis, floored(estimate.at, nodes)).at(nodes) - known[i]
    parts = series_error_parts(law, mechanism, n, basis, few)
    variances = known.var(axis=0) @ mass
    assert parts.variance == pytest.approx(variances, rel=4 * math.sqrt(2 / fits / 4))
    assert parts.squared_bias == pytest.approx(((known.mean(axis=0) - mu) ** 2) @ mass, rel=0.3, abs=3e-4)
    assert parts.density_error == pytest.approx((extra**2).mean(axis=0) @ mass, rel=0.25)
    assert series_error_parts(law, mechanism, n, basis).density_error == 0


def test_erratum_8_the_variance_keeps_its_factor() -> None:
    """Random h at keep probability 0.2: Var(Q⁻¹h) exceeds E h² by far, but not the bounds (Prop. 3, (12))."""
    rng = np.random.default_rng(6)
    keep = 0.2
    tight, printed = inverse_variance_bounds(AlphaIdentity(keep, UNIFORM))
    assert (tight, printed) == pytest.approx((90, 100))
    for _ in range(200):
        p_vx, q, h = rng.dirichlet(np.ones(12)).reshape(4, 3), rng.dirichlet(np.ones(3)), rng.standard_normal((4, 3))
        p_vz = keep * p_vx + (1 - keep) * p_vx.sum(axis=1, keepdims=True) * q
        inverse = h / keep - (1 / keep - 1) * (h @ q)[:, None]
        square = np.sum(p_vz * h**2)
        variance = np.sum(p_vz * inverse**2) - np.sum(p_vz * inverse) ** 2
        assert variance <= tight * square <= printed * square
    assert variance > 2 * square


def test_refusals() -> None:
    basis = Legendre(-1, 1, 2, "length")
    with pytest.raises(ParameterError, match="above 0 at every released value"):
        series_regression(AlphaIdentity(0.5, UniformNoise(-2, 2)), [0.0, 0.5], [1.0, 2.0], basis, parabola_density)
    with pytest.raises(DataError, match="but the outcome has 1"):
        series_regression(NO_NOISE, [0.0, 0.5], [1.0], basis, parabola_density)
    with pytest.raises(ParameterError, match="one density"):
        series_representer(NO_NOISE, [0.0], np.array([1]), ATE(), basis, [])
    assert GaussianNoise().dimension == 1
