"""Which nuisance may be wrong? Exact bias over both errors, and the coverage that is left (Thm 1; view 7.6)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    ATT,
    LAW_A,
    BiasExpansion,
    CausalTarget,
    FiniteLaw,
    MeanUnder,
    UntreatedMeanOfTreated,
    bias_expansion,
    efficiency_bound,
    normal_quantile,
    private_influence,
    treatment_nuisances,
)
from privexplorer.data import Tables
from privexplorer.records import Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _effects as shared
from privexplorer.studies._effects import KeepProbability, LawB, LawChoice, NoiseChoice, People
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, HeatMap, Line, Panel
from privexplorer.studies.result import Card, Formula, Result, tidy
from privexplorer.studies.words import percent, plus_minus, significant

Shape = Literal["even", "rising"]
Parameter = Annotated[
    Literal["ate", "att", "treated", "untreated"],
    Field(
        title="What is estimated",
        description="An effect, or the mean outcome under one treatment.",
        json_schema_extra={
            "key": "target",
            "group": "Goal",
            "titles": {
                "ate": "Average effect (ATE)",
                "att": "Effect on the treated (ATT)",
                "treated": "Mean outcome if all were treated",
                "untreated": "Mean outcome of the treated, untreated",
            },
        },
    ),
]
PARAMETERS: dict[str, CausalTarget] = {
    **shared.TARGETS,
    "treated": MeanUnder(1),
    "untreated": UntreatedMeanOfTreated(),
}
ODDS = np.round(np.linspace(-1.0, 1.0, 25), 6)
"""Errors of the propensity, on the log-odds scale."""
SHIFTS = np.round(np.linspace(-0.2, 0.2, 25), 6)
"""Errors of the outcome regression, in units of the outcome."""
SCALES = np.round(np.linspace(0.0, 1.5, 16), 6)
BIAS_LEVELS = (0.005, 0.01, 0.02, 0.05, 0.1)
MISS_LEVELS = (0.08, 0.15, 0.3, 0.6, 0.9)
LEVEL = 0.95
BLOCK = 100
PANELS = {"bias": "bias", "coverage": "intervals that miss", "slice": "along the ray to you"}
BOTH, ODDS_ONLY, SHIFT_ONLY, LIMIT = "both wrong", "propensity wrong", "regression wrong", "limit of the product"


class DoubleRobustnessScenario(Scenario):
    """A law, a target, and how wrong the two nuisances are."""

    law: LawChoice = shared.law_field()
    n: People = 3_000
    keep_probability: KeepProbability = 0.5
    noise: NoiseChoice = shared.noise_field(advanced=True)
    target: Parameter = "ate"
    shape: Shape = field(
        "even",
        "Shape of the errors",
        "Alike in all categories, or changing sign from the first category to the last, so that they average out "
        "more or less.",
        key="shape",
        group="Method",
        titles={"even": "Alike in all categories", "rising": "From below to above"},
        advanced=True,
    )
    propensity_error: Annotated[float, Number] = field(
        0.5,
        "Your propensity error, log odds",
        "How far the chance of treatment is off, on the log-odds scale; 0 is right. Marks “you” on the map.",
        key="odds",
        group="You",
        ge=-1,
        le=1,
    )
    regression_error: Annotated[float, Number] = field(
        0.08,
        "Your regression error",
        "How far the mean outcome is off in both arms, in units of the outcome; 0 is right.",
        key="shift",
        group="You",
        ge=-0.2,
        le=0.2,
    )
    share_error: Annotated[float, Number] = field(
        0.0,
        "Error of the share of the treated",
        "Matters for the treated alone. It comes from a plain mean, whose error is small; moved here to show the "
        "theorem's other two terms.",
        key="share",
        group="Method",
        ge=-0.2,
        le=0.2,
        advanced=True,
    )
    trials: Trials = 600
    seed: Seed = 0


def direction(law: FiniteLaw, shape: Shape) -> FloatArray:
    """Shape of an error over the categories, (J,), largest value 1."""
    if shape == "even" or law.levels == 1:
        return np.ones(law.levels)
    return np.linspace(-1.0, 1.0, law.levels)


def wrong_propensity(law: FiniteLaw, shape: Shape, error: float) -> FloatArray:
    """Propensity moved by so much on the log-odds scale, (J,)."""
    odds = np.log(law.propensity / (1 - law.propensity)) + error * direction(law, shape)
    return np.asarray(1 / (1 + np.exp(-odds)))


def wrong_regression(law: FiniteLaw, shape: Shape, error: float) -> FloatArray:
    """Regression moved by so much in both arms, (2, J)."""
    return law.mu + error * direction(law, shape)


def expansion(scenario: DoubleRobustnessScenario, law: FiniteLaw, odds: float, shift: float) -> BiasExpansion:
    """Return both sides of Thm 1 at these two errors."""
    return bias_expansion(law, PARAMETERS[scenario.target], _nuisances(scenario, law, odds, shift))


def _nuisances(scenario: DoubleRobustnessScenario, law: FiniteLaw, odds: float, shift: float) -> Any:
    return treatment_nuisances(
        law,
        PARAMETERS[scenario.target],
        propensity=wrong_propensity(law, scenario.shape, odds),
        mu=wrong_regression(law, scenario.shape, shift),
        treated_share=law.treated_share + scenario.share_error,
    )


def worked_example() -> BiasExpansion:
    """All three terms of Thm 1 in one example: effect on the treated of law A with five wrong numbers (G15)."""
    share = LAW_A.treated_share + 0.03
    off = np.array([[0.05, -0.03, 0.02], [-0.02, 0.01, 0.04]])
    used = treatment_nuisances(
        LAW_A,
        ATT(),
        propensity=LAW_A.propensity + np.array([0.02, 0.04, -0.05]),
        mu=LAW_A.mu + off,
        treated_share=share,
        slope=-1.1,
    )
    return bias_expansion(LAW_A, ATT(), used)


@dataclass(frozen=True)
class Prepared:
    """Scores at every pair of errors; arrays are never written to."""

    n: int
    seed: int
    shown: FloatArray
    """Law of what is shown, (cells,)."""
    scores: FloatArray
    """Private score at wrong nuisances plus their initial value, minus the truth, (cells, points)."""
    bias: FloatArray
    """Exact bias, (points,)."""
    calculated: FloatArray
    """Share of intervals that miss, by the normal law, (points,)."""


def miss_share(bias: FloatArray, spread: FloatArray, n: int) -> FloatArray:
    """How often estimate ± z·spread/√n misses, if the estimate is normal around truth + bias."""
    from scipy.special import ndtr

    z = normal_quantile(LEVEL)
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.where(bias == 0, 0.0, bias * math.sqrt(n) / spread)
    return np.asarray(1 - (ndtr(z - off) - ndtr(-z - off)))


class DoubleRobustness(Study[DoubleRobustnessScenario]):
    """Bias and coverage of the one-step estimate at nuisances that are wrong by known amounts."""

    id: ClassVar[str] = "double-robustness"
    question: ClassVar[str] = "What if the model of treatment or of outcome is wrong?"
    lead: ClassVar[str] = (
        "The estimate leans on two fitted models. Its bias is a product of their errors: with one of them right, the "
        "other may be as wrong as it likes."
    )
    tab: ClassVar[str] = "Double robustness"
    card: ClassVar[str] = "Bias and coverage over the errors of both models: along the axes nothing is lost."
    link: ClassVar[str] = "Get one model wrong"
    theme: ClassVar[str] = "effects_theory"
    picture: ClassVar[str] = "square"
    scenario: ClassVar[type[Scenario]] = DoubleRobustnessScenario
    late: ClassVar[frozenset[str]] = frozenset({"propensity_error", "regression_error", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "both": "Side by side",
        "bias": "Bias",
        "coverage": "Intervals that miss",
        "slice": "One wrong, both wrong",
    }
    rows: ClassVar[tuple[str, ...]] = ("L-T1", "L-X6", "L-Ex2b", "L-Ex3b", "L-E28")

    def presets(self) -> tuple[Preset[DoubleRobustnessScenario], ...]:
        """Finished examples."""
        make = DoubleRobustnessScenario
        return (
            Preset("Both a little wrong", make()),
            Preset("Outcome model right", make(regression_error=0.0, propensity_error=0.8)),
            Preset("Treatment model right", make(propensity_error=0.0, regression_error=0.15)),
            Preset("Treated only, many people", make(law=LawB(), target="att", n=100_000, keep_probability=0.9)),
        )

    def check(self, scenario: DoubleRobustnessScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        law = scenario.law.law()
        if not 0 < law.treated_share + scenario.share_error < 1:
            return (
                f"The share of the treated is {law.treated_share:.3g} under this law; with an error of "
                f"{scenario.share_error:g} it leaves the range from 0 to 1, so choose a smaller error.",
            )
        if isinstance(scenario.noise, shared.PointNoise) and scenario.keep_probability < 1e-3:
            return ("With noise that is always the same category, α must be at least 0.001.",)
        return ()

    def blocks(self, scenario: DoubleRobustnessScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK)

    def prepare(self, scenario: DoubleRobustnessScenario, tables: Tables | None) -> Prepared:
        """Work out bias and score at every pair of errors; both are linear in the regression's error."""
        law, target = scenario.law.law(), PARAMETERS[scenario.target]
        mechanism = shared.mechanism_of(law, scenario.noise, scenario.keep_probability)
        truth = target.value(law)
        shown = law.privatised(mechanism).reshape(-1)
        bias = np.empty((SHIFTS.size, ODDS.size))
        scores = np.empty((shown.size, SHIFTS.size, ODDS.size))
        for column, odds in enumerate(ODDS.tolist()):
            at: list[tuple[float, FloatArray]] = []
            for shift in (0.0, 1.0):
                used = _nuisances(scenario, law, odds, shift)
                score = private_influence(target.influence(law, used), mechanism).reshape(-1) + used.value - truth
                at.append((bias_expansion(law, target, used).total, score))
            (b0, s0), (b1, s1) = at
            bias[:, column] = b0 + SHIFTS * (b1 - b0)
            scores[:, :, column] = s0[:, None] + (s1 - s0)[:, None] * SHIFTS
        bias[np.abs(bias) < 1e-14] = 0.0
        flat = scores.reshape(shown.size, -1)
        mean = np.einsum("c,cp->p", shown, flat)
        spread = np.sqrt(np.einsum("c,cp->p", shown, (flat - mean) ** 2))
        return Prepared(
            scenario.n, scenario.seed, shown, flat, bias.reshape(-1), miss_share(bias.reshape(-1), spread, scenario.n)
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw tables of released records; return ``(trials, 1, points)``: 1 where the interval misses."""
        rng = block_rng(prepared.seed, block)
        law = prepared.shown / prepared.shown.sum()
        shares = rng.multinomial(prepared.n, law, size=BLOCK) / prepared.n
        mean = np.einsum("rc,cp->rp", shares, prepared.scores)
        second = np.einsum("rc,cp->rp", shares, prepared.scores**2)
        error = np.sqrt(np.maximum(second - mean**2, 0.0) / prepared.n)
        return np.asarray(np.abs(mean) > normal_quantile(LEVEL) * error, dtype=np.float64)[:, None, :]

    def assemble(self, scenario: DoubleRobustnessScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put maps, the ray to the visitor's own errors, and words together."""
        missed = stacked(parts, scenario.trials)[:, 0, :]
        runs = missed.shape[0]
        share = missed.mean(axis=0)
        error = np.sqrt(share * (1 - share) / runs)
        size = (SHIFTS.size, ODDS.size)

        def lay(name: str, values: FloatArray, errors: FloatArray | None, panel: str) -> pd.DataFrame:
            table = values.reshape(size)
            wrong = np.zeros(size) if errors is None else errors.reshape(size)
            rows = [
                (f"{name}, regression off by {significant(shift)}", ODDS, table[row], wrong[row])
                for row, shift in enumerate(SHIFTS.tolist())
            ]
            return tidy(rows, panel=panel)

        law = scenario.law.law()
        frame = pd.concat(
            [
                lay("bias", prepared.bias, None, PANELS["bias"]),
                lay("misses", share, error, PANELS["coverage"]),
                self.ray(scenario, law),
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, law, frame, share.reshape(size), error.reshape(size), runs)

    def ray(self, scenario: DoubleRobustnessScenario, law: FiniteLaw) -> pd.DataFrame:
        """Absolute bias when the visitor's errors grow together, or one of them alone."""
        found: dict[str, list[float]] = {BOTH: [], ODDS_ONLY: [], SHIFT_ONLY: [], LIMIT: []}
        right = expansion(scenario, law, 0.0, 0.0).total
        step = expansion(scenario, law, 0.0, scenario.regression_error).total - right
        for scale in SCALES.tolist():
            odds, shift = scale * scenario.propensity_error, scale * scenario.regression_error
            both = expansion(scenario, law, odds, shift)
            found[BOTH].append(abs(both.total))
            found[LIMIT].append(both.product_limit)
            found[ODDS_ONLY].append(abs(expansion(scenario, law, odds, 0.0).total))
            found[SHIFT_ONLY].append(abs(right + scale * step))
        rows = [(name, SCALES, np.round(np.array(values), 14), 0.0) for name, values in found.items()]
        return tidy(rows, panel=PANELS["slice"])

    def told(
        self,
        scenario: DoubleRobustnessScenario,
        prepared: Prepared,
        law: FiniteLaw,
        frame: pd.DataFrame,
        share: FloatArray,
        error: FloatArray,
        runs: int,
    ) -> Result:
        """Add cards, words and formulas."""
        odds, shift, target = scenario.propensity_error, scenario.regression_error, PARAMETERS[scenario.target]
        mine = expansion(scenario, law, odds, shift)
        used = _nuisances(scenario, law, odds, shift)
        mechanism = shared.mechanism_of(law, scenario.noise, scenario.keep_probability)
        score = private_influence(target.influence(law, used), mechanism).reshape(-1)
        mean = float(np.sum(prepared.shown * score))
        spread = math.sqrt(float(np.sum(prepared.shown * (score - mean) ** 2)))
        miss = float(miss_share(np.array([mine.total]), np.array([spread]), scenario.n)[0])
        column, row = int(np.argmin(np.abs(ODDS - odds))), int(np.argmin(np.abs(SHIFTS - shift)))
        simulated, around = plus_minus(100 * float(share[row, column]), 200 * float(error[row, column]))
        sampling = spread / math.sqrt(scenario.n)
        best = math.sqrt(efficiency_bound(law, target, mechanism) / scenario.n)
        off = wrong_propensity(law, scenario.shape, odds) - law.propensity
        off_size = math.sqrt(float(np.sum(law.p_x * off**2))) if odds else 0.0
        one_right = odds == 0 or shift == 0
        cross = float(np.concatenate([share[:, ODDS.size // 2], share[SHIFTS.size // 2]]).mean())
        cross_error = 2 * math.sqrt(cross * (1 - cross) / runs)
        cards = (
            Card(
                "Bias at your errors",
                significant(mine.total) if abs(mine.total) > 1e-14 else "0",
                f"truth {significant(target.value(law))}"[:18],
                "Exact, from the product formula; the same with and without noise.",
            ),
            Card(
                "Sampling error",
                significant(sampling),
                "one s.e.",
                f"Of the estimate with your errors in its models; with right models {significant(best)}.",
            ),
            Card(
                "Intervals that miss",
                f"{simulated}%",
                f"{around}%"[:18],
                f"Simulated at the grid point nearest to your errors; calculated for your errors: {percent(miss)}. "
                "5% are meant to miss.",
            ),
            Card(
                "One model right",
                percent(cross),
                f"± {percent(cross_error)} miss"[:18],
                "Average along the two axes of the map, where one of the two models is right; 5% are meant to miss.",
            ),
        )
        about = (
            "one of the two models is right, so the bias is **0**"
            if one_right and not scenario.share_error
            else f"the bias is **{significant(mine.total)}**, {significant(abs(mine.total) / sampling, 2)} standard "
            "errors of the estimate with these models"
        )
        shows = (
            f"With the chance of treatment off by **{significant(off_size, 2)}** (root mean square) and the mean "
            f"outcome by **{significant(abs(shift), 2) if shift else '0'}**, {about}; by calculation "
            f"**{percent(miss)}** of the 95% intervals of {scenario.n:,} people miss "
            f"(simulated: {simulated}% {around}%). Along the two axes, where one model is right, "
            f"{percent(cross)} ± {percent(cross_error)} miss, as meant. "
            "Halving both errors quarters the bias; halving one halves it. "
            "More people do not cure a bias: they make the interval narrow around the wrong number."
        )
        example = worked_example()
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Exact bias over errors of the propensity and of the regression: 0 along both axes, "
                f"{significant(mine.total) if abs(mine.total) > 1e-14 else '0'} at errors of {odds:g} and {shift:g}."
            ),
            formulas=(
                Formula(
                    "Exact bias",
                    r"\hat\chi-\chi+P\hat{\tilde\chi}=-P(r-\hat r)(\mu-\hat\mu)+(\gamma-\hat\gamma)"
                    r"\Bigl(\tfrac{p}{\hat p}\hat e-e'\Bigr)-\tfrac12(\gamma-\hat\gamma)^2P\partial^2_\gamma f",
                    rf"{mine.product:.4g}{mine.low_dimensional:+.4g}{mine.curvature:+.4g}={mine.total:.4g}",
                    "exact",
                    "Thm 1; with noise (28)",
                ),
                Formula("Its product term", *_closed_form(scenario.target, mine.product)),
                Formula(
                    "Limit of the product",
                    r"|P(r-\hat r)(\mu-\hat\mu)|\le\lVert r-\hat r\rVert\,\lVert\mu-\hat\mu\rVert",
                    rf"{abs(mine.product):.4g}\le{mine.product_limit:.4g}",
                    "bound",
                    "locally private inference, section 6 of the source",
                ),
                Formula(
                    "Worked example with all terms",
                    r"\text{law A, ATT: }\hat\mu,\hat\pi,\hat p_1\text{ and }\hat e=-1.1\text{ all wrong}",
                    rf"{example.product:.6g}{example.low_dimensional:+.6g}{example.curvature:+.6g}"
                    rf"={example.total:.6g}",
                    "exact",
                    "Thm 1, Ex. 3 (bias); locally private inference, G15",
                ),
            ),
            assumptions=(
                *shared.ASSUMED,
                "The two models are wrong by the same amounts whatever is drawn, as if they came from another sample. "
                "(Thm 1, section 1.7)",
                "The regression is off by the same amount in both arms; where one arm errs the other way, the two "
                "parts of the bias of a difference partly cancel.",
                f"Standard errors come from the same scores; {shared.KNOWN_LAW}",
            ),
            extra={"miss": miss, "bias": mine.total, "calculated": prepared.calculated},
            runs=runs,
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        shown = ("bias", "coverage") if view in ("", "both") else (view,)
        return result.frame[result.frame["panel"].isin([PANELS[name] for name in shown])].reset_index(drop=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one map or both, or the bias along the ray to the visitor's errors."""
        x = Axis("error of the treatment model, log odds", "linear", -1.0, 1.0, symbol="propensity off by")
        y = Axis("error of the outcome model", "linear", -0.2, 0.2, symbol="regression off by")
        if view == "slice":
            return self.slice_chart(self.numbers(result, view))
        if view == "coverage":
            return Chart(
                "How often the 95% interval misses",
                "shade: misses; upwards: error of outcome model",
                x,
                y,
                (Panel((self.map(result, view),)),),
            )
        if view == "bias":
            return Chart(
                "Bias when both models are wrong",
                "shade: bias; upwards: error of the outcome model",
                x,
                y,
                (Panel((self.map(result, view),)),),
            )
        return Chart(
            "Bias, and what it does to the intervals",
            "shade: size; upwards: error of the outcome model",
            x,
            y,
            (
                Panel((self.map(result, "bias"),), "Bias, exact"),
                Panel((self.map(result, "coverage"),), "95% intervals that miss, with noise"),
            ),
            columns=2,
        )

    def map(self, result: Result, view: str) -> HeatMap:
        """Describe the map of the bias, or of how often the interval misses, over both errors."""
        scenario: Any = result.scenario
        rows = self.numbers(result, view)
        z = rows["y"].to_numpy(dtype=np.float64).reshape(SHIFTS.size, ODDS.size)
        you = (scenario.propensity_error, scenario.regression_error)
        if view == "coverage":
            return HeatMap(
                ODDS, SHIFTS, z, MISS_LEVELS, "misses", "{:.0%}", _corners(z, MISS_LEVELS[2], "misses often"),
                you, hover="{z} of the intervals miss, as a share",
            )  # fmt: skip
        return HeatMap(
            ODDS, SHIFTS, np.abs(z), BIAS_LEVELS, "bias", "{:g}", _signs(z), you, hover="bias {z}, up or down"
        )

    def slice_chart(self, rows: pd.DataFrame) -> Chart:
        """Describe how the bias grows when the errors do."""

        def curve(name: str) -> tuple[FloatArray, FloatArray]:
            part = rows[rows["series"] == name]
            return part["x"].to_numpy(dtype=np.float64), part["y"].to_numpy(dtype=np.float64)

        return Chart(
            "Bias when errors grow",
            "size of the bias, linear",
            Axis("your errors, times", "linear", symbol="errors times"),
            Axis("bias", "linear", 0.0),
            (
                Panel(
                    (
                        Line("upper bound", *curve(LIMIT), LIMIT, "limit from<br>both sizes", hover="at most {y}"),
                        Line("private", *curve(BOTH), BOTH, "both wrong", main=True, hover="both wrong: bias {y}"),
                        Line("truth", *curve(ODDS_ONLY), ODDS_ONLY, "one wrong", hover="propensity wrong: bias {y}"),
                        Line("non-private", *curve(SHIFT_ONLY), SHIFT_ONLY, hover="regression wrong: bias {y}"),
                    ),
                    here=(1.0, "you"),
                ),
            ),
        )


def _closed_form(target: str, product: float) -> tuple[str, str, Literal["exact"], str]:
    """Return the product term written out for one target: TeX, numbers, status, source."""
    treated = r"P\Bigl[\tfrac{\hat\pi-\pi}{\hat\pi}(\hat\mu_1-\mu_1)\Bigr]"
    tex = {
        "treated": treated,
        "ate": treated + r"+P\Bigl[\tfrac{\hat\pi-\pi}{1-\hat\pi}(\hat\mu_0-\mu_0)\Bigr]",
        "untreated": r"\tfrac{\hat p_1-p_1}{\hat p_1p_1}P[\pi(\hat\mu_0-\mu_0)]"
        r"+\tfrac1{\hat p_1}P\Bigl[\tfrac{(\pi-\hat\pi)(\hat\mu_0-\mu_0)}{1-\hat\pi}\Bigr]",
        "att": r"\tfrac{\hat p_1-p_1}{\hat p_1p_1}P[\pi(\hat\mu_1-\mu_1-\hat\mu_0+\mu_0)]"
        r"-\tfrac1{\hat p_1}P\Bigl[\tfrac{(\pi-\hat\pi)(\hat\mu_0-\mu_0)}{1-\hat\pi}\Bigr]",
    }[target]
    source = "Ex. 2 (bias)" if target in ("ate", "treated") else "Ex. 3 (bias)"
    return tex, rf"{product:.4g}", "exact", source


def _signs(z: FloatArray) -> tuple[tuple[float, float, str], ...]:
    """Name the corners that are well away from zero by the sign of their bias."""
    out = []
    for right, column in ((-0.75, 3), (0.75, ODDS.size - 4)):
        for up, row in ((-0.15, 3), (0.15, SHIFTS.size - 4)):
            value = float(z[row, column])
            if abs(value) > BIAS_LEVELS[1]:
                out.append((right, up, "too high" if value > 0 else "too low"))
    return tuple(out)


def _corners(z: FloatArray, level: float, words: str) -> tuple[tuple[float, float, str], ...]:
    return tuple(
        (right, up, words)
        for right, column in ((-0.75, 3), (0.75, ODDS.size - 4))
        for up, row in ((-0.15, 3), (0.15, SHIFTS.size - 4))
        if float(z[row, column]) > level
    )
