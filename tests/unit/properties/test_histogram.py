from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from privexplorer.distributions import Zipf
from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.properties import (
    BatchCoverage,
    DenseSupport,
    GoodToulmin,
    Histogram,
    MillerMadow,
    PlugIn,
    Polynomial,
    SmoothedGoodToulmin,
    SparseSupport,
    answer,
    remez,
)

ENTROPIES = [PlugIn(), MillerMadow(), Polynomial(), Polynomial(preset="non-private")]
COVERAGES = [
    (SmoothedGoodToulmin(), 3.0),
    (SmoothedGoodToulmin(smoothing="binomial-1"), 2.0),
    (SmoothedGoodToulmin(), 0.5),
    (GoodToulmin(), 1.0),
    (BatchCoverage(), -0.7),
]


@pytest.fixture(scope="module")
def large() -> Histogram:
    counts = Zipf(k=300_000, exponent=1.1).law().sample_counts(100_000_000, 1, np.random.default_rng(1))[0]
    return Histogram.from_counts(counts)


def test_three_ways_to_the_same_histogram() -> None:
    from_counts = Histogram.from_counts([5, 0, 3, 2, 1, 1])
    assert from_counts.fingerprint == {1: 2, 2: 1, 3: 1, 5: 1}
    assert (from_counts.n, from_counts.distinct) == (12, 5)
    assert from_counts.dense_fingerprint().tolist() == [0, 2, 1, 1, 0, 1]
    assert from_counts.dense_fingerprint(2).tolist() == [0, 2, 1]
    assert Histogram.from_fingerprint({1: 2, 2: 1, 3: 1, 5: 1}).fingerprint == from_counts.fingerprint
    assert Histogram.from_records(list("aaaaabbbccde")).fingerprint == from_counts.fingerprint
    assert Histogram.from_counts([10**9, 1]).fingerprint == {1: 1, 10**9: 1}


@pytest.mark.parametrize("n", [1, 2, 10, 500, 30_000, 100_000])
def test_direct_answers_equal_the_tables(n: int) -> None:
    k = 400
    counts = Zipf(k=k).law().sample_counts(n, 1, np.random.default_rng(n))[0]
    histogram = Histogram.from_counts(counts)
    for estimator in ENTROPIES:
        table = estimator.table(n, k, True)
        value, sensitivity = answer(estimator, histogram, k)
        assert value == pytest.approx(float(table.estimate(counts)), rel=1e-10, abs=1e-12)
        assert sensitivity == pytest.approx(table.sensitivity(), rel=1e-9, abs=1e-15)
    for estimator, t in COVERAGES:
        table = estimator.table(n, t, k)
        value, sensitivity = answer(estimator, histogram, k, t=t)
        assert value == pytest.approx(float(table.estimate(counts)), rel=1e-10)
        assert sensitivity == pytest.approx(table.sensitivity(), rel=1e-9, abs=1e-12)
    for estimator in (SparseSupport(), DenseSupport()):
        table = estimator.table(n, k)
        value, sensitivity = answer(estimator, histogram, k)
        assert value == pytest.approx(float(table.estimate(counts)), rel=1e-10)
        assert sensitivity == pytest.approx(table.sensitivity(), rel=1e-12, abs=1e-15)


def test_bits_are_nats_over_ln_2() -> None:
    histogram = Histogram.from_counts([5, 3, 2, 1, 1])
    nats, bits = answer(PlugIn(), histogram), answer(PlugIn(), histogram, unit="bits")
    np.testing.assert_allclose(np.array(bits) * math.log(2), nats, rtol=1e-14)


def test_new_symbols_are_the_total_less_the_seen() -> None:
    histogram = Histogram.from_fingerprint({1: 40, 2: 12, 3: 6, 4: 2, 10: 1})
    total = answer(SmoothedGoodToulmin(), histogram, t=3.0)[0]
    assert answer(SmoothedGoodToulmin(), histogram, t=3.0, new_only=True)[0] == pytest.approx(total - 61, rel=1e-12)


def test_a_hundred_million_records_need_little_room(large: Histogram) -> None:
    assert large.n == 100_000_000
    remez(16), remez(20)
    everything = [(each, None) for each in (*ENTROPIES, SparseSupport(), DenseSupport())] + COVERAGES[:4]
    for estimator, t in everything:
        answer(estimator, large, 300_000, t=t)
        tracemalloc.start()
        answer(estimator, large, 300_000, t=t)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50e6, estimator


def test_large_entropies_are_right(large: Histogram) -> None:
    p = np.repeat(large.counts, large.symbols) / large.n
    assert answer(PlugIn(), large)[0] == pytest.approx(-(p * np.log(p)).sum(), rel=1e-11)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Histogram.from_counts([]),
        lambda: Histogram.from_counts([0, 0]),
        lambda: Histogram.from_counts([1, -1]),
        lambda: Histogram.from_counts([0.5, 1]),
        lambda: Histogram.from_counts([[1, 2]]),
        lambda: Histogram.from_records([]),
        lambda: answer(Polynomial(), Histogram.from_counts([1, 1])),
        lambda: answer(Polynomial(), Histogram.from_counts([1, 1, 1]), 2),
        lambda: answer(GoodToulmin(), Histogram.from_counts([1, 1])),
        lambda: answer(DenseSupport(), Histogram.from_counts([1, 1])),
        lambda: answer(PlugIn(), Histogram.from_counts([1, 1]), unit="hartleys"),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()


def test_the_batch_estimator_counts_no_new_symbols() -> None:
    with pytest.raises(UnsupportedCombination):
        answer(BatchCoverage(), Histogram.from_counts([2, 2]), t=-0.5, new_only=True)
