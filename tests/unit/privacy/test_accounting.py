"""Accounting of mechanisms by their own noise laws, and noise for a target."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.privacy import (
    ExponentialMechanism,
    Gaussian,
    Geometric,
    Laplace,
    RandomisedResponse,
    analytic_gaussian_std,
    calibrate_gaussian,
    calibrate_laplace,
    compose_worst_case,
    composed_epsilon,
    compositions_allowed,
    gaussian_delta,
)


def laplace_slack(epsilon, at):
    """δ of one Laplace release at a smaller ε, from the law of its privacy loss: 1 - exp((at - ε)/2)."""
    return 1 - math.exp((at - epsilon) / 2)


@pytest.mark.parametrize(("epsilon", "at"), [(1.0, 0.4), (0.2, 0.1), (5.0, 1.0)])
def test_one_laplace_release_agrees_with_its_closed_form(epsilon, at):
    assert composed_epsilon([Laplace(epsilon=epsilon)], laplace_slack(epsilon, at)) == pytest.approx(at, abs=2e-4)


def test_gaussian_releases_add_up_to_one_gaussian():
    mechanism = Gaussian(epsilon=0.5, delta=1e-7)
    total = composed_epsilon([mechanism] * 9, 1e-5)
    assert gaussian_delta(mechanism.noise_multiplier() / 3, 1.0, total) == pytest.approx(1e-5, rel=1e-6)
    # a mixture goes through the numerical convolution and stays close to it
    mixed = composed_epsilon([mechanism] * 8 + [Laplace(epsilon=0.001)], 1e-5)
    assert composed_epsilon([mechanism] * 8, 1e-5) <= mixed <= composed_epsilon([mechanism] * 8, 1e-5) + 0.002


def test_geometric_noise_at_sensitivity_one_is_the_worst_case():
    worst = compose_worst_case([(0.3, 0.0)] * 20, 1e-6)
    assert composed_epsilon([Geometric(epsilon=0.3)] * 20, 1e-6) == pytest.approx(worst, rel=2e-3)
    assert composed_epsilon([ExponentialMechanism(epsilon=0.3)] * 20, 1e-6) == pytest.approx(worst, rel=2e-3)
    assert composed_epsilon([Laplace(epsilon=0.3)] * 20, 1e-6) < 0.995 * worst
    assert composed_epsilon([RandomisedResponse(epsilon=0.3)] * 20, 1e-6) == pytest.approx(worst, rel=2e-3)


def test_nothing_released_costs_nothing():
    assert composed_epsilon([], 1e-6) == 0.0
    assert compose_worst_case([], 1e-6) == 0.0
    assert compose_worst_case([(0.0, 0.0)] * 3, 1e-6) == 0.0
    assert compose_worst_case([(0.5, 1e-3)], 1e-6) == math.inf


def test_local_and_central_do_not_mix():
    with pytest.raises(UnsupportedCombination, match="different readers"):
        composed_epsilon([Laplace(), RandomisedResponse()], 1e-6)


def test_number_of_releases_within_a_budget():
    assert compositions_allowed(Laplace(epsilon=0.1), 1.0, 0.0) == 10
    assert compositions_allowed(Laplace(epsilon=0.3), 1.0, 0.0) == 3
    assert compositions_allowed(Gaussian(), 1.0, 0.0) == 0
    assert compositions_allowed(Laplace(epsilon=2.0), 1.0, 1e-9) == 0
    assert compositions_allowed(Laplace(epsilon=1e-3), 1.0, 0.0, most=7) == 7
    mechanism = Laplace(epsilon=0.1)
    count = compositions_allowed(mechanism, 1.0, 1e-3)
    assert count > 10
    assert composed_epsilon([mechanism] * count, 1e-3) <= 1.0 < composed_epsilon([mechanism] * (count + 1), 1e-3)


@pytest.mark.parametrize("compositions", [1, 30])
def test_laplace_scale_for_a_target_meets_it_and_a_tenth_less_does_not(compositions):
    epsilon, delta = 1.0, 1e-5
    scale = calibrate_laplace(epsilon, delta, 2.0, compositions)
    assert scale <= 2.0 * compositions / epsilon
    reached = composed_epsilon([Laplace(epsilon=2.0 / scale)] * compositions, delta)
    assert 0.97 * epsilon <= reached <= epsilon * (1 + 2e-3)
    assert composed_epsilon([Laplace(epsilon=2.0 / (0.9 * scale))] * compositions, delta) > 1.05 * epsilon
    if compositions == 30:
        assert scale < 0.75 * 60


def test_laplace_scale_without_slack_is_basic_composition():
    assert calibrate_laplace(0.5, sensitivity=3.0, compositions=4) == 24.0
    assert calibrate_laplace(0.5, 1e-6, sensitivity=0.0) == 0.0


@pytest.mark.parametrize("compositions", [1, 16])
def test_gaussian_width_for_a_target(compositions):
    std = calibrate_gaussian(0.8, 1e-6, 3.0, compositions)
    assert std == pytest.approx(3.0 * math.sqrt(compositions) * analytic_gaussian_std(0.8, 1e-6), rel=1e-14)
    # independent check: the summed loss is normal with mean m and variance 2m, m = count / (2 (std / 3)²)
    mean = compositions / (2 * (std / 3.0) ** 2)
    loss = stats.norm(mean, math.sqrt(2 * mean))
    mirrored = stats.norm(-mean, math.sqrt(2 * mean))
    assert loss.sf(0.8) - math.exp(0.8) * mirrored.sf(0.8) == pytest.approx(1e-6, rel=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calibrate_laplace(0.0), "ε must be a number above 0"),
        (lambda: calibrate_laplace(1.0, sensitivity=-1.0), "sensitivity must be a finite number"),
        (lambda: calibrate_laplace(1.0, compositions=0), "number of releases must be a whole number"),
        (lambda: calibrate_laplace(1.0, 1.0), "δ must lie strictly between 0 and 1"),
        (lambda: calibrate_gaussian(1.0, 0.0), "Gaussian noise needs δ strictly between 0 and 1"),
        (lambda: compose_worst_case([(1.0, 0.0)], 0.0), "δ must lie strictly between 0 and 1"),
        (lambda: compose_worst_case([(-1.0, 0.0)], 0.1), "ε must be a number of at least 0"),
    ],
)
def test_bad_targets_are_refused(call, message):
    with pytest.raises(ParameterError, match=message):
        call()
