"""Attackers: samplers, laws, sizes, what they support; Markov chains and their covariances."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

SLOW = np.array([[0.90, 0.10, 0.0, 0.0], [0.05, 0.85, 0.10, 0.0], [0.0, 0.2, 0.7, 0.1], [0.3, 0.0, 0.1, 0.6]])


def table_of(records: int = 60, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "x": rng.standard_normal(records), "y": rng.standard_normal(records), "s": rng.uniform(0.5, 3.0, records),
        "ward": np.array(["A", "B", "C"])[np.arange(records) % 3],
    }  # fmt: skip


ATTACKERS: list[Any] = [
    pr.RandomShard(compromised_fraction=0.3),
    pr.IndependentDraws(draws=20),
    pr.WeightedDraws(draws=20, column="s", bias=1.5),
    pr.StickyStrata(draws=20, column="ward", restart=0.4),
    pr.Adversary(compromised_fraction=0.3, condition="x > 0"),
    pr.AllButOne(),
]


@pytest.mark.parametrize("record", ATTACKERS, ids=lambda record: record.kind)
def test_every_sampler(record: Any) -> None:
    """P-D2.1: n places in range, seed reproduces them, nobody twice unless drawn with replacement, law is met."""
    table = table_of()
    process = record.process(60, table)
    drawn = process.sample(3_000, np.random.default_rng(1))
    assert drawn.shape == (3_000, process.draws)
    assert drawn.min() >= 0
    assert drawn.max() < 60
    np.testing.assert_array_equal(drawn, process.sample(3_000, np.random.default_rng(1)))
    if not process.replaces:
        assert all(len(set(row)) == process.draws for row in drawn[:200].tolist())
    law = process.probabilities
    if law is not None:
        assert law.shape == (60,)
        assert law.sum() == pytest.approx(1)
        share = np.array([np.bincount(row, minlength=60) for row in drawn]) / process.draws
        error = share.std(axis=0, ddof=1) / math.sqrt(3_000)
        z = (share.mean(axis=0) - law) / error
        assert np.abs(z).max() < 4.5
        assert np.square(z).mean() < 1.7
        assert np.square((share.mean(axis=0) - 1.1 * law) / error).mean() > 1.7  # a tenth more would be seen
        weights = process.weights
        assert weights is None or np.allclose(weights, 1 / (law * 60))
        assert 1 <= process.effective_people <= 60 + 1e-9
    assert process.theory.endswith(".")


def test_shards_have_the_size_they_say() -> None:
    assert pr.ShardProcess(20, 0.4).draws == 8
    assert pr.ShardProcess(20, 0.001).draws == 1
    assert pr.ShardProcess(20, 0.999).draws == 19
    pairs = pr.ShardProcess(6, 0.5).sample(40_000, np.random.default_rng(0))
    together = np.mean([(row == 0).any() and (row == 1).any() for row in pairs])
    assert together == pytest.approx(0.2, abs=4.5 * math.sqrt(0.16 / 40_000))
    np.testing.assert_allclose(np.bincount(pairs.ravel()) / 40_000, 0.5, atol=4.5 * math.sqrt(0.25 / 40_000))


def test_shard_biased_and_adversarial_samplers() -> None:
    """P-X4: a shard of 20 at 0.4 has 8 different people; biased frequencies are p to 3.5 s.e.; only q = 1 chosen."""
    rng = np.random.default_rng(0)
    shard = pr.RandomShard(compromised_fraction=0.4).process(20).sample(50, rng)
    assert {len(set(row)) for row in shard.tolist()} == {8}
    table = {"s": np.arange(1.0, 21.0), "x": np.arange(20) % 2}
    biased = pr.WeightedDraws(draws=500, column="s").process(20, table)
    counts = np.bincount(biased.sample(200, rng).ravel(), minlength=20)
    law = np.arange(1.0, 21.0) / 210
    assert (np.abs(counts - 100_000 * law) < 3.5 * np.sqrt(100_000 * law * (1 - law))).all()
    chosen = pr.Adversary(compromised_fraction=0.4, condition="x = 1").process(20, table).sample(3, rng)
    assert (table["x"][chosen] == 1).all()


def test_weights_turn_process_means_into_plain_ones(d20: dict[str, Any]) -> None:
    """P-X15: E_D[w h] is the plain mean of h, for random laws and values."""
    rng = np.random.default_rng(2)
    for _ in range(5):
        law = rng.dirichlet(np.full(20, 0.5)) + 1e-4
        process = pr.IndependentProcess(20, 5, law / law.sum())
        h = rng.standard_normal(20)
        assert process.weights is not None
        assert process.probabilities @ (process.weights * h) == pytest.approx(h.mean(), abs=1e-12)
        assert np.mean(process.weights * h) == pytest.approx(process.probabilities @ (process.weights**2 * h), rel=1e-9)


def test_unknown_people_are_a_set() -> None:
    """Eq. (1), E27: with N = 4 and draws 0, 0, 1 the unknown people are 2 and 3, each with weight 1/2."""
    process = pr.IndependentProcess(4, 3)
    assert process.unknown(np.array([0, 0, 1])).tolist() == [2, 3]
    assert 1 / len(process.unknown(np.array([0, 0, 1]))) == 0.5
    assert pr.AllButOneProcess(5).unknown(np.array([0, 1, 3, 4])).tolist() == [2]


def test_adversary_takes_whom_it_likes() -> None:
    table = {"x": np.array([0.0, 5.0, 1.0, 5.0, 5.0, 0.0])}
    process = pr.Adversary(compromised_fraction=0.5, condition="x = 5").process(6, table)
    assert process.chosen.tolist() == [1, 3, 4]
    more = pr.Adversary(compromised_fraction=0.7, condition="x = 5").process(6, table)
    assert more.chosen.tolist() == [0, 1, 3, 4]
    assert process.probabilities is None


def test_what_each_attacker_supports() -> None:
    """P-X9: the mixing processes are taken by the formulas, the others refused with Assumption 3.1 or a reason."""
    table = table_of()
    reasons = {record.kind: record.process(60, table).supports("theory") for record in ATTACKERS}
    assert [kind for kind, reason in reasons.items() if reason is None] == ["shard", "iid", "weighted", "chain"]
    assert "Assumption 3.1" in str(reasons["adversary"])
    assert "Only one person is unknown" in str(reasons["all-but-one"])
    asked = pr.query_set(["x > 0"], table)
    release = pr.Mean(columns=("y",)).fit(table)
    for record in ATTACKERS[4:]:
        process = record.process(60, table)
        with pytest.raises(UnsupportedCombination, match="simulated attacker"):
            process.summarise(table, asked, release)
        with pytest.raises(UnsupportedCombination):
            process.size()
        assert process.supports("simulation") is None


def test_sizes_of_attackers() -> None:
    table = table_of()
    sizes = {record.kind: record.process(60, table).size() for record in ATTACKERS[:4]}
    assert sizes["shard"] == pr.shard_size(0.3, 60)
    assert sizes["iid"] == sizes["weighted"] == sizes["chain"] == pr.sample_attack_size(20)
    assert ATTACKERS[0].process(60).size("everyone").effective == pytest.approx(0.3 * 60 / 0.7)


def test_effective_people_of_a_law() -> None:
    assert pr.IndependentProcess(4, 2, np.array([0.5, 0.25, 0.125, 0.125])).effective_people == pytest.approx(64 / 22)
    assert pr.ShardProcess(60, 0.5).effective_people == pytest.approx(60)


def test_laws_from_scores() -> None:
    np.testing.assert_allclose(pr.law_from_scores([1.0, 2.0, 5.0], 0.0), 1 / 3)
    huge = pr.law_from_scores([1e-3, 1.0, 1e3], 1.0)
    np.testing.assert_allclose(huge, np.array([1e-3, 1.0, 1e3]) / 1001.001, rtol=1e-12)


def test_full_enumeration_of_shards() -> None:
    """α(1-α)N: over all 120 shards of 3 of 10 people, Var(q̄_C - q̄_U) is exact with N - 1 (E alpha row)."""
    q = np.array([0.0, 1, 1, 0, 3, 0, 2, 5, 1, 1])
    gaps = []
    for shard in itertools.combinations(range(10), 3):
        known = np.isin(np.arange(10), shard)
        gaps.append(q[known].mean() - q[~known].mean())
    assert len(gaps) == 120
    wanted = q.var() / pr.shard_size(0.3, 10, exact=True).effective
    assert np.mean(np.square(gaps)) == pytest.approx(wanted, rel=1e-12)
    whole = [q[list(shard)].mean() - q.mean() for shard in itertools.combinations(range(10), 3)]
    assert np.mean(np.square(whole)) == pytest.approx(q.var() / pr.shard_size(0.3, 10, "everyone", True).effective)
    assert np.mean(np.square(gaps)) / np.mean(np.square(whole)) == pytest.approx(pr.unknown_mean_factor(0.3), rel=1e-12)


# --- chains --------------------------------------------------------------------------------------------------


def test_stationary_law() -> None:
    chain = pr.make_chain(SLOW)
    assert pr.is_stationary(chain.stationary, SLOW)
    assert np.abs(chain.stationary @ SLOW - chain.stationary).max() < 1e-12
    assert not pr.is_stationary(np.full(4, 0.25), SLOW)
    power = np.linalg.matrix_power(SLOW, 2_000)
    np.testing.assert_allclose(power, np.tile(chain.stationary, (4, 1)), atol=1e-12)


def test_long_run_covariance_is_the_sum_over_lags() -> None:
    """Spec 3.10 against the plain sum Γ₀ + Σ (Γ_k + Γ_kᵀ); T is not reversible, so a transpose would show."""
    chain = pr.make_chain(SLOW)
    f = np.array([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0], [-4.0, 0.3]])
    centred = f - chain.stationary @ f
    weighted = chain.stationary[:, None] * centred
    total, power = centred.T @ weighted, np.eye(4)
    for _ in range(3_000):
        power = power @ SLOW
        lag = weighted.T @ power @ centred
        total = total + lag + lag.T
    np.testing.assert_allclose(chain.long_run(f), total, rtol=1e-10)
    np.testing.assert_allclose(chain.lag_zero(f), centred.T @ weighted, rtol=1e-12)
    z = np.linalg.inv(np.eye(4) - SLOW + chain.stationary[None, :])
    d = np.diag(chain.stationary)
    np.testing.assert_allclose(chain.long_run(f), centred.T @ (d @ z + z.T @ d - d) @ centred, rtol=1e-10)


def test_mixing_coefficients() -> None:
    """Def A.5: the lazy chain's closed form, a supremum over all pairs of sets, at most 1/4, geometric decay."""
    lazy = pr.lazy_chain(np.full(4, 0.25), 0.2)
    np.testing.assert_allclose(lazy.mixing([1, 2, 5]), [0.2, 0.16, 0.08192], rtol=1e-12)
    uneven = pr.lazy_chain([0.1, 0.2, 0.7], 0.5)
    np.testing.assert_allclose(uneven.mixing([1, 3]), [0.5 * 0.21, 0.125 * 0.21], rtol=1e-12)
    chain = pr.make_chain(SLOW)
    joint = chain.stationary[:, None] * np.linalg.matrix_power(SLOW, 2)
    brute = 0.0
    for one in itertools.product([0, 1], repeat=4):
        for two in itertools.product([0, 1], repeat=4):
            a, b = np.array(one), np.array(two)
            brute = max(brute, abs(a @ joint @ b - (a @ chain.stationary) * (b @ chain.stationary)))
    assert chain.mixing([2])[0] == pytest.approx(brute, rel=1e-12)
    decay = chain.mixing(np.arange(1, 40))
    assert (decay <= 0.25).all()
    second = sorted(np.abs(np.linalg.eigvals(SLOW)))[-2]
    assert decay[-1] / decay[-2] == pytest.approx(second, rel=1e-3)
    with pytest.raises(ParameterError, match="at most 12 states; the chain has 13"):
        pr.lazy_chain(np.full(13, 1 / 13), 0.5).mixing([1])


def test_lazy_chain_scales_everything() -> None:
    """Long-run covariances are (2-s)/s times lag 0: r does not change without noise, γ grows by the factor."""
    table = table_of(90)
    asked = pr.query_set(["x > 0", "y"], table)
    release = pr.Mean(columns=("x",)).fit(table)
    rng = np.random.default_rng(3)
    law = rng.dirichlet(np.full(90, 5.0))
    chain = pr.lazy_chain(law, 0.2)
    process = pr.ChainProcess(90, 500, chain, np.arange(90))
    slow = process.summarise(table, asked, release)
    plain = process.summarise(table, asked, release, long_run=False)
    np.testing.assert_allclose(slow.query_covariance, 9 * plain.query_covariance, rtol=1e-9)
    np.testing.assert_allclose(slow.moment_covariance, 9 * plain.moment_covariance, rtol=1e-9)
    one, two = pr.predictability(slow, process.size()), pr.predictability(plain, process.size())
    np.testing.assert_allclose(one.r, two.r, rtol=1e-9)
    np.testing.assert_allclose(one.printed, 9 * two.printed, rtol=1e-9)
    iid = pr.IndependentProcess(90, 500, law).summarise(table, asked, release)
    np.testing.assert_allclose(plain.query_covariance, iid.query_covariance, rtol=1e-9)


def test_chain_over_strata_is_a_chain_over_people() -> None:
    """A chain over strata with a uniform person in each equals the chain over people T[k, l]/size(l) (derived)."""
    table = table_of(60)
    strata = np.repeat([0, 1, 2, 3], [10, 15, 25, 10])
    small = pr.strata_chain(SLOW, strata, 200)
    sizes = np.bincount(strata)
    people = pr.people_chain(SLOW[np.ix_(strata, strata)] / sizes[strata][None, :], 200)
    np.testing.assert_allclose(people.probabilities, small.probabilities, rtol=1e-10)
    asked = pr.query_set(["x > 0", "y"], table)
    group = table["x"] > -0.5
    for release in (pr.Mean(columns=("x",)).fit(table), pr.LinearRegression(features=("x",), target="y").fit(table)):
        for members in (None, group):
            one = small.summarise(table, asked, release, members)
            two = people.summarise(table, asked, release, members)
            np.testing.assert_allclose(one.query_covariance, two.query_covariance, rtol=1e-8, atol=1e-12)
            np.testing.assert_allclose(one.cross_covariance, two.cross_covariance, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(one.moment_covariance, two.moment_covariance, rtol=1e-8, atol=1e-12)


def test_slow_chain_against_lag_zero() -> None:
    """E5: a slow chain's printed lag-0 formula is many times too small."""
    table = table_of(60)
    strata = (table["x"] > 0).astype(int)
    process = pr.strata_chain([[0.98, 0.02], [0.02, 0.98]], strata, 1_000)
    asked = pr.query_set(["x > 0"], table)
    release = pr.Mean(columns=("x",)).fit(table)
    both = [
        pr.predictability(process.summarise(table, asked, release, long_run=flag), process.size()).printed[0]
        for flag in (True, False)
    ]
    assert both[0] > 20 * both[1]


def test_strata_from_a_column() -> None:
    table = table_of()
    process = pr.StickyStrata(draws=50, column="ward", restart=1.0).process(60, table)
    np.testing.assert_allclose(process.probabilities, 1 / 60)
    np.testing.assert_allclose(process.weights, 1.0)
    asked = pr.query_set(["x > 0"], table)
    release = pr.Mean(columns=("x",)).fit(table)
    one = process.summarise(table, asked, release)
    two = pr.IndependentProcess(60, 50).summarise(table, asked, release)
    np.testing.assert_allclose(one.query_covariance, two.query_covariance, rtol=1e-9)
    path = (
        pr.StickyStrata(draws=400, column="ward", restart=0.1).process(60, table).sample(200, np.random.default_rng(0))
    )
    wards = np.arange(60) % 3
    stays = (wards[path][:, 1:] == wards[path][:, :-1]).mean()
    assert stays == pytest.approx(0.9 + 0.1 / 3, abs=0.005)


# --- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transition", "words"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], "periodic with period 2"),
        ([[0, 1, 0], [0, 0, 1], [1, 0, 0]], "periodic with period 3"),
        ([[1.0, 0.0], [0.0, 1.0]], "reducible.*2 parts"),
        ([[0.5, 0.5], [0.0, 1.0]], "reducible"),
        ([[0.5, 0.4], [0.5, 0.5]], r"row 1 sums to 0\.9"),
        ([[1.5, -0.5], [0.5, 0.5]], r"row 1, column 2 is -0\.5"),
        ([[0.5, 0.5]], "must be square"),
    ],
)
def test_bad_chains(transition: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        pr.make_chain(transition)


def test_bad_attackers() -> None:
    table = table_of()
    zero = dict(table, s=np.where(np.arange(60) == 4, 0.0, table["s"]))
    for call, error, words in (
        (lambda: pr.ShardProcess(60, 1.2), ParameterError, "strictly between 0 and 1; it is 1.2"),
        (lambda: pr.ShardProcess(60, -0.1), ParameterError, "strictly between 0 and 1; it is -0.1"),
        (lambda: pr.ShardProcess(1, 0.5), ParameterError, "at least 2; it is 1"),
        (lambda: pr.IndependentProcess(60, 1), ParameterError, "at least 2; it is 1"),
        (lambda: pr.IndependentProcess(3, 2, np.array([0.5, 0.5, 0.0])), ParameterError, r"Assumption 3\.1.*row 3"),
        (lambda: pr.IndependentProcess(2, 2, np.array([0.5, 0.6])), ParameterError, r"sum to 1 .*they sum to 1\.1"),
        (lambda: pr.IndependentProcess(3, 2, np.array([0.5, 0.5])), DataError, "2 entries, but there are 3"),
        (lambda: pr.WeightedDraws(column="s").process(60, zero), ParameterError, r"row 5 of column “s” is 0"),
        (lambda: pr.WeightedDraws(column="s").process(60), DataError, "needs the column 's'"),
        (lambda: pr.WeightedDraws(column="s").process(7, table), DataError, "each of the 7 people"),
        (lambda: pr.StickyStrata(column="nothing").process(60, table), DataError, "no column 'nothing'"),
        (lambda: pr.Adversary(condition="x + 1").process(60, table), ParameterError, "not a condition"),
        (lambda: pr.Adversary().process(60), DataError, "columns of its condition"),
        (lambda: pr.Adversary().process(7, table), DataError, "60 rows, but there are 7"),
        (lambda: pr.FixedProcess(3, np.arange(3)), ParameterError, "at most 2 people; it chose 3"),
        (lambda: pr.strata_chain(SLOW, np.zeros(8, dtype=int), 50), ParameterError, "4 states, but people belong to 1"),
        (lambda: pr.lazy_chain([0.5, 0.5], 0.0), ParameterError, "at most 1; it is 0"),
        (lambda: pr.AllButOneProcess(1), ParameterError, "at least 2; it is 1"),
    ):
        with pytest.raises(error, match=words):
            call()
    with pytest.raises(ParameterError, match="above 0 and below 1; the code says 1"):
        pr.RandomShard(compromised_fraction=1.0)
    with pytest.raises(DataError, match="60 people, but the table has 7"):
        pr.ShardProcess(60, 0.5).summarise(
            {"x": np.arange(7.0)}, pr.query_set(["x > 2"], {"x": np.arange(7.0)}),
            pr.Mean(columns=("x",)).fit({"x": np.arange(7.0)}),
        )  # fmt: skip
