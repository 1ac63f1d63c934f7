"""The catalogue: every study of the package, found by walking its modules."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

from privexplorer.errors import ParameterError
from privexplorer.records import near
from privexplorer.studies.base import Study

ORDER = (
    "entropy-error",
    "unseen-in-data",
    "entropy-epsilon",
    "price-of-privacy",
    "support-coverage",
    "sample-size",
    "predictability",
    "query-map",
    "utility-frontier",
    "private-effect",
    "effect-price",
    "people-needed",
    "sampling-distributions",
    "signed-imputation",
    "belief",
    "noise-designer",
    "double-robustness",
    "error-anatomy",
)
"""Ids that come first, in this order; the others follow by name."""


@cache
def catalogue() -> dict[str, Study[Any]]:
    """Return every study by its id, the most asked ones first."""
    import privexplorer.studies as home

    found: dict[str, Study[Any]] = {}
    for module in pkgutil.walk_packages(home.__path__, prefix=f"{home.__name__}."):
        for _, member in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(member, Study) and not inspect.isabstract(member) and member.__module__ == module.name:
                found[member.id] = member()
    rank = {name: place for place, name in enumerate(ORDER)}
    return dict(sorted(found.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))


def study(name: str) -> Study[Any]:
    """Return one study.

    Raises
    ------
    ParameterError
        If no study has that id; the sentence lists the nearest ones.
    """
    known = catalogue()
    if name not in known:
        raise ParameterError(f"There is no study called “{name[:60]}”; {near(name, known)}.")
    return known[name]
