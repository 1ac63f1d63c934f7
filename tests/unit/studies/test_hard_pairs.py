"""Hard pairs: gold values with the corrected signs, the coupling against n·TV, and the lower bounds."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from privexplorer.figures import draw
from privexplorer.properties import HardPair, coverage_pair, entropy_pair, support_pair
from privexplorer.studies.chart import Bars, Line
from privexplorer.studies.hard_pairs import (
    PANELS,
    CoverageTwins,
    EntropyTwins,
    HardPairs,
    HardPairScenario,
    SupportTwins,
    groups,
    least_error,
    sure_size,
)

study = HardPairs()
ALL = [CoverageTwins(), SupportTwins(), SupportTwins(k=5), EntropyTwins()]


def numbers_of(result: Any, title: str) -> str:
    return next(item.numbers for item in result.formulas if item.title == title)


def test_gold_values_and_signs() -> None:
    coverage = study.run()
    assert numbers_of(coverage, "Gap, as printed") == "60.8780471-65.86593164 = -4.98788"  # E8: it is negative
    assert numbers_of(coverage, "Gap, corrected") == "65.86593164-60.8780471 = 4.98788"
    assert numbers_of(coverage, "Distance of one record").startswith("0.0909090909")
    assert numbers_of(coverage, "Records that differ under the best coupling").endswith("9.09091")  # Lemma 29
    assert coverage.cards[0].chip == "printed: −4.99"
    entropy = study.run(HardPairScenario(pair=EntropyTwins()))
    assert numbers_of(entropy, "Gap, as printed") == "2.168220785-2.255738587 = -0.0875178"  # E9
    assert numbers_of(entropy, "Gap, corrected").endswith("= 0.0875178")
    support = study.run(HardPairScenario(pair=SupportTwins()))
    assert numbers_of(support, "Distance of one record") == "0.1"  # Lemma 31
    assert numbers_of(support, "Gap") == "100-90 = 10"
    few = study.run(HardPairScenario(pair=SupportTwins(k=5), epsilon=0.5))
    assert numbers_of(few, "Distance of one record") == "0.2"  # 1/k
    assert "k}\\varepsilon" not in numbers_of(few, "The source's lower bound")
    assert r"\frac k\varepsilon = 10" in numbers_of(few, "The source's lower bound")


@pytest.mark.parametrize("wanted", ALL)
def test_coupled_samples_differ_in_n_tv_records(wanted: Any) -> None:
    """Within four standard errors at every sample size; a tenth more or less would be noticed."""
    scenario = HardPairScenario(pair=wanted, n=400, trials=1_500)
    result = study.run(scenario)
    drawn = result.series("simulated", PANELS["distance"])
    exact = result.series("n · TV", PANELS["distance"])["y"].to_numpy()
    mean, error = drawn["y"].to_numpy(), drawn["std_error"].to_numpy()
    assert np.all(np.abs(mean - exact) < 4 * error)
    assert abs(mean[-1] - 0.9 * exact[-1]) > 4 * error[-1]
    assert abs(mean[-1] - 1.1 * exact[-1]) > 4 * error[-1]
    assert result.runs == 1_500


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        (coverage_pair(100, 0.1), [(100, 1 / 110, 1 / 110), (10, 1 / 110, 0.0), (1, 0.0, 10 / 110)]),
        (support_pair(100, 0.1), [(90, 0.01, 1 / 90), (10, 0.01, 0.0)]),
        (entropy_pair(100, 0.05), [(1, 2 / 3, 1.95 / 3), (99, 1 / 297, 1.05 / 297)]),
    ],
)
def test_laws_stand_side_by_side(pair: HardPair, expected: list[tuple[int, float, float]]) -> None:
    found = groups(pair)
    assert [(g.symbols, g.first, g.second) for g in found] == [
        (n, pytest.approx(a, rel=1e-12), pytest.approx(b, rel=1e-12)) for n, a, b in expected
    ]
    apart = sum(g.symbols * max(0.0, g.first - g.second) for g in found)
    assert apart == pytest.approx(pair.total_variation, rel=1e-12)


def test_shares_of_both_laws_sum_to_one() -> None:
    for wanted in ALL:
        result = study.run(HardPairScenario(pair=wanted, trials=8))
        bars = [mark for mark in study.chart(result, "laws").marks() if isinstance(mark, Bars)]
        assert [sum(np.asarray(bar.y)) for bar in bars] == pytest.approx([1.0, 1.0], rel=1e-12)


def test_records_needed_follow_the_sharp_bound() -> None:
    pair = coverage_pair(100, 0.1)
    assert sure_size(pair, 0.1) == pytest.approx(math.log(2) * 110, rel=1e-12)
    assert least_error(pair, sure_size(pair, 0.1), 0.1) == pytest.approx(1 / 3, rel=1e-12)
    assert least_error(pair, 0.0, 0.1) == 0.5
    assert least_error(pair, 1e9, 50.0) < 1e-300
    result = study.run()
    shape = result.series("1/(ε TV), shape only", PANELS["records"])
    theorem = result.series("ln 2/(ε TV), theorem", PANELS["records"])
    np.testing.assert_allclose(shape["y"] * shape["x"], 11.0, rtol=1e-5)
    np.testing.assert_allclose(theorem["y"].to_numpy() / shape["y"].to_numpy(), math.log(2), rtol=1e-12)
    assert result.cards[3].value == "≥ 77"
    assert "too few" in study.run(HardPairScenario(n=50)).shows
    assert "too few" not in result.shows


def test_the_gap_is_of_the_claimed_order() -> None:
    """Ω(αm), αk and Ω(η ln k): the ratio to the order stays within constants over two decades of sizes."""
    for make, symbols in ((CoverageTwins, "m"), (SupportTwins, "k"), (EntropyTwins, "k")):
        ratios = []
        for size in (100, 1_000, 10_000):
            wanted = make(**{symbols: size})
            for shift in (0.05, 0.1, 0.3):
                gap = wanted.pair(shift).gap
                assert gap > 0
                ratios.append(gap / wanted.order(shift))
        assert max(ratios) <= 1.0 + 1e-9
        assert min(ratios) > 0.25


def test_epsilon_and_trials_are_late_and_drafts_work() -> None:
    scenario = HardPairScenario(trials=64)
    prepared = study.prepare(scenario, None)
    again = study.prepare(scenario.model_copy(update={"epsilon": 2.0, "trials": 5_000}), None)
    np.testing.assert_array_equal(study.run_block(prepared, 3), study.run_block(again, 3))
    draft = study.assemble(HardPairScenario(trials=400), prepared, [study.run_block(prepared, 0)])
    assert draft.runs == study.size(scenario)
    assert study.assemble(HardPairScenario(trials=10), prepared, [study.run_block(prepared, 0)]).runs == 10


@pytest.mark.parametrize("view", list(HardPairs.views))
def test_marks_stand_in_the_table(view: str) -> None:
    for wanted in ALL:
        result = study.run(HardPairScenario(pair=wanted, trials=16))
        names = set(study.numbers(result, view)["series"])
        for mark in study.chart(result, view).marks():
            assert mark.name in names  # type: ignore[union-attr]
            if isinstance(mark, Line):
                assert np.all(np.isfinite(mark.y))


def test_laws_have_names_and_whole_numbers_of_values() -> None:
    few = study.run(HardPairScenario(pair=SupportTwins(k=5), epsilon=0.5, trials=16))
    assert (
        "The **larger law** has 5\u00a0values, the **smaller law** has 4\u00a0values: a gap of **1\u00a0value**."
        in few.shows
    )
    assert (few.cards[0].value, few.cards[0].chip) == ("1\u00a0value", "one value less")
    many = study.run(HardPairScenario(pair=SupportTwins(), trials=16))
    assert "has 100\u00a0values, the **smaller law** has 90\u00a0values: a gap of **10\u00a0values**" in many.shows
    for result in (few, many):
        chart = study.chart(result, "laws")
        said = " ".join([result.shows, result.takeaway, chart.title, *(str(mark.label) for mark in chart.marks())])
        assert not re.search(r"\d\.\d+.values", said)
    assert "shows 65.87 different values in 100 records" in study.run(HardPairScenario(trials=16)).shows


@pytest.mark.parametrize("preset", study.presets(), ids=lambda preset: preset.title)
def test_finished_examples_are_not_unlucky(preset: Any) -> None:
    """Simulated and exact averages differ by less than the ± beside them, at all sample sizes."""
    result = study.run(preset.scenario)
    drawn, exact = (result.series(name, PANELS["distance"]) for name in ("simulated", "n · TV"))
    assert np.all(np.abs(drawn["y"].to_numpy() - exact["y"].to_numpy()) < 2 * drawn["std_error"].to_numpy())


@pytest.mark.parametrize("pair", [CoverageTwins(), SupportTwins()])
def test_names_stand_above_bars_of_theirs_on_a_phone(pair: Any) -> None:
    """Not in the margin, where they would stand beside the last bar only."""
    result = study.run(HardPairScenario(pair=pair, trials=16))
    figure = draw(study.chart(result, "laws"), compact=True)
    names = [note for note in figure.layout.annotations if note.name.startswith("label ")]
    assert len(names) == 2
    assert all(note.xref == "x domain" and 0 < note.x < 1 for note in names)
