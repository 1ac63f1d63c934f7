"""Batches: unbiased against the exact coverage, spread against its exact value and bound, E7, exact noise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.distributions import Uniform, Zipf
from privexplorer.errors import ParameterError
from privexplorer.properties import BatchCoverage
from privexplorer.records import Grid
from privexplorer.studies.batch_coverage import (
    PANELS,
    BatchCoverageStudy,
    BatchScenario,
    lengths,
    over_all_orders,
    sensitivities,
)

study = BatchCoverageStudy()


def distinct_variance(p: np.ndarray, m: int) -> float:
    """Exact variance of the number of distinct symbols among m records, from pair probabilities."""
    missed = (1 - p) ** m
    both = np.maximum(1 - p[:, None] - p[None, :], 0.0) ** m - missed[:, None] * missed[None, :]
    np.fill_diagonal(both, missed * (1 - missed))
    return float(both.sum())


def test_the_coverage_of_the_specification() -> None:
    result = study.run(BatchScenario(trials=16))
    rows = result.series("coverage", PANELS["mean"])
    assert float(rows["y"][rows["x"] == 50].iloc[0]) == pytest.approx(26.71477559, rel=1e-9)
    assert "26.71477559" in result.formulas[0].numbers
    assert result.formulas[0].numbers.endswith(r"\le100")


def test_unbiased_and_as_spread_as_theory_says() -> None:
    scenario = BatchScenario(trials=3_000)
    result = study.run(scenario)
    truth = result.series("coverage", PANELS["mean"])["y"].to_numpy()
    mean = result.series("average over blocks", PANELS["mean"])
    assert np.all(np.abs(mean["y"].to_numpy() - truth) < 4 * mean["std_error"].to_numpy() + 1e-12)
    assert np.all(np.abs(mean["y"].to_numpy()[3:] / truth[3:] - 1.0) < 0.02)  # a tenth would be noticed
    spread = result.series("blocks", PANELS["spread"])
    law = Zipf(k=100, exponent=1.0).law().probabilities
    for m, value, error in spread[["x", "y", "std_error"]].to_numpy():
        exact = math.sqrt(distinct_variance(law, int(m)) / (1_000 // int(m)))
        assert abs(value - exact) < 4 * error, m
    bound = result.series("bound m/√n", PANELS["spread"])["y"].to_numpy()
    calmer = result.series("all orders", PANELS["spread"])["y"].to_numpy()
    assert np.all(spread["y"].to_numpy() <= bound)
    assert np.all(calmer <= spread["y"].to_numpy() * 1.02)
    assert calmer[0] < 0.6 * spread["y"].iloc[0]


def test_printed_sensitivity_is_twice_what_is_needed() -> None:
    sizes = np.array([50, 100, 300, 600, 1000])
    np.testing.assert_allclose(sensitivities(1000, sizes, "exact"), [1 / 20, 1 / 10, 1 / 3, 1, 1], rtol=1e-12)
    np.testing.assert_allclose(sensitivities(1000, sizes, "thesis"), 2 * sizes / 1000, rtol=1e-12)
    np.testing.assert_allclose(sensitivities(1000, sizes, "all orders"), sizes / 1000, rtol=1e-12)
    result = study.run(BatchScenario(trials=16))
    assert (result.cards[3].value, result.cards[3].chip) == ("0.0500", "printed: 0.100")
    assert "2.0×" in result.shows


def test_private_error_against_epsilon_is_exact() -> None:
    result = study.run(BatchScenario(trials=100))
    plain = result.series("without privacy", PANELS["epsilon"])["y"].to_numpy()
    for name, delta in (("private", 0.05), ("private, printed noise", 0.1)):
        rows = result.series(name, PANELS["epsilon"])
        expected = np.sqrt(plain**2 + 2 * (delta / rows["x"].to_numpy()) ** 2)
        np.testing.assert_allclose(rows["y"], expected, rtol=1e-12)


def test_average_over_all_orders_is_the_table_of_the_estimator() -> None:
    rng = np.random.default_rng(3)
    symbols = Zipf(k=30, exponent=1.0).law().sample_symbols(60, 5, rng)
    sizes = np.array([1, 7, 30, 60])
    found = over_all_orders(symbols, sizes)
    for place, m in enumerate(sizes.tolist()):
        table = BatchCoverage().table(60, m / 60 - 1, 30)
        counts = np.stack([np.bincount(row, minlength=30) for row in symbols])
        np.testing.assert_allclose(found[:, place], table.estimate(counts), rtol=1e-12)
    np.testing.assert_allclose(found[:, 3], [np.unique(row).size for row in symbols], rtol=1e-12)


def test_more_records_than_there_are_is_refused() -> None:
    words = study.check(BatchScenario(n=100, m=200), None)
    assert words == (
        "The batch estimator needs at least m records; m is 200 and the sample has 100. Take a smaller m or a larger "
        "sample.",
    )
    with pytest.raises(ParameterError, match="at least m records"):
        study.run(BatchScenario(n=100, m=200))
    assert lengths(BatchScenario(n=100, m=50)).max() <= 100


def test_edges() -> None:
    one = study.run(BatchScenario(m=1, trials=16))
    assert "off by **0 values**." in one.shows
    whole = study.run(BatchScenario(m=1_000, distribution=Uniform(k=50), trials=16, lengths=Grid(low=3, high=9)))
    assert "make 1 block of" in whole.shows
    assert "left over" in study.run(BatchScenario(m=300, trials=16)).shows
    for result in (one, whole):
        for view in study.views:
            study.chart(result, view)


def test_epsilon_and_trials_are_late_and_drafts_work() -> None:
    scenario = BatchScenario(trials=64)
    prepared = study.prepare(scenario, None)
    again = study.prepare(scenario.model_copy(update={"epsilon": 2.0, "trials": 5_000}), None)
    block = study.run_block(prepared, 1)
    np.testing.assert_array_equal(block, study.run_block(again, 1))
    assert block.shape == (study.size(scenario), 2, lengths(scenario).size)
    assert study.assemble(scenario, prepared, [block]).runs == study.size(scenario)
    assert study.assemble(BatchScenario(trials=9), prepared, [block]).runs == 9


@pytest.mark.parametrize("view", list(BatchCoverageStudy.views))
def test_curves_stand_in_the_table(view: str) -> None:
    result = study.run(BatchScenario(trials=32))
    names = set(study.numbers(result, view)["series"]) | {"19 of 20 private answers"}
    assert {mark.name for mark in study.chart(result, view).marks()} <= names  # type: ignore[union-attr]


def test_an_error_stands_in_the_unit_of_its_value() -> None:
    """No percentage beside a number of values: an error below the last digit shown is below one of that digit."""
    result = study.run()
    assert all("%" not in card.chip for card in result.cards)
    mean = result.cards[0]
    assert mean.chip == "± under 0.1"
    assert float(mean.value) > 10
