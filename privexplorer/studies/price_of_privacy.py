"""When does privacy cost next to nothing? The price over all n and ε, in closed form (properties §2, §12.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.distributions import (
    Dirichlet,
    DiscreteDistribution,
    DiscreteLaw,
    Uniform,
    Zipf,
    nested_fingerprints,
)
from privexplorer.properties import AdditiveTable, MillerMadow, PlugIn, Polynomial, SmoothedGoodToulmin
from privexplorer.records import Grid, Number, RealGrid, Record, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng, mean_and_error
from privexplorer.studies import _entropy as core
from privexplorer.studies._fields import distribution_field, people_field
from privexplorer.studies._notes import stated, table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, HeatMap, Line, Panel, Points
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import ratio, significant

LEVELS = (1.05, 1.5, 2.0, 5.0, 10.0)
"""Where one class of the map ends and the next begins: the error with privacy over the error without."""
PRICE = "price at ε = "
"""How the series of the map are called: one per ε."""
SHARES = {"5% more": 0.05, "50% more": 0.5, "twice": 1.0}
"""What privacy adds to the error along each curve of the second view."""


class Coverage(Record):
    """How many distinct symbols further records would show, by the smoothed Good-Toulmin estimator."""

    kind: Literal["coverage"] = "coverage"
    title: ClassVar[str] = "Support coverage"
    formula: ClassVar[str] = SmoothedGoodToulmin.formula
    source: ClassVar[str] = SmoothedGoodToulmin.source
    ahead: Annotated[float, Number] = field(
        2.0,
        "Look-ahead t",
        "Further records per record; 2 means three times the sample in all.",
        key="t",
        ge=0.001,
        le=10,
    )

    def table(self, n: int, k: int, private: bool = True) -> AdditiveTable:
        """Return the table of the total, for samples of ``n`` records."""
        return SmoothedGoodToulmin().table(n, self.ahead, k)

    def sensitivity(self, n: int, k: int) -> float:
        """Return the exact sensitivity, in symbols."""
        return SmoothedGoodToulmin().sensitivity(n, self.ahead, "exact", k)


Estimator = Annotated[Polynomial | PlugIn | MillerMadow | Coverage, Field(discriminator="kind")]


def target(estimator: Any, law: DiscreteLaw, n: int) -> float:
    """Return what the estimator estimates: the entropy, or the coverage of ``(1 + t) n`` records."""
    if isinstance(estimator, Coverage):
        return float(law.coverage((1 + estimator.ahead) * n))
    return law.entropy()


class PriceScenario(Scenario):
    """The price of privacy over sample size and ε."""

    distribution: DiscreteDistribution = distribution_field(Zipf(k=1000, exponent=1.0))
    n: Annotated[int, Number] = people_field(
        2_000, "Your own sample, marked on the map.", low=100, high=100_000, ge=2, le=10_000_000, group="You"
    )
    epsilon: Annotated[float, Number] = field(
        0.1,
        "Privacy loss ε",
        "One record shifts the odds of any answer by at most a factor e^ε. Smaller is more private.",
        key="eps",
        group="You",
        scale="log",
        low=0.001,
        high=10.0,
        ge=1e-6,
        le=50,
        ends=("more private", "more accurate"),
    )
    estimator: Estimator = field(
        Polynomial(),
        "What is estimated",
        "The same estimator with and without noise: the price is that of the noise alone.",
        key="est",
        group="Method",
        discriminator="kind",
    )
    sizes: Grid = field(
        Grid(low=100, high=100_000, points=13), "Sample sizes on the map, people", key="sizes", group="Method"
    )
    epsilons: RealGrid = field(
        RealGrid(low=0.001, high=10.0, points=49), "Range of ε on the map", key="grid", group="Method"
    )
    trials: Trials = 300
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share: one table per sample size, its exact mean, target and sensitivity."""

    law: DiscreteLaw
    ns: IntArray
    seed: int
    block_trials: int
    tables: tuple[FloatArray, ...]
    constants: FloatArray
    means: FloatArray
    bias: FloatArray
    sensitivity: FloatArray


def epsilon_at(share: float, sensitivity: FloatArray, rmse: FloatArray) -> FloatArray:
    """Return the ε at which privacy adds ``share`` to each error (spec properties, section 2); infinite at error 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(math.sqrt(2.0) * sensitivity / (rmse * math.sqrt(share * (2.0 + share))))


def price(sensitivity: FloatArray, epsilon: FloatArray, rmse: FloatArray) -> FloatArray:
    """Return the error with noise over the error without: ``sqrt(1 + 2 Δ²/(ε² R²))``, for unclipped answers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        extra = 2 * (sensitivity / (epsilon * rmse)) ** 2
    return np.asarray(np.sqrt(1 + np.where(np.isnan(extra), 0.0, extra)))


class PriceOfPrivacy(Study[PriceScenario]):
    """A map of how many times larger the private error is."""

    id: ClassVar[str] = "price-of-privacy"
    question: ClassVar[str] = "When does privacy cost next to nothing?"
    lead: ClassVar[str] = (
        "Each point is a sample size and an ε; its shade is how many times larger the private error is."
    )
    tab: ClassVar[str] = "Price map"
    card: ClassVar[str] = "A map over sample size and ε, with your own sample on it."
    link: ClassVar[str] = "Read the price map"
    theme: ClassVar[str] = "price"
    picture: ClassVar[str] = "map"
    scenario: ClassVar[type[Scenario]] = PriceScenario
    late: ClassVar[frozenset[str]] = frozenset({"n", "epsilon", "epsilons", "trials"})
    views: ClassVar[Mapping[str, str]] = {"map": "Map", "curves": "ε that is enough"}
    rows: ClassVar[tuple[str, ...]] = ("T-Dists", "T-Claim-poly", "T-Claim-cov", "T-CoinRef")

    def presets(self) -> tuple[Preset[PriceScenario], ...]:
        """Finished examples."""
        make = PriceScenario
        return (
            Preset("A survey", make()),
            Preset(
                "A hospital ward",
                make(
                    distribution=Dirichlet(k=100, concentration=1.0), n=200, sizes=Grid(low=50, high=10_000, points=12)
                ),
            ),
            Preset("A census, plug-in", make(estimator=PlugIn(), n=100_000, epsilon=0.01)),
            Preset(
                "What is unseen",
                make(
                    distribution=Uniform(k=1000),
                    estimator=Coverage(),
                    n=500,
                    sizes=Grid(low=100, high=10_000, points=12),
                ),
            ),
        )

    def size(self, scenario: PriceScenario) -> int:
        """Trials per block."""
        ns = scenario.sizes.values()
        return core.block_size(ns.size, int(ns[-1]), core.assumed_k(scenario.distribution))

    def blocks(self, scenario: PriceScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: PriceScenario, tables: Tables | None) -> Prepared:
        """Compute tables, exact biases and sensitivities."""
        law, ns = scenario.distribution.law(tables), scenario.sizes.values()
        made = [scenario.estimator.table(int(n), law.k, private=True) for n in ns]
        means = np.array([table.mean(law) for table in made])
        goals = np.array([target(scenario.estimator, law, int(n)) for n in ns])
        return Prepared(
            law,
            ns,
            scenario.seed,
            self.size(scenario),
            tuple(np.asarray(table.values) for table in made),
            np.array([table.constant for table in made]),
            means,
            means - goals,
            np.array([scenario.estimator.sensitivity(int(n), law.k) for n in ns]),
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Return estimates before any clipping, ``(trials, 1, points)``."""
        rng = block_rng(prepared.seed, block)
        prints = nested_fingerprints(prepared.law, prepared.ns, prepared.block_trials, rng)
        sums = prints.totals(prepared.tables) + prepared.constants[:, None]
        return np.asarray(sums.T[:, None, :])

    def assemble(self, scenario: PriceScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out the price at every n and ε from one error per sample size."""
        blocks = stacked(parts, scenario.trials)[:, 0, :]
        # the mean is known exactly, so the squares about it average to the variance
        variance, variance_error = mean_and_error((blocks - prepared.means) ** 2)
        rmse = np.sqrt(prepared.bias**2 + variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.where(rmse > 0, variance_error / (2 * rmse), 0.0)
            relative = np.where(rmse > 0, error / rmse, 0.0)
        ns, delta = prepared.ns, prepared.sensitivity
        rows: list[tuple[str, Any, Any, Any]] = [
            ("error without privacy", ns, rmse, error),
            ("sensitivity", ns, delta, 0.0),
        ]
        for words, share in SHARES.items():
            epsilon = epsilon_at(share, delta, rmse)
            rows.append((f"ε for {words}", ns, epsilon, epsilon * relative))
        coin = epsilon_at(0.05, 1 / ns, 0.5 / np.sqrt(ns))
        rows.append(("ε for 5% more, a fair coin", ns, coin, 0.0))
        grid = scenario.epsilons.values()
        times = price(delta, grid[:, None], rmse)
        table = pd.DataFrame(
            {
                "series": np.repeat([f"{PRICE}{epsilon:g}" for epsilon in grid], ns.size),
                "x": np.tile(ns, grid.size),
                "y": times.ravel(),
                "std_error": (relative * (times - 1 / times)).ravel(),
            }
        )
        frame = pd.concat([tidy(rows), table], ignore_index=True)
        return self.told(scenario, prepared, frame, rmse, relative, int(blocks.shape[0]))

    def told(
        self,
        scenario: PriceScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        rmse: FloatArray,
        relative: FloatArray,
        runs: int,
    ) -> Result:
        """Add cards, words, formulas and notes for the visitor's own sample."""
        ns, epsilon = prepared.ns, scenario.epsilon
        n = int(np.clip(scenario.n, ns[0], ns[-1]))
        k = prepared.law.k
        delta = np.array(scenario.estimator.sensitivity(n, k))
        with np.errstate(divide="ignore"):
            mine = np.exp(np.interp(math.log(n), np.log(ns), np.log(rmse)))
        doubt = float(np.interp(math.log(n), np.log(ns), relative))
        times = float(price(delta, np.array(epsilon), mine))
        free, double = (float(epsilon_at(share, delta, mine)) for share in (0.05, 1.0))
        value, around = stated(times, 2 * doubt * (times - 1 / times))
        cards = (
            Card("You pay", ratio(times), "private ÷ without", f"At n = {n:,} and ε = {epsilon:g}: {value} {around}."),
            Card(
                "Twice the error at",
                f"ε = {significant(double, 2)}",
                f"{n:,} people"[:18],
                "Closed form of properties §2.",
            ),
            Card(
                "Almost free from",
                f"ε = {significant(free, 2)}",
                "at most 5% more",
                "Closed form of properties §2.",
            ),
        )
        what = scenario.estimator.title.lower()
        turn = (
            f"From ε = {significant(free, 2)} on privacy adds less than 5%: there the sample limits you, not privacy. "
            f"Below ε = {significant(double, 2)} the noise more than doubles the error. "
        )
        ends = epsilon_at(0.05, prepared.sensitivity, rmse)
        shows = (
            f"With **{n:,} people** and **ε = {epsilon:g}**, a private answer ({what}) is typically off by "
            f"**{ratio(times)}** "
            f"as much as the same answer without noise. {turn}The ε that is enough goes from "
            f"{significant(float(ends[0]), 2)} at "
            f"n = {int(ns[0]):,} to {significant(float(ends[-1]), 2)} at n = {int(ns[-1]):,}. The map is for this "
            "distribution and "
            "for answers that are not clipped."
        )
        noise = f"{math.sqrt(2) * float(delta) / epsilon:.3g}"
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Map of the private error over the error without privacy, for sample sizes {int(ns[0]):,} to "
                f"{int(ns[-1]):,}. At n = {n:,} and epsilon {epsilon:g} it is {value} times as large; from epsilon "
                f"{significant(free, 2)} on privacy adds less than 5%."
            ),
            notes=self.notes(scenario, n),
            formulas=(
                Formula(
                    f"Estimator: {what}",
                    scenario.estimator.formula,
                    rf"n = {n:,},\quad k = {k:,}",
                    "exact",
                    scenario.estimator.source,
                ),
                Formula(
                    "Price of privacy",
                    r"\frac{R_\varepsilon}{R_0}=\sqrt{1+\frac{2\Delta^2}{\varepsilon^2R_0^2}}",
                    rf"\sqrt2\,\Delta/\varepsilon = {noise},\quad R_0 = {float(mine):.3g}\;\Rightarrow\;{times:.3g}",
                    "exact",
                    "properties §2 (derived; for unclipped answers)",
                ),
                Formula(
                    "ε at which privacy adds a share ρ",
                    r"\varepsilon_\rho=\frac{\sqrt2\,\Delta}{R_0\sqrt{(1+\rho)^2-1}}",
                    rf"\varepsilon_{{5\%}} = {free:.3g},\qquad \varepsilon_{{100\%}} = {double:.3g}",
                    "exact",
                    "properties §2 (derived)",
                ),
            ),
            assumptions=(
                "Neighbours are two samples of the same size n that differ in one record; n and k are public. "
                "(properties §0, Def. 1)",
                "The price compares one estimator with and without Laplace noise of exact sensitivity; the "
                "polynomial keeps "
                "its private tuning in both. (properties §1, §2)",
                "Bias and sensitivity are exact; the variance is simulated once per sample size, and every ε follows "
                "in "
                "closed form. Between sample sizes the error is interpolated on logarithmic axes.",
                "The coin is the yardstick: the share of heads of a fair coin, with sensitivity 1/n. (properties §2, "
                "Sec 4.1.1)",
                f"All sample sizes share {runs:,} nested samples, so neighbouring columns move together.",
            ),
            extra={"here": n, "price": times, "free": free, "double": double},
            runs=runs,
        )

    def notes(self, scenario: PriceScenario, n: int) -> tuple[Note, ...]:
        """Say what a reader must know about the choices."""
        out = list(table_notes(scenario.distribution))
        if n != scenario.n:
            low, high = int(scenario.sizes.values()[0]), int(scenario.sizes.values()[-1])
            out.append(
                Note(
                    f"Your sample size n = {scenario.n:,} lies outside the map, which runs from {low:,} to {high:,}. "
                    "The numbers "
                    f"here are for n = {n:,}; widen the map's sample sizes to see your own.",
                    "warning",
                    "Your sample is not on the map",
                )
            )
        return tuple(out)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the map, or the curves of the ε that is enough."""
        if view == "curves":
            return self.curves_chart(result)
        scenario: Any = result.scenario
        ns = result.series("error without privacy")["x"].to_numpy(dtype=np.float64)
        grid = scenario.epsilons.values()
        prices = result.frame["y"][result.frame["series"].str.startswith(PRICE)]
        z = prices.to_numpy().reshape(grid.size, ns.size)
        inside = grid[0] <= scenario.epsilon <= grid[-1] and result.extra["here"] == scenario.n
        return Chart(
            "How many times larger is the private error?",
            "shade: error with privacy ÷ without; upwards: ε",
            Axis("sample size n, people", "log", float(ns[0]), float(ns[-1]), symbol="n"),
            Axis("ε", "log", float(grid[0]), float(grid[-1]), symbol="ε"),
            (
                Panel(
                    (
                        HeatMap(
                            ns,
                            grid,
                            z,
                            LEVELS,
                            "price",
                            regions=regions(ns, grid, z),
                            you=(float(scenario.n), scenario.epsilon) if inside else None,
                        ),
                    )
                ),
            ),
        )

    def curves_chart(self, result: Result) -> Chart:
        """Describe the ε at which privacy adds 5%, 50% and 100%, and the coin's."""
        scenario: Any = result.scenario
        marks: list[Any] = []
        labels = {"5% more": "5% more error", "50% more": "50% more", "twice": "twice<br>the error"}
        dashes = {"5% more": "solid", "50% more": "9px,4px", "twice": "2px,3px"}
        for words in SHARES:
            rows = result.series(f"ε for {words}")
            marks.append(
                Line(
                    "private",
                    rows["x"].to_numpy(),
                    rows["y"].to_numpy(),
                    f"ε for {words}",
                    labels[words],
                    rows["std_error"].to_numpy(),
                    main=words == "5% more",
                    dash=dashes[words],
                    width=3.0 if words == "5% more" else 2.0,
                    hover=f"{words}: ε = {{y}} ± {{e}}",
                )
            )
        coin = result.series("ε for 5% more, a fair coin")
        marks.append(
            Line(
                "truth",
                coin["x"].to_numpy(),
                coin["y"].to_numpy(),
                "ε for 5% more, a fair coin",
                "5% more,<br>a fair coin",
                hover="a coin, 5% more: ε = {y}",
            )
        )
        if result.extra["here"] == scenario.n:
            marks.append(
                Points("data", [float(scenario.n)], [scenario.epsilon], "you", text=("you",), hover="your ε: {y}")
            )
        return Chart(
            "How much ε is enough?",
            "ε at which privacy adds this much, log scale",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("ε", "log", symbol="ε"),
            (Panel(tuple(marks)),),
        )


def regions(ns: FloatArray, epsilons: FloatArray, z: FloatArray) -> tuple[tuple[float, float, str], ...]:
    """Place the words of the map: a region is named where it takes at least a tenth of the height."""
    column = round(0.78 * (ns.size - 1))
    height = math.log(epsilons[-1] / epsilons[0])
    out = []
    for low, high, words in (
        (0.0, LEVELS[0], "privacy costs next to nothing"),
        (LEVELS[0], LEVELS[1], "a price that you notice"),
        (LEVELS[-1], math.inf, "noise decides"),
    ):
        inside = epsilons[(z[:, column] >= low) & (z[:, column] < high)]
        if inside.size and math.log(inside[-1] / inside[0]) >= 0.12 * height:
            out.append((float(ns[column]), float(math.sqrt(inside[0] * inside[-1])), words))
    return tuple(out)
