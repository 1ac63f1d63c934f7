"""The frame around every page: one table of pages, the menu, the logo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

ROOT = Path(__file__).resolve().parents[2]
if not (ROOT / "app.py").exists():  # installed from a wheel: the app travels inside the package
    ROOT = Path(__file__).resolve().parents[1] / "_app"
ASSETS = ROOT / "assets"
NARROW_COOKIE = "privexplorer_narrow"
"""Set by the server while the window is as narrow as a phone's."""


@dataclass(frozen=True)
class PageEntry:
    """One page: its file, title, address and place in the menu."""

    id: str
    title: str
    section: str
    icon: str
    help: str

    @property
    def file(self) -> Path:
        """Absolute path of the page's script.

        Its name is the page's address: before the menu has run once, Streamlit goes by the names of the files.
        """
        return ROOT / "pages" / f"{self.address}.py"

    @property
    def address(self) -> str:
        """Name of the page in a link."""
        return self.id.replace("_", "-")


PAGES = (
    PageEntry("home", "Home", "", ":material/home:", "All questions on one page"),
    PageEntry("entropy", "Entropy", "Explore", ":material/stacked_line_chart:", "Error of a private entropy estimate"),
    PageEntry("unseen", "What is unseen", "Explore", ":material/visibility_off:", "Support coverage and support size"),
    PageEntry("price", "Price of privacy", "Explore", ":material/price_change:", "When privacy costs next to nothing"),
    PageEntry("plan", "Plan a sample", "Explore", ":material/groups:", "How many people, how much privacy"),
    PageEntry(
        "predictability",
        "Predictability",
        "Explore",
        ":material/psychology:",
        "What a release tells an attacker who holds a part of the data",
    ),
    PageEntry(
        "effects",
        "Effects under local privacy",
        "Explore",
        ":material/compare_arrows:",
        "Does it work? Treatment effects when one column is replaced by noise",
    ),
    PageEntry(
        "swapped", "How the swapping works", "Explore", ":material/swap_horiz:", "Values swapped for noise, and undone"
    ),
    PageEntry(
        "effects_theory", "Why it works", "Explore", ":material/functions:", "Double robustness, errors and identities"
    ),
    PageEntry(
        "reproduce_properties",
        "Private property estimation",
        "Reproduce",
        ":material/fact_check:",
        "The published figures, recomputed",
    ),
    PageEntry(
        "reproduce_predictability",
        "Predictability, reproduced",
        "Reproduce",
        ":material/fact_check:",
        "The published statements and errata, recomputed",
    ),
    PageEntry(
        "reproduce_effects",
        "Local privacy, reproduced",
        "Reproduce",
        ":material/fact_check:",
        "Propositions checked live, coverage tables and errata",
    ),
    PageEntry("sources", "Sources", "About", ":material/menu_book:", "Every labelled item and where it is shown"),
    PageEntry("about", "About", "About", ":material/info:", "Definitions, neighbours and limits"),
)


def page_entry(name: str) -> PageEntry:
    """Return the entry of a page by its id."""
    return next(entry for entry in PAGES if entry.id == name)


def _page(entry: PageEntry) -> Any:
    return st.Page(
        entry.file,
        title=entry.title,
        icon=entry.icon,
        url_path=entry.address if entry.id != "home" else None,
        default=entry.id == "home",
        help=entry.help,
    )


def navigation() -> Any:
    """Build the menu; afterwards Streamlit knows all pages of this session."""
    sections: dict[str, list[Any]] = {}
    for entry in PAGES:
        sections.setdefault(entry.section, []).append(_page(entry))
    st.session_state["_routed"] = True
    return st.navigation(sections, position="hidden" if is_presented() else "top")


def is_presented() -> bool:
    """Whether the page is shown in a frame or by a presenter (``?embed=true``)."""
    return bool(st.context.is_embedded)


def is_phone() -> bool:
    """Whether the visitor's browser says that it runs on a phone, or in a window as narrow."""
    headers = st.context.headers
    says_so = headers.get("Sec-Ch-Ua-Mobile") == "?1" or "Mobi" in (headers.get("User-Agent") or "")
    return says_so or st.context.cookies.get(NARROW_COOKIE) == "1"


def configure() -> None:
    """Set title and icon; without an icon of its own the browser would be sent elsewhere for the page's icon."""
    st.set_page_config(
        page_title="privexplorer",
        page_icon=str(ASSETS / "favicon.png"),
        layout="wide",
        initial_sidebar_state="collapsed" if is_presented() else "auto",
    )


def run() -> None:
    """Draw the frame and the page that the address asks for; all of ``app.py``."""
    configure()
    page = navigation()
    if not is_presented():
        st.logo(str(ASSETS / "logo.svg"), size="large")
    page.run()


def open_page(name: str) -> None:
    """Begin a page. A visitor whose first address is this page gets the whole frame first."""
    if not st.session_state.get("_routed"):
        configure()
        navigation()
        st.rerun()
    # a page switch makes new widgets under old keys, so the form must know of it, whichever page came between
    st.session_state["_fresh"] = st.session_state.get("_here") != name
    st.session_state["_here"] = name


def sheet(width: int = 1120) -> Any:
    """Return the centred column that holds a page's content."""
    outer = st.container(horizontal_alignment="center")
    return outer.container(width=width)


def heading(question: str, lead: str = "") -> None:
    """Write the page title and, unless a presenter shows the page, the sentence below it."""
    st.title(question, anchor=False)
    if lead and not is_presented():
        st.markdown(lead)
