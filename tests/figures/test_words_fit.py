"""Words have room: names under bars, titles, signs that stay with their numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

from privexplorer.figures import draw, style
from privexplorer.figures.sheet import staggered
from privexplorer.studies.chart import Axis, Bars, Chart, HeatMap, Line, Panel
from privexplorer.studies.result import Card
from privexplorer.ui.show import fits_beside

PHONE = 350


def bars(names: list[str]) -> Chart:
    mark = Bars("private", names, [1.0] * len(names), "size", "size")
    return Chart("T", "s", Axis("", "category"), Axis("size"), (Panel((mark,)),))


def boxes(figure) -> list[tuple[float, float, float, float]]:
    """Left, right, top and bottom of each name under the bars, in pixels; y grows downwards."""
    axis, margin = figure.layout.xaxis, figure.layout.margin
    width = PHONE - margin.r - 45
    out = []
    for place, text in enumerate(axis.ticktext):
        lines = re.split("<br>", text)
        first = next((i for i, line in enumerate(lines) if line), 0)
        middle = (place + 0.5) / len(axis.ticktext) * width
        wide = max(style.text_width(line, 14) for line in lines) * 0.9
        out.append((middle - wide / 2, middle + wide / 2, first * 18.2, len(lines) * 18.2))
    return out


@pytest.mark.parametrize(
    "names",
    [
        ["smoker", "pressure > 140", "diabetic", "smoker and pressure > 140", 'ward = "east"'],
        [f"{a}·{b}·{c}" for a in (0, 1) for b in (0, 1) for c in (0, 1, 2)],
        ["all categories alike", "like the population", "always 0", "always 1", "always 2", "your noise"],
        ["α = 0.3", "α = 0.5", "α = 0.7", "α = 0.9"],
        ["a", "b"],
    ],
)
def test_names_under_bars_are_upright_and_apart_on_a_phone(names):
    figure = draw(bars(names), compact=True)
    axis = figure.layout.xaxis
    assert axis.tickangle == 0
    said = [re.sub("(<br>|\\s)+", " ", text).strip() for text in axis.ticktext]
    assert said == names, "all are written"
    found = boxes(figure)
    for i, (left, right, top, bottom) in enumerate(found):
        for other_left, other_right, other_top, other_bottom in found[i + 1 :]:
            across = min(right, other_right) - max(left, other_left)
            along = min(bottom, other_bottom) - max(top, other_top)
            assert across <= 0 or along <= 0, (axis.ticktext[i], across, along)
    deepest = max(box[3] for box in found)
    assert figure.layout.margin.b >= deepest + 20, "the margin grows with the rows"


def test_names_without_any_room_are_thinned_rather_than_slanted():
    names = [f"category{place}" for place in range(40)]
    axis = draw(bars(names), compact=True).layout.xaxis
    written = [text for text in axis.ticktext if text]
    assert axis.tickangle == 0
    assert 2 <= len(written) <= 10
    assert written[0] == "category0"


def test_rows_of_names_keep_their_order():
    assert staggered(["a", "b", "c", "d<br>e"], 3) == ["a", "<br><br>b", "<br><br><br>c", "d<br>e"]


def test_signs_stay_with_their_numbers():
    assert style.wrapped("errors at α = 0.5", 14) == "errors at<br>α\u00a0=\u00a00.5"
    assert style.wrapped("pressure > 140", 9) == "pressure<br>>\u00a0140", "too long together: the sign starts the line"


def test_titles_of_two_lines_have_lines_of_about_the_same_length():
    text = "How often a share comes out negative (α = 0.2)"
    first, second = style.balanced(text, 42).split("<br>")
    assert min(len(first), len(second)) > 0.7 * max(len(first), len(second))
    assert style.balanced("short", 42) == "short"


def test_names_under_the_columns_of_a_table_are_upright_and_apart():
    names = ["0–0.17", "0.17–0.33", "0.33–0.5", "0.5–0.67", "0.67–0.83", "0.83–1"]
    places = np.arange(6.0)
    table = HeatMap(places, places, np.eye(6), (), "t", cells=True, x_names=names, y_names=[f"true {n}" for n in names])
    axes = Axis("shown", low=-0.5, high=5.5), Axis("true", low=-0.5, high=5.5)
    figure = draw(Chart("T", "s", *axes, (Panel((table,)),)), compact=True)
    axis = figure.layout.xaxis
    assert axis.tickangle == 0
    assert [text.removeprefix("<br>") for text in axis.ticktext] == names
    assert [text.startswith("<br>") for text in axis.ticktext] == [False, True] * 3


def test_numbers_on_an_axis_are_never_slanted():
    marks = (Bars("private", [0.001, 0.002, 0.003], [1.0, 1.0, 1.0], "size"),)
    assert draw(Chart("T", "s", Axis("x"), Axis("y"), (Panel(marks),)), compact=True).layout.xaxis.tickangle == 0


@pytest.mark.parametrize("high", [10_000.0, 1_000.0, 100.0])
@pytest.mark.parametrize("scale", ["log", "linear"])
def test_numbers_below_neighbouring_panels_stand_apart(high, scale):
    """The last number below one panel and the first below the next, both at the panels' ends."""
    x = np.array([10.0, high])
    panels = tuple(Panel((Line("private", x, x, "noise"),), title) for title in ("one", "two"))
    figure = draw(Chart("T", "s", Axis("k", scale), Axis("noise"), panels, columns=2))
    one, two = figure.layout.xaxis, figure.layout.xaxis2
    between = (two.domain[0] - one.domain[1]) * (style.Size().width - figure.layout.margin.r - 45)
    ends = [f"{high:,.0f}", "10"]
    assert between >= sum(style.text_width(text, 14) for text in ends) / 2 + 4


def test_cards_stand_beside_each_other_where_their_words_fit():
    """On a phone: by the width of the words, not their number of letters."""
    fits = [
        Card("Gap of the property", "4.99 values", "printed", "help"),
        Card("Distance of one record", "0.0909"),
        Card("Little noise from", "n = 1,200", "", "help"),
    ]
    cut = [Card("Off by WWWWWWWWWWW", "1", "", "help"), Card("Short", "10,000,000 values"), Card("W" * 15, "1")]
    assert [fits_beside(card) for card in fits + cut] == [True] * 3 + [False] * 3
