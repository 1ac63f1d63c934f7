"""Which table numbers come from."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from privexplorer.data import TableColumn
from privexplorer.distributions import Empirical, Uniform
from privexplorer.studies import _entropy as core
from privexplorer.studies._notes import table_notes


@pytest.mark.parametrize("notes", [table_notes, lambda chosen: core.notes(SimpleNamespace(
    noise_rule="exact", estimators=(), distribution=chosen
))])  # fmt: skip
def test_a_bundled_table_is_named_and_is_nobodys_own(notes) -> None:
    (census,) = notes(Empirical())
    assert "**Surnames, US census 2000**" in census.text
    assert "surname" in census.text
    assert "your table" not in census.text
    assert census.level == "info"
    (own,) = notes(Empirical(table=TableColumn(data="0123456789abcdef", column="city")))
    assert "your table" in own.text
    assert own.level == "not-private"
    assert notes(Uniform()) == ()
