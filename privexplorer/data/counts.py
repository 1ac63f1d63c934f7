"""Reading one column: how often each value occurs, or the values row by row.

Only the chosen columns are parsed. Whatever is left out is counted and said.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.data._formats import reader
from privexplorer.data._sample import Ragged
from privexplorer.data.layout import ROW_LIMIT, ColumnInfo, Layout, inspect
from privexplorer.data.reference import KIND_TITLES, Kind, KindChoice, TableColumn
from privexplorer.data.source import Source
from privexplorer.errors import DataError, printable

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Dropped:
    """Records left out of a column.

    Attributes
    ----------
    missing, non_finite, unreadable, ragged : int
        No value; an infinite number; not of the chosen kind; a row with another number of values.
    """

    missing: int = 0
    non_finite: int = 0
    unreadable: int = 0
    ragged: int = 0

    @property
    def total(self) -> int:
        """All rows left out."""
        return self.missing + self.non_finite + self.unreadable + self.ragged


@dataclass(frozen=True, eq=False)
class ColumnCounts:
    """How often each distinct value of a column occurs.

    Attributes
    ----------
    title : str
        Name of the column.
    kind : str
        What it was read as.
    counts : (d,) int64 array
        Positive counts. Sorted from large to small, ties by value, as long as there are at most half a
        million distinct values (of at most 16 MB together); else the first half million values in the order
        in which they occur, then the counts of the others from large to small.
    dropped : Dropped
        What was left out.
    notes : tuple of str
        The same in sentences, and what was merged.
    """

    title: str
    kind: Kind
    dropped: Dropped
    notes: tuple[str, ...]
    _narrow: NDArray[Any]
    _values: pa.Array

    @cached_property
    def counts(self) -> IntArray:
        """How often each value occurs (eight bytes per value; ``multiplicities`` is smaller)."""
        counts = self._narrow.astype(np.int64)
        counts.setflags(write=False)
        return counts

    @cached_property
    def multiplicities(self) -> tuple[IntArray, IntArray]:
        """Counts that occur, from small to large, and how many distinct values have each."""
        counts, values = np.unique(self._narrow, return_counts=True)
        return counts.astype(np.int64), values.astype(np.int64)

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self._narrow.sum(dtype=np.int64))

    @property
    def distinct(self) -> int:
        """Number of distinct values."""
        return int(self._narrow.size)

    def label(self, index: int) -> str:
        """Text of one value; beyond half a million distinct values the later ones are known by their number only."""
        from privexplorer.data._values import number_label

        if index >= len(self._values):
            return f"value {index + 1:,}"
        value = self._values[index].as_py()
        return value if isinstance(value, str) else number_label(value)

    @property
    def values(self) -> tuple[str, ...]:
        """Texts of all values, in the order of ``counts`` (builds them all: keep it to small tables)."""
        return tuple(self.label(index) for index in range(self.distinct))

    def top(self, number: int) -> list[tuple[str, int]]:
        """Most frequent values with their counts."""
        best = np.zeros(0, dtype=np.int64)
        for start in range(0, self.distinct, 100_000):
            best = np.concatenate((best, np.arange(start, min(start + 100_000, self.distinct))))
            best = best[np.argsort(-self._narrow[best].astype(np.int64), kind="stable")[:number]]
        return [(self.label(int(index)), int(self._narrow[index])) for index in best]


@dataclass(frozen=True, eq=False)
class Column:
    """The values of a column row by row, without the rows that were left out.

    Attributes
    ----------
    values : (n,) array
        int64 for a count, float64 for a number, datetime64[us] for a date; for the other kinds int32
        places in ``labels``.
    labels : tuple of str
        Distinct texts in the order in which they first occur; empty for numbers and dates.
    """

    title: str
    kind: Kind
    values: Any
    labels: tuple[str, ...]
    dropped: Dropped
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.values.size)


def read_counts(source: Source, ref: TableColumn) -> ColumnCounts:
    """Count the distinct values of one column.

    In a file of one column a blank line is a record without a value, except before the first and after the last
    line with text: there it is no record. Texts are compared exactly, apart from spaces at their ends; whole numbers
    and numbers are compared as numbers, so that 1 and 1.0 are one value, and dates as moments, however they are
    written.

    Parameters
    ----------
    source : Source
        The file.
    ref : TableColumn
        Column, count column if the table is a histogram, and kind. With ``kind="auto"`` the guess of
        :func:`~privexplorer.data.inspect` is tried and given up, with a note, if a later row does not
        fit it; with another kind the rows that do not fit are left out and counted.

    Raises
    ------
    DataError
        The column does not exist or holds no value; a count is negative or not whole; the file
        cannot be read.
    """
    return _climb(source, ref, _counts)


def read_column(source: Source, ref: TableColumn) -> Column:
    """Read one column row by row.

    Parameters
    ----------
    source, ref
        As for :func:`read_counts`. A histogram is written out: each value as often as its count says.

    Raises
    ------
    DataError
        As for :func:`read_counts`.
    """
    return _climb(source, ref, _column)


def require_varied(counts: ColumnCounts) -> ColumnCounts:
    """Give the counts back if they have at least two distinct values.

    Raises
    ------
    DataError
        All records hold one value, so there is nothing to estimate.
    """
    if counts.distinct < 2:
        every = f"all {counts.n:,} records" if counts.n > 1 else "its only record"
        raise DataError(
            f"Column “{counts.title}” holds the one value “{_short(counts.label(0))}” in {every}; "
            "choose a column with at least two different values.",
            field="column",
        )
    return counts


# ------------------------------------------------------------------ attempts


class _Unfit(Exception):
    """A value does not fit the kind that was guessed."""


@dataclass(frozen=True)
class _Attempt:
    """One way to read a column; a strict one gives up at the first value that does not fit."""

    kind: Kind
    strict: bool = False
    day_first: bool = True
    guessed: bool = False


def _attempts(choice: KindChoice, guessed: Kind) -> tuple[_Attempt, ...]:
    kind: Kind = guessed if choice == "auto" else choice
    last = _Attempt("category") if choice == "auto" else _Attempt(kind)
    if kind == "date":
        return _Attempt("date", strict=True), _Attempt("date", strict=True, day_first=False), last
    if kind == "count" and choice == "auto":
        return _Attempt("count", strict=True), _Attempt("number", strict=True), last
    if kind == "number" and choice == "auto":
        return _Attempt("number", strict=True), last
    return (_Attempt(kind, guessed=choice == "auto"),)


_Read = TypeVar("_Read", bound="ColumnCounts | Column")


def _climb(source: Source, ref: TableColumn, read: Callable[[_Rows, _Cleaner], _Read]) -> _Read:
    """Try one kind after the other until all values fit (or the last, which takes what it can)."""
    layout = inspect(source, ref.read)
    column = layout.find(ref.column)
    weights = layout.find(ref.counts) if ref.counts else None
    if weights is not None and weights.index == column.index:
        raise DataError(f"Column “{column.name}” cannot be both the values and their counts.", field="counts")
    reason = ""
    for attempt in _attempts(ref.kind, column.kind):
        rows = _Rows(source, layout, column, weights)
        # whoever lists each value once with its count means the value "NULL" (a surname) as it stands
        cleaner = _Cleaner(attempt, layout.detected.decimal, words=weights is None)
        try:
            answer = read(rows, cleaner)
        except _Unfit as misfit:
            reason = str(misfit)
            continue
        if answer.n == 0:
            raise _nothing_left(column.name, rows, cleaner)
        told = [f"{reason}, so the values are compared as texts."] if reason and attempt.kind == "category" else []
        return replace(answer, notes=tuple(map(printable, (*told, *answer.notes))))
    raise AssertionError("the last attempt is never strict")


def _nothing_left(name: str, rows: _Rows, cleaner: _Cleaner) -> DataError:
    """Say why not one record of a column can be used."""
    why = [
        f"{number:,} {'row' if number == 1 else 'rows'} {one if number == 1 else many}"
        for number, one, many in (
            (cleaner.missing, "has no value", "have no value"),
            (cleaner.non_finite, "holds an infinite number", "hold infinite numbers"),
            (cleaner.unreadable, f"holds no {cleaner._kind_name}", f"hold no {cleaner._kind_name}"),
            (rows.ragged.count, "has another number of values", "have another number of values"),
            (rows.no_count, "has no count", "have no count"),
            (rows.zero, "has a count of 0", "have a count of 0"),
        )
        if number
    ]
    if rows.counts is not None and rows.zero and len(why) == 1:
        return DataError(
            f"All counts in column “{rows.counts.name}” are 0, so there is no record; choose another column for the "
            "counts, or none.",
            field="counts",
        )
    listed = f": {', '.join(why[:-1])}{' and ' if len(why) > 1 else ''}{why[-1]}" if why else ""
    return DataError(
        f"Column “{name}” holds no value that can be used{listed}; choose another column, or read it as another kind.",
        field="column",
    )


@dataclass
class _Rows:
    """Pieces of one column with the number of records that each row stands for."""

    source: Source
    layout: Layout
    column: ColumnInfo
    counts: ColumnInfo | None
    ragged: Ragged = field(default_factory=Ragged)
    no_count: int = 0
    zero: int = 0

    def __iter__(self) -> Iterator[tuple[pa.Array, IntArray | None]]:
        wanted = [self.column.index] + ([self.counts.index] if self.counts else [])
        pieces = reader(self.source.format).chunks(self.source, self.layout, wanted, self.ragged)
        seen = 0
        for piece in pieces:
            seen += len(piece[0])
            if seen > ROW_LIMIT:
                raise DataError(f"“{self.source.name}” has more than {ROW_LIMIT:,} rows; keep a part of them.")
            if self.counts is None:
                yield piece[0], None
            else:
                yield self._weigh(piece[0], piece[1], self.counts.name)

    def _weigh(self, values: pa.Array, column: pa.Array, name: str) -> tuple[pa.Array, IntArray]:
        from privexplorer.data import _values as arrow

        numeric = arrow.is_numeric(column.type)
        cells = column if numeric else arrow.trimmed(arrow.as_text(column))[0]
        gone = arrow.to_numpy(cells.is_null()) if numeric else arrow.missing_mask(cells)
        numbers = arrow.floats(cells, self.layout.detected.decimal)
        gone |= numeric & np.isnan(numbers)
        bad = ~gone & ~((numbers >= 0) & (numbers < 2**53) & (numbers == np.floor(numbers)))
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            large = np.isfinite(numbers[at]) and numbers[at] >= 2**53
            rule = f"be below 2 to the power of 53 ({2**53:,})" if large else "be whole numbers from 0"
            raise DataError(
                f"Column “{name}” holds “{_short(str(cells[at].as_py()))}”, but counts must {rule}; choose another "
                "column for the counts, or none.",
                field="counts",
            )
        kept = ~gone & (numbers > 0)
        self.no_count += int(gone.sum())
        self.zero += int((numbers == 0).sum())
        return arrow.keep(values, kept), numbers[kept].astype(np.int64)

    def notes(self) -> list[str]:
        """Sentences about rows that do not fit, and about counts."""
        notes = []
        if self.ragged.count:
            notes.append(
                f"{_rows(self.ragged.count)} left out for having another number of values. "
                f"{self.ragged.phrase(len(self.layout.columns))}."
            )
        if self.no_count:
            notes.append(f"{_rows(self.no_count)} left out for having no count.")
        if self.zero:
            notes.append(f"{_rows(self.zero)} left out for having a count of 0.")
        return notes


@dataclass
class _Cleaner:
    """Types the values of one column, and keeps account of those that are left out."""

    attempt: _Attempt
    decimal: str
    words: bool = True
    missing: int = 0
    non_finite: int = 0
    unreadable: int = 0
    large: int = 0
    inexact: int = 0
    spaced: int = 0
    example: str = ""
    large_example: str = ""
    inexact_example: str = ""
    marks: set[str] = field(default_factory=set)
    tokens: Counter[str] = field(default_factory=Counter)

    def clean(self, values: pa.Array, weights: IntArray) -> tuple[pa.Array, BoolArray]:
        """Type distinct values of one piece.

        Parameters
        ----------
        values : (m,) array
            As read.
        weights : (m,) int array
            How many records each stands for.

        Returns
        -------
        typed : (m,) array
            Texts, int64 (for dates: microseconds since 1970) or float64; arbitrary where not kept.
        kept : (m,) bool array
            Where there is a value of the wanted kind.
        """
        from privexplorer.data import _values as arrow

        kind = self.attempt.kind
        if kind in ("count", "number") and arrow.is_numeric(values.type):
            cells = values
            gone = arrow.to_numpy(values.is_null()) | np.isnan(arrow.floats(values, self.decimal))
        else:
            cells, spaced = arrow.trimmed(arrow.as_text(values))
            self.spaced += int(weights[spaced].sum())
            gone = arrow.missing_mask(cells, self.words)
        self.missing += int(weights[gone].sum())
        if gone.any():
            self.tokens.update(arrow.weigh_tokens(arrow.keep(cells, gone), weights[gone]))
        if kind == "date":
            found = arrow.moments(arrow.blanked(cells, gone), self.attempt.day_first)
            fits = self._judge(cells, gone, found != arrow.NO_DATE, weights)
            self._weigh_dates(cells, fits, weights)
            return arrow.to_arrow(found), fits
        if kind not in ("count", "number"):
            return cells, ~gone
        cells = cells if arrow.is_numeric(cells.type) else arrow.blanked(cells, gone)
        whole = arrow.to_integers(cells) if kind == "count" else None
        if whole is not None:
            found = arrow.to_numpy(arrow.filled(whole, 0))
            return arrow.to_arrow(found), self._judge(cells, gone, found >= 0, weights)
        numbers = arrow.floats(cells, self.decimal)
        infinite = ~gone & np.isinf(numbers)
        self.non_finite += int(weights[infinite].sum())
        gone = gone | infinite
        if kind == "number":
            fits = self._judge(cells, gone, ~np.isnan(numbers), weights)
            self._weigh_inexact(cells, arrow.inexact(cells, numbers), numbers, weights)
            return arrow.to_arrow(numbers + 0.0), fits
        fits = (numbers >= 0) & (numbers < 2**53) & (numbers == np.floor(numbers))
        found = np.where(fits, numbers, 0).astype(np.int64)
        digits = arrow.long_integers(cells)  # beside 3.0 a number of 17 digits must not lose its last ones
        fits |= digits >= 0
        large = ~gone & ~fits & (numbers >= 2**53)
        if large.any() and not self.attempt.strict:
            self.large_example = self.large_example or _first(cells, large)
            self.large += int(weights[large].sum())
            self.unreadable += int(weights[large].sum())
            gone = gone | large
        return arrow.to_arrow(np.where(digits >= 0, digits, found)), self._judge(cells, gone, fits, weights)

    def _judge(self, cells: pa.Array, gone: BoolArray, fits: BoolArray, weights: IntArray) -> BoolArray:
        bad = ~gone & ~fits
        if bad.any():
            self.example = self.example or _first(cells, bad)
            if self.attempt.strict:
                raise _Unfit(f"“{_short(self.example)}” is not a {self._kind_name}")
            self.unreadable += int(weights[bad].sum())
        return ~gone & fits

    def _weigh_inexact(self, cells: pa.Array, found: BoolArray | None, numbers: FloatArray, weights: IntArray) -> None:
        """Take note of numbers with more digits than can be kept; a guess is given up at the first large one."""
        if found is None:
            return
        large = found & (np.abs(numbers) >= 2**53)
        if self.attempt.strict and large.any():
            raise _Unfit(f"“{_short(_first(cells, large))}” has more digits than a number can keep")
        self.inexact_example = self.inexact_example or _first(cells, found)
        self.inexact += int(weights[found].sum())

    def _weigh_dates(self, cells: pa.Array, fits: BoolArray, weights: IntArray) -> None:
        """Take note of dates whose order had to be decided, and of fractions of a second that are cut."""
        import pyarrow.compute as pc

        from privexplorer.data import _values as arrow

        data, offsets = arrow.letters(cells)
        starts = offsets[:-1][fits]
        for mark in set("/-") - self.marks:
            if ((data[starts + 1] == ord(mark)) | (data[starts + 2] == ord(mark))).any():  # no year comes first
                self.marks.add(mark)
        if np.diff(offsets).max(initial=0) <= len("2020-01-31 12:00:00.123456"):
            return
        cut = fits & arrow.to_numpy(pc.match_substring_regex(cells, r"[.,]\d{6}\d*[1-9]"))
        if cut.any():
            self.inexact_example = self.inexact_example or _first(cells, cut)
            self.inexact += int(weights[cut].sum())

    @property
    def _kind_name(self) -> str:
        return KIND_TITLES[self.attempt.kind].split(" (")[0].lower()

    def dropped(self, rows: _Rows) -> Dropped:
        """Sum up what was left out so far."""
        return Dropped(self.missing + rows.no_count, self.non_finite, self.unreadable, rows.ragged.count)

    def notes(self) -> list[str]:
        """Sentences about what was left out or merged."""
        notes = []
        if self.missing:
            named = ", ".join(f"“{token}”" if token else "empty" for token in sorted(self.tokens))
            notes.append(f"{_rows(self.missing)} left out for having no value ({named}).")
        if self.non_finite:
            notes.append(f"{_rows(self.non_finite)} left out for holding an infinite number.")
        if self.unreadable > self.large:
            notes.append(
                f"{_rows(self.unreadable - self.large)} left out for not being a {self._kind_name}, such as "
                f"“{_short(self.example)}”."
            )
        if self.large:
            notes.append(
                f"{_rows(self.large)} left out for holding too large a whole number, such as "
                f"“{_short(self.large_example)}”; read the column as category to count them."
            )
        if self.inexact:
            holds = "row holds a value" if self.inexact == 1 else "rows hold values"
            notes.append(
                f"{self.inexact:,} {holds} with more digits than a {self._kind_name} can keep, such as "
                f"“{_short(self.inexact_example)}”; values that differ in their last digits may count as one (read the "
                "column as category to keep them apart)."
            )
        if self.spaced:
            was = "row had" if self.spaced == 1 else "rows had"
            notes.append(f"{self.spaced:,} {was} spaces before or after the value; they do not count.")
        if self.marks:
            order = "day/month/year" if self.attempt.day_first else "month/day/year"
            named = " and ".join(name for mark, name in (("/", "slashes"), ("-", "hyphens")) if mark in self.marks)
            notes.append(f"Dates with {named} were read as {order}.")
        return notes


# ------------------------------------------------------------------ the two readings


def _counts(rows: _Rows, cleaner: _Cleaner) -> ColumnCounts:
    import pyarrow as pa

    from privexplorer.data import _values as arrow
    from privexplorer.data._tally import LABELS, Frequent, Marks, Tally, fingerprints

    frequent, entries = Frequent(), 0

    def count(values: pa.Array, weights: IntArray, marks: Marks | None = None) -> None:
        nonlocal entries
        typed, kept = cleaner.clean(values, weights)
        entries += int(np.count_nonzero(kept))
        values_kept = arrow.keep(typed, kept)
        tally.add(values_kept, weights if kept.all() else weights[kept], marks if values_kept is values else None)

    def plain(piece: pa.Array) -> bool:
        return bool(pa.types.is_string(piece.type)) and not piece.null_count

    def marked() -> Iterator[tuple[pa.Array, IntArray | None, Marks | None]]:
        """Where reading is light, the thread that reads takes the fingerprints too, as long as they are of use."""
        single, numbers = len(rows.layout.columns) == 1, cleaner.attempt.kind in ("count", "number", "date")
        for piece, given in rows:
            useful = single and plain(piece) and (frequent.useful or not numbers)
            yield piece, given, fingerprints(piece) if useful else None

    with Tally(wide=rows.counts is not None) as tally, closing(_ahead(marked())) as pieces:
        for piece, given, marks in pieces:
            if given is not None:
                count(piece, given)
            elif not frequent.useful:  # nearly all values differ: no use in counting each piece by itself
                count(piece, np.ones(len(piece), dtype=np.int32), marks)
            elif plain(piece):
                count(*frequent.sift(piece, marks or fingerprints(piece)))
            else:
                count(*arrow.count_values(piece))
        count(*frequent.rest())
        found, counts = tally.result()
    if cleaner.attempt.kind == "date" and counts.size:
        found = arrow.moment_labels(arrow.to_numpy(found))
    notes = cleaner.notes() + rows.notes()
    if rows.counts is not None and entries > counts.size > 0:
        notes.append("Some values stand in more than one row; their counts were added.")
    if float(counts.sum(dtype=np.float64)) > 2**60 or int(counts.sum(dtype=np.int64)) > 2**53:
        raise DataError(f"The counts add up to more than {2**53:,} records; check the count column.")
    kind = _settled_kind(rows, cleaner.attempt, counts.size, bool(counts.size) and int(counts.max()) > 1)
    if 0 < counts.size == len(found) <= LABELS:
        order = arrow.by_count(found, counts)
        found, counts = found.take(order), counts[arrow.to_numpy(order)]
    return ColumnCounts(rows.column.name, kind, cleaner.dropped(rows), tuple(notes), counts, found)


def _column(rows: _Rows, cleaner: _Cleaner) -> Column:
    from privexplorer.data import _values as arrow

    kind = cleaner.attempt.kind
    plain = kind in ("count", "number", "date")
    places: dict[str, int] = {}
    parts: list[Any] = []
    total = 0
    for piece, given in rows:
        coded = piece.dictionary_encode(null_encoding="encode")
        codes = arrow.to_numpy(coded.indices)
        if given is not None:
            total += int(given.sum())
            if total > ROW_LIMIT:
                raise DataError(
                    f"The counts add up to more than {ROW_LIMIT:,} records, too many to write out one by one."
                )
            codes = np.repeat(codes, given)
        weights = np.bincount(codes, minlength=len(coded.dictionary)).astype(np.int64)
        typed, kept = cleaner.clean(coded.dictionary, weights)
        if plain:
            values = arrow.to_numpy(typed)
            values = values.view("datetime64[us]") if kind == "date" else values
        else:
            texts = typed.to_pylist()
            values = np.array(
                [places.setdefault(text, len(places)) if keep else -1 for text, keep in zip(texts, kept, strict=True)],
                dtype=np.int32,
            )
        parts.append(values[codes[kept[codes]]])
    empty = np.zeros(0, dtype={"count": "int64", "number": "float64", "date": "datetime64[us]"}.get(kind, "int32"))
    joined = np.concatenate(parts) if parts else empty
    kind = _settled_kind(rows, cleaner.attempt, len(places), len(places) < joined.size)
    joined.setflags(write=False)
    return Column(
        rows.column.name, kind, joined, tuple(places), cleaner.dropped(rows), tuple(cleaner.notes() + rows.notes())
    )


def _settled_kind(rows: _Rows, attempt: _Attempt, distinct: int, repeated: bool) -> Kind:
    """Kind after all values were seen; a guess may have been made too early."""
    if attempt.kind == "binary" and distinct > 2 and not attempt.guessed:
        raise DataError(
            f"Column “{rows.column.name}” holds {distinct:,} different values, but a binary column has two; "
            "read it as another kind.",
            field="kind",
        )
    if attempt.guessed and ((attempt.kind == "binary" and distinct > 2) or (attempt.kind == "identifier" and repeated)):
        return "category"
    return attempt.kind


_Piece = TypeVar("_Piece")


def _ahead(pieces: Iterator[_Piece], number: int = 3) -> Generator[_Piece]:
    """Take pieces in a second thread, a few before they are asked for: parsing needs no Python."""
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, pieces, None) for _ in range(number))
        try:
            while (piece := waiting.popleft().result()) is not None:
                waiting.append(pool.submit(next, pieces, None))
                yield piece
        finally:
            pool.shutdown(cancel_futures=True)


def _rows(number: int) -> str:
    return f"{number:,} row was" if number == 1 else f"{number:,} rows were"


def _first(cells: pa.Array, marked: BoolArray) -> str:
    """Text of the first marked cell."""
    return str(cells[int(np.flatnonzero(marked)[0])].as_py())


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


__all__ = ["Column", "ColumnCounts", "Dropped", "read_column", "read_counts", "require_varied"]
