"""Averages over trials with their standard errors."""

from __future__ import annotations

import numpy as np

from privexplorer.arrays import FloatArray


def mean_and_error(values: FloatArray, axis: int = 0) -> tuple[FloatArray, FloatArray]:
    """Average over the trials and its standard error.

    Parameters
    ----------
    values : (trials, ...) float array
        One value per simulated data set.
    axis : int
        The axis of the trials.

    Returns
    -------
    tuple of float arrays
        Mean, and standard deviation (divisor ``trials - 1``) over the root of ``trials``; the error of one
        trial is infinite.
    """
    trials = values.shape[axis]
    mean = values.mean(axis=axis)
    if trials < 2:
        return mean, np.full_like(mean, np.inf)
    return mean, values.std(axis=axis, ddof=1) / np.sqrt(trials)


def root_mean_square(squares: FloatArray, axis: int = 0) -> tuple[FloatArray, FloatArray]:
    """Root of the average square and its standard error.

    Parameters
    ----------
    squares : (trials, ...) float array
        Squared errors, or their exact expectations over the mechanism's noise.

    Returns
    -------
    tuple of float arrays
        Root mean square, and its standard error by the delta method (that of the mean over twice the root).
    """
    mean, error = mean_and_error(squares, axis)
    root = np.sqrt(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(root > 0, error / (2 * root), 0.0)
    return root, slope
