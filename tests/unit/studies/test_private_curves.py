"""Private curves: exact parts against simulation, the price in variance, printed and corrected constants."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.causal import CurveLaw, kernel_error_parts, series_error_parts
from privexplorer.figures import draw
from privexplorer.studies.private_curves import (
    DENSITY,
    GRID,
    NAIVE,
    PANELS,
    PRIVATE,
    SIZES,
    SQUARED_BIAS,
    TRUTH,
    VARIANCE,
    KernelCurve,
    PrivateCurves,
    PrivateCurvesScenario,
    RepresenterCurve,
    SeriesCurve,
    basis_of,
    integrated,
    mechanism_at,
    treated,
    wave,
)

study = PrivateCurves()


def ys(result, name, panel):
    return result.series(name, PANELS[panel])["y"].to_numpy(dtype=float)


@pytest.fixture(scope="module")
def default():
    return study.run()


@pytest.fixture(scope="module")
def series():
    return study.run(PrivateCurvesScenario(method=SeriesCurve(), trials=120))


def test_parts_are_those_of_the_library(default, series):
    law = CurveLaw(wave)
    wanted = kernel_error_parts(law, mechanism_at(0.5), 4000, 0.12)
    rows = default.frame[(default.frame["panel"] == PANELS["parts"]) & (default.frame["x"] == 0.5)]
    found = dict(zip(rows["series"], rows["y"], strict=True))
    assert found == pytest.approx(
        {VARIANCE: wanted.variance, SQUARED_BIAS: wanted.squared_bias, DENSITY: wanted.density_error}
    )
    # bias is the same for every keep probability, variance is not
    assert np.ptp(ys(default, SQUARED_BIAS, "parts")) < 1e-12
    assert np.all(np.diff(ys(default, VARIANCE, "parts")) < 0)
    exact = series_error_parts(law, mechanism_at(0.25), 4000, basis_of(6), basis_of(4)).variance
    assert ys(series, VARIANCE, "parts")[0] == pytest.approx(exact)


def test_simulated_variance_of_the_series_is_exact(series):
    # known density: the line is the truth, but for the outermost twentieth that the simulation leaves out
    scenario = PrivateCurvesScenario(method=SeriesCurve(), trials=120)
    prepared = study.prepare(scenario, None)
    x = np.linspace(-0.95, 0.95, 39)
    law, functions = prepared.law, basis_of(6).evaluate(x)
    weights = law.density(x) / law.density(x).sum()
    for keep in (1.0, 0.5, 0.25):
        _, covariance = law.linear_covariance(
            lambda at: basis_of(6).evaluate(at) / law.density(at)[:, None], mechanism_at(keep)
        )
        wanted = np.einsum("p,pi,ij,pj->", weights, functions, covariance, functions) / np.array(SIZES)
        rows = series.series(f"simulated variance, α = {keep:g}", PANELS["variance"])
        assert np.all(np.abs(rows["y"].to_numpy() - wanted) < 3.5 * rows["std_error"].to_numpy())
        assert np.all(rows["std_error"].to_numpy() < 0.15 * wanted)


def test_kernel_variance_goes_like_one_over_n_keep_squared(default):
    # section 6.3: 3.4-3.9, 2.8-3.0 and 1.14-1.16 at h = .12 for another law; one order of size, growing as α falls
    constants = []
    for keep in (1.0, 0.5, 0.25):
        rows = default.series(f"simulated variance, α = {keep:g}", PANELS["variance"])
        constant = rows["y"].to_numpy() * rows["x"].to_numpy()
        error = np.hypot(*(rows["std_error"].to_numpy() * rows["x"].to_numpy()))
        # three standard errors, and what a small density in the denominator adds to the smaller sample
        assert abs(constant[0] - constant[1]) < 3 * error + 0.3 * constant[1]
        assert error < 0.6 * constant[1]
        constants.append(constant[1])
    assert constants[0] < constants[1] < constants[2] < 6 * constants[0]


def test_private_fit_follows_the_truth_and_the_naive_one_is_flat(default):
    truth, naive, private = (ys(default, name, "curve") for name in (TRUTH, NAIVE, PRIVATE))
    np.testing.assert_allclose(truth, wave(GRID))
    inner = np.abs(GRID) < 0.9
    assert np.ptp(naive[inner]) < 0.65 * np.ptp(truth[inner])
    assert np.sqrt(np.mean((private - truth)[inner] ** 2)) < 0.15
    assert np.sqrt(np.mean((naive - truth)[inner] ** 2)) > 0.3
    rows = default.series(PRIVATE, PANELS["curve"])
    width = (rows["high"] - rows["low"]).to_numpy()
    assert np.all(width[inner] > 0.1)


def test_representer_series_finds_the_weights():
    result = study.run(PrivateCurvesScenario(method=RepresenterCurve(), n=20_000, keep_probability=0.8, trials=8))
    truth, private = ys(result, TRUTH, "curve"), ys(result, PRIVATE, "curve")
    np.testing.assert_allclose(truth, 1 / treated(GRID))
    rows = result.series(PRIVATE, PANELS["curve"])
    half = (rows["high"] - rows["low"]).to_numpy() / 2
    assert np.mean(np.abs(private - truth) < 2 * half) > 0.95
    assert half.max() < 0.5
    assert np.ptp(truth) > 1
    assert DENSITY not in set(result.frame["series"])


def test_without_noise_all_agree():
    result = study.run(PrivateCurvesScenario(keep_probability=1.0, trials=8))
    np.testing.assert_array_equal(ys(result, NAIVE, "curve"), ys(result, PRIVATE, "curve"))
    assert result.notes == ()


def test_printed_slip_and_rates_are_stated(default):
    # E9: 3.27 at 0 and 0.68 at 1; Ex. 12 at β = 2: 4/5, 1/5, and 2/5, 1/10 with a = 1/4
    by_title = {formula.title: formula.numbers for formula in default.formulas}
    assert "3.27" in by_title["A constant outcome, as printed and corrected"]
    assert "0.678" in by_title["A constant outcome, as printed and corrected"]
    rows = default.frame[(default.frame["panel"] == PANELS["rates"]) & (default.frame["x"] == 2.0)]
    assert dict(zip(rows["series"], rows["y"], strict=True)) == pytest.approx(
        {
            "error, known density": 0.8,
            "error, rough density": 0.4,
            "functions, known density": 0.2,
            "functions, rough density": 0.1,
            "error, kernel": 0.8,
        }
    )


def test_integrated_moments():
    rng = np.random.default_rng(3)
    truth = np.array([1.0, 2.0, 3.0])
    curves = truth + 0.2 + rng.standard_normal((4000, 3)) * np.array([1.0, 2.0, 1.0])
    variance, error, bias = integrated(curves, truth, np.array([1.0, 2.0, 1.0]))
    assert abs(variance - 2.5) < 3 * error
    assert bias == pytest.approx(0.04, abs=0.01)


def test_every_view_is_drawn(default, series):
    for result in (
        default,
        series,
        study.run(PrivateCurvesScenario(method=KernelCurve(bandwidth=0.05), trials=8, n=200)),
    ):
        for view in study.views:
            assert draw(study.chart(result, view)).data


@pytest.mark.parametrize("method", [SeriesCurve(size=16), RepresenterCurve(size=10)])
def test_more_functions_than_a_tenth_of_n_keep_squared_are_refused(method: SeriesCurve | RepresenterCurve) -> None:
    scenario = PrivateCurvesScenario(method=method, n=100, keep_probability=0.1)
    (said,) = study.check(scenario, None)
    assert said.startswith(f"{method.size} functions are too many for n α² = 1.00;")
    assert "choose 1 function, more people" in said
    (wider,) = study.check(replace_n(scenario, 8_999), None)
    assert "choose 8 functions" in wider
    assert study.check(replace_n(scenario, 1_000 * method.size), None) == ()
    assert study.check(PrivateCurvesScenario(n=100, keep_probability=0.1), None) == ()


def replace_n(scenario: PrivateCurvesScenario, n: int) -> PrivateCurvesScenario:
    return scenario.model_copy(update={"n": n})
