from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from privexplorer.distributions import Dirichlet, Uniform, Zipf
from privexplorer.errors import ParameterError
from privexplorer.properties import AdditiveTable, PlugIn, Polynomial, sensitivity, sensitivity_pair, tables
from privexplorer.properties.tables import LONGEST, binomial_means, check_table_size


def histograms(n: int, k: int) -> list[tuple[int, ...]]:
    if k == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in histograms(n - first, k - 1)]


def by_enumeration(values: np.ndarray, k: int) -> float:
    n = values.size - 1
    worst = 0.0
    for counts in histograms(n, k):
        for source, target in itertools.permutations(range(k), 2):
            if counts[source]:
                moved = list(counts)
                moved[source] -= 1
                moved[target] += 1
                worst = max(worst, abs(values[list(counts)].sum() - values[moved].sum()))
    return worst


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 7])
def test_sensitivity_equals_enumeration(n: int, k: int) -> None:
    rng = np.random.default_rng(100 * n + k)
    for _ in range(6):
        values = rng.normal(size=n + 1)
        expected = by_enumeration(values, k)
        assert sensitivity(values, k) == pytest.approx(expected, rel=1e-12, abs=1e-13)
        pair = sensitivity_pair(values, k)
        if pair is None:
            assert expected == 0.0
            continue
        i, j = pair
        assert (i + j <= n - 1) if k > 2 else (i + j == n - 1)
        steps = np.diff(values)
        assert abs(steps[j] - steps[i]) == pytest.approx(expected, rel=1e-12)


def test_unbounded_k_is_the_case_of_three_symbols() -> None:
    values = np.random.default_rng(1).normal(size=30)
    assert sensitivity(values) == sensitivity(values, 3) == sensitivity(values, 1000)


def test_mean_equals_enumeration_of_samples() -> None:
    law, n = np.array([0.5, 0.3, 0.2]), 4
    values = np.array([0.7, -1.0, 2.0, 0.5, 3.0])
    table = AdditiveTable(values, 0.25, n, 3)
    expected = sum(
        np.prod(law[list(sample)]) * (values[np.bincount(sample, minlength=3)].sum() + 0.25)
        for sample in itertools.product(range(3), repeat=n)
    )
    assert table.mean(law) == pytest.approx(expected, rel=1e-13)
    wider = AdditiveTable(values, 0.25, n, 5)
    assert wider.mean(law) == pytest.approx(expected + 2 * 0.7, rel=1e-13)


@pytest.mark.parametrize("n", [1, 2, 50, 3000, 200_000])
def test_binomial_means_agree_with_the_full_sum(n: int) -> None:
    chances = np.array([0.0, 1e-9, 1e-3, 0.3, 0.999, 1.0])
    values = PlugIn().table(n).values + 1.0
    expected = [(stats.binom.pmf(np.arange(n + 1), n, p) * values).sum() for p in chances]
    np.testing.assert_allclose(binomial_means(values, chances), expected, rtol=2e-11)


def test_means_do_not_depend_on_the_pieces() -> None:
    law, table = Zipf(k=3000).law(), Polynomial().table(900, 3000, True)
    single = np.array([binomial_means(table.values, law.groups[0][i : i + 1])[0] for i in (0, 1500, 2999)])
    np.testing.assert_allclose(binomial_means(table.values, law.groups[0])[[0, 1500, 2999]], single, rtol=1e-13)


def test_unseen_symbols_count_whether_listed_or_not() -> None:
    table = Polynomial().table(12, 40, True)
    full = np.zeros((2, 40), dtype=int)
    full[:, :5] = [5, 3, 2, 1, 1]
    short = table.estimate([5, 3, 2, 1, 1])
    assert short == pytest.approx(table.estimate(full)[1], rel=1e-12)
    assert short == pytest.approx(table.estimate_fingerprint({5: 1, 3: 1, 2: 1, 1: 2}), rel=1e-12)
    assert short == pytest.approx(table.estimate_fingerprint([0, 2, 1, 1, 0, 1], distinct=5), rel=1e-12)
    assert short > table.values[[5, 3, 2, 1, 1]].sum() + 30 * table.values[0]


def test_scaling_scales_everything() -> None:
    table = AdditiveTable(np.array([0.5, 1.0, 3.0]), -2.0, 2, 3, floor=0.1)
    twice = table.scaled(2.0)
    assert twice.estimate([1, 1]) == pytest.approx(2 * float(table.estimate([1, 1])))
    assert twice.sensitivity() == pytest.approx(2 * table.sensitivity())
    assert twice.floor == 0.2


def test_the_floor_holds() -> None:
    assert float(AdditiveTable(np.array([0.0, -1.0]), 0.0, 1, floor=0.0).estimate([1])) == 0.0
    assert AdditiveTable(np.array([0.0, -1.0]), 0.0, 1).estimate_fingerprint({1: 1}) == -1.0


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.estimate([-1, 4]),
        lambda table: table.estimate([1.5, 1.5]),
        lambda table: table.estimate([1, 1]),
        lambda table: table.estimate([]),
        lambda table: table.estimate(["a"]),
        lambda table: table.estimate([1, 1, 1]),
        lambda table: table.estimate_fingerprint({1: 3}),
        lambda table: table.estimate_fingerprint({2: 1}),
        lambda table: table.estimate_fingerprint({}),
        lambda table: table.estimate_fingerprint({3: 1}, distinct=2),
        lambda table: AdditiveTable(np.array([1.0, 0.0]), 0.0, 1),
        lambda table: AdditiveTable(np.zeros(3), 0.0, 5),
        lambda table: table.mean(Uniform(k=5).law()),
        lambda table: sensitivity([], 3),
        lambda table: sensitivity([0.0, np.inf], 3),
        lambda table: sensitivity([0.0, 1.0], 0),
    ],
)
def test_bad_input_is_one_sentence(call) -> None:
    with pytest.raises(ParameterError) as caught:
        call(AdditiveTable(np.array([0.5, 1.0, 3.0, 4.0]), 0.0, 3, 2))
    assert str(caught.value).count(".") >= 1
    assert "_" not in str(caught.value)


def test_a_table_has_a_longest_length() -> None:
    assert check_table_size(LONGEST) == LONGEST
    with pytest.raises(ParameterError) as caught:
        check_table_size(LONGEST + 1)
    assert str(caught.value) == "The number of records n must be at most 20,000,000 here; it is 20,000,001."
    assert caught.value.field == "n"


@pytest.mark.parametrize("family", [Zipf(k=40_000), Dirichlet(k=40_000, concentration=0.5)])
@pytest.mark.parametrize("estimator", [PlugIn(), Polynomial(preset="private")])
def test_the_mean_over_very_many_masses_takes_them_together(
    family: Any, estimator: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    law, n = family.law(), 900
    table = estimator.table(n, law.k, private=True)
    chances, sizes = law.groups
    one_by_one = math.fsum((tables.binomial_means(table.values, chances) * sizes).tolist()) + table.constant

    def refused(values: Any, probabilities: Any) -> Any:
        raise AssertionError("a sum over every single probability")

    monkeypatch.setattr(tables, "binomial_means", refused)
    assert table.mean(law) == pytest.approx(one_by_one, rel=1e-12)
    more = dataclasses.replace(table, k=law.k + 5)
    assert more.mean(law) == pytest.approx(one_by_one + 5 * table.values[0], rel=1e-12)
