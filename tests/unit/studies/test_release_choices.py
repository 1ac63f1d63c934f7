"""Choices of what is published and what has leaked: each is a form, a link and a script, with the right numbers."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import PrivExplorerError
from privexplorer.records import dump, extra, load, validated
from privexplorer.report.script import snippet
from privexplorer.studies import study
from privexplorer.studies._asking import summed
from privexplorer.studies._picked import WHY_ONE, WHY_PICKED
from privexplorer.studies._predictability import Clinic, read_people
from privexplorer.studies._release_choices import (
    EverybodyButOne,
    LeakedDraws,
    LeakedShard,
    OneCondition,
    PickedPeople,
    PublishedCount,
    PublishedMeans,
    PublishedRate,
    PublishedRegression,
)
from privexplorer.studies.attackers import AttackersScenario, processes
from privexplorer.studies.predictability import ATTACKER, GAIN, PRINTED, PredictabilityScenario

STUDY: Any = study("predictability")


def series(result: Any, panel: str, name: str) -> Any:
    frame = result.frame
    return frame[(frame["panel"] == panel) & (frame["series"] == name)]


def through_link_and_script(scenario: Any) -> None:
    """A choice is the same after a link, and a script names it."""
    parts = parse_qs(urlencode(dump(scenario)), keep_blank_values=True)
    assert validated(PredictabilityScenario, load(PredictabilityScenario, parts, set())) == scenario
    ast.parse(snippet(STUDY, scenario))


def test_a_count_is_its_rate_times_the_people() -> None:
    """Same information: with noise N times as large every gain agrees, simulated ones too."""
    condition: Any = {"column": "pressure", "sign": ">", "value": "140"}
    rate = PredictabilityScenario(published=PublishedRate(**condition), noise=pr.Isotropic(std=0.001), trials=16)
    count = PredictabilityScenario(published=PublishedCount(**condition), noise=pr.Isotropic(std=2.0), trials=16)
    one, many = STUDY.run(rate), STUDY.run(count)
    for name in (PRINTED, GAIN, ATTACKER):
        assert series(many, "fraction", name)["y"].to_numpy() == pytest.approx(
            series(one, "fraction", name)["y"].to_numpy(), rel=1e-6
        )
    assert "the number of people with pressure" in many.shows
    asked = STUDY.prepare(count, None).asked
    assert asked.sensitivity[:2] == (1.0, 1.0)
    assert asked.summary.parameters[0] == np.round(asked.summary.parameters[0]) > 100
    through_link_and_script(count)
    assert ("publish", "count") in dump(count)


def test_the_right_arm_of_the_curve_can_be_clicked() -> None:
    """A slider with even steps to 0.95; the answer there is the curve's, above the one at its mirror image."""
    what = extra(PredictabilityScenario.model_fields["compromised"])
    assert (what["scale"], what["low"], what["high"], what["key"]) == ("linear", 0.01, 0.95, "compromised")
    far, near = (PredictabilityScenario(compromised=at, noise=pr.NoNoise(), trials=16) for at in (0.95, 0.5))
    gains = [float(STUDY.moment(one, STUDY.prepare(one, None).asked).now.gain[0]) for one in (far, near)]
    assert gains[0] / gains[1] == pytest.approx(0.25 / (0.95 * 0.05), rel=1e-9)


# --- leaks without a theory --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InTurn(pr.AllButOneProcess):
    """Leaves everybody out once."""

    def sample(self, trials: int, rng: np.random.Generator) -> Any:
        places = np.arange(self.records)
        return np.array([np.delete(places, one) for one in range(trials)])


RELEASES = pytest.mark.parametrize(
    "published", [PublishedMeans(), PublishedRegression(features=("age", "weight")), PublishedCount()]
)


def simulated_drop(scenario: Any, process: Any, trials: int) -> float:
    """Return the mean drop of the squared error of the mathematics' own attacker, without noise."""
    people = STUDY.prepare(scenario, None)
    found = summed(scenario.data, None, scenario.published, (scenario.question,), scenario.leak)
    table = found.people.table
    law = pr.gaussian_law(np.zeros((found.fitted.parameters.size,) * 2), found.fitted.parameters.size)
    answers = found.queries.evaluate(table)
    attack = pr.prepare_attack(table, answers, found.fitted, process(found.people), law)
    draws = attack.run(trials, np.random.default_rng(1))
    before, after = (np.square(one - draws.truth)[:, 0].mean() for one in (draws.before, draws.feasible))
    assert people.leaks is not None
    return float(before - after)


@RELEASES
def test_picked_people_are_the_adversary_of_the_mathematics(published: Any) -> None:
    scenario = PredictabilityScenario(
        data=Clinic(people=400), published=published, noise=pr.NoNoise(), leak=PickedPeople(column="diabetic"),
        question=OneCondition(column="smoker"),
    )  # fmt: skip
    picks = pr.Adversary(compromised_fraction=0.3, condition="diabetic = 1")
    expected = simulated_drop(
        scenario.model_copy(update={"leak": PickedPeople(column="diabetic")}),
        lambda people: picks.process(people.n, people.table),
        1,
    )
    result = STUDY.run(scenario)
    rows = series(result, "fraction", ATTACKER)
    here = rows[np.isclose(rows["x"], 0.3)]
    assert here["y"].to_numpy() == pytest.approx([expected], rel=1e-5)
    assert not {PRINTED, GAIN} & set(result.frame["series"])
    assert WHY_PICKED in [note.text for note in result.notes]
    through_link_and_script(scenario)
    for view in STUDY.views:
        assert STUDY.chart(result, view).marks()


@RELEASES
def test_everybody_but_one_is_enumerated(published: Any) -> None:
    scenario = PredictabilityScenario(
        data=Clinic(people=400), published=published, noise=pr.NoNoise(), leak=EverybodyButOne(),
        question=OneCondition(column="diabetic"),
    )  # fmt: skip
    expected = simulated_drop(scenario, lambda people: InTurn(people.n), 400)
    result = STUDY.run(scenario)
    rows = series(result, "fraction", ATTACKER)
    assert rows["x"].tolist() == [1 - 1 / 400]
    assert rows["y"].to_numpy() == pytest.approx([expected], rel=1e-5)
    assert WHY_ONE in [note.text for note in result.notes]
    through_link_and_script(scenario)
    for view in STUDY.views:
        assert STUDY.chart(result, view).marks()


def test_noise_hides_the_one_person_as_its_linear_answer_says() -> None:
    """The gain is c²/(V_g + N(N - 1)σ²), up to N/(N - 1) twice: noise is against one person's share of the mean."""
    n, std = 2_000, 0.01
    scenario = PredictabilityScenario(leak=EverybodyButOne(), noise=pr.Isotropic(std=std))
    summary = STUDY.prepare(scenario, None).asked.summary
    c, spread = float(summary.cross_covariance[0, 0]), float(summary.moment_covariance[0, 0])
    found = STUDY.run(scenario)
    gain = float(series(found, "fraction", ATTACKER)["y"].iloc[0])
    assert gain == pytest.approx(c * c / (spread + n * (n - 1) * std**2) * (n / (n - 1)) ** 2, rel=0.02)


def test_everybody_but_one_quotes_the_bound_of_pure_privacy() -> None:
    scenario = PredictabilityScenario(
        leak=EverybodyButOne(), loss="log", noise=pr.LaplaceForPrivacy(epsilon=0.5), published=PublishedCount()
    )
    result = STUDY.run(scenario)
    bound = [one for one in result.formulas if one.source == "Thm A.9"]
    assert [one.numbers for one in bound] == [r"\varepsilon=0.5"]
    gain = series(result, "noise", ATTACKER)["y"]
    assert np.all(np.abs(gain) <= 0.5)


def test_picked_people_meet_the_ends_of_the_range() -> None:
    with pytest.raises(PrivExplorerError, match="compromised fraction must lie between"):
        STUDY.run(PredictabilityScenario(leak=PickedPeople(), compromised=0.0001))
    far = STUDY.run(PredictabilityScenario(leak=PickedPeople(), compromised=0.95))
    assert "95% of 2,000 records picked by hand" in far.shows


# --- noise that is larger than the number -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("published", "largest"),
    [
        (PublishedRate(), 0.1),
        (PublishedRegression(), 2.0),
        (PublishedRegression(model="logistic", outcome="diabetic", features=("age",)), 0.5),
    ],
)
def test_noise_above_the_number_is_told_with_a_better_one(published: Any, largest: float) -> None:
    """The proposed σ, once set, is told no more, and is far below the one that was refused."""
    noisy = PredictabilityScenario(published=published, noise=pr.Isotropic(std=20.0), trials=16)
    told = [note.text for note in STUDY.run(noisy).notes if note.title == "Too much noise"]
    assert len(told) == 1
    better = float(told[0].rsplit("about ", 1)[1].removesuffix("."))
    assert 0 < better < largest
    again = STUDY.run(noisy.model_copy(update={"noise": pr.Isotropic(std=better)}))
    assert "Too much noise" not in [note.title for note in again.notes]


def test_the_default_rate_is_told_and_no_preset_is() -> None:
    result = STUDY.run(PredictabilityScenario(published=PublishedRate(), trials=16))
    assert "The noise is larger than the published numbers: try σ of about 0.008." in [n.text for n in result.notes]
    for preset in STUDY.presets():
        done = STUDY.run(preset.scenario.model_copy(update={"trials": 16}))
        assert "Too much noise" not in [note.title for note in done.notes]


# --- the clipping level of log loss -------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [LeakedShard(), LeakedDraws()])
def test_a_smaller_clipping_level_widens_the_bounds_as_its_square(leak: Any) -> None:
    usual = PredictabilityScenario(loss="log", leak=leak, trials=16)
    own = usual.model_copy(update={"tau": 0.01})
    one, other = STUDY.run(usual), STUDY.run(own)
    p = STUDY.prepare(usual, None).asked.summary.query_means[0]
    wider = (min(p, 1 - p) / 0.01) ** 2
    for panel in ("noise", "fraction"):
        before, after = (series(run, panel, PRINTED)["y"].to_numpy() for run in (one, other))
        assert after / before == pytest.approx(np.full(before.size, wider), rel=1e-9)
        gains = [series(run, panel, GAIN)["y"].to_numpy() for run in (one, other)]
        assert gains[0].tolist() == gains[1].tolist()
    marks = [series(run, "fraction", ATTACKER)["y"].to_numpy() for run in (one, other)]
    assert not np.array_equal(*marks)
    assert any("your τ = 0.01" in text for text in other.assumptions)
    through_link_and_script(own)


def test_a_clipping_level_that_leaves_the_truth_out_is_refused_and_no_other_loss_is_clipped() -> None:
    with pytest.raises(PrivExplorerError, match="leaves out the truth"):
        STUDY.run(PredictabilityScenario(loss="log", tau=0.4, trials=16))
    plain, clipped = (STUDY.run(PredictabilityScenario(tau=tau, trials=16)) for tau in (0.0, 0.4))
    assert plain.frame.equals(clipped.frame)


# --- where attackers are compared ---------------------------------------------------------------------------------


def test_an_attacker_picks_by_a_condition_where_attackers_are_compared() -> None:
    """The records are those of the mathematics' adversary, in any order; nothing else moves."""
    base = AttackersScenario(trials=20)
    picks = base.model_copy(update={"hand": PickedPeople(column="diabetic")})
    table = STUDY.prepare(PredictabilityScenario(data=base.data), None)
    people = read_people(base.data, None, ["visits", "smoker", "diabetic"])
    assert table.asked.n == people.n
    chosen = processes(picks, people.table, people.n, 400)["hand-picked"].sample(1, np.random.default_rng(0))[0]
    wanted = pr.Adversary(compromised_fraction=0.1, condition="diabetic = 1").process(people.n, people.table)
    assert sorted(chosen.tolist()) == wanted.chosen.tolist()
    one, other = (study("attackers").run(scenario).frame for scenario in (base, picks))
    moved = one["x"][(one["y"] != other["y"]).to_numpy()]
    assert set(moved) == {"hand-picked"}


def test_everybody_but_one_stands_beside_the_attackers() -> None:
    """The same exact number as on the page of the release; without it nothing changes."""
    base = AttackersScenario(trials=20, noise=0.01)
    worst = base.model_copy(update={"worst": True})
    compared: Any = study("attackers")
    result = compared.run(worst)
    mark = result.frame[result.frame["x"] == "all but one"]
    page = PredictabilityScenario(
        data=base.data, published=base.published, question=base.question, leak=EverybodyButOne(),
        noise=pr.Isotropic(std=0.01),
    )  # fmt: skip
    assert mark["y"].tolist() == series(STUDY.run(page), "fraction", ATTACKER)["y"].tolist()
    assert mark["y"].iloc[0] > 0
    rest = result.frame[result.frame["x"] != "all but one"].reset_index(drop=True)
    assert rest.equals(compared.run(base).frame)
    assert "all but one" in compared.chart(result, "leak").panels[0].marks[-1].x
    assert WHY_ONE in [note.text for note in result.notes]
