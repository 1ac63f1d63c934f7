from __future__ import annotations

import numpy as np
import pytest

from privexplorer.figures import draw
from privexplorer.figures.marks import signed_classes
from privexplorer.figures.style import INK, PAPER, SIGNED
from privexplorer.studies.chart import Axis, Bars, Chart, HeatMap, Panel


def chart(z: np.ndarray) -> Chart:
    rows, columns = z.shape
    mark = HeatMap(
        np.arange(columns, dtype=float), np.arange(rows, dtype=float), z, (), "weights",
        hover="weight {z}", cells=True, x_names=[f"c{j}" for j in range(columns)],
        y_names=[f"r{i}" for i in range(rows)],
    )  # fmt: skip
    x, y = Axis("shown", low=-0.5, high=columns - 0.5), Axis("true", low=-0.5, high=rows - 0.5)
    bars = Bars("private", ["a", "b"], [1.5, -0.5], "weights of one")
    return Chart(
        "Weights", "of one record", x, y, (Panel((mark,), "W"), Panel((bars,), "one", x=Axis("", "category"))),
        columns=2, shared_y=False,
    )  # fmt: skip


def test_each_entry_is_a_square_with_its_number_and_its_names():
    z = np.array([[2.5, -0.5, 0.0], [-2.5, 0.25, 1.5]])
    figure = draw(chart(z))
    squares = next(trace for trace in figure.data if trace.type == "heatmap")
    assert [list(row) for row in squares.z] == [[8.5, 2.5, 4.5], [0.5, 5.5, 7.5]]
    assert squares.text[0][1] == "<b>shown c1, true r0</b><br>weight −0.500"
    written = next(trace for trace in figure.data if trace.name == "weights, numbers")
    assert list(written.text) == ["2.5", "−0.5", "0", "−2.5", "0.25", "1.5"]
    assert list(written.x) == [0, 1, 2, 0, 1, 2]
    assert list(written.y) == [0, 0, 0, 1, 1, 1]
    assert list(written.textfont.color) == [PAPER, INK, INK, PAPER, INK, PAPER]
    assert list(figure.layout.xaxis.ticktext) == ["c0", "c1", "c2"]
    assert list(figure.layout.yaxis.tickvals) == [0, 1]
    assert list(figure.layout.xaxis.range) == [-0.5, 2.5]
    assert figure.layout.hovermode == "closest"
    # shades stand for classes, without a gradient between them
    assert [colour for place, colour in squares.colorscale][::2] == list(SIGNED)
    assert all(
        before[1] == after[1] for before, after in zip(squares.colorscale[::2], squares.colorscale[1::2], strict=True)
    )


@pytest.mark.parametrize("z", [np.zeros((2, 2)), np.array([[np.nan, 1.0]])])
def test_tables_without_sizes_or_numbers_can_be_drawn(z):
    assert signed_classes(z).ravel()[0] == 4
    draw(chart(z))


def test_hue_says_the_sign():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((5, 5))
    np.testing.assert_array_equal(np.sign(signed_classes(z) - 4), np.sign(z))
    assert np.all(np.diff(signed_classes(np.sort(z, axis=None))) >= 0)
