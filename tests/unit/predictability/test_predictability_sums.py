"""Sums over parts of a table: any split, any order, weights, targets; accuracy against 50 digits."""

from __future__ import annotations

import itertools
import pickle
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import mpmath
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import ConvergenceError, DataError, ParameterError
from privexplorer.predictability import sums as sums_module

ASKED = ["a > 0", "yes", "b * c", "b"]


def naive(
    q: np.ndarray, g: np.ndarray, weights: np.ndarray | None = None, target: np.ndarray | None = None
) -> tuple[Any, ...]:
    """The four sums straight from their definition under the law of the process."""
    n = len(q)
    w = np.ones(n) if weights is None else weights
    law, ratio = 1 / (n * w), np.ones(n) if target is None else target
    p = (ratio[:, None] * q).mean(axis=0)
    q1, g1 = (w * ratio)[:, None] * (q - p), w[:, None] * g
    return p, (law[:, None] * q1).T @ q1, (law[:, None] * q1).T @ g1, (law[:, None] * g1).T @ g1


def agree(summary: pr.MomentSummary, wanted: tuple[Any, ...], tolerance: float = 1e-11) -> None:
    for found, want in zip(
        (summary.query_means, summary.query_covariance, summary.cross_covariance, summary.moment_covariance), wanted,
        strict=True,
    ):  # fmt: skip
        np.testing.assert_allclose(found, want, rtol=tolerance, atol=tolerance * np.abs(want).max())


def everything(crowd: dict[str, Any]) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    asked = pr.query_set(ASKED, crowd)
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    moments = np.empty((len(crowd["y"]), release.width))
    release.fill(crowd, moments)
    return asked, release, asked.evaluate(crowd), moments


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("as_root", [False, True])
def test_sums_are_the_definition(crowd: dict[str, Any], weighted: bool, grouped: bool, as_root: bool) -> None:
    asked, release, q, g = everything(crowd)
    law = pr.law_from_scores(crowd["scores"])
    weights = 1 / (law * 5_000) if weighted else None
    target = pr.subgroup_target(crowd["group"] == 2) if grouped else None
    summary = pr.summarise(crowd, asked, release, pr.RowWeights(weights, target), as_root=as_root)
    agree(summary, naive(q, g, weights, target))
    agree(pr.moment_summary(q, g, release.jacobian, weights=weights, target=target), naive(q, g, weights, target))


def test_statistic_needs_one_reading_and_no_centring(crowd: dict[str, Any]) -> None:
    release = pr.Mean(columns=("x", "y")).fit(crowd)
    walks = []

    class Once:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            walks.append(1)
            yield {name: values[:2_000] for name, values in crowd.items()}
            yield {name: values[2_000:] for name, values in crowd.items()}

    summary = pr.summarise(Once(), pr.query_set(ASKED, crowd), release)
    assert len(walks) == 1
    whole = np.column_stack([crowd["x"], crowd["y"]])
    agree(summary, naive(pr.query_set(ASKED, crowd).evaluate(crowd), whole - whole.mean(axis=0)))
    np.testing.assert_allclose(summary.parameters, whole.mean(axis=0), rtol=1e-13)


def test_parts_merge_in_any_order_and_size(crowd: dict[str, Any]) -> None:
    asked, release, q, g = everything(crowd)
    mean = pr.Mean(columns=("x",)).fit(crowd)
    for one in (release, mean):
        cuts = [0, 1, 700, 705, 3_000, 5_000]
        for as_root in (False, True):
            parts = [
                pr.partial_moments(
                    {name: values[low:high] for name, values in crowd.items()}, asked, one, as_root=as_root
                )
                for low, high in itertools.pairwise(cuts)
            ]
            back = pickle.loads(pickle.dumps(parts[::-1]))  # noqa: S301
            first = pr.finish(back[0] + back[1] + (back[2] + (back[3] + back[4])), asked, one)
            moments = g if one is release else crowd["x"] - crowd["x"].mean(axis=0)
            agree(first, naive(q, moments))


def test_adding_different_things_is_refused(crowd: dict[str, Any]) -> None:
    asked, release, _, _ = everything(crowd)
    one = pr.partial_moments(crowd, asked, release)
    other = pr.partial_moments(crowd, pr.query_set(["b"], crowd), release)
    with pytest.raises(DataError, match="same queries and the same release"):
        one + other


def test_row_groups_of_a_file(crowd: dict[str, Any], tmp_path: Path) -> None:
    """A Parquet file is read row group by row group, twice for a regression, with the same result."""
    names = ["a", "b", "c", "y", "yes"]
    pq.write_table(pa.table({name: crowd[name] for name in names}), tmp_path / "t.parquet", row_group_size=700)

    class RowGroups:
        def __iter__(self) -> Iterator[dict[str, Any]]:
            with pq.ParquetFile(tmp_path / "t.parquet") as file:
                for place in range(file.num_row_groups):
                    group = file.read_row_group(place)
                    yield {name: group.column(name).to_numpy() for name in group.column_names}

    record = pr.LinearRegression(features=("a", "b", "c"), target="y")
    release = record.fit(RowGroups())
    found = pr.summarise(RowGroups(), pr.query_set(ASKED, crowd), release)
    want = pr.summarise(crowd, pr.query_set(ASKED, crowd), record.fit(crowd))
    agree(found, (want.query_means, want.query_covariance, want.cross_covariance, want.moment_covariance))
    np.testing.assert_allclose(found.parameters, want.parameters, rtol=1e-12)


def test_a_cluster_sums_where_the_data_are(crowd: dict[str, Any]) -> None:
    """Both steps of a regression map over partitions with Dask: sums of products, then sums of moments."""
    asked = pr.query_set(ASKED, crowd)
    design = pr.Design(("x",), "y", True)
    parts = [{name: values[k::5] for name, values in crowd.items()} for k in range(5)]
    grams = dask.compute(*[dask.delayed(pr.gram_sums)(part, design) for part in parts], scheduler="synchronous")
    total = grams[0] + grams[1] + grams[2] + grams[3] + grams[4]
    coefficients = np.linalg.solve(total.gram, total.moment)
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    np.testing.assert_allclose(coefficients, release.coefficients, rtol=1e-11)
    pieces = dask.compute(
        *[dask.delayed(pr.partial_moments)(part, asked, release) for part in parts], scheduler="synchronous"
    )
    summary = pr.finish(pieces[0] + pieces[1] + pieces[2] + pieces[3] + pieces[4], asked, release)
    agree(summary, naive(asked.evaluate(crowd), _filled(release, crowd)))


def _filled(release: pr.FittedRelease, table: dict[str, Any]) -> np.ndarray:
    out = np.empty((len(table["y"]), release.width))
    release.fill(table, out)
    return out


def test_step_length_changes_nothing(crowd: dict[str, Any]) -> None:
    asked, release, q, g = everything(crowd)
    for rows in (1, 17, 4_999, 100_000):
        agree(pr.finish(pr.partial_moments(crowd, asked, release, rows=rows), asked, release), naive(q, g))


def test_a_matrix_of_queries_is_not_copied(crowd: dict[str, Any]) -> None:
    table = {"q": pr.query_set(ASKED, crowd).evaluate(crowd)}
    rule = pr.column_queries(["q"], table)
    view = rule.view(table)
    assert view is not None
    assert np.shares_memory(view, table["q"])
    shifted = {"q": table["q"] + 1e7, **crowd}
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    found = pr.summarise(shifted, rule, release)
    agree(found, naive(shifted["q"], _filled(release, crowd)), 1e-9)


# --- accuracy ------------------------------------------------------------------------------------------------


def exact_r2(q: Any, g: np.ndarray, jacobian: np.ndarray, sigma: np.ndarray, weights: Any = None) -> tuple[Any, Any]:
    """r² and c₀ with 50 digits, straight from the printed form; the moments are centred with 50 digits too."""
    with mpmath.workdps(50):
        n, m = g.shape
        w = [mpmath.mpf(1)] * n if weights is None else [mpmath.mpf(float(one)) for one in weights]
        total = sum(1 / one for one in w)
        w = [one * total / n for one in w]
        values = [mpmath.mpf(float(one)) for one in q]
        rows = [[mpmath.mpf(float(one)) for one in row] for row in g]
        p = mpmath.fsum(values) / n
        means = [mpmath.fsum(row[k] for row in rows) / n for k in range(m)]
        rows = [[row[k] - means[k] for k in range(m)] for row in rows]
        vq = mpmath.fsum(one * (value - p) ** 2 for one, value in zip(w, values, strict=True)) / n
        c = mpmath.matrix([mpmath.fsum(w[i] * (values[i] - p) * rows[i][k] for i in range(n)) / n for k in range(m)])
        vg = mpmath.matrix(m, m)
        for a in range(m):
            for b in range(m):
                vg[a, b] = mpmath.fsum(w[i] * rows[i][a] * rows[i][b] for i in range(n)) / n
        j = mpmath.matrix(jacobian.tolist())
        noisy = vg + j * mpmath.matrix(sigma.tolist()) * j.T
        r2 = (c.T * mpmath.lu_solve(noisy, c))[0] / vq
        rho2 = (c.T * mpmath.lu_solve(vg, c))[0] / vq
        return +r2, +(rho2 - r2)


@pytest.mark.parametrize("sigma", [0.0, 1e-14, 1e-6, 1.0, 1e6, 1e14])
def test_noise_of_every_size_to_many_digits(d20: dict[str, Any], sigma: float) -> None:
    """r² keeps its digits for huge noise, c₀ for tiny noise: no subtraction."""
    g = d20["x"] - d20["x"].mean(axis=0)
    summary = pr.moment_summary(d20["q"], g)
    covariance = sigma * np.array([[1.0, 0.3], [0.3, 2.0]])
    found = pr.noise_spectrum(summary, covariance)
    r2, c0 = exact_r2(d20["q"], g, -np.eye(2), covariance)
    assert float(found.r2()[0]) == pytest.approx(float(r2), rel=1e-11)
    assert float(found.c0()[0]) == pytest.approx(float(c0), rel=1e-11)


@pytest.mark.parametrize("closeness", [1e-2, 1e-5, 1e-8])
def test_near_collinear_columns(closeness: float) -> None:
    """Two statistics that differ by 1e-8 of their size: the small difference still tells, and is found."""
    rng = np.random.default_rng(3)
    base, small = rng.standard_normal(60), rng.standard_normal(60)
    g = np.column_stack([base, base + closeness * small])
    q = (small > 0.3).astype(float)
    summary = pr.moment_summary(q, g - g.mean(axis=0))
    assert summary.rank == 2
    assert summary.precise
    centred = g - g.mean(axis=0)
    r2, _ = exact_r2(q, centred, -np.eye(2), np.zeros((2, 2)))
    assert float(pr.noise_spectrum(summary).r2()[0]) == pytest.approx(float(r2), rel=1e-15 / closeness + 1e-11)
    # noise far above the difference hides it
    noisy, _ = exact_r2(q, centred, -np.eye(2), 0.1 * np.eye(2))
    assert float(pr.noise_spectrum(summary, 0.1 * np.eye(2)).r2()[0]) == pytest.approx(float(noisy), rel=1e-9)


def test_near_collinear_features_of_a_regression() -> None:
    """Features that agree to 1e-6: fit, moments and ρ stay accurate, because both use a root instead of products."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((400, 3))
    x[:, 2] = x[:, 0] - x[:, 1] + 1e-6 * x[:, 2]
    y = x[:, 0] + rng.standard_normal(400)
    q = (y * x[:, 1] > 0).astype(float)
    table = {"x": x, "y": y, "q": q}
    release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
    summary = pr.summarise(table, pr.column_queries(["q"], table), release)
    assert summary.precise
    with mpmath.workdps(50):
        big = mpmath.matrix(x.tolist())
        w = mpmath.lu_solve(big.T * big, big.T * mpmath.matrix(y.tolist()))
        residual = big * w - mpmath.matrix(y.tolist())
        g = np.array([[float(residual[i] * big[i, k]) for k in range(3)] for i in range(400)])
    r2, _ = exact_r2(q, g, np.eye(3), np.zeros((3, 3)))
    assert float(pr.noise_spectrum(summary).r2()[0]) == pytest.approx(float(r2), rel=1e-7)
    np.testing.assert_allclose(release.coefficients, [float(w[k]) for k in range(3)], rtol=1e-8)


def test_weights_over_six_orders_of_magnitude(d20: dict[str, Any]) -> None:
    law = pr.law_from_scores(10.0 ** np.linspace(0, 6, 20))
    weights = 1 / (20 * law)
    assert weights.max() / weights.min() == pytest.approx(1e6)
    g = d20["x"] - d20["x"].mean(axis=0)
    summary = pr.moment_summary(d20["q"], g, weights=weights)
    found = pr.noise_spectrum(summary, 0.5 * np.eye(2))
    r2, c0 = exact_r2(d20["q"], g, -np.eye(2), 0.5 * np.eye(2), weights)
    assert float(found.r2()[0]) == pytest.approx(float(r2), rel=1e-10)
    assert float(found.c0()[0]) == pytest.approx(float(c0), rel=1e-10)


def test_far_from_zero_and_sorted_tables_keep_their_digits() -> None:
    """A column of mean 1e9 and spread 1, sorted, so that the first rows tell little about the rest."""
    x = np.sort(np.random.default_rng(5).standard_normal(30_000)) + 1e9
    table = {"x": x, "q": (x > 1e9 + 0.5)}
    summary = pr.summarise(table, pr.column_queries(["q"], table), pr.Mean(columns=("x",)).fit(table))
    centred = x - 1e9
    assert float(summary.moment_covariance[0, 0]) == pytest.approx(centred.var(), rel=1e-9)
    assert float(pr.noise_spectrum(summary).r2()[0]) == pytest.approx(
        np.corrcoef(centred, table["q"])[0, 1] ** 2, rel=1e-9
    )


def test_duplicated_statistics_change_nothing(d20: dict[str, Any]) -> None:
    x = d20["x"] - d20["x"].mean(axis=0)
    once = pr.noise_spectrum(pr.moment_summary(d20["q"], x)).r2()
    for more in (x[:, :1], 0.1 * x[:, 1:], x @ [[1.0], [1.0]] / 3):
        twice = pr.moment_summary(d20["q"], np.column_stack([x, more]))
        assert twice.rank == 2
        np.testing.assert_allclose(pr.noise_spectrum(twice).r2(), once, rtol=1e-12)


def test_singular_noise(d20: dict[str, Any]) -> None:
    """Noise on one of two numbers, or along one direction, against 50 digits."""
    g = d20["x"] - d20["x"].mean(axis=0)
    summary = pr.moment_summary(d20["q"], g)
    for sigma in (np.diag([3.0, 0.0]), np.ones((2, 2)), np.array([[1.0, -2.0], [-2.0, 4.0]])):
        r2, c0 = exact_r2(d20["q"], g, -np.eye(2), sigma)
        assert float(pr.noise_spectrum(summary, sigma).r2()[0]) == pytest.approx(float(r2), rel=1e-11)
        assert float(pr.noise_spectrum(summary, sigma).c0()[0]) == pytest.approx(float(c0), rel=1e-11)


def test_constant_statistic_shows_the_noise_of_the_others(d20: dict[str, Any]) -> None:
    """A constant among the numbers gives away noise that is shared with them (erratum E21, extreme case)."""
    g = np.column_stack([d20["x1"] - d20["x1"].mean(), np.zeros(20)])
    summary = pr.moment_summary(d20["q"], g)
    shared = pr.noise_spectrum(summary, np.ones((2, 2)))
    np.testing.assert_allclose(shared.r2(), pr.noise_spectrum(summary).r2(), rtol=1e-12)
    own = pr.noise_spectrum(summary, np.eye(2)).r2()
    assert own[0] < shared.r2()[0]


@pytest.mark.slow
def test_a_million_rows_need_little_memory() -> None:
    """N = 10⁶, d = 20, ten queries: the sums over parts keep a few megabytes, whatever the table holds."""
    rng = np.random.default_rng(0)
    x = rng.random((1_000_000, 20))
    table = {"x": x, "y": x[:, 0] > 0.5, "q": x[:, :10] > 0.5}
    tracemalloc.start()
    release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
    summary = pr.summarise(table, pr.column_queries(["q"], table), release)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert summary.records == 1_000_000
    assert peak < 20e6


# --- refusals ------------------------------------------------------------------------------------------------


def test_missing_values_are_located(crowd: dict[str, Any]) -> None:
    asked, release, _, _ = everything(crowd)
    for value, word in ((np.nan, "missing or not a number"), (np.inf, "infinite")):
        broken = dict(crowd, b=crowd["b"].copy(), x=crowd["x"].copy())
        broken["b"][4_321] = value
        with pytest.raises(DataError, match=f"row 4,322, 'b', is {word}"):
            pr.summarise(broken, asked, release)
        broken = dict(crowd, x=crowd["x"].copy())
        broken["x"][17, 2] = value
        with pytest.raises(DataError, match=f"row 18, column 3 of 'x', is {word}"):
            pr.LinearRegression(features=("x",), target="y").fit(broken)


def test_a_formula_without_a_value_is_located(crowd: dict[str, Any]) -> None:
    table = dict(crowd, zero=np.where(np.arange(5_000) == 4_000, 0.0, 1.0))
    release = pr.Formula(text="a / zero").fit(table)
    with pytest.raises(DataError, match="row 4,001"):
        pr.summarise(table, pr.query_set(["b"], table), release)


def test_moments_that_do_not_average_to_zero(d20: dict[str, Any]) -> None:
    with pytest.raises(ConvergenceError, match=r"average is 0\.1"):
        pr.moment_summary(d20["q"], d20["x"] - d20["x"].mean(axis=0) + 0.1)


def test_weights_and_targets_are_checked(d20: dict[str, Any]) -> None:
    g = d20["x"] - d20["x"].mean(axis=0)
    with pytest.raises(ParameterError, match=r"Assumption 3\.1.*reciprocals is 0\.5"):
        pr.moment_summary(d20["q"], g, weights=np.full(20, 2.0))
    with pytest.raises(ParameterError, match=r"row 3 is 0"):
        pr.moment_summary(d20["q"], g, weights=np.where(np.arange(20) == 2, 0.0, 1.0))
    with pytest.raises(ParameterError, match=r"must sum to 1; it sums to 2"):
        pr.moment_summary(d20["q"], g, target=np.full(20, 2.0))
    with pytest.raises(ParameterError, match="row 1 it is -1"):
        pr.moment_summary(d20["q"], g, target=np.full(20, -1.0))


def test_parts_must_be_readable_twice(crowd: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="more than once"):
        pr.LinearRegression(features=("x",), target="y").fit(table for table in [crowd])


def test_columns_must_match(crowd: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="'b' has 3"):
        pr.Mean(columns=("a",)).fit({"a": np.zeros(5), "b": np.zeros(3)})
    with pytest.raises(DataError, match="no column 'nothing'"):
        pr.Mean(columns=("nothing",)).fit(crowd)


def test_a_perfect_fit_releases_nothing_about_a_person() -> None:
    """Residuals that are rounding errors count as 0: the release is then the same whoever is drawn."""
    x = np.random.default_rng(0).standard_normal((500, 3))
    table = {"x": x, "y": x @ [1.0, 2.0, 3.0], "q": x[:, 0] > 0}
    release = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(table)
    summary = pr.summarise(table, pr.column_queries(["q"], table), release)
    found = pr.predictability(summary, pr.shard_size(0.3, 500))
    assert summary.rank == 0
    assert found.printed[0] == 0.0
    assert any("same for every person" in note for note in found.notes)


def test_triangle_is_a_root() -> None:
    rows = np.random.default_rng(0).standard_normal((3, 5))
    triangle = sums_module._triangle(rows)
    assert triangle.shape == (5, 5)
    np.testing.assert_allclose(triangle.T @ triangle, rows.T @ rows, atol=1e-14)
