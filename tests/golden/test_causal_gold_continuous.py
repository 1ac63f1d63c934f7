"""Published and derived values for continuous columns (locally_private_inference, section 5 and the table of 6.2)."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.causal.bases import Legendre
from privexplorer.causal.continuous_laws import LAW_C, LAW_D, DerivativeLaw, SlopeLaw
from privexplorer.causal.kernel import kernel_regression
from privexplorer.causal.mechanisms import AlphaIdentity, GaussianNoise, LaplaceAddition, UniformNoise
from privexplorer.causal.moments import linear_slope_variance
from privexplorer.causal.series import series_regression
from privexplorer.causal.targets import ATE, ATT

OUTCOME = np.array([1, 2, 0.5, 3, 2.5, 1.5])
SHOWN = np.array([-0.9, 0.1, -0.4, 1.2, 0.8, 0.3])


def test_g6_inverse_of_an_identity_with_normal_noise() -> None:
    mechanism = AlphaIdentity(0.3, GaussianNoise(0.5, 1.5))

    def h(x: np.ndarray) -> np.ndarray:
        return 2 * np.sin(x) + x**2

    points, weights = mechanism.nodes()
    value = mechanism.invert(h(np.array([1.0])), np.sum(weights * h(points)))[0]
    assert value == pytest.approx(2.38345537328, rel=1e-9)


def test_g7_inverse_of_laplace_noise() -> None:
    bump = np.exp(-0.08)
    value = LaplaceAddition(0.7).invert(np.array([bump]), np.array([(0.16 - 1) * bump]))[0]
    assert value == pytest.approx(1.30307103456, rel=1e-9)


def test_g17_average_derivative() -> None:
    law = DerivativeLaw(1, 2, 1, 1, 0.5)
    parts = law.decomposition(GaussianNoise(0, 1.2))
    assert parts.t0 == pytest.approx(1.13610166675, rel=1e-9)
    assert float(parts.variance(0.5)) == pytest.approx(105.977330406, rel=1e-9)
    assert law.representer(np.array(0.7)) == pytest.approx(0.504645432384, rel=1e-9)


def test_g21_slope_by_private_moments() -> None:
    assert linear_slope_variance(2.0, 1.0, 1.0, 0.5) == 32
    assert SlopeLaw(2.0, 0.0, 1.0).slope_variance(AlphaIdentity(0.5, GaussianNoise(0, 1))) == 32


@pytest.mark.parametrize(
    ("form", "curve", "density"),
    [("smoothed", 1.68296569218, 0.465849882699), ("printed", 1.78483262307, 0.439262124726)],
)
def test_g22_private_kernel_regression(form, curve: float, density: float) -> None:
    mechanism = AlphaIdentity(0.6, GaussianNoise(0, 1))
    fit = kernel_regression(SHOWN, OUTCOME, mechanism, (-2, 2), at=[0.2], bandwidth=0.5, density=form)
    assert fit.regression[0] == pytest.approx(curve, rel=1e-9)
    assert fit.density[0] == pytest.approx(density, rel=1e-9)


def test_g23_private_series() -> None:
    mechanism = AlphaIdentity(0.7, UniformNoise(-1, 1))
    fit = series_regression(
        mechanism, np.clip(SHOWN, -1, 1), OUTCOME, Legendre(-1, 1, 3, "length"), lambda x: 0 * x + 0.5
    )
    np.testing.assert_allclose(fit.coefficients, [2.47487373415, 2.65361388802, 2.42253056466], rtol=1e-9)
    assert fit.at([0.25])[0] == pytest.approx(1.00641741071, rel=1e-9)


@pytest.mark.parametrize(
    ("law", "target", "bounds"),
    [
        (LAW_C, ATE(), (306.8, 39.4, 7.04)),
        (LAW_C, ATT(), (274.3, 36.0, 7.16)),
        (LAW_D, ATE(), (126.0, 18.9, 5.84)),
        (LAW_D, ATT(), (76.3, 13.3, 5.82)),
    ],
)
def test_bounds_of_the_continuous_laws(law, target, bounds: tuple[float, ...]) -> None:
    found = law.decomposition(target, UniformNoise(-1, 1)).variance(np.array([0.2, 0.5, 0.9]))
    for value, printed in zip(found, bounds, strict=True):
        assert f"{value:.4g}" == f"{printed:.4g}" or f"{value:.3g}" == f"{printed:.3g}"


def test_values_and_prices_of_law_c() -> None:
    assert LAW_C.value(ATE()) == pytest.approx(1, abs=1e-10)
    assert LAW_C.value(ATT()) == pytest.approx(1.0829, abs=5e-5)
    noise = UniformNoise(-1, 1)
    keep = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(LAW_C.decomposition(ATE(), noise).price(keep), [68, 8.7, 1.6], rtol=0.03)
    np.testing.assert_allclose(LAW_C.decomposition(ATT(), noise).price(keep), [56, 7.3, 1.5], rtol=0.03)
