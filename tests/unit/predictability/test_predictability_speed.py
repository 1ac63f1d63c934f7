"""What an answer costs, counted in steps of linear algebra; the benchmarks have the stopwatch."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr


def closed_form(table: dict[str, Any]) -> tuple[pr.MomentSummary, pr.Predictability]:
    release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
    summary = pr.summarise(table, pr.column_queries(["q"], table), release)
    size = pr.shard_size(0.3, summary.records)
    return summary, pr.predictability(summary, size, 0.01 * np.eye(summary.dimension))


def regression_table(records: int, width: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((records, width))
    return {"x": x, "y": x[:, 0] + rng.standard_normal(records), "q": (rng.random((records, 10)) < 0.3).astype(float)}


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Shapes (rows, columns) of all matrices that are factorised, solved with or inverted from now on."""
    seen: list[tuple[int, int]] = []

    def noted(whole: Any, matrix: Any, *more: Any, **options: Any) -> Any:
        rows, columns = np.shape(matrix)[-2:]
        seen.append((max(rows, columns), min(rows, columns)))
        return whole(matrix, *more, **options)

    for name in ("solve", "inv", "eigh", "eigvalsh", "svd", "qr", "lstsq", "cholesky"):
        monkeypatch.setattr(np.linalg, name, partial(noted, getattr(np.linalg, name)))
    return seen


def test_cost_of_the_calibrated_covariance(steps: list[tuple[int, int]]) -> None:
    """R14: after the fit at most N d² + d³: as many factorisations for any N, of matrices hardly larger than d."""

    def work(records: int, width: int) -> tuple[list[tuple[int, int]], float]:
        steps.clear()
        summary, _ = closed_form(regression_table(records, width))
        assert np.isfinite(summary.sandwich).all()
        return list(steps), float(sum(rows * columns**2 for rows, columns in steps))

    few, small = work(2_000, 16)
    many, large = work(16_000, 16)
    assert few
    assert [shape for shape in many if shape[0] <= 64] == [shape for shape in few if shape[0] <= 64]
    assert large <= 8.5 * small
    wide = work(2_000, 64)[1]
    assert 2.0 < np.log(wide / small) / np.log(4) < 3.1


def test_a_small_table_is_answered_at_once() -> None:
    """P-X3: a random table of 1,000 people and 3 columns: finite numbers."""
    _, found = closed_form(regression_table(1_000, 3))
    for curve in found.curves().values():
        assert np.isfinite(curve).all()
