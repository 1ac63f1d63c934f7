"""Support coverage: how many distinct symbols ``m = (1 + t) n`` records would show, from ``n`` records.

Smoothed Good-Toulmin, Good-Toulmin and the batch estimator, with their sensitivities and bounds: spec properties,
section 5 (Lemmas 26 and 27, eq (4.1)) and errata E1, E3, E7, E13, E14. ``t`` counts further records per record.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field
from scipy import special

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions.checks import sample_size, whole_number
from privexplorer.errors import ParameterError
from privexplorer.properties.entropy import NoiseRule, check_rule
from privexplorer.properties.tables import (
    AdditiveTable,
    Fingerprint,
    check_fingerprint,
    check_table_size,
    closed_sum,
    sensitivity,
)
from privexplorer.records import Number, Record, field

Smoothing: TypeAlias = Literal["poisson", "binomial-1", "binomial-2"]

CLOSEST = 1.001
"""The automatic smoothing takes this value of t where t lies between 1 and it."""
LARGEST_EXPONENT = 700.0
"""Coefficients and sensitivities up to e to this power are numbers."""


class AdditiveCoverage(Record):
    """Base of the coverage estimators that are additive over symbols: coefficient ``c_i`` for a symbol seen i times."""

    def new_values(self, counts: IntArray, n: int, t: float) -> FloatArray:
        """Return ``c_i - 1`` at these counts (any shape), 0 at count 0: the part that counts new symbols."""
        raise NotImplementedError

    def values(self, counts: IntArray, n: int, t: float) -> FloatArray:
        """Return ``c_i`` at these counts (any shape), 0 at count 0."""
        return self.new_values(counts, n, t) + (np.asarray(counts) > 0)

    def coefficients(self, n: int, t: float, size: int) -> FloatArray:
        """Return ``c_1, ..., c_size``, shape ``(size,)``."""
        return self.values(np.arange(1, size + 1), n, t)

    def table(self, n: int, t: float, k: int | None = None, *, new_only: bool = False) -> AdditiveTable:
        """Return the whole table for samples of ``n`` records.

        Parameters
        ----------
        n : int
            Sample size.
        t : float
            Further records per record, above -1.
        k : int or None
            Number of symbols, if bounded.
        new_only : bool
            True estimates the number of new symbols instead of the total.
        """
        size = check_table_size(n)
        counts = np.arange(size + 1)
        found = self.new_values(counts, size, t) if new_only else self.values(counts, size, t)
        return AdditiveTable(found, 0.0, size, k)

    def sensitivity(
        self, n: int, t: float, rule: NoiseRule = "exact", k: int | None = None, *, new_only: bool = False
    ) -> float:
        """Return the sensitivity that the noise is made for, in symbols.

        Parameters
        ----------
        n, t, k, new_only
            As in :meth:`table`.
        rule : {"exact", "thesis", "paper_code"}
            ``thesis`` is eq (4.1) for Poisson smoothing beyond t = 1 and the exact value elsewhere;
            ``paper_code`` agrees with it there, and is ``max(t, 0.01)`` up to t = 1, which is too little (E13).
        """
        raise NotImplementedError

    def sensitivity_source(self, n: int, t: float, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity of this rule comes from."""
        raise NotImplementedError

    def is_private(self, t: float, rule: NoiseRule = "exact") -> bool:
        """Tell whether noise under this rule gives the stated privacy."""
        return check_rule(rule) != "paper_code" or t > 1.0

    def note(self, n: int, t: float) -> str | None:
        """Return a sentence for the reader where the settings make the estimator another one."""
        return None


class GoodToulmin(AdditiveCoverage):
    """The unbiased extrapolation: sound up to twice the sample (t = 1), wild beyond."""

    kind: Literal["good-toulmin"] = "good-toulmin"
    title: ClassVar[str] = "Good-Toulmin"
    formula: ClassVar[str] = r"\hat S_m = \sum_{i\ge1}\Phi_i\,\bigl(1-(-t)^i\bigr)"
    source: ClassVar[str] = "properties §5, Sec 4.2.1"

    def new_values(self, counts: IntArray, n: int, t: float) -> FloatArray:
        """Return ``-(-t)^i``; any t above -1, so that its growth beyond t = 1 can be shown."""
        ahead = check_ahead(t)
        given = np.asarray(counts)
        return _signed(given, ahead, np.zeros(given.shape))

    def table(self, n: int, t: float, k: int | None = None, *, new_only: bool = False) -> AdditiveTable:
        """Return the whole table; t up to 1."""
        _check_inside(t)
        return super().table(n, t, k, new_only=new_only)

    def sensitivity(
        self, n: int, t: float, rule: NoiseRule = "exact", k: int | None = None, *, new_only: bool = False
    ) -> float:
        """Return the exact sensitivity in closed form, or the experiment code's ``max(t, 0.01)``; t up to 1."""
        size, ahead = sample_size(n), check_ahead(t)
        _check_inside(ahead)
        if check_rule(rule) == "paper_code":
            return max(ahead, 0.01)
        return good_toulmin_sensitivity(size, ahead, k, new_only=new_only)

    def sensitivity_source(self, n: int, t: float, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity comes from."""
        if check_rule(rule) == "paper_code":
            return "max(t, 0.01), as in the public experiment code; less than the exact value"
        return "(1 + t)^2 for n >= 2 and 0 <= t <= 1, exact; derived"


class SmoothedGoodToulmin(AdditiveCoverage):
    """Good-Toulmin with its series faded out, so that it can look several sample sizes ahead."""

    kind: Literal["sgt"] = "sgt"
    title: ClassVar[str] = "Smoothed Good-Toulmin"
    formula: ClassVar[str] = r"\hat S_m = \sum_{i\ge1}\Phi_i\,\bigl(1-(-t)^i\Pr(Z\ge i)\bigr)"
    source: ClassVar[str] = "properties §5, Sec 4.4.1.1"

    smoothing: Smoothing = field(
        "poisson",
        "Smoothing",
        "Where the series is cut: at a Poisson or at a binomial random place. The binomial ones are an extension.",
        key="smoothing",
        titles={"poisson": "Poisson", "binomial-1": "Binomial, 1/(1+t)", "binomial-2": "Binomial, 2/(2+t)"},
    )
    smoothing_mean: Annotated[float, Number] | None = field(
        None,
        "Smoothing rate r",
        "Mean of the Poisson cut; empty takes the published choice for n and t.",
        key="r",
        ge=0,
        le=1000,
    )

    def rate(self, n: int, t: float) -> float:
        """Return the Poisson mean in use; infinite where the estimator is plain Good-Toulmin."""
        if self.smoothing == "poisson" and self.smoothing_mean is not None:
            return self.smoothing_mean
        return smoothing_rate(n, t) if t > 1.0 else math.inf

    def new_values(self, counts: IntArray, n: int, t: float) -> FloatArray:
        """Return ``-(-t)^i Pr(Z >= i)``; plain Good-Toulmin for t up to 1 unless a rate is set."""
        size, ahead = sample_size(n), check_ahead(t)
        given = np.asarray(counts)
        return _signed(given, ahead, self._log_survival(given, size, ahead))

    def sensitivity(
        self, n: int, t: float, rule: NoiseRule = "exact", k: int | None = None, *, new_only: bool = False
    ) -> float:
        """Return the exact sensitivity, from the entries up to where the series has faded out, or eq (4.1)."""
        size, ahead = sample_size(n), check_ahead(t)
        rule = check_rule(rule)
        if self._is_plain(ahead):
            if rule == "paper_code":
                return max(ahead, 0.01)
            return good_toulmin_sensitivity(size, ahead, k, new_only=new_only)
        if rule != "exact" and self.smoothing == "poisson" and ahead > 1.0:
            return sgt_sensitivity_bound(self.rate(size, ahead), ahead)
        if rule == "paper_code" and ahead <= 1.0:
            return max(ahead, 0.01)
        if k == 1:
            return 0.0
        return self._exact(size, ahead, k, new_only)

    def sensitivity_source(self, n: int, t: float, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity comes from."""
        if self._is_plain(t):
            return GoodToulmin().sensitivity_source(n, t, rule)
        if check_rule(rule) == "exact" or self.smoothing != "poisson":
            return "largest change over all neighbouring samples, exact; derived"
        if t > 1.0:
            return "2 (1 + e^(r (t - 1))), upper bound; eq (4.1)"
        if rule == "paper_code":
            return "max(t, 0.01), as in the public experiment code; less than the exact value"
        return "largest change over all neighbouring samples, exact; eq (4.1) does not cover t <= 1"

    def is_private(self, t: float, rule: NoiseRule = "exact") -> bool:
        """Tell whether noise under this rule gives the stated privacy.

        Eq (4.1) holds for the published smoothing rate, but not for every large rate with t near 1 (erratum E3): for
        a rate of one's own it is compared with the exact sensitivity of arbitrarily long samples.
        """
        if check_rule(rule) == "exact" or self.smoothing != "poisson" or t <= 1.0:
            return super().is_private(t, rule)
        if self.smoothing_mean is None:
            return True
        return self._exact(10**12, t, None, False) <= sgt_sensitivity_bound(self.smoothing_mean, t)

    def note(self, n: int, t: float) -> str | None:
        """Say so where the estimator is plain Good-Toulmin."""
        if self._is_plain(t):
            return "For t up to 1 no smoothing is needed: this is the plain Good-Toulmin estimator." + (
                " Close to t = 1 its terms hardly fade, so a small table can swing by a few values; "
                "t = 0.5 or t = 2 is steadier."
                if t > 0.8
                else ""
            )
        return None

    def _is_plain(self, t: float) -> bool:
        return t <= 1.0 and not (self.smoothing == "poisson" and self.smoothing_mean is not None)

    def _log_survival(self, counts: IntArray, n: int, t: float) -> FloatArray:
        if self._is_plain(t):
            return np.zeros(counts.shape)
        if self.smoothing == "poisson":
            return log_poisson_survival(counts, self.rate(n, t))
        trials, chance = binomial_smoothing(n, t, self.smoothing)
        below = np.clip(counts - 1, 0, trials - 1)
        survival = np.where(counts <= 0, 1.0, np.where(counts > trials, 0.0, special.bdtrc(below, trials, chance)))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(survival), dtype=np.float64)

    def _exact(self, n: int, t: float, k: int | None, new_only: bool) -> float:
        # |c_i - 1| rises and then falls for good, so the series has faded once it is small past its peak
        reach = 64
        while reach < n:
            tail = np.abs(self.new_values(np.arange(1, reach + 1), n, t))
            if tail[-1] <= tail[-2] and tail[-1] <= 1e-18 * tail.max():
                break
            reach *= 2
        short = min(n, 2 * reach + 2)
        counts = np.arange(short + 1)
        values = self.new_values(counts, n, t) if new_only else self.values(counts, n, t)
        if k == 2 and short < n:
            return float(np.abs(np.diff(values[: reach + 2])).max())  # the partner n - 1 - i lies in the faded part
        return sensitivity(values, k)


class BatchCoverage(Record):
    """Average number of distinct symbols over blocks of ``m`` records, for ``m`` up to the sample size (t up to 0)."""

    kind: Literal["batch"] = "batch"
    title: ClassVar[str] = "Batch average"
    formula: ClassVar[str] = r"\hat S_m = \frac1{\lfloor n/m\rfloor}\sum_b \#\{\text{distinct symbols in block } b\}"
    source: ClassVar[str] = "properties §5, Sec 4.4.1.1"

    def block(self, n: int, t: float) -> int:
        """Return the block length ``m = (1 + t) n``, a whole number from 1 to n."""
        size, ahead = sample_size(n), check_ahead(t)
        return check_block(size, max(1, round(size * (1.0 + ahead))))

    def values(self, counts: IntArray, n: int, t: float) -> FloatArray:
        """Return ``1 - C(n - j, m)/C(n, m)`` at these counts: the average over every order of the records.

        Unbiased like the average over one order, and never more variable (Rao-Blackwell); derived, checked in
        tests/unit/properties/test_coverage.py.
        """
        length = self.block(n, t)
        given = np.asarray(counts)
        top = int(given.max(initial=0))
        missing = n - length - np.arange(top, dtype=np.float64)
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(missing, 0.0)) - np.log(n - np.arange(top, dtype=np.float64))
        return np.asarray(0.0 - np.expm1(np.concatenate(([0.0], np.cumsum(logs))))[given], dtype=np.float64)

    def table(self, n: int, t: float, k: int | None = None) -> AdditiveTable:
        """Return the table of the average over every order; its own exact sensitivity is ``m/n``."""
        size = check_table_size(n)
        return AdditiveTable(self.values(np.arange(size + 1), size, t), 0.0, size, k)

    def estimate(self, symbols: ArrayLike, m: int) -> FloatArray:
        """Average the number of distinct symbols over consecutive blocks.

        Parameters
        ----------
        symbols : (..., n) array
            Records in their order.
        m : int
            Block length, 1 to n; records after the last whole block are left out.
        """
        given = np.asarray(symbols)
        n = given.shape[-1]
        length = check_block(n, m)
        blocks = n // length
        cut = np.sort(given[..., : blocks * length].reshape(*given.shape[:-1], blocks, length), axis=-1)
        distinct = 1 + (cut[..., 1:] != cut[..., :-1]).sum(axis=-1)
        return np.asarray(distinct.mean(axis=-1), dtype=np.float64)

    def sensitivity(
        self, n: int, t: float, rule: NoiseRule = "exact", k: int | None = None, *, averaged: bool = False
    ) -> float:
        """Return the sensitivity.

        For records in one order it is 1 over the number of blocks; averaged over every order it is ``m/n``; the
        printed bound is ``2m/n`` (E7).
        """
        length = self.block(n, t)
        if check_rule(rule) != "exact":
            return 2.0 * length / n
        if k == 1 or length == 1:
            return 0.0
        return length / n if averaged else 1.0 / (n // length)

    def sensitivity_source(self, n: int, t: float, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity comes from."""
        if check_rule(rule) == "exact":
            return "one over the number of blocks, exact; derived"
        return "2m/n, upper bound; Sec 4.4.1.1"

    def is_private(self, t: float, rule: NoiseRule = "exact") -> bool:
        """Tell whether noise under this rule gives the stated privacy: it always does."""
        check_rule(rule)
        return True


CoverageEstimator = Annotated[SmoothedGoodToulmin | GoodToulmin | BatchCoverage, Field(discriminator="kind")]
"""What a select box of coverage estimators lists."""


# ---- the same as functions ----


def smoothing_rate(n: int, t: float, accuracy: float | None = None, *, factor: float = 1.0) -> float:
    """Return the Poisson mean r of the smoothing.

    Parameters
    ----------
    n : int
        Sample size.
    t : float
        Further records per record; between 1 and 1.001 the value 1.001 is used, as it is below 1.
    accuracy : float, optional
        Target accuracy in (0, 1): then the theory's ``ln(factor / accuracy)``. Left out, the published choice
        ``ln(n (t + 1)^2 / (t - 1)) / (2 t)`` (Sec 4.5.2).
    factor : float
        1, or 3 as in the derivation of the sample size.

    Examples
    --------
    >>> round(smoothing_rate(100, 2), 9)
    1.700598691
    """
    size, ahead = sample_size(n), check_ahead(t)
    if accuracy is not None:
        return math.log(factor / check_accuracy(accuracy))
    used = max(ahead, CLOSEST)
    return math.log(size * (used + 1.0) ** 2 / (used - 1.0)) / (2.0 * used)


def binomial_smoothing(n: int, t: float, smoothing: Smoothing = "binomial-1") -> tuple[int, float]:
    """Return ``(K, q)`` of the binomial cut for t > 1 (extension; spec properties, section 5)."""
    size, ahead = sample_size(n), check_ahead(t)
    if ahead <= 1.0:
        raise ParameterError(f"Binomial smoothing looks more than one sample size ahead; t is {t:g}.", field="t")
    argument = size * ahead * ahead / (ahead - 1.0)
    if smoothing == "binomial-1":
        return math.ceil(0.5 * math.log2(argument)), 1.0 / (1.0 + ahead)
    return math.ceil(0.5 * math.log(argument) / math.log(3.0)), 2.0 / (2.0 + ahead)


def sgt_coefficients(n: int, t: float, size: int, r: float | None = None) -> FloatArray:
    """Return ``c_1, ..., c_size`` of the Poisson-smoothed estimator, shape ``(size,)``.

    Parameters
    ----------
    n : int
        Sample size.
    t : float
        Further records per record, above -1.
    size : int
        How many coefficients.
    r : float, optional
        Smoothing rate, at least 0; left out, the published choice, and plain Good-Toulmin for t up to 1.
    """
    return _poisson(r).coefficients(n, t, size)


def coverage_estimate(
    fingerprint: Fingerprint, n: int, t: float, r: float | None = None, *, smoothing: Smoothing = "poisson"
) -> float:
    """Estimate the number of distinct symbols among ``(1 + t) n`` records, not private.

    Parameters
    ----------
    fingerprint : mapping or array
        ``{i: symbols seen i times}`` or an array over counts.
    n : int
        Sample size; must agree with the fingerprint.
    t, r, smoothing
        As in :func:`sgt_coefficients`; plain Good-Toulmin for t up to 1 unless ``r`` is given.
    """
    counts, symbols = _checked_fingerprint(fingerprint, n)
    estimator = _poisson(r) if smoothing == "poisson" else SmoothedGoodToulmin(smoothing=smoothing)
    return closed_sum(estimator.values(counts, n, t), symbols, int(symbols.sum()), 0.0, None, 0.0, -math.inf)


def new_symbols_estimate(
    fingerprint: Fingerprint, n: int, t: float, r: float | None = None, *, smoothing: Smoothing = "poisson"
) -> float:
    """Estimate how many new symbols ``t n`` further records would show: the total less the symbols seen."""
    counts, symbols = _checked_fingerprint(fingerprint, n)
    estimator = _poisson(r) if smoothing == "poisson" else SmoothedGoodToulmin(smoothing=smoothing)
    return closed_sum(estimator.new_values(counts, n, t), symbols, int(symbols.sum()), 0.0, None, 0.0, -math.inf)


def good_toulmin_sensitivity(n: int, t: float, k: int | None = None, *, new_only: bool = False) -> float:
    """Return the exact sensitivity of Good-Toulmin for -1 < t <= 1, in closed form.

    For k >= 3 (or unbounded) and 0 <= t <= 1 it is ``(1 + t)^2`` from n = 2 on; looking back (t < 0) it is
    ``(1 + t)(1 - |t|^(n-1))``. Derived, checked in tests/unit/properties/test_coverage.py.
    """
    size, ahead = sample_size(n), check_ahead(t)
    _check_inside(ahead)
    if size == 1 or k == 1:
        return 0.0
    if new_only:
        # the increments are t, then (1 + t)(-t)^j: the first ones, and the last as their partners, decide
        near = np.arange(min(size, 6))
        candidates = np.unique(np.concatenate((near, size - 1 - near)))
        ends = np.stack((candidates, candidates + 1))
        steps = np.diff(GoodToulmin().new_values(ends, size, ahead), axis=0)[0]
        together = candidates[:, None] + candidates[None, :]
        allowed = together == size - 1 if k == 2 else together <= size - 1
        return float(np.where(allowed, np.abs(steps[:, None] - steps[None, :]), 0.0).max())
    far = abs(ahead) ** (size - 1)
    if ahead < 0.0:
        return (1.0 + ahead) * (1.0 - far)
    if k == 2:
        return (1.0 + ahead) * (1.0 + far if size % 2 == 0 else 1.0 - far)
    return (1.0 + ahead) ** 2


def sgt_sensitivity_bound(r: float, t: float) -> float:
    """Return ``2 (1 + e^(r (t - 1)))``, the printed bound on the sensitivity for t > 1 (eq (4.1), E1, E3)."""
    return 2.0 * sgt_coefficient_bound(r, t)


def sgt_coefficient_bound(r: float, t: float) -> float:
    """Return ``1 + e^(r (t - 1))``, which no coefficient exceeds in size for t > 1 (Lemma 26)."""
    return 1.0 + _growth(r, t)


def sgt_bias_bound(r: float, t: float, m: float, support: float) -> float:
    """Return ``2 + 2 e^(r (t - 1)) + min(m, S) e^(-r)``, a bound on the bias for t > 1 (Lemma 27; very loose)."""
    return 2.0 + 2.0 * _growth(r, t) + min(m, support) * math.exp(-r)


def log_poisson_survival(counts: IntArray, mean: float) -> FloatArray:
    """Return ``ln Pr(Z >= i)`` for Poisson Z, any shape; never formed as 1 minus something, good in the far tail."""
    if not mean >= 0.0:
        raise ParameterError(f"The smoothing rate r must be at least 0; it is {mean:g}.", field="r")
    given = np.asarray(counts, dtype=np.float64)
    out = np.where(given <= 0.0, 0.0, -np.inf)
    if mean == 0.0:
        return out
    inside = given > 0.0
    i = given[inside]
    with np.errstate(divide="ignore"):
        logs = np.log(special.gammainc(i, mean))
    deep = ~(logs > -600.0)
    if np.any(deep):
        # far out the tail is its first term times a fast series of falling ratios
        far = i[deep]
        series = np.ones(far.size)
        for term in range(80, 0, -1):
            series = 1.0 + mean / (far + term) * series
        logs[deep] = far * math.log(mean) - mean - special.gammaln(far + 1.0) + np.log(series)
    out[inside] = logs
    return out


# ---- shared checks ----


def check_ahead(t: float) -> float:
    """Return ``t`` if it is above -1."""
    if not (math.isfinite(t) and t > -1.0):
        raise ParameterError(f"The look-ahead t must be a number above -1; it is {t:g}.", field="t")
    return float(t)


def check_accuracy(accuracy: float) -> float:
    """Return the target accuracy if it lies strictly between 0 and 1."""
    if not 0.0 < accuracy < 1.0:
        raise ParameterError(f"The target accuracy must lie between 0 and 1; it is {accuracy:g}.", field="accuracy")
    return float(accuracy)


def check_block(n: int, m: int) -> int:
    """Return the block length if it is a whole number from 1 to ``n``."""
    length = whole_number(m, "The number of records m", "m")
    if length > n:
        raise ParameterError(
            f"The batch estimator needs at least m records; m is {length:,} and the sample has {n:,}.", field="m"
        )
    return length


def _check_inside(t: float) -> None:
    if t > 1.0:
        raise ParameterError(
            f"Good-Toulmin looks at most one sample size ahead (t up to 1); t is {t:g}; take the smoothed estimator.",
            field="t",
        )


def _growth(r: float, t: float) -> float:
    if not r >= 0.0:
        raise ParameterError(f"The smoothing rate r must be at least 0; it is {r:g}.", field="r")
    exponent = r * (t - 1.0)
    if not exponent <= LARGEST_EXPONENT:
        raise ParameterError(
            f"The sensitivity e^(r (t - 1)) is beyond the range of numbers at r = {r:g}, t = {t:g}; lower one of them.",
            field="t",
        )
    return math.exp(exponent)


def _signed(counts: IntArray, t: float, log_survival: FloatArray) -> FloatArray:
    """``-(-t)^i Pr(Z >= i)``, and 0 at i = 0, formed as the exponential of a sum of logarithms."""
    seen = counts > 0
    if t == 0.0:
        return np.zeros(counts.shape)
    logs = np.where(seen, counts * math.log(abs(t)) + log_survival, -np.inf)
    if np.any(logs > LARGEST_EXPONENT):
        raise ParameterError(
            f"The coefficients are beyond the range of numbers at t = {t:g}; look less far ahead or smooth more.",
            field="t",
        )
    size = np.exp(logs)
    positive = (counts % 2 == 1) if t > 0.0 else np.zeros(counts.shape, dtype=bool)
    return np.asarray(np.where(positive, size, -size), dtype=np.float64)


def _poisson(r: float | None) -> SmoothedGoodToulmin:
    if r is not None and not 0.0 <= r <= 1000.0:
        raise ParameterError(f"The smoothing rate r must be between 0 and 1000; it is {r:g}.", field="r")
    return SmoothedGoodToulmin(smoothing_mean=r)


def _checked_fingerprint(fingerprint: Fingerprint, n: int) -> tuple[IntArray, IntArray]:
    counts, symbols = check_fingerprint(fingerprint)
    total = int((counts * symbols).sum())
    if total != n:
        raise ParameterError(f"The fingerprint has {total:,} records, but the sample size n is {n:,}.", field="n")
    return counts, symbols


__all__ = [
    "AdditiveCoverage",
    "BatchCoverage",
    "CoverageEstimator",
    "GoodToulmin",
    "SmoothedGoodToulmin",
    "Smoothing",
    "binomial_smoothing",
    "coverage_estimate",
    "good_toulmin_sensitivity",
    "log_poisson_survival",
    "new_symbols_estimate",
    "sgt_bias_bound",
    "sgt_coefficient_bound",
    "sgt_coefficients",
    "sgt_sensitivity_bound",
    "smoothing_rate",
]
