"""Published numbers of predictability, each from the package and to its stated tolerance.

The numbers stand in ``predictability.json`` beside this file: the gold values G1 to G12 as given, and further numbers
of the text with label and tolerance. No test rewrites them. Noise is on the paper's scale where an entry does not say
otherwise, so every test names its scale.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from privexplorer import predictability as pr
from privexplorer.privacy import PureDP, group_privacy

FILE: dict[str, Any] = json.loads((Path(__file__).parent / "predictability.json").read_text("utf-8"))
GOLD: dict[str, Any] = {entry["name"].split()[0]: entry for entry in FILE["gold"]}
MORE: dict[str, Any] = {entry["id"]: entry for entry in FILE["more"]}

I = np.arange(1, 21)  # noqa: E741
X1, X2 = (7 * I) % 11 - 5, (5 * I) % 13 - 6
Y = X1 - 2 * X2 + (3 * I) % 7 - 3
Q = (X1 + (3 * I) % 7 - 3 > 0).astype(float)
X = np.column_stack([X1, X2]).astype(float)
TABLE = {"x1": X1, "x2": X2, "y": Y, "q": Q, "x": X}
LAW = (1 + I % 4) / (1 + I % 4).sum()
WEIGHTS = 1 / (20 * LAW)
SHARD = pr.shard_size(0.4, 20)
LINEAR = pr.LinearRegression(features=("x1", "x2"), target="y", intercept=False)


def expected(name: str) -> dict[str, Any]:
    return dict(GOLD[name]["expected"])


def close(found: Any, wanted: Any, tolerance: float = 1e-8) -> None:
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=1e-15)


def mean_summary(weights: Any = None, queries: Any = Q, statistic: Any = X, target: Any = None) -> pr.MomentSummary:
    moments = statistic - statistic.mean(axis=0)
    return pr.moment_summary(queries, moments, weights=weights, target=target)


def linear_summary(queries: tuple[str, ...] = ("q",)) -> tuple[pr.MomentSummary, pr.FittedModel]:
    release = LINEAR.fit(TABLE)
    return pr.summarise(TABLE, pr.column_queries(queries, TABLE), release), release


def paper(summary: pr.MomentSummary, size: pr.AttackSize = SHARD, covariance: Any = None) -> pr.Predictability:
    return pr.predictability(summary, size, covariance, noise_scale="paper")


def scalar() -> pr.MomentSummary:
    given = GOLD["G1"]["inputs"]
    values = np.array(given["gamma_values"])
    return pr.moment_summary(given["q"], values - values.mean())


# --- G1 to G12 -----------------------------------------------------------------------------------------------


def test_d20_is_the_printed_table() -> None:
    rows = np.column_stack([X1, X2, Y, Q])[:5]
    assert rows.tolist() == [[2, -1, 4, 1], [-2, 4, -7, 1], [5, -4, 12, 1], [1, 1, 1, 1], [-3, 6, -17, 0]]


def test_G1_scalar_mean() -> None:
    want, summary = expected("G1"), scalar()
    size = pr.shard_size(0.25, 8)
    found = paper(summary, size, [[2.0]])
    close(summary.query_variance, want["var_q"])
    close(summary.moment_covariance, [[want["var_gamma"]]])
    close(found.rho_cc, want["rho"])
    close(found.c0, want["c0"])
    close(size.effective, want["n_eff"])
    close(found.printed, want["gamma"])
    close(paper(summary, size).printed, want["gamma_noiseless"])
    close(found.gain, want["squared_gain"])


def test_G2_release_scale() -> None:
    want, size = expected("G2"), pr.shard_size(0.25, 8)
    found = pr.predictability(scalar(), size, [[2.0]], noise_scale="release")
    close(size.noise_multiplier, want["noise_multiplier"])
    close(found.c0, want["c0"])
    close(found.printed, want["gamma"])
    close(found.gain, want["squared_gain"])


def test_G3_vector_mean() -> None:
    want, summary = expected("G3"), mean_summary()
    found = paper(summary, SHARD, GOLD["G3"]["inputs"]["Sigma"])
    close([found.rho_cc[0], found.c0[0], found.printed[0]], [want["rho_cc"], want["c0"], want["gamma"]])
    close(paper(summary).printed, want["gamma_noiseless"])


def test_G4_rank_deficient_statistic() -> None:
    want, summary = expected("G4"), mean_summary(statistic=np.column_stack([X1, 2 * X1]).astype(float))
    assert summary.rank == 1
    close(paper(summary).rho_cc, want["rho_cc"])
    close(paper(summary).printed, want["gamma_noiseless"])
    close(paper(summary, SHARD, GOLD["G4"]["inputs"]["Sigma"]).printed, want["gamma"])


def test_G5_linear_regression() -> None:
    want = expected("G5")
    summary, release = linear_summary()
    found = paper(summary, SHARD, 0.05 * np.eye(2))
    close(release.coefficients, want["w_erm"])
    close([found.rho_cc[0], found.c0[0], found.printed[0]], [want["rho_cc"], want["c0"], want["gamma"]])
    close(pr.excess_error(release.gram, 0.05 * np.eye(2)), want["excess_mse"])


def test_three_steps_by_hand_reproduce_G5() -> None:
    """After Rem 3.7: the user's own moments, derivative and noise go in; the numbers of G5 come out."""
    want = expected("G5")
    w = np.linalg.lstsq(X, Y, rcond=None)[0]
    summary = pr.moment_summary(Q, (X @ w - Y)[:, None] * X, X.T @ X / 20)
    found = paper(summary, SHARD, 0.05 * np.eye(2))
    close([found.rho_cc[0], found.c0[0], found.printed[0]], [want["rho_cc"], want["c0"], want["gamma"]])


def test_G6_calibrated_noise() -> None:
    want = expected("G6")
    summary, release = linear_summary()
    law = pr.Calibrated(level=0.5).law(pr.noise_setting(summary, noise_multiplier=1.0))
    close(law.covariance, want["Sigma"])
    close(paper(summary, SHARD, law.covariance).printed, want["gamma"])
    accuracy = pr.regression_accuracy(release, TABLE, 0.5)
    close(accuracy.calibrated, want["excess_mse"])
    close(pr.excess_error(release.gram, law.covariance), want["excess_mse"])
    close(accuracy.bound_mean_loss, want["bound_mean_loss"])
    close(accuracy.bound_max_loss, want["bound_max_loss"])
    close(accuracy.bound, want["bound"])
    close(accuracy.isotropic, want["isotropic_excess_mse_same_sigma2"])


def test_G7_weighted_process() -> None:
    want, size = expected("G7"), pr.sample_attack_size(8)
    found = paper(mean_summary(WEIGHTS), size, np.diag([1.0, 2.0]))
    close(found.variance_before, want["var_qprime"])
    close([found.rho_cc[0], found.c0[0], found.printed[0]], [want["rho_cc"], want["c0"], want["gamma"]])
    horvitz_thompson = float(LAW @ (WEIGHTS * Q) ** 2 - (LAW @ (WEIGHTS * Q)) ** 2)
    close(horvitz_thompson, want["horvitz_thompson_var_wq"])
    process = pr.IndependentProcess(20, 8, LAW)
    again = process.summarise(TABLE, pr.query_set(["q"], TABLE), pr.Mean(columns=("x",)).fit(TABLE))
    close(paper(again, process.size(), np.diag([1.0, 2.0])).printed, want["gamma"])


def test_G8_subgroup() -> None:
    want, size = expected("G8"), pr.sample_attack_size(8)
    group = pr.subgroup("x1 > 0", TABLE)
    assert group.sum() == want["group_size"]
    for weights, name in ((None, "uniform"), (WEIGHTS, "weighted")):
        found = paper(mean_summary(weights, target=pr.subgroup_target(group)), size, np.diag([1.0, 2.0]))
        close(found.means, want["p"])
        close(found.variance_before, want[name]["var_qsecond"])
        close(found.rho_cc, want[name]["rho_cc"])
        close(found.printed, want[name]["gamma"])


@pytest.mark.parametrize(("name", "statistic", "sigma"), [("mean_y", Y.astype(float), 4.0), ("mean_x", X, 1.0)])
def test_G9_linear_family(name: str, statistic: Any, sigma: float) -> None:
    want = expected("G9")[name]
    summary = mean_summary(queries=X, statistic=statistic)
    family = pr.linear_family(summary, SHARD, sigma * np.eye(summary.dimension))
    close(np.trace(family.before), want["trace_S1"])
    close(np.trace(family.explained), want["trace_S1_minus_S2"])
    close(family.rho1_cc, want["rho1_cc"])
    close(family.smallest_c0, want["lambda_min_c0"])
    close(family.bound("l2", 1.5), want["gamma_A21_ball"])
    close(family.trace_bound(1.5), want["gamma_52_B2"])


def test_G10_finite_family() -> None:
    want = expected("G10")
    asked = np.column_stack([Q, X1 > 0, X2 > 0, Y > 0])
    both = [mean_summary(weights, queries=asked) for weights in (None, WEIGHTS)]
    found = pr.finite_family(both, pr.sample_attack_size(8), np.diag([1.0, 2.0]))
    close(found.terms.T.ravel(), want["all_terms_q_major"])
    close(found.largest, want["sup_term"])
    close(found.log_factor, want["log_factor"])
    close(found.bound, want["gamma"])


def test_G11_incomparability() -> None:
    want, case = expected("G11"), pr.private_yet_predictable(100)
    close(case.epsilon, want["epsilon"])
    close(case.scale, want["laplace_scale"])
    close(case.noise_variance, want["var_delta_prime"])
    close(case.bound, want["gamma_part1"])
    close(pr.exact_mean_predictability(100, 0.5, 0.5), want["gamma_part2_wor_half_p_half"], 1e-8)
    printed = pr.laplace_scale(100, case.epsilon, "printed")
    close(1 / (100 * printed), want["printed_scale_epsilon_over_N_true_dp_epsilon"])


def test_G12_constants() -> None:
    want, given = expected("G12"), GOLD["G12"]["inputs"]
    close(pr.KAPPA, want["kappa"], 1e-9)
    close(pr.smoothness("log", given["tau"]), want["H_logloss_printed"])
    close(pr.smoothness("log", given["tau"], "corrected"), want["H_logloss_sharp"])
    close(pr.mi_dp_to_slack(given["eps_mi"]), want["mi_dp_delta"])
    close(pr.randomised_response_information(given["rr_eps"], given["prior"]), want["rr_mutual_information"])
    close(pr.belief_shift(20.0), want["exp20"], 1e-9)
    close(pr.log_loss_toy(4, 2).information, want["toy_mi_N4_n2_uniform_count_exact"])


# --- further numbers of the text -----------------------------------------------------------------------------


def descent(released: str, steps: int) -> float:
    release = pr.GradientDescent(
        features=("x1", "x2"), target="y", intercept=False, steps=steps, step_size=0.02, released=released
    ).fit(TABLE)
    return float(paper(pr.summarise(TABLE, pr.column_queries(["q"], TABLE), release)).r[0])


def noise_limits() -> list[float]:
    summary, _ = linear_summary()
    sweep = pr.noise_sweep(summary, SHARD, np.eye(2), [0, 0.01, 0.1, 1, 10, 1000], noise_scale="paper")
    return list(sweep.printed[:, 0] / sweep.printed[0, 0])


def gmm_weights() -> list[float]:
    release = LINEAR.fit(TABLE)
    process = pr.IndependentProcess(20, 8, LAW)
    summary = process.summarise(TABLE, pr.query_set(["q"], TABLE), release)
    system = pr.moment_system(summary, 0.05 * np.eye(2))
    return [
        float(system.query_covariance(weight)[0, 0]) for weight in (None, system.spread, np.eye(len(system.spread)))
    ]


def loss_residual() -> list[float]:
    release = LINEAR.fit(TABLE)
    losses = 0.5 * (X @ release.coefficients - Y) ** 2
    base = np.column_stack([np.ones(20), losses])
    residual = Q - base @ np.linalg.lstsq(base, Q, rcond=None)[0]
    table = {**TABLE, "residual": residual}
    summary = pr.summarise(table, pr.column_queries(["q", "residual"], table), release)
    rho = paper(summary).rho_cc
    return [
        float(np.corrcoef(Q, losses)[0, 1]), float(rho[0]), float(np.corrcoef(residual, losses)[0, 1]), float(rho[1])
    ]  # fmt: skip


def ball_family() -> list[float]:
    family = pr.linear_family(mean_summary(queries=X), SHARD, np.eye(2), smoothness=1.0)
    return [family.trace_bound(20, "printed"), family.trace_bound(20), family.bound("l2", 20)]


def rank_deficient() -> list[float]:
    statistic = np.column_stack([X1, 2 * X1]).astype(float)
    summary, sigma = mean_summary(statistic=statistic), np.diag([0.5, 5.0])
    inverse = np.linalg.pinv(summary.moment_covariance)
    moved = inverse @ summary.cross_covariance[0]
    printed = moved @ np.linalg.inv(inverse + np.linalg.inv(sigma)) @ moved / summary.query_variance[0]
    return [float(paper(summary, SHARD, sigma).c0[0]), float(printed)]


def eigenvalues_after() -> list[float]:
    family = pr.linear_family(mean_summary(queries=X, statistic=Y.astype(float)), SHARD, [[4.0]])
    return [float(np.linalg.eigvalsh(family.printed_after)[0]), *np.linalg.eigvalsh(family.after)]


def horvitz_thompson_of_a_constant() -> list[float]:
    ones = np.ones(20)
    printed = float(LAW @ WEIGHTS**2 - 1.0)
    return [printed, float(mean_summary(WEIGHTS, queries=ones).query_variance[0])]


def statistic_display() -> list[float]:
    summary = scalar()
    cross, spread = float(summary.cross_covariance[0, 0]), float(summary.moment_covariance[0, 0])
    no_square = cross / spread * 1 / (1 / spread + 1 / 2.0) / spread / 0.25
    return [no_square, float(paper(summary, pr.shard_size(0.25, 8), [[2.0]]).c0[0])]


def diabetes() -> tuple[dict[str, Any], pr.MomentSummary, pr.FittedModel, float, int]:
    data = load_diabetes(scaled=False)
    raw = {name: data.data[:, place] for place, name in enumerate(data.feature_names)}
    table = {
        **raw,
        "z": (data.data - data.data.mean(axis=0)) / data.data.std(axis=0),
        "target": data.target,
    }
    release = pr.LinearRegression(features=("z",), target="target").fit(table)
    asked = pr.query_set(["bmi > 30", "target > 200", "sex = 2"], table)
    summary = pr.summarise(table, asked, release)
    return table, summary, release, float(np.mean((data.target - data.target.mean()) ** 2)), len(data.target)


def diabetes_numbers() -> dict[str, Any]:
    table, summary, _, _, records = diabetes()
    found = paper(summary, pr.shard_size(0.3, records))
    asked = pr.query_set(["bmi > 30", "target > 200", "sex = 2"], table)
    by_mean = paper(pr.summarise(table, asked, pr.Mean(columns=("target",)).fit(table)))
    return {
        "mean": found.means,
        "rho": found.rho_cc,
        "printed": found.printed,
        "gain": found.gain,
        "rho_mean": by_mean.rho_cc,
    }


def diabetes_accuracy() -> list[float]:
    table, _, release, _, _ = diabetes()
    found = pr.regression_accuracy(release, table, 1.0)
    return [found.calibrated, found.bound_mean_loss, found.bound_max_loss, found.mean_loss, found.isotropic]


def breast_cancer() -> list[float]:
    data = load_breast_cancer()
    first = data.data[:, :5]
    table = {"z": (first - first.mean(axis=0)) / first.std(axis=0), "y": data.target, "tenth": data.data[:, 9]}
    release = pr.PenalisedLogisticRegression(features=("z",), target="y", penalty=0.01).fit(table)
    asked = pr.query_set([pr.comparison("tenth", ">", float(np.median(table["tenth"])))], table)
    found = paper(pr.summarise(table, asked, release), pr.shard_size(0.3, len(data.target)))
    return [float(found.rho_cc[0]), float(found.printed[0])]


def cross_term() -> list[float]:
    # all 252 shards of 5 among 10 people of whom 4 have answer 1
    from itertools import combinations

    bits = np.array([1.0] * 4 + [0.0] * 6)
    gaps = []
    for shard in combinations(range(10), 5):
        known = bits[list(shard)].mean()
        gaps.append((known - 0.4, (bits.sum() - 5 * known) / 5 - 0.4))
    one, two = np.array(gaps).T
    return [
        float(-2 * (one * two).mean()), pr.exact_mean_predictability(10, 0.4, 0.5),
        pr.exact_mean_predictability(100, 0.5, draws=50),
    ]  # fmt: skip


def lipschitz() -> list[float]:
    x = np.concatenate([np.arange(1.0, 5.0), -np.arange(1.0, 5.0)])
    release = np.abs(x) - np.abs(x).mean()
    family = pr.linear_family(pr.moment_summary(x, release), pr.shard_size(0.5, 8))
    query = paper(pr.moment_summary(np.abs(x), release), pr.shard_size(0.5, 8))
    return [family.trace_bound(1.0), float(query.gain[0])]


def tail() -> list[float]:
    return [math.erfc(2 / math.sqrt(2)), 2 * math.exp(-4.0)]


def curvature() -> list[float]:
    inside = np.linspace(0.1, 0.9, 8001)
    worst = pr.loss_curvature("log", inside[:, None], np.array([0.1, 0.5, 0.9])[None, :]).max()
    return [float(pr.loss_curvature("log", 0.01, 0.1)), float(worst)]


def calibrated_ratio() -> list[float]:
    summary, _ = linear_summary()
    return [float((paper(summary, SHARD, 0.5 * summary.sandwich).r / paper(summary).r)[0])]


COMPUTE: dict[str, Callable[[], Any]] = {
    "empty-core-gain": lambda: [pr.empty_core(n).gain for n in (50, 100, 400, 1600)],
    "randomised-response": lambda: [pr.randomised_response_information(eps) for eps in (0.1, 0.5, 1.0, 3.0)],
    "group-budget": lambda: [group_privacy(PureDP(0.1), 500).epsilon, pr.exact_mean_predictability(1000, 0.5, 0.5)],
    "private-yet-predictable": lambda: [pr.private_yet_predictable(n).bound for n in (50, 100, 400, 1600)],
    "log-loss-gaps": lambda: pr.log_loss_toy(4, 2).gaps,
    "noise-limits": noise_limits,
    "descent-last": lambda: [descent("last", steps) for steps in (1, 5, 50, 200)],
    "descent-path": lambda: [descent("path", steps) for steps in (3, 5, 50)],
    "gmm-weights": gmm_weights,
    "loss-residual": loss_residual,
    "high-probability-family": lambda: [
        pr.linear_family(mean_summary(queries=X), SHARD, np.eye(2)).bound("l2", 1.5, delta=delta)
        for delta in (0.05, 0.01)
    ],
    "calibrated-ratio": calibrated_ratio,
    "l1-complexity-printed": lambda: [pr.l1_complexity(np.eye(d), method="printed") for d in (1, 2, 5, 20, 200)],
    "l1-complexity-corrected": lambda: [pr.l1_complexity(np.eye(d)) for d in (1, 2, 5, 20, 200)],
    "l1-complexity-true": lambda: [pr.l1_complexity(np.eye(d), method="independent") for d in (1, 2, 5, 20, 200)],
    "ball-complexity": lambda: [
        pr.ball_complexity(np.diag([1.0, 9.0]), method=method) for method in ("exact", "bound")
    ],
    "ball-family": ball_family,
    "chain-mixing": lambda: [
        *pr.lazy_chain(np.full(4, 0.25), 0.2).mixing([1, 2, 5]),
        pr.lazy_chain(np.full(4, 0.25), 0.2).long_run([1.0, 2.0, 3.0, 7.0])[0, 0] / 5.1875,
    ],
    "unknown-mean-factor": lambda: [pr.unknown_mean_factor(0.4)],
    "bayes-against-linear": lambda: [pr.bayes_against_linear(v)[who] for who in (0, 1) for v in (0.1, 1.0, 10.0)],
    "rank-deficient-noise": rank_deficient,
    "horvitz-thompson": horvitz_thompson_of_a_constant,
    "eigenvalues-after": eigenvalues_after,
    "cross-term": cross_term,
    "tail-printed": tail,
    "curvature": curvature,
    "lipschitz-counterexample": lipschitz,
    "statistic-display": statistic_display,
    "diabetes": diabetes_numbers,
    "diabetes-accuracy": diabetes_accuracy,
    "breast-cancer": breast_cancer,
}


@pytest.mark.parametrize("name", list(MORE))
def test_numbers_of_the_text(name: str) -> None:
    entry = MORE[name]
    found, wanted, tolerance = COMPUTE[name](), entry["value"], entry["tolerance"]
    pairs = [(found[key], wanted[key]) for key in wanted] if isinstance(wanted, dict) else [(found, wanted)]
    for one, other in pairs:
        if entry.get("absolute"):
            np.testing.assert_allclose(one, other, rtol=0, atol=tolerance)
        else:
            np.testing.assert_allclose(one, other, rtol=tolerance, atol=1e-13)


def test_every_number_is_computed() -> None:
    assert set(MORE) == set(COMPUTE)


def test_every_item_of_the_ledger_names_a_test_that_exists() -> None:
    root = Path(__file__).parents[2]
    named = json.loads((root / "privexplorer/studies/ledger/witnesses.json").read_text("utf-8"))
    witnesses = {row: witness for row, witness in named.items() if row.startswith("P-")}
    with (root / "privexplorer/studies/ledger/predictability.csv").open(encoding="utf-8", newline="") as file:
        wanted = {row["id"] for row in csv.DictReader(file) if row["kind"] in ("computable", "illustratable")}
    assert set(witnesses) == wanted
    for witness in witnesses.values():
        path, name = witness.split("::")
        assert f"def {name.split('[')[0]}(" in (root / path).read_text("utf-8"), witness
        if "[" in name:
            assert name.split("[")[1].rstrip("]") in MORE, witness
