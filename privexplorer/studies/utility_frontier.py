"""What does protection cost: excess error against γ, calibrated and equal noise (predictability §2.4, §3.8; V3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.records import Epsilon, Number, Scenario, field
from privexplorer.studies._asking import Asked, summed
from privexplorer.studies._predictability import (
    ASSUMPTIONS,
    SHARED_NOISE,
    Clinic,
    CompromisedFraction,
    DataChoice,
    LinearPopulation,
    NoiseScaleChoice,
    OwnTable,
    check_leaked,
)
from privexplorer.studies._release_choices import (
    DELTA,
    LeakedShard,
    NumberQuestion,
    OneCondition,
    PublishedChoice,
    PublishedMeans,
    PublishedRegression,
    QuestionChoice,
    TypedQuestion,
    epsilon_of_gaussian,
    problems_of,
)
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, plain_markdown, ratio, significant

CALIBRATED, EQUAL, BOUND, BOTH = "calibrated noise", "equal noise", "accuracy bound", "DP noise plus calibrated"
MATCHED, EPSILONS = "at the wanted γ", "equal noise with ε"
CIRCLE, ELLIPSE = "equal noise, one σ", "calibrated noise, one σ"
MARKED = (0.1, 0.3, 1.0, 3.0, 10.0)
"""ε that are marked along the curve of equal noise."""
CLOSE = 0.15
"""Decades of the price within which two curves or marks run into each other on the chart."""
ANGLES = np.arange(0.0, 180.0, 15.0)
CURVES = {"printed": "printed bound", "product": "tightest bound", "gain": "realised gain"}
Measure = Literal["printed", "product", "gain"]


class FrontierScenario(Scenario):
    """A release with two kinds of noise, and a question that can be turned."""

    data: DataChoice = field(Clinic(), "People", "Whose table it is.", key="data", group="Data", discriminator="kind")
    published: PublishedChoice = field(
        PublishedMeans(columns=("pressure", "weight")), "You publish", "Numbers computed from everybody.",
        key="publish", group="Data", discriminator="kind",
    )  # fmt: skip
    bounds: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=400)], ...], Field(max_length=60)] = field(
        ("pressure 60 240", "weight 30 200"), "Public bounds",
        "For the ε of equal noise: each column, its smallest and its largest possible value, such as bmi 10 80.",
        key="bounds", group="Privacy", advanced=True,
    )  # fmt: skip
    first: QuestionChoice = field(
        OneCondition(), "First question", "Asked alone at 0 degrees.", key="ask", group="Attacker",
        discriminator="kind",
    )  # fmt: skip
    second: QuestionChoice = field(
        OneCondition(column="diabetic"), "Second question", "Asked alone at 90 degrees.", key="ask2",
        group="Attacker", discriminator="kind",
    )  # fmt: skip
    angle: Annotated[float, Number] = field(
        45.0, "Direction of the question, degrees",
        "Turns from the first question (0) to the second (90) and on to their difference.", key="angle",
        group="Attacker", scale="linear", ge=0, le=180,
    )  # fmt: skip
    compromised: CompromisedFraction = 0.3
    kept: Annotated[float, Number] = field(
        0.5, "Share of γ that may stay", "Both noises are matched so that r falls to this share of its value.",
        key="kept", group="Privacy", gt=0, lt=1, scale="log", low=0.01, high=0.9,
    )  # fmt: skip
    epsilon: Epsilon = 1.0
    measure: Measure = field(
        "product", "γ is", "Which of the curves stands on the axis.", key="measure", group="Method",
        titles={"printed": "The printed bound", "product": "The tightest bound", "gain": "The realised gain"},
    )  # fmt: skip
    noise_scale: NoiseScaleChoice = "release"


@dataclass(frozen=True, eq=False)
class Prepared:
    """People summed out, with what Thm 4.4 needs (``None`` for other releases)."""

    asked: Asked
    accuracy: pr.RegressionAccuracy | None


def turned(summary: pr.MomentSummary, angle: float) -> pr.MomentSummary:
    """Return the summary of cos(angle) times the first question plus sin(angle) times the second, both standardised.

    A question that everybody answers alike plays no part.
    """
    u = direction(summary, angle)
    return replace(
        summary,
        query_names=("turned question",),
        query_means=np.array([(u * summary.query_means).sum()]),
        query_covariance=np.array([[np.einsum("i,ij,j->", u, summary.query_covariance, u)]]),
        scores=np.einsum("rk,k->r", summary.scores, u)[:, None],
        query_binary=np.zeros(1, dtype=np.bool_),
    )


def direction(summary: pr.MomentSummary, angle: float) -> FloatArray:
    """Return the weights of both questions at an angle in degrees."""
    spread = np.sqrt(summary.query_variance)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))]) * scale


def turned_parts(parts: FloatArray, summary: pr.MomentSummary, angle: float) -> FloatArray:
    """Return the parts of a spectrum for the turned question."""
    return np.asarray(np.einsum("rk,k->r", parts, direction(summary, angle))[:, None])


def coincide(first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]) -> bool:
    """Whether the ends of two curves (price, γ) and all between lie so close that they need one name."""
    if not first[0].size or not second[0].size:
        return False
    wanted = first[1][(first[1] >= second[1].min()) & (first[1] <= second[1].max())]
    found = [np.interp(-wanted, -y[np.argsort(-y)], np.log10(x[np.argsort(-y)])) for x, y in (first, second)]
    return bool(wanted.size) and float(np.max(np.abs(found[0] - found[1]))) < CLOSE


class UtilityFrontier(Study[FrontierScenario]):
    """γ against what the noise costs."""

    id: ClassVar[str] = "utility-frontier"
    question: ClassVar[str] = "Which noise buys the most protection for its price?"
    lead: ClassVar[str] = "Two kinds of noise, matched so that they leave the same γ: which one costs less?"
    tab: ClassVar[str] = "Price of noise"
    card: ClassVar[str] = "Protection against accuracy, for calibrated and equal noise."
    link: ClassVar[str] = "Compare what noise costs"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "frontier"
    scenario: ClassVar[type[Scenario]] = FrontierScenario
    late: ClassVar[frozenset[str]] = frozenset({"angle", "compromised", "kept", "epsilon", "measure", "noise_scale"})
    views: ClassVar[Mapping[str, str]] = {"frontier": "Frontier", "shape": "Shape of the noise"}
    rows: ClassVar[tuple[str, ...]] = ("P-L4.3", "P-X24", "P-T4.4", "P-T4.4e", "P-L4.5", "P-X25", "P-X26")

    def presets(self) -> tuple[Preset[FrontierScenario], ...]:
        """Finished examples."""
        make = FrontierScenario

        def regression(angle: float) -> FrontierScenario:
            return make(
                data=LinearPopulation(dimension=2, stretch=3.0),
                published=PublishedRegression(outcome="y", features=("x1", "x2"), intercept=False),
                first=TypedQuestion(text="secret * x1"),
                second=TypedQuestion(text="secret * x2"),
                angle=angle,
            )

        return (
            Preset("Two means, with ε", make()),
            Preset("A regression", regression(30.0)),
            Preset("Where equal noise wins", regression(0.0)),
            Preset(
                "A table: diabetes",
                make(
                    data=OwnTable(),
                    published=PublishedRegression(outcome="progression", features=("bmi", "bp"), intercept=False),
                    first=NumberQuestion(column="age"),
                    second=NumberQuestion(column="s5"),
                ),
            ),
        )

    def check(self, scenario: FrontierScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        return problems_of(scenario.data, (scenario.published, scenario.first, scenario.second), scenario.bounds)

    def prepare(self, scenario: FrontierScenario, tables: Tables | None) -> Prepared:
        """Read the people once."""
        found = summed(
            scenario.data, tables, scenario.published, (scenario.first, scenario.second), LeakedShard(),
            bounds=scenario.bounds,
        )  # fmt: skip
        accuracy = None
        if isinstance(found.fitted, pr.FittedModel) and found.fitted.loss == "squared" and not found.fitted.penalty:
            accuracy = pr.regression_accuracy(found.fitted, found.people.table, 1.0)
        return Prepared(found.asked, accuracy)

    def assemble(self, scenario: FrontierScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out both curves and match them."""
        asked = prepared.asked
        check_leaked(scenario.compromised, asked.n)
        size = asked.size(scenario.compromised)
        nu = size.multiplier(scenario.noise_scale)
        one = turned(asked.summary, scenario.angle)
        d = one.dimension
        gram = asked.gram if asked.gram is not None else np.eye(d)
        unit = asked.residual if math.isfinite(asked.residual) and asked.residual > 0 else 1.0
        sandwich, equal = one.sandwich, np.eye(d)
        cost_calibrated = pr.excess_error(gram, sandwich) / unit
        cost_equal = pr.excess_error(gram, equal) / unit
        matched = pr.equal_predictability(one, gram, sandwich, equal, scenario.kept, noise_multiplier=nu)
        clean = pr.predictability(one, size)
        start = float(getattr(clean, scenario.measure)[0])
        spectra = [pr.noise_spectrum(one, sigma, nu) for sigma in (sandwich, equal)]
        rows: list[tuple[str, Any, Any, Any]] = []
        # calibrated noise follows r = ρ/√(1 + ν level); equal noise is followed between the same shares of ρ
        levels = (np.geomspace(0.02, 0.995, 60)[::-1] ** -2.0 - 1.0) / nu
        along = self.gammas(scenario, one, spectra[0], size, nu, levels)
        rows.append((CALIBRATED, cost_calibrated * levels, along, 0.0))
        ends = [pr.noise_level_for(spectra[1], share) for share in (0.995, 0.02)]
        if 0 < ends[0] < ends[1] < math.inf:
            grid = np.geomspace(ends[0], ends[1], 60)
            rows.append((EQUAL, cost_equal * grid, self.gammas(scenario, one, spectra[1], size, nu, grid), 0.0))
        if prepared.accuracy is not None:
            rows.append((BOUND, prepared.accuracy.bound / unit * levels, along, 0.0))
        wanted = [
            (
                matched.first_error / unit,
                self.gammas(scenario, one, spectra[0], size, nu, np.array([matched.first_level])),
            ),
            (
                matched.second_error / unit,
                self.gammas(scenario, one, spectra[1], size, nu, np.array([matched.second_level])),
            ),
        ]
        if all(0 < x < math.inf for x, _ in wanted):
            rows.append((MATCHED, np.array([x for x, _ in wanted]), np.array([float(y[0]) for _, y in wanted]), 0.0))
        rows += self.private_rows(scenario, asked, one, gram, unit, size, nu, spectra[1])
        ratios = self.ratios(asked, gram, sandwich, equal, scenario.kept, nu)
        frame = pd.concat(
            [tidy(rows).assign(panel="frontier"), self.shape_frame(matched, sandwich, equal)], ignore_index=True
        )
        return self.told(scenario, prepared, frame, matched, unit, nu, start, ratios)

    def gammas(
        self,
        scenario: FrontierScenario,
        one: pr.MomentSummary,
        spectrum: pr.NoiseSpectrum,
        size: pr.AttackSize,
        nu: float,
        levels: FloatArray,
    ) -> FloatArray:
        """Return γ at many levels of one noise."""
        sweep = pr.noise_sweep(
            one, size, np.eye(one.dimension), levels, noise_scale=scenario.noise_scale, spectrum=spectrum
        )
        return np.asarray(getattr(sweep, scenario.measure)[:, 0])

    def private_rows(
        self,
        scenario: FrontierScenario,
        asked: Asked,
        one: pr.MomentSummary,
        gram: FloatArray,
        unit: float,
        size: pr.AttackSize,
        nu: float,
        spectrum: pr.NoiseSpectrum,
    ) -> list[tuple[str, Any, Any, Any]]:
        """Mark ε along equal noise, and follow calibrated noise on top of noise for the visitor's ε."""
        if asked.sensitivity[1] is None:
            return []
        stds = np.array(
            [pr.GaussianForPrivacy(epsilon=epsilon, delta=DELTA).law(self.setting(asked, one)).covariance[0, 0] ** 0.5
             for epsilon in MARKED]
        )  # fmt: skip
        cost = pr.excess_error(gram, np.eye(one.dimension)) / unit
        rows: list[tuple[str, Any, Any, Any]] = [
            (
                EPSILONS, cost * np.square(stds),
                self.gammas(scenario, one, spectrum, size, nu, np.square(stds)), 0.0,
            )
        ]  # fmt: skip
        base = pr.GaussianForPrivacy(epsilon=scenario.epsilon, delta=DELTA).law(self.setting(asked, one)).covariance
        levels = np.concatenate([[0.0], np.geomspace(0.01, 100.0, 25)]) / nu
        totals = [base + level * one.sandwich for level in levels]
        gammas = [
            float(getattr(pr.predictability(one, size, total, noise_scale=scenario.noise_scale), scenario.measure)[0])
            for total in totals
        ]
        costs = [pr.excess_error(gram, total) / unit for total in totals]
        rows.append((BOTH, np.array(costs), np.array(gammas), 0.0))
        return rows

    def setting(self, asked: Asked, one: pr.MomentSummary) -> pr.NoiseSetting:
        """Return what the size of private noise depends on."""
        return pr.noise_setting(one, 1.0, *asked.sensitivity)

    def ratios(
        self, asked: Asked, gram: FloatArray, sandwich: FloatArray, equal: FloatArray, kept: float, nu: float
    ) -> FloatArray:
        """Return the price of equal noise over that of calibrated noise in all directions of the question."""
        price = (kept**-2.0 - 1.0) / nu * pr.excess_error(gram, sandwich)
        slope = pr.excess_error(gram, equal)
        whole = pr.noise_spectrum(asked.summary, equal, nu)
        found = []
        for angle in ANGLES:
            one = turned(asked.summary, float(angle))
            spectrum = replace(
                whole, variance=one.query_variance, parts=turned_parts(whole.parts, asked.summary, angle)
            )
            found.append(pr.noise_level_for(spectrum, kept) * slope / price)
        return np.array(found)

    def shape_frame(self, matched: pr.EqualPredictability, sandwich: FloatArray, equal: FloatArray) -> pd.DataFrame:
        """Return the one-σ ellipses of the first two numbers, at the wanted γ."""
        rows: list[tuple[str, Any, Any, Any]] = []
        finite = math.isfinite(matched.first_level) and math.isfinite(matched.second_level)
        if sandwich.shape[0] > 1 and finite and matched.first_level > 0:
            for name, sigma in (
                (ELLIPSE, matched.first_level * sandwich), (CIRCLE, matched.second_level * equal)
            ):  # fmt: skip
                ring = pr.noise_ellipse(sigma)
                angles = np.linspace(0.0, 360.0, len(ring))
                rows += [(f"{name}, across", angles, ring[:, 0], 0.0), (f"{name}, up", angles, ring[:, 1], 0.0)]
        return tidy(rows).assign(panel="shape")

    def told(
        self,
        scenario: FrontierScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        matched: pr.EqualPredictability,
        unit: float,
        nu: float,
        start: float,
        ratios: FloatArray,
    ) -> Result:
        """Add cards, words and formulas."""
        asked = prepared.asked
        relative = unit != 1.0
        first, second = matched.first_error / unit, matched.second_error / unit

        def price(value: float) -> str:
            if not math.isfinite(value):
                return "never"
            return f"+{percent(value)}" if relative else significant(value, 2)

        known = ratios[np.isfinite(ratios) & (ratios > 0)]
        wins = float((known < 1).mean()) if known.size else math.nan
        what = "of squared error" if relative else "squared error"
        cheaper = "neither" if not matched.ratio > 0 else EQUAL if matched.ratio < 1 else CALIBRATED
        cards = (
            Card("Calibrated noise", price(first), what[:18], "Its excess error at the γ that you allow."),
            Card("Equal noise", price(second), what[:18], "Its excess error at the same γ."),
            Card(
                "Equal ÷ calibrated",
                ratio(matched.ratio) if math.isfinite(matched.ratio) else "–",
                "same γ",
                "Below 1 equal noise is the better buy for this question.",
            ),
            Card(
                "Equal noise wins",
                percent(wins) if known.size else "–",
                "of the directions",
                "Among directions between the two questions, all at the γ that you allow.",
            ),
        )
        words = (
            f"To bring r down to **{percent(scenario.kept)}** of its value without noise on "
            f"{plain_markdown(scenario.published.words)}, calibrated noise adds **{price(first).lstrip('+')}** "
            f"{'to the squared error' if relative else 'of squared error'} and equal noise "
            f"**{price(second).lstrip('+')}**: for this question "
            + (f"{cheaper} is cheaper. " if cheaper != "neither" else "there is nothing to hide. ")
        )
        if known.size:
            words += (
                f"Turning the question, equal noise wins in {percent(wins)} of the directions, and its price runs from "
                f"{ratio(float(known.min()))} to {ratio(float(known.max()))} that of calibrated noise. "
            )
        words += (
            "Calibrated noise hides every question by the same factor; it is not the cheapest for each, and its size "
            "is read off the table, so it promises no ε."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=words,
            takeaway=(
                f"Predictability against excess error. Keeping {percent(scenario.kept)} of r costs {price(first)} with "
                f"calibrated and {price(second)} with equal noise."
            ),
            notes=self.notes(scenario, prepared),
            formulas=self.formulas(scenario, prepared, matched, nu),
            assumptions=(*ASSUMPTIONS, SHARED_NOISE),
            extra={"relative": relative, "start": start, "names": asked.names, "labels": asked.labels},
        )

    def notes(self, scenario: FrontierScenario, prepared: Prepared) -> tuple[Note, ...]:
        """Return what a reader must know."""
        out = [*prepared.asked.notes, *(Note(plain_markdown(text)) for text in prepared.asked.summary.notes)]
        reason = prepared.asked.sensitivity[2]
        if reason:
            out.append(Note("No ε is marked along equal noise: " + plain_markdown(reason[0].lower() + reason[1:])))
        if scenario.noise_scale == "paper":
            out.append(Note(SHARED_NOISE, "warning", "Counted as printed"))
        return tuple(out)

    def formulas(
        self, scenario: FrontierScenario, prepared: Prepared, matched: pr.EqualPredictability, nu: float
    ) -> tuple[Formula, ...]:
        """Return the formulas with the present numbers."""
        level = 1.0 / scenario.kept**2 - 1.0
        out = [
            Formula(
                "Calibrated noise",
                r"\Sigma_\Delta=\tfrac{\sigma^2}{\nu}V_{\mathrm{sand}},\quad r=\frac{\rho_{cc}}{\sqrt{1+\sigma^2}},"
                r"\quad\sigma^2=\varphi^{-2}-1",
                rf"\varphi={scenario.kept:g}:\ \sigma^2={level:.4g},\ \nu={nu:.4g}",
                "exact",
                "Lem 4.3, corrected" if scenario.noise_scale == "release" else "Lem 4.3",
            ),
            Formula(
                "Excess error",
                r"E\left[\tfrac1N\sum_i((\tilde w-w)^\top x_i)^2\right]=\mathrm{tr}(M\Sigma_\Delta)",
                rf"\text{{calibrated }}{matched.first_error:.4g},\ \text{{equal }}{matched.second_error:.4g}",
                "exact",
                "proof of Thm 4.4, Lem 4.5",
            ),
        ]
        accuracy = prepared.accuracy
        if accuracy is not None and math.isfinite(matched.first_level):
            scale = matched.first_level
            out.append(
                Formula(
                    "Bounds on the price of calibrated noise",
                    r"\sigma^2\min\left\{\frac{\max\|x_i\|^2}{\lambda_{\min}(M)}\hat L,\ d\,\hat L^{\max}\right\}",
                    rf"{scale * accuracy.bound_mean_loss:.4g}\ \text{{and}}\ {scale * accuracy.bound_max_loss:.4g},\ "
                    rf"\text{{exact }}{scale * accuracy.calibrated:.4g}",
                    "bound",
                    "Thm 4.4",
                )
            )
        reach = prepared.asked.sensitivity[1]
        if reach is not None and matched.second_level > 0 and math.isfinite(matched.second_level):
            epsilon = epsilon_of_gaussian(math.sqrt(matched.second_level), reach)
            out.append(
                Formula(
                    "ε of the matched equal noise",
                    r"\sigma(\varepsilon,\delta)\,\Delta_2",
                    rf"\varepsilon={epsilon:.3g}\ (\delta=10^{{-6}})",
                    "exact",
                    "analytic Gaussian mechanism",
                )
            )
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        return result.frame[result.frame["panel"] == (view or "frontier")].reset_index(drop=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the frontier, or the shape of both noises."""
        drawn = view == "shape" and len(self.numbers(result, view)) > 0  # one number has no shape
        return self.shape_chart(result) if drawn else self.frontier_chart(result)

    def frontier_chart(self, result: Result) -> Chart:
        """Describe γ against the price."""
        scenario: Any = result.scenario
        frame = self.numbers(result, "frontier")
        scale = 100.0 if result.extra["relative"] else 1.0
        unit = "%" if result.extra["relative"] else "squared error"
        marks: list[Any] = []
        start = result.extra["start"]
        limits = (start * 0.02, start)

        def rows_of(name: str) -> tuple[FloatArray, FloatArray]:
            rows = frame[frame["series"] == name]
            return scale * rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64)

        one_label = coincide(rows_of(CALIBRATED), rows_of(EQUAL))
        for name, role, label, dash in (
            (CALIBRATED, "private", "calibrated<br>and equal" if one_label else "calibrated", None),
            (EQUAL, "non-private", None if one_label else "equal", None),
            (BOUND, "upper bound", "accuracy<br>bound", None),
            (BOTH, "local", "DP noise +<br>calibrated", None),
        ):
            x, y = rows_of(name)
            if x.size:
                marks.append(
                    Line(role, x, y, name, label, main=name == CALIBRATED, dash=dash, hover=f"{name}: γ {{y}}")  # type: ignore[arg-type]
                )
        x, y = rows_of(EPSILONS)
        if x.size:
            texts = [f"ε = {epsilon:g}" for epsilon in MARKED]
            marks.append(Points("non-private", x, y, EPSILONS, text=texts, hover=f"{EPSILONS}: γ {{y}}", size=7))
        x, y = rows_of(MATCHED)
        if x.size:
            texts = [f"{significant(float(value), 2)}{'%' if result.extra['relative'] else ''}" for value in x]
            apart, size = abs(math.log10(x[1] / x[0])), 9
            if apart < CLOSE:  # one name for both marks, which would run into each other
                texts, size = [f"calibrated {texts[0]}, equal {texts[1]}", ""], 5
            drawn = slice(1) if apart < CLOSE / 3 else slice(2)
            marks.append(
                Points("data", x[drawn], y[drawn], MATCHED, text=texts[drawn], hover="at the wanted γ: {y}", size=size)
            )
        named = CURVES[scenario.measure]
        top = f"{percent(scenario.kept)} of r"
        level = float(y[0]) if y.size else None
        return Chart(
            "Protection against accuracy",
            f"γ ({named}), against the noise's price",
            Axis(
                "added squared error, % of the model's" if result.extra["relative"] else "added squared error", "log",
                ends=("cheaper", "dearer"), symbol="price", unit=unit,
            ),
            Axis("predictability γ", "log", limits[0] if start > 0 else None, symbol="γ"),
            (Panel(tuple(marks), level_lines=((level, top),) if level else ()),),
        )  # fmt: skip

    def shape_chart(self, result: Result) -> Chart:
        """Describe the one-σ ellipses of the first two published numbers."""
        frame = self.numbers(result, "shape")
        marks = []
        for name, label in ((ELLIPSE, "calibrated"), (CIRCLE, "equal")):
            across, up = (
                frame[frame["series"] == f"{name}, {way}"]["y"].to_numpy(dtype=np.float64) for way in ("across", "up")
            )
            role: Role = "private" if name == ELLIPSE else "non-private"
            marks.append(Line(role, across, up, name, label, main=name == ELLIPSE))
        labels = result.extra["labels"]
        other = labels[1] if len(labels) > 1 else "second number"
        return Chart(
            "Shape of the noise that leaves the same γ",
            f"one σ on {labels[0]} (across) and {other} (up)"[:48],
            Axis(f"noise on {labels[0]}", "linear"),
            Axis(f"noise on {other}", "linear"),
            (Panel(tuple(marks)),),
        )
