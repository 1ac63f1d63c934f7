"""Fitting the training losses: least squares, ridge, logistic and Poisson regression, part by part (spec 3.6).

A training loss of one person is a function of the linear predictor e = w·x and the outcome y: squared (e - y)²/2,
logistic log(1 + exp e) - y e, Poisson exp(e) - y e, each plus (μ/2)‖w‖² with a penalty μ. The fit is the minimum of the
mean over people.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import solve_triangular

from privexplorer.arrays import FloatArray
from privexplorer.errors import ConvergenceError, DataError, ParameterError
from privexplorer.predictability.tables import (
    PART_ROWS,
    Parts,
    Table,
    column_labels,
    locate_missing,
    matrix,
    parts_of,
    row_count,
    vector,
)

TrainingLoss: TypeAlias = Literal["squared", "logistic", "poisson"]

_GRADIENT = 1e-12  # of the size of its terms
_CLOSE = 1e-6  # smallest eigenvalue of the scaled Gram matrix that normal equations are trusted with
_SAME = 1e-12  # singular values below this share of the largest: columns carry the same information
_CERTAIN = 1e-10  # curvature per person below this: a direction without uncertainty
_STEPS = 100


@dataclass(frozen=True)
class Design:
    """Which columns explain which outcome.

    Attributes
    ----------
    features : tuple of str
        Columns x, plain or matrices.
    target : str
        Column y.
    intercept : bool
        Whether a constant 1 stands before the features.

    Raises
    ------
    ParameterError
        If the outcome is also a feature: it would explain itself.
    """

    features: tuple[str, ...]
    target: str
    intercept: bool = False

    def __post_init__(self) -> None:
        if self.target in self.features:
            raise ParameterError(
                f"The outcome “{self.target}” is also a feature and would explain itself; choose another outcome or "
                "leave it out of the features.",
                field="features",
            )

    def x(self, table: Table) -> FloatArray:
        """Return the features of these rows, shape ``(rows, d)``."""
        return matrix(table, self.features, self.intercept)

    def y(self, table: Table) -> FloatArray:
        """Return the outcome of these rows, shape ``(rows,)``."""
        return vector(table, self.target)


@dataclass(frozen=True, eq=False)
class Fit:
    """Where the mean training loss is least.

    Attributes
    ----------
    coefficients : (d,) float array
        w, the intercept first.
    hessian : (d, d) float array
        Mean second derivative of the loss at w, penalty included.
    gram : (d, d) float array
        Mean of x xᵀ.
    records : int
        Number of people.
    steps : int
        Newton steps taken; 1 for least squares.
    """

    coefficients: FloatArray
    hessian: FloatArray
    gram: FloatArray
    records: int
    steps: int = 1


def predicted(loss: TrainingLoss, linear: FloatArray) -> FloatArray:
    """Return the mean outcome at a linear predictor: e, 1/(1 + exp -e) or exp e."""
    if loss == "squared":
        return linear
    if loss == "logistic":
        positive = linear >= 0
        tail = np.exp(np.where(positive, -linear, linear))
        return np.asarray(np.where(positive, 1.0, tail) / (1.0 + tail))
    return np.exp(linear)


def curvature(loss: TrainingLoss, linear: FloatArray) -> FloatArray:
    """Return the second derivative of the loss in the linear predictor."""
    if loss == "squared":
        return np.ones_like(linear)
    mean = predicted(loss, linear)
    if loss == "poisson":
        return mean
    tail = np.exp(-np.abs(linear))
    return np.asarray(tail / np.square(1.0 + tail))


def loss_values(loss: TrainingLoss, linear: FloatArray, outcome: FloatArray) -> FloatArray:
    """Return the training loss of each person, without penalty."""
    if loss == "squared":
        return np.asarray(0.5 * np.square(linear - outcome))
    if loss == "logistic":
        return np.asarray(np.maximum(linear, 0.0) + np.log1p(np.exp(-np.abs(linear))) - outcome * linear)
    return np.asarray(np.exp(linear) - outcome * linear)


def check_outcome(loss: TrainingLoss, outcome: FloatArray, name: str, first_row: int = 0) -> None:
    """Refuse outcomes that a loss is not made for (DataError): logistic takes 0 and 1, Poisson counts from 0."""
    if loss == "logistic":
        bad = (outcome != 0.0) & (outcome != 1.0)
        what = "Logistic regression needs outcomes 0 or 1"
    elif loss == "poisson":
        bad = outcome < 0.0
        what = "Poisson regression needs outcomes of at least 0"
    else:
        return
    bad &= np.isfinite(outcome)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(f"{what}; '{name}' is {float(outcome[row]):g} in row {first_row + row + 1:,}.")


def fit(loss: TrainingLoss, data: Parts, design: Design, penalty: float = 0.0) -> Fit:
    """Return the minimum of the mean training loss.

    Parameters
    ----------
    loss : {"squared", "logistic", "poisson"}
        Which loss.
    data : table or parts
        Read once for least squares, once per Newton step otherwise.
    design : Design
        Features and outcome.
    penalty : float
        μ >= 0, on all coefficients.

    Raises
    ------
    ParameterError
        If the features carry the same information twice or are more than the people, or the outcome can be told
        apart without error (logistic): then there is no unique minimum.
    DataError
        For values that are not numbers, or outcomes that do not suit the loss.
    ConvergenceError
        If Newton's method does not reach its tolerance.
    """
    if not (math.isfinite(penalty) and penalty >= 0.0):
        raise ParameterError(f"The penalty μ must be a number of at least 0; it is {penalty:g}.", field="penalty")
    return _least_squares(data, design, penalty) if loss == "squared" else _newton(loss, data, design, penalty)


def feature_labels(data: Parts, design: Design) -> tuple[str, ...]:
    """Return one label per coefficient."""
    first = next(iter(parts_of(data)))
    return column_labels(first, design.features, design.intercept)


# --- least squares -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GramSums:
    """Sums of products of features and outcome over some people; they add with ``+``."""

    count: int
    gram: FloatArray
    moment: FloatArray

    def __add__(self, other: GramSums) -> GramSums:
        """Return the sums over both groups of people."""
        return GramSums(self.count + other.count, self.gram + other.gram, self.moment + other.moment)


def gram_sums(table: Table, design: Design, rows: int = PART_ROWS) -> GramSums:
    """Add up x xᵀ and x y over one part of a table."""
    total = row_count(table)
    gram: FloatArray | None = None
    moment: FloatArray | None = None
    for start in range(0, total, rows):
        step = {name: table[name][start : start + rows] for name in {*design.features, design.target} if name in table}
        x, y = design.x(step), design.y(step)
        if gram is None or moment is None:
            gram, moment = x.T @ x, y @ x
        else:
            gram += x.T @ x
            moment += y @ x
    if gram is None or moment is None:
        raise DataError("The table has no rows.")
    if not (np.isfinite(gram).all() and np.isfinite(moment).all()):
        locate_missing(table, [*design.features, design.target])
        raise DataError("The sums over the table are too large for double precision; rescale the columns.")
    return GramSums(total, gram, moment)


def _least_squares(data: Parts, design: Design, penalty: float) -> Fit:
    sums: GramSums | None = None
    for table in parts_of(data):
        more = gram_sums(table, design)
        sums = more if sums is None else sums + more
    if sums is None:
        raise DataError("The table has no rows.")
    gram, moment = sums.gram / sums.count, sums.moment / sums.count
    width = gram.shape[0]
    hessian = gram + penalty * np.eye(width)
    scale = np.sqrt(np.diagonal(hessian))
    scale = np.where(scale == 0.0, 1.0, scale)
    scaled = hessian / np.outer(scale, scale)
    if float(np.linalg.eigvalsh(scaled)[0]) >= _CLOSE:
        coefficients = np.linalg.solve(scaled, moment / scale) / scale
        return Fit(coefficients, hessian, gram, sums.count)
    triangle = _triangle_of(data, design, penalty, sums.count)
    upper, right = triangle[:width, :width], triangle[:width, width]
    _check_independent(upper, feature_labels(data, design), sums.count)
    coefficients = solve_triangular(upper, right)
    return Fit(np.asarray(coefficients), hessian, gram, sums.count)


def _triangle_of(data: Parts, design: Design, penalty: float, records: int) -> FloatArray:
    """Return the triangular factor of the features and the outcome side by side, built step by step."""
    triangle: FloatArray | None = None
    for table in parts_of(data):
        for start in range(0, row_count(table), PART_ROWS):
            step = {name: table[name][start : start + PART_ROWS] for name in {*design.features, design.target}}
            block = np.column_stack([design.x(step), design.y(step)])
            rows = [block] if triangle is None else [triangle, block]
            triangle = np.asarray(np.linalg.qr(np.vstack(rows), mode="r"))
    if triangle is None:
        raise DataError("The table has no rows.")
    width = triangle.shape[1]
    shrink = np.zeros((width, width))
    shrink[: width - 1, : width - 1] = math.sqrt(penalty * records) * np.eye(width - 1)
    return np.asarray(np.linalg.qr(np.vstack([triangle, shrink]), mode="r"))


def _check_independent(upper: FloatArray, labels: Sequence[str], records: int) -> None:
    """Refuse features that are linearly dependent; the sentence names those that take part, unless people are few."""
    scale = np.sqrt(np.square(upper).sum(axis=0))
    empty = [label for label, size in zip(labels, scale, strict=True) if size == 0.0]
    if empty:
        raise ParameterError(
            f"The coefficients are not identified: column '{empty[0]}' is 0 for everybody, so leave it out or use "
            "ridge regression.",
            field="features",
        )
    _, values, right = np.linalg.svd(upper / scale)
    if float(values[-1]) > _SAME * float(values[0]):
        return
    hint = "Ridge regression with a small penalty has a unique answer."
    if len(labels) > records:
        counted = f"{len(labels):,}{', the intercept included' if 'intercept' in labels else ''}"
        raise ParameterError(
            f"The coefficients are not identified: there are more columns ({counted}) than people ({records:,}), so "
            "choose fewer columns or use ridge regression.",
            field="features",
            hint=hint,
        )
    involved = [f"'{label}'" for label, part in zip(labels, right[-1], strict=True) if abs(part) > 1e-6]
    raise ParameterError(
        f"The coefficients are not identified: the columns {', '.join(involved)} carry the same information twice "
        "(they are linearly dependent), so leave one out or use ridge regression.",
        field="features",
        hint=hint,
    )


# --- Newton's method -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LossSums:
    """Loss, gradient and second derivative over some people, without penalty; they add with ``+``.

    Attributes
    ----------
    count : int
        Number of people.
    loss : float
        Sum of the training losses.
    gradient : (d,) float array
        Sum of the gradients.
    size : (d,) float array
        Sum of their absolute values: what rounding is measured against.
    hessian, gram : (d, d) float arrays
        Sums of second derivatives and of x xᵀ.
    margin : float
        Smallest signed linear predictor (logistic): above 0 if everybody is told apart correctly.
    """

    count: int
    loss: float
    gradient: FloatArray
    size: FloatArray
    hessian: FloatArray
    gram: FloatArray
    margin: float

    def __add__(self, other: LossSums) -> LossSums:
        """Return the sums over both groups of people."""
        return LossSums(
            self.count + other.count,
            self.loss + other.loss,
            self.gradient + other.gradient,
            self.size + other.size,
            self.hessian + other.hessian,
            self.gram + other.gram,
            min(self.margin, other.margin),
        )


def loss_sums(
    table: Table,
    loss: TrainingLoss,
    design: Design,
    coefficients: FloatArray,
    rows: int = PART_ROWS,
    first_row: int = 0,
) -> LossSums:
    """Add up loss, gradient and second derivative at these coefficients over one part of a table."""
    total = row_count(table)
    out: LossSums | None = None
    used = [*design.features, design.target]
    for start in range(0, total, rows):
        step = {name: table[name][start : start + rows] for name in used if name in table}
        x, y = design.x(step), design.y(step)
        check_outcome(loss, y, design.target, first_row + start)
        with np.errstate(over="ignore", invalid="ignore"):
            linear = x @ coefficients
            each = x * (predicted(loss, linear) - y)[:, None]
            more = LossSums(
                x.shape[0],
                float(loss_values(loss, linear, y).sum()),
                each.sum(axis=0),
                np.abs(each).sum(axis=0),
                (x * curvature(loss, linear)[:, None]).T @ x,
                x.T @ x,
                float(np.where(y > 0.5, linear, -linear).min()) if loss == "logistic" else -math.inf,
            )
        out = more if out is None else out + more
    if out is None:
        raise DataError("The table has no rows.")
    if not np.isfinite(out.gram).all():
        locate_missing(table, used)
        raise DataError("The sums over the table are too large for double precision; rescale the columns.")
    return out


def all_loss_sums(data: Parts, loss: TrainingLoss, design: Design, coefficients: FloatArray) -> LossSums:
    """Add up over the whole table."""
    out: LossSums | None = None
    rows = 0
    for table in parts_of(data):
        more = loss_sums(table, loss, design, coefficients, first_row=rows)
        rows += more.count
        out = more if out is None else out + more
    if out is None:
        raise DataError("The table has no rows.")
    return out


def _newton(loss: TrainingLoss, data: Parts, design: Design, penalty: float) -> Fit:
    labels = feature_labels(data, design)
    width = len(labels)
    at = np.zeros(width)
    sums = all_loss_sums(data, loss, design, at)
    gram = sums.gram / sums.count
    if penalty == 0.0:
        _check_gram(gram, data, design, labels, sums.count)
    locate_missing(data, [design.target])

    def value(of: LossSums, where: FloatArray) -> float:
        return of.loss / of.count + 0.5 * penalty * float(where @ where)

    for step in range(1, _STEPS + 1):
        gradient = sums.gradient / sums.count + penalty * at
        hessian = sums.hessian / sums.count + penalty * np.eye(width)
        if loss == "logistic" and penalty == 0.0 and sums.margin > 0.0:
            _refuse_separable()
        size = sums.size / sums.count + penalty * np.abs(at) + 1e-300
        scale = np.sqrt(np.maximum(np.diagonal(hessian), 1e-300))
        scaled = hessian / np.outer(scale, scale)
        lowest = float(np.linalg.eigvalsh(scaled)[0])
        if np.all(np.abs(gradient) <= _GRADIENT * size):
            if penalty == 0.0:
                _check_bounded(loss, hessian, gram)
            return Fit(at, hessian, gram, sums.count, step)
        if not lowest > 1e-15:
            if penalty == 0.0 and loss == "logistic":
                _refuse_separable()
            raise ConvergenceError(
                "The training loss is flat in one direction, so its minimum cannot be found; add a penalty (L2)."
            )
        direction = -np.linalg.solve(scaled, gradient / scale) / scale
        slope = float(gradient @ direction)
        here = value(sums, at)
        length = 1.0
        while True:
            there = at + length * direction
            tried = all_loss_sums(data, loss, design, there)
            reached = value(tried, there)
            if math.isfinite(reached) and reached <= here + 1e-4 * length * slope + 1e-13 * (abs(here) + 1e-300):
                break
            length *= 0.5
            if length < 1e-10:
                break
        if length < 1e-10 or (np.array_equal(there, at)):
            if np.all(np.abs(gradient) <= 1e-9 * size):
                return Fit(at, hessian, gram, sums.count, step)
            break
        at, sums = there, tried
        if penalty == 0.0 and loss == "logistic" and float(np.abs(at * np.sqrt(np.diagonal(gram))).max()) > 1e4:
            _refuse_separable()
    gradient = sums.gradient / sums.count + penalty * at
    hessian = sums.hessian / sums.count + penalty * np.eye(width)
    size = sums.size / sums.count + penalty * np.abs(at) + 1e-300
    if penalty == 0.0:
        _check_bounded(loss, hessian, gram)
    if np.all(np.abs(gradient) <= 1e-9 * size):
        return Fit(at, hessian, gram, sums.count, _STEPS)
    raise ConvergenceError("The training loss did not reach its minimum; rescale the columns or add a penalty (L2).")


def _check_gram(gram: FloatArray, data: Parts, design: Design, labels: Sequence[str], records: int) -> None:
    scale = np.sqrt(np.diagonal(gram))
    if np.all(scale > 0.0) and float(np.linalg.eigvalsh(gram / np.outer(scale, scale))[0]) >= _CLOSE:
        return
    triangle = _triangle_of(data, design, 0.0, 1)
    width = gram.shape[0]
    _check_independent(triangle[:width, :width], labels, records)


def _check_bounded(loss: TrainingLoss, hessian: FloatArray, gram: FloatArray) -> None:
    """Refuse a minimum that lies at infinity: along some direction nobody's outcome is uncertain any more."""
    values, vectors = np.linalg.eigh(gram)
    whiten = vectors / np.sqrt(np.maximum(values, 1e-300))
    if float(np.linalg.eigvalsh(whiten.T @ hessian @ whiten)[0]) < _CERTAIN:
        _refuse_separable(loss)


def _refuse_separable(loss: TrainingLoss = "logistic") -> None:
    what, name = (
        ("The outcomes of some people can be told apart without error by the columns", "logistic")
        if loss == "logistic"
        else ("Some people's counts are all 0 and the columns tell these people apart", "Poisson")
    )
    raise ParameterError(
        f"{what}, so the coefficients of the {name} regression grow without limit; add a penalty (L2).",
        field="penalty",
    )


# --- gradient descent ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Descent:
    """The path of batch gradient descent (A.1).

    Attributes
    ----------
    path : (steps + 1, d) float array
        w₀ .. w_T.
    hessians : (steps, d, d) float array
        Mean second derivative at w₀ .. w_{T-1}, penalty included.
    gradients : (steps, d) float array
        Mean gradient there.
    losses : (steps + 1,) float array
        Mean training loss along the path, penalty included.
    gram : (d, d) float array
        Mean of x xᵀ.
    records : int
        Number of people.
    """

    path: FloatArray
    hessians: FloatArray
    gradients: FloatArray
    losses: FloatArray
    gram: FloatArray
    records: int


def descend(
    loss: TrainingLoss,
    data: Parts,
    design: Design,
    steps: int,
    step_size: float,
    penalty: float = 0.0,
    start: FloatArray | None = None,
) -> Descent:
    """Run batch gradient descent ``w_t = w_{t-1} - η (mean gradient at w_{t-1})``.

    Parameters
    ----------
    steps : int
        T, at least 1.
    step_size : float
        η > 0.
    penalty : float
        μ >= 0.
    start : (d,) array, optional
        w₀; zero if left out.

    Raises
    ------
    ParameterError
        If the step is too long: η must stay below 2 over the largest eigenvalue of the second derivative. The
        sentence names the largest safe step.
    """
    if steps < 1:
        raise ParameterError(f"Gradient descent needs at least 1 step; it has {steps}.", field="steps")
    if not (math.isfinite(step_size) and step_size > 0.0):
        raise ParameterError(f"The step size η must be above 0; it is {step_size:g}.", field="step_size")
    width = len(feature_labels(data, design))
    at = np.zeros(width) if start is None else np.asarray(start, dtype=np.float64)
    if at.shape != (width,):
        raise ParameterError(f"The start w₀ needs {width} numbers; it has {at.size}.", field="start")
    evaluate = _evaluator(loss, data, design, penalty)
    path, hessians, gradients, losses = [at], [], [], []
    for _ in range(steps):
        value, gradient, hessian, gram, records = evaluate(at)
        largest = float(np.linalg.eigvalsh(hessian)[-1])
        if step_size * largest >= 2.0 or not math.isfinite(value):
            raise ParameterError(
                f"Gradient descent diverges with step size η = {step_size:g}; η must stay below {2.0 / largest:.4g}, "
                "which is 2 over the largest eigenvalue of the mean second derivative.",
                field="step_size",
            )
        at = at - step_size * gradient
        path.append(at)
        hessians.append(hessian)
        gradients.append(gradient)
        losses.append(value)
    value, _, _, gram, records = evaluate(at)
    losses.append(value)
    return Descent(np.array(path), np.array(hessians), np.array(gradients), np.array(losses), np.asarray(gram), records)


_Evaluated: TypeAlias = tuple[float, FloatArray, FloatArray, FloatArray, int]


def _evaluator(loss: TrainingLoss, data: Parts, design: Design, penalty: float) -> Callable[[FloatArray], _Evaluated]:
    """Return a function giving loss, gradient, second derivative, gram and count at coefficients."""
    if loss == "squared":
        # one reading of the table is enough
        sums = all_loss_sums(data, loss, design, np.zeros(len(feature_labels(data, design))))
        gram, moment, base = sums.gram / sums.count, -sums.gradient / sums.count, sums.loss / sums.count
        if not np.isfinite(moment).all():
            locate_missing(data, [design.target])
        hessian = gram + penalty * np.eye(gram.shape[0])

        def quadratic(at: FloatArray) -> _Evaluated:
            gradient = hessian @ at - moment
            value = base - float(moment @ at) + 0.5 * float(at @ hessian @ at)
            return value, gradient, hessian, gram, sums.count

        return quadratic

    def general(at: FloatArray) -> _Evaluated:
        found = all_loss_sums(data, loss, design, at)
        if not np.isfinite(found.gradient).all():
            locate_missing(data, [design.target])
        gradient = found.gradient / found.count + penalty * at
        hessian = found.hessian / found.count + penalty * np.eye(at.size)
        value = found.loss / found.count + 0.5 * penalty * float(at @ at)
        return value, gradient, hessian, found.gram / found.count, found.count

    return general


__all__ = [
    "Descent",
    "Design",
    "Fit",
    "GramSums",
    "LossSums",
    "TrainingLoss",
    "all_loss_sums",
    "check_outcome",
    "curvature",
    "descend",
    "feature_labels",
    "fit",
    "gram_sums",
    "loss_sums",
    "loss_values",
    "predicted",
]
