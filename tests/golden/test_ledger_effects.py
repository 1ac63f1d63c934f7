"""Items of locally private inference whose check no other test makes; the Sources page maps row to test.

A row ``L-E4`` that is witnessed here is witnessed by ``test_L_E4``. The other rows have their test in
``tests/unit/causal``, ``tests/golden/test_causal_*`` or ``tests/statistical/test_causal_*``.
"""

from __future__ import annotations

import ast
import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privexplorer import causal
from privexplorer.causal import (
    ATE,
    ATT,
    CONDITIONS,
    LAW_A,
    LAW_B,
    LAW_C,
    AlphaIdentity,
    DerivativeLaw,
    DiscreteCounts,
    FiniteLaw,
    FiniteMechanism,
    FiniteNoise,
    GaussianNoise,
    LaplaceAddition,
    MeanUnder,
    UniformNoise,
    bias_expansion,
    cross_fit,
    crossfit,
    discrete_estimate,
    efficiency_bound,
    fold_labels,
    ltv_of_ldp,
    operators,
    private_influence,
    replicate,
    treatment_nuisances,
    uniform_levels,
)
from privexplorer.causal.anatomy import fitted_nuisances, released_counts
from privexplorer.causal.geometric import shift_check, shift_check_gaussian
from privexplorer.causal.replications import draw_tables
from privexplorer.errors import DataError, ParameterError, PrivExplorerError, UnsupportedCombination

ROOT = Path(__file__).resolve().parents[2]
LEDGER = ROOT / "privexplorer/studies/ledger"
SKEW = FiniteMechanism(np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]))
UNIFORM = uniform_levels(3)
HALF = AlphaIdentity(0.5, UNIFORM)


def random_law(rng: np.random.Generator) -> FiniteLaw:
    return FiniteLaw.random(rng, 3)


# ------------------------------------------------------------------------------------------------ sections 3 and 1.1


def test_L_E4() -> None:
    # f is linear in μ; for the effect on the treated it is singular at γ = 0
    rng = np.random.default_rng(1)
    for target in (ATE(), ATT(), MeanUnder(1)):
        gammas = target.cell_means(LAW_A)[0]
        first, second = rng.standard_normal((2, 2, 3))
        both = target.mean_integrand(LAW_A, [2.0 * first - 3.0 * second], gammas)
        apart = [target.mean_integrand(LAW_A, [one], gammas) for one in (first, second)]
        assert both == pytest.approx(2 * apart[0] - 3 * apart[1], abs=1e-12)
    with pytest.raises(ParameterError, match="share must be above 0"):
        ATT().mean_integrand(LAW_A, [LAW_A.mu], np.array([0.0]))
    joint = np.array(LAW_A.joint)
    joint[:, 0] += joint[:, 1]
    joint[:, 1] = 0.0
    with pytest.raises(ValueError, match="overlap"):
        ATT().value(FiniteLaw(joint, LAW_A.values))


def test_L_E7() -> None:
    h = ATE().influence(LAW_A)
    assert math.isfinite(LAW_A.mean(h**2))
    assert not shift_check(np.zeros_like, 0.2, low=0.0, high=1.0).holds
    with pytest.raises(UnsupportedCombination, match="dominated"):
        shift_check(np.zeros_like, 0.2, low=0.0, high=1.0).require()


def test_L_Ex4c() -> None:
    assert shift_check_gaussian(0.5, 1.0).second_moment == pytest.approx(math.exp(0.25), rel=1e-12)
    assert math.exp(0.25) == pytest.approx(1.2840, abs=5e-5)
    # ∫ p(x - ε)²/p(x) dx by hand on a grid
    x = np.linspace(-12, 14, 40_001)
    p, moved = (np.exp(-0.5 * (x - shift) ** 2) / math.sqrt(2 * math.pi) for shift in (0.0, 0.5))
    assert float(np.trapezoid(moved**2 / p, x)) == pytest.approx(math.exp(0.25), rel=1e-9)
    assert shift_check(np.zeros_like, 0.2, low=0.0, high=1.0).second_moment == math.inf


def test_L_Ex3() -> None:
    target, h = ATT(), ATT().influence(LAW_A)
    assert target.value(LAW_A) == pytest.approx(0.180434782609, rel=1e-9)
    assert abs(LAW_A.mean(h)) < 1e-15
    assert LAW_A.mean(target.influence(LAW_A, printed=True)) == pytest.approx(0.36087, abs=5e-6)
    untreated = causal.UntreatedMeanOfTreated()
    assert untreated.value(LAW_A) == pytest.approx(0.439130434783, rel=1e-9)
    assert efficiency_bound(LAW_A, untreated) == pytest.approx(0.94698188308, rel=1e-9)
    assert efficiency_bound(LAW_A, untreated, HALF) == pytest.approx(8.52186753993, rel=1e-9)


def test_L_Ex2() -> None:
    assert ATE().value(LAW_A) == pytest.approx(0.22, rel=1e-12)
    assert MeanUnder(1).value(LAW_A) == pytest.approx(0.58, rel=1e-12)
    assert efficiency_bound(LAW_A, MeanUnder(1)) == pytest.approx(0.616641666667, rel=1e-9)
    assert efficiency_bound(LAW_A, MeanUnder(1), HALF) == pytest.approx(0.899003742284, rel=1e-9)


def test_L_X6() -> None:
    rng = np.random.default_rng(2)
    close = 0.0
    for _ in range(200):
        wrong = treatment_nuisances(
            LAW_A, ATE(), propensity=rng.uniform(0.1, 0.9, 3), mu=LAW_A.mu + rng.standard_normal((2, 3))
        )
        found = bias_expansion(LAW_A, ATE(), wrong)
        assert abs(found.product) <= found.product_limit * (1 + 1e-12)
        close = max(close, abs(found.product) / found.product_limit)
    assert close > 0.8


# ----------------------------------------------------------------------------------------------------- mechanisms


def test_L_E11() -> None:
    shown = LAW_A.privatised(HALF)
    assert shown.sum() == pytest.approx(1.0, abs=1e-14)
    np.testing.assert_allclose(shown.sum(axis=2), LAW_A.joint.sum(axis=2), rtol=1e-13)
    np.testing.assert_allclose(shown, 0.5 * LAW_A.joint + LAW_A.joint.sum(axis=2, keepdims=True) / 6, rtol=1e-13)


def test_L_E13() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        p = rng.dirichlet(np.ones(12)).reshape(4, 3)
        shown = np.einsum("zx,vx->vz", SKEW.matrix, p)
        np.testing.assert_allclose(operators.unmix(SKEW.matrix, shown), p, atol=1e-12)
    singular = np.array([[0.5, 0.2, 0.35], [0.3, 0.6, 0.45], [0.2, 0.2, 0.2]])
    with pytest.raises(ParameterError, match="cannot be inverted"):
        FiniteMechanism(singular)


def test_L_D1() -> None:
    assert SKEW.ltv() == pytest.approx(0.6, rel=1e-12)
    gaps = [np.abs(SKEW.matrix[:, i] - SKEW.matrix[:, j]).sum() / 2 for i in range(3) for j in range(3)]
    assert max(gaps) == pytest.approx(0.6, rel=1e-12)
    for noise in ([0.2, 0.5, 0.3], [1.0, 0.0, 0.0]):
        assert AlphaIdentity(0.4, FiniteNoise(np.array(noise))).ltv() == pytest.approx(0.4, rel=1e-12)


def test_L_X3() -> None:
    mechanism = AlphaIdentity(0.3, FiniteNoise(np.array([0.2, 0.5, 0.3])))
    weights = mechanism.finite().signed_weights(np.array([0, 1, 2, 2]))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-13)
    assert weights.min() < -0.4
    p = np.random.default_rng(4).dirichlet(np.ones(12)).reshape(4, 3)
    shown = 0.3 * p + 0.7 * p.sum(axis=1, keepdims=True) * np.array([0.2, 0.5, 0.3])
    np.testing.assert_allclose(operators.unmix(mechanism.finite().matrix, shown), p, atol=1e-12)


def test_L_X4() -> None:
    assert FiniteMechanism(SKEW.matrix).levels == 3
    for noise in (UNIFORM, GaussianNoise(0.0, 1.0), UniformNoise(-1.0, 1.0)):
        assert AlphaIdentity(0.3, noise).keep_probability == 0.3
    for matrix in (np.full((3, 3), 1 / 3), SKEW.matrix[:, :2], 2 * SKEW.matrix, -SKEW.matrix):
        with pytest.raises(PrivExplorerError):
            FiniteMechanism(matrix)
    for keep in (0.0, -0.1, 1.1, math.nan):
        with pytest.raises(PrivExplorerError):
            AlphaIdentity(keep, UNIFORM)


def test_L_E50() -> None:
    for mechanism in (HALF, SKEW):
        table = LAW_A.with_shown(mechanism)
        assert table.shape == (2, 2, 3, 3)
        assert table.sum() == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(table.sum(axis=3), LAW_A.joint, rtol=1e-13)
        np.testing.assert_allclose(table.sum(axis=2), LAW_A.privatised(mechanism), rtol=1e-13)


def test_L_L4d() -> None:
    given = LAW_A.joint / LAW_A.joint.sum(axis=2, keepdims=True)
    shown = LAW_A.privatised(HALF) / LAW_A.joint.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(shown.sum(axis=2), 1.0, rtol=1e-13)
    np.testing.assert_allclose(shown, 0.5 * given + 0.5 / 3, rtol=1e-13)


def test_L_L4b() -> None:
    rng = np.random.default_rng(5)
    largest = 0.0
    for _ in range(200):
        keep = float(rng.uniform(0.1, 0.9))
        p, q, h = rng.dirichlet(np.ones(12)).reshape(4, 3), rng.dirichlet(np.ones(3)), rng.standard_normal((4, 3))
        shown = keep * p + (1 - keep) * p.sum(axis=1, keepdims=True) * q
        for power in (1, 2, 4):
            left, right = (float(np.sum(law * np.abs(h) ** power) ** (1 / power)) for law in (p, shown))
            assert left <= keep ** (-1 / power) * right * (1 + 1e-12)
            largest = max(largest, left / (keep ** (-1 / power) * right))
    found = {one.source for one in operators.inequalities(HALF, p, h, h)}
    assert "Lem 4(iv)" in found
    assert largest > 0.9


def test_L_L6a() -> None:
    mechanism = AlphaIdentity(0.4, FiniteNoise(np.array([0.2, 0.5, 0.3])))
    deltas = np.array([mechanism.ldp_delta(float(epsilon)) for epsilon in np.linspace(0.0, 3.0, 61)])
    assert (deltas <= 0.4 + 1e-15).all()
    assert deltas[0] == pytest.approx(0.4, rel=1e-12)
    assert mechanism.ldp_delta(1.0) == pytest.approx(0.193806180585, rel=1e-9)


def test_L_L6b() -> None:
    assert ltv_of_ldp(1.0, 0.05) == pytest.approx(0.489011299397, rel=1e-9)
    assert ltv_of_ldp(1.0, 0.05, "printed") == 1.0  # 1.768, so that nothing is said
    assert ltv_of_ldp(math.log(2) - 1e-9, 0.0, "printed") == pytest.approx(1.0, abs=1e-8)
    assert ltv_of_ldp(0.5, 0.0, "printed") == pytest.approx(math.expm1(0.5), rel=1e-12)
    assert math.log(2) == pytest.approx(0.693, abs=5e-4)


def test_L_X8() -> None:
    bump = math.exp(-0.08)
    noise = LaplaceAddition(np.array([0.7]))
    assert float(noise.invert(bump, (0.16 - 1) * bump)) == pytest.approx(1.30307103456, rel=1e-9)
    z = np.linspace(-1, 1, 5)
    with pytest.raises(PrivExplorerError, match="twice differentiable"):
        noise.invert_function(np.abs, lambda x: 0.0 * x, z)


# --------------------------------------------------------------------------------------------- the private influence


def test_L_T2() -> None:
    shown = LAW_A.privatised(HALF)
    for target, first, second in ((ATE(), 2.60361111111, 5.1680952381), (ATT(), 1.85412728418, 9.79296066253)):
        psi = private_influence(target.influence(LAW_A), HALF)
        assert (psi[1, 1, 0], psi[0, 0, 2]) == pytest.approx((first, second), rel=1e-9)
        assert abs(float(np.sum(shown * psi))) < 1e-14


def test_L_X5() -> None:
    # noise far out, where the score of an average slope is extreme
    law = DerivativeLaw()
    bounds = [
        float(law.decomposition(GaussianNoise(0.0, spread)).variance(np.array(0.5))) for spread in (0.6, 1.2, 1.8)
    ]
    assert bounds[1] == pytest.approx(105.977330406, rel=1e-9)
    assert bounds[0] < 0.5 * bounds[1] < 0.2 * bounds[2]


def test_L_E17() -> None:
    for keep, value in ((0.2, 19.3683196932), (0.5, 3.26185616103), (0.9, 1.24799619856)):
        assert efficiency_bound(LAW_A, ATE(), AlphaIdentity(keep, UNIFORM)) == pytest.approx(value, rel=1e-9)
    assert efficiency_bound(LAW_A, ATE(), SKEW) == pytest.approx(2.8745150854, rel=1e-9)


def test_L_E19() -> None:
    h = ATT().influence(LAW_A)
    np.testing.assert_allclose(private_influence(h, AlphaIdentity(1.0, UNIFORM)), h, rtol=1e-13)
    for mechanism in (HALF, SKEW):
        shifted = private_influence(h + 5.0, mechanism)
        np.testing.assert_allclose(shifted, private_influence(h, mechanism) + 5.0, rtol=1e-11)


def test_L_E21() -> None:
    rng = np.random.default_rng(7)
    y, d, x = LAW_C.sample(4_000, rng)
    mechanism = AlphaIdentity(0.8, UniformNoise(-1.0, 1.0))
    z = mechanism.privatise(x, rng)
    found = cross_fit(y, d, z, mechanism, "ATT", centring="one-step", rng=rng)
    used = found.nuisances
    # μ, γ = p₁ and e by name; r by the target's own function, within a tenth of the true weights where it is used
    assert used["mu0"].shape == used["mu1"].shape == used["propensity"].shape == (4_000,)
    assert used["p1"] == pytest.approx(d.mean(), abs=0.01)
    assert used["e"] == pytest.approx(-LAW_C.value(ATT()) / LAW_C.treated_share, rel=0.15)
    r = ATT().representer(d, used["propensity"], used["p1"])
    share = LAW_C.treated_share
    true = np.where(d > 0, 1.0, -np.exp(LAW_C.log_odds(z))) / share
    assert np.sqrt(np.mean((r - true) ** 2) / np.mean(true**2)) < 0.1
    assert np.sqrt(np.mean((1.25 * r - true) ** 2) / np.mean(true**2)) > 0.1
    # with categories a single call gives all five: r, μ, γ, p and e
    n = 400_000
    counts = released_counts(LAW_A, HALF, n, 1, rng)[0]
    fitted, law = fitted_nuisances(LAW_A, ATT(), HALF, counts), ATT().nuisances(LAW_A)
    np.testing.assert_allclose(fitted.representers[0], law.representers[0], rtol=0.08)
    np.testing.assert_allclose(fitted.regressions[0], law.regressions[0], rtol=0.08)
    np.testing.assert_allclose(fitted.gammas, law.gammas, rtol=0.01)
    np.testing.assert_allclose(fitted.shares, law.shares)
    np.testing.assert_allclose(fitted.slopes, law.slopes, rtol=0.08)


def test_L_E23() -> None:
    # p and γ = p1 from the published column alone; e through the inverse; 4,000 samples
    n, runs = 2_000, 4_000
    tables = draw_tables(LAW_A, HALF, n, runs, np.random.default_rng(8), folds=2)
    counts = np.sum(tables.released, axis=0)
    inverse = HALF.finite().inverse
    among = np.einsum("xz,zr->xr", inverse, counts[:, 1].sum(axis=0)) / n
    share = counts[:, 1].sum(axis=(0, 1)) / n
    effect = LAW_A.mu[1] - LAW_A.mu[0]
    slope = -(among * effect[:, None]).sum(axis=0) / share**2
    truth = -ATT().value(LAW_A) / LAW_A.treated_share
    assert abs(share.mean() - 0.46) < 3 * share.std() / math.sqrt(runs)
    # the square of the share leaves a bias of order 1/n
    assert abs(slope.mean() - truth) < 3 * slope.std() / math.sqrt(runs) + 3 / n
    assert abs(1.1 * slope.mean() - truth) > 3 * slope.std() / math.sqrt(runs) + 3 / n
    empty = np.array([[[5, 5, 5], [0, 0, 0]], [[5, 5, 5], [0, 0, 0]]])
    with pytest.raises(DataError, match="treated"):
        discrete_estimate(DiscreteCounts.from_counts(empty), HALF, ATT())


def test_L_L3e() -> None:
    mechanism = AlphaIdentity(0.3, GaussianNoise(0.5, 1.5))
    points, weights = mechanism.nodes()

    def h(x: np.ndarray) -> np.ndarray:
        return 2 * np.sin(x) + x**2

    found = mechanism.invert(h(np.array([1.0])), float(np.sum(weights * h(points))))
    assert found[0] == pytest.approx(2.38345537328, rel=1e-9)
    rng = np.random.default_rng(9)
    for _ in range(200):
        keep = float(rng.uniform(0.1, 0.95))
        noisy = AlphaIdentity(keep, FiniteNoise(rng.dirichlet(np.ones(3))))
        table = rng.standard_normal((4, 3))
        assert np.abs(operators.invert(noisy, table)).max() <= (2 - keep) / keep * np.abs(table).max() * (1 + 1e-12)


def test_L_L1a() -> None:
    h = ATE().influence(LAW_A)
    table = operators.adjoint(HALF, h, LAW_A.joint)
    assert (table[1, 1, 0], table[0, 0, 2]) == pytest.approx((1.19862745099, 0.795311004785), rel=1e-9)
    rng = np.random.default_rng(10)
    s = rng.standard_normal((2, 2, 3))
    s = s - LAW_A.mean(s)
    step = 1e-6
    ahead, behind = (FiniteLaw(LAW_A.joint * (1 + sign * step * s), LAW_A.values).privatised(HALF) for sign in (1, -1))
    score = (np.log(ahead) - np.log(behind)) / (2 * step)
    np.testing.assert_allclose(score, operators.adjoint(HALF, s, LAW_A.joint), atol=1e-8)


# ------------------------------------------------------------------------------------------------------- estimators


def test_L_Tb1(monkeypatch: pytest.MonkeyPatch) -> None:
    # strict: evaluation, nuisances and e use disjoint records
    seen: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    plain = crossfit._Job._training

    def watched(job: Any, rest: np.ndarray) -> Any:
        first, second = plain(job, rest)
        seen.append((rest, first, second))
        return first, second

    monkeypatch.setattr(crossfit._Job, "_training", watched)
    rng = np.random.default_rng(11)
    y, d, x = LAW_C.sample(3_000, rng)
    mechanism = AlphaIdentity(0.8, UniformNoise(-1.0, 1.0))
    labels = fold_labels(3_000, 3, rng, d)
    cross_fit(
        y, d, mechanism.privatise(x, rng), mechanism, "ATT", centring="one-step", strict=True, fold_ids=labels,
        guarded=False,
    )  # fmt: skip
    assert len(seen) == 3
    for rest, first, second in seen:
        assert not (first & second).any()
        assert not (first & ~rest).any()
        assert not (second & ~rest).any()
        assert min(first.sum(), second.sum()) > 900
    # in turn, three folds have the variance of all records; used once each they would have three times that
    runs, n = 3_000, 3_000
    noisy = AlphaIdentity(0.5, uniform_levels(2))
    found = replicate(LAW_B, noisy, (ATE(),), n, runs, np.random.default_rng(12), methods=("one-step",))
    times = n * float(found.methods["one-step"].spread()[0]) / efficiency_bound(LAW_B, ATE(), noisy)
    assert abs(times - 1.034) < 4 * math.sqrt(2 / runs) * 1.034 + 0.02


def test_L_A4() -> None:
    words = dict(CONDITIONS)["Assumption 4"]
    first, second = words.partition("; and either ")[2].split(", or ")
    assert "residual is bounded" in first
    assert "uniformly consistent" in first
    assert "representer are bounded" in second
    assert "mean square" in second
    # what it is for: the score converges when the nuisances do
    errors = [
        causal.score_error(
            LAW_B, ATE(), AlphaIdentity(1.0, uniform_levels(2)), causal.nuisances_off(LAW_B, ATE(), size, size)
        )
        for size in (0.1, 0.01, 0.001)
    ]
    assert errors[1] / errors[0] == pytest.approx(0.1, rel=0.1)
    assert errors[2] / errors[1] == pytest.approx(0.1, rel=0.02)


def test_L_C6() -> None:
    runs, n = 3_000, 3_000
    open_data = AlphaIdentity(1.0, uniform_levels(2))
    found = replicate(
        LAW_B, open_data, (ATE(), ATT()), n, runs, np.random.default_rng(13), methods=("one-step",)
    ).methods["one-step"]
    truth = np.array([ATE().value(LAW_B), ATT().value(LAW_B)])
    bounds = np.array([efficiency_bound(LAW_B, target) for target in (ATE(), ATT())])
    # a variance from 3,000 samples has a relative standard error of 2.6%
    assert (np.abs(n * found.spread() / bounds - 1) < 4 * math.sqrt(2 / runs)).all()
    assert (np.abs(found.coverage(truth) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / runs)).all()


def test_L_P4() -> None:
    counts = np.array([[[180, 130, 60], [40, 60, 50]], [[50, 70, 60], [70, 110, 120]]])
    mechanism = AlphaIdentity(0.6, UNIFORM)
    shares = counts / counts.sum()
    for target, error in ((ATE(), 0.0417375409419), (ATT(), 0.0558528312949)):
        found = discrete_estimate(DiscreteCounts.from_counts(counts), mechanism, target)
        assert found.std_error == pytest.approx(error, rel=1e-9)
        fitted = FiniteLaw(operators.unmix(mechanism.finite().matrix, shares), LAW_A.values)
        psi = private_influence(target.influence(fitted), mechanism)
        assert abs(float(np.sum(shares * psi))) < 1e-12
        assert math.sqrt(float(np.sum(shares * psi**2)) / 1_000) == pytest.approx(error, rel=1e-9)


def test_L_P4f() -> None:
    # f = f1(v, x, μ) f2(γ) with f2 = 1/γ
    truth = ATT().nuisances(LAW_A)
    values = [ATT().mean_integrand(LAW_A, truth.regressions, np.array([share])) for share in (0.2, 0.46, 1.0)]
    np.testing.assert_allclose(np.array(values) * [0.2, 0.46, 1.0], 0.46 * 0.180434782609, rtol=1e-9)


def test_L_X10() -> None:
    x = np.random.default_rng(14).integers(0, 3, 5_000)
    children = np.random.SeedSequence(0).spawn(3)
    shown = [HALF.privatise(x, np.random.default_rng(child)) for child in children]
    again = [HALF.privatise(x, np.random.default_rng(child)) for child in np.random.SeedSequence(0).spawn(3)]
    for one, same in zip(shown, again, strict=True):
        np.testing.assert_array_equal(one, same)
    # two independent showings of the same value agree with probability a² + 2a(1 - a)/3 + (1 - a)²/3
    for one, other in ((0, 1), (0, 2), (1, 2)):
        share = float(np.mean(shown[one] == shown[other]))
        assert abs(share - (0.25 + 0.5 / 3 + 0.25 / 3)) < 4 * math.sqrt(0.25 / 5_000)


# ---------------------------------------------------------------------------------------------------------- the map


def test_every_row_of_the_source_names_an_existing_test() -> None:
    witnesses = json.loads((LEDGER / "witnesses.json").read_text("utf-8"))
    rows = list(csv.DictReader((LEDGER / "locally_private_inference.csv").read_text("utf-8").splitlines()))
    wanted = {row["id"] for row in rows if row["kind"] != "proof-only"}
    mapping = {row: node for row, node in witnesses.items() if row.startswith("L-")}
    assert set(mapping) == wanted
    assert len(wanted) == 106
    functions = {
        file: {
            item.name for item in ast.parse((ROOT / file).read_text("utf-8")).body if isinstance(item, ast.FunctionDef)
        }
        for file in {node.partition("::")[0] for node in mapping.values()}
    }
    here = Path(__file__).relative_to(ROOT).as_posix()
    for row, node in mapping.items():
        file, _, name = node.partition("::")
        assert name in functions[file], f"{row} has no test"
        if file == here:
            assert name == "test_" + row.replace("-", "_")
    own = {name for name in functions[here] if name.startswith("test_L_")}
    assert own == {name for file, _, name in (node.partition("::") for node in mapping.values()) if file == here}
