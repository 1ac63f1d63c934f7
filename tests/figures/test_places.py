"""Words inside a panel keep clear of curves, steep ones too, of bars, of reference lines and of one another."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.figures import draw, style
from privexplorer.figures.placing import Box, Ground
from privexplorer.studies import catalogue
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points, Spread

HEIGHT = 316


def box_of(figure, name: str, compact: bool) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of words, in pixels from the lower left corner of the only panel."""
    note = next(note for note in figure.layout.annotations if note.name == name)
    margin = figure.layout.margin
    width = (350 if compact else 980) - margin.r - 45
    height = figure.layout.height - margin.t - margin.b
    wide, high = style.block_width(note.text, note.font.size) * 0.9, style.block_height(note.text, note.font.size) - 5
    x = note.x
    if note.xref == "x":
        low, up = figure.layout.xaxis.range
        x = (note.x - low) / (up - low)
    across = {"left": 0.5, "right": -0.5, "center": 0.0}[note.xanchor or "center"]
    along = {"bottom": 0.5, "top": -0.5, "middle": 0.0}[note.yanchor or "middle"]
    middle = x * width + (note.xshift or 0) + across * wide
    level = note.y * height + (note.yshift or 0) + along * high
    return middle - wide / 2, middle + wide / 2, level - high / 2, level + high / 2


def crossed(figure, trace_name: str, name: str, compact: bool) -> bool:
    """Whether a curve runs through words."""
    left, right, bottom, top = box_of(figure, name, compact)
    margin = figure.layout.margin
    width = (350 if compact else 980) - margin.r - 45
    height = figure.layout.height - margin.t - margin.b
    trace = next(trace for trace in figure.data if trace.name == trace_name)
    shares = []
    for values, axis in ((trace.x, figure.layout.xaxis), (trace.y, figure.layout.yaxis)):
        numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
        numbers = np.log10(numbers) if axis.type == "log" else numbers
        shares.append((numbers - axis.range[0]) / (axis.range[1] - axis.range[0]))
    x, y = shares[0] * width, shares[1] * height
    t = np.linspace(0, len(x) - 1, 4_000)
    x, y = np.interp(t, np.arange(len(x)), x), np.interp(t, np.arange(len(y)), y)
    return bool(((x > left) & (x < right) & (y > bottom) & (y < top)).any())


def test_a_steep_curve_that_stops_early_is_named_beside_itself():
    study = catalogue()["invertibility"]
    chart = study.chart(study.run(study.scenario()), "spectrum")
    name = next(mark.name for mark in chart.marks() if isinstance(mark, Line) and mark.role == "attacker")
    for compact in (False, True):
        figure = draw(chart, compact=compact)
        for mark in chart.marks():
            assert not crossed(figure, mark.name, f"label {name}", compact), mark.name


@pytest.mark.parametrize("compact", [False, True])
def test_the_own_value_is_named_where_no_curve_runs(compact):
    x = np.linspace(0, 1, 50)
    low, high = Line("private", x, np.full(50, 0.03), "low"), Line("truth", x, np.full(50, 0.97), "high")
    panel = Panel((low, high), here=(0.4, "theory: n = 1,037"))
    figure = draw(Chart("T", "s", Axis("x"), Axis("y", low=0.0, high=1.0), (panel,)), compact=compact)
    for curve in ("low", "high"):
        assert not crossed(figure, curve, "here", compact)


def test_the_own_value_is_named_in_two_lines_beside_a_spike():
    x = np.linspace(0, 1, 201)
    spike = Line("attacker", x, np.exp(-(((x - 0.36) / 0.01) ** 2)), "spike")
    panel = Panel((spike,), here=(0.1, "known: 10%"))
    figure = draw(Chart("T", "s", Axis("x"), Axis("y", low=0.0, high=1.0), (panel,)), compact=True)
    assert not crossed(figure, "spike", "here", compact=True)


def test_single_points_are_named_beside_curves_and_reference_lines():
    x = np.linspace(0, 1, 50)
    curve = Line("private", x, 0.5 + 0.8 * (x - 0.5), "curve")
    point = Points("truth", [0.5], [0.5], "points", text=["669 people"])
    panel = Panel((curve, point), level_lines=((0.5, "accepted"),))
    figure = draw(Chart("T", "s", Axis("x"), Axis("y", low=0.0, high=1.0), (panel,)))
    assert not crossed(figure, "curve", "point 669 people", compact=False)
    _, _, bottom, top = box_of(figure, "point 669 people", compact=False)
    assert not bottom < 0.5 * HEIGHT < top, "not on the reference line"


def test_points_on_the_axis_are_named_above_its_line():
    point = Points("attacker", [0.5], [0.0], "points", text=["99 symbols"])
    panel = Panel((point, Line("private", [0, 1], [0.5, 0.6], "curve")))
    figure = draw(Chart("T", "s", Axis("x"), Axis("y", low=0.0, high=1.0), (panel,)))
    assert box_of(figure, "point 99 symbols", compact=False)[2] >= 0


def test_words_that_must_stand_on_bars_have_paper_behind_them():
    bars = Bars("attacker", [0, 1, 2, 3, 4], [0.29, 0.42, 0.46, 0.42, 0.29], "bars")
    panel = Panel((bars,), level_lines=((0.375, "average = information: 0.375"), (0.6, "free")))
    figure = draw(Chart("T", "s", Axis("x"), Axis("y", low=0.0, high=0.7), (panel,)), compact=True)
    notes = {note.name: note for note in figure.layout.annotations}
    assert notes["level average = information: 0.375"].bgcolor == style.PAPER
    assert notes["level free"].bgcolor is None


def test_zones_are_named_in_a_row_at_the_top():
    edges = [5, 10, 30, 90, 500]
    names = ["no interval", "red", "amber", "green"]
    zones = [
        Spread(role, [a, b], [-2.0, -2.0], [2.0, 2.0], name, label=name)
        for role, a, b, name in zip(
            ("non-private", "attacker", "upper bound", "lower bound"), edges[:-1], edges[1:], names, strict=True
        )
    ]
    curve = Line("private", [5, 500], [0.3, 0.1], "curve", "curve")
    # the edge of a band runs through the row of names: they stay in it all the same
    band = Spread("private", [5, 500], [-1.0, -1.0], [1.85, 1.0], "band")
    figure = draw(Chart("T", "s", Axis("x", "log"), Axis("y", low=-2.0, high=2.0), (Panel((*zones, band, curve)),)))
    notes = {note.text: note for note in figure.layout.annotations if note.name.startswith("label ")}
    assert len({notes[name].y for name in names}) == 1
    assert notes["red"].y * HEIGHT > HEIGHT - 25
    for a, b, name in zip(edges[:-1], edges[1:], names, strict=True):
        middle = (math.log(a * b) / 2 - math.log(5)) / math.log(100)
        assert notes[name].x == pytest.approx(middle, abs=0.02), "over the middle of its zone"


def test_points_over_categories_are_named_in_the_margin():
    marks = (
        Bars("local", ["a", "b", "c"], [0.8, 0.7, 0.6], "kept", "kept", stack=True),
        Points("truth", ["a", "b", "c"], [0.5, 0.3, 0.2], "before", "before"),
    )
    figure = draw(Chart("T", "s", Axis("", "category"), Axis("y"), (Panel(marks),)), compact=True)
    assert next(note for note in figure.layout.annotations if note.name == "label before").xref == "paper"


def test_edges_of_bands_give_way_before_curves_do():
    ground = Ground(200, 100)
    ground.curve(np.array([0.0, 200.0]), np.array([80.0, 80.0]))
    ground.curve(np.array([0.0, 200.0]), np.array([30.0, 30.0]), edge=True)
    boxes = [Box(100, 78, 40, 30), Box(100, 34, 40, 30)]
    assert ground.choose(boxes) == (1, 4.0)
    assert ground.clearance(boxes[0]) < 0


def test_closed_and_upright_curves_are_seen_everywhere():
    ground = Ground(200, 200)
    turn = np.linspace(0, 2 * np.pi, 60)
    ground.curve(100 + 50 * np.cos(turn), 100 + 50 * np.sin(turn))
    assert ground.clearance(Box(100, 150, 30, 10)) < 0
    assert ground.clearance(Box(100, 50, 30, 10)) < 0
    assert ground.clearance(Box(100, 100, 30, 10)) > 20
    ground = Ground(200, 200)
    ground.curve(np.array([100.0, 100.001]), np.array([0.0, 200.0]))
    assert ground.clearance(Box(105, 100, 40, 10)) < 0


def test_a_band_without_room_for_its_name_is_named_in_a_later_panel():
    x = np.linspace(0, 1, 60)
    crowd = tuple(
        Line("truth", x, level + 0.04 * np.sin(60 * x), f"c{level:.2f}") for level in np.arange(0.03, 1, 0.06)
    )
    zone = Spread("non-private", [0.0, 1.0], [0.0, 0.0], [1.0, 1.0], "zone", label="no interval")
    y = Axis("y", low=0.0, high=1.0)
    panels = (Panel((zone, *crowd), "one"), Panel((zone, crowd[3]), "two"))
    figure = draw(Chart("T", "s", Axis("x"), y, panels, columns=2))
    (note,) = (note for note in figure.layout.annotations if note.name == "label zone")
    assert note.xref == "x2 domain"
    assert note.bgcolor is None
    alone = draw(Chart("T", "s", Axis("x"), y, panels[:1]))
    (note,) = (note for note in alone.layout.annotations if note.name == "label zone")
    assert note.bgcolor == style.PAPER, "no other panel: paper behind it"


@pytest.mark.parametrize("compact", [False, True])
def test_both_bands_of_one_release_are_named_apart_from_the_truth(compact):
    x = np.geomspace(0.01, 10, 40)
    marks = (
        Spread("private", x, 5 - 0.034 / x, 5 + 0.034 / x, "light", label="19 of 20<br>releases"),
        Spread("private", x, 5 - 0.008 / x, 5 + 0.008 / x, "strong", strength="strong", label="half of all releases"),
        Line("truth", x, np.full(40, 5.0), "truth", "truth"),
    )
    figure = draw(Chart("T", "s", Axis("ε", "log"), Axis("entropy"), (Panel(marks),)), compact=compact)
    for name in ("label light", "label strong"):
        assert not crossed(figure, "truth", name, compact)
    light = next(note for note in figure.layout.annotations if note.name == "label light")
    assert light.font.color == style.INK, "on the band, not beside it"


def test_a_long_name_of_a_point_takes_two_lines_rather_than_cross_a_curve():
    x = np.linspace(0, 1, 50)
    wall = Line("attacker", [0.62, 0.621], [0.0, 1.0], "wall")
    curve = Line("private", x, np.full(50, 0.5), "curve")
    point = Points("truth", [0.45], [0.1], "points", text=["99 symbols ×10, one ×7"])
    other = Line("truth", [0.0, 0.001], [0.0, 1.0], "other wall")
    axes = Axis("x", low=0.0, high=1.0), Axis("y", low=0.0, high=1.0)
    figure = draw(Chart("T", "s", *axes, (Panel((wall, curve, point, other)),)), compact=True)
    note = next(note for note in figure.layout.annotations if note.name.startswith("point "))
    assert note.text == "99 symbols<br>×10, one ×7"
    assert note.bgcolor is None


@pytest.mark.parametrize(("at", "where"), [(1.0, "paper"), (0.5, "x domain")])
def test_a_single_point_is_named_in_the_margin_if_it_stands_beside_it(at, where):
    marks = (
        Line("private", np.linspace(0, 1, 30), np.linspace(0.6, 0.5, 30), "curve", "curve"),
        Points("attacker", [at], [0.3], "point", "simulated attacker"),
    )
    figure = draw(Chart("T", "s", Axis("x", low=0.0, high=1.0), Axis("y"), (Panel(marks),)), compact=True)
    assert next(note for note in figure.layout.annotations if note.name == "label point").xref == where
