"""Charts to draw: one of each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from privexplorer.studies.chart import Area, Axis, Bars, Chart, HeatMap, Line, Panel, Points, Spread

EPSILON = Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε")
ERROR = Axis("error", "log", unit="nats")


def error_chart(count: int = 25) -> Chart:
    x = np.geomspace(0.01, 10, count)
    private = np.sqrt(0.0233**2 + (0.0015 / x) ** 2)
    marks = (
        Line("upper bound", x, 0.13 + 0.0007 / x, "upper bound", "upper bound", hover="at most {y} nats (theorem)"),
        Line(
            "private",
            x,
            private,
            "private",
            "private",
            std_error=private * 0.05,
            main=True,
            markers=True,
            hover="private: off by {y} ± {e} nats",
        ),
        Line("non-private", x, np.full(count, 0.0233), "without", "without privacy", std_error=np.full(count, 8e-4)),
        Line("lower bound", x, np.maximum(0.0104, 0.000345 / x), "lower bound", "lower bound<br>(shape only)"),
    )
    panel = Panel(marks, here=(0.05, "your ε = 0.05"))
    return Chart("Error of the estimate", "root-mean-square, in nats, log scale", EPSILON, ERROR, (panel,))


def zero_chart() -> Chart:
    n = [10, 30, 100, 300, 1000, 3000]
    marks = (
        Line("private", n, [0.4, 0.3, 0.1, 0.01, 0.0, -0.1], "private", "private", std_error=[0.02] * 6, main=True),
        Points("attacker", n, [0.3, 0.2, 0.09, 0.05, 0.0, np.nan], "attack", "attack"),
    )
    axis = Axis("sample size n", "log", symbol="n")
    return Chart("How often the test errs", "share of runs, log scale", axis, Axis("share", "log"), (Panel(marks),))


def family_chart() -> Chart:
    x = np.geomspace(0.001, 1, 30)
    bounds = [
        Line("upper bound", x, c / (1 + x), name, name) for c, name in ((6, "printed"), (3, "tighter"), (2, "best"))
    ]
    mine = Line("private", x, 1 / (1 + x), "gain", "realised gain", main=True)
    return Chart("Gain", "log scale", Axis("σ", "log", symbol="σ"), Axis("gain", "log"), (Panel((*bounds, mine)),))


def panel_chart() -> Chart:
    n = np.geomspace(100, 50_000, 10)
    panels = []
    for place, title in enumerate(["Uniform", "Two steps", "Zipf ½", "Zipf 1", "Dirichlet 1"]):
        y = 20 * n**-0.9 / (1 + place)
        panels.append(
            Panel(
                (
                    Line("private", n, y + 3 / n, "plug-in, private", "plug-in, private", main=True),
                    Line("non-private", n, y, "plug-in", "plug-in"),
                    Points("truth", n[[2, 5]], y[[2, 5]], "published", open=True),
                ),
                title=title,
            )
        )
    names = ("plug-in, private", "plug-in")
    axis = Axis("sample size n", "log", symbol="n")
    return Chart("Error", "in nats, log scales", axis, ERROR, tuple(panels), columns=3, names=names)


def bar_chart() -> Chart:
    degrees = ["degree 2", "degree 4", "degree 6"]
    marks = (
        Bars("private", degrees, [0.02, 0.03, 0.9], "noise", "noise"),
        Bars("non-private", degrees, [0.5, 0.3, 0.1], "sampling", "sampling", error=[0.01, 0.01, 0.01]),
    )
    axis = Axis("polynomial degree", "category")
    return Chart("Where the error comes from", "in nats", axis, Axis("error", unit="nats"), (Panel(marks),))


def stacked_chart() -> Chart:
    chart = bar_chart()
    (panel,) = chart.panels
    marks = tuple(replace(mark, stack=True) for mark in panel.marks if isinstance(mark, Bars))
    return replace(chart, panels=(replace(panel, marks=marks, level_lines=((0.4, "target"),)),))


def area_chart() -> Chart:
    x = np.arange(1, 13)
    marks = (
        Area("upper bound", x, np.exp(-x / 3), "bias", "bias"),
        Area("private", x, 1 - np.exp(-x / 3), "noise", "privacy noise"),
    )
    axis = Axis("degree L", symbol="L")
    return Chart("Where the error comes from", "share", axis, Axis("share"), (Panel(marks, here=(7, "your L")),))


def spread_chart() -> Chart:
    x = np.geomspace(0.01, 10, 40)
    marks = (
        Spread("private", x, 4 - 0.04 / x, 4 + 0.04 / x, "19 of 20", label="19 of 20 releases"),
        Spread("private", x, 4 - 0.014 / x, 4 + 0.014 / x, "half", strength="strong", label="half of all releases"),
        Line("truth", x, np.full(40, 4.0), "truth", "truth"),
    )
    return Chart("One release", "entropy in nats", EPSILON, Axis("entropy", unit="nats"), (Panel(marks),))


def point_chart() -> Chart:
    x, y = [0.01, 0.26, 0.34, 0.83], [0.0, 0.08, 0.22, 1.38]
    mark = Points("private", x, y, "columns", text=["", "children", "height", "income"])
    return Chart("Which answers give away?", "one dot per column", Axis("correlation"), Axis("gain"), (Panel((mark,)),))


def map_chart() -> Chart:
    n, epsilon = np.geomspace(200, 1e5, 30), np.geomspace(1e-3, 1, 24)
    grid_n, grid_epsilon = np.meshgrid(n, epsilon)
    z = np.sqrt(1 + (0.024 / grid_epsilon) ** 2 * (1 + 200 / grid_n))
    mark = HeatMap(
        n,
        epsilon,
        z,
        [1.05, 1.5, 2, 5, 10],
        "map",
        regions=((20_000, 0.35, "privacy costs next to nothing"), (20_000, 0.0015, "noise decides")),
        you=(2_000, 0.01),
    )
    x, y = Axis("sample size n, people", "log", symbol="n"), Axis("ε", "log", symbol="ε")
    return Chart("How many times larger?", "shade: private ÷ not; upwards: ε", x, y, (Panel((mark,)),))


CHARTS: dict[str, Callable[[], Chart]] = {
    "error": error_chart,
    "zero": zero_chart,
    "family": family_chart,
    "panels": panel_chart,
    "bars": bar_chart,
    "stacked": stacked_chart,
    "area": area_chart,
    "spread": spread_chart,
    "points": point_chart,
    "map": map_chart,
}


@pytest.fixture
def make() -> Callable[[str], Chart]:
    """Make a chart by the name of its kind."""
    return lambda name: CHARTS[name]()


@pytest.fixture(params=list(CHARTS))
def chart(request: pytest.FixtureRequest) -> Chart:
    """One chart of each kind."""
    return CHARTS[request.param]()
