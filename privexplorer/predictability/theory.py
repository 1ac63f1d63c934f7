"""The theory behind the bounds, made computable: GMM covariances, limit laws, the regularity checklist (spec 2.3).

Thms 3.2, 3.4, A.12 to A.19, A.24, A.7.1; Eq. (2) and (3); errata E3, E20, E22.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.errors import ParameterError
from privexplorer.predictability._checks import as_numbers, check_covariance, check_fraction
from privexplorer.predictability.attackers import ChainProcess, Process
from privexplorer.predictability.bounds import Loss
from privexplorer.predictability.summary import MomentSummary

# --- GMM -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MomentSystem:
    """The attacker's moment conditions (Eq. (2) and (3)), with their slope and spread.

    The conditions are w(q - p) for the queries asked, then wg for the release, then the noise λ̃ - λ; the parameters
    are p and λ. Before the release only the first block and p are there.

    Attributes
    ----------
    slope : (M, R) float array
        G, mean derivative of the conditions.
    spread : (M, M) float array
        Ω, long-run covariance.
    queries : int
        Number of queries asked.
    """

    slope: FloatArray
    spread: FloatArray
    queries: int

    def query_covariance(self, weight: ArrayLike | None = None) -> FloatArray:
        """Return the covariance of √n(p̂ - p), shape ``(queries, queries)``."""
        found = gmm_covariance(self.slope, self.spread, weight)
        return np.asarray(found[: self.queries, : self.queries])


def moment_system(
    summary: MomentSummary,
    covariance: ArrayLike | None = None,
    noise_multiplier: float = 1.0,
    stage: Literal["before", "after"] = "after",
) -> MomentSystem:
    """Return the conditions before or after the release (Eq. (2); Eq. (3) when the queries are coordinates of x).

    Parameters
    ----------
    summary : MomentSummary
        Of queries and release.
    covariance : (d, d) array, optional
        Noise of the release, invertible; without noise λ is known exactly, so that only p is left to estimate.
    noise_multiplier : float
        ν.
    stage : {"before", "after"}
        Without or with the release.
    """
    asked, moments, numbers = summary.queries, summary.moments, summary.dimension
    if stage == "before":
        return MomentSystem(-np.eye(asked), summary.query_covariance, asked)
    if covariance is None:
        covariances = np.block(
            [
                [summary.query_covariance, summary.cross_covariance],
                [summary.cross_covariance.T, summary.moment_covariance],
            ]
        )
        return MomentSystem(np.vstack([-np.eye(asked), np.zeros((moments, asked))]), covariances, asked)
    sigma = check_covariance(covariance, numbers)
    size = asked + moments + numbers
    slope = np.zeros((size, asked + numbers))
    slope[:asked, :asked] = -np.eye(asked)
    slope[asked : asked + moments, asked:] = summary.jacobian
    slope[asked + moments :, asked:] = -np.eye(numbers)
    spread = np.zeros((size, size))
    spread[:asked, :asked] = summary.query_covariance
    spread[asked : asked + moments, :asked] = summary.cross_covariance.T
    spread[:asked, asked : asked + moments] = summary.cross_covariance
    spread[asked : asked + moments, asked : asked + moments] = summary.moment_covariance
    spread[asked + moments :, asked + moments :] = noise_multiplier * sigma
    return MomentSystem(slope, spread, asked)


def gmm_covariance(slope: ArrayLike, spread: ArrayLike, weight: ArrayLike | None = None) -> FloatArray:
    """Return the asymptotic covariance of √n(θ̂ - θ₀) of a GMM estimator (Thm 3.2, A.16).

    Parameters
    ----------
    slope : (M, R) array
        G of full column rank.
    spread : (M, M) array
        Ω, invertible.
    weight : (M, M) array, optional
        W, symmetric and positive definite; Ω⁻¹ if left out (printed as Ω in A.16, erratum E20). For another weight
        the sandwich (GᵀWG)⁻¹GᵀWΩWG(GᵀWG)⁻¹.

    Returns
    -------
    (R, R) float array
        Never below the one of the best weight, in the order of positive semi-definite matrices (Thm A.24).
    """
    g = np.atleast_2d(as_numbers(slope, "the slope G"))
    omega = np.atleast_2d(as_numbers(spread, "the spread Ω"))
    if omega.shape != (g.shape[0], g.shape[0]):
        raise ParameterError(
            f"The spread Ω must have one row and column per moment: it is {omega.shape[0]} × {omega.shape[1]}, and "
            f"there are {g.shape[0]} moments.",
            field="spread",
        )
    if g.shape[0] < g.shape[1] or np.linalg.matrix_rank(g) < g.shape[1]:
        raise ParameterError(
            f"The {g.shape[1]} parameters are not identified by {g.shape[0]} moments whose derivative has rank "
            f"{np.linalg.matrix_rank(g)}.",
            field="slope",
        )
    if weight is None:
        return np.asarray(np.linalg.inv(g.T @ _solve(omega, g)))
    w = np.asarray(weight, dtype=np.float64)
    bread = np.linalg.inv(g.T @ w @ g)
    return np.asarray(bread @ g.T @ w @ omega @ w @ g @ bread)


def optimal_combination(slope: ArrayLike, spread: ArrayLike) -> FloatArray:
    """Return A* = Ω⁻¹G(GᵀΩ⁻¹G)⁻¹, which minimises AᵀΩA among all A with AᵀG = I (A.7.3).

    For every such A also AᵀΩA* = A*ᵀΩA*, which makes the variance of a difference the difference of variances
    (Thm 3.4).
    """
    g, omega = np.asarray(slope, dtype=np.float64), np.asarray(spread, dtype=np.float64)
    half = _solve(omega, g)
    return np.asarray(half @ np.linalg.inv(g.T @ half))


def _solve(spread: FloatArray, right: FloatArray) -> FloatArray:
    scale = np.sqrt(np.diagonal(spread))
    if not np.all(scale > 0.0):
        raise ParameterError(
            "The spread Ω of the moments is singular: one of them never varies; without noise leave out the last "
            "block.",
            field="spread",
        )
    return np.asarray(np.linalg.solve(spread / np.outer(scale, scale), right / scale[:, None]) / scale[:, None])


def linear_gmm(at_zero: ArrayLike, slope: ArrayLike, weight: ArrayLike) -> FloatArray:
    """Return the minimum of (f₀ + Gθ)ᵀ W (f₀ + Gθ): GMM whose mean moments are linear in θ.

    Parameters
    ----------
    at_zero : (M,) array
        Mean moments at θ = 0.
    slope : (M, R) array
        G.
    weight : (M, M) array
        W, positive definite.
    """
    f, g, w = (np.asarray(one, dtype=np.float64) for one in (at_zero, slope, weight))
    return np.asarray(-np.linalg.solve(g.T @ w @ g, g.T @ w @ f))


def two_efficient_estimates(query: FloatArray, moments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return two efficient estimates of a mean with known-mean moments: one step, and fully minimised (Thm A.17).

    Both minimise fᵀ Ω̂⁻¹ f, f the means of (q - p, g): the first with Ω̂ taken at the plain mean, the second with Ω̂
    moving along with p (then the minimum uses centred covariances; derived, checked in
    tests/unit/predictability/test_predictability_theory.py). They differ by less than 1/√n.

    Parameters
    ----------
    query : (samples, n) array
        Values of the query.
    moments : (samples, n, m) array
        Moments, of population mean 0.
    """
    n = query.shape[1]
    plain = query.mean(axis=1)
    mean = moments.mean(axis=1)
    centred = moments - mean[:, None, :]
    cross = np.einsum("sn,snm->sm", query - plain[:, None], centred) / n
    inner = np.einsum("sni,snj->sij", centred, centred) / n
    outer = inner + mean[:, :, None] * mean[:, None, :]
    steps = [
        np.einsum("sm,sm->s", cross, np.linalg.solve(spread, mean[:, :, None])[:, :, 0]) for spread in (outer, inner)
    ]
    return plain - steps[0], plain - steps[1]


# --- factors and limit laws ----------------------------------------------------------------------------------


def finite_population_factor(compromised_fraction: float) -> float:
    """Return 1 - ν: how much smaller variances are without replacement (A.15, A.16)."""
    return 1.0 - check_fraction(compromised_fraction)


def unknown_mean_factor(compromised_fraction: float) -> float:
    """Return 1/(1-α)²: variance for the mean of the unknown people over that for the whole mean (Thm A.19).

    Examples
    --------
    >>> round(unknown_mean_factor(0.4), 7)
    2.7777778
    """
    return 1.0 / (1.0 - check_fraction(compromised_fraction)) ** 2


def loss_gap_scale(loss: Loss, truth: float) -> float:
    """Return ℓ''/2 at the truth: n times the loss gap tends to this times σ²χ²₁ (Lem A.18).

    1 for squared loss, 1/(2p(1-p)) for log loss of a yes/no query.
    """
    if loss == "squared":
        return 1.0
    if not 0.0 < truth < 1.0:
        raise ParameterError(f"The truth must lie strictly between 0 and 1; it is {truth:g}.", field="truth")
    return 0.5 / (truth * (1.0 - truth))


def standardised_means(
    values: ArrayLike,
    process: Process,
    trials: int,
    rng: np.random.Generator,
    *,
    corrected: bool = True,
) -> FloatArray:
    """Draw sample means of a (weighted) value, centred and scaled to variance 1 in the limit (A.13, A.15).

    Parameters
    ----------
    values : (N,) array
        One value per person; w(v - mean) is averaged over the draws.
    process : Process
        How people are drawn.
    trials : int
        How many means.
    rng : numpy.random.Generator
        Source of randomness.
    corrected : bool
        Use the long-run variance along a chain and the factor 1 - ν without replacement. Leaving them out must fail
        visibly.
    """
    given = as_numbers(values, "the values", 1)
    if given.size != process.records:
        raise ParameterError(f"There are {given.size:,} values for {process.records:,} people.", field="values")
    weights = process.weights
    centred = given - given.mean()
    moved = centred if weights is None else weights * centred
    law = process.probabilities
    spread = float(np.mean(moved**2) if law is None else law @ moved**2)
    factor = 1.0
    if corrected and isinstance(process, ChainProcess):
        totals = np.bincount(process.strata, weights=centred, minlength=process.chain.states) / process.records
        means = (totals / process.chain.stationary)[:, None]
        spread += float((process.chain.long_run(means) - process.chain.lag_zero(means))[0, 0])
    elif corrected and not process.replaces:
        # exact at any N: the variance of a mean of n out of N is (1 - n/N) Var N/(N-1) / n
        factor = (1.0 - process.draws / process.records) * process.records / (process.records - 1)
    out = np.empty(trials)
    step = max(1, 1_000_000 // process.draws)
    for start in range(0, trials, step):
        stop = min(start + step, trials)
        out[start:stop] = moved[process.sample(stop - start, rng)].mean(axis=1)
    return np.asarray(out * math.sqrt(process.draws / (spread * factor)))


def uniform_error(values: ArrayLike, draws: IntArray, grid: ArrayLike, weights: ArrayLike | None = None) -> FloatArray:
    """Return the largest error of the sample mean of |v - θ| over a grid of θ, per sample (A.12, A.14).

    Parameters
    ----------
    values : (N,) array
        One value per person.
    draws : (trials, n) int array
        Places of the people drawn.
    grid : (points,) array
        Values of θ.
    weights : (N,) array, optional
        Importance weights of the process.

    Returns
    -------
    (trials,) float array
        Falls about as 1/√n.
    """
    given = as_numbers(values, "the values", 1)
    scale = np.ones(given.size) if weights is None else np.asarray(weights, dtype=np.float64)
    worst = np.zeros(draws.shape[0])
    for theta in np.atleast_1d(np.asarray(grid, dtype=np.float64)):
        distance = np.abs(given - theta)
        worst = np.maximum(worst, np.abs((scale * distance)[draws].mean(axis=1) - distance.mean()))
    return worst


def running_mean(values: ArrayLike, path: IntArray, weights: ArrayLike | None = None) -> FloatArray:
    """Return the running mean of w·v along one path, which settles on the plain mean (Def A.4)."""
    given = as_numbers(values, "the values", 1)
    moved = given if weights is None else given * np.asarray(weights, dtype=np.float64)
    return np.asarray(np.cumsum(moved[path]) / np.arange(1, path.size + 1))


def is_stationary(law: ArrayLike, transition: ArrayLike, tolerance: float = 1e-12) -> bool:
    """Tell whether a law of the first state is stationary: largest change of πT within 1e-12 (Def A.3)."""
    start = np.asarray(law, dtype=np.float64)
    return bool(np.abs(start @ np.asarray(transition, dtype=np.float64) - start).max() < tolerance)


# --- the checklist -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """One line of the regularity checklist (A.7.1).

    Attributes
    ----------
    name : str
        What is needed.
    status : {"holds", "fails", "assumed"}
        Whether it was checked on the table, or is supposed.
    text : str
        The number behind it, or why it is supposed.
    """

    name: str
    status: Literal["holds", "fails", "assumed"]
    text: str


def regularity(summary: MomentSummary, process: Process, covariance: ArrayLike | None = None) -> tuple[Condition, ...]:
    """Return the checklist A.7.1 for queries, release and attacker.

    Checked: enough moments, rank of G, smallest eigenvalue of Ω, mixing and sampling. Supposed: compact parameter
    space, one root, differentiability, domination, and that the Bayesian answer is as good as the efficient estimator
    (Bernstein-von Mises).
    """
    noise_free = covariance is None or not np.any(covariance)
    system = moment_system(summary, None if noise_free else covariance)
    rows, columns = system.slope.shape
    rank = int(np.linalg.matrix_rank(system.slope))
    block = system.spread[: summary.queries + summary.moments, : summary.queries + summary.moments]
    scale = np.sqrt(np.maximum(np.diagonal(block), 0.0))
    scale = np.where(scale == 0.0, 1.0, scale)
    lowest = float(np.linalg.eigvalsh(block / np.outer(scale, scale))[0])
    reason = process.supports("theory")
    approximate = bool(summary.notes)
    return (
        Condition("Compact parameter space, truth inside", "assumed", "A bounded range of λ around the release."),
        Condition(
            "At least as many moments as parameters",
            "holds" if rows >= columns else "fails",
            f"{rows} moments, {columns} parameters.",
        ),
        Condition(
            "Differentiable moments",
            "assumed",
            "A quantile's moment has a jump; its mean is treated as smooth."
            if approximate
            else "True of the releases.",
        ),
        Condition(
            "One root",
            "assumed",
            f"The release solves its equations: largest mean moment {_largest_mean(summary):.2g}. That there is no "
            "other solution is supposed.",
        ),
        Condition(
            "Derivative of full rank",
            "holds" if rank == columns else "fails",
            f"Rank {rank} of {columns}.",
        ),
        Condition(
            "Covariance positive definite",
            "holds" if lowest > 1e-10 else "fails",
            f"Smallest eigenvalue of the scaled covariance {max(lowest, 0.0):.3g}."
            + (" A pseudo-inverse is used instead." if lowest <= 1e-10 else ""),
        ),
        Condition("Dominated moments", "holds", "A finite table has every moment."),
        Condition(
            "Central limit theorem and uniform law",
            "holds" if reason is None else "fails",
            process.theory if reason is None else reason,
        ),
        Condition(
            "Noise-free block" if noise_free else "Noise independent of the data",
            "assumed",
            "Without noise λ is known exactly." if noise_free else "One draw, independent of table and attacker.",
        ),
        Condition("Bayesian answer as good as the efficient one (Bernstein-von Mises)", "assumed", "Used by Thm 3.3."),
    )


def _largest_mean(summary: MomentSummary) -> float:
    return float(np.abs(summary.moment_mean).max(initial=0.0))


__all__ = [
    "Condition",
    "MomentSystem",
    "finite_population_factor",
    "gmm_covariance",
    "is_stationary",
    "linear_gmm",
    "loss_gap_scale",
    "moment_system",
    "optimal_combination",
    "regularity",
    "running_mean",
    "standardised_means",
    "two_efficient_estimates",
    "uniform_error",
    "unknown_mean_factor",
]
