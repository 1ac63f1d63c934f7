"""Many analyses of a known finite law at once: how the discrete estimators behave over repeated samples (section 6.1).

Tables of counts are drawn, not records, and every estimator runs on all replications together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.causal.counts import CellSums, sums_of_counts
from privexplorer.causal.discrete import (
    CellFit,
    Method,
    estimate_with_error,
    fit,
    fit_table,
    likelihood_repair,
    one_step,
    trim_level,
    unmix,
    unmix_table,
)
from privexplorer.causal.estimate import normal_quantile
from privexplorer.causal.laws import FiniteLaw
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism
from privexplorer.causal.targets import CausalTarget
from privexplorer.distributions.checks import whole_number
from privexplorer.errors import ParameterError

METHODS: tuple[Method, ...] = ("plug-in", "likelihood", "one-step", "repaired one-step", "naive", "oracle")


@dataclass(frozen=True, eq=False)
class Tables:
    """Drawn tables of counts.

    Attributes
    ----------
    released : tuple of (Y, 2, J, R) arrays
        Counts by outcome, treatment and released category, one array per fold.
    true : tuple of (Y, 2, J, R) arrays or None
        The same by the true category, where it was drawn.
    values : (Y,) array
        Values of the outcome.
    """

    released: tuple[IntArray, ...]
    true: tuple[IntArray, ...] | None
    values: FloatArray

    @property
    def replications(self) -> int:
        """Number of replications R."""
        return int(self.released[0].shape[-1])


def fold_sizes(records: int, folds: int) -> list[int]:
    """Return sizes of folds that differ by one at most.

    Examples
    --------
    >>> fold_sizes(11, 3)
    [4, 4, 3]
    """
    return [records // folds + (fold < records % folds) for fold in range(folds)]


def draw_tables(
    law: FiniteLaw,
    mechanism: AlphaIdentity | FiniteMechanism,
    records: int,
    replications: int,
    rng: np.random.Generator,
    *,
    folds: int = 3,
    with_truth: bool = False,
) -> Tables:
    """Draw tables of counts of ``records`` people, dealt out to folds of equal size.

    Parameters
    ----------
    law : FiniteLaw
        Law of outcome, treatment and true category.
    mechanism : AlphaIdentity or FiniteMechanism
        What noises the category.
    records : int
        People per replication, at least one per fold.
    replications : int
        Number of replications R.
    rng : Generator
        Source of randomness.
    folds : int
        Number of folds.
    with_truth : bool
        Also keep the tables of the true categories; slower.
    """
    people, runs = _checked(records, replications, folds)
    if not with_truth:
        shown = law.privatised(mechanism)
        drawn = [_multinomial(size, shown, runs, rng) for size in fold_sizes(people, folds)]
        return Tables(tuple(drawn), None, law.values)
    columns = np.clip(mechanism.finite().matrix.T, 0.0, 1.0)
    columns = columns / columns.sum(axis=1, keepdims=True)
    released, true = [], []
    for size in fold_sizes(people, folds):
        hidden = _multinomial(size, law.joint, runs, rng)
        true.append(hidden)
        shown_counts = rng.multinomial(np.moveaxis(hidden, 2, -1), columns)  # (Y, 2, R, x, z)
        released.append(np.ascontiguousarray(np.moveaxis(shown_counts.sum(axis=3), -1, 2)))
    return Tables(tuple(released), tuple(true), law.values)


def draw_ladder(
    law: FiniteLaw,
    noise: FloatArray,
    keep_probabilities: Sequence[float],
    records: int,
    replications: int,
    rng: np.random.Generator,
    *,
    folds: int = 3,
) -> list[Tables]:
    """Draw tables for a ladder of keep probabilities from the same people, the same coins and the same noise.

    A person whose uniform number lies below the keep probability shows the true category and otherwise the same noisy
    one throughout, so that curves over the keep probability are smooth.

    Parameters
    ----------
    law : FiniteLaw
        Law of outcome, treatment and true category.
    noise : (J,) array
        Law of the noise.
    keep_probabilities : sequence of float
        Rising numbers in (0, 1].
    records, replications, rng, folds
        As in :func:`draw_tables`.

    Returns
    -------
    list of Tables
        One for each keep probability, with the tables of the true categories.
    """
    people, runs = _checked(records, replications, folds)
    ladder = np.asarray(keep_probabilities, dtype=np.float64)
    if ladder.size == 0 or ladder[0] <= 0 or ladder[-1] > 1 or (np.diff(ladder) <= 0).any():
        raise ParameterError("Keep probabilities must rise and lie in (0, 1].", field="keep_probability")
    steps = np.diff(np.concatenate([[0.0], ladder, [1.0]]))
    levels = law.joint.shape[2]
    cells = np.outer(steps, noise).ravel()
    released: list[list[IntArray]] = [[] for _ in ladder]
    true = []
    for size in fold_sizes(people, folds):
        hidden = _multinomial(size, law.joint, runs, rng)
        true.append(hidden)
        coins = rng.multinomial(hidden, cells / cells.sum()).reshape((*hidden.shape, steps.size, levels))
        kept = np.cumsum(coins.sum(axis=-1), axis=-1)  # (Y, 2, x, R, step): shown as they are
        noisy = np.cumsum(coins.sum(axis=2)[..., ::-1, :], axis=-2)[
            ..., ::-1, :
        ]  # (Y, 2, R, step, z): from this step on
        for k in range(ladder.size):
            shown = kept[..., k] + np.moveaxis(noisy[..., k + 1, :], -1, 2)
            released[k].append(np.ascontiguousarray(shown))
    return [Tables(tuple(part), tuple(true), law.values) for part in released]


def _checked(records: int, replications: int, folds: int) -> tuple[int, int]:
    parts = whole_number(folds, "The number of folds", "folds", least=1)
    people = whole_number(records, "The number of records", "records", least=2 * parts)
    return people, whole_number(replications, "The number of replications", "replications")


def _multinomial(size: int, law: FloatArray, runs: int, rng: np.random.Generator) -> IntArray:
    flat = law.ravel()
    drawn = rng.multinomial(size, flat / flat.sum(), size=runs)
    return np.ascontiguousarray(drawn.T).reshape((*law.shape, runs))


@dataclass(frozen=True, eq=False)
class MethodRuns:
    """Results of one method over all replications.

    Attributes
    ----------
    value, std_error : (targets, R) arrays
        Estimates and standard errors; NaN where they are not defined.
    usable : (R,) array of bool
        False where the unmixed shares have a cell of 0 or less and the method does not repair it.
    """

    value: FloatArray
    std_error: FloatArray
    usable: BoolArray

    def bias(self, truth: FloatArray) -> FloatArray:
        """Return the mean error of each target over the usable replications."""
        return np.asarray(self.value[:, self.usable].mean(axis=1) - truth)

    def spread(self) -> FloatArray:
        """Return the variance of each target over the usable replications."""
        return np.asarray(self.value[:, self.usable].var(axis=1, ddof=1))

    def coverage(self, truth: FloatArray, level: float = 0.95) -> FloatArray:
        """Return how often value ± z · std_error holds the truth, among replications with a standard error."""
        inside = np.abs(self.value - truth[:, None]) <= normal_quantile(level) * self.std_error
        counted = self.usable & np.isfinite(self.std_error)
        return np.asarray((inside & counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1))

    def mean_square_error_bar(self) -> FloatArray:
        """Return the mean squared standard error over the usable replications that have one."""
        square = np.where(self.usable & np.isfinite(self.std_error), self.std_error**2, np.nan)
        return np.asarray(np.nanmean(square, axis=1))


@dataclass(frozen=True, eq=False)
class Replications:
    """Results of all methods.

    Attributes
    ----------
    records : int
        People per replication.
    targets : tuple of str
        Names of the targets, in the order of the first direction of the arrays.
    methods : mapping of str to MethodRuns
        Results by method.
    negative : (R,) array of bool
        Where unmixing gave a negative cell.
    smallest_share : (R,) array
        Smallest unmixed P(d, x), for the small-sample guard.
    """

    records: int
    targets: tuple[str, ...]
    methods: Mapping[str, MethodRuns]
    negative: BoolArray
    smallest_share: FloatArray


def replicate(
    law: FiniteLaw,
    mechanism: AlphaIdentity | FiniteMechanism,
    targets: Sequence[CausalTarget],
    records: int,
    replications: int,
    rng: np.random.Generator,
    *,
    methods: Sequence[Method] = ("plug-in", "naive", "one-step"),
    folds: int = 3,
    trim: float | None = 0.05,
    pseudo_count: float = 0.0,
) -> Replications:
    """Draw and analyse many samples of a known law (section 6.1).

    Parameters
    ----------
    law : FiniteLaw
        Law of outcome, treatment and true category.
    mechanism : AlphaIdentity or FiniteMechanism
        What noises the category.
    targets : sequence of CausalTarget
        What is estimated.
    records, replications : int
        People per replication, and number of replications.
    rng : Generator
        Source of randomness.
    methods : sequence of str
        ``plug-in`` (unmixing as it is), ``likelihood`` (unmixing, and the likelihood solution where that is
        impossible), ``one-step`` (cross-fitted, clipped), ``repaired one-step`` (the same with the likelihood solution
        for treatment and category), ``naive`` (released category taken for the true one), ``oracle`` (true category).
    folds : int
        Folds of the one-step estimate.
    trim : float, optional
        Its propensity trim; None takes :func:`privexplorer.causal.discrete.trim_level`.
    pseudo_count : float
        People added to every cell by the likelihood solution; above 0 it is used in all replications.
    """
    needs_folds = any("one-step" in method for method in methods)
    tables = draw_tables(
        law,
        mechanism,
        records,
        replications,
        rng,
        folds=folds if needs_folds else 1,
        with_truth="oracle" in methods,
    )
    return analyse_tables(tables, mechanism, targets, methods=methods, trim=trim, pseudo_count=pseudo_count)


def analyse_tables(
    tables: Tables,
    mechanism: AlphaIdentity | FiniteMechanism,
    targets: Sequence[CausalTarget],
    *,
    methods: Sequence[Method] = ("plug-in", "naive", "one-step"),
    trim: float | None = 0.05,
    pseudo_count: float = 0.0,
) -> Replications:
    """Analyse drawn tables; see :func:`replicate`."""
    strange = [method for method in methods if method not in METHODS]
    if strange:
        raise ParameterError(f"The methods are {', '.join(METHODS)}; {strange[0]!r} is none of them.", field="methods")
    channel = mechanism.finite()
    inverse = channel.inverse
    counts = np.sum(tables.released, axis=0)
    sums = sums_of_counts(counts, tables.values)
    records = int(counts[..., 0].sum())
    low, high = float(tables.values.min()), float(tables.values.max())
    unmixed = fit(unmix(inverse, sums.size / records), unmix(inverse, sums.total / records))
    whole = np.asarray((unmixed.share > 0).all(axis=(0, 1)))
    every = np.ones_like(whole)
    negative = np.asarray(unmix_table(inverse, counts / records).min(axis=(0, 1, 2)) < -1e-12)
    cut = trim_level(channel.smallest_singular, records) if trim is None else trim
    fold_sums: list[CellSums] = []
    if any("one-step" in method for method in methods):
        if len(tables.released) < 2:
            raise ParameterError("The one-step estimate needs at least two folds.", field="folds")
        fold_sums = [sums_of_counts(part, tables.values) for part in tables.released]
    found: dict[str, MethodRuns] = {}
    for method in methods:
        usable = every
        if method == "plug-in":
            pairs = [estimate_with_error(target, unmixed, inverse, sums) for target in targets]
            usable = whole
        elif method == "naive":
            shown = fit(sums.size / records, sums.total / records)
            pairs = [estimate_with_error(target, shown, None, sums) for target in targets]
        elif method == "oracle":
            if tables.true is None:
                raise ParameterError("The oracle needs the true categories.", field="methods")
            known = sums_of_counts(np.sum(tables.true, axis=0), tables.values)
            ideal = fit(known.size / records, known.total / records)
            pairs = [estimate_with_error(target, ideal, None, known) for target in targets]
        elif method == "likelihood":
            repaired = _repaired(counts, unmixed, negative | ~whole, channel, tables.values, pseudo_count)
            pairs = [estimate_with_error(target, repaired, inverse, sums) for target in targets]
        else:
            matrix = channel.matrix if method == "repaired one-step" else None
            pairs = [
                one_step(fold_sums, inverse, target, trim=cut, low=low, high=high, matrix=matrix) for target in targets
            ]
        found[method] = MethodRuns(np.stack([p[0] for p in pairs]), np.stack([p[1] for p in pairs]), usable)
    return Replications(
        records, tuple(target.name for target in targets), found, negative, unmixed.share.min(axis=(0, 1))
    )


def _repaired(
    counts: IntArray,
    unmixed: CellFit,
    wrong: BoolArray,
    channel: FiniteMechanism,
    values: FloatArray,
    pseudo_count: float,
) -> CellFit:
    """Return the unmixed fits with the likelihood solution wherever it is needed."""
    where = np.ones_like(wrong) if pseudo_count else wrong
    if not where.any():
        return unmixed
    chosen = counts[..., where]
    cells = chosen.reshape((-1, channel.levels, chosen.shape[-1]))
    table = likelihood_repair(cells, channel.matrix, pseudo_count=pseudo_count).probabilities.reshape(chosen.shape)
    better = fit_table(table, values)
    parts = []
    for name in ("share", "regression", "propensity", "treated_share"):
        mixed = np.array(getattr(unmixed, name))
        mixed[..., where] = getattr(better, name)
        parts.append(mixed)
    return CellFit(*parts)


__all__ = [
    "METHODS",
    "MethodRuns",
    "Replications",
    "Tables",
    "analyse_tables",
    "draw_ladder",
    "draw_tables",
    "fold_sizes",
    "replicate",
]
