"""The theory bench: limit laws with and without their factors, mixing, uniform law, weights, checklist."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import ParameterError
from privexplorer.studies import study
from privexplorer.studies.result import Result
from privexplorer.studies.theory_bench import (
    AFTER,
    BAYES,
    BEFORE,
    BEST,
    CHI,
    DIFFERENCE,
    GAP,
    GEOMETRIC,
    LOG,
    MEAN,
    MIXING,
    NORMAL,
    PANELS,
    SHARP_H,
    SIMULATED,
    SQUARED,
    TO_IDENTITY,
    TO_OMEGA,
    TWO,
    UNIFORM,
    UNWEIGHTED,
    WEIGHTED,
    agreement,
    crowd,
    dragged_variances,
)

QUESTION = study("theory-bench")
PROCESSES = ("shard", "iid", "biased", "chain")


def ran(**fields: Any) -> Result:
    return QUESTION.run(QUESTION.scenario.model_validate(fields))


def variance(result: Result, name: str) -> float:
    """Second moment of a histogram of standardised values."""
    rows = result.series(SIMULATED, name)
    x, y = rows["x"].to_numpy(dtype=float), rows["y"].to_numpy(dtype=float)
    return float((x**2 * y).sum() * (x[1] - x[0]))


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {process: ran(process=process) for process in PROCESSES}


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("name", [MEAN, BEFORE, AFTER, DIFFERENCE])
def test_statistics_have_their_normal_law(results: dict[str, Result], process: str, name: str) -> None:
    """Thm 3.2, 3.4, A.13, A.15, A.16: variance 1 to 4.5 standard errors of 2,000 runs, and Kolmogorov's distance."""
    result = results[process]
    assert variance(result, name) == pytest.approx(1.0, abs=4.5 * math.sqrt(2 / 2_000) + 0.04)
    simulated, normal = (result.series(one, name)["y"].to_numpy(dtype=float) for one in (SIMULATED, NORMAL))
    assert np.abs(np.cumsum(simulated - normal) * 0.25).max() < 1.95 / math.sqrt(2_000) + 0.01
    assert simulated.sum() * 0.25 == pytest.approx(1.0)


@pytest.mark.parametrize(("process", "factor"), [("shard", 0.7 * 1_000 / 999), ("chain", 3.6)])
def test_leaving_a_factor_out_fails_visibly(results: dict[str, Result], process: str, factor: float) -> None:
    """1 - ν = 0.7 for a shard; along the walk the long-run variance of x is several times its lag-0 one."""
    wrong = ran(process=process, factor="left out")
    ratio = variance(wrong, MEAN) / variance(results[process], MEAN)
    assert ratio == pytest.approx(factor, rel=0.15)
    assert "too far from 1" in wrong.shows
    assert "too far" not in results[process].shows
    # the answers of the attacker keep their laws
    assert variance(wrong, AFTER) == variance(results[process], AFTER)


def test_mixing_coefficients_of_the_walk(results: dict[str, Result]) -> None:
    """Def A.5: 0.2, 0.16, 0.08192 at lags 1, 2, 5 for four equal groups and s = 0.2; 0 for independent draws."""
    panel = PANELS["path"][0]
    found = results["chain"].series(MIXING, panel).set_index("x")["y"]
    np.testing.assert_allclose([found[1.0], found[2.0], found[5.0]], [0.2, 0.16, 0.08192], rtol=1e-12)
    closed = results["chain"].series(GEOMETRIC, panel)["y"]
    np.testing.assert_allclose(found.to_numpy(), closed.to_numpy(), rtol=1e-10)
    assert (results["iid"].series(MIXING, panel)["y"] == 0).all()
    assert "9=9" in next(one.numbers for one in results["chain"].formulas if one.title == "A sticky walk")


def test_running_means_settle_on_the_mean_of_everybody(results: dict[str, Result]) -> None:
    panel = PANELS["path"][1]
    x = crowd(1_000)["x"]
    for process in PROCESSES:
        last = float(results[process].series(WEIGHTED, panel)["y"].iloc[-1])
        assert last == pytest.approx(x.mean(), abs=0.25 * x.std())
    biased = results["biased"]
    away = float(biased.series(UNWEIGHTED, panel)["y"].iloc[-1])
    assert away - x.mean() > 0.3 * x.std()


@pytest.mark.parametrize("process", PROCESSES)
def test_uniform_law_falls_with_the_root(results: dict[str, Result], process: str) -> None:
    """A.12, A.14: slope of the largest error between n = 50 and 800 about -1/2."""
    rows = results[process].series(UNIFORM)
    slope = np.polyfit(np.log(rows["x"].to_numpy(dtype=float)), np.log(rows["y"].to_numpy(dtype=float)), 1)[0]
    assert -0.6 < slope < -0.38


@pytest.mark.parametrize("process", PROCESSES)
def test_no_weight_beats_the_efficient_one(results: dict[str, Result], process: str) -> None:
    """A.24: both curves start at the efficient variance and lie above; towards Ω, printed as the best, it rises."""
    best = results[process].series(BEST)["y"].to_numpy(dtype=float)
    for name in (TO_OMEGA, TO_IDENTITY):
        curve = results[process].series(name)["y"].to_numpy(dtype=float)
        assert curve[0] == pytest.approx(best[0], rel=1e-9)
        assert (curve >= best * (1 - 1e-9)).all()
    assert results[process].series(TO_OMEGA)["y"].iloc[-1] > 1.1 * best[0]


def test_sandwich_of_the_gold_value() -> None:
    """E20: D20, weights G7, regression gradient, noise 0.05: 0.23177 at best, 0.32750 with W = Ω, 0.32721 with I."""
    i = np.arange(1, 21)
    x1, x2 = (7 * i) % 11 - 5.0, (5 * i) % 13 - 6.0
    rest = (3 * i) % 7 - 3.0
    table = {"x1": x1, "x2": x2, "y": x1 - 2 * x2 + rest, "q": x1 + rest > 0}
    process = pr.IndependentProcess(20, 8, (1 + i % 4) / (1 + i % 4).sum())
    release = pr.LinearRegression(features=("x1", "x2"), target="y", intercept=False).fit(table)
    system = pr.moment_system(process.summarise(table, pr.query_set(["q"], table), release), 0.05 * np.eye(2))
    curves, lowest = dragged_variances(system)
    np.testing.assert_allclose(curves[:, -1], [0.3275022216, 0.3272135417, 0.2317670409], rtol=1e-8)
    assert lowest > -1e-10


def test_second_order(results: dict[str, Result]) -> None:
    """A.18: share of gaps below a χ² quantile; A.17 and 3.3: n times the difference shrinks."""
    result = results["iid"]
    gap, chi = (result.series(name)["y"].to_numpy(dtype=float) for name in (GAP, CHI))
    assert np.abs(gap - chi).max() < 1.95 / math.sqrt(2_000) + 0.02
    x = result.series(CHI)["x"].to_numpy(dtype=float)
    assert float(np.interp(3.84146, x, chi)) == pytest.approx(0.95, abs=2e-3)
    for name in (TWO, BAYES):
        y = result.series(name)["y"].to_numpy(dtype=float)
        assert y[0] > 1.5 * y[1] > 2.25 * y[2] > 0


def test_losses_are_convex_and_smooth(results: dict[str, Result]) -> None:
    result = results["shard"]
    log = result.series(LOG)
    assert (log["y"] > 0).all()
    assert (result.series(SQUARED)["y"] == 2).all()
    inside = log[(log["x"] >= 0.1) & (log["x"] <= 0.9)]["y"]
    sharp = float(result.series(SHARP_H)["y"].iloc[0])
    assert sharp == pytest.approx(90.12345679)
    assert inside.max() == pytest.approx(sharp, rel=1e-9)
    assert log["y"].iloc[0] == pytest.approx(1_000.9, rel=1e-4)


def test_the_checklist_turns_red_when_a_statistic_is_doubled(results: dict[str, Result]) -> None:
    sound, broken = results["shard"], ran(published="twice", noise=0.0)
    assert "fails" not in set(sound.series("holds", "conditions")["series"])
    assert not len(sound.series("fails"))
    assert list(broken.series("fails")["x"]) == [6.0]
    assert "checklist fails" in broken.shows
    lines = sound.extra["checks"]
    assert len(lines) == len(broken.extra["checks"]) == 10
    assert {line.status for line in lines} == {"holds", "assumed"}
    assert "Bernstein" in sound.notes[0].text


def test_formulas_carry_the_algebra(results: dict[str, Result]) -> None:
    """Block inverse equals V_q(1 - ρ² + c₀); variances divide by N; weights average to 1."""
    texts = {one.title: one.numbers for one in results["biased"].formulas}
    first, second = texts["Efficient estimator"].split("answer: }")[1].split("=V_q(1-\\rho_{cc}^2+c_0)=")
    assert float(first) == pytest.approx(float(second), rel=1e-5)
    assert texts["Variances divide by N"].endswith("=5.25")
    assert texts["Weights turn the process into everybody"].endswith("=1")
    assert "3\\ \\text{parameters}" in texts["Moments before and after"]


def test_factor_and_drag_need_no_new_draws() -> None:
    make = QUESTION.scenario.model_validate
    assert QUESTION.digest(make({"factor": "left out", "drag": 0.9})) == QUESTION.digest(make({}))
    assert QUESTION.digest(make({"noise": 0.5})) != QUESTION.digest(make({}))


def test_every_view_draws_its_own_rows(results: dict[str, Result]) -> None:
    for result in results.values():
        for view in QUESTION.views:
            rows = QUESTION.numbers(result, view)
            assert len(rows)
            assert {mark.name for mark in QUESTION.chart(result, view).marks()} <= set(rows["series"])


def test_too_few_records_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"at least 20 leaked records.*at least 400 people"):
        ran(people=100, compromised=0.05)


@pytest.mark.parametrize(
    ("people", "compromised", "words"),
    [
        (60, 0.999, "at most 0.98"),
        (20_000, 0.999, "at most 0.98"),
        (60, 0.98, "between 0.0334 and 0.9666 for 60 people.*only 1.2 are left"),
    ],
)
def test_leaks_that_leave_nobody_are_refused(people: int, compromised: float, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        ran(people=people, compromised=compromised)
    with pytest.raises(ParameterError, match=r"50 known bits .* are 50 of N = 50"):
        pr.bayes_against_gmm(50, 0.999)


def test_the_path_of_a_shard_is_in_random_order(results: dict[str, Result]) -> None:
    """In the order of the table, which is sorted by group, the first quarter would lie far below the mean."""
    prepared = QUESTION.prepare(QUESTION.scenario(), None)
    path = prepared.path
    assert sorted(path) == list(range(1_000))
    rising = float(np.mean(np.diff(path) > 0))
    assert abs(rising - 0.5) < 4 * math.sqrt(1 / 12 / path.size)  # the variance of the number of rises is (n + 1)/12
    rows = results["shard"].series(WEIGHTED, PANELS["path"][1]).set_index("x")["y"]
    x = crowd(1_000)["x"]
    assert float(rows.iloc[-1]) == pytest.approx(float(x.mean()))
    early = rows.index.to_numpy()[np.argmin(np.abs(rows.index.to_numpy() - 250))]
    assert abs(rows.loc[early] - x.mean()) < 4 * x.std() / math.sqrt(early)
    assert abs(x[: int(early)].mean() - x.mean()) > 8 * x.std() / math.sqrt(early)


def test_words_on_variances_agree_with_their_standard_errors() -> None:
    fine = agreement({"a": 0.95, "b": 1.01}, {"a": 0.03, "b": 0.03}, 300)
    assert "within two standard errors: over theory 0.950 to 1.01, each ±\u00a00.06 at most" in fine
    off = agreement({"a": 0.928, "b": 1.01}, {"a": 0.029, "b": 0.03}, 300)
    assert off.startswith("1 of 2 statistics")
    assert "that of the a is 0.928, 2.5 standard errors below" in off
    assert "300 records are few" in off
