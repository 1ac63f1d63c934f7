from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privexplorer.distributions import TwoStep, Uniform, Zipf, figure_families, nested_fingerprints
from privexplorer.figures import draw
from privexplorer.properties import Polynomial
from privexplorer.records import Grid
from privexplorer.simulation import block_rng
from privexplorer.studies.degree_dial import DegreeDial, DegreeDialScenario, estimator, rare_counts

study = DegreeDial()
small = {"sizes": Grid(low=300, high=600, points=2), "trials": 64}


def part(result, name, panel="dial"):
    return result.series(name, study.views[panel])["y"].to_numpy()


def test_sensitivities_of_the_degree_study():
    # properties §4.3: k = 2000, M = 2 ln k, N = 12, n = 1000
    result = study.run(DegreeDialScenario(n=1000, distribution=Uniform(k=2000), **small))
    found = part(result, "n Δ")
    wanted = {3: 7.4, 5: 8.4, 7: 9.1, 10: 11.9, 12: 36.5, 14: 178.6, 16: 1272.7}
    assert {degree: round(float(found[degree - 1]), 1) for degree in wanted} == wanted


def test_the_parts_add_up_and_only_the_noise_depends_on_epsilon():
    one, half = (study.run(DegreeDialScenario(epsilon=epsilon, **small)) for epsilon in (1.0, 0.5))
    for result in (one, half):
        total = part(result, "bias²") + part(result, "variance") + part(result, "privacy noise")
        np.testing.assert_allclose(part(result, "total"), total, rtol=1e-12)
    np.testing.assert_array_equal(part(one, "bias²"), part(half, "bias²"))
    np.testing.assert_array_equal(part(one, "variance"), part(half, "variance"))
    np.testing.assert_allclose(part(half, "privacy noise"), 4 * part(one, "privacy noise"), rtol=1e-12)
    delta = part(one, "n Δ") / 500
    np.testing.assert_allclose(part(one, "privacy noise"), 2 * delta**2, rtol=1e-12)


@pytest.mark.parametrize("distribution", [TwoStep(k=300), Zipf(k=200, exponent=1.0)])
def test_bias_is_that_of_the_whole_table(distribution):
    scenario = DegreeDialScenario(distribution=distribution, n=400, degrees=(2, 20), **small)
    prepared = study.prepare(scenario, None)
    law = distribution.law()
    assert prepared.degrees[-1] == 20
    for row, degree in enumerate(prepared.degrees):
        for point, n in enumerate(prepared.ns):
            table = estimator(int(degree), law.k, 2.0).table(int(n), law.k, private=True)
            assert prepared.means[row, point] == pytest.approx(table.mean(law), rel=1e-9, abs=1e-9)


def test_rare_counts_are_a_binomial_law():
    law = Zipf(k=30, exponent=1.0).law()
    found = rare_counts(law, 12, 20)
    assert found[:13].sum() == pytest.approx(30, rel=1e-12)
    assert found[13:].sum() == 0
    assert found[0] == pytest.approx(30 - law.coverage(12), rel=1e-12)


def test_rare_counts_of_very_many_masses_take_them_together():
    law = Zipf(k=20_000, exponent=1.0).law()
    alone = [(law.groups[1] * stats.binom.pmf(j, 15, law.groups[0])).sum() for j in range(16)]
    found = rare_counts(law, 15, 18)
    np.testing.assert_allclose(found[:16], alone, rtol=1e-12)
    assert found[16:].tolist() == [0, 0, 0]
    np.testing.assert_array_equal(rare_counts(law, 15, 6), law.expected_fingerprint(15)[:7])


def test_block_holds_the_estimates_of_every_degree():
    scenario = DegreeDialScenario(distribution=Zipf(k=150, exponent=1.0), n=500, **small)
    prepared = study.prepare(scenario, None)
    block = study.run_block(prepared, 3)
    prints = nested_fingerprints(prepared.law, prepared.ns, prepared.block_trials, block_rng(0, 3))
    for row, degree in enumerate(prepared.degrees):
        tables = [estimator(int(degree), 150, 2.0).values(np.arange(n + 1), int(n), 150, True) for n in prepared.ns]
        np.testing.assert_allclose(block[:, row, :], prints.totals(tables).T, rtol=1e-9, atol=1e-9)


def test_simulated_mean_agrees_with_the_exact_one():
    scenario = DegreeDialScenario(**{**small, "trials": 400})
    prepared = study.prepare(scenario, None)
    blocks = np.concatenate([study.run_block(prepared, block) for block in range(study.blocks(scenario))])
    error = blocks.std(axis=0, ddof=1) / math.sqrt(len(blocks))
    # degree 1 is nearly constant: there the comparison is one of rounding
    assert np.all(np.abs(blocks.mean(axis=0) - prepared.means) <= 4.5 * error + 1e-9)


def test_the_best_degree_moves_left_as_privacy_grows():
    best = [study.run(DegreeDialScenario(epsilon=epsilon)).extra["best"] for epsilon in (50.0, 1.0, 0.1, 0.02)]
    assert best == sorted(best, reverse=True)
    assert best[0] == 10
    assert best[2] == 8
    assert best[3] <= 3


@pytest.mark.parametrize("name", list(figure_families(2000)))
def test_figure_f1_high_degrees_are_three_to_seven_times_worse(name):
    # properties §8.2: c = 0.9 to 1.2 is the sweet spot, c = 1.8 (L = 14) is 3-7 times worse, c = 2.1 (L = 16) useless
    scenario = DegreeDialScenario(distribution=figure_families(2000)[name], n=1000, **small)
    root = np.sqrt(part(study.run(scenario), "total"))
    assert 3 <= round(float(root[13] / root.min())) <= 7
    assert root[15] / root.min() > 20
    assert root[9] / root.min() < 2


def test_the_published_setting_has_the_published_degrees():
    assert [math.ceil(c * math.log(2000)) for c in (0.3, 0.6, 0.9, 1.2, 1.5, 1.8)] == [3, 5, 7, 10, 12, 14]
    assert DegreeDialScenario().degrees == (3, 5, 7, 10, 12, 14)
    chosen = estimator(10, 2000, 2.0)
    assert (chosen.interval, chosen.cutoff) == (2 * math.log(2000), 12)
    assert Polynomial(preset="private").parameters(2000, True) == (10, 2 * math.log(2000), 12)


def test_error_against_n_agrees_with_the_dial():
    scenario = DegreeDialScenario(n=300, degrees=(7, 10), **small)
    result = study.run(scenario)
    for degree in (7, 10):
        curve = result.series(f"L = {degree}", study.views["sizes"])
        assert list(curve["x"]) == [300, 600]
        assert curve["y"].iloc[0] == pytest.approx(math.sqrt(part(result, "total")[degree - 1]), rel=1e-12)
        assert np.all(curve["std_error"] > 0)


@pytest.mark.parametrize(("degree", "n"), [(10, 500), (12, 1000), (3, 5000)])
def test_the_maximising_pair_explains_the_sensitivity(degree, n):
    result = study.run(DegreeDialScenario(degree=degree, n=n, **small))
    panel = study.views["why"]
    pair = result.series("maximising pair", panel)
    gap = abs(pair["y"].iloc[0] - pair["y"].iloc[1])
    assert gap == pytest.approx(part(result, "n Δ")[degree - 1], rel=1e-9)
    assert (pair["x"] - 1).sum() <= n - 1
    steps = result.series("n D(j)", panel)
    assert steps["y"].max() - steps["y"].min() >= gap * (1 - 1e-9)


def test_late_fields_leave_the_blocks_alone():
    first = DegreeDialScenario(**small)
    other = first.model_copy(update={"epsilon": 3.0, "degree": 5, "trials": 100})
    assert study.digest(first) == study.digest(other)
    one, two = (study.run_block(study.prepare(each, None), 0) for each in (first, other))
    np.testing.assert_array_equal(one, two)


def test_a_draft_says_how_many_runs_it_has():
    scenario = DegreeDialScenario(**{**small, "trials": 100})
    prepared = study.prepare(scenario, None)
    blocks = [study.run_block(prepared, block) for block in range(2)]
    draft, whole = (study.assemble(scenario, prepared, blocks[:count]) for count in (1, 2))
    assert (draft.runs, whole.runs) == (64, 100)
    np.testing.assert_array_equal(part(draft, "bias²"), part(whole, "bias²"))


def test_words_and_cards():
    result = study.run(DegreeDialScenario())
    assert result.cards[0].value == "L = 10"
    assert "a symbol seen 12 times to an unseen one" in result.shows
    assert all(len(card.chip) <= 18 for card in result.cards)
    assert not result.notes
    assert study.run(DegreeDialScenario(n=10, **small)).notes[0].text.startswith("The sample (n = 10) is shorter")
    assert "1,000,000" in study.check(DegreeDialScenario(sizes=Grid(low=10, high=2_000_000)), None)[0]


def test_charts():
    scenario = DegreeDialScenario(trials=64)
    result = study.run(scenario)
    names = {
        "dial": ["bias²", "variance", "privacy noise", "total"],
        "sizes": [f"L = {degree}" for degree in scenario.degrees],
        "why": ["n g(j), plug-in", "n g(j)", "n D(j), plug-in", "n D(j)", "maximising pair"],
    }
    for view, expected in names.items():
        chart = study.chart(result, view)
        assert [mark.name for mark in chart.marks()] == expected
        assert len(chart.subtitle) <= 48
        draw(chart)
        # every number of a chart is in the rows of its view
        assert {mark.name for mark in chart.marks()} <= set(study.numbers(result, view)["series"])
    dial = study.chart(result, "dial")
    assert dial.panels[0].here == (10, "your L = 10")
    stacked = np.sum([mark.y for mark in dial.marks()[:3]], axis=0)
    np.testing.assert_allclose(stacked, dial.marks()[3].y, rtol=1e-12)
    table = study.table(result)
    assert {"bias²", "L = 3", "n D(j)"} <= set(table.columns)
    assert not table.drop(columns=["panel", "x"]).isna().all(axis=1).any()
