"""Several releases: both orders, the chain bound, gains that add up, and post-processing that only lowers bars."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import DataError, ParameterError
from privexplorer.studies import study
from privexplorer.studies.composition_ledger import ADDED, ALONE, BEFORE, CHAIN, FORWARD, GAIN, JOINT, REVERSE
from privexplorer.studies.result import Result

QUESTION = study("composition-ledger")
TWENTY: dict[str, Any] = {
    "data": {"kind": "twenty"},
    "first": {"kind": "mean", "columns": ["x1"]},
    "second": {"kind": "mean", "columns": ["x2"]},
    "third": {"kind": "none"},
    "question": {"kind": "one", "column": "q", "sign": "=", "value": "1"},
    "compromised": 0.4,
    "noise": 0.1,
}


def ran(**fields: Any) -> Result:
    return QUESTION.run(QUESTION.scenario.model_validate(fields))


def value(result: Result, series: str, x: str, panel: str = FORWARD) -> float:
    rows = result.series(series, panel)
    return float(rows[rows["x"] == x]["y"].iloc[0])


def test_two_means_by_hand() -> None:
    """σ² by plain projections on x1 and x2, noise ν s² on each; H = 2, n_eff = 0.24 · 20."""
    result = ran(**TWENTY)
    i = np.arange(1, 21)
    x = np.column_stack([(7 * i) % 11 - 5.0, (5 * i) % 13 - 6.0])
    q = (x[:, 0] + (3 * i) % 7 - 3 > 0).astype(float)
    x, q = x - x.mean(axis=0), q - q.mean()
    noise = 0.1**2 * (8 / 0.6) * x.var(axis=0)
    total, cross = x.T @ x / 20 + np.diag(noise), x.T @ q / 20
    left = [q.var(), q.var() - cross[0] ** 2 / total[0, 0], q.var() - cross @ np.linalg.solve(total, cross)]
    factor = 2 * pr.KAPPA / 4.8
    first = factor * np.sqrt(left[0] * (left[0] - left[1]))
    second = factor * np.sqrt(left[1] * (left[1] - left[2]))
    assert value(result, ADDED, "A") == pytest.approx(first, rel=1e-9)
    assert value(result, ALONE, "A") == pytest.approx(first, rel=1e-9)
    assert value(result, ADDED, "B") == pytest.approx(second, rel=1e-9)
    assert value(result, CHAIN, CHAIN) == pytest.approx(first + second, rel=1e-9)
    assert value(result, JOINT, JOINT) == pytest.approx(factor * np.sqrt(left[0] * (left[0] - left[2])), rel=1e-9)
    assert value(result, GAIN, "B") == pytest.approx((left[1] - left[2]) / 4.8, rel=1e-9)


def test_bounds_of_a_chain_and_exact_gains() -> None:
    result = ran()
    for panel in (FORWARD, REVERSE):
        joint = value(result, JOINT, JOINT, panel)
        assert value(result, CHAIN, CHAIN, panel) >= joint * (1 - 1e-12)
        for letter in "ABC":
            assert value(result, ALONE, letter, panel) <= joint * (1 + 1e-12)
    totals = [result.series(GAIN, panel)["y"].sum() for panel in (FORWARD, REVERSE)]
    assert totals[0] == pytest.approx(totals[1], rel=1e-10)
    assert value(result, JOINT, JOINT, FORWARD) == pytest.approx(value(result, JOINT, JOINT, REVERSE), rel=1e-10)
    # each order starts with the release that stands alone
    assert value(result, ADDED, "A", FORWARD) == pytest.approx(value(result, ALONE, "A", FORWARD), rel=1e-12)
    assert value(result, ADDED, "C", REVERSE) == pytest.approx(value(result, ALONE, "C", REVERSE), rel=1e-12)
    assert list(result.series(ALONE, REVERSE)["x"]) == ["C", "B", "A"]
    # the second term is not the separate one
    assert abs(value(result, ADDED, "C") / value(result, ALONE, "C") - 1) > 0.1


@pytest.mark.parametrize("noise", [0.0, 0.005, 0.3])
def test_post_processing_only_lowers_bars(noise: float) -> None:
    result = ran(processed="one", noise=noise)
    plain = ran(noise=noise)
    for panel in (FORWARD, REVERSE):
        for letter in "ABC":
            before, after = value(result, BEFORE, letter, panel), value(result, ALONE, letter, panel)
            assert before == pytest.approx(value(plain, ALONE, letter, panel), rel=1e-12)
            assert after <= before * (1 + 1e-9)
        assert value(result, JOINT, JOINT, panel) <= value(result, BEFORE, JOINT, panel) * (1 + 1e-9)
    # the regression has three numbers, so it loses; single means lose nothing
    assert value(result, ALONE, "B") < 0.9 * value(plain, ALONE, "B")
    assert value(result, ALONE, "A") == pytest.approx(value(plain, ALONE, "A"), rel=1e-9)


def test_coarsening_equals_the_general_rule() -> None:
    """The study's R against the package's post-processing of the joint release."""
    scenario = QUESTION.scenario.model_validate({"processed": "one", "noise": 0.05})
    prepared = QUESTION.prepare(scenario, None)
    size = pr.shard_size(scenario.compromised, prepared.n)
    sigma = np.diag(np.square(0.05 * prepared.spreads))
    found = pr.post_process(prepared.summary, sigma, prepared.rule, size.multiplier("release"))
    joint = value(QUESTION.assemble(scenario, prepared, []), JOINT, JOINT)
    base = 2 * pr.KAPPA / size.effective * prepared.summary.query_variance[0]
    assert joint == pytest.approx(base * np.sqrt(found.after[0]), rel=1e-8)
    assert found.after[0] < found.before[0]


def test_more_noise_lowers_every_single_bar_and_the_printed_scale_raises_them() -> None:
    quiet, loud, printed = ran(noise=0.01), ran(noise=0.1), ran(noise=0.1, noise_scale="paper")
    for letter in "ABC":
        assert value(loud, ALONE, letter) < value(quiet, ALONE, letter)
        assert value(printed, ALONE, letter) > value(loud, ALONE, letter)


def test_one_release_and_four() -> None:
    alone = ran(second={"kind": "none"}, third={"kind": "none"})
    assert value(alone, JOINT, JOINT) == pytest.approx(value(alone, CHAIN, CHAIN))
    assert "One release" in alone.shows
    four = ran(fourth={"kind": "rate", "column": "diabetic", "sign": "=", "value": "1"})
    assert list(four.series(ALONE, FORWARD)["x"]) == list("ABCD")
    assert value(four, JOINT, JOINT) >= value(ran(), JOINT, JOINT)


def test_the_same_mean_twice_adds_nothing_without_noise() -> None:
    result = ran(second={"kind": "mean", "columns": ["pressure"]}, third={"kind": "none"}, noise=0.0)
    assert value(result, GAIN, "B") == pytest.approx(0.0, abs=1e-15)
    noisy = ran(second={"kind": "mean", "columns": ["pressure"]}, third={"kind": "none"}, noise=0.05)
    assert value(noisy, GAIN, "B") > 0.1 * value(noisy, GAIN, "A")


def test_views_show_bounds_or_gains() -> None:
    result = ran(processed="one")
    bounds = QUESTION.chart(result, "bounds")
    assert [panel.title for panel in bounds.panels] == [FORWARD, REVERSE]
    assert {mark.name for mark in bounds.panels[0].marks} == {ALONE, ADDED, JOINT, CHAIN, BEFORE}
    gains = QUESTION.chart(result, "gains")
    heights = sum(np.array(mark.y, dtype=float) for mark in gains.marks())  # type: ignore[union-attr]
    assert heights[0] == pytest.approx(heights[1], rel=1e-9)
    assert set(QUESTION.numbers(result, "gains")["series"]) == {GAIN}


def test_unknown_columns_are_refused_in_a_sentence() -> None:
    with pytest.raises(ParameterError, match="no column “salary”"):
        ran(third={"kind": "mean", "columns": ["salary"]})
    with pytest.raises((ParameterError, DataError), match="numbers"):
        ran(question={"kind": "one", "column": "age", "sign": ">", "value": "old"})


def test_only_the_named_numbers_are_added_up() -> None:
    """Keeping one of two means is publishing it alone; two of three are their sum, whatever the third."""
    both = {**TWENTY, "first": {"kind": "mean", "columns": ["x1", "x2"]}, "second": {"kind": "none"}}
    coarse = ran(**both, processed="one", added=[2])
    alone = ran(**{**both, "first": {"kind": "mean", "columns": ["x2"]}})
    for series in (ALONE, GAIN):
        assert value(coarse, series, "A") == pytest.approx(value(alone, series, "A"), rel=1e-9)
    assert value(ran(**both, processed="one"), ALONE, "A") != pytest.approx(value(coarse, ALONE, "A"), rel=0.01)
    three = {"kind": "mean", "columns": ["age", "weight", "cost"]}
    two = {"kind": "mean", "columns": ["age", "cost"]}
    some, rest = (
        ran(first=first, second={"kind": "none"}, third={"kind": "none"}, processed="one", added=added)
        for first, added in ((three, [1, 3]), (two, []))
    )
    assert value(some, ALONE, "A") == pytest.approx(value(rest, ALONE, "A"), rel=1e-9)
    assert "Added up, by release: A: 1 and 3 of 3." in [note.text for note in some.notes]


def test_numbers_that_a_release_lacks_leave_it_whole() -> None:
    assert ran(processed="one", added=[40]).frame.equals(ran(processed="one").frame)
    with pytest.raises(ParameterError, match="1"):
        ran(processed="one", added=[0])
