"""What the pages with published results share: runs, settings that take turns, verdicts, and printed errata."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.records import field
from privexplorer.studies.base import stacked

ANOTHER_WAY = "Each of these numbers was printed one way and is right another way."


def runs_field(help: str, most: int) -> Any:
    """Declare the runs of a page whose items have usual numbers of their own, for a field that may be left empty."""
    return field(None, "Runs", help, key="trials", group="Runs", ge=8, le=most)


def in_turn(parts: Sequence[FloatArray], turns: int, trials: int) -> list[FloatArray]:
    """Take blocks that ``turns`` settings drew in turn apart again; a draft may not have reached every setting."""
    return [stacked(parts[number::turns], trials) for number in range(min(turns, len(parts)))]


class Statement(Protocol):
    """Something that was claimed, with what was found."""

    @property
    def text(self) -> str:
        """The claim."""

    @property
    def holds(self) -> bool:
        """Whether it is true here."""

    @property
    def evidence(self) -> str:
        """The numbers."""


def verdict(holds: bool) -> str:
    """Begin a line with what became of a claim."""
    return "**Holds.**" if holds else "**Does not hold.**"


def judged(statements: Iterable[Statement]) -> list[str]:
    """Write one line for each claim: the verdict, the claim, the evidence."""
    return [f"- {verdict(one.holds)} {one.text} {one.evidence}" for one in statements]


@dataclass(frozen=True)
class Erratum:
    """One place where the source's number is not the right one."""

    id: str
    where: str
    quantity: str
    printed: float
    corrected: float

    @property
    def ratio(self) -> float:
        """Printed over corrected; below 1 the source understates. 0 or negative where the printed number is."""
        return self.printed / self.corrected


def errata_table(rows: Iterable[Erratum]) -> pd.DataFrame:
    """Return one row per erratum, with what it is about."""
    return pd.DataFrame(
        [
            {
                "x": one.id,
                "where": one.where,
                "quantity": one.quantity,
                "printed": one.printed,
                "corrected": one.corrected,
                "printed ÷ corrected": one.ratio,
            }
            for one in rows
        ]
    )


__all__ = ["ANOTHER_WAY", "Erratum", "errata_table", "in_turn", "judged", "runs_field", "verdict"]
