"""The main predictability study: gold values through the study, curves, simulated attackers, words and refusals."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import DataError, PrivExplorerError
from privexplorer.figures import draw
from privexplorer.simulation import block_rng
from privexplorer.studies import _leaks as leaking
from privexplorer.studies import study
from privexplorer.studies._asking import group_words, realised
from privexplorer.studies._predictability import (
    FRACTIONS,
    TARGET_ALL,
    TARGET_LEFT,
    Clinic,
    LinearPopulation,
    OwnTable,
    TwentyPeople,
)
from privexplorer.studies._release_choices import (
    BiasedDraws,
    LeakedDraws,
    LeakedShard,
    NumberQuestion,
    OneCondition,
    PublishedMeans,
    PublishedQuantile,
    PublishedRate,
    PublishedRegression,
    StickyDraws,
    TwoConditions,
    TypedQuestion,
    epsilon_of_gaussian,
)
from privexplorer.studies.attackers import AttackersScenario
from privexplorer.studies.predictability import (
    ATTACKER,
    GAIN,
    ORACLE,
    PRINTED,
    SCHWARZ,
    TIGHT,
    PredictabilityScenario,
    PredictabilityStudy,
)

STUDY: Any = study("predictability")
TWENTY: dict[str, Any] = {
    "data": TwentyPeople(), "question": OneCondition(column="q"), "compromised": 0.4, "noise_scale": "paper",
}  # fmt: skip
MEANS = PublishedMeans(columns=("x1", "x2"))
LINEAR = PublishedRegression(outcome="y", features=("x1", "x2"), intercept=False)


def now(**choices: Any) -> pr.Predictability:
    """Return the present values of the twenty people."""
    scenario = PredictabilityScenario(**{**TWENTY, **choices})
    found: pr.Predictability = STUDY.moment(scenario, STUDY.prepare(scenario, None).asked).now
    return found


def series(result: Any, panel: str, name: str) -> Any:
    frame = result.frame
    return frame[(frame["panel"] == panel) & (frame["series"] == name)]


# --- gold values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({"published": MEANS, "noise": pr.GivenCovariance(entries=(1.0, 0.3, 0.3, 2.0))}, 0.1745129326),
        ({"published": MEANS, "noise": pr.NoNoise()}, 0.1839288887),
        ({"published": LINEAR, "noise": pr.Isotropic(std=math.sqrt(0.05))}, 0.1281025641),
        ({"published": LINEAR, "noise": pr.Calibrated(level=0.5)}, 0.1154856483),
        ({"published": LINEAR, "noise": pr.Calibrated(level=0.5), "noise_scale": "release"}, 0.1154856483),
        (
            {
                "published": MEANS, "leak": BiasedDraws(column="weight"),
                "noise": pr.GivenCovariance(entries=(1.0, 0.0, 0.0, 2.0)),
            },
            0.1371123539,
        ),
    ],
    ids=["G3", "G3 without noise", "G5", "G6", "G6 as released", "G7"],
)  # fmt: skip
def test_gold_values_through_the_study(choices: dict[str, Any], expected: float) -> None:
    assert now(**choices).printed[0] == pytest.approx(expected, rel=1e-8)


def test_attenuation_of_the_regression() -> None:
    found = now(published=LINEAR, noise=pr.Isotropic(std=math.sqrt(0.05)))
    assert found.rho_cc[0] == pytest.approx(0.5747588535, rel=1e-8)
    assert found.c0[0] == pytest.approx(0.05936620864, rel=1e-8)


def test_noise_that_adds_up_hides_more_than_each() -> None:
    both = now(published=MEANS, noise=pr.Isotropic(std=1.0), further_noise=pr.Isotropic(std=2.0)).printed[0]
    one = now(published=MEANS, noise=pr.Isotropic(std=math.sqrt(5.0))).printed[0]
    assert both == pytest.approx(one, rel=1e-12)
    assert both < now(published=MEANS, noise=pr.Isotropic(std=2.0)).printed[0]


# --- curves -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def default() -> Any:
    return STUDY.run()


def test_four_curves_in_order(default: Any) -> None:
    for panel in ("noise", "fraction"):
        curves = [series(default, panel, name)["y"].to_numpy() for name in (PRINTED, SCHWARZ, TIGHT, GAIN)]
        for upper, lower in itertools.pairwise(curves):
            assert np.all(upper > lower)
        assert np.max(curves[3] / curves[0]) <= 1 / (2 * pr.KAPPA) + 1e-12
    for name in (PRINTED, GAIN):
        assert np.all(np.diff(series(default, "noise", name)["y"]) < 0)


def test_scales_shift_the_curve_along_the_noise() -> None:
    """The printed count needs √ν times the noise for the same value."""
    scenario = PredictabilityScenario(trials=16)
    prepared = STUDY.prepare(scenario, None)
    curves = {}
    for scale in ("release", "paper"):
        result = STUDY.assemble(scenario.model_copy(update={"noise_scale": scale}), prepared, [])
        curves[scale] = series(result, "noise", PRINTED)
    shift = math.sqrt(0.3 * 2000 / 0.7)
    x, y = np.log(curves["paper"]["x"]), np.log(curves["paper"]["y"])
    at = curves["release"]["x"].to_numpy() * shift
    inside = at < float(curves["paper"]["x"].max())
    moved = np.interp(np.log(at[inside]), x, y)
    assert inside.sum() > 20
    np.testing.assert_allclose(moved, np.log(curves["release"]["y"].to_numpy()[inside]), atol=0.01)


def test_the_curve_over_the_fraction_is_symmetric_only_without_noise() -> None:
    scenario = PredictabilityScenario(noise=pr.NoNoise(), trials=16)
    prepared = STUDY.prepare(scenario, None)
    rows = series(STUDY.assemble(scenario, prepared, []), "fraction", PRINTED)
    alpha, y = rows["x"].to_numpy(), rows["y"].to_numpy()
    np.testing.assert_allclose(np.interp(1 - alpha[20:-5], alpha, y), y[20:-5], rtol=2e-3)
    assert alpha[np.argmin(y)] == pytest.approx(0.5, abs=0.021)
    noisy = series(
        STUDY.assemble(scenario.model_copy(update={"noise": pr.Isotropic(std=0.5)}), prepared, []), "fraction", PRINTED
    )
    assert alpha[np.argmin(noisy["y"])] > 0.6


def test_curves_and_numbers_of_the_cards_agree(default: Any) -> None:
    moment = STUDY.moment(PredictabilityScenario(), STUDY.prepare(PredictabilityScenario(), None).asked)
    for panel, x in (("noise", 0.5), ("fraction", 0.3)):
        rows = series(default, panel, GAIN)
        value = np.exp(np.interp(math.log(x), np.log(rows["x"]), np.log(rows["y"])))
        assert value == pytest.approx(float(moment.now.gain[0]), rel=0.01)
    before, after = moment.now.variance_before[0] / 420, moment.now.variance_after[0] / 420
    assert default.cards[0].value == f"{100 * math.sqrt(after):.2f}\u00a0pp"
    assert default.cards[0].chip == f"{100 * math.sqrt(before):.2f}\u00a0pp without"


# --- simulated attackers -----------------------------------------------------------------------------------------


def made(scenario: PredictabilityScenario, trials: int) -> tuple[Any, Any]:
    prepared = STUDY.prepare(scenario, None)
    size = STUDY.block_trials(scenario)
    sums = np.concatenate([STUDY.run_block(prepared, block) for block in range(-(-trials // size))])[:trials]
    return prepared, sums


@pytest.mark.parametrize(
    "scenario",
    [
        PredictabilityScenario(question=OneCondition(column="pressure", sign=">", value="140")),
        PredictabilityScenario(
            data=LinearPopulation(people=1000), published=PublishedRegression(outcome="y", features=("x1", "x2")),
            noise=pr.Isotropic(std=0.03), question=OneCondition(column="secret"),
        ),
        PredictabilityScenario(
            question=OneCondition(column="pressure", sign=">", value="140"), leak=BiasedDraws(column="visits")
        ),
    ],
    ids=["mean", "regression", "biased"],
)  # fmt: skip
def test_the_attackers_are_those_of_the_mathematics(scenario: PredictabilityScenario) -> None:
    """Mean drop and both squared errors, against one draw of leak and noise at a time; 4 standard errors."""
    prepared, sums = made(scenario, 400)
    leaks, asked = prepared.leaks, prepared.asked
    attacks = leaking.unpack(leaks, sums, 0)
    point = int(np.argmin(np.abs(leaks.counts - 0.3 * asked.n)))
    assert leaks.counts[point] == round(0.3 * asked.n)
    sigma = asked.law([scenario.noise], 1.0).covariance
    points, nu = np.array([point]), np.array([asked.size(0.3).noise_multiplier])
    drops, errors = leaking.loss_drops(attacks, points, sigma[None], nu)
    weights = leaking.oracle_weights(asked.summary, 0, sigma[None], nu)
    steady = leaking.steadied(drops, attacks, points, asked.summary, 0, weights)[0]
    # the same by the package, its noise drawn
    people = scenario.data.table()
    queries = pr.query_set([scenario.question.expression(people)], people)
    process = scenario.leak.process(asked.n, round(0.3 * asked.n), people)
    fitted = scenario.published.record(people).fit(people)
    attack = pr.prepare_attack(
        people, queries.evaluate(people), fitted, process, asked.law([scenario.noise], 1.0),
        summary=process.summarise(people, queries, fitted),
    )  # fmt: skip
    draws = attack.run(1500, np.random.default_rng(5))
    gaps = draws.loss_gaps()[:, 0]
    assert abs(steady.mean() - gaps.mean()) < 4 * math.hypot(
        steady.std() / math.sqrt(steady.size), gaps.std() / math.sqrt(gaps.size)
    )
    for mine, answers in zip(errors[:, 0], (draws.before, draws.feasible), strict=True):
        squares = np.square(answers - draws.truth)[:, 0]
        step = math.hypot(mine.std() / math.sqrt(mine.size), squares.std() / math.sqrt(squares.size))
        assert abs(mine.mean() - squares.mean()) < 4 * step
    # steadying moves the mean by what chance allows, and makes it far more precise
    moved = (drops[0] - steady) / math.sqrt(steady.size)
    assert abs((drops[0] - steady).mean()) < 4 * moved.std()
    assert steady.std() < drops[0].std() / 2


ORACLE_CASE = PredictabilityScenario(
    data=Clinic(people=400), published=PublishedMeans(), question=NumberQuestion(column="pressure"),
    noise=pr.Isotropic(std=2.0), curves="all", trials=200,
)  # fmt: skip


def test_the_oracle_is_drawn() -> None:
    """Its marks move with seed and runs, and its standard error falls as one over the root of the runs."""
    found = {}
    for seed, trials in ((1, 200), (2, 200), (1, 800)):
        result = STUDY.run(ORACLE_CASE.model_copy(update={"seed": seed, "trials": trials}))
        rows = series(result, "fraction", ORACLE)
        found[seed, trials] = rows["y"].to_numpy(), rows["std_error"].to_numpy()
    first, second, longer = found.values()
    assert np.all(np.abs(first[0] - second[0]) > 0.01 * first[1])
    assert np.all(np.abs(first[0] - second[0]) < 4 * np.hypot(first[1], second[1]))
    assert np.all(np.abs(first[0] - longer[0]) < 4 * np.hypot(first[1], longer[1]))
    np.testing.assert_allclose(longer[1] / first[1], 0.5, atol=0.15)


def test_the_oracle_reaches_the_formula_and_notices_noise_off_by_a_tenth() -> None:
    """Within 4 standard errors of V r²/n (N - 1 for N), and farther from it for noise a tenth larger or smaller."""
    prepared = STUDY.prepare(ORACLE_CASE, None)
    leaks = replace(prepared.leaks, counts=np.array([120]), block_trials=15_000)
    attacks = leaking.unpack(leaks, leaking.run_leaks(leaks, 0), 0)
    size, one = prepared.asked.size(0.3), prepared.asked.summary.select(queries=[0])
    sigma = 3.0 * one.moment_covariance / size.noise_multiplier  # three times what sampling does
    points, nu = np.array([0]), np.array([size.noise_multiplier])
    weights = leaking.oracle_weights(prepared.asked.summary, 0, sigma[None], nu)
    drops, _ = leaking.loss_drops(attacks, points, sigma[None], nu, "squared", weights)
    value, error = float(drops.mean()), float(drops.std()) / math.sqrt(drops.size)
    assert 0.001 * value < error < 0.03 * value

    def away(factor: float) -> float:
        gain = float(pr.predictability(one, size, factor**2 * sigma).gain[0]) * 400 / 399
        return abs(value - gain) / error

    assert away(1.0) < 4
    assert away(1.1) > 4
    assert away(0.9) > 4


def test_the_page_says_whose_marks_are_steadied(default: Any) -> None:
    assert leaking.STEADIED in default.assumptions
    assert "control variate" in leaking.STEADIED
    none = STUDY.run(PredictabilityScenario(leak=StickyDraws(), trials=16))
    assert leaking.STEADIED not in none.assumptions


def test_the_oracles_marks_stay_on_the_chart_where_their_intervals_reach_below_it() -> None:
    result = STUDY.run(PredictabilityScenario(curves="all", trials=64))
    rows = series(result, "fraction", ORACLE)
    marks = next(mark for mark in STUDY.chart(result, "fraction").marks() if mark.name == ORACLE)
    assert (rows["low"] < 0).any()
    assert len(marks.x) == (rows["y"] > 0).sum() > 0
    assert np.all(np.asarray(marks.low) > 0)


def test_an_attacker_gains_no_more_than_the_formula_says_and_less_with_few_records(default: Any) -> None:
    rows, theory = series(default, "fraction", ATTACKER), series(default, "fraction", GAIN)
    ratio = rows["y"].to_numpy() / np.interp(rows["x"], theory["x"], theory["y"])
    error = rows["std_error"].to_numpy() / np.interp(rows["x"], theory["x"], theory["y"])
    late = rows["x"].to_numpy() >= 0.3
    assert np.all(np.abs(ratio[late] - 1) < 4 * error[late] + 0.02)
    bound = np.interp(rows["x"], theory["x"], series(default, "fraction", TIGHT)["y"])
    assert np.all(rows["y"].to_numpy()[2:] < bound[2:])


def test_log_loss_of_a_weak_gain_is_the_local_curvature() -> None:
    base = PredictabilityScenario(question=OneCondition(column="pressure", sign=">", value="125"), trials=400)
    squared = STUDY.run(base)
    logged = STUDY.run(base.model_copy(update={"loss": "log"}))
    p = float(STUDY.prepare(base, None).asked.summary.query_means[0])
    for name, tolerance in ((GAIN, 1e-9), (ATTACKER, 0.05)):
        one, two = (series(result, "fraction", name)["y"].to_numpy()[-6:] for result in (squared, logged))
        np.testing.assert_allclose(two * 2 * p * (1 - p), one, rtol=tolerance)


def test_leaks_are_nested_and_prefixes() -> None:
    scenario = PredictabilityScenario()
    leaks = STUDY.prepare(scenario, None).leaks
    assert leaks.counts.tolist() == [round(share * 2000) for share in FRACTIONS]
    sums = leaking.run_leaks(leaks, 3)
    order = block_rng(scenario.seed, 3).permutation(2000)
    for point, count in enumerate(leaks.counts):
        np.testing.assert_allclose(sums[0, 1, point], leaks.rows[1, order[:count]].sum(), rtol=1e-9, atol=1e-9)


def test_no_attacker_where_none_can_be_simulated() -> None:
    scenario = PredictabilityScenario(leak=StickyDraws(), trials=64)
    assert STUDY.blocks(scenario) == 0
    result = STUDY.run(scenario)
    assert result.runs == 0
    assert ATTACKER not in set(result.frame["series"])
    assert any("walks over groups" in note.text for note in result.notes)
    assert STUDY.chart(result, "noise").marks()


# --- words --------------------------------------------------------------------------------------------------------


def test_the_page_says_which_questions_by_how_much_and_what_it_costs(default: Any) -> None:
    assert "30% of 2,000 records leaked" in default.shows
    assert "4.9% of its squared error (with exact numbers 11%)" in default.shows
    assert "gets easiest (18%)" in default.shows
    assert "0.4% of the value" in default.shows
    assert "ε = 0.74" in default.shows
    assert "not private" in default.shows
    assert all(len(card.chip) <= 18 for card in default.cards)


def test_epsilon_beside() -> None:
    assert epsilon_of_gaussian(0.5, 180 / 2000) == pytest.approx(0.74, abs=0.006)
    assert epsilon_of_gaussian(0.0, 1.0) == math.inf
    laplace = STUDY.run(
        PredictabilityScenario(published=PublishedRate(), noise=pr.LaplaceForPrivacy(epsilon=0.5), trials=16)
    )
    assert laplace.cards[3].value == "ε = 0.50"
    for noise in (pr.NoNoise(), pr.Calibrated()):
        result = STUDY.run(PredictabilityScenario(noise=noise, trials=16))
        assert result.cards[3].value == "no ε"


def test_the_shown_question_follows_the_choice() -> None:
    scenario = PredictabilityScenario(trials=16)
    prepared = STUDY.prepare(scenario, None)
    names = {}
    for shown in ("own", "easiest", "middle", "least"):
        result = STUDY.assemble(scenario.model_copy(update={"shown": shown}), prepared, [])
        names[shown] = result.extra["names"][result.extra["place"]]
    assert names == {"own": "smoker", "easiest": "pressure > 140", "middle": "diabetic", "least": 'ward = "east"'}


@pytest.mark.parametrize(
    "question",
    [
        TwoConditions(joined="or", is_not=True),
        NumberQuestion(),
        TypedQuestion(text="if(smoker = 1, cost, 0)"),
        OneCondition(column="ward", sign="!=", value="east"),
    ],
    ids=lambda one: one.kind,
)
def test_questions_by_clicking(question: Any) -> None:
    table = Clinic().table()
    answers = question.expression(table).evaluate(table)
    smoker, high = table["smoker"] == 1, table["pressure"] > 140
    expected = {
        "two": ~smoker | high, "number": table["cost"], "typed": smoker * table["cost"], "one": table["ward"] != "east",
    }  # fmt: skip
    np.testing.assert_array_equal(answers, expected[question.kind].astype(float))
    result = STUDY.run(PredictabilityScenario(question=question, trials=16))
    assert np.isfinite(series(result, "noise", GAIN)["y"]).all()


def test_an_own_table_is_read_told_and_not_private() -> None:
    result = STUDY.run(STUDY.presets()[3].scenario.model_copy(update={"trials": 32}))
    assert any(note.level == "not-private" for note in result.notes)
    assert "442 records" in result.shows
    assert set(result.extra["names"][1:]) <= {"progression > 140.5", "bmi > 25.7", "age > 50", "bp > 93"}


@pytest.mark.parametrize("published", [PublishedQuantile(), PublishedRate(), PublishedRegression(model="ridge")])
def test_other_releases(published: Any) -> None:
    result = STUDY.run(PredictabilityScenario(published=published, trials=16))
    assert ATTACKER in set(result.frame["series"])
    for view in STUDY.views:
        assert STUDY.chart(result, view).marks()


@pytest.mark.parametrize("loss", ["squared", "log"])
def test_a_constant_question_is_answered_by_zero_and_a_note(loss: Any) -> None:
    question = OneCondition(column="age", sign=">", value="500")
    result = STUDY.run(PredictabilityScenario(question=question, loss=loss, trials=16))
    assert np.all(series(result, "noise", GAIN)["y"] == 0)
    assert any("nothing to predict" in note.text for note in result.notes)
    assert STUDY.chart(result, "noise")


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"question": OneCondition(column="height")}, "no column “height”"),
        ({"question": NumberQuestion(), "loss": "log"}, "Log loss needs"),
        ({"question": OneCondition(column="age", value="old")}, "must be compared with a number"),
        ({"question": OneCondition(column="ward", sign=">", value="east")}, "can only equal"),
        ({"bounds": ("bmi low high",)}, "smallest and its largest"),
        ({"published": PublishedRegression(), "noise": pr.LaplaceForPrivacy()}, "without limit"),
        ({"published": PublishedMeans(columns=("pressure", "ward"))}, "ward"),
        ({"question": TypedQuestion(text="age >")}, "it ends there"),
        ({"noise": pr.GivenCovariance(entries=(1.0, 2.0, 3.0))}, "d times d"),
        ({"published": PublishedRegression(model="logistic", outcome="age", features=("cost",))}, "0 or 1"),
    ],
)
def test_refusals_are_sentences(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(PrivExplorerError) as caught:
        STUDY.run(PredictabilityScenario(trials=16, **choices))
    assert words in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_table_that_is_not_there() -> None:
    with pytest.raises(PrivExplorerError, match="column"):
        STUDY.run(PredictabilityScenario(data=OwnTable(), trials=16))


def test_draws_with_replacement_warn_where_many_have_leaked() -> None:
    result = STUDY.run(PredictabilityScenario(leak=LeakedDraws(), trials=16))
    assert any("far below N" in note.text for note in result.notes)
    result = STUDY.run(PredictabilityScenario(leak=LeakedDraws(), compromised=0.05, trials=16))
    assert not any("far below N" in note.text for note in result.notes)


def test_the_study_is_what_the_catalogue_lists() -> None:
    assert isinstance(STUDY, PredictabilityStudy)
    with pytest.raises(DataError):
        STUDY.run(PredictabilityScenario(leak=BiasedDraws(column="ward")))


# --- what the page must not claim ------------------------------------------------------------------------------


def share_of_words(result: Any, whose: str = "that") -> float:
    """Return the percentage in "it realises 47 ± 3% of that"."""
    found = re.search(rf"it realises (\S+) ± \S+% of {whose}", result.shows)
    assert found, result.shows
    return float(found[1])


def test_the_attackers_share_is_of_a_gain_that_it_could_reach_on_either_scale(default: Any) -> None:
    """On the printed scale not the attacker but the scale is what falls short: an oracle reaches no more, either."""
    scenario = PredictabilityScenario(noise_scale="paper")
    printed, asked = STUDY.run(scenario), STUDY.prepare(scenario, None).asked
    simulated = series(printed, "fraction", ATTACKER).set_index("x")["y"].loc[0.3]
    gains = [
        STUDY.moment(scenario.model_copy(update={"noise_scale": scale}), asked).now.gain[0]
        for scale in ("release", "paper")
    ]  # fmt: skip
    whose = "the gain on the release scale"
    assert share_of_words(printed, whose) == pytest.approx(100 * simulated / gains[0], abs=1)
    assert share_of_words(printed, whose) == share_of_words(default) == pytest.approx(104, abs=7)
    assert gains[0] / gains[1] == pytest.approx(0.451, abs=0.005)
    assert "because of the scale, not of the attacker" in printed.shows
    assert "on the release scale the gain is 45% of the printed one" in printed.shows
    assert "because of the scale" not in default.shows
    assert "of that" not in printed.shows
    twenty = STUDY.run(
        PredictabilityScenario(
            **{**TWENTY, "published": MEANS, "noise": pr.GivenCovariance(entries=(1.0, 0.3, 0.3, 2.0))}
        )
    )
    assert "because of the scale" in twenty.shows
    exact = STUDY.run(scenario.model_copy(update={"noise": pr.NoNoise()}))
    assert "because of the scale" not in exact.shows
    assert printed.cards[0].label == "Error, as printed"
    assert "counting the noise as printed" in printed.shows
    assert default.cards[0].label == "Attacker's error"


@pytest.mark.parametrize(("column", "share"), [("smoker", "73%"), ("visits", "19%")])
def test_a_quantile_with_ties_is_refused(column: str, share: str) -> None:
    with pytest.raises(PrivExplorerError, match=f"is not smooth: {share} of the people have exactly"):
        STUDY.run(PredictabilityScenario(published=PublishedQuantile(column=column), trials=16))


@pytest.mark.parametrize(
    ("people", "compromised", "leak", "words"),
    [
        (2_000, 0.0001, LeakedShard(), "between 0.001 and 0.999 for 2,000 people, .*only 0.2 have leaked"),
        (2_000, 0.9999, LeakedShard(), "only 0.2 are left"),
        (2_000, 0.0009, LeakedDraws(), "at least 0.001 for 2,000 people, .*only 1.8 have leaked"),
        (442, 0.0045, LeakedShard(), "between 0.00453 and 0.99547"),
    ],
)
def test_too_few_records_are_refused_with_the_allowed_range(
    people: int, compromised: float, leak: Any, words: str
) -> None:
    scenario = PredictabilityScenario(data=Clinic(people=people), compromised=compromised, leak=leak, trials=16)
    with pytest.raises(PrivExplorerError, match=words):
        STUDY.run(scenario)


@pytest.mark.parametrize("compromised", [0.001, 0.999])
def test_the_ends_of_the_range_are_answered(compromised: float) -> None:
    result = STUDY.run(PredictabilityScenario(compromised=compromised, trials=16))
    assert math.isfinite(result.frame["y"].sum())


@pytest.mark.parametrize("name", ["subgroup-lens", "utility-frontier", "composition-ledger", "query-map", "attackers"])
def test_all_studies_of_a_release_refuse_a_fraction_of_a_record(name: str) -> None:
    other: Any = study(name)
    with pytest.raises(PrivExplorerError, match="2 records have leaked and 2 are left"):
        other.run(other.scenario(compromised=0.0001))


def test_the_page_says_at_which_leak_the_marks_stand(default: Any) -> None:
    away = STUDY.run(PredictabilityScenario(compromised=0.33))
    assert "stand at the nearest simulated leak, 30% of the records" in away.shows
    assert "nearest simulated leak" not in default.shows


def test_log_loss_bounds_take_the_smaller_share_as_clipping_level() -> None:
    result = STUDY.run(PredictabilityScenario(loss="log", trials=16))
    p = float(Clinic().table()["smoker"].mean())
    bound = next(one for one in result.formulas if one.title == "Printed bound")
    assert float(bound.numbers.split("=")[-1]) == pytest.approx(0.003423, rel=1e-3)
    assert f"H={min(p, 1 - p) ** -2:.4g}" in result.formulas[1].numbers
    assert any("clipped at half that τ" in text for text in result.assumptions)


def test_a_walk_warns_too_and_asks_about_everybody(default: Any) -> None:
    walk = STUDY.run(PredictabilityScenario(leak=StickyDraws(), trials=16))
    assert any("n = 600 and N = 2,000" in note.text for note in walk.notes)
    assert "error about everybody" in walk.shows
    assert TARGET_ALL in walk.assumptions
    assert TARGET_LEFT not in walk.assumptions
    assert "error about the other people" in default.shows
    assert TARGET_LEFT in default.assumptions


def test_equals_one_is_dropped_for_yes_or_no_only() -> None:
    result = STUDY.run(PredictabilityScenario(question=OneCondition(column="visits", value="1"), trials=16))
    assert result.extra["names"][0] == "visits = 1"
    assert "diabetic" in result.extra["names"]


def test_an_exact_linear_relation_leaves_nothing() -> None:
    result = STUDY.run(PredictabilityScenario(question=NumberQuestion(column="pressure"), noise=pr.NoNoise()))
    assert "to **nothing**, 100%" in result.shows
    assert "realises 100 ± 0% of that" in result.shows


def test_a_gain_that_chance_explains_is_said_in_words() -> None:
    assert realised(-0.35, 0.27, 1.0, "of that") == "gains nothing that can be told from chance"
    assert realised(0.35, 0.18, 1.0, "of that") == "gains nothing that can be told from chance"
    assert realised(-0.35, 0.1, 1.0, "of that") == "loses by using the release"
    assert realised(0.35, 0.1, 1.0, "of that") == "realises 35 ± 20% of that"


def test_typed_texts_without_quotes_are_explained() -> None:
    with pytest.raises(PrivExplorerError, match=r'no column “east”.*need quotation marks, such as "east".*back quotes'):
        STUDY.run(PredictabilityScenario(question=TypedQuestion(text="ward = east"), trials=16))
    with pytest.raises(PrivExplorerError) as caught:
        STUDY.run(PredictabilityScenario(question=OneCondition(column="east"), trials=16))
    assert "quot" not in str(caught.value)
    own = OwnTable()
    for text, is_told in (("bmi = east", True), ("bmi > 30", False)):
        # the second: what is published is not there
        published = PublishedMeans(columns=("progression",) if is_told else ("pressure",))
        with pytest.raises(PrivExplorerError) as caught:
            STUDY.run(PredictabilityScenario(data=own, published=published, question=TypedQuestion(text=text)))
        assert ("quotation marks" in str(caught.value)) == is_told


@pytest.mark.parametrize("name", ["query-map", "composition-ledger", "attackers"])
def test_other_studies_explain_typed_texts_of_a_table_too(name: str) -> None:
    other: Any = study(name)
    own = next(preset.scenario for preset in other.presets() if "diabetes" in preset.title or name[0] == "c")
    scenario = own.model_copy(update={"data": OwnTable(), "question": TypedQuestion(text="progression = east")})
    if name[0] == "c":
        means = PublishedMeans(columns=("progression",))
        scenario = scenario.model_copy(update={"first": means, "second": means, "third": means})
    with pytest.raises(PrivExplorerError, match=r"no column “east”.*texts need quotation marks"):
        other.run(scenario)


def test_a_wrong_covariance_names_both_sizes() -> None:
    for entries, words in (((1.0, 2.0, 3.0), "1 times 1 = 1; 3 are given"), ((1.0, 0, 0, 1.0), "1 × 1.*2 × 2")):
        with pytest.raises(PrivExplorerError, match=words):
            STUDY.run(PredictabilityScenario(noise=pr.GivenCovariance(entries=entries), trials=16))


def test_one_half_is_marked_on_the_compromised_fraction(default: Any) -> None:
    chart = STUDY.chart(default, "fraction")
    assert chart.panels[0].marked == ((0.5, "one half"),)
    figure = draw(chart)
    assert [shape["x0"] for shape in figure.layout.shapes if shape["name"] == "here"] == [0.3, 0.5]
    assert "one half" in str(figure.layout.annotations)
    assert STUDY.chart(default, "noise").panels[0].marked == ()


def test_the_realised_gain_is_told_as_a_limit(default: Any) -> None:
    gain = next(one for one in default.formulas if one.title.startswith("Realised gain"))
    assert gain.title == "Realised gain, in the limit of many records"
    assert gain.status != "exact"


def test_draws_with_replacement_are_never_said_to_be_about_others(default: Any) -> None:
    drawn = STUDY.run(PredictabilityScenario(leak=StickyDraws(), trials=16))
    told = " ".join((drawn.shows, drawn.takeaway, *(card.help for card in drawn.cards)))
    assert "for all k = 2,000 people as a group only kε" in drawn.shows
    assert "for the k = 1,400 others as a group only kε" in default.shows
    for words in ("other people", "the others", "people left", "have not leaked"):
        assert words not in told
    # beside a choice of leaks, neither the lead nor the help of the question settles whom the attacker asks about
    assert "other people" not in STUDY.lead
    for scenario in (PredictabilityScenario, AttackersScenario):
        asked = scenario.model_fields["question"].description
        assert asked is not None
        assert "about the people who have not leaked, or about everybody" in asked


def test_the_page_says_what_differential_privacy_gives_one_record_and_a_group(default: Any) -> None:
    epsilon = epsilon_of_gaussian(0.5, 180 / 2000)
    assert (
        f"Differential privacy says ε = 0.74 (δ = 10⁻⁶) about any one record; for the k = 1,400 others as a group "
        f"only kε = {1400 * epsilon:,.0f}, which is no limit."
    ) in default.shows
    assert "says nothing about" not in default.shows
    few = STUDY.run(
        PredictabilityScenario(
            data=Clinic(people=100), published=PublishedRate(), noise=pr.LaplaceForPrivacy(epsilon=0.01),
            compromised=0.9, trials=16,
        )
    )  # fmt: skip
    assert "ε = 0.010 about any one record; for the k = 10 others as a group kε = 0.10." in few.shows
    for noise in (pr.NoNoise(), pr.Calibrated()):
        none = STUDY.run(PredictabilityScenario(noise=noise, trials=16))
        assert "; nor does it for the k = 1,400 others as a group." in none.shows


def test_a_groups_limit_is_lost_by_its_delta_too() -> None:
    assert group_words(0.1, 1e-6, 12) == "kε = 1.2 (δ = 2×10⁻⁵)"
    assert group_words(0.01, 0.01, 100) == "only kε = 1.0, which is no limit"


def test_an_error_that_rounds_to_itself_stays() -> None:
    weak = STUDY.run(PredictabilityScenario(noise=pr.Isotropic(std=500.0), trials=16))
    assert "stays at **2.17\u00a0percentage points**" in weak.shows
    assert "stays at 2.17\u00a0percentage points;" in weak.takeaway
    assert "falls from" not in weak.shows + weak.takeaway


def test_percentage_points_are_written_out_at_first(default: Any) -> None:
    first = default.shows.index("pp")
    assert "\u00a0percentage points (pp) to **" in default.shows
    assert default.shows.index("percentage points (pp") == first - len("percentage points (")
    assert default.cards[0].help.endswith("pp are percentage points.")
    numeric = STUDY.run(PredictabilityScenario(question=NumberQuestion(), trials=16))
    assert "percentage points" not in numeric.shows + numeric.cards[0].help


@pytest.mark.parametrize(
    ("value", "told"), [("east", "“ward = east”"), ('West "Old"', 'ward = West "Old"'), ("east\\", "“ward = east\\”")]
)
def test_no_quotation_marks_stand_inside_others(value: str, told: str) -> None:
    result = STUDY.run(PredictabilityScenario(question=OneCondition(column="ward", value=value), trials=16))
    assert STUDY.chart(result, "noise").title == f"How much easier {told} gets: γ"
    assert f"error about {told} for" in result.cards[0].help
    notes = " ".join(note.text for note in result.notes)
    assert "'ward" not in notes


def test_the_numbers_of_formulas_have_no_computers_powers(default: Any) -> None:
    large = STUDY.run(PredictabilityScenario(data=Clinic(people=20_000), compromised=0.7, trials=16))
    assert r"\nu=46{,}670" in large.formulas[0].numbers
    for one in (*large.formulas, *default.formulas):
        assert not re.search(r"\de[+-]\d", one.numbers), one.numbers
    assert any(r"\times10^{-" in one.numbers for one in large.formulas)


@pytest.mark.parametrize(
    "choices",
    [
        {}, {"noise": pr.NoNoise()}, {"noise_scale": "paper"}, {"loss": "log"},
        {"published": PublishedMeans(columns=("pressure", "age")), "noise": pr.Isotropic(std=1.0)},
    ],
    ids=["release", "exact", "paper", "log loss", "two means"],
)  # fmt: skip
def test_the_noise_that_is_said_to_halve_the_bound_halves_it(choices: dict[str, Any]) -> None:
    scenario = PredictabilityScenario(**choices, trials=16)
    prepared = STUDY.prepare(scenario, None)
    start = STUDY.moment(scenario, prepared.asked).now.product[0]
    found = re.search(
        r"To halve the bound, γ ≤ (\S+), the noise must have σ ≥ (\S+?)(?:, if counted as printed)?\. ",
        STUDY.assemble(scenario, prepared, []).shows,
    )
    assert found
    assert ("if counted as printed" in found[0]) == (scenario.noise_scale == "paper")
    louder = scenario.model_copy(update={"noise": pr.Isotropic(std=float(found[2]))})
    assert STUDY.moment(louder, prepared.asked).now.product[0] == pytest.approx(start / 2, rel=0.01)


def test_a_question_without_gain_needs_no_noise() -> None:
    result = STUDY.run(PredictabilityScenario(question=OneCondition(column="age", sign=">", value="500"), trials=16))
    assert "halve" not in result.shows
