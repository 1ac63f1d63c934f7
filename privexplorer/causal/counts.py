"""From three columns to tables: what the discrete analysis needs to know about the records, and nothing else.

The outcome, the treatment and the released (noisy) categories of n people are counted once. An outcome with few values
keeps its table of counts; any other outcome is kept as number, sum and spread in each cell of treatment and category,
which is all that the estimators of spec section 2.3 use.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.distributions.checks import whole_number
from privexplorer.errors import DataError, ParameterError

FEW_VALUES = 12
"""An outcome with at most this many different values keeps its full table of counts."""

LARGEST = 1e150
"""Largest outcome: squares of larger ones, summed over the records, are beyond what a number can hold."""

_SHOWN = 5
_Missing = Literal["fail", "drop"]


@dataclass(frozen=True, eq=False)
class CellSums:
    """Number, mean and spread of the outcome in each cell of treatment and released category.

    Attributes
    ----------
    size : (2, J, ...) array
        Number of records (S₀).
    mean : (2, J, ...) array
        Mean outcome of the cell, 0 where it is empty.
    spread : (2, J, ...) array
        Sum of squared distances from that mean, at least 0.
    """

    size: FloatArray
    mean: FloatArray
    spread: FloatArray

    @property
    def total(self) -> FloatArray:
        """Sum of the outcome in each cell (S₁)."""
        return self.size * self.mean

    @property
    def square(self) -> FloatArray:
        """Sum of the squared outcome in each cell (S₂)."""
        return self.spread + self.size * self.mean**2


@dataclass(frozen=True, eq=False)
class DiscreteCounts:
    """Records counted by outcome, treatment and released category.

    Attributes
    ----------
    sums : CellSums
        Sums over all records, arrays of shape (2, J).
    fold_sums : tuple of CellSums
        The same for each of the folds.
    counts : (Y, 2, J) array or None
        Table of counts, for an outcome with few values.
    fold_counts : (folds, Y, 2, J) array or None
        The same for each of the folds.
    values : (Y,) array or None
        Values of the outcome, rising, for an outcome with few values.
    low, high : float
        Smallest and largest outcome.
    levels : tuple
        Labels of the categories; category x of the mechanism is ``levels[x]``.
    arms : tuple
        Labels of the two treatments: untreated, treated.
    dropped : int
        Number of rows that were left out because a value was missing.
    """

    sums: CellSums
    fold_sums: tuple[CellSums, ...]
    counts: IntArray | None
    fold_counts: IntArray | None
    values: FloatArray | None
    low: float
    high: float
    levels: tuple[Hashable, ...]
    arms: tuple[Hashable, Hashable] = (0, 1)
    dropped: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def records(self) -> int:
        """Number of people (n)."""
        return int(self.sums.size.sum())

    @property
    def folds(self) -> int:
        """Number of folds."""
        return len(self.fold_sums)

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike,
        values: ArrayLike | None = None,
        *,
        levels: Sequence[Hashable] | None = None,
        folds: int = 5,
        rng: np.random.Generator | None = None,
    ) -> DiscreteCounts:
        """Start from a table of counts.

        Parameters
        ----------
        counts : (Y, 2, J) array of int
            Number of records with outcome ``values[y]``, treatment d and released category z.
        values : (Y,) array, optional
            Different finite values of the outcome, rising; 0, 1, ... if left out.
        levels : sequence, optional
            Labels of the categories; 0, 1, ... if left out.
        folds : int
            Number of folds, at least 2; the records of each cell are dealt out to them at random.
        rng : Generator, optional
            Deals out the records; a fixed one if left out.

        Raises
        ------
        DataError
            If a count is negative or not whole, the shape is another one, or nobody is left in an arm.

        Examples
        --------
        >>> DiscreteCounts.from_counts([[[3, 1], [2, 2]], [[1, 1], [4, 2]]]).records
        16
        """
        table = np.asarray(counts)
        if table.ndim != 3 or table.shape[1] != 2 or min(table.shape) < 1:
            raise DataError(
                "A table of counts has three directions: outcome, treatment (two values) and released category; "
                f"this one has the shape {table.shape}."
            )
        if table.dtype.kind not in "bui" and not (np.isfinite(table).all() and (table == np.floor(table)).all()):
            raise DataError("A table of counts must hold whole numbers.")
        whole = table.astype(np.int64)
        if (whole < 0).any():
            raise DataError(f"A count must not be negative; the smallest is {int(whole.min()):,}.")
        grid = np.arange(table.shape[0], dtype=np.float64) if values is None else np.asarray(values, dtype=np.float64)
        if grid.shape != (table.shape[0],) or not np.isfinite(grid).all() or (np.diff(grid) <= 0).any():
            raise DataError("The values of the outcome must be finite and rising, one for each layer of the table.")
        parts = _fold_number(folds)
        dealer = np.random.default_rng(0) if rng is None else rng
        dealt = _deal(whole, parts, dealer)
        labels = tuple(range(table.shape[2])) if levels is None else tuple(levels)
        if len(labels) != table.shape[2]:
            raise DataError(f"There are {len(labels)} labels for {table.shape[2]} categories.")
        _both_arms(whole.sum(axis=(0, 2)))
        outcome_in_range(grid)
        seen = grid[whole.sum(axis=(1, 2)) > 0]
        return cls(
            sums=sums_of_counts(whole, grid),
            fold_sums=tuple(sums_of_counts(part, grid) for part in dealt),
            counts=whole,
            fold_counts=dealt,
            values=grid,
            low=float(seen.min()),
            high=float(seen.max()),
            levels=labels,
        )


def sums_of_counts(counts: NDArray[Any], values: FloatArray) -> CellSums:
    """Return number, mean and spread in each cell from a table of counts.

    Parameters
    ----------
    counts : (Y, 2, J, ...) array
        Numbers of records.
    values : (Y,) array
        Values of the outcome.

    Examples
    --------
    >>> import numpy as np
    >>> sums_of_counts(np.array([[[1, 2], [0, 1]], [[3, 2], [0, 0]]]), np.array([0.0, 1.0])).mean
    array([[0.75, 0.5 ],
           [0.  , 0.  ]])
    """
    table = np.asarray(counts, dtype=np.float64)
    size = table.sum(axis=0)
    grid = values.reshape((-1,) + (1,) * size.ndim)
    mean = (table * grid).sum(axis=0) / np.maximum(size, 1.0)
    spread = (table * (grid - mean) ** 2).sum(axis=0)
    return CellSums(size, mean, spread)


def tabulate(
    outcome: ArrayLike,
    treatment: ArrayLike,
    released: ArrayLike,
    levels: int | Sequence[Hashable],
    *,
    treated: Hashable | None = None,
    missing: _Missing = "fail",
    folds: int = 5,
    fold_ids: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    few_values: int = FEW_VALUES,
) -> DiscreteCounts:
    """Count records by outcome, treatment and released category (step 1 of spec section 2.3).

    Parameters
    ----------
    outcome : (n,) array
        Finite numbers.
    treatment : (n,) array
        Exactly two different values; with 0 and 1 (or no and yes) 1 means treated.
    released : (n,) array
        Noisy categories, each one of ``levels``.
    levels : int or sequence
        Public list of categories in the order of the mechanism, or their number J for codes 0, ..., J - 1.
    treated : label, optional
        Which of the two treatments means treated; needed where they are not 0 and 1.
    missing : ``fail`` or ``drop``
        What to do with rows in which one of the three values is missing; dropped rows are counted.
    folds : int
        Number of random folds for cross-fitting, at least 2.
    fold_ids : (n,) array of int, optional
        Folds chosen by the caller, numbers 0, ..., ``folds`` - 1.
    rng : Generator, optional
        Draws the folds; a fixed one if left out.
    few_values : int
        Largest number of different outcomes for which the table of counts is kept.

    Returns
    -------
    DiscreteCounts
        The table.

    Raises
    ------
    DataError
        If a column cannot be used; the sentence says which and why.

    Examples
    --------
    >>> tabulate([1.0, 0.0, 1.0], [1, 0, 0], ["b", "a", "b"], ["a", "b"]).sums.size
    array([[1., 1.],
           [0., 1.]])
    """
    if missing not in ("fail", "drop"):
        raise ParameterError(
            f"Rows with missing values can be refused (fail) or left out (drop); “{missing}” is neither.",
            field="missing",
        )
    parts = _fold_number(folds)
    columns = [np.asarray(outcome), np.asarray(treatment), np.asarray(released)]
    _same_length(columns)
    y = outcome_numbers(columns[0])
    gaps = [np.isnan(y), missing_rows(columns[1]), missing_rows(columns[2])]
    kept, dropped = _kept(gaps, missing)
    own_folds = None if fold_ids is None else np.asarray(fold_ids)
    if own_folds is not None and own_folds.shape != y.shape:
        raise DataError(f"There are {own_folds.size:,} fold numbers for {y.size:,} rows.")
    if kept is not None:
        y, columns[1], columns[2] = y[kept], columns[1][kept], columns[2][kept]
        own_folds = None if own_folds is None else own_folds[kept]
    if y.size == 0:
        raise DataError("No rows are left to analyse.")
    if np.isinf(y).any():
        raise DataError(
            f"The outcome column must be numeric and finite; row {int(np.argmax(np.isinf(y))) + 1:,} is not."
        )
    outcome_in_range(y)
    d, arms = arm_codes(columns[1], treated)
    labels, z = category_codes(columns[2], levels)
    size = len(labels)
    if own_folds is None:
        fold = (np.random.default_rng(0) if rng is None else rng).integers(parts, size=y.size)
    else:
        fold = own_folds.astype(np.int64)
        if (fold != own_folds).any() or fold.min() < 0 or fold.max() >= parts:
            raise DataError(f"Fold numbers run from 0 to {parts - 1}.")
    notes = (f"{dropped:,} rows with missing values were left out.",) if dropped else ()
    cell = (fold * 2 + d) * size + z
    values, y_code = _few(y, few_values)
    low, high = float(y.min()), float(y.max())
    if values is not None and y_code is not None:
        shape = (parts, 2, size, values.size)
        flat = np.bincount(cell * values.size + y_code, minlength=int(np.prod(shape)))
        dealt = np.ascontiguousarray(np.moveaxis(flat.reshape(shape), 3, 1)).astype(np.int64)
        whole = dealt.sum(axis=0)
        _both_arms(whole.sum(axis=(0, 2)))
        return DiscreteCounts(
            sums_of_counts(whole, values),
            tuple(sums_of_counts(part, values) for part in dealt),
            whole,
            dealt,
            values,
            low,
            high,
            labels,
            arms,
            dropped,
            notes,
        )
    dealt_sums = _cell_sums(y, cell, (parts, 2, size))
    by_fold = tuple(CellSums(dealt_sums.size[k], dealt_sums.mean[k], dealt_sums.spread[k]) for k in range(parts))
    together = _cell_sums(y, d * size + z, (2, size))
    _both_arms(together.size.sum(axis=1))
    return DiscreteCounts(together, by_fold, None, None, None, low, high, labels, arms, dropped, notes)


def _cell_sums(y: FloatArray, cell: IntArray, shape: tuple[int, ...]) -> CellSums:
    """Two passes over the records: means first, then distances from them."""
    cells = int(np.prod(shape))
    size = np.bincount(cell, minlength=cells).astype(np.float64)
    mean = np.bincount(cell, weights=y, minlength=cells) / np.maximum(size, 1.0)
    spread = np.asarray(np.bincount(cell, weights=(y - mean[cell]) ** 2, minlength=cells), dtype=np.float64)
    return CellSums(size.reshape(shape), mean.reshape(shape), spread.reshape(shape))


def _deal(counts: IntArray, folds: int, rng: np.random.Generator) -> IntArray:
    """Deal the records of every cell out to folds, each record to each fold with the same probability."""
    dealt = rng.multinomial(counts, np.full(folds, 1.0 / folds))
    return np.ascontiguousarray(np.moveaxis(dealt, -1, 0)).astype(np.int64)


def _fold_number(folds: Any) -> int:
    return whole_number(folds, "The number of folds", "folds", least=2)


def _same_length(columns: Sequence[NDArray[Any]]) -> None:
    shapes = [column.shape for column in columns]
    if any(len(shape) != 1 for shape in shapes) or len(set(shapes)) != 1:
        lengths = ", ".join(f"{column.size:,}" for column in columns)
        raise DataError(
            f"Outcome, treatment and released column need one value per person each; they have {lengths} values."
        )


def outcome_numbers(column: NDArray[Any]) -> FloatArray:
    """Return the outcome column (n,) as numbers, missing ones as NaN (DataError if it holds anything else)."""
    if column.dtype.kind in "buif":
        return column.astype(np.float64)
    if column.dtype.kind == "O":
        gaps = missing_rows(column)
        if all(isinstance(value, (int, float, np.number, np.bool_)) for value in column[~gaps]):
            filled = np.full(column.shape, np.nan)
            filled[~gaps] = column[~gaps].astype(np.float64)
            return filled
        strange = [v for v in column[~gaps] if not isinstance(v, (int, float, np.number, np.bool_))]
    else:
        strange = column.tolist()
    words = next((value for value in strange if not _reads_as_number(value)), None)
    if words is None and strange:
        raise DataError(f"The outcome column must be numeric; it holds numbers as text, such as {worded(strange[0])}.")
    raise DataError(f"The outcome column must be numeric; it holds {worded(words if strange else '')}.")


def _reads_as_number(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return not value.strip()  # an empty cell says nothing wrong
    return True


def outcome_in_range(outcome: FloatArray) -> None:
    """Refuse an outcome column (n,) with numbers whose squares overflow (DataError)."""
    largest = float(np.abs(outcome).max())
    if LARGEST < largest < np.inf:
        raise DataError(
            f"The outcome column holds numbers as large as {largest:.3g}; rescale it: at most {LARGEST:g} in size can "
            "be squared and summed.",
            field="outcome",
        )


def outcome_column(y: ArrayLike) -> FloatArray:
    """Return the outcome as finite numbers (n,) (DataError if it is empty, not one column, or holds anything else)."""
    try:
        found = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("The outcome column must be numeric.", field="outcome") from None
    if found.ndim != 1 or found.size == 0:
        raise DataError("The outcome must be one column with at least one record.", field="outcome")
    if not np.isfinite(found).all():
        missing = int(np.sum(~np.isfinite(found)))
        raise DataError(
            f"The outcome column must be numeric without gaps; {missing:,} records have no finite value.",
            field="outcome",
        )
    outcome_in_range(found)
    return found


def missing_rows(column: NDArray[Any]) -> BoolArray:
    """Return where a value of a column (n,) is missing: not a number, nothing, or an empty date."""
    kind = column.dtype.kind
    if kind == "f":
        return np.asarray(np.isnan(column))
    if kind in "mM":
        return np.asarray(np.isnat(column))
    if kind == "O":
        return np.fromiter((value is None or value != value for value in column), dtype=np.bool_, count=column.size)
    return np.zeros(column.shape, dtype=np.bool_)


def _kept(gaps: Sequence[BoolArray], missing: _Missing) -> tuple[BoolArray | None, int]:
    """Return which rows to keep (None for all) and how many are dropped."""
    gone = gaps[0] | gaps[1] | gaps[2]
    number = int(gone.sum())
    if number == 0:
        return None, 0
    if missing == "fail":
        names = ("outcome", "treatment", "released")
        first = int(np.argmax(gone))
        column = next(name for name, gap in zip(names, gaps, strict=True) if gap[first])
        raise DataError(
            f"{number:,} of {gone.size:,} rows have a missing value, the first in row {first + 1:,} of the {column} "
            "column; leave such rows out or fill them in."
        )
    return ~gone, number


def arm_codes(column: NDArray[Any], treated: Hashable | None) -> tuple[IntArray, tuple[Hashable, Hashable]]:
    """Return the treatment (n,) as 0 and 1, and the labels of untreated and treated.

    Raises
    ------
    DataError
        If there are not exactly two values, or it is not clear which of them means treated.
    """
    if column.dtype.kind in "bui" and column.min() >= 0 and column.max() <= 1:
        low, high = bool(column.min()), bool(column.max())
        found: list[Any] = sorted({int(low), int(high)})
        if column.dtype.kind == "b":
            found = [bool(value) for value in found]
    else:
        found = _distinct(column, 7)
    if len(found) != 2:
        if len(found) == 1:
            raise DataError(
                f"The treatment must have exactly two values; everybody has {_shown(found)}, so there are no treated "
                "or no control units."
            )
        raise DataError(f"The treatment must have exactly two values; this column has {_shown(found)}.")
    if treated is None:
        if not all(isinstance(value, (int, float)) and value in (0, 1) for value in found):
            raise DataError(
                f"The treatment has the values {_shown(found)}; say which of them means treated.", field="treated"
            )
        treated = next(value for value in found if value == 1)
    if treated not in found:
        raise DataError(
            f"The treatment has the values {_shown(found)}; {worded(treated)}, meant as treated, is not one of them.",
            field="treated",
        )
    control = next(value for value in found if value != treated)
    return np.asarray(column == treated, dtype=np.int64), (control, treated)


def _distinct(column: NDArray[Any], most: int) -> list[Any]:
    """Return different values in a stable order, at most ``most`` of them."""
    found: dict[Any, None] = {}
    if column.dtype.kind == "O":
        for value in column:
            found.setdefault(value, None)
            if len(found) >= most:
                break
    else:
        found = dict.fromkeys(np.unique(column)[:most].tolist())
    try:
        return sorted(found)
    except TypeError:
        return list(found)


def worded(value: object) -> str:
    """Write a label as a sentence needs it: texts in quotation marks, whole numbers without a decimal point.

    Examples
    --------
    >>> print(worded("high"), worded(2.0), worded(0.5))
    “high” 2 0.5
    """
    if isinstance(value, str):
        return f"“{value}”"
    if isinstance(value, (float, np.floating)) and float(value).is_integer() and abs(float(value)) < 1e15:
        return str(int(value))
    return str(value)


def _shown(values: Sequence[Any]) -> str:
    words = [worded(value) for value in values[:_SHOWN]] + (["others"] if len(values) > _SHOWN else [])
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def category_codes(column: NDArray[Any], levels: int | Sequence[Hashable]) -> tuple[tuple[Hashable, ...], IntArray]:
    """Return the labels, and the code 0, ..., J - 1 of every value of a column (n,).

    Raises
    ------
    DataError
        If two labels are the same, there are fewer than two, or a value is none of them (five are shown).
    """
    if isinstance(levels, (int, np.integer)):
        labels: tuple[Hashable, ...] = tuple(range(whole_number(levels, "The number of categories", "levels", least=2)))
    else:
        labels = tuple(levels)
        if len(set(labels)) != len(labels):
            raise DataError("Two categories have the same label.", field="levels")
        if len(labels) < 2:
            raise DataError(f"At least two categories are needed; the list has {len(labels)}.", field="levels")
    known = {label: code for code, label in enumerate(labels)}
    if column.dtype.kind == "O":
        codes = np.fromiter((known.get(value, -1) for value in column), dtype=np.int64, count=column.size)
    elif column.dtype.kind in "bui" and labels == tuple(range(len(labels))):
        codes = column.astype(np.int64)
        codes = np.where((codes >= 0) & (codes < len(labels)), codes, -1) if _outside(codes, len(labels)) else codes
    else:
        different, place = np.unique(column, return_inverse=True)
        table = np.array([known.get(value, -1) for value in different.tolist()], dtype=np.int64)
        codes = table[place]
    if codes.min() < 0:
        strange = _distinct(column[codes < 0], _SHOWN + 1)
        raise DataError(
            f"The released column holds values outside the {len(labels)} declared categories: {_shown(strange)}.",
            field="levels",
        )
    return labels, codes


def _outside(codes: IntArray, size: int) -> bool:
    return bool(codes.min() < 0 or codes.max() >= size)


def _few(y: FloatArray, most: int) -> tuple[FloatArray | None, IntArray | None]:
    """Return the values of an outcome with few of them, and the code of every record."""
    if np.unique(y[:2000]).size > most:
        return None, None
    if y.min() >= 0.0 and y.max() <= 1.0 and ((y == 0.0) | (y == 1.0)).all():
        return np.array([0.0, 1.0]), y.astype(np.int64)
    values, code = np.unique(y, return_inverse=True)
    return (None, None) if values.size > most else (values, code.astype(np.int64))


def _both_arms(sizes: NDArray[Any]) -> None:
    for size, name in zip(sizes, ("control", "treated"), strict=True):
        if size == 0:
            raise DataError(f"There are no {name} units.")


__all__ = [
    "FEW_VALUES",
    "CellSums",
    "DiscreteCounts",
    "arm_codes",
    "category_codes",
    "missing_rows",
    "outcome_column",
    "outcome_in_range",
    "outcome_numbers",
    "sums_of_counts",
    "tabulate",
    "worded",
]
