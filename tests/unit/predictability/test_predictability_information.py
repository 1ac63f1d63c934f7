"""Information, the exact toys, Thm 2.5 in both directions, and the worst case."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import betabinom

from privexplorer import predictability as pr
from privexplorer.errors import ParameterError
from privexplorer.privacy import GaussianNoise, LaplaceNoise


def test_entropy_and_information() -> None:
    np.testing.assert_allclose(pr.binary_entropy([0.0, 0.5, 1.0]), [0, math.log(2), 0])
    channel = np.array([[0.7, 0.2, 0.1], [0.3, 0.5, 0.1], [0.0, 0.3, 0.8]])
    prior = np.array([0.5, 0.3, 0.2])
    joint = channel * prior
    terms = [
        joint[z, x] * math.log(joint[z, x] / (joint[z].sum() * prior[x]))
        for z in range(3)
        for x in range(3)
        if joint[z, x]
    ]
    assert pr.mutual_information(channel, prior) == pytest.approx(sum(terms), rel=1e-12)
    with pytest.raises(ParameterError, match="one probability per input"):
        pr.mutual_information(channel, [0.5, 0.5])


def test_capacity_is_the_worst_prior() -> None:
    """Def 2.6: the supremum over priors on a grid, for symmetric and asymmetric channels."""
    for channel in ([[0.75, 0.25], [0.25, 0.75]], [[1.0, 0.3], [0.0, 0.7]], [[0.9, 0.2], [0.1, 0.8]]):
        level, worst = pr.mi_dp_level(channel)
        grid = np.linspace(0, 1, 501)
        values = [pr.mutual_information(channel, [p, 1 - p]) for p in grid]
        assert level == pytest.approx(max(values), rel=1e-5)
        assert worst[0] == pytest.approx(grid[int(np.argmax(values))], abs=3e-3)


@given(st.floats(0.001, 8.0), st.floats(0.0, 1.0))
def test_randomised_response_stays_below_epsilon(epsilon: float, prior: float) -> None:
    """Thm A.9, R6: MI <= ε; equals the channel's; the worst prior is 1/2 (Def 2.6)."""
    f = 1 / (1 + math.exp(epsilon))
    found = pr.randomised_response_information(epsilon, prior)
    direct = pr.mutual_information([[1 - f, f], [f, 1 - f]], [prior, 1 - prior])
    assert found == pytest.approx(direct, rel=1e-8, abs=1e-12)
    assert found <= min(epsilon, pr.randomised_response_information(epsilon) + 1e-12)


def test_conversions() -> None:
    """R1, R4, Thm 2.7."""
    assert pr.mi_dp_to_slack(0.3) == pytest.approx(0.7745966692)
    assert [pr.mi_dp_to_slack(eps) for eps in (0.5, 0.7, 2.0)] == [1.0, 1.0, 1.0]
    assert pr.mi_dp_to_slack(0.0) == 0.0
    assert pr.mi_dp_from_predictability(0.2, 4) == 0.2
    assert pr.mi_dp_from_predictability(0.2, 4, "fixed") == pytest.approx(0.4)
    assert pr.mi_dp_from_predictability(0.2, 5, "fixed") == pytest.approx(0.6)
    np.testing.assert_allclose(pr.belief_shift([0.0, 1.0]), [1.0, math.e])
    for call, words in (
        (lambda: pr.mi_dp_to_slack(-1.0), "at least 0; it is -1"),
        (lambda: pr.mi_dp_from_predictability(0.1, 1), "at least 2 values"),
        (lambda: pr.randomised_response_information(1.0, 1.5), "between 0 and 1; it is 1.5"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()


def test_fixed_queries_against_queries_that_depend_on_the_data() -> None:
    """Thm 2.7, E9: identity on 4 values: fixed yes/no queries tell ln 2, the value ln 4; ratio at most ⌈log₂ 4⌉ = 2."""
    prior = np.full(4, 0.25)
    assert pr.fixed_query_information(np.eye(4), prior) == pytest.approx(math.log(2))
    assert pr.mutual_information(np.eye(4), prior) == pytest.approx(math.log(4))
    # the query "is it the value that the record has", chosen after the data, is always answered yes: log-loss gap ln 4
    assert -math.log(0.25) == pytest.approx(math.log(4))
    rng = np.random.default_rng(0)
    one_prior = []
    for _ in range(40):
        channel = rng.dirichlet(np.full(5, 0.4), 4).T
        law = rng.dirichlet(np.ones(4))
        whole = pr.mutual_information(channel, law)
        fixed = pr.fixed_query_information(channel, law)
        assert fixed <= whole + 1e-12
        one_prior.append(whole / fixed)
        # the chain rule also meets the laws left over once a bit is known
        for pair in itertools.combinations(range(4), 2):
            left = np.where(np.isin(np.arange(4), pair), law, 0.0)
            fixed = max(fixed, pr.fixed_query_information(channel, left / left.sum()))
        assert whole <= pr.mi_dp_from_predictability(fixed, 4, "fixed") + 1e-12
    assert max(one_prior) > 2  # with the one prior alone the factor would not do
    with pytest.raises(ParameterError, match="At most 12 values"):
        pr.fixed_query_information(np.eye(13), np.full(13, 1 / 13))


# --- the toy of Thm 2.4 --------------------------------------------------------------------------------------


def brute_force_toy(
    records: int, draws: int, channel: np.ndarray, a: float, b: float
) -> tuple[np.ndarray, float, float]:
    """All data sets, all core sets, all outputs, all unknown people: gaps per count, MI and KL."""
    size = channel.shape[0]
    counts = np.arange(records + 1)
    prior = betabinom.pmf(counts, records, a, b)

    def weight(bits: tuple[int, ...]) -> float:
        return float(prior[sum(bits)] / math.comb(records, sum(bits)))

    sets = list(itertools.product([0, 1], repeat=records))
    # answers from the joint law of (core bits, output, unknown bit)
    before: dict[tuple[int, ...], np.ndarray] = {}
    after: dict[tuple[tuple[int, ...], int], np.ndarray] = {}
    for bits in sets:
        known, rest = bits[:draws], bits[draws:]
        share = np.array([1 - np.mean(rest), np.mean(rest)])
        before[known] = before.get(known, np.zeros(2)) + weight(bits) * share
        for output in range(size):
            chance = weight(bits) * channel[output, sum(bits)]
            after[known, output] = after.get((known, output), np.zeros(2)) + chance * share
    gaps, masses = np.zeros(records + 1), np.zeros(records + 1)
    for bits in sets:
        known, rest = bits[:draws], bits[draws:]
        share = np.array([1 - np.mean(rest), np.mean(rest)])
        one = before[known] / before[known].sum()
        gap = 0.0
        for output in range(size):
            if channel[output, sum(bits)]:
                two = after[known, output] / after[known, output].sum()
                with np.errstate(divide="ignore", invalid="ignore"):
                    gap += channel[output, sum(bits)] * np.where(share > 0, share * np.log(two / one), 0.0).sum()
        gaps[sum(bits)] += gap
        masses[sum(bits)] += 1
    information = divergence = 0.0
    for (known, _), joint in after.items():
        if joint.sum() > 0:
            two, one = joint / joint.sum(), before[known] / before[known].sum()
            divergence += joint.sum() * float(np.where(two > 0, two * np.log(np.where(two > 0, two, 1) / one), 0).sum())
    for known, joint in before.items():
        information += joint.sum() * float(pr.binary_entropy(joint[1] / joint.sum()))
        for output in range(size):
            there = after[known, output]
            if there.sum() > 0:
                information -= there.sum() * float(pr.binary_entropy(there[1] / there.sum()))
    return gaps / masses, information, divergence


@pytest.mark.parametrize(
    ("records", "draws", "width", "a", "b"), [(4, 2, 1, 1.0, 1.0), (6, 2, 1, 0.5, 2.0), (6, 4, 3, 1.0, 1.0)]
)
def test_log_loss_toy_by_enumeration(records: int, draws: int, width: int, a: float, b: float) -> None:
    """Thm 2.4, Def 2.2, Def 2.3: everything enumerated. By symmetry the first n people stand for any core set."""
    channel = pr.coarse_count_channel(records, width)
    toy = pr.log_loss_toy(records, draws, channel, a, b)
    gaps, information, divergence = brute_force_toy(records, draws, channel, a, b)
    np.testing.assert_allclose(toy.gaps, gaps, rtol=1e-9, atol=1e-12)
    assert toy.information == pytest.approx(information, rel=1e-9)
    assert toy.divergence == pytest.approx(divergence, rel=1e-9)
    assert toy.average == pytest.approx(toy.information, rel=1e-11)
    assert toy.divergence == pytest.approx(toy.information, rel=1e-11)


def test_log_loss_toy_with_a_noisy_count() -> None:
    """A rounded geometric channel: the identity average = KL = MI holds for noise too, and coarsening lowers it."""
    counts = np.arange(21)
    noisy = np.exp(-0.5 * np.abs(counts[:, None] - counts[None, :]))
    toy = pr.log_loss_toy(20, 8, noisy / noisy.sum(axis=0))
    assert toy.average == pytest.approx(toy.information, rel=1e-10)
    assert toy.divergence == pytest.approx(toy.information, rel=1e-10)
    levels = [pr.log_loss_toy(20, 8, pr.coarse_count_channel(20, width)).information for width in (1, 2, 4, 21)]
    assert levels[0] > levels[1] > levels[2] > levels[3]
    assert levels[3] == pytest.approx(0.0, abs=1e-12)
    assert 0.5 * toy.information < toy.largest


def test_squared_and_log_answers() -> None:
    """Def 2.2: with a uniform count, N = 4, n = 2 and one known 1 the answer is 1/2 under both losses."""
    assert pr.log_loss_toy(4, 2).baseline[1] == pytest.approx(0.5)


def test_all_but_one_leaves_one_person() -> None:
    """P-X7: with N = 3 bits the core has 2 and the unknown law is a point; the exact count gives the last bit away."""
    process = pr.AllButOneProcess(3)
    assert process.draws == 2
    for left in range(3):
        core = np.array([person for person in range(3) if person != left])
        assert process.unknown(core).tolist() == [left]
    toy = pr.log_loss_toy(3, 2)
    # the answer becomes certain, so the information is the whole entropy of the last bit
    known = betabinom.pmf(np.arange(3), 2, 1, 1)
    assert toy.information == pytest.approx(float(known @ pr.binary_entropy((np.arange(3) + 1) / 4)), rel=1e-11)


def test_refusals_of_the_toy() -> None:
    for call, words in (
        (lambda: pr.log_loss_toy(401, 2), "at most 400 records"),
        (lambda: pr.log_loss_toy(4, 4), "between 1 and 3; it is 4"),
        (lambda: pr.log_loss_toy(4, 2, np.eye(4)), "one column per count from 0 to 4; it has 4"),
        (lambda: pr.coarse_count_channel(4, 0), "at least 1; it is 0"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()


# --- Thm 2.5 -------------------------------------------------------------------------------------------------


def test_private_yet_predictable() -> None:
    case = pr.private_yet_predictable(100, 0.2)
    assert case.bound == pytest.approx(0.09 - 0.08)
    assert pr.private_yet_predictable(10**8).bound == pytest.approx(0.25, abs=1e-6)
    assert pr.private_yet_predictable(32).bound == 0.0
    assert pr.private_yet_predictable(33).bound > 0
    estimates, gains = pr.simulate_private_yet_predictable(400, 100_000, np.random.default_rng(0))
    assert estimates.var() == pytest.approx(8 / 400, rel=5 * math.sqrt(5 / 100_000))
    assert gains.mean() == pytest.approx(0.23, abs=5 * gains.std() / math.sqrt(100_000))
    with pytest.raises(ParameterError, match="between 0 and 1; it is 2"):
        pr.private_yet_predictable(100, 2.0)


def test_neighbouring_tables_of_the_private_release() -> None:
    """Def A.2: N = 100, ε = 0.1: the log density ratio of neighbours never exceeds ε and reaches it."""
    released = np.linspace(-3, 4, 10_001)
    worst = np.abs(pr.rate_log_ratio(100, 0.1, released, 37)).max()
    assert worst == pytest.approx(0.1, rel=1e-9)


def test_exact_mean_is_not_private_yet_unpredictable() -> None:
    """R3: log-log slope -1 (exactly in N - 1), symmetric in α, least at 1/2."""
    sizes = np.array([10, 100, 1_000, 10_000])
    values = np.array([pr.exact_mean_predictability(int(n), 0.5, 0.5) for n in sizes])
    slope = np.polyfit(np.log(sizes - 1), np.log(values), 1)[0]
    assert slope == pytest.approx(-1, abs=1e-12)
    assert pr.exact_mean_predictability(100, 0.3, 0.2) == pytest.approx(pr.exact_mean_predictability(100, 0.3, 0.8))
    with pytest.raises(ParameterError, match="Give either"):
        pr.exact_mean_predictability(100, 0.5)
    with pytest.raises(ParameterError, match="at least 1; it is 0"):
        pr.exact_mean_predictability(100, 0.5, draws=0)


def test_exact_mean_with_replacement() -> None:
    """E11b: the formula against simulation with the set of unknown people (E27), to five standard errors."""
    rng = np.random.default_rng(0)
    bits = np.r_[np.ones(30), np.zeros(30)]
    gaps = np.empty(8_000)
    for trial in range(8_000):
        drawn = rng.integers(0, 60, 30)
        unknown = np.ones(60, dtype=bool)
        unknown[drawn] = False
        gaps[trial] = bits[drawn].mean() - bits[unknown].mean()
    squares = gaps**2
    found = pr.exact_mean_predictability(60, 0.5, draws=30)
    assert squares.mean() == pytest.approx(found, abs=5 * squares.std() / math.sqrt(8_000) + 0.005 * found)


def test_empty_core_by_quadrature() -> None:
    """P-X5: against adaptive integration of the posterior mean, for small N; the bound is below; it tends to 1/12."""
    for n, epsilon in ((4, 0.5), (9, 0.2)):
        scale = 1 / (n * epsilon)
        rates = np.arange(n + 1) / n
        noise = LaplaceNoise(scale)

        def integrand(released: float, rates: np.ndarray = rates, noise: LaplaceNoise = noise) -> float:
            density = np.exp(noise.log_density(released - rates)) / len(rates)
            return float((density @ rates) ** 2 / density.sum())

        points = list(rates)
        second = quad(integrand, -40 * scale, 1 + 40 * scale, points=points, limit=500)[0]
        assert pr.empty_core(n, epsilon).gain == pytest.approx(second - 0.25, rel=1e-8)
    case = pr.empty_core(100)
    assert case.lower_bound < case.gain < case.prior_variance
    assert pr.empty_core(20_000).gain == pytest.approx(1 / 12, rel=0.01)


# --- smokers, Bayes ------------------------------------------------------------------------------------------


def test_smokers() -> None:
    """P-X2: shard share 0.1, released rate 0.3, α = 0.3: (0.3 - 0.03)/0.7; the posterior peaks there at low noise."""
    for noise in (LaplaceNoise(0.002), GaussianNoise(0.002)):
        view = pr.rate_posterior(1_000, 300, 30, 0.3, noise, "flat")
        assert view.implied_rate == pytest.approx(0.27 / 0.7)
        assert view.rates[view.after.argmax()] == pytest.approx(0.3857, abs=1e-3)
        assert view.before.sum() == pytest.approx(1)
        assert view.after.sum() == pytest.approx(1)
    trusting = pr.rate_posterior(1_000, 300, 30, 0.3, LaplaceNoise(0.002))
    assert trusting.mean_before == pytest.approx(31 / 302, rel=1e-9)
    assert trusting.mean_after > 0.3
    blind = pr.rate_posterior(1_000, 300, 30, 0.3, LaplaceNoise(50.0))
    assert blind.mean_after == pytest.approx(blind.mean_before, rel=1e-2)
    certain = pr.rate_posterior(1_000, 300, 30, 0.3)
    assert certain.after.max() == 1.0
    with pytest.raises(ParameterError, match="at most 999 can be known"):
        pr.rate_posterior(1_000, 1_000, 30, 0.3)


def test_bayes_against_linear_by_quadrature() -> None:
    """E15: the Bayes error by double integration; below the linear one, and near it for little noise."""
    for ratio in (0.3, 2.0):
        b = math.sqrt(ratio / 2)
        x = np.linspace(-9, 9, 1_201)
        y = np.linspace(-25, 25, 2_001)
        joint = np.exp(-0.5 * x[:, None] ** 2 - np.abs(y[None, :] - x[:, None]) / b) / (2 * b * math.sqrt(2 * math.pi))
        density, first = joint.sum(axis=0) * (x[1] - x[0]), (x @ joint) * (x[1] - x[0])
        error = 1 - float((first**2 / density).sum() * (y[1] - y[0]))
        bayes, linear = pr.bayes_against_linear(ratio)
        assert bayes == pytest.approx(error, abs=2e-4)
        assert bayes < linear == pytest.approx(ratio / (1 + ratio))


def test_bayes_and_gmm_differ_by_less_than_their_size() -> None:
    """Thm 3.3: Bernoulli shard, exact mean: n times the difference of gains shrinks over n = 50, 200, 800."""
    scaled = []
    for n in (50, 200, 800):
        bayes, gmm = pr.bayes_against_gmm(n, 0.3)
        exact = pr.exact_mean_predictability(
            round(n / 0.3), round(0.3 * round(n / 0.3)) / round(n / 0.3), n / round(n / 0.3)
        )
        assert gmm == pytest.approx(exact, rel=1e-9)
        scaled.append(abs(n * (bayes - gmm)))
    assert scaled[0] > 3 * scaled[1] > 9 * scaled[2]
    assert scaled[2] < 1e-3
