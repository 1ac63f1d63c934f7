"""Privacy levels of any finite channel (locally_private_inference, Defs 1 and 2, finite case).

A channel is a matrix ``channel[z, x]`` = P(report z | value x): its columns add up to one.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.privacy.guarantees import check_epsilon


def checked_channel(channel: ArrayLike) -> FloatArray:
    """Return the channel as an array, or refuse what is none.

    Parameters
    ----------
    channel : (reports, values) array_like
        ``channel[z, x]`` = P(report z | value x).

    Raises
    ------
    ParameterError
        If it is not a matrix of probabilities whose columns add up to one (to 1e-9). A matrix whose rows add up to
        one instead is named as such.
    """
    matrix = np.asarray(channel, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ParameterError("A channel is a table with a row per report and a column per value.", field="channel")
    if not np.all((matrix >= 0) & (matrix <= 1)):
        raise ParameterError("Every entry of a channel must be a probability between 0 and 1.", field="channel")
    if not np.allclose(matrix.sum(axis=0), 1.0, rtol=0, atol=1e-9):
        rows = np.allclose(matrix.sum(axis=1), 1.0, rtol=0, atol=1e-9)
        advice = "its rows do, so exchange rows and columns" if rows else "check the entries"
        raise ParameterError(f"Each column of a channel must add up to one; {advice}.", field="channel")
    return matrix


def channel_epsilon(channel: ArrayLike) -> float:
    """Smallest ε for which the channel is purely locally private; infinite if some report rules out a value.

    Examples
    --------
    >>> round(channel_epsilon([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]), 11)
    1.94591014906
    """
    matrix = checked_channel(channel)
    possible = matrix[matrix.max(axis=1) > 0]  # a report that never occurs tells nothing
    highest, lowest = possible.max(axis=1), possible.min(axis=1)
    if np.any(lowest == 0):
        return math.inf
    return float(np.max(np.log(highest) - np.log(lowest)))


def channel_delta(channel: ArrayLike, epsilon: float) -> float:
    """Smallest δ for which the channel is (ε, δ)-locally private.

    Examples
    --------
    >>> round(channel_delta([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]], 0.5), 11)
    0.53512787293
    """
    matrix = checked_channel(channel)
    check_epsilon(epsilon)
    factor = math.exp(epsilon) if epsilon < 700 else math.inf
    worst = 0.0
    for column in matrix.T:
        with np.errstate(invalid="ignore"):
            other = np.where(matrix > 0, matrix * factor, 0.0)
        worst = max(worst, float(np.maximum(column[:, None] - other, 0.0).sum(axis=0).max()))
    return worst


def channel_total_variation(channel: ArrayLike) -> float:
    """Largest total-variation distance between two columns, in [0, 1].

    Examples
    --------
    >>> round(channel_total_variation([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]), 12)
    0.6
    """
    return channel_delta(channel, 0.0)


__all__ = ["channel_delta", "channel_epsilon", "channel_total_variation", "checked_channel"]
