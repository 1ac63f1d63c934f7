"""Counting records: the sums are those of a plain loop, and every unfit column has its sentence."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.causal.counts import DiscreteCounts, tabulate
from privexplorer.errors import DataError, ParameterError


def columns(n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    return rng.normal(3.0, 2.0, n), rng.integers(2, size=n), rng.integers(3, size=n)


def loops(y, d, z, levels):
    """Number, sum and sum of squares in every cell, one record at a time."""
    sums = np.zeros((3, 2, levels))
    for outcome, arm, shown in zip(y, d, z, strict=True):
        sums[:, arm, shown] += [1.0, outcome, outcome**2]
    return sums


def test_numbers_sums_and_squares_are_those_of_a_loop():
    y, d, z = columns()
    found = tabulate(y, d, z, 3)
    expected = loops(y, d, z, 3)
    assert found.counts is None
    assert found.values is None
    np.testing.assert_array_equal(found.sums.size, expected[0])
    np.testing.assert_allclose(found.sums.total, expected[1], rtol=1e-12)
    np.testing.assert_allclose(found.sums.square, expected[2], rtol=1e-12)
    assert (found.low, found.high) == (y.min(), y.max())
    assert found.records == 400


def test_few_values_keep_their_table():
    _, d, z = columns()
    y = np.random.default_rng(1).choice([-1.0, 0.5, 4.0], 400)
    found = tabulate(y, d, z, 3)
    np.testing.assert_array_equal(found.values, [-1.0, 0.5, 4.0])
    for code, value in enumerate(found.values):
        for arm in (0, 1):
            for shown in range(3):
                assert found.counts[code, arm, shown] == ((y == value) & (d == arm) & (z == shown)).sum()
    plain = tabulate(y, d, z, 3, few_values=2)
    assert plain.counts is None
    for part in ("size", "mean", "spread"):
        np.testing.assert_allclose(getattr(found.sums, part), getattr(plain.sums, part), rtol=1e-12)


@pytest.mark.parametrize("kind", ["numbers", "yes or no"])
def test_folds_add_up_and_are_the_ones_given(kind):
    y, d, z = columns()
    y = y if kind == "numbers" else (y > 3.0).astype(int)
    ids = np.arange(400) % 4
    found = tabulate(y, d, z, 3, folds=4, fold_ids=ids)
    assert found.folds == 4
    for fold, part in enumerate(found.fold_sums):
        expected = loops(y[ids == fold], d[ids == fold], z[ids == fold], 3)
        np.testing.assert_array_equal(part.size, expected[0])
        np.testing.assert_allclose(part.total, expected[1], rtol=1e-12)
        np.testing.assert_allclose(part.square, expected[2], rtol=1e-12)
    np.testing.assert_array_equal(sum(part.size for part in found.fold_sums), found.sums.size)


def test_folds_are_even_and_repeatable():
    y, d, z = columns(20_000)
    first, second = tabulate(y, d, z, 3), tabulate(y, d, z, 3)
    sizes = [part.size.sum() for part in first.fold_sums]
    assert max(abs(size - 4_000) for size in sizes) < 4 * np.sqrt(20_000 * 0.16)
    np.testing.assert_array_equal(first.fold_sums[0].size, second.fold_sums[0].size)
    other = tabulate(y, d, z, 3, rng=np.random.default_rng(9))
    assert (other.fold_sums[0].size != first.fold_sums[0].size).any()


def test_a_large_mean_does_not_drown_the_spread():
    y, d, z = columns()
    near, far = tabulate(y, d, z, 3), tabulate(y + 1e8, d, z, 3)
    np.testing.assert_allclose(far.sums.spread, near.sums.spread, rtol=1e-6)


def test_labels_of_categories_and_arms():
    y = [1.0, 2.5, 3.0, 4.0]
    found = tabulate(
        y, np.array(["new", "old", "new", "old"], dtype=object), ["b", "a", "c", "c"], ["a", "b", "c"], treated="new"
    )
    assert found.arms == ("old", "new")
    assert found.levels == ("a", "b", "c")
    np.testing.assert_array_equal(found.sums.size, [[1, 0, 1], [0, 1, 1]])
    turned = tabulate(y, ["new", "old", "new", "old"], ["b", "a", "c", "c"], ["a", "b", "c"], treated="old")
    np.testing.assert_array_equal(turned.sums.size, found.sums.size[::-1])
    truth = tabulate(y, [True, False, True, False], [7, 5, 9, 9], [5, 7, 9])
    np.testing.assert_array_equal(truth.sums.size, found.sums.size)
    floats = tabulate(y, [1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 2.0, 2.0], 3)
    np.testing.assert_array_equal(floats.sums.size, found.sums.size)


def test_rows_with_gaps_are_refused_or_left_out_and_counted():
    y = np.array([1.0, np.nan, 3.0, 4.0, 5.0, 6.0])
    d = np.array([0.0, 1.0, np.nan, 1.0, 0.0, 1.0])
    z = np.array(["a", "b", "a", None, "b", "a"], dtype=object)
    with pytest.raises(DataError, match=r"3 of 6 rows have a missing value, the first in row 2 of the outcome column"):
        tabulate(y, d, z, ["a", "b"])
    found = tabulate(y, d, z, ["a", "b"], missing="drop")
    assert found.dropped == 3
    assert found.records == 3
    assert found.notes == ("3 rows with missing values were left out.",)
    np.testing.assert_array_equal(found.sums.size, [[1, 1], [1, 0]])
    kept = tabulate(y, d, z, ["a", "b"], missing="drop", folds=2, fold_ids=[0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(kept.fold_sums[1].size, [[0, 1], [1, 0]])
    with pytest.raises(DataError, match="No rows are left"):
        tabulate([np.nan], [1], [0], 2, missing="drop")
    with pytest.raises(ParameterError, match="left out"):
        tabulate(y, d, z, ["a", "b"], missing="keep")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"outcome": ["high", "low", "low", "high"]}, "outcome column must be numeric; it holds “high”"),
        ({"outcome": np.array([1, "x", None, 2], dtype=object)}, "outcome column must be numeric; it holds “x”"),
        ({"outcome": ["0.346", "1", "n/a", "2"]}, "outcome column must be numeric; it holds “n/a”"),
        ({"outcome": ["0.346", "", "high", "2"]}, "outcome column must be numeric; it holds “high”"),
        ({"outcome": ["0.346", "1", "2", "3"]}, "must be numeric; it holds numbers as text, such as “0.346”"),
        ({"outcome": [1.0, 3e200, 2.0, 3.0]}, "numbers as large as 3e\\+200; rescale it: at most 1e\\+150"),
        ({"treatment": [0.0, 1.0, 2.0, 1.0]}, "exactly two values; this column has 0, 1 and 2"),
        ({"outcome": [1.0, np.inf, 2.0, 3.0]}, "must be numeric and finite; row 2 is not"),
        ({"treatment": [0, 1, 2, 1]}, "exactly two values; this column has 0, 1 and 2"),
        ({"treatment": list("abcd")}, "exactly two values; this column has “a”, “b”, “c” and “d”"),
        ({"treatment": [1, 1, 1, 1]}, "exactly two values; everybody has 1, so there are no treated or no control"),
        ({"treatment": ["yes"] * 4}, "everybody has “yes”"),
        ({"treatment": ["no", "yes", "no", "yes"]}, "values “no” and “yes”; say which of them means treated"),
        ({"treatment": [3, 4, 3, 4]}, "values 3 and 4; say which of them means treated"),
        ({"treated": 7}, "values 0 and 1; 7, meant as treated, is not one of them"),
        ({"released": [0, 1, 2, 9]}, "outside the 3 declared categories: 9"),
        ({"released": [0, -1, 2, 1]}, "outside the 3 declared categories: -1"),
        ({"released": ["a", "x", "y", "b"], "levels": ["a", "b"]}, "outside the 2 declared categories: “x” and “y”"),
        ({"levels": ["a", "a", "b"]}, "Two categories have the same label"),
        ({"levels": ["a"]}, "At least two categories are needed; the list has 1"),
        ({"levels": 1}, "number of categories"),
        ({"folds": 1}, "number of folds"),
        ({"fold_ids": [0, 1]}, "2 fold numbers for 4 rows"),
        ({"fold_ids": [0, 1, 2, 9]}, "Fold numbers run from 0 to 4"),
        ({"released": [0, 1, 2]}, "one value per person each; they have 4, 4, 3 values"),
        ({"released": [[0, 1, 2, 1]]}, "one value per person each"),
    ],
)
def test_unfit_columns_have_their_sentence(changes, sentence):
    given = {"outcome": [1.0, 0.0, 1.0, 0.0], "treatment": [0, 1, 0, 1], "released": [0, 1, 2, 1], "levels": 3}
    tabulate(**given)
    with pytest.raises((DataError, ParameterError), match=sentence):
        tabulate(**{**given, **changes})


def test_at_most_five_strange_values_are_listed():
    released = [f"odd {number}" for number in range(9)] + ["a"]
    with pytest.raises(DataError) as caught:
        tabulate(np.arange(10.0), np.arange(10) % 2, released, ["a", "b"])
    assert str(caught.value).count("odd") == 5
    assert str(caught.value).endswith("and others.")


def test_a_treatment_of_many_values_lists_five():
    with pytest.raises(DataError, match="has 0, 1, 2, 3, 4 and others"):
        tabulate(np.arange(10.0), np.arange(10), np.zeros(10, int), 2)


def test_tables_of_counts():
    table = np.array([[[180, 130, 60], [40, 60, 50]], [[50, 70, 60], [70, 110, 120]]])
    found = DiscreteCounts.from_counts(table)
    assert found.records == 1000
    np.testing.assert_array_equal(found.sums.size, table.sum(axis=0))
    np.testing.assert_allclose(found.sums.total, table[1], rtol=1e-14)
    np.testing.assert_array_equal(found.fold_counts.sum(axis=0), table)
    share = found.fold_counts.sum(axis=(1, 2, 3)) / 1000
    assert np.abs(share - 0.2).max() < 4 * np.sqrt(0.16 / 1000)
    valued = DiscreteCounts.from_counts(table, [2.0, 5.0], levels="abc")
    np.testing.assert_allclose(valued.sums.square, 4 * table[0] + 25 * table[1])
    assert (valued.low, valued.high, valued.levels) == (2.0, 5.0, ("a", "b", "c"))


@pytest.mark.parametrize(
    ("table", "more", "sentence"),
    [
        ([[1, 2], [3, 4]], {}, "three directions"),
        (np.ones((2, 3, 2), int), {}, "three directions"),
        ([[[1, -2], [3, 4]]], {}, "must not be negative; the smallest is -2"),
        ([[[1, 0.5], [3, 4]]], {}, "whole numbers"),
        ([[[1, 1], [0, 0]]], {}, "There are no treated units"),
        ([[[0, 0], [1, 1]]], {}, "There are no control units"),
        ([[[1, 1], [1, 1]]] * 2, {"values": [1.0, 0.0]}, "finite and rising"),
        ([[[1, 1], [1, 1]]] * 2, {"levels": ["a"]}, "1 labels for 2 categories"),
    ],
)
def test_unfit_tables_have_their_sentence(table, more, sentence):
    with pytest.raises(DataError, match=sentence):
        DiscreteCounts.from_counts(table, **more)
