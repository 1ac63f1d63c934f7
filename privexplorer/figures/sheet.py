"""Put a chart together: panels, axes, traces, and the words on them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any, Literal

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.figures.grid import (
    Cell,
    Range,
    cells,
    numbers,
    row_texts,
    rows_and_columns,
    sheet_height,
    x_axis_of,
    y_axis_of,
)
from privexplorer.figures.marks import class_numbers, family, traces
from privexplorer.figures.placing import Box, Ground, free_of
from privexplorer.figures.style import (
    FONT,
    INK,
    LABEL_CHARACTERS,
    LINE_HEIGHT,
    PAPER,
    ROLES,
    SOFT,
    STROKE,
    EndLabel,
    Size,
    Spec,
    block_height,
    block_width,
    end_labels,
    end_strokes,
    here,
    house,
    linear_axis,
    log_axis,
    note,
    plain,
    text_width,
    wrapped,
    x_axis,
    y_axis,
)
from privexplorer.studies.chart import (
    Above,
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
    Spread,
)
from privexplorer.studies.words import NO_BREAK

AT_THE_END = 0.88
"""A curve that stops before this share of the x axis is named where it stops."""
SUFFIXES = ("%", "×")
LINE_BREAK = re.compile("<br ?/?>")
HERE_LEVELS = (0.0, 1.0, 0.5, 0.75, 0.25, 0.9, 0.1, 0.82, 0.18, 0.67, 0.33, 0.58, 0.42)
"""Heights, as shares of a panel, at which the words beside a vertical line may stand: the best first."""
BAR_GAP, BAR_GROUP_GAP = 0.35, 0.08
NO_MARGIN = 16
"""Right margin in pixels where nothing is written there."""
LOWEST_NAMED_BAR, MOST_NAMED_BARS = 4.0, 8
"""Bars of fewer pixels carry no name; so many places above bars are tried for each name."""


def sheet(chart: Chart, size: Size) -> Spec:
    """Return the whole figure as a dictionary with ``data`` and ``layout``."""
    size = replace(size, height=sheet_height(chart, size))
    several = len(chart.panels) > 1
    extra = round(size.text * 1.9) if several else 0
    if chart.x.above is not None:
        room = round(size.text * 3.2)
        extra += room
        size = replace(size, height=size.height + room)
    said: set[str] = set()
    last_in_row = end_cells(chart, size.compact)
    title = f"{chart.title}, draft" if chart.draft else chart.title
    layout = house(title, chart.subtitle, size, extra_top=extra)
    top = layout["margin"]["t"]
    # the names' width decides the margin, and with it the width of the panels: so the margin comes first
    right = margin(chart, size)
    kin = family(chart)
    layout["margin"]["r"] = right
    data: list[Spec] = []
    annotations: list[Spec] = []
    shapes: list[Spec] = []
    grounds: list[Ground] = []
    laid = cells(chart, size, right, top)
    if (without := without_margin(chart, size, top)) is not None:
        right, laid = NO_MARGIN, without
        layout["margin"]["r"] = right
    elif any_strokes(chart, laid, size):
        right += STROKE
        layout["margin"]["r"] = right
        laid = cells(chart, size, right, top)
    deeper = category_depth(chart, laid, size)
    if deeper > 0:
        size = replace(size, height=size.height + deeper)
        layout["height"] = size.height
        layout["margin"]["b"] += deeper
    for cell, panel in zip(laid, chart.panels, strict=True):
        x, y = x_axis_of(chart, panel), y_axis_of(chart, panel)
        layout |= axes(chart, panel, cell, size, laid)
        ground = solid_ground(panel, cell)
        for mark in sorted(panel.marks, key=storey):
            if isinstance(mark, Line) and several and mark.width is None:
                mark = replace(mark, width=2.5 if mark.main else min(ROLES[mark.role].width, 2.0))
            data += traces(mark, cell, kin, y, x)
        if several and panel.title:
            annotations.append(panel_title(panel, cell, size))
        annotations += names_above_bars(panel, cell, size, said)
        if cell.place in last_in_row:
            words, strokes = names_at_end(chart, panel, cell, size, said)
            annotations += words
            shapes += strokes
        grounds.append(ground)
        if x.above is not None and cell.row == 0:
            more, lines = scale_above(x.above, cell, size)
            annotations += more
            shapes += lines
        more, lines = references(panel, cell, size, ground)
        annotations += more
        shapes += lines
        if nothing_to_show(panel, cell):
            annotations.append(
                note("No positive value to show on this scale.", 0.5, 0.5, size.text, name="nothing")
                | {"xref": f"{cell.axes[0]} domain", "yref": f"{cell.axes[1]} domain"}
            )
    for cell, panel, ground in zip(laid, chart.panels, grounds, strict=True):
        later = {mark.name for other in chart.panels[cell.place + 1 :] for mark in other.marks}
        written = bool(y_axis_of(chart, panel).rows)
        annotations += names_inside(panel, cell, size, ground, said, later, written)
    if chart.by_point or any(isinstance(mark, HeatMap) for mark in chart.marks()):
        layout["hovermode"] = "closest"
    bars = [mark for mark in chart.marks() if isinstance(mark, Bars)]
    if bars:
        layout |= {
            "barmode": "stack" if any(mark.stack for mark in bars) else "group",
            "bargap": BAR_GAP,
            "bargroupgap": BAR_GROUP_GAP,
        }
    layout["annotations"] = annotations
    layout["shapes"] = shapes
    return {"data": data, "layout": layout}


def storey(mark: Mark) -> int:
    """Return the layer of a mark: areas and bars, then curves, the main curve above the others, points on top.

    Plotly's own ``zorder`` clips markers at the edge and loses the line of the axis.
    """
    if isinstance(mark, Line):
        return 2 if mark.main else 1
    return 3 if isinstance(mark, Points) else 0


# ---------------------------------------------------------------- axes


def axes(chart: Chart, panel: Panel, cell: Cell, size: Size, laid: Sequence[Cell]) -> Spec:
    """Return the x and the y axis of one panel."""
    x, y = x_axis_of(chart, panel), y_axis_of(chart, panel)
    narrow = size.compact or cell.width < 360
    own_x = any(other.x is not None for other in chart.panels)
    own_y = not chart.shared_y or any(other.y is not None for other in chart.panels)
    title = x_title(x, size, cell.width) if own_x or cell.lowest else ""
    across_panels = [panel] if own_x else chart.panels
    along_panels = [panel] if own_y else chart.panels
    across = (
        x_axis(title, size)
        | scale(
            x,
            cell.x,
            narrow,
            whole(across_panels, "x"),
            upright_names(cell.x.categories, cell.width, size),
        )
        | {"domain": list(cell.x_domain), "anchor": cell.axes[1]}
    )
    upright = y_axis(size) | scale(y, cell.y, cell.height < 150, whole(along_panels, "y"))
    upright |= {"domain": list(cell.y_domain), "anchor": cell.axes[0]}
    if any(isinstance(mark, HeatMap) for mark in panel.marks):
        upright |= {"ticks": "outside", "ticklen": 5, "tickcolor": SOFT, "showgrid": False}
    if y.rows:
        upright |= named_ticks([row.at for row in y.rows], row_texts(y, size))
    for mark in panel.marks:
        if isinstance(mark, HeatMap) and mark.cells:
            across |= named_ticks(mark.x, upright_names(mark.x_names, cell.width, size))
            upright |= named_ticks(mark.y, mark.y_names)
    across["unifiedhovertitle"] = {"text": hover_head(x, cell.x, panel)}
    if not own_x:
        across |= {"matches": "x"} if cell.place else {}
        if not cell.lowest:
            across["showticklabels"] = False
    if not own_y:
        upright |= {"matches": "y"} if cell.place else {}
        if cell.column:
            upright["showticklabels"] = False
    number = "" if cell.place == 0 else str(cell.place + 1)
    return {f"xaxis{number}": across, f"yaxis{number}": upright}


def named_ticks(places: Numbers, names: Sequence[str]) -> Spec:
    """Return the ticks of a table: a name in the middle of each column or row."""
    return {"tickmode": "array", "tickvals": numbers(places).tolist(), "ticktext": list(names), "ticks": ""}


def upright_names(names: Sequence[str], width: float, size: Size) -> list[str]:
    """Return the names under bars or columns, never slanted: wrapped, and one lower than the other where room is short.

    Names stand in up to three rows, the second under the first's gaps; if that is not enough, every second name (or
    third, ...) is left out, and hovering tells it.
    """
    if not names:
        return []
    each = width / len(names)
    for rows, whole in ((1, True), (2, True), (1, False), (2, False), (3, False)):
        room = rows * each - 6
        texts = [wrapped(name, max(5, int(room / (0.5 * size.text)))) for name in names]
        torn = any(re.search(r"<br ?/?>[=<>±÷≤≥]", text) for text in texts)
        if not (whole and torn) and all(block_width(text, size.text) <= room * 1.08 for text in texts):
            return staggered(texts, rows)
    every = math.ceil(max(text_width(name, size.text) + 6 for name in names) / each)
    return [name if place % every == 0 else "" for place, name in enumerate(names)]


def staggered(texts: Sequence[str], rows: int) -> list[str]:
    """Move names down so that neighbours stand in different rows.

    Examples
    --------
    >>> staggered(["a", "b", "c<br>d", "e"], 2)
    ['a', '<br><br>b', 'c<br>d', '<br><br>e']
    """
    out = list(texts)
    depth = 0
    for row in range(rows):
        part = range(row, len(out), rows)
        deepest = max((len(LINE_BREAK.findall(texts[place])) + 1 for place in part), default=0)
        for place in part:
            out[place] = "<br>" * depth + texts[place]
        depth += deepest
    return out


def category_depth(chart: Chart, laid: Sequence[Cell], size: Size) -> int:
    """Pixels that the names of categories and of a table's columns need beyond one line."""
    texts = []
    for cell, panel in zip(laid, chart.panels, strict=True):
        texts += upright_names(cell.x.categories, cell.width, size)
        for mark in panel.marks:
            if isinstance(mark, HeatMap) and mark.cells:
                texts += upright_names(mark.x_names, cell.width, size)
    return round(max((block_height(text, size.text) for text in texts), default=0) - block_height("", size.text))


def whole(panels: Sequence[Panel], side: Literal["x", "y"]) -> bool:
    """Whether these panels show counts only along an axis: then ticks between whole numbers would say nothing."""
    parts = []
    for panel in panels:
        for mark in panel.marks:
            if isinstance(mark, HeatMap | Area | Spread):
                return False
            values: Any = mark.x if side == "x" else mark.y
            if side == "x" and any(isinstance(value, str) for value in values):
                return False
            parts.append(numbers(values))
            errors = getattr(mark, "std_error", None) if isinstance(mark, Line) else getattr(mark, "high", None)
            if side == "y" and errors is not None:
                return False
    values = np.concatenate(parts) if parts else np.zeros(0)
    values = values[np.isfinite(values)]
    return bool(values.size and values.max() - values.min() >= 1 and np.all(values == np.round(values)))


def scale(axis: Axis, span: Range, few: bool, counts: bool = False, categories: Sequence[str] = ()) -> Spec:
    """Return type, range and ticks of an axis."""
    if span.scale == "category":
        return {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(span.categories),
            "range": [span.low, span.high],
            "tickmode": "array",
            "tickvals": list(span.categories),
            "ticktext": list(categories),
            "tickangle": 0,
            "ticks": "",
        }
    suffix = axis.unit if axis.unit in SUFFIXES else ""
    make = log_axis if span.scale == "log" else linear_axis
    return make(span.low, span.high, few, suffix, counts)


def x_title(axis: Axis, size: Size, room: float) -> str:
    """Return the title of the x axis: "← more private  ε  more accurate →"; shorter where there is no room."""
    if axis.ends is None:
        return wrapped(axis.title, 46) if size.compact else axis.title
    left, right = (end.replace(" ", NO_BREAK) for end in axis.ends)
    wide = NO_BREAK * 4
    for middle in (axis.title, axis.symbol or axis.title):
        text = f"← {left}{wide}{middle}{wide}{right} →"
        if text_width(text, size.text) < room * 1.05 or middle == (axis.symbol or axis.title):
            break
    return text if text_width(text, size.text) < room * 1.25 else axis.title


def hover_head(axis: Axis, span: Range, panel: Panel) -> str:
    """Return the head of the hover box: "At ε = 0.05"."""
    if span.scale == "category":
        return "<b>%{x}</b>"
    whole = all(bool(np.all(numbers(mark.x) == np.round(numbers(mark.x)))) for mark in panel.marks)
    value = "%{x:,d}" if whole else f"%{{x:,.{digits(panel)}~r}}"
    if axis.unit:
        value += axis.unit if axis.unit in SUFFIXES else NO_BREAK + axis.unit
    return f"<b>At {axis.symbol} = {value}</b>" if axis.symbol else f"<b>{axis.title}: {value}</b>"


def digits(panel: Panel) -> int:
    """Return 2 where two digits tell all x values apart, else 3 or 4."""
    for count in (2, 3):
        if all(
            len({f"{value:.{count - 1}e}" for value in values}) == len(values)
            for values in (set(numbers(mark.x).tolist()) for mark in panel.marks)
        ):
            return count
    return 4


def scale_above(above: Above, cell: Cell, size: Size) -> tuple[list[Spec], list[Spec]]:
    """Write a second scale above the plot: its title, and its words over small ticks where there is room."""
    high = round(size.text * 1.3)
    anchor = {"xref": f"{cell.axes[0]} domain", "yref": f"{cell.axes[1]} domain", "yanchor": "bottom"}
    words = [note(above.title, 0, 1, size.text, name="above", xanchor="left", yshift=high + 8, **anchor)]
    shapes: list[Spec] = []
    taken = -math.inf
    for value, text in sorted(above.ticks):
        share = float(cell.x.share(np.array([value], dtype=np.float64))[0])
        half = text_width(text, size.text) / 2
        if not -0.001 <= share <= 1.001 or share * cell.width - half < taken + 6:
            continue
        taken = share * cell.width + half
        words.append(note(text, share, 1, size.text, name=f"above {value:g}", xanchor="center", yshift=6, **anchor))
        shapes.append(
            {
                "type": "line",
                "name": f"above {value:g}",
                "xref": anchor["xref"],
                "yref": anchor["yref"],
                "ysizemode": "pixel",
                "yanchor": 1,
                "x0": share,
                "x1": share,
                "y0": 0,
                "y1": 5,
                "line": {"color": SOFT, "width": 1},
            }
        )
    return words, shapes


def panel_title(panel: Panel, cell: Cell, size: Size) -> Spec:
    """Return the title of a panel: bold, above its left edge."""
    return note(panel.title, 0, 1, size.text, colour=INK, name="panel") | {
        "font": {"size": size.text, "color": INK, "family": FONT, "weight": 600},
        "xref": f"{cell.axes[0]} domain",
        "yref": f"{cell.axes[1]} domain",
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": round(size.text * 0.7),
    }


def nothing_to_show(panel: Panel, cell: Cell) -> bool:
    """Whether no value of a panel can stand on its axis."""
    if isinstance_any(panel, HeatMap):
        return False
    values = [numbers(mark.low if isinstance(mark, Spread) else mark.y) for mark in panel.marks]
    return not any(bool(np.any(part > 0 if cell.y.scale == "log" else np.isfinite(part))) for part in values)


def isinstance_any(panel: Panel, kind: type) -> bool:
    """Whether a panel holds a mark of this kind."""
    return any(isinstance(mark, kind) for mark in panel.marks)


# ---------------------------------------------------------------- names


def end_of(mark: Mark, cell: Cell) -> tuple[float, float] | None:
    """Where a mark ends on the right: shares of the panel's width and height; ``None`` without a drawable point."""
    if isinstance(mark, HeatMap | Spread):
        return None
    x, y = cell.x.share(cell.x.places(mark.x)), cell.y.share(numbers(mark.y))
    good = np.isfinite(x) & np.isfinite(y)
    if not good.any():
        return None
    place = int(np.flatnonzero(good)[np.argmax(x[good])])
    return float(x[place]), float(y[place])


def named(mark: Mark) -> str | None:
    """Return the end label of a mark, if it has one."""
    return None if isinstance(mark, HeatMap | Spread) else mark.label


def at_end(mark: Mark, cell: Cell) -> bool:
    """Whether the name of a mark stands in the margin rather than inside the panel."""
    if named(mark) is None:
        return False
    if isinstance(mark, Bars | Area):
        return True
    spot = end_of(mark, cell)
    if spot is None:
        return False
    far = AT_THE_END if cell.x.scale != "category" else min(AT_THE_END, 1 - 0.51 / len(cell.x.categories))
    if isinstance(mark, Points):
        return spot[0] >= (far if len(mark.y) > 1 else 0.97) and mark.text is None
    return spot[0] >= far


def end_cells(chart: Chart, compact: bool) -> set[int]:
    """Return the places of each row's last panel: names stand beside the first of them that shows the curve."""
    _, columns = rows_and_columns(chart, compact)
    count = len(chart.panels)
    return {min(start + columns, count) - 1 for start in range(0, count, columns)}


def margin(chart: Chart, size: Size) -> int:
    """Right margin in pixels: the widest name at the end of a curve."""
    texts = [
        f"<b>{wrapped(label, LABEL_CHARACTERS)}</b>"
        if getattr(mark, "main", False)
        else wrapped(label, LABEL_CHARACTERS)
        for mark in chart.marks()
        if (label := named(mark)) is not None and not (isinstance(mark, Points) and mark.text is not None)
    ]
    return round(max((block_width(text, size.text) for text in texts), default=14) + 16)


def names_at_end(chart: Chart, panel: Panel, cell: Cell, size: Size, said: set[str]) -> tuple[list[Spec], list[Spec]]:
    """Name the curves of a panel in the margin right of it, unless they have been named; adds to ``said``.

    Returns
    -------
    tuple
        The names, and the strokes that lead to those which had to move away from their curves.
    """
    found: dict[str, EndLabel] = {}
    base = 0.0
    for mark in panel.marks:
        label, spot = named(mark), end_of(mark, cell)
        if isinstance(mark, HeatMap) or label is None or spot is None or not at_end(mark, cell):
            continue
        height = spot[1]
        if isinstance(mark, Area) or (isinstance(mark, Bars) and mark.stack):
            last = float(np.nan_to_num(numbers(mark.y))[-1])
            height = float(cell.y.share(np.array([base + last / 2]))[0])
            base += last
        if mark.name not in said:
            found[mark.name] = EndLabel(
                mark.role, label, height, bool(getattr(mark, "main", False)), mark.name, not isinstance(mark, Bars)
            )
    said |= set(found)
    labels = by_height(list(found.values()), chart.names, (0.7 * size.text if chart.names else 2.0) / cell.height)
    # below the lowest panel stand the tick labels of the x axis
    hang = size.text * (0.4 if cell.lowest else 3.0)
    notes, _ = end_labels(
        labels,
        height=cell.height,
        size=size.text,
        domain=cell.y_domain,
        x=cell.x_domain[1],
        ordered=True,
        room=hang,
    )
    strokes = end_strokes(labels, notes, height=cell.height, size=size.text, domain=cell.y_domain, x=cell.x_domain[1])
    if strokes:
        notes = [words | {"xshift": words["xshift"] + STROKE} for words in notes]
    return notes, strokes


def any_strokes(chart: Chart, laid: Sequence[Cell], size: Size) -> bool:
    """Whether names have to move away from their curves anywhere, so that strokes lead to them."""
    last_in_row, said = end_cells(chart, size.compact), set[str]()
    pairs = [pair for pair in zip(laid, chart.panels, strict=True) if pair[0].place in last_in_row]
    return any(bool(names_at_end(chart, panel, cell, size, said)[1]) for cell, panel in pairs)


def by_height(labels: list[EndLabel], names: Sequence[str], near: float) -> list[EndLabel]:
    """Order names from top to bottom; curves that end at about the same height stand in the chart's own order."""
    rank = {name: place for place, name in enumerate(names)}
    groups: list[list[EndLabel]] = []
    for item in sorted(labels, key=lambda item: -item.y):
        if groups and groups[-1][-1].y - item.y < near:
            groups[-1].append(item)
        else:
            groups.append([item])
    first = {id(item): place for place, item in enumerate(labels)}
    return [
        item
        for group in groups
        for item in sorted(group, key=lambda item: (rank.get(item.name, len(rank)), not item.main, first[id(item)]))
    ]


def solid_ground(panel: Panel, cell: Cell) -> Ground:
    """Note what is drawn in a panel, so that words find free places."""
    ground = Ground(cell.width, cell.height)
    for mark in panel.marks:
        if isinstance(mark, HeatMap):
            continue
        x = cell.x.places(mark.x)
        if isinstance(mark, Spread):
            for edge in (mark.low, mark.high):
                ground.curve(*cell.pixels(x, numbers(edge)), edge=True)
        elif isinstance(mark, Points):
            ground.points(*cell.pixels(x, numbers(mark.y)), mark.size + 2)
        elif isinstance(mark, Bars):
            continue
        else:
            ground.curve(*cell.pixels(x, numbers(mark.y)))
            if isinstance(mark, Line) and mark.markers:
                ground.points(*cell.pixels(x, numbers(mark.y)), 8)
    ground.boxes += [box for boxes in bar_places(panel, cell).values() for box in boxes]
    return ground


def bar_places(panel: Panel, cell: Cell) -> dict[int, list[Box]]:
    """Return the boxes of all bars, by the place of their mark in the panel, in the order of their x values."""
    bars = [(place, mark) for place, mark in enumerate(panel.marks) if isinstance(mark, Bars)]
    if not bars:
        return {}
    known = np.unique(np.concatenate([cell.x.places(mark.x) for _, mark in bars]))
    steps = np.diff(known)
    step = float(steps.min()) if steps.size else 1.0
    group = (1 - BAR_GAP) * cell.width * step / (cell.x.high - cell.x.low)
    stacked = any(mark.stack for _, mark in bars)
    each = group if stacked else group / len(bars)
    base: dict[float, float] = {}
    out: dict[int, list[Box]] = {}
    for order, (place, mark) in enumerate(bars):
        shift = 0.0 if stacked else (order - (len(bars) - 1) / 2) * each
        xs = cell.x.places(mark.x)
        values = np.nan_to_num(numbers(mark.y))
        reach = values if mark.error is None else values + np.nan_to_num(numbers(mark.error))
        boxes = []
        for x, value, top in zip(xs.tolist(), values.tolist(), reach.tolist(), strict=True):
            floor = base.get(x, 0.0) if stacked else 0.0
            base[x] = floor + value
            middle, _ = cell.pixels(np.array([x]), np.array([0.0]))
            ends = np.nan_to_num(cell.y.share(np.array([floor, floor + top]))) * cell.height
            low, high = float(max(ends.min(), 0.0)), float(max(ends.max(), 0.0))
            boxes.append(Box(float(middle[0]) + shift, (low + high) / 2, each * (1 - BAR_GROUP_GAP), high - low))
        out[place] = boxes
    return out


def without_margin(chart: Chart, size: Size, top: int) -> list[Cell] | None:
    """Lay out a single panel without room for names on the right, if all of them stand above bars; else ``None``."""
    labelled = [mark for mark in chart.marks() if not isinstance(mark, HeatMap) and mark.label]
    if len(chart.panels) > 1 or not labelled or not all(isinstance(mark, Bars) for mark in labelled):
        return None
    laid = cells(chart, size, NO_MARGIN, top)
    return laid if names_above_bars(chart.panels[0], laid[0], size, set()) else None


def names_above_bars(panel: Panel, cell: Cell, size: Size, said: set[str]) -> list[Spec]:
    """Name bars side by side above bars of theirs, if all names find room there; adds to ``said``.

    Each name stands above its tallest bar, or, where names would meet there, above another one, first of all one that
    does not share its top with a bar of another name.
    """
    places = bar_places(panel, cell)
    named_bars = [(place, mark) for place, mark in enumerate(panel.marks) if isinstance(mark, Bars) and mark.label]
    if not named_bars or any(mark.stack or mark.name in said for _, mark in named_bars):
        return []
    bars = [box for boxes in places.values() for box in boxes]
    texts = [wrapped(mark.label or "", LABEL_CHARACTERS) for _, mark in named_bars]
    choices: list[list[tuple[int, bool, Box]]] = []
    for (place, _), text in zip(named_bars, texts, strict=True):
        wide, high = block_width(text, size.text), block_height(text, size.text)
        others = [box for other, boxes in places.items() if other != place for box in boxes]
        own = sorted(places[place], key=lambda box: -(box.y + box.height / 2))
        found = []
        for rank, bar in enumerate([own[0], *(bar for bar in own[1:] if bar.height >= LOWEST_NAMED_BAR)]):
            top = bar.y + bar.height / 2
            middle = min(max(bar.x, wide / 2), cell.width - wide / 2)  # as far to the side as there is room
            spot = Box(middle, top + high / 2 + 3, wide, high)
            if spot.inside(cell.width, cell.height, over=size.text) and not any(spot.overlaps(box) for box in bars):
                below = Box(middle, top - high / 2, wide, high)
                found.append((rank, any(below.overlaps(box) for box in others), spot))
        choices.append(found[:MOST_NAMED_BARS])
    if not all(choices):
        return []
    free = [chosen for chosen in product(*choices) if not any(a[2].overlaps(b[2]) for a, b in combinations(chosen, 2))]
    if not free:
        return []
    best = min(
        free,
        key=lambda chosen: (any(rank for rank, _, _ in chosen), sum(rank + 3 * shared for rank, shared, _ in chosen)),
    )
    said |= {mark.name for _, mark in named_bars}
    return [
        inside(text, spot, cell, size, ROLES[mark.role].colour, f"label {mark.name}")
        for (_, mark), text, (_, _, spot) in zip(named_bars, texts, best, strict=True)
    ]


def names_inside(
    panel: Panel, cell: Cell, size: Size, ground: Ground, said: set[str], later: set[str], written: bool = False
) -> list[Spec]:
    """Name what no margin names: points, spreads, curves that stop early; and label single points and maps.

    A band without any free place for its name waits for one of the ``later`` panels that show it too. Points in rows
    with names of their own (``written``) do not repeat them.
    """
    out: list[Spec] = []
    taken: list[Box] = []
    for mark in panel.marks:
        if isinstance(mark, HeatMap):
            out += map_words(mark, cell, size, taken)
            continue
        if isinstance(mark, Points) and mark.text is not None and not written:
            out += point_texts(mark, cell, size, ground)
        elif mark.label and mark.name not in said:
            if isinstance(mark, Spread):
                words = spread_name(mark, cell, size, ground)
                if mark.name in later and any("bgcolor" in word for word in words):
                    ground.boxes.pop()
                    continue
            else:
                words = name_beside(mark, cell, size, ground)
            said.add(mark.name)
            out += words
    return out


def inside(text: str, spot: Box, cell: Cell, size: Size, colour: str, name: str, **more: Any) -> Spec:
    """Return words at a place in a panel, given in pixels."""
    return note(text, spot.x / cell.width, spot.y / cell.height, size.text, colour=colour, name=name) | {
        "xref": f"{cell.axes[0]} domain",
        "yref": f"{cell.axes[1]} domain",
        "xanchor": "center",
        "yanchor": "middle",
        **more,
    }


def name_beside(mark: Line | Points | Bars | Area, cell: Cell, size: Size, ground: Ground) -> list[Spec]:
    """Name points, or a curve that stops early, where there is room beside them."""
    text = wrapped(mark.label or "", LABEL_CHARACTERS if isinstance(mark, Line) else 30)
    if getattr(mark, "main", False):
        text = f"<b>{text}</b>"
    xs, ys = cell.pixels(cell.x.places(mark.x), numbers(mark.y))
    good = np.flatnonzero(np.isfinite(xs) & np.isfinite(ys) & (ys >= 0) & (ys <= cell.height))
    if not good.size:
        return []
    wide, high = block_width(text, size.text), block_height(text, size.text)
    if isinstance(mark, Line):
        # from the end backwards, a place every few pixels
        way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(xs[good]), np.diff(ys[good])))])
        steps = np.arange(way[-1], max(-1.0, way[-1] - 600.0), -16.0)
        spots = list(zip(np.interp(steps, way, xs[good]), np.interp(steps, way, ys[good]), strict=True))
        reach = 8.0
    else:
        order = good[np.argsort(np.abs(good - good[len(good) // 2]), kind="stable")][:24]
        spots = list(zip(xs[order], ys[order], strict=True))
        reach = (mark.size / 2 if isinstance(mark, Points) else 4) + 7.0
    candidates = [
        box
        for far in (reach, reach + 8, reach + 20)
        for a, b in spots
        for box in around(float(a), float(b), wide, high, far)
    ]
    if isinstance(mark, Line):
        a, b = (float(value) for value in spots[0])
        candidates.insert(0, Box(a + wide / 2 + 10, b, wide, high))
    place, free = ground.choose(candidates)
    colour = ROLES[mark.role].colour
    return [inside(text, candidates[place], cell, size, colour, f"label {mark.name}", **behind(free))]


def around(x: float, y: float, wide: float, high: float, reach: float) -> list[Box]:
    """Return places for words round a point, the nearest sides first."""
    across, up = wide / 2 + reach, high / 2 + reach
    near_across, near_up = wide / 2 + 0.7 * reach, high / 2 + 0.7 * reach
    return [
        Box(x, y - up, wide, high),
        Box(x, y + up, wide, high),
        Box(x + across, y, wide, high),
        Box(x - across, y, wide, high),
        *(Box(x + i * near_across, y + j * near_up, wide, high) for i in (1, -1) for j in (-1, 1)),
    ]


def behind(free: float) -> Spec:
    """Return paper behind words that have to stand on a curve, a bar or a point."""
    return {"bgcolor": PAPER, "borderpad": 1} if free < 0 else {}


def point_texts(mark: Points, cell: Cell, size: Size, ground: Ground) -> list[Spec]:
    """Write the names of single points beside them; a name without any free place shows on hover only."""
    out: list[Spec] = []
    xs, ys = cell.pixels(cell.x.places(mark.x), numbers(mark.y))
    for text, a, b in zip(mark.text or (), xs.tolist(), ys.tolist(), strict=True):
        if not text or not (math.isfinite(a) and math.isfinite(b)) or len(out) >= 60:
            continue
        options = []
        # a few names may take two lines, rather than cross a curve
        narrow = (
            wrapped(text, max(len(text) * 2 // 3, 6)) if len([one for one in mark.text or () if one]) <= 3 else text
        )
        for said in dict.fromkeys((text, narrow)):
            wide, high = block_width(said, size.text), block_height(said, size.text) - 0.2 * size.text
            options += [(said, box) for far in (4.0, 10.0) for box in beside(a, b, wide, high, mark.size / 2 + far)]
        # over the top edge if need be, but never on the line of the x axis
        free = [
            (ground.clearance(box, over=8) if box.y > box.height / 2 else -1.0, place)
            for place, (_, box) in enumerate(options)
            if box.inside(cell.width, cell.height, over=8) and not any(box.overlaps(other) for other in ground.boxes)
        ]
        if not free:
            continue
        # the first place that no curve crosses, or the one with the most room
        room, place = next((one for one in free if one[0] >= 2), max(free, key=lambda one: (one[0], -one[1])))
        said, spot = options[place]
        ground.boxes.append(spot)
        right, up = np.sign(spot.x - a), np.sign(spot.y - b)
        xanchor, yanchor = SIDES[int(right)], LEVELS[int(up)]
        out.append(
            note(
                said,
                a / cell.width,
                b / cell.height,
                size.text,
                colour=INK,
                name=f"point {text}",
                xref=f"{cell.axes[0]} domain",
                yref=f"{cell.axes[1]} domain",
                xanchor=xanchor,
                yanchor=yanchor,
                xshift=spot.x - a - right * spot.width / 2,
                yshift=spot.y - b - up * spot.height / 2,
                **behind(room),
            )
        )
    return out


SIDES = {1: "left", -1: "right", 0: "center"}
LEVELS = {1: "bottom", -1: "top", 0: "middle"}


def beside(x: float, y: float, wide: float, high: float, reach: float) -> list[Box]:
    """Return places for the name of a single point: beside it, above, below, and on the slant."""
    below, above, right, left, *slanted = around(x, y, wide, high, reach)
    return [right, left, above, below, *slanted]


def spread_name(mark: Spread, cell: Cell, size: Size, ground: Ground) -> list[Spec]:
    """Name a band on the band: midway between its edge and the next curve, where they are furthest apart."""
    xs, tops = cell.pixels(cell.x.places(mark.x), numbers(mark.high))
    _, floors = cell.pixels(cell.x.places(mark.x), numbers(mark.low))
    floors = np.where(np.isnan(floors) & np.isfinite(tops), 0.0, floors)
    label = mark.label or ""
    zone = zone_name(mark, cell, size, ground, xs, tops, floors)
    if zone:
        return zone
    best = on_band(label, xs, tops, floors, cell, size, ground) or on_band(
        label, xs, tops, floors, cell, size, ground, over_edges=True
    )
    if best is None:
        # the band is thinner than its name: beside it, then, rather than on it
        text = label.replace("<br>", " ")
        spot, free = outside(text, xs, tops, floors, cell, size, ground)
        colour = ROLES[mark.role].colour
        return [inside(text, spot, cell, size, colour, f"label {mark.name}", **behind(free))]
    text, spot = best
    ground.boxes.append(spot)
    return [inside(text, spot, cell, size, INK, f"label {mark.name}")]


def on_band(
    label: str,
    xs: FloatArray,
    tops: FloatArray,
    floors: FloatArray,
    cell: Cell,
    size: Size,
    ground: Ground,
    over_edges: bool = False,
) -> tuple[str, Box] | None:
    """Find a place for a name on its band, clear of curves; a little of it may stand ``over_edges`` of the band."""
    best: tuple[float, str, Box] | None = None
    for text in dict.fromkeys((label, label.replace("<br>", " "))):
        wide, high = block_width(text, size.text), block_height(text, size.text)
        for at in np.linspace(wide / 2 + 6, cell.width - wide / 2 - 6, 25).tolist():
            if best is not None and best[0] > 9:
                break
            ends = at + np.array([-0.5, 0.0, 0.5]) * wide * (0.4 if over_edges else 1.0)
            top = min(float(np.interp(ends, xs, tops, left=np.nan, right=np.nan).min()), cell.height)
            floor = max(float(np.interp(ends, xs, floors, left=np.nan, right=np.nan).max()), 0.0)
            if not top - floor > high - 8:
                continue
            for share in (1.0, 0.0, 0.5, 0.75, 0.25):
                slack = max((top - floor - high) / 2 + (8 if over_edges else -6), 0.0)
                box = Box(at, (top + floor) / 2 + (2 * share - 1) * slack, wide, high)
                edge = 10.0 if over_edges else free_of(box, ground.edges) + 5
                # enough room is enough: then the earlier of two places
                room = min(ground.crossing(box), edge, 10.0) - 0.5 * at / cell.width
                if best is None or room > best[0]:
                    best = room, text, box
    return None if best is None or best[0] < 1 else best[1:]


def zone_name(
    mark: Spread, cell: Cell, size: Size, ground: Ground, xs: FloatArray, tops: FloatArray, floors: FloatArray
) -> list[Spec]:
    """Name a zone, a band from the bottom of the panel to its top, as high up as is free; nothing for other bands."""
    good = np.isfinite(tops) & np.isfinite(floors)
    if not good.any() or floors[good].max() > 1 or tops[good].min() < cell.height - 1:
        return []
    left, right = max(float(xs[good].min()), 0.0), min(float(xs[good].max()), cell.width)
    label = mark.label or ""
    options = [
        (text, Box(min(max((left + right) / 2, wide / 2 + 2), cell.width - wide / 2 - 2), level, wide, high))
        for row in range(max(int(cell.height / (size.text * LINE_HEIGHT)) - 1, 1))
        for text in dict.fromkeys((label, label.replace(" ", "<br>")))
        for wide, high in [(block_width(text, size.text), block_height(text, size.text))]
        for level in (cell.height - high / 2 - 3 - row * size.text * LINE_HEIGHT,)
        if wide < right - left + 12 or " " not in label or "<br>" in text
    ]
    # names may cross the edges of bands, so that they stay in a row
    rooms = [min(ground.crossing(box), 3.0) for _, box in options]
    free = max(rooms)
    text, spot = options[rooms.index(free)]
    ground.boxes.append(spot)
    return [inside(text, spot, cell, size, INK, f"label {mark.name}", **behind(free))]


def outside(
    text: str, xs: FloatArray, tops: FloatArray, floors: FloatArray, cell: Cell, size: Size, ground: Ground
) -> tuple[Box, float]:
    """Find a place for a name just above or below a band."""
    wide, high = block_width(text, size.text), block_height(text, size.text)
    boxes = []
    for at in np.linspace(cell.width - wide / 2 - 6, wide / 2 + 6, 21).tolist():
        ends = np.array([at - wide / 2, at, at + wide / 2])
        top, floor = float(np.interp(ends, xs, tops).max()), float(np.interp(ends, xs, floors).min())
        boxes += [Box(at, floor - high / 2 - 6, wide, high), Box(at, top + high / 2 + 6, wide, high)]
    place, free = ground.choose(boxes)
    return boxes[place], free


# ---------------------------------------------------------------- maps


def map_words(mark: HeatMap, cell: Cell, size: Size, taken: list[Box]) -> list[Spec]:
    """Name the levels on their lines, stepped along a diagonal, the regions in words, and the visitor's dot.

    Words keep clear of ``taken``, the words of other maps of the panel, and are added to it.
    """
    if mark.cells:
        return []
    paper = {"bgcolor": PAPER, "borderpad": 2}
    out: list[Spec] = []
    x, y = cell.x.share(numbers(mark.x)), cell.y.share(numbers(mark.y))
    classes = class_numbers(np.asarray(mark.z, dtype=np.float64), mark.levels)
    if mark.you is not None:
        a, b = cell.pixels(np.array([mark.you[0]]), np.array([mark.you[1]]))
        taken.append(Box(float(a[0]) + (-24 if spot_right(mark.you[0], cell) else 24), float(b[0]), 96, 28))
    regions = []
    for right, up, text in mark.regions:
        lines = wrapped(text, 16)
        place = Box(
            float(cell.x.share(np.array([right]))[0]) * cell.width,
            float(cell.y.share(np.array([up]))[0]) * cell.height,
            block_width(lines, size.text),
            block_height(lines, size.text),
        )
        place = clear_of(place, taken, cell)
        regions.append((lines, place, _class_at(classes, x, y, place.x / cell.width, place.y / cell.height)))
        taken.append(place)
    count = len(mark.levels)
    for step, level in enumerate(mark.levels):
        wanted = 0.76 - 0.36 * step / max(count - 1, 1)
        text = mark.level_text.format(level)
        wide, high = text_width(text, size.text) + 8, size.text * 1.5
        found = crossing(classes, x, y, step + 1.0, wanted, taken, wide, high, cell)
        if found is None:
            continue
        taken.append(found)
        colour = INK if mark.lines is None else ROLES[mark.lines].colour
        out.append(inside(text, found, cell, size, colour, f"level {text}", **paper))
    for lines, where, shade in regions:
        light = shade < 0.62 * (count + 1)
        dark = shade >= 0.85 * (count + 1)
        out.append(
            inside(f"<b>{lines}</b>", where, cell, size, PAPER if dark else INK, f"region {plain(lines)}")
            | ({} if light or dark else paper)
        )
    if mark.you is not None:
        out.append(
            note("you", float(mark.you[0]), float(mark.you[1]), size.text, colour=INK, name="you")
            | {
                "x": math.log10(mark.you[0]) if cell.x.scale == "log" else mark.you[0],
                "y": math.log10(mark.you[1]) if cell.y.scale == "log" else mark.you[1],
                "xref": cell.axes[0],
                "yref": cell.axes[1],
                "xanchor": "right" if spot_right(mark.you[0], cell) else "left",
                "yanchor": "middle",
                "xshift": -11 if spot_right(mark.you[0], cell) else 11,
                **paper,
            }
        )
    return out


def clear_of(place: Box, taken: Sequence[Box], cell: Cell) -> Box:
    """Move a box as little as needed to be clear of others; it stays where it is if no place nearby is free."""
    steps = [(8.0 * i, 5.0 * j) for i in range(-8, 9) for j in range(-4, 5)]
    for right, up in sorted(steps, key=lambda step: step[0] ** 2 + 4 * step[1] ** 2):
        moved = Box(place.x + right, place.y + up, place.width, place.height)
        if moved.inside(cell.width, cell.height) and not any(moved.overlaps(other) for other in taken):
            return moved
    return place


def spot_right(x: float, cell: Cell) -> bool:
    """Whether a value lies so far right that words stand better left of it."""
    return float(cell.x.share(np.array([x]))[0]) > 0.8


def _class_at(classes: Any, x: Any, y: Any, a: float, b: float) -> float:
    column, row = int(np.argmin(np.abs(x - a))), int(np.argmin(np.abs(y - b)))
    return float(np.nan_to_num(classes[row, column]))


def crossing(
    classes: Any, x: Any, y: Any, level: float, wanted: float, taken: list[Box], wide: float, high: float, cell: Cell
) -> Box | None:
    """Find a place on a contour near a wanted share of the width, clear of other words.

    Columns are searched first (contours that run across), then rows (contours that run upwards).
    """
    options: list[tuple[float, Box]] = []
    for lines, others, across in ((classes.T, (x, y), True), (classes, (y, x), False)):
        at, along = others
        for place, values in enumerate(lines):
            with np.errstate(invalid="ignore"):
                sides = np.flatnonzero((values[:-1] - level) * (values[1:] - level) <= 0)
            for side in sides.tolist():
                first, second = float(values[side]), float(values[side + 1])
                if first == second or not (math.isfinite(first) and math.isfinite(second)):
                    continue
                share = (level - first) / (second - first)
                there = float(along[side] + share * (along[side + 1] - along[side]))
                a, b = (float(at[place]), there) if across else (there, float(at[place]))
                box = Box(a * cell.width, b * cell.height, wide, high)
                if box.inside(cell.width, cell.height) and not any(box.overlaps(other) for other in taken):
                    options.append((abs(a - wanted), box))
        if options:
            break
    return min(options, key=lambda item: item[0])[1] if options else None


# ---------------------------------------------------------------- reference lines


def references(panel: Panel, cell: Cell, size: Size, ground: Ground) -> tuple[list[Spec], list[Spec]]:
    """Draw the visitor's own value and the horizontal reference lines, with their words in free places."""
    words: list[Spec] = []
    shapes: list[Spec] = []
    both = np.array([0.0, 1.0])
    levels = [(level, text, float(cell.y.share(np.array([level]))[0])) for level, text in panel.level_lines]
    levels = [(level, text, share) for level, text, share in levels if 0 <= share <= 1]
    upright = (*(() if panel.here is None else (panel.here,)), *panel.marked) if cell.x.scale != "category" else ()
    places = [(value, text, float(cell.x.share(np.array([value], dtype=np.float64))[0])) for value, text in upright]
    places = [one for one in places if math.isfinite(one[2]) and -0.001 <= one[2] <= 1.001]
    for _, _, share in levels:
        ground.curve(both * cell.width, np.full(2, share * cell.height))
    for _, _, share in places:
        ground.curve(np.full(2, share * cell.width), both * cell.height)
    for level, text, share in levels:
        shapes.append(
            {
                "type": "line",
                "name": f"level {text}",
                "xref": f"{cell.axes[0]} domain",
                "yref": cell.axes[1],
                "x0": 0,
                "x1": 1,
                "y0": level,
                "y1": level,
                "layer": "below",
                "line": {"color": SOFT, "width": 1, "dash": "5px,4px"},
            }
        )
        if not text:
            continue
        wide, high = text_width(text, size.text), size.text * 1.1
        base = share * cell.height
        boxes = [
            Box(cell.width * at + (wide / 2 + 4) * (1 - 2 * at), base + side * (high / 2 + off), wide, high)
            for off in (4, 8)
            for at in (1.0, 0.0, 0.5, 0.75, 0.25)
            for side in (1, -1)
        ]
        place, free = ground.choose(boxes, enough=3.9)
        words.append(inside(text, boxes[place], cell, size, SOFT, f"level {text}", **behind(free)))
    for value, text, share in places:
        sides = (share > 0.75, share <= 0.75)
        options = [
            (said, left, up)
            for said in dict.fromkeys((text, wrapped(text, max(len(text) * 2 // 3, 6))))
            for up in HERE_LEVELS
            for left in sides
        ]
        boxes = []
        for said, left, up in options:
            wide, high = block_width(said, size.text), block_height(said, size.text)
            away = (-1 if left else 1) * (wide / 2 + 6)
            boxes.append(Box(share * cell.width + away, high / 2 + up * max(cell.height - high, 0.0), wide, high))
        place, free = ground.choose(boxes)
        said, left, up = options[place]
        shape, label = here(
            value, said, log=cell.x.scale == "log", size=size.text, axes=cell.axes, left=left, height=up
        )
        shapes.append(shape)
        words.append(label | behind(free))
    return words, shapes
