"""Every study's scenario: nothing lost on the way through links and files, bad values refused in plain words.

Run with ``-s`` to read all sentences once.
"""

from __future__ import annotations

import inspect
import json
import math
import pickle
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from record_data import Bad, Place, bad_values, faults, places, records, settable

from privexplorer.errors import ParameterError
from privexplorer.records import Record, apply, dump, extra, leaf, load, problems, salvage, shape, validated
from privexplorer.records import settings as settings_of
from privexplorer.studies import catalogue

STUDIES = catalogue()
ids = pytest.mark.parametrize("study", list(STUDIES))
PRINTED: set[str] = set()


def classes(cls: type[Record] = Record) -> Iterator[type[Record]]:
    """Every record class of the package, whether a study asks for it or not."""
    for member in cls.__subclasses__():
        if member.__module__.startswith("privexplorer."):
            yield member
            yield from classes(member)


CLASSES = sorted(set(classes()), key=lambda cls: (cls.__module__, cls.__name__))


def through_link(scenario: Any) -> Any:
    """Write a link as a browser does, and read it."""
    address = urlencode(dump(scenario))
    used: set[str] = set()
    parts = parse_qs(address, keep_blank_values=True)
    again = validated(type(scenario), load(type(scenario), parts, used))
    assert set(parts) <= used
    assert salvage(type(scenario), parts) == (again, [])
    return again


def through_file(scenario: Any) -> Any:
    """Write a file, and read it."""
    return validated(type(scenario), json.loads(json.dumps(scenario.model_dump(mode="json"))))


@ids
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
def test_links_and_files_lose_nothing(study: str, data: st.DataObject) -> None:
    scenario = data.draw(records(STUDIES[study].scenario))
    for again in (through_link(scenario), through_file(scenario)):
        assert again == scenario
        assert repr(again) == repr(scenario)
        assert STUDIES[study].digest(again) == STUDIES[study].digest(scenario)


@ids
def test_presets_survive_links_and_files(study: str) -> None:
    for preset in STUDIES[study].presets():
        assert through_link(preset.scenario) == through_file(preset.scenario) == preset.scenario
    assert dump(STUDIES[study].scenario()) == []


@ids
def test_names_are_unique_and_fields_are_told(study: str) -> None:
    found = list(settings_of(STUDIES[study].scenario))
    names, paths = [one.name for one in found], [one.path for one in found]
    assert len(set(names)) == len(names)
    assert len(set(paths)) == len(paths)
    reserved = {"study", "view", "embed", "embed_options", "theme"}  # the page's and the server's own
    assert not reserved & {name.split(".")[0] for name in names}
    for one in found:
        assert one.info.title, one.path
        if one.what == "leaf":
            told = extra(one.info).get("titles")
            assert told is None or set(told) == set(leaf(one.info).choices), one.path


@ids
def test_numbers_have_bounds(study: str) -> None:
    for place in places(STUDIES[study].scenario):
        if shape(place.info)[0] == "leaf" and leaf(place.info).base in (int, float):
            rule = leaf(place.info)
            assert rule.low is not None, place.path
            assert rule.high is not None, place.path


def refusals(place: Place, bad: Bad) -> list[str]:
    """Offer a bad value by file, form, link and command line; return what is said."""
    # a page hands the form's plain data to the same function
    words = [problem.sentence for problem in problems(place.cls, place.data(bad.json), "the form")]
    assert words, (place.path, bad)
    with pytest.raises(ParameterError) as caught:
        validated(place.cls, json.loads(json.dumps(place.data(bad.json))))
    words.append(str(caught.value))
    if bad.text is None:
        return words
    _, notes = salvage(place.cls, place.link(bad.text))
    assert len(notes) == 1, (place.path, bad, notes)
    words += notes
    with pytest.raises(ParameterError) as caught:
        apply(place.cls(), place.pairs(bad.text))
    return [*words, str(caught.value)]


@ids
def test_bad_values_are_refused_in_one_sentence(study: str) -> None:
    for place in places(STUDIES[study].scenario):
        for bad in bad_values(place.info):
            for sentence in refusals(place, bad):
                assert not faults(sentence), (place.path, bad, faults(sentence), sentence)
                if sentence not in PRINTED:
                    PRINTED.add(sentence)
                    print(sentence)


def test_code_gets_the_same_sentences() -> None:
    """However a record is built in Python, a bad value is refused in one sentence, not with pydantic's text."""
    assert len(CLASSES) > 150
    for cls in CLASSES:
        for name, info in settable(cls):
            for bad in bad_values(info):
                data = {name: bad.json}
                said = set()
                for build in (cls, lambda _cls=cls, **data: _cls.model_validate(data)):
                    with pytest.raises(ParameterError) as caught:
                        build(**data)
                    said.add(str(caught.value))
                    assert caught.value.__suppress_context__
                    assert str(caught.value.field).split(".")[0] == name
                assert len(said) == 1
                assert not faults(*said), (cls, name, bad, *said)
                told = info.title in str(said)
                assert told or bad.what == "unknown name", (cls, name, bad, *said)
        with pytest.raises(ParameterError, match=r"^There is no setting called “banana”"):
            cls(banana=5)


def test_records_are_quick_to_make_copy_and_keep() -> None:
    for cls in CLASSES:
        assert not cls.__pydantic_custom_init__, cls  # else each record inside a record takes the long way round
    for study in STUDIES.values():
        scenario = study.scenario()
        assert pickle.loads(pickle.dumps(scenario)) == scenario  # noqa: S301
        assert scenario.model_copy() == scenario
        assert type(scenario).model_validate_json(scenario.model_dump_json()) == scenario
        with pytest.raises(ParameterError, match=r"^Settings that are made do not change; make new ones"):
            setattr(scenario, next(iter(type(scenario).model_fields)), None)
        with pytest.raises(ParameterError, match=r"^The scenario must be written as JSON; the text is not\.$"):
            type(scenario).model_validate_json("{")


def test_every_choice_is_whole() -> None:
    """What can be chosen does all that its base promises: nothing of it ends in "not implemented"."""
    chosen = [cls for cls in CLASSES if "kind" in cls.model_fields and not cls.__subclasses__()]
    assert len(chosen) > 100
    for cls in chosen:
        for name in dir(cls):
            member = inspect.getattr_static(cls, name, None)
            member = getattr(member, "fget", getattr(member, "__func__", member))
            code = getattr(member, "__code__", None)
            assert code is None or "NotImplementedError" not in code.co_names, (cls, name)


@ids
def test_values_at_the_very_edge_are_taken(study: str) -> None:
    """The bounds themselves (closed) or their neighbours (open) are fine, unless a rule between fields objects."""
    for place in places(STUDIES[study].scenario):
        what = leaf(place.info) if shape(place.info)[0] == "leaf" else None
        if what is None or what.base not in (int, float):
            continue
        for bound, is_open, up in ((what.low, what.low_open, math.inf), (what.high, what.high_open, -math.inf)):
            if bound is None:
                continue
            value: Any = what.base(bound)
            if is_open:
                value = value + (1 if up > 0 else -1) if what.base is int else math.nextafter(bound, up)
            words = [
                problem.sentence for problem in problems(place.cls, place.data([value] if what.many else value), "it")
            ]
            assert what.many or not any("must be a" in sentence for sentence in words), (place.path, value, words)
