"""The distribution of a table's column: what one random row looks like."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar, Literal

from privexplorer.data import TableColumn, Tables, read_counts, resolve
from privexplorer.distributions.families import Distribution
from privexplorer.distributions.law import DiscreteLaw
from privexplorer.records import field


class Empirical(Distribution):
    """Frequencies of the values of a column; its rows are also a finite population to draw from."""

    kind: Literal["empirical"] = "empirical"
    title: ClassVar[str] = "Column of a table"
    formula: ClassVar[str] = r"p_x = \#\{\text{rows with value } x\}/\#\{\text{rows}\}"
    source: ClassVar[str] = "properties §8.1"
    table: TableColumn = field(
        TableColumn(data="census-surnames", column="surname", counts="count"),
        "Table",
        "The column whose values are the symbols.",
        key="table",
        group="Data",
    )

    def law(self, tables: Tables | None = None) -> DiscreteLaw:
        """Return the frequencies of the column, with its rows as the population.

        Raises
        ------
        DataError
            If the table is not at hand or the column cannot be read.
        """
        source = resolve(self.table, tables)
        # a user's table is never kept here: what is computed from it belongs to the session
        if source.id:
            return _bundled(self.table)
        return DiscreteLaw.from_population(read_counts(source, self.table).counts)

    @property
    def label(self) -> str:
        """Name of the column."""
        return self.table.column or self.title


@lru_cache(maxsize=8)
def _bundled(ref: TableColumn) -> DiscreteLaw:
    return DiscreteLaw.from_population(read_counts(resolve(ref, None), ref).counts)


__all__ = ["Empirical"]
