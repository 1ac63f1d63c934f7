"""Propositions, errata and coverage tables through the study: every check holds, and would fail if it were off."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privexplorer.studies import study
from privexplorer.studies._effect_claims import CLAIMS, Check
from privexplorer.studies._effect_errata import WITHOUT_NUMBER, errata
from privexplorer.studies._effect_tables import TABLES, WIDEST, Point, draw, point, truth_and_bound
from privexplorer.studies.reproduce_effects import FOUND, PRINTED, TITLES
from privexplorer.studies.result import Result

QUESTION: Any = study("reproduce-effects")


def ran(item: str, **fields: Any) -> Result:
    return QUESTION.run(QUESTION.scenario(item=item, **fields))


@pytest.mark.parametrize("item", CLAIMS)
def test_every_statement_holds(item: str) -> None:
    checks = CLAIMS[item]()
    assert checks
    for one in checks:
        assert one.holds, (one.text, one.evidence)
        # the same numbers off by a tenth are refused
        if not one.at_most and any(one.expected):
            assert not replace(one, found=tuple(1.1 * value for value in one.found)).holds, one.text
    assert len({one.label for one in checks}) == len(checks)


def test_a_statement_that_fails_is_told() -> None:
    low = Check("low", "At most one.", (1.0,), (1.2,), at_most=True)
    assert not low.holds
    assert low.error == pytest.approx(0.2)
    assert low.evidence == "The limit is 1; found 1.20000, above it."
    assert replace(low, found=(-21.25,)).evidence == "The limit is 1; found −21.2500, not above it."
    assert not Check("zero", "Nothing.", (0.0,), (1e-3,)).holds


def test_result_counts_the_statements() -> None:
    result = ran("thm2")
    assert result.cards[0].value == "8 of 8"
    assert result.shows.count("**Holds.**") == 8
    assert (result.frame["y"] < 1e-9).sum() >= 7
    bench = ran("bench")
    assert bench.cards[0].value == "92 of 92"
    assert len(QUESTION.table(bench)) == 92


def test_errata_show_both_numbers() -> None:
    rows = {one.id: one for one in errata()}
    wanted = {
        "E1": (3 * 0.180434782609, 0.180434782609), "E2": (0.64872, 0.11484), "E2b": (1.768, 0.489011),
        "E3": (185.9, 19.37), "E5": (0.25119, 15.849), "E6": (1.0, -1.0), "E9": (3.27, 1.0), "E9b": (0.68, 1.0),
        "E9c": (1.0605, 1.0), "E10": (0.05818, 0.04155), "E11": (-0.0133, 1.2),
        "E16": (3 * 3.26185616103, 3.26185616103),
    }  # fmt: skip
    for name, (printed, corrected) in wanted.items():
        assert rows[name].printed == pytest.approx(printed, rel=6e-3), name
        assert rows[name].corrected == pytest.approx(corrected, rel=1e-3), name
    assert rows["E4"].printed > 1.02 * rows["E4"].corrected
    assert rows["E8"].corrected == pytest.approx(19.3683196932, rel=1e-9)
    assert set(rows) - set(wanted) == {"E4", "E8"}
    numbered = {name.rstrip("bc") for name in rows} | {name for name, _ in WITHOUT_NUMBER}
    assert numbered == {f"E{place}" for place in range(1, 23)}
    result = ran("errata")
    assert "E6 and E11 have the wrong sign" in result.notes[0].text
    assert set(QUESTION.table(result)["x"]) == set(rows)
    # what stands beside a bound is the variance itself
    assert "and that variance, α = 0.2: printed 186, exact 19.4." in result.shows


@pytest.mark.parametrize(("law", "bounds"), [
    ("law-b", (10.29, 23.75, 2.237, 4.115, 1.177, 1.530)), ("law-a", (19.37, 65.76, 3.262, 8.941, 1.248, 1.927)),
    ("law-c", (306.8, 274.3, 39.4, 36.0, 7.04, 7.16)),
])  # fmt: skip
def test_bounds_are_those_of_the_tables(law: str, bounds: tuple[float, ...]) -> None:
    found = [truth_and_bound(one, target)[1] for one in TABLES[law].settings[:3] for target in (0, 1)]
    np.testing.assert_allclose(found, bounds, rtol=2e-3)


@pytest.mark.parametrize("item", ["law-b", "law-a"])
def test_finite_tables_agree_with_the_reference(item: str) -> None:
    result = ran(item)
    assert result.runs == 2_000
    agree, total = (int(part) for part in result.cards[0].value.split(" of "))
    assert agree == total == (48 if item == "law-b" else 46)
    for effect in ("ATE", "ATT"):
        naive = result.series(f"{effect}, {FOUND}", "naive: bias").set_index("x")["y"]
        printed = result.series(f"{effect}, {PRINTED}", "naive: bias").set_index("x")["y"]
        np.testing.assert_allclose(naive, printed, atol=0.006)


def test_a_wrong_table_would_be_noticed() -> None:
    table = TABLES["law-b"]
    setting = table.settings[4]
    rng = np.random.default_rng(1)
    drawn = np.concatenate([draw(table, setting, rng) for _ in range(10)])
    right = point(table, setting, "plug-in", 0, "coverage", drawn)
    assert right is not None
    assert right.verdict == "holds"
    narrow = drawn.copy()
    narrow[:, 1] *= 0.85  # standard errors too small
    wrong = point(table, setting, "plug-in", 0, "coverage", narrow)
    assert wrong is not None
    assert wrong.verdict == "does not hold"
    assert wrong.away > 4
    shifted = drawn.copy()
    shifted[:, 12] += 0.01  # naive estimate of the average effect
    off = point(table, setting, "naive", 0, "bias", shifted)
    assert off is not None
    assert off.verdict == "does not hold"


def test_three_standard_errors_are_the_limit_and_few_runs_judge_nothing() -> None:
    near = Point("1k", 0.9, 0.9 + 0.0005 + 2.9 * 0.025, 0.015, 0.02, WIDEST)
    assert near.error == pytest.approx(0.025)
    assert near.verdict == "holds"
    assert replace(near, found=0.9 + 0.0005 + 3.1 * 0.025).verdict == "does not hold"
    # 3 standard errors of 0.025 are 0.075: told below 0.1, not told above
    for scale, told in ((1.3, True), (1.4, False)):
        wide = replace(near, printed_error=scale * 0.015, found_error=scale * 0.02)
        assert wide.told == told
        assert replace(wide, found=0.1).verdict == ("does not hold" if told else "cannot be told")


def test_few_runs_are_not_taken_for_agreement() -> None:
    result = ran("repair", trials=16)
    assert result.shows.count("Cannot be told with this many runs") == 2
    agree, total = (int(part) for part in result.cards[0].value.split(" of "))
    assert agree <= total / 4
    assert "cannot be told with this many runs" in result.takeaway


def test_repair_and_continuous_tables_draw_a_little() -> None:
    result = ran("repair", trials=16)
    assert result.runs == 16
    assert set(result.frame["panel"]) == {"coverage", "variance ÷ bound"}
    scenario = QUESTION.scenario(item="law-c", trials=8)
    prepared = QUESTION.prepare(scenario, None)
    blocks = [QUESTION.run_block(prepared, block) for block in range(6)]
    draft = QUESTION.assemble(scenario, prepared, blocks)
    assert draft.runs == 2
    assert blocks[0].shape == (1, 18, 1)
    assert all(math.isfinite(value) for value in blocks[0].ravel())


def test_every_item_has_a_title() -> None:
    choices = set(QUESTION.scenario.model_fields["item"].annotation.__args__)
    assert choices == set(TITLES) == set(CLAIMS) | set(TABLES) | {"errata"}
