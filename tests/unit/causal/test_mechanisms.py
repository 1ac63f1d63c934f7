from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    EmpiricalNoise,
    FiniteMechanism,
    FiniteNoise,
    GaussianAddition,
    GaussianNoise,
    LaplaceAddition,
    MixedNoise,
    RandomisedResponse,
    UniformNoise,
    epsilon_for_keep_probability,
    keep_probability_for_epsilon,
    kernel_eigenvalues,
    kernel_matrix,
    kernel_singular_values,
    laplace_hilbert_schmidt,
    ldp_delta_of_ltv,
    ltv_of_ldp,
    mixed_noise,
    posterior,
    posterior_kept,
    posterior_true,
    uniform_levels,
)
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

SKEW = [[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]]


def random_matrix(rng: np.random.Generator, levels: int) -> np.ndarray:
    return rng.dirichlet(np.ones(levels), size=levels).T


# --- noise laws -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("noise", "mean", "square"),
    [
        (UniformNoise(-1.0, 3.0), 1.0, 1.0 + 16 / 12),
        (GaussianNoise(0.5, 2.0), 0.5, 4.25),
        (EmpiricalNoise([1.0, 2.0, 6.0]), 3.0, 41 / 3),
        (FiniteNoise([0.2, 0.5, 0.3]), 1.1, 1.7),
    ],
)
def test_nodes_draws_and_density_agree(noise: object, mean: float, square: float) -> None:
    weights = noise.nodes()[1]
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert float(noise.mean_of(lambda x: x)) == pytest.approx(mean, rel=1e-12)
    assert noise.mean_of(lambda x: np.stack([x, x**2], axis=-1)) == pytest.approx([mean, square], rel=1e-12)
    draws = noise.sample(20_000, np.random.default_rng(1))
    spread = math.sqrt(square - mean**2)
    assert abs(draws.mean() - mean) < 4 * spread / math.sqrt(20_000)  # four standard errors
    assert draws.std() == pytest.approx(spread, rel=0.03)
    if isinstance(noise, UniformNoise | GaussianNoise):
        assert quad(noise.density, -30, 30, points=[-1, 0.5, 3])[0] == pytest.approx(1.0, rel=1e-6)
    if isinstance(noise, FiniteNoise):
        assert noise.density([0, 1, 2, 3, 0.5, -1]).tolist() == [0.2, 0.5, 0.3, 0.0, 0.0, 0.0]


def test_mixed_noise_is_a_product() -> None:
    noise = mixed_noise([0.2, 0.8], UniformNoise(0.0, 1.0))
    assert noise.nodes()[0].shape == (80, 2)
    # a polynomial on either category is exact
    exact = 0.2 * (1 / 3) + 0.8 * (1 / 3 + 2 * 0.5)
    assert float(noise.mean_of(lambda x: x[:, 1] ** 2 + 2 * x[:, 0] * x[:, 1])) == pytest.approx(exact, rel=1e-12)
    assert noise.density(np.array([[1.0, 0.3], [1.0, 2.0]])).tolist() == [0.8, 0.0]
    assert noise.smallest_atom == 0.0
    assert mixed_noise([0.2, 0.8], [0.5, 0.5]).smallest_atom == pytest.approx(0.1)
    draws = noise.sample(20_000, np.random.default_rng(2))
    assert draws.mean(axis=0) == pytest.approx([0.8, 0.5], abs=0.012)


def test_mixed_noise_of_many_columns_uses_spread_points() -> None:
    noise = MixedNoise((GaussianNoise(), UniformNoise(0, 1), uniform_levels(3), EmpiricalNoise([0.0, 4.0])))
    points, weights = noise.nodes()
    assert points.shape == (1024, 4)
    assert np.array_equal(points, noise.nodes()[0])
    means = np.einsum("m,md->d", weights, points)
    assert means == pytest.approx([0.0, 0.5, 1.0, 2.0], abs=0.02)
    assert np.einsum("m,m->", weights, points[:, 0] ** 2) == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FiniteNoise([0.5, 0.6]), "add up to 1.1"),
        (lambda: FiniteNoise([1.5, -0.5]), "at least 0"),
        (lambda: FiniteNoise([1.0]), "at least two"),
        (lambda: UniformNoise(1.0, 1.0), "below its upper end"),
        (lambda: GaussianNoise(0.0, 0.0), "above 0"),
        (lambda: EmpiricalNoise([]), "at least one row"),
        (lambda: MixedNoise(()), "for each private column"),
        (lambda: uniform_levels(1), "number of categories"),
    ],
)
def test_noise_laws_refuse(make: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


# --- edge table of section 3 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.0, -0.1, 1.1, math.nan])
def test_keep_probability_outside_its_range(keep: float) -> None:
    with pytest.raises(ParameterError, match=r"above 0 and at most 1; it is .* At 0 nothing about the private column"):
        AlphaIdentity(keep, UniformNoise())


@pytest.mark.parametrize("keep", ["x", None, [0.5, 0.5]])
def test_keep_probability_that_is_no_number(keep: Any) -> None:
    with pytest.raises(ParameterError, match="must be a number above 0 and at most 1; it is “"):
        AlphaIdentity(keep, UniformNoise(0.0, 1.0))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_epsilon_of_randomised_response_outside_its_range(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="ε must be a finite number above 0"):
        RandomisedResponse(3, epsilon)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[0.5, 0.2, 0.3], [0.5, 0.8, 0.7]], "2 rows and 3 columns"),
        ([[1.1, 0.0], [-0.1, 1.0]], "negative; the smallest is -0.1"),
        ([[0.5, 0.3], [0.4, 0.7]], "one adds up to 0.9"),
        (np.transpose(SKEW), "exchange rows and columns"),
        ([[0.5, 0.5], [0.5, 0.5]], "cannot be inverted"),
        ([[0.5, 0.5], [0.5, math.nan]], "finite"),
        ([0.5, 0.5], "must be a table"),
        ([[1.0]], "at least two categories"),
    ],
)
def test_matrices_refused_with_their_own_sentence(matrix: object, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        FiniteMechanism(matrix)


def test_nearly_singular_matrix_is_told() -> None:
    assert FiniteMechanism(SKEW).notes == ()
    half = 1e-5
    (note,) = FiniteMechanism([[0.5 + half, 0.5 - half], [0.5 - half, 0.5 + half]]).notes
    assert "condition number 5e+04" in note
    with pytest.raises(ParameterError, match="cannot be inverted"):
        FiniteMechanism([[0.5 + 1e-13, 0.5 - 1e-13], [0.5 - 1e-13, 0.5 + 1e-13]])


def test_values_outside_the_declared_categories_are_listed() -> None:
    mechanism = RandomisedResponse(3, 1.0)
    with pytest.raises(DataError, match=r"3 declared categories: -1, 0.5, 3, 4, 5\.$"):
        mechanism.privatise([0, 1, 3, 4, 5, 6, 7, -1, 0.5], np.random.default_rng(0))
    with pytest.raises(DataError, match="categories: nan"):
        mechanism.finite().privatise([0, math.nan], np.random.default_rng(0))
    with pytest.raises(DataError, match="whole numbers"):
        mechanism.privatise(["a"], np.random.default_rng(0))


# --- finite mechanisms -------------------------------------------------------------------------------------------


def test_shown_values_follow_the_columns() -> None:
    mechanism = FiniteMechanism(SKEW)
    x = np.repeat([0, 1, 2], 20_000)
    z = mechanism.privatise(x, np.random.default_rng(5))
    shares = np.stack([np.bincount(z[x == c], minlength=3) / 20_000 for c in range(3)], axis=1)
    # four standard errors of a share are 0.014
    assert shares == pytest.approx(np.array(SKEW), abs=0.014)
    assert np.array_equal(mechanism.privatize(x, np.random.default_rng(5)), z)


def test_inverse_and_signed_weights() -> None:
    mechanism = FiniteMechanism(SKEW)
    assert mechanism.matrix @ mechanism.inverse == pytest.approx(np.eye(3), abs=1e-12)
    weights = mechanism.signed_weights([2, 0])
    assert weights.tolist() == [mechanism.inverse[:, 2].tolist(), mechanism.inverse[:, 0].tolist()]
    assert weights.sum(axis=1) == pytest.approx([1.0, 1.0], rel=1e-12)
    assert (weights < 0).any()
    assert mechanism.rank == 3
    assert mechanism.condition == pytest.approx(np.linalg.cond(np.array(SKEW), 1))
    assert mechanism.smallest_singular == pytest.approx(np.linalg.svd(SKEW)[1][-1])
    assert RandomisedResponse(5, 0.7).finite().smallest_singular == pytest.approx(
        keep_probability_for_epsilon(5, 0.7), rel=1e-9
    )


def test_closed_inverse_at_a_tiny_budget() -> None:
    finite = RandomisedResponse(4, 1e-9).finite()
    # (e^ε + 3 - 1)/(e^ε - 1) on the diagonal; naive subtraction loses half of the digits
    assert finite.inverse[0, 0] == pytest.approx((3 + 1e-9) / math.expm1(1e-9), rel=1e-12)


def test_many_categories_are_inverted_well() -> None:
    mechanism = FiniteMechanism(0.3 * np.eye(120) + 0.7 * random_matrix(np.random.default_rng(0), 120))
    h = np.random.default_rng(1).standard_normal(120)
    assert np.einsum("z,zx->x", mechanism.invert(h), mechanism.matrix) == pytest.approx(h, abs=1e-10)


def test_relabelling_the_categories_relabels_the_inverse() -> None:
    order = np.array([2, 0, 1])
    mechanism = FiniteMechanism(SKEW)
    moved = FiniteMechanism(np.array(SKEW)[np.ix_(order, order)])
    h = np.array([1.0, -2.0, 5.0])
    assert moved.invert(h[order]) == pytest.approx(mechanism.invert(h)[order], rel=1e-12)


# --- keeping or replacing ----------------------------------------------------------------------------------------


def test_share_kept_and_the_noise_of_the_rest() -> None:
    x = np.full(100_000, 7.0)
    z = AlphaIdentity(0.3, UniformNoise(-1.0, 1.0)).privatise(x, np.random.default_rng(11))
    kept = z == 7.0
    assert abs(kept.mean() - 0.3) < 3 * math.sqrt(0.21 / 100_000)
    rest = z[~kept]
    assert abs(rest.mean()) < 3 * math.sqrt(1 / 3 / rest.size)
    assert rest.var() == pytest.approx(1 / 3, rel=0.02)


def test_noise_does_not_depend_on_the_keep_probability() -> None:
    x = np.arange(1000.0)
    little, much = (AlphaIdentity(keep, GaussianNoise()).privatise(x, np.random.default_rng(4)) for keep in (0.8, 0.2))
    replaced_by_both = (little != x) & (much != x)
    assert np.array_equal(little[replaced_by_both], much[replaced_by_both])
    assert np.all((little == x) | (much != x))
    assert np.array_equal(AlphaIdentity(1.0, GaussianNoise()).privatise(x, np.random.default_rng(4)), x)


def test_rows_of_mixed_columns_are_kept_whole() -> None:
    noise = mixed_noise([0.5, 0.5], GaussianNoise())
    x = np.column_stack([np.ones(500), np.full(500, 9.0)])
    z = AlphaIdentity(0.4, noise).privatise(x, np.random.default_rng(3))
    kept = z[:, 1] == 9.0
    assert np.all(z[kept, 0] == 1.0)
    assert set(np.unique(z[~kept, 0])) == {0.0, 1.0}
    with pytest.raises(DataError, match="for 2 private columns, but the data has 1"):
        AlphaIdentity(0.4, noise).privatise(np.ones(4), np.random.default_rng(3))


def test_one_column_table_stays_a_table() -> None:
    z = AlphaIdentity(0.5, UniformNoise()).privatise(np.ones((20, 1)), np.random.default_rng(0))
    assert z.shape == (20, 1)


def test_without_noise_nothing_changes() -> None:
    mechanism = AlphaIdentity(1.0, FiniteNoise([0.2, 0.8]))
    assert mechanism.finite().inverse.tolist() == np.eye(2).tolist()
    assert mechanism.invert([3.0], [99.0]).tolist() == [3.0]
    assert (mechanism.ltv(), mechanism.ldp_epsilon(), mechanism.ldp_delta(3.0)) == (1.0, math.inf, 1.0)


def test_randomised_response_is_the_same_as_keeping_with_uniform_noise() -> None:
    epsilon, levels = 0.7, 5
    keep = math.expm1(epsilon) / (math.exp(epsilon) + levels - 1)
    response, keeping = RandomisedResponse(levels, epsilon), AlphaIdentity(keep, uniform_levels(levels))
    assert response.finite().matrix == pytest.approx(keeping.finite().matrix, rel=1e-12)
    assert response.ldp_epsilon() == pytest.approx(keeping.ldp_epsilon(), rel=1e-12)
    assert response.finite().ldp_epsilon() == pytest.approx(epsilon, rel=1e-12)
    printed = ((math.exp(epsilon) - 1) * np.eye(levels) + 1) / (math.exp(epsilon) + levels - 1)
    assert response.finite().matrix == pytest.approx(printed, rel=1e-12)


def test_privacy_profile_by_enumeration() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        mechanism = AlphaIdentity(rng.uniform(0.05, 0.95), FiniteNoise(rng.dirichlet(np.ones(4))))
        matrix = mechanism.finite().matrix
        for epsilon in (0.0, 0.3, 1.0, 3.0):
            pairs = np.maximum(matrix[:, :, None] - math.exp(epsilon) * matrix[:, None, :], 0).sum(axis=0)
            assert mechanism.ldp_delta(epsilon) == pytest.approx(pairs.max(), abs=1e-12)
            assert mechanism.ldp_delta(epsilon) <= ldp_delta_of_ltv(mechanism.ltv(), epsilon) + 1e-15
        at = mechanism.ldp_epsilon()
        assert mechanism.ldp_delta(at) == pytest.approx(0.0, abs=1e-12)
        assert mechanism.ldp_delta(0.99 * at) > 0


def test_E19_continuous_noise_never_protects_the_true_value() -> None:
    # printed reading: a smaller keep probability is private; exact: slack stays at it for every ε
    for noise in (UniformNoise(), GaussianNoise(), EmpiricalNoise([0.0, 1.0]), mixed_noise([0.5, 0.5], UniformNoise())):
        mechanism = AlphaIdentity(0.1, noise)
        assert mechanism.ldp_epsilon() == math.inf
        assert [mechanism.ldp_delta(e) for e in (0.0, 1.0, 50.0, 1000.0)] == [0.1] * 4
    # with categories it falls to 0
    assert AlphaIdentity(0.1, uniform_levels(3)).ldp_delta(2.0) == 0.0
    assert AlphaIdentity(0.1, uniform_levels(3)).ldp_delta(1000.0) == 0.0
    # point-mass noise: same total variation, no budget at all
    erasure = AlphaIdentity(0.1, FiniteNoise([1.0, 0.0, 0.0]))
    assert (erasure.ltv(), erasure.ldp_epsilon()) == (0.1, math.inf)


def test_E2_level_of_randomised_response() -> None:
    response = RandomisedResponse(5, 0.5)
    assert response.ltv() == pytest.approx(0.11484, abs=5e-6)
    assert response.finite().ltv() == pytest.approx(response.ltv(), rel=1e-12)
    assert math.expm1(0.5) == pytest.approx(0.64872, abs=5e-6)  # printed: true, but far off
    assert ltv_of_ldp(1.0, 0.05, "tight") == pytest.approx(0.489011299397, rel=1e-10)
    assert math.expm1(1.0) + 0.05 == pytest.approx(1.768, abs=5e-4)  # printed: above 1, so void
    assert ltv_of_ldp(1.0, 0.05, "printed") == 1.0


def test_tight_conversion_is_attained_and_never_exceeded() -> None:
    # attained by a mechanism that tells everything with probability δ
    epsilon, delta = 0.8, 0.1
    share = math.exp(epsilon) / (1 + math.exp(epsilon))
    response = (1 - delta) * np.array([share, 1 - share])
    matrix = np.array([response, response[::-1], [delta, 0], [0, delta]])
    total = np.abs(matrix[:, 0] - matrix[:, 1]).sum() / 2
    assert ltv_of_ldp(epsilon, delta) == pytest.approx(total, rel=1e-12)
    rng = np.random.default_rng(2)
    for _ in range(200):
        mechanism = FiniteMechanism(random_matrix(rng, 3))
        at = rng.uniform(0, 2)
        assert mechanism.ltv() <= ltv_of_ldp(at, mechanism.ldp_delta(at)) + 1e-12


def test_keep_probability_and_epsilon_are_inverse() -> None:
    for levels in (2, 7):
        for epsilon in (1e-6, 0.5, 4.0):
            keep = keep_probability_for_epsilon(levels, epsilon)
            assert epsilon_for_keep_probability(levels, keep) == pytest.approx(epsilon, rel=1e-9)
    assert epsilon_for_keep_probability(3, 1.0) == math.inf
    with pytest.raises(ParameterError, match="keep probability"):
        epsilon_for_keep_probability(3, 0.0)


# --- added noise (section 10.5) ----------------------------------------------------------------------------------


def test_laplace_inverse_undoes_the_average() -> None:
    mechanism = LaplaceAddition(0.7)
    second = [lambda x: -np.sin(x), lambda x: (x**2 - 1) * np.exp(-(x**2) / 2)]
    for h, h2 in zip((np.sin, lambda x: np.exp(-(x**2) / 2)), second, strict=True):
        for x in (-0.3, 1.1):

            def integrand(u: float, x: float = x, h: object = h, h2: object = h2) -> float:
                undone = float(mechanism.invert(h(np.array(x + u)), h2(np.array(x + u))))
                return undone * math.exp(-abs(u) / 0.7) / 1.4

            total = quad(integrand, -30, 0, limit=200)[0] + quad(integrand, 0, 30, limit=200)[0]
            assert total == pytest.approx(float(h(np.array(x))), abs=1e-7)


def test_laplace_inverse_in_two_columns() -> None:
    mechanism = LaplaceAddition([0.5, 2.0])
    x, y = 0.4, -1.0  # h = sin(x)·y³
    derivatives = [[[math.sin(x) * y**3], [math.sin(x) * 6 * y]], [[-math.sin(x) * y**3], [-math.sin(x) * 6 * y]]]
    expected = math.sin(x) * 1.25 * (y**3 - 4 * 6 * y)
    assert mechanism.invert_mixed(derivatives) == pytest.approx([expected], rel=1e-12)
    with pytest.raises(ParameterError, match="mixed derivative"):
        mechanism.invert([1.0], [1.0])


def test_laplace_inverse_refuses_kinks_and_steps() -> None:
    mechanism = LaplaceAddition(0.3)
    z = np.linspace(-1, 1, 11)
    smooth = mechanism.invert_function(np.sin, lambda x: -np.sin(x), z)
    assert smooth == pytest.approx(1.09 * np.sin(z), rel=1e-12)
    for h in (lambda x: np.clip(x, -0.5, 0.5), lambda x: (x > 0.2).astype(float)):
        with pytest.raises(ParameterError, match="twice differentiable"):
            mechanism.invert_function(h, np.zeros_like, z)
    with pytest.raises(ParameterError, match="twice differentiable"):
        mechanism.invert(z, None)


def test_levels_of_added_laplace_noise() -> None:
    one = LaplaceAddition(0.5, ranges=1.5)
    assert one.ldp_epsilon() == 3.0
    gap = quad(lambda x: abs(math.exp(-abs(x) / 0.5) - math.exp(-abs(x - 1.5) / 0.5)), -20, 20, points=[0, 0.75, 1.5])
    assert one.ltv() == pytest.approx(gap[0] / 2, rel=1e-7)
    slack = quad(
        lambda x: max(0.0, math.exp(-abs(x) / 0.5) - math.e * math.exp(-abs(x - 1.5) / 0.5)),
        -20,
        20,
        points=[0, 0.5, 1.5],
    )
    assert one.ldp_delta(1.0) == pytest.approx(slack[0], rel=1e-7)
    assert one.ldp_delta(3.0) == 0.0
    assert one.ldp_delta(0.0) == pytest.approx(one.ltv(), rel=1e-12)
    two = LaplaceAddition([0.5, 2.0], ranges=[1.5, 1.0])
    assert two.ldp_epsilon() == 3.5  # budgets add up
    assert two.ldp_delta(0.0) == pytest.approx(two.ltv(), rel=1e-12)
    assert LaplaceAddition(1.0).ldp_epsilon() == math.inf
    assert LaplaceAddition(1.0).ltv() == 1.0
    assert LaplaceAddition(1.0).ldp_delta(5.0) == 1.0
    draws = two.privatise(np.zeros((40_000, 2)), np.random.default_rng(6))
    assert np.abs(draws).mean(axis=0) == pytest.approx([0.5, 2.0], rel=0.02)  # four standard errors


def test_added_normal_noise_is_undone_for_polynomials_only() -> None:
    mechanism = GaussianAddition(0.8, width=2.0)
    undone = mechanism.invert_polynomial([1.0, -2.0, 0.5, 1.0, 2.0])
    noise = GaussianNoise(0.0, 0.8)
    for x in (-1.0, 0.3, 2.0):
        averaged = float(noise.mean_of(lambda u, x=x: np.polynomial.polynomial.polyval(x + u, undone)))
        assert averaged == pytest.approx(1 - 2 * x + 0.5 * x**2 + x**3 + 2 * x**4, rel=1e-11)
    assert mechanism.invert_polynomial([3.0]).tolist() == [3.0]
    with pytest.raises(UnsupportedCombination, match="polynomials only"):
        mechanism.invert([1.0], [1.0])
    assert mechanism.ldp_delta(0.0) == pytest.approx(mechanism.ltv(), rel=1e-9)
    assert mechanism.ldp_epsilon() == math.inf
    assert GaussianAddition(1.0).ltv() == 1.0


# --- Lem 4 ------------------------------------------------------------------------------------------------------


def test_posteriors_by_enumeration_of_kept_and_true() -> None:
    rng = np.random.default_rng(12)
    noise = rng.dirichlet(np.ones(4))
    mechanism = AlphaIdentity(0.35, FiniteNoise(noise))
    p = rng.dirichlet(np.ones(12)).reshape(3, 4)
    # cells (v, x, z) of kept and of replaced records (50)
    kept = 0.35 * p[:, :, None] * np.eye(4)
    replaced = 0.65 * p[:, :, None] * noise
    shown = (kept + replaced).sum(axis=1)
    assert posterior_kept(mechanism, p) == pytest.approx(kept.sum(axis=1) / shown, rel=1e-12)
    both = (kept + replaced) / shown[:, None, :]
    assert posterior(mechanism, p) == pytest.approx(both.transpose(0, 2, 1), rel=1e-12)
    assert posterior_true(mechanism, p) == pytest.approx(both[:, range(4), range(4)], rel=1e-12)
    k = posterior_kept(mechanism, p)
    mix = k[:, :, None] * np.eye(4) + (1 - k)[:, :, None] * (p / p.sum(axis=1, keepdims=True))[:, None, :]
    assert posterior(mechanism, p) == pytest.approx(mix, rel=1e-12)
    assert (posterior_true(mechanism, p) > k).all()
    assert posterior_true(mechanism.finite(), p) == pytest.approx(posterior_true(mechanism, p), rel=1e-12)


def test_posterior_of_what_cannot_be_shown_is_undefined() -> None:
    mechanism = AlphaIdentity(0.5, FiniteNoise([0.5, 0.5, 0.0]))
    assert np.isnan(posterior_true(mechanism, [0.5, 0.5, 0.0])).tolist() == [False, False, True]


# --- E22 --------------------------------------------------------------------------------------------------------


def test_E22_densities_have_no_bounded_inverse() -> None:
    # a density that ignores the true value is Hilbert-Schmidt, and tells nothing: rank 1
    blind = np.ones((50, 50)) / 50
    assert np.linalg.matrix_rank(blind) == 1
    assert np.isfinite((blind**2).sum())
    for mechanism in (LaplaceAddition(0.7), GaussianAddition(0.7)):
        sizes = kernel_singular_values(mechanism, -3.0, 3.0, 200)
        assert sizes[0] > 0.5
        assert sizes[40] < 0.02 * sizes[0]
        assert (np.diff(sizes) <= 1e-12).all()
    keeping = kernel_singular_values(AlphaIdentity(0.3, UniformNoise(-3, 3)), -3.0, 3.0, 200)
    assert keeping[1:] == pytest.approx(0.3, rel=1e-9)
    moduli = kernel_eigenvalues(AlphaIdentity(0.3, GaussianNoise()), 50)
    matrix = kernel_matrix(AlphaIdentity(0.3, GaussianNoise()), -3.0, 3.0, 50)
    assert moduli == pytest.approx(np.sort(np.abs(np.linalg.eigvals(matrix)))[::-1], rel=1e-6)
    assert kernel_eigenvalues(AlphaIdentity(0.3, uniform_levels(3))).tolist() == [1.0, 0.3, 0.3]
    assert kernel_eigenvalues(FiniteMechanism(SKEW))[0] == pytest.approx(1.0)


def test_hilbert_schmidt_norm_by_quadrature_and_by_the_spectrum() -> None:
    b, reach = 0.7, 3.0
    square = dblquad(lambda z, x: (math.exp(-abs(z - x) / b) / (2 * b)) ** 2, -reach, reach, -reach, lambda x: x)[0] * 2
    assert laplace_hilbert_schmidt(b, reach) == pytest.approx(square, rel=1e-6)
    sizes = kernel_singular_values(LaplaceAddition(b), -reach, reach, 400)
    assert float((sizes**2).sum()) == pytest.approx(square, rel=1e-3)
    assert laplace_hilbert_schmidt(b, 300.0) == pytest.approx(300 / 1.4 - 0.125, rel=1e-12)
