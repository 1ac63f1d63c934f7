"""The best polynomial of x ln(1/x), whose error swings evenly (properties §4.3, §12.3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.properties import Approximation, evaluate, remez
from privexplorer.records import Number, Scenario, SymbolCount, field
from privexplorer.studies._notes import rows_of
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points
from privexplorer.studies.result import Card, Formula, Result, tidy
from privexplorer.studies.words import significant

LIMIT = 0.227
"""What L² E_L tends to, measured (properties §4.3)."""
HIGHEST = 24


class ApproximationScenario(Scenario):
    """One degree of approximation."""

    degree: Annotated[int, Number] = field(
        9,
        "Degree L",
        "The published private rule takes 1.2 ln k, rounded up: 9 for k = 1,000.",
        key="degree",
        group="Method",
        scale="log",
        low=1,
        ge=1,
        le=HIGHEST,
    )
    k: SymbolCount = field(
        1_000,
        "Number of symbols k",
        "Only for comparison with the published degrees, 1.2 ln k and 1.6 ln k.",
        group="Data",
    )


@dataclass(frozen=True)
class Prepared:
    """The best polynomials of degree 1 to the one asked for, and the last one on a fine grid.

    Attributes
    ----------
    x, fitted : (points,) float arrays
        Places in [0, 1], and the polynomial there.
    errors : (degree,) float array
        Smallest possible largest error, degree 1 first.
    """

    best: Approximation
    x: FloatArray
    fitted: FloatArray
    errors: FloatArray


def entropy_term(x: FloatArray) -> FloatArray:
    """Compute ``x ln(1/x)``, 0 at 0."""
    return np.asarray(-x * np.log(np.where(x > 0, x, 1.0)))


class PolynomialApproximation(Study[ApproximationScenario]):
    """The function, its best polynomial, the error between them, and how fast it falls."""

    id: ClassVar[str] = "polynomial-approximation"
    question: ClassVar[str] = "How well can a polynomial stand in for x ln(1/x)?"
    lead: ClassVar[str] = (
        "Powers of a probability can be estimated without bias from few records; x ln(1/x) cannot. So it is replaced."
    )
    tab: ClassVar[str] = "Approximation"
    card: ClassVar[str] = "The best polynomial for an entropy, and its evenly swinging error."
    link: ClassVar[str] = "See the polynomial"
    theme: ClassVar[str] = "entropy"
    picture: ClassVar[str] = "approximation"
    scenario: ClassVar[type[Scenario]] = ApproximationScenario
    late: ClassVar[frozenset[str]] = frozenset({"k"})
    views: ClassVar[Mapping[str, str]] = {
        "error": "Error",
        "function": "Function and polynomial",
        "degrees": "By degree",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-Poly", "T-PolyDeg")

    def presets(self) -> tuple[Preset[ApproximationScenario], ...]:
        """Finished examples."""
        make = ApproximationScenario
        return (
            Preset("Private rule, k = 1,000", make()),
            Preset("Few terms", make(degree=3)),
            Preset("Non-private rule, k = 1,000", make(degree=11)),
            Preset("As high as it goes", make(degree=HIGHEST)),
        )

    def prepare(self, scenario: ApproximationScenario, tables: Tables | None) -> Prepared:
        """Compute the best polynomials (kept for the life of the process)."""
        found = [remez(degree) for degree in range(1, scenario.degree + 1)]
        # dense near 0, where the error swings fastest
        x = np.unique(np.concatenate(((1 - np.cos(np.linspace(0, math.pi, 401))) / 2, found[-1].points)))
        return Prepared(found[-1], x, evaluate(found[-1], x), np.array([each.error for each in found]))

    def assemble(self, scenario: ApproximationScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Lay out function, polynomial, error, its points of equal size, and the errors by degree."""
        x, best = prepared.x, prepared.best
        truth = entropy_term(x)
        degrees = np.arange(1, scenario.degree + 1)
        peaks = best.error * np.where(np.arange(best.points.size) % 2 == 0, -1.0, 1.0)
        frame = pd.concat(
            [
                tidy(
                    [
                        ("error", x, truth - prepared.fitted, 0.0),
                        ("points of equal size", best.points, peaks, 0.0),
                    ],
                    panel=self.views["error"],
                ),
                tidy(
                    [("x ln(1/x)", x, truth, 0.0), ("polynomial", x, prepared.fitted, 0.0)],
                    panel=self.views["function"],
                ),
                tidy(
                    [
                        ("L² × largest error", degrees, degrees**2 * prepared.errors, 0.0),
                        ("largest error", degrees, prepared.errors, 0.0),
                    ],
                    panel=self.views["degrees"],
                ),
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, frame)

    def told(self, scenario: ApproximationScenario, prepared: Prepared, frame: pd.DataFrame) -> Result:
        """Add cards, words and formulas."""
        degree, best = scenario.degree, prepared.best
        scaled = degree**2 * best.error
        largest = float(np.abs(best.coefficients).max())
        scale = math.log(scenario.k)
        private, plain = max(1, math.ceil(1.2 * scale)), max(1, math.floor(1.6 * scale))
        lost = max(0, math.floor(math.log10(largest)))
        shows = (
            f"The best polynomial of **degree {degree}** is never farther from x ln(1/x) than "
            f"**{significant(best.error)}** "
            f"on the whole interval, and it reaches that distance {degree + 2} times, above and below in turn: no "
            "other "
            f"polynomial of this degree does better. The error falls like {LIMIT:g} ÷ L² (here L² times the error is "
            f"{scaled:.3f}), so twice the degree buys a quarter of the error. Its coefficients reach "
            f"{significant(largest, 2)} with changing signs"
            + (f" and cancel {lost} digits, so they are computed to 40 digits and more. " if lost >= 3 else ". ")
            + f"For k = {scenario.k:,} the published degrees are {private} with privacy and {plain} without."
        )
        cards = (
            Card(
                "Largest error",
                significant(best.error),
                "on [0, 1]",
                "Smallest that any polynomial of this degree has.",
            ),
            Card("Times it is reached", f"{degree + 2}", "L + 2", "Both end points are among them."),
            Card(
                "L² × largest error",
                f"{scaled:.4f}",
                f"tends to {LIMIT:g}",
                "Measured; 0.219 at L = 3, 0.2267 at L = 20.",
            ),
            Card("Largest coefficient", significant(largest, 2), "signs alternate", "Of the powers of x, in size."),
        )
        powers = " ".join(
            f"{value:+.6g}" + ("" if power == 0 else "x" if power == 1 else f"x^{{{power}}}")
            for power, value in enumerate(best.coefficients[:5])
        ).lstrip("+")
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Error of the best polynomial of degree {degree} for x ln(1/x) on the unit interval. It swings "
                "between plus "
                f"and minus {significant(best.error)} and reaches that size {degree + 2} times."
            ),
            formulas=(
                Formula(
                    "Best polynomial",
                    r"E_L=\min_{\deg q\le L}\ \max_{0\le x\le1}\bigl|x\ln\tfrac1x-q(x)\bigr|",
                    rf"E_{{{degree}}} = {best.error:.10g},\qquad q(x) = {tex_numbers(powers)}"
                    + (r"\ \ldots" if degree > 4 else ""),
                    "exact",
                    "properties §4.3, step 1",
                ),
                Formula(
                    "How fast it falls",
                    r"L^2E_L\to0.227",
                    rf"{degree}^2\,E_{{{degree}}} = {scaled:.5g}",
                    "calibrated",
                    "properties §4.3 (measured)",
                ),
                Formula(
                    "What it is for",
                    r"\varphi(p)=\frac Mn\,\varphi\!\Bigl(\frac{np}M\Bigr)+p\ln\frac nM,\qquad"
                    r"\varphi(x)=x\ln\frac1x\approx\sum_{m\le L}a_mx^m",
                    "",
                    "exact",
                    "properties §4.3, step 3",
                ),
            ),
            assumptions=(
                "The polynomial comes from the exchange algorithm of Remez, run in 320-bit arithmetic, not from a "
                "table. "
                "(properties §4.3, §9)",
                "Its constant term equals its largest error, because 0 is one of the points where the error is "
                "largest.",
                "Rescaled by M/n, it replaces x ln(1/x) for frequencies up to M/n; falling factorials j(j − 1)… of a "
                "count "
                "are unbiased for the powers under Poisson sampling. (properties §4.3; Sec 4.5.1)",
                "Published degrees: 1.2 ln k, rounded up, with privacy; 1.6 ln k, rounded down, without. (properties "
                "E16)",
            ),
            extra={"private": private, "plain": plain},
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        return rows_of(result.frame, self.views[view])

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the error, the two functions, or the error by degree."""
        panel = self.views[view]

        def rows(name: str) -> tuple[FloatArray, FloatArray]:
            part = result.series(name, panel)
            return part["x"].to_numpy(dtype=np.float64), part["y"].to_numpy()

        scenario: Any = result.scenario
        degree = scenario.degree
        x_axis = Axis("x, a probability as a share of M/n", "linear", 0.0, 1.0, symbol="x")
        if view == "function":
            return Chart(
                f"x ln(1/x) and its best polynomial, degree {degree}",
                "value, on the whole interval",
                x_axis,
                Axis("value", "linear"),
                (
                    Panel(
                        (
                            Line("truth", *rows("x ln(1/x)"), "x ln(1/x)", "x ln(1/x)", hover="x ln(1/x): {y}"),
                            Line(
                                "non-private",
                                *rows("polynomial"),
                                "polynomial",
                                f"polynomial,<br>degree {degree}",
                                hover="polynomial: {y}",
                            ),
                        )
                    ),
                ),
            )
        if view == "degrees":
            degrees, scaled = rows("L² × largest error")
            return Chart(
                "L² × largest error, by degree",
                f"levels off at {LIMIT:g}: the error falls as 1 ÷ L²",
                Axis("degree L", "linear", 0.0, float(max(degree, 2)), symbol="L"),
                Axis("L² E", "linear", 0.0),
                (
                    Panel(
                        (Line("non-private", degrees, scaled, "L² × largest error", None, main=True, markers=True),),
                        level_lines=((LIMIT, f"limit {LIMIT:g}"),),
                    ),
                ),
            )
        size = float(rows("points of equal size")[1][-1].__abs__())
        return Chart(
            f"Error of the best polynomial of degree {degree}",
            f"x ln(1/x) − polynomial; {degree + 2} peaks of one size",
            x_axis,
            Axis("error", "linear", -1.25 * size, 1.25 * size),
            (
                Panel(
                    (
                        Line(
                            "non-private", *rows("error"), "error", "error", main=True, dash="solid", hover="error: {y}"
                        ),
                        Points(
                            "upper bound",
                            *rows("points of equal size"),
                            "points of equal size",
                            f"{degree + 2} peaks",
                            hover="peak: {y}",
                        ),
                    ),
                    level_lines=((size, f"+{significant(size)}"), (-size, f"−{significant(size)}")),
                ),
            ),
        )


def tex_numbers(text: str) -> str:
    """Write powers of ten as TeX does."""
    import re

    return re.sub(r"e([+-])0*(\d+)", lambda m: rf"\times10^{{{'-' if m[1] == '-' else ''}{m[2]}}}", text)
