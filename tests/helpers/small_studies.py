"""Every study at a small size, and its scenario with one field changed; generic, so that new studies are covered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from privexplorer.errors import ParameterError
from privexplorer.records import Scenario, leaf, shape
from privexplorer.studies.base import Study

FEWEST_BLOCKS = 3


def smaller(study: Study[Any], scenario: Scenario, trials: int = 16, points: int = 3) -> Any:
    """Return a scenario with few runs and few points, as far as it has them and its rules allow."""
    for name, info in type(scenario).model_fields.items():
        if shape(info)[0] == "group" and "points" in type(getattr(scenario, name)).model_fields:
            grid = getattr(scenario, name)
            scenario = changed(scenario, name, grid.model_copy(update={"points": min(points, grid.points)})) or scenario
    return (changed(scenario, "trials", trials) or scenario) if "trials" in type(scenario).model_fields else scenario


def small(study: Study[Any]) -> Any:
    """Return the study's own example at a small size, with a few blocks if it simulates."""
    examples = [study.scenario(), *(preset.scenario for preset in study.presets())]
    start = next((one for one in examples if not study.check(one, None)), examples[0])
    scenario = smaller(study, start)
    while "trials" in type(scenario).model_fields and 0 < study.blocks(scenario) < FEWEST_BLOCKS:
        scenario = scenario.model_copy(update={"trials": 2 * scenario.trials})
    return scenario


def changed(scenario: Scenario, name: str, value: Any) -> Any:
    """Return the scenario with another value in one field, or ``None`` where its rules forbid that."""
    data = {field: getattr(scenario, field) for field in type(scenario).model_fields}
    try:
        return type(scenario).model_validate({**data, name: value})
    except ParameterError:
        return None


def others(scenario: Scenario, name: str) -> Iterator[Any]:
    """Other values that a field might take, near ones first."""
    info, now = type(scenario).model_fields[name], getattr(scenario, name)
    what, of = shape(info)
    if what == "union":
        yield from (nested for inner in type(now).model_fields if inner != "kind" for nested in _with(now, inner))
        yield from (member() for kind, member in of.items() if kind != now.kind)
    elif what == "several":
        yield from ((member(),) for member in of.values())
        yield tuple(member() for member in of.values())
    elif what == "group":
        yield from (nested for inner in type(now).model_fields for nested in _with(now, inner))
    else:
        yield from _columns(scenario, info, now)
        yield from _values(leaf(info), now)


def _columns(scenario: Scenario, info: Any, now: Any) -> Iterator[Any]:
    """Other columns of the data of the scenario, for a field that names one or several."""
    more = info.json_schema_extra or {}
    for name, other in type(scenario).model_fields.items():
        if "column_of" in more and more["column_of"] == ((other.json_schema_extra or {}).get("key") or name):
            kinds = getattr(getattr(scenario, name), "column_kinds", dict)()
            names = [column for column, kind in kinds.items() if kind in more.get("kinds", (kind,))]
            yield from ((column,) for column in names) if isinstance(now, tuple) else names


def _with(record: Any, inner: str) -> Iterator[Any]:
    for value in others(record, inner):
        new = changed(record, inner, value)
        if new is not None:
            yield new


def _values(rule: Any, now: Any) -> Iterator[Any]:
    if rule.choices:
        yield from ((one,) if rule.many else one for one in rule.choices)
    elif rule.base is bool:
        yield not now
    elif rule.many:
        yield from (now[:-1], now[1:], (*now, *(2 * one for one in now[-1:])), (3,), (0.5,), ("other",))
    elif rule.base in (int, float):
        old = now if now is not None else rule.low or 1
        near = [old * 2, old / 2, old + 1, old - 1, old * 0.9, 0.5, 1, 2, 3, 10, rule.low, rule.high]
        yield from (rule.base(one) for one in near if one is not None)
        if rule.optional:
            yield None
    else:
        yield f"{now or ''}x"


def with_another(study: Study[Any], scenario: Any, name: str) -> Any:
    """Return the scenario with one field changed to something that the study accepts, or ``None``."""
    for value in others(scenario, name):
        new = changed(scenario, name, value)
        if new is not None and getattr(new, name) != getattr(scenario, name) and not study.check(new, None):
            return new
    return None
