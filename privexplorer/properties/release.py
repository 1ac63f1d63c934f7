"""Private releases of one number, and the data-dependent noise level of the public experiment code.

Spec properties, sections 2 and 4.4, erratum E12. A release is ``clip(value + Laplace noise, low, high)``; clipping
comes after the noise, so it costs no privacy.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.privacy import LaplaceNoise
from privexplorer.properties.entropy import Polynomial
from privexplorer.properties.tables import check_counts

Value = TypeVar("Value", float, FloatArray)


def noise_for(sensitivity: float, epsilon: float) -> LaplaceNoise:
    """Return the law of the noise that makes a number of this sensitivity ε-differentially private.

    Raises
    ------
    ParameterError
        Unless epsilon is above 0 and the sensitivity a number of at least 0.
    """
    if not epsilon > 0.0 or math.isinf(epsilon):
        raise ParameterError(f"The privacy loss ε must be above 0; it is {epsilon:g}.", field="epsilon")
    if not 0.0 <= sensitivity < math.inf:
        raise ParameterError(
            f"The sensitivity must be a number of at least 0; it is {sensitivity:g}.", field="sensitivity"
        )
    return LaplaceNoise(sensitivity / epsilon)


def release(
    value: float,
    sensitivity: float,
    epsilon: float,
    rng: np.random.Generator,
    low: float = -math.inf,
    high: float = math.inf,
) -> float:
    """Release one number once: add Laplace noise of scale ``sensitivity / epsilon``, then clip.

    Parameters
    ----------
    value : float
        The exact answer.
    sensitivity : float
        Largest change that one record can cause; 0 adds no noise (the answer is then a constant).
    epsilon : float
        Privacy loss, above 0.
    rng : numpy.random.Generator
        Source of the noise. Not a hardened sampler: for exploration, not for protecting real data.
    low, high : float
        Public bounds of the answer.

    Returns
    -------
    float
        ε-differentially private for samples that differ in one record.
    """
    if not math.isfinite(value):
        raise ParameterError("The value to release is not a number.", field="value")
    return float(releases(np.array([value]), sensitivity, epsilon, rng, low, high)[0])


def releases(
    values: ArrayLike,
    sensitivity: float,
    epsilon: float,
    rng: np.random.Generator,
    low: float = -math.inf,
    high: float = math.inf,
) -> FloatArray:
    """Release many numbers independently, as in a simulation; each element costs its own ε."""
    if not low <= high:
        raise ParameterError("The lower bound must not be above the upper bound; exchange the two.", field="low")
    exact = np.asarray(values, dtype=np.float64)
    noise = noise_for(sensitivity, epsilon).sample(exact.shape, rng)
    return np.asarray(np.clip(exact + noise, low, high), dtype=np.float64)


def paper_code_sensitivity(counts: ArrayLike, k: int, estimator: Polynomial | None = None) -> float:
    """Return the noise level of the public experiment code, which depends on the data and is NOT private.

    Parameters
    ----------
    counts : (symbols,) int array
        Histogram; symbols left out are unseen.
    k : int
        Number of symbols.
    estimator : Polynomial, optional
        The private preset if left out.

    Returns
    -------
    float
        ``2 max |g(j) - g(min(j + 1, N))|`` over the counts ``j <= N`` that occur (erratum E12), in nats.

    Raises
    ------
    ParameterError
        If no count is at most N: the experiment code fails on such a histogram.
    """
    given = check_counts(counts).ravel()
    n = int(given.sum())
    distinct = int(np.count_nonzero(given))
    if n < 1:
        raise ParameterError("The histogram is empty; it needs at least one record.")
    if distinct > k:
        raise ParameterError(
            f"The number of symbols k is {k:,}, but {distinct:,} distinct values occur; k must be at least that many.",
            field="k",
        )
    chosen = estimator or Polynomial(preset="private")
    cutoff = chosen.parameters(k, True)[2]
    present = np.unique(given[given > 0])
    if distinct < k:
        present = np.concatenate(([0], present))
    present = present[present <= cutoff]
    if not present.size:
        raise ParameterError(
            f"Every symbol was seen more than N = {cutoff} times; the experiment code has no noise level for that."
        )
    here = chosen.values(present, n, k, True)
    following = chosen.values(np.minimum(np.minimum(present + 1, cutoff), n), n, k, True)
    return float(2.0 * np.abs(here - following).max())


__all__ = ["noise_for", "paper_code_sensitivity", "release", "releases"]
