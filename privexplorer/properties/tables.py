"""Additive statistics ``sum_x g(N_x) + constant``: one table gives estimate, exact sensitivity and exact mean.

Spec properties, section 1. Neighbours are two samples of the same public size ``n`` that differ in one record.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions import DiscreteLaw
from privexplorer.distributions.checks import sample_size, symbol_count
from privexplorer.errors import ParameterError

LONGEST = 20_000_000
"""Largest ``n`` that a full table is built for; beyond it the fast paths of the estimators remain."""

Fingerprint = Mapping[int, int] | ArrayLike
"""Number of symbols by count: ``{count: symbols}``, or an array whose entry ``i`` belongs to count ``i``."""


def sensitivity(values: ArrayLike, k: int | None = None) -> float:
    """Return the exact global sensitivity of ``sum_x g(N_x)``.

    Parameters
    ----------
    values : (n + 1,) array
        ``g(0), ..., g(n)``.
    k : int or None
        Number of symbols; None means "not bounded" and gives the value for any ``k >= 3``.

    Returns
    -------
    float
        Largest change that replacing one record can cause, in O(n) (spec properties, section 1).

    Examples
    --------
    >>> sensitivity([0.0, 1.0, 1.0, 1.0])
    1.0
    """
    pair = sensitivity_pair(values, k)
    if pair is None:
        return 0.0
    steps = np.diff(np.asarray(values, dtype=np.float64))
    return float(abs(steps[pair[1]] - steps[pair[0]]))


def sensitivity_pair(values: ArrayLike, k: int | None = None) -> tuple[int, int] | None:
    """Return ``(i, j)``: taking a record from a symbol seen ``i + 1`` times to one seen ``j`` times changes most.

    None where no record can be moved (``k = 1`` or ``n = 0``).
    """
    given = np.asarray(values, dtype=np.float64)
    if given.ndim != 1 or given.size < 1:
        raise ParameterError("A table needs at least the value at count 0.")
    symbols = None if k is None else symbol_count(k)
    n = given.size - 1
    if n == 0 or symbols == 1:
        return None
    steps = np.diff(given)
    if not np.all(np.isfinite(steps)):
        raise ParameterError(
            "The sensitivity is beyond the range of numbers; look less far ahead or smooth more.", field="t"
        )
    mirrored = steps[::-1]
    if symbols == 2:
        i = int(np.argmax(np.abs(steps - mirrored)))
        return i, n - 1 - i
    # the partner j of i is any count up to n - 1 - i, so it is a running extreme seen from the far end
    rise = np.maximum.accumulate(steps)[::-1] - steps
    fall = steps - np.minimum.accumulate(steps)[::-1]
    if rise.max() >= fall.max():
        i = int(np.argmax(rise))
        return i, int(np.argmax(steps[: n - i]))
    i = int(np.argmax(fall))
    return i, int(np.argmin(steps[: n - i]))


def sensitivity_among(increments: Callable[[IntArray], FloatArray], candidates: IntArray, n: int, k: int) -> float:
    """Return the largest ``|D(j) - D(i)|`` over candidate counts with ``i + j <= n - 1`` (``= n - 1`` for k = 2).

    Exact where the maximising pair is known to lie among the candidates; the estimators say why it does.
    """
    if n < 1 or k == 1:
        return 0.0
    counts = np.unique(candidates[(candidates >= 0) & (candidates <= n - 1)])
    steps = increments(counts)
    if k == 2:
        partner = np.searchsorted(counts, n - 1 - counts)
        there = (partner < counts.size) & (counts[np.minimum(partner, counts.size - 1)] == n - 1 - counts)
        return float(np.abs(steps[there] - steps[partner[there]]).max(initial=0.0))
    allowed = counts[:, None] + counts[None, :] <= n - 1
    gaps = np.where(allowed, np.abs(steps[:, None] - steps[None, :]), 0.0)
    return float(gaps.max(initial=0.0))


@dataclass(frozen=True, eq=False)
class AdditiveTable:
    """A statistic ``constant + sum_x g(N_x)`` of samples of one size.

    Attributes
    ----------
    values : (n + 1,) float array
        ``g(0), ..., g(n)``.
    constant : float
        Added once.
    n : int
        Sample size, public.
    k : int or None
        Number of symbols, public; needed only where unseen symbols count (``g(0)`` is not 0).
    floor : float
        The estimate is never reported below this; 0 for entropies. Taking such a maximum cannot raise the
        sensitivity.
    """

    values: FloatArray
    constant: float
    n: int
    k: int | None = None
    floor: float = -math.inf

    def __post_init__(self) -> None:
        given = np.array(self.values, dtype=np.float64)
        if given.shape != (self.n + 1,):
            raise ParameterError(
                f"A table for samples of {self.n} records needs {self.n + 1} values; it has {given.size}."
            )
        if self.k is None and given[0] != 0.0:
            raise ParameterError(
                "This statistic counts unseen symbols, so it needs the number of symbols k.", field="k"
            )
        given.setflags(write=False)
        object.__setattr__(self, "values", given)

    def estimate(self, counts: ArrayLike) -> FloatArray:
        """Evaluate on histograms.

        Parameters
        ----------
        counts : (..., symbols) int array
            Counts by symbol, each row summing to ``n``; symbols left out are unseen.

        Returns
        -------
        (...) float array
            Plain sums, vectorised; for a single answer see :meth:`estimate_fingerprint`.

        Raises
        ------
        ParameterError
            For negative or fractional counts, a wrong total, or more distinct symbols than ``k``.
        """
        given = check_counts(counts)
        if np.any(given.sum(axis=-1) != self.n):
            raise ParameterError(f"The counts must sum to the sample size {self.n:,}.", field="n")
        total = self.values[given].sum(axis=-1) + self.constant
        if self.k is not None and given.shape[-1] != self.k:
            if given.shape[-1] > self.k and int(np.count_nonzero(given, axis=-1).max(initial=0)) > self.k:
                raise _too_many(int(np.count_nonzero(given, axis=-1).max()), self.k)
            total = total + (self.k - given.shape[-1]) * self.values[0]
        return np.asarray(np.maximum(total, self.floor), dtype=np.float64)

    def estimate_fingerprint(self, fingerprint: Fingerprint, distinct: int | None = None) -> float:
        """Evaluate on one fingerprint, with a compensated sum.

        Parameters
        ----------
        fingerprint : mapping or array
            ``{i: symbols seen i times}``, or an array whose entry ``i`` is that number; entry 0 is ignored.
        distinct : int, optional
            Checked against the fingerprint if given.
        """
        counts, symbols = check_fingerprint(fingerprint)
        if int((counts * symbols).sum()) != self.n:
            raise ParameterError(f"The fingerprint must describe {self.n:,} records.", field="n")
        seen = int(symbols.sum())
        if distinct is not None and distinct != seen:
            raise ParameterError(f"The fingerprint has {seen:,} distinct symbols, not {distinct:,}.")
        return self.close(self.values[counts], symbols, seen)

    def close(self, values: FloatArray, symbols: IntArray, distinct: int) -> float:
        """Sum ``symbols * values``, add the unseen symbols and the constant, apply the floor."""
        return closed_sum(values, symbols, distinct, float(self.values[0]), self.k, self.constant, self.floor)

    def sensitivity(self) -> float:
        """Return the exact sensitivity for this ``n`` and ``k`` (spec properties, section 1)."""
        return sensitivity(self.values, self.k)

    def sensitivity_pair(self) -> tuple[int, int] | None:
        """Return the pair of counts that sets the sensitivity; see :func:`sensitivity_pair`."""
        return sensitivity_pair(self.values, self.k)

    def increments(self) -> FloatArray:
        """Return ``D(j) = g(j + 1) - g(j)``, shape ``(n,)``."""
        return np.diff(self.values)

    def mean(self, probabilities: ArrayLike | DiscreteLaw) -> float:
        """Return the exact mean under independent records.

        Parameters
        ----------
        probabilities : (k,) array or DiscreteLaw
            Law of one record.

        Returns
        -------
        float
            ``constant + sum_x sum_j Pr(Bin(n, p_x) = j) g(j)``, before the floor (spec properties, section 1). Costs
            ``n`` per distinct probability, or, where there are very many of them, about as much as a few hundred.
        """
        law = probabilities if isinstance(probabilities, DiscreteLaw) else DiscreteLaw(np.asarray(probabilities))
        if self.k is not None and law.k > self.k and law.support_size() > self.k:
            raise _too_many(law.support_size(), self.k)
        extra = 0 if self.k is None else self.k - law.k
        if law.many_masses:
            expected = law.expected_fingerprint(self.n)
            return math.fsum([float((expected * self.values).sum()), self.constant, extra * float(self.values[0])])
        chances, sizes = law.groups
        means = binomial_means(self.values, chances)
        return math.fsum([*(means * sizes).tolist(), self.constant, extra * float(self.values[0])])

    def scaled(self, factor: float) -> AdditiveTable:
        """Return the statistic times ``factor > 0``; ``1 / ln 2`` turns nats into bits."""
        return replace(self, values=self.values * factor, constant=self.constant * factor, floor=self.floor * factor)


def binomial_means(values: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Return ``E g(Bin(n, p))`` for each ``p``, shape ``(probabilities,)``.

    Sums the counts within 14 standard deviations and 60 more, beyond which the law has less than 1e-20 left;
    all probabilities at once, in pieces of a million terms.
    """
    n = values.size - 1
    chances = np.asarray(probabilities, dtype=np.float64)
    spread, centre = np.sqrt(n * chances * (1 - chances)), n * chances
    low = np.maximum(0, np.floor(centre - 14 * spread - 60)).astype(np.int64)
    sizes = np.minimum(n, np.ceil(centre + 14 * spread + 60)).astype(np.int64) - low + 1
    factorials = special.gammaln(np.arange(n + 1) + 1.0)
    ends = np.cumsum(sizes)
    means = np.empty(chances.size)
    begin = 0
    while begin < chances.size:
        done = int(ends[begin - 1]) if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, done + 1_000_000, side="right")))
        piece = slice(begin, stop)
        length, first = sizes[piece], ends[piece] - sizes[piece] - done
        counts = np.arange(int(length.sum())) - np.repeat(first - low[piece], length)
        chance = np.repeat(chances[piece], length)
        weights = factorials[n] - factorials[counts] - factorials[n - counts]
        weights += special.xlogy(counts, chance) + special.xlog1py(n - counts, -chance)
        weights = np.exp(weights)
        # the factorials of a large n share a rounding error, which dividing by the total takes out
        means[piece] = np.add.reduceat(weights * values[counts], first) / np.add.reduceat(weights, first)
        begin = stop
    return means


def closed_sum(
    values: FloatArray,
    symbols: IntArray,
    distinct: int,
    at_zero: float,
    k: int | None,
    constant: float,
    floor: float,
) -> float:
    """Sum ``symbols * values`` with compensation, add unseen symbols and the constant, apply the floor."""
    parts = (values * symbols).tolist()
    parts.append(constant)
    if k is not None:
        if distinct > k:
            raise _too_many(distinct, k)
        parts.append((k - distinct) * at_zero)
    return max(math.fsum(parts), floor)


def check_counts(counts: ArrayLike) -> IntArray:
    """Return counts as int64; refuse negative or fractional ones."""
    given = np.asarray(counts)
    if given.ndim < 1 or given.shape[-1] < 1:
        raise ParameterError("The histogram is empty; it needs at least one count.")
    if given.dtype.kind == "b" or given.dtype.kind not in "iuf":
        raise ParameterError("Counts must be whole numbers of at least 0.")
    if given.dtype.kind == "f" and not (np.all(np.isfinite(given)) and np.array_equal(given, np.floor(given))):
        raise ParameterError("Counts must be whole numbers of at least 0; one of them is not whole.")
    if np.any(given < 0):
        raise ParameterError(f"Counts must be whole numbers of at least 0; one of them is {given.min():g}.")
    return given.astype(np.int64, copy=False)


def check_fingerprint(fingerprint: Fingerprint) -> tuple[IntArray, IntArray]:
    """Return the counts that occur (increasing, at least 1) and how many symbols have each."""
    if isinstance(fingerprint, Mapping):
        entries = sorted(fingerprint.items())
        counts = check_counts([count for count, _ in entries]) if entries else np.empty(0, dtype=np.int64)
        symbols = check_counts([number for _, number in entries]) if entries else np.empty(0, dtype=np.int64)
    else:
        symbols = check_counts(fingerprint)
        if symbols.ndim != 1:
            raise ParameterError("A fingerprint is a single list of numbers.")
        counts = np.arange(symbols.size)
    used = (counts >= 1) & (symbols > 0)
    if not np.any(used):
        raise ParameterError("The histogram is empty; it needs at least one record.")
    return counts[used], symbols[used]


def check_table_size(n: int) -> int:
    """Return ``n`` if a full table of that length is reasonable."""
    size = sample_size(n)
    if size > LONGEST:
        raise ParameterError(
            f"The number of records n must be at most {LONGEST:,} here; it is {size:,}.",
            field="n",
        )
    return size


def _too_many(distinct: int, k: int) -> ParameterError:
    return ParameterError(
        f"The number of symbols k is {k:,}, but {distinct:,} distinct values occur; k must be at least that many.",
        field="k",
    )


__all__ = [
    "AdditiveTable",
    "Fingerprint",
    "binomial_means",
    "sensitivity",
    "sensitivity_among",
    "sensitivity_pair",
]
