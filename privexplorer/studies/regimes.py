"""Which rate holds where: Theorems 8 to 10 against ε and against the size (properties §3, §12.9; Lem 33)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.errors import ParameterError
from privexplorer.properties import (
    PlugIn,
    Polynomial,
    SampleSizeBound,
    coin_sample_size,
    coverage_sample_size,
    entropy_sample_size,
    sgt_privacy_sample_size,
    support_sample_size,
)
from privexplorer.records import Accuracy, Epsilon, Grid, Number, RealGrid, Record, Scenario, SymbolCount, field
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Role, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import significant, with_unit

ENDLESS = 1e300
"""An ε so large that every private term is gone."""
SMALLEST_EPSILON = 1e-9
EXPONENTS = np.round(np.linspace(0.05, 1.0, 20), 6)
"""γ on the third view; λ runs over the same values."""
WORDS = {"small": "small range", "middle": "middle range", "sublinear": "sublinear range"}
RANGES = {
    "small": "{size} ≤ 1/α",
    "middle": "1/α ≤ {size} ≤ 1/(αε)",
    "sublinear": "{size} ≥ 1/(αε)",
}
PANELS = {"epsilon": "against ε", "size": "against the size", "free": "what is free", "noise": "sensitivity against λ"}


class CoverageRates(Record):
    """Distinct symbols among m records, within α m (Thm 8)."""

    kind: Literal["coverage"] = "coverage"
    title: ClassVar[str] = "Support coverage"
    formula: ClassVar[str] = (
        r"U=\frac{m\ln(1/\alpha)}{\ln m}+\frac{m\ln(1/\alpha)}{\ln(2+\varepsilon m)}\ (m\ge\tfrac1{\alpha\varepsilon}),"
        r"\quad \tfrac1{\alpha^2}+\tfrac1{\alpha\varepsilon}\ (\tfrac1\alpha\le m\le\tfrac1{\alpha\varepsilon}),"
        r"\quad m^2+\tfrac m\varepsilon\ (m\le\tfrac1\alpha)"
    )
    lower_formula: ClassVar[str] = r"L=\frac{m\ln(1/\alpha)}{\ln m}+\frac1{\alpha\varepsilon}"
    source: ClassVar[str] = "Thm 8"
    symbol: ClassVar[str] = "m"
    m: Annotated[int, Number] = field(
        10_000,
        "Records that are to be covered, m",
        "How many different values would m records show?",
        key="m",
        scale="log",
        low=10,
        high=1_000_000,
        ge=2,
        le=100_000_000,
    )

    @property
    def size(self) -> int:
        """The size that the rates depend on."""
        return self.m

    def words(self) -> str:
        """Say what is estimated."""
        return f"the number of different values in **m = {self.m:,} records**"

    def rates(self, size: float, accuracy: float, epsilon: float) -> SampleSizeBound:
        """Return the rates of Theorem 8."""
        return coverage_sample_size(size, accuracy, epsilon)


class SupportRates(Record):
    """Number of symbols, each of mass at least 1/k, within α k (Thm 9)."""

    kind: Literal["support"] = "support"
    title: ClassVar[str] = "Support size"
    formula: ClassVar[str] = (
        r"U=\frac{k\ln^2(1/\alpha)}{\ln k}+\frac{k\ln^2(1/\alpha)}{\ln(2+\varepsilon k)}"
        r"\ (k\ge\tfrac1{\alpha\varepsilon}),"
        r"\quad k\ln\tfrac1\alpha+\tfrac1{\alpha\varepsilon}\ (\tfrac1\alpha\le k\le\tfrac1{\alpha\varepsilon}),"
        r"\quad k\ln k+\tfrac k\varepsilon\ (k\le\tfrac1\alpha)"
    )
    lower_formula: ClassVar[str] = (
        r"L=\frac{k\ln^2(1/\alpha)}{\ln k}+\frac1{\alpha\varepsilon}\ (k\ge\tfrac1\alpha),"
        r"\quad k\ln k+\tfrac k\varepsilon\ (k\le\tfrac1\alpha)"
    )
    source: ClassVar[str] = "Thm 9"
    symbol: ClassVar[str] = "k"
    k: SymbolCount = 1_000

    @property
    def size(self) -> int:
        """The size that the rates depend on."""
        return self.k

    def words(self) -> str:
        """Say what is estimated."""
        return f"the number of values, each with a share of at least **1 in k = {self.k:,}**,"

    def rates(self, size: float, accuracy: float, epsilon: float) -> SampleSizeBound:
        """Return the rates of Theorem 9."""
        return support_sample_size(size, accuracy, epsilon)


class EntropyRates(Record):
    """Entropy within α nats (Thm 10)."""

    kind: Literal["entropy"] = "entropy"
    title: ClassVar[str] = "Entropy"
    formula: ClassVar[str] = (
        r"U_1=\frac k\alpha+\frac{\ln^2\min(k,n)}{\alpha^2}+\frac1{\alpha\varepsilon}\ln\frac1{\alpha\varepsilon},"
        r"\quad U_2=\frac k{\lambda^2\alpha\ln k}+\frac{\ln^2\min(k,n)}{\alpha^2}"
        r"+\Bigl(\frac1{\alpha\varepsilon}\Bigr)^{1+\lambda}"
    )
    lower_formula: ClassVar[str] = (
        r"L=\frac k{\alpha\ln k}+\frac{\ln^2\min(k,n)}{\alpha^2}+\frac{\ln k}{\alpha\varepsilon}"
    )
    source: ClassVar[str] = "Thm 10"
    symbol: ClassVar[str] = "k"
    k: SymbolCount = 1_000
    degree_exponent: Annotated[float, Number] = field(
        0.5,
        "Exponent λ of the polynomial estimator",
        "Small: a high degree, little bias, a large sensitivity n^λ/n. Large: the other way round.",
        key="lambda",
        scale="log",
        low=0.01,
        high=1.0,
        ge=0.01,
        le=1,
    )

    @property
    def size(self) -> int:
        """The size that the rates depend on."""
        return self.k

    def words(self) -> str:
        """Say what is estimated."""
        return f"the entropy of a distribution on **k = {self.k:,} symbols**"

    def all_rates(self, size: float, accuracy: float, epsilon: float) -> dict[str, float]:
        """Return the rates of Theorem 10 by series."""
        found = entropy_sample_size(size, accuracy, epsilon, self.degree_exponent)
        return {
            "upper bound U1, plug-in": found.upper_1,
            "upper bound U2, polynomial": found.upper_2,
            "lower bound": found.lower,
            "without privacy": found.non_private,
        }


Property = Annotated[CoverageRates | SupportRates | EntropyRates, Field(discriminator="kind")]


class RegimeScenario(Scenario):
    """A property, an accuracy and an ε."""

    property: Property = field(
        CoverageRates(),
        "What is estimated",
        "Each property has a theorem of its own.",
        key="property",
        group="Data",
        discriminator="kind",
    )
    accuracy: Accuracy = field(
        0.1,
        "Error α that you accept",
        "As a share of m or k; in nats for the entropy.",
        group="Goal",
    )
    epsilon: Epsilon = field(
        1.0,
        "Privacy loss ε",
        "Marked on the first chart, fixed on the second.",
        group="You",
        low=0.001,
    )
    epsilons: RealGrid = field(
        RealGrid(low=1e-5, high=10.0, points=61), "Range of ε", key="grid", group="You", advanced=True
    )
    sizes: Grid = field(
        Grid(low=2, high=1_000_000, points=60),
        "Range of the size m or k",
        "For the second chart.",
        key="sizes",
        group="Data",
        advanced=True,
    )


def floor(wanted: Any, size: float, accuracy: float) -> float:
    """Return the rate without privacy: the lower rate without its private term."""
    if isinstance(wanted, EntropyRates):
        return entropy_sample_size(size, accuracy, 1.0).non_private
    return float(wanted.rates(size, accuracy, ENDLESS).lower)


def free_ratio(size: float, exponent: FloatArray) -> FloatArray:
    """Return ``ln m/ln(2 + ε m)`` at ``ε = m^(γ-1)``: the private term over the other, at most ``1/γ`` (Sec 4.3).

    Larger ε make it smaller. Derived, checked in tests/unit/studies/test_regimes.py.
    """
    # ln(2 + m^γ) through logaddexp: no overflow for large sizes
    return np.asarray(math.log(size) / np.logaddexp(math.log(2.0), exponent * math.log(size)))


@dataclass(frozen=True)
class FreeFrom:
    """The ε from which on the private term is at most twice the other, in the range that large ε lead to."""

    epsilon: float
    branch: str
    words: str
    why: str


def free_from(wanted: CoverageRates | SupportRates, accuracy: float) -> FreeFrom:
    """Return from which ε on privacy is free up to a factor of two.

    In the sublinear range that is ``1/√m`` (γ = 1/2), but never before the range starts, at ``1/(α m)``. For
    ``m ≤ 1/α`` there is no such range, and the two terms of the small range are compared themselves. Derived,
    checked in tests/unit/studies/test_regimes.py.
    """
    size, name = float(wanted.size), wanted.symbol
    if size <= 1 / accuracy:
        own = 1 / (2 * size) if isinstance(wanted, CoverageRates) else 1 / (2 * math.log(size))
        text = f"1/(2{name})" if isinstance(wanted, CoverageRates) else f"1/(2 ln {name})"
        return FreeFrom(own, "small", f"from ε = {text} = {significant(own, 2)} on", f"{text}, from the two terms")
    power, start = size**-0.5, 1 / (accuracy * size)
    if start > power:
        return FreeFrom(
            start,
            "sublinear",
            f"which starts at ε = 1/(α{name}) = {significant(start, 2)}",
            f"1/(α{name}), where the sublinear range starts; 1/√{name} = {significant(power, 2)} lies before it",
        )
    return FreeFrom(
        power,
        "sublinear",
        f"from ε = 1/√{name} = {significant(power, 2)} on",
        f"for ε ≥ {name}^(γ−1) it is at most 1/γ times the other; here γ = 1/2",
    )


def middle_free_from(wanted: CoverageRates | SupportRates, accuracy: float) -> float:
    """Return the ε from which on the private term of the middle range is at most twice the other one."""
    if isinstance(wanted, CoverageRates):
        return accuracy / 2
    return 1 / (2 * accuracy * wanted.size * math.log(1 / accuracy))


def even_epsilon(size: float, accuracy: float) -> float:
    """Return the ε at which the private term of Theorem 10's lower rate is half of that rate.

    The rest depends on n, which is then twice the rest. Derived, checked in tests/unit/studies/test_regimes.py.
    """
    learning = size / (accuracy * math.log(size))
    rest = learning
    for _ in range(200):
        rest = learning + math.log(min(size, max(2 * rest, 2.0))) ** 2 / accuracy**2
    return math.log(size) / (accuracy * rest)


def sgt_sizes(m: float, accuracy: float, epsilon: float) -> list[Formula]:
    """Write what the smoothed estimator needs: without privacy as a rate, for the noise with its constants."""
    out = [
        Formula(
            "Smoothed Good–Toulmin without privacy",
            r"n=C\,\frac{m\ln(1/\alpha)}{\ln m}",
            rf"C = 1:\quad {m * math.log(1 / accuracy) / math.log(m):,.6g}",
            "shape only",
            "Sec 4.4.1.1; first term of Theorem 8",
        )
    ]
    if accuracy * epsilon * m > 2:
        try:
            enough = sgt_privacy_sample_size(m, accuracy, epsilon)
        except ParameterError:
            return out
        out.append(
            Formula(
                "Enough for the noise of the smoothed estimator",
                r"n\ge\frac{m\ln(3/\alpha)}{\ln(\frac12\alpha\varepsilon m-1)+2\ln(3/\alpha)}",
                rf"m = {m:,.6g},\ \alpha = {accuracy:g},\ \varepsilon = {epsilon:g}:\quad {enough:,.10g}",
                "bound",
                "Sec 4.4.1.1 (solves Δ ≤ αεm)",
            )
        )
    return out


class Regimes(Study[RegimeScenario]):
    """Upper and lower rates of Theorems 8 to 10, their ranges named."""

    id: ClassVar[str] = "regimes"
    question: ClassVar[str] = "Which rate holds where, and when is privacy free?"
    lead: ClassVar[str] = (
        "Upper and lower rates of the number of records, for any distribution: where ε matters and where it does not. "
        "Their constants are unknown, so read shapes, not heights."
    )
    tab: ClassVar[str] = "Regimes"
    card: ClassVar[str] = "The theorems' rates against ε, range by range, beside a coin's."
    link: ClassVar[str] = "Compare the rates"
    theme: ClassVar[str] = "price"
    picture: ClassVar[str] = "regimes"
    scenario: ClassVar[type[Scenario]] = RegimeScenario
    late: ClassVar[frozenset[str]] = frozenset(RegimeScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {"epsilon": "Against ε", "size": "Against the size", "free": "What is free"}
    rows: ClassVar[tuple[str, ...]] = (
        "T-Thm8",
        "T-Thm9",
        "T-Thm10",
        "T-Free",
        "T-Lambda",
        "T-CoinRef",
        "T-Lem33",
        "T-SGTn",
        "T-SGTpriv",
    )

    def presets(self) -> tuple[Preset[RegimeScenario], ...]:
        """Finished examples."""
        make = RegimeScenario
        return (
            Preset("Coverage of a survey", make()),
            Preset("Support size", make(property=SupportRates(), epsilon=0.1)),
            Preset("Entropy", make(property=EntropyRates())),
            Preset("Few records, sharp answer", make(property=CoverageRates(m=300), accuracy=0.02, epsilon=0.05)),
        )

    def check(self, scenario: RegimeScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        out = []
        if scenario.sizes.low < 2:
            out.append("The theorems are about sizes of at least 2; let the range of the size start at 2 or above.")
        if min(scenario.epsilons.low, scenario.epsilon) < SMALLEST_EPSILON:
            out.append("The rates are drawn for ε of at least 10⁻⁹; let ε and its range start there or above.")
        return tuple(out)

    def prepare(self, scenario: RegimeScenario, tables: Tables | None) -> None:
        """Prepare nothing: these are closed forms."""

    def assemble(self, scenario: RegimeScenario, prepared: None, parts: Sequence[FloatArray]) -> Result:
        """Evaluate the rates along ε and along the size."""
        wanted, accuracy = scenario.property, scenario.accuracy
        epsilons, sizes = scenario.epsilons.values(), scenario.sizes.values().astype(np.float64)
        frame = pd.concat(
            [
                curves(wanted, [(float(wanted.size), float(e), float(e)) for e in epsilons], accuracy, "epsilon"),
                curves(wanted, [(float(s), scenario.epsilon, float(s)) for s in sizes], accuracy, "size"),
                self.free(scenario),
            ],
            ignore_index=True,
        )
        return self.told(scenario, frame)

    def free(self, scenario: RegimeScenario) -> pd.DataFrame:
        """Numbers of the third view."""
        wanted, accuracy = scenario.property, scenario.accuracy
        size, noise = float(wanted.size), 1.0 / (scenario.accuracy * scenario.epsilon)
        if not isinstance(wanted, EntropyRates):
            rows: list[tuple[str, Any, Any, Any]] = [
                ("private term ÷ other term", EXPONENTS, free_ratio(size, EXPONENTS), 0.0),
                ("bound 1/γ", EXPONENTS, 1 / EXPONENTS, 0.0),
            ]
            return tidy(rows, panel=PANELS["free"])
        learning = size / (EXPONENTS**2 * accuracy * math.log(size))
        whole = [entropy_sample_size(size, accuracy, scenario.epsilon, float(x)).upper_2 for x in EXPONENTS]
        records = records_at(scenario)
        plug_in, polynomial = PlugIn(), Polynomial(preset="private")
        first = tidy(
            [
                ("upper bound U2", EXPONENTS, whole, 0.0),
                ("learning term", EXPONENTS, learning, 0.0),
                ("private term", EXPONENTS, noise ** (1 + EXPONENTS), 0.0),
            ],
            panel=PANELS["free"],
        )
        second = tidy(
            [
                ("n^λ/n (Lemma 33)", EXPONENTS, float(records) ** (EXPONENTS - 1), 0.0),
                ("plug-in, exact", EXPONENTS, np.full(EXPONENTS.size, plug_in.sensitivity(records)), 0.0),
                (
                    "polynomial of the experiments, exact",
                    EXPONENTS,
                    np.full(EXPONENTS.size, polynomial.sensitivity(records, int(size))),
                    0.0,
                ),
            ],
            panel=PANELS["noise"],
        )
        return pd.concat([first, second], ignore_index=True)

    # ---- words ----

    def told(self, scenario: RegimeScenario, frame: pd.DataFrame) -> Result:
        """Add cards, words, formulas and notes."""
        wanted, accuracy, epsilon = scenario.property, scenario.accuracy, scenario.epsilon
        size = float(wanted.size)
        base = floor(wanted, size, accuracy)
        coin = coin_sample_size(accuracy, epsilon)
        if isinstance(wanted, EntropyRates):
            rates = wanted.all_rates(size, accuracy, epsilon)
            first, second = rates["upper bound U1, plug-in"], rates["upper bound U2, polynomial"]
            upper, lower = min(first, second), rates["lower bound"]
            where = (
                f"The rate of the {'plug-in' if first <= second else 'polynomial'} estimator is the smaller one of the "
                "two. The private terms hardly involve k. "
            )
            even = even_epsilon(size, accuracy)
            turn = (
                f"In the lower rate, privacy costs as much as everything else at ε = {significant(even, 2)}, and less "
                "above. "
            )
            card = Card("As much as the rest", f"ε = {significant(even, 2)}", "in the lower rate")
        else:
            found = wanted.rates(size, accuracy, epsilon)
            upper, lower = found.upper, found.lower
            where = (
                f"This is the {WORDS[found.branch]} ({RANGES[found.branch].format(size=wanted.symbol)}), where the "
                f"private term is {significant(found.terms['private'])} of it"
                + (
                    ", the same rate as one coin's. "
                    if found.branch == "middle" and wanted.kind == "coverage"
                    else ". "
                )
            )
            free = free_from(wanted, accuracy)
            turn = f"In the {WORDS[free.branch]}, {free.words}, the private term is at most twice the other. "
            if found.branch == "middle" and (early := middle_free_from(wanted, accuracy)) < free.epsilon:
                turn += f"In the middle range it is from ε = {significant(early, 2)} on. "
            card = Card(
                "Free (≤ 2×) from",
                f"ε = {significant(free.epsilon)}",
                WORDS[free.branch],
                f"From there on the private term is at most twice the other: {free.why}.",
            )
        cards = (
            Card("Upper rate", significant(upper), "shape only", "Hidden constants are set to one."),
            Card("Lower rate", significant(lower), "shape only", "Hidden constants are set to one."),
            Card("Without privacy", significant(base), "shape only", "The lower rate without its private term."),
            card,
        )
        shows = (
            f"For {wanted.words()} within **α = {accuracy:g}** at **ε = {epsilon:g}**, the upper rate is "
            f"**{with_unit(significant(upper), 'records')}**, the lower rate {significant(lower)}, one coin takes "
            f"{significant(coin)}. {where}{turn}All hidden constants are set to one, so these are shapes: ranges do "
            "not join, and an upper curve may dip below a lower one."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Upper and lower rates of the number of records ({wanted.title.lower()}), shapes only. "
                f"At epsilon {epsilon:g} the upper rate is {significant(upper)}, the lower rate {significant(lower)}, "
                f"{significant(base)} without privacy."
            ),
            notes=self.notes(scenario, upper, lower),
            formulas=self.formulas(scenario, upper, lower, coin),
            assumptions=assumptions(wanted),
        )

    def notes(self, scenario: RegimeScenario, upper: float, lower: float) -> tuple[Note, ...]:
        """Say where constants set to one turn the bounds round."""
        if upper >= lower:
            return ()
        return (
            Note(
                f"Here the upper rate ({significant(upper)}) lies below the lower rate ({significant(lower)}): with "
                "their true constants it cannot. Only the slopes mean something."
            ),
        )

    def formulas(self, scenario: RegimeScenario, upper: float, lower: float, coin: float) -> tuple[Formula, ...]:
        """Write the theorem and the claim about free privacy, with the current numbers."""
        wanted, accuracy, epsilon = scenario.property, scenario.accuracy, scenario.epsilon
        setting = rf"{wanted.symbol} = {wanted.size:,},\ \alpha = {accuracy:g},\ \varepsilon = {epsilon:g}"
        out = [
            Formula("Upper rate", wanted.formula, rf"{setting}:\quad {upper:,.10g}", "shape only", wanted.source),
            Formula("Lower rate", wanted.lower_formula, rf"{setting}:\quad {lower:,.10g}", "shape only", wanted.source),
            Formula(
                "One coin, the yardstick",
                r"\frac1{\alpha^2}+\frac1{\alpha\varepsilon}",
                rf"{accuracy**-2:,.6g}+{1 / (accuracy * epsilon):,.6g} = {coin:,.6g}",
                "shape only",
                "Sec 4.1.1",
            ),
        ]
        if isinstance(wanted, CoverageRates):
            out += sgt_sizes(wanted.m, accuracy, epsilon)
        if isinstance(wanted, EntropyRates):
            records = records_at(scenario)
            out.append(
                Formula(
                    "Sensitivity of a low-sensitivity polynomial",
                    r"\Delta\le n^\lambda/n",
                    rf"n = {records:,},\ \lambda = {wanted.degree_exponent:g}:\quad "
                    rf"{float(records) ** (wanted.degree_exponent - 1):.4g}\qquad\text{{experiments, exact: }}"
                    rf"{Polynomial(preset='private').sensitivity(records, wanted.size):.4g}",
                    "shape only",
                    "Lemma 33",
                )
            )
        else:
            size = float(wanted.size)
            out.append(
                Formula(
                    "Free privacy",
                    r"\varepsilon\ge "
                    + wanted.symbol
                    + r"^{\gamma-1}\ \Rightarrow\ \frac{\ln s}{\ln(2+\varepsilon s)}\le\frac1\gamma,\quad s="
                    + wanted.symbol,
                    rf"\varepsilon = {epsilon:g}:\quad"
                    rf"{math.log(size) / math.log(2 + epsilon * size):.4g}\le{bound_now(size, epsilon)}",
                    "bound",
                    "Sec 4.3 (derived)",
                )
            )
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        shown = [PANELS["free"], PANELS["noise"]] if view == "free" else [PANELS[view]]
        return result.frame[result.frame["panel"].isin(shown)]

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the rates against ε or the size, or what is free."""
        scenario: Any = result.scenario
        wanted = scenario.property
        if view == "free":
            return entropy_dial(result) if isinstance(wanted, EntropyRates) else free_chart(result)
        along = view if view in ("epsilon", "size") else "epsilon"
        marks = rate_marks(result, PANELS[along])
        y = np.concatenate([np.asarray(mark.y) for mark in marks])
        low, high = float(np.min(y)) / 1.5, float(np.max(y)) * 1.5
        shade = shaded(scenario, along, low, high)
        x = (
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε")
            if along == "epsilon"
            else Axis(f"size {wanted.symbol}", "log", symbol=wanted.symbol)
        )
        own = (
            (scenario.epsilon, f"your ε = {scenario.epsilon:g}")
            if along == "epsilon"
            else (float(wanted.size), f"your {wanted.symbol} = {wanted.size:,}")
        )
        fixed = f"{wanted.symbol} = {wanted.size:,}" if along == "epsilon" else f"ε = {scenario.epsilon:g}"
        return Chart(
            f"Rates for {wanted.title.lower()}, {fixed}, α = {scenario.accuracy:g}",
            f"records, shapes only; grey: {shade[0].name}" if shade else "records, log scale; shapes only",
            x,
            Axis("records", "log", low, high, unit="records"),
            (Panel((*shade, *marks), here=own),),
            names=tuple(mark.name for mark in reversed(marks)),
        )


def bound_now(size: float, epsilon: float) -> str:
    """Write 1/γ for the largest γ up to 1 that ε allows, in TeX."""
    exponent = min(1.0, 1.0 + math.log(epsilon) / math.log(size))
    return f"{1 / exponent:.4g}" if exponent > 0 else r"\infty"


def records_at(scenario: RegimeScenario) -> int:
    """Sample size at which sensitivities are compared: the rate U2."""
    wanted: Any = scenario.property
    found = entropy_sample_size(float(wanted.size), scenario.accuracy, scenario.epsilon, wanted.degree_exponent)
    return int(min(max(2.0, found.upper_2), 1e9))


def curves(wanted: Any, points: Sequence[tuple[float, float, float]], accuracy: float, along: str) -> pd.DataFrame:
    """Evaluate all rates at ``(size, ε, x)``; each range of a theorem is a series of its own."""
    rows: dict[str, tuple[list[float], list[float]]] = {}

    def put(name: str, x: float, y: float) -> None:
        xs, ys = rows.setdefault(name, ([], []))
        xs.append(x)
        ys.append(y)

    for size, epsilon, x in points:
        if isinstance(wanted, EntropyRates):
            for name, value in wanted.all_rates(size, accuracy, epsilon).items():
                put(name, x, value)
        else:
            found = wanted.rates(size, accuracy, epsilon)
            put(f"upper bound, {WORDS[found.branch]}", x, found.upper)
            own = isinstance(wanted, SupportRates) and found.branch == "small" and along == "size"
            put("lower bound, small range" if own else "lower bound", x, found.lower)
            put("without privacy", x, floor(wanted, size, accuracy))
        put("one coin", x, coin_sample_size(accuracy, epsilon))
    return tidy([(name, xs, ys, 0.0) for name, (xs, ys) in rows.items()], panel=PANELS[along])


def rate_marks(result: Result, panel: str) -> list[Line]:
    """Describe the rates of one panel, ranges as pieces that do not join."""
    looks: dict[str, tuple[Role, str, str | None]] = {
        "one coin": ("truth", "one coin", None),
        "without privacy": ("non-private", "without<br>privacy", None),
        "lower bound, small range": ("lower bound", "lower,<br>small", "9px,3px,2px,3px"),
        "lower bound": ("lower bound", "lower bound", "9px,3px,2px,3px"),
        "upper bound, small range": ("upper bound", "upper,<br>small", "2px,3px"),
        "upper bound, middle range": ("upper bound", "upper,<br>middle", "2px,3px"),
        "upper bound, sublinear range": ("upper bound", "upper,<br>sublinear", "2px,3px"),
        "upper bound U1, plug-in": ("upper bound", "upper U1,<br>plug-in", "2px,3px"),
        "upper bound U2, polynomial": ("upper bound", "upper U2,<br>polynomial", "9px,4px"),
    }
    marks = []
    for name, (role, label, dash) in looks.items():
        rows = result.series(name, panel)
        if len(rows):
            x, y = rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy()
            wide = 3.0 if role == "upper bound" else None
            marks.append(
                Line(role, x, y, name, label, dash=dash, width=wide, hover=f"{name}: {{y}} records, shape only")
            )
    return marks


def shaded(scenario: RegimeScenario, along: str, low: float, high: float) -> list[Spread]:
    """Shade the middle range of the theorem, if it has one here."""
    wanted: Any = scenario.property
    if isinstance(wanted, EntropyRates):
        return []
    if along == "epsilon":
        grid = scenario.epsilons.values()
        first, last = float(grid[0]), min(float(grid[-1]), 1 / (scenario.accuracy * wanted.size))
        if wanted.size <= 1 / scenario.accuracy:
            return []
    else:
        sizes = scenario.sizes.values()
        first = max(float(sizes[0]), 1 / scenario.accuracy)
        last = min(float(sizes[-1]), 1 / (scenario.accuracy * scenario.epsilon))
    if not last > first * 1.001:
        return []
    name = RANGES["middle"].format(size=wanted.symbol)
    return [Spread("non-private", [first, last], [low, low], [high, high], name)]


def free_chart(result: Result) -> Chart:
    """Describe the ratio of the private to the other term against γ, below 1/γ."""
    scenario: Any = result.scenario
    wanted = scenario.property
    exact = result.series("private term ÷ other term", PANELS["free"])
    bound = result.series("bound 1/γ", PANELS["free"])
    mine = 1 + math.log(scenario.epsilon) / math.log(wanted.size)
    inside = EXPONENTS[0] <= mine <= EXPONENTS[-1]
    # ε = m^(γ−1) ≥ 1/(α m)
    start = -math.log(scenario.accuracy) / math.log(wanted.size)
    return Chart(
        "How much larger privacy makes the rate",
        "private term ÷ other term, sublinear range",
        Axis(f"γ, where ε = {wanted.symbol}^(γ−1)", "linear", symbol="γ"),
        Axis("ratio", "log"),
        (
            Panel(
                (
                    Line(
                        "upper bound",
                        bound["x"].to_numpy(),
                        bound["y"].to_numpy(),
                        "bound 1/γ",
                        "bound 1/γ",
                        hover="at most {y} times",
                    ),
                    Line(
                        "private",
                        exact["x"].to_numpy(),
                        exact["y"].to_numpy(),
                        "private term ÷ other term",
                        "private ÷<br>other term",
                        main=True,
                        hover="private term: {y} times the other",
                    ),
                ),
                here=(mine, f"your ε: γ = {significant(mine, 2)}") if inside else None,
                marked=((start, "range starts"),) if EXPONENTS[0] < start < EXPONENTS[-1] else (),
            ),
        ),
    )


def entropy_dial(result: Result) -> Chart:
    """Describe what λ trades: learning against the private term, and the sensitivity behind it."""
    scenario: Any = result.scenario
    own = scenario.property.degree_exponent
    here = (own, f"your λ = {own:g}") if own >= EXPONENTS[0] else None

    def lines(panel: str, looks: Mapping[str, tuple[Role, str, str | None]], unit: str) -> tuple[Line, ...]:
        out = []
        for name, (role, label, dash) in looks.items():
            rows = result.series(name, panel)
            out.append(
                Line(
                    role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, dash=dash,
                    hover=f"{name}: {{y}}{unit}",
                )
            )  # fmt: skip
        return tuple(out)

    terms: dict[str, tuple[Role, str, str | None]] = {
        "upper bound U2": ("upper bound", "U2 in all", None),
        "learning term": ("non-private", "learning", None),
        "private term": ("private", "private", None),
    }
    noise: dict[str, tuple[Role, str, str | None]] = {
        "n^λ/n (Lemma 33)": ("upper bound", "n^λ/n<br>(Lemma 33)", "9px,4px"),
        "polynomial of the experiments, exact": ("private", "polynomial,<br>exact", "9px,4px"),
        "plug-in, exact": ("data", "plug-in,<br>exact", None),
    }
    x = Axis("λ", "linear", symbol="λ")
    return Chart(
        "What the exponent λ trades",
        "log scales; shapes, constants set to one",
        x,
        Axis("records", "log"),
        (
            Panel(lines(PANELS["free"], terms, " records"), "Records in U2", here, y=Axis("records", "log")),
            Panel(
                lines(PANELS["noise"], noise, ""),
                f"Sensitivity at n = {records_at(scenario):,}",
                here,
                y=Axis("sensitivity", "log"),
            ),
        ),
        columns=2,
        shared_y=False,
    )


def assumptions(wanted: Any) -> tuple[str, ...]:
    """Say what the rates stand on."""
    out = [
        f"Upper and lower rates of {wanted.source}, hidden constants set to one: the answer is within the error with "
        "probability 2/3, for every distribution of the kind. (properties §3)",
        "Neighbours are two samples of the same size n that differ in one record. (properties §0, Def. 1)",
        "Without privacy: the lower rate without its private term.",
        "One coin: estimating the bias of a coin, the cheapest private question there is. (Sec 4.1.1)",
    ]
    if isinstance(wanted, EntropyRates):
        out.append(
            "The sample size n stands on both sides of Theorem 10, through ln min(k, n): the equation is solved. U2 is "
            "for an estimator whose sensitivity is n^λ/n; the polynomial of the experiments has its own, exact one. "
            "(Lem 33)"
        )
    else:
        out.append(
            "Small sizes are tested first, then the sublinear range; the middle range is what is left. The ranges do "
            "not join continuously. (properties §3)"
        )
    return tuple(out)


__all__ = ["CoverageRates", "EntropyRates", "RegimeScenario", "Regimes", "SupportRates", "free_ratio"]
