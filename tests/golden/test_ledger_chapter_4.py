"""One test per labelled item of the chapter on property estimation; the Sources page maps row to test.

A row ``T-Eq4.1`` is witnessed by ``test_T_Eq4_1``. Rows whose check is a simulated figure stand in
``tests/statistical/test_spec_properties.py`` under the same naming rule.
"""

from __future__ import annotations

import ast
import json
import math
from pathlib import Path

import numpy as np
import pytest
import spec_reference as reference
from scipy import stats

from privexplorer import distributions, properties
from privexplorer.privacy import Laplace, LaplaceNoise

HERE = Path(__file__).resolve().parent

COUNTS = np.array([5, 3, 2, 1, 1])
plug_in = properties.PlugIn()
miller_madow = properties.MillerMadow()
private_poly = properties.Polynomial(preset="private")
open_poly = properties.Polynomial(preset="non-private")
sgt = properties.SmoothedGoodToulmin()
good_toulmin = properties.GoodToulmin()
RATES_AND_T = [(r, t) for r in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0) for t in (1.01, 1.2, 2.0, 3.5, 6.0, 10.0)]


# ------------------------------------------------------------------------------------------- 4.2: what is estimated


def test_T_H_def() -> None:
    assert distributions.Uniform(k=10).law().entropy() == pytest.approx(2.302585093, rel=1e-9)
    p = np.random.default_rng(1).dirichlet(np.ones(50))
    law = distributions.DiscreteLaw(p)
    assert law.entropy() == pytest.approx(reference.entropy(p), rel=1e-12)
    assert law.entropy(unit="bits") == pytest.approx(reference.entropy(p) / math.log(2), rel=1e-12)


def test_T_S_def() -> None:
    assert distributions.DiscreteLaw(np.array([0.5, 0.5, 0.0])).support_size() == 2
    assert distributions.Zipf(k=123, exponent=2.0).law().support_size() == 123


def test_T_Sm_def() -> None:
    law = distributions.Zipf(k=100, exponent=1.0).law()
    assert law.coverage(50) == pytest.approx(26.71477559, rel=1e-9)
    for m in (0, 1, 7, 5000):
        assert law.coverage(m) == pytest.approx(reference.coverage(reference.zipf(100, 1.0), m), rel=1e-12)
    edge = distributions.DiscreteLaw(np.array([1.0, 0.0]))
    assert edge.coverage(3) == 1.0
    assert edge.coverage(0) == 0.0
    np.testing.assert_allclose(law.coverage(np.array([1, 50])), [1.0, 26.71477559], rtol=1e-9)


def test_T_PE() -> None:
    # plug-in entropy of a fair coin to within 0.1: the failure probability is a binomial sum, so the smallest n
    # is known exactly and a simulation must find it
    target, accuracy = math.log(2), 0.1

    def exact_failure(n: int) -> float:
        j = np.arange(n + 1)
        values = reference.plug_in_values(n)
        wrong = np.abs(values[j] + values[n - j] - target) > accuracy
        return float(np.sum(stats.binom.pmf(j, n, 0.5)[wrong]))

    law = distributions.Uniform(k=2).law()
    rng = np.random.default_rng(20)
    trials = 40_000
    first_exact = first_simulated = None
    for n in range(2, 13):
        estimates = plug_in.table(n, 2, private=False).estimate(law.sample_counts(n, trials, rng))
        simulated = np.mean(np.abs(estimates - target) > accuracy)
        exact = exact_failure(n)
        assert abs(simulated - exact) <= 4 * math.sqrt(exact * (1 - exact) / trials) + 1e-12
        first_exact = first_exact or (n if exact <= 1 / 3 else None)
        first_simulated = first_simulated or (n if simulated <= 1 / 3 else None)
    assert first_exact == first_simulated is not None


def test_T_Median() -> None:
    assert [properties.boosting_blocks(b, exact=False) for b in (0.1, 0.05, 0.01)] == [42, 54, 83]
    assert [properties.boosting_blocks(b) for b in (0.1, 0.05, 0.01)] == [15, 23, 47]
    for failure in (0.2, 0.1, 0.05, 0.01, 0.001):
        blocks = properties.boosting_blocks(failure)
        assert reference.binomial_median_failure(blocks, 1 / 3) <= failure
        assert all(reference.binomial_median_failure(fewer, 1 / 3) > failure for fewer in range(1, blocks, 2))


def test_T_Lem25() -> None:
    accuracy = 0.3
    noise = LaplaceNoise(accuracy / 4)
    assert 2 * noise.survival(accuracy / 2) == pytest.approx(math.exp(-2), rel=1e-12)
    start = 1 / 3 + math.exp(-2)
    assert start == pytest.approx(0.4687, abs=5e-5)
    assert start < 0.5
    assert properties.boosting_blocks(1 / 3, start=start) == 47
    assert properties.boosting_blocks(1 / 3, start=start, exact=False) == 560
    # the price: at an n with sensitivity <= accuracy * epsilon / 4 the private failure is at most the
    # non-private one plus e^-2 (fair coin, n and noise exact)
    n, epsilon = 200, 1.0
    assert properties.PlugIn().sensitivity(n, 2) <= accuracy * epsilon / 4
    values = reference.plug_in_values(n)
    j = np.arange(n + 1)
    errors = values[j] + values[n - j] - math.log(2)
    law = Laplace(epsilon=epsilon).noise(plug_in.sensitivity(n, 2))
    failure = np.sum(stats.binom.pmf(j, n, 0.5) * (law.survival(accuracy - errors) + law.cdf(-accuracy - errors)))
    unprotected = np.sum(stats.binom.pmf(j, n, 0.5)[np.abs(errors) > accuracy / 2])
    assert failure <= unprotected + math.exp(-2)


def test_T_CoinRef() -> None:
    assert properties.coin_sample_size(0.1, 0.1) == pytest.approx(200.0, rel=1e-12)
    assert properties.coin_sample_size(0.05, 2.0) == pytest.approx(400.0 + 10.0, rel=1e-12)


def test_T_McD() -> None:
    n, k, trials = 60, 8, 20_000
    law = distributions.Zipf(k=k, exponent=1.0).law()
    sensitivity = plug_in.sensitivity(n, k)
    table = plug_in.table(n, k, private=False)
    deviations = np.abs(
        table.estimate(law.sample_counts(n, trials, np.random.default_rng(4))) - table.mean(law.probabilities)
    )
    assert np.std(deviations) > 0
    for z in (0.1, 0.2, 0.4, 0.8):
        bound = properties.mcdiarmid_tail(z, n, sensitivity)
        assert min(bound, 1.0) == pytest.approx(min(2 * math.exp(-2 * z**2 / (n * sensitivity**2)), 1.0), rel=1e-12)
        assert np.mean(deviations >= z) <= bound + 3 / math.sqrt(trials)
    # neither the bound nor the simulation is vacuous: at 1.9 standard deviations the bound is below one
    assert properties.mcdiarmid_tail(0.8, n, sensitivity) < 0.15


def test_T_McD_counter() -> None:
    # the empirical distribution moves by 2/n in l1 whatever k is, so it concentrates as well as the entropy;
    # but k coordinates need noise each, and the added error grows in proportion to k at fixed n
    n, epsilon = 500, 1.0
    noise = Laplace(epsilon=epsilon).noise(2 / n)
    added = []
    for k in (10, 20, 40):
        cells = noise.sample((4000, k), np.random.default_rng(k))
        total = np.abs(cells).sum(axis=1)
        expected = k * 2 / (n * epsilon)
        assert abs(total.mean() - expected) <= 4 * total.std() / math.sqrt(len(total))
        added.append(total.mean())
    assert added[2] / added[0] == pytest.approx(4.0, rel=0.05)
    assert plug_in.sensitivity(n, 10) == plug_in.sensitivity(n, 40)


def test_T_GT_claim() -> None:
    for t in (0.25, 0.5, 1.0):
        size = 12
        np.testing.assert_allclose(
            sgt.coefficients(100, t, size), 1 - (-t) ** np.arange(1, size + 1), rtol=1e-13, atol=1e-13
        )
        np.testing.assert_array_equal(sgt.table(100, t).values, good_toulmin.table(100, t).values)
    # m/2 samples: the estimator is unbiased to within exponentially small terms at t = 1
    law = distributions.Uniform(k=50).law()
    for n in (50, 200):
        bias = good_toulmin.table(n, 1.0).mean(law.probabilities) - law.coverage(2 * n)
        values = 1 - (-1.0) ** np.arange(n + 1)
        assert bias == pytest.approx(
            reference.exact_mean(values, n, np.full(50, 0.02)) - reference.coverage(np.full(50, 0.02), 2 * n), abs=1e-9
        )
        assert abs(bias) <= 0.5


# ------------------------------------------------------------------------------------------------- 4.3: sample sizes


def test_T_Thm8() -> None:
    bound = properties.coverage_sample_size(10_000, 0.1, 1.0)
    assert bound.upper == pytest.approx(4999.94572, rel=1e-9)
    assert bound.lower == pytest.approx(2510.0, rel=1e-9)
    # middle range 1/accuracy <= m <= 1/(accuracy epsilon), and the range m <= 1/accuracy
    middle = properties.coverage_sample_size(100, 0.1, 0.01)
    assert middle.upper == pytest.approx(1 / 0.01 + 1 / 0.001, rel=1e-12)
    small = properties.coverage_sample_size(8, 0.1, 0.5)
    assert small.upper == pytest.approx(64 + 16, rel=1e-12)
    assert len({bound.branch, middle.branch, small.branch}) == 3
    # m <= 1/accuracy is tested first: here m >= 1/(accuracy epsilon) holds as well
    both = properties.coverage_sample_size(8, 0.1, 20.0)
    assert both.upper == pytest.approx(64 + 8 / 20, rel=1e-12)


def test_T_Thm9() -> None:
    bound = properties.support_sample_size(1000, 0.1, 1.0)
    assert bound.upper == pytest.approx(1534.834793, rel=1e-9)
    assert bound.lower == pytest.approx(777.5283643, rel=1e-9)
    middle = properties.support_sample_size(50, 0.1, 0.05)
    assert middle.upper == pytest.approx(50 * math.log(10) + 200, rel=1e-12)
    assert middle.lower == pytest.approx(50 * math.log(10) ** 2 / math.log(50) + 200, rel=1e-12)
    small = properties.support_sample_size(8, 0.1, 0.5)
    assert small.upper == pytest.approx(8 * math.log(8) + 16, rel=1e-12)
    assert small.lower == pytest.approx(8 * math.log(8) + 16, rel=1e-12)


def test_T_Thm10() -> None:
    bound = properties.entropy_sample_size(1000, 0.1, 1.0, degree_exponent=0.5)
    assert bound.upper_1 == pytest.approx(14794.73415, rel=1e-9)
    assert bound.upper_2 == pytest.approx(10593.92417, rel=1e-9)
    assert bound.lower == pytest.approx(6288.434125, rel=1e-9)
    # where n < k the logarithm holds n: solved by bracketing, a second route
    k, accuracy, epsilon, exponent = 5000, 0.9, 0.7, 0.3
    small = properties.entropy_sample_size(k, accuracy, epsilon, degree_exponent=exponent)

    def middle(n: float) -> float:
        return math.log(min(k, max(n, 2.0))) ** 2 / accuracy**2

    price = 1 / (accuracy * epsilon)
    expected = (
        reference.fixed_point(lambda n: k / accuracy + middle(n) + price * max(0.0, math.log(price))),
        reference.fixed_point(
            lambda n: k / (exponent**2 * accuracy * math.log(k)) + middle(n) + price ** (1 + exponent)
        ),
        reference.fixed_point(lambda n: k / (accuracy * math.log(k)) + middle(n) + price * math.log(k)),
    )
    assert expected[2] < k
    assert (small.upper_1, small.upper_2, small.lower) == pytest.approx(expected, rel=1e-9)


def test_T_Free() -> None:
    for slack in (0.2, 0.5, 0.8):
        for m in (1e4, 1e6, 1e9):
            epsilon = m ** (slack - 1)
            ratio = math.log(m) / math.log(2 + epsilon * m)
            assert ratio < 1 / slack
            bound = properties.coverage_sample_size(m, 0.3, epsilon)
            if m >= 1 / (0.3 * epsilon):
                base = m * math.log(1 / 0.3) / math.log(m)
                assert bound.upper / base == pytest.approx(1 + ratio, rel=1e-12)
                assert bound.upper < base * (1 + 1 / slack)
    assert properties.coverage_sample_size(1e9, 0.3, 1e-8).upper > 2.5 * 1e9 * math.log(1 / 0.3) / math.log(1e9)


def test_T_Lambda() -> None:
    k, n = 2000, 1000
    degrees = (3, 5, 7, 10, 12, 14, 16)
    law = distributions.Uniform(k=k).law()
    cost, bias = [], []
    for degree in degrees:
        dial = properties.Polynomial(preset="custom", degree=degree, interval=2 * math.log(k), cutoff=12)
        table = dial.table(n, k, private=True)
        cost.append(n * table.sensitivity())
        bias.append(abs(table.mean(law.probabilities) - law.entropy()))
    np.testing.assert_allclose(cost, [7.4, 8.4, 9.1, 11.9, 36.5, 178.6, 1272.7], atol=0.0501)
    assert np.all(np.diff(cost) > 0)
    # high degree: low bias, high sensitivity
    assert bias[degrees.index(10)] < 0.25 * bias[0]


# --------------------------------------------------------------------------------------------- 4.4: the framework


def test_T_Framework() -> None:
    sensitivity, epsilon = 0.4, 0.5
    values = np.full(20_000, 1.0)
    released = properties.releases(values, sensitivity, epsilon, np.random.default_rng(3))
    noise = released - values
    assert stats.kstest(noise, stats.laplace(scale=sensitivity / epsilon).cdf).pvalue > 1e-3
    for factor in (0.9, 1.1):
        assert stats.kstest(noise, stats.laplace(scale=factor * sensitivity / epsilon).cdf).pvalue < 1e-6
    clipped = properties.releases(values, sensitivity, epsilon, np.random.default_rng(3), low=0.0, high=1.5)
    np.testing.assert_array_equal(clipped, np.clip(released, 0.0, 1.5))
    same = Laplace(epsilon=epsilon).release(values, sensitivity, np.random.default_rng(3))
    np.testing.assert_array_equal(same, released)
    # one answer: one draw
    one = properties.release(1.0, sensitivity, epsilon, np.random.default_rng(3))
    assert one == 1.0 + Laplace(epsilon=epsilon).noise(sensitivity).sample((1,), np.random.default_rng(3))[0]
    assert properties.release(9.0, sensitivity, epsilon, np.random.default_rng(3), low=0.0, high=1.5) == 1.5
    assert properties.release(0.25, 0.0, epsilon, np.random.default_rng(3)) == 0.25


# --------------------------------------------------------------------------------------------- 4.4.1: support coverage


def test_T_Batch() -> None:
    batch = properties.BatchCoverage()
    n, m, k, trials = 120, 30, 20, 4000
    law = distributions.Zipf(k=k, exponent=1.0).law()
    symbols = law.sample_symbols(n, trials, np.random.default_rng(8))
    estimates = batch.estimate(symbols, m)
    by_hand = [np.mean([len(set(block)) for block in row.reshape(n // m, m)]) for row in symbols[:50]]
    np.testing.assert_allclose(estimates[:50], by_hand, rtol=1e-12)
    assert abs(estimates.mean() - law.coverage(m)) <= 4 * estimates.std() / math.sqrt(trials)
    assert abs(0.9 * estimates.mean() - law.coverage(m)) > 40 * estimates.std() / math.sqrt(trials)
    assert estimates.var() <= m**2 / n
    t = (m - n) / n
    assert batch.sensitivity(n, t) == pytest.approx(m / n, rel=1e-12)
    assert batch.sensitivity(n, t, rule="thesis") == pytest.approx(2 * m / n, rel=1e-12)
    # 7 blocks of 17 records do not use the last record
    assert batch.sensitivity(120, (17 - 120) / 120) == pytest.approx(1 / 7, rel=1e-12)
    with pytest.raises(ValueError, match=r"\d"):
        batch.estimate(symbols, n + 1)
    with pytest.raises(ValueError, match=r"\d"):
        batch.sensitivity(n, 1 / n)


def test_T_SGT() -> None:
    np.testing.assert_allclose(
        sgt.coefficients(100, 2.0, 5),
        [2.634851628, -1.027761571, 2.943478737, -0.492464175, 1.948892265],
        rtol=1e-9,
    )
    # the survival function on a log scale: 1 - cdf spoils entries near i = 14 here
    n, t = 500, 10.0
    rate = reference.smoothing_rate(n, t)
    exact = reference.sgt_values(60, t, rate)[1:]
    np.testing.assert_allclose(sgt.coefficients(n, t, 60), exact, rtol=1e-9)
    careless = 1 - (-t) ** np.arange(1, 61) * (1 - stats.poisson.cdf(np.arange(60), rate))
    assert np.max(np.abs(careless[:20] - exact[:20])) > 1e-4


def test_T_Lem26() -> None:
    largest_share = 0.0
    for rate, t in RATES_AND_T:
        chosen = properties.SmoothedGoodToulmin(smoothing_mean=rate)
        coefficients = chosen.coefficients(1000, t, 400)
        np.testing.assert_allclose(coefficients[:60], reference.sgt_values(60, t, rate)[1:], rtol=1e-9, atol=1e-12)
        bound = 1 + math.exp(rate * (t - 1))
        assert np.max(np.abs(coefficients)) <= bound
        assert properties.sgt_sensitivity_bound(rate, t) == pytest.approx(2 * bound, rel=1e-12)
        largest_share = max(largest_share, np.max(np.abs(coefficients)) / bound)
    # the bound is not loose everywhere, so a table wrong by a tenth would show
    assert largest_share > 0.92


def test_T_Lem27() -> None:
    n, k, t = 500, 1000, 2.0
    law = distributions.Uniform(k=k).law()
    bias = sgt.table(n, t, k).mean(law.probabilities) - law.coverage(n * (1 + t))
    bound = properties.sgt_bias_bound(properties.smoothing_rate(n, t), t, n * (1 + t), k)
    assert bias == pytest.approx(-7.2, abs=0.0501)
    assert bound == pytest.approx(140.5, abs=0.0501)
    for exponent, t_grid in ((0.0, 1.5), (1.0, 3.0), (0.5, 5.0)):
        p = reference.zipf(200, exponent)
        rate = reference.smoothing_rate(100, t_grid)
        exact = reference.exact_mean(reference.sgt_values(100, t_grid, rate), 100, p)
        measured = sgt.table(100, t_grid, 200).mean(p)
        assert measured == pytest.approx(exact, rel=1e-9)
        gap = abs(measured - reference.coverage(p, 100 * (1 + t_grid)))
        assert gap <= properties.sgt_bias_bound(rate, t_grid, 100 * (1 + t_grid), 200)


def test_T_SGTn() -> None:
    for m, accuracy in ((1e4, 0.1), (1e6, 0.01)):
        bound = properties.coverage_sample_size(m, accuracy, 1.0)
        expected = m * math.log(1 / accuracy) / math.log(m)
        assert any(term == pytest.approx(expected, rel=1e-12) for term in np.ravel(_numbers(bound.terms)))
        # as epsilon grows only this term stays
        free = properties.coverage_sample_size(m, accuracy, 1e250)
        assert free.upper == pytest.approx(expected * (1 + math.log(m) / math.log(1e250 * m)), rel=1e-9)


def test_T_Eq4_1() -> None:
    n, t = 10_000, 3.0
    exact, thesis = sgt.sensitivity(n, t), sgt.sensitivity(n, t, rule="thesis")
    assert exact == pytest.approx(39.83156705, rel=1e-9)
    assert thesis == pytest.approx(88.1773876, rel=1e-9)
    # with the experimental rate the exact value stays below the bound, ratio 0.33 to 1.00
    shares = [
        sgt.sensitivity(n, t) / sgt.sensitivity(n, t, rule="thesis")
        for n in (10, 100, 1000, 50_000)
        for t in (1.001, 1.5, 2.0, 4.0, 7.0, 10.0)
    ]
    assert max(shares) <= 1.0
    assert min(shares) == pytest.approx(0.33, abs=0.01)


def test_T_SGTpriv() -> None:
    assert properties.sgt_privacy_sample_size(10_000, 0.1, 1.0) == pytest.approx(2613.290171, rel=1e-9)
    # at that n the thesis' bound is exactly accuracy * epsilon * m
    n, m, accuracy = properties.sgt_privacy_sample_size(10_000, 0.1, 1.0), 10_000, 0.1
    rate = math.log(3 / accuracy)
    assert properties.sgt_sensitivity_bound(rate, m / n - 1) == pytest.approx(accuracy * m, rel=1e-9)


def test_T_CovPair() -> None:
    m, accuracy = 100, 0.1
    pair = properties.coverage_pair(m, accuracy)
    assert pair.total_variation == pytest.approx(0.09090909091, rel=1e-9)
    assert tuple(pair.values) == pytest.approx((65.86593164, 60.8780471), rel=1e-9)
    one = np.full(110, 1 / 110)
    two = np.append(np.full(100, 1 / 110), 0.1 / 1.1)
    assert tuple(pair.values) == pytest.approx((reference.coverage(one, m), reference.coverage(two, m)), rel=1e-12)
    # erratum E8: the uniform one covers more
    assert pair.values[0] > pair.values[1]


def test_T_Lem28() -> None:
    # draw both samples from a coordinatewise maximal coupling; the mean Hamming distance is n times the distance
    rng = np.random.default_rng(28)
    n, trials = 40, 20_000
    for pair, p, q in (
        (
            properties.coverage_pair(20, 0.1),
            np.append(np.full(22, 1 / 22), 0.0),
            np.append(np.append(np.full(20, 1 / 22), [0.0, 0.0]), 0.1 / 1.1),
        ),
        (properties.support_pair(20, 0.25), np.full(20, 0.05), np.append(np.full(15, 1 / 15), np.zeros(5))),
    ):
        overlap = np.minimum(p, q)
        distance = 1 - overlap.sum()
        assert pair.total_variation == pytest.approx(distance, rel=1e-12)
        assert pair.expected_hamming(n) == pytest.approx(n * distance, rel=1e-12)
        common = rng.random((trials, n)) < overlap.sum()
        size = int(common.sum())
        rest = common.size - size
        first, second = np.empty(common.shape, dtype=int), np.empty(common.shape, dtype=int)
        first[common] = second[common] = rng.choice(len(p), size, p=overlap / overlap.sum())
        first[~common] = rng.choice(len(p), rest, p=(p - overlap) / (p - overlap).sum())
        second[~common] = rng.choice(len(p), rest, p=(q - overlap) / (q - overlap).sum())
        for sample, law in ((first, p), (second, q)):
            seen = np.bincount(sample.ravel(), minlength=len(law))[law > 0]
            assert stats.chisquare(seen, sample.size * law[law > 0]).pvalue > 1e-3
        for one, two in ((first, second), pair.coupled_samples(n, trials, rng)):
            assert one.shape == two.shape == (trials, n)
            hamming = (one != two).sum(axis=1)
            error = hamming.std() / math.sqrt(trials)
            assert abs(hamming.mean() - pair.expected_hamming(n)) <= 4 * error
            assert abs(0.9 * hamming.mean() - pair.expected_hamming(n)) > 4 * error


def test_T_Lem29() -> None:
    pair = properties.coverage_pair(100, 0.1)
    assert pair.expected_hamming(100) == pytest.approx(9.0909, abs=5e-5)
    assert pair.expected_hamming(100) == pytest.approx(0.1 * 100 / 1.1, rel=1e-12)


def test_T_CovLB() -> None:
    for m, accuracy, epsilon in ((10_000, 0.1, 1.0), (1000, 0.05, 0.01)):
        lower = properties.coverage_sample_size(m, accuracy, epsilon).lower
        base = m * math.log(1 / accuracy) / math.log(m)
        assert lower - base == pytest.approx(1 / (accuracy * epsilon), rel=1e-9)
        # the pair behind it: alpha n / (1 + alpha) changed records on average, at least about 1/epsilon
        pair = properties.coverage_pair(m, accuracy)
        n = (1 + accuracy) / (accuracy * epsilon)
        assert pair.expected_hamming(n) == pytest.approx(1 / epsilon, rel=1e-12)


# ------------------------------------------------------------------------------------------------ 4.4.2: support size


def _coverage_gap(k: int, accuracy: float) -> float:
    law = distributions.Uniform(k=k).law()
    return law.support_size() - float(law.coverage(k * math.log(3 / accuracy)))


def test_T_Lem30() -> None:
    assert _coverage_gap(100, 0.1) <= 3.33
    for k in (2, 10, 100, 5000):
        for accuracy in (0.01, 0.1, 0.5):
            gap = _coverage_gap(k, accuracy)
            assert 0 <= gap <= accuracy * k / 3
    # nearly attained at large k: a coverage wrong by a tenth would show
    assert _coverage_gap(5000, 0.5) >= 0.99 * 0.5 * 5000 / 3


def test_T_Eq4_2() -> None:
    # one symbol of mass at least 1/k stays unseen with probability at most (1 - 1/k)^m <= accuracy / 3
    for k in (2, 10, 100, 5000):
        for accuracy in (0.01, 0.1, 0.5):
            m = k * math.log(3 / accuracy)
            unseen = _coverage_gap(k, accuracy) / k
            assert unseen == pytest.approx((1 - 1 / k) ** m, rel=1e-7)
            assert unseen <= accuracy / 3


def test_T_Eq4_3() -> None:
    for k, n, accuracy in ((1000, 500, 0.1), (200, 90, 0.05)):
        sparse = properties.SparseSupport(accuracy=accuracy)
        assert sparse.ahead(n, k) == pytest.approx(k * math.log(3 / accuracy) / n - 1, rel=1e-12)


def test_T_SuppSparse() -> None:
    k, accuracy, epsilon = 1000, 0.1, 1.0
    bias_n = properties.support_bias_sample_size(k, accuracy)
    privacy_n = properties.support_privacy_sample_size(k, accuracy, epsilon)
    assert bias_n == pytest.approx(1079.680098, rel=1e-9)
    assert privacy_n == pytest.approx(1081.719749, rel=1e-9)
    rate = math.log(3 / accuracy)
    # both are the points at which the stated inequalities hold with equality
    assert math.exp(rate * (k * rate / bias_n - 2)) == pytest.approx(accuracy * k / 2, rel=1e-9)
    assert 2 * (1 + math.exp(rate * (k * rate / privacy_n - 2))) == pytest.approx(accuracy * epsilon * k, rel=1e-9)


def test_T_SuppDense() -> None:
    dense = properties.DenseSupport()
    assert properties.dense_support_estimate(COUNTS, 12, 6) == 5
    for n, k in ((12, 6), (40, 6), (100, 7), (19, 6), (18, 6)):
        assert dense.sensitivity(n, k) == pytest.approx(min(1.0, 3 * k / n), rel=1e-12)
        assert reference.quadratic_sensitivity(reference.dense_values(n, k), k) == pytest.approx(
            dense.sensitivity(n, k), rel=1e-12
        )
    counts = np.array([30, 40, 3, 0, 2, 25])
    assert properties.dense_support_estimate(counts, 100, 6) == pytest.approx(3 + 0.54 + 0.36, rel=1e-12)


def test_T_Chern() -> None:
    for k in (2, 5, 20, 100):
        for multiple in (1, 2, 9, 18):
            n = math.ceil(multiple * k * math.log(k))
            below = stats.binom.cdf(math.ceil(n / (3 * k)) - 1, n, 1 / k)
            bound = properties.rare_count_tail(n, k)
            assert bound == pytest.approx(math.exp(-2 * n / (9 * k)), rel=1e-12)
            assert below <= bound
    for k in (2, 10, 50):
        # exact recovery with probability at least 1 - k^-3
        n = properties.dense_recovery_size(k)
        assert n == pytest.approx(18 * k * math.log(k), rel=1e-12)
        assert k * properties.rare_count_tail(math.ceil(n), k) <= k**-3
    assert properties.dense_recovery_size(40, 0.1) == pytest.approx(9 * 40 * math.log(10), rel=1e-12)


def test_T_DenseY() -> None:
    k, accuracy, trials = 40, 0.1, 4000
    n = math.ceil(9 * k * math.log(1 / accuracy))
    law = distributions.Uniform(k=k).law()
    counts = law.sample_counts(n, trials, np.random.default_rng(162))
    estimates = properties.dense_support_estimate(counts, n, k)
    short = k - estimates
    assert np.all(short >= 0)
    assert np.mean(short >= accuracy * k) <= accuracy
    # erratum E11: missed with probability at most accuracy^2 each, so the mean shortfall is at most accuracy^2 k
    assert short.mean() <= accuracy**2 * k
    # and with an eighth of the sample the event is common, so the check has something to see
    few = n // 24
    fewer = k - properties.dense_support_estimate(law.sample_counts(few, trials, np.random.default_rng(163)), few, k)
    assert np.mean(fewer >= accuracy * k) > accuracy


def test_T_Lem31() -> None:
    for k, accuracy in ((100, 0.1), (1000, 0.25)):
        pair = properties.support_pair(k, accuracy)
        assert pair.total_variation == pytest.approx(accuracy, rel=1e-12)
        assert tuple(pair.values) == pytest.approx((k, (1 - accuracy) * k), rel=1e-12)
        assert pair.expected_hamming(50) == pytest.approx(50 * accuracy, rel=1e-12)


def test_T_SuppLB2() -> None:
    for k, accuracy in ((10, 0.05), (4, 0.2)):
        pair = properties.support_pair(k, accuracy)
        assert pair.total_variation == pytest.approx(1 / k, rel=1e-12)
        assert tuple(pair.values) == pytest.approx((k, k - 1), rel=1e-12)
        lower = properties.support_sample_size(k, accuracy, 0.2).lower
        assert lower == pytest.approx(k * math.log(k) + k / 0.2, rel=1e-12)


def test_T_Coupon() -> None:
    k, trials = 50, 2000
    law = distributions.Uniform(k=k).law()
    symbols = law.sample_symbols(1200, trials, np.random.default_rng(50))
    first_seen = np.stack([np.argmax(symbols == symbol, axis=1) for symbol in range(k)])
    assert all(np.all((symbols == symbol).any(axis=1)) for symbol in range(k))
    draws = first_seen.max(axis=0) + 1
    exact = k * math.fsum(1 / i for i in range(1, k + 1))
    assert abs(draws.mean() - exact) <= 4 * draws.std() / math.sqrt(trials)
    assert abs(0.9 * exact - draws.mean()) > 4 * draws.std() / math.sqrt(trials)
    assert exact == pytest.approx(k * (math.log(k) + 0.577), abs=0.6)


# ---------------------------------------------------------------------------------------------------- 4.4.3: entropy


def test_T_PlugIn() -> None:
    assert plug_in.table(12, 5, private=False).estimate(COUNTS) == pytest.approx(1.424129917, rel=1e-9)
    assert plug_in.table(1, 5, private=True).estimate(np.array([1, 0, 0, 0, 0])) == 0.0
    assert plug_in.sensitivity(1, 5) == 0.0


def test_T_Eq4_4() -> None:
    h = stats.bernoulli(0.01).entropy()
    assert plug_in.sensitivity(100, 1000) == pytest.approx(0.05600153435, rel=1e-9)
    assert plug_in.sensitivity(100, 1000) == pytest.approx(float(h), rel=1e-9)
    assert plug_in.sensitivity(100, 1000, rule="thesis") == pytest.approx(2 * math.log(100) / 100, rel=1e-12)
    assert plug_in.sensitivity(100, 1000, rule="thesis") == pytest.approx(0.0921, abs=5e-5)
    for n in range(2, 13):
        values = reference.plug_in_values(n)
        for k in (2, 3, 4):
            enumerated = reference.enumerated_sensitivity(values, n, k)
            assert plug_in.sensitivity(n, k) == pytest.approx(enumerated, rel=1e-12)
            assert enumerated <= 2 * math.log(n) / n
    i, j = plug_in.table(100, 1000, private=True).sensitivity_pair()
    assert sorted((int(i), int(j))) == [0, 99]


def test_T_Eq4_5() -> None:
    n, k = 20, 10
    law = distributions.Uniform(k=k).law()
    bias = law.entropy() - plug_in.table(n, k, private=False).mean(law.probabilities)
    assert bias == pytest.approx(0.2598, abs=5e-5)
    assert math.log(1 + (k - 1) / n) == pytest.approx(0.3716, abs=5e-5)
    assert bias <= math.log(1 + (k - 1) / n) <= k / n
    for exponent, size in ((0.5, 10), (1.0, 50), (2.0, 400)):
        p = reference.zipf(30, exponent)
        gap = reference.entropy(p) - plug_in.table(size, 30, private=False).mean(p)
        assert gap == pytest.approx(
            reference.entropy(p) - reference.exact_mean(reference.plug_in_values(size), size, p), rel=1e-9
        )
        assert 0 <= gap <= math.log(1 + 29 / size)


def test_T_Eq4_6() -> None:
    trials = 8000
    for k, n in ((10, 50), (100, 50)):
        law = distributions.Uniform(k=k).law()
        estimates = plug_in.table(n, k, private=False).estimate(law.sample_counts(n, trials, np.random.default_rng(46)))
        variance = float(estimates.var(ddof=1))
        assert variance <= math.log(n) ** 2 / n
        _, exact = reference.exact_uniform_moments(reference.plug_in_values(n), n, k)
        # relative standard error of a variance, from the fourth moment
        kurtosis = float(stats.kurtosis(estimates, fisher=False))
        assert abs(variance - exact) <= 4 * exact * math.sqrt((kurtosis - 1) / trials)


def test_T_Lem32() -> None:
    n, k = 40, 12
    p = np.full(k, 1 / k)
    tables = [
        plug_in.table(n, k, private=False),
        miller_madow.table(n, k, private=False),
        private_poly.table(n, k, private=True),
        open_poly.table(n, k, private=False),
        sgt.table(n, 2.0, k),
        good_toulmin.table(n, 0.5, k),
    ]
    counts = distributions.Uniform(k=k).law().sample_counts(n, 4000, np.random.default_rng(32))
    for table in tables:
        _, variance = reference.exact_uniform_moments(np.asarray(table.values), n, k)
        assert 0 < variance <= n * table.sensitivity() ** 2 / 4
        raw = np.asarray(table.values)[counts].sum(axis=1)
        assert float(raw.var()) == pytest.approx(variance, rel=0.15)
        assert table.mean(p) == pytest.approx(
            reference.exact_uniform_moments(np.asarray(table.values), n, k, table.constant)[0], rel=1e-9
        )


def test_T_WuYang() -> None:
    # the floor: Thm 10's lower bound with the privacy term gone
    k, accuracy = 1000, 0.1
    floor = properties.entropy_sample_size(k, accuracy, 1e9, degree_exponent=0.5).lower
    expected = k / (accuracy * math.log(k)) + math.log(k) ** 2 / accuracy**2
    assert floor == pytest.approx(expected, rel=1e-7)


def test_T_Lem33() -> None:
    k, accuracy, epsilon = 1000, 0.1, 0.01
    for exponent in (0.01, 0.3, 1.0):
        upper = properties.entropy_sample_size(k, accuracy, epsilon, degree_exponent=exponent).upper_2
        expected = (
            k / (exponent**2 * accuracy * math.log(k))
            + math.log(k) ** 2 / accuracy**2
            + (1 / (accuracy * epsilon)) ** (1 + exponent)
        )
        assert upper == pytest.approx(expected, rel=1e-9)
    for outside in (0.009, 1.01):
        with pytest.raises(ValueError, match=r"0\.01"):
            properties.entropy_sample_size(k, accuracy, epsilon, degree_exponent=outside)
    # the concrete estimator carries its own exact sensitivity instead
    table = private_poly.table(1000, k, private=True)
    assert private_poly.sensitivity(1000, k) == pytest.approx(
        reference.quadratic_sensitivity(np.asarray(table.values), k), rel=1e-9
    )


def test_T_Eq4_14() -> None:
    k, eta = 100, 0.05
    pair = properties.entropy_pair(k, eta)
    assert tuple(pair.values) == pytest.approx((2.168220785, 2.255738587), rel=1e-9)
    p = np.append(2 / 3, np.full(k - 1, 1 / (3 * (k - 1))))
    q = np.append((2 - eta) / 3, np.full(k - 1, (1 + eta) / (3 * (k - 1))))
    assert tuple(pair.values) == pytest.approx((reference.entropy(p), reference.entropy(q)), rel=1e-12)
    assert pair.total_variation == pytest.approx(eta / 3, rel=1e-12)
    assert pair.total_variation == pytest.approx(0.5 * np.abs(p - q).sum(), rel=1e-12)
    # erratum E9: the flatter one has more entropy
    assert pair.values[1] > pair.values[0]


def test_T_EntLB() -> None:
    k, accuracy = 1000, 0.1
    base = k / (accuracy * math.log(k)) + math.log(k) ** 2 / accuracy**2
    for epsilon in (1.0, 0.1):
        lower = properties.entropy_sample_size(k, accuracy, epsilon, degree_exponent=0.5).lower
        assert lower - base == pytest.approx(math.log(k) / (accuracy * epsilon), rel=1e-7)


# ------------------------------------------------------------------------------------------- 4.5: what was compared


def test_T_MM() -> None:
    assert miller_madow.table(12, 5, private=False).estimate(COUNTS) == pytest.approx(1.590796584, rel=1e-9)
    n = 200
    assert miller_madow.sensitivity(n, 50) == pytest.approx(plug_in.sensitivity(n, 50) + 1 / (2 * n), rel=1e-12)


def test_T_Poly() -> None:
    phi = {1: 20, 2: 9, 3: 4, 5: 2, 17: 1, 25: 1}
    counts = reference.histogram_of(phi, 100)
    for estimator, private, expected in ((private_poly, True, 3.336263354), (open_poly, False, 3.331023215)):
        table = estimator.table(102, 100, private=private)
        assert table.estimate_fingerprint(phi) == pytest.approx(expected, rel=1e-8)
        assert table.estimate(counts) == pytest.approx(expected, rel=1e-8)
    # "matched" is the private preset exactly when the release is private
    matched = properties.Polynomial()
    for private, estimator in ((True, private_poly), (False, open_poly)):
        np.testing.assert_array_equal(
            matched.table(102, 100, private=private).values, estimator.table(102, 100, private=private).values
        )


def test_T_PolyDeg() -> None:
    assert properties.polynomial_parameters(1000, "non-private")[0] == 11
    assert properties.polynomial_parameters(1000, "private")[0] == 9
    for k in (1, 2, 3, 50, 100, 2000, 10**6):
        for preset in ("private", "non-private"):
            expected = reference.polynomial_parameters(k, preset) if k > 1 else (1, None, 1)
            degree, interval, cutoff = properties.polynomial_parameters(k, preset)
            assert (degree, cutoff) == (expected[0], expected[2])
            if k > 1:
                assert interval == pytest.approx(expected[1], rel=1e-12)


def test_T_PolySens() -> None:
    assert private_poly.sensitivity(500, 1000) == pytest.approx(0.02283205728, rel=1e-8)
    assert open_poly.sensitivity(500, 1000) == pytest.approx(0.01772198717, rel=1e-8)
    for n in range(1, 9):
        for k in (2, 3):
            values = private_poly.table(n, k, private=True).values
            assert private_poly.sensitivity(n, k) == pytest.approx(
                reference.enumerated_sensitivity(list(values), n, k), rel=1e-9, abs=1e-12
            )


def test_T_Dists() -> None:
    k = 1000
    families = distributions.figure_families(k, draw=3)
    laws = [family.law().probabilities for family in families.values()]
    assert len(laws) == 6
    for p in laws:
        assert len(p) == k
        assert np.all(p > 0)
        assert math.fsum(p) == pytest.approx(1.0, abs=1e-12)
    for p, expected in zip(
        laws[:4],
        (np.full(k, 1 / k), reference.two_step(k), reference.zipf(k, 0.5), reference.zipf(k, 1.0)),
        strict=True,
    ):
        np.testing.assert_allclose(np.sort(p), np.sort(expected), rtol=1e-12)
    # a Dirichlet(a) vector: each coordinate is Beta(a, (k-1) a)
    for p, concentration in ((laws[4], 1.0), (laws[5], 0.5)):
        law = stats.beta(concentration, (k - 1) * concentration)
        assert stats.kstest(p, law.cdf).pvalue > 1e-3
        assert stats.kstest(p, stats.beta(1.5 - concentration, (k - 1) * (1.5 - concentration)).cdf).pvalue < 1e-6
    # compatibility flag of erratum E15
    shorter = distributions.figure_families(k, zipf_drop_last=True)
    assert [len(f.law().probabilities) for f in shorter.values()] == [k, k, k - 1, k - 1, k, k]


def test_T_SGTr() -> None:
    assert properties.smoothing_rate(100, 2.0) == pytest.approx(1.700598691, rel=1e-9)
    assert properties.smoothing_rate(100, 1.0) == properties.smoothing_rate(100, 1.001)
    assert properties.smoothing_rate(5000, 2.0, accuracy=0.1) == pytest.approx(math.log(10), rel=1e-12)
    rate = properties.smoothing_rate(100, 2.0)
    # erratum E1: the exponent is r (t - 1)
    assert sgt.sensitivity(100, 2.0, rule="thesis") == pytest.approx(2 * (1 + math.exp(rate)), rel=1e-12)
    assert sgt.sensitivity(100, 4.0, rule="thesis") == pytest.approx(
        2 * (1 + math.exp(3 * properties.smoothing_rate(100, 4.0))), rel=1e-12
    )


def test_T_Claim_cov() -> None:
    # cheap for large supports, costly for small ones: share of the noise at epsilon = 1, t = 5, n = k / 2
    t = 5.0
    shares = [Laplace(epsilon=1.0).noise(sgt.sensitivity(k // 2, t)).std / (k // 2 * t) for k in (100, 100_000)]
    assert shares[0] == pytest.approx(0.066, abs=5e-4)
    assert shares[1] == pytest.approx(0.0008, abs=5e-5)


def test_T_Twins() -> None:
    means = [float(distributions.Uniform(k=k).law().coverage(50)) for k in (100, 200)]
    assert means[0] == pytest.approx(39.5, abs=0.05)
    assert means[1] == pytest.approx(44.34, abs=0.005)
    # every changed record adds at most one symbol, so going from one mean to the other takes about five edits
    assert _mean_edits() == pytest.approx(means[1] - means[0], abs=1.5)
    rng = np.random.default_rng(7)
    distinct = [
        np.mean((distributions.Uniform(k=k).law().sample_counts(50, 4000, rng) > 0).sum(axis=1)) for k in (100, 200)
    ]
    np.testing.assert_allclose(distinct, means, atol=4 * 3.0 / math.sqrt(4000))
    assert 4.5 <= means[1] - means[0] <= 6


def _mean_edits() -> float:
    rng = np.random.default_rng(11)
    first, second = (distributions.Uniform(k=k).law().sample_counts(50, 200, rng) for k in (100, 200))
    return float(
        np.mean(
            [
                properties.fingerprint_edits(reference.fingerprint(one), reference.fingerprint(two))
                for one, two in zip(first, second, strict=True)
            ]
        )
    )


def test_edits_between_fingerprints_by_search() -> None:
    # breadth first over all partitions of n: one step takes a record from one symbol to another or to a new one
    n = 8
    frontier = {(1,) * n}
    steps: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    while frontier:
        part = frontier.pop()
        padded = (*part, 0)
        steps[part] = {
            tuple(sorted((count for count in moved if count), reverse=True)) for moved in reference.moves(padded)
        }
        frontier |= steps[part] - steps.keys()
    assert len(steps) == 22
    for start in steps:
        distance, shell = {start: 0}, {start}
        while shell:
            shell = {reached for part in shell for reached in steps[part]} - distance.keys()
            distance |= dict.fromkeys(shell, max(distance.values()) + 1)
        for end, expected in distance.items():
            assert properties.fingerprint_edits(reference.fingerprint(start), reference.fingerprint(end)) == expected, (
                start,
                end,
            )


# ---------------------------------------------------------------------------------------------------------- the map


def _numbers(terms: object) -> list[float]:
    values = terms.values() if isinstance(terms, dict) else terms
    return [float(value) for value in values]  # type: ignore[union-attr]


def test_every_row_of_the_chapter_names_an_existing_test() -> None:
    root = HERE.parents[1]
    witnesses = json.loads((root / "privexplorer/studies/ledger/witnesses.json").read_text("utf-8"))
    mapping = {row: node for row, node in witnesses.items() if row.startswith("T-")}
    assert len(mapping) == 68
    functions = {
        file: {
            item.name for item in ast.parse((root / file).read_text("utf-8")).body if isinstance(item, ast.FunctionDef)
        }
        for file in {node.partition("::")[0] for node in mapping.values()}
    }
    for row, node in mapping.items():
        file, _, name = node.partition("::")
        assert name == "test_" + row.replace("-", "_").replace(".", "_")
        assert name in functions[file], f"{row} has no test"
