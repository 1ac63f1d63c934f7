"""Dense support: tails, the corrected argument, the coupon collector, and exact noise."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import stats

from privexplorer.properties import DenseSupport, dense_recovery_size, rare_count_tail
from privexplorer.simulation import block_rng
from privexplorer.studies.dense_support import (
    PANELS,
    DenseScenario,
    DenseSupportStudy,
    corrected_chance,
    enough,
    everything,
    exact_tail,
    harmonic,
    printed_chance,
)

study = DenseSupportStudy()


def test_exact_tail_is_the_binomial_one_and_stays_below_the_bound() -> None:
    for k in (2, 7, 50, 1000):
        for n in (k, 3 * k, 3 * k + 1, 17 * k, 200 * k):
            below = sum(stats.binom.pmf(j, n, 1 / k) for j in range(n // k + 2) if 3 * k * j < n)
            assert exact_tail(n, k) == pytest.approx(below, rel=1e-8)
            assert exact_tail(n, k) <= rare_count_tail(n, k)
    result = study.run(DenseScenario(trials=16))
    exact, bound = (result.series(name, PANELS["tail"])["y"].to_numpy() for name in ("exact", "bound e^(−2n/(9k))"))
    assert np.all(exact <= bound)
    assert np.all(exact > 0)


def test_the_corrected_argument() -> None:
    """At n = 9k ln(1/α) Markov gives exactly α; the printed chance is smaller where α k is large, without reason."""
    for k, accuracy in ((50, 0.1), (1000, 0.02), (20, 0.4)):
        assert corrected_chance(dense_recovery_size(k, accuracy), k, accuracy) == pytest.approx(accuracy, rel=1e-12)
        n = math.ceil(dense_recovery_size(k, accuracy))
        assert rare_count_tail(n, k) <= accuracy**2
    assert printed_chance(50, 0.1) == pytest.approx(1 / 22.5)
    assert everything(50) * -2 / (9 * 50) + math.log(50) <= -3 * math.log(50) + 1e-9  # k times the tail is k^-3


@pytest.mark.parametrize(("k", "accuracy"), [(50, 0.1), (5, 0.2), (40, 0.4)])
def test_simulated_chance_of_missing_too_many_is_below_alpha(k: int, accuracy: float) -> None:
    scenario = DenseScenario(k=k, accuracy=accuracy, trials=2_000)
    result = study.run(scenario)
    rare, missed, bound = (
        result.series(name, PANELS["error"]) for name in ("values seen too rarely", "without privacy", "bound")
    )
    at = rare["x"].to_numpy() == enough(scenario)
    assert at.sum() == 1
    assert float(rare["y"][at].iloc[0]) <= accuracy
    four = 4 * rare["std_error"].to_numpy() + 1e-12
    assert np.all(rare["y"].to_numpy() <= bound["y"].to_numpy() + four)
    assert np.all(missed["y"].to_numpy() <= rare["y"].to_numpy() + 1e-12)  # the estimate counts rare ones in part
    if accuracy * k == 1:  # then one rare value is enough: between one tail and k tails
        exact = np.array([exact_tail(int(n), k) for n in rare["x"]])
        assert np.all(rare["y"].to_numpy() <= k * exact + four)
        assert np.all(rare["y"].to_numpy() >= exact - four - 3 / 2_000)


def test_private_chance_against_drawn_noise() -> None:
    scenario = DenseScenario(trials=3_000)
    prepared = study.prepare(scenario, None)
    parts = [study.run_block(prepared, block) for block in range(study.blocks(scenario))]
    result = study.assemble(scenario, prepared, parts)
    private = result.series("private", PANELS["error"])
    estimates = np.concatenate(parts)[:3_000, 0, :]
    rng = block_rng(9, 0)
    for place in (2, 6, 9):
        n = int(prepared.ns[place])
        noisy = estimates[:, place] + rng.laplace(0, min(1, 150 / n) / 0.1, estimates.shape[0])
        drawn = float(np.mean(np.abs(noisy - 50) >= 5))
        error = math.sqrt(drawn * (1 - drawn) / 3_000)
        value = float(private["y"].iloc[place])
        assert abs(value - drawn) < 4 * error
        wrong = estimates[:, place] + rng.laplace(0, 1.1 * min(1, 150 / n) / 0.1, estimates.shape[0])
        assert abs(np.mean(np.abs(wrong - 50) >= 5) - value) > 0.01


def test_coupons() -> None:
    assert harmonic(50) == pytest.approx(224.960266, rel=1e-8)
    assert harmonic(2) == 3.0
    scenario = DenseScenario(trials=4_000)
    prepared = study.prepare(scenario, None)
    draws = np.concatenate([study.run_block(prepared, block)[:, 2, 0] for block in range(study.blocks(scenario))])
    error = draws.std(ddof=1) / math.sqrt(draws.size)
    assert abs(draws.mean() - harmonic(50)) < 4 * error
    assert abs(1.1 * harmonic(50) - draws.mean()) > 4 * error
    assert abs(harmonic(50) - 50 * (math.log(50) + 0.577)) < 0.6
    result = study.run(DenseScenario(k=300, trials=600))
    share, limit = (result.series(name, PANELS["coupon"]) for name in ("all seen, simulated", "limit for large k"))
    gap = np.abs(share["y"].to_numpy() - limit["y"].to_numpy())
    assert np.all(gap < 4 * share["std_error"].to_numpy() + 0.01)


def test_the_estimate_matches_its_table_and_never_exceeds_the_truth() -> None:
    scenario = DenseScenario(trials=64)
    prepared = study.prepare(scenario, None)
    block = study.run_block(prepared, 0)
    assert block.shape == (study.size(scenario), 3, prepared.ns.size)
    assert np.all(block[:, 0, :] <= 50 + 1e-9)
    assert np.all(block[:, 1, :] <= block[:, 0, :] + 1e-9)
    means = [DenseSupport().table(int(n), 50).mean(prepared.law) for n in prepared.ns]
    error = block[:, 0, :].std(axis=0, ddof=1) / math.sqrt(block.shape[0])
    often = error > 0.04  # where misses are common enough for a normal law
    assert often.sum() >= 7
    assert np.all(np.abs(block[:, 0, :].mean(axis=0) - means)[often] < 4 * error[often])


def test_words_and_notes() -> None:
    result = study.run()
    assert result.cards[0].value == "n = 1,037"
    assert result.cards[1].value == "n = 3,521"
    assert "extrapolating estimator" in study.run(DenseScenario(epsilon=1.0, trials=16)).notes[0].text
    few = study.run(DenseScenario(k=5, accuracy=0.1, trials=16))
    assert any("none may be" in note.text for note in few.notes)
    assert few.cards[0].value == f"n = {everything(5)}"
    smallest = study.run(DenseScenario(k=2, accuracy=0.4, trials=16))
    for view in study.views:
        study.chart(smallest, view)


def test_epsilon_and_trials_are_late_and_drafts_work() -> None:
    scenario = DenseScenario(trials=64)
    prepared = study.prepare(scenario, None)
    again = study.prepare(scenario.model_copy(update={"epsilon": 2.0, "trials": 5_000}), None)
    block = study.run_block(prepared, 1)
    np.testing.assert_array_equal(block, study.run_block(again, 1))
    assert study.assemble(DenseScenario(trials=9), prepared, [block]).runs == 9


@pytest.mark.parametrize("preset", study.presets(), ids=lambda preset: preset.title)
def test_words_say_what_the_failure_is(preset) -> None:  # type: ignore[no-untyped-def]
    """The theorem is about α k values or more missed: with α k = 1 none is missed, and 1 is one value."""
    result = study.run(preset.scenario.model_copy(update={"trials": 32}))
    limit = round(preset.scenario.accuracy * preset.scenario.k, 6)
    said = " ".join([result.shows, result.takeaway, study.chart(result, "error").title])
    assert not re.search(r"\b1 values", said)
    assert "Within" not in result.cards[0].label
    assert result.cards[0].label == ("None missed from" if limit <= 1 else f"≤ {limit - 1:.0f} missed from")
    assert f"{limit:,.0f} value{'s' if limit > 1 else ''} or more" in said
    assert all(len(card.label) <= 18 and len(card.chip) <= 18 for card in result.cards)


def test_curves_end_where_nothing_is_left_of_them() -> None:
    """So that their names do not hang on one point of the axis."""
    result = study.run(DenseScenario(trials=64))
    ends = [(mark.x[-1], mark.y[-1]) for mark in study.chart(result, "error").marks()]
    assert len({x for x, _ in ends}) == len(ends)
    rows = result.series("without privacy", PANELS["error"])
    drawn = next(mark for mark in study.chart(result, "error").marks() if mark.name == "without privacy")
    assert (rows["y"].to_numpy()[len(drawn.x) :] < 0.005).all()
    assert len(drawn.x) < len(rows)
