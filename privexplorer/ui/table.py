"""The form of a table and its column: drop a file or take a bundled one, choose the column, see how it was read."""

from __future__ import annotations

import math
import re
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from pydantic.fields import FieldInfo

from privexplorer.data import (
    Layout,
    ReadOptions,
    Source,
    TableChoice,
    TableColumn,
    bundled,
    inspect,
    read_rows,
    resolve,
)
from privexplorer.data.source import UNPACKED_LIMIT, megabytes
from privexplorer.errors import PrivExplorerError, printable
from privexplorer.records import Leaf, Record, extra, leaf, leaves, link_key
from privexplorer.studies.words import plain_markdown
from privexplorer.ui import show, state
from privexplorer.ui.form import DRAWERS, PICKERS, Form

NUMERIC = {"number", "count"}
WHOLE = re.compile(r"\d+([.,]0*)?")
MOST_LEVELS = 60
"""Texts of a column that a list offers; more are typed."""
TYPES = ["csv", "tsv", "txt", "gz", "parquet", "xlsx", "dta"]
FORMATS = {"csv": "CSV", "excel": "Excel", "parquet": "Parquet", "stata": "Stata"}


def table_title(name: str) -> str:
    """Words for a table: its file name or the bundled table's title."""
    uploads = state.uploads()
    if name in uploads:
        return printable(uploads[name].name)
    return next((item.title for item in bundled() if item.id == name), "the table of the link (not here)")


def upload(form: Form, prefix: str, whole: bool = False) -> None:
    """Draw the uploader; a new file becomes the chosen table and its bytes stay through a change of page."""
    place = st.empty()
    dropped = place.file_uploader(
        "Drop your table here",
        TYPES,
        key=f"{form.key(prefix)}file",
        help="One row per record. The file stays in this session. "
        f"A packed file may unpack to {megabytes(UNPACKED_LIMIT)}.",
    )
    if dropped is None:
        state.refuse(None)
        return
    if st.session_state.get("_last_file") == dropped.file_id:
        if (bad := state.refused()) is not None and bad.file_id == dropped.file_id:  # it still lies there
            show.problem(bad.error, unreadable(form, prefix, dropped.name))
        return
    st.session_state["_last_file"] = dropped.file_id
    state.refuse(None)
    digest = ""
    try:
        source = Source.from_bytes(dropped.name, dropped.getvalue())
        digest = source.digest
        layout = inspect(source, ReadOptions())
    except PrivExplorerError as error:
        state.refuse(state.Refused(dropped.file_id, error, digest))
        show.problem(error, unreadable(form, prefix, dropped.name))
        return
    wanted = form.now(f"{prefix}data", None)
    known = {item.id for item in bundled()} | set(state.uploads())
    asked_for = wanted if wanted is not None and wanted not in known else None
    for name in state.keep(source):
        state.notices().append(f"A session holds {state.MOST_TABLES} tables; {name} was let go.")
    if asked_for == source.digest:
        return  # the very file that the link named: column and reading stay as the link has them
    if asked_for is not None:
        held = "" if whole else form.now(f"{prefix}column", "")
        lacks = bool(held) and held not in layout.names
        what = f"it has no column “{held}”, so another one is shown" if lacks else "the numbers will differ"
        state.notices().append(f"{source.name} is not the table that the link was made with: {what}.")
        form.set(f"{prefix}data", source.digest)
        if whole or held in layout.names:
            return
    form.set(f"{prefix}data", source.digest)
    if not whole:
        choose_columns(form, prefix, layout, None)


def unreadable(form: Form, prefix: str, name: str) -> str:
    """Title for a file that cannot be read; the table that was chosen before it is still shown."""
    held = state.uploads().get(str(form.now(f"{prefix}data", "")))
    return f"{name} could not be read" + (f"; the page still shows {held.name}" if held is not None else "")


def choose_columns(form: Form, prefix: str, layout: Layout, default: str | None) -> None:
    """Set the column, and the counts if the table is a histogram, to what the table suggests."""
    names = [column.name for column in layout.columns]
    value, counts = layout.histogram or (None, None)
    first = next((c.name for c in layout.columns if c.kind in ("category", "binary")), names[0] if names else "")
    form.set(f"{prefix}column", default if default in names else value or first)
    form.set(f"{prefix}counts", counts or "")


def draw_table(form: Form, prefix: str, title: str, cls: type[Record], start: Record) -> dict[str, Any]:
    """Draw everything about a table and return plain data for a ``TableColumn``."""
    assert isinstance(start, TableColumn)  # noqa: S101  (the registry guarantees it)
    data, read, layout = choose_table(form, prefix, start)
    out: dict[str, Any] = {"data": data}
    seen, here = f"_seen_table:{form.key(prefix)}", (data, *read.values())  # the columns may differ by reading
    if layout is None:
        st.session_state[seen] = here
        named = form.now(f"{prefix}column", start.column)
        out["column"] = form.ask(f"{prefix}column", start.column, st.selectbox, "Column", [named])
        out["counts"] = form.now(f"{prefix}counts", start.counts)
        out["kind"] = form.now(f"{prefix}as", start.kind)
        out["read"] = draw_reading(form, prefix, data, None, start.read)
        return out
    if st.session_state.get(seen, here) != here and form.now(f"{prefix}column", start.column) not in layout.names:
        default = next((item.column for item in bundled() if item.id == data), None)
        choose_columns(form, prefix, layout, default)
    st.session_state[seen] = here
    out.update(draw_columns(form, prefix, layout, start))
    out["read"] = draw_reading(form, prefix, data, layout, start.read)
    return out


def draw_choice(form: Form, prefix: str, title: str, cls: type[Record], start: Record) -> dict[str, Any]:
    """Draw the choice of a whole table and return plain data for a ``TableChoice``."""
    assert isinstance(start, TableChoice)  # noqa: S101  (the registry guarantees it)
    data, _, layout = choose_table(form, prefix, start)
    return {"data": data, "read": draw_reading(form, prefix, data, layout, start.read)}


def choose_table(
    form: Form, prefix: str, start: TableColumn | TableChoice
) -> tuple[str, dict[str, Any], Layout | None]:
    """Draw uploader and table; return the table's name, the reading options and the layout if it can be read."""
    upload(form, prefix, whole=isinstance(start, TableChoice))
    names = [*state.uploads(), *(item.id for item in bundled())]
    current = form.now(f"{prefix}data", start.data)
    if current not in names:
        names.insert(0, current)
    titles = {
        name: table_title(name) for name in names
    }  # Streamlit asks for the words again later, outside the session
    data = form.ask(f"{prefix}data", start.data, st.selectbox, "Table", names, format_func=partial(dict.get, titles))
    sheet = choose_sheet(form, prefix, data, start.read.sheet)
    read = {k: form.now(f"{prefix}read.{k}", v) for k, v in reading(start.read).items()}
    try:
        layout = layout_of(data, ReadOptions.model_validate({**by_field(read), "sheet": sheet}))
    except PrivExplorerError:  # said where the answer would stand
        return data, read, None
    for sentence in layout.notes:
        st.caption(plain_markdown(sentence))
    return data, read, layout


def layout_of(data: str, options: ReadOptions) -> Layout:
    """Look at a table of this session or of the program."""
    return inspect(resolve(TableChoice(data=data), state.uploads()), options)


def choose_sheet(form: Form, prefix: str, data: str, start: str) -> str:
    """Draw the choice of a sheet where a workbook has several; return the name to read by (empty for the first)."""
    name, seen = f"{prefix}read.sheet", f"_seen_workbook:{form.key(prefix)}"
    held = str(form.now(name, start))
    sheets = sheets_of(data)
    if held and st.session_state.get(seen, data) != data and held not in sheets:
        held = ""  # another file: what was chosen belonged to the one before
        form.set(name, held)
    st.session_state[seen] = data
    if not (len(sheets) > 1 or (sheets and held not in ("", *sheets))):
        form.held[form.key(name)] = held
        return held
    first = sheets[0] if held == sheets[0] else ""  # a link says nothing of the first sheet unless it did already
    options = list(dict.fromkeys([first, *sheets[1:], held]))
    words = {option: printable(option or sheets[0]) for option in options}
    return str(form.ask(name, start, st.selectbox, "Sheet", options, format_func=partial(dict.get, words)))


def sheets_of(data: str) -> tuple[str, ...]:
    """Names of the sheets of a table, if it is a workbook that can be read."""
    try:
        source = resolve(TableChoice(data=data), state.uploads())
        return inspect(source).sheets if source.format == "excel" else ()
    except PrivExplorerError:
        return ()


READING: dict[str, tuple[str, ...]] = {
    "csv": ("delimiter", "decimal", "encoding", "header", "quote"),
    "excel": ("header",),
}
"""What can be chosen about the reading of a format; the sheet is chosen beside the table."""


def draw_reading(form: Form, prefix: str, data: str, layout: Layout | None, start: ReadOptions) -> dict[str, Any]:
    """Draw how the file was read, first rows and the switches to read it otherwise."""
    read = by_field({k: form.now(f"{prefix}read.{k}", v) for k, v in reading(start).items()})
    try:
        choices = READING.get(resolve(TableChoice(data=data), state.uploads()).format, ())
    except PrivExplorerError:  # not here
        choices = ()
    if layout is None and not choices:
        return read
    with st.expander("How the file was read" if layout is not None else "Read it otherwise", expanded=layout is None):
        if layout is not None:
            st.caption(plain_markdown(how(layout)))
            first_rows(layout)
        for name in choices:
            read[name] = form.field(name, ReadOptions.model_fields[name], start, f"{prefix}read.")
    return read


def chosen_table(form: Form, name: str) -> tuple[Record | None, TableChoice | None]:
    """Return what was chosen under ``name``, and the table in it, if it is one."""
    cls, data = form.drawn_records.get(name, (None, {}))
    if cls is None:
        return None, None
    try:
        record = cls.model_validate(data)
    except ValueError:  # said where the data are chosen
        return None, None
    parts = (record, *(getattr(record, at) for at in cls.model_fields))
    return record, next((value for value in parts if isinstance(value, TableChoice)), None)


def columns_on_offer(form: Form, name: str) -> dict[str, str]:
    """Return name and kind of the columns of what was chosen under ``name``: a table, or data of another kind."""
    record, table = chosen_table(form, name)
    if table is not None:
        try:
            return {column.name: column.kind for column in layout_of(table.data, table.read).columns}
        except PrivExplorerError:
            return {}
    found = getattr(record, "column_kinds", None)
    return dict(found()) if found is not None else {}


def levels_of(form: Form, name: str, column: str) -> tuple[tuple[str, ...], str]:
    """Return the texts of a column of the table under ``name``, few enough for a list, and its most usual value.

    They stay with the session, as the table does.
    """
    _, table = chosen_table(form, name)
    if table is None or not column:
        return (), ""
    held = st.session_state.setdefault("_levels", {})
    key = (table.data, table.read.model_dump_json(), column)
    if key not in held:
        try:
            rows = read_rows(resolve(table, state.uploads()), table, [column])
        except PrivExplorerError:
            return (), ""
        if column in rows.numbers:
            held[key] = (), f"{float(np.median(rows.numbers[column])):.6g}"
        else:
            labels, counts = rows.labels[column], np.bincount(rows.codes[column])
            held[key] = labels if len(labels) <= MOST_LEVELS else (), labels[int(np.argmax(counts))]
        while len(held) > MOST_LEVELS:
            held.pop(next(iter(held)))
    found: tuple[tuple[str, ...], str] = held[key]
    return found


def pick_value(form: Form, name: str, title: str, info: FieldInfo, start: Any) -> Any:
    """Draw the choice of a value of a column: a list of its texts, or a field for a number."""
    data, beside = extra(info)["value_of"]
    prefix = name.rpartition(".")[0]
    column = form.now(f"{prefix}.{beside}" if prefix else beside, "")
    levels, usual = levels_of(form, data, str(column))
    now = form.now(name, start)
    if levels and now and now not in levels and prefix in form.exchanged:
        now = usual  # the column is in both tables, the value is not
    form.set(name, now)  # a list and a text field under one name would each begin anew
    if not levels or now == "":
        return form.ask(name, start, st.text_input, title, help=info.description)
    known = set(levels)
    options = list(levels) if now in known else [now, *levels]
    words = {value: value if value in known else f"{value} (does not occur)" for value in options}
    return form.ask(name, start, st.selectbox, title, options, format_func=partial(dict.get, words))


def pick_columns(form: Form, name: str, title: str, info: FieldInfo, start: Any) -> Any:
    """Draw the choice of one column, or of several, of what the setting belongs to."""
    more, rule = extra(info), leaf(info)
    known = columns_on_offer(form, more["column_of"])
    wanted = set(more.get("kinds", known.values()))
    options = [column for column, kind in known.items() if kind in wanted]
    options += [column for column in known if column not in options]
    taken = form.taken.setdefault(more["column_of"], set())
    seen = f"_seen_columns:{form.key(name)}"
    # drawn for the first time beside a table that somebody chose (a link says no defaults), or beside another table
    is_said = form.is_set(name) and form.now(name, start) != (list(start) if rule.many else start)
    table = chosen_table(form, more["column_of"])[1]
    here = (table.data if table is not None else "", *options)  # two tables may have the same columns
    if options and st.session_state.get(seen, here if is_said else None) != here:
        renew(form, name, known, wanted, taken, start, more, rule)
        form.exchanged.add(name.rpartition(".")[0])
    st.session_state[seen] = here
    now = form.now(name, list(start) if rule.many else start)
    words = partial(column_title, known)
    if rule.many:
        options += [column for column in now if column not in options]
        chosen = form.ask(name, list(start), st.multiselect, title, options, format_func=words, help=info.description)
        taken.update(chosen)
        return list(chosen)
    if now not in options or start == "":
        options = list(dict.fromkeys([*([""] if start == "" else []), *([] if now is None else [now]), *options]))
    one = form.ask(name, start, st.selectbox, title, options, format_func=words, help=info.description)
    last = st.session_state.get(f"_last_column:{form.key(name)}", one)
    if one in known and one != last and table is not None:
        renew_value(form, name, more["column_of"], one)
    st.session_state[f"_last_column:{form.key(name)}"] = one
    taken.add(one)
    return one


def renew_value(form: Form, name: str, data: str, column: str) -> None:
    """Ask for another value beside a column that the visitor has just changed, if the one there cannot be of it."""
    prefix, _, last = name.rpartition(".")
    if not last.startswith("column"):
        return
    beside = last.replace("column", "value")
    value = form.now(f"{prefix}.{beside}" if prefix else beside, "")
    levels, usual = levels_of(form, data, column)
    is_number = not levels and is_decimal(usual)
    if (is_number and not is_decimal(value)) or (levels and value not in levels):
        form.renewed[name] = is_number, usual


def is_decimal(words: str) -> bool:
    """Whether words are a number as people type it."""
    try:
        return math.isfinite(float(words.replace(",", ".")))
    except ValueError:
        return False


def renew(
    form: Form,
    name: str,
    known: dict[str, str],
    wanted: set[str],
    taken: set[str],
    start: Any,
    more: dict[str, Any],
    rule: Leaf,
) -> None:
    """Exchange columns of the table before for some of the table now; what both have stays."""
    now = form.now(name, list(start) if rule.many else start)
    suited = [column for column, kind in known.items() if kind in wanted] or list(known)
    if wanted >= NUMERIC and "category" not in wanted:  # two texts are no better than a number where one is needed
        suited = [column for column in suited if known[column] in NUMERIC] or suited
    free = [column for column in suited if column not in taken] or suited
    if rule.many:
        if now and known.keys() >= set(now):
            return  # as the link or the visitor has it
        kept = [column for column in now if column in known and column not in taken]
        form.set(name, kept or (free[: max(1, len(start))] if now else []))
    elif now and now not in known and not rule.optional:
        form.set(name, free[0])
        usual = levels_of(form, more["column_of"], free[0])[1]
        form.renewed[name] = known[free[0]] in NUMERIC, usual


def draw_columns(form: Form, prefix: str, layout: Layout, start: TableColumn) -> dict[str, Any]:
    """Draw the choice of the column and of what a row means."""
    kinds: dict[str, str] = {column.name: column.kind for column in layout.columns}
    names = list(kinds)
    current = form.now(f"{prefix}column", start.column)
    options = names if current in names else [current, *names]
    column = form.ask(
        f"{prefix}column", start.column, st.selectbox, "Column", options, format_func=partial(column_title, kinds)
    )
    counts = [name for name in names if name != column and could_count(layout, name)]
    held = form.now(f"{prefix}counts", start.counts)
    if held and held not in counts:
        counts = [held, *counts]
    out: dict[str, Any] = {"column": column, "counts": held}  # no column that could count: one record a row
    if counts:
        out["counts"] = form.ask(
            f"{prefix}counts",
            start.counts,
            st.selectbox,
            "Each row is",
            ["", *counts],
            format_func=row_meaning,
            help="A table that is already a histogram has one row per value and a column that counts it.",
        )
    info = TableColumn.model_fields["kind"]
    out["kind"] = form.leaf(f"{prefix}as", "Read the column as", info, start.kind)
    return out


def could_count(layout: Layout, name: str) -> bool:
    """Whether a column may say how often a value occurs: whole numbers as far as one sees."""
    column = layout.find(name)
    cells = [row[column.index].strip() for row in layout.preview if column.index < len(row)]
    whole = all(WHOLE.fullmatch(cell) for cell in cells if cell)
    return whole and column.kind in ("count", "number", "binary", "identifier")


def column_title(kinds: dict[str, str], name: str) -> str:
    """Words for a column: its name and kind."""
    if not name:
        return "none"
    return f"{printable(name)} ({kinds.get(name, 'not in this table')})"


def row_meaning(counts: str) -> str:
    """Words for what one row stands for."""
    return f"a value, counted by “{printable(counts)}”" if counts else "one record"


def reading(options: ReadOptions) -> dict[str, Any]:
    """Name reading options as links do."""
    return dict(leaves(options))


def by_field(read: dict[str, Any]) -> dict[str, Any]:
    """Name reading options as fields do."""
    return {name: read[link_key(name, info)] for name, info in ReadOptions.model_fields.items()}


def how(layout: Layout) -> str:
    """Say what was detected: "CSV, 20,412 rows, 2 columns; comma, point, UTF-8"."""
    rows = f"{'' if layout.rows_exact else 'about '}{counted(layout.rows, 'row')}"
    sheet = f", sheet “{printable(layout.detected.sheet)}”" if layout.sheets else ""
    size = f"{FORMATS[layout.format]}{sheet}, {rows}, {counted(len(layout.columns), 'column')}"
    if layout.format != "csv":
        return f"{size}."
    words = []
    for name in ("delimiter", "decimal", "encoding", "header", "quote"):
        info = ReadOptions.model_fields[name]
        value = getattr(layout.detected, name)
        title = str(extra(info).get("titles", {}).get(value, value))
        words.append(f"{(info.title or name).lower()}: {title if name == 'encoding' else title.lower()}")
    return f"{size}. Detected {'; '.join(words)}."


def counted(number: int, what: str) -> str:
    """Count things in words.

    Examples
    --------
    >>> counted(1, "row"), counted(20_412, "row")
    ('1 row', '20,412 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def first_rows(layout: Layout) -> None:
    """Show the first rows, so that a wrong reading is seen at once."""
    frame = pd.DataFrame([list(row) for row in layout.preview], columns=list(layout.names))
    st.dataframe(frame, hide_index=True, height="content", alt=f"First rows of {layout.name}")


DRAWERS[TableColumn] = draw_table
DRAWERS[TableChoice] = draw_choice
PICKERS["column_of"] = pick_columns
PICKERS["value_of"] = pick_value
