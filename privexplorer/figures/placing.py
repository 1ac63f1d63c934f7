"""Where words go on a chart: names pushed apart at the right edge, and free places between curves.

All numbers are pixels; heights grow upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from privexplorer.arrays import FloatArray


def apart(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Move centres as little as possible (least squares) so that boxes do not overlap.

    Parameters
    ----------
    wanted : sequence of float
        Wanted centres, in the order from bottom to top that is to be kept.
    heights : sequence of float
        Heights of the boxes.
    low, high : float
        Edges that no box should cross; they give way if the boxes need more room.

    Returns
    -------
    list of float
        The centres.

    Examples
    --------
    >>> apart([10.0, 12.0, 50.0], [10.0, 10.0, 10.0], 0.0, 100.0)
    [6.0, 16.0, 50.0]
    """
    offsets = [0.0]
    for lower, upper in pairwise(heights):
        offsets.append(offsets[-1] + (lower + upper) / 2)
    # isotonic regression (pool adjacent violators) on the centres less their offsets
    blocks: list[list[float]] = []
    for value, offset in zip(wanted, offsets, strict=True):
        blocks.append([value - offset, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            blocks[-1] = [
                (blocks[-1][0] * blocks[-1][1] + mean * count) / (blocks[-1][1] + count),
                blocks[-1][1] + count,
            ]
    bases = [mean for mean, count in blocks for _ in range(int(count))]
    bottom = low + heights[0] / 2
    top = high - heights[-1] / 2 - offsets[-1]
    if top < bottom:
        top = bottom = (top + bottom) / 2
    return [min(max(base, bottom), top) + offset for base, offset in zip(bases, offsets, strict=True)]


@dataclass(frozen=True)
class Box:
    """A rectangle: its centre and size."""

    x: float
    y: float
    width: float
    height: float

    def overlaps(self, other: Box) -> bool:
        """Whether two boxes share any area."""
        return (
            abs(self.x - other.x) * 2 < self.width + other.width
            and abs(self.y - other.y) * 2 < self.height + other.height
        )

    def inside(self, width: float, height: float, over: float = 0.0) -> bool:
        """Whether the box lies within a plot of this size; ``over`` pixels may stand out above or below."""
        sideways = self.width / 2 <= self.x <= width - self.width / 2
        return sideways and self.height / 2 - over <= self.y <= height + over - self.height / 2


@dataclass
class Ground:
    """What is drawn in a panel already: curves (by their points) and boxes."""

    width: float
    height: float
    curves: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)

    def curve(self, x: FloatArray, y: FloatArray) -> None:
        """Remember a curve; its gaps are left out."""
        good = np.isfinite(x) & np.isfinite(y)
        if good.sum() > 1:
            order = np.argsort(x[good], kind="stable")
            self.curves.append((x[good][order], y[good][order]))
        elif good.any():
            self.boxes.append(Box(float(x[good][0]), float(y[good][0]), 10, 10))

    def points(self, x: FloatArray, y: FloatArray, size: float) -> None:
        """Remember single points."""
        good = np.isfinite(x) & np.isfinite(y)
        self.boxes += [Box(a, b, size, size) for a, b in zip(x[good].tolist(), y[good].tolist(), strict=True)]

    def clearance(self, box: Box, over: float = 0.0) -> float:
        """Distance from a box to the nearest curve or box, negative where they cross or the box is outside."""
        if not box.inside(self.width, self.height, over):
            return -100.0
        at = np.linspace(box.x - box.width / 2, box.x + box.width / 2, 7)
        free = 60.0
        for x, y in self.curves:
            seen = at[(at >= x[0]) & (at <= x[-1])]
            if seen.size:
                free = min(free, float(np.abs(np.interp(seen, x, y) - box.y).min()) - box.height / 2)
        for other in self.boxes:
            gap = max(
                abs(box.x - other.x) - (box.width + other.width) / 2,
                abs(box.y - other.y) - (box.height + other.height) / 2,
            )
            free = min(free, gap)
        return free

    def best(self, candidates: Sequence[Box]) -> int:
        """Return the place of the first candidate with enough room, or of the one with the most; it is then taken."""
        choice, most = 0, -np.inf
        for place, box in enumerate(candidates):
            free = self.clearance(box)
            if free >= 4:
                choice = place
                break
            if free > most:
                choice, most = place, free
        self.boxes.append(candidates[choice])
        return choice


__all__ = ["Box", "Ground", "apart"]
