"""What the page about an effect on a table asks for, and what it calls wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from privexplorer.records import dump
from privexplorer.studies.private_effect import EffectTable, PrivateEffectScenario

APP = Path(__file__).parents[3] / "app.py"


def opened(facts: str) -> AppTest:
    """Open the page about the diabetes table with these public facts."""
    scenario = PrivateEffectScenario(
        data=EffectTable(facts=facts, treated="2"), outcome="progression", treatment="sex", private=("bmi",)
    )
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    for name, value in (("study", "private-effect"), *dump(scenario)):
        app.query_params[name] = value
    return app.switch_page("pages/effects.py").run()


def test_a_numeric_private_column_has_a_bill() -> None:
    app = opened("bmi: 15 to 50")
    assert not app.exception
    assert not app.error
    (bill,) = (box for box in app.expander if box.label.startswith("Privacy spent on this table"))
    assert bill.label.endswith("ε = 0, δ = 0.5")
    frame = bill.dataframe[0].value
    assert frame["δ"].astype(float).tolist() == [0.5, 0.5]
    assert "Privacy spent: no finite ε" in titles(app.info)


def titles(boxes: Any) -> list[str]:
    return [box.proto.title for box in boxes]


@pytest.mark.parametrize(("facts", "is_request"), [("age: 18 to 90", True), ("bmi: 90 to 18", False)])
def test_a_missing_fact_is_asked_for_without_alarm(facts: str, is_request: bool) -> None:
    app = opened(facts)
    assert not app.exception
    if is_request:
        assert not app.error
        (place,) = (at for at, title in enumerate(titles(app.info)) if title == "One more thing is needed")
        assert "Say what is publicly known about the private column “bmi”" in app.info[place].value
    else:
        assert titles(app.error) == ["This cannot be answered as it stands"]
