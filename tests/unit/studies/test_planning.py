"""Planning a sample: n for a target error and ε for a target error, both ways, closed and simulated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privexplorer.distributions import DiscreteLaw, TwoStep, Uniform, Zipf
from privexplorer.errors import ParameterError
from privexplorer.properties import MillerMadow, PlugIn, SparseSupport, epsilon_for_inflation, private_rmse
from privexplorer.records import Grid
from privexplorer.simulation import block_rng
from privexplorer.studies import _goals as goals
from privexplorer.studies import study
from privexplorer.studies.epsilon_needed import PANELS as EPSILON_PANELS
from privexplorer.studies.epsilon_needed import (
    AbsoluteTarget,
    EpsilonNeeded,
    EpsilonNeededScenario,
    RelativeTarget,
    enough,
)
from privexplorer.studies.sample_size import PANELS, SampleSize, SampleSizeScenario, compared

people_study, epsilon_study = SampleSize(), EpsilonNeeded()
FEW = TwoStep(k=50)
PLUG_IN = goals.EntropyGoal(estimator=PlugIn())


def people_scenario(**more: Any) -> SampleSizeScenario:
    start: dict[str, Any] = {
        "goal": PLUG_IN,
        "distribution": FEW,
        "n": Grid(low=50, high=5_000, points=14),
        "trials": 64,
    }
    return SampleSizeScenario(**{**start, **more})


# ---- closed forms, both ways ----


def test_coin_round_trips() -> None:
    for n in (7, 100, 54_321):
        for epsilon in (0.01, 0.3, 20.0):
            target = goals.coin_error(n, epsilon)
            assert goals.coin_people(target, epsilon) == pytest.approx(n, rel=1e-12)
            assert goals.coin_epsilon(n, target) == pytest.approx(epsilon, rel=1e-9)
    assert goals.coin_epsilon(100, 0.05) is None  # 1/(4n) alone is too much
    assert goals.coin_error(1_000, 0.1) == pytest.approx(math.sqrt(1 / 4_000 + 2 / 100**2), rel=1e-12)


@pytest.mark.parametrize(
    ("goal", "distribution"),
    [
        (PLUG_IN, FEW),
        (goals.EntropyGoal(estimator=MillerMadow()), Zipf(k=200, exponent=1.0)),
        (goals.CoverageGoal(t=1.0), Uniform(k=500)),
        (goals.SupportGoal(k=300, estimator=SparseSupport()), Uniform(k=300)),
    ],
)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_bound_round_trips_within_one_record(goal: Any, distribution: Any, epsilon: float) -> None:
    """n → error → n through the study: the bound's error at n, given as a target, gives n back."""
    scenario = people_scenario(goal=goal, distribution=distribution, epsilon=epsilon, trials=8)
    prepared = people_study.prepare(scenario, None)
    parts = [people_study.run_block(prepared, 0)]
    law = distribution.law()
    for n in (170, 333, 702, 1_100, 2_222):
        target = goals.exact_bound(goal, law, n, epsilon)
        if goals.exact_bound(goal, law, n - 1, epsilon) <= target:
            continue  # a place where more records do not help has no way back
        result = people_study.assemble(scenario.model_copy(update={"target": target}), prepared, parts)
        assert abs(result.extra["found"]["upper bound"].people - n) <= 1


def test_bound_is_built_from_exact_parts() -> None:
    law = FEW.law()
    bias, delta = goals.exact_parts(PLUG_IN, law, 400)
    table = PlugIn().table(400, 50, private=True)
    assert bias == pytest.approx(table.mean(law) - law.entropy(), rel=1e-12)
    assert delta == pytest.approx(table.sensitivity(), rel=1e-12)
    assert goals.exact_bound(PLUG_IN, law, 400, 0.5) == pytest.approx(
        math.sqrt(bias**2 + 100 * delta**2 + 8 * delta**2), rel=1e-12
    )
    coverage = goals.CoverageGoal(t=2.0)
    assert coverage.scale(400) == 800
    assert coverage.truth(400, law) == pytest.approx(float(law.coverage(1_200)), rel=1e-12)


def test_epsilon_round_trips_in_closed_form() -> None:
    """Given bias, variance and sensitivity, ε → error → ε is exact for both kinds of target, and for the bound."""
    for bias, variance, delta in ((0.02, 0.0009, 0.004), (-0.3, 0.01, 0.2)):
        plain = math.hypot(bias, math.sqrt(variance))
        for epsilon in (0.05, 1.0, 7.0):
            target = private_rmse(bias, variance, delta, epsilon)
            parts = [np.array([value]) for value in (bias, variance, 1e-5, delta, target)]
            found, error = goals.epsilon_needed(*parts)
            assert found[0] == pytest.approx(epsilon, rel=1e-9)
            slope = (goals.epsilon_needed(parts[0], parts[1] + 1e-9, *parts[2:])[0][0] - found[0]) / 1e-9
            assert error[0] == pytest.approx(1e-5 * slope, rel=0.01)
            more = target / plain - 1
            assert epsilon_for_inflation(more, delta, plain) == pytest.approx(epsilon, rel=1e-6)
    parts_ = goals.Parts(*(np.array([v]) for v in (500.0, 0.02, 0.001, 0.0, 0.004)))
    for epsilon in (0.1, 3.0):
        assert enough(parts_, parts_.bound(epsilon))[0] == pytest.approx(epsilon, rel=1e-9)
    assert np.isnan(enough(parts_, np.array([0.03]))[0])


# ---- simulated ----


def drawn_error(goal: Any, law: DiscreteLaw, n: int, epsilon: float, trials: int, seed: int) -> tuple[float, float]:
    """Error of releases at one n from samples and noise drawn afresh."""
    rng = block_rng(seed, 0, 1)
    counts = law.sample_counts(n, trials, rng)
    table = goal.table(n, law)
    values = np.asarray(table.values)[counts].sum(axis=1) + table.constant
    squares = (
        (values + rng.laplace(0, goal.sensitivity(n, law) / epsilon, trials) - goal.truth(n, law)) / goal.scale(n)
    ) ** 2
    return float(math.sqrt(squares.mean())), float(squares.std() / math.sqrt(trials) / (2 * math.sqrt(squares.mean())))


@pytest.mark.parametrize(
    ("goal", "distribution", "target", "grid"),
    [
        (PLUG_IN, FEW, 0.08, Grid(low=50, high=5_000, points=14)),
        (goals.CoverageGoal(t=2.0), Uniform(k=300), 0.03, Grid(low=50, high=5_000, points=14)),
        (
            goals.SupportGoal(k=200, estimator=SparseSupport()),
            Uniform(k=150),
            0.15,
            Grid(low=100, high=1_500, points=12),
        ),
    ],
)
def test_the_size_found_has_the_target_error(goal: Any, distribution: Any, target: float, grid: Grid) -> None:
    epsilon = 0.5
    result = people_study.run(
        people_scenario(goal=goal, distribution=distribution, target=target, epsilon=epsilon, n=grid, trials=1_500)
    )
    found = result.extra["found"]["private"]
    assert found.place == "inside"
    value, error = drawn_error(goal, distribution.law(), found.people, epsilon, 20_000, 77)
    assert abs(value - target) < 4 * error + 0.02 * target
    assert abs(value - target) < 0.08 * target  # a tenth more or less would be noticed
    plain = result.extra["found"]["without privacy"]
    assert plain.n < found.n
    assert result.extra["found"]["upper bound"].place == "never" or result.extra["found"]["upper bound"].n >= found.n


def test_reported_errors_are_those_of_repetition() -> None:
    """Over 24 seeds the sizes found spread as their standard errors say."""
    scenario = people_scenario(goal=goals.CoverageGoal(t=2.0), distribution=Uniform(k=300), target=0.04, epsilon=2.0)
    found = [
        people_study.run(scenario.model_copy(update={"seed": seed, "trials": 100})).extra["found"] for seed in range(24)
    ]
    for name in ("private", "without privacy"):
        spread = np.std([one[name].n for one in found], ddof=1)
        stated = np.mean([one[name].error for one in found])
        assert 0.65 < stated / spread < 1.6, name


def there_and_back(epsilon: float, seed: int, other_seed: int) -> tuple[Any, tuple[float, float], float]:
    """Size found for (ε, target); ε found for that size and target; and how steeply it falls, d ln ε/d ln n."""
    more = {"goal": goals.CoverageGoal(t=2.0), "distribution": Uniform(k=300), "trials": 1_000}
    sizes, target = Grid(low=50, high=5_000, points=20), 0.06
    people = people_study.run(SampleSizeScenario(target=target, epsilon=epsilon, seed=seed, n=sizes, **more)).extra[
        "found"
    ]["private"]
    back = epsilon_study.run(
        EpsilonNeededScenario(
            target=AbsoluteTarget(error=target), n=people.people, sizes=sizes, seed=other_seed, **more
        )
    )
    rows = back.series("ε needed", EPSILON_PANELS["people"])
    x, y = np.log(rows["x"].to_numpy(dtype=float)), np.log(rows["y"].to_numpy())
    place = int(np.searchsorted(x, math.log(people.n)))
    return people, back.extra["numbers"]["epsilon"], float((y[place] - y[place - 1]) / (x[place] - x[place - 1]))


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0])
def test_n_and_epsilon_undo_each_other_on_the_same_samples(epsilon: float) -> None:
    """With one seed both studies see the same samples, so only the rounding of n to whole people is left."""
    people, (found, error), slope = there_and_back(epsilon, 5, 5)
    rounding = abs(slope) * (people.people - people.n) / people.n
    assert found == pytest.approx(epsilon, rel=0.01 + rounding)
    assert abs(found - epsilon) <= 2 * error + 1.1 * rounding * epsilon


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_n_and_epsilon_undo_each_other_within_two_standard_errors(seed: int) -> None:
    """The size found for (ε, target), asked for its ε with other samples, gives ε back."""
    people, (found, error), slope = there_and_back(0.2, seed, seed + 100)
    together = math.hypot(error, found * slope * people.error / people.n)
    assert abs(found - 0.2) <= 2 * together
    assert together < 0.05 * 0.2  # a tenth more or less would be noticed


def test_privacy_costs_people_and_says_how_many() -> None:
    result = people_study.run(people_scenario(target=0.08, epsilon=0.1, trials=200))
    private, plain = result.extra["found"]["private"], result.extra["found"]["without privacy"]
    assert f"**{private.people - plain.people:,} more people**" in result.shows
    assert result.cards[2].value == f"{private.people - plain.people:,} more"
    assert result.cards[2].chip.startswith("± ")
    rows = result.series("private", PANELS["epsilon"])
    assert np.all(np.diff(rows["y"].to_numpy()) <= 0)
    floor = result.series("without privacy", PANELS["epsilon"])["y"].to_numpy()
    assert np.ptp(floor) == 0
    assert np.all(rows["y"].to_numpy() >= floor[0])
    at = rows[np.isclose(rows["x"], 0.1)]
    assert float(at["y"].iloc[0]) == pytest.approx(private.n, rel=1e-9)
    own = result.series("private", PANELS["target"])
    mine = own[np.isclose(own["x"], 0.08)]
    assert float(mine["y"].iloc[0]) == pytest.approx(private.n, rel=1e-9)
    assert compared(2.0) == "2.0 times as many"


def test_out_of_reach_and_all_too_easy() -> None:
    hard = people_study.run(people_scenario(target=0.001, epsilon=0.01))
    assert "even **5,000 people** are not enough" in hard.shows
    assert "most of it noise" in hard.shows
    assert hard.cards[0].value == "over 5,000"
    easy = people_study.run(people_scenario(target=5.0))
    assert "already **50 people**" in easy.shows
    assert easy.cards[2].value == "–"
    for result in (hard, easy):
        for view in people_study.views:
            people_study.chart(result, view)
    assert "not a range" in people_study.check(people_scenario(n=Grid(low=50, high=50)), None)[0]
    promised = people_scenario(goal=goals.SupportGoal(k=20))
    assert "promise a larger k" in people_study.check(promised, None)[0]


def test_an_estimator_that_leaves_the_range_of_numbers_is_refused() -> None:
    wild = people_scenario(goal=goals.SupportGoal(k=5_000), distribution=TwoStep(k=3), n=Grid(low=100, high=10_000))
    with pytest.raises(ParameterError, match="let the sample sizes start higher"):
        people_study.run(wild)


def test_smallest_size_on_a_curve_that_rises_again() -> None:
    n = np.array([10.0, 100.0, 1_000.0, 10_000.0])
    found = goals.smallest_size(n, np.array([1.0, 0.1, 0.01, 0.5]), np.full(4, 0.001), 0.1)
    assert (found.people, found.again) == (100, 10_000.0)
    inside = goals.smallest_size(n, np.array([1.0, 0.1, 0.01, 0.001]), np.array([0.0, 0.01, 0.001, 0.0]), 0.05)
    assert inside.n == pytest.approx(200.0)
    assert inside.error == pytest.approx(200.0 * (0.01 + math.log10(2) * (0.001 - 0.01)) / 0.05)
    assert goals.smallest_size(n, np.full(4, 2.0), np.zeros(4), 0.1).place == "never"
    assert goals.smallest_size(n, np.full(4, 0.1), np.zeros(4), 0.1).place == "smallest"


def test_epsilon_needed_meets_its_target_on_the_curve() -> None:
    for target in (AbsoluteTarget(error=0.08), RelativeTarget(more=0.2)):
        scenario = EpsilonNeededScenario(goal=PLUG_IN, distribution=FEW, n=1_000, target=target, trials=200)
        result = epsilon_study.run(scenario)
        numbers = result.extra["numbers"]
        plain, wanted, epsilon = (numbers[name][0] for name in ("plain", "target", "epsilon"))
        delta = PlugIn().sensitivity(1_000)
        assert math.sqrt(plain**2 + 2 * (delta / epsilon) ** 2) == pytest.approx(wanted, rel=1e-5)
        if isinstance(target, RelativeTarget):
            assert epsilon == pytest.approx(epsilon_for_inflation(0.2, delta, plain), rel=1e-5)
        rows = result.series("private", EPSILON_PANELS["error"])
        place = int(np.searchsorted(rows["x"].to_numpy(), epsilon))
        assert rows["y"].iloc[place - 1] > wanted > rows["y"].iloc[place]


def test_no_epsilon_will_do_and_how_many_people_it_takes() -> None:
    scenario = EpsilonNeededScenario(
        goal=PLUG_IN, distribution=FEW, n=200, target=AbsoluteTarget(error=0.03), trials=64
    )
    result = epsilon_study.run(scenario)
    assert "cannot be reached at any ε" in result.shows
    people = result.extra["people"]
    assert f"**{people.people:,} people**" in result.shows
    assert (result.cards[0].value, result.cards[3].value) == ("none will do", f"{people.people:,}")
    law = FEW.law()
    bias = goals.exact_parts(PLUG_IN, law, people.people)[0]
    assert abs(bias) <= 0.03  # with that many, the bias alone no longer rules it out
    hopeless = epsilon_study.run(scenario.model_copy(update={"target": AbsoluteTarget(error=1e-4)}))
    assert "too few" in hopeless.shows
    for view in epsilon_study.views:
        epsilon_study.chart(result, view)
        epsilon_study.chart(hopeless, view)
    outside = scenario.model_copy(update={"n": 50_000})
    assert "50,000 lies outside" in epsilon_study.check(outside, None)[0]
    with_more = epsilon_study.run(scenario.model_copy(update={"n": 2 * people.people}))
    assert math.isfinite(with_more.extra["numbers"]["epsilon"][0])


def test_a_share_of_no_error_is_refused() -> None:
    """Everybody sees both values of a coin: without noise the count is exact."""
    scenario = EpsilonNeededScenario(
        goal=goals.CoverageGoal(t=0.5), distribution=Uniform(k=2), n=2_000, target=RelativeTarget(), trials=16
    )
    with pytest.raises(ParameterError, match="no error at all"):
        epsilon_study.run(scenario)
    absolute = epsilon_study.run(scenario.model_copy(update={"target": AbsoluteTarget(error=0.1)}))
    assert math.isfinite(absolute.extra["numbers"]["epsilon"][0])


def test_too_close_to_call_is_said() -> None:
    scenario = EpsilonNeededScenario(goal=PLUG_IN, distribution=FEW, n=1_000, trials=32)
    plain = epsilon_study.run(scenario).extra["numbers"]["plain"][0]
    near = epsilon_study.run(scenario.model_copy(update={"target": AbsoluteTarget(error=plain * 1.0001)}))
    assert near.notes[0].title == "Too close to call"


@pytest.mark.parametrize("study", [people_study, epsilon_study])
def test_late_fields_and_drafts(study: Any) -> None:
    scenario = study.scenario(distribution=FEW, trials=64)
    prepared = study.prepare(scenario, None)
    block = study.run_block(prepared, 1)
    changes = {"epsilon": 3.0, "target": 0.3} if study is people_study else {"target": RelativeTarget(), "n": 777}
    again = study.prepare(scenario.model_copy(update={**changes, "trials": 2_000}), None)
    np.testing.assert_array_equal(block, study.run_block(again, 1))
    draft = study.assemble(scenario.model_copy(update={"trials": 9}), prepared, [block])
    assert draft.runs == 9


def test_formulas_name_lemma_25_and_the_worst_case_rates() -> None:
    result = people_study.run(people_scenario(target=0.08, epsilon=0.5))
    titles = [formula.title for formula in result.formulas]
    assert "Learning and privacy apart" in titles
    assert "Worst-case rates, shape only" in titles
    lemma = result.formulas[titles.index("Learning and privacy apart")]
    limit = 0.08 * 0.5 / 4
    needed = next(n for n in range(2, 5_000) if PlugIn().sensitivity(n) <= limit)
    assert f"{needed:,}" in lemma.numbers.split("D(")[1]


def test_failure_one_third_is_counted_over_samples_and_noise() -> None:
    """Off by more than the target at most one time in three: against drawn noise, and the crossing that is shown."""
    question = study("sample-size")
    scenario = question.scenario.model_validate({"trials": 256, "epsilon": 0.1})
    prepared = question.prepare(scenario, None)
    blocks = np.concatenate([question.run_block(prepared, b) for b in range(question.blocks(scenario))])[:256, 0, :]
    points = goals.parts_at_points(prepared, blocks)
    missed = goals.failures(prepared, blocks, points, scenario.target, scenario.epsilon)
    rng = np.random.default_rng(5)
    off = (blocks - prepared.means) / prepared.scales + points.bias
    drawn = off + rng.laplace(0, points.sensitivity / scenario.epsilon, size=(400, *off.shape))
    share = (np.abs(drawn) > scenario.target).mean(axis=(0, 1))
    assert np.all(np.abs(share - missed.variance) <= 4 * np.sqrt(share * (1 - share) / drawn[..., 0].size) + 1e-3)
    found = goals.smallest_size(missed.n, missed.variance, missed.doubt, 1 / 3)
    assert found.place == "inside"
    assert missed.n[0] < found.n < missed.n[-1]
    assert any("one time in three" in formula.title for formula in question.run(scenario).formulas)
