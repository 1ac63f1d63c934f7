"""Where panels stand, what their axes span, and how a value becomes a place on the screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.figures.style import Size, block_width, linear_ends, log_axis, log_ends, text_width, wrapped
from privexplorer.studies.chart import (
    Area,
    Axis,
    Bars,
    Chart,
    HeatMap,
    Line,
    Mark,
    Numbers,
    Panel,
    Points,
    Scale,
    Spread,
)

MOST_DECADES = 12
"""A log axis shows no more decades than this below its largest value: what is lower is cut."""

ROW_CHARACTERS = 62
"""Length of a line of the names of rows."""


@dataclass(frozen=True)
class Range:
    """What an axis spans."""

    scale: Scale
    low: float
    high: float
    categories: tuple[str, ...] = ()

    def share(self, values: FloatArray) -> FloatArray:
        """Turn values into shares of the axis: 0 at its start, 1 at its end; NaN where a log axis shows nothing."""
        if self.scale == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(values > 0, np.log10(np.where(values > 0, values, 1.0)), np.nan)
            low, high = math.log10(self.low), math.log10(self.high)
            return (logs - low) / (high - low)
        return (values - self.low) / (self.high - self.low)

    def places(self, x: Sequence[str] | Numbers) -> FloatArray:
        """Turn x values, or the names of categories, into numbers on the axis."""
        if self.scale == "category":
            order = {name: place for place, name in enumerate(self.categories)}
            return np.array([order[str(name)] for name in x], dtype=np.float64)
        return np.asarray(x, dtype=np.float64)


@dataclass(frozen=True)
class Cell:
    """One panel on the sheet: its axes' names and domains (shares of the plot), its size in pixels."""

    place: int
    row: int
    column: int
    x_domain: tuple[float, float]
    y_domain: tuple[float, float]
    width: float
    height: float
    lowest: bool
    x: Range
    y: Range

    @property
    def axes(self) -> tuple[str, str]:
        """Names by which traces refer to the axes."""
        mark = "" if self.place == 0 else str(self.place + 1)
        return f"x{mark}", f"y{mark}"

    def pixels(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Turn values into pixels from the panel's lower left corner."""
        return self.x.share(x) * self.width, self.y.share(y) * self.height


def x_axis_of(chart: Chart, panel: Panel) -> Axis:
    """Return the x axis of a panel."""
    return panel.x or chart.x


def y_axis_of(chart: Chart, panel: Panel) -> Axis:
    """Return the y axis of a panel."""
    return panel.y or chart.y


def numbers(values: object) -> FloatArray:
    """Return values as floats; what is infinite becomes a gap."""
    out = np.array(values, dtype=np.float64).ravel()
    out[~np.isfinite(out)] = np.nan
    return out


def heights(mark: Mark, log: bool) -> list[FloatArray]:
    """All y values that an axis has to show."""
    if isinstance(mark, Line):
        y = numbers(mark.y)
        if mark.std_error is None:
            return [y]
        error = 2 * numbers(mark.std_error)
        return [y, y + error] if log else [y, y + error, y - error]
    if isinstance(mark, Spread):
        return [numbers(mark.low), numbers(mark.high)]
    if isinstance(mark, Bars):
        y = numbers(mark.y)
        return [y] if mark.error is None else [y, y + numbers(mark.error)]
    if isinstance(mark, Points):
        out = [numbers(mark.y)]
        if mark.high is not None:
            out.append(numbers(mark.high))
        if mark.low is not None and not log:
            out.append(numbers(mark.low))
        return out
    return [numbers(mark.y)]


def sums(panel: Panel) -> list[FloatArray]:
    """Heights of what is stacked."""
    out: list[FloatArray] = []
    areas = [numbers(mark.y) for mark in panel.marks if isinstance(mark, Area)]
    if areas:
        out.append(np.nansum(np.vstack(areas), axis=0))
    totals: dict[object, float] = {}
    for mark in panel.marks:
        if isinstance(mark, Bars) and mark.stack:
            for x, y in zip(mark.x, numbers(mark.y).tolist(), strict=True):
                totals[x] = totals.get(x, 0.0) + (0.0 if math.isnan(y) else y)
    if totals:
        out.append(np.array(list(totals.values())))
    return out


def span(values: Iterable[FloatArray], log: bool) -> tuple[float, float] | None:
    """Smallest and largest value that an axis can show; ``None`` if there is none."""
    parts = list(values)
    if not parts:
        return None
    flat = np.concatenate(parts)
    flat = flat[np.isfinite(flat) & ((flat > 0) | (not log))]
    return (float(flat.min()), float(flat.max())) if flat.size else None


def y_range(axis: Axis, panels: Sequence[Panel]) -> Range:
    """Range of a y axis that these panels share."""
    log = axis.scale == "log"
    marks = [mark for panel in panels for mark in panel.marks]
    values = [part for mark in marks for part in heights(mark, log)]
    values += [part for panel in panels for part in sums(panel)]
    values += [np.array([level for level, _ in panel.level_lines]) for panel in panels if panel.level_lines]
    found = span(values, log)
    exact = bool(marks) and all(isinstance(mark, HeatMap) for mark in marks)
    if found is None:
        low, high = (0.1, 1.0) if log else (0.0, 1.0)
    elif exact and found[0] < found[1]:
        low, high = found
    elif log:
        low, high = log_ends(max(found[0], found[1] * 10.0**-MOST_DECADES), found[1])
    else:
        low, high = linear_ends(*found, zero=any(isinstance(mark, Bars | Area) for mark in marks))
    return bounded(axis, low, high)


def bounded(axis: Axis, low: float, high: float) -> Range:
    """Let the bounds that the chart states win over the data's."""
    if axis.low is not None and (axis.scale != "log" or axis.low > 0):
        low = axis.low
    if axis.high is not None and (axis.scale != "log" or axis.high > 0):
        high = axis.high
    if not low < high:
        low, high = (low / 2, low * 2) if axis.scale == "log" else (low - 1, low + 1)
    return Range(axis.scale if axis.scale != "category" else "linear", low, high)


def x_range(axis: Axis, panels: Sequence[Panel]) -> Range:
    """Range of an x axis that these panels share: exactly the data's for curves, a little more for points."""
    marks = [mark for panel in panels for mark in panel.marks]
    if axis.scale == "category":
        names: dict[str, None] = {}
        for mark in marks:
            names |= dict.fromkeys(str(name) for name in mark.x)
        return Range("category", -0.5, max(len(names), 1) - 0.5, tuple(names))
    log = axis.scale == "log"
    found = span([numbers(mark.x) for mark in marks], log)
    if found is None:
        return bounded(axis, *((0.1, 1.0) if log else (0.0, 1.0)))
    low, high = found
    curves = span([numbers(mark.x) for mark in marks if not isinstance(mark, Points | Bars)], log)
    if low == high:
        return bounded(axis, *((low / 2, high * 2) if log else (low - 1, high + 1)))
    bars = [numbers(mark.x) for mark in marks if isinstance(mark, Bars)]
    if bars and not log:
        gaps = np.diff(np.unique(np.concatenate(bars)))
        half = float(gaps.min()) / 2 if gaps.size else 0.5
        asked = bounded(axis, low, high)
        # stated bounds do not cut the first and the last bar in two
        return Range(asked.scale, min(asked.low, low - half), max(asked.high, high + half))
    if curves is None or low < curves[0] or high > curves[1]:
        if log:
            pad = (high / low) ** 0.03
            low, high = low / pad, high * pad
        else:
            pad = (high - low) * 0.03
            low, high = low - pad, high + pad
    return bounded(axis, low, high)


def rows_and_columns(chart: Chart, compact: bool) -> tuple[int, int]:
    """How many rows and columns of panels; one per row on a phone."""
    columns = 1 if compact else max(1, min(chart.columns, len(chart.panels)))
    return -(-len(chart.panels) // columns), columns


def sheet_height(chart: Chart, size: Size) -> int:
    """Height of the whole chart in pixels: at least 210 for each further row of panels."""
    rows, _ = rows_and_columns(chart, size.compact)
    if rows == 1:
        return size.height
    own_x = any(panel.x is not None for panel in chart.panels)
    needed = size.top + size.bottom + rows * (185 if size.compact else 190) + (rows - 1) * round(gap_above(size, own_x))
    return max(size.height, needed + round(size.text * 1.9))


def row_texts(axis: Axis, size: Size) -> list[str]:
    """Return the names of the rows of a y axis as they are written: in two lines if long, short ones on a phone."""
    return [row.short if size.compact else wrapped(row.text, ROW_CHARACTERS) for row in axis.rows]


def gap_above(size: Size, own_x: bool) -> float:
    """Pixels between two rows: the title of the lower panel, and ticks and title of the upper one's own x axis."""
    return size.text * ((7.4 if size.compact else 6.2) if own_x else 3.2)


def end_ticks_room(span: Range, size: Size) -> float:
    """Return the pixels between panels that keep the last number below one from the first below the next."""
    if span.scale == "category" or not span.low < span.high:
        return 0.0
    if span.scale == "log":
        texts = log_axis(span.low, span.high, True)["ticktext"] or [""]
        ends = (texts[0], texts[-1])
    else:
        ends = (f"{span.low:,.3g}", f"{span.high:,.3g}" if abs(span.high) < 100 else f"{span.high:,.0f}")
    # half as much again: windows are often narrower than the chart is laid out for
    return 1.5 * (sum(text_width(text, size.text) for text in ends) / 2 + 0.4 * size.text)


def cells(chart: Chart, size: Size, right: int, top: int) -> list[Cell]:
    """Lay the panels out.

    Parameters
    ----------
    chart : Chart
        What to draw.
    size : Size
        Text size and the height of the whole chart.
    right, top : int
        Margins in pixels.

    Returns
    -------
    list of Cell
        One per panel, in order.
    """
    panels = chart.panels
    rows, columns = rows_and_columns(chart, size.compact)
    left = max([45.0, *(block_width(text, size.text) + 12 for text in row_texts(chart.y, size))])
    plot_width, plot_height = size.width - right - left, max(size.height - top - size.bottom, 80)
    own_y = not chart.shared_y or any(panel.y is not None for panel in panels)
    own_x = any(panel.x is not None for panel in panels)
    spans = [x_range(x_axis_of(chart, panel), [panel] if own_x else panels) for panel in panels]
    least = max(end_ticks_room(span, size) for span in spans) if columns > 1 else 0.0
    gap_x = max(size.text * 4.6 if own_y else size.text * 1.8, least) / plot_width
    gap_y = gap_above(size, own_x) / plot_height
    wide = (1 - gap_x * (columns - 1)) / columns
    high = (1 - gap_y * (rows - 1)) / rows
    together_x = None if own_x else x_range(chart.x, panels)
    together_y = None if own_y else y_range(chart.y, panels)
    out = []
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        left, bottom = column * (wide + gap_x), 1 - high - row * (high + gap_y)
        out.append(
            Cell(
                place,
                row,
                column,
                (round(left, 5), round(min(left + wide, 1.0), 5)),
                (round(max(bottom, 0.0), 5), round(min(bottom + high, 1.0), 5)),
                wide * plot_width,
                high * plot_height,
                place + columns >= len(panels),
                together_x or x_range(x_axis_of(chart, panel), [panel]),
                together_y or y_range(y_axis_of(chart, panel), [panel]),
            )
        )
    return out
