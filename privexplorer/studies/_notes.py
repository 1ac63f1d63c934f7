"""Notes and numbers that several studies need in the same words."""

from __future__ import annotations

from typing import Any

import pandas as pd

from privexplorer.studies.result import Note
from privexplorer.studies.words import plus_minus, significant


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


def stated(value: float, error: float) -> tuple[str, str]:
    """Write a value and its ± (two standard errors); an error far below the third digit is only said to be small.

    Examples
    --------
    >>> stated(0.46528, 0.00003), stated(0.0385, 0.003)
    (('0.465', '± under 0.5%'), ('0.038', '± 0.003'))
    """
    if 0 < error < 0.005 * abs(value):
        return significant(value), "± under 0.5%"
    return plus_minus(value, error)


def rows_of(frame: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Keep the rows of one view: those whose panel begins with the view's words."""
    return frame[frame["panel"].str.startswith(panel)]
