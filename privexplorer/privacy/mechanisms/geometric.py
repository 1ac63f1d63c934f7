"""The geometric mechanism for whole-number answers and the exact law of its noise (standard fact).

Two-sided geometric noise is the Laplace noise of the whole numbers: P(noise = j) = (1 - r)/(1 + r)·r^|j| with
r = exp(-1/scale). The clipped moments are derived by summing tail probabilities, checked in
tests/unit/privacy/test_geometric.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.errors import ParameterError
from privexplorer.privacy.guarantees import PureDP
from privexplorer.privacy.mechanisms._base import (
    MechanismRecord,
    Size,
    check_level,
    check_sensitivity,
    ordered_bounds,
)
from privexplorer.records import Epsilon

_FAR = 750.0  # exp(-750) is 0 in double precision
_NEAR = 1e-5  # an interval this much narrower than the noise is treated by series
_WIDEST = 1e15  # whole numbers stay exact in double precision


@dataclass(frozen=True)
class GeometricNoise:
    """Two-sided geometric noise around 0.

    Parameters
    ----------
    scale : float
        From 0 (no noise) to 1e15: sensitivity over ε; the ratio of neighbouring probabilities is exp(-1/scale).

    Raises
    ------
    ParameterError
        If ``scale`` is out of range.

    Examples
    --------
    >>> noise = GeometricNoise(1.0)
    >>> noise.pmf([-1, 0, 1]).round(6).tolist()
    [0.170003, 0.462117, 0.170003]
    """

    scale: float

    def __post_init__(self) -> None:
        """Refuse a scale that no noise has."""
        if not 0 <= self.scale <= _WIDEST:
            raise ParameterError(
                f"The noise scale must be a number from 0 to {_WIDEST:g}; it is {self.scale:g}.", field="scale"
            )

    @property
    def _rate(self) -> float:
        return min(1.0 / self.scale, _FAR) if self.scale > 0 else _FAR

    @property
    def ratio(self) -> float:
        """Ratio r of neighbouring probabilities, in [0, 1); 0 without noise."""
        return math.exp(-self._rate)

    @property
    def _gap(self) -> float:
        return -math.expm1(-self._rate)  # 1 - r

    @property
    def variance(self) -> float:
        """Variance of the noise: 2r/(1 - r)²."""
        return 2.0 * self.ratio / self._gap**2

    @property
    def std(self) -> float:
        """Standard deviation of the noise."""
        return math.sqrt(self.variance)

    def pmf(self, j: ArrayLike) -> FloatArray:
        """Probability of each whole number (any shape); 0 for other numbers."""
        return np.exp(self.log_pmf(j))

    def log_pmf(self, j: ArrayLike) -> FloatArray:
        """Natural log of the probability of each whole number (any shape); -inf for other numbers."""
        number = np.asarray(j, dtype=np.float64)
        log_centre = math.log(self._gap / (1.0 + self.ratio))
        with np.errstate(over="ignore"):
            inside = log_centre - self._rate * np.abs(number)
        if self.scale == 0:
            inside = np.where(number == 0, 0.0, -np.inf)
        return np.where(number == np.rint(number), inside, -np.inf)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability that the noise is at most ``x`` (any shape)."""
        whole = np.floor(np.asarray(x, dtype=np.float64))
        return np.where(whole >= 0, 1.0 - self._tail(np.maximum(whole, 0) + 1), self._tail(np.maximum(-whole, 1)))

    def survival(self, x: ArrayLike) -> FloatArray:
        """Probability that the noise exceeds ``x`` (any shape); accurate far out."""
        whole = np.floor(np.asarray(x, dtype=np.float64)) + 1
        return np.where(whole >= 1, self._tail(np.maximum(whole, 1)), 1.0 - self._tail(np.maximum(1 - whole, 1)))

    def _tail(self, j: FloatArray) -> FloatArray:
        """Return P(noise >= j) for j >= 1."""
        if self.scale == 0:
            return np.zeros_like(j)
        result: FloatArray = np.exp(-self._rate * np.minimum(j, _FAR / self._rate)) / (1.0 + self.ratio)
        return result

    def quantile(self, q: ArrayLike) -> FloatArray:
        """Smallest whole number that the noise stays at or below with probability ``q`` in (0, 1) (any shape).

        Raises
        ------
        ParameterError
            If a probability lies outside (0, 1).
        """
        probability = np.asarray(q, dtype=np.float64)
        if not np.all((probability > 0) & (probability < 1)):
            raise ParameterError("A probability must lie strictly between 0 and 1.", field="q")
        if self.scale == 0:
            return np.zeros_like(probability)
        scale = 1.0 / self._rate
        upper = np.ceil(-scale * np.log((1.0 - probability) * (1.0 + self.ratio)) - 1.0)
        lower = -np.floor(-scale * np.log(probability * (1.0 + self.ratio)))
        guess = np.where(probability > self.cdf(-1.0), np.maximum(upper, 0.0), lower)
        # rounding of the logarithm can miss by one step either way
        guess = np.where(self.cdf(guess - 1.0) >= probability, guess - 1.0, guess)
        result: FloatArray = np.where(self.cdf(guess) < probability, guess + 1.0, guess) + 0.0
        return result

    def half_width(self, level: float = 0.95) -> float:
        """Smallest whole number that bounds the size of the noise with probability at least ``level`` in (0, 1).

        Examples
        --------
        >>> GeometricNoise(1.0).half_width(0.95)
        3.0
        """
        check_level(level)
        return max(0.0, float(self.quantile(0.5 + 0.5 * level)))

    def sample(self, size: Size, rng: np.random.Generator) -> IntArray:
        """Draw whole-number noise of the given shape (the difference of two geometric draws)."""
        chance = self._gap
        return np.asarray(rng.geometric(chance, size) - rng.geometric(chance, size), dtype=np.int64)

    def clipped_pmf(self, value: int, low: int, high: int) -> FloatArray:
        """Exact law of ``clip(value + noise, low, high)``: the truncated geometric mechanism.

        Parameters
        ----------
        value, low, high : int
            Whole numbers, low <= high; ``value`` may lie outside.

        Returns
        -------
        (high - low + 1,) float array
            Probabilities of low, low + 1, ..., high; they add up to one.

        Examples
        --------
        >>> GeometricNoise(1.0).clipped_pmf(0, 0, 2).round(6).tolist()
        [0.731059, 0.170003, 0.098938]
        """
        ordered_bounds(low, high)
        answers = np.arange(low, high + 1)
        law = self.pmf(answers - value)
        law[0] = float(self.cdf(low - value))
        law[-1] = float(self.survival(high - 1 - value)) if high > low else 1.0
        return law

    def clipped_moments(
        self, value: ArrayLike, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> tuple[FloatArray, FloatArray]:
        """Exact mean and second moment of ``clip(value + noise, low, high)``; whole numbers throughout.

        Parameters
        ----------
        value : array_like
            Whole numbers; may lie outside the bounds.
        low, high : array_like
            Whole numbers or infinite, low <= high; all arguments broadcast.

        Returns
        -------
        mean, second_moment : arrays of the broadcast shape

        Raises
        ------
        ParameterError
            If a number is not whole, or a lower bound is above its upper bound.
        """
        values, lows, highs = _whole(value), *_whole_bounds(low, high)
        inside = np.minimum(np.maximum(values, lows), highs)
        first, second = self._tail_sums(values, inside, lows, highs)
        return inside + 0.5 * first, second + inside * first + inside * inside

    def clipped_squared_error(
        self, value: ArrayLike, target: ArrayLike, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> FloatArray:
        """Exact mean squared error of ``clip(value + noise, low, high)`` as an answer for ``target``.

        Parameters
        ----------
        value : array_like
            Whole numbers; may lie outside the bounds.
        target : array_like
            Any finite numbers; broadcasts with ``value``.
        low, high : array_like
            Whole numbers or infinite, low <= high.

        Returns
        -------
        array of the broadcast shape
            Relative accuracy about 1e-10 for every scale. Derived, checked in tests/unit/privacy/test_geometric.py.

        Raises
        ------
        ParameterError
            If a value or bound is not whole, or a lower bound is above its upper bound.
        """
        values, lows, highs = _whole(value), *_whole_bounds(low, high)
        inside = np.minimum(np.maximum(values, lows), highs)
        first, second = self._tail_sums(values, inside, lows, highs)
        gap = inside - np.asarray(target, dtype=np.float64)
        result: FloatArray = (gap + first) * gap + second
        return result

    def _tail_sums(
        self, values: FloatArray, inside: FloatArray, lows: FloatArray, highs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Twice the shift of the mean, and the spread about the clipped value."""
        first_above, second_above = self._one_side(highs - inside)
        first_below, second_below = self._one_side(inside - lows)
        reach = np.exp(-self._rate * np.minimum(np.abs(values - inside), _FAR / self._rate))
        factor = reach / (1.0 + self.ratio)
        return 2.0 * (first_above - first_below) * factor, (second_above + second_below) * factor

    def _one_side(self, room: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of r^j and of (2j - 1) r^j over j = 1 ... room (whole, possibly infinite)."""
        if self.scale == 0:
            return np.zeros_like(room), np.zeros_like(room)
        rate, ratio, gap = self._rate, self.ratio, self._gap
        steps = np.asarray(np.minimum(room, np.ceil(_FAR / rate)))
        plain = -ratio * np.expm1(-rate * steps) / gap
        weighted = 2.0 / gap * (plain - steps * np.exp(-rate * (steps + 1.0))) - plain
        narrow = rate * steps < _NEAR
        if np.any(narrow):
            # power sums of (2j - 1)(1 - rate j + rate² j²/2): no digits are lost where the noise is wide
            quadratic = steps * (steps + 1.0) * (4.0 * steps - 1.0) / 6.0
            cubic = (steps * (steps + 1.0)) ** 2 / 2.0 - steps * (steps + 1.0) * (2.0 * steps + 1.0) / 6.0
            weighted = np.where(narrow, steps**2 - rate * quadratic + rate**2 / 2.0 * cubic, weighted)
        return plain, weighted


class Geometric(MechanismRecord):
    """Geometric mechanism: pure privacy for whole-number answers, substitution neighbours, central model.

    Examples
    --------
    >>> Geometric(epsilon=0.5).noise(sensitivity=1)
    GeometricNoise(scale=2.0)
    """

    kind: Literal["geometric"] = "geometric"
    title: ClassVar[str] = "Geometric (whole numbers)"
    formula: ClassVar[str] = (
        r"\hat\theta=\theta+G,\quad \Pr[G=j]=\tfrac{1-r}{1+r}\,r^{|j|},\quad r=e^{-\varepsilon/\Delta}"
    )
    source: ClassVar[str] = "standard fact, checked in tests/unit/privacy/test_geometric.py"
    epsilon: Epsilon = 1.0

    def guarantee(self) -> PureDP:
        """Return ε-differential privacy for substitution neighbours in the central model."""
        return PureDP(self.epsilon)

    def noise(self, sensitivity: float) -> GeometricNoise:
        """Return the law of the noise for a query of this sensitivity (a whole number).

        Raises
        ------
        ParameterError
            If ``sensitivity`` is negative or not whole.
        """
        check_sensitivity(sensitivity)
        if sensitivity != round(sensitivity):
            raise ParameterError(
                f"The geometric mechanism answers whole-number questions, so the sensitivity must be whole; "
                f"it is {sensitivity:g}; choose Laplace noise for other answers.",
                field="sensitivity",
            )
        return GeometricNoise(sensitivity / self.epsilon)

    def release(
        self,
        values: ArrayLike,
        sensitivity: float,
        rng: np.random.Generator,
        low: int | None = None,
        high: int | None = None,
    ) -> IntArray:
        """Add noise to each value; with bounds, clip the noisy values (truncated geometric mechanism).

        Parameters
        ----------
        values : array_like
            Exact whole-number answers, any shape.
        sensitivity : float
            Largest change that one record can cause (L1); a whole number.
        rng : numpy Generator
            Source of the noise.
        low, high : int, optional
            Public bounds; clipping the noisy answer costs no privacy (lower_bounds, Lem 1).

        Returns
        -------
        int64 array of the same shape
        """
        exact = _whole(values).astype(np.int64)
        noisy = exact + self.noise(sensitivity).sample(exact.shape, rng)
        if low is not None and high is not None:
            ordered_bounds(low, high)
        return noisy if low is None and high is None else np.clip(noisy, low, high)


def _whole(value: ArrayLike) -> FloatArray:
    values = np.asarray(value, dtype=np.float64)
    if not np.all(np.isfinite(values) & (values == np.rint(values))):
        raise ParameterError(
            "The geometric mechanism answers whole-number questions; choose Laplace noise for other answers.",
            field="values",
        )
    return values


def _whole_bounds(low: ArrayLike, high: ArrayLike) -> tuple[FloatArray, FloatArray]:
    lows, highs = ordered_bounds(low, high)
    for bound in (lows, highs):
        if not np.all(np.isinf(bound) | (bound == np.rint(bound))):
            raise ParameterError("The bounds of whole-number answers must be whole or infinite.", field="low")
    return lows, highs


__all__ = ["Geometric", "GeometricNoise"]
