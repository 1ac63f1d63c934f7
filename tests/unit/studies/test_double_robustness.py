"""Numbers of the double-robustness map against Theorem 1, the normal law and its own simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal import LAW_A, LAW_B, bias_expansion, product_bias, treatment_nuisances
from privexplorer.figures import draw
from privexplorer.studies._effects import LawB, PointNoise
from privexplorer.studies.chart import HeatMap
from privexplorer.studies.double_robustness import (
    ODDS,
    PANELS,
    PARAMETERS,
    SHIFTS,
    DoubleRobustness,
    DoubleRobustnessScenario,
    expansion,
    miss_share,
    worked_example,
    wrong_propensity,
    wrong_regression,
)
from privexplorer.studies.words import percent

study = DoubleRobustness()


def grid(result, view):
    rows = study.numbers(result, view)
    return rows["y"].to_numpy().reshape(SHIFTS.size, ODDS.size)


@pytest.fixture(scope="module")
def default():
    return study.run()


@pytest.mark.parametrize("target", list(PARAMETERS))
@pytest.mark.parametrize("shape", ["even", "rising"])
def test_map_is_theorem_one_at_every_pair_of_errors(target, shape):
    scenario = DoubleRobustnessScenario(target=target, shape=shape, trials=100)
    z = grid(study.run(scenario), "bias")
    for row, column in ((0, 0), (4, 20), (17, 3), (24, 24)):
        pi = wrong_propensity(LAW_A, shape, ODDS[column])
        mu = wrong_regression(LAW_A, shape, SHIFTS[row])
        used = treatment_nuisances(LAW_A, PARAMETERS[target], propensity=pi, mu=mu)
        both = bias_expansion(LAW_A, PARAMETERS[target], used)
        assert z[row, column] == pytest.approx(both.error, abs=1e-13)
        assert z[row, column] == pytest.approx(product_bias(LAW_A, PARAMETERS[target], pi, mu), abs=1e-13)
    assert np.abs(z[0, 0]) > 1e-3


def test_axes_have_no_bias_and_the_corners_do(default):
    z = grid(default, "bias")
    assert np.all(z[SHIFTS.size // 2] == 0)
    assert np.all(z[:, ODDS.size // 2] == 0)
    assert np.abs(z[0, 0]) > 0.1
    # opposite signs in neighbouring corners
    assert z[0, 0] > 0 > z[0, -1]


def test_worked_example_is_the_gold_value():
    assert worked_example().total == pytest.approx(0.0202237590688, rel=1e-10)
    assert worked_example().product == pytest.approx(-0.00190223915653, rel=1e-10)
    numbers = next(f for f in study.run().formulas if f.title.startswith("Worked")).numbers
    assert "-0.00190224" in numbers
    assert "0.0202238" in numbers


def test_misses_are_as_calculated_and_nominal_along_the_axes(default):
    miss = grid(default, "coverage")
    wanted = default.extra["calculated"].reshape(miss.shape)
    # 600 runs, 625 cells: four standard errors and a little for the normal approximation
    error = np.sqrt(np.maximum(wanted * (1 - wanted), 0.01) / 600)
    assert np.all(np.abs(miss - wanted) < 4 * error + 0.01)
    axes = np.concatenate([miss[SHIFTS.size // 2], miss[:, ODDS.size // 2]])
    assert axes.mean() == pytest.approx(0.05, abs=0.025)
    assert wanted[SHIFTS.size // 2] == pytest.approx(0.05, abs=1e-12)
    assert miss[0, 0] > 0.9


def test_miss_share_of_a_known_shift():
    assert miss_share(np.array([0.0]), np.array([2.0]), 100)[0] == pytest.approx(0.05)
    # shifted by 1.96 standard errors: half on one side, next to nothing on the other
    assert miss_share(np.array([0.392]), np.array([2.0]), 100)[0] == pytest.approx(0.5, abs=1e-3)


def test_product_limit_holds_and_is_of_the_same_order(default):
    rows = study.numbers(default, "slice")
    both = rows[rows["series"] == "both wrong"]["y"].to_numpy()
    limit = rows[rows["series"] == "limit of the product"]["y"].to_numpy()
    assert np.all(both <= limit + 1e-15)
    assert both[-1] > 0.3 * limit[-1]
    for name in ("propensity wrong", "regression wrong"):
        assert np.all(rows[rows["series"] == name]["y"].to_numpy() == 0)
    # halving both errors quarters the bias, nearly
    assert both[10] / both[5] == pytest.approx(4, rel=0.15)


def test_noise_changes_coverage_but_not_the_bias():
    few = DoubleRobustnessScenario(trials=100, keep_probability=0.2)
    noisy, plain = study.run(few), study.run(few.model_copy(update={"keep_probability": 1.0}))
    np.testing.assert_array_equal(grid(noisy, "bias"), grid(plain, "bias"))
    assert grid(plain, "coverage").mean() > grid(noisy, "coverage").mean() + 0.1


def test_share_of_the_treated_adds_its_own_terms():
    scenario = DoubleRobustnessScenario(target="att", share_error=0.05, trials=100)
    z = grid(study.run(scenario), "bias")
    found = expansion(scenario, LAW_A, float(ODDS[20]), float(SHIFTS[3]))
    assert z[3, 20] == pytest.approx(found.error, abs=1e-13)
    assert abs(found.curvature) > 1e-4
    words = study.check(DoubleRobustnessScenario(law=LawB(), target="att", share_error=-0.2), None)
    assert words == ()
    assert LAW_B.treated_share > 0.2


def test_words_cards_and_drawing(default):
    scenario = DoubleRobustnessScenario()
    bias = expansion(scenario, LAW_A, 0.5, 0.08).total
    assert default.extra["bias"] == pytest.approx(bias)
    assert f"{bias:.4f}" in default.shows
    right = study.run(scenario.model_copy(update={"regression_error": 0.0, "trials": 100}))
    assert "the bias is **0**" in right.shows
    assert right.cards[0].value == "0"
    for view in study.views:
        assert draw(study.chart(default, view)).data
    mark = study.chart(default, "bias").panels[0].marks[0]
    assert isinstance(mark, HeatMap)
    assert mark.you == (0.5, 0.08)
    assert {words for *_, words in mark.regions} == {"too high", "too low"}
    assert math.isclose(float(mark.z.min()), 0.0)


def test_point_noise_and_nearly_nothing_kept_is_refused():
    assert study.check(DoubleRobustnessScenario(noise=PointNoise(), keep_probability=1e-4), None)


def test_bias_is_told_in_standard_errors_of_the_estimate_that_has_it(default):
    cards = {card.label: card for card in default.cards}
    bias = float(cards["Bias at your errors"].value.replace("−", "-"))
    error = float(cards["Sampling error"].value)
    # wrong models make the estimate vary more than the best one
    assert error == pytest.approx(0.0480, rel=0.01)
    assert "with right models 0.0330" in cards["Sampling error"].help
    told = float(default.shows.split("**, ")[2].split(" standard errors of the estimate with these models")[0])
    assert told == pytest.approx(abs(bias) / error, rel=0.02)
    # the share that is told to miss is the one of that many standard errors
    missed = miss_share(np.array([told]), np.array([1.0]), 1)[0]
    assert f"**{100 * missed:.0f}%** of the 95% intervals" in default.shows


def test_the_share_that_misses_is_named_calculated_or_simulated():
    """At few runs the two shares differ: sentence and card give each its own name."""
    scenario = DoubleRobustnessScenario(trials=100, propensity_error=0.52, regression_error=0.07)
    result = study.run(scenario)
    row, column = (int(np.argmin(np.abs(values - at))) for values, at in ((SHIFTS, 0.07), (ODDS, 0.52)))
    drawn = grid(result, "coverage")[row, column]
    share = 100 * float(drawn)
    card = next(card for card in result.cards if card.label == "Intervals that miss")
    calculated, simulated = percent(result.extra["miss"]), card.value.removesuffix("%")
    assert float(simulated) == pytest.approx(share, abs=0.6)
    assert abs(float(simulated) - 100 * result.extra["miss"]) > 2, "an example that tells them apart"
    assert f"by calculation **{calculated}** of the 95% intervals" in result.shows
    assert f"(simulated: {simulated}% {card.chip})" in result.shows
    assert "Simulated at the grid point nearest to your errors" in card.help
    assert f"calculated for your errors: {calculated}." in card.help


def test_bias_and_coverage_stand_side_by_side_over_the_same_axes(default):
    """View 7.6: the opening view has both maps, beside one another on a screen and one above the other on a phone."""
    assert list(study.views)[:3] == ["both", "bias", "coverage"]
    chart = study.chart(default, "both")
    bias, misses = chart.marks()
    assert (bias.name, misses.name) == ("bias", "misses")
    for mark, view in ((bias, "bias"), (misses, "coverage")):
        np.testing.assert_array_equal(mark.z, np.abs(grid(default, view)))
        assert mark.you == (0.5, 0.08)
        (alone,) = study.chart(default, view).marks()
        np.testing.assert_array_equal(alone.z, mark.z)
    wide, narrow = draw(chart).layout, draw(chart, compact=True).layout
    assert wide.xaxis.domain[1] < wide.xaxis2.domain[0]
    assert wide.yaxis.domain == wide.yaxis2.domain
    assert narrow.yaxis2.domain[1] < narrow.yaxis.domain[0]
    for layout in (wide, narrow):
        assert (layout.xaxis.range, layout.yaxis.range) == (layout.xaxis2.range, layout.yaxis2.range)
    assert set(study.numbers(default, "both")["panel"]) == {PANELS["bias"], PANELS["coverage"]}
