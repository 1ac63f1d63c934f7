"""How long things take, in processor time and with one BLAS thread, so that a busy machine does not matter much."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from privexplorer import predictability as pr


def least(call: Callable[[], Any], times: int = 5) -> float:
    """Least processor time of a few runs, seconds."""
    out = []
    for _ in range(times):
        start = time.process_time()
        call()
        out.append(time.process_time() - start)
    return min(out)


def closed_form(table: dict[str, Any]) -> tuple[pr.MomentSummary, pr.Predictability]:
    release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
    summary = pr.summarise(table, pr.column_queries(["q"], table), release)
    size = pr.shard_size(0.3, summary.records)
    return summary, pr.predictability(summary, size, 0.01 * np.eye(summary.dimension))


def regression_table(records: int, width: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((records, width))
    return {"x": x, "y": x[:, 0] + rng.standard_normal(records), "q": (rng.random((records, 10)) < 0.3).astype(float)}


@pytest.mark.slow
def test_a_regression_of_a_million_rows_and_a_sweep() -> None:
    """Everything at most 8 times one product of the features with themselves; 200 noise levels in 5 ms."""
    table = regression_table(1_000_000, 20)
    with threadpool_limits(1):
        product = least(lambda: table["x"].T @ table["x"], 7)
        whole = least(lambda: closed_form(table), 5)
        assert whole < 8 * product, (whole, product)
        summary, _ = closed_form(table)
        levels = np.geomspace(1e-3, 1e3, 200)
        sweep = least(lambda: pr.noise_sweep(summary, pr.shard_size(0.3, 1_000_000), np.eye(20), levels), 20)
        assert sweep < 0.005, sweep


@pytest.mark.slow
def test_two_thousand_attacks() -> None:
    table = regression_table(2_000, 3)
    table["q"] = table["q"][:, 0] + table["x"][:, 1] > 0.5
    process = pr.ShardProcess(2_000, 0.3)
    release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
    asked = pr.query_set(["q"], table)
    summary = process.summarise(table, asked, release)
    law = pr.Isotropic(std=0.05).law(pr.NoiseSetting(3))
    attack = pr.prepare_attack(table, asked.evaluate(table), release, process, law, summary=summary)
    with threadpool_limits(1):
        spent = least(lambda: attack.run(2_000, np.random.default_rng(0)), 3)
    assert spent < 1.0, spent


@pytest.mark.slow
def test_cost_of_the_calibrated_covariance() -> None:
    """R14: after the fit, N d² + d³: slope about 1 in N, and 2 to 3 in d once d is large."""
    with threadpool_limits(1):

        def cost(records: int, width: int) -> float:
            table = regression_table(records, width)
            return least(lambda: closed_form(table)[0].sandwich, 4)

        in_n = np.log(cost(160_000, 16) / cost(20_000, 16)) / np.log(8)
        in_d = np.log(cost(20_000, 256) / cost(20_000, 64)) / np.log(4)
    assert 0.7 < in_n < 1.3
    assert 0.9 < in_d < 3.2


def test_a_small_table_is_answered_at_once() -> None:
    """P-X3: a random table of 1,000 people and 3 columns: finite numbers in well under a second."""
    table = regression_table(1_000, 3)
    closed_form(table)
    assert least(lambda: closed_form(table), 3) < 0.3
    _, found = closed_form(table)
    for curve in found.curves().values():
        assert np.isfinite(curve).all()
        assert (curve >= 0).all()
