"""Exact sensitivities against enumeration of all histograms and all changed records (spec properties, section 1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spec_reference as reference

from privexplorer import properties

private_poly = properties.Polynomial(preset="private")
open_poly = properties.Polynomial(preset="non-private")


def random_table(n: int, k: int) -> np.ndarray:
    return np.random.default_rng(1000 * n + k).normal(size=n + 1)


def spiked_table(n: int, k: int) -> np.ndarray:
    values = np.zeros(n + 1)
    values[(7 * n + k) % (n + 1)] = 1.0
    return values


TABLES: dict[str, Callable[[int, int], np.ndarray]] = {
    "plug-in": lambda n, k: np.asarray(properties.PlugIn().table(n, k, private=True).values),
    "miller-madow": lambda n, k: np.asarray(properties.MillerMadow().table(n, k, private=True).values),
    "polynomial, private": lambda n, k: np.asarray(private_poly.table(n, k, private=True).values),
    "polynomial, non-private": lambda n, k: np.asarray(open_poly.table(n, k, private=False).values),
    "smoothed Good-Toulmin": lambda n, k: np.asarray(properties.SmoothedGoodToulmin().table(n, 3.0, k).values),
    "Good-Toulmin": lambda n, k: np.asarray(properties.GoodToulmin().table(n, 0.7, k).values),
    "dense support": lambda n, k: reference.dense_values(n, k),
    "random": random_table,
    "one spike": spiked_table,
}


@pytest.mark.parametrize("name", TABLES)
def test_sensitivity_equals_enumeration(name: str) -> None:
    power = 0
    for k in (1, 2, 3, 4):
        for n in range(1, 13):
            values = TABLES[name](n, k)
            assert values.shape == (n + 1,)
            enumerated = reference.enumerated_sensitivity(values.tolist(), n, k)
            measured = properties.sensitivity(values, k)
            scale = max(1.0, float(np.max(np.abs(values))))
            assert measured == pytest.approx(enumerated, rel=1e-12, abs=1e-13 * scale)
            if enumerated > 1e-6:
                power += 1
                assert 0.9 * enumerated != pytest.approx(measured, rel=1e-9)
    assert power >= 30


@pytest.mark.parametrize("name", TABLES)
def test_table_object_gives_the_same_number_and_a_pair_that_attains_it(name: str) -> None:
    for k in (2, 3, 4):
        for n in range(1, 13):
            values = TABLES[name](n, k)
            table = properties.AdditiveTable(values=values, constant=0.25, n=n, k=k)
            measured = table.sensitivity()
            assert measured == properties.sensitivity(values, k)
            np.testing.assert_array_equal(table.increments(), np.diff(values))
            i, j = table.sensitivity_pair()
            assert 0 <= i < n
            assert 0 <= j < n
            assert i + j == n - 1 if k == 2 else i + j <= n - 1
            increments = np.diff(values)
            assert abs(increments[j] - increments[i]) == pytest.approx(measured, rel=1e-12, abs=1e-15)


def test_unknown_k_means_three_or_more() -> None:
    values = random_table(9, 5)
    three = properties.sensitivity(values, 3)
    assert properties.sensitivity(values, None) == three == properties.sensitivity(values, 4)


@pytest.mark.parametrize(
    ("estimator", "rest"),
    [
        (properties.PlugIn(), ()),
        (properties.MillerMadow(), ()),
        (private_poly, ()),
        (open_poly, ()),
        (properties.Polynomial(preset="custom", degree=3, interval=4.0, cutoff=5), ()),
    ],
    ids=["plug-in", "miller-madow", "poly-private", "poly-non-private", "poly-custom"],
)
def test_estimators_state_the_enumerated_sensitivity(estimator: Any, rest: tuple[Any, ...]) -> None:
    for k in (1, 2, 3, 4):
        for n in range(1, 13):
            values = np.asarray(estimator.table(n, k, private=True).values)
            enumerated = reference.enumerated_sensitivity(values.tolist(), n, k)
            assert estimator.sensitivity(n, k) == pytest.approx(enumerated, rel=1e-10, abs=1e-13)


def test_tables_are_the_ones_of_the_spec() -> None:
    for n, k in ((5, 4), (12, 3), (60, 20), (400, 100)):
        np.testing.assert_allclose(
            properties.PlugIn().table(n, k, private=True).values, reference.plug_in_values(n), rtol=1e-12, atol=1e-15
        )
        values, constant = reference.miller_madow_values(n)
        table = properties.MillerMadow().table(n, k, private=True)
        np.testing.assert_allclose(table.values, values, rtol=1e-12, atol=1e-15)
        assert table.constant == pytest.approx(constant, rel=1e-12)
        for estimator, preset in ((private_poly, "private"), (open_poly, "non-private")):
            degree, interval, cutoff = reference.polynomial_parameters(k, preset)
            np.testing.assert_allclose(
                estimator.table(n, k, private=preset == "private").values,
                reference.polynomial_values(n, degree, interval, cutoff),
                rtol=1e-8,
                atol=1e-10 / n,
            )


def test_high_degrees_survive_cancellation() -> None:
    # beyond degree 16 the coefficients reach 10^12 with alternating signs; the table must keep its digits
    n, k = 1000, 2000
    for degree, tolerance in ((16, 1e-8), (20, 1e-7), (24, 1e-5)):
        interval = 2 * math.log(k)
        dial = properties.Polynomial(preset="custom", degree=degree, interval=interval, cutoff=12)
        measured = np.asarray(dial.table(n, k, private=True).values)[:13]
        exact = reference.polynomial_values(n, degree, interval, 12, top=12)
        np.testing.assert_allclose(measured, exact, rtol=tolerance)


def test_good_toulmin_closed_form() -> None:
    for t in (0.1, 0.5, 0.99, 1.0):
        for n in (2, 3, 7, 12):
            values = reference.sgt_values(n, t, None)
            enumerated = reference.enumerated_sensitivity(values.tolist(), n, 3)
            assert properties.GoodToulmin().sensitivity(n, t) == pytest.approx(enumerated, rel=1e-12)
            assert enumerated == pytest.approx((1 + t) ** 2, rel=1e-12)
    # the part that counts new symbols alone
    for t in (0.1, 0.5, 1.0):
        values = reference.sgt_values(12, t, None)
        values[1:] -= 1
        assert properties.sensitivity(values, 5) == pytest.approx(max(2 * t + t * t, t * (1 + t) ** 2), rel=1e-12)


def test_smoothed_good_toulmin_below_one_is_good_toulmin() -> None:
    for t in (-0.5, 0.0, 0.4, 1.0):
        assert properties.SmoothedGoodToulmin().sensitivity(50, t) == properties.GoodToulmin().sensitivity(50, t)


def test_binomial_smoothing() -> None:
    n, t = 300, 2.5
    spread = n * t * t / (t - 1)
    for name, base, q in (("binomial-1", 2, 1 / (1 + t)), ("binomial-2", 3, 2 / (2 + t))):
        trials = math.ceil(0.5 * math.log(spread, base))
        estimator = properties.SmoothedGoodToulmin(smoothing=name)
        expected = reference.binomial_sgt_values(60, t, trials, q)
        np.testing.assert_allclose(estimator.coefficients(n, t, 60), expected[1:], rtol=1e-9, atol=1e-12)
        assert np.all(expected[trials + 1 :] == 1.0)
        assert estimator.sensitivity(n, t) == pytest.approx(
            reference.quadratic_sensitivity(reference.binomial_sgt_values(n, t, trials, q), 9), rel=1e-9
        )


def test_smoothed_sensitivity_over_the_stated_range() -> None:
    # the source's bound holds for the experimental rate; ratio 0.33 to 1.00
    estimator = properties.SmoothedGoodToulmin()
    for n in (10, 37, 500, 50_000):
        for t in (1.0005, 1.3, 3.0, 10.0):
            rate = reference.smoothing_rate(n, t)
            exact = reference.quadratic_sensitivity(reference.sgt_values(min(n, 300), t, rate), 9)
            assert estimator.sensitivity(n, t) == pytest.approx(exact, rel=1e-9)
            assert exact <= 2 * (1 + math.exp(rate * (t - 1))) * (1 + 1e-12)


def test_dense_support_sensitivity_is_tight() -> None:
    for k in (2, 3, 4):
        for n in range(1, 13):
            enumerated = reference.enumerated_sensitivity(reference.dense_values(n, k).tolist(), n, k)
            assert enumerated <= properties.DenseSupport().sensitivity(n, k) * (1 + 1e-12)
            if n >= 2:
                assert properties.DenseSupport().sensitivity(n, k) == pytest.approx(enumerated, rel=1e-12)
    for n, k in ((20, 6), (100, 6), (30, 3)):
        exact = reference.quadratic_sensitivity(reference.dense_values(n, k), k)
        assert properties.DenseSupport().sensitivity(n, k) == pytest.approx(exact, rel=1e-12)


def test_batch_sensitivity_equals_enumeration_of_sequences() -> None:
    batch = properties.BatchCoverage()
    for n, m, k in ((4, 2, 3), (5, 2, 3), (6, 3, 3), (6, 2, 3), (5, 5, 3), (5, 4, 2)):
        grid = np.stack(np.meshgrid(*[np.arange(k)] * n, indexing="ij"), axis=-1)
        values = np.asarray(batch.estimate(grid.reshape(-1, n), m)).reshape((k,) * n)
        largest = 0.0
        for axis in range(n):
            largest = max(largest, float(np.max(values.max(axis=axis) - values.min(axis=axis))))
        assert batch.sensitivity(n, (m - n) / n) == pytest.approx(largest, rel=1e-12)


def test_clipping_never_raises_the_sensitivity() -> None:
    values = reference.plug_in_values(8)
    for low, high in ((0.0, 0.9), (0.4, 0.8)):
        clipped = max(
            abs(np.clip(reference.statistic(values, x), low, high) - np.clip(reference.statistic(values, y), low, high))
            for x, y in reference.neighbours(8, 3)
        )
        assert clipped <= properties.PlugIn().sensitivity(8, 3) * (1 + 1e-12)


def test_best_polynomial_carries_its_certificate() -> None:
    # Chebyshev: an error that alternates with equal size on degree + 2 points is the smallest possible
    for degree in (1, 2, 3, 5, 8, 12):
        found = properties.remez(degree)
        points = np.asarray(found.points)
        assert len(points) == degree + 2
        assert points[0] == 0.0
        assert points[-1] == 1.0
        assert np.all(np.diff(points) > 0)

        def gap(x: np.ndarray, coefficients: Any = found.coefficients) -> np.ndarray:
            phi = np.where(x > 0, -x * np.log(np.where(x > 0, x, 1.0)), 0.0)
            return np.asarray(phi - np.polynomial.polynomial.polyval(x, coefficients))

        rounding = 1e-15 * float(np.sum(np.abs(found.coefficients)))
        errors = gap(points)
        np.testing.assert_allclose(np.abs(errors), found.error, rtol=1e-9, atol=10 * rounding)
        assert np.all(errors[1:] * errors[:-1] < 0)
        grid = (1 - np.cos(np.linspace(0, np.pi, 20_001))) / 2
        assert np.max(np.abs(gap(grid))) <= found.error * (1 + 1e-8) + 10 * rounding
    assert properties.remez(1).error == pytest.approx(1 / (2 * math.e), rel=1e-12)
    np.testing.assert_allclose(properties.remez(1).coefficients, [1 / (2 * math.e), 0.0], atol=1e-12)


def test_best_polynomials_of_all_degrees_by_a_second_route() -> None:
    for degree in (2, 4, 7, 9, 10, 11, 13, 16, 20, 24):
        coefficients, error = reference.best_polynomial(degree)
        found = properties.remez(degree)
        assert found.error == pytest.approx(float(error), rel=1e-10)
        np.testing.assert_allclose(found.coefficients, [float(c) for c in coefficients], rtol=1e-10)
        assert found.coefficients[0] == pytest.approx(found.error, rel=1e-10)


def test_batch_table_is_the_average_over_all_orders() -> None:
    batch = properties.BatchCoverage()
    for counts, m in (((3, 1, 1), 2), ((2, 2, 1), 3), ((4, 1, 1), 3)):
        n = sum(counts)
        records = np.repeat(np.arange(3), counts)
        orders = np.array(list(itertools.permutations(records)))
        table = batch.table(n, (m - n) / n, 3)
        assert table.estimate(np.array(counts)) == pytest.approx(float(np.mean(batch.estimate(orders, m))), rel=1e-12)
        assert table.sensitivity() <= batch.sensitivity(n, (m - n) / n) * (1 + 1e-12)


def test_change_of_unit_scales_everything() -> None:
    table = properties.MillerMadow().table(30, 5, private=True)
    bits = table.scaled(1 / math.log(2))
    counts = np.array([12, 9, 5, 4, 0])
    assert bits.estimate(counts) == pytest.approx(float(table.estimate(counts)) / math.log(2), rel=1e-12)
    assert bits.sensitivity() == pytest.approx(table.sensitivity() / math.log(2), rel=1e-12)
    assert bits.mean(np.full(5, 0.2)) == pytest.approx(table.mean(np.full(5, 0.2)) / math.log(2), rel=1e-12)


def test_new_symbols_are_the_total_less_the_distinct_ones() -> None:
    phi = {1: 40, 2: 12, 3: 6, 4: 2, 10: 1}
    assert properties.new_symbols_estimate(phi, 100, 3.0) == pytest.approx(120.7895431 - 61, rel=1e-8)
    assert properties.new_symbols_estimate(phi, 100, 0.5) == pytest.approx(78.62402344 - 61, rel=1e-8)


def test_sparse_support_estimator() -> None:
    # section 6: coverage at m = k r with r = ln(3/accuracy) while n < k r / 2, else the distinct count
    k, accuracy = 300, 0.1
    sparse = properties.SparseSupport(accuracy=accuracy)
    rate = math.log(3 / accuracy)
    turn = 0.5 * k * rate
    below, above = math.ceil(turn) - 1, math.ceil(turn)
    assert sparse.extrapolates(below, k)
    assert not sparse.extrapolates(above, k)
    assert sparse.sensitivity(above, k) == 1.0
    np.testing.assert_array_equal(sparse.table(above, k).values, np.arange(above + 1) > 0)
    t = k * rate / below - 1
    np.testing.assert_allclose(
        np.asarray(sparse.table(below, k).values)[:40], reference.sgt_values(39, t, rate), rtol=1e-9, atol=1e-12
    )
    p = np.full(k, 1 / k)
    for n in (300, 400, below):
        ahead = k * rate / n - 1
        bound = 2 + 2 * math.exp(rate * (ahead - 1)) + 2 / 3 * accuracy * k
        assert sparse.bias_bound(n, k) == pytest.approx(bound, rel=1e-12)
        assert abs(sparse.table(n, k).mean(p) - k) <= bound
        assert sparse.sensitivity(n, k) == pytest.approx(
            reference.quadratic_sensitivity(reference.sgt_values(n, ahead, rate), k), rel=1e-9
        )
