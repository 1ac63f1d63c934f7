"""The address of a page: read on arrival and on Back or Forward, written by us before each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from privexplorer.errors import printable
from privexplorer.records import Record, Scenario, dump, leaves, near, repeated, salvage, settings
from privexplorer.studies.base import Study, digest
from privexplorer.ui.form import widget_value

OWN = ("study", "view")
"""Parts of the address that belong to the page, not to the scenario."""


def current() -> dict[str, list[str]]:
    """Return the address as it is now."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def seed_form(scope: str, record: Record) -> None:
    """Give every widget of a form, also those not drawn yet, the values of a scenario."""
    infos = {setting.name: setting.info for setting in settings(type(record))}
    held = st.session_state.setdefault("_held", {})
    for name, value in leaves(record):
        widget = widget_value(infos[name], value)
        st.session_state[f"{scope}:{name}"] = held[f"{scope}:{name}"] = widget


def read(page: str, studies: Mapping[str, Study[Any]]) -> bool:
    """Read the address if it decides (arrival, Back, Forward); return whether widgets start from held values."""
    state, now = st.session_state, current()
    fresh = bool(state["_fresh"])
    if not ((now != state.get("_written") and (now or not fresh)) or (fresh and now)):
        return fresh
    notes = [note for name in OWN for note in repeated(name, now.get(name, []), "the link")]
    first = next(iter(studies))
    wanted = now.get("study", [first])[-1]
    if wanted not in studies:
        notes.append(f"This page has no question called “{wanted[:60]}”; {near(wanted, studies)}; {first} is shown.")
        wanted = first
    if now.get("study", [wanted]) != [wanted]:
        del st.query_params["study"]  # it is written anew where the page needs it
    state[f"{page}:study"] = state.setdefault("_held", {})[f"{page}:study"] = wanted
    chosen = studies[wanted]
    scenario, more = salvage(chosen.scenario, {k: v for k, v in now.items() if k not in OWN}, "the link")
    seed_form(wanted, scenario)
    view = now.get("view", [None])[-1]
    if view is not None and view not in chosen.views:
        notes.append(f"There is no view called “{view[:40]}” here; the first view is shown.")
        view = None
    if chosen.views:
        state[f"{wanted}:view"] = state["_held"][f"{wanted}:view"] = view or next(iter(chosen.views))
    state["_link_notes"] = (digest(chosen, scenario), [*map(printable, notes), *more])
    state["_arrived"] = (wanted, scenario)
    return False


def arrived(study: Study[Any]) -> Scenario:
    """Return what the address asked of this study when the page was opened; the defaults if it said nothing."""
    wanted, scenario = st.session_state.get("_arrived", ("", None))
    return scenario if wanted == study.id else study.scenario()


def parts(scenario: Scenario, page: Mapping[str, str]) -> dict[str, list[str]]:
    """Write a scenario and the page's own parts as an address."""
    out: dict[str, list[str]] = {name: [value] for name, value in page.items()}
    for name, value in dump(scenario):
        out.setdefault(name, []).append(value)
    return out


def write(scenario: Scenario, page: Mapping[str, str]) -> None:
    """Put the scenario into the address, so that it is right while the page computes."""
    out, now = parts(scenario, page), current()
    if out != now and out != {name: value for name, value in now.items() if name != "study" or name in out}:
        st.query_params.from_dict(out)
        now = out
    st.session_state["_written"] = now  # an address that says more than it must is left alone


def absolute(scenario: Scenario, page: Mapping[str, str]) -> str:
    """Return the whole link."""
    base = (st.context.url or "").split("?")[0]
    query = urlencode(parts(scenario, page), doseq=True)
    return f"{base}?{query}" if query else base
