"""Bad values in plain words: one sentence each, which says what was wrong and what is allowed."""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar

import pytest
from pydantic import field_validator
from record_data import Bad, Place, bad_values, faults, places
from toys import Toy

from privexplorer.errors import ParameterError
from privexplorer.records import Record, Scenario, apply, field, leaves, problems, rule, salvage, validated
from privexplorer.records._walk import leaf
from privexplorer.studies import catalogue, study

PLACES = list(places(Toy))


def refused_by_link(place: Place, bad: Bad) -> list[str]:
    assert bad.text is not None
    record, notes = salvage(place.cls, place.link(bad.text))
    base = {name: values for name, values in place.link("").items() if name != place.link_name}
    assert record == salvage(place.cls, base)[0], "a bad part must fall back to its default, and nothing else"
    return notes


def refused_by_file(place: Place, bad: Bad) -> str:
    data: Any = json.loads(json.dumps(place.data(bad.json)))
    with pytest.raises(ParameterError) as caught:
        validated(place.cls, data)
    assert str(caught.value) in [problem.sentence for problem in problems(place.cls, data, "the file")]
    return str(caught.value)


def refused_by_command(place: Place, bad: Bad) -> str:
    assert bad.text is not None
    with pytest.raises(ParameterError) as caught:
        apply(place.cls(), place.pairs(bad.text))
    return str(caught.value)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.path)
def test_every_bad_value_is_refused_in_one_sentence(place: Place) -> None:
    for bad in bad_values(place.info):
        sentences = [refused_by_file(place, bad)]
        if bad.text is not None:
            notes = refused_by_link(place, bad)
            assert len(notes) == 1, notes
            sentences += [notes[0], refused_by_command(place, bad)]
        for sentence in sentences:
            assert not faults(sentence), (faults(sentence), sentence)
            assert place.info.title is not None
            if bad.what != "unknown name":
                assert place.info.title in sentence


EXACT: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": 0}, "“Privacy loss ε” must be a number from 0.000001 to 50; the file says 0."),
    ({"epsilon": -2.5}, "“Privacy loss ε” must be a number from 0.000001 to 50; the file says −2.5."),
    ({"epsilon": "banana"}, "“Privacy loss ε” must be a number from 0.000001 to 50; the file says “banana”."),
    ({"epsilon": True}, "“Privacy loss ε” must be a number from 0.000001 to 50; the file says true."),
    ({"epsilon": None}, "“Privacy loss ε” must be a number from 0.000001 to 50; the file says nothing there."),
    ({"epsilon": []}, "“Privacy loss ε” must be a number from 0.000001 to 50; the file has a list there."),
    (
        {"epsilon": {}},
        "“Privacy loss ε” must be a number from 0.000001 to 50; the file has a group of settings there.",
    ),
    ({"epsilon": math.inf}, "“Privacy loss ε” must be a number from 0.000001 to 50; the file says “infinity”."),
    ({"epsilon": math.nan}, "“Privacy loss ε” must be a number from 0.000001 to 50; the file says “not a number”."),
    ({"delta": 1}, "“Failure chance δ” must be a number of at least 0 and below 1; the file says 1."),
    ({"trials": 17.5}, "“Runs” must be a whole number from 8 to 20,000; the file says 17.5."),
    (
        {"seed": 10**30},
        "“Seed” must be a whole number from 0 to 4,294,967,295; the file says a whole number with 31 digits.",
    ),
    (
        {"limit": "x" * 100},
        "“Limit” must be a whole number from 1 to 1,000,000,000,000 (or left empty); the file says “"
        + "x" * 40
        + "…”.",
    ),
    ({"unit": "bit"}, "“Unit” must be one of nats, bits; the file says “bit”."),
    ({"is_shown": "maybe"}, "“Shown” must be true or false; the file says “maybe”."),
    ({"name": "x" * 41}, "“Name” must have at most 40 characters; the file says “" + "x" * 40 + "…”."),
    ({"columns": [5]}, "“Columns” must be a list of names; the file says 5."),
    ({"degrees": [3, 99]}, "“Degrees” must be a list, each item a whole number from 1 to 24; the file says 99."),
    ({"degrees": [1, 2, 3, 4, 5, 6]}, "“Degrees” must have at most 5 values; the file has 6."),
    ({"degrees": [3, 3]}, "“Degrees” may name each choice only once; the file repeats one."),
    ({"shape": {"kind": "banana"}}, "“Shape” must be one of flat, power, typed; the file says “banana”."),
    ({"shape": {"exponent": 2}}, "“Shape” must say its kind, one of flat, power, typed; the file leaves it out."),
    ({"shape": {"kind": "power", "exponent": 9}}, "“Shape: Exponent” must be a number from 0 to 4; the file says 9."),
    (
        {"shape": {"kind": "power", "exponnent": 9}},
        "There is no setting called “exponnent” in “Shape”; the nearest is exponent.",
    ),
    (
        {"shape": {"kind": "flat", "exponent": 9}},
        "There is no setting called “exponent” in “Shape”; this choice has no settings.",
    ),
    ({"shape": {"kind": "typed", "weights": [1.0]}}, "“Shape: Weights” must have at least 2 values; the file has 1."),
    ({"methods": []}, "Choose at least one of plain, poly, smooth for “Methods”; the file names none."),
    (
        {"methods": {"kind": "plain"}},
        "“Methods” must be a list of plain, poly, smooth; the file has a group of settings there.",
    ),
    ({"methods": [5]}, "“Methods” must be one of plain, poly, smooth; the file says 5."),
    (
        {"methods": [{"kind": "poly", "degree": 0}]},
        "“Methods: Polynomial: Degree” must be a whole number from 1 to 24; the file says 0.",
    ),
    ({"n": 5}, "“Sample sizes n” must be a group with low, high, points; the file says 5."),
    (
        {"n": {"low": 9, "high": 5}},
        "“Sample sizes n” must not start above its end; the file has it run from 9 to 5, so exchange the two.",
    ),
    ({"n": {"low": 0}}, "“Sample sizes n: From” must be a whole number from 1 to 100,000,000; the file says 0."),
    ({"epsilom": 1}, "There is no setting called “epsilom”; the nearest is epsilon."),
]


@pytest.mark.parametrize(("data", "words"), EXACT)
def test_sentences_read_once(data: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        validated(Toy, data)
    assert str(caught.value) == words
    assert not faults(words)


@pytest.mark.parametrize("data", [5, "banana", None, [], [1]])
def test_what_is_no_scenario_at_all(data: Any) -> None:
    with pytest.raises(ParameterError, match=r"^The scenario must be a group of settings; the file (has|says)"):
        validated(Toy, data)


class Strict(Scenario):
    """Rules that are not pydantic's own."""

    title: ClassVar[str] = "Strict"
    low: float = field(1.0, "Low")

    @field_validator("low")
    @classmethod
    def _odd(cls, value: float) -> float:
        if value == 2:
            raise ValueError("Low must not be two")
        if value == 3:
            raise ParameterError("Low must not be three.")
        return value


def test_rules_in_validators_speak_for_themselves() -> None:
    for value, words in ((2, "Low must not be two."), (3, "Low must not be three.")):
        with pytest.raises(ParameterError) as caught:
            validated(Strict, {"low": value})
        assert str(caught.value) == words


class Bounds(Record):
    """Each way to give bounds."""

    free: float = field(0.0, "Free")
    above: int = field(1, "Above", gt=0)
    least: float = field(1.0, "Least", ge=0.001)
    between: float = field(0.5, "Between", gt=0, lt=1)
    few: tuple[int, ...] = field((), "Few")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("free", "a number"),
        ("above", "a whole number above 0"),
        ("least", "a number of at least 0.001"),
        ("between", "a number above 0 and below 1"),
        ("few", "a list, each item a whole number"),
    ],
)
def test_rules_in_words(name: str, words: str) -> None:
    assert rule(leaf(Bounds.model_fields[name])) == words


def test_faults_are_found() -> None:
    """The check of the sentences has power: it finds what it looks for."""
    assert not faults("Privacy loss ε must be a number from 0.000001 to 50; the link says “Input should”.")
    for bad in (
        "Input should be greater than 0.",
        "1 validation error for Toy.",
        "The value of n.low is wrong.",
        "A BaseModel is needed.",
        "A ParameterError happened.",
        "It must be above 0",
        "It must be above 0. Change it.",
        "it must be above 0.",
    ):
        assert faults(bad), bad


class Kept(Scenario):
    """A number whose lower bound has a reason."""

    keep: float = field(0.5, "Kept", key="keep", gt=0, le=1, below="at 0 nothing is released")
    plain: float = field(0.5, "Plain", key="plain", gt=0, le=1)


def test_a_number_below_the_bounds_is_refused_with_the_reason() -> None:
    for bad in ("0", "-1"):
        with pytest.raises(ParameterError, match=r"above 0 and at most 1 \(at 0 nothing is released\); "):
            apply(Kept(), [("keep", bad)])
        _, notes = salvage(Kept, {"keep": [bad]})
        assert "(at 0 nothing is released)" in notes[0]
    with pytest.raises(ParameterError, match="at 0 nothing is released"):
        Kept(keep=0.0)
    for told in (problems(Kept, {"keep": 1.5}, "the form"), problems(Kept, {"keep": "x"}, "the form")):
        assert "at 0" not in told[0].sentence
    assert "at 0" not in problems(Kept, {"plain": 0}, "the form")[0].sentence


def test_keep_probability_and_the_loss_of_a_response_say_what_nothing_means() -> None:
    asked = 0
    for one in catalogue().values():
        for setting, _ in leaves(one.scenario()):
            if setting == "keep":
                with pytest.raises(ParameterError, match="at 0 nothing about the private column is released"):
                    apply(one.scenario(), [(setting, "0")])
                asked += 1
    assert asked > 8
    with pytest.raises(ParameterError, match="at 0 the answers say nothing"):
        apply(study("signed-imputation").scenario(), [("mech", "response"), ("mech.response.eps", "0")])
