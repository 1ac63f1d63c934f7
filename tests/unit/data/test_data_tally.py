"""The tally of distinct values against a plain counter, with its limits made small."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privexplorer.data import Source, TableColumn, _tally, read_counts


@pytest.fixture(params=[(10, 5), (1_000_000, 500_000)], ids=["crowded", "roomy"])
def limits(request, monkeypatch):
    settling, labels = request.param
    monkeypatch.setattr(_tally, "_FIRST_SETTLING", settling)
    monkeypatch.setattr(_tally, "LABELS", labels)
    return labels


TEXTS = st.text("abc\u00e9", max_size=20)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.tuples(TEXTS, st.integers(1, 5)), max_size=12), max_size=12), st.booleans())
def test_texts_are_counted_as_a_counter_does(pieces, small):
    before = _tally._FIRST_SETTLING, _tally.LABELS
    _tally._FIRST_SETTLING, _tally.LABELS = (7, 3) if small else before
    try:
        tally, plain = _tally.Tally(wide=True), Counter[str]()
        for piece in pieces:
            tally.add(
                pa.array([text for text, _ in piece], pa.string()), np.array([n for _, n in piece], dtype=np.int64)
            )
            for text, number in piece:
                plain[text] += number
        values, counts = tally.result()
    finally:
        _tally._FIRST_SETTLING, _tally.LABELS = before
    assert counts.tolist() == list(plain.values())  # order of first occurrence
    assert values.to_pylist() == list(plain)[: len(values)]
    assert len(values) == len(plain) or (small and len(values) >= 3)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_numbers_are_counted_as_a_counter_does(kind, limits):
    rng = np.random.default_rng(5)
    drawn = rng.integers(-40, 40, size=(30, 50)).astype(kind) * (1 if kind is np.int64 else 0.5)
    tally = _tally.Tally()
    for piece in drawn:
        tally.add(pa.array(piece), np.ones(piece.size, dtype=np.int64))
    values, counts = tally.result()
    expected = Counter(drawn.ravel().tolist())
    assert dict(zip(values.to_pylist(), counts.tolist(), strict=True)) == dict(expected)
    assert counts.sum() == drawn.size


def test_large_counts_do_not_overflow():
    tally = _tally.Tally(wide=True)
    for _ in range(3):
        tally.add(pa.array(["x", "y"]), np.array([2**40, 1]))
    assert tally.result()[1].tolist() == [3 * 2**40, 3]


def test_nothing_gives_nothing():
    values, counts = _tally.Tally().result()
    assert (len(values), counts.size) == (0, 0)


def test_fingerprints_tell_texts_apart():
    """Lengths around eight, zero bytes at the end, slices, long texts; equal texts agree wherever they stand."""
    texts = ["", "\0", "\0\0", "a", "a\0", *("x" * n for n in range(1, 40)), *("x" * n + "y" for n in range(40))]
    texts += [f"{i}" for i in range(20_000)] + ["z" * n for n in (255, 256, 257, 258, 1000, 5000)]
    texts = list(dict.fromkeys(texts))
    keys, checks = _tally.fingerprints(pa.array(texts))
    assert len(set(zip(keys.tolist(), checks.tolist(), strict=True))) == len(texts)
    assert len(set(keys.tolist())) == len(texts)
    assert len(set(checks.tolist())) > 0.999 * len(texts)
    turned = _tally.fingerprints(pa.array(["pad", *reversed(texts)]).slice(1))
    np.testing.assert_array_equal(turned[0][::-1], keys)
    np.testing.assert_array_equal(turned[1][::-1], checks)


def test_fingerprints_spread_evenly():
    """All sixteen parts get their share of consecutive numbers (within five standard errors)."""
    keys, _ = _tally.fingerprints(pa.array([str(number) for number in range(32_000)]))
    for shift in (0, 20, 60):
        share = np.bincount(((keys >> np.uint64(shift)) & np.uint64(15)).astype(int), minlength=16)
        assert np.abs(share - 2000).max() < 5 * np.sqrt(2000 * 15 / 16)


def test_equal_keys_with_different_checks_stay_apart(monkeypatch):
    """Two texts that share a key by chance are told apart by the second fingerprint."""
    real = _tally.fingerprints

    def colliding(texts):
        keys, checks = real(texts)
        return keys % np.uint64(3), checks

    monkeypatch.setattr(_tally, "fingerprints", colliding)
    tally = _tally.Tally()
    tally.add(pa.array(["a", "b", "c", "d", "e", "a", "c"]), np.ones(7, dtype=np.int64))
    values, counts = tally.result()
    assert dict(zip(values.to_pylist(), counts.tolist(), strict=True)) == {"a": 2, "b": 1, "c": 2, "d": 1, "e": 1}


def test_a_crowded_column_keeps_its_first_labels(limits):
    rows = [f"u{i % 4000}" for i in range(6000)]
    found = read_counts(
        Source.from_bytes("a.csv", ("v,w\n" + "".join(f"{row},1\n" for row in rows)).encode()), TableColumn(column="v")
    )
    assert (found.n, found.distinct, found.kind) == (6000, 4000, "category")
    assert sorted(found.counts.tolist()) == [1] * 2000 + [2] * 2000
    if limits == 5:
        assert found.label(0) == "u0"
        assert found.label(3999) == "value 4,000"
        assert found.top(2) == [("u0", 2), ("u1", 2)]
    else:
        assert found.top(2) == [("u0", 2), ("u1", 2)]
        assert found.label(3999) == "u3999"
