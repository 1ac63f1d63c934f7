"""Gradient descent, step by step: what the last step and the whole path would tell (predictability V8; A.1)."""

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
from privexplorer.errors import DataError, ParameterError
from privexplorer.records import Number, Scenario, field
from privexplorer.studies._predictability import (
    ASSUMPTIONS,
    SHARED_NOISE,
    CompromisedFraction,
    DataChoice,
    LinearPopulation,
    NoiseLevel,
    NoiseScaleChoice,
    TwentyPeople,
    data_notes,
    question_words,
    read_people,
)
from privexplorer.studies._release_choices import (
    NUMERIC,
    ColumnName,
    ColumnNames,
    OneCondition,
    QuestionChoice,
    problems_of,
    wrong_columns,
)
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, plain_markdown, significant

LAST, PATH, MODEL = "last step", "whole path", "fitted model"
LOSS, LOSS_FLOOR = "training loss", "loss of the fitted model"
GAIN_LAST, GAIN_PATH = "gain, last step", "gain, whole path"
PANELS = {"r": "share explained", "loss": "training loss", "gamma": "predictability"}
PRINTED = pr.smoothness("squared") * pr.KAPPA
"""What the printed bound multiplies r by, besides V_q over the effective size."""


class DescentScenario(Scenario):
    """Which descent, and what is asked."""

    data: DataChoice = field(
        LinearPopulation(), "People", "Whose table it is.", key="data", group="Data", discriminator="kind"
    )
    outcome: ColumnName = field(
        "y", "Outcome", "What the model explains.", key="outcome", group="Data", column_of="data", kinds=NUMERIC
    )
    features: ColumnNames = field(
        ("x1", "x2", "x3"), "Features", "What explains it.", key="features", group="Data", column_of="data",
        kinds=NUMERIC,
    )  # fmt: skip
    intercept: bool = field(True, "Intercept", "Add a constant to the features.", key="intercept", group="Data",
                            advanced=True)  # fmt: skip
    loss: Literal["squared", "logistic", "poisson"] = field(
        "squared", "Training loss", "What the descent makes small.", key="loss", group="Data",
        titles={"squared": "Squared (linear regression)", "logistic": "Logistic (yes/no outcome)",
                "poisson": "Poisson (counts)"},
        advanced=True,
    )  # fmt: skip
    steps: Annotated[int, Number] = field(
        20, "Steps T", "How long the descent runs.", key="steps", group="Method", ge=1, le=200, scale="log", low=5,
        high=100,
    )  # fmt: skip
    step_size: Annotated[float, Number] = field(
        0.2, "Step size η", "Must stay below 2 over the largest curvature.", key="rate", group="Method", scale="log",
        low=0.001, high=2.0, gt=0, le=1e6,
    )  # fmt: skip
    noise: NoiseLevel = 0.0
    compromised: CompromisedFraction = 0.3
    noise_scale: NoiseScaleChoice = "release"
    question: QuestionChoice = field(
        OneCondition(column="x1", sign=">", value="1"), "Sensitive question",
        "What the attacker wants to know about the other people.",
        key="ask", group="Attacker", discriminator="kind",
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Prepared:
    """People summed out: the descent's moments, and those of the fitted model where there is one."""

    sums: pr.DescentSums
    model: pr.MomentSummary | None
    model_loss: float
    why_no_model: str
    people: int
    name: str
    notes: tuple[Note, ...]
    far: float


def record_of(scenario: DescentScenario) -> pr.GradientDescent:
    """Return the descent."""
    return pr.GradientDescent(
        features=scenario.features,
        target=scenario.outcome,
        intercept=scenario.intercept,
        loss=scenario.loss,
        steps=scenario.steps,
        step_size=scenario.step_size,
    )


def model_of(scenario: DescentScenario) -> pr.ReleaseRecord:
    """Return the model that the descent tends to."""
    what: dict[str, Any] = {
        "features": scenario.features, "target": scenario.outcome, "intercept": scenario.intercept,
    }  # fmt: skip
    if scenario.loss == "logistic":
        return pr.LogisticRegression(**what)
    if scenario.loss == "poisson":
        return pr.PoissonRegression(**what)
    return pr.LinearRegression(**what)


class DescentTapeStudy(Study[DescentScenario]):
    """r of the last step and of the path, by step."""

    id: ClassVar[str] = "descent-tape"
    question: ClassVar[str] = "What does it tell to publish how a model was trained?"
    lead: ClassVar[str] = (
        "Gradient descent, step by step: what its last step tells about people who have not leaked, and what the whole "
        "path tells."
    )
    tab: ClassVar[str] = "Descent tape"
    card: ClassVar[str] = "The path of a training run tells more than its end."
    link: ClassVar[str] = "Follow a descent"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "tape"
    scenario: ClassVar[type[Scenario]] = DescentScenario
    late: ClassVar[frozenset[str]] = frozenset({"noise", "compromised", "noise_scale"})
    views: ClassVar[Mapping[str, str]] = {"tape": "Tape", "gamma": "Predictability"}
    rows: ClassVar[tuple[str, ...]] = ("P-A1u", "P-A1")

    def presets(self) -> tuple[Preset[DescentScenario], ...]:
        """Finished examples."""
        make = DescentScenario
        return (
            Preset("Linear regression", make()),
            Preset("With noise on every number", make(noise=0.02)),
            Preset("About the residual", make(question=OneCondition(column="secret"))),
            Preset(
                "Twenty people",
                make(
                    data=TwentyPeople(), outcome="y", features=("x1", "x2"), intercept=False, steps=50, step_size=0.02,
                    question=OneCondition(column="q"), compromised=0.4,
                ),
            ),
            Preset(
                "Logistic regression",
                make(
                    outcome="secret", features=("x1", "x2", "y"), loss="logistic", step_size=0.5, steps=30,
                ),
            ),
        )  # fmt: skip

    def check(self, scenario: DescentScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        width = len(scenario.features) + scenario.intercept
        if scenario.steps * width > pr.PATH_LIMIT:
            return (
                f"{scenario.steps} steps of {width} coefficients make {scenario.steps * width:,} numbers, but at most "
                f"{pr.PATH_LIMIT} can be followed. Take at most {pr.PATH_LIMIT // width} steps.",
            )
        return problems_of(scenario.data, (scenario.question,)) or wrong_columns(
            scenario.data, (scenario.outcome, *scenario.features)
        )

    def prepare(self, scenario: DescentScenario, tables: Tables | None) -> Prepared:
        """Run the descent and sum the people out."""
        columns = (scenario.outcome, *scenario.features, *scenario.question.reads)
        people = read_people(scenario.data, tables, columns)
        asked = pr.query_set([scenario.question.expression(people.table)], people.table)
        sums = pr.descent_sums(record_of(scenario), people.table, asked, path_steps(scenario.steps))
        model, loss, why, far = None, math.nan, "", math.nan
        try:
            fitted = model_of(scenario).fit(people.table)
        except (ParameterError, DataError) as error:
            why = str(error)
        else:
            model = pr.summarise(people.table, asked, fitted)
            far = float(np.abs(sums.parameters[-1] - fitted.parameters).max())
            if isinstance(fitted, pr.FittedModel):
                found = pr.loss_sums(people.table, scenario.loss, record_of(scenario).design, fitted.coefficients)
                loss = found.loss / found.count
        return Prepared(
            sums,
            model,
            loss,
            why,
            people.n,
            question_words(asked.expressions[0].text, people.table),
            data_notes(people),
            far,
        )

    def assemble(self, scenario: DescentScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out the tape at the present noise."""
        size = pr.shard_size(scenario.compromised, prepared.people)
        multiplier = size.multiplier(scenario.noise_scale)
        tape = prepared.sums.at(scenario.noise**2, multiplier)
        last, path = tape.last[:, 0], tape.path[:, 0]
        steps = np.arange(1.0, last.size + 1)
        looked = np.array(prepared.sums.path_steps, dtype=np.float64)
        rows: list[tuple[str, Any, Any, Any]] = [(LAST, steps, last, 0.0), (PATH, looked, path, 0.0)]
        model = math.nan
        if prepared.model is not None:
            sigma = scenario.noise**2 * np.eye(prepared.model.dimension) if scenario.noise else None
            model = math.sqrt(float(pr.noise_spectrum(prepared.model, sigma, multiplier).r2()[0]))
            rows.append((MODEL, steps, np.full(steps.size, model), 0.0))
        variance = float(prepared.sums.last[0].query_variance[0])
        trained: list[tuple[str, Any, Any, Any]] = [(LOSS, np.arange(0.0, tape.losses.size), tape.losses, 0.0)]
        if math.isfinite(prepared.model_loss):
            floor = np.full(tape.losses.size, prepared.model_loss)
            trained.append((LOSS_FLOOR, np.arange(0.0, floor.size), floor, 0.0))
        gains = [
            (name, x, variance * r**2 / size.effective, 0.0)
            for name, x, r in ((GAIN_LAST, steps, last), (GAIN_PATH, looked, path))
        ]
        bounds = [
            (f"printed bound, {name}", x, PRINTED * variance * r / size.effective, 0.0)
            for name, x, r in ((LAST, steps, last), (PATH, looked, path))
        ]
        frame = pd.concat(
            [
                tidy(rows, panel=PANELS["r"]),
                tidy(trained, panel=PANELS["loss"]),
                tidy([*gains, *bounds], panel=PANELS["gamma"]),
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, frame, last, path, model, (size, multiplier, variance))

    def told(
        self,
        scenario: DescentScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        last: FloatArray,
        path: FloatArray,
        model: float,
        attack: tuple[pr.AttackSize, float, float],
    ) -> Result:
        """Say what the numbers mean."""
        steps = scenario.steps
        settled = prepared.sums.path_steps[settled_at(path)]
        end, whole = float(last[-1]), float(path[-1])
        losses = prepared.sums.losses
        cards = (
            Card(
                "Last step",
                f"r = {significant(end)}",
                f"{percent(end**2)} explained"[:18],
                "How strongly the step's coefficients and the question go together; r² is the share of the attacker's "
                "squared error that it removes.",
            ),
            Card(
                "Whole path",
                f"r = {significant(whole)}",
                f"{percent(whole**2)} explained"[:18],
                f"The same if all {steps} steps are published.",
            ),
            Card(
                "Path complete",
                f"step {settled}",
                f"of {steps}",
                "From this step on, further steps add less than 1% to r.",
            ),
            Card(
                "Training loss",
                significant(float(losses[-1])),
                f"from {significant(float(losses[0]), 2)}"[:18],
                "After the last step.",
            ),
        )
        more = whole**2 / end**2 if end > 0 else math.inf
        words = (
            f"After **{steps} steps** the last one explains **{percent(end**2)}** of what a shard of "
            f"{percent(scenario.compromised)} does not know about *{plain_markdown(prepared.name)}*; the whole path "
            f"explains **{percent(whole**2)}**"
            + (f", {significant(more, 2)} times as much. " if math.isfinite(more) and more >= 1.05 else ". ")
            + f"The path has told all it can by step {settled}"
            + (f"; the fitted model itself explains {percent(model**2)}. " if math.isfinite(model) else ". ")
            + "Without noise the path never tells less than its end."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=words,
            takeaway=(
                f"Correlation of a question with gradient descent by step. After {steps} steps it is "
                f"{significant(end)} for the last step and {significant(whole)} for the whole path."
            ),
            notes=self.notes(scenario, prepared),
            formulas=self.formulas(scenario, prepared, last, path, attack),
            assumptions=(
                *ASSUMPTIONS,
                "The descent starts at 0 and uses everybody's records in every step. (A.1)",
                "“Last step” publishes the coefficients after that step alone; “whole path” those of every step up to "
                "it, each with its own noise. The source leaves open which is meant. (A.1)",
                "The fitted model is where the descent ends; its moments are the gradient at the minimum. (Thm 4.2)",
            ),
            extra={"model": model, "settled": settled, "name": prepared.name},
        )

    def notes(self, scenario: DescentScenario, prepared: Prepared) -> tuple[Note, ...]:
        """Return what a reader must know."""
        out = list(prepared.notes)
        if prepared.why_no_model:
            out.append(Note(plain_markdown(prepared.why_no_model), title="There is no fitted model to compare with"))
        if scenario.noise_scale == "paper" and scenario.noise:
            out.append(Note(SHARED_NOISE, "warning", "Counted as printed"))
        return tuple(out)

    def formulas(
        self,
        scenario: DescentScenario,
        prepared: Prepared,
        last: FloatArray,
        path: FloatArray,
        attack: tuple[pr.AttackSize, float, float],
    ) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers."""
        size, multiplier, variance = attack
        width = prepared.sums.parameters.shape[1]
        gain, bound = (variance * r / size.effective for r in (float(path[-1]) ** 2, float(path[-1])))
        out = [
            Formula(
                "One step",
                r"w_t=w_{t-1}-\eta\,\frac1N\sum_i\nabla\ell(z_i,w_{t-1})",
                rf"\eta={scenario.step_size:g},\ T={scenario.steps},\ d={width}"
                + (rf",\quad\max|w_T-w_{{\mathrm{{erm}}}}|={prepared.far:.3g}" if math.isfinite(prepared.far) else ""),
                "exact",
                "A.1",
            ),
            Formula(
                "The path as moments",
                r"g_t(z)=w_{t-1}-w_t-\eta\nabla\ell(z,w_{t-1}),\qquad m=d=d_wT",
                rf"m={width}\times{scenario.steps}={width * scenario.steps},\quad r={float(path[-1]):.6g}",
                "exact",
                "A.1",
            ),
            Formula(
                "The last step alone",
                r"\phi_t=\phi_{t-1}(I-\eta\bar H_{t-1})^\top+g_t",
                rf"r={float(last[-1]):.6g}",
                "exact",
                "A.1 (derived, checked in tests/unit/predictability/test_predictability_analysis.py)",
            ),
            Formula(
                "Gain and printed bound of the path",
                r"\gamma=\frac{V_qr^2}{\alpha(1-\alpha)N}\le\frac{H\kappa}{\alpha(1-\alpha)N}V_q\,r",
                rf"{gain:.4g}\le{PRINTED * bound:.4g}\qquad(V_q={variance:.4g},\ \nu={multiplier:.4g})",
                "bound",
                "Cor 3.8",
            ),
        ]
        return tuple(out)

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the tape, or γ by step."""
        if view == "gamma":
            return self.gamma_chart(result)
        looks: tuple[tuple[str, Role, str, str, str, bool], ...] = (
            ("r", "attacker", PATH, "whole path", "whole path: r = {y}", True),
            ("r", "private", LAST, "last step", "last step: r = {y}", False),
            ("r", "truth", MODEL, "fitted model", "fitted model: r = {y}", False),
            ("loss", "data", LOSS, "training", "training loss {y}", True),
            ("loss", "truth", LOSS_FLOOR, "fitted model", "fitted model: loss {y}", False),
        )
        marks: dict[str, list[Line]] = {"r": [], "loss": []}
        for panel, role, name, label, hover, main in looks:
            rows = result.series(name, PANELS[panel])
            if len(rows):
                x, y = rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64)
                shown = None if name == LOSS_FLOOR else label
                marks[panel].append(
                    Line(role, x, y, name, shown, main=main, markers=x.size <= 60 and main, hover=hover)
                )
        return Chart(
            f"What each step tells about “{short(result.extra['name'])}”",
            "r: 0 tells nothing, 1 all; below: training",
            Axis("step t", "linear", symbol="step"),
            Axis("r", "linear", 0.0, 1.0),
            (
                Panel(tuple(marks["r"]), "Correlation r", y=Axis("r", "linear", 0.0, 1.0)),
                Panel(tuple(marks["loss"]), "Training loss", y=Axis("loss", "linear")),
            ),
            shared_y=False,
            height=520,
        )

    def gamma_chart(self, result: Result) -> Chart:
        """Describe γ by step, with the printed bound."""
        looks: tuple[tuple[Role, str, str, bool], ...] = (
            ("upper bound", f"printed bound, {PATH}", "bound,<br>path", False),
            ("upper bound", f"printed bound, {LAST}", "bound,<br>last step", False),
            ("attacker", GAIN_PATH, "gain,<br>path", True),
            ("private", GAIN_LAST, "gain,<br>last step", False),
        )
        marks = []
        for role, name, label, main in looks:
            rows = result.series(name, PANELS["gamma"])
            if (rows["y"] > 0).any():
                marks.append(
                    Line(
                        role,
                        rows["x"].to_numpy(dtype=np.float64),
                        rows["y"].to_numpy(dtype=np.float64),
                        name,
                        label,
                        main=main,
                        hover=f"{name}: {{y}}",
                    )
                )
        return Chart(
            f"How much easier “{short(result.extra['name'])}” gets, by step",
            "γ: drop of the squared error, log scale",
            Axis("step t", "linear", symbol="step"),
            Axis("γ", "log"),
            (Panel(tuple(marks)),),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        wanted = ("gamma",) if view == "gamma" else ("r", "loss")
        return result.frame[result.frame["panel"].isin([PANELS[name] for name in wanted])]


def path_steps(steps: int) -> tuple[int, ...]:
    """Return the steps at which the path is looked at: the first six, then ever rarer ones, and the last.

    Examples
    --------
    >>> path_steps(4), path_steps(30)
    ((1, 2, 3, 4), (1, 2, 3, 4, 5, 6, 8, 10, 13, 18, 23, 30))
    """
    later = np.rint(np.geomspace(6, max(steps, 6), 7)).astype(int).tolist()
    return tuple(sorted({step for step in (1, 2, 3, 4, 5, 6, *later) if step <= steps}))


def settled_at(path: FloatArray) -> int:
    """Return the place from which on the path's r grows by less than 1% in all.

    Examples
    --------
    >>> settled_at(np.array([0.5, 0.7, 0.798, 0.8, 0.8]))
    2
    """
    return int(np.argmax(path >= 0.99 * path[-1]))


def short(name: str) -> str:
    """Return a question for a title."""
    return name if len(name) <= 30 else name[:29] + "…"


__all__ = ["DescentScenario", "DescentTapeStudy", "path_steps", "settled_at"]
