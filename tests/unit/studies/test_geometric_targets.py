"""Averages along paths through the study: gold values G17 to G20, both sides, variance, refusals, drafts."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from privexplorer.figures import draw
from privexplorer.studies import _geometric as geometric
from privexplorer.studies import study
from privexplorer.studies._geometric import Discount, Lines, Middle, Rays, Slope
from privexplorer.studies.chart import HeatMap, Line
from privexplorer.studies.geometric_targets import PANELS, PRIVATE, WEIGHTS_SIDE, nice_levels
from privexplorer.studies.result import Result

QUESTION: Any = study("geometric-targets")


def ran(average: Any, **fields: Any) -> Result:
    return QUESTION.run(QUESTION.scenario(average=average, **fields))


def values(result: Result, title: str) -> str:
    return next(one.numbers for one in result.formulas if one.title == title)


@pytest.mark.parametrize("average", [Rays(), Lines(), Slope(), Slope(law="laplace"), Middle(), Discount()])
@pytest.mark.parametrize("name", ["bowl", "waves", "plane", "hills"])
def test_both_sides_agree(average: Any, name: Any) -> None:
    mu = geometric.regression(name)
    assert average.weighted(mu) == pytest.approx(average.value(mu), rel=5e-8)


def test_ray_has_the_gold_values() -> None:
    result = ran(Rays(), shape="bowl", trials=8)
    assert result.extra["truth"] == pytest.approx(4.21990870034, rel=1e-9)
    assert "1.657319013" in values(result, "Weights of the rays")
    assert result.cards[0].value == "4.22"
    assert result.cards[1].chip == "the same"


def test_line_is_radial_and_bends() -> None:
    result = ran(Lines(), shape="plane", trials=8)
    # E length of a difference of two standard normal points is sqrt(pi); the plane adds nothing by symmetry
    assert result.extra["truth"] == pytest.approx(math.sqrt(math.pi), rel=1e-9)
    assert re.search(r"off by \}(0;|\d\\times10\^\{-1\d\})", values(result, "Other curves"))
    average = Lines()
    w = average.public(50, np.random.default_rng(3))
    straight, off = average.bent(geometric.regression("waves"), w, 0.0)
    assert off < 1e-13
    assert straight == pytest.approx(float(average.along(geometric.regression("waves"), w).mean()), rel=1e-10)


def test_slope_has_the_gold_values() -> None:
    average = Slope()
    assert float(average.weight(np.array([0.7]))[0]) == pytest.approx(0.504645432384, rel=1e-9)
    result = ran(average, trials=8)
    assert "b=1.28403" in values(result, "Weights of the slope")
    assert r"=\infty" in values(result, "Weights of the slope")
    laplace = ran(Slope(law="laplace"), trials=8)
    assert f"={math.exp(0.5):.6g}" in values(laplace, "Weights of the slope")


def test_variance_formula_has_the_gold_values() -> None:
    def line(x: Any) -> Any:
        return 1 + 2 * x

    average = Slope()
    x, share = average.nodes()
    z, mass = np.polynomial.hermite_e.hermegauss(60)
    cost = geometric.parts_of(
        (share, geometric.score(average, line, x), line(x)),
        (mass / mass.sum(), geometric.score(average, line, 1.2 * z)),
        1.0,
        0.0,
    )
    assert float(cost.variance(1.0)) == pytest.approx(1.13610166675, rel=1e-9)
    assert float(cost.variance(0.5)) == pytest.approx(105.977330406, rel=1e-9)

    def rise(x: Any) -> Any:
        return 1 + x

    discount = Discount()
    x, share = discount.nodes()
    here = geometric.score(discount, rise, x)
    cost = geometric.parts_of((share, here, rise(x)), (share, here), 0.5, 0.0)
    assert float(np.sum(share * discount.at_x(rise, x))) == pytest.approx(1.13197175368, rel=1e-9)
    assert float(cost.variance(1.0)) == pytest.approx(0.164712882699, rel=1e-9)
    assert float(cost.variance(0.5)) == pytest.approx(0.369853351891, rel=1e-9)


@pytest.mark.parametrize("average", [Rays(), Slope(), Middle(), Discount()])
def test_simulated_variance_and_mean_are_as_calculated(average: Any) -> None:
    scenario = QUESTION.scenario(average=average, shape="waves", keep=0.6, seed=5)
    prepared = QUESTION.prepare(scenario, None)
    drawn = np.concatenate([QUESTION.run_block(prepared, block) for block in range(48)])[:, :, 0]
    assert prepared.cost is not None
    bound = float(prepared.cost.variance(np.array(0.6)))
    fourth = float(np.mean((drawn[:, 2] - drawn[:, 2].mean()) ** 4)) / bound**2
    # 4 standard errors of a simulated variance and of means of 12,000 draws
    assert abs(drawn[:, 2].var() / bound - 1) < 4 * math.sqrt((fourth - 1) / len(drawn)) < 0.25
    error = drawn.std(axis=0) / math.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - prepared.value) < 4 * error).all()


def test_bounded_range_has_no_weights() -> None:
    result = ran(Slope(law="uniform", step=0.2), shape="bowl")
    assert result.extra["truth"] == pytest.approx(1.2, rel=1e-12)
    assert result.cards[1].value == "−0.0133"
    assert result.cards[1].chip == "not the same"
    assert result.notes[0].level == "warning"
    assert "dominated" in result.notes[0].text
    assert result.series(PRIVATE).empty
    last = result.series(WEIGHTS_SIDE).iloc[-1]
    assert abs(last["y"] + 0.0133333) < 4 * last["std_error"]
    assert QUESTION.check(QUESTION.scenario(average=Slope(law="uniform", step=1.5)), None)


def test_cure_weights_the_middle() -> None:
    average = Middle()
    x = np.array([0.0, 0.25, 1.0])
    assert average.weight(x).tolist() == [-6.0, -3.0, 6.0]
    # E 6X(1 - X) 2X = 1
    assert average.value(geometric.regression("bowl")) == pytest.approx(1.0, rel=1e-12)


def test_rays_that_reach_too_far_are_marked() -> None:
    # the limit is t1/sqrt(2) = 1.0607
    good, bad = (ran(Rays(x_std=std), trials=8) for std in (1.07, 1.05))
    assert good.notes[0].level == "info"
    assert good.cards[3].value.endswith("×")
    assert bad.notes[0].level == "warning"
    assert bad.cards[3].value == "–"
    assert bad.cards[1].chip == "the same"


def test_views_are_maps_over_the_plane_and_curves_on_a_line() -> None:
    result = ran(Rays(), trials=8, paths=5)
    field = QUESTION.chart(result, "field")
    assert [type(mark) for mark in field.panels[0].marks[:2]] == [HeatMap, Line]
    assert len(field.panels[0].marks[1].x) == 15
    weights = QUESTION.chart(result, "weights").panels[0].marks[0]
    assert isinstance(weights, HeatMap)
    assert weights.z[24, 24] == pytest.approx(float(Rays().weight(np.array([[0.0, 0.0]]))[0]))
    rows = QUESTION.numbers(result, "weights")
    assert len(rows) == 49 * 49 + 72
    assert set(rows["panel"]) == {PANELS["weights"]}
    curve = QUESTION.chart(ran(Slope(), trials=8), "weights")
    assert {mark.name for mark in curve.marks()} == {"weight r(x)", "density of X"}


def test_a_draft_is_shorter_and_late_fields_change_no_block() -> None:
    scenario = QUESTION.scenario(trials=500)
    prepared = QUESTION.prepare(scenario, None)
    draft = QUESTION.assemble(scenario, prepared, [QUESTION.run_block(prepared, 0)])
    assert draft.runs == 250
    assert float(draft.series(PRIVATE)["x"].max()) == 250
    assert QUESTION.digest(scenario) == QUESTION.digest(scenario.model_copy(update={"paths": 3, "trials": 50}))


def test_levels_are_round() -> None:
    assert nice_levels(np.linspace(-1.0, 1.0, 201)) == [-0.5, 0.0, 0.5]


@pytest.mark.parametrize("average", [Rays(), Lines()])
def test_the_weights_lie_over_the_field_as_contours(average: Rays | Lines) -> None:
    """View 7.12: the representer as lines over the field, at the places where r has these values."""
    result = ran(average, trials=8)
    chart = QUESTION.chart(result, "field")
    field, over = (mark for mark in chart.marks() if isinstance(mark, HeatMap))
    assert (field.name, over.name) == ("field", "weights")
    assert field.lines is None
    assert over.lines is not None
    assert np.array_equal(over.z, result.extra["weight"])
    places = np.stack(np.meshgrid(over.x, over.y), axis=-1).reshape(-1, 2)
    assert np.allclose(over.z.reshape(-1), average.weight(places))
    assert 2 <= len(over.levels) <= 3
    assert all(over.z.min() < level < over.z.max() for level in over.levels)
    for compact in (False, True):
        figure = draw(chart, compact=compact)
        shades, halo, lines = (trace for trace in figure.data if trace.type == "contour")
        assert halo.z == lines.z
        assert halo.line.width > lines.line.width
        assert (shades.contours.coloring, lines.contours.coloring) == ("fill", "none")
        assert lines.hoverinfo == "skip"
        names = [words.text for words in figure.layout.annotations if (words.name or "").startswith("level r = ")]
        assert names, "no line has its name"
        assert set(names) <= {f"r = {level:g}" for level in over.levels}
