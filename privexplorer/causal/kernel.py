"""Private Nadaraya-Watson regression and density of a sensitive number (Ex. 11, (23)-(24); spec 1.8 and 2.6).

The source divides by a density estimate that subtracts the raw noise density, while the numerator subtracts it smoothed
by the kernel; then even a constant outcome is not reproduced (E9). Here both are smoothed, unless the printed form is
asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import BoolArray, FloatArray
from privexplorer.causal._sums import einsum
from privexplorer.causal.continuous_laws import CurveLaw
from privexplorer.causal.counts import outcome_column
from privexplorer.causal.mechanisms import AlphaIdentity, GaussianNoise, NoiseLaw, UniformNoise
from privexplorer.errors import DataError, ParameterError

GRID_POINTS = 200
_BLOCK = 1_000_000  # kernel values held at once
_DENSITY_FLOOR = 0.05  # share of the largest density below which the curve is masked (spec 2.6)
_SPREAD_FLOOR = 0.05  # share of the public range below which the private spread is not believed (spec 2.6)


def gaussian_kernel(u: FloatArray) -> FloatArray:
    """Return the standard normal density at u."""
    result: FloatArray = np.exp(-0.5 * np.asarray(u, dtype=np.float64) ** 2) / math.sqrt(2 * math.pi)
    return result


def smoothed_noise_density(noise: NoiseLaw, x: ArrayLike, bandwidth: float) -> FloatArray:
    """Return the noise density smoothed by the kernel, (K_h * q̄)(x).

    Parameters
    ----------
    noise : NoiseLaw
        One numeric column; exact for normal and uniform noise, a sum over its points otherwise.
    x : (n,) array
        Where.
    bandwidth : float
        h, above 0.

    Returns
    -------
    (n,) array
        Smoothed densities.
    """
    at = np.asarray(x, dtype=np.float64)
    if isinstance(noise, GaussianNoise):
        std = math.hypot(noise.std, bandwidth)
        return gaussian_kernel((at - noise.mean) / std) / std
    if isinstance(noise, UniformNoise):
        from scipy.special import ndtr

        rise = ndtr((at - noise.low) / bandwidth) - ndtr((at - noise.high) / bandwidth)
        return np.asarray(rise / (noise.high - noise.low), dtype=np.float64)
    points, weights = noise.nodes()
    return einsum("gm,m->g", gaussian_kernel((at[:, None] - points) / bandwidth) / bandwidth, weights)


def private_spread(z: ArrayLike, mechanism: AlphaIdentity, public_range: tuple[float, float]) -> float:
    """Return the private standard deviation of the sensitive value (spec 2.6).

    Parameters
    ----------
    z : (n,) array
        Released values.
    mechanism : AlphaIdentity
        How they were released.
    public_range : pair of float
        Low and high end.

    Returns
    -------
    float
        Root of P Q⁻¹[x²] - (P Q⁻¹[x])², but at least 5 % of the public range.
    """
    released = _released(z)
    means = [float(released.mean()), float((released**2).mean())]
    keep = mechanism.keep_probability
    if keep < 1:
        points, weights = mechanism.nodes()
        noise = [float(np.sum(weights * points)), float(np.sum(weights * points**2))]
        means = [(mean - (1 - keep) * other) / keep for mean, other in zip(means, noise, strict=True)]
    least = _SPREAD_FLOOR * (public_range[1] - public_range[0])
    return math.sqrt(max(means[1] - means[0] ** 2, least**2))


def rule_of_thumb_bandwidth(z: ArrayLike, mechanism: AlphaIdentity, public_range: tuple[float, float]) -> float:
    """Return the bandwidth 1.06 · spread · (n keep²)^(-1/5) (spec 2.6, rule of thumb).

    Parameters
    ----------
    z, mechanism, public_range
        As in :func:`private_spread`.

    Returns
    -------
    float
        Bandwidth, above 0.
    """
    effective = len(_released(z)) * mechanism.keep_probability**2
    return 1.06 * private_spread(z, mechanism, public_range) * float(effective**-0.2)


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A private kernel regression on a grid.

    Parameters
    ----------
    grid : (G,) array
        Values of x, increasing.
    regression, std_error : (G,) array
        Fitted curve, clipped to the given range, and its pointwise standard error (without smoothing bias).
    density : (G,) array
        Private density estimate (of X, or of the weighted stratum), before it was floored.
    is_thin : (G,) bool array
        Where the density is below 5 % of its largest value: the curve there should not be shown.
    bandwidth : float
        The bandwidth used.
    """

    grid: FloatArray
    regression: FloatArray
    std_error: FloatArray
    density: FloatArray
    is_thin: BoolArray
    bandwidth: float

    def at(self, x: ArrayLike) -> FloatArray:
        """Return the curve at any x by interpolation; beyond the grid it stays at its end value."""
        return np.asarray(np.interp(np.asarray(x, dtype=np.float64), self.grid, self.regression))


def kernel_regression(
    z: ArrayLike,
    response: ArrayLike,
    mechanism: AlphaIdentity,
    public_range: tuple[float, float],
    *,
    at: ArrayLike | None = None,
    bandwidth: float | None = None,
    record_weights: ArrayLike | None = None,
    factor: Callable[[FloatArray], FloatArray] | None = None,
    clip: tuple[float, float] | None = None,
    density: Literal["smoothed", "printed"] = "smoothed",
) -> KernelFit:
    """Fit E[m | X = x] by the private Nadaraya-Watson estimator with a normal kernel (Ex. 11, (23)-(24)).

    Parameters
    ----------
    z, response : (n,) array
        Released values and the public part of the regressed variable.
    mechanism : AlphaIdentity
        How the values were released; at keep probability 1 this is the ordinary estimator.
    public_range : pair of float
        Low and high end; the grid of 200 points covers it.
    at : (G,) array, optional
        Increasing points at which to fit, instead of the grid.
    bandwidth : float, optional
        h above 0; the rule of thumb if left out.
    record_weights : (n,) array, optional
        Weights that pick a stratum of public covariates: 0/1 for a category, kernel values for a number.
    factor : callable, optional
        A factor of x in the regressed variable: m(v, x) = response · factor(x).
    clip : pair of float, optional
        Public range of the regressed variable.
    density : {"smoothed", "printed"}
        "printed" subtracts the raw noise density in the denominator, as the source does (E9).

    Returns
    -------
    KernelFit
        Curve, band, density and mask.

    Raises
    ------
    DataError
        If lengths differ or values are not finite.
    ParameterError
        If the bandwidth or the range is not positive.
    """
    released, y = _released(z), outcome_column(response)
    if y.shape != released.shape:
        raise DataError(f"There are {released.size} released values, but the outcome has {y.size}.")
    low, high = public_range
    if not low < high:
        raise ParameterError(f"The public range must have its low end below its high end; it is {low:g} to {high:g}.")
    h = rule_of_thumb_bandwidth(released, mechanism, public_range) if bandwidth is None else bandwidth
    if not (math.isfinite(h) and h > 0):
        raise ParameterError(f"The bandwidth must be above 0; it is {h:g}.")
    grid = np.linspace(low, high, GRID_POINTS) if at is None else np.atleast_1d(np.asarray(at, dtype=np.float64))
    weights = np.ones_like(y) if record_weights is None else np.asarray(record_weights, dtype=np.float64)
    keep, lost = mechanism.keep_probability, 1 / mechanism.keep_probability - 1
    smooth, smooth_factor = _noise_parts(mechanism, grid, h, factor)
    here = y if factor is None else y * factor(released)
    mean_response, mean_weight = float(np.mean(weights * y)), float(np.mean(weights))

    top, bottom, unprinted, second = (np.empty(len(grid)) for _ in range(4))
    step = max(1, _BLOCK // len(y))
    for start in range(0, len(grid), step):
        rows = slice(start, start + step)
        kernel = gaussian_kernel((grid[rows, None] - released) / h) / h * weights
        top[rows] = np.mean(kernel * here, axis=1) / keep - lost * mean_response * smooth_factor[rows]
        unprinted[rows] = np.mean(kernel, axis=1) / keep
        bottom[rows] = unprinted[rows] - lost * mean_weight * smooth[rows]
        fitted = (top[rows] / bottom[rows])[:, None]
        score = kernel * (here - fitted) / keep
        score -= lost * weights * (y * smooth_factor[rows, None] - fitted * smooth[rows, None])
        second[rows] = np.mean(score**2, axis=1)
    if density == "printed":
        bottom = unprinted - lost * mean_weight * _raw_density(mechanism, grid)
    elif density != "smoothed":
        raise ParameterError(f"The density must be smoothed or printed; it is {density}.")
    least = _DENSITY_FLOOR * float(np.max(bottom))
    if least <= 0:
        raise DataError("The private density is nowhere above 0; use a larger bandwidth or more records.")
    floored = np.maximum(bottom, least)
    curve = top / floored
    if clip is not None:
        curve = np.clip(curve, *clip)
    return KernelFit(grid, curve, np.sqrt(second / len(y)) / floored, bottom, bottom < least, h)


def kernel_density(
    z: ArrayLike,
    mechanism: AlphaIdentity,
    at: ArrayLike,
    bandwidth: float,
    *,
    form: Literal["smoothed", "printed"] = "smoothed",
) -> FloatArray:
    """Return the private kernel density estimate of the sensitive value ((24); E9).

    Parameters
    ----------
    z : (n,) array
        Released values.
    mechanism : AlphaIdentity
        How they were released.
    at : (G,) array
        Where.
    bandwidth : float
        h, above 0.
    form : {"smoothed", "printed"}
        As in :func:`kernel_regression`.

    Returns
    -------
    (G,) array
        Densities; some may be negative.
    """
    released = _released(z)
    points = np.atleast_1d(np.asarray(at, dtype=np.float64))
    keep = mechanism.keep_probability
    noise = (
        _raw_density(mechanism, points) if form == "printed" else _noise_parts(mechanism, points, bandwidth, None)[0]
    )
    kernel = gaussian_kernel((points[:, None] - released) / bandwidth) / bandwidth
    return np.asarray(kernel.mean(axis=1) / keep - (1 / keep - 1) * noise)


def _noise_parts(
    mechanism: AlphaIdentity, grid: FloatArray, h: float, factor: Callable[[FloatArray], FloatArray] | None
) -> tuple[FloatArray, FloatArray]:
    """Smoothed noise density, and the same with the factor inside, each (G,)."""
    if mechanism.keep_probability == 1:
        return np.zeros_like(grid), np.zeros_like(grid)
    if factor is None:
        smooth = smoothed_noise_density(mechanism.noise, grid, h)
        return smooth, smooth
    points, weights = mechanism.nodes()
    kernel = gaussian_kernel((grid[:, None] - points) / h) / h
    return einsum("gm,m->g", kernel, weights), einsum("gm,m->g", kernel, weights * factor(points))


def _raw_density(mechanism: AlphaIdentity, grid: FloatArray) -> FloatArray:
    return np.zeros_like(grid) if mechanism.keep_probability == 1 else mechanism.noise.density(grid)


def _released(z: ArrayLike) -> FloatArray:
    released = np.asarray(z, dtype=np.float64)
    if released.ndim != 1 or released.size == 0:
        raise DataError("The kernel estimator needs one released column with at least one record.")
    if not np.isfinite(released).all():
        raise DataError("The released column has missing or infinite values.")
    return released


# ---------------------------------------------------------------- theory


@dataclass(frozen=True)
class ErrorParts:
    """The three parts that bound the integrated squared error of a plug-in-linear estimator (Prop. 3).

    The error itself can be smaller than their sum: in a ratio the errors of numerator and density partly cancel.

    Parameters
    ----------
    variance : float
        Mean over P_X of the variance with known secondary nuisances, exact.
    squared_bias : float
        Mean over P_X of the squared bias, exact; the same with and without noise.
    density_error : float
        Mean square that an estimated density adds, to first order.
    """

    variance: float
    squared_bias: float
    density_error: float


def kernel_error_parts(law: CurveLaw, mechanism: AlphaIdentity, n: int, bandwidth: float) -> ErrorParts:
    """Return the three parts of Prop. 3 for the kernel estimator on a known law (Ex. 11; derived).

    Parameters
    ----------
    law : CurveLaw
        The truth.
    mechanism : AlphaIdentity
        Noise and keep probability.
    n : int
        Number of records.
    bandwidth : float
        h, above 0.

    Returns
    -------
    ErrorParts
        Parts integrated over the law of X.
    """
    x, mass, mu = law.table()
    density = law.density(x)

    def functions(at: FloatArray) -> FloatArray:
        return gaussian_kernel((at[:, None] - x) / bandwidth) / bandwidth

    mean, covariance = law.linear_covariance(functions, mechanism)
    mean_density, covariance_density = law.linear_covariance(functions, mechanism, with_outcome=False)
    variance = float(np.sum(mass * np.diag(covariance) / density**2)) / n
    bias = float(np.sum(mass * (mean / density - mu) ** 2))
    slips = np.diag(covariance_density) / n + (mean_density - density) ** 2
    return ErrorParts(variance, bias, float(np.sum(mass * mu**2 * slips / density**2)))


def kernel_rate_exponent(smoothness: float, dimension: int = 1) -> tuple[float, float]:
    """Return the best rate of Ex. 11: error n^(-rate) at bandwidth n^(-size).

    Parameters
    ----------
    smoothness : float
        Number of derivatives of density and regression, above 0.
    dimension : int
        Dimension of (V₁, X), at least 1.

    Returns
    -------
    rate : float
        2β/(2β + d).
    size : float
        1/(2β + d).
    """
    if not (smoothness > 0 and dimension >= 1):
        raise ParameterError("The smoothness must be above 0 and the dimension at least 1.")
    return 2 * smoothness / (2 * smoothness + dimension), 1 / (2 * smoothness + dimension)


def constant_under_raw_density(x: float, mechanism: AlphaIdentity, bandwidth: float, std: float = 1.0) -> float:
    """Return what the printed estimator tends to when the outcome is always 1 and X ~ N(0, std²) (E9).

    Parameters
    ----------
    x : float
        Where.
    mechanism : AlphaIdentity
        Noise and keep probability.
    bandwidth : float
        h, above 0.
    std : float
        Standard deviation of X.

    Returns
    -------
    float
        The smoothed form gives 1 everywhere.
    """
    at = np.array([x])
    truth = smoothed_noise_density(GaussianNoise(0.0, std), at, bandwidth)
    lost = 1 / mechanism.keep_probability - 1
    gap = smoothed_noise_density(mechanism.noise, at, bandwidth) - mechanism.noise.density(at)
    return float((truth / (truth + lost * gap))[0])


def squared_kernel_mean(point: float, bandwidth: float) -> tuple[float, float, float]:
    """Return E K((X - point)/h)² for X ~ N(0, 1) and a normal kernel: exact, as printed, and the bound (E10).

    Parameters
    ----------
    point : float
        Where.
    bandwidth : float
        h, above 0.

    Returns
    -------
    exact, printed, bound : float
        h∫K²(u)p(point + hu)du, the source's h·K²(point), and h·sup p·∫K².
    """
    square = 1 / (2 * math.sqrt(math.pi))
    std = math.sqrt(1 + bandwidth**2 / 2)
    exact = bandwidth * square * float(gaussian_kernel(np.array(point / std))) / std
    printed = bandwidth * float(gaussian_kernel(np.array(point))) ** 2
    return exact, printed, bandwidth * square / math.sqrt(2 * math.pi)


__all__ = [
    "GRID_POINTS",
    "ErrorParts",
    "KernelFit",
    "constant_under_raw_density",
    "gaussian_kernel",
    "kernel_density",
    "kernel_error_parts",
    "kernel_rate_exponent",
    "kernel_regression",
    "private_spread",
    "rule_of_thumb_bandwidth",
    "smoothed_noise_density",
    "squared_kernel_mean",
]
