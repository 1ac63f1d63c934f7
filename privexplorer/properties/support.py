"""Support size of distributions whose symbols all have mass at least 1/k: sparse and dense estimators.

Spec properties, section 6 (Lemma 30, eqs (4.2), (4.3)), errata E10 and E11.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions.checks import sample_size, symbol_count
from privexplorer.errors import ParameterError
from privexplorer.properties.coverage import LARGEST_EXPONENT, SmoothedGoodToulmin, check_accuracy
from privexplorer.properties.entropy import NoiseRule, check_rule
from privexplorer.properties.tables import AdditiveTable, check_counts, check_table_size
from privexplorer.records import Accuracy, Record

Answer = TypeVar("Answer")


class SparseSupport(Record):
    """Support size from few records: coverage extrapolated to ``k ln(3/accuracy)`` records."""

    kind: Literal["sparse"] = "sparse"
    title: ClassVar[str] = "Extrapolated coverage"
    formula: ClassVar[str] = (
        r"\hat S=\sum_{i\ge1}\Phi_i\bigl(1-(-t)^i\Pr(Z\ge i)\bigr),\ r=\ln\tfrac3\alpha,\ t=\tfrac{kr}{n}-1"
    )
    source: ClassVar[str] = "properties §6, Sec 4.4.2.1"
    accuracy: Accuracy = 0.1

    def extrapolates(self, n: int, k: int) -> bool:
        """Tell whether the sample is short (``n < k ln(3/accuracy) / 2``); otherwise seen symbols are counted."""
        return sample_size(n) < 0.5 * symbol_count(k) * self.rate

    @property
    def rate(self) -> float:
        """Smoothing rate ``ln(3/accuracy)``."""
        return math.log(3.0 / self.accuracy)

    def ahead(self, n: int, k: int) -> float:
        """Return the look-ahead ``t = k ln(3/accuracy)/n - 1`` (eq (4.3))."""
        return symbol_count(k) * self.rate / sample_size(n) - 1.0

    def smallest_sample(self, k: int, growth: float = LARGEST_EXPONENT) -> int:
        """Return the smallest n whose weights stay below about ``e^growth``: ``r (t - 1) <= growth`` (Lemma 26)."""
        return max(1, math.ceil(symbol_count(k) * self.rate**2 / (growth + 2.0 * self.rate)))

    def values(self, counts: IntArray, n: int, k: int) -> FloatArray:
        """Return the coefficients at these counts; refused where they leave the range of numbers."""
        if self.extrapolates(n, k):
            return self._extrapolated(n, k, lambda estimator, t: estimator.values(counts, n, t))
        return (np.asarray(counts) > 0).astype(np.float64)

    def table(self, n: int, k: int) -> AdditiveTable:
        """Return the whole table."""
        size = check_table_size(n)
        return AdditiveTable(self.values(np.arange(size + 1), size, k), 0.0, size, symbol_count(k))

    def sensitivity(self, n: int, k: int, rule: NoiseRule = "exact") -> float:
        """Return the exact sensitivity, or eq (4.1) where the sample is short; 1 for the count of seen symbols."""
        rule = check_rule(rule)
        if self.extrapolates(n, k):
            return self._extrapolated(n, k, lambda estimator, t: estimator.sensitivity(n, t, rule, k))
        return 0.0 if k == 1 or n == 1 else 1.0

    def sensitivity_source(self, n: int, k: int, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity comes from."""
        if self.extrapolates(n, k):
            return SmoothedGoodToulmin(smoothing_mean=self.rate).sensitivity_source(n, self.ahead(n, k), rule)
        return "1: one record changes the number of seen symbols by at most one, exact"

    def is_private(self, n: int, k: int, rule: NoiseRule = "exact") -> bool:
        """Tell whether noise under this rule gives the stated privacy; see the smoothed estimator."""
        if not self.extrapolates(n, k):
            return True
        return SmoothedGoodToulmin(smoothing_mean=self.rate).is_private(self.ahead(n, k), rule)

    def bias_bound(self, n: int, k: int) -> float:
        """Return ``2 + 2 e^(r (t - 1)) + 2 accuracy k / 3``, a bound on the bias where the sample is short.

        Infinite where it is beyond the range of numbers.
        """
        exponent = self.rate * (self.ahead(n, k) - 1.0)
        grown = math.exp(exponent) if exponent <= LARGEST_EXPONENT else math.inf
        return 2.0 + 2.0 * grown + 2.0 * self.accuracy * k / 3.0

    def _extrapolated(self, n: int, k: int, ask: Callable[[SmoothedGoodToulmin, float], Answer]) -> Answer:
        try:
            return ask(SmoothedGoodToulmin(smoothing_mean=self.rate), self.ahead(n, k))
        except ParameterError as problem:
            least = self.smallest_sample(k)
            if n >= least:
                raise
            raise ParameterError(
                f"With {n:,} records and k = {k:,} the estimate looks {self.ahead(n, k):,.0f} samples ahead, and its "
                f"weights leave the range of numbers; take at least {least:,} records, or a smaller k.",
                field="n",
            ) from problem


class DenseSupport(Record):
    """Support size from many records: each symbol counts in full once seen a third as often as the rarest should be."""

    kind: Literal["dense"] = "dense"
    title: ClassVar[str] = "Clipped counts"
    formula: ClassVar[str] = r"\hat S=\sum_{x:N_x>0}\min\{1,\,3kN_x/n\}"
    source: ClassVar[str] = "properties §6, Sec 4.4.2.1"

    def values(self, counts: IntArray, n: int, k: int) -> FloatArray:
        """Return ``min(1, 3 k j / n)`` at these counts."""
        return np.minimum(1.0, 3.0 * symbol_count(k) * np.asarray(counts, dtype=np.float64) / sample_size(n))

    def table(self, n: int, k: int) -> AdditiveTable:
        """Return the whole table."""
        size = check_table_size(n)
        return AdditiveTable(self.values(np.arange(size + 1), size, k), 0.0, size, symbol_count(k))

    def sensitivity(self, n: int, k: int, rule: NoiseRule = "exact") -> float:
        """Return ``min(1, 3k/n)``, which is exact for n and k of at least 2 and 0 below."""
        check_rule(rule)
        size, symbols = sample_size(n), symbol_count(k)
        return 0.0 if symbols == 1 or size == 1 else min(1.0, 3.0 * symbols / size)

    def sensitivity_source(self, n: int, k: int, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity comes from."""
        return "min(1, 3k/n), exact; Sec 4.4.2.1"

    def is_private(self, n: int, k: int, rule: NoiseRule = "exact") -> bool:
        """Tell whether noise under this rule gives the stated privacy: it always does."""
        check_rule(rule)
        return True


SupportEstimator = Annotated[SparseSupport | DenseSupport, Field(discriminator="kind")]
"""What a select box of support-size estimators lists."""


def dense_support_estimate(counts: ArrayLike, n: int, k: int) -> FloatArray:
    """Evaluate the dense estimator on histograms, shape ``(..., symbols)`` to ``(...)``.

    Examples
    --------
    >>> float(dense_support_estimate([5, 3, 2, 1, 1], 12, 6))
    5.0
    """
    given = check_counts(counts)
    if np.any(given.sum(axis=-1) != sample_size(n)):
        raise ParameterError(f"The counts must sum to the sample size {n:,}.", field="n")
    distinct = int(np.count_nonzero(given, axis=-1).max())
    if distinct > symbol_count(k):
        raise ParameterError(
            f"The number of symbols k is {k:,}, but {distinct:,} distinct values occur; k must be at least that many.",
            field="k",
        )
    return np.asarray(DenseSupport().values(given, n, k).sum(axis=-1), dtype=np.float64)


def rare_count_tail(n: int, k: int) -> float:
    """Return ``e^(-2n/(9k))``, a bound on ``Pr(N_x < n/(3k))`` for a symbol of mass at least 1/k."""
    return math.exp(-2.0 * sample_size(n) / (9.0 * symbol_count(k)))


def dense_recovery_size(k: int, accuracy: float | None = None) -> float:
    """Return how many records suffice for the dense estimator.

    ``18 k ln k`` for exact recovery with probability at least 1 - k^-3, or, with an accuracy below 1/2,
    ``9 k ln(1/accuracy)``: then the error reaches ``accuracy * k`` with probability at most ``accuracy`` (E11).
    """
    symbols = symbol_count(k)
    if accuracy is None:
        return 18.0 * symbols * math.log(symbols)
    if not check_accuracy(accuracy) < 0.5:
        raise ParameterError(f"This condition needs an accuracy below 1/2; it is {accuracy:g}.", field="accuracy")
    return 9.0 * symbols * math.log(1.0 / accuracy)


def support_coverage_records(k: int, accuracy: float) -> float:
    """Return ``k ln(3/accuracy)`` records, whose coverage is within ``accuracy k / 3`` of the support (Lem 30)."""
    return symbol_count(k) * math.log(3.0 / check_accuracy(accuracy))


__all__ = [
    "DenseSupport",
    "SparseSupport",
    "SupportEstimator",
    "dense_recovery_size",
    "dense_support_estimate",
    "rare_count_tail",
    "support_coverage_records",
]
