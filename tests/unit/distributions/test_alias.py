from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privexplorer.distributions._alias import CHUNK, AliasTable


@pytest.mark.parametrize("k", [1, 2, 3, 10, 1000, 20_000])
@pytest.mark.parametrize("shape", ["uniform", "zipf", "steep", "random", "gaps"])
def test_the_table_gives_back_the_law(k: int, shape: str) -> None:
    weights = {
        "uniform": np.ones(k),
        "zipf": 1.0 / np.arange(1, k + 1),
        "steep": 0.5 ** np.minimum(np.arange(k), 900.0),
        "random": np.random.default_rng(0).standard_gamma(0.3, k) + 1e-300,
        "gaps": np.where(np.arange(k) % 3 == 0, np.arange(1, k + 1), 0.0),
    }[shape]
    law = weights / weights.sum()
    np.testing.assert_allclose(AliasTable.build(law).probabilities(), law, rtol=0, atol=1e-9 / k)


def test_draws_follow_the_law_and_the_check_has_power() -> None:
    law = np.arange(1, 41, dtype=float) ** -1.0
    law /= law.sum()
    drawn = AliasTable.build(law).sample(400_000, np.random.default_rng(1))
    observed = np.bincount(drawn, minlength=40)
    assert stats.chisquare(observed, 400_000 * law).pvalue > 0.01
    for factor in (0.9, 1.1):
        wrong = law.copy()
        wrong[5] *= factor
        wrong /= wrong.sum()
        assert stats.chisquare(observed, 400_000 * wrong).pvalue < 1e-6


def test_symbols_of_probability_zero_never_occur() -> None:
    law = np.array([0.0, 0.3, 0.0, 0.7, 0.0])
    assert set(AliasTable.build(law).sample(50_000, np.random.default_rng(2)).tolist()) == {1, 3}


def test_draws_do_not_depend_on_the_pass_length() -> None:
    table = AliasTable.build(np.full(7, 1 / 7))
    whole = table.sample(CHUNK + 100, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    assert np.array_equal(whole, np.concatenate((table.sample(CHUNK, rng), table.sample(100, rng))))
