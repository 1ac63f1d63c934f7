"""How many records must be changed to make one sample look like another (spec properties, section 8, claim (b)).

"Look like" means the same fingerprint, since every estimator here sees nothing else. The count is exact (derived,
checked in tests/unit/properties/test_twins.py): an edit takes one record from a symbol and gives it to another, so for
a fixed pairing of symbols the fewest edits are half the summed differences of their counts; the best pairing joins
the counts in sorted order; and the sum over sorted counts is the area between the two curves "number of symbols seen
at least i times".
"""

from __future__ import annotations

import numpy as np

from privexplorer.arrays import IntArray
from privexplorer.distributions import Fingerprints
from privexplorer.errors import ParameterError
from privexplorer.properties.tables import Fingerprint, check_fingerprint


def fingerprint_edits(first: Fingerprint, second: Fingerprint) -> int:
    """Count the fewest replaced records that turn a sample with one fingerprint into one with another.

    Parameters
    ----------
    first, second : mapping or array
        ``{i: symbols seen i times}`` or an array over counts; both of the same number of records.

    Returns
    -------
    int
        Exact, provided enough symbols exist for the larger number of distinct ones.

    Examples
    --------
    >>> fingerprint_edits({1: 4}, {2: 2})
    2
    """
    one, two = _expanded(first), _expanded(second)
    if one.sum() != two.sum():
        raise ParameterError(
            f"Both samples must have the same size; they have {int(one.sum()):,} and {int(two.sum()):,} records.",
            field="n",
        )
    width = max(one.size, two.size)
    return int(np.abs(np.pad(one, (0, width - one.size)) - np.pad(two, (0, width - two.size))).sum()) // 2


def nested_edits(first: Fingerprints, second: Fingerprints) -> IntArray:
    """Count the edits between simulated samples, trial by trial: shape ``(points, trials)``."""
    if not np.array_equal(first.ns, second.ns) or first.trials != second.trials:
        raise ParameterError("The two simulations must have the same sample sizes and the same number of runs.")
    out = np.empty((first.points, first.trials), dtype=np.int64)
    for point in range(first.points):
        one, two = first.dense(point), second.dense(point)
        width = max(one.shape[1], two.shape[1])
        gap = np.zeros((first.trials, width), dtype=np.int64)
        gap[:, : one.shape[1]] += one
        gap[:, : two.shape[1]] -= two
        gap[:, 0] = 0
        # symbols seen at least i times, i = width-1 .. 1
        at_least = np.cumsum(gap[:, :0:-1], axis=1)
        out[point] = np.abs(at_least).sum(axis=1) // 2
    return out


def _expanded(fingerprint: Fingerprint) -> IntArray:
    """List the counts of the seen symbols in decreasing order."""
    counts, symbols = check_fingerprint(fingerprint)
    return np.repeat(counts, symbols)[::-1]


__all__ = ["fingerprint_edits", "nested_edits"]
