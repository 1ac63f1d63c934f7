"""Bad values in plain words: pydantic's errors become sentences that say what to change."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from privexplorer.errors import ParameterError, printable
from privexplorer.records._base import Record, RecordT, Scenario
from privexplorer.records._walk import Leaf, extra, fields, leaf, shape


@dataclass(frozen=True)
class Problem:
    """One bad value: where it is and what to say about it."""

    loc: tuple[Any, ...]
    sentence: str


def number(value: float) -> str:
    """Write a bound the way people read it.

    Examples
    --------
    >>> number(1_000_000), number(0.01), number(1e9), number(1e-6)
    ('1,000,000', '0.01', '1,000,000,000', '0.000001')
    """
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", "−")
    if 1e-9 <= abs(value) < 1e-4:
        return f"{value:.12f}".rstrip("0").replace("-", "−")
    return f"{value:g}".replace("-", "−")


def rule(what: Leaf) -> str:
    """Say what a value may be: "a whole number from 1 to 60"."""
    if what.choices:
        words = "one of " + ", ".join(what.choices)
    elif what.base is bool:
        words = "true or false"
    elif what.base is str:
        words = "text"
    else:
        words = f"{'a whole number' if what.base is int else 'a number'} {span(what)}".strip()
    if what.many:
        words = "a list of names" if words == "text" else f"a list, each item {words}"
    return words + (" (or left empty)" if what.optional else "")


def span(what: Leaf) -> str:
    """Say between which bounds a number lies: "from 1 to 60", "of at least 0 and below 1"."""
    low, high = what.low, what.high
    if low is not None and high is not None and not what.low_open and not what.high_open:
        return f"from {number(low)} to {number(high)}"
    parts = []
    if low is not None:
        parts.append(f"above {number(low)}" if what.low_open else f"at least {number(low)}")
    if high is not None:
        parts.append(f"below {number(high)}" if what.high_open else f"at most {number(high)}")
    words = " and ".join(parts)
    return f"of {words}" if words.startswith("at ") else words


def shown(value: Any) -> str:
    """Quote a value for a sentence, shortened."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**15:
        return f"a whole number with {len(str(abs(value)))} digits" if abs(value) < 10**4000 else "a huge whole number"
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            return "“not a number”" if math.isnan(value) else "“infinity”"
        return f"{value:,}".removesuffix(".0").replace("-", "−")
    return f"“{value[:40]}{'…' if len(value) > 40 else ''}”" if isinstance(value, str) else "something else"


def says(where: str, value: Any) -> str:
    """Say what stands at the place a value came from: ``the link says “banana”``."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return f"{where} says nothing there"
    if isinstance(value, Mapping):
        return f"{where} has a group of settings there"
    if isinstance(value, (list, tuple)):
        return f"{where} has a list there"
    return f"{where} says {shown(value)}"


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
        if tag is None or len(parts) == 1:
            return titles, info, here
        parts.pop(0)
        here, info = of[tag], None
        if what == "several":
            titles.append(here.title or str(tag))
    return titles, info, here


def known_names(record: type[Record]) -> list[str]:
    """Names that a record understands in a file."""
    return [name for name, _ in fields(record)]


def named(cls: type[Record]) -> str:
    """Name a record as a whole, as a sentence begins with it."""
    return "The scenario" if issubclass(cls, Scenario) or not cls.title else f"“{cls.title}”"


def sentence(cls: type[Record], error: Mapping[str, Any], where: str) -> str:
    """Turn one validation error into one sentence."""
    from privexplorer.records._link import near

    loc, kind, got = tuple(error["loc"]), str(error["type"]), error.get("input")
    limits = error.get("ctx") or {}
    titles, info, record = locate(cls, loc)
    title = f"“{': '.join(titles)}”" if titles else named(cls)
    if kind == "extra_forbidden":
        word, names = str(loc[-1]), known_names(record or cls)
        words = near(word, names) if names else "this choice has no settings"
        inside = f" in {title}" if titles else ""
        return f"There is no setting called “{word[:60]}”{inside}; {words}."
    if kind == "once_each":
        return f"{title} may name each choice only once; {where} repeats one."
    if kind == "grid_order" and titles:
        low, high = limits["low"], limits["high"]
        return f"{title} must not start above its end; {where} has it run from {low} to {high}, so exchange the two."
    if kind == "value_error":
        return full_stop(str(limits.get("error", f"{title} has a value that does not fit")))
    if kind == "json_invalid":
        return f"{title} must be written as JSON; the text is not."
    if kind == "missing":
        got = None
    if not error.get("url") and kind != "number_type":
        return full_stop(str(error["msg"]))
    if info is None:
        return f"{title} must be a group of settings; {says(where, got)}."
    what, of = shape(info)
    if what == "union" and len(loc) > 1 and loc[-1] in of:
        return f"{title} must be a group of settings with a kind; {says(where, got)}."
    if what in ("union", "several"):
        if kind == "too_short":
            return f"Choose at least one of {', '.join(of)} for {title}; {where} names none."
        if kind == "union_tag_invalid":
            return f"{title} must be one of {', '.join(of)}; {says(where, limits.get('tag', got))}."
        if kind == "union_tag_not_found":
            return f"{title} must say its kind, one of {', '.join(of)}; {where} leaves it out."
        if isinstance(got, str) and got in of:
            return f'{title} must hold a group of settings, such as {{"kind": "{got}"}}; {says(where, got)} alone.'
        among = "a list of" if what == "several" and not (loc and isinstance(loc[-1], int)) else "one of"
        return f"{title} must be {among} {', '.join(of)}; {says(where, got)}."
    if what == "group":
        return f"{title} must be a group with {', '.join(known_names(of))}; {says(where, got)}."
    if kind in ("too_short", "too_long"):
        least, most = limits.get("min_length"), limits.get("max_length")
        amount = f"at least {values(least)}" if kind == "too_short" else f"at most {values(most)}"
        return f"{title} must have {amount}; {where} has {limits.get('actual_length', 0) or 'none'}."
    if kind in ("string_too_short", "string_too_long"):
        least, most = limits.get("min_length"), limits.get("max_length")
        amount = f"at least {characters(least)}" if kind == "string_too_short" else f"at most {characters(most)}"
        return f"{title} must have {amount}; {says(where, got)}."
    if kind == "string_pattern_mismatch":
        return f"{title} must be written as its help says{in_brackets(info.description)}; {says(where, got)}."
    return f"{title} must be {rule(leaf(info))}{reason(info, got)}; {says(where, got)}."


def reason(info: FieldInfo, got: Any) -> str:
    """Say why a number may not be as low as this one, if the field tells; empty otherwise."""
    words, low = extra(info).get("below"), leaf(info).low
    if not words or low is None:
        return ""
    try:
        return f" ({words})" if float(got) <= low else ""
    except (TypeError, ValueError):
        return ""


def in_brackets(words: str | None) -> str:
    """Put the help of a field into a sentence."""
    return f" ({words[:1].lower()}{words[1:].rstrip('.')})" if words else ""


def values(count: Any) -> str:
    """Count values in words: "1 value", "3 values"."""
    return "1 value" if count == 1 else f"{count} values"


def characters(count: Any) -> str:
    """Count characters in words: "1 character", "64 characters"."""
    return "1 character" if count == 1 else f"{count} characters"


def full_stop(words: str) -> str:
    """End a sentence that lacks its full stop."""
    words = words.strip()
    return words if words.endswith((".", "?", "!")) else f"{words}."


def problems(cls: type[Record], data: Any, where: str) -> list[Problem]:
    """Validate plain data and say what is wrong with it; an empty list if nothing is."""
    try:
        _checked(cls, data)
    except ValidationError as error:
        return [Problem(tuple(item["loc"]), printable(sentence(cls, item, where))) for item in causes(error)]
    return []


def causes(error: ValidationError) -> list[Mapping[str, Any]]:
    """List what is wrong, without what only follows from it: a list is not too short because an item is bad."""
    found: list[Any] = list(error.errors())
    return [
        item
        for item in found
        if item["type"] != "too_short"
        or not any(other["loc"][: len(item["loc"])] == item["loc"] for other in found if other is not item)
    ]


def validated(cls: type[RecordT], data: Any, where: str = "the file") -> RecordT:
    """Build a record from plain data.

    Raises
    ------
    ParameterError
        The first problem in one sentence.
    """
    try:
        return _checked(cls, data)
    except ValidationError as error:
        raise refusal(cls, error, where) from None


def _checked(cls: type[RecordT], data: Any) -> RecordT:
    # pydantic's own way in: the record's public ways refuse with one sentence only
    record: RecordT = cls.__pydantic_validator__.validate_python(data)
    return record


def refusal(cls: type[Record], error: ValidationError, where: str) -> ParameterError:
    """Turn a failed validation into the refusal of its first problem."""
    first = causes(error)[0]
    return ParameterError(sentence(cls, first, where), field=".".join(str(part) for part in first["loc"]))
