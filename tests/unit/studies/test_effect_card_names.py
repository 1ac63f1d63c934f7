"""Four cards stand in one row: a name has 20 letters of room, the words below the number 18."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import privexplorer.studies as studies

NAMES = (
    "reproduce_effects", "coverage_map", "double_robustness", "error_anatomy", "negative_probabilities",
    "geometric_targets", "private_curves", "private_moments", "noise_designer", "sampling_distributions",
    "people_needed", "effect_price", "belief", "invertibility", "signed_imputation", "score_amplification",
)  # fmt: skip


def words(node: ast.expr) -> list[str]:
    """Texts an argument can be, where it is written out; a formatted or cut text is none of them."""
    if isinstance(node, ast.IfExp):
        return words(node.body) + words(node.orelse)
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


@pytest.mark.parametrize("name", NAMES)
def test_names_of_cards_fit(name: str) -> None:
    path = Path(str(studies.__file__)).parent / f"{name}.py"
    cards = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Card"
    ]
    assert cards
    for card in cards:
        label = words(card.args[0])
        assert label, f"line {card.lineno}: a name that is not written out may be cut"
        chip = words(card.args[2]) if len(card.args) > 2 else []
        assert not [one for one in label if len(one) > 20] + [one for one in chip if len(one) > 18], card.lineno
