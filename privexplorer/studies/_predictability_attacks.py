"""Settings in which simulated attackers are held against the theory (spec predictability, section 7, reduced size).

The people of a setting are always the same; only the attacks are drawn anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from privexplorer import predictability as pr

BLOCK_ATTACKS = 100
NOISY, PRINTED = "A1", "A2"
"""Settings with noise: counted as released, and as the source prints it (erratum E1)."""


@dataclass(frozen=True)
class Setting:
    """One setting: its attack, its theory, and the clipping level of log loss."""

    name: str
    words: str
    attack: pr.PreparedAttack
    theory: pr.Predictability
    tau: float | None = None


def _set(
    name: str, words: str, table: dict[str, Any], query: str, record: pr.ReleaseRecord, process: pr.Process,
    noise: pr.NoiseRecord | None = None, *, loss: Any = "squared", group: Any = None, scale: Any = "release",
) -> Setting:  # fmt: skip
    asked, release = pr.query_set([query], table), record.fit(table)
    summary = process.summarise(table, asked, release, group)
    law = (noise or pr.NoNoise()).law(pr.noise_setting(summary, process.size().multiplier()))
    attack = pr.prepare_attack(table, asked.evaluate(table), release, process, law, summary=summary, group=group)
    theory = pr.predictability(summary, process.size(), law.covariance, noise_scale=scale, loss=loss)
    return Setting(name, words, attack, theory, 0.05 if loss == "log" else None)


def _heavy() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.standard_t(5, 2_000), np.exp(0.7 * rng.standard_normal(2_000))])
    return {"x": x, "q": x[:, 0] + 0.5 * x[:, 1] + 1.3 * rng.standard_normal(2_000) > 0.8}


def _regression() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1_500, 3))
    y = x[:, 0] - 0.5 * x[:, 1] + 0.3 * x[:, 2] + (0.6 + 0.6 * np.abs(x[:, 1])) * rng.standard_normal(1_500)
    fitted = pr.LinearRegression(features=("x",), target="y", intercept=False).fit({"x": x, "y": y}).coefficients
    return {"x": x, "y": y, "q": (y - np.einsum("ij,j->i", x, fitted)) * x[:, 0] > 0.3}


def _biased() -> dict[str, Any]:
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.standard_normal(3_000), rng.exponential(size=3_000)])
    q = x[:, 0] + 0.5 * x[:, 1] + rng.standard_normal(3_000) > 0.6
    return {"x": x, "q": q, "s": np.exp(0.5 * x[:, 0] + 0.3 * rng.standard_normal(3_000)), "old": x[:, 1] > 0.7}


def _walk() -> tuple[dict[str, Any], pr.ChainProcess]:
    rng = np.random.default_rng(4)
    people = np.arange(30)
    near = np.exp(-0.5 * (people[:, None] - people[None, :]) ** 2 / 4.0) * rng.uniform(0.5, 1.5, (30, 30))
    process = pr.people_chain(0.5 * np.eye(30) + 0.5 * near / near.sum(axis=1, keepdims=True), 1_500)
    x = 0.2 * people + rng.standard_normal(30)
    return {"x": x, "q": x + 0.5 * rng.standard_normal(30) > 3.0}, process


@cache
def settings() -> tuple[Setting, ...]:
    """Return the settings A to E."""
    heavy, regression, biased = _heavy(), _regression(), _biased()
    shard, quarter = pr.ShardProcess(2_000, 0.3), pr.ShardProcess(1_500, 0.25)
    means = pr.Mean(columns=("x",))
    fit = pr.LinearRegression(features=("x",), target="y", intercept=False)
    spread = np.cov(heavy["x"].T, bias=True)
    nu = shard.size().multiplier()
    weighted = pr.WeightedDraws(draws=600, column="s").process(3_000, biased)
    noise = pr.GivenCovariance.of(np.cov(biased["x"].T, bias=True) / 600)
    walk, chain = _walk()
    return (
        _set("A0", "two heavy-tailed means, no noise", heavy, "q", means, shard),
        _set(NOISY, "the same, noise counted as released", heavy, "q", means, shard,
             pr.GivenCovariance.of(spread / nu)),
        _set(PRINTED, "noise ν times as large, counted once", heavy, "q", means, shard, pr.GivenCovariance.of(spread),
             scale="paper"),
        _set("B0", "linear regression, no noise", regression, "q", fit, quarter),
        _set("B1", "the same, calibrated noise σ² = 1", regression, "q", fit, quarter,
             pr.Calibrated(level=1.0)),
        _set("B2", "the same, equal noise", regression, "q", fit, quarter,
             pr.Isotropic(std=math.sqrt(0.5 / quarter.size().multiplier()))),
        _set("C1", "biased draws, noise", biased, "q", means, weighted, noise),
        _set("C2", "biased draws, one subgroup", biased, "q", means, weighted, group=biased["old"]),
        _set("D", "a slow chain over 30 people", walk, "q", means, chain),
        _set("E", "two means, log loss", heavy, "q", means, shard, loss="log"),
    )  # fmt: skip


__all__ = ["BLOCK_ATTACKS", "NOISY", "PRINTED", "Setting", "settings"]
