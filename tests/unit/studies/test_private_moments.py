"""A slope by private moments through the study: gold values, naive slope, weights at any γ₀, rates, drafts."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from privexplorer.causal import AlphaIdentity, GaussianNoise, Linear, SlopeLaw, private_design, private_moments
from privexplorer.studies import private_moments as moments
from privexplorer.studies import study
from privexplorer.studies.result import Result

QUESTION: Any = study("private-moments")


@cache
def usual() -> Result:
    return QUESTION.run()


def test_formula_has_the_gold_value_and_the_limit() -> None:
    texts = {one.title: one.numbers for one in usual().formulas}
    assert texts["Variance of a slope"].endswith("32")
    assert texts["Growth as less is kept"] == "13"
    curve = usual().series(moments.CURVE)
    at = curve.iloc[(curve["x"] - 0.5).abs().argmin()]
    assert at["y"] == pytest.approx(math.sqrt(32 / 5_000), rel=1e-12)
    assert curve["y"].iloc[-1] == pytest.approx(1 / math.sqrt(5_000), rel=1e-12)
    limit = usual().series(moments.LIMIT)
    np.testing.assert_allclose(limit["y"] * limit["x"], math.sqrt(13 / 5_000), rtol=1e-6)


@pytest.mark.parametrize("keep", [0.3, 0.7, 1.0])
def test_many_slopes_are_those_of_private_moments(keep: float) -> None:
    rng = np.random.default_rng(1)
    y, x = SlopeLaw(2.0, 0.0, 1.0).sample(3_000, rng)
    noise = GaussianNoise(0.0, 0.8)
    z = np.where(rng.random(3_000) < keep, x, noise.sample(3_000, rng))
    found = private_moments(private_design(AlphaIdentity(keep, noise), z, Linear()), y)
    slope, error = moments.slopes(y[None, :], z[None, :], keep, 0.8)
    assert slope[0] == pytest.approx(found.coefficients[1], rel=1e-10)
    assert error[0] == pytest.approx(found.std_error[1], rel=1e-10)


def test_simulated_points_lie_on_the_curve() -> None:
    rows = usual().series(moments.POINTS).set_index("x")
    for keep in (0.4, 0.5, 0.8, 1.0):
        want = math.sqrt((1 + (1 - keep) / keep * 5 + (1 - keep) / keep**2 * 13) / 5_000)  # b = 2, σ = τ = 1 by hand
        row = rows.loc[keep]
        # 4 standard errors, and 5% for samples of 5,000 people
        assert abs(row["y"] - want) < 4 * row["std_error"] + 0.05 * want
        assert row["std_error"] < 0.06 * want
    covered = usual().extra["covered"]
    assert abs(covered - 0.95) < 4 * math.sqrt(0.95 * 0.05 / usual().runs)


def test_naive_slope_is_pulled_towards_zero_and_the_private_one_is_not() -> None:
    result = usual()
    curve = result.series(moments.NAIVE).set_index("x")["y"]
    for keep, rows in result.series(moments.NAIVE_POINTS).set_index("x").iterrows():
        # τ = 1: the slope is α b
        assert abs(rows["y"] - 2 * keep) < 4.5 * rows["std_error"] + 1e-12
    assert curve.loc[0.5] == pytest.approx(1.0, rel=1e-9)
    private = result.series(moments.PRIVATE).set_index("x").loc[0.6]
    assert abs(private["y"] - 2) < 4.5 * private["std_error"] + 0.01


def test_weights_have_the_same_coefficient_at_every_fixed_share() -> None:
    theta = usual().extra["theta"]
    assert max(theta) - min(theta) < 1e-8
    assert abs(theta[0] - 1) < 0.5
    one, other = (usual().series(moments.share_name(share))["y"].to_numpy() for share in (0.2, 1.0))
    np.testing.assert_allclose(one, 25 * other, rtol=1e-9)
    middle = moments.WIDTH // 2
    assert int(np.argmin(one)) == middle
    assert one[middle] == pytest.approx(0, abs=1e-10)


def test_errors_fall_like_the_root_of_n() -> None:
    for panel in ("regression", "weights"):
        for keep, within in ((1.0, 0.12), (0.5, 0.3)):
            rows = usual().series(rate_series(keep), moments.PANELS[panel])
            # 16 times as many people; the private weights are not yet in the limit at 1,000
            slope = math.log(rows["y"].iloc[-1] / rows["y"].iloc[0]) / math.log(16)
            assert slope == pytest.approx(-0.5, abs=within), (panel, keep)
        open_data, private = (usual().series(rate_series(k), moments.PANELS[panel])["y"] for k in (1.0, 0.5))
        assert (private.to_numpy() > open_data.to_numpy()).all()


def rate_series(keep: float) -> str:
    return moments.OPEN if keep == 1 else moments.rate_name(keep)


@pytest.mark.parametrize(
    "more", [{"keep": 0.3}, {"keep": 0.8, "slope": 1.0, "outcome_std": 3.0, "noise_std": 0.5, "n": 8_000}]
)
def test_more_people_uses_the_visitors_settings(more: dict[str, float]) -> None:
    # level and slope of the line are off by independent errors of variance V/n (Prop. 2, closed forms)
    scenario = QUESTION.scenario(**more)
    prepared = QUESTION.prepare(scenario, None)
    sizes = moments.rate_sizes(scenario.n, scenario.keep)
    keep, b, sigma = scenario.keep, scenario.slope, scenario.outcome_std
    slope = float(QUESTION.variance(scenario, np.array(keep)))
    level = sigma**2 + (1 - keep) / keep * b**2 + (1 - keep) / keep**2 * b**2 * scenario.noise_std**2
    runs = 30
    square = np.array([moments.rate_errors(prepared, block)[0] for block in range(runs)]) ** 2
    for row, variance in ((0, 2 * sigma**2), (1, slope + level)):
        found = square[:, row, -1]
        error = float(found.std(ddof=1)) / math.sqrt(runs)
        assert abs(found.mean() - variance / sizes[-1]) < 3 * error
        assert error < 0.35 * variance / sizes[-1]


def test_chart_of_more_people_names_the_visitors_alpha() -> None:
    scenario = QUESTION.scenario(keep=0.3, trials=32)
    result = QUESTION.run(scenario)
    chart = QUESTION.chart(result, "rates")
    assert chart.names[0] == "private, α = 0.3"
    assert [panel.here for panel in chart.panels] == [(5_000.0, "your n = 5,000")] * 2
    rows = result.series("private, α = 0.3", moments.PANELS["weights"])
    assert tuple(rows["x"]) == moments.rate_sizes(5_000, 0.3) == (2_778, 11_112, 44_448)
    assert (rows["y"].to_numpy() > result.series(moments.OPEN, moments.PANELS["weights"])["y"].to_numpy()).all()


def test_hopeless_noise_is_flagged() -> None:
    result = QUESTION.run(QUESTION.scenario(keep=0.05, n=300, trials=8, noise_std=2.0))
    assert any(note.level == "warning" for note in result.notes)


def test_block_size_follows_n_and_a_draft_stands() -> None:
    scenario = QUESTION.scenario(n=40_000, trials=8)
    assert QUESTION.blocks(scenario) == 4
    prepared = QUESTION.prepare(scenario, None)
    draft = QUESTION.assemble(scenario, prepared, [QUESTION.run_block(prepared, 0)])
    assert draft.runs == 2
    later = QUESTION.run_block(prepared, moments.RATE_BLOCKS)
    assert np.isnan(later[:, :, len(moments.KEEPS) :]).all()
    assert np.isfinite(later[:, :, : len(moments.KEEPS)]).all()
