from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.distributions import Uniform
from privexplorer.errors import ParameterError
from privexplorer.properties import (
    DenseSupport,
    SmoothedGoodToulmin,
    SparseSupport,
    coverage_estimate,
    dense_recovery_size,
    dense_support_estimate,
    rare_count_tail,
    sgt_sensitivity_bound,
    support_coverage_records,
)


def test_short_samples_are_extrapolated_and_long_ones_counted() -> None:
    estimator = SparseSupport(accuracy=0.1)
    r = math.log(30)
    fingerprint = {1: 30, 2: 10}
    value = estimator.table(50, 100).estimate_fingerprint(fingerprint)
    assert value == pytest.approx(coverage_estimate(fingerprint, 50, 100 * r / 50 - 1, r), rel=1e-12)
    assert estimator.extrapolates(170, 100)
    assert not estimator.extrapolates(171, 100)
    assert estimator.table(171, 100).estimate_fingerprint({1: 1, 85: 2}) == 3.0


@pytest.mark.parametrize("n", [1, 2, 40, 170, 171, 5000])
@pytest.mark.parametrize("k", [1, 2, 3, 100])
def test_sensitivities_equal_the_full_search(n: int, k: int) -> None:
    for estimator in (SparseSupport(accuracy=0.1), SparseSupport(accuracy=0.3), DenseSupport()):
        expected = estimator.table(n, k).sensitivity()
        assert estimator.sensitivity(n, k) == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_printed_sensitivity_and_bias_bound() -> None:
    estimator = SparseSupport(accuracy=0.1)
    t = estimator.ahead(50, 100)
    assert estimator.sensitivity(50, 100, "thesis") == sgt_sensitivity_bound(estimator.rate, t)
    assert estimator.bias_bound(50, 100) == pytest.approx(
        2 + 2 * math.exp(estimator.rate * (t - 1)) + 20 / 3, rel=1e-12
    )


def test_coverage_at_the_printed_number_of_records_is_near_the_support() -> None:
    law = Uniform(k=100).law()
    m = support_coverage_records(100, 0.1)
    assert m == pytest.approx(100 * math.log(30))
    assert 3.0 < 100 - float(law.coverage(m)) < 10 / 3


def test_rare_counts_and_recovery() -> None:
    assert rare_count_tail(900, 100) == pytest.approx(math.exp(-2))
    assert dense_recovery_size(100) == pytest.approx(1800 * math.log(100))
    assert dense_recovery_size(100, 0.1) == pytest.approx(900 * math.log(10))
    counts = Uniform(k=30).law().sample_counts(round(dense_recovery_size(30)), 300, np.random.default_rng(1))
    assert np.all(dense_support_estimate(counts, counts[0].sum(), 30) == 30.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda: dense_support_estimate([1, 1, 1], 3, 2),
        lambda: dense_support_estimate([1, 1], 3, 5),
        lambda: DenseSupport().table(5, 0),
        lambda: dense_recovery_size(10, 0.5),
        lambda: support_coverage_records(10, 1.0),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()


def test_sparse_estimator_by_itself() -> None:
    estimator = SparseSupport()
    least = estimator.smallest_sample(1_000_000)
    assert math.isfinite(estimator.sensitivity(least, 1_000_000, "thesis"))
    assert estimator.rate * (estimator.ahead(least, 1_000_000) - 1) <= 700
    assert estimator.rate * (estimator.ahead(least - 1, 1_000_000) - 1) > 700
    for ask in (
        lambda: estimator.sensitivity(900, 1_000_000),
        lambda: estimator.values(np.arange(901), 900, 1_000_000),
        lambda: estimator.sensitivity(900, 1_000_000, "thesis"),
    ):
        with pytest.raises(ParameterError, match=f"take at least {least:,} records, or a smaller k"):
            ask()
    assert math.isfinite(estimator.sensitivity(3, 1_000_000))  # three counts only: large, but numbers
    assert estimator.bias_bound(900, 1_000_000) == math.inf
    assert estimator.bias_bound(900, 1_000) == pytest.approx(
        2 + 2 * math.exp(estimator.rate * (estimator.ahead(900, 1_000) - 1)) + 200 / 3, rel=1e-12
    )
    smoothed = SmoothedGoodToulmin(smoothing_mean=estimator.rate)
    np.testing.assert_array_equal(
        estimator.values(np.arange(9), 900, 1_000), smoothed.values(np.arange(9), 900, estimator.ahead(900, 1_000))
    )
