"""What the planning studies share: goals, the parts of an error along the sample size, and both ways to plan.

An unclipped private answer has squared error ``bias² + variance + 2 (Δ/ε)²`` (properties §2). Bias and sensitivity are
exact, the variance is simulated; for a bound it is replaced by ``n Δ²/4`` (Lem 32). All parts are in the goal's unit.

Nothing that is called a theorem is read off a grid: where a bound meets a target it is evaluated at whole sample sizes;
a curve through grid points only says where to look.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.interpolate import CubicSpline, PchipInterpolator

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteLaw, nested_fingerprints
from privexplorer.distributions.families import Distribution
from privexplorer.errors import ParameterError
from privexplorer.privacy import LaplaceNoise
from privexplorer.properties import (
    AdditiveTable,
    EntropyEstimator,
    Polynomial,
    SmoothedGoodToulmin,
    SparseSupport,
    SupportEstimator,
    entropy_sample_size,
    sensitivity_sample_size,
    support_coverage_records,
    support_sample_size,
)
from privexplorer.records import Number, Record, SymbolCount, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _entropy as core
from privexplorer.studies.result import Formula
from privexplorer.studies.support_size import WILDEST, too_far, too_many

STEPS = 12
"""Places between two simulated sample sizes at which errors are looked up."""
COIN_VARIANCE = 0.25
ROOM = 1e-12
"""Less room for noise than this share of the squared target is rounding."""
LARGEST = 1_000_000
"""Largest sample that is simulated: tables have one entry per count."""


class EntropyGoal(Record):
    """The Shannon entropy, in nats."""

    kind: Literal["entropy"] = "entropy"
    title: ClassVar[str] = "Entropy"
    unit: ClassVar[str] = "nats"
    measure: ClassVar[str] = "in nats, log scale"
    estimator: EntropyEstimator = field(
        Polynomial(),
        "Estimator",
        "The same estimator with and without noise, so the price is that of the noise.",
        key="est",
        discriminator="kind",
    )

    @property
    def name(self) -> str:
        """Name of the estimator."""
        return self.estimator.title

    @property
    def tex(self) -> tuple[str, str]:
        """Formula and source of the estimator."""
        return self.estimator.formula, self.estimator.source

    def table(self, n: int, law: DiscreteLaw) -> AdditiveTable:
        """Return the table of the private estimate."""
        return self.estimator.table(n, law.k, private=True)

    def sensitivity(self, n: int, law: DiscreteLaw) -> float:
        """Return the exact sensitivity."""
        return self.estimator.sensitivity(n, law.k)

    def falling_from(self, law: DiscreteLaw) -> int:
        """Return a sample size from which on the sensitivity falls."""
        return self.estimator.falling_from(law.k)

    def truth(self, n: int, law: DiscreteLaw) -> float:
        """Return what is estimated."""
        return law.entropy()

    def scale(self, n: int) -> float:
        """Return the unit that errors are measured in."""
        return 1.0

    def changes(self, law: DiscreteLaw) -> tuple[int, ...]:
        """Sample sizes at which the estimator becomes another one."""
        return ()

    def promise(self, law: DiscreteLaw) -> tuple[str, ...]:
        """Say what does not go together."""
        return ()

    def rate(self, law: DiscreteLaw, target: float, epsilon: float) -> Formula | None:
        """Return the rate of the theorem, shape only."""
        if not target < 1:
            return None
        found = entropy_sample_size(max(2, law.k), target, epsilon)
        return Formula(
            "Worst-case rates, shape only",
            r"U_1,\ U_2\ (\lambda=\tfrac12),\ L\text{ of Thm 10}",
            rf"{found.upper_1:,.5g},\quad{found.upper_2:,.5g},\quad{found.lower:,.5g}",
            "shape only",
            "Thm 10",
        )


class CoverageGoal(Record):
    """How many different values further records will show, as a share of the further records."""

    kind: Literal["coverage"] = "coverage"
    title: ClassVar[str] = "Support coverage"
    unit: ClassVar[str] = "of the further records"
    measure: ClassVar[str] = "share of further records"
    t: Annotated[float, Number] = field(
        2.0,
        "Look-ahead t",
        "Further records per record; 2 means three times the sample in all.",
        key="t",
        ge=0.001,
        le=10,
    )

    @property
    def name(self) -> str:
        """Name of the estimator."""
        return SmoothedGoodToulmin.title

    @property
    def tex(self) -> tuple[str, str]:
        """Formula and source of the estimator."""
        return SmoothedGoodToulmin.formula, SmoothedGoodToulmin.source

    def table(self, n: int, law: DiscreteLaw) -> AdditiveTable:
        """Return the table of the total."""
        return SmoothedGoodToulmin().table(n, self.t, law.k)

    def sensitivity(self, n: int, law: DiscreteLaw) -> float:
        """Return the exact sensitivity."""
        return SmoothedGoodToulmin().sensitivity(n, self.t, "exact", law.k)

    def falling_from(self, law: DiscreteLaw) -> int:
        """Return a sample size from which on the sensitivity falls, as a share of the further records.

        ``(1 + t)^2/(t n)`` falls for t up to 1; beyond, and for two symbols, whose last increments change sign with n,
        see tests/unit/studies/test_planning_exact.py.
        """
        n = 16
        while law.k == 2 and self.t <= 1 and n < LARGEST and (2 * n + 1) * self.t ** (n - 1) >= 1:
            n *= 2
        return n

    def truth(self, n: int, law: DiscreteLaw) -> float:
        """Return what is estimated: the coverage of all records together."""
        return float(law.coverage((1 + self.t) * n))

    def scale(self, n: int) -> float:
        """Return the unit that errors are measured in: the number of further records."""
        return self.t * n

    def changes(self, law: DiscreteLaw) -> tuple[int, ...]:
        """Sample sizes at which the estimator becomes another one."""
        return ()

    def promise(self, law: DiscreteLaw) -> tuple[str, ...]:
        """Say what does not go together."""
        return ()

    def rate(self, law: DiscreteLaw, target: float, epsilon: float) -> Formula | None:
        """Return nothing: the theorem is for a fixed number m of records, not for a fixed look-ahead."""
        return None


class SupportGoal(Record):
    """How many values there are, if none is rarer than 1 in k; as a share of k."""

    kind: Literal["support"] = "support"
    title: ClassVar[str] = "Support size"
    unit: ClassVar[str] = "of k"
    measure: ClassVar[str] = "share of k, log scale"
    k: SymbolCount = field(
        1_000,
        "Promise: every value has a share of at least 1/k",
        "Public. There are at most k values then.",
    )
    estimator: SupportEstimator = field(
        SparseSupport(),
        "Estimator",
        "Extrapolated coverage for short samples, clipped counts for long ones.",
        key="est",
        discriminator="kind",
    )

    @property
    def name(self) -> str:
        """Name of the estimator."""
        return self.estimator.title

    @property
    def tex(self) -> tuple[str, str]:
        """Formula and source of the estimator."""
        return self.estimator.formula, self.estimator.source

    def table(self, n: int, law: DiscreteLaw) -> AdditiveTable:
        """Return the table of the estimate."""
        return self.estimator.table(n, self.k)

    def sensitivity(self, n: int, law: DiscreteLaw) -> float:
        """Return the exact sensitivity."""
        return self.estimator.sensitivity(n, self.k)

    def falling_from(self, law: DiscreteLaw) -> int:
        """Return a sample size from which on the sensitivity falls: 2, or where n has room for all large weights.

        These belong to counts near r t, which is k r²/n. Checked in tests/unit/studies/test_planning_exact.py.
        """
        if isinstance(self.estimator, SparseSupport):
            return 2 + math.ceil(2 * self.estimator.rate * math.sqrt(self.k))
        return 2

    def truth(self, n: int, law: DiscreteLaw) -> float:
        """Return what is estimated."""
        return float(law.support_size())

    def scale(self, n: int) -> float:
        """Return the unit that errors are measured in."""
        return float(self.k)

    def changes(self, law: DiscreteLaw) -> tuple[int, ...]:
        """Sample sizes at which the estimator becomes another one: from extrapolating to counting."""
        if isinstance(self.estimator, SparseSupport):
            return (math.ceil(0.5 * support_coverage_records(self.k, self.estimator.accuracy)),)
        return ()

    def promise(self, law: DiscreteLaw) -> tuple[str, ...]:
        """Say what does not go together."""
        return too_many(law.support_size(), self.k)

    def reach(self, sizes: IntArray, values: int = 2) -> tuple[str, ...]:
        """Say so where the estimator extrapolates beyond the range of numbers."""
        return too_far(self.estimator, sizes, self.k, values) if isinstance(self.estimator, SparseSupport) else ()

    def rate(self, law: DiscreteLaw, target: float, epsilon: float) -> Formula | None:
        """Return the rate of the theorem, shape only."""
        if not target < 1:
            return None
        found = support_sample_size(self.k, target, epsilon)
        return Formula(
            "Worst-case rates, shape only",
            r"U,\ L\text{ of Thm 9}",
            rf"{found.upper:,.5g},\quad{found.lower:,.5g}",
            "shape only",
            "Thm 9",
        )


Goal = Annotated[EntropyGoal | CoverageGoal | SupportGoal, Field(discriminator="kind")]


def refused(goal: Any, distribution: Distribution, sizes: IntArray, tables: Tables | None) -> tuple[str, ...]:
    """Say what does not go together; a table is read once, when the study prepares."""
    if sizes.size < 2:
        return ("One sample size is not a range; let the sample sizes end above where they start.",)
    if sizes[-1] > LARGEST:
        return (f"Sample sizes up to {LARGEST:,} are simulated here, not {sizes[-1]:,}; let the range end there.",)
    counts = isinstance(goal, SupportGoal)
    if distribution.kind == "empirical":  # type: ignore[attr-defined]
        return goal.reach(sizes) if counts else ()
    law = distribution.law(tables)
    return tuple(goal.promise(law)) or (goal.reach(sizes, law.support_size()) if counts else ())


@dataclass(frozen=True)
class Prepared:
    """What all blocks share. Exact, in the goal's unit: ``bias`` at ``places``, ``sensitivity`` at ``fine`` sizes."""

    goal: Any
    law: DiscreteLaw
    ns: IntArray
    seed: int
    block_trials: int
    tables: tuple[FloatArray, ...]
    constants: FloatArray
    means: FloatArray
    scales: FloatArray
    places: IntArray
    bias: FloatArray
    fine: IntArray
    sensitivity: FloatArray


@lru_cache(maxsize=4096)
def exact_parts(goal: Any, law: DiscreteLaw, n: int) -> tuple[float, float]:
    """Return bias and sensitivity at one sample size, exactly, in the goal's unit."""
    scale = goal.scale(n)
    return (goal.table(n, law).mean(law) - goal.truth(n, law)) / scale, goal.sensitivity(n, law) / scale


def refinement(law: DiscreteLaw) -> int:
    """Return how many steps of exact bias lie between simulated sample sizes: fewer for laws of many masses."""
    masses = law.groups[0].size
    return next(steps for limit, steps in ((64, 8), (2_000, 4), (10_000, 2), (math.inf, 1)) if masses <= limit)


def all_sizes(goal: Any, law: DiscreteLaw, ns: IntArray) -> IntArray:
    """Sample sizes that are simulated: those asked for, and both sides of every change of the estimator."""
    changes = [c for at in goal.changes(law) for c in (at - 1, at) if ns[0] <= c <= ns[-1]]
    return np.unique(np.concatenate((ns, np.array(changes, dtype=np.int64))))


def between(ns: IntArray, steps: int) -> IntArray:
    """Put so many steps between neighbouring sample sizes, evenly on a log scale, as whole numbers."""
    pieces = [np.geomspace(a, b, steps + 1) for a, b in pairwise(ns.tolist())]
    return np.unique(np.rint(np.concatenate([ns.astype(np.float64), *pieces])).astype(np.int64))


def prepare(
    goal: Any, distribution: Distribution, ns: IntArray, seed: int, block_trials: int, tables: Tables | None
) -> Prepared:
    """Compute tables, exact means, biases and sensitivities."""
    law = distribution.law(tables)
    for words in goal.promise(law):
        raise ParameterError(words, field="k")
    if isinstance(goal, SupportGoal):
        for words in goal.reach(ns, law.support_size()):
            raise ParameterError(words, field="n")
    sizes = all_sizes(goal, law, ns)
    made = [goal.table(int(n), law) for n in sizes]
    means = np.array([table.mean(law) for table in made])
    scales = np.array([goal.scale(int(n)) for n in sizes])
    at = {int(n): (m - goal.truth(int(n), law)) / s for n, m, s in zip(sizes, means, scales, strict=True)}
    places = between(sizes, refinement(law))
    fine = np.union1d(places, between(sizes, STEPS))
    sensitivity = np.array([goal.sensitivity(int(n), law) / goal.scale(int(n)) for n in fine])
    if sensitivity.max() > WILDEST:
        wild = int(fine[np.flatnonzero(sensitivity > WILDEST)[-1]])
        raise ParameterError(
            f"With {wild:,} records this estimator extrapolates so far that its weights leave the range of numbers; "
            "let the sample sizes start higher.",
            field="n",
        )
    bias = np.array([at[int(n)] if int(n) in at else exact_parts(goal, law, int(n))[0] for n in places])
    return Prepared(
        goal,
        law,
        sizes,
        seed,
        block_trials,
        tuple(np.asarray(table.values) for table in made),
        np.array([table.constant for table in made]),
        means,
        scales,
        places,
        bias,
        fine,
        sensitivity,
    )


def block_size(goal: Any, distribution: Distribution, ns: IntArray) -> int:
    """Trials per block: a matter of the question alone."""
    return core.block_size(ns.size + 2, int(ns[-1]), core.assumed_k(distribution))


def run_block(prepared: Prepared, block: int) -> FloatArray:
    """Draw nested samples; return estimates before clipping and noise, ``(trials, 1, points)``, in symbols or nats."""
    rng = block_rng(prepared.seed, block)
    prints = nested_fingerprints(prepared.law, prepared.ns, prepared.block_trials, rng)
    sums = prints.totals(prepared.tables) + prepared.constants[:, None]
    return np.asarray(sums.T[:, None, :])


@dataclass(frozen=True)
class Parts:
    """The parts of the error along the sample size, in the goal's unit.

    Attributes
    ----------
    n : (sizes,) float array
        Sample sizes, increasing; whole numbers.
    bias, variance, sensitivity : (sizes,) float arrays
        What the squared error is made of.
    doubt : (sizes,) float array
        Standard error of the variance.
    """

    n: FloatArray
    bias: FloatArray
    variance: FloatArray
    doubt: FloatArray
    sensitivity: FloatArray

    def errors(self, epsilon: float | None) -> tuple[FloatArray, FloatArray]:
        """Return the root-mean-square error and its standard error; without privacy for None."""
        noise = 0.0 if epsilon is None else 2 * (self.sensitivity / epsilon) ** 2
        total = np.sqrt(self.bias**2 + self.variance + noise)
        return total, np.divide(self.doubt, 2 * total, out=np.zeros_like(total), where=total > 0)

    def bound(self, epsilon: float) -> FloatArray:
        """Return a bound on the error: the variance is at most ``n Δ²/4`` (Lem 32)."""
        return np.sqrt(self.bias**2 + (self.n / 4 + 2 / epsilon**2) * self.sensitivity**2)


def parts_at_points(prepared: Prepared, blocks: FloatArray) -> Parts:
    """Take the error apart at the simulated sample sizes; the mean is exact, so squares about it give the variance."""
    off = ((blocks - prepared.means) / prepared.scales) ** 2
    runs = off.shape[0]
    doubt = off.std(axis=0, ddof=1) / math.sqrt(runs) if runs > 1 else np.zeros(off.shape[1])
    bias = prepared.bias[np.searchsorted(prepared.places, prepared.ns)]
    sensitivity = prepared.sensitivity[np.searchsorted(prepared.fine, prepared.ns)]
    return Parts(prepared.ns.astype(np.float64), bias, off.mean(axis=0), doubt, sensitivity)


def failures(prepared: Prepared, blocks: FloatArray, points: Parts, target: float, epsilon: float) -> Parts:
    """Return the chance of being off by more than the target, at the simulated sizes, in place of a variance.

    The noise is integrated exactly, so each simulated data set gives a probability (properties §0: failure 1/3).
    """
    off = (blocks - prepared.means) / prepared.scales + points.bias
    scale = np.maximum(points.sensitivity / epsilon, 1e-300)
    noise = LaplaceNoise(1.0)
    chance = noise.survival((target - off) / scale) + noise.cdf((-target - off) / scale)
    runs = chance.shape[0]
    doubt = chance.std(axis=0, ddof=1) / math.sqrt(runs) if runs > 1 else np.zeros(chance.shape[1])
    return Parts(points.n, points.bias, chance.mean(axis=0), doubt, points.sensitivity)


def spread_at(points: Parts, n: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Interpolate the simulated variance and its standard error between the simulated sample sizes."""
    knots, x = np.log(points.n), np.log(n)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(points.variance > 0, points.doubt / points.variance, 0.0)
    variance = PchipInterpolator(knots, np.sqrt(points.variance))(x) ** 2
    return variance, variance * np.interp(x, knots, share)


def parts_at(prepared: Prepared, points: Parts, n: int) -> Parts:
    """Return the parts at one sample size: bias and sensitivity exact there, the spread interpolated."""
    here = np.array([float(n)])
    bias, sensitivity = exact_parts(prepared.goal, prepared.law, n)
    return Parts(here, np.array([bias]), *spread_at(points, here), np.array([sensitivity]))


def parts_between(prepared: Prepared, points: Parts) -> Parts:
    """Return the parts on the fine grid: the sensitivity exact, bias and spread interpolated between their places."""
    fine = prepared.fine.astype(np.float64)
    return Parts(fine, bias_between(prepared), *spread_at(points, fine), prepared.sensitivity)


def bias_between(prepared: Prepared) -> FloatArray:
    """Interpolate the exact biases on the fine grid, by a cubic spline between changes of the estimator."""
    out = np.empty(prepared.fine.size)
    cuts = [c for c in prepared.goal.changes(prepared.law) if prepared.ns[0] < c <= prepared.ns[-1]]
    ends = [0, *cuts, prepared.fine[-1] + 1]
    for low, high in pairwise(ends):
        known = (prepared.places >= low) & (prepared.places < high)
        wanted = (prepared.fine >= low) & (prepared.fine < high)
        x, y, at = np.log(prepared.places[known]), prepared.bias[known], np.log(prepared.fine[wanted])
        out[wanted] = CubicSpline(x, y)(at) if x.size > 1 else y[0]
    out[np.searchsorted(prepared.fine, prepared.places)] = prepared.bias
    return out


@dataclass(frozen=True)
class Found:
    """A sample size that reaches a target.

    Attributes
    ----------
    n : float
        The sample size, a real number; NaN where the target is not reached.
    error : float
        Its standard error.
    place : {"inside", "smallest", "never"}
        Whether it lies inside the range, the smallest size already reaches the target, or none does.
    again : float
        Where the error exceeds the target again, NaN if it does not.
    """

    n: float
    error: float
    place: Literal["inside", "smallest", "never"]
    again: float = math.nan

    @property
    def people(self) -> int:
        """The smallest whole number that reaches the target; a fiftieth of a person counts as rounding."""
        return math.ceil(self.n - 0.02)


def smallest_size(n: FloatArray, errors: FloatArray, doubts: FloatArray, target: float) -> Found:
    """Find the smallest sample size whose error is at most ``target``, by bisection between points of a curve.

    On logarithmic axes the curve is straight between neighbouring points, so one step ends the bisection. The
    standard error is that of the error there, over the slope.
    """
    good = np.flatnonzero(errors <= target)
    if not good.size:
        return Found(math.nan, math.nan, "never")
    first = int(good[0])
    over = np.flatnonzero(errors[first:] > target * (1 + 1e-9))
    again = float(n[first + int(over[0])]) if over.size else math.nan
    if first == 0:
        return Found(float(n[0]), 0.0, "smallest", again)
    a, b = first - 1, first
    x = np.log(n[[a, b]])
    y = np.log(np.maximum(errors[[a, b]], 1e-300))
    share = (math.log(target) - y[0]) / (y[1] - y[0])
    size = math.exp(x[0] + share * (x[1] - x[0]))
    doubt = (1 - share) * doubts[a] + share * doubts[b]
    slope = (y[0] - y[1]) / (x[1] - x[0])
    return Found(size, size * doubt / (target * slope), "inside", again)


def people_needed(fine: Parts, target: float, epsilon: float | None) -> Found:
    """Sample size that reaches a target error at this ε, or without privacy for None."""
    return smallest_size(fine.n, *fine.errors(epsilon), target)


def exact_bound(goal: Any, law: DiscreteLaw, n: int, epsilon: float) -> float:
    """Return the bound on the error with n records: exact bias, ``n Δ²/4`` and noise; a theorem here (Lem 32)."""
    bias, sensitivity = exact_parts(goal, law, n)
    return math.sqrt(bias**2 + (n / 4 + 2 / epsilon**2) * sensitivity**2)


def people_for_sure(prepared: Prepared, fine: Parts, target: float, epsilon: float) -> Found:
    """Find a whole sample size whose bound meets the target, while that of one record less does not.

    Undoes :func:`exact_bound`. The curve on the fine grid says where to look; both sizes are evaluated exactly.
    """
    bounds, sizes = fine.bound(epsilon), prepared.fine
    found = smallest_size(fine.n, bounds, np.zeros_like(bounds), target)
    if found.place == "never":
        return found

    def bound(n: int) -> float:
        return exact_bound(prepared.goal, prepared.law, n, epsilon)

    place = int(np.searchsorted(fine.n, found.n))
    if found.place == "inside":
        slope = math.log(bounds[place] / bounds[place - 1]) / math.log(fine.n[place] / fine.n[place - 1])
        n = meets_near(bound, target, math.ceil(found.n), slope, (int(sizes[0]), int(sizes[-1])))
        if n is not None:
            return Found(float(n), 0.0, "inside", found.again)
    while place < sizes.size and bound(int(sizes[place])) > target:
        place += 1
    while 0 < place < sizes.size and bound(int(sizes[place - 1])) <= target:
        place -= 1
    if place == sizes.size:
        return Found(math.nan, math.nan, "never")
    if place == 0:
        return Found(float(sizes[0]), 0.0, "smallest", found.again)
    low, high = int(sizes[place - 1]), int(sizes[place])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bound(middle) <= target else (middle, high)
    return Found(float(high), 0.0, "inside", found.again)


def meets_near(
    error: Callable[[int], float], target: float, guess: int, slope: float, ends: tuple[int, int]
) -> int | None:
    """Return an ``n`` with ``error(n) <= target < error(n - 1)`` close to a good guess, or None.

    Parameters
    ----------
    error : function
        From n to an error.
    target : float
        Error asked for.
    guess : int
        Where to start.
    slope : float
        Of the error near the guess, on logarithmic axes.
    ends : (int, int)
        Smallest and largest n that may be asked for.
    """
    n = guess
    for _ in range(6):
        if not (slope < 0 and ends[0] < n <= ends[1]):
            return None
        here, before = error(n), error(n - 1)
        if here <= target < before:
            return n
        moved = math.ceil(n * (target / here) ** (1 / slope))
        n = max(n + 1, moved) if here > target else min(n - 1, moved)
    return None


def people_for_noise(prepared: Prepared, limit: float) -> Found:
    """Find the smallest sample size from which on the sensitivity is at most ``limit`` (Lemma 25's ``D``)."""
    first, last = int(prepared.ns[0]), int(prepared.ns[-1])

    def at(n: int) -> float:
        return float(prepared.goal.sensitivity(n, prepared.law) / prepared.goal.scale(n))

    if at(last) > limit:
        return Found(math.nan, math.nan, "never")
    falling_from = min(max(first, prepared.goal.falling_from(prepared.law)), last)
    if all(at(n) <= limit for n in range(falling_from, first - 1, -1)):
        return Found(float(first), 0.0, "smallest")
    return Found(float(sensitivity_sample_size(at, limit, last, falling_from)), 0.0, "inside")


# ---- the coin: both ways in closed form ----


def coin_error(n: float, epsilon: float) -> float:
    """Return the root-mean-square error of a private share of heads of a fair coin: ``1/(4n) + 2/(n ε)²``, rooted."""
    return math.sqrt(COIN_VARIANCE / n + 2 / (n * epsilon) ** 2)


def coin_people(target: float, epsilon: float) -> float:
    """Return the sample size that :func:`coin_error` reaches a target at; undoes it.

    Examples
    --------
    >>> round(coin_people(coin_error(1000, 0.1), 0.1), 6)
    1000.0
    """
    return (COIN_VARIANCE + math.sqrt(COIN_VARIANCE**2 + 8 * (target / epsilon) ** 2)) / (2 * target**2)


def coin_epsilon(n: float, target: float) -> float | None:
    """Return the ε that :func:`coin_error` reaches a target at, or None where n records never do."""
    room = target**2 - COIN_VARIANCE / n
    return math.sqrt(2 / room) / n if room > ROOM * target**2 else None


def epsilon_needed(
    bias: FloatArray, variance: FloatArray, doubt: FloatArray, sensitivity: FloatArray, target: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return ``sqrt(2) Δ/sqrt(target² - bias² - variance)`` and its standard error; NaN where there is no room.

    Properties §2: the ε at which an unclipped answer has this error.
    """
    room = target**2 - bias**2 - variance
    safe = np.where(room > ROOM * target**2, room, np.nan)
    epsilon = math.sqrt(2.0) * sensitivity / np.sqrt(safe)
    return epsilon, epsilon * doubt / (2 * safe)


def error_formulas(goal: Any, prepared: Prepared, n: int, epsilon: float, target: float) -> tuple[Formula, ...]:
    """Write estimator, release, error algebra and bound at one n and ε, with the current numbers."""
    bias, delta = exact_parts(goal, prepared.law, n)
    tex, source = goal.tex
    rate = goal.rate(prepared.law, target, epsilon)
    return (
        Formula(f"Estimator: {goal.name.lower()}", tex, rf"n = {n:,}", "exact", source),
        Formula(
            "Error with privacy",
            r"R^2=\mathrm{bias}^2+\mathrm{Var}+2\Delta^2/\varepsilon^2",
            rf"\mathrm{{bias}} = {bias:.4g},\quad\sqrt2\,\Delta/\varepsilon = {math.sqrt(2) * delta / epsilon:.4g}",
            "exact",
            "properties §2 (derived; for unclipped answers)",
        ),
        Formula(
            "At most, for this distribution",
            r"R^2\le\mathrm{bias}^2+\tfrac n4\Delta^2+2\Delta^2/\varepsilon^2",
            rf"R\le{exact_bound(goal, prepared.law, n, epsilon):.4g}\quad(n = {n:,})",
            "bound",
            "Lemma 32, properties §2",
        ),
        Formula(
            "A coin, for comparison",
            r"R^2=\frac1{4n}+\frac2{n^2\varepsilon^2}",
            rf"R = {target:g}:\quad n = {coin_people(target, epsilon):,.6g}",
            "exact",
            "Sec 4.1.1 (derived)",
        ),
        *((rate,) if rate is not None else ()),
    )


ASSUMPTIONS: Sequence[str] = (
    "Neighbours are two samples of the same size n that differ in one record; n and k are public. (properties §0, "
    "Def. 1)",
    "One answer is released, with Laplace noise of exact sensitivity, not clipped: the squared error is bias², "
    "variance and noise variance added up. (properties §1, §2, derived)",
    "Bias and sensitivity are exact. The variance is simulated at each sample size of the grid, on the same nested "
    "samples for all sizes, every ε and every target; between them it is interpolated. Bounds are never interpolated.",
    "± is two standard errors: that of the error there, divided by the slope of the curve.",
    "Upper bound: the variance replaced by n Δ²/4 (Lemma 32); for this distribution a theorem.",
    "The same estimator with and without noise; the polynomial keeps its private tuning in both.",
    "A coin: the share of heads of a fair coin, with sensitivity 1/n, to the same error; both ways in closed form.",
)

__all__ = [
    "ASSUMPTIONS",
    "CoverageGoal",
    "EntropyGoal",
    "Found",
    "Goal",
    "Parts",
    "Prepared",
    "SupportGoal",
    "coin_epsilon",
    "coin_error",
    "coin_people",
    "epsilon_needed",
    "exact_bound",
    "exact_parts",
    "people_for_noise",
    "people_for_sure",
    "people_needed",
    "smallest_size",
]
