from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.distributions import TwoStep, Uniform, Zipf
from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.properties import (
    MillerMadow,
    PlugIn,
    Polynomial,
    bounded_difference_variance,
    plug_in_bias_bound,
    plug_in_sensitivity,
    plug_in_variance_bound,
    polynomial_parameters,
)

ESTIMATORS = {
    "plug-in": PlugIn(),
    "miller-madow": MillerMadow(),
    "private": Polynomial(),
    "non-private": Polynomial(preset="non-private"),
    "custom": Polynomial(preset="custom", degree=12, interval=20.0, cutoff=30),
    "wide": Polynomial(preset="custom", degree=3, interval=5.0, cutoff=200),
}
SIZES = [1, 2, 3, 4, 5, 9, 12, 13, 26, 27, 30, 60, 61, 100, 333, 405, 1000, 9999, 100_000]


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("k", [1, 2, 3, 50, 1000, 100_000])
def test_quick_sensitivity_equals_the_full_search(name: str, k: int) -> None:
    estimator = ESTIMATORS[name]
    for n in SIZES:
        expected = estimator.table(n, k, True).sensitivity()
        assert estimator.sensitivity(n, k) == pytest.approx(expected, rel=1e-9, abs=1e-15), n


@pytest.mark.parametrize("name", ESTIMATORS)
def test_increments_are_differences_of_the_table(name: str) -> None:
    for n in (1, 2, 12, 500):
        table = ESTIMATORS[name].table(n, 200, True)
        found = ESTIMATORS[name].increments(np.arange(n), n, 200, True)
        np.testing.assert_allclose(found, table.increments(), rtol=1e-7, atol=1e-13)


def test_sensitivity_keeps_its_digits_for_huge_samples() -> None:
    # n Delta of the polynomial beyond the constant zone is ln n plus a constant
    at = {n: n * Polynomial().sensitivity(n, 1000) for n in (10**6, 10**8)}
    assert at[10**8] - at[10**6] == pytest.approx(math.log(100), rel=1e-5)
    assert 10**8 * plug_in_sensitivity(10**8) == pytest.approx(math.log(10**8) + 1, rel=1e-8)


@pytest.mark.parametrize("estimator", [PlugIn(), MillerMadow()])
def test_printed_bound_lies_above_and_within_a_factor_of_two(estimator) -> None:
    for n in (3, 10, 1000, 10**6):
        exact, printed = estimator.sensitivity(n), estimator.sensitivity(n, rule="thesis")
        assert exact < printed < 2.0 * exact
        assert estimator.sensitivity(n, rule="paper_code") == printed


def test_experiment_code_level_is_flagged() -> None:
    poly = Polynomial()
    level = poly.sensitivity(1000, 1000, "paper_code")
    values = poly.table(1000, 1000, True).values
    assert level == pytest.approx(2 * abs(values[1] - values[0]), rel=1e-12)
    assert not poly.is_private("paper_code")
    assert poly.is_private("thesis")
    assert PlugIn().is_private("paper_code")
    assert len({poly.sensitivity_source(rule) for rule in ("exact", "paper_code")}) == 2


def test_presets() -> None:
    assert polynomial_parameters(100, "non-private") == (7, pytest.approx(16.118, abs=1e-3), 7)
    assert polynomial_parameters(2000, "private") == (10, pytest.approx(15.202, abs=1e-3), 12)
    assert polynomial_parameters(2, "private") == (1, pytest.approx(2 * math.log(2)), 1)
    assert Polynomial().parameters(1000, private=True) == polynomial_parameters(1000, "private")
    assert Polynomial().parameters(1000) == polynomial_parameters(1000, "non-private")
    with pytest.raises(UnsupportedCombination):
        polynomial_parameters(100, "custom")


def test_a_note_where_the_sample_is_short() -> None:
    assert "shorter" in str(Polynomial().note(10, 1000, True))
    assert Polynomial().note(14, 1000, True) is None
    assert PlugIn().note(1) is None


def test_polynomial_beats_plug_in_on_average() -> None:
    law = TwoStep(k=1000).law()
    truth = law.entropy()
    off = {e.kind: e.table(500, 1000).mean(law) - truth for e in (PlugIn(), MillerMadow(), Polynomial())}
    assert off["plug-in"] < off["miller-madow"] < 0.0
    assert abs(off["poly"]) < 0.25 * abs(off["miller-madow"])


@pytest.mark.parametrize(("n", "k"), [(20, 10), (100, 1000), (1000, 10)])
def test_plug_in_bias_stays_within_its_bounds(n: int, k: int) -> None:
    for law in (Uniform(k=k).law(), Zipf(k=k).law()):
        bias = law.entropy() - PlugIn().table(n).mean(law)
        tight = plug_in_bias_bound(n, k)
        assert 0.0 <= bias <= tight <= plug_in_bias_bound(n, k, "chi-square") <= plug_in_bias_bound(n, k, "thesis")
        if law.groups[0].size == 1:
            assert bias > 0.4 * tight


def test_simulated_variance_stays_within_its_bounds() -> None:
    n, law = 60, Zipf(k=30).law()
    table = PlugIn().table(n)
    variance = table.estimate(law.sample_counts(n, 4000, np.random.default_rng(1))).var(ddof=1)
    assert variance < bounded_difference_variance(n, table.sensitivity()) <= plug_in_variance_bound(n)
    assert bounded_difference_variance(4, 0.5) == 0.25
    assert plug_in_variance_bound(10) == pytest.approx(math.log(10) ** 2 / 10)


def test_one_record_has_no_entropy_and_no_sensitivity() -> None:
    for estimator in (PlugIn(), MillerMadow()):
        assert float(estimator.table(1).estimate([1])) == 0.0
        assert estimator.sensitivity(1) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: Polynomial().table(10),
        lambda: Polynomial().sensitivity(10),
        lambda: Polynomial().table(10, 0),
        lambda: PlugIn().table(0),
        lambda: PlugIn().table(10.5),
        lambda: PlugIn().table(30_000_000),
        lambda: PlugIn().sensitivity(10, rule="loose"),
        lambda: Polynomial().table(3, 2).estimate([1, 1, 1]),
        lambda: polynomial_parameters(0, "private"),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize("k", [2, 3, 10, 100, 1_000, 1_000_000])
@pytest.mark.parametrize("preset", ["private", "non-private"])
def test_polynomial_sensitivity_falls_from_there_on(k: int, preset: str) -> None:
    estimator = Polynomial(preset=preset)
    start = estimator.falling_from(k)
    values = np.array([estimator.sensitivity(n, k) for n in range(start, start + 600)])
    assert np.all(np.diff(values) < 0)
    table = np.array([estimator.table(n, k).sensitivity() for n in range(2, start + 1)])
    fast = np.array([estimator.sensitivity(n, k) for n in range(2, start + 1)])
    np.testing.assert_allclose(fast, table, rtol=1e-9)


@pytest.mark.parametrize(("degree", "interval", "cutoff"), [(24, 1.0, 60), (24, 1000.0, 3), (1, 0.1, 60), (12, 20, 50)])
@pytest.mark.parametrize("k", [2, 5])
def test_own_polynomials_fall_from_there_on(degree: int, interval: float, cutoff: int, k: int) -> None:
    estimator = Polynomial(preset="custom", degree=degree, interval=interval, cutoff=cutoff)
    start = estimator.falling_from(k)
    values = np.array([estimator.sensitivity(n, k) for n in range(start, start + 400)])
    assert np.all(np.diff(values) < 0)
