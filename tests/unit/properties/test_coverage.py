from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from privexplorer.distributions import Uniform, Zipf
from privexplorer.errors import ParameterError
from privexplorer.properties import (
    BatchCoverage,
    GoodToulmin,
    SmoothedGoodToulmin,
    binomial_smoothing,
    coverage_estimate,
    good_toulmin_sensitivity,
    new_symbols_estimate,
    sgt_bias_bound,
    sgt_coefficient_bound,
    sgt_coefficients,
    sgt_sensitivity_bound,
    smoothing_rate,
)
from privexplorer.properties.coverage import log_poisson_survival

ESTIMATORS = {
    "automatic": SmoothedGoodToulmin(),
    "first binomial": SmoothedGoodToulmin(smoothing="binomial-1"),
    "second binomial": SmoothedGoodToulmin(smoothing="binomial-2"),
    "rate 4": SmoothedGoodToulmin(smoothing_mean=4.0),
    "rate 0": SmoothedGoodToulmin(smoothing_mean=0.0),
    "rate 25": SmoothedGoodToulmin(smoothing_mean=25.0),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("new_only", [False, True])
def test_short_search_equals_the_full_table(name: str, new_only: bool) -> None:
    estimator = ESTIMATORS[name]
    for n in (1, 2, 3, 7, 40, 131, 132, 3000):
        for t in (-0.6, 0.0, 0.4, 1.0, 1.0005, 1.3, 3.0, 12.0):
            for k in (None, 1, 2, 3):
                expected = estimator.table(n, t, k, new_only=new_only).sensitivity()
                found = estimator.sensitivity(n, t, k=k, new_only=new_only)
                assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), (n, t, k)


@pytest.mark.parametrize("new_only", [False, True])
def test_good_toulmin_closed_form_equals_the_full_table(new_only: bool) -> None:
    for n in range(1, 40):
        for t in (-0.99, -0.5, -0.01, 0.0, 0.1, 0.5, 0.9, 1.0):
            for k in (None, 1, 2, 3):
                expected = GoodToulmin().table(n, t, k, new_only=new_only).sensitivity()
                found = GoodToulmin().sensitivity(n, t, k=k, new_only=new_only)
                assert found == pytest.approx(expected, rel=1e-12, abs=1e-15), (n, t, k)
    for t in (0.3, 0.7, 1.0):
        assert good_toulmin_sensitivity(50, t) == pytest.approx((1 + t) ** 2, rel=1e-15)
        assert good_toulmin_sensitivity(50, t, new_only=True) == pytest.approx(max(2 * t + t * t, t * (1 + t) ** 2))


def test_printed_bound_covers_the_published_rate_and_fails_beyond() -> None:
    ratios = []
    for n in (10, 100, 5000, 50_000):
        for t in (1.001, 1.1, 2.0, 5.0, 10.0):
            estimator = SmoothedGoodToulmin()
            ratios.append(estimator.sensitivity(n, t) / estimator.sensitivity(n, t, "thesis"))
    assert max(ratios) <= 1.0
    assert 0.3 < min(ratios) < 0.4
    large = SmoothedGoodToulmin(smoothing_mean=60.0)
    assert large.sensitivity(10_000, 1.022) / sgt_sensitivity_bound(60.0, 1.022) == pytest.approx(1.14, abs=0.01)


def test_a_printed_bound_that_is_too_small_is_not_called_private() -> None:
    large = SmoothedGoodToulmin(smoothing_mean=60.0)
    assert not large.is_private(1.022, "thesis")
    assert large.is_private(1.022, "exact")
    assert large.is_private(2.0, "thesis")
    assert SmoothedGoodToulmin(smoothing_mean=5.0).is_private(1.022, "thesis")
    assert SmoothedGoodToulmin().is_private(1.022, "thesis")


def test_coefficients_stay_within_lemma_26() -> None:
    for r in (0.5, 2.0, 10.0):
        for t in (1.1, 2.0, 6.0):
            largest = np.abs(sgt_coefficients(1000, t, 400, r)).max()
            assert 0.05 * sgt_coefficient_bound(r, t) < largest <= sgt_coefficient_bound(r, t)


def test_bias_stays_within_lemma_27() -> None:
    law, n, t = Uniform(k=1000).law(), 500, 2.0
    estimator = SmoothedGoodToulmin()
    bias = estimator.table(n, t).mean(law) - float(law.coverage(n * (1 + t)))
    assert bias == pytest.approx(-7.2, abs=0.1)
    assert sgt_bias_bound(estimator.rate(n, t), t, 1500, 1000) == pytest.approx(140.5, abs=0.05)


def test_good_toulmin_is_nearly_unbiased() -> None:
    law = Zipf(k=300).law()
    for t in (-0.5, 0.5, 1.0):
        # exact under Poisson sample sizes; under fixed n only nearly so
        assert GoodToulmin().table(200, t).mean(law) == pytest.approx(float(law.coverage(200 * (1 + t))), rel=4e-3)


def test_no_look_ahead_returns_the_distinct_count() -> None:
    fingerprint = {1: 40, 2: 12, 3: 6, 4: 2, 10: 1}
    assert coverage_estimate(fingerprint, 100, 0.0) == 61.0
    assert new_symbols_estimate(fingerprint, 100, 0.0) == 0.0
    for t in (0.5, 3.0):
        total = coverage_estimate(fingerprint, 100, t)
        assert new_symbols_estimate(fingerprint, 100, t) == pytest.approx(total - 61.0, rel=1e-12)


def test_smoothing_rates() -> None:
    assert smoothing_rate(100, 2) == pytest.approx(math.log(900) / 4, rel=1e-14)
    assert smoothing_rate(100, 1.0002) == smoothing_rate(100, 1.001) == smoothing_rate(100, 0.3)
    assert smoothing_rate(100, 2, accuracy=0.1) == pytest.approx(math.log(10))
    assert smoothing_rate(100, 2, accuracy=0.1, factor=3.0) == pytest.approx(math.log(30))
    assert binomial_smoothing(1000, 2.0) == (6, pytest.approx(1 / 3))
    assert binomial_smoothing(1000, 2.0, "binomial-2") == (4, pytest.approx(1 / 2))


def test_binomial_smoothing_stops() -> None:
    estimator = SmoothedGoodToulmin(smoothing="binomial-1")
    coefficients = estimator.coefficients(1000, 2.0, 10)
    assert np.all(coefficients[6:] == 1.0)
    assert coefficients[5] == pytest.approx(1 - 2.0**6 / 3.0**6, rel=1e-12)
    assert coefficients[0] == pytest.approx(1 + 2 * (1 - (2 / 3) ** 6), rel=1e-12)


@pytest.mark.parametrize(("mean", "count"), [(2.0, 1), (2.0, 5), (2.0, 300), (50.0, 40), (100.0, 700), (300.0, 1100)])
def test_log_survival_in_the_far_tail(mean: float, count: int) -> None:
    with mpmath.workdps(40):
        exact = float(mpmath.log(mpmath.gammainc(count, 0, mean, regularized=True)))
    assert log_poisson_survival(np.array([count]), mean)[0] == pytest.approx(exact, rel=1e-12)


def test_tail_coefficients_keep_their_digits() -> None:
    # where 1 - cdf would be off by up to 3e-3
    n, t = 500, 10.0
    r = smoothing_rate(n, t)
    with mpmath.workdps(40):
        exact = [float(1 - mpmath.mpf(-t) ** i * mpmath.gammainc(i, 0, r, regularized=True)) for i in range(1, 31)]
    np.testing.assert_allclose(sgt_coefficients(n, t, 30), exact, rtol=1e-11)


def test_the_switch_to_good_toulmin_is_said() -> None:
    estimator = SmoothedGoodToulmin()
    assert "Good-Toulmin" in str(estimator.note(100, 1.0))
    assert estimator.note(100, 1.1) is None
    assert SmoothedGoodToulmin(smoothing_mean=3.0).note(100, 0.5) is None
    np.testing.assert_array_equal(estimator.coefficients(100, 0.5, 5), GoodToulmin().coefficients(100, 0.5, 5))


def test_noise_rules_outside_the_printed_range() -> None:
    estimator = SmoothedGoodToulmin()
    assert estimator.sensitivity(100, 0.5, "thesis") == estimator.sensitivity(100, 0.5) == pytest.approx(2.25)
    assert estimator.sensitivity(100, 0.5, "paper_code") == 0.5
    assert estimator.sensitivity(100, 0.001, "paper_code") == 0.01
    assert not estimator.is_private(0.5, "paper_code")
    assert estimator.is_private(2.0, "paper_code")
    assert estimator.sensitivity(100, 2.0, "paper_code") == estimator.sensitivity(100, 2.0, "thesis")
    sources = {estimator.sensitivity_source(100, t, rule) for t in (0.5, 2.0) for rule in ("exact", "thesis")}
    assert len(sources) == 3


# ---- batches ----


def test_batches_by_hand() -> None:
    batch = BatchCoverage()
    assert float(batch.estimate([1, 1, 2, 3, 3, 3, 9], 3)) == pytest.approx(1.5)
    np.testing.assert_allclose(batch.estimate([[1, 1, 2, 3], [5, 5, 5, 5]], 2), [1.5, 1.0])


def test_both_batch_forms_are_unbiased_and_the_averaged_one_varies_less() -> None:
    law, n, m, trials = Zipf(k=40).law(), 60, 20, 4000
    symbols = law.sample_symbols(n, trials, np.random.default_rng(2))
    one_order = BatchCoverage().estimate(symbols, m)
    table = BatchCoverage().table(n, m / n - 1)
    averaged = table.estimate(np.array([np.bincount(row, minlength=40) for row in symbols]))
    truth = float(law.coverage(m))
    assert table.mean(law) == pytest.approx(truth, rel=1e-12)
    assert abs(one_order.mean() - truth) < 3.5 * one_order.std() / math.sqrt(trials)
    assert averaged.var() < 0.9 * one_order.var()
    assert one_order.var() <= m**2 / n


def test_batch_sensitivities() -> None:
    batch = BatchCoverage()
    assert batch.sensitivity(100, -0.75) == pytest.approx(0.25)
    assert batch.sensitivity(100, -0.7) == pytest.approx(1 / 3)
    assert batch.sensitivity(100, -0.7, "thesis") == pytest.approx(0.6)
    assert batch.sensitivity(100, -0.7, averaged=True) == pytest.approx(0.3)
    assert batch.table(100, -0.7, 3).sensitivity() == pytest.approx(0.3, rel=1e-12)
    assert batch.sensitivity(5, -0.8) == 0.0
    assert batch.table(5, -0.8, 3).sensitivity() < 1e-15
    assert batch.table(8, 0.0).values.tolist() == [0.0] + [1.0] * 8


@pytest.mark.parametrize(
    "call",
    [
        lambda: SmoothedGoodToulmin().table(10, -1.0),
        lambda: GoodToulmin().table(10, 1.5),
        lambda: GoodToulmin().sensitivity(10, 1.5),
        lambda: sgt_coefficients(10, 2.0, 5, r=-1.0),
        lambda: sgt_coefficients(10, math.nan, 5),
        lambda: sgt_sensitivity_bound(800.0, 2.0),
        lambda: sgt_sensitivity_bound(-1.0, 2.0),
        lambda: SmoothedGoodToulmin(smoothing_mean=900.0).sensitivity(10**6, 5.0),
        lambda: GoodToulmin().coefficients(10, 10.0, 400),
        lambda: coverage_estimate({1: 5}, 6, 1.0),
        lambda: coverage_estimate({}, 0, 1.0),
        lambda: BatchCoverage().table(10, 0.5),
        lambda: BatchCoverage().estimate([1, 2], 3),
        lambda: BatchCoverage().estimate([1, 2], 0),
        lambda: smoothing_rate(10, 2.0, accuracy=1.0),
        lambda: binomial_smoothing(10, 1.0),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()
