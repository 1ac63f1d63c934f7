"""Does a release tell more about a small group than about everybody? (predictability Rem 2.8, A.2, Thm A.1; V9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer import predictability as pr
from privexplorer.arrays import BoolArray, FloatArray
from privexplorer.data import Tables
from privexplorer.errors import DataError
from privexplorer.records import Scenario, Seed, Trials, field
from privexplorer.studies import _leaks as leaking
from privexplorer.studies._asking import Asked, Summed, marks_stand, realised, summed
from privexplorer.studies._predictability import (
    FRACTIONS,
    SHARED_NOISE,
    Clinic,
    CompromisedFraction,
    DataChoice,
    LinearPopulation,
    NoiseScaleChoice,
    OwnTable,
    check_leaked,
    question_words,
)
from privexplorer.studies._release_choices import (
    NUMERIC,
    BiasedDraws,
    ColumnName,
    LeakChoice,
    LeakedShard,
    NumberQuestion,
    OneCondition,
    PublishedChoice,
    PublishedMeans,
    PublishedRegression,
    QuestionChoice,
    StickyDraws,
    problems_of,
)
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, plain_markdown, ratio, significant

BLOCK = 20
SHARES = np.array([0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
"""Shares of the people in the groups of the curve: those with the largest values of the ordering column."""
GROUPS, EVERYBODY = "the group", "everybody"
GROUP_BOUND, EVERYBODY_BOUND = "the group, tightest bound", "everybody, tightest bound"
YOURS, ATTACKER = "your group", "simulated attacker"


class SubgroupScenario(Scenario):
    """A release, a question, and groups that it is asked about."""

    data: DataChoice = field(Clinic(), "People", "Whose table it is.", key="data", group="Data", discriminator="kind")
    published: PublishedChoice = field(
        PublishedMeans(), "You publish", "Numbers computed from everybody.", key="publish", group="Data",
        discriminator="kind",
    )  # fmt: skip
    question: QuestionChoice = field(
        OneCondition(column="pressure", sign=">", value="140"), "Sensitive question",
        "What the attacker wants to know about the group.", key="ask",
        group="Attacker", discriminator="kind",
    )  # fmt: skip
    members: QuestionChoice = field(
        OneCondition(), "Your group", "Who belongs to it: a condition.",
        key="group", group="Attacker", discriminator="kind",
    )  # fmt: skip
    order: ColumnName = field(
        "age", "Groups of the curve", "The people with the largest values of this column, fewer and fewer.",
        key="order", group="Attacker", column_of="data", kinds=NUMERIC,
    )  # fmt: skip
    leak: LeakChoice = field(
        LeakedShard(), "What has leaked", "How the attacker came by its records.", key="leak", group="Attacker",
        discriminator="kind",
    )  # fmt: skip
    compromised: CompromisedFraction = 0.3
    noise: pr.Noise = field(
        pr.Isotropic(std=0.5), "Noise", "What is added to the published numbers, once.", key="noise", group="Privacy",
        discriminator="kind",
    )  # fmt: skip
    noise_scale: NoiseScaleChoice = "release"
    trials: Trials = 400
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class Prepared:
    """Summaries for everybody, the visitor's group and the groups of the curve; and both attackers."""

    asked: Asked
    member_words: str
    group_size: int
    mine: pr.MomentSummary
    sizes: FloatArray
    groups: tuple[pr.MomentSummary, ...]
    leaks: tuple[leaking.Leaks, ...]
    why_none: str


class SubgroupLens(Study[SubgroupScenario]):
    """γ for a group and for everybody."""

    id: ClassVar[str] = "subgroup-lens"
    question: ClassVar[str] = "Does a release tell more about a small group than about everybody?"
    lead: ClassVar[str] = "The same release and the same leak; the question is asked about fewer and fewer people."
    tab: ClassVar[str] = "Small groups"
    card: ClassVar[str] = "How γ grows when the attacker asks about a part of the people."
    link: ClassVar[str] = "Look at a small group"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "lens"
    scenario: ClassVar[type[Scenario]] = SubgroupScenario
    late: ClassVar[frozenset[str]] = frozenset({"compromised", "noise", "noise_scale", "trials"})
    rows: ClassVar[tuple[str, ...]] = ("P-R2.8", "P-A2", "P-TA.1")

    def presets(self) -> tuple[Preset[SubgroupScenario], ...]:
        """Finished examples."""
        make = SubgroupScenario
        return (
            Preset("Smokers", make()),
            Preset("The old", make(members=OneCondition(column="age", sign=">", value="75"))),
            Preset(
                "A biased leak",
                make(
                    data=LinearPopulation(),
                    published=PublishedRegression(outcome="y", features=("x1", "x2", "x3")),
                    question=OneCondition(column="secret"),
                    members=OneCondition(column="group", value="d"),
                    order="x1",
                    leak=BiasedDraws(column="weight"),
                    compromised=0.1,
                    noise=pr.Calibrated(level=0.5),
                ),
            ),
            Preset(
                "A table: diabetes",
                make(
                    data=OwnTable(),
                    published=PublishedMeans(columns=("progression",)),
                    question=OneCondition(column="bmi", sign=">", value="30"),
                    members=OneCondition(column="sex", value="2"),
                    noise=pr.Isotropic(std=3.0),
                ),
            ),
        )

    def check(self, scenario: SubgroupScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        parts = (
            scenario.published,
            scenario.question,
            scenario.members,
            scenario.leak,
            NumberQuestion(column=scenario.order),
        )
        found = problems_of(scenario.data, parts)
        if not found and scenario.members.kind == "number":
            return ("A group needs a condition that its members meet, but a column of numbers is given.",)
        return found

    def prepare(self, scenario: SubgroupScenario, tables: Tables | None) -> Prepared:
        """Sum the people out once for everybody and for every group."""
        found = summed(
            scenario.data, tables, scenario.published, (scenario.question,), scenario.leak,
            also=(*scenario.members.reads, scenario.order),
        )  # fmt: skip
        asked, table = found.asked, found.people.table
        expression = scenario.members.expression(table)
        members = pr.subgroup(expression, table)
        process = found.process
        mine = process.summarise(table, found.queries, found.fitted, members)
        ordering = table[scenario.order]
        if ordering.dtype.kind not in "buif":
            raise DataError(f"Column “{scenario.order}” must hold numbers; choose another order.", field="order")
        ranks = np.argsort(-ordering, kind="stable")
        sizes, groups = [], []
        for share in SHARES:
            count = round(float(share) * asked.n)
            if count < 10 or (count < asked.n and count + 10 > asked.n):
                continue
            inside = np.zeros(asked.n, dtype=np.bool_)
            inside[ranks[:count]] = True
            sizes.append(count)
            groups.append(process.summarise(table, found.queries, found.fitted, inside))
        leaks, why = self.attackers(scenario, found, mine, members)
        return Prepared(
            asked, question_words(expression.text, table), int(members.sum()), mine, np.array(sizes, dtype=np.float64),
            tuple(groups), leaks, why,
        )  # fmt: skip

    def attackers(
        self, scenario: SubgroupScenario, found: Summed, mine: pr.MomentSummary, members: BoolArray
    ) -> tuple[tuple[leaking.Leaks, ...], str]:
        """Set up the attacker who is after the group and the one who is after everybody."""
        asked, fitted = found.asked, found.fitted
        reason = fitted.attack_reason() or ""
        if isinstance(scenario.leak, StickyDraws):
            reason = "The simulated attacker who walks over groups is drawn where attackers are compared."
        elif fitted.width > leaking.ROW_LIMIT or leaking.work(asked.n, fitted.width + 3) > 4 * leaking.PRODUCT_LIMIT:
            reason = "So many people and numbers would make the simulation slow, so only the formulas are drawn."
        counts = leaking.leak_counts(FRACTIONS, asked.n, fitted.width, isinstance(scenario.leak, LeakedShard))
        if not reason and counts.size == 0:
            reason = "There are too few people for so many published numbers, so no attacker is simulated."
        if reason:
            return (), reason
        table = found.people.table
        process = scenario.leak.process(asked.n, int(counts[-1]), table)
        answers = found.queries.evaluate(table)
        both: tuple[tuple[pr.MomentSummary, BoolArray | None], ...] = ((mine, members), (asked.summary, None))
        return tuple(
            leaking.prepare_leaks(table, answers, summary, fitted, process, counts, scenario.seed, BLOCK, group)
            for summary, group in both
        ), ""

    def blocks(self, scenario: SubgroupScenario) -> int:
        """Return the number of blocks."""
        return 0 if isinstance(scenario.leak, StickyDraws) else blocks_for(scenario.trials, BLOCK)

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Simulate one block of attacks: truth and both answers, for the group and for everybody."""
        if not prepared.leaks:
            return np.zeros((1, 0, 0))
        # the same seed and block: both attackers hold the same leaks
        return np.concatenate([leaking.run_leaks(leaks, block) for leaks in prepared.leaks], axis=1)

    def assemble(self, scenario: SubgroupScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out γ for every group and assess the attackers."""
        asked = prepared.asked
        check_leaked(scenario.compromised, asked.n, isinstance(asked.leak, LeakedShard))
        size = asked.size(scenario.compromised)
        law = asked.law([scenario.noise], size.multiplier(scenario.noise_scale))
        sigma = law.covariance

        def answer(summary: pr.MomentSummary) -> pr.Predictability:
            return pr.predictability(summary, size, sigma, noise_scale=scenario.noise_scale)

        mine, everybody = answer(prepared.mine), answer(asked.summary)
        shares = prepared.sizes / asked.n
        found = [answer(summary) for summary in prepared.groups]
        gains = np.array([one.gain[0] for one in found])
        bounds = np.array([one.product[0] for one in found])
        whole = float(everybody.gain[0])
        share = prepared.group_size / asked.n
        rows: list[tuple[str, Any, Any, Any]] = [
            (GROUP_BOUND, shares, bounds, 0.0),
            (EVERYBODY_BOUND, shares, np.full(shares.size, float(everybody.product[0])), 0.0),
            (GROUPS, shares, gains, 0.0),
            (EVERYBODY, shares, np.full(shares.size, whole), 0.0),
            (YOURS, [share], [float(mine.gain[0])], 0.0),
        ]
        frame = tidy(rows).assign(low=np.nan, high=np.nan)
        runs = 0
        simulated: tuple[float, float, float, str] | None = None
        if prepared.leaks and parts:
            blocks = stacked(parts, scenario.trials)
            runs = int(blocks.shape[0])
            start = 0
            made = []
            for leaks, x, summary in zip(prepared.leaks, (share, 1.0), (prepared.mine, asked.summary), strict=True):
                sums = blocks[:, start : start + leaks.numbers]
                start += leaks.numbers
                judged = self.judged(scenario, asked, leaks, sums, summary, sigma)
                if judged is not None:
                    value, error, low, high = judged
                    made.append(tidy([(ATTACKER, [x], [value], [error])]).assign(low=low, high=high))
                    if leaks.is_group:
                        at = int(leaks.counts[leaking.nearest(leaks.counts, scenario.compromised, asked.n)])
                        there = pr.predictability(
                            summary, asked.size(at / asked.n), sigma, noise_scale=scenario.noise_scale
                        )
                        simulated = (
                            value, error, float(there.gain[0]), marks_stand(at, scenario.compromised, asked.n)
                        )  # fmt: skip
            frame = pd.concat([frame, *made], ignore_index=True)
        return self.told(scenario, prepared, frame, mine, everybody, law, simulated, runs)

    def judged(
        self,
        scenario: SubgroupScenario,
        asked: Asked,
        leaks: leaking.Leaks,
        sums: FloatArray,
        summary: pr.MomentSummary,
        sigma: FloatArray,
    ) -> tuple[float, float, float, float] | None:
        """Return gain, standard error and bootstrap interval of the simulated attacker at the nearest leak."""
        attacks = leaking.unpack(leaks, sums, 0)
        point = leaking.nearest(leaks.counts, scenario.compromised, asked.n)
        points, covariances = np.array([point]), sigma[None]
        nu = np.array([asked.size(float(leaks.counts[point]) / asked.n).noise_multiplier])
        oracle = leaking.oracle_weights(summary, 0, covariances, nu)
        drops, _ = leaking.loss_drops(attacks, points, covariances, nu)
        drops = leaking.steadied(drops, attacks, points, summary, 0, oracle)
        drops = drops[:, np.isfinite(drops[0])]
        if drops.shape[1] < 8:
            return None
        value, error, low, high = (float(one[0]) for one in leaking.bootstrap(drops))
        return value, error, low, high

    def told(
        self,
        scenario: SubgroupScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        mine: pr.Predictability,
        everybody: pr.Predictability,
        law: pr.NoiseLaw,
        simulated: tuple[float, float, float, str] | None,
        runs: int,
    ) -> Result:
        """Add cards, words and formulas."""
        asked = prepared.asked
        share = prepared.group_size / asked.n
        gain, whole = float(mine.gain[0]), float(everybody.gain[0])
        times = gain / whole if whole > 0 else math.nan
        bound, all_bound = float(mine.product[0]), float(everybody.product[0])
        lifted = bound / all_bound if all_bound > 0 else math.nan
        spread = float(mine.variance_before[0]) / max(float(everybody.variance_before[0]), 1e-300)
        group, name = plain_markdown(prepared.member_words), plain_markdown(asked.names[0])
        cards = (
            Card(
                "γ for your group",
                f"≤ {significant(bound, 2)}",
                f"gain {significant(gain, 2)}"[:18],
                f"{prepared.group_size:,} people with {prepared.member_words}: tightest bound and realised gain.",
            ),
            Card(
                "γ for everybody",
                f"≤ {significant(all_bound, 2)}",
                f"gain {significant(whole, 2)}"[:18],
                "The same question about all people.",
            ),
            Card(
                "Group ÷ everybody", ratio(times), f"bound {ratio(lifted)}"[:18], "Realised gain, and tightest bound."
            ),
            Card(
                "To begin with",
                ratio(spread),
                f"N ÷ |G| = {significant(1 / share, 2)}"[:18],
                "How much larger the attacker's squared error about the group is before the release: its members are "
                "fewer, and their answers vary more or less.",
            ),
        )
        words = (
            f"About the **{prepared.group_size:,} people with {group}** ({percent(share)} of {asked.n:,}), "
            f"{plain_markdown(scenario.published.words)} gives away **{ratio(times)}** as much on *{name}* as about "
            f"everybody. Few of the group have leaked, so the attacker starts with {ratio(spread)} the squared error; "
            f"the release takes away {percent(float(mine.r[0]) ** 2)} of it, against "
            f"{percent(float(everybody.r[0]) ** 2)} for everybody."
        )
        if simulated is not None and simulated[2] > 0:
            value, error, there, stand = simulated
            words += (
                f" In {runs} simulated leaks an attacker who must estimate its weights "
                f"{realised(value, error, there, 'of the group’s gain')}.{stand}"
            )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=words,
            takeaway=(
                f"Predictability for groups of shrinking size. For {prepared.group_size:,} people with "
                f"{prepared.member_words} the gain is {significant(gain, 2)}, for everybody {significant(whole, 2)}."
            ),
            notes=self.notes(scenario, prepared, mine, everybody, law),
            formulas=formulas(mine, prepared, scenario),
            assumptions=(*asked.assumptions, leaking.STEADIED, SHARED_NOISE),
            extra={"share": share, "words": prepared.member_words, "order": scenario.order},
            runs=runs,
        )

    def notes(
        self,
        scenario: SubgroupScenario,
        prepared: Prepared,
        mine: pr.Predictability,
        everybody: pr.Predictability,
        law: pr.NoiseLaw,
    ) -> tuple[Note, ...]:
        """Return what a reader must know."""
        found = (*mine.notes, *everybody.notes, *law.notes, *prepared.asked.leak_notes(scenario.compromised))
        out = [*prepared.asked.notes, *(Note(plain_markdown(text)) for text in dict.fromkeys(found))]
        if prepared.why_none:
            out.append(Note(plain_markdown(prepared.why_none)))
        known = scenario.compromised * prepared.group_size
        if known < 20:
            out.append(
                Note(f"Only about {known:.0f} records of your group have leaked: too few for large-sample formulas.",
                     "warning")
            )  # fmt: skip
        if scenario.noise_scale == "paper":
            out.append(Note(SHARED_NOISE, "warning", "Counted as printed"))
        return tuple(out)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe γ against the size of the group."""
        frame = result.frame
        order = result.extra["order"]
        marks: list[Any] = []
        lines: tuple[tuple[str, Any, str | None, str | None], ...] = (
            (GROUP_BOUND, "upper bound", "tightest<br>bound", None),
            (GROUPS, "private", "the group", None),
            (EVERYBODY, "non-private", "everybody", None),
        )
        for series, role, label, dash in lines:
            rows = frame[(frame["series"] == series) & (frame["y"] > 0)]
            marks.append(
                Line(role, rows["x"].to_numpy(), rows["y"].to_numpy(), series, label, dash=dash,
                     main=series == GROUPS, hover=f"{series}: {{y}} squared error")
            )  # fmt: skip
        rows = frame[(frame["series"] == YOURS) & (frame["y"] > 0)]
        marks.append(Points("private", rows["x"].to_numpy(), rows["y"].to_numpy(), YOURS, hover="your group: {y}"))
        rows = frame[(frame["series"] == ATTACKER) & (frame["low"] > 0)]
        if len(rows):
            marks.append(
                Points("attacker", rows["x"].to_numpy(), rows["y"].to_numpy(), ATTACKER, "simulated<br>attacker",
                       low=rows["low"].to_numpy(), high=rows["high"].to_numpy(), hover="simulated attacker: {y}")
            )  # fmt: skip
        words = result.extra["words"]
        return Chart(
            "How much easier the question gets, group by group",
            f"gain γ; groups: largest {order}, log scales"[:48],
            Axis("share of the people in the group", "log", symbol="|G|/N"),
            Axis("predictability γ", "log", unit="squared error", symbol="γ"),
            (Panel(tuple(marks), here=(result.extra["share"], words if len(words) <= 26 else words[:25] + "…")),),
        )


def formulas(mine: pr.Predictability, prepared: Prepared, scenario: SubgroupScenario) -> tuple[Formula, ...]:
    """Return the formulas with the numbers of the visitor's group."""
    share = prepared.group_size / prepared.asked.n
    return (
        Formula(
            "Weights of another target",
            r"w'_i=\frac{p'_i}{p_i},\quad p'_i=\frac{1}{|G|}\ (i\in G),\quad q''=w'(q-p_G),\quad g'=w g",
            rf"N/|G|={1 / share:.4g},\ V_q={float(mine.variance_before[0]):.4g}",
            "exact",
            "A.2, corrected (the paper exchanges w and w')",
        ),
        Formula(
            "Bound for the group",
            r"\gamma_G\le\frac{H\kappa}{n_{\mathrm{eff}}}V_{q''}\,r_G",
            rf"r_G={float(mine.r[0]):.4g},\ n_{{\mathrm{{eff}}}}={mine.size.effective:.4g}:\ "
            rf"{float(mine.printed[0]):.4g}",
            "bound",
            "Thm A.1",
        ),
        Formula(
            "Realised gain, in the limit of many records",
            r"\frac{V_{q''}r_G^2}{n_{\mathrm{eff}}}",
            rf"{float(mine.gain[0]):.4g}",
            "limit",
            "derived, checked in tests/unit/predictability/test_predictability_bounds.py",
        ),
    )
