from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from privexplorer.causal import AlphaIdentity, mixed_noise
from privexplorer.causal.mechanisms import UniformNoise
from privexplorer.figures import draw
from privexplorer.studies.signed_imputation import (
    BINS,
    MixedRecord,
    OwnMatrix,
    Response,
    SignedImputation,
    SignedScenario,
    Swap,
    mixed_weights,
)

study = SignedImputation()


def column(result, name, panel):
    return result.series(name, panel)["y"].to_numpy(dtype=float)


def test_randomised_response_gold():
    # G1, G2: J = 4, ε = ln 3
    result = study.run(SignedScenario(mechanism=Response(levels=4, epsilon=math.log(3)), shown=2))
    np.testing.assert_allclose(column(result, "weights of this record", "weights"), [-0.5, -0.5, 2.5, -0.5], rtol=1e-12)
    assert result.extra["matrix"][0, 0] - result.extra["matrix"][0, 1] == pytest.approx(1 / 3, rel=1e-12)
    text = next(item.numbers for item in result.formulas if item.title == "Randomised response")
    assert "2.5" in text
    assert "-0.5" in text
    assert result.extra["slip"] < 1e-12
    assert "symmetric" in result.shows


def test_uneven_table_tells_rows_from_columns():
    # G3: weights act on functions through the transpose
    result = study.run(SignedScenario(mechanism=OwnMatrix()))
    h = np.array([1.0, -2.0, 5.0])
    weights = np.stack([column(result, f"shown {z}", "inverse") for z in range(3)])  # a row per shown value
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose((weights * h).sum(axis=1), [2.5, -7.5, 7.5], rtol=1e-12)
    np.testing.assert_allclose(
        column(result, "weighted back", "undo"), column(result, "true shares", "undo"), rtol=1e-9
    )
    wrong = column(result, "rows for columns", "undo")
    assert np.abs(wrong - column(result, "true shares", "undo")).max() > 0.03
    assert "come out wrong" in result.shows


@pytest.mark.parametrize("keep", [0.1, 0.5, 1.0])
def test_keep_or_swap(keep):
    noise = (0.2, 0.5, 0.3)
    result = study.run(SignedScenario(mechanism=Swap(keep_probability=keep, noise=noise), shown=1))
    expected = np.eye(3)[1] / keep - (1 / keep - 1) * np.array(noise)
    np.testing.assert_allclose(column(result, "weights of this record", "weights"), expected, rtol=1e-12, atol=1e-15)
    truth = column(result, "true shares", "undo")
    np.testing.assert_allclose(column(result, "shown shares", "undo"), keep * truth + (1 - keep) * np.array(noise))


def test_mixed_record_weights_are_unbiased():
    # L-X12: category and number together; the weighted mean of a function over many shown records is right
    choice = MixedRecord(keep_probability=0.4, number=0.4)
    weights, edges = mixed_weights(choice, 1)
    assert weights.shape == (3, BINS)
    assert weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert weights[1, 2] == pytest.approx(2.5 - 1.5 * 0.3 / BINS, rel=1e-12)
    rng = np.random.default_rng(5)
    size = 40_000
    x = np.column_stack([rng.choice(3, size, p=[0.6, 0.3, 0.1]).astype(float), rng.beta(2, 5, size)])
    shown = AlphaIdentity(0.4, mixed_noise(choice.noise, UniformNoise(0.0, 1.0))).privatise(x, rng)

    def h(category, part):
        return np.where(category == 0, 1.0, -1.0) * (part < 3)

    parts = np.minimum((shown[:, 1] * BINS).astype(int), BINS - 1)
    grid = h(np.arange(3)[:, None], np.arange(BINS)[None, :])
    # one table of weights per shown field
    of_field = np.array(
        [
            [
                (mixed_weights(choice.model_copy(update={"number": (part + 0.5) / BINS}), code)[0] * grid).sum()
                for part in range(BINS)
            ]
            for code in range(3)
        ]
    )
    values = of_field[shown[:, 0].astype(int), parts]
    truth = h(x[:, 0], np.minimum((x[:, 1] * BINS).astype(int), BINS - 1)).mean()
    error = values.std(ddof=1) / math.sqrt(size)
    assert abs(values.mean() - truth) < 4 * error
    # taking what is shown for the true value is off by far more
    assert abs(h(shown[:, 0], parts).mean() - truth) > 8 * error
    assert edges[-1] == 1


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (OwnMatrix(entries=(0.5, 0.5, 0.5, 0.5)), "cannot be inverted"),
        (OwnMatrix(entries=(0.5, 0.5, 0.5, 0.5, 0.5)), "this one has 5"),
        (OwnMatrix(entries=(0.9, 0.1, 0.2, 0.8)), "exchange rows and columns"),
        (Swap(noise=(0.5, 0.4)), "add up to 0.9"),
        (MixedRecord(noise=(0.5, 0.4)), "add up to 0.9"),
    ],
)
def test_refusals(mechanism, words):
    (sentence,) = study.check(SignedScenario(mechanism=mechanism), None)
    assert words in sentence


def test_charts():
    names = {
        "weights": ["chances", "inverse", "above 0", "below 0"],
        "undo": ["true shares", "shown shares", "weighted back", "rows for columns"],
    }
    result = study.run()
    for view, expected in names.items():
        chart = study.chart(result, view)
        assert [mark.name for mark in chart.marks()] == expected
        draw(chart)
    # the first row of the table stands on top
    table = study.chart(result, "weights").marks()[0]
    np.testing.assert_array_equal(table.z[-1], result.extra["matrix"][0])
    mixed = study.run(SignedScenario(mechanism=MixedRecord(), shown=7))
    assert [mark.name for mark in study.chart(mixed, "weights").marks()] == ["weights"]
    draw(study.chart(mixed, "weights"), compact=True)


def hovers(result, name):
    squares = next(trace for trace in draw(study.chart(result, "weights")).data if trace.name == name)
    return [[text.replace("\u00a0", " ") for text in row] for row in squares.text]


def test_hovering_the_inverse_tells_all_weights_of_its_column_and_their_sum():
    # view 7.4, with G3: each square of a column tells the same weights; they differ from those of the row
    result = study.run(SignedScenario(mechanism=OwnMatrix()))
    inverse = result.extra["inverse"]
    told = hovers(result, "inverse")[::-1]
    for x in range(3):
        for z in range(3):
            head, own, counts, *weights, total = told[x][z].split("<br>")
            assert head == f"<b>shown {z}, true {x}</b>"
            assert own.startswith("weight ")
            assert counts == f"shown {z} counts as:"
            values = [float(line.split(" times")[0].replace("−", "-")) for line in weights]
            np.testing.assert_allclose(values, inverse[:, z], atol=5e-4)
            assert [line.split(" times ")[1] for line in weights] == ["true 0", "true 1", "true 2"]
            assert total == "together 1.000"


def test_hovers_say_no_word_twice():
    for scenario in (SignedScenario(), SignedScenario(mechanism=MixedRecord())):
        result = study.run(scenario)
        for trace in draw(study.chart(result, "weights")).data:
            if trace.type == "heatmap":
                for text in (text for row in trace.text for text in row):
                    words = text.replace("\u00a0", " ").replace("<br>", " ").split()
                    assert all(a != b for a, b in pairwise(words)), text
    assert hovers(study.run(SignedScenario()), "chances")[-1][0].startswith("<b>true 0, shown 0</b><br>chance ")
