"""Choosing one of several candidates by score: exponential mechanism and report-noisy-max (standard facts).

Both choose with noise of scale b = 2D/ε (D the sensitivity of each score; D/ε where all scores move the same way):

    exponential mechanism = report-noisy-max with Gumbel noise:  P(i) ∝ exp(score_i / b),
    report-noisy-max with exponential noise:  P(i) = p_i ∫₀¹ Π_{j≠i} (1 - p_j t) dt,  p_i = exp((score_i - best) / b).

The second formula is derived from the law of the largest noisy score and is integrated exactly (a polynomial);
checked in tests/unit/privacy/test_exponential.py. The zCDP level is in markov_random_fields, section 1.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.errors import ParameterError
from privexplorer.privacy.conversions import bounded_range_to_zcdp, pure_to_zcdp
from privexplorer.privacy.guarantees import ZCDP, PureDP
from privexplorer.privacy.mechanisms._base import MechanismRecord, check_sensitivity
from privexplorer.records import Epsilon, field

_MOST_NODES = 256

_MONOTONE_HELP = (
    "On where a change of one record moves all scores the same way, as counts do when a record is added. "
    "Then half the noise is enough."
)


class _Selection(MechanismRecord):
    """What both selections share: the noise scale and the bound on how far the choice lies below the best."""

    epsilon: Epsilon = 1.0
    monotone: bool = field(False, "Scores move together", _MONOTONE_HELP, key="monotone", group="Privacy")

    def guarantee(self) -> PureDP:
        """Return ε-differential privacy for substitution neighbours in the central model."""
        return PureDP(self.epsilon)

    def scale(self, sensitivity: float) -> float:
        """Return the noise scale b for scores of this sensitivity: 2·sensitivity/ε, or half of it if monotone.

        Raises
        ------
        ParameterError
            If ``sensitivity`` is negative, infinite or not a number.
        """
        check_sensitivity(sensitivity)
        return (1.0 if self.monotone else 2.0) * sensitivity / self.epsilon

    def gap_bound(self, count: int, sensitivity: float, failure: float) -> float:
        """Distance below the best score that is exceeded with probability at most ``failure``: b·ln(count/failure).

        Parameters
        ----------
        count : int
            Number of candidates, >= 1.
        sensitivity : float
            Largest change of one score.
        failure : float
            In (0, 1).

        Returns
        -------
        float
            In the unit of the scores. Upper bound (standard fact).

        Raises
        ------
        ParameterError
            If an argument is out of range.
        """
        _check_count(count)
        if not 0 < failure < 1:
            raise ParameterError(
                f"The failure probability must lie strictly between 0 and 1; it is {failure:g}.", field="failure"
            )
        return self.scale(sensitivity) * math.log(count / failure)

    def expected_gap_bound(self, count: int, sensitivity: float) -> float:
        """Upper bound on the mean distance between the best and the chosen score: b·ln(count) (standard fact)."""
        _check_count(count)
        return self.scale(sensitivity) * math.log(count)


class ExponentialMechanism(_Selection):
    """Exponential mechanism: pure privacy for substitution neighbours, central model.

    Examples
    --------
    >>> ExponentialMechanism(epsilon=2.0).probabilities([0.0, 1.0], sensitivity=1.0).round(6).tolist()
    [0.268941, 0.731059]
    """

    kind: Literal["exponential"] = "exponential"
    title: ClassVar[str] = "Exponential mechanism"
    formula: ClassVar[str] = r"\Pr[i]\propto\exp\!\left(\frac{\varepsilon\,q_i}{2\Delta}\right)"
    source: ClassVar[str] = "markov_random_fields, section 1"

    def concentrated(self) -> ZCDP:
        """Return the zCDP guarantee ρ = ε²/8 (markov_random_fields, section 1)."""
        return ZCDP(bounded_range_to_zcdp(self.epsilon))

    def probabilities(self, scores: ArrayLike, sensitivity: float) -> FloatArray:
        """Exact probability of each candidate.

        Parameters
        ----------
        scores : (..., k) array_like
            Finite; higher is better.
        sensitivity : float
            Largest change of one score by one record; 0 puts all weight on the best (ties share it).

        Returns
        -------
        (..., k) float array
            Adds up to one along the last axis.
        """
        return _shares(_relative_weights(scores, self.scale(sensitivity)))

    def release(self, scores: ArrayLike, sensitivity: float, rng: np.random.Generator) -> IntArray:
        """Choose a candidate: its index, one for each leading entry of ``scores``.

        Parameters
        ----------
        scores : (..., k) array_like
            Finite; higher is better.
        sensitivity : float
            Largest change of one score by one record.
        rng : numpy Generator
            Source of the noise.

        Returns
        -------
        (...) int64 array
        """
        return _noisy_argmax(scores, self.scale(sensitivity), "gumbel", rng)


class ReportNoisyMax(_Selection):
    """Report-noisy-max: add noise to each score and tell which is largest, but not how large.

    Gumbel noise makes it the exponential mechanism; exponential noise is never worse.

    Examples
    --------
    >>> ReportNoisyMax(epsilon=2.0).probabilities([0.0, 1.0], sensitivity=1.0).round(6).tolist()
    [0.18394, 0.81606]
    """

    kind: Literal["report-noisy-max"] = "report-noisy-max"
    title: ClassVar[str] = "Report noisy max"
    formula: ClassVar[str] = r"\arg\max_i\,\{q_i+\mathrm{noise}_i\},\quad b=2\Delta/\varepsilon"
    source: ClassVar[str] = "standard fact, checked in tests/unit/privacy/test_exponential.py"
    noise: Literal["exponential", "gumbel"] = field(
        "exponential",
        "Noise on the scores",
        "Exponential noise chooses better; Gumbel noise is the exponential mechanism.",
        key="noise",
        group="Privacy",
        titles={"exponential": "Exponential", "gumbel": "Gumbel"},
    )

    def concentrated(self) -> ZCDP:
        """Return the zCDP guarantee: ε²/8 with Gumbel noise, else what pure privacy gives."""
        convert = bounded_range_to_zcdp if self.noise == "gumbel" else pure_to_zcdp
        return ZCDP(convert(self.epsilon))

    def probabilities(self, scores: ArrayLike, sensitivity: float) -> FloatArray:
        """Exact probability that each candidate is reported.

        Parameters
        ----------
        scores : (..., k) array_like
            Finite; higher is better.
        sensitivity : float
            Largest change of one score by one record; 0 puts all weight on the best (ties share it).

        Returns
        -------
        (..., k) float array
            Adds up to one along the last axis.
        """
        weights = _relative_weights(scores, self.scale(sensitivity))
        if self.noise == "gumbel" or weights.shape[-1] == 1:
            return _shares(weights)
        # the integrand is a polynomial of degree k - 1: Gauss-Legendre nodes integrate it without error
        nodes, masses = _legendre(min((weights.shape[-1] + 1) // 2, _MOST_NODES))
        total = np.zeros_like(weights)
        for node, mass in zip(nodes, masses, strict=True):
            factors = 1.0 - weights * node
            total += mass * np.prod(factors, axis=-1, keepdims=True) / factors
        return np.asarray(weights * total)

    def release(self, scores: ArrayLike, sensitivity: float, rng: np.random.Generator) -> IntArray:
        """Choose a candidate: its index, one for each leading entry of ``scores``.

        Parameters
        ----------
        scores : (..., k) array_like
            Finite; higher is better.
        sensitivity : float
            Largest change of one score by one record.
        rng : numpy Generator
            Source of the noise.

        Returns
        -------
        (...) int64 array
        """
        return _noisy_argmax(scores, self.scale(sensitivity), self.noise, rng)


def _scores(scores: ArrayLike) -> FloatArray:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ParameterError("There must be at least one candidate to choose from.", field="scores")
    if not np.all(np.isfinite(values)):
        raise ParameterError("Every score must be a finite number.", field="scores")
    return values


def _relative_weights(scores: ArrayLike, scale: float) -> FloatArray:
    values = _scores(scores)
    below = values - values.max(axis=-1, keepdims=True)
    if scale == 0:
        return np.where(below == 0, 1.0, 0.0)
    return np.asarray(np.exp(np.maximum(below, -800.0 * scale) / scale))


def _shares(weights: FloatArray) -> FloatArray:
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _noisy_argmax(scores: ArrayLike, scale: float, noise: str, rng: np.random.Generator) -> IntArray:
    values = _scores(scores)
    if scale == 0:
        # no noise: a fair choice among the best
        draws = np.where(values == values.max(axis=-1, keepdims=True), rng.random(values.shape), -1.0)
    else:
        draws = values + scale * (
            rng.gumbel(size=values.shape) if noise == "gumbel" else rng.standard_exponential(values.shape)
        )
    return np.asarray(np.argmax(draws, axis=-1), dtype=np.int64)


def _check_count(count: int) -> None:
    if count < 1:
        raise ParameterError(f"There must be at least one candidate; there are {count}.", field="count")


@lru_cache(maxsize=_MOST_NODES)
def _legendre(count: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


__all__ = ["ExponentialMechanism", "ReportNoisyMax"]
