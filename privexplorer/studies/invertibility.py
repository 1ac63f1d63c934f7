"""Why values are kept at all: spectra, condition numbers and unmixed histograms (locally private inference 7.16)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    AlphaIdentity,
    FiniteMechanism,
    GaussianAddition,
    LaplaceAddition,
    Mechanism,
    UniformNoise,
    is_identified,
    kernel_eigenvalues,
    kernel_singular_values,
    laplace_hilbert_schmidt,
    unmix,
)
from privexplorer.data import Tables
from privexplorer.errors import ParameterError
from privexplorer.records import Number, Scenario, Seed, field
from privexplorer.simulation import block_rng
from privexplorer.studies._effects import CONTINUOUS_LEAK, KeepProbability
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import significant

SWAP, LAPLACE, GAUSS = "keep or swap", "added Laplace noise", "added normal noise"
LOOKS: dict[str, tuple[Role, str]] = {
    SWAP: ("private", "keep<br>or swap"),
    LAPLACE: ("local", "Laplace<br>noise"),
    GAUSS: ("attacker", "normal<br>noise"),
}
POINTS = 120
SIZES = np.array([5, 10, 20, 40, 80])
ROUNDING = 1e-16
"""Singular values below this share of the largest are rounding; they are not shown."""
TRUTH = "true share"
PROBE = 0.4
"""Where the local inverse of Laplace noise is compared with its gold value."""
CURVE = "function h"


class InvertibilityScenario(Scenario):
    """Three ways to noise a number in a public range."""

    keep_probability: KeepProbability = 0.5
    scale: Annotated[float, Number] = field(
        0.7, "Scale b of Laplace noise", "Added to the number.", key="b", group="Privacy", scale="log",
        low=0.05, high=5.0, ge=0.02, le=20,
    )  # fmt: skip
    std: Annotated[float, Number] = field(
        0.7, "Standard deviation of normal noise", "Added to the number.", key="sd", group="Privacy", scale="log",
        low=0.05, high=5.0, ge=0.02, le=20,
    )  # fmt: skip
    half_range: Annotated[float, Number] = field(
        3.0, "Range: from −L to L", "The public range of the private number.", key="range", group="Data", scale="log",
        low=0.5, high=20.0, ge=0.1, le=100,
    )  # fmt: skip
    bins: Annotated[int, Number] = field(
        12, "Bars of the histogram", "For the view “Histogram”.", key="bins", group="Data", ge=3, le=40
    )
    people: Annotated[int, Number] = field(
        2000, "People n", "For the view “Histogram”.", key="n", group="Data", scale="log", low=100, high=1_000_000,
        ge=20, le=10_000_000,
    )  # fmt: skip
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class Prepared:
    """Singular values and condition numbers of the three mechanisms."""

    spectra: dict[str, FloatArray]
    conditions: dict[str, FloatArray]


def mechanisms_of(scenario: InvertibilityScenario) -> dict[str, Mechanism]:
    """Return the three mechanisms on the public range."""
    reach, width = scenario.half_range, 2.0 * scenario.half_range
    return {
        SWAP: AlphaIdentity(scenario.keep_probability, UniformNoise(-reach, reach)),
        LAPLACE: LaplaceAddition(np.array([scenario.scale]), np.array([width])),
        GAUSS: GaussianAddition(scenario.std, width),
    }


def histogram_channels(scenario: InvertibilityScenario) -> dict[str, FloatArray]:
    """Return the mechanisms over the bars of a histogram, ``matrix[z, x]``; noise beyond the range ends in its edge.

    A value stands in the middle of its bar. Columns add up to 1.
    """
    bins, reach = scenario.bins, scenario.half_range
    edges = np.linspace(-reach, reach, bins + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    gap = edges[1:-1, None] - middle[None, :]
    laplace = np.where(
        gap < 0, 0.5 * np.exp(-np.abs(gap) / scenario.scale), 1.0 - 0.5 * np.exp(-np.abs(gap) / scenario.scale)
    )
    keep = scenario.keep_probability
    out = {SWAP: keep * np.eye(bins) + (1.0 - keep) / bins}
    for name, below in ((LAPLACE, laplace), (GAUSS, special.ndtr(gap / scenario.std))):
        steps = np.vstack([np.zeros(bins), below, np.ones(bins)])
        out[name] = np.diff(steps, axis=0)
    return out


def true_histogram(bins: int) -> FloatArray:
    """Return the shares of the histogram: two hills, one high and one low."""
    place = (np.arange(bins) + 0.5) / bins
    hills = np.exp(-0.5 * ((place - 0.35) / 0.1) ** 2) + 0.5 * np.exp(-0.5 * ((place - 0.75) / 0.07) ** 2) + 0.02
    return np.asarray(hills / hills.sum())


def unmixed_error(matrix: FloatArray, inverse: FloatArray, shares: FloatArray, people: int) -> FloatArray:
    """Return the exact standard error of every unmixed share from so many people (multinomial shown values)."""
    shown = np.einsum("zx,x->z", matrix, shares)
    mean = np.einsum("xz,z->x", inverse, shown)
    spread = np.einsum("xz,z->x", (inverse - mean[:, None]) ** 2, shown)
    return np.asarray(np.sqrt(spread / people))


class Invertibility(Study[InvertibilityScenario]):
    """Spectrum, condition number, and what undoing does to a histogram."""

    id: ClassVar[str] = "invertibility"
    question: ClassVar[str] = "Why keep some values instead of adding noise to all?"
    lead: ClassVar[str] = (
        "Kept values leave a sharp part in the mixture, which can be undone evenly. Added noise blurs, and fine detail "
        "is lost in it."
    )
    tab: ClassVar[str] = "Invertibility"
    card: ClassVar[str] = "Three kinds of noise: how much of the detail is left, and what undoing costs."
    link: ClassVar[str] = "See what can be undone"
    theme: ClassVar[str] = "swapped"
    picture: ClassVar[str] = "spectrum"
    scenario: ClassVar[type[Scenario]] = InvertibilityScenario
    late: ClassVar[frozenset[str]] = frozenset({"bins", "people", "seed"})
    views: ClassVar[Mapping[str, str]] = {
        "spectrum": "Spectrum",
        "condition": "Condition number",
        "histogram": "Histogram",
        "inverse": "One function",
        "range": "By range",
    }
    rows: ClassVar[tuple[str, ...]] = ("L-E13", "L-Ex1n", "L-X4", "L-X8", "L-X9")

    def presets(self) -> tuple[Preset[InvertibilityScenario], ...]:
        """Finished examples."""
        make = InvertibilityScenario
        return (
            Preset("Three kinds of noise", make()),
            Preset("Little noise", make(keep_probability=0.8, scale=0.2, std=0.2, people=10_000)),
            Preset("Equal level 0.5", make(keep_probability=0.5, scale=4.328, std=4.448, bins=8)),
        )

    def prepare(self, scenario: InvertibilityScenario, tables: Tables | None) -> Prepared:
        """Compute singular values of the mechanisms on grids."""
        reach = scenario.half_range
        spectra: dict[str, FloatArray] = {}
        conditions: dict[str, FloatArray] = {}
        for name, mechanism in mechanisms_of(scenario).items():
            spectra[name] = kernel_singular_values(mechanism, -reach, reach, POINTS)
            ends = [kernel_singular_values(mechanism, -reach, reach, int(k)) for k in SIZES]
            # below rounding nothing is known of the smallest: the condition number stops at 1e16
            conditions[name] = np.array([part[0] / max(part[-1], ROUNDING * part[0]) for part in ends])
        return Prepared(spectra, conditions)

    def assemble(self, scenario: InvertibilityScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Set spectra, condition numbers and histograms beside each other."""
        order = np.arange(1.0, POINTS + 1.0)
        made = mechanisms_of(scenario)
        spectra = {
            name: np.where(values > ROUNDING * values[0], values, np.nan) for name, values in prepared.spectra.items()
        }
        eigen = kernel_eigenvalues(made[SWAP], POINTS)  # type: ignore[arg-type]
        reach = scenario.half_range
        lengths = np.round(np.geomspace(0.5, 50.0, 41), 4)
        z = np.linspace(-reach, reach, 121)
        h, laplace, swap = inverse_curves(scenario, made, z)
        pieces = [
            tidy([(name, order, values, 0.0) for name, values in spectra.items()]).assign(panel="spectrum"),
            tidy([("eigenvalues, keep or swap", order, eigen, 0.0)]).assign(panel="spectrum"),
            tidy([(name, SIZES, values, 0.0) for name, values in prepared.conditions.items()]).assign(
                panel="condition"
            ),
            *self.histogram_rows(scenario),
            tidy([(CURVE, z, h, 0.0), (LAPLACE, z, laplace, 0.0), (SWAP, z, swap, 0.0)]).assign(panel="inverse"),
            tidy(
                [
                    (
                        LAPLACE,
                        lengths,
                        np.array([laplace_hilbert_schmidt(scenario.scale, float(one)) for one in lengths]),
                        0.0,
                    ),
                    ("noise that ignores x", lengths, np.ones_like(lengths), 0.0),
                ]
            ).assign(panel="range"),
        ]
        return self.told(scenario, prepared, pd.concat(pieces, ignore_index=True), made, eigen)

    def histogram_rows(self, scenario: InvertibilityScenario) -> list[pd.DataFrame]:
        """Return the unmixed histogram of one sample for each mechanism, with its exact standard error."""
        truth = true_histogram(scenario.bins)
        edges = np.linspace(-scenario.half_range, scenario.half_range, scenario.bins + 1)
        middle = np.round((edges[1:] + edges[:-1]) / 2, 6)
        out = []
        for place, (name, matrix) in enumerate(histogram_channels(scenario).items()):
            inverse = inverse_of(matrix)
            panel = f"histogram: {name}"
            rows: list[tuple[str, Any, Any, Any]] = [(TRUTH, middle, truth, 0.0)]
            if inverse is not None:
                rng = block_rng(scenario.seed, place)
                shown = np.einsum("zx,x->z", matrix, truth)
                counts = rng.multinomial(scenario.people, shown / shown.sum())
                found = np.einsum("xz,z->x", inverse, counts / scenario.people)
                rows.append(("unmixed", middle, found, unmixed_error(matrix, inverse, truth, scenario.people)))
            out.append(tidy(rows).assign(panel=panel))
        return out

    def told(
        self,
        scenario: InvertibilityScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        made: dict[str, Mechanism],
        eigen: FloatArray,
    ) -> Result:
        """Add cards, words and formulas."""
        keep, b, reach = scenario.keep_probability, scenario.scale, scenario.half_range
        worst: dict[str, float] = {}
        for name in LOOKS:
            rows = frame[(frame["panel"] == f"histogram: {name}") & (frame["series"] == "unmixed")]
            worst[name] = 2 * float(rows["std_error"].max()) if len(rows) else math.inf
        highest = float(true_histogram(scenario.bins).max())
        square = laplace_hilbert_schmidt(b, reach)
        largest = int(SIZES[-1])
        conditions = {name: float(values[-1]) for name, values in prepared.conditions.items()}

        def off(name: str) -> str:
            return f"± {significant(worst[name], 2)}" if math.isfinite(worst[name]) else "cannot be undone"

        levels = {name: mechanism.ltv() for name, mechanism in made.items()}
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("Keep or swap", off(SWAP), f"level {significant(levels[SWAP], 2)}"),
                Card("Added Laplace noise", off(LAPLACE), f"level {significant(levels[LAPLACE], 2)}"),
                Card("Added normal noise", off(GAUSS), f"level {significant(levels[GAUSS], 2)}"),
                Card(
                    "Highest bar",
                    significant(highest, 2),
                    f"{scenario.people:,} people"[:18],
                    "True share of the highest bar, to compare the ± of the other cards with (worst bar, two standard "
                    "errors).",
                ),
            ),
            shows=(
                f"Undone from **{scenario.people:,} people**, the worst of {scenario.bins} bars is known to "
                f"**{off(SWAP)}** with α = {keep:g}, to {off(LAPLACE)} with Laplace noise of scale {b:g}, and to "
                f"{off(GAUSS)} with normal noise of {scenario.std:g}; the highest bar is {significant(highest, 2)}. "
                f"On a grid of {largest} points the condition numbers are {significant(conditions[SWAP], 2)}, "
                f"{significant(conditions[LAPLACE], 2)} and {_huge(conditions[GAUSS])}: keeping values leaves all "
                "detail at α, adding noise takes fine detail away faster and faster. The levels on the cards say how "
                "private each is; compare like with like."
            ),
            takeaway=(
                f"Singular values of three mechanisms on {POINTS} points. Keep or swap stays near {keep:g}; those of "
                "Laplace noise fall towards 0, those of normal noise fall below rounding after a few."
            ),
            notes=(
                Note(CONTINUOUS_LEAK, "warning", "What keeping values costs in privacy"),
                *(
                    (
                        Note(
                            "Rounding alone makes the histogram of at least one mechanism impossible to undo; take "
                            "fewer bars or less noise to see it.",
                            "info",
                            "Not undone",
                        ),
                    )
                    if not all(math.isfinite(value) for value in worst.values())
                    else ()
                ),
            ),
            formulas=self.formulas(scenario, made, eigen, square),
            assumptions=(
                "Public range from −L to L; the grid holds midpoints of equal cells. Added noise that leaves the grid "
                "is left out of spectra, and ends in the outermost bar of histograms.",
                "Accepted here: any table of chances that can be inverted, keep or swap with any noise law, and added "
                "Laplace noise for functions with two derivatives. Added normal noise is undone for polynomials only. "
                "(before Sec. 4.2, Sec. 10.5)",
                "A noise law with a density and a bounded range is a Hilbert-Schmidt operator: its singular values "
                "tend to 0 and its inverse, if there is one, is unbounded. That gives neither uniqueness nor a stable "
                "inverse. (Sec. 10.5, E22)",
                "± of the histogram is two exact standard errors for that many people; bars are one sample.",
            ),
            extra={"worst": worst},
        )

    def formulas(
        self, scenario: InvertibilityScenario, made: dict[str, Mechanism], eigen: FloatArray, square: float
    ) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers."""
        b, reach = scenario.scale, scenario.half_range
        h, laplace, _ = inverse_curves(scenario, made, np.array([PROBE]))
        tall = np.array([[0.6, 0.2], [0.3, 0.3], [0.1, 0.5]])
        flat = np.array([[0.7, 0.4, 0.1], [0.3, 0.6, 0.9]])
        shares = np.array([0.7, 0.3])
        back = unmix(tall, np.einsum("zx,x->z", tall, shares))
        return (
            Formula(
                "Eigenvalues of keep or swap",
                r"1,\ \alpha,\ \alpha,\ \dots\qquad\text{for every noise law}",
                rf"{float(eigen[0]):g},\ {float(eigen[1]):g},\ \dots,\ {float(eigen[-1]):g}",
                "exact",
                "§1.4, (13)",
            ),
            Formula(
                "Identified or not",
                r"\bar p_{VX}\text{ is determined}\iff Q\text{ has full column rank}",
                rf"3\times2:\ \text{{{_yes(is_identified(tall))}}},\ \text{{least squares returns }}"
                rf"({float(back[0]):.3g},{float(back[1]):.3g});\quad2\times3:\ \text{{{_yes(is_identified(flat))}}}",
                "exact",
                "(13), (14), Ex. 1",
            ),
            Formula(
                "Singular table",
                r"Q=\begin{pmatrix}.5&.5\\.5&.5\end{pmatrix}",
                rf"\text{{{_refused()}}}",
                "exact",
                "before Sec. 4.2",
            ),
            Formula(
                "Undoing added Laplace noise",
                r"(Q^{-1}h)(z)=h(z)-b^2h''(z)",
                rf"h=e^{{-x^2/2}},\ b={b:g},\ z={PROBE:g}:\quad{float(h[0]):.6g}\to{float(laplace[0]):.9g};\qquad "
                rf"h=|x|:\ \text{{{_kinked(made[LAPLACE])}}}",
                "exact",
                "Sec. 10.5 (derived)",
            ),
            Formula(
                "Hilbert-Schmidt norm",
                r"\iint\bar q_c^2=\frac L{2b}-\frac18\big(1-e^{-4L/b}\big)",
                rf"L={reach:g},\ b={b:g}:\quad{square:.8g};\qquad L=10^3:\ "
                rf"{laplace_hilbert_schmidt(b, 1000.0):.5g}",
                "exact",
                "Sec. 10.5 (derived), E22",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one of the five views."""
        if view == "histogram":
            return self.histogram_chart(result)
        if view == "condition":
            return Chart(
                "How far undoing can blow up an error",
                "largest over smallest singular value, log scale",
                Axis("points of the grid", "log", symbol="points"),
                Axis("condition number", "log", low=1.0),
                (Panel(self.curves(result, "condition", "condition number {y}", markers=True)),),
            )
        if view == "inverse":
            rows = result.series(CURVE, "inverse")
            marks = (
                Line("truth", rows["x"].to_numpy(), rows["y"].to_numpy(), CURVE, "function h", hover="h: {y}"),
                *self.curves(result, "inverse", "undone {y}"),
            )
            return Chart(
                "A function, and what stands for it",
                "applied to shown values, it averages to h",
                Axis("shown value z", symbol="z"),
                Axis("value"),
                (Panel(marks),),
            )
        if view == "range":
            marks_of_range = []
            looks: tuple[tuple[str, Role, str], ...] = (
                (LAPLACE, "local", "Laplace<br>noise"),
                ("noise that ignores x", "non-private", "noise that<br>ignores x"),
            )
            for name, role, label in looks:
                rows = result.series(name, "range")
                marks_of_range.append(
                    Line(role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, hover=f"{name}: {{y}}")
                )
            scenario: Any = result.scenario
            return Chart(
                "Square integral of the kernel",
                "finite on bounded ranges only; log scale",
                Axis("half range L", "log", symbol="L"),
                Axis("square integral", "log"),
                (Panel(tuple(marks_of_range), here=(scenario.half_range, f"your L = {scenario.half_range:g}")),),
            )
        return Chart(
            "How much of each detail is left",
            f"singular values on {POINTS} points, log scale",
            Axis("number, from coarse to fine detail", "log", symbol="number"),
            Axis("singular value", "log", low=1e-16),
            (Panel(self.curves(result, "spectrum", "{y} left")),),
        )

    def curves(self, result: Result, panel: str, hover: str, markers: bool = False) -> tuple[Line, ...]:
        """Return one curve per mechanism."""
        out = []
        for name, (role, label) in LOOKS.items():
            rows = result.series(name, panel)
            if len(rows):
                out.append(
                    Line(
                        role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, main=name == SWAP,
                        markers=markers, hover=f"{name}: {hover}",
                    )
                )  # fmt: skip
        return tuple(out)

    def histogram_chart(self, result: Result) -> Chart:
        """Describe true and unmixed bars of the three mechanisms."""
        panels = []
        for name, (role, _) in LOOKS.items():
            truth = result.series(TRUTH, f"histogram: {name}")
            found = result.series("unmixed", f"histogram: {name}")
            x = truth["x"].to_numpy(dtype=np.float64)
            marks: list[Any] = []
            axis = Axis("share")
            if len(found):
                y, error = (found[column].to_numpy(dtype=np.float64) for column in ("y", "std_error"))
                axis = Axis("share", low=1.05 * min(0.0, float((y - 2 * error).min())),
                            high=1.05 * float((y + 2 * error).max()))  # fmt: skip
                marks.append(
                    Bars(
                        role, x, y, "unmixed", error=2 * error,
                        hover="unmixed {y} ± {e}",
                    )
                )  # fmt: skip
            marks.append(Points("truth", x, truth["y"].to_numpy(), TRUTH, size=20, hover="true {y}"))
            panels.append(Panel(tuple(marks), f"{name[0].upper()}{name[1:]}", y=axis))
        return Chart(
            "A histogram, undone",
            "bars: one sample ± 2 s.e.; ticks: truth",
            Axis("private value", symbol="value"),
            Axis("share"),
            tuple(panels),
            columns=3,
            shared_y=False,
        )


def inverse_curves(
    scenario: InvertibilityScenario, made: dict[str, Mechanism], z: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return h = exp(-x²/2), and what stands for it under Laplace noise and under keep or swap, at z."""
    h = np.exp(-0.5 * z**2)
    laplace = made[LAPLACE].invert(h, (z**2 - 1.0) * h)
    points, weights = made[SWAP].nodes()
    average = float(np.sum(weights * np.exp(-0.5 * np.asarray(points, dtype=np.float64) ** 2)))
    return h, laplace, made[SWAP].invert(h, np.full_like(h, average))


def inverse_of(matrix: FloatArray) -> FloatArray | None:
    """Return the inverse of a mechanism, or nothing where rounding leaves none."""
    try:
        return FiniteMechanism(matrix / matrix.sum(axis=0)).inverse
    except ParameterError:
        return None


def _huge(value: float) -> str:
    return "beyond rounding (10¹⁶)" if value > 0.9e16 else significant(value, 2)


def _yes(answer: bool) -> str:
    return "identified" if answer else "not identified"


def _refused() -> str:
    try:
        FiniteMechanism(np.full((2, 2), 0.5))
    except ParameterError:
        return "refused: it cannot be inverted"
    return "accepted"


def _kinked(mechanism: Mechanism) -> str:
    """Say what undoing Laplace noise answers to a function with a kink."""
    assert isinstance(mechanism, LaplaceAddition)  # noqa: S101 - built here
    try:
        mechanism.invert_function(np.abs, np.zeros_like, np.array([-0.1, 0.1]))
    except ParameterError:
        return "refused: two derivatives are needed"
    return "accepted"
