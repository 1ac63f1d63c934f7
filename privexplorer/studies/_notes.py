"""Notes that several studies need."""

from __future__ import annotations

from typing import Any

from privexplorer.studies.result import Note


def table_notes(distribution: Any) -> tuple[Note, ...]:
    """Say that numbers from a visitor's table are not private; nothing for a synthetic family."""
    if distribution.kind != "empirical":
        return ()
    return (
        Note(
            "These numbers come from your table and are **not private**. Use them to choose ε; do not publish them.",
            "not-private",
        ),
    )
