"""The pieces of the look: slots, ticks, bands, names pushed apart."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.elements.lib import streamlit_plotly_theme as slots

from privexplorer.figures import draw, resolve, style, subtitle_problem
from privexplorer.figures.grid import Range
from privexplorer.figures.marks import class_numbers, phrases, shades, thinned
from privexplorer.figures.placing import Box, Ground, apart

CONFIG = Path(__file__).parents[2] / ".streamlit" / "config.toml"


def test_colours_are_the_place_holders_that_streamlit_replaces():
    expected = {f"CATEGORY_{place}": f"#0000{place + 1:02d}" for place in range(10)}
    expected |= {f"SEQUENTIAL_{place}": f"#0000{place + 11:02d}" for place in range(10)}
    expected |= {f"DIVERGING_{place}": f"#0000{place + 21:02d}" for place in range(10)}
    assert {name: getattr(slots, name) for name in expected} == expected
    roles = [look.colour for look in style.ROLES.values()]
    assert roles == [getattr(slots, f"CATEGORY_{place}") for place in range(8)]
    assert (slots.CATEGORY_8, slots.CATEGORY_9, slots.BG_COLOR) == (style.SOFT, style.GRID, style.PAPER)
    assert [getattr(slots, f"SEQUENTIAL_{place}") for place in (0, 2, 4, 5, 6, 8)] == list(style.CLASSES)


def test_a_role_is_never_told_by_colour_alone():
    looks = list(style.ROLES.values())
    assert len({look.colour for look in looks}) == 8
    assert len({(look.dash, look.marker, look.width) for look in looks}) == 8
    assert len({look.pattern for look in looks}) == 8


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.01, 10, ["0.01", "0.03", "0.1", "0.3", "1", "3", "10"]),
        (0.005, 0.5, ["0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]),
        (200, 100_000, ["300", "1,000", "3,000", "10,000", "30,000", "100,000"]),
        (1e-7, 1e-2, ["10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"]),
        (100, 2e6, ["10²", "10³", "10⁴", "10⁵", "10⁶"]),
        (100, 999_000, ["100", "1,000", "10,000", "100,000"]),
        (2, 4, ["2", "3", "4"]),
        (1.1, 1.3, ["1.1", "1.2", "1.3"]),
    ],
)
def test_log_ticks(low, high, texts):
    axis = style.log_axis(low, high)
    assert axis["ticktext"] == texts
    assert axis["range"] == pytest.approx([math.log10(low), math.log10(high)])


def test_few_ticks_for_a_narrow_chart():
    assert style.log_axis(0.01, 10, few=True)["ticktext"] == ["0.01", "0.1", "1", "10"]
    assert len(style.log_axis(20, 80, few=True)["ticktext"]) >= 2, "never a single tick"
    assert len(style.log_axis(1e-30, 1.0)["ticktext"]) <= 9


@pytest.mark.parametrize(("low", "high"), [(0.0104, 0.2), (3.0, 3.3), (1.0, 1.0), (2e-9, 5e-3), (17, 90_000)])
def test_ranges_hold_the_data_with_room(low, high):
    bottom, top = style.log_ends(low, high)
    assert bottom < low <= high < top
    assert math.log10(top / bottom) < math.log10(high / low) * 1.5 + 1
    bottom, top = style.linear_ends(low, high)
    assert bottom <= low <= high <= top
    assert top > bottom


def test_linear_range_shows_zero_where_it_is_near_and_on_request():
    assert style.linear_ends(0.1, 0.9)[0] == 0
    assert style.linear_ends(7.1, 7.9)[0] > 6
    assert style.linear_ends(7.1, 7.9, zero=True)[0] == 0
    assert style.linear_ends(-0.9, -0.1)[1] == 0
    assert style.linear_ends(0.0, 0.0, zero=True) == (0.0, 1.0)


def test_band_is_one_polygon_per_stretch():
    trace = style.band("private", [1, 2, 3, 4], [1, 1, math.nan, 2], [2, 3, math.nan, 4], name="b")
    assert trace["x"] == [1, 2, 2, 1, None, 4, 4]
    assert trace["y"] == [2, 3, 1, 1, None, 4, 2]
    assert trace["fillcolor"] == style.ROLES["private"].colour + "29"
    assert round(0x29 / 255, 2) == 0.16


def test_names_at_the_end_never_overlap_and_keep_their_order():
    rng = np.random.default_rng(5)
    for _ in range(50):
        count = int(rng.integers(1, 9))
        shares = rng.uniform(-0.2, 1.2, count)
        items = [style.EndLabel("private", "two words here, too", float(y), name=str(i)) for i, y in enumerate(shares)]
        notes, right = style.end_labels(items, height=320.0)
        assert right > style.text_width("two words", 14)
        height = {note["name"]: note["y"] * 320 for note in notes}
        for i, a in enumerate(shares):
            for j, b in enumerate(shares):
                if i != j:
                    gap = height[f"label {i}"] - height[f"label {j}"]
                    assert abs(gap) >= 2 * 14 * 1.2 - 1e-6, "two lines of text need their room"
                    clipped = min(max(a, 0), 1) - min(max(b, 0), 1)
                    assert gap * clipped >= 0, "the higher curve has the higher name"


def test_names_with_room_stand_at_their_curve():
    items = [style.EndLabel("private", "a", 0.9), style.EndLabel("truth", "b", 0.2)]
    notes, _ = style.end_labels(items, height=300.0, domain=(0.5, 1.0))
    assert [note["y"] for note in notes] == pytest.approx([0.95, 0.6], abs=1e-9)
    assert [note["font"]["color"] for note in notes] == [style.ROLES["private"].colour, style.ROLES["truth"].colour]


def test_apart_moves_as_little_as_possible():
    assert apart([10.0, 11.0, 12.0], [4.0, 4.0, 4.0], -100, 100) == pytest.approx([7.0, 11.0, 15.0])
    assert apart([0.0, 50.0], [10.0, 10.0], 0, 100) == pytest.approx([5.0, 50.0])
    crowded = apart([5.0] * 5, [10.0] * 5, 0, 20)
    assert np.diff(crowded) == pytest.approx([10.0] * 4), "too little room: names hang over, they do not overlap"


def test_free_places_keep_clear_of_curves_and_words():
    ground = Ground(200, 100)
    ground.curve(np.array([0.0, 200.0]), np.array([50.0, 50.0]))
    boxes = [Box(100, 50, 40, 10), Box(100, 58, 40, 10), Box(100, 80, 40, 10)]
    assert ground.best(boxes) == 2
    assert ground.clearance(Box(100, 50, 40, 10)) == pytest.approx(-5)
    assert ground.clearance(Box(100, 80, 40, 10)) < 0, "the place is taken now"
    assert ground.clearance(Box(195, 20, 40, 10)) < -50, "words stay inside"


def test_subtitles_fit_a_phone():
    assert subtitle_problem("x" * 48) is None
    assert subtitle_problem("<b>" + "x" * 48 + "</b>") is None
    assert "49 characters" in (subtitle_problem("x" * 49) or "")


def test_phrases_carry_two_standard_errors():
    said = phrases("off by {y} ± {e} nats", np.array([0.0385, 0.5, np.nan]), np.array([0.0031, 0.0, np.nan]))
    assert said == ["off by 0.038 ± 0.003 nats", "off by 0.500 nats", "off by – nats"]


def test_long_curves_are_thinned_and_keep_their_peaks():
    x = np.arange(50_000.0)
    y = np.sin(x / 500)
    y[23_456] = 9.0
    y[3] = -9.0
    keep = thinned(x, y)
    assert len(keep) <= 2_002
    assert {0, 3, 23_456, 49_999} <= set(keep.tolist())
    assert np.all(np.diff(keep) > 0)
    assert len(thinned(x[:2_000], y[:2_000])) == 2_000


def test_map_classes_meet_their_levels():
    levels = [1.05, 1.5, 2.0, 5.0, 10.0]
    got = class_numbers(np.array([[*levels, 1.0, 1e9, np.inf, np.nan]]), levels)[0]
    assert got[:5] == pytest.approx([1, 2, 3, 4, 5])
    assert 0.5 <= got[5] < 1
    assert 5 < got[6] < 6
    assert 5 < got[7] < 6
    assert np.isnan(got[8])
    assert shades(6) == list(style.CLASSES)
    assert (shades(3)[0], shades(3)[-1]) == (style.CLASSES[0], style.CLASSES[-1])


def test_range_turns_values_into_shares():
    log = Range("log", 0.01, 100)
    assert log.share(np.array([0.01, 1.0, 100.0])) == pytest.approx([0, 0.5, 1])
    assert np.isnan(log.share(np.array([0.0, -1.0]))).all()
    named = Range("category", -0.5, 1.5, ("a", "b"))
    assert named.share(named.places(["a", "b"])) == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("name", ["light", "dark"])
def test_resolve_puts_the_themes_colours_in(make, name):
    theme = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["theme"][name]
    for kind in ("error", "map"):
        figure = resolve(draw(make(kind)), theme)
        text = figure.to_json()
        assert "#0000" not in text
        assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == theme["backgroundColor"]
        if kind == "error":
            private = next(trace for trace in figure.data if trace.name == "private")
            assert private.line.color == theme["chartCategoricalColors"][0]
            shade = next(trace for trace in figure.data if trace.name == "private ± 2 s.e.")
            assert shade.fillcolor == theme["chartCategoricalColors"][0] + "29"
        else:
            assert figure.data[0].colorscale[-1][1] == theme["chartSequentialColors"][8]


def test_resolve_leaves_its_argument_alone(make):
    figure = draw(make("error"))
    before = figure.to_json()
    theme = tomllib.loads(CONFIG.read_text(encoding="utf-8"))["theme"]["light"]
    assert isinstance(resolve(figure, theme), go.Figure)
    assert figure.to_json() == before
