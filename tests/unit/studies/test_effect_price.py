"""Price of privacy for effects: gold values of the bound, its parts and its bands through the study."""

from __future__ import annotations

import numpy as np
import pytest

from privexplorer.causal import ATE, LAW_A, AlphaIdentity, FiniteNoise, efficiency_bound
from privexplorer.errors import ParameterError
from privexplorer.studies._effects import EvenNoise, LawA, OwnLaw, PointNoise, PopulationNoise, cost_of, keep_grid
from privexplorer.studies.chart import Spread
from privexplorer.studies.effect_price import (
    OTHER,
    PRICE,
    PRINTED,
    TIGHT,
    EffectPrice,
    EffectPriceScenario,
    keep_for_price,
)

STUDY = EffectPrice()
make = EffectPriceScenario
OPEN = {"ate": 1.08492738095, "att": 1.36630258662}
GOLD = {
    "ate": {0.2: 19.3683196932, 0.5: 3.26185616103, 0.9: 1.24799619856},
    "att": {0.2: 65.7590257755, 0.5: 8.94118824347, 0.9: 1.92735423935},
}


@pytest.mark.parametrize("target", ["ate", "att"])
@pytest.mark.parametrize("keep", [0.2, 0.5, 0.9])
def test_gold_variances(target: str, keep: float) -> None:
    """Ledger L-E17, L-X1 (G12): exact variances of law A under randomised response."""
    result = STUDY.run(make(target=target, keep=keep))
    rows = result.series(PRICE)
    at = float(rows.loc[rows["x"] == keep, "y"].iloc[0])
    assert at * OPEN[target] == pytest.approx(GOLD[target][keep], rel=1e-9)
    other = "att" if target == "ate" else "ate"
    rows = result.series(OTHER)
    assert float(rows.loc[rows["x"] == keep, "y"].iloc[0]) * OPEN[other] == pytest.approx(GOLD[other][keep], rel=1e-9)


def test_gold_bands_and_parts() -> None:
    """Ledger L-E18, L-L3f (G13, E3): printed bounds [1.8829, 17.9310]; the tight ones lie inside them."""
    result = STUDY.run(make())
    bands = {name: result.series(name) for name in (PRINTED, TIGHT)}
    printed, tight = (rows[rows["x"] == 0.5].iloc[0] for rows in bands.values())
    assert printed["low"] * OPEN["ate"] == pytest.approx(1.88290048028, rel=1e-9)
    assert printed["high"] * OPEN["ate"] == pytest.approx(17.931010513, rel=1e-9)
    price = result.series(PRICE)["y"].to_numpy()
    for rows in bands.values():
        assert np.all(rows["low"].to_numpy() <= price * (1 + 1e-12))
        assert np.all(price <= rows["high"].to_numpy() * (1 + 1e-12))
    assert printed["low"] < tight["low"] < tight["high"] < printed["high"]
    shares = [result.series(name)["y"].to_numpy() for name in ("T0, lost anyway", "T1, mixing")]
    shares.append(result.series("T2, spread of the noise")["y"].to_numpy())
    assert np.allclose(sum(shares), 1.0, atol=1e-12)
    at = np.flatnonzero(result.series(PRICE)["x"].to_numpy() == 0.5)[0]
    parts = np.array([1.08492738095, 0.580982581412, 2 * 0.797973099332])
    assert np.allclose([share[at] for share in shares], parts / parts.sum(), rtol=1e-9)


@pytest.mark.parametrize(
    ("noise", "variance"),
    [(EvenNoise(), 19.4), (PopulationNoise(), 15.2), (PointNoise(code=0), 3.26), (PointNoise(code=2), 14.4)],
)
def test_price_of_other_noise(noise: object, variance: float) -> None:
    """View 7.7: law A at 0.2 under four noise laws of the same level."""
    result = STUDY.run(make(keep=0.2, noise=noise))
    rows = result.series(PRICE)
    at = float(rows.loc[rows["x"] == 0.2, "y"].iloc[0]) * OPEN["ate"]
    assert at == pytest.approx(variance, rel=5e-3)
    erased = any("erases" in note.text for note in result.notes)
    assert erased == (cost_of(LAW_A, "ate", noise).t2 == 0)  # type: ignore[arg-type]


def test_price_falls_and_cards_agree() -> None:
    """Ledger L-X11."""
    result = STUDY.run(make(keep=0.2, n=29_762))
    assert np.all(np.diff(result.series(PRICE)["y"].to_numpy()) < 0)
    assert result.cards[0].value == "18×"
    assert result.cards[1].value == f"{round(29_762 * 1.08492738095 / 19.3683196932):,}"
    assert "18×" in result.shows


@pytest.mark.parametrize("noise", [EvenNoise(), PointNoise(code=1)])
def test_where_the_price_is_two(noise: EvenNoise | PointNoise) -> None:
    cost = cost_of(LAW_A, "att", noise)
    for times in (1.5, 2.0, 40.0):
        assert float(cost.price(np.array(keep_for_price(cost, times)))) == pytest.approx(times, rel=1e-10)


def test_point_noise_is_not_a_nonfinite_card() -> None:
    result = STUDY.run(make(noise=PointNoise()))
    assert "no finite ε" in result.cards[3].chip
    law = LawA().law()
    mechanism = AlphaIdentity(0.5, FiniteNoise(np.array([1.0, 0.0, 0.0])))
    rows = result.series(PRICE)
    price = float(rows.loc[rows["x"] == 0.5, "y"].iloc[0])
    assert price * OPEN["ate"] == pytest.approx(efficiency_bound(law, ATE(), mechanism), rel=1e-9)


def test_own_law() -> None:
    """Two equal categories: the column explains nothing, so privacy is free."""
    law = OwnLaw(shares=(0.5, 0.5), treated=(0.4, 0.4), outcome_untreated=(0.2, 0.2), outcome_treated=(0.5, 0.5))
    result = STUDY.run(make(law=law))
    assert np.allclose(result.series(PRICE)["y"], 1.0, atol=1e-12)
    assert result.cards[3].value == "α = –"
    sure = OwnLaw(shares=(0.5, 0.5), treated=(0.4, 0.4), outcome_untreated=(0, 0), outcome_treated=(1, 1))
    with pytest.raises(ParameterError, match="certain"):
        STUDY.run(make(law=sure))
    for wrong, words in (
        ({"shares": (0.5, 0.4, 0.2)}, "add up to 1"),
        ({"treated": (0.5, 0.4)}, "equally long"),
        ({"treated": (0.0, 0.4, 0.5)}, "strictly between"),
    ):
        with pytest.raises(ValueError, match=words):
            OwnLaw(**wrong)


def test_grid_keeps_what_is_asked() -> None:
    grid = keep_grid(0.123)
    assert 0.123 in grid
    assert np.all(np.diff(grid) > 0)
    assert (grid[0], grid[-1]) == (0.05, 1.0)


def test_charts_are_complete() -> None:
    result = STUDY.run(make())
    names = {view: [mark.name for mark in STUDY.chart(result, view).marks()] for view in STUDY.views}
    assert {PRICE, OTHER} <= set(names["effects"])
    assert len(names["parts"]) == 3
    assert {PRINTED, TIGHT, PRICE} <= set(names["bounds"])
    for view in ("price", "bounds"):
        edges = {f"{band}, {end}" for band in (PRINTED, TIGHT) for end in ("low", "high")}
        assert edges <= set(names[view])


def test_opening_view_stacks_the_three_terms_on_a_log_axis() -> None:
    """View 7.1: the layers lie on one another without a gap, and each is as thick as its term."""
    result = STUDY.run(make())
    assert next(iter(STUDY.views)) == "price"
    chart = STUDY.chart(result, "price")
    assert (chart.x.scale, chart.y.scale) == ("log", "log")
    layers = [mark for mark in chart.marks() if isinstance(mark, Spread)]
    assert [mark.name[:2] for mark in layers] == ["T0", "T1", "T2"]
    keeps = np.asarray(layers[0].x)
    cost = cost_of(LAW_A, "ate", EvenNoise())
    t0, t1, t2 = cost.t0, (1 - keeps) / keeps * cost.t1, (1 - keeps) / keeps**2 * cost.t2
    lower, middle, upper = layers
    assert np.array_equal(lower.high, middle.low)
    assert np.array_equal(middle.high, upper.low)
    assert np.allclose(lower.high, 1.0, atol=1e-14)
    assert np.all(np.asarray(lower.low) == chart.y.low)
    assert np.allclose(np.asarray(middle.high) - middle.low, t1 / t0, rtol=1e-9, atol=1e-12)
    assert np.allclose(np.asarray(upper.high) - upper.low, t2 / t0, rtol=1e-9, atol=1e-9)
    (price,) = (mark for mark in chart.marks() if mark.name == PRICE)
    assert np.array_equal(upper.high, price.y)
    assert OPEN["ate"] * np.asarray(price.y)[keeps == 0.5] == pytest.approx(GOLD["ate"][0.5], rel=1e-9)
