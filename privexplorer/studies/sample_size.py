"""How many people does a target error take, with and without privacy? (properties §2, §3; Lem 25, Lem 32)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteDistribution, TwoStep, Uniform, Zipf
from privexplorer.properties import PlugIn, SparseSupport
from privexplorer.records import Epsilon, Grid, Number, Scenario, Seed, Trials, field
from privexplorer.studies import _goals as goals
from privexplorer.studies._fields import distribution_field
from privexplorer.studies._notes import table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, plus_minus, significant, whole, with_unit

EPSILONS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 10.0, 25)])
REACH = np.geomspace(0.2, 5.0, 21)
"""Targets of the third view, as multiples of one's own."""
PANELS = {"error": "error against n", "epsilon": "people against ε", "target": "people against the target"}
NAMES = ("private", "without privacy", "upper bound", "a coin")


FAILURE = 1 / 3
"""How often an answer may be off by more than the target, as sample complexities are counted (properties §0)."""


class SampleSizeScenario(Scenario):
    """A goal, an ε and a target error."""

    goal: goals.Goal = field(
        goals.EntropyGoal(),
        "What do you want to know?",
        "Errors of coverage are shares of the further records, errors of support size shares of k.",
        key="goal",
        group="Data",
        discriminator="kind",
    )
    target: Annotated[float, Number] = field(
        0.1,
        "Error that you accept",
        "Root-mean-square: in nats for the entropy, as a share of the further records for coverage, as a share of k "
        "for the support size.",
        key="target",
        group="Goal",
        scale="log",
        low=0.005,
        high=1.0,
        ge=1e-6,
        le=10,
    )
    distribution: DiscreteDistribution = distribution_field(Zipf(k=1000, exponent=1.0), "Distribution that you expect")
    epsilon: Epsilon = 0.1
    n: Grid = field(
        Grid(low=100, high=20_000, points=14),
        "Sample sizes to look at, people",
        "The answer is searched inside this range.",
        key="n",
        group="Method",
    )
    trials: Trials = 300
    seed: Seed = 0


class SampleSize(Study[SampleSizeScenario]):
    """The sample size at which an error meets a target, simulated and by a bound."""

    id: ClassVar[str] = "sample-size"
    version: ClassVar[int] = 2
    question: ClassVar[str] = "How many people do I need?"
    lead: ClassVar[str] = "Say how large an error you accept: where the curves meet it, with and without privacy."
    tab: ClassVar[str] = "How many people"
    card: ClassVar[str] = "The sample size that reaches your target, and how many people privacy adds."
    link: ClassVar[str] = "Plan a sample"
    theme: ClassVar[str] = "plan"
    picture: ClassVar[str] = "plan"
    scenario: ClassVar[type[Scenario]] = SampleSizeScenario
    late: ClassVar[frozenset[str]] = frozenset({"target", "epsilon", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "error": "Error against n",
        "epsilon": "Against ε",
        "target": "Against the target",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-PE", "T-Lem25", "T-Lem32", "T-CoinRef")

    def presets(self) -> tuple[Preset[SampleSizeScenario], ...]:
        """Finished examples."""
        make = SampleSizeScenario
        return (
            Preset("Entropy of a survey", make()),
            Preset(
                "Plug-in, few values",
                make(
                    goal=goals.EntropyGoal(estimator=PlugIn()),
                    distribution=Uniform(k=50),
                    target=0.05,
                    n=Grid(low=50, high=20_000, points=16),
                ),
            ),
            Preset(
                "Three times the sample",
                make(
                    goal=goals.CoverageGoal(),
                    target=0.02,
                    epsilon=0.5,
                    n=Grid(low=100, high=30_000, points=14),
                ),
            ),
            Preset(
                "Number of values",
                make(
                    goal=goals.SupportGoal(k=1000, estimator=SparseSupport()),
                    distribution=TwoStep(k=500),
                    target=0.05,
                    epsilon=0.5,
                    n=Grid(low=600, high=10_000, points=14),
                ),
            ),
        )

    def check(self, scenario: SampleSizeScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        return goals.refused(scenario.goal, scenario.distribution, scenario.n.values(), tables)

    def size(self, scenario: SampleSizeScenario) -> int:
        """Trials per block."""
        return goals.block_size(scenario.goal, scenario.distribution, scenario.n.values())

    def blocks(self, scenario: SampleSizeScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: SampleSizeScenario, tables: Tables | None) -> goals.Prepared:
        """Compute tables, exact biases and sensitivities."""
        ns = scenario.n.values()
        return goals.prepare(scenario.goal, scenario.distribution, ns, scenario.seed, self.size(scenario), tables)

    def run_block(self, prepared: goals.Prepared, block: int) -> FloatArray:
        """Return a block of estimates."""
        return goals.run_block(prepared, block)

    def assemble(self, scenario: SampleSizeScenario, prepared: goals.Prepared, parts: Sequence[FloatArray]) -> Result:
        """Look the target up on the curves, for this ε, for every ε and for every target."""
        blocks = stacked(parts, scenario.trials)[:, 0, :]
        points = goals.parts_at_points(prepared, blocks)
        fine = goals.parts_between(prepared, points)
        target, epsilon = scenario.target, scenario.epsilon
        by_epsilon = [(each, each, target) for each in EPSILONS.tolist()]
        by_target = [(each, epsilon, each) for each in targets(target).tolist()]
        found = {
            "private": goals.people_needed(fine, target, epsilon),
            "without privacy": goals.people_needed(fine, target, None),
            "upper bound": goals.people_for_sure(prepared, fine, target, epsilon),
        }
        frame = pd.concat(
            [
                tidy(error_rows(points, epsilon, found, target), panel=PANELS["error"]),
                tidy(along(prepared, fine, by_epsilon), panel=PANELS["epsilon"]),
                tidy(along(prepared, fine, by_target), panel=PANELS["target"]),
            ],
            ignore_index=True,
        )
        halves = (
            goals.people_needed(fine, target / 2, None),
            goals.people_for_noise(prepared, target * epsilon / 4),
        )
        missed = goals.failures(prepared, blocks, points, target, epsilon)
        often = goals.smallest_size(missed.n, missed.variance, missed.doubt, FAILURE)
        return self.told(scenario, prepared, frame, found, halves, often, int(blocks.shape[0]))

    # ---- words ----

    def told(
        self,
        scenario: SampleSizeScenario,
        prepared: goals.Prepared,
        frame: pd.DataFrame,
        found: Mapping[str, goals.Found],
        halves: tuple[goals.Found, goals.Found],
        often: goals.Found,
        runs: int,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        goal, target, epsilon = scenario.goal, scenario.target, scenario.epsilon
        first, last = int(prepared.ns[0]), int(prepared.ns[-1])
        private, plain, sure = (found[name] for name in NAMES[:3])
        coin = math.ceil(goals.coin_people(target, epsilon) - 1e-9)
        cost = extra_people(private, plain)
        cards = (
            Card("People needed", *people(private, first, last), "With privacy; ± is two standard errors."),
            Card("Without privacy", *people(plain, first, last), "The same estimator without noise."),
            Card(
                "Privacy costs you",
                *(cost if cost is not None else ("–", "not inside the range")),
                "More people for the same error. ± as if the two numbers were independent; they share their samples.",
            ),
            Card(
                "Surely enough",
                people(sure, first, last)[0],
                "theorem" if sure.place == "inside" else people(sure, first, last)[1],
                "Where the bound meets the target: exact bias, Lemma 32 for the variance, and the noise.",
            ),
        )
        wish = f"To be off by no more than **{with_unit(f'{target:g}', goal.unit)}** (root-mean-square)"
        if private.place == "never":
            told = (
                f"{wish} at **ε = {epsilon:g}**, even **{last:,} people** are not enough; "
                + limit_words(prepared, scenario, frame)
                + (
                    f"Without privacy {sentence_number(plain)} would do. "
                    if plain.place == "inside"
                    else f"Without privacy {first:,} would do. "
                    if plain.place == "smallest"
                    else "Without privacy they are not enough either. "
                )
                + "Look at larger samples, or accept a larger error. "
            )
        elif private.place == "smallest":
            told = (
                f"{wish} at **ε = {epsilon:g}**, already **{first:,} people**, the smallest sample looked at, are "
                "enough. Look at smaller samples, or ask for less error. "
            )
        else:
            told = f"{wish} at **ε = {epsilon:g}** you need about **{sentence_number(private)}**. "
            if plain.place == "inside":
                more = whole(max(0, private.people - plain.people))
                told += (
                    f"Without privacy it is {sentence_number(plain)}: privacy costs you **{more} more people**, "
                    f"{compared(private.n / plain.n)}. "
                )
            else:
                told += f"Without privacy already {first:,}, the smallest sample looked at, are enough. "
        told += (
            f"The bound that is a theorem for this distribution asks for {whole(sure.people)}. "
            if sure.place == "inside"
            else "The bound that is a theorem for this distribution stays above the target on this range. "
            if sure.place == "never"
            else ""
        )
        shows = told + f"A coin's bias would take {coin:,} people."
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Error of a private estimate ({goal.title.lower()}) against the sample size, with a line at "
                f"{target:g} {goal.unit}. People needed at epsilon {epsilon:g}: "
                f"{' '.join(people(private, first, last))}; without privacy: {' '.join(people(plain, first, last))}."
            ),
            notes=self.notes(scenario, found),
            formulas=(
                *goals.error_formulas(goal, prepared, shown_size(found, last), epsilon, target),
                self.lemma(scenario, prepared, halves),
                Formula(
                    "Sample complexity: off by more than the target at most one time in three",
                    r"\min\{n:\Pr(|\tilde f-f|>R)\le\tfrac13\}",
                    rf"R = {target:g}:\quad \text{{{' '.join(people(often, first, last))}}}",
                    "heuristic",
                    "Sec 4.2 (simulated, the noise exactly; properties §0)",
                ),
            ),
            assumptions=tuple(goals.ASSUMPTIONS),
            extra={"found": dict(found), "prepared": prepared},
            runs=runs,
        )

    def lemma(
        self, scenario: SampleSizeScenario, prepared: goals.Prepared, halves: tuple[goals.Found, goals.Found]
    ) -> Formula:
        """Write Lemma 25 with the numbers of this estimator."""
        first, last = int(prepared.ns[0]), int(prepared.ns[-1])
        learning, noise = (people(half, first, last)[0] for half in halves)
        return Formula(
            "Learning and privacy apart",
            r"n=O\bigl(S(\tfrac R2)+D(\tfrac R4,\varepsilon)\bigr),\quad "
            r"D(R,\varepsilon)=\min\{n:\Delta_j\le R\varepsilon\ \forall j\ge n\}",
            rf"S({scenario.target / 2:g}):\ \text{{{learning}}},\qquad "
            rf"D({scenario.target / 4:g}, {scenario.epsilon:g}):\ \text{{{noise}}}",
            "shape only",
            "Lemma 25",
        )

    def notes(self, scenario: SampleSizeScenario, found: Mapping[str, goals.Found]) -> tuple[Note, ...]:
        """Say what a reader must know about the choices."""
        out = list(table_notes(scenario.distribution))
        again = found["private"].again
        if math.isfinite(again):
            out.append(
                Note(
                    f"From about n = {whole(again)} on the error is above the target again: this estimator's tuning "
                    "is not for so many records of this distribution. The smallest sample that reaches the target is "
                    "shown."
                )
            )
        return tuple(out)

    # ---- charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        return result.frame[result.frame["panel"] == PANELS[view]]

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the error against n, or the people needed against ε or the target."""
        if view in ("epsilon", "target"):
            return people_chart(result, view)
        scenario: Any = result.scenario
        goal, frame = scenario.goal, self.numbers(result, "error")
        marks: list[Any] = []
        for name, role, label in (
            ("a coin", "truth", "a coin"),
            ("upper bound", "upper bound", "upper bound"),
            ("without privacy", "non-private", "without<br>privacy"),
            ("private", "private", "private"),
        ):
            rows = frame[frame["series"] == name]
            error = rows["std_error"].to_numpy()
            marks.append(
                Line(
                    role,  # type: ignore[arg-type]
                    rows["x"].to_numpy(dtype=np.float64),
                    rows["y"].to_numpy(),
                    name,
                    label,
                    error if error.any() else None,
                    main=name == "private",
                    hover=f"{name}: off by {{y}} ± {{e}} {goal.unit}",
                )
            )
        here = None
        for name, role in (("without privacy, found", "non-private"), ("private, found", "private")):
            rows = frame[frame["series"] == name]
            if len(rows):
                n = float(rows["x"].iloc[0])
                words = f"{whole(n)} people"
                mine = role == "private"
                here = (n, words) if mine else here
                marks.append(
                    Points(
                        role,  # type: ignore[arg-type]
                        [n],
                        [scenario.target],
                        name,
                        text=None if mine else (words,),
                        hover=f"{name}: n = {whole(n)}",
                    )
                )
        return Chart(
            f"Error of the estimate ({goal.title.lower()})",
            f"root-mean-square, {goal.measure}",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("error", "log", unit=goal.unit if goal.unit == "nats" else ""),
            (Panel(tuple(marks), here=here, level_lines=((scenario.target, f"you accept {scenario.target:g}"),)),),
        )


def error_rows(
    points: goals.Parts, epsilon: float, found: Mapping[str, goals.Found], target: float
) -> list[tuple[str, Any, Any, Any]]:
    """Numbers of the first view: curves at the simulated sizes, and the sizes that were found."""
    ns = points.n.astype(np.int64)
    rows: list[tuple[str, Any, Any, Any]] = [
        ("private", ns, *points.errors(epsilon)),
        ("without privacy", ns, *points.errors(None)),
        ("upper bound", ns, points.bound(epsilon), 0.0),
        ("a coin", ns, [goals.coin_error(float(n), epsilon) for n in ns], 0.0),
    ]
    rows += [
        (f"{name}, found", [found[name].people], [target], 0.0)
        for name in ("private", "without privacy")
        if found[name].place == "inside"
    ]
    return rows


def along(
    prepared: goals.Prepared, fine: goals.Parts, settings: Sequence[tuple[float, float, float]]
) -> list[tuple[str, Any, Any, Any]]:
    """People needed at ``(x, ε, target)``; where the target is not met inside the range, there is no number."""
    out: dict[str, tuple[list[float], list[float], list[float]]] = {name: ([], [], []) for name in NAMES}

    def put(name: str, x: float, n: float, error: float) -> None:
        for column, value in zip(out[name], (x, n, error), strict=True):
            column.append(value)

    for x, epsilon, target in settings:
        for name, one in (
            ("private", goals.people_needed(fine, target, epsilon)),
            ("without privacy", goals.people_needed(fine, target, None)),
            ("upper bound", goals.people_for_sure(prepared, fine, target, epsilon)),
        ):
            if one.place == "inside":
                put(name, x, one.n, one.error)
        put("a coin", x, goals.coin_people(target, epsilon), 0.0)
    return [(name, *columns) for name, columns in out.items() if columns[0]]


def targets(target: float) -> FloatArray:
    """Return the targets of the third view."""
    return np.array([float(f"{value:.6g}") for value in target * REACH])


def people_chart(result: Result, view: str) -> Chart:
    """Describe the people needed against ε, or against the target."""
    scenario: Any = result.scenario
    looks: dict[str, tuple[Role, str]] = {
        "a coin": ("truth", "a coin"),
        "upper bound": ("upper bound", "upper bound"),
        "without privacy": ("non-private", "without<br>privacy"),
        "private": ("private", "private"),
    }
    marks = []
    for name, (role, label) in looks.items():
        rows = result.series(name, PANELS[view])
        if len(rows):
            error = rows["std_error"].to_numpy()
            marks.append(
                Line(
                    role,
                    rows["x"].to_numpy(dtype=np.float64),
                    rows["y"].to_numpy(),
                    name,
                    label,
                    error if error.any() else None,
                    main=name == "private",
                    hover=f"{name}: {{y}} ± {{e}} people",
                )
            )
    unit = scenario.goal.unit
    epsilon = view == "epsilon"
    return Chart(
        f"People needed to be off by {with_unit(f'{scenario.target:g}', unit)}"
        if epsilon
        else f"People needed at ε = {scenario.epsilon:g}",
        "sample size n, log scale",
        Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε")
        if epsilon
        else Axis(f"error that you accept, {unit}", "log", symbol="error"),
        Axis("people", "log"),
        (
            Panel(
                tuple(marks),
                here=(scenario.epsilon, f"your ε = {scenario.epsilon:g}")
                if epsilon
                else (scenario.target, f"yours: {scenario.target:g}"),
            ),
        ),
    )


def people(found: goals.Found, first: int, last: int) -> tuple[str, str]:
    """Write a number of people and its ± for a card."""
    if found.place == "never":
        return f"over {last:,}", "target not reached"
    if found.place == "smallest":
        return f"at most {first:,}", "smallest looked at"
    return whole(found.people), plus_minus(found.n, 2 * found.error)[1]


def sentence_number(found: goals.Found) -> str:
    """Write a number of people with its ± for a sentence."""
    value, around = people(found, 0, 0)
    return f"{value} people ({around})" if around != "± 0" else f"{value} people"


def extra_people(private: goals.Found, plain: goals.Found) -> tuple[str, str] | None:
    """Write how many more people privacy takes, and its ±; None unless both are inside the range."""
    if private.place != "inside" or plain.place != "inside":
        return None
    return (
        f"{whole(max(0, private.people - plain.people))} more",
        f"± {whole(2 * math.hypot(private.error, plain.error))}",
    )


def shown_size(found: Mapping[str, goals.Found], last: int) -> int:
    """Choose the sample size of the formulas: the bound's if it has one, else the one found, else the last."""
    for name in ("upper bound", "private"):
        if found[name].place == "inside":
            return found[name].people
    return last


def compared(times: float) -> str:
    """Say how many times as many people it takes.

    Examples
    --------
    >>> compared(3.46), compared(1.033)
    ('3.5 times as many', '3.3% more')
    """
    return f"{significant(times, 2)} times as many" if times >= 1.1 else f"{percent(max(0.0, times - 1))} more"


def limit_words(prepared: goals.Prepared, scenario: SampleSizeScenario, frame: pd.DataFrame) -> str:
    """Say what keeps the error up at the largest sample looked at."""
    rows = frame[(frame["panel"] == PANELS["error"]) & (frame["series"] == "private")]
    bias, delta = abs(float(prepared.bias[-1])), float(prepared.sensitivity[-1])
    noise = math.sqrt(2) * delta / scenario.epsilon
    total = float(rows["y"].iloc[-1])
    rest = math.sqrt(max(0.0, total**2 - bias**2 - noise**2))
    largest = max((bias, "bias"), (noise, "noise"), (rest, "spread"))[1]
    return f"there the error is still {total:.2g}, most of it {largest}. "


__all__ = ["SampleSize", "SampleSizeScenario"]
