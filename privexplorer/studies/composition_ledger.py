"""What several releases tell together, in either order, and what post-processing takes back (V10; Thm A.10, A.11)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.records import Number, Record, Scenario, field, sorted_distinct
from privexplorer.studies._asking import questions_of
from privexplorer.studies._predictability import (
    ASSUMPTIONS,
    Clinic,
    CompromisedFraction,
    DataChoice,
    LinearPopulation,
    NoiseScaleChoice,
    TwentyPeople,
    check_leaked,
    data_notes,
)
from privexplorer.studies._release_choices import (
    NumberQuestion,
    OneCondition,
    Published,
    PublishedCount,
    PublishedFormula,
    PublishedMeans,
    PublishedQuantile,
    PublishedRate,
    PublishedRegression,
    QuestionChoice,
    people_of,
    problems_of,
)
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Bars, Chart, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import listed, percent, plain_markdown, ratio, significant

ALONE, ADDED, JOINT, CHAIN, BEFORE = (
    "alone",
    "after the earlier ones",
    "all at once",
    "chain bound",
    "before processing",
)
GAIN = "realised gain"
FORWARD, REVERSE = "in this order", "in the reverse order"


class NothingMore(Record):
    """No further release."""

    kind: Literal["none"] = "none"
    title: ClassVar[str] = "Nothing"
    formula: ClassVar[str] = r"\varnothing"
    source: ClassVar[str] = "predictability, Thm A.11"


First = Annotated[
    PublishedMeans | PublishedRate | PublishedCount | PublishedRegression | PublishedQuantile | PublishedFormula,
    Field(discriminator="kind"),
]
Further = Annotated[
    NothingMore
    | PublishedMeans
    | PublishedRate
    | PublishedCount
    | PublishedRegression
    | PublishedQuantile
    | PublishedFormula,
    Field(discriminator="kind"),
]


class CompositionLedgerScenario(Scenario):
    """Up to four releases, one question."""

    data: DataChoice = field(Clinic(), "People", "Whose table it is.", key="data", group="Data", discriminator="kind")
    first: First = field(
        PublishedMeans(columns=("pressure",)), "First release", "What is published first.", key="first",
        group="Releases", discriminator="kind",
    )  # fmt: skip
    second: Further = field(
        PublishedRegression(outcome="pressure", features=("age", "weight")), "Second release",
        "What is published next.", key="second", group="Releases", discriminator="kind",
    )  # fmt: skip
    third: Further = field(
        PublishedMeans(columns=("cost",)), "Third release", "And then.", key="third", group="Releases",
        discriminator="kind",
    )  # fmt: skip
    fourth: Further = field(
        NothingMore(), "Fourth release", "And at last.", key="fourth", group="Releases", discriminator="kind",
        advanced=True,
    )  # fmt: skip
    question: QuestionChoice = field(
        OneCondition(column="smoker"), "Sensitive question", "What the attacker wants to know about the other people.",
        key="ask", group="Question", discriminator="kind",
    )  # fmt: skip
    noise: Annotated[float, Number] = field(
        0.02, "Noise, as a share of one person's influence",
        "Each published number gets independent noise: this share of the standard deviation of one person's influence "
        "on it; 0 publishes exactly.",
        key="noise", group="Noise", scale="log", low=0.001, high=1.0, ge=0, le=100,
    )  # fmt: skip
    processed: Literal["none", "one"] = field(
        "none", "Post-processing",
        "Coarsen every release to one number, the sum of its numbers in units of their influence. What is computed "
        "from a release alone can never tell more than the release.",
        key="processed", group="Noise", titles={"none": "As published", "one": "One number per release"},
    )  # fmt: skip
    added: Annotated[
        tuple[Annotated[int, Number, Field(ge=1, le=50)], ...], Field(max_length=50), sorted_distinct("numbers")
    ] = field(
        (), "Numbers that are added up",
        "Places within each release, from 1, such as 1, 3; the other numbers are dropped. Left empty, or where a "
        "release has none of them: all of its numbers.",
        key="added", group="Noise", when=("processed", "one"), advanced=True,
    )  # fmt: skip
    compromised: CompromisedFraction = 0.3
    noise_scale: NoiseScaleChoice = "release"

    def releases(self) -> tuple[Published, ...]:
        """Return what is published, in order."""
        slots: tuple[Published | NothingMore, ...] = (self.first, self.second, self.third, self.fourth)
        return tuple(one for one in slots if not isinstance(one, NothingMore))


@dataclass(frozen=True, eq=False)
class Prepared:
    """People summed out: all releases at once, one question.

    Attributes
    ----------
    n : int
        People N.
    names : tuple of str
        Releases in words.
    question : str
        In words.
    summary : MomentSummary
        Of the question and all releases side by side.
    moment_blocks, number_blocks : tuple of range
        Which moments and numbers belong to each release.
    spreads : (d,) float array
        Standard deviation of one person's influence on each published number.
    coarse : MomentSummary
        The same with one number per release.
    rule : (releases, d) float array
        The coarsening matrix R.
    notes : tuple of Note
        About the table.
    """

    n: int
    names: tuple[str, ...]
    question: str
    summary: pr.MomentSummary
    moment_blocks: tuple[range, ...]
    number_blocks: tuple[range, ...]
    spreads: FloatArray
    coarse: pr.MomentSummary
    rule: FloatArray
    notes: tuple[Note, ...]


class CompositionLedger(Study[CompositionLedgerScenario]):
    """Marginal bounds, chain bound and joint value in both orders."""

    id: ClassVar[str] = "composition-ledger"
    question: ClassVar[str] = "What do several releases tell together?"
    lead: ClassVar[str] = (
        "Each release has a bound of its own. What the second adds depends on what the first has told already."
    )
    tab: ClassVar[str] = "Several releases"
    card: ClassVar[str] = "Stack releases: what each adds, in either order, and what processing takes back."
    link: ClassVar[str] = "Add releases up"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "stack"
    scenario: ClassVar[type[Scenario]] = CompositionLedgerScenario
    late: ClassVar[frozenset[str]] = frozenset({"noise", "processed", "compromised", "noise_scale"})
    views: ClassVar[Mapping[str, str]] = {"bounds": "Bounds", "gains": "Gains add up"}
    rows: ClassVar[tuple[str, ...]] = ("P-TA.10", "P-TA.11")

    def presets(self) -> tuple[Preset[CompositionLedgerScenario], ...]:
        """Overlapping, separate and repeated releases."""
        make = CompositionLedgerScenario
        return (
            Preset("A clinic's three releases", make()),
            Preset(
                "One mean, twice",
                make(second=PublishedMeans(columns=("pressure",)), third=NothingMore(), noise=0.05),
            ),
            Preset(
                "Twenty people",
                make(
                    data=TwentyPeople(),
                    first=PublishedMeans(columns=("x1",)),
                    second=PublishedMeans(columns=("x2",)),
                    third=NothingMore(),
                    question=OneCondition(column="q"),
                    noise=0.1,
                    compromised=0.4,
                ),
            ),
            Preset(
                "A linear model, then its parts",
                make(
                    data=LinearPopulation(),
                    first=PublishedRegression(outcome="y", features=("x1", "x2", "x3")),
                    second=PublishedMeans(columns=("y",)),
                    third=PublishedMeans(columns=("x1", "x2", "x3")),
                    question=OneCondition(column="secret"),
                ),
            ),
        )

    def check(self, scenario: CompositionLedgerScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        return problems_of(scenario.data, (*scenario.releases(), scenario.question))

    def prepare(self, scenario: CompositionLedgerScenario, tables: Tables | None) -> Prepared:
        """Read the people once."""
        releases = scenario.releases()
        columns = dict.fromkeys(name for one in (*releases, scenario.question) for name in one.reads)
        people = people_of(scenario.data, tables, tuple(columns), (*releases, scenario.question))
        expressions, names = questions_of(people, scenario.question, (), 1)
        stack = pr.fit_all([one.record(people.table) for one in releases], people.table)
        summary = pr.summarise(people.table, pr.query_set(expressions, people.table, names), stack)
        spreads = np.sqrt(np.maximum(np.diagonal(summary.sandwich), 0.0))
        rule = np.zeros((len(releases), summary.dimension))
        for row, where in enumerate(stack.number_blocks):
            here = slice(where.start, where.stop)
            rule[row, here] = kept(scenario.added, len(where)) / np.where(spreads[here] > 0, spreads[here], 1.0)
        return Prepared(
            people.n,
            tuple(one.words for one in releases),
            names[0],
            summary,
            stack.moment_blocks,
            stack.number_blocks,
            spreads,
            summary.project(rule),
            rule,
            (*data_notes(people), *(Note(plain_markdown(text)) for text in stack.notes)),
        )

    def ledgers(
        self, scenario: CompositionLedgerScenario, prepared: Prepared, processed: bool
    ) -> tuple[pr.ReleaseLedger, pr.ReleaseLedger]:
        """Return the ledger in the given and in the reverse order."""
        size = pr.shard_size(scenario.compromised, prepared.n)
        sigma = np.diag(np.square(scenario.noise * prepared.spreads))
        summary, moments, numbers = prepared.summary, prepared.moment_blocks, prepared.number_blocks
        if processed:
            rule = prepared.rule
            # independent noises stay independent: R does not mix releases
            sigma = np.diag(np.einsum("kd,d->k", np.square(rule), np.diagonal(sigma)))
            summary = prepared.coarse
            moments = numbers = tuple(range(place, place + 1) for place in range(len(rule)))
        count = len(numbers)
        forward, reverse = (
            pr.release_ledger(
                summary, moments, numbers, sigma, size, order=order,
                noise_multiplier=size.multiplier(scenario.noise_scale),
            )
            for order in (range(count), range(count - 1, -1, -1))
        )  # fmt: skip
        return forward, reverse

    def assemble(self, scenario: CompositionLedgerScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put both ledgers side by side."""
        check_leaked(scenario.compromised, prepared.n)
        is_coarse = scenario.processed == "one"
        now, plain = self.ledgers(scenario, prepared, is_coarse), self.ledgers(scenario, prepared, False)
        frames = []
        for title, ledger, before in zip((FORWARD, REVERSE), now, plain, strict=True):
            names = [_letter(place) for place in ledger.order]
            rows: list[tuple[str, Any, Any, Any]] = [
                (ALONE, names, ledger.marginal[:, 0], 0.0),
                (ADDED, names, ledger.terms[:, 0], 0.0),
                (JOINT, [JOINT], ledger.joint, 0.0),
                (CHAIN, [CHAIN], ledger.chain_bound, 0.0),
                (GAIN, names, ledger.gains[:, 0], 0.0),
            ]
            if is_coarse:
                rows.append((BEFORE, [*names, JOINT], np.r_[before.marginal[:, 0], before.joint], 0.0))
            frames.append(tidy(rows, panel=title))
        frame = pd.concat(frames, ignore_index=True)
        forward, reverse = now
        joint, chain = float(forward.joint[0]), (float(forward.chain_bound[0]), float(reverse.chain_bound[0]))
        gain = float(forward.total_gain[0])
        alone = forward.marginal[:, 0]
        variance = float(forward.variances[0, 0])
        names = [f"{_letter(place)} is {name}" for place, name in enumerate(prepared.names)]
        base = float(plain[0].joint[0])
        dropped = f" Coarsened, they allow {percent(joint / base)} of what they did." if is_coarse and base > 0 else ""
        shows = _told(prepared, forward, reverse, names) + dropped
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("All at once", significant(joint), "printed bound on γ", "For somebody who sees everything."),
                Card(
                    "Chain bound", significant(chain[0]), f"{ratio(chain[0] / joint)} all at once" if joint else "",
                    f"What each adds, summed; in the reverse order {significant(chain[1])}.",
                ),
                Card(
                    "Sum of the separate", significant(float(alone.sum())),
                    f"{ratio(float(alone.sum()) / joint)} all at once" if joint else "", "Not a bound of the theory.",
                ),
                Card(
                    "Realised gain", significant(gain), "adds up exactly",
                    "Drop of the squared error of an attacker with very many records.",
                ),
            ),
            shows=shows,
            takeaway=re.sub(r"\\(.)", r"\1", shows.replace("**", "")),
            notes=(*prepared.notes, *_notes(scenario, prepared, forward, reverse)),
            formulas=_formulas(scenario, prepared, now, variance),
            assumptions=(
                *ASSUMPTIONS,
                "Every published number has its own, independent noise; the releases are computed from the same table.",
                "The chain bound is the first release's bound plus the bound of each later one for an attacker who "
                "already holds the earlier ones; it is not the sum of the separate bounds.",
            ),
            extra={"names": prepared.names, "coarse": is_coarse},
        )  # fmt: skip

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows of one view: bounds, or gains."""
        is_gain = result.frame["series"] == GAIN
        return result.frame[is_gain if view == "gains" else ~is_gain]

    def chart(self, result: Result, view: str) -> Chart:
        """Describe bars by release, in both orders."""
        return self.gains_chart(result) if view == "gains" else self.bounds_chart(result)

    def bounds_chart(self, result: Result) -> Chart:
        """Describe bounds alone, added and at once."""
        panels = []
        for title in (FORWARD, REVERSE):
            marks: list[Any] = []
            looks: tuple[tuple[str, Role, str], ...] = (
                (ADDED, "attacker", "after the<br>earlier ones"),
                (CHAIN, "upper bound", "chain bound"),
                (JOINT, "truth", "all at once"),
            )
            for name, role, label in looks:
                rows = result.series(name, title)
                marks.append(
                    Bars(
                        role, [str(x) for x in rows["x"]], rows["y"].to_numpy(dtype=float), name, label, stack=True,
                        hover=f"{name}: {{y}}",
                    )
                )  # fmt: skip
            rows = result.series(ALONE, title)
            marks.append(
                Points(
                    "non-private", [str(x) for x in rows["x"]], rows["y"].to_numpy(dtype=float), ALONE, "alone",
                    open=True, hover="alone: {y}",
                )
            )  # fmt: skip
            before = result.series(BEFORE, title)
            if len(before):
                marks.append(
                    Points(
                        "data", [str(x) for x in before["x"]], before["y"].to_numpy(dtype=float), BEFORE,
                        "before<br>processing", open=True, hover="before processing: {y}",
                    )
                )  # fmt: skip
            panels.append(Panel(tuple(marks), title=title))
        return Chart(
            "Printed bound on γ, release by release",
            "squared loss",
            Axis("release", "category", symbol="release"),
            Axis("bound on γ", "linear", 0.0),
            tuple(panels),
            columns=2,
        )

    def gains_chart(self, result: Result) -> Chart:
        """Describe gains stacked to the same height in both orders."""
        order = [str(x) for x in result.series(GAIN, FORWARD)["x"]]
        roles: tuple[Role, ...] = ("attacker", "private", "data", "local")
        marks = []
        for letter, role in zip(order, roles, strict=False):
            y = [
                float(rows[rows["x"] == letter]["y"].iloc[0])
                for rows in (result.series(GAIN, title) for title in (FORWARD, REVERSE))
            ]
            marks.append(
                Bars(role, [FORWARD, REVERSE], y, f"gain of {letter}", letter, stack=True, hover=f"{letter} adds {{y}}")
            )
        return Chart(
            "Realised gain, release by release",
            "drop of the attacker's squared error",
            Axis("order", "category", symbol="order"),
            Axis("gain", "linear", 0.0),
            (Panel(tuple(marks)),),
        )


def _letter(place: int) -> str:
    return "ABCD"[place]


def _told(
    prepared: Prepared, forward: pr.ReleaseLedger, reverse: pr.ReleaseLedger, names: Sequence[str]
) -> str:  # fmt: skip
    joint, chain = float(forward.joint[0]), float(forward.chain_bound[0])
    gain = float(forward.total_gain[0])
    head = f"{plain_markdown(listed(names))}. Question: {plain_markdown(prepared.question)}. "
    if not joint > 0:
        return head + "The releases tell **nothing** about this question."
    if len(prepared.names) == 1:
        return head + f"One release: its bound on γ is **{significant(joint, 2)}**, its gain {significant(gain, 2)}."
    last = forward.order[-1]
    alone, added = float(forward.marginal[-1, 0]), float(forward.terms[-1, 0])
    change = (
        f"{_letter(last)} alone would have a bound of {significant(alone, 2)}; after the others it adds "
        f"{significant(added, 2)}. "
    )
    return head + (
        f"Seen all at once the releases allow γ up to **{significant(joint, 2)}**; the chain bound is "
        f"{ratio(chain / joint)} that in this order and {ratio(float(reverse.chain_bound[0]) / joint)} in the reverse. "
        f"{change}Gains, unlike bounds, add up exactly: {significant(gain, 2)} in either order."
    )


def kept(added: Sequence[int], numbers: int) -> FloatArray:
    """Return 1 for the numbers of a release that are added up and 0 for those that are dropped.

    Examples
    --------
    >>> kept((1, 3), 3), kept((4,), 2), kept((), 2)
    (array([1., 0., 1.]), array([1., 1.]), array([1., 1.]))
    """
    found = np.isin(np.arange(1, numbers + 1), added)
    return np.where(found, 1.0, 0.0) if found.any() else np.ones(numbers)


def _notes(
    scenario: CompositionLedgerScenario, prepared: Prepared, forward: pr.ReleaseLedger, reverse: pr.ReleaseLedger
) -> tuple[Note, ...]:
    out = []
    if scenario.processed == "one":
        out.append(
            Note(
                "Bars of single releases and the joint bar can only fall (Theorem A.10). What a later release **adds** "
                "may rise, because the earlier ones have told less.",
                "info",
                "Post-processing",
            )
        )
        if scenario.added:
            told = []
            for place, where in enumerate(prepared.number_blocks):
                used = np.flatnonzero(prepared.rule[place, where.start : where.stop])
                told.append(f"{_letter(place)}: {listed([str(at + 1) for at in used])} of {len(where)}")
            out.append(Note(f"Added up, by release: {'; '.join(told)}."))
        if all(len(where) == 1 for where in prepared.number_blocks):
            out.append(Note("Every release here is one number already, so coarsening changes nothing."))
    if isinstance(scenario.question, NumberQuestion):
        out.append(Note("γ is in the square of the question's unit."))
    return tuple(out)


def _formulas(
    scenario: CompositionLedgerScenario,
    prepared: Prepared,
    now: tuple[pr.ReleaseLedger, pr.ReleaseLedger],
    variance: float,
) -> tuple[Formula, ...]:
    forward, reverse = now
    left = ",\\ ".join(f"{value:.4g}" for value in forward.variances[:, 0])
    terms = " + ".join(f"{value:.4g}" for value in forward.terms[:, 0])
    other = " + ".join(f"{value:.4g}" for value in reverse.terms[:, 0])
    gains = " + ".join(f"{value:.4g}" for value in forward.gains[:, 0])
    out = [
        Formula(
            "Chain bound",
            r"\gamma(A_1,A_2)\le\gamma(A_1)+\gamma(A_2\mid A_1)=\frac{H\kappa}{n_{\rm eff}}\Big[\sigma_1"
            r"\sqrt{\sigma_1^2-\sigma_2^2}+\sigma_2\sqrt{\sigma_2^2-\sigma_{12}^2}\Big]",
            rf"\sigma^2:\ {left};\quad {terms} = {float(forward.chain_bound[0]):.4g}\quad\text{{reversed: }}"
            rf"{other} = {float(reverse.chain_bound[0]):.4g}",
            "bound",
            "Thm A.11",
        ),
        Formula(
            "All at once",
            r"\gamma\le\frac{H\kappa}{n_{\rm eff}}V_q\,r_{12}",
            rf"V_q={variance:.4g},\quad {float(forward.joint[0]):.4g}",
            "bound",
            "Thm 3.6",
        ),
        Formula(
            "Gains, in the limit of many records",
            r"\frac{\sigma_1^2-\sigma_{12}^2}{n_{\rm eff}}=\frac{\sigma_1^2-\sigma_2^2}{n_{\rm eff}}"
            r"+\frac{\sigma_2^2-\sigma_{12}^2}{n_{\rm eff}}",
            f"{gains} = {float(forward.total_gain[0]):.4g}",
            "limit",
            "Thm A.11 (derived)",
        ),
    ]
    if scenario.processed == "one":
        out.append(
            Formula(
                "Post-processing",
                r"(\lambda,\Sigma)\to(R\lambda,R\Sigma R^\top),\qquad r^2\ \text{never rises}",
                rf"R\ \text{{has}}\ {prepared.rule.shape[0]}\times{prepared.rule.shape[1]}\ \text{{entries}}",
                "exact",
                "Thm A.10",
            )
        )
    return tuple(out)


__all__ = ["CompositionLedger", "CompositionLedgerScenario", "NothingMore"]
