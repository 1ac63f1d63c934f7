"""Notes and numbers that several studies need in the same words."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from privexplorer.data import bundled
from privexplorer.studies.result import Note
from privexplorer.studies.words import plain_markdown, plus_minus, significant


def table_notes(distribution: Any) -> tuple[Note, ...]:
    """Say which table numbers come from, and that those of a visitor's table are not private; synthetic: nothing."""
    if distribution.kind != "empirical":
        return ()
    known = next((one for one in bundled() if one.id == distribution.table.data), None)
    if known is not None:
        return (
            Note(
                f"The distribution is the column {plain_markdown(distribution.table.column)} of a public table that "
                f"comes with this program, **{known.title}**: {known.description} Numbers like these about a table of "
                "your own would not be private."
            ),
        )
    return (
        Note(
            "These numbers come from your table and are **not private**. Use them to choose ε; do not publish them.",
            "not-private",
        ),
    )


def stated(value: float, error: float) -> tuple[str, str]:
    """Write a value and its ± (two standard errors); an error below the last of three digits is said to be small.

    Examples
    --------
    >>> stated(0.46528, 0.00003), stated(0.0385, 0.003), stated(26.71, 0.0748)
    (('0.465', '± under 0.001'), ('0.038', '± 0.003'), ('26.7', '± under 0.1'))
    """
    if value and math.isfinite(value) and error > 1e-6 * abs(value):
        last = 10.0 ** (math.floor(math.log10(abs(value))) - 2)  # the last of three digits
        last = min(last, 1.0) if abs(value) < 1e6 else last
        if error < last:
            return significant(value), f"± under {significant(last, 1)}"
    return plus_minus(value, error)


def rows_of(frame: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Keep the rows of one view: those whose panel begins with the view's words."""
    return frame[frame["panel"].str.startswith(panel)]
