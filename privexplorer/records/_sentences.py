"""Bad values in plain words: pydantic's errors become sentences that say what to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from privexplorer.errors import ParameterError
from privexplorer.records._base import Record, RecordT
from privexplorer.records._walk import Leaf, extra, leaf, shape


@dataclass(frozen=True)
class Problem:
    """One bad value: where it is and what to say about it."""

    loc: tuple[Any, ...]
    sentence: str


def number(value: float) -> str:
    """Write a bound the way people read it.

    Examples
    --------
    >>> number(1_000_000), number(0.01), number(1e9)
    ('1,000,000', '0.01', '1,000,000,000')
    """
    if float(value).is_integer() and abs(value) < 1e12:
        return f"{int(value):,}".replace("-", "−")
    return f"{value:g}".replace("-", "−")


def rule(what: Leaf) -> str:
    """Say what a value may be: "a whole number from 1 to 60"."""
    if what.choices:
        return "one of " + ", ".join(what.choices)
    if what.base is bool:
        return "true or false"
    if what.base is str:
        return "text"
    noun = "a whole number" if what.base is int else "a number"
    low, high = what.low, what.high
    if low is not None and high is not None and not what.low_open and not what.high_open:
        words = f"{noun} from {number(low)} to {number(high)}"
    else:
        parts = []
        if low is not None:
            parts.append(f"above {number(low)}" if what.low_open else f"at least {number(low)}")
        if high is not None:
            parts.append(f"below {number(high)}" if what.high_open else f"at most {number(high)}")
        words = f"{noun} {' and '.join(parts)}".strip()
    return f"a list, each {words}" if what.many else words + (" (or left empty)" if what.optional else "")


def shown(value: Any) -> str:
    """Quote a value for a sentence, shortened."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value != value:
        return "“not a number”"
    if isinstance(value, (int, float)):
        return f"{value:g}".replace("-", "−") if isinstance(value, float) else f"{value}".replace("-", "−")
    if isinstance(value, str):
        return f"“{value[:40]}{'…' if len(value) > 40 else ''}”" if value else "nothing"
    if isinstance(value, Mapping):
        return "a group of settings"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "something else"


def locate(cls: type[Record], loc: tuple[Any, ...]) -> tuple[list[str], FieldInfo | None, type[Record] | None]:
    """Follow an error's location: titles on the way, the field at its end, the record it stands in."""
    here: type[Record] | None = cls
    titles: list[str] = []
    info: FieldInfo | None = None
    parts = list(loc)
    while parts and here is not None:
        part = parts.pop(0)
        if part not in here.model_fields:
            return titles, None, here
        info = here.model_fields[part]
        titles.append(info.title or str(part))
        what, of = shape(info)
        if what == "leaf":
            return titles, info, here
        if what == "group":
            here = of if parts else here
            if not parts:
                return titles, info, here
            continue
        if what == "several" and parts and isinstance(parts[0], int):
            parts.pop(0)
        tag = next((p for p in parts[:1] if p in of), None)
        if tag is None:
            return titles, info, here
        parts.pop(0)
        if parts:
            here = of[tag]
            info = None
        else:
            return titles, info, here
    return titles, info, here


def known_names(record: type[Record]) -> list[str]:
    """Names that a record understands in a file."""
    return [name for name in record.model_fields if name != "kind"]


def sentence(cls: type[Record], error: Mapping[str, Any], where: str) -> str:
    """Turn one validation error into one sentence."""
    from privexplorer.records._link import nearest

    loc, kind, got = tuple(error["loc"]), str(error["type"]), error.get("input")
    titles, info, record = locate(cls, loc)
    title = ", ".join(titles) or "The scenario"
    says = f"; {where} says {shown(got)}."
    if kind == "extra_forbidden":
        names = nearest(str(loc[-1]), known_names(record or cls))
        return f"There is no setting called “{loc[-1]}”; the nearest are {', '.join(names)}."
    if info is None:
        return f"{title} must be a group of settings{says}"
    what, of = shape(info)
    if kind in ("grid_order", "once_each") or not error.get("url"):
        if kind == "number_type":
            return f"{title} must be {rule(leaf(info))}{says}"
        return str(error["msg"])
    if kind == "union_tag_invalid":
        got = (error.get("ctx") or {}).get("tag", got)
        return f"{title} must be one of {', '.join(of)}; {where} says {shown(got)}."
    if what in ("union", "several"):
        if kind == "too_short":
            return f"{title}: choose at least one of {', '.join(of)}."
        if kind in ("union_tag_not_found", "model_attributes_type", "model_type", "tuple_type", "list_type"):
            return f"{title} must be {'a list of' if what == 'several' else 'one of'} {', '.join(of)}{says}"
        return f"{title} must be one of {', '.join(of)}{says}"
    if what == "group":
        return f"{title} must be a group with {', '.join(known_names(of))}{says}"
    bounds = leaf(info)
    limits = error.get("ctx") or {}
    if kind == "too_short":
        return f"{title} needs at least {limits.get('min_length', 1)} values."
    if kind == "too_long":
        return f"{title} can hold at most {limits.get('max_length')} values; it has {limits.get('actual_length')}."
    if kind == "string_too_long":
        return f"{title} can have at most {limits.get('max_length')} characters."
    if kind == "string_pattern_mismatch":
        return f"{title} {extra(info).get('pattern_words', 'has a form that is not understood')}{says}"
    return f"{title} must be {rule(bounds)}{says}"


def problems(cls: type[Record], data: Any, where: str) -> list[Problem]:
    """Validate plain data and say what is wrong with it; an empty list if nothing is."""
    try:
        cls.model_validate(data)
    except ValidationError as error:
        return [Problem(tuple(item["loc"]), sentence(cls, item, where)) for item in error.errors()]
    return []


def validated(cls: type[RecordT], data: Any, where: str = "the file") -> RecordT:
    """Build a record from plain data.

    Raises
    ------
    ParameterError
        The first problem in one sentence.
    """
    try:
        return cls.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        words = sentence(cls, first, where)
        raise ParameterError(words, field=".".join(str(part) for part in first["loc"])) from None
