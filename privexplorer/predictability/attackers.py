"""Attackers: which records leak, as processes with samplers, stationary laws and effective sizes (spec 2.1).

Def 2.1, Assumption 3.1; errata E1, E5, E16, E27, E28. An attacker is a record of choices; on a table of N people it
becomes a :class:`Process`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from dataclasses import field as made
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.errors import DataError, ParameterError, UnsupportedCombination
from privexplorer.predictability._checks import (
    check_draws,
    check_fraction,
    check_group,
    check_probabilities,
    check_records,
    check_scores,
)
from privexplorer.predictability.bounds import AttackSize, sample_attack_size, shard_size
from privexplorer.predictability.chains import Chain, lazy_chain, make_chain, strata_addition
from privexplorer.predictability.expressions import LENGTH_LIMIT, parse
from privexplorer.predictability.moments import subgroup_target
from privexplorer.predictability.summary import MomentSummary
from privexplorer.predictability.sums import MomentRule, QueryRule, RowWeights, summarise
from privexplorer.predictability.tables import Parts, Table, column
from privexplorer.records import Number, Record, field

Use: TypeAlias = Literal["theory", "families", "subgroup", "simulation"]
Target: TypeAlias = Literal["unknown", "everyone"]


class Process(ABC):
    """How the core knowledge is drawn from N people.

    Attributes
    ----------
    records : int
        N.
    draws : int
        n, counting repeated people each time.
    """

    records: int
    draws: int

    @property
    @abstractmethod
    def probabilities(self) -> FloatArray | None:
        """Stationary law over people, shape ``(N,)``; None where there is none."""

    @property
    def weights(self) -> FloatArray | None:
        """Importance weights w = 1/(p N), shape ``(N,)``; None for a uniform process."""
        return None

    @property
    def replaces(self) -> bool:
        """Whether a person may be drawn more than once."""
        return True

    @abstractmethod
    def sample(self, trials: int, rng: np.random.Generator) -> IntArray:
        """Draw the core knowledge ``trials`` times: places from 0, shape ``(trials, draws)``."""

    def supports(self, use: Use) -> str | None:
        """Return None if this use makes sense, else the reason why not.

        ``"theory"`` are the large-sample formulas (Thm 3.2 onward), ``"families"`` those of section 5, ``"subgroup"``
        another target law (Rem 2.8), ``"simulation"`` a simulated attacker.
        """
        return None

    @property
    @abstractmethod
    def theory(self) -> str:
        """One sentence: what theory applies."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the reader."""
        return ()

    def size(self, target: Target = "unknown") -> AttackSize:
        """Return effective size and noise multiplier (UnsupportedCombination where no theory applies)."""
        raise UnsupportedCombination(self.supports("theory") or "No large-sample theory applies to this attacker.")

    def row_weights(self, target: FloatArray | None = None) -> RowWeights | None:
        """Return what the rows of the table weigh; None for a uniform process and target."""
        reason = self.supports("theory") or (None if target is None else self.supports("subgroup"))
        if reason:
            raise UnsupportedCombination(reason, field="attacker")
        return None if target is None else RowWeights(target=target)

    @property
    def effective_people(self) -> float:
        """1 / Σ p²: how many people a weighted law amounts to; N for a uniform one."""
        law = self.probabilities
        return float(self.records) if law is None else 1.0 / float(np.square(law).sum())

    def summarise(
        self,
        data: Parts,
        queries: QueryRule,
        release: MomentRule,
        group: BoolArray | None = None,
        *,
        weight_moment: bool = False,
        as_root: bool | None = None,
    ) -> MomentSummary:
        """Read a table once and return the summary for this attacker.

        Parameters
        ----------
        data : table or parts
            All N people in order.
        queries, release : rules
            What is asked and what is published.
        group : (N,) bool array, optional
            Subgroup that the attacker is after (Rem 2.8).
        weight_moment : bool
            Let the attacker use that the weights average to 1 (erratum E16); only for weighted processes.
        """
        target = None if group is None else subgroup_target(check_group(group, self.records))
        weights = self.row_weights(target)
        summary = summarise(data, queries, release, weights, weight_moment=weight_moment, as_root=as_root)
        if summary.records != self.records:
            raise DataError(
                f"The attacker was set up for {self.records:,} people, but the table has {summary.records:,}."
            )
        return summary

    def unknown(self, draws: IntArray) -> IntArray:
        """Return the people outside one core knowledge, each as likely as the others (Eq. 1, erratum E27).

        Examples
        --------
        >>> IndependentProcess(4, 3).unknown(np.array([0, 0, 1]))
        array([2, 3])
        """
        outside = np.ones(self.records, dtype=np.bool_)
        outside[draws] = False
        return np.flatnonzero(outside)


@dataclass(frozen=True)
class ShardProcess(Process):
    """A random shard: a share of the people, nobody twice (Cor 3.8).

    Attributes
    ----------
    records : int
        N.
    compromised_fraction : float
        α in (0, 1); the shard has round(αN) people, at least 1 and at most N - 1.
    """

    records: int
    compromised_fraction: float
    draws: int = made(init=False)

    def __post_init__(self) -> None:
        """Refuse a fraction outside (0, 1)."""
        fraction, total = check_fraction(self.compromised_fraction), check_records(self.records)
        object.__setattr__(self, "draws", min(max(round(fraction * total), 1), total - 1))

    @property
    def probabilities(self) -> FloatArray:
        """1/N for everybody."""
        return np.full(self.records, 1.0 / self.records)

    @property
    def replaces(self) -> bool:
        """False."""
        return False

    @property
    def theory(self) -> str:
        """What theory applies."""
        return (
            "Sampling without replacement: the central limit theorems of A.14 to A.16, and the bound with α(1-α)N "
            "(Cor 3.8)."
        )

    def supports(self, use: Use) -> str | None:
        """Refuse the large-sample formulas for a shard of one."""
        if use != "theory" or self.draws > 1:
            return None
        return (
            f"A shard of {self.compromised_fraction:g} of {self.records:,} people is one person, too few for the "
            f"large-sample formulas; the fraction must be at least {2 / self.records:.3g}."
        )

    def size(self, target: Target = "unknown") -> AttackSize:
        """Return α(1-α)N, or αN/(1-α) for the mean over everybody (erratum E13), and the noise multiplier."""
        return shard_size(self.compromised_fraction, self.records, target)

    def sample(self, trials: int, rng: np.random.Generator) -> IntArray:
        """Draw shards; the order within a shard carries no information and is not random."""
        return _shards(self.records, self.draws, trials, rng)


def _shards(records: int, draws: int, trials: int, rng: np.random.Generator) -> IntArray:
    """Draw subsets of equal size; order within a subset carries no information."""
    kept = min(draws, records - draws)
    out = np.empty((trials, kept), dtype=np.int64)
    step = max(1, 4_000_000 // records)
    for start in range(0, trials, step):
        stop = min(start + step, trials)
        out[start:stop] = np.argpartition(rng.random((stop - start, records)), kept - 1, axis=1)[:, :kept]
    if kept == draws:
        return out
    inside = np.ones((trials, records), dtype=np.bool_)
    np.put_along_axis(inside, out, False, axis=1)
    return np.nonzero(inside)[1].reshape(trials, draws)


@dataclass(frozen=True, eq=False)
class IndependentProcess(Process):
    """Independent draws with replacement, uniform or with given probabilities.

    Attributes
    ----------
    records, draws : int
        N and n.
    law : (N,) float array or None
        Probability of each person; None for a uniform law.
    """

    records: int
    draws: int
    law: FloatArray | None = None

    def __post_init__(self) -> None:
        """Refuse probabilities that are not above 0 or do not sum to 1."""
        check_records(self.records)
        check_draws(self.draws)
        if self.law is not None:
            check_probabilities(self.law, self.records)

    @property
    def probabilities(self) -> FloatArray:
        """The law."""
        return np.full(self.records, 1.0 / self.records) if self.law is None else self.law

    @property
    def weights(self) -> FloatArray | None:
        """1/(p N)."""
        return None if self.law is None else 1.0 / (self.law * self.records)

    @property
    def theory(self) -> str:
        """What theory applies."""
        return "Independent draws: Thm 3.6 with n draws, which supposes n far below N."

    @property
    def notes(self) -> tuple[str, ...]:
        """Warn where n is not far below N."""
        if 10 * self.draws <= self.records:
            return ()
        return (
            f"The formulas for draws with replacement suppose that n is far below N; here n = {self.draws:,} and "
            f"N = {self.records:,}, so the people left over differ noticeably from everybody.",
        )

    def size(self, target: Target = "unknown") -> AttackSize:
        """Return n for both (Thm 3.6, erratum E1)."""
        return sample_attack_size(self.draws)

    def row_weights(self, target: FloatArray | None = None) -> RowWeights | None:
        """Return weights and target of the rows."""
        if self.weights is None and target is None:
            return None
        return RowWeights(self.weights, target)

    def sample(self, trials: int, rng: np.random.Generator) -> IntArray:
        """Draw with replacement."""
        if self.law is None:
            return np.asarray(rng.integers(0, self.records, size=(trials, self.draws)), dtype=np.int64)
        steps = np.cumsum(self.law)
        found = np.searchsorted(steps, rng.random((trials, self.draws)) * steps[-1], side="right")
        return np.asarray(np.minimum(found, self.records - 1), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class ChainProcess(Process):
    """A Markov chain over strata, with a uniform person of the stratum at each step; or over people.

    Attributes
    ----------
    records, draws : int
        N and n.
    chain : Chain
        Over the strata.
    strata : (N,) int array
        Stratum of each person, from 0; every stratum has somebody.
    """

    records: int
    draws: int
    chain: Chain
    strata: IntArray

    def __post_init__(self) -> None:
        """Refuse strata that do not match the chain."""
        check_records(self.records)
        check_draws(self.draws)
        if self.strata.shape != (self.records,):
            raise DataError(f"Each of the {self.records:,} people needs one stratum; {self.strata.size:,} are given.")
        counts = self._counts()
        if counts.size != self.chain.states or np.any(counts == 0):
            raise ParameterError(
                f"The chain has {self.chain.states} states, but people belong to {int((counts > 0).sum())} strata; "
                "every state needs at least one person (Assumption 3.1).",
                field="strata",
            )

    def _counts(self) -> IntArray:
        return np.bincount(self.strata, minlength=self.chain.states)

    @property
    def probabilities(self) -> FloatArray:
        """Stationary probability of the stratum over its people."""
        return np.asarray((self.chain.stationary / self._counts())[self.strata])

    @property
    def weights(self) -> FloatArray:
        """1/(p N)."""
        return 1.0 / (self.probabilities * self.records)

    @property
    def theory(self) -> str:
        """What theory applies."""
        return (
            "A mixing chain started at its stationary law: Thm 3.6 with n draws, with the long-run covariance in place "
            "of the printed lag-0 one (corrected)."
        )

    def size(self, target: Target = "unknown") -> AttackSize:
        """Return n for both."""
        return sample_attack_size(self.draws)

    def row_weights(self, target: FloatArray | None = None) -> RowWeights:
        """Return weights, target and strata of the rows."""
        return RowWeights(self.weights, target, self.strata, self.chain.states)

    def summarise(
        self,
        data: Parts,
        queries: QueryRule,
        release: MomentRule,
        group: BoolArray | None = None,
        *,
        weight_moment: bool = False,
        as_root: bool | None = None,
        long_run: bool = True,
    ) -> MomentSummary:
        """Read a table once; ``long_run=False`` keeps the printed lag-0 covariance (erratum E5)."""
        target = None if group is None else subgroup_target(check_group(group, self.records))
        return summarise(
            data,
            queries,
            release,
            self.row_weights(target),
            long_run=strata_addition(self.chain) if long_run else None,
            weight_moment=weight_moment,
            as_root=as_root,
        )

    def sample(self, trials: int, rng: np.random.Generator) -> IntArray:
        """Draw paths: first the strata, then a person in each."""
        states = self.chain.sample(trials, self.draws, rng)
        counts = self._counts()
        if self.chain.states == self.records:
            place = np.empty(self.records, dtype=np.int64)
            place[self.strata] = np.arange(self.records)
            return place[states]
        order = np.argsort(self.strata, kind="stable")
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        inside = (rng.random(states.shape) * counts[states]).astype(np.int64)
        return np.asarray(order[starts[states] + np.minimum(inside, counts[states] - 1)])


@dataclass(frozen=True, eq=False)
class FixedProcess(Process):
    """An adversarial choice: always the same people (Def 2.1, outside Assumption 3.1).

    Attributes
    ----------
    records : int
        N.
    chosen : (n,) int array
        Places from 0, nobody twice.
    """

    records: int
    chosen: IntArray
    draws: int = made(init=False)

    def __post_init__(self) -> None:
        """Refuse a choice of nobody or of everybody."""
        check_records(self.records)
        object.__setattr__(self, "draws", int(self.chosen.size))
        if not 1 <= self.chosen.size < self.records:
            raise ParameterError(
                f"The adversary must choose at least 1 and at most {self.records - 1:,} people; it chose "
                f"{self.chosen.size:,}.",
                field="draws",
            )

    @property
    def probabilities(self) -> None:
        """None: there is no law over people."""
        return

    @property
    def replaces(self) -> bool:
        """False."""
        return False

    @property
    def theory(self) -> str:
        """What theory applies."""
        return "None: an adversarial choice breaks Assumption 3.1; only exact and simulated values are shown."

    def supports(self, use: Use) -> str | None:
        """Refuse everything but simulation."""
        if use == "simulation":
            return None
        return (
            "An adversarial choice of people breaks Assumption 3.1 (it is not a stationary mixing process with a "
            "chance for everybody), so the large-sample formulas do not apply; use the simulated attacker."
        )

    def sample(self, trials: int, rng: np.random.Generator) -> IntArray:
        """Return the same people each time."""
        return np.broadcast_to(self.chosen, (trials, self.draws)).copy()


@dataclass(frozen=True)
class AllButOneProcess(Process):
    """The worst case of differential privacy: everybody but one person (P_DP, before Def 2.6)."""

    records: int
    draws: int = made(init=False)

    def __post_init__(self) -> None:
        """Refuse fewer than 2 people."""
        object.__setattr__(self, "draws", check_records(self.records) - 1)

    @property
    def probabilities(self) -> FloatArray:
        """1/N for everybody."""
        return np.full(self.records, 1.0 / self.records)

    @property
    def replaces(self) -> bool:
        """False."""
        return False

    @property
    def theory(self) -> str:
        """What theory applies."""
        return "Thm 2.7 and Thm A.9 (mutual information): one person is unknown, so there is no large sample."

    def supports(self, use: Use) -> str | None:
        """Refuse everything but simulation."""
        if use == "simulation":
            return None
        return (
            "Only one person is unknown, so there is no large sample to average over and the large-sample formulas do "
            "not apply; use exact values or the simulated attacker."
        )

    def sample(self, trials: int, rng: np.random.Generator) -> IntArray:
        """Leave out one uniform person each time."""
        out = rng.integers(0, self.records, size=(trials, 1))
        people = np.broadcast_to(np.arange(self.records - 1), (trials, self.records - 1))
        return np.asarray(people + (people >= out))


# --- records of choices --------------------------------------------------------------------------------------


class AttackerRecord(Record):
    """Base of the attackers: which people's records have leaked."""

    def process(self, records: int, table: Table | None = None) -> Process:
        """Return the process on a table of N people.

        Parameters
        ----------
        records : int
            N.
        table : mapping, optional
            The whole columns that the attacker's choice depends on.
        """
        raise NotImplementedError


def _column(table: Table | None, name: str, records: int) -> NDArray[np.generic]:
    if table is None:
        raise DataError(f"This attacker needs the column '{name}' of the table.")
    values = column(table, name)
    if values.shape != (records,):
        raise DataError(f"Column '{name}' must have one value for each of the {records:,} people.")
    return values


Fraction = Annotated[
    float,
    Number,
    Field(
        gt=0,
        lt=1,
        title="Compromised fraction α",
        description="Share of the people whose records the attacker already holds.",
        json_schema_extra={"key": "fraction", "group": "Attacker"},
    ),
]
Draws = Annotated[
    int,
    Number,
    Field(
        ge=2,
        le=10_000_000,
        title="Compromised records n",
        description="How many records the attacker holds, counting repeated ones each time.",
        json_schema_extra={"key": "draws", "scale": "log", "low": 10, "high": 100_000, "group": "Attacker"},
    ),
]


class RandomShard(AttackerRecord):
    """A random share of the table has leaked."""

    kind: Literal["shard"] = "shard"
    title: ClassVar[str] = "Random shard"
    formula: ClassVar[str] = r"n_{\mathrm{eff}}=\alpha(1-\alpha)N,\quad \nu=\alpha N/(1-\alpha)"
    source: ClassVar[str] = "predictability, Cor 3.8"
    compromised_fraction: Fraction = 0.3

    def process(self, records: int, table: Table | None = None) -> ShardProcess:
        """Return the process on N people."""
        return ShardProcess(records, self.compromised_fraction)


class IndependentDraws(AttackerRecord):
    """Independent draws of uniform people, with replacement."""

    kind: Literal["iid"] = "iid"
    title: ClassVar[str] = "Independent draws"
    formula: ClassVar[str] = r"n_{\mathrm{eff}}=n,\quad \nu=n"
    source: ClassVar[str] = "predictability, Thm 3.6"
    draws: Draws = 200

    def process(self, records: int, table: Table | None = None) -> IndependentProcess:
        """Return the process on N people."""
        return IndependentProcess(check_records(records), self.draws)


class WeightedDraws(AttackerRecord):
    """Independent draws in which some people are likelier than others: in proportion to a column."""

    kind: Literal["weighted"] = "weighted"
    title: ClassVar[str] = "Biased draws"
    formula: ClassVar[str] = r"p_i\propto s_i^{\,b},\quad w_i=1/(p_iN),\quad n_{\mathrm{eff}}=n"
    source: ClassVar[str] = "predictability, Thm 3.6"
    draws: Draws = 200
    column: str = field("weight", "Weights", "Column of positive numbers.", key="weight_column")
    bias: Annotated[float, Number] = field(
        1.0, "Bias", "Power of the column; 0 is uniform, 1 in proportion.", key="bias", ge=-3, le=3
    )

    def process(self, records: int, table: Table | None = None) -> IndependentProcess:
        """Return the process on N people."""
        scores = check_scores(_column(table, self.column, records), self.column)
        return IndependentProcess(records, self.draws, law_from_scores(scores, self.bias))


def law_from_scores(scores: ArrayLike, bias: float = 1.0) -> FloatArray:
    """Return probabilities in proportion to a power of positive scores, safely over many orders of magnitude.

    Examples
    --------
    >>> law_from_scores([1.0, 3.0])
    array([0.25, 0.75])
    """
    logs = bias * np.log(check_scores(scores))
    raised = np.exp(logs - logs.max())
    return check_probabilities(raised / raised.sum())


class StickyStrata(AttackerRecord):
    """A chain over groups of people that stays in a group for a while: households, wards, batches."""

    kind: Literal["chain"] = "chain"
    title: ClassVar[str] = "Markov chain over groups"
    formula: ClassVar[str] = r"T=(1-s)I+s\,\mathbf 1\pi^\top,\quad \Omega=F^\top(DZ+Z^\top D-D)F"
    source: ClassVar[str] = "predictability §3.10, Thm 3.6 corrected"
    draws: Draws = 1000
    column: str = field("group", "Groups", "Column whose values are the groups.", key="group_column")
    restart: Annotated[float, Number] = field(
        0.2, "Fresh start s", "Chance to leave for a new group at each step; 1 gives independent draws.",
        key="restart", gt=0, le=1,
    )  # fmt: skip

    def process(self, records: int, table: Table | None = None) -> ChainProcess:
        """Return the process on N people: groups in proportion to their size."""
        _, strata = np.unique(_column(table, self.column, records), return_inverse=True)
        strata = strata.astype(np.int64).ravel()
        shares = np.bincount(strata) / records
        return ChainProcess(records, self.draws, lazy_chain(shares, self.restart), strata)


class Adversary(AttackerRecord):
    """Somebody who picks whose records to hold: people who meet a condition first, in table order."""

    kind: Literal["adversary"] = "adversary"
    title: ClassVar[str] = "Adversarial choice"
    formula: ClassVar[str] = r"C=\{i: q_i=1\}\ \text{first}"
    source: ClassVar[str] = "predictability, Def 2.1, Thm 2.5"
    compromised_fraction: Fraction = 0.3
    condition: Annotated[str, Field(min_length=1, max_length=LENGTH_LIMIT)] = field(
        "x > 0", "Picks first", "Condition on the people it prefers.", key="picks"
    )

    def process(self, records: int, table: Table | None = None) -> FixedProcess:
        """Return the process on N people."""
        if table is None:
            raise DataError("This attacker needs the columns of its condition.")
        expression = parse(self.condition)
        if expression.kind(table) != "condition":
            raise ParameterError(
                f"The expression '{expression.text}' is not a condition; compare it with a value.", field="picks"
            )
        liked = expression.evaluate(table)
        if liked.size != records:
            raise DataError(f"The table has {liked.size:,} rows, but there are {records:,} people.")
        count = ShardProcess(records, self.compromised_fraction).draws
        order = np.argsort(-liked, kind="stable")
        return FixedProcess(records, np.sort(order[:count]))


class AllButOne(AttackerRecord):
    """The worst case of differential privacy: everybody but one person is known."""

    kind: Literal["all-but-one"] = "all-but-one"
    title: ClassVar[str] = "Everybody but one"
    formula: ClassVar[str] = r"C=S\setminus\{x_i\}"
    source: ClassVar[str] = "predictability, before Def 2.6"

    def process(self, records: int, table: Table | None = None) -> AllButOneProcess:
        """Return the process on N people."""
        return AllButOneProcess(check_records(records))


Attacker: TypeAlias = Annotated[
    RandomShard | IndependentDraws | WeightedDraws | StickyStrata | Adversary | AllButOne, Field(discriminator="kind")
]
"""What a select box of attackers lists."""


def people_chain(transition: ArrayLike, draws: int) -> ChainProcess:
    """Return a Markov chain over the people themselves (at most 3,000).

    Parameters
    ----------
    transition : (N, N) array
        Row i holds the probabilities of the next person after i.
    draws : int
        n.
    """
    chain = make_chain(transition)
    return ChainProcess(chain.states, draws, chain, np.arange(chain.states))


def strata_chain(transition: ArrayLike, strata: ArrayLike, draws: int) -> ChainProcess:
    """Return a Markov chain over strata with a uniform person of the stratum at each step.

    Parameters
    ----------
    transition : (K, K) array
        Between strata.
    strata : (N,) int array
        Stratum of each person, from 0.
    draws : int
        n.
    """
    labels = np.asarray(strata, dtype=np.int64)
    return ChainProcess(int(labels.size), draws, make_chain(transition), labels)


__all__ = [
    "Adversary",
    "AllButOne",
    "AllButOneProcess",
    "Attacker",
    "AttackerRecord",
    "ChainProcess",
    "FixedProcess",
    "IndependentDraws",
    "IndependentProcess",
    "Process",
    "RandomShard",
    "ShardProcess",
    "StickyStrata",
    "Target",
    "Use",
    "WeightedDraws",
    "law_from_scores",
    "people_chain",
    "strata_chain",
]
