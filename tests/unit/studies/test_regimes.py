"""The regimes of Theorems 8 to 10: gold values through the study, ranges as pieces, when privacy is free."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privexplorer.properties import coverage_sample_size, entropy_sample_size, support_sample_size
from privexplorer.records import Grid, RealGrid
from privexplorer.studies.chart import Line, Spread
from privexplorer.studies.regimes import (
    PANELS,
    CoverageRates,
    EntropyRates,
    Regimes,
    RegimeScenario,
    SupportRates,
    even_epsilon,
    free_from,
    free_ratio,
)

study = Regimes()


def value(result: Any, series: str, x: float, along: str = "epsilon") -> float:
    rows = result.series(series, PANELS[along])
    found = rows[np.isclose(rows["x"], x, rtol=1e-12)]
    assert len(found) == 1, (series, x)
    return float(found["y"].iloc[0])


def test_gold_values_on_the_curves() -> None:
    coverage = study.run()
    assert value(coverage, "upper bound, sublinear range", 1.0) == pytest.approx(4999.94572, rel=1e-9)
    assert value(coverage, "lower bound", 1.0) == pytest.approx(2510, rel=1e-9)
    assert value(coverage, "without privacy", 1.0) == pytest.approx(2500, rel=1e-9)
    assert value(coverage, "one coin", 1.0) == pytest.approx(110, rel=1e-12)
    assert value(coverage, "one coin", 0.1) == pytest.approx(200, rel=1e-12)
    support = study.run(RegimeScenario(property=SupportRates()))
    assert value(support, "upper bound, sublinear range", 1.0) == pytest.approx(1534.834793, rel=1e-9)
    assert value(support, "lower bound", 1.0) == pytest.approx(777.5283643, rel=1e-9)
    entropy = study.run(RegimeScenario(property=EntropyRates()))
    assert value(entropy, "upper bound U1, plug-in", 1.0) == pytest.approx(14794.73415, rel=1e-9)
    assert value(entropy, "upper bound U2, polynomial", 1.0) == pytest.approx(10593.92417, rel=1e-9)
    assert value(entropy, "lower bound", 1.0) == pytest.approx(6288.434125, rel=1e-9)
    assert entropy.cards[0].value == "10,594"
    assert "6,288" in entropy.shows


def test_ranges_are_pieces_that_do_not_join() -> None:
    scenario = RegimeScenario(property=CoverageRates(m=300), accuracy=0.02, epsilon=0.05)
    result = study.run(scenario)
    pieces = {
        name: result.series(f"upper bound, {name} range", PANELS["size"]) for name in ("small", "middle", "sublinear")
    }
    assert pieces["small"]["x"].max() <= 50 < pieces["middle"]["x"].min()
    assert pieces["middle"]["x"].max() < 1000 <= pieces["sublinear"]["x"].min()
    sizes = np.concatenate([rows["x"] for rows in pieces.values()])
    np.testing.assert_array_equal(sizes, scenario.sizes.values())
    before, after = coverage_sample_size(999.999, 0.02, 0.05).upper, coverage_sample_size(1000, 0.02, 0.05).upper
    assert abs(before - after) > 0.3 * after  # a jump
    middle = result.series("upper bound, middle range", PANELS["epsilon"])
    coin = result.series("one coin", PANELS["epsilon"])["y"].to_numpy()[: len(middle)]
    np.testing.assert_allclose(middle["y"], coin, rtol=1e-12)
    support = study.run(RegimeScenario(property=SupportRates(), accuracy=0.02, epsilon=0.05))
    small = support.series("lower bound, small range", PANELS["size"])
    np.testing.assert_allclose(small["y"], small["x"] * np.log(small["x"]) + small["x"] / 0.05, rtol=1e-12)
    for x, y in support.series("lower bound", PANELS["size"])[["x", "y"]].to_numpy():
        assert y == pytest.approx(x * math.log(50) ** 2 / math.log(x) + 1000, rel=1e-12)


def test_the_middle_range_is_shaded_where_it_is() -> None:
    result = study.run()
    shade = next(mark for mark in study.chart(result, "epsilon").marks() if isinstance(mark, Spread))
    assert tuple(shade.x) == pytest.approx((1e-5, 1e-3))
    assert not any(isinstance(mark, Spread) for mark in study.chart(result, "size").marks())  # empty at ε = 1
    few = study.run(RegimeScenario(property=CoverageRates(m=300), accuracy=0.02, epsilon=0.05))
    shade = next(mark for mark in study.chart(few, "size").marks() if isinstance(mark, Spread))
    assert tuple(shade.x) == pytest.approx((50, 1000))
    tiny = study.run(RegimeScenario(property=SupportRates(k=5)))
    assert not any(isinstance(mark, Spread) for mark in study.chart(tiny, "epsilon").marks())
    assert len(tiny.series("upper bound, small range", PANELS["epsilon"])) == 61


@pytest.mark.parametrize("size", [2, 50, 10_000, 10**8])
@pytest.mark.parametrize("exponent", [0.05, 0.3, 0.5, 1.0])
def test_privacy_is_free_from_a_power_of_the_size_on(size: int, exponent: float) -> None:
    """Any ε ≥ m^(γ-1) makes the private term at most 1/γ times the other, and no better constant would do."""
    for more in (1.0, 1.7, 30.0):
        epsilon = size ** (exponent - 1) * more
        assert math.log(size) / math.log(2 + epsilon * size) <= 1 / exponent
        accuracy = 0.1
        if size >= 1 / (accuracy * epsilon) and size > 1 / accuracy:
            for found in (
                coverage_sample_size(size, accuracy, epsilon),
                support_sample_size(size, accuracy, epsilon),
            ):
                assert found.branch == "sublinear"
                assert found.terms["private"] <= found.terms["statistical"] / exponent * (1 + 1e-12)
    assert free_ratio(float(size), np.array([exponent]))[0] == pytest.approx(
        math.log(size) / math.log(2 + size**exponent), rel=1e-12
    )
    if exponent >= 0.5 and size == 10**8:
        assert free_ratio(float(size), np.array([exponent]))[0] > 0.99 / exponent


def test_the_third_view_shows_the_claim_and_lambda() -> None:
    result = study.run()
    exact = result.series("private term ÷ other term", PANELS["free"])
    bound = result.series("bound 1/γ", PANELS["free"])
    assert np.all(exact["y"].to_numpy() < bound["y"].to_numpy())
    assert exact["y"].iloc[-1] == pytest.approx(math.log(10_000) / math.log(10_002), rel=1e-12)
    entropy = study.run(RegimeScenario(property=EntropyRates(k=2000), epsilon=0.05))
    total = entropy.series("upper bound U2", PANELS["free"])
    assert total["y"].iloc[9] == pytest.approx(entropy_sample_size(2000, 0.1, 0.05, 0.5).upper_2, rel=1e-12)
    learning = entropy.series("learning term", PANELS["free"])["y"].to_numpy()
    private = entropy.series("private term", PANELS["free"])["y"].to_numpy()
    assert np.all(np.diff(learning) < 0)
    assert np.all(np.diff(private) > 0)
    assert private[9] == pytest.approx(200**1.5, rel=1e-12)
    noise = entropy.series("n^λ/n (Lemma 33)", PANELS["noise"])["y"].to_numpy()
    n = int(total["y"].iloc[9])
    assert noise[9] == pytest.approx(n**-0.5, rel=1e-9)
    assert noise[-1] == pytest.approx(1.0)
    assert len(study.chart(entropy, "free").panels) == 2


def test_bounds_with_constants_of_one_may_cross_and_it_says_so() -> None:
    result = study.run(RegimeScenario(epsilon=0.001))
    assert any("lies below the lower rate" in note.text for note in result.notes)
    assert study.run().notes == ()
    assert all(formula.status in ("shape only", "bound") for formula in result.formulas)
    assert "set to one" in result.shows


@pytest.mark.parametrize("wanted", [CoverageRates(), SupportRates(), EntropyRates()])
@pytest.mark.parametrize("view", list(Regimes.views))
def test_curves_stand_in_the_frame(wanted: Any, view: str) -> None:
    result = study.run(RegimeScenario(property=wanted, epsilon=0.1))
    names = set(result.frame["series"])
    for mark in study.chart(result, view).marks():
        if isinstance(mark, Line):
            assert mark.name in names
            assert np.all(np.isfinite(mark.y))
    assert np.isfinite(result.frame["y"]).all()


def test_what_does_not_go_together_is_said() -> None:
    assert study.check(RegimeScenario(), None) == ()
    assert "at least 2" in study.check(RegimeScenario(sizes=Grid(low=1, high=10)), None)[0]
    assert "10⁻⁹" in study.check(RegimeScenario(epsilons=RealGrid(low=1e-12, high=1)), None)[0]


@pytest.mark.parametrize("wanted", [CoverageRates(m=10**8), SupportRates(k=2), EntropyRates(k=10**6)])
@pytest.mark.parametrize("accuracy", [1e-6, 0.999])
@pytest.mark.parametrize("epsilon", [1e-6, 50.0])
def test_far_out_settings_still_answer(wanted: Any, accuracy: float, epsilon: float) -> None:
    scenario = RegimeScenario(
        property=wanted, accuracy=accuracy, epsilon=epsilon, epsilons=RealGrid(low=1e-9, high=1e9, points=5)
    )
    result = study.run(scenario)
    assert np.isfinite(result.frame["y"]).all()
    for view in study.views:
        study.chart(result, view)


def test_smoothed_estimator_says_how_many_records_its_noise_needs() -> None:
    # spec properties, §11 item 12: m = 1e4, alpha = .1, eps = 1
    scenario = study.scenario.model_validate(
        {"property": {"kind": "coverage", "m": 10_000}, "accuracy": 0.1, "epsilon": 1.0}
    )
    words = " ".join(formula.numbers for formula in study.run(scenario).formulas)
    assert "2,613.290171" in words
    assert "2,500" in words  # m ln(1/alpha)/ln m, the constant set to one


@pytest.mark.parametrize("wanted", [CoverageRates(m=300), CoverageRates(), CoverageRates(m=20), SupportRates(k=300)])
@pytest.mark.parametrize("accuracy", [0.02, 0.1, 0.5])
def test_the_card_of_free_privacy_holds_for_the_rates(wanted: Any, accuracy: float) -> None:
    """In the range that the card names, the private term is at most twice the other from its ε on."""
    free = free_from(wanted, accuracy)
    for more in (1 + 1e-9, 1.3, 7.0, 1e3):
        found = wanted.rates(wanted.size, accuracy, free.epsilon * more)
        assert found.branch == free.branch
        private = found.terms["private"]
        assert private <= 2 * (sum(found.terms.values()) - private) * (1 + 1e-9)
    if free.branch == "small":  # and not before
        found = wanted.rates(wanted.size, accuracy, free.epsilon * 0.9)
        assert found.terms["private"] > 2 * (sum(found.terms.values()) - found.terms["private"])
    card = study.run(RegimeScenario(property=wanted, accuracy=accuracy)).cards[3]
    assert float(card.value.removeprefix("ε = ")) == pytest.approx(free.epsilon, rel=0.01)
    assert card.chip == f"{free.branch} range"


def test_few_records_with_a_sharp_answer_wait_for_the_sublinear_range() -> None:
    result = study.run(RegimeScenario(property=CoverageRates(m=300), accuracy=0.02, epsilon=0.05))
    assert result.cards[3].value == "ε = 0.167"
    assert "which starts at ε = 1/(αm) = 0.17" in result.shows
    assert "In the middle range it is from ε = 0.010 on" in result.shows
    before, after = (coverage_sample_size(300, 0.02, e).terms for e in (0.0099, 0.0101))
    assert before["private"] > 2 * before["statistical"]
    assert after["private"] < 2 * after["statistical"]
    chart = study.chart(result, "free")
    assert chart.panels[0].marked[0][0] == pytest.approx(math.log(50) / math.log(300))


@pytest.mark.parametrize(("k", "accuracy"), [(1_000, 0.1), (10_000, 0.9), (100_000, 0.5)])
def test_the_entropy_card_names_the_even_epsilon(k: int, accuracy: float) -> None:
    epsilon = even_epsilon(float(k), accuracy)
    lower = entropy_sample_size(k, accuracy, epsilon).lower
    assert math.log(k) / (accuracy * epsilon) == pytest.approx(lower / 2, rel=1e-9)
