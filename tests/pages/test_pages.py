"""Every page of the table of pages, without a browser: it runs clean, reacts, and survives bad links and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from privexplorer.records import dump
from privexplorer.studies import catalogue
from privexplorer.ui.shell import PAGES

APP = Path(__file__).parents[2] / "app.py"
STUDIES = list(catalogue())


@pytest.fixture(autouse=True)
def details() -> Iterator[None]:
    before = config.get_option("client.showErrorDetails")
    config.set_option("client.showErrorDetails", "full")
    yield
    config.set_option("client.showErrorDetails", before)


def opened(page: str, query: list[tuple[str, str]] | None = None) -> AppTest:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    for name in {name for name, _ in query or []}:
        app.query_params[name] = [value for key, value in query or [] if key == name]
    app.switch_page(f"pages/{page.replace('_', '-')}.py").run()
    return app


def address(app: AppTest) -> dict[str, list[str]]:
    """Query of the page's address, each name with its values."""
    return {key: [value] if isinstance(value, str) else list(value) for key, value in app.query_params.items()}


def words(app: AppTest) -> str:
    parts = [e.value for kind in ("markdown", "error", "warning", "info", "caption") for e in getattr(app, kind)]
    return "\n".join(str(part) for part in parts)


def settings_of(study: Any, **fields: Any) -> list[tuple[str, str]]:
    """Address of a study at small size."""
    small = {"trials": 16} if "trials" in study.scenario.model_fields else {}
    return [("study", study.id), *dump(study.scenario.model_validate({**small, **fields}))]


@pytest.mark.parametrize("entry", PAGES, ids=lambda entry: entry.id)
def test_page_runs_clean(entry: Any) -> None:
    app = opened(entry.id)
    assert not app.exception
    assert len(app.title) == 1


@pytest.mark.parametrize("name", STUDIES)
def test_study_shows_a_finished_example(name: str) -> None:
    study = catalogue()[name]
    app = opened(study.theme, settings_of(study))
    assert not app.exception
    assert app.title[0].value == study.question
    assert app.get("plotly_chart")
    assert not app.error
    assert "What this shows" in [header.value for header in app.header]


@pytest.mark.parametrize("name", STUDIES)
def test_address_is_complete_and_stable(name: str) -> None:
    study = catalogue()[name]
    query = settings_of(study)
    app = opened(study.theme, query)
    now = address(app)
    wanted: dict[str, list[str]] = {}
    for key, value in query:
        wanted.setdefault(key, []).append(value)
    assert now == wanted
    app.run()
    assert address(app) == now


def test_a_bad_link_is_named_and_falls_back() -> None:
    app = opened("entropy", [("eps", "banana"), ("trials", "16"), ("colour", "blue"), ("view", "upside-down")])
    assert not app.exception
    text = words(app)
    for part in ("banana", "colour", "upside-down"):
        assert part in text
    assert "eps" not in app.query_params
    assert app.get("plotly_chart")


def test_an_unknown_question_is_named() -> None:
    app = opened("entropy", [("study", "entropy-eror"), ("trials", "16")])
    assert "entropy-eror" in words(app)
    assert not app.exception
    assert address(app) == {"trials": ["16"]}, "who copies the address now copies no fault"


def test_presets_fill_the_form() -> None:
    app = opened("entropy", [("trials", "16")])
    preset = catalogue()["entropy-error"].presets()[1]
    app.pills[0].set_value(preset.title).run()
    assert address(app) == {"eps": ["0.1"]}
    assert app.pills[0].value == preset.title
    app.select_slider(key="entropy-error:eps").set_value(0.2).run()
    assert app.pills[0].value is None


def test_reset_returns_to_the_defaults() -> None:
    app = opened("entropy", [("eps", "0.2"), ("trials", "16")])
    next(button for button in app.button if button.label == "Reset").click().run()
    assert "eps" not in app.query_params


def test_a_grid_the_wrong_way_round_is_refused_and_mended() -> None:
    app = opened("entropy", [("trials", "16"), ("n.low", "500"), ("n.high", "900")])
    app.number_input(key="entropy-error:n.low").set_value(5000).run()
    assert len(app.error) == 1
    assert "5,000" in app.error[0].value
    assert not app.exception
    next(button for button in app.button if button.label == "Use the defaults").click().run()
    assert not app.error


def test_values_survive_a_change_of_page() -> None:
    app = opened("entropy", [("eps", "0.2"), ("trials", "16")])
    app.switch_page("pages/about.py").run()
    for name in list(app.query_params):
        del app.query_params[name]
    app.switch_page("pages/entropy.py").run()
    assert address(app)["eps"] == ["0.2"]


def test_a_table_is_uploaded_and_refused() -> None:
    app = opened("unseen", [("study", "unseen-in-data")])
    [place] = app.get("file_uploader")
    place.upload("pets.csv", b"pet\ncat\ncat\ndog\nowl\n", "text/csv").run()
    assert not app.exception
    assert "pets.csv" in " ".join(str(option) for box in app.selectbox for option in box.options)
    assert not app.error
    assert app.get("plotly_chart")
    assert "table.counts" not in app.query_params or address(app)["table.counts"] == [""]
    app.get("file_uploader")[0].upload("empty.csv", b"", "text/csv").run()
    assert any("empty.csv" in str(error.proto) or "empty" in error.value.lower() for error in app.error)
    assert not app.exception


def test_words_from_a_link_or_a_file_are_no_markup() -> None:
    bait = "![](http://127.0.0.1:1/x)"
    app = opened("entropy", [("eps", bait), ("trials", "16"), (bait, "1")])
    shown = "\n".join(warning.value for warning in app.warning)
    assert bait not in shown
    assert r"\!\[\]" in shown
    app = opened("unseen", [("study", "unseen-in-data")])
    table = f"{bait},{bait}\n" + "x,1\ny,2\n" * 3
    app.get("file_uploader")[0].upload("$x$.csv", table.encode(), "text/csv").run()
    assert bait not in words(app)
    app.get("file_uploader")[0].upload("*b*.csv", b"", "text/csv").run()
    assert any(r"\*b\*" in error.value for error in app.error)


def test_the_filters_of_the_sources_stand_in_the_address() -> None:
    """What is asked for is chosen; what there is not is named, once, and the rest still counts."""
    app = opened("home")
    for name, value in {"chapter": "Chapter 4", "state": "nearly", "colour": "red"}.items():
        app.query_params[name] = value
    app.switch_page("pages/sources.py").run()
    assert not app.exception
    assert [box.value for box in app.selectbox] == ["all", "Chapter 4", "all", "all"]
    assert [warning.value.split(";")[0] for warning in app.warning] == [
        "There is no state called “nearly”",
        "This page has no filter called “colour”",
    ]
    assert int(app.metric[1].value) == int(app.metric[2].value) == 68
    assert address(app) == {"chapter": ["Chapter 4"]}
    app.run()
    assert not app.warning
