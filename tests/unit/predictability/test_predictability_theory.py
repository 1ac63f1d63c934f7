"""GMM algebra, limit laws, the checklist; and the simulated attacker's bookkeeping."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from privexplorer import predictability as pr
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination


def spread_of(x: Any) -> np.ndarray:
    return np.asarray(x - np.mean(x, axis=0), dtype=float)


def regression_system(d20: dict[str, Any]) -> pr.MomentSystem:
    """The case of E3: D20, weights G7, regression gradient, Σ = 0.05 I."""
    release = pr.LinearRegression(features=("x1", "x2"), intercept=False).fit(d20)
    process = pr.IndependentProcess(20, 8, d20["law"])
    return pr.moment_system(process.summarise(d20, pr.query_set(["q"], d20), release), 0.05 * np.eye(2))


# --- algebra -------------------------------------------------------------------------------------------------


def test_conditions_before_and_after(d20: dict[str, Any]) -> None:
    """P-E2: 1 condition before, 1 + m + d after; their slopes and sizes."""
    system = regression_system(d20)
    assert system.slope.shape == (5, 3)
    np.testing.assert_array_equal(system.slope[:, 0], [-1, 0, 0, 0, 0])
    np.testing.assert_array_equal(system.slope[3:, 1:], -np.eye(2))
    assert np.linalg.matrix_rank(system.slope) == 3
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    before = pr.moment_system(summary, stage="before")
    assert before.slope.shape == (1, 1)
    assert float(before.query_covariance()[0, 0]) == pytest.approx(0.2475)
    free = pr.moment_system(summary)
    assert free.slope.shape == (3, 1)
    assert float(free.query_covariance()[0, 0]) == pytest.approx(
        0.2475 * (1 - pr.noise_spectrum(summary).rho2[0]), rel=1e-11
    )


def test_optimal_combination(d20: dict[str, Any]) -> None:
    """Thm 3.4, A.7.3: AᵀΩA - A*ᵀΩA* is PSD and AᵀΩA* = A*ᵀΩA* for every A with AᵀG = I."""
    system = regression_system(d20)
    g, omega = system.slope, system.spread
    best = pr.optimal_combination(g, omega)
    np.testing.assert_allclose(best.T @ g, np.eye(3), atol=1e-11)
    least = best.T @ omega @ best
    np.testing.assert_allclose(least, pr.gmm_covariance(g, omega), rtol=1e-9)
    rng = np.random.default_rng(0)
    null = np.linalg.svd(g)[0][:, 3:]
    for _ in range(50):
        other = best + null @ rng.standard_normal((2, 3))
        np.testing.assert_allclose(other.T @ g, np.eye(3), atol=1e-10)
        assert np.linalg.eigvalsh(other.T @ omega @ other - least)[0] >= -1e-10
        np.testing.assert_allclose(other.T @ omega @ best, least, rtol=1e-9, atol=1e-11)


@given(st.integers(0, 10_000))
def test_sandwich_is_never_below(seed: int) -> None:
    """Thm A.24 for random weights: the smallest eigenvalue of the difference is at least -1e-10."""
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((5, 2))
    half, weight = rng.standard_normal((5, 5)), rng.standard_normal((5, 5))
    omega, w = half @ half.T + 0.1 * np.eye(5), weight @ weight.T + 0.1 * np.eye(5)
    gap = pr.gmm_covariance(g, omega, w) - pr.gmm_covariance(g, omega)
    assert np.linalg.eigvalsh(gap)[0] >= -1e-10 * np.abs(gap).max()
    np.testing.assert_allclose(
        pr.gmm_covariance(g, omega, np.linalg.inv(omega)), pr.gmm_covariance(g, omega), rtol=1e-7
    )


def test_variance_of_the_difference_by_algebra(d20: dict[str, Any]) -> None:
    """Thm 3.4: Cov(θ̂_C, θ̂_CA) = Var(θ̂_CA), to 1e-12, with the optimal rows of both systems."""
    system = regression_system(d20)
    best = pr.optimal_combination(system.slope, system.spread)[:, 0]
    first = np.zeros(5)
    first[0] = -1.0  # p̂ from C alone uses the first condition only
    cross, after = first @ system.spread @ best, best @ system.spread @ best
    assert cross == pytest.approx(after, abs=1e-12)
    difference = (first - best) @ system.spread @ (first - best)
    assert difference == pytest.approx(first @ system.spread @ first - after, abs=1e-12)


def test_quadratic_form_minimised_numerically(d20: dict[str, Any]) -> None:
    """P-X13: the closed form of linear GMM against an optimiser, and against the attacker's formula."""
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    system = pr.moment_system(summary, np.eye(2))
    weight = np.linalg.inv(system.spread)
    core = np.array([0, 3, 4, 7, 9, 12, 15, 16])
    noisy = d20["x"].mean(axis=0) + np.array([0.3, -0.2])
    at_zero = np.concatenate([[d20["q"][core].mean()], d20["x"][core].mean(axis=0), noisy])
    found = pr.linear_gmm(at_zero, system.slope, weight)

    def objective(theta: np.ndarray) -> float:
        f = at_zero + system.slope @ theta
        return float(f @ weight @ f)

    best = minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-12})
    np.testing.assert_allclose(found, best.x, atol=1e-8)
    pull = np.linalg.solve(summary.moment_covariance + np.eye(2), d20["x"][core].mean(axis=0) - noisy)
    assert found[0] == pytest.approx(d20["q"][core].mean() - summary.cross_covariance[0] @ pull, rel=1e-10)


def test_refusals_of_gmm(d20: dict[str, Any]) -> None:
    for call, words in (
        (lambda: pr.gmm_covariance(np.ones((3, 2)), np.eye(3)), "2 parameters are not identified by 3 moments.*rank 1"),
        (lambda: pr.gmm_covariance(np.ones((1, 2)), np.eye(1)), "not identified"),
        (lambda: pr.gmm_covariance(np.ones((3, 1)), np.eye(2)), "it is 2 × 2, and there are 3 moments"),
        (lambda: pr.gmm_covariance(np.ones((2, 1)), np.diag([1.0, 0.0])), "never varies"),
        (lambda: pr.loss_gap_scale("log", 1.0), "strictly between 0 and 1"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()


# --- factors -------------------------------------------------------------------------------------------------


def test_factors() -> None:
    assert pr.finite_population_factor(0.3) == 0.7
    assert pr.unknown_mean_factor(0.4) == pytest.approx(2.7777778)
    assert pr.loss_gap_scale("squared", 0.3) == 1.0
    assert pr.loss_gap_scale("log", 0.3) == pytest.approx(0.5 * float(pr.loss_curvature("log", 0.3, 0.3)))


def test_two_efficient_estimates_are_the_gmm_minima() -> None:
    """Thm A.17: closed forms against a numerical minimum of fᵀΩ̂⁻¹f, Ω̂ fixed and Ω̂ moving with p."""
    rng = np.random.default_rng(0)
    g = rng.standard_normal((2, 40, 2))
    q = (g[:, :, 0] + rng.standard_normal((2, 40)) > 0).astype(float)
    one, two = pr.two_efficient_estimates(q, g)
    for sample in range(2):

        def spread(p: float, sample: int = sample) -> np.ndarray:
            rows = np.column_stack([q[sample] - p, g[sample]])
            return np.asarray(rows.T @ rows / 40)

        def objective(p: Any, fixed: float | None, sample: int = sample) -> float:
            f = np.concatenate([[q[sample].mean() - float(p[0])], g[sample].mean(axis=0)])
            return float(f @ np.linalg.solve(spread(float(p[0]) if fixed is None else fixed), f))

        for found, fixed in ((one[sample], q[sample].mean()), (two[sample], None)):
            best = minimize(objective, [q[sample].mean()], args=(fixed,), method="Nelder-Mead", tol=1e-13)
            assert found == pytest.approx(best.x[0], abs=1e-6)


def test_means_of_samples_are_standardised() -> None:
    """A.13, A.15: variance 1 with the right factors; leaving one out fails visibly."""
    rng = np.random.default_rng(0)
    x = np.random.default_rng(1).standard_normal(60)
    chain = pr.ChainProcess(60, 1_500, pr.lazy_chain(np.full(3, 1 / 3), 0.2), np.argsort(np.argsort(x)) // 20)
    shard = pr.ShardProcess(60, 0.6)
    tolerance = 5 * math.sqrt(2 / 3_000)
    for process in (chain, shard):
        good = pr.standardised_means(x, process, 3_000, rng).var()
        bad = pr.standardised_means(x, process, 3_000, rng, corrected=False).var()
        assert good == pytest.approx(1.0, abs=tolerance + 0.02)
        assert abs(bad - 1.0) > 0.4
    with pytest.raises(ParameterError, match="3 values for 60 people"):
        pr.standardised_means(np.zeros(3), shard, 5, rng)


def test_running_mean_settles() -> None:
    """Def A.4: the running mean of w q along one path approaches p."""
    rng = np.random.default_rng(0)
    q = np.arange(8.0)
    process = pr.people_chain(0.7 * np.eye(8) + 0.3 * np.tile(np.arange(1, 9) / 36, (8, 1)), 60_000)
    path = process.sample(1, rng)[0]
    means = pr.running_mean(q, path, process.weights)
    assert means[-1] == pytest.approx(q.mean(), abs=0.15)
    assert abs(pr.running_mean(q, path)[-1] - q.mean()) > 0.5  # without weights it settles elsewhere


def test_uniform_law() -> None:
    """A.12, A.14: the largest error over a grid falls about as 1/√n, for a chain and for shards of a fixed share."""
    rng = np.random.default_rng(0)
    grid = np.linspace(-2, 2, 9)
    worst = []
    for n in (100, 400, 1_600):
        x = np.tile(np.random.default_rng(1).standard_normal(400), n // 100)
        worst.append(pr.uniform_error(x, pr.ShardProcess(4 * n, 0.25).sample(200, rng), grid).mean())
    assert 1.7 < worst[0] / worst[1] < 2.4
    assert 1.7 < worst[1] / worst[2] < 2.4
    x = np.random.default_rng(1).standard_normal(40)
    law = np.random.default_rng(2).dirichlet(np.full(40, 4.0))
    errors = []
    for n in (200, 800, 3_200):
        process = pr.ChainProcess(40, n, pr.lazy_chain(law, 0.5), np.arange(40))
        errors.append(pr.uniform_error(x, process.sample(100, rng), grid, process.weights).mean())
    assert 1.6 < errors[0] / errors[1] < 2.5
    assert 1.6 < errors[1] / errors[2] < 2.5


def test_checklist(d20: dict[str, Any]) -> None:
    """A.7.1: a sound case, a rank-deficient one marked red, and an adversary."""
    shard = pr.ShardProcess(20, 0.4)
    sound = pr.regularity(pr.moment_summary(d20["q"], spread_of(d20["x"])), shard, np.eye(2))
    assert {line.status for line in sound} == {"holds", "assumed"}
    assert any("Bernstein" in line.name for line in sound)
    twice = np.column_stack([d20["x1"], 2 * d20["x1"]])
    red = pr.regularity(pr.moment_summary(d20["q"], spread_of(twice)), shard)
    assert [line.name for line in red if line.status == "fails"] == ["Covariance positive definite"]
    attacker = pr.regularity(pr.moment_summary(d20["q"], spread_of(d20["x"])), pr.FixedProcess(20, np.arange(3)))
    assert [line.name for line in attacker if line.status == "fails"] == ["Central limit theorem and uniform law"]
    fitted = pr.LinearRegression(features=("x1", "x2"), intercept=False).fit(d20)
    lines = pr.regularity(pr.summarise(d20, pr.query_set(["q"], d20), fitted), shard)
    assert any("largest mean moment" in line.text for line in lines)


# --- the simulated attacker ----------------------------------------------------------------------------------


def prepared(
    crowd: dict[str, Any], record: Any, process: pr.Process, noise: Any = None, **more: Any
) -> tuple[Any, ...]:
    asked = pr.query_set(["b > 1", "yes"], crowd)
    release = record.fit(crowd)
    summary = process.summarise(crowd, asked, release, more.get("group"))
    law = (noise or pr.NoNoise()).law(pr.noise_setting(summary, process.size().multiplier()))
    attack = pr.prepare_attack(crowd, asked.evaluate(crowd), release, process, law, summary=summary, **more)
    return attack, pr.predictability(summary, process.size(more.get("target", "unknown")), law.covariance)


def by_hand(attack: pr.PreparedAttack, places: np.ndarray, noisy: np.ndarray, query: int) -> tuple[float, float]:
    """One attack in plain steps, as spec 3.11 says it (weights and no subgroup)."""
    q = attack.answers[query][places]
    w = np.ones(len(places)) if attack.weights is None else attack.weights[places]
    before = (w * q).sum() / w.sum()
    g = attack.release.moments_at(attack.design[:, places][:, None, :], noisy[None])[:, 0].T * w[:, None]
    mean = g.mean(axis=0)
    spread = g.T @ g / len(places) - np.outer(mean, mean)
    cross = ((w * (q - before))[:, None] * (g - mean)).mean(axis=0)
    j = attack.release.jacobian_at(
        attack.design[:, places][:, None, :], noisy[None], None if attack.weights is None else w[None]
    )[0]
    total = spread + attack.noise_multiplier * j @ attack.noise.covariance @ j.T
    return before, before - cross @ np.linalg.solve(total, mean) / w.mean()


@pytest.mark.parametrize("kind", ["mean", "linear", "logistic", "path", "stack"])
@pytest.mark.parametrize("weighted", [False, True])
def test_vectorised_attacks_are_single_ones(crowd: dict[str, Any], kind: str, weighted: bool) -> None:
    records: dict[str, Any] = {
        "mean": pr.Mean(columns=("a", "y")), "linear": pr.LinearRegression(features=("x",), target="y"),
        "logistic": pr.PenalisedLogisticRegression(features=("a", "b"), target="yes", penalty=0.1),
        "path": pr.GradientDescent(features=("a",), target="y", steps=2, step_size=0.1, penalty=0.1, released="path"),
    }  # fmt: skip
    process: pr.Process = (
        pr.WeightedDraws(draws=400, column="scores").process(5_000, crowd) if weighted else pr.ShardProcess(5_000, 0.08)
    )
    asked = pr.query_set(["b > 1", "yes"], crowd)
    if kind == "stack":
        release: Any = pr.fit_all([records["mean"], records["logistic"]], crowd)
    else:
        release = records[kind].fit(crowd)
    law = pr.Isotropic(std=0.05).law(pr.NoiseSetting(release.jacobian.shape[1]))
    attack = pr.prepare_attack(crowd, asked.evaluate(crowd), release, process, law)
    found = attack.run(6, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    noisy = release.population(crowd) + law.sample(6, rng)
    for trial, places in enumerate(process.sample(6, rng)):
        for query in range(2):
            before, after = by_hand(attack, places, noisy[trial], query)
            truth = attack.answers[query].mean()
            if not weighted:
                outside = np.ones(5_000, dtype=bool)
                outside[places] = False
                truth, share = attack.answers[query][outside].mean(), 400 / 5_000
                known = attack.answers[query][places].mean()
                before, after = ((value - share * known) / (1 - share) for value in (before, after))
            assert found.truth[trial, query] == pytest.approx(truth, rel=1e-11)
            assert found.before[trial, query] == pytest.approx(before, rel=1e-10)
            assert found.feasible[trial, query] == pytest.approx(after, rel=1e-7)
    assert np.isnan(found.oracle).all()


def test_blocks_repeat_and_join(crowd: dict[str, Any]) -> None:
    """The same generators give the same bits, whatever the step; blocks join in order; noise has its own stream."""
    attack, _ = prepared(crowd, pr.Mean(columns=("a",)), pr.ShardProcess(5_000, 0.02), pr.Isotropic(std=0.01))
    one = attack.run(50, np.random.default_rng(1), np.random.default_rng(2))
    shipped = pickle.loads(pickle.dumps(attack))  # noqa: S301
    two = shipped.run(50, np.random.default_rng(1), np.random.default_rng(2))
    for name in ("truth", "before", "feasible", "oracle"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    other = attack.run(50, np.random.default_rng(1), np.random.default_rng(9))
    np.testing.assert_array_equal(one.before, other.before)
    assert not np.array_equal(one.oracle, other.oracle)
    joined = one.joined(other)
    assert joined.trials == 100
    np.testing.assert_array_equal(joined.feasible[50:], other.feasible)


def test_progress_and_cancel(crowd: dict[str, Any]) -> None:
    attack, _ = prepared(crowd, pr.Mean(columns=("a",)), pr.ShardProcess(5_000, 0.4))
    seen: list[tuple[int, int]] = []
    attack.run(3 * attack.step, np.random.default_rng(0), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(attack.step * k, 3 * attack.step) for k in (1, 2, 3)]

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attack.run(10, np.random.default_rng(0), progress=stop)


def test_an_exact_mean_of_the_query_gives_the_others_away(crowd: dict[str, Any]) -> None:
    """The release is the mean of the query itself: both attackers know the unknown mean exactly."""
    for process in (pr.ShardProcess(5_000, 0.1), pr.AllButOneProcess(50), pr.FixedProcess(50, np.arange(20))):
        table = crowd if process.records == 5_000 else {name: values[:50] for name, values in crowd.items()}
        answers = table["yes"].astype(float)
        release = pr.Proportion(condition="yes").fit(table)
        law = pr.NoNoise().law(pr.NoiseSetting(1))
        found = pr.prepare_attack(table, answers, release, process, law).run(40, np.random.default_rng(0))
        known = (found.before != found.truth).any(axis=1)
        np.testing.assert_allclose(found.feasible[known], found.truth[known], atol=1e-9)


def test_log_loss_gaps_are_clipped() -> None:
    draws = pr.AttackDraws(*(np.array([[value]]) for value in (0.3, 0.0, 0.4, 0.3)), draws=10)
    gap = draws.loss_gaps("log", 0.1)[0, 0]
    want = pr.expected_loss("log", 0.1, 0.3) - pr.expected_loss("log", 0.4, 0.3)
    assert gap == pytest.approx(float(want))
    assert draws.loss_gaps()[0, 0] == pytest.approx(0.09 - 0.01)
    assert draws.loss_gaps(who="oracle")[0, 0] == pytest.approx(0.09)
    with pytest.raises(ParameterError, match="clipping level"):
        draws.loss_gaps("log")


def test_assessment_of_known_draws() -> None:
    """Every number of the assessment from draws whose moments are known; the interval covers and narrows as 1/√n."""
    rng = np.random.default_rng(0)
    trials, n = 40_000, 100.0
    first = rng.standard_normal((trials, 1)) * math.sqrt(0.75 / n)
    step = rng.standard_normal((trials, 1)) * math.sqrt(0.25 / n)
    truth = np.full((trials, 1), 0.5)
    draws = pr.AttackDraws(truth, truth + first + step, truth + first, truth + first, draws=100)
    summary = pr.attenuated_r2(1.0, [[0.5]], [[1.0]])
    assert summary[0] == pytest.approx(0.25)
    g = np.repeat([-1.0, 1.0], 50)
    q = 0.5 * g + math.sqrt(0.75) * np.tile([-1.0, 1.0], 50) + 0.5
    theory = pr.predictability(pr.moment_summary(q, g), pr.AttackSize(n, n, n))
    found = pr.assess(draws, theory, rng, resamples=200)
    error = math.sqrt(2 / trials)
    assert found.before_ratio[0] == pytest.approx(1, abs=5 * error)
    assert found.after_ratio[0] == pytest.approx(1, abs=5 * error)
    assert found.difference_ratio[0] == pytest.approx(1, abs=5 * error)
    assert found.covariance_ratio[0] == pytest.approx(1, abs=5 * 1.3 * error)
    assert found.gain[0] == pytest.approx(0.25 / n, abs=5 * found.gain_error[0])
    assert found.ratio[0] == pytest.approx(found.gain[0] / theory.gain[0])
    assert found.share_of_bound[0] == pytest.approx(found.gain[0] / theory.printed[0])
    width = found.gain_interval[1, 0] - found.gain_interval[0, 0]
    assert width == pytest.approx(2 * 1.96 * found.gain_error[0], rel=0.25)
    assert found.gain_interval[0, 0] < found.gain[0] < found.gain_interval[1, 0]
    assert found.skipped == 0


def test_attacks_without_an_answer_are_counted(crowd: dict[str, Any]) -> None:
    """A group of two people: often nobody of it is known, sometimes everybody."""
    group = np.arange(5_000) < 2
    small = {name: values[:40] for name, values in crowd.items()}
    attack, theory = prepared(small, pr.Mean(columns=("a",)), pr.ShardProcess(40, 0.4), group=group[:40])
    draws = attack.run(400, np.random.default_rng(0))
    found = pr.assess(draws, theory, np.random.default_rng(1), resamples=50)
    both_or_none = sum(
        set(row) >= {0, 1} or not set(row) & {0, 1} for row in _places(attack.process, 400, np.random.default_rng(0))
    )
    assert found.skipped > 0
    assert found.skipped == pytest.approx(both_or_none, abs=60)
    nobody = pr.AttackDraws(*(np.full((5, 1), np.nan) for _ in range(4)), draws=3)
    with pytest.raises(ParameterError, match="Not one of the simulated attacks"):
        pr.assess(nobody, theory, np.random.default_rng(0))


def _places(process: pr.Process, trials: int, rng: np.random.Generator) -> list[list[int]]:
    return process.sample(trials, rng).tolist()


def test_refusals_of_attacks(crowd: dict[str, Any]) -> None:
    shard = pr.ShardProcess(5_000, 0.1)
    law = pr.NoNoise().law(pr.NoiseSetting(2))
    last = pr.GradientDescent(features=("a",), target="y", steps=3, step_size=0.1).fit(crowd)
    mean = pr.Mean(columns=("a", "y")).fit(crowd)
    for call, error, words in (
        (lambda: pr.prepare_attack(crowd, crowd["y"], last, shard, law), UnsupportedCombination, "last step"),
        (
            lambda: pr.prepare_attack(crowd, crowd["y"][:3], mean, shard, law), DataError, "the query has 3"
        ),
        (
            lambda: pr.prepare_attack(crowd, crowd["y"], mean, pr.ShardProcess(7, 0.5), law), DataError,
            "set up for 7 people",
        ),
        (
            lambda: pr.prepare_attack(crowd, crowd["y"], mean, shard, law).run(0, np.random.default_rng(0)),
            ParameterError, "At least 1 attack",
        ),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    stack = pr.FittedStack((mean, last))
    assert "last step" in str(stack.attack_reason())


def test_adversary_of_theorem_2_5() -> None:
    """An adversary who holds only ones, and a private rate: the informed answer is far better although ε is small."""
    n = 400
    bits = np.r_[np.ones(n // 2), np.zeros(n // 2)]
    table = {"bit": bits}
    process = pr.Adversary(compromised_fraction=0.5, condition="bit = 1").process(n, table)
    case = pr.private_yet_predictable(n)
    release = pr.Mean(columns=("bit",)).fit(table)
    law = pr.LaplaceForPrivacy(epsilon=case.epsilon).law(
        pr.NoiseSetting(1, sensitivity_l1=pr.Mean(columns=("bit",)).sensitivity(n, {"bit": (0, 1)}, "l1"))
    )
    assert law.laplace_scales[0, 0] == pytest.approx(case.scale)
    found = pr.prepare_attack(table, bits, release, process, law).run(2_000, np.random.default_rng(0))
    assert (found.truth == 0).all()
    # a core of ones only shows no variation, so the large-sample attacker learns nothing from it: the inversion does
    released = 0.5 + law.sample(2_000, np.random.default_rng(0))[:, 0]
    gain = 0.25 - np.square(2 * released - 1)
    assert gain.mean() == pytest.approx(case.bound, abs=5 * gain.std() / math.sqrt(2_000))


def test_steps_do_not_depend_on_the_machine(crowd: dict[str, Any]) -> None:
    attack, _ = prepared(crowd, pr.LinearRegression(features=("x",), target="y"), pr.ShardProcess(5_000, 0.1))
    assert attack.step == pr.BLOCK_VALUES // (500 * (2 + 5 + 4))
