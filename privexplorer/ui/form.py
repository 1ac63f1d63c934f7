"""The form: one widget per setting, drawn from the scenario's declaration.

Every widget goes through one function, ``Form.ask``: it restores values after a switch of a union's kind
or of the page, and keeps widget keys apart (``"<study>:<link name>"``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st
from pydantic.fields import FieldInfo

from privexplorer.records import Record, extra, leaf, link_key, shape, start_value, text, words_of

GROUPS = ("Data", "Releases", "Release", "Question", "Attacker", "Noise", "Privacy", "You", "Method", "Goal")
RUNS = "Runs"

Drawer = Callable[["Form", str, str, type[Record], Record], dict[str, Any]]
DRAWERS: dict[type[Record], Drawer] = {}
"""Records that have a form of their own (a table and its column)."""

Picker = Callable[["Form", str, str, FieldInfo, Any], Any]
PICKERS: dict[str, Picker] = {}
"""Forms of single settings that need to know other settings (``column_of``: the columns of a table)."""


def titled(of: dict[str, type[Record]], kind: str) -> str:
    """Words for a kind."""
    return of[kind].title or kind if kind in of else kind


def worded(words: dict[str, str], value: str) -> str:
    """Words for a value."""
    return words.get(value, value.replace("-", " "))


def decimal_steps(low: float, high: float, whole: bool) -> list[Any]:
    """Exact decimals on a log scale, so that a link reads ``eps=0.05``.

    Examples
    --------
    >>> decimal_steps(10, 50, True), decimal_steps(0.05, 0.1, False)
    ([10, 15, 20, 30, 40, 50], [0.05, 0.07, 0.1])
    """
    grid = [float(f"{mantissa}e{power}") for power in range(-12, 13) for mantissa in (1, 1.5, 2, 3, 4, 5, 7)]
    inside = [value for value in grid if low <= value <= high]
    return [int(value) for value in inside if value == int(value)] if whole else inside


def step_text(value: float) -> str:
    """Write a slider's step as people read it."""
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def under_slider(ends: Sequence[str] | None) -> None:
    """Say what the two ends of a slider mean."""
    if ends:
        with st.container(horizontal=True, horizontal_alignment="distribute"):
            st.caption(ends[0], width="content")
            st.caption(ends[1], width="content")


def widget_value(info: FieldInfo, value: Any) -> Any:
    """Turn a field's value into what its widget holds."""
    what, _ = shape(info)
    if what == "leaf" and leaf(info).many:
        if "column_of" in extra(info):
            return list(value)
        return ", ".join(text((item,)) if isinstance(item, str) else text(item) for item in value)
    return value


def relevant(info: FieldInfo, drawn: dict[str, Any]) -> bool:
    """Whether a setting plays a part, given the settings that were drawn before it."""
    when = extra(info).get("when")
    if not when or when[0] not in drawn:
        return True
    value = drawn[when[0]]
    return bool((value["kind"] if isinstance(value, dict) and "kind" in value else value) == when[1])


def column_beside(name: str) -> str:
    """Return the setting of the column that a comparison or a value belongs to: ``ask.sign2`` to ``ask.column2``."""
    prefix, _, last = name.rpartition(".")
    column = "column" + last.lstrip("abcdefghijklmnopqrstuvwxyz")
    return f"{prefix}.{column}" if prefix else column


class Form:
    """Widgets of one study. ``fresh`` says that the page was switched: widgets start from what was held."""

    def __init__(self, scope: str, fresh: bool) -> None:
        self.scope, self.fresh = scope, fresh
        self.held: dict[str, Any] = st.session_state.setdefault("_held", {})
        self.after: Any = None
        self.more: Any = None
        self.drawn_records: dict[str, tuple[type[Record], dict[str, Any]]] = {}
        self.renewed: dict[str, tuple[bool, str]] = {}
        """Columns exchanged just now, by setting: whether the new one holds numbers, and a value of it."""
        self.exchanged: set[str] = set()
        """Prefixes of settings whose table was exchanged just now, their column included or not."""
        self.taken: dict[str, set[str]] = {}
        """Columns that the pickers of a table hold, by the name of the table."""

    def options(self) -> Any:
        """Return the closed part of the form, made when the first field asks for it."""
        if self.more is None:
            self.more = self.after.expander("More options")
        return self.more

    def key(self, name: str) -> str:
        """Widget key of a setting."""
        return f"{self.scope}:{name}"

    def now(self, name: str, start: Any) -> Any:
        """Return what the widget holds or will hold."""
        key = self.key(name)
        return self.meant(key, st.session_state.get(key, self.held.get(key, start)))

    def meant(self, key: str, value: Any) -> Any:
        """Turn words on a list back into the value they stood for.

        A browser answers with the words it shows; if they have changed since (a table's name became known), Streamlit
        hands on the words themselves.
        """
        words = st.session_state.get("_words", {}).get(key, {})
        if isinstance(value, list):
            return [words.get(item, item) if isinstance(item, str) else item for item in value]
        return words.get(value, value) if isinstance(value, str) else value

    def is_set(self, name: str) -> bool:
        """Whether a link, a preset or the form gave this setting a value before."""
        return self.key(name) in st.session_state or self.key(name) in self.held

    def set(self, name: str, value: Any) -> None:
        """Give a widget a value before it is drawn."""
        st.session_state[self.key(name)] = self.held[self.key(name)] = value

    def ask(self, name: str, start: Any, widget: Callable[..., Any], label: str, *args: Any, **options: Any) -> Any:
        """Draw a widget and return its value."""
        key = self.key(name)
        if self.fresh or key not in st.session_state:
            st.session_state[key] = self.held.get(key, start)
        elif (meant := self.meant(key, st.session_state[key])) != st.session_state[key]:
            st.session_state[key] = meant
        write = options.get("format_func")
        if write is not None and args:
            known = {item for item in args[0] if isinstance(item, str)}
            # words of earlier runs stay: a browser may still show them
            words = st.session_state.setdefault("_words", {}).setdefault(key, {})
            words.update({write(item): item for item in known})
            for item in known & words.keys():
                del words[item]
            self.say_again(key, write)
        self.held[key] = value = widget(label, *args, key=key, **options)
        return value

    def say_again(self, key: str, write: Callable[[Any], Any]) -> None:
        """Send a choice once more if its words have changed: a browser goes on showing those that it was sent first."""
        value = st.session_state[key]
        chosen = value if isinstance(value, list) else [value]
        now = ([*chosen], [write(item) for item in chosen if isinstance(item, str)])
        before = st.session_state.setdefault("_said", {}).get(key, now)
        if before[0] == now[0] and before[1] != now[1]:
            st.session_state[key] = value
        st.session_state["_said"][key] = now

    def draw(self, cls: type[Record], default: Record | None = None, prefix: str = "") -> dict[str, Any]:
        """Draw all fields of a record and return plain data for validation."""
        out: dict[str, Any] = {}
        for name, info in cls.model_fields.items():
            if name == "kind":
                continue
            if not relevant(info, out):
                out[name] = self.unseen(name, info, default, prefix)
            else:
                out[name] = self.field(name, info, default, prefix)
        return out

    def unseen(self, field_name: str, info: FieldInfo, default: Record | None, prefix: str) -> Any:
        """Return the value of a field that is not drawn: it plays no part now, so it keeps what it had."""
        value = self.now(
            prefix + link_key(field_name, info), widget_value(info, start_value(info, field_name, default))
        )
        self.held[self.key(prefix + link_key(field_name, info))] = value
        return words_of(value) if leaf(info).many and isinstance(value, str) else value

    def field(self, field_name: str, info: FieldInfo, default: Record | None, prefix: str = "") -> Any:
        """Draw one field and return plain data."""
        if extra(info).get("advanced") and self.after is not None:
            with self.options():
                return self.drawn(field_name, info, default, prefix)
        return self.drawn(field_name, info, default, prefix)

    def drawn(self, field_name: str, info: FieldInfo, default: Record | None, prefix: str) -> Any:
        """Draw one field where the cursor stands."""
        name, title = prefix + link_key(field_name, info), info.title or field_name
        start = start_value(info, field_name, default)
        what, of = shape(info)
        if what == "union":
            kind = self.ask(
                name, start.kind, st.selectbox, title, list(of), format_func=partial(titled, of), help=info.description
            )
            data = self.record(of[kind], start if start.kind == kind else None, f"{name}.{kind}.", title)
            self.drawn_records[name] = of[kind], data
            return {"kind": kind, **data}
        if what == "several":
            chosen = self.ask(
                name,
                [item.kind for item in start],
                st.multiselect,
                title,
                list(of),
                format_func=partial(titled, of),
                help=info.description,
            )
            same = {item.kind: item for item in start}
            return [{"kind": k, **self.record(of[k], same.get(k), f"{name}.{k}.", title)} for k in chosen]
        if what == "group":
            data = self.record(of, start, f"{name}.", title)
            self.drawn_records[name] = of, data
            return data
        return self.leaf(name, title, info, start)

    def record(self, cls: type[Record], default: Record | None, prefix: str, title: str) -> dict[str, Any]:
        """Draw a sub-record, by its own drawer if it has one."""
        if cls in DRAWERS:
            return DRAWERS[cls](self, prefix, title, cls, default if default is not None else cls())
        shown = [info for name, info in cls.model_fields.items() if name != "kind"]
        if {"low", "high", "points"} <= set(cls.model_fields) and len(shown) == 3:
            return self.grid(cls, default if default is not None else cls(), prefix, title)
        return self.draw(cls, default, prefix)

    def grid(self, cls: type[Record], default: Record, prefix: str, title: str) -> dict[str, Any]:
        """Draw a grid as one row: from, to, points."""
        st.markdown(title)
        columns = st.columns([3, 3, 2], gap="xsmall")
        out: dict[str, Any] = {}
        for column, (field_name, info) in zip(columns, cls.model_fields.items(), strict=True):
            with column:
                out[field_name] = self.field(field_name, info, default, prefix)
        return out

    def leaf(self, name: str, title: str, info: FieldInfo, start: Any) -> Any:
        """Draw a single value."""
        what, more = leaf(info), extra(info)
        beside = column_beside(name)
        if "fresh" in more and beside in self.renewed:
            is_number, usual = self.renewed[beside]
            fresh = more["fresh"][0 if is_number else 1]
            self.set(name, usual if fresh == "" else fresh)
        for need in PICKERS:
            if need in more:
                return PICKERS[need](self, name, title, info, start)
        if what.base is bool:
            return self.ask(name, start, st.toggle, title, help=info.description)
        if what.choices:
            words = partial(worded, dict(more.get("titles", {})))
            return self.ask(
                name, start, st.selectbox, title, list(what.choices), format_func=words, help=info.description
            )
        if what.many:
            raw = self.ask(name, widget_value(info, start), st.text_input, title, help=info.description)
            return words_of(raw or "")
        if what.base is str:
            return self.ask(name, start, st.text_input, title, help=info.description)
        if more.get("scale") == "log" and not what.optional:
            return self.log_slider(name, title, info, start)
        if more.get("scale") == "linear" and not what.optional:
            return self.linear_slider(name, title, info, start)
        return self.number(name, title, info, start)

    def log_slider(self, name: str, title: str, info: FieldInfo, start: Any) -> Any:
        """Draw a slider on a log scale; a value between its steps (from a link or a file) becomes a step."""
        what, more = leaf(info), extra(info)
        low, high = float(more.get("low") or what.low or 0), float(more.get("high") or what.high or 0)
        now = self.now(name, start)
        steps = sorted({*decimal_steps(low, high, what.base is int), start, now})
        with st.container(gap=None):
            value = self.ask(name, start, st.select_slider, title, steps, format_func=step_text, help=info.description)
            under_slider(more.get("ends"))
        return value

    def linear_slider(self, name: str, title: str, info: FieldInfo, start: Any) -> Any:
        """Draw a slider with even steps; a value beyond its ends (from a link or a file) widens it."""
        what, more = leaf(info), extra(info)
        low, high = float(more.get("low") or what.low or 0), float(more.get("high") or what.high or 1)
        step = what.base(1) if what.base is int else 10.0 ** math.floor(math.log10((high - low) / 50))
        now = self.now(name, start)
        ends = what.base(min(low, now)), what.base(max(high, now))
        with st.container(gap=None):
            value = self.ask(name, start, st.slider, title, *ends, step=step, help=info.description)
            under_slider(more.get("ends"))
        return value

    def number(self, name: str, title: str, info: FieldInfo, start: Any) -> Any:
        """Draw a number field; an open bound is the scenario's to refuse, in a sentence."""
        what = leaf(info)
        options: dict[str, Any] = {"step": 1} if what.base is int else {"format": "%g"}
        if what.optional:
            options["placeholder"] = "not given"
        return self.ask(
            name,
            start,
            st.number_input,
            title,
            None if what.low is None else what.base(what.low),
            None if what.high is None else what.base(what.high),
            help=info.description,
            **options,
        )


def draw_form(form: Form, cls: type[Record]) -> dict[str, Any]:
    """Draw a whole scenario in the sidebar, in groups, with runs and seed in a closed expander at the end."""
    default = cls()
    groups: dict[str, list[str]] = {}
    for field_name, info in cls.model_fields.items():
        if field_name != "kind":
            groups.setdefault(extra(info).get("group", "Method"), []).append(field_name)
    order = [g for g in GROUPS if g in groups] + [g for g in groups if g not in GROUPS and g != RUNS]
    out: dict[str, Any] = {}
    with st.sidebar:
        body = st.container()
        form.after = st.container()
        with body:
            for group in order:
                shown = [name for name in groups[group] if relevant(cls.model_fields[name], out)]
                if not all(extra(cls.model_fields[name]).get("advanced") for name in shown):
                    st.header(group, anchor=False)
                for field_name in groups[group]:
                    info = cls.model_fields[field_name]
                    if relevant(info, out):
                        out[field_name] = form.field(field_name, info, default)
                    else:
                        out[field_name] = form.unseen(field_name, info, default, "")
        if RUNS in groups:
            with st.expander("Runs and seed" if len(groups[RUNS]) > 1 else "Seed"):
                for field_name in groups[RUNS]:
                    out[field_name] = form.field(field_name, cls.model_fields[field_name], default)
    return {name: out[name] for name in cls.model_fields if name in out}
