"""Private least squares, logistic moments and representers by signed imputation (spec 1.8 and 2.6; Prop. 2, Ex. 10).

Every private procedure here is the ordinary procedure on augmented data: record i is replaced by its released value
with weight 1/α and by the common points of the noise law with weights that add up to 1 - 1/α (or, for a general finite
mechanism, by every category x with weight (Q⁻¹)_{x Z_i}). At keep probability 1 there are no common points, nothing is
floored, and all results are those of the ordinary estimators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.causal._sums import einsum, expit
from privexplorer.causal.bases import Basis, Hermite, Legendre, Linear
from privexplorer.causal.estimate import normal_quantile
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    GaussianAddition,
    LaplaceAddition,
    Mechanism,
)
from privexplorer.errors import ConvergenceError, DataError, ParameterError, UnsupportedCombination

_NEWTON_STEPS = 50
_LONGEST_STEP = 1.5
_CURVATURE_FLOOR = 5e-3
_RIDGE = 1e-4
_LARGEST_COEFFICIENT = 8.0
_SCORE_TOLERANCE = 1e-6  # above it a fit is not to be trusted (spec 2.6)


# ---------------------------------------------------------------- signed imputation


@dataclass(frozen=True, eq=False)
class SignedNodes:
    """Where the inverse of a mechanism moves the mass of every record (spec 1.5, signed imputation).

    Parameters
    ----------
    own : float
        Weight of the record's own released value: 1/α for an α-identity, 0 for a general finite mechanism.
    points : (M,) or (M, d) array
        Common points; M may be 0.
    weights : (M,) or (n, M) array
        Signed weights of the points, the same for everybody or one row per record; with ``own`` they add up to 1.
    keep_probability : float
        Scale of the noise amplification: the keep probability, or the smallest singular value of a finite mechanism.
    """

    own: float
    points: FloatArray
    weights: FloatArray
    keep_probability: float


def signed_nodes(mechanism: Mechanism | SignedNodes, z: ArrayLike) -> SignedNodes:
    """Return the signed weights by which a mechanism is inverted.

    Parameters
    ----------
    mechanism : mechanism or SignedNodes
        An α-identity, a finite mechanism, or the weights themselves.
    z : (n,) or (n, d) array
        Released values; only a finite mechanism reads them.

    Returns
    -------
    SignedNodes
        Weights that add up to 1 for every record.

    Raises
    ------
    UnsupportedCombination
        If the mechanism has no such form (added noise).
    """
    if isinstance(mechanism, SignedNodes):
        return mechanism
    if isinstance(mechanism, AlphaIdentity):
        keep = mechanism.keep_probability
        if keep == 1:
            return SignedNodes(1.0, np.zeros((0, *np.shape(z)[1:])), np.zeros(0), 1.0)
        points, weights = mechanism.nodes()
        return SignedNodes(1 / keep, np.asarray(points, dtype=np.float64), (1 - 1 / keep) * weights, keep)
    if isinstance(mechanism, FiniteMechanism):
        levels = np.arange(mechanism.levels, dtype=np.float64)
        return SignedNodes(0.0, levels, mechanism.signed_weights(z), mechanism.smallest_singular)
    raise UnsupportedCombination(
        "Added noise cannot be undone by weights on values; choose a mechanism that keeps the value with a known "
        "probability.",
        field="mechanism",
    )


@dataclass(frozen=True, eq=False)
class PrivateDesign:
    """A basis seen through a mechanism: everything that private averages of basis functions need.

    Function k of record i at the value x is ``public[i, k] * b_k(x)``. Build one with :func:`private_design`; folds are
    taken with :meth:`take`, and arms are chosen by a 0/1 ``factor``.

    Parameters
    ----------
    values : (n, K) array
        Basis at the released values (without the public factor).
    node_values : (M, K) array
        Basis at the common points.
    public : (n, K) array or None
        Public factor of every function; None means 1.
    own, weights : float, (M,) or (n, M) array
        As in :class:`SignedNodes`.
    shares : (n,) array
        Weight of every record; they add up to 1.
    keep_probability : float
        As in :class:`SignedNodes`.
    constant : (K,) array or None
        Coefficients of the function 1.
    names : tuple of str
        One name for each function.
    """

    values: FloatArray
    node_values: FloatArray
    public: FloatArray | None
    own: float
    weights: FloatArray
    shares: FloatArray
    keep_probability: float
    constant: FloatArray | None
    names: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.values)

    @property
    def size(self) -> int:
        """Number K of basis functions."""
        return int(self.values.shape[1])

    @property
    def relative_floor(self) -> float:
        """Smallest eigenvalue that can be told from 0, as a share of the mean one (spec 2.6); 0 without noise."""
        return relative_floor(self.n, self.keep_probability)

    def take(self, rows: IntArray | BoolArray) -> PrivateDesign:
        """Return the design of some records, with their shares scaled to add up to 1.

        Parameters
        ----------
        rows : int or bool array
            Which records.

        Returns
        -------
        PrivateDesign
            The same basis and mechanism.
        """
        shares = self.shares[rows]
        return PrivateDesign(
            self.values[rows],
            self.node_values,
            None if self.public is None else self.public[rows],
            self.own,
            self.weights if self.weights.ndim == 1 else self.weights[rows],
            shares / shares.sum(),
            self.keep_probability,
            self.constant,
            self.names,
        )

    def _at_records(self) -> FloatArray:
        return self.values if self.public is None else self.values * self.public

    def predict(self, coefficients: FloatArray) -> FloatArray:
        """Return the linear predictor at the released values, (n,)."""
        return einsum("nk,k->n", self._at_records(), coefficients)

    def predict_nodes(self, coefficients: FloatArray) -> FloatArray:
        """Return the linear predictor at the common points: (M,), or (n, M) with public factors."""
        if self.public is None:
            return einsum("mk,k->m", self.node_values, coefficients)
        return einsum("nk,mk->nm", self.public * coefficients, self.node_values)

    def invert(self, at_records: FloatArray, at_nodes: FloatArray) -> FloatArray:
        """Return Q⁻¹h for every record, (n,), from h at the released values and at the common points.

        Parameters
        ----------
        at_records : (n,) array
            h(V_i, Z_i).
        at_nodes : (M,) or (n, M) array
            h(V_i, x_m).

        Returns
        -------
        (n,) array
            (Q⁻¹h)(V_i, Z_i).
        """
        result = self.own * at_records
        if len(self.node_values):
            weighted = self.weights * at_nodes
            result = result + (weighted.sum() if weighted.ndim == 1 else weighted.sum(axis=1))
        return result

    def record_moments(
        self,
        factor: FloatArray | float = 1.0,
        shape: FloatArray | None = None,
        node_shape: FloatArray | None = None,
    ) -> FloatArray:
        """Return Q⁻¹[factor · shape · basis] for every record, (n, K).

        Parameters
        ----------
        factor : (n,) array or float
            A function of the public part of the record.
        shape, node_shape : (n,) array and (M,) or (n, M) array, optional
            One more factor that depends on x: its values at the released values and at the common points.

        Returns
        -------
        (n, K) array
            Signed moments; their weighted sum is :meth:`moment`.
        """
        scale = np.broadcast_to(np.asarray(factor, dtype=np.float64), (self.n,))
        result = (self.own * scale if shape is None else self.own * scale * shape)[:, None] * self.values
        if len(self.node_values):
            weights = self.weights if node_shape is None else self.weights * node_shape
            result = result + scale[:, None] * _rows(weights, self.node_values)
        return result if self.public is None else result * self.public

    def moment(
        self,
        factor: FloatArray | float = 1.0,
        shape: FloatArray | None = None,
        node_shape: FloatArray | None = None,
    ) -> FloatArray:
        """Return P_n Q⁻¹[factor · shape · basis], (K,); arguments as in :meth:`record_moments`."""
        return einsum("n,nk->k", self.shares, self.record_moments(factor, shape, node_shape))

    def gram(
        self,
        factor: FloatArray | float = 1.0,
        shape: FloatArray | None = None,
        node_shape: FloatArray | None = None,
    ) -> FloatArray:
        """Return the private Gram matrix P_n Q⁻¹[factor · shape · ψψᵀ], (K, K); arguments as in :meth:`moment`.

        The matrix is symmetric, but need not be positive in a finite sample.
        """
        scale = self.shares * factor
        here = self._at_records()
        result = einsum("ni,nj->ij", here * (self.own * (scale if shape is None else scale * shape))[:, None], here)
        if not len(self.node_values):
            return result
        weights = self.weights if node_shape is None else self.weights * node_shape
        if self.public is None:
            totals = weights * scale.sum() if weights.ndim == 1 else einsum("n,nm->m", scale, weights)
            return result + einsum("mi,mj->ij", self.node_values * totals[:, None], self.node_values)
        if weights.ndim == 1:
            common = einsum("mi,mj->ij", self.node_values * weights[:, None], self.node_values)
            return result + common * einsum("ni,nj->ij", self.public * scale[:, None], self.public)
        for m, point in enumerate(self.node_values):
            part = einsum("ni,nj->ij", self.public * (scale * weights[:, m])[:, None], self.public)
            result = result + part * np.multiply.outer(point, point)
        return result

    def mean_functions(
        self, at_records: FloatArray, at_nodes: FloatArray, factor: FloatArray | float = 1.0
    ) -> FloatArray:
        """Return P_n Q⁻¹[factor · F_k] for K functions of x, such as f applied to every basis function.

        Parameters
        ----------
        at_records : (n, K) array
            F_k at the released values.
        at_nodes : (M, K) array
            F_k at the common points.
        factor : (n,) array or float
            A function of the public part of the record.

        Returns
        -------
        (K,) array
            Right-hand side of a Riesz regression (spec 2.6).
        """
        scale = np.broadcast_to(self.shares * factor, (self.n,))
        result = einsum("n,nk->k", self.own * scale, at_records)
        if len(self.node_values):
            totals = self.weights * scale.sum() if self.weights.ndim == 1 else einsum("n,nm->m", scale, self.weights)
            result = result + einsum("m,mk->k", totals, at_nodes)
        return result


def _rows(weights: FloatArray, functions: FloatArray) -> FloatArray:
    """Sum functions (M, K) with weights (M,) or (n, M): (1, K) or (n, K)."""
    if weights.ndim == 1:
        return einsum("m,mk->k", weights, functions)[None, :]
    return einsum("nm,mk->nk", weights, functions)


def private_design(
    mechanism: Mechanism | SignedNodes,
    z: ArrayLike,
    basis: Basis,
    *,
    public: ArrayLike | None = None,
    interactions: bool = False,
    shares: ArrayLike | None = None,
) -> PrivateDesign:
    """Return a basis seen through a mechanism.

    Parameters
    ----------
    mechanism : mechanism or SignedNodes
        As in :func:`signed_nodes`.
    z : (n,) or (n, d) array
        Released values.
    basis : Basis
        Functions of the sensitive value; must contain the constant if there are public columns.
    public : (n, L) or (n,) array, optional
        Public covariates, best centred and scaled; they enter linearly.
    interactions : bool
        Multiply every public column with every basis function instead of adding it.
    shares : (n,) array, optional
        Weights of the records (for a population on a grid, or counts); equal if left out.

    Returns
    -------
    PrivateDesign
        What all solvers of this module read.

    Raises
    ------
    DataError
        If there are no records, or lengths differ, or values are not finite.
    ParameterError
        If the basis lacks the constant that public columns are added to.
    UnsupportedCombination
        If the mechanism cannot be inverted by weights (added noise).
    """
    released = np.asarray(z, dtype=np.float64)
    if released.ndim == 0 or len(released) == 0:
        raise DataError("There are no records.")
    if not np.isfinite(released).all():
        raise DataError("The released column has missing or infinite values.")
    nodes = signed_nodes(mechanism, released)
    n = len(released)
    if nodes.weights.ndim == 2 and len(nodes.weights) != n:
        raise DataError(f"There are {n} released values, but {len(nodes.weights)} rows of weights.")
    values = basis.evaluate(released)
    node_values = basis.evaluate(nodes.points) if len(nodes.points) else np.zeros((0, basis.size))
    constant, names, factors = basis.constant, basis.names, None
    if public is not None:
        columns = np.asarray(public, dtype=np.float64).reshape(n, -1) if len(np.asarray(public)) == n else None
        if columns is None:
            raise DataError(f"There are {n} released values, but {len(np.asarray(public))} rows of public columns.")
        if not np.isfinite(columns).all():
            raise DataError("A public column has missing or infinite values.")
        values, node_values, factors, names, constant = _with_public(
            values, node_values, columns, names, constant, interactions
        )
    if shares is None:
        weight = np.full(n, 1 / n)
    else:
        weight = np.asarray(shares, dtype=np.float64)
        if weight.shape != (n,) or not weight.sum() > 0:
            raise DataError("The weights of the records must be one number each, with a sum above 0.")
        weight = weight / weight.sum()
    return PrivateDesign(
        values, node_values, factors, nodes.own, nodes.weights, weight, nodes.keep_probability, constant, names
    )


def _with_public(
    values: FloatArray,
    node_values: FloatArray,
    columns: FloatArray,
    names: tuple[str, ...],
    constant: FloatArray | None,
    interactions: bool,
) -> tuple[FloatArray, FloatArray, FloatArray, tuple[str, ...], FloatArray | None]:
    n, extra = columns.shape
    size = values.shape[1]
    labels = tuple(f"w{j + 1}" for j in range(extra))
    ones = np.ones((n, size))
    if interactions:
        tiles = 1 + extra
        factors = np.concatenate([ones, np.repeat(columns, size, axis=1)], axis=1)
        all_names = (*names, *(f"{label}·{name}" for label in labels for name in names))
        padded = None if constant is None else np.concatenate([constant, np.zeros(size * extra)])
        return np.tile(values, (1, tiles)), np.tile(node_values, (1, tiles)), factors, all_names, padded
    if constant is None:
        raise ParameterError("Public columns can only be added to a basis that contains the constant.")
    wide = np.concatenate([values, np.ones((n, extra))], axis=1)
    wide_nodes = np.concatenate([node_values, np.ones((len(node_values), extra))], axis=1)
    factors = np.concatenate([ones, columns], axis=1)
    return wide, wide_nodes, factors, (*names, *labels), np.concatenate([constant, np.zeros(extra)])


# ---------------------------------------------------------------- rules of thumb (spec 2.6)


def relative_floor(n: int, keep_probability: float) -> float:
    """Return the floor of the eigenvalues of a private Gram matrix as a share of their mean (spec 2.6).

    Parameters
    ----------
    n : int
        Number of records.
    keep_probability : float
        In (0, 1].

    Returns
    -------
    float
        max(0.001, 0.5/(keep_probability √n)); 0 at keep probability 1, where nothing is floored.
    """
    return 0.0 if keep_probability == 1 else max(1e-3, 0.5 / (keep_probability * math.sqrt(n)))


def propensity_trim(n: int, keep_probability: float) -> float:
    """Return the trim t of fitted propensities, which are clipped to [t, 1 - t] (spec 2.6, tested default).

    Parameters
    ----------
    n : int
        Number of records.
    keep_probability : float
        In (0, 1].

    Returns
    -------
    float
        max(0.02, min(0.1, 1/(keep_probability √n))).
    """
    return max(0.02, min(0.1, 1 / (keep_probability * math.sqrt(n))))


def recommended_size(n: int, keep_probability: float) -> int:
    """Return how many basis functions a sample supports in one dimension (spec 2.6, rule of thumb).

    Parameters
    ----------
    n : int
        Number of records.
    keep_probability : float
        In (0, 1].

    Returns
    -------
    int
        min(8, max(2, ⌊n keep_probability² / 800⌋)).
    """
    return min(8, max(2, math.floor(n * keep_probability**2 / 800)))


def check_basis_size(size: int, n: int, keep_probability: float) -> None:
    """Refuse a basis that the sample cannot support (spec 3).

    Parameters
    ----------
    size : int
        Number of basis functions.
    n : int
        Number of records.
    keep_probability : float
        In (0, 1].

    Raises
    ------
    ParameterError
        If ``size`` is above n keep_probability² / 10.
    """
    largest = n * keep_probability**2 / 10
    if size > largest:
        raise ParameterError(
            f"{size} basis functions are too many for {n:,} records at keep probability {keep_probability:g}; "
            f"use at most {max(1, math.floor(largest))}, or more records."
        )


# ---------------------------------------------------------------- least squares


def stabilised_solve(gram: FloatArray, right: FloatArray, floor: float) -> tuple[FloatArray, int]:
    """Solve a symmetric system whose small or negative eigenvalues are raised to a floor (spec 2.6).

    Parameters
    ----------
    gram : (K, K) array
        Private Gram matrix; it is made symmetric first.
    right : (K,) array
        Right-hand side.
    floor : float
        Floor as a share of the mean eigenvalue, at least 0; 0 solves exactly.

    Returns
    -------
    solution : (K,) array
        Coefficients.
    raised : int
        How many eigenvalues were raised.

    Raises
    ------
    DataError
        If ``floor`` is 0 and the matrix is singular: some basis function does not vary or repeats others.
    """
    symmetric = (gram + gram.T) / 2
    if floor == 0:
        # scaled to unit diagonal, so that columns of very different size do not look dependent
        scale = np.sqrt(np.abs(np.diag(symmetric)))
        if not (scale > 0).all():
            raise DataError("A basis function is 0 in this sample; use fewer functions.")
        unit = symmetric / np.multiply.outer(scale, scale)
        if 1 / np.linalg.cond(unit) < 1e-12:
            raise DataError("The basis functions depend on one another in this sample; use fewer functions.")
        return np.linalg.solve(unit, right / scale) / scale, 0
    eigenvalues, vectors = np.linalg.eigh(symmetric)
    least = floor * abs(float(np.trace(symmetric))) / len(symmetric)
    if least <= 0:
        raise DataError("The basis functions are 0 in this sample.")
    raised = np.maximum(eigenvalues, least)
    rotated = einsum("ij,i->j", vectors, right) / raised
    return einsum("ij,j->i", vectors, rotated), int((eigenvalues < least).sum())


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A fitted linear combination of basis functions, clipped to a range.

    Parameters
    ----------
    coefficients : (K,) array
        Coefficients of the basis functions.
    low, high : float
        Range to which values are clipped (infinite: not clipped).
    raised : int
        How many eigenvalues of the Gram matrix were raised to the floor.
    """

    coefficients: FloatArray
    low: float = -math.inf
    high: float = math.inf
    raised: int = 0

    def at_records(self, design: PrivateDesign) -> FloatArray:
        """Return the fitted values at the released values of a design, (n,)."""
        return np.clip(design.predict(self.coefficients), self.low, self.high)

    def at_nodes(self, design: PrivateDesign) -> FloatArray:
        """Return the fitted values at the common points of a design, (M,) or (n, M)."""
        return np.clip(design.predict_nodes(self.coefficients), self.low, self.high)

    def at(self, basis: Basis, x: ArrayLike) -> FloatArray:
        """Return the fitted function at any values of x (no public columns), (n,)."""
        return np.clip(einsum("nk,k->n", basis.evaluate(x), self.coefficients), self.low, self.high)


def private_least_squares(
    design: PrivateDesign,
    response: FloatArray,
    *,
    factor: FloatArray | float = 1.0,
    clip: tuple[float, float] | Literal["observed"] | None = "observed",
    floor: float | None = None,
) -> LinearFit:
    """Fit a regression on the sensitive value by private least squares (spec 2.6; Cor. 3).

    Parameters
    ----------
    design : PrivateDesign
        Basis and mechanism.
    response : (n,) array
        The regressed variable, a function of the public part of the record.
    factor : (n,) array or float
        Weights; a 0/1 array fits within one arm.
    clip : pair of float, "observed" or None
        Range of the fitted values; "observed" takes the range of the response where the factor is not 0. Nothing is
        clipped at keep probability 1 unless a pair is given.
    floor : float, optional
        Floor of the eigenvalues as a share of their mean; the rule of :func:`relative_floor` if left out.

    Returns
    -------
    LinearFit
        Coefficients, clip range and the number of raised eigenvalues.

    Raises
    ------
    DataError
        If lengths differ or no record has a weight.
    """
    y = _numbers(response, design.n, "outcome")
    chosen = np.broadcast_to(np.asarray(factor) != 0, (design.n,))
    if not chosen.any():
        raise DataError("No record is left to fit the regression on.")
    used = design.relative_floor if floor is None else floor
    coefficients, raised = stabilised_solve(design.gram(factor), design.moment(y * factor), used)
    low, high = -math.inf, math.inf
    if isinstance(clip, tuple):
        low, high = clip
    elif clip == "observed" and design.keep_probability < 1:
        low, high = float(y[chosen].min()), float(y[chosen].max())
    return LinearFit(coefficients, low, high, raised)


def arm_regressions(
    design: PrivateDesign,
    y: FloatArray,
    d: IntArray | FloatArray,
    *,
    clip: tuple[float, float] | Literal["observed"] | None = "observed",
) -> tuple[LinearFit, LinearFit]:
    """Fit the outcome on the sensitive value within each arm (μ₀, μ₁ of spec 2.5, step 1).

    Parameters
    ----------
    design : PrivateDesign
        Basis and mechanism.
    y, d : (n,) array
        Outcome, and treatment coded 0/1.
    clip : pair of float, "observed" or None
        "observed" clips to the range of all outcomes of the design (the training data).

    Returns
    -------
    control, treated : LinearFit
        The two fits, in this order.

    Raises
    ------
    DataError
        If an arm is empty.
    """
    treated = _treatment(d, design.n)
    outcome = _numbers(y, design.n, "outcome")
    if clip == "observed" and design.keep_probability < 1:
        clip = float(outcome.min()), float(outcome.max())
    control = private_least_squares(design, outcome, factor=1 - treated, clip=clip)
    return control, private_least_squares(design, outcome, factor=treated, clip=clip)


def private_loss(design: PrivateDesign, response: FloatArray, fit: LinearFit) -> FloatArray:
    """Return Q⁻¹[(m - μ)²] of every record: unbiased for the loss without noise, but noisy (spec 2.6).

    Parameters
    ----------
    design : PrivateDesign
        Records on which the loss is wanted.
    response : (n,) array
        The regressed variable.
    fit : LinearFit
        A fitted regression.

    Returns
    -------
    (n,) array
        Losses; some may be negative.
    """
    nodes = fit.at_nodes(design)
    if design.public is None:
        nodes = np.broadcast_to(nodes, (design.n, len(nodes)))
    return design.invert((response - fit.at_records(design)) ** 2, (response[:, None] - nodes) ** 2)


def choose_basis_size(
    mechanism: Mechanism | SignedNodes,
    z: FloatArray,
    response: FloatArray,
    make_basis: Callable[[int], Basis],
    sizes: Sequence[int],
    rng: np.random.Generator,
    *,
    folds: int = 5,
) -> int:
    """Choose the number of basis functions by private cross-validation with the one-standard-error rule (spec 2.6).

    Parameters
    ----------
    mechanism : mechanism or SignedNodes
        As in :func:`signed_nodes`.
    z, response : (n,) array
        Released values and the regressed variable.
    make_basis : callable
        Size to basis.
    sizes : sequence of int
        Candidates, at least one.
    rng : numpy.random.Generator
        Draws the folds.
    folds : int
        Number of folds, at least 2.

    Returns
    -------
    int
        The smallest size whose loss exceeds the smallest loss by at most one standard error of the difference.
    """
    order = sorted(sizes)
    n = len(response)
    fold = rng.permutation(n) % folds
    losses = np.empty((len(order), n))
    for row, size in enumerate(order):
        design = private_design(mechanism, z, make_basis(size))
        for k in range(folds):
            held = fold == k
            fit = private_least_squares(design.take(~held), response[~held])
            losses[row, held] = private_loss(design.take(held), response[held], fit)
    best = int(np.argmin(losses.mean(axis=1)))
    for row, size in enumerate(order[: best + 1]):
        gap = losses[row] - losses[best]
        if gap.mean() <= gap.std() / math.sqrt(n):
            return size
    return order[best]


# ---------------------------------------------------------------- logistic moments


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """A fitted logistic propensity.

    Parameters
    ----------
    coefficients : (K,) array
        Coefficients of the basis functions on the log-odds scale.
    residual : float
        Largest moment at the solution, in absolute value.
    iterations : int
        Newton steps taken.
    is_clipped : bool
        A coefficient hit the limit of 8.
    """

    coefficients: FloatArray
    residual: float
    iterations: int
    is_clipped: bool

    @property
    def is_reliable(self) -> bool:
        """The moments are solved to 1e-6 and no coefficient was clipped; else fall back to the Riesz form."""
        return self.residual <= _SCORE_TOLERANCE and not self.is_clipped

    def at_records(self, design: PrivateDesign, trim: float = 0.0) -> FloatArray:
        """Return the propensity at the released values, clipped to [trim, 1 - trim], (n,)."""
        return np.clip(expit(design.predict(self.coefficients)), trim, 1 - trim)

    def at_nodes(self, design: PrivateDesign, trim: float = 0.0) -> FloatArray:
        """Return the propensity at the common points, clipped to [trim, 1 - trim], (M,) or (n, M)."""
        return np.clip(expit(design.predict_nodes(self.coefficients)), trim, 1 - trim)


def private_logistic(design: PrivateDesign, d: IntArray | FloatArray) -> LogisticFit:
    """Solve the private logistic moments P_n Q⁻¹[(D - π_θ) b] = 0 by a guarded Newton iteration (spec 2.6).

    Curvatures are taken in absolute value and floored at 0.005 with a ridge of 0.0001, steps are at most 1.5 long,
    there are at most 50 of them, and coefficients are clipped to [-8, 8]. Without noise it is plain maximum
    likelihood: no floor, no clip.

    Parameters
    ----------
    design : PrivateDesign
        Basis and mechanism; the basis should contain the constant.
    d : (n,) array
        Treatment coded 0/1.

    Returns
    -------
    LogisticFit
        Coefficients and how well the moments are solved; check ``is_reliable``.

    Raises
    ------
    DataError
        If an arm is empty.
    """
    treated = _treatment(d, design.n)
    share = float(np.sum(design.shares * treated))
    start = np.zeros(design.size)
    if design.constant is not None:
        start = design.constant * math.log(share / (1 - share))
    target = design.moment(treated)

    def score(theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        here, there = expit(design.predict(theta)), expit(design.predict_nodes(theta))
        return target - design.moment(1.0, here, there), design.gram(1.0, here * (1 - here), there * (1 - there))

    return _newton(score, start, design.keep_probability)


def _newton(
    score: Callable[[FloatArray], tuple[FloatArray, FloatArray]], start: FloatArray, keep_probability: float
) -> LogisticFit:
    """Climb to a root of the score; ``score`` also returns the curvature, minus the Jacobian."""
    is_noisy = keep_probability < 1
    limit = _LARGEST_COEFFICIENT if is_noisy else math.inf
    theta = np.clip(start, -limit, limit)
    steps = 0
    value, curvature = score(theta)
    while steps < _NEWTON_STEPS and float(np.max(np.abs(value))) > 1e-13:
        if is_noisy:
            eigenvalues, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
            size = np.maximum(np.abs(eigenvalues), _CURVATURE_FLOOR) + _RIDGE
            step = einsum("ij,j->i", vectors, einsum("ij,i->j", vectors, value) / size)
            length = float(np.sqrt(np.sum(step * step)))
            if length > _LONGEST_STEP:
                step *= _LONGEST_STEP / length
        else:
            step, _ = stabilised_solve(curvature, value, 0.0)
        moved = np.clip(theta + step, -limit, limit)
        steps += 1
        is_still = bool(np.max(np.abs(moved - theta)) <= 1e-15 * (1 + np.max(np.abs(theta))))
        theta = moved
        value, curvature = score(theta)
        if is_still:
            break
    clipped = bool((np.abs(theta) >= limit).any())
    return LogisticFit(theta, float(np.max(np.abs(value))), steps, clipped)


# ---------------------------------------------------------------- Riesz regression


def riesz_regression(
    design: PrivateDesign,
    target: FloatArray,
    *,
    factor: FloatArray | float = 1.0,
    clip: tuple[float, float] = (-math.inf, math.inf),
    floor: float | None = None,
) -> LinearFit:
    """Fit a representer from its functional alone: minimise P_n Q⁻¹[ρ² - 2 f(·, ρ)] over the basis (spec 2.6; (31)).

    Parameters
    ----------
    design : PrivateDesign
        Basis and mechanism.
    target : (K,) array
        P_n Q⁻¹ f(·, ψ_k) for every basis function (see :meth:`PrivateDesign.mean_functions`).
    factor : (n,) array or float
        Weights of the records in the Gram matrix; a 0/1 array for one arm.
    clip : pair of float
        Known range of the representer.
    floor : float, optional
        Floor of the eigenvalues as a share of their mean; the rule of :func:`relative_floor` if left out.

    Returns
    -------
    LinearFit
        The representer on the basis.
    """
    used = design.relative_floor if floor is None else floor
    coefficients, raised = stabilised_solve(design.gram(factor), target, used)
    return LinearFit(coefficients, clip[0], clip[1], raised)


def riesz_by_arm(
    design: PrivateDesign,
    d: IntArray | FloatArray,
    target: Literal["ATE", "ATT", "E[Y0|D=1]", "E[Y1]", "E[Y0]"],
    trim: float,
    *,
    share_treated: float | None = None,
) -> tuple[LinearFit, LinearFit]:
    """Fit the representer of a causal target in both arms, without a propensity (spec 2.6).

    The values are clipped to the ranges that overlap of at least ``trim`` implies.

    Parameters
    ----------
    design : PrivateDesign
        Basis and mechanism, the same functions of x in both arms.
    d : (n,) array
        Treatment coded 0/1.
    target : str
        Which functional.
    trim : float
        Smallest propensity t in (0, 1/2).
    share_treated : float, optional
        P(D = 1), for the targets among the treated; the mean of ``d`` if left out.

    Returns
    -------
    control, treated : LinearFit
        r(0, x) and r(1, x).

    Raises
    ------
    ParameterError
        If the target is not one of these, or ``trim`` is outside (0, 1/2).
    """
    if not 0 < trim < 0.5:
        raise ParameterError(f"The trim of the propensity must be above 0 and below 0.5; it is {trim:g}.")
    treated = _treatment(d, design.n)
    p1 = float(np.sum(design.shares * treated)) if share_treated is None else share_treated
    zero = LinearFit(np.zeros(design.size))
    everyone = design.moment()
    steepest = 1 / trim
    if target in ("ATE", "E[Y1]", "E[Y0]"):
        sign = 1.0 if target == "E[Y0]" else -1.0
        range_0 = (1.0, steepest) if target == "E[Y0]" else (-steepest, -1.0)
        control = zero
        if target != "E[Y1]":
            control = riesz_regression(design, sign * everyone, factor=1 - treated, clip=range_0)
        if target == "E[Y0]":
            return control, zero
        return control, riesz_regression(design, everyone, factor=treated, clip=(1.0, steepest))
    if target not in ("ATT", "E[Y0|D=1]"):
        raise ParameterError(f"No representer is known here for the target {target}.")
    odds = (1 - trim) / trim / p1
    among = design.moment(treated) / p1
    if target == "E[Y0|D=1]":
        return riesz_regression(design, among, factor=1 - treated, clip=(0.0, odds)), zero
    control = riesz_regression(design, -among, factor=1 - treated, clip=(-odds, 0.0))
    if design.constant is not None:
        return control, LinearFit(design.constant / p1)
    return control, riesz_regression(design, among, factor=treated, clip=(0.0, 1 / (p1 * trim)))


def exponential_representer(
    design: PrivateDesign, d: IntArray | FloatArray, fixed_share: float, *, start: FloatArray | None = None
) -> LogisticFit:
    """Fit the representer among the treated by its own loss at an arbitrary fixed share γ₀ (Ex. 10, (53)-(54)).

    The model is r(d, x) = {d - (1 - d) e^{θᵀb(x)}} / γ, or without the first term for E[Y⁰ | D = 1]; both give the loss
    P Q⁻¹[(1 - D) e^{2θᵀb} - 2 D e^{θᵀb}] / γ₀² up to constants. θ does not depend on γ₀.

    Parameters
    ----------
    design : PrivateDesign
        Basis and mechanism.
    d : (n,) array
        Treatment coded 0/1.
    fixed_share : float
        The number γ₀ at which the loss is taken; any value above 0.
    start : (K,) array, optional
        Where the iteration starts; the solution of the logistic moments if left out.

    Returns
    -------
    LogisticFit
        θ on the log-odds scale: the odds are e^{θᵀb}.

    Raises
    ------
    ParameterError
        If ``fixed_share`` is not above 0 (the functional is singular at 0, E12).
    ConvergenceError
        If the iteration does not reach a minimum of the loss.
    """
    if not (math.isfinite(fixed_share) and fixed_share > 0):
        raise ParameterError(f"The fixed share must be above 0; it is {fixed_share:g}.")
    treated = _treatment(d, design.n)
    theta = private_logistic(design, d).coefficients if start is None else np.array(start, dtype=np.float64)
    scale = 1 / fixed_share**2

    def parts(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        here, there = np.exp(design.predict(theta)), np.exp(design.predict_nodes(theta))
        control = 1 - treated
        loss = _mean(design, control, here**2, there**2) - 2 * _mean(design, treated, here, there)
        gradient = design.moment(control, here**2, there**2) - design.moment(treated, here, there)
        curvature = 2 * design.gram(control, here**2, there**2) - design.gram(treated, here, there)
        return scale * loss, 2 * scale * gradient, 2 * scale * curvature

    loss, gradient, curvature = parts(theta)
    steps = 0
    while steps < 2 * _NEWTON_STEPS and float(np.max(np.abs(gradient))) > 1e-13 * scale:
        eigenvalues, vectors = np.linalg.eigh((curvature + curvature.T) / 2)
        size = np.maximum(np.abs(eigenvalues), 1e-8 * scale)
        step = -einsum("ij,j->i", vectors, einsum("ij,i->j", vectors, gradient) / size)
        length = float(np.sqrt(np.sum(step * step)))
        step *= min(1.0, _LONGEST_STEP / length) if length > 0 else 1.0
        shrink = 1.0
        while shrink > 1e-10:
            moved = theta + shrink * step
            if np.max(np.abs(moved)) < 50:
                new = parts(moved)
                if new[0] <= loss + 1e-14 * abs(loss):
                    break
            shrink /= 2
        else:
            break
        steps += 1
        theta = moved
        is_still = bool(np.max(np.abs(shrink * step)) <= 1e-14 * (1 + np.max(np.abs(theta))))
        loss, gradient, curvature = new
        if is_still:
            break
    residual = float(np.max(np.abs(gradient))) / scale
    if residual > _SCORE_TOLERANCE:
        raise ConvergenceError(
            "The loss of the representer has no minimum in this sample; use fewer basis functions or more records."
        )
    return LogisticFit(theta, residual, steps, bool((np.abs(theta) >= _LARGEST_COEFFICIENT).any()))


def _mean(design: PrivateDesign, factor: FloatArray, at_records: FloatArray, at_nodes: FloatArray) -> float:
    """P_n Q⁻¹[factor · h] for one function h."""
    return float(np.sum(design.shares * factor * design.invert(at_records, at_nodes)))


# ---------------------------------------------------------------- method of moments with its covariance


@dataclass(frozen=True, eq=False)
class MomentEstimate:
    """Coefficients by the private method of moments, with the sandwich covariance (Prop. 2).

    Parameters
    ----------
    coefficients : (K,) array
        Solution of the private moments.
    covariance : (K, K) array
        Estimated covariance of the coefficients, i.e. the sandwich divided by n.
    names : tuple of str
        One name for each coefficient.
    n : int
        Number of records.
    residual : float
        Largest moment at the solution, in absolute value.
    flags : tuple of str
        Sentences for the reader.
    """

    coefficients: FloatArray
    covariance: FloatArray
    names: tuple[str, ...]
    n: int
    residual: float
    flags: tuple[str, ...] = field(default=())

    @property
    def std_error(self) -> FloatArray:
        """Standard errors of the coefficients, (K,)."""
        result: FloatArray = np.sqrt(np.diag(self.covariance))
        return result

    def intervals(self, level: float = 0.95) -> FloatArray:
        """Return Normal intervals of the coefficients, (K, 2).

        Parameters
        ----------
        level : float
            Wanted coverage, strictly between 0 and 1.
        """
        half = normal_quantile(level) * self.std_error
        return np.stack([self.coefficients - half, self.coefficients + half], axis=1)

    def combination(self, weights: ArrayLike) -> tuple[float, float]:
        """Return a weighted sum of the coefficients and its standard error.

        Parameters
        ----------
        weights : (K,) array
            Weights; a row of basis values gives the fitted function there.
        """
        w = np.asarray(weights, dtype=np.float64)
        variance = float(einsum("i,ij,j->", w, self.covariance, w))
        return float(np.sum(w * self.coefficients)), math.sqrt(max(variance, 0.0))


def private_moments(
    design: PrivateDesign,
    response: FloatArray | IntArray,
    model: Literal["linear", "logistic"] = "linear",
    *,
    factor: FloatArray | float = 1.0,
) -> MomentEstimate:
    """Estimate regression coefficients on the sensitive value with their covariance (Prop. 2, Lemma 7, Cor. 2-3).

    At keep probability 1 these are the coefficients of ordinary least squares or of logistic maximum likelihood with
    the "HC0" covariance.

    Parameters
    ----------
    design : PrivateDesign
        Basis, public columns and mechanism.
    response : (n,) array
        The regressed variable; 0/1 for the logistic model.
    model : {"linear", "logistic"}
        Which regression.
    factor : (n,) array or float
        Weights of the records (linear model only); a 0/1 array for a subgroup.

    Returns
    -------
    MomentEstimate
        Coefficients, covariance, names and flags.

    Raises
    ------
    DataError
        If lengths differ or the moments cannot be solved.
    ParameterError
        If the model is not one of the two.
    """
    flags: list[str] = []
    if model == "linear":
        y = _numbers(response, design.n, "outcome")
        gram = design.gram(factor)
        coefficients, _ = stabilised_solve(gram, design.moment(y * factor), 0.0)
        fitted, nodes = design.predict(coefficients), design.predict_nodes(coefficients)
        moments = design.record_moments(y * factor) - design.record_moments(factor, fitted, nodes)
        smallest = float(np.linalg.eigvalsh((gram + gram.T) / 2)[0])
        if smallest < design.relative_floor * float(np.trace(gram)) / design.size:
            flags.append("The noise hides some direction of the regression: coefficients and intervals are unstable.")
    elif model == "logistic":
        treated = _treatment(response, design.n)
        fit = private_logistic(design, treated)
        coefficients = fit.coefficients
        here, there = expit(design.predict(coefficients)), expit(design.predict_nodes(coefficients))
        gram = design.gram(1.0, here * (1 - here), there * (1 - there))
        moments = design.record_moments(treated) - design.record_moments(1.0, here, there)
        if not fit.is_reliable:
            flags.append("The logistic moments have no clear solution in this sample: do not trust the coefficients.")
    else:
        raise ParameterError(f"The model must be linear or logistic; it is {model}.")
    middle = einsum("ni,nj->ij", moments * design.shares[:, None], moments)
    residual = float(np.max(np.abs(einsum("n,nk->k", design.shares, moments))))
    bread: FloatArray = np.asarray(np.linalg.inv(gram), dtype=np.float64)
    covariance = einsum("ij,jk,lk->il", bread, middle, bread) / design.n
    return MomentEstimate(coefficients, covariance, design.names, design.n, residual, tuple(flags))


def added_noise_moments(
    mechanism: LaplaceAddition | GaussianAddition,
    z: ArrayLike,
    response: ArrayLike,
    basis: Linear | Legendre | Hermite,
) -> MomentEstimate:
    """Estimate a polynomial regression on one column to which noise was added (Prop. 2, Sec. 10.5; derived).

    The inverse acts on polynomials term by term: h - b²h'' for Laplace noise, the Hermite correction for normal noise.

    Parameters
    ----------
    mechanism : LaplaceAddition or GaussianAddition
        The added noise, one column.
    z, response : (n,) array
        Noisy values and the regressed variable.
    basis : Linear, Legendre or Hermite
        Polynomials of one column.

    Returns
    -------
    MomentEstimate
        Coefficients with the sandwich covariance.

    Raises
    ------
    DataError
        If lengths differ, values are not finite or the moments cannot be solved.
    """
    released = np.asarray(z, dtype=np.float64)
    if released.ndim != 1 or len(released) == 0:
        raise DataError("Added noise is undone for one column with at least one record.")
    n = len(released)
    released, y = _numbers(released, n, "shown column"), _numbers(response, n, "outcome")
    functions = basis.polynomials()
    plain = np.stack([_without_noise(mechanism, p)(released) for p in functions], axis=1)
    squares = np.stack(
        [np.stack([_without_noise(mechanism, p * q)(released) for q in functions], axis=1) for p in functions], axis=1
    )
    gram = squares.mean(axis=0)
    coefficients, _ = stabilised_solve(gram, (plain * y[:, None]).mean(axis=0), 0.0)
    moments = plain * y[:, None] - einsum("nij,j->ni", squares, coefficients)
    bread: FloatArray = np.asarray(np.linalg.inv(gram), dtype=np.float64)
    covariance = einsum("ij,jk,lk->il", bread, einsum("ni,nj->ij", moments, moments) / n, bread) / n
    flags: tuple[str, ...] = ()
    if float(np.linalg.eigvalsh((gram + gram.T) / 2)[0]) <= 0:
        flags = ("The noise hides some direction of the regression: coefficients and intervals are unstable.",)
    return MomentEstimate(coefficients, covariance, basis.names, n, float(np.max(np.abs(moments.mean(axis=0)))), flags)


def _without_noise(mechanism: LaplaceAddition | GaussianAddition, p: Polynomial) -> Polynomial:
    if isinstance(mechanism, GaussianAddition):
        return Polynomial(mechanism.invert_polynomial(p.coef))
    if mechanism.scales.size != 1:
        raise ParameterError("Added noise is undone for one column at a time.")
    return p - float(mechanism.scales[0]) ** 2 * p.deriv(2)


def linear_slope_variance(
    slope: float, noise_std: float, reference_std: float, keep_probability: float | FloatArray
) -> float | FloatArray:
    """Return n times the variance of a private slope, X ~ N(0, 1), noise N(0, τ²) (spec 2.8, derived; G21).

    Derived, checked in tests/statistical/test_causal_moments.py. It tends to {(b² + σ²)τ² + 2b²τ⁴}/α² as the keep
    probability falls (growth 1/α², text before Prop. 2).

    Parameters
    ----------
    slope : float
        True slope b.
    noise_std : float
        Standard deviation σ of the outcome around the line.
    reference_std : float
        Standard deviation τ of the noise law that replaces X.
    keep_probability : float or array
        In (0, 1].

    Returns
    -------
    float or array
        The entry of the sandwich that belongs to the slope.

    Examples
    --------
    >>> linear_slope_variance(2.0, 1.0, 1.0, 0.5)
    32.0
    """
    b2, s2, t2 = slope**2, noise_std**2, reference_std**2
    odds = (1 - keep_probability) / keep_probability
    return s2 + odds * (s2 + b2 * t2**2) + odds / keep_probability * ((b2 + s2) * t2 + 2 * b2 * t2**2)


# ---------------------------------------------------------------- notes on the source


def squared_loss_gradient(
    response: FloatArray, fitted: FloatArray, derivative: FloatArray, *, printed: bool = False
) -> FloatArray:
    """Return the gradient of (m - μ_θ)² in θ (Cor. 2; E6).

    Parameters
    ----------
    response, fitted : (n,) array
        m and μ_θ.
    derivative : (n, K) array
        Derivatives of μ_θ.
    printed : bool
        Give the source's display, which lacks the minus sign.

    Returns
    -------
    (n, K) array
        -2 (m - μ_θ) D μ_θ; its root is the same either way.
    """
    sign = 2.0 if printed else -2.0
    return sign * (response - fitted)[:, None] * derivative


def offset_root(n: float, exponent: float) -> tuple[float, float]:
    """Show what "solved up to" must mean in Prop. 2 (E5): moments off by n^(-exponent) in a mean.

    Parameters
    ----------
    n : float
        Number of records.
    exponent : float
        The offset is n to the power minus this.

    Returns
    -------
    form : float
        √n times the quadratic form of the moments, which the source asks to tend to 0.
    error : float
        √n times the error of the solution, which must stay bounded; both do only if the exponent is at least 1/2.
    """
    offset = n**-exponent
    return math.sqrt(n) * offset**2, math.sqrt(n) * offset


# ---------------------------------------------------------------- small helpers


def _numbers(values: ArrayLike, n: int, name: str) -> FloatArray:
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"The {name} must be numeric.") from None
    if result.shape != (n,):
        raise DataError(f"There are {n} released values, but the {name} has {result.size}.")
    if not np.isfinite(result).all():
        raise DataError(f"The {name} has missing or infinite values.")
    return result


def _treatment(d: ArrayLike, n: int) -> FloatArray:
    treated = _numbers(d, n, "treatment")
    if not ((treated == 0) | (treated == 1)).all():
        shown = ", ".join(f"{value:g}" for value in np.unique(treated)[:5])
        raise DataError(f"The treatment must have exactly two values, 0 and 1; it has {shown}.")
    if not treated.any():
        raise DataError("There are no treated units.")
    if treated.all():
        raise DataError("There are no control units.")
    return treated


__all__ = [
    "LinearFit",
    "LogisticFit",
    "MomentEstimate",
    "PrivateDesign",
    "SignedNodes",
    "added_noise_moments",
    "arm_regressions",
    "check_basis_size",
    "choose_basis_size",
    "exponential_representer",
    "linear_slope_variance",
    "offset_root",
    "private_design",
    "private_least_squares",
    "private_logistic",
    "private_loss",
    "private_moments",
    "propensity_trim",
    "recommended_size",
    "relative_floor",
    "riesz_by_arm",
    "riesz_regression",
    "signed_nodes",
    "squared_loss_gradient",
    "stabilised_solve",
]
