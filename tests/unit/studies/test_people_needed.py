"""People needed for a width: gold values of the sample sizes and of the small-sample rule."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.figures import describe, draw
from privexplorer.studies._effects import EvenNoise, LawB, PointNoise, guard_floor
from privexplorer.studies.people_needed import (
    FLOOR,
    PANELS,
    POWER,
    WARNING,
    PeopleNeeded,
    PeopleNeededScenario,
)

STUDY = PeopleNeeded()
make = PeopleNeededScenario


@pytest.mark.parametrize(("keep", "people"), [(0.1, 120_056), (0.2, 29_762), (0.5, 5_013), (0.9, 1_918), (1.0, 1_668)])
def test_gold_sample_sizes(keep: float, people: int) -> None:
    """Ledger L-E17 (G16)."""
    result = STUDY.run(make(keep=keep, width=0.1))
    rows = result.series("width 0.1", PANELS["keep"])
    assert int(rows.loc[rows["x"] == keep, "y"].iloc[0]) == people
    assert result.cards[0].value == f"{people:,}"
    assert result.cards[1].value == "1,668"


def test_small_sample_rule() -> None:
    """90 and 10 people in the thinnest arm: smallest P(d, x) of law A is 0.04."""
    result = STUDY.run(make(width=0.1))
    for name, kappa in ((FLOOR, 90), (WARNING, 10)):
        rows = result.series(name, PANELS["keep"])
        at = float(rows.loc[rows["x"] == 0.5, "y"].iloc[0])
        assert at == pytest.approx(kappa / (0.25 * 0.04), abs=1)
    assert any("9,000" in note.text and note.level == "warning" for note in result.notes)
    assert not any(note.level == "warning" for note in STUDY.run(make()).notes)
    law = LawB().law()
    assert guard_floor(law, PointNoise(), np.array([0.5]))[0] > guard_floor(law, EvenNoise(), np.array([0.5]))[0]


def test_power() -> None:
    """(1.96 + 0.8416)² σ²/τ² with τ = 0.22 and σ² of G12."""
    result = STUDY.run(make())
    rows = result.series(POWER, PANELS["keep"])
    at = int(rows.loc[rows["x"] == 0.5, "y"].iloc[0])
    assert at == math.ceil((1.959963985 + 0.841621234) ** 2 * 3.26185616103 / 0.22**2)
    chart = STUDY.chart(result, "power")
    assert "power" in chart.subtitle
    assert any(mark.name == POWER for mark in chart.marks())


def test_against_epsilon_is_the_same_curve() -> None:
    """Ledger L-X2 (E2): randomised response at ε keeps with (e^ε - 1)/(e^ε + J - 1)."""
    result = STUDY.run(make())
    by_keep, by_epsilon = (result.series("width 0.05", PANELS[name]) for name in ("keep", "epsilon"))
    epsilon = by_epsilon["x"].to_numpy(dtype=float)
    keep = np.expm1(epsilon) / (np.exp(epsilon) + 2)
    assert np.allclose(keep, by_keep["x"].to_numpy(dtype=float)[:-1], rtol=1e-12)
    assert np.array_equal(by_epsilon["y"], by_keep["y"][:-1])
    loud = STUDY.run(make(noise=PointNoise()))
    assert any("no finite ε" in note.text for note in loud.notes)
    assert np.array_equal(loud.series("width 0.05", PANELS["epsilon"])["y"], by_epsilon["y"])


@pytest.mark.parametrize("compact", [False, True])
def test_epsilon_stands_above_the_ticks_of_the_keep_probability(compact: bool) -> None:
    """View 7.2: the second scale reads ln(1 + J·α/(1 - α)) at the ticks of α, and only where x is α."""
    result = STUDY.run(make())
    figure = draw(STUDY.chart(result, "keep"), compact=compact)
    above = [note for note in figure.layout.annotations if (note.name or "").startswith("above ")]
    texts = {float(note.name.split()[1]): note.text for note in above}
    assert set(figure.layout.xaxis.tickvals) <= set(texts)
    for keep, text in texts.items():
        if keep == 1:
            assert text == "∞"
        else:
            assert float(text) == pytest.approx(math.log(1 + 3 * keep / (1 - keep)), rel=0.03)
    span = math.log(1 / 0.05)
    for note in above:
        assert note.x == pytest.approx(1 + math.log(float(note.name.split()[1])) / span, abs=1e-9)
    assert any(note.name == "above" and "ε" in note.text for note in figure.layout.annotations)
    assert "0.15 above 0.05 to ∞ above 1" in describe(STUDY.chart(result, "keep"))
    assert STUDY.chart(result, "epsilon").x.above is None


def test_no_effect_has_no_power() -> None:
    from privexplorer.studies._effects import OwnLaw

    law = OwnLaw(shares=(0.5, 0.5), treated=(0.3, 0.7), outcome_untreated=(0.2, 0.6), outcome_treated=(0.2, 0.6))
    result = STUDY.run(make(law=law))
    assert len(result.series(POWER)) == 0
    assert result.cards[3].value == "–"
    assert STUDY.chart(result, "power").marks()


def test_shaded_regions_do_not_cross() -> None:
    result = STUDY.run(make())
    for view in STUDY.views:
        chart = STUDY.chart(result, view)
        spreads = [mark for mark in chart.marks() if hasattr(mark, "strength")]
        assert len(spreads) == 2
        for mark in spreads:
            assert np.all(np.asarray(mark.low) <= np.asarray(mark.high))
        assert chart.y.low is not None
