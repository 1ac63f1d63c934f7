"""The four curves and their constants: identities, limits, invariances, refusals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.integrate import quad

from privexplorer import predictability as pr
from privexplorer.errors import ParameterError

SIZE = pr.shard_size(0.4, 200)
values = st.floats(-10, 10, allow_nan=False)


def tables(columns: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float64, (30, columns), elements=values)


def spread_of(x: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=0)
    return np.where(np.abs(centred).max(axis=0) < 1e-12, 0.0, centred)  # constant columns: no rounding errors


def printed_c0(summary: pr.MomentSummary, sigma: np.ndarray) -> float:
    """c₀ as printed in Thm 3.6, with its last factor transposed as it must be (erratum E22)."""
    inverse = np.linalg.inv(summary.moment_covariance)
    c, j = summary.cross_covariance[0], summary.jacobian
    middle = np.linalg.inv(j.T @ inverse @ j + np.linalg.inv(sigma))
    return float(c @ inverse @ j @ middle @ j.T @ inverse @ c / summary.query_variance[0])


def block_inverse(summary: pr.MomentSummary, sigma: np.ndarray) -> float:
    """First entry of (GᵀΩ⁻¹G)⁻¹ for the stacked conditions."""
    system = pr.moment_system(summary, sigma)
    return float(np.linalg.inv(system.slope.T @ np.linalg.inv(system.spread) @ system.slope)[0, 0])


def reference_r2(summary: pr.MomentSummary, sigma: np.ndarray, nu: float) -> float:
    """The pseudo-inverse of the sum, as in section 3.2 of the spec."""
    total = summary.moment_covariance + nu * summary.jacobian @ sigma @ summary.jacobian.T
    scale = np.sqrt(np.diagonal(total))
    scale = np.where(scale == 0, 1, scale)
    lam, vectors = np.linalg.eigh(total / np.outer(scale, scale))
    keep = lam > 1e-12 * lam.max()
    z = vectors[:, keep].T @ (summary.cross_covariance[0] / scale)
    return float((z**2 / lam[keep]).sum() / summary.query_variance[0])


@given(tables(3), hnp.arrays(np.float64, 30, elements=values), hnp.arrays(np.float64, (3, 3), elements=values))
def test_attenuation_equals_printed_form_and_block_inverse(x: np.ndarray, q: np.ndarray, half: np.ndarray) -> None:
    g = spread_of(x)
    sigma = half @ half.T + 0.1 * np.eye(3)
    assume(np.linalg.cond(g.T @ g) < 1e5)
    assume(q.std() > 1e-2)
    assume(np.linalg.cond(sigma) < 1e6)
    jacobian = np.array([[1.0, 0.5, 0], [0, 2.0, 0.3], [0.1, 0, -1.0]])
    summary = pr.moment_summary(q, g, jacobian)
    found = pr.predictability(summary, SIZE, sigma, noise_scale="paper")
    assert float(found.c0[0]) == pytest.approx(printed_c0(summary, sigma), rel=1e-8, abs=1e-12)
    assert float(found.r[0]) ** 2 == pytest.approx(reference_r2(summary, sigma, 1.0), rel=1e-8, abs=1e-12)
    assert float(found.variance_after[0]) == pytest.approx(block_inverse(summary, sigma), rel=1e-7)
    assert float(found.rho_cc[0] ** 2 - found.c0[0]) == pytest.approx(float(found.r[0]) ** 2, abs=1e-12)


@given(tables(2), hnp.arrays(np.float64, 30, elements=values), st.floats(1e-6, 1e6), st.floats(1.0, 500.0))
def test_ranges_and_monotone_noise(x: np.ndarray, q: np.ndarray, level: float, nu: float) -> None:
    """0 <= c₀ <= ρ² <= 1; r falls as noise grows; more weight on the noise is more noise."""
    summary = pr.moment_summary(q, spread_of(x))
    spectrum = pr.noise_spectrum(summary, level * np.eye(2))
    heavier = pr.noise_spectrum(summary, level * np.eye(2), nu)
    r2, c0, rho2 = spectrum.r2()[0], spectrum.c0()[0], spectrum.rho2[0]
    assert 0 <= c0 <= rho2 + 1e-12 <= 1 + 1e-12
    assert 0 <= heavier.r2()[0] <= r2 + 1e-12
    np.testing.assert_allclose(heavier.r2(), spectrum.r2(nu), rtol=1e-9, atol=1e-13)


def test_more_weight_than_the_noise_is_worth_is_seen(d20: dict[str, Any]) -> None:
    """Power: a noise multiplier off by a tenth changes r by more than the tolerances above."""
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    base = pr.noise_spectrum(summary, np.eye(2), 5.0).r2()[0]
    assert abs(pr.noise_spectrum(summary, np.eye(2), 5.5).r2()[0] / base - 1) > 0.01


@given(tables(2), hnp.arrays(np.float64, 30, elements=values), hnp.arrays(np.float64, (2, 2), elements=values))
def test_linear_maps_of_the_moments_change_nothing(x: np.ndarray, q: np.ndarray, turn: np.ndarray) -> None:
    g = spread_of(x)
    assume(np.linalg.cond(turn) < 1e3)
    assume(np.linalg.cond(g.T @ g) < 1e5)
    assume(q.std() > 1e-2)
    sigma = np.array([[1.0, 0.3], [0.3, 2.0]])
    one = pr.noise_spectrum(pr.moment_summary(q, g), sigma).r2()
    other = pr.noise_spectrum(pr.moment_summary(q, g @ turn.T, -turn), sigma).r2()
    np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-12)


def test_affine_maps_of_the_query(d20: dict[str, Any]) -> None:
    g = spread_of(d20["x"])
    one = pr.predictability(pr.moment_summary(d20["q"], g), SIZE, np.eye(2))
    other = pr.predictability(pr.moment_summary(5 - 3 * d20["q"], g), SIZE, np.eye(2))
    np.testing.assert_allclose(other.r, one.r, rtol=1e-12)
    np.testing.assert_allclose(other.printed, 9 * one.printed, rtol=1e-12)
    np.testing.assert_allclose(other.gain, 9 * one.gain, rtol=1e-12)


def test_ones_as_weights_are_no_weights(d20: dict[str, Any]) -> None:
    g = spread_of(d20["x"])
    one = pr.moment_summary(d20["q"], g)
    for other in (
        pr.moment_summary(d20["q"], g, weights=np.ones(20)), pr.moment_summary(d20["q"], g, target=np.ones(20))
    ):  # fmt: skip
        np.testing.assert_allclose(other.query_variance, one.query_variance, rtol=1e-13)
        np.testing.assert_allclose(pr.noise_spectrum(other).r2(), pr.noise_spectrum(one).r2(), rtol=1e-12)


@given(tables(3), hnp.arrays(np.float64, 30, elements=values))
def test_a_further_release_never_helps_privacy(x: np.ndarray, q: np.ndarray) -> None:
    g = spread_of(x)
    sigma = np.diag([0.5, 1.0, 2.0])
    few = pr.noise_spectrum(pr.moment_summary(q, g[:, :2]), sigma[:2, :2]).r2()[0]
    assert pr.noise_spectrum(pr.moment_summary(q, g), sigma).r2()[0] >= few - 1e-10


def test_rho_is_the_multiple_correlation(d20: dict[str, Any]) -> None:
    """Def 3.5: ρ equals R of a regression, and no single direction correlates more."""
    g = spread_of(d20["x"])
    rho = float(pr.predictability(pr.moment_summary(d20["q"], g), SIZE).rho_cc[0])
    fitted = g @ np.linalg.lstsq(g, d20["q"] - d20["q"].mean(), rcond=None)[0]
    assert rho == pytest.approx(np.corrcoef(fitted, d20["q"])[0, 1], rel=1e-12)
    rng = np.random.default_rng(0)
    others = [abs(np.corrcoef(g @ rng.standard_normal(2), d20["q"])[0, 1]) for _ in range(500)]
    assert max(others) <= rho + 1e-12
    assert max(others) > 0.999 * rho


def test_two_limits_of_the_noise(d20: dict[str, Any]) -> None:
    """Rem 3.7: r goes to ρ without noise and to 0 with much."""
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    sweep = pr.noise_sweep(summary, SIZE, np.eye(2), [0.0, 1e-14, 1e14], noise_scale="paper")
    rho = pr.predictability(summary, SIZE).rho_cc[0]
    assert sweep.r[0, 0] == pytest.approx(rho, rel=1e-14)
    assert sweep.r[1, 0] == pytest.approx(rho, rel=1e-12)
    assert sweep.r[2, 0] < 1e-6


def test_uncorrelated_query_is_free(d20: dict[str, Any]) -> None:
    """Rem 3.7, R8: replace q by its residual on the moments, and no noise is needed."""
    g = spread_of(d20["x"])
    free = d20["q"] - g @ np.linalg.lstsq(g, d20["q"], rcond=None)[0]
    found = pr.predictability(pr.moment_summary(free, g), pr.shard_size(0.4, 20))
    assert found.printed[0] < 1e-12
    assert found.gain[0] < 1e-12


# --- curves --------------------------------------------------------------------------------------------------


def test_product_of_two_normal_errors() -> None:
    """Curve 3: E|XY| against quadrature, and its ends 2/π and 1."""
    for r in (0.0, 0.2, 0.7, 0.99):
        spread = math.sqrt(1 - r * r)

        def inner(x: float, r: float = r, spread: float = spread) -> float:
            # E|Y| given X = x, Y normal with mean rx
            m, z = r * x, r * x / spread
            mean = spread * math.sqrt(2 / math.pi) * math.exp(-z * z / 2) + m * math.erf(z / math.sqrt(2))
            return abs(x) * mean * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)

        assert float(pr.gaussian_product(r)) == pytest.approx(quad(inner, -12, 12, limit=200)[0], rel=1e-9)
    assert float(pr.gaussian_product(0.0)) == pytest.approx(2 / math.pi)
    assert float(pr.gaussian_product(1.0)) == pytest.approx(1.0)


@given(tables(2), st.floats(1e-3, 1e3))
def test_order_of_the_curves(x: np.ndarray, level: float) -> None:
    q = x[:, 0] > x[:, 1]
    summary = pr.moment_summary(q.astype(float), spread_of(x))
    for loss in ("squared", "log"):
        found = pr.predictability(summary, SIZE, level * np.eye(2), loss=loss)
        curves = [found.printed[0], found.cauchy_schwarz[0], found.product[0], found.gain[0]]
        assert all(low <= high * (1 + 1e-12) for high, low in itertools.pairwise(curves))
        if loss == "squared" and curves[0] > 0:
            assert curves[3] / curves[0] == pytest.approx(found.r[0] / (2 * pr.KAPPA), rel=1e-9)
            assert curves[3] / curves[0] <= 1 / 4.77


def test_kappa_is_the_integral_of_the_tail() -> None:
    assert quad(lambda t: min(1.0, 4 * math.exp(-t)), 0, 60, points=[math.log(4)])[0] == pytest.approx(pr.KAPPA, 1e-9)


def test_log_loss_gain_is_the_curvature(d20: dict[str, Any]) -> None:
    """Curve 4 under log loss is half the curvature at p times the drop of the variance."""
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    squared = pr.predictability(summary, SIZE, np.eye(2))
    log = pr.predictability(summary, SIZE, np.eye(2), loss="log")
    half = 0.5 * pr.loss_curvature("log", 0.55, 0.55)
    np.testing.assert_allclose(log.gain, half * squared.gain, rtol=1e-12)


def test_high_probability_forms(d20: dict[str, Any]) -> None:
    found = pr.predictability(pr.moment_summary(d20["q"], spread_of(d20["x"])), SIZE)
    printed, corrected = found.high_probability(0.05, "printed"), found.high_probability(0.05)
    np.testing.assert_allclose(corrected, 2 * printed, rtol=1e-14)
    np.testing.assert_allclose(printed, found.printed * math.log(80) / pr.KAPPA, rtol=1e-14)


def test_smoothness_bounds_the_loss_gap() -> None:
    """Lem 2.9 on a grid of answers and truths, for both losses; the sharp constant is the largest curvature."""
    tau = 0.1
    grid = np.linspace(tau, 1 - tau, 33)
    before, after, truth = np.meshgrid(grid, grid, grid)
    for loss in ("squared", "log"):
        gap = pr.expected_loss(loss, before, truth) - pr.expected_loss(loss, after, truth)
        bound = pr.product_bound(loss, before, after, truth, tau)
        assert (gap <= bound + 1e-12).all()
        # with the sharp constant it still holds; for squared loss it is nearly reached
        sharp = bound * pr.smoothness(loss, tau, "corrected") / pr.smoothness(loss, tau)
        assert (gap <= sharp + 1e-12).all()
        assert (gap[bound > 0] / sharp[bound > 0]).max() > (0.9 if loss == "squared" else 0.1)
    curvature = pr.loss_curvature("log", grid[:, None], grid[None, :])
    assert (curvature >= 0).all()
    assert curvature.max() == pytest.approx(pr.smoothness("log", tau, "corrected"), rel=1e-12)
    assert (pr.loss_curvature("squared", grid, 0.3) == 2).all()
    assert pr.smoothness("log", 0.1, "corrected") <= pr.smoothness("log", 0.1)
    assert pr.smoothness("log", 0.5) == pr.smoothness("log", 0.5, "corrected") == 4.0


def test_expected_log_loss_is_least_at_the_truth() -> None:
    grid = np.linspace(0.01, 0.99, 99)
    assert grid[pr.expected_loss("log", grid, 0.37).argmin()] == pytest.approx(0.37)
    assert float(pr.expected_loss("squared", 0.2, 0.5, 0.25)) == pytest.approx(0.34)


# --- sizes and sweeps ----------------------------------------------------------------------------------------


def test_all_fractions_at_once(d20: dict[str, Any]) -> None:
    """R9: symmetric about 1/2 on the paper's scale and without noise, skewed on the release scale."""
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    grid = np.linspace(0.05, 0.95, 19)
    for sigma, scale in ((None, "release"), (np.eye(2), "paper")):
        sweep = pr.fraction_sweep(summary, 20, grid, sigma, noise_scale=scale)
        np.testing.assert_allclose(sweep.printed, sweep.printed[::-1], rtol=1e-12)
        assert sweep.printed[:, 0].argmin() == 9
        one = pr.predictability(summary, pr.shard_size(0.25, 20), sigma, noise_scale=scale)
        again = pr.fraction_sweep(summary, 20, 0.25, sigma, noise_scale=scale)
        for name, curve in one.curves().items():
            np.testing.assert_allclose(getattr(again, name)[0], curve, rtol=1e-12)
    skewed = pr.fraction_sweep(summary, 20, grid, np.eye(2), noise_scale="release").printed[:, 0]
    assert skewed[0] > 1.5 * skewed[-1]
    assert skewed.argmin() > 9


def test_noise_sweep_is_the_single_answer(d20: dict[str, Any]) -> None:
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    sigma = np.array([[1.0, 0.3], [0.3, 2.0]])
    levels = [0.0, 0.01, 1.0, 30.0]
    for loss in ("squared", "log"):
        sweep = pr.noise_sweep(summary, SIZE, sigma, levels, loss=loss)
        for place, level in enumerate(levels):
            one = pr.predictability(summary, SIZE, level * sigma, loss=loss)
            for name, curve in one.curves().items():
                np.testing.assert_allclose(getattr(sweep, name)[place], curve, rtol=1e-11)


def test_sizes() -> None:
    shard = pr.shard_size(0.25, 80)
    assert (shard.effective, shard.draws) == (15.0, 20.0)
    assert shard.multiplier("release") == pytest.approx(80 / 3)
    assert shard.multiplier("paper") == 1.0
    assert pr.shard_size(0.25, 80, "everyone").effective == pytest.approx(80 / 3)
    assert pr.shard_size(0.25, 80, exact=True).effective == pytest.approx(0.1875 * 79)
    assert pr.sample_attack_size(9) == pr.AttackSize(9.0, 9.0, 9.0)


@pytest.mark.parametrize("curve", ["printed", "cauchy_schwarz", "product", "gain"])
def test_noise_for_a_target(d20: dict[str, Any], curve: Any) -> None:
    """The level found gives the target back; levels a tenth off do not."""
    summary = pr.moment_summary(d20["q"], spread_of(d20["x"]))
    sigma = np.array([[1.0, 0.3], [0.3, 2.0]])
    start = pr.predictability(summary, SIZE).curves()[curve][0]
    for share in (0.9, 0.3, 0.01):
        level = pr.noise_level_for_bound(summary, SIZE, sigma, share * start, curve=curve)
        reached = pr.predictability(summary, SIZE, level * sigma).curves()[curve][0]
        assert reached == pytest.approx(share * start, rel=1e-9)
        off = pr.predictability(summary, SIZE, 1.1 * level * sigma).curves()[curve][0]
        assert off < share * start * (1 - 1e-3)
    assert pr.noise_level_for_bound(summary, SIZE, sigma, 2 * start, curve=curve) == 0.0


def test_noise_for_a_factor(d20: dict[str, Any]) -> None:
    """Calibrated noise needs 1/φ² - 1; a free query needs none; a bare direction cannot be reached."""
    g = spread_of(d20["x"])
    summary = pr.moment_summary(d20["q"], g)
    calibrated = pr.noise_spectrum(summary, summary.sandwich)
    for factor in (0.9, 0.5, 0.1):
        assert pr.noise_level_for(calibrated, factor) == pytest.approx(factor**-2 - 1, rel=1e-9)
    assert pr.noise_level_for(calibrated, 1.0) == 0.0
    one_sided = pr.noise_spectrum(summary, np.diag([0.0, 1.0]))
    assert pr.noise_level_for(one_sided, 0.1) == math.inf
    constant = pr.moment_summary(np.ones(20), g)
    assert pr.noise_level_for(pr.noise_spectrum(constant, np.eye(2)), 0.5) == 0.0


def test_gmm_weights_from_plain_sums(d20: dict[str, Any]) -> None:
    g = spread_of(d20["x"])
    summary = pr.moment_summary(np.column_stack([d20["q"], d20["y"]]), g)
    found = pr.attenuated_r2(
        summary.query_variance, summary.cross_covariance, summary.moment_covariance, None, np.eye(2), 3.0
    )
    np.testing.assert_allclose(found, pr.noise_spectrum(summary, np.eye(2), 3.0).r2(), rtol=1e-11)
    for wrong in ((1.0, [[1.0, 2.0]], [[1.0]]), (1.0, [[1.0]], [[1.0]], [[1.0], [2.0]])):
        with pytest.raises(ParameterError):
            pr.attenuated_r2(*wrong)


def test_selecting_and_projecting(d20: dict[str, Any]) -> None:
    g = spread_of(np.column_stack([d20["x"], d20["y"]]))
    asked = np.column_stack([d20["q"], d20["x1"] > 0])
    summary = pr.moment_summary(asked, g, names=["q", "x"])
    part = summary.select(queries=[1], moments=[2, 0])
    want = pr.moment_summary(asked[:, 1], g[:, [2, 0]])
    assert part.query_names == ("x",)
    np.testing.assert_allclose(pr.noise_spectrum(part, np.eye(2)).r2(), pr.noise_spectrum(want, np.eye(2)).r2(), 1e-11)
    turned = summary.project([[1.0, 2.0, 0.0]])
    combined = pr.moment_summary(asked, g @ [1.0, 2.0, 0.0])
    np.testing.assert_allclose(
        pr.noise_spectrum(turned, [[0.5]]).r2(), pr.noise_spectrum(combined, [[0.5]]).r2(), rtol=1e-11
    )
    assert turned.dimension == 1


# --- notes and refusals --------------------------------------------------------------------------------------


def test_constant_query_is_zero_with_a_note(d20: dict[str, Any]) -> None:
    g = spread_of(d20["x"])
    for value in (0.0, 1.0, 0.1, 1e9):
        for weights in (None, d20["weights"]):
            summary = pr.moment_summary(np.full(20, value), g, weights=weights)
            for loss in ("squared", "log") if value in (0.0, 1.0) else ("squared",):
                found = pr.predictability(summary, SIZE, np.eye(2), loss=loss)
                assert [float(curve[0]) for curve in found.curves().values()] == [0.0] * 4
                assert any("nothing to predict" in note for note in found.notes)


def test_notes_about_small_samples_and_weak_queries(d20: dict[str, Any]) -> None:
    g = spread_of(d20["x"])
    few = pr.predictability(pr.moment_summary(d20["q"], g), pr.shard_size(0.1, 20))
    assert any("too few for large-sample formulas" in note for note in few.notes)
    weak = pr.predictability(pr.moment_summary(d20["x1"] > 0, g[:, 1]), pr.shard_size(0.4, 20))
    assert any("may gain nothing at all" in note for note in weak.notes)
    flat = pr.predictability(pr.moment_summary(d20["q"], np.zeros((20, 1))), SIZE)
    assert any("same for every person" in note for note in flat.notes)


def test_log_loss_needs_conditions(d20: dict[str, Any]) -> None:
    g = spread_of(d20["x"])
    with pytest.raises(ParameterError, match="answered by yes or no"):
        pr.predictability(pr.moment_summary(d20["y"], g), SIZE, loss="log")
    with pytest.raises(ParameterError, match=r"choose at most 0\.45"):
        pr.predictability(pr.moment_summary(d20["q"], g), SIZE, loss="log", tau=0.5)
    sharper = pr.predictability(pr.moment_summary(d20["q"], g), SIZE, loss="log", tau=0.2)
    assert sharper.smoothness_printed[0] == pytest.approx(25.0)


def test_wrong_arguments() -> None:
    for call, words in (
        (lambda: pr.shard_size(0.0, 20), "strictly between 0 and 1; it is 0"),
        (lambda: pr.shard_size(1.0, 20), "strictly between 0 and 1; it is 1"),
        (lambda: pr.shard_size(0.5, 1), "at least 2; it is 1"),
        (lambda: pr.sample_attack_size(1), "at least 2; it is 1"),
        (lambda: pr.smoothness("log"), "needs a clipping level"),
        (lambda: pr.smoothness("log", 0.6), "at most 0.5; it is 0.6"),
        (lambda: pr.smoothness("log", 0.0), "at most 0.5; it is 0"),
        (lambda: pr.smoothness("hinge"), "'squared' or 'log'"),  # type: ignore[arg-type]
        (lambda: SIZE.multiplier("other"), "'release' or 'paper'"),  # type: ignore[arg-type]
        (lambda: pr.shard_size(0.5, 20, "somebody"), "'unknown' or 'everyone'"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError, match=words):
            call()
