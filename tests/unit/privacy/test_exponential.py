"""Selection by score: exact probabilities, their privacy, and how far the choice lies below the best."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate

from privexplorer.errors import ParameterError
from privexplorer.privacy import ZCDP, ExponentialMechanism, PureDP, ReportNoisyMax

BOTH_NOISES = [ReportNoisyMax(noise="exponential"), ReportNoisyMax(noise="gumbel")]


def test_gold_probabilities_of_the_exponential_mechanism():
    # scores 3.5, 0, 0 at ε = 1, sensitivity 1: hypothesis_selection, gold case 14
    law = ExponentialMechanism(epsilon=1.0).probabilities([3.5, 0.0, 0.0], 1.0)
    np.testing.assert_allclose(law, [0.7420886558, 0.1289556721, 0.1289556721], rtol=1e-9)


def test_exponential_noise_agrees_with_quadrature_over_the_largest_score():
    scores, scale = np.array([0.3, 1.1, -0.4, 1.0]), 2.0 / 0.8
    law = ReportNoisyMax(epsilon=0.8, noise="exponential").probabilities(scores, 1.0)
    for i in range(4):

        def density(x, i=i):
            others = [1 - math.exp(-(x - s) / scale) if x > s else 0.0 for j, s in enumerate(scores) if j != i]
            return math.exp(-(x - scores[i]) / scale) / scale * math.prod(others)

        direct = integrate.quad(density, scores.max(), scores.max() + 60 * scale, limit=300)[0]
        assert law[i] == pytest.approx(direct, rel=1e-8)


@pytest.mark.parametrize("mechanism", [ExponentialMechanism(), *BOTH_NOISES], ids=["exp", "rnm-exp", "rnm-gumbel"])
@pytest.mark.parametrize("k", [1, 2, 7, 400, 5000])
def test_probabilities_add_up_and_follow_the_scores(mechanism, k):
    scores = np.random.default_rng(k).normal(size=(2, k)) * 3
    law = mechanism.probabilities(scores, 1.0)
    assert law.shape == (2, k)
    np.testing.assert_allclose(law.sum(axis=-1), 1.0, rtol=1e-10)
    for row in range(2):
        order = np.argsort(scores[row])
        assert np.all(np.diff(law[row][order]) >= -1e-15)


def test_equal_scores_share_alike_and_no_noise_takes_the_best():
    for mechanism in (ExponentialMechanism(), *BOTH_NOISES):
        np.testing.assert_allclose(mechanism.probabilities(np.zeros(3000), 1.0), 1 / 3000, rtol=1e-9)
        np.testing.assert_allclose(mechanism.probabilities([1.0, 3.0, 3.0], 0.0), [0, 0.5, 0.5], rtol=1e-12)
        picks = mechanism.release(np.tile([1.0, 3.0, 3.0], (200, 1)), 0.0, np.random.default_rng(0))
        assert set(picks.tolist()) == {1, 2}
        # far scores underflow to zero without a warning
        assert mechanism.probabilities([0.0, 1e9], 1.0)[0] == 0.0


def test_exponential_noise_is_never_worse():
    rng = np.random.default_rng(8)
    for _ in range(50):
        scores = rng.normal(size=6) * rng.uniform(0.1, 10)
        gaps = [
            float((mechanism.probabilities(scores, 1.0) * (scores.max() - scores)).sum()) for mechanism in BOTH_NOISES
        ]
        assert gaps[0] <= gaps[1] + 1e-12
        assert gaps[1] <= BOTH_NOISES[1].expected_gap_bound(6, 1.0)


def neighbours(scores, monotone):
    """All score vectors that one record may turn these into, at the corners of the allowed change."""
    steps = (0.0, 1.0) if monotone else (-1.0, 1.0)
    for change in itertools.product(steps, repeat=len(scores)):
        yield scores + np.array(change)


def largest_log_ratio(mechanism, monotone):
    worst = 0.0
    for scores in ([0.0, 0.0], [0.0, 2.0, 1.0], [-80.0, 0.0, 0.0], [-30.0, 0.0]):
        law = mechanism.probabilities(np.array(scores), 1.0)
        for other in neighbours(np.array(scores), monotone):
            worst = max(worst, float(np.max(np.abs(np.log(law) - np.log(mechanism.probabilities(other, 1.0))))))
    return worst


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", [0.4, 2.0])
@pytest.mark.parametrize("kind", ["exponential", "rnm-exponential", "rnm-gumbel"])
def test_guarantee_is_met_nearly_attained_and_a_tenth_less_noise_breaks_it(kind, epsilon, monotone):
    def make(level):
        if kind == "exponential":
            return ExponentialMechanism(epsilon=level, monotone=monotone)
        return ReportNoisyMax(epsilon=level, monotone=monotone, noise=kind.removeprefix("rnm-"))

    mechanism = make(epsilon)
    assert mechanism.guarantee() == PureDP(epsilon)
    worst = largest_log_ratio(mechanism, monotone)
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.98 * epsilon
    assert largest_log_ratio(make(epsilon / 0.9), monotone) > 1.05 * epsilon


def test_concentrated_levels():
    assert ExponentialMechanism(epsilon=2.0).concentrated() == ZCDP(0.5)
    assert ReportNoisyMax(epsilon=2.0, noise="gumbel").concentrated() == ZCDP(0.5)
    assert ReportNoisyMax(epsilon=2.0, noise="exponential").concentrated().rho == pytest.approx(2 * math.tanh(1.0))


def test_zcdp_of_the_exponential_mechanism_holds_for_its_own_law():
    mechanism = ExponentialMechanism(epsilon=1.5)
    rho, worst = mechanism.concentrated().rho, 0.0
    for scores in ([0.0, 0.0], [1.0, 0.0, 0.5], [2.0, 0.0], [-1.0, 0.0, 0.0]):
        p = mechanism.probabilities(scores, 1.0)
        for other in neighbours(np.array(scores), False):
            q = mechanism.probabilities(other, 1.0)
            for order in 1 + np.geomspace(1e-3, 50, 40):
                worst = max(worst, math.log(np.sum(p**order * q ** (1 - order))) / (order - 1) / order)
    assert worst <= rho
    assert worst > 0.9 * rho


@pytest.mark.parametrize("mechanism", [ExponentialMechanism(epsilon=0.7), *BOTH_NOISES])
def test_gap_bound_holds_exactly(mechanism):
    rng = np.random.default_rng(11)
    for failure in (0.5, 0.05):
        bound = mechanism.gap_bound(40, 1.0, failure)
        assert bound == pytest.approx(mechanism.scale(1.0) * math.log(40 / failure))
        for _ in range(20):
            scores = rng.normal(size=40) * 8
            law = mechanism.probabilities(scores, 1.0)
            assert law[scores < scores.max() - bound].sum() <= failure


def test_release_chooses_one_index_per_row():
    scores = np.zeros((4, 5, 3))
    for mechanism in (ExponentialMechanism(), *BOTH_NOISES):
        first = mechanism.release(scores, 1.0, np.random.default_rng(1))
        assert first.shape == (4, 5)
        np.testing.assert_array_equal(first, mechanism.release(scores, 1.0, np.random.default_rng(1)))
        assert int(mechanism.release([5.0], 1.0, np.random.default_rng(1))) == 0


def test_bad_scores_are_refused():
    with pytest.raises(ParameterError, match="at least one candidate"):
        ExponentialMechanism().probabilities([], 1.0)
    with pytest.raises(ParameterError, match="finite number"):
        ReportNoisyMax().release([0.0, math.nan], 1.0, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="at least one candidate; there are 0"):
        ExponentialMechanism().expected_gap_bound(0, 1.0)
    with pytest.raises(ParameterError, match="failure probability"):
        ExponentialMechanism().gap_bound(3, 1.0, 1.0)
    with pytest.raises(ParameterError, match="sensitivity must be"):
        ExponentialMechanism().scale(-1.0)
