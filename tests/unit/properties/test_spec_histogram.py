"""The fast path over counts by value equals the plain routine over the whole table, up to 10^5 records."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spec_reference as reference

from privexplorer import properties

Histogram, answer = properties.Histogram, properties.answer
plug_in, miller_madow = properties.PlugIn(), properties.MillerMadow()
private_poly, open_poly = properties.Polynomial(preset="private"), properties.Polynomial(preset="non-private")
sgt, good_toulmin = properties.SmoothedGoodToulmin(), properties.GoodToulmin()

ENTROPY: dict[str, Any] = {
    "plug-in": plug_in,
    "Miller-Madow": miller_madow,
    "polynomial, matched": properties.Polynomial(),
    "polynomial, private preset": private_poly,
    "polynomial, non-private preset": open_poly,
    "polynomial, custom": properties.Polynomial(preset="custom", degree=14, interval=9.0, cutoff=20),
    "polynomial, long cutoff": properties.Polynomial(preset="custom", degree=5, interval=40.0, cutoff=60),
}
COVERAGE: dict[str, Any] = {
    "smoothed Good-Toulmin": sgt,
    "smoothed, given mean": properties.SmoothedGoodToulmin(smoothing_mean=4.0),
    "binomial smoothing 1": properties.SmoothedGoodToulmin(smoothing="binomial-1"),
    "binomial smoothing 2": properties.SmoothedGoodToulmin(smoothing="binomial-2"),
}


def random_histograms() -> list[np.ndarray]:
    """Histograms of 1 to 10^5 records: flat, heavy-tailed, one symbol, all different."""
    rng = np.random.default_rng(2024)
    out = [np.array([1]), np.array([2]), np.array([1, 1]), np.array([100_000]), np.ones(3000, dtype=np.int64)]
    for size in (3, 10, 50, 400, 2000, 9999, 100_000):
        k = int(rng.integers(2, 2 * size + 2))
        out.append(rng.multinomial(size, np.full(k, 1 / k)))
        out.append(rng.multinomial(size, rng.dirichlet(np.full(min(k, 500), 0.3))))
        out.append(rng.multinomial(size, reference.zipf(min(k, 3000), 1.2)))
    return [counts for counts in out if counts.sum() > 0]


HISTOGRAMS = random_histograms()


def plain(table: Any, counts: np.ndarray, k: int | None) -> tuple[float, float]:
    """Look up every count, and run the sensitivity over the whole table."""
    padded = np.concatenate([counts, np.zeros(0 if k is None else max(0, k - len(counts)), dtype=np.int64)])
    return float(table.estimate(padded)), float(properties.sensitivity(np.asarray(table.values), k))


def agree(fast: tuple[float, float], slow: tuple[float, float], scale: float) -> None:
    assert fast[0] == pytest.approx(slow[0], rel=1e-9, abs=1e-11 * scale)
    # increments are differences of entries of the size of one, so an n-th of 1e-10 is their rounding
    assert fast[1] == pytest.approx(slow[1], rel=1e-9, abs=1e-13 * scale)


@pytest.mark.parametrize("name", ENTROPY)
def test_entropy_fast_path(name: str) -> None:
    estimator = ENTROPY[name]
    for counts in HISTOGRAMS:
        n = int(counts.sum())
        for k, private in itertools.product((len(counts) + 1, len(counts) + 700), (True, False)):
            fast = answer(estimator, Histogram.from_counts(counts), k, private=private)
            slow = plain(estimator.table(n, k, private=private), counts, k)
            if name == "polynomial, matched" and not private:
                # without a release there is no noise, so the sensitivity stays that of the private preset
                slow = slow[0], estimator.sensitivity(n, k)
            agree(fast, slow, 1.0)
    two = np.array([70, 30])
    for k in (2, 3):
        fast = answer(estimator, Histogram.from_counts(two), k, private=True)
        agree(fast, plain(estimator.table(100, k, private=True), two, k), 1.0)


@pytest.mark.parametrize("name", COVERAGE)
def test_smoothed_coverage_fast_path(name: str) -> None:
    estimator = COVERAGE[name]
    for counts, t in itertools.product(HISTOGRAMS, (1.2, 3.0, 8.0)):
        n = int(counts.sum())
        if n < 10:
            continue
        table = estimator.table(n, t)
        agree(answer(estimator, Histogram.from_counts(counts), t=t), plain(table, counts, None), float(n))


def test_good_toulmin_fast_path() -> None:
    for counts, t in itertools.product(HISTOGRAMS, (-0.5, 0.0, 0.4, 1.0)):
        n = int(counts.sum())
        for estimator in (good_toulmin, sgt):
            table = estimator.table(n, t)
            agree(answer(estimator, Histogram.from_counts(counts), t=t), plain(table, counts, None), 1.0)


def test_support_fast_path() -> None:
    for counts in HISTOGRAMS:
        n, k = int(counts.sum()), len(counts) + 3
        for estimator in (properties.DenseSupport(), properties.SparseSupport(accuracy=0.2)):
            table = estimator.table(n, k)
            fast = answer(estimator, Histogram.from_counts(counts), k)
            slow = plain(table, counts, k)
            assert fast[0] == pytest.approx(slow[0], rel=1e-9, abs=1e-9)
            assert fast[1] == pytest.approx(slow[1], rel=1e-9, abs=1e-12)


def test_only_counts_by_value_matter() -> None:
    counts = np.array([9, 1, 1, 4, 4, 4, 0, 2])
    same = Histogram.from_fingerprint({1: 2, 2: 1, 4: 3, 9: 1})
    records = Histogram.from_records(np.repeat(np.arange(8), counts))
    shuffled = Histogram.from_counts(counts[::-1])
    for histogram in (Histogram.from_counts(counts), same, records, shuffled):
        assert histogram.n == 25
        assert histogram.distinct == 7
        assert dict(histogram.fingerprint) == {1: 2, 2: 1, 4: 3, 9: 1}
        for estimator in ENTROPY.values():
            assert answer(estimator, histogram, 20) == answer(estimator, same, 20)
        assert answer(sgt, histogram, t=2.0) == answer(sgt, same, t=2.0)


def test_rules_and_units() -> None:
    counts = np.array([50, 30, 20, 0])
    histogram = Histogram.from_counts(counts)
    nats, bits = answer(plug_in, histogram, 4), answer(plug_in, histogram, 4, unit="bits")
    assert np.array(bits) == pytest.approx(np.array(nats) / reference.LN2, rel=1e-12)
    assert answer(plug_in, histogram, 4, rule="thesis")[1] == pytest.approx(2 * np.log(100) / 100, rel=1e-12)
    new = answer(good_toulmin, histogram, t=0.5, new_only=True)
    assert new[0] == pytest.approx(answer(good_toulmin, histogram, t=0.5)[0] - 3, rel=1e-12, abs=1e-12)
    assert new[1] == pytest.approx(max(2 * 0.5 + 0.25, 0.5 * 1.5**2), rel=1e-12)


LARGE: dict[str, Callable[[Any], Any]] = {
    **{name: (lambda h, e=estimator: answer(e, h, 10**6)) for name, estimator in ENTROPY.items()},
    **{name: (lambda h, e=estimator: answer(e, h, t=5.0)) for name, estimator in COVERAGE.items()},
    "Good-Toulmin": lambda h: answer(good_toulmin, h, t=0.9),
    "dense support": lambda h: answer(properties.DenseSupport(), h, 10**6),
    "sparse support": lambda h: answer(properties.SparseSupport(), h, 10**6),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_hundred_million_records_need_no_table(name: str) -> None:
    weights = np.floor(7e6 / np.arange(1, 400_001)).astype(np.int64)
    weights[0] += 10**8 - weights.sum()
    histogram = Histogram.from_counts(weights)
    assert histogram.n == 10**8
    LARGE[name](histogram)  # coefficients are computed once per process
    tracemalloc.start()
    try:
        value, sensitivity = LARGE[name](histogram)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 50e6
    assert np.isfinite(value)
    assert sensitivity > 0


def test_large_sensitivities_follow_their_closed_forms() -> None:
    n = 10**8
    weights = np.array([n - 3, 2, 1])
    histogram = Histogram.from_counts(weights)
    h = (np.log(n) - (n - 1) * np.log1p(-1 / n)) / n
    assert answer(plug_in, histogram, 10)[1] == pytest.approx(h, rel=1e-9)
    assert answer(miller_madow, histogram, 10)[1] == pytest.approx(h + 0.5 / n, rel=1e-9)
    # n Delta of the polynomial grows like ln n: from 10^5 on by ln(n / 10^5), up to the curvature of one record
    table = private_poly.table(10**5, 1000, private=True)
    small = 10**5 * properties.sensitivity(np.asarray(table.values), 1000)
    assert n * answer(private_poly, histogram, 1000)[1] == pytest.approx(small + np.log(n / 1e5), abs=1e-4)


@pytest.mark.parametrize("name", ENTROPY)
def test_single_entries_are_the_table_s(name: str) -> None:
    estimator, n, k = ENTROPY[name], 5000, 300
    table = estimator.table(n, k, private=True)
    where = np.array([0, 1, 2, 3, 9, 10, 11, 12, 60, 61, 62, 2500, n - 2, n - 1])
    values = np.asarray(table.values)
    np.testing.assert_allclose(estimator.values(where, n, k, private=True), values[where], rtol=1e-12, atol=1e-15)
    # an increment is the difference of two entries, each rounded
    np.testing.assert_allclose(
        estimator.increments(where, n, k, private=True), np.diff(values)[where], rtol=1e-11, atol=1e-15
    )


def test_single_entries_of_the_coverage_estimators() -> None:
    where = np.array([0, 1, 2, 5, 12, 40])
    for estimator, t in ((sgt, 2.5), (sgt, 0.5), (good_toulmin, 0.5), (COVERAGE["binomial smoothing 1"], 2.5)):
        values = np.asarray(estimator.table(300, t).values)
        np.testing.assert_allclose(estimator.values(where, 300, t), values[where], rtol=1e-12, atol=1e-14)
        new = np.asarray(estimator.table(300, t, new_only=True).values)
        np.testing.assert_allclose(new, values - (np.arange(301) > 0), rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(estimator.new_values(where, 300, t), new[where], rtol=1e-12, atol=1e-14)
