"""Releases as moments: statistics, quantiles, fitted models, gradient descent (spec predictability, section 2.4).

A release is a record of choices; fitted to a table it gives moments g whose mean is 0 at the released numbers λ, and
their mean derivative J:

    mean of Γ                  g = Γ - λ                         J = -I            Thm 4.1
    fitted model               g = gradient of the training loss J = mean Hessian  Thm 4.2
    gradient descent, path     g = w_{t-1} - w_t - η gradient    block bidiagonal  A.1
    gradient descent, last     g = influence of each person      J = -I            spec 3.5 (derived)
    quantile                   g = 1{x <= λ} - level             J = density at λ  derived, approximate
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.errors import DataError, ParameterError, PrivExplorerError, UnsupportedCombination
from privexplorer.predictability.expressions import LENGTH_LIMIT, Expression, parse
from privexplorer.predictability.fits import (
    Descent,
    Design,
    TrainingLoss,
    curvature,
    descend,
    feature_labels,
    fit,
    predicted,
)
from privexplorer.predictability.tables import Parts, Table, column, column_labels, matrix, parts_of, row_count, vector
from privexplorer.records import Number, Record, field

Norm: TypeAlias = Literal["l1", "l2"]
Bounds: TypeAlias = Mapping[str, tuple[float, float]]

PATH_LIMIT = 600
"""Most numbers in a released path of gradient descent."""


_ROUNDING = 1e-14  # residuals below this share of outcome and prediction are rounding errors


class FittedRelease(ABC):
    """A release at a table: what :func:`~privexplorer.predictability.sums.summarise` and the attacker need."""

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """One name per released number."""

    @property
    @abstractmethod
    def parameters(self) -> FloatArray:
        """Released numbers λ without noise, shape ``(d,)``; zeros if ``centred`` is false (known after the sums)."""

    @property
    @abstractmethod
    def jacobian(self) -> FloatArray:
        """Mean derivative J of the moments, shape ``(m, d)``."""

    @property
    def width(self) -> int:
        """Number of moments m."""
        return int(self.jacobian.shape[0])

    @property
    def centred(self) -> bool:
        """Whether the moments have mean 0 as they are filled in."""
        return True

    @property
    def is_deficient(self) -> bool:
        """Whether the moments are linearly dependent by design."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the reader."""
        return ()

    @abstractmethod
    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the moments of these rows into ``out``, shape ``(rows, m)``."""

    def finished(self, mean: FloatArray) -> FloatArray:
        """Return λ, given the mean of the moments as filled in."""
        return self.parameters

    def attack_reason(self) -> str | None:
        """Say why no attacker can be simulated for this release; None if one can."""
        return None

    def design(self, table: Table) -> FloatArray:
        """Return what a person's moments depend on, shape ``(rows, f)``."""
        raise UnsupportedCombination(self.attack_reason() or "No attacker can be simulated for this release.")

    def moments_at(self, design: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return moments at any parameters, many samples at once.

        ``design`` has shape ``(f, samples, n)``, ``parameters`` ``(samples, d)``; the result ``(m, samples, n)``.
        """
        raise UnsupportedCombination(self.attack_reason() or "No attacker can be simulated for this release.")

    def jacobian_at(self, design: FloatArray, parameters: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Return the mean derivative at any parameters, shape ``(samples, m, d)``.

        ``design`` has shape ``(f, samples, n)``; ``weights`` (``(samples, n)``) are importance weights, None for ones.
        """
        raise UnsupportedCombination(self.attack_reason() or "No attacker can be simulated for this release.")

    def population(self, table: Table) -> FloatArray:
        """Return λ at a table in memory."""
        return self.parameters


# --- statistics ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FittedStatistic(FittedRelease):
    """Means of columns or formulas, possibly times a constant (Thm 4.1).

    Attributes
    ----------
    sources : tuple of str or Expression
        Columns (plain or matrices) and formulas.
    names : tuple of str
        One per released number.
    factor : float
        λ is this many times the mean: 1, or N for a count.
    """

    sources: tuple[str | Expression, ...]
    names: tuple[str, ...]
    factor: float = 1.0

    @property
    def labels(self) -> tuple[str, ...]:
        """One name per released number."""
        return self.names

    @property
    def parameters(self) -> FloatArray:
        """Zeros: λ is known after the sums."""
        return np.zeros(len(self.names))

    @property
    def jacobian(self) -> FloatArray:
        """Minus the identity over the factor."""
        return -np.eye(len(self.names)) / self.factor

    @property
    def centred(self) -> bool:
        """False: the mean is taken off at the end, so that one reading of the table is enough."""
        return False

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the statistic of these rows."""
        start = 0
        for source in self.sources:
            if isinstance(source, Expression):
                out[:, start] = source.numbers(table)
                start += 1
            else:
                values = matrix(table, [source])
                out[:, start : start + values.shape[1]] = values
                start += values.shape[1]

    def finished(self, mean: FloatArray) -> FloatArray:
        """Return the mean times the factor."""
        return np.asarray(self.factor * mean)

    def design(self, table: Table) -> FloatArray:
        """Return the statistic of each person."""
        out = np.empty((row_count(table), len(self.names)))
        self.fill(table, out)
        return out

    def moments_at(self, design: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return Γ - λ/factor."""
        return np.asarray(design - (parameters / self.factor).T[:, :, None])

    def jacobian_at(self, design: FloatArray, parameters: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Return J, which no data change."""
        mean = np.ones(design.shape[1]) if weights is None else weights.mean(axis=-1)
        return np.asarray(mean[:, None, None] * self.jacobian)

    def population(self, table: Table) -> FloatArray:
        """Return the mean times the factor."""
        return np.asarray(self.factor * self.design(table).mean(axis=0))


@dataclass(frozen=True, eq=False)
class FittedQuantile(FittedRelease):
    """A quantile of one column, treated as smooth (derived, approximate).

    Attributes
    ----------
    column : str
        Which column.
    level : float
        Share of people at or below it.
    value : float
        The quantile λ.
    density : float
        Kernel estimate of the density at λ.
    bandwidth : float
        Of the Gaussian kernel.
    """

    column: str
    level: float
    value: float
    density: float
    bandwidth: float

    @property
    def labels(self) -> tuple[str, ...]:
        """One name."""
        return (f"{self.level:g} quantile of {self.column}",)

    @property
    def parameters(self) -> FloatArray:
        """The quantile."""
        return np.array([self.value])

    @property
    def jacobian(self) -> FloatArray:
        """The density."""
        return np.array([[self.density]])

    @property
    def centred(self) -> bool:
        """False: with ties the share at or below λ differs from the level."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """Say that it is approximate."""
        return (
            "The numbers for a quantile are approximate: they use an estimate of how densely people lie around it.",
        )

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write 1{x <= λ}; missing stays missing."""
        values = vector(table, self.column)
        out[:, 0] = np.where(np.isnan(values), np.nan, values <= self.value)

    def design(self, table: Table) -> FloatArray:
        """Return the column."""
        return vector(table, self.column)[:, None]

    def moments_at(self, design: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return 1{x <= λ} - level."""
        return np.asarray((design <= parameters.T[:, :, None]) - self.level)

    def jacobian_at(self, design: FloatArray, parameters: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Return the kernel density of the sample at λ."""
        bumps = _gauss((design[0] - parameters) / self.bandwidth) / self.bandwidth
        mean = bumps.mean(axis=-1) if weights is None else (weights * bumps).mean(axis=-1)
        return np.asarray(mean[:, None, None])


def _gauss(x: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * np.square(x)) / math.sqrt(2.0 * math.pi))


# --- fitted models -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FittedModel(FittedRelease):
    """The minimum of a training loss (Thm 4.2).

    Attributes
    ----------
    loss : str
        Training loss.
    rows : Design
        Features and outcome.
    names : tuple of str
        One per coefficient.
    coefficients : (d,) float array
        w.
    hessian : (d, d) float array
        Mean second derivative, penalty included.
    gram : (d, d) float array
        Mean of x xᵀ.
    penalty : float
        μ.
    """

    loss: TrainingLoss
    rows: Design
    names: tuple[str, ...]
    coefficients: FloatArray
    hessian: FloatArray
    gram: FloatArray
    penalty: float = 0.0

    @property
    def labels(self) -> tuple[str, ...]:
        """One name per coefficient."""
        return self.names

    @property
    def parameters(self) -> FloatArray:
        """The coefficients."""
        return self.coefficients

    @property
    def jacobian(self) -> FloatArray:
        """The mean second derivative."""
        return self.hessian

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the gradients of these rows."""
        x = self.rows.x(table)
        mean, outcome = predicted(self.loss, x @ self.coefficients), self.rows.y(table)
        residual = mean - outcome
        if self.loss == "squared":  # a perfect fit leaves rounding errors, which are no residuals
            usual = float(np.abs(self.coefficients) @ np.sqrt(np.diagonal(self.gram)))
            residual[np.abs(residual) <= _ROUNDING * (np.abs(mean) + np.abs(outcome) + usual)] = 0.0
        np.multiply(x, residual[:, None], out=out)
        if self.penalty:
            out += self.penalty * self.coefficients

    def design(self, table: Table) -> FloatArray:
        """Return features and outcome side by side."""
        return np.column_stack([self.rows.x(table), self.rows.y(table)])

    def moments_at(self, design: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the gradients at any coefficients."""
        x = design[:-1]
        residual = predicted(self.loss, _linear(x, parameters)) - design[-1]
        out = x * residual
        if self.penalty:
            out += self.penalty * parameters.T[:, :, None]
        return np.asarray(out)

    def jacobian_at(self, design: FloatArray, parameters: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Return the mean second derivative at any coefficients."""
        out = _hessians(self.loss, design[:-1], parameters, weights)
        if self.penalty:
            share = np.ones(out.shape[0]) if weights is None else weights.mean(axis=-1)
            out = out + self.penalty * share[:, None, None] * np.eye(out.shape[1])
        return out


def _linear(x: FloatArray, parameters: FloatArray) -> FloatArray:
    """Return w·x for many samples: ``(d, samples, n)`` and ``(samples, d)`` to ``(samples, n)``."""
    out = x[0] * parameters[:, :1]
    for place in range(1, x.shape[0]):
        out += x[place] * parameters[:, place : place + 1]
    return np.asarray(out)


def _hessians(loss: TrainingLoss, x: FloatArray, parameters: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return mean second derivatives without penalty, shape ``(samples, d, d)``."""
    scaled = x
    if loss != "squared":
        scaled = x * curvature(loss, _linear(x, parameters))
    if weights is not None:
        scaled = scaled * weights
    out = np.empty((x.shape[1], x.shape[0], x.shape[0]))
    for row in range(x.shape[0]):
        for other in range(row, x.shape[0]):
            out[:, row, other] = out[:, other, row] = np.einsum("bn,bn->b", scaled[row], x[other])
    return np.asarray(out / x.shape[2])


@dataclass(frozen=True, eq=False)
class FittedLastIterate(FittedRelease):
    """The last iterate of batch gradient descent (A.1, spec 3.5; derived, checked in tests/unit/predictability).

    Each person's influence on w_T follows the recursion φ ← φ (I - η H_t)ᵀ + w_{t-1} - w_t - η gradient.
    """

    loss: TrainingLoss
    rows: Design
    names: tuple[str, ...]
    descent: Descent
    step_size: float
    penalty: float = 0.0

    @property
    def labels(self) -> tuple[str, ...]:
        """One name per coefficient."""
        return self.names

    @property
    def parameters(self) -> FloatArray:
        """w_T."""
        return np.asarray(self.descent.path[-1])

    @property
    def jacobian(self) -> FloatArray:
        """Minus the identity: the moments are influences already."""
        return -np.eye(len(self.names))

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the influences of these rows."""
        out[:] = self.influences(table)[-1]

    def influences(self, table: Table) -> FloatArray:
        """Return everybody's influence on w_1 .. w_T, shape ``(steps, rows, d)``."""
        x, y = self.rows.x(table), self.rows.y(table)
        path, eye = self.descent.path, np.eye(len(self.names))
        phi = np.zeros(x.shape)
        out = np.empty((len(path) - 1, *x.shape))
        for step in range(1, len(path)):
            before = path[step - 1]
            gradient = x * (predicted(self.loss, x @ before) - y)[:, None] + self.penalty * before
            phi = phi @ (eye - self.step_size * self.descent.hessians[step - 1]).T
            phi += before - path[step] - self.step_size * gradient
            out[step - 1] = phi
        return out

    def attack_reason(self) -> str | None:
        """Say why no attacker can be simulated."""
        return (
            "The simulated attacker is not available for the last step of gradient descent alone: it would have to "
            "repeat the descent on every sample; release the whole path or the fitted model to see one."
        )


@dataclass(frozen=True, eq=False)
class FittedPath(FittedRelease):
    """The whole path of batch gradient descent as stacked moments (A.1)."""

    loss: TrainingLoss
    rows: Design
    names: tuple[str, ...]
    descent: Descent
    step_size: float
    penalty: float = 0.0

    @property
    def steps(self) -> int:
        """Number of steps T."""
        return len(self.descent.path) - 1

    @property
    def labels(self) -> tuple[str, ...]:
        """One name per coefficient and step."""
        return tuple(f"{name}, step {step + 1}" for step in range(self.steps) for name in self.names)

    @property
    def parameters(self) -> FloatArray:
        """w_1 .. w_T one after the other."""
        return np.asarray(self.descent.path[1:].ravel())

    @property
    def jacobian(self) -> FloatArray:
        """-I on the diagonal, I - ηH below it."""
        return self._bidiagonal(self.descent.hessians)

    def _bidiagonal(self, hessians: FloatArray) -> FloatArray:
        d, steps = len(self.names), self.steps
        out = np.zeros((*hessians.shape[:-3], d * steps, d * steps))
        eye = np.eye(d)
        for step in range(steps):
            here = slice(step * d, (step + 1) * d)
            out[..., here, here] = -eye
            if step:
                out[..., here, (step - 1) * d : step * d] = eye - self.step_size * hessians[..., step, :, :]
        return out

    @property
    def is_deficient(self) -> bool:
        """True: along the path gradients soon repeat what earlier ones said."""
        return True

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the stacked moments of these rows."""
        design = np.ascontiguousarray(self.design(table).T)
        out[:] = self.moments_at(design[:, None, :], self.parameters[None, :])[:, 0, :].T

    def design(self, table: Table) -> FloatArray:
        """Return features and outcome side by side."""
        return np.column_stack([self.rows.x(table), self.rows.y(table)])

    def moments_at(self, design: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return w_{t-1} - w_t - η gradient(w_{t-1}) for every step."""
        x, y, d = design[:-1], design[-1], len(self.names)
        path = self._path(parameters)
        out = np.empty((d * self.steps, *y.shape))
        for step in range(self.steps):
            before, after = path[:, step], path[:, step + 1]
            residual = predicted(self.loss, _linear(x, before)) - y
            change = before - after - self.step_size * self.penalty * before
            out[step * d : (step + 1) * d] = change.T[:, :, None] - self.step_size * residual * x
        return out

    def jacobian_at(self, design: FloatArray, parameters: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Return the block matrix with the sample's second derivatives."""
        path = self._path(parameters)
        share = np.ones(design.shape[1]) if weights is None else weights.mean(axis=-1)
        ridge = self.penalty * np.eye(len(self.names))
        hessians = [
            _hessians(self.loss, design[:-1], path[:, step], weights) / share[:, None, None] + ridge
            for step in range(self.steps)
        ]
        return share[:, None, None] * self._bidiagonal(np.stack(hessians, axis=1))

    def _path(self, parameters: FloatArray) -> FloatArray:
        later = parameters.reshape(parameters.shape[0], self.steps, len(self.names))
        first = np.broadcast_to(self.descent.path[0], (parameters.shape[0], 1, len(self.names)))
        return np.concatenate([first, later], axis=1)


@dataclass(frozen=True, eq=False)
class FittedStack(FittedRelease):
    """Several releases at once, one after the other (Thm A.11)."""

    parts: tuple[FittedRelease, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """All names."""
        return tuple(label for part in self.parts for label in part.labels)

    @property
    def parameters(self) -> FloatArray:
        """All released numbers."""
        return np.concatenate([part.parameters for part in self.parts])

    @property
    def jacobian(self) -> FloatArray:
        """Block diagonal."""
        blocks = [part.jacobian for part in self.parts]
        out = np.zeros((sum(block.shape[0] for block in blocks), sum(block.shape[1] for block in blocks)))
        row = column = 0
        for block in blocks:
            out[row : row + block.shape[0], column : column + block.shape[1]] = block
            row, column = row + block.shape[0], column + block.shape[1]
        return out

    @property
    def moment_blocks(self) -> tuple[range, ...]:
        """Which moments belong to each release."""
        return _ranges([part.width for part in self.parts])

    @property
    def number_blocks(self) -> tuple[range, ...]:
        """Which released numbers belong to each release."""
        return _ranges([part.jacobian.shape[1] for part in self.parts])

    @property
    def centred(self) -> bool:
        """Whether all parts are."""
        return all(part.centred for part in self.parts)

    @property
    def is_deficient(self) -> bool:
        """Whether one part is."""
        return any(part.is_deficient for part in self.parts)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of all parts."""
        return tuple(dict.fromkeys(note for part in self.parts for note in part.notes))

    def fill(self, table: Table, out: FloatArray) -> None:
        """Write the moments of all parts."""
        for part, where in zip(self.parts, self.moment_blocks, strict=True):
            part.fill(table, out[:, where.start : where.stop])

    def finished(self, mean: FloatArray) -> FloatArray:
        """Return the numbers of all parts."""
        return np.concatenate(
            [
                part.finished(mean[where.start : where.stop])
                for part, where in zip(self.parts, self.moment_blocks, strict=True)
            ]
        )

    def attack_reason(self) -> str | None:
        """Return the first reason of a part."""
        return next((reason for part in self.parts if (reason := part.attack_reason())), None)

    def design(self, table: Table) -> FloatArray:
        """Return the designs of all parts side by side."""
        return np.concatenate([part.design(table) for part in self.parts], axis=1)

    def _cut(self, design: FloatArray, parameters: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        widths = [self._design_width(part) for part in self.parts]
        return [
            (design[where.start : where.stop], parameters[:, numbers.start : numbers.stop])
            for where, numbers in zip(_ranges(widths), self.number_blocks, strict=True)
        ]

    @staticmethod
    def _design_width(part: FittedRelease) -> int:
        if isinstance(part, FittedModel | FittedPath):
            return len(part.names) + 1
        return int(part.jacobian.shape[0])

    def moments_at(self, design: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return the moments of all parts side by side."""
        pieces = zip(self.parts, self._cut(design, parameters), strict=True)
        return np.concatenate([part.moments_at(*given) for part, given in pieces])

    def jacobian_at(self, design: FloatArray, parameters: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Return the block diagonal matrix of all parts."""
        out = np.zeros((design.shape[1], *self.jacobian.shape))
        for part, given, rows, columns in zip(
            self.parts, self._cut(design, parameters), self.moment_blocks, self.number_blocks, strict=True
        ):
            block = part.jacobian_at(*given, weights)
            out[:, rows.start : rows.stop, columns.start : columns.stop] = block
        return out

    def population(self, table: Table) -> FloatArray:
        """Return λ of all parts."""
        return np.concatenate([part.population(table) for part in self.parts])


def _ranges(sizes: Sequence[int]) -> tuple[range, ...]:
    ends = [0, *itertools.accumulate(sizes)]
    return tuple(range(low, high) for low, high in itertools.pairwise(ends))


# --- records of choices --------------------------------------------------------------------------------------


class ReleaseRecord(Record):
    """Base of the releases: which numbers are published."""

    def fit(self, data: Parts) -> FittedRelease:
        """Fit to a table.

        Raises
        ------
        ParameterError, DataError
            If the numbers are not defined or not identified on this table.
        """
        raise NotImplementedError

    def bounded(self) -> tuple[str, ...]:
        """Return the columns and formulas whose public bounds the sensitivity rests on."""
        return ()

    def sensitivity(self, records: int, bounds: Bounds, norm: Norm) -> float:
        """Return how far one replaced record can move the released numbers.

        Parameters
        ----------
        records : int
            N.
        bounds : mapping
            Public lower and upper bounds of the columns; formulas under their own text.
        norm : {"l1", "l2"}
            Sum of absolute values (Laplace noise) or Euclidean length (Gaussian noise).

        Raises
        ------
        UnsupportedCombination
            If there is no finite bound; the sentence says why.
        """
        raise UnsupportedCombination(
            f"One record can move the numbers of '{self.title}' without limit, so no noise of a known size makes them "
            "differentially private; release a mean or a penalised logistic regression, or use another noise.",
            field="noise",
        )


def refuse_outside(release: ReleaseRecord, data: Parts, bounds: Bounds) -> None:
    """Refuse a table that breaks the public bounds: noise for them would promise an ε that does not hold.

    Parameters
    ----------
    release : record
        What is published.
    data : table or parts
        Everybody.
    bounds : mapping
        Public lower and upper bounds of columns; those of other columns are not looked at.

    Raises
    ------
    ParameterError
        Naming the first column with values outside, and how many.

    Examples
    --------
    >>> refuse_outside(Mean(columns=("age",)), {"age": np.arange(60.0)}, {"age": (10.0, 99.0)})
    Traceback (most recent call last):
    ...
    privexplorer.errors.ParameterError: 10 of 60 values of 'age' lie outside its public bounds 10 to 99, so no ε \
holds; widen the bounds, or publish the mean of the formula clip(age, 10, 99).
    """
    for name in release.bounded():
        if name not in bounds:
            continue
        low, high = bounds[name]
        outside = total = 0
        for table in parts_of(data):
            values = np.asarray(table[name] if name in table else parse(name).evaluate(table), dtype=np.float64)
            outside += int(np.count_nonzero((values < low) | (values > high)))
            total += values.size
        if outside:
            raise ParameterError(
                f"{outside:,} of {total:,} values of '{name}' lie outside its public bounds {low:g} to {high:g}, so no "
                f"ε holds; widen the bounds, or publish the mean of the formula clip({name}, {low:g}, {high:g}).",
                field="bounds",
            )


def sensitivities(
    release: ReleaseRecord, data: Parts, records: int, bounds: Bounds
) -> tuple[float | None, float | None, str | None]:
    """Return how far one replaced record moves the released numbers, or why that is not known.

    Parameters
    ----------
    release : record
        What is published.
    data : table or parts
        Everybody.
    records : int
        N.
    bounds : mapping
        Public lower and upper bounds of columns.

    Returns
    -------
    tuple
        Sensitivity for Laplace noise (l1) and for Gaussian noise (l2), and ``None``; or ``None`` twice and a sentence
        that says why there is none.
    """
    try:
        refuse_outside(release, data, bounds)
        return release.sensitivity(records, bounds, "l1"), release.sensitivity(records, bounds, "l2"), None
    except PrivExplorerError as error:
        return None, None, str(error)


def _span(bounds: Bounds, name: str) -> float:
    if name not in bounds:
        raise ParameterError(
            f"Differential privacy needs public bounds of '{name}': the smallest and largest value a person may have.",
            field="bounds",
        )
    low, high = bounds[name]
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ParameterError(
            f"The lower bound of '{name}' must be below its upper bound; they are {low:g} and {high:g}.", field="bounds"
        )
    return float(high) - float(low)


Columns = Annotated[tuple[str, ...], Field(min_length=1, max_length=200)]
FormulaText = Annotated[str, Field(min_length=1, max_length=LENGTH_LIMIT)]


class Mean(ReleaseRecord):
    """The mean of one or more columns (Thm 4.1)."""

    kind: Literal["mean"] = "mean"
    title: ClassVar[str] = "Mean"
    formula: ClassVar[str] = r"\lambda=\frac1N\sum_i x_i,\quad g_i=x_i-\lambda,\ J=-I"
    source: ClassVar[str] = "predictability, Thm 4.1"
    columns: Columns = field(("x",), "Columns", "Their means are published.", key="columns")

    def fit(self, data: Parts) -> FittedStatistic:
        """Fit to a table."""
        first = next(iter(parts_of(data)))
        matrix({name: column(first, name)[:1] for name in self.columns}, self.columns)  # refuses texts at once
        return FittedStatistic(self.columns, column_labels(first, self.columns))

    def bounded(self) -> tuple[str, ...]:
        """Return the columns."""
        return self.columns

    def sensitivity(self, records: int, bounds: Bounds, norm: Norm) -> float:
        """Return the summed (l1) or Euclidean (l2) spans of the bounds over N; exact."""
        spans = np.array([_span(bounds, name) for name in self.columns])
        return float(spans.sum() if norm == "l1" else math.sqrt(float(np.square(spans).sum()))) / records


class Formula(ReleaseRecord):
    """The mean of a formula over columns (Thm 4.1)."""

    kind: Literal["formula"] = "formula"
    title: ClassVar[str] = "Mean of a formula"
    formula: ClassVar[str] = r"\lambda=\frac1N\sum_i\Gamma(x_i),\quad g_i=\Gamma(x_i)-\lambda,\ J=-I"
    source: ClassVar[str] = "predictability, Thm 4.1"
    text: FormulaText = field("x", "Formula", "Such as clip(income, 0, 100000) / hours.", key="formula")

    def fit(self, data: Parts) -> FittedStatistic:
        """Fit to a table."""
        expression = parse(self.text)
        first = next(iter(parts_of(data)))
        if expression.kind(first) == "text":
            raise ParameterError(f"The expression '{expression.text}' is a text, which has no mean.", field="formula")
        return FittedStatistic((expression,), (expression.text,))

    def bounded(self) -> tuple[str, ...]:
        """Return the formula."""
        return (self.text,)

    def sensitivity(self, records: int, bounds: Bounds, norm: Norm) -> float:
        """Return the span of the bounds of the formula over N; exact."""
        return _span(bounds, self.text) / records


class Proportion(ReleaseRecord):
    """The share of people who meet a condition (Thm 4.1)."""

    kind: Literal["proportion"] = "proportion"
    title: ClassVar[str] = "Proportion"
    formula: ClassVar[str] = (
        r"\lambda=\frac1N\sum_i\mathbb 1\{x_i\in A\},\quad g_i=\mathbb 1\{x_i\in A\}-\lambda,\ J=-1"
    )
    source: ClassVar[str] = "predictability, Thm 4.1"
    condition: FormulaText = field("x > 0", "Condition", "Such as age >= 65 and smoker.", key="condition")

    def fit(self, data: Parts) -> FittedStatistic:
        """Fit to a table."""
        expression = _condition(self.condition, next(iter(parts_of(data))))
        return FittedStatistic((expression,), (f"share with {expression.text}",))

    def sensitivity(self, records: int, bounds: Bounds, norm: Norm) -> float:
        """Return 1/N; exact."""
        return 1.0 / records


class Count(ReleaseRecord):
    """The number of people who meet a condition (Thm 4.1)."""

    kind: Literal["count"] = "count"
    title: ClassVar[str] = "Count"
    formula: ClassVar[str] = r"\lambda=\sum_i\mathbb 1\{x_i\in A\},\quad g_i=\mathbb 1\{x_i\in A\}-\lambda/N,\ J=-1/N"
    source: ClassVar[str] = "predictability, Thm 4.1"
    condition: FormulaText = field("x > 0", "Condition", "Such as age >= 65 and smoker.", key="condition")

    def fit(self, data: Parts) -> FittedStatistic:
        """Fit to a table."""
        tables = parts_of(data)
        expression = _condition(self.condition, next(iter(tables)))
        records = sum(row_count(table) for table in tables)
        return FittedStatistic((expression,), (f"people with {expression.text}",), float(records))

    def sensitivity(self, records: int, bounds: Bounds, norm: Norm) -> float:
        """Return 1; exact."""
        return 1.0


def _condition(text: str, table: Table) -> Expression:
    expression = parse(text)
    if expression.kind(table) != "condition":
        raise ParameterError(
            f"The expression '{expression.text}' is not a condition; compare it with a value.", field="condition"
        )
    return expression


class Quantile(ReleaseRecord):
    """A quantile of one column; approximate (derived)."""

    kind: Literal["quantile"] = "quantile"
    title: ClassVar[str] = "Quantile (approximate)"
    formula: ClassVar[str] = r"g_i=\mathbb 1\{x_i\le\lambda\}-\tau,\quad J=\hat f(\lambda)"
    source: ClassVar[str] = "predictability §2.4, derived"
    column: str = field("x", "Column", "Its quantile is published.", key="column")
    level: Annotated[float, Number] = field(
        0.5, "Level", "Share of people at or below it; 0.5 is the median.", key="level", gt=0, lt=1
    )

    def fit(self, data: Parts) -> FittedQuantile:
        """Fit to a table: the smallest value with at least this share at or below it."""
        values = np.concatenate([vector(table, self.column) for table in parts_of(data)])
        bad = ~np.isfinite(values)
        if bad.any():
            raise DataError(
                f"The value in row {int(np.argmax(bad)) + 1:,}, '{self.column}', is missing or not a number; every "
                "value must be a finite number."
            )
        value = float(np.quantile(values, self.level, method="inverted_cdf"))
        low, high = np.quantile(values, [0.25, 0.75])
        spread = min(float(values.std()), float(high - low) / 1.349) or float(values.std())
        bandwidth = 1.06 * spread * values.size**-0.2
        if bandwidth <= 0.0:
            raise ParameterError(
                f"Everybody has the same value of '{self.column}', so its quantile cannot be treated as a smooth "
                "number.",
                field="column",
            )
        density = float((_gauss((values - value) / bandwidth) / bandwidth).mean())
        return FittedQuantile(self.column, self.level, value, density, bandwidth)


class _Regression(ReleaseRecord):
    """Base of the fitted models."""

    features: Columns = field(("x",), "Features", "Columns that explain the outcome.", key="features")
    target: str = field("y", "Outcome", "Column that is explained.", key="outcome")
    intercept: bool = field(True, "Intercept", "Add a constant.", key="intercept")

    @property
    def design(self) -> Design:
        """Features and outcome."""
        return Design(self.features, self.target, self.intercept)

    def _fit(self, loss: TrainingLoss, data: Parts, penalty: float = 0.0) -> FittedModel:
        found = fit(loss, data, self.design, penalty)
        names = feature_labels(data, self.design)
        return FittedModel(loss, self.design, names, found.coefficients, found.hessian, found.gram, penalty)


class LinearRegression(_Regression):
    """Least squares (Thm 4.2)."""

    kind: Literal["linear"] = "linear"
    title: ClassVar[str] = "Linear regression"
    formula: ClassVar[str] = r"g_i=(w^\top x_i-y_i)\,x_i,\quad J=E[xx^\top]"
    source: ClassVar[str] = "predictability, Thm 4.2"

    def fit(self, data: Parts) -> FittedModel:
        """Fit to a table."""
        return self._fit("squared", data)


Penalty = Annotated[
    float,
    Number,
    Field(
        gt=0,
        le=1e6,
        title="Penalty μ",
        description="Adds (μ/2)‖w‖² to the mean loss, intercept included.",
        json_schema_extra={"key": "penalty", "scale": "log", "low": 1e-4, "high": 10.0},
    ),
]


class RidgeRegression(_Regression):
    """Least squares with a penalty (derived from Thm 4.2: the penalty enters every moment)."""

    kind: Literal["ridge"] = "ridge"
    title: ClassVar[str] = "Ridge regression"
    formula: ClassVar[str] = r"g_i=(w^\top x_i-y_i)\,x_i+\mu w,\quad J=E[xx^\top]+\mu I"
    source: ClassVar[str] = "predictability §2.4, derived"
    penalty: Penalty = 0.01

    def fit(self, data: Parts) -> FittedModel:
        """Fit to a table."""
        return self._fit("squared", data, self.penalty)


class LogisticRegression(_Regression):
    """Logistic regression; has no answer where the outcomes can be told apart (Thm 4.2)."""

    kind: Literal["logistic"] = "logistic"
    title: ClassVar[str] = "Logistic regression"
    formula: ClassVar[str] = r"g_i=(s(w^\top x_i)-y_i)\,x_i,\quad J=E[s(1-s)xx^\top]"
    source: ClassVar[str] = "predictability, Thm 4.2"

    def fit(self, data: Parts) -> FittedModel:
        """Fit to a table."""
        return self._fit("logistic", data)


class PenalisedLogisticRegression(_Regression):
    """Logistic regression with an L2 penalty (derived from Thm 4.2)."""

    kind: Literal["logistic-l2"] = "logistic-l2"
    title: ClassVar[str] = "Logistic regression with L2 penalty"
    formula: ClassVar[str] = r"g_i=(s(w^\top x_i)-y_i)\,x_i+\mu w,\quad J=E[s(1-s)xx^\top]+\mu I"
    source: ClassVar[str] = "predictability §2.4, derived"
    penalty: Penalty = 0.01

    def fit(self, data: Parts) -> FittedModel:
        """Fit to a table."""
        return self._fit("logistic", data, self.penalty)

    def bounded(self) -> tuple[str, ...]:
        """Return the features."""
        return self.features

    def sensitivity(self, records: int, bounds: Bounds, norm: Norm) -> float:
        """Return 2R/(Nμ), R the largest length of a person's features; times √d for the sum of absolute values.

        Standard fact for a strongly convex loss whose gradients are at most R long; a bound, not exact.
        """
        reach = float(self.intercept)
        for name in self.features:
            _span(bounds, name)
            low, high = bounds[name]
            reach += max(low * low, high * high)
        euclidean = 2.0 * math.sqrt(reach) / (records * self.penalty)
        return euclidean if norm == "l2" else math.sqrt(len(self.features) + self.intercept) * euclidean


class PoissonRegression(_Regression):
    """Poisson regression with logarithmic link (Thm 4.2)."""

    kind: Literal["poisson"] = "poisson"
    title: ClassVar[str] = "Poisson regression"
    formula: ClassVar[str] = r"g_i=(e^{w^\top x_i}-y_i)\,x_i,\quad J=E[e^{w^\top x}xx^\top]"
    source: ClassVar[str] = "predictability, Thm 4.2"

    def fit(self, data: Parts) -> FittedModel:
        """Fit to a table."""
        return self._fit("poisson", data)


class GradientDescent(_Regression):
    """Batch gradient descent, its last step or its whole path (A.1, erratum E26)."""

    kind: Literal["descent"] = "descent"
    title: ClassVar[str] = "Gradient descent"
    formula: ClassVar[str] = r"w_t=w_{t-1}-\eta\,\frac1N\sum_i\nabla\ell(z_i,w_{t-1})"
    source: ClassVar[str] = "predictability, A.1"
    loss: Literal["squared", "logistic", "poisson"] = field(
        "squared", "Training loss", "What the descent makes small.", key="loss",
        titles={"squared": "Squared", "logistic": "Logistic", "poisson": "Poisson"},
    )  # fmt: skip
    steps: Annotated[int, Number] = field(20, "Steps T", "Number of steps.", key="steps", ge=1, le=500)
    step_size: Annotated[float, Number] = field(
        0.02, "Step size η", "Must stay below 2 over the largest curvature.", key="step_size",
        gt=0, le=1e6, scale="log", low=1e-4, high=1.0,
    )  # fmt: skip
    penalty: Annotated[float, Number] = field(
        0.0, "Penalty μ", "Adds (μ/2)‖w‖² to the mean loss.", key="descent_penalty", ge=0, le=1e6, advanced=True
    )
    released: Literal["last", "path"] = field(
        "last", "Published", "The last step only, or all of them.", key="released",
        titles={"last": "Last step", "path": "Whole path"},
    )  # fmt: skip

    def fit(self, data: Parts) -> FittedLastIterate | FittedPath:
        """Run the descent on a table."""
        names = feature_labels(data, self.design)
        if self.released == "path" and self.steps * len(names) > PATH_LIMIT:
            raise ParameterError(
                f"A whole path may have at most {PATH_LIMIT} numbers; {self.steps} steps of {len(names)} coefficients "
                f"make {self.steps * len(names):,}; choose fewer steps or release the last one.",
                field="steps",
            )
        descent = descend(self.loss, data, self.design, self.steps, self.step_size, self.penalty)
        made = FittedPath if self.released == "path" else FittedLastIterate
        return made(self.loss, self.design, names, descent, self.step_size, self.penalty)


Release: TypeAlias = Annotated[
    Mean
    | Proportion
    | Count
    | Formula
    | Quantile
    | LinearRegression
    | RidgeRegression
    | LogisticRegression
    | PenalisedLogisticRegression
    | PoissonRegression
    | GradientDescent,
    Field(discriminator="kind"),
]
"""What a select box of releases lists."""


def fit_all(releases: Sequence[ReleaseRecord], data: Parts) -> FittedStack:
    """Fit several releases to one table, as they follow each other (Thm A.11)."""
    if not releases:
        raise ParameterError("At least one release is needed.", field="releases")
    return FittedStack(tuple(release.fit(data) for release in releases))


__all__ = [
    "PATH_LIMIT",
    "Bounds",
    "Count",
    "FittedLastIterate",
    "FittedModel",
    "FittedPath",
    "FittedQuantile",
    "FittedRelease",
    "FittedStack",
    "FittedStatistic",
    "Formula",
    "GradientDescent",
    "LinearRegression",
    "LogisticRegression",
    "Mean",
    "Norm",
    "PenalisedLogisticRegression",
    "PoissonRegression",
    "Proportion",
    "Quantile",
    "Release",
    "ReleaseRecord",
    "RidgeRegression",
    "fit_all",
    "refuse_outside",
]
