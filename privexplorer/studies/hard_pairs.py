"""Pairs of laws that few private records cannot tell apart (properties §5, §6, §12.7; Lemmas 28, 29, 31, E8, E9)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.properties import HardPair, coverage_pair, entropy_pair, support_pair
from privexplorer.records import Accuracy, Epsilon, Number, Record, Scenario, Seed, SymbolCount, Trials, field
from privexplorer.simulation import block_rng, mean_and_error
from privexplorer.studies._fields import people_field
from privexplorer.studies._notes import stated
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Role
from privexplorer.studies.result import Card, Formula, Result, tidy
from privexplorer.studies.words import percent, significant, whole, with_unit

EPSILONS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 10.0, 25)])
SHIFTS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 0.5, 18)])
"""Accuracies (or η) at which the gap is shown."""
POINTS = 12
FAILURE = 1 / 3
"""Failure probability of the lower bound that is a theorem."""
PANELS = {"distance": "records that differ", "records": "records needed", "gap": "gap of the property"}


class CoverageTwins(Record):
    """Uniform on m (1 + α) values, against m of them and one heavy newcomer."""

    kind: Literal["coverage"] = "coverage"
    title: ClassVar[str] = "Support coverage"
    formula: ClassVar[str] = (
        r"u_1=U[m(1+\alpha)],\qquad "
        r"u_2=\Bigl(\tfrac1{m(1+\alpha)},\ldots,\tfrac1{m(1+\alpha)},\tfrac\alpha{1+\alpha}\Bigr)"
    )
    source: ClassVar[str] = "Sec 4.4.1.2"
    names: ClassVar[tuple[str, str]] = ("even law u₁", "heavy law u₂")
    symbol: ClassVar[str] = "α"
    unit: ClassVar[str] = "values"
    m: Annotated[int, Number] = field(
        100, "Records that are to be covered, m", "", key="m", scale="log", low=10, high=10_000, ge=2, le=20_000
    )
    accuracy: Accuracy = field(
        0.1,
        "Gap α, as a share of m",
        "How far apart the two coverages are to be, about.",
        low=0.01,
    )

    @property
    def shift(self) -> float:
        """What moves the two apart."""
        return self.accuracy

    def pair(self, shift: float) -> HardPair:
        """Return the two laws at this α."""
        return coverage_pair(self.m, shift)

    def order(self, shift: float) -> float:
        """Order of the gap, its constant set to one."""
        return shift * self.m

    def held(self, value: float) -> str:
        """Say what a law with this value shows."""
        return f"shows {self.number(value, 4)} different values in {self.m:,} records"

    def number(self, value: float, digits: int = 3) -> str:
        """Write a value of the property, an average."""
        return significant(value, digits)

    def size(self) -> str:
        """Write the size in TeX."""
        return rf"m = {self.m:,},\ \alpha = {self.accuracy:g}"

    def rate(self, epsilon: float) -> tuple[str, float]:
        """Return the theorem's private term, constant set to one."""
        return r"\frac1{\alpha\varepsilon}", 1 / (self.accuracy * epsilon)


class SupportTwins(Record):
    """Uniform on k values, against uniform on a few less."""

    kind: Literal["support"] = "support"
    title: ClassVar[str] = "Support size"
    formula: ClassVar[str] = r"U[k]\quad\text{and}\quad U[(1-\alpha)k]\ (k\ge\tfrac1\alpha),\ U[k-1]\ (k<\tfrac1\alpha)"
    source: ClassVar[str] = "Lemma 31, Sec 4.4.2.2"
    names: ClassVar[tuple[str, str]] = ("larger law", "smaller law")
    symbol: ClassVar[str] = "α"
    unit: ClassVar[str] = "values"
    k: Annotated[int, Number] = field(
        100, "Values of the first law, k", "", key="k", scale="log", low=2, high=10_000, ge=2, le=20_000
    )
    accuracy: Accuracy = field(
        0.1,
        "Gap α, as a share of k",
        "For k below 1/α the second law has one value less.",
        low=0.01,
    )

    @property
    def shift(self) -> float:
        """What moves the two apart."""
        return self.accuracy

    def pair(self, shift: float) -> HardPair:
        """Return the two laws at this α."""
        return support_pair(self.k, shift)

    def order(self, shift: float) -> float:
        """Order of the gap, its constant set to one; at least one value."""
        return max(1.0, shift * self.k)

    def held(self, value: float) -> str:
        """Say what a law with this value has."""
        return f"has {values_of(value)}"

    def number(self, value: float, digits: int = 3) -> str:
        """Write a value of the property, a whole number."""
        return whole(value)

    def size(self) -> str:
        """Write the size in TeX."""
        return rf"k = {self.k:,},\ \alpha = {self.accuracy:g}"

    def rate(self, epsilon: float) -> tuple[str, float]:
        """Return the theorem's private term, constant set to one."""
        if self.k * self.accuracy >= 1:
            return r"\frac1{\alpha\varepsilon}", 1 / (self.accuracy * epsilon)
        return r"\frac k\varepsilon", self.k / epsilon


class EntropyTwins(Record):
    """One heavy symbol and k - 1 light ones, against a little less on the heavy one."""

    kind: Literal["entropy"] = "entropy"
    title: ClassVar[str] = "Entropy"
    formula: ClassVar[str] = (
        r"p=\Bigl(\tfrac23,\tfrac1{3(k-1)},\ldots\Bigr),\qquad "
        r"q=\Bigl(\tfrac{2-\eta}3,\tfrac{1+\eta}{3(k-1)},\ldots\Bigr)"
    )
    source: ClassVar[str] = "eqs (4.14), (4.15)"
    names: ClassVar[tuple[str, str]] = ("law p", "law q")
    symbol: ClassVar[str] = "η"
    unit: ClassVar[str] = "nats"
    k: SymbolCount = field(100, "Number of symbols k", "", low=3, high=10_000, le=20_000)
    eta: Annotated[float, Number] = field(
        0.05,
        "Shift η",
        "A mass of η/3 moves from the heavy symbol to the light ones; η = α/ln k makes the gap of order α.",
        key="eta",
        scale="log",
        low=0.01,
        high=0.5,
        ge=1e-6,
        lt=1,
    )

    @property
    def shift(self) -> float:
        """What moves the two apart."""
        return self.eta

    def pair(self, shift: float) -> HardPair:
        """Return the two laws at this η."""
        return entropy_pair(self.k, shift)

    def order(self, shift: float) -> float:
        """Order of the gap, its constant set to one."""
        return shift * math.log(self.k)

    def held(self, value: float) -> str:
        """Say what a law with this value has."""
        return f"has an entropy of {with_unit(self.number(value, 4), 'nats')}"

    def number(self, value: float, digits: int = 3) -> str:
        """Write a value of the property in nats."""
        return significant(value, digits)

    def size(self) -> str:
        """Write the size in TeX."""
        return rf"k = {self.k:,},\ \eta = {self.eta:g}"

    def rate(self, epsilon: float) -> tuple[str, float]:
        """Return the theorem's private term at α = η ln k, constant set to one."""
        return r"\frac{\ln k}{\alpha\varepsilon}=\frac1{\eta\varepsilon}", 1 / (self.eta * epsilon)


Twins = Annotated[CoverageTwins | SupportTwins | EntropyTwins, Field(discriminator="kind")]


class HardPairScenario(Scenario):
    """A pair of laws and a sample."""

    pair: Twins = field(
        CoverageTwins(),
        "What is estimated",
        "Each property has a pair of its own in the source.",
        key="pair",
        group="Data",
        discriminator="kind",
    )
    n: Annotated[int, Number] = people_field(
        100, "How many records are drawn from one of the two.", low=10, high=10_000, ge=2, le=20_000
    )
    epsilon: Epsilon = 0.1
    trials: Trials = 400
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    pair: HardPair
    ns: IntArray
    seed: int
    block_trials: int


@dataclass(frozen=True)
class Group:
    """Symbols with the same two masses."""

    symbols: int
    first: float
    second: float


def groups(pair: HardPair) -> list[Group]:
    """Put the two laws side by side: symbols that have the same mass under both stand together."""
    first, second = edges(pair.first.sizes), edges(pair.second.sizes)
    cuts = sorted({0, *first, *second})
    out = []
    for start, stop in pairwise(cuts):
        one, two = mass_at(pair.first.masses, first, start), mass_at(pair.second.masses, second, start)
        out.append(Group(stop - start, one, two))
    return out


def edges(sizes: IntArray) -> list[int]:
    """Return where the groups of a law end."""
    return [int(end) for end in np.cumsum(sizes)]


def mass_at(masses: FloatArray, ends: Sequence[int], symbol: int) -> float:
    """Return the mass of a symbol; 0 beyond the law's last one."""
    place = int(np.searchsorted(ends, symbol, side="right"))
    return float(masses[place]) if place < masses.size else 0.0


def sure_size(pair: HardPair, epsilon: float) -> float:
    """Return ``ln 2/(ε TV)``: with fewer records every ε-private test errs with probability above 1/3.

    Sharp form of the private Le Cam bound, ``P(error) ≥ 1/(1 + e^(ε n TV))`` (lower_bounds §5, derived).
    """
    return math.log(1 / FAILURE - 1) * pair.sample_size(epsilon)


def least_error(pair: HardPair, n: float, epsilon: float) -> float:
    """Return ``1/(1 + e^(ε n TV))``, which no ε-private test of the two undercuts (lower_bounds §5, derived)."""
    return 1 / (1 + math.exp(min(700.0, epsilon * pair.expected_hamming(n))))


class HardPairs(Study[HardPairScenario]):
    """Two laws, the distance of their samples, and the records that privacy then asks for."""

    id: ClassVar[str] = "hard-pairs"
    question: ClassVar[str] = "Why can no private method do with fewer people?"
    lead: ClassVar[str] = (
        "Two distributions with different answers, and samples that differ in so few records that a private answer "
        "cannot tell them apart."
    )
    tab: ClassVar[str] = "Hard pairs"
    card: ClassVar[str] = "The pairs of laws behind the lower bounds, and how near their samples are."
    link: ClassVar[str] = "See the pairs"
    theme: ClassVar[str] = "price"
    picture: ClassVar[str] = "twins"
    scenario: ClassVar[type[Scenario]] = HardPairScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "laws": "The two laws",
        "distance": "Records that differ",
        "records": "Records needed",
        "gap": "Gap of the property",
    }
    rows: ClassVar[tuple[str, ...]] = (
        "T-CovPair",
        "T-Lem28",
        "T-Lem29",
        "T-CovLB",
        "T-Lem31",
        "T-SuppLB2",
        "T-Eq4.14",
        "T-EntLB",
    )

    def presets(self) -> tuple[Preset[HardPairScenario], ...]:
        """Finished examples."""
        make = HardPairScenario
        return (
            Preset("Coverage", make()),
            Preset("Support size", make(pair=SupportTwins())),
            Preset("One value more or less", make(pair=SupportTwins(k=5), epsilon=0.5)),
            # a seed whose simulated averages are not unusual: one in twenty lies beyond its ±
            Preset("Entropy", make(pair=EntropyTwins(), n=1_000, seed=2)),
        )

    def size(self, scenario: HardPairScenario) -> int:
        """Trials per block: a matter of the question alone."""
        return int(min(128, max(4, 100_000 // scenario.n)))

    def blocks(self, scenario: HardPairScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: HardPairScenario, tables: Tables | None) -> Prepared:
        """Make the pair and the sample sizes."""
        ns = np.unique(np.rint(np.geomspace(min(10, scenario.n), scenario.n, POINTS)).astype(np.int64))
        return Prepared(scenario.pair.pair(scenario.pair.shift), ns, scenario.seed, self.size(scenario))

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw coupled samples; return ``(trials, 1, points)``: how many of the first n records differ."""
        rng = block_rng(prepared.seed, block)
        first, second = prepared.pair.coupled_samples(int(prepared.ns[-1]), prepared.block_trials, rng)
        differ = np.cumsum(first != second, axis=1, dtype=np.int64)
        return np.asarray(differ[:, prepared.ns - 1], dtype=np.float64)[:, None, :]

    def assemble(self, scenario: HardPairScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put distances, records and gaps together."""
        blocks = stacked(parts, scenario.trials)[:, 0, :]
        pair, ns = prepared.pair, prepared.ns.astype(np.float64)
        mean, error = mean_and_error(blocks)
        needed = np.array([pair.sample_size(epsilon) for epsilon in EPSILONS.tolist()])
        gaps = np.array([scenario.pair.pair(shift).gap for shift in SHIFTS.tolist()])
        orders = np.array([scenario.pair.order(shift) for shift in SHIFTS.tolist()])
        frame = pd.concat(
            [
                tidy(
                    [
                        ("simulated", ns, mean, error),
                        ("n · TV", ns, ns * pair.total_variation, 0.0),
                    ],
                    panel=PANELS["distance"],
                ),
                tidy(
                    [
                        ("1/(ε TV), shape only", EPSILONS, needed, 0.0),
                        ("ln 2/(ε TV), theorem", EPSILONS, math.log(2) * needed, 0.0),
                    ],
                    panel=PANELS["records"],
                ),
                tidy([("gap", SHIFTS, gaps, 0.0), ("order, shape only", SHIFTS, orders, 0.0)], panel=PANELS["gap"]),
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, frame, float(mean[-1]), float(error[-1]), int(blocks.shape[0]))

    def told(
        self, scenario: HardPairScenario, prepared: Prepared, frame: pd.DataFrame, mean: float, error: float, runs: int
    ) -> Result:
        """Add cards, words and formulas."""
        wanted, pair, n, epsilon = scenario.pair, prepared.pair, scenario.n, scenario.epsilon
        expected, sure = pair.expected_hamming(n), sure_size(pair, epsilon)
        value, around = stated(mean, 2 * error)
        one, two = wanted.names
        first, second = (wanted.held(v) for v in pair.values)  # noqa: PD011  (a pair of ours)
        gap = gap_of(wanted, pair)
        printed = (
            f"printed: −{wanted.number(pair.gap)}"
            if wanted.kind != "support"
            else "α k"
            if wanted.k * wanted.accuracy >= 1
            else "one value less"
        )
        cards = (
            Card(
                "Gap of the property",
                gap,
                printed,
                "The source prints the difference the other way round (E8, E9)."
                if wanted.kind != "support"
                else "Difference of the two numbers of values.",
            ),
            Card("Distance of one record", significant(pair.total_variation), "total variation"),
            Card(
                "Records that differ",
                value,
                around,
                f"Of n = {n:,}, simulated from the coupling; exactly {significant(expected, 4)} on average. ± is two "
                "standard errors.",
            ),
            Card(
                "Records needed",
                f"≥ {whole(math.ceil(sure))}",
                f"at ε = {epsilon:g}",
                "With fewer, every ε-private test of the two errs with probability above 1/3: a theorem.",
            ),
        )
        least = least_error(pair, n, epsilon)
        verdict = (
            f"**{n:,} records** are too few: every private test of the two errs with probability {percent(least)} or "
            "more."
            if n < sure
            else f"With {n:,} records this argument allows an error probability down to {percent(least)}."
        )
        shows = (
            f"The **{one}** {first}, the **{two}** {second}: a gap of **{gap}**. Yet a sample of {n:,} "
            f"records from one becomes a sample from the other by changing **{value}** ({around}) records on average; "
            f"exactly, n·TV = {significant(expected)}. At **ε = {epsilon:g}** it takes at least "
            f"{whole(math.ceil(sure))} records to tell them apart two times out of three. {verdict}"
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"A pair of distributions whose {wanted.title.lower()} differs by {gap}, although {n:,} "
                f"records from one differ from a sample of the other in only {value} on average. At epsilon "
                f"{epsilon:g} at least {whole(math.ceil(sure))} records are needed to tell them apart."
            ),
            formulas=self.formulas(scenario, pair),
            assumptions=ASSUMPTIONS,
            extra={"pair": pair},
            runs=runs,
        )

    def formulas(self, scenario: HardPairScenario, pair: HardPair) -> tuple[Formula, ...]:
        """Write the pair, its gap as printed and corrected, the coupling and the bounds, with the current numbers."""
        wanted, n, epsilon = scenario.pair, scenario.n, scenario.epsilon
        one, two = pair.values  # noqa: PD011  (a pair of ours)
        rate, number = wanted.rate(epsilon)
        exact = {
            "coverage": (r"d_{TV}=\frac\alpha{1+\alpha}", "Lemma 29"),
            "support": (r"d_{TV}=\alpha\ (k\ge\tfrac1\alpha),\quad\tfrac1k\ (k<\tfrac1\alpha)", "Lemma 31"),
            "entropy": (r"d_{TV}=\eta/3", "eqs (4.14), (4.15)"),
        }[wanted.kind]
        out = [
            Formula("The pair", wanted.formula, wanted.size(), "exact", wanted.source),
            Formula("Distance of one record", exact[0], f"{pair.total_variation:.10g}", "exact", exact[1]),
        ]
        if wanted.kind == "coverage":
            out += [
                Formula(
                    "Gap, as printed",
                    r"S_m(u_2)-S_m(u_1)=\Omega(\alpha m)",
                    f"{two:.10g}-{one:.10g} = {two - one:.6g}",
                    "shape only",
                    "Sec 4.4.1.2 (E8: the sign is wrong)",
                ),
                Formula(
                    "Gap, corrected",
                    r"S_m(u_1)-S_m(u_2)=\Omega(\alpha m)",
                    f"{one:.10g}-{two:.10g} = {one - two:.6g}",
                    "shape only",
                    "E8",
                ),
            ]
        elif wanted.kind == "entropy":
            out += [
                Formula(
                    "Gap, as printed",
                    r"H(p)-H(q)=\Omega(\eta\ln k)",
                    f"{one:.10g}-{two:.10g} = {one - two:.6g}",
                    "shape only",
                    "Sec 4.4.3.3 (E9: the sign is wrong)",
                ),
                Formula(
                    "Gap, corrected",
                    r"H(q)-H(p)=\Omega(\eta\ln k)",
                    f"{two:.10g}-{one:.10g} = {two - one:.6g}",
                    "shape only",
                    "E9",
                ),
            ]
        else:
            out.append(
                Formula("Gap", r"S(U[k])-S(U[k'])", f"{one:,g}-{two:,g} = {one - two:g}", "exact", "Sec 4.4.2.2")
            )
        return (
            *out,
            Formula(
                "Records that differ under the best coupling",
                r"\mathrm E\,d_{\mathrm{ham}}=n\,d_{TV}",
                rf"{n:,}\times{pair.total_variation:.6g} = {pair.expected_hamming(n):.6g}",
                "exact",
                "Lemma 28",
            ),
            Formula(
                "No private test errs less",
                r"\Pr(\text{error})\ge\frac1{1+e^{\varepsilon n d_{TV}}}\ \Rightarrow\ "
                r"n\ge\frac{\ln2}{\varepsilon\,d_{TV}}\text{ for error }\tfrac13",
                rf"\varepsilon = {epsilon:g}:\quad n\ge{sure_size(pair, epsilon):,.6g}",
                "bound",
                "lower_bounds §5, sharp form of Thm 1 (derived)",
            ),
            Formula(
                "The source's lower bound",
                rf"n=\Omega\Bigl(\frac1{{\varepsilon\,d_{{TV}}}}\Bigr)=\Omega\Bigl({rate}\Bigr)",
                rf"\frac1{{\varepsilon\,d_{{TV}}}} = {pair.sample_size(epsilon):,.6g},\qquad {rate} = {number:,.6g}",
                "shape only",
                {"coverage": "Sec 4.4.1.2", "support": "Sec 4.4.2.2", "entropy": "Sec 4.4.3.3"}[wanted.kind],
            ),
        )

    # ---- charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view; the two laws as shares of all records."""
        if view != "laws":
            return result.frame[result.frame["panel"] == PANELS[view]]
        scenario: Any = result.scenario
        found = groups(result.extra["pair"])
        shown = [group_name(group) for group in found]
        return tidy(
            [
                (scenario.pair.names[0], shown, [g.symbols * g.first for g in found], 0.0),
                (scenario.pair.names[1], shown, [g.symbols * g.second for g in found], 0.0),
            ]
        )

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the laws, the records that differ, the records needed, or the gap."""
        if view == "laws":
            return self.laws_chart(result)
        frame = self.numbers(result, view)
        if view == "distance":
            return self.distance_chart(result, frame)
        return self.records_chart(result, frame) if view == "records" else self.gap_chart(result, frame)

    def laws_chart(self, result: Result) -> Chart:
        """Describe the two laws side by side."""
        frame, scenario = self.numbers(result, "laws"), result.scenario
        wanted: Any = scenario.pair  # type: ignore[attr-defined]
        roles: tuple[Role, Role] = ("data", "local")
        marks = []
        for role, name, value in zip(roles, wanted.names, result.extra["pair"].values, strict=True):
            rows = frame[frame["series"] == name]
            marks.append(
                Bars(
                    role,
                    rows["x"].tolist(),
                    rows["y"].to_numpy(),
                    name,
                    f"{name}:<br>{with_unit(wanted.number(value), wanted.unit)}",
                    hover=f"{name}: {{y}} of all records",
                )
            )
        return Chart(
            f"Two laws, {gap_of(wanted, result.extra['pair'])} apart",
            "share of all records that fall on these values",
            Axis("values with the same two masses", "category"),
            Axis("share", "linear", low=0.0, high=1.15),  # room for names above whole bars
            (Panel(tuple(marks)),),
        )

    def distance_chart(self, result: Result, frame: pd.DataFrame) -> Chart:
        """Describe the records that differ, against n."""
        scenario: Any = result.scenario
        exact, drawn = (frame[frame["series"] == name] for name in ("n · TV", "simulated"))
        return Chart(
            "Records that differ between coupled samples",
            "records, average; log scale",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("records", "log"),
            (
                Panel(
                    (
                        Line(
                            "truth",
                            exact["x"].to_numpy(),
                            exact["y"].to_numpy(),
                            "n · TV",
                            "n · TV<br>(Lemma 28)",
                            hover="exactly {y} records on average",
                        ),
                        Line(
                            "data",
                            drawn["x"].to_numpy(),
                            drawn["y"].to_numpy(),
                            "simulated",
                            "simulated",
                            drawn["std_error"].to_numpy(),
                            markers=True,
                            hover="simulated: {y} ± {e} records",
                        ),
                    ),
                    level_lines=((1 / scenario.epsilon, f"1/ε = {significant(1 / scenario.epsilon, 2)}"),),
                ),
            ),
        )

    def records_chart(self, result: Result, frame: pd.DataFrame) -> Chart:
        """Describe the records needed, against ε."""
        scenario: Any = result.scenario
        marks = []
        for name, label, dash in (
            ("1/(ε TV), shape only", "1/(ε TV)<br>(shape only)", "9px,3px,2px,3px"),
            ("ln 2/(ε TV), theorem", "error ≤ 1/3<br>(theorem)", "solid"),
        ):
            rows = frame[frame["series"] == name]
            marks.append(
                Line(
                    "lower bound",
                    rows["x"].to_numpy(),
                    rows["y"].to_numpy(),
                    name,
                    label,
                    main=dash == "solid",
                    dash=dash,
                    hover=f"{name}: {{y}} records",
                )
            )
        return Chart(
            "Records that telling the two apart takes",
            "at least so many, log scale",
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε"),
            Axis("records", "log"),
            (
                Panel(
                    tuple(marks),
                    here=(scenario.epsilon, f"your ε = {scenario.epsilon:g}"),
                    level_lines=((float(scenario.n), f"your n = {scenario.n:,}"),),
                ),
            ),
        )

    def gap_chart(self, result: Result, frame: pd.DataFrame) -> Chart:
        """Describe the gap of the property, against α or η."""
        scenario: Any = result.scenario
        wanted = scenario.pair
        order = {"coverage": "αm", "support": "αk", "entropy": "η ln k"}[wanted.kind]
        exact, shape = (frame[frame["series"] == name] for name in ("gap", "order, shape only"))
        return Chart(
            "Gap of the property between the two laws",
            f"in {wanted.unit}, log scale",
            Axis(f"{wanted.symbol}", "log", symbol=wanted.symbol),
            Axis("gap", "log", unit=wanted.unit),
            (
                Panel(
                    (
                        Line(
                            "lower bound",
                            shape["x"].to_numpy(),
                            shape["y"].to_numpy(),
                            "order, shape only",
                            f"{order}<br>(shape only)",
                            hover=f"{order}: {{y}} {wanted.unit}",
                        ),
                        Line(
                            "truth",
                            exact["x"].to_numpy(),
                            exact["y"].to_numpy(),
                            "gap",
                            "gap, exact",
                            hover=f"gap: {{y}} {wanted.unit}",
                        ),
                    ),
                    here=(wanted.shift, f"your {wanted.symbol} = {wanted.shift:g}"),
                ),
            ),
        )


def values_of(number: float) -> str:
    r"""Write a number of values.

    Examples
    --------
    >>> values_of(1.0), values_of(1000.0)
    ('1\xa0value', '1,000\xa0values')
    """
    return with_unit(whole(number), "value" if round(number) == 1 else "values")


def gap_of(wanted: Any, pair: HardPair) -> str:
    """Write the gap of a pair with its unit; values are whole where the support is estimated."""
    return values_of(pair.gap) if wanted.kind == "support" else with_unit(wanted.number(pair.gap), wanted.unit)


def group_name(group: Group) -> str:
    """Name a group of symbols by how many there are and which law has them."""
    many = f"{group.symbols:,} value" + ("s" if group.symbols > 1 else "")
    if group.first == group.second:
        return f"{many}, alike in both"
    if group.second == 0:
        return f"{many}, first only"
    return f"{many}, second only" if group.first == 0 else many


ASSUMPTIONS = (
    "Neighbours are two samples of n records that differ in one; both laws are public, which of them holds is not. "
    "(properties §0, Def. 1)",
    "Samples are coupled record by record, by a maximal coupling: they differ in n·TV records on average, which no "
    "coupling of one record beats. (Lemmas 28, 29, 31)",
    "A private estimate within half the gap would tell the two laws apart, so what testing needs, estimation needs.",
    "The lower bound with its constant is the sharp form of the private Le Cam bound; the source's own form has an "
    "unknown constant. (lower_bounds §5, derived)",
    "Sizes are rounded to whole numbers of symbols; distances and values are those of the laws shown. The printed "
    "differences have the wrong sign. (E8, E9)",
)

__all__ = ["CoverageTwins", "EntropyTwins", "HardPairScenario", "HardPairs", "SupportTwins", "groups", "sure_size"]
