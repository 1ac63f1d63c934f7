"""Averages of a regression along shifts, rays and lines, and averages with a known weight (Ex. 4 to Ex. 8).

Values from both sides of the Riesz identity E f(μ) = E r μ, the representers themselves, the conditions under which
they exist (E11), and estimates from data whose column was noised. Paths are integrated by Gauss-Legendre in t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import BoolArray, FloatArray
from privexplorer.causal.bases import Basis, BSpline, Legendre, OneHot
from privexplorer.causal.counts import outcome_column
from privexplorer.causal.crossfit import fold_labels
from privexplorer.causal.estimate import Estimate
from privexplorer.causal.laws import Points
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    FiniteNoise,
    LaplaceAddition,
    Mechanism,
    NoiseLaw,
)
from privexplorer.causal.moments import (
    PrivateDesign,
    SignedNodes,
    check_basis_size,
    private_design,
    private_least_squares,
    riesz_regression,
    signed_nodes,
)
from privexplorer.causal.targets import (
    PATH_NODES,
    AverageDerivative,
    LineIntegral,
    RayIntegral,
    Target,
    WeightedAverage,
)
from privexplorer.causal.theory import Decomposition, small_sample_guard
from privexplorer.errors import ParameterError, UnsupportedCombination

Function = Callable[[FloatArray], FloatArray]

_RADIUS_NODES = 96
_REACH = 12.0
"""Radial integrals run to this many standard deviations: what lies beyond has mass below 1e-31."""


@lru_cache(maxsize=32)
def _legendre(size: int) -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.legendre.leggauss(size)
    return points, weights


def path_nodes(low: float = 0.0, high: float = 1.0, size: int = PATH_NODES) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights on an interval.

    Parameters
    ----------
    low, high : float
        Ends, ``low < high``.
    size : int
        Number of nodes; exact for polynomials of degree 2 size - 1.

    Returns
    -------
    points, weights : (size,) arrays
        Weights sum to ``high - low``.

    Examples
    --------
    >>> t, share = path_nodes(0.0, 2.0, 4)
    >>> round(float((share * t**3).sum()), 12)
    4.0
    """
    points, weights = _legendre(size)
    half = 0.5 * (high - low)
    return low + half * (points + 1.0), half * weights


# --- the average approximate derivative (Ex. 4) ---------------------------------------------------------------


@dataclass(frozen=True)
class ShiftCheck:
    """Whether the average derivative with a given step is well defined for a law of X (Ex. 4, E11).

    Attributes
    ----------
    second_moment : float
        b = ∫ p(x - step)² / p(x) dx; infinite where the representer is not square integrable.
    largest_ratio : float
        sup of p(x - step) / p(x), the stronger condition behind (56); infinite for a Gaussian.
    sentence : str
        The verdict for a reader.
    """

    second_moment: float
    largest_ratio: float
    sentence: str

    @property
    def holds(self) -> bool:
        """Whether the functional is continuous, so that it has a representer."""
        return math.isfinite(self.second_moment)

    @property
    def bounded(self) -> bool:
        """Whether also the ratio of the densities is bounded."""
        return math.isfinite(self.largest_ratio)

    def require(self) -> None:
        """Raise UnsupportedCombination with the verdict unless the functional is continuous."""
        if not self.holds:
            raise UnsupportedCombination(self.sentence, field="step")


_SHIFT_FINE = "The shifted law is dominated by the law of X with a bounded ratio, so the average derivative is regular."
_SHIFT_WIDE = (
    "The average derivative has a finite variance, but the ratio of the shifted to the unshifted density is not "
    "bounded, so a uniformly good fit of the representer is not guaranteed."
)
_SHIFT_BAD = (
    "The shifted law must be dominated by the law of X, which a range with an upper end never allows; weight the "
    "interior instead, as an average with a known weight."
)
_SHIFT_TAIL = (
    "The shifted law must be dominated by the law of X: here its tail is so light that the weights have no finite "
    "variance; take a smaller step or an average with a known weight."
)


def _check_step(step: float) -> None:
    if not (math.isfinite(step) and step > 0):
        raise ParameterError(
            f"The step of the average derivative must be a positive number; it is {step:g}.", field="step"
        )


def _positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if not (math.isfinite(number) and number > 0):
            words = name.replace("_", " ")
            raise ParameterError(f"The {words} must be a positive number; it is {number:g}.", field=name)


def _shift_verdict(second_moment: float, largest_ratio: float, *, ends: bool) -> ShiftCheck:
    if not math.isfinite(second_moment):
        return ShiftCheck(math.inf, largest_ratio, _SHIFT_BAD if ends else _SHIFT_TAIL)
    return ShiftCheck(second_moment, largest_ratio, _SHIFT_FINE if math.isfinite(largest_ratio) else _SHIFT_WIDE)


def shift_check_gaussian(step: float, std: float) -> ShiftCheck:
    """Return the verdict for X ~ N(·, std²): b = exp(step²/std²), the ratio is not bounded (E11).

    Examples
    --------
    >>> found = shift_check_gaussian(0.5, 1.0)
    >>> round(found.second_moment, 4), found.holds, found.bounded
    (1.284, True, False)
    """
    _check_step(step)
    _positive(standard_deviation=std)
    return _shift_verdict(math.exp((step / std) ** 2), math.inf, ends=False)


def shift_check_laplace(step: float, scale: float) -> ShiftCheck:
    """Return the verdict for X with a Laplace law: the ratio is at most exp(step/scale) (E11).

    b = (2/3) exp(step/scale) + (1/3) exp(-2 step/scale) (derived, checked in
    tests/unit/causal/test_causal_geometric.py).

    Examples
    --------
    >>> round(shift_check_laplace(0.5, 1.0).largest_ratio, 6) == round(math.exp(0.5), 6)
    True
    """
    _check_step(step)
    _positive(scale=scale)
    u = step / scale
    return _shift_verdict((2 * math.exp(u) + math.exp(-2 * u)) / 3, math.exp(u), ends=False)


def shift_check(
    log_density: Function,
    step: float,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    centre: float = 0.0,
    scale: float = 1.0,
    reach: float = 60.0,
) -> ShiftCheck:
    """Judge the average derivative for any law of a numeric X (Ex. 4, E11).

    Parameters
    ----------
    log_density : callable
        Logarithm of the density of X on its support, vectorised.
    step : float
        Positive step of the difference.
    low, high : float
        Ends of the support. A finite ``high`` is refused for every step: mass is shifted where X has none.
    centre, scale, reach : float
        On an unbounded side the integral runs to ``centre`` ± ``reach`` · ``scale``. What has not died out by then, or
        still grows there, counts as infinite; the sums are trapezoids on 200,001 points.

    Returns
    -------
    ShiftCheck
        Numbers and sentence.

    Raises
    ------
    ParameterError
        If the step is not positive or the support is empty.

    Examples
    --------
    >>> uniform = shift_check(lambda x: np.zeros_like(x), 0.2, low=0.0, high=1.0)
    >>> uniform.holds
    False
    """
    _check_step(step)
    _positive(scale=scale, reach=reach)
    if not low < high:
        raise ParameterError(f"The range of X must not be empty; it runs from {low:g} to {high:g}.", field="high")
    if math.isfinite(high):
        return _shift_verdict(math.inf, math.inf, ends=True)
    begin = low + step if math.isfinite(low) else centre - reach * scale
    end = centre + reach * scale
    x = np.linspace(begin, end, 200_001)
    shifted, here = log_density(x - step), log_density(x)
    log_ratio = shifted - here
    log_square = 2 * shifted - here
    with np.errstate(over="ignore"):
        square = np.exp(log_square)
    second = float(np.trapezoid(square, x))
    open_ends = [-1] if math.isfinite(low) else [0, -1]
    cut_off = any(square[i] > 1e-9 * second for i in open_ends)
    if not math.isfinite(second) or (cut_off and _heavy(log_square, open_ends, x)):
        second = math.inf
    tenth = len(x) // 10
    grows = log_ratio[-1] - log_ratio[-tenth] > 1e-3 and log_ratio[-1] >= log_ratio.max() - 1e-12
    largest = math.inf if grows or log_ratio.max() > 700 else float(np.exp(log_ratio.max()))
    return _shift_verdict(second, largest, ends=False)


def _heavy(log_square: FloatArray, ends: list[int], x: FloatArray) -> bool:
    """Whether the integrand falls more slowly than 1/|x| at an open end of the grid."""
    for i in ends:
        j = i + len(x) // 10 if i == 0 else i - len(x) // 10
        span = math.log(abs(x[i] - x[len(x) // 2]) / abs(x[j] - x[len(x) // 2]))
        if (log_square[i] - log_square[j]) / span > -1.0:
            return True
    return False


def average_derivative(regression: Function, step: float, points: FloatArray, weights: FloatArray) -> float:
    """Return E[{μ(X + step) - μ(X)}/step] over a law given by nodes (Ex. 4).

    Parameters
    ----------
    regression : callable
        μ, vectorised.
    step : float
        Positive step.
    points, weights : (M,) arrays
        Nodes of the law of X; the weights sum to 1.

    Examples
    --------
    >>> x, share = path_nodes()
    >>> round(average_derivative(lambda v: v**2, 0.2, x, share), 12)
    1.2
    """
    _check_step(step)
    return float(np.sum(weights * (regression(points + step) - regression(points))) / step)


def average_derivative_representer(density: Function, step: float) -> Function:
    """Return r(x) = {p(x - step) - p(x)} / {step · p(x)}, with r = 0 where X has no density (Ex. 4).

    On a bounded range this is no representer (E11); ``shift_check`` says so.

    Examples
    --------
    >>> r = average_derivative_representer(lambda x: np.exp(-0.5 * x**2), 0.5)
    >>> round(float(r(np.array([0.7]))[0]), 9)
    0.504645432
    """
    target = AverageDerivative(step)

    def representer(x: FloatArray) -> FloatArray:
        inside = np.asarray(density(x)) > 0
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(inside, target.representer(density, x), 0.0)

    return representer


# --- rays and lines (Ex. 5, Ex. 6) ------------------------------------------------------------------------------


def _as_points(x: FloatArray) -> FloatArray:
    x = np.asarray(x, dtype=float)
    return x[:, None] if x.ndim == 1 else x


def ray_integral(regression: Function, ends: FloatArray, low: float, high: float) -> FloatArray:
    """Return ∫ μ(t w) ‖w‖ dt from ``low`` to ``high`` for every w (Ex. 5).

    Parameters
    ----------
    regression : callable
        μ: takes points of shape (m, d), or (m,) when ``ends`` has shape (n,), and returns (m,).
    ends : (n,) or (n, d) array
        The public vectors w.
    low, high : float
        0 < low < high, in units of ‖w‖; 32 Gauss-Legendre nodes in between.

    Returns
    -------
    (n,) array

    Raises
    ------
    ParameterError
        If not 0 < low < high.

    Examples
    --------
    >>> float(ray_integral(lambda x: x**2, np.array([2.0]), 0.5, 1.0)[0].round(12))
    2.333333333333
    """
    _check_ray(low, high)
    return _integrand(RayIntegral(low, high), regression, ends)


def _integrand(target: Target, regression: Function, public: FloatArray) -> FloatArray:
    """Evaluate f(·, μ) of a target that reads only public columns."""
    points = Points(x=np.zeros(0), w=public)
    return np.asarray(target.integrand(_at_x(regression), points), dtype=float)


def _check_ray(low: float, high: float) -> None:
    if not (math.isfinite(high) and 0 < low < high):
        raise ParameterError(
            f"A ray must run from a positive number to a larger one; it runs from {low:g} to {high:g}.", field="high"
        )


def line_integral(regression: Function, begin: FloatArray, end: FloatArray) -> FloatArray:
    """Return ∫ μ((1 - t) begin + t end) ‖end - begin‖ dt over [0, 1] for every pair (Ex. 6).

    Parameters
    ----------
    regression : callable
        μ, as in ``ray_integral``.
    begin, end : (n,) or (n, d) arrays
        The two public ends; 32 Gauss-Legendre nodes in between.

    Examples
    --------
    >>> float(line_integral(lambda x: x**2, np.array([0.0]), np.array([3.0]))[0].round(12))
    9.0
    """
    return _integrand(LineIntegral(), regression, np.stack([begin, end], axis=1))


def curve_integral(regression: Function, controls: FloatArray, *, size: int = PATH_NODES) -> FloatArray:
    """Return ∫ μ(B(t)) ‖B'(t)‖ dt along Bézier curves (end of Ex. 6).

    Parameters
    ----------
    regression : callable
        μ, as in ``ray_integral``.
    controls : (n, m, d) array
        Control points, m ≥ 2; m = 2 is the straight line.
    size : int
        Number of Gauss-Legendre nodes in t. A curve whose speed vanishes converges slowly.

    Returns
    -------
    (n,) array

    Raises
    ------
    ParameterError
        If there are fewer than two control points.
    """
    degree = controls.shape[1] - 1
    if degree < 1:
        raise ParameterError("A curve needs at least two control points.", field="controls")
    t, weights = path_nodes(0.0, 1.0, size)
    points = np.einsum("tm,nmd->tnd", _bernstein(t, degree), controls)
    speed = degree * np.einsum("tm,nmd->tnd", _bernstein(t, degree - 1), np.diff(controls, axis=1))
    length = np.sqrt(np.sum(speed**2, axis=-1))
    values = regression(points.reshape(-1, points.shape[-1])).reshape(length.shape)
    return np.asarray(np.sum(weights[:, None] * values * length, axis=0))


def _bernstein(t: FloatArray, degree: int) -> FloatArray:
    return np.column_stack([math.comb(degree, k) * t**k * (1 - t) ** (degree - k) for k in range(degree + 1)])


def _norm(vectors: FloatArray) -> FloatArray:
    return np.abs(vectors) if vectors.ndim == 1 else np.asarray(np.sqrt(np.sum(vectors**2, axis=1)))


def ray_representer(
    path_density: Function, x_density: Function, low: float, high: float, *, size: int = 4 * PATH_NODES
) -> Function:
    """Return r(x) = ‖x‖/p_X(x) ∫ p_W(x/t) t^(-d-1) dt (Ex. 5).

    Parameters
    ----------
    path_density, x_density : callable
        Densities of the public W and of X: points (m, d) to (m,).
    low, high : float
        0 < low < high.
    size : int
        Number of Gauss-Legendre nodes in log t.

    Returns
    -------
    callable
        Points (m, d) or (m,) to (m,).
    """
    _check_ray(low, high)
    log_t, weights = path_nodes(math.log(low), math.log(high), size)
    t = np.exp(log_t)

    def representer(x: FloatArray) -> FloatArray:
        points = _as_points(x)
        dimension = points.shape[1]
        scaled = (points / t[:, None, None]).reshape(-1, dimension)
        inner = np.asarray(path_density(scaled), dtype=float).reshape(size, -1)
        integral = np.sum((weights * t ** (-dimension))[:, None] * inner, axis=0)
        return np.asarray(_norm(points) * integral / x_density(points))

    return representer


def _gaussian_density(std: float) -> Function:
    def density(x: FloatArray) -> FloatArray:
        points = _as_points(x)
        dimension = points.shape[1]
        square = np.sum(points**2, axis=1) / std**2
        return np.asarray(np.exp(-0.5 * square) / (math.sqrt(2 * math.pi) * std) ** dimension)

    return density


def _polar(dimension: int, std: float, radius_nodes: int, angles: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of N(0, std² I) in polar coordinates; good for functions kinked at 0."""
    radius, share = path_nodes(0.0, _REACH * std, radius_nodes)
    share = share * np.exp(-0.5 * (radius / std) ** 2)
    if dimension == 1:
        share = share / (math.sqrt(2 * math.pi) * std)
        return np.concatenate([-radius, radius])[:, None], np.concatenate([share, share])
    share = share * radius / std**2
    phi = 2 * math.pi * (np.arange(angles) + 0.5) / angles
    points = radius[:, None, None] * np.stack([np.cos(phi), np.sin(phi)], axis=1)
    return points.reshape(-1, 2), np.repeat(share / angles, angles)


def _check_plane(dimension: int) -> None:
    if dimension not in (1, 2):
        raise ParameterError(f"Values are computed in one or two dimensions; there are {dimension}.", field="dimension")


def _pointwise(regression: Function, dimension: int) -> Function:
    """Let a regression of one variable take (m,) whatever the shape of the points."""
    return (lambda x: regression(x[:, 0])) if dimension == 1 else regression


@dataclass(frozen=True)
class GaussianRay:
    """Ray integrals with W ~ N(0, path_std² I) and X ~ N(0, x_std² I), in closed or quadrature form (Ex. 5).

    Attributes
    ----------
    dimension : int
        1 or 2.
    path_std, x_std : float
        Standard deviations of each coordinate of W and of X.
    low, high : float
        The ray runs over t in [low, high], 0 < low < high.

    Notes
    -----
    In one dimension regressions take arrays of shape (m,), in two (m, 2).

    Examples
    --------
    >>> ray = GaussianRay(2, 1.0, 1.3, 0.2, 1.5)
    >>> round(ray.value(lambda x: np.sum(x**2, axis=1)), 8)
    4.2199087
    """

    dimension: int = 2
    path_std: float = 1.0
    x_std: float = 1.3
    low: float = 0.2
    high: float = 1.5

    def __post_init__(self) -> None:
        _check_plane(self.dimension)
        _positive(standard_deviation_of_the_ray=self.path_std, standard_deviation_of_x=self.x_std)
        _check_ray(self.low, self.high)

    @property
    def holds(self) -> bool:
        """Whether the representer is square integrable: x_std² > high² path_std² / 2 (derived, section 1.3)."""
        return self.x_std**2 > 0.5 * (self.high * self.path_std) ** 2

    @property
    def sentence(self) -> str:
        """The verdict for a reader."""
        if self.holds:
            return "The spread of X is large enough for the rays, so the weights have a finite variance."
        least = self.high * self.path_std / math.sqrt(2)
        return (
            f"The rays reach beyond the law of X: the weights have no finite variance unless the standard deviation "
            f"of X exceeds {least:.3g}; it is {self.x_std:.3g}."
        )

    def require(self) -> None:
        """Raise UnsupportedCombination with the verdict unless the representer is square integrable."""
        if not self.holds:
            raise UnsupportedCombination(self.sentence, field="high")

    def representer(self, x: FloatArray) -> FloatArray:
        """Return r at points (m, d) or (m,)."""
        path, here = _gaussian_density(self.path_std), _gaussian_density(self.x_std)
        return ray_representer(path, here, self.low, self.high)(x)

    def value(self, regression: Function) -> float:
        """Return the average of the ray integrals, E f."""
        ends, weights = _polar(self.dimension, self.path_std, _RADIUS_NODES, 48)
        inner = ray_integral(_pointwise(regression, self.dimension), ends, self.low, self.high)
        return float(np.sum(weights * inner))

    def value_by_representer(self, regression: Function) -> float:
        """Return E r(X) μ(X), the other side of the Riesz identity (10)."""
        points, weights = _polar(self.dimension, self.x_std, 2 * _RADIUS_NODES, 48)
        return float(np.sum(weights * self.representer(points) * _pointwise(regression, self.dimension)(points)))


@dataclass(frozen=True)
class GaussianLine:
    """Line integrals between independent ends N(0, path_std² I), with X ~ N(0, x_std² I) (Ex. 6).

    Attributes
    ----------
    dimension : int
        1 or 2.
    path_std, x_std : float
        Standard deviations of each coordinate of the ends and of X.

    Notes
    -----
    The point at t of the line has variance q = path_std² {t² + (1 - t)²} per coordinate, and given that it is x the
    difference of the ends is Gaussian with mean (2t - 1) path_std² x/q and variance path_std⁴/q. Hence
    r(x) = 1/p_X(x) ∫ p_t(x) E[‖difference‖ | x] dt (derived, checked in tests/unit/causal/test_causal_geometric.py).
    """

    dimension: int = 1
    path_std: float = 1.0
    x_std: float = 1.4

    def __post_init__(self) -> None:
        _check_plane(self.dimension)
        _positive(standard_deviation_of_the_ends=self.path_std, standard_deviation_of_x=self.x_std)

    @property
    def holds(self) -> bool:
        """Whether the representer is square integrable: x_std² > path_std² / 2, as for a ray with high = 1."""
        return self.x_std**2 > 0.5 * self.path_std**2

    @property
    def sentence(self) -> str:
        """The verdict for a reader."""
        if self.holds:
            return "The spread of X is large enough for the lines, so the weights have a finite variance."
        return (
            f"The lines reach beyond the law of X: the weights have no finite variance unless the standard deviation "
            f"of X exceeds {self.path_std / math.sqrt(2):.3g}; it is {self.x_std:.3g}."
        )

    def require(self) -> None:
        """Raise UnsupportedCombination with the verdict unless the representer is square integrable."""
        if not self.holds:
            raise UnsupportedCombination(self.sentence, field="x_std")

    def representer(self, x: FloatArray) -> FloatArray:
        """Return r at points (m, d) or (m,)."""
        points = _as_points(x)
        t, weights = path_nodes(0.0, 1.0, 2 * PATH_NODES)
        square = np.sum(points**2, axis=1) / self.path_std**2
        spread = (t**2 + (1 - t) ** 2)[:, None]
        density = np.exp(-0.5 * square / spread) / (2 * math.pi * self.path_std**2 * spread) ** (self.dimension / 2)
        mean = np.abs(2 * t - 1)[:, None] * np.sqrt(square) / spread
        length = self.path_std * mean_norm(mean * np.sqrt(spread), self.dimension) / np.sqrt(spread)
        inner = np.sum(weights[:, None] * density * length, axis=0)
        return np.asarray(inner / _gaussian_density(self.x_std)(points))

    def value(self, regression: Function) -> float:
        """Return the average of the line integrals, E f, over the two ends."""
        few = self.dimension == 2
        difference, share = _polar(self.dimension, math.sqrt(2) * self.path_std, 40 if few else _RADIUS_NODES, 16)
        middle, other = _hermite(self.dimension, self.path_std / math.sqrt(2), 14 if few else 40)
        begin = (middle[None, :, :] - 0.5 * difference[:, None, :]).reshape(-1, self.dimension)
        end = (middle[None, :, :] + 0.5 * difference[:, None, :]).reshape(-1, self.dimension)
        inner = line_integral(_pointwise(regression, self.dimension), begin, end)
        return float(np.sum((share[:, None] * other).reshape(-1) * inner))

    def value_by_representer(self, regression: Function) -> float:
        """Return E r(X) μ(X), the other side of the Riesz identity (10)."""
        points, weights = _polar(self.dimension, self.x_std, 2 * _RADIUS_NODES, 48)
        return float(np.sum(weights * self.representer(points) * _pointwise(regression, self.dimension)(points)))


def mean_norm(shift: FloatArray, dimension: int) -> FloatArray:
    """Return E‖shift · e + G‖ for a standard Gaussian vector G and a unit vector e.

    Parameters
    ----------
    shift : array
        Length of the mean, not negative; any shape.
    dimension : int
        Length of the vector.

    Examples
    --------
    >>> round(float(mean_norm(np.array(0.0), 2)) ** 2, 12) == round(math.pi / 2, 12)
    True
    """
    from scipy.special import gammaln, hyp1f1

    half = 0.5 * dimension
    front = math.sqrt(2) * math.exp(gammaln(half + 0.5) - gammaln(half))
    return np.asarray(front * hyp1f1(-0.5, half, -0.5 * np.asarray(shift) ** 2))


def _hermite(dimension: int, std: float, size: int) -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.hermite_e.hermegauss(size)
    points, weights = std * points, weights / weights.sum()
    if dimension == 1:
        return points[:, None], weights
    pairs = np.stack(np.meshgrid(points, points, indexing="ij"), axis=-1).reshape(-1, 2)
    return pairs, np.outer(weights, weights).reshape(-1)


# --- estimates from noised data (section 2.5) --------------------------------------------------------------------


def one_step_average(
    y: ArrayLike,
    z: ArrayLike,
    mechanism: Mechanism,
    target: Target,
    *,
    regression: Basis,
    representer: Basis | Function,
    w: ArrayLike | None = None,
    folds: int = 5,
    fold_ids: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
    law: ShiftCheck | None = None,
    naive: bool = False,
) -> Estimate:
    """Estimate an average derivative, ray or line integral from a noised column (Ex. 4 to 6, section 2.5).

    Parameters
    ----------
    y : (n,) array
        Outcome.
    z : (n,) or (n, d) array
        Released private columns.
    mechanism : Mechanism
        How they were made; keep probability 1 is allowed.
    target : AverageDerivative, RayIntegral or LineIntegral
        What is averaged. For rays and lines f reads only the public columns and needs no inversion.
    regression : Basis
        Functions of x for μ, fitted by private least squares.
    representer : Basis or callable
        Functions of x for r, fitted by private Riesz regression ((31), no density is estimated); or r itself.
    w : (n,) or (n, d) array; (n, 2) or (n, 2, d) array
        Public ends of the rays; begin and end of the lines.
    folds, fold_ids, rng
        Random folds, or the labels of given ones, as in ``cross_fit``.
    level : float
        Coverage of the interval.
    law : ShiftCheck, optional
        What is publicly known about the law of X; refused here if the average derivative is not defined for it.
    naive : bool
        Also say what treating the noised column as the true one gives.

    Returns
    -------
    Estimate
        ``nuisances`` holds mu and r at the records, out of fold; ``scores`` the uncentred private scores.

    Raises
    ------
    UnsupportedCombination
        For an average derivative on a bounded range, and for added noise.
    DataError, ParameterError
        If columns or settings are unusable.
    """
    outcome = outcome_column(y)
    released = np.asarray(z, dtype=np.float64)
    n = len(outcome)
    if isinstance(target, AverageDerivative):
        _check_shift(mechanism, regression, law)
    if not isinstance(mechanism, AlphaIdentity | FiniteMechanism):
        raise UnsupportedCombination(
            "This average needs a mechanism that keeps the value with a known probability.", field="mechanism"
        )
    if fold_ids is None:
        labels = fold_labels(n, folds, rng if rng is not None else np.random.default_rng(0))
    else:
        labels = np.unique(np.asarray(fold_ids), return_inverse=True)[1].astype(np.int64)
    design = private_design(mechanism, released, regression)
    side = None if callable(representer) else private_design(mechanism, released, representer)
    size = regression.size if callable(representer) else max(regression.size, representer.size)
    if design.keep_probability < 1:
        check_basis_size(size, n, design.keep_probability)
    points = signed_nodes(mechanism, released).points
    is_public = isinstance(target, RayIntegral | LineIntegral)
    everyone = Points(x=released, w=None if w is None else np.asarray(w, dtype=np.float64))
    scores, mu, r = np.empty(n), np.empty(n), np.empty(n)
    for k in range(int(labels.max()) + 1):
        held, rest = labels == k, labels != k
        fit = private_least_squares(design.take(rest), outcome[rest])
        fitted = partial(fit.at, regression)
        if side is None or callable(representer):
            weight = representer if callable(representer) else fitted
        else:
            functional = _functional(target, representer, side.take(rest), _rows(everyone, rest), points, is_public)
            weight = partial(riesz_regression(side.take(rest), functional).at, representer)
        mine = _rows(everyone, held)
        mu[held], r[held] = fitted(mine.x), weight(mine.x)
        own = np.asarray(target.integrand(_at_x(fitted), mine))
        here = r[held] * (outcome[held] - mu[held]) + (0.0 if is_public else own)
        found = design.own * here + (own if is_public else 0.0)
        if len(points):
            slope = weight(points)
            offset = -slope * fitted(points)
            if not is_public:
                offset = offset + np.asarray(target.integrand(_at_x(fitted), Points(x=points)))
            weights = design.weights if design.weights.ndim == 1 else design.weights[held]
            found = found + np.sum(weights * slope, axis=-1) * outcome[held] + np.sum(weights * offset, axis=-1)
        scores[held] = found
    other = None
    if naive and design.keep_probability < 1:
        other = one_step_average(
            outcome, released, _open(mechanism), target, regression=regression, representer=representer, w=w,
            fold_ids=labels, level=level, law=law,
        )  # fmt: skip
    guard = None
    if design.keep_probability < 1:
        guard = small_sample_guard(n, design.keep_probability, coefficients=size)
    return _estimate(
        scores,
        target.name,
        "one-step",
        level,
        guard=guard,
        naive=other,
        nuisances={"mu": mu, "r": r, "fold_ids": labels},
    )


def _rows(points: Points, rows: BoolArray) -> Points:
    return Points(x=points.x[rows], w=None if points.w is None else points.w[rows])


def _functional(
    target: Target, basis: Basis, design: PrivateDesign, records: Points, points: FloatArray, is_public: bool
) -> FloatArray:
    """Return P Q⁻¹ f(·, b_k) for every basis function; with f of public columns a plain mean."""
    here = np.asarray(target.integrand(_at_x(basis.evaluate), records))
    if is_public:
        return np.asarray(here.mean(axis=0))
    there = np.zeros((0, basis.size))
    if len(points):
        there = np.asarray(target.integrand(_at_x(basis.evaluate), Points(x=points)))
    return design.mean_functions(here, there)


def _at_x(function: Callable[[Any], FloatArray]) -> Callable[[Points], FloatArray]:
    return lambda at: function(at.x)


def _check_shift(mechanism: Mechanism, basis: Basis, law: ShiftCheck | None) -> None:
    bounded = isinstance(basis, Legendre | BSpline | OneHot) or isinstance(mechanism, FiniteMechanism)
    if bounded or (isinstance(mechanism, AlphaIdentity) and isinstance(mechanism.noise, FiniteNoise)):
        raise UnsupportedCombination(_SHIFT_BAD, field="step")
    if law is not None:
        law.require()


def _open(mechanism: Mechanism) -> Mechanism:
    if isinstance(mechanism, AlphaIdentity):
        return AlphaIdentity(1.0, mechanism.noise)
    assert isinstance(mechanism, FiniteMechanism)  # noqa: S101 - checked by the callers
    return FiniteMechanism(np.eye(mechanism.levels))


def _estimate(scores: FloatArray, target: str, method: str, level: float, **more: Any) -> Estimate:
    value = float(np.mean(scores))
    n = len(scores)
    std_error = float(np.sqrt(np.mean((scores - value) ** 2) / n))
    guard = more.get("guard")
    notes = () if guard is None else (guard.sentence,)
    return Estimate.normal(
        value, std_error, records=n, target=target, method=method, level=level, scores=scores, notes=notes, **more
    )


def weighted_average(
    y: ArrayLike,
    z: ArrayLike,
    mechanism: Mechanism,
    target: WeightedAverage,
    *,
    d: ArrayLike | None = None,
    w: ArrayLike | None = None,
    second_derivative: Function | None = None,
    level: float = 0.95,
    naive: bool = False,
) -> Estimate:
    """Estimate an average with a known weight, such as a discounted one: no nuisance and no folds (Ex. 7, 8; E7).

    Parameters
    ----------
    y : (n,) array
        Outcome.
    z : (n,) or (n, d) array
        Released private columns.
    mechanism : Mechanism
        How they were made. Added Laplace noise needs ``second_derivative``.
    target : KnownRepresenter or TimeDiscount
        Holds the weight b.
    d, w : arrays, optional
        Treatment and public columns, where the weight reads them.
    second_derivative : callable, optional
        b'' as a function of x, for added Laplace noise and a weight that reads only x.
    level : float
        Coverage of the interval.
    naive : bool
        Also say what treating the noised column as the true one gives.

    Returns
    -------
    Estimate
        Mean of Q⁻¹[b y], with ``scores``.

    Raises
    ------
    ParameterError
        If added noise is to be undone without a second derivative, or the weight has a kink.
    DataError
        If the outcome is unusable.
    """
    outcome = outcome_column(y)
    released = np.asarray(z)
    mine = Points(x=released, d=0 if d is None else np.asarray(d), y=outcome, w=None if w is None else np.asarray(w))
    other = None
    if isinstance(mechanism, LaplaceAddition):
        if second_derivative is None:
            raise ParameterError(
                "Undoing added Laplace noise needs the second derivative of the weight: it works for twice "
                "differentiable functions of x only.",
                field="mechanism",
            )
        weight = mechanism.invert_function(lambda x: target.weight(Points(x=x)), second_derivative, released)
        scores = weight * outcome
    elif isinstance(mechanism, AlphaIdentity | FiniteMechanism):
        nodes = signed_nodes(mechanism, released)
        scores = nodes.own * target.weight(mine) * outcome if nodes.own else np.zeros(len(outcome))
        if len(nodes.points):
            scores = scores + _node_sums(target, mine, nodes) * outcome
        if naive:
            other = weighted_average(outcome, released, _open(mechanism), target, d=d, w=w, level=level)
    else:
        raise UnsupportedCombination(
            "Added normal noise can be undone for polynomials only; choose a mechanism that keeps the value with a "
            "known probability.",
            field="mechanism",
        )
    return _estimate(scores, target.name, "known weight", level, naive=other)


def _node_sums(target: WeightedAverage, mine: Points, nodes: SignedNodes) -> FloatArray:
    """Sum the weight over the common points with their signed weights, for every record (block by block)."""
    n, size = len(np.asarray(mine.y)), len(nodes.points)
    code = np.int64 if np.asarray(mine.x).dtype.kind in "iu" else np.float64
    points = nodes.points.astype(code)
    out = np.empty(n)
    block = max(1, 500_000 // size)
    for begin in range(0, n, block):
        rows = slice(begin, min(n, begin + block))
        count = rows.stop - begin
        tiled = np.tile(points, (count, *([1] * (points.ndim - 1))))
        arms = np.repeat(np.broadcast_to(np.asarray(mine.d), (n,))[rows], size)
        public = None if mine.w is None else np.repeat(mine.w[rows], size, axis=0)
        values = target.weight(Points(x=tiled, d=arms, y=0.0, w=public)).reshape(count, size)
        weights = nodes.weights if nodes.weights.ndim == 1 else nodes.weights[rows]
        out[rows] = np.sum(weights * values, axis=1)
    return out


@dataclass(frozen=True)
class WeightedLaw:
    """Value and privacy curve of an average with a known weight b(x), when Y has mean μ(x) and variance v(x).

    The score is b(x) y - χ, so T₀ = E[b²(μ² + v)] - χ², T₁ = E[(b - b̄)²(μ² + v)] and T₂ = Var_noise(b) E[Y²]
    (derived, checked in tests/golden/test_causal_gold_geometric.py).

    Attributes
    ----------
    value : float
        χ = E[b μ].
    decomposition : Decomposition
        T₀, T₁ and T₂.
    """

    value: float
    decomposition: Decomposition

    @classmethod
    def of(
        cls,
        weight: Function,
        mean: Function,
        variance: Function,
        nodes: tuple[FloatArray, FloatArray],
        noise: NoiseLaw,
    ) -> WeightedLaw:
        """Integrate over the law of X, given as nodes and weights that add up to 1.

        Parameters
        ----------
        weight, mean, variance : callable
            b, μ and v as functions of x.
        nodes : pair of (M,) arrays
            Points and weights of the law of X.
        noise : NoiseLaw
            Public noise law.
        """
        x, share = nodes
        points, mass = noise.nodes()
        b, mu = weight(x), mean(x)
        second = mu**2 + variance(x)
        at_noise = weight(points)
        average = float(np.sum(mass * at_noise))
        value = float(np.sum(share * b * mu))
        t0 = float(np.sum(share * b**2 * second)) - value**2
        t1 = float(np.sum(share * (b - average) ** 2 * second))
        t2 = float(np.sum(mass * (at_noise - average) ** 2)) * float(np.sum(share * second))
        return cls(value, Decomposition(t0, t1, t2))


__all__ = [
    "GaussianLine",
    "GaussianRay",
    "ShiftCheck",
    "WeightedLaw",
    "average_derivative",
    "average_derivative_representer",
    "curve_integral",
    "line_integral",
    "mean_norm",
    "one_step_average",
    "path_nodes",
    "ray_integral",
    "ray_representer",
    "shift_check",
    "shift_check_gaussian",
    "shift_check_laplace",
    "weighted_average",
]
