"""Theorems of the planning studies: exact at the asked n and ε, never read off a grid."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest

from privexplorer.distributions import DiscreteLaw, Empirical, TwoStep, Uniform, Zipf
from privexplorer.errors import ParameterError
from privexplorer.properties import (
    DenseSupport,
    MillerMadow,
    PlugIn,
    Polynomial,
    SparseSupport,
    sensitivity_sample_size,
)
from privexplorer.records import Grid
from privexplorer.studies import _goals as goals
from privexplorer.studies.concentration import Concentration, ConcentrationScenario, records_for
from privexplorer.studies.epsilon_needed import PANELS as EPSILON_PANELS
from privexplorer.studies.epsilon_needed import AbsoluteTarget, EpsilonNeeded, EpsilonNeededScenario, promised
from privexplorer.studies.sample_size import PANELS, SampleSize, SampleSizeScenario
from privexplorer.studies.support_size import SupportSize, SupportSizeScenario

people_study, epsilon_study = SampleSize(), EpsilonNeeded()
POLY, PLUG_IN = goals.EntropyGoal(), goals.EntropyGoal(estimator=PlugIn())


def sure(goal: Any, target: float, n: int) -> tuple[float, str]:
    """ε that is surely enough, and what its card says."""
    asked = EpsilonNeededScenario(goal=goal, target=AbsoluteTarget(error=target), n=n, trials=8)
    result = epsilon_study.run(asked)
    return result.extra["numbers"]["sure"][0], result.cards[2].value


@pytest.mark.parametrize(
    ("goal", "target", "n", "epsilon", "card"),
    [
        (POLY, 0.1, 3_299, 2.594, "2.60"),
        (POLY, 0.1, 3_300, 1.905, "1.91"),
        (POLY, 0.1, 3_329, 0.5005, "0.501"),
        (POLY, 0.1, 3_330, 0.4926, "0.493"),
        (PLUG_IN, 0.2, 2_932, 1.077, "1.08"),
        (PLUG_IN, 0.2, 2_933, 0.7057, "0.706"),
        (PLUG_IN, 0.2, 2_934, 0.5630, "0.564"),
        (PLUG_IN, 0.2, 2_935, 0.4822, "0.483"),
    ],
)
def test_epsilon_that_is_surely_enough(goal: Any, target: float, n: int, epsilon: float, card: str) -> None:
    """Zipf(1), k = 1000: between grid sizes, where next to no room is left for noise; the card rounds up."""
    found, shown = sure(goal, target, n)
    assert found == pytest.approx(epsilon, rel=2e-4)
    assert shown == card
    assert float(shown) >= found


def test_plug_in_bound_against_thirty_digits() -> None:
    """Mean, sensitivity and ε by mpmath, from the definitions."""
    n, target = 2_932, mpmath.mpf("0.2")
    law = Zipf(k=1000, exponent=1.0).law()
    with mpmath.workdps(30):
        g = [mpmath.mpf(0)] + [-mpmath.mpf(j) / n * mpmath.log(mpmath.mpf(j) / n) for j in range(1, n + 1)]
        mean = truth = mpmath.mpf(0)
        for mass in law.probabilities.tolist():
            p = mpmath.mpf(mass)
            weight = (1 - p) ** n
            truth -= p * mpmath.log(p)
            spread = math.sqrt(n * mass) + 1
            for j in range(min(n, int(n * mass + 10 * spread + 20)) + 1):
                mean += weight * g[j]
                weight *= (n - j) * p / ((j + 1) * (1 - p))
        delta = mpmath.log(n) / n + mpmath.mpf(n - 1) / n * mpmath.log(mpmath.mpf(n) / (n - 1))
        exact = mpmath.sqrt(2) * delta / mpmath.sqrt(target**2 - (mean - truth) ** 2 - n * delta**2 / 4)
    assert sure(PLUG_IN, 0.2, n)[0] == pytest.approx(float(exact), rel=1e-6)


def test_an_epsilon_is_promised_rounded_up() -> None:
    for value in np.geomspace(1e-5, 900, 400).tolist():
        text = (
            promised(value).replace("−", "-").replace("×10", "e").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
        )
        assert value <= float(text) * (1 + 1e-8)
        assert float(text) <= 1.0101 * value


CASES = [
    (POLY, Zipf(k=1000, exponent=1.0), 0.1, Grid(low=100, high=20_000, points=14)),
    (PLUG_IN, Zipf(k=1000, exponent=1.0), 0.2, Grid(low=100, high=20_000, points=14)),
    (goals.EntropyGoal(estimator=MillerMadow()), TwoStep(k=50), 0.1, Grid(low=50, high=5_000, points=6)),
    (goals.CoverageGoal(t=2.0), Uniform(k=300), 0.2, Grid(low=50, high=20_000, points=8)),
    (goals.SupportGoal(k=300, estimator=SparseSupport()), Uniform(k=300), 0.4, Grid(low=200, high=5_000, points=8)),
    (goals.SupportGoal(k=50, estimator=DenseSupport()), Uniform(k=50), 0.1, Grid(low=100, high=20_000, points=6)),
]


@pytest.mark.parametrize(("goal", "distribution", "target", "grid"), CASES)
def test_every_point_of_the_bound_is_the_bound(goal: Any, distribution: Any, target: float, grid: Grid) -> None:
    """Card and both curves: n meets the target by the theorem, n - 1 does not."""
    asked = SampleSizeScenario(goal=goal, distribution=distribution, target=target, epsilon=0.5, n=grid, trials=8)
    result = people_study.run(asked)
    law = result.extra["prepared"].law
    points = [(int(n), e, target) for e, n in result.series("upper bound", PANELS["epsilon"])[["x", "y"]].to_numpy()]
    points += [(int(n), 0.5, t) for t, n in result.series("upper bound", PANELS["target"])[["x", "y"]].to_numpy()]
    own = result.extra["found"]["upper bound"]
    assert own.place == "inside"
    assert len(points) >= 5
    for n, epsilon, wanted in [(own.people, 0.5, target), *points]:
        bounds = [goals.exact_bound(goal, law, each, epsilon) for each in (n, n - 1)]
        assert bounds[0] <= wanted < bounds[1], (n, epsilon, wanted)


@pytest.mark.parametrize(("goal", "distribution", "target", "grid"), CASES)
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_people_and_epsilon_undo_each_other(
    goal: Any, distribution: Any, target: float, grid: Grid, epsilon: float
) -> None:
    """n → error → ε within 1% and n within one record, at sizes that are on no grid, through both studies."""
    law = distribution.law()
    start = SampleSizeScenario(goal=goal, distribution=distribution, epsilon=epsilon, n=grid, trials=8)
    prepared = people_study.prepare(start, None)
    parts = [people_study.run_block(prepared, 0)]
    for n in (703, 3_331):
        error = goals.exact_bound(goal, law, n, epsilon)
        if not grid.low < n < grid.high or goals.exact_bound(goal, law, n - 1, epsilon) <= error:
            continue
        people = people_study.assemble(start.model_copy(update={"target": error}), prepared, parts)
        assert abs(people.extra["found"]["upper bound"].people - n) <= 1
        mine = epsilon_study.assemble(
            EpsilonNeededScenario(
                goal=goal, distribution=distribution, target=AbsoluteTarget(error=error), n=n, sizes=grid, trials=8
            ),
            prepared,
            parts,
        )
        bias, delta = goals.exact_parts(goal, law, n)
        if 2 * (delta / epsilon) ** 2 > 1e-9 * error**2:  # else no digit of the target is left for the noise
            assert mine.extra["numbers"]["sure"][0] == pytest.approx(epsilon, rel=0.01)
        assert mine.series("upper bound", EPSILON_PANELS["error"])["y"].iloc[-1] == pytest.approx(
            math.sqrt(bias**2 + (n / 4 + 2 / 10.0**2) * delta**2), rel=1e-12
        )


@pytest.mark.parametrize(
    ("goal", "distribution"), [(POLY, Zipf(k=1000, exponent=1.0)), (goals.CoverageGoal(), Zipf(k=500, exponent=0.5))]
)
def test_bias_between_its_places(goal: Any, distribution: Any) -> None:
    """Only where to look depends on it, and simulated curves: within a thousandth of the largest bias."""
    prepared = goals.prepare(goal, distribution, Grid(low=100, high=20_000, points=14).values(), 0, 1, None)
    found = goals.bias_between(prepared)
    exact = np.array([goals.exact_parts(goal, prepared.law, int(n))[0] for n in prepared.fine])
    assert np.abs(found - exact).max() < 1e-3 * np.abs(exact).max()


def test_noise_of_lemma_25_is_counted_at_whole_sizes() -> None:
    """D of Lemma 25 by looking at every n of the range, for every goal."""
    for goal, distribution, _, _ in CASES:
        ns = Grid(low=100, high=1_500, points=5).values()
        prepared = goals.prepare(goal, distribution, ns, 0, 1, None)
        every = np.array([goal.sensitivity(n, prepared.law) / goal.scale(n) for n in range(100, 1_501)])
        for limit in (every[-1] * 1.001, every[700], every[200], every[3]):
            over = np.flatnonzero(every > limit)
            found = goals.people_for_noise(prepared, float(limit))
            if over.size == 0:
                assert found.place == "smallest"
            else:
                assert found.people == 100 + int(over[-1]) + 1
        assert goals.people_for_noise(prepared, float(every[-1]) * 0.99).place == "never"


def test_sensitivities_fall_where_it_is_said() -> None:
    """Coverage as a share of the further records, and support size: every n beyond ``falling_from``."""

    def falls(goal: Any, k: int, last: int) -> None:
        law = DiscreteLaw(np.full(k, 1 / k))
        start = goal.falling_from(law)
        values = np.array([goal.sensitivity(n, law) / goal.scale(n) for n in range(start, max(last, start + 50))])
        assert np.all(np.diff(values) <= 1e-14 * values[1:]), (goal, k)

    for t in (0.001, 0.3, 1.0, 1.0005, 1.2, 2.0, 5.0, 10.0):
        for k in (2, 3):
            if not (k == 2 and t == 1.0):
                falls(goals.CoverageGoal(t=t), k, 300)
    assert goals.CoverageGoal(t=1.0).falling_from(DiscreteLaw(np.full(2, 0.5))) >= goals.LARGEST
    for accuracy in (0.01, 0.1, 0.5):
        for k in (3, 10, 50):
            falls(goals.SupportGoal(k=k, estimator=SparseSupport(accuracy=accuracy)), k, 10 * k)
    falls(goals.SupportGoal(k=50, estimator=DenseSupport()), 50, 400)


# ---- the smallest n from which on ----


@pytest.mark.parametrize(("k", "limit", "n"), [(1_000, 0.88, 13), (100, 0.65, 9)])
def test_smallest_size_from_which_on(k: int, limit: float, n: int) -> None:
    """A sensitivity that dips below the limit, rises above it and stays below from n on."""
    estimator = Polynomial()
    every = np.array([estimator.sensitivity(each, k) for each in range(1, 3_000)])
    assert int(np.flatnonzero(every > limit)[-1]) + 2 == n
    assert every[6 if k == 100 else 7] <= limit  # what a bisection would have stopped at
    assert records_for(estimator, k, limit) == n
    assert sensitivity_sample_size(lambda each: estimator.sensitivity(each, k), limit) == n


def test_the_page_says_from_which_n_on() -> None:
    asked = ConcentrationScenario(
        distribution=Zipf(k=1000, exponent=1.0), estimator=Polynomial(), epsilon=8.0, accuracy=0.44, trials=50
    )
    result = Concentration().run(asked)
    assert "privacy alone asks for 13 or more for this entropy" in result.shows
    formula = next(f for f in result.formulas if f.title == "Cost of privacy")
    assert r"\forall j\ge n" in formula.tex
    assert formula.numbers.endswith("= 13")


def test_a_tuning_that_no_sample_tames_is_refused_in_a_sentence() -> None:
    wild = Polynomial(preset="custom", degree=24, cutoff=200)
    with pytest.raises(ParameterError, match="take a lower degree"):
        Concentration().run(ConcentrationScenario(estimator=wild, trials=50))


# ---- extrapolating beyond the range of numbers ----


@pytest.mark.parametrize("k", [200_000, 1_000_000])
def test_too_far_ahead_says_what_can_be_changed_here(k: int) -> None:
    """Following the advice works, either way; no setting is named that the study does not have."""
    question, asked = SupportSize(), SupportSizeScenario(k=k, trials=8)
    (words,) = question.check(asked, None)
    with pytest.raises(ParameterError) as raised:
        question.run(asked)
    assert str(raised.value) == words
    assert "smooth" not in words
    least = int(words.split("higher, at ")[1].split(" or above")[0].replace(",", ""))
    most = int(words.split("smaller k, at most ")[1].split(" for ")[0].replace(",", ""))
    for better in (
        asked.model_copy(update={"n": Grid(low=least, high=2 * least, points=3)}),
        asked.model_copy(update={"k": most}),
    ):
        assert question.check(better, None) == ()
        assert np.all(np.isfinite(question.run(better).frame["y"].to_numpy()))
    for study, grid in ((people_study, "n"), (epsilon_study, "sizes")):
        planned = study.scenario(goal=goals.SupportGoal(k=k))
        (said,) = study.check(planned, None)
        assert f"let the sample sizes start higher, at {least:,} or above" in said
        better = {grid: Grid(low=least, high=4 * least, points=3), **({"n": least} if grid == "sizes" else {})}
        assert study.check(planned.model_copy(update=better), None) == ()


def test_no_smaller_k_is_offered_than_there_are_values() -> None:
    (words,) = SupportSize().check(SupportSizeScenario(accuracy=1e-6), None)
    assert "smaller k" not in words  # 800 values need a k of at least 800
    table = SupportSizeScenario(k=1_000_000, distribution=Empirical())
    assert "or promise a smaller k" in SupportSize().check(table, None)[0]
