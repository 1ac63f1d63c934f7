"""What the pages with published results share: runs, settings that take turns, verdicts, and printed errata."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.records import field
from privexplorer.studies.base import stacked
from privexplorer.studies.words import significant

ANOTHER_WAY = "Each of these numbers was printed one way and is right another way."


def runs_field(help: str, most: int) -> Any:
    """Declare the runs of a page whose items have usual numbers of their own, for a field that may be left empty."""
    return field(None, "Runs", help, key="trials", group="Runs", ge=8, le=most)


def in_turn(parts: Sequence[FloatArray], turns: int, trials: int) -> list[FloatArray]:
    """Take blocks that ``turns`` settings drew in turn apart again; a draft may not have reached every setting."""
    return [stacked(parts[number::turns], trials) for number in range(min(turns, len(parts)))]


Outcome = Literal["holds", "partly", "at most partly", "does not hold", "cannot be told"]
"""What became of a claim. ``"cannot be told"``: a simulated number is within two standard errors of its limit;
``"at most partly"``: so it is on some panels, and on the others the claim does not hold."""

WORDS: dict[Outcome, str] = {
    "holds": "**Holds.**",
    "partly": "**Holds in part.**",
    "at most partly": "**Holds in part at most.**",
    "does not hold": "**Does not hold.**",
    "cannot be told": "**Cannot be told with this many runs.**",
}


class Statement(Protocol):
    """Something that was claimed, with what was found."""

    @property
    def text(self) -> str:
        """The claim."""

    @property
    def outcome(self) -> Outcome:
        """Whether it is true here."""

    @property
    def evidence(self) -> str:
        """The numbers."""


def yes_or_no(holds: bool) -> Outcome:
    """Return the outcome of a statement about exact numbers."""
    return "holds" if holds else "does not hold"


def judged(statements: Iterable[Statement]) -> list[str]:
    """Write one line for each claim: the verdict, the claim, the evidence."""
    return [f"- {WORDS[one.outcome]} {one.text} {one.evidence}" for one in statements]


# ---- numbers beside their limits ----

MOST_DIGITS = 15


def side(value: float, error: float, limit: float) -> int:
    """Return 1 for a value above its limit, -1 for one at or below it, 0 for one within two standard errors of it.

    Examples
    --------
    >>> side(1.3, 0.1, 1.0), side(0.7, 0.1, 1.0), side(1.1, 0.1, 1.0), side(1.0, 0.0, 1.0)
    (1, -1, 0, -1)
    """
    if error > 0 and abs(value - limit) <= 2 * error:
        return 0
    return 1 if value > limit else -1


def apart(value: float, limit: float, digits: int = 2) -> tuple[str, str]:
    """Write a value and its limit with as many digits as show which of them is larger, at least ``digits``.

    Examples
    --------
    >>> apart(1.317, 1.3), apart(1.0801, 1.08, 3), apart(1.2, 1.7), apart(0.5, 0.5)
    (('1.32', '1.30'), ('1.0801', '1.0800'), ('1.2', '1.7'), ('0.50', '0.50'))
    """
    while digits < MOST_DIGITS and value != limit and significant(value, digits) == significant(limit, digits):
        digits += 1
    return significant(value, digits), significant(limit, digits)


def beside(value: float, error: float, limit: float) -> str:
    """Write a value ± two standard errors with as many digits as decide on which side of its limit it lies.

    Examples
    --------
    >>> beside(1.1536, 0.0041, 1.15), beside(1.2361, 0.018, 1.2), beside(1.071, 0.01, 1.2), beside(1.3004, 0, 1.3)
    ('1.154 ± 0.008', '1.2361 ± 0.0360', '1.07 ± 0.02', '1.3004 ± 0')
    """
    if not math.isfinite(value):
        return "–"
    if not math.isfinite(error):
        return f"{significant(value)} (one run)"
    two = 2 * error
    decimals = max(0, -math.floor(math.log10(two)) + (two / 10 ** math.floor(math.log10(two)) < 2)) if two > 0 else 2
    decimals = min(decimals, MOST_DIGITS)
    while decimals < MOST_DIGITS:
        shown, wide = round(value, decimals), round(two, decimals)
        gap = round(shown - limit, MOST_DIGITS)
        told = 0 if two > 0 and abs(gap) <= wide else 1 if gap > 0 else -1
        if told == side(value, error, limit):
            break
        decimals += 1
    spread = f"{two:,.{decimals}f}" if two > 0 else "0"
    return f"{value:,.{decimals}f} ± {spread}".replace("-", "−")


@dataclass(frozen=True, eq=False)
class Estimate:
    """Numbers estimated from the same runs, and what each run adds to their errors.

    Attributes
    ----------
    value : (...) float array
        One or several numbers.
    shares : (trials, ...) float array
        First-order effect of each run on the number, times the number of runs: the spread of these over the root
        of the runs is the standard error (delta method).
    """

    value: FloatArray
    shares: FloatArray

    @property
    def error(self) -> FloatArray:
        """Standard errors; infinite for a single run."""
        runs = self.shares.shape[0]
        if runs < 2:
            return np.full(np.shape(self.value), np.inf)
        return np.asarray(self.shares.std(axis=0, ddof=1) / math.sqrt(runs))

    def at(self, place: int) -> Estimate:
        """Keep one number."""
        return Estimate(self.value[place], self.shares[:, place])

    def part(self, first: int) -> Estimate:
        """Keep the numbers from place ``first`` on."""
        return Estimate(self.value[first:], self.shares[:, first:])

    def typical(self) -> Estimate:
        """Average ratios on a log scale: their geometric mean."""
        middle = np.exp(np.mean(np.log(self.value)))
        return Estimate(middle, middle * (self.shares / self.value).mean(axis=-1))


def error_ratio(above: FloatArray, below: FloatArray) -> Estimate:
    """Divide two root-mean-square errors that come from the same runs.

    Parameters
    ----------
    above, below : (trials, points) float array
        Squared errors.

    Returns
    -------
    Estimate
        With values of shape ``(points,)``. What the runs have in common does not count as uncertainty.
    """
    top, bottom = above.mean(axis=0), below.mean(axis=0)
    value = np.sqrt(top / bottom)
    return Estimate(value, value / 2 * (above / top - below / bottom))


def mean_of(estimates: Sequence[Estimate]) -> tuple[float, float]:
    """Average single numbers from independent runs; return the average and its standard error."""
    values, errors = (
        [float(part) for part in parts] for parts in zip(*((e.value, e.error) for e in estimates), strict=True)
    )
    return float(np.mean(values)), math.sqrt(sum(error**2 for error in errors)) / len(errors)


def among(sides: Sequence[int]) -> Outcome:
    """Judge a claim that is made for several panels: -1 where it holds, 1 where not, 0 where it cannot be told.

    Examples
    --------
    >>> among([-1, -1, -1]), among([-1, 1, 0]), among([1, 1, 1]), among([-1, 0, -1]), among([1, 0, 1])
    ('holds', 'partly', 'does not hold', 'cannot be told', 'at most partly')
    """
    if 1 not in sides:
        return "cannot be told" if 0 in sides else "holds"
    return "partly" if -1 in sides else "at most partly" if 0 in sides else "does not hold"


def worst_of(values: FloatArray, errors: FloatArray, limit: float) -> tuple[int, int]:
    """Judge whether any of several numbers is above a limit; return the side and the place that decides.

    1 if one is surely above, -1 if all are surely not, else 0.
    """
    low, high = values - 2 * errors - limit, values + 2 * errors - limit
    if np.any(low > 0):
        return 1, int(np.argmax(low))
    if np.any((high >= 0) & (errors > 0)):
        return 0, int(np.argmax(np.where(errors > 0, high, -np.inf)))
    return -1, int(np.argmax(values))


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


__all__ = [
    "ANOTHER_WAY",
    "WORDS",
    "Erratum",
    "Estimate",
    "Outcome",
    "among",
    "apart",
    "beside",
    "errata_table",
    "error_ratio",
    "in_turn",
    "judged",
    "mean_of",
    "runs_field",
    "side",
    "worst_of",
    "yes_or_no",
]
