"""What noise does to one person's score: slope 1/α where kept, far off where not (locally private inference 7.5).

The slope holds at a fixed outcome and arm: ψ = χ/α − (1 − α)/α times the noise average of χ, and that average depends
on both (Thm 2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import BoolArray, FloatArray, IntArray
from privexplorer.causal import (
    ATT,
    LAW_C,
    LAW_D,
    AlphaIdentity,
    ContinuousLaw,
    Decomposition,
    FiniteLaw,
    FiniteNoise,
    UniformNoise,
    likelihood_repair,
    private_influence,
)
from privexplorer.causal.discrete import fit_table, plug_in, unmix_table
from privexplorer.data import Tables
from privexplorer.records import Number, Record, Scenario, Seed, field
from privexplorer.simulation import block_rng
from privexplorer.studies._effects import (
    CONTINUOUS_LEAK,
    KNOWN_LAW,
    ONE_COLUMN,
    TARGET_SHORT,
    TARGET_WORDS,
    TARGETS,
    EffectTarget,
    KeepProbability,
    LawA,
    LawB,
    NoiseChoice,
    OwnLaw,
    keep_grid,
    noise_field,
)
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, ratio, significant

KEPT, SWAPPED = "kept", "swapped"
STRETCHED, SAME = "slope 1/α", "unchanged"
PRIVATE, GROWTH, WORST = "private score", "open score times 1/α", "largest open score times (2 − α)/α"
OUTCOMES = 5
"""Outcomes per arm that get a line of their own, at most."""
WIDTH = 41
"""Values of a private number along which a line is traced."""
JITTER = 0.012
"""Sideways shift of dots over categories, as a share of the range, so that equal ones can be told apart."""


class SmoothC(Record):
    """A private number on [-1, 1]; straight lines, logistic treatment."""

    kind: Literal["c"] = "c"
    title: ClassVar[str] = "Law C: a number, straight lines"
    formula: ClassVar[str] = r"\mathrm{logit}\,\pi=.3+x,\ \mu_0=1+2x,\ \mu_1=2+3x"
    source: ClassVar[str] = "locally private inference §6.2"

    def smooth(self) -> ContinuousLaw:
        """Return the law."""
        return LAW_C


class SmoothD(Record):
    """A private number on [-1, 1]; curved regressions."""

    kind: Literal["d"] = "d"
    title: ClassVar[str] = "Law D: a number, curves"
    formula: ClassVar[str] = r"\mathrm{logit}\,\pi=-.4+1.4x,\ \mu_0=.5e^x,\ \mu_1=1+\sin2x"
    source: ClassVar[str] = "locally private inference §6.2"

    def smooth(self) -> ContinuousLaw:
        """Return the law."""
        return LAW_D


ScoreLaw: TypeAlias = Annotated[SmoothC | SmoothD | LawA | LawB | OwnLaw, Field(discriminator="kind")]


class ScoreScenario(Scenario):
    """Some people of a known law, their scores with and without noise."""

    law: ScoreLaw = field(
        SmoothC(),
        "Who the people are",
        "A known law of outcome, treatment and one private column: a number, or categories.",
        key="law",
        group="Data",
        discriminator="kind",
    )
    people: Annotated[int, Number] = field(
        300, "People drawn", "One dot each.", key="n", group="Data", scale="log", low=50, high=2000, ge=20, le=2000
    )
    keep_probability: KeepProbability = 0.5
    noise: NoiseChoice = noise_field(advanced=True)
    target: EffectTarget = "ate"
    scores: Literal["exact", "fitted"] = field(
        "exact",
        "Scores",
        "From the known law, or from regressions fitted to what these people show (categories only).",
        key="scores",
        group="Method",
        titles={"exact": "From the known law", "fitted": "Fitted to what is shown"},
    )
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class Prepared:
    """People of the law, their coins and their noise; the same for every keep probability."""

    y: FloatArray
    d: IntArray
    x: Any
    coins: FloatArray
    noise: Any
    jitter: FloatArray


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of the people, and what they average over.

    Attributes
    ----------
    plain, private : (n,) arrays
        With the true value and without noise; with the shown value.
    kept : (n,) array of bool
        Whose value was kept.
    offset : (n,) array
        (1 - α)/α times the noise average of the score: what is taken off again; it depends on outcome and arm.
    parts : Decomposition
        Exact variance at every keep probability.
    largest : float
        Largest open score in absolute value; infinite for a number.
    """

    plain: FloatArray
    private: FloatArray
    kept: BoolArray
    offset: FloatArray
    parts: Decomposition
    largest: float


class ScoreAmplification(Study[ScoreScenario]):
    """Open score against private score, person by person."""

    id: ClassVar[str] = "score-amplification"
    question: ClassVar[str] = "What does noise do to one person's contribution?"
    lead: ClassVar[str] = (
        "An estimate of an effect is an average of scores, one per person. Undoing the noise stretches every score, "
        "and those of the swapped point anywhere."
    )
    tab: ClassVar[str] = "Scores"
    card: ClassVar[str] = "One dot per person: the score without noise against the score with it."
    link: ClassVar[str] = "See scores stretched"
    theme: ClassVar[str] = "swapped"
    picture: ClassVar[str] = "amplify"
    scenario: ClassVar[type[Scenario]] = ScoreScenario
    late: ClassVar[frozenset[str]] = frozenset({"keep_probability", "target", "scores"})
    views: ClassVar[Mapping[str, str]] = {"scores": "Person by person", "spread": "Spread by α"}
    rows: ClassVar[tuple[str, ...]] = ("L-P1", "L-T2", "L-E19", "L-X11")

    def presets(self) -> tuple[Preset[ScoreScenario], ...]:
        """Finished examples."""
        make = ScoreScenario
        return (
            Preset("A private number", make()),
            Preset("Three categories", make(law=LawA(), keep_probability=0.5)),
            Preset("Effect on the treated", make(law=LawA(), keep_probability=0.5, target="att")),
            Preset("Fitted scores", make(law=LawB(), people=2000, keep_probability=0.5, scores="fitted")),
        )

    def prepare(self, scenario: ScoreScenario, tables: Tables | None) -> Prepared:
        """Draw people, coins and noise."""
        rng = block_rng(scenario.seed, 0)
        size = scenario.people
        law = scenario.law
        if isinstance(law, SmoothC | SmoothD):
            y, d, x = law.smooth().sample(size, rng)
            noise: Any = UniformNoise(-1.0, 1.0).sample(size, rng)
            return Prepared(y, d, x, rng.random(size), noise, np.zeros(size))
        finite = law.law()
        y, d, codes = finite.sample(size, rng)
        noise = scenario.noise.noise(finite).sample(size, rng)
        return Prepared(y, d, codes, rng.random(size), noise, rng.uniform(-1.0, 1.0, size))

    def scored(self, scenario: ScoreScenario, prepared: Prepared) -> Scores:
        """Work out both scores of everybody."""
        keep = scenario.keep_probability
        target = TARGETS[scenario.target]
        kept = prepared.coins < keep
        shown = np.where(kept, prepared.x, prepared.noise)
        if isinstance(scenario.law, SmoothC | SmoothD):
            smooth = scenario.law.smooth()
            mechanism = AlphaIdentity(keep, UniformNoise(-1.0, 1.0))
            here = smooth.influence(target, prepared.y, prepared.d, shown)
            private = smooth.private_influence(target, prepared.y, prepared.d, shown, mechanism)
            return Scores(
                smooth.influence(target, prepared.y, prepared.d, prepared.x),
                private,
                kept,
                here / keep - private,
                smooth.decomposition(target, mechanism.noise),
                math.inf,
            )
        law = scenario.law.law()
        noise = scenario.noise.noise(law)
        mechanism = AlphaIdentity(keep, noise)
        exact = target.influence(law)
        table = exact
        if scenario.scores == "fitted":
            table = self.fitted(scenario, prepared, shown.astype(np.int64), mechanism)
        private = private_influence(table, mechanism)
        at = np.searchsorted(law.values, prepared.y)
        return Scores(
            table[at, prepared.d, prepared.x],
            private[at, prepared.d, shown],
            kept,
            (table / keep - private)[at, prepared.d, shown],
            self.parts(law, exact, noise),
            float(np.abs(exact).max()),
        )

    @staticmethod
    def parts(law: FiniteLaw, influence: FloatArray, noise: FiniteNoise) -> Decomposition:
        """Return the exact variance of the scores of a known law."""
        from privexplorer.causal import decompose

        return decompose(influence, law.joint, noise.probabilities)

    @staticmethod
    def fitted(scenario: ScoreScenario, prepared: Prepared, shown: IntArray, mechanism: AlphaIdentity) -> FloatArray:
        """Return the score table (Y, 2, J) of the law fitted to what is shown; repaired where it is impossible."""
        levels = mechanism.finite().levels
        cells = np.ravel_multi_index((prepared.y.astype(np.int64), prepared.d, shown), (2, 2, levels))
        counts = np.bincount(cells, minlength=4 * levels).reshape(2, 2, levels)
        found = unmix_table(mechanism.finite().inverse, counts / counts.sum())
        if np.any(found <= 0):
            whole = likelihood_repair(counts.reshape(4, levels), mechanism.finite().matrix)
            # a boundary solution leaves cells at 0, where the score is not defined: they get a hundredth of a person
            floor = 0.01 / counts.sum()
            found = np.maximum(whole.probabilities, floor).reshape(2, 2, levels)
            found = found / found.sum()
        at = fit_table(found, np.array([0.0, 1.0]))
        _, slopes, offsets = plug_in(TARGETS[scenario.target], at)
        return np.asarray(slopes * np.array([0.0, 1.0])[:, None, None] + offsets)

    @staticmethod
    def guides(scenario: ScoreScenario, prepared: Prepared, found: Scores) -> list[tuple[str, FloatArray, FloatArray]]:
        """Trace where kept dots of one outcome and arm lie as the private value varies; nothing where all are kept.

        With categories one line for each outcome and arm, through all its kept dots; with a private number one for
        each arm, at the kept outcome in the middle, so that one dot lies on it. Each is ``(name, open, private)``.
        """
        keep, out = scenario.keep_probability, []
        smooth = scenario.law.smooth() if isinstance(scenario.law, SmoothC | SmoothD) else None
        for arm, word in enumerate(("untreated", "treated")):
            members = np.flatnonzero(found.kept & (prepared.d == arm))
            if keep >= 1 or not members.size:
                continue
            ordered = members[np.argsort(prepared.y[members], kind="stable")]
            chosen = ordered[[ordered.size // 2]]
            if smooth is None:
                chosen = ordered[np.unique(prepared.y[ordered], return_index=True)[1]][:OUTCOMES]
            for person in chosen.tolist():
                outcome = float(prepared.y[person])
                if smooth is None:
                    plain = np.unique(found.plain[members[prepared.y[members] == outcome]])
                else:
                    values = np.linspace(-1.0, 1.0, WIDTH)
                    flat = np.full(WIDTH, outcome), np.full(WIDTH, arm)
                    plain = np.sort(smooth.influence(TARGETS[scenario.target], *flat, values))
                ends = np.array([float(plain[0]), float(plain[-1])])
                if ends[1] > ends[0]:
                    name = f"{STRETCHED}: {word}, outcome {outcome:.3g}"
                    out.append((name, ends, ends / keep - float(found.offset[person])))
        return out

    def assemble(self, scenario: ScoreScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Set scores beside each other and say how far they are stretched."""
        found = self.scored(scenario, prepared)
        keep = scenario.keep_probability
        kept = found.kept
        guides = self.guides(scenario, prepared, found)
        spread = float(np.ptp(found.plain)) or 1.0
        x = found.plain + prepared.jitter * JITTER * spread
        ends = np.array([float(x.min()), float(x.max())])
        rows: list[tuple[str, Any, Any, Any]] = []
        for name, who in ((KEPT, kept), (SWAPPED, ~kept)):
            if who.any():
                rows.append((name, *_apart(x[who], found.private[who]), 0.0))
        grid = keep_grid(keep)
        deviation = np.sqrt(found.parts.variance(grid))
        open_deviation = math.sqrt(found.parts.t0)
        curves: list[tuple[str, Any, Any, Any]] = [
            (PRIVATE, grid, deviation, 0.0),
            (GROWTH, grid, open_deviation / grid, 0.0),
        ]
        if math.isfinite(found.largest):
            curves.append((WORST, grid, (2 - grid) / grid * found.largest, 0.0))
        frame = pd.concat(
            [
                tidy(rows).assign(panel="scores"),
                tidy([*((*guide, 0.0) for guide in guides), (SAME, ends, ends, 0.0)]).assign(panel="scores"),
                tidy(curves).assign(panel="spread"),
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, frame, found)

    def told(self, scenario: ScoreScenario, prepared: Prepared, frame: pd.DataFrame, found: Scores) -> Result:
        """Add cards, words and formulas."""
        keep = scenario.keep_probability
        here = math.sqrt(float(found.parts.variance(keep)))
        plain = math.sqrt(found.parts.t0)
        times = here / plain
        largest, typical = float(np.abs(found.private).max()), float(np.std(found.private))
        mean, error = float(found.private.mean()), float(found.private.std(ddof=1)) / math.sqrt(found.private.size)
        apart = abs(mean / error) if error > 0 else 0.0
        right = (
            "0 up to rounding"
            if apart < 1e-9
            else f"{significant(mean, 2)}, {significant(apart, 2)} standard errors from 0"
        )
        goal = TARGET_WORDS[scenario.target]
        trend = line_slope(found.plain[found.kept], found.private[found.kept])
        slope = significant(1 / keep)
        if found.kept.all():
            dots = "Everybody is kept, so every dot lies on the line of unchanged scores. "
        elif not found.kept.any():
            dots = "Nobody was kept, so the dots follow no line. "
        else:
            where = (
                "the dashed lines show this for one outcome in each arm"
                if isinstance(scenario.law, SmoothC | SmoothD)
                else "so their dots lie on dashed lines of that slope, one for each outcome and arm"
            )
            every = (
                f" All their dots together rise with slope {significant(trend, 2)} only, since their outcomes and "
                "arms differ."
                if math.isfinite(trend) and trend < 1 / keep
                else ""
            )
            dots = (
                f"Among the {percent(float(found.kept.mean()))} who were kept, noise multiplies a difference of scores "
                f"at the same outcome and arm by {slope}; {where}.{every} The dots of the "
                "others follow no line. "
            )
        through = f" A line through all kept dots has slope {significant(trend, 2)}." if math.isfinite(trend) else ""
        fitted = scenario.scores == "fitted"
        notes = [Note(KNOWN_LAW)]
        if fitted and isinstance(scenario.law, SmoothC | SmoothD):
            fitted = False
            notes.append(
                Note(
                    "Here scores are fitted for private categories only. With a private number these are the scores of "
                    "the known law.",
                    "warning",
                    "Scores from the known law",
                )
            )
        if isinstance(scenario.law, SmoothC | SmoothD):
            notes.append(Note(CONTINUOUS_LEAK, "warning", "The exact value leaks with probability α"))
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card(
                    "Typical score",
                    significant(here),
                    f"{ratio(times)} the open one"[:18],
                    f"Standard deviation, exact for this law; {significant(typical)} among these people.",
                ),
                Card(
                    "Slope where kept",
                    slope,
                    "same outcome, arm",
                    "1/α: what noise multiplies a difference of scores by, at the same outcome and arm." + through,
                ),
                Card("Largest score", significant(largest), "in absolute value"),
                Card(
                    "People for same ±",
                    ratio(times**2),
                    f"{TARGET_SHORT[scenario.target]}, α = {keep:g}"[:18],
                    "Square of how many times as spread out the scores are.",
                ),
            ),
            shows=(
                f"With α = {keep:g}, a person's score for the {goal} is typically **{significant(here, 3)}**, where it "
                f"would be {significant(plain, 3)} without noise: **{ratio(times)}** as much, which takes "
                f"**{ratio(times**2)}** the people. {dots}"
                f"On average the scores stay right: the mean of these {found.private.size:,} is {right}. Which dots "
                "were kept is known in a simulation only."
            ),
            takeaway=(
                f"Private score against open score of {found.private.size} people at keep probability {keep:g}: at one "
                f"outcome and arm kept ones rise with slope {slope}, swapped ones scatter. The standard deviation is "
                f"{significant(here)} against {significant(plain)}."
            ),
            notes=tuple(notes),
            formulas=self.formulas(scenario, found, mean, fitted),
            assumptions=(
                "Scores are centred influence functions: the estimate is off by their mean, up to smaller terms. "
                "(Prop. 1, Thm 2)",
                "Dots over categories are shifted sideways a little, so that equal ones can be seen.",
                "The same people, coins and noise at every α: a person is kept if their coin lies below α.",
                f"{ONE_COLUMN} (E19)",
            ),
            extra={
                "plain": found.plain, "private": found.private, "kept": found.kept,
                "deviation": here, "open": plain,
            },
        )  # fmt: skip

    def formulas(self, scenario: ScoreScenario, found: Scores, mean: float, fitted: bool) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers."""
        keep, t = scenario.keep_probability, found.parts
        if scenario.target == "ate":
            score = r"\tilde\chi=\frac d\pi(y-\mu_1)-\frac{1-d}{1-\pi}(y-\mu_0)+\mu_1-\mu_0-\chi"
        else:
            score = r"\tilde\chi=\frac d{p_1}(y-\mu_0)-\frac{1-d}{p_1}\frac\pi{1-\pi}(y-\mu_0)-\frac d{p_1}\chi"
        out = [
            Formula(
                "Open score",
                score,
                rf"P\tilde\chi^2={t.t0:.6g}",
                "exact",
                "Prop. 1, Ex. 2" if scenario.target == "ate" else "Prop. 1, Ex. 3, sign corrected (E1)",
            ),
            Formula(
                "Private score",
                r"\tilde\psi(v,z)=\frac1\alpha\tilde\chi(v,z)-\frac{1-\alpha}\alpha\int\tilde\chi(v,x)\,\bar Q(dx)",
                rf"\frac1\alpha={1 / keep:.4g},\quad\frac{{1-\alpha}}\alpha={1 / keep - 1:.4g}",
                "exact",
                "Thm 2",
            ),
            Formula(
                "Spread of the private score",
                r"P\tilde\psi^2=T_0+\tfrac{1-\alpha}\alpha T_1+\tfrac{1-\alpha}{\alpha^2}T_2",
                rf"{t.t0:.5g}+{1 / keep - 1:.4g}\cdot{t.t1:.5g}+{(1 - keep) / keep**2:.4g}\cdot{t.t2:.5g}"
                rf"={float(t.variance(keep)):.6g}",
                "exact",
                "§1.6 (derived)",
            ),
        ]
        if fitted:
            out.append(
                Formula(
                    "Fitted private scores",
                    r"\check\psi=Q^{-1}\check\chi,\qquad\mathbb P_n\check\psi=0\ \text{unless the fit was repaired}",
                    rf"\mathbb P_n\check\psi={mean:.2e}",
                    "exact",
                    "(19), (20), Prop. 4",
                )
            )
        if scenario.target == "att" and not isinstance(scenario.law, SmoothC | SmoothD):
            law = scenario.law.law()
            printed = law.mean(ATT().influence(law, printed=True))
            corrected = law.mean(ATT().influence(law))
            out.append(
                Formula(
                    "Sign of the last term",
                    r"-\frac d{p_1}\chi\quad(\text{printed }+\tfrac d{p_1}\chi)",
                    rf"\text{{mean as printed }}{printed:.5g}=2\chi,\quad\text{{corrected }}{abs(corrected):.1e}",
                    "exact",
                    "Ex. 3, E1",
                )
            )
        return tuple(out)

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the scatter, or the spread against the keep probability."""
        if view == "spread":
            return self.spread_chart(result)
        scenario: Any = result.scenario
        marks: list[Any] = []
        guides = [name for name in result.frame["series"].unique().tolist() if name.startswith(STRETCHED)]
        lines: list[tuple[str, Role, str | None]] = [(SAME, "truth", "unchanged")]
        # one name for all of them: they are parallel
        lines += [(name, "upper bound", None if place else STRETCHED) for place, name in enumerate(guides[::-1])]
        for name, role, label in lines:
            rows = result.series(name, "scores")
            marks.append(Line(role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, hover=f"{name}: {{y}}"))
        dots: tuple[tuple[str, Role, bool], ...] = ((SWAPPED, "attacker", False), (KEPT, "private", True))
        for name, role, is_open in dots:
            rows = result.series(name, "scores")
            if len(rows):
                marks.append(
                    Points(
                        role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, name, open=is_open, size=6,
                        hover=f"{name}: private score {{y}}",
                    )
                )  # fmt: skip
        return Chart(
            f"One person's score, α = {scenario.keep_probability:g}",
            "private score against score without noise",
            Axis("score without noise", symbol="open score"),
            Axis("private score"),
            (Panel(tuple(marks)),),
            by_point=True,
        )

    def spread_chart(self, result: Result) -> Chart:
        """Describe the standard deviation of the private score at every keep probability."""
        scenario: Any = result.scenario
        marks = []
        curves: tuple[tuple[str, Role, str, str], ...] = (
            (WORST, "upper bound", "largest:<br>(2 − α)/α", "no score is above {y}"),
            (PRIVATE, "private", "private score", "typical private score {y}"),
            (GROWTH, "non-private", "open score<br>times 1/α", "open score times 1/α: {y}"),
        )
        for name, role, label, hover in curves:
            rows = result.series(name, "spread")
            if len(rows):
                marks.append(
                    Line(
                        role, rows["x"].to_numpy(), rows["y"].to_numpy(), name, label, main=name == PRIVATE,
                        hover=hover,
                    )
                )  # fmt: skip
        return Chart(
            "How far scores are spread out",
            "standard deviation of a score, log scale",
            Axis("keep probability α", "log", ends=("more private", "more accurate"), symbol="α"),
            Axis("score", "log"),
            (Panel(tuple(marks), here=(scenario.keep_probability, f"your α = {scenario.keep_probability:g}")),),
        )


def line_slope(x: FloatArray, y: FloatArray) -> float:
    """Slope of the least-squares line through points; NaN where they do not have one.

    Examples
    --------
    >>> line_slope(np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 6.0]))
    2.5
    """
    if x.size < 2 or not np.ptp(x) > 0:
        return math.nan
    away = x - x.mean()
    return float(np.sum(away * (y - y.mean())) / np.sum(away * away))


def _apart(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return points in the order of x, equal x values once only (a table row per x)."""
    _, first = np.unique(x, return_index=True)
    return x[first], y[first]
