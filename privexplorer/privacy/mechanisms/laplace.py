"""The Laplace mechanism and the exact law of its noise, clipped or not (lower_bounds, Lem 3).

The clipped moments are derived by integrating the tail probabilities, checked in tests/unit/privacy/test_laplace.py:
with c = clip(v, low, high), a = high - c, d = c - low, q = c - t, f = exp(-|v - c| / b), G(x) = 1 - (1 + x) exp(-x)
and S = b (1 - exp(-a/b)) - b (1 - exp(-d/b)),

    E clip(v + noise)         = c + f S / 2
    E (clip(v + noise) - t)^2 = q^2 + f (q S + b^2 (G(a/b) + G(d/b))).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
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

_FAR = 750.0  # exp(-750) is 0 in double precision: farther than this many scales is out of reach
_WIDEST = 1e150  # its square is still a number
_NEAR = 0.01  # below this many scales, G is taken from its series


@dataclass(frozen=True)
class LaplaceNoise:
    """Laplace noise around 0 with density exp(-|x| / scale) / (2 scale).

    Parameters
    ----------
    scale : float
        From 0 to 1e150; 0 means no noise at all. In the unit of the released value.

    Raises
    ------
    ParameterError
        If ``scale`` is negative, above 1e150 or not a number.

    Examples
    --------
    >>> noise = LaplaceNoise(2.0)
    >>> noise.variance, round(noise.half_width(0.95), 6)
    (8.0, 5.991465)
    """

    scale: float

    def __post_init__(self) -> None:
        """Refuse a scale that no noise has."""
        if not 0 <= self.scale <= _WIDEST:
            raise ParameterError(
                f"The noise scale must be a number from 0 to {_WIDEST:g}; it is {self.scale:g}.", field="scale"
            )

    @property
    def variance(self) -> float:
        """Variance of the noise: 2 scale² (lower_bounds, Lem 3)."""
        return 2.0 * self.scale * self.scale

    @property
    def std(self) -> float:
        """Standard deviation of the noise: scale·√2 (lower_bounds, Lem 3)."""
        return math.sqrt(2.0) * self.scale

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Natural log of the density at ``x`` (any shape); without noise, +inf at 0 and -inf elsewhere."""
        distance = np.abs(np.asarray(x, dtype=np.float64))
        if self.scale == 0:
            return np.where(distance == 0, np.inf, -np.inf)
        result: FloatArray = -distance / self.scale - (math.log(2.0) + math.log(self.scale))
        return result

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability that the noise is at most ``x`` (any shape)."""
        return self._below(np.asarray(x, dtype=np.float64), at_zero=1.0)

    def survival(self, x: ArrayLike) -> FloatArray:
        """Probability that the noise exceeds ``x`` (any shape); accurate far out."""
        return self._below(-np.asarray(x, dtype=np.float64), at_zero=0.0)

    def _below(self, x: FloatArray, at_zero: float) -> FloatArray:
        if self.scale == 0:
            return np.where(x > 0, 1.0, np.where(x < 0, 0.0, at_zero))
        half_tail = 0.5 * np.exp(-np.minimum(np.abs(x), _FAR * self.scale) / self.scale)
        return np.where(x > 0, 1.0 - half_tail, half_tail)

    def quantile(self, q: ArrayLike) -> FloatArray:
        """Value below which the noise lies with probability ``q`` in [0, 1] (any shape); ±inf at the ends.

        Raises
        ------
        ParameterError
            If a probability lies outside [0, 1].
        """
        probability = np.asarray(q, dtype=np.float64)
        if not np.all((probability >= 0) & (probability <= 1)):
            raise ParameterError("A probability must lie between 0 and 1.", field="q")
        if self.scale == 0:
            return np.zeros_like(probability)
        with np.errstate(divide="ignore"):
            tail = np.log(2.0 * np.minimum(probability, 1.0 - probability))
        result: FloatArray = self.scale * np.where(probability < 0.5, tail, -tail)
        return result

    def half_width(self, level: float = 0.95) -> float:
        """Distance from 0 that the noise keeps with probability ``level`` in (0, 1): -scale·ln(1 - level).

        Examples
        --------
        >>> round(LaplaceNoise(1.0).half_width(0.95), 6)
        2.995732
        """
        check_level(level)
        return -self.scale * math.log1p(-level)

    def sample(self, size: Size, rng: np.random.Generator) -> FloatArray:
        """Draw noise of the given shape; two scales use the generator alike and give proportional draws."""
        return np.asarray(rng.laplace(0.0, self.scale, size))

    def clipped_moments(
        self, value: ArrayLike, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> tuple[FloatArray, FloatArray]:
        """Exact mean and second moment of ``clip(value + noise, low, high)``.

        Parameters
        ----------
        value : array_like
            Finite values before the noise; may lie outside the bounds.
        low, high : array_like
            Bounds, low <= high, possibly infinite; all arguments broadcast.

        Returns
        -------
        mean, second_moment : arrays of the broadcast shape
            E[clip] and E[clip²]. Derived, checked in tests/unit/privacy/test_laplace.py.

        Raises
        ------
        ParameterError
            If a lower bound is above its upper bound.

        Examples
        --------
        >>> mean, second = LaplaceNoise(1.0).clipped_moments(0.0, -1.0, 1.0)
        >>> float(mean), round(float(second), 6)
        (0.0, 0.528482)
        """
        values = np.asarray(value, dtype=np.float64)
        lows, highs = ordered_bounds(low, high)
        inside = np.minimum(np.maximum(values, lows), highs)
        if self.scale == 0:
            return inside[()], np.square(inside)[()]
        first, second = self._tail_sums(values, inside, lows, highs)
        mean = inside + 0.5 * first
        second += inside * first
        second += inside * inside
        return mean[()], second[()]

    def clipped_squared_error(
        self, value: ArrayLike, target: ArrayLike, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> FloatArray:
        """Exact mean squared error of ``clip(value + noise, low, high)`` as an answer for ``target``.

        No cancellation occurs: relative accuracy is about 1e-13 for every scale, also when the noise is far
        wider or far narrower than the interval, and when ``value`` lies far outside it.

        Parameters
        ----------
        value, target : array_like
            Finite; any shapes that broadcast together. ``value`` may lie outside the bounds, ``target`` too.
        low, high : array_like
            Bounds, low <= high, possibly infinite.

        Returns
        -------
        array of the broadcast shape
            E[(clip(value + noise) - target)²] >= 0. Derived, checked in tests/unit/privacy/test_laplace.py.

        Raises
        ------
        ParameterError
            If a lower bound is above its upper bound.

        Examples
        --------
        >>> float(LaplaceNoise(0.5).clipped_squared_error(3.0, 1.0))
        4.5
        """
        values = np.asarray(value, dtype=np.float64)
        lows, highs = ordered_bounds(low, high)
        inside = np.minimum(np.maximum(values, lows), highs)
        gap = inside - np.asarray(target, dtype=np.float64)
        if self.scale == 0:
            squared: FloatArray = np.square(gap)
            return squared
        first, second = self._tail_sums(values, inside, lows, highs)
        error: FloatArray = gap + first  # then gap² + gap·first + second, in place
        error *= gap
        error += second
        return error[()]

    def _tail_sums(
        self, values: FloatArray, inside: FloatArray, lows: FloatArray, highs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Twice the shift of the mean, and the spread about the clipped value (arrays of the caller's own)."""
        first, second = self._one_side(highs - inside)
        first_below, second_below = self._one_side(inside - lows)
        first -= first_below
        second += second_below
        outside = np.asarray(values - inside)
        if outside.any():
            np.abs(outside, out=outside)
            np.minimum(outside, _FAR * self.scale, out=outside)
            outside /= -self.scale
            reach = np.exp(outside, out=outside)
            first *= reach
            second *= reach
        return first, second

    def _one_side(self, room: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return b (1 - exp(-x)) and b² G(x) for ``x = room / b``; room >= 0, possibly infinite."""
        scale = self.scale
        x = np.asarray(np.minimum(room, _FAR * scale))
        x /= scale
        loss = np.asarray(np.expm1(-x))  # exp(-x) - 1
        spread = np.asarray(loss * x)
        spread += x
        spread += loss  # -G(x)
        spread *= -scale * scale
        near = x < _NEAR
        if near.any():
            # G(x)/x² = 1/2 - x/3 + x²/8 - x³/30 + x⁴/144 - x⁵/840: no digits are lost where the noise is wide
            y = x[near]
            series = 1 / 2 + y * (-1 / 3 + y * (1 / 8 + y * (-1 / 30 + y * (1 / 144 - y / 840))))
            width = np.asarray(room)[near]
            spread[near] = width * width * series
        loss *= -scale
        return loss, spread


class Laplace(MechanismRecord):
    """Laplace mechanism: pure privacy for substitution neighbours, central model (lower_bounds, Lem 3).

    Examples
    --------
    >>> Laplace(epsilon=0.5).noise(sensitivity=1.0)
    LaplaceNoise(scale=2.0)
    """

    kind: Literal["laplace"] = "laplace"
    title: ClassVar[str] = "Laplace"
    formula: ClassVar[str] = r"\hat\theta=\theta+\mathrm{Lap}\!\left(\Delta/\varepsilon\right)"
    source: ClassVar[str] = "lower_bounds, Lem 3"
    epsilon: Epsilon = 1.0

    def guarantee(self) -> PureDP:
        """Return ε-differential privacy for substitution neighbours in the central model."""
        return PureDP(self.epsilon)

    def noise(self, sensitivity: float) -> LaplaceNoise:
        """Return the law of the noise for a query of this sensitivity (L1, in the unit of the value).

        Raises
        ------
        ParameterError
            If ``sensitivity`` is negative, infinite or not a number.
        """
        check_sensitivity(sensitivity)
        return LaplaceNoise(sensitivity / self.epsilon)

    def release(self, values: ArrayLike, sensitivity: float, rng: np.random.Generator) -> FloatArray:
        """Add noise to each value.

        Parameters
        ----------
        values : array_like
            Exact answers, any shape. Either separate simulated runs of one query, or one vector-valued query
            whose L1 sensitivity is ``sensitivity``.
        sensitivity : float
            Largest change that one record can cause; at least 0.
        rng : numpy Generator
            Source of the noise.

        Returns
        -------
        array of the same shape
        """
        exact = np.asarray(values, dtype=np.float64)
        return exact + self.noise(sensitivity).sample(exact.shape, rng)


__all__ = ["Laplace", "LaplaceNoise"]
