"""Distinct values of a column and how often each occurs, gathered piece by piece in little memory.

A number is its own key. A text is known by a fingerprint of 96 bits. Its constants are drawn anew by each
process and are told to nobody, so texts that share a fingerprint cannot be prepared; by chance two among a
hundred million different texts do with a probability of about 1e-13 if fingerprints are as good as random
ones (an assumption, tried in the tests, and no theorem). So the many texts of a crowded column need not be
kept; the first half million are, as labels. No result depends on the constants: the first half million values
stay in the order in which they first occur, the counts of the others are sorted. The keys of a crowded column go to a
temporary file without a name, in parts by their leading bits, and each part is counted by itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import secrets
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privexplorer.arrays import BoolArray, IntArray
from privexplorer.data._values import count_values, letters, to_arrow, to_numpy, to_texts
from privexplorer.errors import DataError

LABELS = 500_000
"""Beyond this many distinct values the later ones are counted without being kept."""
LABEL_BYTES = 16 * 1024 * 1024
"""The same for the letters of all distinct texts together."""

_BATCH = 1_000_000
_PART_BITS = 8
_PARTS = 1 << _PART_BITS
_LONGEST_FREQUENT = 64
_SMALL = 50_000
_STEP = 16_384
_LONG = 256
_FEW = 256
_SLOT_BITS = 18
_PATIENCE = 300_000
_SECRET = secrets.token_bytes(32)
_A = np.uint64(0x9E3779B97F4A7C15)  # scatters keys over parts; no secret
_B, _C, _D, _E, _F, _G = (np.uint64(secrets.randbits(64) | 1) for _ in range(6))
_START = np.uint64(secrets.randbits(64))
_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_NONE = np.zeros(0, dtype=np.int64)
_Keys = NDArray[np.uint64]
_Checks = NDArray[np.uint32]
Marks = tuple[_Keys, _Checks]


class Tally:
    """Counts of the distinct values of one column: texts, whole numbers or floats, one type throughout.

    A context: at its end a file that was not read is closed.

    Parameters
    ----------
    wide : bool
        Whether the counts may add up to more than two thousand million.
    """

    def __init__(self, wide: bool = False) -> None:
        self._entries = 0
        self._keys, self._checks, self._counts = _batch(wide)
        self._spare = _batch(wide)
        self._labels: list[pa.Array] = []
        self._letters = 0
        self._type: pa.DataType | None = None
        self._full = False
        self._parts: _Parts | None = None
        self._first: _Keys = np.empty(0, dtype=np.uint64)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._parts is not None:
            self._parts.close()

    def add(self, values: pa.Array, counts: IntArray, marks: Marks | None = None) -> None:
        """Add values with their counts; a value may come often, also within one piece.

        Parameters
        ----------
        values : (m,) array
            No nulls.
        counts : (m,) int array
            How often each comes.
        marks : (keys, checks), optional
            What :func:`fingerprints` gives for these texts, if it is known already.

        Raises
        ------
        DataError
            There is no room for a temporary file.
        """
        done = 0
        while done < len(values):
            self._type = values.type
            if self._entries == self._keys.size or 3 * self._letters > 4 * LABEL_BYTES:
                self._make_room()
            some = values.slice(done, self._keys.size - self._entries)
            here = slice(self._entries, self._entries + len(some))
            if self._text:
                keys, checks = fingerprints(some) if marks is None else marks
                at = slice(0 if marks is None else done, None)
                self._keys[here], self._checks[here] = keys[at][: len(some)], checks[at][: len(some)]
                if not self._full:
                    self._labels.append(some)
                    self._letters += letters(some)[0].size
            else:
                self._keys[here] = to_numpy(some).view(np.uint64)
            self._counts[here] = counts[done : done + len(some)]
            self._entries += len(some)
            done += len(some)

    def result(self) -> tuple[pa.Array, NDArray[Any]]:
        """Give distinct values and counts.

        Returns
        -------
        values : (l,) array
            All values, in the order in which they first occur; where there are more than ``LABELS``, or texts with
            more than ``LABEL_BYTES`` together, perhaps only the first of them.
        counts : (d,) array of whole numbers, of as narrow a type as holds them
            How often each of the first ``LABELS`` values occurs; then the other counts from large to small.
        """
        if self._type is None:
            return to_texts(()), np.zeros(0, dtype=np.uint8)
        if self._parts is None:
            self._settle()
            self._first = self._keys[: min(self._entries, LABELS)].copy()  # how full a batch is must not matter
            counts = self._counts[: self._entries]
            counts = _joined(counts[:LABELS], counts[LABELS:], np.zeros(1, dtype=np.int64))
        else:
            self._move_out(self._parts)
            self._parts.flush()
        self._keys, self._checks, self._counts = self._spare = _batch(False, 0)
        labels, self._labels = pa.concat_arrays(self._labels) if self._text else None, []
        if self._parts is not None:
            counts = self._parts.counts()
        if labels is not None:
            return labels, counts
        return to_arrow(self._first.view(np.int64 if pa.types.is_integer(self._type) else np.float64)), counts

    @property
    def _text(self) -> bool:
        return self._type is not None and bool(pa.types.is_string(self._type))

    def _make_room(self) -> None:
        if self._parts is None:
            self._settle()
            if self._entries <= LABELS:
                return
            self._parts, self._full = _Parts(self._text), True
            self._first = self._keys[:LABELS].copy()
        self._move_out(self._parts)

    def _move_out(self, parts: _Parts) -> None:
        """Have the entries written while the other batch is filled."""
        size = self._entries
        parts.add(self._keys[:size], self._checks[:size], self._counts[:size])
        mine = self._keys, self._checks, self._counts
        (self._keys, self._checks, self._counts), self._spare = self._spare, mine
        self._entries = 0

    def _settle(self) -> None:
        """Give each distinct value one entry; they stay in the order in which they first occurred."""
        size = self._entries
        keys, checks, counts = self._keys[:size], self._checks[:size], self._counts[:size]
        for at in _split(keys):
            starts, order = _runs(keys[at], checks[at] if self._text else None)
            if starts.size < order.size:
                sums = np.add.reduceat(counts[at[order]], starts)
                counts[at] = 0
                counts[at[order[starts]]] = sums
        first = counts > 0
        if not first.all():
            self._entries = int(np.count_nonzero(first))
            for array in (keys, checks, counts):
                array[: self._entries] = array[first]
        if self._text and not self._full:
            self._settle_labels(first)

    def _settle_labels(self, first: BoolArray) -> None:
        """Keep the labels of the entries that stay, and no more than the limits."""
        start, kept, self._letters = 0, 0, 0
        labels: list[pa.Array] = []
        for piece in self._labels:
            mask = first[start : start + len(piece)]
            start += len(piece)
            label = piece if mask.all() else piece.filter(to_arrow(mask))
            ends = letters(label)[1][1:]
            fitting = min(LABELS - kept, int(np.searchsorted(ends, LABEL_BYTES - self._letters, side="right")))
            labels.append(label.slice(0, fitting))
            kept += fitting
            self._letters += letters(labels[-1])[0].size
            if fitting < len(label):
                break
        self._labels = labels
        self._full = kept < self._entries
        if self._full:
            self._letters = 0


class _Parts:
    """Keys in a temporary file, in parts by their leading bits; each batch of keys has a stretch of every part."""

    def __init__(self, checked: bool) -> None:
        self._checked, self._lock = checked, threading.Lock()
        self._places: NDArray[np.int32] = np.zeros(0, dtype=np.int32)
        self._batches: list[tuple[IntArray, dict[str, tuple[int, np.dtype[Any]]]]] = []
        try:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (it is read once all is written)
        except OSError:
            raise _no_room() from None
        self._writer, self._job = ThreadPoolExecutor(1), Future[None]()
        self._job.set_result(None)

    def add(self, keys: _Keys, checks: _Checks, counts: NDArray[Any]) -> None:
        """Have a batch written, once the one before is; the arrays must stay as they are until the next call."""
        self.flush()
        if keys.size:
            self._job = self._writer.submit(self._write, keys, checks, counts)

    def flush(self) -> None:
        """Wait until all is written."""
        self._job.result()

    def close(self) -> None:
        """Give the file up."""
        self._writer.shutdown()
        self._file.close()

    def _write(self, keys: _Keys, checks: _Checks, counts: NDArray[Any]) -> None:
        """Write a batch; the places of the first one's entries, all of which differ, are kept."""
        order, bounds = _by_part(keys)
        if not self._batches:
            self._places = order.astype(np.int32)
        arrays: dict[str, NDArray[Any]] = {"keys": keys}
        if self._checked:
            arrays["checks"] = checks
        if not (counts == 1).all():
            arrays["counts"] = counts
        stretches: dict[str, tuple[int, np.dtype[Any]]] = {}
        try:
            for name, array in arrays.items():
                stretches[name] = self._file.tell(), array.dtype
                for start in range(0, keys.size, _SMALL):
                    self._put(array[order[start : start + _SMALL]])
        except OSError:
            raise _no_room() from None
        self._batches.append((bounds, stretches))

    def _put(self, array: NDArray[Any]) -> None:
        if self._file.write(array.data.cast("B")) < array.nbytes:
            raise OSError

    def counts(self) -> NDArray[Any]:
        """Count each value: the first ``LABELS`` in the order of the first batch, then the others from large to small.

        The file is gone afterwards.
        """
        first = np.zeros(min(self._places.size, LABELS), dtype=np.int64)
        few, large = np.zeros(_FEW, dtype=np.int64), [_NONE]
        with contextlib.closing(self), ThreadPoolExecutor(2) as pool:
            for some, others in pool.map(lambda part: self._count(part, first), range(_PARTS)):
                few += some
                large.append(others)
        return _joined(first, np.concatenate(large), few)

    def _count(self, part: int, first: IntArray) -> tuple[IntArray, IntArray]:
        """Count the values of one part: put down counts of the first values, and give those of the others.

        Returns
        -------
        few : (_FEW,) int array
            How many of the others occur so often.
        large : (m,) int array
            Counts of those that occur more often than that.
        """
        keys = self._read("keys", part)
        if not keys.size:
            return np.zeros(_FEW, dtype=np.int64), _NONE
        starts, order = _runs(keys, self._read("checks", part) if self._checked else None, _PART_BITS)
        if any("counts" in stretches for _, stretches in self._batches):
            sums = np.add.reduceat(self._read("counts", part)[order], starts, dtype=np.int64)
        else:
            sums = np.empty_like(starts)
            np.subtract(starts[1:], starts[:-1], out=sums[:-1])
            sums[-1] = order.size - starts[-1]
        bounds, _ = self._batches[0]
        leaders = order[starts]
        known = np.flatnonzero(leaders < bounds[part + 1] - bounds[part])  # the first batch stands first
        places = self._places[bounds[part] + leaders[known]]
        labelled = places < first.size
        first[places[labelled]] = sums[known[labelled]]
        sums[known[labelled]] = 0  # what occurs never counts for nothing
        few = np.bincount(np.minimum(sums, _FEW), minlength=_FEW + 1)[:_FEW]
        return few, sums[sums >= _FEW]

    def _read(self, name: str, part: int) -> NDArray[Any]:
        """One part of all batches; counts that were not written are ones."""
        found: list[NDArray[Any]] = []
        for bounds, stretches in self._batches:
            size = int(bounds[part + 1] - bounds[part])
            if name in stretches:
                start, kind = stretches[name]
                with self._lock:
                    self._file.seek(start + int(bounds[part]) * kind.itemsize)
                    found.append(np.frombuffer(self._file.read(size * kind.itemsize), kind))
            else:
                found.append(np.ones(size, dtype=np.int64))
        return np.concatenate(found)


class Frequent:
    """Texts that come again and again, counted by their fingerprints while the rest is passed on.

    A table with one place per leading bits of a fingerprint holds the first short text that falls there.
    """

    def __init__(self) -> None:
        size = 1 << _SLOT_BITS
        self._keys: _Keys = ~(np.arange(size, dtype=np.uint64) << np.uint64(64 - _SLOT_BITS))  # fits no key
        self._checks: _Checks = np.zeros(size, dtype=np.uint32)
        self._counts: IntArray = np.zeros(size, dtype=np.int64)
        self._places: NDArray[np.int32] = np.zeros(size, dtype=np.int32)
        self._texts: list[pa.Array] = []
        self._held, self._rows, self._growing = 0, 0, 20
        self.useful = True

    def sift(self, texts: pa.Array, marks: Marks) -> tuple[pa.Array, IntArray]:
        """Count the texts, given with their fingerprints, that are in the table.

        Returns
        -------
        values, counts
            The other texts and how often each comes; they are taken into the table.
        """
        keys, checks = marks
        known = np.empty(len(texts), dtype=bool)
        for start in range(0, len(texts), _STEP):
            some = slice(start, start + _STEP)
            slots = _slots(keys[some])
            here = np.equal(self._keys[slots], keys[some], out=known[some])
            here &= self._checks[slots] == checks[some]
            np.add.at(self._counts, slots if here.all() else slots[here], 1)
        if known.all():
            return texts[:0], np.zeros(0, dtype=np.int64)
        self._rows += len(texts)
        self.useful = self._rows < _PATIENCE or bool(np.count_nonzero(known) > 0.35 * len(texts))
        values, counts = count_values(texts.filter(to_arrow(~known)))
        if self._growing > 0:
            self._take_in(values)
        return values, counts

    def _take_in(self, texts: pa.Array) -> None:
        """Put short texts into the table where there is room; hardly any room means not to try much longer."""
        short = np.diff(letters(texts)[1]) <= _LONGEST_FREQUENT
        texts = texts if short.all() else texts.filter(to_arrow(short))
        keys, checks = fingerprints(texts)
        slots, first = np.unique(_slots(keys), return_index=True)
        free = _slots(self._keys[slots]) != slots
        self._growing = 20 if free.sum() > 0.05 * len(texts) else self._growing - 1
        slots, first = slots[free], first[free]
        self._keys[slots], self._checks[slots] = keys[first], checks[first]
        self._places[slots] = self._held + np.arange(first.size)
        self._texts.append(texts.take(to_arrow(first)))
        self._held += first.size

    def rest(self) -> tuple[pa.Array, IntArray]:
        """Give the texts that came again, and how often each was not passed on."""
        if not self._held:
            return to_texts(()), np.zeros(0, dtype=np.int64)
        slots = np.flatnonzero(self._counts)
        return pa.concat_arrays(self._texts).take(to_arrow(self._places[slots])), self._counts[slots]


def fingerprints(texts: pa.Array) -> Marks:
    """Fingerprint texts.

    Parameters
    ----------
    texts : (m,) string array
        No nulls.

    Returns
    -------
    keys : (m,) uint64 array
        Eight bytes at a time are multiplied by a secret number and mixed in; each step is one to one in them.
    checks : (m,) uint32 array
        From the states on the way, so it differs where two keys agree by chance.
    """
    data, offsets = letters(texts)
    padded = np.concatenate((data, np.zeros(16, dtype=np.uint8)))
    words = np.ndarray((data.size + 9,), "<u8", padded, strides=(1,))  # eight bytes from any place on
    keys, checks = np.empty(len(texts), dtype=np.uint64), np.empty(len(texts), dtype=np.uint32)
    for first in range(0, len(texts), _STEP):  # so few that all steps stay in the processor's cache
        some = slice(first, first + _STEP)
        starts = offsets[:-1][some]
        lengths = offsets[1:][some] - starts
        state = lengths.astype(np.uint64)
        check = state * _D
        np.multiply(state, _G, out=keys[some])
        keys[some] ^= _START
        long = np.flatnonzero(lengths > _LONG) if lengths.max() > _LONG else _NONE
        _mix(words, starts, np.where(lengths > _LONG, 0, lengths) if long.size else lengths, keys[some], check)
        keys[some] *= _C
        keys[some] ^= keys[some] >> np.uint64(29)
        checks[some] = check >> np.uint64(32)
        for row in first + long:
            piece = data[offsets[row] : offsets[row + 1]].tobytes()
            keys[row], number = np.frombuffer(hashlib.blake2b(piece, digest_size=16, key=_SECRET).digest(), "<u8")
            checks[row] = number >> np.uint64(32)
    return keys, checks


def _mix(words: _Keys, starts: IntArray, left: IntArray, keys: _Keys, checks: _Keys) -> None:
    """Mix the texts that begin at some places into their states, which are changed: 16 bytes at a time."""
    spare = np.empty_like(keys)
    longest, shortest = int(left.max()), int(left.min())
    for done in range(0, max(longest, 1), 16):
        if shortest <= done > 0:  # some texts have ended
            going = np.flatnonzero(left > done)
            some_keys, some_checks = keys[going], checks[going]
            _mix(words, starts[going] + done, left[going] - done, some_keys, some_checks)
            keys[going], checks[going] = some_keys, some_checks
            return
        word = words[starts + done if done else starts]
        if shortest < done + 8:
            word &= _MASKS.take(left - done, mode="clip")
        word *= _F
        keys ^= word
        keys *= _C  # in short texts too: a fingerprint must not depend on what stands beside a text
        keys ^= np.right_shift(keys, np.uint64(32), out=spare)
        if longest > done + 8:
            word = words[starts + (done + 8)]
            if shortest < done + 16:
                word &= _MASKS.take(left - (done + 8), mode="clip")
            word *= _E
            keys ^= word
            checks += word
        keys *= _B
        keys ^= np.right_shift(keys, np.uint64(32), out=spare)
        checks += keys
        checks *= _D


def _batch(wide: bool, size: int | None = None) -> tuple[_Keys, _Checks, NDArray[Any]]:
    """Room for keys, checks and counts; memory that is not yet written to costs nothing."""
    size = _BATCH if size is None else size
    return (
        np.empty(size, dtype=np.uint64),
        np.empty(size, dtype=np.uint32),
        np.empty(size, dtype=np.int64 if wide else np.int32),
    )


def _slots(keys: _Keys) -> IntArray:
    return (keys >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)


def _by_part(keys: _Keys) -> tuple[IntArray, IntArray]:
    """Order by the leading bits of the scattered keys (older entries first), and where each part begins."""
    part = np.empty(keys.size, dtype=np.uint8)
    for start in range(0, keys.size, _STEP):
        some = slice(start, start + _STEP)
        part[some] = (keys[some] * _A) >> np.uint64(64 - _PART_BITS)
    return np.argsort(part, kind="stable"), np.concatenate(([0], np.cumsum(np.bincount(part, minlength=_PARTS))))


def _split(keys: _Keys) -> Iterator[NDArray[Any]]:
    """Choose the entries of one part after the other (all at once if they are few), older ones first."""
    if keys.size <= _SMALL:
        yield np.arange(keys.size)
        return
    order, bounds = _by_part(keys)
    for start, end in itertools.pairwise(bounds):
        if end > start:
            yield order[start:end]


def _runs(keys: _Keys, checks: _Checks | None, known: int = 0) -> tuple[IntArray, IntArray]:
    """Where each value starts in an order that brings equal values together, older entries first; and that order.

    The first ``known`` bits of all scattered keys agree.
    """
    bits = np.uint64(keys.size.bit_length())
    scattered = keys * _A  # one to one, and it brings differences to the leading bits
    words = scattered << np.uint64(known)
    words >>= bits
    words <<= bits
    words |= np.arange(keys.size, dtype=np.uint64)
    words.sort()
    order = (words & ((np.uint64(1) << bits) - np.uint64(1))).view(np.int64)
    words >>= bits
    new = np.ones(keys.size, dtype=bool)
    np.not_equal(words[1:], words[:-1], out=new[1:])
    if _differ(_tails(scattered, checks, int(bits) - known), order, new):
        order = np.lexsort((keys,) if checks is None else (checks, keys))
        new[1:] = keys[order[1:]] != keys[order[:-1]]
        if checks is not None:
            new[1:] |= checks[order[1:]] != checks[order[:-1]]
    return np.flatnonzero(new), order


def _tails(scattered: _Keys, checks: _Checks | None, bits: int) -> _Keys:
    """Give what the order does not look at: so many last bits of the scattered keys, and the checks."""
    if bits <= 0:
        return np.zeros(scattered.size, dtype=np.uint64) if checks is None else checks.astype(np.uint64)
    tails = scattered & np.uint64((1 << bits) - 1)  # at most 32 bits: no piece holds more entries
    if checks is not None:
        tails <<= np.uint64(32)
        tails |= checks
    return tails


def _differ(values: _Keys, order: IntArray, new: BoolArray) -> bool:
    """Whether two neighbours in an order, of which the second is not said to be new, are not the same."""
    twins = np.flatnonzero(~new)
    if 4 * twins.size < new.size:
        return bool((values[order[twins]] != values[order[twins - 1]]).any())
    ordered = values[order]
    return bool(((ordered[1:] != ordered[:-1]) > new[1:]).any())


def _joined(first: NDArray[Any], others: NDArray[Any], few: IntArray) -> NDArray[Any]:
    """Put counts into as narrow a type as holds them: the first as they are, the others from large to small.

    Parameters
    ----------
    first, others : (a,), (b,) int arrays
        Counts.
    few : (c,) int array
        How many more of the others are 0 (these do not count), 1, 2, ...; no others are smaller than c.
    """
    total = int(few[1:].sum())
    kind = max(_narrowest(first), _narrowest(others), np.min_scalar_type(few.size - 1 if total else 0))
    out = np.empty(first.size + others.size + total, dtype=kind)
    out[: first.size] = first
    middle = first.size + others.size
    out[first.size : middle] = others
    out[first.size : middle].sort()
    out[first.size : middle] = out[first.size : middle][::-1].copy()
    for count in range(few.size - 1, 0, -1):
        out[middle : middle + few[count]] = count
        middle += int(few[count])
    return out


def _narrowest(counts: NDArray[Any]) -> np.dtype[Any]:
    """Give the narrowest type that holds whole numbers from 0."""
    return np.min_scalar_type(int(counts.max(initial=0)))


def _no_room() -> DataError:
    return DataError(
        "The column holds so many different values that a temporary file is needed, and there is no room for one; "
        "make room on the disk, or choose another column.",
        field="column",
    )


__all__ = ["LABELS", "LABEL_BYTES", "Frequent", "Marks", "Tally", "fingerprints"]
