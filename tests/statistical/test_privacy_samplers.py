"""Every sampler of the privacy package has the law it claims, and each test would notice a tenth more or less noise.

Fixed seeds. A right sampler must keep a p-value above 0.001; the same sample must be rejected (p below 1e-6) against
the law with 0.9 or 1.1 times the noise.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from privexplorer.privacy import (
    ExponentialMechanism,
    Gaussian,
    GaussianNoise,
    Geometric,
    GeometricNoise,
    KaryRandomisedResponse,
    Laplace,
    LaplaceNoise,
    RandomisedResponse,
    ReportNoisyMax,
    keep_probability,
)

ACCEPT, REJECT = 1e-3, 1e-6
SCALES = (1.0, 0.9, 1.1)


def decide(p_value, factor):
    if factor == 1.0:
        assert p_value > ACCEPT
    else:
        assert p_value < REJECT


def chi_square(counts, law):
    """P-value of observed counts against probabilities; cells with fewer than 20 expected are pooled."""
    expected = law * counts.sum()
    few = expected < 20
    observed = np.append(counts[~few], counts[few].sum())
    wanted = np.append(expected[~few], expected[few].sum())
    if wanted[-1] < 20:  # fold a thin pool into the largest cell
        largest = np.argmax(wanted[:-1])
        observed[largest] += observed[-1]
        wanted[largest] += wanted[-1]
        observed, wanted = observed[:-1], wanted[:-1]
    return stats.chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue


@pytest.mark.parametrize("factor", SCALES)
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_laplace(epsilon, factor):
    draws = Laplace(epsilon=epsilon).release(np.full(60_000, 5.0), 3.0, np.random.default_rng(10)) - 5.0
    claimed = LaplaceNoise(factor * 3.0 / epsilon)
    decide(stats.kstest(draws, claimed.cdf).pvalue, factor)


@pytest.mark.parametrize("factor", SCALES)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (3.0, 1e-2)])
def test_gaussian(epsilon, delta, factor):
    mechanism = Gaussian(epsilon=epsilon, delta=delta)
    draws = mechanism.release(np.full(60_000, -2.0), 0.7, np.random.default_rng(11)) + 2.0
    claimed = GaussianNoise(factor * 0.7 * mechanism.noise_multiplier())
    decide(stats.kstest(draws, claimed.cdf).pvalue, factor)


@pytest.mark.parametrize("factor", SCALES)
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(1.0, 1), (0.3, 2), (3.0, 2)])
def test_geometric(epsilon, sensitivity, factor):
    draws = Geometric(epsilon=epsilon).release(np.zeros(60_000), sensitivity, np.random.default_rng(12))
    reach = 60 * sensitivity
    counts = np.bincount(np.clip(draws, -reach, reach) + reach, minlength=2 * reach + 1)
    claimed = GeometricNoise(factor * sensitivity / epsilon).clipped_pmf(0, -reach, reach)
    decide(chi_square(counts, claimed), factor)


@pytest.mark.parametrize("factor", SCALES)
def test_truncated_geometric(factor):
    draws = Geometric(epsilon=0.7).release(np.full(60_000, 2), 1, np.random.default_rng(13), low=0, high=8)
    counts = np.bincount(draws, minlength=9)
    decide(chi_square(counts, GeometricNoise(factor / 0.7).clipped_pmf(2, 0, 8)), factor)


def test_geometric_noise_stays_right_when_very_wide():
    noise = GeometricNoise(1e7)
    draws = noise.sample(60_000, np.random.default_rng(14))
    # a whole-number law this wide is Laplace to one part in ten million
    assert stats.kstest(draws + 0.0, LaplaceNoise(1e7).cdf).pvalue > ACCEPT
    assert stats.kstest(draws + 0.0, LaplaceNoise(0.9e7).cdf).pvalue < REJECT


@pytest.mark.parametrize("factor", SCALES)
@pytest.mark.parametrize(
    "make",
    [
        lambda epsilon: ExponentialMechanism(epsilon=epsilon),
        lambda epsilon: ReportNoisyMax(epsilon=epsilon, noise="gumbel"),
        lambda epsilon: ReportNoisyMax(epsilon=epsilon, noise="exponential"),
        lambda epsilon: ReportNoisyMax(epsilon=epsilon, noise="exponential", monotone=True),
    ],
    ids=["exponential", "gumbel", "exponential noise", "monotone"],
)
def test_selection(make, factor):
    scores = np.array([0.0, 1.0, 2.5, 2.0, -1.0])
    picks = make(1.2).release(np.broadcast_to(scores, (100_000, 5)), 1.0, np.random.default_rng(15))
    claimed = make(1.2 / factor).probabilities(scores, 1.0)
    decide(chi_square(np.bincount(picks, minlength=5), claimed), factor)


@pytest.mark.parametrize("factor", SCALES)
@pytest.mark.parametrize("response", [RandomisedResponse(epsilon=1.0), KaryRandomisedResponse(epsilon=1.5, k=6)])
@pytest.mark.parametrize("by_counts", [False, True])
def test_randomised_response(response, factor, by_counts):
    k, people = response.symbols, 30_000
    rng = np.random.default_rng(16)
    redraw = factor * (1 - response.keep_probability)
    claimed = (1 - redraw) * np.eye(k) + redraw / k
    worst = 1.0
    for value in range(k):
        if by_counts:
            counts = response.release_counts(people * np.eye(k, dtype=np.int64)[value], rng)
        else:
            counts = np.bincount(response.release(np.full(people, value), rng), minlength=k)
        worst = min(worst, chi_square(counts, claimed[:, value]))
    decide(worst * k if factor == 1.0 else worst, factor)  # Bonferroni over the values


@pytest.mark.parametrize("sampling", ["independent", "fixed"])
def test_covariance_of_frequencies_agrees_with_simulation(sampling):
    response = KaryRandomisedResponse(epsilon=1.0, k=4)
    truth, n, runs = np.array([0.4, 0.3, 0.2, 0.1]), 200, 40_000
    rng = np.random.default_rng(17)
    fixed = np.tile(np.rint(n * truth).astype(np.int64), (runs, 1))
    counts = rng.multinomial(n, truth, runs) if sampling == "independent" else fixed
    estimates = response.frequencies(response.release_counts(counts, rng))
    claimed = response.covariance(truth, n, sampling)
    mean_error = np.sqrt(np.diagonal(claimed) / runs)
    assert np.all(np.abs(estimates.mean(axis=0) - truth) < 4 * mean_error)
    simulated = np.cov(estimates.T)
    # standard error of a variance from ``runs`` nearly normal draws is sqrt(2 / runs) of it: 0.7 %
    tolerance = 4 * math.sqrt(2 / runs) * np.sqrt(np.outer(np.diagonal(claimed), np.diagonal(claimed)))
    assert np.all(np.abs(simulated - claimed) < tolerance)
    assert not np.all(np.abs(simulated - 1.1 * claimed) < tolerance)
    assert not np.all(np.abs(simulated - 0.9 * claimed) < tolerance)


@pytest.mark.parametrize("factor", SCALES)
@pytest.mark.parametrize("noise", [LaplaceNoise(0.8), GaussianNoise(0.8), GeometricNoise(1.3)], ids=["L", "N", "G"])
@pytest.mark.parametrize(("value", "target"), [(1.0, 2.0), (4.0, 3.0), (-1.0, 0.0)])
def test_clipped_error_agrees_with_simulation(noise, value, target, factor):
    low, high = 0.0, 3.0
    draws = np.clip(value + noise.sample(200_000, np.random.default_rng(18)), low, high)
    squares = (draws - target) ** 2
    error = squares.std() / math.sqrt(len(squares))
    width = noise.std
    claimed = type(noise)(factor * (noise.scale if hasattr(noise, "scale") else width))
    distance = abs(squares.mean() - float(claimed.clipped_squared_error(value, target, low, high))) / error
    assert distance < 4 if factor == 1.0 else distance > 6
    mean, second = claimed.clipped_moments(value, low, high)
    if factor == 1.0:
        assert abs(draws.mean() - float(mean)) < 4 * draws.std() / math.sqrt(len(draws))
        assert abs((draws**2).mean() - float(second)) < 4 * (draws**2).std() / math.sqrt(len(draws))


def test_keep_probability_is_how_often_the_value_is_kept():
    # with many values a redraw almost never hits the truth
    response = KaryRandomisedResponse(epsilon=9.0, k=10_000)
    kept = (response.release(np.full(100_000, 7), np.random.default_rng(19)) == 7).mean()
    expected = keep_probability(9.0, 10_000)
    assert abs(kept - response.truth_probability) < 4 * math.sqrt(expected * (1 - expected) / 100_000)
