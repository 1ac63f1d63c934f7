"""Where do private, naive and open estimates land over many studies? Densities, limits and coverage (7.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    AlphaIdentity,
    CausalTarget,
    FiniteLaw,
    analyse_tables,
    draw_ladder,
    naive_value,
    normal_quantile,
    second_moment,
    unadjusted_contrast,
)
from privexplorer.data import Tables
from privexplorer.records import Scenario, Seed, Trials
from privexplorer.simulation import block_rng
from privexplorer.studies import _effects as effects
from privexplorer.studies._effects import EffectTarget, KeepProbability, LawB, LawChoice, NoiseChoice
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points, Role, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, significant

RUNGS: tuple[float, ...] = (0.3, 0.5, 0.7, 0.9)
"""Keep probabilities beside the visitor's own."""
PRIVATE, NAIVE, OPEN = "private", "noise ignored", "open data"
METHODS = {PRIVATE: "likelihood", NAIVE: "naive", OPEN: "oracle"}
ROLES: dict[str, Role] = {PRIVATE: "private", NAIVE: "attacker", OPEN: "non-private"}
TRUTH, CONTRAST = "true effect", "unadjusted contrast"
SWEEP, SIMULATED, COVERAGE = "large samples", "simulated", "coverage"
BLOCK = 20
GRID = 161
LEVEL = 0.95


class SamplingScenario(Scenario):
    """A law, an effect, a sample size and how much is kept."""

    law: LawChoice = effects.law_field()
    target: EffectTarget = "ate"
    n: effects.People = 10_000
    keep: KeepProbability = 0.5
    noise: NoiseChoice = effects.noise_field(advanced=True)
    trials: Trials = 240
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    law: FiniteLaw
    target: CausalTarget
    mechanisms: tuple[AlphaIdentity, ...]
    keeps: tuple[float, ...]
    n: int
    seed: int


def rungs_of(scenario: SamplingScenario) -> tuple[float, ...]:
    """Return the keep probabilities that are simulated, rising."""
    return tuple(sorted({*RUNGS, scenario.keep}))


def rung_name(keep: float) -> str:
    """Name a panel."""
    return f"α = {keep:g}"


class SamplingDistributions(Study[SamplingScenario]):
    """Densities of estimates over repeated studies, for three ways to analyse them."""

    id: ClassVar[str] = "sampling-distributions"
    question: ClassVar[str] = "What goes wrong if the noise is ignored?"
    lead: ClassVar[str] = (
        "Many studies of the same law: the private estimate is wide but right, the one that takes noise for truth is "
        "precise and wrong."
    )
    tab: ClassVar[str] = "Many studies"
    card: ClassVar[str] = "Where private, naive and open estimates land over many studies, and what intervals cover."
    link: ClassVar[str] = "Repeat the study"
    theme: ClassVar[str] = "effects"
    picture: ClassVar[str] = "ridge"
    scenario: ClassVar[type[Scenario]] = SamplingScenario
    late: ClassVar[frozenset[str]] = frozenset({"trials"})
    views: ClassVar[Mapping[str, str]] = {"ridge": "Estimates", "sweep": "Against α", "coverage": "Coverage"}
    rows: ClassVar[tuple[str, ...]] = ("L-E3", "L-Ex2", "L-Ex3", "L-C1", "L-C6", "L-P4")

    def presets(self) -> tuple[Preset[SamplingScenario], ...]:
        """Finished examples."""
        make = SamplingScenario
        return (
            Preset("Three categories", make()),
            Preset("Effect on the treated", make(target="att", keep=0.7)),
            Preset("Two categories, 3,000 people", make(law=LawB(), n=3_000, keep=0.5)),
            Preset("Thirty thousand people", make(n=30_000, keep=0.5)),
        )

    def check(self, scenario: SamplingScenario, tables: Tables | None) -> tuple[str, ...]:
        """Refuse a law under which nothing is uncertain."""
        return effects.law_faults(scenario.law.law(), scenario.target)

    def blocks(self, scenario: SamplingScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK)

    def prepare(self, scenario: SamplingScenario, tables: Tables | None) -> Prepared:
        """Set the mechanisms up."""
        law, keeps = scenario.law.law(), rungs_of(scenario)
        mechanisms = tuple(effects.mechanism_of(law, scenario.noise, keep) for keep in keeps)
        return Prepared(law, effects.TARGETS[scenario.target], mechanisms, keeps, scenario.n, scenario.seed)

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Return values, then standard errors, of all methods at all keep probabilities: ``(trials, 6, points)``.

        The same people, coins and noise serve all keep probabilities.
        """
        noise = prepared.mechanisms[0].noise.density(np.arange(prepared.law.levels))
        drawn = draw_ladder(
            prepared.law, noise, prepared.keeps, prepared.n, BLOCK, block_rng(prepared.seed, block), folds=1
        )
        out = np.empty((BLOCK, 2 * len(METHODS), len(prepared.keeps)))
        for point, (mechanism, tables) in enumerate(zip(prepared.mechanisms, drawn, strict=True)):
            found = analyse_tables(tables, mechanism, (prepared.target,), methods=tuple(METHODS.values()))  # type: ignore[arg-type]
            for place, method in enumerate(METHODS.values()):
                out[:, place, point] = found.methods[method].value[0]
                out[:, len(METHODS) + place, point] = found.methods[method].std_error[0]
        return out

    def assemble(self, scenario: SamplingScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Turn estimates into densities, limits and coverage."""
        found = stacked(parts, scenario.trials)
        values, errors = found[:, : len(METHODS)], found[:, len(METHODS) :]
        law, target, n = prepared.law, prepared.target, prepared.n
        truth, contrast = target.value(law), unadjusted_contrast(law)
        frames = []
        grid = density_grid(values, truth, contrast)
        for point, keep in enumerate(prepared.keeps):
            rows: list[tuple[str, Any, Any, Any]] = [
                (name, grid, density(values[:, place, point], grid), 0.0) for place, name in enumerate(METHODS)
            ]
            rows += [(TRUTH, [truth], [1.0], 0.0), (CONTRAST, [contrast], [1.0], 0.0)]
            frames.append(tidy(rows, panel=rung_name(keep)))
        frames.append(sweep_rows(scenario, law, target, n))
        keeps = np.array(prepared.keeps)
        for place, name in enumerate(METHODS):
            here = values[:, place]
            good = np.isfinite(here)
            count = np.maximum(good.sum(axis=0), 1)
            mean, spread = np.nanmean(here, axis=0), np.nanstd(here, axis=0, ddof=1)
            low, high = np.nanquantile(here, [0.025, 0.975], axis=0)
            frames.append(
                tidy([(name, keeps, mean, spread / np.sqrt(count))], panel=SIMULATED).assign(low=low, high=high)
            )
            inside, sure = covered(here, errors[:, place], truth)
            frames.append(tidy([(name, keeps, inside, sure)], panel=COVERAGE))
        frame = pd.concat([part.reindex(columns=COLUMNS) for part in frames], ignore_index=True)
        return self.told(scenario, prepared, frame, values, errors, truth, contrast)

    def told(
        self,
        scenario: SamplingScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        values: FloatArray,
        errors: FloatArray,
        truth: float,
        contrast: float,
    ) -> Result:
        """Add cards, words and formulas."""
        keep, n, law = scenario.keep, scenario.n, prepared.law
        point = prepared.keeps.index(keep)
        mechanism = prepared.mechanisms[point]
        runs = values.shape[0]
        place = {name: index for index, name in enumerate(METHODS)}
        limit = naive_value(law, prepared.target, mechanism)
        bound = float(effects.cost_of(law, scenario.target, scenario.noise).variance(np.array(keep)))
        spread = float(np.nanvar(values[:, place[PRIVATE], point], ddof=1)) * n / bound
        inside, sure = covered(values[:, place[PRIVATE]], errors[:, place[PRIVATE]], truth)
        missed, _ = covered(values[:, place[NAIVE]], errors[:, place[NAIVE]], truth)
        guard = effects.guard_of(law, n, mechanism)
        name = effects.TARGET_WORDS[scenario.target]
        cover, around = float(inside[point]), float(sure[point])
        way = (limit - truth) / (contrast - truth) if abs(contrast - truth) > 1e-9 else 0.0
        notes = [Note(f"{effects.ONE_COLUMN} {effects.KNOWN_LAW}", title="What is protected")]
        if guard.level != "green":
            notes.insert(
                0,
                Note(
                    guard.sentence, "warning" if guard.level != "amber" else "info", effects.GUARD_TITLES[guard.level]
                ),
            )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card(
                    "Naive estimate off",
                    signed(limit - truth),
                    f"truth {significant(truth)}"[:18],
                    "Exact, for ever more people: more data make this estimate more certain, not less wrong.",
                ),
                Card(
                    "Naive intervals hold",
                    percent(float(missed[point])),
                    "should be 95%",
                    "Share of studies in which the interval that ignores the noise holds the true effect.",
                ),
                Card(
                    "Private ones hold",
                    percent(cover),
                    f"± {percent(2 * around)}",
                    "Share of studies in which the private interval holds the true effect, ± two standard errors.",
                ),
                Card(
                    "Spread ÷ bound",
                    f"{significant(spread, 3)}×",
                    f"± {significant(2 * math.sqrt(2 / max(runs - 1, 1)) * spread, 1)}"[:18],
                    "Variance of the private estimate over studies, over the smallest that large samples allow.",
                ),
            ),
            shows=(
                f"Over {runs:,} studies of **{n:,} people** at **α = {keep:g}**, private intervals for the {name} hold "
                f"the truth in **{percent(cover)}**; those that ignore the noise in "
                f"**{percent(float(missed[point]))}**, because they close in on {significant(limit)} instead of "
                f"{significant(truth)}: {percent(way)} of the way to the unadjusted contrast, {significant(contrast)}. "
                + (
                    "With this many people large-sample formulas roughly hold."
                    if guard.level == "green"
                    else f"{effects.guard_words(guard).rstrip('.')}."
                )
            ),
            takeaway=(
                f"Densities of private, naive and open estimates of the {name} over {runs:,} studies. At keep "
                f"probability {keep:g} private intervals hold the truth in {percent(cover)}, naive ones in "
                f"{percent(float(missed[point]))}."
            ),
            notes=tuple(notes),
            formulas=self.formulas(scenario, prepared, truth, limit, contrast, bound),
            assumptions=(
                *effects.ASSUMED,
                "Private: the released table is unmixed and plugged in; where unmixing gives an impossible table, the "
                "most likely possible one is used. (Ex. 1, Prop. 4; locally private inference §2.3, §2.4)",
                "Noise ignored: the same estimate with shown values taken for true ones. Open data: with the true "
                "ones.",
                "All keep probabilities use the same people, coins and noise.",
                "Densities are smoothed (Gaussian kernel) and scaled to the same height.",
            ),
            extra={"truth": truth, "contrast": contrast, "keeps": prepared.keeps, "grid": density_ends(frame)},
            runs=runs,
            complete=runs >= scenario.trials,
        )

    def formulas(
        self,
        scenario: SamplingScenario,
        prepared: Prepared,
        truth: float,
        limit: float,
        contrast: float,
        bound: float,
    ) -> tuple[Formula, ...]:
        """Write target, limits and spread with the current numbers."""
        ate = scenario.target == "ate"
        n, z = scenario.n, normal_quantile(LEVEL)
        return (
            Formula(
                "True effect",
                r"\chi=\sum_xp(x)\{\mu_1(x)-\mu_0(x)\}"
                if ate
                else r"\chi=\frac1{p_1}\sum_xp(1,x)\{\mu_1(x)-\mu_0(x)\}",
                rf"{truth:.6g}",
                "exact",
                "(3), Ex. 2" if ate else "(3), Ex. 3",
            ),
            Formula(
                "Where ignoring the noise leads",
                r"\chi(P_{VZ})\ne\chi(P_{VX}),\qquad\chi(P_{VZ})\to E[Y\mid D=1]-E[Y\mid D=0]\ \ (\alpha\to0)",
                rf"\alpha={scenario.keep:g}:\quad{limit:.6g},\qquad\alpha\to0:\ {contrast:.6g}",
                "exact",
                "locally private inference §1.6, by enumeration",
            ),
            Formula(
                "Private estimate in large samples",
                r"\sqrt n(\hat\psi-\chi)\Rightarrow N(0,\sigma^2(\alpha))",
                rf"\sigma^2={bound:.6g}:\quad\pm{z * math.sqrt(bound / n):.4g}\ \text{{with }}n={n:,}",
                "exact",
                "Cor. 1; without noise Cor. 6",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe densities, limits against α, or coverage."""
        if view == "sweep":
            return self.sweep_chart(result)
        if view == "coverage":
            return self.coverage_chart(result)
        scenario: Any = result.scenario
        low, high = result.extra["grid"]
        panels = []
        for keep in result.extra["keeps"]:
            name = rung_name(keep)
            marks: list[Any] = []
            for method in (OPEN, NAIVE, PRIVATE):
                rows = result.series(method, name)
                x, y = rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64)
                marks += [
                    Spread(ROLES[method], x, np.zeros_like(y), y, f"{method}, area", "light"),
                    Line(ROLES[method], x, y, method, method, main=method == PRIVATE, hover=f"{method}: height {{y}}"),
                ]
            for series, role, value in (
                (CONTRAST, "data", result.extra["contrast"]),
                (TRUTH, "truth", result.extra["truth"]),
            ):
                marks.append(
                    Line(
                        role,  # type: ignore[arg-type]
                        [value, value],
                        [0.0, 1.12],
                        series,
                        "unadjusted" if series == CONTRAST and keep == scenario.keep else None,
                        hover=f"{series}: {significant(value)}",
                    )
                )
            own = " (yours)" if keep == scenario.keep else ""
            panels.append(Panel(tuple(marks), f"{name}{own}", here=(result.extra["truth"], "truth")))
        return Chart(
            f"Estimates of the {effects.TARGET_WORDS[scenario.target]} over many studies",
            "each curve scaled to the same height",
            Axis("estimate", "linear", low, high, symbol="estimate"),
            Axis("height", "linear", 0.0, 1.15),
            tuple(panels),
            columns=2,
            height=480,
            names=(PRIVATE, NAIVE, OPEN),
        )

    def sweep_chart(self, result: Result) -> Chart:
        """Describe where estimates lie in large samples, against α, with the simulated ones."""
        scenario: Any = result.scenario
        marks: list[Any] = []
        ends = []
        for method in (PRIVATE, NAIVE):
            rows = result.series(method, SWEEP)
            x, y, low, high = (rows[name].to_numpy(dtype=np.float64) for name in ("x", "y", "low", "high"))
            marks += [
                Spread(
                    ROLES[method], x, low, high, f"{method}, 19 of 20", "light",
                    "19 of 20<br>studies" if method == PRIVATE else None,
                ),
                Line(ROLES[method], x, y, method, method, main=method == PRIVATE, hover=f"{method}: {{y}} on average"),
            ]  # fmt: skip
            near = x >= 0.15
            ends += [low[near].min(), high[near].max()]
            simulated = result.series(method, SIMULATED)
            marks.append(
                Points(
                    ROLES[method],
                    simulated["x"].to_numpy(dtype=np.float64),
                    simulated["y"].to_numpy(dtype=np.float64),
                    f"{method}, simulated",
                    low=simulated["low"].to_numpy(dtype=np.float64),
                    high=simulated["high"].to_numpy(dtype=np.float64),
                    hover=f"{method}, simulated: {{y}}",
                    open=True,
                )
            )
        pad = 0.05 * (max(ends) - min(ends))
        return Chart(
            f"Where estimates of the {effects.TARGET_WORDS[scenario.target]} lie",
            "lines exact for large samples, ○ simulated",
            Axis("keep probability α", "log", ends=("more private", "more accurate"), symbol="α"),
            Axis("estimate", "linear", float(min(ends) - pad), float(max(ends) + pad)),
            (
                Panel(
                    tuple(marks),
                    here=(scenario.keep, f"your α = {scenario.keep:g}"),
                    level_lines=((result.extra["contrast"], CONTRAST),),
                ),
            ),
        )

    def coverage_chart(self, result: Result) -> Chart:
        """Describe how often intervals hold the truth."""
        names = [rung_name(keep) for keep in result.extra["keeps"]]
        marks = tuple(
            Bars(
                ROLES[method],
                names,
                rows["y"].to_numpy(dtype=np.float64),
                method,
                method,
                error=2 * rows["std_error"].to_numpy(dtype=np.float64),
                hover=f"{method}: {{y}} ± {{e}}",
            )
            for method in METHODS
            for rows in (result.series(method, COVERAGE),)
        )
        return Chart(
            "How often 95% intervals hold the truth",
            "share of studies; whiskers: ± 2 standard errors",
            Axis("", "category"),
            Axis("share", "linear", 0.0, 1.05),
            (Panel(marks, level_lines=((LEVEL, "95%"),)),),
        )


COLUMNS = ["series", "x", "y", "std_error", "low", "high", "panel"]


def density_grid(values: FloatArray, truth: float, contrast: float) -> FloatArray:
    """Return where densities are drawn: the middle of all estimates, truth and contrast, with a margin."""
    low, high = np.nanquantile(values, [0.004, 0.996])
    low, high = min(low, truth, contrast), max(high, truth, contrast)
    pad = 0.06 * max(high - low, 1e-6)
    return np.linspace(low - pad, high + pad, GRID)


def density(values: FloatArray, grid: FloatArray) -> FloatArray:
    """Kernel density of estimates on a grid, scaled to height 1; 0 where there are none."""
    good = values[np.isfinite(values)]
    spread = float(good.std()) if good.size > 1 else 0.0
    width = max(1.06 * spread * max(good.size, 1) ** -0.2, 0.35 * float(grid[1] - grid[0]))
    heights = np.exp(-0.5 * ((grid[:, None] - good[None, :]) / width) ** 2).sum(axis=1)
    top = float(heights.max(initial=0.0))
    return np.asarray(heights / top if top > 0 else heights)


def density_ends(frame: pd.DataFrame) -> tuple[float, float]:
    """Return the ends of the grid."""
    x = frame[frame["series"].eq(PRIVATE) & frame["panel"].str.startswith("α = ")]["x"]
    return float(x.min()), float(x.max())


def covered(values: FloatArray, errors: FloatArray, truth: float) -> tuple[FloatArray, FloatArray]:
    """Share of intervals that hold the truth, and its standard error, for each keep probability; none counts as no."""
    inside = np.abs(values - truth) <= normal_quantile(LEVEL) * errors
    share = inside.mean(axis=0)
    # the standard error of a share of 0 or 1 is not 0: half a study more or less is always possible
    return share, np.sqrt(np.maximum(share * (1 - share), 0.25 / len(values)) / len(values))


def sweep_rows(scenario: SamplingScenario, law: FiniteLaw, target: CausalTarget, n: int) -> pd.DataFrame:
    """Large-sample means and 95% ranges of private, naive and open estimates over α, exact."""
    keeps = effects.keep_grid(scenario.keep, points=31)
    truth, z = target.value(law), normal_quantile(LEVEL)
    cost = effects.cost_of(law, scenario.target, scenario.noise)
    naive, spread = np.empty(keeps.size), np.empty(keeps.size)
    for place, keep in enumerate(keeps):
        shown = law.shown_law(effects.mechanism_of(law, scenario.noise, float(keep)))
        naive[place] = target.value(shown)
        spread[place] = second_moment(target.influence(shown), shown.joint)
    parts = []
    for name, mean, variance in (
        (PRIVATE, np.full(keeps.size, truth), cost.variance(keeps)),
        (NAIVE, naive, spread),
        (OPEN, np.full(keeps.size, truth), np.full(keeps.size, cost.t0)),
    ):
        half = z * np.sqrt(variance / n)
        parts.append(tidy([(name, keeps, mean, 0.0)], panel=SWEEP).assign(low=mean - half, high=mean + half))
    return pd.concat(parts, ignore_index=True)


def signed(value: float) -> str:
    """Write a difference with its sign."""
    return f"+{significant(value, 3)}" if value > 0 else significant(value, 3)


__all__ = ["SamplingDistributions", "SamplingScenario", "covered", "density"]
