"""Pairs of distributions that few private records cannot tell apart: the lower bounds of Theorems 8 to 10.

Spec properties, sections 5 and 6 (Lemmas 28, 29, 31, eqs (4.14), (4.15)), errata E8, E9. Laws are kept grouped:
masses and how many symbols share each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions import DiscreteLaw
from privexplorer.distributions.law import seen_probability
from privexplorer.errors import ParameterError
from privexplorer.properties.coverage import check_accuracy
from privexplorer.properties.sample_sizes import check_epsilon


@dataclass(frozen=True, eq=False)
class GroupedLaw:
    """A law given by its masses and how many symbols have each.

    Attributes
    ----------
    masses : (groups,) float array
        Probability of one symbol of the group.
    sizes : (groups,) int array
        Symbols in the group.
    """

    masses: FloatArray
    sizes: IntArray

    @property
    def k(self) -> int:
        """Number of symbols."""
        return int(self.sizes.sum())

    def law(self) -> DiscreteLaw:
        """Return the law symbol by symbol."""
        return DiscreteLaw(np.repeat(self.masses, self.sizes))

    def entropy(self) -> float:
        """Return the entropy in nats."""
        used = self.masses > 0.0
        return math.fsum(-self.sizes[used] * self.masses[used] * np.log(self.masses[used]))

    def support_size(self) -> int:
        """Return the number of symbols of positive mass."""
        return int(self.sizes[self.masses > 0.0].sum())

    def coverage(self, m: float) -> float:
        """Return the expected number of distinct symbols among ``m`` records."""
        return math.fsum((seen_probability(self.masses, np.array([float(m)]))[0] * self.sizes).tolist())


@dataclass(frozen=True, eq=False)
class HardPair:
    """Two laws that lie close together although their property differs.

    Attributes
    ----------
    first, second : GroupedLaw
        The two laws, on the same symbols in the same order.
    total_variation : float
        Distance of one record.
    values : (float, float)
        The property of the first and of the second.
    what : str
        ``"coverage"``, ``"support"`` or ``"entropy"``.
    """

    first: GroupedLaw
    second: GroupedLaw
    total_variation: float
    values: tuple[float, float]
    what: Literal["coverage", "support", "entropy"]

    @property
    def gap(self) -> float:
        """Distance of the two values."""
        return abs(self.values[0] - self.values[1])

    def expected_hamming(self, n: float) -> float:
        """Return how many of ``n`` records differ on average under the best coupling, ``n TV`` (Lem 28)."""
        return n * self.total_variation

    def sample_size(self, epsilon: float) -> float:
        """Return ``1/(epsilon TV)``: below that order, ε-private answers cannot tell the two apart (constant one)."""
        return 1.0 / (check_epsilon(epsilon) * self.total_variation)

    def coupled_samples(self, n: int, trials: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw pairs of samples, record by record from a maximal coupling.

        Returns
        -------
        first, second : (trials, n) int arrays
            Symbols; the two differ in ``n`` times the total variation places on average (Lemmas 28, 29, 31).
        """
        one, two = self.first.law().probabilities, self.second.law().probabilities
        width = max(one.size, two.size)
        one, two = np.pad(one, (0, width - one.size)), np.pad(two, (0, width - two.size))
        shared = np.minimum(one, two)
        apart = 1.0 - math.fsum(shared)
        same = DiscreteLaw.from_weights(shared).sample_symbols(n, trials, rng)
        differ = rng.random((trials, n)) < apart
        left = DiscreteLaw.from_weights(one - shared).sample_symbols(n, trials, rng)
        right = DiscreteLaw.from_weights(two - shared).sample_symbols(n, trials, rng)
        return np.where(differ, left, same), np.where(differ, right, same)


def coverage_pair(m: int, accuracy: float) -> HardPair:
    """Return the hard pair for support coverage at ``m`` (Sec 4.4.1.2).

    The first law is uniform on ``m (1 + accuracy)`` symbols, rounded to a whole number; the second moves the mass of
    all but ``m`` of them to one new symbol. With a rounded number of symbols, distance and values are those of the
    laws returned. The first covers more (erratum E8).
    """
    error = check_accuracy(accuracy)
    if m < 2:
        raise ParameterError(f"m must be at least 2; it is {m}.", field="m")
    extra = max(1, round(m * error))
    mass = 1.0 / (m + extra)
    sizes = np.array([m, extra, 1])
    first = GroupedLaw(np.array([mass, mass, 0.0]), sizes)
    second = GroupedLaw(np.array([mass, 0.0, extra * mass]), sizes)
    return HardPair(first, second, extra * mass, (first.coverage(m), second.coverage(m)), "coverage")


def support_pair(k: int, accuracy: float) -> HardPair:
    """Return the hard pair for the support size: ``U[k]`` and ``U[(1 - accuracy) k]``.

    For ``k < 1/accuracy`` the second is ``U[k - 1]``. The smaller support is rounded to a whole number of symbols
    (Lemma 31, Sec 4.4.2.2).
    """
    error = check_accuracy(accuracy)
    if k < 2:
        raise ParameterError(f"k must be at least 2; it is {k}.", field="k")
    fewer = max(1, round((1.0 - error) * k)) if k * error >= 1.0 else k - 1
    fewer = min(fewer, k - 1)
    first = GroupedLaw(np.array([1.0 / k]), np.array([k]))
    second = GroupedLaw(np.array([1.0 / fewer]), np.array([fewer]))
    return HardPair(first, second, (k - fewer) / k, (float(k), float(fewer)), "support")


def entropy_pair(k: int, eta: float) -> HardPair:
    """Return the hard pair for the entropy (eqs (4.14), (4.15)): distance ``eta/3``, values in nats.

    The second has the larger entropy (erratum E9). ``eta = accuracy / ln k`` makes the gap of order ``accuracy``.
    """
    if k < 2:
        raise ParameterError(f"k must be at least 2; it is {k}.", field="k")
    if not 0.0 < eta < 1.0:
        raise ParameterError(f"The shift η must lie between 0 and 1; it is {eta:g}.", field="eta")
    first = GroupedLaw(np.array([2.0 / 3.0, 1.0 / (3.0 * (k - 1))]), np.array([1, k - 1]))
    second = GroupedLaw(np.array([(2.0 - eta) / 3.0, (1.0 + eta) / (3.0 * (k - 1))]), np.array([1, k - 1]))
    return HardPair(first, second, eta / 3.0, (first.entropy(), second.entropy()), "entropy")


__all__ = ["GroupedLaw", "HardPair", "coverage_pair", "entropy_pair", "support_pair"]
