"""Conversions: gold values, tightness against explicit mechanisms, and sentences for what does not follow."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.privacy import (
    CONVERSIONS,
    ZCDP,
    ApproxDP,
    LocalDP,
    PureDP,
    TotalVariation,
    add_remove_to_substitution,
    approx_delta_at,
    approx_epsilon_at,
    approx_test_to_pure,
    approx_to_total_variation,
    bounded_range_to_zcdp,
    channel_delta,
    convert,
    gaussian_delta,
    group_delta,
    group_privacy,
    laplace_to_zcdp,
    pure_sum_to_approx,
    pure_to_approx,
    pure_to_total_variation,
    pure_to_zcdp,
    total_variation_to_approx,
    total_variation_to_pure,
    zcdp_delta_at,
    zcdp_for_approx,
    zcdp_to_approx,
    zcdp_to_total_variation,
)

EPSILONS = [0.01, 0.1, 0.5, 1.0, 3.0, 8.0]


def worst_channel(epsilon, delta):
    """The worst mechanism with (ε, δ)-privacy on two values: tells the value with probability δ, else flips."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    flip = (1 - delta) * np.array([[truth, 1 - truth], [1 - truth, truth]])
    return np.vstack([flip, delta * np.eye(2)])


# --- gold values ---------------------------------------------------------------------------------------------


def test_gold_group_privacy():
    printed = group_privacy(ApproxDP(0.5, 0.001), 4, rule="printed")
    sharper = group_privacy(ApproxDP(0.5, 0.001), 4)
    assert printed.epsilon == sharper.epsilon == 2.0
    assert printed.delta == pytest.approx(0.01792675628, rel=1e-9)
    assert sharper.delta == pytest.approx(0.009848692169, rel=1e-9)


def test_gold_total_variation():
    assert approx_to_total_variation(1.0, 0.05) == pytest.approx(0.489011299397, rel=1e-11)
    assert approx_to_total_variation(0.5, 0.0) == pytest.approx(0.244918662404, rel=1e-11)
    assert approx_to_total_variation(0.5, 0.0, "printed") == pytest.approx(math.exp(0.5) - 1, rel=1e-12)


def test_printed_zcdp_and_its_inverse():
    assert pure_to_zcdp(0.8, "printed") == pytest.approx(0.32)
    rho, delta = 0.07, 1e-5
    epsilon = zcdp_to_approx(rho, delta, "printed")
    assert epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)), rel=1e-12)
    assert zcdp_for_approx(epsilon, delta, "printed") == pytest.approx(rho, rel=1e-11)


# --- tight forms against explicit mechanisms -----------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "delta", "at"), [*itertools.product([0, 0.4, 2], [0, 0.1, 1], [0, 0.3, 3])])
def test_curve_of_approximate_privacy_is_attained(epsilon, delta, at):
    attained = channel_delta(worst_channel(epsilon, delta), at)
    assert approx_delta_at(epsilon, delta, at) == pytest.approx(attained, abs=1e-14)


def test_no_mechanism_lies_above_the_curve():
    rng = np.random.default_rng(5)
    for _ in range(200):
        channel = rng.dirichlet(np.full(4, 0.5), size=3).T
        epsilon = rng.uniform(0, 3)
        delta = channel_delta(channel, epsilon)
        for at in (0.0, 0.5 * epsilon, 0.9 * epsilon, epsilon + 0.2):
            assert channel_delta(channel, at) <= approx_delta_at(epsilon, delta, at) + 1e-12


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.0), (2.0, 0.1), (8.0, 0.0)])
def test_epsilon_and_delta_of_the_curve_are_inverse(epsilon, delta):
    for at in np.linspace(0.01, 1, 5) * epsilon:
        assert approx_epsilon_at(epsilon, delta, approx_delta_at(epsilon, delta, at)) == pytest.approx(at, rel=1e-7)
    assert approx_epsilon_at(epsilon, delta, 1.0) == 0.0
    assert approx_epsilon_at(epsilon, 1.0, 1.0) == epsilon


def test_pure_sum_is_weaker_than_the_curve():
    for total, epsilon in [(1.0, 0.9), (0.3, 0.0), (5.0, 4.5)]:
        assert pure_to_approx(total, epsilon) <= pure_sum_to_approx(total, epsilon)
    assert pure_sum_to_approx(1.0, 0.75) == 0.25
    with pytest.raises(ParameterError, match="at most the total 1"):
        pure_sum_to_approx(1.0, 1.5)


def test_mixed_test_is_purely_private():
    epsilon, delta, mixing = 0.7, 0.02, 0.05
    promised = approx_test_to_pure(epsilon, delta, mixing)
    assert promised == pytest.approx(epsilon + 18 * delta)
    worst = 0.0
    for first in np.linspace(0, 1, 401):
        # largest acceptance probability that a neighbour may have
        second = min(1.0, math.exp(epsilon) * first + delta, 1 - math.exp(-epsilon) * (1 - first - delta))
        accept = [mixing + (1 - 2 * mixing) * f for f in (first, second)]
        worst = max(worst, abs(math.log(accept[1] / accept[0])), abs(math.log((1 - accept[1]) / (1 - accept[0]))))
    assert worst <= promised
    with pytest.raises(ParameterError, match="between 0 and 1/2"):
        approx_test_to_pure(1.0, 0.1, 0.5)


def renyi_of_response(epsilon, order):
    """Rényi divergence of binary randomised response, from its four probabilities in 40 digits."""
    with mpmath.workdps(40):
        p = mpmath.exp(epsilon) / (1 + mpmath.exp(epsilon))
        order = mpmath.mpf(order)
        return mpmath.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tight_zcdp_of_pure_privacy_holds_for_every_order_and_is_attained(epsilon):
    rho = pure_to_zcdp(epsilon)
    orders = 1 + np.geomspace(1e-6, 1e4, 200)
    ratios = [float(renyi_of_response(epsilon, order) / order) for order in orders]
    assert max(ratios) <= rho * (1 + 1e-9)
    assert ratios[0] == pytest.approx(rho, rel=1e-4)
    assert rho <= pure_to_zcdp(epsilon, "printed")


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_zcdp_of_laplace_noise_holds_for_every_order_and_is_attained(epsilon):
    rho = laplace_to_zcdp(epsilon)

    def renyi(order):
        # Laplace against its shift: the three pieces of the integral in closed form
        with mpmath.workdps(40):
            a, e = mpmath.mpf(order), mpmath.mpf(epsilon)
            return mpmath.log(
                a / (2 * a - 1) * mpmath.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mpmath.exp(-a * e)
            ) / (a - 1)

    ratios = [float(renyi(order) / order) for order in 1 + np.geomspace(1e-6, 1e4, 200)]
    assert max(ratios) <= rho * (1 + 1e-9)
    assert ratios[0] == pytest.approx(rho, rel=1e-4)
    assert rho < pure_to_zcdp(epsilon)


def test_zcdp_of_laplace_noise_keeps_its_digits_for_tiny_levels():
    with mpmath.workdps(40):
        for epsilon in (1e-8, 1e-4, 9.99e-4, 1.01e-3):
            exact = float(mpmath.mpf(epsilon) - 1 + mpmath.exp(-mpmath.mpf(epsilon)))
            assert laplace_to_zcdp(epsilon) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_zcdp_of_bounded_range(epsilon):
    # two outcomes with log ratios epsilon - t and -t: the worst shape of that range
    rho = bounded_range_to_zcdp(epsilon)
    best = 0.0
    for t in np.linspace(0.01, 0.99, 99) * epsilon:
        q = (1 - math.exp(-t)) / (math.exp(epsilon - t) - math.exp(-t))
        p = q * math.exp(epsilon - t)
        for order in 1 + np.geomspace(1e-4, 100, 60):
            moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
            best = max(best, math.log(moment) / (order - 1) / order)
    assert best <= rho
    assert best >= 0.88 * rho


@pytest.mark.parametrize(("rho", "epsilon"), [*itertools.product([1e-6, 0.01, 0.5, 4.0, 60.0], [0.0, 0.1, 2.0, 20.0])])
def test_zcdp_curve_is_the_best_order_and_holds_for_gaussian_noise(rho, epsilon):
    got = zcdp_delta_at(rho, epsilon)

    def log_delta(log_excess):
        excess = math.exp(log_excess)
        order = 1 + excess
        return excess * (order * rho - epsilon) - log_excess + order * (log_excess - math.log(order))

    grid = np.linspace(-100, 25, 4001)
    start = grid[np.argmin([log_delta(x) for x in grid])]
    best = optimize.minimize_scalar(log_delta, bounds=(start - 0.1, start + 0.1), method="bounded").fun
    assert got == pytest.approx(min(1.0, math.exp(min(best, 0.0))), rel=1e-6, abs=1e-300)
    # Gaussian noise with 1/(2 s^2) = rho is rho-zCDP and must lie below the bound
    assert gaussian_delta(1 / math.sqrt(2 * rho), 1.0, epsilon) <= got * (1 + 1e-9)


@pytest.mark.parametrize(("rho", "delta"), [*itertools.product([1e-4, 0.03, 1.0, 20.0], [1e-12, 1e-5, 0.1])])
def test_zcdp_conversions_are_inverse_and_better_than_printed(rho, delta):
    epsilon = zcdp_to_approx(rho, delta)
    assert epsilon < zcdp_to_approx(rho, delta, "printed")
    assert zcdp_delta_at(rho, epsilon) <= delta
    if epsilon > 0:
        assert zcdp_delta_at(rho, epsilon * (1 - 1e-6)) > delta
        assert zcdp_for_approx(epsilon, delta) == pytest.approx(rho, rel=1e-8)
        assert zcdp_for_approx(epsilon, delta) >= zcdp_for_approx(epsilon, delta, "printed")


@pytest.mark.parametrize("rho", [1e-6, 0.01, 0.5, 3.0])
def test_total_variation_of_zcdp_holds_for_gaussian_noise(rho):
    std = 1 / math.sqrt(2 * rho)
    exact = stats.norm.cdf(0.5 / std) - stats.norm.cdf(-0.5 / std)
    bound = zcdp_to_total_variation(rho)
    assert exact <= bound <= 1
    assert convert(ZCDP(rho), TotalVariation).level <= bound


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_total_variation_of_pure_privacy_is_attained(epsilon):
    assert pure_to_total_variation(epsilon) == pytest.approx(channel_delta(worst_channel(epsilon, 0.0), 0.0), rel=1e-12)
    assert total_variation_to_pure(pure_to_total_variation(epsilon)) == pytest.approx(epsilon, rel=1e-6)
    assert approx_to_total_variation(epsilon, 0.01) <= approx_to_total_variation(epsilon, 0.01, "printed")


def test_total_variation_gives_its_level_at_every_epsilon():
    leak = np.vstack([0.3 * np.eye(3), np.full((1, 3), 0.7)])  # shows the value with probability 0.3
    for epsilon in (0.0, 1.0, 30.0):
        assert total_variation_to_approx(0.3, epsilon) == 0.3 == pytest.approx(channel_delta(leak, epsilon))
    with pytest.raises(ParameterError, match="matches no ε"):
        total_variation_to_pure(1.0)


# --- groups and neighbours -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 2.0])
def test_group_slack_is_the_chain_of_single_steps(epsilon):
    delta = 1e-3
    chained = 0.0
    for size in range(6):
        assert group_delta(epsilon, delta, size) == pytest.approx(min(1.0, chained), rel=1e-12, abs=1e-300)
        assert group_delta(epsilon, delta, size) <= group_delta(epsilon, delta, size, "printed") + 1e-15
        chained = math.exp(epsilon) * chained + delta
    assert group_delta(50.0, 0.5, 10_000) == 1.0
    assert group_delta(1.0, 0.0, 7) == 0.0


def test_group_privacy_of_every_type():
    assert group_privacy(PureDP(0.5), 3) == PureDP(1.5)
    assert group_privacy(LocalDP(0.5), 2) == LocalDP(1.0)
    assert group_privacy(ZCDP(0.1), 3).rho == pytest.approx(0.9)
    assert group_privacy(TotalVariation(0.3), 2).level == pytest.approx(0.6)
    assert group_privacy(TotalVariation(0.3), 5).level == 1.0
    assert group_privacy(PureDP(0.5, neighbours="add-remove"), 1) == PureDP(0.5, neighbours="add-remove")
    with pytest.raises(ParameterError, match="size of a group must be a whole number"):
        group_privacy(PureDP(0.5), -1)


def test_group_zcdp_is_exact_for_gaussian_noise():
    # three people shift the mean three times as far: relative Rényi divergence grows ninefold
    std = 2.0
    rho = 1 / (2 * std**2)
    p, q = stats.norm(3.0, std), stats.norm(0.0, std)
    order = 2.5
    moment = integrate.quad(lambda x: math.exp(order * p.logpdf(x) + (1 - order) * q.logpdf(x)), -40, 60, limit=300)[0]
    assert group_privacy(ZCDP(rho), 3).rho == pytest.approx(math.log(moment) / (order - 1) / order, rel=1e-7)


def test_replacing_is_removing_and_adding():
    relation = {"neighbours": "add-remove"}
    assert add_remove_to_substitution(PureDP(0.5, **relation)) == PureDP(1.0)
    doubled = add_remove_to_substitution(ApproxDP(0.5, 1e-3, **relation))
    assert (doubled.epsilon, doubled.delta) == (1.0, pytest.approx(1e-3 * (1 + math.exp(0.5))))
    assert add_remove_to_substitution(ZCDP(0.1, **relation)) == ZCDP(0.4)
    assert add_remove_to_substitution(TotalVariation(0.2, model="central", **relation)).level == 0.4
    with pytest.raises(UnsupportedCombination, match="nothing to convert"):
        add_remove_to_substitution(PureDP(0.5))


# --- convert --------------------------------------------------------------------------------------------------


def test_convert_between_all_types_with_no_loss_is_free():
    nothing = [PureDP(0.0), ApproxDP(0.0, 0.0), ZCDP(0.0), TotalVariation(0.0, model="central")]
    for start, to in itertools.product(nothing, [PureDP, ApproxDP, ZCDP, TotalVariation]):
        result = convert(start, to)
        assert set(result.levels().values()) == {0.0}, (start, to)


def test_convert_keeps_or_changes_neighbours_and_model():
    start = PureDP(0.5, neighbours="add-remove")
    assert convert(start, ZCDP).neighbours == "add-remove"
    assert convert(start, ZCDP, neighbours="substitution").rho == pytest.approx(pure_to_zcdp(1.0))
    local = convert(LocalDP(0.5), TotalVariation)
    assert (local.model, local.level) == ("local", math.tanh(0.25))
    assert convert(LocalDP(0.5), PureDP, model="central") == PureDP(0.5)
    assert convert(PureDP(0.5, model="local"), LocalDP) == LocalDP(0.5)


def test_convert_to_approximate_by_either_number():
    assert convert(PureDP(1.0), ApproxDP) == ApproxDP(1.0, 0.0)
    assert convert(PureDP(1.0), ApproxDP, epsilon=0.5).delta == pytest.approx(pure_to_approx(1.0, 0.5))
    there = convert(PureDP(1.0), ApproxDP, delta=0.1)
    assert convert(PureDP(1.0), ApproxDP, epsilon=there.epsilon).delta == pytest.approx(0.1)
    assert convert(TotalVariation(0.2), ApproxDP, model="central") == ApproxDP(0.0, 0.2)
    assert convert(TotalVariation(0.2), LocalDP, epsilon=3.0) == LocalDP(3.0, 0.2)
    assert convert(ZCDP(0.1), ApproxDP, epsilon=2.0).delta == zcdp_delta_at(0.1, 2.0)
    assert convert(ZCDP(0.1), ApproxDP, delta=1e-6).epsilon == zcdp_to_approx(0.1, 1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convert(ZCDP(0.1), PureDP), "zCDP with ρ = 0.1 has Gaussian-like tails, so no finite ε"),
        (lambda: convert(ApproxDP(0.1, 1e-6), PureDP), "With slack δ = 1e-06 a record may be shown in full"),
        (lambda: convert(ApproxDP(0.1, 1e-6), ZCDP), "no finite ε"),
        (lambda: convert(TotalVariation(0.1), PureDP), "allows that a record is shown in full"),
        (lambda: convert(PureDP(0.1), LocalDP), "A central guarantee says nothing about the single reports"),
        (lambda: convert(PureDP(0.1), PureDP, model="local"), "A central guarantee says nothing"),
        (lambda: convert(LocalDP(0.1), LocalDP, model="central"), "belongs to the local model"),
        (lambda: convert(PureDP(0.1), PureDP, neighbours="add-remove"), "treats their number as public"),
        (lambda: convert(ApproxDP(0.1, 0.2), ApproxDP, delta=0.1), "cannot be lowered to 0.1"),
        (lambda: zcdp_to_approx(0.1, 0.0), "so δ must be above 0"),
    ],
)
def test_what_does_not_follow_is_refused_in_one_sentence(call, message):
    with pytest.raises(UnsupportedCombination) as caught:
        call()
    assert message in str(caught.value)
    assert str(caught.value).endswith(".")


def test_ambiguous_requests_are_refused():
    with pytest.raises(ParameterError, match="either ε or δ"):
        convert(PureDP(1.0), ApproxDP, epsilon=0.5, delta=0.1)
    with pytest.raises(ParameterError, match="whole curve of ε and δ"):
        convert(ZCDP(0.1), ApproxDP)
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        zcdp_for_approx(1.0, 0.0)


def test_table_of_conversions_names_kinds_and_sources():
    kinds = {guarantee.kind for guarantee in (PureDP, ApproxDP, ZCDP, LocalDP, TotalVariation)}
    for line in CONVERSIONS:
        assert {line.start, line.end} <= kinds
        assert line.formula
        assert line.source
