"""What a visitor sees and does, in a real browser."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from browser_tools import running_app

from privexplorer.studies import catalogue
from privexplorer.ui.shell import PAGES

pytestmark = pytest.mark.e2e
SURVEY = "\n".join(["pet", *(["cat"] * 40 + ["dog"] * 30 + ["newt"] * 8 + ["owl", "emu", "yak"])]) + "\n"


def test_home_leads_to_every_study(visit: Any) -> None:
    tab = visit()
    tab.open("/")
    tab.page.get_by_role("heading", name="What do you want to know?").wait_for()
    tab.settled()
    for study in catalogue().values():
        # a card with a heading and a link, or a link that is the question itself
        tab.page.get_by_text(study.question, exact=True).first.wait_for()
        ways = tab.page.get_by_role("link", name=study.link).or_(tab.page.get_by_role("link", name=study.question))
        ways.first.wait_for()
        assert ways.count() == 1, study.id
    assert not tab.foreign


@pytest.mark.parametrize("entry", [entry for entry in PAGES if entry.id != "home"], ids=lambda entry: entry.id)
def test_every_page_opens_from_its_own_address(visit: Any, entry: Any) -> None:
    tab = visit()
    tab.open(f"/{entry.address}")
    tab.page.locator("h1").first.wait_for(timeout=90_000)
    tab.settled()
    assert not tab.broken()
    assert tab.page.locator("h1").count() == 1
    assert not tab.foreign


def test_a_cold_server_answers_a_deep_link(visit: Any) -> None:
    with running_app() as address:
        tab = visit(address=address)
        tab.open("/entropy?study=entropy-epsilon&n=300&eps=0.3")
        tab.chart()
        assert tab.page.get_by_role("heading", name="How much privacy can this sample afford?").count() == 1
        assert tab.page.get_by_role("link", name="Sources").count() >= 0
        assert "300 people" in tab.text()
        assert "ε = 0.3" in tab.text()
        assert not tab.broken()
        assert not tab.foreign


@pytest.mark.parametrize("entry", [entry for entry in PAGES if "_" in entry.id][:2], ids=lambda entry: entry.id)
def test_a_cold_server_knows_every_address(visit: Any, entry: Any) -> None:
    with running_app() as address:
        tab = visit(address=address)
        tab.open(f"/{entry.address}")
        tab.page.locator("h1").first.wait_for(timeout=90_000)
        tab.settled()
        assert tab.page.get_by_role("dialog").count() == 0
        assert not tab.broken()


def test_a_change_is_in_the_address_and_another_browser_shows_the_same_numbers(visit: Any) -> None:
    tab = visit()
    tab.open("/entropy?n.high=2000&seed=7")
    tab.chart()
    before = tab.cards()
    tab.slide("Privacy loss ε", r"eps=0\.1(&|$)")
    changed = tab.cards()
    assert changed != before
    other = visit()
    other.page.goto(tab.page.url)
    other.chart()
    assert other.cards() == changed
    tab.page.reload()
    tab.chart()
    assert tab.cards() == changed
    tab.page.go_back()
    tab.page.wait_for_function("!/eps=0\\.1(&|$)/.test(location.href)")
    tab.settled()


def test_bad_parts_of_a_link_are_named(visit: Any) -> None:
    tab = visit()
    tab.open("/entropy?eps=banana&colour=blue&dist=zipf&dist.zipf.exponent=2")
    tab.chart()
    text = tab.text()
    assert "banana" in text
    assert "colour" in text
    assert "Input should" not in text
    assert not tab.broken()


def test_a_table_is_dropped_used_and_stays(visit: Any, tmp_path: Any) -> None:
    file = tmp_path / "pets.csv"
    file.write_text(SURVEY)
    tab = visit()
    tab.open("/unseen?study=unseen-in-data")
    tab.chart()
    tab.page.locator("input[type=file]").set_input_files(str(file))
    tab.page.get_by_text("pets.csv").first.wait_for()
    tab.page.wait_for_url(re.compile("data="))
    tab.chart()
    assert not tab.broken()
    link = tab.page.url
    numbers = tab.cards()
    tab.page.get_by_role("link", name=re.compile("Home")).first.click()
    tab.page.get_by_role("heading", name="What do you want to know?").wait_for()
    tab.page.go_back()
    tab.chart()
    assert tab.cards() == numbers
    other = visit()
    other.page.goto(link)
    other.settled()
    assert "drop the same file" in other.text().lower()
    other.page.locator("input[type=file]").set_input_files(str(file))
    other.chart()
    other.settled()
    assert other.cards() == numbers


def test_a_bad_file_is_refused_in_a_sentence(visit: Any, tmp_path: Any) -> None:
    file = tmp_path / "picture.csv"
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    tab = visit()
    tab.open("/unseen?study=unseen-in-data")
    tab.chart()
    tab.page.locator("input[type=file]").set_input_files(str(file))
    tab.page.get_by_text("picture.csv could not be read").wait_for()
    assert not tab.broken()
    tab.chart()


def test_downloads(visit: Any) -> None:
    tab = visit()
    tab.open("/entropy?n.high=1000&n.points=4&trials=16")
    tab.chart()
    tab.page.get_by_role("tab", name="Download").click()
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="Numbers, CSV").click()
    table = waiting.value.path().read_text().splitlines()
    assert table[0].startswith("series,x,y,std_error")
    result = catalogue()["entropy-error"].run(
        catalogue()["entropy-error"].scenario.model_validate({"n": {"high": 1000, "points": 4}, "trials": 16})
    )
    first = table[1].split(",")
    assert float(first[2]) == result.frame["y"][0]
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name="Scenario, JSON").click()
    assert json.loads(waiting.value.path().read_text())["study"] == "entropy-error"


def test_stop_keeps_the_draft_and_says_how_many_runs(visit: Any) -> None:
    tab = visit()
    tab.open("/entropy?trials=5000&n.low=5000&n.high=200000&n.points=20")
    stop = tab.page.get_by_test_id("stMain").get_by_role("button", name="Cancel")
    stop.wait_for(timeout=90_000)
    tab.page.get_by_test_id("stStatusWidget").wait_for(state="hidden", timeout=10_000)  # one way to end a run
    tab.page.locator("[data-testid=stPlotlyChart] svg.main-svg").first.wait_for(timeout=90_000)
    stop.click()
    tab.page.get_by_text(re.compile(r"Stopped after \d+% of the runs")).wait_for(timeout=20_000)
    tab.settled()
    assert re.search(r"\d+ runs|draft", tab.text())
    assert tab.page.get_by_role("button", name="Continue").count() == 1


@pytest.mark.parametrize("study", list(catalogue()), ids=str)
def test_phone_has_no_sideways_scroll(visit: Any, study: str) -> None:
    tab = visit(width=390, height=844, phone=True)
    tab.open(f"/{catalogue()[study].theme.replace('_', '-')}?study={study}")
    tab.chart()
    wide = tab.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 1
    assert not tab.broken()


def test_a_narrow_window_gets_the_layout_of_a_phone(visit: Any) -> None:
    """The server knows the window's width from the second request on, before the page is drawn."""
    for width, kind in ((390, "combobox"), (1440, "radio")):
        tab = visit(width=width)
        tab.open("/predictability")
        tab.chart()
        name = "Question" if kind == "combobox" else "Query map"
        tab.page.get_by_test_id("stMain").get_by_role(kind, name=name, exact=True).wait_for()


def test_colours_follow_the_theme(visit: Any) -> None:
    strokes = []
    for dark in (False, True):
        tab = visit(dark=dark)
        tab.open("/entropy")
        tab.chart()
        strokes.append(
            tab.page.evaluate("[...document.querySelectorAll('.js-line')].map(e => getComputedStyle(e).stroke).join()")
        )
    assert strokes[0]
    assert strokes[0] != strokes[1]
    assert "rgb(17, 76, 190)" in strokes[0]
    assert "rgb(125, 182, 255)" in strokes[1]


def test_the_keyboard_reaches_the_form_and_the_tabs(visit: Any) -> None:
    tab = visit()
    tab.open("/entropy")
    tab.chart()
    tab.slide("Privacy loss ε", "eps=", up=True)
    tab.page.get_by_role("tab", name="Table").focus()
    tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_text("Private release").first.wait_for()


def test_the_first_page_of_a_session_draws_the_chart_first_and_once(visit: Any) -> None:
    tab = visit()
    tab.page.add_init_script(
        """
        window.sliders = -1;
        new MutationObserver(() => {
          if (window.sliders < 0 && document.querySelector('[data-testid=stPlotlyChart] svg.main-svg'))
            window.sliders = document.querySelectorAll('[role=slider]').length;
        }).observe(document, {subtree: true, childList: true});
        """
    )
    tab.open("/entropy?eps=0.3")
    tab.chart()
    tab.page.get_by_role("slider", name="Privacy loss ε").wait_for()
    tab.settled()
    assert tab.page.evaluate("window.sliders") == 0  # none was there yet when the chart came
    assert tab.page.locator("[data-testid=stPlotlyChart]").count() == 1
    assert "ε = 0.3" in tab.text()
    assert tab.page.url.endswith("eps=0.3")
    assert not tab.broken()
