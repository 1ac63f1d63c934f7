"""The small table of all checks: 20 people, two columns, an outcome, a yes or no (spec predictability, section 6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.studies._predictability import TwentyPeople

_COLUMNS = TwentyPeople().table()
X1, X2, OUTCOME, QUERY = (_COLUMNS[name] for name in ("x1", "x2", "y", "q"))
FEATURES: FloatArray = np.column_stack([X1, X2])
LAW: FloatArray = _COLUMNS["weight"] / _COLUMNS["weight"].sum()
"""Law of the biased process: proportional to 1 + (i mod 4)."""
TABLE: dict[str, Any] = {"x1": X1, "x2": X2, "y": OUTCOME, "q": QUERY, "x": FEATURES}
PEOPLE = 20
FRACTION = 0.4
SHARD = pr.shard_size(FRACTION, PEOPLE)
LINEAR = pr.LinearRegression(features=("x1", "x2"), target="y", intercept=False)
SCALAR = np.arange(1.0, 9.0)
"""Eight people with the values 1 to 8 (G1)."""
SCALAR_QUERY = np.array([0.0, 0, 0, 1, 0, 1, 1, 1])


def centred(values: FloatArray) -> FloatArray:
    """Return the moments of a published mean."""
    return np.asarray(values - values.mean(axis=0))


def scalar_summary() -> pr.MomentSummary:
    """Eight people, the mean of 1 to 8 published (G1)."""
    return pr.moment_summary(SCALAR_QUERY, centred(SCALAR))


def mean_summary(
    queries: FloatArray = QUERY, statistic: FloatArray = FEATURES, weights: FloatArray | None = None
) -> pr.MomentSummary:
    """Return the summary of a published mean; of both columns and the query if nothing is said."""
    return pr.moment_summary(queries, centred(statistic), weights=weights)


def regression_summary(queries: tuple[str, ...] = ("q",)) -> tuple[pr.MomentSummary, pr.FittedModel]:
    """Return summary and fit of the published regression of y on x1 and x2."""
    release = LINEAR.fit(TABLE)
    return pr.summarise(TABLE, pr.column_queries(queries, TABLE), release), release


def random_queries(count: int, seed: int) -> FloatArray:
    """Draw yes/no queries at random, shape ``(20, count)``; none of them constant."""
    asked = (np.random.default_rng(seed).random((PEOPLE, 2 * count)) < 0.5).astype(np.float64)
    varied = asked[:, (asked.mean(axis=0) > 0) & (asked.mean(axis=0) < 1)]
    return np.asarray(varied[:, :count])


__all__ = [
    "FEATURES",
    "FRACTION",
    "LAW",
    "LINEAR",
    "OUTCOME",
    "PEOPLE",
    "QUERY",
    "SCALAR",
    "SHARD",
    "TABLE",
    "X1",
    "X2",
    "centred",
    "mean_summary",
    "random_queries",
    "regression_summary",
    "scalar_summary",
]
