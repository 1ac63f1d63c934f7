"""Checks of numbers that come from outside; each failure is one plain sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from privexplorer.errors import ParameterError


def whole_number(value: Any, what: str, field: str, least: int = 1) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``least``.

    Parameters
    ----------
    value : object
        Python or NumPy number; whole floats are taken, truth values and texts are not.
    what : str
        Words for the start of the sentence, such as "The sample size n".
    field : str
        Name of the setting.
    least : int
        Smallest value allowed.

    Raises
    ------
    ParameterError
        For anything else.
    """
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        number = float(value)
        if np.isfinite(number) and number == np.floor(number) and number >= least:
            return int(value)
        shown = f"{value:g}" if isinstance(value, float | np.floating) else str(value)
    else:
        shown = f"'{value}'"
    raise ParameterError(f"{what} must be a whole number of at least {least}; it is {shown}.", field=field)


def symbol_count(k: Any) -> int:
    """Return the number of symbols if it is a whole number of at least 1."""
    return whole_number(k, "The number of symbols k", "k")


def sample_size(n: Any) -> int:
    """Return the sample size if it is a whole number of at least 1."""
    return whole_number(n, "The sample size n", "n")


__all__ = ["sample_size", "symbol_count", "whole_number"]
