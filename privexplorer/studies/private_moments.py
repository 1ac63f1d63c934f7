"""What does a regression coefficient cost if its column is swapped for noise? (7.15; Prop. 2, Cor. 2 to 5, Ex. 10)."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    LAW_C,
    AlphaIdentity,
    GaussianNoise,
    Linear,
    PrivateDesign,
    SlopeLaw,
    UniformNoise,
    exponential_representer,
    linear_slope_variance,
    normal_quantile,
    private_design,
    private_logistic,
    private_moments,
)
from privexplorer.data import Tables
from privexplorer.errors import PrivExplorerError
from privexplorer.records import Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _effects as effects
from privexplorer.studies._effects import KeepProbability
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Mark, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, ratio, significant

RECORDS, MOST = 80_000, 16
"""People drawn in one block, and the most data sets in one."""
RATE_BLOCKS = 24
"""The first blocks draw one data set each for the rates."""
KEEPS = (0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
FEWEST, MOST_FIRST, STEPS = 1_000, 5_000, (1, 4, 16)
"""The rates view starts with so many people at least and at most, and goes on to four and sixteen times as many."""
FIXED_SHARES = (0.2, 0.5, 1.0)
"""γ₀ of Ex. 10: any number above 0 gives the same coefficients."""
SIMULATED, ONE_SAMPLE, RATES = 1, 2, 3
"""Random streams."""
CURVE, POINTS, LIMIT = "standard error, formula", "simulated", "limit, √T/α"
PRIVATE, NAIVE, NAIVE_POINTS = "private", "naive, formula", "naive, simulated"
PANELS = {
    "error": "standard error",
    "value": "estimate",
    "representer": "loss of the weights",
    "regression": "regression line",
    "weights": "weights of the effect",
}
OPEN = "open data"
REFERENCE = "falls like 1/√n"
WIDTH = 61
"""Points of a loss curve."""


class PrivateMomentsScenario(Scenario):
    """A straight line with a private column, and how much of it is kept."""

    keep: KeepProbability = 0.5
    n: Annotated[int, Number] = field(
        5_000,
        "People n",
        "How many people each data set has.",
        key="n",
        group="Data",
        scale="log",
        low=200,
        high=20_000,
        ge=200,
        le=50_000,
    )
    slope: Annotated[float, Number] = field(
        2.0, "True slope b", "The outcome is b times the private column plus noise.", key="b", group="Data",
        ge=-20, le=20,
    )  # fmt: skip
    outcome_std: Annotated[float, Number] = field(
        1.0, "Spread of the outcome σ", "Around the line.", key="sd", group="Data", ge=0.05, le=20
    )
    noise_std: Annotated[float, Number] = field(
        1.0,
        "Spread of the noise τ",
        "Of what is shown instead of the private value, whose own spread is 1; public.",
        key="tau",
        group="Privacy",
        ge=0.05,
        le=5,
    )
    trials: Trials = 320
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """One data set analysed by private moments, and the loss of the weights on another."""

    n: int
    keep: float
    slope: float
    outcome_std: float
    noise_std: float
    seed: int
    estimate: float
    std_error: float
    flags: tuple[str, ...]
    theta: FloatArray
    """Coefficient of x at the minimum, one for each γ₀; NaN where the loss has no minimum."""
    grid: FloatArray
    losses: FloatArray
    """Excess loss along the coefficient of x, (γ₀, grid)."""


def block_size(n: int) -> int:
    """Return how many data sets of n people a block holds.

    Examples
    --------
    >>> block_size(1_000), block_size(20_000), block_size(50_000)
    (16, 4, 2)
    """
    return max(2, min(MOST, RECORDS // n))


def slopes(y: FloatArray, z: FloatArray, keep: float, noise_std: float) -> tuple[FloatArray, FloatArray]:
    """Private slopes and their standard errors for many data sets at once, (R, n) to (R,) each (Prop. 2).

    The same numbers as ``private_moments`` with a constant and x, and noise N(0, τ²).
    """
    n, second = y.shape[1], noise_std**2
    odds = (1 - keep) / keep
    mean, outcome = z.mean(axis=1) / keep, y.mean(axis=1)
    spread = (z * z).mean(axis=1) / keep - odds * second - mean**2
    slope = ((z * y).mean(axis=1) / keep - mean * outcome) / spread
    level = outcome - slope * mean
    off = (y - level[:, None] - slope[:, None] * z) / keep
    flat = y - level[:, None]
    first = off - odds * flat  # Q⁻¹ of the residual
    moment = off * z + odds * (slope * second)[:, None]  # Q⁻¹ of the residual times x
    score = (moment - mean[:, None] * first) / spread[:, None]
    return slope, np.sqrt((score * score).mean(axis=1) / n)


def rate_sizes(n: int, keep: float) -> tuple[int, int, int]:
    """Return the numbers of people of the rates view: about the visitor's, and enough for the noise at the first.

    Examples
    --------
    >>> rate_sizes(5_000, 0.5), rate_sizes(200, 0.3)
    ((1250, 5000, 20000), (2778, 11112, 44448))
    """
    first = min(max(FEWEST, n // 4, math.ceil(250 / keep**2)), MOST_FIRST)
    return (first * STEPS[0], first * STEPS[1], first * STEPS[2])


def rate_name(keep: float) -> str:
    """Name the private series of the rates view."""
    return f"private, α = {keep:g}"


def rate_errors(prepared: Prepared, block: int) -> FloatArray:
    """Errors of the fitted line and of the log odds of treatment, ``(2, open or private, sizes)``, each in L₂.

    The line is the visitor's, the treatment that of law C; NaN where moments have no solution.
    """
    rng = block_rng(prepared.seed, block, RATES)
    sizes = rate_sizes(prepared.n, prepared.keep)
    size = sizes[-1]
    _, d, x = LAW_C.sample(size, rng)
    noise, coin = rng.uniform(-1, 1, size), rng.random(size)
    y, cause = SlopeLaw(prepared.slope, 0.0, prepared.outcome_std).sample(size, rng)
    swapped = prepared.noise_std * rng.standard_normal(size)
    treated = d.astype(np.float64)
    points, p, _ = LAW_C.table()
    basis = Linear()
    at = basis.evaluate(points)
    odds = np.exp(LAW_C.log_odds(points))
    out = np.full((2, 2, len(sizes)), np.nan)
    for row, keep in enumerate((1.0, prepared.keep)):
        normal = AlphaIdentity(keep, GaussianNoise(0.0, prepared.noise_std))
        even = AlphaIdentity(keep, UniformNoise(-1.0, 1.0))
        for column, n in enumerate(sizes):
            z, shown = (np.where(coin < keep, *pair)[:n] for pair in ((cause, swapped), (x, noise)))
            with contextlib.suppress(PrivExplorerError):
                line = private_moments(private_design(normal, z, basis), y[:n]).coefficients
                out[0, row, column] = math.hypot(line[0], line[1] - prepared.slope)  # the cause is N(0, 1)
            with contextlib.suppress(PrivExplorerError):
                theta = private_logistic(private_design(even, shown, basis), treated[:n]).coefficients
                weights = np.exp(np.minimum(np.sum(at * theta, axis=1), 8.0))
                out[1, row, column] = math.sqrt(float(np.sum(p[0] * (weights - odds) ** 2) / p[0].sum()))
    return out


class PrivateMoments(Study[PrivateMomentsScenario]):
    """Standard error of a slope, its naive version, and the weights of an effect by their own loss."""

    id: ClassVar[str] = "private-moments"
    question: ClassVar[str] = "How sure is a regression coefficient if its column was swapped?"
    lead: ClassVar[str] = (
        "Ordinary regression on swapped values is pulled towards 0. Correcting every moment for the noise brings the "
        "true coefficient back, at a price that is known exactly."
    )
    tab: ClassVar[str] = "Regression"
    card: ClassVar[str] = "A slope from a swapped column: its standard error, and what ignoring the noise does."
    link: ClassVar[str] = "Correct a regression"
    theme: ClassVar[str] = "effects"
    picture: ClassVar[str] = "fan"
    scenario: ClassVar[type[Scenario]] = PrivateMomentsScenario
    late: ClassVar[frozenset[str]] = frozenset({"trials"})
    views: ClassVar[Mapping[str, str]] = {
        "error": "Standard error",
        "value": "Estimate",
        "representer": "Weights of an effect",
        "rates": "More people",
    }
    rows: ClassVar[tuple[str, ...]] = (
        "L-P2", "L-X7", "L-A3", "L-L7", "L-E51", "L-C3", "L-E52", "L-Ex10", "L-C4", "L-C5",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[PrivateMomentsScenario], ...]:
        """Finished examples."""
        make = PrivateMomentsScenario
        return (
            Preset("Half are swapped", make()),
            Preset("Four of five are swapped", make(keep=0.2, n=20_000)),
            Preset("Wide noise", make(noise_std=2.0)),
            Preset("Narrow noise", make(noise_std=0.3, keep=0.3)),
            Preset("A weak slope", make(slope=0.3)),
        )

    def blocks(self, scenario: PrivateMomentsScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, block_size(scenario.n))

    # ---- prepare and blocks ----

    def prepare(self, scenario: PrivateMomentsScenario, tables: Tables | None) -> Prepared:
        """Analyse one data set, and draw the loss of the weights on law C."""
        rng = block_rng(scenario.seed, 0, ONE_SAMPLE)
        size = min(scenario.n, 20_000)
        noise = GaussianNoise(0.0, scenario.noise_std)
        mechanism = AlphaIdentity(scenario.keep, noise)
        y, x = SlopeLaw(scenario.slope, 0.0, scenario.outcome_std).sample(size, rng)
        z = np.where(rng.random(size) < scenario.keep, x, noise.sample(size, rng))
        flags: tuple[str, ...] = ()
        estimate = std_error = math.nan
        try:
            found = private_moments(private_design(mechanism, z, Linear()), y)
            flags = found.flags
            estimate, std_error = float(found.coefficients[1]), float(found.std_error[1])
        except PrivExplorerError as error:
            flags = (str(error),)
        theta, grid, losses = self.loss_curves(scenario.keep, size, rng)
        return Prepared(
            scenario.n, scenario.keep, scenario.slope, scenario.outcome_std, scenario.noise_std, scenario.seed,
            estimate, std_error, flags, theta, grid, losses,
        )  # fmt: skip

    def loss_curves(
        self, keep: float, size: int, rng: np.random.Generator
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Minimum and course of the loss of Ex. 10 on one data set of law C, for several γ₀."""
        _, d, x = LAW_C.sample(size, rng)
        shown = np.where(rng.random(size) < keep, x, rng.uniform(-1, 1, size))
        design = private_design(AlphaIdentity(keep, UniformNoise(-1.0, 1.0)), shown, Linear())
        treated = d.astype(np.float64)
        start = private_logistic(design, treated).coefficients
        best, theta = start, np.full(len(FIXED_SHARES), np.nan)
        for place, share in enumerate(FIXED_SHARES):
            try:
                best = exponential_representer(design, treated, share).coefficients
                theta[place] = best[1]
            except PrivExplorerError:
                continue
        grid = best[1] + np.linspace(-0.9, 0.9, WIDTH)
        plain = np.array([_loss(design, treated, np.array([best[0], one])) for one in grid])
        middle = _loss(design, treated, best)
        losses = np.stack([(plain - middle) / share**2 for share in FIXED_SHARES])
        return theta, grid, losses

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw data sets; return ``(data sets, 3, points)``: private slope, covered or not, naive slope; then rates.

        The last points hold the errors of the rates view, one draw for each block, NaN in the other rows.
        """
        rng = block_rng(prepared.seed, block, SIMULATED)
        size = (block_size(prepared.n), prepared.n)
        x = rng.standard_normal(size)
        y = prepared.slope * x + prepared.outcome_std * rng.standard_normal(size)
        noise, coin = prepared.noise_std * rng.standard_normal(size), rng.random(size)
        rates = 2 * len(STEPS)
        out = np.full((size[0], 3, len(KEEPS) + rates), np.nan)
        centre = y - y.mean(axis=1, keepdims=True)
        for column, keep in enumerate(KEEPS):
            z = np.where(coin < keep, x, noise)
            slope, error = slopes(y, z, keep, prepared.noise_std)
            away = z - z.mean(axis=1, keepdims=True)
            out[:, 0, column] = slope
            out[:, 1, column] = np.abs(slope - prepared.slope) <= normal_quantile(0.95) * error
            out[:, 2, column] = (away * centre).sum(axis=1) / (away * away).sum(axis=1)
        if block < RATE_BLOCKS:
            out[0, :2, len(KEEPS) :] = rate_errors(prepared, block).reshape(2, rates)
        return out

    # ---- assemble ----

    def assemble(self, scenario: PrivateMomentsScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Turn slopes and errors into curves and words."""
        drawn = stacked(parts, scenario.trials)
        runs = drawn.shape[0]
        keeps = np.array(KEEPS)
        count = keeps.size
        private, naive = drawn[:, 0, :count], drawn[:, 2, :count]
        grid = effects.keep_grid(scenario.keep)
        variance = self.variance(scenario, grid)
        limit = self.limit(scenario)
        spread = private.std(axis=0, ddof=1)
        # the standard error of a standard deviation, from the fourth moment
        fourth = np.mean((private - private.mean(axis=0)) ** 4, axis=0) / np.maximum(spread, 1e-300) ** 4
        around = spread * np.sqrt(np.maximum(fourth - 1, 0.1) / (4 * runs))
        naive_curve = np.array([self.naive(scenario, float(keep)) for keep in grid])
        root = math.sqrt(scenario.n)
        frame = [
            tidy(
                [
                    (CURVE, grid, np.sqrt(variance) / root, 0.0),
                    (LIMIT, grid, math.sqrt(limit) / grid / root, 0.0),
                    (POINTS, keeps, spread, around),
                ],
                panel=PANELS["error"],
            ),
            tidy(
                [
                    (PRIVATE, keeps, private.mean(axis=0), spread / math.sqrt(runs)),
                    (NAIVE, grid, naive_curve, 0.0),
                    (NAIVE_POINTS, keeps, naive.mean(axis=0), naive.std(axis=0, ddof=1) / math.sqrt(runs)),
                ],
                panel=PANELS["value"],
            ),
            tidy(
                [
                    (share_name(share), prepared.grid, prepared.losses[row], 0.0)
                    for row, share in enumerate(FIXED_SHARES)
                ],
                panel=PANELS["representer"],
            ),
            *self.rates(scenario, drawn[:, :2, count:]),
        ]
        nearest = int(np.argmin(np.abs(np.log(keeps / scenario.keep))))
        covered = float(drawn[:, 1, nearest].mean())
        return self.told(
            scenario, prepared, pd.concat(frame, ignore_index=True), runs, (KEEPS[nearest], covered),
            (float(spread[nearest]), float(around[nearest])),
        )  # fmt: skip

    def rates(self, scenario: PrivateMomentsScenario, drawn: FloatArray) -> list[pd.DataFrame]:
        """Rows of the rates view: root mean square errors over the draws with a solution, and the line 1/√n."""
        held = drawn[np.isfinite(drawn).any(axis=(1, 2))].reshape(-1, 2, 2, len(STEPS))
        sizes = np.array(rate_sizes(scenario.n, scenario.keep), dtype=np.float64)
        found = np.isfinite(held)
        count = found.sum(axis=0)
        many = np.maximum(count, 1)
        square = np.where(found, held, 0.0) ** 2
        average = square.sum(axis=0) / many
        mean = np.where(count > 0, np.sqrt(average), np.nan)
        away = np.where(found, square - average, 0.0)
        spread = np.sqrt(np.sum(away**2, axis=0) / np.maximum(count - 1, 1))
        fault = np.where(count > 1, spread / np.sqrt(many) / (2 * np.maximum(np.sqrt(average), 1e-300)), 0.0)
        out = []
        for place, panel in enumerate(("regression", "weights")):
            rows: list[tuple[str, Any, Any, Any]] = [
                (name, sizes, mean[place, row], fault[place, row])
                for row, name in enumerate((OPEN, rate_name(scenario.keep)))
            ]
            rows.append((REFERENCE, sizes, mean[place, 0, -1] * np.sqrt(sizes[-1] / sizes), 0.0))
            out.append(tidy(rows, panel=PANELS[panel]))
        return out

    def variance(self, scenario: PrivateMomentsScenario, keep: FloatArray) -> FloatArray:
        """Return n times the variance of the private slope."""
        return np.asarray(linear_slope_variance(scenario.slope, scenario.outcome_std, scenario.noise_std, keep))

    def limit(self, scenario: PrivateMomentsScenario) -> float:
        """Limit of α² times the variance as α falls to 0."""
        tiny = 1e-7
        return float(tiny**2 * self.variance(scenario, np.array(tiny)))

    def naive(self, scenario: PrivateMomentsScenario, keep: float) -> float:
        """Slope on the shown values."""
        law = SlopeLaw(scenario.slope, 0.0, scenario.outcome_std)
        return law.naive_slope(AlphaIdentity(keep, GaussianNoise(0.0, scenario.noise_std)))

    def told(
        self,
        scenario: PrivateMomentsScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        runs: int,
        covered: tuple[float, float],
        simulated: tuple[float, float],
    ) -> Result:
        """Add cards, words and formulas."""
        keep, n = scenario.keep, scenario.n
        here, open_data = (float(self.variance(scenario, np.array(at))) for at in (keep, 1.0))
        error, naive = math.sqrt(here / n), self.naive(scenario, keep)
        times, limit = here / open_data, self.limit(scenario)
        share = 2 * math.sqrt(covered[1] * (1 - covered[1]) / runs)
        known = prepared.theta[np.isfinite(prepared.theta)]
        same = (
            f"coefficient {significant(float(known[0]), 4)} for every γ₀"
            if known.size
            else "no minimum in this data set"
        )
        at = covered[0]
        cards = (
            Card("Standard error", significant(error), f"at α = {keep:g}"[:18], "By the exact formula, for n people."),
            Card("People needed", ratio(times), "against open data", "Variance with noise over variance without."),
            Card(
                "Naive slope",
                significant(naive),
                f"truth {scenario.slope:g}"[:18],
                "What ordinary regression on the shown values tends to, however many people there are.",
            ),
            Card(
                "Coverage of b",
                percent(covered[1]),
                f"± {percent(share)}, α = {at:g}"[:18],
                f"Share of simulated 95% intervals that hold the true slope, at α = {at:g}.",
            ),
        )
        spread = f"{significant(simulated[0])} ± {significant(2 * simulated[1], 2)}"
        one = (
            f" One data set gives {significant(prepared.estimate)} ± {significant(2 * prepared.std_error, 2)}."
            if math.isfinite(prepared.estimate)
            else ""
        )
        lost = abs(scenario.slope - naive)
        shows = (
            f"With **{n:,} people** and **{percent(keep)}** of the values true, the private slope has a standard "
            f"error of **{significant(error)}**, {ratio(math.sqrt(times))} that of open data; {runs:,} simulated data "
            f"sets at α = {at:g} give {spread}.{one} "
            f"Taking the shown values for true gives **{significant(naive)}**, off by {significant(lost)} for ever. "
            "The formula is for large samples: with few people or little kept, slopes scatter more."
        )
        notes = [Note(f"{effects.ONE_COLUMN} {effects.CONTINUOUS_LEAK}", title="What is protected")]
        notes[:0] = [Note(words, "warning", "This data set") for words in prepared.flags]
        if known.size < prepared.theta.size:
            notes.append(
                Note(
                    "The loss of the weights has no minimum in this data set: noise bends it downwards. The logistic "
                    "moments have a solution more often; take more people or a larger α.",
                    "warning",
                    "Weights of an effect",
                )
            )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Standard error of a private slope against the keep probability: {significant(error)} at {keep:g}. "
                f"The naive slope is {significant(naive)} where {scenario.slope:g} is true."
            ),
            notes=tuple(notes),
            formulas=(
                Formula(
                    "Private moments",
                    r"\mathbb P_nQ^{-1}\phi_{\check\theta}=0,\qquad "
                    r"\bar\Sigma=\dot\Phi^{-1}\bar\Phi\dot\Phi^{-\top},\quad"
                    r"\bar\Phi=P_{VZ}\bar\phi\bar\phi^\top",
                    rf"n\,\mathrm{{Var}}\,\check b\to\bar\Sigma_{{22}}={here:.6g}",
                    "exact",
                    "Prop. 2; at α = 1 Lemma 7",
                ),
                Formula(
                    "Variance of a slope",
                    r"\bar\Sigma_{22}=\sigma^2+\tfrac{1-\alpha}\alpha(\sigma^2+b^2\tau^4)+\tfrac{1-\alpha}{\alpha^2}"
                    r"\{(b^2+\sigma^2)\tau^2+2b^2\tau^4\}",
                    rf"\alpha={keep:g},\ b={scenario.slope:g},\ \sigma={scenario.outcome_std:g},\ "
                    rf"\tau={scenario.noise_std:g}:\quad{here:.6g}",
                    "exact",
                    "locally private inference §2.8, derived",
                ),
                Formula(
                    "Growth as less is kept",
                    r"\alpha^2\bar\Sigma_{22}\to(b^2+\sigma^2)\tau^2+2b^2\tau^4",
                    rf"{limit:.6g}",
                    "exact",
                    "text before Prop. 2; derived",
                ),
                Formula(
                    "Naive slope",
                    r"\frac{\mathrm{Cov}(Z,Y)}{\mathrm{Var}\,Z}=\frac{\alpha\,b}{\alpha+(1-\alpha)\tau^2}",
                    rf"{naive:.6g}",
                    "exact",
                    "derived",
                ),
                Formula(
                    "Weights of the effect on the treated",
                    r"r_{\gamma,\theta}=\gamma^{-1}\{d-(1-d)e^{\theta^\top b(x)}\},\qquad"
                    r"\Xi_\theta=r_{\gamma_0,\theta}^2-2f(\cdot,r_{\gamma_0,\theta},\gamma_0)",
                    rf"\gamma_0\in\{{0.2,\,0.5,\,1\}}:\ \text{{{same}}}",
                    "exact",
                    "Ex. 10, (52)–(54)",
                ),
                Formula(
                    "Rates",
                    r"\|\mu_{\check\theta}-\mu\|=O(n^{-1/2}),\qquad\|r_{\check\gamma,\check\theta}-r\|=O(n^{-1/2})",
                    "",
                    "shape only",
                    "Cor. 2 to 5",
                ),
            ),
            assumptions=(
                "Each private value is kept with probability α and otherwise replaced by noise N(0, τ²), before "
                "anybody sees it. (15)",
                "Private value and noise of the outcome are normal, the line is straight; the method needs only a "
                "minimum inside the range of parameters and a Jacobian that can be inverted. (Assumption 3)",
                "Moments are solved exactly; being off by less than n^(−1/2) is enough. (Prop. 2, erratum E5)",
                "The line in “More people” is yours, with your b, σ, τ and α; weights are those of law C at your α: "
                "logistic treatment with log odds 0.3 + x, even noise. (locally private inference §6.2)",
                effects.KNOWN_LAW,
            ),
            extra={"theta": prepared.theta.tolist(), "estimate": prepared.estimate, "covered": covered[1]},
            runs=runs,
        )

    # ---- numbers and charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        panels = ("regression", "weights") if view == "rates" else (view or "error",)
        wanted = [PANELS[name] for name in panels]
        return result.frame[result.frame["panel"].isin(wanted)].reset_index(drop=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the standard error, the estimates, the loss or the rates."""
        scenario: Any = result.scenario
        x = Axis("keep probability α", "log", ends=("more private", "more accurate"), symbol="α")
        here = (scenario.keep, f"your α = {scenario.keep:g}")
        if view == "representer":
            return self.loss_chart(result)
        if view == "rates":
            return self.rates_chart(result)
        if view == "value":
            marks: tuple[Mark, ...] = (
                _line(result, NAIVE, "attacker", "naive,<br>swapped", "naive: {y}"),
                _points(result, NAIVE_POINTS, "attacker", "naive, simulated: {y} ± {e}"),
                _line(result, PRIVATE, "private", "private", "private, mean: {y} ± {e}", main=True, markers=True),
            )
            return Chart(
                "Estimated slope",
                "mean over simulated data sets, ± 2 s.e.",
                x,
                Axis("slope", "linear"),
                (Panel(marks, here=here, level_lines=((scenario.slope, f"true slope {scenario.slope:g}"),)),),
            )
        level = scenario.outcome_std / math.sqrt(scenario.n)
        marks = (
            _line(result, LIMIT, "upper bound", "limit, 1/α", "limit for small α: {y}"),
            _line(result, CURVE, "private", "private,<br>formula", "formula: {y}", main=True),
            _points(result, POINTS, "data", "simulated: {y} ± {e}"),
        )
        return Chart(
            "Standard error of a private slope",
            f"{scenario.n:,} people, log scale",
            x,
            Axis("standard error", "log"),
            (Panel(marks, here=here, level_lines=((level, "open data"),)),),
        )

    def loss_chart(self, result: Result) -> Chart:
        """Describe the loss of the weights along one coefficient, for several γ₀."""
        looks: tuple[tuple[Role, str], ...] = (("private", "γ₀ = 0.2"), ("data", "γ₀ = 0.5"), ("local", "γ₀ = 1"))
        marks = []
        for share, (role, label) in zip(FIXED_SHARES, looks, strict=True):
            name = share_name(share)
            marks.append(_line(result, name, role, label, f"{label}: {{y}} above the least"))
        theta = np.array(result.extra["theta"])
        known = theta[np.isfinite(theta)]
        here = (float(known[0]), f"least at {significant(float(known[0]), 3)}") if known.size else None
        return Chart(
            "Loss of the weights of an effect",
            "above its least value; truth: 1; Ex. 10",
            Axis("coefficient of x in the log odds", "linear", symbol="coefficient"),
            Axis("excess loss", "linear"),
            (Panel(tuple(marks), here=here),),
        )

    def rates_chart(self, result: Result) -> Chart:
        """Describe how errors fall with the number of people."""
        scenario: Any = result.scenario
        x = Axis("people n", "log", symbol="n")
        private, sizes = rate_name(scenario.keep), rate_sizes(scenario.n, scenario.keep)
        here = (float(scenario.n), f"your n = {scenario.n:,}") if sizes[0] <= scenario.n <= sizes[-1] else None
        panels = []
        for key in ("regression", "weights"):
            panel = PANELS[key]
            marks = (
                _line(result, REFERENCE, "truth", "like 1/√n", "like 1/√n: {y}", panel=panel),
                _line(
                    result, OPEN, "non-private", "open data", "open: {y} ± {e}", panel=panel, markers=True
                ),
                _line(
                    result, private, "private", f"private,<br>α = {scenario.keep:g}", "private: {y} ± {e}",
                    panel=panel, markers=True, main=True,
                ),
            )  # fmt: skip
            panels.append(Panel(marks, title=panel.capitalize(), here=here))
        return Chart(
            "Error of a fitted line and of fitted weights",
            "root mean square; weights: law C; log scale",
            x,
            Axis("error", "log"),
            tuple(panels),
            columns=2,
            names=(private, OPEN, REFERENCE),
        )


def share_name(share: float) -> str:
    """Name a loss curve by its γ₀."""
    return f"loss at γ₀ = {share:g}"


def _loss(design: PrivateDesign, treated: FloatArray, theta: FloatArray) -> float:
    """Loss of Ex. 10 without the factor 1/γ₀²; the basis starts with the constant."""
    here, there = np.exp(design.predict(theta)), np.exp(design.predict_nodes(theta))
    return float(design.moment(1 - treated, here**2, there**2)[0] - 2 * design.moment(treated, here, there)[0])


def _line(
    result: Result, name: str, role: Role, label: str, hover: str, *, panel: str | None = None, **more: Any
) -> Line:
    rows = result.series(name, panel)
    x, y, error = (rows[column].to_numpy(dtype=np.float64) for column in ("x", "y", "std_error"))
    return Line(role, x, y, name, label, error if np.any(error > 0) else None, hover=hover, **more)


def _points(result: Result, name: str, role: Role, hover: str) -> Points:
    rows = result.series(name)
    x, y, error = (rows[column].to_numpy(dtype=np.float64) for column in ("x", "y", "std_error"))
    return Points(role, x, y, name, None, y - 2 * error, y + 2 * error, hover=hover)


__all__ = ["PrivateMoments", "PrivateMomentsScenario"]
