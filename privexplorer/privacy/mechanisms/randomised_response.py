"""Randomised response, binary and k-ary: channel, levels, unbiased frequencies.

Source: locally_private_inference, section 1.4. Each person keeps the value with probability
a = (e^ε - 1)/(e^ε + k - 1) and otherwise reports a value drawn uniformly from all k, so the channel is
a·I + (1 - a)/k. Frequencies of reports q = channel·p are turned back by p = (q - (1 - a)/k)/a, which is unbiased.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.errors import ParameterError
from privexplorer.privacy.guarantees import LocalDP, TotalVariation, check_epsilon
from privexplorer.privacy.mechanisms._base import MechanismRecord
from privexplorer.records import Epsilon, Number, field

Sampling = Literal["independent", "fixed"]


def keep_probability(epsilon: float, k: int) -> float:
    """Probability that a k-ary response keeps the value, (e^ε - 1)/(e^ε + k - 1); also its total-variation level.

    Parameters
    ----------
    epsilon : float
        Privacy loss, >= 0.
    k : int
        Number of values, >= 2.

    Returns
    -------
    float
        In [0, 1). A value that is not kept is redrawn from all k, so it may still come out true.

    Examples
    --------
    >>> round(keep_probability(np.log(3), 4), 12)
    0.333333333333
    """
    check_epsilon(epsilon)
    _check_symbols(k)
    return -math.expm1(-epsilon) / (1.0 + (k - 1) * math.exp(-epsilon))


def epsilon_of_keep_probability(probability: float, k: int) -> float:
    """ε of a k-ary response that keeps the value with this probability: ln(1 + k·a/(1 - a)).

    Raises
    ------
    ParameterError
        If ``probability`` lies outside [0, 1): always keeping has no finite ε.

    Examples
    --------
    >>> round(epsilon_of_keep_probability(1 / 3, 4), 12) == round(math.log(3), 12)
    True
    """
    _check_symbols(k)
    if not 0 <= probability < 1:
        raise ParameterError(
            f"The keep probability must be at least 0 and below 1; it is {probability:g}.", field="keep_probability"
        )
    return math.log1p(k * probability / (1.0 - probability))


@dataclass(frozen=True)
class FrequencyEstimate:
    """Unbiased frequencies with their covariance.

    Attributes
    ----------
    frequencies : (k,) float array
        Add up to one; may be negative or above one, since nothing is clipped.
    covariance : (k, k) float array
        Unbiased estimate of the covariance of ``frequencies`` (rows add up to zero).
    n : int
        Number of reports.
    """

    frequencies: FloatArray
    covariance: FloatArray
    n: int

    @property
    def std_error(self) -> FloatArray:
        """Standard errors of the frequencies, shape (k,)."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))


class _Response(MechanismRecord):
    """What the binary and the k-ary response share; ``symbols`` says how many values there are."""

    epsilon: Epsilon = 1.0

    @property
    def symbols(self) -> int:
        """Number of values a record can take."""
        raise NotImplementedError

    @property
    def keep_probability(self) -> float:
        """Probability that the value is kept (see ``keep_probability`` of the module)."""
        return keep_probability(self.epsilon, self.symbols)

    @property
    def truth_probability(self) -> float:
        """Probability that the report is the true value, kept or hit by chance: e^ε/(e^ε + k - 1)."""
        return 1.0 / (1.0 + (self.symbols - 1) * math.exp(-self.epsilon))

    def guarantee(self) -> LocalDP:
        """Return ε-local differential privacy."""
        return LocalDP(self.epsilon)

    def total_variation(self) -> TotalVariation:
        """Return the exact total-variation level, the keep probability (locally_private_inference, Def 1)."""
        return TotalVariation(self.keep_probability)

    def channel(self) -> FloatArray:
        """Return P(report z | value x) as ``channel[z, x]``, shape (k, k); columns add up to one."""
        truth = self.truth_probability
        matrix = np.full((self.symbols, self.symbols), truth * math.exp(-self.epsilon))
        np.fill_diagonal(matrix, truth)
        return matrix

    def inverse_channel(self) -> FloatArray:
        """Return the inverse of ``channel()``, shape (k, k), in closed form (locally_private_inference, Ex. 1)."""
        kept = self.keep_probability
        matrix = np.full((self.symbols, self.symbols), -(1.0 - kept) / (self.symbols * kept))
        np.fill_diagonal(matrix, matrix[0, 0] + 1.0 / kept)
        return matrix

    def release(self, values: ArrayLike, rng: np.random.Generator) -> IntArray:
        """Randomise each record on its own.

        Parameters
        ----------
        values : int array_like
            Codes 0 ... k - 1, any shape.
        rng : numpy Generator
            Source of the noise.

        Returns
        -------
        int64 array of the same shape

        Raises
        ------
        ParameterError
            If a code is out of range.
        """
        codes = np.asarray(values)
        if codes.size and (
            not np.issubdtype(codes.dtype, np.integer) or codes.min() < 0 or codes.max() >= self.symbols
        ):
            raise ParameterError(
                f"Values must be whole numbers from 0 to {self.symbols - 1} to be randomised; recode them first.",
                field="values",
            )
        kept = rng.random(codes.shape) < self.keep_probability
        return np.where(kept, codes, rng.integers(self.symbols, size=codes.shape)).astype(np.int64)

    def release_counts(self, counts: ArrayLike, rng: np.random.Generator) -> IntArray:
        """Draw how often each report occurs, from how often each value occurs; same law as ``release``.

        Parameters
        ----------
        counts : (..., k) int array_like
            Non-negative.
        rng : numpy Generator
            Source of the noise.

        Returns
        -------
        (..., k) int64 array
            With the same sum along the last axis.
        """
        totals = self._counts(counts)
        kept = rng.binomial(totals, self.keep_probability)
        redrawn = (totals - kept).sum(axis=-1)
        return np.asarray(kept + rng.multinomial(redrawn, np.full(self.symbols, 1.0 / self.symbols)), dtype=np.int64)

    def frequencies(self, report_counts: ArrayLike) -> FloatArray:
        """Unbiased estimate of the frequencies of the values.

        Parameters
        ----------
        report_counts : (..., k) int array_like
            How often each report occurred; the sum n is at least 1.

        Returns
        -------
        (..., k) float array
            Adds up to one; may leave [0, 1], since clipping would bias it.

        Raises
        ------
        ParameterError
            If there is no report or the shape does not fit.
        """
        totals = self._counts(report_counts)
        n = totals.sum(axis=-1, keepdims=True)
        if np.any(n < 1):
            raise ParameterError("There must be at least one report to estimate from.", field="report_counts")
        kept = self.keep_probability
        return np.asarray((totals / n - (1.0 - kept) / self.symbols) / kept)

    def covariance(self, frequencies: ArrayLike, n: int, sampling: Sampling = "independent") -> FloatArray:
        """Exact covariance of ``frequencies(...)`` when the true frequencies are known.

        Parameters
        ----------
        frequencies : (k,) array_like
            True frequencies, adding up to one.
        n : int
            Number of reports, >= 1.
        sampling : {"independent", "fixed"}
            ``"independent"``: values are drawn from the frequencies, then randomised. ``"fixed"``: the n values are
            given, and only the randomisation varies.

        Returns
        -------
        (k, k) float array
            Rows add up to zero. Derived, checked by simulation in tests/statistical/test_privacy_samplers.py.
        """
        truth = np.asarray(frequencies, dtype=np.float64)
        if truth.shape != (self.symbols,) or abs(float(truth.sum()) - 1.0) > 1e-9:
            raise ParameterError(
                f"The true frequencies must be {self.symbols} numbers that add up to one.", field="frequencies"
            )
        if n < 1:
            raise ParameterError(f"The number of reports must be at least 1; it is {n}.", field="n")
        channel = self.channel()
        reported = (channel * truth).sum(axis=1)
        if sampling == "independent":
            together = np.multiply.outer(reported, reported)
        else:
            together = np.einsum("zx,x,wx->zw", channel, truth, channel)
        matrix: FloatArray = (np.diag(reported) - together) / (n * self.keep_probability**2)
        return matrix

    def estimate(self, report_counts: ArrayLike) -> FrequencyEstimate:
        """Unbiased frequencies from report counts, with an unbiased covariance (independent sampling).

        Parameters
        ----------
        report_counts : (k,) int array_like
            At least two reports.

        Returns
        -------
        FrequencyEstimate

        Raises
        ------
        ParameterError
            If there are fewer than two reports.
        """
        totals = self._counts(report_counts)
        n = int(totals.sum())
        if totals.ndim != 1 or n < 2:
            raise ParameterError("At least two reports are needed for a standard error.", field="report_counts")
        shares = totals / n
        spread = (np.diag(shares) - np.multiply.outer(shares, shares)) / ((n - 1) * self.keep_probability**2)
        return FrequencyEstimate(self.frequencies(totals), spread, n)

    def _counts(self, counts: ArrayLike) -> IntArray:
        totals = np.asarray(counts, dtype=np.int64)
        if totals.ndim == 0 or totals.shape[-1] != self.symbols:
            raise ParameterError(f"There must be one count for each of the {self.symbols} values.", field="counts")
        return totals


class RandomisedResponse(_Response):
    """Binary randomised response: yes or no, ε-locally private.

    Examples
    --------
    >>> RandomisedResponse(epsilon=np.log(3)).channel().round(6).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """

    kind: Literal["randomised-response"] = "randomised-response"
    title: ClassVar[str] = "Randomised response (yes or no)"
    formula: ClassVar[str] = r"\Pr[z=x]=\frac{e^{\varepsilon}}{e^{\varepsilon}+1}"
    source: ClassVar[str] = "locally_private_inference, Ex. 1"

    @property
    def symbols(self) -> int:
        """Number of values: 2."""
        return 2


class KaryRandomisedResponse(_Response):
    """k-ary randomised response: one of k values, ε-locally private.

    Examples
    --------
    >>> KaryRandomisedResponse(epsilon=np.log(3), k=4).inverse_channel()[0].round(6).tolist()
    [2.5, -0.5, -0.5, -0.5]
    """

    kind: Literal["k-ary-randomised-response"] = "k-ary-randomised-response"
    title: ClassVar[str] = "Randomised response (k values)"
    formula: ClassVar[str] = r"Q=\frac{(e^{\varepsilon}-1)I+\mathbf 1\mathbf 1^{\top}}{e^{\varepsilon}+k-1}"
    source: ClassVar[str] = "locally_private_inference, Ex. 1"
    k: Annotated[int, Number] = field(
        4,
        "Number of values k",
        "How many different values a record can take; public, never read off private data.",
        key="k",
        ge=2,
        le=1_000_000,
    )

    @property
    def symbols(self) -> int:
        """Number of values: k."""
        return self.k


def _check_symbols(k: int) -> None:
    if k < 2:
        raise ParameterError(f"The number of values k must be at least 2; it is {k}.", field="k")


__all__ = [
    "FrequencyEstimate",
    "KaryRandomisedResponse",
    "RandomisedResponse",
    "epsilon_of_keep_probability",
    "keep_probability",
]
