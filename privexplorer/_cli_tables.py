"""How the command line gives a table to a scenario: ``--data FILE`` and ``--set table.column=NAME``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privexplorer.errors import DataError, ParameterError
from privexplorer.records import (
    Record,
    Scenario,
    apply,
    extra,
    fields,
    leaf,
    leaves,
    link_key,
    link_name,
    settings,
    shape,
)

if TYPE_CHECKING:
    from privexplorer.data import Source, Tables


MOST_KEYS = 4
"""Settings that a sentence asks for by their paths; more are asked for by their titles."""


@dataclass(frozen=True)
class TablePlace:
    """Where a scenario names a table: the prefix of its link names, and the kinds that must be chosen."""

    prefix: str
    kinds: tuple[tuple[str, str], ...] = ()
    whole: bool = False
    """Whether it is a whole table, whose columns other settings name."""


def table_places(cls: type[Record], prefix: str = "", kinds: tuple[tuple[str, str], ...] = ()) -> Iterator[TablePlace]:
    """Every place where a record can name a table."""
    from privexplorer.data import TableChoice, TableColumn

    for name, info in fields(cls):
        what, of = shape(info)
        here = prefix + link_key(name, info)
        inner: dict[tuple[tuple[str, str], ...], type[Record]] = {}
        if what == "group":
            inner = {(): of}
        elif what != "leaf":
            inner = {((here, kind),): member for kind, member in of.items()}
        for more, member in inner.items():
            place = TablePlace(f"{here}.{more[0][1]}." if more else f"{here}.", (*kinds, *more))
            if issubclass(member, (TableColumn, TableChoice)):
                yield replace(place, whole=issubclass(member, TableChoice))
            else:
                yield from table_places(member, place.prefix, place.kinds)


def answerable(
    base: Scenario, pairs: list[tuple[str, str]], data: str | None, from_file: bool
) -> tuple[Scenario, dict[str, Source], list[str]]:
    """Apply the settings and the table of the command line to a scenario.

    Parameters
    ----------
    base : Scenario
        What to start from.
    pairs : list of (str, str)
        Settings by field path or link name; ``table.column`` and its like name the table wherever it stands.
    data : str or None
        Path of a table.
    from_file : bool
        Whether the base was saved, so that a choice in it is somebody's choice.

    Returns
    -------
    tuple
        The scenario, the tables by the name that it uses, and sentences to tell.

    Raises
    ------
    ParameterError, DataError
        For a bad setting or table: one sentence.
    """
    from privexplorer.data import Source, bundled, inspect

    cls = type(base)
    source = None if data is None else Source.from_path(data)
    tables = {} if source is None else {source.key: source}
    places = list(table_places(cls))
    alias = [key for key, _ in pairs if key.startswith("table.") and _known(cls, key) is None]
    notes: list[str] = []
    if source is not None or alias:
        what = "--data" if source is not None else alias[0]
        place, more = _place(base, places, pairs, what, from_file)
        pairs = [
            *more,
            *((place.prefix + key.removeprefix("table.") if key in alias else key, it) for key, it in pairs),
        ]
        given = {_known(cls, key, {name: [kind] for name, kind in place.kinds}): value for key, value in pairs}
        if source is not None and given.get(f"{place.prefix}data", source.key) != source.key:
            raise ParameterError("“--data” and “table.data” name two tables; leave one of them out.")
        before = dict(leaves(apply(base, more))).get(f"{place.prefix}data")
        named = source.key if source is not None else given.get(f"{place.prefix}data", before)
        if source is not None and from_file and before not in (named, ""):
            notes.append(
                f"Note: the scenario was saved with another table ({before}); it is answered with “{source.name}”."
            )
        elif named != before and not place.whole:
            # what the defaults say about columns belongs to their own table
            own = [pair for pair in _columns(place.prefix, source, named, given, notes) if pair[0] not in given]
            pairs = [*own, *pairs]
        if source is not None:
            pairs.append((f"{place.prefix}data", source.key))
    scenario = apply(base, pairs)
    now = dict(leaves(scenario))
    ours = {table.id for table in bundled()}
    for place in places:
        held = now.get(f"{place.prefix}data")
        if held == "":
            raise DataError(
                f"No table is chosen; give one with “--data FILE”, or set “table.data” to {any_of(sorted(ours))}."
            )
        if source is not None and held == source.key and not place.whole and now[f"{place.prefix}column"] == "":
            names = inspect(source).names
            shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
            raise DataError(f"Choose a column with “--set table.column=NAME”; “{source.name}” has {shown}.")
        if held is not None and held not in tables and held not in ours:
            raise DataError(f"The scenario names a table ({held}) that is not here; give its file with “--data”.")
        if held is not None and place.whole and not from_file:
            _check_columns(scenario, place, pairs, tables)
    return scenario, tables, notes


def _place(
    base: Scenario, places: list[TablePlace], pairs: list[tuple[str, str]], what: str, from_file: bool
) -> tuple[TablePlace, list[tuple[str, str]]]:
    """Find where a scenario takes its table, and the kinds to choose for it where nobody chose others."""
    cls = type(base)
    if not places:
        raise ParameterError(f"This study reads no table; leave “{what}” out.")
    paths = {setting.name: setting.path for setting in settings(cls) if setting.what == "union"}
    chosen = {name: value for key, value in pairs if (name := _known(cls, key)) in paths}
    now = dict(leaves(apply(base, [(str(name), value) for name, value in chosen.items()])))
    for place in places:
        if f"{place.prefix}data" in now:
            return place, []
    for place in places:
        if not from_file and not any(name in chosen for name, _ in place.kinds):
            return place, list(place.kinds)
    name, kind = places[0].kinds[0]
    raise ParameterError(f"A table is used only with “{paths[name]}={kind}”; set that, or leave “{what}” out.")


def _columns(
    prefix: str, source: Source | None, named: str | None, given: dict[str | None, str], notes: list[str]
) -> list[tuple[str, str]]:
    """Choose the columns of a table that the scenario did not have before."""
    from privexplorer.data import bundled, inspect

    column, counts = f"{prefix}column", f"{prefix}counts"
    own = next((table.reference() for table in bundled() if table.id == named), None)
    if column in given:
        if source is not None and counts not in given and (known := inspect(source).histogram) is not None:
            value, count = known
            if given[column] == value:
                notes.append(
                    f"Note: each row of “{source.name}” counts as one record; “--set table.counts={count}” "
                    "reads it as a histogram."
                )
        return [(counts, "")]
    if source is None or own is not None:
        return [(column, own.column if own else ""), (counts, own.counts if own else "")]
    layout = inspect(source)
    if layout.histogram is not None:
        value, count = layout.histogram
        notes.append(f"Note: “{source.name}” is read as a histogram: “{value}”, so many times as “{count}” says.")
        return [(column, value), (counts, count)]
    if len(layout.names) == 1:
        return [(column, layout.names[0]), (counts, "")]
    return [(column, ""), (counts, "")]


def _check_columns(scenario: Scenario, place: TablePlace, pairs: list[tuple[str, str]], tables: Tables) -> None:
    """Refuse a table that lacks columns which only the defaults name; the sentence lists the settings to give."""
    from privexplorer.data import TableChoice, inspect, resolve

    now = dict(leaves(scenario))
    chosen = {name: value if isinstance(value, list) else [value] for name, value in now.items()}
    given = {_known(type(scenario), key, chosen) for key, _ in pairs}
    choice = TableChoice(data=now[f"{place.prefix}data"])
    names = inspect(resolve(choice, tables)).names
    needed = []
    for one in settings(type(scenario)):
        owner = extra(one.info).get("column_of")
        if owner is None or one.name not in now or one.name in given or not place.prefix.startswith(f"{owner}."):
            continue
        held = now[one.name]
        if not {*([held] if isinstance(held, str) else held)} - {""} <= set(names):
            needed.append((one.title, f"“--set {one.path}={'NAMES' if leaf(one.info).many else 'NAME'}”"))
    if not needed:
        return
    if len(needed) > MOST_KEYS:
        listed = (
            f"one “--set” each: {_all_of([f'“{title}”' for title, _ in needed])} (the first is {needed[0][1]}, "
            "`privexplorer show STUDY` lists the others)"
        )
    else:
        listed = _all_of([key for _, key in needed])
    if choice.data not in tables:
        raise DataError(
            f"Give your table with “--data FILE” and name its columns with {listed}; without a file it is "
            f"“{choice.data}”, which has other columns than the defaults name."
        )
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    raise DataError(f"Name the columns of “{tables[choice.data].name}” with {listed}; it has {shown}.")


def _all_of(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def any_of(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _known(cls: type[Record], key: str, chosen: Mapping[str, Sequence[str]] | None = None) -> str | None:
    """Return the link name of a key beside the kinds that are chosen, or ``None`` if nothing has that name."""
    try:
        return link_name(cls, key, chosen or {})[0]
    except ParameterError:
        return None
