"""Why must the series be faded out? Coefficients, bias bound, sensitivity and noise (properties §5, §12.5; E3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.distributions import Uniform
from privexplorer.properties import (
    GoodToulmin,
    SmoothedGoodToulmin,
    binomial_smoothing,
    sgt_bias_bound,
    sgt_coefficient_bound,
    sgt_sensitivity_bound,
    smoothing_rate,
)
from privexplorer.records import Epsilon, Number, Scenario, field
from privexplorer.studies import _unseen as unseen
from privexplorer.studies._fields import people_field
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import ratio, significant, whole

STEPS = 33
"""Smoothing rates of the other views."""
HIGHEST_EXPONENT = 300.0
LOWEST = 1e-3
"""Weights below a thousandth move no answer and are not drawn."""
FACTORS = (0.1, 10.0)


class CoefficientScenario(Scenario):
    """One look-ahead and one smoothing."""

    n: Annotated[int, Number] = people_field(
        1_000, "Decides the automatic smoothing.", low=10, high=1_000_000, ge=2, le=100_000_000
    )
    k: Annotated[int, Number] = field(
        1_000,
        "Number of values k",
        "For the bias: no more than k values exist.",
        key="k",
        group="Data",
        scale="log",
        low=10,
        high=100_000,
        ge=2,
        le=1_000_000,
    )
    epsilon: Epsilon = 1.0
    t: Annotated[float, Number] = field(
        2.0,
        "Look-ahead t, further records per record",
        "Above 1: up to there Good-Toulmin needs no smoothing.",
        key="t",
        group="Method",
        scale="log",
        low=1.5,
        high=10.0,
        gt=1,
        le=50,
    )
    factor: Annotated[float, Number] = field(
        1.0,
        "Smoothing rate r, as a multiple of the published choice",
        "Small: little noise, much bias. Large: the coefficients explode. 1 is the automatic choice.",
        key="r",
        group="Method",
        scale="log",
        low=FACTORS[0],
        high=FACTORS[1],
        ge=0.01,
        le=100,
    )
    counts: Annotated[int, Number] = field(
        20,
        "Counts shown",
        "Coefficients of symbols seen up to so often.",
        key="counts",
        group="Method",
        advanced=True,
        ge=3,
        le=60,
    )

    @property
    def rate(self) -> float:
        """The smoothing rate r."""
        return self.factor * smoothing_rate(self.n, self.t)


class CoefficientExplosion(Study[CoefficientScenario]):
    """Coefficients of Good-Toulmin and of its smoothed forms, and what they cost."""

    id: ClassVar[str] = "coefficient-explosion"
    question: ClassVar[str] = "Why does looking far ahead cost so much noise?"
    lead: ClassVar[str] = (
        "A symbol seen i times counts with weight (−t)ⁱ: beyond t = 1 one record would swing the answer wildly. "
        "Smoothing fades the series out."
    )
    tab: ClassVar[str] = "Coefficients"
    card: ClassVar[str] = "Good-Toulmin's coefficients explode; smoothed ones stay small, at the price of bias."
    link: ClassVar[str] = "See the coefficients"
    theme: ClassVar[str] = "unseen"
    picture: ClassVar[str] = "bars"
    scenario: ClassVar[type[Scenario]] = CoefficientScenario
    late: ClassVar[frozenset[str]] = frozenset(CoefficientScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {
        "coefficients": "Coefficients",
        "sensitivity": "Sensitivity against r",
        "balance": "Bias against noise",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-SGT", "T-Lem26", "T-Lem27", "T-Eq4.1", "T-SGTr")

    def presets(self) -> tuple[Preset[CoefficientScenario], ...]:
        """Finished examples."""
        make = CoefficientScenario
        return (
            Preset("Three times the sample", make()),
            Preset("Far ahead", make(n=10_000, k=20_000, t=10.0)),
            Preset("Too much smoothing rate", make(factor=3.0)),
            Preset("Where the printed bound fails", make(t=1.022, factor=10.0, counts=60)),
        )

    def check(self, scenario: CoefficientScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        if scenario.rate * (scenario.t - 1) > unseen.LARGEST_GROWTH:
            most = unseen.LARGEST_GROWTH / (scenario.t - 1) / smoothing_rate(scenario.n, scenario.t)
            return (
                f"At t = {scenario.t:g} a smoothing rate r of {scenario.rate:.4g} leaves the range of numbers; lower "
                f"the multiple to {most:.2g} or less.",
            )
        return ()

    def prepare(self, scenario: CoefficientScenario, tables: Tables | None) -> None:
        """Nothing to prepare: everything is a closed form."""
        return

    def assemble(self, scenario: CoefficientScenario, prepared: None, parts: Sequence[FloatArray]) -> Result:
        """Compute coefficients, bounds and words."""
        n, t, r, k = scenario.n, scenario.t, scenario.rate, scenario.k
        counts = np.arange(1, min(scenario.counts, n) + 1)
        smoothed = SmoothedGoodToulmin(smoothing_mean=r)
        rows: list[tuple[str, Any, Any, Any]] = [
            ("Good-Toulmin", counts, GoodToulmin().new_values(counts, n, t), 0.0),
            ("Poisson", counts, smoothed.new_values(counts, n, t), 0.0),
        ]
        for smoothing in ("binomial-1", "binomial-2"):
            estimator = SmoothedGoodToulmin(smoothing=smoothing)
            rows.append((unseen.SMOOTHINGS[smoothing], counts, estimator.new_values(counts, n, t), 0.0))
        exact, printed = smoothed.sensitivity(n, t), sgt_sensitivity_bound(r, t)
        bias = sgt_bias_bound(r, t, n * (1 + t), k)
        own_bias = float(uniform_bias(n, t, k, [r])[0])
        noise = math.sqrt(2) * exact / scenario.epsilon
        plain = float(np.abs(rows[0][2]).max())
        largest = float(np.abs(rows[1][2]).max())
        cards = (
            Card(
                "Bias, at most",
                significant(bias),
                "Lemma 27",
                f"In values. Exact for {k:,} equally likely ones: {significant(own_bias)}.",
            ),
            Card(
                "Sensitivity", significant(exact), "exact", "Largest change of the answer when one record is replaced."
            ),
            Card(
                "Printed bound",
                significant(printed),
                f"{ratio(printed / exact)} the exact" if printed >= exact else "too small here",
                "2(1 + e^(r(t−1))), eq. (4.1): true for the published choice of r, not for every r (E3).",
            ),
            Card(
                "Noise",
                significant(noise),
                f"at ε = {scenario.epsilon:g}",
                "Standard deviation of the noise, in values.",
            ),
        )
        sentence = (
            f"Smoothing keeps all weights below **{significant(largest, 2)}**. "
            if largest < 0.9 * plain
            else "Smoothing fades the weights out only beyond the counts shown. "
        )
        shows = (
            f"Looking **t = {t:g}** samples ahead, Good-Toulmin gives a symbol seen {counts[-1]} times the weight "
            f"{significant(float(t) ** int(counts[-1]), 2)}. {sentence}"
            f"At r = {significant(r)} one record moves the answer by at most **{significant(exact)}** values, so at "
            f"ε = {scenario.epsilon:g} the noise is about {significant(noise, 2)} values in an answer of at most "
            f"{whole(min(k, n * (1 + t)))}. The price is bias: {significant(own_bias, 2)} values if all {k:,} are "
            f"equally likely, while the bound of Lemma 27 allows {significant(bias, 2)}. Odd counts add, even counts "
            "subtract."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=tidy(rows),
            cards=cards,
            shows=shows,
            takeaway=(
                f"Sizes of coefficients by count at t = {t:g}: Good-Toulmin's grow to {significant(plain, 2)} at count "
                f"{counts[-1]}, Poisson-smoothed ones stay at most {significant(largest, 2)}."
            ),
            notes=self.notes(scenario, exact, printed),
            formulas=self.formulas(scenario, exact, printed, bias),
            assumptions=ASSUMPTIONS,
        )

    def rates(self, scenario: CoefficientScenario) -> FloatArray:
        """Smoothing rates for the views against r: around the published choice, as far as numbers reach."""
        base = smoothing_rate(scenario.n, scenario.t)
        low, high = FACTORS[0] * base, FACTORS[1] * base
        high = min(max(high, 1.2 * scenario.rate), HIGHEST_EXPONENT / (scenario.t - 1))
        low = min(low, scenario.rate)
        return np.array([float(f"{value:.6g}") for value in np.geomspace(low, max(high, 2 * low), STEPS)])

    def against_rate(self, result: Result) -> pd.DataFrame:
        """Sensitivities, noise and biases against the smoothing rate."""
        scenario: Any = result.scenario
        rates = self.rates(scenario)
        exact, printed, bias, own = along(scenario.n, scenario.t, scenario.k, tuple(rates.tolist()))
        return tidy(
            [
                ("exact sensitivity", rates, exact, 0.0),
                ("printed bound", rates, printed, 0.0),
                ("exact ÷ printed", rates, exact / printed, 0.0),
                ("bias bound", rates, bias, 0.0),
                ("exact bias, equally likely values", rates, own, 0.0),
                ("noise", rates, math.sqrt(2) * exact / scenario.epsilon, 0.0),
            ]
        )

    def notes(self, scenario: CoefficientScenario, exact: float, printed: float) -> tuple[Note, ...]:
        """Say where the printed bound fails."""
        if exact <= printed:
            return ()
        return (
            Note(
                f"At r = {significant(scenario.rate)} and t = {scenario.t:g} the exact sensitivity is "
                f"{significant(exact, 4)}, above the printed bound {significant(printed, 4)}: noise made for the "
                "bound would not be ε-private (E3).",
                "warning",
                "The printed bound fails here",
            ),
        )

    def formulas(self, scenario: CoefficientScenario, exact: float, printed: float, bias: float) -> tuple[Formula, ...]:
        """Write coefficients, bounds and noise, with the current numbers."""
        n, t, r = scenario.n, scenario.t, scenario.rate
        first = SmoothedGoodToulmin(smoothing_mean=r).coefficients(n, t, 3)
        trials, chance = binomial_smoothing(n, t, "binomial-1")
        trials_2, chance_2 = binomial_smoothing(n, t, "binomial-2")
        return (
            Formula(
                "Coefficients",
                r"c_i=1-(-t)^i\,\Pr(Z\ge i),\quad Z\sim\mathrm{Poi}(r)",
                rf"r = {r:.5g}:\quad c_1, c_2, c_3 = " + ",\\ ".join(f"{value:.4g}" for value in first),
                "exact",
                "properties §5, Sec 4.4.1.1",
            ),
            Formula(
                "Published smoothing rate",
                r"r=\frac1{2t}\ln\frac{n(t+1)^2}{t-1}",
                rf"r = {smoothing_rate(n, t):.5g}\quad(\text{{here }}{scenario.factor:g}\times)",
                "exact",
                "properties §5, Sec 4.5.2",
            ),
            Formula(
                "Size of a coefficient",
                r"|c_i|\le1+e^{r(t-1)}",
                rf"1+e^{{r(t-1)}} = {sgt_coefficient_bound(r, t):.4g}",
                "bound",
                "Lemma 26",
            ),
            Formula(
                "Sensitivity",
                r"\Delta(\hat S_m)\le2\,(1+e^{r(t-1)})",
                rf"\text{{exact }}{exact:.5g},\qquad\text{{printed }}{printed:.5g}",
                "bound",
                "eq (4.1), E1, E3",
            ),
            Formula(
                "Bias",
                r"|\mathrm E\hat S_m-S_m|\le2+2e^{r(t-1)}+\min(m,S(p))\,e^{-r}",
                rf"{bias:.5g}\qquad(S(p)\le k = {scenario.k:,})",
                "bound",
                "Lemma 27",
            ),
            Formula(
                "Binomial smoothing",
                r"Z\sim\mathrm{Bin}(K,q),\quad q=\tfrac1{1+t}\text{ or }\tfrac2{2+t}",
                rf"(K, q) = ({trials}, {chance:.3g})\text{{ and }}({trials_2}, {chance_2:.3g})",
                "exact",
                "extension, properties §5",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the coefficients, the sensitivity against r, or bias against noise."""
        if view == "sensitivity":
            return self.sensitivity_chart(result)
        if view == "balance":
            return self.balance_chart(result)
        scenario: Any = result.scenario
        looks: dict[str, tuple[Role, str, str | None]] = {
            "Good-Toulmin": ("non-private", "Good-Toulmin", None),
            "Poisson": ("private", "Poisson", "solid"),
            "binomial 1/(1+t)": ("private", "binomial<br>1/(1+t)", "9px,4px"),
            "binomial 2/(2+t)": ("private", "binomial<br>2/(2+t)", "2px,4px"),
        }
        marks = [
            Line(
                role,
                result.series(name)["x"].to_numpy(),
                np.abs(result.series(name)["y"].to_numpy()),
                name,
                label,
                main=name == "Poisson",
                markers=True,
                dash=dash,
                hover=f"{name}: {{y}}",
            )
            for name, (role, label, dash) in looks.items()
        ]
        return Chart(
            f"Weight of a symbol seen i times, t = {scenario.t:g}",
            "size, log scale; odd i add, even i subtract",
            Axis("times seen i", "linear", symbol="i"),
            Axis("weight", "log", low=LOWEST),
            (Panel(tuple(marks)),),
        )

    def sensitivity_chart(self, result: Result) -> Chart:
        """Describe exact and printed sensitivity, and their ratio, against r."""
        scenario: Any = result.scenario
        frame = self.against_rate(result)
        curve = {name: rows for name, rows in frame.groupby("series", sort=False)}
        rates = curve["exact ÷ printed"]["x"].to_numpy()
        share = curve["exact ÷ printed"]["y"].to_numpy()
        here = (scenario.rate, f"your r = {significant(scenario.rate, 2)}")
        left = (
            Line(
                "upper bound",
                rates,
                curve["printed bound"]["y"].to_numpy(),
                "printed bound",
                "printed<br>bound (4.1)",
                hover="printed bound: {y} values",
            ),
            Line(
                "private",
                rates,
                curve["exact sensitivity"]["y"].to_numpy(),
                "exact sensitivity",
                "exact",
                main=True,
                dash="solid",
                hover="exact: {y} values",
            ),
        )
        right: list[Any] = [
            Line("private", rates, share, "exact ÷ printed", dash="solid", hover="exact is {y} of the printed bound")
        ]
        over = share > 1
        if over.any():
            right.append(
                Points(
                    "attacker",
                    rates[over],
                    share[over],
                    "printed bound too small",
                    "bound<br>too small",
                    hover="printed bound too small by the factor {y}",
                )
            )
        return Chart(
            "Sensitivity against the smoothing rate",
            "first: values, log scale; second: ratio",
            Axis("smoothing rate r", "log", symbol="r"),
            Axis("sensitivity", "log"),
            (
                Panel(left, "Sensitivity, values", here=here),
                Panel(
                    tuple(right),
                    "Exact ÷ printed bound",
                    y=Axis("ratio", "linear", low=0.0, high=max(1.25, 1.05 * float(share.max()))),
                    level_lines=((1.0, "bound holds below"),),
                ),
            ),
            columns=2,
            shared_y=False,
        )

    def balance_chart(self, result: Result) -> Chart:
        """Describe bias and noise against r."""
        scenario: Any = result.scenario
        frame = self.against_rate(result)
        looks: dict[str, tuple[Role, str]] = {
            "bias bound": ("upper bound", "bias bound<br>(Lemma 27)"),
            "noise": ("private", "noise"),
            "exact bias, equally likely values": ("truth", "exact bias"),
        }
        marks = [
            Line(
                role,
                frame[frame["series"] == name]["x"].to_numpy(),
                frame[frame["series"] == name]["y"].to_numpy(),
                name,
                label,
                main=role == "private",
                hover=f"{name}: {{y}} values",
            )
            for name, (role, label) in looks.items()
        ]
        return Chart(
            "Bias against noise",
            f"values, log scale; noise at ε = {scenario.epsilon:g}",
            Axis("smoothing rate r", "log", symbol="r"),
            Axis("values", "log"),
            (Panel(tuple(marks), here=(scenario.rate, f"your r = {significant(scenario.rate, 2)}")),),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind each view; coefficients with their signs."""
        return result.frame if view == "coefficients" else self.against_rate(result)


def uniform_bias(n: int, t: float, k: int, rates: Sequence[float]) -> FloatArray:
    """Compute the size of the exact bias for k equally likely values, one per smoothing rate."""
    estimators = [SmoothedGoodToulmin(smoothing_mean=r) for r in rates]
    return np.abs(unseen.exact_bias(estimators, Uniform(k=k).law(), n, np.array([t]))[:, 0])


@lru_cache(maxsize=32)
def along(n: int, t: float, k: int, rates: tuple[float, ...]) -> tuple[FloatArray, ...]:
    """Compute exact and printed sensitivity, bias bound and exact bias, one array each over the smoothing rates."""
    found = (
        np.array([SmoothedGoodToulmin(smoothing_mean=r).sensitivity(n, t) for r in rates]),
        np.array([sgt_sensitivity_bound(r, t) for r in rates]),
        np.array([sgt_bias_bound(r, t, n * (1 + t), k) for r in rates]),
        uniform_bias(n, t, k, rates),
    )
    for values in found:
        values.setflags(write=False)
    return found


ASSUMPTIONS = (
    "The answer is the number of distinct values among m = (1 + t) n records; neighbours differ in one record, n is "
    "public.",
    "The weights shown are those of the new values, c_i − 1; every symbol seen counts 1 in addition. (properties §5)",
    "The exact sensitivity is the largest change over all samples of n records. (properties §1, derived)",
    "Binomial smoothing does not depend on r; it is an extension of the source.",
    "The printed bound on the sensitivity is true for the published r and fails for large r with t near 1. (E3, "
    "derived)",
)

__all__ = ["CoefficientExplosion", "CoefficientScenario"]
