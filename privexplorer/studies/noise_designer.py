"""Which noise law should replace the true value? Cost and privacy profile (locally private inference 7.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    AlphaIdentity,
    DerivativeLaw,
    FiniteLaw,
    FiniteNoise,
    GaussianNoise,
    decomposition,
    keep_probability_for_epsilon,
    ltv_of_ldp,
)
from privexplorer.causal.operators import mix
from privexplorer.data import Tables
from privexplorer.records import Number, Scenario, field
from privexplorer.studies._effects import (
    ASSUMED,
    LEVEL_IS_NOT_EPSILON,
    ONE_COLUMN,
    TARGET_WORDS,
    TARGETS,
    EffectTarget,
    KeepProbability,
    LawChoice,
    keep_grid,
    law_field,
)
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import listed, ratio, significant

YOURS, EVEN, POPULATION, POINT = "your noise", "all categories alike", "like the population", "always one category"
LOOKS: dict[str, tuple[Role, str]] = {
    YOURS: ("private", "your noise"),
    EVEN: ("local", "all alike"),
    POPULATION: ("data", "population"),
    POINT: ("attacker", "one category"),
}
PRINTED, TIGHT, RESPONSE = "printed promise", "tight promise", "randomised response"
WIDE = "bound at this spread of the noise"
EPSILONS = np.linspace(0.0, 4.0, 81)
SPREADS = np.round(np.linspace(0.4, 2.0, 33), 3)
LEVEL_EPSILONS = np.round(np.linspace(0.05, 3.0, 60), 3)


class NoiseScenario(Scenario):
    """A noise law between three corners, and what it costs."""

    law: LawChoice = law_field()
    keep_probability: KeepProbability = 0.2
    population: Annotated[float, Number] = field(
        0.5,
        "From all alike (0) to the population (1)",
        "How far the noise looks like the private column itself; the population's shares must be public.",
        key="population",
        group="Privacy",
        scale="linear",
        ge=0,
        le=1,
    )
    point: Annotated[float, Number] = field(
        0.3,
        "Share always shown as one category",
        "1 shows the same category for everybody whose value is not kept: that erases rather than confuses.",
        key="point",
        group="Privacy",
        scale="linear",
        ge=0,
        le=1,
    )
    code: Annotated[int, Number] = field(
        0, "That category", "Counted from 0; the last one if there are fewer.", key="code", group="Privacy", ge=0, le=7
    )
    delta: Annotated[float, Number] = field(
        0.0,
        "δ allowed in “Levels”",
        "For the conversion between levels.",
        key="delta",
        group="Privacy",
        ge=0,
        le=0.5,
        advanced=True,
    )
    target: EffectTarget = "ate"


@dataclass(frozen=True)
class Prepared:
    """Nothing is worth keeping: all numbers are closed forms of the scenario."""


def noise_law(scenario: NoiseScenario, law: FiniteLaw) -> FloatArray:
    """Return the designed noise probabilities (J,): between even, the population and one category."""
    even = np.full(law.levels, 1.0 / law.levels)
    spread = (1.0 - scenario.population) * even + scenario.population * law.p_x
    one = np.eye(law.levels)[min(scenario.code, law.levels - 1)]
    mixed = (1.0 - scenario.point) * spread + scenario.point * one
    return np.asarray(mixed / mixed.sum())


class NoiseDesigner(Study[NoiseScenario]):
    """One total-variation level, many noise laws."""

    id: ClassVar[str] = "noise-designer"
    question: ClassVar[str] = "Which noise should replace the true value?"
    lead: ClassVar[str] = (
        "The keep probability fixes one level of privacy. The law of the noise decides what it costs, and what is left "
        "of ε."
    )
    tab: ClassVar[str] = "Noise law"
    card: ClassVar[str] = "From randomised response to erasure: same level, other cost, other ε."
    link: ClassVar[str] = "Design the noise"
    theme: ClassVar[str] = "swapped"
    picture: ClassVar[str] = "corners"
    scenario: ClassVar[type[Scenario]] = NoiseScenario
    late: ClassVar[frozenset[str]] = frozenset(NoiseScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {
        "design": "Cost and privacy",
        "corners": "All corners",
        "shown": "What is shown",
        "levels": "Levels",
        "tails": "Noise in the tails",
    }
    rows: ClassVar[tuple[str, ...]] = ("L-X2", "L-D1", "L-E15", "L-X5", "L-D2", "L-L6a", "L-L6b")

    def presets(self) -> tuple[Preset[NoiseScenario], ...]:
        """Finished examples."""
        make = NoiseScenario
        return (
            Preset("Between the corners", make()),
            Preset("Randomised response", make(population=0.0, point=0.0)),
            Preset("Like the population", make(population=1.0, point=0.0)),
            Preset("Erasure", make(point=1.0, code=1)),
        )

    def prepare(self, scenario: NoiseScenario, tables: Tables | None) -> Prepared:
        """Compute nothing."""
        return Prepared()

    def assemble(self, scenario: NoiseScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out cost and profile of the designed noise and of the corners."""
        law = scenario.law.law()
        levels, keep, target = law.levels, scenario.keep_probability, TARGETS[scenario.target]
        code = min(scenario.code, levels - 1)
        corners = {
            YOURS: noise_law(scenario, law),
            EVEN: np.full(levels, 1.0 / levels),
            POPULATION: law.p_x,
            POINT: np.eye(levels)[code],
        }
        made = {name: FiniteNoise(q / q.sum()) for name, q in corners.items()}
        costs = {name: decomposition(law, target, noise) for name, noise in made.items()}
        grid = keep_grid(keep)
        cost = tidy([(name, grid, parts_.price(grid), 0.0) for name, parts_ in costs.items()]).assign(panel="cost")
        mechanisms = {name: AlphaIdentity(keep, noise) for name, noise in made.items()}
        profile = tidy(
            [
                (name, EPSILONS, np.array([one.ldp_delta(float(e)) for e in EPSILONS]), 0.0)
                for name, one in mechanisms.items()
            ]
        ).assign(panel="profile")
        every = {
            EVEN: made[EVEN],
            POPULATION: made[POPULATION],
            **{f"always {x}": FiniteNoise(np.eye(levels)[x]) for x in range(levels)},
            YOURS: made[YOURS],
        }
        variances = {name: float(decomposition(law, target, noise).variance(keep)) for name, noise in every.items()}
        bars = tidy(
            [("variance", list(every), list(variances.values()), 0.0)]
        ).assign(panel="corners")  # fmt: skip
        codes = np.arange(levels)
        seen = np.asarray(mix(mechanisms[YOURS], law.p_x))
        shown = tidy(
            [("population", codes, law.p_x, 0.0), ("noise", codes, made[YOURS].probabilities, 0.0),
             ("shown", codes, seen, 0.0)]
        ).assign(panel="shown")  # fmt: skip
        frame = pd.concat(
            [cost, profile, bars, shown, self.level_rows(levels, scenario.delta), self.tail_rows(keep)],
            ignore_index=True,
        )
        return self.told(scenario, law, frame, costs[YOURS].price(keep).item(), variances, mechanisms)

    @staticmethod
    def level_rows(levels: int, delta: float) -> pd.DataFrame:
        """Return total-variation levels that (ε, δ)-local privacy promises, and that of randomised response."""
        grid = LEVEL_EPSILONS
        printed = np.array([promised(float(e), delta) for e in grid])
        rows: list[tuple[str, Any, Any, Any]] = [
            (TIGHT, grid, np.array([ltv_of_ldp(float(e), delta) for e in grid]), 0.0),
            (RESPONSE, grid, np.array([keep_probability_for_epsilon(levels, float(e)) for e in grid]), 0.0),
        ]
        if np.isfinite(printed).any():
            rows.insert(0, (PRINTED, grid, printed, 0.0))
        return tidy(rows).assign(panel="levels")

    @staticmethod
    def tail_rows(keep: float) -> pd.DataFrame:
        """Return the bound of an average slope when the noise reaches into the tails (G17), against open data."""
        law = DerivativeLaw()
        prices = [float(law.decomposition(GaussianNoise(0.0, float(s))).price(keep)) for s in SPREADS]
        return tidy([(WIDE, SPREADS, np.array(prices), 0.0)]).assign(panel="tails")

    def told(
        self,
        scenario: NoiseScenario,
        law: FiniteLaw,
        frame: pd.DataFrame,
        price: float,
        variances: dict[str, float],
        mechanisms: dict[str, AlphaIdentity],
    ) -> Result:
        """Add cards, words, notes and formulas."""
        keep = scenario.keep_probability
        mine = mechanisms[YOURS]
        epsilon = mine.ldp_epsilon()
        finite = math.isfinite(epsilon)
        words = f"ε = {significant(epsilon)}" if finite else "none"
        at_one = mine.ldp_delta(1.0)
        corners = {name: value for name, value in variances.items() if name != YOURS}
        cheap, dear = min(corners, key=lambda name: corners[name]), max(corners, key=lambda name: corners[name])
        alike = (
            f"All of them have the same total-variation level α = {keep:g}"
            if keep < 1
            else "Nothing is swapped at α = 1, so all of them are the same"
        )
        guarantee = (
            f"As local differential privacy your noise is worth ε = {significant(epsilon, 3)}."
            if finite
            else "Your noise has no finite ε: some category is never shown by chance, so whoever shows it tells the "
            "truth."
        )
        numbers = listed([f"{name} {significant(value, 3)}" for name, value in corners.items()])
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("Your noise costs", f"{ratio(price)} the people", f"at α = {keep:g}"),
                Card("Level (variation)", significant(mine.ltv()), "whatever the noise", "Total-variation level."),
                Card("Pure ε", words, "smaller: better" if finite else "δ = α for every ε"),
                Card("δ at ε = 1", significant(at_one) if at_one > 0 else "0", f"at most α = {keep:g}"[:18]),
            ),
            shows=(
                f"For the {TARGET_WORDS[scenario.target]} at **α = {keep:g}** your noise takes **{ratio(price)}** the "
                f"people of open data. {alike}, but the variance goes from {significant(corners[cheap], 3)} ({cheap}) "
                f"to {significant(corners[dear], 3)} ({dear}). {guarantee} Noise that always says the same is cheap "
                "because it confuses little, and for the same reason it hides little."
            ),
            takeaway=(
                f"Cost against keep probability and slack delta against epsilon for four noise laws. At keep "
                f"probability {keep:g} the variances are: {numbers}."
            ),
            notes=(
                Note(LEVEL_IS_NOT_EPSILON, "info", "Two different levels"),
                *(
                    (Note("A category that noise never shows gives every record that shows it away.", "warning"),)
                    if not finite and keep < 1
                    else ()
                ),
            ),
            formulas=self.formulas(scenario, law, mine, variances),
            assumptions=(
                *ASSUMED,
                "The noise law is public and fixed before anybody is asked; a law like the population must come from "
                "a public source. (15)",
                "“Noise in the tails”: average slope over a step of 0.5 with X ~ N(0, 1) and noise N(0, s²); the score "
                "grows fast in the tails, so wide noise is dear. (after Thm 2, Ex. 4)",
                f"{ONE_COLUMN}",
            ),
            extra={"variances": variances, "epsilon": epsilon},
        )

    def formulas(
        self, scenario: NoiseScenario, law: FiniteLaw, mine: AlphaIdentity, variances: dict[str, float]
    ) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers."""
        keep, delta, levels = scenario.keep_probability, scenario.delta, law.levels
        smallest = mine.noise.smallest_atom
        at_one = mine.ldp_delta(1.0)
        printed = promised(1.0, delta)
        printed_words = f"{printed:.4g}" if math.isfinite(printed) else rf"{math.e - 1 + delta:.4g}>1\text{{: void}}"
        tails = DerivativeLaw().decomposition(GaussianNoise(0.0, 1.2))
        return (
            Formula(
                "What is shown",
                r"Q(\cdot\mid x)=\alpha\delta_x+(1-\alpha)\bar Q,\qquad p_Z=\alpha p_X+(1-\alpha)\bar q",
                r"\bar q=(" + ",".join(f"{q:.3g}" for q in law_numbers(mine)) + ")",
                "exact",
                "(15)",
            ),
            Formula(
                "Level (variation)",
                r"\max_{x,x'}\tfrac12\sum_z|Q_{zx}-Q_{zx'}|=\alpha",
                rf"{mine.finite().ltv():.6g}",
                "exact",
                "Def 1",
            ),
            Formula(
                "Privacy profile",
                r"\delta(\varepsilon)=\big[\alpha-(e^\varepsilon-1)(1-\alpha)\min\bar q\big]_+\le\alpha",
                rf"\min\bar q={smallest:.4g}:\quad\delta(1)={at_one:.6g}",
                "exact",
                "Def 2, Lem 6 (derived)",
            ),
            Formula(
                "Pure ε",
                r"\varepsilon=\log\Big(1+\frac{\alpha}{(1-\alpha)\min\bar q}\Big)",
                rf"{mine.ldp_epsilon():.6g}" if math.isfinite(mine.ldp_epsilon()) else r"\infty",
                "exact",
                "§1.4 (derived)",
            ),
            Formula(
                "Level promised by (ε, δ)",
                r"\frac{e^\varepsilon-1+2\delta}{e^\varepsilon+1}\quad"
                r"(\text{printed: }e^\varepsilon-1+\delta\text{ if}\le1)",
                rf"\varepsilon=1,\ \delta={delta:g}:\quad{ltv_of_ldp(1.0, delta):.6g}\quad(\text{{printed }}"
                rf"{printed_words});\quad J={levels}\text{{ randomised response: }}"
                rf"{keep_probability_for_epsilon(levels, 1.0):.5g}",
                "bound",
                "Lem 6, after Ex. 1, E2",
            ),
            Formula(
                "Variance",
                r"\sigma^2(\alpha)=T_0+\tfrac{1-\alpha}\alpha T_1+\tfrac{1-\alpha}{\alpha^2}T_2",
                rf"\alpha={keep:g}:\quad"
                + r",\ ".join(rf"\text{{{name}: }}{value:.5g}" for name, value in variances.items()),
                "exact",
                "§1.6 (derived)",
            ),
            Formula(
                "Noise in the tails",
                r"T_2\text{ grows without bound in the spread of the noise}",
                rf"s=1.2,\ \alpha=\tfrac12:\quad{float(tails.variance(0.5)):.6g}\text{{ against }}{tails.t0:.5g}"
                r"\text{ for open data}",
                "exact",
                "after Thm 2, Ex. 4 (derived)",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one of the five views."""
        scenario: Any = result.scenario
        keep = scenario.keep_probability
        if view == "corners":
            return self.corners_chart(result)
        if view == "shown":
            return self.shown_chart(result)
        if view == "levels":
            return self.levels_chart(result)
        if view == "tails":
            rows = result.series(WIDE, "tails")
            return Chart(
                "Noise where scores are extreme is dear",
                f"people against open data, α = {keep:g}, log scale",
                Axis("standard deviation of the noise, in those of X", symbol="s"),
                Axis("times the people", "log", unit="times"),
                (
                    Panel(
                        (
                            Line(
                                "private", rows["x"].to_numpy(), rows["y"].to_numpy(), WIDE, "average<br>slope",
                                main=True, hover="{y} times the people",
                            ),
                        ),
                        here=(1.0, "as wide as X"),
                    ),
                ),
            )  # fmt: skip
        left: list[Line] = []
        right: list[Line] = []
        for name, (role, label) in LOOKS.items():
            for panel, marks, hover in (
                ("cost", left, f"{name}: {{y}} times the people"),
                ("profile", right, f"{name}: δ = {{y}}"),
            ):
                rows = result.series(name, panel)
                marks.append(
                    Line(role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, main=name == YOURS, hover=hover)
                )
        alpha = Axis("keep probability α", "log", ends=("more private", "more accurate"), symbol="α")
        return Chart(
            "What the noise costs, and what it hides",
            f"first: by α, log scale; second: at α = {keep:g}",
            alpha,
            Axis("times the people", "log", unit="times"),
            (
                Panel(
                    tuple(left),
                    "People needed, against open data",
                    (keep, f"your α = {keep:g}"),
                    x=alpha,
                    y=Axis("times the people", "log", unit="times"),
                ),
                Panel(
                    tuple(right),
                    "δ that each ε needs",
                    x=Axis("ε", symbol="ε"),
                    y=Axis("δ", low=0.0),
                ),
            ),
            columns=2,
            shared_y=False,
            names=tuple(LOOKS),
        )

    def corners_chart(self, result: Result) -> Chart:
        """Describe the variance of every corner at one keep probability."""
        scenario: Any = result.scenario
        values: dict[str, float] = result.extra["variances"]
        others = [name for name in values if name != YOURS]
        marks = (
            Bars("local", others, [values[name] for name in others], "corners", stack=True, hover="variance {y}"),
            Bars("private", [YOURS], [values[YOURS]], YOURS, stack=True, hover="variance {y}"),
        )
        return Chart(
            f"Same level α = {scenario.keep_probability:g}, other variance",
            "variance of one person's private score",
            Axis("noise law", "category"),
            Axis("variance"),
            (Panel(marks),),
        )

    def shown_chart(self, result: Result) -> Chart:
        """Describe population, noise and what is shown."""
        looks: tuple[tuple[Role, str, str], ...] = (
            ("truth", "population", "population {y}"),
            ("upper bound", "noise", "noise {y}"),
            ("private", "shown", "shown {y}"),
        )
        marks = []
        for role, name, hover in looks:
            rows = result.series(name, "shown")
            marks.append(Bars(role, [str(x) for x in rows["x"]], rows["y"].to_numpy(), name, name, hover=hover))
        return Chart(
            "True, noise, and the mixture that is shown",
            "share of people in each category",
            Axis("category", "category"),
            Axis("share"),
            (Panel(tuple(marks)),),
        )

    def levels_chart(self, result: Result) -> Chart:
        """Describe what ε promises as a total-variation level."""
        scenario: Any = result.scenario
        looks: tuple[tuple[Role, str, str, str, str], ...] = (
            ("upper bound", PRINTED, "printed:<br>e^ε − 1 + δ", "printed promise: {y}", "2px,3px"),
            ("upper bound", TIGHT, "tight<br>promise", "tight promise: {y}", "9px,4px"),
            ("private", RESPONSE, "randomised<br>response", "randomised response has {y}", "solid"),
        )
        marks = []
        for role, name, label, hover, dash in looks:
            rows = result.series(name, "levels")
            if len(rows):
                marks.append(
                    Line(
                        role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, main=name == RESPONSE,
                        dash=dash, hover=hover,
                    )
                )  # fmt: skip
        levels = scenario.law.law().levels
        return Chart(
            "From ε to a total-variation level",
            f"δ = {scenario.delta:g}; {levels} categories for the response",
            Axis("ε", ends=("more private", "more accurate"), symbol="ε"),
            Axis("level", low=0.0, high=1.0),
            (Panel(tuple(marks)),),
        )


def law_numbers(mechanism: AlphaIdentity) -> list[float]:
    """Return the noise probabilities of a mechanism over categories."""
    return [float(q) for q in mechanism.nodes()[1]]


def promised(epsilon: float, delta: float) -> float:
    """Level that Lem 6 promises as printed, e^ε - 1 + δ; NaN where that exceeds 1 and so promises nothing."""
    value = math.expm1(epsilon) + delta
    return value if value <= 1 else math.nan
