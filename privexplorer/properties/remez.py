"""Best uniform polynomials of ``x ln(1/x)`` on [0, 1], by the exchange algorithm of Remez.

Spec properties, section 4.3, step 1. The exchange runs in double precision on Chebyshev polynomials until its
points are good to half the digits; a few exchanges in 320-bit arithmetic then give every digit of a double.
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from mpmath.ctx_mp import MPContext

from privexplorer.arrays import FloatArray
from privexplorer.distributions.checks import whole_number
from privexplorer.errors import ConvergenceError, ParameterError

HIGHEST_DEGREE = 24
"""Largest degree on offer: the coefficients grow to about 1e13 there."""

_BITS = 320
_ONE = 1 << _BITS
_context: Any = MPContext()
_context.prec = _BITS
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Approximation:
    """The best polynomial of one degree.

    Attributes
    ----------
    coefficients : (degree + 1,) float array
        Ascending; the first equals ``error``.
    error : float
        Largest distance to ``x ln(1/x)`` on [0, 1].
    points : (degree + 2,) float array
        Where the distance takes that size with alternating sign, from 0 to 1.
    """

    coefficients: FloatArray
    error: float
    points: FloatArray

    @property
    def degree(self) -> int:
        """Degree of the polynomial."""
        return int(self.coefficients.size) - 1


def remez(degree: int) -> Approximation:
    """Return the best uniform polynomial of ``x ln(1/x)`` on [0, 1].

    Parameters
    ----------
    degree : int
        1 to 24.

    Returns
    -------
    Approximation
        Correctly rounded coefficients; kept for the life of the process.

    Raises
    ------
    ParameterError
        For a degree outside 1..24.

    Examples
    --------
    >>> round(remez(3).error, 10)
    0.0243505776
    """
    whole = whole_number(degree, "The degree of the polynomial", "degree")
    if whole > HIGHEST_DEGREE:
        raise ParameterError(
            f"The degree of the polynomial must be at most {HIGHEST_DEGREE}; it is {whole}.", field="degree"
        )
    return _solution(whole)[0]


def evaluate(approximation: Approximation, x: FloatArray) -> FloatArray:
    """Evaluate the polynomial at ``x`` in [0, 1], any shape, to about 1e-14 at every degree.

    The monomial form would lose digits to cancellation at high degree, so the values come from the error's
    alternation points by barycentric interpolation.
    """
    nodes = approximation.points[:-1]
    signs = np.where(np.arange(nodes.size) % 2 == 0, 1.0, -1.0)
    heights = entropy_term(nodes) + signs * approximation.error
    gaps = nodes[:, None] - nodes[None, :]
    np.fill_diagonal(gaps, 0.25)
    weights = 1.0 / np.prod(4.0 * gaps, axis=1)
    given = np.asarray(x, dtype=np.float64)
    offset = given.reshape(-1, 1) - nodes[None, :]
    hit = offset == 0.0
    ratio = weights / np.where(hit, 1.0, offset)
    value: FloatArray = (ratio * heights).sum(axis=1) / ratio.sum(axis=1)
    row, column = np.nonzero(hit)
    value[row] = heights[column]
    return value.reshape(given.shape)


def entropy_term(x: FloatArray) -> FloatArray:
    """Compute ``x ln(1/x)`` with value 0 at 0, any shape, for x >= 0."""
    given = np.asarray(x, dtype=np.float64)
    return np.asarray(-given * np.log(np.where(given > 0.0, given, 1.0)), dtype=np.float64)


def scaled_polynomial_values(degree: int, interval: float, cutoff: int) -> FloatArray:
    """Return ``M sum_m a_m j(j-1)...(j-m+1) / M^m`` for the counts j = 0..cutoff, shape ``(cutoff + 1,)``.

    These are the polynomial's part of the table in units of 1/n, free of n (spec properties, section 4.3,
    step 3). Summed in 320-bit arithmetic, so the huge alternating terms cost no digits.
    """
    return _scaled_values(int(degree), float(interval), int(cutoff))


@lru_cache(maxsize=256)
def _scaled_values(degree: int, interval: float, cutoff: int) -> FloatArray:
    remez(degree)
    exact = _solution(degree)[1]
    with _lock:
        end = _context.mpf(interval)
        terms = [coefficient / end**power for power, coefficient in enumerate(exact)]
        values = []
        for count in range(cutoff + 1):
            falling, total = 1, _context.mpf(0)
            for power in range(min(degree, count) + 1):
                total += terms[power] * falling
                falling *= count - power
            values.append(float(end * total))
    found = np.array(values)
    found.setflags(write=False)
    return found


@lru_cache(maxsize=HIGHEST_DEGREE)
def _solution(degree: int) -> tuple[Approximation, tuple[Any, ...]]:
    with _lock:
        points = [_fixed(_context.mpf(float(x))) for x in _double_points(degree)]
        points[0], points[-1] = 0, _ONE
        heights = [_log_term(x) for x in points]
        for _ in range(8):
            coefficients, level = _levelled(points, heights)
            points = _extremes(coefficients, points)
            heights = [_log_term(x) for x in points]
            sizes = [abs(height - _horner(coefficients, x)) for x, height in zip(points, heights, strict=True)]
            if (max(sizes) - min(sizes)) * 10**25 < max(sizes):
                break
        else:
            raise ConvergenceError(f"The best polynomial of degree {degree} was not found to 25 digits.")
        exact = tuple(_exact(coefficient) for coefficient in coefficients)
        error = float(_exact(abs(level)))
        where = np.array([float(_exact(x)) for x in points])
    ascending = np.array([float(coefficient) for coefficient in exact])
    ascending.setflags(write=False)
    where.setflags(write=False)
    return Approximation(ascending, error, where), exact


def _double_points(degree: int) -> FloatArray:
    """Run the exchange in double precision, on Chebyshev polynomials of ``2x - 1``."""
    angle = np.pi * np.arange(degree + 2) / (degree + 1)
    points = (1.0 - np.cos(angle)) / 2.0
    signs = np.where(np.arange(degree + 2) % 2 == 0, 1.0, -1.0)
    fine = (1.0 - np.cos(np.linspace(0.0, np.pi, 200 * (degree + 2)))) / 2.0
    for _ in range(8):
        system = np.column_stack((np.polynomial.chebyshev.chebvander(2.0 * points - 1.0, degree), signs))
        solved = np.linalg.solve(system, entropy_term(points))
        error = entropy_term(fine) - np.polynomial.chebyshev.chebval(2.0 * fine - 1.0, solved[:-1])
        # one extreme per stretch of one sign; the ends stay
        turns = np.flatnonzero(np.signbit(error[1:]) != np.signbit(error[:-1])) + 1
        if turns.size != degree + 1:
            break
        stretches = np.split(np.abs(error), turns)
        starts = np.concatenate(([0], turns))
        moved = fine[[start + int(np.argmax(piece)) for start, piece in zip(starts, stretches, strict=True)]]
        moved[0], moved[-1] = 0.0, 1.0
        points = moved
    return np.asarray(points, dtype=np.float64)


# Numbers below are whole multiples of 2^-_BITS: Python's integers are several times faster than long floats.


def _exact(x: int) -> Any:
    return _context.ldexp(_context.mpf(x), -_BITS)


def _fixed(x: Any) -> int:
    return int(_context.ldexp(x, _BITS))


def _logarithm(x: int) -> int:
    return _fixed(_context.log(_exact(x)))


def _log_term(x: int) -> int:
    return -x * _logarithm(x) >> _BITS if x > 0 else 0


def _horner(coefficients: list[int], x: int) -> int:
    total = 0
    for coefficient in reversed(coefficients):
        total = (total * x >> _BITS) + coefficient
    return total


def _levelled(points: list[int], heights: list[int]) -> tuple[list[int], int]:
    """Find the polynomial whose error alternates with one size on the points: its coefficients and that size."""
    count = len(points)
    above = below = 0
    for i, x in enumerate(points):
        product = _ONE
        for j, other in enumerate(points):
            if j != i:
                product = product * (x - other) >> _BITS
        weight = (_ONE << _BITS) // product
        above += heights[i] * weight
        below += weight if i % 2 == 0 else -weight
    level = above // below
    differences = [heights[i] - (level if i % 2 == 0 else -level) for i in range(count - 1)]
    for order in range(1, count - 1):
        for i in range(count - 2, order - 1, -1):
            differences[i] = (differences[i] - differences[i - 1] << _BITS) // (points[i] - points[i - order])
    ascending = [differences[count - 2]]
    for i in range(count - 3, -1, -1):
        shifted = [0, *ascending]
        for power, coefficient in enumerate(ascending):
            shifted[power] -= coefficient * points[i] >> _BITS
        shifted[0] += differences[i]
        ascending = shifted
    return ascending, level


def _extremes(coefficients: list[int], points: list[int]) -> list[int]:
    """Move the inner points towards the zeros of the error's derivative, by two Newton steps."""
    slope = [power * c for power, c in enumerate(coefficients)][1:]
    bend = [power * c for power, c in enumerate(slope)][1:]
    moved = [points[0]]
    for x in points[1:-1]:
        here = x
        for _ in range(2):
            rise = -_logarithm(here) - _ONE - _horner(slope, here)
            curve = -((_ONE << _BITS) // here) - _horner(bend, here)
            here -= (rise << _BITS) // curve
            if not 0 < here < _ONE:
                raise ConvergenceError("The search for the best polynomial left the interval from 0 to 1.")
        moved.append(here)
    moved.append(points[-1])
    if any(left >= right for left, right in itertools.pairwise(moved)):
        raise ConvergenceError("The search for the best polynomial lost the order of its points.")
    return moved


__all__ = [
    "HIGHEST_DEGREE",
    "Approximation",
    "entropy_term",
    "evaluate",
    "remez",
    "scaled_polynomial_values",
]
