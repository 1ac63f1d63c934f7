from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.distributions import (
    Dirichlet,
    DiscreteLaw,
    Uniform,
    Zipf,
    fingerprints,
    nested_counts,
    nested_fingerprints,
    nested_samples,
    unseen_targets,
)
from privexplorer.errors import ParameterError


def fingerprint_of(counts: np.ndarray, width: int) -> np.ndarray:
    return np.array([np.bincount(row, minlength=width) for row in counts])


@pytest.mark.parametrize(
    ("law", "ns"),
    [
        (Zipf(k=200).law(), [1, 50, 50, 300]),
        (Zipf(k=40, exponent=2.0).law(), [0, 100, 100_000, 250_000]),  # records first, then binomials
        (Uniform(k=5).law(), [3]),
    ],
)
def test_fingerprints_are_those_of_the_counts(law: DiscreteLaw, ns: list[int]) -> None:
    counts = nested_counts(law, ns, 6, np.random.default_rng(1))
    prints = nested_fingerprints(law, ns, 6, np.random.default_rng(1))
    assert np.all(np.diff(counts, axis=0) >= 0)
    assert np.array_equal(counts.sum(axis=-1), np.tile(np.array(ns)[:, None], (1, 6)))
    assert np.array_equal(prints.distinct(), (counts > 0).sum(axis=-1))
    for point in range(len(ns)):
        dense = prints.dense(point)
        assert np.array_equal(dense, fingerprint_of(counts[point], dense.shape[1]))


def test_totals_sum_a_table_over_all_symbols() -> None:
    law, ns = Zipf(k=30, exponent=1.5).law(), [5, 400]
    counts = nested_counts(law, ns, 7, np.random.default_rng(2))
    prints = nested_fingerprints(law, ns, 7, np.random.default_rng(2))
    tables = [np.sin(np.arange(n + 1)) + 2.0 for n in ns]
    expected = [table[count].sum(axis=1) for table, count in zip(tables, counts, strict=True)]
    np.testing.assert_allclose(prints.totals(tables), expected, rtol=1e-12)
    np.testing.assert_allclose(prints.totals([lambda c: np.sin(c) + 2.0] * 2), expected, rtol=1e-12)
    with pytest.raises(ParameterError):
        prints.totals(tables[:1])


def test_bits_do_not_depend_on_the_other_trials() -> None:
    law = Zipf(k=3000, exponent=1.2).law()
    prints = nested_fingerprints(law, [900], 50, np.random.default_rng(3))
    table = np.random.default_rng(4).normal(size=901)
    whole = prints.totals([table])[0]
    trial, count = prints.frequent[0]
    for one in (0, 17, 49):
        keep = trial == one
        alone = fingerprints.Fingerprints(
            prints.ns, prints.k, prints.common[:, one : one + 1], ((trial[keep] - one, count[keep]),)
        )
        assert alone.totals([table])[0, 0] == whole[one]


def test_sorting_and_counting_give_the_same_samples() -> None:
    law, ns = Dirichlet(k=5000, concentration=0.2).law(), np.array([20, 60, 150])
    dense, sparse = (
        [
            (point, seen.fingerprint(64), seen.unseen(weights, weights.sum(axis=1)))
            for _, point, seen in fingerprints._samples(law, ns, 1, np.random.default_rng(5), True, sparse=choice)
        ]
        for choice in (False, True)
        for weights in [fingerprints.seen_probability(law.probabilities, np.array([10.0, 500.0]))]
    )
    for (point, prints, targets), (other, same, close) in zip(dense, sparse, strict=True):
        assert point == other
        assert np.array_equal(prints, same)
        np.testing.assert_allclose(targets, close, rtol=1e-9)


def test_many_symbols_and_few_records_are_sorted_not_counted() -> None:
    law = Uniform(k=1_000_000).law()
    prints = nested_fingerprints(law, [100, 1000], 300, np.random.default_rng(6))
    mean = prints.distinct().mean(axis=1)
    np.testing.assert_allclose(mean, law.coverage([100, 1000]), atol=0.15)
    assert np.all(prints.common[:, :, 0] == 1_000_000 - prints.distinct())
    assert np.array_equal((prints.common * np.arange(64)).sum(axis=2), np.tile([[100], [1000]], (1, 300)))


def test_unseen_targets_by_hand() -> None:
    law = DiscreteLaw(np.array([0.4, 0.3, 0.2, 0.1]))
    counts = np.array([[3, 0, 0, 1], [1, 1, 1, 1], [4, 0, 0, 0]])
    found = unseen_targets(law, counts, [5.0, 0.0])
    expected = [
        [(1 - 0.7**5) + (1 - 0.8**5), 0.0],
        [0.0, 0.0],
        [(1 - 0.7**5) + (1 - 0.8**5) + (1 - 0.9**5), 0.0],
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_nested_samples_carry_their_targets() -> None:
    law, ns = Zipf(k=80).law(), [30, 60]
    ahead = np.array([[30.0, 60.0], [60.0, 120.0]])
    samples = nested_samples(law, ns, 4, np.random.default_rng(8), extra_sizes=ahead)
    counts = nested_counts(law, ns, 4, np.random.default_rng(8))
    assert samples.unseen_targets is not None
    for point in range(2):
        np.testing.assert_allclose(
            samples.unseen_targets[point], unseen_targets(law, counts[point], ahead[point]), rtol=1e-12
        )


def test_target_agrees_with_what_further_records_show() -> None:
    law, n, extra = Zipf(k=300).law(), 100, 200
    counts = nested_counts(law, [n, n + extra], 1500, np.random.default_rng(9))
    fresh = ((counts[1] > 0) & (counts[0] == 0)).sum(axis=1)
    target = unseen_targets(law, counts[0], [extra])[:, 0]
    gap = fresh - target
    assert abs(gap.mean()) < 3.5 * gap.std() / math.sqrt(1500)
    assert abs(fresh.mean() - 1.1 * target.mean()) > 10 * gap.std() / math.sqrt(1500)


def test_the_three_ways_without_replacement_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    people = np.array([400, 300, 200, 60, 30, 5, 4, 1])
    law, ns = DiscreteLaw.from_population(people), [100, 450, 900]
    expected = np.outer(np.array(ns) / 1000, people)
    for name, most, sizes in (("shuffled", 10**6, ns), ("chosen", 10**6, [50, 300]), ("coloured", 10, ns)):
        monkeypatch.setattr(fingerprints, "MOST_PEOPLE", most)
        counts = nested_counts(law, sizes, 1500, np.random.default_rng(10), replace=False)
        assert np.all(np.diff(counts, axis=0) >= 0), name
        assert np.all(counts[-1] <= people), name
        share = np.array(sizes) / 1000
        expected = np.outer(share, people)
        spread = np.sqrt(expected * (1 - people / 1000) * (1 - share[:, None]) * 1000 / 999 / 1500)
        assert np.all(np.abs(counts.mean(axis=1) - expected) < 4 * spread), name
        variance = counts[:, :, 0].var(axis=1, ddof=1)
        np.testing.assert_allclose(variance, 1500 * spread[:, 0] ** 2, rtol=0.15, err_msg=name)


@pytest.mark.parametrize("ns", [[5, 4], [-1], [1.5], []])
def test_bad_sample_sizes_are_refused(ns: list[float]) -> None:
    with pytest.raises(ParameterError):
        nested_fingerprints(Uniform(k=3).law(), ns, 2, np.random.default_rng(0))


def test_negative_look_ahead_is_refused() -> None:
    with pytest.raises(ParameterError):
        unseen_targets(Uniform(k=3).law(), np.array([1, 1, 0]), [-1.0])


@pytest.mark.parametrize("rows", [1, 3])
def test_few_further_records_leave_the_other_symbols_alone(rows: int) -> None:
    """Only what changes is counted again; the fingerprints are those of the counts all the same."""
    law, ns = Zipf(k=70_000 // rows, exponent=1.3).law(), [0, 2_000, 2_000, 4_500, 4_501, 60_000, 61_000]
    counts = nested_counts(law, ns, rows, np.random.default_rng(8))
    prints = nested_fingerprints(law, ns, rows, np.random.default_rng(8))
    for point in range(len(ns)):
        often = counts[point] >= fingerprints.WIDTH
        low = [np.bincount(row, minlength=fingerprints.WIDTH)[: fingerprints.WIDTH] for row in counts[point]]
        assert np.array_equal(prints.common[point], low)
        trial, count = prints.frequent[point]
        assert np.array_equal(trial, np.nonzero(often)[0])
        assert np.array_equal(count, counts[point][often])
    assert prints.frequent[-1][0].size > 50 * rows


def test_counting_looks_only_at_the_symbols_that_further_records_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    law, looked = Uniform(k=1_000_000).law(), []
    bincount = np.bincount

    def counted(given: np.ndarray, *rest: object, **options: object) -> np.ndarray:
        found = bincount(given, *rest, **options)  # type: ignore[call-overload]
        looked.append(given.size + found.size)
        return np.asarray(found)

    monkeypatch.setattr(fingerprints.np, "bincount", counted)
    nested_fingerprints(law, np.linspace(50_000, 100_000, 11), 2, np.random.default_rng(9))
    assert sum(looked) < 1_000_000
