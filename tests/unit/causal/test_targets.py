from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from privexplorer.causal.laws import LAW_A, FiniteLaw, Points, binary_law, table_regression
from privexplorer.causal.mechanisms import AlphaIdentity, UniformNoise, uniform_levels
from privexplorer.causal.targets import (
    ATE,
    ATT,
    CAUSAL_TARGETS,
    AverageDerivative,
    CausalTarget,
    Cell,
    KnownRepresenter,
    LineIntegral,
    MeanUnder,
    Part,
    RayIntegral,
    SeveralRegressions,
    Target,
    TimeDiscount,
    UntreatedMeanOfTreated,
    two_regressions,
)
from privexplorer.causal.theory import gateaux_check
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

RANDOM = [FiniteLaw.random(np.random.default_rng(seed), 2 + seed % 4, 2 + seed % 2) for seed in range(12)]


def two_means() -> SeveralRegressions:
    # end of Ex. 9: f = (μ(1, x) + mean over both arms)·γ₁·γ₂ with two cell means
    return SeveralRegressions(
        (
            Part(lambda p: p.y, lambda mu, p: mu(p.at(d=1))),
            Part(lambda p: np.asarray(p.y) ** 2 * (1 + np.asarray(p.x)), lambda mu, p: mu(p), given_treatment=False),
        ),
        (
            Cell(lambda p: p.y, lambda p: np.asarray(p.d) == 1),
            Cell(lambda p: np.asarray(p.x) + 1.0, lambda p: np.asarray(p.d) == 0),
        ),
        factor=lambda g: float(g[0] * g[1]),
        factor_gradient=lambda g: np.array([g[1], g[0]]),
    )


TARGETS: list[Target] = [
    *CAUSAL_TARGETS,
    KnownRepresenter(lambda p: 1.0 + np.asarray(p.d) * np.asarray(p.x)),
    TimeDiscount(lambda x: x**2),
    two_regressions(),
    two_means(),
]
names = [type(t).__name__ + str(i) for i, t in enumerate(TARGETS)]


@pytest.mark.parametrize("target", TARGETS, ids=names)
def test_riesz_identity_linearity_and_centring(target: Target) -> None:
    rng = np.random.default_rng(1)
    for law in RANDOM:
        gammas = target.cell_means(law)[0]
        tables = [[rng.standard_normal((2 if arm else 1, law.levels)) for arm in target.on_arms()] for _ in range(2)]
        by_f = [target.mean_integrand(law, t, gammas) for t in tables]
        # (5): linear in all regressions together
        both = [2.0 * a - 3.0 * b for a, b in zip(*tables, strict=True)]
        scale = 1 + abs(by_f[0]) + abs(by_f[1])
        assert target.mean_integrand(law, both, gammas) == pytest.approx(2 * by_f[0] - 3 * by_f[1], abs=1e-12 * scale)
        # (10): E f = Σ_k E r_k μ_k
        by_r = sum(
            float(np.sum((law.p_dx if len(t) > 1 else law.p_x) * r * t))
            for r, t in zip(target.representers(law), tables[0], strict=True)
        )
        assert by_r == pytest.approx(by_f[0], abs=1e-12 * scale)
        h = target.influence(law)
        assert h.shape == law.joint.shape
        assert law.mean(h) == pytest.approx(0.0, abs=1e-12 * (1 + np.abs(h).max()))


@pytest.mark.parametrize("target", CAUSAL_TARGETS, ids=lambda t: t.name + str(getattr(t, "arm", "")))
def test_closed_representer_equals_the_enumerated_one(target: CausalTarget) -> None:
    for law in RANDOM:
        (closed,) = target.representers(law)
        (counted,) = Target.representers(target, law)
        assert closed == pytest.approx(counted, rel=1e-10)


@pytest.mark.parametrize("target", CAUSAL_TARGETS, ids=lambda t: t.name + str(getattr(t, "arm", "")))
def test_score_parts_and_plug_in_agree_with_the_influence_function(target: CausalTarget) -> None:
    for law in RANDOM:
        value = target.value(law)
        assert float(target.plug_in(law.p_dx, law.mu)) == pytest.approx(value, rel=1e-12)
        e = float(target.slope(value, law.treated_share))
        a1, b1, a0, b0 = target.score_parts(law.propensity, law.mu[0], law.mu[1], law.treated_share, e)
        y = law.values[:, None]
        score = np.stack([a0 * y + b0, a1 * y + b1], axis=1)
        assert all(part.shape == (law.levels,) for part in (a1, b1, a0, b0))
        assert score - value == pytest.approx(target.influence(law), abs=1e-10 * (1 + np.abs(score).max()))
        if target.uses_treated_share:
            assert e == pytest.approx(float(target.nuisances(law).slopes[0]), rel=1e-12)
    many = np.stack([law.p_dx for law in RANDOM[::4]])
    tables = np.stack([law.mu for law in RANDOM[::4]])
    assert target.plug_in(many, tables) == pytest.approx([target.value(law) for law in RANDOM[::4]], rel=1e-12)


def test_treated_do_not_need_their_own_regression() -> None:
    # μ₁ drops out of the score on the treated
    parts = [ATT().score_parts(0.3, 0.2, mu1, 0.4, -0.5) for mu1 in (0.1, 9.0)]
    assert parts[0] == parts[1]


@pytest.mark.parametrize("target", TARGETS, ids=names)
def test_derivative_along_paths_is_the_mean_of_score_times_influence(target: Target) -> None:
    rng = np.random.default_rng(2)
    for law in RANDOM[:6]:
        found = gateaux_check(law, target, rng.standard_normal(law.joint.shape))
        assert abs(found.gap) < 1e-8 * (1 + abs(found.inner_product))
        assert abs(found.inner_product) > 1e-4


def test_E1_sign_of_the_last_term_on_the_treated() -> None:
    target = ATT()
    right, printed = target.influence(LAW_A), target.influence(LAW_A, printed=True)
    assert abs(LAW_A.mean(right)) < 1e-15
    assert LAW_A.mean(printed) == pytest.approx(0.36087, abs=5e-6)
    assert LAW_A.mean(printed) == pytest.approx(2 * target.value(LAW_A), rel=1e-12)
    direction = np.random.default_rng(3).standard_normal((2, 2, 3))
    assert abs(gateaux_check(LAW_A, target, direction).gap) < 1e-10
    assert abs(gateaux_check(LAW_A, target, direction, influence=printed).gap) > 1e-3


def test_E6_gradient_of_the_squared_loss() -> None:
    # printed +(…); a finite difference has the minus sign
    rng = np.random.default_rng(4)
    mu = LAW_A.mu + 0.1 * rng.standard_normal((2, 3))
    slope = rng.standard_normal((2, 3))  # Dμ along one coefficient

    def loss(step: float) -> float:
        return LAW_A.mean((LAW_A.points.y - table_regression(mu + step * slope)(LAW_A.points)) ** 2)

    measured = (loss(1e-5) - loss(-1e-5)) / 2e-5
    right = LAW_A.mean(-2 * (LAW_A.points.y - mu[None]) * slope)
    assert measured == pytest.approx(right, rel=1e-8)
    assert measured != pytest.approx(-right, rel=1e-1)


def test_regression_and_representer_minimise_their_losses() -> None:
    rng = np.random.default_rng(5)
    for target in (ATE(), ATT(), UntreatedMeanOfTreated(), TimeDiscount(lambda x: 0.5 * x)):
        (r,), (mu,) = target.representers(LAW_A), target.regressions(LAW_A)
        weights = LAW_A.p_dx if target.given_treatment else LAW_A.p_x[None]
        for _ in range(5):
            h = r + rng.standard_normal(r.shape)
            gap = target.representer_loss(LAW_A, h) - target.representer_loss(LAW_A, r)
            assert gap == pytest.approx(float(np.sum(weights * (h - r) ** 2)), rel=1e-12)
            other = mu + rng.standard_normal(mu.shape)
            losses = [LAW_A.mean((LAW_A.points.y - table_regression(t)(LAW_A.points)) ** 2) for t in (other, mu)]
            assert losses[0] - losses[1] == pytest.approx(float(np.sum(weights * (other - mu) ** 2)), rel=1e-12)


def test_E7_regression_cancels_for_a_known_weight() -> None:
    target = KnownRepresenter(lambda p: 2.0 + np.asarray(p.x))
    truth = target.nuisances(LAW_A)
    scores = [
        target.influence(LAW_A, truth.replaced(regressions=[np.full((2, 3), level)])) for level in (0.0, 1.0, -7.0)
    ]
    expected = np.broadcast_to(target.score(LAW_A.points), LAW_A.joint.shape) - truth.value
    for score in scores:
        assert score == pytest.approx(expected, abs=1e-12)


def test_initial_value_cancels() -> None:
    # (8): shifting the initial value shifts value and score against each other
    truth = ATT().nuisances(LAW_A)
    moved = truth.replaced(value=truth.value + 5.0)
    first = truth.value + ATT().influence(LAW_A, truth)
    assert first == pytest.approx(moved.value + ATT().influence(LAW_A, moved), abs=1e-12)


# --- paths and shifts -------------------------------------------------------------------------------------------


def square(points: Points) -> np.ndarray:
    x = np.asarray(points.x)
    return x**2 if x.ndim == 1 else np.sum(x**2, axis=-1)


def test_paths_against_exact_integrals() -> None:
    rng = np.random.default_rng(6)
    w = rng.standard_normal((7, 2))
    ray = RayIntegral(0.2, 1.5)
    length = np.linalg.norm(w, axis=1)
    exact = length**3 * (1.5**3 - 0.2**3) / 3
    assert ray.integrand(square, Points(x=np.zeros(7), w=w)) == pytest.approx(exact, rel=1e-12)
    assert ray.integrand(square, Points(x=np.zeros(7), w=w[:, 0])) == pytest.approx(
        np.abs(w[:, 0]) ** 3 * (1.5**3 - 0.2**3) / 3, rel=1e-12
    )
    line = LineIntegral()
    begin, end = w[:, 0], w[:, 1]
    exact = np.abs(end - begin) * (begin**2 + begin * end + end**2) / 3
    assert line.integrand(square, Points(x=np.zeros(7), w=w)) == pytest.approx(exact, rel=1e-12)
    ends = np.stack([w, 2 * w + 1], axis=1)  # two columns
    one = quad(lambda t: float(np.sum((w[0] + t * (w[0] + 1)) ** 2)), 0, 1)[0] * np.linalg.norm(w[0] + 1)
    assert line.integrand(square, Points(x=np.zeros(7), w=ends))[0] == pytest.approx(one, rel=1e-10)


def test_several_functions_at_once() -> None:
    def basis(points: Points) -> np.ndarray:
        x = np.asarray(points.x, dtype=float)
        return np.stack([np.ones_like(x), x, x * np.asarray(points.d)], axis=-1)

    x, d = np.array([0.5, 2.0]), np.array([1, 0])
    points = Points(x=x, d=d, y=np.zeros(2), w=np.array([1.0, -2.0]))
    assert ATE().integrand(basis, points).tolist() == [[0, 0, 0.5], [0, 0, 2.0]]
    assert ATT().integrand(basis, points, 0.5).tolist() == [[0, 0, 1.0], [0, 0, 0]]
    assert UntreatedMeanOfTreated().integrand(basis, points, 0.5).tolist() == [[2, 1, 0], [0, 0, 0]]
    assert AverageDerivative(0.25).integrand(basis, points).tolist() == [[0, 1, 1], [0, 1, 0]]
    assert TimeDiscount(lambda t: t).integrand(basis, points)[0] == pytest.approx(np.array([1, 0.5, 0.5]) / 1.5)
    assert RayIntegral(1.0, 2.0).integrand(basis, points)[:, :2] == pytest.approx(np.array([[1, 1.5], [2, -6.0]]))


def test_E11_bounded_column_has_no_average_slope_representer() -> None:
    target = AverageDerivative(0.2)
    density = UniformNoise(0.0, 1.0).density
    value = quad(lambda x: float(target.integrand(lambda p: p.x**2, Points(x=np.array([x])))[0]), 0, 1)[0]
    assert value == pytest.approx(1.2, rel=1e-12)
    by_r = quad(lambda x: float(target.representer(density, x)) * x**2, 0, 1, points=[0.2])[0]
    assert by_r == pytest.approx(-0.0133, abs=5e-5)
    # on categories the shift leaves the table, and that is said
    with pytest.raises(ParameterError, match="shifted law must be dominated"):
        AverageDerivative(1.0).value(LAW_A)


# --- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: MeanUnder(2), ParameterError, "0 or 1; it is 2"),
        (lambda: AverageDerivative(0.0), ParameterError, "above 0"),
        (lambda: RayIntegral(0.0, 1.0), ParameterError, "above 0"),
        (lambda: RayIntegral(2.0, 1.0), ParameterError, "from 2 to 1"),
        (lambda: TimeDiscount(lambda x: -x).value(LAW_A), ParameterError, "at least 0"),
        (lambda: SeveralRegressions(()), ParameterError, "number of regressions"),
        (lambda: two_regressions().integrand(square, LAW_A.points), UnsupportedCombination, "several regressions"),
        (lambda: ATT().integrand(square, Points(x=np.ones(2)), 0.0), ParameterError, "no treated units"),
        (lambda: RayIntegral(1, 2).integrand(square, Points(x=np.ones(2))), DataError, "public columns"),
        (lambda: LineIntegral().integrand(square, Points(x=np.ones(2), w=np.ones(2))), DataError, "begin and an end"),
        (lambda: ATE().value(binary_law([1], [0.0], [0.5], [0.5])), DataError, "no overlap"),
    ],
)
def test_refusals(make: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_empty_cell_is_refused() -> None:
    # E15: the low-dimensional mean needs somebody in its cell
    target = SeveralRegressions(
        (Part(lambda p: p.y, lambda mu, p: mu(p)),),
        (Cell(lambda p: p.y, lambda p: np.asarray(p.y) > 5),),
        factor=lambda g: float(g[0]),
        factor_gradient=lambda g: np.ones(1),
    )
    with pytest.raises(DataError, match="empty"):
        target.value(LAW_A)


def test_relabelling_the_categories_changes_nothing() -> None:
    order = [2, 0, 1]
    moved = FiniteLaw(LAW_A.joint[:, :, order], LAW_A.values)
    for target in CAUSAL_TARGETS:
        assert target.value(moved) == pytest.approx(target.value(LAW_A), rel=1e-12)
        assert target.influence(moved) == pytest.approx(target.influence(LAW_A)[:, :, order], rel=1e-10, abs=1e-12)


def test_value_needs_no_mechanism() -> None:
    # at keep probability 1 the shown law is the law
    mechanism = AlphaIdentity(1.0, uniform_levels(3))
    assert ATE().value(LAW_A.shown_law(mechanism)) == pytest.approx(0.22, rel=1e-12)
    assert math.isclose(MeanUnder(1).value(LAW_A) - MeanUnder(0).value(LAW_A), 0.22, rel_tol=1e-12)
    treated = float(np.sum(LAW_A.p_dx[1] * LAW_A.mu[1])) / LAW_A.treated_share
    assert treated - UntreatedMeanOfTreated().value(LAW_A) == pytest.approx(ATT().value(LAW_A), rel=1e-12)
