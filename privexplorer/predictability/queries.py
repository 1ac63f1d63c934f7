"""Sensitive queries: conditions and numbers over columns, many at once (spec predictability, sections 1.1 and 2.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from privexplorer.arrays import BoolArray, FloatArray
from privexplorer.errors import DataError, ParameterError
from privexplorer.predictability._checks import check_group
from privexplorer.predictability.expressions import Expression, all_of, any_of, comparison, negation, parse
from privexplorer.predictability.tables import Table, column, column_labels, row_count


@dataclass(frozen=True)
class ExpressionQueries:
    """Queries written as formulas or conditions; make them with :func:`query_set`.

    Attributes
    ----------
    expressions : tuple of Expression
        One per query.
    names : tuple of str
        Shown for each query.
    binary : tuple of bool
        Which are conditions, answered by 1 (yes) or 0 (no).
    """

    expressions: tuple[Expression, ...]
    names: tuple[str, ...]
    binary: tuple[bool, ...]

    @property
    def width(self) -> int:
        """Number of queries."""
        return len(self.expressions)

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the answers of these rows into ``out``, shape ``(rows, queries)``."""
        for place, expression in enumerate(self.expressions):
            out[:, place] = expression.numbers(table)

    def view(self, table: Table) -> FloatArray | None:
        """Return None: expressions are worked out."""
        return None

    def evaluate(self, table: Table) -> FloatArray:
        """Return the answers, shape ``(rows, queries)`` (DataError where one is missing)."""
        return np.column_stack([expression.evaluate(table) for expression in self.expressions])


@dataclass(frozen=True)
class ColumnQueries:
    """Columns as queries, as they stand; make them with :func:`column_queries`.

    Attributes
    ----------
    columns : tuple of str
        Plain columns or matrices.
    names : tuple of str
        One per query.
    binary : tuple of bool
        Which are columns of truth values.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    binary: tuple[bool, ...]
    starts: tuple[int, ...] = field(repr=False)

    @property
    def width(self) -> int:
        """Number of queries."""
        return len(self.names)

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the answers of these rows into ``out``, shape ``(rows, queries)``."""
        for name, start in zip(self.columns, self.starts, strict=True):
            values = column(table, name)
            if values.ndim == 1:
                out[:, start] = values
            else:
                out[:, start : start + values.shape[1]] = values

    def view(self, table: Table) -> FloatArray | None:
        """Return the answers without copying where they are one matrix of doubles; otherwise None."""
        values = column(table, self.columns[0])
        return values if len(self.columns) == 1 and values.ndim == 2 and values.dtype == np.float64 else None

    def evaluate(self, table: Table) -> FloatArray:
        """Return the answers, shape ``(rows, queries)``."""
        out = np.empty((row_count(table), self.width))
        self.fill(table, out)
        return out


def query_set(texts: Sequence[str | Expression], table: Table, names: Sequence[str] | None = None) -> ExpressionQueries:
    """Return queries from texts such as ``age >= 65`` or ``income / 1000``.

    Parameters
    ----------
    texts : sequence of str or Expression
        At least one.
    table : mapping
        A table (or a part of it) that tells which columns there are.
    names : sequence of str, optional
        Shown instead of the texts.

    Raises
    ------
    ParameterError
        If a text is not understood or there is none.
    DataError
        If a column is missing.

    Examples
    --------
    >>> asked = query_set(["age >= 65", "income"], {"age": np.array([70, 30]), "income": np.array([1.0, 2.0])})
    >>> asked.binary
    (True, False)
    """
    if not texts:
        raise ParameterError("At least one query is needed.", field="queries")
    found = tuple(parse(text) if isinstance(text, str) else text for text in texts)
    kinds = [expression.kind(table) for expression in found]
    for expression, kind in zip(found, kinds, strict=True):
        if kind == "text":
            raise ParameterError(
                f"The query '{expression.text}' is a text; ask for one of its values, as in {expression.text} = "
                '"...".',
                field="queries",
            )
    labels = tuple(names) if names is not None else tuple(expression.text for expression in found)
    if len(labels) != len(found):
        raise ParameterError(f"There are {len(found)} queries but {len(labels)} names.", field="names")
    return ExpressionQueries(found, labels, tuple(kind == "condition" for kind in kinds))


def column_queries(names: Sequence[str], table: Table) -> ColumnQueries:
    """Return columns of numbers (plain or matrices) as queries.

    Examples
    --------
    >>> column_queries(["q"], {"q": np.zeros((5, 3))}).names
    ('q[1]', 'q[2]', 'q[3]')
    """
    if not names:
        raise ParameterError("At least one query is needed.", field="queries")
    starts, binary, start = [], [], 0
    for name in names:
        values = column(table, name)
        if values.dtype.kind not in "buif" or values.ndim not in (1, 2):
            raise DataError(f"Column '{name}' must hold numbers.")
        width = 1 if values.ndim == 1 else int(values.shape[1])
        starts.append(start)
        binary += [values.dtype.kind == "b"] * width
        start += width
    return ColumnQueries(tuple(names), column_labels(table, names), tuple(binary), tuple(starts))


def candidate_queries(table: Table, columns: Sequence[str] | None = None, most: int = 40) -> tuple[str, ...]:
    """Return one or more conditions per column, as a start for a map of queries (V4).

    Numbers with many values are split at their median, other columns at each value that between 1 % and 99 % of the
    people have.

    Parameters
    ----------
    columns : sequence of str, optional
        Which; all plain columns if left out.
    most : int
        At most this many conditions.

    Examples
    --------
    >>> candidate_queries({"age": np.arange(30.0), "city": np.array(["Rome"] * 10 + ["Oslo"] * 20)})
    ('age > 14.5', 'city = "Oslo"', 'city = "Rome"')
    """
    out: list[str] = []
    for name in columns if columns is not None else list(table):
        values = column(table, name)
        if values.ndim != 1:
            continue
        if values.dtype.kind == "b":
            out.append(comparison(name, "=", True).text)
            continue
        if values.dtype.kind in "OUST":
            values = values[[isinstance(value, str) for value in values]] if values.dtype.kind == "O" else values
        else:
            values = values[np.isfinite(values)] if values.dtype.kind == "f" else values
        levels, counts = np.unique(values, return_counts=True)
        if values.dtype.kind not in "OUST" and levels.size > 12:
            middle = float(f"{float(np.median(values)):.6g}")
            out.append(comparison(name, ">", middle).text)
            continue
        order = np.argsort(-counts, kind="stable")
        common = [place for place in order if 0.01 <= counts[place] / max(values.size, 1) <= 0.99]
        if len(common) == 2 and levels.size == 2 and values.dtype.kind not in "OUST":
            common = [int(levels.argmax())]
        out += [
            comparison(name, "=", str(levels[place]) if values.dtype.kind in "OUST" else float(levels[place])).text
            for place in common
        ]
    return tuple(out[:most])


def subgroup(condition: str | Expression, table: Table) -> BoolArray:
    """Return who belongs to the subgroup G given by a condition (Rem 2.8).

    Raises
    ------
    ParameterError
        If the text is not a condition, or nobody meets it.
    """
    expression = parse(condition) if isinstance(condition, str) else condition
    if expression.kind(table) != "condition":
        raise ParameterError(
            f"A subgroup needs a condition (yes or no); '{expression.text}' is not one.", field="group"
        )
    return check_group(expression.evaluate(table) == 1.0)


__all__ = [
    "ColumnQueries",
    "ExpressionQueries",
    "all_of",
    "any_of",
    "candidate_queries",
    "column_queries",
    "comparison",
    "negation",
    "query_set",
    "subgroup",
]
