"""Axes of counts have ticks at whole numbers only, others keep their fractions; few ticks on narrow log axes."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.figures import draw, style
from privexplorer.figures.sheet import clear_of, whole
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points


def fingerprint(counts: list[float], values: list[float]) -> Chart:
    marks = (Points("data", counts, values, "fingerprint"),)
    return Chart("T", "s", Axis("occurs i times", "log"), Axis("values", "log"), (Panel(marks),))


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("counts", [[1, 2, 3], [1, 2], [1, 2, 3, 5, 8], [3, 4], [1, 2, 4, 30, 200]])
def test_a_fingerprint_has_whole_ticks_on_both_axes(counts, compact):
    layout = draw(fingerprint(counts, [2.0 * value for value in counts[::-1]]), compact=compact).layout
    for axis in (layout.xaxis, layout.yaxis):
        assert len(axis.tickvals) >= 2
        assert all(value == round(value) for value in axis.tickvals), axis.tickvals
        assert not any("." in text for text in axis.ticktext)


def test_fractions_keep_their_ticks():
    layout = draw(fingerprint([1.0, 1.5, 2.5], [0.5, 1.0, 2.0])).layout
    assert any("." in text for text in layout.xaxis.ticktext)


@pytest.mark.parametrize("most", [2, 4, 6])
def test_short_linear_axes_of_counts_step_by_one(most):
    lines = Points("lower bound", [0.1, 0.2, 0.3], [0, 1, most], "lines")
    axis = draw(Chart("T", "s", Axis("x"), Axis("line"), (Panel((lines,)),))).layout.yaxis
    assert (axis.tickmode, axis.dtick, axis.tick0, axis.tickformat) == ("linear", 1, 0, ",d")
    shares = Points("lower bound", [0.1, 0.2, 0.3], [0, 0.5, most], "lines")
    assert draw(Chart("T", "s", Axis("x"), Axis("y"), (Panel((shares,)),))).layout.yaxis.tickmode == "auto"


def test_estimates_with_an_error_are_no_counts():
    line = Line("private", [1, 2, 3], [1.0, 2.0, 3.0], "mean", std_error=[0.2, 0.2, 0.2])
    assert whole([Panel((line,))], "x")
    assert not whole([Panel((line,))], "y")


def test_narrow_log_axes_leave_every_second_power_out():
    assert len(style.log_axis(1, 1e6, few=True)["ticktext"]) == 4
    assert len(style.log_axis(1, 1e6)["ticktext"]) == 7
    assert style.log_axis(0.01, 10, few=True)["ticktext"] == ["0.01", "0.1", "1", "10"]


def test_names_of_regions_make_way_for_the_own_place():
    from privexplorer.figures.grid import Cell, Range
    from privexplorer.figures.placing import Box

    span = Range("linear", 0.0, 1.0)
    cell = Cell(0, 0, 0, (0.0, 1.0), (0.0, 1.0), 300.0, 200.0, True, span, span)
    you, region = Box(120, 100, 80, 24), Box(140, 110, 60, 36)
    moved = clear_of(region, [you], cell)
    assert not moved.overlaps(you)
    assert np.hypot(moved.x - region.x, moved.y - region.y) < 60
    assert clear_of(region, [], cell) == region


@pytest.mark.parametrize(("low", "high"), [(-4.0, 4.0), (0.0, 1.0), (0.0, 2.0), (0.15, 0.36), (0.0, 25.0)])
def test_narrow_linear_axes_show_three_ticks_at_least(low, high):
    most = style.linear_axis(low, high, few=True)["nticks"]
    # browsers take the first step of 1, 2 or 5 that is larger than the span over the most ticks
    steps = [step * 10.0**power for power in range(-3, 3) for step in (1, 2, 5)]
    step = min(value for value in steps if value > (high - low) / most * (1 + 1e-9))
    assert len([i for i in range(-200, 200) if low - 1e-9 <= i * step <= high + 1e-9]) >= 3
