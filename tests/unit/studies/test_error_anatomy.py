"""The three parts of the error: rates, fitted models, first order, and where noise lands."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal import ATE, ATT, LAW_A, LAW_B, AlphaIdentity, efficiency_bound, uniform_levels
from privexplorer.figures import draw
from privexplorer.records import Grid
from privexplorer.studies._effects import LawA
from privexplorer.studies.error_anatomy import (
    BIAS,
    CORRECTED,
    EMPIRICAL,
    GAUSSIAN,
    PANELS,
    PLUG_IN,
    SCORE,
    ErrorAnatomy,
    ErrorAnatomyScenario,
)

study = ErrorAnatomy()


def curve(result, part, panel, words="with noise"):
    rows = result.series(part, f"{PANELS[panel]}, {words}")
    return rows["x"].to_numpy(dtype=float), rows["y"].to_numpy()


def slope(x, y):
    return (math.log(y[-1]) - math.log(y[0])) / (math.log(x[-1]) - math.log(x[0]))


@pytest.fixture(scope="module")
def default():
    return study.run()


def test_gaussian_part_is_the_root_of_the_bound(default):
    for words, keep in (("without noise", 1.0), ("with noise", 0.5)):
        mechanism = AlphaIdentity(keep, uniform_levels(2))
        wanted = math.sqrt(efficiency_bound(LAW_B, ATE(), mechanism))
        np.testing.assert_allclose(curve(default, GAUSSIAN, "rates", words)[1], wanted, rtol=1e-12)
        # simulated within four standard errors, about 10% each
        found = curve(default, GAUSSIAN, "fitted", words)[1]
        np.testing.assert_allclose(found, wanted, rtol=0.42)
        assert found.mean() == pytest.approx(wanted, rel=0.2)


@pytest.mark.parametrize(("a", "b"), [(0.2, 0.15), (0.25, 0.25), (0.4, 0.3)])
def test_bias_turns_where_the_exponents_pass_one_half(a, b):
    # L-A1: √n·bias goes like n^(1/2 - a - b)
    result = study.run(ErrorAnatomyScenario(regression_exponent=a, representer_exponent=b, trials=8))
    for words in ("without noise", "with noise"):
        assert slope(*curve(result, BIAS, "rates", words)) == pytest.approx(0.5 - a - b, abs=1e-9)
    word = "grows" if a + b < 0.5 else "stays" if a + b == 0.5 else "falls"
    assert word in result.shows
    assert slope(*curve(result, EMPIRICAL, "rates")) == pytest.approx(-min(a, b), abs=0.1)


def test_parts_add_up_and_the_leftover_falls(default):
    # L-E26, L-E62, L-L2, L-L9: in each run, and from the smallest to the largest size
    assert default.extra["gap"] < 1e-10
    for words in ("without noise", "with noise"):
        x, y = curve(default, EMPIRICAL, "fitted", words)
        assert np.all(np.diff(y) < 0)
        assert slope(x, y) == pytest.approx(-0.5, abs=0.12)
        assert curve(default, BIAS, "fitted", words)[1][-1] < 0.2 * curve(default, GAUSSIAN, "fitted", words)[1][-1]


def test_correction_leaves_second_order(default):
    # L-E9
    rows = {name: default.series(name, PANELS["first"]) for name in (PLUG_IN, CORRECTED)}
    for name, order in ((PLUG_IN, 1), (CORRECTED, 2)):
        x, y = rows[name]["x"].to_numpy()[:12], rows[name]["y"].to_numpy()[:12]
        assert slope(x, y) == pytest.approx(order, abs=0.06)


def test_noise_in_the_wrong_place_hurts(default):
    # L-A2: the models' own error stays 0.1
    y = default.series(SCORE, PANELS["landing"])["y"].to_numpy()
    assert y.max() > 1.25 * y[0]
    assert y.min() > 0


def test_low_dimensional_pieces_are_unbiased():
    # L-E23: three standard errors
    scenario = ErrorAnatomyScenario(law=LawA(), target="att", n=Grid(low=4_000, high=8_000, points=2), trials=80)
    prepared = study.prepare(scenario, None)
    blocks = np.concatenate([study.run_block(prepared, block) for block in range(study.blocks(scenario))])
    value, share = ATT().value(LAW_A), LAW_A.treated_share
    for series, wanted in ((8, share), (9, -value / share)):
        found = blocks[:, series, -1]
        assert abs(found.mean() - wanted) < 3 * found.std(ddof=1) / math.sqrt(len(found))
        assert found.std() < 0.3 * abs(wanted)
    assert any("Low-dimensional" in f.title for f in study.run(scenario).formulas)


def test_low_dimensional_pieces_of_the_average_effect_are_named_as_nothing(default):
    # (23)-(25) with f = μ1 - μ0, where nothing depends on γ
    assert default.scenario.target == "ate"
    assert study.prepare(default.scenario, None).target.nuisances(LAW_A).gammas.size == 0
    found = next(item for item in default.formulas if item.source == "(23)-(25)")
    assert r"\check e=0" in found.numbers
    assert r"\check\gamma=" in found.tex


def test_small_samples_are_refused_in_a_sentence():
    words = study.check(ErrorAnatomyScenario(law=LawA(), keep_probability=0.05), None)
    assert words
    assert words[0].endswith(".")


def test_every_view_is_drawn(default):
    for view in study.views:
        chart = study.chart(default, view)
        assert draw(chart).data
    assert [panel.title for panel in study.chart(default, "rates").panels] == ["Without noise", "With noise, α = 0.5"]
