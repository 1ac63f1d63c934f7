"""How high is a field along paths, if the places where it was measured are private? (7.12; Ex. 4 to 8)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.causal import Decomposition
from privexplorer.data import Tables
from privexplorer.records import Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _effects as effects
from privexplorer.studies import _geometric as geometric
from privexplorer.studies._effects import KeepProbability
from privexplorer.studies._geometric import AverageChoice, Discount, Field2, Lines, Middle, OverPaths, Rays, Slope
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, HeatMap, Line, Mark, Panel
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import ratio, significant

BLOCK = 250
GRID = np.linspace(-3.0, 3.0, 49)
CURVE = 121
DRAWN, SHOWN = 1, 2
"""Random streams: what is averaged, and the few paths of the picture."""
PATHS_SIDE, WEIGHTS_SIDE, PRIVATE = "along the paths", "by the weights", "private: X swapped"
PANELS = {"field": "the field", "weights": "the weights", "sides": "both sides"}
PATHS, CURVES, WEIGHT, DENSITY, HALF = "paths", "μ(x)", "weight r(x)", "density of X", "half of all X"


class GeometricTargetsScenario(Scenario):
    """What is averaged, over which field, and how much of X is kept."""

    average: AverageChoice = field(
        Rays(),
        "What is averaged",
        "Each is a number that the unknown field μ decides, and an average of the outcome with certain weights.",
        key="what",
        group="Goal",
        discriminator="kind",
    )
    shape: Field2 = field(
        "hills",
        "Field μ",
        "Mean outcome at each private place x; known here, so that the truth is known.",
        key="field",
        group="Data",
        titles={name: words for name, (words, _) in geometric.FIELDS.items()},
    )
    spread: Annotated[float, Number] = field(
        1.0, "Spread of the outcome σ", "Around the field.", key="sd", group="Data", ge=0.05, le=10, advanced=True
    )
    keep: KeepProbability = 0.5
    paths: Annotated[int, Number] = field(
        16, "Paths in the picture", "Only drawn, not computed with.", key="paths", group="Data", ge=2, le=60,
        advanced=True,
    )  # fmt: skip
    trials: Trials = 2_000
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """Both sides exactly, the three terms of the variance, and the two maps."""

    average: Any
    shape: Field2
    spread: float
    keep: float
    seed: int
    value: float
    weighted: float
    square: float
    """E r²; only meaningful where the weights have a finite variance."""
    noise_mean: tuple[float, float]
    """Mean of a and c of the score under the noise law, which is the law of X."""
    cost: Decomposition | None
    field: FloatArray
    weight: FloatArray


class GeometricTargets(Study[GeometricTargetsScenario]):
    """Path integrals, slopes and discounts: two sides of one identity, and what swapping X costs."""

    id: ClassVar[str] = "geometric-targets"
    question: ClassVar[str] = "How high is a landscape along paths if every place is private?"
    lead: ClassVar[str] = (
        "An average along rays, lines or steps never visits the private places, yet it is an average of the outcomes "
        "there, with the right weights."
    )
    tab: ClassVar[str] = "Along paths"
    card: ClassVar[str] = "Averages along rays and lines, slopes and discounts, from swapped places."
    link: ClassVar[str] = "Follow the rays"
    theme: ClassVar[str] = "effects"
    picture: ClassVar[str] = "rays"
    scenario: ClassVar[type[Scenario]] = GeometricTargetsScenario
    late: ClassVar[frozenset[str]] = frozenset({"trials", "paths"})
    views: ClassVar[Mapping[str, str]] = {"field": "The field", "weights": "The weights", "sides": "Both sides"}
    rows: ClassVar[tuple[str, ...]] = (
        "L-E7", "L-Ex4", "L-Ex4c", "L-Ex5", "L-Ex6", "L-Ex6e", "L-Ex7", "L-Ex8", "L-E56", "L-E10",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[GeometricTargetsScenario], ...]:
        """Finished examples."""
        make = GeometricTargetsScenario
        return (
            Preset("Rays", make()),
            Preset("Lines between two points", make(average=Lines())),
            Preset("Average slope", make(average=Slope(), shape="waves", keep=0.8)),
            Preset("Slope on a range: no weights", make(average=Slope(law="uniform", step=0.2), shape="bowl")),
            Preset("The cure: its middle", make(average=Middle(), shape="bowl")),
            Preset("Discounted value", make(average=Discount(), shape="plane")),
        )

    def check(self, scenario: GeometricTargetsScenario, tables: Tables | None) -> tuple[str, ...]:
        """Refuse a step across the whole range."""
        average = scenario.average
        if isinstance(average, Slope) and average.law == "uniform" and average.step >= 1:
            return (
                f"X lies between 0 and 1, so a step must be shorter than 1; it is {average.step:g}.",
            )  # fmt: skip
        return ()

    def blocks(self, scenario: GeometricTargetsScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK)

    # ---- prepare and blocks ----

    def prepare(self, scenario: GeometricTargetsScenario, tables: Tables | None) -> Prepared:
        """Work out both sides, the variance and the maps."""
        average, mu = scenario.average, geometric.regression(scenario.shape)
        x, share = average.nodes()
        value, weight = average.value(mu), average.weight(x)
        mean = mu(x)
        here = geometric.score(average, mu, x)
        cost = None
        if average.holds:
            public = 0.0
            if isinstance(average, OverPaths):
                public = float(np.var(average.along(mu, average.public(4_000, block_rng(0, 0, 3)))))
            cost = geometric.parts_of((share, here, mean), (share, here), scenario.spread, public)
        if isinstance(average, OverPaths):
            across, up = np.meshgrid(GRID, GRID)
            points = np.stack([across.reshape(-1), up.reshape(-1)], axis=1)
        else:
            points = np.linspace(*average.reaches, CURVE)
        size = (GRID.size, GRID.size) if isinstance(average, OverPaths) else (CURVE,)
        return Prepared(
            average, scenario.shape, scenario.spread, scenario.keep, scenario.seed, value,
            float(np.sum(share * weight * mean)), float(np.sum(share * weight**2)),
            (float(np.sum(share * here.a)), float(np.sum(share * here.c))), cost,
            mu(points).reshape(size), average.weight(points).reshape(size),
        )  # fmt: skip

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw people; return ``(people, 3, 1)``: path side, weight side, and the private one-step score."""
        rng = block_rng(prepared.seed, block, DRAWN)
        average, mu = prepared.average, geometric.regression(prepared.shape)
        x, other = average.sample(BLOCK, rng), average.sample(BLOCK, rng)
        y = mu(x) + prepared.spread * rng.standard_normal(BLOCK)
        kept = rng.random(BLOCK) < prepared.keep
        z = np.where(kept[:, None] if isinstance(average, OverPaths) else kept, x, other)
        along = average.along(mu, average.public(BLOCK, rng)) if isinstance(average, OverPaths) else average.left(mu, x)
        by_weight = average.weight(x) * mu(x)
        if not average.exists:
            private = np.full(BLOCK, np.nan)
        else:
            at = geometric.score(average, mu, z)
            slope, level = prepared.noise_mean
            private = (at.a * y + at.c) / prepared.keep - (1 / prepared.keep - 1) * (slope * y + level)
            if isinstance(average, OverPaths):
                private = private + along
        return np.stack([along, by_weight, private], axis=1)[:, :, None]

    # ---- assemble ----

    def assemble(self, scenario: GeometricTargetsScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put running averages, the picture and the words together."""
        drawn = stacked(parts, scenario.trials)[:, :, 0]
        runs = drawn.shape[0]
        many = np.unique(np.rint(np.geomspace(min(10, runs), runs, 40)).astype(int))
        sides = []
        for place, name in enumerate((PATHS_SIDE, WEIGHTS_SIDE, PRIVATE)):
            column = drawn[:, place]
            if not np.isfinite(column).all():
                continue
            mean = np.array([column[:n].mean() for n in many])
            error = np.array([column[:n].std(ddof=1) / math.sqrt(n) for n in many])
            sides.append((name, many.astype(float), mean, error))
        frame = pd.concat([tidy(sides, panel=PANELS["sides"]), *self.drawn(scenario, prepared)], ignore_index=True)
        return self.told(scenario, prepared, frame, drawn, runs)

    def drawn(self, scenario: GeometricTargetsScenario, prepared: Prepared) -> list[pd.DataFrame]:
        """Rows of the picture: a few paths, and curves where X is a number."""
        average, mu = prepared.average, geometric.regression(prepared.shape)
        rng = block_rng(prepared.seed, 0, SHOWN)
        if isinstance(average, Rays | Lines):
            begin, end = average.ends(average.public(scenario.paths, rng))
            both = np.stack([begin, end], axis=1).reshape(-1, 2)
            radius = average.x_std * math.sqrt(2 * math.log(2))
            turn = np.linspace(0.01, 2 * math.pi + 0.01, 73)[:-1]
            return [
                tidy([(PATHS, both[:, 0], both[:, 1], 0.0)], panel=PANELS["field"]),
                tidy([(HALF, radius * np.cos(turn), radius * np.sin(turn), 0.0)], panel=PANELS["weights"]),
            ]
        low, high = average.reaches
        x = np.linspace(low, high, CURVE)
        rows = [(CURVES, x, prepared.field, 0.0)]
        if isinstance(average, Slope):
            starts = np.sort(average.sample(scenario.paths, rng))
            starts = starts[(starts >= low) & (starts <= high)]
            steps = np.stack([starts, starts + average.step], axis=1).reshape(-1)
            rows.append((PATHS, steps, mu(steps), 0.0))
        else:
            rows.append((average.words, x, average.left(mu, x), 0.0))
        return [
            tidy(rows, panel=PANELS["field"]),
            tidy([(WEIGHT, x, prepared.weight, 0.0), (DENSITY, x, average.density(x), 0.0)], panel=PANELS["weights"]),
        ]

    def told(
        self,
        scenario: GeometricTargetsScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        drawn: FloatArray,
        runs: int,
    ) -> Result:
        """Add cards, words and formulas."""
        average, cost, keep = prepared.average, prepared.cost, prepared.keep
        gap = abs(prepared.weighted - prepared.value)
        agree = gap <= 1e-6 * max(1.0, abs(prepared.value))
        price = math.nan if cost is None else float(cost.price(np.array(keep)))
        errors = drawn.std(axis=0, ddof=1) / math.sqrt(runs)
        means = drawn.mean(axis=0)
        first, second = (f"{significant(float(means[at]))} ± {significant(2 * float(errors[at]), 2)}" for at in (0, 1))
        cards = [
            Card("True average", significant(prepared.value), average.short, f"Mean {average.words}."),
            Card(
                "By the weights",
                significant(prepared.weighted),
                "the same" if agree else "not the same",
                "Average of r(X) μ(X) over the law of X, by quadrature: the other side of the Riesz identity.",
            ),
            Card(
                "Size of the weights",
                significant(math.sqrt(prepared.square)) if average.holds else "no variance",
                "root mean square",
                "Square root of E r²: large weights make a noisy estimate.",
            ),
            Card(
                "People needed",
                ratio(price) if cost is not None else "–",
                f"at α = {keep:g}"[:18],
                "Variance of the best estimate from swapped X over that from open X; the noise is distributed like X.",
            ),
        ]
        if agree:
            body = (
                f"The mean {average.words} is **{significant(prepared.value)}**, and so is the average of the field "
                f"with the weights r. {runs:,} draws give {first} along the paths and {second} by the weights. "
            )
        else:
            body = (
                f"The mean {average.words} is **{significant(prepared.value)}**, but the weights give "
                f"**{significant(prepared.weighted)}**: here the two sides differ, so no average of outcomes tells "
                "the slope. The step leads out of the range of X, where no outcome was ever seen. "
            )
        if cost is not None:
            private = f"{significant(float(means[2]))} ± {significant(2 * float(errors[2]), 2)}"
            body += (
                f"With X swapped for noise in {100 * (1 - keep):.0f}% of the records the same people give {private}; "
                f"the best estimate needs **{ratio(price)}** as many people. Field and weights are taken as known here."
            )
        elif agree:
            body += "The weights have no finite variance, so no interval for the average can be trusted."
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=tuple(cards),
            shows=body,
            takeaway=(
                f"Mean {average.words}: {significant(prepared.value)} along the paths and "
                f"{significant(prepared.weighted)} by the weights; {average.sentence}"
            ),
            notes=self.notes(prepared, agree),
            formulas=self.formulas(scenario, prepared),
            assumptions=(
                "Each person's private place X is swapped on its own, with the same known mechanism, before anybody "
                "sees it; the noise is distributed like X. (15)",
                "The outcome is μ(X) plus normal noise, and does not depend on the public ends of the paths beyond X. "
                "(Ex. 4 to 8)",
                "The private average uses the true field and the true weights, so its variance is the smallest "
                "possible; fitted ones reach it in large samples. (Thm 2, Cor. 1)",
                effects.KNOWN_LAW,
            ),
            extra={"field": prepared.field, "weight": prepared.weight, "truth": prepared.value, "price": price},
            runs=runs,
        )

    def notes(self, prepared: Prepared, agree: bool) -> tuple[Note, ...]:
        """Say whether the average is regular, and what is protected."""
        average = prepared.average
        level: Any = "info" if average.holds else "warning"
        title = "Do the weights exist?" if average.holds or average.exists else "No weights exist"
        more = ""
        if not agree:
            more = " The preset “The cure: its middle” is such an average."
        return (
            Note(average.sentence + more, level, title),
            Note(f"{effects.ONE_COLUMN} {effects.CONTINUOUS_LEAK}", title="What is protected"),
        )

    def formulas(self, scenario: GeometricTargetsScenario, prepared: Prepared) -> tuple[Formula, ...]:
        """Write the functional, its weights and their condition with numbers."""
        average, cost, keep = prepared.average, prepared.cost, prepared.keep
        mu = geometric.regression(prepared.shape)
        out = [
            Formula(
                "Both sides",
                rf"\chi={average.formula}=E\,r(X)\,\mu(X),\qquad {geometric.FIELDS[prepared.shape][1]}",
                rf"{prepared.value:.10g}\quad\text{{and}}\quad{prepared.weighted:.10g}",
                "exact",
                f"(10), {average.source}",
            )
        ]
        if isinstance(average, Rays):
            sign = ">" if average.holds else r"\le "
            out.append(
                Formula(
                    "Weights of the rays",
                    r"r(x)=\frac{\|x\|}{p_X(x)}\int_{t_0}^{t_1}p_W(x/t)\,t^{-d-1}\,dt,\qquad "
                    r"E\,r^2<\infty\iff s_X^2>t_1^2s_W^2/2",
                    rf"r(1,0.5)={float(average.weight(np.array([[1.0, 0.5]]))[0]):.10g},\quad "
                    rf"{average.x_std**2:.4g}{sign}{average.high**2 / 2:.4g}",
                    "exact",
                    "Ex. 5; locally private inference §1.3, derived",
                )
            )
        elif isinstance(average, Lines):
            w = average.public(400, block_rng(prepared.seed, 0, SHOWN))
            bent, off = average.bent(mu, w, 0.5)
            out += [
                Formula(
                    "Weights of the lines",
                    r"r(x)=\frac1{p_X(x)}\int_0^1\!\int\|\Delta\|\,p_W\big(x-t\Delta,\,x+(1-t)\Delta\big)\,d\Delta\,dt",
                    rf"r(1,0.5)={float(average.weight(np.array([[1.0, 0.5]]))[0]):.10g}",
                    "exact",
                    "Ex. 6",
                ),
                Formula(
                    "Other curves",
                    r"\int_0^1\mu(B(t))\,\|B'(t)\|\,dt",
                    rf"\text{{straight }}B:\text{{ off by }}{off:.0e};\quad"
                    rf"\text{{bent sideways, 400 curves: }}{bent:.4g}",
                    "exact",
                    "end of Ex. 6",
                ),
            ]
        elif isinstance(average, Slope):
            verdict = average.verdict
            b, top = (
                f"{value:.6g}" if math.isfinite(value) else r"\infty"
                for value in (verdict.second_moment, verdict.largest_ratio)
            )
            out.append(
                Formula(
                    "Weights of the slope",
                    r"r(x)=\frac{p_X(x-\epsilon)-p_X(x)}{\epsilon\,p_X(x)},\qquad "
                    r"b=\int\frac{p_X(x-\epsilon)^2}{p_X(x)}\,dx<\infty",
                    rf"b={b},\qquad\sup_x p_X(x-\epsilon)/p_X(x)={top}",
                    "exact",
                    "Ex. 4, (13), (56); erratum E11",
                )
            )
        else:
            weight = r"b(x)\,y" if isinstance(average, Middle) else r"\frac{y}{1+\kappa(x)}"
            out.append(
                Formula(
                    "The field cancels",
                    rf"\tilde\chi={weight}-\chi",
                    r"\hat\mu=0\text{ gives the same estimate as }\hat\mu=\mu",
                    "exact",
                    f"{average.source}; erratum E7",
                )
            )
        if cost is not None:
            at = np.array(keep)
            out.append(
                Formula(
                    "Variance with noise like X",
                    r"\sigma^2(\alpha)=T_0+\frac{1-\alpha}{\alpha}T_1+\frac{1-\alpha}{\alpha^2}T_2",
                    rf"T_0={cost.t0:.5g},\ T_1={cost.t1:.5g},\ T_2={cost.t2:.5g}:\quad "
                    rf"\sigma^2({keep:g})={float(cost.variance(at)):.5g}",
                    "exact",
                    "(17); locally private inference §1.6, derived",
                )
            )
        return tuple(out)

    # ---- numbers and charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view; the two maps row by row."""
        view = view or "field"
        rows = result.frame[result.frame["panel"] == PANELS[view]].reset_index(drop=True)
        values = result.extra.get({"field": "field", "weights": "weight"}.get(view, ""), np.zeros(0))
        if values.ndim < 2:
            return rows
        name = "μ" if view == "field" else "r"
        grid = tidy(
            [(f"{name} at x₂ = {up:g}", GRID, values[row], 0.0) for row, up in enumerate(GRID.tolist())],
            panel=PANELS[view],
        )
        return pd.concat([rows, grid], ignore_index=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the field with paths, the weights, or the running averages."""
        scenario: Any = result.scenario
        if view == "sides":
            return self.sides(result)
        if isinstance(scenario.average, OverPaths):
            return self.map(result, view)
        return self.curve(result, view)

    def map(self, result: Result, view: str) -> Chart:
        """Describe a field or weights over the plane."""
        scenario: Any = result.scenario
        rows = result.series(PATHS)
        ends = rows[["x", "y"]].to_numpy(dtype=np.float64).reshape(-1, 2, 2)
        marks: list[Mark] = []
        if view == "weights":
            marks.append(
                HeatMap(GRID, GRID, result.extra["weight"], weight_levels(result.extra["weight"]), "weights", "{:g}",
                        hover="weight r = {z}")
            )  # fmt: skip
            circle = result.series(HALF)
            x, y = (circle[name].to_numpy(dtype=np.float64) for name in ("x", "y"))
            marks.append(
                Line("truth", np.append(x, x[0]), np.append(y, y[0]), HALF, dash="2px,4px", width=2.0,
                     hover="half of all private places lie inside")
            )  # fmt: skip
            title, under = "Weight of the outcome at each place", "shade: r(x₁, x₂); y: x₂; ring: half of all X"
        else:
            marks.append(
                HeatMap(GRID, GRID, result.extra["field"], nice_levels(result.extra["field"], 7), "field", "{:g}",
                        hover="μ = {z}")
            )  # fmt: skip
            title = f"The field μ and {len(ends)} {scenario.average.paths}"
            under = "shade: μ(x₁, x₂); y: x₂; dashed: weight r(x)"
        gap = np.full((len(ends), 1), np.nan)
        x = np.concatenate([ends[:, :, 0], ends[:, 1:, 0]], axis=1).reshape(-1)
        y = np.concatenate([ends[:, :, 1], gap], axis=1).reshape(-1)
        if view != "weights":
            marks.append(Line("truth", x, y, PATHS, width=2.0, hover=f"one of the {scenario.average.paths}"))
            marks.append(
                HeatMap(GRID, GRID, result.extra["weight"], few(weight_levels(result.extra["weight"])),
                        "weights", "r = {:g}", lines="attacker")
            )  # fmt: skip
        axis = [Axis(f"x{sub}", "linear", -3.0, 3.0, symbol=f"x{sub}") for sub in "₁₂"]
        return Chart(title, under, axis[0], axis[1], (Panel(tuple(marks)),), height=560)

    def curve(self, result: Result, view: str) -> Chart:
        """Describe a curve with steps, or the weights beside the density."""
        scenario: Any = result.scenario
        average = scenario.average
        low, high = average.reaches
        x = Axis("private value x", "linear", low, high, symbol="x")

        def values(name: str) -> tuple[FloatArray, FloatArray]:
            rows = result.series(name)
            return rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64)

        if view == "weights":
            marks: tuple[Mark, ...] = (
                Line("data", *values(DENSITY), DENSITY, "density of X", hover="density {y}"),
                Line("private", *values(WEIGHT), WEIGHT, "weight r(x)", main=True, hover="weight {y}"),
            )
            return Chart(
                "Weight of the outcome at each value",
                "r(x), and where people are",
                x,
                Axis("weight", "linear"),
                (Panel(marks, level_lines=((0.0, "0"),)),),
            )
        curve = Line("truth", *values(CURVES), CURVES, "μ(x)", main=True, hover="μ = {y}")
        if isinstance(average, Slope):
            along, height = values(PATHS)
            begin, end = along[::2], along[1::2]
            xs = np.stack([begin, end, end], axis=1).reshape(-1)
            ys = np.stack([height[::2], height[1::2], np.full(begin.size, np.nan)], axis=1).reshape(-1)
            wide = Axis("private value x", "linear", low, high + average.step, symbol="x")
            return Chart(
                f"The curve μ and {begin.size} steps",
                "outcome; a step leads from x to x + ε",
                wide,
                Axis("outcome", "linear"),
                (Panel((curve, Line("private", xs, ys, PATHS, markers=True, hover="a step: μ = {y}"))),),
            )
        return Chart(
            "The curve μ and what is averaged",
            average.words,
            x,
            Axis("outcome", "linear"),
            (
                Panel(
                    (
                        curve,
                        Line(
                            "private", *values(average.words), average.words,
                            "averaged", hover=f"{average.words}: {{y}}",
                        ),
                    )
                ),
            ),
        )  # fmt: skip

    def sides(self, result: Result) -> Chart:
        """Describe the running averages of both sides."""
        looks: dict[str, tuple[Any, str, str]] = {
            PATHS_SIDE: ("non-private", "along<br>the paths", "along the paths: {y} ± {e}"),
            WEIGHTS_SIDE: ("data", "by the<br>weights", "by the weights: {y} ± {e}"),
            PRIVATE: ("private", "private,<br>X swapped", "private: {y} ± {e}"),
        }
        marks = []
        for name, (role, label, hover) in looks.items():
            rows = result.series(name)
            if len(rows):
                x, y, error = (rows[column].to_numpy(dtype=np.float64) for column in ("x", "y", "std_error"))
                marks.append(Line(role, x, y, name, label, error, main=name == PRIVATE, hover=hover))
        truth = result.extra["truth"]
        return Chart(
            "Running averages of both sides",
            "mean of the first draws, ± 2 standard errors",
            Axis("draws", "log", symbol="draws"),
            Axis("average", "linear"),
            (Panel(tuple(marks), level_lines=((truth, f"truth {significant(truth)}"),)),),
        )


def nice_levels(values: FloatArray, count: int = 5) -> list[float]:
    """Choose round levels that cut a map into flat classes.

    Examples
    --------
    >>> nice_levels(np.linspace(0.0, 6.0, 101))
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    low, high = np.quantile(values, [0.04, 0.96])
    raw = max((high - low) / count, 1e-9)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * by for by in (1, 2, 5, 10) if power * by >= raw * 0.9)
    first = math.ceil(low / step + 1e-9)
    levels = [round((first + place) * step, 10) for place in range(count + 2)]
    return [level for level in levels if level < high]


def few(levels: Sequence[float], most: int = 3) -> list[float]:
    """Choose a few levels, first and last included, for lines over another map.

    Examples
    --------
    >>> few([0.5, 1.0, 2.0, 4.0]), few([1.0])
    ([0.5, 2.0, 4.0], [1.0])
    """
    if len(levels) <= most:
        return list(levels)
    return [levels[round(place)] for place in np.linspace(0, len(levels) - 1, most).tolist()]


def weight_levels(values: FloatArray) -> list[float]:
    """Choose at most six round levels for positive weights, between their outermost hundredths.

    Examples
    --------
    >>> weight_levels(np.linspace(0.9, 2.4, 100))
    [1.0, 1.25, 1.5, 1.75, 2.0]
    """
    ladder = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0, 40.0)
    low, high = np.quantile(values, [0.01, 0.99])
    inside = [level for level in ladder if low < level < high]
    if len(inside) < 2:
        return nice_levels(values)
    return inside[:: -(-len(inside) // 6)]


__all__ = ["GeometricTargets", "GeometricTargetsScenario"]
