"""F2's whole panel set against a plain multinomial draw and table look-up at the same settings."""

from __future__ import annotations

from typing import Any

import numpy as np
from timing import row, seconds

from privexplorer.distributions import figure_families
from privexplorer.properties import MillerMadow, PlugIn, Polynomial
from privexplorer.studies import study


def plain(k: int = 1_000, trials: int = 100) -> list[Any]:
    """Draw and look up with NumPy alone: six distributions, ten n, five estimators."""
    rng = np.random.default_rng(0)
    out = []
    for family in figure_families(k).values():
        p = family.law().probabilities
        for n in range(k // 10, k + 1, k // 10):
            tables = (
                PlugIn().table(n, k),
                MillerMadow().table(n, k),
                Polynomial(preset="non-private").table(n, k),
                PlugIn().table(n, k, private=True),
                Polynomial(preset="private").table(n, k, private=True),
            )
            counts = rng.multinomial(n, p, size=trials)
            out.append([t.values[counts].sum(axis=1) for t in tables])
    return out


def ours() -> Any:
    """Run the study's blocks and assemble its curves."""
    question = study("reproduce-properties")
    scenario = question.scenario(figure="F2")
    return question.run(scenario)


def run() -> list[dict[str, str]]:
    """Time both, coefficients excluded."""
    ours(), plain()
    slow, fast = seconds(plain), seconds(ours)
    return [
        row(
            "F2, six panels, 100 runs, five curves",
            f"{fast:.2f} s",
            f"plain NumPy loop {slow:.2f} s: ratio {fast / slow:.2f}",
            "ratio 0.5",
            fast <= 0.5 * slow,
        )
    ]
