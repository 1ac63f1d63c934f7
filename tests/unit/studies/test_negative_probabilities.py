from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privexplorer.causal import DiscreteCounts, discrete_estimate
from privexplorer.figures import draw
from privexplorer.studies._effects import TARGETS, LawA, LawB, mechanism_of
from privexplorer.studies.negative_probabilities import (
    BLOCK,
    SIZES,
    NegativeProbabilities,
    NegativeScenario,
    sample_counts,
)

study = NegativeProbabilities()


@pytest.fixture(scope="module")
def default():
    return study.run()


def test_default_shows_negative_cells_and_their_repair(default):
    prepared = study.prepare(default.scenario, None)
    first = prepared.unmixed[0]
    assert (first < 0).sum() >= 2
    np.testing.assert_allclose(first.sum(), 1.0, rtol=1e-12)
    np.testing.assert_allclose(prepared.repaired.sum(), 1.0, rtol=1e-9)
    assert prepared.repaired.min() >= 0
    # what is published beside the private category is not touched
    shares = prepared.counts[0] / prepared.counts[0].sum()
    np.testing.assert_allclose(first.sum(axis=2), shares.sum(axis=2), rtol=1e-9)
    # they vanish as people are added
    lowest = prepared.unmixed.min(axis=(1, 2, 3))
    assert lowest[0] < -0.02
    assert lowest[-1] > 0


def test_repaired_cells_make_what_is_shown_most_likely(default):
    prepared = study.prepare(default.scenario, None)
    matrix = prepared.mechanism.finite().matrix
    counts = prepared.counts[0].reshape(4, -1)

    def likelihood(table):
        return float((counts * np.log(np.einsum("zx,vx->vz", matrix, table.reshape(4, -1)))).sum())

    best = likelihood(prepared.repaired)
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = 0.95 * prepared.repaired + 0.05 * rng.dirichlet(np.full(12, 0.5)).reshape(2, 2, 3)
        assert likelihood(other) < best + 1e-6
    assert likelihood(np.maximum(prepared.unmixed[0], 1e-9) / np.maximum(prepared.unmixed[0], 1e-9).sum()) < best


def test_nothing_is_repaired_where_nothing_is_negative():
    scenario = NegativeScenario(people=20_000, keep_probability=0.6, trials=16)
    prepared = study.prepare(scenario, None)
    assert prepared.unmixed[0].min() > 0
    np.testing.assert_allclose(prepared.repaired, prepared.unmixed[0], atol=2e-5)
    result = study.run(scenario)
    assert "no cell falls below zero" in result.shows
    assert [mark.name for mark in study.chart(result, "cells").marks()] == [
        "unmixed", "true share", "repaired", "true share",
    ]  # fmt: skip


@pytest.mark.parametrize("target", ["ate", "att"])
def test_estimates_are_those_of_the_discrete_analysis(target):
    scenario = NegativeScenario(law=LawB(), people=4000, keep_probability=0.5, target=target)
    prepared = study.prepare(scenario, None)
    counts = DiscreteCounts.from_counts(prepared.counts[0])
    for table, repair in ((prepared.unmixed[0], "never"), (prepared.repaired, "always")):
        value, error, _ = study.estimate(prepared, target, table)
        found = discrete_estimate(counts, prepared.mechanism, TARGETS[target], repair=repair)
        assert value == pytest.approx(found.value, rel=1e-9)
        assert error == pytest.approx(found.std_error, rel=1e-9)
    # Prop. 4: scores of the unmixed fit average to 0
    assert abs(float(study.estimate(prepared, target, prepared.unmixed[0])[2])) < 1e-12


def test_people_are_added_to_the_same_sample():
    law = LawA().law()
    mechanism = mechanism_of(law, NegativeScenario().noise, 0.3)
    counts = sample_counts(law, mechanism, [100, 400], np.random.default_rng(1))
    assert np.all(counts[1] >= counts[0])
    assert counts.sum(axis=(1, 2, 3)).tolist() == [100, 400]
    many = sample_counts(law, mechanism, [200_000], np.random.default_rng(2))[0] / 200_000
    shown = law.privatised(mechanism)
    assert np.all(np.abs(many - shown) < 5 * np.sqrt(shown / 200_000))


def test_how_often_agrees_with_the_binomial_law():
    # two categories, a cell (y, d): unmixed p(v, 0) < 0 iff the count of (v, 0) is too small a part of that of v;
    # for one visible cell of fixed share the chance follows from the multinomial of (v, 0), (v, 1)
    scenario = NegativeScenario(law=LawB(), keep_probability=0.3, trials=800)
    result = study.run(scenario)
    rows = result.series("samples with a negative cell", "often")
    share, error = rows["y"].to_numpy(), rows["std_error"].to_numpy()
    prepared = study.prepare(scenario, None)
    shown = prepared.law.privatised(prepared.mechanism).reshape(4, 2)
    inverse = prepared.mechanism.finite().inverse
    ratio = -inverse[0, 1] / inverse[0, 0]  # negative at 0 iff n0 < ratio · n1, and the other way round
    place = 0
    n = int(SIZES[place])
    # the cells' sizes are nearly independent: bound the chance by the largest and by the sum of the cells' chances
    chances = []
    for v in range(4):
        whole = shown[v].sum()
        chance = 0.0
        for m in range(n + 1):
            weight = stats.binom.pmf(m, n, whole)
            if weight < 1e-12:
                continue
            k = np.arange(m + 1)
            bad = (k < ratio * (m - k) - 1e-9) | (m - k < ratio * k - 1e-9)
            chance += weight * stats.binom.pmf(k[bad], m, shown[v, 0] / whole).sum()
        chances.append(chance)
    assert share[place] <= sum(chances) + 4 * error[place]
    assert share[place] >= max(chances) - 4 * error[place]
    expected = 1 - np.prod(1 - np.array(chances))
    assert abs(share[place] - expected) < 4 * error[place] + 0.03


def test_share_falls_with_people_and_with_keeping(default):
    rows = default.series("samples with a negative cell", "often")
    y, error = rows["y"].to_numpy(), rows["std_error"].to_numpy()
    assert np.all(np.diff(y) <= 4 * (error[1:] + error[:-1]))
    assert y[0] > 0.9
    assert y[-1] < 0.1
    more = study.run(NegativeScenario(keep_probability=0.6, trials=100))
    assert more.series("samples with a negative cell", "often")["y"].to_numpy()[4] < y[4] - 0.2


def test_blocks():
    scenario = NegativeScenario(trials=150)
    prepared = study.prepare(scenario, None)
    assert study.blocks(scenario) == 2
    block = study.run_block(prepared, 1)
    assert block.shape == (BLOCK, 2, SIZES.size)
    assert set(np.unique(block[:, 0])) <= {0.0, 1.0}
    assert np.all(block[:, 1][block[:, 0] == 0] == 0)
    draft = study.assemble(scenario, prepared, [block])
    assert draft.runs == 100
    assert study.digest(scenario) == study.digest(scenario.model_copy(update={"target": "att", "trials": 99}))


def test_charts(default):
    often = ["samples with a negative cell", "negative shares, in all"]
    assert [mark.name for mark in study.chart(default, "often").marks()] == often
    first = [mark.name for mark in study.chart(default, "cells").marks()]
    assert first == ["unmixed", "below zero", "true share", "repaired", "true share"]
    assert len(study.chart(default, "growing").panels) == 4
    for view in study.views:
        draw(study.chart(default, view))
        draw(study.chart(default, view), compact=True)


@pytest.mark.parametrize(("keep", "told"), [(0.3, "30,000"), (0.4, "20,000"), (0.7, "3,000")])
def test_number_of_people_is_told_to_the_digit_that_is_known(keep, told):
    # sizes are 1.8-fold apart: 31,623 would claim five digits
    assert f"From about {told} people on" in study.run(NegativeScenario(law=LawA(), keep_probability=keep)).shows
