"""Sums over very many different probabilities, taken together without losing digits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privexplorer.distributions import Dirichlet, DiscreteLaw, Distribution, Geometric, TwoStep, Zipf
from privexplorer.distributions._condensed import NODES, condense, fineness

MANY = [
    Zipf(k=30_000),
    Zipf(k=30_000, exponent=0.01),
    Zipf(k=30_000, exponent=3.0),
    Dirichlet(k=30_000),
    Dirichlet(k=30_000, concentration=0.05),
    Geometric(k=50_000, ratio=0.999),
]


@pytest.mark.parametrize("family", MANY, ids=lambda family: f"{family.kind} {family.label}")
def test_expected_fingerprints_are_sums_over_all_symbols(family: Distribution) -> None:
    law = family.law()
    chances, sizes = law.groups
    assert law.many_masses
    for n in (1, 7, 100, 5_000, 100_000):
        found = law.expected_fingerprint(n)
        for count in (0, 1, 2, 3, 5, 10, 20, 50):
            if count > n:
                continue
            exact = math.fsum((stats.binom.pmf(count, n, chances) * sizes).tolist())
            assert found[count] == pytest.approx(exact, rel=3e-13, abs=1e-16 * law.k)


def test_every_symbol_and_every_record_is_counted() -> None:
    for family in MANY:
        law = family.law()
        for n in (2, 300, 40_000):
            found = law.expected_fingerprint(n)
            assert found.shape == (n + 1,)
            assert found.sum() == pytest.approx(law.k, rel=1e-13)
            assert (found * np.arange(n + 1)).sum() == pytest.approx(n, rel=1e-13)


def test_few_symbols_give_their_own_binomials() -> None:
    law = DiscreteLaw(np.array([0.7, 0.2, 0.1, 0.0]))
    exact = sum(stats.binom.pmf(np.arange(41), 40, p) for p in law.probabilities)
    np.testing.assert_allclose(law.expected_fingerprint(40), exact, rtol=1e-12, atol=1e-15)
    assert law.expected_fingerprint(0).tolist() == [4.0]
    assert DiscreteLaw(np.array([1.0])).expected_fingerprint(5).tolist() == [0, 0, 0, 0, 0, 1]


def test_symbols_too_rare_to_be_seen_and_a_certain_one() -> None:
    law = DiscreteLaw.from_weights(np.concatenate((np.zeros(7), np.geomspace(1e-310, 1e-25, 20_000), [1.0])))
    assert law.groups[0][-1] == 1.0
    assert law.many_masses
    found = law.expected_fingerprint(50)
    assert found[50] == pytest.approx(1.0, rel=1e-12)
    assert found[0] == pytest.approx(law.k - 1, rel=1e-15)


def test_a_million_symbols_cost_a_few_hundred() -> None:
    for family in (Zipf(k=1_000_000), Dirichlet(k=1_000_000)):
        chances, sizes = family.law().groups
        assert chances.size > 900_000
        for n in (100, 10_000, 1_000_000):
            stretches = condense(chances, sizes, fineness(n))
            assert sum(stretch.points.size for stretch in stretches) < 3_000
            assert math.fsum(w for s in stretches for w in s.weights) == pytest.approx(1_000_000, rel=1e-13)


def test_stretches_keep_all_sums_of_low_degree() -> None:
    chances, sizes = Zipf(k=20_000, exponent=0.5).law().groups
    stretches = condense(chances, sizes, fineness(1000))
    begin = 0
    for stretch in stretches:
        many = round(stretch.weights.sum())
        mine = chances[begin : begin + many]
        begin += many
        for degree in (1, 3, NODES - 1):
            powers = (stretch.points / mine[-1]) ** degree
            assert (stretch.weights * powers).sum() == pytest.approx(((mine / mine[-1]) ** degree).sum(), rel=1e-12)
    assert begin == chances.size


def test_shared_probabilities_count_as_often_as_they_are_shared() -> None:
    law = TwoStep(k=1000).law()
    exact = (stats.binom.pmf(2, 500, law.probabilities)).sum()
    assert law.expected_fingerprint(500)[2] == pytest.approx(exact, rel=1e-12)
    doubled = DiscreteLaw(np.repeat(Zipf(k=15_000).law().probabilities, 2) / 2)
    assert doubled.many_masses
    exact = math.fsum(stats.binom.pmf(2, 500, doubled.probabilities).tolist())
    assert doubled.expected_fingerprint(500)[2] == pytest.approx(exact, rel=1e-12)
