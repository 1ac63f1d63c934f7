"""Which degree should the polynomial entropy estimator have? (properties §4.3, §12.2; Lem 33; figure F1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteDistribution, DiscreteLaw, TwoStep, Uniform, Zipf, nested_fingerprints
from privexplorer.properties import AdditiveTable, Polynomial, remez
from privexplorer.records import Epsilon, Grid, Number, Scenario, Seed, Trials, field, sorted_distinct
from privexplorer.simulation import block_rng, mean_and_error
from privexplorer.studies import _entropy as core
from privexplorer.studies._fields import distribution_field, people_field
from privexplorer.studies._notes import rows_of, stated, table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Area, Axis, Chart, Line, Panel, Points
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import ratio, significant, with_unit

DIAL = 16
"""Largest degree on the dial; beyond it the noise is out of all proportion at any usual k."""
HIGHEST = 24
LARGEST = 1_000_000

Degree = Annotated[int, Number, field(..., "Degree", ge=1, le=HIGHEST)]


class DegreeDialScenario(Scenario):
    """Error of the polynomial estimator against its degree."""

    distribution: DiscreteDistribution = distribution_field(TwoStep(k=2000))
    n: Annotated[int, Number] = people_field(
        500, "How many records the sample has; public and fixed.", low=50, high=100_000, ge=2, le=1_000_000
    )
    epsilon: Epsilon = 1.0
    degree: Annotated[int, Number] = field(
        10,
        "Your degree L",
        "Its table is shown under “Why this sensitivity”. The published rule is 1.2 ln k, rounded up.",
        key="degree",
        group="Method",
        ge=1,
        le=DIAL,
    )
    interval: Annotated[float, Number] = field(
        2.0,
        "Interval M ÷ ln k",
        "The polynomial fits frequencies up to M/n. The published private rule takes M = 2 ln k.",
        key="interval",
        group="Method",
        ge=0.5,
        le=10,
    )
    degrees: Annotated[tuple[Degree, ...], sorted_distinct("degrees")] = field(
        (3, 5, 7, 10, 12, 14),
        "Degrees compared against n",
        "One curve each. For k = 2,000 the figure's 0.3, 0.6, … 1.8 times ln k are 3, 5, 7, 10, 12 and 14.",
        key="degrees",
        group="Method",
        min_length=1,
        max_length=8,
    )
    sizes: Grid = field(
        Grid(low=200, high=2_000, points=8), "Sample sizes compared, people", key="sizes", group="Method"
    )
    trials: Trials = 200
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share: tables of every degree at every sample size.

    Attributes
    ----------
    ns, degrees : int arrays
        Sample sizes (those compared, and the dial's), and degrees (1 to 16, and those compared).
    low : (points, degrees, width) float array
        ``g(0..width - 1)``, the counts that the polynomial handles.
    rest : (points,) tuple of float arrays
        ``g`` at all counts, 0 at those the polynomial handles: the same for every degree.
    bias, means, sensitivity : (degrees, points) float arrays
        Exact, in nats.
    """

    law: DiscreteLaw
    truth: float
    ns: IntArray
    degrees: IntArray
    cutoff: int
    seed: int
    block_trials: int
    low: FloatArray
    rest: tuple[FloatArray, ...]
    means: FloatArray
    bias: FloatArray
    sensitivity: FloatArray


def estimator(degree: int, k: int, interval: float) -> Polynomial:
    """Return the polynomial estimator of a degree, with M = interval · ln k and N = ⌊1.6 ln k⌋ (spec, section 4.3)."""
    scale = math.log(max(k, 2))
    return Polynomial(preset="custom", degree=degree, interval=interval * scale, cutoff=max(1, math.floor(1.6 * scale)))


def rare_counts(law: DiscreteLaw, n: int, top: int) -> FloatArray:
    """Return the expected number of symbols seen exactly 0, ..., ``top`` times, shape ``(top + 1,)``, exact."""
    if law.many_masses:
        expected = law.expected_fingerprint(n)[: top + 1]
        return np.concatenate((expected, np.zeros(top + 1 - expected.size)))
    chances, sizes = law.groups
    j = np.arange(top + 1, dtype=np.float64)
    there = j <= n
    j = np.minimum(j, n)
    logs = special.gammaln(n + 1.0) - special.gammaln(j + 1.0) - special.gammaln(n - j + 1.0)
    powers = special.xlogy(j[None, :], chances[:, None]) + special.xlog1py((n - j)[None, :], -chances[:, None])
    summed: FloatArray = (np.exp(powers + logs) * sizes[:, None]).sum(axis=0)
    return np.where(there, summed, 0.0)


class DegreeDial(Study[DegreeDialScenario]):
    """Bias, variance and noise of the polynomial estimator by degree, and where its sensitivity comes from."""

    id: ClassVar[str] = "degree-dial"
    version: ClassVar[int] = 2
    question: ClassVar[str] = "How high a degree can privacy afford?"
    lead: ClassVar[str] = (
        "A higher degree fits rare symbols better, but one record then moves the answer more, so it needs more noise."
    )
    tab: ClassVar[str] = "Degree dial"
    card: ClassVar[str] = "Bias, variance and privacy noise of a polynomial estimator, degree by degree."
    link: ClassVar[str] = "Turn the degree dial"
    theme: ClassVar[str] = "entropy"
    picture: ClassVar[str] = "dial"
    scenario: ClassVar[type[Scenario]] = DegreeDialScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "degree", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "dial": "Parts by degree",
        "sizes": "Error against n",
        "why": "Why this sensitivity",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-Lambda", "T-Lem33", "T-PolyDeg", "T-PolySens", "T-F1")

    def presets(self) -> tuple[Preset[DegreeDialScenario], ...]:
        """Finished examples."""
        make = DegreeDialScenario
        return (
            Preset("The published figure", make()),
            Preset("Strong privacy", make(epsilon=0.1)),
            Preset("All symbols equal", make(distribution=Uniform(k=2000))),
            Preset("A lucky low degree", make(distribution=Zipf(k=2000, exponent=1.0), degree=4)),
        )

    def check(self, scenario: DegreeDialScenario, tables: Tables | None) -> tuple[str, ...]:
        """Refuse sample sizes that would need tables of many millions of entries for every degree."""
        if scenario.sizes.high > LARGEST:
            return (
                f"The sample sizes compared may reach {LARGEST:,} people here; they reach {scenario.sizes.high:,}.",
            )
        return ()

    def size(self, scenario: DegreeDialScenario) -> int:
        """Trials per block."""
        ns = sample_sizes(scenario)
        return core.block_size(ns.size, int(ns[-1]), core.assumed_k(scenario.distribution))

    def blocks(self, scenario: DegreeDialScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: DegreeDialScenario, tables: Tables | None) -> Prepared:
        """Compute the tables, exact biases and sensitivities of all degrees."""
        law = scenario.distribution.law(tables)
        k, ns = law.k, sample_sizes(scenario)
        degrees = np.union1d(np.arange(1, DIAL + 1), np.array(scenario.degrees, dtype=np.int64))
        chosen = [estimator(int(degree), k, scenario.interval) for degree in degrees]
        cutoff = chosen[0].cutoff
        counts = np.arange(cutoff + 1)
        low = np.array([[each.values(counts, int(n), k, True) for each in chosen] for n in ns])
        rest, means = [], np.empty((degrees.size, ns.size))
        for point, n in enumerate(ns):
            values = chosen[0].values(np.arange(n + 1), int(n), k, True)
            values[: cutoff + 1] = 0.0
            rest.append(values)
            common = AdditiveTable(values, 0.0, int(n), k).mean(law)
            means[:, point] = common + (low[point] * rare_counts(law, int(n), cutoff)).sum(axis=1)
        truth = law.entropy()
        sensitivity = np.array([[each.sensitivity(int(n), k) for n in ns] for each in chosen])
        return Prepared(
            law, truth, ns, degrees, cutoff, scenario.seed, self.size(scenario), low, tuple(rest), means,
            means - truth, sensitivity,
        )  # fmt: skip

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Return estimates before the floor at 0, ``(trials, degrees, points)``."""
        rng = block_rng(prepared.seed, block)
        prints = nested_fingerprints(prepared.law, prepared.ns, prepared.block_trials, rng)
        rare = prints.common[:, :, : prepared.cutoff + 1].astype(np.float64)
        low = prepared.low[:, :, : rare.shape[2]]
        others = prints.totals(prepared.rest)
        return np.asarray(np.einsum("ptc,pdc->tdp", rare, low) + others.T[:, None, :])

    def assemble(self, scenario: DegreeDialScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Take the errors apart and say which degree is best."""
        blocks = stacked(parts, scenario.trials)
        # the mean is known exactly, so the squares about it average to the variance
        variance, variance_error = mean_and_error((blocks - prepared.means) ** 2)
        # an estimate that never varies, as of degree 1, differs from its mean by rounding only
        constant = variance < (1e-12 * np.maximum(1.0, np.abs(prepared.means))) ** 2
        variance, variance_error = np.where(constant, 0.0, variance), np.where(constant, 0.0, variance_error)
        noise = 2 * (prepared.sensitivity / scenario.epsilon) ** 2
        total = prepared.bias**2 + variance + noise
        point = int(np.searchsorted(prepared.ns, scenario.n))
        dial = prepared.degrees <= DIAL
        x = prepared.degrees[dial]
        frames = [
            tidy(
                [
                    ("bias²", x, prepared.bias[dial, point] ** 2, 0.0),
                    ("variance", x, variance[dial, point], variance_error[dial, point]),
                    ("privacy noise", x, noise[dial, point], 0.0),
                    ("total", x, total[dial, point], variance_error[dial, point]),
                    ("n Δ", x, scenario.n * prepared.sensitivity[dial, point], 0.0),
                ],
                panel=self.views["dial"],
            )
        ]
        root = np.sqrt(total)
        at = [place for place, n in enumerate(prepared.ns) if n in scenario.sizes.values()]
        curves: list[tuple[str, Any, Any, Any]] = []
        for degree in scenario.degrees:
            row = int(np.searchsorted(prepared.degrees, degree))
            error = variance_error[row, at] / (2 * root[row, at])
            curves.append((f"L = {degree}", prepared.ns[at], root[row, at], error))
        frames.append(tidy(curves, panel=self.views["sizes"]))
        frames.append(why_rows(scenario, prepared).assign(panel=self.views["why"]))
        parts_at = (prepared.bias[dial, point] ** 2, variance[dial, point], noise[dial, point])
        return self.told(
            scenario, prepared, pd.concat(frames, ignore_index=True), parts_at, variance_error[dial, point], blocks
        )

    def told(
        self,
        scenario: DegreeDialScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        parts: tuple[FloatArray, FloatArray, FloatArray],
        variance_error: FloatArray,
        blocks: FloatArray,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        bias, variance, noise = parts
        total, silent = bias + variance + noise, bias + variance
        best, free, mine = int(np.argmin(total)), int(np.argmin(silent)), scenario.degree - 1
        strict = int(np.argmin(silent + 100 * noise))
        value, error = stated(math.sqrt(total[best]), variance_error[best] / math.sqrt(total[best]))
        times = math.sqrt(total[mine] / total[best])
        n, k, eps = scenario.n, prepared.law.k, scenario.epsilon
        point = int(np.searchsorted(prepared.ns, n))
        delta = float(prepared.sensitivity[mine, point])
        cards = (
            Card(
                "Best degree",
                f"L = {best + 1}",
                f"at ε = {eps:g}"[:18],
                "Smallest error on the dial, for this distribution.",
            ),
            Card(
                "Its error",
                with_unit(value, "nats"),
                error,
                "Root-mean-square, noise included; ± is two standard errors.",
            ),
            Card("Your degree", ratio(times), f"L = {mine + 1} ÷ best", "Error at your degree over the smallest one."),
            Card("Without privacy", f"L = {free + 1}", "best degree", "Where bias and variance alone are smallest."),
        )
        chosen = estimator(scenario.degree, k, scenario.interval)
        pair = chosen.table(n, k, private=True).sensitivity_pair()
        share = noise[best] / total[best]
        lower = [degree for degree in (best, strict) if degree < free]
        shows = (
            f"With **{n:,} people** and **ε = {eps:g}**, degree **L = {best + 1}** is best: a private estimate is "
            f"typically off by **{with_unit(value, 'nats')}**, and noise is {100 * share:.0f}% of the squared error. "
            f"Without privacy the best degree is {free + 1}; with a tenth of this ε it is {strict + 1}"
            + (", because low degrees need less noise. " if lower else ". ")
            + f"{self.why(scenario, delta, pair)} The best degree is for "
            f"this distribution: its bias may be small by accident."
        )
        accuracy = remez(scenario.degree).error
        formulas = (
            Formula(
                "Estimator",
                chosen.formula,
                rf"L = {chosen.degree},\quad M = {chosen.interval:.4g},\quad N = {chosen.cutoff}",
                "exact",
                chosen.source,
            ),
            Formula(
                "Error with privacy",
                r"\mathrm{RMSE}^2=\mathrm{bias}^2+\mathrm{Var}+2\Delta^2/\varepsilon^2",
                rf"{bias[mine]:.3g} + {variance[mine]:.3g} + {noise[mine]:.3g} = {total[mine]:.3g}\ \text{{nats}}^2",
                "exact",
                "properties §2 (derived; for unclipped answers)",
            ),
            Formula(
                "Sensitivity",
                r"\Delta=\max_{i+j\le n-1}\,|D(j)-D(i)|,\qquad D(j)=g(j+1)-g(j)",
                rf"n\Delta = {n * delta:.4g}"
                + (rf"\quad\text{{at }} i = {pair[0]},\ j = {pair[1]}" if pair is not None else ""),
                "exact",
                "properties §1 (derived), Sec 4.5.1",
            ),
            Formula(
                "Bias that no distribution exceeds by much",
                r"|\mathrm{bias}|\approx\frac{kM}{n}E_L,\qquad E_L\approx\frac{0.227}{L^2}",
                rf"E_{{{chosen.degree}}} = {accuracy:.3g},\qquad \frac{{kM}}{{n}}E_L = "
                rf"{k * chosen.interval / n * accuracy:.3g}\ \text{{nats}}",
                "heuristic",
                "properties §4.3 (Poisson counts, frequencies up to M/n)",
            ),
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                "Squared error of the polynomial entropy estimator by degree, split into bias, variance and privacy "
                f"noise. At n = {n:,} and epsilon {eps:g} degree {best + 1} is best with error {value} nats; without "
                f"privacy it is degree {free + 1}."
            ),
            notes=self.notes(scenario, chosen),
            formulas=formulas,
            assumptions=(
                "Neighbours are two samples of the same size n that differ in one record; n and k are public. "
                "(properties §0, Def. 1)",
                "Every degree is used with the same interval M and largest polynomial count N = ⌊1.6 ln k⌋. "
                "(properties §4.3, §8 F1)",
                "Bias and sensitivity are exact; only the variance is simulated, and the noise is integrated exactly. "
                "Answers are not clipped. (properties §1, §2)",
                f"All degrees see the same {blocks.shape[0]} samples, and neighbouring sample sizes are nested, so the "
                "curves move together.",
                "The source does not state the degrees of its figure; the defaults are 0.3, 0.6, … 1.8 times "
                "ln k, rounded up. (properties §8 F1)",
            ),
            extra={"best": best + 1, "free": free + 1, "strict": strict + 1, "pair": pair},
            runs=int(blocks.shape[0]),
        )

    def why(self, scenario: DegreeDialScenario, delta: float, pair: tuple[int, int] | None) -> str:
        """Say which move of one record changes the estimate most."""
        if pair is None:
            return "No record can move the estimate."
        old = f"a symbol seen {pair[0] + 1:,} times" if pair[0] else "a symbol seen once"
        new = "an unseen one" if pair[1] == 0 else "one seen once" if pair[1] == 1 else f"one seen {pair[1]:,} times"
        return (
            f"One record moves the estimate of degree {scenario.degree} by at most {significant(delta, 2)} nats, when "
            f"it goes from {old} to {new}."
        )

    def notes(self, scenario: DegreeDialScenario, chosen: Polynomial) -> tuple[Note, ...]:
        """Say what a reader must know about the choices."""
        out = list(table_notes(scenario.distribution))
        if scenario.n < chosen.interval:
            out.append(
                Note(
                    f"The sample (n = {scenario.n:,}) is shorter than the polynomial's interval M = "
                    f"{chosen.interval:.3g}: the estimator is legal but not meant for so few records."
                )
            )
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        return rows_of(result.frame, self.views[view])

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the stacked parts, the error against n, or the table behind the sensitivity."""
        if view == "sizes":
            return self.sizes_chart(result)
        if view == "why":
            return self.why_chart(result)
        scenario: Any = result.scenario
        panel = self.views["dial"]
        total = result.series("total", panel)
        smallest = float(total["y"].min())
        # very low and very high degrees are out of all proportion: they stay in the table
        near = total["y"].to_numpy() <= 15 * smallest
        first, last = int(np.argmax(near)), int(near.size - np.argmax(near[::-1]))
        x = total["x"].to_numpy()[first:last]

        def part(name: str) -> FloatArray:
            return np.asarray(result.series(name, panel)["y"].to_numpy()[first:last])

        marks = (
            Area("non-private", x, part("bias²"), "bias²", "bias²", "bias²: {y} nats²"),
            Area("data", x, part("variance"), "variance", "variance", "variance: {y} nats²"),
            Area("private", x, part("privacy noise"), "privacy noise", "privacy<br>noise", "privacy noise: {y} nats²"),
            Line(
                "truth",
                x,
                part("total"),
                "total",
                None,
                total["std_error"].to_numpy()[first:last],
                markers=True,
                hover="total: {y} ± {e} nats²",
            ),
        )
        here = (scenario.degree, f"your L = {scenario.degree}") if x[0] <= scenario.degree <= x[-1] else None
        return Chart(
            "Squared error, taken apart",
            "mean square, in nats²; best degree at the dip",
            Axis("degree L", "linear", float(x[0]), float(x[-1]), symbol="L"),
            Axis("squared error", "linear", 0.0, 6 * smallest, unit="nats²"),
            (Panel(marks, here=here),),
        )

    def sizes_chart(self, result: Result) -> Chart:
        """Describe one error curve per degree, as in figure F1."""
        scenario: Any = result.scenario
        marks = []
        for degree in scenario.degrees:
            name = f"L = {degree}"
            rows = result.series(name, self.views["sizes"])
            marks.append(
                Line(
                    "private",
                    rows["x"].to_numpy(),
                    rows["y"].to_numpy(),
                    name,
                    name,
                    rows["std_error"].to_numpy(),
                    main=degree == scenario.degree,
                    width=3.0 if degree == scenario.degree else 1.75,
                    markers=degree == scenario.degree,
                    dash="solid" if degree == scenario.degree else None,
                    hover=f"degree {degree}: off by {{y}} ± {{e}} nats",
                )
            )
        return Chart(
            f"Error of the private estimate, ε = {scenario.epsilon:g}",
            "root-mean-square, in nats, log scale",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("error", "log", unit="nats"),
            (Panel(tuple(marks)),),
        )

    def why_chart(self, result: Result) -> Chart:
        """Describe the table, its increments, and the two counts between which a record moves most."""
        scenario: Any = result.scenario
        panel = self.views["why"]

        def line(name: str, role: Any, label: str | None, hover: str, **more: Any) -> Line:
            rows = result.series(name, panel)
            return Line(role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, hover=hover, **more)

        pair = result.series("maximising pair", panel)
        steps: list[Any] = [
            line("n D(j), plug-in", "non-private", None, "plug-in: {y}", dash="9px,4px"),
            line("n D(j)", "private", None, "one more record adds {y}", main=True, dash="solid"),
        ]
        if len(pair):
            i, j = (int(value) - 1 for value in pair["x"])
            steps.append(
                Points(
                    "attacker",
                    pair["x"].to_numpy(dtype=np.float64),
                    pair["y"].to_numpy(),
                    "maximising pair",
                    text=(f"leaves: {i + 1:,} → {i:,}", f"arrives: {j:,} → {j + 1:,}"),
                    hover="step of {y}",
                    size=11,
                )
            )
        table = (
            line("n g(j), plug-in", "non-private", "plug-in", "plug-in: {y}", dash="9px,4px"),
            line(
                "n g(j)",
                "private",
                f"degree {scenario.degree}",
                "polynomial: {y}",
                main=True,
                markers=True,
                dash="solid",
            ),
        )
        delta = float(result.frame.loc[result.frame["series"] == "n Δ", "y"].iloc[scenario.degree - 1])
        return Chart(
            f"One record moves the estimate by at most {significant(delta, 3)}/n",
            "in nats; g: one symbol's share, D: its steps",
            Axis("count j", "linear", symbol="j"),
            Axis("n g(j)", "linear"),
            (
                Panel(table, title="n · g(j)", x=Axis("times seen, j", "linear", symbol="j")),
                Panel(
                    tuple(steps),
                    title="n · D: step to the next count",
                    x=Axis("times seen after the step, j + 1", "log", symbol="j + 1"),
                    y=Axis("n D(j)", "linear"),
                ),
            ),
            columns=2,
            shared_y=False,
        )


def sample_sizes(scenario: DegreeDialScenario) -> IntArray:
    """Sample sizes that are simulated: the dial's and those compared."""
    return np.union1d(scenario.sizes.values(), np.array([scenario.n], dtype=np.int64))


def why_rows(scenario: DegreeDialScenario, prepared: Prepared) -> pd.DataFrame:
    """Table, increments and the maximising pair at the visitor's degree, times n."""
    n, k = scenario.n, prepared.law.k
    chosen = estimator(scenario.degree, k, scenario.interval)
    few = np.arange(min(n, 2 * prepared.cutoff) + 1)
    counts = np.unique(np.concatenate((few[few < n], np.rint(np.geomspace(1, n - 1, 60)).astype(np.int64))))
    plain = np.where(few > 0, -few * np.log(np.maximum(few, 1) / n), 0.0)
    smooth = -counts / n * np.log(np.maximum(counts, 1) / n)
    after = (counts + 1) / n
    rows: list[tuple[str, Any, Any, Any]] = [
        ("n g(j)", few, n * chosen.values(few, n, k, True), 0.0),
        ("n g(j), plug-in", few, plain, 0.0),
        ("n D(j)", counts + 1, n * chosen.increments(counts, n, k, True), 0.0),
        ("n D(j), plug-in", counts + 1, n * (-after * np.log(after) - smooth), 0.0),
    ]
    pair = chosen.table(n, k, private=True).sensitivity_pair()
    if pair is not None:
        steps = n * chosen.increments(np.array(pair), n, k, True)
        rows.append(("maximising pair", np.array(pair) + 1, steps, 0.0))
    return tidy(rows)
