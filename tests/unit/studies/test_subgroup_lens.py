"""The subgroup lens: gold values for a part of twenty people, groups of the curve, attackers after a group."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import PrivExplorerError
from privexplorer.studies import _leaks as leaking
from privexplorer.studies import study
from privexplorer.studies._predictability import TwentyPeople
from privexplorer.studies._release_choices import (
    BiasedDraws,
    LeakedDraws,
    NumberQuestion,
    OneCondition,
    PublishedMeans,
)
from privexplorer.studies.subgroup_lens import ATTACKER, EVERYBODY, GROUP_BOUND, GROUPS, YOURS, SubgroupScenario

STUDY: Any = study("subgroup-lens")
TWENTY: dict[str, Any] = {
    "data": TwentyPeople(),
    "published": PublishedMeans(columns=("x1", "x2")),
    "question": OneCondition(column="q"),
    "members": OneCondition(column="x1", sign=">", value="0"),
    "order": "x2",
    "compromised": 0.4,
    "noise": pr.GivenCovariance(entries=(1.0, 0.0, 0.0, 2.0)),
    "noise_scale": "paper",
}


@pytest.mark.parametrize(
    ("leak", "variance", "rho", "gamma"),
    [
        (LeakedDraws(), 0.18, 0.1405242849, 0.01408172988),
        (BiasedDraws(column="weight"), 0.4283333333, 0.1259606582, 0.03043537039),
    ],
    ids=["uniform", "weighted"],
)
def test_half_of_the_twenty_people(leak: Any, variance: float, rho: float, gamma: float) -> None:
    """G8, through the study; the printed bound stands in its formulas."""
    scenario = SubgroupScenario(**TWENTY, leak=leak)
    prepared = STUDY.prepare(scenario, None)
    assert prepared.group_size == 10
    found = pr.predictability(prepared.mine, prepared.asked.size(0.4), np.diag([1.0, 2.0]), noise_scale="paper")
    assert found.variance_before[0] == pytest.approx(variance, rel=1e-8)
    assert found.rho_cc[0] == pytest.approx(rho, rel=1e-8)
    assert found.printed[0] == pytest.approx(gamma, rel=1e-8)
    result = STUDY.assemble(scenario, prepared, [])
    assert f"{gamma:.4g}" in result.formulas[1].numbers
    assert result.series(YOURS)["y"].iloc[0] == pytest.approx(found.gain[0])


@pytest.fixture(scope="module")
def default() -> Any:
    return STUDY.run()


def test_the_largest_group_is_everybody(default: Any) -> None:
    group, everybody = default.series(GROUPS), default.series(EVERYBODY)
    assert group["x"].iloc[-1] == 1.0
    assert group["y"].iloc[-1] == pytest.approx(everybody["y"].iloc[-1], rel=1e-12)
    bound = default.series(GROUP_BOUND)["y"].to_numpy()
    assert np.all(bound > group["y"].to_numpy())
    assert bound[0] > 10 * bound[-1]


def test_variance_is_inflated_by_the_size_of_the_group() -> None:
    scenario = SubgroupScenario()
    prepared = STUDY.prepare(scenario, None)
    people = scenario.data.table()
    inside = people["pressure"][people["smoker"] == 1] > 140
    expected = people["age"].size / inside.size * inside.var()
    assert prepared.mine.query_variance[0] == pytest.approx(expected, rel=1e-10)


def test_attackers_after_a_group_are_those_of_the_mathematics() -> None:
    scenario = SubgroupScenario(trials=400)
    prepared = STUDY.prepare(scenario, None)
    sums = np.concatenate([STUDY.run_block(prepared, block) for block in range(STUDY.blocks(scenario))])
    leaks = prepared.leaks[0]
    attacks = leaking.unpack(leaks, sums[:, : leaks.numbers], 0)
    point = np.array([int(np.flatnonzero(leaks.counts == 600)[0])])
    nu = np.array([prepared.asked.size(0.3).noise_multiplier])
    sigma = np.array([[[0.25]]])
    drops, errors = leaking.loss_drops(attacks, point, sigma, nu)
    oracle = leaking.oracle_weights(prepared.mine, 0, sigma, nu)
    steady = leaking.steadied(drops, attacks, point, prepared.mine, 0, oracle)[0]
    people = scenario.data.table()
    process = pr.ShardProcess(2000, 0.3)
    queries = pr.query_set(["pressure > 140"], people)
    draws = pr.prepare_attack(
        people, queries.evaluate(people), pr.Mean(columns=("pressure",)).fit(people), process,
        prepared.asked.law([scenario.noise], 1.0), summary=prepared.mine, group=people["smoker"] == 1,
    ).run(3000, np.random.default_rng(8))  # fmt: skip
    for mine, answers in zip(errors[:, 0], (draws.before, draws.feasible), strict=True):
        squares = np.square(answers - draws.truth)[:, 0]
        step = math.hypot(mine.std() / math.sqrt(mine.size), squares.std() / math.sqrt(squares.size))
        assert abs(mine.mean() - squares.mean()) < 4 * step
    gaps = draws.loss_gaps()[:, 0]
    assert abs(steady.mean() - gaps.mean()) < 4 * math.hypot(
        steady.std() / math.sqrt(steady.size), gaps.std() / math.sqrt(gaps.size)
    )
    assert steady.std() < drops[0].std() / 3


def test_simulated_points_stand_at_both_sizes(default: Any) -> None:
    rows = default.series(ATTACKER)
    assert rows["x"].tolist() == [pytest.approx(539 / 2000), 1.0]
    theory = [default.series(YOURS)["y"].iloc[0], default.series(EVERYBODY)["y"].iloc[0]]
    for (y, error), expected in zip(rows[["y", "std_error"]].to_numpy(), theory, strict=True):
        assert abs(y - expected) < 4 * error + 0.02 * expected


def test_words_and_cards(default: Any) -> None:
    assert "539 people with smoker" in default.shows
    assert "**2.4×** as much" in default.shows
    assert all(len(card.chip) <= 18 for card in default.cards)
    assert STUDY.chart(default, "").marks()


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"members": OneCondition(column="age", sign=">", value="500")}, "empty"),
        ({"members": NumberQuestion()}, "needs a condition"),
        ({"order": "ward"}, "must hold numbers"),
        ({"order": "height"}, "no column “height”"),
    ],
)
def test_refusals(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(PrivExplorerError) as caught:
        STUDY.run(SubgroupScenario(**choices))
    assert words in str(caught.value)


def test_a_group_of_whom_few_have_leaked_is_warned_about() -> None:
    result = STUDY.run(SubgroupScenario(members=OneCondition(column="age", sign=">", value="85"), trials=40))
    assert any("too few for large-sample" in note.text for note in result.notes)


def test_a_group_that_answers_alike_is_zero_with_a_note() -> None:
    result = STUDY.run(
        SubgroupScenario(question=OneCondition(), members=OneCondition(column="smoker", value="0"), trials=40)
    )
    assert result.series(YOURS)["y"].iloc[0] == 0.0
    assert any("nothing to predict" in note.text for note in result.notes)
    assert STUDY.chart(result, "").marks()


def test_the_attackers_share_is_of_the_gain_at_its_own_leak() -> None:
    """Halfway between two simulated leaks the same leaks are told; so is the share, and where they stand."""
    words = {}
    for compromised in (0.3, 0.33):
        result = STUDY.run(SubgroupScenario(compromised=compromised))
        words[compromised] = re.search(r"estimate its weights (.*)$", result.shows)
    near, away = (found[1] for found in words.values() if found)
    assert away == f"{near} The simulated marks stand at the nearest simulated leak, 30% of the records."
    assert "realises" in near
