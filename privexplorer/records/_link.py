"""The link codec: a record to named texts and back, pure, also behind ``--set``, presets and tests.

It writes what differs from the defaults of the chosen kinds, floats in full, so that nothing is lost.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pydantic.fields import FieldInfo

from privexplorer.errors import ParameterError, printable
from privexplorer.records._base import Record, RecordT
from privexplorer.records._sentences import problems, validated
from privexplorer.records._walk import Setting, fields, leaf, link_key, settings, shape, start_value

Query = Mapping[str, Sequence[str]]
NONE = "none"
MOST_NAMED = 5
"""Faults of one sort that are told one by one; more are counted."""


def text(value: Any) -> str:
    """Write one value as text that reads back to the same value.

    Examples
    --------
    >>> [text(v) for v in (True, 1000.0, 0.1, None, (3, 5), ())]
    ['true', '1000', '0.1', 'none', '3,5', 'none']
    """
    if value is None:
        return NONE
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e15 and str(value) != "-0.0"
        return str(int(value)) if whole else repr(value)
    if isinstance(value, (tuple, list)):
        return ",".join(quoted(item) if isinstance(item, str) else text(item) for item in value) or NONE
    return str(value)


def quoted(word: str) -> str:
    """Put a word between double quotes where it would otherwise read as something else.

    Examples
    --------
    >>> quoted("age"), quoted("age, sex"), quoted("None")
    ('age', '"age, sex"', '"None"')
    """
    plain = word == word.strip() and word.lower() not in (NONE, "") and not set(word) & {",", '"'}
    return word if plain else '"' + word.replace('"', '""') + '"'


def words_of(raw: str) -> list[str]:
    """Split a list at the commas outside double quotes; blanks around an item do not count, nor do empty items.

    Examples
    --------
    >>> words_of('age, "b,c" ,,"a ""big"" one"'), words_of("3,5"), words_of("none")
    (['age', 'b,c', 'a "big" one'], ['3', '5'], [])
    """
    if raw.strip().lower() == NONE:
        return []
    parts, inside = [""], False
    for letter in raw:
        inside ^= letter == '"'
        if letter == "," and not inside:
            parts.append("")
        else:
            parts[-1] += letter
    return [unquoted(part) for part in map(str.strip, parts) if part]


def unquoted(word: str) -> str:
    """Take away the double quotes around a word, if it has them.

    Examples
    --------
    >>> unquoted('"None"'), unquoted("5 o'clock")
    ('None', "5 o'clock")
    """
    return word[1:-1].replace('""', '"') if len(word) > 1 and word[0] == word[-1] == '"' else word


def written(info: FieldInfo, value: Any) -> str:
    """Write the value of one leaf field; a text that could be read as "nothing chosen" is quoted."""
    rule = leaf(info)
    if isinstance(value, str) and rule.optional and (value.strip().lower() in (NONE, "") or value[0] == '"'):
        return '"' + value.replace('"', '""') + '"'
    return "" if value == () and rule.optional else text(value)


def read(info: FieldInfo, raw: str) -> Any:
    """Read the text of one leaf field into plain data for validation."""
    rule = leaf(info)
    if rule.optional and (raw.strip().lower() == NONE or (not raw.strip() and not rule.many)):
        return None
    if rule.many:
        return words_of(raw)
    return unquoted(raw) if rule.optional and rule.base is str else raw


def dump(record: Record, default: Record | None = None, prefix: str = "") -> list[tuple[str, str]]:
    """Write a record as ``[(name, text)]`` in the order of its fields: only what differs from the defaults."""
    out: list[tuple[str, str]] = []
    for field_name, info in fields(type(record)):
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
        elif value != start or text(value) != text(start):  # 0.0 and -0.0 are equal, not the same
            out.append((name, written(info, value)))
    return out


def load(
    cls: type[Record], query: Query, used: set[str], default: Record | None = None, prefix: str = ""
) -> dict[str, Any]:
    """Turn ``{name: [texts]}`` into plain data for validation; ``used`` collects the names understood."""
    out: dict[str, Any] = {}
    for field_name, info in fields(cls):
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
        else:
            out[field_name] = read(info, got[-1]) if got else start
    return out


def nearest(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return the known names that look most like ``word``."""
    known = sorted(set(known))
    close = difflib.get_close_matches(word, known, count, 0.5)
    return close or [name for name in known if word and word.lower() in name.lower()][:count]


def near(word: str, known: Iterable[str]) -> str:
    """Name what comes nearest to a word, as a sentence ends with it.

    Examples
    --------
    >>> near("epsilom", ["epsilon"]), near("n.hig", ["n.high", "m.high"])
    ('the nearest is epsilon', 'the nearest are n.high, m.high')
    >>> near("zzz", ["epsilon", "seed", "trials", "unit"])
    'there are, for example, epsilon, seed, trials'
    """
    known = sorted(set(known))
    found = nearest(word, known)
    if not found:
        some = ", for example," if len(known) > 3 else ""
        return f"there {'is' if len(known) == 1 else 'are'}{some} {', '.join(known[:3])}"
    return f"the nearest {'is' if len(found) == 1 else 'are'} {', '.join(found)}"


def unknown_name(word: str, known: Iterable[str]) -> str:
    """Say that a setting does not exist, and which ones come nearest."""
    return f"There is no setting called “{word[:60]}”; {near(word, known)}."


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
        The record, and one sentence for each part that could not be used (of each sort of fault the first five,
        then how many more there are).
    """
    todo: dict[str, list[str]] = {name: list(values) for name, values in query.items()}
    bad: dict[str, None] = {}
    while True:
        used = set(ignore)
        data = load(cls, todo, used)
        found = problems(cls, data, where)
        bad |= dict.fromkeys(problem.sentence for problem in found)
        if not found:
            break
        before = {name: list(values) for name, values in todo.items()}
        for problem in found:
            forget(todo, cls, problem.loc, before)
        if todo == before:  # no single part is wrong, only what they say together
            todo = {name: values for name, values in todo.items() if name not in used}
        if todo == before:
            break
    known = {setting.name: setting for setting in settings(cls)}
    single = [name for name in todo if name in used and name in known and known[name].what != "several"]
    twice = [note for name in single for note in repeated(name, todo[name], where)]
    left = [name for name in query if name in todo and name not in used]
    idle = [name for name in left if name in known]
    unknown = [name for name in left if name not in known]
    notes = [
        *few(list(bad), str, f"{{}} of {where} could not be used either", "value"),
        *few(twice, str, f"{{}} of {where} stand more than once; the last one counts"),
        *few(idle, lambda name: no_effect(known[name], where), f"{{}} of {where} have no effect here either"),
        *few(unknown, lambda name: unknown_name(name, known), f"{{}} of {where} name no setting either"),
    ]
    return validated(cls, data, where), notes


def repeated(name: str, values: Sequence[str], where: str) -> list[str]:
    """Name a part of a link that says several things.

    Examples
    --------
    >>> repeated("eps", ["1", "2"], "the link"), repeated("eps", ["1", "1"], "the link")
    (['“eps” stands 2 times in the link; the last one counts.'], [])
    """
    return [f"“{name}” stands {len(values)} times in {where}; the last one counts."] if len(set(values)) > 1 else []


def no_effect(setting: Setting, where: str) -> str:
    """Say that a setting plays no part."""
    return f"{title_of(setting)} is not used with the other choices of {where}, so “{setting.name}” has no effect here."


def few(items: Sequence[str], say: Callable[[str], str], rest: str, what: str = "part") -> list[str]:
    """Say something about the first few items, and how many more there are.

    Examples
    --------
    >>> few(["a", "b"], "No {}.".format, "{} of the link name no setting either")
    ['No a.', 'No b.']
    >>> few([*"abcdefg"], "No {}.".format, "{} of the link name no setting either")[4:]
    ['No e.', '2 more parts of the link name no setting either.']
    """
    if len(items) <= MOST_NAMED + 1:  # one sentence more says less than the sixth itself
        return [printable(say(item)) for item in items]
    more = len(items) - MOST_NAMED
    return [*(printable(say(item)) for item in items[:MOST_NAMED]), rest.format(f"{more:,} more {what}s") + "."]


def title_of(setting: Setting) -> str:
    """Words for a setting, as a sentence begins with them."""
    return setting.title[:1].upper() + setting.title[1:]


def forget(todo: dict[str, list[str]], cls: type[Record], loc: tuple[Any, ...], query: Query) -> None:
    """Remove from a link what an error points at, so that its default comes back.

    Parameters
    ----------
    todo : dict
        What is left of the link; changed in place.
    cls : type of Record
        What is being read.
    loc : tuple
        Where the error is, in terms of the record's fields.
    query : mapping
        The link that the error was found in (positions in a list of kinds refer to it).
    """
    here, prefix, parts = cls, "", list(loc)
    while parts and parts[0] in here.model_fields:
        field_name = parts.pop(0)
        info = here.model_fields[field_name]
        name, (what, of) = prefix + link_key(field_name, info), shape(info)
        if what == "leaf":
            todo.pop(name, None)
            return
        if what == "group":
            here, prefix = of, f"{name}."
            continue
        chosen: list[str] = list(query.get(name, []))
        kind = parts[1] if what == "several" and len(parts) > 1 else parts[0] if what == "union" and parts else None
        if kind not in of:  # the choice itself is wrong
            at = parts[0] if what == "several" and parts else None
            left = [word for word in todo.get(name, []) if at is None or at >= len(chosen) or word != chosen[at]]
            if what == "several" and left and at is not None:
                todo[name] = left
            else:
                todo.pop(name, None)
            return
        del parts[: 2 if what == "several" else 1]
        here, prefix = of[kind], f"{name}.{kind}."
    for name in [name for name in todo if prefix and name.startswith(prefix)]:
        del todo[name]


def _expand(base: Record) -> dict[str, list[str]]:
    """Write a record as the query of its link."""
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
    prefix, parts = "", key.split(".")
    while parts:
        word = parts.pop(0)
        field_name = next((f for f, i in fields(here) if word in (f, link_key(f, i))), None)
        if field_name is None:
            break
        info = here.model_fields[field_name]
        what, of = shape(info)
        name = prefix + link_key(field_name, info)
        start = start_value(info, field_name, default)
        if what == "group":
            if not parts:
                below = ", ".join(f"{key}.{setting.path}" for setting in settings(of))
                raise ParameterError(f"“{key}” is a group of settings; set one of {below}.", field=key)
            here, default, prefix = of, start, f"{name}."
            continue
        if not parts or (what != "leaf" and parts == ["kind"]):
            return name, what == "several"
        if what == "leaf":
            break
        # the kind may be left out where only one is chosen
        kind = parts.pop(0) if parts[0] in of else query[name][-1] if name in query else getattr(start, "kind", None)
        if kind not in of or (what == "several" and not parts):
            break
        chosen = {item.kind: item for item in (start if what == "several" else [start])}
        here, default, prefix = of[kind], chosen.get(kind), f"{name}.{kind}."
    raise ParameterError(unknown_name(key, [*known, *paths]), field=key)


def apply(base: RecordT, pairs: Iterable[tuple[str, str]], where: str = "the command line") -> RecordT:
    """Change settings of a record by field path or link name (``--set key=value``).

    Raises
    ------
    ParameterError
        For an unknown name, a bad value, or two values for one setting: one sentence.
    """
    cls = type(base)
    query = _expand(base)
    todo = list(pairs)
    choices = {setting.name: setting.of for setting in settings(cls) if setting.what != "leaf"}

    def next_choice() -> int | None:
        # kinds first and outer ones before inner ones: what distribution.exponent means depends on them
        depth = {}
        for at, (key, _) in enumerate(todo):
            with suppress(ParameterError):
                name, _several = link_name(cls, key, query)
                if name in choices:
                    depth[at] = name.count(".")
        return min(depth, key=depth.__getitem__) if depth else None

    names: list[tuple[str, str]] = []
    given: dict[str, tuple[str, str]] = {}
    while todo:
        key, value = todo.pop(next_choice() or 0)
        name, several = link_name(cls, key, query)
        _refuse_two(given.setdefault(name, (key, value)), (key, value), several, where)
        names.append((key, name))
        if name in choices and not several:
            value = value.strip()
            for stale in [other for other in query if other.startswith(f"{name}.")]:
                if not stale.startswith(f"{name}.{value}."):
                    del query[stale]
        query[name] = [part.strip() for part in value.split(",")] if several else [value]
        if name in choices and not set(query[name]) <= {*choices[name], *([NONE] if several else [])}:
            break  # what is set below a kind that does not exist means nothing
    used: set[str] = set()
    data = load(cls, query, used)
    for key, name in names:
        if name not in used:
            needed = " and ".join(_needed(cls, data, name))
            raise ParameterError(f"“{key}” has no effect with the other choices; choose {needed} as well.", field=key)
    return validated(cls, data, where)


def _refuse_two(one: tuple[str, str], two: tuple[str, str], several: bool, where: str) -> None:
    """Refuse two values for one setting, which may go by two names."""
    if one[1].strip() == two[1].strip():
        return
    named = sorted({one[0], two[0]})
    what = f"“{named[0]}”" if len(named) == 1 else f"“{named[0]}” and “{named[1]}”, which are one setting,"
    advice = "give all of them at once, with commas between" if several else "leave one of them out"
    values = " and ".join(f"“{value[:40]}{'…' * (len(value) > 40)}”" for _, value in (one, two))
    raise ParameterError(f"{where[:1].upper()}{where[1:]} sets {what} to {values}; {advice}.", field=two[0])


def _needed(cls: type[Record], data: Mapping[str, Any], name: str, prefix: str = "", path: str = "") -> list[str]:
    """List the choices that a setting needs and that ``data`` lacks: “shape.kind=typed”."""
    for field_name, info in fields(cls):
        here, there = prefix + link_key(field_name, info), path + field_name
        if not name.startswith(f"{here}."):
            continue
        what, of = shape(info)
        if what == "group":
            return _needed(of, data.get(field_name, {}), name, f"{here}.", f"{there}.")
        kind = name[len(here) + 1 :].split(".")[0]
        if what == "leaf" or kind not in of:
            continue
        held = data.get(field_name)
        if held is None:  # nobody chose the kind that this belongs to: its defaults hold
            start = start_value(info, field_name, None)
            held = [{"kind": item.kind} for item in ([start] if what == "union" else start)]
        chosen: dict[str, Any] = {one["kind"]: one for one in ([held] if isinstance(held, dict) else held)}
        inner = _needed(of[kind], chosen.get(kind, {}), name, f"{here}.{kind}.", f"{there}.{kind}.")
        if kind in chosen:
            return inner
        return [f"“{there}.kind={kind}”" if what == "union" else f"“{kind}” for “{there}”", *inner]
    return []
