"""Verdicts beside limits: digits that decide, standard errors, and a third answer."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.studies._effect_claims import Check
from privexplorer.studies._predictability_claims import Verdict, agrees
from privexplorer.studies._reproduced import (
    MOST_DIGITS,
    Estimate,
    among,
    apart,
    beside,
    error_ratio,
    judged,
    mean_of,
    side,
    worst_of,
)


def read(text: str) -> tuple[float, float]:
    value, _, spread = text.replace("−", "-").partition(" ± ")
    return float(value), float(spread)


@pytest.mark.parametrize("seed", range(40))
def test_printed_numbers_decide_as_the_exact_ones_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    limit = 1.25
    error = float(10 ** rng.uniform(-4, -1))
    # everything near the places where the verdict turns
    for value in (limit, limit + 2 * error, limit - 2 * error):
        near = value + float(rng.normal()) * 10 ** float(rng.uniform(-6, -2))
        shown, spread = read(beside(near, error, limit))
        told = 0 if abs(round(shown - limit, MOST_DIGITS)) <= spread else 1 if shown > limit else -1
        assert told == side(near, error, limit), (near, error)
        first, second = (float(text) for text in apart(near, limit))
        assert (first > second) == (near > limit)


def test_a_value_that_rounds_to_its_limit_gets_more_digits() -> None:
    assert apart(1.315, 1.3) == ("1.31", "1.30")
    assert apart(1.0801, 1.08, 3) == ("1.0801", "1.0800")
    assert beside(1.3004, 0.0, 1.3) == "1.3004 ± 0"
    assert beside(1.3, float("inf"), 1.3) == "1.30 (one run)"


def test_statements_that_fail_show_digits_that_differ() -> None:
    found = agrees("A.", 1.0, 1.0 + 1e-7, 1e-9)
    assert not found.holds
    assert found.evidence == "Expected 1.0000000; found 1.0000001."
    check = Check("a", "A.", (0.25,), (0.25 + 1e-8,))
    assert not check.holds
    assert check.evidence == "Expected 0.25000000; found 0.25000001."
    assert judged([Verdict("B.", True, "C.", unclear=True), check])[0].startswith("- **Cannot be told with this many")


def test_the_error_of_a_ratio_counts_runs_in_common_once() -> None:
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(4000, 60)) ** 2
    above, below = shared + 0.3 * rng.normal(size=shared.shape) ** 2, shared
    many = [error_ratio(above[:, [one]][at::40], below[:, [one]][at::40]) for one in range(60) for at in range(40)]
    values = np.array([float(one.value[0]) for one in many])
    errors = np.array([float(one.error[0]) for one in many])
    # 2,400 independent groups of 100 runs: their spread is the error to 1.5% (one standard error), 5% are allowed,
    # and the delta method for 100 runs
    assert errors.mean() == pytest.approx(values.std(), rel=0.08)
    apart_error = np.hypot(*(part.std() / part.mean() / 2 / 10 for part in (above, below))) * values.mean()
    assert errors.mean() < 0.5 * apart_error


def test_geometric_means_and_averages_carry_errors() -> None:
    one = Estimate(np.array([1.0, 4.0]), np.array([[1.0, 4.0], [-1.0, -4.0]]))
    middle = one.typical()
    assert float(middle.value) == pytest.approx(2.0)
    assert middle.shares == pytest.approx(np.array([2.0, -2.0]))
    value, error = mean_of([one.at(0), one.at(1)])
    assert value == 2.5
    assert error == pytest.approx(np.hypot(1.0, 4.0) / 2)
    assert np.isinf(Estimate(np.ones(2), np.zeros((1, 2))).error).all()


def test_the_place_that_decides() -> None:
    values, errors = np.array([1.1, 1.3, 1.4]), np.array([0.0, 0.01, 0.2])
    assert worst_of(values, errors, 1.25) == (1, 1)
    assert worst_of(values, errors, 1.35) == (0, 2)
    assert worst_of(values, errors, 1.9) == (-1, 2)
    assert [among(sides) for sides in ([-1], [1, 1], [1, 0], [1, -1], [0, -1])] == [
        "holds",
        "does not hold",
        "at most partly",
        "partly",
        "cannot be told",
    ]
