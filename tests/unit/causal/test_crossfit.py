"""The cross-fitted one-step: against other software without noise, against enumeration with it, and its refusals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.causal import _ordinary
from privexplorer.causal.bases import Hermite, Legendre, Linear, OneHot
from privexplorer.causal.continuous_laws import LAW_C
from privexplorer.causal.crossfit import (
    MomentLearners,
    OwnLearners,
    Regressions,
    RieszLearners,
    causal_target,
    cross_fit,
    cross_fit_all,
    default_basis,
    fold_labels,
    ladder,
    learners_named,
    median_of_folds,
    parts_of_representer,
)
from privexplorer.causal.laws import LAW_A
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    EmpiricalNoise,
    FiniteMechanism,
    GaussianNoise,
    LaplaceAddition,
    MixedNoise,
    RandomisedResponse,
    UniformNoise,
    uniform_levels,
)
from privexplorer.causal.targets import ATE, ATT, CausalTarget, MeanUnder, UntreatedMeanOfTreated
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

TARGETS = (ATE(), ATT(), MeanUnder(1), MeanUnder(0), UntreatedMeanOfTreated())
UNIFORM = UniformNoise(-1.0, 1.0)


def five_columns(n: int = 5000, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5))
    chance = 1 / (1 + np.exp(-x @ np.array([0.5, -0.3, 0.2, 0.0, 0.1])))
    d = (rng.random(n) < chance).astype(float)
    y = x.sum(axis=1) + d * (1 + x[:, 0]) + rng.normal(size=n)
    return y, d, x, fold_labels(n, 5, rng, d)


def law_c(n: int, seed: int, keep: float = 0.5) -> tuple[FloatArray, IntArray, FloatArray, AlphaIdentity]:
    rng = np.random.default_rng(seed)
    y, d, x = LAW_C.sample(n, rng)
    mechanism = AlphaIdentity(keep, UNIFORM)
    return y, d, np.asarray(mechanism.privatise(x, rng)), mechanism


# --- without noise -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "score"), [("ATE", "ATE"), ("ATT", "ATTE")])
def test_agrees_with_doubleml_on_the_same_folds(target: str, score: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import doubleml
    y, d, x, labels = five_columns()
    ours = cross_fit(y, d, x, None, target, fold_ids=labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = doubleml.DoubleMLIRM(
            doubleml.DoubleMLData.from_arrays(x, y, d),
            LinearRegression(),
            LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky", max_iter=200),
            n_folds=5,
            score=score,
            draw_sample_splitting=False,
        )
        model.set_sample_splitting([[(np.flatnonzero(labels != k), np.flatnonzero(labels == k)) for k in range(5)]])
        model.fit()
    assert ours.value == pytest.approx(float(model.coef[0]), rel=1e-9)
    assert ours.std_error == pytest.approx(float(model.se[0]), rel=1e-9)


def test_learners_of_ones_own_give_the_quick_path() -> None:
    y, d, x, labels = five_columns(1500)
    own = OwnLearners(LinearRegression(), LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky"))
    for target in TARGETS:
        quick = cross_fit(y, d, x, None, target, fold_ids=labels)
        slow = cross_fit(y, d, x, None, target, learners=own, fold_ids=labels)
        assert quick.value == pytest.approx(slow.value, rel=1e-9)
        assert quick.std_error == pytest.approx(slow.std_error, rel=1e-9)


def test_nuisances_are_those_of_statsmodels() -> None:
    import statsmodels.api as sm

    y, d, x, labels = five_columns(1200)
    found = cross_fit(y, d, x, None, "ATE", fold_ids=labels)
    design = sm.add_constant(x)
    for k in range(5):
        held, rest = labels == k, labels != k
        for arm in (0, 1):
            rows = rest & (d == arm)
            fitted = sm.OLS(y[rows], design[rows]).fit().predict(design[held])
            np.testing.assert_allclose(found.nuisances[f"mu{arm}"][held], fitted, rtol=1e-9, atol=1e-10)
        chance = sm.Logit(d[rest], design[rest]).fit(disp=0, tol=1e-12).predict(design[held])
        np.testing.assert_allclose(found.nuisances["propensity"][held], chance, rtol=1e-8)
    mu0, mu1, pi = (found.nuisances[name] for name in ("mu0", "mu1", "propensity"))
    score = mu1 - mu0 + d * (y - mu1) / pi - (1 - d) * (y - mu0) / (1 - pi)
    assert found.value == pytest.approx(float(score.mean()), rel=1e-12)


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
def test_keep_probability_one_is_the_ordinary_estimator(target: CausalTarget) -> None:
    y, d, x, _ = law_c(2000, 3, keep=1.0)
    labels = fold_labels(2000, 5, np.random.default_rng(0), d)
    with_mechanism = cross_fit(y, d, x, AlphaIdentity(1.0, UNIFORM), target, fold_ids=labels)
    without = cross_fit(y, d, x, None, target, fold_ids=labels)
    assert with_mechanism.value == pytest.approx(without.value, rel=1e-9)
    assert with_mechanism.std_error == pytest.approx(without.std_error, rel=1e-9)
    nearly = cross_fit(y, d, x, AlphaIdentity(1 - 1e-9, UNIFORM), target, fold_ids=labels, trim=0.01)
    assert nearly.value == pytest.approx(without.value, abs=0.02 * without.std_error)


def test_constant_columns_and_repeats_do_no_harm() -> None:
    y, d, x, labels = five_columns(1500)
    wide = np.column_stack([x, x[:, 0], np.full(1500, 7.0)])
    plain, repeated = (cross_fit(y, d, part, None, "ATE", fold_ids=labels) for part in (x, wide))
    assert repeated.value == pytest.approx(plain.value, rel=1e-7)


def test_separated_arms_are_said() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    d = (x > 0).astype(float)
    with pytest.raises(DataError, match="do not overlap"):
        cross_fit(x + d, d, x, rng=rng)
    found = cross_fit(x + d, d, x, rng=rng, refuse=False)
    assert "separated" in found.flags
    assert "little overlap" in found.flags


def test_no_praise_beside_a_warning() -> None:
    """Enough people for the noise do not help where the arms hardly overlap (section 3)."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 4000)
    d, channel = (x > 0).astype(float), AlphaIdentity(0.8, UniformNoise(-1.0, 1.0))
    found = cross_fit(x + rng.normal(size=4000), d, channel.privatise(x, rng), channel, rng=rng, refuse=False)
    assert found.guard is not None
    assert found.guard.level == "green"
    assert "little overlap" in found.flags
    assert not any("enough people" in note for note in found.notes)


def test_logistic_of_all_folds_solves_each_score() -> None:
    _, d, x, labels = five_columns(900)
    folds = _ordinary.Folds.of(labels, 5)
    design = np.column_stack([np.ones(900), x])[folds.order]
    coefficients, settled = _ordinary.logistic(design, d[folds.order], folds)
    assert settled.all()
    for k, part in enumerate(folds.slices()):
        rest = np.ones(900, dtype=bool)
        rest[part] = False
        chance = _ordinary.probabilities(design[rest], coefficients[k])
        score = (design[rest] * (d[folds.order][rest] - chance)[:, None]).sum(axis=0)
        assert np.abs(score).max() < 1e-8


# --- with noise --------------------------------------------------------------------------------------------------


def explicit(found: Any, y: FloatArray, d: IntArray, z: IntArray, W: FloatArray, target: CausalTarget) -> FloatArray:
    """Signed imputation, record by record: the score of (y, d, x) for every category x with weight W[x, z]."""
    scores = np.zeros(len(y))
    J = len(W)
    for k in np.unique(found.nuisances["fold_ids"]):
        held = np.flatnonzero(found.nuisances["fold_ids"] == k)
        table = {}
        for name in ("mu0", "mu1", "propensity"):
            values = found.nuisances[name][held]
            table[name] = np.array([values[z[held] == code][0] for code in range(J)])
        p1 = found.nuisances["p1"]
        a1, b1, a0, b0 = target.score_parts(table["propensity"], table["mu0"], table["mu1"], p1, 0.0)
        for i in held:
            h = a1 * y[i] + b1 if d[i] else a0 * y[i] + b0
            scores[i] = np.sum(W[:, z[i]] * h)
    return scores


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("skew", [False, True])
def test_categories_are_imputed_with_signed_weights(target: CausalTarget, skew: bool) -> None:
    """A matrix that is not symmetric tells W from its transpose."""
    rng = np.random.default_rng(5)
    y, d, x = LAW_A.sample(4000, rng)
    mechanism: Any = AlphaIdentity(0.7, uniform_levels(3))
    if skew:
        mechanism = FiniteMechanism(np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]))
    z = mechanism.privatise(x, rng)
    found = cross_fit(y, d, z, mechanism, target, rng=rng)
    scores = explicit(found, y, d, z, mechanism.finite().inverse, target)
    value = float(scores.mean())
    assert found.value == pytest.approx(value, rel=1e-10)
    centred = scores - value * (d / d.mean() if target.uses_treated_share else 1.0)
    assert found.std_error == pytest.approx(float(np.sqrt(np.mean(centred**2) / 4000)), rel=1e-10)


def test_randomised_response_is_the_mechanism_with_uniform_noise() -> None:
    rng = np.random.default_rng(1)
    y, d, x = LAW_A.sample(3000, rng)
    response = RandomisedResponse(3, 1.5)
    z = response.privatise(x, rng)
    labels = fold_labels(3000, 5, rng, d)
    same = AlphaIdentity(response.keep_probability, uniform_levels(3))
    matrix = FiniteMechanism(response.finite().matrix)
    values = [cross_fit(y, d, z, m, "ATE", fold_ids=labels).value for m in (response, same, matrix)]
    np.testing.assert_allclose(values, values[0], rtol=1e-9)


def test_shifting_the_outcome_shifts_means_and_no_effects() -> None:
    y, d, z, mechanism = law_c(3000, 4)
    labels = fold_labels(3000, 5, np.random.default_rng(0), d)
    for target, shift in ((ATE(), 0.0), (ATT(), 0.0), (MeanUnder(1), 5.0), (UntreatedMeanOfTreated(), 5.0)):
        before, after = (cross_fit(y + c, d, z, mechanism, target, fold_ids=labels).value for c in (0.0, 5.0))
        assert after - before == pytest.approx(shift, abs=1e-8)


def test_swapping_the_arms_turns_the_sign() -> None:
    y, d, z, mechanism = law_c(3000, 4)
    labels = fold_labels(3000, 5, np.random.default_rng(0), d)
    for learners in ("param", "riesz"):
        one, other = (
            cross_fit(y, t, z, mechanism, "ATE", learners=learners, fold_ids=labels).value for t in (d, 1 - d)
        )
        assert one == pytest.approx(-other, rel=1e-6)


def test_one_step_and_ratio_differ_by_less_than_a_tenth_of_an_error() -> None:
    y, d, z, mechanism = law_c(4000, 9)
    labels = np.random.default_rng(3).integers(5, size=4000)
    for target in ("ATT", "E[Y0|D=1]"):
        ratio = cross_fit(y, d, z, mechanism, target, fold_ids=labels)
        one_step = cross_fit(y, d, z, mechanism, target, fold_ids=labels, centring="one-step")
        strict = cross_fit(y, d, z, mechanism, target, fold_ids=labels, centring="one-step", strict=True)
        assert abs(ratio.value - one_step.value) < 0.1 * ratio.std_error
        assert ratio.value != one_step.value
        assert one_step.nuisances["e"] == pytest.approx(-ratio.value / ratio.nuisances["p1"], rel=0.3)
        assert strict.value != one_step.value
        assert abs(strict.value - one_step.value) < 2 * ratio.std_error


def test_parts_of_a_representer_agree_with_the_table_of_every_target() -> None:
    rng = np.random.default_rng(0)
    pi, mu0, mu1 = rng.uniform(0.2, 0.8, 7), rng.normal(size=7), rng.normal(size=7)
    for target in TARGETS:
        low, high = (target.representer(arm, pi, 0.4) for arm in (0, 1))
        parts = parts_of_representer(target, Regressions(mu0, mu1), low, high, 0.4, -0.7)
        for found, wanted in zip(parts, target.score_parts(pi, mu0, mu1, 0.4, -0.7), strict=True):
            np.testing.assert_allclose(found, wanted * np.ones(7), rtol=1e-12, atol=1e-12)


def test_riesz_and_propensity_agree_on_an_easy_law() -> None:
    y, d, z, mechanism = law_c(20_000, 2, keep=0.9)
    labels = fold_labels(20_000, 5, np.random.default_rng(0), d)
    for target in TARGETS:
        riesz = cross_fit(y, d, z, mechanism, target, learners="riesz", fold_ids=labels)
        moments = cross_fit(y, d, z, mechanism, target, learners="series", fold_ids=labels)
        assert abs(riesz.value - moments.value) < 0.5 * moments.std_error, target.name
        assert riesz.std_error == pytest.approx(moments.std_error, rel=0.1)
        assert 0 < riesz.nuisances["propensity"].min() < riesz.nuisances["propensity"].max() < 1


def test_public_columns_enter_and_their_scale_does_not_matter() -> None:
    rng = np.random.default_rng(8)
    n = 4000
    x, w = rng.uniform(-1, 1, n), rng.normal(size=(n, 2))
    d = (rng.random(n) < 1 / (1 + np.exp(-x - w[:, 0]))).astype(float)
    y = d + x + 2 * w[:, 0] + rng.normal(size=n)
    mechanism = AlphaIdentity(0.8, UNIFORM)
    z = mechanism.privatise(x, rng)
    labels = fold_labels(n, 5, rng, d)
    with_public = cross_fit(y, d, z, mechanism, "ATE", fold_ids=labels, w=w, naive=True)
    without = cross_fit(y, d, z, mechanism, "ATE", fold_ids=labels)
    assert with_public.covers(1.0)
    assert with_public.std_error < 0.1
    assert without.value > 1.5
    moved = cross_fit(y, d, z, mechanism, "ATE", fold_ids=labels, w=w @ np.array([[100.0, 1.0], [0.0, 2.0]]) + 3)
    assert moved.value == pytest.approx(with_public.value, rel=1e-6)
    assert with_public.naive is not None
    assert with_public.naive.value > with_public.value


def test_mixed_private_columns() -> None:
    rng = np.random.default_rng(12)
    n = 6000
    x = np.column_stack([rng.integers(0, 3, n).astype(float), rng.uniform(-1, 1, n)])
    lift = 0.4 * (x[:, 0] - 1) + x[:, 1]
    d = (rng.random(n) < 1 / (1 + np.exp(-lift))).astype(float)
    y = 2 * d + x[:, 0] + x[:, 1] + rng.normal(size=n)
    mechanism = AlphaIdentity(0.7, MixedNoise((uniform_levels(3), UNIFORM)))
    z = mechanism.privatise(x, rng)
    found = cross_fit(y, d, z, mechanism, "ATE", rng=rng, naive=True)
    assert found.covers(2.0)
    assert found.std_error < 0.15
    assert found.naive is not None
    assert not found.naive.covers(2.0)
    assert found.nuisances["basis_size"] == 4


def test_ladder_shares_noise_and_folds() -> None:
    rng = np.random.default_rng(0)
    y, d, x = LAW_C.sample(4000, rng)
    rungs = ladder(y, d, x, UNIFORM, [0.02, 0.3, 0.300001, 1.0], np.random.default_rng(5))
    assert rungs[0].estimate is None
    assert "too many for" in rungs[0].sentence
    one, other, last = (rung.estimate for rung in rungs[1:])
    assert one is not None
    assert other is not None
    assert last is not None
    assert one.value == pytest.approx(other.value, abs=1e-3)
    assert one.std_error > 3 * last.std_error


def test_median_of_folds() -> None:
    y, d, z, mechanism = law_c(2000, 6)
    parts = [cross_fit(y, d, z, mechanism, rng=np.random.default_rng(s)) for s in range(3)]
    found = median_of_folds(parts)
    values = np.array([part.value for part in parts])
    assert found.value == np.median(values)
    wanted = np.median([p.std_error**2 + (p.value - found.value) ** 2 for p in parts])
    assert found.std_error == pytest.approx(np.sqrt(wanted))
    with pytest.raises(ParameterError, match="at least one"):
        median_of_folds([])


def test_guard_uses_coefficients_or_the_smallest_cell() -> None:
    y, d, z, mechanism = law_c(3000, 1)
    numeric = cross_fit(y, d, z, mechanism, rng=np.random.default_rng(0))
    assert numeric.guard is not None
    assert numeric.guard.kappa == pytest.approx(3000 * 0.25 / 20)
    rng = np.random.default_rng(2)
    y, d, x = LAW_A.sample(30_000, rng)
    channel = AlphaIdentity(0.5, uniform_levels(3))
    coded = cross_fit(y, d, channel.privatise(x, rng), channel, rng=rng)
    assert coded.guard is not None
    assert coded.guard.kappa == pytest.approx(30_000 * 0.25 * LAW_A.p_dx.min(), rel=0.2)


def test_refused_interval_keeps_the_value() -> None:
    y, d, z, mechanism = law_c(3000, 1, keep=0.2)
    found = cross_fit(y, d, z, mechanism, rng=np.random.default_rng(0), refuse=False)
    assert found.guard is not None
    assert found.guard.level == "refused"
    assert not found.has_interval
    assert np.isfinite(found.value)


# --- settings ----------------------------------------------------------------------------------------------------


def test_default_bases_follow_the_public_noise() -> None:
    assert default_basis(AlphaIdentity(0.5, UNIFORM), 3) == Legendre(-1.0, 1.0, 3, "plain")
    assert default_basis(AlphaIdentity(0.5, uniform_levels(4)), 3) == OneHot(4)
    assert default_basis(AlphaIdentity(0.5, GaussianNoise(1.0, 2.0)), 2) == Hermite(2, 1.0, 2.0)
    assert default_basis(None, 2, 3) == Linear(3)
    reference = EmpiricalNoise(np.random.default_rng(0).normal(2.0, 3.0, (50, 2)))
    assert default_basis(AlphaIdentity(0.5, reference), 2).size == 3
    assert learners_named("riesz") == RieszLearners(size=3)
    assert learners_named("linear", 2) == MomentLearners(Linear(2), Linear(2))


def test_folds_are_even_within_strata() -> None:
    strata = np.repeat([0, 1], [37, 13])
    labels = fold_labels(50, 5, np.random.default_rng(0), strata)
    sizes = np.array([np.bincount(labels[strata == s], minlength=5) for s in (0, 1)])
    assert np.ptp(sizes, axis=1).max() <= 1
    assert np.bincount(labels).tolist() == [10] * 5


BAD: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("text outcome", {"y": ["a"] * 100}, DataError, "must be numeric"),
    ("gap", {"y": [np.nan] + [0.0] * 99}, DataError, "1 records have no finite value"),
    ("three arms", {"d": np.arange(100) % 3}, DataError, "exactly two values, 0 and 1; it has 0, 1, 2"),
    ("no treated", {"d": np.zeros(100)}, DataError, "no treated units"),
    ("no controls", {"d": np.ones(100)}, DataError, "no control units"),
    ("lengths", {"z": np.zeros(99)}, DataError, "100 outcomes, but 99 private values"),
    ("gap in x", {"z": np.full(100, np.inf)}, DataError, "missing or infinite"),
    ("one fold", {"folds": 1}, ParameterError, "between 2 folds"),
    ("one label", {"fold_ids": np.zeros(100)}, ParameterError, "at least 2 folds"),
    ("fold labels", {"fold_ids": np.zeros(7)}, DataError, "7 fold labels"),
    ("trim", {"trim": 0.5}, ParameterError, "below 0.5; it is 0.5"),
    ("learners", {"learners": "forest"}, ParameterError, "this says 'forest'"),
    ("target", {"target": "median"}, ParameterError, "their own estimators"),
    ("level", {"level": 1.0}, ParameterError, "strictly between 0 and 1"),
    ("basis", {"mechanism": AlphaIdentity(0.4, UNIFORM)}, ParameterError, "2 basis functions are too many for 100"),
    ("laplace", {"mechanism": LaplaceAddition(1.0)}, UnsupportedCombination, "twice differentiable"),
    (
        "own learners under noise",
        {"mechanism": AlphaIdentity(0.9, UNIFORM), "learners": OwnLearners(LinearRegression(), LogisticRegression())},
        UnsupportedCombination,
        "keep probability 1",
    ),
]


@pytest.mark.parametrize(("change", "error", "words"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_input_is_one_sentence(change: dict[str, Any], error: type[Exception], words: str) -> None:
    rng = np.random.default_rng(0)
    settings: dict[str, Any] = {"y": rng.normal(size=100), "d": np.arange(100) % 2, "z": rng.uniform(-1, 1, 100)}
    settings |= change
    with pytest.raises(error, match=words) as caught:
        cross_fit(settings.pop("y"), settings.pop("d"), settings.pop("z"), rng=rng, **settings)
    assert str(caught.value).endswith(".")


def test_an_arm_within_one_fold_is_refused() -> None:
    d = np.zeros(50)
    d[:3] = 1
    labels = np.repeat(np.arange(5), 10)
    with pytest.raises(DataError, match="no treated units outside one of the folds"):
        cross_fit(np.arange(50.0), d, np.linspace(-1, 1, 50), fold_ids=labels)


def test_names_of_targets() -> None:
    assert [causal_target(t).name for t in ("ATE", "ate", "E[Y0|D=1]")] == ["ate", "ate", "untreated-mean-of-treated"]
    assert causal_target("E[Y0]") == MeanUnder(0)


@pytest.mark.parametrize("learners", ["param", "riesz"])
@pytest.mark.parametrize("keep", [0.6, 1.0])
def test_several_targets_at_once_are_the_same_numbers(learners: str, keep: float) -> None:
    y, d, z, mechanism = law_c(2500, 7, keep=keep)
    labels = fold_labels(2500, 5, np.random.default_rng(0), d)
    together = cross_fit_all(y, d, z, mechanism, TARGETS, learners=learners, fold_ids=labels)
    for target, found in zip(TARGETS, together, strict=True):
        alone = cross_fit(y, d, z, mechanism, target, learners=learners, fold_ids=labels)
        assert (found.target, found.value, found.std_error) == (target.name, alone.value, alone.std_error)
