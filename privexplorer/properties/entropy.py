"""Entropy estimators that are additive over symbols: plug-in, Miller-Madow and best polynomial.

Spec properties, sections 4.1 to 4.4. All values in nats; reports are never below 0.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, ClassVar, Literal, TypeAlias, cast, get_args

import numpy as np
from pydantic import Field

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions.checks import sample_size, symbol_count
from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.properties.remez import HIGHEST_DEGREE, scaled_polynomial_values
from privexplorer.properties.tables import (
    AdditiveTable,
    check_table_size,
    sensitivity_among,
)
from privexplorer.records import Number, Record, field

NoiseRule: TypeAlias = Literal["exact", "thesis", "paper_code"]
"""Which sensitivity the noise is made for: exact (default), the printed bound, or the public experiment code's."""

Preset: TypeAlias = Literal["matched", "private", "non-private", "custom"]


class AdditiveEntropy(Record):
    """Base of the entropy estimators: a table ``g`` per sample size, and its increments."""

    needs_k: ClassVar[bool] = False

    def values(self, counts: IntArray, n: int, k: int | None = None, private: bool = False) -> FloatArray:
        """Return ``g`` at these counts (any shape, 0..n), in nats."""
        raise NotImplementedError

    def increments(self, counts: IntArray, n: int, k: int | None = None, private: bool = False) -> FloatArray:
        """Return ``g(j + 1) - g(j)`` at these counts (0..n-1), without cancellation for large ``n``."""
        raise NotImplementedError

    def constant(self, n: int) -> float:
        """Return what is added once, in nats."""
        return 0.0

    def table(self, n: int, k: int | None = None, private: bool = False) -> AdditiveTable:
        """Return the whole table for samples of ``n`` records.

        Parameters
        ----------
        n : int
            Sample size, 1 to 20 million.
        k : int or None
            Number of symbols, public; only the polynomial needs it.
        private : bool
            Whether the table serves a private release: "matched" presets then take their private form.
        """
        return _table(self, check_table_size(n), self.check_k(k), private)

    def sensitivity(self, n: int, k: int | None = None, rule: NoiseRule = "exact") -> float:
        """Return the sensitivity that the noise is made for, in nats.

        Parameters
        ----------
        n : int
            Sample size, public.
        k : int or None
            Number of symbols, public; None gives the value for any ``k >= 3``.
        rule : {"exact", "thesis", "paper_code"}
            ``exact`` is tight; ``thesis`` the printed bound; ``paper_code`` what the public experiment code uses.
        """
        raise NotImplementedError

    def falling_from(self, k: int | None = None) -> int:
        """Return a sample size from which on the exact sensitivity falls; it may rise before.

        2 for plug-in and Miller-Madow: ``h(1/n)`` and ``1/(2n)`` fall from there on.
        """
        self.check_k(k)
        return 2

    def sensitivity_source(self, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity of this rule comes from."""
        raise NotImplementedError

    def is_private(self, rule: NoiseRule = "exact") -> bool:
        """Tell whether noise under this rule gives the stated privacy."""
        return True

    def note(self, n: int, k: int | None = None, private: bool = False) -> str | None:
        """Return a sentence for the reader where the settings are legal but unusual."""
        return None

    def check_k(self, k: int | None) -> int | None:
        """Return ``k`` if it is usable here."""
        if k is None:
            if self.needs_k:
                raise ParameterError(
                    "This estimator counts unseen symbols, so it needs the public number of symbols k.", field="k"
                )
            return None
        return symbol_count(k)


@lru_cache(maxsize=128)
def _table(estimator: AdditiveEntropy, n: int, k: int | None, private: bool) -> AdditiveTable:
    values = estimator.values(np.arange(n + 1), n, k, private)
    return AdditiveTable(values, estimator.constant(n), n, k, floor=0.0)


def _plug_in_values(counts: IntArray, n: int) -> FloatArray:
    given = np.asarray(counts)
    seen = np.maximum(given, 1)
    return np.asarray(given / n * np.log1p((n - seen) / seen), dtype=np.float64)


def _plug_in_increments(counts: IntArray, n: int) -> FloatArray:
    given = np.asarray(counts)
    after = given + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(given > 0, given * np.log1p(1.0 / np.maximum(given, 1)), 0.0)
    return np.asarray((np.log1p((n - after) / after) - loss) / n, dtype=np.float64)


def plug_in_sensitivity(n: int, k: int | None = None) -> float:
    """Return the exact sensitivity of the plug-in entropy: the binary entropy at 1/n.

    Reached between "all records equal" and "one record different"; derived, checked in
    tests/unit/properties/test_entropy.py. 0 for ``n = 1`` or ``k = 1``.

    Examples
    --------
    >>> round(plug_in_sensitivity(100), 11)
    0.05600153435
    """
    size = sample_size(n)
    if size == 1 or k == 1:
        return 0.0
    return (math.log(size) + (size - 1) * math.log1p(1.0 / (size - 1))) / size


class PlugIn(AdditiveEntropy):
    """Entropy of the observed frequencies."""

    kind: Literal["plug-in"] = "plug-in"
    title: ClassVar[str] = "Plug-in"
    formula: ClassVar[str] = r"\hat H = -\sum_x \frac{N_x}{n}\ln\frac{N_x}{n}"
    source: ClassVar[str] = "properties §4.1, eqs (4.4)-(4.9)"

    def values(self, counts: IntArray, n: int, k: int | None = None, private: bool = False) -> FloatArray:
        """Return ``-(j/n) ln(j/n)``."""
        return _plug_in_values(counts, n)

    def increments(self, counts: IntArray, n: int, k: int | None = None, private: bool = False) -> FloatArray:
        """Return the increments, which decrease in the count."""
        return _plug_in_increments(counts, n)

    def sensitivity(self, n: int, k: int | None = None, rule: NoiseRule = "exact") -> float:
        """Return h(1/n) (exact) or 2 ln(n)/n (printed, also used by the experiment code)."""
        size, symbols = sample_size(n), self.check_k(k)
        if check_rule(rule) == "exact":
            return plug_in_sensitivity(size, symbols)
        return 2.0 * math.log(size) / size

    def sensitivity_source(self, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity comes from."""
        return {
            "exact": "h(1/n), exact; derived",
            "thesis": "2 ln(n)/n, upper bound; eqs (4.4)-(4.9)",
            "paper_code": "2 ln(n)/n, as in the public experiment code",
        }[check_rule(rule)]


class MillerMadow(AdditiveEntropy):
    """Plug-in entropy with the leading bias term added back: half the number of seen symbols less one, over n."""

    kind: Literal["miller-madow"] = "miller-madow"
    title: ClassVar[str] = "Miller-Madow"
    formula: ClassVar[str] = r"\hat H = \hat H_{\mathrm{plug}} + \frac{\#\{x: N_x>0\}-1}{2n}"
    source: ClassVar[str] = "properties §4.2, Sec 4.5.1"

    def values(self, counts: IntArray, n: int, k: int | None = None, private: bool = False) -> FloatArray:
        """Return the plug-in value plus 1/(2n) for every symbol seen."""
        seen: FloatArray = (np.asarray(counts) > 0) / (2.0 * n)
        return _plug_in_values(counts, n) + seen

    def increments(self, counts: IntArray, n: int, k: int | None = None, private: bool = False) -> FloatArray:
        """Return the increments, which decrease in the count."""
        new: FloatArray = (np.asarray(counts) == 0) / (2.0 * n)
        return _plug_in_increments(counts, n) + new

    def constant(self, n: int) -> float:
        """Return ``-1/(2n)``."""
        return -1.0 / (2.0 * n)

    def sensitivity(self, n: int, k: int | None = None, rule: NoiseRule = "exact") -> float:
        """Return h(1/n) + 1/(2n) (exact), or the printed plug-in bound plus 1/(2n)."""
        size, symbols = sample_size(n), self.check_k(k)
        if check_rule(rule) == "exact":
            return 0.0 if size == 1 or symbols == 1 else plug_in_sensitivity(size) + 1.0 / (2.0 * size)
        return 2.0 * math.log(size) / size + 1.0 / (2.0 * size)

    def sensitivity_source(self, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity comes from."""
        if check_rule(rule) == "exact":
            return "h(1/n) + 1/(2n), exact; derived"
        return "2 ln(n)/n + 1/(2n): the printed plug-in bound and one symbol; the source has no private version"


class Polynomial(AdditiveEntropy):
    """Rare symbols through the best polynomial of x ln(1/x), frequent ones through the plug-in term."""

    kind: Literal["poly"] = "poly"
    title: ClassVar[str] = "Best polynomial"
    formula: ClassVar[str] = (
        r"\begin{aligned}g(j)&=\frac1n\Bigl[M\sum_{m=0}^{L}a_m\frac{j(j-1)\cdots(j-m+1)}{M^m}+j\ln\frac nM\Bigr]"
        r"&&(j\le N)\\ g(j)&=-\frac jn\ln\frac jn+\frac1{2n}&&(j>N)\end{aligned}"
    )
    source: ClassVar[str] = "properties §4.3, Lem 33, Sec 4.5.1"
    needs_k: ClassVar[bool] = True

    preset: Preset = field(
        "matched",
        "Preset",
        "Matched takes the private preset for private answers and the non-private one for the others.",
        key="preset",
        titles={"matched": "Matched", "private": "Private", "non-private": "Non-private", "custom": "Own values"},
    )
    degree: Annotated[int, Number] = field(
        9,
        "Degree L",
        "Used with own values. High: little bias, large sensitivity.",
        key="degree",
        when=("preset", "custom"),
        ge=1,
        le=HIGHEST_DEGREE,
    )
    interval: Annotated[float, Number] = field(
        13.8,
        "Interval M",
        "Used with own values. The polynomial fits frequencies up to M/n.",
        key="interval",
        when=("preset", "custom"),
        ge=0.1,
        le=1000,
    )
    cutoff: Annotated[int, Number] = field(
        11,
        "Largest count N",
        "Used with own values. Counts up to N go through the polynomial.",
        key="cutoff",
        when=("preset", "custom"),
        ge=1,
        le=200,
    )

    def parameters(self, k: int, private: bool = False) -> tuple[int, float, int]:
        """Return ``(L, M, N)``: degree, interval and largest polynomial count."""
        if self.preset == "custom":
            return self.degree, self.interval, self.cutoff
        if self.preset == "matched":
            return polynomial_parameters(k, "private" if private else "non-private")
        return polynomial_parameters(k, self.preset)

    def values(self, counts: IntArray, n: int, k: int | None = None, private: bool = False) -> FloatArray:
        """Return the polynomial part up to N, the plug-in term plus 1/(2n) above (spec properties, section 4.3)."""
        degree, interval, cutoff = self._fixed(k, private)
        given = np.asarray(counts)
        low = np.minimum(given, cutoff)
        inside = (scaled_polynomial_values(degree, interval, cutoff)[low] + low * math.log(n / interval)) / n
        return np.where(given <= cutoff, inside, _plug_in_values(given, n) + 0.5 / n)

    def increments(self, counts: IntArray, n: int, k: int | None = None, private: bool = False) -> FloatArray:
        """Return the increments; above N they decrease in the count."""
        degree, interval, cutoff = self._fixed(k, private)
        given = np.asarray(counts)
        inner = np.diff(scaled_polynomial_values(degree, interval, cutoff))
        inside = (inner[np.minimum(given, cutoff - 1)] + math.log(n / interval)) / n
        edge = np.array([cutoff, min(cutoff + 1, n)])
        jump = float(np.diff(self.values(edge, n, k, private))[0])
        found = np.where(given < cutoff, inside, _plug_in_increments(given, n))
        return np.where(given == cutoff, jump, found)

    def sensitivity(self, n: int, k: int | None = None, rule: NoiseRule = "exact") -> float:
        """Return the exact sensitivity, or what the experiment code uses while unseen symbols are present.

        A "matched" preset means the private one here, since noise is only added to private answers. Beyond the
        largest polynomial count the increments decrease, so only counts up to N + 3 and their mirrors
        ``n - 1 - j`` can set the maximum (derived, checked in tests/unit/properties/test_entropy.py).
        """
        size, symbols = sample_size(n), self.check_k(k)
        assert symbols is not None  # noqa: S101
        if check_rule(rule) == "paper_code":
            zero, one = self.values(np.array([0, 1]), size, symbols, True)
            return 2.0 * abs(float(one - zero))
        cutoff = self.parameters(symbols, True)[2]
        low = np.arange(min(cutoff + 4, size))
        return sensitivity_among(
            lambda counts: self.increments(counts, size, symbols, True),
            np.concatenate((low, size - 1 - low)),
            size,
            symbols,
        )

    def falling_from(self, k: int | None = None) -> int:
        """Return a sample size from which on the exact sensitivity falls; it may rise before.

        ``n D(j) = ln n + c_j`` with ``c_j`` free of n, so ``n Δ_n`` is the largest ``|c_i - c_j|`` that n has room for.
        From ``n = 2 N + 4`` on all pairs up to N + 1 have room, and only pairs ``(i, n - 1 - i)`` with i up to N + 1
        can still grow: by at most ``1/(n - 1 - i)`` per record, so Δ_n falls as soon as their largest
        ``c_i - c_{n-1-i}``, which never falls, is 2. Derived, checked in tests/unit/properties/test_entropy.py.
        """
        symbols = self.check_k(k)
        assert symbols is not None  # noqa: S101
        cutoff = self.parameters(symbols, True)[2]
        n = 2 * cutoff + 4
        low = np.arange(cutoff + 2)
        while True:
            steps = self.increments(np.concatenate((low, n - 1 - low)), n, symbols, True)
            if n * float((steps[: low.size] - steps[low.size :]).max()) >= 2.0:
                return n
            n *= 2

    def sensitivity_source(self, rule: NoiseRule = "exact") -> str:
        """Say where the sensitivity comes from."""
        if check_rule(rule) == "paper_code":
            return "2 |g(1) - g(0)|, which the public experiment code uses while unseen symbols are present"
        return "largest change over all neighbouring samples, exact; Sec 4.5.1"

    def is_private(self, rule: NoiseRule = "exact") -> bool:
        """Tell whether noise under this rule gives the stated privacy; the experiment code's depends on the data."""
        return check_rule(rule) != "paper_code"

    def note(self, n: int, k: int | None = None, private: bool = False) -> str | None:
        """Return a sentence where the sample is shorter than the interval."""
        if k is None:
            return None
        interval = self.parameters(k, private)[1]
        if n < interval:
            return f"The sample (n = {n:,}) is shorter than the polynomial's interval M = {interval:.3g}."
        return None

    def _fixed(self, k: int | None, private: bool) -> tuple[int, float, int]:
        symbols = self.check_k(k)
        assert symbols is not None  # noqa: S101
        return self.parameters(symbols, private)


EntropyEstimator = Annotated[PlugIn | MillerMadow | Polynomial, Field(discriminator="kind")]
"""What a select box of entropy estimators lists."""


def polynomial_parameters(k: int, preset: Preset = "private") -> tuple[int, float, int]:
    """Return ``(degree L, interval M, cutoff N)`` of a published preset.

    Parameters
    ----------
    k : int
        Number of symbols.
    preset : {"private", "non-private"}
        ``private``: L = ceil(1.2 ln k), M = 2 ln k; ``non-private``: L = floor(1.6 ln k), M = 3.5 ln k; both
        N = floor(1.6 ln k). L and N are at least 1 and L at most 24 (spec properties, section 4.3, E16).

    Examples
    --------
    >>> polynomial_parameters(1000, "non-private")[0], polynomial_parameters(1000, "private")[0]
    (11, 9)
    """
    scale = math.log(max(symbol_count(k), 2))
    cutoff = max(1, math.floor(1.6 * scale))
    if preset == "private":
        return min(max(1, math.ceil(1.2 * scale)), HIGHEST_DEGREE), 2.0 * scale, cutoff
    if preset == "non-private":
        return min(cutoff, HIGHEST_DEGREE), 3.5 * scale, cutoff
    raise UnsupportedCombination(
        "Only the private and the non-private preset have published parameters.", field="preset"
    )


def check_rule(rule: str) -> NoiseRule:
    """Return the noise rule if it is one."""
    for known in get_args(NoiseRule):
        if rule == known:
            return cast(NoiseRule, known)
    raise ParameterError(f"The noise rule must be exact, thesis or paper_code; it is '{rule}'.", field="noise_rule")


# ---- bounds ----


def plug_in_bias_bound(n: int, k: int, form: Literal["tight", "chi-square", "thesis"] = "tight") -> float:
    """Return a bound on ``H(p) - E H_plug``, which is never negative, in nats.

    ``tight``: ln(1 + (k-1)/n), derived; ``chi-square``: (k-1)/n; ``thesis``: k/n as printed in (4.5) (erratum E5).
    """
    size = sample_size(n)
    ratio = (k - 1) / size
    if form == "tight":
        return math.log1p(ratio)
    return ratio if form == "chi-square" else k / size


def plug_in_variance_bound(n: int) -> float:
    """Return ``ln(n)^2 / n``, a bound on the variance of the plug-in entropy (4.6; the constant is erratum E6)."""
    size = sample_size(n)
    return math.log(size) ** 2 / size


def bounded_difference_variance(n: int, sensitivity: float) -> float:
    """Return ``n sensitivity^2 / 4``, a bound on the variance of a statistic of ``n`` independent records (Lem 32)."""
    return sample_size(n) * sensitivity**2 / 4.0


__all__ = [
    "AdditiveEntropy",
    "EntropyEstimator",
    "MillerMadow",
    "NoiseRule",
    "PlugIn",
    "Polynomial",
    "Preset",
    "bounded_difference_variance",
    "plug_in_bias_bound",
    "plug_in_sensitivity",
    "plug_in_variance_bound",
    "polynomial_parameters",
]
