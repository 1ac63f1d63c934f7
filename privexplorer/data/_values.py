"""Arrow columns turned into trimmed texts, numbers and marks of what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.data._cells import MISSING

Bytes = NDArray[np.uint8]

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(?i:inf|infinity)$"


def letters(texts: pa.Array) -> tuple[Bytes, IntArray]:
    """Give the bytes of all texts in a row, and where each text starts in them (with the end of the last); no copy."""
    _, places, content = texts.buffers()
    if places is None:
        return np.zeros(0, dtype=np.uint8), np.zeros(len(texts) + 1, dtype=np.int64)
    offsets = np.frombuffer(places, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    start, end = int(offsets[0]), int(offsets[-1])
    data = np.frombuffer(content, np.uint8)[start:end] if end > start else np.zeros(0, dtype=np.uint8)
    return data, offsets - start


def trimmed(texts: pa.Array) -> tuple[pa.Array, BoolArray]:
    """Take spaces off both ends; also says which texts had any."""
    data, offsets = letters(texts)
    starts, ends = offsets[:-1], offsets[1:]
    filled = starts < ends
    edges = np.concatenate((data[starts[filled]], data[ends[filled] - 1]))
    if not ((edges <= 32) | (edges >= 127)).any():  # no text begins or ends with what may be a space
        return texts, np.zeros(len(texts), dtype=bool)
    short = pc.utf8_trim_whitespace(texts)
    changed = pc.not_equal(pc.binary_length(texts), pc.binary_length(short)).fill_null(False)
    return short, np.asarray(changed)


def missing_mask(texts: pa.Array, words: bool = True) -> BoolArray:
    """Which texts stand for "no value"; nulls do.

    Parameters
    ----------
    texts : (m,) string array
        Trimmed texts.
    words : bool
        Whether words such as "NA" do, or empty texts only.
    """
    tokens = MISSING if words else ("",)
    if not texts.null_count and len(texts) and int(np.diff(letters(texts)[1]).min()) > max(map(len, tokens)):
        return np.zeros(len(texts), dtype=bool)
    return np.asarray(pc.is_in(texts, value_set=pa.array([*tokens, None], texts.type)))


def to_floats(texts: pa.Array, decimal: str) -> FloatArray:
    """Read texts as numbers; NaN for a null and for a text that is not a number.

    Parameters
    ----------
    texts : (m,) string array
        Trimmed texts.
    decimal : {"point", "comma"}
        Decimal mark.
    """
    if decimal == "comma":
        texts = _with_points(texts)
    try:
        return np.asarray(texts.cast(pa.float64()))
    except pa.ArrowInvalid:
        fits = pc.match_substring_regex(texts, _NUMBER)
        return np.asarray(pc.if_else(fits, texts, pa.scalar(None, texts.type)).cast(pa.float64()))


def _with_points(texts: pa.Array) -> pa.Array:
    """Turn decimal commas into points; a text that has a point is no number and becomes "x"."""
    data, offsets = letters(texts)
    dotted = data == ord(".")
    if texts.null_count or dotted.any():
        marked = pc.match_substring(texts, ".")
        return pc.if_else(marked, pa.scalar("x"), pc.replace_substring(texts, ",", "."))
    swapped = np.where(data == ord(","), np.uint8(ord(".")), data)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(swapped))


def floats(values: pa.Array, decimal: str) -> FloatArray:
    """Numbers of a column of texts or numbers; NaN where there is none."""
    if pa.types.is_string(values.type):
        return to_floats(values, decimal)
    return np.asarray(values.cast(pa.float64(), safe=False))


def keep(values: pa.Array, kept: BoolArray) -> pa.Array:
    """Choose the marked values (no copy if all are)."""
    return values if kept.all() else values.filter(pa.array(kept))


def count_values(values: pa.Array) -> tuple[pa.Array, IntArray]:
    """Count the distinct values of one piece, in the order in which they first occur."""
    table = pc.value_counts(values)
    return table.field("values"), np.asarray(table.field("counts"))


def weigh_tokens(cells: pa.Array, weights: IntArray) -> dict[str, int]:
    """Add up records per text; what is no text (a null, a number that is none) counts as empty."""
    if not pa.types.is_string(cells.type):
        return {"": int(weights.sum())}
    coded = cells.fill_null("").dictionary_encode()
    sums = np.bincount(np.asarray(coded.indices), weights=weights)
    return dict(zip(coded.dictionary.to_pylist(), sums.astype(np.int64).tolist(), strict=True))


def by_count(values: pa.Array, counts: IntArray) -> pa.Array:
    """Order with the largest count first, ties by value (texts by code point)."""
    table = pa.table({"value": values, "count": counts})
    return pc.sort_indices(table, sort_keys=[("count", "descending"), ("value", "ascending")])


def to_integers(values: pa.Array) -> pa.Array | None:
    """Read texts or numbers as int64 without going through floats (nulls stay); None if one is not plainly whole."""
    if pa.types.is_string(values.type) and ((letters(values)[0] | 32) == ord("x")).any():
        return None  # hexadecimal is text here
    if pa.types.is_floating(values.type):
        return None
    try:
        return values.cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def long_integers(cells: pa.Array) -> IntArray:
    """Whole numbers of up to 18 digits among texts; -1 where there is none."""
    if not pa.types.is_string(cells.type):
        return np.full(len(cells), -1, dtype=np.int64)
    plain = pc.match_substring_regex(cells, r"^\d{1,18}$")
    return np.asarray(pc.if_else(plain, cells, pa.scalar("-1")).cast(pa.int64()).fill_null(-1))


def is_numeric(kind: pa.DataType) -> bool:
    """Whether values of this type are numbers already."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def as_text(array: pa.Array) -> pa.Array:
    """Turn typed values into the texts that a text table would hold; nulls stay nulls.

    Whole floats lose their ".0", so that a column of codes reads the same in every format.
    """
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_string(array.type):
        return array
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    texts = array.cast(pa.string())
    if pa.types.is_timestamp(array.type):  # no empty fractions, no midnight
        texts = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1")
        texts = pc.replace_substring_regex(texts, r" 00:00:00$", "")
    return texts


def as_doubles(column: pa.Array) -> pa.Array:
    """Widen floats; a short 0.1 becomes the double 0.1 and not 0.10000000149."""
    return column if pa.types.is_float64(column.type) else column.cast(pa.string()).cast(pa.float64())


def number_label(value: Any) -> str:
    """Write a number as a label: whole numbers without decimals, others as short as they can be.

    Examples
    --------
    >>> number_label(3.0), number_label(0.1), number_label(7)
    ('3', '0.1', '7')
    """
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))


__all__ = [
    "as_doubles",
    "as_text",
    "by_count",
    "count_values",
    "floats",
    "is_numeric",
    "keep",
    "letters",
    "long_integers",
    "missing_mask",
    "number_label",
    "to_integers",
    "trimmed",
    "weigh_tokens",
]
