"""The lower bound's shape at extreme ε, against arithmetic with 60 digits; and no warning reaches a terminal."""

from __future__ import annotations

import subprocess
import sys

import mpmath
import numpy as np
import pytest

from privexplorer.distributions import Uniform
from privexplorer.properties import PlugIn
from privexplorer.records import RealGrid
from privexplorer.studies import study
from privexplorer.studies._entropy import lower_bound_shape

SERIES = "lower bound (shape only)"


@pytest.mark.parametrize("k", [2, 1_000, 1_000_000])
@pytest.mark.parametrize("n", [1, 100, 10**6, 10**9])
def test_lower_bound_against_sixty_digits(k: int, n: int) -> None:
    for epsilon in (1e-12, 1e-10, 1e-6, 1e-3, 0.1, 1.0, 10.0):
        with mpmath.workdps(60):
            square = mpmath.log(min(k, max(n, 2))) ** 2
            single = k / mpmath.log(k) + mpmath.log(k) / mpmath.mpf(epsilon)
            exact = 2 * square / (mpmath.sqrt(single**2 + 4 * square * n) - single)
            back = k / (exact * mpmath.log(k)) + square / exact**2 + mpmath.log(k) / (exact * mpmath.mpf(epsilon))
            assert abs(back / n - 1) < mpmath.mpf(10) ** -20  # it solves the theorem's lower rate for n
        assert lower_bound_shape(k, n, np.float64(epsilon)) == pytest.approx(float(exact), rel=1e-14)


def test_lower_bound_does_not_overflow() -> None:
    assert lower_bound_shape(10, 1.0, 1e-200) == pytest.approx(float(mpmath.log(10)) * 1e200, rel=1e-12)


@pytest.mark.parametrize("low", [1e-12, 1e-10])
@pytest.mark.parametrize("more", [{}, {"clip": True, "unit": "bits"}, {"noise_rule": "paper_code"}, {"n": 2}])
def test_lower_bound_curve_at_the_smallest_epsilon(low: float, more: dict[str, object]) -> None:
    """At every ε the curve has a positive number, falls with ε and stays below the private error."""
    question = study("entropy-epsilon")
    asked = question.scenario.model_validate({"trials": 8, **more}).model_copy(
        update={"epsilons": RealGrid(low=low, high=10.0, points=25)}
    )
    result = question.run(asked)
    lower = result.series(SERIES)["y"].to_numpy()
    private = result.frame[result.frame["series"].str.endswith(", private")]["y"].to_numpy()
    assert lower.size == 25
    assert np.all(np.isfinite(lower))
    assert np.all(lower > 0)
    assert np.all(np.diff(lower) < 0)
    assert np.all(lower <= 0.71 * private)


@pytest.mark.parametrize("more", [{"epsilon": 1e-6}, {"epsilon": 1e-6, "clip": True}, {"n": {"low": 2, "high": 9}}])
def test_lower_bound_curve_against_n(more: dict[str, object]) -> None:
    question = study("entropy-error")
    base = {"trials": 8, "distribution": Uniform(k=50), "estimators": (PlugIn(),)}
    lower = question.run(question.scenario.model_validate({**base, **more})).series(SERIES)["y"].to_numpy()
    assert np.all(np.isfinite(lower))
    assert np.all(lower > 0)


def test_nothing_but_numbers_on_the_terminal() -> None:
    """The same case from a terminal, with every warning an error: no path, no source line, no traceback."""
    command = [sys.executable, "-W", "error", "-m", "privexplorer", "run", "entropy-epsilon"]
    done = subprocess.run(
        [*command, "--set", "epsilons.low=1e-12", "--set", "trials=8"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stdout + done.stderr
    assert ".py" not in done.stdout + done.stderr
    rows = [line.split(",") for line in done.stdout.splitlines() if line.startswith(SERIES)]
    assert len(rows) == 25
    assert all(float(row[2]) > 0 for row in rows)
