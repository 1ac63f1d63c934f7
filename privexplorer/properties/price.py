"""The price of privacy: how bias, variance and noise add up, and what they say about ε.

Spec properties, section 2 ("exact error algebra") and section 12. For unclipped Laplace releases the squared error is
``bias^2 + variance + 2 (sensitivity / epsilon)^2`` exactly; clipped releases go through the exact clipped moments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.properties.release import noise_for


@dataclass(frozen=True)
class ErrorParts:
    """Error of simulated estimates, taken apart.

    Attributes
    ----------
    bias : float
        Mean estimate less mean target.
    variance : float
        Variance of estimate less target (divisor ``trials - 1``).
    mse : float
        Mean squared error: ``bias^2 + variance (trials - 1)/trials``, exactly.
    bias_std_error, mse_std_error : float
        Standard errors of the two means.
    trials : int
        Number of runs.
    """

    bias: float
    variance: float
    mse: float
    bias_std_error: float
    mse_std_error: float
    trials: int

    @property
    def rmse(self) -> float:
        """Root mean squared error."""
        return math.sqrt(self.mse)

    @property
    def rmse_std_error(self) -> float:
        """Standard error of :attr:`rmse`, by the delta method; 0 where the error is 0."""
        return self.mse_std_error / (2.0 * self.rmse) if self.mse > 0.0 else 0.0


def error_parts(estimates: ArrayLike, targets: ArrayLike) -> ErrorParts:
    """Take the error of simulated estimates apart.

    Parameters
    ----------
    estimates : (trials,) float array
        At least two.
    targets : float or (trials,) float array
        The truth, or one target per run.
    """
    off = (np.asarray(estimates, dtype=np.float64) - np.asarray(targets, dtype=np.float64)).ravel()
    trials = off.size
    if trials < 2:
        raise ParameterError(f"At least 2 runs are needed to take an error apart; there are {trials}.", field="trials")
    squares = off * off
    bias, variance = float(off.mean()), float(off.var(ddof=1))
    return ErrorParts(
        bias=bias,
        variance=variance,
        mse=float(squares.mean()),
        bias_std_error=math.sqrt(variance / trials),
        mse_std_error=float(squares.std(ddof=1)) / math.sqrt(trials),
        trials=trials,
    )


def private_squared_errors(
    values: ArrayLike,
    targets: ArrayLike,
    sensitivity: float,
    epsilon: float,
    low: ArrayLike = -math.inf,
    high: ArrayLike = math.inf,
) -> FloatArray:
    """Return the expected squared error of a clipped Laplace release, given each exact value.

    Parameters
    ----------
    values, targets : float arrays
        Exact values and what they should be; they broadcast.
    sensitivity, epsilon : float
        The noise has scale ``sensitivity / epsilon``; it is integrated exactly, not drawn.
    low, high : float or array
        Clipping bounds of the noisy value, possibly infinite.

    Returns
    -------
    float array of the broadcast shape
    """
    noise = noise_for(sensitivity, epsilon)
    return np.asarray(noise.clipped_squared_error(values, targets, low, high), dtype=np.float64)


def private_rmse(bias: float, variance: float, sensitivity: float, epsilon: float) -> float:
    """Return the root mean squared error of an unclipped Laplace release (spec properties, section 2).

    Examples
    --------
    >>> private_rmse(3.0, 8.0, 2.0, 1.0)
    5.0
    """
    if not variance >= 0.0:
        raise ParameterError(f"The variance must be at least 0; it is {variance:g}.", field="variance")
    return math.sqrt(bias**2 + variance + noise_for(sensitivity, epsilon).variance)


def epsilon_for_inflation(inflation: float, sensitivity: float, rmse: float) -> float:
    """Return the ε at which privacy adds the fraction ``inflation`` to the root mean squared error.

    ``sqrt(2) sensitivity / (rmse sqrt((1 + inflation)^2 - 1))`` (spec properties, section 2), for unclipped releases.

    Parameters
    ----------
    inflation : float
        Above 0; 0.05 is five percent, 1 a doubling.
    sensitivity : float
        Of the estimator, at least 0.
    rmse : float
        Without privacy, above 0.
    """
    if not (inflation > 0.0 and math.isfinite(inflation)):
        raise ParameterError(f"The added share of error must be above 0; it is {inflation:g}.", field="inflation")
    if not rmse > 0.0:
        raise ParameterError(f"The error without privacy must be above 0; it is {rmse:g}.", field="rmse")
    if not 0.0 <= sensitivity < math.inf:
        raise ParameterError(f"The sensitivity must be at least 0; it is {sensitivity:g}.", field="sensitivity")
    return math.sqrt(2.0) * sensitivity / (rmse * math.sqrt(inflation * (2.0 + inflation)))


def epsilon_for_rmse(target: float, bias: float, variance: float, sensitivity: float) -> float | None:
    """Return the smallest ε with root mean squared error at most ``target``, or None where even no noise is too much.

    ``sqrt(2) sensitivity / sqrt(target^2 - bias^2 - variance)``, for unclipped releases.
    """
    if not target > 0.0:
        raise ParameterError(f"The target error must be above 0; it is {target:g}.", field="target")
    room = target**2 - bias**2 - variance
    if room <= 0.0:
        return None
    return math.sqrt(2.0) * sensitivity / math.sqrt(room)


def inflation(epsilon: float, sensitivity: float, rmse: float) -> float:
    """Return the share that privacy adds to the root mean squared error; undoes :func:`epsilon_for_inflation`."""
    if not rmse > 0.0:
        raise ParameterError(f"The error without privacy must be above 0; it is {rmse:g}.", field="rmse")
    extra = noise_for(sensitivity, epsilon).variance / rmse**2
    return extra / (1.0 + math.sqrt(1.0 + extra))


def noise_share(sensitivity: float, epsilon: float, extra_records: float) -> float:
    """Return the noise's standard deviation over the number ``n t`` of further records (section 8.2)."""
    if not extra_records > 0.0:
        raise ParameterError(f"The number of further records must be above 0; it is {extra_records:g}.", field="t")
    return noise_for(sensitivity, epsilon).std / extra_records


def prediction_horizon(ts: ArrayLike, errors: ArrayLike, accuracy: float) -> float | None:
    """Return how far ahead the error stays at most ``accuracy``, read off a curve.

    Parameters
    ----------
    ts : (points,) float array
        Increasing look-aheads.
    errors : (points,) float array
        Error at each, in the unit of ``accuracy``.
    accuracy : float
        Error that is accepted, above 0.

    Returns
    -------
    float or None
        The t at which the curve first crosses, by straight lines between points; the last t if it never does, None
        if it is too high from the start.
    """
    where, height = np.asarray(ts, dtype=np.float64), np.asarray(errors, dtype=np.float64)
    if where.size < 1 or where.shape != height.shape or np.any(np.diff(where) <= 0.0):
        raise ParameterError("The look-aheads must increase and have one error each.", field="t")
    if not accuracy > 0.0:
        raise ParameterError(f"The accepted error must be above 0; it is {accuracy:g}.", field="accuracy")
    over = np.flatnonzero(~(height <= accuracy))
    if not over.size:
        return float(where[-1])
    first = int(over[0])
    if first == 0:
        return None
    share = (accuracy - height[first - 1]) / (height[first] - height[first - 1])
    return float(where[first - 1] + share * (where[first] - where[first - 1]))


__all__ = [
    "ErrorParts",
    "epsilon_for_inflation",
    "epsilon_for_rmse",
    "error_parts",
    "inflation",
    "noise_share",
    "prediction_horizon",
    "private_rmse",
    "private_squared_errors",
]
