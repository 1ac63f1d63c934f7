"""A visitor's own table on the pages about predictability and about effects, in a real browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.e2e


def survey(rows: int = 600) -> str:
    """Return a table whose column names and texts are not easy: commas, quotes, letters with accents."""
    rng = np.random.default_rng(5)
    income = rng.gamma(2.0, 900.0, rows).round(1)
    ill = rng.random(rows) < 0.3
    course = rng.random(rows) < np.where(ill, 0.3, 0.6)
    pay = (0.4 * income + 200 * course - 300 * ill + rng.normal(0, 100, rows)).round(1)
    lines = [
        f"{one[0]},{'malade' if one[1] else 'bien portant'},{'yes' if one[2] else 'no'},{one[3]}"
        for one in zip(income, ill, course, pay, strict=True)
    ]
    return "\n".join(['"income, monthly",état,course,pay', *lines, ",bien portant,yes,3", ""])


def upload(tab: Any, tmp_path: Any) -> None:
    file = tmp_path / "enquête.csv"
    file.write_text(survey(), encoding="utf-8")
    tab.page.locator("input[type=file]").set_input_files(str(file))
    tab.settled()


def fill(tab: Any, title: str, words: str) -> None:
    """Type into a field; once more if the page was drawn again under the typing hand."""
    for _ in range(4):
        tab.settled()
        before = tab.page.url
        box = tab.page.get_by_role("textbox", name=title)
        box.fill(words)
        box.press("Enter")
        for _ in range(40):
            tab.page.wait_for_timeout(100)
            if tab.page.url != before:
                break
        tab.settled()
        if tab.page.url != before and box.input_value() == words:
            return
    pytest.fail(f"{title} never took {words}")


def own_table(tab: Any, page: str, tmp_path: Any) -> None:
    """Choose a table of one's own in the form, and drop one."""
    tab.open(page)
    tab.chart()
    tab.page.get_by_role("combobox", name="People").first.click()
    tab.page.get_by_role("option", name="A table of your own").click()
    tab.page.locator("input[type=file]").wait_for(state="attached")
    tab.settled()
    upload(tab, tmp_path)
    tab.page.get_by_text("enquête.csv").first.wait_for()


def test_predictability_of_an_uploaded_table(visit: Any, tmp_path: Any) -> None:
    tab = visit()
    own_table(tab, "/predictability", tmp_path)
    tab.page.get_by_text("1 of 601 rows was left out for lacking a value").wait_for()
    tab.page.get_by_text("of 600 records leaked").wait_for()
    tab.chart()
    assert "the mean of income, monthly" in tab.text()
    assert "bien portant" in tab.text()  # a question that suits the column, not that of the table before
    assert "not private" in tab.text()
    assert not tab.broken()
    assert "data.table.table.data=" in tab.page.url


def test_an_effect_in_an_uploaded_table(visit: Any, tmp_path: Any) -> None:
    tab = visit()
    own_table(tab, "/effects", tmp_path)
    tab.page.get_by_text("Say what is publicly known about the private column").wait_for()
    fill(tab, "Public ranges and categories", "course: no, yes")
    tab.page.get_by_text("say which of them means treated").wait_for()
    fill(tab, "Value that means treated", "malade")
    tab.page.get_by_text("What this shows").wait_for(timeout=60_000)
    tab.settled()  # the notes below come last
    assert "600 people" in tab.text()
    assert "not private" in tab.text()
    assert not tab.broken()


def test_a_link_about_a_table_works_on_after_the_table_came(visit: Any, tmp_path: Any) -> None:
    first = visit()
    own_table(first, "/predictability", tmp_path)
    first.page.wait_for_url("**data.table.table.data=**")  # the address follows the form
    first.chart()
    tab = visit()
    tab.page.goto(first.page.url)
    tab.page.get_by_text("The table is not here").wait_for()
    tab.page.locator("input[type=file]").wait_for(state="attached")
    tab.settled()
    upload(tab, tmp_path)
    tab.chart()
    inputs = tab.page.locator("[data-testid=stSidebar] input")
    shown = inputs.evaluate_all("all => all.map(one => one.value)")
    assert "enquête.csv" in shown
    assert not [words for words in shown if "not here" in words or "not in this table" in words], shown
    tab.slide("Compromised fraction α", "compromised=")
    tab.chart()
    assert not tab.broken()
    assert tab.page.get_by_text("encountered an error").count() == 0
    assert "enquête.csv" in tab.page.locator("[data-testid=stSidebar]").inner_text()
