"""Continuous laws: true values, printed bounds, naive limits and samples that follow the law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from privexplorer.causal.continuous_laws import (
    LAW_C,
    LAW_D,
    ContinuousLaw,
    CurveLaw,
    DerivativeLaw,
    SlopeLaw,
    parabola_density,
)
from privexplorer.causal.mechanisms import AlphaIdentity, GaussianNoise, UniformNoise
from privexplorer.causal.targets import ATE, ATT, MeanUnder, UntreatedMeanOfTreated
from privexplorer.errors import ParameterError

UNIFORM = UniformNoise(-1, 1)


def test_values_of_law_c_by_an_independent_integral() -> None:
    assert LAW_C.value(ATE()) == pytest.approx(1, abs=1e-12)
    assert LAW_C.value(MeanUnder(1)) == pytest.approx(2, abs=1e-12)

    def weight(x: float) -> float:
        return 0.75 * (1 - x * x) / (1 + math.exp(-0.3 - x))

    share = quad(weight, -1, 1)[0]
    assert LAW_C.treated_share == pytest.approx(share, abs=1e-12)
    assert LAW_C.value(ATT()) == pytest.approx(quad(lambda x: weight(x) * (1 + x), -1, 1)[0] / share, abs=1e-11)
    assert LAW_C.value(UntreatedMeanOfTreated()) == pytest.approx(
        quad(lambda x: weight(x) * (1 + 2 * x), -1, 1)[0] / share, abs=1e-11
    )


@pytest.mark.parametrize("law", [LAW_C, LAW_D])
@pytest.mark.parametrize("target", [ATE(), ATT(), MeanUnder(0), UntreatedMeanOfTreated()])
def test_variance_is_that_of_the_private_influence_function(law: ContinuousLaw, target) -> None:
    """Mean 0 and the variance by brute force over (d, x, y, z), y by its two-point normal surrogate."""
    keep = 0.4
    mechanism = AlphaIdentity(keep, UNIFORM)
    x, p, mu = law.table()
    points, weights = UNIFORM.nodes()
    first = second = 0.0
    for arm in (0, 1):
        for sign in (-1, 1):  # a two-point outcome has the same first two moments, and the score is linear in it
            y = mu[arm] + sign * law.outcome_std
            mass = p[arm] / 2
            d = np.full_like(x, arm, dtype=np.int64)
            kept = law.private_influence(target, y, d, x, mechanism)
            first += keep * np.sum(mass * kept)
            second += keep * np.sum(mass * kept**2)
            for z, w in zip(points, weights, strict=True):
                noised = law.private_influence(target, y, d, np.full_like(x, z), mechanism)
                first += (1 - keep) * w * np.sum(mass * noised)
                second += (1 - keep) * w * np.sum(mass * noised**2)
    assert first == pytest.approx(0, abs=1e-10)
    assert law.bound(target, mechanism) == pytest.approx(second, rel=1e-9)
    parts = law.decomposition(target, UNIFORM)
    low, high = parts.tight_band(keep)
    assert low <= second <= high
    assert float(parts.variance(1.0)) == parts.t0


def test_naive_value_slides_to_the_unadjusted_contrast() -> None:
    values = [LAW_C.naive_value(ATE(), AlphaIdentity(keep, UNIFORM)) for keep in (1.0, 0.9, 0.5, 0.2, 1e-9)]
    assert values[0] == pytest.approx(LAW_C.value(ATE()), abs=1e-12)
    assert values[-1] == pytest.approx(LAW_C.unadjusted_contrast, abs=1e-6)
    assert values == sorted(values)
    assert values[3] - 1 == pytest.approx(0.4539, abs=1e-4)


def test_samples_follow_the_law() -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    y, d, x = LAW_D.sample(n, rng)
    score = LAW_D.influence(ATT(), y, d, x)
    assert abs(score.mean()) < 3 * score.std() / math.sqrt(n)
    assert score.var() == pytest.approx(LAW_D.decomposition(ATT(), UNIFORM).t0, rel=0.02)
    assert d.mean() == pytest.approx(LAW_D.treated_share, abs=3 * 0.5 / math.sqrt(n))
    assert (x**2).mean() == pytest.approx(0.2, abs=0.002)
    assert np.sum(LAW_D.table()[1]) == pytest.approx(1)
    assert parabola_density(np.array([-1.2, 0.0])).tolist() == [0.0, 0.75]


def test_noise_beyond_the_range_is_refused() -> None:
    with pytest.raises(ParameterError, match="within -1 to 1"):
        LAW_C.decomposition(ATE(), GaussianNoise())
    with pytest.raises(ParameterError, match="at least 0; it is -1"):
        ContinuousLaw("", LAW_C.log_odds, LAW_C.mu0, LAW_C.mu1, -1)


def test_derivative_law_agrees_with_quadrature_and_its_representer_with_the_functional() -> None:
    law = DerivativeLaw(0.5, -1.5, 1.2, 0.7, 0.4)
    noise = GaussianNoise(0.3, 0.9)
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    x, w = 1.2 * nodes, weights / weights.sum()
    assert np.sum(w * law.representer(x)) == pytest.approx(0, abs=1e-12)
    assert np.sum(w * law.representer(x) * law.regression(x)) == pytest.approx(law.value, rel=1e-10)
    points, q = noise.nodes()
    r, m = law.representer(points), law.regression(points)
    rest = np.sqrt(0.49)
    parts = law.decomposition(noise)
    r_mean, rm_mean = np.sum(q * r), np.sum(q * r * m)
    t0 = np.sum(w * law.representer(x) ** 2) * 0.49
    t1 = t2 = 0.0
    for sign in (-1, 1):
        y = law.regression(x) + sign * rest
        t1 += 0.5 * np.sum(w * (law.influence(y, x) - (r_mean * y - rm_mean)) ** 2)
        at_noise = r * (y[:, None] - m)
        t2 += 0.5 * np.sum(w * (np.sum(q * at_noise**2, axis=1) - np.sum(q * at_noise, axis=1) ** 2))
    np.testing.assert_allclose([parts.t0, parts.t1, parts.t2], [t0, t1, t2], rtol=1e-9)
    with pytest.raises(ParameterError, match="step must be above 0"):
        DerivativeLaw(step=0)


def test_slope_law_and_its_attenuated_slope() -> None:
    law = SlopeLaw(2.0, 1.0, 1.0)
    mechanism = AlphaIdentity(0.5, GaussianNoise(0, 1))
    assert law.slope_variance(mechanism) == 32
    assert law.naive_slope(mechanism) == pytest.approx(1.0)
    assert law.naive_slope(AlphaIdentity(1.0, GaussianNoise(0, 1))) == pytest.approx(2.0)
    y, x = law.sample(50_000, np.random.default_rng(1))
    z = AlphaIdentity(0.5, GaussianNoise(1, 2)).privatise(x, np.random.default_rng(2))
    fitted = np.cov(z, y)[0, 1] / z.var()
    assert fitted == pytest.approx(law.naive_slope(AlphaIdentity(0.5, GaussianNoise(1, 2))), abs=0.02)
    with pytest.raises(ParameterError, match="normal noise around 0"):
        law.slope_variance(AlphaIdentity(0.5, UNIFORM))


@pytest.mark.parametrize("keep", [0.3, 1.0])
def test_covariance_of_linear_scores_on_a_curve(keep: float) -> None:
    law, mechanism = CurveLaw(), AlphaIdentity(keep, UNIFORM)

    def functions(x: np.ndarray) -> np.ndarray:
        return np.stack([x, np.cos(x)], axis=1)

    n = 200_000
    rng = np.random.default_rng(3)
    y, x = law.sample(n, rng)
    z = mechanism.privatise(x, rng)
    points, weights = UNIFORM.nodes()
    scores = y[:, None] * (functions(z) / keep - (1 / keep - 1) * (weights @ functions(points)))
    mean, covariance = law.linear_covariance(functions, mechanism)
    assert (np.abs(scores.mean(axis=0) - mean) < 3.5 * scores.std(axis=0) / math.sqrt(n)).all()
    np.testing.assert_allclose(np.cov(scores.T), covariance, rtol=0.03, atol=0.02)
    with pytest.raises(ParameterError, match="peak must lie between 0 and 1"):
        CurveLaw(peak=2)
