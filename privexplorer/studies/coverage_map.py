"""When do the intervals hold? Coverage and variance against the small-sample number κ (section 2.7; view 7.10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.causal import (
    AMBER,
    GREEN,
    RED,
    AlphaIdentity,
    CausalTarget,
    FiniteLaw,
    draw_tables,
    efficiency_bound,
    likelihood_repair,
    normal_quantile,
    small_sample_guard,
)
from privexplorer.causal.counts import CellSums, sums_of_counts
from privexplorer.causal.discrete import (
    CellFit,
    estimate_with_error,
    fit,
    fit_table,
    one_step,
    plug_in,
    private_scores,
    unmix,
    unmix_table,
)
from privexplorer.data import Tables
from privexplorer.records import Number, Record, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _effects as shared
from privexplorer.studies._effects import EffectTarget, KeepProbability, LawB, LawChoice, NoiseChoice
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Mark, Panel, Role, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, significant, whole

INVERSION, REPAIRED, CROSS_FIT = "inversion", "most likely table", "cross-fitted"
METHODS = (INVERSION, REPAIRED, CROSS_FIT)
LABELS = {INVERSION: "inversion", REPAIRED: "most likely<br>table", CROSS_FIT: "cross-fitted"}
LOOKS: dict[str, tuple[Role, str]] = {
    INVERSION: ("data", "5px,2px"),
    REPAIRED: ("private", "solid"),
    CROSS_FIT: ("local", "14px,4px"),
}
PANELS = {"coverage": "coverage", "variance": "variance ratio", "bias": "bias", "broken": "impossible tables"}
BROKEN, NEGATIVE = "inversion breaks down", "some cell is negative"
FOLDS, TRIM = 3, 0.05
TOLERANCE, MOST_STEPS = 1e-6, 1_000
BLOCK = 64
EMPTY = 1e-9
"""An unmixed share up to this is nobody, or less."""
FEWEST = 30
"""People at the least, whatever κ asks for."""


class Kappas(Record):
    """A grid of κ, evenly spaced on a log scale."""

    low: Annotated[float, Number] = field(4.0, "From", "Smallest κ.", ge=1, le=1e5)
    high: Annotated[float, Number] = field(500.0, "To", "Largest κ.", ge=1, le=1e5)
    points: Annotated[int, Number] = field(10, "Points", "How many values the grid has.", ge=2, le=16)

    def values(self) -> FloatArray:
        """Return the grid, increasing."""
        low, high = min(self.low, self.high), max(self.low, self.high)
        return np.unique([float(f"{value:.4g}") for value in np.geomspace(low, high, self.points)])


class CoverageMapScenario(Scenario):
    """A law, a mechanism, a target and a range of κ."""

    law: LawChoice = shared.law_field()
    keep_probability: KeepProbability = 0.5
    noise: NoiseChoice = shared.noise_field(advanced=True)
    target: EffectTarget = "ate"
    kappa: Kappas = field(
        Kappas(),
        "Range of κ",
        "κ = n α² × the smallest share of a category and arm: the people who effectively tell something about the "
        "thinnest cell.",
        key="kappa",
        group="Data",
        advanced=True,
    )
    level: Annotated[float, Number] = field(
        0.95,
        "Level of the intervals",
        "How often an interval is meant to hold the truth.",
        key="level",
        group="Goal",
        gt=0.5,
        lt=1,
        advanced=True,
    )
    trials: Trials = 640
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    law: FiniteLaw
    target: CausalTarget
    mechanism: AlphaIdentity
    kappas: FloatArray
    ns: IntArray
    seed: int


def people_for(law: FiniteLaw, mechanism: AlphaIdentity, kappas: FloatArray) -> IntArray:
    """Return the numbers of people that have these κ (section 2.7)."""
    keep = mechanism.finite().smallest_singular
    people = np.ceil(kappas / (keep**2 * law.smallest_cell) * (1 - 1e-12))
    return np.maximum(people, FEWEST).astype(np.int64)


@dataclass(frozen=True)
class Drawn:
    """Tables of all sample sizes side by side, the last direction runs over size and trial."""

    counts: IntArray
    folds: tuple[CellSums, ...]
    records: FloatArray


def draw(prepared: Prepared, rng: np.random.Generator) -> Drawn:
    """Draw released tables for every sample size."""
    every = [draw_tables(prepared.law, prepared.mechanism, n, BLOCK, rng, folds=FOLDS) for n in prepared.ns.tolist()]
    folds = tuple(np.concatenate([one.released[fold] for one in every], axis=-1) for fold in range(FOLDS))
    sums = tuple(sums_of_counts(part, prepared.law.values) for part in folds)
    return Drawn(np.sum(folds, axis=0), sums, np.repeat(prepared.ns, BLOCK).astype(np.float64))


def repair(prepared: Prepared, drawn: Drawn, unmixed: CellFit, wrong: BoolArray) -> CellFit:
    """Return the fits with the most likely table wherever unmixing gave an impossible one (section 2.4)."""
    if not wrong.any():
        return unmixed
    chosen = drawn.counts[..., wrong]
    cells = chosen.reshape(-1, prepared.law.levels, chosen.shape[-1])
    matrix = prepared.mechanism.finite().matrix
    found = likelihood_repair(cells, matrix, tolerance=TOLERANCE, most_steps=MOST_STEPS).probabilities
    better = fit_table(found.reshape(chosen.shape), prepared.law.values)
    parts = []
    for name in ("share", "regression", "propensity", "treated_share"):
        mixed = np.array(getattr(unmixed, name))
        mixed[..., wrong] = getattr(better, name)
        parts.append(mixed)
    return CellFit(*parts)


class CoverageMap(Study[CoverageMapScenario]):
    """Coverage and variance of three estimators against κ."""

    id: ClassVar[str] = "coverage-map"
    question: ClassVar[str] = "When can the interval be trusted?"
    lead: ClassVar[str] = (
        "What counts is not the number of people but how many of them still tell something about the rarest group. "
        "Below about ninety, intervals need a guard."
    )
    tab: ClassVar[str] = "Coverage map"
    card: ClassVar[str] = "Coverage and variance of three estimators, and the zones of the small-sample rule."
    link: ClassVar[str] = "See where it breaks"
    theme: ClassVar[str] = "effects"
    picture: ClassVar[str] = "coverage"
    scenario: ClassVar[type[Scenario]] = CoverageMapScenario
    late: ClassVar[frozenset[str]] = frozenset({"level", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "coverage": "Coverage and variance",
        "bias": "Bias",
        "broken": "Impossible tables",
    }
    rows: ClassVar[tuple[str, ...]] = ("L-P4", "L-C1", "L-C6")

    def presets(self) -> tuple[Preset[CoverageMapScenario], ...]:
        """Finished examples."""
        make = CoverageMapScenario
        return (
            Preset("A thin corner", make()),
            Preset("Balanced groups", make(law=LawB())),
            Preset("Treated only, much noise", make(target="att", keep_probability=0.2)),
            Preset("No noise at all", make(keep_probability=1.0)),
        )

    def check(self, scenario: CoverageMapScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        law = scenario.law.law()
        if scenario.kappa.low >= scenario.kappa.high:
            return (
                f"The range of κ must start below its end; it runs from {scenario.kappa.low:g} to "
                f"{scenario.kappa.high:g}.",
            )
        most = people_for(law, self.mechanism(scenario, law), scenario.kappa.values())[-1]
        if most > 1e9:
            return (
                f"A κ of {scenario.kappa.high:g} would take {most:.2g} people here; keep more of the truth or let the "
                "range end earlier.",
            )
        return ()

    def mechanism(self, scenario: CoverageMapScenario, law: FiniteLaw) -> AlphaIdentity:
        """Return what swaps the private category."""
        return shared.mechanism_of(law, scenario.noise, scenario.keep_probability)

    def blocks(self, scenario: CoverageMapScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK)

    def prepare(self, scenario: CoverageMapScenario, tables: Tables | None) -> Prepared:
        """Turn κ into people."""
        law = scenario.law.law()
        mechanism, kappas = self.mechanism(scenario, law), scenario.kappa.values()
        target = shared.TARGETS[scenario.target]
        return Prepared(law, target, mechanism, kappas, people_for(law, mechanism, kappas), scenario.seed)

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Analyse tables; return ``(trials, 8, sizes)``: value and standard error of each method, two flags."""
        drawn = draw(prepared, block_rng(prepared.seed, block))
        law, target, inverse = prepared.law, prepared.target, prepared.mechanism.finite().inverse
        sums = sums_of_counts(drawn.counts, law.values)
        unmixed = fit(unmix(inverse, sums.size / drawn.records), unmix(inverse, sums.total / drawn.records))
        broken = ~np.asarray((unmixed.share > EMPTY).all(axis=(0, 1)))
        table = unmix_table(inverse, drawn.counts / drawn.records)
        negative = np.asarray(table.min(axis=(0, 1, 2)) < -1e-12)
        repaired = repair(prepared, drawn, unmixed, negative | broken)
        low, high = float(law.values.min()), float(law.values.max())  # noqa: PD011
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            rows = [
                *estimate_with_error(target, unmixed, inverse, sums),
                *estimate_with_error(target, repaired, inverse, sums),
                *one_step(drawn.folds, inverse, target, trim=TRIM, low=low, high=high),
            ]
        out = np.stack([*rows, broken.astype(np.float64), negative.astype(np.float64)])
        return np.asarray(out.reshape(8, prepared.ns.size, BLOCK).transpose(2, 0, 1))

    def assemble(self, scenario: CoverageMapScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put coverage, variance and bias together."""
        blocks = stacked(parts, scenario.trials)
        runs, kappas, truth = blocks.shape[0], prepared.kappas, prepared.target.value(prepared.law)
        bound = efficiency_bound(prepared.law, prepared.target, prepared.mechanism)
        broken = blocks[:, 6, :] > 0
        z = normal_quantile(scenario.level)
        found: dict[str, dict[str, tuple[FloatArray, FloatArray]]] = {name: {} for name in PANELS}
        for place, method in enumerate(METHODS):
            value, error = blocks[:, 2 * place, :], blocks[:, 2 * place + 1, :]
            usable = np.isfinite(value) & ~(broken if method == INVERSION else np.zeros_like(broken))
            found["coverage"][method] = covered(value - truth, error, usable, z)
            found["variance"][method] = spread_ratio(value, usable, bound / prepared.ns)
            found["bias"][method] = average_error(value - truth, usable, np.sqrt(bound / prepared.ns))
        for name, flags in ((BROKEN, broken), (NEGATIVE, blocks[:, 7, :] > 0)):
            share = flags.mean(axis=0)
            found["broken"][name] = share, np.sqrt(share * (1 - share) / runs)
        frame = pd.concat(
            [
                tidy([(name, kappas, y, e) for name, (y, e) in curves.items()], panel=PANELS[panel])
                for panel, curves in found.items()
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, frame, found, runs)

    def told(
        self,
        scenario: CoverageMapScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        found: dict[str, dict[str, tuple[FloatArray, FloatArray]]],
        runs: int,
    ) -> Result:
        """Add cards, words and formulas."""
        law, keep = prepared.law, prepared.mechanism.finite().smallest_singular
        kappas, ns = prepared.kappas, prepared.ns
        enough = int(people_for(law, prepared.mechanism, np.array([GREEN]))[0])
        cover, ratio = found["coverage"], found["variance"]
        green = kappas >= GREEN

        def among(curve: FloatArray, where: BoolArray) -> str:
            values = curve[where & np.isfinite(curve)]
            if not values.size:
                return "–"
            low, high = percent(float(values.min())), percent(float(values.max()))
            return low if low == high else f"{low} to {high}"

        worst = min(
            ((method, float(np.nanmin(cover[method][0]))) for method in METHODS if np.isfinite(cover[method][0]).any()),
            key=lambda item: item[1],
        )
        first = {method: float(ratio[method][0][0]) for method in METHODS}
        breaks = float(found["broken"][BROKEN][0][0])
        cards = (
            Card("Enough people", whole(enough), f"κ = {GREEN:g}", "From here on the small-sample rule says green."),
            Card(
                "Coverage, green zone",
                among(cover[REPAIRED][0], green),
                "most likely table"[:18],
                f"Simulated; meant to be {percent(scenario.level)}, give or take "
                f"{percent(noise_of(scenario.level, runs))}.",
            ),
            Card("Lowest coverage", percent(worst[1]), worst[0][:18], "Over the whole range and the three methods."),
            Card(
                "Breaks down",
                percent(breaks),
                f"at κ = {kappas[0]:.3g}"[:18],
                "Samples in which unmixing leaves a group with nobody or less, so that inversion gives no answer.",
            ),
        )
        variance = (
            f"the most likely table has {significant(first[REPAIRED], 2)} times the smallest possible variance"
            if math.isfinite(first[REPAIRED])
            else "no variance can be told"
        )
        shows = (
            f"Under this law, {shared.keep_words(scenario.keep_probability)}, so **n = {whole(enough)} people** make "
            f"κ = {GREEN:g}. From there on the intervals of the three methods cover "
            f"{among(np.concatenate([cover[m][0] for m in METHODS]), np.tile(green, 3))} of the time, meant to be "
            f"{percent(scenario.level)}. At κ = {kappas[0]:.3g} (n = {whole(int(ns[0]))}) inversion breaks down in "
            f"**{percent(breaks)}** of the samples, and {variance}. "
            f"The lowest coverage is {percent(worst[1])} ({worst[0]}). "
            "The zones are read off simulations like this one; they are not a theorem."
        )
        notes = (
            (
                Note(
                    f"Below κ = {RED:g} the package gives no interval; the curves there show why.",
                    "info",
                    "What the guard does",
                ),
            )
            if kappas[0] < RED
            else ()
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Coverage and variance of three estimators against kappa from {kappas[0]:.3g} to {kappas[-1]:.3g}; "
                f"the lowest coverage is {percent(worst[1])}, and from kappa {GREEN:g} on it lies around "
                f"{percent(scenario.level)}."
            ),
            notes=notes,
            formulas=self.formulas(scenario, prepared, keep, enough),
            assumptions=(
                *shared.ASSUMED,
                f"Cross-fitting uses {FOLDS} folds, propensities kept in [{TRIM:g}, {1 - TRIM:g}] and regressions in "
                "the range of the outcome. (section 6.1)",
                "The most likely table replaces the unmixed one only where that has a negative cell; the search stops "
                f"after {MOST_STEPS:,} rounds. (section 2.4)",
                "Inversion is judged on the samples in which it gives an answer.",
                "A variance ratio whose simulation error is as large as itself is drawn without a band; the table has "
                "the error.",
                shared.KNOWN_LAW,
            ),
            extra={"people": ns},
            runs=runs,
        )

    def formulas(
        self, scenario: CoverageMapScenario, prepared: Prepared, keep: float, enough: int
    ) -> tuple[Formula, ...]:
        """Return κ, the bound, and why no folds are needed for cells."""
        law, target = prepared.law, prepared.target
        cell = law.smallest_cell
        guard = small_sample_guard(float(prepared.ns[0]), keep, smallest_cell=cell)
        bound = efficiency_bound(law, target, prepared.mechanism)
        return (
            Formula(
                "Small-sample number",
                r"\kappa=n\,\alpha_{\mathrm{eff}}^2\,\min_{d,x}P(d,x)",
                rf"{enough:,}\cdot {keep:.3g}^2\cdot {cell:.3g}={enough * keep**2 * cell:.4g};\quad "
                rf"n={prepared.ns[0]:,}:\ {guard.kappa:.3g}",
                "heuristic",
                "locally private inference §2.7",
            ),
            Formula(
                "Smallest variance",
                r"\sqrt n(\hat\psi-\chi)\Rightarrow N(0,\sigma^2(Q)),\quad \sigma^2(Q)=P_{VZ}\tilde\psi^2",
                rf"\sigma^2={bound:.5g}",
                "exact",
                "Cor. 1, (17); without noise Cor. 6",
            ),
            Formula(
                "Plug-in needs no folds for cells",
                r"\mathbb P_n\hat\psi=0\quad\text{at the fitted cells}",
                rf"\text{{largest mean of the fitted scores: }}{mean_score(prepared):.1g}",
                "exact",
                "Prop. 4",
            ),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        wanted = {"": ("coverage", "variance"), "coverage": ("coverage", "variance")}.get(view, (view,))
        names = [PANELS[name] for name in wanted]
        return result.frame[result.frame["panel"].isin(names)].reset_index(drop=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one view over the zones of the rule."""
        scenario: Any = result.scenario
        x = Axis("κ, people who tell about the rarest group", "log", symbol="κ")
        kappas = scenario.kappa.values()
        if view == "broken":
            marks: list[Mark] = zones(kappas, 0.0, 1.0)
            looks: tuple[tuple[str, Role, str], ...] = (
                (NEGATIVE, "private", "some cell<br>negative"), (BROKEN, "data", "inversion<br>breaks down"),
            )  # fmt: skip
            marks += [self.line(result, "broken", name, role, label, None) for name, role, label in looks]
            return Chart(
                "How often unmixing gives an impossible table",
                "share of samples, linear scale",
                x,
                Axis("share", "linear", 0.0, 1.0),
                (Panel(tuple(marks)),),
            )
        if view == "bias":
            top = max(2.0, 1.1 * top_of(result, "bias"))
            marks = zones(kappas, -top, top)
            marks += self.lines(result, "bias")
            return Chart(
                "Bias in standard errors",
                "mean error ÷ smallest s.e., linear scale",
                x,
                Axis("bias", "linear", -top, top),
                (Panel(tuple(marks), level_lines=((0.0, "none"),)),),
            )
        low = min(0.8, max(0.0, min(0.05 * math.floor(bottom_of(result, "coverage") / 0.05 - 0.5), 0.8)))
        top = min(100.0, max(4.0, 1.2 * top_of(result, "variance")))
        least = 0.2
        first = Panel(
            (*zones(kappas, low, 1.0), *self.lines(result, "coverage")),
            f"Coverage (dashed: {percent(scenario.level)})",
            y=Axis("coverage", "linear", low, 1.0),
            level_lines=((scenario.level, ""),),
        )
        second = Panel(
            (*zones(kappas, least, top), *self.lines(result, "variance")),
            "Variance ÷ smallest possible (dashed: 1)",
            y=Axis("variance ratio", "log", least, top),
            level_lines=((1.0, ""),),
        )
        return Chart(
            "Coverage and variance",
            "against κ, log scale; bands: zones of the guard",
            x,
            Axis("coverage"),
            (first, second),
            columns=1,
            shared_y=False,
            height=640,
            names=METHODS,
        )

    def lines(self, result: Result, panel: str) -> list[Mark]:
        """Return one curve per method."""
        return [
            self.line(result, panel, method, LOOKS[method][0], LABELS[method], LOOKS[method][1]) for method in METHODS
        ]

    def line(self, result: Result, panel: str, name: str, role: Role, label: str, dash: str | None) -> Line:
        """Return one curve."""
        rows = result.series(name, PANELS[panel])
        x, y, error = (rows[column].to_numpy(dtype=np.float64) for column in ("x", "y", "std_error"))
        return Line(
            role,
            x,
            y,
            name,
            label,
            known(y, error) if panel == "variance" else error,
            main=role == "private",
            dash=dash,
            hover=f"{name}: {{y}} ± {{e}}",
        )


def covered(error: FloatArray, spread: FloatArray, usable: BoolArray, z: float) -> tuple[FloatArray, FloatArray]:
    """Share of intervals that hold the truth, and its standard error, among those that can be drawn."""
    counted = usable & np.isfinite(spread)
    people = counted.sum(axis=0)
    with np.errstate(invalid="ignore"):
        inside = counted & (np.abs(error) <= z * spread)
    share = np.where(people >= 8, inside.sum(axis=0) / np.maximum(people, 1), np.nan)
    return share, np.where(people >= 8, np.sqrt(share * (1 - share) / np.maximum(people, 1)), 0.0)


def spread_ratio(value: FloatArray, usable: BoolArray, least: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variance over the smallest possible, and its standard error from the fourth moment."""
    count = usable.sum(axis=0).astype(np.float64)
    held = np.where(usable, value, 0.0)
    safe = np.maximum(count, 2.0)
    mean = held.sum(axis=0) / safe
    off = np.where(usable, value - mean, 0.0)
    variance = (off**2).sum(axis=0) / (safe - 1)
    fourth = (off**4).sum(axis=0) / safe
    error = np.sqrt(np.maximum(fourth - variance**2, 0.0) / safe)
    enough = count >= 8
    return np.where(enough, variance / least, np.nan), np.where(enough, error / least, 0.0)


def average_error(error: FloatArray, usable: BoolArray, unit: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean error in units of the smallest standard error, and its standard error."""
    count = usable.sum(axis=0).astype(np.float64)
    safe = np.maximum(count, 2.0)
    mean = np.where(usable, error, 0.0).sum(axis=0) / safe
    off = np.where(usable, error - mean, 0.0)
    around = np.sqrt((off**2).sum(axis=0) / (safe - 1) / safe)
    enough = count >= 8
    return np.where(enough, mean / unit, np.nan), np.where(enough, around / unit, 0.0)


def known(y: FloatArray, error: FloatArray) -> FloatArray:
    """Leave errors out that say no more than "above 0": on a log axis their band would fill the panel.

    Examples
    --------
    >>> known(np.array([30.0, 2.0]), np.array([15.5, 0.7]))
    array([nan, 0.7])
    """
    return np.where(2 * error < y, error, np.nan)


def noise_of(level: float, runs: int) -> float:
    """Two standard errors of a simulated coverage."""
    return 2 * math.sqrt(level * (1 - level) / runs)


def mean_score(prepared: Prepared) -> float:
    """Largest mean of the fitted private scores over a few samples: 0 up to rounding (Prop. 4)."""
    rng = np.random.default_rng(prepared.seed)
    law, inverse, n = prepared.law, prepared.mechanism.finite().inverse, int(prepared.ns[-1])
    counts = draw_tables(law, prepared.mechanism, n, 4, rng, folds=1).released[0]
    sums = sums_of_counts(counts, law.values)
    at = fit(unmix(inverse, sums.size / n), unmix(inverse, sums.total / n))
    _, a, b = plug_in(prepared.target, at)
    a, b = private_scores(inverse, a), private_scores(inverse, b)
    mean = (sums.total * a + sums.size * b).sum(axis=(0, 1)) / n
    return float(np.max(np.abs(mean)))


def zones(kappas: FloatArray, low: float, high: float) -> list[Mark]:
    """Return the zones of the rule as bands behind the curves."""
    first, last = float(kappas[0]), float(kappas[-1])
    out: list[Mark] = []
    looks: tuple[tuple[str, float, float, Role, Any], ...] = (
        ("no interval", 0.0, RED, "non-private", "strong"),
        ("red", RED, AMBER, "attacker", "light"),
        ("amber", AMBER, GREEN, "upper bound", "light"),
        ("green", GREEN, math.inf, "lower bound", "light"),
    )
    for name, start, end, role, strength in looks:
        left, right = max(start, first), min(end, last)
        if left < right:
            out.append(Spread(role, [left, right], [low, low], [high, high], f"zone: {name}", strength, name))
    return out


def top_of(result: Result, panel: str) -> float:
    """Largest finite size of the numbers of a panel, without what is far off the scale."""
    values = np.abs(result.frame.loc[result.frame["panel"] == PANELS[panel], "y"].to_numpy(dtype=np.float64))
    values = values[np.isfinite(values) & (values < 1e3)]
    return float(values.max()) if values.size else 1.0


def bottom_of(result: Result, panel: str) -> float:
    """Smallest finite number of a panel."""
    values = result.frame.loc[result.frame["panel"] == PANELS[panel], "y"].to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    return float(values.min()) if values.size else 0.0
