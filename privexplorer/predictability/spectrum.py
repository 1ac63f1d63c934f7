"""Noise against the spread of the moments: how much of a query a noisy release explains.

Spec predictability, sections 1.3 and 3.2; errata E1, E21.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import ConvergenceError, ParameterError
from privexplorer.predictability._checks import as_numbers, check_covariance, check_non_negative
from privexplorer.predictability.summary import GRAM_CUT, MomentSummary, root_from_gram


@dataclass(frozen=True, eq=False)
class NoiseSpectrum:
    """How much of each query the noisy release explains, direction by direction.

    With W the noise seen in units of V_g, r²(level) V_q = sum of parts² / (1 + level · ratios): all noise levels at
    once, no subtraction, no inverse of the noise (derived, checked in
    tests/unit/predictability/test_predictability_bounds.py).

    Attributes
    ----------
    variance : (queries,) float array
        V_q.
    parts : (rank, queries) float array
        Share of the query along each direction, unit of the query.
    ratios : (rank,) float array
        Variance of the noise over that of the moments, per direction.
    """

    variance: FloatArray
    parts: FloatArray
    ratios: FloatArray

    def r2(self, level: ArrayLike = 1.0) -> FloatArray:
        """Return r² at noise covariance ``level · Σ``: shape of ``level`` followed by ``(queries,)``."""
        kept = 1.0 / (1.0 + np.multiply.outer(np.asarray(level, dtype=np.float64), self.ratios))
        return self._share(kept @ np.square(self.parts))

    def c0(self, level: ArrayLike = 1.0) -> FloatArray:
        """Return c₀ = ρ² - r² at noise covariance ``level · Σ``, with full relative accuracy for tiny noise."""
        noise = np.multiply.outer(np.asarray(level, dtype=np.float64), self.ratios)
        return self._share((noise / (1.0 + noise)) @ np.square(self.parts))

    @property
    def rho2(self) -> FloatArray:
        """Squared canonical correlation of each query with the release without noise."""
        return self._share(np.square(self.parts).sum(axis=0))

    def explained(self, level: float = 1.0) -> FloatArray:
        """Return the explained covariance between queries, Σ₁ - Σ₂ of Thm A.22, shape ``(queries, queries)``."""
        kept = 1.0 / (1.0 + level * self.ratios)
        return np.asarray(self.parts.T @ (kept[:, None] * self.parts))

    def _share(self, explained: FloatArray) -> FloatArray:
        known = np.broadcast_to(self.variance > 0, explained.shape)
        share = np.divide(explained, self.variance, out=np.zeros_like(explained), where=known)
        if float(share.max(initial=0.0)) > 1.0 + 1e-9:
            raise ConvergenceError(
                f"The release seems to explain {float(share.max()):.6g} of a query's variance, above 1: the moments "
                "are too ill-conditioned for double precision."
            )
        return np.minimum(share, 1.0)


def noise_root(covariance: FloatArray) -> FloatArray:
    """Return a matrix L with LᵀL = Σ for a positive semi-definite Σ, shape ``(d, d)``."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    scale = np.where(scale == 0.0, 1.0, scale)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    half = np.sqrt(np.where(values > 1e-14 * values.max(initial=0.0), np.maximum(values, 0.0), 0.0))
    return np.asarray((half[:, None] * vectors.T) * scale)


def noise_spectrum(
    summary: MomentSummary, covariance: ArrayLike | None = None, noise_multiplier: float = 1.0
) -> NoiseSpectrum:
    """Compare the noise of a release with the spread of its moments.

    Parameters
    ----------
    summary : MomentSummary
        Of queries and release.
    covariance : (d, d) array, optional
        Noise covariance Σ, unit of λ squared; no noise if left out. May be singular.
    noise_multiplier : float
        ν: 1 on the paper's scale; how many times a shared draw weighs on the release scale (erratum E1).

    Returns
    -------
    NoiseSpectrum
        Its ``r2()`` is ``cᵀ (V_g + ν J Σ Jᵀ)⁺ c / V_q`` (spec 1.3, the Woodbury form of Thm 3.6).

    Raises
    ------
    ParameterError
        If Σ has the wrong shape, is not symmetric or has a negative eigenvalue.
    """
    multiplier = check_non_negative(noise_multiplier, "The noise multiplier ν", "noise_multiplier")
    variance = summary.query_variance
    scores = np.where(summary.is_constant, 0.0, summary.scores)
    if covariance is None:
        return NoiseSpectrum(variance, scores, np.zeros(summary.rank))
    sigma = check_covariance(covariance, summary.dimension)
    if not np.any(sigma) or multiplier == 0.0:
        return NoiseSpectrum(variance, scores, np.zeros(summary.rank))
    noise = math.sqrt(multiplier) * (noise_root(sigma) @ summary.jacobian.T)  # (d, m)
    scale = np.sqrt(np.square(summary.root).sum(axis=0))
    noise_size = np.sqrt(np.square(noise).sum(axis=0))
    # a constant moment is seen through its noise alone; scale it by that noise
    scale = np.where(scale == 0.0, np.where(noise_size == 0.0, 1.0, noise_size), scale)
    left, values, right = np.linalg.svd(summary.root / scale, full_matrices=True)
    rank = summary.rank
    seen = (noise / scale) @ right[:rank].T
    alone = (noise / scale) @ right[rank:].T
    if alone.size:
        # directions without signal show the noise itself: what they reveal no longer hides anything (erratum E21)
        basis, sizes, _ = np.linalg.svd(alone, full_matrices=False)
        shown = basis[:, sizes > 1e-10 * np.abs(noise / scale).max(initial=0.0)]
        seen = seen - shown @ (shown.T @ seen)
    whitened = seen / values[:rank] @ left[:, :rank].T
    _, ratios, turn = np.linalg.svd(whitened, full_matrices=True)
    squares = np.zeros(rank)
    squares[: ratios.size] = np.square(ratios[:rank])
    return NoiseSpectrum(variance, np.asarray(turn @ scores), squares)


def attenuated_r2(
    query_variance: ArrayLike,
    cross: ArrayLike,
    moment_covariance: ArrayLike,
    jacobian: ArrayLike | None = None,
    covariance: ArrayLike | None = None,
    noise_multiplier: float = 1.0,
) -> FloatArray:
    """Return ``r² = cᵀ (V_g + ν J Σ Jᵀ)⁺ c / V_q`` from the four sums (spec 1.3 and 3.2).

    Parameters
    ----------
    query_variance : (K,) or scalar array
        V_q of each query.
    cross : (K, m) or (m,) array
        Covariance c of each query with the moments.
    moment_covariance : (m, m) array
        V_g.
    jacobian : (m, d) array, optional
        J; minus the identity if left out.
    covariance : (d, d) array, optional
        Noise covariance; no noise if left out.
    noise_multiplier : float
        ν, see :func:`noise_spectrum`.

    Returns
    -------
    (K,) float array
        In [0, 1]; 0 for a constant query.

    Examples
    --------
    >>> attenuated_r2(0.25, [0.875], [[5.25]], covariance=[[4.0]])
    array([0.33108108])
    """
    variance = np.atleast_1d(as_numbers(query_variance, "the variance of the query"))
    sigma = np.atleast_2d(as_numbers(moment_covariance, "the covariance of the moments"))
    width = sigma.shape[0]
    check_covariance(sigma, width, "The covariance of the moments")
    moving = np.atleast_2d(as_numbers(cross, "the covariance of query and moments"))
    if moving.shape != (variance.size, width):
        raise ParameterError(
            f"The covariance of query and moments must have shape {variance.size} × {width}, one row per query; it is "
            f"{moving.shape[0]} × {moving.shape[1]}.",
            field="cross",
        )
    slope = -np.eye(width) if jacobian is None else np.atleast_2d(as_numbers(jacobian, "the derivative J"))
    if slope.shape[0] != width:
        raise ParameterError(
            f"The derivative J needs one row per moment: it is {slope.shape[0]} × {slope.shape[1]}, and there are "
            f"{width} moments.",
            field="jacobian",
        )
    root, scores, smallest = root_from_gram(sigma, moving.T, GRAM_CUT)
    summary = MomentSummary(
        records=2,
        query_names=tuple(f"query {place + 1}" for place in range(variance.size)),
        query_means=np.zeros(variance.size),
        query_covariance=np.diag(variance),
        root=root,
        scores=scores,
        jacobian=slope,
        parameters=np.zeros(slope.shape[1]),
        smallest_eigenvalue=smallest,
        query_binary=np.zeros(variance.size, dtype=np.bool_),
    )
    return noise_spectrum(summary, covariance, noise_multiplier).r2()


__all__ = ["NoiseSpectrum", "attenuated_r2", "noise_root", "noise_spectrum"]
