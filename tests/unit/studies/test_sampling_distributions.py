"""Estimates over many studies: limits, spread and coverage against the tables of the source."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.studies._effects import LawB, PointNoise
from privexplorer.studies.sampling_distributions import (
    BLOCK,
    COVERAGE,
    NAIVE,
    OPEN,
    PRIVATE,
    SIMULATED,
    SWEEP,
    TRUTH,
    SamplingDistributions,
    SamplingScenario,
    covered,
    density,
    rung_name,
)

STUDY = SamplingDistributions()
make = SamplingScenario


@pytest.mark.parametrize(("target", "limit"), [("ate", 0.30729876046), ("att", 0.305808011756)])
def test_naive_limit(target: str, limit: float) -> None:
    """Ledger L-E3, L-Ex2, L-Ex3 (G8, G9): exact limit, and the simulated mean beside it."""
    result = STUDY.run(make(target=target, trials=120))
    rows = result.series(NAIVE, SWEEP)
    assert float(rows.loc[rows["x"] == 0.5, "y"].iloc[0]) == pytest.approx(limit, rel=1e-9)
    simulated = result.series(NAIVE, SIMULATED)
    at = simulated[simulated["x"] == 0.5].iloc[0]
    assert abs(at["y"] - limit) < 4 * at["std_error"] + 2e-4
    truth = {"ate": 0.22, "att": 0.180434782609}[target]
    assert result.series(TRUTH, rung_name(0.5))["x"].iloc[0] == pytest.approx(truth, rel=1e-9)
    assert np.allclose(result.series(PRIVATE, SWEEP)["y"], truth)


def test_spread_and_coverage_of_law_b() -> None:
    """Ledger L-C1, L-P4 (table 6.1: law B, 3,000 people, 0.5): ratio 1.00, coverage .956, naive .001."""
    result = STUDY.run(make(law=LawB(), n=3_000, keep=0.5, trials=600))
    at = result.series(PRIVATE, SIMULATED)
    row = at[at["x"] == 0.5].iloc[0]
    variance = row["std_error"] ** 2 * 600 * 3_000
    # the standard error of a variance over 600 runs is 5.8 %: three of them
    assert variance / 2.237 == pytest.approx(1.004, abs=0.18)
    for method, share in ((PRIVATE, 0.956), (NAIVE, 0.001), (OPEN, 0.95)):
        rows = result.series(method, COVERAGE)
        found = float(rows.loc[rows["x"] == 0.5, "y"].iloc[0])
        assert abs(found - share) < 3 * math.sqrt(share * (1 - share) / 600) + 1e-3, method
    assert result.runs == 600


def test_open_data_does_not_depend_on_the_coins() -> None:
    """Ledger L-C6: the same people at all keep probabilities, so one open analysis."""
    result = STUDY.run(make(trials=40))
    assert result.series(OPEN, SIMULATED)["y"].nunique() == 1
    assert result.series(NAIVE, SIMULATED)["y"].is_monotonic_decreasing


def test_own_level_joins_the_others() -> None:
    scenario = make(keep=0.4, trials=20)
    result = STUDY.run(scenario)
    assert result.extra["keeps"] == (0.3, 0.4, 0.5, 0.7, 0.9)
    chart = STUDY.chart(result, "ridge")
    assert [panel.title for panel in chart.panels][1] == "α = 0.4 (yours)"
    assert STUDY.run_block(STUDY.prepare(scenario, None), 0).shape == (BLOCK, 6, 5)


def test_guard_is_said() -> None:
    few = STUDY.run(make(law=LawB(), n=200, keep=0.5, trials=20))
    assert any(note.level == "warning" for note in few.notes)
    many = STUDY.run(make(law=LawB(), n=30_000, trials=20))
    assert not any(note.level == "warning" for note in many.notes)


def test_draft_is_cut_to_the_runs() -> None:
    scenario = make(trials=50)
    prepared = STUDY.prepare(scenario, None)
    parts = [STUDY.run_block(prepared, block) for block in range(STUDY.blocks(scenario))]
    assert STUDY.blocks(scenario) == 3
    draft, whole = (STUDY.assemble(scenario, prepared, part) for part in (parts[:1], parts))
    assert (draft.runs, draft.complete) == (20, False)
    assert (whole.runs, whole.complete) == (50, True)


def test_density_has_the_shape_of_the_estimates() -> None:
    grid = np.linspace(-4, 4, 161)
    found = density(np.random.default_rng(0).standard_normal(4_000), grid)
    assert found.max() == 1.0
    assert abs(grid[found.argmax()]) < 0.4
    half = grid[found >= 0.5]
    assert half[-1] - half[0] == pytest.approx(2.355, abs=0.3)
    assert density(np.array([np.nan]), grid).max() == 0


def test_share_of_nothing_is_not_certain() -> None:
    share, error = covered(np.zeros((50, 1)), np.full((50, 1), np.nan), 0.0)
    assert share[0] == 0
    assert error[0] > 0


def test_noise_that_erases() -> None:
    result = STUDY.run(make(noise=PointNoise(code=1), trials=20))
    assert np.isfinite(result.series(PRIVATE, SIMULATED)["y"]).all()
