"""The discrete analysis against plain record-by-record code, exact tables, and every sentence it can say."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from privexplorer.causal.counts import DiscreteCounts, sums_of_counts, tabulate
from privexplorer.causal.discrete import (
    clip,
    discrete_estimate,
    fit,
    likelihood_repair,
    margin_repair,
    one_step,
    private_scores,
    trim_level,
    unmix,
    unmix_table,
)
from privexplorer.causal.laws import LAW_A, LAW_B, FiniteLaw, binary_law
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    FiniteNoise,
    LaplaceAddition,
    RandomisedResponse,
    uniform_levels,
)
from privexplorer.causal.replications import analyse_tables, draw_ladder, draw_tables, fold_sizes, replicate
from privexplorer.causal.targets import ATE, ATT, MeanUnder, UntreatedMeanOfTreated
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

SKEW = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
TARGETS = [ATE(), ATT(), MeanUnder(1), MeanUnder(0), UntreatedMeanOfTreated()]
NAMES = ["ATE", "ATT", "E Y1", "E Y0", "E[Y0|D=1]"]


def half(keep_probability: float = 0.5, levels: int = 3) -> AlphaIdentity:
    return AlphaIdentity(keep_probability, uniform_levels(levels))


def records(law: FiniteLaw, mechanism, n: int, seed: int, numeric: bool = False):
    rng = np.random.default_rng(seed)
    y, d, x = law.sample(n, rng)
    if numeric:
        y = 3.0 * y + 0.8 * rng.standard_normal(n)
    return y, d, mechanism.privatise(x, rng)


def exact(law: FiniteLaw, mechanism, size: float = 1e13) -> DiscreteCounts:
    """The released table without sampling error (rounded to 1e-13)."""
    return DiscreteCounts.from_counts(np.rint(size * law.privatised(mechanism)), law.values)


def plain_influence(name: str, y, d, x, share, mu):
    """Centred influence functions written out record by record (table of section 1.3)."""
    p = share.sum(axis=0)
    pi = share[1] / p
    p1 = share[1].sum()
    pi, m0, m1 = pi[x], mu[0][x], mu[1][x]
    effect = mu[1] - mu[0]
    if name == "ATE":
        return d / pi * (y - m1) - (1 - d) / (1 - pi) * (y - m0) + m1 - m0 - (p * effect).sum()
    if name == "E Y1":
        return d / pi * (y - m1) + m1 - (p * mu[1]).sum()
    if name == "E Y0":
        return (1 - d) / (1 - pi) * (y - m0) + m0 - (p * mu[0]).sum()
    odds = pi / (1 - pi)
    if name == "ATT":
        return d / p1 * (y - m0) - (1 - d) / p1 * odds * (y - m0) - d / p1 * (share[1] * effect).sum() / p1
    return (1 - d) / p1 * odds * (y - m0) + d / p1 * m0 - d / p1 * (share[1] * mu[0]).sum() / p1


def plain_value(name: str, share, mu):
    p1 = share[1].sum()
    return {
        "ATE": (share.sum(axis=0) * (mu[1] - mu[0])).sum(),
        "E Y1": (share.sum(axis=0) * mu[1]).sum(),
        "E Y0": (share.sum(axis=0) * mu[0]).sum(),
        "ATT": (share[1] * (mu[1] - mu[0])).sum() / p1,
        "E[Y0|D=1]": (share[1] * mu[0]).sum() / p1,
    }[name]


# --- against code that goes through the records ------------------------------------------------------------------


@pytest.mark.parametrize(("target", "name"), list(zip(TARGETS, NAMES, strict=True)), ids=NAMES)
@pytest.mark.parametrize("numeric", [False, True], ids=["yes or no", "numbers"])
def test_value_and_error_are_those_of_signed_records(target, name, numeric):
    """Every record stands for all categories with the signed weights of its column of W."""
    y, d, z = records(LAW_A, SKEW, 4000, 1, numeric)
    found = discrete_estimate(tabulate(y, d, z, 3), SKEW, target)
    assert found.method == "plug-in"
    assert found.flags == ()
    weights = SKEW.inverse[:, z]  # (J, n)
    share = np.array([(weights * (d == arm)).mean(axis=1) for arm in (0, 1)])
    mu = np.array([(weights * (d == arm) * y).mean(axis=1) for arm in (0, 1)]) / share
    scores = sum(weights[x] * plain_influence(name, y, d, np.full(y.size, x), share, mu) for x in range(3))
    assert found.value == pytest.approx(plain_value(name, share, mu), rel=1e-10)
    assert found.std_error == pytest.approx(math.sqrt((scores**2).mean() / y.size), rel=1e-10)
    assert abs(scores.mean()) < 1e-12  # why no splitting is needed
    assert (found.high - found.low) / 2 == pytest.approx(1.959963984540054 * found.std_error, rel=1e-10)
    np.testing.assert_allclose(found.nuisances["share"], share, rtol=1e-10)
    np.testing.assert_allclose(found.nuisances["regression"], mu, rtol=1e-10)
    np.testing.assert_allclose(found.nuisances["propensity"], share[1] / share.sum(axis=0), rtol=1e-10)


@pytest.mark.parametrize(("target", "name"), list(zip(TARGETS, NAMES, strict=True)), ids=NAMES)
def test_keep_probability_1_is_the_ordinary_estimate(target, name):
    y, d, z = records(LAW_A, half(1.0), 3000, 2)
    found = discrete_estimate(tabulate(y, d, z, 3), half(1.0), target)
    share = np.array([[((d == arm) & (z == x)).mean() for x in range(3)] for arm in (0, 1)])
    mu = np.array([[y[(d == arm) & (z == x)].mean() for x in range(3)] for arm in (0, 1)])
    scores = plain_influence(name, y, d, z, share, mu)
    assert found.value == pytest.approx(plain_value(name, share, mu), rel=1e-12)
    assert found.std_error == pytest.approx(math.sqrt((scores**2).mean() / y.size), rel=1e-12)
    assert found.naive is not None
    assert found.naive.value == pytest.approx(found.value, rel=1e-12)
    assert found.naive.std_error == pytest.approx(found.std_error, rel=1e-12)


@pytest.mark.parametrize("target", [ATE(), ATT()], ids=["ATE", "ATT"])
@pytest.mark.parametrize("repaired", [False, True])
def test_one_step_is_that_of_a_loop_over_folds(target, repaired):
    y, d, z = records(LAW_A, SKEW, 1200, 3, numeric=True)
    ids = np.random.default_rng(4).integers(4, size=y.size)
    counts = tabulate(y, d, z, 3, folds=4, fold_ids=ids)
    low, high, trim = float(y.min()), float(y.max()), 0.05
    value, error = one_step(
        counts.fold_sums, SKEW.inverse, target, trim=trim, low=low, high=high, matrix=SKEW.matrix if repaired else None
    )
    psi = np.empty(y.size)
    for fold in range(4):
        train, test = ids != fold, ids == fold
        weights = SKEW.inverse[:, z[train]]
        arms = [d[train] == arm for arm in (0, 1)]
        share = np.array([(weights * arm).mean(axis=1) for arm in arms])
        if repaired:
            share = margin_repair(
                np.array([[((d == a) & (z == x) & train).sum() for x in range(3)] for a in (0, 1)], float), SKEW.matrix
            )
        mu = np.array([(weights * arm * y[train]).mean(axis=1) for arm in arms]) / share
        mu = np.clip(mu, low, high)
        pi = np.clip(share[1] / share.sum(axis=0), trim, 1 - trim)
        p1 = d[train].mean()
        slope = -(share[1] * (mu[1] - mu[0])).sum() / p1**2
        for i in np.flatnonzero(test):
            if target.name == ATE().name:
                h = d[i] / pi * (y[i] - mu[1]) - (1 - d[i]) / (1 - pi) * (y[i] - mu[0]) + mu[1] - mu[0]
            else:
                r = d[i] / p1 - (1 - d[i]) / p1 * pi / (1 - pi)
                h = r * (y[i] - mu[d[i]]) + d[i] * (mu[1] - mu[0]) / p1 + (d[i] - p1) * slope
            psi[i] = (SKEW.inverse[:, z[i]] * h).sum()
    assert float(value) == pytest.approx(psi.mean(), rel=1e-9)
    assert float(error) == pytest.approx(psi.std() / math.sqrt(y.size), rel=1e-9)


# --- against exact tables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", [SKEW, half(0.2), AlphaIdentity(0.5, FiniteNoise([0.2, 0.5, 0.3]))])
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_without_sampling_error_the_answer_is_the_truth(mechanism, target):
    law = FiniteLaw.random(np.random.default_rng(5), outcomes=4)
    found = discrete_estimate(exact(law, mechanism), mechanism, target)
    assert found.value == pytest.approx(target.value(law), rel=1e-8, abs=1e-9)
    h = np.einsum("xz,ydx->ydz", mechanism.finite().inverse, target.influence(law))
    bound = (law.privatised(mechanism) * h**2).sum()
    assert found.std_error**2 * found.records == pytest.approx(bound, rel=1e-6)


def test_a_transposed_mechanism_gives_something_else():
    shown = LAW_A.privatised(SKEW)
    np.testing.assert_allclose(unmix_table(SKEW.inverse, shown), LAW_A.joint, atol=1e-15)
    np.testing.assert_allclose(unmix(SKEW.inverse, shown.sum(axis=0)), LAW_A.p_dx, atol=1e-15)
    assert np.abs(unmix_table(SKEW.inverse.T, shown) - LAW_A.joint).max() > 0.02
    scores = np.random.default_rng(6).normal(size=(2, 3))
    before = (LAW_A.p_dx * scores).sum()
    assert (shown.sum(axis=0) * private_scores(SKEW.inverse, scores)).sum() == pytest.approx(before, rel=1e-12)
    assert abs((shown.sum(axis=0) * private_scores(SKEW.inverse.T, scores)).sum() - before) > 1e-3


def test_the_order_of_categories_does_not_matter():
    y, d, z = records(LAW_A, SKEW, 2000, 7)
    order = np.array([2, 0, 1])  # new code c is old code order[c]
    turned = FiniteMechanism(SKEW.matrix[np.ix_(order, order)])
    place = np.argsort(order)
    first = discrete_estimate(tabulate(y, d, z, 3), SKEW, ATT())
    second = discrete_estimate(tabulate(y, d, place[z], 3), turned, ATT())
    assert second.value == pytest.approx(first.value, rel=1e-12)
    assert second.std_error == pytest.approx(first.std_error, rel=1e-12)


def test_randomised_response_is_the_uniform_mechanism():
    y, d, z = records(LAW_B, half(0.5, 2), 3000, 8)
    counts = tabulate(y, d, z, 2)
    epsilon = math.log(3.0)
    first = discrete_estimate(counts, RandomisedResponse(2, epsilon), ATE())
    second = discrete_estimate(counts, half(0.5, 2), ATE())
    assert first.value == pytest.approx(second.value, rel=1e-12)
    assert first.std_error == pytest.approx(second.std_error, rel=1e-12)


def test_an_outcome_of_few_values_and_its_sums_say_the_same():
    law = FiniteLaw.random(np.random.default_rng(9), outcomes=5, concentration=20.0)
    y, d, z = records(law, SKEW, 5000, 10)
    few, sums = tabulate(y, d, z, 3), tabulate(y, d, z, 3, few_values=1)
    assert few.counts is not None
    assert sums.counts is None
    first = discrete_estimate(few, SKEW, ATE(), repair="never")
    second = discrete_estimate(sums, SKEW, ATE(), repair="never")
    assert second.value == pytest.approx(first.value, rel=1e-11)
    assert second.std_error == pytest.approx(first.std_error, rel=1e-11)


def test_the_naive_estimate_takes_the_shown_category_for_the_true_one():
    found = discrete_estimate(exact(LAW_A, half()), half(), ATT())
    assert found.naive is not None
    assert found.naive.value == pytest.approx(0.305808011756, abs=1e-9)
    y, d, z = records(LAW_A, half(), 3000, 11)
    counts = tabulate(y, d, z, 3)
    ordinary = discrete_estimate(counts, half(1.0), ATT())
    naive = discrete_estimate(counts, half(), ATT()).naive
    assert naive is not None
    assert (naive.value, naive.std_error) == (ordinary.value, ordinary.std_error)


# --- likelihood repair -------------------------------------------------------------------------------------------


def test_repair_equals_unmixing_where_that_is_a_law():
    shown = LAW_A.privatised(SKEW).reshape(4, 3)
    found = likelihood_repair(shown, SKEW.matrix, tolerance=1e-12)
    np.testing.assert_allclose(found.probabilities, LAW_A.joint.reshape(4, 3), atol=1e-8)
    assert bool(found.converged)
    rough = likelihood_repair(shown, SKEW.matrix)
    np.testing.assert_allclose(rough.probabilities, LAW_A.joint.reshape(4, 3), atol=1e-5)
    assert int(rough.steps) < int(found.steps)


def test_repair_is_the_most_likely_law_on_the_boundary():
    table = np.array([[30.0, 1.0, 2.0], [4.0, 3.0, 20.0], [9.0, 9.0, 1.0]])
    inverse = half().finite().inverse
    matrix = half().finite().matrix
    assert np.einsum("xz,vz->vx", inverse, table).min() < -1
    found = likelihood_repair(table, matrix, tolerance=1e-13, most_steps=200_000).probabilities
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    shown = table / table.sum()
    gain = np.einsum("zx,vz->vx", matrix, shown / np.einsum("zx,vx->vz", matrix, found))
    assert gain.max() < 1 + 1e-6  # moving mass anywhere does not help (conditions of Karush, Kuhn and Tucker)
    np.testing.assert_allclose(gain[found > 1e-4], 1.0, atol=1e-6)


def test_the_likelihood_never_falls():
    table = np.array([[30.0, 1.0, 2.0], [4.0, 3.0, 20.0]])
    matrix = half(0.3).finite().matrix
    heights = []
    for steps in range(1, 40):
        law = likelihood_repair(table, matrix, most_steps=steps).probabilities
        heights.append((table * np.log(np.einsum("zx,vx->vz", matrix, law))).sum())
    assert (np.diff(heights) > -1e-12).all()
    assert heights[-1] > heights[0] + 0.5


def test_many_repairs_at_once_are_single_repairs():
    tables = np.random.default_rng(12).poisson(15, size=(4, 3, 6)).astype(float)
    matrix = half(0.3).finite().matrix
    together = likelihood_repair(tables, matrix)
    assert len(set(together.steps.tolist())) > 3
    for run in range(6):
        alone = likelihood_repair(tables[..., run], matrix)
        np.testing.assert_allclose(together.probabilities[..., run], alone.probabilities, rtol=1e-12)
        assert together.steps[run] == alone.steps


def test_repair_says_when_it_stopped_early():
    table = np.array([[300.0, 10.0, 2.0], [4.0, 3.0, 20.0]])
    found = likelihood_repair(table, half(0.1).finite().matrix, most_steps=5)
    assert not found.converged
    assert found.steps == 5


def test_pseudo_counts_even_the_cells_out():
    table = np.array([[30.0, 1.0, 2.0], [4.0, 3.0, 20.0]])
    matrix = half().finite().matrix
    spreads = [likelihood_repair(table, matrix, pseudo_count=c).probabilities for c in (0.0, 1.0, 5.0, 1e6)]
    ranges = [float(np.ptp(found)) for found in spreads]
    assert ranges == sorted(ranges, reverse=True)
    np.testing.assert_allclose(spreads[-1], 1 / 6, atol=1e-4)
    assert spreads[1].sum() == pytest.approx(1.0)
    with pytest.raises(ParameterError, match="at least 0; it is -1"):
        likelihood_repair(table, matrix, pseudo_count=-1)
    with pytest.raises(DataError, match="must not hold negative"):
        likelihood_repair(-table, matrix)
    with pytest.raises(DataError, match="is empty"):
        likelihood_repair(0 * table, matrix)


NEGATIVE = DiscreteCounts.from_counts([[[60, 40, 30], [30, 30, 32]], [[45, 42, 41], [24, 34, 70]]])
"""Under a keep probability of 0.3 unmixing gives a negative cell, but all shares by treatment are above 0."""


def test_impossible_tables_are_repaired_and_said():
    mechanism = half(0.3)
    unmixed = unmix_table(mechanism.finite().inverse, NEGATIVE.counts / NEGATIVE.records)
    assert unmixed.min() < 0
    assert unmixed.sum(axis=0).min() > 0
    auto = discrete_estimate(NEGATIVE, mechanism, ATE())
    assert auto.method == "likelihood"
    assert "constrained" in auto.flags
    assert any("the most likely possible table" in note and f"{unmixed.min():.3g}" in note for note in auto.notes)
    assert auto.nuisances["table"].min() >= 0
    never = discrete_estimate(NEGATIVE, mechanism, ATE(), repair="never")
    assert never.method == "plug-in"
    assert "negative cells" in never.flags
    assert "constrained" not in never.flags
    assert any("left as it is" in note for note in never.notes)
    assert abs(never.value - auto.value) > 0.01
    always = discrete_estimate(NEGATIVE, mechanism, ATE(), repair="always")
    assert always.value == auto.value
    pulled = discrete_estimate(NEGATIVE, mechanism, ATE(), pseudo_count=5)
    assert "pseudo-count" in pulled.flags
    assert any("pull the answer" in note for note in pulled.notes)


def test_an_outcome_of_several_values_is_repaired_as_a_table():
    law = FiniteLaw.random(np.random.default_rng(9), outcomes=4)
    mechanism = half(0.25)
    y, d, z = records(law, mechanism, 500, 3)
    counts = tabulate(y, d, z, 3)
    assert unmix_table(mechanism.finite().inverse, counts.counts).min() < 0
    found = discrete_estimate(counts, mechanism, ATE())
    assert found.method == "likelihood"
    table = found.nuisances["table"]
    assert table.shape == (4, 2, 3)
    assert table.min() >= 0
    np.testing.assert_allclose(
        table.sum(axis=2), counts.counts.sum(axis=2) / 500, atol=1e-12
    )  # what was published stays
    means = (table * counts.values[:, None, None]).sum(axis=0) / table.sum(axis=0)
    assert found.value == pytest.approx((table.sum(axis=(0, 1)) * (means[1] - means[0])).sum(), rel=1e-10)
    assert y.min() <= means.min() <= means.max() <= y.max()


def test_possible_tables_are_not_repaired():
    table = np.array([[[180, 130, 60], [40, 60, 50]], [[50, 70, 60], [70, 110, 120]]])
    found = discrete_estimate(DiscreteCounts.from_counts(table), half(0.6), ATE())
    assert found.method == "plug-in"
    assert "constrained" not in found.flags


def test_slow_repairs_say_so(monkeypatch):
    quick = partial(likelihood_repair, most_steps=3)
    monkeypatch.setattr("privexplorer.causal.discrete.likelihood_repair", quick)
    found = discrete_estimate(NEGATIVE, half(0.3), ATE())
    assert "not converged" in found.flags


def test_a_numeric_outcome_is_repaired_by_margin_and_one_step():
    mechanism = half(0.3)
    y, d, z = records(LAW_A, mechanism, 800, 5, numeric=True)
    counts = tabulate(y, d, z, 3)
    found = discrete_estimate(counts, mechanism, ATE())
    assert found.method == "one-step"
    assert "constrained" in found.flags
    share = margin_repair(counts.sums.size, mechanism.finite().matrix)
    np.testing.assert_allclose(found.nuisances["share"], share)
    assert found.nuisances["regression"].min() >= y.min()
    assert found.nuisances["regression"].max() <= y.max()
    value, error = one_step(
        counts.fold_sums,
        mechanism.finite().inverse,
        ATE(),
        trim=trim_level(0.3, 800),
        low=y.min(),
        high=y.max(),
        matrix=mechanism.finite().matrix,
    )
    assert (found.value, found.std_error) == (float(value), float(error))
    raw = discrete_estimate(counts, mechanism, ATE(), repair="never")
    assert raw.method == "plug-in"
    assert abs(raw.value - found.value) > 0.01


def test_a_mean_beyond_the_outcomes_is_repaired_too():
    """The shares are fine, but one unmixed mean lies above every outcome."""
    size = np.array([[200, 150, 100], [100, 150, 200]])
    y, d, z = [], [], []
    for arm in (0, 1):
        for shown in range(3):
            level = 1.0 if (arm, shown) == (1, 0) else 0.0
            spread = np.linspace(0.0, 0.001, size[arm, shown])
            y.append(np.clip(level + spread - 0.001 * (level == 1.0), 0.0, 1.0))
            d.append(np.full(size[arm, shown], arm))
            z.append(np.full(size[arm, shown], shown))
    counts = tabulate(np.concatenate(y), np.concatenate(d), np.concatenate(z), 3)
    mechanism = half(0.6)
    inverse = mechanism.finite().inverse
    share, total = unmix(inverse, counts.sums.size), unmix(inverse, counts.sums.total)
    assert share.min() > 0
    assert (total / share).max() > 1.01
    found = discrete_estimate(counts, mechanism, ATE())
    assert found.method == "one-step"
    assert "constrained" in found.flags
    assert found.nuisances["regression"].max() <= 1.0


# --- guard, overlap and other sentences ---------------------------------------------------------------------------


def test_the_guard_uses_the_smallest_singular_value_and_share():
    found = discrete_estimate(exact(LAW_A, SKEW, 1e5), SKEW, ATE())
    smallest = np.linalg.svd(SKEW.matrix, compute_uv=False)[-1]
    assert found.guard is not None
    assert found.guard.kappa == pytest.approx(1e5 * smallest**2 * 0.04, rel=1e-3)


@pytest.mark.parametrize(("n", "level"), [(10_000, "green"), (5_000, "amber"), (1_500, "red"), (500, "refused")])
def test_levels_of_the_guard(n, level):
    """Law A at a keep probability of 0.5: κ = 0.01 n."""
    found = discrete_estimate(exact(LAW_A, half(), n), half(), ATE())
    assert found.guard is not None
    assert found.guard.level == level
    assert found.has_interval == (level != "refused")
    assert math.isfinite(found.value)
    assert math.isfinite(found.std_error)
    assert (found.guard.sentence in found.notes) == (level != "green")


def test_little_overlap_is_said():
    law = binary_law([0.6, 0.4], [0.5, 0.99], [0.3, 0.5], [0.4, 0.6])
    found = discrete_estimate(exact(law, half(0.9, 2), 1e6), half(0.9, 2), ATE())
    assert "little overlap" in found.flags
    # 0.9 · 0.4 + 0.1 / 2 of the shown values and half of the noise
    assert found.nuisances["extreme_share_released"] == pytest.approx(0.41, abs=1e-4)
    assert found.nuisances["extreme_share_noise"] == 0.5
    assert any("41% of the released values and 50% of the noise" in note for note in found.notes)
    wide = discrete_estimate(exact(law, half(0.9, 2), 1e6), half(0.9, 2), ATE(), trim=0.005)
    assert "little overlap" not in wide.flags


def test_hardly_any_overlap_is_refused():
    law = binary_law([0.6, 0.4], [0.01, 0.99], [0.3, 0.5], [0.4, 0.6])
    with pytest.raises(DataError, match="hardly ever alike: 100% of the propensities"):
        discrete_estimate(exact(law, half(0.9, 2), 1e6), half(0.9, 2), ATE())


def test_a_category_without_treated_people_is_named():
    table = [[[300, 200, 100], [150, 300, 0]], [[100, 200, 150], [200, 200, 0]]]
    found = discrete_estimate(DiscreteCounts.from_counts(table, levels="abc"), half(1.0), ATE())
    assert "no overlap" in found.flags
    assert any("No overlap at level “c”: there are no treated units" in note for note in found.notes)
    assert not found.has_interval
    other = [table[0][::-1], table[1][::-1]]
    found = discrete_estimate(DiscreteCounts.from_counts(other, levels="abc"), half(1.0), ATE())
    assert any("No overlap at level “c”: there are no control units" in note for note in found.notes)


def unused_level(keep: float, n: int = 4000, numeric: bool = True):
    """The same people with the public list as it is, and with a category in its middle that nobody has."""
    short, long = half(keep, 3), half(keep, 4)
    rng = np.random.default_rng(31)
    y, d, x = LAW_A.sample(n, rng)
    if numeric:
        y = 3.0 * y + 0.8 * rng.standard_normal(n)
    places = np.array([0, 1, 3])
    released = [
        mechanism.privatise(value, np.random.default_rng(5)) for mechanism, value in ((short, x), (long, places[x]))
    ]
    return y, d, x, (tabulate(y, d, released[0], 3), short), (tabulate(y, d, released[1], 4), long)


@pytest.mark.parametrize("numeric", [True, False])
def test_without_noise_a_category_that_nobody_has_changes_nothing(numeric):
    y, d, x, (few, short), (more, long) = unused_level(1.0, numeric=numeric)
    for target in (ATE(), ATT()):
        found, plain = discrete_estimate(more, long, target), discrete_estimate(few, short, target)
        assert found.value == pytest.approx(plain.value, abs=1e-10)
        assert found.std_error == pytest.approx(plain.std_error, rel=1e-10)
        assert found.guard.kappa == pytest.approx(plain.guard.kappa, rel=1e-10)
        assert (found.method, found.has_interval) == ("plug-in", True)
        assert sum("(2) cannot be told from ones that nobody has" in note for note in found.notes) == 1
        assert found.nuisances["share"].shape == (2, 4)
    gaps = [y[(d == 1) & (x == level)].mean() - y[(d == 0) & (x == level)].mean() for level in range(3)]
    by_hand = sum(np.mean(x == level) * gap for level, gap in enumerate(gaps))
    assert discrete_estimate(more, long, ATE()).value == pytest.approx(by_hand, abs=1e-10)


@pytest.mark.parametrize("numeric", [True, False])
@pytest.mark.parametrize(("keep", "within"), [(0.8, 0.05), (0.5, 0.08)])
def test_a_category_that_only_noise_shows_hardly_changes_the_error(keep, within, numeric):
    """A longer list gives a little away: whoever shows the empty category shows noise."""
    _, _, _, (few, short), (more, long) = unused_level(keep, 40_000, numeric=numeric)
    for target in (ATE(), ATT()):
        found, plain = discrete_estimate(more, long, target), discrete_estimate(few, short, target)
        assert found.std_error == pytest.approx(plain.std_error, rel=within)
        assert abs(found.value - plain.value) < 3 * plain.std_error
        assert found.guard.kappa > 0.8 * plain.guard.kappa
        assert "unsupported level" in found.flags
        assert "constrained" not in found.flags


@pytest.mark.parametrize("mechanism", [half(0.6), SKEW], ids=["uniform", "skew"])
def test_left_out_categories_leave_an_exact_analysis(mechanism):
    """With exact tables, value and influence are those of the law: the reduced inverse undoes the noise."""
    law = binary_law([0.6, 1e-9, 0.4 - 1e-9], [0.4, 0.5, 0.6], [0.3, 0.5, 0.5], [0.4, 0.9, 0.6])
    for target in (ATE(), ATT()):
        for repair in ("never", "always"):
            found = discrete_estimate(exact(law, mechanism), mechanism, target, repair=repair)
            assert found.value == pytest.approx(target.value(law), abs=1e-6)
            assert "unsupported level" in found.flags


def test_categories_that_only_noise_shows_are_named():
    law = binary_law([0.6, 0.4 - 1e-9, 1e-9], [0.4, 0.6, 0.5], [0.3, 0.5, 0.5], [0.4, 0.6, 0.5])
    mechanism = half(0.7)
    y, d, z = records(law, mechanism, 20_000, 13)
    found = discrete_estimate(tabulate(y, d, z, 3), mechanism, ATE())
    assert "unsupported level" in found.flags
    assert any("hardly anybody seems to have (2)" in note for note in found.notes)
    assert "are left out" in " ".join(found.notes)
    y, d, z = records(LAW_A, mechanism, 20_000, 13)
    assert "unsupported level" not in discrete_estimate(tabulate(y, d, z, 3), mechanism, ATE()).flags


def test_a_nearly_singular_mechanism_is_said():
    weak = half(1e-5)
    found = discrete_estimate(exact(LAW_A, weak), weak, ATE(), repair="never")
    assert "nearly singular" in found.flags
    assert any("nearly impossible to invert" in note for note in found.notes)


def test_dropped_rows_are_counted():
    y, d, z = records(LAW_A, half(), 2000, 14)
    y[:7] = np.nan
    found = discrete_estimate(tabulate(y, d, z, 3, missing="drop"), half(), ATE())
    assert "dropped rows" in found.flags
    assert "7 rows with missing values were left out." in found.notes
    assert found.records == 1993


@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"mechanism": half(0.5, 2)}, ParameterError, "has 2 categories, but the released column has 3"),
        ({"mechanism": LaplaceAddition([1.0])}, UnsupportedCombination, "needs a mechanism over categories"),
        ({"repair": "maybe"}, ParameterError, "auto, never or always; it is “maybe”"),
        ({"level": 1.0}, ParameterError, "strictly between 0 and 1; it is 1"),
        ({"trim": 0.5}, ParameterError, "between 0 and 0.5; it is 0.5"),
        ({"pseudo_count": -1.0, "repair": "always"}, ParameterError, "at least 0; it is -1"),
    ],
)
def test_unfit_settings_have_their_sentence(changes, error, sentence):
    table = np.array([[[180, 130, 60], [40, 60, 50]], [[50, 70, 60], [70, 110, 120]]])
    given = {"counts": DiscreteCounts.from_counts(table), "mechanism": half(0.6), "target": ATE()}
    discrete_estimate(**given)
    with pytest.raises(error, match=sentence):
        discrete_estimate(**{**given, **changes})


def test_trim_follows_the_rule():
    assert trim_level(0.5, 3000) == pytest.approx(1 / (0.5 * math.sqrt(3000)))
    assert trim_level(0.9, 10**6) == 0.02
    assert trim_level(0.2, 100) == 0.1
    at = fit(np.array([[0.5, 0.01], [0.01, 0.48]]), np.array([[0.6, 0.0], [0.0, 0.1]]))
    kept = clip(at, 0.1, 0.1, 1.0)
    assert kept.propensity.tolist() == [0.1, 0.9]
    assert kept.regression.min() == 0.1
    assert kept.regression.max() == 1.0


# --- replications -------------------------------------------------------------------------------------------------


def test_replications_are_single_analyses():
    mechanism = half(0.5, 2)
    tables = draw_tables(LAW_B, mechanism, 1500, 5, np.random.default_rng(15), with_truth=True)
    methods = ("plug-in", "likelihood", "one-step", "repaired one-step", "naive", "oracle")
    found = analyse_tables(tables, mechanism, [ATE(), ATT()], methods=methods)
    finite = mechanism.finite()
    for run in range(5):
        counts = DiscreteCounts.from_counts(sum(part[..., run] for part in tables.released))
        folds = [sums_of_counts(part[..., run], tables.values) for part in tables.released]
        for t, target in enumerate([ATE(), ATT()]):
            alone = discrete_estimate(counts, mechanism, target, repair="never")
            for method, expected in (("plug-in", alone), ("naive", alone.naive)):
                assert found.methods[method].value[t, run] == pytest.approx(expected.value, rel=1e-10)
                assert found.methods[method].std_error[t, run] == pytest.approx(expected.std_error, rel=1e-10)
            auto = discrete_estimate(counts, mechanism, target)
            assert found.methods["likelihood"].value[t, run] == pytest.approx(auto.value, rel=1e-10)
            for method, matrix in (("one-step", None), ("repaired one-step", finite.matrix)):
                value, error = one_step(folds, finite.inverse, target, trim=0.05, low=0, high=1, matrix=matrix)
                assert found.methods[method].value[t, run] == pytest.approx(float(value), rel=1e-10)
                assert found.methods[method].std_error[t, run] == pytest.approx(float(error), rel=1e-10)
            true = DiscreteCounts.from_counts(sum(part[..., run] for part in tables.true))
            ideal = discrete_estimate(true, half(1.0, 2), target)
            assert found.methods["oracle"].value[t, run] == pytest.approx(ideal.value, rel=1e-10)
    assert fold_sizes(1500, 3) == [500, 500, 500]
    assert [int(part[..., 0].sum()) for part in tables.released] == [500, 500, 500]


@pytest.mark.parametrize("with_truth", [False, True])
def test_drawn_tables_have_the_right_mean_and_variance(with_truth):
    runs, n = 6000, 300
    tables = draw_tables(LAW_A, SKEW, n, runs, np.random.default_rng(16), folds=2, with_truth=with_truth)
    counts = sum(tables.released)
    p = LAW_A.privatised(SKEW)
    error = np.sqrt(n * p * (1 - p) / runs)
    assert np.abs((counts.mean(axis=-1) - n * p) / error).max() < 4
    np.testing.assert_allclose(counts.var(axis=-1), n * p * (1 - p), rtol=4.5 * math.sqrt(2.2 / runs))
    if with_truth:
        hidden = sum(tables.true)
        np.testing.assert_array_equal(hidden.sum(axis=2), counts.sum(axis=2))
        np.testing.assert_allclose(
            hidden.mean(axis=-1), n * LAW_A.joint, atol=4 * np.sqrt(n * LAW_A.joint / runs).max()
        )


def test_a_ladder_uses_the_same_people_and_the_same_noise():
    noise = np.array([0.5, 0.3, 0.2])
    rungs = [0.2, 0.6, 0.9, 1.0]
    n, runs = 300, 3000
    ladder = draw_ladder(LAW_A, noise, rungs, n, runs, np.random.default_rng(17), folds=2)
    for keep_probability, tables in zip(rungs, ladder, strict=True):
        p = LAW_A.privatised(AlphaIdentity(keep_probability, FiniteNoise(noise)))
        counts = sum(tables.released)
        assert np.abs((counts.mean(axis=-1) - n * p) / np.sqrt(n * p * (1 - p) / runs)).max() < 4
        np.testing.assert_allclose(counts.var(axis=-1), n * p * (1 - p), rtol=4.5 * math.sqrt(2.2 / runs))
        assert tables.true[0] is ladder[0].true[0]
    np.testing.assert_array_equal(sum(ladder[-1].released), sum(ladder[-1].true))
    estimates = [
        analyse_tables(tables, AlphaIdentity(a, FiniteNoise(noise)), [ATE()], methods=("naive",))
        .methods["naive"]
        .value[0]
        for a, tables in zip(rungs, ladder, strict=True)
    ]
    together = np.corrcoef(estimates)
    assert together[2, 3] > 0.9  # apart they would be independent
    with pytest.raises(ParameterError, match="must rise"):
        draw_ladder(LAW_A, noise, [0.5, 0.2], n, 2, np.random.default_rng(0))


def test_replications_repeat_and_refuse_what_does_not_exist():
    first, second = (replicate(LAW_B, half(0.5, 2), [ATE()], 300, 20, np.random.default_rng(18)) for _ in range(2))
    np.testing.assert_array_equal(first.methods["one-step"].value, second.methods["one-step"].value)
    assert first.targets == (ATE().name,)
    with pytest.raises(ParameterError, match="'best' is none of them"):
        replicate(LAW_B, half(0.5, 2), [ATE()], 300, 2, np.random.default_rng(0), methods=("best",))
    with pytest.raises(ParameterError, match="at least two folds"):
        replicate(LAW_B, half(0.5, 2), [ATE()], 300, 2, np.random.default_rng(0), folds=1)
    tables = draw_tables(LAW_B, half(0.5, 2), 300, 2, np.random.default_rng(0))
    with pytest.raises(ParameterError, match="needs the true categories"):
        analyse_tables(tables, half(0.5, 2), [ATE()], methods=("oracle",))
