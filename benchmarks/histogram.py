"""A histogram of 10⁸ records, answered with its exact sensitivity."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
from timing import row, seconds

from privexplorer.properties import GoodToulmin, Histogram, MillerMadow, PlugIn, Polynomial, SmoothedGoodToulmin, answer


def run() -> list[dict[str, str]]:
    """Time ``answer`` for every estimator on one histogram."""
    rng = np.random.default_rng(0)
    k = 100_000
    weights = 1 / np.arange(1, k + 1)
    counts = rng.multinomial(100_000_000, weights / weights.sum())
    data = Histogram.from_counts(counts)
    out = []
    cases: list[tuple[str, Any, dict[str, Any]]] = [
        ("plug-in", PlugIn(), {"k": k}),
        ("Miller-Madow", MillerMadow(), {"k": k}),
        ("best polynomial", Polynomial(), {"k": k}),
        ("Good-Toulmin, t = 1", GoodToulmin(), {"t": 1.0}),
        ("smoothed Good-Toulmin, t = 5", SmoothedGoodToulmin(), {"t": 5.0}),
    ]
    for name, estimator, settings in cases:
        answer(estimator, data, **settings)
        spent = seconds(lambda e=estimator, s=settings: answer(e, data, **s))  # type: ignore[misc]
        tracemalloc.start()
        answer(estimator, data, **settings)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        out.append(
            row(
                f"10⁸ records, {name}",
                f"{1000 * spent:.1f} ms, {peak:.1f} MB",
                "value and exact sensitivity",
                "10 ms, 50 MB",
                spent <= 0.010 and peak <= 50,
            )
        )
    return out
