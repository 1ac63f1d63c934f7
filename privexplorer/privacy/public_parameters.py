"""Public parameters: declared by people from public knowledge, never read off the private data.

What the data show (the number of different values, the smallest and largest value, the number of records under
added or removed records) is private itself: a noise scale or a bound taken from it would leak.
"""

from __future__ import annotations

import math

from privexplorer.errors import ParameterError


def declared_domain_size(declared: int | None, observed: int) -> int:
    """Return the declared number of possible values k; refuse an empty or impossible one.

    Parameters
    ----------
    declared : int or None
        What the user states from public knowledge; ``None`` while the field is empty.
    observed : int
        How many different values the column shows. Not private: only for refusing a wrong declaration, never used
        in its place.

    Returns
    -------
    int
        ``declared``.

    Raises
    ------
    ParameterError
        If it is empty, no whole number of at least 1, or below ``observed``.

    Examples
    --------
    >>> declared_domain_size(50, observed=12)
    50
    """
    if declared is None:
        raise ParameterError(
            "Declare how many different values a record could take (k), from public knowledge such as a code book; "
            "the number that the data show is private itself, so it is never filled in.",
            field="k",
        )
    if isinstance(declared, bool) or declared != int(declared) or declared < 1:
        raise ParameterError(f"k must be a whole number of at least 1; it is {declared}.", field="k")
    if declared < observed:
        raise ParameterError(
            f"The declared k = {declared:,} is too small: the column holds {observed:,} different values, so noise "
            f"made for {declared:,} would not protect every record; declare how many values could occur, from public "
            "knowledge.",
            field="k",
        )
    return int(declared)


def declared_bounds(low: float | None, high: float | None) -> tuple[float, float]:
    """Return the declared range of a number; refuse an empty or impossible one.

    Values outside are clipped to the range by whoever uses it, and the page says how many.

    Raises
    ------
    ParameterError
        If an end is empty or not finite, or the range is empty.

    Examples
    --------
    >>> declared_bounds(0, 120)
    (0.0, 120.0)
    """
    if low is None or high is None:
        end = "smallest" if low is None else "largest"
        raise ParameterError(
            f"Declare the {end} value that counts, from public knowledge; the range that the data show is private "
            "itself, so it is never filled in.",
            field="low" if low is None else "high",
        )
    for name, value in (("low", low), ("high", high)):
        if not math.isfinite(value):
            raise ParameterError(f"Each end of the range must be a finite number; one is {value:g}.", field=name)
    if not low < high:
        raise ParameterError(
            f"The range must start below its end; it runs from {low:g} to {high:g} now; exchange the two or widen it.",
            field="low",
        )
    return float(low), float(high)


def declared_sample_size(declared: int | None) -> int:
    """Return the declared number of records where that number is protected (added or removed records).

    Under replaced records n is public and this is not needed.

    Raises
    ------
    ParameterError
        If it is empty or no whole number of at least 1.

    Examples
    --------
    >>> declared_sample_size(1000)
    1000
    """
    if declared is None:
        raise ParameterError(
            "Declare a public number of records (n): where records may be added or removed, the true number is private "
            "itself, so it is never filled in.",
            field="n",
        )
    if isinstance(declared, bool) or declared != int(declared) or declared < 1:
        raise ParameterError(f"n must be a whole number of at least 1; it is {declared}.", field="n")
    return int(declared)


__all__ = ["declared_bounds", "declared_domain_size", "declared_sample_size"]
