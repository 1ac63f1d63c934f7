"""Two public tables with answers from the literature: a job-training experiment and a smoking-cessation cohort.

LaLonde's experiment in the sample of Dehejia and Wahba (1999): the arms' earnings differ by 1,794 dollars. The cohort
NHEFS in Hernán and Robins (2020): quitting adds 3.4 kg by inverse-probability weighting (chapter 12) and 3.5 kg by
outcome regression (chapter 13), both with 95 % intervals of about 2.5 to 4.5 kg; without adjustment it is 2.5 kg.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from privexplorer.arrays import FloatArray
from privexplorer.causal.bases import Linear
from privexplorer.causal.crossfit import MomentLearners, cross_fit, fold_labels, median_of_folds
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism, UniformNoise, uniform_levels
from privexplorer.causal.moments import private_design, private_moments
from privexplorer.causal.study_data import Categories, Numbers, analyse_effect, mechanism_for

causaldata = pytest.importorskip("causaldata")

SCHOOL = {"school": Categories(("below 10", "10 or 11", "12 or more"))}


@lru_cache
def training() -> dict[str, Any]:
    data = causaldata.nsw_mixtape.load_pandas().data
    group = np.digitize(data["educ"].to_numpy(float), [10, 12])
    return {
        "pay": data["re78"].to_numpy(float),
        "training": data["treat"].to_numpy(int),
        "school": np.array(SCHOOL["school"].levels, dtype=object)[group],
        "group": group,
        "before": data["re75"].to_numpy(float),
    }


@lru_cache
def smokers() -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Weight gain, quitting, age and the other covariates of Hernán and Robins as columns."""
    data = causaldata.nhefs_complete.load_pandas().data
    columns = []
    for name in ("smokeintensity", "smokeyrs", "wt71"):
        values = data[name].to_numpy(float)
        columns += [values, values**2]
    columns += [data[name].astype(float).to_numpy() for name in ("sex", "race")]
    for name in ("education", "exercise", "active"):
        codes = data[name].astype(float).to_numpy()
        columns += [(codes == code).astype(float) for code in np.unique(codes)[1:]]
    gain, quit_ = data["wt82_71"].to_numpy(float), data["qsmk"].to_numpy(float)
    return gain, quit_, data["age"].to_numpy(float), np.column_stack(columns)


# --- the experiment ----------------------------------------------------------------------------------------------


def test_training_without_noise() -> None:
    found = analyse_effect(
        training(), outcome="pay", treatment="training", private=SCHOOL, mechanism=mechanism_for(SCHOOL, 1.0)
    )
    assert found.records == 445
    assert found.unadjusted.value == pytest.approx(1794.3424, abs=0.001)
    assert found.unadjusted.std_error == pytest.approx(671, abs=0.5)
    assert found.estimate.covers(1794.34)
    assert abs(found.estimate.value - 1794.34) < 200
    assert found.estimate.std_error == pytest.approx(671, rel=0.05)
    assert found.oracle is not None
    assert found.oracle.value == found.estimate.value


def test_training_with_earnings_before_as_the_private_number() -> None:
    earlier = {"before": Numbers(0.0, 30_000.0)}
    found = analyse_effect(
        training(), outcome="pay", treatment="training", private=earlier, mechanism=mechanism_for(earlier, 0.9)
    )
    assert found.estimate.covers(1794.34)
    assert any("hardly anybody" in note for note in found.notes)


@pytest.mark.parametrize("keep", [0.9, 0.6])
def test_training_intervals_over_repeated_noise(keep: float) -> None:
    """At least the stated 95 %, as the interval also allows for sampling; up to 3 standard errors of a share."""
    runs = 200
    mechanism = mechanism_for(SCHOOL, keep)
    covers, values, errors = [], [], []
    for r in range(runs):
        found = analyse_effect(
            training(),
            outcome="pay",
            treatment="training",
            private=SCHOOL,
            mechanism=mechanism,
            rng=np.random.default_rng([1, r]),
        )
        covers.append(found.estimate.covers(1794.34))
        values.append(found.estimate.value)
        errors.append(found.estimate.std_error)
    oracle = found.oracle
    assert oracle is not None
    assert np.mean(covers) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)
    assert abs(np.mean(values) - oracle.value) < 4 * np.std(values) / math.sqrt(runs) + 25
    added = math.sqrt(np.mean(np.square(errors)) - oracle.std_error**2)
    assert 0.5 < added / np.std(values) < 2


# --- the cohort --------------------------------------------------------------------------------------------------


def design(columns: FloatArray) -> Any:
    return private_design(AlphaIdentity(1.0, UniformNoise(0, 1)), columns, Linear(columns.shape[1]))


def standard(columns: FloatArray) -> FloatArray:
    return np.asarray((columns - columns.mean(axis=0)) / columns.std(axis=0))


def test_quitting_by_the_methods_of_the_book() -> None:
    gain, quit_, age, others = smokers()
    assert len(gain) == 1566
    assert gain[quit_ == 1].mean() - gain[quit_ == 0].mean() == pytest.approx(2.54, abs=0.005)
    covariates = standard(np.column_stack([age, age**2, others]))
    theta = private_moments(design(covariates), quit_, "logistic").coefficients
    chance = 1 / (1 + np.exp(-(theta[0] + np.einsum("nk,k->n", covariates, theta[1:]))))
    weighted = [np.average(gain[quit_ == a], weights=1 / np.where(a, chance, 1 - chance)[quit_ == a]) for a in (0, 1)]
    assert weighted[1] - weighted[0] == pytest.approx(3.44, abs=0.005)
    intensity = others[:, 0]
    model = np.column_stack([covariates, quit_, quit_ * intensity])
    slopes = private_moments(design(model), gain).coefficients
    assert slopes[-2] == pytest.approx(2.5596, abs=0.0005)
    assert slopes[-1] == pytest.approx(0.0467, abs=0.0005)
    assert slopes[-2] + slopes[-1] * intensity.mean() == pytest.approx(3.5, abs=0.05)


def test_quitting_by_cross_fitting_without_noise() -> None:
    gain, quit_, age, others = smokers()
    x = np.column_stack([age, age**2])
    found = median_of_folds(
        [cross_fit(gain, quit_, x, None, "ATE", w=others, rng=np.random.default_rng(s)) for s in range(15)]
    )
    assert found.value == pytest.approx(3.4, abs=0.15)
    assert found.low == pytest.approx(2.4, abs=0.2)
    assert found.high == pytest.approx(4.5, abs=0.2)
    assert not found.covers(2.0)


@pytest.mark.parametrize("private", ["age group", "age"])
def test_quitting_intervals_over_repeated_noise(private: str) -> None:
    gain, quit_, age, others = smokers()
    mechanism: AlphaIdentity | FiniteMechanism
    if private == "age":
        mechanism, x, runs = AlphaIdentity(0.9, UniformNoise(25.0, 75.0)), np.clip(age, 25, 75), 4
    else:
        mechanism, x, runs = AlphaIdentity(0.8, uniform_levels(3)), np.digitize(age, [40, 55]), 30
    labels = fold_labels(len(gain), 5, np.random.default_rng(0), quit_)
    learners = MomentLearners(size=2)
    oracle = cross_fit(
        gain, quit_, x, AlphaIdentity(1.0, mechanism.noise), w=others, learners=learners, fold_ids=labels
    )
    covers, values, errors = [], [], []
    for r in range(runs):
        z = mechanism.privatise(x, np.random.default_rng([2, r]))
        found = cross_fit(gain, quit_, z, mechanism, w=others, learners=learners, fold_ids=labels)
        covers.append(found.covers(3.44) and found.covers(oracle.value))
        values.append(found.value)
        errors.append(found.std_error)
    assert oracle.value == pytest.approx(3.4, abs=0.2)
    assert np.mean(covers) > 0.95 - 3 * math.sqrt(0.95 * 0.05 / runs)
    assert abs(np.mean(values) - oracle.value) < 4 * np.std(values) / math.sqrt(runs) + 0.05
    assert min(errors) > 0.98 * oracle.std_error
    assert max(errors) < 3 * oracle.std_error
