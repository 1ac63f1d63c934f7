"""Walker's alias method with a table that is built by prefix sums: any law on ``k`` symbols, O(1) per draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privexplorer.arrays import FloatArray, IntArray

CHUNK = 32_768
"""Symbols drawn per pass; small enough that the temporary arrays stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Two outcomes per column: column ``j`` gives ``outcomes[2j]`` below ``threshold[j]`` and else ``outcomes[2j+1]``.

    Attributes
    ----------
    threshold : (k,) float array
        ``j`` plus the probability of keeping column ``j``.
    outcomes : (2k,) int array
        Symbol of each half column.
    """

    threshold: FloatArray
    outcomes: IntArray

    @classmethod
    def build(cls, probabilities: FloatArray) -> AliasTable:
        """Build the table without a loop over symbols.

        Light columns are filled in order by the heavy ones in order, so the heavy partner of a light column, and
        what a heavy column keeps for itself, are read off the running sums of deficits and excesses (derived,
        checked in tests/unit/distributions: the table gives back the law).
        """
        k = probabilities.size
        weight = probabilities * k
        keep = np.ones(k)
        partner = np.arange(k)
        heavy = np.flatnonzero(weight > 1.0)
        light = np.flatnonzero(weight <= 1.0)
        if heavy.size and light.size:
            deficit = np.cumsum(1.0 - weight[light])
            excess = np.cumsum(weight[heavy] - 1.0)
            before = np.concatenate(([0.0], deficit[:-1]))
            keep[light] = weight[light]
            partner[light] = heavy[np.minimum(np.searchsorted(excess, before, side="right"), heavy.size - 1)]
            last = np.searchsorted(deficit, excess, side="left")
            inside = last < light.size
            left = 1.0 - (deficit[np.minimum(last, light.size - 1)] - excess)
            keep[heavy] = np.where(inside, np.clip(left, 0.0, 1.0), 1.0)
            keep[heavy[-1]] = 1.0
            partner[heavy[:-1]] = heavy[1:]
        # a symbol that cannot occur must never be drawn, not even through rounding
        partner[probabilities == 0.0] = np.where(
            probabilities[partner[probabilities == 0.0]] > 0.0,
            partner[probabilities == 0.0],
            int(np.argmax(probabilities)),
        )
        outcomes = np.empty(2 * k, dtype=np.int64)
        outcomes[0::2] = np.arange(k)
        outcomes[1::2] = partner
        return cls(threshold=np.arange(k) + keep, outcomes=outcomes)

    def probabilities(self) -> FloatArray:
        """Return the law that the table draws from, shape ``(k,)``: a check of the construction."""
        k = self.threshold.size
        keep = self.threshold - np.arange(k)
        return (keep + np.bincount(self.outcomes[1::2], weights=1.0 - keep, minlength=k)) / k

    def sample(self, size: int, rng: np.random.Generator) -> IntArray:
        """Draw ``size`` independent symbols: indices 0..k-1, shape ``(size,)``, int64."""
        k = self.threshold.size
        drawn = np.empty(size, dtype=np.int64)
        for start in range(0, size, CHUNK):
            stop = min(start + CHUNK, size)
            position = rng.random(stop - start)
            position *= k
            column = position.astype(np.int64)
            upper = position >= self.threshold.take(column)
            column *= 2
            column += upper
            self.outcomes.take(column, out=drawn[start:stop], mode="clip")
        return drawn


__all__ = ["AliasTable"]
