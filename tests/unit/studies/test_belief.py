from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.figures import draw
from privexplorer.studies._effects import EvenNoise, LawA, LawB, PointNoise, PopulationNoise, mechanism_of
from privexplorer.studies.belief import KNOWN, Belief, BeliefScenario, prior_of, true_by_keep

study = Belief()


def column(result, name, panel="belief"):
    return result.series(name, panel)["y"].to_numpy(dtype=float)


def test_gold():
    # G26: law A, uniform noise, α = 0.5
    result = study.run()
    kept = column(result, "kept")
    true = kept + column(result, "noise that happens to be true")
    np.testing.assert_allclose(kept, [0.6, 0.473684210526, 0.375], rtol=1e-9)
    np.testing.assert_allclose(true, [0.8, 0.631578947368, 0.5], rtol=1e-9)
    np.testing.assert_allclose(column(result, "before anything is shown"), [0.5, 0.3, 0.2], rtol=1e-12)
    given = study.run(BeliefScenario(known="yes-treated"))
    assert column(given, "kept")[0] == pytest.approx(0.441176470588, rel=1e-9)
    both = column(given, "kept")[0] + column(given, "noise that happens to be true")[0]
    assert both == pytest.approx(0.588235294118, rel=1e-9)
    numbers = next(item.numbers for item in result.formulas if item.title == "Law of what is shown")
    assert "0.416667" in numbers
    assert "0.266667" in numbers


@pytest.mark.parametrize("noise", [EvenNoise(), PopulationNoise()])
@pytest.mark.parametrize("known", list(KNOWN))
def test_beliefs_by_counting_simulated_people(noise, known):
    law = LawA().law()
    rng = np.random.default_rng(11)
    size = 200_000
    y, d, x = law.sample(size, rng)
    mechanism = mechanism_of(law, noise, 0.4)
    coins, drawn = mechanism.draw(size, rng)
    z = np.where(coins, x, drawn)
    cell = KNOWN[known]
    who = np.ones(size, dtype=bool) if cell is None else (y == cell[0]) & (d == cell[1])
    result = study.run(BeliefScenario(known=known, noise=noise, keep_probability=0.4))
    kept, chance = column(result, "kept"), column(result, "noise that happens to be true")
    for shown in range(3):
        mine = who & (z == shown)
        for found, expected in (
            (coins[mine].mean(), kept[shown]),
            ((x == z)[mine].mean(), kept[shown] + chance[shown]),
        ):
            assert abs(found - expected) < 4 * math.sqrt(expected * (1 - expected) / mine.sum())


def test_odds_grow_by_no_more_than_epsilon_allows():
    for noise in (EvenNoise(), PopulationNoise()):
        for keep in (0.1, 0.5, 0.9):
            result = study.run(BeliefScenario(keep_probability=keep, noise=noise))
            true = column(result, "kept") + column(result, "noise that happens to be true")
            prior = column(result, "before anything is shown")
            grown = true / (1 - true) / (prior / (1 - prior))
            epsilon = mechanism_of(LawA().law(), noise, keep).ldp_epsilon()
            assert grown.max() <= math.exp(epsilon) * (1 + 1e-9)
            assert grown.max() > 1
            if noise.kind == "even":
                np.testing.assert_allclose(grown, math.exp(epsilon), rtol=1e-9)


def test_curve_is_the_bar_at_each_keep_probability():
    law = LawA().law()
    prior = prior_of(law, "no-treated")
    assert prior.sum() == pytest.approx(1.0)
    noise = PointNoise(code=1)
    grid = np.array([0.1, 0.5, 1.0])
    curve = true_by_keep(grid, noise.noise(law).probabilities, prior)
    for row, keep in zip(curve, grid, strict=True):
        result = study.run(BeliefScenario(keep_probability=float(keep), noise=noise, known="no-treated"))
        bar = column(result, "kept") + column(result, "noise that happens to be true")
        np.testing.assert_allclose(row, bar, rtol=1e-12)
    # what noise never shows is true for sure
    np.testing.assert_allclose(curve[0, [0, 2]], 1.0, rtol=1e-12)


def test_rows_of_both_tables_add_up():
    result = study.run(BeliefScenario(law=LawB(), known="yes-untreated"))
    np.testing.assert_allclose(result.extra["whole"].sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(result.extra["given"].sum(axis=-1), 1.0, rtol=1e-12)
    law = LawB().law()
    expected = 0.5 * law.joint / law.p_v[:, :, None] + 0.5 / 2  # Lem 4(vi)
    np.testing.assert_allclose(result.extra["given"], expected, rtol=1e-12)
    np.testing.assert_allclose(column(result, "no, treated", "given"), expected[0, 1], rtol=1e-12)
    np.testing.assert_allclose(
        np.diagonal(result.extra["whole"]),
        column(result, "kept") + column(result, "noise that happens to be true"),
        rtol=1e-12,
    )


def test_certain_values_are_named():
    result = study.run(BeliefScenario(noise=PointNoise(code=1)))
    assert any("whoever shows 0 or 2 certainly tells the truth" in note.text for note in result.notes)
    assert "Rare categories" not in result.shows
    assert "Rare categories" in study.run().shows


def test_charts():
    expected = {
        "belief": ["kept", "noise that happens to be true", "before anything is shown"],
        "table": ["belief"],
        "curve": ["shown 0", "shown 1", "shown 2"],
        "given": ["shown"],
    }
    for scenario in (BeliefScenario(), BeliefScenario(noise=PointNoise(), keep_probability=1.0)):
        result = study.run(scenario)
        for view, names in expected.items():
            chart = study.chart(result, view)
            assert [mark.name for mark in chart.marks()] == names
            draw(chart)
