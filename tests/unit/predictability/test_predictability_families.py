"""Families of queries, several releases, and what noise costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import ellipe

from privexplorer import predictability as pr
from privexplorer.errors import ParameterError, UnsupportedCombination

SIZE = pr.shard_size(0.4, 20)
values = st.floats(-5, 5, allow_nan=False)


def spread_of(x: Any) -> np.ndarray:
    return np.asarray(x - np.mean(x, axis=0), dtype=float)


# --- finite families -----------------------------------------------------------------------------------------


def test_one_pair_is_the_single_bound(d20: dict[str, Any]) -> None:
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    found = pr.finite_family([summary], SIZE, np.eye(2))
    single = pr.predictability(summary, SIZE, np.eye(2), noise_scale="paper")
    assert found.bound == pytest.approx(single.printed[0], rel=1e-13)
    assert found.pairs == 1
    for form in ("printed", "corrected"):
        assert found.high_probability(0.05, form) == pytest.approx(single.high_probability(0.05, form)[0], rel=1e-13)


def test_growth_is_logarithmic(d20: dict[str, Any]) -> None:
    """R12: the factor is 1 + log(4|Q||W|) from 1 to a million pairs."""
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    sizes = 10 ** np.arange(7)
    bounds = np.array([pr.finite_family([summary], SIZE, pairs=int(pairs)).bound for pairs in sizes])
    np.testing.assert_allclose(bounds / bounds[0], (1 + np.log(4 * sizes)) / (1 + math.log(4)), rtol=1e-12)
    with pytest.raises(ParameterError, match="cannot be 0"):
        pr.finite_family([summary], SIZE, pairs=0)
    with pytest.raises(ParameterError, match="At least one process"):
        pr.finite_family([], SIZE)


# --- complexities --------------------------------------------------------------------------------------------


def test_ball_complexity() -> None:
    """Against elliptic integrals (d = 2), chi means (any d), and simulation to five standard errors."""
    for small in (0.0, 1e-4, 0.3, 1.0):
        exact = math.sqrt(2 / math.pi) * 3 * ellipe(1 - small**2 / 9)
        assert pr.ball_complexity(np.diag([small**2, 9.0]), method="exact") == pytest.approx(exact, rel=1e-10)
    for d in (1, 3, 50):
        chi = math.sqrt(2) * math.exp(math.lgamma((d + 1) / 2) - math.lgamma(d / 2))
        assert pr.ball_complexity(2.25 * np.eye(d), 4.0, "exact") == pytest.approx(6 * chi, rel=1e-10)
        assert pr.ball_complexity(2.25 * np.eye(d), 4.0) == pytest.approx(6 * math.sqrt(d), rel=1e-14)
    half = np.random.default_rng(0).standard_normal((4, 4))
    lengths = np.linalg.norm(np.random.default_rng(1).standard_normal((200_000, 4)) @ half, axis=1)
    exact = pr.ball_complexity(half.T @ half, method="exact")
    assert lengths.mean() == pytest.approx(exact, abs=5 * lengths.std() / math.sqrt(200_000))
    assert pr.ball_complexity(np.zeros((2, 2)), method="exact") == 0.0


def test_l1_complexity() -> None:
    """Exact, corrected and printed (E10): the printed formula is below the truth from d = 1 on."""
    rng = np.random.default_rng(0)
    for d in (1, 2, 5, 20):
        exact = pr.l1_complexity(np.eye(d), method="independent")
        assert pr.l1_complexity(np.eye(d), method="printed") < exact < pr.l1_complexity(np.eye(d))
        drawn = np.abs(rng.standard_normal((50_000, d))).max(axis=1)
        assert drawn.mean() == pytest.approx(exact, abs=5 * drawn.std() / math.sqrt(50_000))
    assert pr.l1_complexity(np.eye(2), method="independent") == pytest.approx(2 / math.sqrt(math.pi), rel=1e-12)
    sigma = np.array([[1.0, 0.9], [0.9, 4.0]])
    simulated = pr.l1_complexity(sigma, 3.0, "simulated", 50_000, rng)
    drawn = 3 * np.abs(rng.multivariate_normal(np.zeros(2), sigma, 50_000)).max(axis=1)
    assert simulated == pytest.approx(drawn.mean(), abs=7 * drawn.std() / math.sqrt(50_000))
    with pytest.raises(ParameterError, match="random generator"):
        pr.l1_complexity(sigma, method="simulated")


def test_finite_directions_are_two_sided() -> None:
    rng = np.random.default_rng(0)
    found = pr.finite_complexity(np.diag([4.0, 1.0]), [[1.0, 0.0]], 100_000, rng)
    assert found == pytest.approx(2 * math.sqrt(2 / math.pi), abs=5 * 2 * 0.6 / math.sqrt(100_000))


def test_gaussian_supremum_stays_below_its_level() -> None:
    """Thm A.23 for the ball: the level at δ is exceeded with probability at most δ, and is not idle."""
    rng = np.random.default_rng(2)
    sigma = np.diag([1.0, 2.0, 0.5])
    suprema = np.linalg.norm(rng.standard_normal((100_000, 3)) * np.sqrt(np.diagonal(sigma)), axis=1)
    for delta in (0.05, 0.3):
        level = pr.supremum_level(pr.ball_complexity(sigma, method="exact"), 2.0, delta)
        assert (suprema > level).mean() < delta
        assert (suprema > 0.7 * level).mean() > delta / 20


# --- linear families -----------------------------------------------------------------------------------------


def test_vector_estimators_by_block_inverse(d20: dict[str, Any]) -> None:
    """Thm A.22, Eq. (3): Σ₂ is the first block of (GᵀΩ⁻¹G)⁻¹ for the stacked vector conditions."""
    summary = pr.moment_summary(d20["x"], spread_of(d20["y"]))
    family = pr.linear_family(summary, SIZE, [[4.0]])
    system = pr.moment_system(summary, [[4.0]])
    assert system.slope.shape == (2 + 1 + 1, 3)
    np.testing.assert_allclose(system.query_covariance(), family.after, rtol=1e-10)
    np.testing.assert_allclose(pr.moment_system(summary, stage="before").query_covariance(), family.before, rtol=1e-12)
    np.testing.assert_allclose(family.before, np.cov(d20["x"].T, bias=True), rtol=1e-12)
    # each linear query is a scalar query
    u = np.array([0.3, -2.0])
    scalar = pr.moment_summary(d20["x"] @ u, spread_of(d20["y"]))
    found = pr.predictability(scalar, SIZE, [[4.0]], noise_scale="paper")
    assert u @ family.explained @ u == pytest.approx(found.explained[0], rel=1e-11)
    assert u @ family.c0 @ u == pytest.approx(found.c0[0] * found.variance_before[0], rel=1e-10)


def test_first_canonical_correlation(d20: dict[str, Any]) -> None:
    """Def 5.3: no pair of directions correlates more, and random search comes near."""
    g = spread_of(np.column_stack([d20["y"], d20["x1"] * d20["x2"]]))
    family = pr.linear_family(pr.moment_summary(d20["x"], g), SIZE)
    rng = np.random.default_rng(0)
    pairs = [
        abs(np.corrcoef(d20["x"] @ rng.standard_normal(2), g @ rng.standard_normal(2))[0, 1]) for _ in range(4_000)
    ]
    assert 0.99 * family.rho1_cc < max(pairs) <= family.rho1_cc + 1e-12


@given(
    hnp.arrays(np.float64, (25, 3), elements=values), hnp.arrays(np.float64, (25, 2), elements=values),
    st.floats(0.01, 50.0), st.floats(0.1, 10.0),
)  # fmt: skip
def test_the_trace_bound_is_never_below_the_general_one(
    x: np.ndarray, y: np.ndarray, noise: float, radius: float
) -> None:
    """P-X30: Thm 5.2 with B² is looser than A.21 on any data."""
    g = np.where(np.abs(spread_of(y)) < 1e-12, 0.0, spread_of(y))
    assume((x.std(axis=0) > 1e-3).all())
    family = pr.linear_family(pr.moment_summary(x, g), SIZE, noise * np.eye(2))
    assert family.trace_bound(radius) >= family.bound("l2", radius) * (1 - 1e-9) or family.rho1_cc < 1e-6
    values, trace = np.linalg.eigvalsh(family.before), np.trace(family.before)
    assert values[0] <= trace + 1e-9
    assert values[-1] <= trace + 1e-9
    assert family.bound("l2", radius, exact=True) <= family.bound("l2", radius) + 1e-12


def test_the_bounds_hold_for_the_simulated_supremum(d20: dict[str, Any]) -> None:
    """R13: expected supremum <= A.21 <= Thm 5.2, for balls, L1 balls and finite sets, gains below products."""
    rng = np.random.default_rng(4)
    summary = pr.moment_summary(d20["x"], spread_of(d20["x"]))
    family = pr.linear_family(summary, SIZE, np.eye(2))
    gain = family.simulated_supremum(20_000, rng, 1.5)
    product = family.simulated_supremum(20_000, rng, 1.5, "product")
    assert 0 < gain.mean() < product.mean() < family.bound("l2", 1.5) < family.trace_bound(1.5)
    for delta in (0.05, 0.01):
        assert (product > family.bound("l2", 1.5, delta=delta)).mean() < delta
    assert family.bound("l2", 1.5, delta=0.01) > family.bound("l2", 1.5, delta=0.05) > family.bound("l2", 1.5)
    # corners of an L1 ball are a finite set
    corners = 1.5 * np.eye(2)
    at_corners = family.simulated_supremum(20_000, rng, what="product", directions=corners).mean()
    assert at_corners < family.bound("finite", directions=corners, rng=rng) < family.bound("l1", 1.5)
    assert family.bound("l1", 1.5, exact=True, rng=rng) == pytest.approx(
        family.bound("finite", directions=corners, rng=rng), rel=0.02
    )


def test_supremum_over_the_ball_by_search(d20: dict[str, Any]) -> None:
    """The closed forms of the supremum against a fine grid of directions, same draws."""
    family = pr.linear_family(pr.moment_summary(d20["x"], spread_of(d20["y"])), SIZE, [[4.0]])
    angles = np.linspace(0, math.pi, 3_001)
    grid = np.column_stack([np.cos(angles), np.sin(angles)])
    for what in ("gain", "product"):
        one = family.simulated_supremum(200, np.random.default_rng(0), 1.0, what)
        two = family.simulated_supremum(200, np.random.default_rng(0), what=what, directions=grid)
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-9)


def test_supremum_over_the_l1_ball_by_search(d20: dict[str, Any]) -> None:
    """Edges of the L1 ball against many directions on its surface, same draws; above the corners alone."""
    x = np.column_stack([d20["x"], d20["x1"] * d20["x2"] / 5])
    family = pr.linear_family(pr.moment_summary(x, spread_of(d20["y"])), SIZE, [[4.0]])
    rng = np.random.default_rng(0)
    normals = rng.standard_normal((2, 60, 3))
    steps = np.linspace(-1, 1, 101)
    rows = np.array([[a, b, sign * (1 - abs(a) - abs(b))] for a in steps for b in steps for sign in (-1, 1)])
    rows = rows[np.abs(rows[:, :2]).sum(axis=1) <= 1 + 1e-12]
    for what in ("gain", "product"):
        edges = family.suprema(*normals, 1.0, what, shape="l1")
        searched = family.suprema(*normals, what=what, directions=rows)
        corners = family.suprema(*normals, what=what, directions=np.eye(3))
        np.testing.assert_allclose(edges, searched, rtol=2e-3, atol=1e-9)
        assert (edges >= searched - 1e-12).all()
        assert (edges > 1.01 * corners).any()
        np.testing.assert_allclose(family.suprema(*normals, 2.0, what, shape="l1"), 4 * edges, rtol=1e-12)


def test_singular_features_of_a_family(d20: dict[str, Any]) -> None:
    x = np.column_stack([d20["x"], d20["x1"] + d20["x2"]])
    one = pr.linear_family(pr.moment_summary(x, spread_of(d20["y"])), SIZE)
    two = pr.linear_family(pr.moment_summary(d20["x"], spread_of(d20["y"])), SIZE)
    assert one.rho1_cc == pytest.approx(two.rho1_cc, rel=1e-9)
    zero = pr.linear_family(pr.moment_summary(np.ones((20, 2)), spread_of(d20["y"])), SIZE)
    assert zero.trace_bound() == zero.rho1_cc == 0.0


def test_refusals_of_families(d20: dict[str, Any]) -> None:
    family = pr.linear_family(pr.moment_summary(d20["x"], spread_of(d20["y"])), SIZE)
    for call, words in (
        (lambda: family.bound("l3"), "'l2', 'l1' or 'finite'"),
        (lambda: family.bound("finite"), "needs its directions"),
        (lambda: family.bound("l2", 0.0), "radius B must be above 0"),
        (lambda: family.bound("l2", delta=0.0), "strictly between 0 and 1"),
        (lambda: pr.linear_family(pr.moment_summary(d20["x"], spread_of(d20["y"])), SIZE, np.eye(2)), "1 × 1 matrix"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()  # type: ignore[no-untyped-call]
    assert "not a bound for the average of f(x)" in pr.LIPSCHITZ_NOTE


def test_lipschitz_constants() -> None:
    """Def A.8: the largest difference quotient on a grid; 1 for |x|, 3 for 3x, below 2 for sin 2x."""
    grid = np.linspace(-2, 2, 401)
    assert pr.lipschitz_constant(np.abs(grid), grid) == pytest.approx(1.0)
    assert pr.lipschitz_constant(3 * grid, grid) == pytest.approx(3.0)
    assert 1.99 < pr.lipschitz_constant(np.sin(2 * grid), grid) < 2.0
    with pytest.raises(ParameterError, match="at least 2 different points"):
        pr.lipschitz_constant([1.0, 2.0], [0.0, 0.0])


# --- composition and post-processing -------------------------------------------------------------------------


def test_ledger_in_both_orders(d20: dict[str, Any]) -> None:
    """Thm A.11: gains add up exactly to the joint gain in either order; the chain bound is above the joint one."""
    stack = pr.fit_all([pr.Mean(columns=("x1",)), pr.Mean(columns=("x2",))], d20)
    summary = pr.summarise(d20, pr.query_set(["q", "y", "x1 > 0"], d20), stack)
    sigma = np.diag([1.0, 2.0])
    joint = pr.predictability(summary, SIZE, sigma, noise_scale="paper")
    totals = []
    for order in pr.all_orders(2):
        ledger = pr.release_ledger(summary, stack.moment_blocks, stack.number_blocks, sigma, SIZE, order=order)
        np.testing.assert_allclose(ledger.total_gain, joint.gain, rtol=1e-12)
        np.testing.assert_allclose(ledger.joint, joint.printed, rtol=1e-10)
        assert (ledger.chain_bound >= ledger.joint * (1 - 1e-12)).all()
        assert (np.diff(ledger.variances, axis=0) <= 0).all()
        first = pr.predictability(
            summary.select(moments=[order[0]]), SIZE, sigma[order[0] : order[0] + 1, order[0] : order[0] + 1],
            noise_scale="paper",
        )  # fmt: skip
        np.testing.assert_allclose(ledger.terms[0], first.printed, rtol=1e-10)
        np.testing.assert_allclose(ledger.marginal[0], first.printed, rtol=1e-10)
        totals.append(ledger)
    np.testing.assert_allclose(totals[0].marginal, totals[1].marginal[::-1], rtol=1e-12)
    # the second term is not the marginal one
    assert abs(totals[0].terms[1] / totals[0].marginal[1] - 1).max() > 0.1


def test_ledger_of_three_releases_and_refusals(d20: dict[str, Any]) -> None:
    stack = pr.fit_all(
        [
            pr.Mean(columns=("x1",)),
            pr.LinearRegression(features=("x1", "x2"), intercept=False),
            pr.Mean(columns=("y",)),
        ],
        d20,
    )
    summary = pr.summarise(d20, pr.query_set(["q"], d20), stack)
    sigma = 0.1 * np.eye(4)
    gains = [
        pr.release_ledger(
            summary, stack.moment_blocks, stack.number_blocks, sigma, SIZE, order=order, noise_multiplier=5.0
        ).total_gain[0]
        for order in pr.all_orders(3)
    ]
    assert len(gains) == 6
    np.testing.assert_allclose(gains, gains[0], rtol=1e-12)
    assert len(pr.all_orders(5)) == 24
    with pytest.raises(ParameterError, match="each of the 3 releases once"):
        pr.release_ledger(summary, stack.moment_blocks, stack.number_blocks, sigma, SIZE, order=(0, 0, 1))
    joined = sigma.copy()
    joined[0, 3] = joined[3, 0] = 0.05
    with pytest.raises(ParameterError, match="independent noise"):
        pr.release_ledger(summary, stack.moment_blocks, stack.number_blocks, joined, SIZE)


@given(hnp.arrays(np.float64, (25, 3), elements=values), hnp.arrays(np.float64, (2, 3), elements=values))
def test_post_processing_never_helps_the_attacker(x: np.ndarray, matrix: np.ndarray) -> None:
    """Thm A.10: r² falls under any linear map; an invertible one changes nothing."""
    g = spread_of(x)
    assume((g.std(axis=0) > 1e-3).all())
    summary = pr.moment_summary((x[:, 0] > x[:, 1]).astype(float), g)
    sigma = np.array([[1.0, 0.2, 0.0], [0.2, 2.0, 0.0], [0.0, 0.0, 0.5]])
    found = pr.post_process(summary, sigma, matrix)
    assert (found.after <= found.before + 1e-10).all()
    same = pr.post_process(summary, sigma, np.eye(3))
    np.testing.assert_allclose(same.after, same.before, rtol=1e-9, atol=1e-12)
    turned = pr.post_process(summary, sigma, np.array([[1.0, 2, 0], [0, 1, 3], [1, 0, 1]]))
    np.testing.assert_allclose(turned.after, turned.before, rtol=1e-8, atol=1e-10)


def test_one_coordinate_of_a_regression(crowd: dict[str, Any]) -> None:
    """Spec 3.4: publishing one coefficient is a statistic with that coefficient's influence."""
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    asked = pr.query_set(["b > 1", "yes"], crowd)
    summary = pr.summarise(crowd, asked, release)
    found = pr.post_process(summary, 0.01 * np.eye(4), [[0.0, 1.0, 0.0, 0.0]])
    g = np.empty((5_000, 4))
    release.fill(crowd, g)
    influence = np.linalg.solve(release.hessian, g.T)[1]
    direct = pr.moment_summary(asked.evaluate(crowd), influence)
    np.testing.assert_allclose(found.after, pr.noise_spectrum(direct, [[0.01]]).r2(), rtol=1e-8)
    with pytest.raises(ParameterError, match="one column per released number; it has 2 and 4"):
        summary.project(np.eye(2))
    bgd = pr.GradientDescent(features=("a",), target="y", steps=2, step_size=0.1, released="path").fit(crowd)
    assert pr.summarise(crowd, asked, bgd).project(np.eye(4)[2:]).dimension == 2


# --- accuracy ------------------------------------------------------------------------------------------------


def test_excess_error_is_the_trace(crowd: dict[str, Any]) -> None:
    """Proof of Thm 4.4: trace = σ² E[res² xᵀM⁻¹x]; noise drawn many times agrees to five standard errors."""
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    summary = pr.summarise(crowd, pr.query_set(["yes"], crowd), release)
    law = pr.Calibrated(level=0.8).law(pr.noise_setting(summary))
    found = pr.regression_accuracy(release, crowd, 0.8)
    assert found.calibrated == pytest.approx(pr.excess_error(release.gram, law.covariance), rel=1e-10)
    assert found.isotropic == pytest.approx(pr.excess_error(release.gram, 0.8 * np.eye(4)), rel=1e-12)
    x = np.column_stack([np.ones(5_000), crowd["x"]])
    noise = law.sample(4_000, np.random.default_rng(0))
    errors = np.einsum("td,de,te->t", noise, x.T @ x / 5_000, noise)
    assert errors.mean() == pytest.approx(found.calibrated, abs=5 * errors.std() / math.sqrt(4_000))
    assert found.calibrated <= found.bound
    assert found.bound == min(found.bound_mean_loss, found.bound_max_loss)
    halves = [{name: values[k::2] for name, values in crowd.items()} for k in range(2)]
    assert pr.regression_accuracy(release, halves, 0.8).calibrated == pytest.approx(found.calibrated, rel=1e-12)


def test_noise_follows_the_residuals(d20: dict[str, Any]) -> None:
    """P-X24: residuals times 3 leave ρ unchanged and multiply V_sand by 9."""
    release = pr.LinearRegression(features=("x1", "x2"), intercept=False).fit(d20)
    fitted = d20["x"] @ release.coefficients
    table = dict(d20, y3=fitted + 3 * (d20["y"] - fitted))
    other = pr.LinearRegression(features=("x1", "x2"), target="y3", intercept=False).fit(table)
    np.testing.assert_allclose(other.coefficients, release.coefficients, rtol=1e-12)
    one, two = (pr.summarise(table, pr.query_set(["q"], table), fit) for fit in (release, other))
    np.testing.assert_allclose(two.sandwich, 9 * one.sandwich, rtol=1e-11)
    assert pr.noise_spectrum(two).rho2[0] == pytest.approx(pr.noise_spectrum(one).rho2[0], rel=1e-11)


def test_noise_schemes_at_equal_predictability(d20: dict[str, Any]) -> None:
    """E14: of 200 random queries isotropic noise is better for about half; at equal σ² one compares nothing."""
    release = pr.LinearRegression(features=("x1", "x2"), intercept=False).fit(d20)
    rng = np.random.default_rng(0)
    asked = rng.random((20, 200)) < 0.5
    table = dict(d20, many=asked.astype(float))
    summary = pr.summarise(table, pr.column_queries(["many"], table), release)
    ratios = []
    for query in range(200):
        found = pr.equal_predictability(summary, release.gram, summary.sandwich, np.eye(2), 0.7, query=query)
        for level, sigma in ((found.first_level, summary.sandwich), (found.second_level, np.eye(2))):
            spectrum = pr.noise_spectrum(summary.select(queries=[query]), level * sigma)
            assert math.sqrt(spectrum.r2()[0] / spectrum.rho2[0]) == pytest.approx(0.7, rel=1e-9)
        assert found.first_level == pytest.approx(0.7**-2 - 1, rel=1e-9)
        ratios.append(found.ratio)
    assert 0.4 < np.mean(np.array(ratios) < 1) < 0.6
    low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95])
    assert (0.70 < low < 0.82, 0.95 < middle < 1.05, 1.2 < high < 1.5) == (True, True, True)
    free = pr.moment_summary(np.ones(20), spread_of(d20["x"]))
    nothing = pr.equal_predictability(free, np.eye(2), np.eye(2), np.eye(2), 0.5)
    assert (nothing.first_level, nothing.second_error) == (0.0, 0.0)
    assert math.isnan(nothing.ratio)


def test_ellipse_for_drawing() -> None:
    sigma = np.array([[4.0, 1.0, 0.3], [1.0, 2.0, 0.0], [0.3, 0.0, 1.0]])
    points = pr.noise_ellipse(sigma, 0, 2)
    pair = sigma[np.ix_([0, 2], [0, 2])]
    np.testing.assert_allclose(np.einsum("pi,ij,pj->p", points, np.linalg.inv(pair), points), 1.0, rtol=1e-10)


def test_accuracy_is_about_least_squares(crowd: dict[str, Any]) -> None:
    ridge = pr.RidgeRegression(features=("x",), target="y").fit(crowd)
    with pytest.raises(UnsupportedCombination, match="about least squares"):
        pr.regression_accuracy(ridge, crowd, 1.0)
    linear = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    with pytest.raises(ParameterError, match="at least 0; it is -1"):
        pr.regression_accuracy(linear, crowd, -1.0)
