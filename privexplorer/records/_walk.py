"""One walk over a record: the shape of its fields, their link names, and the values that seed a form."""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from privexplorer.records._base import Record


def extra(info: FieldInfo) -> dict[str, Any]:
    """Return what a field says beside its bounds: link key, group, scale, words for its values."""
    return dict(info.json_schema_extra) if isinstance(info.json_schema_extra, dict) else {}


def bare(annotation: Any) -> Any:
    """Strip ``Annotated`` from a type."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    return annotation


def kinds(annotation: Any) -> dict[str, type[Record]]:
    """List the classes of a union of records by their stable kind."""
    members = get_args(bare(annotation)) or (bare(annotation),)
    return {member.model_fields["kind"].default: member for member in map(bare, members)}


def is_record(annotation: Any) -> bool:
    """Whether a type is a record class."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def fields(cls: type[Record]) -> Iterator[tuple[str, FieldInfo]]:
    """Fields that somebody can set: all but the tag that says which kind a record is.

    A tag is a field ``kind`` with one possible value; a field of that name with several is a choice like any other.
    """
    for name, info in cls.model_fields.items():
        annotation = bare(info.annotation)
        if name != "kind" or get_origin(annotation) is not Literal or len(get_args(annotation)) > 1:
            yield name, info


Shape = tuple[Literal["union", "several", "group", "leaf"], Any]


def shape(info: FieldInfo) -> Shape:
    """Tell how a field is drawn and linked.

    Returns
    -------
    tuple
        ``("union", {kind: class})`` for one of several kinds, ``("several", {kind: class})`` for a tuple
        of kinds, ``("group", class)`` for a sub-record, ``("leaf", type)`` for a single value.
    """
    annotation = bare(info.annotation)
    if info.discriminator:
        return "union", kinds(annotation)
    if get_origin(annotation) is tuple:
        item = bare(get_args(annotation)[0])
        members = [bare(member) for member in get_args(item)] or [item]
        if all(is_record(member) for member in members):
            return "several", kinds(item)
    return ("group", annotation) if is_record(annotation) else ("leaf", annotation)


@dataclass(frozen=True)
class Leaf:
    """What a single value may be."""

    base: type
    """``bool``, ``int``, ``float`` or ``str``."""
    optional: bool = False
    many: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    low_open: bool = False
    high: float | None = None
    high_open: bool = False


def leaf(info: FieldInfo) -> Leaf:
    """Read type, bounds and choices of a leaf field."""
    metadata: list[Any] = list(info.metadata)

    def strip(annotation: Any) -> Any:
        while get_origin(annotation) is Annotated:
            inner, *more = get_args(annotation)
            for item in more:
                metadata.extend(item.metadata if isinstance(item, FieldInfo) else [item])
            annotation = inner
        return annotation

    annotation, optional, many = strip(info.annotation), False, False
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [member for member in get_args(annotation) if member is not type(None)]
        optional, annotation = True, strip(rest[0])
    if get_origin(annotation) is tuple:
        many, annotation = True, strip(get_args(annotation)[0])
    choices: tuple[str, ...] = ()
    if get_origin(annotation) is Literal:
        choices, annotation = tuple(get_args(annotation)), str

    def bound(closed: str, open_: str) -> tuple[float | None, bool]:
        for item in metadata:
            if getattr(item, closed, None) is not None:
                return getattr(item, closed), False
            if getattr(item, open_, None) is not None:
                return getattr(item, open_), True
        return None, False

    low, low_open = bound("ge", "gt")
    high, high_open = bound("le", "lt")
    return Leaf(annotation, optional, many, choices, low, low_open, high, high_open)


def link_key(name: str, info: FieldInfo) -> str:
    """Short stable name of a field in links."""
    return str(extra(info).get("key", name))


def start_value(info: FieldInfo, name: str, default: Record | None) -> Any:
    """Return the default of a field, taken from ``default`` if one is given."""
    return getattr(default, name) if default is not None else info.get_default(call_default_factory=True)


@dataclass(frozen=True)
class Setting:
    """One thing that can be set: its link name, its field path and its declaration."""

    name: str
    path: str
    title: str
    info: FieldInfo
    what: Literal["union", "several", "leaf"]
    of: Any


@cache
def settings(cls: type[Record]) -> tuple[Setting, ...]:
    """Every setting of a record, those of all kinds of its unions included."""
    return tuple(_settings(cls, "", "", ""))


def _settings(cls: type[Record], name: str, path: str, title: str) -> Iterator[Setting]:
    for field_name, info in fields(cls):
        here, there = name + link_key(field_name, info), path + field_name
        words = ", ".join(part for part in (title, info.title or field_name) if part)
        what, of = shape(info)
        if what == "group":
            yield from _settings(of, f"{here}.", f"{there}.", words)
            continue
        yield Setting(here, f"{there}.kind" if what == "union" else there, words, info, what, of)
        if what != "leaf":
            for kind, member in of.items():
                yield from _settings(member, f"{here}.{kind}.", f"{there}.{kind}.", words)


def leaves(record: Record, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """``(link name, value)`` of everything that a form shows for this record."""
    for field_name, info in fields(type(record)):
        value, name = getattr(record, field_name), prefix + link_key(field_name, info)
        what, _ = shape(info)
        if what == "union":
            yield name, value.kind
            yield from leaves(value, f"{name}.{value.kind}.")
        elif what == "several":
            yield name, [item.kind for item in value]
            for item in value:
                yield from leaves(item, f"{name}.{item.kind}.")
        elif what == "group":
            yield from leaves(value, f"{name}.")
        else:
            yield name, value
