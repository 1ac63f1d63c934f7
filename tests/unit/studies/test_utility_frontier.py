"""The price of noise: gold values of calibrated noise, matching at equal γ, bounds, DP noise on top."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.studies import study
from privexplorer.studies._predictability import Clinic, TwentyPeople
from privexplorer.studies._release_choices import (
    OneCondition,
    PublishedMeans,
    PublishedRegression,
)
from privexplorer.studies.utility_frontier import (
    ANGLES,
    BOTH,
    BOUND,
    CALIBRATED,
    CIRCLE,
    ELLIPSE,
    EPSILONS,
    EQUAL,
    MARKED,
    MATCHED,
    FrontierScenario,
    coincide,
    direction,
    turned,
)

STUDY: Any = study("utility-frontier")
TWENTY: dict[str, Any] = {
    "data": TwentyPeople(),
    "published": PublishedRegression(outcome="y", features=("x1", "x2"), intercept=False),
    "first": OneCondition(column="q"),
    "second": OneCondition(column="x1", sign=">", value="0"),
    "angle": 0.0,
    "compromised": 0.4,
    "noise_scale": "paper",
    "measure": "printed",
    "kept": 1 / math.sqrt(1.5),
}
REGRESSION: Any = STUDY.presets()[1].scenario
EQUAL_WINS: Any = STUDY.presets()[2].scenario


def points(result: Any, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = result.series(name)
    return rows["x"].to_numpy(), rows["y"].to_numpy()


def test_calibrated_noise_of_the_twenty_people() -> None:
    """G6: σ² = 0.5 leaves 1/√1.5 of r and costs 3.116; its bounds are 8.62 and 11.03; equal noise is 22.95 σ²."""
    scenario = FrontierScenario(**TWENTY)
    prepared = STUDY.prepare(scenario, None)
    result = STUDY.assemble(scenario, prepared, [])
    x, y = points(result, MATCHED)
    unit = prepared.asked.residual
    assert x[0] * unit == pytest.approx(3.116193267, rel=1e-8)
    # the question is standardised, so γ is that of G6 over its variance times the query's: compare with r instead
    assert y[0] == pytest.approx(y[1], rel=1e-9)
    assert 0.5 * prepared.accuracy.bound_mean_loss == pytest.approx(8.619621745, rel=1e-8)
    assert 0.5 * prepared.accuracy.bound_max_loss == pytest.approx(11.02697844, rel=1e-8)
    assert 0.05 * prepared.accuracy.isotropic == pytest.approx(1.1475, rel=1e-8)
    variance = float(prepared.asked.summary.query_variance[0])
    assert y[0] * variance == pytest.approx(0.1154856483, rel=1e-8)


def test_the_bound_lies_right_of_the_exact_price() -> None:
    result = STUDY.run(FrontierScenario(**TWENTY))
    exact, bound = points(result, CALIBRATED), points(result, BOUND)
    np.testing.assert_allclose(bound[1], exact[1])
    np.testing.assert_allclose(bound[0] / exact[0], 8.619621745 / 3.116193267, rtol=1e-8)


def test_curves_fall_and_meet_the_matched_points() -> None:
    result = STUDY.run(REGRESSION)
    x, y = points(result, MATCHED)
    for place, name in enumerate((CALIBRATED, EQUAL)):
        along, gamma = points(result, name)
        assert np.all(np.diff(along) > 0)
        assert np.all(np.diff(gamma) < 0)
        assert np.exp(np.interp(math.log(x[place]), np.log(along), np.log(gamma))) == pytest.approx(y[place], rel=0.01)


def test_turning_the_question() -> None:
    scenario = REGRESSION
    summary = STUDY.prepare(scenario, None).asked.summary
    size = pr.shard_size(0.3, summary.records)
    both = pr.predictability(summary, size, 0.001 * np.eye(2))
    for angle, place in ((0.0, 0), (90.0, 1)):
        one = turned(summary, angle)
        assert one.query_variance[0] == pytest.approx(1.0)
        assert pr.predictability(one, size, 0.001 * np.eye(2)).r[0] == pytest.approx(both.r[place], rel=1e-10)
    # any angle, against the question itself
    people = scenario.data.table()
    u = direction(summary, 30.0)
    answers = u[0] * people["secret"] * people["x1"] + u[1] * people["secret"] * people["x2"]
    fitted = scenario.published.record(people).fit(people)
    direct = pr.summarise({**people, "q": answers}, pr.column_queries(["q"], {"q": answers}), fitted)
    assert pr.predictability(turned(summary, 30.0), size).r[0] == pytest.approx(
        pr.predictability(direct, size).r[0], rel=1e-9
    )


def test_ratios_over_directions_are_those_of_single_matches() -> None:
    scenario = REGRESSION
    prepared = STUDY.prepare(scenario, None)
    asked = prepared.asked
    nu = asked.size(0.3).multiplier("release")
    sandwich = asked.summary.sandwich
    ratios = STUDY.ratios(asked, asked.gram, sandwich, np.eye(2), 0.5, nu)
    for place in (2, 7):
        match = pr.equal_predictability(
            turned(asked.summary, float(ANGLES[place])), asked.gram, sandwich, np.eye(2), 0.5, noise_multiplier=nu
        )
        assert ratios[place] == pytest.approx(match.ratio, rel=1e-6)
    assert ratios.min() < 1 < ratios.max()  # neither noise wins everywhere (erratum E14)


def test_noise_for_privacy_and_calibrated_noise_add_up() -> None:
    """γ of the sum is below that of each; ε stays that of the first."""
    scenario = FrontierScenario()
    prepared = STUDY.prepare(scenario, None)
    result = STUDY.assemble(scenario, prepared, [])
    x, y = points(result, EPSILONS)
    assert x.size == len(MARKED)
    both_x, both = points(result, BOTH)
    assert both_x[0] == pytest.approx(x[2])
    assert both[0] == pytest.approx(y[2])
    assert np.all(np.diff(both) < 0)
    along, gamma = points(result, CALIBRATED)
    alone = both_x - both_x[0]  # price of the calibrated part
    inside = (alone > along[0]) & (alone < along[-1])
    assert inside.sum() > 10
    assert np.all(both[inside] < np.exp(np.interp(np.log(alone[inside]), np.log(along), np.log(gamma))))


def test_shapes_have_the_promised_spread() -> None:
    result = STUDY.run(REGRESSION)

    def ring(name: str) -> tuple[np.ndarray, np.ndarray]:
        return points(result, f"{name}, across")[1], points(result, f"{name}, up")[1]

    radius = np.hypot(*ring(CIRCLE))
    assert np.ptp(radius) < 1e-9 * radius.max()
    across, up = ring(ELLIPSE)
    # the stretched feature's coefficient is known three times as well, so it needs a third of the noise
    assert np.abs(up).max() / np.abs(across).max() == pytest.approx(3.0, rel=0.15)
    for view in STUDY.views:
        assert STUDY.chart(result, view).marks()
    alone = STUDY.run(FrontierScenario(published=PublishedMeans()))
    assert STUDY.chart(alone, "shape").title == "Protection against accuracy"


def test_words_and_cards() -> None:
    result = STUDY.run(FrontierScenario())
    assert "50%" in result.shows
    assert "calibrated noise is cheaper" in result.shows
    assert "equal noise is cheaper" in STUDY.run(EQUAL_WINS).shows
    assert any("without limit" in note.text for note in STUDY.run(REGRESSION).notes)
    assert all(len(card.chip) <= 18 for card in result.cards)


def test_a_question_that_nothing_tells_about() -> None:
    constant = OneCondition(column="age", sign=">", value="500")
    result = STUDY.run(FrontierScenario(first=constant, second=constant))
    assert "nothing to hide" in result.shows
    assert STUDY.chart(result, "frontier")


def marks_of(result: Any) -> dict[str, Any]:
    return {mark.name: mark for mark in STUDY.chart(result, "frontier").marks()}


def test_curves_and_marks_that_run_into_each_other_share_one_name() -> None:
    close = STUDY.run(FrontierScenario())  # 1.2 and 1.5: a tenth of a decade
    marks = marks_of(close)
    assert marks[CALIBRATED].label == "calibrated<br>and equal"
    assert marks[EQUAL].label is None
    assert marks[MATCHED].text == ["calibrated 1.2, equal 1.5", ""]
    assert marks[MATCHED].size == 5
    assert len(marks[MATCHED].x) == 2
    apart = marks_of(STUDY.run(EQUAL_WINS))
    assert (apart[CALIBRATED].label, apart[EQUAL].label) == ("calibrated", "equal")
    assert len(apart[MATCHED].text) == len([text for text in apart[MATCHED].text if text]) == 2


def test_two_marks_at_one_place_are_drawn_once() -> None:
    """One published number: both noises are the same."""
    marks = marks_of(STUDY.run(FrontierScenario(published=PublishedMeans(), second=OneCondition(column="smoker"))))
    assert len(marks[MATCHED].x) == len(marks[MATCHED].text) == 1
    assert marks[MATCHED].text[0].startswith("calibrated ")
    assert marks[CALIBRATED].label == "calibrated<br>and equal"


def test_whether_curves_coincide() -> None:
    gamma = np.geomspace(1.0, 0.01, 20)
    price = np.geomspace(0.1, 100.0, 20)
    assert coincide((price, gamma), (1.3 * price, gamma))
    assert not coincide((price, gamma), (1.6 * price, gamma))
    assert not coincide((price, gamma), (np.empty(0), np.empty(0)))


def test_the_noise_multiplier_of_many_people_is_written_out() -> None:
    result = STUDY.run(FrontierScenario(data=Clinic(people=20_000), compromised=0.7))
    assert r"\nu=46{,}670" in result.formulas[0].numbers
