"""What the studies of the unseen share: a grid of look-aheads, exact biases, errors with exact noise.

Properties §5: the number of new symbols among ``n t`` further records, given a sample of ``n``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic_core import PydanticCustomError

from privexplorer.arrays import FloatArray
from privexplorer.distributions import DiscreteLaw
from privexplorer.properties import GoodToulmin, SmoothedGoodToulmin, Smoothing, private_squared_errors
from privexplorer.records import Number, Record, field
from privexplorer.studies.words import plus_minus, significant

Extrapolator = SmoothedGoodToulmin | GoodToulmin
SMOOTHINGS: dict[Smoothing, str] = {
    "poisson": "Poisson",
    "binomial-1": "binomial 1/(1+t)",
    "binomial-2": "binomial 2/(2+t)",
}
LARGEST_GROWTH = 600.0
"""Largest ``r (t - 1)`` that is asked for: beyond it, coefficients leave the range of numbers."""


class AheadGrid(Record):
    """A grid of look-aheads ``t``, evenly spaced: further records per record of the sample."""

    low: Annotated[float, Number] = field(1.0, "From", "Smallest look-ahead.", ge=0.001, le=100)
    high: Annotated[float, Number] = field(10.0, "To", "Largest look-ahead.", ge=0.001, le=100)
    points: Annotated[int, Number] = field(10, "Points", "How many look-aheads.", ge=2, le=60)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a grid whose ends are the wrong way round."""
        if self.low > self.high:
            raise PydanticCustomError(
                "grid_order",
                "The grid must start below its end; it runs from {low} to {high}, so exchange the two.",
                {"low": f"{self.low:g}", "high": f"{self.high:g}"},
            )

    def values(self) -> FloatArray:
        """Grid values, increasing, rounded to six significant digits.

        Examples
        --------
        >>> AheadGrid(low=0.5, high=2.0, points=4).values()
        array([0.5, 1. , 1.5, 2. ])
        """
        raw = np.linspace(self.low, self.high, self.points)
        return np.unique(np.array([float(f"{value:.6g}") for value in raw]))


def is_plain(estimator: Extrapolator, n: int, t: float) -> bool:
    """Whether the estimator is Good-Toulmin's unbiased series at this look-ahead."""
    return isinstance(estimator, GoodToulmin) or not np.isfinite(estimator.rate(n, t))


def expected_fingerprint(law: DiscreteLaw, n: int, size: int) -> FloatArray:
    """Compute the expected number of symbols seen exactly ``i`` times, ``i = 1..size``; 0 beyond ``n``.

    A sum of binomial probabilities, in logarithms; derived, checked in tests/unit/studies/test_support_coverage.py.
    """
    masses, sizes = law.groups
    inside = (masses > 0) & (masses < 1)
    chance, weight = masses[inside], sizes[inside].astype(np.float64)
    with np.errstate(divide="ignore"):
        odds = np.log(chance) - np.log1p(-chance)
    logs = n * np.log1p(-chance)
    out = np.zeros(size)
    for i in range(1, min(size, n) + 1):
        logs = logs + (np.log((n - i + 1) / i) + odds)
        out[i - 1] = float((weight * np.exp(logs)).sum())
    if n <= size:
        out[n - 1] += float(sizes[masses >= 1].sum())
    return out


def series_length(estimator: Extrapolator, n: int, t: float) -> int:
    """Count after which a smoothed series has faded out (at most ``n``)."""
    reach = 64
    while reach < n:
        sizes = np.abs(estimator.new_values(np.arange(1, reach + 1), n, t))
        if sizes[-1] <= sizes[-2] and sizes[-1] <= 1e-16 * sizes.max():
            break
        reach *= 2
    return min(reach, n)


def expected_new(law: DiscreteLaw, n: int, t: float) -> float:
    """Compute the expected number of new symbols among ``n t`` further records."""
    seen = np.asarray(law.coverage(np.array([n, n * (1 + t)])))
    return float(seen[1] - seen[0])


def exact_bias(estimators: Sequence[Extrapolator], law: DiscreteLaw, n: int, ts: FloatArray) -> FloatArray:
    """Exact bias of the estimated number of new symbols, shape ``(estimators, points)``; NaN where one does not reach.

    Good-Toulmin's mean is ``sum_x (1 - p)^n - (1 - p (1 + t))^n`` (binomial theorem); a smoothed series is summed
    over the expected fingerprint. Derived, checked in tests/unit/studies/test_support_coverage.py.
    """
    out = np.full((len(estimators), ts.size), np.nan)
    masses, sizes = law.groups
    lengths = [[0 if is_plain(e, n, t) else series_length(e, n, t) for t in ts.tolist()] for e in estimators]
    longest = max((size for row in lengths for size in row), default=0)
    expected = expected_fingerprint(law, n, longest) if longest else np.zeros(0)
    new = [expected_new(law, n, t) for t in ts.tolist()] if longest else []
    for place, estimator in enumerate(estimators):
        for point, t in enumerate(ts.tolist()):
            if lengths[place][point]:
                size = lengths[place][point]
                values = estimator.new_values(np.arange(1, size + 1), n, t)
                out[place, point] = float((values * expected[:size]).sum()) - new[point]
            elif t <= 1:
                out[place, point] = float((sizes * ((1 - masses) ** (n * (1 + t)) - (1 - masses * (1 + t)) ** n)).sum())
    return out


def noisy_squares(
    values: FloatArray, targets: FloatArray, sensitivities: FloatArray, epsilon: float, highs: FloatArray | None
) -> FloatArray:
    """Compute expected squared errors over the mechanism's noise, integrated exactly, shape ``(trials, points)``.

    Parameters
    ----------
    values, targets : (trials, points) float arrays
        Exact answers, and what they should be.
    sensitivities : (points,) float array
        The noise at a point has scale ``sensitivity / epsilon``.
    highs : (points,) float array, optional
        Upper ends of the intervals ``[0, high]`` that noisy answers are clipped to; None for no clipping.
    """
    if highs is None:
        return np.asarray((values - targets) ** 2 + 2 * (sensitivities / epsilon) ** 2)
    columns = [
        private_squared_errors(values[:, p], targets[:, p], float(sensitivities[p]), epsilon, 0.0, float(highs[p]))
        for p in range(values.shape[1])
    ]
    return np.stack(columns, axis=1)


def crossing_error(ts: FloatArray, errors: FloatArray, spread: FloatArray, horizon: float | None) -> float:
    """Estimate the error of the look-ahead at which a curve crosses a level: the curve's own over its slope there."""
    if horizon is None or horizon >= ts[-1]:
        return 0.0
    after = int(np.searchsorted(ts, horizon, side="right"))
    before = after - 1
    slope = abs(errors[after] - errors[before]) / (ts[after] - ts[before])
    share = (horizon - ts[before]) / (ts[after] - ts[before])
    return float(((1 - share) * spread[before] + share * spread[after]) / slope) if slope > 0 else 0.0


def measured(value: float, error: float) -> tuple[str, str]:
    """Write a value and its ±; what is only rounding counts as exact.

    Examples
    --------
    >>> measured(7.0710678, 1e-16), measured(0.0465, 0.0015)
    (('7.07', '± 0'), ('0.0465', '± 0.0015'))
    """
    return plus_minus(value, error if error > 1e-9 * abs(value) else 0.0)


def times(price: float) -> str:
    """Say how two errors compare, up to the word "without privacy".

    Examples
    --------
    >>> times(1.23), times(1.001), times(0.98)
    ('1.2 times as much as', 'hardly more than', 'hardly more than')
    """
    return "hardly more than" if price < 1.05 else f"{significant(price, 2)} times as much as"


def joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put frames below one another; columns that one lacks stay empty."""
    return pd.concat(list(frames), ignore_index=True)


def stack_panels(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Put frames below one another, each as a panel of its own."""
    return joined([frame.assign(panel=name) for name, frame in frames.items()])


__all__ = [
    "LARGEST_GROWTH",
    "SMOOTHINGS",
    "AheadGrid",
    "Extrapolator",
    "crossing_error",
    "exact_bias",
    "expected_fingerprint",
    "expected_new",
    "is_plain",
    "joined",
    "measured",
    "noisy_squares",
    "series_length",
    "stack_panels",
    "times",
]
