"""An effect on a table: one draw that is kept, honest intervals, public facts, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from privexplorer.causal import ATE, ATT, AlphaIdentity, tabulate, uniform_levels
from privexplorer.causal.discrete import discrete_estimate
from privexplorer.causal.study_data import Categories, Numbers, mechanism_for
from privexplorer.data import Source, TableChoice
from privexplorer.errors import DataError, ParameterError
from privexplorer.figures import draw as render
from privexplorer.privacy.answers import PrivateAnswer, SpentBudget, release_rng
from privexplorer.privacy.guarantees import LocalDP, PureDP
from privexplorer.studies.base import Request
from privexplorer.studies.chart import Line, Points
from privexplorer.studies.private_effect import (
    LADDER,
    NAIVE,
    NOISE,
    OPEN,
    PANELS,
    PRIVATE,
    SHOWN,
    TREATED,
    UNTREATED,
    VERDICTS,
    WARNED,
    WORTH,
    EffectTable,
    PeopleAtHand,
    PrivateEffect,
    PrivateEffectScenario,
    Rung,
    TrainingProgramme,
    analysis,
    draw,
    facts_text,
    few_words,
    read_facts,
    read_people,
)

STUDY = PrivateEffect()
make = PrivateEffectScenario
SMALL = TrainingProgramme(people=3_000)
INTERVAL_FORMULAS = ("Estimate and interval", "Effective number of people")


def effect(result: Any, series: str, keep: float) -> Any:
    rows = result.series(series, PANELS["effect"])
    return rows[rows["x"] == keep].iloc[0]


def own_table(
    people: int = 3_000, pay: float | None = None, **more: Any
) -> tuple[dict[str, Source], PrivateEffectScenario]:
    columns, _ = TrainingProgramme(people=people).people_and_outcomes()
    if pay is not None:
        columns["pay"] = np.full(people, pay)
    names = ["pay", "course", "illness", "age", "site"]
    words = {"course": np.where(columns["course"] > 0, "yes", "no")}
    rows = zip(*[words.get(name, columns[name]).tolist() for name in names], strict=True)
    text = ",".join(names) + "\n" + "\n".join(",".join(str(cell) for cell in row) for row in rows) + "\n"
    source = Source.from_bytes("people.csv", text.encode())
    data = EffectTable(
        table=TableChoice(data=source.digest[:16]), facts="illness: none, mild, severe; age: 18 to 70", treated="yes"
    )
    return {source.digest[:16]: source, source.digest: source}, make(data=data, **more)


# --- the numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("target", "kind"), [("ate", ATE()), ("att", ATT())])
def test_equals_the_direct_analysis(target: str, kind: Any) -> None:
    """The released column, tabulated and unmixed by hand, gives the study's number."""
    scenario = make(data=SMALL, target=target, keep=0.7)
    people = read_people(scenario, None)
    mechanism = AlphaIdentity(0.7, uniform_levels(3))
    codes = np.array([["none", "mild", "severe"].index(text) for text in people.columns["illness"]])
    shown = mechanism.privatise(codes, release_rng(0, people.name, "illness"))
    counts = tabulate(people.columns["pay"], people.columns["course"].astype(int), shown, 3)
    direct = discrete_estimate(counts, mechanism, kind)
    result = STUDY.run(scenario)
    found = effect(result, PRIVATE, 0.7)
    assert direct.method == "plug-in", "no folds, so that folds cannot differ"
    assert found["y"] == pytest.approx(direct.value, rel=1e-12)
    assert found["std_error"] == pytest.approx(direct.std_error, rel=1e-12)
    assert direct.naive is not None
    assert effect(result, NAIVE, 0.7)["y"] == pytest.approx(direct.naive.value, rel=1e-12)


def test_without_noise_all_analyses_agree() -> None:
    """Ledger L-E57: at keep probability 1 private, naive and open are the ordinary estimate."""
    result = STUDY.run(make(data=SMALL))
    private, naive, opened = (effect(result, name, 1.0) for name in (PRIVATE, NAIVE, OPEN))
    assert private["y"] == naive["y"] == opened["y"]
    columns, _ = SMALL.people_and_outcomes()
    by_hand = 0.0
    for level in ("none", "mild", "severe"):
        here = columns["illness"] == level
        arms = [columns["pay"][here & (columns["course"] == arm)].mean() for arm in (0, 1)]
        by_hand += here.mean() * (arms[1] - arms[0])
    assert private["y"] == pytest.approx(by_hand, rel=1e-12)


def test_right_on_average_over_draws() -> None:
    """Over 60 seeds the private estimate averages to the open one; the naive one is far off."""
    values, naive = [], []
    for seed in range(60):
        scenario = make(data=SMALL, keep=0.6, seed=seed)
        found = analysis(scenario, read_people(scenario, None), 0.6)[0].estimate
        values.append(found.value)
        assert found.naive is not None
        naive.append(found.naive.value)
    opened = effect(STUDY.run(make(data=SMALL)), OPEN, 1.0)["y"]
    error = np.std(values, ddof=1) / np.sqrt(60)
    assert abs(np.mean(values) - opened) < 3.5 * error
    assert error < 1.5
    assert np.mean(naive) < opened - 15


def test_truth_is_in_the_interval_and_said() -> None:
    for target, truth in (("ate", 52), ("att", 63)):
        result = STUDY.run(make(target=target, keep=0.7))
        row = effect(result, PRIVATE, 0.7)
        assert row["low"] < result.extra["shown"].truth < row["high"]
        assert result.extra["shown"].truth == pytest.approx(truth, abs=2)
        assert "inside the interval" in result.shows
    assert STUDY.run(make(data=SMALL, treatment="employed")).extra["shown"].truth is None


def test_intervals_shrink_and_people_grow_with_the_keep_probability() -> None:
    result = STUDY.run(make(data=TrainingProgramme(people=20_000)))
    rows = result.series(PRIVATE, PANELS["effect"])
    assert rows["x"].tolist() == sorted({*LADDER, 0.5})
    errors = rows["std_error"].to_numpy()[3:]
    assert np.all(np.diff(errors) < 0)
    worth = result.series(WORTH, PANELS["people"])["y"].to_numpy()
    assert worth[-1] == pytest.approx(20_000)
    expected = 20_000 * (rows["std_error"].to_numpy()[-1] / rows["std_error"].to_numpy()) ** 2
    assert np.allclose(worth[2:], expected[2:])


# --- one draw, kept --------------------------------------------------------------------------------------------


def test_draw_does_not_depend_on_the_question() -> None:
    """Ledger L-X10: outcome, treatment, target and level leave everybody's coin and noise alone."""
    base = make(data=SMALL)
    people = read_people(base, None)

    def released(scenario: PrivateEffectScenario, keep: float) -> Any:
        who = read_people(scenario, None)
        rng = release_rng(scenario.seed, who.name, *who.private)
        return draw(who, mechanism_for(who.private, keep), rng)[0]["illness"]

    low, high = released(base, 0.3), released(base, 0.6)
    true = people.columns["illness"]
    assert np.array_equal(released(make(data=SMALL, outcome="employed", target="att"), 0.3), low)
    kept_low, kept_high = low == true, high == true
    assert np.mean(kept_low & ~kept_high) < 1e-12, "who shows the truth at the lower level shows it at the higher"
    assert not np.array_equal(released(make(data=SMALL, seed=1), 0.3), low)
    assert np.mean(high == true) == pytest.approx(0.6 + 0.4 / 3, abs=0.03)


def test_columns_of_a_person_are_swapped_together() -> None:
    """Ledger L-X12: one coin per person, whatever the kinds of columns."""
    scenario = make(data=SMALL, private=("illness", "age"))
    people = read_people(scenario, None)
    released, _ = draw(people, mechanism_for(people.private, 0.5), release_rng(0, people.name, *people.private))
    age_kept = released["age"] == people.columns["age"]
    ill_kept = released["illness"] == people.columns["illness"]
    assert np.mean(age_kept) == pytest.approx(0.5, abs=0.03)
    assert np.all(ill_kept[age_kept])
    assert released["age"].min() >= 18
    assert released["age"].max() <= 70


def test_several_private_columns() -> None:
    scenario = make(data=TrainingProgramme(people=3_000, age_decides=0.6), private=("illness", "age"), keep=0.9)
    found = analysis(scenario, read_people(scenario, None), 0.9)[0]
    truth = read_people(scenario, None).truth
    assert truth is not None
    assert found.estimate.covers(truth)
    assert found.estimate.method != "plug-in"


def test_values_outside_the_public_range_are_moved_and_counted() -> None:
    tables, scenario = own_table(private=("age",), keep=0.9)
    data = scenario.data.model_copy(update={"facts": "age: 30 to 60"})
    result = STUDY.run(scenario.model_copy(update={"data": data}), tables)
    ages = TrainingProgramme(people=3_000).people_and_outcomes()[0]["age"]
    moved = int(np.sum((ages < 30) | (ages > 60)))
    assert any(f"{moved:,} values of" in note.text for note in result.notes)


# --- a table of one's own ----------------------------------------------------------------------------------------


def test_own_table_gives_the_example_s_numbers() -> None:
    tables, scenario = own_table(keep=0.7)
    own, example = STUDY.run(scenario, tables), STUDY.run(make(data=SMALL, keep=0.7))
    assert effect(own, OPEN, 1.0)["y"] == pytest.approx(effect(example, OPEN, 1.0)["y"], rel=1e-9)
    assert effect(own, PRIVATE, 0.7)["y"] != effect(example, PRIVATE, 0.7)["y"], "another table, another draw"
    assert any(note.level == "not-private" for note in own.notes)
    (answer,) = own.extra["answers"]
    assert float(answer.guarantee.epsilon) == pytest.approx(np.log(1 + 0.7 / 0.1))
    assert "answers" not in example.extra
    assert own.cards[3].chip == "not private"


def test_numbers_have_no_epsilon_and_it_is_said() -> None:
    tables, scenario = own_table(private=("age",), public=("site",), keep=0.9)
    result = STUDY.run(scenario, tables)
    (answer,) = result.extra["answers"]
    assert (answer.guarantee.epsilon, answer.guarantee.delta) == (0.0, 0.9), "total variation 0.9 stands as δ"
    (said,) = (note.text for note in result.notes if note.title == "Privacy spent: no finite ε")
    assert "“age”" in said
    assert "total-variation level α = 0.9" in said
    assert any("no finite ε" in note.text for note in result.notes)
    assert "public columns alone" in result.shows


def test_a_numeric_column_beside_categories_is_billed() -> None:
    """Ledger L-X12: one coin for all columns, so the level of the release is α and its slack no smaller."""
    tables, scenario = own_table(private=("illness", "age"), keep=0.9)
    scenario = scenario.model_copy(update={"learners": "param"})
    prepared = STUDY.prepare(scenario, tables)
    result = STUDY.assemble(scenario, prepared, [])
    (answer,) = result.extra["answers"]
    mechanism = mechanism_for(prepared.people.private, 0.9)
    assert answer.guarantee.delta == pytest.approx(mechanism.ldp_delta(0.0))
    assert str(SpentBudget().show(answer).total()) == "ε = 0, δ = 0.9"
    (said,) = (note.text for note in result.notes if note.title == "Privacy spent: no finite ε")
    assert "“age”" in said
    assert "“illness”" not in said
    everything = scenario.model_copy(update={"keep": 1.0})
    openly = STUDY.assemble(everything, STUDY.prepare(everything, tables), [])
    assert "answers" not in openly.extra
    assert any("nothing about them is protected" in note.text for note in openly.notes)
    example = STUDY.assemble(make(private=("illness", "age"), data=SMALL), prepared, [])
    assert not any(note.title == "Privacy spent: no finite ε" for note in example.notes)


def test_local_and_central_answers_about_a_table_add_up() -> None:
    """A table asked on two pages has one bill: a local promise implies the central one at the same level."""
    tables, scenario = own_table(private=("age",), keep=0.9)
    (local,) = STUDY.assemble(scenario, STUDY.prepare(scenario, tables), []).extra["answers"]
    curated = PrivateAnswer(local.table, "age", "entropy", PureDP(0.5), 0)
    spent = SpentBudget().show(curated).show(local)
    assert str(spent.total()) == "ε = 0.5, δ = 0.9"
    categories = replace(local, guarantee=LocalDP(1.25))
    assert str(SpentBudget().show(curated).show(categories).total()) == "ε = 1.75"
    assert SpentBudget().show(local).total().model == "local"


def test_public_facts() -> None:
    facts = read_facts("age: 18 to 90; illness: none, mild; score: -1.5 to 2e3;")
    assert facts == {
        "age": Numbers(18, 90),
        "illness": Categories(("none", "mild")),
        "score": Numbers(-1.5, 2000),
    }
    for text, words in (
        ("age 18 to 90", "no column and colon"),
        ("age: 90 to 18", "smaller to a larger"),
        ("age: old", "two or more"),
        ("age: a, a", "two or more"),
    ):
        with pytest.raises(ParameterError, match=words):
            read_facts(text)


@pytest.mark.parametrize(
    ("changes", "facts", "words"),
    [
        ({"outcome": "illness"}, None, "two roles"),
        ({"private": ("site",)}, None, "publicly known"),
        ({"treatment": "site"}, None, "exactly two values"),
        ({}, "illness: none, mild", "“severe”"),
        ({}, "illness: 0 to 3", "list of categories"),
        ({"outcome": "wage"}, None, "wage"),
        ({"outcome": "site", "private": ("illness",)}, None, "numeric"),
    ],
)
def test_refusals(changes: dict[str, Any], facts: str | None, words: str) -> None:
    tables, scenario = own_table(people=300, **changes)
    if facts is not None:
        scenario = scenario.model_copy(update={"data": scenario.data.model_copy(update={"facts": facts})})
    (said,) = STUDY.check(scenario, tables)
    assert words in said


@pytest.mark.parametrize(
    ("changes", "data", "is_request"),
    [
        ({"private": ("site",)}, {}, True),
        ({}, {"facts": ""}, True),
        ({}, {"treated": " "}, True),
        ({}, {"treated": "perhaps"}, False),
        ({}, {"facts": "illness: none, mild"}, False),
        ({}, {"facts": "illness, none"}, False),
        ({"treatment": "site"}, {"treated": ""}, False),
        ({"outcome": "wage"}, {}, False),
    ],
)
def test_what_is_not_said_yet_is_asked_for(changes: dict[str, Any], data: dict[str, Any], is_request: bool) -> None:
    """A fact that only the visitor has is a request; a fact that is wrong stays an error."""
    tables, scenario = own_table(people=300, **changes)
    scenario = scenario.model_copy(update={"data": scenario.data.model_copy(update=data)})
    (said,) = STUDY.check(scenario, tables)
    assert isinstance(said, Request) == is_request, said
    with pytest.raises((DataError, ParameterError)):
        STUDY.run(scenario, tables)


def test_treated_value_is_needed() -> None:
    tables, scenario = own_table(people=300)
    unsaid = scenario.model_copy(update={"data": scenario.data.model_copy(update={"treated": ""})})
    assert "which of them means treated" in STUDY.check(unsaid, tables)[0]
    swapped = scenario.model_copy(update={"data": scenario.data.model_copy(update={"treated": "no"})})
    one, other = (STUDY.run(each, tables) for each in (scenario, swapped))
    assert effect(one, OPEN, 1.0)["y"] == pytest.approx(-effect(other, OPEN, 1.0)["y"], rel=1e-9)


def test_few_people_get_no_interval() -> None:
    """The small-sample rule refuses the interval, and the page says so."""
    result = STUDY.run(make(data=TrainingProgramme(people=500), keep=0.3))
    assert result.cards[0].chip == "no interval"
    assert any(note.level == "warning" for note in result.notes)
    tables, scenario = own_table(people=300, private=("age",), keep=0.1)
    with pytest.raises((DataError, ParameterError)):
        STUDY.run(scenario, tables)


def test_a_refused_interval_leaves_no_plus_minus_behind() -> None:
    """Where the small-sample rule refuses an interval neither table nor people tell of one, and a note says where."""
    result = STUDY.run(make())
    rows = result.series(PRIVATE, PANELS["effect"]).set_index("x")
    refused = rows.index[rows["low"].isna()].tolist()
    assert refused == [0.1, 0.15], "the example shows what this test is about"
    assert rows.loc[refused, "std_error"].isna().all()
    assert rows.loc[refused, "y"].notna().all()
    assert rows["std_error"].drop(refused).gt(0).all()
    table = STUDY.table(result)
    plus_minus = table[table["panel"] == PANELS["effect"]].set_index("x")[f"{PRIVATE}, {STUDY.spread}"]
    assert plus_minus[refused].isna().all()
    worth = result.series(WORTH, PANELS["people"]).set_index("x")["y"]
    assert worth.index[worth.isna()].tolist() == refused
    (note,) = (note for note in result.notes if note.title == "Levels with few people")
    assert "At α = 0.1 and 0.15 there are too few people" in note.text
    assert "no interval is given" in note.text
    assert "At α = 0.2 there are very few" in note.text
    assert "At α = 0.3 there are few" in note.text
    plenty = STUDY.run(make(data=TrainingProgramme(people=200_000)))
    assert not any(note.title == "Levels with few people" for note in plenty.notes)


def test_both_views_mark_the_levels_with_few_people() -> None:
    """Rings stand where the small-sample rule warns and a number is drawn, on the curve itself."""
    result = STUDY.run(make())
    for view, name, ringed in (("effect", PRIVATE, [0.15, 0.2, 0.3]), ("people", WORTH, [0.2, 0.3])):
        marks = STUDY.chart(result, view).marks()
        (rings,) = (mark for mark in marks if isinstance(mark, Points))
        (curve,) = (mark for mark in marks if isinstance(mark, Line) and mark.name == name)
        assert list(rings.x) == ringed
        assert rings.name == WARNED
        where = dict(zip(curve.x, curve.y, strict=True))
        assert [where[x] for x in rings.x] == list(rings.y)
    assert any("Rings in the charts mark these levels." in note.text for note in result.notes)
    plenty = STUDY.run(make(data=TrainingProgramme(people=200_000)))
    assert not any(isinstance(mark, Points) for mark in STUDY.chart(plenty, "people").marks())


def test_an_estimate_beyond_the_chart_is_named() -> None:
    result = STUDY.run(make())
    (line,) = (mark for mark in STUDY.chart(result, "effect").marks() if mark.name == PRIVATE and hasattr(mark, "main"))
    hidden = np.asarray(line.x)[np.isnan(line.y)].tolist()
    assert hidden == [0.1], "the example shows what this test is about"
    (note,) = (note.text for note in result.notes if note.text.startswith("The chart leaves out"))
    assert "93.1 at α = 0.1" in note
    shown = STUDY.run(make(data=SMALL))
    assert not any(note.text.startswith("The chart leaves out") for note in shown.notes)


def test_a_refused_estimate_claims_no_number_of_people() -> None:
    result = STUDY.run(make(data=TrainingProgramme(people=500), keep=0.3))
    assert result.cards[1].value == "–"
    interval, people = (next(f for f in result.formulas if f.title == name) for name in INTERVAL_FORMULAS)
    assert "pm" not in interval.numbers
    assert people.numbers == ""


# --- charts and drafts ---------------------------------------------------------------------------------------------


def test_draft_has_the_largest_levels_first() -> None:
    scenario = make(data=SMALL)
    prepared = STUDY.prepare(scenario, None)
    draft = STUDY.assemble(scenario, prepared, [STUDY.run_block(prepared, 0)])
    assert not draft.complete
    assert draft.series(PRIVATE, PANELS["effect"])["x"].tolist() == [0.5, 0.9, 1.0]
    assert STUDY.blocks(scenario) == len(LADDER) - 2


def test_views() -> None:
    result = STUDY.run(make(data=SMALL))
    shares = [result.series(name, PANELS["overlap"])["y"].sum() for name in (TREATED, UNTREATED)]
    assert np.allclose(shares, 1.0)
    for name in (SHOWN, NOISE):
        trimmed = result.series(name, PANELS["trimmed"])["y"].to_numpy()
        assert np.all((trimmed >= 0) & (trimmed <= 1))
    chart = STUDY.chart(result, "effect")
    y = chart.y
    own = effect(result, PRIVATE, 0.5)
    assert y.low is not None
    assert y.high is not None
    assert y.low < own["low"] < own["high"] < y.high
    assert {PRIVATE, NAIVE} <= {mark.name for mark in chart.marks()}
    assert "released" not in str(result.extra["shown"])


def test_a_person_keeps_the_coins_whatever_the_other_columns_leave_out() -> None:
    rng = np.random.default_rng(8)
    cells = [
        f"{'' if number % 7 == 0 else number % 50},{'' if number % 5 == 0 else number % 3},{number % 2},"
        f"{['none', 'mild', 'severe'][rng.integers(3)]}"
        for number in range(600)
    ]
    source = Source.from_bytes("gaps.csv", "\n".join(["pay,bmi,course,illness", *cells]).encode())
    tables = {source.digest: source}
    data = EffectTable(table=TableChoice(data=source.digest), facts="illness: none, mild, severe")
    shown: dict[int, str] = {}
    both = 0
    for outcome in ("pay", "bmi"):
        scenario = make(data=data, outcome=outcome, treatment="course", private=("illness",), keep=0.5)
        people = read_people(scenario, tables)
        assert people.places is not None
        released, _ = draw(people, mechanism_for(people.private, 0.5), np.random.default_rng(3))
        for place, value in zip(people.places.tolist(), released["illness"].tolist(), strict=True):
            both += place in shown
            assert shown.setdefault(place, value) == value
    assert both > 300


def test_other_public_facts_draw_other_coins_and_are_billed() -> None:
    """With the categories in another order the same coins would show who kept the true value."""
    table = {"mood": np.array(["low", "mid", "high"] * 400)}
    shown, texts = [], []
    for order in (("low", "mid", "high"), ("mid", "high", "low")):
        people = PeopleAtHand(table, {"mood": Categories(order)}, None, None, "t", "t")
        texts.append(facts_text(people))
        mechanism = mechanism_for(people.private, 0.5)
        rng = release_rng(0, people.name, *people.private, facts_text(people))
        shown.append(draw(people, mechanism, rng)[0]["mood"])
    assert texts[0] != texts[1]
    alike = shown[0] == shown[1]
    true = (shown[0] == table["mood"])[alike].mean()
    # unrelated coins: both true 4/9, both the same wrong text 2/36, so 8 of 9 that agree are true; shared coins: all
    assert abs(true - 8 / 9) < 4 * np.sqrt(8 / 81 / alike.sum())
    assert true < 1


def test_the_analysis_names_its_draw_by_the_public_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    named: list[tuple[Any, ...]] = []

    def noted(*labels: Any) -> np.random.Generator:
        named.append(labels)
        return release_rng(*labels)

    monkeypatch.setattr("privexplorer.studies.private_effect.release_rng", noted)
    tables, scenario = own_table()
    people = read_people(scenario, tables)
    (name, kind), *_ = people.private.items()
    assert isinstance(kind, Categories)
    analysis(scenario, people, 0.5)
    other = {**people.private, name: replace(kind, levels=kind.levels[::-1])}
    analysis(scenario, replace(people, private=other), 0.5)
    assert named[0] != named[1]


@pytest.mark.parametrize("more", [{}, {"private": ("age",)}, {"target": "att", "keep": 0.1}])
@pytest.mark.parametrize("pay", [7.3, 0.0, 1.0])
def test_equal_outcomes_have_effect_0_and_no_effective_number(pay: float, more: dict[str, Any]) -> None:
    tables, scenario = own_table(pay=pay, **more)
    assert STUDY.check(scenario, tables) == ()
    result = STUDY.run(scenario, tables)
    shown = [card.value for card in result.cards]
    assert shown == ["0", "–", "0", "0"]
    assert [card.chip for card in result.cards[:2]] == ["same outcome", "no number here"]
    told = " ".join(card.value + card.chip + card.help for card in result.cards) + result.shows + result.takeaway
    assert "10⁻" not in told
    assert "misses it" not in told
    assert "is **0**" in result.shows
    assert "no effective number" in result.shows
    assert any("Everybody has the same outcome" in note.text for note in result.notes)
    rows = result.frame[result.frame["panel"] == PANELS["effect"]]
    assert len(rows) > 20
    assert (rows[["y", "std_error", "low", "high"]] == 0).all(axis=None)
    assert result.series(WORTH)["y"].isna().all()
    axis = STUDY.chart(result, "effect").y
    assert (axis.low, axis.high) == (-1.0, 1.0)
    for view in STUDY.views:
        render(STUDY.chart(result, view))
    number = next(item.numbers for item in result.formulas if item.title == "Effective number of people")
    assert "not defined" in number


@pytest.mark.parametrize("target", ["ate", "att"])
def test_fitted_parts_samples_and_noise_are_told(target: str) -> None:
    # (21), the sample table and the footnote on three samples
    by_table = STUDY.run(make(data=SMALL, target=target))
    by_folds = STUDY.run(make(data=SMALL, target=target, public=("site",), keep=0.8))
    for result in (by_table, by_folds):
        fitted = next(item for item in result.formulas if "(21)" in item.source)
        for part in ("r=", r"\mu_d", r"\gamma", "p", "e=E"):
            assert part in fitted.tex
        if target == "att":
            share = float(TrainingProgramme(people=3_000).people_and_outcomes()[0]["course"].mean())
            value = result.frame[(result.frame["series"] == PRIVATE) & (result.frame["x"] == result.scenario.keep)]
            assert rf"\hat\gamma={share:.4g}" in fitted.numbers
            assert fitted.numbers.endswith(f"={-float(value['y'].iloc[0]) / share:.4g}")
        assert any("(footnote on three samples)" in words for words in result.assumptions)
    told = [next(words for words in found.assumptions if "sample table" in words) for found in (by_table, by_folds)]
    assert "same people" in told[0]
    assert "five folds" in told[1]


def test_where_there_is_no_noise_the_smallest_group_is_blamed() -> None:
    def rung(keep: float, level: str) -> Rung:
        return Rung(keep, np.array([1.0, np.nan, np.nan, np.nan]), np.zeros(4), 0.0, 0.0, float(VERDICTS.index(level)))

    both = few_words([rung(0.9, "refused"), rung(1.0, "refused")])
    assert "At α = 0.9 there are too few people for this much noise, and at 1, without noise," in both
    assert "too few people in the smallest group, so no interval is given" in both
    alone = few_words([rung(1.0, "refused")])
    assert alone.startswith("At α = 1 there are too few people in the smallest group, so")
    assert "noise" not in alone


def test_200_levels_are_too_many_for_the_people_even_without_noise() -> None:
    rng = np.random.default_rng(5)
    n, levels = 2_000, [f"c{code}" for code in range(200)]
    cells = zip(rng.normal(size=n).round(2), rng.integers(0, 2, n), rng.choice(levels, n), strict=True)
    text = "y,d,x\n" + "\n".join(",".join(map(str, row)) for row in cells) + "\n"
    source = Source.from_bytes("many.csv", text.encode())
    data = EffectTable(table=TableChoice(data=source.digest[:16]), facts="x: " + ", ".join(levels))
    scenario = make(data=data, outcome="y", treatment="d", private=("x",), keep=0.9)
    tables = {source.digest[:16]: source, source.digest: source}
    note = next(note for note in STUDY.run(scenario, tables).notes if note.title == "Levels with few people")
    assert "at 1, without noise, there are too few people in the smallest group" in note.text
    assert "and 1 there are too few people for this much noise" not in note.text


def test_one_complete_row_is_told_in_the_singular() -> None:
    source = Source.from_bytes("short.csv", b"y,d,x\n1,0,a\n,1,b\n,1,a\n")
    data = EffectTable(table=TableChoice(data=source.digest[:16]), facts="x: a, b")
    tables = {source.digest[:16]: source, source.digest: source}
    words = STUDY.check(make(data=data, outcome="y", treatment="d", private=("x",)), tables)
    assert words[0].startswith("Only one row is complete; at least 50 people are needed.")
