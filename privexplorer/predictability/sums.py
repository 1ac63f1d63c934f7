"""The four sums that every bound needs, added up over parts of a table (spec predictability, sections 1.2 and 3.1).

For people i = 1..N with query values q, moments g (their mean is 0), importance weights w and target ratios t
(t = 1 unless a subgroup is the target, Rem 2.8):

    p   = mean of t q
    V_q = mean of w t² (q - p)²          variance of the attacker's question
    c   = mean of w t (q - p) g          how it moves with what is released
    V_g = mean of w g gᵀ                 spread of the moments
    J   = mean of ∂g/∂λ                  no weights

A sum over some people is a :class:`MomentSums`; sums add with ``+`` in any order, so row groups of a file and
partitions of a cluster are summed where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.errors import DataError, ParameterError
from privexplorer.predictability._checks import check_same_rows
from privexplorer.predictability.summary import (
    GRAM_CUT,
    ROOT_CUT,
    MomentSummary,
    reduced_root,
    root_from_gram,
)
from privexplorer.predictability.tables import PART_ROWS, Parts, Table, locate_missing, parts_of, row_count

_UNCLEAR = 1e-8  # a scaled V_g with eigenvalues below this is computed again from a root
_FAR = 8.0  # a mean this many standard deviations from 0 is taken off before squaring


class MomentRule(Protocol):
    """What a fitted release must offer: its moments on any part of a table."""

    @property
    def parameters(self) -> FloatArray:
        """Released numbers λ without noise, shape ``(d,)``; a first guess if ``centred`` is false."""
        ...

    @property
    def jacobian(self) -> FloatArray:
        """Mean derivative of the moments, shape ``(m, d)``."""
        ...

    @property
    def width(self) -> int:
        """Number of moments m."""
        ...

    @property
    def centred(self) -> bool:
        """Whether the moments have mean 0 already; else their mean is taken off at the end (means, quantiles)."""
        ...

    @property
    def is_deficient(self) -> bool:
        """Whether the moments are linearly dependent by design, so that a root must be used."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the reader, such as that the numbers are approximate."""
        ...

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the moments of these rows into ``out``, shape ``(rows, m)``."""
        ...

    def finished(self, mean: FloatArray) -> FloatArray:
        """Return λ, given the mean of the moments as they were filled in."""
        ...


class QueryRule(Protocol):
    """What a set of queries must offer."""

    @property
    def width(self) -> int:
        """Number of queries."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """One name per query."""
        ...

    @property
    def binary(self) -> tuple[bool, ...]:
        """Which queries are known to be answered by 0 or 1."""
        ...

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the answers of these rows into ``out``, shape ``(rows, queries)``."""
        ...

    def view(self, table: Table) -> FloatArray | None:
        """Return the answers of these rows if they lie in the table just so; otherwise None."""
        ...


@dataclass(frozen=True)
class RowWeights:
    """What the rows of one part weigh; every array has one entry per row.

    Attributes
    ----------
    importance : float array or None
        Weights w = 1/(p N) of a process that is not uniform.
    target : float array or None
        Ratios t = N p' of a target law p'; 0 outside a subgroup.
    strata : int array or None
        Stratum of each row from 0, for a chain over strata.
    strata_count : int
        Number of strata.
    """

    importance: FloatArray | None = None
    target: FloatArray | None = None
    strata: IntArray | None = None
    strata_count: int = 0

    def part(self, start: int, stop: int) -> RowWeights:
        """Return the weights of rows ``start`` to ``stop``."""
        cut = slice(start, stop)
        return RowWeights(
            None if self.importance is None else self.importance[cut],
            None if self.target is None else self.target[cut],
            None if self.strata is None else self.strata[cut],
            self.strata_count,
        )


@dataclass(frozen=True, eq=False)
class MomentSums:
    """Sums over some people; add the sums over others with ``+``.

    The columns are t(q - query_shift), t, g - moment_shift and, with a target, 1.

    Attributes
    ----------
    count : int
        Number of people.
    queries, moments : int
        Number of queries and of moments.
    query_shift, moment_shift : float arrays
        What was taken off before squaring, so that no digits are lost.
    totals : (columns,) float array
        Plain sums of the columns.
    square : (columns, columns) float array
        Weighted sum of products, or an upper triangular root of it.
    is_root : bool
        Whether ``square`` is a root.
    inverse_weights : float
        Sum of 1/w.
    is_uniform : bool
        Whether everybody weighs the same and is part of the target.
    strata_totals : (strata, columns) float array or None
        Plain sums per stratum.
    """

    count: int
    queries: int
    moments: int
    has_target: bool
    query_shift: FloatArray
    moment_shift: FloatArray
    totals: FloatArray
    square: FloatArray
    is_root: bool
    inverse_weights: float
    is_uniform: bool
    strata_totals: FloatArray | None = None

    def shifted(self, query_shift: FloatArray, moment_shift: FloatArray) -> MomentSums:
        """Return the same sums about other shifts (exact up to rounding)."""
        change = np.eye(self.totals.size)
        target, one = self.queries, self.queries if not self.has_target else self.totals.size - 1
        change[target, : self.queries] = self.query_shift - query_shift
        change[one, self.queries + 1 : self.queries + 1 + self.moments] += self.moment_shift - moment_shift
        square = self.square @ change if self.is_root else change.T @ self.square @ change
        return replace(
            self,
            query_shift=query_shift,
            moment_shift=moment_shift,
            totals=self.totals @ change,
            square=_triangle(square) if self.is_root else square,
            strata_totals=None if self.strata_totals is None else self.strata_totals @ change,
        )

    def __add__(self, other: MomentSums) -> MomentSums:
        """Return the sums over both groups of people."""
        if (self.queries, self.moments, self.has_target, self.is_root) != (
            other.queries,
            other.moments,
            other.has_target,
            other.is_root,
        ):
            raise DataError("Only sums of the same queries and the same release add up.")
        if other.count == 0:
            return self
        if self.count == 0:
            return other
        if not (
            np.array_equal(self.query_shift, other.query_shift)
            and np.array_equal(self.moment_shift, other.moment_shift)
        ):
            share = other.count / (self.count + other.count)
            query_shift = self.query_shift + share * (other.query_shift - self.query_shift)
            moment_shift = self.moment_shift + share * (other.moment_shift - self.moment_shift)
            return self.shifted(query_shift, moment_shift) + other.shifted(query_shift, moment_shift)
        strata = None
        if self.strata_totals is not None and other.strata_totals is not None:
            strata = self.strata_totals + other.strata_totals
        return replace(
            self,
            count=self.count + other.count,
            totals=self.totals + other.totals,
            square=_triangle(np.vstack([self.square, other.square])) if self.is_root else self.square + other.square,
            inverse_weights=self.inverse_weights + other.inverse_weights,
            strata_totals=strata,
        )


def _triangle(rows: FloatArray) -> FloatArray:
    """Return an upper triangular R with RᵀR equal to that of the given rows, of full width."""
    width = rows.shape[1]
    if rows.shape[0] < width:
        rows = np.vstack([rows, np.zeros((width - rows.shape[0], width))])
    return np.asarray(np.linalg.qr(rows, mode="r"))


def _start(rule: QueryRule | MomentRule, table: Table, width: int) -> FloatArray:
    """Return what to take off before squaring: the mean of some rows, where it is far from 0 against the spread."""
    values = np.empty((row_count(table), rule.width))
    with np.errstate(over="ignore", invalid="ignore"):
        rule.fill(table, values)
        shift = np.zeros(width)
        if values.shape[0]:
            mean = values.mean(axis=0)
            shift[: rule.width] = np.where(np.abs(mean) > _FAR * values.std(axis=0), mean, 0.0)
    return np.where(np.isfinite(shift), shift, 0.0)


def _plain(
    table: Table,
    queries: QueryRule,
    release: MomentRule,
    query_shift: FloatArray,
    moment_shift: FloatArray,
    rows: int,
) -> tuple[FloatArray, FloatArray]:
    """Add up products and columns when everybody weighs the same: the fast way."""
    total = row_count(table)
    asked, moving = queries.width, release.width
    width = asked + 1 + moving
    square = np.zeros((width, width))
    totals = np.zeros(width)
    here, there = slice(0, asked), slice(asked + 1, width)
    size = min(rows, max(total, 1))
    query_buffer, moment_buffer, ones = np.empty((size, asked)), np.empty((size, moving)), np.ones(size)
    shift_queries, shift_moments = bool(np.any(query_shift)), bool(np.any(moment_shift))
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        step = {name: values[start:stop] for name, values in table.items()}
        count = stop - start
        q = None if shift_queries else queries.view(step)
        if q is None:
            q = query_buffer[:count]
            queries.fill(step, q)
            if shift_queries:
                q -= query_shift
        g = moment_buffer[:count]
        release.fill(step, g)
        if shift_moments:
            g -= moment_shift
        square[here, here] += q.T @ q
        square[here, there] += q.T @ g
        square[there, there] += g.T @ g
        totals[here] += ones[:count] @ q
        totals[there] += ones[:count] @ g
    totals[asked] = square[asked, asked] = total
    square[there, here] = square[here, there].T
    for block in (here, there):
        square[asked, block] = square[block, asked] = totals[block]
    return square, totals


def _general(
    table: Table,
    queries: QueryRule,
    release: MomentRule,
    given: RowWeights,
    query_shift: FloatArray,
    moment_shift: FloatArray,
    as_root: bool,
    weight_moment: bool,
    rows: int,
) -> tuple[FloatArray, FloatArray, float, FloatArray | None]:
    """Add up products (or a root of them), columns, 1/w and columns per stratum."""
    total = row_count(table)
    has_target = given.target is not None
    asked = queries.width
    first, last = asked + 1, asked + 1 + release.width
    width = last + weight_moment + has_target
    square = np.zeros((width, width))
    totals = np.zeros(width)
    strata = np.zeros((given.strata_count, width)) if given.strata is not None else None
    inverse = 0.0
    buffer = np.empty((min(rows, max(total, 1)), width))
    roots: list[FloatArray] = []
    for start in range(0, total, rows):
        stop = min(start + rows, total)
        step = {name: values[start:stop] for name, values in table.items()}
        mine = given.part(start, stop)
        z = buffer[: stop - start]
        queries.fill(step, z[:, :asked])
        z[:, :asked] -= query_shift
        z[:, asked] = 1.0
        if mine.target is not None:
            z[:, :first] *= mine.target[:, None]
            z[:, -1] = 1.0
        release.fill(step, z[:, first:last])
        z[:, first:last] -= moment_shift[: release.width]
        reciprocal = np.ones(stop - start) if mine.importance is None else 1.0 / mine.importance
        inverse += float(reciprocal.sum())
        if weight_moment:
            z[:, last] = 1.0 - reciprocal
        totals += z.sum(axis=0)
        if strata is not None and mine.strata is not None:
            np.add.at(strata, mine.strata, z)
        if mine.importance is not None:
            z *= np.sqrt(mine.importance)[:, None]
        if as_root:
            roots.append(z.copy())
            if len(roots) == 8:
                roots = [_triangle(np.vstack(roots))]
        else:
            square += z.T @ z
    if roots:
        square = _triangle(np.vstack(roots))
    return square, totals, inverse, strata


def _locate_undefined(table: Table, queries: QueryRule, release: MomentRule, rows: int) -> None:
    """Name the first row where a query or the release has no finite value, if there is one (DataError)."""
    for start in range(0, row_count(table), rows):
        step = {name: values[start : start + rows] for name, values in table.items()}
        count = row_count(step)
        answers, moments = np.empty((count, queries.width)), np.empty((count, release.width))
        with np.errstate(all="ignore"):
            queries.fill(step, answers)
            release.fill(step, moments)
        for values, names in ((answers, queries.names), (moments, None)):
            bad = ~np.isfinite(values)
            if bad.any():
                row, place = np.argwhere(bad)[0]
                what = "The published formula" if names is None else f"The query '{names[place]}'"
                raise DataError(
                    f"{what} has no finite value in row {start + int(row) + 1:,}; every person needs one.",
                    hint="It may divide by zero or take the logarithm of a number that is not positive there.",
                )


def partial_moments(
    table: Table,
    queries: QueryRule,
    release: MomentRule,
    weights: RowWeights | None = None,
    *,
    query_shift: FloatArray | None = None,
    moment_shift: FloatArray | None = None,
    as_root: bool = False,
    weight_moment: bool = False,
    rows: int = PART_ROWS,
) -> MomentSums:
    """Add up the columns over the people of one part of a table.

    Parameters
    ----------
    table : mapping
        Named columns.
    queries, release : rules
        What to evaluate on the rows.
    weights : RowWeights, optional
        Weights of these rows; a uniform process if left out.
    query_shift, moment_shift : float arrays, optional
        Taken off before squaring; the mean of the first rows if left out. Any values give the same result up to
        rounding.
    as_root : bool
        Keep a root of the products instead of the products: slower, but near-collinear columns keep their digits.
    weight_moment : bool
        Append the moment ``1 - 1/w``, which an attacker who knows the weights may use (erratum E16).
    rows : int
        Rows per step.

    Returns
    -------
    MomentSums

    Raises
    ------
    DataError
        For a value that is not a finite number, naming its row and column.
    """
    total = row_count(table)
    given = weights or RowWeights()
    query_width, moment_width = queries.width, release.width + weight_moment
    if query_shift is None or moment_shift is None:
        first = {name: values[: min(rows, total)] for name, values in table.items()}
        query_shift = _start(queries, first, query_width) if query_shift is None else query_shift
        if moment_shift is None:
            moment_shift = np.zeros(moment_width) if release.centred else _start(release, first, moment_width)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = given.importance is None and given.target is None and given.strata is None
        if plain and not as_root and not weight_moment:
            square, totals = _plain(table, queries, release, query_shift, moment_shift, rows)
            inverse, strata = float(total), None
        else:
            square, totals, inverse, strata = _general(
                table, queries, release, given, query_shift, moment_shift, as_root, weight_moment, rows
            )
    if not (np.isfinite(square).all() and np.isfinite(totals).all()):
        locate_missing(table, list(table))
        _locate_undefined(table, queries, release, rows)
        raise DataError(
            "The sums over the table are too large for double precision; rescale the columns.",
            hint="Divide the columns by their largest value.",
        )
    return MomentSums(
        count=total,
        queries=query_width,
        moments=moment_width,
        has_target=given.target is not None,
        query_shift=query_shift,
        moment_shift=moment_shift,
        totals=totals,
        square=square,
        is_root=as_root,
        inverse_weights=inverse,
        is_uniform=given.importance is None and given.target is None,
        strata_totals=strata,
    )


def finish(
    sums: MomentSums,
    queries: QueryRule,
    release: MomentRule,
    long_run: Callable[[FloatArray], FloatArray] | None = None,
    weight_moment: bool = False,
) -> MomentSummary:
    """Turn the sums over all people into a summary.

    Parameters
    ----------
    sums : MomentSums
        Over everybody.
    queries, release : rules
        What was summed.
    long_run : callable, optional
        Takes the (strata, columns) sums over people divided by N and returns what the dependence between draws adds
        to the covariance (spec 3.10); for chains.
    weight_moment : bool
        Whether the moment ``1 - 1/w`` was appended.

    Raises
    ------
    DataError
        If the weights do not average to one person, or the target law does not sum to 1.
    """
    if sums.count < 2:
        raise DataError(f"The table needs at least 2 records; it has {sums.count}.")
    if abs(sums.inverse_weights / sums.count - 1.0) > 1e-8:
        raise ParameterError(
            "The importance weights do not belong to probabilities that sum to 1 (Assumption 3.1): the mean of their "
            f"reciprocals is {sums.inverse_weights / sums.count:.10g}.",
            field="weights",
        )
    if sums.has_target and abs(float(sums.totals[sums.queries]) / sums.count - 1.0) > 1e-8:
        raise ParameterError(
            f"The target law must sum to 1; it sums to {float(sums.totals[sums.queries]) / sums.count:.10g}.",
            field="target",
        )
    query_mean = sums.query_shift + sums.totals[: sums.queries] / sums.count
    moments = slice(sums.queries + 1, sums.queries + 1 + sums.moments)
    mean = sums.moment_shift + sums.totals[moments] / sums.count
    width = release.width
    done = sums.shifted(query_mean, sums.moment_shift if release.centred else mean)
    asked = slice(0, sums.queries)
    if done.is_root:
        columns = list(range(moments.start, moments.stop)) + list(range(sums.queries))
        triangle = _triangle(done.square[:, columns]) / math.sqrt(sums.count)
        upper = triangle[: sums.moments]
        root, scores = reduced_root(upper[:, : sums.moments], upper[:, sums.moments :], ROOT_CUT)
        answers = triangle[:, sums.moments :]
        covariance = answers.T @ answers
        smallest = 1.0
    else:
        total = done.square / sums.count
        if long_run is not None and done.strata_totals is not None:
            total = total + long_run(done.strata_totals / sums.count)
        covariance = total[asked, asked]
        root, scores, smallest = root_from_gram(total[moments, moments], total[moments, asked], GRAM_CUT)
    jacobian = np.asarray(release.jacobian, dtype=np.float64)
    if weight_moment:
        jacobian = np.vstack([jacobian, np.zeros((1, jacobian.shape[1]))])
    return MomentSummary(
        records=sums.count,
        query_names=queries.names,
        query_means=query_mean,
        query_covariance=np.asarray(0.5 * (covariance + covariance.T)),
        root=root,
        scores=scores,
        jacobian=jacobian,
        parameters=release.finished(mean[:width]),
        moment_mean=mean if release.centred else np.zeros(sums.moments),
        precise=done.is_root,
        notes=release.notes,
        weight_moment=weight_moment,
        smallest_eigenvalue=smallest,
        query_binary=_binary(queries, query_mean, np.diagonal(covariance), sums.is_uniform and long_run is None),
    )


def _binary(queries: QueryRule, means: FloatArray, variances: FloatArray, uniform: bool) -> BoolArray:
    """Tell which queries are yes or no; without weights, those with variance p(1-p) are taken to be so too."""
    told = np.array(queries.binary, dtype=np.bool_)
    if not uniform:
        return told
    return np.asarray(told | (np.abs(variances - means * (1.0 - means)) <= 1e-10 * np.abs(means)))


def summarise(
    data: Parts,
    queries: QueryRule,
    release: MomentRule,
    weights: RowWeights | Sequence[RowWeights] | None = None,
    *,
    long_run: Callable[[FloatArray], FloatArray] | None = None,
    as_root: bool | None = None,
    weight_moment: bool = False,
) -> MomentSummary:
    """Read the table once and return the summary.

    Parameters
    ----------
    data : table or parts
        Named columns, at once or part by part.
    queries, release : rules
        What to evaluate.
    weights : RowWeights or one per part, optional
        Weights of the rows in their order; a single one is cut to the parts.
    long_run : callable, optional
        See :func:`finish`.
    as_root : bool, optional
        Whether to work on a root of V_g. If left out, only when V_g turns out near-singular (then the table is read
        a second time) or is so by design.
    weight_moment : bool
        Append the moment ``1 - 1/w`` (erratum E16).
    """
    wanted = release.is_deficient if as_root is None else as_root
    if long_run is not None:
        wanted = False
    sums = _all_sums(data, queries, release, weights, wanted, weight_moment)
    summary = finish(sums, queries, release, long_run, weight_moment)
    if as_root is None and not wanted and long_run is None and summary.smallest_eigenvalue < _UNCLEAR:
        sums = _all_sums(data, queries, release, weights, True, weight_moment)
        summary = finish(sums, queries, release, None, weight_moment)
    return summary


def _all_sums(
    data: Parts,
    queries: QueryRule,
    release: MomentRule,
    weights: RowWeights | Sequence[RowWeights] | None,
    as_root: bool,
    weight_moment: bool,
) -> MomentSums:
    sums: MomentSums | None = None
    for table, mine in _with_weights(parts_of(data), weights):
        more = partial_moments(
            table,
            queries,
            release,
            mine,
            query_shift=None if sums is None else sums.query_shift,
            moment_shift=None if sums is None else sums.moment_shift,
            as_root=as_root,
            weight_moment=weight_moment,
        )
        sums = more if sums is None else sums + more
    if sums is None:
        raise DataError("The table has no rows.")
    return sums


def _with_weights(
    tables: Iterable[Table], weights: RowWeights | Sequence[RowWeights] | None
) -> Iterable[tuple[Table, RowWeights | None]]:
    start = 0
    for place, table in enumerate(tables):
        rows = row_count(table)
        if weights is None:
            yield table, None
        elif isinstance(weights, RowWeights):
            mine = weights.part(start, start + rows)
            for values in (mine.importance, mine.target, mine.strata):
                if values is not None:
                    check_same_rows(rows, values.shape[0], "the table", "the weights")
            yield table, mine
        else:
            yield table, weights[place]
        start += rows


__all__ = [
    "MomentRule",
    "MomentSums",
    "QueryRule",
    "RowWeights",
    "finish",
    "partial_moments",
    "summarise",
]
