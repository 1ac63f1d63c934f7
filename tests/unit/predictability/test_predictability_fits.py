"""Fits against scikit-learn and statsmodels to 1e-8, and what cannot be fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn import linear_model

from privexplorer import predictability as pr
from privexplorer.errors import DataError, ParameterError
from privexplorer.predictability.fits import curvature, loss_values, predicted


@pytest.fixture(scope="module")
def people() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    n = 3_000
    x = rng.standard_normal((n, 4)) * [1.0, 20.0, 0.05, 1.0] + [0.0, 50.0, 0.0, 3.0]
    linear = 0.4 * x[:, 0] + 0.02 * (x[:, 1] - 50) + 4.0 * x[:, 2] - 0.3 * (x[:, 3] - 3)
    return {
        "x": x, "y": linear + rng.standard_t(4, n), "b": rng.random(n) < 1 / (1 + np.exp(-linear)),
        "k": rng.poisson(np.exp(0.5 * linear)), **{f"x{j}": x[:, j] for j in range(4)},
    }  # fmt: skip


FEATURES = ("x0", "x1", "x2", "x3")


def test_least_squares(people: dict[str, Any]) -> None:
    found = pr.LinearRegression(features=FEATURES, target="y").fit(people)
    want = sm.OLS(people["y"], sm.add_constant(people["x"])).fit()
    np.testing.assert_allclose(found.coefficients, want.params, rtol=1e-8)
    other = linear_model.LinearRegression().fit(people["x"], people["y"])
    np.testing.assert_allclose(found.coefficients, [other.intercept_, *other.coef_], rtol=1e-8)
    assert found.labels == ("intercept", *FEATURES)
    plain = pr.LinearRegression(features=("x",), target="y", intercept=False).fit(people)
    np.testing.assert_allclose(plain.coefficients, sm.OLS(people["y"], people["x"]).fit().params, rtol=1e-8)
    assert plain.labels == ("x[1]", "x[2]", "x[3]", "x[4]")


@pytest.mark.parametrize("penalty", [1e-4, 0.1, 50.0])
def test_ridge(people: dict[str, Any], penalty: float) -> None:
    n = len(people["y"])
    found = pr.RidgeRegression(features=("x",), target="y", intercept=False, penalty=penalty).fit(people)
    want = linear_model.Ridge(alpha=n * penalty, fit_intercept=False, solver="cholesky").fit(people["x"], people["y"])
    np.testing.assert_allclose(found.coefficients, want.coef_, rtol=1e-8)


def test_logistic(people: dict[str, Any]) -> None:
    found = pr.LogisticRegression(features=FEATURES, target="b").fit(people)
    want = sm.Logit(people["b"], sm.add_constant(people["x"])).fit(disp=0, method="newton", tol=1e-14, maxiter=100)
    np.testing.assert_allclose(found.coefficients, want.params, rtol=1e-8)
    np.testing.assert_allclose(np.linalg.inv(found.hessian) / len(people["b"]), want.cov_params(), rtol=1e-8)


@pytest.mark.parametrize("penalty", [1e-3, 0.5])
def test_penalised_logistic(people: dict[str, Any], penalty: float) -> None:
    n = len(people["b"])
    record = pr.PenalisedLogisticRegression(features=("x",), target="b", intercept=False, penalty=penalty)
    want = linear_model.LogisticRegression(
        C=1 / (n * penalty), fit_intercept=False, tol=1e-13, solver="newton-cholesky", max_iter=1_000
    ).fit(people["x"], people["b"])
    np.testing.assert_allclose(record.fit(people).coefficients, want.coef_[0], rtol=1e-8)


def test_poisson(people: dict[str, Any]) -> None:
    found = pr.PoissonRegression(features=FEATURES, target="k").fit(people)
    want = sm.GLM(people["k"], sm.add_constant(people["x"]), family=sm.families.Poisson()).fit(tol=1e-14)
    np.testing.assert_allclose(found.coefficients, want.params, rtol=1e-8)
    other = linear_model.PoissonRegressor(alpha=0, tol=1e-12, solver="newton-cholesky").fit(people["x"], people["k"])
    np.testing.assert_allclose(found.coefficients, [other.intercept_, *other.coef_], rtol=1e-7)


@pytest.mark.parametrize(
    "record",
    [
        pr.LinearRegression(features=FEATURES, target="y"),
        pr.RidgeRegression(features=FEATURES, target="y", penalty=0.3),
        pr.LogisticRegression(features=FEATURES, target="b"),
        pr.PenalisedLogisticRegression(features=FEATURES, target="b", penalty=0.3),
        pr.PoissonRegression(features=FEATURES, target="k"),
    ],
)
def test_gradients_average_to_zero_and_derivatives_are_right(people: dict[str, Any], record: Any) -> None:
    """P-X21: the mean gradient is below 1e-10; J is the derivative of the mean moment (differences)."""
    release = record.fit(people)
    moments = np.empty((len(people["y"]), release.width))
    release.fill(people, moments)
    size = np.abs(moments).max(axis=0)
    assert (np.abs(moments.mean(axis=0)) < 1e-10 * size).all()
    design = np.ascontiguousarray(release.design(people).T)[:, None, :]
    np.testing.assert_allclose(
        release.moments_at(design, release.parameters[None])[:, 0].T, moments, rtol=1e-9, atol=1e-12
    )
    columns = []
    for place, value in enumerate(release.parameters):
        step = np.zeros_like(release.parameters)
        step[place] = 1e-4 * max(abs(value), 0.01)
        ends = [
            release.moments_at(design, (release.parameters + sign * step)[None]).mean(axis=2)[:, 0] for sign in (1, -1)
        ]
        columns.append((ends[0] - ends[1]) / (2 * step[place]))
    np.testing.assert_allclose(release.jacobian, np.array(columns).T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        release.jacobian_at(design, release.parameters[None], None)[0], release.jacobian, rtol=1e-9
    )


@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson"])
def test_loss_functions(loss: Any) -> None:
    """Derivatives against differences, also far out; nothing overflows."""
    linear = np.array([-30.0, -5.0, -0.1, 0.0, 0.3, 4.0, 12.0])
    outcome = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    step = 1e-5
    slope = (loss_values(loss, linear + step, outcome) - loss_values(loss, linear - step, outcome)) / (2 * step)
    np.testing.assert_allclose(predicted(loss, linear) - outcome, slope, rtol=1e-5, atol=1e-5)
    bend = (predicted(loss, linear + step) - predicted(loss, linear - step)) / (2 * step)
    np.testing.assert_allclose(curvature(loss, linear), bend, rtol=1e-5, atol=1e-9)
    if loss == "logistic":
        far = np.array([-800.0, 800.0])
        assert predicted(loss, far).tolist() == [0.0, 1.0]
        assert np.isfinite(loss_values(loss, far, np.array([1.0, 0.0]))).all()


def test_near_collinear_fits_keep_their_digits() -> None:
    rng = np.random.default_rng(2)
    for closeness in (1e-3, 1e-5, 1e-7):
        x = rng.standard_normal((500, 3))
        x[:, 2] = x[:, 0] + x[:, 1] + closeness * x[:, 2]
        y = x @ [1.0, 2.0, 3.0] + rng.standard_normal(500)
        found = pr.fit("squared", {"x": x, "y": y}, pr.Design(("x",), "y")).coefficients
        want = np.linalg.lstsq(x, y, rcond=1e-16)[0]
        np.testing.assert_allclose(found, want, rtol=1e-15 / closeness + 1e-11)


def test_parts_give_the_same_fit(people: dict[str, Any]) -> None:
    parts = [{name: values[k::4] for name, values in people.items()} for k in range(4)]
    for record in (
        pr.LinearRegression(features=FEATURES, target="y"), pr.LogisticRegression(features=FEATURES, target="b")
    ):  # fmt: skip
        np.testing.assert_allclose(record.fit(parts).coefficients, record.fit(people).coefficients, rtol=1e-10)


# --- refusals ------------------------------------------------------------------------------------------------


def test_dependent_columns_are_named(people: dict[str, Any]) -> None:
    table = dict(people, sum=people["x0"] - 2 * people["x2"], one=np.ones(3_000), zero=np.zeros(3_000))
    for features, words in (
        (("x0", "x1", "x2", "sum"), r"columns 'x0', 'x2', 'sum' carry the same information"),
        (("x0", "one"), r"columns 'intercept', 'one' carry"),
        (("x0", "zero"), r"column 'zero' is 0 for everybody"),
    ):
        for record, target in ((pr.LinearRegression, "y"), (pr.LogisticRegression, "b"), (pr.PoissonRegression, "k")):
            with pytest.raises(ParameterError, match=words) as caught:
                record(features=features, target=target).fit(table)
            assert "ridge regression" in f"{caught.value} {caught.value.hint}".lower()
    ridge = pr.RidgeRegression(features=("x0", "x1", "x2", "sum"), target="y", penalty=0.01).fit(table)
    assert np.isfinite(ridge.coefficients).all()


def test_fewer_people_than_columns() -> None:
    """The sentence counts both and offers ridge regression; it does not blame columns that are all different."""
    x = np.random.default_rng(0).standard_normal((6, 5))
    table, whole = {"x": x[:3], "y": np.array([0.0, 1.0, 1.0])}, {"x": x, "y": np.arange(6.0)}
    for record in (pr.LinearRegression, pr.LogisticRegression, pr.PoissonRegression):
        for intercept, counted in ((True, r"6, the intercept included"), (False, "5")):
            asked = record(features=("x",), target="y", intercept=intercept)
            with pytest.raises(ParameterError, match=rf"more columns \({counted}\) than people \(3\)") as caught:
                asked.fit(table)
            assert "choose fewer columns or use ridge regression" in str(caught.value)
    assert np.isfinite(pr.LinearRegression(features=("x",), target="y").fit(whole).coefficients).all()
    ridge = pr.RidgeRegression(features=("x",), target="y", penalty=0.01).fit(table)
    assert np.isfinite(ridge.coefficients).all()


def test_an_outcome_does_not_explain_itself(people: dict[str, Any]) -> None:
    for record in (pr.LinearRegression, pr.RidgeRegression, pr.PoissonRegression, pr.GradientDescent):
        with pytest.raises(ParameterError, match="“x1” is also a feature and would explain itself; choose another"):
            record(features=("x0", "x1"), target="x1").fit(people)


def test_separable_outcomes_ask_for_a_penalty() -> None:
    x = np.linspace(-1, 1, 60)
    whole = {"x": x, "y": x > 0.1}
    partly = {"x": np.repeat([0.0, 1.0], 30), "y": np.r_[np.tile([0, 1], 15), np.ones(30, dtype=int)]}
    for table in (whole, partly):
        with pytest.raises(ParameterError, match="grow without limit; add a penalty"):
            pr.LogisticRegression(target="y").fit(table)
        assert np.isfinite(pr.PenalisedLogisticRegression(target="y", penalty=0.01).fit(table).coefficients).all()
    with pytest.raises(ParameterError, match="counts are all 0"):
        pr.PoissonRegression(target="y").fit({"x": partly["x"], "y": np.r_[np.tile([0, 1], 15), np.zeros(30)]})


def test_rare_outcomes_are_not_called_separable() -> None:
    """One yes among 20,000 people who look alike: a large intercept, but a finite one."""
    y = np.zeros(20_000)
    y[7] = 1
    x = np.random.default_rng(0).standard_normal(20_000)
    found = pr.LogisticRegression(features=("x",), target="y").fit({"x": x, "y": y})
    assert found.coefficients[0] < -9


def test_outcomes_must_suit_the_loss(people: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"outcomes 0 or 1; 'y' is .* in row 1"):
        pr.LogisticRegression(features=FEATURES, target="y").fit(people)
    with pytest.raises(DataError, match="at least 0; 'y' is -"):
        pr.PoissonRegression(features=FEATURES, target="y").fit(people)
    with pytest.raises(DataError, match="must hold numbers"):
        pr.LinearRegression(features=("t",), target="y").fit({"t": np.array(["a", "b"]), "y": np.zeros(2)})
    with pytest.raises(DataError, match="one number per person"):
        pr.LinearRegression(features=("x0",), target="x").fit(people)
    broken = dict(people, k=np.where(np.arange(3_000) == 5, np.nan, people["k"]))
    with pytest.raises(DataError, match="row 6, 'k', is missing"):
        pr.PoissonRegression(features=FEATURES, target="k").fit(broken)


# --- gradient descent ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "target", "eta"), [("squared", "y", 0.05), ("logistic", "b", 0.3), ("poisson", "k", 0.05)]
)
def test_descent_follows_its_definition(people: dict[str, Any], loss: Any, target: str, eta: float) -> None:
    table = {"z": (people["x"] - people["x"].mean(axis=0)) / people["x"].std(axis=0), target: people[target]}
    found = pr.descend(loss, table, pr.Design(("z",), target, True), 4, eta, penalty=0.1)
    x = np.column_stack([np.ones(3_000), table["z"]])
    at = np.zeros(5)
    for step in range(4):
        gradient = ((predicted(loss, x @ at) - people[target])[:, None] * x).mean(axis=0) + 0.1 * at
        np.testing.assert_allclose(found.gradients[step], gradient, rtol=1e-9, atol=1e-12)
        at = at - eta * gradient
        np.testing.assert_allclose(found.path[step + 1], at, rtol=1e-10, atol=1e-14)
    assert (np.diff(found.losses) < 0).all()
    value = loss_values(loss, x @ at, people[target].astype(float)).mean() + 0.05 * at @ at
    assert found.losses[-1] == pytest.approx(value, rel=1e-10)


def test_descent_converges_to_the_fit(d20: dict[str, Any]) -> None:
    found = pr.descend("squared", d20, pr.Design(("x1", "x2"), "y"), 200, 0.02)
    want = pr.LinearRegression(features=("x1", "x2"), target="y", intercept=False).fit(d20)
    np.testing.assert_allclose(found.path[-1], want.coefficients, atol=1e-6)


def test_descent_that_diverges_names_the_largest_safe_step(d20: dict[str, Any]) -> None:
    gram = d20["x"].T @ d20["x"] / 20
    limit = 2 / np.linalg.eigvalsh(gram)[-1]
    with pytest.raises(ParameterError, match=f"must stay below {limit:.4g}"):
        pr.descend("squared", d20, pr.Design(("x1", "x2"), "y"), 10, 1.01 * limit)
    pr.descend("squared", d20, pr.Design(("x1", "x2"), "y"), 10, 0.99 * limit)
    table = dict(d20, b=d20["y"] > 0)
    with pytest.raises(ParameterError, match=f"must stay below {4 * limit:.4g}"):
        pr.descend("logistic", table, pr.Design(("x1", "x2"), "b"), 10, 4.01 * limit)
    for arguments, words in (
        ((0, 0.1), "at least 1 step"),
        ((5, 0.0), "above 0; it is 0"),
    ):
        with pytest.raises(ParameterError, match=words):
            pr.descend("squared", d20, pr.Design(("x1", "x2"), "y"), *arguments)
    with pytest.raises(ParameterError, match="needs 2 numbers; it has 1"):
        pr.descend("squared", d20, pr.Design(("x1", "x2"), "y"), 2, 0.1, start=np.zeros(1))
    with pytest.raises(ParameterError, match="at most 600 numbers"):
        pr.GradientDescent(features=("x1", "x2"), steps=400, step_size=0.02, released="path").fit(d20)


def test_penalty_must_not_be_negative(d20: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="at least 0; it is -1"):
        pr.fit("squared", d20, pr.Design(("x1",), "y"), -1.0)
