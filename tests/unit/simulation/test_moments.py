"""Averages with standard errors, and quantiles of a noisy release."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privexplorer.simulation import mean_and_error, mixture_quantiles, root_mean_square

RNG = np.random.default_rng(5)


def test_mean_and_error_by_hand() -> None:
    mean, error = mean_and_error(np.array([[1.0, 5.0], [2.0, 5.0], [6.0, 5.0]]))
    assert mean.tolist() == [3.0, 5.0]
    assert error == pytest.approx([np.sqrt((4 + 1 + 9) / 2 / 3), 0.0])


def test_one_trial_says_nothing_about_its_error() -> None:
    assert mean_and_error(np.array([[2.0]]))[1].tolist() == [np.inf]


def test_error_of_the_mean_is_honest() -> None:
    """Means of 4,000 groups scatter as their errors say; the tolerance is four standard errors."""
    values = RNG.exponential(size=(50, 4000))
    mean, error = mean_and_error(values)
    ratio = mean.std(ddof=1) / np.sqrt((error**2).mean())
    assert ratio == pytest.approx(1, abs=0.05)


def test_root_mean_square_and_its_error() -> None:
    squares = RNG.standard_normal((200, 4000)) ** 2
    root, error = root_mean_square(squares)
    assert root == pytest.approx(np.sqrt(squares.mean(axis=0)))
    ratio = root.std(ddof=1) / np.sqrt((error**2).mean())
    assert ratio == pytest.approx(1, abs=0.05)
    zero = root_mean_square(np.zeros((5, 2)))
    assert zero[0].tolist() == zero[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_quantiles_of_one_noisy_answer(scale: float) -> None:
    """With one data set the release is Laplace itself."""
    levels = (0.025, 0.25, 0.5, 0.75, 0.975)
    found = mixture_quantiles(np.full((1, 2), 7.0), np.full(2, scale), levels)
    wanted = stats.laplace.ppf(levels, loc=7.0, scale=scale)
    assert found == pytest.approx(np.column_stack([wanted, wanted]), abs=1e-9)


def test_quantiles_without_noise_are_those_of_the_answers() -> None:
    values = np.arange(101.0)[:, None]
    found = mixture_quantiles(values, np.zeros(1), (0.25, 0.5, 0.75))
    assert found[:, 0] == pytest.approx([25, 50, 75], abs=1)


def test_quantiles_of_a_mixture_split_the_releases() -> None:
    values, scales = RNG.normal(3, 1, (400, 1)), np.full(1, 0.8)
    levels = (0.1, 0.5, 0.9)
    found = mixture_quantiles(values, scales, levels)[:, 0]
    share = stats.laplace.cdf(found[:, None], loc=values[:, 0], scale=0.8).mean(axis=1)
    assert share == pytest.approx(levels, abs=1e-8)
