"""Averages of a regression along shifts, rays and lines, and averages with a known weight (Ex. 4 to Ex. 8).

Values from both sides of the Riesz identity E f(μ) = E r μ, the representers themselves, the conditions under which they
exist (E11), and estimates from data whose column was noised. Paths are integrated by Gauss-Legendre in t.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, hyp1f1

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError, UnsupportedCombination

Function = Callable[[FloatArray], FloatArray]

PATH_NODES = 32
"""Gauss-Legendre nodes along a path (spec section 2.5)."""

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
    "The average derivative has a finite variance, but the ratio of the shifted to the unshifted density is not bounded, "
    "so a uniformly good fit of the representer is not guaranteed."
)
_SHIFT_BAD = (
    "The shifted law must be dominated by the law of X, which a range with an upper end never allows; weight the interior "
    "instead, as an average with a known weight."
)
_SHIFT_TAIL = (
    "The shifted law must be dominated by the law of X: here its tail is so light that the weights have no finite variance; "
    "take a smaller step or an average with a known weight."
)


def _check_step(step: float) -> None:
    if not (math.isfinite(step) and step > 0):
        raise ParameterError(f"The step of the average derivative must be a positive number; it is {step:g}.", field="step")


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

    b = (2/3) exp(step/scale) + (1/3) exp(-2 step/scale) (derived, checked in tests/unit/causal/test_geometric.py).

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
    if not math.isfinite(second) or any(square[i] > 1e-9 * second for i in open_ends) and _heavy(log_square, open_ends, x):
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
    _check_step(step)

    def representer(x: FloatArray) -> FloatArray:
        here = np.asarray(density(x), dtype=float)
        shifted = np.asarray(density(x - step), dtype=float)
        inside = here > 0
        ratio: FloatArray = np.where(inside, shifted / np.where(inside, here, 1.0) - 1.0, 0.0) / step
        return ratio

    return representer


# --- rays and lines (Ex. 5, Ex. 6) ------------------------------------------------------------------------------


def _as_points(x: FloatArray) -> FloatArray:
    x = np.asarray(x, dtype=float)
    return x[:, None] if x.ndim == 1 else x


def ray_integral(
    regression: Function, ends: FloatArray, low: float, high: float, *, size: int = PATH_NODES
) -> FloatArray:
    """Return ∫ μ(t w) ‖w‖ dt from ``low`` to ``high`` for every w (Ex. 5).

    Parameters
    ----------
    regression : callable
        μ: takes points of shape (m, d), or (m,) when ``ends`` has shape (n,), and returns (m,).
    ends : (n,) or (n, d) array
        The public vectors w.
    low, high : float
        0 < low < high, in units of ‖w‖.
    size : int
        Number of Gauss-Legendre nodes in t.

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
    t, weights = path_nodes(low, high, size)
    points = t[:, None] * ends if ends.ndim == 1 else t[:, None, None] * ends
    return _along(regression, points, weights) * _norm(ends)


def _check_ray(low: float, high: float) -> None:
    if not (math.isfinite(high) and 0 < low < high):
        raise ParameterError(
            f"A ray must run from a positive number to a larger one; it runs from {low:g} to {high:g}.", field="high"
        )


def line_integral(
    regression: Function, begin: FloatArray, end: FloatArray, *, size: int = PATH_NODES
) -> FloatArray:
    """Return ∫ μ((1 - t) begin + t end) ‖end - begin‖ dt over [0, 1] for every pair (Ex. 6).

    Parameters
    ----------
    regression : callable
        μ, as in ``ray_integral``.
    begin, end : (n,) or (n, d) arrays
        The two public ends.
    size : int
        Number of Gauss-Legendre nodes in t.

    Examples
    --------
    >>> float(line_integral(lambda x: x**2, np.array([0.0]), np.array([3.0]))[0].round(12))
    9.0
    """
    t, weights = path_nodes(0.0, 1.0, size)
    t = t[:, None] if begin.ndim == 1 else t[:, None, None]
    return _along(regression, (1 - t) * begin + t * end, weights) * _norm(end - begin)


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


def _along(regression: Function, points: FloatArray, weights: FloatArray) -> FloatArray:
    """Average a function over the first axis of ``points`` (t, n) or (t, n, d)."""
    flat = points.reshape(-1) if points.ndim == 2 else points.reshape(-1, points.shape[2])
    values = np.asarray(regression(flat), dtype=float).reshape(points.shape[:2])
    return np.asarray(np.sum(weights[:, None] * values, axis=0))


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
            f"The rays reach beyond the law of X: the weights have no finite variance unless the standard deviation of X "
            f"exceeds {least:.3g}; it is {self.x_std:.3g}."
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
    r(x) = 1/p_X(x) ∫ p_t(x) E[‖difference‖ | x] dt (derived, checked in tests/unit/causal/test_geometric.py).
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
            f"The lines reach beyond the law of X: the weights have no finite variance unless the standard deviation of X "
            f"exceeds {self.path_std / math.sqrt(2):.3g}; it is {self.x_std:.3g}."
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
        inner = line_integral(_pointwise(regression, self.dimension), begin, end, size=16)
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
