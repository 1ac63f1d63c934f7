"""An effect on somebody's own table: which column is too sensitive, how it is noised, and what comes out (section 3).

Ranges, category lists and noise laws are public settings: reading them off the private column would void the
guarantee. The noise is drawn once and kept; drawing it again and again would average it away.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.causal.counts import (
    arm_codes,
    category_codes,
    missing_rows,
    outcome_in_range,
    outcome_numbers,
    tabulate,
)
from privexplorer.causal.crossfit import LearnerName, Learners, Rung, causal_target, climb, cross_fit, fold_labels
from privexplorer.causal.discrete import discrete_estimate
from privexplorer.causal.estimate import Estimate
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    FiniteNoise,
    Mechanism,
    MixedNoise,
    NoiseLaw,
    UniformNoise,
    Values,
    uniform_levels,
)
from privexplorer.causal.targets import CausalTarget
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

Missing = Literal["fail", "drop"]
MOST_LEVELS = 50
"""Most categories of a public column."""


@dataclass(frozen=True)
class Categories:
    """A private column of categories.

    Attributes
    ----------
    levels : tuple
        Public list of categories, at least two.
    probabilities : tuple of float or None
        Public noise law over them; None for the same probability for each.
    """

    levels: tuple[Hashable, ...]
    probabilities: tuple[float, ...] | None = None

    def noise(self) -> FiniteNoise:
        """Return the noise law."""
        if self.probabilities is None:
            return uniform_levels(len(self.levels))
        if len(self.probabilities) != len(self.levels):
            raise ParameterError(
                f"There are {len(self.levels)} categories, but {len(self.probabilities)} noise probabilities.",
                field="noise",
            )
        return FiniteNoise(np.array(self.probabilities))


@dataclass(frozen=True)
class Numbers:
    """A private column of numbers.

    Attributes
    ----------
    low, high : float
        Public range; values outside are moved to the nearer end before the noise, and counted.
    law : NoiseLaw or None
        Public noise law of one column; None for uniform noise on the range.
    """

    low: float
    high: float
    law: NoiseLaw | None = None

    def noise(self) -> NoiseLaw:
        """Return the noise law."""
        return UniformNoise(self.low, self.high) if self.law is None else self.law


Private = Categories | Numbers


def mechanism_for(private: Mapping[str, Private], keep_probability: float) -> AlphaIdentity:
    """Return the mechanism that keeps all private columns of a person together, or replaces them all by noise.

    Parameters
    ----------
    private : mapping of str to Categories or Numbers
        At least one column.
    keep_probability : float
        In (0, 1].

    Examples
    --------
    >>> mechanism_for({"age": Numbers(18, 90)}, 0.5).noise
    UniformNoise(low=18, high=90)
    """
    if not private:
        raise ParameterError("Choose at least one private column.", field="private")
    laws = [column.noise() for column in private.values()]
    return AlphaIdentity(keep_probability, laws[0] if len(laws) == 1 else MixedNoise(tuple(laws)))


@dataclass(frozen=True, eq=False)
class EffectAnalysis:
    """What an analysis of somebody's table found.

    Attributes
    ----------
    estimate : Estimate
        From the released columns; ``estimate.naive`` is what treating them as true would have said.
    oracle : Estimate or None
        From the true columns, which only the curator sees; None where the table holds released values.
    unadjusted : Estimate
        Difference between the arms' means, without any covariate.
    records, dropped : int
        Rows used, and rows left out for gaps.
    released : (n,) or (n, k) array
        The private columns as they were shown: the one draw that everything here uses.
    arms : (control, treated)
        Which treatment values mean what.
    propensity : (n,) array
        Fitted chance of treatment of every record at what it shows.
    treated : (n,) int array
        Treatment of every record, for the overlap plot.
    trimmed_released, trimmed_noise : float
        Shares of shown values and of the noise law with an extreme fitted chance of treatment.
    rungs : tuple of Rung
        Estimates at further keep probabilities with common noise.
    notes : tuple of str
        Everything that a reader must know, in sentences.
    """

    estimate: Estimate
    oracle: Estimate | None
    unadjusted: Estimate
    records: int
    dropped: int
    released: Values
    arms: tuple[Hashable, Hashable]
    propensity: FloatArray
    treated: IntArray
    trimmed_released: float
    trimmed_noise: float
    rungs: tuple[Rung, ...] = ()
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, eq=False)
class _Table:
    y: FloatArray
    d: IntArray
    x: Values
    w: FloatArray | None
    arms: tuple[Hashable, Hashable]
    dropped: int
    notes: tuple[str, ...]


def analyse_effect(
    columns: Mapping[str, ArrayLike],
    *,
    outcome: str,
    treatment: str,
    private: Mapping[str, Private],
    mechanism: Mechanism,
    public: Sequence[str] = (),
    target: Any = "ATE",
    treated: Hashable | None = None,
    learners: Learners | LearnerName | None = None,
    missing: Missing = "fail",
    is_released: bool = False,
    keep_probabilities: Sequence[float] = (),
    folds: int = 5,
    level: float = 0.95,
    trim: float | None = None,
    rng: np.random.Generator | None = None,
) -> EffectAnalysis:
    """Estimate an effect on somebody's table when some columns are released with noise (section 3).

    Parameters
    ----------
    columns : mapping of str to (n,) array
        The table; a data frame will do.
    outcome, treatment : str
        Column names. The outcome is numeric, the treatment has exactly two values.
    private : mapping of str to Categories or Numbers
        Private columns with their public ranges or category lists.
    mechanism : Mechanism
        How they are noised, as from ``mechanism_for``; any invertible matrix for one column of categories.
    public : sequence of str
        Public columns to adjust for; text becomes one indicator per category.
    target : str or target
        ATE, ATT, E[Y1], E[Y0] or E[Y0|D=1].
    treated : label, optional
        Which treatment value means treated; needed where they are not 0 and 1.
    learners : learners or str, optional
        As in ``cross_fit``. Left out, one private column of categories without public columns is analysed by its
        table, and everything else by private moments with two functions per numeric column.
    missing : {"fail", "drop"}
        What to do with rows that have a gap in a column used here; dropped rows are counted.
    is_released : bool
        The private columns of the table are noised already; then no noise is drawn and there is no oracle.
    keep_probabilities : sequence of float
        Further keep probabilities for the ladder.
    folds : int
        Folds for cross-fitting.
    level : float
        Coverage of the intervals.
    trim : float, optional
        As in ``cross_fit``.
    rng : numpy.random.Generator, optional
        Draws the noise once and deals the folds; a fixed one if left out.

    Returns
    -------
    EffectAnalysis
        Estimates, shares and sentences.

    Raises
    ------
    DataError
        If a column is missing or unusable, an arm is empty, or the arms do not overlap.
    ParameterError, UnsupportedCombination
        If settings are out of range or do not go together.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> x = draw.integers(0, 3, 3000)
    >>> d = (draw.random(3000) < 0.3 + 0.2 * x).astype(int)
    >>> table = {"pay": 2.0 * d + x + draw.normal(size=3000), "course": d, "illness": x}
    >>> private = {"illness": Categories((0, 1, 2))}
    >>> found = analyse_effect(
    ...     table, outcome="pay", treatment="course", private=private, mechanism=mechanism_for(private, 0.7)
    ... )
    >>> found.estimate.covers(2.0), found.records
    (True, 3000)
    """
    wanted = causal_target(target)
    source = np.random.default_rng(0) if rng is None else rng
    table = _table(columns, outcome, treatment, private, tuple(public), treated, missing, is_released)
    notes = list(table.notes)
    if is_released:
        released = table.x
    else:
        released = mechanism.privatise(table.x, source)
        notes.append(
            "The noise was drawn once and is used throughout: drawing it again for each question would average it away."
        )
    labels = fold_labels(len(table.y), folds, source, table.d)
    by_table = learners is None and table.w is None and _is_categorical(private, mechanism)
    method: Learners | LearnerName = "param" if learners is None else learners

    def estimate(used: Mechanism, z: Values) -> Estimate:
        if by_table:
            return _by_table(table, used, z, wanted, private, labels, folds, level, trim)
        return cross_fit(
            table.y, table.d, z, used, wanted, learners=method, fold_ids=labels, w=table.w, level=level, trim=trim,
            naive=True,
        )  # fmt: skip

    main = estimate(mechanism, released)
    oracle = None if is_released else estimate(_open(mechanism), table.x)
    rungs: tuple[Rung, ...] = ()
    if len(keep_probabilities) and not is_released:
        if not isinstance(mechanism, AlphaIdentity):
            raise UnsupportedCombination(
                "A ladder of keep probabilities needs a mechanism that keeps the value with a known probability.",
                field="mechanism",
            )
        rungs = climb(estimate, table.x, mechanism.noise, keep_probabilities, source)
    notes += _support_notes(private, mechanism, released, by_table)
    notes += [note for note in getattr(mechanism, "notes", ()) if note not in main.notes]
    shown = np.asarray(main.nuisances["propensity"], dtype=np.float64)
    if by_table:
        shown = shown[np.asarray(released, dtype=np.int64)]
    extra = main.nuisances
    return EffectAnalysis(
        main,
        oracle,
        _unadjusted(table, wanted, level),
        len(table.y),
        table.dropped,
        released,
        table.arms,
        shown,
        table.d,
        float(extra.get("trimmed_share", extra.get("extreme_share_released", math.nan))),
        float(extra.get("trimmed_share_under_noise", extra.get("extreme_share_noise", math.nan))),
        rungs,
        (*notes, *main.notes),
    )


# --- reading the table -------------------------------------------------------------------------------------------


def _table(
    columns: Mapping[str, ArrayLike],
    outcome: str,
    treatment: str,
    private: Mapping[str, Private],
    public: tuple[str, ...],
    treated: Hashable | None,
    missing: Missing,
    is_released: bool,
) -> _Table:
    if missing not in ("fail", "drop"):
        raise ParameterError(
            f"Rows with missing values can be refused (fail) or left out (drop); “{missing}” is neither.",
            field="missing",
        )
    if not private:
        raise ParameterError("Choose at least one private column.", field="private")
    names = (outcome, treatment, *private, *public)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise ParameterError(f"The column '{doubled[0]}' has two roles; give each column one.", field="columns")
    absent = [name for name in names if name not in columns]
    if absent:
        raise DataError(f"The table has no column '{absent[0]}'.", field="columns")
    raw = {name: np.asarray(columns[name]) for name in names}
    n = len(raw[outcome])
    for name, values in raw.items():
        if values.ndim != 1 or len(values) != n:
            raise DataError(f"The column '{name}' must have one value for each of the {n:,} rows.", field="columns")
    y = outcome_numbers(raw[outcome])
    gaps = {name: missing_rows(values) for name, values in raw.items()}
    gaps[outcome] = np.isnan(y)
    kept, dropped = _complete(gaps, missing, n)
    y, raw = y[kept], {name: values[kept] for name, values in raw.items()}
    if not len(y):
        raise DataError("No rows are left to analyse.", field="columns")
    if np.isinf(y).any():
        raise DataError("The outcome column must be numeric and finite; it has infinite values.", field="outcome")
    outcome_in_range(y)
    d, arms = arm_codes(raw[treatment], treated)
    notes = [f"{dropped:,} rows with missing values were left out."] if dropped else []
    coded = []
    for name, kind in private.items():
        values, moved = _private_codes(name, raw[name], kind, is_released)
        coded.append(values)
        if moved:
            notes.append(
                f"{moved:,} values of '{name}' outside the public range were moved to its nearer end before the noise."
            )
    x = coded[0] if len(coded) == 1 else np.column_stack([np.asarray(part, dtype=np.float64) for part in coded])
    w = _public_columns(raw, public)
    return _Table(y, d, x, w, arms, dropped, tuple(notes))


def _complete(gaps: Mapping[str, BoolArray], missing: Missing, n: int) -> tuple[BoolArray, int]:
    gone = np.zeros(n, dtype=np.bool_)
    for gap in gaps.values():
        gone |= gap
    number = int(gone.sum())
    if number and missing == "fail":
        name = next(name for name, gap in gaps.items() if gap.any())
        raise DataError(
            f"{number:,} of {n:,} rows have a missing value, for example in the column '{name}'; leave such rows out "
            "or fill them in.",
            field="missing",
        )
    return ~gone, number


def _private_codes(name: str, values: NDArray[Any], kind: Private, is_released: bool) -> tuple[Values, int]:
    if isinstance(kind, Categories):
        try:
            return category_codes(values, kind.levels)[1], 0
        except DataError as problem:
            raise DataError(str(problem).replace("The released column", f"The column '{name}'"), field=name) from None
    if not kind.low < kind.high:
        raise ParameterError(
            f"The public range of '{name}' needs a lower end below its upper end; it runs from {kind.low:g} to "
            f"{kind.high:g}.",
            field=name,
        )
    if values.dtype.kind not in "buif":
        raise DataError(f"The private column '{name}' must be numeric, or be given a list of categories.", field=name)
    numbers = values.astype(np.float64)
    if np.isinf(numbers).any():
        raise DataError(f"The private column '{name}' has infinite values.", field=name)
    if is_released:
        return numbers, 0
    clipped = np.clip(numbers, kind.low, kind.high)
    return clipped, int(np.sum(clipped != numbers))


def _public_columns(raw: Mapping[str, NDArray[Any]], public: tuple[str, ...]) -> FloatArray | None:
    parts = []
    for name in public:
        values = raw[name]
        if values.dtype.kind in "buif":
            numbers = values.astype(np.float64)
            if np.isinf(numbers).any():
                raise DataError(f"The public column '{name}' has infinite values.", field=name)
            parts.append(numbers[:, None])
            continue
        kinds, codes = np.unique(values.astype(str), return_inverse=True)
        if len(kinds) > MOST_LEVELS:
            raise DataError(
                f"The public column '{name}' has {len(kinds):,} categories; at most {MOST_LEVELS} can be adjusted for.",
                field=name,
            )
        parts.append((codes[:, None] == np.arange(1, len(kinds))).astype(np.float64))
    if not parts:
        return None
    w = np.concatenate(parts, axis=1)
    return w[:, w.std(axis=0) > 0] if w.size else None


# --- estimates ---------------------------------------------------------------------------------------------------


def _is_categorical(private: Mapping[str, Private], mechanism: Mechanism) -> bool:
    single = len(private) == 1 and isinstance(next(iter(private.values())), Categories)
    finite = isinstance(mechanism, FiniteMechanism)
    return single and (finite or (isinstance(mechanism, AlphaIdentity) and isinstance(mechanism.noise, FiniteNoise)))


def _by_table(
    table: _Table,
    mechanism: Mechanism,
    z: Values,
    target: CausalTarget,
    private: Mapping[str, Private],
    labels: IntArray,
    folds: int,
    level: float,
    trim: float | None,
) -> Estimate:
    kind = next(iter(private.values()))
    assert isinstance(kind, Categories)  # noqa: S101 - checked by the caller
    assert isinstance(mechanism, AlphaIdentity | FiniteMechanism)  # noqa: S101 - checked by the caller
    counts = tabulate(table.y, table.d, z, len(kind.levels), folds=folds, fold_ids=labels)
    return discrete_estimate(replace(counts, levels=kind.levels), mechanism, target, level=level, trim=trim)


def _open(mechanism: Mechanism) -> Mechanism:
    """Return the same mechanism without noise."""
    if isinstance(mechanism, AlphaIdentity):
        return AlphaIdentity(1.0, mechanism.noise)
    if isinstance(mechanism, FiniteMechanism):
        return FiniteMechanism(np.eye(mechanism.levels))
    raise UnsupportedCombination("Added noise cannot be undone for effects.", field="mechanism")


def _unadjusted(table: _Table, target: CausalTarget, level: float) -> Estimate:
    """Return the difference between the arms' means with its unequal-variance error."""
    arms = [table.y[table.d == arm] for arm in (0, 1)]
    gap = float(arms[1].mean() - arms[0].mean())
    squares = [float(part.var(ddof=1)) / len(part) if len(part) > 1 else math.nan for part in arms]
    return Estimate.normal(
        gap, math.sqrt(sum(squares)), records=len(table.y), target=target.name, method="unadjusted", level=level
    )


def _support_notes(private: Mapping[str, Private], mechanism: Mechanism, released: Values, by_table: bool) -> list[str]:
    """Name numeric columns where noise lands but hardly any true value can be (E4)."""
    if by_table or not isinstance(mechanism, AlphaIdentity) or mechanism.keep_probability == 1.0:
        return []
    keep = mechanism.keep_probability
    laws = mechanism.noise.parts if isinstance(mechanism.noise, MixedNoise) else (mechanism.noise,)
    columns = np.asarray(released, dtype=np.float64).reshape(len(released), -1)
    notes = []
    for name, law, column in zip(private, laws, columns.T, strict=False):
        shares = _noise_bins(law)
        if shares is None:
            continue
        where, noise = shares
        shown = where(column)
        true = (shown - (1.0 - keep) * noise) / keep
        error = np.sqrt(shown * (1.0 - shown) / len(column)) / keep
        empty = float(np.sum(noise[true + 2.0 * error < 0.25 * noise]))
        if empty > 0.05:
            notes.append(
                f"About {empty:.0%} of the noise in '{name}' lands where hardly anybody's true value can be; the "
                "estimate stays valid, but its standard error then depends on how the regressions are continued there."
            )
    return notes


def _noise_bins(law: NoiseLaw) -> tuple[Callable[[FloatArray], FloatArray], FloatArray] | None:
    """Cut the line where the noise has ten equal shares; categories are their own cells."""
    if isinstance(law, FiniteNoise):
        return (lambda codes: np.bincount(codes.astype(np.int64), minlength=law.levels) / len(codes)), law.probabilities
    points, weights = law.nodes()
    if np.ndim(points) != 1:
        return None
    if isinstance(law, UniformNoise):
        edges = law.quantile(np.arange(1, 10) / 10.0)
        noise = np.full(10, 0.1)
    else:
        order = np.argsort(points)
        level = np.cumsum(weights[order])
        edges = np.asarray(points)[order][np.searchsorted(level, np.arange(1, 10) / 10.0)]
        noise = np.bincount(np.searchsorted(edges, points, side="right"), weights=weights, minlength=10)

    def where(values: FloatArray) -> FloatArray:
        return np.bincount(np.searchsorted(edges, values, side="right"), minlength=10) / len(values)

    return where, noise


__all__ = ["Categories", "EffectAnalysis", "Numbers", "Private", "analyse_effect", "mechanism_for"]
