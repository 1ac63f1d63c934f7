from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.errors import ParameterError
from privexplorer.properties import Polynomial, noise_for, paper_code_sensitivity, release, releases


def test_noise_has_the_stated_spread() -> None:
    noisy = releases(np.full(40_000, 3.0), 0.5, 2.0, np.random.default_rng(1))
    scale = np.abs(noisy - 3.0).mean()
    assert scale == pytest.approx(0.25, abs=4 * 0.25 / math.sqrt(40_000))
    assert noise_for(0.5, 2.0).scale == 0.25


def test_clipping_comes_after_the_noise() -> None:
    noisy = releases(np.full(20_000, 5.0), 1.0, 1.0, np.random.default_rng(2), 0.0, 4.0)
    # exp(-1)/2 of the draws fall below 4: clipping the exact value first would leave one half there
    assert (noisy < 4.0).mean() == pytest.approx(math.exp(-1) / 2, abs=4 * 0.39 / math.sqrt(20_000))
    assert noisy.max() == 4.0
    assert noisy.min() >= 0.0


def test_no_sensitivity_no_noise() -> None:
    assert release(1.5, 0.0, 0.1, np.random.default_rng(3)) == 1.5


def test_experiment_code_level_depends_on_the_data() -> None:
    poly = Polynomial(preset="private")
    spread = np.bincount(np.arange(500) % 300, minlength=1000)
    values = poly.table(500, 1000, True).values
    assert paper_code_sensitivity(spread, 1000) == pytest.approx(2 * abs(values[1] - values[0]), rel=1e-12)
    assert paper_code_sensitivity(spread[spread > 0], 1000) == paper_code_sensitivity(spread, 1000)
    assert paper_code_sensitivity([10] * 99 + [7], 100) == 0.0
    with pytest.raises(ParameterError, match="more than N = 7"):
        paper_code_sensitivity([10] * 100, 100)


@pytest.mark.parametrize(
    "call",
    [
        lambda rng: release(1.0, 1.0, 0.0, rng),
        lambda rng: release(1.0, 1.0, -1.0, rng),
        lambda rng: release(1.0, 1.0, math.nan, rng),
        lambda rng: release(1.0, math.inf, 1.0, rng),
        lambda rng: release(1.0, -1.0, 1.0, rng),
        lambda rng: release(math.nan, 1.0, 1.0, rng),
        lambda rng: release(1.0, 1.0, 1.0, rng, 2.0, 1.0),
        lambda rng: paper_code_sensitivity([0, 0], 5),
        lambda rng: paper_code_sensitivity([1, 1, 1], 2),
    ],
)
def test_bad_input_is_refused(call) -> None:
    with pytest.raises(ParameterError):
        call(np.random.default_rng(0))
