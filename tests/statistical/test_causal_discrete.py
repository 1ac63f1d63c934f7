"""Coverage tables of the discrete analysis (spec locally_private_inference, section 6.1) within three standard errors.

Every printed entry is itself a simulation, so that a difference has the standard error of both, and half a unit of the
last printed digit. Coverage c of R replications has √(c(1 - c)/R); the mean of R estimates √(ratio · bound/(nR)); a
variance has its own value times √((kurtosis - 1)/R), with the kurtosis of these replications, at least 3.

The raw plug-in estimate has no finite variance (unmixed shares have a positive density at 0); where shares come close
to 0 at all, its printed ratio (6.50, 11.8, 1.76, 2.26, 1.55, 1.74) is a matter of the seed: it has no standard error,
and is compared with the ratios of many blocks of as many replications. The bias is compared with the larger spread.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pytest

from privexplorer.causal.counts import CellSums, tabulate
from privexplorer.causal.discrete import (
    discrete_estimate,
    fit,
    fit_table,
    likelihood_repair,
    one_step,
    plug_in,
    private_scores,
    trim_level,
)
from privexplorer.causal.laws import LAW_A, LAW_B
from privexplorer.causal.mechanisms import AlphaIdentity, uniform_levels
from privexplorer.causal.replications import Replications, draw_tables, replicate
from privexplorer.causal.targets import ATE, ATT
from privexplorer.causal.theory import efficiency_bound

LAWS = {"A": LAW_A, "B": LAW_B}
TARGETS = (ATE(), ATT())
REPLICATIONS = 4000
Z = 3.0


def mechanism(law: str, keep_probability: float) -> AlphaIdentity:
    return AlphaIdentity(keep_probability, uniform_levels(LAWS[law].levels))


@lru_cache
def truths(law: str) -> np.ndarray:
    return np.array([target.value(LAWS[law]) for target in TARGETS])


@lru_cache
def bounds(law: str, keep_probability: float) -> np.ndarray:
    return np.array([efficiency_bound(LAWS[law], t, mechanism(law, keep_probability)) for t in TARGETS])


@lru_cache
def simulated(law: str, n: int, keep_probability: float) -> Replications:
    seed = [ord(law), n, round(10 * keep_probability)]
    return replicate(
        LAWS[law], mechanism(law, keep_probability), TARGETS, n, REPLICATIONS, np.random.default_rng([*seed, 2])
    )


@dataclass(frozen=True)
class Cell:
    """Printed bias, coverage and ratio; None is not compared. ``most`` says that the bias is printed as a bound."""

    bias: float
    coverage: float
    ratio: float | None = None
    most: bool = False


# law, target, n, keep probability, bound (to the printed digits), plug-in, one-step, naive
UNSTABLE = {("B", 3000, 0.2), ("A", 3000, 0.2), ("A", 3000, 0.5), ("A", 30000, 0.2)}
TABLE: list[tuple[str, str, int, float, str, Cell | None, Cell, Cell]] = [
    ("B", "ATE", 3000, 0.2, "10.29", Cell(-0.0133, 0.943, 6.50), Cell(0.0242, 0.911, 2.75), Cell(0.109, 0.000)),
    ("B", "ATT", 3000, 0.2, "23.75", Cell(-0.0263, 0.930, 11.8), Cell(0.0436, 0.908, 4.55), Cell(0.150, 0.000)),
    ("B", "ATE", 3000, 0.5, "2.237", Cell(-0.0012, 0.956, 1.004), Cell(0.0020, 0.954, 1.034), Cell(0.090, 0.001)),
    ("B", "ATT", 3000, 0.5, "4.115", Cell(-0.0025, 0.954, 1.015), Cell(0.0036, 0.948, 1.064), Cell(0.126, 0.000)),
    ("B", "ATE", 3000, 0.9, "1.177", Cell(0.0001, 0.952, 1.000), Cell(0.0004, 0.954, 1.000), Cell(0.026, 0.709)),
    ("B", "ATT", 3000, 0.9, "1.530", Cell(0.0001, 0.954, 0.992), Cell(0.0003, 0.943, 1.016), Cell(0.039, 0.497)),
    ("B", "ATE", 30000, 0.2, "10.29", Cell(-0.0006, 0.946, 1.062), Cell(0.0017, 0.947, 0.979), Cell(0.109, 0.000)),
    ("B", "ATT", 30000, 0.2, "23.75", Cell(-0.0010, 0.942, 1.097), Cell(0.0034, 0.945, 1.018), Cell(0.150, 0.000)),
    (
        "B",
        "ATE",
        30000,
        0.5,
        "2.237",
        Cell(0.0001, 0.954, 1.017, True),
        Cell(0.0003, 0.947, 1.042, True),
        Cell(0.090, 0),
    ),
    (
        "B",
        "ATT",
        30000,
        0.5,
        "4.115",
        Cell(0.0001, 0.950, 1.003, True),
        Cell(0.0003, 0.945, 1.032, True),
        Cell(0.126, 0),
    ),
    (
        "B",
        "ATE",
        30000,
        0.9,
        "1.177",
        Cell(0.0001, 0.953, 1.010, True),
        Cell(0.0001, 0.957, 0.984, True),
        Cell(0.026, 0.008),
    ),
    (
        "B",
        "ATT",
        30000,
        0.9,
        "1.530",
        Cell(0.0001, 0.953, 0.995, True),
        Cell(0.0001, 0.955, 0.974, True),
        Cell(0.039, 0),
    ),
    ("A", "ATE", 3000, 0.2, "19.37", None, Cell(-0.027, 0.859, 9.99), Cell(0.104, 0.000)),
    ("A", "ATT", 3000, 0.2, "65.76", None, Cell(-0.068, 0.846, 13.3), Cell(0.143, 0.000)),
    ("A", "ATE", 3000, 0.5, "3.262", Cell(-0.0063, 0.960, 1.76), Cell(0.0093, 0.944, 1.74), Cell(0.087, 0.002)),
    ("A", "ATT", 3000, 0.5, "8.941", Cell(-0.0132, 0.951, 2.26), Cell(0.0193, 0.932, 2.25), Cell(0.125, 0.000)),
    ("A", "ATE", 3000, 0.9, "1.248", Cell(-0.0001, 0.951, 1.016), Cell(0.0008, 0.953, 1.023), Cell(0.031, 0.630)),
    ("A", "ATT", 3000, 0.9, "1.927", Cell(-0.0004, 0.950, 1.034), Cell(0.0014, 0.948, 1.053), Cell(0.050, 0.313)),
    ("A", "ATE", 30000, 0.2, "19.37", Cell(-0.0055, 0.953, 1.55), Cell(0.0078, 0.935, 1.64), Cell(0.104, 0.000)),
    ("A", "ATT", 30000, 0.2, "65.76", Cell(-0.0114, 0.941, 1.74), Cell(0.0170, 0.916, 1.93), Cell(0.143, 0.000)),
    (
        "A",
        "ATE",
        30000,
        0.5,
        "3.262",
        Cell(0.0003, 0.950, 1.030, True),
        Cell(0.0012, 0.957, 0.980, True),
        Cell(0.087, 0),
    ),
    (
        "A",
        "ATT",
        30000,
        0.5,
        "8.941",
        Cell(0.0003, 0.944, 1.028, True),
        Cell(0.0012, 0.954, 1.011, True),
        Cell(0.125, 0),
    ),
    (
        "A",
        "ATE",
        30000,
        0.9,
        "1.248",
        Cell(0.0002, 0.950, 0.984, True),
        Cell(0.0002, 0.951, 1.012, True),
        Cell(0.031, 0),
    ),
    (
        "A",
        "ATT",
        30000,
        0.9,
        "1.927",
        Cell(0.0002, 0.951, 0.978, True),
        Cell(0.0002, 0.951, 1.000, True),
        Cell(0.050, 0),
    ),
]


def half_digit(number: float) -> float:
    """Half a unit of the last printed digit."""
    digits = len(f"{number:g}".partition(".")[2])
    return 0.5 * 10.0 ** -max(digits, 3)


def coverage_error(coverage: float, runs: int) -> float:
    return math.sqrt(max(coverage * (1 - coverage), 1 / runs) / runs)


def variance_error(values: np.ndarray) -> float:
    """Relative standard error of the variance of ``values``."""
    centred = values - values.mean()
    kurtosis = max(3.0, float((centred**4).mean() / (centred**2).mean() ** 2))
    return math.sqrt((kurtosis - 1) / values.size)


def compare(
    found: Replications, method: str, target: int, cell: Cell, setting: tuple[str, int, float], runs: int
) -> None:
    law, n, keep_probability = setting
    truth, bound = truths(law), bounds(law, keep_probability)
    result = found.methods[method]
    values = result.value[target, result.usable]
    ratio = n * result.spread()[target] / bound[target]
    bias, coverage = result.bias(truth)[target], result.coverage(truth)[target]
    error = math.hypot(coverage_error(cell.coverage, runs), coverage_error(coverage, values.size))
    assert abs(coverage - cell.coverage) <= Z * error + 0.0005, (coverage, cell.coverage, error)
    spread = max(ratio, cell.ratio or 0.0)
    bias_error = math.sqrt(spread * bound[target] / n * (1 / runs + 1 / values.size))
    if cell.most:
        assert abs(bias) <= cell.bias + Z * bias_error
    else:
        assert abs(bias - cell.bias) <= Z * bias_error + half_digit(cell.bias), (bias, cell.bias, bias_error)
    if cell.ratio is not None and not (method == "plug-in" and setting in UNSTABLE):
        width = Z * math.sqrt(2) * variance_error(values) * cell.ratio + 0.005
        assert abs(ratio - cell.ratio) <= width, (ratio, cell.ratio, width)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{row[1]}-{row[2]}-{row[3]}")
def test_table_of_unmixing_and_cross_fitting(row):
    law, name, n, keep_probability, bound, plug_in, crossed, naive = row
    target = ("ATE", "ATT").index(name)
    digits = len(bound.partition(".")[2])
    assert f"{bounds(law, keep_probability)[target]:.{digits}f}" == bound
    found = simulated(law, n, keep_probability)
    setting = (law, n, keep_probability)
    if plug_in is not None:
        compare(found, "plug-in", target, plug_in, setting, REPLICATIONS)
    compare(found, "one-step", target, crossed, setting, REPLICATIONS)
    compare(found, "naive", target, naive, setting, REPLICATIONS)


@pytest.mark.parametrize(
    ("law", "n", "keep_probability", "share"),
    [("B", 3000, 0.2, 0.0005), ("A", 3000, 0.2, 0.095), ("A", 3000, 0.5, 0.0003), ("A", 30000, 0.2, 0.0003)],
)
def test_share_of_samples_that_unmixing_cannot_use(law, n, keep_probability, share):
    broken = 1 - simulated(law, n, keep_probability).methods["plug-in"].usable.mean()
    error = math.hypot(coverage_error(share, REPLICATIONS), coverage_error(broken, REPLICATIONS))
    assert abs(broken - share) <= Z * error + 0.0005
    assert simulated(law, n, keep_probability).negative.mean() >= broken


@pytest.mark.parametrize(("law", "n", "keep_probability"), [("B", 3000, 0.5), ("B", 30000, 0.9), ("A", 30000, 0.5)])
@pytest.mark.parametrize("method", ["plug-in", "one-step", "naive"])
def test_standard_errors_are_right_to_less_than_a_tenth(law, n, keep_probability, method):
    """Where κ is 90 or more the mean squared standard error is the variance, and a tenth either way would show.

    The cross-fitted scores are a little too wide (up to 1.07 times the variance at κ = 90), which is allowed for.
    """
    result = simulated(law, n, keep_probability).methods[method]
    slack = 0.05 if method == "one-step" else 0.02
    for target in range(2):
        error = variance_error(result.value[target])
        ratio = result.mean_square_error_bar()[target] / result.spread()[target]
        width = Z * error + slack
        assert abs(ratio - 1) <= width, (ratio, width)
        assert width < 1.1**2 - 1  # a standard error too large by a tenth
        assert width < 1 - 0.9**2  # and one too small


def test_coverage_would_show_a_standard_error_off_by_a_tenth():
    truth = truths("B")
    result = simulated("B", 30000, 0.5).methods["plug-in"]
    right = result.coverage(truth)
    for factor in (0.9, 1.1):
        miss = np.abs(result.value - truth[:, None]) <= 1.959963984540054 * factor * result.std_error
        gap = np.abs(miss.mean(axis=1) - 0.95)
        assert (gap > Z * math.sqrt(2) * coverage_error(0.95, REPLICATIONS) + 0.0005).all()
    assert (np.abs(right - 0.95) < Z * coverage_error(0.95, REPLICATIONS)).all()


# --- ratios without a finite variance --------------------------------------------------------------------------------

BLOCKS = 150
HEAVY = {("B", 3000, 0.2): (6.50, 11.8), ("A", 3000, 0.5): (1.76, 2.26), ("A", 30000, 0.2): (1.55, 1.74)}


@lru_cache
def blocks(law: str, n: int, keep_probability: float) -> tuple[np.ndarray, np.ndarray]:
    """Ratio of the variances, and of the squared middle halves, in blocks of 4,000 replications: (blocks, 2) each."""
    ratios, middles = [], []
    for block in range(BLOCKS):
        found = replicate(
            LAWS[law],
            mechanism(law, keep_probability),
            TARGETS,
            n,
            REPLICATIONS,
            np.random.default_rng([9, block, n]),
            methods=("plug-in",),
        ).methods["plug-in"]
        low, high = np.percentile(found.value[:, found.usable], [25, 75], axis=1)
        ratios.append(n * found.spread() / bounds(law, keep_probability))
        middles.append(n * ((high - low) / 1.349) ** 2 / bounds(law, keep_probability))
    return np.array(ratios), np.array(middles)


@pytest.mark.parametrize("setting", list(HEAVY), ids=lambda setting: f"{setting[0]}-{setting[1]}-{setting[2]}")
@pytest.mark.parametrize("target", [0, 1], ids=["ATE", "ATT"])
def test_ratios_without_a_finite_variance(setting, target):
    """The printed ratio is an ordinary one among ours, whose blocks spread from 1.3 to beyond 100.

    It lies within the central 99.7 %, that is, with 150 blocks, between the smallest and the largest. The middle half
    of the estimates has a spread with a standard error, 0.043/√150, and is 4 to 9 % wider than the bound says. Power:
    estimates that scatter a tenth more or less would leave either the blocks or the middle half.
    """
    ratios, middles = (found[:, target] for found in blocks(*setting))
    printed = HEAVY[setting][target]
    assert ratios.min() < printed < ratios.max()
    assert ratios.max() > 3 * np.median(ratios)  # the tail that forbids a standard error
    spread, error = middles.mean(), middles.std(ddof=1) / math.sqrt(BLOCKS)
    assert spread - Z * error > 1.02
    assert spread + Z * error < 1.11
    for factor in (0.9, 1.1):
        assert not 1.02 < factor**2 * spread < 1.11


# --- likelihood repair: bias, ratio and coverage for pseudo-counts 0, 1 and 5 --------------------------------------

REPAIR: list[tuple[str, int, float, str, tuple[Cell, Cell, Cell]]] = [
    ("B", 3000, 0.2, "ATE", (Cell(-0.009, 0.951, 1.09), Cell(0.016, 0.929, 0.55), Cell(0.050, 0.759, 0.23))),
    ("B", 3000, 0.2, "ATT", (Cell(-0.014, 0.930, 1.16), Cell(0.027, 0.907, 0.46), Cell(0.074, 0.711, 0.15))),
    ("A", 3000, 0.2, "ATE", (Cell(0.001, 0.934, 0.55), Cell(0.035, 0.885, 0.20), Cell(0.060, 0.600, 0.09))),
    ("A", 3000, 0.2, "ATT", (Cell(0.004, 0.925, 0.46), Cell(0.059, 0.857, 0.10), Cell(0.089, 0.493, 0.03))),
    ("A", 3000, 0.5, "ATE", (Cell(-0.004, 0.959, 1.00), Cell(0.010, 0.943, 0.64), Cell(0.024, 0.856, 0.46))),
    ("A", 3000, 0.5, "ATT", (Cell(-0.008, 0.949, 0.98), Cell(0.019, 0.922, 0.45), Cell(0.044, 0.771, 0.23))),
    ("A", 30000, 0.2, "ATE", (Cell(-0.003, 0.948, 1.02), Cell(0.009, 0.919, 0.54), Cell(0.025, 0.709, 0.30))),
    ("A", 30000, 0.2, "ATT", (Cell(-0.006, 0.932, 1.05), Cell(0.017, 0.906, 0.45), Cell(0.045, 0.669, 0.19))),
]
PSEUDO_COUNTS = (0.0, 1.0, 5.0)
REPAIRS = 3000


@lru_cache
def repaired(law: str, n: int, keep_probability: float, pseudo_count: float) -> Replications:
    rng = np.random.default_rng([ord(law), n, round(10 * keep_probability), 71])
    return replicate(
        LAWS[law],
        mechanism(law, keep_probability),
        TARGETS,
        n,
        REPAIRS,
        rng,
        methods=("likelihood",),
        pseudo_count=pseudo_count,
    )


@pytest.mark.parametrize("row", REPAIR, ids=lambda row: f"{row[0]}-{row[3]}-{row[1]}-{row[2]}")
@pytest.mark.parametrize("which", [0, 1, 2], ids=["0", "1", "5"])
def test_table_of_likelihood_repair(row, which):
    """1,500 printed replications. The largest distance over 12,000 of ours is law B, ATE, pseudo-count 1.

    There the coverage is .912 (s.e. .003) where .929 (s.e. .007) is printed, 2.3 standard errors of both: the largest
    of 24 coverages. Where the iteration stops makes no difference (at 1e-5 or 1e-9), and the other readings of a
    pseudo-count are far off (``test_pseudo_counts_are_added_in_every_step``).
    """
    law, n, keep_probability, name, cells = row
    found = repaired(law, n, keep_probability, PSEUDO_COUNTS[which])
    compare(found, "likelihood", ("ATE", "ATT").index(name), cells[which], (law, n, keep_probability), 1500)


def test_pseudo_counts_are_added_in_every_step():
    """Power: added once, to the shown counts or to the solution, a pseudo-count of 1 would leave the bias negative."""
    law, n, keep_probability, _, cells = REPAIR[0]
    channel = mechanism(law, keep_probability).finite()
    drawn = draw_tables(LAWS[law], mechanism(law, keep_probability), n, 1500, np.random.default_rng(72), folds=1)
    counts = drawn.released[0]
    flat = counts.reshape(-1, channel.levels, counts.shape[-1])
    before = likelihood_repair(flat + 1.0, channel.matrix).probabilities
    after = (likelihood_repair(flat, channel.matrix).probabilities * n + 1.0) / (n + before[..., 0].size)
    for table in (before, after):
        value, _, _ = plug_in(ATE(), fit_table(table.reshape(counts.shape), drawn.values))
        bias, error = value.mean() - truths(law)[0], value.std() / math.sqrt(value.size)
        assert bias < 0
        assert cells[1].bias - bias > 6 * error
    right = repaired(law, n, keep_probability, 1.0).methods["likelihood"].bias(truths(law))[0]
    assert right > 0.01


def test_repaired_intervals_are_wide_rather_than_narrow():
    """Mean squared standard error 1.3 to 1.8 times the bound with pseudo-count 0 (A, 3000, 0.2: some undefined)."""
    for law, n, keep_probability in (("B", 3000, 0.2), ("A", 3000, 0.5), ("A", 30000, 0.2)):
        square = repaired(law, n, keep_probability, 0.0).methods["likelihood"].mean_square_error_bar()
        ratio = n * square / bounds(law, keep_probability)
        assert (ratio > 1.15).all()
        assert (ratio < 2.05).all()


# --- an outcome with many values -----------------------------------------------------------------------------------


def gaussian(n: int, keep_probability: float, runs: int, seed: int):
    """Law A with means three times as large and Normal errors of 0.8: repaired one-step with five folds."""
    rng = np.random.default_rng(seed)
    channel = mechanism("A", keep_probability)
    finite = channel.finite()
    tables = []
    for _ in range(runs):
        _, d, x = LAW_A.sample(n, rng)
        y = 3.0 * LAW_A.mu[d, x] + 0.8 * rng.standard_normal(n)
        tables.append(tabulate(y, d, channel.privatise(x, rng), 3, rng=rng))
    folds = [
        CellSums(
            *(np.stack([getattr(t.fold_sums[k], part) for t in tables], -1) for part in ("size", "mean", "spread"))
        )
        for k in range(5)
    ]
    low, high = (np.array([getattr(t, end) for t in tables]) for end in ("low", "high"))
    trim = trim_level(keep_probability, n)
    found = [one_step(folds, finite.inverse, t, trim=trim, low=low, high=high, matrix=finite.matrix) for t in TARGETS]
    return np.stack([pair[0] for pair in found]), np.stack([pair[1] for pair in found])


@lru_cache
def gaussian_bounds(keep_probability: float) -> np.ndarray:
    """Bound for the Normal outcome: Gauss-Hermite points as outcome values give it exactly (second moments only)."""
    channel = mechanism("A", keep_probability).finite()
    p = LAW_A.p_dx
    mu = 3.0 * LAW_A.mu
    found = []
    for target in TARGETS:
        _, a, b = plug_in(target, fit(p, p * mu))
        a, b = private_scores(channel.inverse, a), private_scores(channel.inverse, b)
        spread = np.einsum("zx,dx->dxz", channel.matrix, p)
        square = (a[:, None, :] * mu[..., None] + b[:, None, :]) ** 2 + a[:, None, :] ** 2 * 0.64
        found.append(float((spread * square).sum()))
    return np.array(found)


@pytest.mark.parametrize(
    ("n", "keep_probability", "ratios", "coverages", "runs"),
    [
        (3000, 0.9, (1.01, 1.01), (0.954, 0.954), 800),
        (3000, 0.5, (1.93, 3.7), (0.943, 0.927), 900),
        (30000, 0.2, (1.08, 1.2), (0.910, 0.923), 600),
        (10000, 0.3, (1.45, 2.4), (0.925, 0.908), 800),
    ],
)
def test_numeric_outcomes(n, keep_probability, ratios, coverages, runs):
    """300 to 1000 printed replications; 300 are assumed. At κ = 97 a range is printed (.99 to 1.03, .943 to .965).

    Below that a fold whose repaired share is close to 0 now and then throws an estimate 10 to 30 standard errors off,
    so that the printed ratios (1.93, 3.7; 1.08, 1.2; 1.45, 2.4) are a matter of the seed. They are compared with
    blocks of 300 of our replications: 4,000 blocks, drawn with replacement, of which the central 99.7 % reach from 0.9
    to 5 and more. Over 900 to 2,400 replications the six biases are 0.49 to 0.79 efficient standard errors, where 0.4
    to 0.8 are printed. The middle half of the estimates is as narrow as the bound says, or narrower.
    """
    values, errors = gaussian(n, keep_probability, runs, 7)
    truth, bound = 3.0 * truths("A"), gaussian_bounds(keep_probability)
    for t in range(2):
        coverage = (np.abs(values[t] - truth[t]) <= 1.959963984540054 * errors[t]).mean()
        error = math.hypot(coverage_error(coverages[t], 300), coverage_error(coverage, runs))
        assert abs(coverage - coverages[t]) <= Z * error + 0.0005, (coverage, coverages[t])
        efficient = math.sqrt(bound[t] / n)
        bias = (values[t].mean() - truth[t]) / efficient
        middle = float(np.subtract(*np.percentile(values[t], [75, 25]))) / 1.349 / efficient
        if keep_probability == 0.9:
            ratio = n * values[t].var(ddof=1) / bound[t]
            assert abs(ratio - ratios[t]) <= Z * math.hypot(variance_error(values[t]), math.sqrt(2 / 1000)) + 0.02
            assert abs(bias) < 0.1 + Z / math.sqrt(runs)
        else:
            assert 0.75 < middle < 1.05, middle
            error = values[t].std() / math.sqrt(runs) / efficient
            assert 0.4 - Z * error < bias < 0.8 + Z * error, bias
            picked = np.random.default_rng(1).integers(0, runs, (4000, 300))
            blocks_of_300 = n * values[t][picked].var(axis=1, ddof=1) / bound[t]
            low, high = np.percentile(blocks_of_300, [0.15, 99.85])
            assert low < ratios[t] < high, (low, ratios[t], high)


def test_the_whole_analysis_of_a_numeric_outcome_is_this_one_step():
    """Where unmixing fails, the analysis of the data is the one-step estimate that the table is about."""
    rng = np.random.default_rng(3)
    channel = mechanism("A", 0.2)
    for _ in range(20):
        _, d, x = LAW_A.sample(3000, rng)
        y = 3.0 * LAW_A.mu[d, x] + 0.8 * rng.standard_normal(3000)
        found = discrete_estimate(tabulate(y, d, channel.privatise(x, rng), 3), channel, ATE())
        if "constrained" in found.flags:
            assert found.method == "one-step"
            return
    pytest.fail("no sample needed repair")
