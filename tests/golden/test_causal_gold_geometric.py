"""Gold values G17 to G20 of locally private inference: average derivative, ray, line and time discount."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.arrays import FloatArray
from privexplorer.causal.continuous_laws import DerivativeLaw
from privexplorer.causal.geometric import (
    GaussianLine,
    GaussianRay,
    WeightedLaw,
    average_derivative,
    average_derivative_representer,
    path_nodes,
    shift_check_gaussian,
)
from privexplorer.causal.mechanisms import GaussianNoise, UniformNoise

CLOSE = {"rel": 1e-9}


def square(x: FloatArray) -> FloatArray:
    return np.asarray(x**2 if x.ndim == 1 else np.sum(x**2, axis=1))


def test_G17_average_derivative() -> None:
    law = DerivativeLaw(1.0, 2.0, 1.0, 1.0, 0.5)
    curve = law.decomposition(GaussianNoise(0.0, 1.2))
    assert float(curve.variance(1.0)) == pytest.approx(1.13610166675, **CLOSE)
    assert float(curve.variance(0.5)) == pytest.approx(105.977330406, **CLOSE)
    r = average_derivative_representer(lambda x: np.exp(-0.5 * x**2), 0.5)
    assert float(r(np.array([0.7]))[0]) == pytest.approx(0.504645432384, **CLOSE)
    points, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    assert average_derivative(law.regression, 0.5, points, weights) == pytest.approx(2.0, rel=1e-12)
    assert float(np.sum(weights * r(points) * law.regression(points))) == pytest.approx(2.0, rel=1e-12)
    # T0 is the outcome's variance times (b - 1)/step²
    b = shift_check_gaussian(0.5, 1.0).second_moment
    assert (b - 1) / 0.25 == pytest.approx(1.13610166675, **CLOSE)


def test_G18_ray() -> None:
    ray = GaussianRay(2, 1.0, 1.3, 0.2, 1.5)
    assert ray.value(square) == pytest.approx(4.21990870034, **CLOSE)
    assert ray.value_by_representer(square) == pytest.approx(4.21990870034, **CLOSE)
    assert float(ray.representer(np.array([[1.0, 0.5]]))[0]) == pytest.approx(1.65731901331, **CLOSE)
    assert ray.value(square) == pytest.approx(3 * math.sqrt(math.pi / 2) * (1.5**3 - 0.2**3) / 3, rel=1e-12)


def test_G19_line() -> None:
    line = GaussianLine(1, 1.0, 1.4)
    assert line.value(square) == pytest.approx(0.94031597258, **CLOSE)
    assert line.value_by_representer(square) == pytest.approx(5 / (3 * math.sqrt(math.pi)), rel=1e-12)
    assert float(line.representer(np.array([0.6]))[0]) == pytest.approx(1.53133040218, **CLOSE)


def test_G20_time_discount() -> None:
    found = WeightedLaw.of(
        lambda x: 1 / (1 + x**2), lambda x: 1 + x, lambda x: np.full_like(x, 0.25), path_nodes(), UniformNoise(0.0, 1.0)
    )
    assert found.value == pytest.approx(1.13197175368, **CLOSE)
    assert found.value == pytest.approx(math.pi / 4 + math.log(2) / 2, rel=1e-12)
    assert float(found.decomposition.variance(1.0)) == pytest.approx(0.164712882699, **CLOSE)
    assert float(found.decomposition.variance(0.5)) == pytest.approx(0.369853351891, **CLOSE)
