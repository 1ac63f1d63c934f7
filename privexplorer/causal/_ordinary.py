"""Least squares and logistic regression for all folds at once, for data without noise.

Sums over each fold are taken once; a training sum is the total less one fold. The sums are plain einsums, so that the
bits do not depend on how many threads the linear algebra library uses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privexplorer.arrays import BoolArray, FloatArray, IntArray

_LARGEST_LOGIT = 36.0
"""Beyond this the fitted probability is 0 or 1 to rounding."""


@dataclass(frozen=True)
class Folds:
    """Rows sorted by fold, so that each fold is one slice.

    Attributes
    ----------
    order : (n,) int array
        Row numbers, fold after fold.
    edges : (K + 1,) int array
        Fold k is ``order[edges[k] : edges[k + 1]]``.
    """

    order: IntArray
    edges: IntArray

    @classmethod
    def of(cls, labels: IntArray, folds: int) -> Folds:
        """Sort rows by their labels 0 to ``folds`` - 1."""
        counts = np.bincount(labels, minlength=folds)
        edges = np.concatenate([[0], np.cumsum(counts)])
        return cls(np.argsort(labels, kind="stable"), edges)

    @property
    def count(self) -> int:
        """Number of folds."""
        return len(self.edges) - 1

    def slices(self) -> list[slice]:
        """Return the slice of every fold in sorted order."""
        return [slice(int(a), int(b)) for a, b in zip(self.edges[:-1], self.edges[1:], strict=True)]

    def back(self, values: FloatArray) -> FloatArray:
        """Put values in sorted order back into the order of the rows."""
        found = np.empty_like(values)
        found[self.order] = values
        return found


def solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a symmetric system; the shortest solution where it is singular."""
    scale = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    unit = matrix / np.multiply.outer(scale, scale)
    try:
        factor = np.linalg.cholesky(unit)
    except np.linalg.LinAlgError:
        factor = None
    if factor is None or np.min(np.diagonal(factor)) < 1e-6:
        short = np.linalg.pinv(unit, rcond=1e-11, hermitian=True)
        return np.asarray(np.einsum("ij,j->i", short, right / scale) / scale)
    return np.asarray(np.linalg.solve(unit, right / scale) / scale)


def least_squares(design: FloatArray, y: FloatArray, use: BoolArray, folds: Folds) -> FloatArray:
    """Fit least squares to the used rows outside each fold.

    Parameters
    ----------
    design : (n, p) array
        Rows in sorted order, with a column of ones.
    y : (n,) array
        Outcome in sorted order.
    use : (n,) bool array
        Rows that count, such as one arm.
    folds : Folds
        Where each fold begins.

    Returns
    -------
    (K, p) array
        Coefficients for every fold, fitted on the other folds.
    """
    both = np.concatenate([design, y[:, None]], axis=1)
    grams = np.stack([_gram(both[part][use[part]]) for part in folds.slices()])
    training = grams.sum(axis=0) - grams
    return np.stack([solve(gram[:-1, :-1], gram[:-1, -1]) for gram in training])


def _gram(rows: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ni,nj->ij", rows, rows))


def logistic(design: FloatArray, d: FloatArray, folds: Folds, *, iterations: int = 50) -> tuple[FloatArray, BoolArray]:
    """Fit an unpenalised logistic regression outside each fold by Newton's method.

    Parameters
    ----------
    design : (n, p) array
        Rows in sorted order, with a column of ones.
    d : (n,) array
        0 or 1 in sorted order.
    folds : Folds
        Where each fold begins. The fit to all rows is the common start.
    iterations : int
        Most steps for each fit.

    Returns
    -------
    coefficients : (K, p) array
        For every fold, fitted on the other folds.
    settled : (K,) bool array
        False where the steps did not die out (for example under perfect separation).
    """
    wide = np.ascontiguousarray(design.T)
    everything, settled = _newton(wide, d, np.zeros(len(wide)), iterations)
    parts = folds.slices()
    sums = [_sums(wide[:, part], d[part], everything) for part in parts]
    score, bend = np.sum([a for a, _ in sums], axis=0), np.sum([b for _, b in sums], axis=0)
    found, done = [], []
    for part, (own_score, own_bend) in zip(parts, sums, strict=True):
        rest = np.concatenate([wide[:, : part.start], wide[:, part.stop :]], axis=1)
        treated = np.concatenate([d[: part.start], d[part.stop :]])
        curvature = bend - own_bend
        start = everything + _bounded(solve(curvature, score - own_score))
        coefficients, is_done = _chord(rest, treated, start, curvature) if settled else (start, False)
        if not is_done:
            coefficients, is_done = _newton(rest, treated, start, iterations)
        found.append(coefficients)
        done.append(is_done)
    return np.stack(found), np.array(done)


def probabilities(design: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the logistic probabilities of rows (n, p) at coefficients (p,)."""
    return _chance(design.T, coefficients)


def _chance(wide: FloatArray, coefficients: FloatArray) -> FloatArray:
    logit = np.clip(np.einsum("in,i->n", wide, coefficients), -_LARGEST_LOGIT, _LARGEST_LOGIT)
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))


def _sums(wide: FloatArray, d: FloatArray, coefficients: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return score and curvature of columns (p, n), whose rows lie together in memory."""
    chance = _chance(wide, coefficients)
    score = np.einsum("in,n->i", wide, d - chance)
    return score, np.einsum("in,jn->ij", wide * (chance * (1.0 - chance)), wide)


def _bounded(step: FloatArray) -> FloatArray:
    size = float(np.max(np.abs(step), initial=0.0))
    return step if size <= 5.0 else step * (5.0 / size)


def _newton(wide: FloatArray, d: FloatArray, start: FloatArray, iterations: int) -> tuple[FloatArray, bool]:
    """Climb until a step is so short that the next one, about its square, would be lost in rounding."""
    coefficients = start
    for _ in range(iterations):
        score, bend = _sums(wide, d, coefficients)
        step = _bounded(solve(bend, score))
        coefficients = coefficients + step
        if float(np.max(np.abs(step), initial=0.0)) <= 1e-7 * (1.0 + float(np.max(np.abs(coefficients)))):
            return coefficients, True
    return coefficients, False


def _chord(
    wide: FloatArray, d: FloatArray, start: FloatArray, bend: FloatArray, steps: int = 12
) -> tuple[FloatArray, bool]:
    """Take steps with one curvature, taken nearby: each is cheap and shortens the error by the distance to there."""
    coefficients = start
    inverse = np.linalg.pinv(bend, rcond=1e-11, hermitian=True)
    for _ in range(steps):
        step = np.einsum("ij,j->i", inverse, np.einsum("in,n->i", wide, d - _chance(wide, coefficients)))
        coefficients = coefficients + step
        if float(np.max(np.abs(step), initial=0.0)) <= 1e-10 * (1.0 + float(np.max(np.abs(coefficients)))):
            return coefficients, True
    return coefficients, False
