"""Every erratum that changes a number: the printed and the corrected value side by side (spec, section 5).

The printed value is computed here as the source prints it; the corrected one comes from the package.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from privexplorer import predictability as pr

SHARD = pr.shard_size(0.4, 20)


def spread_of(x: Any) -> np.ndarray:
    return np.asarray(x - np.mean(x, axis=0), dtype=float)


def regression(d20: dict[str, Any], weighted: bool = True) -> pr.MomentSummary:
    release = pr.LinearRegression(features=("x1", "x2"), intercept=False).fit(d20)
    process = pr.IndependentProcess(20, 8, d20["law"] if weighted else None)
    return process.summarise(d20, pr.query_set(["q"], d20), release)


def g1() -> pr.MomentSummary:
    return pr.moment_summary([0, 0, 0, 1, 0, 1, 1, 1], np.arange(8.0) - 3.5)


def test_E1_noise_scale() -> None:
    """The shared draw weighs αN/(1-α) times: 0.51698 printed, 0.42789 as released."""
    size = pr.shard_size(0.25, 8)
    printed = pr.predictability(g1(), size, [[2.0]], noise_scale="paper").printed[0]
    corrected = pr.predictability(g1(), size, [[2.0]]).printed[0]
    assert printed == pytest.approx(0.5169776948, rel=1e-9)
    assert corrected == pytest.approx(0.4278874724, rel=1e-9)
    assert corrected == pytest.approx(
        pr.predictability(g1(), size, [[2.0 * 8 / 3]], noise_scale="paper").printed[0], rel=1e-12
    )
    # calibrating by the printed number adds ν times the noise that is needed
    setting = pr.noise_setting(g1(), size.multiplier())
    needed = pr.Calibrated(level=1.0).law(setting).covariance
    wasteful = pr.Calibrated(level=1.0).law(pr.noise_setting(g1(), 1.0)).covariance
    np.testing.assert_allclose(wasteful, 8 / 3 * needed, rtol=1e-12)


def test_E2_variance_of_the_weighted_query(d20: dict[str, Any]) -> None:
    """Var[wq] as rewritten in the proof, against V_q = Var[w(q - p)]: 0.36417 and 0.32721; a constant: 0.302 and 0."""
    law, weights = d20["law"], d20["weights"]

    def printed(q: np.ndarray) -> float:
        return float(law @ (weights * q) ** 2 - (law @ (weights * q)) ** 2)

    corrected = pr.moment_summary(np.column_stack([d20["q"], np.ones(20)]), spread_of(d20["x"]), weights=weights)
    assert printed(d20["q"]) == pytest.approx(0.3641666667, rel=1e-9)
    assert corrected.query_variance[0] == pytest.approx(0.3272135417, rel=1e-9)
    assert printed(np.ones(20)) == pytest.approx(0.302, abs=5e-4)
    assert corrected.query_variance[1] == 0.0


def test_E3_weights_are_not_applied_twice(d20: dict[str, Any]) -> None:
    """Expectations are under p: E_D[w ∂g] = J exactly; reading "weights 1/(pN)" once more gives another J."""
    summary = regression(d20)
    x, law, weights = d20["x"], d20["law"], d20["weights"]
    right = np.einsum("i,ij,ik->jk", law * weights, x, x)
    np.testing.assert_allclose(summary.jacobian, right, rtol=1e-12)
    twice = np.einsum("i,ij,ik->jk", weights, x, x) / 20
    assert np.abs(twice / right - 1).max() > 0.05
    found = pr.predictability(summary, pr.sample_attack_size(8), 0.05 * np.eye(2), noise_scale="paper")
    assert found.variance_after[0] == pytest.approx(0.2317670409, rel=1e-9)
    block = pr.moment_system(summary, 0.05 * np.eye(2)).query_covariance()[0, 0]
    assert found.variance_after[0] == pytest.approx(block, rel=1e-12)
    assert block == pytest.approx(0.2317670409, rel=1e-9)


def test_E4_gaussian_tail() -> None:
    """The printed tail 2 exp(-t²) is below the true one at t = 2; the product of perfectly correlated errors fails."""
    assert math.erfc(2 / math.sqrt(2)) == pytest.approx(0.0455, abs=5e-5)
    assert 2 * math.exp(-4) == pytest.approx(0.0366, abs=5e-5)
    found = pr.predictability(pr.moment_summary([0.0, 1.0, 0.0, 1.0], [-1.0, 1.0, -1.0, 1.0]), SHARD)
    assert found.r[0] == pytest.approx(1.0)
    base = 2 * found.variance_before[0] / SHARD.effective
    for form, failure in (("printed", 0.0144), ("corrected", 0.0005)):
        level = found.high_probability(0.01, form)[0] / base  # bound on Z², Z standard normal
        assert math.erfc(math.sqrt(level / 2)) == pytest.approx(failure, abs=5e-5)
    for delta, form in itertools.product((0.1, 0.01), ("printed", "corrected")):
        family = pr.FiniteFamily(np.array([[1.0]]), SHARD, 2.0, 10).high_probability(delta, form)  # type: ignore[arg-type]
        assert family == pytest.approx((2 if form == "corrected" else 1) * math.log(40 / delta) * 2 / 4.8)


def test_E5_long_run_covariance() -> None:
    """A slow chain on N = 30: the long-run variance is over thirty times the printed lag-0 one."""
    strata = np.arange(30) // 15
    process = pr.strata_chain([[0.975, 0.025], [0.025, 0.975]], strata, 3_000)
    x = strata + 0.3 * np.sin(np.arange(30.0))
    table = {"x": x, "q": strata == 1}
    asked, release = pr.query_set(["q"], table), pr.Mean(columns=("x",)).fit(table)
    corrected = process.summarise(table, asked, release)
    printed = process.summarise(table, asked, release, long_run=False)
    assert corrected.query_variance[0] / printed.query_variance[0] == pytest.approx(39.0, rel=1e-9)
    bounds = [pr.predictability(one, process.size()).printed[0] for one in (printed, corrected)]
    assert bounds[1] > 30 * bounds[0]


def test_E6_radius_enters_squared(d20: dict[str, Any]) -> None:
    """D20, mean release, H = 1, B = 20: printed 1,000, expected supremum about 1,758, corrected 20,002."""
    family = pr.linear_family(pr.moment_summary(d20["x"], spread_of(d20["x"])), SHARD, np.eye(2), smoothness=1.0)
    drawn = family.simulated_supremum(100_000, np.random.default_rng(0), 20.0, "product")
    assert drawn.mean() == pytest.approx(1_758, abs=4.5 * drawn.std() / math.sqrt(100_000))
    assert family.trace_bound(20.0, "printed") == pytest.approx(1_000, rel=5e-4)
    assert family.trace_bound(20.0, "printed") < drawn.mean() < family.trace_bound(20.0)
    assert family.trace_bound(20.0) == pytest.approx(20_002, rel=5e-5)


def test_E7_lipschitz_functions_of_the_mean_only() -> None:
    """q = |x|, release the mean of |x|: the printed bound is 0, the true squared-loss gain 0.625 at α = 1/2."""
    x = np.concatenate([np.arange(1.0, 5.0), -np.arange(1.0, 5.0)])
    size = pr.shard_size(0.5, 8)
    moments = np.abs(x) - 2.5
    assert pr.linear_family(pr.moment_summary(x, moments), size).trace_bound(1.0) == pytest.approx(0.0, abs=1e-12)
    assert pr.predictability(pr.moment_summary(np.abs(x), moments), size).gain[0] == pytest.approx(0.625)
    finite = pr.finite_family([pr.moment_summary(np.abs(x), moments)], size)
    assert finite.bound > 0.625
    assert "Lipschitz functions of the mean" in pr.LIPSCHITZ_NOTE


def test_E8_clipped_answers() -> None:
    """H = 1/τ² = 100 holds for answers in [τ, 1-τ] (at most 90.12 there); at 0.01 the curvature is 1,001."""
    assert float(pr.loss_curvature("log", 0.01, 0.1)) == pytest.approx(1_000.9, rel=1e-4)
    inside = np.linspace(0.1, 0.9, 801)
    assert pr.loss_curvature("log", inside, 0.1).max() == pytest.approx(90.12345679, rel=1e-9)
    # the printed inequality fails without clipping the answer
    gap = pr.expected_loss("log", 0.001, 0.1) - pr.expected_loss("log", 0.1, 0.1)
    assert float(gap) < 100 * 0.099 * 0.099
    gap = pr.expected_loss("log", 1e-6, 0.1) - pr.expected_loss("log", 0.0999, 0.1)
    assert float(gap) > 100 * 0.1 * 0.1
    draws = pr.AttackDraws(*(np.array([[one]]) for one in (0.1, 1e-6, 0.0999, 0.0999)), draws=5)
    assert draws.loss_gaps("log", 0.1)[0, 0] <= 100 * 0.1 * 0.1


def test_E10_gaussian_complexities() -> None:
    """L1 ball: printed 0, 0.833, ... below the truth; corrected above. Euclidean ball: a bound, not an equality."""
    for d, printed, corrected in (
        (1, 0, 1.177),
        (2, 0.833, 1.665),
        (5, 1.269, 2.146),
        (20, 1.731, 2.716),
        (200, 2.302, 3.462),
    ):
        assert pr.l1_complexity(np.eye(d), method="printed") == pytest.approx(printed, abs=6e-4)
        assert pr.l1_complexity(np.eye(d)) == pytest.approx(corrected, abs=6e-4)
        assert printed < pr.l1_complexity(np.eye(d), method="independent") < corrected
    sigma = np.diag([1.0, 9.0])
    assert pr.ball_complexity(sigma, method="exact") == pytest.approx(2.667, abs=2e-3)
    assert pr.ball_complexity(sigma) == pytest.approx(math.sqrt(10))


def test_E11_laplace_scale() -> None:
    """ε/N as printed would be 1/ε-DP: ε = 10 when 0.1 was meant; 1/(Nε) is right."""
    printed, corrected = pr.laplace_scale(100, 0.1, "printed"), pr.laplace_scale(100, 0.1)
    assert (printed, corrected) == (pytest.approx(0.001), pytest.approx(0.1))
    assert 1 / (100 * printed) == pytest.approx(10.0)
    assert 1 / (100 * corrected) == pytest.approx(0.1)
    assert pr.private_yet_predictable(100).noise_variance == pytest.approx(4 * 2 * corrected**2)


def test_E11b_cross_term_of_the_exact_mean() -> None:
    """All 252 shards of 5 of 10: the cross term is 0.0533, not 0; the total 0.10667 is the formula."""
    bits = np.r_[np.ones(4), np.zeros(6)]
    known, unknown = np.array(
        [(bits[list(shard)].mean(), np.delete(bits, shard).mean()) for shard in itertools.combinations(range(10), 5)]
    ).T
    cross = -2 * ((known - 0.4) * (unknown - 0.4)).mean()
    total = np.square(known - unknown).mean()
    assert cross == pytest.approx(0.0533, abs=5e-5)
    assert total == pytest.approx(pr.exact_mean_predictability(10, 0.4, 0.5), rel=1e-12)
    assert total - cross == pytest.approx(0.0533, abs=5e-5)  # printed: without the cross term


def test_E12_identity_holds_on_average_only() -> None:
    toy = pr.log_loss_toy(4, 2)
    assert toy.gaps.min() == pytest.approx(0.288, abs=5e-4)
    assert toy.gaps.max() == pytest.approx(0.462, abs=5e-4)
    assert toy.average == pytest.approx(toy.information, rel=1e-11)


def test_E13_sizes_of_a_subgroup() -> None:
    """Factors that the text leaves out: αN/(1-α) for everybody in G, α(1-α)N for the unknown ones.

    Exactly: K people of G are known, K hypergeometric; given K both variances are those of simple random sampling.
    """
    records, members, fraction = 20_000, 5_000, 0.3
    known = np.arange(1, members)
    chance = hypergeom(records, members, round(fraction * records)).pmf(known)
    spread = 0.21 * members / (members - 1)  # of a query that 30 % of G answer with yes
    everyone = float(chance @ (spread * (1 / known - 1 / members)))
    unknown = float(chance @ (spread * (1 / known + 1 / (members - known))))
    variance = 0.21 * records / members  # V_q
    for target, exact in (("everyone", everyone), ("unknown", unknown)):
        size = pr.shard_size(fraction, records, target)  # type: ignore[arg-type]
        assert variance / size.effective == pytest.approx(exact, rel=2e-3)
    assert unknown / everyone == pytest.approx(1 / 0.49, rel=2e-3)


def test_factor_of_the_shard() -> None:
    """α(1-α)N is right for unknown people; the noise multiplier is αN/(1-α), another number."""
    q = np.array([0.0, 1, 1, 0, 3, 0, 2, 5, 1, 1])
    gaps = [q[list(shard)].mean() - np.delete(q, shard).mean() for shard in itertools.combinations(range(10), 3)]
    size = pr.shard_size(0.3, 10, exact=True)
    assert np.square(gaps).mean() * size.effective / q.var() == pytest.approx(1.0, rel=1e-10)
    usual = pr.shard_size(0.3, 10)
    assert (usual.effective, usual.noise_multiplier) == (pytest.approx(2.1), pytest.approx(3 / 0.7))


def test_E14_equal_sigma_is_no_comparison(d20: dict[str, Any]) -> None:
    """At equal σ² = 0.5 the isotropic error is 11.475 against 3.116, but it hides more; at equal γ it is smaller."""
    release = pr.LinearRegression(features=("x1", "x2"), intercept=False).fit(d20)
    summary = pr.summarise(d20, pr.query_set(["q"], d20), release)
    accuracy = pr.regression_accuracy(release, d20, 0.5)
    assert (accuracy.calibrated, accuracy.isotropic) == (pytest.approx(3.116193267), pytest.approx(11.475))
    calibrated, isotropic = (
        pr.predictability(summary, SHARD, 0.5 * sigma, noise_scale="paper").printed[0]
        for sigma in (summary.sandwich, np.eye(2))
    )
    assert isotropic < 0.8 * calibrated
    matched = pr.equal_predictability(summary, release.gram, summary.sandwich, np.eye(2), 0.7)
    assert matched.ratio == pytest.approx(0.853, abs=1e-3)
    assert matched.first_level != pytest.approx(matched.second_level, rel=0.5)


def test_E16_known_weights(d20: dict[str, Any]) -> None:
    """The attacker may use E[w] = 1: σ₁² = V_q - Cov(q', w)²/Var(w), below the printed V_q, and σ₂² accordingly."""
    release = pr.Mean(columns=("x",)).fit(d20)
    process = pr.IndependentProcess(20, 8, d20["law"])
    asked = pr.query_set(["q"], d20)
    printed = pr.predictability(process.summarise(d20, asked, release), process.size(), np.eye(2))
    better = pr.predictability(process.summarise(d20, asked, release, weight_moment=True), process.size(), np.eye(2))
    law, w = d20["law"], d20["weights"]
    moved = w * (d20["q"] - 0.55)
    wanted = law @ moved**2 - (law @ (moved * (w - 1))) ** 2 / (law @ (w - 1) ** 2)
    assert printed.variance_before[0] == pytest.approx(0.3272135417, rel=1e-9)
    assert better.variance_before[0] == pytest.approx(wanted, rel=1e-11)
    assert better.variance_after[0] <= printed.variance_after[0]
    both = np.column_stack([w[:, None] * spread_of(d20["x"]), w - 1])
    total = (law[:, None] * both).T @ both + 8.0 * np.diag([1.0, 1.0, 0.0])
    cross = (law[:, None] * both).T @ moved
    assert better.variance_after[0] == pytest.approx(law @ moved**2 - cross @ np.linalg.solve(total, cross), rel=1e-9)


def test_E17_display_of_the_statistic() -> None:
    """c₀ without the square on the covariance is 0.18391; right is 0.16092. The Jacobian is -1, which is harmless."""
    c, variance, noise = 0.875, 5.25, 2.0
    printed = c / variance * 1 / (1 / variance + 1 / noise) / variance / 0.25
    assert printed == pytest.approx(0.18391, abs=5e-6)
    size = pr.shard_size(0.25, 8)
    assert pr.predictability(g1(), size, [[2.0]], noise_scale="paper").c0[0] == pytest.approx(0.16092, abs=5e-6)
    flipped = pr.moment_summary([0, 0, 0, 1, 0, 1, 1, 1], np.arange(8.0) - 3.5, [[1.0]])
    assert pr.predictability(flipped, size, [[2.0]], noise_scale="paper").c0[0] == pytest.approx(0.16092, abs=5e-6)


def test_E18_factor_of_calibrated_noise(d20: dict[str, Any]) -> None:
    """For a general process the factor is 1/n = 1/8; 1/(α(1-α)N) = 1/4.8 as printed belongs to shards."""
    summary = regression(d20)
    sigma = 0.5 * summary.sandwich
    n = pr.sample_attack_size(8)
    corrected = pr.predictability(summary, n, sigma, noise_scale="paper")
    printed = pr.predictability(summary, SHARD, sigma, noise_scale="paper")
    assert printed.printed[0] / corrected.printed[0] == pytest.approx(8 / 4.8)
    rho = pr.predictability(summary, n).rho_cc[0]
    assert corrected.printed[0] == pytest.approx(2 * pr.KAPPA / 8 * summary.query_variance[0] * rho / math.sqrt(1.5))


def test_E19_sign_before_c0(d20: dict[str, Any]) -> None:
    """Σ₂ with -c₀ has the eigenvalue -9.2e-4; with +c₀ it has 1.32552 and 10.62634, those of direct GMM."""
    summary = pr.moment_summary(d20["x"], spread_of(d20["y"]))
    family = pr.linear_family(summary, SHARD, [[4.0]])
    assert np.linalg.eigvalsh(family.printed_after)[0] == pytest.approx(-9.2e-4, abs=5e-6)
    np.testing.assert_allclose(np.linalg.eigvalsh(family.after), [1.32552, 10.62634], atol=5e-6)
    direct = pr.moment_system(summary, [[4.0]]).query_covariance()
    np.testing.assert_allclose(np.linalg.eigvalsh(direct), [1.32552, 10.62634], atol=5e-6)


def test_E20_best_weight(d20: dict[str, Any]) -> None:
    """W = Ω gives 0.3275, Ω⁻¹ gives 0.23177, and the printed (GᵀΩG)⁻¹ is 4.676."""
    system = pr.moment_system(regression(d20), 0.05 * np.eye(2))
    assert system.query_covariance(system.spread)[0, 0] == pytest.approx(0.3275022216, rel=1e-9)
    assert system.query_covariance()[0, 0] == pytest.approx(0.2317670409, rel=1e-9)
    printed = np.linalg.inv(system.slope.T @ system.spread @ system.slope)[0, 0]
    assert printed == pytest.approx(4.676, abs=5e-4)


def test_E21_pseudo_inverse_of_the_sum(d20: dict[str, Any]) -> None:
    """(x1, 2 x1), Σ = diag(.5, 5): the sum's pseudo-inverse is the limit 0.0194073; the printed form gives 0.0426."""
    statistic = np.column_stack([d20["x1"], 2 * d20["x1"]]).astype(float)
    summary, sigma = pr.moment_summary(d20["q"], spread_of(statistic)), np.diag([0.5, 5.0])
    corrected = pr.noise_spectrum(summary, sigma).c0()[0]
    assert corrected == pytest.approx(0.0194073, abs=5e-8)
    jitter = 1e-4 * np.random.default_rng(0).standard_normal((20, 2))
    near = pr.moment_summary(d20["q"], spread_of(statistic + jitter * 1e-3))
    rho2 = pr.noise_spectrum(summary).rho2[0]
    assert rho2 - pr.noise_spectrum(near, sigma).r2()[0] == pytest.approx(0.0194073, abs=1e-6)
    inverse = np.linalg.pinv(summary.moment_covariance)
    moved = inverse @ summary.cross_covariance[0]
    printed = moved @ np.linalg.inv(inverse + np.linalg.inv(sigma)) @ moved / summary.query_variance[0]
    assert printed == pytest.approx(0.0425817, abs=5e-8)


def test_E22_last_factor_of_c0(d20: dict[str, Any]) -> None:
    """With Cov(g', q') as last factor the printed c₀ is the package's; the squared ρ divides by V_q, not Var[q]."""
    summary = regression(d20)
    found = pr.predictability(summary, pr.sample_attack_size(8), 0.05 * np.eye(2), noise_scale="paper")
    c, inverse, j = summary.cross_covariance[0], np.linalg.inv(summary.moment_covariance), summary.jacobian
    middle = np.linalg.inv(j.T @ inverse @ j + 20 * np.eye(2))
    printed = c @ inverse @ j @ middle @ j.T @ inverse @ c / summary.query_variance[0]
    assert found.c0[0] == pytest.approx(printed, rel=1e-10)
    by_plain_variance = c @ inverse @ c / d20["q"].var()
    assert by_plain_variance / found.rho_cc[0] ** 2 == pytest.approx(0.3272135417 / 0.2475, rel=1e-9)
