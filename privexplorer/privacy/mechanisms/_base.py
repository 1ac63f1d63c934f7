"""What every mechanism is: a frozen record of its privacy level that states its guarantee."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.privacy.guarantees import Guarantee
from privexplorer.records import Record

Size: TypeAlias = int | tuple[int, ...] | None


class MechanismRecord(Record):
    """Base of all mechanisms: a privacy level, and the guarantee that follows from it.

    Noise comes from the generator that the caller passes, so a release can be repeated. It is meant for
    exploring: NumPy's generators and floating-point noise are not fit for protecting real people.
    """

    def guarantee(self) -> Guarantee:
        """Return what one release promises, with neighbour relation and model."""
        raise NotImplementedError


def check_sensitivity(sensitivity: float) -> None:
    """Refuse a sensitivity that is negative, infinite or not a number (ParameterError)."""
    if not (math.isfinite(sensitivity) and sensitivity >= 0):
        raise ParameterError(
            f"The sensitivity must be a finite number of at least 0; it is {sensitivity:g}; "
            "bound what one record can change, for instance by giving the range of the values.",
            field="sensitivity",
        )


def check_level(level: float) -> None:
    """Refuse a coverage level outside (0, 1) (ParameterError)."""
    if not 0 < level < 1:
        raise ParameterError(f"The level must lie strictly between 0 and 1; it is {level:g}.", field="level")


def ordered_bounds(low: ArrayLike, high: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the bounds as arrays; refuse a lower bound above its upper bound (ParameterError)."""
    lows, highs = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    ordered = lows <= highs
    if not (ordered.all() if ordered.ndim else ordered):
        raise ParameterError("The lower bound must not be above the upper bound; exchange the two.", field="low")
    return lows, highs


__all__ = ["MechanismRecord", "Size", "check_level", "check_sensitivity", "ordered_bounds"]
