"""Private answers about a column: noise, intervals, what counts as one answer, what is refused."""

from __future__ import annotations

import csv
import dataclasses
import gc
import math
from importlib import resources
from itertools import pairwise

import numpy as np
import pytest

from privexplorer.data import ReadOptions, Source, TableColumn
from privexplorer.errors import ParameterError
from privexplorer.privacy import PrivateAnswer, SpentBudget
from privexplorer.properties import MillerMadow, PlugIn, Polynomial, SmoothedGoodToulmin
from privexplorer.studies import unseen_in_data
from privexplorer.studies._unseen import AheadGrid
from privexplorer.studies.unseen_in_data import UnseenInData, UnseenInDataScenario, column_words

STUDY = UnseenInData()
make = UnseenInDataScenario
SURNAMES = {"data": "census-surnames", "column": "surname"}
COLOURS = ("red", "blue", "green", "red", "red", "blue", "ochre")
SMALL_TEXT = "colour,size\n" + "".join(f"{colour},{size}\n" for size, colour in enumerate(COLOURS))


def table(text, **more):  # type: ignore[no-untyped-def]
    source = Source.from_bytes("colours.csv", text.encode())
    return {source.digest: source}, TableColumn(data=source.digest, **{"column": "colour", **more})


def coverage(scenario, tables=None):  # type: ignore[no-untyped-def]
    return STUDY.run(scenario, tables).extra["coverage"]


def entropy(scenario, tables=None):  # type: ignore[no-untyped-def]
    return STUDY.run(scenario, tables).extra["entropy"]


@pytest.fixture(scope="module")
def surnames():  # type: ignore[no-untyped-def]
    path = resources.files("privexplorer.data") / "bundled" / "census_2000_surnames.csv"
    rows = csv.DictReader(path.read_text("utf-8").splitlines())
    return np.array([int(row["count"]) for row in rows])


# --- the numbers ---------------------------------------------------------------------------------------------------


def test_exact_values_sensitivities_and_intervals(surnames):  # type: ignore[no-untyped-def]
    """Good-Toulmin at t = 1 and Miller-Madow, recomputed from the file; interval ± Δ/ε ln 20."""
    result = STUDY.run(make(epsilon=0.5))
    seen, n = surnames, int(surnames.sum())
    good_toulmin = sum(1 - (-1.0) ** int(c) for c in seen)
    shares = seen / n
    miller_madow = -(shares * np.log(shares)).sum() + (seen.size - 1) / (2 * n)
    one, two = result.extra["coverage"], result.extra["entropy"]
    assert one.exact == pytest.approx(good_toulmin, rel=1e-12)
    assert two.exact == pytest.approx(miller_madow, rel=1e-12)
    assert one.sensitivity == 4.0  # (1 + t)^2
    plug_in = (math.log(n) + (n - 1) * math.log(n / (n - 1))) / n
    assert two.sensitivity == pytest.approx(plug_in + 1 / (2 * n), rel=1e-9)
    for found in (one, two):
        assert found.half_width == pytest.approx(found.sensitivity / 0.5 * math.log(20), rel=1e-12)
        assert found.high - found.low == pytest.approx(2 * found.half_width, rel=1e-9)
        assert found.low < found.value < found.high


def test_frame_holds_answers_intervals_and_the_curve():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(t=2.0, ahead=AheadGrid(low=1.0, high=3.0, points=3)))
    frame = result.frame
    assert list(frame.columns) == ["series", "x", "y", "std_error", "low", "high", "panel"]
    private = frame[frame["series"] == "distinct values, private"]
    assert private["x"].tolist() == [2.0]
    found = result.extra["coverage"]
    assert private[["y", "low", "high"]].to_numpy().tolist() == [[found.value, found.low, found.high]]
    assert private["std_error"].iloc[0] == pytest.approx(math.sqrt(2) * found.sensitivity)
    plain = frame[frame["series"] == "distinct values, without privacy"]
    assert plain["x"].tolist() == [1.0, 2.0, 3.0]
    assert plain["y"].iloc[1] == found.exact
    assert (plain["high"] - plain["low"]).iloc[1] == pytest.approx(2 * found.half_width, rel=1e-9)
    assert frame[frame["series"] == "entropy, private"]["x"].tolist() == [86_080.0]


def test_fingerprint_view_is_the_published_one():  # type: ignore[no-untyped-def]
    result = STUDY.run(make())
    shown = STUDY.numbers(result, "fingerprint")
    assert shown["y"].tolist()[:6] == [12042, 3075, 1444, 802, 567, 368]
    assert not result.frame["series"].str.contains("fingerprint").any()  # on screen only


def test_noise_has_the_law_it_claims():  # type: ignore[no-untyped-def]
    """400 seeds: the interval holds the exact value in about 95%, the spread is that of Laplace noise of scale Δ/ε.

    Noise a tenth wider or narrower moves the mean size by more than the tolerance of three standard errors.
    """
    scenario = make(t=3.0, epsilon=0.2, ahead=AheadGrid(points=2))
    prepared = STUDY.prepare(scenario, None)
    for which in ("coverage_answer", "entropy_answer"):
        found = [getattr(STUDY, which)(scenario.model_copy(update={"seed": seed}), prepared) for seed in range(1600)]
        sizes = np.array([abs(one.value - one.exact) for one in found]) / found[0].noise.scale
        assert abs(sizes.mean() - 1) < 3 / math.sqrt(1600)
        assert 3 / math.sqrt(1600) < 0.1
        inside = np.mean([one.low <= one.exact <= one.high for one in found])
        assert abs(inside - 0.95) < 3 * math.sqrt(0.05 * 0.95 / 1600)
        signs = np.mean([one.value > one.exact for one in found])
        assert abs(signs - 0.5) < 3 / math.sqrt(4 * 1600)


# --- one answer per question ---------------------------------------------------------------------------------------


def test_the_same_question_has_the_same_answer():  # type: ignore[no-untyped-def]
    assert STUDY.run(make()).frame.equals(STUDY.run(make()).frame)
    finer = STUDY.run(make(ahead=AheadGrid(low=0.1, high=9.0, points=7)))
    assert coverage(make()).value == finer.extra["coverage"].value  # what is drawn is no question


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 0.5},
        {"seed": 1},
        {"t": 2.0},
        {"coverage": SmoothedGoodToulmin(smoothing="binomial-1")},
        {"coverage": SmoothedGoodToulmin(smoothing_mean=2.0)},
        {"table": TableColumn(**SURNAMES)},
        {"table": TableColumn(**SURNAMES, counts="count", kind="category")},
        {"table": TableColumn(**SURNAMES, counts="count", read=ReadOptions(header="yes"))},
    ],
)
def test_another_question_has_noise_of_its_own(change):  # type: ignore[no-untyped-def]
    """Two releases with the same draw at two scales would give the exact number away."""
    one, two = coverage(make()), coverage(make(**change))
    draws = [(found.value - found.exact) / found.noise.scale for found in (one, two)]
    assert abs(draws[0] - draws[1]) > 1e-3
    assert one.identity != two.identity


def test_both_answers_have_noise_of_their_own():  # type: ignore[no-untyped-def]
    result = STUDY.run(make())
    one, two = result.extra["coverage"], result.extra["entropy"]
    assert abs((one.value - one.exact) / one.noise.scale - (two.value - two.exact) / two.noise.scale) > 1e-3


def test_unit_and_declared_k_show_the_same_noisy_entropy():  # type: ignore[no-untyped-def]
    """Where k only clips, declaring it is post-processing; a unit is only a unit. Neither is a new answer."""
    nats = entropy(make())
    for scenario in (make(unit="bits"), make(declared_k=30_000)):
        again = entropy(scenario)
        assert again.value == nats.value
        assert again.identity == nats.identity
    bits = STUDY.run(make(unit="bits")).series("entropy, private")["y"].iloc[0]
    assert bits == pytest.approx(nats.value / math.log(2), rel=1e-12)
    poly = [entropy(make(entropy=Polynomial(), declared_k=k)).identity for k in (30_000, 40_000)]
    assert poly[0] != poly[1]  # here k changes what is computed


def test_what_is_spent_adds_up():  # type: ignore[no-untyped-def]
    result = STUDY.run(make(epsilon=0.1))
    assert [epsilon for _, epsilon in result.extra["spent"]] == [0.1, 0.1]
    labels = [label for label, _ in result.extra["spent"]]
    assert len(set(labels)) == 2
    assert all("seed 0" in label for label in labels)
    assert result.cards[2].value == "ε = 0.2"
    budget = SpentBudget()
    scenarios = (make(epsilon=0.1), make(epsilon=0.1), make(epsilon=0.1, seed=1), make(epsilon=0.1, t=2.0))
    for scenario in scenarios:
        for item in STUDY.run(scenario).extra["answers"]:
            budget = budget.show(item)
    # seed 0: 2 answers; seed 1: 2 more; another t: one more (the entropy is the same question)
    assert budget.total().epsilon == pytest.approx(0.5, rel=1e-12)


# --- clipping ------------------------------------------------------------------------------------------------------


def test_answers_are_clipped_to_what_is_possible():  # type: ignore[no-untyped-def]
    tables, column = table(SMALL_TEXT)
    values = []
    for seed in range(40):
        scenario = make(table=column, epsilon=0.01, seed=seed, declared_k=5)
        one, two = coverage(scenario, tables), entropy(scenario, tables)
        assert 0 <= one.low <= one.value <= one.high <= 14
        assert 0 <= two.low <= two.value <= two.high <= math.log(5) + 1e-12
        values.append(one.value)
    assert {0.0, 14.0} <= set(values)
    scenario = make(table=column, epsilon=0.01)
    assert "wider than the answer can be" in STUDY.run(scenario, tables).shows
    assert max(entropy(scenario.model_copy(update={"seed": s}), tables).value for s in range(20)) > math.log(5)


# --- what is said --------------------------------------------------------------------------------------------------


def test_what_is_not_private_is_said():  # type: ignore[no-untyped-def]
    result = STUDY.run(make())
    private = [note for note in result.notes if note.level == "not-private"]
    assert len(private) == 1
    assert "20,412" in private[0].text
    assert result.cards[3].chip == "not private"
    assert "20,412" not in result.shows + result.takeaway
    assert any("n is public" in line for line in result.assumptions)
    hamlet = STUDY.run(STUDY.presets()[1].scenario)
    assert any("31,999" in note.text and "32,053" in note.text and "4,756" in note.text for note in hamlet.notes)


def test_words_hold_the_released_numbers():  # type: ignore[no-untyped-def]
    result = STUDY.run(make())
    assert f"{result.extra['coverage'].value:,.0f} distinct values" in result.shows
    assert result.cards[0].chip == "± 12"  # 4 ln 20


def test_dropped_rows_are_counted():  # type: ignore[no-untyped-def]
    tables, column = table(SMALL_TEXT + "NA,8\n,9\nred,1,1\n")
    result = STUDY.run(make(table=column), tables)
    words = " ".join(note.text for note in result.notes)
    assert result.extra["column"].n == 7
    assert "2 rows were left out" in words
    assert "1 row was left out" in words


def test_a_value_for_every_record():  # type: ignore[no-untyped-def]
    tables, column = table("colour\n" + "".join(f"shade{i}\n" for i in range(30)))
    result = STUDY.run(make(table=column), tables)
    assert result.extra["coverage"].exact == 60
    assert any("nothing was seen twice" in note.text for note in result.notes)


def test_words_of_a_table_are_no_markup():  # type: ignore[no-untyped-def]
    tables, column = table("colour,n\nred,1\nblue,2\n[a](http://x.y),3\n", column="colour", kind="number")
    assert not STUDY.check(make(table=TableColumn(data=column.data, column="n")), tables)
    text = "colour\n1\n2\n[a](http://x.y)\n"
    tables, column = table(text, kind="number")
    notes = " ".join(note.text for note in STUDY.run(make(table=column), tables).notes)
    assert r"“\[a\]\(http\://x.y\)”" in notes
    assert "[a](" not in notes.replace(r"\[a\](", "")


# --- refusals: before anything is computed -------------------------------------------------------------------------


def refusal(scenario, tables=None):  # type: ignore[no-untyped-def]
    words = STUDY.check(scenario, tables)
    assert len(words) == 1
    with pytest.raises(ParameterError) as caught:
        STUDY.run(scenario, tables)
    assert str(caught.value) == words[0]
    return words[0]


def test_a_link_without_its_file():  # type: ignore[no-untyped-def]
    _, column = table(SMALL_TEXT)
    words = refusal(make(table=column))
    assert "drop the same file here" in words
    assert column.data in words


def test_unknown_column_and_no_table():  # type: ignore[no-untyped-def]
    tables, column = table(SMALL_TEXT, column="color")
    assert "the nearest is “colour”" in refusal(make(table=column), tables)
    assert "No table is chosen" in refusal(make(table=TableColumn()))


def test_one_value_is_refused():  # type: ignore[no-untyped-def]
    tables, column = table("colour\nred\nred\nred\n")
    assert "at least two different values" in refusal(make(table=column), tables)


def test_polynomial_needs_a_declared_k():  # type: ignore[no-untyped-def]
    assert "Declare how many different values" in refusal(make(entropy=Polynomial()))
    fine = STUDY.run(make(entropy=Polynomial(), declared_k=25_000))
    assert fine.extra["entropy"].exact == pytest.approx(STUDY.run(make()).extra["entropy"].exact, rel=0.05)


def test_declared_k_below_the_observed_is_refused():  # type: ignore[no-untyped-def]
    tables, column = table(SMALL_TEXT)
    for estimator in (Polynomial(), PlugIn(), MillerMadow()):
        words = refusal(make(table=column, declared_k=3, entropy=estimator), tables)
        assert "k = 3 is too small" in words
        assert "4 different values" in words
    assert not STUDY.check(make(table=column, declared_k=4, entropy=Polynomial()), tables)


def test_smoothing_beyond_the_range_of_numbers():  # type: ignore[no-untyped-def]
    assert "lower r to 150" in refusal(make(coverage=SmoothedGoodToulmin(smoothing_mean=500.0)))


# --- what is kept --------------------------------------------------------------------------------------------------


def test_nothing_of_an_upload_outlives_it():  # type: ignore[no-untyped-def]
    gc.collect()
    before = len(unseen_in_data._known)
    tables, column = table(SMALL_TEXT + "teal,9\n")
    STUDY.check(make(table=column), tables)
    assert len(unseen_in_data._known) == before + 1
    del tables
    gc.collect()
    assert len(unseen_in_data._known) == before


def test_the_column_is_read_once(monkeypatch):  # type: ignore[no-untyped-def]
    tables, column = table(SMALL_TEXT + "mauve,9\n")
    calls = []
    real = unseen_in_data.read_counts
    monkeypatch.setattr(unseen_in_data, "read_counts", lambda *args: calls.append(1) or real(*args))
    for scenario in (make(table=column), make(table=column, epsilon=0.3)):
        STUDY.check(scenario, tables)
        STUDY.run(scenario, tables)
    assert len(calls) == 1


def test_presets_answer_and_their_columns_differ():  # type: ignore[no-untyped-def]
    sizes = [STUDY.run(preset.scenario).extra["column"].n for preset in STUDY.presets()]
    assert sizes == [86_080, 32_053, 442]
    assert all(one != two for one, two in pairwise(sizes))


def test_no_two_readings_share_their_noise() -> None:
    """Names of columns are free text: none may be taken for another reading of another column."""
    pairs = [
        (TableColumn(data="x", column="a", kind="category"), TableColumn(data="x", column='a", as category')),
        (TableColumn(data="x", column="a", kind="category"), TableColumn(data="x", column="a (as category)")),
        (TableColumn(data="x", column="a", counts="b"), TableColumn(data="x", column='a", counted by "b')),
        (TableColumn(data="x", column='a"', counts="b"), TableColumn(data="x", column="a", counts='"b')),
    ]
    for one, other in pairs:
        assert column_words(one) != column_words(other)


# --- words of answers, table, band -----------------------------------------------------------------------------------


def test_answers_are_named_as_the_form_names_them():  # type: ignore[no-untyped-def]
    """No internal ids in the list of what was spent; ε stands in the words."""
    scenario = make(epsilon=0.5, coverage=SmoothedGoodToulmin(smoothing="binomial-1"), t=2.0)
    answers = STUDY.run(scenario).extra["answers"]
    labels = [row.label for row in SpentBudget(answers).table().rows]
    assert labels == [
        "Distinct values at t = 2, Smoothing: Binomial, 1/(1+t), of “surname”, counted by “count”, ε = 0.5, seed 0",
        "Entropy, Miller-Madow, of “surname”, counted by “count”, ε = 0.5, seed 0",
    ]
    # words are for reading: the noise depends on what it depended on before
    bare = PrivateAnswer(
        answers[0].table, answers[0].column, answers[0].question, answers[0].guarantee, answers[0].seed
    )
    assert bare == answers[0]
    assert bare.rng().random() == answers[0].rng().random()


@pytest.mark.parametrize("t", [1.0, 3.3])
def test_the_table_is_sorted_by_look_ahead_and_has_no_empty_columns(t):  # type: ignore[no-untyped-def]
    result = STUDY.run(make(t=t))
    view = dataclasses.replace(result, frame=STUDY.numbers(result, "coverage"))
    frame = STUDY.table(view)
    assert frame["x"].is_monotonic_increasing
    assert frame.notna().all().all()
    assert len(frame.columns) <= 5
    mine = frame[frame["answer"] == "private"]
    assert mine["x"].tolist() == [t]
    assert len(STUDY.table(dataclasses.replace(result, frame=STUDY.numbers(result, "entropy")))) == 2


def test_a_band_that_cannot_be_seen_is_told_in_words():  # type: ignore[no-untyped-def]
    for epsilon, is_seen in ((1.0, False), (0.001, True)):
        result = STUDY.run(make(epsilon=epsilon))
        band = STUDY.chart(result, "coverage").panels[0].marks[0]
        assert (band.label is not None) == is_seen
        assert ("hardly wider than the line" in result.shows) != is_seen
