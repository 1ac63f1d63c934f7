from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.distributions import DiscreteLaw, Uniform, Zipf
from privexplorer.errors import ParameterError


def test_entropy_in_nats_and_bits() -> None:
    law = DiscreteLaw(np.array([0.5, 0.25, 0.25, 0.0]))
    assert law.entropy("bits") == pytest.approx(1.5, abs=1e-15)
    assert law.entropy() == pytest.approx(1.5 * math.log(2), abs=1e-15)
    assert Uniform(k=10).law().entropy() == pytest.approx(2.302585093, abs=1e-9)
    assert DiscreteLaw(np.array([1.0])).entropy() == 0.0


def test_support_counts_positive_masses() -> None:
    assert DiscreteLaw(np.array([0.5, 0.5, 0.0])).support_size() == 2


def test_coverage_by_hand_and_at_the_edges() -> None:
    law = DiscreteLaw(np.array([0.5, 0.3, 0.2, 0.0]))
    by_hand = [sum(1 - (1 - p) ** m for p in (0.5, 0.3, 0.2)) for m in (1, 2, 7)]
    np.testing.assert_allclose(law.coverage([1, 2, 7]), by_hand, rtol=1e-14)
    assert law.coverage(0) == 0.0
    sure = DiscreteLaw(np.array([1.0, 0.0]))
    assert sure.coverage(0) == 0.0
    assert sure.coverage(3) == 1.0
    assert Zipf(k=100).law().coverage(50) == pytest.approx(26.71477559, rel=1e-9)
    tiny = DiscreteLaw(np.array([1e-18, 1 - 1e-18]))
    assert tiny.coverage(10) == pytest.approx(1.0 + 1e-17, abs=1e-17)


@pytest.mark.parametrize(
    "bad",
    [[], [0.5, 0.4], [0.5, 0.5 + 2e-9], [1.5, -0.5], [np.nan, 1.0], [np.inf, 0.0], [[0.5, 0.5]]],
)
def test_bad_probabilities_are_refused(bad: list[float]) -> None:
    with pytest.raises(ParameterError):
        DiscreteLaw(np.array(bad))


def test_almost_one_is_normalised() -> None:
    law = DiscreteLaw(np.array([0.5, 0.5 + 5e-10]))
    assert law.probabilities.sum() == pytest.approx(1.0, abs=1e-16)


@pytest.mark.parametrize("call", [lambda law: law.coverage(-1), lambda law: law.entropy("dits")])
def test_bad_arguments_are_refused(call) -> None:
    with pytest.raises(ParameterError):
        call(Uniform(k=3).law())


@pytest.mark.parametrize(("n", "k"), [(50, 1000), (50_000, 20), (7, 7)])
def test_counts_have_the_right_total_and_mean(n: int, k: int) -> None:
    law = Zipf(k=k, exponent=0.7).law()
    counts = law.sample_counts(n, 400, np.random.default_rng(4))
    assert counts.shape == (400, k)
    assert counts.dtype == np.int64
    assert np.all(counts.sum(axis=1) == n)
    p = law.probabilities[0]
    spread = math.sqrt(n * p * (1 - p) / 400)
    assert abs(counts[:, 0].mean() - n * p) < 3.5 * spread
    assert counts[:, 0].var(ddof=1) == pytest.approx(n * p * (1 - p), rel=0.25)


def test_same_generator_same_counts() -> None:
    law = Zipf(k=30).law()
    first, second = (law.sample_counts(40, 5, np.random.default_rng(9)) for _ in range(2))
    assert np.array_equal(first, second)


def test_symbols_have_shape_and_range() -> None:
    drawn = Uniform(k=6).law().sample_symbols(11, 3, np.random.default_rng(5))
    assert drawn.shape == (3, 11)
    assert drawn.min() >= 0
    assert drawn.max() < 6


def test_a_population_is_drawn_without_replacement() -> None:
    people = np.array([5, 0, 3, 2])
    law = DiscreteLaw.from_population(people)
    assert law.population_size == 10
    np.testing.assert_allclose(law.probabilities, people / 10)
    everybody = law.sample_counts_without_replacement(10, 4, np.random.default_rng(6))
    assert np.array_equal(everybody, np.tile(people, (4, 1)))
    some = law.sample_counts_without_replacement(4, 4000, np.random.default_rng(7))
    assert np.all(some <= people)
    assert np.all(some.sum(axis=1) == 4)
    # hypergeometric: mean 2, variance 4 * .5 * .5 * 6/9
    assert some[:, 0].mean() == pytest.approx(2.0, abs=3.5 * math.sqrt(2 / 3 / 4000))
    assert some[:, 0].var(ddof=1) == pytest.approx(2 / 3, rel=0.08)


def test_without_a_population_nothing_is_drawn_without_replacement() -> None:
    with pytest.raises(ParameterError, match="population"):
        Uniform(k=3).law().sample_counts_without_replacement(2, 1, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="at most 10"):
        DiscreteLaw.from_population([5, 5]).sample_counts_without_replacement(11, 1, np.random.default_rng(0))


def test_too_large_an_array_is_refused() -> None:
    with pytest.raises(ParameterError, match="at once"):
        Uniform(k=1000).law().sample_counts(10, 1_000_000, np.random.default_rng(0))
