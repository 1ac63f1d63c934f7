"""What noise costs a published regression, and noise schemes matched at equal predictability.

Spec predictability, section 2.4 (Thm 4.4, Lem 4.5) and 3.8; erratum E14.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import UnsupportedCombination
from privexplorer.predictability._checks import check_covariance, check_non_negative
from privexplorer.predictability.bounds import noise_level_for
from privexplorer.predictability.releases import FittedModel
from privexplorer.predictability.spectrum import noise_spectrum
from privexplorer.predictability.summary import MomentSummary
from privexplorer.predictability.tables import PART_ROWS, Parts, parts_of, row_count


def excess_error(gram: ArrayLike, covariance: ArrayLike) -> float:
    """Return the mean squared change of the predictions when noise is added to the coefficients: tr(MΣ).

    Parameters
    ----------
    gram : (d, d) array
        M, mean of x xᵀ.
    covariance : (d, d) array
        Σ of the noise.

    Returns
    -------
    float
        Unit of the outcome squared; exact (proof of Thm 4.4).
    """
    spread = np.asarray(gram, dtype=np.float64)
    sigma = check_covariance(covariance, spread.shape[0])
    return float(np.sum(spread * sigma))


@dataclass(frozen=True)
class RegressionAccuracy:
    """Excess error of noisy least squares and its bounds (Thm 4.4, Lem 4.5).

    Attributes
    ----------
    level : float
        σ².
    calibrated : float
        Exact excess error of calibrated noise σ²V_sand.
    bound_mean_loss : float
        First bound: σ² max‖x‖² / λ_min(M) times the mean squared residual.
    bound_max_loss : float
        Second bound: σ² d times the largest squared residual.
    isotropic : float
        Exact excess error of noise σ²I: σ² tr M. Its σ² has another unit and gives another predictability (E14).
    mean_loss, max_loss : float
        Mean and largest squared residual.
    """

    level: float
    calibrated: float
    bound_mean_loss: float
    bound_max_loss: float
    isotropic: float
    mean_loss: float
    max_loss: float

    @property
    def bound(self) -> float:
        """The smaller of the two bounds."""
        return min(self.bound_mean_loss, self.bound_max_loss)


def regression_accuracy(release: FittedModel, data: Parts, level: float) -> RegressionAccuracy:
    """Return excess errors and bounds of noise at level σ² on a least-squares fit.

    Parameters
    ----------
    release : FittedModel
        Least squares without penalty.
    data : table or parts
        The table that it was fitted to.
    level : float
        σ² >= 0.

    Raises
    ------
    UnsupportedCombination
        For other models: the theorem is about least squares.
    """
    if release.loss != "squared" or release.penalty:
        raise UnsupportedCombination(
            "The accuracy bounds are about least squares; choose linear regression.", field="release"
        )
    sigma2 = check_non_negative(level, "The noise level σ²", "level")
    gram = release.gram
    inverse = np.linalg.inv(gram)
    total, weighted, losses, longest, largest = 0, 0.0, 0.0, 0.0, 0.0
    for table in parts_of(data):
        for start in range(0, row_count(table), PART_ROWS):
            step = {name: values[start : start + PART_ROWS] for name, values in table.items()}
            x = release.rows.x(step)
            squares = np.square(x @ release.coefficients - release.rows.y(step))
            total += x.shape[0]
            weighted += float((squares * np.einsum("ni,ij,nj->n", x, inverse, x)).sum())
            losses += float(squares.sum())
            longest = max(longest, float(np.square(x).sum(axis=1).max()))
            largest = max(largest, float(squares.max()))
    mean = losses / total
    return RegressionAccuracy(
        level=sigma2,
        calibrated=sigma2 * weighted / total,
        bound_mean_loss=sigma2 * longest / float(np.linalg.eigvalsh(gram)[0]) * mean,
        bound_max_loss=sigma2 * gram.shape[0] * largest,
        isotropic=sigma2 * float(np.trace(gram)),
        mean_loss=mean,
        max_loss=largest,
    )


@dataclass(frozen=True, eq=False)
class EqualPredictability:
    """Two noise schemes at the same γ (erratum E14).

    Attributes
    ----------
    factor : float
        Wanted r over ρ.
    first_level, second_level : float
        Levels at which the two covariances reach it.
    first_error, second_error : float
        Their excess errors.
    """

    factor: float
    first_level: float
    second_level: float
    first_error: float
    second_error: float

    @property
    def ratio(self) -> float:
        """Second error over the first; below 1 if the second scheme is better at this γ. Not a number if both are 0."""
        return self.second_error / self.first_error if self.first_error > 0 else math.nan


def equal_predictability(
    summary: MomentSummary,
    gram: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    factor: float,
    *,
    query: int = 0,
    noise_multiplier: float = 1.0,
) -> EqualPredictability:
    """Match two noise schemes at the same predictability of one query, then compare what they cost (spec 3.8).

    Parameters
    ----------
    summary : MomentSummary
        Of queries and release.
    gram : (d, d) array
        Mean of x xᵀ, which weighs the errors of the coefficients; the identity for a vector of means.
    first, second : (d, d) arrays
        Covariances at level 1, for instance V_sand and the identity.
    factor : float
        Wanted r over ρ, in (0, 1].
    query : int
        Which query.
    noise_multiplier : float
        ν.

    Returns
    -------
    EqualPredictability
        Levels 0 if ρ is 0; infinite where a scheme cannot reach the factor.
    """
    levels, errors = [], []
    for covariance in (first, second):
        level = noise_level_for(noise_spectrum(summary, covariance, noise_multiplier), factor, query)
        levels.append(level)
        errors.append(level * excess_error(gram, covariance) if level else 0.0)
    return EqualPredictability(factor, levels[0], levels[1], errors[0], errors[1])


def noise_ellipse(covariance: ArrayLike, first: int = 0, second: int = 1, points: int = 181) -> FloatArray:
    """Return the one-standard-deviation ellipse of two coordinates, shape ``(points, 2)``, for drawing."""
    sigma = np.asarray(covariance, dtype=np.float64)
    pair = check_covariance(sigma[np.ix_([first, second], [first, second])], 2)
    values, vectors = np.linalg.eigh(pair)
    angles = np.linspace(0.0, 2.0 * math.pi, points)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.asarray((circle * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


__all__ = [
    "EqualPredictability",
    "RegressionAccuracy",
    "equal_predictability",
    "excess_error",
    "noise_ellipse",
    "regression_accuracy",
]
