"""How many values do m records show, when there are more than m? (properties §5; batch estimator, E7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteDistribution, DiscreteLaw, TwoStep, Uniform, Zipf
from privexplorer.properties import BatchCoverage
from privexplorer.records import Epsilon, Grid, Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng, mean_and_error, mixture_quantiles, root_mean_square
from privexplorer.studies._notes import stated, table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Role, Spread
from privexplorer.studies.result import Card, Formula, Result, tidy
from privexplorer.studies.words import percent, ratio, significant

EPSILONS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 10.0, 25)])
BATCH = BatchCoverage()
BLOCKS, ALL_ORDERS = range(2)
PANELS = {
    "mean": "average",
    "spread": "standard deviation",
    "noise": "sensitivity",
    "epsilon": "error against ε",
}


class BatchScenario(Scenario):
    """A sample that is cut into blocks of m records."""

    distribution: DiscreteDistribution = field(
        Zipf(k=100, exponent=1.0),
        "Distribution",
        "Which values there really are, and how frequent.",
        key="dist",
        group="Data",
        discriminator="kind",
    )
    n: Annotated[int, Number] = field(
        1_000,
        "Sample size n, people",
        "How many records there are; public and fixed.",
        key="n",
        group="Data",
        scale="log",
        low=100,
        high=20_000,
        ge=2,
        le=50_000,
    )
    m: Annotated[int, Number] = field(
        50,
        "Records that are to be covered, m",
        "How many different values do m records show? At most n.",
        key="m",
        group="Goal",
        scale="log",
        low=2,
        high=10_000,
        ge=1,
        le=100_000,
    )
    epsilon: Epsilon = 0.1
    lengths: Grid = field(
        Grid(low=2, high=1_000, points=13),
        "Range of m",
        "Values above n are left out.",
        key="lengths",
        group="Goal",
        advanced=True,
    )
    trials: Trials = 300
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share; the coverages are exact."""

    law: DiscreteLaw
    n: int
    lengths: IntArray
    coverage: FloatArray
    seed: int
    block_trials: int


def lengths(scenario: BatchScenario) -> IntArray:
    """Block lengths that are simulated: the grid as far as it fits, and the visitor's own."""
    grid = scenario.lengths.values()
    return np.unique(np.append(grid[grid <= scenario.n], scenario.m))


def ahead(n: int, m: float) -> float:
    """Look-ahead ``t`` at which ``(1 + t) n = m``; at most 0."""
    return m / n - 1


def over_all_orders(symbols: IntArray, sizes: IntArray) -> FloatArray:
    """Average the batch estimate over every order of the records (Rao-Blackwell), shape ``(trials, lengths)``."""
    trials, n = symbols.shape
    ordered = np.sort(symbols, axis=1)
    starts = np.concatenate((np.ones((trials, 1), dtype=bool), ordered[:, 1:] != ordered[:, :-1]), axis=1)
    first = np.flatnonzero(starts.ravel())
    counts, row = np.diff(first, append=trials * n), first // n
    out = np.empty((trials, sizes.size))
    reach = np.arange(int(counts.max()) + 1)
    for place, length in enumerate(sizes.tolist()):
        values = BATCH.values(reach, n, ahead(n, length))
        out[:, place] = np.bincount(row, weights=values[counts], minlength=trials)
    return out


class BatchCoverageStudy(Study[BatchScenario]):
    """Mean, spread, sensitivity and private error of the batch estimator."""

    id: ClassVar[str] = "batch-coverage"
    question: ClassVar[str] = "How many different values do m records show?"
    lead: ClassVar[str] = (
        "With more than m records there is no need to extrapolate: cut the sample into blocks of m, count the "
        "different values in each, and average."
    )
    tab: ClassVar[str] = "Batches"
    card: ClassVar[str] = "An unbiased average over blocks, its spread, and noise half of what its source asks for."
    link: ClassVar[str] = "Cut a sample into blocks"
    theme: ClassVar[str] = "unseen"
    picture: ClassVar[str] = "blocks"
    scenario: ClassVar[type[Scenario]] = BatchScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "mean": "Average",
        "spread": "Spread",
        "noise": "Sensitivity",
        "epsilon": "Error against ε",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-Batch", "T-Sm-def", "T-S-def")

    def presets(self) -> tuple[Preset[BatchScenario], ...]:
        """Finished examples."""
        make = BatchScenario
        return (
            Preset("A few frequent values", make()),
            Preset("All values alike", make(distribution=Uniform(k=200), m=100)),
            Preset("Two blocks only", make(distribution=TwoStep(k=1_000), n=2_000, m=900, epsilon=0.5)),
        )

    def check(self, scenario: BatchScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        if scenario.m > scenario.n:
            return (
                f"The batch estimator needs at least m records; m is {scenario.m:,} and the sample has {scenario.n:,}. "
                "Take a smaller m or a larger sample.",
            )
        return ()

    def size(self, scenario: BatchScenario) -> int:
        """Trials per block: a matter of the question alone."""
        return int(min(64, max(1, 2_000_000 // (scenario.n * lengths(scenario).size))))

    def blocks(self, scenario: BatchScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: BatchScenario, tables: Tables | None) -> Prepared:
        """Compute the exact coverages."""
        law, sizes = scenario.distribution.law(tables), lengths(scenario)
        return Prepared(
            law,
            scenario.n,
            sizes,
            np.asarray(law.coverage(sizes.astype(np.float64))),
            scenario.seed,
            self.size(scenario),
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw samples; return ``(trials, 2, lengths)``: averages over blocks, and over all orders of the records."""
        rng = block_rng(prepared.seed, block)
        symbols = prepared.law.sample_symbols(prepared.n, prepared.block_trials, rng)
        in_order = np.stack([BATCH.estimate(symbols, m) for m in prepared.lengths.tolist()], axis=1)
        return np.stack((in_order, over_all_orders(symbols, prepared.lengths)), axis=1)

    def assemble(self, scenario: BatchScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put averages, spreads, sensitivities and errors together."""
        blocks = stacked(parts, scenario.trials)
        n, sizes, truth = prepared.n, prepared.lengths, prepared.coverage
        at = int(np.searchsorted(sizes, scenario.m))
        exact, printed, smoothed = (sensitivities(n, sizes, how) for how in ("exact", "thesis", "all orders"))
        mean, mean_error = mean_and_error(blocks[:, BLOCKS, :])
        # unbiased, so the spread is the error about the exact coverage
        spread, spread_error = root_mean_square((blocks[:, BLOCKS, :] - truth) ** 2)
        calmer, calmer_error = root_mean_square((blocks[:, ALL_ORDERS, :] - truth) ** 2)
        noisy, noisy_error = with_noise(spread[at], spread_error[at], exact[at] / EPSILONS)
        loud, loud_error = with_noise(spread[at], spread_error[at], printed[at] / EPSILONS)
        frame = pd.concat(
            [
                tidy(
                    [("coverage", sizes, truth, 0.0), ("average over blocks", sizes, mean, mean_error)],
                    panel=PANELS["mean"],
                ),
                tidy(
                    [
                        ("bound m/√n", sizes, sizes / math.sqrt(n), 0.0),
                        ("blocks", sizes, spread, spread_error),
                        ("all orders", sizes, calmer, calmer_error),
                    ],
                    panel=PANELS["spread"],
                ),
                tidy(
                    [
                        ("printed, 2m/n", sizes, printed, 0.0),
                        ("exact, 1/⌊n/m⌋", sizes, exact, 0.0),
                        ("all orders, m/n", sizes, smoothed, 0.0),
                    ],
                    panel=PANELS["noise"],
                ),
                tidy(
                    [
                        ("private, printed noise", EPSILONS, loud, loud_error),
                        ("private", EPSILONS, noisy, noisy_error),
                        ("without privacy", EPSILONS, np.full(EPSILONS.size, spread[at]), spread_error[at]),
                    ],
                    panel=PANELS["epsilon"],
                ),
            ],
            ignore_index=True,
        )
        mine, mine_error = with_noise(spread[at], spread_error[at], np.array([exact[at] / scenario.epsilon]))
        return self.told(
            scenario,
            prepared,
            frame,
            at,
            {
                "mean": stated(float(mean[at]), 2 * float(mean_error[at])),
                "plain": stated(float(spread[at]), 2 * float(spread_error[at])),
                "private": stated(float(mine[0]), 2 * float(mine_error[0])),
            },
            blocks,
            float(mine[0] / spread[at]) if spread[at] > 0 else math.inf,
        )

    def told(
        self,
        scenario: BatchScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        at: int,
        said: Mapping[str, tuple[str, str]],
        blocks: FloatArray,
        price: float,
    ) -> Result:
        """Add cards, words and formulas."""
        n, m, epsilon = scenario.n, scenario.m, scenario.epsilon
        number = n // m
        exact, printed = (float(sensitivities(n, prepared.lengths, how)[at]) for how in ("exact", "thesis"))
        truth, support = float(prepared.coverage[at]), prepared.law.support_size()
        cards = (
            Card(
                "Average estimate",
                said["mean"][0],
                said["mean"][1],
                f"The exact coverage is {significant(truth, 5)}. ± is two standard errors.",
            ),
            Card(
                "Private error",
                said["private"][0],
                said["private"][1],
                f"Root-mean-square, in values, at ε = {epsilon:g}.",
            ),
            Card("Without privacy", said["plain"][0], said["plain"][1], "The same average without noise."),
            Card(
                "Sensitivity",
                significant(exact),
                f"printed: {significant(printed)}",
                "One record touches one block, by one value at most (E7).",
            ),
        )
        blocks_words = "1 block" if number == 1 else f"{number:,} blocks"
        compared = (
            f", {significant(price, 2)} times as much as without privacy; the printed noise would be "
            f"{ratio(printed / exact)} the noise that is needed. "
            if exact > 0 and math.isfinite(price)
            else ". "
        )
        left = n - number * m
        shows = (
            f"**{n:,} records** make {blocks_words} of **m = {m:,}**. Their average number of different values is "
            f"**{said['mean'][0]}** ({said['mean'][1]}) over the runs, the exact coverage {significant(truth, 4)} of "
            f"{support:,} values in all: the estimate is unbiased. At **ε = {epsilon:g}** a private answer is "
            f"typically off by **{said['private'][0]} values**{compared}"
            + (f"{left:,} records ({percent(left / n)}) are left over." if left else "No record is left over.")
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Average number of different values in blocks of m records, against m, beside the exact coverage. At "
                f"m = {m:,} the average is {said['mean'][0]}, the exact coverage {significant(truth, 4)}."
            ),
            notes=table_notes(scenario.distribution),
            formulas=self.formulas(scenario, truth, support, exact, printed),
            assumptions=ASSUMPTIONS,
            extra={"blocks": blocks, "prepared": prepared},
            runs=int(blocks.shape[0]),
        )

    def formulas(
        self, scenario: BatchScenario, truth: float, support: int, exact: float, printed: float
    ) -> tuple[Formula, ...]:
        """Write the estimator, what it estimates, its spread and its noise, with the current numbers."""
        n, m, epsilon = scenario.n, scenario.m, scenario.epsilon
        return (
            Formula(
                "Support coverage",
                r"S_m(p)=\sum_x\bigl(1-(1-p_x)^m\bigr)\ \le\ S(p)=\#\{x:p_x>0\}",
                rf"S_{{{m}}}(p) = {truth:.10g}\le{support:,}",
                "exact",
                "Sec 4.2.1",
            ),
            Formula("Batch estimator", BATCH.formula, rf"\lfloor n/m\rfloor = {n // m:,}", "exact", BATCH.source),
            Formula(
                "Unbiased, with little spread",
                r"\mathrm E\,\hat S_m=S_m(p),\qquad\mathrm{Var}\le m^2/n",
                rf"m^2/n = {m * m / n:.6g}",
                "bound",
                "Sec 4.4.1.1",
            ),
            Formula("Sensitivity, as printed", r"\Delta\le 2m/n", f"{printed:.6g}", "bound", "Sec 4.4.1.1"),
            Formula(
                "Sensitivity, exact",
                r"\Delta=1/\lfloor n/m\rfloor",
                f"{exact:.6g}",
                "exact",
                "E7 (derived)",
            ),
            Formula(
                "Private release",
                r"\tilde S_m=\hat S_m+\mathrm{Lap}(\Delta/\varepsilon)",
                rf"\Delta/\varepsilon = {exact / epsilon:.6g}",
                "exact",
                "Lem 3",
            ),
        )

    # ---- charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        return result.frame[result.frame["panel"] == PANELS[view]]

    def chart(self, result: Result, view: str) -> Chart:
        """Describe average, spread, sensitivity, or error against ε."""
        if view == "spread":
            return self.spread_chart(result)
        if view == "noise":
            return self.noise_chart(result)
        return self.epsilon_chart(result) if view == "epsilon" else self.mean_chart(result)

    def lines(
        self, result: Result, view: str, looks: Mapping[str, tuple[Role, str, str | None]], phrase: str
    ) -> tuple[Line, ...]:
        """Describe curves of one view; the private one is the main one."""
        out = []
        for name, (role, label, dash) in looks.items():
            rows = result.series(name, PANELS[view])
            x, y = rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy()
            error = rows["std_error"].to_numpy()
            out.append(
                Line(
                    role,
                    x,
                    y,
                    name,
                    label,
                    error if error.any() else None,
                    main=name == "private",
                    markers=name in ("average over blocks", "blocks"),
                    dash=dash,
                    hover=f"{name}: {phrase}",
                )
            )
        return tuple(out)

    def mean_chart(self, result: Result) -> Chart:
        """Describe the average over blocks beside the exact coverage, and where one private answer falls."""
        scenario: Any = result.scenario
        prepared = result.extra["prepared"]
        scales = sensitivities(prepared.n, prepared.lengths, "exact") / scenario.epsilon
        low, high = mixture_quantiles(result.extra["blocks"][:, BLOCKS, :], scales, (0.025, 0.975))
        looks: dict[str, tuple[Role, str, str | None]] = {
            "coverage": ("truth", "exact<br>coverage", None),
            "average over blocks": ("data", "average<br>over blocks", None),
        }
        support = prepared.law.support_size()
        return Chart(
            "Different values among m records",
            f"values, log scale; band: private at ε = {scenario.epsilon:g}"[:48],
            Axis("records m", "log", symbol="m"),
            Axis("values", "log", unit="values", low=0.7 * float(prepared.coverage.min())),
            (
                Panel(
                    (
                        Spread(
                            "private",
                            prepared.lengths,
                            low,
                            high,
                            "19 of 20 private answers",
                            "light",
                            "19 of 20<br>releases",
                        ),
                        *self.lines(result, "mean", looks, "{y} ± {e} values"),
                    ),
                    here=(float(scenario.m), f"your m = {scenario.m:,}"),
                    level_lines=((float(support), f"S = {support:,} values in all"),),
                ),
            ),
        )

    def spread_chart(self, result: Result) -> Chart:
        """Describe the standard deviation below its bound."""
        scenario: Any = result.scenario
        looks: dict[str, tuple[Role, str, str | None]] = {
            "bound m/√n": ("upper bound", "bound m/√n", None),
            "blocks": ("non-private", "blocks", None),
            "all orders": ("non-private", "averaged over<br>all orders", "2px,3px"),
        }
        return Chart(
            "Spread of the estimate without noise",
            "standard deviation, in values, log scale",
            Axis("records m", "log", symbol="m"),
            Axis("standard deviation", "log", unit="values"),
            (
                Panel(
                    self.lines(result, "spread", looks, "{y} ± {e} values"),
                    here=(float(scenario.m), f"your m = {scenario.m:,}"),
                ),
            ),
        )

    def noise_chart(self, result: Result) -> Chart:
        """Describe the exact sensitivity beside the printed one."""
        scenario: Any = result.scenario
        looks: dict[str, tuple[Role, str, str | None]] = {
            "printed, 2m/n": ("upper bound", "printed,<br>2m/n", None),
            "exact, 1/⌊n/m⌋": ("private", "exact,<br>1/⌊n/m⌋", None),
            "all orders, m/n": ("private", "all orders,<br>m/n", "2px,3px"),
        }
        return Chart(
            "How far one record can move the answer",
            "sensitivity, in values, log scale",
            Axis("records m", "log", symbol="m"),
            Axis("sensitivity", "log", unit="values"),
            (
                Panel(
                    self.lines(result, "noise", looks, "{y} values"),
                    here=(float(scenario.m), f"your m = {scenario.m:,}"),
                ),
            ),
        )

    def epsilon_chart(self, result: Result) -> Chart:
        """Describe the private error against ε, with the exact and with the printed noise."""
        scenario: Any = result.scenario
        looks: dict[str, tuple[Role, str, str | None]] = {
            "private, printed noise": ("private", "private,<br>printed noise", "2px,3px"),
            "private": ("private", "private", "solid"),
            "without privacy": ("non-private", "without<br>privacy", None),
        }
        return Chart(
            f"Error of the estimate for m = {scenario.m:,}",
            "root-mean-square, in values, log scale",
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε"),
            Axis("error", "log", unit="values"),
            (
                Panel(
                    self.lines(result, "epsilon", looks, "off by {y} ± {e} values"),
                    here=(scenario.epsilon, f"your ε = {scenario.epsilon:g}"),
                ),
            ),
            names=tuple(looks),
        )


def sensitivities(n: int, sizes: IntArray, how: str) -> FloatArray:
    """Sensitivity at each block length: ``"exact"``, ``"thesis"`` (printed) or ``"all orders"``."""
    if how == "all orders":
        return np.array([BATCH.sensitivity(n, ahead(n, m), averaged=True) for m in sizes.tolist()])
    rule: Any = how
    return np.array([BATCH.sensitivity(n, ahead(n, m), rule) for m in sizes.tolist()])


def with_noise(spread: float, error: float, scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the error with Laplace noise of these scales, and its standard error: variances add."""
    total = np.sqrt(spread**2 + 2 * scales**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return total, np.where(total > 0, error * spread / total, 0.0)


ASSUMPTIONS = (
    "Neighbours are two samples of the same size n that differ in one record; n and m are public, with m at most n. "
    "(properties §0, Def. 1)",
    "The sample is cut in its own order into blocks of m; records after the last whole block are not used. "
    "(Sec 4.4.1.1)",
    "One record touches one block and moves its count by one at most: the sensitivity is 1 over the number of blocks, "
    "half of what is printed where m divides n. (E7)",
    "The coverage is exact, so the error about it is the spread; the noise is added exactly, not drawn.",
    "Averaged over all orders of the records, the estimate stays unbiased and is never more variable; its sensitivity "
    "is m/n. (properties §5, derived)",
    "All lengths share the same samples, so neighbouring points move together.",
)

__all__ = ["BatchCoverageStudy", "BatchScenario", "over_all_orders", "sensitivities"]
