"""Which questions does a release make easier? Many questions at once, four releases of one model (V4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.records import Number, Scenario, field
from privexplorer.studies._predictability import (
    ASSUMPTIONS,
    SHARED_NOISE,
    Clinic,
    CompromisedFraction,
    DataChoice,
    LinearPopulation,
    NoiseLevel,
    NoiseScaleChoice,
    OwnTable,
    check_leaked,
    data_notes,
    question_words,
)
from privexplorer.studies._release_choices import (
    ANY,
    NUMERIC,
    ColumnName,
    ColumnNames,
    OneCondition,
    QuestionChoice,
    people_of,
    problems_of,
)
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Bars, Chart, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, plain_markdown, significant

FREED = "freed of the loss"
"""A made column: what is left of the first question after its dependence on each person's training loss."""
RELEASES: dict[str, tuple[str, Role]] = {
    "mean": ("mean of the outcome", "data"),
    "fit": ("fitted model", "private"),
    "last": ("last step of descent", "local"),
    "path": ("whole path of descent", "attacker"),
}
MOST = 24
"""Most questions on the map."""
BARS = 5
"""Questions side by side in the second view."""
FREE = 0.05
"""Canonical correlation below which a question counts as free."""
Which = Literal["mean", "fit", "last", "path"]


class QueryMapScenario(Scenario):
    """A least-squares model, published in one of four ways, and many questions."""

    data: DataChoice = field(Clinic(), "People", "Whose table it is.", key="data", group="Data", discriminator="kind")
    outcome: ColumnName = field(
        "pressure", "Outcome", "What the model explains, and whose mean is published.", key="outcome", group="Data",
        column_of="data", kinds=NUMERIC,
    )  # fmt: skip
    features: ColumnNames = field(
        ("age", "weight"), "Features", "What explains it.", key="features", group="Data", column_of="data",
        kinds=NUMERIC,
    )  # fmt: skip
    intercept: bool = field(
        True, "Intercept", "Add a constant to the features.", key="intercept", group="Data", advanced=True
    )
    also: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=400)], ...], Field(max_length=30)] = field(
        ("cost", "visits", "diabetic", "ward"), "Also ask about",
        "Further columns about which questions are prepared.", key="also", group="Attacker",
        column_of="data", kinds=ANY,
    )  # fmt: skip
    question: QuestionChoice = field(
        OneCondition(), "Your question", "Stands first on the map.", key="ask", group="Attacker",
        discriminator="kind",
    )  # fmt: skip
    compromised: CompromisedFraction = 0.3
    release: Which = field(
        "fit", "On the map", "Which release the map shows; the bars show all four.", key="publish", group="Method",
        titles={
            "mean": "Mean of the outcome", "fit": "Fitted model", "last": "Last step of gradient descent",
            "path": "Whole path of gradient descent",
        },
    )  # fmt: skip
    noise: NoiseLevel = 0.0
    noise_scale: NoiseScaleChoice = "release"
    steps: Annotated[int, Number] = field(
        10, "Steps of gradient descent", "The path publishes the coefficients after each step.", key="steps",
        group="Method", ge=1, le=60,
    )  # fmt: skip
    pace: Annotated[float, Number] = field(
        0.3, "Step size, share of the largest safe one", "Steps of gradient descent as a share of 2/λ_max.",
        key="pace", group="Method", gt=0, lt=1, advanced=True,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Prepared:
    """One summary per release, questions the same."""

    n: int
    notes: tuple[Note, ...]
    names: tuple[str, ...]
    summaries: dict[str, pr.MomentSummary]
    loss_correlation: FloatArray
    """Of each question with the person's training loss, absolute."""


class QueryMap(Study[QueryMapScenario]):
    """ρ and γ of many questions."""

    id: ClassVar[str] = "query-map"
    question: ClassVar[str] = "Which questions does a published model make easier?"
    lead: ClassVar[str] = "Every dot is a question. Far left, the release tells nothing about it; far right, all of it."
    tab: ClassVar[str] = "Query map"
    card: ClassVar[str] = "Many questions at once: which are free, which are given away."
    link: ClassVar[str] = "See the map of questions"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "dots"
    scenario: ClassVar[type[Scenario]] = QueryMapScenario
    late: ClassVar[frozenset[str]] = frozenset({"compromised", "release", "noise", "noise_scale"})
    views: ClassVar[Mapping[str, str]] = {"map": "Map", "bars": "Four releases"}
    rows: ClassVar[tuple[str, ...]] = ("P-D3.5", "P-X20", "P-X21", "P-T4.2", "P-X22", "P-A1u", "P-A1")

    def presets(self) -> tuple[Preset[QueryMapScenario], ...]:
        """Finished examples."""
        make = QueryMapScenario
        return (
            Preset("A clinic", make()),
            Preset("With noise", make(noise=0.5)),
            Preset(
                "A linear model",
                make(
                    data=LinearPopulation(),
                    outcome="y",
                    features=("x1", "x2", "x3"),
                    also=("weight", "group"),
                    question=OneCondition(column="secret"),
                ),
            ),
            Preset(
                "A table: diabetes",
                make(
                    data=OwnTable(),
                    outcome="progression",
                    features=("bmi", "bp"),
                    also=("age", "sex", "s1", "s2", "s3", "s5"),
                    question=OneCondition(column="sex", sign="=", value="2"),
                ),
            ),
        )

    def check(self, scenario: QueryMapScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        columns = _Columns((scenario.outcome, *scenario.features, *scenario.also))
        return problems_of(scenario.data, (columns, scenario.question))

    def prepare(self, scenario: QueryMapScenario, tables: Tables | None) -> Prepared:
        """Fit four releases and sum the people out for all questions."""
        columns = dict.fromkeys((scenario.outcome, *scenario.features, *scenario.question.reads, *scenario.also))
        people = people_of(scenario.data, tables, tuple(columns), (scenario.question,))
        table: dict[str, Any] = dict(people.table)
        model = {"features": scenario.features, "target": scenario.outcome, "intercept": scenario.intercept}
        fitted = pr.LinearRegression(**model).fit(table)
        top = float(np.linalg.eigvalsh(fitted.gram)[-1])
        descent = {**model, "steps": scenario.steps, "step_size": min(scenario.pace * 2.0 / top, 1e6)}
        releases: dict[str, pr.FittedRelease] = {
            "mean": pr.Mean(columns=(scenario.outcome,)).fit(table),
            "fit": fitted,
            "last": pr.GradientDescent(**descent, released="last").fit(table),
            "path": pr.GradientDescent(**descent, released="path").fit(table),
        }
        own = scenario.question.expression(table)
        missed = fitted.rows.y(table) - np.einsum("nd,d->n", fitted.rows.x(table), fitted.coefficients)
        losses = 0.5 * np.square(missed)
        table[FREED] = _freed(own.evaluate(table), losses)
        texts = dict.fromkeys([*people.questions, *pr.candidate_queries(people.table, tuple(columns), MOST)])
        texts.pop(own.text, None)
        expressions = [own, pr.parse(f"`{FREED}`"), *(pr.parse(text) for text in list(texts)[: MOST - 2])]
        words = [question_words(one.text, table) for one in expressions]
        names = (words[0], f"{words[0]}, {FREED}", *words[2:])
        queries = pr.query_set(expressions, table, names)
        summaries = {name: pr.summarise(table, queries, release) for name, release in releases.items()}
        answers = queries.evaluate(table)
        return Prepared(people.n, data_notes(people), names, summaries, _correlations(answers, losses))

    def assemble(self, scenario: QueryMapScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out ρ, r and γ of every question and release."""
        check_leaked(scenario.compromised, prepared.n)
        size = pr.shard_size(scenario.compromised, prepared.n)
        found = {
            name: pr.predictability(
                summary, size, scenario.noise**2 * np.eye(summary.dimension) if scenario.noise else None,
                noise_scale=scenario.noise_scale,
            )
            for name, summary in prepared.summaries.items()
        }  # fmt: skip
        rows: list[tuple[str, Any, Any, Any]] = []
        mine = found[scenario.release]
        for place, name in enumerate(prepared.names):
            rows.append((name, mine.r[place : place + 1], mine.product[place : place + 1], 0.0))
        dots = tidy(rows).assign(panel="map")
        order = self.order(mine)
        at = np.arange(1.0, order.size + 1.0)
        bars = tidy([(RELEASES[name][0], at, one.r[order], 0.0) for name, one in found.items()]).assign(panel="bars")
        frame = pd.concat([dots, bars], ignore_index=True)
        return self.told(scenario, prepared, frame, found, order)

    def order(self, mine: pr.Predictability) -> Any:
        """Return the questions of the bars: the visitor's own and its freed form, then the strongest."""
        rest = 2 + np.argsort(-mine.r[2:], kind="stable")
        return np.concatenate([[0, 1], rest[: BARS - 2]]).astype(np.int64)

    def told(
        self,
        scenario: QueryMapScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        found: dict[str, pr.Predictability],
        order: Any,
    ) -> Result:
        """Add cards, words and formulas."""
        mine, names = found[scenario.release], prepared.names
        asked = [0, *range(2, len(names))]  # without the made one
        strongest = max(asked, key=lambda place: float(mine.r[place]))
        free = sum(float(mine.r[place]) < FREE for place in asked)
        what = RELEASES[scenario.release][0]
        path, fit = found["path"], found["fit"]
        best, own = float(mine.r[strongest]), float(mine.r[0])
        cards = (
            Card(
                "Your question",
                f"r = {significant(own, 2)}",
                f"{percent(own**2)} removed"[:18],
                f"“{names[0]}”: correlation with the release, and the share of the squared error that it removes.",
            ),
            Card(
                "Given away most",
                f"r = {significant(best, 2)}",
                names[strongest][:18],
                f"“{names[strongest]}” has the largest r.",
            ),
            Card(
                "Free questions",
                f"{free} of {len(asked)}",
                f"r below {FREE:g}",
                "The release tells next to nothing about them, whatever the noise.",
            ),
            Card(
                "Whole path",
                f"r = {significant(float(path.r[0]), 2)}",
                "your question",
                "If every step of gradient descent is published, not the fitted model alone.",
            ),
        )
        freed, alone = float(fit.r[1]), float(prepared.loss_correlation[1])
        before, after = significant(float(fit.r[0]), 2), significant(float(path.r[0]), 2)
        way = "raises" if float(path.r[0]) > float(fit.r[0]) else "lowers"
        move = (
            f"leaves r of {{}} at **{after}**" if before == after else f"{way} r of {{}} from {before} to **{after}**"
        )
        quoted = f"*{plain_markdown(names[0])}*"
        words = (
            f"Publishing the **{what}** with {percent(scenario.compromised)} of {prepared.n:,} records leaked, "
            f"*{plain_markdown(names[strongest])}* is given away most (r = {significant(best, 2)}), and **{free} of "
            f"{len(asked)}** questions are free (r below {FREE:g}). In place of the fitted model, the whole path of "
            f"gradient descent {move.format(quoted)}. A question need not touch a person's training loss to leak: "
            f"freed of it (correlation {significant(alone, 1) if alone > 1e-9 else '0'}), the same question still has "
            f"r = {significant(freed, 2)} with the model."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=words,
            takeaway=(
                f"Predictability of {len(names)} questions against their correlation with the {what}: from "
                f"{significant(float(mine.r.min()), 2)} to {significant(float(mine.r.max()), 2)}."
            ),
            notes=(
                *prepared.notes,
                *(Note(plain_markdown(text)) for text in prepared.summaries[scenario.release].notes),
                *((Note(SHARED_NOISE, "warning", "Counted as printed"),) if scenario.noise_scale == "paper" else ()),
            ),
            formulas=self.formulas(scenario, mine, freed, float(fit.r[0])),
            assumptions=(*ASSUMPTIONS, SHARED_NOISE),
            extra={"names": names, "order": order.tolist()},
        )

    def formulas(
        self, scenario: QueryMapScenario, mine: pr.Predictability, freed: float, fit: float
    ) -> tuple[Formula, ...]:
        """Return the formulas with the numbers of the visitor's question."""
        return (
            Formula(
                "Canonical correlation of question and release",
                r"\rho_{cc}^2=\frac{c^\top V_g^{+}c}{V_q},\quad r^2=\rho_{cc}^2-c_0",
                rf"\rho_{{cc}}={float(mine.rho_cc[0]):.4g},\ r={float(mine.r[0]):.4g}",
                "exact",
                "Def 3.5, Thm 3.6",
            ),
            Formula(
                "Moments of the releases",
                r"g=y-\bar y;\quad g=(w^\top x-y)x;\quad g_t=w_{t-1}-w_t-\eta\,\nabla\ell(w_{t-1})",
                r"\text{mean; fitted model; descent, step by step}",
                "exact",
                "Thm 4.1, Thm 4.2, A.1; the last step alone: derived",
            ),
            Formula(
                "Uncorrelated with the loss is not enough",
                r"q^{\perp}=q-\hat\beta\,\ell:\quad \mathrm{corr}(q^{\perp},\ell)=0,\ \rho_{cc}(q^{\perp})>0",
                rf"\rho_{{cc}}:\ {fit:.4g}\to {freed:.4g}",
                "exact",
                "remark after Thm 4.2",
            ),
            Formula(
                "Tightest bound",
                r"\frac{HV_q r}{n_{\mathrm{eff}}}\cdot\frac2\pi\left(\sqrt{1-r^2}+r\arcsin r\right)",
                rf"{float(mine.product[0]):.4g}",
                "bound",
                "derived, checked in tests/unit/predictability/test_predictability_bounds.py",
            ),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        return result.frame[result.frame["panel"] == (view or "map")].reset_index(drop=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the map, or four releases side by side."""
        scenario: Any = result.scenario
        names = result.extra["names"]
        if view == "bars":
            frame = self.numbers(result, "bars")
            shown = [_short(names[place]) for place in result.extra["order"]]
            marks: list[Any] = []
            for label, role in RELEASES.values():
                rows = frame[frame["series"] == label]
                short = label.replace(" of ", "<br>of ").replace("fitted ", "fitted<br>")
                marks.append(Bars(role, shown, rows["y"].to_numpy(), label, short, hover=f"{label}: r = {{y}}"))
            return Chart(
                "What four releases tell about the same questions",
                "correlation r with the release, 0 to 1",
                Axis("question", "category"),
                Axis("correlation r", "linear", 0.0, 1.0),
                (Panel(tuple(marks)),),
            )
        frame = self.numbers(result, "map")
        x, y = frame["x"].to_numpy(dtype=np.float64), frame["y"].to_numpy(dtype=np.float64)
        title, role = RELEASES[scenario.release]
        marks = []
        groups: tuple[tuple[str, Role, list[int]], ...] = (
            ("questions", role, list(range(2, len(names)))),
            ("your question", "attacker", [0]),
            (FREED, "non-private", [1]),
        )
        strong = [place for place in range(len(names)) if x[place] >= FREE and place != 1]
        named = {*strong, *_spread_out(x, [place for place in range(2, len(names)) if place not in strong])}
        for series, look, places in groups:
            kept = [place for place in places if y[place] > 0]
            if kept:
                marks.append(
                    Points(
                        look, x[kept], y[kept], series,
                        text=[_short(names[place]) if place in named else "" for place in kept],
                        hover="γ {y}", open=series == FREED, size=11 if series == "your question" else 9,
                    )
                )  # fmt: skip
        return Chart(
            "Every question: how strongly the release tells",
            f"tightest bound on γ, {title}"[:48],
            Axis("correlation r of question and release", "linear", 0.0, 1.0,
                 ends=("free", "given away"), symbol="r"),
            Axis("predictability γ", "log", unit="squared error", symbol="γ"),
            (Panel(tuple(marks)),),
        )  # fmt: skip


@dataclass(frozen=True)
class _Columns:
    """Columns that are needed, for :func:`problems_of`."""

    reads: tuple[str, ...]


def _freed(answers: FloatArray, losses: FloatArray) -> FloatArray:
    """Return the answers without what is linear in the losses."""
    centred = losses - losses.mean()
    square = float(np.square(centred).sum())
    slope = float(((answers - answers.mean()) * centred).sum()) / square if square > 0 else 0.0
    return np.asarray(answers - slope * centred)


def _correlations(answers: FloatArray, losses: FloatArray) -> FloatArray:
    centred = answers - answers.mean(axis=0)
    other = losses - losses.mean()
    size = np.sqrt(np.square(centred).sum(axis=0) * float(np.square(other).sum()))
    cross = np.einsum("nk,n->k", centred, other)
    return np.asarray(np.abs(np.divide(cross, size, out=np.zeros_like(cross), where=size > 0)))


def _short(name: str) -> str:
    return name if len(name) <= 26 else name[:25] + "…"


def _spread_out(x: FloatArray, places: Sequence[int], gap: float = 0.03) -> list[int]:
    """Return the places whose names have room: the first of those that lie close together."""
    out: list[int] = []
    for place in places:
        if all(abs(x[place] - x[other]) > gap for other in out):
            out.append(place)
    return out
