"""Private orthogonal series for a regression, a density and a representer (Ex. 12 and 13, (25); spec 1.8)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.causal._sums import einsum
from privexplorer.causal.bases import Basis
from privexplorer.causal.continuous_laws import CurveLaw
from privexplorer.causal.counts import outcome_column
from privexplorer.causal.kernel import ErrorParts
from privexplorer.causal.laws import Points
from privexplorer.causal.mechanisms import AlphaIdentity, Mechanism
from privexplorer.causal.moments import private_design, signed_nodes
from privexplorer.causal.targets import Target
from privexplorer.errors import DataError, ParameterError

Curve = Callable[[FloatArray], FloatArray]
_DENSITY_FLOOR = 0.05


@dataclass(frozen=True, eq=False)
class SeriesFit:
    """A private orthogonal series.

    Parameters
    ----------
    basis : Basis
        Orthonormal functions.
    coefficients : (J,) array
        Private averages.
    covariance : (J, J) array
        Their estimated covariance (with the density taken as known).
    """

    basis: Basis
    coefficients: FloatArray
    covariance: FloatArray

    @property
    def std_error(self) -> FloatArray:
        """Standard errors of the coefficients, (J,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def at(self, x: ArrayLike) -> FloatArray:
        """Return the series at x, (n,)."""
        return einsum("nk,k->n", self.basis.evaluate(x), self.coefficients)

    def std_error_at(self, x: ArrayLike) -> FloatArray:
        """Return the pointwise standard error at x (without truncation bias), (n,)."""
        functions = self.basis.evaluate(x)
        return np.asarray(np.sqrt(einsum("ni,ij,nj->n", functions, self.covariance, functions)))


def series_regression(
    mechanism: Mechanism, z: ArrayLike, response: ArrayLike, basis: Basis, density: Curve
) -> SeriesFit:
    """Fit E[m | X] by private averages of m φ_j / p (Ex. 12).

    Parameters
    ----------
    mechanism : Mechanism
        An α-identity or a finite mechanism.
    z, response : (n,) array
        Released values and the regressed variable.
    basis : Basis
        Functions that are orthonormal for some measure ν.
    density : callable
        Density of X with respect to ν, known or estimated; above 0 at the released values and where the noise lands.

    Returns
    -------
    SeriesFit
        Coefficients P_n Q⁻¹[m φ_j / p] and their covariance.

    Raises
    ------
    ParameterError
        If the density is not above 0 somewhere it is needed.
    """
    released = np.asarray(z, dtype=np.float64)
    y = outcome_column(response)
    if y.shape != released.shape[:1]:
        raise DataError(f"There are {len(released)} released values, but the outcome has {y.size}.")
    design = private_design(mechanism, released, basis)
    nodes = signed_nodes(mechanism, released).points
    scores = design.record_moments(y, 1 / _above_zero(density, released), 1 / _above_zero(density, nodes))
    return _from_scores(basis, scores)


def series_density(mechanism: Mechanism, z: ArrayLike, basis: Basis) -> SeriesFit:
    """Estimate the density of X with respect to ν by the private series Σ_j P_n Q⁻¹[φ_j] φ_j.

    Parameters
    ----------
    mechanism : Mechanism
        An α-identity or a finite mechanism.
    z : (n,) array
        Released values.
    basis : Basis
        Functions that are orthonormal for ν.

    Returns
    -------
    SeriesFit
        The density; it may be negative somewhere (see :func:`floored`).
    """
    design = private_design(mechanism, z, basis)
    return _from_scores(basis, design.record_moments())


def floored(density: Curve, grid: ArrayLike, share: float = _DENSITY_FLOOR) -> Curve:
    """Return a density that does not fall below a share of its largest value on a grid.

    Parameters
    ----------
    density : callable
        Estimated density.
    grid : (G,) array
        Public points on which the largest value is sought.
    share : float
        In (0, 1).

    Returns
    -------
    callable
        The floored density.
    """
    least = share * float(np.max(density(np.asarray(grid, dtype=np.float64))))
    if least <= 0:
        raise DataError("The estimated density is nowhere above 0; use fewer functions or more records.")
    return lambda x: np.maximum(density(x), least)


@dataclass(frozen=True, eq=False)
class SeriesRepresenter:
    """A representer as one private series for each arm.

    Parameters
    ----------
    arms : tuple of SeriesFit
        r(0, ·) and r(1, ·); a single series if the regression does not depend on the treatment.
    """

    arms: tuple[SeriesFit, ...]

    def at(self, d: ArrayLike, x: ArrayLike) -> FloatArray:
        """Return r(d, x), (n,)."""
        if len(self.arms) == 1:
            return self.arms[0].at(x)
        return np.where(np.asarray(d) == 1, self.arms[1].at(x), self.arms[0].at(x))


def series_representer(
    mechanism: Mechanism,
    z: ArrayLike,
    d: IntArray,
    target: Target,
    basis: Basis,
    densities: Sequence[Curve],
    *,
    gamma: float = math.nan,
) -> SeriesRepresenter:
    """Fit a representer from its functional alone: coefficients P_n Q⁻¹[f(·, φ_j / p, γ)] (Ex. 13).

    Parameters
    ----------
    mechanism : Mechanism
        An α-identity or a finite mechanism.
    z, d : (n,) array
        Released values and treatment in {0, 1}.
    target : Target
        The functional; only its integrand is used.
    basis : Basis
        Functions of x that are orthonormal for ν.
    densities : sequence of callable
        Densities p(0, ·) and p(1, ·) of (D, X) with respect to ν (they add up to that of X), or the one of X alone if
        the regression does not depend on the treatment.
    gamma : float
        The low-dimensional regression, such as P(D = 1) for targets among the treated.

    Returns
    -------
    SeriesRepresenter
        One series per density.

    Raises
    ------
    ParameterError
        If there are not one or two densities, or one is not above 0 where it is needed.
    """
    if len(densities) not in (1, 2):
        raise ParameterError("The representer needs one density, or one for each of the two arms.")
    released, arm = np.asarray(z, dtype=np.float64), np.asarray(d)
    nodes = signed_nodes(mechanism, released)
    design = private_design(mechanism, released, basis)
    here = Points(x=released, d=arm)
    there = Points(x=nodes.points[None, :], d=arm[:, None])
    fits = []
    for index, density in enumerate(densities):
        columns = []
        for j in range(basis.size):
            only = None if len(densities) == 1 else index
            ratio = _arm_function(basis, j, density, only)
            at_nodes = np.broadcast_to(target.integrand(ratio, there, gamma), (len(arm), len(nodes.points)))
            at_records = np.broadcast_to(target.integrand(ratio, here, gamma), arm.shape)
            columns.append(design.invert(np.asarray(at_records), np.asarray(at_nodes)))
        fits.append(_from_scores(basis, np.stack(columns, axis=1)))
    return SeriesRepresenter(tuple(fits))


def _arm_function(basis: Basis, j: int, density: Curve, only: int | None) -> Callable[[Points], FloatArray]:
    def ratio(points: Points) -> FloatArray:
        x = np.asarray(points.x, dtype=np.float64)
        flat = x.ravel()
        values = (basis.evaluate(flat)[:, j] / _above_zero(density, flat)).reshape(x.shape)
        return values if only is None else values * (np.asarray(points.d) == only)

    return ratio


def _from_scores(basis: Basis, scores: FloatArray) -> SeriesFit:
    mean = scores.mean(axis=0)
    centred = scores - mean
    covariance = einsum("ni,nj->ij", centred, centred) / len(scores) ** 2
    return SeriesFit(basis, mean, covariance)


def _above_zero(density: Curve, x: FloatArray) -> FloatArray:
    values = np.asarray(density(x), dtype=np.float64)
    if not (values > 0).all():
        raise ParameterError(
            "The density must be above 0 at every released value and wherever the noise lands; floor it first."
        )
    return values


# ---------------------------------------------------------------- theory


@dataclass(frozen=True)
class SeriesRates:
    """Rates of Ex. 12: squared error n^(-rate) with n^(size) functions, up to logarithms ((25); E21).

    Parameters
    ----------
    known_rate, known_size : float
        With a known design.
    rate, size : float
        With a density estimated at squared error (log n / n)^(2a).
    """

    known_rate: float
    known_size: float
    rate: float
    size: float


def series_rates(smoothness: float, density_exponent: float) -> SeriesRates:
    """Return the rate exponents of the private orthogonal series (Ex. 12).

    Parameters
    ----------
    smoothness : float
        Sobolev smoothness β, above 0.
    density_exponent : float
        a in (0, 1/2]: the density is estimated at rate (log n / n)^a in the largest deviation. At 1/2 only a
        logarithm is lost; below, the exponents are multiplied by 2a.

    Returns
    -------
    SeriesRates
        The four exponents.

    Examples
    --------
    >>> series_rates(2, 0.25)
    SeriesRates(known_rate=0.8, known_size=0.2, rate=0.4, size=0.1)
    """
    if not smoothness > 0:
        raise ParameterError(f"The smoothness must be above 0; it is {smoothness:g}.")
    if not 0 < density_exponent <= 0.5:
        raise ParameterError(f"The rate of the density must be above 0 and at most 0.5; it is {density_exponent:g}.")
    rate, size = 2 * smoothness / (2 * smoothness + 1), 1 / (2 * smoothness + 1)
    return SeriesRates(rate, size, 2 * density_exponent * rate, 2 * density_exponent * size)


def series_error_parts(
    law: CurveLaw, mechanism: AlphaIdentity, n: int, basis: Basis, density_basis: Basis | None = None
) -> ErrorParts:
    """Return the three parts of Prop. 3 for the orthogonal series on a known law (Ex. 12; derived).

    Parameters
    ----------
    law : CurveLaw
        The truth; its density must be bounded below (a peak below 1).
    mechanism : AlphaIdentity
        Noise and keep probability.
    n : int
        Number of records.
    basis : Basis
        Functions on [-1, 1], orthonormal for length.
    density_basis : Basis, optional
        Functions of the density estimate; a known density if left out.

    Returns
    -------
    ErrorParts
        Parts integrated over the law of X.
    """
    x, mass, mu = law.table()
    functions, density = basis.evaluate(x), law.density(x)
    length = mass / density

    def ratios(at: FloatArray) -> FloatArray:
        return basis.evaluate(at) / law.density(at)[:, None]

    gram = einsum("m,mi,mj->ij", mass, functions, functions)
    coefficients, covariance = law.linear_covariance(ratios, mechanism)
    variance = float(einsum("ij,ij->", gram, covariance)) / n
    bias = float(np.sum(mass * (einsum("mk,k->m", functions, coefficients) - mu) ** 2))
    if density_basis is None:
        return ErrorParts(variance, bias, 0.0)
    others = density_basis.evaluate(x)
    means, spread = law.linear_covariance(density_basis.evaluate, mechanism, with_outcome=False)
    weight = length * mu / density
    carry = einsum("m,mi,ml->il", weight, functions, others)
    missing = einsum("m,mi->i", weight * (einsum("ml,l->m", others, means) - density), functions)
    random = einsum("ij,il,lk,jk->", gram, carry, spread, carry) / n
    return ErrorParts(variance, bias, float(random + einsum("i,ij,j->", missing, gram, missing)))


def inverse_variance_bounds(mechanism: AlphaIdentity) -> tuple[float, float]:
    """Return the factors c in Var(Q⁻¹h) ≤ c · E h(V, Z)²: ours and the source's (Prop. 3, (12); E8).

    Parameters
    ----------
    mechanism : AlphaIdentity
        Keep probability a.

    Returns
    -------
    tight, printed : float
        2(2 - a)/a² and 4/a². The display of Ex. 12 drops the factor altogether, which fails.
    """
    keep = mechanism.keep_probability
    return 2 * (2 - keep) / keep**2, 4 / keep**2


__all__ = [
    "SeriesFit",
    "SeriesRates",
    "SeriesRepresenter",
    "floored",
    "inverse_variance_bounds",
    "series_density",
    "series_error_parts",
    "series_rates",
    "series_regression",
    "series_representer",
]
