"""Averages over trials with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence

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


def mixture_quantiles(values: FloatArray, scales: FloatArray, levels: Sequence[float]) -> FloatArray:
    """Quantiles of one release: a random data set, then Laplace noise; the noise's law is used exactly.

    Parameters
    ----------
    values : (trials, points) float array
        Answers before noise, one per simulated data set.
    scales : (points,) or (trials, points) float array
        Laplace scales; zeros mean no noise.
    levels : sequence of float
        Probabilities in (0, 1).

    Returns
    -------
    (levels, points) float array
        Points where the average distribution function reaches the levels, to about nine digits of the range.
    """
    scale = np.broadcast_to(np.maximum(scales, 1e-300), values.shape)
    reach = 40 * scale.max(axis=0)
    low = np.repeat((values.min(axis=0) - reach)[None, :], len(levels), axis=0)
    high = np.repeat((values.max(axis=0) + reach)[None, :], len(levels), axis=0)
    wanted = np.asarray(levels)[:, None]
    for _ in range(45):
        middle = (low + high) / 2
        gap = np.clip((middle[:, None, :] - values) / scale, -745, 745)
        tail = 0.5 * np.exp(-np.abs(gap))
        share = np.where(gap < 0, tail, 1 - tail).mean(axis=1)
        low, high = np.where(share < wanted, middle, low), np.where(share < wanted, high, middle)
    return np.asarray((low + high) / 2)
