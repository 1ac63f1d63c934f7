"""A law on finitely many symbols: exact entropy, support size and coverage, and fast samples of it.

Holds the definitions of spec properties, section 0: ``H(p)``, ``S(p)`` and ``S_m(p)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.distributions._alias import AliasTable
from privexplorer.distributions._condensed import Stretch, condense, expected_fingerprint, fineness
from privexplorer.distributions.checks import whole_number
from privexplorer.errors import ParameterError

if TYPE_CHECKING:
    from privexplorer.distributions.fingerprints import Fingerprints

Unit = Literal["nats", "bits"]

SYMBOLS_PER_CELL = 4
"""Up to this many records per symbol, drawing records beats drawing one binomial per symbol."""
MOST_CELLS = 200_000_000
"""Largest array of counts that a single call returns."""
MANY_MASSES = 10_000
"""With more different probabilities, exact means go through the expected fingerprint."""
MOST_PEOPLE = 20_000_000
"""Up to this many individuals a finite population is shuffled; above it, counts are drawn colour by colour."""


def check_unit(unit: str) -> float:
    """Nats per unit: 1 for ``"nats"``, ln 2 for ``"bits"``; anything else is refused."""
    if unit == "nats":
        return 1.0
    if unit == "bits":
        return math.log(2.0)
    raise ParameterError(f"Entropy is shown in nats or in bits, not in '{unit}'.", field="unit")


def check_size(n: int, what: str = "The sample size n") -> int:
    """Return ``n`` if it is a whole number of at least 0."""
    return whole_number(n, what, "trials" if "runs" in what else "n", least=0)


@dataclass(frozen=True, eq=False)
class DiscreteLaw:
    """Probabilities of ``k`` symbols, and the finite population behind them if there is one.

    Attributes
    ----------
    probabilities : (k,) float array
        Non-negative, summing to 1 within 1e-9 (then normalised); read-only.
    population : (k,) int array or None
        How many individuals carry each symbol, where records are drawn from a finite table.

    Raises
    ------
    ParameterError
        For an empty, negative, non-finite or unnormalised vector, or a population that does not match it.
    """

    probabilities: FloatArray
    population: IntArray | None = None

    def __post_init__(self) -> None:
        given = np.array(self.probabilities, dtype=np.float64)
        if given.ndim != 1 or given.size < 1:
            raise ParameterError("A distribution needs at least one symbol.", field="probabilities")
        if not np.all(np.isfinite(given)) or np.any(given < 0.0):
            raise ParameterError(
                "Every probability must be a number of at least 0; one of them is not.", field="probabilities"
            )
        total = math.fsum(given)
        if abs(total - 1.0) > 1e-9:
            raise ParameterError(
                f"The probabilities must sum to 1 (within 1e-9); they sum to {total:.10g}.", field="probabilities"
            )
        given /= total
        given.setflags(write=False)
        object.__setattr__(self, "probabilities", given)
        if self.population is not None:
            people = np.array(self.population, dtype=np.int64)
            if people.shape != given.shape or np.any(people < 0) or int(people.sum()) < 1:
                raise ParameterError(
                    "A population needs one whole number of at least 0 per symbol and at least one individual.",
                    field="population",
                )
            people.setflags(write=False)
            object.__setattr__(self, "population", people)

    @classmethod
    def from_weights(cls, weights: ArrayLike) -> DiscreteLaw:
        """Return the law proportional to ``weights`` (shape ``(k,)``, non-negative, not all 0)."""
        given = np.asarray(weights, dtype=np.float64)
        total = math.fsum(given.ravel()) if given.size else 0.0
        if not (math.isfinite(total) and total > 0.0):
            raise ParameterError("The weights must be numbers of at least 0, not all of them 0.", field="probabilities")
        scaled = given / total
        return cls(scaled / math.fsum(scaled))

    @classmethod
    def from_population(cls, people: ArrayLike) -> DiscreteLaw:
        """Return the law of one random individual of a population; ``people`` are counts by symbol, shape ``(k,)``."""
        counts = np.asarray(people)
        if counts.size and not np.array_equal(counts, np.floor(counts)):
            raise ParameterError("A population consists of whole numbers.", field="population")
        whole = counts.astype(np.int64)
        if whole.ndim != 1 or whole.size < 1 or np.any(whole < 0) or int(whole.sum()) < 1:
            raise ParameterError(
                "A population needs one whole number of at least 0 per symbol and at least one individual.",
                field="population",
            )
        return cls(whole / int(whole.sum()), whole)

    @property
    def k(self) -> int:
        """Number of symbols, those of probability 0 included."""
        return int(self.probabilities.size)

    @property
    def population_size(self) -> int:
        """Number of individuals of the finite population; an error where there is none."""
        return int(self._people().sum())

    @cached_property
    def groups(self) -> tuple[FloatArray, IntArray]:
        """Distinct probabilities (increasing) and how many symbols share each: exact sums run over these."""
        values, sizes = np.unique(self.probabilities, return_counts=True)
        return values, sizes.astype(np.int64)

    @cached_property
    def alias(self) -> AliasTable:
        """The table that independent symbols are drawn from."""
        return AliasTable.build(self.probabilities)

    @property
    def many_masses(self) -> bool:
        """Whether there are so many different probabilities that a sum over each of them would be slow."""
        return self.groups[0].size > MANY_MASSES

    # ---- exact functionals ----

    def entropy(self, unit: Unit = "nats") -> float:
        """Shannon entropy ``sum_x p_x ln(1/p_x)``, in nats or bits (spec properties, section 0)."""
        scale = check_unit(unit)
        return self._nats / scale

    @cached_property
    def _nats(self) -> float:
        values, sizes = self.groups
        used = values > 0.0
        value, size = values[used], sizes[used]
        return max(0.0, math.fsum(-size * value * np.log(value)))

    def expected_fingerprint(self, n: int) -> FloatArray:
        """Compute how many symbols are expected to be seen 0, ..., ``n`` times among ``n`` independent draws.

        Returns
        -------
        (n + 1,) float array
            ``sum_x Pr(Bin(n, p_x) = j)``, to about 13 digits. The cost hardly depends on the number of symbols:
            neighbouring probabilities are taken together (derived, checked in
            tests/unit/distributions/test_condensed.py).

        Examples
        --------
        >>> DiscreteLaw(np.full(4, 0.25)).expected_fingerprint(1).round(12).tolist()
        [3.0, 1.0]
        """
        count = check_size(n)
        size = fineness(count)
        if size not in self._stretches:
            self._stretches[size] = condense(*self.groups, size)
        return expected_fingerprint(self._stretches[size], self.k, count)

    @cached_property
    def _stretches(self) -> dict[int, tuple[Stretch, ...]]:
        return {}

    def support_size(self) -> int:
        """Count the symbols of positive probability, ``S(p)``."""
        return int(np.count_nonzero(self.probabilities))

    def coverage(self, m: ArrayLike) -> FloatArray | float:
        """Compute the expected number of distinct symbols among ``m`` independent draws, ``S_m(p)``.

        Parameters
        ----------
        m : float or float array
            Number of draws, at least 0; real numbers are allowed.

        Returns
        -------
        float or float array
            Same shape as ``m``. Computed through ``expm1`` and ``log1p``, so small masses keep their digits.

        Examples
        --------
        >>> float(DiscreteLaw(np.full(4, 0.25)).coverage(2))
        1.75
        """
        draws = np.asarray(m, dtype=np.float64)
        if np.any(~np.isfinite(draws)) or np.any(draws < 0.0):
            raise ParameterError(f"The number of draws m must be at least 0; it is {m!r}.", field="m")
        values, sizes = self.groups
        chances = seen_probability(values, draws.ravel())
        total = (chances * sizes).sum(axis=1)
        return float(total[0]) if draws.ndim == 0 else total.reshape(draws.shape)

    # ---- independent records ----

    def sample_symbols(self, n: int, trials: int, rng: np.random.Generator) -> IntArray:
        """Draw ``trials`` samples of ``n`` independent records: symbol indices, shape ``(trials, n)``, int64."""
        size, rows = check_size(n), check_size(trials, "The number of runs")
        check_cells(size * rows)
        return self.alias.sample(size * rows, rng).reshape(rows, size)

    def sample_counts(self, n: int, trials: int, rng: np.random.Generator) -> IntArray:
        """Draw ``trials`` histograms of ``n`` independent records: counts by symbol, shape ``(trials, k)``, int64.

        Few records per symbol are drawn one by one, many through binomials; which of the two depends on ``n``
        and ``k`` only.
        """
        from privexplorer.distributions.fingerprints import nested_counts

        counts: IntArray = nested_counts(self, [check_size(n)], trials, rng)[0]
        return counts

    def sample_counts_nested(self, ns: ArrayLike, trials: int, rng: np.random.Generator) -> IntArray:
        """Draw histograms of growing prefixes of one sequence of records per trial.

        Parameters
        ----------
        ns : (points,) int array
            Sample sizes, not decreasing.
        trials : int
            Number of sequences.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        (points, trials, k) int array
            Counts; those of a later point are never below those of an earlier one.
        """
        from privexplorer.distributions.fingerprints import nested_counts

        return nested_counts(self, ns, trials, rng)

    def sample_fingerprints(self, n: int, trials: int, rng: np.random.Generator) -> Fingerprints:
        """Draw ``trials`` samples of ``n`` independent records and keep their fingerprints only."""
        from privexplorer.distributions.fingerprints import nested_fingerprints

        return nested_fingerprints(self, [check_size(n)], trials, rng)

    # ---- records of a finite population ----

    def sample_counts_without_replacement(self, n: int, trials: int, rng: np.random.Generator) -> IntArray:
        """Draw ``trials`` samples of ``n`` different individuals: counts, shape ``(trials, k)``.

        Raises
        ------
        ParameterError
            If the law has no finite population, or ``n`` exceeds it.
        """
        from privexplorer.distributions.fingerprints import nested_counts

        counts: IntArray = nested_counts(self, [check_size(n)], trials, rng, replace=False)[0]
        return counts

    @cached_property
    def individuals(self) -> IntArray:
        """Symbol of every individual of the finite population, shape ``(population_size,)``."""
        return np.repeat(np.arange(self.k), self._people())

    def _people(self) -> IntArray:
        if self.population is None:
            raise ParameterError(
                "Sampling without replacement needs a finite population; choose a table of counts.", field="population"
            )
        return self.population


def check_cells(cells: int) -> None:
    """Refuse an array that would not fit a small machine."""
    if cells > MOST_CELLS:
        raise ParameterError(
            f"This would hold {cells:,} numbers at once (at most {MOST_CELLS:,}); take fewer runs or records."
        )


def seen_probability(probabilities: FloatArray, draws: FloatArray) -> FloatArray:
    """Chance ``1 - (1 - p)^m`` of meeting a symbol among ``m`` draws, shape ``(draws, probabilities)``.

    ``p = 1`` gives 1 for ``m > 0`` and ``p = 0`` gives 0 (spec properties, section 9).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = -np.expm1(draws[:, None] * np.log1p(-probabilities)[None, :])
    if np.any(draws == 0.0):
        chance[draws == 0.0] = 0.0
    return np.asarray(chance, dtype=np.float64)


__all__ = ["DiscreteLaw", "Unit", "check_cells", "check_size", "check_unit", "seen_probability"]
