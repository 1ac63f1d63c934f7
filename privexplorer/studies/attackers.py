"""Who is the attacker? The same release under different leaks (predictability V6; Def 2.1, Thm 3.6, errata E2, E5)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.errors import DataError
from privexplorer.records import Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.simulation.seeds import NOISE
from privexplorer.studies import _leaks as leaking
from privexplorer.studies import _picked as picking
from privexplorer.studies._leaks import bootstrap
from privexplorer.studies._predictability import (
    ASKED_BY_ANY_LEAK,
    ASSUMPTIONS,
    Clinic,
    CompromisedFraction,
    DataChoice,
    LinearPopulation,
    NoiseLevel,
    OwnTable,
    People,
    check_leaked,
    data_notes,
    question_words,
)
from privexplorer.studies._release_choices import (
    ANY,
    NUMERIC,
    ColumnName,
    HandChoice,
    HighestScores,
    OneCondition,
    PublishedChoice,
    PublishedMeans,
    PublishedRegression,
    QuestionChoice,
    people_of,
    problems_of,
    wrong_columns,
)
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import listed, plain_markdown, plus_minus, ratio, significant, whole

SHARD, UNIFORM, BIASED, LAG_ZERO, STICKY, ADVERSARY = (
    "random shard", "uniform draws", "biased draws", "walk, printed", "sticky walk", "hand-picked",
)  # fmt: skip
ALL_BUT_ONE = "all but one"
THEORY = (SHARD, UNIFORM, BIASED, LAG_ZERO, STICKY)
SIMULATED = (SHARD, UNIFORM, BIASED, STICKY, ADVERSARY)
PRINTED, TIGHT, SCHWARZ, GAIN = "printed bound", "tightest bound", "Cauchy-Schwarz bound", "realised gain"
FEASIBLE, ORACLE = "simulated attacker", "simulated oracle"
RESTARTS = np.array([0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 0.7, 1.0])
BIASES = np.linspace(-3.0, 3.0, 25)
LONG_RUN, SHORT = "all lags (long run)", "lag 0, as printed"
PANELS = {"leak": "by leak", "stay": "sticky walk", "weight": "weights", "people": "effective people"}
WEIGHT_BINS = 30
ORDER = (SHARD, UNIFORM, BIASED, ADVERSARY, ALL_BUT_ONE, LAG_ZERO, STICKY)
"""Leaks from left to right."""


class AttackersScenario(Scenario):
    """One release, many attackers."""

    data: DataChoice = field(
        Clinic(people=4_000, smoking=30.0),
        "People",
        "Whose table it is.",
        key="data",
        group="Data",
        discriminator="kind",
    )
    published: PublishedChoice = field(
        PublishedMeans(), "You publish", "Numbers computed from everybody.", key="publish", group="Data",
        discriminator="kind",
    )  # fmt: skip
    question: QuestionChoice = field(
        OneCondition(), "Sensitive question", ASKED_BY_ANY_LEAK, key="ask", group="Attacker", discriminator="kind",
    )  # fmt: skip
    compromised: CompromisedFraction = 0.1
    weight_column: ColumnName = field(
        "visits", "Biased draws: likelier with", "A column of numbers above 0; the last attacker picks by it, too.",
        key="weight", group="Attacker", column_of="data", kinds=NUMERIC,
    )  # fmt: skip
    bias: Annotated[float, Number] = field(
        1.0, "Bias", "Power of that column; 0 is uniform, 1 in proportion.", key="bias", group="Attacker", ge=-3, le=3
    )
    group_column: ColumnName = field(
        "smoker", "Sticky walk: stays within", "Groups that the walk stays in for a while, as friends of friends do.",
        key="groups", group="Attacker", column_of="data", kinds=ANY,
    )  # fmt: skip
    restart: Annotated[float, Number] = field(
        0.2, "Fresh start s", "Chance to move to a new group at each step; 1 gives independent draws.",
        key="restart", group="Attacker", scale="log", low=0.02, high=1.0, ge=0.01, le=1,
    )  # fmt: skip
    hand: HandChoice = field(
        HighestScores(), "Picks by hand", "Whom the hand-picking attacker prefers.", key="picks", group="Attacker",
        discriminator="kind", advanced=True,
    )  # fmt: skip
    worst: bool = field(
        False, "Everybody but one, too",
        "The worst case of differential privacy beside the others: one person only is unknown and asked about.",
        key="worst", group="Attacker", advanced=True,
    )  # fmt: skip
    noise: NoiseLevel = 0.3
    curves: Literal["usual", "all"] = field(
        "usual", "Marks", "More bounds, and an attacker who knows the best weights.", key="curves", group="Method",
        titles={"usual": "Two bounds, gain, attacker", "all": "All bounds and the oracle"},
    )  # fmt: skip
    trials: Trials = 600
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class Prepared:
    """What all blocks share, and every closed form.

    ``theory`` is by attacker; ``stay`` holds the gains of the walk by restart, ``(2, restarts)``: all lags, lag 0.
    """

    people: int
    draws: int
    name: str
    notes: tuple[Note, ...]
    theory: dict[str, pr.Predictability]
    attacks: dict[str, pr.PreparedAttack]
    stay: FloatArray
    weights: FloatArray
    effective: FloatArray
    """Effective people by bias, as a share of all."""
    mine: float
    checks: tuple[float, float, float]
    """Mean of the question under the weights, and plainly; what a constant question would seem to vary."""
    seed: int
    block_trials: int
    worst: float | None
    """Exact gain of the attacker who knows everybody but one person, if asked for."""


class Attackers(Study[AttackersScenario]):
    """The same release under several leaks."""

    id: ClassVar[str] = "attackers"
    question: ClassVar[str] = "Who is the attacker, and does it matter?"
    lead: ClassVar[str] = (
        "The same release and the same number of leaked records: drawn at random, biased, along acquaintances, or "
        "picked by hand."
    )
    tab: ClassVar[str] = "Attackers"
    card: ClassVar[str] = "Random, biased, sticky or hand-picked leaks, theory beside simulation."
    link: ClassVar[str] = "Compare attackers"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "signed"
    scenario: ClassVar[type[Scenario]] = AttackersScenario
    late: ClassVar[frozenset[str]] = frozenset({"curves", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "leak": "By leak",
        "stay": "Sticky walk",
        "weight": "Weights",
    }
    rows: ClassVar[tuple[str, ...]] = ("P-D2.1", "P-X4", "P-X9", "P-X15", "P-X17")

    def presets(self) -> tuple[Preset[AttackersScenario], ...]:
        """Finished examples."""
        make = AttackersScenario
        return (
            Preset("Smokers know smokers", make()),
            Preset("A stubborn walk", make(restart=0.05)),
            Preset(
                "Frequent visitors leak",
                make(bias=2.0, question=OneCondition(column="diabetic"), group_column="diabetic"),
            ),
            Preset(
                "A regression",
                make(
                    data=LinearPopulation(people=4_000),
                    published=PublishedRegression(outcome="y", features=("x1", "x2")),
                    question=OneCondition(column="secret"),
                    weight_column="weight",
                    group_column="secret",
                    noise=0.02,
                ),
            ),
            Preset(
                "A table: diabetes",
                make(
                    data=OwnTable(),
                    published=PublishedMeans(columns=("progression",)),
                    question=OneCondition(column="bmi", sign=">", value="30"),
                    weight_column="bp",
                    group_column="sex",
                    compromised=0.2,
                    noise=3.0,
                ),
            ),
        )

    def check(self, scenario: AttackersScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        return problems_of(scenario.data, (scenario.published, scenario.question)) or wrong_columns(
            scenario.data, (scenario.weight_column, scenario.group_column, *scenario.hand.reads)
        )

    def size(self, scenario: AttackersScenario) -> int:
        """Attacks per block: fewer for more people, four for a table of unknown length."""
        people = getattr(scenario.data, "people", None)
        return 4 if people is None else int(np.clip(80_000 // people, 1, 20))

    def blocks(self, scenario: AttackersScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: AttackersScenario, tables: Tables | None) -> Prepared:
        """Sum the people out for every attacker."""
        columns = (
            *scenario.published.reads, *scenario.question.reads, scenario.weight_column, scenario.group_column,
            *scenario.hand.reads,
        )  # fmt: skip
        people = people_of(scenario.data, tables, columns, (scenario.published, scenario.question))
        fitted = scenario.published.record(people.table).fit(people.table)
        own = pr.query_set([scenario.question.expression(people.table)], people.table)
        check_leaked(scenario.compromised, people.n)
        n = max(2, round(scenario.compromised * people.n))
        process = processes(scenario, people.table, people.n, n)
        theory, attacks = {}, {}
        answers = own.evaluate(people.table)
        law = pr.gaussian_law(scenario.noise**2 * np.eye(fitted.parameters.size), fitted.parameters.size)
        for name, one in process.items():
            summary = None
            if one.supports("theory") is None:
                summary = one.summarise(people.table, own, fitted)
                theory[name] = pr.predictability(summary, one.size(), law.covariance)
                if isinstance(one, pr.ChainProcess):
                    short = one.summarise(people.table, own, fitted, long_run=False)
                    theory[LAG_ZERO] = pr.predictability(short, one.size(), law.covariance)
            attacks[name] = pr.prepare_attack(people.table, answers, fitted, one, law, summary=summary)
        weights = process[BIASED].weights
        weights = np.ones(people.n) if weights is None else weights
        scores = positive_scores(people.table, scenario.weight_column)
        effective = np.array([1.0 / np.square(pr.law_from_scores(scores, b)).sum() for b in BIASES]) / people.n
        known = 1.0 / (weights * people.n)
        asked_values = answers[:, 0]
        return Prepared(
            people=people.n,
            draws=n,
            name=question_words(own.expressions[0].text, people.table),
            notes=data_notes(people),
            theory=theory,
            attacks=attacks,
            stay=staying(scenario, people, own, fitted, law.covariance, n),
            weights=weights,
            effective=effective,
            mine=process[BIASED].effective_people,
            checks=(
                float((known * weights * asked_values).sum()),
                float(asked_values.mean()),
                float((known * np.square(weights)).sum()) - 1.0,
            ),
            seed=scenario.seed,
            block_trials=self.size(scenario),
            worst=worst_gain(people, own, fitted, law.covariance) if scenario.worst else None,
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Simulate every attacker; return how much squared errors drop, ``(trials, 2, attackers)``."""
        out = np.empty((prepared.block_trials, 2, len(SIMULATED)))
        rng, noise = block_rng(prepared.seed, block), block_rng(prepared.seed, block, NOISE)
        for place, name in enumerate(SIMULATED):
            draws = prepared.attacks[name].run(prepared.block_trials, rng, noise)
            before = np.square(draws.before[:, 0] - draws.truth[:, 0])
            out[:, 0, place] = before - np.square(draws.feasible[:, 0] - draws.truth[:, 0])
            out[:, 1, place] = before - np.square(draws.oracle[:, 0] - draws.truth[:, 0])
        return out

    def assemble(self, scenario: AttackersScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put bounds, gains and simulated attackers side by side."""
        rows = []
        for series, pick in (
            (PRINTED, "printed"), (SCHWARZ, "cauchy_schwarz"), (TIGHT, "product"), (GAIN, "gain"),
        ):  # fmt: skip
            values = np.array([float(getattr(prepared.theory[name], pick)[0]) for name in THEORY])
            rows.append((series, np.array(THEORY), values, 0.0))
        frames = [tidy(rows, panel=PANELS["leak"]).assign(low=np.nan, high=np.nan)]
        drops = stacked(parts, scenario.trials)
        for place, series in enumerate((FEASIBLE, ORACLE)):
            names = [name for name in SIMULATED if place == 0 or name in prepared.theory]
            picked = [SIMULATED.index(name) for name in names]
            mean, error, low, high = bootstrap(np.ascontiguousarray(drops[:, place, picked].T))
            frames.append(
                tidy([(series, np.array(names), mean, error)], panel=PANELS["leak"]).assign(low=low, high=high)
            )
        if prepared.worst is not None:
            only = tidy([(FEASIBLE, np.array([ALL_BUT_ONE]), np.array([prepared.worst]), 0.0)], panel=PANELS["leak"])
            frames.append(only.assign(low=prepared.worst, high=prepared.worst))
        frames.append(
            tidy(
                [(LONG_RUN, RESTARTS, prepared.stay[0], 0.0), (SHORT, RESTARTS, prepared.stay[1], 0.0)],
                panel=PANELS["stay"],
            )
        )
        frames.append(weight_rows(prepared.weights))
        frames.append(tidy([("share of all people", BIASES, 100 * prepared.effective, 0.0)], panel=PANELS["people"]))
        frame = pd.concat([one.reindex(columns=COLUMNS_) for one in frames], ignore_index=True)
        return self.told(scenario, prepared, frame, len(drops))

    def told(self, scenario: AttackersScenario, prepared: Prepared, frame: pd.DataFrame, runs: int) -> Result:
        """Say what the numbers mean."""
        gains = {name: float(prepared.theory[name].gain[0]) for name in THEORY}
        base = gains[SHARD]
        times = {name: gains[name] / base if base > 0 else math.nan for name in gains}
        wrong = gains[STICKY] / gains[LAG_ZERO] if gains[LAG_ZERO] > 0 else math.nan
        n, people = prepared.draws, prepared.people
        cards = (
            Card(
                "Gain of a shard",
                significant(base, 2),
                f"{n:,} of {people:,}"[:18],
                "Realised gain in theory: how much the squared error about the other people drops.",
            ),
            Card(
                "Biased draws",
                ratio(times[BIASED]),
                "of the shard's",
                f"Realised gain under biased draws over that of the shard. The draws are worth "
                f"{whole(prepared.mine)} of {people:,} people (1/Σp²).",
            ),
            Card(
                "Sticky walk",
                ratio(times[STICKY]),
                "of the shard's",
                "Realised gain along the walk, all lags counted, over that of the shard.",
            ),
            Card(
                "Printed misses",
                ratio(wrong),
                "of the lag-0 gain",
                "Gain with all lags over the gain of the printed formula, which counts lag 0 only.",
            ),
        )
        shows = (
            f"**{n:,} of {people:,} records** leak; published: {plain_markdown(scenario.published.words)}. With a "
            f"random shard that lowers the squared error about {self.name_of(prepared)} by "
            f"**{significant(base, 2)}**. With as many biased draws it is {ratio(times[BIASED])} that, with a walk "
            f"that stays in its group {ratio(times[STICKY])}"
            + (": records that repeat each other leave more to learn. " if times[STICKY] > 1.2 else ". ")
            + f"The printed formula counts no lags; the truth along the walk is {ratio(wrong)} its value. "
            + self.simulated_words(frame, prepared)
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Predictability by leak. The realised gain is {significant(base)} for a random shard, "
                f"{significant(gains[BIASED])} for biased draws and {significant(gains[STICKY])} for a sticky walk."
            ),
            notes=self.notes(scenario, prepared, frame),
            formulas=self.formulas(scenario, prepared, gains),
            assumptions=(
                *ASSUMPTIONS,
                "Shard: nobody twice, and the people outside it are asked about. Draws and walks may repeat people; "
                "for them the mean over everybody is asked about, which supposes n far below N. (Def 2.1, Cor 3.8)",
                "The walk starts at its stationary law; the printed bound keeps lag 0 only, the theorem behind it asks "
                "for the long-run covariance. (Thm 3.2, Thm 3.6 corrected)",
                "Picking by hand breaks the assumptions of every formula (Assumption 3.1), so only the simulation is "
                "shown: the attacker treats its records as if they were a random shard.",
                "Each attack draws its own records and its own noise.",
            ),
            extra={"draws": n, "times": times, "name": prepared.name},
            runs=runs,
        )

    def name_of(self, prepared: Prepared) -> str:
        """Name the question in a sentence."""
        return f"*{plain_markdown(prepared.name)}*"

    def simulated_words(self, frame: pd.DataFrame, prepared: Prepared) -> str:
        """Say what simulated attackers reach."""
        rows = frame[frame["series"] == FEASIBLE]
        found = dict(zip(rows["x"], zip(rows["y"].tolist(), rows["std_error"].tolist(), strict=True), strict=True))
        shown = []
        for name, where in ((SHARD, "with the shard"), (STICKY, "along the walk")):
            theory = float(prepared.theory[name].gain[0])
            if name in found and theory > 0:
                value, error = (part / theory for part in found[name])
                if value <= 2 * error:
                    shown.append(f"nothing that can be told from chance {where}")
                else:
                    text, around = plus_minus(100 * value, 200 * error)
                    shown.append(f"{text} {around}% {where}")
        if not shown:
            return ""
        return f"Of the theory's gain, simulated attackers, who must estimate their weights, reach {listed(shown)}."

    def notes(self, scenario: AttackersScenario, prepared: Prepared, frame: pd.DataFrame) -> tuple[Note, ...]:
        """Return what a reader must know."""
        out = list(prepared.notes)
        found = [text for name in THEORY for text in prepared.theory[name].notes]
        if 10 * prepared.draws > prepared.people:
            found += pr.IndependentProcess(prepared.people, prepared.draws).notes
        out += [Note(plain_markdown(text)) for text in dict.fromkeys(found)]
        if prepared.worst is not None:
            out.append(Note(picking.WHY_ONE, title="Everybody but one"))
        rows = frame[(frame["series"] == FEASIBLE) & ~(frame["y"] > 0)]
        if len(rows):
            out.append(
                Note(
                    f"Below the log scale: the simulated attacker gains nothing, or loses, with "
                    f"{listed([str(one) for one in rows['x']])}."
                )
            )
        return tuple(out)

    def formulas(
        self, scenario: AttackersScenario, prepared: Prepared, gains: Mapping[str, float]
    ) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers; errata with printed and corrected values."""
        shard, walk, short = (prepared.theory[name] for name in (SHARD, STICKY, LAG_ZERO))
        s = scenario.restart
        weighted, plain, seeming = prepared.checks
        return (
            Formula(
                "Realised gain, in the limit of many records",
                r"\frac{V_q r^2}{n_{\mathrm{eff}}},\quad n_{\mathrm{eff}}=\alpha(1-\alpha)N\ \text{(shard)},\ n\ "
                r"\text{(draws)}",
                rf"\text{{shard: }}n_{{\mathrm{{eff}}}}={shard.size.effective:.4g},\ "
                rf"r^2={float(shard.r[0]) ** 2:.4g},\ \gamma={gains[SHARD]:.4g}",
                "limit",
                "Thm 3.6, Cor 3.8 (derived)",
            ),
            Formula(
                "Weights",
                r"w_i=\frac1{p_iN},\qquad E_D[w\,q]=\frac1N\sum_iq_i",
                rf"{weighted:.6g}={plain:.6g},\qquad\frac1{{\sum p_i^2}}={prepared.mine:.5g}",
                "exact",
                "§3.1",
            ),
            Formula(
                "Variance of a weighted question",
                r"V_q=\frac1N\sum_iw_i(q_i-p)^2",
                rf"q\equiv1:\ V_q=0\quad\text{{(printed as }}\mathrm{{Var}}[wq]\text{{: }}{seeming:.4g})",
                "exact",
                "after Thm 3.6, corrected",
            ),
            Formula(
                "Long-run covariance of the walk",
                r"\Omega=F^\top(DZ+Z^\top D-D)F,\qquad\text{between groups: }\tfrac{2-s}{s}\times\text{lag 0}",
                rf"s={s:g}:\ \tfrac{{2-s}}{{s}}={(2 - s) / s:.4g},\quad V_q={float(walk.variance_before[0]):.4g}\ "
                rf"\text{{(lag 0: }}{float(short.variance_before[0]):.4g}),\ \gamma={gains[STICKY]:.4g}\ "
                rf"\text{{(lag 0: }}{gains[LAG_ZERO]:.4g})",
                "exact",
                "Thm 3.2; Thm 3.6 corrected",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe γ by leak, the walk, or the weights."""
        if view == "stay":
            return self.stay_chart(result)
        if view == "weight":
            return self.weight_chart(result)
        scenario: Any = result.scenario
        looks: list[tuple[Role, str, str]] = [
            ("upper bound", PRINTED, "printed bound"),
            ("upper bound", TIGHT, "tightest bound"),
            ("private", GAIN, "realised gain"),
            ("attacker", FEASIBLE, "simulated"),
        ]
        if scenario.curves == "all":
            looks += [("upper bound", SCHWARZ, "Cauchy-Schwarz"), ("data", ORACLE, "oracle")]
        found = {}
        for _, name, _ in looks:
            rows = result.series(name, PANELS["leak"])
            rows = rows[rows["y"] > 0]  # a note names those that gain nothing: the log scale has no place for them
            if len(rows):
                found[name] = rows
        shown = {str(x) for rows in found.values() for x in rows["x"]}
        marks: list[Any] = []
        for role, name, label in looks:
            if name not in found:
                continue
            rows = found[name]
            if not marks:  # the first mark lists all leaks in order; the last one has every mark, so names stand there
                rows = rows.set_index("x").reindex([x for x in ORDER if x in shown]).reset_index()
            ends = rows[["low", "high"]].to_numpy(dtype=np.float64)
            marks.append(
                Points(
                    role,
                    [str(one) for one in rows["x"]],
                    rows["y"].to_numpy(dtype=np.float64),
                    name,
                    label,
                    low=ends[:, 0] if np.isfinite(ends).any() else None,
                    high=ends[:, 1] if np.isfinite(ends).any() else None,
                    hover=f"{name}: {{y}}",
                    size=11,
                )
            )
        return Chart(
            f"How much easier “{short_name(result)}” gets, by leak",
            "γ: drop of the squared error, log scale",
            Axis("", "category"),
            Axis("γ", "log"),
            (Panel(tuple(marks)),),
        )

    def stay_chart(self, result: Result) -> Chart:
        """Describe the gain along a walk against how easily it leaves its group."""
        scenario: Any = result.scenario
        marks: list[Any] = []
        looks: tuple[tuple[Role, str, str], ...] = (
            ("upper bound", SHORT, "lag 0,<br>as printed"),
            ("private", LONG_RUN, "all lags"),
        )
        for role, name, label in looks:
            rows = result.series(name, PANELS["stay"])
            marks.append(
                Line(
                    role,
                    rows["x"].to_numpy(dtype=np.float64),
                    rows["y"].to_numpy(dtype=np.float64),
                    name,
                    label,
                    main=role == "private",
                    hover=f"{name}: {{y}}",
                )
            )
        rows = result.series(FEASIBLE, PANELS["leak"])
        rows = rows[rows["x"] == STICKY]
        if len(rows) and float(rows["y"].iloc[0]) > 0:
            marks.append(
                Points(
                    "attacker",
                    [scenario.restart],
                    rows["y"].to_numpy(dtype=np.float64),
                    FEASIBLE,
                    "simulated",
                    low=rows["low"].to_numpy(dtype=np.float64),
                    high=rows["high"].to_numpy(dtype=np.float64),
                    hover="simulated attacker: {y}",
                )
            )
        return Chart(
            "Gain along a walk that stays in its group",
            "drop of the squared error, both log scales",
            Axis("chance of a fresh start s", "log", ends=("stays", "leaves"), symbol="s"),
            Axis("γ", "log"),
            (Panel(tuple(marks), here=(scenario.restart, f"your s = {scenario.restart:g}")),),
        )

    def weight_chart(self, result: Result) -> Chart:
        """Describe the weights of biased draws, and how many people they are worth."""
        scenario: Any = result.scenario
        rows = result.series("people", PANELS["weight"])
        worth = result.series("share of all people", PANELS["people"])
        left = Bars(
            "data", rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(), "people", hover="{y}% of people"
        )
        right = Line(
            "data", worth["x"].to_numpy(dtype=np.float64), worth["y"].to_numpy(), "share of all people", main=True,
            hover="worth {y}% of all people",
        )  # fmt: skip
        return Chart(
            f"Biased draws by {scenario.weight_column}",
            "first: weights now; second: worth, 1/Σp²",
            Axis("weight w", "linear"),
            Axis("share", "linear", 0.0, unit="%"),
            (
                Panel(
                    (left,), "How people are weighted", (1.0, "uniform"),
                    x=Axis("weight w = 1/(pN)", "linear", 0.0, symbol="w"),
                ),
                Panel(
                    (right,), "Worth, % of all people", (scenario.bias, f"bias {scenario.bias:g}"),
                    x=Axis("bias", "linear", symbol="bias"), y=Axis("worth", "linear", 0.0, 100.0, unit="%"),
                ),
            ),
            columns=2,
            shared_y=False,
        )  # fmt: skip

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        wanted = {"stay": ("stay",), "weight": ("weight", "people")}.get(view, ("leak",))
        rows = result.frame[result.frame["panel"].isin([PANELS[name] for name in wanted])]
        return rows if view in ("", "leak") else rows.drop(columns=["low", "high"])


COLUMNS_ = ["series", "x", "y", "std_error", "panel", "low", "high"]


def positive_scores(table: pr.Table, name: str) -> FloatArray:
    """Return a column of numbers above 0, or say why it cannot weigh people."""
    values = table[name]
    if values.dtype.kind not in "buif":
        raise DataError(f"People are weighted by a column of numbers, but “{name}” holds texts.", field="weight")
    found = np.asarray(values, dtype=np.float64)
    if not np.all(found > 0):
        raise DataError(
            f"People are weighted by numbers above 0, but “{name}” goes down to {float(found.min()):g}; choose another "
            "column.",
            field="weight",
        )
    return found


def processes(scenario: AttackersScenario, table: pr.Table, people: int, draws: int) -> dict[str, pr.Process]:
    """Return all attackers with the same number of records."""
    scores = positive_scores(table, scenario.weight_column)
    return {
        SHARD: pr.ShardProcess(people, draws / people),
        UNIFORM: pr.IndependentProcess(people, draws),
        BIASED: pr.IndependentProcess(people, draws, pr.law_from_scores(scores, scenario.bias)),
        STICKY: walk(scenario, table, people, draws, scenario.restart),
        ADVERSARY: pr.FixedProcess(people, scenario.hand.order(table, scores)[:draws]),
    }


def worst_gain(people: People, own: pr.ExpressionQueries, fitted: pr.FittedRelease, covariance: FloatArray) -> float:
    """Return the exact gain of an attacker who knows everybody but one person, averaged over that person."""
    n, table = people.n, people.table
    leaks = leaking.prepare_leaks(
        table, own.evaluate(table), pr.ShardProcess(n, 0.5).summarise(table, own, fitted), fitted,
        pr.AllButOneProcess(n), np.array([n - 1]), 0, 1,
    )  # fmt: skip
    now, sums = picking.exact_sums(leaks, leaks.counts)
    return float(picking.gains_of(now, sums, np.array([0]), covariance[None], "squared")(0).drop[0])


def walk(scenario: AttackersScenario, table: pr.Table, people: int, draws: int, restart: float) -> pr.ChainProcess:
    """Return the walk over groups; a column of numbers has at most a hundred of them."""
    values = table[scenario.group_column]
    groups = np.unique(values).size
    if not 2 <= groups <= 100:
        raise DataError(
            f"The walk needs between 2 and 100 groups; “{scenario.group_column}” has {groups:,}.", field="groups"
        )
    return pr.StickyStrata(draws=draws, column=scenario.group_column, restart=restart).process(people, table)


def staying(
    scenario: AttackersScenario, people: People, own: pr.ExpressionQueries, fitted: pr.FittedRelease,
    covariance: FloatArray, draws: int,
) -> FloatArray:  # fmt: skip
    """Return the gains of the walk by restart: all lags, and lag 0 alone."""
    out = np.empty((2, RESTARTS.size))
    for place, restart in enumerate(RESTARTS.tolist()):
        process = walk(scenario, people.table, people.n, draws, restart)
        for row, long_run in enumerate((True, False)):
            if row and place:  # lag 0 does not know how long the walk stays
                out[row, place] = out[row, 0]
                continue
            summary = process.summarise(people.table, own, fitted, long_run=long_run)
            out[row, place] = float(pr.predictability(summary, process.size(), covariance).gain[0])
    return out


def weight_rows(weights: FloatArray) -> pd.DataFrame:
    """Lay out how many people have which weight, in per cent; the last bin holds all beyond."""
    top = max(float(np.quantile(weights, 0.995)), 1.5)
    edges = np.linspace(0.0, top, WEIGHT_BINS + 1)
    found = np.histogram(np.minimum(weights, top), edges)[0]
    middle = (edges[:-1] + edges[1:]) / 2
    return tidy([("people", middle, 100 * found / weights.size, 0.0)], panel=PANELS["weight"])


def short_name(result: Result) -> str:
    """Return the question for a title."""
    name = str(result.extra["name"])
    return name if len(name) <= 30 else name[:29] + "…"


__all__ = ["Attackers", "AttackersScenario", "processes", "walk"]
