"""The coverage map against the published tables, the package's own replications and its zones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal import ATE, LAW_A, LAW_B, AlphaIdentity, replicate, uniform_levels
from privexplorer.figures import draw
from privexplorer.studies._effects import LawB
from privexplorer.studies.chart import Spread
from privexplorer.studies.coverage_map import (
    CROSS_FIT,
    INVERSION,
    METHODS,
    PANELS,
    REPAIRED,
    CoverageMap,
    CoverageMapScenario,
    Kappas,
    covered,
    mean_score,
    people_for,
    spread_ratio,
)

study = CoverageMap()


def at(result, method, panel, kappa):
    rows = result.series(method, PANELS[panel])
    row = rows[np.isclose(rows["x"], kappa)]
    return float(row["y"].iloc[0]), float(row["std_error"].iloc[0])


def test_people_have_the_kappa_asked_for():
    mechanism = AlphaIdentity(0.5, uniform_levels(3))
    people = people_for(LAW_A, mechanism, np.array([30.0, 90.0]))
    np.testing.assert_array_equal(people, [3000, 9000])  # section 6.1: n = 3000 at α = .5 has κ = 30


def test_table_of_section_six_is_met():
    # law B, ATE, n = 3000, α = .5 (κ = 90): plug-in .956 and 1.004, cross-fit .954 and 1.034; three standard errors
    scenario = CoverageMapScenario(law=LawB(), kappa=Kappas(low=89, high=90, points=2), trials=1500)
    result = study.run(scenario)
    assert result.extra["people"][-1] == 3000
    for method, cover, ratio in ((INVERSION, 0.956, 1.004), (CROSS_FIT, 0.954, 1.034)):
        value, error = at(result, method, "coverage", 90)
        assert abs(value - cover) < 3 * error
        value, error = at(result, method, "variance", 90)
        assert abs(value - ratio) < 3 * error
        assert error < 0.06


def test_red_zone_looks_as_published():
    # law A, ATE, n = 3000, α = .2 (κ = 4.8): inversion breaks down in 9.5%, cross-fit covers .859 with ratio 9.99;
    # the repaired plug-in covers .934 with ratio .55
    scenario = CoverageMapScenario(keep_probability=0.2, kappa=Kappas(low=4.8, high=5, points=2), trials=1200)
    result = study.run(scenario)
    assert result.extra["people"][0] == 3000
    broken, error = at(result, "inversion breaks down", "broken", 4.8)
    assert abs(broken - 0.095) < 3.5 * error
    for method, cover, ratio in ((CROSS_FIT, 0.859, 9.99), (REPAIRED, 0.934, 0.55)):
        value, error = at(result, method, "coverage", 4.8)
        assert abs(value - cover) < 3.5 * error
        value, error = at(result, method, "variance", 4.8)
        assert value == pytest.approx(ratio, rel=0.25)


def test_analysis_equals_the_library():
    scenario = CoverageMapScenario(kappa=Kappas(low=60, high=200, points=2))
    prepared = study.prepare(scenario, None)
    block = study.run_block(prepared, 0)
    from privexplorer.simulation import block_rng

    rng = block_rng(0, 0)
    for column, n in enumerate(prepared.ns.tolist()):
        found = replicate(
            LAW_A, prepared.mechanism, [ATE()], n, 64, rng, methods=("plug-in", "likelihood", "one-step"), folds=3
        )
        for place, method in enumerate(("plug-in", "likelihood", "one-step")):
            runs = found.methods[method]
            # the map stops the search for the most likely table earlier: a tenth of a standard error at most
            near = 0.1 * float(np.median(runs.std_error[0])) if method == "likelihood" else 1e-12
            np.testing.assert_allclose(block[:, 2 * place, column], runs.value[0], rtol=1e-9, atol=near)
            np.testing.assert_allclose(block[:, 2 * place + 1, column], runs.std_error[0], rtol=1e-9, atol=near)
        np.testing.assert_array_equal(block[:, 7, column] > 0, found.negative)


def test_green_zone_is_green():
    result = study.run()
    for method in METHODS:
        rows = result.series(method, PANELS["coverage"])
        green = rows[rows["x"] >= 90]["y"].to_numpy()
        assert np.all(np.abs(green - 0.95) < 0.03)
        ratio = result.series(method, PANELS["variance"])
        assert np.all(np.abs(ratio[ratio["x"] >= 90]["y"].to_numpy() - 1) < 0.3)
    assert "9,000 people" in result.shows


def test_level_is_late_and_lower_levels_cover_less():
    scenario = CoverageMapScenario(trials=256)
    prepared = study.prepare(scenario, None)
    parts = [study.run_block(prepared, block) for block in range(study.blocks(scenario))]
    half = study.assemble(scenario.model_copy(update={"level": 0.8}), prepared, parts)
    whole = study.assemble(scenario, prepared, parts)
    for method in METHODS:
        low, high = (r.series(method, PANELS["coverage"])["y"].to_numpy() for r in (half, whole))
        assert np.all(low < high)
    assert np.abs(half.series(REPAIRED, PANELS["coverage"])["y"].to_numpy()[-3:] - 0.8).max() < 0.09


def test_pieces():
    error, spread = np.zeros((10, 2)), np.ones((10, 2))
    error[:3, 1] = 3.0
    share, _ = covered(error, spread, np.ones((10, 2), dtype=bool), 1.96)
    np.testing.assert_allclose(share, [1.0, 0.7])
    values = np.random.default_rng(0).standard_normal((4000, 1)) * 2
    ratio, wrong = spread_ratio(values, np.ones_like(values, dtype=bool), np.array([4.0]))
    assert abs(ratio[0] - 1) < 3 * wrong[0]
    assert wrong[0] == pytest.approx(math.sqrt(2 / 4000), rel=0.1)
    # Prop. 4
    assert mean_score(study.prepare(CoverageMapScenario(law=LawB()), None)) < 1e-12
    assert LAW_B.smallest_cell == pytest.approx(0.12)


def test_zones_and_views_are_drawn():
    result = study.run(CoverageMapScenario(trials=64))
    chart = study.chart(result, "coverage")
    names = [mark.name for mark in chart.panels[0].marks if isinstance(mark, Spread)]
    assert names == ["zone: no interval", "zone: red", "zone: amber", "zone: green"]
    for view in study.views:
        assert draw(study.chart(result, view)).data
    assert study.check(CoverageMapScenario(kappa=Kappas(low=50, high=5)), None)


def test_no_band_fills_the_panel_and_no_words_lie_on_the_curves():
    # with few runs and few people the variance of inversion is anything: its error is larger than itself
    result = study.run(CoverageMapScenario(trials=512))
    rows = result.series(INVERSION, PANELS["variance"])
    y, error = rows["y"].to_numpy(), rows["std_error"].to_numpy()
    wild = 2 * error >= y
    assert wild.any(), "an example that tells"
    chart = study.chart(result, "coverage")
    (line,) = (mark for mark in chart.panels[1].marks if mark.name == INVERSION)
    np.testing.assert_array_equal(np.isnan(line.std_error), wild)
    np.testing.assert_array_equal(line.std_error[~wild], error[~wild])
    figure = draw(chart)
    (band,) = (trace for trace in figure.data if trace.name == f"{INVERSION} ± 2 s.e." and trace.yaxis == "y2")
    lower = np.array([value for value in band.y if value is not None], dtype=float)
    assert lower.min() >= (y - 2 * error)[~wild].min() > 0
    assert not [words.text for words in figure.layout.annotations if (words.name or "").startswith("level ")]
    titles = [panel.title for panel in chart.panels]
    assert "95%" in titles[0]
    assert "dashed" in titles[1]
