"""A curve of a private number: kernel, series and representer series under noise (Prop. 3, Ex. 11 to 13; view 7.9)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.causal import (
    ATE,
    AlphaIdentity,
    CurveLaw,
    GaussianNoise,
    Legendre,
    UniformNoise,
    constant_under_raw_density,
    kernel_error_parts,
    kernel_rate_exponent,
    kernel_regression,
    normal_quantile,
    rule_of_thumb_bandwidth,
    series_error_parts,
    series_rates,
    series_regression,
    series_representer,
)
from privexplorer.causal.kernel import ErrorParts
from privexplorer.data import Tables
from privexplorer.records import Number, Record, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _effects as shared
from privexplorer.studies._effects import KeepProbability
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Mark, Panel, Points, Role, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, significant

RANGE = (-1.0, 1.0)
GRID = np.round(np.linspace(-1.0, 1.0, 81), 9)
POINTS = np.round(np.linspace(-0.95, 0.95, 39), 9)
"""Where simulated curves are compared with the truth; the outermost twentieth is left out, where a kernel falls off."""
SIZES = (1_000, 3_000)
"""Sample sizes of the simulation."""
ANCHORS = (1.0, 0.5, 0.25)
"""Keep probabilities that are always simulated."""
DENSITY_SIZE = 4
SMOOTHNESS = np.round(np.linspace(0.5, 6.0, 23), 6)
TRUTH, NAIVE, PRIVATE = "truth", "noise ignored", "private"
VARIANCE, SQUARED_BIAS, DENSITY = "variance", "squared bias", "density error"
PANELS = {"curve": "one data set", "parts": "parts of the error", "variance": "variance of the curve", "rates": "rates"}
SIMULATED, EXACT = "simulated variance", "variance, known density"


def wave(x: FloatArray) -> FloatArray:
    """1 + sin 3x."""
    return np.asarray(1 + np.sin(3 * x))


def line(x: FloatArray) -> FloatArray:
    """1 + x."""
    return np.asarray(1 + x)


def threshold(x: FloatArray) -> FloatArray:
    """Rise from 0.5 to 1.5 around 0."""
    return np.asarray(1 + 0.5 * np.tanh(6 * x))


CURVES: dict[str, Callable[[FloatArray], FloatArray]] = {"wave": wave, "line": line, "step": threshold}


def treated(x: FloatArray) -> FloatArray:
    """Chance of treatment at x, for the representer."""
    return np.asarray(1 / (1 + np.exp(-0.3 - x)))


class KernelCurve(Record):
    """Private kernel average around every x."""

    kind: Literal["kernel"] = "kernel"
    title: ClassVar[str] = "Kernel"
    formula: ClassVar[str] = (
        r"\check\mu(x)=\frac{\frac1n\sum_i\{\frac1\alpha K_h(x-Z_i)Y_i-\frac{1-\alpha}\alpha(K_h*\bar q)(x)Y_i\}}"
        r"{\check p(x)}"
    )
    source: ClassVar[str] = "Ex. 11, (23)-(24)"
    bandwidth: Annotated[float, Number] = field(
        0.12, "Bandwidth h", "Small: wiggly. Large: flat.", key="h", scale="log", low=0.02, high=0.6, ge=0.01, le=2
    )


class SeriesCurve(Record):
    """Private series of polynomials; the density of X is taken as known."""

    kind: Literal["series"] = "series"
    title: ClassVar[str] = "Series"
    formula: ClassVar[str] = (
        r"\check\mu=\sum_{j\le J}\check a_j\phi_j,\quad"
        r"\check a_j=\frac1n\sum_iQ^{-1}_{\mathcal X}\bigl[Y\phi_j/p\bigr](Y_i,Z_i)"
    )
    source: ClassVar[str] = "Ex. 12"
    size: Annotated[int, Number] = field(6, "Functions J", "Few: stiff. Many: wiggly.", key="j", ge=1, le=16)


class RepresenterCurve(Record):
    """The weights of the average effect as a private series, from the functional alone."""

    kind: Literal["representer"] = "representer"
    title: ClassVar[str] = "Representer series"
    formula: ClassVar[str] = (
        r"\check r=\sum_{j\le J}\check a_j\phi_j,\quad"
        r"\check a_j=\frac1n\sum_iQ^{-1}_{\mathcal X}\bigl[f(\cdot,\phi_j/p_{DX},\gamma)\bigr](V_i,Z_i)"
    )
    source: ClassVar[str] = "Ex. 13"
    size: Annotated[int, Number] = field(4, "Functions J", "Few: stiff. Many: wiggly.", key="j", ge=1, le=10)


AnyMethod: TypeAlias = KernelCurve | SeriesCurve | RepresenterCurve


class PrivateCurvesScenario(Scenario):
    """A curve, people, noise and a method."""

    curve: Literal["wave", "line", "step"] = field(
        "wave",
        "True curve",
        "Mean outcome at each value of the private number, which lies between −1 and 1.",
        key="curve",
        group="Data",
        titles={"wave": "A wave", "line": "A straight line", "step": "A soft step"},
    )
    n: Annotated[int, Number] = field(
        4_000, "People n", "In the one data set that is drawn.", key="n", group="Data", scale="log", low=200,
        high=20_000, ge=50, le=50_000,
    )  # fmt: skip
    outcome_std: Annotated[float, Number] = field(
        0.5, "Spread of the outcome", "Standard deviation around the curve.", key="spread", group="Data", ge=0, le=5,
        advanced=True,
    )  # fmt: skip
    keep_probability: KeepProbability = 0.5
    method: Annotated[AnyMethod, Field(discriminator="kind")] = field(
        KernelCurve(),
        "Method",
        "Each becomes private by putting signed weights in place of the records.",
        key="method",
        group="Method",
        discriminator="kind",
    )
    trials: Trials = 24
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """One data set's curves, the exact parts of the error, and what all blocks share."""

    law: CurveLaw
    method: AnyMethod
    keeps: tuple[float, ...]
    seed: int
    curves: dict[str, FloatArray]
    """Truth, fit that ignores the noise, private fit and its standard error on the grid; NaN where masked."""
    parts: dict[float, ErrorParts]
    """Exact parts at n for each keep probability; empty for the representer."""
    advised: float
    """Rule-of-thumb bandwidth for the data set."""


def mechanism_at(keep: float) -> AlphaIdentity:
    """Return truth with this probability, else an even number between -1 and 1."""
    return AlphaIdentity(keep, UniformNoise(*RANGE))


def block_size(method: AnyMethod) -> int:
    """Trials per block: a matter of the method alone."""
    return 1 if isinstance(method, RepresenterCurve) else 2


def basis_of(size: int) -> Legendre:
    """Polynomials on the range, orthonormal for length."""
    return Legendre(*RANGE, size, "length")


def truth_of(method: AnyMethod, law: CurveLaw, x: FloatArray) -> FloatArray:
    """Return what the method is after: the mean outcome, or the weight of the treated."""
    return 1 / treated(x) if isinstance(method, RepresenterCurve) else law.curve(x)


def arm_densities(law: CurveLaw) -> list[Callable[[FloatArray], FloatArray]]:
    """Densities of (D, X) in the two arms."""
    return [lambda x: law.density(x) * (1 - treated(x)), lambda x: law.density(x) * treated(x)]


def fitted(
    method: AnyMethod,
    law: CurveLaw,
    mechanism: AlphaIdentity,
    data: tuple[FloatArray, IntArray, FloatArray],
    at: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Fit a curve to outcome, treatment and released value; return it and its standard error at some points."""
    y, d, z = data
    if isinstance(method, KernelCurve):
        fit = kernel_regression(z, y, mechanism, RANGE, at=at, bandwidth=method.bandwidth)
        return np.where(fit.is_thin, np.nan, fit.regression), np.where(fit.is_thin, np.nan, fit.std_error)
    if isinstance(method, SeriesCurve):
        series = series_regression(mechanism, z, y, basis_of(method.size), law.density)
        return series.at(at), series.std_error_at(at)
    arms = series_representer(mechanism, z, d, ATE(), basis_of(method.size), arm_densities(law)).arms
    return arms[1].at(at), arms[1].std_error_at(at)


def draw(law: CurveLaw, n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray, FloatArray]:
    """Draw outcome, treatment and private number."""
    y, x = law.sample(n, rng)
    return y, (rng.random(n) < treated(x)).astype(np.int64), x


class PrivateCurves(Study[PrivateCurvesScenario]):
    """A fitted curve with its band, and what its error is made of."""

    id: ClassVar[str] = "private-curves"
    question: ClassVar[str] = "What does a curve look like through the noise?"
    lead: ClassVar[str] = (
        "Fit a mean outcome against a number that most people have swapped for noise: ignoring the noise flattens the "
        "curve, undoing it keeps the shape and widens the band."
    )
    tab: ClassVar[str] = "Curves"
    card: ClassVar[str] = "Kernel and series fits through noise, with bands and the parts of their error."
    link: ClassVar[str] = "Draw a private curve"
    theme: ClassVar[str] = "effects"
    picture: ClassVar[str] = "curve"
    scenario: ClassVar[type[Scenario]] = PrivateCurvesScenario
    late: ClassVar[frozenset[str]] = frozenset({"trials"})
    views: ClassVar[Mapping[str, str]] = {
        "curve": "The curve",
        "parts": "Parts of the error",
        "variance": "Variance and n α²",
        "rates": "Rates",
    }
    rows: ClassVar[tuple[str, ...]] = ("L-E32", "L-P3", "L-Ex11", "L-Ex11r", "L-Ex12", "L-Ex12r", "L-Ex12b", "L-Ex13")

    def presets(self) -> tuple[Preset[PrivateCurvesScenario], ...]:
        """Finished examples."""
        make = PrivateCurvesScenario
        return (
            Preset("A wave by kernel", make()),
            Preset("Much noise", make(keep_probability=0.25, n=20_000, method=KernelCurve(bandwidth=0.2))),
            Preset("By series", make(method=SeriesCurve())),
            Preset("Weights of the effect", make(method=RepresenterCurve(), n=10_000)),
        )

    def check(self, scenario: PrivateCurvesScenario, tables: Tables | None) -> tuple[str, ...]:
        """Refuse more functions than the records can tell apart: J above n α² / 10 (spec section 3)."""
        if isinstance(scenario.method, KernelCurve):
            return ()
        worth = scenario.n * scenario.keep_probability**2
        if scenario.method.size <= max(worth / 10, 1):
            return ()
        most, plural = max(math.floor(worth / 10), 1), "s" if worth >= 20 else ""
        return (
            f"{scenario.method.size} functions are too many for n α² = {significant(worth)}; at most a tenth of it can "
            f"be fitted, so choose {most} function{plural}, more people or more truth.",
        )

    def blocks(self, scenario: PrivateCurvesScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, block_size(scenario.method))

    def prepare(self, scenario: PrivateCurvesScenario, tables: Tables | None) -> Prepared:
        """Draw one data set, fit it three ways, and work out the exact parts of the error."""
        law = CurveLaw(CURVES[scenario.curve], scenario.outcome_std)
        method, keep = scenario.method, scenario.keep_probability
        mechanism, quiet = mechanism_at(keep), mechanism_at(1.0)
        rng = np.random.default_rng([scenario.seed, 7])
        y, d, x = draw(law, scenario.n, rng)
        z = mechanism.privatise(x, rng)
        private, error = fitted(method, law, mechanism, (y, d, z), GRID)
        naive, _ = fitted(method, law, quiet, (y, d, z), GRID)
        curves = {TRUTH: truth_of(method, law, GRID), NAIVE: naive, PRIVATE: private, "error": error}
        keeps = tuple(sorted({*ANCHORS, keep}, reverse=True))
        parts = (
            {} if isinstance(method, RepresenterCurve) else {a: exact_parts(method, law, a, scenario.n) for a in keeps}
        )
        advised = rule_of_thumb_bandwidth(z, mechanism, RANGE)
        return Prepared(law, method, keeps, scenario.seed, curves, parts, advised)

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Fit simulated data sets; return ``(trials, sizes × keeps, points)``, with the same people for every α."""
        rng = block_rng(prepared.seed, block)
        law, method, keeps = prepared.law, prepared.method, prepared.keeps
        out = np.empty((block_size(method), len(keeps) * len(SIZES), POINTS.size))
        for trial in range(out.shape[0]):
            row = 0
            for n in SIZES:
                y, d, x = draw(law, n, rng)
                coins, noise = rng.random(n), UniformNoise(*RANGE).sample(n, rng)
                for keep in keeps:
                    z = np.where(coins < keep, x, noise)
                    out[trial, row] = fitted(method, law, mechanism_at(keep), (y, d, z), POINTS)[0]
                    row += 1
        return out

    def assemble(self, scenario: PrivateCurvesScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put the curve, the parts of the error and the simulated variance together."""
        blocks = stacked(parts, scenario.trials)
        runs, keeps = blocks.shape[0], prepared.keeps
        weights = prepared.law.density(POINTS)
        truth = truth_of(prepared.method, prepared.law, POINTS)
        simulated: dict[tuple[float, int], tuple[float, float, float]] = {}
        for row in range(blocks.shape[1]):
            n, keep = SIZES[row // len(keeps)], keeps[row % len(keeps)]
            simulated[keep, n] = integrated(blocks[:, row, :], truth, weights)
        curves = prepared.curves
        band = normal_quantile(0.95) * curves["error"]
        frame = pd.concat(
            [
                tidy([(name, GRID, curves[name], 0.0) for name in (TRUTH, NAIVE, PRIVATE)], panel=PANELS["curve"])
                .assign(low=np.nan, high=np.nan)
                .pipe(with_band, curves[PRIVATE] - band, curves[PRIVATE] + band),
                self.parts_frame(scenario, prepared, simulated),
                self.variance_frame(prepared, scenario.n, simulated),
                rates_frame(),
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, frame, simulated, runs)

    def parts_frame(
        self,
        scenario: PrivateCurvesScenario,
        prepared: Prepared,
        simulated: dict[tuple[float, int], tuple[float, float, float]],
    ) -> pd.DataFrame:
        """Parts of Prop. 3 at n for each keep probability; for the representer simulated ones at the larger size."""
        x = np.array(prepared.keeps[::-1])
        if prepared.parts:
            found = [prepared.parts[keep] for keep in prepared.keeps[::-1]]
            rows: list[tuple[str, Any, Any, Any]] = [
                (VARIANCE, x, [part.variance for part in found], 0.0),
                (SQUARED_BIAS, x, [part.squared_bias for part in found], 0.0),
                (DENSITY, x, [part.density_error for part in found], 0.0),
            ]
        else:
            drawn = [simulated[keep, SIZES[-1]] for keep in prepared.keeps[::-1]]
            rows = [
                (VARIANCE, x, [one[0] for one in drawn], [one[1] for one in drawn]),
                (SQUARED_BIAS, x, [one[2] for one in drawn], 0.0),
            ]
        return tidy(rows, panel=PANELS["parts"])

    def variance_frame(
        self, prepared: Prepared, n: int, simulated: dict[tuple[float, int], tuple[float, float, float]]
    ) -> pd.DataFrame:
        """Integrated variance against n α²: simulated points, and exact lines with a known density."""
        rows: list[tuple[str, Any, Any, Any]] = []
        for keep in prepared.keeps:
            x = np.array([size * keep**2 for size in SIZES])
            drawn = [simulated[keep, size] for size in SIZES]
            rows.append((f"{SIMULATED}, α = {keep:g}", x, [one[0] for one in drawn], [one[1] for one in drawn]))
            if keep in prepared.parts:
                wide = np.array([SIZES[0] / 2, *SIZES, SIZES[-1] * 3])
                exact = prepared.parts[keep].variance * n / wide
                rows.append((f"{EXACT}, α = {keep:g}", wide * keep**2, exact, 0.0))
        return tidy(rows, panel=PANELS["variance"])

    def told(
        self,
        scenario: PrivateCurvesScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        simulated: dict[tuple[float, int], tuple[float, float, float]],
        runs: int,
    ) -> Result:
        """Add cards, words and formulas."""
        keep, n, curves = scenario.keep_probability, scenario.n, prepared.curves
        weights = prepared.law.density(GRID)

        def miss(name: str) -> float:
            off = curves[name] - curves[TRUTH]
            held = np.isfinite(off)
            return float(np.sqrt(np.sum(weights[held] * off[held] ** 2) / np.sum(weights[held])))

        band = normal_quantile(0.95) * curves["error"]
        held = np.isfinite(band)
        inside = float(np.mean(np.abs(curves[PRIVATE] - curves[TRUTH])[held] <= band[held]))
        size = SIZES[-1]
        noisy, quiet = simulated[keep, size], simulated[1.0, size]
        price = noisy[0] / quiet[0] if quiet[0] > 0 else float("inf")
        what = "weight of the treated" if isinstance(prepared.method, RepresenterCurve) else "mean outcome"
        cards = (
            Card(
                "Private curve off by",
                significant(miss(PRIVATE), 2),
                "one data set",
                "Root mean square over the values people have.",
            ),
            Card("Ignoring the noise", significant(miss(NAIVE), 2), "off, same records", "More people do not help."),
            Card(
                "Price in variance",
                f"{significant(price, 2)}×" if np.isfinite(price) else "–",
                f"1/α² = {significant(keep**-2, 2)}"[:18],
                f"Simulated variance of the curve at n = {size:,} over that without noise.",
            ),
            Card(
                "Squared bias",
                significant(noisy[2], 2) if noisy[2] else "about 0",
                f"{significant(quiet[2], 2) if quiet[2] else 'about 0'} no noise"[:18],
                "Simulated; noise does not change it.",
            ),
        )
        shows = (
            f"With **{n:,} people** and **α = {keep:g}**, the private {what} is off by "
            f"**{significant(miss(PRIVATE), 2)}** on average (root mean square), the one that ignores the noise by "
            f"{significant(miss(NAIVE), 2)}. The band of ± two standard errors holds the truth on {percent(inside)} of "
            f"the range in this one data set. Noise multiplies the variance of the curve by {significant(price, 2)} "
            f"(1/α² is {significant(keep**-2, 2)}) and leaves its bias alone. "
            "The band knows nothing of the bias that smoothing brings."
        )
        leak = Note(shared.CONTINUOUS_LEAK, "warning", "A number with noise on a continuous scale")
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"A {what} curve fitted through noise: the private fit is off by {significant(miss(PRIVATE), 2)}, "
                f"the one that ignores the noise by {significant(miss(NAIVE), 2)}."
            ),
            notes=(leak,) if keep < 1 else (),
            formulas=self.formulas(scenario, prepared, simulated),
            assumptions=(
                "Each person shows the private number with probability α and an even number between −1 and 1 "
                "otherwise. (15)",
                "The range is public. For the series the density of X is taken as known; an estimated one adds the "
                "part “density error”, here by four polynomials. (Ex. 12)",
                "A basis that is orthonormal for the observed values themselves is not made private here: it would "
                "need the private values. (end of Ex. 12)",
                "The private fit divides by a density that is smoothed like the numerator (E9). Dividing by a known "
                "density instead, as in the parts of the error, costs variance: simulated kernel fits lie below.",
                "Simulated curves are compared with the truth between −0.95 and 0.95; all α share the same people, "
                "coins and noise.",
                shared.ONE_COLUMN,
                shared.KNOWN_LAW,
            ),
            extra={"advised": prepared.advised},
            runs=runs,
        )

    def formulas(
        self,
        scenario: PrivateCurvesScenario,
        prepared: Prepared,
        simulated: dict[tuple[float, int], tuple[float, float, float]],
    ) -> tuple[Formula, ...]:
        """Return the estimator, its error, its rates, and the printed slip of the kernel's denominator."""
        keep, method = scenario.keep_probability, prepared.method
        out = [
            Formula(
                method.title,
                method.formula,
                rf"h={method.bandwidth:g};\ \text{{rule of thumb: }}{prepared.advised:.3g}"
                if isinstance(method, KernelCurve)
                else rf"J={method.size}",
                "exact",
                f"(32)-(33); {method.source}",
            )
        ]
        if prepared.parts:
            part = prepared.parts[keep]
            out.append(
                Formula(
                    "Bound on the integrated error in three parts",
                    r"\text{density error}+O\Bigl(\tfrac1{n^2}\textstyle\sum_i\int\bar\sigma_i^2\Bigr)"
                    r"+4\int\mathrm{bias}^2,"
                    r"\quad\bar\sigma_i^2\le\tfrac4{\alpha^2}E w^2",
                    rf"\text{{variance }}{part.variance:.3g},\ \text{{bias}}^2\ {part.squared_bias:.3g},\ "
                    rf"\text{{density }}{part.density_error:.3g}",
                    "bound",
                    "Prop. 3",
                )
            )
        constants = [rf"\alpha={a:g}:\ {simulated[a, SIZES[-1]][0] * SIZES[-1] * a**2:.3g}" for a in prepared.keeps]
        out.append(
            Formula(
                "Variance on the scale of n α²",
                r"n\alpha^2\int\mathrm{Var}\,\check\mu\ \text{stays of one order}",
                r",\quad ".join(constants),
                "shape only",
                "Ex. 11 (rate); simulated",
            )
        )
        if isinstance(method, KernelCurve):
            slip = AlphaIdentity(0.3, GaussianNoise(0.0, 0.5))
            values = [constant_under_raw_density(x, slip, 0.3) for x in (0.0, 1.0)]
            out.append(
                Formula(
                    "A constant outcome, as printed and corrected",
                    r"Y\equiv1:\quad \check\mu\to\frac{K_h*p}{K_h*p+\frac{1-\alpha}\alpha(K_h*\bar q-\bar q)}",
                    rf"x=0:\ {values[0]:.3g}\text{{ printed}},\ x=1:\ {values[1]:.3g}\text{{ printed}};\quad "
                    r"1\text{ corrected}\ (\alpha=.3,h=.3)",
                    "exact",
                    "(23)-(24), E9",
                )
            )
        known, rough = series_rates(2.0, 0.5), series_rates(2.0, 0.25)
        out.append(
            Formula(
                "Rates of the series",
                r"n^{-2\beta/(2\beta+1)}\text{ with }J\sim n^{1/(2\beta+1)};\quad"
                r"\text{exponents}\times2a\text{ if the density errs like }(\log n/n)^a",
                rf"\beta=2:\ {known.known_rate:g},\ {known.known_size:g};\quad "
                rf"a=\tfrac14:\ {rough.rate:g},\ {rough.size:g}",
                "shape only",
                "Ex. 12, (25); E21",
            )
        )
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        return result.frame[result.frame["panel"] == PANELS[view or "curve"]].reset_index(drop=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one view."""
        if view == "parts":
            return self.parts_chart(result)
        if view == "variance":
            return self.variance_chart(result)
        if view == "rates":
            return self.rates_chart(result)
        scenario: Any = result.scenario
        weight = isinstance(scenario.method, RepresenterCurve)
        rows = result.series(PRIVATE, PANELS["curve"])
        low, high = (rows[name].to_numpy(dtype=np.float64) for name in ("low", "high"))
        held = np.isfinite(low) & np.isfinite(high)
        middle = result.series(TRUTH, PANELS["curve"])["y"].to_numpy(dtype=np.float64)
        reach = max(1.0, float(np.ptp(middle)))
        floor, top = float(middle.min()) - 1.2 * reach, float(middle.max()) + 1.2 * reach
        marks: list[Mark] = [
            Spread(
                "private", GRID[held], np.clip(low[held], floor, top), np.clip(high[held], floor, top),
                "19 of 20, at each x",
            )
        ]  # fmt: skip
        looks: tuple[tuple[str, Role, str], ...] = (
            (TRUTH, "truth", "truth"), (NAIVE, "non-private", "noise<br>ignored"), (PRIVATE, "private", "private"),
        )  # fmt: skip
        for name, role, label in looks:
            part = result.series(name, PANELS["curve"])
            y = part["y"].to_numpy(dtype=np.float64)
            y = np.where((y >= floor) & (y <= top), y, np.nan)
            marks.append(Line(role, GRID, y, name, label, main=role == "private", hover=f"{name}: {{y}}"))
        return Chart(
            "Weight of a treated person" if weight else "Mean outcome against the private number",
            f"one sample of {scenario.n:,}; band: 19 of 20 at each x",
            Axis("private number x", "linear", symbol="x"),
            Axis("weight" if weight else "outcome", "linear"),
            (Panel(tuple(marks)),),
        )

    def parts_chart(self, result: Result) -> Chart:
        """Describe the parts of the error as stacked bars."""
        rows = self.numbers(result, "parts")
        scenario: Any = result.scenario
        marks: list[Mark] = []
        looks: tuple[tuple[str, Role, str], ...] = (
            (VARIANCE, "private", "variance"), (SQUARED_BIAS, "truth", "squared<br>bias"),
            (DENSITY, "upper bound", "density<br>error"),
        )  # fmt: skip
        for name, role, label in looks:
            part = rows[rows["series"] == name]
            if len(part):
                x = [f"α = {value:g}" for value in part["x"].tolist()]
                marks.append(Bars(role, x, part["y"].to_numpy(), name, label, stack=True, hover=f"{name}: {{y}}"))
        exact = not isinstance(scenario.method, RepresenterCurve)
        return Chart(
            "What the squared error is made of",
            f"averaged over people, n = {scenario.n if exact else SIZES[-1]:,}",
            Axis("keep probability", "category"),
            Axis("squared error", "linear", 0.0),
            (Panel(tuple(marks)),),
        )

    def variance_chart(self, result: Result) -> Chart:
        """Describe the variance of the curve against n α²."""
        rows = self.numbers(result, "variance")
        marks: list[Mark] = []
        for name in dict.fromkeys(rows["series"].tolist()):
            part = rows[rows["series"] == name]
            x, y = part["x"].to_numpy(dtype=np.float64), part["y"].to_numpy(dtype=np.float64)
            words = name.rpartition(", ")[2]
            role: Role = "non-private" if words == "α = 1" else "private"
            if name.startswith(EXACT):
                marks.append(Line(role, x, y, name, words, hover=f"known density, {words}: {{y}}"))
            else:
                error = 2 * part["std_error"].to_numpy(dtype=np.float64)
                marks.append(
                    Points(role, x, y, name, None if self.lines_there(result) else words, y - error, y + error,
                           hover=f"simulated, {words}: {{y}} ± {{e}}")
                )  # fmt: skip
        return Chart(
            "Variance of the curve",
            "points: simulated; lines: known density; log",
            Axis("n α², people who effectively tell something", "log", symbol="n α²"),
            Axis("integrated variance", "log"),
            (Panel(tuple(marks)),),
        )

    def lines_there(self, result: Result) -> bool:
        """Whether exact lines are drawn, which then carry the names."""
        return bool(result.frame["series"].str.startswith(EXACT).any())

    def rates_chart(self, result: Result) -> Chart:
        """Describe the rate exponents against smoothness."""
        rows = self.numbers(result, "rates")
        looks: dict[str, tuple[Role, str]] = {
            "error, known density": ("private", "error,<br>known density"),
            "error, rough density": ("upper bound", "error,<br>a = 1/4"),
            "functions, known density": ("truth", "functions,<br>known density"),
            "functions, rough density": ("non-private", "functions,<br>a = 1/4"),
        }
        marks: list[Mark] = []
        for name, (role, label) in looks.items():
            part = rows[rows["series"] == name]
            marks.append(
                Line(role, part["x"].to_numpy(dtype=np.float64), part["y"].to_numpy(dtype=np.float64), name, label,
                     main=role == "private", hover=f"{name}: {{y}}")
            )  # fmt: skip
        return Chart(
            "How fast a private series learns",
            "exponents of 1/n (error) and n (functions)",
            Axis("smoothness β of the curve", "linear", symbol="β"),
            Axis("exponent", "linear", 0.0, 1.0),
            (Panel(tuple(marks)),),
        )


def exact_parts(method: AnyMethod, law: CurveLaw, keep: float, n: int) -> ErrorParts:
    """Parts of Prop. 3 for the kernel or the series."""
    if isinstance(method, KernelCurve):
        return kernel_error_parts(law, mechanism_at(keep), n, method.bandwidth)
    return series_error_parts(law, mechanism_at(keep), n, basis_of(method.size), basis_of(DENSITY_SIZE))


def integrated(curves: FloatArray, truth: FloatArray, weights: FloatArray) -> tuple[float, float, float]:
    """Integrated variance of simulated curves, its standard error, and the integrated squared bias without it."""
    runs = curves.shape[0]
    share = weights / weights.sum()
    held = np.isfinite(curves)
    count = np.maximum(held.sum(axis=0), 1)
    mean = np.where(held, curves, 0.0).sum(axis=0) / count
    squares = np.where(held, curves - mean, 0.0) ** 2
    factor = runs / (runs - 1) if runs > 1 else 1.0
    each = np.einsum("rp,p->r", squares, share) * factor
    variance = float(each.mean())
    error = float(each.std(ddof=1) / np.sqrt(runs)) if runs > 1 else 0.0
    bias = float(np.sum(share * (mean - truth) ** 2)) - variance / runs
    return variance, error, max(bias, 0.0)


def rates_frame() -> pd.DataFrame:
    """Rate exponents of Ex. 11 and Ex. 12 against smoothness; the kernel's are those of a known density."""
    rates = [series_rates(float(beta), 0.25) for beta in SMOOTHNESS]
    kernel = [kernel_rate_exponent(float(beta)) for beta in SMOOTHNESS]
    rows = [
        ("error, known density", SMOOTHNESS, np.array([one.known_rate for one in rates]), 0.0),
        ("error, rough density", SMOOTHNESS, np.array([one.rate for one in rates]), 0.0),
        ("functions, known density", SMOOTHNESS, np.array([one.known_size for one in rates]), 0.0),
        ("functions, rough density", SMOOTHNESS, np.array([one.size for one in rates]), 0.0),
        ("error, kernel", SMOOTHNESS, np.array([one[0] for one in kernel]), 0.0),
    ]
    return tidy(rows, panel=PANELS["rates"])


def with_band(frame: pd.DataFrame, low: FloatArray, high: FloatArray) -> pd.DataFrame:
    """Give the private curve its band."""
    mine = (frame["series"] == PRIVATE).to_numpy()
    frame.loc[mine, "low"], frame.loc[mine, "high"] = low, high
    return frame
