"""The cross-fitted one-step estimator for numeric, mixed or categorical private columns ((19)-(29), spec section 2.5).

Nuisances are fitted on the other folds by private moments or by private Riesz regression; every record is then scored
by its signed imputation, Q⁻¹h = h(z)/a - (1 - a)/a · h̄, where h is affine in the outcome (section 2.2). At keep
probability 1 this is the ordinary cross-fitted estimator, with a quick path for least squares and logistic regression.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.causal import _ordinary
from privexplorer.causal.bases import Additive, Basis, BasisPart, Hermite, Legendre, Linear, OneHot
from privexplorer.causal.counts import outcome_column
from privexplorer.causal.estimate import Estimate, sense_of_error
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    EmpiricalNoise,
    FiniteMechanism,
    FiniteNoise,
    GaussianNoise,
    Mechanism,
    MixedNoise,
    NoiseLaw,
    UniformNoise,
    Values,
)
from privexplorer.causal.moments import (
    LogisticFit,
    PrivateDesign,
    arm_regressions,
    check_basis_size,
    private_design,
    private_logistic,
    propensity_trim,
    riesz_by_arm,
)
from privexplorer.causal.targets import ATE, ATT, CausalTarget, MeanUnder, ScoreParts, UntreatedMeanOfTreated
from privexplorer.causal.theory import Guard, small_sample_guard
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination

Centring = Literal["ratio", "one-step"]
RieszName = Literal["ATE", "ATT", "E[Y1]", "E[Y0]", "E[Y0|D=1]"]

ORDINARY_TRIM = 0.01
"""Propensities are kept in [0.01, 0.99] where there is no noise."""

OVERLAP_NOTE, OVERLAP_ERROR = 0.2, 0.8
"""Shares of trimmed propensities from which on the reader is warned, or no estimate is given (spec section 3)."""


# --- what may be fitted ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MomentLearners:
    """Private least squares within the arms and private logistic moments (section 2.6).

    Attributes
    ----------
    outcome, propensity : Basis or None
        Functions of the private column; None takes the range of the public noise law (``default_basis``).
    size : int
        Number of functions per numeric column where a basis is None.
    interactions : bool
        Multiply public columns with every function instead of adding them.
    """

    outcome: Basis | None = None
    propensity: Basis | None = None
    size: int = 2
    interactions: bool = False


@dataclass(frozen=True)
class RieszLearners:
    """Private least squares within the arms and a representer fitted by its own loss, without a propensity (31).

    Attributes
    ----------
    outcome, representer : Basis or None
        Functions of the private column; None takes the range of the public noise law (``default_basis``).
    size : int
        Number of functions per numeric column where a basis is None.
    interactions : bool
        Multiply public columns with every function instead of adding them.
    """

    outcome: Basis | None = None
    representer: Basis | None = None
    size: int = 3
    interactions: bool = False


@dataclass(frozen=True)
class OwnLearners:
    """Any two learners, at keep probability 1 only.

    Attributes
    ----------
    outcome : object
        With ``fit(x, y)`` and ``predict(x)``; fitted within each arm.
    propensity : object
        With ``fit(x, d)`` and ``predict_proba(x)``, whose second column is the chance of treatment.
    """

    outcome: Any
    propensity: Any


Learners = MomentLearners | RieszLearners | OwnLearners
LearnerName = Literal["param", "series", "riesz", "linear"]


def learners_named(name: str, columns: int = 1) -> Learners:
    """Return the learners with a short name.

    Parameters
    ----------
    name : str
        ``param`` (two functions per numeric column), ``series`` (three), ``riesz`` (three and a direct representer) or
        ``linear`` (the columns as they are: least squares and logistic regression at keep probability 1).
    columns : int
        Number of private columns, for ``linear``.

    Raises
    ------
    ParameterError
        If there is no such name.
    """
    if name == "linear":
        return MomentLearners(Linear(columns), Linear(columns))
    found: dict[str, Learners] = {
        "param": MomentLearners(size=2),
        "series": MomentLearners(size=3),
        "riesz": RieszLearners(size=3),
    }
    if name not in found:
        raise ParameterError(
            f"The nuisances are fitted as param, series, riesz or linear; this says '{name}'.", field="learners"
        )
    return found[name]


def _basis_part(noise: NoiseLaw, size: int) -> BasisPart:
    if isinstance(noise, UniformNoise):
        return Legendre(noise.low, noise.high, size, "plain")
    if isinstance(noise, GaussianNoise):
        return Hermite(size, noise.mean, noise.std)
    if isinstance(noise, FiniteNoise):
        return OneHot(noise.levels)
    if isinstance(noise, EmpiricalNoise) and noise.dimension == 1:
        std = float(noise.points.std())
        return Hermite(size, float(noise.points.mean()), std if std > 0 else 1.0)
    raise UnsupportedCombination("There is no ready-made basis for this noise law; give one.", field="learners")


def default_basis(mechanism: Mechanism | None, size: int, columns: int = 1) -> Basis:
    """Return a basis that is orthogonal for the public noise law.

    Legendre polynomials are not normed here: the floor of the eigenvalues (section 2.6) is a share of the trace, and
    with unnormed polynomials it weighs less on the constant and the slope; only so do bias and variance under heavy
    noise come out as in section 6.2 (derived, checked in tests/statistical/test_causal_crossfit.py).

    Parameters
    ----------
    mechanism : Mechanism or None
        Its noise law gives range and scale, so that nothing is read off the private column; None gives the columns as
        they are.
    size : int
        Number of functions for each numeric column, the constant among them.
    columns : int
        Number of private columns.

    Returns
    -------
    Basis
        Legendre for uniform noise, Hermite for normal noise and public samples, indicators for categories, and the sum
        of these for mixed columns.

    Raises
    ------
    UnsupportedCombination
        If there is no ready-made basis for the noise law.

    Examples
    --------
    >>> default_basis(AlphaIdentity(0.5, UniformNoise(0.0, 2.0)), 3)
    Legendre(low=0.0, high=2.0, size=3, measure='plain', dimension=1)
    """
    if mechanism is None:
        return Linear(columns)
    if isinstance(mechanism, FiniteMechanism):
        return OneHot(mechanism.levels)
    if not isinstance(mechanism, AlphaIdentity):
        raise UnsupportedCombination(
            "Effects need a mechanism that keeps the value with a known probability, or one over categories: undoing "
            "added noise needs twice differentiable functions of x, and trimmed propensities are not.",
            field="mechanism",
        )
    noise = mechanism.noise
    if isinstance(noise, MixedNoise):
        return Additive(tuple(_basis_part(part, size) for part in noise.parts))
    if isinstance(noise, EmpiricalNoise) and noise.dimension > 1:
        return Additive(tuple(_basis_part(EmpiricalNoise(column), size) for column in noise.points.T))
    return _basis_part(noise, size)


# --- folds -------------------------------------------------------------------------------------------------------


def fold_labels(n: int, folds: int, rng: np.random.Generator, strata: ArrayLike | None = None) -> IntArray:
    """Deal n records into folds of nearly equal size at random.

    Parameters
    ----------
    n : int
        Number of records.
    folds : int
        Number of folds, from 2 to n.
    rng : numpy.random.Generator
        Shuffles the records.
    strata : (n,) array, optional
        Deal within each value, such as the treatment.

    Returns
    -------
    (n,) int array
        Labels 0 to ``folds`` - 1.

    Raises
    ------
    ParameterError
        If there are fewer than two folds or more folds than records.

    Examples
    --------
    >>> np.bincount(fold_labels(11, 3, np.random.default_rng(0))).tolist()
    [4, 4, 3]
    """
    if not 2 <= folds <= n:
        raise ParameterError(
            f"Cross-fitting needs between 2 folds and as many as there are records ({n:,}); it has {folds}.",
            field="folds",
        )
    order = rng.permutation(n)
    if strata is not None:
        order = order[np.argsort(np.asarray(strata)[order], kind="stable")]
    labels = np.empty(n, dtype=np.int64)
    labels[order] = np.arange(n) % folds
    return labels


def _checked_labels(labels: ArrayLike, n: int) -> tuple[IntArray, int]:
    given = np.asarray(labels)
    if given.shape != (n,):
        raise DataError(f"There are {n:,} records, but {given.size:,} fold labels.", field="fold_ids")
    kinds, found = np.unique(given, return_inverse=True)
    if len(kinds) < 2:
        raise ParameterError("Cross-fitting needs at least 2 folds; the labels name one.", field="fold_ids")
    return found.astype(np.int64), len(kinds)


# --- scores ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Regressions:
    """Fitted regressions of both arms at the same values of x.

    Attributes
    ----------
    mu0, mu1 : array
        Any common shape.
    """

    mu0: FloatArray
    mu1: FloatArray


def parts_of_representer(
    target: CausalTarget, at: Regressions, low: FloatArray, high: FloatArray, p1: float, e: float = 0.0
) -> ScoreParts:
    """Return (A₁, B₁, A₀, B₀) from regressions and a representer that need not come from a propensity (section 2.2).

    Parameters
    ----------
    target : CausalTarget
        ATE, ATT, E[Y^a] or E[Y0|D=1].
    at : Regressions
        Regressions of both arms.
    low, high : array
        Representer r(0, x) and r(1, x).
    p1, e : float
        Share of treated and E ∂f/∂γ, for the targets among the treated; with ``e`` = 0 the score is not centred.

    Returns
    -------
    tuple of arrays
        The uncentred score is A_d(x) y + B_d(x).
    """
    name = _short(target)
    if name in ("ATE", "E[Y1]", "E[Y0]"):
        f1 = f0 = at.mu1 - at.mu0 if name == "ATE" else at.mu1 if name == "E[Y1]" else at.mu0
    else:
        among = at.mu1 - at.mu0 if name == "ATT" else at.mu0
        f1, f0 = among / p1 + (1.0 - p1) * e, np.zeros_like(at.mu0) - p1 * e
    return high, f1 - high * at.mu1, low, f0 - low * at.mu0


def causal_target(target: Any) -> CausalTarget:
    """Return a causal target, given as one or by its short name.

    Parameters
    ----------
    target : CausalTarget or str
        A target, or ATE, ATT, E[Y1], E[Y0] or E[Y0|D=1] (capitals do not matter).

    Raises
    ------
    ParameterError
        If it is none of these.

    Examples
    --------
    >>> causal_target("att").name
    'att'
    """
    if isinstance(target, CausalTarget):
        return target
    known: dict[str, CausalTarget] = {
        "ate": ATE(),
        "att": ATT(),
        "e[y1]": MeanUnder(1),
        "e[y0]": MeanUnder(0),
        "e[y0|d=1]": UntreatedMeanOfTreated(),
    }
    found = known.get(target.lower()) if isinstance(target, str) else None
    if found is None:
        raise ParameterError(
            "Cross-fitted effects are the ATE, the ATT, E[Y1], E[Y0] and E[Y0|D=1]; for other targets use their own "
            "estimators.",
            field="target",
        )
    return found


def _short(target: CausalTarget) -> RieszName:
    if isinstance(target, MeanUnder):
        return "E[Y1]" if target.arm == 1 else "E[Y0]"
    if isinstance(target, UntreatedMeanOfTreated):
        return "E[Y0|D=1]"
    if isinstance(target, ATT):
        return "ATT"
    if isinstance(target, ATE):
        return "ATE"
    raise UnsupportedCombination(
        "A directly fitted representer is known for the ATE, the ATT, E[Y1], E[Y0] and E[Y0|D=1] only.",
        field="learners",
    )


# --- checks ------------------------------------------------------------------------------------------------------


def _arms(d: ArrayLike, n: int) -> FloatArray:
    given = np.asarray(d)
    if given.shape != (n,):
        raise DataError(f"There are {n:,} outcomes, but {given.size:,} treatments.", field="treatment")
    kinds = np.unique(given)
    if not (given.dtype.kind in "iufb" and np.all((given == 0) | (given == 1))):
        shown = ", ".join(str(kind) for kind in kinds[:5])
        raise DataError(f"The treatment must have exactly two values, 0 and 1; it has {shown}.", field="treatment")
    if len(kinds) < 2:
        lacking = "treated" if kinds[0] == 0 else "control"
        raise DataError(f"There are no {lacking} units.", field="treatment")
    return given.astype(np.float64)


def _columns(values: ArrayLike, n: int, what: str, field: str) -> FloatArray:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"Every {what} column must be numeric or coded as numbers.", field=field) from None
    if found.ndim not in (1, 2) or len(found) != n:
        rows = len(found) if found.ndim else 0
        raise DataError(f"There are {n:,} outcomes, but {rows:,} {what} values.", field=field)
    if not np.isfinite(found).all():
        raise DataError(f"A {what} column has missing or infinite values.", field=field)
    return found


def _keep(mechanism: Mechanism | None) -> float:
    if mechanism is None:
        return 1.0
    if isinstance(mechanism, AlphaIdentity):
        return mechanism.keep_probability
    if isinstance(mechanism, FiniteMechanism):
        return 1.0 if np.array_equal(mechanism.matrix, np.eye(mechanism.levels)) else mechanism.smallest_singular
    default_basis(mechanism, 2)  # says why added noise will not do
    raise UnsupportedCombination("This mechanism cannot be used here.", field="mechanism")


# --- the estimator -----------------------------------------------------------------------------------------------


def cross_fit(
    y: ArrayLike,
    d: ArrayLike,
    z: ArrayLike,
    mechanism: Mechanism | None = None,
    target: Any = "ATE",
    *,
    learners: Learners | LearnerName | None = None,
    folds: int = 5,
    fold_ids: ArrayLike | None = None,
    w: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
    centring: Centring = "ratio",
    strict: bool = False,
    trim: float | None = None,
    naive: bool = False,
    refuse: bool = True,
    guarded: bool = True,
) -> Estimate:
    """Estimate a causal effect from noised covariates by the cross-fitted one-step (section 2.5; Cor. 1).

    Parameters
    ----------
    y : (n,) array
        Outcome, numeric and finite.
    d : (n,) array
        Treatment, 0 or 1.
    z : (n,) or (n, d) array
        Released private columns; whole-number codes for categories.
    mechanism : Mechanism or None
        How ``z`` was made; None means that it is the true value.
    target : str or target
        ATE, ATT, E[Y1], E[Y0] or E[Y0|D=1].
    learners : MomentLearners, RieszLearners, OwnLearners or str
        How nuisances are fitted; a name as in ``learners_named``. By default ``param``, without a mechanism ``linear``.
    folds : int
        Number of random folds, dealt within the arms, if ``fold_ids`` is not given.
    fold_ids : (n,) array, optional
        Label of the fold of each record.
    w : (n,) or (n, k) array, optional
        Public columns; they enter the regressions linearly.
    rng : numpy.random.Generator, optional
        Deals the folds; the folds are 0, 1, 2, ... in turn within the arms if left out.
    level : float
        Coverage of the interval, strictly between 0 and 1.
    centring : {"ratio", "one-step"}
        For the targets among the treated: divide by the overall share of treated, or correct with e (the paper's
        form). Both have the same limit; the first agrees with the usual estimator at keep probability 1.
    strict : bool
        Fit e on another half of the training records than the other nuisances (only matters for ``one-step``).
    trim : float, optional
        Propensities are clipped to [trim, 1 - trim]; the rule of section 2.6 under noise and 0.01 without.
    naive : bool
        Also say what treating the noisy columns as the true ones gives.
    refuse : bool
        Raise where more than 80 % of the propensities are trimmed; a note otherwise.
    guarded : bool
        Apply the small-sample guard of section 2.7, which may refuse the interval.

    Returns
    -------
    Estimate
        ``nuisances`` holds mu0, mu1 and propensity (n,) out of fold, p1, e, fold_ids, trim, trimmed_share,
        trimmed_share_under_noise and basis_size; ``scores`` the uncentred private scores.

    Raises
    ------
    DataError
        If a column is unusable, an arm is empty in a training set, or there is no overlap.
    ParameterError
        If a setting is out of range, or the basis too large for n · keep_probability².
    UnsupportedCombination
        If the learners cannot be used under noise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x = rng.uniform(-1, 1, 4000)
    >>> d = (rng.random(4000) < 0.5 + 0.2 * x).astype(float)
    >>> y = 1 + d + x + rng.normal(size=4000)
    >>> mechanism = AlphaIdentity(0.6, UniformNoise(-1.0, 1.0))
    >>> found = cross_fit(y, d, mechanism.privatise(x, rng), mechanism, rng=rng)
    >>> found.covers(1.0)
    True
    """
    return cross_fit_all(
        y, d, z, mechanism, (target,), learners=learners, folds=folds, fold_ids=fold_ids, w=w, rng=rng, level=level,
        centring=centring, strict=strict, trim=trim, naive=naive, refuse=refuse, guarded=guarded,
    )[0]  # fmt: skip


def cross_fit_all(
    y: ArrayLike,
    d: ArrayLike,
    z: ArrayLike,
    mechanism: Mechanism | None = None,
    targets: Sequence[Any] = ("ATE", "ATT"),
    *,
    learners: Learners | LearnerName | None = None,
    folds: int = 5,
    fold_ids: ArrayLike | None = None,
    w: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
    centring: Centring = "ratio",
    strict: bool = False,
    trim: float | None = None,
    naive: bool = False,
    refuse: bool = True,
    guarded: bool = True,
) -> tuple[Estimate, ...]:
    """Estimate several causal effects from the same folds and nuisances; everything else as in ``cross_fit``.

    Parameters
    ----------
    y, d, z, mechanism
        As in ``cross_fit``.
    targets : sequence of str or target
        At least one.
    learners, folds, fold_ids, w, rng, level, centring, strict, trim, naive, refuse, guarded
        As in ``cross_fit``.

    Returns
    -------
    tuple of Estimate
        In the order of ``targets``; each the same as from ``cross_fit``.
    """
    outcome = outcome_column(y)
    n = len(outcome)
    treated = _arms(d, n)
    released = _columns(z, n, "private", "private")
    public = None if w is None else _columns(w, n, "public", "public").reshape(n, -1)
    wanted = [causal_target(target) for target in targets]
    keep = _keep(mechanism)
    columns = 1 if released.ndim == 1 else released.shape[1]
    if learners is None:
        learners = "linear" if mechanism is None else "param"
    method = learners if isinstance(learners, str) else type(learners).__name__
    fitted = learners_named(learners, columns) if isinstance(learners, str) else learners
    if fold_ids is None:
        labels = fold_labels(n, folds, rng, treated) if rng is not None else _in_turn(n, folds, treated)
        count = folds
    else:
        labels, count = _checked_labels(fold_ids, n)
    least = propensity_trim(n, keep) if keep < 1 else ORDINARY_TRIM
    least = least if trim is None else trim
    if not 0 <= least < 0.5:
        raise ParameterError(f"The trim of the propensity must be from 0 to below 0.5; it is {least:g}.", field="trim")
    job = _Job(
        outcome, treated, released, public, mechanism, wanted[0], fitted, labels, count, least, keep, centring, strict
    )
    job.check_arms()
    is_ordinary = keep == 1.0 and isinstance(fitted, MomentLearners | OwnLearners)
    shared: dict[Any, Any] = {}
    estimates = []
    for one in wanted:
        mine = replace(job, target=one)
        found = mine.ordinary(shared) if is_ordinary else mine.private(shared)
        estimates.append(_finished(mine, found, method, level, naive, refuse, guarded, learners))
    return tuple(estimates)


def _in_turn(n: int, folds: int, strata: FloatArray) -> IntArray:
    if not 2 <= folds <= n:
        fold_labels(n, folds, np.random.default_rng(0))
    labels = np.empty(n, dtype=np.int64)
    labels[np.argsort(strata, kind="stable")] = np.arange(n) % folds
    return labels


@dataclass(frozen=True)
class _Found:
    """What a path hands back: uncentred scores before the ratio's correction, and nuisances at the records."""

    scores: FloatArray
    at: Regressions
    chance: FloatArray
    p1: float
    e: float
    trimmed: float
    trimmed_noise: float
    size: int
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Job:
    y: FloatArray
    d: FloatArray
    z: FloatArray
    w: FloatArray | None
    mechanism: Mechanism | None
    target: CausalTarget
    learners: Learners
    labels: IntArray
    folds: int
    trim: float
    keep: float
    centring: Centring
    strict: bool

    @property
    def is_one_step(self) -> bool:
        return self.target.uses_treated_share and self.centring == "one-step"

    def check_arms(self) -> None:
        treated = np.bincount(self.labels, weights=self.d, minlength=self.folds)
        sizes = np.bincount(self.labels, minlength=self.folds)
        total = treated.sum()
        if np.any(total - treated < 1) or np.any(len(self.y) - total - (sizes - treated) < 1):
            lacking = "treated" if np.any(total - treated < 1) else "control"
            raise DataError(
                f"There are no {lacking} units outside one of the folds; use fewer folds or deal them within the arms.",
                field="folds",
            )

    def ordinary(self, shared: dict[Any, Any]) -> _Found:
        """Score all records without noise; ``shared`` carries the nuisances from target to target."""
        if "ordinary" not in shared:
            own = isinstance(self.learners, OwnLearners)
            shared["ordinary"] = self._own_predictions() if own else self._quick_predictions()
        mu0, mu1, chance, size, settled = shared["ordinary"]
        clipped = np.clip(chance, self.trim, 1.0 - self.trim)
        p1 = float(np.mean(self.d))
        at = Regressions(mu0, mu1)
        e = -float(np.mean(self.d * self._among(at))) / p1**2 if self.is_one_step else 0.0
        parts = self.target.score_parts(clipped, mu0, mu1, p1, e)
        share = float(np.mean(_outside(chance, self.trim)))
        flags = () if settled else ("separated",)
        return _Found(_at_records(parts, self.y, self.d), at, clipped, p1, e, share, 0.0, size, flags)

    def _among(self, at: Regressions) -> FloatArray:
        """Return p₁ f without its d, for the targets among the treated."""
        return at.mu1 - at.mu0 if isinstance(self.target, ATT) else at.mu0

    def _own_predictions(self) -> tuple[FloatArray, FloatArray, FloatArray, int, bool]:
        learners = self.learners
        assert isinstance(learners, OwnLearners)  # noqa: S101 - chosen by the caller
        features = self.z.reshape(len(self.y), -1)
        if self.w is not None:
            features = np.concatenate([features, self.w], axis=1)
        mu0, mu1, chance = (np.empty(len(self.y)) for _ in range(3))
        for k in range(self.folds):
            held, rest = self.labels == k, self.labels != k
            for arm, into in ((0, mu0), (1, mu1)):
                rows = rest & (self.d == arm)
                into[held] = copy.deepcopy(learners.outcome).fit(features[rows], self.y[rows]).predict(features[held])
            model = copy.deepcopy(learners.propensity).fit(features[rest], self.d[rest])
            chance[held] = np.asarray(model.predict_proba(features[held]))[:, 1]
        return mu0, mu1, chance, 0, True

    def _quick_predictions(self) -> tuple[FloatArray, FloatArray, FloatArray, int, bool]:
        assert isinstance(self.learners, MomentLearners)  # noqa: S101 - chosen by the caller
        folds = _ordinary.Folds.of(self.labels, self.folds)
        outcome, propensity = self._bases()
        design = self._plain_design(outcome)[folds.order]
        y, d = self.y[folds.order], self.d[folds.order]
        arms = [_ordinary.least_squares(design, y, d == arm, folds) for arm in (0.0, 1.0)]
        parts = folds.slices()
        mu0, mu1 = (
            np.concatenate([np.einsum("ni,i->n", design[s], b) for s, b in zip(parts, arm, strict=True)])
            for arm in arms
        )
        other = design if propensity == outcome else self._plain_design(propensity)[folds.order]
        coefficients, settled = _ordinary.logistic(other, d, folds)
        pairs = zip(parts, coefficients, strict=True)
        chance = np.concatenate([_ordinary.probabilities(other[s], b) for s, b in pairs])
        size = max(design.shape[1], other.shape[1])
        return folds.back(mu0), folds.back(mu1), folds.back(chance), size, bool(settled.all())

    def _plain_design(self, basis: Basis) -> FloatArray:
        values = basis.evaluate(self.z)
        if self.w is None:
            return values
        assert isinstance(self.learners, MomentLearners)  # noqa: S101 - chosen by the caller
        if self.learners.interactions:
            crossed = [values * column[:, None] for column in self.w.T]
            return np.concatenate([values, *crossed], axis=1)
        return np.concatenate([values, self.w], axis=1)

    def _bases(self) -> tuple[Basis, Basis]:
        columns = 1 if self.z.ndim == 1 else self.z.shape[1]
        learners = self.learners
        if isinstance(learners, OwnLearners):
            raise UnsupportedCombination(
                "Your own learners need the true values, that is keep probability 1: they cannot use the signed "
                "weights that undo the noise.",
                field="learners",
            )
        second = learners.propensity if isinstance(learners, MomentLearners) else learners.representer
        first = learners.outcome
        if first is None or second is None:
            usual = default_basis(self.mechanism, learners.size, columns)
            first, second = first or usual, second or usual
        return first, second

    def private(self, shared: dict[Any, Any]) -> _Found:
        """Score all records by signed imputation; ``shared`` carries the nuisances from target to target."""
        first, second = self._bases()
        if self.keep < 1:
            check_basis_size(max(first.size, second.size), len(self.y), self.keep)
        assert not isinstance(self.learners, OwnLearners)  # noqa: S101 - refused above
        mechanism = self.mechanism if self.mechanism is not None else AlphaIdentity(1.0, GaussianNoise())
        public = None if self.w is None else _whitened(self.w)
        crossed = self.learners.interactions
        outcome = private_design(mechanism, self.z, first, public=public, interactions=crossed)
        other = outcome
        if second != first:
            other = private_design(mechanism, self.z, second, public=public, interactions=crossed)
        n = len(self.y)
        fine = None
        if self.keep < 1 and other.public is None:  # one curve for everybody: points enough to see where it is trimmed
            fine = _fine_points(mechanism, second)
        scores, mu0, mu1, chance = (np.empty(n) for _ in range(4))
        flags: set[str] = set()
        trimmed, trimmed_noise, all_p1, all_e = [], [], [], []
        for k in range(self.folds):
            held, rest = self.labels == k, self.labels != k
            fit, late = self._training(rest)
            p1 = float(np.mean(self.d[fit] if self.is_one_step else self.d))
            model = shared.get(k)
            if model is None or isinstance(model, _RieszModel):
                model = shared[k] = _fitted(self, outcome.take(fit), other.take(fit), fit, p1)
            model.target = self.target
            e = self._derivative(model, outcome.take(late), late, p1) if self.is_one_step else 0.0
            design, side = outcome.take(held), other.take(held)
            here, there = model.at_records(design), model.at_nodes(design)
            raw, raw_nodes = model.chances(side)
            parts, noise = model.parts(here, there, side, p1, e)
            scores[held] = _signed(design, parts, noise, self.y[held], self.d[held])
            mu0[held], mu1[held] = here.mu0, here.mu1
            chance[held] = np.clip(raw, self.trim, 1.0 - self.trim)
            trimmed.append(float(np.sum(_outside(raw, self.trim))) / n)
            if fine is None:
                trimmed_noise.append(_noise_share(_outside(raw_nodes, self.trim), mechanism))
            else:
                curve = model.chances(replace(side.take(np.zeros(1, dtype=np.int64)), node_values=fine))[1]
                trimmed_noise.append(float(np.mean(_outside(curve, self.trim))))
            flags |= model.flags
            all_p1.append(p1)
            all_e.append(e)
        return _Found(
            scores,
            Regressions(mu0, mu1),
            chance,
            float(np.mean(all_p1)),
            float(np.mean(all_e)),
            float(np.sum(trimmed)),
            float(np.mean(trimmed_noise)),
            max(first.size, second.size),
            tuple(sorted(flags)),
        )

    def _training(self, rest: BoolArray) -> tuple[BoolArray, BoolArray]:
        """Split the training records in two under ``strict``: S' fits the nuisances and S'' fits e."""
        if not self.strict:
            return rest, rest
        first = np.zeros(len(rest), dtype=np.bool_)
        for arm in (0.0, 1.0):
            rows = np.flatnonzero(rest & (self.d == arm))
            first[rows[::2]] = True
        return first, rest & ~first

    def _derivative(self, model: _Model, design: PrivateDesign, rows: BoolArray, p1: float) -> float:
        """Return e = -(1/p1²) P Q⁻¹[d (μ₁ - μ₀)], or with d μ₀ (section 2.5, step 3)."""
        here, there = self._among(model.at_records(design)), self._among(model.at_nodes(design))
        return -float(np.mean(self.d[rows] * (design.own * here + _nodes_sum(design, there)))) / p1**2


def _whitened(w: FloatArray) -> FloatArray | None:
    """Turn public columns into uncorrelated ones of variance 1 with the same span; repeated ones are dropped.

    The stabilisers of section 2.6 then never touch what needs no stabilising.
    """
    centred = w - w.mean(axis=0)
    std = centred.std(axis=0)
    centred = centred[:, std > 0] / std[std > 0]
    values, vectors = np.linalg.eigh(np.einsum("ni,nj->ij", centred, centred) / len(w))
    kept = values > 1e-10 * max(1.0, float(values[-1])) if len(values) else np.zeros(0, dtype=np.bool_)
    if not kept.any():
        return None
    return np.asarray(np.einsum("ni,ij->nj", centred, vectors[:, kept] / np.sqrt(values[kept])))


_FLAG_NOTES = {
    "separated": "The logistic regression has no finite solution: the columns separate the arms.",
    "unsettled": (
        "The logistic moments have no clear solution in some folds: this much noise leaves the propensity undetermined."
    ),
}


class _Model(ABC):
    """Nuisances fitted on one training set."""

    def __init__(self, job: _Job, outcome: PrivateDesign, rows: BoolArray) -> None:
        self.target, self.trim = job.target, job.trim
        self.control, self.treated = arm_regressions(outcome, job.y[rows], job.d[rows])
        self.flags: frozenset[str] = frozenset()

    def at_records(self, design: PrivateDesign) -> Regressions:
        return Regressions(self.control.at_records(design), self.treated.at_records(design))

    def at_nodes(self, design: PrivateDesign) -> Regressions:
        return Regressions(self.control.at_nodes(design), self.treated.at_nodes(design))

    @abstractmethod
    def chances(self, side: PrivateDesign) -> tuple[FloatArray, FloatArray]:
        """Untrimmed propensity at the records and at the common points."""

    @abstractmethod
    def parts(
        self, here: Regressions, there: Regressions, side: PrivateDesign, p1: float, e: float
    ) -> tuple[ScoreParts, ScoreParts]:
        """Score at the records and at the common points."""


class _PropensityModel(_Model):
    def __init__(self, job: _Job, outcome: PrivateDesign, other: PrivateDesign, rows: BoolArray) -> None:
        super().__init__(job, outcome, rows)
        self.logistic: LogisticFit = private_logistic(other, job.d[rows])
        if not self.logistic.is_reliable:
            self.flags = frozenset({"unsettled"})

    def chances(self, side: PrivateDesign) -> tuple[FloatArray, FloatArray]:
        return self.logistic.at_records(side), self.logistic.at_nodes(side)

    def parts(
        self, here: Regressions, there: Regressions, side: PrivateDesign, p1: float, e: float
    ) -> tuple[ScoreParts, ScoreParts]:
        shown, noise = self.logistic.at_records(side, self.trim), self.logistic.at_nodes(side, self.trim)
        score = self.target.score_parts
        return score(shown, here.mu0, here.mu1, p1, e), score(noise, there.mu0, there.mu1, p1, e)


class _RieszModel(_Model):
    def __init__(self, job: _Job, outcome: PrivateDesign, other: PrivateDesign, rows: BoolArray, p1: float) -> None:
        super().__init__(job, outcome, rows)
        self.p1, self.name = p1, _short(job.target)
        self.low, self.high = riesz_by_arm(other, job.d[rows], self.name, job.trim, share_treated=p1)

    def chances(self, side: PrivateDesign) -> tuple[FloatArray, FloatArray]:
        """Propensities that the representer stands for, before it is clipped."""
        low = replace(self.low, low=-math.inf, high=math.inf)
        high = replace(self.high, low=-math.inf, high=math.inf)
        here = self._implied(low.at_records(side), high.at_records(side))
        return here, self._implied(low.at_nodes(side), high.at_nodes(side))

    def _implied(self, low: FloatArray, high: FloatArray) -> FloatArray:
        if self.name in ("ATE", "E[Y1]"):
            return np.asarray(1.0 / np.maximum(high, 1.0))
        if self.name == "E[Y0]":
            return np.asarray(1.0 - 1.0 / np.maximum(low, 1.0))
        odds = self.p1 * np.maximum(low if self.name == "E[Y0|D=1]" else -low, 0.0)
        return np.asarray(odds / (1.0 + odds))

    def parts(
        self, here: Regressions, there: Regressions, side: PrivateDesign, p1: float, e: float
    ) -> tuple[ScoreParts, ScoreParts]:
        shown = parts_of_representer(self.target, here, self.low.at_records(side), self.high.at_records(side), p1, e)
        return shown, parts_of_representer(self.target, there, self.low.at_nodes(side), self.high.at_nodes(side), p1, e)


def _fitted(job: _Job, outcome: PrivateDesign, other: PrivateDesign, rows: BoolArray, p1: float) -> _Model:
    if isinstance(job.learners, RieszLearners):
        return _RieszModel(job, outcome, other, rows, p1)
    return _PropensityModel(job, outcome, other, rows)


def _outside(chance: FloatArray, trim: float) -> BoolArray:
    return np.asarray((chance < trim) | (chance > 1.0 - trim))


def _noise_share(outside: BoolArray, mechanism: Mechanism) -> float:
    """Share of the noise law where the propensity is trimmed; categories count alike for a general matrix."""
    if outside.size == 0:
        return 0.0
    over_records = outside.mean(axis=0) if outside.ndim == 2 else outside.astype(np.float64)
    if isinstance(mechanism, AlphaIdentity):
        return float(np.sum(over_records * mechanism.nodes()[1]))
    return float(np.mean(over_records))


def _fine_points(mechanism: Mechanism, basis: Basis) -> FloatArray | None:
    """Return a basis at the quantiles (i + 1/2)/1000 of the noise of one column, (1000, K); None for other noise.

    The points for integrals are few, and where the chance is trimmed is a step: shares would be off by up to 1/25.
    """
    noise = mechanism.noise if isinstance(mechanism, AlphaIdentity) else None
    if not isinstance(noise, UniformNoise | GaussianNoise):
        return None
    shares: FloatArray = (np.arange(1000, dtype=np.float64) + 0.5) / 1000.0
    return basis.evaluate(noise.quantile(shares))


def _nodes_sum(design: PrivateDesign, at_nodes: FloatArray) -> FloatArray | float:
    """Sum a function over the common points with their signed weights: a number or one per record."""
    if not len(design.node_values):
        return 0.0
    weighted = design.weights * at_nodes
    return float(weighted.sum()) if weighted.ndim == 1 else np.asarray(weighted.sum(axis=1))


def _at_records(parts: ScoreParts, y: FloatArray, d: FloatArray) -> FloatArray:
    slope1, offset1, slope0, offset0 = parts
    slope = np.where(d == 1, slope1, slope0)
    return np.asarray(slope * y + np.where(d == 1, offset1, offset0))


def _signed(design: PrivateDesign, parts: ScoreParts, noise: ScoreParts, y: FloatArray, d: FloatArray) -> FloatArray:
    """Apply the inverse mechanism to an affine score: four integrals instead of one per record (section 2.2)."""
    slope1, offset1, slope0, offset0 = (np.asarray(_nodes_sum(design, part)) for part in noise)
    return np.asarray(design.own * _at_records(parts, y, d) + _at_records((slope1, offset1, slope0, offset0), y, d))


def _finished(
    job: _Job,
    found: _Found,
    method: str,
    level: float,
    naive: bool,
    refuse: bool,
    guarded: bool,
    learners: Learners | LearnerName,
) -> Estimate:
    scores = found.scores
    value = float(np.mean(scores))
    if job.target.uses_treated_share and not job.is_one_step:
        scores = scores - (job.d / found.p1 - 1.0) * value
    n = len(scores)
    std_error = float(np.sqrt(np.mean((scores - value) ** 2) / n))
    flags = list(found.flags)
    notes = [_FLAG_NOTES[flag] for flag in flags]
    worst = max(found.trimmed, found.trimmed_noise)
    if worst > OVERLAP_ERROR and refuse:
        raise DataError(
            f"The arms do not overlap: the fitted chance of treatment is below {job.trim:.2g} or above "
            f"{1 - job.trim:.2g} for {worst:.0%} of the values, so there is nobody to compare with.",
            field="treatment",
        )
    if worst > OVERLAP_NOTE:
        flags.append("little overlap")
        notes.append(
            f"The arms overlap little: the fitted chance of treatment had to be kept within {job.trim:.2g} and "
            f"{1 - job.trim:.2g} for {found.trimmed:.0%} of the shown values and {found.trimmed_noise:.0%} of the "
            "noise."
        )
    odd = sense_of_error(value, std_error, float(job.y.min()), float(job.y.max()), level)
    flags += odd[0]
    notes += odd[1]
    guard = _guard(job, found) if guarded and job.keep < 1 else None
    if guard is not None and not (
        flags and guard.level == "green"
    ):  # no praise beside a warning about the same interval
        notes.append(guard.sentence)
    other = None
    if naive and job.keep < 1:
        plain: Mechanism | None = None
        if isinstance(job.mechanism, AlphaIdentity):
            plain = AlphaIdentity(1.0, job.mechanism.noise)
        elif isinstance(job.mechanism, FiniteMechanism):
            plain = FiniteMechanism(np.eye(job.mechanism.levels))
        other = cross_fit(
            job.y, job.d, job.z, plain, job.target, learners=learners, fold_ids=job.labels, w=job.w, level=level,
            centring=job.centring, strict=job.strict, refuse=False,
        )  # fmt: skip
    nuisances: Mapping[str, Any] = {
        "mu0": found.at.mu0,
        "mu1": found.at.mu1,
        "propensity": found.chance,
        "p1": found.p1,
        "e": found.e,
        "fold_ids": job.labels,
        "trim": job.trim,
        "trimmed_share": found.trimmed,
        "trimmed_share_under_noise": found.trimmed_noise,
        "basis_size": found.size,
    }
    return Estimate.normal(
        value,
        std_error,
        records=n,
        target=job.target.name,
        method=f"one-step, {method}",
        level=level,
        flags=flags,
        notes=notes,
        guard=guard,
        nuisances=nuisances,
        naive=other,
        scores=scores,
    )


def _guard(job: _Job, found: _Found) -> Guard:
    """Judge the sample: by the smallest cell for one column of categories, else by the number of coefficients."""
    mechanism, n = job.mechanism, len(job.y)
    is_finite = isinstance(mechanism, FiniteMechanism)
    if is_finite or (isinstance(mechanism, AlphaIdentity) and isinstance(mechanism.noise, FiniteNoise)):
        assert isinstance(mechanism, FiniteMechanism | AlphaIdentity)  # noqa: S101 - just checked
        channel = mechanism.finite()
        shown = np.stack([np.bincount(job.z[job.d == a].astype(np.int64), minlength=channel.levels) for a in (0, 1)])
        cells = np.einsum("xz,dz->dx", channel.inverse, shown / n)
        return small_sample_guard(n, channel.smallest_singular, smallest_cell=max(float(cells.min()), 0.0))
    return small_sample_guard(n, job.keep, coefficients=max(found.size, 1))


# --- several folds, several levels of noise ----------------------------------------------------------------------


def median_of_folds(estimates: Sequence[Estimate]) -> Estimate:
    """Return the median over several random fold assignments, with the spread between them in its error (section 2.5).

    The squared standard error is the median of SE² + (estimate - median)².

    Parameters
    ----------
    estimates : sequence of Estimate
        At least one, of the same target from the same records.

    Returns
    -------
    Estimate
        The first estimate with value, error and interval replaced.

    Raises
    ------
    ParameterError
        If there are none.
    """
    if not estimates:
        raise ParameterError("A median needs at least one estimate.", field="estimates")
    first = estimates[0]
    values = np.array([found.value for found in estimates])
    value = float(np.median(values))
    squares = np.array([found.std_error for found in estimates]) ** 2 + (values - value) ** 2
    return Estimate.normal(
        value,
        math.sqrt(float(np.median(squares))),
        records=first.records,
        target=first.target,
        method=f"{first.method}, median of {len(estimates)} fold assignments",
        level=first.level,
        flags=first.flags,
        notes=first.notes,
        guard=first.guard,
        nuisances=first.nuisances,
        naive=first.naive,
        scores=first.scores,
    )


@dataclass(frozen=True)
class Rung:
    """One level of noise of a ladder.

    Attributes
    ----------
    keep_probability : float
        In (0, 1].
    estimate : Estimate or None
        None where the data do not support one; the reason is in ``sentence``.
    sentence : str
        Empty, or why there is no estimate.
    """

    keep_probability: float
    estimate: Estimate | None
    sentence: str = ""


def ladder(
    y: ArrayLike,
    d: ArrayLike,
    x: ArrayLike,
    noise: NoiseLaw,
    keep_probabilities: Sequence[float],
    rng: np.random.Generator,
    target: Any = "ATE",
    **settings: Any,
) -> tuple[Rung, ...]:
    """Estimate at several keep probabilities with common noise and common folds (sections 3 and 7.1).

    Each record has one uniform number and one noise value: it shows its true value where the number is below the keep
    probability. The curve is smooth that way. Showing several rungs to others releases more than the last one does, so
    this is for the curator who holds the raw column.

    Parameters
    ----------
    y, d : (n,) array
        Outcome and treatment.
    x : (n,) or (n, k) array
        True private columns.
    noise : NoiseLaw
        Public noise law.
    keep_probabilities : sequence of float
        Each in (0, 1].
    rng : numpy.random.Generator
        Deals the folds and draws the noise, once.
    target : str or target
        As in ``cross_fit``.
    **settings
        Further arguments of ``cross_fit``.

    Returns
    -------
    tuple of Rung
        In the order of ``keep_probabilities``.

    Raises
    ------
    DataError, ParameterError
        If the columns are unusable whatever the noise.
    """
    outcome = outcome_column(y)
    treated = _arms(d, len(outcome))
    if settings.get("fold_ids") is None:
        settings["fold_ids"] = fold_labels(len(outcome), settings.get("folds", 5), rng, treated)

    def estimate(mechanism: AlphaIdentity, z: Values) -> Estimate:
        return cross_fit(outcome, treated, z, mechanism, target, **settings)

    return climb(estimate, x, noise, keep_probabilities, rng)


def climb(
    estimate: Callable[[AlphaIdentity, Values], Estimate],
    x: ArrayLike,
    noise: NoiseLaw,
    keep_probabilities: Sequence[float],
    rng: np.random.Generator,
) -> tuple[Rung, ...]:
    """Apply any estimator to one column at several keep probabilities with common noise.

    Parameters
    ----------
    estimate : callable
        Mechanism and released values to estimate.
    x, noise, keep_probabilities, rng
        As in ``ladder``.

    Raises
    ------
    DataError, ParameterError
        If there is no estimate at the largest keep probability either.
    """
    seed = int(rng.integers(2**63))
    rungs = []
    for keep in keep_probabilities:
        mechanism = AlphaIdentity(keep, noise)
        z = mechanism.privatise(x, np.random.default_rng(seed))
        try:
            rungs.append(Rung(keep, estimate(mechanism, z)))
        except (DataError, ParameterError) as problem:
            if keep == max(keep_probabilities):
                raise
            rungs.append(Rung(keep, None, str(problem)))
    return tuple(rungs)


__all__ = [
    "ORDINARY_TRIM",
    "Learners",
    "MomentLearners",
    "OwnLearners",
    "Regressions",
    "RieszLearners",
    "Rung",
    "causal_target",
    "climb",
    "cross_fit",
    "cross_fit_all",
    "default_basis",
    "fold_labels",
    "ladder",
    "learners_named",
    "median_of_folds",
    "parts_of_representer",
]
