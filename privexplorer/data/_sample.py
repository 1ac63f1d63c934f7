"""What every format gives: the first rows for detection, and a note of rows that do not fit."""

from __future__ import annotations

from dataclasses import dataclass

from privexplorer.data.reference import ReadOptions
from privexplorer.errors import DataError

SAMPLE_ROWS = 1000
"""How many rows the guesses look at."""


@dataclass(frozen=True)
class Sample:
    """First rows of a table as texts.

    ``names`` is None where the first row may be the header. ``detected`` still has ``header="auto"``
    in that case unless the user chose. ``total`` counts rows, a header row included where ``names``
    is None.
    """

    rows: list[list[str]]
    detected: ReadOptions
    total: int
    exact: bool
    names: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    longest_line: int = 0


@dataclass
class Ragged:
    """Rows with more or fewer values than there are columns: how many, and the first of them."""

    count: int = 0
    row: int = 0
    width: int = 0

    def add(self, row: int, width: int) -> None:
        """Note one such row (``row`` counts from 1, blank lines not counted)."""
        if self.count == 0:
            self.row, self.width = row, width
        self.count += 1

    def hopeless(self, rows: int) -> bool:
        """Whether so many of the rows seen so far do not fit that reading on is no use."""
        return self.count > 100_000 or (self.count > 1000 and 2 * self.count > rows)

    def refusal(self, columns: int) -> DataError:
        """Sentence for a table in which most rows do not fit."""
        return DataError(
            f"{self.phrase(columns)}; too many rows do not fit, so check the delimiter, the quotation marks and "
            "whether the first row names every column."
        )

    def phrase(self, columns: int) -> str:
        """Say what is wrong with the first such row.

        Examples
        --------
        >>> Ragged(3, 18, 16).phrase(15)
        'Row 18 has 16 values, the first row has 15'
        """
        plural = "" if self.width == 1 else "s"
        return f"Row {self.row:,} has {self.width:,} value{plural}, the first row has {columns:,}"


__all__ = ["SAMPLE_ROWS", "Ragged", "Sample"]
