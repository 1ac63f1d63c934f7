"""Shifts, rays, lines, curves and known weights: identities, existence, and estimates from noised data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from privexplorer.arrays import FloatArray
from privexplorer.causal.bases import Additive, BSpline, Hermite, Legendre, Linear, OneHot
from privexplorer.causal.continuous_laws import DerivativeLaw
from privexplorer.causal.geometric import (
    GaussianLine,
    GaussianRay,
    WeightedLaw,
    average_derivative,
    average_derivative_representer,
    curve_integral,
    line_integral,
    mean_norm,
    one_step_average,
    path_nodes,
    ray_integral,
    shift_check,
    shift_check_gaussian,
    shift_check_laplace,
    weighted_average,
)
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
from privexplorer.causal.targets import AverageDerivative, KnownRepresenter, LineIntegral, RayIntegral, TimeDiscount
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

TWO = Additive((Hermite(3, 0.0, 1.3), Hermite(3, 0.0, 1.3)))


def wave(x: FloatArray) -> FloatArray:
    return np.asarray(np.cos(x) + x if x.ndim == 1 else np.cos(x[:, 0]) + x[:, 1] ** 2)


# --- when the average derivative exists (E11) --------------------------------------------------------------------


def test_shift_of_a_gaussian() -> None:
    for step, std in ((0.5, 1.0), (0.3, 2.0), (1.0, 0.8)):
        closed = shift_check_gaussian(step, std)
        numeric = shift_check(stats.norm(scale=std).logpdf, step, scale=std, reach=35)
        assert closed.second_moment == pytest.approx(math.exp((step / std) ** 2), rel=1e-12)
        assert numeric.second_moment == pytest.approx(closed.second_moment, rel=1e-8)
        assert closed.holds
        assert not closed.bounded
        assert not numeric.bounded
        assert "not bounded" in closed.sentence


def test_shift_of_a_laplace_law() -> None:
    for step, scale in ((0.5, 1.0), (0.2, 0.7)):
        closed = shift_check_laplace(step, scale)
        numeric = shift_check(stats.laplace(scale=scale).logpdf, step, scale=scale)
        assert closed.largest_ratio == pytest.approx(math.exp(step / scale), rel=1e-12)
        assert numeric.largest_ratio == pytest.approx(closed.largest_ratio, rel=1e-9)
        assert numeric.second_moment == pytest.approx(closed.second_moment, rel=1e-6)
        assert numeric.bounded


def test_shift_of_heavy_and_of_very_light_tails() -> None:
    student = shift_check(stats.t(3).logpdf, 0.5, reach=2000)
    assert student.bounded
    assert 1 < student.second_moment < 1.5
    light = [shift_check(lambda x: x - np.exp(x), step, reach=6.5) for step in (0.5, 0.9)]
    assert [check.holds for check in light] == [True, False]
    with pytest.raises(UnsupportedCombination, match="tail is so light"):
        light[1].require()


def test_bounded_columns_are_refused() -> None:
    """U(0, 1), μ = x², step .2: the average derivative is 1.2, but E r μ = -0.0133 (E11)."""
    check = shift_check(lambda x: np.zeros_like(x), 0.2, low=0.0, high=1.0)
    assert not check.holds
    with pytest.raises(UnsupportedCombination, match="shifted law must be dominated by the law of X"):
        check.require()
    x, share = path_nodes(0.0, 0.2, 20)
    rest, more = path_nodes(0.2, 1.0, 20)
    x, share = np.concatenate([x, rest]), np.concatenate([share, more])
    r = average_derivative_representer(lambda v: ((v >= 0) & (v <= 1)).astype(float), 0.2)
    assert average_derivative(lambda v: v**2, 0.2, x, share) == pytest.approx(1.2, rel=1e-12)
    assert float(np.sum(share * r(x) * x**2)) == pytest.approx(-0.0133333333, rel=1e-6)


def test_bounded_below_is_fine() -> None:
    check = shift_check(lambda x: -x, 0.5, low=0.0)
    assert check.second_moment == pytest.approx(math.exp(0.5), rel=1e-6)
    assert check.bounded


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf])
def test_bad_steps(step: float) -> None:
    with pytest.raises(ParameterError, match="must be a positive number"):
        shift_check_gaussian(step, 1.0)


# --- rays, lines, curves -----------------------------------------------------------------------------------------


def test_ray_and_line_of_polynomials() -> None:
    w = np.array([2.0, -1.0])
    np.testing.assert_allclose(ray_integral(lambda x: x**3, w, 0.5, 1.0), [8 * (1 - 0.5**4) / 4 * 2, -(1 - 0.5**4) / 4])
    begin, end = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]])
    assert float(line_integral(lambda x: x[:, 0] + x[:, 1], begin, end)[0]) == pytest.approx(3.5 * 5)


def test_bezier_of_degree_one_is_the_line() -> None:
    rng = np.random.default_rng(0)
    begin, end = rng.normal(size=(2, 6, 2))
    curve = curve_integral(wave, np.stack([begin, end], axis=1))
    np.testing.assert_allclose(curve, line_integral(wave, begin, end), rtol=1e-12)


def test_length_of_a_parabola() -> None:
    """Control points (0,0), (1/2,0), (1,1) draw y = x² over [0, 1]."""
    controls = np.array([[[0.0, 0.0], [0.5, 0.0], [1.0, 1.0]]])
    length = math.sqrt(5) / 2 + math.asinh(2) / 4
    assert float(curve_integral(lambda x: np.ones(len(x)), controls)[0]) == pytest.approx(length, rel=1e-12)
    with pytest.raises(ParameterError, match="at least two"):
        curve_integral(wave, controls[:, :1])


@pytest.mark.parametrize("dimension", [1, 2])
def test_both_sides_of_the_riesz_identity(dimension: int) -> None:
    ray = GaussianRay(dimension, 0.9, 1.2, 0.3, 1.2)
    line = GaussianLine(dimension, 0.9, 1.2)
    for shape in (ray, line):
        assert shape.value(wave) == pytest.approx(shape.value_by_representer(wave), rel=1e-9)


def test_ray_representer_in_one_dimension_by_substitution() -> None:
    """For d = 1 the inner integral of Ex. 5 is ∫ p_W(x/t) dt/t², that is {Φ(x/low) - Φ(x/high)}/x."""
    x = np.array([0.4, 1.1, -2.0])
    wanted = np.abs(x) * (stats.norm.cdf(x / 0.5) - stats.norm.cdf(x / 1.2)) / x / stats.norm(scale=1.3).pdf(x)
    np.testing.assert_allclose(GaussianRay(1, 1.0, 1.3, 0.5, 1.2).representer(x), wanted, rtol=1e-10)


def test_line_representer_is_the_double_integral_of_the_source() -> None:
    line = GaussianLine(1, 1.0, 1.4)

    (t, share), (delta, more) = path_nodes(0.0, 1.0, 60), path_nodes(0.0, 12.0, 200)
    total = 0.0
    for sign in (-1.0, 1.0):
        begin, end = 0.6 - sign * np.outer(t, delta), 0.6 + sign * np.outer(1 - t, delta)
        total += float(np.sum(np.outer(share, more * delta) * stats.norm.pdf(begin) * stats.norm.pdf(end)))
    wanted = total / float(stats.norm(scale=1.4).pdf(0.6))
    assert float(line.representer(np.array([0.6]))[0]) == pytest.approx(wanted, rel=1e-10)


def test_mean_norm() -> None:
    rng = np.random.default_rng(0)
    for dimension in (1, 2, 3):
        draws = rng.normal(size=(400_000, dimension))
        draws[:, 0] += 1.3
        length = np.sqrt((draws**2).sum(axis=1))
        error = length.std() / math.sqrt(len(length))
        assert abs(float(mean_norm(np.array(1.3), dimension)) - length.mean()) < 4 * error < 0.006


def test_ray_needs_a_wide_law_of_x() -> None:
    """The representer is in L₂ when s_X² exceeds t₁² s_W²/2: the tail of r² p_X falls on one side of it only."""
    edge = 1.5 / math.sqrt(2)
    wide, narrow = GaussianRay(1, 1.0, 1.05 * edge), GaussianRay(1, 1.0, 0.95 * edge)
    assert wide.holds
    assert not narrow.holds
    for ray, falls in ((wide, True), (narrow, False)):
        x = np.array([9.0, 12.0])
        tail = ray.representer(x) ** 2 * stats.norm(scale=ray.x_std).pdf(x)
        assert (tail[1] < tail[0]) == falls
    wide.require()
    with pytest.raises(
        UnsupportedCombination, match=r"no finite variance unless the standard deviation of X exceeds 1\.06"
    ):
        narrow.require()
    with pytest.raises(UnsupportedCombination, match="lines reach beyond"):
        GaussianLine(1, 1.0, 0.7).require()
    GaussianLine(1, 1.0, 0.71).require()


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (1.0, 1.0), (-1.0, 1.0), (0.5, math.inf)])
def test_bad_rays(low: float, high: float) -> None:
    with pytest.raises(ParameterError, match="positive number to a larger one"):
        ray_integral(wave, np.ones(2), low, high)


def test_other_bad_shapes() -> None:
    with pytest.raises(ParameterError, match="one or two dimensions"):
        GaussianRay(3)
    with pytest.raises(ParameterError, match="standard deviation of x must be a positive"):
        GaussianLine(1, 1.0, 0.0)


# --- estimates ---------------------------------------------------------------------------------------------------


def test_average_derivative_scores_by_hand() -> None:
    law = DerivativeLaw()
    rng = np.random.default_rng(0)
    y, x = law.sample(2000, rng)
    mechanism = AlphaIdentity(0.6, GaussianNoise(0.2, 0.9))
    z = np.asarray(mechanism.privatise(x, rng))
    labels = np.arange(2000) % 4
    found = one_step_average(
        y, z, mechanism, AverageDerivative(0.5), regression=Hermite(2), representer=law.representer, fold_ids=labels
    )
    points, weights = mechanism.nodes()
    scores = np.empty(2000)
    for k in range(4):
        held, rest = labels == k, labels != k
        gram = sum(
            w * np.outer(b, b)
            for w, b in [
                *zip(
                    np.full(rest.sum(), 1 / 0.6 / rest.sum()),
                    np.column_stack([np.ones(rest.sum()), z[rest]]),
                    strict=True,
                ),
                *zip(-weights * 0.4 / 0.6, np.column_stack([np.ones(len(points)), points]), strict=True),
            ]
        )
        right = np.array([1.0, 0.0]) * y[rest].mean()
        right[1] = np.mean(z[rest] * y[rest]) / 0.6 - 0.4 / 0.6 * y[rest].mean() * np.sum(weights * points)
        theta = np.linalg.solve(gram, right)
        low, high = y[rest].min(), y[rest].max()

        def mu(v: FloatArray, c: FloatArray = theta, a: float = low, b: float = high) -> FloatArray:
            return np.asarray(np.clip(c[0] + c[1] * v, a, b))

        def h(yy: Any, v: FloatArray, m: Any = mu) -> Any:
            return law.representer(v) * (yy - m(v)) + (m(v + 0.5) - m(v)) / 0.5

        noise = (weights * h(y[held][:, None], points[None, :])).sum(axis=1)
        scores[held] = h(y[held], z[held]) / 0.6 - 0.4 / 0.6 * noise
    assert found.scores is not None
    np.testing.assert_allclose(found.scores, scores, rtol=1e-9, atol=1e-9)
    assert found.value == pytest.approx(float(scores.mean()), rel=1e-12)


def test_ray_and_line_estimates_cover() -> None:
    rng = np.random.default_rng(4)
    n = 6000
    x = 1.3 * rng.normal(size=(n, 2))
    begin, end = rng.normal(size=(2, n, 2))
    y = np.sum(x**2, axis=1) + rng.normal(size=n)
    mechanism = AlphaIdentity(0.9, MixedNoise((GaussianNoise(0.0, 1.3), GaussianNoise(0.0, 1.3))))
    z = mechanism.privatise(x, rng)
    ray, line = GaussianRay(2, 1.0, 1.3, 0.2, 1.5), GaussianLine(2, 1.0, 1.3)

    def square(v: FloatArray) -> FloatArray:
        return np.asarray(np.sum(v**2, axis=1))

    cases: list[tuple[Any, FloatArray, float, Any]] = [
        (RayIntegral(0.2, 1.5), begin, ray.value(square), ray.representer),
        (LineIntegral(), np.stack([begin, end], axis=1), line.value(square), line.representer),
    ]
    for target, w, truth, r in cases:
        known = one_step_average(y, z, mechanism, target, regression=TWO, representer=r, w=w, rng=rng)
        sieve = one_step_average(y, z, mechanism, target, regression=TWO, representer=TWO, w=w, rng=rng, naive=True)
        for found in (known, sieve):
            assert abs(found.value - truth) < 3 * found.std_error < 0.1 * truth
        assert abs(known.value - sieve.value) < 2 * known.std_error
        assert sieve.naive is not None
        assert abs(sieve.naive.value - sieve.value) > 0.5 * sieve.std_error


def test_categories_with_a_matrix_and_without_noise() -> None:
    """Lines through codes are no use, but a weight is: the matrix and its noise form give the same estimate."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 3, 3000)
    y = x + rng.normal(size=3000)
    noise = AlphaIdentity(0.6, uniform_levels(3))
    z = noise.privatise(x, rng)
    target = TimeDiscount(lambda code: 0.5 * code)
    one = weighted_average(y, z, noise, target)
    other = weighted_average(y, z, FiniteMechanism(noise.finite().matrix), target)
    by_hand = np.einsum("xn,x->n", noise.finite().inverse[:, z], 1 / (1 + 0.5 * np.arange(3))) * y
    assert one.scores is not None
    assert other.scores is not None
    np.testing.assert_allclose(one.scores, by_hand, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(other.scores, by_hand, rtol=1e-10, atol=1e-12)
    plain = weighted_average(y, x, AlphaIdentity(1.0, uniform_levels(3)), target)
    assert plain.value == pytest.approx(float(np.mean(y / (1 + 0.5 * x))), rel=1e-12)


def test_known_weight_may_read_treatment_and_public_columns() -> None:
    rng = np.random.default_rng(1)
    n = 20_000
    x, w, d = rng.uniform(size=n), rng.normal(size=n), rng.integers(0, 2, n)
    y = 1 + x + w + d
    mechanism = AlphaIdentity(0.5, UniformNoise(0.0, 1.0))
    z = mechanism.privatise(x, rng)
    target = KnownRepresenter(lambda at: at.d * np.asarray(at.x) + np.asarray(at.w))
    found = weighted_average(y, z, mechanism, target, d=d, w=w, naive=True)
    truth = 0.5 * (2 * 0.5 + 1 / 3) + 1.0
    assert found.covers(truth)
    assert found.std_error < 0.03
    at_noise = d * 0.5 + w
    by_hand = y * ((d * z + w) / 0.5 - at_noise)
    assert found.scores is not None
    np.testing.assert_allclose(found.scores, by_hand, rtol=1e-9, atol=1e-9)


def test_time_discount_variance_matches_its_law() -> None:
    mechanism = AlphaIdentity(0.5, UniformNoise(0.0, 1.0))
    law = WeightedLaw.of(
        lambda x: 1 / (1 + x**2), lambda x: 1 + x, lambda x: np.full_like(x, 0.25), path_nodes(), mechanism.noise
    )
    rng = np.random.default_rng(2)
    n = 200_000
    x = rng.uniform(size=n)
    y = 1 + x + 0.5 * rng.normal(size=n)
    found = weighted_average(y, mechanism.privatise(x, rng), mechanism, TimeDiscount(lambda v: v**2))
    assert found.std_error**2 * n == pytest.approx(float(law.decomposition.variance(0.5)), rel=0.02)
    assert abs(found.value - law.value) < 4 * found.std_error


def test_laplace_noise_needs_a_smooth_weight() -> None:
    rng = np.random.default_rng(3)
    n = 50_000
    x = rng.uniform(size=n)
    y = 1 + x
    mechanism = LaplaceAddition(0.4)
    z = mechanism.privatise(x, rng)
    target = TimeDiscount(lambda v: v**2)
    second = lambda v: (6 * v**2 - 2) / (1 + v**2) ** 3  # noqa: E731
    found = weighted_average(y, z, mechanism, target, second_derivative=second)
    truth = math.pi / 4 + math.log(2) / 2
    assert found.covers(truth)
    assert found.std_error < 0.01
    assert abs(np.mean(y / (1 + z**2)) - truth) > 5 * found.std_error
    with pytest.raises(ParameterError, match="twice differentiable functions of x"):
        weighted_average(y, z, mechanism, target)
    kinked = TimeDiscount(lambda v: np.abs(v))
    with pytest.raises(ParameterError, match="twice differentiable"):
        weighted_average(y, z, mechanism, kinked, second_derivative=lambda v: np.zeros_like(v))


# --- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("basis", [Legendre(0.0, 1.0, 2), BSpline(0.0, 1.0, 4), OneHot(3)])
def test_average_derivative_on_a_bounded_range(basis: Any) -> None:
    mechanism = AlphaIdentity(0.9, UniformNoise(0.0, 1.0))
    with pytest.raises(UnsupportedCombination, match="average with a known weight") as caught:
        one_step_average(
            np.zeros(50), np.zeros(50), mechanism, AverageDerivative(0.1), regression=basis, representer=basis
        )
    assert "shifted law must be dominated by the law of X" in str(caught.value)


def test_average_derivative_of_a_law_that_is_known_to_be_bad() -> None:
    law = shift_check(lambda x: np.zeros_like(x), 0.1, low=0.0, high=1.0)
    mechanism = AlphaIdentity(0.9, GaussianNoise())
    with pytest.raises(UnsupportedCombination, match="dominated"):
        one_step_average(
            np.zeros(50),
            np.zeros(50),
            mechanism,
            AverageDerivative(0.1),
            regression=Linear(),
            representer=Linear(),
            law=law,
        )


def test_added_noise_and_small_samples() -> None:
    y = np.zeros(50)
    with pytest.raises(UnsupportedCombination, match="keeps the value with a known"):
        one_step_average(y, y, LaplaceAddition(1.0), AverageDerivative(0.1), regression=Linear(), representer=Linear())
    with pytest.raises(UnsupportedCombination, match="polynomials only"):
        weighted_average(y, y, GaussianAddition(1.0), TimeDiscount(lambda v: v**2))
    with pytest.raises(ParameterError, match="too many for 50 records"):
        one_step_average(
            y,
            y,
            AlphaIdentity(0.5, GaussianNoise()),
            AverageDerivative(0.1),
            regression=Linear(),
            representer=Linear(),
        )
    with pytest.raises(DataError, match="numeric"):
        weighted_average(np.array([np.nan]), np.zeros(1), AlphaIdentity(0.5, GaussianNoise()), TimeDiscount(np.square))
