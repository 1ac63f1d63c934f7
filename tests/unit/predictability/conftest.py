"""The small table D20 of the spec, and a larger one, for the tests of predictability."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="session")
def d20() -> dict[str, Any]:
    """D20: x1, x2, y, q, the matrix x, and the importance weights of the process G7."""
    i = np.arange(1, 21)
    x1, x2 = (7 * i) % 11 - 5, (5 * i) % 13 - 6
    y = x1 - 2 * x2 + (3 * i) % 7 - 3
    q = (x1 + (3 * i) % 7 - 3 > 0).astype(float)
    law = (1 + i % 4) / (1 + i % 4).sum()
    return {
        "x1": x1, "x2": x2, "y": y, "q": q, "x": np.column_stack([x1, x2]).astype(float), "weights": 1 / (20 * law),
        "law": law,
    }  # fmt: skip


@pytest.fixture(scope="session")
def crowd() -> dict[str, Any]:
    """5,000 people with correlated, skewed columns, an outcome and a group."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((5_000, 3))
    x[:, 1] = 0.6 * x[:, 0] + np.exp(0.5 * rng.standard_normal(5_000))
    y = x @ [1.0, -0.5, 0.2] + (1 + np.abs(x[:, 0])) * rng.standard_normal(5_000)
    return {
        "x": x, "y": y, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "group": rng.integers(0, 4, 5_000),
        "yes": (y > 0.5), "scores": np.exp(rng.standard_normal(5_000)),
    }  # fmt: skip
