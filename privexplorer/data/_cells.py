"""What a cell's text means: missing, a number, a date, one of two answers."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from privexplorer.data.reference import Kind

MISSING: tuple[str, ...] = ("", "na", "n/a", "nan", "-nan", "null", "<na>", "#n/a", "nat", ".")
"""Texts that stand for "no value", in any case (after spaces at the ends are taken off)."""

_MISSING_SET = frozenset(MISSING)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_POINT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COMMA = re.compile(r"[+-]?(\d+,?\d*|,\d+)([eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?( ?(Z|[+-]\d{2}(:?\d{2})?))?)?")
_WRITTEN = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2}))?)?")
_PAIRS = tuple(
    frozenset(pair.split())
    for pair in ("0 1", "yes no", "y n", "true false", "t f", "male female", "m f", "on off", "ja nein", "oui non")
)  # fmt: skip


def is_missing(text: str) -> bool:
    """Whether a cell's text stands for "no value"."""
    return text.strip().lower() in _MISSING_SET


def is_number(text: str, decimal: str) -> bool:
    """Whether the whole text is one number; ``decimal`` is "point" or "comma"; infinite counts as a number."""
    pattern = _COMMA if decimal == "comma" else _POINT
    return len(text) <= 100 and bool(pattern.fullmatch(text) or _INFINITE.fullmatch(text))


def parse_date(text: str, day_first: bool = True) -> dt.datetime | None:
    """Read a date, or a date with a time of day; times with a zone are turned into UTC.

    Parameters
    ----------
    text : str
        ISO 8601, or day, month and year with points, slashes or hyphens between them.
    day_first : bool
        What 03/04/2020 means; with points the day always comes first, a four-digit year may lead.

    Examples
    --------
    >>> parse_date("3.4.2020")
    datetime.datetime(2020, 4, 3, 0, 0)
    >>> parse_date("13/13/2020") is None
    True
    """
    try:
        if _ISO.fullmatch(text):
            moment = dt.datetime.fromisoformat(text.replace(",", ".").replace(" Z", "Z"))
            if moment.tzinfo is not None:
                moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
            return moment
        found = _WRITTEN.fullmatch(text)
        if not found:
            return None
        first, mark, middle, last = found[1], found[2], int(found[3]), found[4]
        if len(first) == 4:
            year, month, day = int(first), middle, int(last)
        elif len(last) == 4 and len(first) <= 2:
            year = int(last)
            day, month = (int(first), middle) if day_first or mark == "." else (middle, int(first))
        else:
            return None
        hour, minute, second = (int(part or 0) for part in found.groups()[4:])
        return dt.datetime(year, month, day, hour, minute, second)
    except (ValueError, OverflowError):
        return None


def guess_kind(cells: Sequence[str], decimal: str) -> Kind:
    """Guess what a column holds from the texts of its first rows.

    Parameters
    ----------
    cells : sequence of str
        Texts, spaces at the ends taken off; missing ones are left out of account.
    decimal : {"point", "comma"}
        Decimal mark.
    """
    present = [cell for cell in cells if cell.lower() not in _MISSING_SET]
    distinct = set(present)
    if not present:
        return "category"
    if len(distinct) == 2 and (len(present) >= 10 or {value.lower() for value in distinct} in _PAIRS):
        return "binary"
    all_different = len(present) >= 20 and len(distinct) == len(present)
    if all(is_number(value, decimal) for value in distinct):
        padded = any(len(value) > 1 and value[0] == "0" and value.isdigit() for value in distinct)
        if padded:  # codes such as 00123 lose their zeros as numbers
            return "identifier" if all_different else "category"
        if not all(_INTEGER.fullmatch(value) for value in distinct):
            return "number"
        numbers = [int(value) for value in distinct]
        if min(numbers) < 0:
            return "number"
        running = max(numbers) - min(numbers) + 1 == len(numbers)
        if all_different and (running or min(numbers) >= 10_000):
            return "identifier"
        return "count"
    for day_first in (True, False):
        if all(parse_date(value, day_first) is not None for value in distinct):
            return "date"
    return "identifier" if all_different else "category"


__all__ = ["MISSING", "guess_kind", "is_missing", "is_number", "parse_date"]
