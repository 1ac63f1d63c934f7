"""A chart in plain words: the alternative text of a chart that has no takeaway of its own."""

from __future__ import annotations

import math

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.figures.grid import numbers, x_axis_of, y_axis_of
from privexplorer.figures.marks import significant_short
from privexplorer.figures.style import plain
from privexplorer.studies.chart import Area, Axis, Bars, Chart, HeatMap, Line, Mark, Points, Spread
from privexplorer.studies.words import listed, significant, with_unit

MOST_NAMED = 8


def describe(chart: Chart) -> str:
    r"""Say in plain text what a chart shows: quantity, axis, and where each curve begins and ends.

    Examples
    --------
    >>> from privexplorer.studies.chart import Panel
    >>> error = Line("private", [0.1, 1.0], [0.2, 0.05], "private")
    >>> x, y = Axis("ε", "log", symbol="ε"), Axis("error", "log", unit="nats")
    >>> describe(Chart("Error", "in nats", x, y, (Panel((error,)),))).replace("\u00a0", " ")
    'Error (in nats) against ε from 0.1 to 1. private falls from 0.20 nats to 0.050 nats.'
    """
    title = f"{plain(chart.title)}, draft" if chart.draft else plain(chart.title)
    head = f"{title} ({plain(chart.subtitle)})" if chart.subtitle else title
    sentences = [head + against(chart)]
    if chart.x.above is not None and chart.x.above.ticks:
        (first, low), (last, high) = min(chart.x.above.ticks), max(chart.x.above.ticks)
        ends = f"{low} above {significant_short(first)} to {high} above {significant_short(last)}"
        sentences.append(f"Second scale: {plain(chart.x.above.title)}, from {ends}")
    for panel in chart.panels:
        said = [text for mark in panel.marks if (text := tell(mark, y_axis_of(chart, panel)))]
        if len(said) > MOST_NAMED:
            said = [*said[:MOST_NAMED], f"{len(said) - MOST_NAMED} more"]
        if said:
            sentences.append((f"{plain(panel.title)}: " if panel.title else "") + "; ".join(said))
        if panel.here is not None:
            sentences.append(f"Marked: {plain(panel.here[1])}")
        if panel.marked:
            sentences.append(f"Vertical lines: {listed([plain(text) for _, text in panel.marked])}")
        if panel.level_lines:
            sentences.append(f"Reference lines: {listed([plain(text) for _, text in panel.level_lines if text])}")
    return " ".join(sentence.rstrip(".") + "." for sentence in sentences if sentence)


def against(chart: Chart) -> str:
    """Say what the x axis measures, and from where to where."""
    if not chart.panels:
        return ""
    axis = x_axis_of(chart, chart.panels[0])
    name = plain(axis.title)
    if axis.scale == "category":
        return f" by {name}" if name else ""
    values = [numbers(mark.x) for panel in chart.panels if x_axis_of(chart, panel) == axis for mark in panel.marks]
    flat = np.concatenate(values) if values else np.array([])
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        return f" against {name}"
    low, high = significant_short(float(flat.min())), significant_short(float(flat.max()))
    return f" against {name} from {low} to {with_unit(high, axis.unit)}"


def tell(mark: Mark, axis: Axis) -> str:
    """Say what one mark shows."""
    if isinstance(mark, HeatMap):
        return tell_map(mark)
    if isinstance(mark, Spread):
        return ""
    y = numbers(mark.y)
    y = y[np.isfinite(y)]
    name = plain(mark.label or mark.name)
    if not y.size:
        return f"{name} has no value to show"
    if isinstance(mark, Line | Area):
        return f"{name} {course(y, axis)}"
    if isinstance(mark, Bars | Points) and len(y) <= 6 and mark.x is not None and axis is not None:
        pairs = [
            f"{x if isinstance(x, str) else significant_short(float(x))} {value(v, axis)}"
            for x, v in zip(mark.x, numbers(mark.y).tolist(), strict=True)
            if math.isfinite(v)
        ]
        return f"{name}: {listed(pairs)}"
    return f"{name}: {len(y)} values between {value(float(y.min()), axis)} and {value(float(y.max()), axis)}"


def value(number: float, axis: Axis) -> str:
    """Write a value with two digits and its unit."""
    return with_unit(significant(number, 2), axis.unit)


def course(y: FloatArray, axis: Axis) -> str:
    """Say how a curve runs."""
    first, last = float(y[0]), float(y[-1])
    low, high = float(y.min()), float(y.max())
    size = max(abs(low), abs(high))
    if high - low <= 0.03 * size:
        return f"stays near {value(last, axis)}"
    steps = np.diff(y)
    slack = 0.05 * (high - low)
    if first > last and not bool((steps > slack).any()):
        return f"falls from {value(first, axis)} to {value(last, axis)}"
    if first < last and not bool((steps < -slack).any()):
        return f"rises from {value(first, axis)} to {value(last, axis)}"
    return f"runs between {value(low, axis)} and {value(high, axis)}, ending at {value(last, axis)}"


def tell_map(mark: HeatMap) -> str:
    """Say what a map spans, and what holds at the visitor's own point."""
    z = numbers(mark.z)
    z = z[np.isfinite(z)]
    if not z.size:
        return ""
    words = f"values from {significant(float(z.min()), 2)} to {significant(float(z.max()), 2)}"
    if mark.you is None:
        return words
    xs, ys = numbers(mark.x), numbers(mark.y)
    grid = np.asarray(mark.z, dtype=np.float64)
    mine = float(grid[int(np.argmin(np.abs(ys - mark.you[1]))), int(np.argmin(np.abs(xs - mark.you[0])))])
    at = f"{significant_short(mark.you[0])} and {significant_short(mark.you[1])}"
    return f"{words}; at your own point ({at}) {significant(mine, 2)}"


__all__ = ["describe"]
