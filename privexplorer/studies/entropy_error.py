"""How far is a private entropy estimate from the truth, as the sample grows? (properties §4, §8; Thm 10)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.distributions import Dirichlet, DiscreteDistribution, Uniform, Zipf
from privexplorer.properties import (
    EntropyEstimator,
    MillerMadow,
    PlugIn,
    Polynomial,
)
from privexplorer.records import Epsilon, Grid, Scenario, Seed, Trials, field, once_each
from privexplorer.simulation import mixture_quantiles
from privexplorer.studies import _entropy as core
from privexplorer.studies._fields import distribution_field
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Spread
from privexplorer.studies.result import Card, Result, tidy
from privexplorer.studies.words import percent, plus_minus, significant, whole, with_unit

ESTIMATORS = ("plug-in", "miller-madow", "poly")
Estimators = Annotated[tuple[EntropyEstimator, ...], once_each(ESTIMATORS)]
Unit = Literal["nats", "bits"]
DASHES = {"plug-in": "2px,4px", "miller-madow": "9px,4px", "poly": "solid"}
"""Where several estimators stand side by side, the dash tells them apart and the colour says private or not."""


class EntropyScenario(Scenario):
    """What both entropy studies ask for."""

    distribution: DiscreteDistribution = distribution_field(Zipf(exponent=1.0))
    epsilon: Epsilon = 1.0
    clip: bool = field(
        False,
        "Clip the answer to [0, ln k]",
        "Free by post-processing: an entropy cannot lie outside. The closed form for the price of privacy is for "
        "unclipped answers.",
        key="clip",
        group="Privacy",
        advanced=True,
    )
    noise_rule: core.Rule = field(
        "exact",
        "Noise calibrated to",
        "The exact sensitivity is the smallest that protects. The published bound adds about twice as much for the "
        "plug-in. The published code reads its noise off the data, which is not private.",
        key="noise",
        group="Privacy",
        titles=core.RULES,
        advanced=True,
    )
    estimators: Estimators = field(
        (Polynomial(),),
        "Estimators",
        "Each is shown with and without privacy.",
        key="est",
        group="Method",
        min_length=1,
    )
    unit: Unit = field("nats", "Unit", "One bit is 0.693 nats.", key="unit", group="Method", advanced=True)
    bounds: bool = field(
        True,
        "Show the bounds",
        "An upper bound that is a theorem for this distribution, and the worst-case lower bound, whose constant is "
        "unknown.",
        key="bounds",
        group="Method",
        advanced=True,
    )
    trials: Trials = 200
    seed: Seed = 0


class EntropyErrorScenario(EntropyScenario):
    """Error against the sample size."""

    n: Grid = field(Grid(low=100, high=10_000, points=10), "Sample sizes n, people", key="n", group="Data")


def upper_bound(bias: FloatArray, ns: FloatArray, sensitivity: FloatArray, scale: FloatArray) -> FloatArray:
    """Bound the RMSE of an unclipped release: exact bias, variance at most n Δ²/4 (Lemma 32), noise 2 Δ²/ε²."""
    return np.sqrt(bias**2 + ns * sensitivity**2 / 4 + 2 * scale**2)


class EntropyError(Study[EntropyErrorScenario]):
    """RMSE of entropy estimates with and without privacy against n."""

    id: ClassVar[str] = "entropy-error"
    question: ClassVar[str] = "How large is the error of a private entropy estimate?"
    lead: ClassVar[str] = (
        "Draw a sample, estimate its entropy, add just enough noise for ε, and compare with the truth."
    )
    tab: ClassVar[str] = "Error against n"
    card: ClassVar[str] = "Error against the sample size, with and without privacy, under a bound."
    link: ClassVar[str] = "See the error"
    theme: ClassVar[str] = "entropy"
    picture: ClassVar[str] = "curve"
    scenario: ClassVar[type[Scenario]] = EntropyErrorScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "clip", "noise_rule", "unit", "bounds", "trials"})
    views: ClassVar[Mapping[str, str]] = {"error": "Average error", "release": "One release"}
    rows: ClassVar[tuple[str, ...]] = (
        "T-H-def",
        "T-PlugIn",
        "T-MM",
        "T-Poly",
        "T-Eq4.5",
        "T-Eq4.6",
        "T-Lem32",
        "T-WuYang",
        "T-Dists",
        "T-Framework",
    )

    def presets(self) -> tuple[Preset[EntropyErrorScenario], ...]:
        """Finished examples."""
        make = EntropyErrorScenario
        return (
            Preset("Privacy is almost free", make()),
            Preset("Privacy hurts", make(epsilon=0.1)),
            Preset(
                "Compare estimators",
                make(
                    distribution=Uniform(k=1000),
                    estimators=(PlugIn(), MillerMadow(), Polynomial()),
                    n=Grid(low=100, high=1000, points=10),
                    bounds=False,
                ),
            ),
            Preset(
                "Too few samples",
                make(distribution=Dirichlet(k=10_000, concentration=0.5), n=Grid(low=50, high=2_000, points=8)),
            ),
        )

    def grid(self, scenario: EntropyErrorScenario) -> Any:
        """Sample sizes."""
        return scenario.n.values()

    def blocks(self, scenario: EntropyErrorScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def size(self, scenario: EntropyErrorScenario) -> int:
        """Trials per block."""
        ns = self.grid(scenario)
        return core.block_size(len(ns), int(ns[-1]), core.assumed_k(scenario.distribution))

    def prepare(self, scenario: EntropyErrorScenario, tables: Tables | None) -> core.Prepared:
        """Compute tables, exact biases and the truth."""
        return core.prepare(
            scenario.distribution,
            scenario.estimators,
            self.grid(scenario),
            scenario.seed,
            self.size(scenario),
            tables,
        )

    def run_block(self, prepared: core.Prepared, block: int) -> FloatArray:
        """Return a block of estimates."""
        return core.run_block(prepared, block)

    def assemble(self, scenario: EntropyErrorScenario, prepared: core.Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put curves, bounds and words together."""
        blocks = stacked(parts, scenario.trials)
        unit, ns = core.unit_size(scenario.unit), prepared.ns.astype(np.float64)
        sens = core.sensitivities(scenario.estimators, prepared, scenario.noise_rule)
        cap = math.log(prepared.law.k) if scenario.clip else None
        rows: list[tuple[str, Any, Any, Any]] = []
        curves: list[tuple[core.Curve, core.Curve]] = []
        for place, estimator in enumerate(scenario.estimators):
            scales = core.noise_scales(scenario.noise_rule, blocks, place, sens, prepared, scenario.epsilon)
            plain = core.plain_curve(blocks, place, prepared.truth)
            private = core.private_curve(blocks, place, prepared.truth, scales, cap)
            curves.append((plain, private))
            rows.append((estimator.title, prepared.ns, plain.rmse / unit, plain.error / unit))
            rows.append((f"{estimator.title}, private", prepared.ns, private.rmse / unit, private.error / unit))
        if scenario.bounds and prepared.law.k > 1:
            bound = upper_bound(prepared.bias[-1], ns, sens[-1], sens[-1] / scenario.epsilon)
            rows.append(("upper bound", prepared.ns, bound / unit, 0.0))
            lower = np.array([core.lower_bound_shape(prepared.law.k, n, scenario.epsilon) for n in ns])
            rows.append(
                ("lower bound (shape only)", prepared.ns, core.moved_below(lower, curves[-1][1].rmse) / unit, 0.0)
            )
        return self.told(scenario, prepared, rows, curves, sens, blocks)

    def told(
        self,
        scenario: EntropyErrorScenario,
        prepared: core.Prepared,
        rows: list[tuple[str, Any, Any, Any]],
        curves: list[tuple[core.Curve, core.Curve]],
        sens: FloatArray,
        blocks: FloatArray,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        unit, words = core.unit_size(scenario.unit), scenario.unit
        best = len(scenario.estimators) - 1
        estimator = scenario.estimators[best]
        plain, private = curves[best]
        n, delta = int(prepared.ns[-1]), float(sens[best, -1])
        value, error = plus_minus(private.rmse[-1] / unit, 2 * private.error[-1] / unit)
        value0, error0 = plus_minus(plain.rmse[-1] / unit, 2 * plain.error[-1] / unit)
        quiet = core.quiet_curve(blocks, best, prepared.truth)
        with np.errstate(divide="ignore", invalid="ignore"):
            added = private.rmse / quiet.rmse
        free = core.epsilon_for(0.05, delta, float(quiet.rmse[-1]))
        cards = [
            Card(
                "Private error",
                with_unit(value, words),
                error,
                f"Root-mean-square error at n = {n:,}; ± is two standard errors.",
            ),
            Card(
                "Without privacy",
                with_unit(value0, words),
                error0,
                "The estimator without privacy, in its own tuning.",
            ),
            Card(
                "The noise adds",
                percent(max(float(added[-1]) - 1, 0.0)) if np.isfinite(added[-1]) else "–",
                "to the error",
                f"At n = {n:,} and ε = {scenario.epsilon:g}: the private estimate with and without its noise.",
            ),
            Card(
                "Little noise from",
                f"ε = {significant(free, 2)}",
                "adds at most 5%",
                "From this ε on, the noise adds at most 5% to the error (unclipped closed form).",
            ),
        ]
        cheap = np.flatnonzero(added <= 1.05)
        where = (
            "On this whole range the noise adds less than 5%."
            if cheap.size == added.size
            else f"From n = {whole(prepared.ns[cheap[0]])} on, the noise adds less than 5%."
            if cheap.size and np.all(added[cheap[0] :] <= 1.05)
            else f"For less than 5% at n = {n:,} it takes ε = {significant(free, 2)}."
        )
        tuned = ", in its own tuning," if estimator.kind == "poly" else ""
        calm, bare, paid = float(quiet.rmse[-1]), float(plain.rmse[-1]), float(private.rmse[-1])
        smoother = (
            f" {'Most' if calm - bare > (paid - bare) / 2 else 'A part'} of that difference is not noise: to keep the "
            "noise small, the private estimate is smoother, and even without noise it is off by "
            f"{with_unit(significant(calm / unit, 2), words)}."
            if calm > 1.1 * bare and paid > bare
            else ""
        )
        shows = (
            f"With **{n:,} people** and **ε = {scenario.epsilon:g}**, a private estimate "
            f"({estimator.title.lower()}) is "
            f"typically off by **{with_unit(value, words)}**; without privacy{tuned} by {with_unit(value0, words)}."
            f"{smoother} "
            f"The noise itself adds {percent(max(float(added[-1]) - 1, 0.0))}. {where} "
            + ("The lower bound shows a shape only; its constant is unknown. " if scenario.bounds else "")
            + f"Neighbouring points share {blocks.shape[0]:,} nested samples, so they move together."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=tidy(rows),
            cards=tuple(cards),
            shows=shows,
            takeaway=(
                f"Error of an entropy estimate against sample size. At n = {n:,} and epsilon {scenario.epsilon:g} the "
                f"private error is {value} {words}, without privacy {value0} {words}."
            ),
            notes=core.notes(scenario),
            formulas=core.formulas(estimator, n, prepared.law.k, delta, scenario.epsilon, scenario.noise_rule),
            assumptions=core.ASSUMPTIONS,
            extra={"blocks": blocks, "prepared": prepared, "sensitivities": sens},
            runs=int(blocks.shape[0]),
        )

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the error curves, or the spread of one release."""
        scenario: Any = result.scenario
        x = Axis("sample size n, people", "log", symbol="n")
        if view == "release":
            return self.release_chart(result, x)
        marks = core.error_marks(result, scenario.estimators, DASHES, scenario.unit)
        return core.error_chart(marks, x, scenario.unit)

    def release_chart(self, result: Result, x: Axis) -> Chart:
        """Describe where single releases fall: half of them, and 19 of 20."""
        scenario: Any = result.scenario
        spread = self.release_quantiles(result)
        grid = self.axis_values(result)
        unit = core.unit_size(scenario.unit)
        truth = result.extra["prepared"].truth / unit
        title = scenario.estimators[-1].title
        return Chart(
            f"Where one private estimate falls ({title.lower()})",
            f"in {scenario.unit}; line: the true entropy",
            x,
            Axis("estimate", "linear", unit=scenario.unit),
            (
                Panel(
                    (
                        Spread(
                            "private", grid, spread[0], spread[4], "19 of 20 releases", "light", "19 of 20<br>releases"
                        ),
                        Spread(
                            "private",
                            grid,
                            spread[1],
                            spread[3],
                            "half of all releases",
                            "strong",
                            "half of all<br>releases",
                        ),
                        Line(
                            "private", grid, spread[2], "middle release", hover="middle release: {y} " + scenario.unit
                        ),
                        Line(
                            "truth",
                            grid,
                            np.full(len(grid), truth),
                            "truth",
                            "truth",
                            hover="truth: {y} " + scenario.unit,
                        ),
                    )
                ),
            ),
        )

    def axis_values(self, result: Result) -> FloatArray:
        """Values on the x axis."""
        return np.asarray(result.extra["prepared"].ns, dtype=np.float64)

    def release_quantiles(self, result: Result) -> FloatArray:
        """Quantiles 2.5, 25, 50, 75 and 97.5% of a single release, shape (5, points), in the scenario's unit."""
        scenario: Any = result.scenario
        prepared, blocks = result.extra["prepared"], result.extra["blocks"]
        place = len(scenario.estimators) - 1
        scales = core.noise_scales(
            scenario.noise_rule, blocks, place, result.extra["sensitivities"], prepared, scenario.epsilon
        )
        quantiles = mixture_quantiles(blocks[:, 3 * place + 1, :], scales, (0.025, 0.25, 0.5, 0.75, 0.975))
        if scenario.clip:
            quantiles = np.clip(quantiles, 0.0, math.log(prepared.law.k))
        return np.asarray(quantiles / core.unit_size(scenario.unit))
