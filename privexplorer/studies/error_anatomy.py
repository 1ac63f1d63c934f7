"""What the error of an estimate is made of as n grows (Assumptions 1, 2, 4, 5, Lemmas 2 and 9; view 7.14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.causal import AlphaIdentity, CausalTarget, FiniteLaw, FiniteNoise, plug_in_remainder, uniform_levels
from privexplorer.causal.anatomy import (
    CONDITIONS,
    fitted_nuisances,
    nuisances_off,
    rate_curve,
    released_counts,
    score_error,
    split_error,
)
from privexplorer.data import Tables
from privexplorer.records import Grid, Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng, mean_and_error, root_mean_square
from privexplorer.studies import _effects as shared
from privexplorer.studies._effects import EffectTarget, KeepProbability, LawB, LawChoice, NoiseChoice
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Role
from privexplorer.studies.result import Card, Formula, Result, tidy
from privexplorer.studies.words import significant, whole

SIZES = np.unique(np.rint(np.geomspace(100, 1e6, 17)).astype(np.int64))
ROOM = 1.5
"""Factor by which the axis of n goes on beyond the numbers drawn."""
STEPS = np.array([float(f"{value:.6g}") for value in np.geomspace(1e-4, 0.5, 22)])
SHARES = np.round(np.linspace(0.0, 0.95, 20), 6)
BLOCK = 4
GAUSSIAN, EMPIRICAL, BIAS = "Gaussian part", "empirical-process part", "bias"
PARTS = (GAUSSIAN, EMPIRICAL, BIAS)
OPEN, NOISY = "without noise", "with noise"
PANELS = {
    "rates": "errors that shrink at your rates",
    "fitted": "fitted cell by cell",
    "first": "plug-in along a path",
    "landing": "where the noise lands",
}
DASHES = {GAUSSIAN: "solid", EMPIRICAL: "9px,4px", BIAS: "2px,3px"}
LABELS = {GAUSSIAN: "Gaussian", EMPIRICAL: "empirical<br>process", BIAS: "bias"}
PLUG_IN, CORRECTED = "plug-in error", "after the correction"
NUISANCE, SCORE = "error of the regression", "error of the private score"


class ErrorAnatomyScenario(Scenario):
    """A law, a mechanism, and how fast the nuisance errors shrink."""

    law: LawChoice = shared.law_field(LawB())
    keep_probability: KeepProbability = 0.5
    noise: NoiseChoice = shared.noise_field(advanced=True)
    target: EffectTarget = "ate"
    regression_exponent: Annotated[float, Number] = field(
        0.2,
        "Regression error shrinks like n to the minus",
        "One half is the rate of a parametric model; flexible methods are slower.",
        key="a",
        group="Method",
        ge=0,
        le=0.5,
    )
    representer_exponent: Annotated[float, Number] = field(
        0.15,
        "Weight error shrinks like n to the minus",
        "The weights are built from the propensity; their error has a rate of its own.",
        key="b",
        group="Method",
        ge=0,
        le=0.5,
    )
    scale: Annotated[float, Number] = field(
        0.5,
        "Errors at n = 1",
        "Both errors start from this size.",
        key="scale",
        group="Method",
        scale="log",
        low=0.1,
        high=10.0,
        gt=0,
        le=100,
        advanced=True,
    )
    n: Grid = field(
        Grid(low=500, high=32_000, points=4),
        "Sample sizes for the fitted view",
        "People per sample; nuisances are fitted on one and averaged over another.",
        key="n",
        group="Data",
        advanced=True,
    )
    trials: Trials = 48
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    law: FiniteLaw
    target: CausalTarget
    noisy: AlphaIdentity
    ns: tuple[int, ...]
    seed: int
    fixed: pd.DataFrame
    """Rows of the two views that no rate and no run changes."""


def thin_corner(law: FiniteLaw) -> FloatArray:
    """Shape of an error that sits in the least likely category, (2, J)."""
    out = np.zeros((2, law.levels))
    out[:, int(np.argmin(law.p_x))] = 1.0
    return out


def first_order(law: FiniteLaw, target: CausalTarget) -> pd.DataFrame:
    """Error of a plug-in along a path through the law, and what is left after the correction (9)."""
    direction = np.cos(np.arange(law.joint.size, dtype=np.float64)).reshape(law.joint.shape)
    left = np.array([plug_in_remainder(law, target, direction, float(step)) for step in STEPS])
    truth = target.value(law)
    moved = [target.value(type(law)(law.tilted(direction, float(step)), law.values)) - truth for step in STEPS]
    rows = [(PLUG_IN, STEPS, np.abs(moved), 0.0), (CORRECTED, STEPS, np.abs(left), 0.0)]
    return tidy(rows, panel=PANELS["first"])


def landing(law: FiniteLaw, target: CausalTarget, keep: float) -> pd.DataFrame:
    """Error of the private score as the noise moves to where the nuisance is wrong, its own error held fixed."""
    shape = thin_corner(law)
    used = nuisances_off(law, target, 0.1, 0.1, regression_direction=shape, representer_direction=shape)
    corner = np.zeros(law.levels)
    corner[int(np.argmin(law.p_x))] = 1.0
    other = law.p_x * (1 - corner)
    other = other / other.sum()
    found = [
        score_error(law, target, AlphaIdentity(keep, FiniteNoise((1 - w) * other + w * corner)), used)
        for w in SHARES.tolist()
    ]
    rows = [(NUISANCE, SHARES, np.full(SHARES.size, 0.1), 0.0), (SCORE, SHARES, np.array(found), 0.0)]
    return tidy(rows, panel=PANELS["landing"])


class ErrorAnatomy(Study[ErrorAnatomyScenario]):
    """Root mean squares of the three parts of the error against n."""

    id: ClassVar[str] = "error-anatomy"
    question: ClassVar[str] = "What is the error of an estimate made of?"
    lead: ClassVar[str] = (
        "Three parts: chance, a term that the fitted models leave behind, and a bias. Only chance should remain, and "
        "whether the bias goes depends on two rates."
    )
    tab: ClassVar[str] = "Parts of the error"
    card: ClassVar[str] = "Chance, leftover and bias against n, with and without noise."
    link: ClassVar[str] = "Take the error apart"
    theme: ClassVar[str] = "effects_theory"
    picture: ClassVar[str] = "fan"
    scenario: ClassVar[type[Scenario]] = ErrorAnatomyScenario
    late: ClassVar[frozenset[str]] = frozenset({"regression_exponent", "representer_exponent", "scale", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "rates": "Rates you choose",
        "fitted": "Fitted models",
        "first": "First order",
        "landing": "Where noise lands",
    }
    rows: ClassVar[tuple[str, ...]] = (
        "L-E9", "L-E23", "L-E26", "L-E28", "L-A1", "L-A2", "L-A4", "L-A5", "L-L2", "L-L9", "L-E62",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[ErrorAnatomyScenario], ...]:
        """Finished examples."""
        make = ErrorAnatomyScenario
        return (
            Preset("Too slow together", make()),
            Preset("Fast enough together", make(representer_exponent=0.45, scale=2.0)),
            Preset("One model useless", make(regression_exponent=0.0, representer_exponent=0.5)),
            Preset("Much noise", make(keep_probability=0.2, representer_exponent=0.4, scale=2.0)),
        )

    def blocks(self, scenario: ErrorAnatomyScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK)

    def prepare(self, scenario: ErrorAnatomyScenario, tables: Tables | None) -> Prepared:
        """Make the law and the mechanism."""
        law = scenario.law.law()
        noisy = shared.mechanism_of(law, scenario.noise, scenario.keep_probability)
        sizes = tuple(int(n) for n in scenario.n.values())
        target = shared.TARGETS[scenario.target]
        fixed = pd.concat([first_order(law, target), landing(law, target, noisy.keep_probability)], ignore_index=True)
        return Prepared(law, target, noisy, sizes, scenario.seed, fixed)

    def check(self, scenario: ErrorAnatomyScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        law = scenario.law.law()
        mechanism = shared.mechanism_of(law, scenario.noise, scenario.keep_probability)
        kappa = shared.guard_of(law, scenario.n.low, mechanism).kappa
        if kappa < 1:
            return (
                f"With {scenario.n.low:,} people and α = {scenario.keep_probability:g} the fitted cells are mostly "
                "noise; let the sample sizes start higher or keep more.",
            )
        return ()

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Fit nuisances on one sample, average over another; return ``(trials, 10, sizes)``.

        Series: total, Gaussian, empirical-process and bias part without noise, the same with noise, and the fitted
        low-dimensional mean and slope with noise.
        """
        rng = block_rng(prepared.seed, block)
        law, target = prepared.law, prepared.target
        out = np.full((BLOCK, 10, len(prepared.ns)), np.nan)
        for place, mechanism in enumerate((AlphaIdentity(1.0, uniform_levels(law.levels)), prepared.noisy)):
            for column, n in enumerate(prepared.ns):
                drawn = released_counts(law, mechanism, n, 2 * BLOCK, rng).reshape(BLOCK, 2, *law.joint.shape)
                for trial in range(BLOCK):
                    used = fitted_nuisances(law, target, mechanism, drawn[trial, 0])
                    parts = split_error(law, target, mechanism, used, drawn[trial, 1])
                    found = (parts.total, parts.gaussian, parts.empirical, parts.bias)
                    out[trial, 4 * place : 4 * place + 4, column] = [float(part) for part in found]
                    if place and used.gammas.size:
                        out[trial, 8:, column] = float(used.gammas[0]), float(used.slopes[0])
        return out

    def assemble(self, scenario: ErrorAnatomyScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put the four views together."""
        law, target = prepared.law, prepared.target
        blocks = stacked(parts, scenario.trials)
        ns = np.array(prepared.ns)
        frames, curves = [], {}
        quiet = AlphaIdentity(1.0, uniform_levels(law.levels))
        for place, (words, mechanism) in enumerate(((OPEN, quiet), (NOISY, prepared.noisy))):
            curve = rate_curve(
                law, target, mechanism, SIZES, scenario.regression_exponent, scenario.representer_exponent,
                scale=scenario.scale,
            )  # fmt: skip
            curves[words] = curve
            values = (curve.gaussian, curve.empirical, curve.bias)
            exact = [(part, SIZES, y, 0.0) for part, y in zip(PARTS, values, strict=True)]
            frames.append(tidy(exact, panel=f"{PANELS['rates']}, {words}"))
            squares = [root_mean_square(blocks[:, 4 * place + 1 + part, :] ** 2) for part in range(3)]
            drawn = [(part, ns, y, e) for part, (y, e) in zip(PARTS, squares, strict=True)]
            frames.append(tidy(drawn, panel=f"{PANELS['fitted']}, {words}"))
        frames.append(prepared.fixed)
        # the error is the sum of its parts in every single run
        gaps = [
            float(np.max(np.abs(blocks[:, 4 * place] - blocks[:, 4 * place + 1 : 4 * place + 4].sum(axis=1))))
            for place in (0, 1)
        ]
        return self.told(scenario, prepared, pd.concat(frames, ignore_index=True), curves, blocks, max(gaps))

    def told(
        self,
        scenario: ErrorAnatomyScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        curves: dict[str, Any],
        blocks: FloatArray,
        gap: float,
    ) -> Result:
        """Add cards, words and formulas."""
        a, b = scenario.regression_exponent, scenario.representer_exponent
        exponent = 0.5 - a - b
        noisy, quiet = curves[NOISY], curves[OPEN]
        runs = int(blocks.shape[0])
        over = np.flatnonzero(noisy.bias > noisy.gaussian)
        under = np.flatnonzero(noisy.bias <= 0.1 * noisy.gaussian)
        trend = (
            f"falls like n to the power −{significant(-exponent, 2)}" if exponent < -1e-12
            else "stays where it is" if exponent < 1e-12
            else f"grows like n to the power {significant(exponent, 2)}"
        )  # fmt: skip
        turn = (
            f"from n = {significant_people(int(SIZES[over[0]]))} on it exceeds chance"
            if exponent > 1e-12 and over.size
            else f"below a tenth of chance from n = {significant_people(int(SIZES[under[0]]))} on"
            if under.size
            else "it stays of the order of chance on this range"
        )
        first, last = (blocks[:, 6, place] for place in (0, -1))
        left, right = float(np.sqrt(np.mean(first**2))), float(np.sqrt(np.mean(last**2)))
        cards = (
            Card("Sum of exponents", f"{a + b:g}", "more than 1/2?", "Above it the bias vanishes."),
            Card("Bias × √n", trend.split(" like ")[0], trend.partition(" the ")[2][:18], "Along your two rates."),
            Card(
                "Chance",
                significant(float(noisy.gaussian[0])),
                f"{significant(float(noisy.gaussian[0] / quiet.gaussian[0]), 2)}× no noise",
                "Root mean square of √n times the Gaussian part: the root of the efficiency bound.",
            ),
            Card(
                "Leftover, fitted",
                f"{significant(left, 2)} → {significant(right, 2)}",
                f"n to {prepared.ns[-1]:,}"[:18],
                f"Empirical-process part with noise, from n = {prepared.ns[0]:,} to {prepared.ns[-1]:,}, when the "
                "models are fitted cell by cell.",
            ),
        )
        shows = (
            f"With regression errors that shrink like n to the power −{a:g} and weight errors like n to the power "
            f"−{b:g}, √n times the bias "
            f"**{trend}**, with or without noise: {turn}. The exponents add up to {a + b:g}; the bias goes away when "
            f"they exceed **one half**. Noise with α = {scenario.keep_probability:g} raises chance from "
            f"{significant(float(quiet.gaussian[0]))} to {significant(float(noisy.gaussian[0]))} and leaves the bias "
            "alone. "
            f"Fitted cell by cell, the leftover with noise shrinks from {significant(left, 2)} at "
            f"n = {prepared.ns[0]:,} to {significant(right, 2)} at n = {prepared.ns[-1]:,} ({runs} runs)."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Root mean square of three parts of the error against n: chance stays at "
                f"{significant(float(noisy.gaussian[0]))}, root n times the bias {trend.replace('−', 'minus ')}."
            ),
            formulas=self.formulas(scenario, prepared, blocks, gap),
            assumptions=(*(f"{words} ({label})" for label, words in CONDITIONS), *shared.ASSUMED, shared.KNOWN_LAW),
            extra={"gap": gap},
            runs=runs,
        )

    def formulas(
        self, scenario: ErrorAnatomyScenario, prepared: Prepared, blocks: FloatArray, gap: float
    ) -> tuple[Formula, ...]:
        """Return the split and what the runs say about it."""
        a, b = scenario.regression_exponent, scenario.representer_exponent
        out = [
            Formula(
                "Error in three parts",
                r"\sqrt n(\hat\chi-\chi)=\sqrt n\,\mathbb P_n\tilde\psi"
                r"+\sqrt n(\mathbb P_n-P_{VZ})(\hat\psi-\tilde\psi)+\sqrt nR_n",
                rf"\text{{largest gap in {blocks.shape[0]} runs: }}{gap:.1g}",
                "exact",
                "(26)-(28); without noise (62)-(65)",
            ),
            Formula(
                "When the bias goes away",
                r"\lVert\hat\mu-\mu\rVert\,\lVert\hat r-r\rVert=o(n^{-1/2})\iff a+b>\tfrac12",
                rf"a+b={a:g}+{b:g}={a + b:g}",
                "exact",
                "Assumptions 1 and 5",
            ),
            Formula(
                "Correction of a plug-in",
                r"\chi(P')-\chi(P)=-P\tilde\chi_{P'}+O(t^2)",
                rf"t={STEPS[-1]:g}",
                "exact",
                "(9)",
            ),
        ]
        share, slope = blocks[:, 8, -1], blocks[:, 9, -1]
        if np.isfinite(share).all():
            value, p1 = prepared.target.value(prepared.law), prepared.law.treated_share
            words = []
            for name, found, true in ((r"\check\gamma", share, p1), (r"\check e", slope, -value / p1)):
                mean, error = mean_and_error(found)
                words.append(rf"{name}:\ {mean:.5f}\pm{2 * error:.1g}\ (\text{{truth }}{true:.4g})")
            out.append(
                Formula(
                    "Low-dimensional pieces from noisy records",
                    r"\check\gamma=\mathbb P_nQ^{-1}_{\mathcal X}[g],\quad"
                    r"\check e=\mathbb P_nQ^{-1}_{\mathcal X}[\partial_\gamma f]",
                    r",\quad ".join(words),
                    "exact",
                    "(23)-(25)",
                )
            )
        else:
            out.append(
                Formula(
                    "Low-dimensional pieces from noisy records",
                    r"\check p=\tfrac{N_c}n,\quad"
                    r"\check\gamma=\check p^{-1}\,\mathbb P_nQ^{-1}_{\mathcal X}[1\{v_2=c\}g],\quad"
                    r"\check e=\mathbb P_nQ^{-1}_{\mathcal X}[\partial_\gamma f]",
                    r"f=\mu_1-\mu_0\text{ holds no }\gamma:\ \check e=0,\text{ and neither }\check\gamma\text{ nor }"
                    r"\check p\text{ is needed; the effect on the treated has them}",
                    "exact",
                    "(23)-(25)",
                )
            )
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        wanted = PANELS[view or "rates"]
        return result.frame[result.frame["panel"].str.startswith(wanted)].reset_index(drop=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one view."""
        if view == "first":
            return self.path_chart(result)
        if view == "landing":
            return self.landing_chart(result)
        scenario: Any = result.scenario
        stem = PANELS[view or "rates"]
        panels = []
        looks: tuple[tuple[str, Role], ...] = ((OPEN, "non-private"), (NOISY, "private"))
        for words, role in looks:
            marks = []
            for part in PARTS:
                rows = result.series(part, f"{stem}, {words}")
                marks.append(
                    Line(
                        role,
                        rows["x"].to_numpy(dtype=np.float64),
                        rows["y"].to_numpy(dtype=np.float64),
                        part,
                        LABELS[part],
                        rows["std_error"].to_numpy(dtype=np.float64),
                        main=part == GAUSSIAN,
                        markers=view == "fitted",
                        dash=DASHES[part],
                        hover=f"{part}: {{y}} ± {{e}}",
                    )
                )
            title = "Without noise" if words == OPEN else f"With noise, α = {scenario.keep_probability:g}"
            panels.append(Panel(tuple(marks), title))
        ns = np.concatenate([np.asarray(mark.x, dtype=np.float64) for panel in panels for mark in panel.marks])
        # room at both ends, so that the last number of one panel keeps clear of the first of the next
        low, high = float(ns.min()) / ROOM, float(ns.max()) * ROOM
        return Chart(
            "Parts of the error",
            "root mean square of √n × part, log scale",
            Axis("sample size n, people", "log", low, high, symbol="n"),
            Axis("part", "log"),
            tuple(panels),
            columns=2,
            names=PARTS,
        )

    def path_chart(self, result: Result) -> Chart:
        """Describe the plug-in error along a path, before and after the correction."""
        marks = []
        looks: tuple[tuple[str, Role, str], ...] = (
            (PLUG_IN, "non-private", "plug-in<br>error"), (CORRECTED, "private", "after the<br>correction"),
        )  # fmt: skip
        for name, role, label in looks:
            rows = result.series(name, PANELS["first"])
            marks.append(
                Line(role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, main=role == "private",
                     hover=f"{name}: {{y}}")
            )  # fmt: skip
        return Chart(
            "What the correction leaves",
            "size of the error, log scale",
            Axis("distance t of the law that is plugged in", "log", symbol="t"),
            Axis("error", "log"),
            (Panel(tuple(marks)),),
        )

    def landing_chart(self, result: Result) -> Chart:
        """Describe the score error as noise moves to the thin category."""
        marks = []
        looks: tuple[tuple[str, Role, str], ...] = (
            (NUISANCE, "non-private", "both models,<br>among people"), (SCORE, "private", "private score"),
        )  # fmt: skip
        for name, role, label in looks:
            rows = result.series(name, PANELS["landing"])
            marks.append(
                Line(role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, main=role == "private",
                     hover=f"{name}: {{y}}")
            )  # fmt: skip
        return Chart(
            "An error that only the noise sees",
            "root mean square, linear scale",
            Axis("share of noise in the rarest category", "linear", symbol="share"),
            Axis("error", "linear", 0.0),
            (Panel(tuple(marks)),),
        )


def significant_people(n: int) -> str:
    """Write a sample size of the grid with two digits."""
    return whole(float(f"{n:.2g}"))
