"""Tables as named columns, read in parts that fit a processor's cache.

A table is a mapping from names to arrays with one row per person: a plain column has shape ``(rows,)``, a matrix
``(rows, width)``. Everything that runs over people takes either such a mapping, or any collection of such mappings
that can be walked more than once (the row groups of a file, the partitions of a cluster); partial sums then add up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from privexplorer.arrays import FloatArray
from privexplorer.errors import DataError
from privexplorer.predictability._checks import check_finite

Table: TypeAlias = Mapping[str, NDArray[Any]]
"""Named columns of equal length."""

Parts: TypeAlias = Table | Iterable[Table]
"""One table, or tables that follow each other and can be walked again."""

PART_ROWS = 2_048
"""Rows per step: 20 columns of this length fill a third of a megabyte, so they stay in the cache (measured)."""


def row_count(table: Table) -> int:
    """Return the number of rows; every column must have the same (DataError)."""
    sizes = {name: int(np.shape(column)[0]) if np.ndim(column) else -1 for name, column in table.items()}
    if not sizes:
        raise DataError("The table has no columns.")
    names = list(sizes)
    for name in names[1:]:
        if sizes[name] != sizes[names[0]]:
            raise DataError(
                f"All columns need one row per person: '{names[0]}' has {sizes[names[0]]:,} rows and '{name}' has "
                f"{sizes[name]:,}."
            )
    return sizes[names[0]]


def parts_of(data: Parts) -> Iterable[Table]:
    """Return tables that can be walked more than once (DataError for a one-way iterator)."""
    if isinstance(data, Mapping):
        row_count(data)
        return (data,)
    if iter(data) is data:  # a generator would be empty at the second walk
        raise DataError("The parts of a table must be readable more than once; give a list of parts.")
    return data


def column(table: Table, name: str) -> NDArray[Any]:
    """Return one column of a table (DataError if there is none of this name)."""
    if name not in table:
        known = ", ".join(f"'{other}'" for other in list(table)[:8])
        raise DataError(f"There is no column '{name}'; the table has {known}.")
    return np.asarray(table[name])


def vector(table: Table, name: str) -> FloatArray:
    """Return a plain column as double-precision numbers, not yet checked for missing values."""
    values = column(table, name)
    if values.ndim != 1 or values.dtype.kind not in "buif":
        raise DataError(f"Column '{name}' must hold one number per person.")
    return np.asarray(values, dtype=np.float64)


def matrix(table: Table, names: Sequence[str], intercept: bool = False) -> FloatArray:
    """Return columns side by side, shape ``(rows, width)``; a single matrix is passed on without copying."""
    columns = [column(table, name) for name in names]
    for name, values in zip(names, columns, strict=True):
        if values.dtype.kind not in "buif" or values.ndim not in (1, 2):
            raise DataError(f"Column '{name}' must hold numbers.")
    if len(columns) == 1 and columns[0].ndim == 2 and not intercept:
        return np.asarray(columns[0], dtype=np.float64)
    wide = [values[:, None] if values.ndim == 1 else values for values in columns]
    rows = wide[0].shape[0] if wide else row_count(table)
    out = np.empty((rows, sum(values.shape[1] for values in wide) + intercept))
    start = 0
    if intercept:
        out[:, 0] = 1.0
        start = 1
    for values in wide:
        out[:, start : start + values.shape[1]] = values
        start += values.shape[1]
    return out


def column_labels(table: Table, names: Sequence[str], intercept: bool = False) -> tuple[str, ...]:
    """Return one label per column of :func:`matrix`."""
    labels = ["intercept"] if intercept else []
    for name in names:
        values = column(table, name)
        labels += [name] if values.ndim == 1 else [f"{name}[{place + 1}]" for place in range(values.shape[1])]
    return tuple(labels)


def locate_missing(data: Parts, names: Sequence[str]) -> None:
    """Name the first value of these columns that is not a finite number, if there is one (DataError)."""
    first_row = 0
    for table in parts_of(data):
        found: list[tuple[int, str, int]] = []
        for name in names:
            values = column(table, name)
            if values.dtype.kind != "f":
                continue
            bad = ~np.isfinite(values)
            if bad.any():
                where = np.argwhere(bad)[0]
                found.append((int(where[0]), name, int(where[1]) if values.ndim == 2 else 0))
        if found:
            name = min(found)[1]
            check_finite(column(table, name), f"'{name}'", first_row=first_row)
        first_row += row_count(table)


__all__ = [
    "PART_ROWS",
    "Parts",
    "Table",
    "column",
    "column_labels",
    "locate_missing",
    "matrix",
    "parts_of",
    "row_count",
    "vector",
]
