"""ε against γ: the two families of Thm 2.5, nobody known, group privacy."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from privexplorer.figures import draw
from privexplorer.studies.chart import Points
from privexplorer.studies.incomparable import (
    EMPTY,
    EXACT,
    GAP,
    PANELS,
    PRIVATE,
    SIMULATED,
    THEORY,
    WITH,
    WITHOUT,
    Incomparable,
    IncomparableScenario,
    private_at,
)

STUDY = Incomparable()
make = IncomparableScenario


@pytest.mark.parametrize(("people", "gamma"), [(50, 0.09), (100, 0.17), (400, 0.23), (1600, 0.245)])
def test_private_yet_predictable(people: int, gamma: float) -> None:
    """Ledger P-T2.5i (R2): theory, and simulation within four standard errors."""
    result = STUDY.run(make(people=people))
    assert result.extra["case"].bound == pytest.approx(gamma, rel=1e-12)
    assert result.extra["case"].epsilon == pytest.approx(people**-0.5, rel=1e-12)
    rows = result.series(PRIVATE + SIMULATED, PANELS["size"])
    mean, error = float(rows["y"].iloc[0]), float(rows["std_error"].iloc[0])
    assert mean == pytest.approx(gamma, abs=4 * error)
    assert error < 0.1 * gamma


def test_small_tables_are_hidden_by_the_noise() -> None:
    assert private_at(make(), 32).bound == 0.0
    assert private_at(make(), 33).bound > 0.0
    result = STUDY.run(make(people=30))
    assert "bound of the private release is empty" in result.notes[0].text
    assert STUDY.chart(result, "quadrant").marks()


@pytest.mark.parametrize("people", [100, 1000, 10_000])
def test_not_private_yet_unpredictable(people: int) -> None:
    """Ledger P-T2.5ii (R3): 1/(N - 1) at p = α = 1/2, exactly also in the simulated law."""
    result = STUDY.run(make(people=people))
    assert result.extra["gain"] == pytest.approx(1 / (people - 1), rel=1e-12)
    rows = result.series(EXACT + SIMULATED, PANELS["size"])
    assert float(rows["y"].iloc[0]) == pytest.approx(1 / (people - 1), abs=4 * float(rows["std_error"].iloc[0]))
    exact = result.series(EXACT, PANELS["size"])
    slope = np.polyfit(np.log(exact["x"] - 1), np.log(exact["y"]), 1)[0]
    assert slope == pytest.approx(-1.0, abs=1e-9)


def test_nobody_known() -> None:
    """Ledger P-X5: 0.0708 at N = 100, at least 0.065 of a prior variance of 0.085; grows to 1/12."""
    empty = STUDY.run(make(people=100)).extra["empty"]
    assert empty.gain == pytest.approx(0.07080, abs=5e-6)
    assert empty.lower_bound == pytest.approx(0.065, abs=5e-4)
    rows = STUDY.run(make()).series(EMPTY, PANELS["size"])
    assert rows["y"].is_monotonic_increasing
    assert rows["y"].iloc[-1] == pytest.approx(1 / 12, rel=0.02)


def test_group_budget_beside() -> None:
    """Ledger P-X6: 500 people at ε = 0.1 make 50, where γ is 1/999."""
    result = STUDY.run(make(people=1000, rule="own", epsilon=0.1))
    assert result.cards[2].value == "50.0"
    assert result.extra["gain"] == pytest.approx(1 / 999, rel=1e-12)
    assert result.extra["case"].epsilon == 0.1
    assert result.extra["case"].noise_variance == pytest.approx(8 / 100**2, rel=1e-12)


def test_noisy_rate_is_private() -> None:
    """Ledger P-DA.2: the log density ratio of neighbours reaches ε and never more; E11 beside."""
    result = STUDY.run(make(people=100))
    assert result.formulas[5].numbers == r"0.1\le0.1"
    assert r"\text{, which is }10\text{-DP)" in result.formulas[1].numbers


@pytest.mark.parametrize("scenario", [make(), make(people=50, rate=0.1, compromised=0.3), make(people=100_000)])
def test_laws_of_the_error(scenario: IncomparableScenario) -> None:
    """Histograms follow the exact laws; without the release the private adversary is off by one half."""
    result = STUDY.run(scenario)
    for panel, name in (("left", WITH), ("right", WITHOUT)):
        bars, law = (result.series(one, PANELS[panel]) for one in (name, name + THEORY))
        assert 99.0 < law["y"].sum() < 100.0 + 1e-9
        share = law["y"].to_numpy() / 100
        allowed = 100 * np.sqrt(share * (1 - share) / result.runs)
        assert np.all(np.abs(bars["y"].to_numpy() - law["y"].to_numpy()) < 5 * allowed + 0.1)
    assert STUDY.chart(result, "estimate").panels[0].here == (0.5, "without: 0.5 off")


def test_gaps_average_to_the_gain() -> None:
    """The exact law of the gap has the variance of erratum E11b."""
    prepared = STUDY.prepare(make(people=50, rate=0.3, compromised=0.4), None)
    middle = (prepared.edges[:-1] + prepared.edges[1:]) / 2
    assert float((prepared.masses * middle**2).sum()) == pytest.approx(prepared.gain, rel=2e-3)
    block = STUDY.run_block(prepared, 0)[:, GAP]
    assert block.var() == pytest.approx(prepared.gain, rel=0.3)


def test_nothing_to_predict() -> None:
    result = STUDY.run(make(rate=1.0, unknown_rate=0.5))
    assert {note.text.split(":")[0] for note in result.notes} == {
        "The bound of the private release is empty here",
        "Everybody in the second table answers the same",
    }
    for view in STUDY.views:
        assert STUDY.chart(result, view).marks()
    assert math.isclose(result.extra["gain"], 0.0)


@pytest.mark.parametrize("people", [100, 400, 1_000, 100_000])
def test_the_sizes_of_the_exact_release_stand_inside_its_band_on_no_paper(people: int) -> None:
    """Each to the right of its mark, none stacked on another; the visitor's own size has one name."""
    result = STUDY.run(make(people=people, trials=500))
    chart = STUDY.chart(result, "quadrant")
    marks = {mark.name: mark for mark in chart.marks() if isinstance(mark, Points)}
    named = [text for text in marks["exact sizes"].text or () if text]
    assert len(named) == 3
    words = [one for one in draw(chart).layout.annotations if one.name in {f"point {text}" for text in named}]
    mine = [one for one in words if one.x > 0.7]  # on the right: the exact release
    assert len(mine) == len(named)
    assert all(one.bgcolor is None and one.xanchor == "left" and one.xshift > 0 for one in mine)
    heights = sorted(one.y for one in mine)
    assert min(np.diff(heights)) > 0.1


def test_the_numbers_of_formulas_have_no_computers_powers() -> None:
    result = STUDY.run(make(people=100_000, trials=500))
    assert not [one.numbers for one in result.formulas if re.search(r"\de[+-]\d", one.numbers)]
    assert any(r"\times10^{-" in one.numbers for one in result.formulas)
