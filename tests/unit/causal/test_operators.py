from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal import operators
from privexplorer.causal.laws import LAW_A
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    FiniteNoise,
    GaussianNoise,
    UniformNoise,
    mixed_noise,
    uniform_levels,
)
from privexplorer.causal.targets import ATE, ATT
from privexplorer.errors import ParameterError

SKEW = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])


def random_mechanism(rng: np.random.Generator, levels: int) -> operators.Finite:
    if rng.random() < 0.5:
        return AlphaIdentity(rng.uniform(0.05, 1.0), FiniteNoise(rng.dirichlet(np.ones(levels))))
    return FiniteMechanism(0.3 * np.eye(levels) + 0.7 * rng.dirichlet(np.ones(levels), size=levels).T)


def random_case(
    rng: np.random.Generator, laws: int = 60
) -> tuple[operators.Finite, np.ndarray, np.ndarray, np.ndarray]:
    levels, cells = int(rng.integers(2, 6)), int(rng.integers(1, 7))
    p = rng.dirichlet(np.full(levels * cells, rng.choice([0.2, 1.0, 5.0])), size=laws).reshape(laws, cells, levels)
    h, k = rng.standard_normal((2, laws, cells, levels)) ** rng.choice([1, 3])
    return random_mechanism(rng, levels), p, h, k


CASES = [random_case(np.random.default_rng(seed)) for seed in range(60)]


def total(values: np.ndarray) -> np.ndarray:
    return values.sum(axis=(-2, -1))


def close(first: np.ndarray, second: np.ndarray, tolerance: float = 1e-12) -> bool:
    scale = np.maximum(1.0, np.abs(second))
    return bool(np.all(np.abs(first - second) <= tolerance * scale))


def test_inverse_undoes_the_operator_both_ways() -> None:
    for mechanism, _, h, k in CASES:
        assert close(operators.apply(mechanism, operators.invert(mechanism, h)), h, 1e-10)
        assert close(operators.invert(mechanism, operators.apply(mechanism, k)), k, 1e-10)


def test_change_of_measure() -> None:
    # (22): P_VZ Q⁻¹h = P_VX h
    for mechanism, p, h, _ in CASES:
        shown = operators.mix(mechanism, p)
        assert close(total(shown * operators.invert(mechanism, h)), total(p * h), 1e-11)
        assert close(total(shown), np.ones(len(p)))
        assert close(shown.sum(axis=-1), p.sum(axis=-1))  # what is published stays as it is


def test_adjoint_identity_and_both_formulas() -> None:
    for mechanism, p, h, k in CASES:
        shown, back = operators.mix(mechanism, p), operators.adjoint(mechanism, h, p)
        assert close(total(p * operators.apply(mechanism, k) * h), total(shown * k * back), 1e-11)
        if isinstance(mechanism, AlphaIdentity) and (p.sum(axis=-1) > 1e-12).all() and (shown > 0).all():
            assert close(back, operators.adjoint_by_posterior(mechanism, h, p), 1e-9)


def test_conditional_expectations_by_enumeration() -> None:
    joint = LAW_A.with_shown(SKEW)
    assert joint.sum() == pytest.approx(1.0, rel=1e-12)
    assert joint.sum(axis=3) == pytest.approx(LAW_A.joint, rel=1e-12)
    assert joint.sum(axis=2) == pytest.approx(LAW_A.privatised(SKEW), rel=1e-12)
    rng = np.random.default_rng(0)
    h, k = rng.standard_normal((2, 2, 2, 3))
    given_x = (joint * k[:, :, None, :]).sum(axis=3) / joint.sum(axis=3)
    assert operators.apply(SKEW, k) == pytest.approx(given_x, rel=1e-12)
    given_z = (joint * h[:, :, :, None]).sum(axis=2) / joint.sum(axis=2)
    assert operators.adjoint(SKEW, h, LAW_A.joint) == pytest.approx(given_z, rel=1e-12)


def test_constants_and_published_functions_are_left_alone() -> None:
    for mechanism, _, h, _ in CASES:
        flat = np.broadcast_to(h[..., :1], h.shape)
        assert close(operators.apply(mechanism, flat), flat, 1e-11)
        assert close(operators.invert(mechanism, flat), flat, 1e-10)


def test_law_is_recovered_from_the_mixture() -> None:
    for mechanism, p, _, _ in CASES:
        assert close(operators.unmix(mechanism.finite().matrix, operators.mix(mechanism, p)), p, 1e-11)
    # Lem 4: P_VX = P_VZ/a - (1 - a)/a P_V × noise
    mechanism, p = AlphaIdentity(0.3, FiniteNoise([0.2, 0.5, 0.3])), LAW_A.joint
    shown = operators.mix(mechanism, p)
    by_hand = shown / 0.3 - 0.7 / 0.3 * p.sum(axis=-1, keepdims=True) * np.array([0.2, 0.5, 0.3])
    assert by_hand == pytest.approx(p, rel=1e-12)


def test_matrices_that_are_not_square() -> None:
    tall = np.array([[0.6, 0.2], [0.3, 0.3], [0.1, 0.5]])
    p = np.array([[0.3, 0.1], [0.2, 0.4]])
    assert operators.is_identified(tall)
    assert operators.unmix(tall, p @ tall.T) == pytest.approx(p, rel=1e-12)
    assert not operators.is_identified(tall.T / tall.T.sum(axis=0))
    for matrix in (tall.T / tall.T.sum(axis=0), np.full((3, 3), 1 / 3), np.column_stack([tall[:, 0], tall[:, 0]])):
        with pytest.raises(ParameterError, match="does not determine the law"):
            operators.unmix(matrix, np.full((2, matrix.shape[0]), 1 / 6))


def test_every_inequality_on_many_laws() -> None:
    sharp: dict[str, float] = {}
    for mechanism, p, h, k in CASES:
        for found in operators.inequalities(mechanism, p, h, k):
            assert found.left.shape == (60,)
            assert found.holds.all(), found.name
            sharp[found.name] = min(sharp.get(found.name, 1.0), float(found.slack.min()))
    # they are no empty statements: each comes within 80 percent of its bound somewhere
    assert max(sharp.values()) < 0.8
    assert len(sharp) >= 14


def test_an_inequality_that_fails_says_so() -> None:
    _, p, h, _ = CASES[0]
    broken = operators.Inequality("", "", operators.norm(10 * h, p), operators.norm(h, p))
    assert not broken.holds.any()
    assert broken.slack == pytest.approx(-9.0)


def test_norm_comparison_is_attained_where_no_noise_lands() -> None:
    mechanism = AlphaIdentity(0.3, FiniteNoise([0.0, 0.5, 0.5]))
    p, h = np.array([[0.4, 0.4, 0.2]]), np.array([[2.0, 0.0, 0.0]])
    found = {i.name: i for i in operators.inequalities(mechanism, p, h, h) if i.source == "Lem 4(iv)"}
    assert len(found) == 3
    assert [float(i.slack) for i in found.values()] == pytest.approx([0.0] * 3, abs=1e-12)


def test_constants_of_the_inequalities_at_one_keep_probability() -> None:
    # 0.36 has the roots 0.6 and, of its complement, 0.8
    noise = np.array([0.2, 0.5, 0.3])
    mechanism = AlphaIdentity(0.36, FiniteNoise(noise))
    rng = np.random.default_rng(7)
    p, h, k = rng.dirichlet(np.ones(6)).reshape(2, 3), *rng.standard_normal((2, 2, 3))
    shown = 0.36 * p + 0.64 * p.sum(axis=1, keepdims=True) * noise
    both = math.sqrt((p * h**2).sum()) + math.sqrt((p.sum(axis=1, keepdims=True) * noise * h**2).sum())
    hz, kz = (shown * h**2).sum(), math.sqrt((shown * k**2).sum())
    expected = {
        "Noise averages: ‖Qk‖ ≤ ‖k‖": kz,
        "Inverse, largest value: (2 - a)/a": 1.64 / 0.36 * np.abs(h).max(),
        "Inverse against both norms: (2 - a)/a": 1.64 / 0.36 * both,
        "Noise averages in both norms": 2.65 * kz,
        "Truth against shown, power 2: a^(-1/p)": math.sqrt(hz) / 0.6,
        "Variance of an undone weight: 2(2 - a)/a²": 3.28 / 0.1296 * hz,
        "Variance of an undone weight: 4/a²": 4 / 0.1296 * hz,
        # Q = 0.36 I + 0.64 noise: smallest entry 0.128, smallest diagonal entry 0.488
        "Truth against shown, power 2: smallest entry of the matrix": math.sqrt(hz / 0.128),
        "Truth against shown, power 2: smallest diagonal entry of the matrix": math.sqrt(hz / 0.488),
    }
    found = {i.name: float(i.right) for i in operators.inequalities(mechanism, p, h, k)}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-12), name


def test_largest_value_of_the_inverse_is_attained() -> None:
    mechanism = AlphaIdentity(0.3, FiniteNoise([0.0, 0.5, 0.5]))
    h = np.array([[1.0, -1.0, -1.0]])
    assert operators.largest(operators.invert(mechanism, h)) == pytest.approx((2 - 0.3) / 0.3, rel=1e-12)


def test_norm_of_the_inverse_blows_up_on_thin_cells() -> None:
    mechanism = AlphaIdentity(0.5, uniform_levels(2))
    sizes = [operators.inverse_norm(mechanism, [[1 - thin, thin]]) for thin in (0.5, 1e-2, 1e-4)]
    assert sizes[0] < 3 < sizes[1] < sizes[2] / 5
    assert operators.inverse_norm(mechanism, [[1.0, 0.0]]) == math.inf
    # attained, never exceeded
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(6)).reshape(2, 3)
    bound = operators.inverse_norm(SKEW, p)
    h = rng.standard_normal((20_000, 2, 3))
    ratios = operators.norm(operators.invert(SKEW, h), operators.mix(SKEW, p)) / operators.norm(h, p)
    assert 0.9 * bound < ratios.max() <= bound


def test_signed_imputation_adds_up_to_one_for_all_kinds_of_values() -> None:
    assert operators.signed_weights(SKEW, [0, 1, 2, 2]).sum(axis=1) == pytest.approx(1.0, rel=1e-12)
    for noise in (UniformNoise(), GaussianNoise(), mixed_noise([0.1, 0.9], GaussianNoise())):
        own, _, weights = operators.signed_imputation(AlphaIdentity(0.2, noise))
        assert own == 5.0
        assert own + weights.sum() == pytest.approx(1.0, rel=1e-12)
    # same as the inverse operator
    mechanism = AlphaIdentity(0.2, GaussianNoise(1.0, 0.5))
    own, points, weights = operators.signed_imputation(mechanism)
    z = np.array([0.3, -2.0])
    by_weights = own * np.cos(z) + float(np.sum(weights * np.cos(points)))
    assert mechanism.invert(np.cos(z), mechanism.noise.mean_of(np.cos)) == pytest.approx(by_weights, rel=1e-12)
    finite = AlphaIdentity(0.2, FiniteNoise([0.5, 0.3, 0.2]))
    h = np.array([1.0, 4.0, -2.0])
    assert operators.signed_weights(finite, [0, 1, 2]) @ h == pytest.approx(operators.invert(finite, h), rel=1e-12)


def test_mixed_columns_are_unbiased_under_one_mechanism() -> None:
    noise = mixed_noise([0.5, 0.5], UniformNoise(-1, 1))
    mechanism = AlphaIdentity(0.5, noise)
    rng = np.random.default_rng(9)
    size = 4000
    x = np.column_stack([rng.random(size) < 0.3, rng.beta(2, 2, size)]).astype(float)

    def h(points: np.ndarray) -> np.ndarray:
        return points[:, 0] * points[:, 1] ** 2

    shown = mechanism.privatise(x, rng)
    undone = mechanism.invert(h(shown), noise.mean_of(h))
    gap = undone.mean() - h(x).mean()
    assert abs(gap) < 3 * undone.std() / math.sqrt(size)

    # signed weights: 1/a on the record shown and (1 - 1/a) times the noise law; they add up to 1, for every record,
    # which the function 1 shows; (category, number) themselves show the weight of the noise law
    def one(points: np.ndarray) -> np.ndarray:
        return np.ones(len(points))

    np.testing.assert_allclose(mechanism.invert(one(shown), noise.mean_of(one)), 1.0, rtol=1e-12)
    for column in (0, 1):

        def own(points: np.ndarray, column: int = column) -> np.ndarray:
            return np.asarray(points[:, column] + 2.0)

        weighted = mechanism.invert(own(shown), noise.mean_of(own))
        away = (weighted - own(shown) / 0.5) / noise.mean_of(own)
        np.testing.assert_allclose(away, 1 - 1 / 0.5, rtol=1e-12)
    # unbiased over 4000 samples of 50 records each: three standard errors, and the naive mean is refused
    samples, each = 4000, 50
    y = np.column_stack([rng.random(samples * each) < 0.3, rng.beta(2, 2, samples * each)]).astype(float)
    after = mechanism.privatise(y, rng)
    means = mechanism.invert(h(after), noise.mean_of(h)).reshape(samples, each).mean(axis=1)
    truth = 0.3 * 6 / 20  # E X² of a Beta(2, 2) is 2·3/(4·5)
    width = 3 * means.std(ddof=1) / math.sqrt(samples)
    assert abs(means.mean() - truth) < width
    assert width < 0.1 * truth
    assert abs(h(after).mean() - truth) > 3 * width


def test_wrong_transpose_shows_as_a_score_that_is_not_centred() -> None:
    # E: -0.028 for the average effect, -0.087 on the treated; the right one is zero
    shown = LAW_A.privatised(SKEW)
    slipped = FiniteMechanism(SKEW.matrix, SKEW.inverse.T)
    for target, printed in ((ATE(), -0.028), (ATT(), -0.087)):
        h = target.influence(LAW_A)
        assert abs(float(np.sum(shown * operators.invert(SKEW, h)))) < 1e-14
        assert float(np.sum(shown * operators.invert(slipped, h))) == pytest.approx(printed, abs=5e-4)


# --- Lem 1 ------------------------------------------------------------------------------------------------------


def test_rank_is_full_exactly_for_invertible_matrices() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        levels, cells = int(rng.integers(2, 5)), int(rng.integers(1, 5))
        p = rng.dirichlet(np.full(levels * cells, 2.0)).reshape(cells, levels)
        matrix = random_mechanism(rng, levels).finite().matrix
        assert operators.tangent_rank(matrix, p) == cells * levels - 1
        rank = int(rng.integers(1, levels))
        singular = matrix[:, :rank] @ rng.dirichlet(np.ones(rank), size=levels).T
        singular = singular / singular.sum(axis=0)
        assert operators.tangent_rank(singular, p) == cells * rank - 1


def test_tangent_space_holds_the_scores_of_what_is_shown() -> None:
    # score of the mixture of a tilted law is the adjoint of the tilt, exactly (the mixture is linear)
    rng = np.random.default_rng(6)
    s = LAW_A.centred(rng.standard_normal((2, 2, 3)))
    moved = operators.mix(SKEW, LAW_A.tilted(s, 1e-3))
    shown = LAW_A.privatised(SKEW)
    score = (moved - shown) / (1e-3 * shown)
    assert score == pytest.approx(operators.adjoint(SKEW, s, LAW_A.joint), abs=1e-10)
    basis = operators.tangent_basis(SKEW.matrix, LAW_A.joint)
    vector = (score * np.sqrt(shown)).reshape(-1)
    assert basis @ (basis.T @ vector) == pytest.approx(vector, abs=1e-10)
    assert basis.T @ np.sqrt(shown).reshape(-1) == pytest.approx(0.0, abs=1e-12)
    assert basis.T @ basis == pytest.approx(np.eye(11), abs=1e-12)


def test_E4_noise_off_the_data_leaves_a_smaller_tangent_space() -> None:
    p = np.zeros((4, 3))
    p[:, :2] = np.random.default_rng(2).dirichlet(np.ones(8)).reshape(4, 2)
    matrix = AlphaIdentity(0.5, uniform_levels(3)).finite().matrix
    assert operators.tangent_rank(matrix, p) == 7  # of 11
    full = AlphaIdentity(0.3, uniform_levels(3)).finite().matrix
    assert operators.tangent_rank(full, p[:, [0, 1, 0]] + 0.01) == 11
