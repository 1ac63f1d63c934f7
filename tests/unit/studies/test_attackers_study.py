"""Attackers: one release under several leaks, theory beside simulation, lag 0 beside the long run."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import DataError
from privexplorer.studies._predictability import Clinic, LinearPopulation
from privexplorer.studies._release_choices import OneCondition, PublishedMeans, PublishedQuantile
from privexplorer.studies.attackers import (
    ADVERSARY,
    BIASED,
    FEASIBLE,
    GAIN,
    LAG_ZERO,
    LONG_RUN,
    PANELS,
    PRINTED,
    SHARD,
    SHORT,
    SIMULATED,
    STICKY,
    THEORY,
    TIGHT,
    UNIFORM,
    Attackers,
    AttackersScenario,
    processes,
)

STUDY = Attackers()
make = AttackersScenario


def values(result: object, series: str) -> dict[str, float]:
    rows = result.series(series, PANELS["leak"])  # type: ignore[attr-defined]
    return dict(zip(rows["x"], rows["y"], strict=True))


def test_every_leak_has_so_many_records() -> None:
    """Ledger P-D2.1, P-X4: samplers give n places in range, the shard nobody twice, the adversary its favourites."""
    people = Clinic(people=200).table()
    found = processes(make(), people, 200, 80)
    rng = np.random.default_rng(0)
    assert set(found) == set(SIMULATED)
    for name, process in found.items():
        draws = process.sample(3, rng)
        assert draws.shape == (3, 80), name
        assert draws.min() >= 0
        assert draws.max() < 200
    assert all(np.unique(row).size == 80 for row in found[SHARD].sample(3, rng))
    picked = found[ADVERSARY].sample(1, rng)[0]
    assert people["visits"][picked].min() >= np.delete(people["visits"], picked).max()
    law = found[BIASED].probabilities
    assert law is not None
    np.testing.assert_allclose(law, people["visits"] / people["visits"].sum(), rtol=1e-12)
    many = np.bincount(found[BIASED].sample(2000, rng).ravel(), minlength=200) / (2000 * 80)
    assert np.all(np.abs(many - law) < 5 * np.sqrt(law / (2000 * 80)))


def test_which_attackers_have_a_theory() -> None:
    """Ledger P-X9: all but the adversary, which is refused and only simulated."""
    found = processes(make(), Clinic(people=200).table(), 200, 80)
    assert [name for name, one in found.items() if one.supports("theory") is not None] == [ADVERSARY]
    result = STUDY.run(make(data=Clinic(people=400), trials=20))
    assert list(values(result, GAIN)) == list(THEORY)
    assert list(values(result, FEASIBLE)) == list(SIMULATED)


def test_gains_are_those_of_the_package() -> None:
    scenario = make(data=Clinic(people=500), noise=0.3)
    table = scenario.data.table()
    found = processes(scenario, table, 500, 50)
    asked = pr.query_set(["smoker = 1"], table)
    gains = values(STUDY.run(scenario.model_copy(update={"trials": 16})), GAIN)
    for name in (SHARD, UNIFORM, BIASED, STICKY):
        one = pr.analyse(table, asked, pr.Mean(columns=("pressure",)), found[name], [pr.Isotropic(std=0.3)])
        assert gains[name] == pytest.approx(float(one.result.gain[0]), rel=1e-9)


def test_lag_zero_misses_what_a_walk_repeats() -> None:
    """Erratum E5: question and groups the same, so V_q is (2 - s)/s times its lag-0 value, and lag 0 never changes."""
    prepared = STUDY.prepare(make(), None)
    walk, short = prepared.theory[STICKY], prepared.theory[LAG_ZERO]
    assert float(walk.variance_before[0] / short.variance_before[0]) == pytest.approx(9.0, rel=1e-9)
    result = STUDY.run(make(trials=16))
    long_run, lag_zero = (result.series(name, PANELS["stay"])["y"].to_numpy() for name in (LONG_RUN, SHORT))
    assert np.all(lag_zero == lag_zero[0])
    assert np.all(np.diff(long_run) < 0)
    assert long_run[-1] == pytest.approx(lag_zero[-1], rel=1e-9), "a fresh start at each step is independent draws"
    assert values(result, GAIN)[LAG_ZERO] == pytest.approx(values(result, GAIN)[UNIFORM], rel=1e-9)
    assert values(result, GAIN)[STICKY] > 10 * values(result, GAIN)[LAG_ZERO]


def test_simulation_sides_with_the_long_run() -> None:
    """The simulated attacker reaches the long-run gain, four standard errors above nine times the printed one."""
    result = STUDY.run(make(trials=600))
    rows = result.series(FEASIBLE, PANELS["leak"]).set_index("x")
    gains, bounds = values(result, GAIN), values(result, PRINTED)
    simulated, error = float(rows.loc[STICKY, "y"]), float(rows.loc[STICKY, "std_error"])
    assert simulated == pytest.approx(gains[STICKY], abs=4 * error)
    assert simulated - 4 * error > 9 * gains[LAG_ZERO]
    for name in (SHARD, UNIFORM, BIASED):
        assert float(rows.loc[name, "y"]) == pytest.approx(gains[name], abs=4 * float(rows.loc[name, "std_error"]))
    for name in gains:
        assert bounds[name] > 4.77 * gains[name] * 0.999
        assert gains[name] < values(result, TIGHT)[name] < bounds[name]


def test_weights_average_to_the_plain_mean() -> None:
    """Ledger P-X15, P-X17: E_D[w q] is the plain mean; a constant question has no variance, though it may seem so."""
    prepared = STUDY.prepare(make(bias=1.5), None)
    weighted, plain, seeming = prepared.checks
    assert weighted == pytest.approx(plain, rel=1e-12)
    w = prepared.weights
    law = 1 / (w * w.size)
    assert law.sum() == pytest.approx(1.0, rel=1e-12)
    assert seeming == pytest.approx(float((law * w**2).sum() - 1), rel=1e-9)
    assert seeming > 0.3
    assert prepared.mine == pytest.approx(1 / float((law**2).sum()), rel=1e-9)
    uniform = STUDY.prepare(make(bias=0.0), None)
    assert uniform.mine == pytest.approx(4000, rel=1e-9)
    assert uniform.theory[BIASED].gain == pytest.approx(uniform.theory[UNIFORM].gain, rel=1e-9)
    assert prepared.effective.max() == pytest.approx(1.0)


def test_other_releases_are_attacked_too() -> None:
    result = STUDY.run(make(data=Clinic(people=500), published=PublishedQuantile(), trials=16))
    assert result.runs == 16
    for view in STUDY.views:
        assert STUDY.chart(result, view).marks()


def test_what_does_not_go_together() -> None:
    population = LinearPopulation(people=300)
    scenario = make(
        data=population, published=PublishedMeans(columns=("y",)), question=OneCondition(column="secret"),
        weight_column="x1", group_column="group",
    )  # fmt: skip
    assert STUDY.check(scenario, None) == ()
    with pytest.raises(DataError, match="numbers above 0"):
        STUDY.prepare(scenario, None)
    assert "no column “ward”" in STUDY.check(scenario.model_copy(update={"group_column": "ward"}), None)[0]
    with pytest.raises(DataError, match="between 2 and 100 groups"):
        STUDY.prepare(scenario.model_copy(update={"weight_column": "weight", "group_column": "y"}), None)


def test_leaks_without_a_gain_are_left_out_and_the_last_one_has_every_mark() -> None:
    """Names stand beside the last leak, so nothing may be missing there."""
    result = STUDY.run(make(trials=60))
    simulated = result.series(FEASIBLE).set_index("x")["y"]
    assert simulated.loc[ADVERSARY] < 0
    marks = STUDY.chart(result, "leak").panels[0].marks
    assert ADVERSARY not in {x for mark in marks for x in mark.x}
    assert any(ADVERSARY in note.text for note in result.notes)
    result.frame.loc[(result.frame["series"] == FEASIBLE) & (result.frame["x"] == ADVERSARY), "y"] = 1e-3
    marks = STUDY.chart(result, "leak").panels[0].marks
    assert list(marks[0].x) == [SHARD, UNIFORM, BIASED, ADVERSARY, LAG_ZERO, STICKY]
    assert all(STICKY in mark.x for mark in marks)
    for mark in marks:
        assert np.isfinite(mark.y[list(mark.x).index(STICKY)])
