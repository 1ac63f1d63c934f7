"""Errata of the source that change a number: as printed, and corrected (spec predictability, section 5)."""

from __future__ import annotations

import itertools
import math

import numpy as np

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.studies import _small_table as small
from privexplorer.studies._reproduced import Erratum

EIGHT = pr.sample_attack_size(8)


def errata() -> tuple[Erratum, ...]:
    """Return all of them, in order, printed beside corrected."""
    return (
        _noise_scale(), _weighted_variance(), _weights_once(), _tail(), _long_run(), _radius(), _lipschitz(),
        Erratum("E8", "Lem 2.9", "curvature of log loss at 0.01, τ = 0.1", pr.smoothness("log", 0.1),
                float(pr.loss_curvature("log", 0.01, 0.1))),
        _four_values(),
        Erratum("E10", "after A.23", "complexity of the L1 ball, d = 20",
                pr.l1_complexity(np.eye(20), method="printed"), pr.l1_complexity(np.eye(20))),
        Erratum("E11", "Thm 2.5(i)", "Laplace scale at N = 100, ε = 0.1", pr.laplace_scale(100, 0.1, "printed"),
                pr.laplace_scale(100, 0.1)),
        _cross_term(), _per_data_set(), _group_size(), _equal_noise(), _known_weights(), _missing_square(),
        _general_factor(), _wrong_sign(), _best_weight(), _null_space(),
    )  # fmt: skip


def _noise_scale() -> Erratum:
    size, summary = pr.shard_size(0.25, 8), small.scalar_summary()
    printed, corrected = (
        float(pr.predictability(summary, size, [[2.0]], noise_scale=scale).printed[0]) for scale in ("paper", "release")
    )
    return Erratum("E1", "Thm 3.6 ff.", "bound on γ with noise 2 on a mean", printed, corrected)


def _weighted_variance() -> Erratum:
    weights = 1 / (small.PEOPLE * small.LAW)
    moved = weights * small.QUERY
    printed = float(np.sum(small.LAW * moved**2) - np.sum(small.LAW * moved) ** 2)
    corrected = float(small.mean_summary(weights=weights).query_variance[0])
    return Erratum("E2", "proof of 3.6", "variance of the weighted query", printed, corrected)


def _weights_once() -> Erratum:
    weights = 1 / (small.PEOPLE * small.LAW)
    away = (small.QUERY - small.QUERY.mean()) ** 2
    corrected = float(np.mean(weights * away))
    return Erratum(
        "E3", "Rem after 3.6", "the same with weights applied twice", float(np.mean(weights**2 * away)), corrected
    )  # fmt: skip


def _tail() -> Erratum:
    return Erratum("E4", "proof of 3.6", "normal tail beyond 2", 2 * math.exp(-4.0), math.erfc(2 / math.sqrt(2.0)))


def _long_run() -> Erratum:
    strata = np.arange(30) // 15
    process = pr.strata_chain([[0.975, 0.025], [0.025, 0.975]], strata, 3_000)
    table = {"x": strata + 0.3 * np.sin(np.arange(30.0)), "q": strata == 1}
    asked, release = pr.query_set(["q"], table), pr.Mean(columns=("x",)).fit(table)
    printed, corrected = (
        float(process.summarise(table, asked, release, long_run=kept).query_variance[0]) for kept in (False, True)
    )
    return Erratum("E5", "Thm 3.6", "variance along a slow chain", printed, corrected)


def _radius() -> Erratum:
    family = pr.linear_family(small.mean_summary(small.FEATURES), small.SHARD, np.eye(2), smoothness=1.0)
    return Erratum(
        "E6", "Thm 5.2", "bound for a ball, B = 20, H = 1", family.trace_bound(20.0, "printed"),
        family.trace_bound(20.0),
    )  # fmt: skip


def _lipschitz() -> Erratum:
    x = np.concatenate([np.arange(1.0, 5.0), -np.arange(1.0, 5.0)])
    size, moments = pr.shard_size(0.5, 8), np.abs(x) - 2.5
    gain = float(pr.predictability(pr.moment_summary(np.abs(x), moments), size).gain[0])
    printed = pr.linear_family(pr.moment_summary(x, moments), size).trace_bound(1.0)
    # what a direct count of rounding leaves of 0
    return Erratum("E7", "Thm 5.4", "bound for |x|, and its true gain", round(printed, 9), gain)


def _four_values() -> Erratum:
    law = np.full(4, 0.25)
    return Erratum(
        "E9", "Thm 2.7", "information, four values, fixed queries", pr.fixed_query_information(np.eye(4), law),
        pr.mutual_information(np.eye(4), law),
    )  # fmt: skip


def _cross_term() -> Erratum:
    bits = np.r_[np.ones(4), np.zeros(6)]
    known = np.array([bits[list(shard)].mean() for shard in itertools.combinations(range(10), 5)])
    rest = (4 - 5 * known) / 5
    printed = float(np.mean((known - 0.4) ** 2 + (rest - 0.4) ** 2))
    return Erratum(
        "E11b", "Thm 2.5(ii)", "γ of the exact mean, N = 10", printed, pr.exact_mean_predictability(10, 0.4, 0.5)
    )


def _per_data_set() -> Erratum:
    toy = pr.log_loss_toy(4, 2)
    return Erratum("E12", "Thm 2.4", "loss saved at the worst data set", toy.information, toy.largest)


def _group_size() -> Erratum:
    return Erratum(
        "E13", "A.2", "effective size, group in a shard (unknown)", 0.3 * 2_000, pr.shard_size(0.3, 2_000).effective
    )


def _equal_noise() -> Erratum:
    summary, release = small.regression_summary()
    found = pr.regression_accuracy(release, small.TABLE, 0.5)
    # γ as calibrated noise with σ² = 0.5 leaves it: the setting of R11
    matched = pr.equal_predictability(summary, release.gram, summary.sandwich, np.eye(2), 1 / math.sqrt(1.5))
    return Erratum(
        "E14",
        "after Lem 4.5",
        "isotropic over calibrated error (printed: both σ² = 0.5; corrected: equal γ, calibrated σ² = 0.5)",
        found.isotropic / found.calibrated,
        matched.ratio,
    )


def _known_weights() -> Erratum:
    process = pr.IndependentProcess(small.PEOPLE, 8, small.LAW)
    asked, release = pr.query_set(["q"], small.TABLE), pr.Mean(columns=("x",)).fit(small.TABLE)
    printed, corrected = (
        float(
            pr.predictability(
                process.summarise(small.TABLE, asked, release, weight_moment=known), process.size()
            ).variance_before[0]
        )
        for known in (False, True)
    )
    return Erratum("E16", "biased processes", "variance when the mean weight is known", printed, corrected)


def _missing_square() -> Erratum:
    summary = small.scalar_summary()
    cross, spread = float(summary.cross_covariance[0, 0]), float(summary.moment_covariance[0, 0])
    printed = cross / spread / (1 / spread + 1 / 2.0) / spread / float(summary.query_variance[0])
    corrected = float(pr.predictability(summary, pr.shard_size(0.25, 8), [[2.0]], noise_scale="paper").c0[0])
    return Erratum("E17", "Thm 4.1", "c₀ without the square", printed, corrected)


def _general_factor() -> Erratum:
    process = pr.IndependentProcess(small.PEOPLE, 8, small.LAW)
    release = small.LINEAR.fit(small.TABLE)
    summary = process.summarise(small.TABLE, pr.query_set(["q"], small.TABLE), release)
    printed, corrected = (
        float(pr.predictability(summary, size, 0.5 * summary.sandwich, noise_scale="paper").printed[0])
        for size in (small.SHARD, EIGHT)
    )
    return Erratum("E18", "Lem 4.3", "bound on γ, biased process, n = 8", printed, corrected)


def _eigenvalues(matrix: FloatArray) -> float:
    return float(np.linalg.eigvalsh(matrix)[0])


def _wrong_sign() -> Erratum:
    family = pr.linear_family(small.mean_summary(small.FEATURES, small.OUTCOME), small.SHARD, [[4.0]])
    return Erratum(
        "E19", "Thm A.21", "smallest eigenvalue of Σ₂", _eigenvalues(family.printed_after), _eigenvalues(family.after),
    )  # fmt: skip


def _best_weight() -> Erratum:
    process = pr.IndependentProcess(small.PEOPLE, 8, small.LAW)
    release = small.LINEAR.fit(small.TABLE)
    summary = process.summarise(small.TABLE, pr.query_set(["q"], small.TABLE), release)
    system = pr.moment_system(summary, 0.05 * np.eye(2))
    printed, corrected = (float(system.query_covariance(weight)[0, 0]) for weight in (system.spread, None))
    return Erratum("E20", "A.16", "variance with the “best” weight", printed, corrected)


def _null_space() -> Erratum:
    summary = small.mean_summary(statistic=np.column_stack([small.X1, 2 * small.X1]))
    sigma = np.diag([0.5, 5.0])
    inverse = np.linalg.pinv(summary.moment_covariance)
    moved = np.einsum("ij,j->i", inverse, summary.cross_covariance[0])
    half = np.linalg.solve(inverse + np.linalg.inv(sigma), moved)
    printed = float(np.sum(moved * half) / summary.query_variance[0])
    corrected = float(pr.predictability(summary, small.SHARD, sigma, noise_scale="paper").c0[0])
    return Erratum("E21", "singular V_g", "c₀ of the statistic (x₁, 2x₁)", printed, corrected)


__all__ = ["Erratum", "errata"]
