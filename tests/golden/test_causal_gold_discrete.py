"""Published numbers of the discrete analysis: gold values G8, G9, G12, G14, G24 and G30, each through the estimator.

G24 is data. The others are population numbers: an exact table of 10¹³ people is analysed, so that the estimate is the
truth and n times the squared standard error is the efficiency bound.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.causal.counts import DiscreteCounts
from privexplorer.causal.discrete import discrete_estimate, likelihood_repair, unmix_table
from privexplorer.causal.laws import LAW_A
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism, uniform_levels
from privexplorer.causal.targets import ATE, ATT, MeanUnder, UntreatedMeanOfTreated

SKEW = FiniteMechanism([[0.7, 0.1, 0.2], [0.2, 0.6, 0.1], [0.1, 0.3, 0.7]])
G24 = np.array([[[180, 130, 60], [40, 60, 50]], [[50, 70, 60], [70, 110, 120]]])


def uniform(keep_probability: float) -> AlphaIdentity:
    return AlphaIdentity(keep_probability, uniform_levels(3))


@pytest.mark.parametrize(
    ("target", "value", "error", "naive"),
    [
        (ATE(), 0.245738451545, 0.0417375409419, 0.312068239944),
        (ATT(), 0.173694875487, 0.0558528312949, 0.292415458937),
    ],
    ids=["ATE", "ATT"],
)
def test_g24(target, value, error, naive):
    found = discrete_estimate(DiscreteCounts.from_counts(G24), uniform(0.6), target)
    assert found.method == "plug-in"
    assert "constrained" not in found.flags
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found.std_error == pytest.approx(error, rel=1e-9)
    assert found.naive is not None
    assert found.naive.value == pytest.approx(naive, rel=1e-9)
    repaired = discrete_estimate(DiscreteCounts.from_counts(G24), uniform(0.6), target, repair="always")
    assert repaired.value == pytest.approx(value, abs=1e-5)
    assert repaired.method == "likelihood"
    assert repaired.nuisances["steps"] in range(76, 85)


def test_g24_cells():
    table = unmix_table(uniform(0.6).finite().inverse, G24 / 1000)
    assert table.min() == pytest.approx(0.0177777778, abs=1e-10)
    assert table.sum(axis=0).min() == pytest.approx(0.0777777778, abs=1e-10)
    found = likelihood_repair(G24.reshape(4, 3), uniform(0.6).finite().matrix)
    np.testing.assert_allclose(found.probabilities, table.reshape(4, 3), atol=1e-5)


@pytest.mark.parametrize(
    ("gold", "mechanism", "target", "value", "bound"),
    [
        ("G12", uniform(1.0), ATE(), 0.22, 1.08492738095),
        ("G12", uniform(0.2), ATE(), 0.22, 19.3683196932),
        ("G12", uniform(0.5), ATE(), 0.22, 3.26185616103),
        ("G12", uniform(0.9), ATE(), 0.22, 1.24799619856),
        ("G12", uniform(1.0), ATT(), 0.180434782609, 1.36630258662),
        ("G12", uniform(0.2), ATT(), 0.180434782609, 65.7590257755),
        ("G12", uniform(0.5), ATT(), 0.180434782609, 8.94118824347),
        ("G12", uniform(0.9), ATT(), 0.180434782609, 1.92735423935),
        ("G14", SKEW, ATE(), 0.22, 2.8745150854),
        ("G14", SKEW, ATT(), 0.180434782609, 7.76991287359),
        ("G30", uniform(1.0), MeanUnder(1), 0.58, 0.616641666667),
        ("G30", uniform(0.5), MeanUnder(1), 0.58, 0.899003742284),
        ("G30", uniform(1.0), UntreatedMeanOfTreated(), 0.439130434783, 0.94698188308),
        ("G30", uniform(0.5), UntreatedMeanOfTreated(), 0.439130434783, 8.52186753993),
    ],
)
def test_values_and_bounds(gold, mechanism, target, value, bound):
    counts = DiscreteCounts.from_counts(np.rint(1e13 * LAW_A.privatised(mechanism)))
    found = discrete_estimate(counts, mechanism, target)
    assert found.value == pytest.approx(value, rel=1e-9, abs=1e-11)
    assert found.std_error**2 * found.records == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize(("target", "limit"), [(ATE(), 0.30729876046), (ATT(), 0.305808011756)], ids=["ATE", "ATT"])
def test_g9(target, limit):
    counts = DiscreteCounts.from_counts(np.rint(1e13 * LAW_A.privatised(uniform(0.5))))
    naive = discrete_estimate(counts, uniform(0.5), target).naive
    assert naive is not None
    assert naive.value == pytest.approx(limit, rel=1e-9)
    assert math.isfinite(naive.std_error)
