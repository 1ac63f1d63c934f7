"""What a table says about queries and a release, people summed out (spec predictability, sections 1.2 and 3.2).

The summary keeps a root of V_g instead of V_g, so that neither duplicated statistics nor a missing noise need a
matrix inverse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import BoolArray, FloatArray
from privexplorer.errors import ParameterError
from privexplorer.predictability._checks import as_numbers

GRAM_CUT = 1e-12
"""Eigenvalues of the scaled V_g at most this share of the largest count as 0 (spec 3.2)."""

ROOT_CUT = 1e-11
"""The same for singular values, where a root of V_g was computed without forming V_g."""


@dataclass(frozen=True, eq=False)
class MomentSummary:
    """What a table says about queries and a release, people summed out.

    Attributes
    ----------
    records : int
        Number of people N.
    query_names : tuple of str
        One name per query.
    query_means : (queries,) float array
        What the attacker estimates, p; unit of the query.
    query_covariance : (queries, queries) float array
        Covariance of the weighted queries; V_q on the diagonal.
    root : (rank, m) float array
        V_g = rootᵀ root, full row rank.
    scores : (rank, queries) float array
        rootᵀ scores = c.
    jacobian : (m, d) float array
        Mean derivative J of the moments.
    parameters : (d,) float array
        Released numbers λ without noise.
    precise : bool
        Whether the root was found without forming V_g.
    notes : tuple of str
        Sentences for the reader, such as that a number is approximate.
    weight_moment : bool
        Whether the last moment is 1 - 1/w (erratum E16).
    smallest_eigenvalue : float
        Of the scaled V_g, over the largest; 1 where a root was summed.
    query_binary : (queries,) bool array
        Which queries are known to be answered by yes (1) or no (0).
    moment_mean : (m,) float array
        Mean of the moments at the released numbers: 0 up to rounding and the tolerance of a fit.
    """

    records: int
    query_names: tuple[str, ...]
    query_means: FloatArray
    query_covariance: FloatArray
    root: FloatArray
    scores: FloatArray
    jacobian: FloatArray
    parameters: FloatArray
    precise: bool = False
    notes: tuple[str, ...] = ()
    weight_moment: bool = False
    smallest_eigenvalue: float = 1.0
    query_binary: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    moment_mean: FloatArray = field(default_factory=lambda: np.zeros(0))

    @property
    def queries(self) -> int:
        """Number of queries."""
        return int(self.query_means.size)

    @property
    def moments(self) -> int:
        """Number of moments m."""
        return int(self.root.shape[1])

    @property
    def dimension(self) -> int:
        """Number of released numbers d."""
        return int(self.jacobian.shape[1])

    @property
    def rank(self) -> int:
        """Rank of V_g."""
        return int(self.root.shape[0])

    @property
    def query_variance(self) -> FloatArray:
        """V_q of each query, shape ``(queries,)``; 0 for a constant query."""
        diagonal = np.array(np.diagonal(self.query_covariance))
        diagonal[self.is_constant] = 0.0
        return diagonal

    @property
    def is_constant(self) -> BoolArray:
        """Which queries have the same answer for everybody, up to rounding."""
        diagonal = np.diagonal(self.query_covariance)
        return np.asarray(diagonal <= 1e-26 * np.square(self.query_means) + 1e-300)

    @property
    def cross_covariance(self) -> FloatArray:
        """Covariance c of each query with the moments, shape ``(queries, m)``."""
        return np.asarray(self.scores.T @ self.root)

    @property
    def moment_covariance(self) -> FloatArray:
        """V_g, shape ``(m, m)``."""
        return np.asarray(self.root.T @ self.root)

    @property
    def sandwich_root(self) -> FloatArray:
        """A root Y with V_sand = Y Yᵀ, shape ``(d, rank)`` (Lem 4.3, spec 3.7)."""
        inverse = self._inverse_jacobian()
        return np.asarray(inverse @ self.root.T)

    @property
    def sandwich(self) -> FloatArray:
        """Covariance V_sand = J⁻¹ V_g J⁻ᵀ of the released numbers over samples, shape ``(d, d)`` (Lem 4.3)."""
        half = self.sandwich_root
        return np.asarray(half @ half.T)

    def _inverse_jacobian(self) -> FloatArray:
        kept = self.moments - self.weight_moment
        square = self.jacobian[:kept]
        if square.shape[0] != square.shape[1]:
            raise ParameterError(
                f"This needs as many moments as released numbers; there are {square.shape[0]} and {square.shape[1]}."
            )
        check_identified(square)
        inverse = np.zeros((square.shape[1], self.moments))
        inverse[:, :kept] = np.linalg.inv(square)
        return inverse

    def select(
        self, queries: Sequence[int] | slice | None = None, moments: Sequence[int] | slice | None = None
    ) -> MomentSummary:
        """Return the summary of some of the queries and moments.

        The released numbers stay in their order; those that concern none of the kept moments are dropped.
        """
        which = np.arange(self.queries)[slice(None) if queries is None else queries]
        out = replace(
            self,
            query_names=tuple(self.query_names[place] for place in which),
            query_means=self.query_means[which],
            query_covariance=self.query_covariance[np.ix_(which, which)],
            query_binary=self.query_binary[which],
            scores=self.scores[:, which],
        )
        if moments is None:
            return out
        jacobian = self.jacobian[moments]
        used = np.asarray(np.any(jacobian != 0.0, axis=0))
        root, scores = reduced_root(self.root[:, moments], out.scores, self._cut)
        return replace(
            out,
            root=root,
            scores=scores,
            jacobian=jacobian[:, used],
            parameters=self.parameters[used],
            weight_moment=False,
        )

    def project(self, matrix: ArrayLike) -> MomentSummary:
        """Return the summary of the release Rλ (Thm A.10, spec 3.4).

        Parameters
        ----------
        matrix : (k, d) array
            R; its noise must be given for the k new numbers, for instance RΣRᵀ when a noisy λ was post-processed.
        """
        rule = as_numbers(matrix, "the matrix R", 2)
        if rule.shape[1] != self.dimension:
            raise ParameterError(
                f"The matrix R needs one column per released number; it has {rule.shape[1]} and {self.dimension} "
                "numbers are released.",
                field="matrix",
            )
        influence = self.sandwich_root.T @ rule.T  # rows: rank, columns: k
        root, scores = reduced_root(influence, self.scores, self._cut)
        return replace(
            self,
            root=root,
            scores=scores,
            jacobian=-np.eye(rule.shape[0]),
            parameters=rule @ self.parameters,
            weight_moment=False,
        )

    @property
    def _cut(self) -> float:
        return ROOT_CUT if self.precise else math.sqrt(GRAM_CUT)


def reduced_root(root: FloatArray, scores: FloatArray, cut: float) -> tuple[FloatArray, FloatArray]:
    """Bring a root of V_g to full row rank, and the scores with it.

    Columns are scaled to unit length first; singular values at most ``cut`` times the largest count as 0.
    """
    scale = np.sqrt(np.square(root).sum(axis=0))
    scale[scale == 0.0] = 1.0
    left, values, right = np.linalg.svd(root / scale, full_matrices=False)
    keep = values > cut * values.max(initial=0.0)
    return np.asarray((values[keep, None] * right[keep]) * scale), np.asarray(left[:, keep].T @ scores)


def root_from_gram(moment: FloatArray, cross: FloatArray, cut: float) -> tuple[FloatArray, FloatArray, float]:
    """Return a root of V_g, the scores and the smallest eigenvalue of the scaled V_g."""
    scale = np.sqrt(np.maximum(np.diagonal(moment), 0.0))
    scale = np.where(scale == 0.0, 1.0, scale)
    values, vectors = np.linalg.eigh(moment / np.outer(scale, scale))
    top = float(values.max(initial=0.0))
    keep = (values > cut * top) & (values > 0.0)
    half = np.sqrt(values[keep])
    root = (half[:, None] * vectors[:, keep].T) * scale
    scores = (vectors[:, keep].T @ (cross / scale[:, None])) / half[:, None]
    smallest = float(values[0]) / top if top > 0.0 else 1.0
    return np.asarray(root), np.asarray(scores), smallest


def check_identified(jacobian: FloatArray) -> None:
    """Refuse a derivative J whose columns are linearly dependent: the released numbers are not identified."""
    scale = np.sqrt(np.square(jacobian).sum(axis=0))
    zero = scale == 0.0
    values = np.linalg.svd(jacobian / np.where(zero, 1.0, scale), compute_uv=False)
    rank = int(np.sum(values > 1e-13 * values.max(initial=0.0)))
    if rank < jacobian.shape[1]:
        raise ParameterError(
            f"The released numbers are not identified: the derivative J has rank {rank}, below their number "
            f"{jacobian.shape[1]}.",
            field="jacobian",
            hint="Drop a redundant column, or use ridge regression.",
        )


__all__ = ["GRAM_CUT", "ROOT_CUT", "MomentSummary", "check_identified", "reduced_root", "root_from_gram"]
