"""Published numbers of private property estimation, each from the package and to its stated tolerance.

The numbers stand in ``properties.json`` beside this file: value, tolerance, spec label. No test rewrites them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spec_reference as reference

from privexplorer import data, distributions, properties
from privexplorer.privacy import LaplaceNoise

ENTRIES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "properties.json").read_text("utf-8"))

COUNTS = np.array([5, 3, 2, 1, 1])
FINGERPRINT_102 = {1: 20, 2: 9, 3: 4, 5: 2, 17: 1, 25: 1}
FINGERPRINT_100 = {1: 40, 2: 12, 3: 6, 4: 2, 10: 1}
K_LIST = (100, 1000, 2000)
COVERAGE_K = (100, 1000, 5000, 20_000, 100_000)

plug_in = properties.PlugIn()
miller_madow = properties.MillerMadow()
private_poly = properties.Polynomial(preset="private")
open_poly = properties.Polynomial(preset="non-private")
sgt = properties.SmoothedGoodToulmin()
good_toulmin = properties.GoodToulmin()


def poly_by_n(estimator: Any, k: int) -> list[float]:
    return [n * estimator.sensitivity(n, k) for n in (100, 1000, 10_000, 100_000)]


def at_n_equal_k(estimator: Any) -> list[float]:
    return [k * estimator.sensitivity(k, k) for k in K_LIST]


def degree_study() -> list[float]:
    out = []
    for degree in (3, 5, 7, 10, 12, 14, 16):
        dial = properties.Polynomial(preset="custom", degree=degree, interval=2 * math.log(2000), cutoff=12)
        out.append(1000 * dial.table(1000, 2000, private=True).sensitivity())
    return out


def noise_share(rule: str) -> list[float]:
    t = 5.0
    return [LaplaceNoise(sgt.sensitivity(k // 2, t, rule=rule)).std / (k // 2 * t) for k in COVERAGE_K]


def sgt_bias() -> float:
    n, k, t = 500, 1000, 2.0
    law = distributions.Uniform(k=k).law()
    return float(sgt.table(n, t, k).mean(law.probabilities) - law.coverage(n * (1 + t)))


def fingerprint_estimate(table: Any, phi: dict[int, int], distinct: int | None = None) -> float:
    return float(table.estimate_fingerprint(phi, distinct=distinct))


COMPUTE: dict[str, Callable[[], Any]] = {
    "best-polynomial-3-error": lambda: properties.remez(3).error,
    "best-polynomial-3-coefficients": lambda: properties.remez(3).coefficients,
    "best-polynomial-6-error": lambda: properties.remez(6).error,
    "best-polynomial-6-coefficients": lambda: properties.remez(6).coefficients,
    "plug-in-estimate": lambda: plug_in.table(12, 5, private=False).estimate(COUNTS),
    "miller-madow-estimate": lambda: miller_madow.table(12, 5, private=False).estimate(COUNTS),
    "poly-private-estimate": lambda: fingerprint_estimate(private_poly.table(102, 100, private=True), FINGERPRINT_102),
    "poly-non-private-estimate": lambda: fingerprint_estimate(
        open_poly.table(102, 100, private=False), FINGERPRINT_102
    ),
    "poly-private-table": lambda: private_poly.table(500, 1000, private=True).values[[0, 1, 2, 5, 11, 12]],
    "plug-in-sensitivity-100": lambda: plug_in.sensitivity(100, 1000),
    "miller-madow-sensitivity-100": lambda: miller_madow.sensitivity(100, 1000),
    "poly-private-sensitivity-500": lambda: private_poly.sensitivity(500, 1000),
    "poly-non-private-sensitivity-500": lambda: open_poly.sensitivity(500, 1000),
    "sgt-rate-100-2": lambda: properties.smoothing_rate(100, 2.0),
    "sgt-coefficients-100-2": lambda: properties.sgt_coefficients(100, 2.0, 5),
    "sgt-rate-100-3": lambda: properties.smoothing_rate(100, 3.0),
    "sgt-estimate-100-3": lambda: properties.coverage_estimate(FINGERPRINT_100, 100, 3.0),
    "good-toulmin-estimate": lambda: fingerprint_estimate(good_toulmin.table(100, 0.5), FINGERPRINT_100),
    "sgt-rate-10000-3": lambda: properties.smoothing_rate(10_000, 3.0),
    "sgt-sensitivity-10000-3": lambda: sgt.sensitivity(10_000, 3.0),
    "sgt-bound-10000-3": lambda: properties.sgt_sensitivity_bound(properties.smoothing_rate(10_000, 3.0), 3.0),
    "sgt-rate-500-2": lambda: properties.smoothing_rate(500, 2.0),
    "sgt-sensitivity-500-2": lambda: sgt.sensitivity(500, 2.0),
    "sgt-bound-500-2": lambda: properties.sgt_sensitivity_bound(properties.smoothing_rate(500, 2.0), 2.0),
    "good-toulmin-sensitivity-half": lambda: good_toulmin.sensitivity(100, 0.5),
    "coverage-zipf": lambda: distributions.Zipf(k=100, exponent=1.0).law().coverage(50),
    "coverage-pair-first": lambda: properties.coverage_pair(100, 0.1).values[0],
    "coverage-pair-second": lambda: properties.coverage_pair(100, 0.1).values[1],
    "coverage-pair-distance": lambda: properties.coverage_pair(100, 0.1).total_variation,
    "entropy-pair-first": lambda: properties.entropy_pair(100, 0.05).values[0],
    "entropy-pair-second": lambda: properties.entropy_pair(100, 0.05).values[1],
    "plug-in-mean-uniform": lambda: plug_in.table(20, 10, private=False).mean(np.full(10, 0.1)),
    "entropy-uniform-10": lambda: distributions.Uniform(k=10).law().entropy(),
    "dense-support-estimate": lambda: properties.dense_support_estimate(COUNTS, 12, 6),
    "coverage-privacy-sample-size": lambda: properties.sgt_privacy_sample_size(10_000, 0.1, 1.0),
    "theorem-8-upper": lambda: properties.coverage_sample_size(10_000, 0.1, 1.0).upper,
    "theorem-8-lower": lambda: properties.coverage_sample_size(10_000, 0.1, 1.0).lower,
    "support-bias-sample-size": lambda: properties.support_bias_sample_size(1000, 0.1),
    "support-privacy-sample-size": lambda: properties.support_privacy_sample_size(1000, 0.1, 1.0),
    "theorem-9-upper": lambda: properties.support_sample_size(1000, 0.1, 1.0).upper,
    "theorem-9-lower": lambda: properties.support_sample_size(1000, 0.1, 1.0).lower,
    "theorem-10-upper-1": lambda: properties.entropy_sample_size(1000, 0.1, 1.0, degree_exponent=0.5).upper_1,
    "theorem-10-upper-2": lambda: properties.entropy_sample_size(1000, 0.1, 1.0, degree_exponent=0.5).upper_2,
    "theorem-10-lower": lambda: properties.entropy_sample_size(1000, 0.1, 1.0, degree_exponent=0.5).lower,
    "median-from-lemma-25": lambda: 1 / 3 + 2 * LaplaceNoise(0.25).survival(0.5),
    "median-exact-47": lambda: [
        properties.boosting_blocks(1 / 3, start=1 / 3 + math.exp(-2)),
        *(properties.boosting_blocks(failure) for failure in (0.1, 0.05, 0.01)),
    ],
    "median-hoeffding": lambda: [
        properties.boosting_blocks(1 / 3, start=1 / 3 + math.exp(-2), exact=False),
        *(properties.boosting_blocks(failure, exact=False) for failure in (0.1, 0.05, 0.01)),
    ],
    **{
        f"parameters-{k}-{preset}": (lambda k=k, preset=preset: properties.polynomial_parameters(k, preset))
        for k in K_LIST
        for preset in ("private", "non-private")
    },
    "poly-private-100-by-n": lambda: poly_by_n(private_poly, 100),
    "poly-private-1000-by-n": lambda: poly_by_n(private_poly, 1000),
    "poly-non-private-1000-by-n": lambda: poly_by_n(open_poly, 1000),
    "poly-private-at-n-k": lambda: at_n_equal_k(private_poly),
    "poly-non-private-at-n-k": lambda: at_n_equal_k(open_poly),
    "plug-in-at-n-k": lambda: at_n_equal_k(plug_in),
    "degree-study": degree_study,
    "approximation-error-rate": lambda: [degree**2 * properties.remez(degree).error for degree in (3, 20)],
    "poly-largest-coefficients": lambda: [
        np.max(np.abs(properties.remez(degree).coefficients)) for degree in (10, 16, 22)
    ],
    "sgt-bias-uniform": sgt_bias,
    "sgt-bias-bound-uniform": lambda: properties.sgt_bias_bound(properties.smoothing_rate(500, 2.0), 2.0, 1500, 1000),
    "noise-share-exact": lambda: noise_share("exact"),
    "noise-share-thesis": lambda: noise_share("thesis"),
    "erratum-3-ratio": lambda: (
        properties.sensitivity(np.concatenate([[0.0], properties.sgt_coefficients(400, 1.022, 400, r=60.0)]), 10)
        / properties.sgt_sensitivity_bound(60.0, 1.022)
    ),
    "erratum-5-bias": lambda: math.log(10) - plug_in.table(20, 10, private=False).mean(np.full(10, 0.1)),
    "erratum-5-bound": lambda: properties.plug_in_bias_bound(20, 10),
    "erratum-8-pair": lambda: properties.coverage_pair(100, 0.1).values,
    "erratum-9-pair": lambda: properties.entropy_pair(100, 0.05).values[::-1],
    "erratum-12-constant": lambda: [
        1000 * properties.paper_code_sensitivity(np.repeat([2, 0], 500), 1000),
        1000 * private_poly.sensitivity(1000, 1000),
    ],
    "erratum-12-zero": lambda: [
        1000 * properties.paper_code_sensitivity(np.array([10] * 99 + [7]), 100),
        997 * private_poly.sensitivity(997, 100),
    ],
    "twins-distinct": lambda: [distributions.Uniform(k=k).law().coverage(50) for k in (100, 200)],
}


def within(measured: Any, entry: dict[str, Any]) -> np.ndarray:
    measured, value = np.asarray(measured, dtype=float), np.asarray(entry["value"], dtype=float)
    allowed = np.asarray(entry.get("absolute", 0.0)) + entry.get("relative", 0.0) * np.abs(value)
    assert measured.shape == value.shape
    return np.abs(measured - value) <= allowed


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["name"])
def test_published_number(entry: dict[str, Any]) -> None:
    measured = COMPUTE[entry["name"]]()
    assert np.all(within(measured, entry)), f"{entry['label']}: {measured} instead of {entry['value']}"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["name"])
def test_a_tenth_off_is_noticed(entry: dict[str, Any]) -> None:
    value = np.asarray(entry["value"], dtype=float)
    if np.any(value != 0):
        assert not np.all(within(0.9 * value, entry))
        assert not np.all(within(1.1 * value, entry))


def test_every_published_number_has_its_computation() -> None:
    names = [entry["name"] for entry in ENTRIES]
    assert sorted(names) == sorted(COMPUTE)
    assert len(set(names)) == len(names)
    assert all(entry["label"].startswith("properties §") for entry in ENTRIES)


@pytest.mark.parametrize(
    ("table", "column", "histogram", "begins"),
    [
        ("census-surnames", "surname", "census_2000_surnames", [12_042, 3075, 1444, 802, 567, 368]),
        ("hamlet-words", "word", "hamlet_words", [2845, 691, 304, 179, 120]),
    ],
)
def test_bundled_tables_hold_the_histograms_of_the_figures(
    table: str, column: str, histogram: str, begins: list[int]
) -> None:
    printed = json.loads((Path(__file__).parent / "real_histograms.json").read_text("utf-8"))[histogram]
    ref = data.TableColumn(data=table, column=column, counts="count")
    counts = data.read_counts(data.resolve(ref, None), ref).counts
    assert int(counts.sum()) == printed["records"]
    assert len(counts) == printed["distinct"]
    assert {str(i): symbols for i, symbols in reference.fingerprint(counts).items()} == printed["fingerprint"]
    assert [int(np.sum(counts == i)) for i in range(1, len(begins) + 1)] == begins  # properties §8.1
