from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.errors import ParameterError
from privexplorer.properties import (
    epsilon_for_inflation,
    epsilon_for_rmse,
    error_parts,
    inflation,
    noise_share,
    prediction_horizon,
    private_rmse,
    private_squared_errors,
    releases,
)


def test_error_parts_add_up() -> None:
    estimates = np.random.default_rng(1).normal(2.0, 3.0, 5000)
    parts = error_parts(estimates, 1.5)
    assert parts.mse == pytest.approx(parts.bias**2 + parts.variance * 4999 / 5000, rel=1e-12)
    assert parts.bias == pytest.approx(0.5, abs=4 * parts.bias_std_error)
    assert parts.bias_std_error == pytest.approx(3 / math.sqrt(5000), rel=0.05)
    assert parts.rmse == pytest.approx(math.sqrt(9.25), abs=4 * parts.rmse_std_error)
    assert parts.rmse_std_error == pytest.approx(3 / math.sqrt(2 * 5000), rel=0.1)
    assert error_parts([1.0, 1.0], 1.0).rmse_std_error == 0.0


def test_targets_may_differ_by_run() -> None:
    parts = error_parts([1.0, 2.0, 4.0], [1.0, 1.0, 1.0])
    assert parts.bias == pytest.approx(4 / 3)
    assert parts.mse == pytest.approx(10 / 3)


def test_exact_noise_agrees_with_drawn_noise() -> None:
    exact = np.random.default_rng(2).normal(1.0, 0.5, 200)
    rng = np.random.default_rng(3)
    drawn = np.array([(releases(exact, 0.8, 1.0, rng, 0.0, 2.0) - 1.2) ** 2 for _ in range(2000)])
    expected = private_squared_errors(exact, 1.2, 0.8, 1.0, 0.0, 2.0).mean()
    spread = drawn.mean(axis=1).std() / math.sqrt(2000)
    assert abs(drawn.mean() - expected) < 3.5 * spread
    assert abs(drawn.mean() - 0.9 * expected) > 10 * spread


def test_error_algebra_and_its_inverses() -> None:
    assert private_rmse(0.3, 0.16, 0.5, 2.0) == pytest.approx(math.sqrt(0.09 + 0.16 + 2 * 0.0625))
    base = math.sqrt(0.25)
    for share in (1e-6, 0.05, 1.0, 30.0):
        epsilon = epsilon_for_inflation(share, 0.5, base)
        assert private_rmse(0.3, 0.16, 0.5, epsilon) == pytest.approx((1 + share) * base, rel=1e-12)
        assert inflation(epsilon, 0.5, base) == pytest.approx(share, rel=1e-9)
    epsilon = epsilon_for_rmse(0.7, 0.3, 0.16, 0.5)
    assert epsilon is not None
    assert private_rmse(0.3, 0.16, 0.5, epsilon) == pytest.approx(0.7, rel=1e-12)
    assert epsilon_for_rmse(0.5, 0.3, 0.16, 0.5) is None


def test_noise_share() -> None:
    assert noise_share(3.0, 1.5, 100.0) == pytest.approx(math.sqrt(2) * 2 / 100)


def test_horizon_reads_the_first_crossing() -> None:
    ts, errors = [1, 2, 3, 4], [0.1, 0.2, 0.4, 0.1]
    assert prediction_horizon(ts, errors, 0.25) == pytest.approx(2.25)
    assert prediction_horizon(ts, errors, 0.4) == 4.0
    assert prediction_horizon(ts, errors, 0.05) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: error_parts([1.0], 0.0),
        lambda: private_rmse(0.0, -1.0, 1.0, 1.0),
        lambda: epsilon_for_inflation(0.0, 1.0, 1.0),
        lambda: epsilon_for_inflation(0.1, 1.0, 0.0),
        lambda: epsilon_for_inflation(0.1, -1.0, 1.0),
        lambda: epsilon_for_rmse(0.0, 0.0, 0.0, 1.0),
        lambda: inflation(0.0, 1.0, 1.0),
        lambda: noise_share(1.0, 1.0, 0.0),
        lambda: prediction_horizon([2, 1], [0.1, 0.1], 0.1),
        lambda: prediction_horizon([1, 2], [0.1, 0.1], 0.0),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call()
