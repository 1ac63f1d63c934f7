"""The corrected forms of the sources' slips (properties, section 10), and the price of privacy in closed form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import spec_reference as reference
from scipy import integrate, stats

from privexplorer import distributions, properties

plug_in, private_poly = properties.PlugIn(), properties.Polynomial(preset="private")
sgt, good_toulmin = properties.SmoothedGoodToulmin(), properties.GoodToulmin()


def test_two_symbols_move_and_up_to_four_fingerprint_entries_change() -> None:
    # E2
    changes = {
        sum(reference.fingerprint(x).get(i, 0) != reference.fingerprint(y).get(i, 0) for i in range(1, 8))
        for x, y in reference.neighbours(7, 3)
    }
    assert max(changes) == 4


def test_bound_of_the_source_fails_for_a_large_rate_near_one() -> None:
    # E3: exact over bound, from coefficients of the second route
    rate, t = 60.0, 1.022
    exact = reference.quadratic_sensitivity(reference.sgt_values(300, t, rate), 9)
    bound = 2 * (1 + math.exp(rate * (t - 1)))
    assert exact / bound == pytest.approx(1.14, abs=0.00501)
    chosen = properties.SmoothedGoodToulmin(smoothing_mean=rate)
    assert chosen.sensitivity(300, t) == pytest.approx(exact, rel=1e-9)


def thesis_shares(estimator: Any, ts: tuple[float, ...]) -> list[float]:
    """Exact sensitivity over the source's one, wherever the latter is called private."""
    return [
        estimator.sensitivity(n, t) / estimator.sensitivity(n, t, rule="thesis")
        for n in (2, 10, 300, 5000)
        for t in ts
        if estimator.is_private(t, "thesis")
    ]


@pytest.mark.parametrize("rate", [None, 1.0, 5.0, 15.0, 25.0, 60.0, 100.0])
def test_noise_that_is_called_private_covers_the_exact_sensitivity(rate: float | None) -> None:
    chosen = properties.SmoothedGoodToulmin(smoothing_mean=rate)
    assert max(thesis_shares(chosen, (1.001, 1.017, 1.022, 1.04, 1.2, 2.0, 5.0)), default=0.0) <= 1 + 1e-12


def test_noise_below_one_sample_ahead() -> None:
    # E3 and E13: for t up to 1 the exact value is (1 + t)^2; max(t, 0.01) of the public code is less
    for t in (0.0, 0.2, 0.7, 1.0):
        for estimator in (good_toulmin, sgt):
            assert estimator.sensitivity(50, t) == pytest.approx((1 + t) ** 2, rel=1e-12)
            if estimator.is_private(t, "thesis"):
                assert estimator.sensitivity(50, t, rule="thesis") >= (1 + t) ** 2 * (1 - 1e-12)
            assert estimator.sensitivity(50, t, rule="paper_code") == pytest.approx(max(t, 0.01), rel=1e-12)
            assert not estimator.is_private(t, "paper_code")


def test_bias_and_variance_bounds_of_the_plug_in() -> None:
    # E5 and E6, Lemma 32
    assert properties.plug_in_bias_bound(20, 10) == pytest.approx(math.log(1.45), rel=1e-12)
    assert properties.plug_in_bias_bound(20, 10, form="chi-square") == pytest.approx(0.45, rel=1e-12)
    assert properties.plug_in_bias_bound(20, 10, form="thesis") == pytest.approx(0.5, rel=1e-12)
    assert properties.plug_in_variance_bound(100) == pytest.approx(math.log(100) ** 2 / 100, rel=1e-12)
    delta = plug_in.sensitivity(100, 50)
    assert properties.bounded_difference_variance(100, delta) == pytest.approx(25 * delta**2, rel=1e-12)


def test_sparse_condition_in_both_forms() -> None:
    # E10: the printed condition has another logarithm
    k, accuracy, epsilon = 1000, 0.1, 1.0
    rate = math.log(30)
    correct = k * rate**2 / (math.log(accuracy * epsilon * k / 2 - 1) + 2 * rate)
    printed = k * rate**2 / (math.log(accuracy * epsilon * k / 2) + rate)
    assert properties.support_privacy_sample_size(k, accuracy, epsilon) == pytest.approx(correct, rel=1e-12)
    assert properties.support_privacy_sample_size(k, accuracy, epsilon, printed=True) == pytest.approx(
        printed, rel=1e-12
    )


def test_noise_of_the_public_code_depends_on_the_data() -> None:
    # E12
    assert not private_poly.is_private("paper_code")
    assert private_poly.is_private("exact")
    n = k = 1000
    values = reference.polynomial_values(n, *reference.polynomial_parameters(k, "private"), top=12)
    with_unseen = np.array([500, 300, 150, 50] + [0] * 996)
    assert properties.paper_code_sensitivity(with_unseen, k) == pytest.approx(2 * abs(values[1] - values[0]), rel=1e-9)
    with pytest.raises(ValueError, match="N = 7"):
        properties.paper_code_sensitivity(np.full(100, 50), 100)
    # the definition, over the counts at most N that are present
    counts = np.array([9] * 95 + [8, 7, 5, 5, 3])
    small = reference.polynomial_values(883, *reference.polynomial_parameters(100, "private"), top=8)
    expected = 2 * max(abs(small[j] - small[min(j + 1, 7)]) for j in (7, 5, 3))
    assert properties.paper_code_sensitivity(counts, 100) == pytest.approx(expected, rel=1e-8)


def test_price_of_privacy_in_closed_form() -> None:
    # section 2: bias^2 + variance + 2 Delta^2 / epsilon^2
    bias, variance, sensitivity = -0.3, 0.05, 0.02
    base = math.sqrt(bias**2 + variance)
    for growth in (0.05, 0.5, 1.0):
        epsilon = properties.epsilon_for_inflation(growth, sensitivity, base)
        expected = math.sqrt(2) * sensitivity / (base * math.sqrt((1 + growth) ** 2 - 1))
        assert epsilon == pytest.approx(expected, rel=1e-12)
        rmse = properties.private_rmse(bias, variance, sensitivity, epsilon)
        assert rmse == pytest.approx((1 + growth) * base, rel=1e-12)
        assert rmse == pytest.approx(math.sqrt(base**2 + 2 * sensitivity**2 / epsilon**2), rel=1e-12)


@pytest.mark.parametrize(
    ("k", "n", "small_cost", "doubling"),
    [
        (1000, 1000, (0.7, 1.1), (0.13, 0.21)),
        (1000, 500, (0.9, 1.4), (0.16, 0.26)),
        (100, 100, (1.8, 2.6), (0.33, 0.48)),
    ],
)
def test_epsilon_at_which_the_error_grows(
    k: int, n: int, small_cost: tuple[float, float], doubling: tuple[float, float]
) -> None:
    # section 8.2: ranges over the panels, from 100 trials each; 300 here, so four standard errors are about 18 %
    table, sensitivity = private_poly.table(n, k, private=True), private_poly.sensitivity(n, k)
    found = []
    for index, family in enumerate(distributions.figure_families(k, draw=0).values()):
        law = family.law()
        errors = table.estimate(law.sample_counts(n, 300, np.random.default_rng(index))) - law.entropy()
        base = float(np.sqrt(np.mean(errors**2)))
        found.append([properties.epsilon_for_inflation(growth, sensitivity, base) for growth in (0.05, 1.0)])
    low, high = np.min(found, axis=0), np.max(found, axis=0)
    for column, printed in enumerate((small_cost, doubling)):
        assert low[column] == pytest.approx(printed[0], rel=0.18)
        assert high[column] == pytest.approx(printed[1], rel=0.18)


def test_smaller_closed_forms() -> None:
    assert properties.support_coverage_records(200, 0.05) == pytest.approx(200 * math.log(60), rel=1e-12)
    assert properties.laplace_failure(0.25, 0.5) == pytest.approx(math.exp(-2), rel=1e-12)
    assert properties.inflation(0.4, 0.02, 0.3) == pytest.approx(
        math.sqrt(1 + 2 * 0.02**2 / (0.4**2 * 0.3**2)) - 1, rel=1e-12
    )
    target = 0.5
    epsilon = properties.epsilon_for_rmse(target, -0.3, 0.05, 0.02)
    assert epsilon == pytest.approx(math.sqrt(2) * 0.02 / math.sqrt(target**2 - 0.14), rel=1e-12)
    assert properties.epsilon_for_rmse(0.3, -0.3, 0.05, 0.02) is None
    assert properties.noise_share(5.0, 0.5, 1000) == pytest.approx(math.sqrt(2) * 10 / 1000, rel=1e-12)
    horizon = properties.prediction_horizon(np.array([1.0, 2.0, 4.0]), np.array([0.1, 0.2, 0.4]), 0.3)
    assert horizon == pytest.approx(3.0, rel=1e-12)


def test_sensitivity_condition_of_lemma_25() -> None:
    # D: the smallest n with sensitivity at most accuracy * epsilon, by looking at every n
    limit = 0.1 * 0.5
    by_hand = next(n for n in range(2, 10_000) if stats.bernoulli(1 / n).entropy() <= limit)
    found = properties.sensitivity_sample_size(lambda n: plug_in.sensitivity(n, 10), limit)
    assert found == by_hand

    # and the other way round: the smallest epsilon at which a rate asks for at most n records
    def records(epsilon: float) -> float:
        return properties.coin_sample_size(0.1, epsilon)

    assert properties.smallest_epsilon(records, 150.0) == pytest.approx(10 / 50, rel=1e-6)


def test_parts_of_a_simulated_error() -> None:
    rng = np.random.default_rng(5)
    estimates = rng.normal(2.5, 0.4, 400)
    parts = properties.error_parts(estimates, 2.0)
    errors = estimates - 2.0
    assert parts.trials == 400
    assert parts.bias == pytest.approx(errors.mean(), rel=1e-12)
    assert parts.mse == pytest.approx(np.mean(errors**2), rel=1e-12)
    assert parts.variance == pytest.approx(parts.mse - parts.bias**2, rel=0.01)
    assert parts.bias_std_error == pytest.approx(errors.std(ddof=1) / 20, rel=0.01)
    rmse, error = reference.rmse_with_error(errors)
    assert parts.rmse == pytest.approx(rmse, rel=1e-12)
    assert parts.rmse_std_error == pytest.approx(error, rel=0.01)


def test_clipped_release_error_by_quadrature() -> None:
    values, target, scale = np.array([0.2, 1.4, 3.0]), 1.0, 0.6
    measured = properties.private_squared_errors(values, target, 0.3, 0.5, low=0.0, high=2.0)
    law = stats.laplace(scale=scale)
    for value, error in zip(values, measured, strict=True):
        inside, _ = integrate.quad(
            lambda x, v=value: (x - target) ** 2 * law.pdf(x - v), 0, 2, points=[min(value, 2.0)], epsabs=1e-12
        )
        expected = inside + target**2 * law.cdf(-value) + (2 - target) ** 2 * law.sf(2 - value)
        assert error == pytest.approx(expected, rel=1e-8)


def test_hard_pairs_know_their_size_and_gap() -> None:
    pair = properties.coverage_pair(100, 0.1)
    # one alphabet for both: the m (1 + accuracy) symbols of the first and the heavy one of the second
    assert pair.first.k == pair.second.k == 111
    assert (pair.first.support_size(), pair.second.support_size()) == (110, 101)
    assert pair.gap == pytest.approx(65.86593164 - 60.8780471, rel=1e-8)
    assert pair.sample_size(0.5) == pytest.approx(1.1 / (0.5 * 0.1), rel=1e-12)
    for law, n in ((pair.first.law(), 110), (pair.second.law(), 101)):
        assert law.support_size() == n
        assert math.fsum(law.probabilities) == pytest.approx(1.0, abs=1e-12)
    pair = properties.support_pair(100, 0.1)
    assert (pair.first.support_size(), pair.second.support_size()) == (100, 90)


def test_edits_between_simulated_samples() -> None:
    first = distributions.Uniform(k=100).law().sample_fingerprints(50, 20, np.random.default_rng(1))
    second = distributions.Uniform(k=200).law().sample_fingerprints(50, 20, np.random.default_rng(2))
    edits = properties.nested_edits(first, second)
    assert edits.shape == (1, 20)
    for trial in range(20):
        one, two = (
            {i: int(c) for i, c in enumerate(sample.dense()[trial]) if i > 0 and c > 0} for sample in (first, second)
        )
        assert edits[0, trial] == properties.fingerprint_edits(one, two)
