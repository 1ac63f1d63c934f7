"""Randomised response and finite channels: gold values, levels by enumeration, unbiased frequencies."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privexplorer.errors import ParameterError
from privexplorer.privacy import (
    KaryRandomisedResponse,
    LocalDP,
    RandomisedResponse,
    channel_delta,
    channel_epsilon,
    channel_total_variation,
    checked_channel,
    epsilon_of_keep_probability,
    keep_probability,
)

ASYMMETRIC = np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
LEAKING = np.vstack([0.3 * np.eye(3), np.full((1, 3), 0.7)])  # shows the value with probability 0.3
RESPONSES = [RandomisedResponse(epsilon=0.8), KaryRandomisedResponse(epsilon=2.0, k=5), KaryRandomisedResponse(k=2)]


def test_gold_response_of_four_values():
    response = KaryRandomisedResponse(epsilon=math.log(3), k=4)
    inverse = response.inverse_channel()
    assert inverse[0, 0] == pytest.approx(2.5, rel=1e-12)
    assert inverse[0, 1] == pytest.approx(-0.5, rel=1e-12)
    assert response.total_variation().level == pytest.approx(1 / 3, rel=1e-12)
    assert keep_probability(0.5, 5) == pytest.approx(0.11484, abs=5e-6)


def test_gold_asymmetric_channel():
    assert channel_total_variation(ASYMMETRIC) == pytest.approx(0.6, rel=1e-12)
    assert channel_epsilon(ASYMMETRIC) == pytest.approx(1.94591014906, rel=1e-11)
    assert channel_delta(ASYMMETRIC, 0.5) == pytest.approx(0.53512787293, rel=1e-10)
    assert channel_delta(ASYMMETRIC, channel_epsilon(ASYMMETRIC)) == pytest.approx(0.0, abs=1e-15)


def test_gold_kept_with_uneven_noise():
    # keep with probability 0.4, else draw from (0.2, 0.5, 0.3)
    channel = 0.4 * np.eye(3) + 0.6 * np.array([0.2, 0.5, 0.3])[:, None]
    assert channel_total_variation(channel) == pytest.approx(0.4, rel=1e-12)
    assert channel_epsilon(channel) == pytest.approx(1.46633706879, rel=1e-11)
    assert channel_delta(channel, 1.0) == pytest.approx(0.193806180585, rel=1e-10)


@pytest.mark.parametrize("channel", [ASYMMETRIC, RESPONSES[1].channel(), LEAKING])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_slack_agrees_with_enumeration_of_all_events(channel, epsilon):
    reports, values = channel.shape
    worst = max(
        channel[list(event), x].sum() - math.exp(epsilon) * channel[list(event), y].sum()
        for size in range(reports + 1)
        for event in itertools.combinations(range(reports), size)
        for x, y in itertools.permutations(range(values), 2)
    )
    assert channel_delta(channel, epsilon) == pytest.approx(max(worst, 0.0), abs=1e-14)


def test_channels_that_rule_a_value_out_or_never_report():
    assert channel_epsilon(np.eye(2)) == math.inf
    assert channel_epsilon([[0.5, 0.5], [0.5, 0.5], [0.0, 0.0]]) == 0.0
    assert channel_delta(np.eye(2), 1e4) == 1.0


@pytest.mark.parametrize("response", RESPONSES, ids=["binary", "five", "two"])
def test_guarantee_is_met_with_equality_and_a_tenth_less_noise_breaks_it(response):
    channel = response.channel()
    np.testing.assert_allclose(channel.sum(axis=0), 1.0, rtol=1e-14)
    assert response.guarantee() == LocalDP(response.epsilon)
    assert channel_epsilon(channel) == pytest.approx(response.epsilon, rel=1e-12)
    assert channel_total_variation(channel) == pytest.approx(response.keep_probability, rel=1e-12)
    assert response.total_variation().level == pytest.approx(response.keep_probability, rel=1e-15)
    # a tenth less noise: the chance of redrawing is multiplied by 0.9
    kept = 1 - 0.9 * (1 - response.keep_probability)
    weaker = kept * np.eye(response.symbols) + (1 - kept) / response.symbols
    assert channel_epsilon(weaker) > 1.05 * response.epsilon


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 5.0, 40.0])
@pytest.mark.parametrize("k", [2, 3, 50])
def test_keep_probability_and_epsilon_are_inverse(epsilon, k):
    probability = keep_probability(epsilon, k)
    expected = (math.exp(epsilon) - 1) / (math.exp(epsilon) + k - 1)
    assert probability == pytest.approx(expected, rel=1e-9)
    if epsilon < 30:  # beyond, the probability is 1 to all digits
        assert epsilon_of_keep_probability(probability, k) == pytest.approx(epsilon, rel=1e-6)
    response = KaryRandomisedResponse(epsilon=epsilon, k=k)
    redrawn_true = (1 - response.keep_probability) / k
    assert response.truth_probability == pytest.approx(response.keep_probability + redrawn_true, rel=1e-12)


@pytest.mark.parametrize("response", RESPONSES, ids=["binary", "five", "two"])
def test_inverse_channel_turns_report_frequencies_back(response):
    k = response.symbols
    product = np.einsum("zx,xy->zy", response.inverse_channel(), response.channel())
    np.testing.assert_allclose(product, np.eye(k), atol=1e-13)
    truth = np.arange(1, k + 1) / np.arange(1, k + 1).sum()
    # whole counts with exactly the expected shares: the estimate is the truth
    n = 10**15
    reported = np.rint(n * np.einsum("zx,x->z", response.channel(), truth)).astype(np.int64)
    np.testing.assert_allclose(response.frequencies(reported), truth, atol=1e-12)


@pytest.mark.parametrize("response", RESPONSES[:2], ids=["binary", "five"])
def test_frequencies_and_their_covariance_are_exact_by_enumeration(response):
    # two people with given values: all k² pairs of reports, weighted by their probabilities
    k = response.symbols
    channel = response.channel()
    truth = np.zeros(k)
    truth[0] = truth[1] = 0.5
    for sampling in ("independent", "fixed"):
        laws = [channel[:, 0], channel[:, 1]] if sampling == "fixed" else [channel @ truth] * 2
        mean, second = np.zeros(k), np.zeros((k, k))
        for first, other in itertools.product(range(k), repeat=2):
            weight = laws[0][first] * laws[1][other]
            estimate = response.frequencies(np.bincount([first, other], minlength=k))
            mean += weight * estimate
            second += weight * np.outer(estimate, estimate)
        np.testing.assert_allclose(mean, truth, atol=1e-13)
        exact = second - np.outer(mean, mean)
        np.testing.assert_allclose(response.covariance(truth, 2, sampling), exact, atol=1e-12)
    # the estimated covariance is unbiased under independent sampling
    law = channel @ truth
    average = sum(
        law[a] * law[b] * law[c] * response.estimate(np.bincount([a, b, c], minlength=k)).covariance
        for a, b, c in itertools.product(range(k), repeat=3)
    )
    np.testing.assert_allclose(average, response.covariance(truth, 3), atol=1e-12)


def test_estimate_carries_standard_errors_that_shrink():
    response = KaryRandomisedResponse(epsilon=1.0, k=3)
    small, large = response.estimate([50, 30, 20]), response.estimate([5000, 3000, 2000])
    np.testing.assert_allclose(small.frequencies, large.frequencies)
    np.testing.assert_allclose(small.std_error / large.std_error, math.sqrt(9999 / 99), rtol=1e-12)
    np.testing.assert_allclose(small.covariance.sum(axis=0), 0.0, atol=1e-15)
    assert small.n == 100


def test_release_keeps_shape_and_counts():
    response = KaryRandomisedResponse(epsilon=1.0, k=4)
    values = np.arange(12).reshape(3, 4) % 4
    first = response.release(values, np.random.default_rng(6))
    assert first.shape == (3, 4)
    assert first.min() >= 0
    assert first.max() <= 3
    np.testing.assert_array_equal(first, response.release(values, np.random.default_rng(6)))
    counts = response.release_counts(np.array([[5, 0, 7, 1], [0, 0, 0, 9]]), np.random.default_rng(6))
    np.testing.assert_array_equal(counts.sum(axis=-1), [13, 9])
    assert response.release(np.array([], dtype=np.int64), np.random.default_rng(6)).size == 0


def test_bad_input_is_refused():
    response = RandomisedResponse()
    rng = np.random.default_rng(0)
    for values in ([0, 2], [-1, 0], [0.5, 1.0]):
        with pytest.raises(ParameterError, match="whole numbers from 0 to 1"):
            response.release(values, rng)
    with pytest.raises(ParameterError, match="one count for each of the 2 values"):
        response.frequencies([1, 2, 3])
    with pytest.raises(ParameterError, match="at least one report"):
        response.frequencies([0, 0])
    with pytest.raises(ParameterError, match="At least two reports"):
        response.estimate([1, 0])
    with pytest.raises(ParameterError, match="add up to one"):
        response.covariance([0.5, 0.6], 10)
    with pytest.raises(ParameterError, match="number of reports must be at least 1"):
        response.covariance([0.5, 0.5], 0)
    with pytest.raises(ParameterError, match="below 1; it is 1"):
        epsilon_of_keep_probability(1.0, 3)
    with pytest.raises(ParameterError, match="k must be at least 2"):
        keep_probability(1.0, 1)


def test_what_is_no_channel_is_refused():
    with pytest.raises(ParameterError, match="exchange rows and columns"):
        checked_channel(ASYMMETRIC.T)
    with pytest.raises(ParameterError, match="check the entries"):
        checked_channel([[0.5, 0.5], [0.4, 0.5]])
    with pytest.raises(ParameterError, match="between 0 and 1"):
        checked_channel([[1.5, 0.0], [-0.5, 1.0]])
    with pytest.raises(ParameterError, match="row per report"):
        checked_channel([0.5, 0.5])
