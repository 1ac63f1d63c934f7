"""From the marks of a chart to Plotly traces."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.figures.grid import Cell, numbers
from privexplorer.figures.style import (
    CLASSES,
    DASHES,
    INK,
    MARKERS,
    PAPER,
    ROLES,
    SIGNED,
    Spec,
    band,
    hovering,
    line,
    marker,
    tint,
)
from privexplorer.studies.chart import Area, Axis, Bars, Chart, HeatMap, Line, Mark, Points, Role, Spread
from privexplorer.studies.words import plus_minus, significant, with_unit

MANY_POINTS = 2_000
NEVER_OPEN = ("line-ew", "x-thin")
"""Markers without an inside."""


@dataclass(frozen=True)
class Family:
    """Dash and marker of each named mark: relatives share a hue and differ in dash and marker."""

    dashes: dict[tuple[Role, str], str]
    markers: dict[tuple[Role, str], str]


def family(chart: Chart) -> Family:
    """Give every curve and every group of points of one role a dash or marker of its own."""
    dashes: dict[tuple[Role, str], str] = {}
    markers: dict[tuple[Role, str], str] = {}
    marks = chart.marks()
    for mark in marks:
        if isinstance(mark, Line) and mark.dash:
            dashes[mark.role, mark.name] = mark.dash
    for mark in marks:
        if isinstance(mark, Line | Area) and (mark.role, mark.name) not in dashes:
            dashes[mark.role, mark.name] = _next(ROLES[mark.role].dash, DASHES, mark.role, dashes)
        if isinstance(mark, Points) and (mark.role, mark.name) not in markers:
            markers[mark.role, mark.name] = _next(ROLES[mark.role].marker, MARKERS, mark.role, markers)
    return Family(dashes, markers)


def _next(own: str, others: Sequence[str], role: Role, taken: dict[tuple[Role, str], str]) -> str:
    used = {value for (owner, _), value in taken.items() if owner == role}
    wanted = [own, *(other for other in others if other not in (own, "solid"))]
    return next((value for value in wanted if value not in used), own)


def traces(mark: Mark, cell: Cell, kin: Family, y: Axis, x: Axis) -> list[Spec]:
    """Draw one mark."""
    if isinstance(mark, Line):
        return line_traces(mark, cell, kin, y)
    if isinstance(mark, Spread):
        return [spread_trace(mark, cell)]
    if isinstance(mark, Bars):
        return [bar_trace(mark, cell, y)]
    if isinstance(mark, Area):
        return [area_trace(mark, cell, kin, y)]
    if isinstance(mark, Points):
        return [point_trace(mark, cell, kin, y)]
    return map_traces(mark, cell, x, y)


# ---------------------------------------------------------------- phrases


def phrases(template: str, values: FloatArray, errors: FloatArray | None, **more: Sequence[str]) -> list[str]:
    """Write one phrase per point; without an error the "± …" part of the phrase is left out.

    Examples
    --------
    >>> phrases("private: off by {y} ± {e} nats", np.array([0.0385, 0.2]), np.array([0.0031, 0.0]))
    ['private: off by 0.038 ± 0.003 nats', 'private: off by 0.200 nats']
    """
    short = template.replace(" ± {e}", "").replace("±{e}", "").replace("{e}", "")
    known = list(zip(*more.values(), strict=True)) if more else None
    faults = [0.0] * len(values) if errors is None else errors.tolist()
    out = []
    for place, (value, error) in enumerate(zip(values.tolist(), faults, strict=True)):
        fields = dict(zip(more, known[place], strict=True)) if known else {}
        if error > 0 and math.isfinite(error):
            text, pm = plus_minus(value, error)
            out.append(template.format(y=text, e=pm.removeprefix("± "), **fields))
        else:
            out.append(short.format(y=significant(value), e="", **fields))
    return out


def default_phrase(name: str, axis: Axis, error: bool) -> str:
    """Return the phrase of a mark that states none: name, value, ± and unit."""
    safe = name.replace("{", "(").replace("}", ")")
    return f"{safe}: " + with_unit("{y} ± {e}" if error else "{y}", axis.unit)


# ---------------------------------------------------------------- curves


def gaps(values: FloatArray, log: bool) -> list[float | None]:
    """Return values for drawing: what is not finite, and on a log axis what is not positive, is a gap."""
    bad = ~np.isfinite(values)
    if log:
        bad |= ~(values > 0)
    return [None if gap else value for value, gap in zip(values.tolist(), bad.tolist(), strict=True)]


def thinned(x: FloatArray, y: FloatArray, most: int = MANY_POINTS) -> IntArray:
    """Choose the points of a long curve that are drawn: first, last, lowest and highest of each bin.

    Returns
    -------
    array of int, shape (at most ``most`` + 2,)
        Increasing places.
    """
    if len(x) <= most:
        return np.arange(len(x), dtype=np.int64)
    edges = np.linspace(0, len(x), most // 4 + 1).astype(int)
    keep = {0, len(x) - 1}
    for start, stop in pairwise(edges.tolist()):
        part = y[start:stop]
        keep |= {int(start), int(stop) - 1}
        if np.isfinite(part).any():
            keep |= {int(start + np.nanargmin(part)), int(start + np.nanargmax(part))}
    return np.array(sorted(keep), dtype=np.int64)


def line_traces(mark: Line, cell: Cell, kin: Family, axis: Axis) -> list[Spec]:
    """Draw a curve, and a band of ± two standard errors below it."""
    log = cell.y.scale == "log"
    x, y = cell.x.places(mark.x), numbers(mark.y)
    error = None if mark.std_error is None else np.broadcast_to(2 * numbers(mark.std_error), y.shape)
    keep = thinned(x, y)
    if len(keep) < len(x):
        x, y, error = x[keep], y[keep], None if error is None else error[keep]
    names: Sequence[Any] = x.tolist()
    if cell.x.scale == "category":
        names = [str(name) for name in mark.x]
    out = []
    noisy = error is not None and bool(np.nanmax(error, initial=0.0) > 0)
    if error is not None and noisy:
        low, high = y - error, y + error
        if log:
            low = np.where(
                y > 0, np.maximum(low, min(cell.y.low, float(np.nanmin(y[y > 0], initial=np.inf))) / 10), np.nan
            )
            high = np.where(y > 0, high, np.nan)
        out.append(band(mark.role, names, low.tolist(), high.tolist(), name=f"{mark.name} ± 2 s.e.", axes=cell.axes))
    phrase = mark.hover or default_phrase(mark.name, axis, noisy)
    out.append(
        line(
            mark.role,
            names,
            gaps(y, log),
            name=mark.name,
            hover=phrases(phrase, y, error),
            markers=mark.markers,
            dash=kin.dashes[mark.role, mark.name],
            width=mark.width,
            axes=cell.axes,
        )
    )
    return out


def spread_trace(mark: Spread, cell: Cell) -> Spec:
    """Draw the spread of one release."""
    low, high = numbers(mark.low), numbers(mark.high)
    if cell.y.scale == "log":
        low = np.where(high > 0, np.maximum(low, cell.y.low / 10), np.nan)
        high = np.where(high > 0, high, np.nan)
    opacity = 0.30 if mark.strength == "strong" else 0.16
    x = cell.x.places(mark.x).tolist()
    return band(mark.role, x, low.tolist(), high.tolist(), name=mark.name, opacity=opacity, axes=cell.axes)


def area_trace(mark: Area, cell: Cell, kin: Family, axis: Axis) -> Spec:
    """Draw one layer of a stacked area."""
    y = numbers(mark.y)
    look = ROLES[mark.role]
    return {
        "type": "scatter",
        "x": cell.x.places(mark.x).tolist(),
        "y": np.nan_to_num(y).tolist(),
        "name": mark.name,
        "mode": "lines",
        "stackgroup": f"stack {cell.place}",
        "line": {"color": look.colour, "width": 1.5, "dash": kin.dashes[mark.role, mark.name]},
        "fillcolor": tint(look.colour, 0.28),
        "xaxis": cell.axes[0],
        "yaxis": cell.axes[1],
    } | hovering(phrases(mark.hover or default_phrase(mark.name, axis, False), y, None))


# ---------------------------------------------------------------- bars and points


def bar_trace(mark: Bars, cell: Cell, axis: Axis) -> Spec:
    """Draw bars; roles differ by pattern as well as by colour."""
    look = ROLES[mark.role]
    y = numbers(mark.y)
    error = None if mark.error is None else numbers(mark.error)
    out: Spec = {
        "type": "bar",
        "x": [str(name) for name in mark.x] if cell.x.scale == "category" else numbers(mark.x).tolist(),
        "y": gaps(y, cell.y.scale == "log"),
        "name": mark.name,
        "marker": {
            "color": look.colour,
            "line": {"color": look.colour, "width": 1.5},
            "pattern": {
                "shape": look.pattern,
                "fgcolor": tint(look.colour, 0.75),
                "bgcolor": tint(look.colour, 0.16),
                "size": 8,
                "solidity": 0.16,
            },
        },
        "cliponaxis": False,
        "textposition": "none",
        "xaxis": cell.axes[0],
        "yaxis": cell.axes[1],
    } | hovering(phrases(mark.hover or default_phrase(mark.name, axis, error is not None), y, error))
    if error is not None:
        out["error_y"] = whiskers(error, error, "#000005")
    return out


def whiskers(up: FloatArray, down: FloatArray, colour: str) -> Spec:
    """Return bars without caps for ± two standard errors or an interval."""
    return {
        "type": "data",
        "symmetric": False,
        "array": np.nan_to_num(up).tolist(),
        "arrayminus": np.nan_to_num(down).tolist(),
        "color": colour,
        "thickness": 1.5,
        "width": 0,
    }


def point_trace(mark: Points, cell: Cell, kin: Family, axis: Axis) -> Spec:
    """Draw single points, through the graphics card where there are many."""
    look = ROLES[mark.role]
    y = numbers(mark.y)
    low = y if mark.low is None else numbers(mark.low)
    high = y if mark.high is None else numbers(mark.high)
    half = None if mark.low is None or mark.high is None else (high - low) / 2
    symbol = kin.markers[mark.role, mark.name]
    if mark.open:
        symbol = "circle-open" if symbol in NEVER_OPEN else f"{symbol.removesuffix('-open')}-open"
    words = phrases(mark.hover or default_phrase(mark.name, axis, half is not None), y, half)
    if mark.text is not None:
        words = [f"<b>{label}</b><br>{phrase}" for label, phrase in zip(mark.text, words, strict=True)]
    many = len(y) > MANY_POINTS
    out: Spec = {
        "type": "scattergl" if many else "scatter",
        "x": [str(name) for name in mark.x] if cell.x.scale == "category" else numbers(mark.x).tolist(),
        "y": gaps(y, cell.y.scale == "log"),
        "name": mark.name,
        "mode": "markers",
        "marker": marker(mark.role, 4 if many else mark.size, symbol),
        "xaxis": cell.axes[0],
        "yaxis": cell.axes[1],
    } | hovering(words)
    if many:
        out["marker"] |= {"opacity": 0.6, "line": {"width": 0}}
        return out
    out["cliponaxis"] = False
    if half is not None or mark.low is not None or mark.high is not None:
        down = y - low
        if cell.y.scale == "log":
            down = np.minimum(down, y * 0.999)
        out["error_y"] = whiskers(high - y, down, look.colour)
    return out


# ---------------------------------------------------------------- maps


def class_numbers(z: FloatArray, levels: Sequence[float]) -> FloatArray:
    """Turn values into class numbers: the first level is 1, the second 2, and between them evenly in the log.

    Examples
    --------
    >>> class_numbers(np.array([[1.05, 2.0, 20.0]]), [1.05, 1.5, 2.0, 5.0, 10.0]).round(2)
    array([[1.  , 3.  , 5.66]])
    """
    ladder = np.asarray(levels, dtype=np.float64)
    count = len(ladder)
    squeeze: Callable[[FloatArray], FloatArray] = np.asarray
    if bool((ladder > 0).all()):
        small = float(ladder[0]) * 1e-9

        def squeeze(values: FloatArray) -> FloatArray:
            return np.log(np.maximum(values, small))

    steps = squeeze(ladder)
    inner = float(np.median(np.diff(steps))) if count > 1 else 1.0
    knots = np.concatenate([[steps[0] - inner], steps, [steps[-1] + 2 * inner]])
    targets = np.concatenate([[0.5], np.arange(1, count + 1), [count + 1.0]])
    values = np.where(np.isposinf(z), np.finfo(np.float64).max, z)
    out = np.interp(squeeze(values), knots, targets)
    return np.where(np.isnan(values), np.nan, np.clip(out, 0.5, count + 0.95))


def shades(count: int) -> list[str]:
    """Choose so many of the flat shades, first and last included."""
    if count == 1:
        return [CLASSES[0]]
    return [CLASSES[round(place * (len(CLASSES) - 1) / (count - 1))] for place in range(count)]


def map_traces(mark: HeatMap, cell: Cell, x: Axis, y: Axis) -> list[Spec]:
    """Draw a map in flat classes; lines between them in the colour of the paper."""
    if mark.cells:
        return table_traces(mark, cell, x, y)
    count = len(mark.levels)
    z = np.asarray(mark.z, dtype=np.float64)
    flat = shades(count + 1)
    scale = [[place / count, colour] for place, colour in enumerate(flat)] if count else [[0, flat[0]], [1, flat[0]]]
    xs, ys = numbers(mark.x), numbers(mark.y)
    heads_x = [f"{x.symbol or x.title} = {with_unit(significant_short(value), x.unit)}" for value in xs.tolist()]
    heads_y = [f"{y.symbol or y.title} = {with_unit(significant_short(value), y.unit)}" for value in ys.tolist()]
    words = [
        [
            f"<b>{head_x}, {head_y}</b><br>" + mark.hover.format(z=significant(value, 2))
            if math.isfinite(value)
            else f"<b>{head_x}, {head_y}</b><br>no value"
            for head_x, value in zip(heads_x, row, strict=True)
        ]
        for head_y, row in zip(heads_y, z.tolist(), strict=True)
    ]
    levels = class_numbers(z, mark.levels)
    grid: Spec = {
        "type": "contour",
        "x": xs.tolist(),
        "y": ys.tolist(),
        "z": [gaps(row, False) for row in levels],
        "name": mark.name,
        "showscale": False,
        "autocontour": False,
        "colorscale": scale,
        "zmin": 0.5,
        "zmax": count + 0.5,
        "zauto": False,
        "contours": {"start": 1, "end": max(count, 1), "size": 1, "coloring": "fill", "showlines": True},
        "line": {"color": PAPER, "width": 1.5, "smoothing": 0.6},
        "text": words,
        "hovertemplate": "%{text}<extra></extra>",
        "xaxis": cell.axes[0],
        "yaxis": cell.axes[1],
    }
    if mark.lines is not None:
        look = ROLES[mark.lines]
        del grid["text"], grid["hovertemplate"]
        grid |= {
            "hoverinfo": "skip",
            "contours": grid["contours"] | {"coloring": "none"},
            "line": {"color": look.colour, "width": 2, "dash": "6px,4px", "smoothing": 0.6},
        }
    out = [grid]
    if mark.lines is not None:
        # paper round the dashes, so that they stand out on every shade
        halo = {"color": tint(PAPER, 0.7), "width": 5, "dash": "solid", "smoothing": 0.6}
        out.insert(0, grid | {"name": f"{mark.name}, halo", "line": halo})
    if mark.you is not None:
        out.append(
            {
                "type": "scatter",
                "x": [mark.you[0]],
                "y": [mark.you[1]],
                "name": "you",
                "mode": "markers",
                "cliponaxis": False,
                "marker": {"size": 13, "color": "#000005", "line": {"color": PAPER, "width": 2.5}},
                "hoverinfo": "skip",
                "xaxis": cell.axes[0],
                "yaxis": cell.axes[1],
            }
        )
    return out


def signed_classes(z: FloatArray) -> IntArray:
    """Turn signed numbers into the shades 0 to 8: 4 is exactly 0 (or no number), the ends are near the largest size.

    Examples
    --------
    >>> signed_classes(np.array([[-2.0, -0.1, 0.0, 0.5, 2.0]])).tolist()
    [[0, 3, 4, 6, 8]]
    """
    sizes = np.abs(z[np.isfinite(z)])
    largest = float(sizes.max()) if sizes.size and sizes.max() > 0 else 1.0
    share = np.nan_to_num(z) / largest
    steps = np.searchsorted([0.15, 0.45, 0.75], np.abs(share), side="right") + 1
    return np.where(np.abs(share) < 1e-9, 4, 4 + np.sign(share) * steps).astype(np.int64)


def table_traces(mark: HeatMap, cell: Cell, x: Axis, y: Axis) -> list[Spec]:
    """Draw a table of signed numbers: one square each, its shade by sign and size, its number written on it."""
    z = np.asarray(mark.z, dtype=np.float64)
    xs, ys = numbers(mark.x), numbers(mark.y)
    shade = signed_classes(z)
    count = len(SIGNED)
    scale = [[(place + step) / count, colour] for place, colour in enumerate(SIGNED) for step in (0, 1)]
    across, along = heads(x, mark.x_names), heads(y, mark.y_names)
    more = [f"<br>{text}" for text in mark.column_hover] or [""] * len(xs)
    words = [
        [
            f"<b>{column}, {row}</b><br>" + mark.hover.format(z=significant(value, 3)) + further
            for column, value, further in zip(across, line_of, more, strict=True)
        ]
        for row, line_of in zip(along, z.tolist(), strict=True)
    ]
    axes = {"xaxis": cell.axes[0], "yaxis": cell.axes[1]}
    squares: Spec = {
        "type": "heatmap",
        "x": xs.tolist(),
        "y": ys.tolist(),
        "z": (shade + 0.5).tolist(),
        "zmin": 0,
        "zmax": count,
        "zauto": False,
        "colorscale": scale,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
        "name": mark.name,
        "text": words,
        "hovertemplate": "%{text}<extra></extra>",
        **axes,
    }
    strong = (shade <= 1) | (shade >= count - 2)
    written: Spec = {
        "type": "scatter",
        "x": np.tile(xs, len(ys)).tolist(),
        "y": np.repeat(ys, len(xs)).tolist(),
        "mode": "text",
        "text": [significant_short(float(f"{value:.2g}")) if math.isfinite(value) else "" for value in z.ravel()],
        "textposition": "middle center",
        "textfont": {"color": [PAPER if dark else INK for dark in strong.ravel()]},
        "name": f"{mark.name}, numbers",
        "hoverinfo": "skip",
        **axes,
    }
    return [squares, written]


def heads(axis: Axis, names: Sequence[str]) -> list[str]:
    """Name the rows or columns of a table in hover heads; an empty symbol says that their names need nothing before.

    Examples
    --------
    >>> heads(Axis("true category", symbol="true"), ["0"]), heads(Axis("true", symbol=""), ["true 0"])
    (['true 0'], ['true 0'])
    """
    before = axis.title if axis.symbol is None else axis.symbol
    return [f"{before} {name}".strip() for name in names]


def significant_short(value: float) -> str:
    """Write a setting as people type it: three digits at most, no closing zeros.

    Examples
    --------
    >>> significant_short(0.05), significant_short(10_000.0), significant_short(0.0794)
    ('0.05', '10,000', '0.0794')
    """
    text = significant(value, 3)
    if "×" in text:
        head, tail = text.split("×")
        return f"{head.rstrip('0').rstrip('.')}×{tail}" if "." in head else text
    return text.rstrip("0").rstrip(".") if "." in text else text
