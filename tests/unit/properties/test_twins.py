from __future__ import annotations

from collections import Counter, deque

import numpy as np
import pytest

from privexplorer.distributions import Uniform, nested_fingerprints
from privexplorer.errors import ParameterError
from privexplorer.properties import fingerprint_edits, nested_edits


def partitions(n: int, largest: int) -> list[tuple[int, ...]]:
    if n == 0:
        return [()]
    return [(part, *rest) for part in range(min(n, largest), 0, -1) for rest in partitions(n - part, part)]


def edits_by_search(start: tuple[int, ...], symbols: int) -> dict[tuple[int, ...], int]:
    """Breadth-first search over histograms up to renaming, one moved record per step."""
    found, queue = {start: 0}, deque([start])
    while queue:
        here = queue.popleft()
        padded = [*here, *([0] * (symbols - len(here)))]
        for source in range(symbols):
            for target in range(symbols):
                if source != target and padded[source]:
                    moved = padded.copy()
                    moved[source] -= 1
                    moved[target] += 1
                    following = tuple(sorted((c for c in moved if c), reverse=True))
                    if following not in found:
                        found[following] = found[here] + 1
                        queue.append(following)
    return found


@pytest.mark.parametrize("n", [1, 4, 7])
def test_edits_equal_a_search_over_all_samples(n: int) -> None:
    for start in partitions(n, n):
        for end, steps in edits_by_search(start, n).items():
            assert fingerprint_edits(Counter(start), Counter(end)) == steps, (start, end)


def test_simulated_edits_agree_one_by_one() -> None:
    rng = np.random.default_rng(1)
    first = nested_fingerprints(Uniform(k=10).law(), [5, 300], 20, rng)  # counts below and above 64
    second = nested_fingerprints(Uniform(k=3).law(), [5, 300], 20, rng)
    found = nested_edits(first, second)
    for point in range(2):
        for trial in (0, 7, 19):
            alone = fingerprint_edits(first.dense(point)[trial], second.dense(point)[trial])
            assert found[point, trial] == alone


def test_supports_of_100_and_200_are_about_five_edits_apart() -> None:
    rng = np.random.default_rng(2)
    first = nested_fingerprints(Uniform(k=100).law(), [50], 3000, rng)
    second = nested_fingerprints(Uniform(k=200).law(), [50], 3000, rng)
    assert first.distinct().mean() == pytest.approx(39.5, abs=0.2)
    assert second.distinct().mean() == pytest.approx(44.4, abs=0.2)
    assert nested_edits(first, second).mean() == pytest.approx(5.1, abs=0.25)


def test_unequal_sizes_are_refused() -> None:
    with pytest.raises(ParameterError, match="same size"):
        fingerprint_edits({1: 3}, {1: 4})
    rng = np.random.default_rng(3)
    law = Uniform(k=4).law()
    with pytest.raises(ParameterError, match="same sample sizes"):
        nested_edits(nested_fingerprints(law, [3], 2, rng), nested_fingerprints(law, [4], 2, rng))
