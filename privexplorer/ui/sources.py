"""The Sources page: every labelled item, where the app shows it, which test witnesses it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from privexplorer.records import near
from privexplorer.studies import catalogue
from privexplorer.studies.sources import KINDS, Item, items
from privexplorer.studies.words import typeset
from privexplorer.ui import shell

ALL = "all"
ORDER = ("done", "not yet", "part of a proof")


def choose(label: str, values: list[str]) -> str:
    """Draw one filter; the address holds what is chosen."""
    return str(st.selectbox(label, [ALL, *values], key=label.lower(), bind="query-params"))


def name_unknown(filters: dict[str, list[str]]) -> None:
    """Name what the address asks for in vain, and take it off."""
    for part, asked in st.query_params.to_dict().items():
        if part in filters and (part in st.session_state or asked in (ALL, *filters[part])):
            continue
        if part in filters:
            st.warning(f"There is no {part} called “{asked[:60]}”; {near(asked, filters[part])}. All are shown.")
        else:
            st.warning(f"This page has no filter called “{part[:60]}”; {near(part, filters)}.")
        del st.query_params[part]


def address(item: Item) -> str | None:
    """Return the address of the first study that shows an item."""
    if not item.studies:
        return None
    study = catalogue()[item.studies[0]]
    return f"/{shell.page_entry(study.theme).address}?study={study.id}#{study.tab or study.question}"


def sources() -> None:
    """Draw the Sources page."""
    with shell.sheet():
        shell.heading(
            "What is in the sources, and where is it shown?",
            "Every theorem, lemma, equation, table and figure. An item is done when a page shows it and a test "
            "witnesses it.",
        )
        everything = items()
        origins = list(dict.fromkeys(item.source for item in everything))
        asked = st.query_params.get("source")
        chapters = [item.chapter for item in everything if asked not in origins or item.source == asked]
        name_unknown(
            {"source": origins, "chapter": list(dict.fromkeys(chapters)), "kind": list(KINDS), "state": list(ORDER)}
        )
        with st.container(horizontal=True):
            source = choose("Source", origins)
            places = [i.chapter for i in everything if source in (ALL, i.source)]
            chapter = choose("Chapter", list(dict.fromkeys(places)))
            if chapter == ALL and "chapter" in st.query_params:  # the other source has no such chapter
                del st.query_params["chapter"]
            kind = choose("Kind", list(KINDS))
            status = choose("State", list(ORDER))
        chosen = [
            item
            for item in everything
            if source in (ALL, item.source)
            and chapter in (ALL, item.chapter)
            and kind in (ALL, item.kind)
            and status in (ALL, state(item))
        ]
        chosen.sort(key=lambda item: ORDER.index(state(item)))  # what can be looked at comes first
        counted = [item for item in chosen if item.counts]
        done = sum(item.done for item in counted)
        with st.grid(3, min_column_width=150):
            st.metric("Items", f"{len(chosen):,}", border=True)
            st.metric("To be shown", f"{len(counted):,}", border=True)
            st.metric("Shown and tested", f"{done:,}", border=True)
        frame = pd.DataFrame(
            {
                "State": [state(item) for item in chosen],
                "Item": [typeset(item.label) for item in chosen],
                "What it says": [typeset(item.title) for item in chosen],
                "Shown by": [address(item) or "" for item in chosen],
                "Test": [item.test.split("::")[-1] for item in chosen],
                "Check": [typeset(item.check) for item in chosen],
                "Kind": [KINDS[item.kind] for item in chosen],
                "Chapter": [item.chapter for item in chosen],
                "Source": [item.source for item in chosen],
            }
        )
        if frame.empty:
            st.info("No item fits all four choices; set one of them back to “all”.")
            return
        st.dataframe(
            frame,
            hide_index=True,
            height=620,
            column_config={
                "State": st.column_config.TextColumn("State", width="small"),
                "Item": st.column_config.TextColumn("Item", width="medium"),
                "Shown by": st.column_config.LinkColumn("Shown by", display_text=r"#(.*)$", width="medium"),
                "What it says": st.column_config.TextColumn("What it says", width="large"),
                "Test": st.column_config.TextColumn("Test", width="medium"),
                "Check": st.column_config.TextColumn("Check", width="medium"),
            },
            alt=f"{len(chosen)} items of the sources, {done} shown and tested",
        )
        st.caption(
            "Items that are steps of a proof are listed and not counted. The rest of the sources is on its way: "
            "what is not done says so."
        )


def state(item: Item) -> str:
    """Say how far an item is."""
    return "done" if item.done else "not yet" if item.counts else "part of a proof"
