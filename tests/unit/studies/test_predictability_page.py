"""What the page about a release opens with when its link names a table and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

APP = Path(__file__).parents[3] / "app.py"


def opened(query: dict[str, str]) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    for name, value in {"trials": "16", **query}.items():
        app.query_params[name] = value
    return app.switch_page("pages/predictability.py").run()


def said(app: AppTest, name: str) -> list[str]:
    """What the address says about a setting."""
    found = app.query_params[name]
    return [found] if isinstance(found, str) else list(found)


@pytest.mark.parametrize("study", ["predictability", "attackers"])
def test_a_link_that_only_names_a_table_opens_on_its_columns(study: str) -> None:
    app = opened({"study": study, "data": "table"})
    assert not app.exception
    assert not app.error
    assert app.get("plotly_chart")
    assert said(app, "publish.mean.columns") == ["age"]  # the default, pressure, is a column of the clinic
    assert said(app, "ask.one.column") == ["sex"]


def test_columns_that_a_link_names_stay() -> None:
    query = {"data": "table", "publish.mean.columns": "bmi", "ask.one.column": "age", "ask.one.sign": ">"}
    app = opened({**query, "ask.one.value": "50"})
    assert not app.error
    assert said(app, "publish.mean.columns") == ["bmi"]
    assert said(app, "ask.one.column") == ["age"]
    assert said(app, "ask.one.value") == ["50"]


def test_a_wrong_column_of_a_link_is_still_named() -> None:
    app = opened({"data": "table", "ask.one.column": "income"})
    assert ["“income”" in box.value for box in app.error] == [True]


@pytest.mark.parametrize(
    ("query", "words", "labels"),
    [
        ({"leak": "adversary"}, "picked by hand", ["Picks first those whose"]),
        ({"leak": "all-but-one", "loss": "log"}, "all but one of 2,000 records known", ["Clipping level τ"]),
        ({"publish": "count"}, "the number of people with", ["Published: the number of people whose"]),
        (
            {"study": "attackers", "worst": "true", "picks": "adversary"},
            "4,000 records",
            ["Picks first those whose", "Everybody but one, too"],
        ),
    ],
)
def test_further_leaks_and_releases_are_forms(query: dict[str, str], words: str, labels: list[str]) -> None:
    app = opened(query)
    assert not app.exception
    assert not app.error
    assert app.get("plotly_chart")
    assert any(words in box.value for box in app.markdown)
    shown = {
        widget.label
        for kind in ("selectbox", "number_input", "text_input", "toggle", "checkbox")
        for widget in app.get(kind)
    }
    assert set(labels) <= shown


def test_the_slider_of_the_leak_reaches_the_right_arm() -> None:
    app = opened({})
    slider = next(one for one in app.slider if one.label == "Compromised fraction α")
    slider.set_value(0.95).run()
    assert not app.exception
    assert said(app, "compromised") == ["0.95"]
    assert any("95% of 2,000 records leaked" in box.value for box in app.markdown)
