from __future__ import annotations

import math
import re

import numpy as np
import pytest

from privexplorer.figures import draw
from privexplorer.studies.polynomial_approximation import ApproximationScenario, PolynomialApproximation, tex_numbers

study = PolynomialApproximation()


def rows(result, name, view):
    part = result.series(name, study.views[view])
    return part["x"].to_numpy(dtype=float), part["y"].to_numpy()


@pytest.mark.parametrize(
    ("degree", "error"),
    [(1, 1 / (2 * math.e)), (3, 0.02435057762), (6, 0.006244252403)],
)
def test_gold_errors(degree, error):
    # properties §4.3 and §11, items 1 and 2
    result = study.run(ApproximationScenario(degree=degree))
    points, peaks = rows(result, "points of equal size", "error")
    assert len(points) == degree + 2
    np.testing.assert_allclose(np.abs(peaks), error, rtol=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 5, 9, 16, 24])
def test_the_error_swings_evenly_and_never_leaves_its_bounds(degree):
    result = study.run(ApproximationScenario(degree=degree))
    x, error = rows(result, "error", "error")
    points, peaks = rows(result, "points of equal size", "error")
    size = abs(peaks[0])
    # the marked peaks lie on the drawn error curve, alternate, and no other value is larger
    drawn = dict(zip(x.tolist(), error.tolist(), strict=True))
    np.testing.assert_allclose([drawn[point] for point in points.tolist()], peaks, rtol=1e-9)
    assert np.all(np.sign(peaks[1:]) == -np.sign(peaks[:-1]))
    assert np.abs(error).max() <= size * (1 + 1e-9)
    assert (points[0], points[-1]) == (0.0, 1.0)


def test_the_error_is_the_difference_of_the_two_curves():
    result = study.run(ApproximationScenario(degree=7))
    x, error = rows(result, "error", "error")
    x1, truth = rows(result, "x ln(1/x)", "function")
    x2, polynomial = rows(result, "polynomial", "function")
    np.testing.assert_array_equal(x, x1)
    np.testing.assert_array_equal(x, x2)
    np.testing.assert_allclose(truth - polynomial, error, rtol=1e-12, atol=1e-15)
    inside = (x > 0) & (x < 1)
    np.testing.assert_allclose(truth[inside], -x[inside] * np.log(x[inside]), rtol=1e-12)


def test_the_error_falls_as_one_over_the_square_of_the_degree():
    result = study.run(ApproximationScenario(degree=24))
    degrees, scaled = rows(result, "L² × largest error", "degrees")
    assert list(degrees) == list(range(1, 25))
    assert scaled[2] == pytest.approx(0.2192, abs=5e-5)
    assert scaled[19] == pytest.approx(0.2267, abs=5e-5)
    assert np.all(np.diff(scaled) > 0)
    assert np.all(np.abs(scaled[9:] - 0.227) < 1e-3)
    _, errors = rows(result, "largest error", "degrees")
    np.testing.assert_allclose(errors * degrees**2, scaled, rtol=1e-12)


@pytest.mark.parametrize(("k", "private", "plain"), [(100, 6, 7), (1000, 9, 11), (2000, 10, 12)])
def test_published_degrees(k, private, plain):
    # properties §4.3
    result = study.run(ApproximationScenario(k=k))
    assert (result.extra["private"], result.extra["plain"]) == (private, plain)
    assert f"published degrees are {private} with privacy and {plain} without" in result.shows


@pytest.mark.parametrize(("degree", "largest"), [(10, 2e4), (16, 2e8), (22, 4e12)])
def test_coefficients_grow_as_the_source_of_the_numbers_says(degree, largest):
    # properties §9
    result = study.run(ApproximationScenario(degree=degree))
    value = float(np.abs(study.prepare(ApproximationScenario(degree=degree), None).best.coefficients).max())
    assert value == pytest.approx(largest, rel=0.15)
    assert any(card.label == "Largest coefficient" for card in result.cards)


def test_only_the_comparison_is_late():
    first, other = ApproximationScenario(), ApproximationScenario(k=50)
    assert study.digest(first) == study.digest(other)
    assert study.blocks(first) == 0


def test_words_and_charts():
    result = study.run()
    assert "twice the degree buys a quarter of the error" in result.shows
    assert "**degree 9**" in result.shows
    assert "11 times" in result.shows
    expected = {
        "error": ["error", "points of equal size"],
        "function": ["x ln(1/x)", "polynomial"],
        "degrees": ["L² × largest error"],
    }
    for view, names in expected.items():
        chart = study.chart(result, view)
        assert [mark.name for mark in chart.marks()] == names
        assert len(chart.subtitle) <= 48
        draw(chart)
        assert {mark.name for mark in chart.marks()} <= set(study.numbers(result, view)["series"])
    (low, _), (high, _) = study.chart(result, "error").panels[0].level_lines
    assert low == -high


def test_numbers_in_a_formula_are_tex():
    assert tex_numbers("1.5e+06x -2e-07") == r"1.5\times10^{6}x -2\times10^{-7}"
    for degree in (1, 4, 24):
        text = study.run(ApproximationScenario(degree=degree)).formulas[0].numbers
        assert not re.search(r"\de[+-]", text)
