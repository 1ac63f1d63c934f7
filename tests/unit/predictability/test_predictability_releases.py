"""Releases as moments: values, derivatives, gradient descent, stacks; and the noise that goes with them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from privexplorer import predictability as pr
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination
from privexplorer.privacy import ApproxDP, Gaussian, Laplace, PureDP

SIZE = pr.shard_size(0.3, 5_000)


def moments_of(release: pr.FittedRelease, table: dict[str, Any]) -> np.ndarray:
    out = np.empty((len(next(iter(table.values()))), release.width))
    release.fill(table, out)
    return out


def r_of(release: pr.FittedRelease, table: dict[str, Any], asked: Any, covariance: Any = None) -> np.ndarray:
    summary = pr.summarise(table, asked, release)
    return pr.predictability(summary, SIZE, covariance, noise_scale="paper").r


# --- statistics ----------------------------------------------------------------------------------------------


def test_statistics_publish_what_they_say(crowd: dict[str, Any]) -> None:
    asked = pr.query_set(["b > 1"], crowd)
    for record, wanted, labels in (
        (pr.Mean(columns=("a", "y")), [crowd["a"].mean(), crowd["y"].mean()], ("a", "y")),
        (pr.Mean(columns=("x",)), crowd["x"].mean(axis=0), ("x[1]", "x[2]", "x[3]")),
        (pr.Proportion(condition="a > 0 and yes"), [(crowd["yes"] & (crowd["a"] > 0)).mean()], None),
        (pr.Count(condition="a > 0"), [(crowd["a"] > 0).sum()], ("people with a > 0",)),
        (pr.Formula(text="clip(y, -2, 2) * b"), [(np.clip(crowd["y"], -2, 2) * crowd["b"]).mean()], None),
    ):
        release = record.fit(crowd)
        summary = pr.summarise(crowd, asked, release)
        np.testing.assert_allclose(summary.parameters, wanted, rtol=1e-12)
        np.testing.assert_allclose(release.population(crowd), wanted, rtol=1e-12)
        assert labels is None or release.labels == labels


def test_a_count_is_a_proportion_in_another_unit(crowd: dict[str, Any]) -> None:
    """P-X20: an indicator sums to 0 about its mean, J = -1 (or -1/N); noise of the same meaning, same r."""
    asked = pr.query_set(["b > 1", "y"], crowd)
    share, count = pr.Proportion(condition="a > 0").fit(crowd), pr.Count(condition="a > 0").fit(crowd)
    np.testing.assert_array_equal(share.jacobian, [[-1.0]])
    np.testing.assert_array_equal(count.jacobian, [[-1.0 / 5_000]])
    g = moments_of(share, crowd)
    assert abs((g - g.mean()).sum()) < 1e-9
    one = r_of(share, crowd, asked, [[0.5]])
    np.testing.assert_allclose(r_of(count, crowd, asked, [[0.5 * 5_000**2]]), one, rtol=1e-12)


def test_scalar_statistic_has_the_closed_form(crowd: dict[str, Any]) -> None:
    """Thm 4.1 (corrected, E17): r² = ρ² Var Γ / (Var Γ + Σ)."""
    asked = pr.query_set(["b > 1"], crowd)
    rho = np.corrcoef(crowd["b"] > 1, crowd["y"])[0, 1]
    spread = crowd["y"].var()
    found = r_of(pr.Mean(columns=("y",)).fit(crowd), crowd, asked, [[3.0]])
    assert found[0] ** 2 == pytest.approx(rho**2 * spread / (spread + 3.0), rel=1e-11)


def test_variances_divide_by_the_number_of_people() -> None:
    summary = pr.moment_summary(np.arange(1.0, 9.0), np.arange(1.0, 9.0) - 4.5)
    assert summary.query_variance[0] == pytest.approx(5.25)
    assert summary.moment_covariance[0, 0] == pytest.approx(5.25)


def test_quantile_is_marked_and_close_to_the_truth() -> None:
    """A median of normal data: density at 0, and r against the correlation of q with 1{x <= median}."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200_000)
    table = {"x": x, "q": x + rng.standard_normal(200_000) > 0.5}
    release = pr.Quantile(column="x", level=0.5).fit(table)
    assert release.value == pytest.approx(np.median(x), abs=1e-4)
    assert release.density == pytest.approx(1 / math.sqrt(2 * math.pi), rel=0.02)
    asked = pr.query_set(["q"], table)
    summary = pr.summarise(table, asked, release)
    indicator = x <= release.value
    rho = abs(np.corrcoef(table["q"], indicator)[0, 1])
    assert pr.predictability(summary, SIZE).rho_cc[0] == pytest.approx(rho, rel=1e-6)
    assert any("approximate" in note for note in pr.predictability(summary, SIZE).notes)
    # the noise is compared with the sampling variance of a median, 1/(4 f²)
    assert float(summary.sandwich[0, 0]) == pytest.approx(math.pi / 2, rel=0.05)


def test_quantile_refuses_what_has_no_density() -> None:
    with pytest.raises(ParameterError, match="same value of 'x'"):
        pr.Quantile(column="x").fit({"x": np.ones(10)})
    with pytest.raises(DataError, match="row 2, 'x', is missing"):
        pr.Quantile(column="x").fit({"x": np.array([1.0, np.nan])})
    with pytest.raises(ParameterError, match="the code says 1"):
        pr.Quantile(level=1.0)


def test_ties_at_a_quantile_are_centred() -> None:
    table = {"x": np.repeat([1.0, 2.0, 3.0], [10, 25, 15]), "q": np.arange(50) % 3 == 0}
    summary = pr.summarise(table, pr.query_set(["q"], table), pr.Quantile(column="x", level=0.5).fit(table))
    assert summary.parameters[0] == 2.0
    assert summary.moment_covariance[0, 0] == pytest.approx(0.7 * 0.3)


def test_refusals_of_statistics(crowd: dict[str, Any]) -> None:
    table = dict(crowd, town=np.array(["Rome", "Oslo"] * 2_500))
    for record, error, words in (
        (pr.Proportion(condition="a + 1"), ParameterError, "not a condition"),
        (pr.Count(condition="a"), ParameterError, "not a condition"),
        (pr.Formula(text="town"), ParameterError, "has no mean"),
        (pr.Mean(columns=("town",)), DataError, "must hold numbers"),
        (pr.Mean(columns=("missing",)), DataError, "no column 'missing'"),
    ):
        with pytest.raises(error, match=words):
            record.fit(table)
    with pytest.raises(ParameterError, match="At least one release"):
        pr.fit_all([], table)


def test_kinds_are_stable_names() -> None:
    """Links and files hold these names."""
    kinds = {
        "mean", "proportion", "count", "formula", "quantile", "linear", "ridge", "logistic", "logistic-l2", "poisson",
        "descent",
    }  # fmt: skip
    adapter: TypeAdapter[Any] = TypeAdapter(pr.Release)
    for kind in kinds:
        record = adapter.validate_python({"kind": kind})
        assert record.kind == kind
        assert record.title
        assert record.formula
        assert record.source.startswith("predictability")
        assert adapter.validate_json(adapter.dump_json(record)) == record
    noises: TypeAdapter[Any] = TypeAdapter(pr.Noise)
    for kind in ("none", "isotropic", "covariance", "calibrated", "laplace", "gaussian"):
        assert noises.validate_python({"kind": kind}).title
    attackers: TypeAdapter[Any] = TypeAdapter(pr.Attacker)
    for kind in ("shard", "iid", "weighted", "chain", "adversary", "all-but-one"):
        assert attackers.validate_python({"kind": kind}).title


# --- gradient descent ----------------------------------------------------------------------------------------


def descent(released: str, steps: int, **more: Any) -> pr.GradientDescent:
    return pr.GradientDescent(
        features=("x1", "x2"), target="y", intercept=False, steps=steps, step_size=0.02, released=released, **more
    )  # type: ignore[arg-type]


def test_last_iterate_tends_to_the_fit_and_the_path_tells_more(d20: dict[str, Any]) -> None:
    asked = pr.query_set(["q", "x1 > 0", "y"], d20)
    fitted = r_of(pr.LinearRegression(features=("x1", "x2"), intercept=False).fit(d20), d20, asked)
    last = {steps: r_of(descent("last", steps).fit(d20), d20, asked) for steps in (1, 5, 50, 200)}
    np.testing.assert_allclose(last[200], fitted, rtol=1e-7)
    for steps in (1, 5, 50):
        path = r_of(descent("path", steps).fit(d20), d20, asked)
        assert (path >= last[steps] - 1e-9).all()
    assert pr.summarise(d20, asked, descent("path", 50).fit(d20)).rank == 5


@pytest.mark.parametrize(("loss", "target"), [("squared", "y"), ("logistic", "b")])
def test_influence_is_the_derivative_of_the_iterate(d20: dict[str, Any], loss: str, target: str) -> None:
    """Spec 3.5 (derived): weighing one person up by a little moves w_T by the influence."""
    table: dict[str, Any] = dict(d20, b=(d20["y"] > 0).astype(float))
    record = descent("last", 7, loss=loss, penalty=0.1).model_copy(update={"target": target})
    release = record.fit(table)
    influence = moments_of(release, table)
    assert abs(influence.mean(axis=0)).max() < 1e-13
    for person in (0, 4, 11):
        # the person counts 1 + h/N times
        h = 1e-5
        w = np.zeros(2)
        weights = np.full(20, (1 - h) / 20)
        weights[person] += h
        for _ in range(7):
            linear = table["x"] @ w
            mean = linear if loss == "squared" else 1 / (1 + np.exp(-linear))
            w = w - 0.02 * (((mean - table[target]) * weights) @ table["x"] + 0.1 * w)
        np.testing.assert_allclose((w - release.parameters) / h, influence[person], rtol=2e-3, atol=1e-5)


def test_path_jacobian_is_the_derivative_of_the_moments(d20: dict[str, Any]) -> None:
    """A.1: block lower bidiagonal, against differences; a transposed block would be seen (H is not a multiple of I)."""
    release = descent("path", 3).fit(d20)
    design = np.ascontiguousarray(release.design(d20).T)[:, None, :]
    step, columns = 1e-6, []
    for place in range(6):
        shift = np.zeros(6)
        shift[place] = step
        ends = [
            release.moments_at(design, (release.parameters + sign * shift)[None]).mean(axis=2)[:, 0] for sign in (1, -1)
        ]
        columns.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(release.jacobian, np.array(columns).T, atol=1e-7)
    np.testing.assert_allclose(release.jacobian_at(design, release.parameters[None], None)[0], release.jacobian, 1e-10)
    assert release.labels[3] == "x2, step 2"


def test_noise_on_a_path_and_on_its_last_step(d20: dict[str, Any]) -> None:
    """Noise on the first step only: the path's last step alone, read through, still tells as much as w_T."""
    asked = pr.query_set(["q"], d20)
    path = descent("path", 2).fit(d20)
    last = descent("last", 2).fit(d20)
    huge_then_none = np.diag([1e8, 1e8, 0.0, 0.0])
    np.testing.assert_allclose(r_of(path, d20, asked, huge_then_none), r_of(last, d20, asked), rtol=1e-5)


# --- stacks --------------------------------------------------------------------------------------------------


def test_a_stack_is_its_parts(crowd: dict[str, Any]) -> None:
    asked = pr.query_set(["b > 1", "yes"], crowd)
    records = [
        pr.Mean(columns=("a",)), pr.LinearRegression(features=("x",), target="y"),
        pr.Proportion(condition="yes"),
    ]  # fmt: skip
    stack = pr.fit_all(records, crowd)
    summary = pr.summarise(crowd, asked, stack)
    assert [list(block) for block in stack.moment_blocks] == [[0], [1, 2, 3, 4], [5]]
    assert stack.labels == ("a", "intercept", "x[1]", "x[2]", "x[3]", "share with yes")
    for place, record in enumerate(records):
        alone = pr.summarise(crowd, asked, record.fit(crowd))
        part = summary.select(moments=list(stack.moment_blocks[place]))
        np.testing.assert_allclose(part.parameters, alone.parameters, rtol=1e-9, atol=1e-12)
        sigma = 0.3 * np.eye(alone.dimension)
        np.testing.assert_allclose(pr.noise_spectrum(part, sigma).r2(), pr.noise_spectrum(alone, sigma).r2(), rtol=1e-9)
    np.testing.assert_allclose(stack.population(crowd), summary.parameters, rtol=1e-10)


# --- noise ---------------------------------------------------------------------------------------------------


def setting_of(crowd: dict[str, Any], nu: float = 1.0, **more: Any) -> tuple[pr.MomentSummary, pr.NoiseSetting]:
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    summary = pr.summarise(crowd, pr.query_set(["b > 1", "yes", "y"], crowd), release)
    return summary, pr.noise_setting(summary, nu, **more)


def test_noises_have_the_covariance_they_say(crowd: dict[str, Any]) -> None:
    """Covariances, and draws against them to five standard errors of a variance."""
    summary, setting = setting_of(crowd, 50.0, sensitivity_l1=0.2, sensitivity_l2=0.1)
    matrix = np.array([[2.0, 0.5, 0, 0], [0.5, 1.0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 3.0]])
    laws = {
        "none": (pr.NoNoise().law(setting), np.zeros((4, 4))),
        "isotropic": (pr.Isotropic(std=0.3).law(setting), 0.09 * np.eye(4)),
        "given": (pr.GivenCovariance.of(matrix).law(setting), matrix),
        "calibrated": (pr.Calibrated(level=3.0).law(setting), 3.0 / 50.0 * summary.sandwich),
        "laplace": (pr.LaplaceForPrivacy(epsilon=0.5).law(setting), 2 * 0.4**2 * np.eye(4)),
        "gaussian": (
            pr.GaussianForPrivacy(epsilon=0.5, delta=1e-5).law(setting),
            Gaussian(epsilon=0.5, delta=1e-5).noise(0.1).variance * np.eye(4),
        ),
    }
    rng = np.random.default_rng(0)
    for name, (law, wanted) in laws.items():
        np.testing.assert_allclose(law.covariance, wanted, rtol=1e-12, atol=1e-15, err_msg=name)
        drawn = law.sample(40_000, rng)
        spread = np.sqrt(np.diagonal(wanted))
        kurtosis = 5.0 if name == "laplace" else 2.0
        tolerance = 5 * math.sqrt(kurtosis / 40_000) * np.outer(spread, spread) + 1e-15
        assert (np.abs(drawn.T @ drawn / 40_000 - wanted) < tolerance).all(), name
        assert law.is_gaussian == (name != "laplace")
    assert laws["laplace"][0].guarantee == PureDP(0.5)
    assert laws["gaussian"][0].guarantee == ApproxDP(0.5, 1e-5)
    assert any("not Gaussian" in note for note in laws["laplace"][0].notes)
    assert any("private data" in note for note in laws["calibrated"][0].notes)


def test_noises_add_up(crowd: dict[str, Any]) -> None:
    """End of section 4.3: independent noises add; γ is below either; ε stays that of the private part."""
    summary, setting = setting_of(crowd, 200.0, sensitivity_l1=0.02)
    private, calibrated = pr.LaplaceForPrivacy(epsilon=1.0), pr.Calibrated(level=1.0)
    both = pr.total_noise([private, calibrated], setting)
    np.testing.assert_allclose(both.covariance, 2 * 0.02**2 * np.eye(4) + summary.sandwich / 200.0, rtol=1e-12)
    assert both.guarantee == PureDP(1.0)
    size = pr.shard_size(0.3, 5_000)
    curves = [
        pr.predictability(summary, size, law.covariance).printed
        for law in (both, private.law(setting), calibrated.law(setting))
    ]
    assert (curves[0] < np.minimum(curves[1], curves[2])).all()
    two = pr.total_noise([private, pr.LaplaceForPrivacy(epsilon=0.3)], setting)
    assert two.guarantee == PureDP(0.3)
    assert two.laplace_scales.shape == (2, 4)
    assert any("stronger promise" in note for note in two.notes)
    assert not np.any(pr.total_noise([], setting).covariance)


@pytest.mark.parametrize("scale", ["paper", "release"])
def test_calibrated_noise_attenuates_every_query_alike(crowd: dict[str, Any], scale: Any) -> None:
    """Lem 4.3, R10: exactly 1/√(1+σ²) for 200 random queries, on either noise scale."""
    rng = np.random.default_rng(1)
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    g = moments_of(release, crowd)[:400]
    g = g - g.mean(axis=0)
    summary = pr.moment_summary(rng.standard_normal((400, 200)), g, release.jacobian)
    size = pr.shard_size(0.3, 400)
    law = pr.Calibrated(level=0.7).law(pr.noise_setting(summary, size.multiplier(scale)))
    noisy = pr.predictability(summary, size, law.covariance, noise_scale=scale)
    clean = pr.predictability(summary, size, noise_scale=scale)
    np.testing.assert_allclose(noisy.r / clean.r, 1 / math.sqrt(1.7), rtol=1e-11)
    np.testing.assert_allclose(noisy.c0, 0.7 / 1.7 * clean.rho_cc**2, rtol=1e-11)
    assert pr.Calibrated.for_factor(0.25).level == pytest.approx(15.0)


def test_calibrated_noise_under_weights(crowd: dict[str, Any]) -> None:
    """V_sand carries the weights: attenuation stays exact for a biased process (erratum E18)."""
    process = pr.WeightedDraws(draws=300, column="scores").process(5_000, crowd)
    release = pr.LinearRegression(features=("x",), target="y").fit(crowd)
    summary = process.summarise(crowd, pr.query_set(["b > 1", "yes", "y"], crowd), release)
    size = process.size()
    law = pr.Calibrated(level=2.0).law(pr.noise_setting(summary, size.multiplier()))
    ratio = pr.predictability(summary, size, law.covariance).r / pr.predictability(summary, size).r
    np.testing.assert_allclose(ratio, 1 / math.sqrt(3.0), rtol=1e-9)


def test_sensitivities_by_enumeration() -> None:
    """Exact sensitivities of means, shares and counts: the largest change over all replaced records of tiny tables."""
    bounds = {"a": (0.0, 2.0), "b": (-1.0, 1.0), "a * b": (-2.0, 2.0)}
    corners = [(a, b) for a in (0.0, 2.0) for b in (-1.0, 1.0)]
    base = [(0.0, 1.0), (2.0, -1.0), (0.0, -1.0)]
    for record in (
        pr.Mean(columns=("a", "b")), pr.Proportion(condition="a > b"), pr.Count(condition="a > 1"),
        pr.Formula(text="a * b"),
    ):  # fmt: skip
        for norm in ("l1", "l2"):
            worst = 0.0
            for row in range(3):
                outcomes = []
                for corner in corners:
                    people = [corner if place == row else person for place, person in enumerate(base)]
                    table = {"a": np.array([p[0] for p in people]), "b": np.array([p[1] for p in people])}
                    outcomes.append(record.fit(table).population(table))
                worst = max(
                    worst,
                    *(
                        np.abs(one - two).sum() if norm == "l1" else float(np.linalg.norm(one - two))
                        for one in outcomes
                        for two in outcomes
                    ),
                )
            assert record.sensitivity(3, bounds, norm) == pytest.approx(worst, rel=1e-12)  # type: ignore[arg-type]


def test_sensitivity_of_penalised_logistic_is_a_bound() -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (40, 2))
    y = (rng.random(40) < 0.5).astype(float)
    record = pr.PenalisedLogisticRegression(features=("a", "b"), target="y", intercept=False, penalty=0.1)
    bounds = {"a": (-1.0, 1.0), "b": (-1.0, 1.0)}
    limit = record.sensitivity(40, bounds, "l2")
    assert limit == pytest.approx(2 * math.sqrt(2) / (40 * 0.1))
    assert record.sensitivity(40, bounds, "l1") == pytest.approx(math.sqrt(2) * limit)
    base = record.fit({"a": x[:, 0], "b": x[:, 1], "y": y}).coefficients
    moved = []
    for corner in ((1.0, 1.0, 0.0), (-1.0, -1.0, 1.0), (1.0, -1.0, 1.0)):
        table = {"a": x[:, 0].copy(), "b": x[:, 1].copy(), "y": y.copy()}
        table["a"][0], table["b"][0], table["y"][0] = corner
        moved.append(np.linalg.norm(record.fit(table).coefficients - base))
    assert 0.05 * limit < max(moved) <= limit


def test_refusals_of_noise(crowd: dict[str, Any]) -> None:
    _, setting = setting_of(crowd)
    for call, error, words in (
        (lambda: pr.LaplaceForPrivacy().law(setting), UnsupportedCombination, "public bounds"),
        (lambda: pr.LinearRegression().sensitivity(5, {}, "l1"), UnsupportedCombination, "without limit"),
        (lambda: pr.Mean(columns=("a",)).sensitivity(5, {}, "l1"), ParameterError, "public bounds of 'a'"),
        (lambda: pr.Mean(columns=("a",)).sensitivity(5, {"a": (1, 0)}, "l1"), ParameterError, "must be below"),
        (lambda: pr.GivenCovariance(entries=(1.0, 2.0)).law(setting), ParameterError, "4 times 4 = 16; 2 are given"),
        (lambda: pr.GivenCovariance.of(np.eye(2)).law(setting), ParameterError, "4 × 4 matrix.*it is 2 × 2"),
        (lambda: pr.Calibrated.for_factor(0.0), ParameterError, "at most 1; it is 0"),
        (
            lambda: pr.Calibrated().law(pr.NoiseSetting(2)), UnsupportedCombination,
            "as many moments as published numbers",
        ),
        (
            lambda: pr.NoNoise().law(pr.NoiseSetting(2)) + pr.NoNoise().law(pr.NoiseSetting(3)), ParameterError,
            "same number of released values",
        ),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    with pytest.raises(ParameterError, match="the code says −1"):
        pr.Isotropic(std=-1.0)
    assert pr.NoiseSetting(2, reason="Because.").reason == "Because."


def test_laplace_noise_is_the_package_s_own(crowd: dict[str, Any]) -> None:
    setting = pr.NoiseSetting(1, sensitivity_l1=2.0)
    law = pr.LaplaceForPrivacy(epsilon=0.5).law(setting)
    assert law.covariance[0, 0] == pytest.approx(Laplace(epsilon=0.5).noise(2.0).variance)
    assert law.laplace_scales.tolist() == [[4.0]]
