"""Guarantees: what they refuse, how they read, and which imply which."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest

from privexplorer.errors import ParameterError
from privexplorer.privacy import ZCDP, ApproxDP, LocalDP, PureDP, TotalVariation

ALL = [PureDP(0.5), ApproxDP(0.5, 1e-6), ZCDP(0.1), LocalDP(0.5), TotalVariation(0.2)]


@pytest.mark.parametrize("guarantee", ALL, ids=lambda guarantee: guarantee.kind)
def test_every_guarantee_states_neighbours_and_model(guarantee):
    sentence = guarantee.sentence()
    assert "Neighbours: one record is replaced" in sentence
    assert ("Local model" if guarantee.model == "local" else "Central model") in sentence
    assert sentence.count(".") >= 3
    assert str(guarantee)
    assert guarantee.title
    with pytest.raises(dataclasses.FrozenInstanceError):
        guarantee.neighbours = "add-remove"
    assert guarantee == dataclasses.replace(guarantee)
    assert len({guarantee, dataclasses.replace(guarantee)}) == 1


def test_kinds_are_stable_names():
    assert [guarantee.kind for guarantee in ALL] == ["pure", "approximate", "zcdp", "local", "total-variation"]


def test_sentences_carry_the_numbers():
    assert "e^0.5 = 1.649" in PureDP(0.5).sentence()
    assert "plus 1e-06" in ApproxDP(0.5, 1e-6).sentence()
    assert "mean 0.1 and variance 0.2" in ZCDP(0.1).sentence()
    assert "succeeds at most 60% of the time" in TotalVariation(0.2).sentence()
    assert "added or removed" in PureDP(0.5, neighbours="add-remove").sentence()
    assert "beyond all measure" in PureDP(1e4).sentence()
    assert str(LocalDP(1.0)) == "ε = 1"
    assert str(LocalDP(1.0, 0.1)) == "ε = 1, δ = 0.1"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PureDP(-0.1), "ε must be a number of at least 0; it is -0.1"),
        (lambda: PureDP(math.inf), "ε must be a number of at least 0; it is inf"),
        (lambda: PureDP(math.nan), "ε must be a number of at least 0; it is nan"),
        (lambda: ApproxDP(1.0, 1.5), "δ must lie between 0 and 1; it is 1.5"),
        (lambda: ApproxDP(1.0, math.nan), "δ must lie between 0 and 1; it is nan"),
        (lambda: ZCDP(-1.0), "ρ must be a number of at least 0; it is -1"),
        (lambda: TotalVariation(1.01), "total-variation level must lie between 0 and 1; it is 1.01"),
        (lambda: LocalDP(1.0, neighbours="add-remove"), "A local guarantee compares two values of one record"),
        (lambda: PureDP(1.0, model="local", neighbours="add-remove"), "A local guarantee compares two values"),
        (lambda: LocalDP(1.0, model="central"), "belongs to the local model"),
        (lambda: PureDP(1.0, neighbours="cousins"), "must be substitution or add-remove; it is 'cousins'"),
        (lambda: PureDP(1.0, model="cloud"), "must be central or local; it is 'cloud'"),
    ],
)
def test_impossible_guarantees_are_refused_in_one_sentence(make, message):
    with pytest.raises(ParameterError, match=message.replace(".", r"\.")) as caught:
        make()
    assert caught.value.field


def test_every_guarantee_implies_itself_and_weaker_ones_but_not_stronger_ones():
    for guarantee in ALL:
        assert guarantee.implies(guarantee)
        for name in ("epsilon", "delta", "rho", "level"):
            level = getattr(guarantee, name, None)
            if level:
                assert guarantee.implies(dataclasses.replace(guarantee, **{name: 1.05 * level}))
                assert not guarantee.implies(dataclasses.replace(guarantee, **{name: 0.95 * level}))


def test_order_is_transitive_and_antisymmetric_on_a_family():
    family = [
        *(PureDP(level) for level in (0.0, 0.3, 1.0)),
        *(ApproxDP(level, slack) for level in (0.0, 0.3, 1.0) for slack in (0.0, 0.05, 0.3)),
        *(ZCDP(level) for level in (0.0, 0.01, 0.5)),
        *(LocalDP(level) for level in (0.0, 0.3, 1.0)),
        *(TotalVariation(level, model="central") for level in (0.0, 0.1, 0.5)),
    ]
    below = {pair: pair[0].implies(pair[1]) for pair in itertools.product(family, repeat=2)}
    for first, second, third in itertools.product(family, repeat=3):
        # zCDP conversions are bounds, so a detour through zCDP may say less but never more
        if below[first, second] and below[second, third] and not isinstance(second, ZCDP):
            assert below[first, third], (first, second, third)


def test_implications_across_types():
    assert PureDP(1.0).implies(ZCDP(0.5))
    assert not PureDP(1.0).implies(ZCDP(0.45))
    assert PureDP(0.5).implies(TotalVariation(math.tanh(0.25), model="central"))
    assert not PureDP(0.5).implies(TotalVariation(0.24, model="central"))
    assert TotalVariation(0.1).implies(LocalDP(0.0, 0.1))
    assert not TotalVariation(0.1).implies(LocalDP(3.0, 0.09))
    assert not ApproxDP(0.1, 1e-9).implies(PureDP(5.0))
    assert not ZCDP(1e-9).implies(PureDP(5.0))
    assert LocalDP(0.5).implies(PureDP(0.5))
    assert not PureDP(0.5).implies(LocalDP(0.5))
    assert PureDP(0.5, neighbours="add-remove").implies(PureDP(1.0))
    assert not PureDP(0.5, neighbours="add-remove").implies(PureDP(0.9))
    assert not PureDP(0.5).implies(PureDP(5.0, neighbours="add-remove"))
    assert ApproxDP(0.5, 0.0).implies(PureDP(0.5))
