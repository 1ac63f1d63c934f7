"""Coefficients, their bounds, and where the printed bound on the sensitivity fails."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.properties import sgt_coefficient_bound, smoothing_rate
from privexplorer.studies.coefficient_explosion import CoefficientExplosion, CoefficientScenario

STUDY = CoefficientExplosion()
make = CoefficientScenario


def y(result, name):  # type: ignore[no-untyped-def]
    return result.series(name)["y"].to_numpy()


def test_coefficients_are_the_published_ones():  # type: ignore[no-untyped-def]
    """Gold 7: n = 100, t = 2; the study shows the part that counts new symbols, one less."""
    result = STUDY.run(make(n=100, t=2.0, counts=5))
    gold = [2.634851628, -1.027761571, 2.943478737, -0.492464175, 1.948892265]
    assert y(result, "Poisson") + 1 == pytest.approx(gold, rel=1e-9)
    assert y(result, "Good-Toulmin") == pytest.approx([2.0, -4.0, 8.0, -16.0, 32.0], rel=1e-12)
    assert make(n=100, t=2.0).rate == pytest.approx(1.700598691, rel=1e-9)


def test_sensitivities_are_the_published_ones():  # type: ignore[no-untyped-def]
    """Gold 9: n = 10,000, t = 3: exact 39.83, printed 88.18; the noise is the square root of 2 over ε times exact."""
    result = STUDY.run(make(n=10_000, t=3.0, epsilon=0.5))
    assert [card.value for card in result.cards[1:]] == ["39.8", "88.2", "113"]
    assert result.cards[2].chip == "2.2× the exact"
    frame = STUDY.numbers(STUDY.run(make(n=10_000, t=3.0)), "sensitivity")
    rate = smoothing_rate(10_000, 3.0)
    exact = frame[frame["series"] == "exact sensitivity"]
    assert np.interp(rate, exact["x"], exact["y"]) == pytest.approx(39.83156705, rel=1e-3)


def test_bias_and_its_bound():  # type: ignore[no-untyped-def]
    """Uniform, k = 1,000, n = 500, t = 2: exact -7.2, bound 140.5 (§5)."""
    result = STUDY.run(make(n=500, k=1000, t=2.0))
    assert result.cards[0].value == "140"
    assert "7.24" in result.cards[0].help
    frame = STUDY.numbers(result, "balance").set_index(["series", "x"])["y"]
    assert (frame["exact bias, equally likely values"] <= frame["bias bound"]).all()
    assert (frame["noise"] == math.sqrt(2) * frame["exact sensitivity"]).all()


def test_no_coefficient_exceeds_its_bound():  # type: ignore[no-untyped-def]
    """Lemma 26, on a grid of rates and look-aheads; the bound divided by two would fail."""
    tight = 0.0
    for t in (1.1, 2.0, 5.0, 10.0):
        for factor in (0.1, 1.0, 3.0):
            scenario = make(n=10_000, t=t, factor=factor, counts=60)
            sizes = np.abs(y(STUDY.run(scenario), "Poisson") + 1)
            bound = sgt_coefficient_bound(scenario.rate, t)
            assert np.all(sizes <= bound * (1 + 1e-12))
            tight = max(tight, float(sizes.max() / bound))
    assert tight > 0.5


def test_printed_bound_fails_where_it_is_said_to():  # type: ignore[no-untyped-def]
    """E3: r near 60, t = 1.022."""
    result = STUDY.run(make(t=1.022, factor=10.0))
    assert result.cards[2].chip == "too small here"
    assert [note.title for note in result.notes] == ["The printed bound fails here"]
    frame = STUDY.numbers(result, "sensitivity")
    share = frame[frame["series"] == "exact ÷ printed"]
    over = share[share["y"] > 1]
    assert over["x"].min() == pytest.approx(20, rel=0.15)  # "first seen near r of about 20"
    assert np.interp(60, share["x"], share["y"]) == pytest.approx(1.14, abs=0.01)
    marks = {mark.name for mark in STUDY.chart(result, "sensitivity").marks()}
    assert "printed bound too small" in marks
    fine = STUDY.run(make())
    assert not fine.notes
    assert "printed bound too small" not in {mark.name for mark in STUDY.chart(fine, "sensitivity").marks()}


def test_smoothed_series_end_and_signs_alternate():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(n=1000, t=2.0, counts=20))
    signs = np.sign(y(result, "Poisson"))
    assert signs.tolist() == [1.0, -1.0] * 10
    binomial = y(result, "binomial 1/(1+t)")
    last = math.ceil(0.5 * math.log2(1000 * 4 / 1))
    assert np.all(binomial[last:] == 0)
    assert binomial[last - 1] != 0
    for mark in STUDY.chart(result, "coefficients").marks():
        assert np.all(np.asarray(mark.y) >= 0)


def test_words_name_the_largest_weights():  # type: ignore[no-untyped-def]
    result = STUDY.run(make())
    assert "1.0×10⁶" in result.shows  # 2 to the 20th
    assert "Smoothing keeps all weights below" in result.shows
    early = STUDY.run(make(t=1.022, factor=10.0, counts=20))
    assert "only beyond the counts shown" in early.shows


def test_refusal_beyond_the_range_of_numbers():  # type: ignore[no-untyped-def]
    words = STUDY.check(make(n=100_000_000, t=50.0, factor=100.0), None)
    assert len(words) == 1
    assert "leaves the range of numbers" in words[0]
    assert not STUDY.check(make(t=50.0, factor=10.0), None)
