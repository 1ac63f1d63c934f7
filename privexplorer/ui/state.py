"""What a session remembers: the tables that were dropped on a page, and the ε that they have paid."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

import streamlit as st

from privexplorer.data import Source
from privexplorer.errors import PrivExplorerError
from privexplorer.privacy import PrivateAnswer, SpentBudget

MOST_TABLES = 3


def uploads() -> OrderedDict[str, Source]:
    """Tables of this session by digest, the oldest first."""
    return cast("OrderedDict[str, Source]", st.session_state.setdefault("_uploads", OrderedDict()))


def keep(source: Source) -> list[str]:
    """Remember a table; return the names of those that had to go (a session holds at most three)."""
    held = uploads()
    held.pop(source.digest, None)
    held[source.digest] = source
    gone = []
    while len(held) > MOST_TABLES:
        digest, old = held.popitem(last=False)
        gone.append(old.name)
        st.session_state.get("_own_blocks", {}).pop(digest, None)
    return gone


@dataclass(frozen=True)
class Refused:
    """A file that lies in the uploader but cannot be read, with the reason and (if it came so far) its digest."""

    file_id: str
    error: PrivExplorerError
    digest: str


def refused() -> Refused | None:
    """Return the file in the uploader, if it cannot be read."""
    return cast("Refused | None", st.session_state.get("_refused"))


def refuse(item: Refused | None) -> None:
    """Remember that the file in the uploader cannot be read, or that none lies there any more."""
    st.session_state["_refused"] = item


def holds_upload(text: str) -> bool:
    """Whether a scenario, as text, names a table of this session."""
    return any(digest in text for digest in uploads())


def notices() -> list[str]:
    """Sentences to show once, in the order they came."""
    return cast("list[str]", st.session_state.setdefault("_notices", []))


def take_notices() -> list[str]:
    """Return the sentences to show once and forget them."""
    out = list(notices())
    notices().clear()
    return out


def pay(answers: Iterable[PrivateAnswer]) -> SpentBudget:
    """Note the private answers that are on screen; return what this session has shown in all."""
    budget = cast("SpentBudget", st.session_state.get("_spent", SpentBudget()))
    for item in answers:
        budget = budget.show(item)
    st.session_state["_spent"] = budget
    return budget
