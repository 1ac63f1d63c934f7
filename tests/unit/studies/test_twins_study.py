"""Twins: how far samples of two populations are apart, and how well a private answer tells them apart."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.privacy import LaplaceNoise
from privexplorer.studies.twins import EDITS, FIRST, SECOND, Twins, TwinsScenario, best_threshold, ceiling

STUDY = Twins()
make = TwinsScenario


def test_the_published_illustration():  # type: ignore[no-untyped-def]
    """50 records from 100 or 200 values: 39.5 and 44.3 distinct ones, about five edits (§8, claim (b))."""
    result = STUDY.run(make(trials=2000))
    assert result.cards[0].chip == "39.5 and 44.3"
    blocks = result.extra["blocks"]
    assert blocks[:, FIRST].mean() == pytest.approx(39.4994, abs=4 * blocks[:, FIRST].std() / np.sqrt(2000))
    assert blocks[:, SECOND].mean() == pytest.approx(44.3379, abs=4 * blocks[:, SECOND].std() / np.sqrt(2000))
    assert 4.8 < blocks[:, EDITS].mean() < 5.8
    assert "one would change 25" in result.shows


def test_fingerprints_are_exact_averages():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(trials=16))
    one = result.series("support 100")
    assert one["y"].iloc[0] == pytest.approx(50 * 0.99**49, rel=1e-12)
    assert one["y"].iloc[1] == pytest.approx(100 * 1225 * 0.01**2 * 0.99**48, rel=1e-12)
    assert (one["std_error"] == 0).all()


def test_edits_are_at_least_the_gap_in_distinct_values():  # type: ignore[no-untyped-def]
    blocks = STUDY.run(make(trials=300)).extra["blocks"]
    gap = np.abs(blocks[:, FIRST] - blocks[:, SECOND])
    assert np.all(blocks[:, EDITS] >= gap)
    assert np.any(blocks[:, EDITS] > gap)
    assert np.all(blocks[:, EDITS] <= 50)


def test_distribution_of_edits_adds_up():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(trials=300))
    frame = STUDY.numbers(result, "edits")
    assert frame["y"].sum() == pytest.approx(1.0)
    mean = float((frame["x"] * frame["y"]).sum())
    assert mean == pytest.approx(result.extra["blocks"][:, EDITS].mean())
    wide = STUDY.run(make(first=1000, second=2000, n=500, trials=64))
    assert len(STUDY.numbers(wide, "edits")) <= 31


def test_no_private_guess_beats_the_ceiling():  # type: ignore[no-untyped-def]
    """For every ε; the same test sees noise that is ten times too small."""
    for scenario in (make(trials=1000), make(n=200, second=110, trials=1000)):
        result = STUDY.run(scenario)
        rows = {name: frame for name, frame in STUDY.numbers(result, "guess").groupby("series")}
        private, best = rows["private count"], rows["no private test exceeds"]
        slack = 3 * (private["std_error"].to_numpy() + best["std_error"].to_numpy())
        assert np.all(private["y"].to_numpy() <= best["y"].to_numpy() + slack)
        assert np.all(np.diff(best["y"]) >= 0)
        assert best["y"].iloc[0] < 0.55
        blocks = result.extra["blocks"]
        cheat = best_threshold(blocks[:, FIRST], blocks[:, SECOND], LaplaceNoise(0.1 / 0.1))[0]
        assert cheat > ceiling(blocks[:, EDITS], np.array([0.1]))[0][0] + 0.05


def test_ceiling_is_the_total_variation_of_the_extreme_pair():  # type: ignore[no-untyped-def]
    """Odds that differ by exactly e^(εd) both ways have total variation tanh(εd/2)."""
    for epsilon, edits in ((0.3, 1.0), (0.5, 4.0)):
        factor = np.exp(epsilon * edits)
        p, q = factor / (1 + factor), 1 / (1 + factor)
        found, error = ceiling(np.full(8, edits), np.array([epsilon]))
        assert found[0] == pytest.approx(0.5 + 0.5 * (p - q), rel=1e-12)
        assert error[0] == pytest.approx(0.0, abs=1e-15)


def test_chance_of_a_right_guess_agrees_with_drawn_noise():  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(5)
    fewer, more = rng.poisson(20, 4000).astype(float), rng.poisson(24, 4000).astype(float)
    noise = LaplaceNoise(3.0)
    chance, error = best_threshold(fewer, more, noise)
    thresholds = np.arange(0, 60) + 0.5
    low, high = fewer + noise.sample(4000, rng), more + noise.sample(4000, rng)
    drawn = max(((low <= c).mean() + (high > c).mean()) / 2 for c in thresholds)
    assert chance == pytest.approx(drawn, abs=0.02)
    assert 0 < error < 0.01
    assert best_threshold(fewer, fewer, noise)[0] == pytest.approx(0.5)


def test_order_of_the_two_populations_does_not_matter_to_the_guess():  # type: ignore[no-untyped-def]
    one, two = STUDY.run(make(trials=500)), STUDY.run(make(first=200, second=100, trials=500))
    rates = [float(result.cards[2].value.rstrip("%")) for result in (one, two)]
    assert abs(rates[0] - rates[1]) <= 2
    assert one.cards[0].value == two.cards[0].value


def test_refusal_and_drafts():  # type: ignore[no-untyped-def]
    assert "nothing to tell apart" in STUDY.check(make(first=50, second=50), None)[0]
    scenario = make()
    prepared = STUDY.prepare(scenario, None)
    part = STUDY.run_block(prepared, 1)
    assert part.shape == (128, 3, 1)
    assert STUDY.assemble(scenario, prepared, [part]).runs == 128


def test_the_lead_fits_every_example():  # type: ignore[no-untyped-def]
    """At 500 records guesses are nearly always right, so the lead must not say otherwise, nor name one setting."""
    right = {preset.title: STUDY.run(preset.scenario).cards[2].value for preset in STUDY.presets()}
    assert right["A larger sample"] == "99%"
    assert float(right["One hundred or two hundred"].removesuffix("%")) < 70
    for words in ("cannot", "Fifty", "hundred"):
        assert words not in STUDY.lead
