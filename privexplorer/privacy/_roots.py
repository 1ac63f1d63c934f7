"""A root finder that needs no import of a second: bisection down to neighbouring doubles."""

from __future__ import annotations

from collections.abc import Callable


def bisect(function: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """Return neighbouring numbers between which an increasing function changes sign.

    Parameters
    ----------
    function : callable
        Increasing on [low, high], with ``function(low) <= 0 < function(high)`` or nearly so.
    low, high : float
        Finite, low < high.

    Returns
    -------
    below, above : float
        Where the function is still at most 0, and where it is above 0; as close as doubles allow.
    """
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return low, high
        if function(middle) > 0:
            high = middle
        else:
            low = middle


__all__ = ["bisect"]
