"""One family of errors; each message is a sentence that tells a visitor what to change."""

from __future__ import annotations


class PrivExplorerError(Exception):
    """Base of every error that a visitor may see.

    Parameters
    ----------
    message : str
        One sentence: what was wrong, the value, the allowed range.
    field : str or None
        Link name or field path of the setting concerned, if there is one.
    hint : str or None
        What to do about it, where that is not in the message already.
    """

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        self.hint = hint


class ParameterError(PrivExplorerError, ValueError):
    """A setting has a value outside its range or of the wrong kind."""


class DataError(PrivExplorerError, ValueError):
    """A table or file cannot be used as it is."""


class UnsupportedCombination(PrivExplorerError, ValueError, TypeError):
    """Two settings are fine by themselves but do not go together."""


class ConvergenceError(PrivExplorerError, ValueError, RuntimeError):
    """An iteration did not reach its tolerance."""


class Cancelled(PrivExplorerError):
    """A run was stopped on request before it was complete."""


__all__ = [
    "Cancelled",
    "ConvergenceError",
    "DataError",
    "ParameterError",
    "PrivExplorerError",
    "UnsupportedCombination",
]
