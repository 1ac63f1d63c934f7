"""A table, what is published of it and what is asked about it, summed over the people once.

The studies of one release share this: everything that reads people is in :func:`summed`; noise, compromised
fraction and loss come later and cost nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.privacy import ApproxDP, PureDP, group_privacy
from privexplorer.studies._predictability import (
    ASSUMPTIONS,
    TARGET_ALL,
    TARGET_LEFT,
    AnyData,
    People,
    data_notes,
    question_words,
)
from privexplorer.studies._release_choices import (
    DELTA,
    UNTHEORIED,
    Leak,
    LeakedShard,
    Published,
    Question,
    StickyDraws,
    epsilon_of_gaussian,
    parse_bounds,
    people_of,
    size_of,
)
from privexplorer.studies.result import Note
from privexplorer.studies.words import percent, plus_minus, significant

LEAVING: tuple[type[Leak], ...] = (LeakedShard, *UNTHEORIED)
"""Leaks in which nobody leaks twice, so that the people left over are asked about."""
MOST_QUESTIONS = 6
"""The visitor's own question and at most five prepared ones."""
NO_LIMIT = 5.0
"""ε above which a factor e^ε on the odds (148) is called no limit."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Everything about a release and some questions, people summed out.

    Attributes
    ----------
    title : str
        Name of the table.
    n : int
        People N.
    notes : tuple of Note
        About the table.
    names : tuple of str
        Questions as people read them; the visitor's own first.
    summary : MomentSummary
        Of all questions and the release.
    labels : tuple of str
        Published numbers.
    gram : (d, d) float array or None
        Mean of x xᵀ of a regression.
    residual : float
        Mean squared residual of a linear or ridge regression; not a number for others.
    sensitivity : (l1, l2, reason)
        How far one record moves the numbers, or why that is not known.
    leak : Leak
        How records leak.
    process_notes : tuple of str
        What the attacker's theory says.
    """

    title: str
    n: int
    notes: tuple[Note, ...]
    names: tuple[str, ...]
    summary: pr.MomentSummary
    labels: tuple[str, ...]
    gram: FloatArray | None
    residual: float
    sensitivity: tuple[float | None, float | None, str | None]
    leak: Leak
    process_notes: tuple[str, ...]

    def size(self, compromised: float) -> pr.AttackSize:
        """Return the size of the attack at a compromised fraction."""
        return size_of(self.leak, compromised, self.n)

    def leak_notes(self, compromised: float) -> tuple[str, ...]:
        """Return what the attacker's theory says at a compromised fraction."""
        if isinstance(self.leak, LEAVING):
            return ()
        if isinstance(self.leak, StickyDraws):
            return (*self.process_notes, *leak_warning(self.leak, compromised, self.n))
        return leak_warning(self.leak, compromised, self.n)

    @property
    def target(self) -> str:
        """Whom the attacker asks about: the others, or everybody where draws with replacement leave nobody out."""
        return "the other people" if isinstance(self.leak, LEAVING) else "everybody"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the page supposes, for this kind of leak."""
        if isinstance(self.leak, LEAVING):
            return ASSUMPTIONS
        return tuple(TARGET_ALL if text == TARGET_LEFT else text for text in ASSUMPTIONS)

    def law(self, noises: Sequence[pr.NoiseRecord], multiplier: float) -> pr.NoiseLaw:
        """Return the law of the sum of independent noises."""
        setting = pr.noise_setting(self.summary, multiplier, *self.sensitivity)
        return pr.total_noise(noises, setting)

    @property
    def spread(self) -> float:
        """Typical standard deviation of one person's influence on a published number (root mean square)."""
        variances = np.diagonal(self.summary.sandwich)
        found = math.sqrt(float(variances.mean()))
        return found if found > 0 else 1.0

    def cost(self, covariance: FloatArray) -> tuple[float, str, str]:
        """Return what the noise costs: a number, its text for a card, and what it is relative to."""
        typical = math.sqrt(float(np.trace(covariance)) / covariance.shape[0])
        if self.gram is not None and math.isfinite(self.residual) and self.residual > 0:
            share = pr.excess_error(self.gram, covariance) / self.residual
            return share, f"+{percent(share)}", "squared error"
        if covariance.shape[0] == 1 and self.summary.parameters[0] != 0:
            share = typical / abs(float(self.summary.parameters[0]))
            return share, f"± {significant(typical, 2)}", f"{percent(share)} of the value"
        return typical, f"± {significant(typical, 2)}", "per number"

    def promise(self, law: pr.NoiseLaw) -> tuple[float, float]:
        """Return ε and δ about one record; ε is infinite where there is none."""
        if isinstance(law.guarantee, PureDP | ApproxDP):
            return law.guarantee.epsilon, law.guarantee.levels().get("δ", 0.0)
        values, reach = np.linalg.eigvalsh(law.covariance), self.sensitivity[1]
        if reach is None or not float(values[0]) > 0 or _is_calibrated(law):
            return math.inf, 0.0
        return epsilon_of_gaussian(math.sqrt(float(values[0])), reach), DELTA

    def drowned(self, covariance: FloatArray, is_plain: bool) -> tuple[Note, ...]:
        """Warn where the noise is larger than the published numbers, with a σ that makes sense.

        That σ is 1% more squared error for a linear or ridge regression, and else the standard error of the published
        number: as much as it varies by chance anyway.

        Parameters
        ----------
        covariance : (d, d) array
            Σ.
        is_plain : bool
            Whether the visitor sets σ itself.
        """
        typical = math.sqrt(float(np.trace(covariance)) / covariance.shape[0])
        is_fit = self.gram is not None and math.isfinite(self.residual) and self.residual > 0
        size = float(np.abs(self.summary.parameters).max(initial=0.0))
        share = self.cost(covariance)[0] if is_fit else typical / size if size > 0 else 0.0
        if not share > 1.0:
            return ()
        fit = typical * math.sqrt(0.01 / share) if is_fit else self.spread / math.sqrt(self.n)
        what = "The noise is larger than the published numbers"
        if is_fit:
            what = "The noise adds more squared error than the model has"
        tip = f"try σ of about {significant(fit, 1)}" if is_plain else f"a σ of about {significant(fit, 1)} makes sense"
        return (Note(f"{what}: {tip}.", "warning", "Too much noise"),)

    def differential_privacy(self, law: pr.NoiseLaw) -> tuple[str, str, str]:
        """Return what ε-DP says: text and chip of a card, and a sentence."""
        if not isinstance(law.guarantee, PureDP | ApproxDP):
            values = np.linalg.eigvalsh(law.covariance)
            if not float(values.max(initial=0.0)) > 0:
                return "no ε", "exact numbers", "Differential privacy promises nothing for exact numbers"
            if _is_calibrated(law):
                return (
                    "no ε",
                    "noise from data",
                    ("Differential privacy promises nothing here: the size of calibrated noise is read off the table"),
                )
            if self.sensitivity[1] is None:
                return (
                    "no ε",
                    "no public bounds",
                    ("Differential privacy promises nothing without public bounds of what one record can change"),
                )
        return _epsilon(*self.promise(law))

    def group_privacy(self, law: pr.NoiseLaw, compromised: float) -> str:
        """Return what ε-DP says about those whom the attacker asks about, as a group, to follow a sentence on one."""
        epsilon, delta = self.promise(law)
        leaked = round(compromised * self.n) if isinstance(self.leak, LeakedShard) else 0
        size = self.n - leaked
        whom = f"the k = {size:,} others" if leaked else f"all k = {size:,} people"
        if not math.isfinite(epsilon):
            return f"; nor does it for {whom} as a group"
        return f"; for {whom} as a group {group_words(epsilon, delta, size)}"


def leak_warning(leak: Leak, compromised: float, people: int) -> tuple[str, ...]:
    """Say for draws with replacement, along a walk or not, where n is not far below N."""
    if isinstance(leak, LEAVING):
        return ()
    return pr.IndependentProcess(people, max(2, round(compromised * people))).notes


def group_words(epsilon: float, delta: float, size: int) -> str:
    """Say what a guarantee about one record gives for a group (spec predictability 2.2: k ε, and δ that grows).

    Examples
    --------
    >>> group_words(0.74, 0.0, 1_400), group_words(0.01, 0.0, 14)
    ('only kε = 1,036, which is no limit', 'kε = 0.14')
    >>> group_words(0.1, 1e-6, 12)
    'kε = 1.2 (δ = 2×10⁻⁵)'
    """
    found = group_privacy(ApproxDP(epsilon, delta) if delta else PureDP(epsilon), size)
    total, slack = size * epsilon, found.levels().get("δ", 0.0)
    text = f"kε = {significant(total, 4 if total >= 1_000 else 2)}"
    if total > NO_LIMIT or slack >= 0.5:
        return f"only {text}, which is no limit"
    return f"{text} (δ = {power(slack)})" if slack else text


def _is_calibrated(law: pr.NoiseLaw) -> bool:
    return any("calibrated" in note for note in law.notes)


def _epsilon(epsilon: float, delta: float) -> tuple[str, str, str]:
    if not math.isfinite(epsilon):
        return "no ε", "a bare direction", "Differential privacy promises nothing: some combination carries no noise"
    chip = "pure, δ = 0" if delta == 0 else f"δ = {power(delta)}"
    at = "" if delta == 0 else f" (δ = {power(delta)})"
    return (
        f"ε = {significant(epsilon, 2)}",
        chip,
        f"Differential privacy says ε = {significant(epsilon, 2)}{at} about any one record",
    )


def power(value: float) -> str:
    """Write a power of ten without the factor 1.

    Examples
    --------
    >>> power(1e-6), power(2e-5)
    ('10⁻⁶', '2×10⁻⁵')
    """
    return significant(value, 1).removeprefix("1×")


def questions_of(
    people: People, question: Question, more: Sequence[str], most: int = MOST_QUESTIONS
) -> tuple[tuple[pr.Expression, ...], tuple[str, ...]]:
    """Return the visitor's own question, then prepared ones; and how they read on a chart."""
    own = question.expression(people.table)
    prepared = people.questions or pr.candidate_queries(people.table, tuple(more), most)
    texts = dict.fromkeys(pr.parse(text).text for text in prepared)
    texts.pop(own.text, None)
    found = (own, *(pr.parse(text) for text in list(texts)[: most - 1]))
    return found, tuple(question_words(one.text, people.table) for one in found)


@dataclass(frozen=True, eq=False)
class Summed:
    """What one reading of the people gives: the sums to keep, and the people themselves."""

    asked: Asked
    people: People
    fitted: pr.FittedRelease
    queries: pr.ExpressionQueries
    process: pr.Process


def summed(
    data: AnyData,
    tables: Tables | None,
    published: Published,
    questions: Sequence[Question],
    leak: Leak,
    *,
    prepared: bool = False,
    also: Sequence[str] = (),
    bounds: Sequence[str] = (),
) -> Summed:
    """Read the people once and sum them out.

    Parameters
    ----------
    data, published, questions, leak : records
        Whose table, what is published, what is asked, what has leaked.
    tables : mapping, optional
        Tables at hand.
    prepared : bool
        Add prepared questions after the first.
    also : sequence of str
        Further columns of a table to ask about.
    bounds : sequence of str
        Public bounds, such as ``bmi 10 80``.
    """
    asked_about = [name for question in questions for name in question.reads]
    columns = tuple(dict.fromkeys((*published.reads, *asked_about, *leak.reads, *also)))
    people = people_of(data, tables, columns, (published, *questions))
    if prepared:
        expressions, names = questions_of(people, questions[0], columns)
    else:
        expressions = tuple(question.expression(people.table) for question in questions)
        names = tuple(question_words(one.text, people.table) for one in expressions)
    queries = pr.query_set(expressions, people.table, names)
    record = published.record(people.table)
    fitted = record.fit(people.table)
    process = leak.process(people.n, max(2, round(0.3 * people.n)), people.table)
    # where no theory applies the attacker reckons as with a random shard
    whole = pr.ShardProcess(people.n, 0.5) if isinstance(leak, UNTHEORIED) else process
    summary = whole.summarise(people.table, queries, fitted)
    gram, residual = None, math.nan
    if isinstance(fitted, pr.FittedModel):
        gram = fitted.gram
        if fitted.loss == "squared":
            x = fitted.rows.x(people.table)
            missed = np.einsum("nd,d->n", x, fitted.coefficients) - fitted.rows.y(people.table)
            residual = float(np.square(missed).mean())
    asked = Asked(
        title=people.title,
        n=people.n,
        notes=data_notes(people),
        names=names,
        summary=summary,
        labels=fitted.labels,
        gram=gram,
        residual=residual,
        sensitivity=pr.sensitivities(record, people.table, people.n, people.bounds | parse_bounds(bounds)),
        leak=leak,
        process_notes=() if isinstance(leak, LEAVING) else process.notes,
    )
    return Summed(asked, people, fitted, queries, process)


def ask(
    data: AnyData,
    tables: Tables | None,
    published: Published,
    question: Question,
    leak: Leak,
    also: Sequence[str] = (),
    bounds: Sequence[str] = (),
) -> tuple[Asked, People, pr.FittedRelease, pr.ExpressionQueries, pr.Process]:
    """Return the parts of :func:`summed` for the visitor's question and prepared ones."""
    found = summed(data, tables, published, (question,), leak, prepared=True, also=also, bounds=bounds)
    return found.asked, found.people, found.fitted, found.queries, found.process


def realised(value: float, error: float, gain: float, whose: str) -> str:
    """Say how much of a gain simulated attackers reach; in words where ± two standard errors hold nothing at all.

    Examples
    --------
    >>> realised(0.47, 0.015, 1.0, "of that"), realised(-0.35, 0.27, 1.0, "of that")
    ('realises 47 ± 3% of that', 'gains nothing that can be told from chance')
    """
    share, around = 100 * value / gain, 200 * error / gain
    if share - around <= 0 <= share + around:
        return "gains nothing that can be told from chance"
    if share < 0:
        return "loses by using the release"
    text, wide = plus_minus(share, around)
    return f"realises {text} {wide}% {whose}"


def in_quotes(question: str, most: int = 200) -> str:
    r"""Put a question between quotation marks, its texts without theirs; or in none, if a text holds one itself.

    Examples
    --------
    >>> print(in_quotes('ward = "east"'), in_quotes(r'town = "West \"Old\""'), in_quotes("smoker", 4), sep="; ")
    “ward = east”; town = West "Old"; “smo…”
    """
    told = _TEXT.sub(lambda found: re.sub(r"\\(.)", r"\1", found[1]), question)
    told = told if len(told) <= most else told[: most - 1] + "…"
    return told if '"' in told else f"“{told}”"


_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def marks_stand(leaked: int, compromised: float, people: int) -> str:
    """Say at which leak the simulated marks stand, where that is not the visitor's.

    Examples
    --------
    >>> marks_stand(600, 0.3, 2_000), marks_stand(600, 0.33, 2_000)
    ('', ' The simulated marks stand at the nearest simulated leak, 30% of the records.')
    """
    if leaked == round(compromised * people):
        return ""
    return f" The simulated marks stand at the nearest simulated leak, {percent(leaked / people)} of the records."


def log_loss_problem(loss: str, question: Any) -> tuple[str, ...]:
    """Return a sentence if log loss meets a question about numbers."""
    if loss == "log" and question.kind == "number":
        return (
            "Log loss needs a question answered by yes or no, but a column of numbers is asked about; choose squared "
            "error or turn the question into a condition.",
        )
    return ()


__all__ = [
    "MOST_QUESTIONS",
    "NO_LIMIT",
    "Asked",
    "Summed",
    "ask",
    "group_words",
    "in_quotes",
    "leak_warning",
    "log_loss_problem",
    "marks_stand",
    "power",
    "questions_of",
    "realised",
    "summed",
]
