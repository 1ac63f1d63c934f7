"""The Home page: cards of the first questions of each subject, links to the others, and how to begin."""

from __future__ import annotations

from typing import Any

import streamlit as st

from privexplorer.studies import catalogue
from privexplorer.studies.base import Study
from privexplorer.ui import shell

CARDS = 3
"""Questions of a subject that get a card with a picture; the others are links below."""


REPRODUCE = "Reproduce"


def subject(study: Study[Any]) -> str:
    """Heading under which a study stands: its page's title; reproductions stand together."""
    entry = shell.page_entry(study.theme)
    return REPRODUCE if entry.section == REPRODUCE else entry.title


def leads(study: Study[Any]) -> bool:
    """Whether its page opens with this study."""
    return study is next(other for other in catalogue().values() if other.theme == study.theme)


def card(study: Study[Any], is_first: bool) -> None:
    """Draw the card of one study."""
    with st.container(border=True, height="stretch"):
        picture = shell.ASSETS / "cards" / f"{study.picture}.svg"
        if picture.exists():
            st.image(str(picture), width="stretch", alt="")
        st.subheader(study.question, anchor=False)
        st.markdown(study.card)
        st.page_link(
            shell.page_entry(study.theme).file,
            label=study.link,
            icon=":material/arrow_forward:",
            icon_position="right",
            query_params=None if is_first else {"study": study.id},
        )


def more(studies: list[Study[Any]]) -> None:
    """List further questions of a subject as links, two in a row."""
    with st.grid(2, min_column_width=340, gap="xsmall"):
        for study in studies:
            st.page_link(
                shell.page_entry(study.theme).file,
                label=study.question,
                icon=":material/arrow_forward:",
                query_params={"study": study.id},
                help=study.card,
            )


def home() -> None:
    """Draw the Home page."""
    with shell.sheet():
        shell.heading(
            "What do you want to know?",
            "Each question opens with a finished example. Then change ε, the sample size or the data and watch what "
            "happens.",
        )
        themes: dict[str, list[Study[Any]]] = {}
        for study in catalogue().values():
            themes.setdefault(subject(study), []).append(study)
        for title, studies in sorted(themes.items(), key=lambda item: item[0] == REPRODUCE):  # at the end
            st.header(title, anchor=False)
            with st.grid(3, min_column_width=280):
                for study in studies[:CARDS]:
                    card(study, is_first=leads(study))
            if studies[CARDS:]:
                more(studies[CARDS:])
        st.space("medium")
        with st.grid(3, min_column_width=280):
            with st.container():
                st.header("Bring your own table", anchor=False)
                st.markdown(
                    "CSV, Excel, Parquet or Stata. It stays in this session on the machine that runs the app, and goes "
                    "when you close the tab."
                )
                st.page_link(
                    shell.page_entry("unseen").file,
                    label="Drop a table",
                    icon=":material/upload_file:",
                    query_params={"study": "unseen-in-data"},
                )
            with st.container():
                st.header("New to this?", anchor=False)
                st.markdown("What ε means, who counts as a neighbour, and what these numbers can and cannot promise.")
                st.page_link(shell.page_entry("about").file, label="Read the definitions", icon=":material/info:")
            with st.container():
                st.header("Presenting?", anchor=False)
                st.markdown(
                    "Add `?embed=true` to any address: larger type, no menu, and the chart with its cards fits the "
                    "screen."
                )
