"""Arrow columns turned into trimmed texts, numbers and marks of what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.data._cells import MISSING, parse_date

Bytes = NDArray[np.uint8]

_BEGINS = np.isin(np.arange(256), [ord(token[0]) for word in MISSING if word for token in (word, word.upper())])

NO_DATE = int(np.iinfo(np.int64).min)
"""Stands for "no date" among moments, as it does for numpy."""
_FIRST_YEAR = int(np.datetime64("0001-01-01", "us").astype(np.int64))

_EXACT = 2.0**53
_SAFE = 15
"""Numbers of so many digits are told apart by their floats."""
_DIGITS = 17
"""No float needs more digits."""
_LONG = 19
_SHORT_POWER = r"^[+-]?\d?[.,]?\d{0,16}[eE]"  # 1.5e300: never too many digits
_INT_MAX = str(np.iinfo(np.int64).max)

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


def to_arrow(values: NDArray[Any]) -> pa.Array:
    """Hand whole numbers, floats or truth values to Arrow (whose own way loads pandas first, 30 MB of it)."""
    if values.dtype == bool:
        return pa.Array.from_buffers(
            pa.bool_(), values.size, [None, pa.py_buffer(np.packbits(values, bitorder="little"))]
        )
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(np.ascontiguousarray(values))])


def to_numpy(values: pa.Array) -> NDArray[Any]:
    """Take whole numbers, floats (NaN where null) or truth values (no nulls) from Arrow, again without pandas."""
    _, content = values.buffers()
    if not len(values):
        return np.zeros(0, dtype=values.type.to_pandas_dtype())
    if pa.types.is_boolean(values.type):
        bits = np.unpackbits(np.frombuffer(content, np.uint8), bitorder="little")
        return bits[values.offset : values.offset + len(values)].view(bool)
    found = np.frombuffer(content, values.type.to_pandas_dtype())[values.offset : values.offset + len(values)]
    if values.null_count:
        return np.where(to_numpy(values.is_null()), np.nan, found)
    return found


def filled(values: pa.Array, value: int) -> pa.Array:
    """Put a whole number in place of nulls."""
    return pc.fill_null(values, to_arrow(np.array([value]))[0]) if values.null_count else values


def blanked(texts: pa.Array, gone: BoolArray) -> pa.Array:
    """Put nulls in place of the marked texts."""
    return pc.if_else(to_arrow(gone), pa.nulls(1, texts.type)[0], texts) if gone.any() else texts


def to_texts(values: Sequence[str]) -> pa.Array:
    """Hand texts to Arrow."""
    parts = [value.encode() for value in values]
    places = np.cumsum([0, *map(len, parts)]).astype(np.int32)
    return pa.StringArray.from_buffers(len(parts), pa.py_buffer(places), pa.py_buffer(b"".join(parts)))


def trimmed(texts: pa.Array) -> tuple[pa.Array, BoolArray]:
    """Take spaces off both ends; also says which texts had any."""
    data, offsets = letters(texts)
    if not data.size or (data.min() > 32 and data.max() < 127):  # no space anywhere
        return texts, np.zeros(len(texts), dtype=bool)
    starts, ends = offsets[:-1], offsets[1:]
    some = starts < ends
    if not some.all():
        starts, ends = starts[some], ends[some]
    # what may be a space, or a part of one, lies outside the 94 visible characters of ASCII
    if not any((data[at] - np.uint8(33) >= 94).any() for at in (starts, ends - 1)):
        return texts, np.zeros(len(texts), dtype=bool)
    short = pc.utf8_trim_whitespace(texts)
    return short, np.diff(offsets) != np.diff(letters(short)[1])


def missing_mask(texts: pa.Array, words: bool = True) -> BoolArray:
    """Which texts stand for "no value"; nulls do.

    Parameters
    ----------
    texts : (m,) string array
        Trimmed texts.
    words : bool
        Whether words such as "NA" do, or empty texts only.
    """
    gone = to_numpy(texts.is_null()) if texts.null_count else np.zeros(len(texts), dtype=bool)
    lengths = np.diff(letters(texts)[1])
    gone |= lengths == 0
    if words:
        short = np.flatnonzero((lengths > 0) & (lengths <= max(map(len, MISSING))))
        if short.size:  # few texts begin like one of the words
            data, offsets = letters(texts)
            likely = short[_BEGINS[data[offsets[short]]]]
            if likely.size:
                gone[likely] = to_numpy(
                    pc.is_in(pc.ascii_lower(texts.take(to_arrow(likely))), value_set=to_texts(MISSING))
                )
    return gone


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
        return to_numpy(texts.cast(pa.float64()))
    except pa.ArrowInvalid:
        fits = pc.match_substring_regex(texts, _NUMBER)
        return to_numpy(pc.if_else(fits, texts, pa.nulls(1, texts.type)[0]).cast(pa.float64()))


def _with_points(texts: pa.Array) -> pa.Array:
    """Turn decimal commas into points; a text that has a point is no number and becomes "x"."""
    data, offsets = letters(texts)
    dotted = data == ord(".")
    if texts.null_count or dotted.any():
        marked = pc.match_substring(texts, ".")
        return pc.if_else(marked, to_texts(["x"])[0], pc.replace_substring(texts, ",", "."))
    swapped = np.where(data == ord(","), np.uint8(ord(".")), data)
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(swapped))


def floats(values: pa.Array, decimal: str) -> FloatArray:
    """Numbers of a column of texts or numbers; NaN where there is none."""
    if pa.types.is_string(values.type):
        return to_floats(values, decimal)
    return to_numpy(values.cast(pa.float64(), safe=False))


def inexact(values: pa.Array, numbers: FloatArray) -> BoolArray | None:
    """Which values are written with more digits than their floats hold, so that two of them may become one.

    Whole numbers beyond 2**53 that no float equals (with 15 digits before zeros at most they cannot be confused) and
    numbers of more than 17 digits; 1e300 is as its writer meant it, and a float that was stored as one is itself.

    Parameters
    ----------
    values : (m,) array
        Trimmed texts, whole numbers or floats.
    numbers : (m,) array
        What :func:`floats` gives for them.

    Returns
    -------
    (m,) bool array, or None
        None where there is no such value.
    """
    if pa.types.is_floating(values.type) or not numbers.size:
        return None
    large = max(np.fmax.reduce(numbers), -np.fmin.reduce(numbers)) >= _EXACT
    if not pa.types.is_string(values.type):
        if not large:
            return None
        exact = to_numpy(filled(values, 0))
        top = numbers >= 2.0**63
        found: BoolArray = np.where(top | np.isnan(numbers), 0, numbers).astype(np.int64) != exact
        found &= ~np.isnan(numbers)
        return found
    lengths = np.diff(letters(values)[1])
    longest = int(lengths.max())
    if not large and longest < _LONG:
        return None
    likely = np.abs(numbers) >= _EXACT if large else np.zeros(len(values), dtype=bool)
    if longest >= _LONG:  # digits at most: without the sign, the mark and the zeros before the first digit
        digits = lengths - 1 - (numbers < 0)
        for size in (1.0, 0.1, 0.01, 0.001):
            digits -= np.abs(numbers) < size
        likely |= digits > _DIGITS
    at = np.flatnonzero(likely & np.isfinite(numbers))
    if at.size:
        at = at[~to_numpy(pc.match_substring_regex(values.take(to_arrow(at)), _SHORT_POWER))]
    texts = values.take(to_arrow(at)).to_pylist()
    lost = [_loses_digits(text, number) for text, number in zip(texts, numbers[at].tolist(), strict=True)]
    if not any(lost):
        return None
    found = np.zeros(len(values), dtype=bool)
    found[at] = lost
    return found


def _loses_digits(text: str, number: float) -> bool:
    mantissa, _, exponent = text.lower().replace(",", ".").partition("e")
    digits = len(mantissa.strip("+-").replace(".", "").strip("0"))
    long = digits > _SAFE if abs(number) >= _EXACT and not exponent else digits > _DIGITS
    return long and Decimal(text.replace(",", ".")) != number


def moments(texts: pa.Array, day_first: bool) -> IntArray:
    """Read dates as microseconds since 1970; :data:`NO_DATE` for a null and for what is no date.

    Parameters
    ----------
    texts : (m,) string array
        Trimmed texts.
    day_first : bool
        What 03/04/2020 means; see :func:`~privexplorer.data._cells.parse_date`, which tells the same slowly.
    """
    if not len(texts):
        return np.zeros(0, dtype=np.int64)
    found = _iso_moments(texts)
    if found is None:
        found = _iso_moments(_years_first(texts, day_first))
    if found is None:
        dates = [None if text is None else parse_date(text, day_first) for text in texts.to_pylist()]
        found = np.array(dates, dtype="datetime64[us]").view(np.int64)
    return found


def _years_first(texts: pa.Array, day_first: bool) -> pa.Array:
    """Turn 31/01/2020, 31-01-2020 and 31.01.2020 at the start of a text into 2020-01-31."""
    data, offsets = letters(texts)
    lengths = np.diff(offsets)
    starts = offsets[:-1][lengths >= 10]
    marks = data[starts + 2]
    turned = np.isin(marks, np.frombuffer(b"/-.", np.uint8)) & (data[starts + 5] == marks)
    out = data.copy()
    for order, chosen in (((6, 7, 8, 9, 2, 3, 4, 2, 0, 1), True), ((6, 7, 8, 9, 2, 0, 1, 2, 3, 4), False)):
        some = starts[turned & (((marks == ord(".")) | day_first) == chosen)]
        for place, source in enumerate(order):
            out[some + place] = ord("-") if source == 2 else data[some + source]
    array = pa.StringArray.from_buffers(len(texts), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(out))
    return blanked(array, lengths == 0)


def _iso_moments(texts: pa.Array) -> IntArray | None:
    """Do the same for texts that all begin with year, month and day; None if one does not, or is no date."""
    data, offsets = letters(texts)
    starts, lengths = offsets[:-1], np.diff(offsets)
    some, timed, long = lengths > 0, lengths > 10, lengths > 16
    if (lengths[some] < 10).any() or (data[starts[some] + 4] != ord("-")).any():
        return None  # a cast that fails at every text is slow
    if (lengths[timed] < 16).any() or (data[starts[timed] + 13] != ord(":")).any():
        return None
    ends = offsets[1:][long]
    zoned = (data[ends - 1] | 32 == ord("z")).any() or any(
        np.isin(data[ends - back], np.frombuffer(b"+-", np.uint8)).any() for back in (3, 5, 6)
    )
    try:
        cast = texts.cast(pa.timestamp("us", "UTC" if zoned else None)).cast(pa.int64())
    except pa.ArrowInvalid:
        return None
    found: IntArray = to_numpy(filled(cast, NO_DATE))
    return None if (found[found != NO_DATE] < _FIRST_YEAR).any() else found


def moment_labels(found: IntArray) -> pa.Array:
    """Write microseconds since 1970 as dates; midnight and empty fractions are left out."""
    parts = [to_texts(())]
    for start in range(0, found.size, 16_384):  # texts of many at once take much room
        texts = np.datetime_as_string(found[start : start + 16_384].view("datetime64[us]")).tolist()
        parts.append(
            to_texts([text.removesuffix(".000000").removesuffix("T00:00:00").replace("T", " ") for text in texts])
        )
    return pa.concat_arrays(parts)


def keep(values: pa.Array, kept: BoolArray) -> pa.Array:
    """Choose the marked values (no copy if all are)."""
    return values if kept.all() else values.filter(to_arrow(kept))


def count_values(values: pa.Array) -> tuple[pa.Array, IntArray]:
    """Count the distinct values of one piece, in the order in which they first occur."""
    table = pc.value_counts(values)
    return table.field("values"), to_numpy(table.field("counts"))


def weigh_tokens(cells: pa.Array, weights: IntArray) -> dict[str, int]:
    """Add up records per text; what is no text (a null, a number that is none) counts as empty."""
    if not pa.types.is_string(cells.type):
        return {"": int(weights.sum())}
    coded = pc.fill_null(cells, to_texts([""])[0]).dictionary_encode()
    sums = np.bincount(to_numpy(coded.indices), weights=weights)
    return dict(zip(coded.dictionary.to_pylist(), sums.astype(np.int64).tolist(), strict=True))


def by_count(values: pa.Array, counts: IntArray) -> pa.Array:
    """Order with the largest count first, ties by value (texts by code point)."""
    table = pa.Table.from_arrays([values, to_arrow(counts)], names=["value", "count"])
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
    """Whole numbers below 2**63 among texts; -1 where there is none."""
    if not pa.types.is_string(cells.type):
        return np.full(len(cells), -1, dtype=np.int64)
    plain = pc.match_substring_regex(cells, r"^\d{1,18}$")
    if (np.diff(letters(cells)[1]) == len(_INT_MAX)).any():
        longer = pc.match_substring_regex(cells, r"^\d{19}$")
        plain = pc.or_(plain, pc.and_(longer, pc.less_equal(cells, to_texts([_INT_MAX])[0])))
    return to_numpy(filled(pc.if_else(plain, cells, to_texts(["-1"])[0]).cast(pa.int64()), -1))


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
    "NO_DATE",
    "as_doubles",
    "as_text",
    "blanked",
    "by_count",
    "count_values",
    "filled",
    "floats",
    "inexact",
    "is_numeric",
    "keep",
    "letters",
    "long_integers",
    "missing_mask",
    "moment_labels",
    "moments",
    "number_label",
    "to_arrow",
    "to_integers",
    "to_numpy",
    "to_texts",
    "trimmed",
    "weigh_tokens",
]
