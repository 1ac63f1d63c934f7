"""Effects from a private category (spec sections 2.3 and 2.4): unmixing, likelihood repair, one-step and naive.

All arrays put the treatment d first and the category second, ``(2, J)``; tables of counts put the outcome before them,
``(Y, 2, J)``. Further directions (replications) may trail, so that one analysis and 4,000 of them are the same code.
The inverse W of the mechanism turns a function h(v, x) into its private version (W' h)(v, z) and the table of what was
shown into the table of what was true, cell by cell of v.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.causal.counts import CellSums, DiscreteCounts, worded
from privexplorer.causal.estimate import Estimate, sense_of_error
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism
from privexplorer.causal.targets import CausalTarget
from privexplorer.causal.theory import small_sample_guard
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

Repair = Literal["auto", "never", "always"]
Method = Literal["plug-in", "likelihood", "one-step", "repaired one-step", "naive", "oracle"]

TOLERANCE = 1e-7
MOST_STEPS = 3000
WARN_SHARE = 0.2
REFUSE_SHARE = 0.8
EMPTY = 0.5
"""A cell that should hold fewer than this many people counts as empty."""

FEW_PEOPLE = 0.05
"""A category is left out only if surely fewer than this share (and than half an equal share) of the people have it."""

_NEGATIVE = 1e-12


# --- unmixing ---------------------------------------------------------------------------------------------------


def unmix(inverse: FloatArray, shown: FloatArray) -> FloatArray:
    """Return the table of what was true from the table of what was shown (Ex. 1).

    Parameters
    ----------
    inverse : (J, J) array
        W; column z holds the signed weights of a record that shows z.
    shown : (2, J, ...) array
        A table by treatment and released category; (Y, 2, J, ...) tables go through :func:`unmix_table`.

    Examples
    --------
    >>> import numpy as np
    >>> keep_all = np.eye(2)
    >>> unmix(keep_all, np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    return np.asarray(np.einsum("xz,dz...->dx...", inverse, shown))


def unmix_table(inverse: FloatArray, shown: FloatArray) -> FloatArray:
    """Return the (Y, 2, J, ...) table of what was true; see :func:`unmix`."""
    return np.asarray(np.einsum("xz,ydz...->ydx...", inverse, shown))


def private_scores(inverse: FloatArray, scores: FloatArray) -> FloatArray:
    """Return (W' h)(d, z) of a function h(d, x), both (2, J, ...): the inverse operator of section 1.5."""
    return np.asarray(np.einsum("xz,dx...->dz...", inverse, scores))


@dataclass(frozen=True, eq=False)
class CellFit:
    """Fitted law of treatment and category, regressions and propensity.

    Attributes
    ----------
    share : (2, J, ...) array
        P(D = d, X = x); unmixed shares may be negative.
    regression : (2, J, ...) array
        E[Y | D = d, X = x]; the arm's mean where the share is exactly 0.
    propensity : (J, ...) array
        P(D = 1 | X = x).
    treated_share : (...) array
        P(D = 1).
    """

    share: FloatArray
    regression: FloatArray
    propensity: FloatArray
    treated_share: FloatArray

    @property
    def category_share(self) -> FloatArray:
        """P(X = x), (J, ...)."""
        return np.asarray(self.share[0] + self.share[1])


def fit(share: FloatArray, outcome: FloatArray) -> CellFit:
    """Return regressions and propensity of an unmixed table (step 2 of section 2.3).

    Parameters
    ----------
    share : (2, J, ...) array
        Unmixed P(D = d, X = x).
    outcome : (2, J, ...) array
        Unmixed E[Y; D = d, X = x].
    """
    arm = share.sum(axis=1)
    mean = outcome.sum(axis=1) / np.where(arm == 0, 1.0, arm)
    regression = _ratio(outcome, share, mean[:, None])
    both = share[0] + share[1]
    propensity = _ratio(share[1], both, arm[1][None])
    return CellFit(share, regression, propensity, arm[1])


def _ratio(part: FloatArray, whole: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Divide, and take ``otherwise`` where the whole is 0."""
    zero = whole == 0.0
    if not zero.any():
        return np.asarray(part / whole)
    return np.where(zero, otherwise, part / np.where(zero, 1.0, whole))


def clip(nuisances: CellFit, trim: float, low: float | FloatArray, high: float | FloatArray) -> CellFit:
    """Return the nuisances with the propensity kept in [trim, 1 - trim] and the regressions in [low, high]."""
    return CellFit(
        nuisances.share,
        np.clip(nuisances.regression, low, high),
        np.clip(nuisances.propensity, trim, 1.0 - trim),
        nuisances.treated_share,
    )


def trim_level(keep_probability: float, records: int) -> float:
    """Return the propensity trim of section 2.6: 1/(a √n), kept between 0.02 and 0.1.

    Examples
    --------
    >>> trim_level(0.5, 3000)
    0.03651483716701107
    """
    return max(0.02, min(0.1, 1.0 / (keep_probability * math.sqrt(records))))


# --- scores -----------------------------------------------------------------------------------------------------


def _parts(target: CausalTarget, at: CellFit, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A(d, x) and B(d, x), (2, J, ...), of the uncentred score."""
    treated = np.where(at.treated_share > 0, at.treated_share, np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        a1, b1, a0, b0 = target.score_parts(at.propensity, at.regression[0], at.regression[1], treated, slope)
    shape = at.regression.shape
    a, b = np.empty(shape), np.empty(shape)
    a[0], a[1], b[0], b[1] = a0, a1, b0, b1
    return a, b


def value_and_slope(target: CausalTarget, at: CellFit) -> tuple[FloatArray, FloatArray]:
    """Return P f and e = P ∂f/∂γ under the fitted law, both (...)."""
    a, b = _parts(target, at, np.zeros_like(at.treated_share))
    with np.errstate(invalid="ignore", over="ignore"):
        value = np.asarray((at.share * (a * at.regression + b)).sum(axis=(0, 1)))
    return value, target.slope(value, np.where(at.treated_share > 0, at.treated_share, np.nan))


def plug_in(target: CausalTarget, at: CellFit) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the plug-in value and the centred influence function A(d, x) y + B(d, x) (Prop. 4, steps 4 and 5).

    Returns
    -------
    value : (...) array
        P f at the fitted law.
    slopes, offsets : (2, J, ...) arrays
        A and B; the mean of A y + B is 0 under the fitted law.
    """
    value, slope = value_and_slope(target, at)
    a, b = _parts(target, at, slope)
    return value, a, b - value


def mean_square(slopes: FloatArray, offsets: FloatArray, sums: CellSums) -> FloatArray:
    """Return the mean over the records of (A y + B)², from sums alone and with non-negative terms only.

    Parameters
    ----------
    slopes, offsets : (2, J, ...) arrays
        A and B by treatment and released category.
    sums : CellSums
        The records.
    """
    centre = slopes * sums.mean + offsets
    total = (sums.size * centre**2 + slopes**2 * sums.spread).sum(axis=(0, 1))
    return np.asarray(total / sums.size.sum(axis=(0, 1)))


def estimate_with_error(
    target: CausalTarget, at: CellFit, inverse: FloatArray | None, sums: CellSums
) -> tuple[FloatArray, FloatArray]:
    """Return the plug-in value and its standard error; ``inverse`` None takes the released value for the true one."""
    value, a, b = plug_in(target, at)
    with np.errstate(invalid="ignore", over="ignore"):
        if inverse is not None:
            a, b = private_scores(inverse, a), private_scores(inverse, b)
        error = np.sqrt(mean_square(a, b, sums) / sums.size.sum(axis=(0, 1)))
    return value, np.where(np.isfinite(error), error, np.nan)


def one_step(
    folds: Sequence[CellSums],
    inverse: FloatArray,
    target: CausalTarget,
    *,
    trim: float,
    low: float | FloatArray,
    high: float | FloatArray,
    matrix: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Cross-fitted one-step estimate from sums by fold (section 2.5 with W in place of the nodes).

    Parameters
    ----------
    folds : sequence of CellSums
        Sums of each fold, arrays (2, J, ...).
    inverse : (J, J) array
        W of the mechanism.
    target : CausalTarget
        What is estimated.
    trim : float
        Propensities are kept in [trim, 1 - trim].
    low, high : float or (...) arrays
        Regressions are kept in [low, high], the range of the outcome.
    matrix : (J, J) array, optional
        The mechanism's matrix; where given, the law of treatment and category is the likelihood solution instead of the
        inverse (step 3 of section 2.3).

    Returns
    -------
    value, std_error : (...) arrays
        Mean of the scores, and their standard deviation over √n.
    """
    size = sum_of([part.size for part in folds])
    total = sum_of([part.total for part in folds])
    records = size.sum(axis=(0, 1))
    centres: list[FloatArray] = []
    spreads: list[FloatArray] = []
    repaired = None if matrix is None else margin_repair(np.stack([size - part.size for part in folds], -1), matrix)
    for fold, part in enumerate(folds):
        train_size, train_total = size - part.size, total - part.total
        people = train_size.sum(axis=(0, 1))
        share = unmix(inverse, train_size / people) if repaired is None else repaired[..., fold]
        at = clip(fit(share, unmix(inverse, train_total / people)), trim, low, high)
        _, slope = value_and_slope(target, at)
        a, b = (private_scores(inverse, piece) for piece in _parts(target, at, slope))
        centres.append(a * part.mean + b)
        spreads.append(a * a * part.spread)
    sizes = [part.size for part in folds]
    value = sum_of([s * c for s, c in zip(sizes, centres, strict=True)]).sum(axis=(0, 1)) / records
    around = sum_of([s * (c - value) ** 2 + v for s, c, v in zip(sizes, centres, spreads, strict=True)])
    return np.asarray(value), np.asarray(np.sqrt(around.sum(axis=(0, 1)) / records / records))


def sum_of(arrays: Sequence[FloatArray]) -> FloatArray:
    """Return the sum of arrays of one shape, added in order."""
    total = arrays[0].copy()
    for array in arrays[1:]:
        total += array
    return total


# --- likelihood repair ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """The likelihood solution for the table of what was true.

    Attributes
    ----------
    probabilities : (V, J, ...) array
        P(v, x), never negative.
    steps : (...) array of int
        Number of iterations.
    converged : (...) array of bool
        Whether the largest change fell below the tolerance.
    """

    probabilities: FloatArray
    steps: IntArray
    converged: BoolArray


def likelihood_repair(
    table: ArrayLike,
    matrix: FloatArray,
    *,
    pseudo_count: float = 0.0,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
) -> LikelihoodFit:
    """Find the law that makes the released table most likely, by the EM iteration of section 2.4.

    It equals the unmixed table wherever that is non-negative, and lies on the boundary otherwise.

    Parameters
    ----------
    table : (V, J) or (V, J, ...) array
        Counts or shares by visible cell v and released category z.
    matrix : (J, J) or (J, K) array
        The mechanism; ``matrix[z, x]`` = P(shown z | true x), for the K true categories that occur.
    pseudo_count : float
        People added to every cell (v, x) in each step; 1 and more pull the answer toward the unadjusted contrast.
    tolerance : float
        Stop when no probability changes by this much.
    most_steps : int
        Stop after this many iterations.

    Raises
    ------
    DataError
        If a table is empty or has a negative count.
    ParameterError
        If the pseudo-count is negative.

    Examples
    --------
    >>> import numpy as np
    >>> shown = np.array([[6.0, 0.0], [2.0, 2.0]])
    >>> found = likelihood_repair(shown, np.array([[0.8, 0.2], [0.2, 0.8]]))
    >>> found.probabilities.round(3)
    array([[0.6, 0. ],
           [0.2, 0.2]])
    """
    if not (math.isfinite(pseudo_count) and pseudo_count >= 0.0):
        raise ParameterError(f"The pseudo-count must be at least 0; it is {pseudo_count:g}.", field="pseudo_count")
    given = np.asarray(table, dtype=np.float64)
    if (given < 0).any():
        raise DataError("A table of counts must not hold negative numbers.")
    trail = given.shape[2:]
    shown = np.moveaxis(given.reshape(given.shape[0], given.shape[1], -1), 1, 0)  # (J, V, R)
    people = shown.sum(axis=(0, 1))
    if (people <= 0).any():
        raise DataError("The table of counts is empty.")
    shown = np.ascontiguousarray(shown / people)
    _, cells, runs = shown.shape
    levels = matrix.shape[1]
    added = pseudo_count / people
    shrink = 1.0 + added * (levels * cells)
    result = np.empty((levels, cells, runs))
    steps = np.full(runs, most_steps, dtype=np.int64)
    converged = np.zeros(runs, dtype=np.bool_)
    left = np.arange(runs)
    current = np.full(result.shape, 1.0 / (levels * cells))
    for step in range(1, most_steps + 1):
        before = current
        expected = np.einsum("zx,xvr->zvr", matrix, current)
        expected = np.divide(shown, expected, out=np.zeros_like(expected), where=expected > 0)
        current = current * np.einsum("zx,zvr->xvr", matrix, expected)
        if pseudo_count:
            current = (current + added) / shrink
        moved = np.abs(current - before).max(axis=(0, 1))
        done = moved < tolerance
        if done.any():
            finished = left[done]
            result[..., finished] = current[..., done]
            steps[finished], converged[finished] = step, True
            stay = ~done
            left, current = left[stay], np.ascontiguousarray(current[..., stay])
            shown, added, shrink = np.ascontiguousarray(shown[..., stay]), added[stay], shrink[stay]
            if left.size == 0:
                break
    result[..., left] = current
    found = np.moveaxis(result, 0, 1).reshape((cells, levels, *trail))
    return LikelihoodFit(np.ascontiguousarray(found), steps.reshape(trail), converged.reshape(trail))


def margin_repair(size: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the likelihood solution for the (2, J, ...) law of treatment and category (step 3, other outcomes)."""
    return likelihood_repair(size, matrix).probabilities


def fit_table(table: FloatArray, values: FloatArray) -> CellFit:
    """Return the nuisances of a (Y, 2, J, ...) table of probabilities."""
    grid = values.reshape((-1,) + (1,) * (table.ndim - 1))
    return fit(table.sum(axis=0), np.asarray((table * grid).sum(axis=0)))


# --- one analysis -----------------------------------------------------------------------------------------------


def discrete_estimate(
    counts: DiscreteCounts,
    mechanism: AlphaIdentity | FiniteMechanism,
    target: CausalTarget,
    *,
    level: float = 0.95,
    repair: Repair = "auto",
    pseudo_count: float = 0.0,
    trim: float | None = None,
) -> Estimate:
    """Estimate an effect from a private category, with its interval (section 2.3).

    The released table is unmixed and the ordinary plug-in estimate is taken. If the unmixed table is no law, the
    likelihood solution takes its place (outcome with few values), or the law of treatment and category is repaired and
    the cross-fitted one-step estimate is used (any other outcome). Categories whose share cannot be told from none are
    left out of all this, and named (E4).

    Parameters
    ----------
    counts : DiscreteCounts
        Records from :func:`privexplorer.causal.counts.tabulate`.
    mechanism : AlphaIdentity or FiniteMechanism
        What noised the category; a keep probability of 1 gives the ordinary estimate.
    target : CausalTarget
        What is estimated.
    level : float
        Coverage of the interval, strictly between 0 and 1.
    repair : ``auto``, ``never`` or ``always``
        Whether impossible unmixed tables are repaired.
    pseudo_count : float
        People added to every cell in the likelihood solution, at least 0.
    trim : float, optional
        Propensity trim of the one-step estimate and of the overlap check; :func:`trim_level` if left out.

    Returns
    -------
    Estimate
        With the flags ``constrained``, ``negative cells``, ``no overlap``, ``little overlap``, ``unsupported level``,
        ``not converged``, ``pseudo-count``, ``nearly singular``, ``dropped rows``, ``constant outcome``,
        ``not defined`` and ``uninformative`` where they apply.

    Raises
    ------
    DataError
        If an arm is empty, or treated and untreated people are hardly ever alike (over 80 % of the propensities are
        extreme).
    """
    if repair not in ("auto", "never", "always"):
        raise ParameterError(f"The repair is auto, never or always; it is “{repair}”.", field="repair")
    channel = _channel(mechanism, len(counts.levels))
    matrix, inverse = channel.matrix, channel.inverse
    records = counts.records
    notes = [*counts.notes, *channel.notes]
    flags = ["dropped rows"] if counts.dropped else []
    flags += ["nearly singular"] if channel.notes else []
    whole = unmix(inverse, counts.sums.size / records)
    error_of_share = _share_errors(whole, counts, channel)
    kept = ~_left_out(whole, error_of_share, channel)
    if not kept.all():
        flags.append("unsupported level")
        notes.append(_left_out_note([counts.levels[x] for x in np.flatnonzero(~kept)]))
        matrix, inverse = matrix[:, kept], _inverse_over(inverse, kept, mechanism)
    table = None if counts.counts is None else unmix_table(inverse, counts.counts / records)
    unmixed = fit(unmix(inverse, counts.sums.size / records), unmix(inverse, counts.sums.total / records))
    impossible, reason = _impossible(unmixed, table, counts.low, counts.high)
    constrained = repair == "always" or (repair == "auto" and impossible)
    cut = trim_level(channel.smallest_singular, records) if trim is None else _checked_trim(trim)
    fitted, method = unmixed, "plug-in"
    extra: dict[str, Any] = {}
    if impossible and not constrained:
        flags.append("negative cells")
        notes.append(f"Unmixing gave {reason}; the table was left as it is.")
    if constrained:
        flags.append("constrained")
        is_noisy = not np.array_equal(channel.matrix, np.eye(channel.levels))
        if impossible and is_noisy:  # without noise nothing was unmixed
            notes.append(f"Unmixing gave {reason}, so the most likely possible table is used instead.")
    if pseudo_count:
        flags.append("pseudo-count")
        if pseudo_count >= 1:
            notes.append("Pseudo-counts of 1 and more pull the answer toward the unadjusted contrast.")
    if constrained and counts.counts is not None and counts.values is not None:
        cells = counts.counts.reshape(-1, len(counts.levels))
        found = likelihood_repair(cells, matrix, pseudo_count=pseudo_count)
        table = found.probabilities.reshape(*counts.counts.shape[:2], -1)
        fitted, method = fit_table(table, counts.values), "likelihood"
        extra["steps"] = int(found.steps)
        if not found.converged:
            flags.append("not converged")
    if constrained and counts.counts is None:
        method = "one-step"
        share = margin_repair(counts.sums.size, matrix)
        raw = fit(share, unmix(inverse, counts.sums.total / records))
        fitted = clip(raw, 0.0, counts.low, counts.high)
        value, error = one_step(
            counts.fold_sums, inverse, target, trim=cut, low=counts.low, high=counts.high, matrix=matrix
        )
    else:
        value, error = estimate_with_error(target, fitted, inverse, counts.sums)
    smallest_cell = max(float(fitted.share.min()), 0.0)
    fitted, table = _over_all(fitted, table, kept)
    overlap_flags, overlap_notes, shares = _overlap(fitted, counts, mechanism, cut)
    flags += overlap_flags
    notes += overlap_notes
    unsupported = _unsupported(whole, error_of_share, fitted, counts, channel, kept)
    if unsupported:
        flags += [] if "unsupported level" in flags else ["unsupported level"]
        notes.append(unsupported)
    odd = sense_of_error(float(value), float(error), counts.low, counts.high, level)
    flags += odd[0]
    notes += odd[1]
    guard = small_sample_guard(records, channel.smallest_singular, smallest_cell=smallest_cell)
    if guard.level != "green":
        notes.append(guard.sentence)
    naive_value, naive_error = estimate_with_error(target, _observed(counts), None, counts.sums)
    naive = Estimate.normal(
        float(naive_value), float(naive_error), records=records, target=target.name, method="naive", level=level
    )
    return Estimate.normal(
        float(value),
        float(error),
        records=records,
        target=target.name,
        method=method,
        level=level,
        flags=flags,
        notes=notes,
        guard=guard,
        nuisances={
            "share": fitted.share,
            "regression": fitted.regression,
            "propensity": fitted.propensity,
            "treated_share": float(fitted.treated_share),
            "table": table,
            "unmixed_share": whole,
            "trim": cut,
            **shares,
            **extra,
        },
        naive=naive,
    )


def _channel(mechanism: AlphaIdentity | FiniteMechanism, levels: int) -> FiniteMechanism:
    if not isinstance(mechanism, (AlphaIdentity, FiniteMechanism)):
        raise UnsupportedCombination("A private category needs a mechanism over categories.", field="mechanism")
    channel = mechanism.finite()
    if channel.levels != levels:
        raise ParameterError(
            f"The mechanism has {channel.levels} categories, but the released column has {levels}.", field="mechanism"
        )
    return channel


def _checked_trim(trim: float) -> float:
    if not 0.0 < trim < 0.5:
        raise ParameterError(f"The propensity trim must lie strictly between 0 and 0.5; it is {trim:g}.", field="trim")
    return trim


def _observed(counts: DiscreteCounts) -> CellFit:
    """Return the fit that takes the released category for the true one."""
    records = counts.sums.size.sum()
    return fit(counts.sums.size / records, counts.sums.total / records)


def _impossible(at: CellFit, table: FloatArray | None, low: float, high: float) -> tuple[bool, str]:
    """Return whether the unmixed table is no law, and what shows it (step 3 of section 2.3)."""
    cells = at.share if table is None else table
    smallest = min(float(cells.min()), float(at.share.min()))
    if smallest < -_NEGATIVE:
        return True, f"impossible cells (the smallest is {smallest:.3g})"
    if (at.share <= 0).any():
        return True, "a category that nobody has in one of the arms"
    slack = 1e-9 * max(abs(low), abs(high), high - low)
    if ((at.regression < low - slack) | (at.regression > high + slack)).any():
        return True, "mean outcomes beyond the range of the outcome"
    return False, ""


# --- categories that nobody has ---------------------------------------------------------------------------------


def _share_errors(share: FloatArray, counts: DiscreteCounts, channel: FiniteMechanism) -> FloatArray:
    """Return the standard errors of the unmixed shares of the categories, (J,)."""
    shown = counts.sums.size.sum(axis=0) / counts.records
    square = np.asarray((channel.inverse**2 * shown).sum(axis=1))
    return np.asarray(np.sqrt(np.maximum(square - share.sum(axis=0) ** 2, 0.0) / counts.records))


def _reached(channel: FiniteMechanism) -> BoolArray:
    """Return which categories the noise shows for people who have another one, (J,)."""
    others = channel.matrix - np.diag(np.diagonal(channel.matrix))
    return np.asarray(others.max(axis=1) > 0)


def _left_out(share: FloatArray, error: FloatArray, channel: FiniteMechanism) -> BoolArray:
    """Return which categories cannot be told from such that nobody has (E4), (J,).

    Where noise shows them: within two standard errors of none, and with two more surely few people, so that a category
    of which the data say too little stays (rule of thumb). Where noise does not show them: nobody shows them.
    """
    both = share.sum(axis=0)
    unseen = (both <= 2.0 * error) & (np.maximum(both, 0.0) + 2.0 * error <= min(FEW_PEOPLE, 0.5 / both.size))
    return np.asarray(np.where(_reached(channel), unseen, np.abs(both) <= _NEGATIVE))


def _inverse_over(inverse: FloatArray, kept: BoolArray, mechanism: AlphaIdentity | FiniteMechanism) -> FloatArray:
    """Return an inverse (K, J) for people who all have one of the K kept categories.

    The rows of the other categories have mean 0 then, so adding any multiple of them keeps it an inverse; with the
    law of the noise on the kept categories, people who show another one are taken for what they are, noise, and the
    shares still sum to 1 (derived, checked in tests/unit/causal/test_discrete.py).
    """
    law = _noise_shares(mechanism, kept.size)[kept]
    law = law / law.sum() if law.sum() > 0 else np.full(law.size, 1.0 / law.size)
    return np.asarray(inverse[kept] + law[:, None] * inverse[~kept].sum(axis=0))


def _over_all(at: CellFit, table: FloatArray | None, kept: BoolArray) -> tuple[CellFit, FloatArray | None]:
    """Return nuisances and table for all categories: nobody has the ones left out, arm means continue there."""
    if kept.all():
        return at, table
    share = np.zeros((2, kept.size))
    share[:, kept] = at.share
    arm = at.share.sum(axis=1)
    mean = (at.share * at.regression).sum(axis=1) / np.where(arm == 0, 1.0, arm)
    regression = np.repeat(mean[:, None], kept.size, axis=1)
    regression[:, kept] = at.regression
    propensity = np.full(kept.size, float(at.treated_share))
    propensity[kept] = at.propensity
    if table is not None:
        wide = np.zeros((*table.shape[:2], kept.size))
        wide[..., kept] = table
        table = wide
    return CellFit(share, regression, propensity, at.treated_share), table


def _listed(levels: Sequence[object]) -> str:
    return ", ".join(worded(level) for level in levels[:5]) + (", ..." if len(levels) > 5 else "")


def _left_out_note(levels: Sequence[object]) -> str:
    return (
        f"Categories that hardly anybody seems to have ({_listed(levels)}) cannot be told from ones that nobody has; "
        "they are left out, so the estimate is about everybody else."
    )


def _overlap(
    at: CellFit, counts: DiscreteCounts, mechanism: AlphaIdentity | FiniteMechanism, trim: float
) -> tuple[list[str], list[str], dict[str, float]]:
    """Return flags and notes about overlap; refuse when treated and untreated people are hardly ever alike."""
    flags: list[str] = []
    notes: list[str] = []
    extreme = ((at.propensity < trim) | (at.propensity > 1.0 - trim)).astype(np.float64)
    shown = counts.sums.size.sum(axis=0) / counts.records
    shares = {
        "extreme_share_released": float((shown * extreme).sum()),
        "extreme_share_noise": float((_noise_shares(mechanism, len(counts.levels)) * extreme).sum()),
    }
    worst = max(shares.values())
    if worst > REFUSE_SHARE:
        raise DataError(
            f"Treated and untreated people are hardly ever alike: {100 * worst:.0f}% of the propensities lie outside "
            f"{trim:.3g} to {1 - trim:.3g}, so no effect can be estimated."
        )
    if worst > WARN_SHARE:
        flags.append("little overlap")
        notes.append(
            f"Little overlap: the propensity lies outside {trim:.3g} to {1 - trim:.3g} for "
            f"{100 * shares['extreme_share_released']:.0f}% of the released values and "
            f"{100 * shares['extreme_share_noise']:.0f}% of the noise."
        )
    empty = at.share * counts.records < EMPTY
    lonely = np.flatnonzero(empty[0] != empty[1])
    if lonely.size:
        flags.append("no overlap")
        for x in lonely:
            who = "treated" if empty[1, x] else "control"
            notes.append(
                f"No overlap at level {worded(counts.levels[x])}: there are no {who} units; merge it with another."
            )
    return flags, notes, shares


def _noise_shares(mechanism: AlphaIdentity | FiniteMechanism, levels: int) -> FloatArray:
    """Return the law of the noise, or equal shares for a mechanism that has no such law."""
    if isinstance(mechanism, AlphaIdentity):
        return np.asarray(mechanism.nodes()[1], dtype=np.float64)
    return np.full(levels, 1.0 / levels)


def _unsupported(
    share: FloatArray,
    error: FloatArray,
    fitted: CellFit,
    counts: DiscreteCounts,
    channel: FiniteMechanism,
    kept: BoolArray,
) -> str:
    """Name kept categories that nobody seems to have although noise shows them (E4): within two errors of none."""
    none = np.minimum(share.sum(axis=0), fitted.category_share) <= 2.0 * error
    found = [counts.levels[x] for x in np.flatnonzero(none & _reached(channel) & kept)]
    if not found:
        return ""
    return (
        f"The noise shows categories that perhaps nobody has ({_listed(found)}); the estimate stays valid, but its "
        "standard error then depends on how the regressions are continued there."
    )


__all__ = [
    "CellFit",
    "LikelihoodFit",
    "Method",
    "Repair",
    "clip",
    "discrete_estimate",
    "estimate_with_error",
    "fit",
    "fit_table",
    "likelihood_repair",
    "margin_repair",
    "mean_square",
    "one_step",
    "plug_in",
    "private_scores",
    "trim_level",
    "unmix",
    "unmix_table",
    "value_and_slope",
]
