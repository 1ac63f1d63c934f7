"""The Gaussian mechanism, calibrated exactly, and the law of its noise, clipped or not.

The slack of Gaussian noise of standard deviation s for sensitivity D at ε is known in closed form (standard fact,
"analytic calibration"):

    δ(s) = Φ(D/(2s) - εs/D) - e^ε Φ(-D/(2s) - εs/D).

The classic formula D·sqrt(2 ln(1.25/δ))/ε is an upper bound that is proved for ε <= 1 only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from pydantic_core import PydanticCustomError
from scipy.special import log_ndtr, ndtr, ndtri

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.privacy._roots import bisect
from privexplorer.privacy.guarantees import ZCDP, ApproxDP
from privexplorer.privacy.mechanisms._base import (
    MechanismRecord,
    Size,
    check_level,
    check_sensitivity,
    ordered_bounds,
)
from privexplorer.records import Epsilon, Number, field

_WIDEST = 1e150
_LOG_ROOT_TAU = 0.5 * math.log(2.0 * math.pi)
_NARROW = 0.5  # intervals narrower than this many standard deviations are integrated by series
_TAIL = 10.0  # no tail reaches farther, in standard deviations beyond its start


@dataclass(frozen=True)
class GaussianNoise:
    """Gaussian noise around 0.

    Parameters
    ----------
    std : float
        Standard deviation, from 0 (no noise) to 1e150, in the unit of the released value.

    Raises
    ------
    ParameterError
        If ``std`` is out of range.
    """

    std: float

    def __post_init__(self) -> None:
        """Refuse a width that no noise has."""
        if not 0 <= self.std <= _WIDEST:
            raise ParameterError(
                f"The standard deviation of the noise must be a number from 0 to {_WIDEST:g}; it is {self.std:g}.",
                field="std",
            )

    @property
    def variance(self) -> float:
        """Variance of the noise."""
        return self.std * self.std

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Natural log of the density at ``x`` (any shape); without noise, +inf at 0 and -inf elsewhere."""
        distance = np.asarray(x, dtype=np.float64)
        if self.std == 0:
            return np.where(distance == 0, np.inf, -np.inf)
        result: FloatArray = -0.5 * np.square(distance / self.std) - (_LOG_ROOT_TAU + math.log(self.std))
        return result

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability that the noise is at most ``x`` (any shape)."""
        at = np.asarray(x, dtype=np.float64)
        return np.where(at >= 0, 1.0, 0.0) if self.std == 0 else np.asarray(ndtr(at / self.std))

    def survival(self, x: ArrayLike) -> FloatArray:
        """Probability that the noise exceeds ``x`` (any shape); accurate far out."""
        at = np.asarray(x, dtype=np.float64)
        return np.where(at >= 0, 0.0, 1.0) if self.std == 0 else np.asarray(ndtr(-at / self.std))

    def quantile(self, q: ArrayLike) -> FloatArray:
        """Value below which the noise lies with probability ``q`` in [0, 1] (any shape).

        Raises
        ------
        ParameterError
            If a probability lies outside [0, 1].
        """
        probability = np.asarray(q, dtype=np.float64)
        if not np.all((probability >= 0) & (probability <= 1)):
            raise ParameterError("A probability must lie between 0 and 1.", field="q")
        return np.zeros_like(probability) if self.std == 0 else np.asarray(self.std * ndtri(probability))

    def half_width(self, level: float = 0.95) -> float:
        """Distance from 0 that the noise keeps with probability ``level`` in (0, 1).

        Examples
        --------
        >>> round(GaussianNoise(1.0).half_width(0.95), 6)
        1.959964
        """
        check_level(level)
        return -self.std * float(ndtri(0.5 * (1.0 - level)))

    def sample(self, size: Size, rng: np.random.Generator) -> FloatArray:
        """Draw noise of the given shape; two widths use the generator alike and give proportional draws."""
        return np.asarray(self.std * rng.standard_normal(size))

    def clipped_moments(
        self, value: ArrayLike, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> tuple[FloatArray, FloatArray]:
        """Exact mean and second moment of ``clip(value + noise, low, high)``.

        Parameters
        ----------
        value : array_like
            Finite; may lie outside the bounds.
        low, high : array_like
            Bounds, low <= high, possibly infinite; all arguments broadcast.

        Returns
        -------
        mean, second_moment : arrays of the broadcast shape

        Raises
        ------
        ParameterError
            If a lower bound is above its upper bound.
        """
        inside, first, second = self._about_clipped(value, low, high)
        return inside + 0.5 * first, second + inside * first + inside * inside

    def clipped_squared_error(
        self, value: ArrayLike, target: ArrayLike, low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> FloatArray:
        """Exact mean squared error of ``clip(value + noise, low, high)`` as an answer for ``target``.

        Parameters
        ----------
        value, target : array_like
            Finite; broadcast together.
        low, high : array_like
            Bounds, low <= high, possibly infinite.

        Returns
        -------
        array of the broadcast shape
            Relative accuracy about 1e-11 for every width. Derived, checked in tests/unit/privacy/test_gaussian.py.

        Raises
        ------
        ParameterError
            If a lower bound is above its upper bound.

        Examples
        --------
        >>> float(GaussianNoise(0.5).clipped_squared_error(3.0, 1.0))
        4.25
        """
        inside, first, second = self._about_clipped(value, low, high)
        gap = inside - np.asarray(target, dtype=np.float64)
        result: FloatArray = (gap + first) * gap + second
        return result

    def _about_clipped(
        self, value: ArrayLike, low: ArrayLike, high: ArrayLike
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Clipped value, twice the shift of the mean, and the spread about the clipped value."""
        values = np.asarray(value, dtype=np.float64)
        lows, highs = ordered_bounds(low, high)
        inside = np.asarray(np.minimum(np.maximum(values, lows), highs))
        if self.std == 0:
            return inside, np.zeros_like(inside), np.zeros_like(inside)
        start = np.minimum(np.abs(values - inside), 60.0 * self.std) / self.std
        far = 60.0 * self.std
        shift_above, spread_above = _tail_integrals(start, np.minimum(highs - inside, far) / self.std)
        shift_below, spread_below = _tail_integrals(start, np.minimum(inside - lows, far) / self.std)
        return (
            inside,
            2.0 * self.std * (shift_above - shift_below),
            2.0 * self.std * self.std * (spread_above + spread_below),
        )


def _tail_integrals(start: FloatArray, room: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Integrals over u in [0, room] of S(start + u) and u·S(start + u), S the standard normal survival function."""
    # closed forms from the centre: ∫S = φ - xS, ∫uS = ((1 - x²)S + xφ)/2 beyond x
    density = np.exp(-0.5 * room * room - _LOG_ROOT_TAU)
    survival = ndtr(-room)
    shift = np.asarray(math.exp(-_LOG_ROOT_TAU) - (density - room * survival))
    spread = np.asarray(0.25 - 0.5 * ((1.0 - room) * (1.0 + room) * survival + room * density))
    narrow = np.asarray(room < _NARROW)
    if narrow.any():
        # S(u) = 1/2 - φ(0)(u - u³/6 + u⁵/40 - ...): no digits are lost where the noise is wide
        width = np.asarray(room)[narrow]
        half_square = -0.5 * width * width
        shift_series, spread_series = np.zeros_like(width), np.zeros_like(width)
        for m in range(9, -1, -1):
            shift_series = shift_series * half_square + 1.0 / (math.factorial(m) * (2 * m + 1) * (2 * m + 2))
            spread_series = spread_series * half_square + 1.0 / (math.factorial(m) * (2 * m + 1) * (2 * m + 3))
        centre = math.exp(-_LOG_ROOT_TAU)
        shift[narrow] = width * (0.5 - centre * width * shift_series)
        spread[narrow] = width * width * (0.25 - centre * width * spread_series)
    outside = np.asarray(start > 0)
    if outside.any():
        # smooth integrands on a short range: quadrature keeps the digits that differences would lose
        nodes, weights = _legendre(48)
        begin, length = np.asarray(start)[outside][..., None], np.minimum(np.asarray(room)[outside], _TAIL)[..., None]
        u = length * nodes
        mass = length * weights * ndtr(-(begin + u))
        shift[outside] = mass.sum(axis=-1)
        spread[outside] = (u * mass).sum(axis=-1)
    return shift, spread


@lru_cache(maxsize=2)
def _legendre(count: int) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def gaussian_delta(std: float, sensitivity: float, epsilon: float) -> float:
    """Exact slack δ of Gaussian noise at ε.

    Parameters
    ----------
    std, sensitivity : float
        Both above 0, in the same unit.
    epsilon : float
        Privacy loss, >= 0.

    Returns
    -------
    float
        δ in [0, 1]; computed from logarithms, so small values keep their digits. Standard fact, checked by quadrature
        in tests/unit/privacy/test_gaussian.py.

    Examples
    --------
    >>> round(gaussian_delta(1.0, 1.0, 1.0), 9)
    0.126936738
    """
    if not (std > 0 and sensitivity > 0):
        raise ParameterError(
            f"Noise and sensitivity must both be above 0; they are {std:g} and {sensitivity:g}.", field="sensitivity"
        )
    log_delta = _log_delta(sensitivity / std, epsilon)
    return math.exp(log_delta)


def _log_delta(reach: float, epsilon: float) -> float:
    """Return ln δ for sensitivity / std = reach."""
    hit = float(log_ndtr(reach / 2.0 - epsilon / reach))
    miss = epsilon + float(log_ndtr(-reach / 2.0 - epsilon / reach))
    ratio = -math.expm1(min(miss - hit, 0.0))
    return hit + math.log(ratio) if ratio > 0 else -math.inf


@lru_cache(maxsize=4096)
def analytic_gaussian_std(epsilon: float, delta: float) -> float:
    """Smallest standard deviation, per unit of sensitivity, that gives (ε, δ)-privacy.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        Root of δ(s) = δ, to about 1e-12 and on the private side of the rounding.

    Raises
    ------
    ParameterError
        If a level is out of range.

    Examples
    --------
    >>> round(analytic_gaussian_std(1.0, 1e-6), 6)
    4.224679
    """
    _check_levels(epsilon, delta)
    target = math.log(delta)

    def room(log_std: float) -> float:
        return target - _log_delta(math.exp(-log_std), epsilon)

    low = high = 0.0
    while room(high) <= 0:
        high += 1.0
    while room(low) > 0:
        low -= 1.0
    return math.exp(bisect(room, low, high)[1])


def classic_gaussian_std(epsilon: float, delta: float) -> float:
    """Return the standard deviation per unit of sensitivity by the classic formula sqrt(2 ln(1.25/δ))/ε.

    Raises
    ------
    ParameterError
        If ``epsilon`` is above 1, where the formula is not valid, or a level is out of range.

    Examples
    --------
    >>> round(classic_gaussian_std(1.0, 1e-6), 6)
    5.298803
    """
    _check_levels(epsilon, delta)
    if epsilon > 1:
        raise ParameterError(
            f"The classic formula for Gaussian noise is valid for ε of at most 1; ε is {epsilon:g}; "
            "choose the exact calibration.",
            field="epsilon",
        )
    return math.sqrt(2.0 * math.log(1.25 / delta)) / epsilon


def _check_levels(epsilon: float, delta: float) -> None:
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError(f"ε must be a number above 0; it is {epsilon:g}.", field="epsilon")
    if not 0 < delta < 1:
        raise ParameterError(
            f"Gaussian noise needs δ strictly between 0 and 1; it is {delta:g}; choose Laplace noise for δ = 0.",
            field="delta",
        )


class Gaussian(MechanismRecord):
    """Gaussian mechanism: approximate privacy for substitution neighbours, central model.

    Examples
    --------
    >>> round(Gaussian(epsilon=1.0, delta=1e-6).noise(sensitivity=2.0).std, 6)
    8.449358
    """

    kind: Literal["gaussian"] = "gaussian"
    title: ClassVar[str] = "Gaussian"
    formula: ClassVar[str] = (
        r"\hat\theta=\theta+N(0,\sigma^2),\quad "
        r"\Phi\!\left(\tfrac{\Delta}{2\sigma}-\tfrac{\varepsilon\sigma}{\Delta}\right)"
        r"-e^{\varepsilon}\,\Phi\!\left(-\tfrac{\Delta}{2\sigma}-\tfrac{\varepsilon\sigma}{\Delta}\right)=\delta"
    )
    source: ClassVar[str] = "standard fact, checked in tests/unit/privacy/test_gaussian.py"
    epsilon: Epsilon = 1.0
    delta: Annotated[float, Number] = field(
        1e-6,
        "Failure chance δ",
        "Probability with which the ε guarantee may fail; keep it far below 1 over the number of people.",
        key="delta",
        group="Privacy",
        scale="log",
        low=1e-12,
        ge=1e-300,
        le=0.5,
    )
    calibration: Literal["analytic", "classic"] = field(
        "analytic",
        "Calibration",
        "Exact: the least noise that gives the guarantee. Classic: the textbook formula, valid for ε of at most 1.",
        key="calibration",
        group="Privacy",
        titles={"analytic": "Exact", "classic": "Classic formula (ε at most 1)"},
    )

    def model_post_init(self, context: Any, /) -> None:
        """Refuse the classic formula where it is not valid."""
        if self.calibration == "classic" and self.epsilon > 1:
            raise PydanticCustomError(
                "classic_gaussian",
                "The classic formula for Gaussian noise is valid for ε of at most 1; ε is {epsilon}; "
                "choose the exact calibration.",
                {"epsilon": f"{self.epsilon:g}"},
            )

    def guarantee(self) -> ApproxDP:
        """Return (ε, δ)-differential privacy for substitution neighbours in the central model."""
        return ApproxDP(self.epsilon, self.delta)

    def noise_multiplier(self) -> float:
        """Return the standard deviation of the noise per unit of sensitivity."""
        calibrate = analytic_gaussian_std if self.calibration == "analytic" else classic_gaussian_std
        return calibrate(self.epsilon, self.delta)

    def concentrated(self) -> ZCDP:
        """Return the zCDP guarantee of the same noise: ρ = 1/(2 m²), m the noise multiplier."""
        return ZCDP(0.5 / self.noise_multiplier() ** 2)

    def noise(self, sensitivity: float) -> GaussianNoise:
        """Return the law of the noise for a query of this sensitivity (L2, in the unit of the value).

        Raises
        ------
        ParameterError
            If ``sensitivity`` is negative, infinite or not a number.
        """
        check_sensitivity(sensitivity)
        return GaussianNoise(sensitivity * self.noise_multiplier())

    def release(self, values: ArrayLike, sensitivity: float, rng: np.random.Generator) -> FloatArray:
        """Add noise to each value.

        Parameters
        ----------
        values : array_like
            Exact answers, any shape: separate simulated runs of one query, or one vector-valued query whose L2
            sensitivity is ``sensitivity``.
        sensitivity : float
            Largest change that one record can cause (Euclidean length); at least 0.
        rng : numpy Generator
            Source of the noise.

        Returns
        -------
        array of the same shape
        """
        exact = np.asarray(values, dtype=np.float64)
        return exact + self.noise(sensitivity).sample(exact.shape, rng)


def zcdp_gaussian_std(rho: float) -> float:
    """Return the noise per unit of (L2) sensitivity that gives ρ-zCDP: 1/sqrt(2ρ) (markov_random_fields, section 1).

    Raises
    ------
    ParameterError
        If ``rho`` is not above 0.
    """
    if not (math.isfinite(rho) and rho > 0):
        raise ParameterError(f"ρ must be a number above 0; it is {rho:g}.", field="rho")
    return 1.0 / math.sqrt(2.0 * rho)


__all__ = [
    "Gaussian",
    "GaussianNoise",
    "analytic_gaussian_std",
    "classic_gaussian_std",
    "gaussian_delta",
    "zcdp_gaussian_std",
]
