"""Targets: averages of a regression that is linear in it, E f(V, X, μ, γ), each one class.

Holds (2) to (10), Prop. 1, (30), (31) and Ex. 2 to Ex. 9 of locally_private_inference. A new target is a class with
the integrand f, its derivative in γ where there is a γ, and, if it is known, the representer r. On finite laws
everything else (value, representer, influence function) follows by enumeration.

The influence function of the effect on the treated has the corrected sign -d·χ/p₁ (E1); the printed one is kept
behind ``printed=True``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.causal.laws import FiniteLaw, Points, Regression, table_regression
from privexplorer.distributions.checks import whole_number
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

PATH_NODES = 32

ScoreParts = tuple[FloatArray, FloatArray, FloatArray, FloatArray]
PointFunction = Callable[[Points], Any]


@dataclass(frozen=True, eq=False)
class Nuisances:
    """What the influence function of Prop. 1 is built from, on a finite law; any of it may be wrong (Thm 1).

    Attributes
    ----------
    regressions : tuple of (2, J) or (1, J) float arrays
        μ_k by treatment and category; one row where the treatment plays no role.
    representers : tuple of float arrays
        r_k, shaped as the regressions.
    gammas, shares, slopes : (L,) float arrays
        Low-dimensional means γ_l = E[g_l | cell], P(cell) and e_l = E ∂f/∂γ_l.
    value : float
        χ.
    """

    regressions: tuple[FloatArray, ...]
    representers: tuple[FloatArray, ...]
    gammas: FloatArray
    shares: FloatArray
    slopes: FloatArray
    value: float

    def replaced(self, **changes: Any) -> Nuisances:
        """Return a copy with some parts replaced; lists become arrays."""
        for name in ("regressions", "representers"):
            if name in changes:
                changes[name] = tuple(np.asarray(a, dtype=np.float64) for a in changes[name])
        for name in ("gammas", "shares", "slopes"):
            if name in changes:
                changes[name] = np.atleast_1d(np.asarray(changes[name], dtype=np.float64))
        return replace(self, **changes)


def scaled(factor: Any, values: Any) -> Any:
    """Product of one factor per record with values that may have one more axis (several functions at once)."""
    factor, values = np.asarray(factor), np.asarray(values)
    return factor[..., None] * values if 0 < factor.ndim < values.ndim else factor * values


class Target(ABC):
    """One number of interest (2)-(7).

    ``integrand(mu, points, gamma)`` is f for targets with one regression and at most one γ; targets with more of
    them override ``f``, ``f_gamma``, ``moments`` and ``cells``.
    """

    name: ClassVar[str]
    """Short stable name."""
    title: ClassVar[str]
    """Words for people."""
    source: ClassVar[str]
    """Label in locally_private_inference."""
    given_treatment: ClassVar[bool] = True
    """Whether the regression conditions on the treatment."""

    @abstractmethod
    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """f(v, x, μ, γ) at points; linear in ``mu``, whose values may have one more axis (several functions)."""

    def integrand_gamma(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """∂f/∂γ at points; 0 for targets without γ."""
        return np.zeros(())

    def moments(self, points: Points) -> tuple[Any, ...]:
        """m_k(v, x) whose regressions are used; the outcome by default."""
        return (points.y,)

    def cells(self, points: Points) -> tuple[tuple[Any, Any], ...]:
        """Pairs (g_l, 1{v_2 = c_l}) of the low-dimensional regressions; none by default."""
        return ()

    def on_arms(self) -> tuple[bool, ...]:
        """For each regression, whether it conditions on the treatment."""
        return (self.given_treatment,)

    def f(self, mus: Sequence[Regression], points: Points, gammas: FloatArray) -> Any:
        """Integrand with all regressions and all γ."""
        return self.integrand(mus[0], points, gammas[0] if gammas.size else np.nan)

    def f_gamma(self, mus: Sequence[Regression], points: Points, gammas: FloatArray) -> tuple[Any, ...]:
        """Partial derivatives of the integrand in each γ."""
        if not gammas.size:
            return ()
        return (self.integrand_gamma(mus[0], points, gammas[0]),)

    # --- on finite laws ---------------------------------------------------------------------------------------

    def regressions(self, law: FiniteLaw) -> tuple[FloatArray, ...]:
        """E[m_k | V₁, X] as tables."""
        moments = self.moments(law.points)
        return tuple(law.conditional_mean(m, arms) for m, arms in zip(moments, self.on_arms(), strict=True))

    def cell_means(self, law: FiniteLaw) -> tuple[FloatArray, FloatArray]:
        """γ_l and P(cell_l), both (L,).

        Raises
        ------
        DataError
            If a cell is empty (E15).
        """
        cells = self.cells(law.points)
        shares = np.array([law.mean(inside) for _, inside in cells], dtype=np.float64)
        if np.any(shares <= 0):
            raise DataError("A group that the target conditions on is empty.", field="target")
        tops = np.array([law.mean(np.asarray(g) * inside) for g, inside in cells], dtype=np.float64)
        return tops / shares, shares

    def mean_integrand(self, law: FiniteLaw, regressions: Sequence[ArrayLike], gammas: ArrayLike) -> float:
        """E f(V, X, μ, γ) under the law at any tables μ and any γ."""
        mus = [table_regression(table) for table in regressions]
        return law.mean(self.f(mus, law.points, np.atleast_1d(np.asarray(gammas, dtype=np.float64))))

    def mean_slopes(self, law: FiniteLaw, regressions: Sequence[ArrayLike], gammas: ArrayLike) -> FloatArray:
        """E ∂f/∂γ_l under the law, shape (L,)."""
        mus = [table_regression(table) for table in regressions]
        parts = self.f_gamma(mus, law.points, np.asarray(gammas, dtype=np.float64).reshape(-1))
        return np.array([law.mean(part) for part in parts], dtype=np.float64)

    def value(self, law: FiniteLaw) -> float:
        """χ under a finite law, by enumeration (3)."""
        return self.mean_integrand(law, self.regressions(law), self.cell_means(law)[0].reshape(-1))

    def representers(self, law: FiniteLaw, gammas: ArrayLike | None = None) -> tuple[FloatArray, ...]:
        """Riesz representers by enumeration, from f alone (10): r = E f(·, 1{cell}, γ) / P(cell)."""
        at = self.cell_means(law)[0] if gammas is None else np.asarray(gammas, dtype=np.float64).reshape(-1)
        arms = self.on_arms()
        zeros = [np.zeros((2 if given else 1, law.levels)) for given in arms]
        out = []
        for k, given in enumerate(arms):
            table = np.zeros_like(zeros[k])
            for cell in np.ndindex(*table.shape):
                indicator = np.zeros_like(table)
                indicator[cell] = 1.0
                tables: list[FloatArray] = [*zeros]
                tables[k] = indicator
                table[cell] = self.mean_integrand(law, tables, at)
            out.append(table / (law.p_dx if given else law.p_x[None, :]))
        return tuple(out)

    def nuisances(self, law: FiniteLaw) -> Nuisances:
        """Return the true nuisances of a finite law."""
        mus = self.regressions(law)
        gammas, shares = self.cell_means(law)
        slopes = self.mean_slopes(law, mus, gammas)
        return Nuisances(
            mus, self.representers(law, gammas), gammas, shares, slopes, self.mean_integrand(law, mus, gammas)
        )

    def influence(self, law: FiniteLaw, nuisances: Nuisances | None = None) -> FloatArray:
        """Influence function of Prop. 1 as a table (Y, 2, J), at the true or at given nuisances.

        Its mean under the law is zero, and its second moment the bound, when the nuisances are the true ones.
        """
        at = self.nuisances(law) if nuisances is None else nuisances
        points = law.points
        mus = [table_regression(table) for table in at.regressions]
        out = np.zeros(law.joint.shape) - at.value
        for table, mu, m in zip(at.representers, mus, self.moments(points), strict=True):
            out = out + table_regression(table)(points) * (m - mu(points))
        for (g, inside), gamma, share, slope in zip(self.cells(points), at.gammas, at.shares, at.slopes, strict=True):
            out = out + np.asarray(inside) / share * (g - gamma) * slope
        return np.asarray(out + self.f(mus, points, at.gammas), dtype=np.float64)

    def representer_loss(self, law: FiniteLaw, table: ArrayLike, gammas: ArrayLike | None = None) -> float:
        """E[h² - 2f(·, h, γ)], least at the representer (31); for targets with one regression."""
        at = self.cell_means(law)[0] if gammas is None else np.asarray(gammas, dtype=np.float64).reshape(-1)
        h = table_regression(table)
        return law.mean(h(law.points) ** 2) - 2.0 * self.mean_integrand(law, [np.asarray(table)], at)


class CausalTarget(Target):
    """Target of the causal setting (34), whose score is affine in the outcome: A_d(x)·y + B_d(x) (section 2.2)."""

    uses_treated_share: ClassVar[bool] = False
    """Whether γ = P(D = 1) enters."""

    @abstractmethod
    def score_parts(
        self,
        pi: ArrayLike,
        mu0: ArrayLike,
        mu1: ArrayLike,
        treated_share: ArrayLike = np.nan,
        slope: ArrayLike = np.nan,
    ) -> ScoreParts:
        """(A₁, B₁, A₀, B₀) of the uncentred score at any nuisances; all arguments broadcast together.

        Parameters
        ----------
        pi, mu0, mu1 : array_like
            Propensity and arm-wise regressions at the same points.
        treated_share, slope : array_like
            p₁ and e = E ∂f/∂γ, only for targets on the treated.
        """

    @abstractmethod
    def representer(self, d: ArrayLike, pi: ArrayLike, treated_share: ArrayLike = np.nan) -> FloatArray:
        """Return the representer r(d, x) in closed form at the propensity ``pi`` = π(x)."""

    @abstractmethod
    def plug_in(self, p_dx: ArrayLike, mu: ArrayLike) -> FloatArray:
        """χ from tables of P(d, x) and μ_d(x), both (..., 2, J): shape (...)."""

    def slope(self, value: ArrayLike, treated_share: ArrayLike = np.nan) -> FloatArray:
        """Mean slope e = E ∂f/∂γ at the value χ: -χ/p₁ for targets on the treated, 0 otherwise."""
        if not self.uses_treated_share:
            return np.zeros_like(np.asarray(value, dtype=np.float64))
        return np.asarray(-np.asarray(value) / np.asarray(treated_share), dtype=np.float64)

    def representers(self, law: FiniteLaw, gammas: ArrayLike | None = None) -> tuple[FloatArray, ...]:
        """Representer in closed form, (2, J)."""
        at = np.nan
        if self.uses_treated_share:
            at = float(self.cell_means(law)[0][0] if gammas is None else np.asarray(gammas).reshape(-1)[0])
        return (self.representer(np.arange(2)[:, None], law.propensity, at),)

    def cells(self, points: Points) -> tuple[tuple[Any, Any], ...]:
        """γ = P(D = 1) for targets on the treated: g = d, no condition."""
        return ((points.d, np.ones(())),) if self.uses_treated_share else ()


def _treated(gamma: Any) -> Any:
    value = np.asarray(gamma, dtype=np.float64)
    if np.any(value <= 0):
        raise ParameterError(
            f"There are no treated units: the treated share must be above 0; it is {value.min():g}.", field="target"
        )
    return value


def _floats(*arrays: ArrayLike) -> tuple[FloatArray, ...]:
    return tuple(np.asarray(a, dtype=np.float64) for a in arrays)


@dataclass(frozen=True)
class MeanUnder(CausalTarget):
    """E Y^a: the mean outcome if everybody were in one arm (Ex. 2).

    Parameters
    ----------
    arm : int
        1 or 0.
    """

    arm: int = 1

    name: ClassVar[str] = "mean-under"
    title: ClassVar[str] = "Mean outcome if everybody were in one arm"
    source: ClassVar[str] = "Ex. 2"

    def __post_init__(self) -> None:
        if self.arm not in (0, 1):
            raise ParameterError(f"The arm must be 0 or 1; it is {self.arm!r}.", field="arm")

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """μ(a, x)."""
        return mu(points.at(d=self.arm))

    def score_parts(
        self,
        pi: ArrayLike,
        mu0: ArrayLike,
        mu1: ArrayLike,
        treated_share: ArrayLike = np.nan,
        slope: ArrayLike = np.nan,
    ) -> ScoreParts:
        """1/π_a in the arm and 0 in the other for A; B = μ_a - A·μ_a."""
        share, mu = _floats(pi, mu1) if self.arm == 1 else _floats(1.0 - np.asarray(pi), mu0)
        inside = 1.0 / share
        own: tuple[FloatArray, FloatArray] = (inside, mu - mu * inside)
        other: tuple[FloatArray, FloatArray] = (np.zeros_like(own[0]), mu + 0.0 * own[0])
        return (*own, *other) if self.arm == 1 else (*other, *own)

    def representer(self, d: ArrayLike, pi: ArrayLike, treated_share: ArrayLike = np.nan) -> FloatArray:
        """1{d = a}/π_a(x)."""
        share = np.asarray(pi, dtype=np.float64) if self.arm == 1 else 1.0 - np.asarray(pi, dtype=np.float64)
        return np.asarray((np.asarray(d) == self.arm) / share)

    def plug_in(self, p_dx: ArrayLike, mu: ArrayLike) -> FloatArray:
        """Σ_x p(x) μ_a(x)."""
        p, m = _floats(p_dx, mu)
        return np.asarray(np.sum(p.sum(axis=-2) * m[..., self.arm, :], axis=-1))


@dataclass(frozen=True)
class ATE(CausalTarget):
    """Average treatment effect E[Y¹ - Y⁰] (Ex. 2)."""

    name: ClassVar[str] = "ate"
    title: ClassVar[str] = "Average effect of the treatment"
    source: ClassVar[str] = "Ex. 2"

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """μ(1, x) - μ(0, x)."""
        return mu(points.at(d=1)) - mu(points.at(d=0))

    def score_parts(
        self,
        pi: ArrayLike,
        mu0: ArrayLike,
        mu1: ArrayLike,
        treated_share: ArrayLike = np.nan,
        slope: ArrayLike = np.nan,
    ) -> ScoreParts:
        """A₁ = 1/π, B₁ = μ₁ - μ₀ - μ₁/π, A₀ = -1/(1 - π), B₀ = μ₁ - μ₀ + μ₀/(1 - π)."""
        share, m0, m1 = _floats(pi, mu0, mu1)
        in_one, in_zero, gap = 1.0 / share, 1.0 / (1.0 - share), m1 - m0
        return in_one, gap - m1 * in_one, -in_zero, gap + m0 * in_zero

    def representer(self, d: ArrayLike, pi: ArrayLike, treated_share: ArrayLike = np.nan) -> FloatArray:
        """d/π - (1 - d)/(1 - π)."""
        arm, share = _floats(d, pi)
        return np.asarray(arm / share - (1.0 - arm) / (1.0 - share))

    def plug_in(self, p_dx: ArrayLike, mu: ArrayLike) -> FloatArray:
        """Σ_x p(x)(μ₁(x) - μ₀(x))."""
        p, m = _floats(p_dx, mu)
        return np.asarray(np.sum(p.sum(axis=-2) * (m[..., 1, :] - m[..., 0, :]), axis=-1))


class OfTheTreated(CausalTarget):
    """Base of the averages over the treated, d·(...)/γ with γ = P(D = 1), so that ∂f/∂γ = -f/γ."""

    uses_treated_share: ClassVar[bool] = True

    def integrand_gamma(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """-f/γ."""
        return -self.integrand(mu, points, gamma) / np.asarray(gamma)


@dataclass(frozen=True)
class UntreatedMeanOfTreated(OfTheTreated):
    """E[Y⁰ | D = 1]: what the treated would have had without treatment (Ex. 3); γ = P(D = 1)."""

    name: ClassVar[str] = "untreated-mean-of-treated"
    title: ClassVar[str] = "Outcome of the treated without treatment"
    source: ClassVar[str] = "Ex. 3"

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """d·μ(0, x)/γ."""
        return scaled(np.asarray(points.d) / _treated(gamma), mu(points.at(d=0)))

    def score_parts(
        self,
        pi: ArrayLike,
        mu0: ArrayLike,
        mu1: ArrayLike,
        treated_share: ArrayLike = np.nan,
        slope: ArrayLike = np.nan,
    ) -> ScoreParts:
        """A₁ = 0, B₁ = μ₀/p₁ + (1 - p₁)e, A₀ = o/p₁, B₀ = -oμ₀/p₁ - p₁e, with o = π/(1 - π)."""
        share, m0, p1, e = _floats(pi, mu0, treated_share, slope)
        weight = share / ((1.0 - share) * p1)
        return np.zeros_like(weight), m0 / p1 + (1.0 - p1) * e, weight, -weight * m0 - p1 * e

    def representer(self, d: ArrayLike, pi: ArrayLike, treated_share: ArrayLike = np.nan) -> FloatArray:
        """(1 - d)/p₁ · π/(1 - π)."""
        arm, share = _floats(d, pi)
        return np.asarray((1.0 - arm) * share / (1.0 - share) / _treated(treated_share))

    def plug_in(self, p_dx: ArrayLike, mu: ArrayLike) -> FloatArray:
        """Σ_x p(1, x) μ₀(x) / p₁."""
        p, m = _floats(p_dx, mu)
        treated = p[..., 1, :]
        return np.asarray(np.sum(treated * m[..., 0, :], axis=-1) / np.sum(treated, axis=-1))


@dataclass(frozen=True)
class ATT(OfTheTreated):
    """Average effect on the treated E[Y¹ - Y⁰ | D = 1] (Ex. 3, sign of E1 corrected); γ = P(D = 1)."""

    name: ClassVar[str] = "att"
    title: ClassVar[str] = "Average effect on the treated"
    source: ClassVar[str] = "Ex. 3, E1"

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """d·(μ(1, x) - μ(0, x))/γ."""
        return scaled(np.asarray(points.d) / _treated(gamma), mu(points.at(d=1)) - mu(points.at(d=0)))

    def score_parts(
        self,
        pi: ArrayLike,
        mu0: ArrayLike,
        mu1: ArrayLike,
        treated_share: ArrayLike = np.nan,
        slope: ArrayLike = np.nan,
    ) -> ScoreParts:
        """A₁ = 1/p₁, B₁ = -μ₀/p₁ + (1 - p₁)e, A₀ = -o/p₁, B₀ = oμ₀/p₁ - p₁e, with o = π/(1 - π); μ₁ drops out."""
        share, m0, p1, e = _floats(pi, mu0, treated_share, slope)
        weight = share / ((1.0 - share) * p1)
        return 1.0 / p1 + 0.0 * weight, -m0 / p1 + (1.0 - p1) * e, -weight, weight * m0 - p1 * e

    def representer(self, d: ArrayLike, pi: ArrayLike, treated_share: ArrayLike = np.nan) -> FloatArray:
        """d/p₁ - (1 - d)/p₁ · π/(1 - π)."""
        arm, share = _floats(d, pi)
        return np.asarray((arm - (1.0 - arm) * share / (1.0 - share)) / _treated(treated_share))

    def plug_in(self, p_dx: ArrayLike, mu: ArrayLike) -> FloatArray:
        """Σ_x p(1, x)(μ₁(x) - μ₀(x)) / p₁."""
        p, m = _floats(p_dx, mu)
        treated = p[..., 1, :]
        return np.asarray(np.sum(treated * (m[..., 1, :] - m[..., 0, :]), axis=-1) / np.sum(treated, axis=-1))

    def influence(self, law: FiniteLaw, nuisances: Nuisances | None = None, *, printed: bool = False) -> FloatArray:
        """Influence function (Y, 2, J); ``printed=True`` gives +d·χ/p₁ as in the text, whose mean is 2χ (E1)."""
        at = self.nuisances(law) if nuisances is None else nuisances
        out = super().influence(law, at)
        return out + 2.0 * law.points.d * at.value / at.gammas[0] if printed else out


@dataclass(frozen=True)
class AverageDerivative(Target):
    """Average of (μ(x + step) - μ(x))/step for a number x (Ex. 4); the regression is E[Y | X].

    Parameters
    ----------
    step : float
        Width of the shift, > 0. The shifted law must be dominated by the law of X: never so for a bounded column.
    """

    step: float

    name: ClassVar[str] = "average-derivative"
    title: ClassVar[str] = "Average slope"
    source: ClassVar[str] = "Ex. 4"
    given_treatment: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (np.isfinite(self.step) and self.step > 0):
            raise ParameterError(
                f"The step of the average slope must be a finite number above 0; it is {self.step:g}.", field="step"
            )

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """(μ(x + step) - μ(x))/step."""
        return (mu(points.at(x=np.asarray(points.x) + self.step)) - mu(points)) / self.step

    def representer(self, density: Callable[[FloatArray], FloatArray], x: ArrayLike) -> FloatArray:
        """(p(x - step) - p(x))/(step·p(x)) for a known density p of X."""
        at = np.asarray(x, dtype=np.float64)
        here = density(at)
        return np.asarray((density(at - self.step) - here) / (self.step * here))


@lru_cache(maxsize=1)
def _legendre() -> tuple[FloatArray, FloatArray]:
    points, weights = np.polynomial.legendre.leggauss(PATH_NODES)
    return np.asarray(points), np.asarray(weights)


def _path_nodes(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    points, weights = _legendre()
    half = (high - low) / 2.0
    return low + half * (points + 1.0), half * weights


def _along_path(mu: Regression, points: Points, places: Callable[[float], FloatArray], low: float, high: float) -> Any:
    total: Any = 0.0
    for t, weight in zip(*_path_nodes(low, high), strict=True):
        total = total + weight * np.asarray(mu(points.at(x=places(float(t)))))
    return total


def _length(vectors: FloatArray) -> FloatArray:
    return np.abs(vectors) if vectors.ndim == 1 else np.asarray(np.sqrt(np.sum(vectors**2, axis=-1)))


def _public(points: Points) -> FloatArray:
    if points.w is None:
        raise DataError("This target needs public columns that describe the paths.", field="public")
    return np.asarray(points.w, dtype=np.float64)


@dataclass(frozen=True)
class RayIntegral(Target):
    """Average of ∫ μ(t·w)‖w‖ dt over rays from the origin through public points w (Ex. 5); f needs no inversion.

    Parameters
    ----------
    low, high : float
        0 < low < high: the part of the ray.
    """

    low: float
    high: float

    name: ClassVar[str] = "ray-integral"
    title: ClassVar[str] = "Average along rays"
    source: ClassVar[str] = "Ex. 5"
    given_treatment: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high < np.inf:
            raise ParameterError(
                f"The ray must run from a number above 0 to a larger one; it runs from {self.low:g} to {self.high:g}.",
                field="ray",
            )

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """Gauss-Legendre with 32 nodes; ``points.w`` is (n,) or (n, d)."""
        w = _public(points)
        return scaled(_length(w), _along_path(mu, points, lambda t: t * w, self.low, self.high))


@dataclass(frozen=True)
class LineIntegral(Target):
    """Average of ∫ μ((1 - t)w_b + t·w_e)‖w_e - w_b‖ dt over public segments (Ex. 6); f needs no inversion.

    ``points.w`` is (n, 2) for numbers, begin and end, or (n, 2, d).
    """

    name: ClassVar[str] = "line-integral"
    title: ClassVar[str] = "Average along segments"
    source: ClassVar[str] = "Ex. 6"
    given_treatment: ClassVar[bool] = False

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """Gauss-Legendre with 32 nodes."""
        w = _public(points)
        if w.ndim not in (2, 3) or w.shape[1] != 2:
            raise DataError("A segment needs a begin and an end for each record.", field="public")
        begin, end = w[:, 0], w[:, 1]
        along = _along_path(mu, points, lambda t: (1.0 - t) * begin + t * end, 0.0, 1.0)
        return scaled(_length(end - begin), along)


class WeightedAverage(Target):
    """E[b·μ] with a known weight b: its score is b·y, since the regression cancels (Ex. 7 and 8, E7)."""

    @abstractmethod
    def weight(self, points: Points) -> FloatArray:
        """Weight b = r at points."""

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """b·μ."""
        return scaled(self.weight(points), mu(points))

    def score(self, points: Points) -> FloatArray:
        """b·y: the whole uncentred score, for any μ."""
        return np.asarray(self.weight(points) * points.y)


@dataclass(frozen=True, eq=False)
class KnownRepresenter(WeightedAverage):
    """E[b(V₁, X)·Y] for a known weight b (Ex. 7): no nuisance at all, since μ cancels (E7).

    Parameters
    ----------
    b : callable
        ``b(points)``; must not look at the outcome.
    """

    b: PointFunction

    name: ClassVar[str] = "known-representer"
    title: ClassVar[str] = "Average with a known weight"
    source: ClassVar[str] = "Ex. 7"

    def weight(self, points: Points) -> FloatArray:
        """Weight b at points."""
        return np.asarray(self.b(points), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class TimeDiscount(WeightedAverage):
    """Average outcome discounted by 1/(1 + κ(x)) (Ex. 8); the regression is E[Y | X].

    Parameters
    ----------
    kappa : callable
        κ(x) >= 0 as a function of the private values alone.
    """

    kappa: Callable[[Any], Any]

    name: ClassVar[str] = "time-discount"
    title: ClassVar[str] = "Discounted average"
    source: ClassVar[str] = "Ex. 8"
    given_treatment: ClassVar[bool] = False

    def weight(self, points: Points) -> FloatArray:
        """1/(1 + κ(x)).

        Raises
        ------
        ParameterError
            If a discount is negative.
        """
        kappa = np.asarray(self.kappa(points.x), dtype=np.float64)
        if not np.all(kappa >= 0):
            raise ParameterError("The discount rate κ must be at least 0 everywhere.", field="kappa")
        return np.asarray(1.0 / (1.0 + kappa))


@dataclass(frozen=True, eq=False)
class Part:
    """One regression of a target with several (Ex. 9).

    Parameters
    ----------
    moment : callable
        m_k(points).
    integrand : callable
        f_k(mu, points), linear in mu.
    given_treatment : bool
        Whether the regression conditions on the treatment too.
    """

    moment: PointFunction
    integrand: Callable[[Regression, Points], Any]
    given_treatment: bool = True


@dataclass(frozen=True, eq=False)
class Cell:
    """One low-dimensional mean γ = E[g | cell] (Ex. 9); ``inside`` is the indicator of the cell."""

    g: PointFunction
    inside: PointFunction


def _one(gammas: FloatArray) -> float:
    return 1.0


def _no_slope(gammas: FloatArray) -> FloatArray:
    return np.zeros_like(gammas)


@dataclass(frozen=True, eq=False)
class SeveralRegressions(Target):
    """φ(γ)·Σ_k f_k(μ_k): several regressions and several low-dimensional means (Ex. 9, E13).

    Parameters
    ----------
    parts : sequence of Part
        At least one regression.
    means : sequence of Cell
        Low-dimensional means; may be empty.
    factor, factor_gradient : callable
        φ and its gradient in γ (L,); 1 by default.
    """

    parts: tuple[Part, ...]
    means: tuple[Cell, ...] = ()
    factor: Callable[[FloatArray], float] = _one
    factor_gradient: Callable[[FloatArray], FloatArray] = _no_slope

    name: ClassVar[str] = "several-regressions"
    title: ClassVar[str] = "Combination of several regressions"
    source: ClassVar[str] = "Ex. 9"

    def __post_init__(self) -> None:
        whole_number(len(self.parts), "The number of regressions", "parts")
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "means", tuple(self.means))

    def integrand(self, mu: Regression, points: Points, gamma: Any = np.nan) -> Any:
        """Integrand of a single regression; refused where there are several (UnsupportedCombination)."""
        if len(self.parts) > 1:
            raise UnsupportedCombination("This target has several regressions; give all of them.", field="target")
        return self.f([mu], points, np.atleast_1d(np.asarray(gamma, dtype=np.float64))[: len(self.means)])

    def moments(self, points: Points) -> tuple[Any, ...]:
        """m_k at points."""
        return tuple(part.moment(points) for part in self.parts)

    def cells(self, points: Points) -> tuple[tuple[Any, Any], ...]:
        """Pairs (g_l, indicator)."""
        return tuple((cell.g(points), cell.inside(points)) for cell in self.means)

    def on_arms(self) -> tuple[bool, ...]:
        """For each regression, whether it conditions on the treatment."""
        return tuple(part.given_treatment for part in self.parts)

    def _sum(self, mus: Sequence[Regression], points: Points) -> Any:
        total: Any = 0.0
        for part, mu in zip(self.parts, mus, strict=True):
            total = total + part.integrand(mu, points)
        return total

    def f(self, mus: Sequence[Regression], points: Points, gammas: FloatArray) -> Any:
        """φ(γ)·Σ_k f_k."""
        return self.factor(gammas) * self._sum(mus, points)

    def f_gamma(self, mus: Sequence[Regression], points: Points, gammas: FloatArray) -> tuple[Any, ...]:
        """∂φ/∂γ_l · Σ_k f_k."""
        if not gammas.size:
            return ()
        total = self._sum(mus, points)
        return tuple(slope * total for slope in self.factor_gradient(gammas))


def two_regressions() -> SeveralRegressions:
    """Worked example of Ex. 9: m₁ = Y, m₂ = (1 - Y)·X, f = μ₁(1, x) - 3μ₂(0, x), for yes/no outcomes and codes x."""
    return SeveralRegressions(
        (
            Part(lambda p: p.y, lambda mu, p: mu(p.at(d=1))),
            Part(lambda p: (1.0 - np.asarray(p.y)) * np.asarray(p.x), lambda mu, p: -3.0 * mu(p.at(d=0))),
        )
    )


CAUSAL_TARGETS: tuple[CausalTarget, ...] = (ATE(), ATT(), MeanUnder(1), MeanUnder(0), UntreatedMeanOfTreated())
"""Targets of the causal setting, the common ones first."""

__all__ = [
    "ATE",
    "ATT",
    "CAUSAL_TARGETS",
    "AverageDerivative",
    "CausalTarget",
    "Cell",
    "KnownRepresenter",
    "LineIntegral",
    "MeanUnder",
    "Nuisances",
    "Part",
    "RayIntegral",
    "ScoreParts",
    "SeveralRegressions",
    "Target",
    "TimeDiscount",
    "UntreatedMeanOfTreated",
    "WeightedAverage",
    "scaled",
    "two_regressions",
]
