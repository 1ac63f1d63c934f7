"""Support size: conditions, estimates, the gap of Lemma 30, refusals."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from privexplorer.distributions import Empirical, TwoStep, Uniform, Zipf
from privexplorer.errors import ParameterError
from privexplorer.properties import DenseSupport, SparseSupport
from privexplorer.records import Grid
from privexplorer.studies.base import stacked
from privexplorer.studies.support_size import SupportSize, SupportSizeScenario, conditions

STUDY = SupportSize()
make = SupportSizeScenario
SMALL = make(distribution=Uniform(k=80), k=100, n=Grid(low=100, high=2_000, points=6), trials=64)


def y(result, name):  # type: ignore[no-untyped-def]
    return result.series(name)["y"].to_numpy()


def test_conditions_are_the_published_numbers():  # type: ignore[no-untyped-def]
    need = conditions(1000, 0.1, 1.0)
    assert need.bias == pytest.approx(1079.680098, rel=1e-9)  # gold 12
    assert need.privacy == pytest.approx(1081.719749, rel=1e-9)
    assert need.enough == need.privacy
    assert need.change == pytest.approx(500 * math.log(30), rel=1e-12)
    assert need.dense == pytest.approx(9000 * math.log(10), rel=1e-12)
    weak = conditions(50, 0.1, 0.2)
    assert weak.privacy is None
    assert weak.enough is None
    assert conditions(8, 0.1, 1.0).dense == pytest.approx(18 * 8 * math.log(8))  # k below 1/accuracy


def test_cards_and_words_hold_the_conditions():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(trials=32))
    assert [card.value for card in result.cards[2:]] == ["1,080", "1,082"]
    assert "(bias 1,080, privacy 1,082)" in result.shows
    assert "From n = 1,701 on the sparse estimator counts" in result.shows
    small = STUDY.run(
        make(distribution=Uniform(k=40), k=50, epsilon=0.2, n=Grid(low=50, high=500, points=3), trials=16)
    )
    assert small.cards[3].value == "–"
    assert "say nothing here" in small.shows


def test_estimates_are_those_of_the_estimators():  # type: ignore[no-untyped-def]
    """Mean estimates of the blocks agree with exact means to four standard errors; a tenth off would show."""
    prepared = STUDY.prepare(SMALL, None)
    blocks = np.concatenate([STUDY.run_block(prepared, b) for b in range(4)])
    for place, estimator in enumerate((SparseSupport(accuracy=0.1), DenseSupport())):
        for point, n in enumerate(prepared.ns.tolist()):
            exact = estimator.table(n, 100).mean(prepared.law)
            error = blocks[:, place, point].std(ddof=1) / math.sqrt(blocks.shape[0])
            assert abs(blocks[:, place, point].mean() - exact) < 4 * error + 1e-3, (place, n)
            if n > 200:
                assert 4 * error < 0.1 * exact


def test_noise_adds_in_squares_and_the_printed_bound_adds_more():  # type: ignore[no-untyped-def]
    exact, printed = STUDY.run(SMALL), STUDY.run(SMALL.model_copy(update={"noise_rule": "thesis"}))
    sparse = SparseSupport(accuracy=0.1)
    for point, n in enumerate(SMALL.n.values().tolist()):
        noise = y(exact, "sparse, private")[point] ** 2 - y(exact, "sparse")[point] ** 2
        assert noise == pytest.approx(2 * sparse.sensitivity(n, 100) ** 2 / 100**2, rel=1e-6)
        dense = y(exact, "dense, private")[point] ** 2 - y(exact, "dense")[point] ** 2
        assert dense == pytest.approx(2 * min(1, 300 / n) ** 2 / 100**2, rel=1e-6)
    assert y(printed, "sparse, private")[0] > 1.2 * y(exact, "sparse, private")[0]
    assert y(printed, "sparse, private")[-1] == y(exact, "sparse, private")[-1]  # counting: 1 either way


def test_dense_estimator_keeps_its_promise():  # type: ignore[no-untyped-def]
    """With n = 9 k ln(1/α) records, an error of α k or more happens in at most α of the cases (E11); not with n/20."""
    k, accuracy = 60, 0.1
    n = math.ceil(9 * k * math.log(1 / accuracy))
    scenario = make(distribution=Uniform(k=k), k=k, n=Grid(low=n // 20, high=n, points=2), trials=512)
    prepared = STUDY.prepare(scenario, None)
    blocks = stacked([STUDY.run_block(prepared, b) for b in range(STUDY.blocks(scenario))], 512)
    missed = (np.abs(blocks[:, 1, :] - k) >= accuracy * k).mean(axis=0)
    assert missed[1] <= accuracy
    assert missed[0] > 0.9


def test_coverage_stays_close_to_the_support():  # type: ignore[no-untyped-def]
    """Lemma 30: uniform k = 100, α = 0.1: gap at most 3.33, for every α that is drawn."""
    result = STUDY.run(make(distribution=Uniform(k=100), k=100, n=Grid(low=100, high=200, points=2), trials=16))
    frame = STUDY.numbers(result, "gap").set_index(["series", "x"])["y"]
    gap, bound = frame["support less coverage"], frame["bound, αk/3"]
    assert (gap <= bound).all()
    assert np.interp(0.1, bound.index, bound) == pytest.approx(10 / 3, rel=1e-3)
    assert np.interp(0.1, gap.index, gap) == pytest.approx(100 * 0.99 ** (100 * math.log(30)), rel=0.05)
    assert any("Lemma 30" in formula.source for formula in result.formulas)


def test_privacy_condition_falls_with_epsilon():  # type: ignore[no-untyped-def]
    frame = STUDY.numbers(STUDY.run(SMALL), "conditions")
    privacy = frame[frame["series"] == "privacy condition"]["y"].to_numpy()
    assert np.all(np.diff(privacy) < 0)
    assert (
        frame[frame["series"] == "bias condition"]["y"] == frame["y"][frame["series"] == "bias condition"].iloc[0]
    ).all()


def test_clipping_bounds_the_error():  # type: ignore[no-untyped-def]
    wild = make(n=Grid(low=300, high=900, points=3), epsilon=0.05, trials=32)
    clipped = STUDY.run(wild.model_copy(update={"clip": True}))
    assert np.all(y(clipped, "sparse, private") <= 1)
    assert y(STUDY.run(wild), "sparse, private")[0] > 100


def test_names_and_drafts():  # type: ignore[no-untyped-def]
    result = STUDY.run(SMALL)
    assert list(dict.fromkeys(result.frame["series"])) == ["sparse", "sparse, private", "dense", "dense, private"]
    prepared = STUDY.prepare(make(), None)
    part = STUDY.run_block(prepared, 0)
    assert STUDY.assemble(make(), prepared, [part]).runs == part.shape[0]


def test_refusals_and_warnings():  # type: ignore[no-untyped-def]
    crowded = make(distribution=Uniform(k=2000))
    assert "at most 1,000; promise a larger k" in STUDY.check(crowded, None)[0]
    with pytest.raises(ParameterError, match="promise a larger k"):
        STUDY.prepare(make(distribution=Empirical()), None)
    broken = STUDY.run(make(distribution=Zipf(k=500, exponent=1.0), trials=16))
    assert any("rarer than the promised" in note.text for note in broken.notes)
    kept = STUDY.run(make(distribution=TwoStep(k=500), trials=16))
    assert not kept.notes


def test_error_cards_say_for_which_sample_size():  # type: ignore[no-untyped-def]
    for preset in STUDY.presets():
        result = STUDY.run(preset.scenario)
        size = re.search(r"n = ([\d,]*\d)", result.cards[0].help)
        assert size is not None
        for card in result.cards[:2]:
            assert f"n = {size[1]}" in card.chip
            assert card.chip != "± 0"
            assert len(card.chip) <= 18


def test_curves_that_stop_are_explained():  # type: ignore[no-untyped-def]
    """An error of 0 has no place on a log scale; where nothing stops, nothing is said."""
    result = STUDY.run()
    plain = result.series("sparse")
    first = int(plain["x"][plain["y"] == 0].iloc[0])
    assert f"the sparse estimator from n = {first:,} on" in result.shows
    assert "was off in none of the 200" in result.shows or "were off in none of the 200" in result.shows
    few = STUDY.run(STUDY.scenario(n={"low": 900, "high": 2_000, "points": 3}, trials=64))
    assert (few.frame["y"] > 0).all()
    assert "log scale" not in few.shows
