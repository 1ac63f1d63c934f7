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

from privexplorer.arrays import BoolArray, IntArray
from privexplorer.data._values import letters

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
    """Counts of the distinct values of one column: texts, whole numbers or floats, one type throughout.

    Parameters
    ----------
    wide : bool
        Whether the counts may add up to more than two thousand million.
    """

    def __init__(self, wide: bool = False) -> None:
        self._entries, self._next = 0, _FIRST_SETTLING
        self._keys: _Keys = np.zeros(0, dtype=np.uint64)
        self._checks: _Checks = np.zeros(0, dtype=np.uint32)
        self._counts: NDArray[Any] = np.zeros(0, dtype=np.int64 if wide else np.int32)
        self._labels: list[pa.Array] = []
        self._type: pa.DataType | None = None
        self._full = False

    def add(self, values: pa.Array, counts: IntArray) -> None:
        """Add values with their counts; a value may come often, also within one piece."""
        if len(values) == 0:
            return
        self._type = values.type
        if self._entries + len(values) > self._keys.size:
            if self._entries:
                self._settle()
            self._next = max(_FIRST_SETTLING, 3 * self._entries)
            self._grow(self._next + len(values))
        here = slice(self._entries, self._entries + len(values))
        if pa.types.is_string(values.type):
            self._keys[here], self._checks[here] = fingerprints(values)
            if not self._full:
                self._labels.append(values)
        else:
            self._keys[here] = np.asarray(values).view(np.uint64)
        self._counts[here] = counts
        self._entries += len(values)

    def result(self) -> tuple[pa.Array, IntArray]:
        """Distinct values in the order in which they first occurred (perhaps not all of the texts), and counts."""
        if self._type is None:
            return pa.array([], pa.string()), np.zeros(0, dtype=np.int64)
        self._settle()
        keys, counts = self._keys, self._counts
        self._keys, self._checks = keys[:0].copy(), self._checks[:0].copy()
        if pa.types.is_string(self._type):
            del keys
            return pa.concat_arrays(self._labels), counts.astype(np.int64)
        return pa.array(keys.view(np.int64 if pa.types.is_integer(self._type) else np.float64)), counts.astype(np.int64)

    def _grow(self, size: int) -> None:
        """Make room; memory that is not yet written to costs nothing."""
        for name in ("_keys", "_checks", "_counts"):
            old = getattr(self, name)
            if name == "_checks" and self._type is not None and not pa.types.is_string(self._type):
                continue
            new = np.empty(size, dtype=old.dtype)
            new[: self._entries] = old[: self._entries]
            setattr(self, name, new)

    def _settle(self) -> None:
        """Give each distinct value one entry; they stay in the order in which they first occurred."""
        size = self._entries
        text = bool(self._checks.size)
        part = np.empty(size, dtype=np.uint8)
        for start in range(0, size, 65_536):
            some = slice(start, min(start + 65_536, size))
            part[some] = (self._keys[some] * _A) >> np.uint64(60)
        for number in range(16):  # one sixteenth at a time: small and fast to sort
            at = np.flatnonzero(part == number)
            if at.size:
                starts, order = _runs(self._keys[at], self._checks[at] if text else None)
                oldest = np.minimum.reduceat(order, starts)
                sums = np.add.reduceat(self._counts[at[order]], starts)
                self._counts[at] = 0
                self._counts[at[oldest]] = sums
        del part
        first = self._counts[:size] > 0
        chosen = slice(size) if first.all() else first  # a slice makes no copy
        self._counts = self._counts[:size][chosen]
        self._keys = self._keys[:size][chosen]
        if text:
            self._checks = self._checks[:size][chosen]
            self._settle_labels(first)
        self._entries = self._keys.size

    def _settle_labels(self, first: BoolArray) -> None:
        """Keep the labels of the entries that stay, and no more than the limit."""
        kept, start = 0, 0
        labels: list[pa.Array] = []
        for piece in self._labels:
            mask = first[start : start + len(piece)]
            start += len(piece)
            label = piece if mask.all() else piece.filter(pa.array(mask))
            labels.append(label.slice(0, LABELS - kept))
            kept += len(label)
            if kept > LABELS:
                self._full = True
                break
        self._labels = labels


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
    data, offsets = letters(texts)
    padded = np.concatenate((data, np.zeros(8, dtype=np.uint8)))
    starts, lengths = offsets[:-1], np.diff(offsets)
    words = np.ndarray((data.size + 1,), "<u8", padded, strides=(1,))  # eight bytes from any place on
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
        piece = data[starts[row] : starts[row] + lengths[row]].tobytes()
        keys[row], checks[row] = np.frombuffer(hashlib.blake2b(piece, digest_size=16).digest(), "<u8")
    return keys, (checks >> np.uint64(32)).astype(np.uint32)


def _runs(keys: _Keys, checks: _Checks | None) -> tuple[IntArray, IntArray]:
    """Where each value starts in an order that brings equal values together, and that order."""
    order = np.argsort(keys)
    same = keys[order[1:]] == keys[order[:-1]]
    if checks is not None and np.any(same & (checks[order[1:]] != checks[order[:-1]])):
        order = np.lexsort((checks, keys))
        same = (keys[order[1:]] == keys[order[:-1]]) & (checks[order[1:]] == checks[order[:-1]])
    return np.flatnonzero(np.concatenate(([True], ~same))), order


__all__ = ["LABELS", "Tally", "fingerprints"]
