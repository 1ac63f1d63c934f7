"""Reading several columns of one table, row by row: only complete rows stay, and what goes is counted and said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.data._formats import reader
from privexplorer.data._sample import Ragged
from privexplorer.data.layout import ROW_LIMIT, ColumnInfo, Layout, inspect
from privexplorer.data.reference import Kind, TableChoice
from privexplorer.data.source import Source
from privexplorer.errors import DataError, printable

if TYPE_CHECKING:
    import pyarrow as pa

_REASONS = 3
NUMERIC: frozenset[Kind] = frozenset({"number", "count"})


@dataclass(frozen=True, eq=False)
class TableRows:
    """Chosen columns of a table without the rows in which one of them has no value.

    Attributes
    ----------
    title : str
        Name of the file.
    digest : str
        Name of the table's content.
    numbers : dict of str to (n,) float64 array
        Columns of numbers; a column of 0 and 1, or of two numbers, is one of them.
    codes : dict of str to (n,) int32 array
        Columns of texts: places in ``labels``.
    labels : dict of str to tuple of str
        Distinct texts of each such column, in the order of the alphabet.
    notes : tuple of str
        What was left out, in sentences.
    places : (n,) int64 array
        Which records of the table these are, counted from 0; records with another number of values do not count.
    total : int
        Records of the table.
    """

    title: str
    digest: str
    numbers: dict[str, FloatArray]
    codes: dict[str, IntArray]
    labels: dict[str, tuple[str, ...]]
    notes: tuple[str, ...]
    places: IntArray
    total: int

    @property
    def n(self) -> int:
        """Number of complete rows."""
        columns: list[Any] = [*self.numbers.values(), *self.codes.values()]
        return int(columns[0].size) if columns else 0

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns that were read."""
        return (*self.numbers, *self.codes)

    def number(self, name: str) -> FloatArray:
        """Values of a column as numbers; of a text column with two values, 1 where it is the later of the two.

        Raises
        ------
        DataError
            The column holds texts of more than two kinds, or was not read.
        """
        if name in self.numbers:
            return self.numbers[name]
        if name not in self.codes:
            raise DataError(f"The column “{name}” was not read.", field="column")
        if len(self.labels[name]) > 2:
            shown = ", ".join(f"“{_short(text)}”" for text in self.labels[name][:3])
            raise DataError(
                f"Column “{name}” holds texts such as {shown}, but numbers are needed here; choose another column.",
                field="column",
            )
        return self.codes[name].astype(np.float64)

    def texts(self, name: str) -> Any:
        """Values of a text column as an array of texts, shape ``(n,)``."""
        return np.array(self.labels[name], dtype=np.str_)[self.codes[name]]


def read_rows(source: Source, choice: TableChoice, columns: Sequence[str], as_text: Sequence[str] = ()) -> TableRows:
    """Read several columns of a table, row by row.

    Parameters
    ----------
    source : Source
        The file.
    choice : TableChoice
        How it is to be read.
    columns : sequence of str
        Names; each is read once.
    as_text : sequence of str
        Columns to be read as texts whatever they look like (levels of a category that are written as numbers).

    Raises
    ------
    DataError
        A column does not exist, no complete row is left, or the file cannot be read.
    """
    layout = inspect(source, choice.read)
    wanted = [layout.find(name) for name in dict.fromkeys(columns)]
    if not wanted:
        raise DataError("No column is chosen yet; choose one of the table's columns.", field="column")
    taken = [_Taken(column, _is_numeric(source, layout, column) and column.name not in as_text) for column in wanted]
    ragged, rows = Ragged(), 0
    for piece in reader(source.format).chunks(source, layout, [column.index for column in wanted], ragged):
        rows += len(piece[0])
        if rows > ROW_LIMIT:
            raise DataError(f"“{source.name}” has more than {ROW_LIMIT:,} rows; keep a part of them.")
        for place, column in enumerate(taken):
            column.add(piece[place], layout.detected.decimal, rows - len(piece[0]))
    return _joined(source, layout, taken, ragged, rows)


def _is_numeric(source: Source, layout: Layout, column: ColumnInfo) -> bool:
    if column.kind in NUMERIC:
        return True
    if column.kind not in ("binary", "identifier"):
        return False
    cells = [row[column.index] for row in layout.preview]
    from privexplorer.data._cells import is_missing, is_number

    present = [cell for cell in cells if not is_missing(cell)]
    return bool(present) and all(is_number(cell, layout.detected.decimal) for cell in present)


@dataclass
class _Taken:
    """One column while it is read."""

    info: ColumnInfo
    numeric: bool
    parts: list[Any] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    unreadable: int = 0
    inexact: int = 0
    example: str = ""
    first: int = 0
    """Record, counted from 1, that first lacks a value."""

    def add(self, values: pa.Array, decimal: str, before: int) -> None:
        """Take the values of one piece, which begins after so many records."""
        self._add(values, decimal)
        if not self.first:
            got = self.parts[-1]
            lost = np.flatnonzero(np.isnan(got) if self.numeric else got < 0)
            self.first = before + int(lost[0]) + 1 if lost.size else 0

    def _add(self, values: pa.Array, decimal: str) -> None:
        from privexplorer.data import _values as arrow

        if self.numeric and arrow.is_numeric(values.type):
            found = arrow.floats(values, decimal)
            self.missing += int(np.isnan(found).sum())
            infinite = np.isinf(found)
            if infinite.any():
                self.example = self.example or str(values[int(np.flatnonzero(infinite)[0])].as_py())
                self.unreadable += int(infinite.sum())
            long = arrow.inexact(values, found)
            self.inexact += 0 if long is None else int(long.sum())
            self.parts.append(np.where(np.isfinite(found), found, np.nan))
            return
        coded = values.dictionary_encode(null_encoding="encode")
        codes = np.asarray(coded.indices)
        cells, _ = arrow.trimmed(arrow.as_text(coded.dictionary))
        gone = arrow.missing_mask(cells)
        weights = np.bincount(codes, minlength=len(cells)).astype(np.int64)
        self.missing += int(weights[gone].sum())
        if self.numeric:
            numbers = arrow.floats(cells, decimal)
            bad = ~gone & ~np.isfinite(numbers)
            long = arrow.inexact(cells, numbers)
            self.inexact += 0 if long is None else int(weights[long].sum())
            if bad.any():
                self.example = self.example or str(cells[int(np.flatnonzero(bad)[0])].as_py())
                self.unreadable += int(weights[bad].sum())
            self.parts.append(np.where(gone | bad, np.nan, numbers)[codes])
            return
        texts = cells.to_pylist()
        known = [
            -1 if lost else self.places.setdefault(text, len(self.places))
            for text, lost in zip(texts, gone, strict=True)
        ]
        self.parts.append(np.array(known, dtype=np.int32)[codes])

    def values(self) -> Any:
        """All values so far; NaN or −1 where there is none."""
        return np.concatenate(self.parts) if self.parts else np.zeros(0)

    def notes(self) -> list[str]:
        """Say which values are not there."""
        out = []
        if self.missing:
            out.append(f"“{self.info.name}” is empty in {self.missing:,}")
        if self.unreadable:
            example = _short(self.example)
            out.append(f"“{self.info.name}” is no finite number in {self.unreadable:,}, such as “{example}”")
        if out:
            out[-1] += f" (first in record {self.first:,})"
        return out


def _joined(source: Source, layout: Layout, taken: Sequence[_Taken], ragged: Ragged, rows: int) -> TableRows:
    values = {column.info.name: column.values() for column in taken}
    there: BoolArray = np.ones(rows, dtype=bool)
    for column in taken:
        got = values[column.info.name]
        there &= ~np.isnan(got) if column.numeric else got >= 0
    notes = []
    lost = rows - int(there.sum())
    if lost:
        was = "was" if lost == 1 else "were"
        why = "; ".join(words for column in taken for words in column.notes())
        notes.append(f"{lost:,} of {rows:,} row{'s' * (rows != 1)} {was} left out for lacking a value: {why}.")
    for column in taken:
        if column.inexact:
            holds = "value has" if column.inexact == 1 else "values have"
            notes.append(
                f"{column.inexact:,} {holds} more digits in “{column.info.name}” than a number can keep; values that "
                "differ in their last digits may be one here."
            )
    if ragged.count:
        was = "row was" if ragged.count == 1 else "rows were"
        notes.append(
            f"{ragged.count:,} {was} left out for having another number of values. "
            f"{ragged.phrase(len(layout.columns))}."
        )
    if not there.any():
        named = ", ".join(f"“{column.info.name}”" for column in taken)
        each = f"each of {named}" if len(taken) > 1 else named
        why = "; ".join([words for column in taken for words in column.notes()][:_REASONS])
        raise DataError(
            f"No row of “{source.name}” has a value in {each}{f' ({why})' if why else ''}; choose other columns."
        )
    numbers: dict[str, FloatArray] = {}
    codes: dict[str, IntArray] = {}
    labels: dict[str, tuple[str, ...]] = {}
    for column in taken:
        name = column.info.name
        kept = values[name][there]
        if column.numeric:
            kept = kept.astype(np.float64)
            numbers[name] = kept
        else:
            names = list(column.places)
            order = sorted(range(len(names)), key=names.__getitem__)
            present = np.bincount(kept, minlength=len(names)) > 0
            order = [place for place in order if present[place]]
            new = np.full(len(names), -1, dtype=np.int32)
            new[order] = np.arange(len(order), dtype=np.int32)
            kept = new[kept]
            codes[name], labels[name] = kept, tuple(names[place] for place in order)
        kept.setflags(write=False)
    places = np.flatnonzero(there)
    places.setflags(write=False)
    return TableRows(source.name, source.digest, numbers, codes, labels, tuple(map(printable, notes)), places, rows)


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"


__all__ = ["TableRows", "read_rows"]
