"""Several releases one after the other: what each one adds (Thm A.11); and post-processing (Thm A.10)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.predictability._checks import check_covariance
from privexplorer.predictability.bounds import KAPPA, AttackSize
from privexplorer.predictability.spectrum import noise_spectrum
from privexplorer.predictability.summary import MomentSummary


@dataclass(frozen=True, eq=False)
class ReleaseLedger:
    """What releases reveal in one order; arrays end in ``(queries,)``.

    Attributes
    ----------
    order : tuple of int
        Which release comes when.
    variances : (releases + 1, queries) float array
        σ² without a release, after the first, after the second ...
    terms : (releases, queries) float array
        Printed bound of each release given the earlier ones; their sum is the chain bound.
    gains : (releases, queries) float array
        Squared-loss gain of each release given the earlier ones; they add exactly.
    joint : (queries,) float array
        Printed bound of all releases at once.
    marginal : (releases, queries) float array
        Printed bound of each release alone, in the same order.
    """

    order: tuple[int, ...]
    variances: FloatArray
    terms: FloatArray
    gains: FloatArray
    joint: FloatArray
    marginal: FloatArray

    @property
    def chain_bound(self) -> FloatArray:
        """Sum of the terms: γ(A₁) + γ(A₂ | A₁) + ... (Thm A.11)."""
        return np.asarray(self.terms.sum(axis=0))

    @property
    def total_gain(self) -> FloatArray:
        """Sum of the gains, the gain of all releases at once."""
        return np.asarray(self.gains.sum(axis=0))


def release_ledger(
    summary: MomentSummary,
    moment_blocks: Sequence[range],
    number_blocks: Sequence[range],
    covariance: ArrayLike,
    size: AttackSize,
    *,
    order: Sequence[int] | None = None,
    noise_multiplier: float = 1.0,
    smoothness: float = 2.0,
) -> ReleaseLedger:
    """Return the ledger of several releases in one order.

    Parameters
    ----------
    summary : MomentSummary
        Of all releases at once, for instance of a ``FittedStack``.
    moment_blocks, number_blocks : sequences of range
        Which moments and which released numbers belong to each release.
    covariance : (d, d) array
        Noise on all released numbers; releases have independent noise, so blocks between releases are 0.
    size : AttackSize
        Of the attacker.
    order : sequence of int, optional
        As given if left out.
    noise_multiplier : float
        ν.
    smoothness : float
        H of the attacker's loss.
    """
    count = len(moment_blocks)
    chosen = tuple(range(count)) if order is None else tuple(order)
    if sorted(chosen) != list(range(count)):
        raise ParameterError(f"An order lists each of the {count} releases once.", field="order")
    sigma = check_covariance(covariance, summary.dimension)
    _check_independent(sigma, number_blocks)
    base = summary.query_variance

    def explained(which: Sequence[int]) -> FloatArray:
        moments = sorted(place for one in which for place in moment_blocks[one])
        numbers = sorted(place for one in which for place in number_blocks[one])
        part = summary.select(moments=moments)
        found = noise_spectrum(part, sigma[np.ix_(numbers, numbers)], noise_multiplier)
        return np.asarray(found.r2() * base)

    left = np.vstack([base, *(base - explained(chosen[: stop + 1]) for stop in range(count))])
    left = np.minimum.accumulate(np.maximum(left, 0.0), axis=0)
    drops = left[:-1] - left[1:]
    factor = smoothness * KAPPA / size.effective
    alone = np.array([explained([one]) for one in chosen])
    return ReleaseLedger(
        order=chosen,
        variances=left,
        terms=factor * np.sqrt(left[:-1] * drops),
        gains=drops / size.effective,
        joint=factor * np.sqrt(base * (base - left[-1])),
        marginal=factor * np.sqrt(base * alone),
    )


def all_orders(count: int, most: int = 24) -> list[tuple[int, ...]]:
    """Return the orders of ``count`` releases, at most ``most``, the given one first."""
    return list(itertools.islice(itertools.permutations(range(count)), most))


def _check_independent(sigma: FloatArray, blocks: Sequence[range]) -> None:
    for first, second in itertools.combinations(blocks, 2):
        if np.any(sigma[first.start : first.stop, second.start : second.stop]):
            raise ParameterError(
                "Separate releases have independent noise, so the covariance between the numbers of two releases must "
                "be 0.",
                field="covariance",
            )


@dataclass(frozen=True, eq=False)
class PostProcessing:
    """A release before and after a linear map R of its noisy numbers (Thm A.10).

    Attributes
    ----------
    before, after : (queries,) float arrays
        r² of λ + Δ and of R(λ + Δ); the second is never larger.
    covariance : (k, k) float array
        RΣRᵀ.
    """

    before: FloatArray
    after: FloatArray
    covariance: FloatArray


def post_process(
    summary: MomentSummary, covariance: ArrayLike, matrix: ArrayLike, noise_multiplier: float = 1.0
) -> PostProcessing:
    """Return what is left of a noisy release after a linear map (spec 3.4)."""
    sigma = check_covariance(covariance, summary.dimension)
    rule = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
    # the size of a row does not matter to r²; tiny rows would lose their noise to underflow
    size = np.abs(rule).max(axis=1, keepdims=True)
    unit = rule / np.where(size > 0.0, size, 1.0)
    return PostProcessing(
        noise_spectrum(summary, sigma, noise_multiplier).r2(),
        noise_spectrum(summary.project(unit), unit @ sigma @ unit.T, noise_multiplier).r2(),
        rule @ sigma @ rule.T,
    )


__all__ = ["PostProcessing", "ReleaseLedger", "all_orders", "post_process", "release_ledger"]
