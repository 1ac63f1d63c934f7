"""One family of errors; each message is a sentence that tells a visitor what to change."""

from __future__ import annotations

import re

# controls, separators of lines, marks that turn the direction of the text after them, halves of letters
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(words: str) -> str:
    r"""Write as escapes what would break a sentence, steer a terminal or turn the words after it around.

    Examples
    --------
    >>> print(printable("a\u202eb\nc"), printable("naïve 数"))
    a\u202eb\nc naïve 数
    """
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), words)


class PrivExplorerError(Exception):
    """Base of every error that a visitor may see.

    Parameters
    ----------
    message : str
        One sentence: what was wrong, the value, the allowed range. Whatever it quotes is made :func:`printable`.
    field : str or None
        Link name or field path of the setting concerned, if there is one.
    hint : str or None
        What to do about it, where that is not in the message already.
    """

    def __init__(self, message: str, *, field: str | None = None, hint: str | None = None) -> None:
        super().__init__(printable(message))
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
    "printable",
]
