"""What a run gives back: tidy numbers, what they mean in words, and where they came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

from privexplorer.records import Scenario
from privexplorer.studies.words import in_tex

COLUMNS = ["series", "x", "y", "std_error"]


@dataclass(frozen=True)
class Card:
    """One headline number: at most four on a page. ``chip`` has at most 18 characters."""

    label: str
    value: str
    chip: str = ""
    help: str = ""


@dataclass(frozen=True)
class Note:
    """Something a reader must know: shown as an alert."""

    text: str
    level: Literal["info", "warning", "not-private"] = "info"
    title: str = ""


@dataclass(frozen=True)
class Formula:
    """A formula in symbols, then with the current numbers; ``status`` says how far to trust it."""

    title: str
    tex: str
    numbers: str = ""
    status: Literal["exact", "bound", "shape only", "calibrated", "limit", "heuristic"] = "exact"
    source: str = ""

    def __post_init__(self) -> None:
        """Write rounded numbers as TeX does."""
        object.__setattr__(self, "numbers", in_tex(self.numbers))


@dataclass(frozen=True)
class Result:
    """The numbers of one run and their meaning.

    Attributes
    ----------
    study : str
        The study's id.
    scenario : Scenario
        What was asked.
    frame : DataFrame
        One row per point: ``series, x, y, std_error`` and, where there are any, ``low, high`` (an interval),
        ``panel`` (small multiples). ``std_error`` is 0 for exact numbers.
    cards, shows, takeaway, notes, formulas, assumptions
        What the page says about it. ``shows`` is Markdown, ``takeaway`` plain text (alt text).
    extra : dict
        Arrays that a second view of the same result needs; never drawn data.
    runs : int
        Simulated data sets behind each point (0 for closed forms); fewer than asked for while ``complete`` is false.
    """

    study: str
    scenario: Scenario
    frame: pd.DataFrame
    cards: tuple[Card, ...] = ()
    shows: str = ""
    takeaway: str = ""
    notes: tuple[Note, ...] = ()
    formulas: tuple[Formula, ...] = ()
    assumptions: tuple[str, ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)
    runs: int = 0
    complete: bool = True
    provenance: dict[str, str] = field(default_factory=dict)

    def series(self, name: str, panel: str | None = None) -> pd.DataFrame:
        """Rows of one series, in the order of x."""
        rows = self.frame[self.frame["series"] == name]
        return rows if panel is None else rows[rows["panel"] == panel]


def tidy(rows: Sequence[tuple[str, Any, Any, Any]], **more: Any) -> pd.DataFrame:
    """Put curves together: each row is ``(series, x values, y values, standard errors or 0)``.

    Parameters
    ----------
    rows : sequence of tuple
        Arrays of one length per series; a scalar standard error is repeated.
    **more : object
        Constant further columns, such as ``panel="Uniform"``.

    Returns
    -------
    DataFrame
        Columns ``series, x, y, std_error`` and the further ones.
    """
    parts = []
    for name, x, y, error in rows:
        size = np.size(x)
        parts.append(
            pd.DataFrame(
                {
                    "series": [name] * size,
                    "x": np.asarray(x),
                    "y": np.asarray(y, dtype=np.float64),
                    "std_error": np.broadcast_to(np.asarray(error, dtype=np.float64), (size,)),
                }
            )
        )
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    return frame.assign(**more) if more else frame
