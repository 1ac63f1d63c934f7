"""Mechanisms that swap one column for noise, their privacy levels, and what a shown value says about the true one.

Holds Ex. 1, (11), (15), Defs 1 and 2, Lems 4 and 6 and section 10.5 of locally_private_inference. A finite
mechanism is a matrix whose COLUMNS are the conditional laws, ``matrix[z, x]`` = P(shown z | true x); its inverse is
read as signed weights, ``inverse[:, z]`` for a record that shows z. The mechanism that keeps the value with a known
probability and otherwise shows noise has the inverse h ↦ h/a − (1 − a)/a · h̄, for values of any kind.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions.checks import whole_number
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination
from privexplorer.privacy.conversions import (
    approx_delta_at,
    approx_to_total_variation,
    total_variation_to_approx,
)
from privexplorer.privacy.guarantees import check_epsilon
from privexplorer.privacy.mechanisms.channels import channel_delta, channel_epsilon, channel_total_variation
from privexplorer.privacy.mechanisms.gaussian import gaussian_delta
from privexplorer.privacy.mechanisms.randomised_response import epsilon_of_keep_probability
from privexplorer.privacy.mechanisms.randomised_response import keep_probability as response_keep_probability

Values = NDArray[Any]  # whole-number codes of categories, or numbers; (n,) or (n, d)
Rule = Literal["tight", "printed"]

UNIFORM_NODES = 40
GAUSSIAN_NODES = 60
MIXED_NODES = 1024
LARGEST_GRID = 2000
SINGULAR = 1e-12
NEARLY_SINGULAR = 1e-4
_TOTAL = 1e-9


@lru_cache(maxsize=1)
def _legendre_rule() -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.legendre.leggauss(UNIFORM_NODES)
    return np.asarray(points), np.asarray(weights)


@lru_cache(maxsize=1)
def _hermite_rule() -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.hermite_e.hermegauss(GAUSSIAN_NODES)
    return np.asarray(points), np.asarray(weights)


# --- noise laws -------------------------------------------------------------------------------------------------


class NoiseLaw(ABC):
    """Law that a value is replaced by when it is not kept; the same for everybody, and public."""

    @abstractmethod
    def sample(self, size: int, rng: np.random.Generator) -> Values:
        """Draw ``size`` noise values: shape (size,) or (size, d)."""

    @abstractmethod
    def nodes(self) -> tuple[Values, FloatArray]:
        """Return points and weights, (M,) or (M, d) and (M,), whose weighted sums stand for integrals."""

    @abstractmethod
    def density(self, x: ArrayLike) -> FloatArray:
        """Density at ``x``, or the probability of each code for categories."""

    @property
    def dimension(self) -> int:
        """Number of columns; 1 for a single column."""
        return 1

    @property
    def smallest_atom(self) -> float:
        """Smallest probability of one value; 0 as soon as some value has none (any continuous law)."""
        return 0.0

    def mean_of(self, function: Callable[[Values], ArrayLike]) -> FloatArray:
        """Integral of ``function(points)``, shape (M, ...), over the law: shape (...,)."""
        points, weights = self.nodes()
        values = np.asarray(function(points), dtype=np.float64)
        return np.asarray(np.einsum("m...,m->...", values, weights))


@dataclass(frozen=True, eq=False)
class FiniteNoise(NoiseLaw):
    """Noise over the categories 0, ..., J - 1.

    Parameters
    ----------
    probabilities : (J,) array_like
        Non-negative, adding up to one (to 1e-9); J >= 2.

    Raises
    ------
    ParameterError
        If they are no probabilities.
    """

    probabilities: FloatArray

    def __post_init__(self) -> None:
        given = np.array(self.probabilities, dtype=np.float64)
        if given.ndim != 1 or given.size < 2:
            raise ParameterError("A noise law over categories needs at least two probabilities.", field="noise")
        if not (np.all(np.isfinite(given)) and np.all(given >= 0)):
            raise ParameterError("Every noise probability must be a number of at least 0.", field="noise")
        total = float(given.sum())
        if abs(total - 1.0) > _TOTAL:
            raise ParameterError(
                f"The noise probabilities must add up to one; they add up to {total:g}.", field="noise"
            )
        given.setflags(write=False)
        object.__setattr__(self, "probabilities", given)

    @property
    def levels(self) -> int:
        """Number of categories J."""
        return int(self.probabilities.size)

    @property
    def smallest_atom(self) -> float:
        """Smallest of the probabilities."""
        return float(self.probabilities.min())

    def sample(self, size: int, rng: np.random.Generator) -> IntArray:
        """Draw codes, one uniform number each."""
        steps = np.cumsum(self.probabilities)[:-1]
        return np.searchsorted(steps, rng.random(size), side="right").astype(np.int64)

    def nodes(self) -> tuple[IntArray, FloatArray]:
        """All codes with their probabilities: integrals are exact."""
        return np.arange(self.levels, dtype=np.int64), self.probabilities

    def density(self, x: ArrayLike) -> FloatArray:
        """Probability of each code; 0 for what is no code."""
        codes = np.asarray(x)
        inside = (codes >= 0) & (codes < self.levels) & (codes == np.floor(codes))
        return np.where(inside, self.probabilities[np.where(inside, codes, 0).astype(np.int64)], 0.0)


def uniform_levels(levels: int) -> FiniteNoise:
    """Noise with the same probability for each of ``levels`` categories (>= 2)."""
    count = whole_number(levels, "The number of categories", "levels", least=2)
    return FiniteNoise(np.full(count, 1.0 / count))


@dataclass(frozen=True)
class UniformNoise(NoiseLaw):
    """Uniform noise on [low, high]; integrals by Gauss-Legendre with 40 nodes.

    Raises
    ------
    ParameterError
        If ``low`` is not below ``high`` or one is not finite.
    """

    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ParameterError(
                f"The noise range needs a lower end below its upper end; it goes from {self.low:g} to {self.high:g}.",
                field="noise",
            )

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw numbers in [low, high)."""
        return self.quantile(rng.random(size))

    def quantile(self, share: FloatArray) -> FloatArray:
        """Value below which ``share`` of the noise lies."""
        return np.asarray(self.low + (self.high - self.low) * share)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Gauss-Legendre: exact for polynomials up to degree 79."""
        points, weights = _legendre_rule()
        return self.quantile((points + 1.0) / 2.0), np.asarray(weights / 2.0)

    def density(self, x: ArrayLike) -> FloatArray:
        """1/(high - low) inside, 0 outside."""
        at = np.asarray(x, dtype=np.float64)
        return np.where((at >= self.low) & (at <= self.high), 1.0 / (self.high - self.low), 0.0)


@dataclass(frozen=True)
class GaussianNoise(NoiseLaw):
    """Normal noise; integrals by Gauss-Hermite with 60 nodes.

    Raises
    ------
    ParameterError
        If ``std`` is not positive or a number is not finite.
    """

    mean: float = 0.0
    std: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and math.isfinite(self.std) and self.std > 0):
            raise ParameterError(
                f"Normal noise needs a finite mean and a standard deviation above 0; they are {self.mean:g} and "
                f"{self.std:g}.",
                field="noise",
            )

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw normal numbers."""
        return np.asarray(self.mean + self.std * rng.standard_normal(size))

    def quantile(self, share: FloatArray) -> FloatArray:
        """Value below which ``share`` of the noise lies."""
        from scipy.special import ndtri

        return np.asarray(self.mean + self.std * ndtri(share))

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Gauss-Hermite (probabilists'): exact for polynomials up to degree 119."""
        points, weights = _hermite_rule()
        return self.mean + self.std * points, np.asarray(weights / weights.sum())

    def density(self, x: ArrayLike) -> FloatArray:
        """Density of the normal law."""
        scaled = (np.asarray(x, dtype=np.float64) - self.mean) / self.std
        return np.asarray(np.exp(-0.5 * scaled**2) / (self.std * math.sqrt(2 * math.pi)))


@dataclass(frozen=True, eq=False)
class EmpiricalNoise(NoiseLaw):
    """Noise drawn from a public reference sample, each row equally likely; integrals are exact sums over it.

    Parameters
    ----------
    points : (M,) or (M, d) array_like
        Numbers from a PUBLIC source; taking them from the private column would void the guarantee.

    Raises
    ------
    ParameterError
        If there are no points or one is not finite.
    """

    points: FloatArray

    def __post_init__(self) -> None:
        given = np.array(self.points, dtype=np.float64)
        if given.ndim not in (1, 2) or given.size == 0 or not np.all(np.isfinite(given)):
            raise ParameterError("A public reference sample needs at least one row of finite numbers.", field="noise")
        given.setflags(write=False)
        object.__setattr__(self, "points", given)

    @property
    def dimension(self) -> int:
        """Number of columns of the sample."""
        return 1 if self.points.ndim == 1 else int(self.points.shape[1])

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw rows with replacement, one uniform number each."""
        count = self.points.shape[0]
        return np.asarray(self.points[np.minimum((rng.random(size) * count).astype(np.int64), count - 1)])

    def quantile(self, share: FloatArray) -> FloatArray:
        """Order statistic of a one-column sample."""
        ordered = np.sort(self.points.reshape(-1))
        return np.asarray(ordered[np.minimum((share * ordered.size).astype(np.int64), ordered.size - 1)])

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Return the rows themselves with equal weights."""
        count = self.points.shape[0]
        return self.points, np.full(count, 1.0 / count)

    def density(self, x: ArrayLike) -> FloatArray:
        """Refuse: a sample has no density (UnsupportedCombination)."""
        raise UnsupportedCombination(
            "Noise from a reference sample has no density; choose uniform or normal noise for density estimates.",
            field="noise",
        )


@dataclass(frozen=True, eq=False)
class MixedNoise(NoiseLaw):
    """Independent noise for several private columns, of categories and numbers side by side (section 1, mixed case).

    Parameters
    ----------
    parts : sequence of NoiseLaw
        One law per column, each with a single column. Values are (n, d) arrays of floats; categories hold codes.

    Notes
    -----
    Integrals use the product of the parts' nodes while there are at most 2000 of them (exact where the parts are);
    otherwise 1024 points of an additive recurrence, fixed once and shared by all people.
    """

    parts: tuple[NoiseLaw, ...]

    def __post_init__(self) -> None:
        parts = tuple(self.parts)
        if not parts or any(part.dimension != 1 for part in parts):
            raise ParameterError("Mixed noise needs one single-column law for each private column.", field="noise")
        object.__setattr__(self, "parts", parts)

    @property
    def dimension(self) -> int:
        """Number of private columns."""
        return len(self.parts)

    @property
    def smallest_atom(self) -> float:
        """Product of the parts' smallest atoms."""
        return math.prod(part.smallest_atom for part in self.parts)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw (size, d) values, column by column."""
        return np.column_stack([np.asarray(part.sample(size, rng), dtype=np.float64) for part in self.parts])

    @cached_property
    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        lists = [part.nodes() for part in self.parts]
        if math.prod(weights.size for _, weights in lists) <= LARGEST_GRID:
            points = np.meshgrid(*[np.asarray(nodes, dtype=np.float64) for nodes, _ in lists], indexing="ij")
            weights = np.ones(1)
            for _, part_weights in lists:
                weights = np.multiply.outer(weights, part_weights)
            return np.column_stack([grid.reshape(-1) for grid in points]), weights.reshape(-1)
        shares = _recurrence(MIXED_NODES, len(self.parts))
        columns = [_part_quantile(part, shares[:, j]) for j, part in enumerate(self.parts)]
        return np.column_stack(columns), np.full(MIXED_NODES, 1.0 / MIXED_NODES)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Points (M, d) and weights (M,)."""
        return self._nodes

    def density(self, x: ArrayLike) -> FloatArray:
        """Product of the parts' densities at rows (n, d)."""
        rows = np.asarray(x, dtype=np.float64)
        out = np.ones(rows.shape[:-1])
        for j, part in enumerate(self.parts):
            out = out * part.density(rows[..., j])
        return out


def _recurrence(count: int, dimension: int) -> FloatArray:
    """Spread ``count`` points over the unit cube: multiples of powers of the root of t^(d+1) = t + 1, modulo one."""
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (dimension + 1))
    powers = root ** -np.arange(1.0, dimension + 1.0)
    return np.asarray(np.mod(0.5 + np.outer(np.arange(1.0, count + 1.0), powers), 1.0))


def _part_quantile(part: NoiseLaw, share: FloatArray) -> FloatArray:
    if isinstance(part, FiniteNoise):
        return np.searchsorted(np.cumsum(part.probabilities)[:-1], share, side="right").astype(np.float64)
    if isinstance(part, UniformNoise | GaussianNoise | EmpiricalNoise):
        return part.quantile(share)
    raise UnsupportedCombination("This noise law cannot be a part of mixed noise with many columns.", field="noise")


# --- mechanisms -------------------------------------------------------------------------------------------------


class Mechanism(ABC):
    """Known, non-interactive way to show a noisy value instead of the true one, the same for everybody."""

    @abstractmethod
    def privatise(self, x: ArrayLike, rng: np.random.Generator) -> Values:
        """Draw the shown value of each record; ``x`` is (n,) or (n, d)."""

    def privatize(self, x: ArrayLike, rng: np.random.Generator) -> Values:
        """Do what ``privatise`` does."""
        return self.privatise(x, rng)

    @abstractmethod
    def ltv(self) -> float:
        """Total-variation level in [0, 1] (Def. 1)."""

    @abstractmethod
    def ldp_epsilon(self) -> float:
        """Smallest ε of pure local privacy; infinite if there is none (Def. 2)."""

    @abstractmethod
    def ldp_delta(self, epsilon: float) -> float:
        """Slack δ at this ε (Def. 2)."""

    def nodes(self) -> tuple[Values, FloatArray]:
        """Points and weights of the noise law.

        Raises
        ------
        UnsupportedCombination
            If the mechanism has no noise law of its own.
        """
        raise UnsupportedCombination(
            "This mechanism has no noise law of its own; use its signed weights instead.", field="mechanism"
        )

    @abstractmethod
    def invert(self, h: ArrayLike, other: ArrayLike) -> FloatArray:
        """Inverse operator (Lem 3) on function values; what ``other`` holds is said by each mechanism."""


def check_codes(x: ArrayLike, levels: int, what: str = "private column") -> IntArray:
    """Return codes 0, ..., levels - 1 as integers.

    Raises
    ------
    DataError
        If a value is no such code; up to five offending values are listed.
    """
    values = np.asarray(x)
    if values.dtype.kind not in "iufb":
        raise DataError(f"The categories of the {what} must be given as whole numbers from 0.", field="private")
    with np.errstate(invalid="ignore"):
        bad = ~((values >= 0) & (values < levels) & (values == np.floor(values)))
    if bad.any():
        shown = ", ".join(f"{value:g}" for value in np.unique(values[bad])[:5].astype(np.float64))
        raise DataError(f"The {what} has values outside its {levels} declared categories: {shown}.", field="private")
    return values.astype(np.int64)


@dataclass(frozen=True, eq=False)
class FiniteMechanism(Mechanism):
    """Any invertible mechanism over J categories (Ex. 1).

    Parameters
    ----------
    matrix : (J, J) array_like
        ``matrix[z, x]`` = P(shown z | true x): each COLUMN adds up to one (to 1e-9); J >= 2.
    exact_inverse : (J, J) float array, optional
        The inverse where it is known in closed form.

    Raises
    ------
    ParameterError
        If the matrix is not square, has a negative entry, has columns that do not add up to one (rows that do are
        named as such), or has a reciprocal condition number below 1e-12.

    Examples
    --------
    >>> skew = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
    >>> skew.invert([1.0, -2.0, 5.0]).round(9).tolist()
    [2.5, -7.5, 7.5]
    """

    matrix: FloatArray
    exact_inverse: FloatArray | None = None

    def __post_init__(self) -> None:
        matrix = checked_matrix(self.matrix)
        rows, columns = matrix.shape
        if rows != columns:
            raise ParameterError(
                f"The mechanism must show as many categories as there are; its matrix has {rows} rows and {columns} "
                "columns.",
                field="mechanism",
            )
        if rows < 2:
            raise ParameterError("A mechanism needs at least two categories.", field="mechanism")
        object.__setattr__(self, "matrix", matrix)
        if self.exact_inverse is None:
            if not self.condition * SINGULAR < 1:
                raise ParameterError(
                    "The mechanism cannot be inverted, so the answer is not determined by what people show; "
                    "change its matrix.",
                    field="mechanism",
                )
            inverse = np.linalg.inv(matrix)
        else:
            inverse = np.array(self.exact_inverse, dtype=np.float64)
        inverse.setflags(write=False)
        object.__setattr__(self, "exact_inverse", inverse)

    @property
    def inverse(self) -> FloatArray:
        """W = the inverse matrix, (J, J); ``inverse[:, z]`` are the signed weights of a record that shows z."""
        assert self.exact_inverse is not None  # noqa: S101 - set on construction
        return self.exact_inverse

    @property
    def levels(self) -> int:
        """Number of categories J."""
        return int(self.matrix.shape[0])

    @cached_property
    def condition(self) -> float:
        """1-norm condition number; large means that sampling error is blown up by the inverse."""
        try:
            return float(np.linalg.cond(self.matrix, 1))
        except np.linalg.LinAlgError:
            return math.inf

    @cached_property
    def rank(self) -> int:
        """Numerical rank; J for every mechanism that was accepted."""
        return int(np.linalg.matrix_rank(self.matrix))

    @cached_property
    def smallest_singular(self) -> float:
        """Smallest singular value: the effective keep probability of the small-sample rule (section 2.7)."""
        return float(np.linalg.svd(self.matrix, compute_uv=False)[-1])

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about a mechanism that is hard to invert; usually empty."""
        if self.condition * NEARLY_SINGULAR < 1:
            return ()
        return (
            f"The mechanism is nearly impossible to invert (condition number {self.condition:.3g}); "
            "expect very wide intervals.",
        )

    def privatise(self, x: ArrayLike, rng: np.random.Generator) -> IntArray:
        """Draw shown codes (n,) by inversion, one uniform number per record."""
        codes = check_codes(x, self.levels)
        steps = np.cumsum(self.matrix, axis=0)[:-1]  # (J - 1, x)
        uniform = rng.random(codes.shape)
        shown = np.zeros(codes.shape, dtype=np.int64)
        for step in steps:
            shown += uniform >= step[codes]
        return shown

    def ltv(self) -> float:
        """Largest total-variation distance between two columns."""
        return channel_total_variation(self.matrix)

    def ldp_epsilon(self) -> float:
        """Logarithm of the largest ratio within a row; infinite if a shown value rules out a true one."""
        return channel_epsilon(self.matrix)

    def ldp_delta(self, epsilon: float) -> float:
        """Largest sum of (Q - e^ε Q')⁺ over pairs of columns."""
        return channel_delta(self.matrix, epsilon)

    def invert(self, h: ArrayLike, other: ArrayLike | None = None) -> FloatArray:
        """Inverse operator on a table: h (..., x) to (..., z); ``other`` is not used.

        (Q⁻¹h)(v, z) = Σ_x W[x, z] h(v, x): the transpose of the matrix acts on functions (Lem 3(iv)).
        """
        return np.asarray(np.einsum("...x,xz->...z", np.asarray(h, dtype=np.float64), self.inverse))

    def signed_weights(self, z: ArrayLike) -> FloatArray:
        """Signed weights (n, J) of records that show codes ``z`` (n,); each row adds up to one."""
        return np.asarray(self.inverse.T[check_codes(z, self.levels, "shown column")])

    def finite(self) -> FiniteMechanism:
        """Return itself."""
        return self


def checked_matrix(matrix: ArrayLike) -> FloatArray:
    """Return ``matrix[z, x]`` as a read-only array of probabilities whose columns add up to one.

    Raises
    ------
    ParameterError
        With a sentence for each: no table, not finite, negative, rows instead of columns, neither.
    """
    given = np.array(matrix, dtype=np.float64)
    if given.ndim != 2 or given.size == 0:
        raise ParameterError(
            "The mechanism must be a table with a row per shown and a column per true category.", field="mechanism"
        )
    if not np.all(np.isfinite(given)):
        raise ParameterError("Every entry of the mechanism's matrix must be a finite number.", field="mechanism")
    if np.any(given < 0):
        raise ParameterError(
            f"No entry of the mechanism's matrix may be negative; the smallest is {given.min():g}.", field="mechanism"
        )
    sums = given.sum(axis=0)
    if np.any(np.abs(sums - 1.0) > _TOTAL):
        if np.all(np.abs(given.sum(axis=1) - 1.0) <= _TOTAL):
            raise ParameterError(
                "The rows of the mechanism's matrix add up to one, but its columns should; exchange rows and columns.",
                field="mechanism",
            )
        worst = float(sums[np.argmax(np.abs(sums - 1.0))])
        raise ParameterError(
            f"Each column of the mechanism's matrix must add up to one; one adds up to {worst:.12g}.", field="mechanism"
        )
    given.setflags(write=False)
    return given


def check_keep_probability(keep_probability: float) -> float:
    """Return the keep probability if it lies in (0, 1] (ParameterError otherwise)."""
    try:
        value = float(keep_probability)
    except (TypeError, ValueError):
        raise ParameterError(
            f"The keep probability must be a number above 0 and at most 1; it is “{str(keep_probability)[:40]}”.",
            field="keep_probability",
        ) from None
    if not 0.0 < value <= 1.0:
        raise ParameterError(
            f"The keep probability must be above 0 and at most 1; it is {value:g}. At 0 nothing about the private "
            "column is released.",
            field="keep_probability",
        )
    return value


@dataclass(frozen=True, eq=False)
class AlphaIdentity(Mechanism):
    """Keep the value with a known probability, otherwise show noise (15); values of any kind.

    Parameters
    ----------
    keep_probability : float
        In (0, 1]; 1 shows everything as it is.
    noise : NoiseLaw
        Public noise law.

    Notes
    -----
    With continuous noise the exact true value leaks with the keep probability: no ε is finite and δ(ε) is the keep
    probability at every ε (E19).
    """

    keep_probability: float
    noise: NoiseLaw

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep_probability", check_keep_probability(self.keep_probability))

    def privatise(self, x: ArrayLike, rng: np.random.Generator) -> Values:
        """Draw shown values; the random numbers used do not depend on the keep probability."""
        if isinstance(self.noise, FiniteNoise):
            values: Values = check_codes(x, self.noise.levels)
        else:
            values = np.asarray(x, dtype=np.float64)
            width = 1 if values.ndim == 1 else values.shape[1]
            if values.ndim not in (1, 2) or width != self.noise.dimension:
                raise DataError(
                    f"The noise is for {self.noise.dimension} private columns, but the data has {width}.",
                    field="private",
                )
        kept, noise = self.draw(values.shape[0], rng)
        if noise.ndim != values.ndim:
            noise = noise.reshape(values.shape)
        return np.where(kept if values.ndim == 1 else kept[:, None], values, noise)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Values]:
        """Draw who is kept (size,) and the noise of everybody (size,) or (size, d), in this order."""
        kept = rng.random(size) < self.keep_probability
        return kept, self.noise.sample(size, rng)

    def ltv(self) -> float:
        """Total-variation level: the keep probability itself, exactly."""
        return self.keep_probability

    def ldp_epsilon(self) -> float:
        """ln(1 + a/((1 - a) q)) with q the smallest noise probability; infinite for continuous noise (derived)."""
        atom = self.noise.smallest_atom * (1.0 - self.keep_probability)
        return math.log1p(self.keep_probability / atom) if atom > 0 else math.inf

    def ldp_delta(self, epsilon: float) -> float:
        """Slack (a - (e^ε - 1)(1 - a) q)⁺ with q the smallest noise probability (derived, checked by enumeration)."""
        check_epsilon(epsilon)
        atom = self.noise.smallest_atom * (1.0 - self.keep_probability)
        if atom == 0:
            return self.keep_probability
        grown = math.expm1(epsilon) if epsilon < 700 else math.inf
        return max(0.0, self.keep_probability - grown * atom)

    def nodes(self) -> tuple[Values, FloatArray]:
        """Points and weights of the noise law."""
        return self.noise.nodes()

    def invert(self, h: ArrayLike, other: ArrayLike) -> FloatArray:
        """h/a - (1 - a)/a · h̄: ``h`` at the shown values, ``other`` the noise average h̄ of each record."""
        factor = 1.0 / self.keep_probability
        return np.asarray(factor * np.asarray(h) - (factor - 1.0) * np.asarray(other), dtype=np.float64)

    def finite(self) -> FiniteMechanism:
        """Return the matrix form, with the inverse in closed form.

        Raises
        ------
        UnsupportedCombination
            If the noise is not over categories.
        """
        return self._finite

    @cached_property
    def _finite(self) -> FiniteMechanism:
        if not isinstance(self.noise, FiniteNoise):
            raise UnsupportedCombination(
                "Only noise over categories has a matrix; numbers need the mechanism itself.", field="noise"
            )
        q, keep = self.noise.probabilities, self.keep_probability
        identity = np.eye(q.size)
        if keep <= SINGULAR:
            raise ParameterError(
                f"The keep probability {keep:g} is so small that the mechanism cannot be inverted.",
                field="keep_probability",
            )
        return FiniteMechanism(
            keep * identity + (1.0 - keep) * q[:, None], identity / keep - (1.0 / keep - 1.0) * q[:, None]
        )


@dataclass(frozen=True, eq=False, init=False)
class RandomisedResponse(AlphaIdentity):
    """k-ary randomised response with budget ε (Ex. 1): uniform noise, keep probability (e^ε - 1)/(e^ε + J - 1).

    Raises
    ------
    ParameterError
        If ε is not positive (0 cannot be inverted) or there are fewer than two categories.

    Examples
    --------
    >>> RandomisedResponse(4, math.log(3)).finite().inverse[0, :2].round(12).tolist()
    [2.5, -0.5]
    """

    levels: int
    epsilon: float

    def __init__(self, levels: int, epsilon: float) -> None:
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "epsilon", float(epsilon))
        object.__setattr__(self, "noise", uniform_levels(levels))
        object.__setattr__(self, "keep_probability", keep_probability_for_epsilon(levels, epsilon))

    def ldp_epsilon(self) -> float:
        """ε as it was asked for."""
        return self.epsilon


def _ranges(ranges: ArrayLike | None, count: int) -> FloatArray:
    if ranges is None:
        return np.full(count, math.inf)
    given = np.broadcast_to(np.asarray(ranges, dtype=np.float64), (count,))
    if not np.all(given > 0):
        raise ParameterError("The public range of every private column must be wider than 0.", field="range")
    return given


@dataclass(frozen=True, eq=False)
class LaplaceAddition(Mechanism):
    """Add Laplace noise to numbers (section 10.5): inverse h - b²h'' for smooth h (derived).

    Parameters
    ----------
    scales : float or (d,) array_like
        Noise scale b > 0 of each column.
    ranges : float or (d,) array_like, optional
        Public width of each column; without it no privacy level is finite.
    """

    scales: FloatArray
    ranges: FloatArray | None = None

    def __post_init__(self) -> None:
        scales = np.atleast_1d(np.array(self.scales, dtype=np.float64))
        if scales.ndim != 1 or not (np.all(np.isfinite(scales)) and np.all(scales > 0)):
            raise ParameterError("The scale of Laplace noise must be a finite number above 0.", field="scale")
        object.__setattr__(self, "scales", scales)
        object.__setattr__(self, "ranges", _ranges(self.ranges, scales.size))

    def privatise(self, x: ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Add independent Laplace noise to every number."""
        values = np.asarray(x, dtype=np.float64)
        scales = self.scales[0] if values.ndim == 1 else self.scales
        return np.asarray(values + scales * rng.laplace(size=values.shape))

    def ldp_epsilon(self) -> float:
        """Sum of range/scale over the columns; infinite without a public range."""
        assert self.ranges is not None  # noqa: S101 - set on construction
        return float(np.sum(self.ranges / self.scales))

    def ltv(self) -> float:
        """1 - exp(-ε/2): exact for one column, an upper bound for several (product coupling; derived)."""
        return -math.expm1(-self.ldp_epsilon() / 2.0)

    def ldp_delta(self, epsilon: float) -> float:
        """Slack at ε: exact for one column, an upper bound for several (derived)."""
        check_epsilon(epsilon)
        total = self.ldp_epsilon()
        if epsilon >= total:
            return 0.0
        if math.isinf(total):
            return 1.0
        if self.scales.size == 1:
            return -math.expm1((epsilon - total) / 2.0)
        return min(approx_delta_at(total, 0.0, epsilon), self.ltv())

    def invert(self, h: ArrayLike, other: ArrayLike | None) -> FloatArray:
        """Return h - b²h'' at the shown values of one column; ``other`` holds the second derivative.

        Raises
        ------
        ParameterError
            If there is no second derivative (trimmed or stepped functions), or there are several columns.
        """
        if other is None:
            raise ParameterError(_SMOOTH, field="mechanism")
        if self.scales.size != 1:
            raise ParameterError("With several private columns every mixed derivative is needed.", field="mechanism")
        return np.asarray(np.asarray(h) - self.scales[0] ** 2 * np.asarray(other), dtype=np.float64)

    def invert_mixed(self, derivatives: ArrayLike) -> FloatArray:
        """∏_j (1 - b_j² ∂_j²) h for d columns.

        Parameters
        ----------
        derivatives : (2, ..., 2, n) array_like
            One axis of length 2 per column; index 1 means: differentiated twice in that column.
        """
        out = np.asarray(derivatives, dtype=np.float64)
        for scale in self.scales:
            out = out[0] - scale**2 * out[1]
        return out

    def invert_function(
        self, h: Callable[[FloatArray], FloatArray], second_derivative: Callable[[FloatArray], FloatArray], z: ArrayLike
    ) -> FloatArray:
        """Return h - b²h'' at ``z`` (n,), after a check that h is as smooth as that needs, around all shown values.

        Raises
        ------
        ParameterError
            If the second derivative does not match the function somewhere: a kink, a step or a slip.
        """
        shown = np.asarray(z, dtype=np.float64)
        reach = 5.0 * float(self.scales[0])
        grid = np.linspace(float(shown.min()) - reach, float(shown.max()) + reach, 4001)
        step = grid[1] - grid[0]
        values = h(grid)
        measured = (values[2:] - 2.0 * values[1:-1] + values[:-2]) / step**2
        claimed = second_derivative(grid[1:-1])
        if not np.all(np.abs(measured - claimed) <= 0.05 * (1.0 + np.abs(claimed).max())):
            raise ParameterError(_SMOOTH, field="mechanism")
        return self.invert(h(shown), second_derivative(shown))


_SMOOTH = (
    "Undoing added Laplace noise needs twice differentiable functions of the private column; trimmed or stepped ones "
    "do not qualify."
)


@dataclass(frozen=True)
class GaussianAddition(Mechanism):
    """Add normal noise to a number; undone only for polynomials, anything else is ill-posed (section 10.5).

    Parameters
    ----------
    std : float
        Standard deviation of the noise, > 0.
    width : float
        Public width of the column; infinite if there is none.
    """

    std: float
    width: float = math.inf

    def __post_init__(self) -> None:
        if not (math.isfinite(self.std) and self.std > 0):
            raise ParameterError(
                f"The standard deviation of normal noise must be above 0; it is {self.std:g}.", field="std"
            )
        if not self.width > 0:
            raise ParameterError("The public range of the private column must be wider than 0.", field="range")

    def privatise(self, x: ArrayLike, rng: np.random.Generator) -> FloatArray:
        """Add independent normal noise."""
        values = np.asarray(x, dtype=np.float64)
        return np.asarray(values + self.std * rng.standard_normal(values.shape))

    def ltv(self) -> float:
        """2Φ(range/(2·std)) - 1; 1 without a public range."""
        return math.erf(self.width / (2.0 * math.sqrt(2.0) * self.std))

    def ldp_epsilon(self) -> float:
        """Infinite: normal noise has no pure level."""
        return math.inf

    def ldp_delta(self, epsilon: float) -> float:
        """Exact slack of normal noise at ε."""
        check_epsilon(epsilon)
        return 1.0 if math.isinf(self.width) else gaussian_delta(self.std, self.width, epsilon)

    def invert(self, h: ArrayLike, other: ArrayLike) -> FloatArray:
        """Refuse (UnsupportedCombination): no stable inverse for general functions."""
        raise UnsupportedCombination(
            "Added normal noise can be undone for polynomials only; choose a mechanism that keeps the value with a "
            "known probability.",
            field="mechanism",
        )

    def invert_polynomial(self, coefficients: ArrayLike) -> FloatArray:
        """Coefficients of Q⁻¹p, Σ_k (-std²/2)^k p^(2k)/k!, for a polynomial p given in increasing powers (derived)."""
        given = np.atleast_1d(np.asarray(coefficients, dtype=np.float64))
        out, term = given.copy(), given
        for k in range(1, (given.size + 1) // 2 + 1):
            if term.size <= 2:
                break
            term = np.polynomial.polynomial.polyder(term, 2) * (-(self.std**2) / 2.0) / k
            out[: term.size] += term
        return out


# --- conversions ------------------------------------------------------------------------------------------------


def ltv_of_ldp(epsilon: float, delta: float = 0.0, rule: Rule = "tight") -> float:
    """Total-variation level that (ε, δ)-local privacy promises, at most 1 (Lem 6 printed; tight: derived, E2).

    Examples
    --------
    >>> round(ltv_of_ldp(1.0, 0.05), 12)
    0.489011299397
    """
    return approx_to_total_variation(epsilon, delta, rule)


def ldp_delta_of_ltv(level: float, epsilon: float = 0.0) -> float:
    """δ at any ε that a total-variation level promises: the level itself (Lem 6)."""
    return total_variation_to_approx(level, epsilon)


def keep_probability_for_epsilon(levels: int, epsilon: float) -> float:
    """Keep probability of k-ary randomised response, (e^ε - 1)/(e^ε + J - 1).

    Raises
    ------
    ParameterError
        If ε is not a finite number above 0, or there are fewer than two categories.
    """
    count = whole_number(levels, "The number of categories", "levels", least=2)
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise ParameterError(
            f"ε must be a finite number above 0; it is {epsilon:g}. At 0 the shown value says nothing and cannot be "
            "undone.",
            field="epsilon",
        )
    return response_keep_probability(float(epsilon), count)


def epsilon_for_keep_probability(levels: int, keep_probability: float) -> float:
    """ε of k-ary randomised response with this keep probability, ln(1 + J·a/(1 - a)); infinite at 1."""
    count = whole_number(levels, "The number of categories", "levels", least=2)
    keep = check_keep_probability(keep_probability)
    return math.inf if keep == 1.0 else epsilon_of_keep_probability(keep, count)


# --- what a shown value says (Lem 4) ----------------------------------------------------------------------------


def posterior_kept(mechanism: AlphaIdentity, p_vx: ArrayLike) -> FloatArray:
    """P(value was kept | v, shown z) = a·p(v, z)/p_VZ(v, z) (Lem 4(v), (vii)).

    Parameters
    ----------
    mechanism : AlphaIdentity
        With noise over J categories.
    p_vx : (..., J) array_like
        Probabilities of the private categories: ``p_x`` itself (then v is nothing), or the joint table.

    Returns
    -------
    (..., J) float array
        NaN where a shown value cannot occur.
    """
    table = np.asarray(p_vx, dtype=np.float64)
    return _share(mechanism.keep_probability * table, _shown(mechanism.finite(), table))


def posterior_true(mechanism: AlphaIdentity | FiniteMechanism, p_vx: ArrayLike) -> FloatArray:
    """P(true value is z | v, shown z) = Q[z, z]·p(v, z)/p_VZ(v, z), shape (..., J); noise may hit the truth."""
    matrix, table = mechanism.finite().matrix, np.asarray(p_vx, dtype=np.float64)
    return _share(np.diagonal(matrix) * table, _shown(mechanism.finite(), table))


def posterior(mechanism: AlphaIdentity | FiniteMechanism, p_vx: ArrayLike) -> FloatArray:
    """P(true value is x | v, shown z), shape (..., z, x) (Lem 4(v), (vii))."""
    matrix, table = mechanism.finite().matrix, np.asarray(p_vx, dtype=np.float64)
    return _share(matrix * table[..., None, :], _shown(mechanism.finite(), table)[..., None])


def _shown(mechanism: FiniteMechanism, table: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("zx,...x->...z", mechanism.matrix, table))


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    out = np.full(np.broadcast_shapes(part.shape, whole.shape), np.nan)
    return np.asarray(np.divide(part, whole, out=out, where=whole > 0), dtype=np.float64)


# --- kernels (section 10.5) -------------------------------------------------------------------------------------


def laplace_hilbert_schmidt(scale: float, half_width: float) -> float:
    """∬q² of Laplace noise with this scale on [-L, L]: L/(2b) - (1 - e^(-4L/b))/8 (derived); grows without bound in L.

    Examples
    --------
    >>> round(laplace_hilbert_schmidt(0.7, 3.0), 7)
    2.0178571
    """
    if not (scale > 0 and half_width > 0):
        raise ParameterError("Noise scale and range must be above 0.", field="scale")
    return half_width / (2.0 * scale) + math.expm1(-4.0 * half_width / scale) / 8.0


def kernel_matrix(mechanism: Mechanism, low: float, high: float, points: int = 200) -> FloatArray:
    """Mechanism on a grid of midpoints of [low, high]: ``matrix[z, x]``, noise mass off the grid left out.

    For added noise: density times the width of a cell. For a mechanism that keeps the value: a on the diagonal plus
    (1 - a) times the noise mass of each cell (scaled to one).
    """
    if not low < high:
        raise ParameterError("The range needs a lower end below its upper end.", field="range")
    count = whole_number(points, "The number of grid points", "points", least=2)
    cell = (high - low) / count
    grid = low + cell * (np.arange(count) + 0.5)
    gap = grid[:, None] - grid[None, :]
    if isinstance(mechanism, LaplaceAddition):
        scale = float(mechanism.scales[0])
        return np.asarray(np.exp(-np.abs(gap) / scale) * (cell / (2.0 * scale)))
    if isinstance(mechanism, GaussianAddition):
        return GaussianNoise(0.0, mechanism.std).density(gap) * cell
    if isinstance(mechanism, AlphaIdentity):
        mass = mechanism.noise.density(grid)
        mass = mass / mass.sum()
        keep = mechanism.keep_probability
        return np.asarray(keep * np.eye(count) + (1.0 - keep) * mass[:, None] * np.ones(count))
    raise UnsupportedCombination("A finite mechanism has a matrix of its own.", field="mechanism")


def kernel_singular_values(mechanism: Mechanism, low: float, high: float, points: int = 200) -> FloatArray:
    """Singular values of the mechanism on a grid, falling; they tend to 0 for every noise with a density (E22)."""
    return np.asarray(np.linalg.svd(kernel_matrix(mechanism, low, high, points), compute_uv=False))


def kernel_eigenvalues(mechanism: AlphaIdentity | FiniteMechanism, points: int = 200) -> FloatArray:
    """Moduli of the eigenvalues, falling: 1 and then the keep probability throughout, for every noise law."""
    if isinstance(mechanism, FiniteMechanism):
        return np.sort(np.abs(np.linalg.eigvals(mechanism.matrix)))[::-1]
    count = mechanism.noise.levels if isinstance(mechanism.noise, FiniteNoise) else points
    return np.concatenate([[1.0], np.full(count - 1, mechanism.keep_probability)])


def mixed_noise(*parts: NoiseLaw | Sequence[float]) -> MixedNoise:
    """Mixed noise from laws, or from lists of probabilities for columns of categories."""
    laws = [part if isinstance(part, NoiseLaw) else FiniteNoise(np.asarray(part, dtype=np.float64)) for part in parts]
    return MixedNoise(tuple(laws))


__all__ = [
    "AlphaIdentity",
    "EmpiricalNoise",
    "FiniteMechanism",
    "FiniteNoise",
    "GaussianAddition",
    "GaussianNoise",
    "LaplaceAddition",
    "Mechanism",
    "MixedNoise",
    "NoiseLaw",
    "RandomisedResponse",
    "UniformNoise",
    "Values",
    "check_codes",
    "check_keep_probability",
    "checked_matrix",
    "epsilon_for_keep_probability",
    "keep_probability_for_epsilon",
    "kernel_eigenvalues",
    "kernel_matrix",
    "kernel_singular_values",
    "laplace_hilbert_schmidt",
    "ldp_delta_of_ltv",
    "ltv_of_ldp",
    "mixed_noise",
    "posterior",
    "posterior_kept",
    "posterior_true",
    "uniform_levels",
]
