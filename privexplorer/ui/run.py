"""Run a study on a page: cached blocks, progress with time left, drafts that replace one another, a Cancel button."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import streamlit as st

from privexplorer.data import Tables
from privexplorer.records import Scenario
from privexplorer.simulation import one_thread_for_good, stream
from privexplorer.studies.base import Study
from privexplorer.studies.result import Result
from privexplorer.ui.cache import Cache, cache, cluster_client

FIRST_BAR = 0.25
BAR_EVERY = 0.1
FIRST_DRAFT = 0.35
DRAFT_EVERY = 0.7

ONE_CANCEL = "<style>[data-testid=stStatusWidget] {display: none}</style>"
"""Streamlit's own Stop would leave a page that still looks busy; while there is a Cancel, it is the only one."""

Draw = Callable[[Result, str], None]


def stop(key: str) -> None:
    """Remember that the visitor stopped this run; what is finished stays."""
    st.session_state["_stopped"] = key


def go_on() -> None:
    """Let a stopped run continue."""
    st.session_state["_stopped"] = None


def client() -> Any:
    """Return the cluster that the app was started with, if there is one."""
    address = os.environ.get("PRIVEXPLORER_CLUSTER")
    return cluster_client(address) if address else None


def run(study: Study[Any], scenario: Scenario, tables: Tables | None, private: bool, draw: Draw) -> Result:
    """Answer the question on screen and return the result.

    ``draw(result, key)`` shows a result in one place; it is called for drafts and for the end.
    """
    one_thread_for_good()
    key, store = study.digest(scenario), cache(private)
    prepared = store.prepared.get(key)
    status = st.empty()
    if prepared is None:
        prepared = study.prepare(scenario, tables)
        store.prepared.put(key, prepared)
    total = study.blocks(scenario)
    parts = store.known(key, total)
    stopped = st.session_state.get("_stopped") == key
    if len(parts) < total and not stopped:
        _compute(study, scenario, prepared, parts, total, store, key, status, draw)
    short = len(parts) < total
    if short and parts:
        with status.container(horizontal=True, vertical_alignment="center"):
            st.info(f"Stopped after {_share(len(parts), total)} of the runs. What you see rests on these only.")
            st.button("Continue", on_click=go_on, key=f"continue-{key[:12]}")
    elif short:
        with status.container(horizontal=True, vertical_alignment="center"):
            st.info("Stopped before there was anything to show.")
            st.button("Continue", on_click=go_on, key=f"continue-{key[:12]}")
        st.stop()
    else:
        status.empty()
    result = study.finish(scenario, study.assemble(scenario, prepared, parts))
    draw(replace(result, complete=not short), "chart")
    return result


def first_result(study: Study[Any], scenario: Scenario, tables: Tables | None, private: bool) -> Result | None:
    """Answer from what is there after a moment; ``None`` if not even the first block is.

    Blocks are kept, so that the run that follows goes on where this one ends.
    """
    one_thread_for_good()
    key, store = study.digest(scenario), cache(private)
    prepared = store.prepared.get(key)
    begun = time.perf_counter()
    if prepared is None:
        prepared = study.prepare(scenario, tables)
        store.prepared.put(key, prepared)
    total = study.blocks(scenario)
    parts = store.known(key, total)
    if len(parts) < total:
        with closing(stream(study.run_block, prepared, total, client=client(), start=len(parts))) as blocks:
            for part in blocks:
                store.blocks.put((key, len(parts)), part)
                parts.append(part)
                if len(parts) == total or time.perf_counter() - begun > FIRST_DRAFT:
                    break
    if total and not parts:
        return None
    return replace(study.finish(scenario, study.assemble(scenario, prepared, parts)), complete=len(parts) == total)


def _share(done: int, total: int) -> str:
    """Write how much is done; neither nothing nor all, as long as it is a part."""
    return f"{min(max(round(100 * done / total), 1), 99)}%"


def _compute(
    study: Study[Any],
    scenario: Scenario,
    prepared: Any,
    parts: list[Any],
    total: int,
    store: Cache,
    key: str,
    status: Any,
    draw: Draw,
) -> None:
    begun = last_bar = last_draft = time.perf_counter()
    had = len(parts)
    bar: Any = None
    with closing(stream(study.run_block, prepared, total, client=client(), start=had)) as blocks:
        for part in blocks:
            store.blocks.put((key, len(parts)), part)
            parts.append(part)
            now = time.perf_counter()
            done = len(parts)
            if done == total:
                break
            if bar is None and now - begun > FIRST_BAR:
                with status.container(horizontal=True, vertical_alignment="center", key="running"):
                    bar = st.empty()
                    st.html(ONE_CANCEL)
                    st.button("Cancel", icon=":material/stop:", on_click=stop, args=(key,), key=f"stop-{key[:12]}")
                last_bar = 0.0
            # each call to Streamlit is also where a newer click ends this run
            if bar is not None and now - last_bar > BAR_EVERY:
                last_bar = now
                left = (now - begun) / (done - had) * (total - done)
                words = f"{_share(done, total)} of the runs, about {max(1, round(left))} s left. The chart is a draft."
                bar.progress(done / total, words)
            if bar is not None and now - last_draft > (DRAFT_EVERY if last_draft > begun else FIRST_DRAFT):
                draft = study.assemble(scenario, prepared, parts)
                draw(replace(study.finish(scenario, draft), complete=False), f"draft-{done}")
                last_draft = time.perf_counter()
