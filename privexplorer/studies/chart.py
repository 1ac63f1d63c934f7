"""What a chart shows, as data: lines, bands, bars, maps and axes, without any drawing library.

A study describes its chart with these records; ``privexplorer.figures`` draws them. The role of a mark
decides colour, dash and marker, and a role looks the same on all pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from privexplorer.arrays import FloatArray

Role = Literal["private", "non-private", "upper bound", "lower bound", "truth", "data", "local", "attacker"]
Scale = Literal["log", "linear", "category"]
Numbers = FloatArray | Sequence[float]


@dataclass(frozen=True)
class Line:
    """A curve. ``name`` is stable (tests find traces by it) and equals the series in the frame."""

    role: Role
    x: Numbers
    y: Numbers
    name: str
    label: str | None = None
    """End label, at most two lines of 14 characters (``<br>`` between); ``None`` draws no label."""
    std_error: Numbers | None = None
    """Simulation error: drawn as a band of ± two standard errors."""
    main: bool = False
    markers: bool = False
    dash: str | None = None
    width: float | None = None
    hover: str | None = None
    """Phrase with ``{y}`` and ``{e}`` (two standard errors), such as ``"private: off by {y} ± {e} nats"``."""


@dataclass(frozen=True)
class Spread:
    """A band between two curves: the spread of one release, named on the band; never simulation error."""

    role: Role
    x: Numbers
    low: Numbers
    high: Numbers
    name: str
    strength: Literal["light", "strong"] = "light"
    label: str | None = None


@dataclass(frozen=True)
class Bars:
    """Bars over categories or numbers; ``stack`` puts those with the same x on top of one another."""

    role: Role
    x: Sequence[str] | Numbers
    y: Numbers
    name: str
    label: str | None = None
    stack: bool = False
    error: Numbers | None = None
    """Half-length of the whiskers drawn on the bars: two standard errors."""
    hover: str | None = None


@dataclass(frozen=True)
class Area:
    """One layer of a stacked area: layers are drawn in the order given, each on the ones before."""

    role: Role
    x: Numbers
    y: Numbers
    name: str
    label: str | None = None
    hover: str | None = None


@dataclass(frozen=True)
class Points:
    """Single points, with bars for ± two standard errors or an interval if given."""

    role: Role
    x: Sequence[str] | Numbers
    y: Numbers
    name: str
    label: str | None = None
    low: Numbers | None = None
    high: Numbers | None = None
    text: Sequence[str] | None = None
    """Names of single points, written beside them where there is room; empty texts are left out."""
    hover: str | None = None
    open: bool = False
    size: float = 9


@dataclass(frozen=True)
class HeatMap:
    """A map in flat classes between ``levels``, with the levels' names on the lines and regions named in words."""

    x: Numbers
    y: Numbers
    z: FloatArray
    """Shape (len(y), len(x))."""
    levels: Sequence[float]
    name: str
    level_text: str = "{:g}×"
    regions: Sequence[tuple[float, float, str]] = ()
    you: tuple[float, float] | None = None
    hover: str = "{z}× the error without privacy"
    cells: bool = False
    """A table instead of a map: each entry is a square with its number, hue by sign; then ``levels`` is empty."""
    x_names: Sequence[str] = ()
    """Words under the columns of a table, in the order of ``x``."""
    y_names: Sequence[str] = ()
    """Words beside the rows of a table, in the order of ``y``."""
    lines: Role | None = None
    """Draw the levels alone, as curves of this role, over another map of the same panel; no shades, no hover."""
    column_hover: Sequence[str] = ()
    """What hovering a square of a table tells further of its column, in the order of ``x``."""


Mark = Line | Spread | Bars | Area | Points | HeatMap


@dataclass(frozen=True)
class Above:
    """A second scale above the plot: what it measures, and what it reads at values of the x axis below."""

    title: str
    ticks: tuple[tuple[float, str], ...]
    """Values of the x axis, each with the words above it; words without room are left out."""


@dataclass(frozen=True)
class RowName:
    """What stands beside one value of a y axis instead of a number: words, and on a phone something shorter."""

    at: float
    text: str
    short: str


@dataclass(frozen=True)
class Axis:
    """An axis: what it measures, with unit, and its scale. ``None`` bounds follow the data."""

    title: str
    scale: Scale = "linear"
    low: float | None = None
    high: float | None = None
    ends: tuple[str, str] | None = None
    """Words at the two ends: ("more private", "more accurate")."""
    symbol: str | None = None
    """Short symbol for hover heads ("At ε = 0.05"); the title where left out."""
    unit: str = ""
    rows: tuple[RowName, ...] = ()
    """Names of the rows of a y axis; points then tell their texts on hover alone."""
    above: Above | None = None
    """A second scale for an x axis, written above the plot."""


@dataclass(frozen=True)
class Panel:
    """One set of axes: its marks, and a title when there are several."""

    marks: tuple[Mark, ...]
    title: str = ""
    here: tuple[float, str] | None = None
    """The visitor's own value on the x axis, and the words beside it."""
    x: Axis | None = None
    y: Axis | None = None
    marked: tuple[tuple[float, str], ...] = ()
    """Further values on the x axis, each a vertical reference line with its words."""
    level_lines: tuple[tuple[float, str], ...] = ()
    """Horizontal reference lines with their words (a target, one)."""


@dataclass(frozen=True)
class Chart:
    """A whole chart: bold title = the quantity, grey subtitle = measure, unit and scale (at most 48 characters)."""

    title: str
    subtitle: str
    x: Axis
    y: Axis
    panels: tuple[Panel, ...]
    columns: int = 1
    shared_y: bool = True
    height: int = 430
    draft: bool = False
    names: tuple[str, ...] = field(default=())
    """Order of the end labels in small multiples (beside the first row's last panel)."""
    by_point: bool = False
    """Hover tells of the nearest point alone, not of all marks at one x: for charts of points."""

    def marks(self) -> list[Mark]:
        """List all marks of all panels."""
        return [mark for panel in self.panels for mark in panel.marks]


def finite(values: Numbers) -> FloatArray:
    """Return the values as floats with what a log axis cannot show turned into gaps."""
    out = np.asarray(values, dtype=np.float64).copy()
    out[~np.isfinite(out)] = np.nan
    return out


__all__ = [
    "Above",
    "Area",
    "Axis",
    "Bars",
    "Chart",
    "HeatMap",
    "Line",
    "Mark",
    "Numbers",
    "Panel",
    "Points",
    "Role",
    "RowName",
    "Scale",
    "Spread",
    "finite",
]
