"""The whole question in one call, and gradient descent step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.privacy import PureDP


def test_one_call_is_the_steps(crowd: dict[str, Any]) -> None:
    asked = pr.query_set(["b > 1", "yes"], crowd)
    record = pr.LinearRegression(features=("x",), target="y")
    noises = [pr.Calibrated(level=0.5), pr.Isotropic(std=0.01)]
    found = pr.analyse(crowd, asked, record, pr.RandomShard(compromised_fraction=0.2), noises)
    release = record.fit(crowd)
    summary = pr.summarise(crowd, asked, release)
    size = pr.shard_size(0.2, 5_000)
    law = pr.total_noise(noises, pr.noise_setting(summary, size.multiplier()))
    want = pr.predictability(summary, size, law.covariance)
    for name, curve in want.curves().items():
        np.testing.assert_allclose(found.result.curves()[name], curve, rtol=1e-12)
    np.testing.assert_allclose(found.at(1.0, found.spectrum()).printed, want.printed, rtol=1e-12)
    np.testing.assert_allclose(
        found.at(4.0, found.spectrum(np.eye(4))).r, pr.predictability(summary, size, 4 * np.eye(4)).r, rtol=1e-12
    )
    assert any("private data" in note for note in found.notes)
    attack = found.attack(crowd, asked)
    assert attack.oracle_weights is not None
    draws = attack.run(20, np.random.default_rng(0))
    assert draws.truth.shape == (20, 2)


def test_every_attacker_and_noise_goes_through(crowd: dict[str, Any]) -> None:
    asked = pr.query_set(["b > 1"], crowd)
    mean = pr.Mean(columns=("a",))
    bounds = {"a": (-5.0, 5.0)}
    group = crowd["group"] == 1
    for attacker in (
        pr.RandomShard(), pr.IndependentDraws(), pr.WeightedDraws(column="scores"),
        pr.StickyStrata(column="group", draws=300),
    ):  # fmt: skip
        for noise in (pr.NoNoise(), pr.LaplaceForPrivacy(epsilon=0.5), pr.GaussianForPrivacy(epsilon=0.5)):
            for members in (None, group):
                found = pr.analyse(crowd, asked, mean, attacker, [noise], bounds=bounds, group=members)
                assert 0 <= found.result.r[0] <= found.result.rho_cc[0] <= 1
                if noise.kind == "laplace":
                    assert found.noise.guarantee == PureDP(0.5)
                    assert found.noise.laplace_scales[0, 0] == pytest.approx(10 / 5_000 / 0.5)
    known = pr.analyse(crowd, asked, mean, pr.WeightedDraws(column="scores"), use_weight_moment=True)
    plain = pr.analyse(crowd, asked, mean, pr.WeightedDraws(column="scores"))
    assert known.result.variance_before[0] <= plain.result.variance_before[0]


def test_many_draws_are_pointed_out(crowd: dict[str, Any]) -> None:
    asked = pr.query_set(["b > 1"], crowd)
    for draws, said in ((500, False), (501, True)):
        found = pr.analyse(crowd, asked, pr.Mean(columns=("a",)), pr.IndependentDraws(draws=draws))
        assert any("far below N" in note for note in found.notes) == said


def test_parts_are_enough_for_a_shard(crowd: dict[str, Any]) -> None:
    parts = [{name: values[low : low + 1_000] for name, values in crowd.items()} for low in range(0, 5_000, 1_000)]
    asked = pr.query_set(["b > 1"], crowd)
    record = pr.LinearRegression(features=("x",), target="y")
    one, two = (pr.analyse(data, asked, record, pr.RandomShard()) for data in (parts, crowd))
    np.testing.assert_allclose(one.result.printed, two.result.printed, rtol=1e-11)


def test_what_does_not_go_together_is_said(crowd: dict[str, Any]) -> None:
    asked = pr.query_set(["b > 1"], crowd)
    laplace = [pr.LaplaceForPrivacy()]
    for call, error, words in (
        (
            lambda: pr.analyse(crowd, asked, pr.Mean(columns=("a",)), pr.AllButOne()), UnsupportedCombination,
            "Only one person is unknown",
        ),
        (
            lambda: pr.analyse(crowd, asked, pr.Mean(columns=("a",)), pr.RandomShard(), laplace),
            UnsupportedCombination, "public bounds of 'a'",
        ),
        (
            lambda: pr.analyse(
                crowd, asked, pr.LinearRegression(features=("x",)), pr.RandomShard(), laplace, bounds={"a": (0, 1)}
            ),
            UnsupportedCombination, "without limit",
        ),
        (
            lambda: pr.analyse(crowd, asked, pr.Mean(columns=("a",)).fit(crowd), pr.RandomShard(), laplace),
            UnsupportedCombination, "not its fit",
        ),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()


def test_tape_of_gradient_descent(d20: dict[str, Any]) -> None:
    """V8: every step of the tape is the release that stops there, without and with noise."""
    asked = pr.query_set(["q", "y"], d20)
    record = pr.GradientDescent(features=("x1", "x2"), intercept=False, steps=6, step_size=0.02)
    for variance in (0.0, 0.01):
        tape = pr.descent_tape(record, d20, asked, variance, 3.0)
        for steps in (1, 2, 6):
            for released, values in (("last", tape.last), ("path", tape.path)):
                release = record.model_copy(update={"steps": steps, "released": released}).fit(d20)
                summary = pr.summarise(d20, asked, release)
                r2 = pr.noise_spectrum(summary, variance * np.eye(summary.dimension), 3.0).r2()
                np.testing.assert_allclose(values[steps - 1] ** 2, r2, rtol=1e-7)
        assert (np.diff(tape.path, axis=0) >= -1e-9).all()
        assert (np.diff(tape.losses) < 0).all()
        assert tape.losses.shape == (7,)
    with pytest.raises(ParameterError, match="At most 600 numbers"):
        pr.descent_tape(record.model_copy(update={"steps": 301}), d20, asked)
