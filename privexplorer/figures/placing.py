"""Where words go on a chart: names pushed apart at the right edge, and free places between curves.

All numbers are pixels; heights grow upwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
        sideways = self.width / 2 - 0.01 <= self.x <= width - self.width / 2 + 0.01
        return sideways and self.height / 2 - over - 0.01 <= self.y <= height + over - self.height / 2 + 0.01


DOTS_APART, MOST_DOTS = 3.0, 4_000
"""Curves are remembered as dots so many pixels apart."""


@dataclass
class Ground:
    """What is drawn in a panel already: curves (as dense dots along them) and boxes."""

    width: float
    height: float
    curves: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    edges: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    """Edges of bands, which words may cross where there is no better place."""

    def curve(self, x: FloatArray, y: FloatArray, *, edge: bool = False) -> None:
        """Remember a curve, steep or closed ones too, or the edge of a band; its gaps are left out."""
        good = np.isfinite(x) & np.isfinite(y)
        turns = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
        for start, stop in zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True):
            a, b = x[start:stop], y[start:stop]
            way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(a), np.diff(b)))])
            if not way[-1] > 0:
                self.boxes.append(Box(float(a[0]), float(b[0]), 10, 10))
                continue
            at = np.linspace(0.0, way[-1], min(max(int(way[-1] / DOTS_APART), 2), MOST_DOTS))
            across, up = np.interp(at, way, a), np.interp(at, way, b)
            near = (np.abs(up - self.height / 2) < self.height / 2 + 20) & (
                np.abs(across - self.width / 2) < self.width / 2 + 20
            )
            if near.any():
                (self.edges if edge else self.curves).append((across[near], up[near]))

    def points(self, x: FloatArray, y: FloatArray, size: float) -> None:
        """Remember single points."""
        good = np.isfinite(x) & np.isfinite(y)
        self.boxes += [Box(a, b, size, size) for a, b in zip(x[good].tolist(), y[good].tolist(), strict=True)]

    def clearance(self, box: Box, over: float = 0.0) -> float:
        """Distance from a box to the nearest curve, edge or box, negative where they cross or the box is outside."""
        return min(self.crossing(box, over), free_of(box, self.edges))

    def crossing(self, box: Box, over: float = 0.0) -> float:
        """Return the same as :meth:`clearance`, but leave the edges of bands out."""
        if not box.inside(self.width, self.height, over):
            return -100.0
        free = free_of(box, self.curves)
        for other in self.boxes:
            gap = max(
                abs(box.x - other.x) - (box.width + other.width) / 2,
                abs(box.y - other.y) - (box.height + other.height) / 2,
            )
            free = min(free, gap)
        return free

    def choose(self, candidates: Iterable[Box], enough: float = 4.0) -> tuple[int, float]:
        """Choose the first candidate with enough room, or the one with the most; it is then taken.

        Returns
        -------
        tuple
            Its place among the candidates, and the pixels between it and the nearest curve or box (at most
            ``enough``): negative where it has to stand on something.
        """
        choice, most = 0, (-np.inf, -np.inf)
        chosen: Box | None = None
        for place, box in enumerate(candidates):
            free = min(self.crossing(box), enough)
            edge = free_of(box, self.edges) if free >= most[0] else -np.inf
            if (free, edge) > most:
                choice, most, chosen = place, (free, edge), box
            if min(free, edge) >= enough:
                break
        if chosen is not None:
            self.boxes.append(chosen)
        return choice, float(most[0])

    def best(self, candidates: Sequence[Box]) -> int:
        """Return the place that :meth:`choose` chooses."""
        return self.choose(candidates)[0]


def free_of(box: Box, curves: Sequence[tuple[FloatArray, FloatArray]]) -> float:
    """Distance from a box to the nearest of some curves, negative where it lies on one; at most 60."""
    free = 60.0
    for x, y in curves:
        gaps = np.maximum(np.abs(x - box.x) - box.width / 2, np.abs(y - box.y) - box.height / 2)
        free = min(free, float(gaps.min()))
    return free


__all__ = ["Box", "Ground", "apart"]
