"""One private answer per question and seed: repeatable noise, and what the answers shown so far cost together.

Showing the same answer twice costs nothing. A new seed draws new noise: the average of many draws gives the exact
value away, so every different answer counts.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np

from privexplorer.privacy.composition import Ledger, LedgerTable
from privexplorer.privacy.guarantees import ApproxDP, Guarantee, LocalDP, PureDP


def release_rng(seed: int, *labels: str | int | float) -> np.random.Generator:
    """Return the generator of the noise of one answer, from a sha256 of the seed and the labels.

    The same seed and labels give the same noise, on any machine; different labels give unrelated noise.

    Parameters
    ----------
    seed : int
        Any whole number.
    *labels : str, int or float
        Everything that tells two answers apart: table digest, column, question, *and the privacy level*. Two answers
        with the same noise at two scales would give the exact value away.

    Returns
    -------
    numpy Generator

    Examples
    --------
    >>> first, again = (release_rng(0, "digest", "age", "entropy", 1.0) for _ in range(2))
    >>> bool(first.random() == again.random())
    True
    """
    digest = hashlib.sha256()
    for label in (int(seed), *labels):
        # kind and length in front: ("ab", "c") and ("a", "bc") differ, and so do 1 and "1"
        text = repr(float(label)) if isinstance(label, float) else str(label)
        kind = "text" if isinstance(label, str) else "real" if isinstance(label, float) else "whole"
        encoded = text.encode()
        digest.update(f"{kind}:{len(encoded)}:".encode() + encoded)
    # PCG64 by name: the default generator of NumPy may change one day, the answers must not
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(int.from_bytes(digest.digest(), "big"))))


@dataclass(frozen=True)
class PrivateAnswer:
    """What identifies one private answer: the same fields give the same noise.

    Attributes
    ----------
    table : str
        Digest of the table.
    column : str
        Name of the column.
    question : str
        Stable name of the question with all settings that change the exact answer, such as ``"entropy/plug-in/k=50"``.
    guarantee : Guarantee
        What the answer promises; part of the identity, so that a new level draws new noise.
    seed : int
        Chosen by the user.
    words : str
        What was asked, for people to read; no part of the identity. Empty: question and column.
    """

    table: str
    column: str
    question: str
    guarantee: Guarantee
    seed: int
    words: str = field(default="", compare=False)

    def rng(self) -> np.random.Generator:
        """Return the generator of this answer's noise."""
        guarantee = self.guarantee
        levels = [part for symbol, level in guarantee.levels().items() for part in (symbol, float(level))]
        labels = (self.table, self.column, self.question, guarantee.kind, guarantee.neighbours, *levels)
        return release_rng(self.seed, *labels)


@dataclass(frozen=True)
class SpentBudget:
    """The different answers shown about one table so far, and what they cost together (basic composition).

    Examples
    --------
    >>> first = PrivateAnswer("digest", "age", "entropy", PureDP(0.5), seed=0)
    >>> spent = SpentBudget().show(first).show(first)
    >>> print(spent.total(), "|", spent.show(PrivateAnswer("digest", "age", "entropy", PureDP(0.5), seed=1)).total())
    ε = 0.5 | ε = 1
    """

    answers: tuple[PrivateAnswer, ...] = ()

    def show(self, answer: PrivateAnswer) -> SpentBudget:
        """Return the budget after this answer was shown; unchanged if it was shown before."""
        return self if answer in self.answers else replace(self, answers=(*self.answers, answer))

    def about(self, table: str) -> SpentBudget:
        """Return the part of the budget that concerns one table."""
        return replace(self, answers=tuple(answer for answer in self.answers if answer.table == table))

    def ledger(self) -> Ledger:
        """Return one row per different answer, in the order they were first shown.

        Beside answers of a trusted curator a local answer counts as the central one that it implies: what holds for
        each person's report holds for all reports together (Def 1, Def 2).
        """
        ledger = Ledger()
        is_mixed = len({answer.guarantee.model for answer in self.answers}) > 1
        for answer in self.answers:
            promise = answer.guarantee
            if is_mixed and isinstance(promise, LocalDP):
                promise = ApproxDP(promise.epsilon, promise.delta) if promise.delta else PureDP(promise.epsilon)
            asked = answer.words or f"{answer.question} of {answer.column}"
            ledger = ledger.add(f"{asked}, {answer.guarantee}, seed {answer.seed}", promise)
        return ledger

    def table(self, digits: int = 4) -> LedgerTable:
        """Return the rows and their total for reading; see ``Ledger.table``."""
        return self.ledger().table(digits)

    def total(self) -> PureDP | ApproxDP:
        """Return what all answers promise together."""
        return self.ledger().basic()


__all__ = ["PrivateAnswer", "SpentBudget", "release_rng"]
