"""The Home page: one card per study, and how to begin."""

from __future__ import annotations

from typing import Any

import streamlit as st

from privexplorer.studies import catalogue
from privexplorer.studies.base import Study
from privexplorer.ui import shell


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
            themes.setdefault(study.theme, []).append(study)
        for theme, studies in themes.items():
            st.header(shell.page_entry(theme).title, anchor=False)
            with st.grid(3, min_column_width=280):
                for study in studies:
                    card(study, is_first=study is studies[0])
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
