"""Numbers as plain values and as CSV: every float reads back to the same bits."""

from __future__ import annotations

import csv
import io
import math
from numbers import Integral, Real
from typing import Any

from privexplorer.studies.result import COLUMNS, Result


def file_stem(result: Result) -> str:
    """Name a file after its question, its seed and, where not all runs are done, how many are."""
    seed = getattr(result.scenario, "seed", None)
    parts = ["privexplorer", result.study, *([] if seed is None else [f"seed-{seed}"])]
    return "-".join([*parts, *([] if result.complete else [f"draft-of-{result.runs}-runs"])])


def columns_of(result: Result) -> list[str]:
    """Columns in the order of files: series, x, y, std_error, then any others."""
    present = [str(name) for name in result.frame.columns]
    return [*(name for name in COLUMNS if name in present), *(name for name in present if name not in COLUMNS)]


def plain_value(value: Any) -> str | int | float | bool | None:
    """Turn one cell into a plain Python value; what is missing is ``None``."""
    if value is None or value is NotImplemented:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        return None if math.isnan(number) else number
    if getattr(value, "dtype", None) is not None and value.dtype.kind == "b":
        return bool(value)
    return None if value != value else str(value)


def rows_of(result: Result) -> list[list[str | int | float | bool | None]]:
    """All rows, as plain values, in the order of :func:`columns_of`."""
    columns = [[plain_value(value) for value in result.frame[name].tolist()] for name in columns_of(result)]
    return [list(row) for row in zip(*columns, strict=True)]


def to_csv(result: Result) -> str:
    """Write the numbers as CSV, without comments: ``series, x, y, std_error`` and any further columns.

    Parameters
    ----------
    result : Result
        What a study's ``run`` gave back.

    Returns
    -------
    str
        A header and one line per point; floats in full, so that they read back to the same bits; a missing
        value is empty.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns_of(result))
    for row in rows_of(result):
        writer.writerow(["" if value is None else repr(value) if isinstance(value, float) else value for value in row])
    return out.getvalue()


__all__ = ["columns_of", "file_stem", "plain_value", "rows_of", "to_csv"]
