"""Input errors of the spec (properties, section 9): each is one sentence that says what to change."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privexplorer import distributions, properties
from privexplorer.errors import ParameterError
from privexplorer.privacy import Laplace
from privexplorer.records import validated

COUNTS = np.array([5, 3, 2, 1, 1])
NAN = math.nan
plug_in, sgt, good_toulmin = properties.PlugIn(), properties.SmoothedGoodToulmin(), properties.GoodToulmin()


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def released(epsilon: float) -> Any:
    return properties.release(1.0, 0.5, epsilon, rng())


CASES: dict[str, Callable[[], Any]] = {
    "epsilon zero": lambda: released(0.0),
    "epsilon negative": lambda: released(-1.0),
    "epsilon not a number": lambda: released(NAN),
    "epsilon zero, record": lambda: validated(Laplace, {"epsilon": 0}),
    "epsilon not a number, record": lambda: validated(Laplace, {"epsilon": NAN}),
    "a slack is asked for": lambda: validated(Laplace, {"epsilon": 1.0, "delta": 1e-6}),
    "epsilon zero, calculator": lambda: properties.coverage_sample_size(1000, 0.1, 0.0),
    "epsilon not a number, calculator": lambda: properties.support_sample_size(1000, 0.1, NAN),
    "epsilon negative, entropy calculator": lambda: properties.entropy_sample_size(1000, 0.1, -1, degree_exponent=0.5),
    "empty histogram": lambda: properties.Histogram.from_counts(np.array([], dtype=np.int64)),
    "histogram of zeros": lambda: properties.Histogram.from_counts(np.array([0, 0])),
    "negative counts": lambda: properties.Histogram.from_counts(np.array([3, -1])),
    "counts that are no whole numbers": lambda: properties.Histogram.from_counts(np.array([3.0, 1.5])),
    "counts that are not numbers": lambda: properties.Histogram.from_counts(np.array([3.0, NAN])),
    "negative counts, table": lambda: plug_in.table(12, 5).estimate(np.array([13, -1])),
    "fractional counts, table": lambda: plug_in.table(12, 5).estimate(np.array([11.5, 0.5])),
    "counts that do not sum to n": lambda: plug_in.table(12, 5).estimate(np.array([30, 2])),
    "empty sample": lambda: plug_in.table(0, 5),
    "no symbols": lambda: properties.polynomial_parameters(0, "private"),
    "no symbols, table": lambda: properties.Polynomial().table(10, 0),
    "no symbols, support": lambda: properties.DenseSupport().sensitivity(10, 0),
    "fewer symbols than seen": lambda: properties.Polynomial().table(12, 4).estimate(COUNTS),
    "t at minus one": lambda: good_toulmin.table(100, -1.0),
    "t below minus one": lambda: good_toulmin.sensitivity(100, -1.5),
    "t not a number": lambda: sgt.sensitivity(100, NAN),
    "t at minus one, estimate": lambda: properties.coverage_estimate({1: 3, 2: 1}, 5, -1.0),
    "m at zero": lambda: properties.coverage_sample_size(0, 0.1, 1.0),
    "m negative": lambda: properties.coverage_pair(-5, 0.1),
    "m at zero, batch": lambda: properties.BatchCoverage().estimate(np.zeros((1, 10), dtype=np.int64), 0),
    "smoothing mean negative": lambda: properties.sgt_coefficients(100, 2.0, 5, r=-0.1),
    "smoothing mean negative, record": lambda: validated(properties.SmoothedGoodToulmin, {"smoothing_mean": -0.1}),
    "smoothing mean negative, bound": lambda: properties.sgt_sensitivity_bound(-0.1, 2.0),
    "accuracy zero": lambda: properties.coverage_sample_size(1000, 0.0, 1.0),
    "accuracy one": lambda: properties.support_sample_size(1000, 1.0, 1.0),
    "accuracy above one": lambda: properties.entropy_sample_size(1000, 1.5, 1.0, degree_exponent=0.5),
    "accuracy not a number": lambda: properties.coin_sample_size(NAN, 1.0),
    "accuracy zero, rate": lambda: properties.smoothing_rate(100, 2.0, accuracy=0.0),
    "accuracy one, pair": lambda: properties.coverage_pair(100, 1.0),
    "accuracy zero, support pair": lambda: properties.support_pair(100, 0.0),
    "degree exponent low": lambda: properties.entropy_sample_size(1000, 0.1, 1.0, degree_exponent=0.005),
    "degree exponent high": lambda: properties.entropy_sample_size(1000, 0.1, 1.0, degree_exponent=1.2),
    "degree exponent not a number": lambda: properties.entropy_sample_size(1000, 0.1, 1.0, degree_exponent=NAN),
    "probabilities sum to 1.1": lambda: distributions.DiscreteLaw(np.array([0.5, 0.6])),
    "probabilities off by 2e-9": lambda: distributions.DiscreteLaw(np.array([0.5, 0.5 + 2e-9])),
    "a negative probability": lambda: distributions.DiscreteLaw(np.array([1.5, -0.5])),
    "typed probabilities": lambda: validated(distributions.Typed, {"probabilities": [0.5, 0.4]}),
    "batch longer than the sample": lambda: properties.BatchCoverage().sensitivity(10, 0.1),
    "batch longer than the sample, estimate": lambda: properties.BatchCoverage().estimate(
        np.zeros((1, 10), dtype=np.int64), 11
    ),
    "bound overflows": lambda: properties.sgt_sensitivity_bound(500.0, 10.0),
    "sensitivity overflows": lambda: properties.SmoothedGoodToulmin(smoothing_mean=500.0).sensitivity(
        5000, 10.0, rule="thesis"
    ),
    "privacy sample size without a solution": lambda: properties.sgt_privacy_sample_size(10, 0.1, 1.0),
    "support bias sample size without a solution": lambda: properties.support_bias_sample_size(10, 0.1),
    "support privacy sample size without a solution": lambda: properties.support_privacy_sample_size(10, 0.1, 1.0),
    "eta out of range": lambda: properties.entropy_pair(100, -0.1),
    "failure out of range": lambda: properties.boosting_blocks(0.0),
    "start above one half": lambda: properties.boosting_blocks(0.1, start=0.5),
}

CLASS_NAME = re.compile(r"\b[A-Z][a-z]+[A-Z]\w+|\b[a-z]+_[a-z_]+\b|\b[a-z]+\.[a-z]+\b|\bNone\b|\bTrue\b|\bndarray\b")


def complaints(message: str) -> list[str]:
    """What is wrong with a sentence that a visitor will read."""
    found = []
    if not message.endswith("."):
        found.append("does not end with a full stop")
    if "\n" in message:
        found.append("has a line break")
    if re.search(r"[.!?] +\S", message):
        found.append("is more than one sentence")
    if "Input should" in message or "validation error" in message or "errors.pydantic" in message:
        found.append("is not in plain words")
    if CLASS_NAME.search(message):
        found.append(f"names a thing of the program: {CLASS_NAME.search(message)}")
    if not 12 <= len(message) <= 240:
        found.append("is too short or too long")
    return found


@pytest.mark.parametrize("name", CASES)
def test_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        CASES[name]()
    assert isinstance(caught.value, ParameterError)
    assert complaints(str(caught.value)) == [], str(caught.value)


def test_the_check_of_sentences_has_teeth() -> None:
    for bad in (
        "Input should be greater than 0.",
        "1 validation error for Laplace\nepsilon\n  Input should be greater than 0",
        "SmoothedGoodToulmin needs a larger t.",
        "The smoothing_mean must not be negative.",
        "The value is wrong. Choose another one.",
        "epsilon must be positive",
        "No.",
    ):
        assert complaints(bad)
    assert complaints("ε must be above 0 and at most 50; it is -0.5.") == []


# ------------------------------------------------------------------------------------- what must not be refused


def test_one_record() -> None:
    for estimator in (plug_in, properties.MillerMadow()):
        assert estimator.table(1, 3, private=True).estimate(np.array([0, 1, 0])) == 0.0
    assert plug_in.sensitivity(1, 3) == 0.0
    assert properties.release(0.0, plug_in.sensitivity(1, 3), 1.0, rng()) == 0.0


def test_no_extrapolation_returns_the_distinct_count() -> None:
    phi = {1: 40, 2: 12, 3: 6, 4: 2, 10: 1}
    for estimator in (sgt, good_toulmin):
        assert estimator.table(100, 0.0).estimate_fingerprint(phi) == 61.0
        assert estimator.sensitivity(100, 0.0) == 1.0
    assert properties.coverage_estimate(phi, 100, 0.0) == 61.0


def test_interpolation_is_allowed_and_unbiased() -> None:
    # t = -1/2: half of the sample; the mean is the exact coverage at m = n / 2, since t^i has all its terms
    law = distributions.Zipf(k=30, exponent=1.0).law()
    n = 40
    table = good_toulmin.table(n, -0.5, 30)
    exact = sum(1 - (1 - p / 2) ** n for p in law.probabilities)
    assert table.mean(law.probabilities) == pytest.approx(exact, rel=1e-9)
    assert table.mean(law.probabilities) == pytest.approx(float(law.coverage(n / 2)), rel=0.02)


def test_no_nan_where_the_tail_underflows() -> None:
    coefficients = properties.sgt_coefficients(100_000, 1.5, 5000)
    assert np.all(np.isfinite(coefficients))
    np.testing.assert_array_equal(coefficients[-1000:], 1.0)


def test_interval_longer_than_the_sample_is_legal_but_noted() -> None:
    # M > n: the logarithm of n / M is negative; legal, and the page must be able to say so
    private_poly = properties.Polynomial(preset="private")
    assert np.all(np.isfinite(private_poly.table(5, 1000, private=True).values))
    assert private_poly.note(5, 1000, private=True)
    assert private_poly.note(500, 1000, private=True) is None
