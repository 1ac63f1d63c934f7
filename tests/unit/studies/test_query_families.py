"""Families of questions: gold values through the study, bounds above the simulated supremum, tails, errata."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import DataError, ParameterError
from privexplorer.studies import study
from privexplorer.studies.result import Result

QUESTION = study("query-families")
I = np.arange(1, 21)  # noqa: E741
X1, X2 = (7 * I) % 11 - 5.0, (5 * I) % 13 - 6.0
Y = X1 - 2 * X2 + (3 * I) % 7 - 3
TWENTY: dict[str, Any] = {
    "data": {"kind": "twenty"}, "features": ["x1", "x2"], "published": {"kind": "mean", "columns": ["y"]},
    "scaled": False, "radius": 1.5, "compromised": 0.4, "noise_scale": "paper", "noise": 2 / Y.std(),
}  # fmt: skip


def ran(**fields: Any) -> Result:
    return QUESTION.run(QUESTION.scenario.model_validate(fields))


def curve(result: Result, view: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = QUESTION.numbers(result, view)
    rows = rows[rows["series"] == name]
    assert len(rows)
    return rows["x"].to_numpy(dtype=float), rows["y"].to_numpy(dtype=float)


def at_radius(result: Result, name: str, radius: float) -> float:
    x, y = curve(result, "bounds", name)
    return float(np.exp(np.interp(math.log(radius), np.log(x), np.log(y))))


def test_gold_values_of_the_ball() -> None:
    """G9: mean of y with variance 4, B = 1.5."""
    result = ran(**TWENTY)
    assert at_radius(result, "Theorem A.21", 1.5) == pytest.approx(100.63526, rel=1e-7)
    assert at_radius(result, "Theorem 5.2", 1.5) == pytest.approx(223.0781305, rel=1e-7)
    assert at_radius(result, "Theorem 5.2, printed", 1.5) == pytest.approx(223.0781305 / 1.5, rel=1e-7)
    numbers = " ".join(one.numbers for one in result.formulas)
    for text in ("22.7375", "10.7856", "0.971456"):
        assert text in numbers


def test_high_probability_form_of_the_general_bound() -> None:
    """G9 mean_x: δ = 0.05 and 0.01; noise variance 1 on both means."""
    noise = {"kind": "mean", "columns": ["x1", "x2"]}
    family = pr.linear_family(
        pr.moment_summary(np.column_stack([X1, X2]), np.column_stack([X1 - X1.mean(), X2 - X2.mean()])),
        pr.shard_size(0.4, 20), np.diag([0.09 * X1.var(), 0.09 * X2.var()]),
    )  # fmt: skip
    result = ran(**{**TWENTY, "published": noise, "noise": 0.3})
    x, y = curve(result, "tail", "bound at level δ")
    for delta in (0.05, 0.01):
        assert y[x == delta][0] == pytest.approx(family.bound("l2", 1.5, delta=delta), rel=1e-9)


@pytest.mark.parametrize("shape", ["l2", "l1"])
def test_suprema_stay_below_both_bounds(shape: str) -> None:
    result = ran(shape=shape)
    x, simulated = curve(result, "bounds", "simulated supremum")
    _, general = curve(result, "bounds", "Theorem A.21")
    _, loose = curve(result, "bounds", "Theorem 5.2")
    assert (simulated > 0).all()
    assert (simulated < general).all()
    assert (general < loose).all()
    # both grow with the square of the radius; the printed bound with the radius
    np.testing.assert_allclose(simulated / simulated[0], (x / x[0]) ** 2, rtol=1e-9)
    _, printed = curve(result, "bounds", "Theorem 5.2, printed")
    np.testing.assert_allclose(printed / printed[0], x / x[0], rtol=1e-9)


def test_the_printed_bound_fails_for_large_radii() -> None:
    """E6: mean of x published, B = 20; the supremum exceeds B but not B²."""
    both = {"kind": "mean", "columns": ["x1", "x2"]}
    result = ran(**{**TWENTY, "published": both, "radius": 20.0, "noise": 0.2})
    assert at_radius(result, "simulated supremum", 380) > at_radius(result, "Theorem 5.2, printed", 380)
    assert at_radius(result, "simulated supremum", 380) < at_radius(result, "Theorem A.21", 380)


def test_the_l1_ball_lies_inside_the_euclidean_one() -> None:
    wide, narrow = ran(), ran(shape="l1")
    assert at_radius(narrow, "simulated supremum", 1.0) < at_radius(wide, "simulated supremum", 1.0)
    d = len(QUESTION.scenario().features)
    assert at_radius(narrow, "simulated supremum", 1.0) > at_radius(wide, "simulated supremum", 1.0) / d


def test_lists_of_questions_cost_a_logarithm() -> None:
    """G10-like: 3 possible processes; the bound at all pairs is Thm 5.1, one pair has κ."""
    result = ran(shape="finite", process={"kind": "unknown", "column": "visits", "bias": 1.0})
    x, bound = curve(result, "bounds", "Theorem 5.1")
    assert bound[0] / bound[-1] == pytest.approx((1 + math.log(4)) / (1 + math.log(4e6)), rel=1e-9)
    pairs, computed = curve(result, "bounds", "these questions")
    assert pairs[-1] == 15
    assert (np.diff(computed) > 0).all()
    assert computed[-1] == pytest.approx(float(np.interp(math.log(15), np.log(x), bound)), rel=1e-3)
    sizes, gains = curve(result, "bounds", "simulated, these questions")
    assert (np.diff(gains) >= 0).all()
    assert (gains < computed[: sizes.size]).all()


def test_gold_value_of_a_list() -> None:
    """The terms of G10 (uniform process): V_q r of four questions, mean of x published with noise 1 and 2."""
    scenario = QUESTION.scenario.model_validate(
        {**TWENTY, "published": {"kind": "mean", "columns": ["x1", "x2"]}, "shape": "finite"}
    )
    prepared = QUESTION.prepare(scenario, None)
    found = pr.finite_family(prepared.listed, pr.sample_attack_size(8), np.diag([1.0, 2.0]))
    np.testing.assert_allclose(found.terms[0], [0.1761960089, 0.2082262619, 0.2024774736, 0.189977947], rtol=1e-8)
    assert found.bound == pytest.approx(2 / 8 * (1 + math.log(16)) * 0.2082262619, rel=1e-8)


def test_complexities_are_printed_too_small_for_the_l1_ball() -> None:
    result = ran(shape="l1")
    d, exact = curve(result, "complexity", "exact complexity")
    _, bound = curve(result, "complexity", "bound on complexity")
    _, printed = curve(result, "complexity", "complexity as printed")
    assert (printed < exact).all()
    assert (exact < bound).all()
    for k, values in ((1, (0.797, 0, 1.177)), (200, (2.967, 2.302, 3.462))):
        place = d == k
        np.testing.assert_allclose([exact[place][0], printed[place][0], bound[place][0]], values, atol=2e-3)
    ball = ran()
    assert (
        curve(ball, "complexity", "exact complexity")[1] < curve(ball, "complexity", "bound on complexity")[1]
    ).all()


@pytest.mark.parametrize("shape", ["l2", "l1", "finite"])
def test_levels_are_exceeded_less_often_than_said(shape: str) -> None:
    """Thm A.23 and the high-probability forms: simulated quantiles below the levels at every δ."""
    result = ran(shape=shape)
    _, level = curve(result, "tail", "level of Theorem A.23")
    _, quantile = curve(result, "tail", "simulated quantile of the error")
    assert (quantile < level).all()
    # the level is not idle: at small δ the quantile reaches more than half of it
    assert (quantile[:5] > 0.5 * level[:5]).all()
    _, bound = curve(result, "tail", "bound at level δ")
    _, gap = curve(result, "tail", "simulated quantile of the gap")
    assert (gap < bound).all()
    assert (np.diff(quantile) < 0).all()


def test_noise_and_family_need_no_new_draws() -> None:
    make = QUESTION.scenario.model_validate
    same = QUESTION.digest(make({}))
    for late in ({"noise": 0.3}, {"shape": "l1"}, {"radius": 3.0}, {"compromised": 0.1}, {"noise_scale": "paper"}):
        assert QUESTION.digest(make(late)) == same
    assert QUESTION.digest(make({"features": ["age"]})) != same
    quiet, loud = ran(noise=0.01), ran(noise=0.5)
    assert at_radius(loud, "simulated supremum", 1.0) < at_radius(quiet, "simulated supremum", 1.0)


def test_a_draft_and_the_charts() -> None:
    scenario = QUESTION.scenario()
    prepared = QUESTION.prepare(scenario, None)
    draft = QUESTION.assemble(scenario, prepared, [QUESTION.run_block(prepared, 0)])
    assert draft.runs == 250
    for view in QUESTION.views:
        chart = QUESTION.chart(draft, view)
        names = {mark.name for mark in chart.marks()}
        assert names <= set(draft.frame["series"])
        assert set(QUESTION.numbers(draft, view)["series"]) >= names


def test_refusals() -> None:
    with pytest.raises(DataError, match="“ward” holds texts"):
        ran(features=["age", "ward"])
    with pytest.raises(ParameterError, match="no column “income”"):
        ran(features=["income"])
    with pytest.raises(ParameterError, match="At most 12 columns"):
        ran(features=[f"x{place}" for place in range(13)])


@pytest.mark.parametrize("shape", ["l2", "finite"])
def test_the_worst_gain_is_told_as_a_limit(shape: str) -> None:
    result = ran(shape=shape, trials=250)
    assert "the limit of many records" in result.shows
    assert "really" not in result.shows + QUESTION.lead
