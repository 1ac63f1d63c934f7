"""What does each keep probability cost in people? The exact price of privacy in three parts (7.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.causal import Decomposition, FiniteLaw, effective_sample_size
from privexplorer.data import Tables
from privexplorer.records import Scenario
from privexplorer.studies import _effects as effects
from privexplorer.studies._effects import EffectTarget, KeepProbability, LawB, LawChoice, NoiseChoice
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Area, Axis, Chart, Line, Panel, Role, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, ratio, significant

PRICE, OTHER = "times as many people", "the other effect"
PRINTED, TIGHT = "printed bounds", "tight bounds"
FIRST_TWO = "T0 and T1, times T0"
FLOOR = 0.5
"""Where the axis of the stacked price starts: the lowest layer ends at 1, and a log axis has no 0."""
PARTS = {"T0": "lost anyway", "T1": "mixing", "T2": "spread of the noise"}
"""The three terms of the variance, by how they are called on screen."""


class EffectPriceScenario(Scenario):
    """A law, an effect, and how much is kept."""

    law: LawChoice = effects.law_field()
    target: EffectTarget = "ate"
    keep: KeepProbability = 0.5
    noise: NoiseChoice = effects.noise_field()
    n: effects.People = 10_000


@dataclass(frozen=True)
class Prepared:
    """Nothing is worth keeping: all numbers are closed forms of the scenario."""


class EffectPrice(Study[EffectPriceScenario]):
    """The efficiency bound under noise over the one without, split into its three terms."""

    id: ClassVar[str] = "effect-price"
    question: ClassVar[str] = "What does each level of privacy cost in people?"
    lead: ClassVar[str] = (
        "To learn an effect as well as from open data you need this many times as many people; three numbers give the "
        "whole curve."
    )
    tab: ClassVar[str] = "Price of privacy"
    card: ClassVar[str] = "How many times as many people a private effect needs, and where the variance comes from."
    link: ClassVar[str] = "See the price in people"
    theme: ClassVar[str] = "effects"
    picture: ClassVar[str] = "areas"
    scenario: ClassVar[type[Scenario]] = EffectPriceScenario
    late: ClassVar[frozenset[str]] = frozenset(EffectPriceScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {
        "price": "Price",
        "effects": "Both effects",
        "parts": "Shares",
        "bounds": "Bounds",
    }
    rows: ClassVar[tuple[str, ...]] = ("L-X1", "L-E17", "L-E18", "L-L3f", "L-X11")

    def presets(self) -> tuple[Preset[EffectPriceScenario], ...]:
        """Finished examples."""
        make = EffectPriceScenario
        return (
            Preset("Three categories", make()),
            Preset("Effect on the treated", make(target="att")),
            Preset("Two balanced categories", make(law=LawB(), keep=0.2)),
            Preset("Noise that only erases", make(noise=effects.PointNoise(code=0), keep=0.2)),
        )

    def check(self, scenario: EffectPriceScenario, tables: Tables | None) -> tuple[str, ...]:
        """Refuse a law under which nothing is uncertain."""
        return effects.law_faults(scenario.law.law(), scenario.target)

    def prepare(self, scenario: EffectPriceScenario, tables: Tables | None) -> Prepared:
        """Compute nothing."""
        return Prepared()

    def assemble(self, scenario: EffectPriceScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out the curve, its parts and its bounds."""
        law = scenario.law.law()
        cost, other = (
            effects.cost_of(law, target, scenario.noise) for target in (scenario.target, other_of(scenario.target))
        )
        keeps = effects.keep_grid(scenario.keep)
        variance = cost.variance(keeps)
        printed, tight = cost.printed_band(keeps), cost.tight_band(keeps)
        frame = tidy([(PRICE, keeps, variance / cost.t0, 0.0), (OTHER, keeps, other.price(keeps), 0.0)])
        frame = frame.assign(low=np.nan, high=np.nan)
        shares = [
            (f"{name}, {words}", keeps, part / variance, 0.0)
            for (name, words), part in zip(PARTS.items(), cost.parts(keeps), strict=True)
        ]
        bands = [
            tidy([(name, keeps, np.sqrt(low * high) / cost.t0, 0.0)]).assign(low=low / cost.t0, high=high / cost.t0)
            for name, (low, high) in ((PRINTED, printed), (TIGHT, tight))
        ]
        first, second, _ = cost.parts(keeps)
        extra = tidy([*shares, (FIRST_TWO, keeps, (first + second) / cost.t0, 0.0)])
        frame = pd.concat([frame, *bands, extra.assign(low=np.nan, high=np.nan)], ignore_index=True)
        return self.told(scenario, law, cost, other, frame)

    def told(
        self,
        scenario: EffectPriceScenario,
        law: FiniteLaw,
        cost: Decomposition,
        other: Decomposition,
        frame: pd.DataFrame,
    ) -> Result:
        """Add cards, words and formulas."""
        keep, n = scenario.keep, scenario.n
        at = np.array(keep)
        times, dearer = float(cost.price(at)), float(other.price(at))
        variance = float(cost.variance(at))
        worth = float(effective_sample_size(n, cost.t0, variance))
        shares = [float(part) / variance for part in cost.parts(at)]
        name, other_name = (effects.TARGET_WORDS[key] for key in (scenario.target, other_of(scenario.target)))
        half = keep_for_price(cost, 2.0)
        there = effects.mechanism_of(law, scenario.noise, half if math.isfinite(half) else keep)
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card(
                    "People needed",
                    ratio(times),
                    f"at α = {keep:g}"[:18],
                    "Efficiency bound with noise over the bound without: so many times as many people give an interval "
                    "of the same width.",
                ),
                Card(
                    "Your people count as",
                    effects.people_words(round(worth)),
                    "with open data",
                    f"Effective sample size of {n:,} people: n · σ²(1)/σ²(α).",
                ),
                Card(
                    "On the treated" if scenario.target == "ate" else "Average effect",
                    ratio(dearer),
                    "as many people",
                    f"The same price for the other effect, the {other_name}.",
                ),
                Card(
                    "Twice the people at",
                    f"α = {significant(half, 2)}",
                    f"{effects.ldp_words(there)} there"[:18],
                    "Where privacy doubles the number of people, and what the mechanism then is worth in ε.",
                ),
            ),
            shows=(
                f"If **{percent(keep)}** show the true value, the {name} needs **{ratio(times)}** as many people as "
                f"with open data: {n:,} people then tell as much as {effects.people_words(round(worth))}. "
                f"{percent(shares[0])} of the variance would be there without any noise, {percent(shares[1])} is "
                f"mixing and {percent(shares[2])} the spread of the noise. The curve is exact for large samples; "
                "with few people estimates do worse than it."
            ),
            takeaway=(
                f"How many times as many people the {name} needs, against the keep probability. At {keep:g} it is "
                f"{significant(times)} times, and {significant(dearer)} times for the {other_name}."
            ),
            notes=self.notes(cost),
            formulas=self.formulas(scenario, cost, variance),
            assumptions=(
                *effects.ASSUMED,
                "Nothing is assumed about the law of the people beyond that; the bound is the smallest variance that "
                "any regular estimate can have. (Thm 2, (17))",
                "Noise lands only where people can be, so the bound is unique. (locally private inference, E4)",
            ),
        )

    def notes(self, cost: Decomposition) -> tuple[Note, ...]:
        """Say what α is not, and when noise only erases."""
        out = [Note(f"{effects.ONE_COLUMN} {effects.LEVEL_IS_NOT_EPSILON}", title="What is protected")]
        if cost.t2 == 0:
            out.append(
                Note(
                    "This noise is always the same category, so it erases values and confuses nothing: the price grows "
                    "as 1/α only. The level α is the same, but no finite ε holds.",
                    title="Cheap, and for a reason",
                )
            )
        return tuple(out)

    def formulas(self, scenario: EffectPriceScenario, cost: Decomposition, variance: float) -> tuple[Formula, ...]:
        """Write the decomposition and the bounds with the current numbers."""
        keep, at = scenario.keep, np.array(scenario.keep)
        printed, tight = ([float(end) for end in band(at)] for band in (cost.printed_band, cost.tight_band))
        return (
            Formula(
                "Efficiency bound, exactly",
                r"\sigma^2(\alpha)=T_0+\frac{1-\alpha}{\alpha}T_1+\frac{1-\alpha}{\alpha^2}T_2",
                rf"T_0={cost.t0:.6g},\ T_1={cost.t1:.6g},\ T_2={cost.t2:.6g}:\quad\sigma^2({keep:g})={variance:.6g}",
                "exact",
                "(17); locally private inference §1.6, derived",
            ),
            Formula(
                "The three terms",
                r"T_0=E\,h^2,\quad T_1=E(h-\bar h)^2,\quad T_2=E_V\,\mathrm{Var}_{\bar Q}\,h,\qquad"
                r"\bar h(v)=\int h(v,x)\,\bar Q(dx)",
                r"h\ \text{the influence function without noise (Prop. 1)}",
                "exact",
                "Prop. 1, Thm 2",
            ),
            Formula(
                "Bounds as printed",
                r"A+\tfrac{1-\alpha}\alpha(B-C)\le\sigma^2\le\tfrac{2-\alpha}\alpha A+"
                r"\tfrac{2(2-\alpha)(1-\alpha)}{\alpha^2}B",
                rf"{printed[0]:.6g}\le{variance:.6g}\le{printed[1]:.6g}",
                "bound",
                "(18), Lemma 3(vii): valid, loose",
            ),
            Formula(
                "Tight bounds",
                r"A+\tfrac{1-\alpha}{\alpha^2}(B-C)\le\sigma^2\le\tfrac{2-\alpha}\alpha A+"
                r"\tfrac{(1-\alpha)\max(1,2\alpha)}{\alpha^2}B",
                rf"{tight[0]:.6g}\le{variance:.6g}\le{tight[1]:.6g}",
                "bound",
                "locally private inference §1.6 and E3, derived",
            ),
            Formula(
                "As the keep probability goes to 0",
                r"\alpha^2\sigma^2(\alpha)\to T_2",
                rf"{keep:g}^2\cdot{variance:.5g}={keep**2 * variance:.5g},\qquad T_2={cost.t2:.5g}",
                "exact",
                "locally private inference §1.6, derived",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the price, its parts or its bounds."""
        scenario: Any = result.scenario
        x = Axis("keep probability α", "log", ends=("more private", "more accurate"), symbol="α")
        here = (scenario.keep, f"your α = {scenario.keep:g}")
        if view == "parts":
            return Chart(
                "Where the variance comes from",
                "share of the variance of the effect",
                x,
                Axis("share", "linear", 0.0, 1.0),
                (Panel(self.parts(result), here=here),),
                names=tuple(f"{name}, {words}" for name, words in reversed(PARTS.items())),
            )
        name, other = (effects.TARGET_SHORT[key] for key in (scenario.target, other_of(scenario.target)))
        rows = result.series(PRICE)
        keeps = rows["x"].to_numpy(dtype=np.float64)
        line = Line(
            "private",
            keeps,
            rows["y"].to_numpy(),
            PRICE,
            name if view == "effects" else f"{name}, exact",
            main=True,
            hover=f"{name}: {{y}} times as many people",
        )
        marks: list[Any] = [line]
        if view == "effects":
            second = result.series(OTHER)
            marks.append(
                Line(
                    "local",
                    keeps,
                    second["y"].to_numpy(),
                    OTHER,
                    other,
                    hover=f"{other}: {{y}} times as many people",
                )
            )
        else:
            marks = [*self.bounds(result, shaded=view == "bounds"), line]
            if view == "price":
                marks = [*self.layers(result), *marks]
        return Chart(
            "Times as many people as with open data",
            "variance with noise ÷ without, log scale",
            x,
            Axis("times", "log", low={"effects": 0.9, "price": FLOOR}.get(view), unit="×"),
            (Panel(tuple(marks), here=here, level_lines=((1.0, "" if view == "price" else "open data"),)),),
        )

    def layers(self, result: Result) -> list[Any]:
        """Describe the three terms as layers below the price: on a log axis each fills what it adds to those below."""
        rows = result.series(FIRST_TWO)
        keeps, lower = rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy()
        one = np.ones_like(lower)
        edges = (FLOOR * one, one, lower, result.series(PRICE)["y"].to_numpy())
        looks: tuple[tuple[str, Role, str], ...] = (
            ("T0", "non-private", "lost anyway, T₀"),
            ("T1", "local", "mixing, T₁"),
            ("T2", "private", "noise, T₂"),
        )
        return [
            *(
                Spread(role, keeps, edges[place], edges[place + 1], f"{name}, layer", "strong", label)
                for place, (name, role, label) in enumerate(looks)
            ),
            Line("local", keeps, lower, FIRST_TWO, None, width=1.0, dash="solid", hover="with mixing: {y} times"),
        ]

    def bounds(self, result: Result, shaded: bool) -> list[Any]:
        """Describe both bands round the price: their edges, and what lies between them where asked."""
        looks: tuple[tuple[str, Role, str], ...] = (
            (PRINTED, "upper bound", "printed bounds"),
            (TIGHT, "lower bound", "tight bounds"),
        )
        fills: list[Any] = []
        edges: list[Any] = []
        for series, role, label in looks:
            band = result.series(series)
            keeps = band["x"].to_numpy(dtype=np.float64)
            low, high = band["low"].to_numpy(), band["high"].to_numpy()
            if shaded:
                fills.insert(0, Spread(role, keeps, low, high, series, "light"))
            dash = {"upper bound": "2px,3px", "lower bound": "9px,3px,2px,3px"}[role]
            for end, words, values in (("high", "upper", high), ("low", "lower", low)):
                edges.append(
                    Line(
                        role, keeps, values, f"{series}, {end}", label if end == "high" else None,
                        dash=dash, width=1.75, hover=f"{label}, {words}: {{y}} times",
                    )
                )  # fmt: skip
        return [*fills, *edges]

    def parts(self, result: Result) -> tuple[Area, ...]:
        """Describe the three terms as layers."""
        looks: dict[str, tuple[Role, str]] = {
            "T0": ("non-private", "lost anyway,<br>T₀"),
            "T1": ("local", "mixing, T₁"),
            "T2": ("private", "noise spread,<br>T₂"),
        }
        out = []
        for name, words in PARTS.items():
            rows = result.series(f"{name}, {words}")
            role, label = looks[name]
            out.append(
                Area(
                    role,
                    rows["x"].to_numpy(dtype=np.float64),
                    rows["y"].to_numpy(),
                    f"{name}, {words}",
                    label,
                    hover=f"{words}: {{y}} of the variance",
                )
            )
        return tuple(out)


def other_of(target: str) -> str:
    """Return the other effect."""
    return "att" if target == "ate" else "ate"


def keep_for_price(cost: Decomposition, times: float) -> float:
    """Keep probability at which the price is ``times``, in closed form.

    With u = 1/α the price is 1 + (u - 1)(T₁ + u T₂)/T₀, a quadratic in u.

    Examples
    --------
    >>> from privexplorer.causal import Decomposition
    >>> round(keep_for_price(Decomposition(1.0, 1.0, 0.0), 2.0), 6)
    0.5
    """
    gap = (times - 1.0) * cost.t0
    if cost.t1 + cost.t2 <= 0:
        return math.nan
    if cost.t2 == 0:
        return 1.0 / (1.0 + gap / cost.t1)
    b = cost.t1 - cost.t2
    u = (-b + math.sqrt(b * b + 4.0 * cost.t2 * (cost.t1 + gap))) / (2.0 * cost.t2)
    return 1.0 / u


__all__ = ["EffectPrice", "EffectPriceScenario", "keep_for_price"]
