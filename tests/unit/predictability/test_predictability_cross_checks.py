"""The same asymptotic variances from independent software: GMM of statsmodels and linearmodels, to 1e-8."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from linearmodels.iv import IVGMM
from statsmodels.sandbox.regression.gmm import GMM

from privexplorer import predictability as pr


class Conditions(GMM):  # type: ignore[misc]
    """Moments that are linear in the parameters: data minus parameters, with known columns beside."""

    def __init__(self, rows: np.ndarray, names: list[str]) -> None:
        self.rows = rows
        super().__init__(np.zeros(len(rows)), np.zeros((len(rows), 1)), None, k_moms=rows.shape[1], k_params=len(names))

    def momcond(self, params: np.ndarray) -> np.ndarray:
        """First column q - p, the others as they are."""
        out = self.rows.copy()
        out[:, 0] -= np.ravel(params)[0]
        return out

    def score(self, params: np.ndarray, weights: np.ndarray, **_: Any) -> np.ndarray:
        """Exact derivative of the objective; the library's differences stop short of eight digits."""
        return np.atleast_1d(-2 * weights[0] @ self.momcond(params).mean(axis=0))


def efficient_variance(rows: np.ndarray, start: float) -> float:
    """n times the variance of p̂ by iterated efficient GMM, uncentred moments (their mean is 0 at the optimum)."""
    model = Conditions(rows, ["p"])
    weight = np.linalg.inv(rows.T @ rows / len(rows) + np.eye(rows.shape[1]) * 1e-12)
    result = model.fit(
        np.array([start]), maxiter=3, inv_weights=weight, weights_method="cov",
        optim_method="bfgs", optim_args={"disp": 0, "gtol": 1e-12}, wargs={"centered": False},
    )  # fmt: skip
    assert result.params[0] == pytest.approx(start, abs=1e-7)
    return float(np.asarray(result.cov_params())[0, 0]) * len(rows)


def spread_of(x: np.ndarray) -> np.ndarray:
    return np.asarray(x - x.mean(axis=0))


def test_known_moments_and_statsmodels_gmm(crowd: dict[str, Any]) -> None:
    """V_q (1 - ρ²): the query's mean with released means as known moments."""
    q = (crowd["b"] > 1).astype(float)
    g = spread_of(np.column_stack([crowd["a"], crowd["y"]]))
    want = efficient_variance(np.column_stack([q, g]), q.mean())
    found = pr.predictability(pr.moment_summary(q, g), pr.sample_attack_size(100))
    assert found.variance_after[0] == pytest.approx(want, rel=1e-8)


@pytest.mark.parametrize("kind", ["linear", "logistic-l2", "poisson"])
def test_fitted_models_and_statsmodels_gmm(crowd: dict[str, Any], kind: str) -> None:
    """The same with the gradients of a fitted model, whose parameters the release tells exactly."""
    table = dict(crowd, k=np.random.default_rng(0).poisson(np.exp(0.3 * crowd["a"])))
    record: Any = {
        "linear": pr.LinearRegression(features=("a", "b"), target="y"),
        "logistic-l2": pr.PenalisedLogisticRegression(features=("a", "b"), target="yes", penalty=0.05),
        "poisson": pr.PoissonRegression(features=("a", "b"), target="k"),
    }[kind]
    release = record.fit(table)
    g = np.empty((5_000, 3))
    release.fill(table, g)
    q = (crowd["y"] * crowd["a"] > 0.5).astype(float)
    summary = pr.summarise(dict(table, q=q), pr.column_queries(["q"], {"q": q}), release)
    want = efficient_variance(np.column_stack([q, g]), q.mean())
    assert pr.predictability(summary, pr.sample_attack_size(100)).variance_after[0] == pytest.approx(want, rel=1e-8)


def test_noise_as_a_further_moment(crowd: dict[str, Any]) -> None:
    """On the paper's scale the noise is one more moment with spread Σ: a column with that covariance does it."""
    n = 5_000
    q = (crowd["b"] > 1).astype(float)
    g = spread_of(np.column_stack([crowd["a"], crowd["y"]]))
    sigma = np.array([[0.5, 0.2], [0.2, 2.0]])
    rng = np.random.default_rng(0)
    raw = rng.standard_normal((n, 2))
    known = np.column_stack([np.ones(n), q, g])
    raw -= known @ np.linalg.lstsq(known, raw, rcond=None)[0]
    z = raw @ np.linalg.inv(np.linalg.cholesky(raw.T @ raw / n)).T @ np.linalg.cholesky(sigma).T
    np.testing.assert_allclose(z.T @ z / n, sigma, atol=1e-10)

    class Noisy(GMM):  # type: ignore[misc]
        def momcond(self, params: np.ndarray) -> np.ndarray:
            p, shift = params[0], params[1:]
            return np.column_stack([q - p, g - shift, z - shift])

    rows = np.column_stack([q - q.mean(), g, z])
    model = Noisy(np.zeros(n), np.zeros((n, 1)), None, k_moms=5, k_params=3)
    result = model.fit(
        np.array([q.mean(), 0.0, 0.0]), maxiter=2, inv_weights=np.linalg.inv(rows.T @ rows / n), weights_method="cov",
        optim_method="bfgs", optim_args={"disp": 0, "gtol": 1e-12}, wargs={"centered": False},
    )  # fmt: skip
    want = float(np.asarray(result.cov_params())[0, 0]) * n
    found = pr.predictability(pr.moment_summary(q, g), pr.sample_attack_size(100), sigma, noise_scale="paper")
    assert found.variance_after[0] == pytest.approx(want, rel=1e-8)
    assert found.c0[0] > 0.01


def test_linearmodels_gmm(crowd: dict[str, Any]) -> None:
    """The same number from an instrumental-variable GMM: regress q on 1 with known means as extra conditions.

    Efficient GMM of ``E[(1, g)(q - p)] = 0`` with heteroscedastic weights is another system; the known moments enter
    as ``q - cᵀ V⁻¹ g``, whose plain variance must be V_q (1 - ρ²).
    """
    q = (crowd["b"] > 1).astype(float)
    g = spread_of(np.column_stack([crowd["a"], crowd["y"]]))
    summary = pr.moment_summary(q, g)
    slope = np.linalg.solve(summary.moment_covariance, summary.cross_covariance[0])
    frame = pd.DataFrame({"adjusted": q - g @ slope, "one": 1.0})
    result = IVGMM(frame["adjusted"], frame[["one"]], None, None, weight_type="robust").fit(iter_limit=2)
    found = pr.predictability(summary, pr.sample_attack_size(100)).variance_after[0]
    assert float(result.cov.iloc[0, 0]) * 5_000 == pytest.approx(found, rel=1e-8)
    assert float(result.params.iloc[0]) == pytest.approx(q.mean(), rel=1e-10)


def test_sandwich_of_statsmodels_and_linearmodels(crowd: dict[str, Any]) -> None:
    """V_sand = J⁻¹ V_g J⁻ᵀ is n times the heteroscedasticity-robust covariance (HC0)."""
    x = sm.add_constant(crowd["x"])
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    summary = pr.summarise(crowd, pr.query_set(["yes"], crowd), release)
    want = sm.OLS(crowd["y"], x).fit().get_robustcov_results("HC0").cov_params()
    np.testing.assert_allclose(summary.sandwich / 5_000, want, rtol=1e-8, atol=1e-14)
    frame = pd.DataFrame(x, columns=list("abcd"))
    gmm = IVGMM(pd.Series(crowd["y"]), frame, None, None).fit()
    np.testing.assert_allclose(summary.sandwich / 5_000, np.asarray(gmm.cov), rtol=1e-8, atol=1e-14)
    logit = pr.LogisticRegression(features=("x",), target="yes").fit(crowd)
    found = pr.summarise(crowd, pr.query_set(["yes"], crowd), logit).sandwich / 5_000
    other = sm.Logit(crowd["yes"].astype(float), x).fit(disp=0, tol=1e-14, cov_type="HC0")
    np.testing.assert_allclose(found, other.cov_params(), rtol=1e-8, atol=1e-14)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 5_000)
    count = dict(crowd, k=np.random.default_rng(1).poisson(weights))
    poisson = pr.PoissonRegression(features=("x",), target="k").fit(count)
    found = pr.summarise(count, pr.query_set(["yes"], count), poisson).sandwich / 5_000
    glm = sm.GLM(count["k"], x, family=sm.families.Poisson()).fit(tol=1e-14, cov_type="HC0")
    np.testing.assert_allclose(found, np.asarray(glm.cov_params()), rtol=1e-8, atol=1e-14)


def test_weighted_variance_of_a_ratio(crowd: dict[str, Any]) -> None:
    """V_q of a biased process is n times the robust variance of a weighted mean over draws (statsmodels WLS, HC0).

    On a sample that holds each person in proportion to p exactly: p_i = k_i / Σk with whole numbers k.
    """
    rng = np.random.default_rng(0)
    copies = rng.integers(1, 6, 300)
    q = (rng.random(300) < 0.3).astype(float)
    law = copies / copies.sum()
    process = pr.IndependentProcess(300, 50, law)
    assert process.weights is not None
    summary = pr.moment_summary(q, np.where(q > 0, 1 - q.mean(), -q.mean()), weights=process.weights)
    drawn = np.repeat(np.arange(300), copies)
    fit = sm.WLS(q[drawn], np.ones(len(drawn)), weights=process.weights[drawn]).fit(cov_type="HC0")
    assert float(fit.params[0]) == pytest.approx(q.mean(), rel=1e-12)
    assert float(fit.cov_params()[0, 0]) * len(drawn) == pytest.approx(summary.query_variance[0], rel=1e-8)
