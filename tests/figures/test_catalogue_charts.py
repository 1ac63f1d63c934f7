"""Every chart of every study keeps the rules of the look."""

from __future__ import annotations

import math
import re
from itertools import pairwise

import pytest

from privexplorer.figures import describe, draw, style, subtitle_problem
from privexplorer.studies import catalogue
from privexplorer.studies.chart import Chart, HeatMap, Spread
from privexplorer.studies.result import Result


@pytest.fixture(scope="module", params=list(catalogue()))
def result(request: pytest.FixtureRequest) -> Result:
    study = catalogue()[request.param]
    few = {"trials": 8} if "trials" in study.scenario.model_fields else {}
    return study.run(study.scenario(**few))


@pytest.fixture(scope="module")
def charts(result: Result) -> list[Chart]:
    study = catalogue()[result.study]
    return [study.chart(result, view) for view in (study.views or {"": ""})]


def test_shares_are_written_alike_everywhere(result, charts):
    said = [result.shows, result.takeaway, *result.assumptions, *(note.text for note in result.notes)]
    said += [text for card in result.cards for text in (card.value, card.chip, card.help)]
    for chart in charts:
        said += [chart.title, chart.subtitle, *(getattr(mark, "hover", None) or "" for mark in chart.marks())]
    assert [text for text in said if re.search(r"[\d}]\s%", text)] == []


def test_subtitles_fit_and_labels_are_short(charts):
    for chart in charts:
        assert subtitle_problem(chart.subtitle) is None, chart.title
        for mark in chart.marks():
            label = None if isinstance(mark, HeatMap) else mark.label
            lines = re.split("<br ?/?>", style.wrapped(label or "", style.LABEL_CHARACTERS))
            assert len(lines) <= 3, label


def test_subtitles_hold_on_a_phone_where_panels_stand_below_one_another(charts):
    for chart in charts:
        assert not re.search(r"\b(left|right)\b *:", chart.subtitle), chart.subtitle
        if any(isinstance(mark, HeatMap) and not mark.cells for mark in chart.marks()):
            assert re.search(r"shade: .*(upwards|y): ", chart.subtitle), "a map has no other place to name its y axis"


def test_charts_are_drawn_whole(charts):
    for chart in charts:
        for compact, presenter in ((False, False), (True, False), (False, True)):
            figure = draw(chart, compact=compact, presenter=presenter)
            names = {trace.name for trace in figure.data}
            assert {mark.name for mark in chart.marks()} <= names
            for axis in figure.select_xaxes():
                assert axis.range[0] < axis.range[1]
            for axis in figure.select_yaxes():
                assert axis.range[0] < axis.range[1]
            for trace in figure.data:
                if trace.type != "contour":
                    assert all(value is None or math.isfinite(value) for value in trace.y)
        assert "nan" not in describe(chart)


def test_names_in_the_margin_do_not_overlap(charts):
    for chart in charts:
        for compact, presenter in ((False, False), (True, False), (False, True)):
            layout = draw(chart, compact=compact, presenter=presenter).layout
            plot = layout.height - layout.margin.t - layout.margin.b
            spans = sorted(
                (note.y * plot, 1.3 * note.font.size * (note.text.count("<br") + 1))
                for note in layout.annotations
                if note.xref == "paper" and note.name.startswith("label ")
            )
            for (low, one), (high, two) in pairwise(spans):
                assert high - low >= (one + two) / 2 - 0.5, chart.title


def test_every_curve_with_a_label_is_named_once(charts):
    for chart in charts:
        wanted = {
            mark.name
            for mark in chart.marks()
            if not isinstance(mark, HeatMap) and mark.label and getattr(mark, "text", None) is None
        }
        notes = [note.name.removeprefix("label ") for note in draw(chart).layout.annotations]
        for name in wanted:
            drawable = [mark for mark in chart.marks() if mark.name == name]
            shown = any(
                isinstance(mark, Spread) or any(math.isfinite(v) and (v > 0 or chart.y.scale != "log") for v in mark.y)
                for mark in drawable
            )
            assert notes.count(name) <= 1, name
            assert notes.count(name) == 1 or not shown, name
