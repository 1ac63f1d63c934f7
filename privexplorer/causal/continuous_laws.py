"""Laws with a continuous sensitive column whose efficiency bounds are known (spec 2.8 and 6.2; G17, G21)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial.legendre import leggauss

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.causal._sums import einsum, expit
from privexplorer.causal.mechanisms import AlphaIdentity, GaussianNoise, NoiseLaw, UniformNoise
from privexplorer.causal.moments import linear_slope_variance
from privexplorer.causal.targets import CausalTarget
from privexplorer.causal.theory import Decomposition
from privexplorer.errors import ParameterError

_NODES = 200  # smooth functions on [-1, 1]: exact to rounding
Curve = Callable[[FloatArray], FloatArray]


@lru_cache
def _legendre() -> tuple[FloatArray, FloatArray]:
    nodes, weights = leggauss(_NODES)
    return np.asarray(nodes), np.asarray(weights)


def parabola_density(x: FloatArray) -> FloatArray:
    """Return the density of X = 2 Beta(2, 2) - 1: 3(1 - x²)/4 on [-1, 1], else 0.

    Parameters
    ----------
    x : array
        Any values.

    Returns
    -------
    array
        Densities.
    """
    inside: FloatArray = np.maximum(0.75 * (1 - np.asarray(x, dtype=np.float64) ** 2), 0.0)
    return inside


@dataclass(frozen=True, eq=False)
class ContinuousLaw:
    """Outcome, treatment and a sensitive number X = 2 Beta(2, 2) - 1, with normal noise on the outcome.

    Parameters
    ----------
    name : str
        What the law is called.
    log_odds : callable
        Log odds of treatment at x.
    mu0, mu1 : callable
        Mean outcomes without and with treatment at x.
    outcome_std : float
        Standard deviation of the outcome given treatment and x, at least 0.
    """

    name: str
    log_odds: Curve
    mu0: Curve
    mu1: Curve
    outcome_std: float = 1.0

    low = -1.0
    high = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.outcome_std) and self.outcome_std >= 0):
            raise ParameterError(f"The spread of the outcome must be at least 0; it is {self.outcome_std:g}.")

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of X."""
        return parabola_density(x)

    def propensity(self, x: FloatArray) -> FloatArray:
        """Return P(D = 1 | X = x)."""
        return expit(self.log_odds(np.asarray(x, dtype=np.float64)))

    def regressions(self, x: FloatArray) -> FloatArray:
        """Return (μ₀, μ₁) at x, (2, n)."""
        at = np.asarray(x, dtype=np.float64)
        return np.stack([self.mu0(at), self.mu1(at)])

    def sample(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
        """Draw outcome (n,), treatment (n,) in {0, 1} and the sensitive value (n,).

        Parameters
        ----------
        size : int
            Number n of records.
        rng : numpy.random.Generator
            Source of randomness.
        """
        x = 2 * rng.beta(2.0, 2.0, size) - 1
        d = (rng.random(size) < self.propensity(x)).astype(np.int64)
        noise = rng.standard_normal(size)
        y = np.where(d == 1, self.mu1(x), self.mu0(x)) + self.outcome_std * noise
        return y, d, x

    def table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return quadrature points (M,), P(d, dx) there (2, M) and the regressions (2, M)."""
        x, weights = _legendre()
        pi, mass = self.propensity(x), weights * self.density(x)
        return x, np.stack([mass * (1 - pi), mass * pi]), self.regressions(x)

    @property
    def treated_share(self) -> float:
        """P(D = 1)."""
        return float(self.table()[1][1].sum())

    @property
    def unadjusted_contrast(self) -> float:
        """E[Y | D = 1] - E[Y | D = 0], where the naive estimate ends up without any information on X."""
        _, p, mu = self.table()
        means = (p * mu).sum(axis=1) / p.sum(axis=1)
        return float(means[1] - means[0])

    def value(self, target: CausalTarget) -> float:
        """Return the true value of a target."""
        _, p, mu = self.table()
        return float(target.plug_in(p, mu))

    def score(self, target: CausalTarget, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return A and B, both (2, n) by arm, of the influence function A_d(x) y + B_d(x) (spec 2.2, Prop. 1).

        Parameters
        ----------
        target : CausalTarget
            Which effect.
        x : (n,) array
            Values of the sensitive column.
        """
        at = np.asarray(x, dtype=np.float64)
        value, share = self.value(target), self.treated_share
        mu = self.regressions(at)
        a1, b1, a0, b0 = target.score_parts(self.propensity(at), mu[0], mu[1], share, target.slope(value, share))
        return np.stack([a0, a1]), np.stack([b0, b1]) - value

    def influence(self, target: CausalTarget, y: FloatArray, d: IntArray, x: FloatArray) -> FloatArray:
        """Return the influence function without privacy at every record, (n,)."""
        a, b = self.score(target, x)
        return np.asarray(np.where(d == 1, a[1] * y + b[1], a[0] * y + b[0]))

    def private_influence(
        self, target: CausalTarget, y: FloatArray, d: IntArray, z: FloatArray, mechanism: AlphaIdentity
    ) -> FloatArray:
        """Return the private influence function Q⁻¹χ̃ at every record (Thm 2), (n,)."""
        here = self.influence(target, y, d, z)
        if mechanism.keep_probability == 1:
            return here
        points, weights = mechanism.nodes()
        a, b = (np.sum(part * weights, axis=1) for part in self.score(target, points))
        return mechanism.invert(here, np.where(d == 1, a[1] * y + b[1], a[0] * y + b[0]))

    def decomposition(self, target: CausalTarget, noise: NoiseLaw) -> Decomposition:
        """Return the three parts of the variance, which give the whole privacy curve (spec 1.6 and 2.8, derived).

        Parameters
        ----------
        target : CausalTarget
            Which effect.
        noise : NoiseLaw
            Law of the replacement; within the range of X, else the score is not defined where the noise lands (E4).

        Returns
        -------
        Decomposition
            T₀, T₁ and T₂.
        """
        x, p, mu = self.table()
        points, weights = noise.nodes()
        if points.ndim != 1 or points.min() < self.low or points.max() > self.high:
            raise ParameterError("The noise must stay within -1 to 1, where the sensitive column lives.")
        a, b = self.score(target, x)
        a_noise, b_noise = self.score(target, points)
        a_mean, b_mean = (np.sum(part * weights, axis=1)[:, None] for part in (a_noise, b_noise))
        spread = self.outcome_std**2

        def second_moment(slope: FloatArray, level: FloatArray) -> float:
            return float(np.sum(p * ((slope * mu + level) ** 2 + slope**2 * spread)))

        da, db = a_noise - a_mean, b_noise - b_mean
        var_a, cov, var_b = (np.sum(weights * left * right, axis=1) for left, right in ((da, da), (da, db), (db, db)))
        squares, means, shares = (p * (mu**2 + spread)).sum(axis=1), (p * mu).sum(axis=1), p.sum(axis=1)
        t2 = float(np.sum(var_a * squares + 2 * cov * means + var_b * shares))
        under_noise = t2 + second_moment(a_mean, b_mean)
        return Decomposition(second_moment(a, b), second_moment(a - a_mean, b - b_mean), t2, under_noise)

    def bound(self, target: CausalTarget, mechanism: AlphaIdentity) -> float:
        """Return the efficiency bound at one keep probability (17)."""
        return float(self.decomposition(target, mechanism.noise).variance(mechanism.keep_probability))

    def naive_value(self, target: CausalTarget, mechanism: AlphaIdentity) -> float:
        """Return what an analysis that takes the shown value for the true one estimates (spec 1.6).

        Parameters
        ----------
        target : CausalTarget
            Which effect.
        mechanism : AlphaIdentity
            Its noise must have a density on [-1, 1].
        """
        x, p, mu = self.table()
        keep = mechanism.keep_probability
        spread = _legendre()[1] * mechanism.noise.density(x)
        spread = spread / spread.sum()
        mass = keep * p + (1 - keep) * p.sum(axis=1, keepdims=True) * spread
        outcome = keep * p * mu + (1 - keep) * (p * mu).sum(axis=1, keepdims=True) * spread
        return float(target.plug_in(mass, outcome / mass))


LAW_C = ContinuousLaw("C", lambda x: 0.3 + x, lambda x: 1 + 2 * x, lambda x: 2 + 3 * x)
"""Logistic treatment and straight lines (spec 6.2): ATE 1, ATT 1.0829."""

LAW_D = ContinuousLaw("D", lambda x: -0.4 + 1.4 * x, lambda x: 0.5 * np.exp(x), lambda x: 1 + np.sin(2 * x))
"""Logistic treatment and curved regressions (spec 6.2)."""


def _wave(x: FloatArray) -> FloatArray:
    return np.asarray(1 + np.sin(3 * x))


@dataclass(frozen=True, eq=False)
class CurveLaw:
    """A curve to be fitted: Y = μ(X) + N(0, σ²), X on [-1, 1] with density (1 - peak)/2 + peak·3(1 - x²)/4.

    Parameters
    ----------
    curve : callable
        μ.
    outcome_std : float
        σ, at least 0.
    peak : float
        In [0, 1]: 0 is the uniform law, 1 the parabola law, which is not bounded below.
    """

    curve: Curve = _wave
    outcome_std: float = 0.5
    peak: float = 0.5

    low = -1.0
    high = 1.0

    def __post_init__(self) -> None:
        if not (0 <= self.peak <= 1 and self.outcome_std >= 0):
            raise ParameterError("The peak must lie between 0 and 1 and the spread of the outcome must be at least 0.")

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of X."""
        at = np.asarray(x, dtype=np.float64)
        inside = np.where(np.abs(at) <= 1, 0.5, 0.0)
        return np.asarray((1 - self.peak) * inside + self.peak * parabola_density(at))

    def sample(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw outcome (n,) and sensitive value (n,)."""
        x = np.where(rng.random(size) < self.peak, 2 * rng.beta(2.0, 2.0, size) - 1, rng.uniform(-1, 1, size))
        return self.curve(x) + self.outcome_std * rng.standard_normal(size), x

    def table(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return quadrature points, the mass P(dx) and the curve there, each (M,)."""
        x, weights = _legendre()
        return x, weights * self.density(x), self.curve(x)

    def linear_covariance(
        self, functions: Curve, mechanism: AlphaIdentity, *, with_outcome: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Return mean and covariance of Q⁻¹[Y g(X)] for functions g, exactly (matrix form of spec 1.6, derived).

        Parameters
        ----------
        functions : callable
            x (M,) to g (M, K).
        mechanism : AlphaIdentity
            Any noise law; uniform noise is integrated on 200 points.
        with_outcome : bool
            Leave Y out (g alone) if False, as for a density.

        Returns
        -------
        mean : (K,) array
            E Y g(X).
        covariance : (K, K) array
            Covariance of one record's score; divide by n for a mean.
        """
        x, mass, mu = self.table()
        first = mu if with_outcome else np.ones_like(mu)
        second = mu**2 + self.outcome_std**2 if with_outcome else np.ones_like(mu)
        g, keep = functions(x), mechanism.keep_probability
        mean = einsum("m,mk->k", mass * first, g)
        total = einsum("mi,mj->ij", (mass * second)[:, None] * g, g)
        if keep < 1:
            points, weights = self._noise_nodes(mechanism.noise)
            there = functions(points)
            average = einsum("m,mk->k", weights, there)
            here, there = g - average, there - average
            total = total + (1 - keep) / keep * einsum("mi,mj->ij", (mass * second)[:, None] * here, here)
            spread = float(np.sum(mass * second)) * einsum("mi,mj->ij", weights[:, None] * there, there)
            total = total + (1 - keep) / keep**2 * spread
        return mean, total - np.multiply.outer(mean, mean)

    @staticmethod
    def _noise_nodes(noise: NoiseLaw) -> tuple[FloatArray, FloatArray]:
        if isinstance(noise, UniformNoise):
            nodes, weights = _legendre()
            return noise.quantile((nodes + 1) / 2), weights / 2
        return noise.nodes()


@dataclass(frozen=True)
class DerivativeLaw:
    """X ~ N(0, s²), Y = a + bX + N(0, σ²); the target is the mean slope over a step (Ex. 4; G17).

    Parameters
    ----------
    intercept, slope : float
        a and b; the value of the target is b.
    std : float
        Standard deviation s of X, above 0.
    outcome_std : float
        σ, at least 0.
    step : float
        Step of the approximate derivative, above 0.
    """

    intercept: float = 1.0
    slope: float = 2.0
    std: float = 1.0
    outcome_std: float = 1.0
    step: float = 0.5

    def __post_init__(self) -> None:
        if not (self.std > 0 and self.step > 0 and self.outcome_std >= 0):
            raise ParameterError("The spread of X and the step must be above 0, the spread of the outcome at least 0.")

    @property
    def value(self) -> float:
        """The average approximate derivative; b for a straight line."""
        return self.slope

    def regression(self, x: FloatArray) -> FloatArray:
        """Return E[Y | X = x]."""
        return self.intercept + self.slope * np.asarray(x, dtype=np.float64)

    def representer(self, x: FloatArray) -> FloatArray:
        """Return r(x) = {p(x - ε)/p(x) - 1}/ε in closed form."""
        rise = self.step / self.std**2 * np.asarray(x, dtype=np.float64) - self.step**2 / (2 * self.std**2)
        result: FloatArray = np.expm1(rise) / self.step
        return result

    def sample(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw outcome (n,) and sensitive value (n,)."""
        x = self.std * rng.standard_normal(size)
        return self.regression(x) + self.outcome_std * rng.standard_normal(size), x

    def influence(self, y: FloatArray, x: FloatArray) -> FloatArray:
        """Return the influence function r(x)(y - μ(x)), as f equals its mean for a straight line."""
        return self.representer(x) * (y - self.regression(x))

    def private_influence(self, y: FloatArray, z: FloatArray, mechanism: AlphaIdentity) -> FloatArray:
        """Return the private influence function at every record, (n,)."""
        points, weights = mechanism.nodes()
        weighted = weights * self.representer(points)
        level, slope = float(np.sum(weighted)), float(np.sum(weighted * self.regression(points)))
        return mechanism.invert(self.influence(y, z), level * y - slope)

    def decomposition(self, noise: GaussianNoise) -> Decomposition:
        """Return the three parts of the variance under normal noise, in closed form (spec 2.8, derived; G17).

        Parameters
        ----------
        noise : GaussianNoise
            Law of the replacement, N(m, τ²). The bound grows fast with τ: the score is extreme in the tails.
        """
        m, t2, step, s2 = noise.mean, noise.std**2, self.step, self.std**2
        c, k = step / s2, math.exp(-(step**2) / (2 * s2))

        def moments(t: float) -> tuple[float, float, float]:
            mean = m + t * t2
            mass = math.exp(t * m + t**2 * t2 / 2)
            return mass, mean * mass, (t2 + mean**2) * mass

        once, twice = moments(c), moments(2 * c)
        r0, r1 = (k * once[0] - 1) / step, (k * once[1] - m) / step
        r20 = (k**2 * twice[0] - 2 * k * once[0] + 1) / step**2
        r22 = (k**2 * twice[2] - 2 * k * once[2] + t2 + m**2) / step**2
        b2, spread = self.slope**2, self.outcome_std**2
        total = b2 * s2 + spread
        common = total * r0**2 + b2 * r1**2
        t0 = spread * math.expm1(step**2 / s2) / step**2
        under_noise = total * r20 + b2 * r22
        return Decomposition(t0, t0 + common, under_noise - common, under_noise)


@dataclass(frozen=True)
class SlopeLaw:
    """X ~ N(0, 1), Y = a + bX + N(0, σ²), for regression coefficients by private moments (G21).

    Parameters
    ----------
    slope, intercept : float
        b and a.
    outcome_std : float
        σ, at least 0.
    """

    slope: float = 2.0
    intercept: float = 0.0
    outcome_std: float = 1.0

    def sample(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw outcome (n,) and sensitive value (n,)."""
        x = rng.standard_normal(size)
        return self.intercept + self.slope * x + self.outcome_std * rng.standard_normal(size), x

    def slope_variance(self, mechanism: AlphaIdentity) -> float:
        """Return n times the variance of the private slope, for normal noise around 0 (spec 2.8).

        Parameters
        ----------
        mechanism : AlphaIdentity
            Its noise must be normal with mean 0.
        """
        noise = mechanism.noise
        if not isinstance(noise, GaussianNoise) or noise.mean != 0:
            raise ParameterError("The variance of the slope is known for normal noise around 0.")
        return float(linear_slope_variance(self.slope, self.outcome_std, noise.std, mechanism.keep_probability))

    def naive_slope(self, mechanism: AlphaIdentity) -> float:
        """Return the slope on the shown value, which noise pulls towards 0: Cov(Z, Y)/Var Z."""
        points, weights = mechanism.nodes()
        keep = mechanism.keep_probability
        mean = (1 - keep) * float(np.sum(weights * points))
        second = keep + (1 - keep) * float(np.sum(weights * points**2))
        return keep * self.slope / (second - mean**2)


__all__ = ["LAW_C", "LAW_D", "ContinuousLaw", "CurveLaw", "DerivativeLaw", "SlopeLaw", "parabola_density"]
