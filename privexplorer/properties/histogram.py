"""One histogram and its answers: the value and its sensitivity without ever building a table over all counts.

A histogram of n records has at most about sqrt(2 n) different counts; closed forms and short searches give the
sensitivities (spec properties, sections 4, 5, 6 and 9).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions.law import Unit, check_unit
from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.properties.coverage import AdditiveCoverage, BatchCoverage, CoverageEstimator
from privexplorer.properties.entropy import AdditiveEntropy, EntropyEstimator, NoiseRule
from privexplorer.properties.support import DenseSupport, SparseSupport, SupportEstimator
from privexplorer.properties.tables import check_counts, check_fingerprint, closed_sum


@dataclass(frozen=True, eq=False)
class Histogram:
    """How many symbols were seen how often.

    Attributes
    ----------
    counts : (different,) int array
        The counts that occur, increasing, at least 1.
    symbols : (different,) int array
        How many symbols have each count.
    """

    counts: IntArray
    symbols: IntArray

    @classmethod
    def from_counts(cls, counts: ArrayLike) -> Histogram:
        """Build from counts by symbol, shape ``(symbols,)``; zeros are allowed and ignored.

        Raises
        ------
        ParameterError
            For negative or fractional counts, or no record at all.
        """
        given = check_counts(counts)
        if given.ndim != 1:
            raise ParameterError("A histogram is a single list of counts.")
        seen = given[given > 0]
        if not seen.size:
            raise ParameterError("The histogram is empty; it needs at least one record.")
        top = int(seen.max())
        if top <= 4 * seen.size + 1024:
            table = np.bincount(seen, minlength=top + 1)
            values = np.flatnonzero(table)
            return cls(values, table[values].astype(np.int64))
        values, symbols = np.unique(seen, return_counts=True)
        return cls(values, symbols.astype(np.int64))

    @classmethod
    def from_fingerprint(cls, fingerprint: Mapping[int, int] | ArrayLike) -> Histogram:
        """Build from ``{i: symbols seen i times}``, or an array whose entry ``i`` is that number."""
        return cls(*check_fingerprint(fingerprint))

    @classmethod
    def from_records(cls, records: ArrayLike) -> Histogram:
        """Build from the records themselves, shape ``(n,)``, of any type that can be sorted."""
        given = np.asarray(records).ravel()
        if not given.size:
            raise ParameterError("The histogram is empty; it needs at least one record.")
        return cls.from_counts(np.unique(given, return_counts=True)[1])

    @property
    def n(self) -> int:
        """Number of records."""
        return int((self.counts * self.symbols).sum())

    @property
    def distinct(self) -> int:
        """Number of different symbols seen; not private."""
        return int(self.symbols.sum())

    @property
    def fingerprint(self) -> dict[int, int]:
        """Number of symbols by count."""
        return dict(zip(self.counts.tolist(), self.symbols.tolist(), strict=True))

    def dense_fingerprint(self, size: int | None = None) -> IntArray:
        """Return the fingerprint as an array over the counts 0..size (the largest count if left out), entry 0 = 0."""
        top = int(self.counts[-1]) if size is None else size
        table = np.zeros(top + 1, dtype=np.int64)
        inside = self.counts <= top
        table[self.counts[inside]] = self.symbols[inside]
        return table


def answer(
    estimator: EntropyEstimator | CoverageEstimator | SupportEstimator,
    histogram: Histogram,
    k: int | None = None,
    *,
    t: float | None = None,
    private: bool = True,
    rule: NoiseRule = "exact",
    unit: Unit = "nats",
    new_only: bool = False,
) -> tuple[float, float]:
    """Return the exact answer of an estimator and the sensitivity that its noise is made for.

    Parameters
    ----------
    estimator : record
        Any entropy, coverage or support estimator.
    histogram : Histogram
        The data.
    k : int or None
        Public number of symbols, or None where it is not bounded.
    t : float, optional
        Further records per record; coverage estimators need it.
    private : bool
        Which preset a "matched" polynomial takes.
    rule : {"exact", "thesis", "paper_code"}
        Which sensitivity.
    unit : {"nats", "bits"}
        For entropies.
    new_only : bool
        Coverage: the number of new symbols instead of the total.

    Returns
    -------
    value, sensitivity : float
        Before noise and clipping. Time grows with the number of different counts, not with ``n``.
    """
    n = histogram.n
    if isinstance(estimator, AdditiveEntropy):
        scale = check_unit(unit)
        symbols = estimator.check_k(k)
        values = estimator.values(histogram.counts, n, symbols, private)
        at_zero = float(estimator.values(np.zeros(1, dtype=np.int64), n, symbols, private)[0])
        value = _total(histogram, values, at_zero, symbols, estimator.constant(n), 0.0)
        return value / scale, estimator.sensitivity(n, symbols, rule) / scale
    if isinstance(estimator, AdditiveCoverage):
        ahead = _needed(t)
        found = (estimator.new_values if new_only else estimator.values)(histogram.counts, n, ahead)
        value = _total(histogram, found, 0.0, k, 0.0, -math.inf)
        return value, estimator.sensitivity(n, ahead, rule, k, new_only=new_only)
    if isinstance(estimator, BatchCoverage):
        if new_only:
            raise UnsupportedCombination("The batch estimator looks back, so it counts no new symbols.", field="t")
        ahead = _needed(t)
        value = _total(histogram, estimator.values(histogram.counts, n, ahead), 0.0, k, 0.0, -math.inf)
        return value, estimator.sensitivity(n, ahead, rule, k, averaged=True)
    if isinstance(estimator, SparseSupport | DenseSupport):
        if k is None:
            raise ParameterError("A support size needs the public number of symbols k.", field="k")
        value = _total(histogram, estimator.values(histogram.counts, n, k), 0.0, k, 0.0, -math.inf)
        return value, estimator.sensitivity(n, k, rule)
    raise UnsupportedCombination("There is no direct answer for this estimator.")


def _total(
    histogram: Histogram, values: FloatArray, at_zero: float, k: int | None, constant: float, floor: float
) -> float:
    return closed_sum(values, histogram.symbols, histogram.distinct, at_zero, k, constant, floor)


def _needed(t: float | None) -> float:
    if t is None:
        raise ParameterError("Coverage needs the look-ahead t: how many further records per record.", field="t")
    return t


__all__ = ["Histogram", "answer"]
