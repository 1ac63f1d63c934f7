"""Simulated attackers against the theory (spec predictability, section 7, at reduced size).

Seeds are fixed. With T attacks the standard error of a ratio of variances is about √(2/T): 0.016 for T = 8,000 and
0.022 for T = 4,000 (a little more with heavy tails). Ratios are held to 4.5 standard errors, and every test that relies
on this also shows that a theory off by a tenth would be refused. The identities of Thm 3.2, 3.4 and 3.6 are about the
oracle, whose weights are those of the theory; an attacker who estimates them loses about m/n of the variance.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr

TRIALS = 8_000


def tolerance(trials: int = TRIALS, more: float = 1.0) -> float:
    return 4.5 * more * math.sqrt(2 / trials)


def holds(ratio: float, trials: int = TRIALS, more: float = 1.0, slack: float = 0.01) -> None:
    """The ratio is 1 to 4.5 standard errors (and 1 % of large-sample slack), and would not be 0.9 or 1.1."""
    width = tolerance(trials, more) + slack
    assert abs(ratio - 1) < width, (ratio, width)
    assert width < 0.11


@lru_cache
def heavy() -> dict[str, Any]:
    """N = 2,000 people with two heavy-tailed columns and a yes/no query that depends on both."""
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.standard_t(5, 2_000), np.exp(0.7 * rng.standard_normal(2_000))])
    return {"x": x, "q": (x[:, 0] + 0.5 * x[:, 1] + 1.3 * rng.standard_normal(2_000) > 0.8)}


@lru_cache
def regression() -> dict[str, Any]:
    """N = 1,500, three features, heteroscedastic errors; queries on residual times x1 and on y times x1."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((1_500, 3))
    y = x @ [1.0, -0.5, 0.3] + (0.6 + 0.6 * np.abs(x[:, 1])) * rng.standard_normal(1_500)
    residual = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    return {"x": x, "y": y, "first": residual * x[:, 0] > 0.3, "second": y * x[:, 0] > 0.5}


def setting(
    table: dict[str, Any],
    queries: list[str],
    record: Any,
    process: pr.Process,
    noise: Any = None,
    *,
    noise_scale: Any = "release",
    formula_covariance: Any = None,
    loss: Any = "squared",
    **more: Any,
) -> tuple[pr.PreparedAttack, pr.Predictability]:
    asked = pr.query_set(queries, table)
    release = record.fit(table)
    summary = process.summarise(table, asked, release, more.get("group"))
    law = (noise or pr.NoNoise()).law(pr.noise_setting(summary, process.size().multiplier(noise_scale)))
    attack = pr.prepare_attack(
        table, asked.evaluate(table), release, process, law, summary=summary, noise_scale=noise_scale, **more
    )
    covariance = law.covariance if formula_covariance is None else formula_covariance
    size = process.size(more.get("target", "unknown"))
    return attack, pr.predictability(summary, size, covariance, noise_scale=noise_scale, loss=loss)


def run(attack: pr.PreparedAttack, theory: pr.Predictability, trials: int = TRIALS, seed: int = 1) -> tuple[Any, Any]:
    """Assessments of the oracle and of the feasible attacker, on the same attacks."""
    draws = attack.run(trials, np.random.default_rng(seed), np.random.default_rng(seed + 100))
    rng = np.random.default_rng(seed + 200)
    return tuple(pr.assess(draws, theory, rng, who=who, resamples=100) for who in ("oracle", "feasible"))  # type: ignore[arg-type]


def never_above_the_bound(found: pr.Assessment) -> None:
    assert (found.share_of_bound < 0.35).all()


def identities(found: pr.Assessment, query: int, trials: int = TRIALS, more: float = 1.0) -> None:
    """V₁, V₂, Var(difference) and Cov over theory (Thm 3.2, 3.4, 3.6)."""
    holds(found.before_ratio[query], trials, more)
    holds(found.after_ratio[query], trials, more)
    holds(found.difference_ratio[query], trials, more)
    holds(found.covariance_ratio[query], trials, more)


# --- A: means of heavy-tailed columns, and the noise scale ---------------------------------------------------


def test_A0_two_means_without_noise() -> None:
    attack, theory = setting(heavy(), ["q"], pr.Mean(columns=("x",)), pr.ShardProcess(2_000, 0.3))
    oracle, feasible = run(attack, theory)
    identities(oracle, 0)
    never_above_the_bound(oracle)
    # the feasible attacker loses a little: at most a few percent of the variance, at r² far above m/n
    assert theory.r[0] ** 2 > 20 * 2 / 600
    assert 0.98 * oracle.after_ratio[0] < feasible.after_ratio[0] < 1.06
    assert 0.85 < feasible.ratio[0] < 1.1


def test_A1_A3_noise_on_the_release_scale() -> None:
    """Noise really added against the formula with ν times its covariance (A3), and Σ/ν against Σ (A1)."""
    process = pr.ShardProcess(2_000, 0.3)
    nu = process.size().multiplier()
    release = pr.Mean(columns=("x",))
    base = setting(heavy(), ["q"], release, process)[1]
    assert base.noise_multiplier == pytest.approx(0.3 * 2_000 / 0.7)
    sigma = np.cov(heavy()["x"].T, bias=True)
    for added in (sigma / nu, sigma / (20 * nu)):
        attack, theory = setting(heavy(), ["q"], release, process, pr.GivenCovariance.of(added))
        oracle, feasible = run(attack, theory)
        identities(oracle, 0)
        holds(feasible.before_ratio[0])
        assert abs(feasible.after_ratio[0] - 1) < 0.06
        never_above_the_bound(feasible)


def test_A2_noise_on_the_printed_scale() -> None:
    """E1: with noise Σ the printed formula promises a gain of which next to nothing is there."""
    process = pr.ShardProcess(2_000, 0.3)
    sigma = np.cov(heavy()["x"].T, bias=True)
    attack, printed = setting(
        heavy(), ["q"], pr.Mean(columns=("x",)), process, pr.GivenCovariance.of(sigma), noise_scale="paper"
    )
    corrected = setting(heavy(), ["q"], pr.Mean(columns=("x",)), process, pr.GivenCovariance.of(sigma))
    # the best attacker knows the scale
    oracle, _ = run(*corrected)
    draws = corrected[0].run(TRIALS, np.random.default_rng(3))
    against_printed = pr.assess(draws, printed, np.random.default_rng(4), who="oracle", resamples=50)
    assert against_printed.after_ratio[0] > 1.1
    assert abs(against_printed.ratio[0]) < 0.05
    assert against_printed.difference_ratio[0] < 0.05
    holds(oracle.difference_ratio[0])
    assert corrected[1].printed[0] < 0.1 * printed.printed[0]
    # somebody who believes the printed scale is misled by the noise: worse than without the release
    misled = pr.assess(
        attack.run(2_000, np.random.default_rng(5)), printed, np.random.default_rng(6), who="oracle", resamples=50
    )
    assert misled.gain[0] < 0


# --- B: regression -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["none", "calibrated", "isotropic"])
def test_B_linear_regression(noise: str) -> None:
    process = pr.ShardProcess(1_500, 0.25)
    nu = process.size().multiplier()
    record = pr.LinearRegression(features=("x",), target="y", intercept=False)
    chosen = {
        "none": pr.NoNoise(), "calibrated": pr.Calibrated(level=1.0), "isotropic": pr.Isotropic(std=math.sqrt(0.5 / nu))
    }  # fmt: skip
    attack, theory = setting(regression(), ["first", "second"], record, process, chosen[noise])
    assert 0.2 < theory.r[1] < theory.r[0] < 0.65
    oracle, feasible = run(attack, theory)
    for query in (0, 1):
        # second-order terms of the fit at n = 375 take about two percent
        holds(oracle.before_ratio[query], slack=0.02)
        holds(oracle.after_ratio[query], slack=0.02)
        holds(oracle.difference_ratio[query], more=1.1, slack=0.02)
        assert 0.9 < feasible.after_ratio[query] < 1.08
    never_above_the_bound(oracle)
    never_above_the_bound(feasible)
    assert feasible.ratio[0] > 0.75
    assert feasible.ratio[1] > 0.55


def test_B_weak_query_costs_a_feasible_attacker() -> None:
    """When r² is below m/n, using the release with estimated weights makes the answer worse."""
    table = regression()
    rng = np.random.default_rng(9)
    weak = dict(table, weak=rng.random(1_500) < 0.5)
    record = pr.LinearRegression(features=("x",), target="y", intercept=False)
    attack, theory = setting(weak, ["weak"], record, pr.ShardProcess(1_500, 0.25))
    assert theory.r[0] ** 2 < 3 / 375
    assert any("may gain nothing" in note for note in theory.notes)
    oracle, feasible = run(attack, theory)
    assert feasible.gain[0] < 0 < oracle.gain[0] + 4.5 * oracle.gain_error[0]
    loss = 1 - feasible.before_ratio[0] / feasible.after_ratio[0]
    assert loss == pytest.approx(3 / 375, abs=0.012)


# --- C: biased processes -------------------------------------------------------------------------------------


@lru_cache
def biased() -> tuple[dict[str, Any], pr.IndependentProcess]:
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.standard_normal(3_000), rng.exponential(size=3_000)])
    q = x[:, 0] + 0.5 * x[:, 1] + rng.standard_normal(3_000) > 0.6
    table = {"x": x, "q": q, "s": np.exp(0.5 * x[:, 0] + 0.3 * rng.standard_normal(3_000)), "old": x[:, 1] > 0.7}
    return table, pr.WeightedDraws(draws=600, column="s").process(3_000, table)


def test_C_weighted_draws() -> None:
    table, process = biased()
    sigma = np.cov(table["x"].T, bias=True) / 600
    attack, theory = setting(table, ["q"], pr.Mean(columns=("x",)), process, pr.GivenCovariance.of(sigma))
    oracle, feasible = run(attack, theory)
    identities(oracle, 0, more=1.05)
    assert abs(feasible.after_ratio[0] - 1) < 0.06
    never_above_the_bound(feasible)
    # E2: the printed variance Var[wq] is another number, which the simulation refuses
    weights, law = process.weights, process.probabilities
    assert weights is not None
    horvitz_thompson = float(law @ (weights * table["q"]) ** 2) - float(law @ (weights * table["q"])) ** 2
    assert abs(oracle.before_ratio[0] * theory.variance_before[0] / horvitz_thompson - 1) > 0.15
    # ignoring the weights biases the answer far beyond the spread
    plain = table["q"][process.sample(500, np.random.default_rng(0))].mean()
    assert abs(plain - table["q"].mean()) > 3 * math.sqrt(theory.variance_before[0] / 600)


def test_C2_subgroup_target() -> None:
    table, process = biased()
    attack, theory = setting(table, ["q"], pr.Mean(columns=("x",)), process, group=table["old"])
    oracle, feasible = run(attack, theory)
    identities(oracle, 0, more=1.1)
    assert oracle.skipped == 0
    assert abs(feasible.before_ratio[0] - 1) < 0.08


@pytest.mark.parametrize("target", ["unknown", "everyone"])
def test_subgroup_of_a_shard(target: Any) -> None:
    """E13: α(1-α)N for the unknown members of a group and αN/(1-α) for all of them; exchanging them is refused."""
    table = dict(heavy(), group=heavy()["x"][:, 1] > 1.2)
    process = pr.ShardProcess(2_000, 0.3)
    attack, theory = setting(table, ["q"], pr.Mean(columns=("x",)), process, group=table["group"], target=target)
    oracle, _ = run(attack, theory)
    identities(oracle, 0, more=1.1)
    other = process.size("everyone" if target == "unknown" else "unknown")
    assert abs(oracle.before_ratio[0] * other.effective / theory.size.effective - 1) > 0.3


def test_weights_known_to_average_to_one() -> None:
    """E16: an attacker who uses that the mean weight is 1 has the smaller variance, before and after the release."""
    table, process = biased()
    asked = pr.query_set(["q"], table)
    release = pr.Mean(columns=("x",)).fit(table)
    plain = process.summarise(table, asked, release)
    summary = process.summarise(table, asked, release, weight_moment=True)
    usual, better = (pr.predictability(one, process.size()) for one in (plain, summary))
    assert better.variance_before[0] < 0.95 * usual.variance_before[0]
    weights, law = process.weights, process.probabilities
    assert weights is not None
    q = table["q"].astype(float)
    moved, about = weights * (q - q.mean()), weights - 1
    slope = float(law @ (moved * about)) / float(law @ about**2)
    assert better.variance_before[0] == pytest.approx(float(law @ (moved - slope * about) ** 2), rel=1e-9)
    rng = np.random.default_rng(0)
    places = process.sample(TRIALS, rng)
    errors = moved[places].mean(axis=1) - slope * about[places].mean(axis=1)
    holds(float(np.square(errors).mean() * 600 / better.variance_before[0]))
    # with the release too: the best weights on g' and w - 1 together
    both = np.column_stack([weights[:, None] * (table["x"] - table["x"].mean(axis=0)), about])
    spread, cross = (law[:, None] * both).T @ both, (law[:, None] * both).T @ moved
    informed = (moved - both @ np.linalg.solve(spread, cross))[places].mean(axis=1)
    holds(float(np.square(informed).mean() * 600 / better.variance_after[0]))


# --- D: Markov chain -----------------------------------------------------------------------------------------


def test_D_markov_chain() -> None:
    """N = 30, n = 2,000, a slow irregular chain: the long-run covariance is right, the printed lag-0 one far off."""
    rng = np.random.default_rng(4)
    people = np.arange(30)
    near = np.exp(-0.5 * (people[:, None] - people[None, :]) ** 2 / 4.0) * rng.uniform(0.5, 1.5, (30, 30))
    process = pr.people_chain(0.5 * np.eye(30) + 0.5 * near / near.sum(axis=1, keepdims=True), 2_000)
    x = 0.2 * people + rng.standard_normal(30)
    table = {"x": x, "q": x + 0.5 * rng.standard_normal(30) > 3.0}
    attack, theory = setting(table, ["q"], pr.Mean(columns=("x",)), process)
    lag_zero = pr.predictability(
        process.summarise(table, pr.query_set(["q"], table), pr.Mean(columns=("x",)).fit(table), long_run=False),
        process.size(),
    )
    trials = 4_000
    oracle, feasible = run(attack, theory, trials)
    for ratio in (oracle.before_ratio[0], oracle.after_ratio[0], oracle.difference_ratio[0]):
        # slow mixing leaves a few percent at n = 2,000
        holds(ratio, trials, slack=0.005)
    assert feasible.ratio[0] > 0.9
    assert oracle.before_ratio[0] * theory.variance_before[0] / lag_zero.variance_before[0] > 10
    assert theory.printed[0] > 10 * lag_zero.printed[0]


def test_sticky_groups() -> None:
    """A chain over groups with a uniform member each: the same identities."""
    table, _ = biased()
    grouped = dict(table, ward=np.digitize(table["x"][:, 0], [-0.7, 0.0, 0.7]))
    process = pr.StickyStrata(draws=1_500, column="ward", restart=0.15).process(3_000, grouped)
    attack, theory = setting(grouped, ["q"], pr.Mean(columns=("x",)), process)
    oracle, _ = run(attack, theory, 4_000)
    for ratio in (oracle.before_ratio[0], oracle.after_ratio[0], oracle.difference_ratio[0]):
        holds(ratio, 4_000, slack=0.005)


# --- E: log loss ---------------------------------------------------------------------------------------------


def test_E_log_loss() -> None:
    attack, theory = setting(heavy(), ["q"], pr.Mean(columns=("x",)), pr.ShardProcess(2_000, 0.3), loss="log")
    draws = attack.run(TRIALS, np.random.default_rng(1))
    found = pr.assess(draws, theory, np.random.default_rng(2), who="oracle", tau=0.05, resamples=100)
    error = float(found.gain_error[0] / theory.gain[0])
    assert found.ratio[0] == pytest.approx(1.0, abs=4.5 * error)
    assert 4.5 * error < 0.2
    assert found.ratio_interval[0, 0] < 1.0 < found.ratio_interval[1, 0]
    assert found.share_of_bound[0] < 0.35


# --- further laws --------------------------------------------------------------------------------------------


def test_second_order_delta_method() -> None:
    """Lem A.18: n times the loss gap is (ℓ''/2) σ² χ²₁: mean within 2 %, and the quantiles of a χ²."""
    rng = np.random.default_rng(0)
    total, n, p = 40_000, 10_000, 0.3
    known = rng.hypergeometric(round(p * total), total - round(p * total), n, size=200_000) / n
    gaps = pr.expected_loss("log", known, p) - pr.expected_loss("log", p, p)
    factor = pr.finite_population_factor(n / total) * p * (1 - p) * pr.loss_gap_scale("log", p)
    scaled = n * gaps / factor
    assert scaled.mean() == pytest.approx(1.0, abs=0.02)
    assert 4.5 * math.sqrt(2 / 200_000) < 0.02
    for level, quantile in ((0.5, 0.45494), (0.95, 3.84146)):
        assert (scaled < quantile).mean() == pytest.approx(level, abs=0.012)


def test_two_efficient_estimates_agree_to_first_order() -> None:
    """Thm A.17: n times the difference of the losses shrinks with n."""
    rng = np.random.default_rng(0)
    scaled = []
    for n in (50, 200, 800):
        g = rng.standard_normal((3_000, n, 1))
        q = 0.6 * g[:, :, 0] + rng.exponential(size=(3_000, n))
        one, two = pr.two_efficient_estimates(q, g)
        scaled.append(n * np.abs(np.square(one - 1) - np.square(two - 1)).mean())
    assert scaled[0] > 1.5 * scaled[1] > 2.25 * scaled[2]


def test_central_limit_theorems() -> None:
    """A.13 and A.15: standardised means are normal (Kolmogorov's distance at 1 %), and not without the factors."""
    rng = np.random.default_rng(0)
    shard = pr.ShardProcess(2_000, 0.3)
    chain = pr.ChainProcess(200, 1_000, pr.lazy_chain(np.full(4, 0.25), 0.2), np.arange(200) // 50)
    for process, values in ((shard, heavy()["x"][:, 1]), (chain, np.arange(200.0))):
        for corrected in (True, False):
            drawn = np.sort(pr.standardised_means(values, process, 4_000, rng, corrected=corrected))
            normal = 0.5 * (1 + np.array([math.erf(one / math.sqrt(2)) for one in drawn]))
            distance = np.abs(normal - (np.arange(4_000) + 0.5) / 4_000).max()
            assert (distance < 1.63 / math.sqrt(4_000)) == corrected, (distance, corrected)


def test_private_yet_predictable_family() -> None:
    """R2: the simulated gains of Thm 2.5(i) at N = 50, 100, 400, 1,600 within 4.5 standard errors."""
    for n, bound in ((50, 0.09), (100, 0.17), (400, 0.23), (1_600, 0.245)):
        _, gains = pr.simulate_private_yet_predictable(n, 200_000, np.random.default_rng(n))
        assert gains.mean() == pytest.approx(bound, abs=4.5 * gains.std() / math.sqrt(200_000))
        assert 4.5 * gains.std() / math.sqrt(200_000) < 0.1 * bound
