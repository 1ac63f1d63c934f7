from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.errors import ParameterError
from privexplorer.properties import HardPair, coverage_pair, entropy_pair, support_pair

PAIRS = {
    "coverage": coverage_pair(100, 0.1),
    "rounded coverage": coverage_pair(33, 0.1),
    "support": support_pair(50, 0.2),
    "small support": support_pair(5, 0.1),
    "entropy": entropy_pair(100, 0.05),
}


@pytest.mark.parametrize("name", PAIRS)
def test_distance_and_values_are_those_of_the_laws(name: str) -> None:
    pair = PAIRS[name]
    first, second = pair.first.law(), pair.second.law()
    width = max(first.k, second.k)
    one, two = (np.pad(law.probabilities, (0, width - law.k)) for law in (first, second))
    assert pair.total_variation == pytest.approx(np.abs(one - two).sum() / 2, rel=1e-12)
    m = 33 if name == "rounded coverage" else 100
    for law, grouped, value in ((first, pair.first, pair.values[0]), (second, pair.second, pair.values[1])):
        expected = {
            "coverage": float(law.coverage(m)),
            "support": float(law.support_size()),
            "entropy": law.entropy(),
        }[pair.what]
        assert value == pytest.approx(expected, rel=1e-12)
        assert grouped.support_size() == law.support_size()
        assert grouped.k == law.k


@pytest.mark.parametrize("name", PAIRS)
def test_coupled_samples_differ_as_often_as_they_must(name: str) -> None:
    pair = PAIRS[name]
    trials, n = 2000, 50
    first, second = pair.coupled_samples(n, trials, np.random.default_rng(1))
    share = pair.total_variation
    spread = math.sqrt(n * share * (1 - share) / trials)
    assert abs((first != second).sum(axis=1).mean() - pair.expected_hamming(n)) < 3.5 * spread
    for drawn, grouped in ((first, pair.first), (second, pair.second)):
        p = grouped.law().probabilities[0]
        assert abs((drawn == 0).mean() - p) < 3.5 * math.sqrt(p * (1 - p) / (n * trials))


def test_published_values() -> None:
    pair = PAIRS["coverage"]
    assert pair.total_variation == pytest.approx(1 / 11)
    assert pair.expected_hamming(100) == pytest.approx(100 / 11)
    assert pair.values[0] > pair.values[1]
    assert PAIRS["entropy"].values[1] > PAIRS["entropy"].values[0]
    assert PAIRS["support"].total_variation == pytest.approx(0.2)
    assert PAIRS["small support"].total_variation == pytest.approx(0.2)
    assert PAIRS["support"].gap == 10
    assert pair.sample_size(0.5) == pytest.approx(22)


def test_entropy_gap_is_of_the_order_of_the_accuracy() -> None:
    for k in (100, 10**4, 10**6):
        for accuracy in (0.01, 0.1):
            assert 0.1 * accuracy < entropy_pair(k, accuracy / math.log(k)).gap < accuracy


@pytest.mark.parametrize(
    "call",
    [
        lambda: coverage_pair(1, 0.1),
        lambda: coverage_pair(10, 1.0),
        lambda: support_pair(1, 0.1),
        lambda: entropy_pair(10, 0.0),
        lambda: entropy_pair(1, 0.1),
        lambda: PAIRS["support"].sample_size(0.0),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()


def test_pairs_are_records() -> None:
    assert all(isinstance(pair, HardPair) for pair in PAIRS.values())
