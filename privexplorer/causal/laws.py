"""Laws of (outcome, treatment, private category) with finitely many values, and the records that targets read.

Holds the causal setting (34) and its enumeration, the released law (11) and the two laws of the gold values.
A table ``joint[y, d, x]`` has one entry per outcome value, arm and private category.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.causal.mechanisms import AlphaIdentity, FiniteMechanism
from privexplorer.errors import DataError, ParameterError

_TOTAL = 1e-9


@dataclass(frozen=True)
class Points:
    """Records, or grids of them, that functions of (v, x) are evaluated at; all arrays broadcast together.

    Attributes
    ----------
    x : array
        Private values: codes, numbers (n,), or rows (n, d).
    d : array
        Treatment, 0 or 1.
    y : array
        Outcome.
    w : array or None
        Public covariates, (n,) or (n, d_w).
    """

    x: NDArray[Any]
    d: NDArray[Any] | float = 0
    y: NDArray[Any] | float = 0.0
    w: NDArray[Any] | None = None

    def at(self, **changes: Any) -> Points:
        """Return the same records with some columns replaced, as in ``points.at(d=1)``."""
        return replace(self, **changes)


Regression = Callable[[Points], Any]
"""A regression μ(v₁, x), evaluated at points; it must not look at the outcome."""


def table_regression(table: ArrayLike) -> Regression:
    """Regression that looks a table (2, J) up at codes: ``table[d, x]``; (1, J) if the treatment plays no role.

    Raises
    ------
    ParameterError
        On evaluation, if a code falls outside the table: the law moved to there is not dominated (Ex. 4, E11).
    """
    values = np.asarray(table, dtype=np.float64)

    def at(points: Points) -> FloatArray:
        codes = np.asarray(points.x)
        if np.any((codes < 0) | (codes >= values.shape[1])):
            raise ParameterError(
                "The shifted law must be dominated by the law of the private column, but it moves beyond the last "
                "category; use an average with a known weight that leaves the edge out.",
                field="step",
            )
        arm = np.asarray(points.d, dtype=np.int64) if values.shape[0] > 1 else np.int64(0)
        return np.asarray(values[arm, codes.astype(np.int64)])

    return at


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Law of (Y, D, X) with finitely many values.

    Parameters
    ----------
    joint : (Y, 2, J) array_like
        Probabilities ``joint[y, d, x]``, non-negative, adding up to one (to 1e-9).
    values : (Y,) array_like
        The outcome's values.

    Raises
    ------
    ParameterError
        If the table or the values do not fit together or are no probabilities.

    Examples
    --------
    >>> round(LAW_A.treated_share, 12)
    0.46
    """

    joint: FloatArray
    values: FloatArray

    def __post_init__(self) -> None:
        joint = np.array(self.joint, dtype=np.float64)
        values = np.array(self.values, dtype=np.float64)
        if joint.ndim != 3 or joint.shape[1] != 2 or values.shape != joint.shape[:1]:
            raise ParameterError(
                "A finite law is a table of outcome values by two arms by private categories.", field="law"
            )
        if not (np.all(np.isfinite(joint)) and np.all(joint >= 0) and np.all(np.isfinite(values))):
            raise ParameterError("Every probability of a finite law must be a number of at least 0.", field="law")
        if abs(float(joint.sum()) - 1.0) > _TOTAL:
            raise ParameterError(
                f"The probabilities of a finite law must add up to one; they add up to {joint.sum():g}.", field="law"
            )
        joint.setflags(write=False)
        values.setflags(write=False)
        object.__setattr__(self, "joint", joint)
        object.__setattr__(self, "values", values)

    @classmethod
    def random(
        cls, rng: np.random.Generator, levels: int = 3, outcomes: int = 2, concentration: float = 1.0
    ) -> FiniteLaw:
        """Draw a strictly positive law: Dirichlet cells, kept at least 1e-4 of the even share; normal outcome values.

        Parameters
        ----------
        levels, outcomes : int
            Numbers of private categories and of outcome values; two outcome values are 0 and 1.
        concentration : float
            Dirichlet parameter of each cell; small values give uneven laws.
        """
        cells = outcomes * 2 * levels
        joint = rng.dirichlet(np.full(cells, concentration)) * (1 - 1e-4) + 1e-4 / cells
        values = np.arange(2.0) if outcomes == 2 else np.sort(rng.standard_normal(outcomes))
        return cls((joint / joint.sum()).reshape(outcomes, 2, levels), values)

    @property
    def levels(self) -> int:
        """Number of private categories J."""
        return int(self.joint.shape[2])

    @cached_property
    def points(self) -> Points:
        """All cells as a broadcast grid of shape (Y, 2, J)."""
        return Points(
            x=np.arange(self.levels)[None, None, :], d=np.arange(2)[None, :, None], y=self.values[:, None, None]
        )

    @cached_property
    def p_x(self) -> FloatArray:
        """P(X = x), shape (J,)."""
        return np.asarray(self.joint.sum(axis=(0, 1)))

    @cached_property
    def p_dx(self) -> FloatArray:
        """P(D = d, X = x), shape (2, J)."""
        return np.asarray(self.joint.sum(axis=0))

    @cached_property
    def p_v(self) -> FloatArray:
        """P(Y = y, D = d), shape (Y, 2): what is published beside the private column."""
        return np.asarray(self.joint.sum(axis=2))

    @property
    def treated_share(self) -> float:
        """P(D = 1)."""
        return float(self.joint[:, 1].sum())

    @property
    def smallest_cell(self) -> float:
        """Smallest P(d, x) over the cells, as the small-sample rule needs it (section 2.7)."""
        return float(self.p_dx.min())

    @cached_property
    def propensity(self) -> FloatArray:
        """P(D = 1 | X = x), shape (J,)."""
        return self._ratio(self.p_dx[1], self.p_x)

    @cached_property
    def mu(self) -> FloatArray:
        """E[Y | D = d, X = x], shape (2, J).

        Raises
        ------
        DataError
            If an arm has nobody at some category.
        """
        return self._ratio(np.einsum("y,ydx->dx", self.values, self.joint), self.p_dx)

    def mean(self, h: ArrayLike) -> float:
        """E h(V, X) of a table that broadcasts to (Y, 2, J)."""
        return float(np.sum(self.joint * np.asarray(h)))

    def conditional_mean(self, m: ArrayLike, given_treatment: bool = True) -> FloatArray:
        """E[m | D, X], shape (2, J), or E[m | X], shape (1, J)."""
        axes: tuple[int, ...] = (0,) if given_treatment else (0, 1)
        table = np.broadcast_to(np.asarray(m, dtype=np.float64), self.joint.shape)
        top, bottom = (self.joint * table).sum(axis=axes), self.joint.sum(axis=axes)
        return self._ratio(top, bottom).reshape(-1, self.levels)

    def privatised(self, mechanism: AlphaIdentity | FiniteMechanism) -> FloatArray:
        """Law of what is shown, P(y, d, z), shape (Y, 2, J) (11)."""
        return np.asarray(np.einsum("zx,ydx->ydz", self._matrix(mechanism), self.joint))

    def shown_law(self, mechanism: AlphaIdentity | FiniteMechanism) -> FiniteLaw:
        """Law that somebody sees who takes the shown value for the true one."""
        return FiniteLaw(self.privatised(mechanism), self.values)

    def with_shown(self, mechanism: AlphaIdentity | FiniteMechanism) -> FloatArray:
        """Joint law of published, true and shown values, P(y, d, x, z) (50)."""
        return np.asarray(np.einsum("zx,ydx->ydxz", self._matrix(mechanism), self.joint))

    def sample(self, size: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray, IntArray]:
        """Draw records: outcome, treatment and private code, each (size,)."""
        steps = np.cumsum(self.joint.reshape(-1))[:-1]
        cell = np.searchsorted(steps, rng.random(size), side="right")
        y, d, x = np.unravel_index(cell, self.joint.shape)
        return self.values[y], d.astype(np.int64), x.astype(np.int64)

    def tilted(self, direction: ArrayLike, step: float) -> FloatArray:
        """Table p·(1 + step·s) with the direction s centred: a path through the law with score s (35)."""
        score = self.centred(direction)
        return np.asarray(self.joint * (1.0 + step * score))

    def centred(self, h: ArrayLike) -> FloatArray:
        """Subtract the mean of h, as a table (Y, 2, J)."""
        table = np.broadcast_to(np.asarray(h, dtype=np.float64), self.joint.shape)
        return np.asarray(table - self.mean(table))

    def _matrix(self, mechanism: AlphaIdentity | FiniteMechanism) -> FloatArray:
        finite = mechanism.finite()
        if finite.levels != self.levels:
            raise ParameterError(
                f"The mechanism is for {finite.levels} categories, but the law has {self.levels}.", field="mechanism"
            )
        return finite.matrix

    def _ratio(self, top: FloatArray, bottom: FloatArray) -> FloatArray:
        empty = np.argwhere(bottom <= 0)
        if empty.size:
            where = ", ".join(str(int(index[-1])) for index in empty[:5])
            raise DataError(f"There is no overlap: an arm has nobody at the private category {where}.", field="law")
        return np.asarray(top / bottom)


def binary_law(p_x: ArrayLike, propensity: ArrayLike, mu0: ArrayLike, mu1: ArrayLike) -> FiniteLaw:
    """Law with a yes/no outcome.

    Parameters
    ----------
    p_x, propensity, mu0, mu1 : (J,) array_like
        P(X = x), P(D = 1 | x), P(Y = 1 | D = 0, x), P(Y = 1 | D = 1, x); all in [0, 1].
    """
    px, pi, m0, m1 = (np.asarray(a, dtype=np.float64) for a in (p_x, propensity, mu0, mu1))
    if not px.shape == pi.shape == m0.shape == m1.shape or px.ndim != 1:
        raise ParameterError("The four lists of a yes/no law must have one entry per private category.", field="law")
    if not all(np.all((a >= 0) & (a <= 1)) for a in (px, pi, m0, m1)):
        raise ParameterError("Every entry of a yes/no law must be a probability between 0 and 1.", field="law")
    arms = np.stack([px * (1.0 - pi), px * pi])
    mean = np.stack([m0, m1])
    return FiniteLaw(np.stack([arms * (1.0 - mean), arms * mean]), np.array([0.0, 1.0]))


LAW_A = binary_law([0.5, 0.3, 0.2], [0.3, 0.5, 0.8], [0.2, 0.4, 0.7], [0.5, 0.6, 0.75])
"""Three categories; average effect 0.22, on the treated 0.180434782609 (section 5)."""

LAW_B = binary_law([0.6, 0.4], [0.3, 0.7], [0.2, 0.6], [0.5, 0.7])
"""Two categories; the law of most coverage tables (section 6.1)."""

__all__ = ["LAW_A", "LAW_B", "FiniteLaw", "Points", "Regression", "binary_law", "table_regression"]
