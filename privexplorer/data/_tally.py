"""Distinct values of a column and how often each occurs, gathered piece by piece in little memory.

A number is its own key. A text is known by a fingerprint of 96 bits: among ten million different
texts two share one with probability below 1e-15. So the many texts of a crowded column need not be
kept; the first half million are, as labels.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from privexplorer.arrays import IntArray

LABELS = 500_000
"""Beyond this many distinct texts the later ones are counted without being kept."""

_FIRST_SETTLING = 1_000_000
_LONG = 256
_A, _B, _C, _D, _E = (
    np.uint64(value)
    for value in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD)
)
_Keys = NDArray[np.uint64]
_Checks = NDArray[np.uint32]


class Tally:
    """Counts of the distinct values of one column: texts, whole numbers or floats, one type throughout."""

    def __init__(self) -> None:
        self._keys: list[_Keys] = []
        self._checks: list[_Checks] = []
        self._counts: list[Any] = []
        self._labels: list[pa.Array] = []
        self._type: pa.DataType | None = None
        self._entries, self._next = 0, _FIRST_SETTLING
        self._full = False

    def add(self, values: pa.Array, counts: IntArray) -> None:
        """Add values with their counts; a value may come often, also within one piece."""
        if len(values) == 0:
            return
        self._type = values.type
        if pa.types.is_string(values.type):
            keys, checks = fingerprints(values)
            self._checks.append(checks)
            if not self._full:
                self._labels.append(values)
        else:
            keys = np.asarray(values).view(np.uint64)
        self._keys.append(keys)
        self._counts.append(counts.astype(_narrow(counts)))
        self._entries += len(values)
        if self._entries > self._next:
            self._settle()
            self._next = max(_FIRST_SETTLING, 3 * self._entries)

    def result(self) -> tuple[pa.Array, IntArray]:
        """Distinct values in the order in which they first occurred (perhaps not all of the texts), and counts."""
        if self._type is None:
            return pa.array([], pa.string()), np.zeros(0, dtype=np.int64)
        self._settle()
        counts = self._counts[0].astype(np.int64)
        if pa.types.is_string(self._type):
            return self._labels[0], counts
        plain = np.int64 if pa.types.is_integer(self._type) else np.float64
        return pa.array(self._keys[0].view(plain)), counts

    def _settle(self) -> None:
        """Give each distinct value one entry; they stay in the order in which they first occurred."""
        keys, counts = _join(self._keys), _join(self._counts)
        checks = _join(self._checks) if self._checks else None
        total = int(counts.sum(dtype=np.int64))
        summed = np.zeros(keys.size, dtype=np.int32 if total < 2**31 else np.int64)
        part = ((keys * _A) >> np.uint64(60)).astype(np.uint8)
        for number in range(16):  # one sixteenth at a time: small and fast to sort
            at = np.flatnonzero(part == number)
            if at.size:
                starts, order = _runs(keys[at], None if checks is None else checks[at])
                summed[at[order[starts]]] = np.add.reduceat(counts[at[order]], starts, dtype=np.int64)
        del part
        first = summed > 0
        if self._labels:
            labels = pa.chunked_array(self._labels)
            self._labels = [pa.concat_arrays(labels.filter(pa.array(first[: len(labels)])).chunks)]
            if len(self._labels[0]) > LABELS:
                self._full = True
            if self._full:
                self._labels = [pa.concat_arrays([self._labels[0].slice(0, LABELS)])]
        if not first.all():
            keys, summed = keys[first], summed[first]
            checks = None if checks is None else checks[first]
        self._keys, self._counts, self._checks = [keys], [summed], [] if checks is None else [checks]
        self._entries = keys.size


def fingerprints(texts: pa.Array) -> tuple[_Keys, _Checks]:
    """Fingerprint texts.

    Parameters
    ----------
    texts : (m,) string array
        No nulls.

    Returns
    -------
    keys : (m,) uint64 array
        Eight bytes at a time are mixed in; each step is one to one, so short texts do not collide by pattern.
    checks : (m,) uint32 array
        From the states on the way, so it differs where two keys agree by chance.
    """
    _, places, content = texts.buffers()
    offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    size = int(offsets[-1] - offsets[0])
    letters = np.zeros(size + 8, dtype=np.uint8)
    if size:
        letters[:size] = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    words = np.ndarray((size + 1,), "<u8", letters, strides=(1,))  # eight bytes from any place on
    keys, checks = lengths.astype(np.uint64) * _A, lengths.astype(np.uint64) * _D
    long = lengths > _LONG
    rows: Any = slice(None) if not long.any() else np.flatnonzero(~long)
    start, left = starts[rows], lengths[rows]
    while True:
        going = left > 0
        if not going.all():
            rows = np.flatnonzero(going) if isinstance(rows, slice) else rows[going]
            start, left = start[going], left[going]
        if left.size == 0:
            break
        word = words[start]
        if (left < 8).any():
            bits = np.minimum(left, 7).astype(np.uint64) * np.uint64(8)
            word = np.where(left < 8, word & ((np.uint64(1) << bits) - np.uint64(1)), word)
        state = (keys[rows] ^ word) * _B
        state ^= state >> np.uint64(29)
        state *= _C
        state ^= state >> np.uint64(32)
        keys[rows] = state
        state = state * _E
        state ^= state >> np.uint64(27)
        check = (checks[rows] ^ state) * _D
        checks[rows] = check ^ (check >> np.uint64(30))
        start, left = start + 8, left - 8
    for row in np.flatnonzero(long):
        piece = letters[starts[row] : starts[row] + lengths[row]].tobytes()
        keys[row], checks[row] = np.frombuffer(hashlib.blake2b(piece, digest_size=16).digest(), "<u8")
    return keys, (checks >> np.uint64(32)).astype(np.uint32)


def _runs(keys: _Keys, checks: _Checks | None) -> tuple[IntArray, IntArray]:
    """Order that brings equal values together, oldest first, and where each value starts in it."""
    order = np.argsort(keys, kind="stable")
    same = keys[order[1:]] == keys[order[:-1]]
    if checks is not None and np.any(same & (checks[order[1:]] != checks[order[:-1]])):
        order = np.lexsort((checks, keys))
        same = (keys[order[1:]] == keys[order[:-1]]) & (checks[order[1:]] == checks[order[:-1]])
    return np.flatnonzero(np.concatenate(([True], ~same))), order


def _join(parts: list[Any]) -> Any:
    """Join arrays, letting go of each one's list."""
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    parts.clear()
    return joined


def _narrow(counts: IntArray) -> type[np.int32 | np.int64]:
    return np.int32 if int(counts.max(initial=0)) < 2**31 else np.int64


__all__ = ["LABELS", "Tally", "fingerprints"]
