from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal import ATE, ATT, AlphaIdentity, UniformNoise
from privexplorer.figures import draw
from privexplorer.studies._effects import LawA, LawB, PointNoise
from privexplorer.studies.score_amplification import ScoreAmplification, ScoreScenario, SmoothC, SmoothD

study = ScoreAmplification()


def curve(result, name, at):
    rows = result.series(name, "spread")
    return float(rows["y"].to_numpy()[np.flatnonzero(np.isclose(rows["x"].to_numpy(dtype=float), at))[0]])


@pytest.mark.parametrize(
    ("target", "keep", "variance"),
    [
        ("ate", 0.2, 19.3683196932),
        ("ate", 0.5, 3.26185616103),
        ("att", 0.5, 8.94118824347),
        ("att", 0.9, 1.92735423935),
    ],
)
def test_spread_is_the_private_bound(target, keep, variance):
    # G12
    result = study.run(ScoreScenario(law=LawA(), target=target, keep_probability=keep))
    assert curve(result, "private score", keep) ** 2 == pytest.approx(variance, rel=1e-9)
    assert result.extra["deviation"] ** 2 == pytest.approx(variance, rel=1e-9)


def test_scores_of_law_a_are_gold():
    # G10, G11 at (1, 1, 0) and (0, 0, 2), uniform noise, α = 0.5
    scenario = ScoreScenario(law=LawA(), keep_probability=0.5, people=2000)
    prepared = study.prepare(scenario, None)
    found = study.scored(scenario, prepared)
    for y, d, code, plain, private in ((1, 1, 0, 1.74666666667, 2.60361111111), (0, 0, 2, 3.33, 5.1680952381)):
        who = (prepared.y == y) & (prepared.d == d) & (prepared.x == code)
        assert who.sum() > 5
        np.testing.assert_allclose(found.plain[who], plain, rtol=1e-9)
        np.testing.assert_allclose(found.private[who & found.kept], private, rtol=1e-9)


@pytest.mark.parametrize("law", [SmoothC(), SmoothD(), LawA()])
@pytest.mark.parametrize("target", ["ate", "att"])
def test_kept_scores_are_stretched_by_one_over_alpha(law, target):
    scenario = ScoreScenario(law=law, target=target, keep_probability=0.3, people=2000, seed=3)
    found = study.scored(scenario, study.prepare(scenario, None))
    kept = found.kept
    np.testing.assert_allclose(found.private[kept], found.plain[kept] / 0.3 - found.offset[kept], rtol=1e-9, atol=1e-9)
    assert 0.25 < kept.mean() < 0.35
    # mean 0, spread as predicted: within four standard errors
    size = kept.size
    deviation = math.sqrt(float(found.parts.variance(0.3)))
    assert abs(found.private.mean()) < 4 * deviation / math.sqrt(size)
    assert np.std(found.private) == pytest.approx(deviation, rel=0.15)
    assert np.abs(found.private).max() <= (2 - 0.3) / 0.3 * found.largest


def guides(result):
    return [name for name in result.frame["series"].unique() if name.startswith("slope 1/α: ")]


@pytest.mark.parametrize("law", [LawA(), LawB()])
def test_lines_of_categories_run_through_all_kept_dots_of_their_outcome_and_arm(law):
    scenario = ScoreScenario(law=law, people=2000, keep_probability=0.3)
    prepared, result = study.prepare(scenario, None), study.run(scenario)
    assert len(guides(result)) == 4
    kept = result.extra["kept"]
    for name in guides(result):
        line = result.series(name, "scores")
        x, y = line["x"].to_numpy(dtype=float), line["y"].to_numpy()
        assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(1 / 0.3, rel=1e-12)
        who = kept & (prepared.d == (": treated" in name)) & (prepared.y == float(name.split()[-1]))
        assert who.sum() > 20
        on_line = np.interp(result.extra["plain"][who], x, y)
        np.testing.assert_allclose(result.extra["private"][who], on_line, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("target", ["ate", "att"])
@pytest.mark.parametrize("law", [SmoothC(), SmoothD()])
def test_lines_of_a_number_hold_for_one_outcome_and_arm(law, target):
    scenario = ScoreScenario(law=law, people=1000, keep_probability=0.3, target=target)
    prepared, result = study.prepare(scenario, None), study.run(scenario)
    kept = np.flatnonzero(result.extra["kept"])
    assert guides(result)
    for name in guides(result):
        line = result.series(name, "scores")
        x, y = line["x"].to_numpy(dtype=float), line["y"].to_numpy()
        assert (y[1] - y[0]) / (x[1] - x[0]) == pytest.approx(1 / 0.3, rel=1e-12)
        plain, private = result.extra["plain"][kept], result.extra["private"][kept]
        gaps = np.abs(y[0] + (plain - x[0]) / 0.3 - private)
        person = kept[np.argmin(gaps)]
        assert gaps.min() < 1e-9
        # the same person with other private values: her pair of scores moves along the line
        values = np.linspace(-1, 1, 7)
        flat = np.full(7, prepared.y[person]), np.full(7, prepared.d[person])
        smooth = law.smooth()
        goal = {"ate": ATE(), "att": ATT()}[target]
        here = smooth.influence(goal, *flat, values)
        there = smooth.private_influence(goal, *flat, values, AlphaIdentity(0.3, UniformNoise(-1.0, 1.0)))
        np.testing.assert_allclose(there, y[0] + (here - x[0]) / 0.3, rtol=1e-9, atol=1e-9)
        assert x[0] <= here.min() + 1e-3
        assert here.max() <= x[1] + 1e-3


def test_words_claim_the_slope_at_one_outcome_and_arm_only():
    # law C, α = 0.3: a line through all kept dots has slope about 1, not 1/α
    result = study.run(ScoreScenario(people=2000, keep_probability=0.3))
    kept = result.extra["kept"]
    slope = np.polyfit(result.extra["plain"][kept], result.extra["private"][kept], 1)[0]
    assert 0.95 < slope < 1.2
    assert "lie about the line" not in result.shows
    assert "at the same outcome and arm by 3.33" in result.shows
    assert f"slope {slope:.1f} only" in result.shows
    card = next(card for card in result.cards if card.label == "Slope where kept")
    assert (card.value, card.chip) == ("3.33", "same outcome, arm")
    assert "at one outcome and arm" in result.takeaway


def test_without_noise_both_scores_agree():
    result = study.run(ScoreScenario(law=LawA(), keep_probability=1.0))
    np.testing.assert_allclose(result.extra["private"], result.extra["plain"], rtol=1e-12)
    assert set(result.series("swapped")["x"]) == set()
    assert "Everybody is kept" in result.shows
    draw(study.chart(result, "scores"))


def test_fitted_scores_average_to_nothing_unless_repaired():
    # (19), Prop. 4
    scenario = ScoreScenario(law=LawB(), people=2000, keep_probability=0.5, scores="fitted", seed=1)
    found = study.scored(scenario, study.prepare(scenario, None))
    assert abs(found.private.mean()) < 1e-12
    exact = study.scored(scenario.model_copy(update={"scores": "exact"}), study.prepare(scenario, None))
    assert abs(exact.private.mean()) > 1e-4
    assert np.corrcoef(found.private, exact.private)[0, 1] > 0.95
    repaired = study.run(ScoreScenario(law=LawA(), people=60, keep_probability=0.15, scores="fitted"))
    assert np.isfinite(repaired.extra["private"]).all()


def test_printed_sign_of_the_treated_effect():
    # E1: mean of the printed version is 2 ATT
    result = study.run(ScoreScenario(law=LawA(), target="att"))
    text = next(item.numbers for item in result.formulas if item.title == "Sign of the last term")
    assert "0.36087" in text


def test_late_fields_keep_people_and_coins():
    first = ScoreScenario(law=LawA())
    prepared = study.prepare(first, None)
    more = study.scored(first.model_copy(update={"keep_probability": 0.8}), prepared)
    less = study.scored(first, prepared)
    assert np.all(more.kept[less.kept])
    assert study.digest(first) == study.digest(first.model_copy(update={"keep_probability": 0.8, "target": "att"}))


def test_fitting_a_private_number_says_what_it_does_instead():
    result = study.run(ScoreScenario(scores="fitted"))
    assert any("known law" in note.title for note in result.notes)


def test_charts():
    result = study.run(ScoreScenario(law=LawA(), noise=PointNoise(code=1)))
    expected = {
        "scores": ["unchanged", *guides(result)[::-1], "swapped", "kept"],
        "spread": ["largest open score times (2 − α)/α", "private score", "open score times 1/α"],
    }
    for view, names in expected.items():
        chart = study.chart(result, view)
        assert [mark.name for mark in chart.marks()] == names
        draw(chart)
