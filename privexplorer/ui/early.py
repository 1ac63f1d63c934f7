"""The first page of a session: the chart first, the form and the details as soon as the chart stands.

A browser that opens the app must load and run the parts that draw the chart, each kind of widget and the table. They
compete for one thread, so everything would come late together. The first run therefore sends the chart alone; a timer
in the browser, which waits its turn behind the chart, then asks for the rest.
"""

from __future__ import annotations

from typing import Any

import streamlit as st

from privexplorer.errors import PrivExplorerError
from privexplorer.records import Scenario
from privexplorer.studies.base import Study
from privexplorer.ui import link, shell, show, state
from privexplorer.ui.run import first_result

PAUSE = 1.0
"""Seconds after which the browser asks for the rest, counted while it is not busy with the chart."""


def is_due() -> bool:
    """Whether a browser (no test, no robot without one) sees its first page of this session."""
    return "_early" not in st.session_state and bool(st.context.headers.get("User-Agent"))


def skip() -> None:
    """Leave the first page as it is."""
    st.session_state["_early"] = "done"


def paint(study: Study[Any], scenario: Scenario, view: str) -> bool:
    """Draw title and chart in the places that the whole page will give them; return whether that was possible."""
    st.session_state["_early"] = "drawn"
    tables = state.uploads()
    try:
        if study.check(scenario, tables):
            return False
        result = first_result(study, scenario, tables, state.holds_upload(scenario.model_dump_json()))
    except PrivExplorerError:
        return False  # the whole page says what is wrong
    if result is None:
        return False
    shell.heading(study.question, study.lead)
    st.container()  # examples and views
    st.sidebar.caption("Settings")
    st.container()  # notes
    st.container()  # progress
    with st.empty().container():
        show.picture(study, result, view, "chart")
    _rest()
    return True


@st.fragment(run_every=PAUSE)
def _rest() -> None:
    if st.session_state["_early"] == "drawn":
        st.session_state["_early"] = "waits"
        return
    st.session_state["_early"] = "done"
    st.rerun()


def asked_for(study: Study[Any]) -> tuple[Scenario, str]:
    """Return the scenario and the view that the page will open with: those of the link, or the defaults."""
    scenario = link.arrived(study)
    view = str(st.session_state.get(f"{study.id}:view") or next(iter(study.views), ""))
    return scenario, view


__all__ = ["asked_for", "is_due", "paint", "skip"]
