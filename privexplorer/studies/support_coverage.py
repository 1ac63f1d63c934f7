"""How far ahead can unseen values be counted? (properties §5, §8 F3, §12.4; Lemma 27, eq (4.1))."""

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
from privexplorer.distributions import DiscreteDistribution, DiscreteLaw, Uniform, Zipf, nested_samples
from privexplorer.properties import (
    GoodToulmin,
    SmoothedGoodToulmin,
    epsilon_for_inflation,
    prediction_horizon,
    sgt_bias_bound,
)
from privexplorer.records import Accuracy, Epsilon, Number, Scenario, Seed, Trials, field, once_each
from privexplorer.simulation import block_rng, root_mean_square
from privexplorer.studies import _unseen as unseen
from privexplorer.studies._entropy import RULES, Curve, assumed_k
from privexplorer.studies._fields import distribution_field, people_field
from privexplorer.studies._notes import table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import ratio, significant, whole

MOST_CELLS = 5_000_000
"""Largest number of symbols times look-aheads: their chances are held at once."""
EPSILONS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 10.0, 25)])
NAMES = {"sgt": "SGT", "good-toulmin": "Good-Toulmin"}
Estimators = Annotated[
    tuple[Annotated[SmoothedGoodToulmin | GoodToulmin, Field(discriminator="kind")], ...], once_each(tuple(NAMES))
]
Rule = Literal["exact", "thesis", "paper_code"]


class SupportCoverageScenario(Scenario):
    """Error of the predicted number of new values against the look-ahead."""

    distribution: DiscreteDistribution = distribution_field(Zipf(k=2000, exponent=1.0))
    n: Annotated[int, Number] = people_field(
        1_000, "How many records the sample has; public and fixed.", low=10, high=100_000, ge=2, le=1_000_000
    )
    epsilon: Epsilon = 0.3
    clip: bool = field(
        False,
        "Clip the answer to [0, nt]",
        "Free by post-processing: further records cannot show fewer than no or more than nt new values.",
        key="clip",
        group="Privacy",
        advanced=True,
    )
    noise_rule: Rule = field(
        "exact",
        "Noise calibrated to",
        "The exact sensitivity is the smallest that protects. The published bound, 2(1 + e^(r(t−1))), adds two to "
        "three times as much.",
        key="noise",
        group="Privacy",
        titles=RULES,
    )
    estimators: Estimators = field(
        (SmoothedGoodToulmin(),),
        "Estimators",
        "Each is shown with and without privacy. Good-Toulmin reaches t = 1 only.",
        key="est",
        group="Method",
        min_length=1,
    )
    compare: bool = field(
        False,
        "Compare the smoothings",
        "Adds the other two ways of fading the series out. The binomial ones are an extension of the source.",
        key="compare",
        group="Method",
        advanced=True,
    )
    ahead: unseen.AheadGrid = field(
        unseen.AheadGrid(), "Look-ahead t, further records per record", key="t", group="Method"
    )
    accuracy: Accuracy = field(
        0.03,
        "Error that you accept",
        "As a share of the nt further records: it decides how far ahead one can see.",
        group="Goal",
    )
    trials: Trials = 200
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    law: DiscreteLaw
    n: int
    ts: FloatArray
    seed: int
    block_trials: int
    estimators: tuple[unseen.Extrapolator, ...]
    names: tuple[str, ...]
    bias: FloatArray
    """Exact bias in symbols, shape (estimators, points); NaN where an estimator does not reach."""

    def reached(self, place: int) -> Any:
        """Points that an estimator reaches: Good-Toulmin stops at t = 1."""
        return self.ts <= 1 if isinstance(self.estimators[place], GoodToulmin) else self.ts > 0


class SupportCoverage(Study[SupportCoverageScenario]):
    """Error of the number of new symbols, as a share of the further records, against the look-ahead."""

    id: ClassVar[str] = "support-coverage"
    question: ClassVar[str] = "How far ahead can you count what has not been seen yet?"
    lead: ClassVar[str] = (
        "From n records, predict how many new values t times as many further records would show, with and without "
        "privacy."
    )
    tab: ClassVar[str] = "How far can we see"
    card: ClassVar[str] = "Error of the predicted number of new values against the look-ahead."
    link: ClassVar[str] = "See how far it reaches"
    theme: ClassVar[str] = "unseen"
    picture: ClassVar[str] = "coverage"
    scenario: ClassVar[type[Scenario]] = SupportCoverageScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "clip", "noise_rule", "accuracy", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "error": "Error against t",
        "horizon": "How far, by ε",
        "bounds": "Bounds and exact values",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-Sm-def", "T-GT-claim", "T-SGT", "T-SGTr", "T-Eq4.1", "T-Lem27", "T-Claim-cov")

    def presets(self) -> tuple[Preset[SupportCoverageScenario], ...]:
        """Finished examples."""
        make = SupportCoverageScenario
        return (
            Preset("A thousand records", make()),
            Preset(
                "Twenty thousand values",
                make(distribution=Uniform(k=20_000), n=10_000, epsilon=1.0, clip=True),
            ),
            Preset(
                "Around t = 1",
                make(
                    estimators=(SmoothedGoodToulmin(smoothing_mean=3.0), GoodToulmin()),
                    ahead=unseen.AheadGrid(low=0.1, high=2.0, points=20),
                    accuracy=0.025,
                ),
            ),
            Preset("Three smoothings", make(compare=True)),
        )

    def check(self, scenario: SupportCoverageScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        out = []
        low, high = scenario.ahead.low, scenario.ahead.high
        k = assumed_k(scenario.distribution)
        if low > 1 and any(isinstance(e, GoodToulmin) for e in scenario.estimators):
            out.append(
                f"Good-Toulmin looks at most one sample ahead, but the look-aheads start at t = {low:g}; let them "
                "start at 1 or below, or leave Good-Toulmin out."
            )
        for estimator in scenario.estimators:
            rate = getattr(estimator, "smoothing_mean", None)
            if rate is not None and rate * (high - 1) > unseen.LARGEST_GROWTH:
                most = unseen.LARGEST_GROWTH / (high - 1)
                out.append(
                    f"At t = {high:g} a smoothing rate r of {rate:g} leaves the range of numbers; lower r to "
                    f"{most:.3g} or less, or leave it empty."
                )
        if k * scenario.ahead.points > MOST_CELLS:
            out.append(
                f"{scenario.ahead.points} look-aheads for {k:,} values are too many to hold at once; take at most "
                f"{max(1, MOST_CELLS // k)} points, or fewer values."
            )
        return tuple(out)

    def size(self, scenario: SupportCoverageScenario) -> int:
        """Trials per block: a matter of the question alone."""
        k, points = assumed_k(scenario.distribution), scenario.ahead.points
        return int(min(64, max(1, 40_000_000 // (20 * scenario.n + k * (10 + 3 * points)))))

    def blocks(self, scenario: SupportCoverageScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: SupportCoverageScenario, tables: Tables | None) -> Prepared:
        """Compute the law, the list of estimators and their exact biases."""
        law, ts = scenario.distribution.law(tables), scenario.ahead.values()
        estimators: list[unseen.Extrapolator] = list(scenario.estimators)
        names = [NAMES[e.kind] for e in estimators]
        if scenario.compare:
            own = {e.smoothing for e in estimators if isinstance(e, SmoothedGoodToulmin)}
            for smoothing, words in unseen.SMOOTHINGS.items():
                if smoothing not in own:
                    estimators.append(SmoothedGoodToulmin(smoothing=smoothing))
                    names.append(f"SGT ({words})")
        return Prepared(
            law,
            scenario.n,
            ts,
            scenario.seed,
            self.size(scenario),
            tuple(estimators),
            tuple(names),
            unseen.exact_bias(estimators, law, scenario.n, ts),
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw a block of samples; return ``(trials, estimators + 1, points)``.

        The last series is what is to be predicted: the expected number of new symbols given the sample. 0 where an
        estimator does not reach.
        """
        n, ts = prepared.n, prepared.ts
        drawn = nested_samples(
            prepared.law, [n], prepared.block_trials, block_rng(prepared.seed, block), extra_sizes=n * ts
        )
        out = np.zeros((prepared.block_trials, len(prepared.estimators) + 1, ts.size))
        for place, estimator in enumerate(prepared.estimators):
            for point in np.flatnonzero(prepared.reached(place)).tolist():
                t = float(ts[point])
                out[:, place, point] = drawn.fingerprints.totals(
                    [lambda counts, e=estimator, t=t: e.new_values(counts, n, t)]  # type: ignore[misc]
                )[0]
        if drawn.unseen_targets is not None:
            out[:, -1, :] = drawn.unseen_targets[0]
        return out

    def sensitivities(self, scenario: SupportCoverageScenario, prepared: Prepared) -> FloatArray:
        """Sensitivity of the number of new symbols, shape (estimators, points); NaN where one does not reach."""
        out = np.full((len(prepared.estimators), prepared.ts.size), np.nan)
        for place, estimator in enumerate(prepared.estimators):
            for point in np.flatnonzero(prepared.reached(place)).tolist():
                out[place, point] = estimator.sensitivity(
                    prepared.n, float(prepared.ts[point]), scenario.noise_rule, new_only=True
                )
        return out

    def private_curve(
        self,
        scenario: SupportCoverageScenario,
        prepared: Prepared,
        blocks: FloatArray,
        sens: FloatArray,
        place: int,
        epsilon: float,
    ) -> Curve:
        """Error with privacy at the points that an estimator reaches, as a share of ``n t``."""
        at = prepared.reached(place)
        sizes = prepared.n * prepared.ts[at]
        squares = unseen.noisy_squares(
            blocks[:, place, at], blocks[:, -1, at], sens[place, at], epsilon, sizes if scenario.clip else None
        )
        return Curve(*root_mean_square(squares / sizes**2))

    def assemble(self, scenario: SupportCoverageScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put curves, horizons and words together."""
        blocks = stacked(parts, scenario.trials)
        sens = self.sensitivities(scenario, prepared)
        rows: list[tuple[str, Any, Any, Any]] = []
        curves: list[tuple[Curve, Curve]] = []
        for place, name in enumerate(prepared.names):
            at = prepared.reached(place)
            ts, sizes = prepared.ts[at], prepared.n * prepared.ts[at]
            plain = Curve(*root_mean_square(((blocks[:, place, at] - blocks[:, -1, at]) / sizes) ** 2))
            private = self.private_curve(scenario, prepared, blocks, sens, place, scenario.epsilon)
            rows.append((name, ts, plain.rmse, plain.error))
            rows.append((f"{name}, private", ts, private.rmse, private.error))
            curves.append((plain, private))
        return self.told(scenario, prepared, rows, curves[0], sens, blocks)

    def told(
        self,
        scenario: SupportCoverageScenario,
        prepared: Prepared,
        rows: list[tuple[str, Any, Any, Any]],
        main: tuple[Curve, Curve],
        sens: FloatArray,
        blocks: FloatArray,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        plain, private = main
        name, at = prepared.names[0], prepared.reached(0)
        ts, n, accuracy, epsilon = prepared.ts[at], prepared.n, scenario.accuracy, scenario.epsilon
        t, delta = float(ts[-1]), float(sens[0, at][-1])
        value, error = unseen.measured(private.rmse[-1], 2 * private.error[-1])
        value0, error0 = unseen.measured(plain.rmse[-1], 2 * plain.error[-1])
        price = float(private.rmse[-1] / plain.rmse[-1]) if plain.rmse[-1] > 0 else math.inf
        horizon = prediction_horizon(ts, private.rmse, accuracy)
        horizon0 = prediction_horizon(ts, plain.rmse, accuracy)
        spread = unseen.crossing_error(ts, private.rmse, private.error, horizon)
        free = epsilon_for_inflation(0.05, delta, float(plain.rmse[-1]) * n * t) if plain.rmse[-1] > 0 else math.inf
        to_find = float(blocks[:, -1, at][:, -1].mean())
        cards = (
            Card(
                "Private error",
                value,
                error,
                f"At t = {t:g}: root-mean-square, as a share of the {whole(n * t)} further records; ± is two standard "
                "errors.",
            ),
            Card("Without privacy", value0, error0, f"The same at t = {t:g}, without noise."),
            Card("Price of privacy", ratio(price), "private ÷ without", f"At t = {t:g} and ε = {epsilon:g}."),
            Card(
                "You can see to",
                reach(horizon, ts),
                f"± {significant(2 * spread, 1)}" if spread else f"error ≤ {accuracy:g}",
                f"The look-ahead up to which the private error stays at most {accuracy:g} of the further records.",
            ),
        )
        shows = (
            f"From **{n:,} records** with **ε = {epsilon:g}**, the number of new values among the next "
            f"{whole(n * t)} records (t = {t:g}) is predicted with a typical error of **{value}** of those records, "
            f"{unseen.times(price)} without privacy. {horizon_words(horizon, horizon0, ts, accuracy)} "
            f"Mind the yardstick: on average only {significant(to_find / (n * t), 2)} of the further records bring a "
            f"new value, and that is what guessing zero would be off by. "
            f"From ε = {significant(free, 2)} on privacy adds less than 5% at t = {t:g}."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=tidy(rows),
            cards=cards,
            shows=shows,
            takeaway=(
                f"Error of the predicted number of new values against the look-ahead t ({name}). At t = {t:g} and "
                f"epsilon {epsilon:g} the private error is {value} of the further records, without privacy {value0}."
            ),
            notes=self.notes(scenario, prepared),
            formulas=self.formulas(scenario, prepared, t, delta),
            assumptions=ASSUMPTIONS,
            extra={"blocks": blocks, "prepared": prepared, "sensitivities": sens},
            runs=int(blocks.shape[0]),
        )

    def notes(self, scenario: SupportCoverageScenario, prepared: Prepared) -> tuple[Note, ...]:
        """Say what a reader must know about the choices."""
        out = []
        plain = [
            n
            for n, e in zip(prepared.names, prepared.estimators, strict=True)
            if isinstance(e, SmoothedGoodToulmin) and unseen.is_plain(e, prepared.n, float(prepared.ts[0]))
        ]
        if plain and prepared.ts[0] < 1:
            out.append(Note("Up to t = 1 no smoothing is needed: there the smoothed estimator is Good-Toulmin itself."))
        if any(isinstance(e, GoodToulmin) for e in prepared.estimators) and prepared.ts[-1] > 1:
            out.append(
                Note("Good-Toulmin stops at t = 1: beyond, its coefficients grow without bound (see Coefficients).")
            )
        if scenario.noise_rule == "paper_code" and prepared.ts[0] <= 1:
            out.append(
                Note(
                    "Up to t = 1 the published code scales its noise with max(t, 0.01), less than the sensitivity, so "
                    "the answer is **not ε-private** there. It is here for comparison only.",
                    "warning",
                    "This noise protects too little",
                )
            )
        if scenario.noise_rule == "thesis" and any(
            isinstance(e, SmoothedGoodToulmin) and e.smoothing != "poisson" for e in prepared.estimators
        ):
            out.append(
                Note("The published bound is for Poisson smoothing; the binomial ones use their exact sensitivity.")
            )
        return (*out, *table_notes(scenario.distribution))

    def formulas(
        self, scenario: SupportCoverageScenario, prepared: Prepared, t: float, delta: float
    ) -> tuple[Formula, ...]:
        """Write the estimator, its release and the bounds, with the current numbers."""
        estimator, n, epsilon = prepared.estimators[0], prepared.n, scenario.epsilon
        out = [
            Formula(
                "New values",
                r"\hat U=-\sum_{i\ge1}\Phi_i\,(-t)^i\,\Pr(Z\ge i)",
                rf"n = {n:,},\quad t = {t:g}" + rate_words(estimator, n, t),
                "exact",
                estimator.source,
            ),
            Formula(
                "What is to be predicted",
                r"U=\sum_{x:N_x=0}\bigl(1-(1-p_x)^{nt}\bigr)",
                rf"n t = {n * t:,.0f}\ \text{{further records}}",
                "exact",
                "properties §8 (given the sample)",
            ),
            Formula(
                "Private release",
                r"\tilde U=\hat U+\mathrm{Lap}(\Delta/\varepsilon)",
                rf"\Delta = {delta:.4g},\qquad \Delta/\varepsilon = {delta / epsilon:.4g}\ \text{{values}}",
                "exact",
                estimator.sensitivity_source(n, t, scenario.noise_rule),
            ),
            Formula(
                "Error with privacy",
                r"\mathrm{RMSE}^2=\mathrm{E}(\hat U-U)^2+2\Delta^2/\varepsilon^2",
                rf"2\Delta^2/\varepsilon^2/(nt)^2 = {2 * (delta / epsilon / (n * t)) ** 2:.3g}",
                "exact",
                "properties §2 (derived; for unclipped answers)",
            ),
        ]
        if isinstance(estimator, SmoothedGoodToulmin) and estimator.smoothing == "poisson" and t > 1:
            r = estimator.rate(n, t)
            out.append(
                Formula(
                    "Bound on the bias",
                    r"|\mathrm{E}\hat S_m-S_m|\le 2+2e^{r(t-1)}+\min(m,S(p))\,e^{-r}",
                    rf"{sgt_bias_bound(r, t, n * (1 + t), prepared.law.support_size()):.4g}"
                    rf"\quad\text{{(exact: }}{prepared.bias[0, -1]:.3g})",
                    "bound",
                    "Lemma 27",
                )
            )
        return tuple(out)

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the error curves, the horizon against ε, or the bounds beside the exact values."""
        if view == "horizon":
            return self.horizon_chart(result)
        if view == "bounds":
            return self.bounds_chart(result)
        scenario: Any = result.scenario
        names = result.extra["prepared"].names
        marks: list[Line] = []
        several = len(names) > 1
        for place, name in enumerate(names):
            for private in (False, True):
                if scenario.compare and not private and place:
                    continue  # in the table; six curves would hide one another
                rows = result.series(f"{name}, private" if private else name)
                short = self.end_name(scenario, place, name)
                if not several:
                    label = "private" if private else "without<br>privacy"
                else:
                    label = short if "<br>" in short else f"{short},<br>private" if private else short
                marks.append(
                    Line(
                        "private" if private else "non-private",
                        rows["x"].to_numpy(),
                        rows["y"].to_numpy(),
                        f"{name}, private" if private else name,
                        label,
                        rows["std_error"].to_numpy(),
                        main=private and place == 0,
                        markers=private and not several,
                        hover=(f"{name}, " if several else "")
                        + ("private" if private else "without privacy")
                        + ": off by {y} ± {e} of nt",
                    )
                )
        return Chart(
            "Error of the predicted number of new values",
            "root-mean-square, share of nt, log scale",
            AHEAD,
            Axis("error", "log"),
            (Panel(tuple(marks), level_lines=((scenario.accuracy, f"you accept {scenario.accuracy:g}"),)),),
        )

    def end_name(self, scenario: SupportCoverageScenario, place: int, name: str) -> str:
        """Name of an estimator at the end of its curve; smoothings by their own name where they are compared."""
        if name.startswith("SGT ("):
            return name.removeprefix("SGT (").removesuffix(")").replace(" ", "<br>")
        first = scenario.estimators[place]
        return unseen.SMOOTHINGS[first.smoothing] if scenario.compare and first.kind == "sgt" else name

    def horizons(self, result: Result) -> pd.DataFrame:
        """Compute how far the error stays within the accepted one, against ε; 0 where not even the first t does."""
        scenario: Any = result.scenario
        prepared, blocks, sens = (result.extra[name] for name in ("prepared", "blocks", "sensitivities"))
        ts = prepared.ts[prepared.reached(0)]
        plain = result.series(prepared.names[0])
        curves = [self.private_curve(scenario, prepared, blocks, sens, 0, epsilon) for epsilon in EPSILONS.tolist()]
        curves.append(Curve(plain["y"].to_numpy(), plain["std_error"].to_numpy()))
        found = [prediction_horizon(ts, curve.rmse, scenario.accuracy) for curve in curves]
        slack = [unseen.crossing_error(ts, curve.rmse, curve.error, t) for curve, t in zip(curves, found, strict=True)]
        far = np.array([t if t is not None else 0.0 for t in found])
        return tidy(
            [
                ("reach, private", EPSILONS, far[:-1], np.array(slack[:-1])),
                ("reach, without privacy", EPSILONS, np.full(EPSILONS.size, far[-1]), slack[-1]),
            ]
        )

    def horizon_chart(self, result: Result) -> Chart:
        """Describe how far one can see, against ε."""
        scenario: Any = result.scenario
        frame = self.horizons(result)
        ts = result.extra["prepared"].ts
        marks = []
        for role, name, label in (
            ("non-private", "reach, without privacy", "without<br>privacy"),
            ("private", "reach, private", "private"),
        ):
            rows = frame[frame["series"] == name]
            if len(rows):
                marks.append(
                    Line(
                        role,  # type: ignore[arg-type]
                        rows["x"].to_numpy(),
                        rows["y"].to_numpy(),
                        name,
                        label,
                        rows["std_error"].to_numpy(),
                        main=role == "private",
                        markers=role == "private",
                        hover=label.replace("<br>", " ") + ": as far as t = {y} ± {e}",
                    )
                )
        return Chart(
            f"How far the error stays within {scenario.accuracy:g}",
            "look-ahead t; 0 where none is within reach",
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε", low=0.01, high=10.0),
            Axis("look-ahead t", "linear", low=0.0, high=float(ts[-1]) * 1.05),
            (
                Panel(
                    tuple(marks),
                    here=(scenario.epsilon, f"your ε = {scenario.epsilon:g}"),
                    level_lines=((float(ts[-1]), "end of your range"),),
                ),
            ),
        )

    def bounds(self, result: Result) -> pd.DataFrame:
        """Exact bias and sensitivity of the first estimator; beyond t = 1 also Lemma 27 and eq (4.1)."""
        prepared = result.extra["prepared"]
        estimator, n = prepared.estimators[0], prepared.n
        at = prepared.reached(0)
        ts = prepared.ts[at]
        exact = np.array([estimator.sensitivity(n, t, new_only=True) for t in ts.tolist()])
        rows: list[tuple[str, Any, Any, Any]] = [
            ("sensitivity, exact", ts, exact, 0.0),
            ("bias, exact", ts, np.abs(prepared.bias[0, at]), 0.0),
        ]
        beyond = ts[ts > 1]
        if beyond.size and isinstance(estimator, SmoothedGoodToulmin) and estimator.smoothing == "poisson":
            printed = [estimator.sensitivity(n, t, "thesis") for t in beyond.tolist()]
            support = prepared.law.support_size()
            bias = [sgt_bias_bound(estimator.rate(n, t), t, n * (1 + t), support) for t in beyond.tolist()]
            rows += [("sensitivity, printed bound", beyond, printed, 0.0), ("bias, printed bound", beyond, bias, 0.0)]
        return tidy(rows)

    def bounds_chart(self, result: Result) -> Chart:
        """Describe the bounds beside the exact values."""
        frame = self.bounds(result)
        looks: dict[str, tuple[Any, str, str | None]] = {
            "bias, printed bound": ("upper bound", "bias bound<br>(Lemma 27)", "2px,3px"),
            "sensitivity, printed bound": ("upper bound", "sensitivity<br>bound (4.1)", "9px,4px"),
            "sensitivity, exact": ("private", "exact<br>sensitivity", None),
            "bias, exact": ("truth", "exact bias", None),
        }
        marks = [
            Line(
                role,
                frame[frame["series"] == name]["x"].to_numpy(),
                frame[frame["series"] == name]["y"].to_numpy(),
                name,
                label,
                dash=dash,
                hover=f"{name}: {{y}} values",
            )
            for name, (role, label, dash) in looks.items()
            if (frame["series"] == name).any()
        ]
        return Chart(
            "Published bounds beside exact values",
            "values, size only, log; bounds for t above 1",
            AHEAD,
            Axis("values", "log"),
            (Panel(tuple(marks)),),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind each view."""
        if view == "horizon":
            return self.horizons(result)
        return self.bounds(result) if view == "bounds" else result.frame


AHEAD = Axis("look-ahead t, further records per record", "linear", symbol="t")

ASSUMPTIONS = (
    "Neighbours are two samples of the same size n that differ in one record; n is public. (properties §0, Def. 1)",
    "t counts further records: the target is the expected number of new values among n t further records, given the "
    "sample. (properties §8, E14)",
    "One number of new values is released, with Laplace noise of scale sensitivity ÷ ε (Lem 3); the noise is "
    "integrated exactly, so only the sampling is simulated.",
    "The sensitivity is the exact one of the number of new values: the largest change over all samples. (properties "
    "§1, derived)",
    "All look-aheads share the same samples, so neighbouring points move together.",
    "How far one can see is read off the curve by straight lines between its points, and never beyond the range.",
)


def rate_words(estimator: unseen.Extrapolator, n: int, t: float) -> str:
    """Write the smoothing rate where there is one."""
    if (
        isinstance(estimator, SmoothedGoodToulmin)
        and estimator.smoothing == "poisson"
        and not unseen.is_plain(estimator, n, t)
    ):
        return rf",\quad Z\sim\mathrm{{Poi}}(r),\ r = {estimator.rate(n, t):.4g}"
    return ""


def reach(horizon: float | None, ts: FloatArray) -> str:
    """Write how far one can see."""
    if horizon is None:
        return f"less than {ts[0]:g}"
    return f"t = {horizon:g}, or more" if horizon >= ts[-1] else f"t = {significant(horizon, 2)}"


def horizon_words(private: float | None, plain: float | None, ts: FloatArray, accuracy: float) -> str:
    """Say how far the error stays within what is accepted."""

    def words(t: float | None) -> str:
        if t is None:
            return f"not even up to t = {ts[0]:g}"
        return f"on the whole range, up to t = {ts[-1]:g}" if t >= ts[-1] else f"up to t = {significant(t, 2)}"

    if private is None and plain is None:
        return f"With and without privacy the error is above {accuracy:g} from t = {ts[0]:g} on."
    if private == plain:
        return f"With and without privacy the error stays within {accuracy:g} {words(private)}."
    return f"The error stays within {accuracy:g} {words(private)}; without privacy {words(plain)}."


__all__ = ["SupportCoverage", "SupportCoverageScenario"]
