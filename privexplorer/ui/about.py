"""The About page: definitions, neighbours and limits."""

from __future__ import annotations

import streamlit as st

import privexplorer
from privexplorer.ui import shell


def about() -> None:
    """Draw the About page."""
    with shell.sheet(820):
        shell.heading("What do these numbers promise?")
        for section in (shell.ASSETS / "text" / "about.md").read_text("utf-8").split("\n## "):
            title, _, body = section.removeprefix("## ").partition("\n")
            st.header(title, anchor=False)
            st.markdown(body)
        st.caption(f"privexplorer {privexplorer.__version__}")
