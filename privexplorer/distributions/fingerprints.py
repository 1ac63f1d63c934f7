"""Fingerprints of simulated samples: nested samples of growing size, drawn once and kept as counts of counts.

A fingerprint says how many symbols were seen exactly ``i`` times; every additive statistic is linear in it
(spec properties, sections 0 and 1), so the simulation keeps nothing else of a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions.law import (
    MOST_PEOPLE,
    SYMBOLS_PER_CELL,
    DiscreteLaw,
    check_cells,
    check_size,
    seen_probability,
)
from privexplorer.errors import ParameterError

WIDTH = 64
"""Counts below this one are kept as counts of counts, the others one by one."""
CELLS = 131_072
"""Counters held at a time (1 MB), so that counting stays in the processor's cache."""
FEW_TOUCHED = 6
"""Where so many times more symbols than further records exist, only the counters that change are looked at."""
SPARSE = 24
"""With this many symbols per record, or more, sorting the records beats counting over all symbols."""
MOST_COLOURED = 1_000_000_000
"""Largest population that counts are drawn from colour by colour."""

Values = FloatArray | Callable[[IntArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Fingerprints:
    """Fingerprints of ``trials`` nested samples at each of ``points`` sample sizes.

    Attributes
    ----------
    ns : (points,) int array
        Sample sizes.
    k : int
        Number of symbols.
    common : (points, trials, width) int array
        ``common[p, t, c]`` symbols were seen exactly ``c`` times, for ``c < width``; column 0 holds the unseen ones.
    frequent : tuple of (trial, count) pairs of int arrays, one pair per point
        The symbols seen ``width`` times or more, one entry each, trials in increasing order.
    """

    ns: IntArray
    k: int
    common: IntArray
    frequent: tuple[tuple[IntArray, IntArray], ...]

    @property
    def points(self) -> int:
        """Number of sample sizes."""
        return int(self.common.shape[0])

    @property
    def trials(self) -> int:
        """Number of sequences."""
        return int(self.common.shape[1])

    def distinct(self) -> IntArray:
        """Count the different symbols seen, shape ``(points, trials)``."""
        return np.asarray(self.k - self.common[:, :, 0], dtype=np.int64)

    def totals(self, values: Sequence[Values]) -> FloatArray:
        """Sum ``g(N_x)`` over all symbols, the unseen ones included.

        Parameters
        ----------
        values : sequence of arrays or functions, one per point
            ``g``: an array over the counts 0..n (longer is fine), or a function from counts to values.

        Returns
        -------
        (points, trials) float array
            Plain sums; each trial is summed by itself, so its bits do not depend on the other trials.
        """
        if len(values) != self.points:
            raise ParameterError(
                f"One table per sample size is needed: {self.points} sample sizes, {len(values)} tables."
            )
        out = np.empty((self.points, self.trials))
        width = self.common.shape[2]
        for point, (given, (trial, count)) in enumerate(zip(values, self.frequent, strict=True)):
            reach = int(min(width, self.ns[point] + 1))
            low = given[:reach] if isinstance(given, np.ndarray) else given(np.arange(reach))
            out[point] = (self.common[point, :, :reach] * low).sum(axis=1)
            if trial.size:
                high = given[count] if isinstance(given, np.ndarray) else given(count)
                out[point] += np.bincount(trial, weights=high, minlength=self.trials)
        return out

    def dense(self, point: int = 0) -> IntArray:
        """Fingerprints at one point as a plain table, shape ``(trials, largest count + 1)``; column 0 = unseen."""
        trial, count = self.frequent[point]
        top = int(count.max()) + 1 if count.size else 0
        width = self.common.shape[2]
        if not top:
            used = np.flatnonzero(self.common[point].any(axis=0))
            return np.array(self.common[point, :, : (int(used[-1]) if used.size else 0) + 1])
        if self.trials * top > 50_000_000:
            raise ParameterError("These samples have symbols too frequent for a plain table of counts of counts.")
        table = np.zeros((self.trials, top), dtype=np.int64)
        table[:, :width] = self.common[point, :, : min(width, top)]
        np.add.at(table, (trial, count), 1)
        return table


@dataclass(frozen=True, eq=False)
class NestedSamples:
    """Fingerprints of nested samples, with what further records would still show.

    Attributes
    ----------
    fingerprints : Fingerprints
        See there.
    unseen_targets : (points, trials, sizes) float array or None
        Expected number of new symbols among further records, given the sample.
    """

    fingerprints: Fingerprints
    unseen_targets: FloatArray | None


def unseen_targets(law: DiscreteLaw, counts: IntArray, extra_sizes: ArrayLike) -> FloatArray:
    """Compute the expected number of new symbols among further records, given what was seen.

    Parameters
    ----------
    law : DiscreteLaw
        Where the records come from.
    counts : (..., k) int array
        Counts by symbol.
    extra_sizes : (sizes,) float array
        How many further records, ``n t`` each; at least 0.

    Returns
    -------
    (..., sizes) float array
        ``sum over x with N_x = 0 of 1 - (1 - p_x)^(n t)`` (spec properties, section 8: the conditional target).
    """
    weights = seen_probability(law.probabilities, _sizes(extra_sizes))
    flat = np.asarray(counts).reshape(-1, law.k)
    found = np.empty((flat.shape[0], weights.shape[0]))
    for row in range(flat.shape[0]):
        found[row] = _masked_sums(weights, flat[row] == 0)
    return found.reshape(*np.shape(counts)[:-1], weights.shape[0])


def nested_fingerprints(
    law: DiscreteLaw, ns: ArrayLike, trials: int, rng: np.random.Generator, *, replace: bool = True
) -> Fingerprints:
    """Draw one sequence of records per trial and keep the fingerprint of each prefix.

    Parameters
    ----------
    law : DiscreteLaw
        Where the records come from.
    ns : (points,) int array
        Lengths of the prefixes, not decreasing. Points of one trial share records, so they are correlated.
    trials : int
        Number of sequences.
    rng : numpy.random.Generator
        Source of randomness.
    replace : bool
        True for independent records; False draws different individuals of the finite population.

    Returns
    -------
    Fingerprints
    """
    return nested_samples(law, ns, trials, rng, replace=replace).fingerprints


def nested_samples(
    law: DiscreteLaw,
    ns: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    *,
    extra_sizes: ArrayLike | None = None,
    replace: bool = True,
) -> NestedSamples:
    """Draw nested samples and, for each, the expected number of new symbols among further records.

    Parameters
    ----------
    law, ns, trials, rng, replace
        As in :func:`nested_fingerprints`.
    extra_sizes : (sizes,) or (points, sizes) float array, optional
        How many further independent records the targets look ahead.

    Returns
    -------
    NestedSamples
    """
    sizes = _sample_sizes(ns)
    rows = check_size(trials, "The number of runs")
    width = int(min(WIDTH, sizes[-1] + 1))
    common = np.zeros((sizes.size, rows, width), dtype=np.int64)
    pairs: list[list[tuple[IntArray, IntArray]]] = [[] for _ in sizes]
    targets: FloatArray | None = None
    weights: list[FloatArray] = []
    if extra_sizes is not None:
        ahead = np.asarray(extra_sizes, dtype=np.float64)
        ahead = np.broadcast_to(ahead, (sizes.size, ahead.shape[-1]))
        first = seen_probability(law.probabilities, _sizes(ahead[0]))
        weights = [first]
        for point in range(1, sizes.size):
            same = np.array_equal(ahead[point], ahead[0])
            weights.append(first if same else seen_probability(law.probabilities, _sizes(ahead[point])))
        targets = np.empty((sizes.size, rows, ahead.shape[1]))
    everything = [each.sum(axis=1) for each in weights]
    for start, point, seen in _samples(law, sizes, rows, rng, replace, width=width):
        stop = start + seen.rows
        common[point, start:stop] = seen.fingerprint(width)
        trial, count = seen.at_least(width)
        if trial.size:
            pairs[point].append((trial + start, count))
        if targets is not None:
            targets[point, start:stop] = seen.unseen(weights[point], everything[point])
    empty = np.empty(0, dtype=np.int64)
    frequent = tuple(
        (np.concatenate([a for a, _ in found]), np.concatenate([b for _, b in found])) if found else (empty, empty)
        for found in pairs
    )
    return NestedSamples(Fingerprints(sizes, law.k, common, frequent), targets)


def nested_counts(
    law: DiscreteLaw, ns: ArrayLike, trials: int, rng: np.random.Generator, *, replace: bool = True
) -> IntArray:
    """Draw counts by symbol of nested samples, shape ``(points, trials, k)``; see :func:`nested_fingerprints`."""
    sizes = _sample_sizes(ns)
    rows = check_size(trials, "The number of runs")
    check_cells(sizes.size * rows * law.k)
    out = np.empty((sizes.size, rows, law.k), dtype=np.int64)
    for start, point, seen in _samples(law, sizes, rows, rng, replace, sparse=False):
        out[point, start : start + seen.rows] = seen.counts  # type: ignore[union-attr]
    return out


# ---- how samples are held while they are drawn ----


class _Dense:
    """Counters for all symbols, shape ``(rows, k)``, with their fingerprint up to ``width`` while few are touched."""

    def __init__(self, rows: int, k: int) -> None:
        self.rows = rows
        self.counts: IntArray = np.zeros((rows, k), dtype=np.int64)
        self._table: IntArray | None = None
        self._often: IntArray | None = None
        self._untouched = True

    def add(self, symbols: IntArray, width: int | None) -> None:
        """Count further records, shape ``(rows, step)``: all counters at once, or only those that change."""
        k = self.counts.shape[1]
        flat = (symbols + np.arange(self.rows)[:, None] * k).ravel() if self.rows > 1 else symbols.ravel()
        if width is None or FEW_TOUCHED * flat.size > self.counts.size:
            self.counts += np.bincount(flat, minlength=self.counts.size).reshape(self.counts.shape)
            self._table = self._often = None
            self._untouched = False
            return
        table, often = self._tally(width), self._seen_often(width)
        flat.sort()
        first = np.flatnonzero(np.concatenate(([True], flat[1:] != flat[:-1])))
        touched, cells = flat[first], self.counts.reshape(-1)
        before = cells[touched]
        after = before + np.diff(first, append=flat.size)
        cells[touched] = after
        self._untouched = False
        start = touched // k * (width + 1)
        np.subtract.at(table, start + np.minimum(before, width), 1)
        np.add.at(table, start + np.minimum(after, width), 1)
        crossed = touched[(before < width) & (after >= width)]
        if crossed.size:
            self._often = np.sort(np.concatenate((often, crossed)))

    def add_counts(self, counted: IntArray) -> None:
        """Add counts that came as such."""
        self.counts += counted
        self._table = self._often = None
        self._untouched = False

    def fingerprint(self, width: int) -> IntArray:
        return np.array(self._tally(width).reshape(self.rows, width + 1)[:, :width])

    def at_least(self, width: int) -> tuple[IntArray, IntArray]:
        row, column = np.divmod(self._seen_often(width), self.counts.shape[1])
        return row, self.counts[row, column]

    def unseen(self, weights: FloatArray, everything: FloatArray) -> FloatArray:
        found = np.empty((self.rows, weights.shape[0]))
        for row in range(self.rows):
            found[row] = _masked_sums(weights, self.counts[row] == 0)
        return found

    def _tally(self, width: int) -> IntArray:
        """Symbols by row and count; those seen ``width`` times or more share the last column."""
        if self._table is None and self._untouched:
            self._table = np.zeros(self.rows * (width + 1), dtype=np.int64)
            self._table[:: width + 1] = self.counts.shape[1]
        elif self._table is None:
            binned = np.minimum(self.counts, width)
            binned += np.arange(self.rows)[:, None] * (width + 1)
            self._table = np.bincount(binned.ravel(), minlength=self.rows * (width + 1))
        return self._table

    def _seen_often(self, width: int) -> IntArray:
        """Places of the counters that are ``width`` or more, in order."""
        if self._often is None:
            # much the most usual case is none, and the fingerprint knows
            none = not self._tally(width)[width :: width + 1].any()
            self._often = np.empty(0, dtype=np.int64) if none else np.flatnonzero(self.counts >= width)
        return self._often


@dataclass(frozen=True, eq=False)
class _Sparse:
    """Only the symbols seen: row, symbol and count of each, rows in order."""

    rows: int
    k: int
    row: IntArray
    symbol: IntArray
    count: IntArray

    def fingerprint(self, width: int) -> IntArray:
        table = np.bincount(
            self.row * (width + 1) + np.minimum(self.count, width), minlength=self.rows * (width + 1)
        ).reshape(self.rows, width + 1)
        table[:, 0] = self.k - table.sum(axis=1)
        return np.asarray(table[:, :width], dtype=np.int64)

    def at_least(self, width: int) -> tuple[IntArray, IntArray]:
        often = np.flatnonzero(self.count >= width)
        return self.row[often], self.count[often]

    def unseen(self, weights: FloatArray, everything: FloatArray) -> FloatArray:
        seen = np.empty((self.rows, weights.shape[0]))
        for column, weight in enumerate(weights):
            seen[:, column] = np.bincount(self.row, weights=weight[self.symbol], minlength=self.rows)
        return np.asarray(np.maximum(everything - seen, 0.0), dtype=np.float64)


def _samples(
    law: DiscreteLaw,
    sizes: IntArray,
    trials: int,
    rng: np.random.Generator,
    replace: bool,
    *,
    width: int | None = None,
    sparse: bool | None = None,
) -> Iterator[tuple[int, int, _Dense | _Sparse]]:
    """Yield ``(first trial, point, samples)``; which way is taken depends on the sizes alone, never on the machine."""
    k, last = law.k, int(sizes[-1])
    steps = np.diff(sizes, prepend=0)
    if not replace and last > law.population_size:
        raise ParameterError(
            f"Without replacement at most {law.population_size:,} individuals can be drawn; n is {last:,}.", field="n"
        )
    if sparse is None:
        sparse = k >= SPARSE * max(last, 1)
    chunk = max(1, CELLS // (last + 1 if sparse else k))
    for start in range(0, trials, chunk):
        rows = min(chunk, trials - start)
        source = _increments(law, steps, rows, rng, replace)
        if sparse:
            held = np.empty((rows, last), dtype=np.int64)
            filled = 0
            for point, (symbols, counted) in enumerate(source):
                if counted is not None:
                    symbols = np.array([np.repeat(np.arange(k), line) for line in counted]).reshape(rows, -1)
                held[:, filled : filled + symbols.shape[1]] = symbols
                filled += symbols.shape[1]
                yield start, point, _runs(held[:, :filled], k)
        else:
            held_counts = _Dense(rows, k)
            for point, (symbols, counted) in enumerate(source):
                if counted is not None:
                    held_counts.add_counts(counted)
                elif symbols.size:
                    held_counts.add(symbols, width)
                yield start, point, held_counts


def _increments(
    law: DiscreteLaw, steps: IntArray, rows: int, rng: np.random.Generator, replace: bool
) -> Iterator[tuple[IntArray, IntArray | None]]:
    """Further records of each step: their symbols, shape ``(rows, step)``, or their counts, shape ``(rows, k)``."""
    nothing = np.empty((rows, 0), dtype=np.int64)
    if replace:
        for step in steps:
            if step <= SYMBOLS_PER_CELL * law.k:
                yield law.alias.sample(int(step) * rows, rng).reshape(rows, int(step)), None
            else:
                yield nothing, rng.multinomial(int(step), law.probabilities, size=rows)
        return
    total, last = law.population_size, int(steps.sum())
    if total <= MOST_PEOPLE:
        individuals = law.individuals
        order = np.empty((rows, last), dtype=np.int64)
        for row in range(rows):
            if 2 * last < total:
                order[row] = individuals[rng.choice(total, last, replace=False)]
            else:
                order[row] = rng.permutation(individuals)[:last]
        begin = 0
        for step in steps:
            yield order[:, begin : begin + int(step)], None
            begin += int(step)
        return
    if total >= MOST_COLOURED:
        raise ParameterError(
            f"Sampling without replacement works up to {MOST_COLOURED:,} individuals; the table has {total:,}."
        )
    left = np.repeat(law._people()[None, :], rows, axis=0)
    for step in steps:
        drawn = np.array([rng.multivariate_hypergeometric(line, int(step), method="marginals") for line in left])
        left = left - drawn
        yield nothing, drawn


def _runs(symbols: IntArray, k: int) -> _Sparse:
    """Symbols by row, shape ``(rows, n)``, to the distinct ones with their counts."""
    rows, n = symbols.shape
    if not n:
        empty = np.empty(0, dtype=np.int64)
        return _Sparse(rows, k, empty, empty, empty)
    flat = np.sort(symbols, axis=1)
    flat += np.arange(rows)[:, None] * k
    line = flat.ravel()
    first = np.flatnonzero(np.concatenate(([True], line[1:] != line[:-1])))
    count = np.diff(first, append=line.size)
    row, symbol = np.divmod(line[first], k)
    return _Sparse(rows, k, row, symbol, count)


def _masked_sums(weights: FloatArray, mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> FloatArray:
    """Sum the weights, shape ``(sizes, k)``, over the symbols in the mask: plain sums, no threaded library."""
    return np.asarray(np.einsum("ek,k->e", weights, mask.astype(np.float64)), dtype=np.float64)


def _sizes(extra_sizes: ArrayLike) -> FloatArray:
    sizes = np.atleast_1d(np.asarray(extra_sizes, dtype=np.float64))
    if np.any(~np.isfinite(sizes)) or np.any(sizes < 0.0):
        raise ParameterError("The number of further records must be at least 0.", field="t")
    return sizes


def _sample_sizes(ns: ArrayLike) -> IntArray:
    given = np.atleast_1d(np.asarray(ns))
    if given.ndim != 1 or not given.size or np.any(given != np.floor(given)) or np.any(given < 0):
        raise ParameterError("Sample sizes must be whole numbers of at least 0.", field="n")
    sizes = given.astype(np.int64)
    if np.any(np.diff(sizes) < 0):
        raise ParameterError("Nested sample sizes must not decrease.", field="n")
    return sizes


__all__ = [
    "Fingerprints",
    "NestedSamples",
    "nested_counts",
    "nested_fingerprints",
    "nested_samples",
    "unseen_targets",
]
