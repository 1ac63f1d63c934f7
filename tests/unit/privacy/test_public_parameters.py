"""Public parameters are declared by people and never taken from the data."""

from __future__ import annotations

import math

import pytest

from privexplorer.errors import ParameterError
from privexplorer.privacy import declared_bounds, declared_domain_size, declared_sample_size


@pytest.mark.parametrize("declared", [12, 13, 10**9])
def test_a_declared_size_is_returned_as_it_is(declared):
    assert declared_domain_size(declared, observed=12) == declared
    assert declared_sample_size(declared) == declared


def test_an_empty_field_asks_and_never_tells_the_observed_number():
    with pytest.raises(ParameterError, match="Declare how many different values") as caught:
        declared_domain_size(None, observed=4711)
    assert "4711" not in str(caught.value)
    assert "4,711" not in str(caught.value)
    assert caught.value.field == "k"
    with pytest.raises(ParameterError, match="Declare a public number of records"):
        declared_sample_size(None)


def test_a_size_below_the_data_is_refused_with_the_reason():
    with pytest.raises(ParameterError) as caught:
        declared_domain_size(11, observed=12)
    sentence = str(caught.value)
    assert "k = 11 is too small" in sentence
    assert "12 different values" in sentence
    assert "would not protect every record" in sentence
    assert "public knowledge" in sentence


@pytest.mark.parametrize("declared", [0, -3, 2.5, True])
def test_impossible_sizes_are_refused(declared):
    with pytest.raises(ParameterError, match="k must be a whole number of at least 1"):
        declared_domain_size(declared, observed=0)
    with pytest.raises(ParameterError, match="n must be a whole number of at least 1"):
        declared_sample_size(declared)


def test_bounds():
    assert declared_bounds(0, 120) == (0.0, 120.0)
    with pytest.raises(ParameterError, match="Declare the smallest value"):
        declared_bounds(None, 120)
    with pytest.raises(ParameterError, match="Declare the largest value"):
        declared_bounds(0, None)
    with pytest.raises(ParameterError, match="must start below its end; it runs from 5 to 5"):
        declared_bounds(5, 5)
    with pytest.raises(ParameterError, match="must be a finite number; one is inf"):
        declared_bounds(0, math.inf)
