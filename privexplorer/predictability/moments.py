"""Moments that the caller worked out: the recipe "queries, moments, derivative" on plain arrays (after Rem 3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import ConvergenceError, DataError, ParameterError
from privexplorer.predictability._checks import as_numbers, check_same_rows
from privexplorer.predictability.summary import MomentSummary, check_identified
from privexplorer.predictability.sums import RowWeights, summarise
from privexplorer.predictability.tables import Table

_SMALL = 20_000  # up to here plain arrays are always summed through a root
_ROOT_SLACK = 1e-8  # mean of the moments against their largest value


@dataclass(frozen=True, eq=False)
class _ArrayQueries:
    names: tuple[str, ...]
    binary: tuple[bool, ...]

    @property
    def width(self) -> int:
        return len(self.names)

    def fill(self, table: Table, out: FloatArray) -> None:
        out[:] = table["query"]

    def view(self, table: Table) -> FloatArray | None:
        return None


@dataclass(frozen=True, eq=False)
class _ArrayRelease:
    parameters: FloatArray
    jacobian: FloatArray
    centred: bool = True
    is_deficient: bool = False
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return int(self.jacobian.shape[0])

    def fill(self, table: Table, out: FloatArray) -> None:
        out[:] = table["moments"]

    def finished(self, mean: FloatArray) -> FloatArray:
        return self.parameters


def moment_summary(
    queries: ArrayLike,
    moments: ArrayLike,
    jacobian: ArrayLike | None = None,
    *,
    weights: ArrayLike | None = None,
    target: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    weight_moment: bool = False,
) -> MomentSummary:
    """Return the summary of moments that the caller worked out (the three-step recipe after Rem 3.7).

    Parameters
    ----------
    queries : (N,) or (N, K) array
        Answers of everybody to one or more queries.
    moments : (N, m) or (N,) array
        Moments of everybody at the released numbers; each column averages to 0.
    jacobian : (m, d) array, optional
        Mean derivative of the moments; minus the identity if left out (a mean is released).
    weights : (N,) array, optional
        Importance weights w = 1/(p N), all above 0; the mean of 1/w is 1.
    target : (N,) array, optional
        Ratios N p' of a target law, for instance N/|G| in a subgroup and 0 outside (Rem 2.8).
    names : sequence of str, optional
        Names of the queries.
    weight_moment : bool
        Append the moment 1 - 1/w (erratum E16).

    Returns
    -------
    MomentSummary

    Raises
    ------
    DataError
        For shapes that do not fit or values that are not numbers.
    ParameterError
        For weights outside their range, or numbers that the moments do not identify.
    ConvergenceError
        If the moments do not average to 0.

    Examples
    --------
    >>> x = np.arange(1.0, 9.0)
    >>> summary = moment_summary([0, 0, 0, 1, 0, 1, 1, 1], x - x.mean())
    >>> summary.query_variance, summary.moment_covariance
    (array([0.25]), array([[5.25]]))
    """
    asked = as_numbers(queries, "the query")
    moving = as_numbers(moments, "the moments")
    asked = asked[:, None] if asked.ndim == 1 else asked
    moving = moving[:, None] if moving.ndim == 1 else moving
    if asked.ndim != 2 or moving.ndim != 2:
        raise DataError("Queries and moments are tables with one row per person.")
    check_same_rows(asked.shape[0], moving.shape[0], "the query", "the moments")
    width = moving.shape[1]
    slope = -np.eye(width) if jacobian is None else np.atleast_2d(as_numbers(jacobian, "the derivative J"))
    if slope.shape[0] != width:
        raise ParameterError(
            f"The derivative J needs one row per moment: it is {slope.shape[0]} × {slope.shape[1]}, and there are "
            f"{width} moments.",
            field="jacobian",
        )
    if slope.shape[0] < slope.shape[1]:
        raise ParameterError(
            f"The released numbers are not identified: there are {slope.shape[1]} of them but only {slope.shape[0]} "
            "moments.",
            field="jacobian",
        )
    check_identified(slope)
    labels = tuple(names) if names is not None else tuple(f"query {place + 1}" for place in range(asked.shape[1]))
    given = RowWeights(
        None if weights is None else _checked_weights(weights, asked.shape[0]),
        None if target is None else _checked_target(target, asked.shape[0]),
    )
    mean = np.abs(moving.mean(axis=0))
    largest = float(np.abs(moving).max(initial=0.0))
    if float(mean.max(initial=0.0)) > _ROOT_SLACK * largest:
        raise ConvergenceError(
            "The released numbers do not solve the release's own equations: their moments should average to 0, but "
            f"the average is {float(mean.max()):.3g} (largest moment {largest:.3g})."
        )
    release = _ArrayRelease(np.zeros(slope.shape[1]), slope)
    return summarise(
        {"query": asked, "moments": moving},
        _ArrayQueries(labels, tuple(bool(np.all((one == 0.0) | (one == 1.0))) for one in asked.T)),
        release,
        given,
        as_root=True if asked.shape[0] <= _SMALL else None,
        weight_moment=weight_moment,
    )


def _checked_weights(weights: ArrayLike, records: int) -> FloatArray:
    values = as_numbers(weights, "the importance weights", 1)
    check_same_rows(records, values.size, "the query", "the weights")
    if not np.all(values > 0.0):
        row = int(np.argmax(~(values > 0.0)))
        raise ParameterError(
            f"Every importance weight must be above 0 (Assumption 3.1); the one in row {row + 1:,} is "
            f"{float(values[row]):g}.",
            field="weights",
        )
    return values


def _checked_target(target: ArrayLike, records: int) -> FloatArray:
    values = as_numbers(target, "the target law", 1)
    check_same_rows(records, values.size, "the query", "the target law")
    if np.any(values < 0.0):
        row = int(np.argmax(values < 0.0))
        raise ParameterError(
            f"The target law must not be negative; in row {row + 1:,} it is {float(values[row]):g}.", field="target"
        )
    return values


def subgroup_target(members: ArrayLike) -> FloatArray:
    """Return the ratios N p' of the uniform law on a subgroup (Rem 2.8): N/|G| inside, 0 outside.

    Examples
    --------
    >>> subgroup_target(np.array([True, False, True, False]))
    array([2., 0., 2., 0.])
    """
    group = np.asarray(members)
    if group.dtype.kind != "b":
        raise DataError("A subgroup is a yes or no for each person.")
    size = int(group.sum())
    if size == 0:
        raise ParameterError("The subgroup is empty; choose a condition that at least one person meets.", field="group")
    return np.where(group, group.size / size, 0.0)


__all__ = ["moment_summary", "subgroup_target"]
