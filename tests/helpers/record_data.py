"""What the tests of records need: values inside and outside every field, and places to put them."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pydantic
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic.fields import FieldInfo

import privexplorer
from privexplorer.records import Record, leaf, link_key, shape

# --- values inside -----------------------------------------------------------------------------------------------


def lengths(info: FieldInfo) -> tuple[int, int | None]:
    """Fewest and most items (or characters) of a field."""
    low = next((m.min_length for m in info.metadata if getattr(m, "min_length", None) is not None), 0)
    high = next((m.max_length for m in info.metadata if getattr(m, "max_length", None) is not None), None)
    return low, high


def pattern(info: FieldInfo) -> str | None:
    """Regular expression that a text must match, if there is one."""
    return next((m.pattern for m in info.metadata if getattr(m, "pattern", None) is not None), None)


def leaf_values(info: FieldInfo) -> st.SearchStrategy[Any]:
    """Values that a leaf field takes, its very edges included."""
    what, (fewest, most) = leaf(info), lengths(info)
    one: st.SearchStrategy[Any]
    if what.choices:
        one = st.sampled_from(what.choices)
    elif what.base is bool:
        one = st.booleans()
    elif what.base is int:
        low = None if what.low is None else int(what.low) + what.low_open
        high = None if what.high is None else int(what.high) - what.high_open
        one = st.integers(low, high)
        one |= st.sampled_from([edge for edge in (low, high) if edge is not None] or [0])
    elif what.base is float:
        one = st.floats(
            what.low, what.high, exclude_min=what.low_open, exclude_max=what.high_open,
            allow_nan=False, allow_infinity=False,
        )  # fmt: skip
    elif (form := pattern(info)) is not None:
        one = st.from_regex(form, fullmatch=True)
    else:
        small, big = (fewest, most) if not what.many else (1, None)
        letters = st.characters(exclude_categories=("Cs",))
        odd = ["none", "None", "", '"', '""', "a,b", " x ", "50 %", "a&b=c", "ε", "5"]
        odd = [word for word in odd if small <= len(word) <= (big or 99)]
        one = st.text(letters, min_size=small, max_size=min(big or 12, 12)) | st.sampled_from(odd or ["x" * small])
    if what.many:
        one = st.lists(one, min_size=fewest, max_size=min(most or 5, fewest + 4), unique=True).map(tuple)
    return st.none() | one if what.optional else one


def settable(cls: type[Record]) -> Iterator[tuple[str, FieldInfo]]:
    """Fields of a record without the tag of its kind (a tag has one value only)."""
    for name, info in cls.model_fields.items():
        if name != "kind" or len(get_args(info.annotation)) > 1:
            yield name, info


def field_data(info: FieldInfo) -> st.SearchStrategy[Any]:
    """Plain data for one field."""
    what, of = shape(info)
    if what == "union":
        return st.one_of(*[record_data(member, kind) for kind, member in of.items()])
    if what == "several":
        fewest, most = lengths(info)
        return st.lists(st.sampled_from(sorted(of)), min_size=fewest, max_size=most or len(of), unique=True).flatmap(
            lambda names: st.tuples(*[record_data(of[name], name) for name in names]).map(list)
        )
    return records(of).map(lambda record: record.model_dump()) if what == "group" else leaf_values(info)


def record_data(cls: type[Record], kind: str | None = None) -> st.SearchStrategy[dict[str, Any]]:
    """Plain data for a record, every field filled in."""
    fields = {name: field_data(info) for name, info in settable(cls)}
    return st.fixed_dictionaries({**({"kind": st.just(kind)} if kind else {}), **fields})


def fits(cls: type[Record]) -> Callable[[dict[str, Any]], bool]:
    """Whether data obey the rules between fields as well (the start of a grid below its end)."""

    def check(data: dict[str, Any]) -> bool:
        try:
            cls.__pydantic_validator__.validate_python(data)
        except ValidationError as error:
            found = [item for item in error.errors() if item["type"] in BOUNDS]
        else:
            return True
        assert not found, f"a value inside the bounds was refused: {found}"
        return False

    return check


BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "extra_forbidden", "missing")


def records(cls: type[Record]) -> st.SearchStrategy[Any]:
    """Instances of a record: each field at its default or anywhere inside its bounds."""
    fields = {name: field_data(info) for name, info in settable(cls)}
    return st.fixed_dictionaries({}, optional=fields).filter(fits(cls)).map(cls.model_validate)


# --- places ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """One field somewhere in a record, the way there spelled out."""

    cls: type[Record]
    steps: tuple[tuple[str, str, str, str], ...]
    """(shape, field, link key, kind) of the fields above this one."""
    name: str
    info: FieldInfo

    @property
    def link_name(self) -> str:
        """Name of the field in links."""
        return "".join(f"{key}.{kind}." if kind else f"{key}." for _, _, key, kind in self.steps) + link_key(
            self.name, self.info
        )

    @property
    def path(self) -> str:
        """Path for the command line, without kinds where the choice above says them."""
        words = "".join(f"{field}.{kind}." if what == "several" else f"{field}." for what, field, _, kind in self.steps)
        return words + self.name

    def link(self, text: str) -> dict[str, list[str]]:
        """Query of a link that chooses the kinds on the way and puts ``text`` here."""
        out: dict[str, list[str]] = {}
        prefix = ""
        for _, _, key, kind in self.steps:
            if kind:
                out[prefix + key] = [kind]
            prefix += f"{key}.{kind}." if kind else f"{key}."
        return {**out, self.link_name: text.split(",") if shape(self.info)[0] == "several" else [text]}

    def data(self, value: Any) -> dict[str, Any]:
        """Plain data that hold ``value`` here and nothing else but the kinds on the way."""
        out: Any = {self.name: value}
        for what, field, _, kind in reversed(self.steps):
            inner = {"kind": kind, **out} if kind else out
            out = {field: [inner] if what == "several" else inner}
        return out

    def pairs(self, text: str) -> list[tuple[str, str]]:
        """``--set`` pairs that choose the kinds on the way and put ``text`` here."""
        out, prefix = [], ""
        for what, field, _, kind in self.steps:
            if kind:
                out.append((prefix + (field if what == "several" else f"{field}.kind"), kind))
            prefix += f"{field}.{kind}." if what == "several" else f"{field}."
        return [*out, (self.path, text)]


def places(cls: type[Record], root: type[Record] | None = None, steps: Any = ()) -> Iterator[Place]:
    """Every field of a record, groups and all kinds included."""
    for name, info in settable(cls):
        yield Place(root or cls, steps, name, info)
        what, of = shape(info)
        key = link_key(name, info)
        if what == "group":
            yield from places(of, root or cls, (*steps, (what, name, key, "")))
        elif what != "leaf":
            for kind, member in of.items():
                yield from places(member, root or cls, (*steps, (what, name, key, kind)))


# --- values outside ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bad:
    """A value that must be refused: what is wrong, its text (if a link can say it), and the value in JSON."""

    what: str
    text: str | None
    json: Any


def edge(bound: float | None, is_open: bool, base: type, up: bool) -> float:
    """Nearest value on the wrong side of a bound (infinity where there is none)."""
    beyond = math.inf if up else -math.inf
    if bound is None:
        return beyond
    if base is int:
        return int(bound) if is_open else int(bound) + (1 if up else -1)
    return float(bound) if is_open else float(np.nextafter(bound, beyond))


def bad_values(info: FieldInfo) -> list[Bad]:
    """Return one value below, one above and those of a wrong type, as far as the field has them."""
    what, of = shape(info)
    if what == "union":
        return [
            Bad("no such kind", "banana", {"kind": "banana"}),
            Bad("wrong type", "", 5),
            Bad("wrong type", None, "banana"),
            Bad("wrong type", None, None),
            Bad("wrong type", None, []),
            Bad("no kind", None, {}),
            Bad("unknown name", None, {"kind": next(iter(of)), "exponnent": 1}),
            Bad("wrong kind", None, {"kind": 5}),
        ]
    if what == "several":
        one = {"kind": next(iter(of))}
        none = [Bad("too few", "none", [])] if lengths(info)[0] else []
        return [
            *none,
            Bad("no such kind", "banana", [{"kind": "banana"}]),
            Bad("twice", f"{one['kind']},{one['kind']}", [one, one]),
            Bad("wrong type", None, 5),
            Bad("wrong type", None, "banana"),
            Bad("wrong type", None, None),
            Bad("wrong type", None, one),
            Bad("wrong type", None, [5]),
            Bad("wrong type", None, [None]),
            Bad("unknown name", None, [{**one, "exponnent": 1}]),
        ]
    if what == "group":
        return [
            Bad("wrong type", None, 5),
            Bad("wrong type", None, "banana"),
            Bad("wrong type", None, None),
            Bad("wrong type", None, []),
            Bad("unknown name", None, {"lov": 5}),
        ]
    rule = leaf(info)
    fewest, most = lengths(info)
    if rule.choices:
        found = [Bad("not a choice", "banana", "banana"), Bad("wrong type", "5", 5)]
    elif rule.base is bool:
        found = [Bad("wrong type", "maybe", "maybe"), Bad("wrong type", "5", 5)]
    elif rule.base is str:
        found = [Bad("wrong type", None, 5), Bad("wrong type", None, True)]
        if not rule.many and fewest:
            found.append(Bad("below", "", ""))
        if not rule.many and most is not None:
            found.append(Bad("above", "x" * (most + 1), "x" * (most + 1)))
        if pattern(info) is not None:
            found.append(Bad("wrong form", "ba na na", "ba na na"))
    else:
        low = edge(rule.low, rule.low_open, rule.base, up=False)
        high = edge(rule.high, rule.high_open, rule.base, up=True)
        found = [
            Bad("below", repr(low), low),
            Bad("above", repr(high), high),
            Bad("wrong type", "banana", "banana"),
            Bad("wrong type", None, True),
            Bad("not a number", "nan", math.nan),
        ]
        if rule.base is int:
            found.append(Bad("not whole", "17.5", 17.5))
    if rule.many:
        found = [Bad(bad.what, bad.text, [bad.json]) for bad in found]
        if fewest:
            found.append(Bad("too few", "none", []))
    found += [Bad("wrong type", None, {"a": 1}), Bad("wrong type", None, [["a"]] if rule.many else ["a"])]
    return found if rule.optional else [*found, Bad("nothing", None, None)]


# --- sentences ---------------------------------------------------------------------------------------------------


@cache
def class_names() -> frozenset[str]:
    """Names of all classes of the package and of pydantic that are not also words of some title."""
    names = {name for name, member in inspect.getmembers(pydantic) if inspect.isclass(member)}
    titles: list[str] = []
    for file in Path(privexplorer.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
            if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == "title":
                titles += strings(node.value)
            if isinstance(node, ast.Call):
                words = [keyword.value for keyword in node.keywords if keyword.arg in ("title", "titles")]
                if getattr(node.func, "id", "") == "field":
                    words += node.args[1:2]
                for word in words:
                    titles += strings(word)
    return frozenset(names - {word for title in titles for word in re.findall(r"\w+", title)})


def strings(node: ast.AST | None) -> list[str]:
    """Texts inside a piece of source."""
    return (
        []
        if node is None
        else [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    )


def faults(sentence: str) -> list[str]:
    """Return what a visitor should not have to read in a sentence; an empty list if it is fine."""
    plain = re.sub(r"“[^”]*”", "“”", sentence)
    found = [
        f"contains “{word}”"
        for word in ("Input should", "validation error", "Traceback", "pydantic", "Value error", "None", "typing", "  ")
        if word in plain
    ]
    found += [f"names the class {word}" for word in re.findall(r"\w+", plain) if word in class_names()]
    if "nearest" not in plain and "set one of" not in plain and re.search(r"\b[A-Za-z_]+\.[A-Za-z_0-9]", plain):
        found.append("contains a dotted location")
    if not plain.endswith("."):
        found.append("does not end with a full stop")
    if re.search(r"[.!?] +[A-Z]", plain) or "\n" in plain:
        found.append("is more than one sentence")
    if not (plain[:1].isupper() or plain[:1] in "“εδαρτ"):
        found.append("does not begin like a sentence")
    return found
