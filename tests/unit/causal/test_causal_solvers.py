"""Private least squares, logistic moments, representers and covariances against the ordinary ones and against sums."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import statsmodels.api as sm

from privexplorer.causal import moments as pm
from privexplorer.causal.bases import Additive, Hermite, Legendre, Linear, OneHot, Product
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    GaussianAddition,
    GaussianNoise,
    LaplaceAddition,
    MixedNoise,
    UniformNoise,
    uniform_levels,
)
from privexplorer.errors import ConvergenceError, DataError, ParameterError, UnsupportedCombination

ASYMMETRIC = FiniteMechanism(np.array([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]))
NO_NOISE = AlphaIdentity(1.0, UniformNoise(-1, 1))


def records(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = 2 * rng.beta(2, 2, n) - 1
    d = (rng.random(n) < 1 / (1 + np.exp(-0.3 - x))).astype(float)
    return 1 + x + d + rng.standard_normal(n), d, x


# ---------------------------------------------------------------- the design against plain sums


@pytest.mark.parametrize("public", [None, False, True])
@pytest.mark.parametrize("kind", ["identity", "matrix"])
def test_design_is_the_ordinary_one_on_augmented_records(public, kind: str) -> None:
    rng = np.random.default_rng(1)
    n, basis = 7, OneHot(3)
    z = rng.integers(0, 3, n)
    mechanism = ASYMMETRIC if kind == "matrix" else AlphaIdentity(0.4, uniform_levels(3))
    w = rng.standard_normal((n, 2))
    design = pm.private_design(mechanism, z, basis, public=None if public is None else w, interactions=bool(public))
    inverse = np.linalg.inv((mechanism if kind == "matrix" else mechanism.finite()).matrix)
    y, table = rng.standard_normal(n), rng.standard_normal((n, 3))
    gram, moment, score = np.zeros((design.size,) * 2), np.zeros(design.size), np.zeros(n)
    for i, x in itertools.product(range(n), range(3)):
        one = np.eye(3)[x]
        row = one if public is None else np.r_[one, w[i]] if not public else np.r_[one, w[i, 0] * one, w[i, 1] * one]
        weight = inverse[x, z[i]]
        gram += weight * y[i] * table[i, x] * np.outer(row, row) / n
        moment += weight * y[i] * table[i, x] * row / n
        score[i] += weight * table[i, x]
    here = table[np.arange(n), z]
    np.testing.assert_allclose(design.moment(y, here, table), moment, atol=1e-12)
    np.testing.assert_allclose(design.invert(here, table), score, atol=1e-12)
    np.testing.assert_allclose(design.gram(y, here, table), gram, atol=1e-12)
    np.testing.assert_allclose(design.gram(y), design.gram(y, np.ones(n), np.ones((n, 3))), atol=1e-12)


def test_folds_are_the_design_of_their_records() -> None:
    y, _, x = records(60)
    mechanism = AlphaIdentity(0.6, UniformNoise(-1, 1))
    whole = pm.private_design(mechanism, x, Legendre(-1, 1, 3), public=y, interactions=True)
    rows = np.arange(60) % 3 == 1
    part = pm.private_design(mechanism, x[rows], Legendre(-1, 1, 3), public=y[rows], interactions=True)
    np.testing.assert_allclose(whole.take(rows).gram(), part.gram(), rtol=1e-13)
    np.testing.assert_allclose(whole.take(np.flatnonzero(rows)).moment(), part.moment(), rtol=1e-13)


def test_functions_of_the_public_part_are_left_alone() -> None:
    y, _, x = records(50)
    for mechanism in (AlphaIdentity(0.3, UniformNoise(-1, 1)), NO_NOISE):
        design = pm.private_design(mechanism, x, Legendre(-1, 1, 3), public=y)
        assert design.gram()[0, 0] == pytest.approx(1, abs=1e-13)
        assert design.gram()[0, 3] == pytest.approx(y.mean(), abs=1e-13)
        assert design.gram()[3, 3] == pytest.approx((y**2).mean(), abs=1e-12)
        assert design.mean_functions(design.values, design.node_values) == pytest.approx(
            [*pm.private_design(mechanism, x, Legendre(-1, 1, 3)).moment().tolist(), 1.0]
        )


def test_population_is_recovered_through_the_mechanism() -> None:
    """Change of measure (22): with the law of Z on a fine grid the private Gram is the Gram under the law of X."""
    grid = np.linspace(-1, 1, 20_001)
    p_x = 0.75 * (1 - grid**2)
    p_z = 0.3 * p_x + 0.7 * 0.5
    basis = Legendre(-1, 1, 4)
    private = pm.private_design(AlphaIdentity(0.3, UniformNoise(-1, 1)), grid, basis, shares=p_z)
    plain = pm.private_design(NO_NOISE, grid, basis, shares=p_x)
    np.testing.assert_allclose(private.gram(), plain.gram(), atol=2e-3)
    assert np.abs(plain.gram() - np.eye(4)).max() > 0.1


# ---------------------------------------------------------------- keep probability 1


@pytest.mark.parametrize("columns", [1, 4])
def test_linear_moments_without_noise_are_least_squares_with_hc0(columns: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((500, columns)) * 10.0 ** np.arange(columns)
    y = x.sum(axis=1) * rng.standard_normal(500) + 2
    noise = MixedNoise(tuple(GaussianNoise() for _ in range(columns)))
    ours = pm.private_moments(pm.private_design(AlphaIdentity(1.0, noise), x, Linear(columns)), y)
    theirs = sm.OLS(y, sm.add_constant(x)).fit(cov_type="HC0")
    np.testing.assert_allclose(ours.coefficients, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.intervals(0.9), theirs.conf_int(0.1), rtol=1e-8)
    assert ours.flags == ()
    value, std_error = ours.combination(np.r_[1.0, x[0]])
    assert value == pytest.approx(theirs.fittedvalues[0])
    assert std_error == pytest.approx(theirs.get_prediction(np.r_[1.0, x[0]]).se_mean[0])


def test_logistic_moments_without_noise_are_maximum_likelihood_with_hc0() -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((800, 3)) * [1, 5, 0.2]
    d = (rng.random(800) < 1 / (1 + np.exp(-0.4 - x[:, 0] + 0.3 * x[:, 1]))).astype(float)
    noise = MixedNoise((GaussianNoise(), GaussianNoise(), GaussianNoise()))
    ours = pm.private_moments(pm.private_design(AlphaIdentity(1.0, noise), x, Linear(3)), d, "logistic")
    theirs = sm.Logit(d, sm.add_constant(x)).fit(cov_type="HC0", disp=0, tol=1e-14)
    np.testing.assert_allclose(ours.coefficients, theirs.params, rtol=1e-8)
    np.testing.assert_allclose(ours.covariance, theirs.cov_params(), rtol=1e-8, atol=1e-12)


def test_public_columns_and_arms_without_noise_are_ordinary_regressions() -> None:
    y, d, x = records()
    w = np.random.default_rng(4).standard_normal((len(x), 2))
    design = pm.private_design(NO_NOISE, x, Linear(), public=w)
    control, treated = pm.arm_regressions(design, y, d)
    full = sm.add_constant(np.column_stack([x, w]))
    for fit, arm in ((control, 0), (treated, 1)):
        theirs = sm.OLS(y[d == arm], full[d == arm]).fit()
        np.testing.assert_allclose(fit.coefficients, theirs.params, rtol=1e-9)
        np.testing.assert_allclose(fit.at_records(design), theirs.predict(full), rtol=1e-9)
        assert math.isinf(fit.low)
    theirs = sm.OLS(y, full).fit(cov_type="HC0")
    np.testing.assert_allclose(pm.private_moments(design, y).covariance, theirs.cov_params(), rtol=1e-8)
    subgroup = pm.private_moments(design, y, factor=d)
    np.testing.assert_allclose(
        subgroup.covariance, sm.OLS(y[d == 1], full[d == 1]).fit(cov_type="HC0").cov_params(), rtol=1e-8
    )


# ---------------------------------------------------------------- the two forms of one mechanism


def test_matrix_and_identity_form_agree() -> None:
    y, d, _ = records(600)
    rng = np.random.default_rng(5)
    mechanism = AlphaIdentity(0.7, uniform_levels(3))
    z = mechanism.privatise(rng.integers(0, 3, 600), rng)
    for public in (None, y):
        one = pm.private_design(mechanism, z, OneHot(3), public=public, interactions=True)
        other = pm.private_design(mechanism.finite(), z, OneHot(3), public=public, interactions=True)
        for model, response in (("linear", y + z), ("logistic", d)):
            a, b = (pm.private_moments(design, response, model) for design in (one, other))
            np.testing.assert_allclose(a.coefficients, b.coefficients, rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(a.covariance, b.covariance, rtol=1e-7, atol=1e-12)
    assert one.keep_probability == pytest.approx(other.keep_probability)


def test_a_finite_mechanism_with_one_hot_functions_unmixes_the_table() -> None:
    """A matrix that is not symmetric: the mean of each category is the ratio of the unmixed sums (spec 2.3)."""
    rng = np.random.default_rng(6)
    x = rng.integers(0, 3, 3000)
    z, y = ASYMMETRIC.privatise(x, rng), np.array([1.0, 3.0, 7.0])[x] + rng.standard_normal(3000)
    fit = pm.private_moments(pm.private_design(ASYMMETRIC, z, OneHot(3)), y)
    inverse = np.linalg.inv(ASYMMETRIC.matrix)
    sums = inverse @ np.bincount(z, y, 3)
    counts = inverse @ np.bincount(z, minlength=3)
    np.testing.assert_allclose(fit.coefficients, sums / counts, rtol=1e-10)
    assert np.abs(fit.coefficients - [1, 3, 7]).max() < 0.3


# ---------------------------------------------------------------- solvers


def test_small_eigenvalues_are_raised_to_the_floor() -> None:
    gram = np.diag([2.0, 1.0, -0.4])
    solution, raised = pm.stabilised_solve(gram, np.array([2.0, 3.0, 1.0]), 0.1)
    np.testing.assert_allclose(solution, [1.0, 3.0, 1 / (0.1 * 2.6 / 3)])
    assert raised == 1
    exact, none = pm.stabilised_solve(gram, np.array([2.0, 3.0, 1.0]), 0.0)
    np.testing.assert_allclose(exact, [1, 3, -2.5])
    assert none == 0
    with pytest.raises(DataError, match="depend on one another"):
        pm.stabilised_solve(np.ones((2, 2)), np.ones(2), 0.0)
    with pytest.raises(DataError, match="is 0 in this sample"):
        pm.stabilised_solve(np.diag([1.0, 0.0]), np.ones(2), 0.0)
    with pytest.raises(DataError, match="are 0"):
        pm.stabilised_solve(np.zeros((2, 2)), np.ones(2), 0.1)


def test_rules_of_thumb() -> None:
    assert pm.relative_floor(3000, 0.2) == pytest.approx(0.5 / (0.2 * math.sqrt(3000)))
    assert pm.relative_floor(10**8, 0.9) == 1e-3
    assert pm.relative_floor(100, 1.0) == 0
    assert pm.propensity_trim(3000, 0.2) == pytest.approx(0.0912870929)
    assert pm.propensity_trim(100, 0.2) == 0.1
    assert pm.propensity_trim(10**6, 0.5) == 0.02
    assert [pm.recommended_size(n, 0.5) for n in (100, 12_000, 10**6)] == [2, 3, 8]
    pm.check_basis_size(3, 120, 0.5)
    with pytest.raises(ParameterError, match=r"4 basis functions are too many for 120 records .* use at most 3"):
        pm.check_basis_size(4, 120, 0.5)


def test_fits_are_clipped_to_what_was_observed() -> None:
    y, _, x = records(100)
    design = pm.private_design(AlphaIdentity(0.3, UniformNoise(-1, 1)), x, Legendre(-1, 1, 3))
    fit = pm.private_least_squares(design, y)
    assert (fit.low, fit.high) == (y.min(), y.max())
    assert fit.at_nodes(design).max() <= y.max()
    assert fit.at_records(design).min() >= y.min()
    wide = pm.private_least_squares(design, y, clip=None)
    np.testing.assert_allclose(wide.at(Legendre(-1, 1, 3), x), design.predict(wide.coefficients))
    assert pm.private_least_squares(design, y, clip=(0.0, 1.0)).at_records(design).max() <= 1


def test_arm_fits_floor_by_the_arm_and_clip_by_all_outcomes() -> None:
    y, d, x = records(3000)
    mechanism = AlphaIdentity(0.2, UniformNoise(-1, 1))
    z = mechanism.privatise(x, np.random.default_rng(7))
    design = pm.private_design(mechanism, z, Legendre(-1, 1, 3))
    control, treated = pm.arm_regressions(design, y, d)
    assert (control.low, treated.high) == (y.min(), y.max())
    gram, right = design.gram(d), design.moment(d * y)
    np.testing.assert_allclose(treated.coefficients, pm.stabilised_solve(gram, right, design.relative_floor)[0])


def test_logistic_moments_hold_at_the_solution_under_noise() -> None:
    _, d, x = records(4000)
    mechanism = AlphaIdentity(0.5, UniformNoise(-1, 1))
    z = mechanism.privatise(x, np.random.default_rng(8))
    design = pm.private_design(mechanism, z, Legendre(-1, 1, 2))
    fit = pm.private_logistic(design, d)
    assert fit.is_reliable
    pi, nodes = fit.at_records(design), fit.at_nodes(design)
    points, weights = mechanism.nodes()
    basis = Legendre(-1, 1, 2)
    noise = d.mean() * (weights @ basis.evaluate(points)) - weights @ (nodes[:, None] * basis.evaluate(points))
    by_hand = 2 * ((d - pi)[:, None] * basis.evaluate(z)).mean(axis=0) - noise
    np.testing.assert_allclose(by_hand, 0, atol=1e-11)
    assert fit.at_records(design, 0.4).min() >= 0.4


def test_a_logistic_fit_that_cannot_be_trusted_says_so() -> None:
    rng = np.random.default_rng(9)
    d = np.r_[np.ones(30), np.zeros(30)]
    design = pm.private_design(AlphaIdentity(0.05, UniformNoise(-1, 1)), rng.uniform(-1, 1, 60), Legendre(-1, 1, 6))
    fit = pm.private_logistic(design, d)
    assert not fit.is_reliable
    assert np.abs(fit.coefficients).max() <= 8
    assert "do not trust" in pm.private_moments(design, d, "logistic").flags[0]


def test_unstable_linear_moments_are_flagged() -> None:
    y, _, _ = records(100)
    z = np.random.default_rng(10).uniform(-1, 1, 100)
    estimate = pm.private_moments(pm.private_design(AlphaIdentity(0.1, UniformNoise(-1, 1)), z, Legendre(-1, 1, 3)), y)
    assert "unstable" in estimate.flags[0]


# ---------------------------------------------------------------- representers


def test_riesz_regression_finds_the_known_representers_of_a_finite_law() -> None:
    """With one function per category the representers are exact: 1/π, -1/(1-π), odds/p₁ (spec 1.3)."""
    rng = np.random.default_rng(11)
    x = rng.integers(0, 3, 5000)
    d = (rng.random(5000) < np.array([0.3, 0.5, 0.8])[x]).astype(float)
    design = pm.private_design(AlphaIdentity(1.0, uniform_levels(3)), x, OneHot(3))
    pi, p1 = np.bincount(x, d) / np.bincount(x), d.mean()
    expected = {
        "ATE": (-1 / (1 - pi), 1 / pi),
        "E[Y1]": (0 * pi, 1 / pi),
        "E[Y0]": (1 / (1 - pi), 0 * pi),
        "E[Y0|D=1]": (pi / (1 - pi) / p1, 0 * pi),
        "ATT": (-pi / (1 - pi) / p1, 0 * pi + 1 / p1),
    }
    for target, (r0, r1) in expected.items():
        control, treated = pm.riesz_by_arm(design, d, target, 0.05)  # type: ignore[arg-type]
        np.testing.assert_allclose(control.coefficients, r0, rtol=1e-10)
        np.testing.assert_allclose(treated.coefficients, r1, rtol=1e-10)
        np.testing.assert_allclose(control.at(OneHot(3), [0, 1, 2]), r0, rtol=1e-10)
        np.testing.assert_allclose(treated.at(OneHot(3), [0, 1, 2]), r1, rtol=1e-10)
    clipped, _ = pm.riesz_by_arm(design, d, "ATE", 0.45)
    assert clipped.at(OneHot(3), [2])[0] == pytest.approx(-1 / 0.45)


def test_riesz_regression_through_noise_tends_to_the_same() -> None:
    _, d, x = records(100_000)
    mechanism = AlphaIdentity(0.7, UniformNoise(-1, 1))
    z = mechanism.privatise(x, np.random.default_rng(12))
    basis = Legendre(-1, 1, 4)
    private = pm.riesz_by_arm(pm.private_design(mechanism, z, basis), d, "ATE", 0.02)
    plain = pm.riesz_by_arm(pm.private_design(NO_NOISE, x, basis), d, "ATE", 0.02)
    grid = np.linspace(-0.8, 0.8, 9)
    for a, b in zip(private, plain, strict=True):
        np.testing.assert_allclose(a.at(basis, grid), b.at(basis, grid), rtol=0.1)


def test_average_derivative_target_needs_no_density() -> None:
    """Hermite functions, X normal: the representer of the step-ε slope has coefficients E (b_k(x + ε) - b_k(x))/ε."""
    rng = np.random.default_rng(13)
    x, step, basis = rng.standard_normal(200_000), 0.5, Hermite(3)
    design = pm.private_design(AlphaIdentity(1.0, GaussianNoise()), x, basis)
    target = design.mean_functions((basis.evaluate(x + step) - basis.evaluate(x)) / step, np.zeros((0, 3)))
    fit = pm.riesz_regression(design, target)
    np.testing.assert_allclose(fit.coefficients, [0, 1, step / math.sqrt(2)], atol=0.02)  # step^(k-1)/√k!


@pytest.mark.parametrize("keep", [0.5, 1.0])
def test_exponential_representer_does_not_depend_on_the_fixed_share(keep: float) -> None:
    _, d, x = records(4000)
    mechanism = AlphaIdentity(keep, UniformNoise(-1, 1))
    design = pm.private_design(mechanism, mechanism.privatise(x, np.random.default_rng(14)), Legendre(-1, 1, 2))
    fits = [pm.exponential_representer(design, d, share) for share in (0.2, 0.5, 1.0)]
    fits.append(pm.exponential_representer(design, d, 0.5, start=np.array([0.5, 0.2])))
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.coefficients, fits[0].coefficients, atol=1e-8)
    odds = np.exp(design.predict(fits[0].coefficients))
    nodes = np.exp(design.predict_nodes(fits[0].coefficients))
    gradient = design.moment(1 - d, odds**2, nodes**2) - design.moment(d, odds, nodes)
    np.testing.assert_allclose(gradient, 0, atol=1e-10)


def test_exponential_representer_refuses_what_it_cannot_do() -> None:
    _, d, x = records(200)
    design = pm.private_design(NO_NOISE, x, Legendre(-1, 1, 2))
    with pytest.raises(ParameterError, match="fixed share must be above 0; it is 0"):
        pm.exponential_representer(design, d, 0.0)
    rng = np.random.default_rng(15)
    poor = pm.private_design(AlphaIdentity(0.05, UniformNoise(-1, 1)), rng.uniform(-1, 1, 40), Legendre(-1, 1, 4))
    with pytest.raises(ConvergenceError, match="no minimum"):
        pm.exponential_representer(poor, np.arange(40) % 2, 0.5)


# ---------------------------------------------------------------- choice of the basis


def test_cross_validation_prefers_the_smallest_basis_that_will_do() -> None:
    rng = np.random.default_rng(16)
    x = rng.uniform(-1, 1, 6000)
    mechanism = AlphaIdentity(0.8, UniformNoise(-1, 1))
    z = mechanism.privatise(x, rng)
    for mu, size in ((2 * x, 2), (2 * x + 3 * x**2, 3)):
        y = mu + 0.5 * rng.standard_normal(6000)
        chosen = pm.choose_basis_size(mechanism, z, y, lambda k: Legendre(-1, 1, k), (1, 2, 3, 4, 5), rng)
        assert chosen == size


def test_private_loss_is_unbiased_for_the_loss_without_noise() -> None:
    y, _, x = records(50_000)
    fit = pm.LinearFit(np.array([1.0, 0.2]))
    basis = Legendre(-1, 1, 2)
    plain = pm.private_loss(pm.private_design(NO_NOISE, x, basis), y, fit)
    np.testing.assert_allclose(plain, (y - fit.at(basis, x)) ** 2)
    mechanism = AlphaIdentity(0.5, UniformNoise(-1, 1))
    noisy = pm.private_loss(
        pm.private_design(mechanism, mechanism.privatise(x, np.random.default_rng(17)), basis), y, fit
    )
    assert abs((noisy - plain).mean()) < 3 * (noisy - plain).std() / math.sqrt(50_000)


# ---------------------------------------------------------------- refusals


def test_data_that_cannot_be_used_is_refused() -> None:
    y, d, x = records(20)
    basis = Legendre(-1, 1, 2)
    design = pm.private_design(NO_NOISE, x, basis)
    for make, words in (
        (lambda: pm.private_design(NO_NOISE, np.zeros(0), basis), "no records"),
        (lambda: pm.private_design(NO_NOISE, np.array([0.1, np.nan]), basis), "missing or infinite"),
        (lambda: pm.private_design(NO_NOISE, x, basis, public=np.full(20, np.inf)), "public column has missing"),
        (lambda: pm.private_design(NO_NOISE, x, basis, public=np.ones(19)), "but 19 rows of public"),
        (lambda: pm.private_design(NO_NOISE, x, basis, shares=np.zeros(20)), "sum above 0"),
        (lambda: pm.private_least_squares(design, y[:5]), "but the outcome has 5"),
        (lambda: pm.private_least_squares(design, y * np.nan), "outcome has missing"),
        (lambda: pm.private_least_squares(design, y, factor=0 * d), "No record is left"),
        (lambda: pm.private_logistic(design, 0 * d), "no treated units"),
        (lambda: pm.private_logistic(design, 0 * d + 1), "no control units"),
        (lambda: pm.private_logistic(design, d + 1), "exactly two values, 0 and 1; it has 1, 2"),
    ):
        with pytest.raises(DataError, match=words):
            make()
    with pytest.raises(ParameterError, match="linear or logistic; it is probit"):
        pm.private_moments(design, y, "probit")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"below 0\.5; it is 0\.5"):
        pm.riesz_by_arm(design, d, "ATE", 0.5)
    with pytest.raises(ParameterError, match="target LATE"):
        pm.riesz_by_arm(design, d, "LATE", 0.1)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedCombination, match="Added noise"):
        pm.private_design(LaplaceAddition(0.5), x, basis)


def test_mixed_columns_go_through_products_and_sums() -> None:
    rng = np.random.default_rng(18)
    n = 40_000
    x = np.column_stack([rng.uniform(-1, 1, n), rng.integers(0, 2, n)])
    y = 1 + 2 * x[:, 0] - x[:, 1] + 3 * x[:, 0] * x[:, 1] + rng.standard_normal(n)
    mechanism = AlphaIdentity(0.7, MixedNoise((UniformNoise(-1, 1), uniform_levels(2))))
    z = mechanism.privatise(x, rng)
    parts = (Legendre(-1, 1, 2), OneHot(2))
    full = pm.private_moments(pm.private_design(mechanism, z, Product(parts)), y)
    s = math.sqrt(3)
    truth = np.array([1, 0, 2 / s, 5 / s])
    assert (np.abs(full.coefficients - truth) < 4 * full.std_error).all()
    assert full.std_error.max() < 0.1
    small = pm.private_design(mechanism, z, Additive(parts))
    assert small.names == ("1", "x1:P1", "x2:[1]")


# ---------------------------------------------------------------- added noise


@pytest.mark.parametrize("mechanism", [LaplaceAddition(0.5), GaussianAddition(0.6)])
@pytest.mark.parametrize("basis", [Linear(), Legendre(-2, 2, 3), Hermite(3)])
def test_polynomials_are_fitted_through_added_noise(mechanism, basis) -> None:
    rng = np.random.default_rng(19)
    n = 40_000
    x = rng.standard_normal(n)
    y = 1 + 2 * x + (basis.size - 2) * 0.7 * x**2 + rng.standard_normal(n)
    z = mechanism.privatise(x, rng)
    fit = pm.added_noise_moments(mechanism, z, y, basis)
    at = np.array([-1.0, 0.3, 1.2])
    truth = 1 + 2 * at + (basis.size - 2) * 0.7 * at**2
    for row, value in zip(basis.evaluate(at), truth, strict=True):
        found, std_error = fit.combination(row)
        assert abs(found - value) < 3.5 * std_error
        assert std_error < 0.06
    naive = np.polynomial.Polynomial.fit(z, y, basis.size - 1)(at)
    assert np.abs(naive - truth).max() > 0.3
    assert fit.flags == ()


def test_added_noise_of_a_straight_line_is_the_classical_correction() -> None:
    """The slope is Cov(z, y)/(Var z - noise variance), whatever the law of the noise."""
    rng = np.random.default_rng(20)
    x = rng.standard_normal(500)
    y = 2 * x + rng.standard_normal(500)
    for mechanism, variance in ((LaplaceAddition(0.5), 0.5), (GaussianAddition(0.5), 0.25)):
        z = mechanism.privatise(x, rng)
        slope = pm.added_noise_moments(mechanism, z, y, Linear()).coefficients[1]
        assert slope == pytest.approx(np.cov(z, y, bias=True)[0, 1] / (z.var() - variance))
    assert "unstable" in pm.added_noise_moments(GaussianAddition(5.0), z, y, Linear()).flags[0]
    with pytest.raises(DataError, match="one column"):
        pm.added_noise_moments(LaplaceAddition(0.5), np.zeros((2, 2)), np.zeros(2), Linear())
    with pytest.raises(ParameterError, match="one column at a time"):
        pm.added_noise_moments(LaplaceAddition([0.5, 0.5]), z, y, Linear())


# ---------------------------------------------------------------- notes on the source


def test_slope_variance_grows_like_the_square() -> None:
    keep = np.array([1.0, 0.5, 1e-6])
    values = pm.linear_slope_variance(2.0, 1.0, 1.0, keep)
    np.testing.assert_allclose(values[:2], [1, 32])
    assert values[2] * keep[2] ** 2 == pytest.approx(13, rel=1e-5)
