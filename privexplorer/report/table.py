"""Numbers as plain values and as CSV: every float reads back to the same bits."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import pandas as pd

from privexplorer.studies.result import COLUMNS, Result
from privexplorer.studies.words import SUPERSCRIPT


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


def number_texts(values: Sequence[Any], *, doubt: bool = False, places: bool = False) -> list[str]:
    """Write the numbers of one column for reading: one notation, few digits, as many decimals in each row.

    Powers of ten are written only where plain decimals would hide a third of the numbers: then all rows have them.
    A few that are smaller than the last decimal are said to be: "<0.0001". 0 is an exact 0. Files keep all digits.

    Parameters
    ----------
    values : sequence of numbers
        One column; what is missing is ``None`` or NaN.
    doubt : bool
        The numbers are ±: fewer digits, and what is only rounding, less than 1e-9 of the largest, is 0.
    places : bool
        The numbers are places on an axis: each is told.

    Examples
    --------
    >>> number_texts([0.25, 1.0, 12.3456, 0.0]), number_texts([10_000, 20])
    (['0.25', '1.00', '12.35', '0'], ['10,000', '20'])
    >>> number_texts([0.915, 0.62, 0.0441, 3e-9, 0.0]), number_texts([0.0102, 2.1e-19], doubt=True)
    (['0.9150', '0.6200', '0.0441', '<0.0001', '0'], ['0.010', '0'])
    >>> number_texts([1e-5, 1.0, 10.0], places=True), number_texts([51.9, 3.0e-6, 4.1e-9])
    (['1.00×10⁻⁵', '1.00×10⁰', '1.00×10¹'], ['5.19×10¹', '3.00×10⁻⁶', '4.10×10⁻⁹'])
    """
    given = [math.nan if value is None else float(value) for value in values]
    sizes = sorted(abs(value) for value in given if math.isfinite(value) and value != 0)
    dust = 1e-9 * sizes[-1] if doubt and sizes else 0.0
    sizes = [size for size in sizes if size > dust]
    if not sizes:
        return [_cell_text(value, dust, "f", 0) for value in given]
    told = sizes[0] if places else sizes[len(sizes) // 3]
    top, bottom = (math.floor(math.log10(size) + 1e-12) for size in (sizes[-1], told))
    if all(size == round(size) for size in sizes) and top < 15:
        return [_cell_text(value, dust, "f", 0) for value in given]
    leading, least = (1, 0) if doubt else (3, 1)
    decimals = max(0, leading - top, least - bottom)
    if top < 9 and max(0, top) + 1 + decimals <= 9 and top - bottom <= 5 - places:
        full = max((_decimals(value) for value in given if math.isfinite(value)), default=decimals)
        return [_cell_text(value, dust, "f", min(decimals, full)) for value in given]
    return [_cell_text(value, dust, "e", 1 if doubt else 2) for value in given]


def table_texts(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Write the numbers of all numeric columns of a table for reading.

    The first column holds places on an axis; columns of ± say so in their name.
    """
    return {
        str(name): number_texts(frame[name].tolist(), doubt="±" in str(name), places=place == 0)
        for place, name in enumerate(name for name in frame.columns if name != "panel")
        if pd.api.types.is_numeric_dtype(frame[name]) and not pd.api.types.is_bool_dtype(frame[name])
    }


def _decimals(value: float) -> int:
    """Return the decimals that a number has, written in full."""
    text = repr(value)
    return 99 if "e" in text else len(text.partition(".")[2].rstrip("0"))


def _cell_text(value: float, dust: float, form: str, decimals: int) -> str:
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) <= dust:
        return "0"
    if form == "e":
        mantissa, power = f"{value:.{decimals}e}".split("e")
        return f"{mantissa}×10{str(int(power)).translate(SUPERSCRIPT)}".replace("-", "−")
    text = f"{value:,.{decimals}f}"
    if not float(text.replace(",", "")):
        text = f"{'<' if value > 0 else '>-'}{10.0**-decimals:.{decimals}f}"
    return text.replace("-", "−")


__all__ = ["columns_of", "file_stem", "number_texts", "plain_value", "rows_of", "table_texts", "to_csv"]
