"""Expected fingerprints of laws with very many different probabilities, at the cost of a few hundred of them.

How likely a symbol is to be seen ``j`` times varies slowly with its probability: over a stretch of probabilities
no longer than the spread of the counts, it is a polynomial of low degree to the last digits. So all symbols of a
stretch are replaced by a few points with weights that keep every such polynomial's sum: sums over a million symbols
become sums over a few hundred points (derived, checked in tests/unit/distributions/test_condensed.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privexplorer.arrays import FloatArray, IntArray

NODES = 24
"""Points that stand for all symbols of one stretch; the error falls by a factor of at least 4 with each."""
FINEST = 4096
"""Stretches are cut for a number of records of this size, or the next one that is 16 times as large."""
BLOCK = 65_536
"""Symbols taken together while weights are computed, so that the temporary arrays stay in the processor's cache."""
SMALLEST = 1e-290
"""A symbol less likely than this is never seen, whatever the sample size."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Neighbouring probabilities, and how many symbols each stands for (real numbers, some may be negative)."""

    points: FloatArray
    weights: FloatArray


def fineness(n: int) -> int:
    """Return the number of records that the stretches for samples of size ``n`` are cut for, at least ``n``.

    Examples
    --------
    >>> fineness(1), fineness(4096), fineness(4097)
    (4096, 4096, 65536)
    """
    size = FINEST
    while size < n:
        size *= 16
    return size


def condense(probabilities: FloatArray, sizes: IntArray, size: int) -> tuple[Stretch, ...]:
    """Cut increasing probabilities into stretches for samples of up to ``size`` records.

    Parameters
    ----------
    probabilities, sizes : (groups,) arrays
        Distinct probabilities, increasing, and how many symbols share each.
    size : int
        From :func:`fineness`: a power of two.

    Returns
    -------
    tuple of Stretch
        With ``u`` the expected count at ``size`` records, a stretch is a doubling of ``u`` below ``u = 1`` and a step
        of one in ``sqrt(u)`` above, about one standard deviation to either side. Few symbols stand for themselves.
    """
    first = int(np.searchsorted(probabilities, SMALLEST))
    if first == probabilities.size:
        return ()
    least, most = float(probabilities[first]) * size, float(probabilities[-1]) * size
    doublings = 2.0 ** np.arange(math.frexp(least)[1] - 1, 1) if least < 1 else np.array([1.0])
    steps = np.arange(2.0, math.floor(math.sqrt(max(most, 1.0))) + 2) ** 2
    edges = np.concatenate((doublings, steps)) / size
    cuts = np.searchsorted(probabilities, edges)
    cuts[0], cuts[-1] = first, probabilities.size
    found = []
    for low, high, begin, end in zip(edges[:-1], edges[1:], cuts[:-1], cuts[1:], strict=True):
        if begin == end:
            continue
        chances, shared = probabilities[begin:end], sizes[begin:end]
        if end - begin > 2 * NODES:
            found.append(_replaced(chances, shared, float(low), float(high)))
        else:
            found.append(Stretch(chances, shared.astype(np.float64)))
    return tuple(found)


def _replaced(chances: FloatArray, shared: IntArray, low: float, high: float) -> Stretch:
    """Replace symbols by Chebyshev points, with weights that keep the sums of all polynomials of degree < NODES."""
    moments = np.zeros(NODES)
    for start in range(0, chances.size, BLOCK):
        place = (2.0 * chances[start : start + BLOCK] - (low + high)) / (high - low)
        size = shared[start : start + BLOCK].astype(np.float64)
        before, now = size, place * size
        moments[0] += before.sum()
        moments[1] += now.sum()
        place *= 2.0
        for degree in range(2, NODES):
            before, now = now, place * now - before
            moments[degree] += now.sum()
    angles = (np.arange(NODES) + 0.5) * (math.pi / NODES)
    moments[0] /= 2.0
    weights = (np.cos(angles[:, None] * np.arange(NODES)) * moments).sum(axis=1) * (2.0 / NODES)
    points = (low + high) / 2.0 + (high - low) / 2.0 * np.cos(angles)
    return Stretch(points[::-1].copy(), weights[::-1].copy())


def expected_fingerprint(stretches: tuple[Stretch, ...], symbols: int, n: int) -> FloatArray:
    """Add up how many of ``symbols`` symbols are expected to be seen 0, ..., ``n`` times, shape ``(n + 1,)``.

    Counts further than 14 standard deviations and 60 more from what is expected are left out, as in every exact mean
    here; the chances of one symbol are formed from the likeliest count outwards and divided by their total, so they
    keep about 14 digits for every ``n``.
    """
    out = np.zeros(n + 1)
    for stretch in stretches:
        sure = stretch.points >= 1.0
        if sure.any():
            out[n] += stretch.weights[sure].sum()
        if not sure.all():
            low, chances = _chances(stretch.points[~sure], n)
            out[low : low + chances.shape[1]] += (stretch.weights[~sure][:, None] * chances).sum(axis=0)
    out[0] = symbols - out[1:].sum()
    return out


def _chances(points: FloatArray, n: int) -> tuple[int, FloatArray]:
    """Return the first count and the chances of it and the following counts, shape ``(points, counts)``."""
    centre, reach = n * points, 14.0 * np.sqrt(n * points * (1.0 - points)) + 60.0
    low = max(0, math.floor(float((centre - reach).min())))
    high = min(n, math.ceil(float((centre + reach).max())))
    middle = float(points[points.size // 2])
    top = min(max(math.floor((n + 1) * middle), low), high)
    counts = np.arange(low, high + 1, dtype=np.float64)
    odds = np.log(points) - np.log1p(-points)
    usual = math.log(middle) - math.log1p(-middle)
    steps = np.log((n - counts[:-1]) / counts[1:]) + usual
    logs = np.zeros(counts.size)
    place = top - low
    logs[place + 1 :] = np.cumsum(steps[place:])
    logs[:place] = -np.cumsum(steps[:place][::-1])[::-1]
    chances = np.exp(logs + (odds - usual)[:, None] * (counts - top))
    chances /= chances.sum(axis=1, keepdims=True)
    return low, chances


__all__ = ["Stretch", "condense", "expected_fingerprint", "fineness"]
