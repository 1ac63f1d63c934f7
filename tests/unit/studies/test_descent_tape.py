"""Gradient descent, step by step: gold values, limits, and what the path adds."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.errors import ParameterError
from privexplorer.studies.descent_tape import (
    GAIN_LAST,
    LAST,
    LOSS,
    LOSS_FLOOR,
    MODEL,
    PANELS,
    PATH,
    DescentScenario,
    DescentTapeStudy,
)

STUDY = DescentTapeStudy()
make = DescentScenario
TWENTY = next(preset.scenario for preset in STUDY.presets() if preset.title == "Twenty people")


def test_gold_values_of_the_twenty_people() -> None:
    """Ledger P-A1: last step 0.574488, 0.594679, 0.574649 at T = 1, 5, 50; path 0.798154 from T = 3 on."""
    result = STUDY.run(TWENTY)
    last, path = (result.series(name, PANELS["r"]).set_index("x")["y"] for name in (LAST, PATH))
    assert [last[step] for step in (1, 5, 50)] == pytest.approx([0.574488, 0.594679, 0.574649], abs=6e-7)
    assert path[path.index >= 3].to_numpy() == pytest.approx(0.798154, abs=6e-7)
    assert path[1] == pytest.approx(last[1], rel=1e-9)
    assert result.extra["settled"] == 3
    assert result.extra["model"] == pytest.approx(0.5747588535, rel=1e-8)


def test_descent_tends_to_the_fitted_model() -> None:
    """Ledger P-A1u: within 1e-6 of the fit at T = 200, and r of the last step equals that of the model."""
    result = STUDY.run(TWENTY.model_copy(update={"steps": 200}))
    prepared = STUDY.prepare(TWENTY.model_copy(update={"steps": 200}), None)
    assert prepared.far < 1e-6
    assert result.series(LAST)["y"].iloc[-1] == pytest.approx(result.series(MODEL)["y"].iloc[0], abs=1e-6)
    loss = result.series(LOSS)["y"].to_numpy()
    assert np.all(np.diff(loss) <= 1e-12)
    assert loss[-1] == pytest.approx(result.series(LOSS_FLOOR)["y"].iloc[0], rel=1e-9)
    assert len(loss) == 201


def test_path_never_tells_less_and_remembers() -> None:
    result = STUDY.run(make())
    last, path = (result.series(name, PANELS["r"]).set_index("x")["y"] for name in (LAST, PATH))
    assert np.all(path.to_numpy() >= last[path.index].to_numpy() - 1e-9)
    assert np.all(np.diff(path) >= -1e-9)
    assert last.iloc[-1] < 0.1 < 0.75 < path.iloc[-1]


def test_noise_lowers_both_and_is_late() -> None:
    prepared = STUDY.prepare(make(steps=8), None)
    quiet, loud, printed = (
        STUDY.assemble(make(steps=8, noise=noise, noise_scale=scale), prepared, [])
        for noise, scale in ((0.0, "release"), (0.05, "release"), (0.05, "paper"))
    )
    for name in (LAST, PATH):
        a, b, c = (result.series(name, PANELS["r"])["y"].to_numpy() for result in (quiet, loud, printed))
        assert np.all(b < c)
        assert np.all(c < a)
        assert b[-1] < 0.9 * a[-1]
    assert {"noise", "compromised", "noise_scale"} <= STUDY.late
    assert any(note.title == "Counted as printed" for note in printed.notes)


def test_gain_is_the_share_over_the_effective_size() -> None:
    result = STUDY.run(make(steps=6, compromised=0.2))
    r = result.series(LAST, PANELS["r"])["y"].to_numpy()
    table = make().data.table()
    variance = float(np.var(table["x1"] > 1))
    expected = variance * r**2 / (0.2 * 0.8 * 2000)
    assert result.series(GAIN_LAST)["y"].to_numpy() == pytest.approx(expected, rel=1e-9)


def test_a_step_too_large_names_the_largest_safe_one() -> None:
    with pytest.raises(ParameterError, match=r"must stay below 1\.8"):
        STUDY.run(make(step_size=3.0))
    assert (
        "Take at most" in STUDY.check(make(steps=200, features=("x1", "x2", "x3")), None)[0]
        or STUDY.check(make(steps=200), None) == ()
    )


def test_separable_outcomes_have_no_model() -> None:
    """Logistic descent runs, but there is no fit to compare with: the page says so and draws the rest."""
    scenario = TWENTY.model_copy(update={"loss": "logistic", "outcome": "q", "features": ("x1", "x2"), "steps": 5})
    result = STUDY.run(scenario)
    for view in STUDY.views:
        assert STUDY.chart(result, view).marks()
