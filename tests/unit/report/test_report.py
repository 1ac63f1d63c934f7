"""Exports: every number reads back to the same bits, every file is read strictly, a report makes no request."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from privexplorer import report
from privexplorer.data import Source, TableColumn
from privexplorer.errors import ParameterError, PrivExplorerError
from privexplorer.report.page import markdown, setting_words
from privexplorer.report.script import tables_named
from privexplorer.studies import catalogue, study
from privexplorer.studies.result import Note


@pytest.fixture(scope="module")
def asked():
    return study("entropy-epsilon")


@pytest.fixture(scope="module")
def result(asked):
    return asked.run(asked.scenario(trials=16, seed=7))


def executed(source: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "snippet.py", "exec"), {"__name__": "__main__"})  # noqa: S102
    return out.getvalue()


# ---------------------------------------------------------------- CSV


def test_csv_starts_with_the_named_columns_and_reads_back_to_the_same_bits(result):
    text = report.to_csv(result)
    assert text.splitlines()[0].split(",")[:4] == ["series", "x", "y", "std_error"]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(result.frame)
    for name in ("x", "y", "std_error"):
        expected = result.frame[name].to_numpy(dtype=float)
        assert np.array_equal([float(row[name]) for row in rows], expected, equal_nan=True)
    assert [row["series"] for row in rows] == result.frame["series"].tolist()
    assert pd.read_csv(io.StringIO(text)).shape == result.frame.shape, "a plain reader needs no options"
    assert not text.startswith("#")
    assert "\r" not in text


def test_csv_keeps_odd_values(result):
    frame = pd.DataFrame(
        {
            "panel": ["a,b", 'say "hi"', "line\nbreak"],
            "x": [1, 2, 3],
            "series": ["s"] * 3,
            "y": [0.1 + 0.2, np.nan, np.inf],
            "std_error": [0.0, 5e-324, 1.7976931348623157e308],
        }
    )
    rows = list(csv.reader(io.StringIO(report.to_csv(replace(result, frame=frame)))))
    assert rows[0] == ["series", "x", "y", "std_error", "panel"]
    assert rows[1] == ["s", "1", "0.30000000000000004", "0.0", "a,b"]
    assert rows[2] == ["s", "2", "", "5e-324", 'say "hi"']
    assert rows[3] == ["s", "3", "inf", "1.7976931348623157e+308", "line\nbreak"]


# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize("name", list(catalogue()))
def test_defaults_and_presets_of_every_study_round_trip(name, result):
    one = study(name)
    for scenario in (one.scenario(), *(preset.scenario for preset in one.presets())):
        text = report.scenario_json(one, scenario, replace(result, scenario=scenario, provenance={}))
        data = json.loads(text)
        assert set(data) == {"schema", "study", "scenario", "provenance"}
        assert data["provenance"]["privexplorer"]
        back, same = report.read_scenario_json(text)
        assert back is one
        assert same == scenario


def test_json_with_numbers_is_read_back_too(asked, result):
    text = report.to_json(asked, result)
    data = json.loads(text)
    assert data["columns"][:4] == ["series", "x", "y", "std_error"]
    assert len(data["rows"]) == len(result.frame)
    assert data["rows"][0][2] == result.frame["y"].iloc[0], "to the same bits"
    assert data["provenance"] == result.provenance
    assert data["provenance"]["seed"] == "7"
    back, scenario = report.read_scenario_json(text)
    assert (back.id, scenario) == (asked.id, result.scenario)


def test_json_holds_missing_and_infinite_numbers(asked, result):
    frame = pd.DataFrame({"series": ["s", "s"], "x": [1, 2], "y": [np.nan, np.inf], "std_error": [0.0, 0.0]})
    rows = json.loads(report.to_json(asked, replace(result, frame=frame)))["rows"]
    assert rows == [["s", 1, None, 0.0], ["s", 2, "inf", 0.0]]
    empty = json.loads(report.to_json(asked, replace(result, frame=frame.iloc[:0])))
    assert empty["rows"] == []


BAD_FILES = {
    "": "empty",
    "   \n": "empty",
    "{": "line 1, column 2",
    "nonsense": "not JSON",
    "[1, 2]": "holds a list",
    "null": "holds nothing",
    "3": "holds a number",
    '"entropy-error"': "holds a text",
    "{}": "which study",
    '{"study": 3, "scenario": {}}': "which study",
    '{"study": "entropy-eror", "scenario": {}}': "entropy-error",
    '{"study": "entropy-error"}': "holds no settings",
    '{"study": "entropy-error", "scenario": [1]}': "it is a list",
    '{"study": "entropy-error", "scenario": {}, "extra": 1}': "“extra”",
    '{"study": "entropy-error", "study": "entropy-error", "scenario": {}}': "stands twice",
    '{"schema": 2, "study": "entropy-error", "scenario": {}}': "form 2",
    '{"schema": true, "study": "entropy-error", "scenario": {}}': "form “True”",
    '{"study": "entropy-error", "scenario": {"epsilon": NaN}}': "NaN",
    '{"study": "entropy-error", "scenario": {"epsilon": 1e999}}': "ε",
    '{"study": "entropy-error", "scenario": {"epsilon": -1}}': "says −1",
    '{"study": "entropy-error", "scenario": {"epsilon": "much"}}': "“much”",
    '{"study": "entropy-error", "scenario": {"epsilon": true}}': "true",
    '{"study": "entropy-error", "scenario": {"epsilom": 1}}': "epsilon",
    '{"study": "entropy-error", "scenario": {"distribution": {"kind": "zipff"}}}': "zipf",
    '{"study": "entropy-error", "scenario": {"seed": %s}}' % ("9" * 5_000): "digits",
    '{"study": "entropy-error", "scenario": ' + "[" * 100_000 + "]" * 100_000 + "}": "nested too deeply",
}


@pytest.mark.parametrize("text", list(BAD_FILES), ids=range(len(BAD_FILES)))
def test_bad_files_are_refused_in_one_sentence(text):
    with pytest.raises(ParameterError) as caught:
        report.read_scenario_json(text)
    sentence = str(caught.value)
    assert BAD_FILES[text] in sentence
    assert sentence.endswith(".")
    assert len(sentence) < 400
    for jargon in ("Input should", "Error", "Traceback", "pydantic", "dict", "__"):
        assert jargon not in sentence


def test_files_are_named_after_seed_and_draft(result):
    assert report.file_stem(result) == f"privexplorer-{result.study}-seed-{result.scenario.seed}"
    draft = replace(result, complete=False, runs=361)
    assert report.file_stem(draft).endswith(f"-seed-{result.scenario.seed}-draft-of-361-runs")


# ---------------------------------------------------------------- script


def test_script_gives_the_same_digits(asked, result):
    source = report.snippet(asked, result.scenario)
    assert executed(source) == report.to_csv(result)
    assert max(map(len, source.splitlines())) <= 120


def test_script_of_a_table_reads_it_from_a_path(tmp_path):
    one = study("entropy-epsilon")
    path = tmp_path / "pets.csv"
    path.write_text("pet\n" + "cat\n" * 50 + "dog\n" * 30 + "owl\n" * 20, encoding="utf-8")
    source = Source.from_path(path)
    table = TableColumn(data=source.key, column="pet")
    scenario = one.scenario.model_validate(
        {"distribution": {"kind": "empirical", "table": table.model_dump()}, "trials": 16, "n": 40}
    )
    assert list(tables_named(scenario)) == [source.key]
    words = report.snippet(one, scenario)
    assert "cat" not in words.replace("category", ""), "a script never holds data"
    assert "PATH/TO/YOUR/TABLE.csv" in words
    filled = words.replace("PATH/TO/YOUR/TABLE.csv", path.as_posix())
    assert executed(filled) == report.to_csv(one.run(scenario, {source.key: source}))
    other = tmp_path / "other.csv"
    other.write_text("pet\nfish\nfish\nbird\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="another file"):
        executed(words.replace("PATH/TO/YOUR/TABLE.csv", other.as_posix()))
    with pytest.raises(SystemExit, match=r"^There is no file “PATH/TO/YOUR/TABLE.csv”[^\n]*\.$"):
        executed(words)
    bundled = one.scenario.model_validate({"distribution": {"kind": "empirical"}})
    assert list(tables_named(bundled)) == [], "bundled tables need no path"


# ---------------------------------------------------------------- report


class Outline(HTMLParser):
    """Collect headings, addresses and open elements of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.headings: list[str] = []
        self.metas: list[dict[str, str | None]] = []
        self.charts: list[dict[str, str | None]] = []
        self.scripts: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag, attrs):
        names = dict(attrs)
        self.addresses += [str(names[key]) for key in ("src", "href", "srcset", "action", "data") if key in names]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)
        if tag == "meta":
            self.metas.append(names)
        if names.get("class") == "chart":
            self.charts.append(names)
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_data(self, data):
        if self._in_script:
            self.scripts[-1] += data

    def handle_endtag(self, tag):
        self._in_script = False


@pytest.fixture(scope="module")
def page(asked, result):
    return report.to_html(result, asked)


def test_report_is_self_contained(page, asked):
    outline = Outline()
    outline.feed(page)
    assert outline.addresses == []
    policy = next(meta["content"] for meta in outline.metas if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "http" not in policy
    assert len(outline.scripts) == 3, "the library, the charts, the SVG button"
    assert outline.scripts[0].lstrip().startswith("/**\n* plotly.js")
    assert len(outline.charts) == len(asked.views)
    assert outline.headings[0] == "h1"
    levels = [int(tag[1]) for tag in outline.headings]
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels)), "no level is skipped"


def test_report_says_everything(page, asked, result):
    for words in (asked.question, asked.lead, "What this shows", "Settings", "Assumptions", "Formulas"):
        assert words in page
    outline = Outline()
    outline.feed(page)
    assert outline.charts[0]["aria-label"] == result.takeaway
    charts = outline.scripts[1]
    assert "#0000" not in charts, "colours of the light theme"
    assert "#114CBE" in charts
    for card in result.cards:
        assert card.label in page
        assert card.value in page
    for value in result.provenance.values():
        assert value in page
    assert "\\u003c" in charts
    assert "<b>" not in charts, "tags in chart texts cannot end the script"


def test_report_escapes_what_comes_from_data(asked, result):
    evil = "</script><img src=x onerror=alert(1)>"
    frame = result.frame.assign(series=result.frame["series"].replace("private", evil))
    doctored = replace(
        result,
        frame=frame,
        shows=f"**bold** {evil}",
        takeaway=evil,
        notes=(Note(evil, "not-private"),),
        provenance={"data": evil},
        complete=False,
    )
    text = report.to_html(doctored, asked)
    outline = Outline()
    outline.feed(text)
    assert outline.addresses == []
    assert "<img" not in text.replace(outline.scripts[0], "")
    assert "Stopped early" in text
    assert ", draft" in outline.scripts[1]
    assert "For your eyes only" in text


def test_report_in_another_theme(asked, result):
    page = report.to_html(result, asked, report.theme_colours("dark"))
    assert report.theme_colours("dark")["backgroundColor"] in page
    assert "#7DB6FF" in page


def test_settings_in_words(asked):
    from privexplorer.records import leaves, settings

    known = {setting.name: setting for setting in settings(asked.scenario)}
    said = {name: setting_words(known[name], value) for name, value in leaves(asked.scenario())}
    assert said["dist"] == "Zipf"
    assert said["clip"] == "no"
    assert said["dist.zipf.k"] == "1,000"
    assert said["seed"] == "0"
    assert said["est"] == "Best polynomial"


def test_little_markdown():
    assert markdown("a **b** *c* `d` < 2*3*4") == ("<p>a <strong>b</strong> <em>c</em> <code>d</code> &lt; 2*3*4</p>")
    assert markdown("one\n\n- two\n- three") == "<p>one</p><ul><li>two</li><li>three</li></ul>"
    assert markdown("[words](http://example.org)") == "<p>words</p>"


# ---------------------------------------------------------------- files


def test_write_by_ending(tmp_path, asked, result):
    report.write(result, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes().decode() == report.to_csv(result)
    report.write(result, str(tmp_path / "a.JSON"))
    back, scenario = report.read_scenario_json((tmp_path / "a.JSON").read_text(encoding="utf-8"))
    assert (back.id, scenario) == (asked.id, result.scenario)
    report.write(result, tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", ["a.txt", "a", "a.xlsx"])
def test_other_endings_are_refused(tmp_path, result, name):
    with pytest.raises(PrivExplorerError, match=r"must end in \.csv, \.json or \.html"):
        report.write(result, tmp_path / name)
    assert not (tmp_path / name).exists()
