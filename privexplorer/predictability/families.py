"""Families of queries: finite ones, linear ones, Lipschitz functions of the mean; and an unknown process.

Spec predictability, sections 2.5 and 3.12 (Thms 5.1, 5.2, 5.4, A.21 to A.23, Def 5.3, Def A.20); errata E4, E6, E7,
E10, E19, E24.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.predictability._checks import as_numbers, check_covariance, check_level, check_positive
from privexplorer.predictability.bounds import AttackSize, Form
from privexplorer.predictability.spectrum import noise_root, noise_spectrum
from privexplorer.predictability.summary import MomentSummary

Shape: TypeAlias = Literal["l2", "l1", "finite"]

LIPSCHITZ_NOTE = (
    "This holds for Lipschitz functions of the mean, f(E[x]); it is not a bound for the average of f(x) over people, "
    "for which a finite family can be used."
)
"""What must stand beside Thm 5.4 (erratum E7)."""


# --- finite families -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FiniteFamily:
    """Bound for finitely many queries and finitely many possible processes (Thm 5.1).

    Attributes
    ----------
    terms : (weights, queries) float array
        V_q r for each pair.
    size : AttackSize
        Of the attacker.
    smoothness : float
        H.
    pairs : int
        |Q||W|, at least the number of terms.
    """

    terms: FloatArray
    size: AttackSize
    smoothness: float
    pairs: int

    @property
    def largest(self) -> float:
        """Largest V_q r."""
        return float(self.terms.max(initial=0.0))

    @property
    def log_factor(self) -> float:
        """1 + log(4|Q||W|)."""
        return 1.0 + math.log(4.0 * self.pairs)

    @property
    def bound(self) -> float:
        """H (1 + log(4|Q||W|)) / n_eff times the largest term."""
        return self.smoothness * self.log_factor / self.size.effective * self.largest

    def high_probability(self, delta: float, form: Form = "corrected") -> float:
        """Return the bound that holds with probability 1 - δ: log(4|Q||W|/δ), doubled when corrected (E4)."""
        tail = math.log(4.0 * self.pairs / check_level(delta, "The failure probability δ", "delta"))
        factor = 2.0 * tail if form == "corrected" else tail
        return self.smoothness * factor / self.size.effective * self.largest


def finite_family(
    summaries: Sequence[MomentSummary],
    size: AttackSize,
    covariance: ArrayLike | None = None,
    *,
    noise_multiplier: float = 1.0,
    smoothness: float = 2.0,
    pairs: int | None = None,
) -> FiniteFamily:
    """Return the bound for the queries of one or more summaries, one summary per possible process.

    Parameters
    ----------
    summaries : sequence of MomentSummary
        The same queries and release under each process that the attacker may face.
    pairs : int, optional
        A larger family size |Q||W| of which these are the worst.
    """
    if not summaries:
        raise ParameterError("At least one process is needed.", field="weights")
    terms = np.array(
        [one.query_variance * np.sqrt(noise_spectrum(one, covariance, noise_multiplier).r2()) for one in summaries]
    )
    count = terms.size if pairs is None else int(pairs)
    if count < terms.size:
        raise ParameterError(
            f"The family has {terms.size} pairs of query and process already; its size cannot be {count}.",
            field="pairs",
        )
    return FiniteFamily(terms, size, check_positive(smoothness, "The smoothness constant H", "smoothness"), count)


def lipschitz_constant(values: ArrayLike, grid: ArrayLike) -> float:
    """Return the largest difference quotient of a function given on a grid (Def A.8); at most its Lipschitz constant.

    Parameters
    ----------
    values : (points,) array
        f at the grid.
    grid : (points,) array
        Increasing numbers.

    Examples
    --------
    >>> round(lipschitz_constant(np.abs([-1.0, 0.0, 2.0]), [-1.0, 0.0, 2.0]), 12)
    1.0
    """
    f, x = as_numbers(values, "the values of the function", 1), as_numbers(grid, "the grid", 1)
    if x.size < 2 or f.size != x.size or not np.all(np.diff(x) > 0):
        raise ParameterError("A grid needs at least 2 different points in increasing order, with one value each.")
    # between neighbours the quotient is largest
    return float(np.abs(np.diff(f) / np.diff(x)).max())


# --- Gaussian complexity -------------------------------------------------------------------------------------


def ball_complexity(covariance: ArrayLike, radius: float = 1.0, method: Literal["exact", "bound"] = "bound") -> float:
    """Return the Gaussian complexity of a Euclidean ball, B E‖Σ^½ξ‖, or its bound B √tr Σ (Def A.20, spec 3.12).

    Parameters
    ----------
    covariance : (p, p) array
        Σ.
    radius : float
        B > 0.
    method : {"bound", "exact"}
        The printed formula is the bound (it is printed as an equality, erratum E10). The exact value is an integral
        over the eigenvalues (derived, checked in tests/unit/predictability/test_predictability_families.py).

    Examples
    --------
    >>> round(ball_complexity(np.diag([1.0, 9.0]), method="exact"), 4), round(ball_complexity(np.diag([1.0, 9.0])), 4)
    (2.6659, 3.1623)
    """
    sigma = np.asarray(covariance, dtype=np.float64)
    scale = check_positive(radius, "The radius B", "radius")
    trace = float(np.trace(sigma))
    if method == "bound" or trace <= 0.0:
        return scale * math.sqrt(max(trace, 0.0))
    values = np.maximum(np.linalg.eigvalsh(sigma), 0.0) / trace
    # E√Q = (1/(2√π)) ∫ t^(-3/2) (1 - Π(1 + 2λt)^(-1/2)) dt, with t = exp u
    u = np.arange(-90.0, 90.0, 0.05)
    logs = np.log1p(2.0 * np.multiply.outer(np.exp(u), values)).sum(axis=1)
    integrand = np.exp(-0.5 * u) * -np.expm1(-0.5 * logs)
    return scale * math.sqrt(trace) * float(integrand.sum()) * 0.05 / (2.0 * math.sqrt(math.pi))


def l1_complexity(
    covariance: ArrayLike,
    radius: float = 1.0,
    method: Literal["bound", "printed", "independent", "simulated"] = "bound",
    draws: int = 20_000,
    rng: np.random.Generator | None = None,
) -> float:
    """Return the Gaussian complexity of an L1 ball, B E max|Σ^½ξ|, or a formula for it (Def A.20, erratum E10).

    Parameters
    ----------
    covariance : (p, p) array
        Σ.
    radius : float
        B > 0.
    method : {"bound", "printed", "independent", "simulated"}
        ``"bound"``: B √(2 log 2p) max sd. ``"printed"``: B √(log p) max sd, which is too small. ``"independent"``:
        exact for a diagonal Σ, by integration. ``"simulated"``: from ``draws`` random vectors.
    draws : int
        For ``"simulated"``.
    rng : numpy.random.Generator, optional
        Needed for ``"simulated"``.
    """
    sigma = np.asarray(covariance, dtype=np.float64)
    scale = check_positive(radius, "The radius B", "radius")
    sds = np.sqrt(np.maximum(np.diagonal(sigma), 0.0))
    widest = float(sds.max())
    if method == "printed":
        return scale * math.sqrt(math.log(sds.size)) * widest
    if method == "bound":
        return scale * math.sqrt(2.0 * math.log(2.0 * sds.size)) * widest
    if widest == 0.0:
        return 0.0
    if method == "independent":
        nodes, masses = np.polynomial.legendre.leggauss(16)
        panel = widest * (math.sqrt(2.0 * math.log(2.0 * sds.size)) + 9.0) / 40.0
        x = (panel * (np.arange(40.0)[:, None] + 0.5 * (nodes + 1.0))).ravel()
        inside = np.prod(2.0 * ndtr(x[:, None] / np.where(sds == 0.0, 1e-300, sds)) - 1.0, axis=1)
        return scale * 0.5 * panel * float(np.tile(masses, 40) @ (1.0 - inside))
    if rng is None:
        raise ParameterError("A simulated complexity needs a random generator.", field="rng")
    vectors = np.einsum("nk,kp->np", rng.standard_normal((draws, sds.size)), noise_root(sigma))
    return scale * float(np.abs(vectors).max(axis=1).mean())


def finite_complexity(covariance: ArrayLike, directions: ArrayLike, draws: int, rng: np.random.Generator) -> float:
    """Return E max |u·Σ^½ξ| over the rows u of a finite set and their opposites, simulated (Def A.20)."""
    sigma = np.asarray(covariance, dtype=np.float64)
    rows = np.atleast_2d(as_numbers(directions, "the directions"))
    vectors = np.einsum("nk,kp->np", rng.standard_normal((draws, sigma.shape[0])), noise_root(sigma))
    return float(np.abs(np.einsum("np,up->nu", vectors, rows)).max(axis=1).mean())


def supremum_level(complexity: float, spread: float, delta: float) -> float:
    """Return the level that a Gaussian supremum exceeds with probability at most δ (Thm A.23).

    Parameters
    ----------
    complexity : float
        𝒢(Σ^½U).
    spread : float
        𝒟, the largest uᵀΣu.
    delta : float
        In (0, 1).
    """
    return complexity + math.sqrt(2.0 * math.log(1.0 / check_level(delta, "The probability δ", "delta")) * spread)


# --- linear families -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LinearFamily:
    """Everything about linear queries u·x of a release (Thm A.22); make one with :func:`linear_family`.

    Attributes
    ----------
    before : (p, p) float array
        Σ₁, covariance of the (weighted) x.
    explained : (p, p) float array
        Σ₁ - Σ₂, with noise.
    without_noise : (p, p) float array
        The same for the exact release.
    size : AttackSize
        Of the attacker.
    smoothness : float
        H.
    """

    before: FloatArray
    explained: FloatArray
    without_noise: FloatArray
    size: AttackSize
    smoothness: float

    @property
    def after(self) -> FloatArray:
        """Σ₂ = Σ₁ - C (V_g + JΣJᵀ)⁺ Cᵀ (Thm A.22; the sign before c₀ is corrected, erratum E19)."""
        return np.asarray(self.before - self.explained)

    @property
    def printed_after(self) -> FloatArray:
        """Σ₂ as printed in Thm A.21 (erratum E19): Σ₁ - C V_g⁺ Cᵀ - c₀, which may have eigenvalues below 0."""
        return np.asarray(self.before - self.without_noise - self.c0)

    @property
    def c0(self) -> FloatArray:
        """Matrix c₀: what the noise takes away."""
        return np.asarray(self.without_noise - self.explained)

    @property
    def smallest_c0(self) -> float:
        """Smallest eigenvalue of c₀, at least 0."""
        values = np.linalg.eigvalsh(self.c0)
        return max(float(values[0]), 0.0) if float(values[0]) > 1e-12 * float(np.abs(values).max()) else 0.0

    @property
    def rho1_cc(self) -> float:
        """First canonical correlation of x with the moments, no noise (Def 5.3)."""
        scale = np.sqrt(np.maximum(np.diagonal(self.before), 0.0))
        scale = np.where(scale == 0.0, 1.0, scale)
        values, vectors = np.linalg.eigh(self.before / np.outer(scale, scale))
        keep = values > 1e-12 * values.max(initial=0.0)
        whiten = vectors[:, keep] / np.sqrt(values[keep]) / scale[:, None]
        largest = float(np.linalg.eigvalsh(whiten.T @ self.without_noise @ whiten)[-1]) if keep.any() else 0.0
        return math.sqrt(min(max(largest, 0.0), 1.0))

    def _factors(
        self, shape: Shape, radius: float, tail: float, exact: bool, directions: FloatArray | None,
        draws: int, rng: np.random.Generator | None,
    ) -> float:  # fmt: skip
        product = 1.0
        for sigma in (self.before, self.explained):
            if shape == "l2":
                complexity = ball_complexity(sigma, radius, "exact" if exact else "bound")
                spread = radius**2 * max(float(np.linalg.eigvalsh(sigma)[-1]), 0.0)
            elif shape == "l1":
                complexity = l1_complexity(sigma, radius, "simulated" if exact else "bound", draws, rng)
                spread = radius**2 * float(np.diagonal(sigma).max())
            elif shape == "finite":
                if directions is None or rng is None:
                    raise ParameterError("A finite set of queries needs its directions and a random generator.")
                complexity = finite_complexity(sigma, directions, draws, rng)
                spread = float(np.einsum("up,pq,uq->u", directions, sigma, directions).max())
            else:
                raise ParameterError(f"The family must be 'l2', 'l1' or 'finite'; it is '{shape}'.", field="shape")
            product *= complexity + math.sqrt(2.0 * tail * spread)
        return product

    def bound(
        self,
        shape: Shape = "l2",
        radius: float = 1.0,
        *,
        exact: bool = False,
        delta: float | None = None,
        directions: ArrayLike | None = None,
        draws: int = 20_000,
        rng: np.random.Generator | None = None,
    ) -> float:
        """Return the bound of Thm A.21 on the expected supremum over the family.

        Parameters
        ----------
        shape : {"l2", "l1", "finite"}
            Euclidean ball, L1 ball, or a finite set of directions (and their opposites).
        radius : float
            B, or the Lipschitz constant L for Lipschitz functions of the mean (sharper than Thm 5.4).
        exact : bool
            Use the exact complexity of a ball (simulated for the L1 ball) instead of its bound.
        delta : float, optional
            Return the bound that holds with probability 1 - δ instead: 1 + log 2 becomes log(2/δ).
        directions : (u, p) array, optional
            For a finite set.
        draws : int
            Random vectors of simulated complexities.
        rng : numpy.random.Generator, optional
            For simulated complexities.
        """
        tail = 1.0 + math.log(2.0)
        if delta is not None:
            tail = math.log(2.0 / check_level(delta, "The failure probability δ", "delta"))
        rows = None if directions is None else np.atleast_2d(as_numbers(directions, "the directions"))
        product = self._factors(shape, check_positive(radius, "The radius B", "radius"), tail, exact, rows, draws, rng)
        return self.smoothness / self.size.effective * product

    def trace_bound(self, radius: float = 1.0, form: Form = "corrected") -> float:
        """Return the bound of Thm 5.2 (ball of radius B) or Thm 5.4 (Lipschitz constant L).

        ``4 H B² (2 + log 2) / n_eff · tr Σ₁ · √(ρ¹² - λ_min(c₀)/tr Σ₁)``; printed with B instead of B² (erratum E6).
        Never below :meth:`bound`.
        """
        scale = check_positive(radius, "The radius B", "radius")
        trace = float(np.trace(self.before))
        if trace <= 0.0:
            return 0.0
        inner = max(self.rho1_cc**2 - self.smallest_c0 / trace, 0.0)
        power = scale if form == "printed" else scale * scale
        constant = 4.0 * self.smoothness * (2.0 + math.log(2.0))
        return constant * power / self.size.effective * trace * math.sqrt(inner)

    def simulated_supremum(
        self,
        draws: int,
        rng: np.random.Generator,
        radius: float = 1.0,
        what: Literal["gain", "product"] = "gain",
        directions: ArrayLike | None = None,
    ) -> FloatArray:
        """Draw the supremum over a ball (or a finite set) under the limiting normal law, one value per draw.

        Parameters
        ----------
        draws : int
            How many.
        rng : numpy.random.Generator
            Source of randomness.
        radius : float
            B; ignored for a finite set.
        what : {"gain", "product"}
            Supremum of (H/2)((u·e₁)² - (u·e₂)²), the loss gap of squared loss, or of H|u·e₁||u·(e₁ - e₂)|, which
            Lem 2.9 puts in its place.
        directions : (u, p) array, optional
            A finite set.

        Returns
        -------
        (draws,) float array
        """
        size = (draws, len(self.before))
        return self.suprema(rng.standard_normal(size), rng.standard_normal(size), radius, what, directions)

    def suprema(
        self,
        first_normals: FloatArray,
        second_normals: FloatArray,
        radius: float = 1.0,
        what: Literal["gain", "product"] = "gain",
        directions: ArrayLike | None = None,
        shape: Literal["l2", "l1"] = "l2",
    ) -> FloatArray:
        """Return the suprema that belong to given standard normal vectors, each of shape ``(draws, p)``.

        The same vectors serve every noise level. ``shape="l1"`` takes the L1 ball instead of the Euclidean one.
        """
        step = np.einsum("nk,kp->np", first_normals, noise_root(self.explained))
        rest = np.einsum("nk,kp->np", second_normals, noise_root(_clipped(self.after)))
        first = rest + step
        constant = self.smoothness / self.size.effective
        if directions is not None:
            rows = np.atleast_2d(as_numbers(directions, "the directions"))
            one, two = np.einsum("np,up->nu", first, rows), np.einsum("np,up->nu", rest, rows)
            values = 0.5 * (one**2 - two**2) if what == "gain" else np.abs(one * (one - two))
            return np.asarray(constant * values.max(axis=1))
        scale = check_positive(radius, "The radius B", "radius") ** 2
        if shape == "l1":
            if what == "product":
                return np.asarray(
                    constant * scale * np.maximum(_largest_on_edges(first, step), _largest_on_edges(first, -step))
                )
            return np.asarray(0.5 * constant * scale * np.maximum(_largest_on_edges(step, first + rest), 0.0))
        if what == "product":
            lengths = np.sqrt((first**2).sum(axis=1) * (step**2).sum(axis=1))
            return np.asarray(constant * scale * 0.5 * (lengths + np.abs((first * step).sum(axis=1))))
        # largest eigenvalue of e₁e₁ᵀ - e₂e₂ᵀ, a matrix of rank 2
        one, two = (first**2).sum(axis=1), (rest**2).sum(axis=1)
        both = (first * rest).sum(axis=1)
        root = np.sqrt(np.maximum((one + two) ** 2 - 4.0 * both**2, 0.0))
        return np.asarray(constant * scale * 0.25 * np.maximum(one - two + root, 0.0))


def _largest_on_edges(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return max (u·a)(u·b) over the L1 unit ball for each row a, b of two arrays, shape ``(draws,)``.

    The pairs (u·a, u·b) fill a polygon with corners ±(aᵢ, bᵢ). A product has no maximum inside a polygon, so it is on
    an edge, and an edge joins two corners (derived, checked in
    tests/unit/predictability/test_predictability_families.py).
    """
    x, y = np.concatenate([one, -one], axis=1), np.concatenate([two, -two], axis=1)
    best = (x * y).max(axis=1)
    for corner in range(one.shape[1]):  # by symmetry one end has a positive sign
        dx, dy = x - x[:, corner : corner + 1], y - y[:, corner : corner + 1]
        slope = x[:, corner : corner + 1] * dy + y[:, corner : corner + 1] * dx
        bend = dx * dy
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.where(bend < 0.0, np.clip(-0.5 * slope / bend, 0.0, 1.0), 0.0)
        values = (x[:, corner : corner + 1] + place * dx) * (y[:, corner : corner + 1] + place * dy)
        best = np.maximum(best, values.max(axis=1))
    return np.asarray(best)


def _clipped(sigma: FloatArray) -> FloatArray:
    """Remove eigenvalues just below 0 that rounding left."""
    values, vectors = np.linalg.eigh(sigma)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def linear_family(
    summary: MomentSummary,
    size: AttackSize,
    covariance: ArrayLike | None = None,
    *,
    noise_multiplier: float = 1.0,
    smoothness: float = 2.0,
) -> LinearFamily:
    """Return the linear family whose features are the queries of a summary (Thm A.22).

    Parameters
    ----------
    summary : MomentSummary
        Its queries are the coordinates of x.
    size : AttackSize
        Of the attacker.
    covariance : (d, d) array, optional
        Noise of the release.
    noise_multiplier : float
        ν.
    smoothness : float
        H.
    """
    if covariance is not None:
        check_covariance(covariance, summary.dimension)
    spectrum = noise_spectrum(summary, covariance, noise_multiplier)
    return LinearFamily(
        before=summary.query_covariance,
        explained=spectrum.explained(1.0),
        without_noise=spectrum.explained(0.0),
        size=size,
        smoothness=check_positive(smoothness, "The smoothness constant H", "smoothness"),
    )


__all__ = [
    "LIPSCHITZ_NOTE",
    "FiniteFamily",
    "LinearFamily",
    "Shape",
    "ball_complexity",
    "finite_complexity",
    "finite_family",
    "l1_complexity",
    "linear_family",
    "lipschitz_constant",
    "supremum_level",
]
