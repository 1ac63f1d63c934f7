"""Smokers: what a private rate tells about everybody outside the shard."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.studies.smokers import AFTER, BEFORE, MIDDLE, PANELS, Smokers, SmokersScenario, interval, posterior

STUDY = Smokers()
make = SmokersScenario


def test_low_noise_points_at_the_implied_rate() -> None:
    """Ledger P-X2: (0.3 - 0.03)/0.7 = 0.3857."""
    for prior in ("flat", "exchangeable"):
        result = STUDY.run(make(epsilon=20.0, prior=prior))
        view = result.extra["view"]
        assert view.implied_rate == pytest.approx(0.27 / 0.7, rel=1e-12)
        assert view.rates[np.argmax(view.after)] == pytest.approx(0.3857, abs=0.001)
        assert view.mean_after == pytest.approx(0.3857, abs=0.001)


def test_the_best_answer_before_the_release() -> None:
    """Ledger P-D2.2: exchangeable answers, n = 2 of which k = 1 known: (k + 1)/(n + 2) = 0.5; flat: one half."""
    result = STUDY.run(make(people=20, compromised=0.1, known_rate=0.5))
    assert result.extra["view"].mean_before == pytest.approx(0.5, abs=1e-12)
    result = STUDY.run(make(people=1000, compromised=0.3, known_rate=0.1))
    assert result.extra["view"].mean_before == pytest.approx(31 / 302, abs=1e-12)
    assert STUDY.run(make(prior="flat")).extra["view"].mean_before == pytest.approx(0.5, abs=1e-12)


def test_belief_is_a_law_and_its_interval_holds_19_of_20() -> None:
    for scenario in (make(), make(people=80), make(epsilon=0.1, prior="flat")):
        result = STUDY.run(scenario)
        for name in (BEFORE, AFTER):
            assert result.series(name)["y"].sum() == pytest.approx(100.0, rel=1e-9)
        view = result.extra["view"]
        low, high = interval(view)
        inside = (view.rates >= low) & (view.rates <= high)
        assert 0.95 - 1e-12 <= view.after[inside].sum() < 1.0


def test_odds_of_one_person_move_more_than_epsilon_allows() -> None:
    """The released rate moves beliefs about a group: 5.3 times the odds at ε = 0.5, where e^ε is 1.65."""
    result = STUDY.run(make())
    view = result.extra["view"]
    odds = view.mean_after / (1 - view.mean_after) / (view.mean_before / (1 - view.mean_before))
    assert odds == pytest.approx(5.286, abs=0.01)
    assert odds > math.exp(0.5)
    assert "more than the 1.6× that ε allows" in result.shows
    assert "within the 7.4× that ε allows" in STUDY.run(make(epsilon=2.0)).shows


def test_sweeps_end_at_the_same_belief() -> None:
    """At the visitor's own ε and N the sweeps show what the belief shows; without noise they reach the implied rate."""
    result = STUDY.run(make(epsilon=1.0))
    mean = 100 * result.extra["view"].mean_after
    for panel, x in (("epsilon", 1.0), ("people", 1000.0)):
        rows = result.series(MIDDLE, PANELS[panel])
        assert float(rows.loc[rows["x"] == x, "y"].iloc[0]) == pytest.approx(mean, rel=1e-9)
    rows = result.series(MIDDLE, PANELS["epsilon"])
    assert rows["y"].iloc[-1] == pytest.approx(38.57, abs=0.05)
    assert rows["y"].iloc[0] < 12.0
    step = 100 / 700  # the ends of an interval are possible shares, the mean lies between them
    assert np.all((rows["low"] <= rows["y"] + step) & (rows["y"] <= rows["high"] + step))


def test_unknown_people_are_counted() -> None:
    """Ledger P-E1: N - n people are unknown, each as likely as the others."""
    formula = next(one for one in STUDY.run(make()).formulas if one.source == "Eq. (1)")
    assert "1,000-300=700" in formula.numbers
    assert posterior(make(), 1000, 1.0).rates.size == 701


def test_an_impossible_rate_is_said() -> None:
    assert not STUDY.run(make()).notes
    result = STUDY.run(make(released_rate=0.02, prior="flat"))
    assert "only possible with noise" in result.notes[0].text
    assert "implies" not in result.shows
