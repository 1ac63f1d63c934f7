"""The Sources page speaks the truth: studies and tests that it names exist; chapter 4 and predictability are done."""

from __future__ import annotations

import ast
import json
from collections import Counter
from pathlib import Path

import pytest

from privexplorer.studies import catalogue
from privexplorer.studies.sources import items

ROOT = Path(__file__).parents[3]
WITNESSES = json.loads((ROOT / "privexplorer/studies/ledger/witnesses.json").read_text("utf-8"))


def defined(test: str) -> bool:
    """Whether a test function of this name stands in the named file."""
    file, _, name = test.partition("::")
    path = ROOT / file
    if not path.exists():
        return False
    tree = ast.parse(path.read_text("utf-8"))
    last = name.split("::")[-1].split("[")[0]
    return any(isinstance(node, ast.FunctionDef) and node.name == last for node in ast.walk(tree))


@pytest.mark.parametrize("row", sorted(WITNESSES))
def test_named_test_exists(row: str) -> None:
    assert defined(WITNESSES[row]), WITNESSES[row]


def test_a_missing_test_is_noticed() -> None:
    assert not defined("tests/unit/studies/test_sources.py::test_that_nobody_wrote")
    assert not defined("tests/unit/no_such_file.py::test_named_test_exists")


def test_rows_and_witnesses_are_items_of_the_sources() -> None:
    known = {item.id for item in items()}
    named = {row for study in catalogue().values() for row in study.rows}
    assert named <= known
    assert set(WITNESSES) <= known


def test_every_item_stands_in_one_place() -> None:
    ids = Counter(item.id for item in items())
    assert max(ids.values()) == 1
    assert len(ids) == 612


def test_chapter_four_is_done() -> None:
    chapter = [item for item in items() if item.id.startswith("T-") and item.chapter == "Chapter 4"]
    counted = [item for item in chapter if item.counts]
    missing = {item.id: (item.studies, item.test) for item in counted if not item.done}
    assert not missing
    assert len(counted) >= 65


def test_predictability_is_done() -> None:
    counted = [item for item in items() if item.source == "Predictability" and item.counts]
    missing = {item.id: (item.studies, item.test) for item in counted if not item.done}
    assert not missing
    assert len(counted) == 96


def test_an_item_without_study_or_test_is_not_done() -> None:
    later = [item for item in items() if item.counts and not (item.studies and item.test)]
    assert later, "the rest of the sources is still to come"
    assert not any(item.done for item in later)
