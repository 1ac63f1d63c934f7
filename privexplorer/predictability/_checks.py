"""Checks of what comes from outside; each failure is one plain sentence (spec predictability, section 9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privexplorer.arrays import FloatArray
from privexplorer.distributions.checks import whole_number
from privexplorer.errors import DataError, ParameterError

_ASYMMETRY = 1e-8
_NEGATIVE = 1e-10
_TOTAL = 1e-8


def check_fraction(compromised_fraction: float) -> float:
    """Return the compromised fraction if it lies strictly between 0 and 1 (ParameterError otherwise)."""
    value = float(compromised_fraction)
    if not 0.0 < value < 1.0:
        raise ParameterError(
            f"The compromised fraction α must lie strictly between 0 and 1; it is {value:g}.",
            field="compromised_fraction",
        )
    return value


def check_draws(draws: Any, records: int | None = None) -> int:
    """Return the size of the core knowledge: a whole number from 2, at most ``records`` where that is given."""
    size = whole_number(draws, "The number of compromised records n", "draws", least=2)
    if records is not None and size >= records:
        raise ParameterError(
            f"The number of compromised records n must be below the {records:,} records of the table when nobody is "
            f"drawn twice; it is {size:,}.",
            field="draws",
        )
    return size


def check_records(records: Any) -> int:
    """Return the number of records if it is a whole number of at least 2."""
    return whole_number(records, "The number of records N", "records", least=2)


def check_level(value: float, what: str, field: str) -> float:
    """Return a probability strictly between 0 and 1."""
    number = float(value)
    if not 0.0 < number < 1.0:
        raise ParameterError(f"{what} must lie strictly between 0 and 1; it is {number:g}.", field=field)
    return number


def check_positive(value: float, what: str, field: str) -> float:
    """Return a finite number above 0."""
    number = float(value)
    if not (math.isfinite(number) and number > 0.0):
        raise ParameterError(f"{what} must be above 0; it is {number:g}.", field=field)
    return number


def check_non_negative(value: float, what: str, field: str) -> float:
    """Return a finite number of at least 0."""
    number = float(value)
    if not (math.isfinite(number) and number >= 0.0):
        raise ParameterError(f"{what} must be a number of at least 0; it is {number:g}.", field=field)
    return number


def check_finite(values: NDArray[Any], what: str, columns: Sequence[str] | None = None, first_row: int = 0) -> None:
    """Refuse values that are not numbers; the sentence names the first row (from 1) and the column.

    Parameters
    ----------
    values : (rows,) or (rows, columns) array
        What is checked; arrays of truth values and whole numbers always pass.
    what : str
        Words for the table, such as "the query".
    columns : sequence of str, optional
        Names of the columns.
    first_row : int
        How many rows came before this part of the table.
    """
    if values.dtype.kind in "bui":
        return
    if values.dtype.kind != "f":
        raise DataError(f"Numbers are needed in {what}; it holds values of another kind.")
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    where = np.argwhere(bad)[0]
    row = int(where[0])
    value = float(values[tuple(where)])
    shown = "missing or not a number" if math.isnan(value) else "infinite"
    name = what
    if values.ndim == 2:
        place = int(where[1])
        name = f"column '{columns[place]}' of {what}" if columns is not None else f"column {place + 1} of {what}"
    raise DataError(
        f"The value in row {first_row + row + 1:,}, {name}, is {shown}; every value must be a finite number.",
        hint="Leave out the row or fill in the value.",
    )


def as_numbers(values: ArrayLike, what: str, dimensions: int | None = None) -> FloatArray:
    """Return an array of finite double-precision numbers (DataError otherwise)."""
    given = np.asarray(values)
    if given.dtype.kind not in "buif":
        raise DataError(f"Numbers are needed in {what}; it holds values of another kind.")
    if dimensions is not None and given.ndim != dimensions:
        raise DataError(f"A table with {dimensions} dimension(s) is needed in {what}; it has {given.ndim}.")
    check_finite(given, what)
    return np.asarray(given, dtype=np.float64)


def check_same_rows(first: int, second: int, what_first: str, what_second: str) -> None:
    """Refuse two tables of different length."""
    if first != second:
        raise DataError(
            f"Both parts need one row per person: {what_first} has {first:,} rows and {what_second} has {second:,}."
        )


def check_covariance(covariance: ArrayLike, dimension: int, what: str = "The noise covariance Σ") -> FloatArray:
    """Return a symmetric positive semi-definite matrix of the given size.

    Raises
    ------
    ParameterError
        If the shape is another one, the matrix is not symmetric, or an eigenvalue lies below -1e-10 times the largest.
    """
    matrix = np.asarray(covariance, dtype=np.float64)
    if matrix.shape != (dimension, dimension):
        shown = " × ".join(str(size) for size in matrix.shape) or "a single number"
        raise ParameterError(
            f"{what} must be a {dimension} × {dimension} matrix, one row per released number; it is {shown}.",
            field="covariance",
        )
    if not np.isfinite(matrix).all():
        row, column = np.argwhere(~np.isfinite(matrix))[0]
        raise ParameterError(
            f"{what} must hold finite numbers; the entry in row {row + 1}, column {column + 1} is not one.",
            field="covariance",
        )
    scale = float(np.abs(matrix).max(initial=0.0))
    if scale == 0.0:
        return matrix
    gap = float(np.abs(matrix - matrix.T).max())
    if gap > _ASYMMETRY * scale:
        raise ParameterError(
            f"{what} must be symmetric; two entries that mirror each other differ by {gap:.3g}.", field="covariance"
        )
    symmetric = np.asarray(0.5 * (matrix + matrix.T))
    values = np.linalg.eigvalsh(symmetric)
    if float(values[0]) < -_NEGATIVE * float(np.abs(values).max()):
        raise ParameterError(
            f"{what} must not have negative eigenvalues; the smallest is {float(values[0]):.3g}.", field="covariance"
        )
    return symmetric


def check_probabilities(probabilities: ArrayLike, records: int | None = None) -> FloatArray:
    """Return a law over individuals: every entry above 0, sum 1 (Assumption 3.1).

    Raises
    ------
    ParameterError
        If an entry is not above 0, or the sum is not 1 to 1e-8.
    """
    law = np.asarray(probabilities, dtype=np.float64).ravel()
    if records is not None and law.size != records:
        raise DataError(f"The sampling law has {law.size:,} entries, but there are {records:,} records.")
    bad = ~(np.isfinite(law) & (law > 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ParameterError(
            f"Every person must have a probability above 0 of being drawn (Assumption 3.1); the one in row {row + 1:,} "
            f"has {float(law[row]):g}.",
            field="probabilities",
        )
    total = float(law.sum())
    if abs(total - 1.0) > _TOTAL:
        raise ParameterError(
            f"The probabilities of being drawn must sum to 1 (Assumption 3.1); they sum to {total:.10g}.",
            field="probabilities",
        )
    return law


def check_scores(scores: ArrayLike, column: str = "") -> FloatArray:
    """Return weights from a column, named if its name is given, each above 0; they need not sum to 1."""
    values = as_numbers(scores, f"the column of weights “{column}”" if column else "the column of weights", 1)
    bad = ~(values > 0.0)
    if bad.any():
        row = int(np.argmax(bad))
        where, remedy = (f" of column “{column}”", "another column") if column else ("", "others")
        raise ParameterError(
            f"Every weight must be above 0, as everybody must have a chance to be drawn (Assumption 3.1); the one in "
            f"row {row + 1:,}{where} is {float(values[row]):g}; choose {remedy}, all above 0.",
            field="weights",
        )
    return values


def check_group(members: ArrayLike, records: int | None = None) -> NDArray[np.bool_]:
    """Return the membership of a subgroup; it must not be empty."""
    group = np.asarray(members)
    if group.dtype.kind != "b":
        raise DataError("A subgroup is a yes or no for each person.")
    if records is not None and group.shape != (records,):
        raise DataError(f"The subgroup has {group.size:,} entries, but there are {records:,} records.")
    if not group.any():
        raise ParameterError("The subgroup is empty; choose a condition that at least one person meets.", field="group")
    return group


def check_tau(tau: float) -> float:
    """Return the clipping level of answers under log loss if it lies in (0, 1/2]."""
    value = float(tau)
    if not 0.0 < value <= 0.5:
        raise ParameterError(f"The clipping level τ must be above 0 and at most 0.5; it is {value:g}.", field="tau")
    return value


__all__ = [
    "as_numbers",
    "check_covariance",
    "check_draws",
    "check_finite",
    "check_fraction",
    "check_group",
    "check_level",
    "check_non_negative",
    "check_positive",
    "check_probabilities",
    "check_records",
    "check_same_rows",
    "check_scores",
    "check_tau",
]
