"""The lists of mechanisms: stable kinds, round trips, and guarantees that grow with ε."""

from __future__ import annotations

import typing

import pytest
from pydantic import TypeAdapter

from privexplorer.errors import ParameterError
from privexplorer.privacy import (
    AdditiveNoise,
    LocalMechanism,
    Mechanism,
    RealNoise,
    SelectionMechanism,
)


def members(union):
    return typing.get_args(typing.get_args(union)[0])


CLASSES = members(Mechanism)


def test_kinds_are_stable_and_each_mechanism_is_listed_once():
    kinds = [cls().kind for cls in CLASSES]
    assert kinds == [
        "laplace",
        "geometric",
        "gaussian",
        "exponential",
        "report-noisy-max",
        "randomised-response",
        "k-ary-randomised-response",
    ]
    parts = [*members(AdditiveNoise), *members(SelectionMechanism), *members(LocalMechanism)]
    assert set(parts) == set(CLASSES)
    assert set(members(RealNoise)) < set(members(AdditiveNoise))


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_mechanism_round_trips_and_says_what_it_is(cls):
    mechanism = cls(epsilon=0.7)
    assert TypeAdapter(Mechanism).validate_json(mechanism.model_dump_json()) == mechanism
    assert hash(mechanism) == hash(cls(epsilon=0.7))
    for text in (cls.title, cls.formula, cls.source):
        assert text
    assert cls.__doc__


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_guarantee_is_weaker_for_larger_epsilon_only(cls):
    small, large = cls(epsilon=0.7).guarantee(), cls(epsilon=0.77).guarantee()
    assert small.implies(large)
    assert not large.implies(small)
    assert "Neighbours" in small.sentence()


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("epsilon", [0.0, -1.0, 50.1, float("nan"), float("inf"), "x", True])
def test_epsilon_outside_its_range_is_refused(cls, epsilon):
    with pytest.raises(ParameterError):
        cls(epsilon=epsilon)
