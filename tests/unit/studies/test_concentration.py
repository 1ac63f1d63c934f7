from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.distributions import Typed, Uniform, Zipf
from privexplorer.figures import draw
from privexplorer.properties import PlugIn, Polynomial
from privexplorer.studies.concentration import (
    KS,
    Concentration,
    ConcentrationScenario,
    half_width,
    mean_distance,
    records_for,
)

study = Concentration()


def rows(result, name, view):
    part = result.series(name, study.views.get(view, view))
    return part["x"].to_numpy(dtype=float), part["y"].to_numpy()


@pytest.fixture(scope="module")
def default():
    return study.run()


@pytest.mark.parametrize("estimator", [PlugIn(), Polynomial()])
@pytest.mark.parametrize("distribution", [Uniform(k=8), Zipf(k=50, exponent=1.0), Typed(probabilities=(0.9, 0.1))])
def test_simulated_tails_stay_below_the_bound(estimator, distribution):
    # T-McD: within three standard errors, over a range where the bound says something
    result = study.run(ConcentrationScenario(distribution=distribution, estimator=estimator, n=60, trials=3000))
    reach, bound = rows(result, "McDiarmid's bound", "tail")
    np.testing.assert_allclose(bound, np.minimum(1, 2 * np.exp(-2 * reach**2)), rtol=1e-12)
    for name in ("entropy", "all shares"):
        x, share = rows(result, name, "tail")
        assert share[0] == 1
        assert np.all(share <= bound + 3 / math.sqrt(3000))
        assert np.all(np.diff(share) <= 0)
        # not vacuous: the deviations are of the bound's own order
        assert share[x <= 0.1].max() > 0.2
        assert 0 < share[np.searchsorted(x, 0.2)] <= bound[np.searchsorted(x, 0.2)]


def test_the_tail_is_measured_in_the_unit_it_says():
    scenario = ConcentrationScenario(trials=2000)
    prepared = study.prepare(scenario, None)
    blocks = np.concatenate([study.run_block(prepared, block) for block in range(4)])[:, :, 0]
    unit = math.sqrt(500) * PlugIn().sensitivity(500, 100)
    x, share = rows(study.run(scenario), "entropy", "tail")
    place = int(np.searchsorted(x, 0.2))
    assert share[place] == np.mean(np.abs(blocks[:, 0] - prepared.mean) >= x[place] * unit)
    place = int(np.searchsorted(x, 0.4))
    wanted = np.mean(np.abs(blocks[:, 1] - prepared.distance) >= x[place] * 2 / math.sqrt(500))
    assert rows(study.run(scenario), "all shares", "tail")[1][place] == wanted


@pytest.mark.parametrize(
    ("distribution", "n", "tv"),
    [(Uniform(k=10), 500, 0.05343360324), (Zipf(k=50, exponent=1.0), 200, 0.1652334509)],
)
def test_mean_distance_gold(distribution, n, tv):
    # distribution_estimation §7, item 3
    assert mean_distance(distribution.law(), n) / 2 == pytest.approx(tv, rel=1e-9)
    assert mean_distance(Typed(probabilities=(1.0, 0.0)).law(), n) == 0


def test_simulated_means_agree_with_the_exact_ones():
    scenario = ConcentrationScenario(distribution=Zipf(k=40, exponent=1.0), n=100, trials=2000)
    prepared = study.prepare(scenario, None)
    blocks = np.concatenate([study.run_block(prepared, block) for block in range(4)])[:, :, 0]
    error = blocks.std(axis=0, ddof=1) / math.sqrt(len(blocks))
    assert np.all(np.abs(blocks.mean(axis=0) - [prepared.mean, prepared.distance]) < 4 * error)


def test_privacy_of_all_shares_costs_k_and_that_of_an_entropy_does_not(default):
    # T-McD-counter
    shares, entropy = (f"{study.views['symbols']}: {name}" for name in ("all shares", "entropy"))
    _, noise = rows(default, "privacy noise", shares)
    np.testing.assert_allclose(noise, 2 * KS / 500, rtol=1e-12)
    rng = np.random.default_rng(0)
    drawn = np.abs(rng.laplace(0, 2 / 500, (4000, 100))).sum(axis=1)
    assert abs(drawn.mean() - noise[list(KS).index(100)]) < 4 * drawn.std() / math.sqrt(4000)
    _, flat = rows(default, "privacy noise", entropy)
    np.testing.assert_allclose(flat, PlugIn().sensitivity(500, 100), rtol=1e-12)
    # both concentrate whatever k is
    for panel in (shares, entropy):
        _, bound = rows(default, "deviation bound", panel)
        assert np.ptp(bound) == 0
    assert 2 * math.exp(-2 * half_width(500, 2 / 500) ** 2 / (500 * (2 / 500) ** 2)) == pytest.approx(0.05)


def test_the_coin():
    result = study.run(ConcentrationScenario(epsilon=0.1, accuracy=0.1, trials=500))
    grid, people = rows(result, "a coin", "coin")
    assert people[list(grid).index(0.1)] == pytest.approx(200, rel=1e-12)
    np.testing.assert_allclose(people, 100 + 1 / (0.1 * grid), rtol=1e-12)
    _, alone = rows(result, "a coin, privacy", "coin")
    np.testing.assert_allclose(alone, np.ceil(4 / (0.1 * grid)), rtol=1e-12)
    assert "about 200 people" in result.shows


@pytest.mark.parametrize("estimator", [PlugIn(), Polynomial()])
@pytest.mark.parametrize("limit", [0.2, 0.01, 0.0003])
def test_records_for_a_sensitivity(estimator, limit):
    n = records_for(estimator, 100, limit)
    assert estimator.sensitivity(n, 100) <= limit < estimator.sensitivity(n - 1, 100)


def test_blocks_of_the_median(default):
    # properties §2: 15, 23, 47 against 42, 54, 83; with noise 47 against 560 back to 1/3
    beta, exact = rows(default, "exact", "median")
    _, formula = rows(default, "formula", "median")
    places = [int(np.argmin(np.abs(beta - value))) for value in (0.1, 0.05, 0.01)]
    assert list(exact[places]) == [15, 23, 47]
    assert list(formula[places]) == [42, 54, 83]
    _, noisy = rows(default, "noisy block", "median")
    _, hoeffding = rows(default, "noisy block, formula", "median")
    assert (noisy[-1], hoeffding[-1]) == (47, 560)
    assert beta[-1] == pytest.approx(1 / 3)
    text = next(item.numbers for item in default.formulas if item.title == "Median of blocks")
    assert "B = 23" in text
    assert "47" in text
    assert "560" in text


def test_late_fields_leave_the_blocks_alone():
    first = ConcentrationScenario()
    other = first.model_copy(update={"epsilon": 0.1, "accuracy": 0.02, "failure": 0.2, "trials": 900})
    assert study.digest(first) == study.digest(other)
    one, two = (study.run_block(study.prepare(each, None), 2) for each in (first, other))
    np.testing.assert_array_equal(one, two)


def test_a_draft_needs_one_block(default):
    scenario = default.scenario
    prepared = study.prepare(scenario, None)
    draft = study.assemble(scenario, prepared, [study.run_block(prepared, 0)])
    assert draft.runs == study.size(scenario) < scenario.trials
    draw(study.chart(draft, "tail"))


def test_one_symbol_has_nothing_to_protect():
    result = study.run(ConcentrationScenario(distribution=Typed(probabilities=(1.0,)), trials=100))
    assert "With one symbol" in result.notes[0].text
    assert np.all(rows(result, "entropy", "tail")[1][1:] == 0)


def test_words_cards_and_charts(default):
    assert all(len(card.chip) <= 18 for card in default.cards)
    assert "in proportion to k" in default.shows
    assert default.extra["usual"] < default.extra["half"]
    expected = {
        "tail": ["McDiarmid's bound", "all shares", "entropy"],
        "symbols": ["deviation bound", "privacy noise"] * 2,
        "coin": ["a coin", "a coin, privacy", "entropy, privacy"],
        "median": ["noisy block, formula", "noisy block", "formula", "exact"],
    }
    for view, names in expected.items():
        chart = study.chart(default, view)
        assert [mark.name for mark in chart.marks()] == names
        assert len(chart.subtitle) <= 48
        draw(chart)
        assert {mark.name for mark in chart.marks()} <= set(study.numbers(default, view)["series"])
    far = study.run(ConcentrationScenario(epsilon=0.05, trials=500))
    assert "no two distributions are more than 2 apart" in far.shows
