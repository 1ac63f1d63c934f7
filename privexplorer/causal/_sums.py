"""Sums of products that do not depend on the number of threads, and the logistic function."""

from __future__ import annotations

import numpy as np

from privexplorer.arrays import FloatArray


def einsum(subscripts: str, *operands: FloatArray) -> FloatArray:
    """Return an Einstein sum, computed in one thread and in a fixed order.

    Parameters
    ----------
    subscripts : str
        As for ``numpy.einsum``.
    operands : arrays
        As for ``numpy.einsum``.

    Returns
    -------
    array
        The sum, in double precision.
    """
    result: FloatArray = np.asarray(np.einsum(subscripts, *operands, optimize=False), dtype=np.float64)
    return result


def expit(x: FloatArray) -> FloatArray:
    """Return 1/(1 + e^(-x)) without overflow.

    Parameters
    ----------
    x : array
        Log odds.

    Returns
    -------
    array
        Probabilities in [0, 1].
    """
    result: FloatArray = 0.5 * (1.0 + np.tanh(0.5 * x))
    return result


__all__ = ["einsum", "expit"]
