"""What every format gives: the first rows for detection, and a note of rows that do not fit."""

from __future__ import annotations

from dataclasses import dataclass

from privexplorer.data.reference import ReadOptions
from privexplorer.errors import DataError

SAMPLE_ROWS = 1000
"""How many rows the guesses look at."""
SAMPLE_CELLS = 1_000_000
"""How many cells they look at, if that is fewer; twenty rows in any case."""
COLUMN_LIMIT = 10_000
"""Most columns of a table; every format is asked for them before its rows are parsed."""


def check_columns(name: str, columns: int, exact: bool = True) -> None:
    """Refuse a table with too many columns.

    Parameters
    ----------
    name : str
        Name of the file.
    columns : int
        How many there are, or have been found so far.
    exact : bool
        Whether these are all.

    Raises
    ------
    DataError
        There are more than :data:`COLUMN_LIMIT`.
    """
    if columns > COLUMN_LIMIT:
        found = (
            f"has {columns:,} columns, more than the {COLUMN_LIMIT:,} allowed"
            if exact
            else f"has more than the {COLUMN_LIMIT:,} columns allowed"
        )
        raise DataError(f"“{name}” {found}; keep those you need.")


def sample_rows(columns: int) -> int:
    """Return how many rows the guesses look at.

    Examples
    --------
    >>> sample_rows(10), sample_rows(4000), sample_rows(100_000_000)
    (1000, 250, 20)
    """
    return min(SAMPLE_ROWS, max(20, SAMPLE_CELLS // max(columns, 1)))


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

    def refusal(self, columns: int, check: str = "check the delimiter, the quotation marks and") -> DataError:
        """Sentence for a table in which most rows do not fit; ``check`` begins what to look at."""
        return DataError(
            f"{self.phrase(columns)}; too many rows do not fit, so {check} whether the first row names every column."
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


__all__ = ["COLUMN_LIMIT", "SAMPLE_CELLS", "SAMPLE_ROWS", "Ragged", "Sample", "check_columns", "sample_rows"]
