"""Trimmed shares, at what is shown and under the noise, by a route of their own: roots, quadrature and thresholds.

Nothing here calls the fitting code of the package: propensities come from scipy's root finder on the moments written
out over a grid, trims from the rule of section 2.6, and shares under the noise from where the fitted curve crosses
the trim.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import root
from scipy.special import expit, logit
from scipy.stats import norm

from privexplorer.causal import AlphaIdentity, GaussianNoise, UniformNoise, cross_fit, discrete_estimate, tabulate
from privexplorer.causal.mechanisms import uniform_levels
from privexplorer.causal.study_data import Categories, Numbers, analyse_effect, mechanism_for
from privexplorer.causal.targets import ATE
from privexplorer.studies.private_effect import (
    NOISE,
    PANELS,
    SHOWN,
    TREATED,
    UNTREATED,
    PrivateEffect,
    PrivateEffectScenario,
    TrainingProgramme,
    analysis,
)

GRID = (np.arange(20_000) + 0.5) / 20_000


def rule(keep: float, n: int) -> float:
    return max(0.02, min(0.1, 1.0 / (keep * math.sqrt(n))))


def line_by_moments(z: np.ndarray, d: np.ndarray, keep: float, noise: np.ndarray) -> tuple[float, float]:
    """Intercept and slope of the log-odds: P_n Q⁻¹[(D - π) (1, x)] = 0, the noise as equally likely points."""

    def moments(line: np.ndarray) -> list[float]:
        shown, there = d - expit(line[0] + line[1] * z), expit(line[0] + line[1] * noise)
        lost = (1.0 - keep) / keep
        return [
            (shown.mean()) / keep - lost * (d.mean() - there.mean()),
            (shown * z).mean() / keep - lost * (d.mean() * noise.mean() - (there * noise).mean()),
        ]

    found = root(moments, [logit(d.mean()), 0.0], tol=1e-12)
    assert found.success
    return float(found.x[0]), float(found.x[1])


def people(law: str, keep: float, n: int, steep: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, AlphaIdentity]:
    rng = np.random.default_rng(23)
    noise = UniformNoise(-1.0, 1.0) if law == "uniform" else GaussianNoise(0.2, 0.8)
    x = noise.sample(n, rng) if law == "normal" else rng.uniform(-1.0, 1.0, n)
    d = (rng.random(n) < expit(0.3 + steep * x)).astype(float)
    mechanism = AlphaIdentity(keep, noise)
    return x + d + rng.standard_normal(n), d, mechanism.privatise(x, rng), mechanism


@pytest.mark.parametrize("law", ["uniform", "normal"])
@pytest.mark.parametrize(("keep", "steep"), [(0.6, 4.5), (0.8, 7.0)])
def test_numbers(law: str, keep: float, steep: float) -> None:
    """Shares between 0.1 and 0.7 agree to 0.004 at the records (exactly) and under the noise (1,000 quantiles)."""
    n = 4000
    y, d, z, mechanism = people(law, keep, n, steep)
    found = cross_fit(y, d, z, mechanism, rng=np.random.default_rng(1), refuse=False)
    labels, trim = found.nuisances["fold_ids"], rule(keep, n)
    noise = 2.0 * GRID - 1.0 if law == "uniform" else norm.ppf(GRID, 0.2, 0.8)
    outside, shares = 0, []
    for fold in range(5):
        held = labels == fold
        intercept, slope = line_by_moments(z[~held], d[~held], keep, noise)
        chance = expit(intercept + slope * z[held])
        outside += int(np.sum((chance < trim) | (chance > 1.0 - trim)))
        ends = (np.array([logit(trim), logit(1.0 - trim)]) - intercept) / slope
        low, high = np.clip((ends + 1.0) / 2.0, 0.0, 1.0) if law == "uniform" else norm.cdf(ends, 0.2, 0.8)
        shares.append(low + 1.0 - high)
    at_records, under_noise = outside / n, float(np.mean(shares))
    assert found.nuisances["trim"] == pytest.approx(trim)
    assert found.nuisances["trimmed_share"] == pytest.approx(at_records, abs=0.003)
    assert found.nuisances["trimmed_share_under_noise"] == pytest.approx(under_noise, abs=0.003)
    assert min(at_records, under_noise) > 0.08  # a tenth of it is more than the tolerance


@pytest.mark.parametrize("keep", [0.5, 0.8])
def test_categories(keep: float) -> None:
    """Unmixed by hand: the share of a category is what shows it, less what noise shows, over the keep probability."""
    n, rng = 6000, np.random.default_rng(5)
    x = rng.choice(4, n, p=[0.3, 0.3, 0.25, 0.15])
    d = (rng.random(n) < np.array([0.5, 0.006, 0.4, 0.996])[x]).astype(int)
    y = (rng.random(n) < 0.5).astype(int)
    mechanism = AlphaIdentity(keep, uniform_levels(4))
    z = mechanism.privatise(x, rng)
    found = discrete_estimate(tabulate(y, d, z, 4), mechanism, ATE(), repair="never")
    treated = [(np.mean((z == level) & (d == 1)) - (1 - keep) / 4 * np.mean(d)) / keep for level in range(4)]
    everybody = [(np.mean(z == level) - (1 - keep) / 4) / keep for level in range(4)]
    chance = np.array(treated) / np.array(everybody)
    trim = rule(keep, n)
    extreme = (chance < trim) | (chance > 1.0 - trim)
    assert 1 <= extreme.sum() <= 3
    assert found.nuisances["extreme_share_released"] == pytest.approx(np.mean(extreme[z]), abs=1e-12)
    assert found.nuisances["extreme_share_noise"] == pytest.approx(extreme.sum() / 4, abs=1e-12)


@pytest.mark.parametrize("numeric", [True, False])
def test_the_shares_of_an_analysis_of_a_table(numeric: bool) -> None:
    """The analysis of a whole table hands on both shares, and the fitted chances at what is shown."""
    n, keep = 4000, 0.7
    rng = np.random.default_rng(8)
    x = rng.uniform(-1.0, 1.0, n) if numeric else rng.integers(0, 3, n)
    chance = expit(0.3 + 5.0 * x) if numeric else np.array([0.004, 0.5, 0.6])[x]
    table = {"y": x + rng.standard_normal(n), "d": (rng.random(n) < chance).astype(int), "x": x}
    private = {"x": Numbers(-1.0, 1.0) if numeric else Categories((0, 1, 2))}
    found = analyse_effect(
        table,
        outcome="y",
        treatment="d",
        private=private,
        mechanism=mechanism_for(private, keep),
        rng=np.random.default_rng(2),
    )
    trim, shown = rule(keep, n), found.propensity
    # chances are clipped to the trim where they are fitted by moments
    extreme = (shown <= trim) | (shown >= 1.0 - trim) if numeric else (shown < trim) | (shown > 1.0 - trim)
    assert found.trimmed_released == pytest.approx(extreme.mean(), abs=1e-12)
    assert found.trimmed_released > 0.1
    if numeric:
        ends = (logit([trim, 1.0 - trim]) - 0.3) / 5.0
        assert found.trimmed_noise == pytest.approx(1.0 - (ends[1] - ends[0]) / 2.0, abs=0.1)
    else:
        assert found.trimmed_noise == pytest.approx(1 / 3, abs=1e-12)


@pytest.mark.parametrize(("private", "people"), [("illness", 500), ("age", 3000)])
def test_both_views_of_the_study(private: str, people: int) -> None:
    """Bars of the overlap view and points of the trimmed view, counted again from the analysis at every level.

    At keep probability 0.1 two thirds of the illness levels and a third of the ages are trimmed.
    """
    study = PrivateEffect()
    scenario = PrivateEffectScenario(data=TrainingProgramme(people=people), private=(private,), keep=0.5)
    result = study.run(scenario)
    at_hand = study.prepare(scenario, None).people
    largest = 0.0
    for shown, noise in zip(
        result.series(SHOWN, PANELS["trimmed"]).itertuples(),
        result.series(NOISE, PANELS["trimmed"]).itertuples(),
        strict=True,
    ):
        assert shown.x == noise.x
        largest = max(largest, min(shown.y, noise.y))
        found, _ = analysis(scenario, at_hand, shown.x)
        trim = rule(shown.x, people) if shown.x < 1 else found.estimate.nuisances["trim"]
        chance, released = found.propensity, np.asarray(found.released)
        if private == "illness":
            extreme = (chance < trim) | (chance > 1 - trim)
            if shown.x < 1:
                by_level = [extreme[released == level].any() for level in range(released.max() + 1)]
                assert noise.y == pytest.approx(np.mean(by_level), abs=1e-12)
        else:
            extreme = (chance <= trim) | (chance >= 1 - trim)
            if shown.x < 1:
                ages = at_hand.private[private]
                assert isinstance(ages, Numbers)
                unit = 2.0 * (released - ages.low) / (ages.high - ages.low) - 1.0
                shares = []
                for fold in range(5):
                    rest = found.estimate.nuisances["fold_ids"] != fold
                    fitted = line_by_moments(unit[rest], found.treated[rest], shown.x, 2.0 * GRID - 1.0)
                    curve = expit(fitted[0] + fitted[1] * (2.0 * GRID - 1.0))
                    shares.append(np.mean((curve < trim) | (curve > 1 - trim)))
                assert noise.y == pytest.approx(np.mean(shares), abs=0.003)
        assert shown.y == pytest.approx(extreme.mean(), abs=1e-12)
    assert largest > 0.3
    found, _ = analysis(scenario, at_hand, 0.5)
    for arm, name in ((1, TREATED), (0, UNTREATED)):
        bars = result.series(name, PANELS["overlap"])
        chances = found.propensity[found.treated == arm]
        width = float(np.diff(bars["x"].to_numpy()).mean())
        place = np.minimum((chances / width + 1e-12).astype(int), len(bars) - 1)
        counted = np.array([np.mean(place == cell) for cell in range(len(bars))])
        assert bars["y"].to_numpy() == pytest.approx(counted, abs=2 / len(chances))
