"""What a table looks like before any column is read: columns, guessed kinds, first rows, how it was read."""

from __future__ import annotations

import difflib
import itertools
import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from privexplorer.data._cells import guess_kind, is_missing, is_number, parse_date
from privexplorer.data._formats import reader
from privexplorer.data.reference import Kind, ReadOptions
from privexplorer.data.source import Format, Source
from privexplorer.errors import DataError, printable

ROW_LIMIT = 100_000_000
_PREVIEW_ROWS = 8
_SHEETS = 5
_CELL = 60
_COUNT_NAMES = frozenset(
    [
        "count",
        "counts",
        "n",
        "freq",
        "frequency",
        "frequencies",
        "occurrences",
        "times",
        "anzahl",
        "häufigkeit",
        "effectif",
        "people",
        "tokens",
    ]
)


@dataclass(frozen=True)
class ColumnInfo:
    """One column: its name (repaired if need be), the guessed kind, and its place from 0."""

    name: str
    kind: Kind
    index: int


@dataclass(frozen=True)
class Layout:
    """What a file turned out to be.

    Attributes
    ----------
    detected : ReadOptions
        How the file was read; nothing in it is "auto".
    rows : int
        Number of data rows; an estimate from the line ends unless ``rows_exact``.
    preview : tuple of tuples of str
        At most eight rows; long texts are cut.
    notes : tuple of str
        Sentences about repairs.
    histogram : (str, str) or None
        Names of the value and the count column when the table is already a histogram.
    sheets : tuple of str
        Sheets of a workbook.
    longest_line : int
        Bytes of the longest line of a text table, roughly.
    """

    name: str
    digest: str
    format: Format
    detected: ReadOptions
    columns: tuple[ColumnInfo, ...]
    rows: int
    rows_exact: bool
    preview: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    histogram: tuple[str, str] | None = None
    sheets: tuple[str, ...] = ()
    longest_line: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(column.name for column in self.columns)

    @property
    def about_sheets(self) -> str:
        """Which sheet of a workbook was read and which were not, in a sentence; empty if there is one only."""
        others = [title for title in self.sheets if title != self.detected.sheet]
        if not others:
            return ""
        named = [f"“{title}”" for title in others[:_SHEETS]]
        if len(others) > _SHEETS:
            named.append(f"{len(others) - _SHEETS:,} more")
        listed = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
        was = "was" if len(others) == 1 else "were"
        return printable(f"The sheet “{self.detected.sheet}” was read; {listed} {was} not.")

    def find(self, name: str) -> ColumnInfo:
        """Look a column up by its name.

        Raises
        ------
        DataError
            There is none; the sentence lists the nearest names.
        """
        for column in self.columns:
            if column.name == name:
                return column
        if not name:
            raise DataError("No column is chosen yet; choose one of the table's columns.", field="column")
        nearest = difflib.get_close_matches(name, self.names, n=3, cutoff=0.5)
        listed = ", ".join(f"“{near}”" for near in nearest or self.names[:3])
        which = f"the nearest {'is' if len(nearest) == 1 else 'are'}" if nearest else "it has"
        more = ", …" if not nearest and len(self.names) > 3 else ""
        raise DataError(f"The table has no column “{name}”; {which} {listed}{more}.", field="column")


_cache: OrderedDict[tuple[str, str, str, ReadOptions], Layout] = OrderedDict()
_lock = threading.Lock()
_CACHED = 32


def inspect(source: Source, options: ReadOptions | None = None) -> Layout:
    """Detect how a file is to be read and what its columns hold.

    Text tables are gone through once (encoding, zero bytes, unpacked size); only the first part is
    parsed. The answer is kept for the last few files; no data are.

    Parameters
    ----------
    source : Source
        The file.
    options : ReadOptions, optional
        What the user settled; everything else is detected.

    Raises
    ------
    DataError
        The file holds no table that can be read; one sentence says what to do.
    """
    options = options or ReadOptions()
    key = (source.digest, source.format, source.name, options)
    with _lock:
        if key in _cache:
            _cache.move_to_end(key)
            return _cache[key]
    layout = _look(source, options)
    with _lock:
        _cache[key] = layout
        while len(_cache) > _CACHED:
            _cache.popitem(last=False)
    return layout


def _look(source: Source, options: ReadOptions) -> Layout:
    sample = reader(source.format).sample(source, options)
    rows, notes = sample.rows, list(sample.notes)
    decimal, choice = sample.detected.decimal, sample.detected.header
    if sample.names is not None:
        header, raw = False, sample.names
    else:
        header = _has_header(rows, decimal) if choice == "auto" else choice == "yes"
        raw = tuple(rows[0]) if header else ("",) * len(rows[0])
        rows = rows[1:] if header else rows
        if choice == "auto":
            notes.append(
                "The first row was taken as the names of the columns."
                if header
                else "The first row was taken as data, so the columns are numbered."
            )
    total = sample.total - int(header)
    if not rows:
        raise DataError(f"“{source.name}” has a header but no rows below it; add at least one row.")
    names, repairs = _repair(raw, numbered=sample.names is None and not header)
    stripped = [[cell.strip() for cell in row] for row in rows]
    kinds = [guess_kind([row[index] for row in stripped], decimal) for index in range(len(names))]
    histogram = _histogram(names, stripped)
    if histogram is not None:
        kinds = [
            "category" if n == histogram[0] else "count" if n == histogram[1] else k
            for n, k in zip(names, kinds, strict=True)
        ]
    layout = Layout(
        name=source.name,
        digest=source.digest,
        format=source.format,
        detected=sample.detected.model_copy(update={"header": "yes" if header or sample.names is not None else "no"}),
        columns=tuple(
            ColumnInfo(name, kind, index) for index, (name, kind) in enumerate(zip(names, kinds, strict=True))
        ),
        rows=total,
        rows_exact=sample.exact,
        preview=tuple(tuple(_shorten(cell) for cell in row) for row in rows[:_PREVIEW_ROWS]),
        histogram=histogram,
        sheets=sample.sheets,
        longest_line=sample.longest_line,
    )
    told = [layout.about_sheets] if layout.about_sheets else []
    return replace(layout, notes=tuple(map(printable, (*told, *notes, *repairs))))


def _shorten(text: str) -> str:
    return text if len(text) <= _CELL else text[: _CELL - 1] + "…"


def _plain(cell: str, decimal: str) -> bool:
    return is_number(cell, decimal) or parse_date(cell) is not None or parse_date(cell, day_first=False) is not None


def _has_header(rows: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first row names the columns: it differs from what stands below it.

    Each column votes: yes if only the first cell is no number or date; no if the first cell is one,
    or a text that occurs below again. A draw means yes. Years in a row (1990, 1991, ...) do not vote:
    they are names of columns as often as not.
    """
    votes = 0
    years = [int(cell) for cell in rows[0] if len(cell) < 9 and cell.strip().isdecimal() and 1500 <= int(cell) <= 2200]
    series = len(years) > 1 and all(later - earlier == 1 for earlier, later in itertools.pairwise(years))
    for index, first in enumerate(cell.strip() for cell in rows[0]):
        below = [row[index].strip() for row in rows[1:200]]
        present = [cell for cell in below if not is_missing(cell)]
        if is_missing(first):
            continue
        if _plain(first, decimal):
            votes -= not (series and first in map(str, years))
        elif present and all(_plain(cell, decimal) for cell in present):
            votes += 1
        elif first in present:
            votes -= 1
    return votes >= 0


def _repair(raw: Sequence[str], numbered: bool) -> tuple[list[str], list[str]]:
    """Give every column a name of its own; returns the names and sentences about what was changed."""
    names: dict[str, None] = {}
    blank, doubled = [], []
    wanted = [" ".join(name.split())[:200] for name in raw]
    taken, numbers = Counter(wanted), Counter[str]()
    for place, name in enumerate(wanted, start=1):
        if not name:
            name = f"column {place}"
            blank.append(name)
        elif name in names:
            doubled.append(name)
        base, number = name, max(2, numbers[name])
        while name in names or (name != wanted[place - 1] and taken[name]):
            name, number = f"{base} ({number})", number + 1
        numbers[base] = number
        names[name] = None
    notes = []
    if blank and not numbered:
        listed = ", ".join(f"“{name}”" for name in blank[:5]) + (" …" if len(blank) > 5 else "")
        notes.append(f"{len(blank):,} column{'s' * (len(blank) > 1)} had no name and got one from the place: {listed}.")
    if doubled:
        listed = ", ".join(f"“{name}”" for name in dict.fromkeys(doubled[:5])) + (" …" if len(doubled) > 5 else "")
        notes.append(f"More than one column was called {listed}; the later ones carry a number in brackets.")
    return list(names), notes


def _histogram(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, str] | None:
    """Value and count column, if each row is a different value with how often it occurs."""
    if len(names) < 2 or len(rows) < 2:
        return None
    columns = list(zip(*rows, strict=True))
    whole = [
        index
        for index, cells in enumerate(columns)
        if all(cell.isascii() and cell.isdigit() and len(cell) < 17 and int(cell) > 0 for cell in cells)
    ]
    named = [index for index in whole if names[index].lower().replace("_", " ").split(" ")[-1] in _COUNT_NAMES]
    if not named and len(names) == 2 and whole and len(rows) >= 3:
        numbers = [int(cell) for cell in columns[whole[-1]]]
        if numbers == sorted(numbers, reverse=True) and numbers[0] > numbers[-1]:
            named = [whole[-1]]
    if len(named) != 1:
        return None
    for index, cells in enumerate(columns):
        if index != named[0] and len(set(cells)) == len(cells) and all(cells):
            return names[index], names[named[0]]
    return None


__all__ = ["ROW_LIMIT", "ColumnInfo", "Layout", "inspect"]
