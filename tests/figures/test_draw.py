"""Whole charts: names, titles, axes, gaps, small multiples, the phone, the toolbar and the words."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from privexplorer.figures import SVG_BUTTON, config, describe, draw, style
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points, Spread


def values(column) -> list[float]:
    return [value for value in column if value is not None]


def test_every_mark_is_a_trace_of_its_name(chart):
    figure = draw(chart)
    names = [trace.name for trace in figure.data]
    assert {mark.name for mark in chart.marks()} <= set(names)


def test_title_says_quantity_and_subtitle_measure(chart):
    layout = draw(chart).layout
    assert layout.title.text.startswith(f"{chart.title}<br><span")
    assert chart.subtitle in layout.title.text
    assert layout.title.x == 0
    assert style.subtitle_problem(chart.subtitle) is None
    assert not [name for name in layout if name.startswith("yaxis") and layout[name].title.text], "never sideways"


def test_draft_is_said_in_the_title(make):
    assert draw(replace(make("error"), draft=True)).layout.title.text.startswith("Error of the estimate, draft<br>")


def test_house_rules(chart):
    figure = draw(chart)
    layout = figure.layout
    assert layout.showlegend is False
    assert layout.uirevision == "keep"
    assert layout.dragmode is False
    assert layout.paper_bgcolor is None
    assert layout.plot_bgcolor is None
    assert layout.height >= 330
    text = figure.to_json()
    assert "http" not in text, "no foreign address"
    assert "gradient" not in text


def test_numbers_on_the_chart_are_finite(chart):
    for trace in draw(chart).data:
        if trace.type == "contour":
            assert np.isfinite(np.asarray(trace.z, dtype=float)).all()
            continue
        assert all(math.isfinite(value) for value in values(trace.y))


def test_zeros_on_a_log_axis_are_gaps(make):
    figure = draw(make("zero"))
    private = next(trace for trace in figure.data if trace.name == "private")
    assert list(private.y) == [0.4, 0.3, 0.1, 0.01, None, None]
    attack = next(trace for trace in figure.data if trace.name == "attack")
    assert list(attack.y) == [0.3, 0.2, 0.09, 0.05, None, None]
    band = next(trace for trace in figure.data if trace.name == "private ± 2 s.e.")
    assert min(values(band.y)) > 0
    assert figure.layout.yaxis.type == "log"
    low, high = figure.layout.yaxis.range
    assert low < math.log10(0.01) < math.log10(0.4) < high
    assert low > -4, "what cannot be shown does not stretch the axis"


def test_nothing_to_show_is_said():
    axis = Axis("share", "log")
    chart = Chart("T", "s", Axis("n", "log"), axis, (Panel((Line("private", [1, 2], [0.0, -1.0], "private"),)),))
    assert any("No positive value" in note.text for note in draw(chart).layout.annotations)


def test_bands_are_two_standard_errors(make):
    chart = make("error")
    private = chart.panels[0].marks[1]
    band = next(trace for trace in draw(chart).data if trace.name == "private ± 2 s.e.")
    count = len(private.y)
    high, low = np.array(band.y[:count]), np.array(band.y[count:])[::-1]
    assert (high - low) / 2 == pytest.approx(2 * np.asarray(private.std_error))


def test_hover_reads_as_phrases(make):
    figure = draw(make("error"))
    private = next(trace for trace in figure.data if trace.name == "private")
    assert private.text[0] == "private: off by 0.152 ± 0.015 nats"
    assert private.hovertemplate == "%{text}<extra></extra>"
    assert figure.layout.xaxis.unifiedhovertitle.text == "<b>At ε = %{x:,.2~r}</b>"
    assert figure.layout.hovermode == "x unified"
    without = next(trace for trace in figure.data if trace.name == "without")
    assert without.text[0] == "without: 0.0233 ± 0.0016\u00a0nats"
    assert draw(make("map")).layout.hovermode == "closest"


def test_epsilon_axis_names_its_ends(make):
    axis = draw(make("error")).layout.xaxis
    assert [part for part in axis.title.text.replace("\u00a0", " ").split("  ") if part] == [
        "← more private",
        "ε",
        "more accurate →",
    ]
    assert list(axis.ticktext) == ["0.01", "0.03", "0.1", "0.3", "1", "3", "10"]
    assert list(axis.range) == pytest.approx([-2, 1]), "curves reach from edge to edge"


def test_curves_are_named_at_their_ends(make):
    figure = draw(make("error"))
    notes = {note.name: note for note in figure.layout.annotations}
    main = notes["label private"]
    assert main.text == "<b>private</b>"
    assert (main.xref, main.x, main.xanchor) == ("paper", 1, "left")
    assert main.font.color == style.ROLES["private"].colour
    assert notes["label without"].text == "without<br>privacy"
    order = ["label upper bound", "label private", "label without", "label lower bound"]
    heights = [notes[name].y for name in order]
    assert heights == sorted(heights, reverse=True)
    assert figure.layout.margin.r >= style.block_width("(shape only)")


def test_own_value_is_marked(make):
    figure = draw(make("error"))
    line = next(shape for shape in figure.layout.shapes if shape.name == "here")
    assert (line.x0, line.x1) == (0.05, 0.05)
    words = next(note for note in figure.layout.annotations if note.name == "here")
    assert words.text == "your ε = 0.05"
    assert words.x == pytest.approx(math.log10(0.05))
    outside = make("error")
    outside = replace(outside, panels=(replace(outside.panels[0], here=(99.0, "far")),))
    assert not [shape for shape in draw(outside).layout.shapes if shape.name == "here"]


def test_relatives_share_a_hue_and_differ_by_dash(make):
    lines = [trace for trace in draw(make("family")).data if trace.line.color == style.ROLES["upper bound"].colour]
    assert len(lines) == 3
    assert len({trace.line.dash for trace in lines}) == 3
    assert all(trace.line.dash != "solid" for trace in lines)


def test_main_curve_lies_above_the_others_and_points_above_all(make):
    names = [trace.name for trace in draw(make("error")).data]
    assert names[-1] == "private"
    assert names[0].endswith("± 2 s.e.") or names[0] == "upper bound"
    assert [trace.name for trace in draw(make("zero")).data][-1] == "attack"


def test_small_multiples_share_axes_and_name_curves_once(make):
    chart = make("panels")
    figure = draw(chart)
    layout = figure.layout
    assert layout.xaxis.matches is None
    assert {layout[f"xaxis{k}"].matches for k in range(2, 6)} == {"x"}
    assert {layout[f"yaxis{k}"].matches for k in range(2, 6)} == {"y"}
    assert layout.yaxis2.showticklabels is False
    assert layout.yaxis4.showticklabels is None, "the second row starts with labels"
    assert layout.xaxis.showticklabels is False
    assert layout.xaxis3.showticklabels is None, "nothing below the last panel of the first row"
    titles = [note.text for note in layout.annotations if note.name == "panel"]
    assert titles == [panel.title for panel in chart.panels]
    labels = [note for note in layout.annotations if note.name.startswith("label ")]
    assert [note.name for note in labels] == ["label plug-in, private", "label plug-in"]
    assert labels[0].y > labels[1].y
    low, high = layout.yaxis3.domain
    assert all(low - 0.05 <= note.y <= high for note in labels), "beside the first row's last panel"
    published = [trace for trace in figure.data if trace.name == "published"]
    assert len(published) == 5
    assert {trace.marker.symbol for trace in published} == {"circle-open"}


def test_phone_has_one_panel_per_row_and_few_ticks(make):
    wide, narrow = draw(make("panels")), draw(make("panels"), compact=True)
    assert narrow.layout.height > 1.5 * wide.layout.height
    assert {tuple(narrow.layout[f"xaxis{k}"].domain) for k in range(2, 6)} == {(0, 1)}
    assert list(draw(make("error"), compact=True).layout.xaxis.ticktext) == ["0.01", "0.1", "1", "10"]


def test_presenter_has_large_text(make):
    layout = draw(make("error"), presenter=True).layout
    assert (layout.font.size, layout.height) == (17, 380)
    assert layout.xaxis.tickfont.size == 17


def test_own_axes_per_panel(make):
    chart = make("panels")
    other = Axis("coverage", "linear")
    panels = (chart.panels[0], replace(chart.panels[1], y=other))
    layout = draw(replace(chart, panels=panels, shared_y=False, columns=2, names=())).layout
    assert (layout.yaxis.type, layout.yaxis2.type) == ("log", "linear")
    assert layout.yaxis2.matches is None
    assert layout.yaxis2.showticklabels is None


def test_map_has_six_flat_classes_named_levels_and_you(make):
    figure = draw(make("map"))
    contour, you = figure.data
    assert contour.type == "contour"
    assert [colour for _, colour in contour.colorscale] == list(style.CLASSES)
    assert (contour.contours.start, contour.contours.end, contour.contours.size) == (1, 5, 1)
    assert contour.line.color == style.PAPER
    assert contour.showscale is False
    assert (list(you.x), list(you.y)) == ([2_000], [0.01])
    notes = [note.name for note in figure.layout.annotations]
    assert [name for name in notes if name.startswith("level ")] == [
        f"level {level}" for level in ("1.05×", "1.5×", "2×", "5×", "10×")
    ]
    assert "region noise decides" in notes
    assert "you" in notes
    levels = [note for note in figure.layout.annotations if note.name.startswith("level ")]
    assert [note.x for note in levels] == sorted((note.x for note in levels), reverse=True), "stepped along a diagonal"
    assert all(note.bgcolor == style.PAPER for note in levels)
    assert contour.text[0][0].startswith("<b>n = 200, ε = 0.001</b><br>")
    assert contour.text[0][0].endswith("× the error without privacy")


def test_level_names_stand_on_their_lines(make):
    chart = make("map")
    mark = chart.panels[0].marks[0]
    figure = draw(chart)
    for note in figure.layout.annotations:
        if note.name.startswith("level "):
            level = float(note.text.removesuffix("×"))
            n = 10 ** (math.log10(200) + note.x * (math.log10(1e5) - math.log10(200)))
            epsilon = 10 ** (-3 + 3 * note.y)
            exact = math.sqrt(1 + (0.024 / epsilon) ** 2 * (1 + 200 / n))
            assert exact == pytest.approx(level, rel=0.07), "on the line, up to the grid's step"
    assert mark.levels[0] == 1.05


def test_bars_and_areas(make):
    bars = draw(make("bars"))
    assert bars.layout.barmode == "group"
    assert list(bars.layout.xaxis.categoryarray) == ["degree 2", "degree 4", "degree 6"]
    assert bars.layout.yaxis.range[0] == 0
    assert {trace.marker.pattern.shape for trace in bars.data} == {"", "/"}
    stacked = draw(make("stacked"))
    assert stacked.layout.barmode == "stack"
    assert stacked.layout.yaxis.range[1] >= 1.0, "the sum fits"
    assert any(shape.y0 == 0.4 for shape in stacked.layout.shapes)
    area = draw(make("area"))
    assert {trace.stackgroup for trace in area.data} == {"stack 0"}
    assert area.layout.yaxis.range[1] == pytest.approx(1.0)


def test_bars_side_by_side_are_named_above_the_tallest(make):
    figure = draw(make("bars"))
    notes = {note.name: note for note in figure.layout.annotations}
    noise, sampling = notes["label noise"], notes["label sampling"]
    assert noise.xref == sampling.xref == "x domain"
    assert 2 / 3 < noise.x < 5 / 6, "left of the middle of the third group"
    assert 1 / 6 < sampling.x < 1 / 3, "right of the middle of the first group"
    assert noise.y > 0.9
    assert 0.51 < sampling.y < 0.7


def test_names_of_stacked_parts_stand_in_their_order(make):
    notes = {note.name: note for note in draw(make("stacked")).layout.annotations}
    assert notes["label sampling"].y > notes["label noise"].y
    assert notes["label noise"].xref == "paper"


def test_stated_bounds_do_not_cut_bars():
    bars = Bars("data", [0, 1, 2], [0.2, 0.5, 0.3], "share")
    chart = Chart("T", "s", Axis("changed", low=0, high=2), Axis("share"), (Panel((bars,)),))
    assert list(draw(chart).layout.xaxis.range) == pytest.approx([-0.5, 2.5])


def test_a_band_thinner_than_its_name_is_named_beside_it():
    x = np.linspace(0, 5, 30)
    band = Spread("private", x, 30 + x - 0.01, 30 + x + 0.01, "19 of 20", label="19 of 20 answers")
    curve = Line("private", x, 30 + x, "middle")
    chart = Chart("T", "s", Axis("t"), Axis("values"), (Panel((band, curve)),))
    layout = draw(chart).layout
    words = next(note for note in layout.annotations if note.name == "label 19 of 20")
    low, high = layout.yaxis.range
    at = 5 * words.x
    distance = abs((low + words.y * (high - low)) - (30 + at)) / (high - low) * 316
    assert distance > 14 * 1.2 / 2, "clear of the line"


def test_spreads_are_two_shades_with_their_names_on_them(make):
    figure = draw(make("spread"))
    strong = next(trace for trace in figure.data if trace.name == "half")
    light = next(trace for trace in figure.data if trace.name == "19 of 20")
    assert (strong.fillcolor[-2:], light.fillcolor[-2:]) == (f"{round(0.3 * 255):02X}", f"{round(0.16 * 255):02X}")
    words = {note.text for note in figure.layout.annotations}
    assert {"19 of 20 releases", "half of all releases"} <= words
    assert not any("s.e." in trace.name for trace in figure.data)


def test_single_points_carry_their_names_inside_the_chart(make):
    notes = [note for note in draw(make("points")).layout.annotations if note.name.startswith("point ")]
    assert {note.text for note in notes} == {"children", "height", "income"}
    right = next(note for note in notes if note.text == "income")
    assert right.xanchor == "right", "no room on the right of the last point"


def test_many_points_go_through_the_graphics_card_and_long_curves_are_thinned():
    x = np.arange(1.0, 5_001.0)
    marks = (Points("data", x, x, "cloud"), Line("private", x, x, "curve", "curve"))
    figure = draw(Chart("T", "s", Axis("x"), Axis("y"), (Panel(marks),)))
    by_name = {trace.name: trace for trace in figure.data}
    assert by_name["cloud"].type == "scattergl"
    assert len(by_name["cloud"].x) == 5_000
    assert len(by_name["curve"].x) <= 2_002


def test_stated_bounds_win(make):
    chart = make("error")
    figure = draw(replace(chart, y=Axis("error", "log", low=1e-3, high=1.0), x=Axis("ε", "log", low=0.1, high=1.0)))
    assert list(figure.layout.yaxis.range) == pytest.approx([-3, 0])
    assert list(figure.layout.xaxis.range) == pytest.approx([-1, 0])


def test_toolbar_saves_images_and_sends_nothing_anywhere():
    bar = config("entropy-error")
    assert bar["displayModeBar"] == "hover"
    assert bar["displaylogo"] is False
    assert bar["showSendToCloud"] is False
    assert "sendChartToCloud" in bar["modeBarButtonsToRemove"]
    assert not {"toImage", "zoom2d", "resetScale2d"} & set(bar["modeBarButtonsToRemove"])
    assert bar["toImageButtonOptions"] == {"format": "png", "filename": "entropy-error", "scale": 2}
    assert config(image="svg")["toImageButtonOptions"]["format"] == "svg"
    assert "Download plot as an SVG" in SVG_BUTTON
    assert re.findall('https?://[^"]*', SVG_BUTTON) == ["http://www.w3.org/2000/svg"], "a name, not an address"
    assert not re.search("<[/a-z]", SVG_BUTTON), "sanitisers drop scripts that hold tags"


def test_describe_says_the_takeaway(make):
    said = describe(make("error"))
    assert said.startswith("Error of the estimate (root-mean-square, in nats, log scale) against ε from 0.01 to 10.")
    assert "private falls from 0.15\u00a0nats to 0.023\u00a0nats" in said
    assert "without privacy stays near 0.023\u00a0nats" in said
    assert "Marked: your ε = 0.05." in said
    assert "at your own point (2,000 and 0.01)" in describe(make("map"))


def test_every_chart_has_words(chart):
    said = describe(chart)
    assert said.startswith(chart.title)
    assert said.endswith(".")
    assert "<" not in said
    assert "nan" not in said


def test_values_too_small_for_a_power_of_ten_are_drawn():
    marks = (Line("private", [1, 2, 3], [1.0, 1e-12, 5e-324], "chance"),)
    figure = draw(Chart("T", "s", Axis("n"), Axis("chance", "log"), (Panel(marks),)))
    assert figure.data[0].text[2] == "chance: 4.94×10⁻³²⁴"
