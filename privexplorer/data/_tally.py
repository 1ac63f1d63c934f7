"""Distinct values and how often each occurs, gathered piece by piece in little memory.

A piece is counted by itself first. While few different values turn up, the pieces' tables are merged
now and then. When many turn up, values are spread over parts by a rough fingerprint (equal values
share a part), and each part is merged alone: the hash table needed at one time is then a small share
of the column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privexplorer.arrays import IntArray

_PARTS = 32
_PENDING_BYTES = 16 * 1024 * 1024
_MERGE_BYTES = 512 * 1024

_Table = tuple[pa.Array, Any]  # distinct values, their counts


class Tally:
    """Counts of distinct values of one column; values are texts, whole numbers or floats."""

    def __init__(self) -> None:
        self._pending: list[_Table] = []
        self._bytes = 0
        self._parts: list[list[_Table]] | None = None
        self._merged = [0] * _PARTS

    def add(self, values: pa.Array, counts: IntArray) -> None:
        """Add a table of values and their counts; a value may occur in many tables and more than once in one."""
        if len(values) == 0:
            return
        self._pending.append((values, counts))
        self._bytes += values.nbytes + counts.nbytes
        if self._bytes > _PENDING_BYTES:
            before = self._bytes
            self._settle()
            if self._bytes > before // 4:
                self._spread()

    def result(self) -> tuple[pa.ChunkedArray, IntArray]:
        """Distinct values and their counts; the tally is empty afterwards."""
        if self._parts is None:
            self._settle()
            tables = self._pending
        else:
            self._spread()
            tables = []
            for part in self._parts:
                if part:
                    tables.append(_merge(part))
                    part.clear()
        self._pending, self._parts = [], None
        if not tables:
            return pa.chunked_array([], pa.string()), np.zeros(0, dtype=np.int64)
        counts = np.concatenate([np.asarray(part, dtype=np.int64) for _, part in tables])
        return pa.chunked_array([values for values, _ in tables]), counts

    def _settle(self) -> None:
        """Merge all pending tables into one."""
        if len(self._pending) > 1 or self._parts is None:
            self._pending = [_merge(self._pending)] if self._pending else []
        self._bytes = sum(values.nbytes + counts.nbytes for values, counts in self._pending)

    def _spread(self) -> None:
        """Move the pending tables into the parts, and merge the parts that have doubled."""
        if self._parts is None:
            self._parts = [[] for _ in range(_PARTS)]
        for values, counts in self._pending:
            part = _fingerprint(values)
            order = np.argsort(part, kind="stable")
            ends = np.searchsorted(part[order], np.arange(_PARTS + 1))
            for number in range(_PARTS):
                chosen = order[ends[number] : ends[number + 1]]
                if chosen.size:
                    self._parts[number].append((values.take(pa.array(chosen)), counts[chosen]))
        self._pending, self._bytes = [], 0
        for number, tables in enumerate(self._parts):
            size = sum(values.nbytes + counts.nbytes for values, counts in tables)
            if size > 2 * self._merged[number] + _MERGE_BYTES:
                tables[:] = [_merge(tables)]
                self._merged[number] = tables[0][0].nbytes + tables[0][1].nbytes


def count_values(values: pa.Array) -> tuple[pa.Array, IntArray]:
    """Count the distinct values of one piece, in the order in which they first occur."""
    table = pc.value_counts(values)
    return table.field("values"), np.asarray(table.field("counts"))


def _merge(tables: list[_Table]) -> _Table:
    chunks = pa.chunked_array([values for values, _ in tables]).dictionary_encode().chunks
    dictionary = chunks[-1].dictionary  # one dictionary for all chunks
    codes = np.concatenate([np.asarray(chunk.indices) for chunk in chunks])
    weights = np.concatenate([counts for _, counts in tables])
    totals = np.bincount(codes, weights=weights, minlength=len(dictionary))
    return dictionary, totals.astype(np.int32 if totals.max() < 2**31 else np.int64)


def _fingerprint(values: pa.Array) -> Any:
    """Give each value a part in 0 .. _PARTS - 1; equal values get the same one. Returns an (m,) uint8 array."""
    if not pa.types.is_string(values.type):
        bits = np.asarray(values).view(np.uint64)
        return ((bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(59)).astype(np.uint8)
    _, offsets_buffer, bytes_buffer = values.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int32)[values.offset : values.offset + len(values) + 1]
    letters = np.frombuffer(bytes_buffer, dtype=np.uint8) if bytes_buffer is not None else np.zeros(1, np.uint8)
    start, length = offsets[:-1], np.diff(offsets)
    mixed = length.astype(np.uint32)
    for place in (length - 1, length - 2, length // 2, length // 3, length * 0):
        at = np.minimum(start + np.maximum(place, 0), letters.size - 1)
        mixed = mixed * np.uint32(0x9E3779B1) + np.where(length > 0, letters[at], 0).astype(np.uint32)
    mixed ^= mixed >> np.uint32(15)
    return ((mixed * np.uint32(0x85EBCA6B)) >> np.uint32(27)).astype(np.uint8)


__all__ = ["Tally", "count_values"]
