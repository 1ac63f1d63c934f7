from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.distributions import Uniform, Zipf
from privexplorer.figures import draw
from privexplorer.properties import MillerMadow, PlugIn, Polynomial, SmoothedGoodToulmin, paper_code_sensitivity
from privexplorer.records import Grid
from privexplorer.studies.noise_rules import (
    EXAMPLE,
    NoiseRules,
    NoiseRulesScenario,
    coverage_at,
    example_exact,
    example_step,
)

study = NoiseRules()


def column(result, name, view="noise"):
    return result.series(name, study.views[view])["y"].to_numpy()


@pytest.fixture(scope="module")
def default():
    return study.run(NoiseRulesScenario(trials=128))


def test_the_example_gets_no_noise_at_all():
    # erratum E12: 99 symbols seen 10 times and one 7 times
    assert (len(EXAMPLE), EXAMPLE.count(10), EXAMPLE.count(7)) == (100, 99, 1)
    assert example_step() == 0.0
    assert example_exact() == pytest.approx(9.31, abs=0.005)


def test_the_code_is_on_the_safe_side_where_symbols_are_unseen():
    # erratum E12: 17.43 against 11.42 at k = n = 1000
    scenario = NoiseRulesScenario(distribution=Uniform(k=1000), n=Grid(low=100, high=1000, points=4), trials=64)
    result = study.run(scenario)
    assert column(result, "published code")[-1] == pytest.approx(17.43, abs=0.005)
    assert column(result, "exact")[-1] == pytest.approx(11.42, abs=0.005)
    assert not result.extra["short"].any()
    assert not [note for note in result.notes if note.level == "warning"]
    assert "not private" in result.notes[0].text
    assert "adds more than enough in every simulated sample" in result.shows


def test_the_code_adds_too_little_once_every_symbol_is_seen_often(default):
    short = default.extra["short"]
    ns = default.scenario.n.values()
    assert short[0] == 0
    assert short[-1] == 1
    assert np.all(column(default, "published code")[ns >= 5000] == 0)
    note = default.notes[0]
    assert note.level == "warning"
    assert "does not protect" in note.text
    # so its error looks smaller than the private one, and equals that without privacy
    code, exact, plain = (column(default, name, "error") for name in ("published code", "exact", "without privacy"))
    assert code[-1] == pytest.approx(plain[-1], rel=1e-12)
    assert code[-1] < exact[-1]
    assert code[0] > exact[0]


def test_exact_noise_of_the_private_preset(default):
    # properties §4.3: k = 100, n = 100, 1000, 10000
    ns = default.scenario.n.values()
    found = dict(zip(ns.tolist(), column(default, "exact").tolist(), strict=True))
    for n, wanted in ((100, 7.001), (1000, 9.309), (10_000, 11.612)):
        assert found[n] == pytest.approx(wanted, abs=6e-4)


def test_block_repeats_the_published_rule_sample_by_sample():
    scenario = NoiseRulesScenario(distribution=Zipf(k=30, exponent=0.5), n=Grid(low=40, high=400, points=3), trials=64)
    prepared = study.prepare(scenario, None)
    block = study.run_block(prepared, 0)
    rng = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0, 0)))
    counts = prepared.law.sample_counts_nested(prepared.ns, prepared.block_trials, rng)
    for point in range(3):
        for trial in range(0, prepared.block_trials, 7):
            wanted = paper_code_sensitivity(counts[point, trial], 30)
            assert block[trial, 1, point] == pytest.approx(wanted, rel=1e-12)


def test_error_is_sampling_and_noise():
    scenario = NoiseRulesScenario(estimator=PlugIn(), epsilon=0.1, n=Grid(low=100, high=400, points=2), trials=64)
    result = study.run(scenario)
    plain, exact, bound = (column(result, name, "error") for name in ("without privacy", "exact", "published bound"))
    ns = scenario.n.values()
    delta = np.array([PlugIn().sensitivity(int(n), 100) for n in ns])
    np.testing.assert_allclose(exact**2 - plain**2, 2 * (delta / 0.1) ** 2, rtol=1e-9)
    np.testing.assert_allclose(bound**2 - plain**2, 2 * (2 * np.log(ns) / ns / 0.1) ** 2, rtol=1e-9)


@pytest.mark.parametrize("estimator", [PlugIn(), MillerMadow()])
def test_estimators_with_a_printed_bound_have_one_curve_for_it(estimator):
    result = study.run(NoiseRulesScenario(estimator=estimator, trials=64))
    np.testing.assert_allclose(column(result, "published bound"), column(result, "published code"), rtol=1e-12)
    assert np.all(column(result, "published bound") > column(result, "exact"))
    assert result.cards[1].label == "Published bound"
    assert not result.extra["short"].any()
    names = [mark.name for mark in study.chart(result, "noise").marks()]
    assert names == ["published bound", "exact"]


def test_the_plug_in_bound_at_n_100():
    # eqs (4.4)-(4.9): exact 0.0560 against 0.0921
    scenario = NoiseRulesScenario(estimator=PlugIn(), n=Grid(low=100, high=200, points=2), trials=64)
    result = study.run(scenario)
    assert column(result, "exact")[0] == pytest.approx(100 * 0.05600153435, rel=1e-9)
    assert column(result, "published bound")[0] == pytest.approx(9.21, abs=0.001)


@pytest.mark.parametrize(
    ("k", "exact", "bound", "digits"),
    [
        (100, 0.066, 0.142, 3),
        (1_000, 0.0145, 0.0339, 4),
        (5_000, 0.0052, 0.0127, 4),
        (20_000, 0.0021, 0.0055, 4),
        (100_000, 0.0008, 0.0021, 4),
    ],
)
def test_coverage_noise_table(k, exact, bound, digits):
    # properties §8.2: noise std over n t at ε = 1, t = 5
    found = coverage_at(k, 5.0, 1.0)
    assert round(found["exact"], digits) == exact
    assert round(found["published bound"], digits) == bound


def test_coverage_view_uses_t_and_epsilon():
    result = study.run(NoiseRulesScenario(ahead=5.0, epsilon=2.0, trials=64))
    rows = result.series("exact", study.views["coverage"])
    found = dict(zip(rows["x"].tolist(), rows["y"].tolist(), strict=True))
    assert found[1_000] == pytest.approx(0.01449 / 2, rel=1e-3)
    chart = study.chart(result, "coverage")
    assert [mark.name for mark in chart.marks()] == ["published bound", "exact"]
    assert "ε = 2, t = 5" in chart.title


def test_formula_shows_printed_and_corrected_bound():
    # eq (4.1) and erratum E1, n = 500
    for t in (2.0, 3.0):
        result = study.run(NoiseRulesScenario(ahead=t, n=Grid(low=100, high=200, points=2), trials=64))
        text = next(item.numbers for item in result.formulas if item.title == "Coverage: published bound")
        r = SmoothedGoodToulmin().rate(500, t)
        assert f"{2 * (1 + math.exp(r * (t - 1))):.4g}" in text
        assert f"{2 * (1 + math.exp(r) * (t - 1)):.4g}" in text
        if t == 2.0:  # properties §11, item 9
            assert "18.38" in text
            assert "10.69" in text


def test_up_to_one_sample_ahead_the_code_is_too_small():
    # erratum E13: max(t, 0.01) against (1 + t)²
    result = study.run(NoiseRulesScenario(ahead=0.5, trials=64))
    exact, code = column(result, "exact", "coverage"), column(result, "published code", "coverage")
    np.testing.assert_allclose(code / exact, 0.5 / 2.25, rtol=1e-12)
    assert any("(1 + t)² = 2.25" in note.text and note.level == "warning" for note in result.notes)
    assert [mark.name for mark in study.chart(result, "coverage").marks()] == ["published code", "exact"]

    # no bound of anybody's, and no matter of k
    assert "published bound" not in result.shows
    assert "max(t, 0.01) = 0.5, only 0.22× the (1 + t)² = 2.25" in result.shows
    assert "k = 1,000" not in result.shows + result.cards[3].help
    assert result.cards[3].label == "Coverage code"


@pytest.mark.parametrize("preset", study.presets(), ids=lambda preset: preset.title)
def test_a_bound_below_the_exact_value_is_never_called_one(preset):
    result = study.run(preset.scenario.model_copy(update={"trials": 64}))
    bounds = [card for card in result.cards if "bound" in card.label]
    assert all(float(card.value.removesuffix("×")) >= 1 for card in bounds)
    assert ("For coverage at t = 5 the published bound is 2.3× the exact value (n = 500)." in result.shows) == (
        preset.scenario.ahead == 5
    )


def test_late_fields_leave_the_blocks_alone():
    first = NoiseRulesScenario()
    other = first.model_copy(update={"epsilon": 0.2, "ahead": 1.5, "trials": 300})
    assert study.digest(first) == study.digest(other)
    one, two = (study.run_block(study.prepare(each, None), 1) for each in (first, other))
    np.testing.assert_array_equal(one, two)


def test_a_draft_needs_one_block():
    scenario = NoiseRulesScenario(trials=200)
    prepared = study.prepare(scenario, None)
    draft = study.assemble(scenario, prepared, [study.run_block(prepared, 0)])
    assert draft.runs == study.size(scenario) < 200


def test_words_cards_and_charts(default):
    assert all(len(card.chip) <= 18 for card in default.cards)
    assert "would get none at all, where n Δ = 9.31" in default.shows
    assert default.cards[2].value == "100%"
    names = [mark.name for mark in study.chart(default, "noise").marks()]
    assert names == ["19 of 20 samples", "published code", "exact", "99 symbols ×10, one ×7"]
    names = [mark.name for mark in study.chart(default, "error").marks()]
    assert names == ["without privacy", "published code", "exact"]
    for view in study.views:
        chart = study.chart(default, view)
        assert len(chart.subtitle) <= 48
        draw(chart)
        assert {mark.name for mark in chart.marks()} - {"19 of 20 samples"} <= set(
            study.numbers(default, view)["series"]
        )
    # the example belongs to k = 100 and the polynomial: elsewhere it is not drawn
    other = study.run(NoiseRulesScenario(distribution=Uniform(k=50), estimator=Polynomial(), trials=64))
    assert "99 symbols ×10, one ×7" not in [mark.name for mark in study.chart(other, "noise").marks()]
