from __future__ import annotations

import numpy as np
import pytest

from privexplorer.figures import draw
from privexplorer.studies.invertibility import (
    GAUSS,
    LAPLACE,
    SWAP,
    Invertibility,
    InvertibilityScenario,
    histogram_channels,
    inverse_curves,
    inverse_of,
    mechanisms_of,
    true_histogram,
    unmixed_error,
)

study = Invertibility()


@pytest.fixture(scope="module")
def default():
    return study.run()


def numbers(result, title):
    return next(item.numbers for item in result.formulas if item.title == title)


def test_gold(default):
    # G7, and the norm of Laplace noise on [-3, 3]
    scenario = default.scenario
    h, laplace, _ = inverse_curves(scenario, mechanisms_of(scenario), np.array([0.4]))
    assert h[0] == pytest.approx(np.exp(-0.08), rel=1e-12)
    assert laplace[0] == pytest.approx(1.30307103456, rel=1e-9)
    assert "2.0178571" in numbers(default, "Hilbert-Schmidt norm")
    assert "1.30307103" in numbers(default, "Undoing added Laplace noise")
    assert "refused: two derivatives" in numbers(default, "Undoing added Laplace noise")
    assert "refused: it cannot be inverted" in numbers(default, "Singular table")
    rank = numbers(default, "Identified or not")
    assert "identified},\\ \\text{least squares returns }(0.7,0.3)" in rank
    assert rank.endswith("not identified}")


def test_undone_functions_average_back():
    # applied to what is shown, each inverse averages to h at the true value
    scenario = InvertibilityScenario(keep_probability=0.4)
    made = mechanisms_of(scenario)
    grid = np.linspace(-12.0, 12.0, 24_001)
    _, laplace, _ = inverse_curves(scenario, made, grid)
    for x in (-1.0, 0.0, 0.6):
        density = np.exp(-np.abs(grid - x) / 0.7) / 1.4
        assert np.trapezoid(laplace * density, grid) == pytest.approx(np.exp(-0.5 * x**2), abs=1e-6)
        points, weights = made[SWAP].nodes()
        own = inverse_curves(scenario, made, np.array([x]))[2][0]
        noise = float((weights * inverse_curves(scenario, made, points)[2]).sum())
        assert 0.4 * own + 0.6 * noise == pytest.approx(np.exp(-0.5 * x**2), rel=1e-9)


def test_spectra(default):
    x = default.series("eigenvalues, keep or swap", "spectrum")["y"].to_numpy()
    np.testing.assert_allclose(x, [1.0, *[0.5] * 119], rtol=1e-12)
    swap, laplace, gauss = (default.series(name, "spectrum")["y"].to_numpy() for name in (SWAP, LAPLACE, GAUSS))
    np.testing.assert_allclose(swap[1:], 0.5, rtol=1e-9)
    assert laplace[80] < 0.01 < laplace[5]
    assert np.isnan(gauss[80])
    assert 0 < gauss[20] < 1e-6
    condition = {name: default.series(name, "condition")["y"].to_numpy() for name in (SWAP, LAPLACE, GAUSS)}
    np.testing.assert_allclose(condition[SWAP], 2.0, rtol=1e-9)
    # Laplace: a second derivative, so about the square of the fineness
    growth = np.diff(np.log(condition[LAPLACE][-3:])) / np.log(2)
    assert np.all((growth > 1.7) & (growth < 2.3))
    assert condition[GAUSS][3] > 1e12
    # only the range decides about the square integral
    lengths = default.series(LAPLACE, "range")
    assert np.all(np.diff(lengths["y"].to_numpy()) > 0)


@pytest.mark.parametrize("name", [SWAP, LAPLACE, GAUSS])
def test_channels_are_what_people_show(name):
    scenario = InvertibilityScenario(bins=9, scale=0.5, std=0.6, keep_probability=0.3)
    matrix = histogram_channels(scenario)[name]
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0, rtol=1e-12)
    rng = np.random.default_rng(1)
    size = 200_000
    edges = np.linspace(-3, 3, 10)
    middle = (edges[1:] + edges[:-1]) / 2
    for x in (0, 4):
        start = np.full(size, middle[x])
        shown = mechanisms_of(scenario)[name].privatise(start, rng)
        found = np.histogram(np.clip(shown, -2.999, 2.999), edges)[0] / size
        assert np.all(np.abs(found - matrix[:, x]) < 5 * np.sqrt(matrix[:, x] / size) + 1e-6)


@pytest.mark.parametrize("name", [SWAP, LAPLACE])
def test_standard_error_is_that_of_samples(name):
    scenario = InvertibilityScenario(bins=6)
    matrix = histogram_channels(scenario)[name]
    inverse, truth = inverse_of(matrix), true_histogram(6)
    error = unmixed_error(matrix, inverse, truth, 500)
    shown = np.einsum("zx,x->z", matrix, truth)
    runs = np.random.default_rng(4).multinomial(500, shown / shown.sum(), size=8000) / 500
    found = np.einsum("xz,rz->rx", inverse, runs)
    np.testing.assert_allclose(found.std(axis=0, ddof=1), error, rtol=0.04)
    assert np.all(np.abs(found.mean(axis=0) - truth) < 5 * error / np.sqrt(8000))
    np.testing.assert_allclose(unmixed_error(matrix, inverse, truth, 2000) * 2, error, rtol=1e-12)


def test_late_fields_and_words(default):
    first = InvertibilityScenario()
    other = first.model_copy(update={"bins": 20, "people": 100, "seed": 7})
    assert study.digest(first) == study.digest(other)
    kept = study.assemble(other, study.prepare(first, None), [])
    assert "100 people" in kept.shows
    assert kept.extra["worst"][SWAP] > default.extra["worst"][SWAP]
    assert default.extra["worst"][SWAP] < default.extra["worst"][LAPLACE] < default.extra["worst"][GAUSS]


def test_what_rounding_hides_is_said():
    result = study.run(InvertibilityScenario(bins=40, std=5.0))
    assert any(note.title == "Not undone" for note in result.notes)
    assert "cannot be undone" in result.shows
    draw(study.chart(result, "histogram"))


def test_charts(default):
    three = [SWAP, LAPLACE, GAUSS]
    expected = {
        "spectrum": three,
        "condition": three,
        "histogram": ["unmixed", "true share"] * 3,
        "inverse": ["function h", *three[:2]],
        "range": [LAPLACE, "noise that ignores x"],
    }
    for view, names in expected.items():
        chart = study.chart(default, view)
        marks = [mark.name for mark in chart.marks()]
        assert sorted(marks) == sorted(names)
        draw(chart)
        draw(chart, compact=True)
