"""The tally of distinct values against a plain counter, with its limits made small."""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privexplorer.data import Source, TableColumn, _tally, read_counts
from privexplorer.errors import DataError


@pytest.fixture(params=[(10, 5), (1_000_000, 500_000)], ids=["crowded", "roomy"])
def limits(request, monkeypatch):
    settling, labels = request.param
    monkeypatch.setattr(_tally, "_BATCH", settling)
    monkeypatch.setattr(_tally, "LABELS", labels)
    return labels


def in_order(plain, labels):
    """Counts in the order of first occurrence as far as there are labels, then from large to small."""
    counts = list(plain.values())
    return counts[:labels] + sorted(counts[labels:], reverse=True)


TEXTS = st.text("abc\u00e9", max_size=20)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.tuples(TEXTS, st.integers(1, 5)), max_size=12), max_size=12), st.booleans(), st.booleans())
def test_texts_are_counted_as_a_counter_does(pieces, small, marked):
    before = _tally._BATCH, _tally.LABELS
    _tally._BATCH, _tally.LABELS = (7, 3) if small else before
    try:
        tally, plain = _tally.Tally(wide=True), Counter[str]()
        for piece in pieces:
            texts = pa.array([text for text, _ in piece], pa.string())
            numbers = np.array([number for _, number in piece], dtype=np.int64)
            tally.add(texts, numbers, _tally.fingerprints(texts) if marked else None)
            for text, number in piece:
                plain[text] += number
        values, counts = tally.result()
    finally:
        _tally._BATCH, _tally.LABELS = before
    assert counts.tolist() == in_order(plain, 3 if small else len(plain))
    assert values.to_pylist() == list(plain)[: len(values)]
    assert len(values) == (min(3, len(plain)) if small else len(plain))


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_numbers_are_counted_as_a_counter_does(kind, limits):
    rng = np.random.default_rng(5)
    drawn = rng.integers(-40, 40, size=(30, 50)).astype(kind) * (1 if kind is np.int64 else 0.5)
    tally = _tally.Tally()
    for piece in drawn:
        tally.add(pa.array(piece), np.ones(piece.size, dtype=np.int64))
    values, counts = tally.result()
    expected = Counter(drawn.ravel().tolist())
    assert counts.tolist() == in_order(expected, limits)
    assert values.to_pylist() == list(expected)[: len(values)]
    assert len(values) == min(limits, len(expected))


def test_large_counts_do_not_overflow(limits):
    """Counts around one, two and four bytes, and far above, beside many small ones."""
    tally, plain = _tally.Tally(wide=True), Counter[str]()
    for number in (2**40, 85, 84, 86, 21845, 2**31):
        for _ in range(3):
            texts = ["x", f"{number}", *(f"{number} {i}" for i in range(5))]
            tally.add(pa.array(texts), np.array([2**40, number, 1, 1, 1, 1, 1]))
            plain.update(dict(zip(texts, [2**40, number, 1, 1, 1, 1, 1], strict=True)))
    assert tally.result()[1].tolist() == in_order(plain, limits)


@pytest.mark.parametrize("count", [254, 255, 256, 65_535, 65_536])
def test_counts_take_the_narrowest_type(count, limits):
    tally = _tally.Tally()
    for i in range(30):
        tally.add(pa.array([f"{i}"]), np.array([count if i == 17 else 1]))
    _, counts = tally.result()
    assert counts.tolist() == in_order({i: count if i == 17 else 1 for i in range(30)}, limits)
    assert counts.dtype.itemsize == (1 if count < 256 else 2 if count < 65_536 else 4)


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


def test_texts_that_share_a_fingerprint_cannot_be_prepared():
    """A pair made for constants that are the same everywhere, and texts that differ in leading bits of their words."""
    pair = ["zZZOYzOzQUit4vWM", "s9528m5tRpt4t1SJ"]
    keys, checks = _tally.fingerprints(pa.array(pair))
    assert keys[0] != keys[1]
    assert checks[0] != checks[1]
    for seed in range(20):
        text = np.random.default_rng(seed).integers(97, 123, 32).astype(np.uint8)
        texts = []
        for places in itertools.product((0, 0x40), repeat=8):
            other = text.copy()
            other[3::4] ^= np.array(places, dtype=np.uint8)
            texts.append(other.tobytes().decode())
        keys, checks = _tally.fingerprints(pa.array(texts))
        assert np.unique(keys).size == len(texts)
        assert np.unique(checks).size >= len(texts) - 1  # of 32 bits: two of 256 agree once in 130,000 draws


_READ = """
import sys
from privexplorer.data import Source, TableColumn, _tally, read_counts
_tally.LABELS, _tally._BATCH, _tally._SLOT_BITS = 400, 700, 4
print(*_tally.fingerprints(_tally.to_texts(["a", "b" * 9, "c" * 999]))[0])
for kind in ("category", "number"):
    for name in ("texts", "many"):
        found = read_counts(Source.from_path(sys.argv[1] + f"/{name}.csv"), TableColumn(column="v", kind=kind))
        print(found.values, found.counts.tolist(), found.notes)
"""


def test_no_result_depends_on_the_secret_of_a_process(tmp_path):
    """Order and labels agree between two processes, with few and with more distinct values than are kept."""
    rng = np.random.default_rng(5)
    for name, different in (("texts", 350), ("many", 600)):
        cells = rng.integers(0, different, 3000)
        (tmp_path / f"{name}.csv").write_text("v\n" + "".join(f"{1000 + cell}\n" for cell in cells))
    told = [
        subprocess.run(
            [sys.executable, "-c", _READ, str(tmp_path)], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert told[0][1:] == told[1][1:]
    assert len(told[0]) == 5
    assert not set(told[0][0].split()) & set(told[1][0].split())


def test_equal_keys_with_different_checks_stay_apart(monkeypatch, limits):
    """Two texts that share a key by chance are told apart by the second fingerprint."""
    real = _tally.fingerprints

    def colliding(texts):
        keys, checks = real(texts)
        return keys % np.uint64(3), checks

    monkeypatch.setattr(_tally, "fingerprints", colliding)
    tally, plain = _tally.Tally(), Counter[str]()
    for texts in ("abcdeac", "fghhij", "kabf"):
        tally.add(pa.array(list(texts)), np.ones(len(texts), dtype=np.int64))
        plain.update(texts)
    assert tally.result()[1].tolist() == in_order(plain, limits)


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


def test_keys_that_agree_in_their_leading_bits_only_stay_apart():
    """The sorted words hold the leading bits and a place; what they cannot tell apart the whole keys do."""
    inverse = pow(int(_tally._A), -1, 2**64)
    keys = np.array([(number * inverse) % 2**64 for number in (5, 6, 5, 7, 2**63, 5)], dtype=np.uint64)
    starts, order = _tally._runs(keys, None)
    groups = sorted(sorted(part.tolist()) for part in np.split(order, starts[1:]))
    assert groups == [[0, 2, 5], [1], [3], [4]]
    assert all(part.tolist() == sorted(part.tolist()) for part in np.split(order, starts[1:]))


@pytest.fixture
def files(monkeypatch):
    """Small batches, and a list of the temporary files that were made."""
    monkeypatch.setattr(_tally, "_BATCH", 1000)
    monkeypatch.setattr(_tally, "LABELS", 300)
    monkeypatch.setattr(_tally, "_PATIENCE", 100)
    made, real = [], tempfile.TemporaryFile

    def make(**options):
        made.append(real(**options))
        return made[-1]

    monkeypatch.setattr(_tally.tempfile, "TemporaryFile", make)
    return made


@pytest.mark.parametrize("kind", ["category", "count", "number"])
def test_a_crowded_column_goes_through_a_file(kind, files):
    """Every kind, with a few heavy values, missing ones and spaces, against a counter; in order."""
    rng = np.random.default_rng(8)
    drawn = np.where(rng.random(40_000) < 0.2, rng.integers(0, 3, 40_000), rng.integers(0, 9000, 40_000))
    rows = [f"{number}" if kind != "number" else f"{number / 8}" for number in drawn]
    rows[100:50_000:100] = ["NA"] * len(rows[100:50_000:100])
    text = "v\n" + "".join(f"{row} \n" if i % 7 == 0 else f"{row}\n" for i, row in enumerate(rows))
    found = read_counts(Source.from_bytes("a.csv", text.encode()), TableColumn(column="v", kind=kind))
    plain = Counter(row for row in rows if row != "NA")
    assert files
    assert all(file.closed for file in files)
    assert found.counts.tolist() == in_order(plain, 300)
    assert (found.n, found.distinct, found.dropped.missing) == (sum(plain.values()), len(plain), rows.count("NA"))
    assert [float(found.label(i)) for i in range(300)] == [float(row) for row in list(plain)[:300]]
    assert found.label(300) == "value 301"
    sizes, symbols = found.multiplicities
    assert dict(zip(sizes.tolist(), symbols.tolist(), strict=True)) == Counter(plain.values())


def test_given_counts_go_through_a_file(files):
    """A value may stand in several rows; counts beyond four bytes add up."""
    rng = np.random.default_rng(9)
    drawn = zip(rng.integers(0, 4000, 9000), rng.random(9000), strict=True)
    pairs = [(f"w{word}", int(10 ** (12 * share))) for word, share in drawn]
    text = "word,count\n" + "".join(f"{word},{count}\n" for word, count in pairs)
    found = read_counts(Source.from_bytes("a.csv", text.encode()), TableColumn(column="word", counts="count"))
    plain = Counter[str]()
    for word, count in pairs:
        plain[word] += count
    assert files
    assert found.counts.tolist() == in_order(plain, 300)
    assert found.n == sum(plain.values())


def test_no_room_for_a_file_is_said(files, monkeypatch):
    def full(**options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_tally.tempfile, "TemporaryFile", full)
    text = "v\n" + "".join(f"a{i}\n" for i in range(5000))
    with pytest.raises(DataError, match="there is no room"):
        read_counts(Source.from_bytes("a.csv", text.encode()), TableColumn(column="v"))


def test_long_texts_are_counted_without_being_kept(monkeypatch):
    monkeypatch.setattr(_tally, "LABEL_BYTES", 20_000)
    rows = [f"{i % 2500}" + "x" * 90 for i in range(4000)]
    text = "v\n" + "".join(f"{row}\n" for row in rows)
    found = read_counts(Source.from_bytes("a.csv", text.encode()), TableColumn(column="v", kind="category"))
    assert found.counts.tolist() == [2] * 1500 + [1] * 1000
    assert [found.label(i) == rows[i] for i in range(2500)] == [i < 216 for i in range(2500)]
    assert found.label(2499) == "value 2,500"


def test_frequent_texts_are_counted_by_fingerprint(monkeypatch):
    """What is passed on and what is kept back add up to the whole, in a table that is far too small too."""
    rng = np.random.default_rng(10)
    for bits in (3, 12):
        monkeypatch.setattr(_tally, "_SLOT_BITS", bits)
        frequent, plain, passed = _tally.Frequent(), Counter[str](), Counter[str]()
        rows = 0
        for _ in range(40):
            texts = [("é" * 90 if number == 5 else f"t{number}") for number in rng.zipf(1.5, 200) % 50] + [""]
            plain.update(texts)
            piece = pa.array(["pad", *texts]).slice(1)
            values, counts = frequent.sift(piece, _tally.fingerprints(piece))
            assert len(set(values.to_pylist())) == len(values)
            passed.update(dict(zip(values.to_pylist(), counts.tolist(), strict=True)))
            rows += len(values)
        assert list(passed) == list(plain)  # the first of each is always passed on
        values, counts = frequent.rest()
        passed.update(dict(zip(values.to_pylist(), counts.tolist(), strict=True)))
        assert passed == plain
        assert rows < (1500 if bits == 12 else 2500)


def test_reading_a_text_table_loads_no_pandas():
    """Loading it takes 30 MB and half a second."""
    code = (
        "import sys; from privexplorer.data import Source, TableColumn, read_counts\n"
        "text = 'a,b,c,d\\n' + ''.join(f'w{i},{i % 7},{i / 8}, x{i % 5}\\n' for i in range(3000)) + 'NA,x,NA,NA\\n'\n"
        "for name in 'abcd':\n"
        "    read_counts(Source.from_bytes('a.csv', text.encode()), TableColumn(column=name))\n"
        "assert 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("few", [True, False], ids=["few alike", "many alike"])
@pytest.mark.parametrize("differing", [True, False])
def test_neighbours_that_only_seem_alike_are_noticed(few, differing):
    """Among a thousand entries said to be one value, or each its own but two, one entry differs from the next."""
    values = np.arange(1000) if few else np.zeros(1000, dtype=np.int64)
    order = np.random.default_rng(2).permutation(1000)
    same = np.zeros(999, dtype=bool) if few else np.ones(999, dtype=bool)
    same[500] = True
    values[order[501]] = values[order[500]] + differing
    same[501] &= not differing
    assert _tally._differ(values.astype(np.uint64), order, np.concatenate(([True], ~same))) == differing
