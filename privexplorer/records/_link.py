"""The link codec: a record to named texts and back, pure, also behind ``--set``, presets and tests.

It writes what differs from the defaults of the chosen kinds, floats in full, so that nothing is lost.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from privexplorer.errors import ParameterError
from privexplorer.records._base import Record, RecordT
from privexplorer.records._sentences import problems, validated
from privexplorer.records._walk import Setting, leaf, link_key, settings, shape, start_value

Query = Mapping[str, Sequence[str]]
NONE = "none"


def text(value: Any) -> str:
    """Write one value as text that reads back to the same value.

    Examples
    --------
    >>> [text(v) for v in (True, 1000.0, 0.1, None, (3, 5))]
    ['true', '1000', '0.1', 'none', '3,5']
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
    if isinstance(value, (tuple, list)):
        return ",".join(text(item) for item in value)
    return str(value)


def dump(record: Record, default: Record | None = None, prefix: str = "") -> list[tuple[str, str]]:
    """Write a record as ``[(name, text)]`` in the order of its fields: only what differs from the defaults."""
    out: list[tuple[str, str]] = []
    for field_name, info in type(record).model_fields.items():
        if field_name == "kind":
            continue
        value, name = getattr(record, field_name), prefix + link_key(field_name, info)
        start = start_value(info, field_name, default)
        what, _ = shape(info)
        if what == "union":
            if value.kind != start.kind:
                out.append((name, value.kind))
            out += dump(value, start if value.kind == start.kind else None, f"{name}.{value.kind}.")
        elif what == "several":
            if [item.kind for item in value] != [item.kind for item in start]:
                out += [(name, item.kind) for item in value] or [(name, NONE)]
            same = {item.kind: item for item in start}
            for item in value:
                out += dump(item, same.get(item.kind), f"{name}.{item.kind}.")
        elif what == "group":
            out += dump(value, start, f"{name}.")
        elif value != start:
            out.append((name, text(value)))
    return out


def load(
    cls: type[Record], query: Query, used: set[str], default: Record | None = None, prefix: str = ""
) -> dict[str, Any]:
    """Turn ``{name: [texts]}`` into plain data for validation; ``used`` collects the names understood."""
    out: dict[str, Any] = {}
    for field_name, info in cls.model_fields.items():
        if field_name == "kind":
            continue
        name = prefix + link_key(field_name, info)
        used.add(name)
        got = query.get(name)
        start = start_value(info, field_name, default)
        what, of = shape(info)
        if what == "union":
            kind = got[-1] if got else start.kind
            inner = (
                load(of[kind], query, used, start if kind == start.kind else None, f"{name}.{kind}.")
                if kind in of
                else {}
            )
            out[field_name] = {"kind": kind, **inner}
        elif what == "several":
            same = {item.kind: item for item in start}
            chosen = [] if got and list(got) == [NONE] else list(got or same)
            out[field_name] = [
                {"kind": k, **(load(of[k], query, used, same.get(k), f"{name}.{k}.") if k in of else {})}
                for k in chosen
            ]
        elif what == "group":
            out[field_name] = load(of, query, used, start, f"{name}.")
        elif not got:
            out[field_name] = start
        else:
            rule, raw = leaf(info), got[-1]
            if rule.optional and raw.strip().lower() in (NONE, ""):
                out[field_name] = None
            elif rule.many:
                out[field_name] = [part.strip() for part in raw.split(",") if part.strip()]
            else:
                out[field_name] = raw
    return out


def nearest(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return the known names that look most like ``word``."""
    known = sorted(set(known))
    close = difflib.get_close_matches(word, known, count, 0.5)
    return close or [name for name in known if word.lower() in name.lower()][:count] or known[:count]


def unknown_name(word: str, known: Iterable[str]) -> str:
    """Say that a setting does not exist, and which ones come nearest."""
    return f"There is no setting called “{word[:60]}”; the nearest are {', '.join(nearest(word, known))}."


def salvage(
    cls: type[RecordT], query: Query, where: str = "the link", ignore: Iterable[str] = ()
) -> tuple[RecordT, list[str]]:
    """Read a link; a bad part falls back to its default and is named in a sentence.

    Parameters
    ----------
    cls : type of Record
        What to build.
    query : mapping of str to list of str
        The parts of the link.
    where : str
        What the sentences call the place the values came from.
    ignore : iterable of str
        Names that belong to somebody else (the page's own parameters).

    Returns
    -------
    tuple
        The record, and one sentence for each part that could not be used.
    """
    used = set(ignore)
    data = load(cls, query, used)
    known = [setting.name for setting in settings(cls)]
    notes = [
        f"{title_of(setting)} is not used with the other choices of {where}, so “{name}” has no effect here."
        if (setting := next((s for s in settings(cls) if s.name == name), None))
        else unknown_name(name, known)
        for name in query
        if name not in used
    ]
    for _ in range(64):
        found = problems(cls, data, where)
        if not found:
            break
        for problem in found:
            if problem.sentence not in notes:
                notes.append(problem.sentence)
            forget(data, problem.loc, cls)
    return validated(cls, data, where), [note if note.endswith(".") else note + "." for note in notes]


def title_of(setting: Setting) -> str:
    """Words for a setting, as a sentence begins with them."""
    return setting.title[:1].upper() + setting.title[1:]


def forget(data: dict[str, Any], loc: tuple[Any, ...], cls: type[Record]) -> None:
    """Remove the part of ``data`` that an error points at, so that its default comes back."""
    here: Any = data
    parent: Any = None
    last: Any = None
    for part in loc:
        inside = part in here if isinstance(here, dict) else isinstance(here, list) and part in range(len(here))
        if inside:
            parent, last, here = here, part, here[part]
        # a union's tag stands in the location but not in the data: pass over it
    if parent is None:
        data.clear()
    elif isinstance(parent, list):
        del parent[last]
        if not parent and loc[0] in data:
            del data[loc[0]]
    else:
        del parent[last]


def _expand(cls: type[Record], base: Record) -> dict[str, list[str]]:
    """Write the base scenario as a complete query (nothing left out)."""
    out: dict[str, list[str]] = {}
    for name, value in dump(base):
        out.setdefault(name, []).append(value)
    return out


def link_name(cls: type[Record], key: str, query: Mapping[str, Sequence[str]]) -> tuple[str, bool]:
    """Translate a field path or a link name to the link name; the flag says whether it names a list of kinds.

    Raises
    ------
    ParameterError
        If nothing has that name; the sentence lists the nearest names.
    """
    known = {setting.name: setting for setting in settings(cls)}
    if key in known:
        return key, known[key].what == "several"
    paths = {setting.path: setting for setting in known.values()}
    if key in paths:
        return paths[key].name, paths[key].what == "several"
    here: type[Record] = cls
    default: Record | None = cls()
    name = ""
    parts = key.split(".")
    for at, part in enumerate(parts):
        match = next(
            ((f, i) for f, i in here.model_fields.items() if f != "kind" and part in (f, link_key(f, i))),
            None,
        )
        if match is None:
            break
        field_name, info = match
        what, of = shape(info)
        step = name + link_key(field_name, info)
        last = at == len(parts) - 1
        if what == "leaf":
            if last:
                return step, False
            break
        if what == "group":
            if last:
                break
            name, here, default = f"{step}.", of, getattr(default, field_name) if default is not None else None
            continue
        if last or parts[at + 1 :] == ["kind"]:
            return step, what == "several"
        if what == "several":
            break
        start = start_value(info, field_name, default)
        kind = query[step][-1] if step in query else start.kind
        if kind not in of:
            break
        name, here, default = f"{step}.{kind}.", of[kind], start if start.kind == kind else None
    raise ParameterError(unknown_name(key, [*known, *paths]), field=key)


def apply(base: RecordT, pairs: Iterable[tuple[str, str]], where: str = "the command line") -> RecordT:
    """Change settings of a record by field path or link name (``--set key=value``).

    Raises
    ------
    ParameterError
        For an unknown name or a bad value: one sentence.
    """
    cls = type(base)
    query = _expand(cls, base)
    todo = list(pairs)
    # kinds first: what a path such as distribution.exponent means depends on them
    kinds_first = {setting.name for setting in settings(cls) if setting.what != "leaf"}

    def rank(pair: tuple[str, str]) -> int:
        try:
            return 0 if link_name(cls, pair[0], query)[0] in kinds_first else 1
        except ParameterError:
            return 1

    for key, value in sorted(todo, key=rank):
        name, several = link_name(cls, key, query)
        if name in kinds_first and not several:
            for stale in [other for other in query if other.startswith(f"{name}.")]:
                if not other_kind_kept(stale, name, value):
                    del query[stale]
        query[name] = [part.strip() for part in value.split(",")] if several else [value]
    used: set[str] = set()
    data = load(cls, query, used)
    for key, _ in todo:
        name, _several = link_name(cls, key, query)
        if name not in used:
            raise ParameterError(
                f"“{key}” has no effect with the other choices; it belongs to another kind than the one chosen.",
                field=key,
            )
    return validated(cls, data, where)


def other_kind_kept(stale: str, name: str, kind: str) -> bool:
    """Whether a nested name belongs to the kind that is chosen now."""
    return stale.startswith(f"{name}.{kind}.")
