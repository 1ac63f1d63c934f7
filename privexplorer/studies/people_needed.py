"""How many people does an interval of a given width need? n against the keep probability, and against ε (7.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    Decomposition,
    FiniteLaw,
    normal_quantile,
    sample_size,
    sample_size_for_power,
)
from privexplorer.data import Tables
from privexplorer.records import Number, Scenario, field
from privexplorer.studies import _effects as effects
from privexplorer.studies._effects import EffectTarget, KeepProbability, LawChoice, NoiseChoice
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Above, Axis, Chart, Line, Panel, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, significant

WIDTHS = {"half": 0.5, "yours": 1.0, "twice": 2.0}
"""Widths drawn, as multiples of the visitor's."""
FLOOR, WARNING, POWER = "small-sample rule: enough", "small-sample rule: no interval", "for the effect itself"
PANELS = {"keep": "keep probability", "epsilon": "ε of randomised response"}
LEVEL = 0.95


class PeopleNeededScenario(Scenario):
    """A law, an effect, how precisely it shall be known, and how much is kept."""

    law: LawChoice = effects.law_field()
    target: EffectTarget = "ate"
    width: Annotated[float, Number] = field(
        0.05,
        "Width of the 95% interval",
        "From its lower to its upper end, on the scale of the outcome; 0.05 is five percentage points.",
        key="width",
        group="Goal",
        scale="log",
        low=0.01,
        high=0.5,
        ge=0.001,
        le=10,
    )
    power: Annotated[float, Number] = field(
        0.8,
        "Chance to find the effect",
        "Power: how often a test at the 5% level should find the true effect of this law.",
        key="power",
        group="Goal",
        ge=0.05,
        le=0.999,
        advanced=True,
    )
    keep: KeepProbability = 0.5
    noise: NoiseChoice = effects.noise_field(advanced=True)


@dataclass(frozen=True)
class Prepared:
    """Nothing is worth keeping: all numbers are closed forms of the scenario."""


class PeopleNeeded(Study[PeopleNeededScenario]):
    """n for a target width or power against the keep probability, beside the small-sample rule."""

    id: ClassVar[str] = "people-needed"
    question: ClassVar[str] = "How many people does a private effect need?"
    lead: ClassVar[str] = (
        "So many people give an interval of the width that you want, for each keep probability; below the shaded edge "
        "large-sample formulas cannot be trusted."
    )
    tab: ClassVar[str] = "People needed"
    card: ClassVar[str] = "Plan a study: people against keep probability, for the interval width you want."
    link: ClassVar[str] = "Plan a private study"
    theme: ClassVar[str] = "effects"
    picture: ClassVar[str] = "crowd"
    scenario: ClassVar[type[Scenario]] = PeopleNeededScenario
    late: ClassVar[frozenset[str]] = frozenset(PeopleNeededScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {"keep": "Against α", "epsilon": "Against ε", "power": "To find the effect"}
    rows: ClassVar[tuple[str, ...]] = ("L-E17", "L-X11", "L-C1", "L-X2")

    def presets(self) -> tuple[Preset[PeopleNeededScenario], ...]:
        """Finished examples."""
        make = PeopleNeededScenario
        return (
            Preset("Five percentage points", make()),
            Preset("Too few for the noise", make(width=0.1)),
            Preset("Effect on the treated", make(target="att", width=0.1)),
            Preset("Strong privacy", make(keep=0.1, width=0.1)),
        )

    def check(self, scenario: PeopleNeededScenario, tables: Tables | None) -> tuple[str, ...]:
        """Refuse a law under which nothing is uncertain."""
        return effects.law_faults(scenario.law.law(), scenario.target)

    def prepare(self, scenario: PeopleNeededScenario, tables: Tables | None) -> Prepared:
        """Compute nothing."""
        return Prepared()

    def assemble(self, scenario: PeopleNeededScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out people for three widths, for the power asked for, and the small-sample rule."""
        law = scenario.law.law()
        cost = effects.cost_of(law, scenario.target, scenario.noise)
        keeps = effects.keep_grid(scenario.keep)
        variance = cost.variance(keeps)
        effect = effects.TARGETS[scenario.target].value(law)
        rows: list[tuple[str, Any, Any, Any]] = [
            (width_words(scenario.width * times), keeps, sample_size(variance, scenario.width * times, LEVEL), 0.0)
            for times in WIDTHS.values()
        ]
        if abs(effect) > 1e-9:
            rows.append((POWER, keeps, sample_size_for_power(variance, effect, LEVEL, scenario.power), 0.0))
        rows += [
            (FLOOR, keeps, effects.guard_floor(law, scenario.noise, keeps), 0.0),
            (WARNING, keeps, effects.guard_floor(law, scenario.noise, keeps, "red"), 0.0),
        ]
        frame = tidy(rows, panel=PANELS["keep"])
        epsilons = np.array([effects.response_epsilon(law.levels, float(keep)) for keep in keeps])
        there = np.isfinite(epsilons)
        # ε belongs to randomised response, so these rows are for noise with all categories alike, whatever is chosen
        even = effects.EvenNoise()
        response = effects.cost_of(law, scenario.target, even).variance(keeps[there])
        by_epsilon = [
            (width_words(scenario.width * times), epsilons[there], sample_size(response, scenario.width * times), 0.0)
            for times in WIDTHS.values()
        ]
        by_epsilon += [
            (FLOOR, epsilons[there], effects.guard_floor(law, even, keeps[there]), 0.0),
            (WARNING, epsilons[there], effects.guard_floor(law, even, keeps[there], "red"), 0.0),
        ]
        frame = pd.concat([frame, tidy(by_epsilon, panel=PANELS["epsilon"])], ignore_index=True)
        return self.told(scenario, law, cost, effect, frame)

    def told(
        self, scenario: PeopleNeededScenario, law: FiniteLaw, cost: Decomposition, effect: float, frame: pd.DataFrame
    ) -> Result:
        """Add cards, words and formulas."""
        keep, width = scenario.keep, scenario.width
        at = np.array([keep])
        variance = float(cost.variance(at)[0])
        n, open_n = (int(sample_size(value, width, LEVEL)) for value in (variance, cost.t0))
        floor = int(effects.guard_floor(law, scenario.noise, at)[0])
        mechanism = effects.mechanism_of(law, scenario.noise, keep)
        name = effects.TARGET_WORDS[scenario.target]
        found = None if abs(effect) <= 1e-9 else int(sample_size_for_power(variance, effect, LEVEL, scenario.power))
        binding = (
            f" That is fewer than the **{effects.people_words(floor)}** that the small-sample rule asks for, so plan "
            "for those."
            if floor > n
            else f" The small-sample rule asks for {effects.people_words(floor)} only, so the width decides."
        )
        power_card = (
            Card(
                "To find the effect",
                effects.people_words(found) if found is not None else "–",
                f"power {scenario.power:g}"[:18],
                f"People with whom a two-sided test at 5% finds the true effect of {significant(effect)} so often.",
            )
            if found is not None
            else Card("To find the effect", "–", "there is none", "Under this law the effect is 0.")
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card(
                    "People needed",
                    effects.people_words(n),
                    f"width {width:g}"[:18],
                    "For a 95% interval of this full width, from the efficiency bound at your α.",
                ),
                Card(
                    "With open data",
                    effects.people_words(open_n),
                    f"{significant(n / open_n, 2)}× fewer"[:18],
                    "The same width at α = 1.",
                ),
                Card(
                    "Small-sample rule",
                    effects.people_words(floor),
                    "at least",
                    "From this many people on intervals covered as they should in simulations (κ of 90 or more). An "
                    "empirical rule, not a theorem.",
                ),
                power_card,
            ),
            shows=(
                f"At **α = {keep:g}** ({effects.ldp_words(mechanism)}) a 95% interval of width **{width:g}** for the "
                f"{name} needs **{effects.people_words(n)} people**; with open data "
                f"{effects.people_words(open_n)}.{binding} Halving the width takes four times as many people; halving "
                "α up to four times. The formula is for large samples."
            ),
            takeaway=(
                f"People needed for a 95% interval of width {width:g} against the keep probability. At {keep:g} it "
                f"takes {effects.people_words(n)} people, with open data {effects.people_words(open_n)}; the "
                f"small-sample rule asks for at least {effects.people_words(floor)}."
            ),
            notes=self.notes(scenario, n, floor, mechanism.ldp_epsilon()),
            formulas=self.formulas(scenario, law, cost, variance, effect),
            assumptions=(
                *effects.ASSUMED,
                "The estimate reaches the efficiency bound, as the cross-fitted one-step estimate and, for categories, "
                "the plug-in do in large samples. (Cor. 1, Prop. 4)",
                "The shaded area is an empirical rule: κ = n · α² · smallest share of an arm in a category; 90 and "
                "more is enough, below 10 no interval is given. (locally private inference §2.7)",
                "ε belongs to randomised response with all categories alike and the same keep probability. (Ex. 1)",
            ),
        )

    def notes(self, scenario: PeopleNeededScenario, n: int, floor: int, epsilon: float) -> tuple[Note, ...]:
        """Say what is protected, and where ε cannot follow the noise that was chosen."""
        out = [Note(f"{effects.ONE_COLUMN} {effects.LEVEL_IS_NOT_EPSILON}", title="What is protected")]
        if floor > n:
            out.append(
                Note(
                    f"The width alone would need {n:,} people, but with fewer than {floor:,} the smallest group is too "
                    "thin for this much noise: intervals may then miss too often.",
                    "warning",
                    "The small-sample rule decides",
                )
            )
        if scenario.noise.kind != "even" and math.isfinite(epsilon):
            out.append(Note("“Against ε” is drawn for noise with all categories alike, not for the noise chosen here."))
        elif scenario.noise.kind != "even":
            out.append(
                Note("The noise chosen here has no finite ε; “Against ε” is drawn for noise with all categories alike.")
            )
        return tuple(out)

    def formulas(
        self, scenario: PeopleNeededScenario, law: FiniteLaw, cost: Decomposition, variance: float, effect: float
    ) -> tuple[Formula, ...]:
        """Write the sample sizes with the current numbers."""
        keep, width, z = scenario.keep, scenario.width, normal_quantile(LEVEL)
        n = int(sample_size(variance, width, LEVEL))
        epsilon = effects.response_epsilon(law.levels, keep)
        strength = effects.mechanism_of(law, scenario.noise, keep).finite().smallest_singular
        out = [
            Formula(
                "People for a width",
                r"n(\alpha)=\left\lceil\frac{(2z)^2\,\sigma^2(\alpha)}{w^2}\right\rceil",
                rf"z={z:.4g},\ \sigma^2({keep:g})={variance:.6g},\ w={width:g}:\quad n={n:,}",
                "exact",
                "Cor. 1; locally private inference §1.6",
            ),
            Formula(
                "Variance",
                r"\sigma^2(\alpha)=T_0+\frac{1-\alpha}{\alpha}T_1+\frac{1-\alpha}{\alpha^2}T_2",
                rf"T_0={cost.t0:.6g},\ T_1={cost.t1:.6g},\ T_2={cost.t2:.6g}",
                "exact",
                "(17); locally private inference §1.6, derived",
            ),
            Formula(
                "Small-sample rule",
                r"\kappa=n\,\alpha_{\mathrm{eff}}^2\,\min_{d,x}P(d,x)\ge90",
                rf"\alpha_{{\mathrm{{eff}}}}={strength:.4g},\ \min P(d,x)={law.smallest_cell:.4g}:\quad "
                rf"n\ge{90 / (strength**2 * law.smallest_cell):,.0f}",
                "heuristic",
                "locally private inference §2.7",
            ),
            Formula(
                "Keep probability and ε",
                r"\alpha=\frac{e^\varepsilon-1}{e^\varepsilon+J-1}",
                rf"J={law.levels},\ \alpha={keep:g}:\quad\varepsilon="
                + (f"{epsilon:.5g}" if math.isfinite(epsilon) else r"\infty")
                + (
                    rf",\quad\text{{printed }}e^\varepsilon-1={math.expm1(epsilon):.4g}\ge\alpha"
                    if epsilon <= math.log(2)
                    else ""
                ),
                "exact",
                "Ex. 1; printed as (e^ε − 1), far from sharp (E2)",
            ),
        ]
        if abs(effect) > 1e-9:
            out.append(
                Formula(
                    "People to find the effect",
                    r"n=\left\lceil\frac{(z+z_{\mathrm{power}})^2\,\sigma^2(\alpha)}{\tau^2}\right\rceil",
                    rf"\tau={effect:.5g},\ \text{{power }}{percent_tex(scenario.power)}:\quad "
                    rf"n={int(sample_size_for_power(variance, effect, LEVEL, scenario.power)):,}",
                    "exact",
                    "locally private inference §1.6",
                )
            )
        return tuple(out)

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe people against α, against ε, or to find the effect."""
        scenario: Any = result.scenario
        law = scenario.law.law()
        panel = PANELS["epsilon" if view == "epsilon" else "keep"]
        curves = {width_words(scenario.width * times): times for times in WIDTHS.values()}
        effects_there = len(result.series(POWER, panel)) > 0
        shown = {POWER: 1.0} if view == "power" and effects_there else curves
        marks: list[Any] = []
        tops, bottoms = [], []
        for name, times in shown.items():
            rows = result.series(name, panel)
            y = rows["y"].to_numpy(dtype=np.float64)
            tops.append(float(y.max()))
            bottoms.append(float(y.min()))
            marks.append(
                Line(
                    "private",
                    rows["x"].to_numpy(dtype=np.float64),
                    y,
                    name,
                    f"find it, {percent(scenario.power)}" if name == POWER else f"width {scenario.width * times:.3g}",
                    main=times == 1.0,
                    dash={0.5: "9px,4px", 1.0: "solid", 2.0: "2px,3px"}[times],
                    hover=f"{name}: {{y}} people",
                )
            )
        floor, warning = result.series(FLOOR, panel), result.series(WARNING, panel)
        x = floor["x"].to_numpy(dtype=np.float64)
        high, low = floor["y"].to_numpy(dtype=np.float64), warning["y"].to_numpy(dtype=np.float64)
        bottom = 10 ** math.floor(math.log10(max(1.0, min(*bottoms, float(low.min())))))
        edge = np.full_like(x, bottom)
        marks = [
            Spread("attacker", x, np.minimum(low, high), high, "intervals may mislead", "light"),
            Spread("attacker", x, np.minimum(edge, low), low, "no interval", "strong", "no interval"),
            Line(
                "attacker", x, high, FLOOR, "rule: enough<br>above", width=1.5, hover="small-sample rule: {y} people"
            ),
            *marks,
        ]  # fmt: skip
        axis = (
            Axis("ε of the equivalent randomised response", "log", ends=("more private", "more accurate"), symbol="ε")
            if view == "epsilon"
            else Axis(
                "keep probability α",
                "log",
                ends=("more private", "more accurate"),
                symbol="α",
                above=Above("ε of the equivalent randomised response", epsilon_ticks(law.levels)),
            )
        )
        epsilon = effects.response_epsilon(law.levels, scenario.keep)
        here = (
            (scenario.keep, f"your α = {scenario.keep:g}")
            if view != "epsilon"
            else ((epsilon, f"your ε = {significant(epsilon)}") if math.isfinite(epsilon) else None)
        )
        name = effects.TARGET_SHORT[scenario.target]
        return Chart(
            f"People needed, {name}",
            (
                f"people for power {scenario.power:g}, log scale"
                if shown is not curves
                else "people for a 95% interval so wide, log scale"
            ),
            axis,
            Axis("people", "log", low=float(bottom), high=max(*tops, float(high.max())) * 1.2, unit="people"),
            (Panel(tuple(marks), here=here),),
        )


def epsilon_ticks(levels: int) -> tuple[tuple[float, str], ...]:
    """Return what randomised response over so many categories is worth in ε at the ticks of α.

    Examples
    --------
    >>> epsilon_ticks(3)
    ((0.05, '0.15'), (0.1, '0.29'), (0.2, '0.56'), (0.5, '1.4'), (1.0, '∞'))
    """
    return tuple(
        (keep, significant(epsilon, 2) if math.isfinite(epsilon) else "∞")
        for keep in (0.05, 0.1, 0.2, 0.5, 1.0)
        for epsilon in (effects.response_epsilon(levels, keep),)
    )


def width_words(width: float) -> str:
    """Name a curve.

    Examples
    --------
    >>> width_words(0.05)
    'width 0.05'
    """
    return f"width {width:.6g}"


def percent_tex(share: float) -> str:
    """Write a percentage inside a formula."""
    return percent(share).replace("%", r"\%")


__all__ = ["PeopleNeeded", "PeopleNeededScenario", "width_words"]
