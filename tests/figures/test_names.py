"""Names beside curves: room between them on a phone, and strokes that lead to those which had to move."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from privexplorer.figures import draw, style
from privexplorer.studies.chart import Axis, Chart, Line, Panel

LINE = 14 * 1.3
"""What a browser draws for a line of text of 14 pixels."""


def crowd(ends: list[float]) -> Chart:
    """Draw curves that end so close to one another that their names of two lines cannot stand beside them."""
    x = np.linspace(0, 1, 20)
    roles = ("private", "upper bound", "non-private", "truth")
    marks = tuple(
        Line(role, x, 1 + x * (end - 1), f"curve {place}", f"a name of<br>two lines {place}", main=place == 0)
        for place, (role, end) in enumerate(zip(roles, ends, strict=False))
    )
    return Chart("T", "s", Axis("x"), Axis("y", low=0.0, high=1.0), (Panel(marks),))


def names(figure) -> list:
    return [note for note in figure.layout.annotations if note.xref == "paper" and note.name.startswith("label ")]


def plot_height(figure) -> float:
    margin = figure.layout.margin
    return figure.layout.height - margin.t - margin.b


@pytest.mark.parametrize("ends", [[0.5, 0.52, 0.49, 0.5], [0.0, 0.0, 0.0, 0.0], [1.0, 0.98, 0.99, 0.4]])
def test_names_of_two_lines_have_air_between_them(ends):
    figure = draw(crowd(ends), compact=True)
    heights = sorted(note.y * plot_height(figure) for note in names(figure))
    assert len(heights) == 4
    for low, high in pairwise(heights):
        assert high - low >= 2 * LINE + 5, "two lines of text and a gap"


def test_strokes_lead_from_the_ends_of_curves_to_names_that_moved():
    ends = [0.0, 0.0, 0.02, 0.4]
    figure = draw(crowd(ends), compact=True)
    strokes = {shape.name: shape for shape in figure.layout.shapes if shape.name.startswith("stroke ")}
    assert len(strokes) == 4
    for note in names(figure):
        stroke = strokes[note.name.replace("label ", "stroke ")]
        place = int(note.name[-1])
        assert stroke.y0 == pytest.approx(ends[place]), "starts where the curve ends"
        assert stroke.y1 == pytest.approx(note.y), "leads to the name"
        assert stroke.line.color == note.font.color
        assert stroke.x1 < note.xshift, "stops before the text"
    widest = max(style.block_width(note.text) for note in names(figure))
    assert figure.layout.margin.r >= widest + names(figure)[0].xshift


def test_no_strokes_where_names_stand_at_their_curves():
    figure = draw(crowd([0.1, 0.4, 0.65, 0.9]), compact=True)
    assert not [shape for shape in figure.layout.shapes if shape.name.startswith("stroke ")]
    assert {note.xshift for note in names(figure)} == {8}


def test_air_gives_way_where_there_is_no_room_for_it():
    chart = crowd([0.5, 0.5, 0.5, 0.5])
    panel = chart.panels[0]
    more = tuple(replace(mark, name=f"more {mark.name}") for mark in panel.marks if isinstance(mark, Line))
    figure = draw(replace(chart, panels=(replace(panel, marks=(*panel.marks, *more)),)), compact=True)
    spans = sorted((note.y * plot_height(figure), len(re.findall("<br", note.text)) + 1) for note in names(figure))
    assert len(spans) == 8
    for (low, _), (high, lines) in pairwise(spans):
        assert high - low >= lines * LINE - 0.5
