"""The result of an analysis: a value, its standard error, its interval and everything that must be said about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError

if TYPE_CHECKING:
    from privexplorer.causal.theory import Guard


@lru_cache(maxsize=256)
def normal_quantile(level: float) -> float:
    """Return the two-sided Normal quantile of an interval.

    Parameters
    ----------
    level : float
        Wanted coverage, strictly between 0 and 1.

    Returns
    -------
    float
        The number z with P(-z < N(0, 1) < z) = level.

    Raises
    ------
    ParameterError
        If the level is not strictly between 0 and 1.

    Examples
    --------
    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    if not 0.0 < level < 1.0:
        raise ParameterError(
            f"The coverage of an interval must lie strictly between 0 and 1; it is {level:g}.", field="level"
        )
    return NormalDist().inv_cdf(0.5 + level / 2.0)


@dataclass(frozen=True)
class Estimate:
    """One estimated number with its Normal interval (Cor. 1).

    Attributes
    ----------
    value : float
        The estimate.
    std_error : float
        Its standard error: root of the mean squared private influence function over the number of records; NaN where
        it is not defined.
    low, high : float
        Ends of the interval; NaN when the small-sample guard refuses one or the standard error is not defined.
    records : int
        Number of people (n).
    target : str
        Name of the target, such as ``ATE``.
    method : str
        How it was computed, such as ``plug-in``, ``likelihood``, ``one-step``.
    level : float
        Intended coverage of the interval.
    flags : tuple of str
        Short codes of what happened on the way, such as ``constrained``.
    notes : tuple of str
        The same and further warnings as sentences for a reader.
    guard : Guard or None
        Verdict of the small-sample guard (spec section 2.7).
    nuisances : mapping of str to anything
        Fitted parts, such as the propensity and the two regressions.
    naive : Estimate or None
        What treating the noisy column as the true one would have said.
    scores : (n,) array or None
        Private influence function per record, where records are at hand; uncentred scores have the mean ``value``.
    """

    value: float
    std_error: float
    low: float
    high: float
    records: int
    target: str
    method: str
    level: float = 0.95
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    guard: Guard | None = None
    nuisances: Mapping[str, Any] = field(default_factory=dict)
    naive: Estimate | None = None
    scores: FloatArray | None = None

    @classmethod
    def normal(
        cls,
        value: float,
        std_error: float,
        *,
        records: int,
        target: str,
        method: str,
        level: float = 0.95,
        flags: Iterable[str] = (),
        notes: Iterable[str] = (),
        guard: Guard | None = None,
        nuisances: Mapping[str, Any] | None = None,
        naive: Estimate | None = None,
        scores: FloatArray | None = None,
    ) -> Estimate:
        """Return an estimate with the interval value ± z · std_error.

        A guard whose level is ``refused`` leaves value and standard error in place but gives no interval.

        Raises
        ------
        ParameterError
            If the level is not strictly between 0 and 1.

        Examples
        --------
        >>> found = Estimate.normal(0.2, 0.1, records=100, target="ATE", method="plug-in")
        >>> round(found.low, 3), round(found.high, 3), found.has_interval
        (0.004, 0.396, True)
        """
        half = normal_quantile(level) * std_error
        if guard is not None and guard.level == "refused":
            half = math.nan
        return cls(
            value=value,
            std_error=std_error,
            low=value - half,
            high=value + half,
            records=records,
            target=target,
            method=method,
            level=level,
            flags=tuple(flags),
            notes=tuple(notes),
            guard=guard,
            nuisances=dict(nuisances or {}),
            naive=naive,
            scores=scores,
        )

    @property
    def has_interval(self) -> bool:
        """Whether both ends of the interval are numbers."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def width(self) -> float:
        """Full width of the interval (NaN without one)."""
        return self.high - self.low

    def covers(self, truth: float) -> bool:
        """Return whether the interval holds ``truth`` (never without an interval)."""
        return self.low <= truth <= self.high


def sense_of_error(
    value: float, std_error: float, low: float, high: float, level: float = 0.95
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return flags and sentences where a standard error does not say what its reader takes it to say.

    Parameters
    ----------
    value, std_error : float
        The estimate and its standard error.
    low, high : float
        Smallest and largest outcome.
    level : float
        Coverage of the interval, strictly between 0 and 1.

    Returns
    -------
    flags, notes : tuples of str
        At most one each: ``constant outcome``, ``not defined`` or ``uninformative``; empty otherwise.

    Examples
    --------
    >>> sense_of_error(0.1, 0.04, 0.0, 1.0)
    ((), ())
    >>> sense_of_error(0.1, 53.6, 0.0, 1.0)[0]
    ('uninformative',)
    """
    span = high - low
    if span == 0.0:
        return ("constant outcome",), (
            f"Everybody has the same outcome ({low:g}), so no effect can show; the standard error of 0 says nothing "
            "about other people.",
        )
    if not math.isfinite(value):
        return ("not defined",), ("The estimate is not defined: it needs the outcomes of a group that nobody is in.",)
    if not math.isfinite(std_error):
        return ("not defined",), (
            "The standard error is not defined, so there is no interval: a group that it divides by is empty.",
        )
    if normal_quantile(level) * std_error > span:
        return ("uninformative",), (
            f"With a standard error of {std_error:.3g} the interval is wider than all effects that this outcome allows "
            f"({span:.3g} either way), so the estimate says nothing: there are too few people, too much noise, or a "
            "group with hardly anybody in it.",
        )
    return (), ()


__all__ = ["Estimate", "normal_quantile", "sense_of_error"]
