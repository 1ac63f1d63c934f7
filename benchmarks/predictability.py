"""Predictability: a regression of a million people, a sweep of the noise, and thousands of simulated attacks.

All of it runs on one thread of linear algebra, the product it is compared with as well.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from timing import child, row, seconds

from privexplorer import predictability as pr

FRACTION = 0.3

_MEMORY = """
import sys
sys.path.insert(0, {here!r})
import predictability as bench

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1000

with bench.threadpool_limits(1):
    bench.closed_form(bench.people(20_000, 20))
    table = bench.people(1_000_000, 20)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = status("VmRSS")
    bench.closed_form(table)
print(status("VmHWM") - before)
"""


def people(records: int, width: int) -> dict[str, Any]:
    """Make features, an outcome and ten yes-or-no questions."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((records, width))
    return {"x": x, "y": x[:, 0] + rng.standard_normal(records), "q": (rng.random((records, 10)) < FRACTION) * 1.0}


def closed_form(table: dict[str, Any]) -> tuple[pr.MomentSummary, pr.Predictability]:
    """Fit the regression, sum everybody out and return the numbers of all ten questions."""
    release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
    summary = pr.summarise(table, pr.column_queries(["q"], table), release)
    size = pr.shard_size(FRACTION, summary.records)
    return summary, pr.predictability(summary, size, 0.01 * np.eye(summary.dimension))


def _regression() -> list[dict[str, str]]:
    """A million people, 20 features, ten questions; then 200 noise levels."""
    table = people(1_000_000, 20)
    x = table["x"]
    summary, _ = closed_form(table)
    # in turns, so that a change of the machine's pace meets both sides
    pairs = [(seconds(lambda: x.T @ x, 3), seconds(partial(closed_form, table), 1)) for _ in range(5)]
    product, whole = (float(np.median(side)) for side in zip(*pairs, strict=True))
    ratio = float(np.median([mine / other for other, mine in pairs]))
    levels, size = np.geomspace(1e-3, 1e3, 200), pr.shard_size(FRACTION, summary.records)
    sweep = seconds(lambda: pr.noise_sweep(summary, size, np.eye(20), levels), 21)
    extra = float(child(_MEMORY.format(here=str(Path(__file__).parent))))
    what = "linear regression, 10⁶ people, d = 20, ten questions"
    return [
        row(
            f"{what}: fit, sums and bounds",
            f"{1000 * whole:.0f} ms, ratio {ratio:.1f}",
            f"XᵀX of the same array, {1000 * product:.0f} ms; one thread each",
            "ratio 8",
            ratio <= 8,
        ),
        row(f"{what}: extra memory", f"{extra:.1f} MB", "peak above the table, fresh process", "200 MB", extra <= 200),
        row("200 noise levels after that", f"{1000 * sweep:.1f} ms", "ten questions", "5 ms", sweep <= 0.005),
    ]


def _attacks() -> dict[str, str]:
    """2,000 simulated attacks on a regression of 2,000 people and three features."""
    table = people(2_000, 3)
    table["q"] = table["q"][:, 0] + table["x"][:, 1] > 0.5
    process = pr.ShardProcess(2_000, FRACTION)
    release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
    asked = pr.query_set(["q"], table)
    law = pr.Isotropic(std=0.05).law(pr.NoiseSetting(3))

    def whole() -> None:
        summary = process.summarise(table, asked, release)
        attack = pr.prepare_attack(table, asked.evaluate(table), release, process, law, summary=summary)
        attack.run(2_000, np.random.default_rng(0))

    whole()
    spent = seconds(whole, 3)
    return row(
        "2,000 simulated attacks, N = 2,000, d = 3",
        f"{spent:.2f} s",
        "preparation included, one thread",
        "1 s",
        spent <= 1,
    )


def run() -> list[dict[str, str]]:
    """Time the closed form and the simulated attacker."""
    with threadpool_limits(1):
        return [*_regression(), _attacks()]
