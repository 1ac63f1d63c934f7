"""Families of basis functions on a public range: polynomials, splines, categories and their combinations (spec 2.6).

Ranges, degrees and category lists are public settings. They are never read off the sensitive column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.polynomial import Polynomial
from numpy.polynomial import hermite_e as _hermite
from numpy.polynomial import legendre as _legendre
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import DataError, ParameterError


class Basis(Protocol):
    """A finite family of functions of the sensitive value.

    ``size`` is the number K of functions, ``dimension`` the number of columns of x, ``names`` one short name for each
    function, and ``constant`` the coefficients (K,) that give the function 1, or None where 1 is not in the span.
    """

    @property
    def size(self) -> int:
        """Number K of basis functions."""

    @property
    def dimension(self) -> int:
        """Number of columns that the basis reads."""

    @property
    def names(self) -> tuple[str, ...]:
        """One short name for each function."""

    @property
    def constant(self) -> FloatArray | None:
        """Coefficients (K,) of the function 1, or None where it is not in the span."""

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return the functions at every value: (n,) or (n, dimension) in, (n, K) out."""


def _column(x: ArrayLike) -> FloatArray:
    values = np.asarray(x, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"This basis is for one column, but the values have {values.ndim} dimensions.")
    return values


def _columns(x: ArrayLike, dimension: int) -> FloatArray:
    values = np.asarray(x, dtype=np.float64)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.shape[1] != dimension:
        shown = values.shape[1] if values.ndim == 2 else values.ndim
        raise DataError(f"The basis is for {dimension} columns, but the values have {shown}.")
    return values


def _check_range(low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(f"The public range must have its low end below its high end; it is {low:g} to {high:g}.")


def _check_size(size: int, least: int = 1) -> None:
    if size < least:
        raise ParameterError(f"The basis must have at least {least} functions; it has {size}.")


def _unit(size: int, value: float = 1.0) -> FloatArray:
    coefficients = np.zeros(size)
    coefficients[0] = value
    return coefficients


@dataclass(frozen=True)
class Linear:
    """The constant and every column as it is: (1, x_1, ..., x_d).

    Parameters
    ----------
    dimension : int
        Number of columns, at least 0 (0 leaves the constant alone).
    """

    dimension: int = 1

    def __post_init__(self) -> None:
        if self.dimension < 0:
            raise ParameterError(f"The number of columns must be at least 0; it is {self.dimension}.")

    @property
    def size(self) -> int:
        """Number of basis functions, one more than the columns."""
        return 1 + self.dimension

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        return ("1", "x") if self.dimension == 1 else ("1", *(f"x{j + 1}" for j in range(self.dimension)))

    @property
    def constant(self) -> FloatArray:
        """Coefficients of the function 1."""
        return _unit(self.size)

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return 1 and the columns, (n, 1 + dimension)."""
        values = np.zeros((np.shape(x)[0], 0)) if self.dimension == 0 else _columns(x, self.dimension)
        return np.concatenate([np.ones((len(values), 1)), values], axis=1)

    def polynomials(self) -> tuple[Polynomial, ...]:
        """Return the functions of one column as polynomials."""
        if self.dimension > 1:
            raise ParameterError("Polynomials in one variable need a basis of one column.")
        return (Polynomial([1.0]), Polynomial([0.0, 1.0]))[: self.size]


@dataclass(frozen=True)
class Legendre:
    """Legendre polynomials on a public range.

    Parameters
    ----------
    low, high : float
        The public range; values outside it are allowed, but the polynomials grow there.
    size : int
        Number K of polynomials, degrees 0 to K - 1.
    measure : {"uniform", "length", "plain"}
        What they are orthonormal for: the uniform law (the first function is 1), or length, i.e. Lebesgue measure
        (the first function is 1/sqrt(high - low); this is the family of Ex. 12 and G23). ``plain`` leaves them
        orthogonal but not normed: every one is 1 at ``high``, so higher degrees weigh less in a Gram matrix.

    Examples
    --------
    >>> Legendre(-1, 1, 3).evaluate([1.0]).round(4)
    array([[1.    , 1.7321, 2.2361]])
    """

    low: float
    high: float
    size: int
    measure: Literal["uniform", "length", "plain"] = "uniform"
    dimension: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)
        _check_size(self.size)

    @property
    def _scale(self) -> FloatArray:
        if self.measure == "plain":
            return np.ones(self.size)
        norm = 1.0 if self.measure == "uniform" else 1 / (self.high - self.low)
        scale: FloatArray = np.sqrt((2 * np.arange(self.size) + 1) * norm)
        return scale

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        return tuple(f"P{j}" for j in range(self.size))

    @property
    def constant(self) -> FloatArray:
        """Coefficients of the function 1."""
        return _unit(self.size, 1 / float(self._scale[0]))

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return the polynomials at every value, (n, K)."""
        unit = (2 * _column(x) - self.low - self.high) / (self.high - self.low)
        values: FloatArray = _legendre.legvander(unit, self.size - 1) * self._scale
        return values

    def polynomials(self) -> tuple[Polynomial, ...]:
        """Return the functions as ordinary polynomials of x."""
        inner = Polynomial([-(self.low + self.high), 2.0]) / (self.high - self.low)
        powers = [Polynomial(_legendre.leg2poly(_unit_at(j))) for j in range(self.size)]
        return tuple(float(s) * p(inner) for s, p in zip(self._scale, powers, strict=True))


@dataclass(frozen=True)
class Gegenbauer:
    """Polynomials that are orthonormal for the parabola law 3(1 - u²)/4 on a public range (u runs from -1 to 1).

    With a sensitive value that thins out like this at both ends, ratios to its density stay bounded, as Ex. 12 and
    Ex. 13 need; ratios to length do not (there the coefficients have no variance).

    Parameters
    ----------
    low, high : float
        The public range.
    size : int
        Number K of polynomials, degrees 0 to K - 1.
    """

    low: float
    high: float
    size: int
    dimension: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)
        _check_size(self.size)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        return tuple(f"C{j}" for j in range(self.size))

    @property
    def constant(self) -> FloatArray:
        """Coefficients of the function 1."""
        return _unit(self.size)

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return the polynomials at every value, (n, K)."""
        unit = (2 * _column(x) - self.low - self.high) / (self.high - self.low)
        columns = []
        for degree in range(1, self.size + 1):  # derivatives of Legendre polynomials
            scale = math.sqrt((2 * degree + 1) / (1.5 * degree * (degree + 1)))
            columns.append(scale * _legendre.legval(unit, _legendre.legder(_unit_at(degree))))
        return np.stack(columns, axis=1)


def _unit_at(index: int) -> FloatArray:
    coefficients = np.zeros(index + 1)
    coefficients[index] = 1.0
    return coefficients


@dataclass(frozen=True)
class Hermite:
    """Hermite polynomials, orthonormal for a normal law.

    Parameters
    ----------
    size : int
        Number K of polynomials, degrees 0 to K - 1. High degrees are a poor choice under noise (spec 6.3).
    mean, std : float
        Public centre and scale; ``std`` above 0.
    """

    size: int
    mean: float = 0.0
    std: float = 1.0
    dimension: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        _check_size(self.size)
        if not (math.isfinite(self.std) and self.std > 0):
            raise ParameterError(f"The public scale of the basis must be above 0; it is {self.std:g}.")

    @property
    def _scale(self) -> FloatArray:
        return np.array([1 / math.sqrt(math.factorial(j)) for j in range(self.size)])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        return tuple(f"He{j}" for j in range(self.size))

    @property
    def constant(self) -> FloatArray:
        """Coefficients of the function 1."""
        return _unit(self.size)

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return the polynomials at every value, (n, K)."""
        values: FloatArray = _hermite.hermevander((_column(x) - self.mean) / self.std, self.size - 1) * self._scale
        return values

    def polynomials(self) -> tuple[Polynomial, ...]:
        """Return the functions as ordinary polynomials of x."""
        inner = Polynomial([-self.mean, 1.0]) / self.std
        powers = [Polynomial(_hermite.herme2poly(_unit_at(j))) for j in range(self.size)]
        return tuple(float(s) * p(inner) for s, p in zip(self._scale, powers, strict=True))


@dataclass(frozen=True)
class OneHot:
    """One indicator for each category, coded 0 to ``levels`` - 1.

    Parameters
    ----------
    levels : int
        Number of categories in the public list, at least 1.
    """

    levels: int
    dimension: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        _check_size(self.levels)

    @property
    def size(self) -> int:
        """Number of basis functions, one per category."""
        return self.levels

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        return tuple(f"[{j}]" for j in range(self.levels))

    @property
    def constant(self) -> FloatArray:
        """Coefficients of the function 1."""
        return np.ones(self.levels)

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return the indicators, (n, levels); a code outside the list is an error."""
        values = _column(x)
        codes = np.arange(self.levels)
        hits = values[:, None] == codes
        if not hits.any(axis=1).all():
            wrong = np.unique(values[~hits.any(axis=1)])[:5]
            shown = ", ".join(f"{value:g}" for value in wrong)
            raise DataError(f"Codes outside the {self.levels} public categories (0 to {self.levels - 1}): {shown}.")
        return np.asarray(hits, dtype=np.float64)


@dataclass(frozen=True)
class BSpline:
    """B-splines on equally spaced knots over a public range; values outside are moved to the nearer end.

    Parameters
    ----------
    low, high : float
        The public range.
    size : int
        Number K of splines, at least ``degree`` + 1.
    degree : int
        Degree of the pieces, at least 0.
    """

    low: float
    high: float
    size: int
    degree: int = 3
    dimension: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)
        if self.degree < 0:
            raise ParameterError(f"The degree of the splines must be at least 0; it is {self.degree}.")
        _check_size(self.size, self.degree + 1)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        return tuple(f"B{j}" for j in range(self.size))

    @property
    def constant(self) -> FloatArray:
        """Coefficients of the function 1 (the splines add up to 1)."""
        return np.ones(self.size)

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return the splines at every value, (n, K)."""
        from scipy.interpolate import BSpline as Spline

        values = np.clip(_column(x), self.low, self.high)
        inner = np.linspace(self.low, self.high, self.size - self.degree + 1)
        knots = np.concatenate([np.repeat(self.low, self.degree), inner, np.repeat(self.high, self.degree)])
        dense: FloatArray = Spline.design_matrix(values, knots, self.degree).toarray()
        return dense


BasisPart = Linear | Legendre | Gegenbauer | Hermite | OneHot | BSpline


def _split(x: ArrayLike, parts: tuple[BasisPart, ...]) -> list[FloatArray]:
    values = _columns(x, sum(part.dimension for part in parts))
    pieces, start = [], 0
    for part in parts:
        pieces.append(part.evaluate(values[:, start : start + part.dimension]))
        start += part.dimension
    return pieces


@dataclass(frozen=True)
class Product:
    """All products of one function from each part; the parts read the columns of x from left to right.

    Parameters
    ----------
    parts : tuple of bases
        At least one; together they read the sum of their dimensions.
    """

    parts: tuple[BasisPart, ...]

    def __post_init__(self) -> None:
        _check_size(len(self.parts))

    @property
    def size(self) -> int:
        """Number of basis functions, the product of the sizes."""
        return math.prod(part.size for part in self.parts)

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return sum(part.dimension for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        names: tuple[str, ...] = self.parts[0].names
        for part in self.parts[1:]:
            names = tuple(f"{left}·{right}" for left in names for right in part.names)
        return names

    @property
    def constant(self) -> FloatArray:
        """Coefficients of the function 1."""
        coefficients = np.ones(1)
        for part in self.parts:
            coefficients = np.multiply.outer(coefficients, part.constant).ravel()
        return coefficients

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return the products at every row, (n, K)."""
        pieces = _split(x, self.parts)
        values = pieces[0]
        for piece in pieces[1:]:
            values = (values[:, :, None] * piece[:, None, :]).reshape(len(values), -1)
        return values


@dataclass(frozen=True)
class Additive:
    """The constant and the functions of every part, without products; the parts read x from left to right.

    A part whose functions add up to the constant loses its first function, so that the whole stays independent.

    Parameters
    ----------
    parts : tuple of bases
        At least one; together they read the sum of their dimensions.
    """

    parts: tuple[BasisPart, ...]

    def __post_init__(self) -> None:
        _check_size(len(self.parts))

    @property
    def size(self) -> int:
        """Number of basis functions."""
        return 1 + sum(part.size - 1 for part in self.parts)

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return sum(part.dimension for part in self.parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the functions."""
        inner = [f"x{j + 1}:{name}" for j, part in enumerate(self.parts) for name in part.names[1:]]
        return ("1", *inner)

    @property
    def constant(self) -> FloatArray:
        """Coefficients of the function 1."""
        return _unit(self.size)

    def evaluate(self, x: ArrayLike) -> FloatArray:
        """Return the functions at every row, (n, K)."""
        pieces = _split(x, self.parts)
        return np.concatenate([np.ones((len(pieces[0]), 1)), *(piece[:, 1:] for piece in pieces)], axis=1)


__all__ = [
    "Additive",
    "BSpline",
    "Basis",
    "BasisPart",
    "Gegenbauer",
    "Hermite",
    "Legendre",
    "Linear",
    "OneHot",
    "Product",
]
