"""Coverage against the look-ahead: exact biases, published numbers, horizons, refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privexplorer.distributions import Dirichlet, Typed, Uniform, Zipf
from privexplorer.errors import ParameterError
from privexplorer.properties import GoodToulmin, SmoothedGoodToulmin, sgt_bias_bound, smoothing_rate
from privexplorer.studies import _unseen as unseen
from privexplorer.studies.base import stacked
from privexplorer.studies.support_coverage import SupportCoverage, SupportCoverageScenario

STUDY = SupportCoverage()
make = SupportCoverageScenario
SMALL = make(distribution=Uniform(k=500), n=200, trials=64, ahead=unseen.AheadGrid(low=0.5, high=4.0, points=8))


def y(result, name):  # type: ignore[no-untyped-def]
    return result.series(name)["y"].to_numpy()


# --- exact parts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "n"),
    [(Uniform(k=10), 30), (Zipf(k=300, exponent=1.0), 100), (Typed(probabilities=(0.9, 0.1)), 12)],
)
def test_expected_fingerprint_counts_every_record_and_symbol(law, n):  # type: ignore[no-untyped-def]
    p = law.law()
    expected = unseen.expected_fingerprint(p, n, n + 3)
    assert (np.arange(1, n + 4) * expected).sum() == pytest.approx(n, rel=1e-11)
    assert expected.sum() == pytest.approx(float(p.coverage(n)), rel=1e-11)
    assert expected[n:].tolist() == [0.0] * 3


def test_expected_fingerprint_of_a_sure_value():  # type: ignore[no-untyped-def]
    assert unseen.expected_fingerprint(Typed(probabilities=(1.0,)).law(), 4, 6).tolist() == [0, 0, 0, 1, 0, 0]


def test_exact_bias_is_the_published_one_and_that_of_the_whole_table():  # type: ignore[no-untyped-def]
    law = Uniform(k=1000).law()
    ts = np.array([0.5, 1.0, 2.0])
    bias = unseen.exact_bias([SmoothedGoodToulmin(), GoodToulmin()], law, 500, ts)
    assert bias[0, 2] == pytest.approx(-7.2448469601, rel=1e-9)  # spec properties §5: -7.2
    assert sgt_bias_bound(smoothing_rate(500, 2), 2, 1500, 1000) == pytest.approx(140.4754419, rel=1e-8)  # 140.5
    assert np.isnan(bias[1, 2])
    assert bias[0, :2] == pytest.approx(bias[1, :2], rel=1e-12)
    for law_, n in ((law, 500), (Dirichlet(k=50).law(), 40)):
        for estimator in (SmoothedGoodToulmin(), SmoothedGoodToulmin(smoothing="binomial-2"), GoodToulmin()):
            for t in (0.5, 1.0, 3.0):
                if t > 1 and isinstance(estimator, GoodToulmin):
                    continue
                whole = estimator.table(n, t, new_only=True).mean(law_) - unseen.expected_new(law_, n, t)
                found = unseen.exact_bias([estimator], law_, n, np.array([t]))[0, 0]
                assert found == pytest.approx(whole, rel=1e-8, abs=1e-10)


def test_a_set_smoothing_rate_far_beyond_the_published_one_still_sums_up():  # type: ignore[no-untyped-def]
    law, estimator = Uniform(k=300).law(), SmoothedGoodToulmin(smoothing_mean=30.0)
    found = unseen.exact_bias([estimator], law, 300, np.array([1.2]))[0, 0]
    whole = estimator.table(300, 1.2, new_only=True).mean(law) - unseen.expected_new(law, 300, 1.2)
    assert found == pytest.approx(whole, rel=1e-7)


# --- simulation ----------------------------------------------------------------------------------------------------


def test_simulated_bias_is_the_exact_one():  # type: ignore[no-untyped-def]
    """400 runs; tolerance four standard errors, which an error of a tenth of the bias exceeds."""
    scenario = make(distribution=Zipf(k=2000, exponent=1.0), trials=400)
    prepared = STUDY.prepare(scenario, None)
    blocks = stacked([STUDY.run_block(prepared, b) for b in range(STUDY.blocks(scenario))], 400)
    off = blocks[:, 0, :] - blocks[:, 1, :]
    mean, error = off.mean(axis=0), off.std(axis=0, ddof=1) / math.sqrt(400)
    assert np.all(np.abs(mean - prepared.bias[0]) < 4 * error)
    assert 0.1 * abs(prepared.bias[0, -1]) > 4 * error[-1], "the test could not see an error of a tenth"


def test_targets_are_those_of_the_records():  # type: ignore[no-untyped-def]
    """Mean target: the expected number of new symbols, S_m less S_n."""
    prepared = STUDY.prepare(SMALL, None)
    blocks = np.concatenate([STUDY.run_block(prepared, b) for b in range(6)])
    expected = [unseen.expected_new(prepared.law, 200, t) for t in prepared.ts.tolist()]
    error = blocks[:, -1, :].std(axis=0, ddof=1) / math.sqrt(blocks.shape[0])
    assert np.all(np.abs(blocks[:, -1, :].mean(axis=0) - expected) < 4 * error)
    assert np.all(4 * error < 0.1 * np.array(expected))


def test_published_figure_at_twenty_thousand_values():  # type: ignore[no-untyped-def]
    """F3, uniform, t = 2, 5, 10; the published check had 60 runs, this one 120: four standard errors of the two."""
    scenario = make(distribution=Uniform(k=20_000), n=10_000, epsilon=1.0, trials=120)
    exact = STUDY.run(scenario)
    rows = exact.series("SGT").set_index("x")
    private = exact.series("SGT, private").set_index("x")["y"]
    for t, plain, noisy in ((2.0, 0.0118, 0.0113), (5.0, 0.0134, 0.0140), (10.0, 0.0183, 0.0183)):
        error = rows["std_error"][t] * math.sqrt(1 + 120 / 60)
        assert abs(rows["y"][t] - plain) < 4 * error
        assert abs(private[t] - noisy) < 4 * error
        assert 4 * error < 0.4 * plain


@pytest.mark.parametrize(
    ("k", "rule", "share"),
    [(100, "exact", 0.066), (100, "thesis", 0.142), (1000, "exact", 0.0145), (1000, "thesis", 0.0339)],
)
def test_noise_over_further_records_is_the_published_one(k, rule, share):  # type: ignore[no-untyped-def]
    """§8.2: standard deviation of the noise over nt at ε = 1, t = 5; it adds to the error in squares."""
    scenario = make(
        distribution=Uniform(k=k), n=k // 2, epsilon=1.0, noise_rule=rule, trials=16,
        ahead=unseen.AheadGrid(low=5.0, high=6.0, points=2),
    )  # fmt: skip
    result = STUDY.run(scenario)
    noise = math.sqrt(y(result, "SGT, private")[0] ** 2 - y(result, "SGT")[0] ** 2)
    assert noise == pytest.approx(share, rel=0.01)


def test_names_columns_and_order():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(trials=16))
    assert list(result.frame.columns) == ["series", "x", "y", "std_error"]
    assert list(dict.fromkeys(result.frame["series"])) == ["SGT", "SGT, private"]
    assert result.series("SGT")["x"].tolist() == [float(t) for t in range(1, 11)]
    both = STUDY.run(SMALL.model_copy(update={"estimators": (SmoothedGoodToulmin(), GoodToulmin())}))
    assert list(dict.fromkeys(both.frame["series"])) == [
        "SGT", "SGT, private", "Good-Toulmin", "Good-Toulmin, private",
    ]  # fmt: skip


def test_good_toulmin_stops_at_one_and_is_the_smoothed_one_up_to_there():  # type: ignore[no-untyped-def]
    result = STUDY.run(SMALL.model_copy(update={"estimators": (SmoothedGoodToulmin(), GoodToulmin())}))
    short = result.series("Good-Toulmin, private")
    assert short["x"].max() == 1.0
    assert y(result, "SGT, private")[: len(short)].tolist() == short["y"].tolist()
    words = " ".join(note.text for note in result.notes)
    assert "stops at t = 1" in words
    assert "no smoothing is needed" in words


def test_comparing_adds_the_other_two_smoothings():  # type: ignore[no-untyped-def]
    scenario = SMALL.model_copy(update={"compare": True, "estimators": (SmoothedGoodToulmin(smoothing="binomial-1"),)})
    result = STUDY.run(scenario)
    names = set(result.frame["series"])
    assert {"SGT", "SGT (Poisson)", "SGT (binomial 2/(2+t)), private"} <= names
    plain = STUDY.run(SMALL)
    assert y(result, "SGT (Poisson)").tolist() == y(plain, "SGT").tolist()
    chart = STUDY.chart(result, "error")
    assert len(chart.marks()) == 4


def test_clipping_never_hurts_and_matters_when_noise_is_wide():  # type: ignore[no-untyped-def]
    wide = SMALL.model_copy(update={"epsilon": 0.02})
    open_, clipped = STUDY.run(wide), STUDY.run(wide.model_copy(update={"clip": True}))
    assert np.all(y(clipped, "SGT, private") < 0.8 * y(open_, "SGT, private"))
    assert np.all(y(clipped, "SGT, private") <= 1)
    assert y(clipped, "SGT").tolist() == y(open_, "SGT").tolist()


def test_drafts_and_fewer_runs():  # type: ignore[no-untyped-def]
    scenario = make(trials=200)
    prepared = STUDY.prepare(scenario, None)
    first = STUDY.run_block(prepared, 0)
    draft = STUDY.assemble(scenario, prepared, [first])
    assert draft.runs == first.shape[0] < 200
    assert STUDY.run(make(trials=40)).runs == 40


# --- how far one can see -------------------------------------------------------------------------------------------


def test_reach_grows_with_epsilon_up_to_the_one_without_privacy():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(trials=100))
    frame = STUDY.numbers(result, "horizon")
    private = frame[frame["series"] == "reach, private"]["y"].to_numpy()
    plain = frame[frame["series"] == "reach, without privacy"]["y"].to_numpy()
    assert private.size == plain.size == 25
    assert np.all(np.diff(private) >= -1e-9)
    assert np.all(private <= plain + 1e-9)
    assert private[0] == 0.0
    assert private[-1] == pytest.approx(plain[-1], rel=0.02)
    assert 1.5 < plain[0] < 6.0


def test_reach_on_the_card_is_the_private_one():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(trials=100, epsilon=1.0))
    frame = STUDY.numbers(result, "horizon")
    private = frame[frame["series"] == "reach, private"]
    at = float(np.interp(1.0, private["x"], private["y"]))
    assert float(result.cards[3].value.removeprefix("t = ")) == pytest.approx(at, abs=0.06)
    plain = float(frame[frame["series"] == "reach, without privacy"]["y"].iloc[0])
    assert f"without privacy up to t = {plain:.1f}" in result.shows


def test_words_where_nothing_or_everything_is_within_reach():  # type: ignore[no-untyped-def]
    never = STUDY.run(SMALL.model_copy(update={"accuracy": 0.002}))
    assert "above 0.002 from t = 0.5 on" in never.shows
    assert never.cards[3].value == "less than 0.5"
    always = STUDY.run(SMALL.model_copy(update={"accuracy": 0.45}))
    assert "on the whole range" in always.shows
    assert always.cards[3].value == "t = 4, or more"


def test_error_of_a_crossing_is_that_of_the_curve_over_its_slope():  # type: ignore[no-untyped-def]
    ts, errors = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.6])
    spread = np.array([0.01, 0.02, 0.04])
    assert unseen.crossing_error(ts, errors, spread, 2.5) == pytest.approx(0.03 / 0.4)
    assert unseen.crossing_error(ts, errors, spread, 3.0) == 0.0
    assert unseen.crossing_error(ts, errors, spread, None) == 0.0


# --- bounds --------------------------------------------------------------------------------------------------------


def test_bounds_hold_for_the_published_smoothing():  # type: ignore[no-untyped-def]
    for distribution in (Uniform(k=1000), Zipf(k=2000, exponent=1.0)):
        result = STUDY.run(make(distribution=distribution, n=500, trials=16))
        rows = {name: frame.set_index("x")["y"] for name, frame in STUDY.numbers(result, "bounds").groupby("series")}
        beyond = rows["bias, printed bound"].index
        assert beyond.min() > 1
        assert (rows["bias, exact"][beyond] <= rows["bias, printed bound"]).all()
        ratio = rows["sensitivity, exact"][beyond] / rows["sensitivity, printed bound"]
        assert ratio.between(0.33, 1.0).all()
    assert rows["sensitivity, exact"][2.0] == pytest.approx(10.69392446, rel=1e-8)  # gold 9
    assert rows["sensitivity, printed bound"][2.0] == pytest.approx(18.38072518, rel=1e-9)


def test_bounds_view_up_to_one_shows_exact_values_only():  # type: ignore[no-untyped-def]
    scenario = SMALL.model_copy(update={"ahead": unseen.AheadGrid(low=0.2, high=1.0, points=3)})
    result = STUDY.run(scenario)
    assert set(STUDY.numbers(result, "bounds")["series"]) == {"sensitivity, exact", "bias, exact"}
    assert STUDY.chart(result, "bounds").marks()


# --- refusals ------------------------------------------------------------------------------------------------------


def test_refusals():  # type: ignore[no-untyped-def]
    good_toulmin = make(estimators=(GoodToulmin(),), ahead=unseen.AheadGrid(low=2.0, high=3.0, points=2))
    assert "at most one sample ahead" in STUDY.check(good_toulmin, None)[0]
    rate = make(estimators=(SmoothedGoodToulmin(smoothing_mean=900.0),))
    assert "lower r to 66.7" in STUDY.check(rate, None)[0]
    large = make(distribution=Uniform(k=1_000_000))
    assert "at most 5 points" in STUDY.check(large, None)[0]
    with pytest.raises(ParameterError, match="at most one sample ahead"):
        STUDY.run(good_toulmin)


def test_noise_of_the_published_code_is_marked():  # type: ignore[no-untyped-def]
    result = STUDY.run(SMALL.model_copy(update={"noise_rule": "paper_code"}))
    assert any(note.level == "warning" and "not ε-private" in note.text for note in result.notes)
    assert not [note for note in STUDY.run(SMALL).notes if note.level == "warning"]
