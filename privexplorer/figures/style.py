"""The look of every chart: roles, place-holder colours, axes, labels, and the house layout.

Colours are place-holders: ``st.plotly_chart(theme="streamlit")`` replaces ``#000001`` … ``#000010`` by the
theme's categorical colours, ``#000011`` … ``#000020`` by the sequential, ``#000021`` … ``#000030`` by the
diverging ones and ``#000038`` by the paper, in the browser; two more digits are an opacity. So a figure does
not depend on a theme. Exports that no browser will theme call :func:`resolve`.

All builders return plain dictionaries, and one ``go.Figure`` is made of them at the end: that is ten times
faster than adding traces and annotations to a figure one by one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from privexplorer.figures.placing import apart
from privexplorer.studies.chart import Role
from privexplorer.studies.words import NO_BREAK, SUPERSCRIPT

Spec = dict[str, Any]

PAPER = "#000038"
SOFT = "#000009"
GRID = "#000010"
INK = "#000005"
CLASSES = ("#000011", "#000013", "#000015", "#000016", "#000017", "#000019")
"""Six flat shades of a map: more is darker on white and lighter on dark."""
SIGNED = ("#000021", "#000022", "#000024", "#000025", PAPER, "#000026", "#000027", "#000029", "#000030")
"""Nine flat shades of a table of signed numbers: far below 0, ..., exactly 0, ..., far above."""
FONT = "Source Sans, sans-serif"
SLOTS = ("Categorical", "Sequential", "Diverging")
SUBTITLE_CHARACTERS = 48
LABEL_CHARACTERS = 14
LINE_HEIGHT = 1.3
"""Height of a line of text in text sizes, as browsers draw it."""


@dataclass(frozen=True)
class Look:
    """How a role is drawn: never by colour alone."""

    colour: str
    dash: str
    marker: str
    width: float
    pattern: str = ""


ROLES: dict[Role, Look] = {
    "private": Look("#000001", "solid", "circle", 3.0),
    "non-private": Look("#000002", "9px,4px", "circle-open", 2.0, "/"),
    "upper bound": Look("#000003", "2px,3px", "triangle-down", 2.0, "."),
    "lower bound": Look("#000004", "9px,3px,2px,3px", "triangle-up", 2.0, "-"),
    "truth": Look("#000005", "solid", "line-ew", 1.5, "|"),
    "data": Look("#000006", "5px,2px", "square", 2.0, "\\"),
    "local": Look("#000007", "14px,4px", "diamond", 2.5, "x"),
    "attacker": Look("#000008", "solid", "x-thin", 2.0, "+"),
}

DASHES = ("solid", "9px,4px", "2px,3px", "9px,3px,2px,3px", "16px,5px", "5px,2px")
MARKERS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon")


@dataclass(frozen=True)
class Size:
    """Text size in pixels, chart height, and whether the screen is a phone's."""

    text: int = 14
    height: int = 430
    compact: bool = False

    @property
    def width(self) -> int:
        """Width in pixels that estimates of horizontal room assume."""
        return 350 if self.compact else 980

    @property
    def top(self) -> int:
        """Room for title and subtitle."""
        return round(self.text * 4.4)

    @property
    def bottom(self) -> int:
        """Room for tick labels and the title of the x axis."""
        return round(self.text * 3.7)


def tint(colour: str, opacity: float) -> str:
    """Add an opacity (0 to 1) to a colour of six hexadecimal digits.

    Examples
    --------
    >>> tint("#000001", 0.16)
    '#00000129'
    """
    return f"{colour}{round(opacity * 255):02X}"


# ---------------------------------------------------------------- text


def plain(text: str) -> str:
    """Return a label without its tags, lines joined by spaces."""
    return re.sub(r"<[^>]*>", "", re.sub(r"<br ?/?>", " ", text))


def text_width(text: str, size: float = 14) -> float:
    """Estimate the width of a line in pixels, a little generously (exported images use a wider font).

    Examples
    --------
    >>> 55 < text_width("lower bound") < 80
    True
    """
    bold = 1.06 if "<b>" in text else 1.0
    em = 0.0
    for letter in plain(text):
        if letter in "iljtfr.,:;'|!()[]·′I ":
            em += 0.30
        elif letter in "mwMW—%@":
            em += 0.82
        elif letter.isupper() or letter in "←→=+−×÷±<>":
            em += 0.60
        else:
            em += 0.50
    return em * size * bold


def block_width(text: str, size: float = 14) -> float:
    """Width of the widest line of a label, in pixels."""
    bold = "<b>" if "<b>" in text else ""
    return max(text_width(bold + line, size) for line in re.split(r"<br ?/?>", text))


def block_height(text: str, size: float = 14) -> float:
    """Height of a label in pixels."""
    return (len(re.findall(r"<br ?/?>", text)) + 1) * size * LINE_HEIGHT


def wrapped(text: str, characters: int) -> str:
    """Break a text between words into lines of at most so many characters; ``<br>`` in it is kept.

    A sign such as "=" stays with what it stands between, unless both together are too long for a line.

    Examples
    --------
    >>> wrapped("without privacy", 14), wrapped("private", 14), wrapped("a<br>b", 14)
    ('without<br>privacy', 'private', 'a<br>b')
    >>> wrapped("errors at α = 0.5", 14).replace(NO_BREAK, " "), wrapped("pressure > 140", 9).replace(NO_BREAK, " ")
    ('errors at<br>α = 0.5', 'pressure<br>> 140')
    """
    if "<br" in text:
        return text
    words = []
    for word in re.sub(r" ([=<>±÷−+·≤≥]) ", f"{NO_BREAK}\\1{NO_BREAK}", text).split(" "):
        if len(word) > characters and NO_BREAK in word:
            # the sign starts a line, rather than ends it
            words += re.sub(rf"{NO_BREAK}(?=[=<>±÷−+·≤≥])", "\n", word).split("\n")
        else:
            words.append(word)
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > characters:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return "<br>".join(lines)


def balanced(text: str, characters: int) -> str:
    """Break a text like :func:`wrapped`, into as few lines, but of about the same length.

    Examples
    --------
    >>> balanced("one two three four five", 20)
    'one two three<br>four five'
    """
    widest = wrapped(text, characters)
    lines = widest.count("<br") + 1
    if lines == 1 or "<br" in text:
        return widest
    for fewer in range(-(-len(text) // lines), characters):
        narrower = wrapped(text, fewer)
        if narrower.count("<br") + 1 == lines:
            return narrower
    return widest


def subtitle_problem(subtitle: str) -> str | None:
    """Say what is wrong with a subtitle: it has to fit a phone's width.

    Examples
    --------
    >>> subtitle_problem("root-mean-square, in nats, log scale")
    >>> subtitle_problem("x" * 60)
    'The subtitle has 60 characters; at most 48 fit a phone.'
    """
    count = len(plain(subtitle))
    if count <= SUBTITLE_CHARACTERS:
        return None
    return f"The subtitle has {count} characters; at most {SUBTITLE_CHARACTERS} fit a phone."


# ---------------------------------------------------------------- layout


def house(title: str, subtitle: str, size: Size, *, right: int = 30, extra_top: int = 0) -> Spec:
    """Return the layout that all charts share, without axes.

    Parameters
    ----------
    title, subtitle : str
        Bold: the quantity. Grey: measure, unit, scale. Together they name the y axis, which has no title.
    size : Size
        Text size, height in pixels.
    right : int
        Right margin in pixels, where the end labels stand.
    extra_top : int
        Pixels between the subtitle and the plot, for the titles of panels.
    """
    text = size.text
    if size.compact:
        title, subtitle = balanced(title, 42), balanced(subtitle, 52)
    lines = title.count("<br") + subtitle.count("<br")
    grey = f"<br><span style='font-weight:400;font-size:{text}px;color:{SOFT}'>{subtitle}</span>" if subtitle else ""
    return {
        "height": size.height,
        "margin": {
            "l": 0,
            "r": right,
            "t": size.top + extra_top + round(lines * text * 1.3),
            "b": size.bottom,
            "pad": 4,
        },
        "showlegend": False,
        "hovermode": "x unified",
        "hoversort": "value descending",
        "hoverdistance": 30,
        "dragmode": False,
        "uirevision": "keep",
        "separators": ".,",
        "font": {"family": FONT, "size": text},
        "hoverlabel": {
            "bgcolor": PAPER,
            "bordercolor": SOFT,
            "font": {"size": text, "family": FONT, "color": INK},
            "align": "left",
        },
        "title": {
            "text": title + grey,
            "font": {"size": text + 2, "family": FONT, "color": INK, "weight": 600},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": round(text * 1.5), "l": 0},
        },
    }


def x_axis(title: str, size: Size) -> Spec:
    """Return the style of an x axis: a line with ticks, a grey title, no grid."""
    soft = {"size": size.text, "color": SOFT}
    return {
        "title": {"text": title, "font": soft, "standoff": 12},
        "tickfont": soft,
        "ticks": "outside",
        "ticklen": 5,
        "tickcolor": SOFT,
        "showline": True,
        "linecolor": SOFT,
        "linewidth": 1,
        "showgrid": False,
        "zeroline": False,
        "automargin": False,
        "tickangle": 0,
    }


def y_axis(size: Size) -> Spec:
    """Return the style of a y axis: grid lines and tick labels, neither line nor title.

    The empty title keeps a few pixels free on the left: exported images use a wider font.
    """
    return {
        "title": {"text": "", "font": {"size": 4}, "standoff": 0},
        "tickfont": {"size": size.text, "color": SOFT},
        "ticks": "",
        "showline": False,
        "showgrid": True,
        "gridcolor": GRID,
        "gridwidth": 1,
        "zeroline": False,
        "automargin": "left",
    }


# ---------------------------------------------------------------- ticks


def tick(value: float, power: bool = False) -> str:
    """Write a tick: a plain number with as many decimals as it needs, or a power of ten.

    Examples
    --------
    >>> tick(0.05), tick(1.5), tick(20_000), tick(3e-5, power=True), tick(1e-7, power=True)
    ('0.05', '1.5', '20,000', '3×10⁻⁵', '10⁻⁷')
    """
    exponent = math.floor(math.log10(value) + 1e-9)
    mantissa = round(value / 10.0**exponent, 6)
    if power or not -4 < exponent < 6:
        head = "" if mantissa == 1 else f"{mantissa:g}×"
        return f"{head}10{str(exponent).translate(SUPERSCRIPT)}"
    return f"{value:,.{max(0, -exponent + (mantissa != int(mantissa)))}f}"


def log_ticks(low: float, high: float, few: bool = False, whole: bool = False) -> list[float]:
    """Choose the ticks of a log axis: 1-2-5 up to two decades, 1-3 up to three, then powers of ten.

    Parameters
    ----------
    low, high : float
        Ends of the axis, 0 < low < high.
    few : bool
        For a narrow chart: powers of ten, finer only where fewer than two would show.
    whole : bool
        For counts: whole numbers only.
    """
    decades = math.log10(high / low)
    first, last = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    single, double = (4.5, 9) if few else (7, 14)
    every = 1 if decades <= single else 2 if decades <= double else math.ceil(decades / 5)
    ladder: tuple[tuple[float, ...], ...] = ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8))
    start = 0 if few or decades > 3.1 else 1 if decades > 2.1 else 2 if decades > 0.7 else 3
    for steps in ladder[start:]:
        values = [
            step * 10.0**exponent
            for exponent in range(first, last)
            for step in steps
            if exponent % every == 0 and low * 0.999 <= step * 10.0**exponent <= high * 1.001
            if not whole or math.isclose(step * 10.0**exponent, round(step * 10.0**exponent))
        ]
        if len(values) >= 2:
            return values
    if whole and 1 <= math.floor(high) <= low + 5:
        return [float(value) for value in range(math.ceil(low), math.floor(high) + 1)]
    raw = (low, math.sqrt(low * high), high)
    return sorted({float(f"{value:.2g}") for value in raw if low <= float(f"{value:.2g}") <= high})


def log_axis(low: float, high: float, few: bool = False, suffix: str = "", whole: bool = False) -> Spec:
    """Return scale, range and ticks of a log axis; if one tick needs a power of ten, all have it.

    Examples
    --------
    >>> log_axis(0.01, 10)["ticktext"]
    ['0.01', '0.03', '0.1', '0.3', '1', '3', '10']
    >>> log_axis(1e-7, 1e-2)["ticktext"][0]
    '10⁻⁷'
    """
    values = log_ticks(low, high, few, whole)
    power = any(value < 9.99e-4 or value > 999_999 for value in values)
    return {
        "type": "log",
        "range": [math.log10(low), math.log10(high)],
        "tickmode": "array",
        "tickvals": values,
        "ticktext": [tick(value, power) + suffix for value in values],
    }


def nice_step(span: float, parts: int = 5) -> float:
    """Return the step of 1, 2 or 5 times a power of ten that cuts a span into about so many parts.

    Examples
    --------
    >>> nice_step(1.0), nice_step(0.83), nice_step(3_000)
    (0.2, 0.2, 1000.0)
    """
    raw = span / parts
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if raw <= step * power * 1.0001)


DECIMALS = tuple(
    {"dtickrange": [0.999 * 10.0**-places, 0.999 * 10.0 ** (1 - places) if places else None], "value": f",.{places}f"}
    for places in range(5)
)
"""All ticks of a linear axis show as many decimals as its step needs, also after zooming in."""


def most_ticks(low: float, high: float) -> int:
    """Choose how many ticks a narrow axis may have at most: 4, or as many as show three of them.

    Examples
    --------
    >>> most_ticks(0.0, 1.0), most_ticks(-4.0, 4.0)
    (4, 5)
    """
    for most in (4, 5, 6):
        # the browser takes the next step where the room would just do
        step = nice_step(1.001 * (high - low), most)
        if math.floor(high / step + 1e-9) - math.ceil(low / step - 1e-9) >= 2:
            return most
    return 7


def linear_axis(low: float, high: float, few: bool = False, suffix: str = "", whole: bool = False) -> Spec:
    """Return scale, range and ticks of a linear axis; zooming in brings finer ticks, but none between counts."""
    if whole and nice_step(high - low, 3 if few else 6) <= 1:
        return {
            "type": "linear",
            "range": [low, high],
            "tickmode": "linear",
            "tick0": 0,
            "dtick": 1,
            "tickformat": ",d",
            "ticksuffix": suffix,
        }
    return {
        "type": "linear",
        "range": [low, high],
        "tickmode": "auto",
        "nticks": most_ticks(low, high) if few else 7,
        "separatethousands": True,
        "exponentformat": "power",
        "minexponent": 5,
        "ticksuffix": suffix,
        "tickformatstops": list(DECIMALS) if max(abs(low), abs(high)) < 1e6 else [],
    }


def log_ends(low: float, high: float) -> tuple[float, float]:
    """Widen the range of positive data a little and round it outwards to numbers that read well.

    Examples
    --------
    >>> log_ends(0.0104, 0.2)
    (0.005, 0.5)
    """
    if not low < high:
        low, high = low / 2, high * 2
    decades = math.log10(high / low)
    pad = 10 ** (0.05 * decades + 0.01)
    low, high = low / pad, high * pad
    if decades > 3.1:
        return low, high
    steps = (1, 2, 5, 10) if decades > 1 else (1, 1.5, 2, 3, 4, 5, 6, 8, 10)

    def below(value: float) -> float:
        power = 10.0 ** math.floor(math.log10(value) + 1e-9)
        return float(f"{max(step for step in steps if step * power <= value * 1.0001) * power:.6g}")

    def above(value: float) -> float:
        power = 10.0 ** math.floor(math.log10(value) + 1e-9)
        return float(f"{min(step for step in steps if step * power >= value * 0.9999) * power:.6g}")

    return below(low), above(high)


def linear_ends(low: float, high: float, zero: bool = False) -> tuple[float, float]:
    """Round the range of data outwards; zero is shown if ``zero`` or if it is near.

    Examples
    --------
    >>> linear_ends(0.03, 0.93), linear_ends(7.1, 7.9), linear_ends(2.0, 2.0)
    ((0.0, 1.0), (7.0, 8.0), (0.0, 2.0))
    """
    if zero or 0 < low < 0.4 * high or low == high > 0:
        low = min(low, 0.0)
    if zero or 0.4 * low < high < 0 or low == high < 0:
        high = max(high, 0.0)
    if low == high:
        return 0.0, 1.0
    if low not in (0.0, high):
        low -= 0.02 * (high - low)
    step = nice_step(high - low, 8)
    bottom, top = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return float(f"{bottom:.10g}"), float(f"{top:.10g}")


# ---------------------------------------------------------------- marks


def line(
    role: Role,
    x: Sequence[Any],
    y: Sequence[float | None],
    *,
    name: str,
    hover: Sequence[str] | None = None,
    markers: bool = False,
    dash: str | None = None,
    width: float | None = None,
    axes: tuple[str, str] = ("x", "y"),
) -> Spec:
    """Return a curve. ``None`` in ``y`` is a gap; ``hover`` holds one phrase per point."""
    look = ROLES[role]
    out: Spec = {
        "type": "scatter",
        "x": x,
        "y": y,
        "name": name,
        "mode": "lines+markers" if markers else "lines",
        "cliponaxis": False,
        "xaxis": axes[0],
        "yaxis": axes[1],
        "line": {"color": look.colour, "dash": dash or look.dash, "width": width or look.width},
    }
    if markers:
        out["marker"] = marker(role, 7)
    return out | hovering(hover)


def marker(role: Role, size: float, symbol: str | None = None) -> Spec:
    """Return the marker of a role."""
    look = ROLES[role]
    return {
        "symbol": symbol or look.marker,
        "size": size,
        "color": look.colour,
        "line": {"width": 1.5, "color": look.colour},
    }


def hovering(phrases: Sequence[str] | None) -> Spec:
    """Return what makes a trace say its phrases, or stay silent without any."""
    if phrases is None:
        return {"hoverinfo": "skip"}
    return {"text": list(phrases), "hovertemplate": "%{text}<extra></extra>"}


def band(
    role: Role,
    x: Sequence[Any],
    low: Sequence[float],
    high: Sequence[float],
    *,
    name: str,
    opacity: float = 0.16,
    axes: tuple[str, str] = ("x", "y"),
) -> Spec:
    """Return the area between two curves; each stretch without gaps is a polygon of its own."""
    xs: list[Any] = []
    ys: list[float | None] = []
    for start, stop in stretches(low, high):
        if xs:
            xs.append(None)
            ys.append(None)
        xs += [*x[start:stop], *reversed(x[start:stop])]
        ys += [*high[start:stop], *reversed(low[start:stop])]
    return {
        "type": "scatter",
        "x": xs,
        "y": ys,
        "name": name,
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillcolor": tint(ROLES[role].colour, opacity),
        "hoverinfo": "skip",
        "xaxis": axes[0],
        "yaxis": axes[1],
    }


def stretches(*columns: Sequence[float]) -> list[tuple[int, int]]:
    """Find the runs in which all columns are finite, as ``(start, stop)``.

    Examples
    --------
    >>> stretches([1.0, float("nan"), 2.0, 3.0])
    [(0, 1), (2, 4)]
    """
    runs: list[tuple[int, int]] = []
    start: int | None = None
    for place, values in enumerate(zip(*columns, strict=True)):
        good = all(math.isfinite(value) for value in values)
        if good and start is None:
            start = place
        if not good and start is not None:
            runs.append((start, place))
            start = None
    if start is not None:
        runs.append((start, len(columns[0])))
    return runs


# ---------------------------------------------------------------- words on the chart


def note(text: str, x: Any, y: Any, size: float, *, colour: str = SOFT, name: str = "", **more: Any) -> Spec:
    """Return words on the chart, without an arrow."""
    return {
        "name": name,
        "text": text,
        "x": x,
        "y": y,
        "showarrow": False,
        "font": {"size": size, "color": colour},
    } | more


@dataclass(frozen=True)
class EndLabel:
    """The name of a curve at its right end."""

    role: Role
    text: str
    y: float
    """Height of the curve's end, as a share of the plot's height (0 = axis, 1 = top)."""
    main: bool = False
    name: str = ""
    stroke: bool = False
    """Whether a stroke may lead from the curve's end to the name where the name had to move away."""


STROKE = 9
"""Pixels that the strokes between curves and their names need."""


def end_strokes(
    labels: Sequence[EndLabel],
    notes: Sequence[Spec],
    *,
    height: float,
    size: int,
    domain: tuple[float, float],
    x: float,
) -> list[Spec]:
    """Lead from the ends of curves to their names, if a name of the panel had to move away from its curve.

    Parameters
    ----------
    labels, notes : sequence
        Names in order, and their annotations as :func:`end_labels` returns them.
    height, size, domain, x
        As for :func:`end_labels`.

    Returns
    -------
    list of dict
        The strokes (shapes); empty where each name stands at its curve.
    """
    span = domain[1] - domain[0]
    ends = [domain[0] + min(max(item.y, 0.0), 1.0) * span for item in labels]
    moved = [abs(note["y"] - end) / span * height for note, end in zip(notes, ends, strict=True)]
    if not any(item.stroke and way > 0.8 * size for item, way in zip(labels, moved, strict=True)):
        return []
    return [
        {
            "type": "line",
            "name": f"stroke {item.name or item.role}",
            "xref": "paper",
            "yref": "paper",
            "xsizemode": "pixel",
            "xanchor": x,
            "x0": 3,
            "x1": 5 + STROKE,
            "y0": end,
            "y1": note["y"],
            "line": {"color": ROLES[item.role].colour, "width": 1},
        }
        for item, note, end in zip(labels, notes, ends, strict=True)
        if item.stroke
    ]


def end_labels(
    labels: Iterable[EndLabel],
    *,
    height: float,
    size: int = 14,
    domain: tuple[float, float] = (0.0, 1.0),
    x: float = 1.0,
    ordered: bool = False,
    room: float | None = None,
) -> tuple[list[Spec], int]:
    """Name lines at their ends, in the line's colour, pushed apart so that no two names overlap.

    Parameters
    ----------
    labels : iterable of EndLabel
        Names and heights.
    height : float
        Height of the panel in pixels.
    size : int
        Text size in pixels.
    domain : tuple of float
        Vertical part of the whole plot that the panel takes.
    x : float
        Right end of the panel as a share of the plot's width.
    ordered : bool
        Keep the given order, from top to bottom, rather than the order of the heights.
    room : float, optional
        Pixels that names may hang below the panel, where the tick labels of the x axis stand; few if left out.

    Returns
    -------
    tuple
        The annotations, and the right margin in pixels that they need.
    """
    items = list(labels)
    if not items:
        return [], 30
    texts = [wrapped(item.text, LABEL_CHARACTERS) for item in items]
    texts = [f"<b>{text}</b>" if item.main else text for text, item in zip(texts, items, strict=True)]
    heights = [block_height(text, size) + size * 0.1 for text in texts]
    below = size * 0.4 if room is None else room
    # names of two lines need air between them, or nobody sees where one ends and the next begins
    air = size * 0.45 if any("<br" in text for text in texts) else 0.0
    if sum(heights) + air * len(heights) <= height + size * 0.8 + below:
        heights = [tall + air for tall in heights]
    wanted = [min(max(item.y, 0.0), 1.0) * height + (2 if item.main else 0) for item in items]
    order = sorted(range(len(items)), key=lambda place: (-wanted[place], place))
    if ordered:
        wanted = sorted(wanted, reverse=True)
        order = list(range(len(items)))
    upwards = order[::-1]
    centres = apart([wanted[i] for i in upwards], [heights[i] for i in upwards], -below, height + size * 0.8)
    span = domain[1] - domain[0]
    notes = [
        note(
            texts[i],
            x,
            domain[0] + centre / height * span,
            size,
            colour=ROLES[items[i].role].colour,
            name=f"label {items[i].name or items[i].role}",
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="middle",
            xshift=8,
            align="left",
        )
        for i, centre in zip(upwards, centres, strict=True)
    ]
    return notes[::-1], round(max(block_width(text, size) for text in texts) + 14)


def here(
    x: float,
    text: str,
    *,
    log: bool,
    size: int = 14,
    axes: tuple[str, str] = ("x", "y"),
    left: bool = False,
    height: float = 0.0,
) -> tuple[Spec, Spec]:
    """Mark the visitor's own value: a dotted vertical line and words beside it.

    Returns
    -------
    tuple
        The line (a shape) and the words (an annotation); ``left`` and ``height`` (a share) say where the words stand.
    """
    shape = {
        "type": "line",
        "name": "here",
        "xref": axes[0],
        "yref": f"{axes[1]} domain",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"color": SOFT, "width": 1, "dash": "1px,3px"},
    }
    words = note(
        text,
        math.log10(x) if log else x,
        height,
        size,
        name="here",
        xref=axes[0],
        yref=f"{axes[1]} domain",
        xanchor="right" if left else "left",
        align="right" if left else "left",
        yanchor="top" if height >= 1 else "bottom" if height <= 0 else "middle",
        xshift=-6 if left else 6,
    )
    return shape, words


# ---------------------------------------------------------------- export


def resolve(figure: go.Figure, theme: Mapping[str, Any]) -> go.Figure:
    """Put a theme's colours in place of the place-holders, for reports and images made without a browser.

    Parameters
    ----------
    figure : Figure
        A figure with place-holder colours.
    theme : mapping
        ``backgroundColor``, ``chartCategoricalColors``, ``chartSequentialColors``, ``chartDivergingColors``
        (ten each), as in the section ``[theme.light]`` of the configuration.

    Returns
    -------
    Figure
        A new figure without a template.
    """
    paper = theme["backgroundColor"]
    table = {PAPER: paper}
    slots = [colour for kind in SLOTS for colour in theme[f"chart{kind}Colors"]]
    table |= {f"#0000{place:02d}": colour for place, colour in enumerate(slots, start=1)}
    text = re.sub(r"#0000\d\d", lambda match: table.get(match.group(), match.group()), figure.to_json())
    spec = json.loads(text)
    spec["layout"] |= {"template": "none", "paper_bgcolor": paper, "plot_bgcolor": paper}
    return go.Figure(spec)
