"""Markov chains as samplers: stationary law, mixing, covariances along the chain (spec 2.1 and 3.10; erratum E5)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, connected_components

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.errors import ParameterError
from privexplorer.predictability._checks import check_probabilities

STATE_LIMIT = 3_000
"""Most states of a chain; larger tables use a chain over strata."""

MIXING_LIMIT = 12
"""Most states for exact mixing coefficients, which look at every set of states."""


@dataclass(frozen=True, eq=False)
class Chain:
    """An irreducible, aperiodic Markov chain on a few states, started at its stationary law.

    Attributes
    ----------
    transition : (K, K) float array
        T; row i holds the probabilities of the next state after i.
    stationary : (K,) float array
        π with πT = π, every entry above 0.
    """

    transition: FloatArray
    stationary: FloatArray

    @property
    def states(self) -> int:
        """Number of states K."""
        return int(self.stationary.size)

    def sample(self, trials: int, draws: int, rng: np.random.Generator) -> IntArray:
        """Draw independent paths, shape ``(trials, draws)``."""
        # one increasing table: row k of cumulated probabilities starts at k
        steps = (np.minimum(np.cumsum(self.transition, axis=1), 1.0) + np.arange(self.states)[:, None]).ravel()
        first = np.cumsum(self.stationary)
        first[-1] = 1.0
        out = np.empty((trials, draws), dtype=np.int64)
        state = np.searchsorted(first, rng.random(trials), side="right")
        out[:, 0] = state
        for step in range(1, draws):
            found = np.searchsorted(steps, state + rng.random(trials), side="right") - state * self.states
            state = np.minimum(found, self.states - 1)
            out[:, step] = state
        return out

    def long_run(self, values: ArrayLike) -> FloatArray:
        """Return the covariance of √n times the mean of state values along the chain, all lags included.

        Parameters
        ----------
        values : (K,) or (K, c) array
            Values of the states; their stationary mean is taken off.

        Returns
        -------
        (c, c) float array
            ``Fᵀ D Y + Yᵀ D F - Fᵀ D F`` with ``(I - T + 1πᵀ) Y = F`` (spec 3.10).
        """
        given = np.asarray(values, dtype=np.float64)
        given = given[:, None] if given.ndim == 1 else given
        centred = given - self.stationary @ given
        system = np.eye(self.states) - self.transition + self.stationary[None, :]
        solved = np.linalg.solve(system, centred)
        weighted = self.stationary[:, None] * centred
        both = solved.T @ weighted
        return np.asarray(both + both.T - centred.T @ weighted)

    def lag_zero(self, values: ArrayLike) -> FloatArray:
        """Return the stationary covariance of state values, as if draws were independent."""
        given = np.asarray(values, dtype=np.float64)
        given = given[:, None] if given.ndim == 1 else given
        centred = given - self.stationary @ given
        return np.asarray(centred.T @ (self.stationary[:, None] * centred))

    def mixing(self, lags: ArrayLike) -> FloatArray:
        """Return the mixing coefficients α(k) of Def A.5 by going through all sets of states.

        Parameters
        ----------
        lags : int array
            k >= 1.

        Returns
        -------
        float array of the same length
            At most 1/4; derived, checked in tests/unit/predictability/test_predictability_attackers.py.

        Raises
        ------
        ParameterError
            For more than 12 states.
        """
        if self.states > MIXING_LIMIT:
            raise ParameterError(
                f"Mixing coefficients are worked out for at most {MIXING_LIMIT} states; the chain has {self.states}."
            )
        wanted = np.atleast_1d(np.asarray(lags, dtype=np.int64))
        sets = (np.arange(2**self.states)[:, None] >> np.arange(self.states)) & 1
        weighted = sets * self.stationary
        out = np.empty(wanted.size)
        for place, lag in enumerate(wanted):
            power = np.linalg.matrix_power(self.transition, int(lag))
            out[place] = np.maximum(weighted @ (power - self.stationary), 0.0).sum(axis=1).max()
        return out


def make_chain(transition: ArrayLike) -> Chain:
    """Check a transition matrix and find its stationary law.

    Raises
    ------
    ParameterError
        If the matrix is not stochastic, falls apart (reducible) or runs in circles (periodic); Assumption 3.1.

    Examples
    --------
    >>> make_chain([[0.9, 0.1], [0.3, 0.7]]).stationary
    array([0.75, 0.25])
    """
    matrix = np.asarray(transition, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 1:
        raise ParameterError("The transition matrix must be square, one row per state.", field="transition")
    states = matrix.shape[0]
    if states > STATE_LIMIT:
        raise ParameterError(
            f"A chain may have at most {STATE_LIMIT:,} states; this one has {states:,}, so use a chain over groups of "
            "people.",
            field="transition",
        )
    if not np.all(np.isfinite(matrix) & (matrix >= 0.0)):
        row, column = np.argwhere(~(np.isfinite(matrix) & (matrix >= 0.0)))[0]
        raise ParameterError(
            f"The transition matrix must hold probabilities; row {row + 1}, column {column + 1} is "
            f"{float(matrix[row, column]):g}.",
            field="transition",
        )
    totals = matrix.sum(axis=1)
    if np.any(np.abs(totals - 1.0) > 1e-8):
        row = int(np.argmax(np.abs(totals - 1.0)))
        raise ParameterError(
            f"Each row of the transition matrix must sum to 1; row {row + 1} sums to {float(totals[row]):.10g}.",
            field="transition",
        )
    graph = csr_matrix(matrix > 0.0)
    pieces = int(connected_components(graph, directed=True, connection="strong", return_labels=False))
    if pieces > 1:
        raise ParameterError(
            f"The chain is reducible: its states fall into {pieces} parts that do not all reach each other, so it has "
            "no single long-run law (Assumption 3.1).",
            field="transition",
        )
    period = _period(graph)
    if period > 1:
        raise ParameterError(
            f"The chain is periodic with period {period}: it runs in circles and never settles (Assumption 3.1); let "
            "it stay where it is with some probability.",
            field="transition",
        )
    system = np.vstack([matrix.T - np.eye(states), np.ones((1, states))])
    right = np.zeros(states + 1)
    right[-1] = 1.0
    law = np.linalg.lstsq(system, right, rcond=None)[0]
    for _ in range(2):  # two steps of refinement against the stacked system
        law = law + np.linalg.lstsq(system, right - system @ law, rcond=None)[0]
    if float(np.abs(law @ matrix - law).max()) > 1e-12:
        raise ParameterError("The stationary law of the chain cannot be found accurately.", field="transition")
    return Chain(matrix, check_probabilities(law))


def _period(graph: csr_matrix) -> int:
    """Return the period of a strongly connected graph: the common divisor of all cycle lengths."""
    order, before = breadth_first_order(graph, 0, directed=True)
    level = np.zeros(graph.shape[0], dtype=np.int64)
    for node in order[1:]:
        level[node] = level[before[node]] + 1
    starts, ends = graph.nonzero()
    gaps = np.unique(np.abs(level[starts] + 1 - level[ends]))
    return math.gcd(*[int(gap) for gap in gaps]) or 1


def lazy_chain(shares: ArrayLike, restart: float) -> Chain:
    """Return the chain that stays where it is, or with probability s starts afresh from the given law.

    Its mixing coefficients and long-run covariances are known: α(k) = (1-s)^k max π(A)(1-π(A)), and every long-run
    covariance is (2-s)/s times its lag-0 value (derived, checked in
    tests/unit/predictability/test_predictability_attackers.py).

    Parameters
    ----------
    shares : (K,) array
        Stationary law π.
    restart : float
        s in (0, 1]; 1 gives independent draws.
    """
    law = check_probabilities(shares)
    chance = float(restart)
    if not 0.0 < chance <= 1.0:
        raise ParameterError(
            f"The probability of a fresh start must be above 0 and at most 1; it is {chance:g}.", field="restart"
        )
    return Chain((1.0 - chance) * np.eye(law.size) + chance * law[None, :], law)


def strata_addition(chain: Chain) -> Callable[[FloatArray], FloatArray]:
    """Return what a chain over strata adds to the covariance of independent draws (derived; spec 3.10).

    Within a stratum people are drawn uniformly, so only the means of the strata are correlated along the chain:
    the addition is the long-run covariance of these means minus their lag-0 covariance. It is a function of the
    (strata, columns) sums of importance-weighted values over the people, divided by N.
    """

    def addition(totals: FloatArray) -> FloatArray:
        means = totals / chain.stationary[:, None]
        return np.asarray(chain.long_run(means) - chain.lag_zero(means))

    return addition


__all__ = ["MIXING_LIMIT", "STATE_LIMIT", "Chain", "lazy_chain", "make_chain", "strata_addition"]
