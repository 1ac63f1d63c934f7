"""When undoing gives negative shares, and how they are repaired (locally private inference 7.11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.causal import AlphaIdentity, FiniteLaw, likelihood_repair
from privexplorer.causal.counts import sums_of_counts
from privexplorer.causal.discrete import estimate_with_error, fit_table, plug_in, private_scores, unmix_table
from privexplorer.data import Tables
from privexplorer.records import Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies._effects import (
    ASSUMED,
    KNOWN_LAW,
    TARGET_WORDS,
    TARGETS,
    EffectTarget,
    KeepProbability,
    LawChoice,
    NoiseChoice,
    guard_of,
    guard_words,
    keep_words,
    law_field,
    mechanism_of,
    noise_field,
)
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, significant, whole

LADDER = (1, 4, 16, 64)
"""Multiples of n in the second view: the same people and ever more of them."""
SIZES = np.unique(np.rint(np.geomspace(100, 100_000, 13)).astype(np.int64))
BLOCK = 100
TRUTH, UNMIXED, REPAIRED = "true share", "unmixed", "repaired"
ANY, MASS = "samples with a negative cell", "negative shares, in all"


class NegativeScenario(Scenario):
    """One sample, its unmixed table, and many samples of each size."""

    law: LawChoice = law_field()
    people: Annotated[int, Number] = field(
        300, "People n", "How many people are asked.", key="n", group="Data", scale="log", low=100, high=100_000,
        ge=20, le=200_000,
    )  # fmt: skip
    keep_probability: KeepProbability = 0.2
    noise: NoiseChoice = noise_field(advanced=True)
    target: EffectTarget = "ate"
    trials: Trials = 400
    seed: Seed = 4


@dataclass(frozen=True, eq=False)
class Prepared:
    """One sample in growing sizes, unmixed and repaired, and what the blocks need.

    Attributes
    ----------
    counts, unmixed : (LADDER, Y, 2, J) arrays
        What is shown, and the unmixed shares, for n and its multiples.
    repaired : (Y, 2, J) array
        Likelihood solution for n people.
    steps : int
        Its iterations.
    """

    law: FiniteLaw
    mechanism: AlphaIdentity
    seed: int
    counts: IntArray
    unmixed: FloatArray
    repaired: FloatArray
    steps: int


def cell_names(law: FiniteLaw) -> list[str]:
    """Name the cells (outcome · treatment · category) in the order of the flattened table."""
    outcomes, _, levels = law.joint.shape
    return [f"{y}·{d}·{x}" for y in range(outcomes) for d in range(2) for x in range(levels)]


def sample_counts(law: FiniteLaw, mechanism: AlphaIdentity, sizes: Sequence[int], rng: np.random.Generator) -> IntArray:
    """Return counts of what is shown, (sizes, Y, 2, J): the first people of a sample are those of the larger ones."""
    shown = law.privatised(mechanism)
    flat = np.clip(shown.ravel(), 0.0, None)
    steps = np.cumsum(flat / flat.sum())[:-1]
    places = np.searchsorted(steps, rng.random(max(sizes)), side="right")
    counts = [np.bincount(places[:size], minlength=flat.size).reshape(shown.shape) for size in sizes]
    return np.stack(counts)


class NegativeProbabilities(Study[NegativeScenario]):
    """Unmixed cells below zero, repaired cells beside them, and how often that happens."""

    id: ClassVar[str] = "negative-probabilities"
    question: ClassVar[str] = "Why do some shares come out negative?"
    lead: ClassVar[str] = (
        "Undoing takes the expected noise off again. With few people chance brings less noise than expected, and a "
        "share falls below zero."
    )
    tab: ClassVar[str] = "Negative shares"
    card: ClassVar[str] = "Cells below zero in small samples, their repair, and how they vanish."
    link: ClassVar[str] = "See negative shares"
    theme: ClassVar[str] = "swapped"
    picture: ClassVar[str] = "negative"
    scenario: ClassVar[type[Scenario]] = NegativeScenario
    late: ClassVar[frozenset[str]] = frozenset({"target", "trials"})
    views: ClassVar[Mapping[str, str]] = {"cells": "One sample", "growing": "More people", "often": "How often"}
    rows: ClassVar[tuple[str, ...]] = ("L-Ex1", "L-E13", "L-P4")

    def presets(self) -> tuple[Preset[NegativeScenario], ...]:
        """Finished examples."""
        make = NegativeScenario
        return (
            Preset("300 people", make()),
            Preset("Strong privacy", make(keep_probability=0.1, people=2000)),
            Preset("Enough people", make(keep_probability=0.5, people=5000)),
        )

    def blocks(self, scenario: NegativeScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK)

    def prepare(self, scenario: NegativeScenario, tables: Tables | None) -> Prepared:
        """Draw one sample in growing sizes and undo it in both ways."""
        law = scenario.law.law()
        mechanism = mechanism_of(law, scenario.noise, scenario.keep_probability)
        sizes = [scenario.people * times for times in LADDER]
        # stream 0 is the sample on show; the blocks use the streams after it
        counts = sample_counts(law, mechanism, sizes, block_rng(scenario.seed, 0))
        inverse = mechanism.finite().inverse
        unmixed = np.stack([unmix_table(inverse, part / part.sum()) for part in counts])
        shape = law.joint.shape
        fit = likelihood_repair(counts[0].reshape(-1, shape[2]), mechanism.finite().matrix)
        return Prepared(
            law, mechanism, scenario.seed, counts, unmixed, fit.probabilities.reshape(shape), int(fit.steps)
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Return whether a cell is negative, and the sum of negative shares, (trials, 2, sizes)."""
        rng = block_rng(prepared.seed, block + 1)
        law, inverse = prepared.law, prepared.mechanism.finite().inverse
        shown = np.clip(law.privatised(prepared.mechanism).ravel(), 0.0, None)
        shown = shown / shown.sum()
        grown = np.zeros((BLOCK, shown.size), dtype=np.int64)
        out = np.empty((BLOCK, 2, SIZES.size))
        before = 0
        for place, size in enumerate(SIZES.tolist()):
            grown = grown + rng.multinomial(size - before, shown, size=BLOCK)
            before = size
            tables = np.moveaxis(grown.reshape((BLOCK, *law.joint.shape)), 0, -1) / size
            below = np.minimum(unmix_table(inverse, tables), 0.0)
            out[:, 0, place] = below.min(axis=(0, 1, 2)) < -1e-12
            out[:, 1, place] = -below.sum(axis=(0, 1, 2))
        return out

    def assemble(self, scenario: NegativeScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Lay out cells and shares, and compare both estimates."""
        runs = stacked(parts, scenario.trials)
        count = runs.shape[0]
        mean = runs.mean(axis=0)
        error = runs.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else np.zeros_like(mean)
        names = cell_names(prepared.law)
        truth = prepared.law.joint.ravel()
        pieces = [
            tidy(
                [
                    (TRUTH, names, truth, 0.0),
                    (UNMIXED, names, prepared.unmixed[0].ravel(), 0.0),
                    (REPAIRED, names, prepared.repaired.ravel(), 0.0),
                ]
            ).assign(panel="cells")
        ]
        for times, table in zip(LADDER, prepared.unmixed, strict=True):
            pieces.append(
                tidy([(TRUTH, names, truth, 0.0), (UNMIXED, names, table.ravel(), 0.0)]).assign(
                    panel=f"{whole(scenario.people * times)} people"
                )
            )
        pieces.append(tidy([(ANY, SIZES, mean[0], error[0]), (MASS, SIZES, mean[1], error[1])]).assign(panel="often"))
        return self.told(scenario, prepared, pd.concat(pieces, ignore_index=True), mean[0], count)

    def told(
        self, scenario: NegativeScenario, prepared: Prepared, frame: pd.DataFrame, share: FloatArray, count: int
    ) -> Result:
        """Add cards, words and formulas."""
        law, keep, people = prepared.law, scenario.keep_probability, scenario.people
        target = TARGETS[scenario.target]
        truth = target.value(law)
        first = prepared.unmixed[0]
        below = int(np.sum(first < -1e-12))
        cells = first.size
        plain, plain_error, score = self.estimate(prepared, scenario.target, first)
        mended, mended_error, _ = self.estimate(prepared, scenario.target, prepared.repaired)
        inside = float(np.exp(np.interp(np.log(people), np.log(SIZES), np.log(np.maximum(share, 1e-9)))))
        inside = min(inside, 1.0)
        rare = SIZES[np.flatnonzero(share <= 0.01)]
        verdict = guard_of(law, people, prepared.mechanism)
        vanish = (
            f"From about {about(float(rare[0]))} people on fewer than 1 sample in 100 has one."
            if rare.size
            else f"Even with {whole(float(SIZES[-1]))} people more than 1 sample in 100 has one."
        )
        smallest = float(first.min())
        negative = (
            f"**{below} of {cells} cells** {'falls' if below == 1 else 'fall'} below zero, the lowest to "
            f"{significant(smallest, 2)}"
            if below
            else "no cell falls below zero"
        )
        same = float(np.abs(prepared.repaired - first).max())
        repair = (
            f"The repair takes the law that makes the shown table most likely; it moves cells by up to "
            f"{significant(same, 2)} and none is negative. "
            if below
            else "The repair changes nothing then: the most likely law is the unmixed one. "
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("Cells below zero", f"{below} of {cells}", f"{people:,} people"[:18]),
                Card(
                    "Happens in",
                    percent(inside) if inside > 0 else "0%",
                    "of such samples",
                    "Share of simulated samples of this size with a cell below zero.",
                ),
                Card(
                    "Effect, repaired",
                    _number(mended),
                    f"truth {significant(truth, 3)}",
                    f"{_capital(TARGET_WORDS[scenario.target])} after the likelihood repair, standard error "
                    f"{_number(mended_error)}.",
                ),
                Card(
                    "As unmixed",
                    _number(plain),
                    f"s.e. {_number(plain_error)}"[:18],
                    "The same estimate from the unmixed cells, negative ones included.",
                ),
            ),
            shows=(
                f"With **{people:,} people** and **α = {keep:g}** ({keep_words(keep)}), {negative}. "
                f"{repair}Negative shares are no mistake: averaged over many samples the unmixed ones are right. "
                f"{vanish} {guard_words(verdict)}"
            ),
            takeaway=(
                f"Unmixed and repaired shares of {cells} cells for {people} people at keep probability {keep:g}: "
                f"{below} of the unmixed ones are negative, none of the repaired."
            ),
            notes=(Note(KNOWN_LAW),),
            formulas=(
                Formula(
                    "Unmixed share of a cell",
                    r"\hat p(v,x)=\frac1n\sum_{i:\,V_i=v}(Q^{-1})_{xZ_i}",
                    rf"\text{{sum }}{float(first.sum()):.6g},\quad\text{{smallest }}{smallest:.5g}",
                    "exact",
                    "(13), Ex. 1",
                ),
                Formula(
                    "Repair",
                    r"P(v,x)\leftarrow P(v,x)\sum_zQ_{zx}\,\hat P(v,z)\Big/\sum_{x'}Q_{zx'}P(v,x')",
                    rf"{prepared.steps}\text{{ steps; smallest cell }}{float(prepared.repaired.min()):.2g}",
                    "exact",
                    "§2.4 (derived)",
                ),
                Formula(
                    "Mean of the fitted private scores",
                    r"\mathbb P_n\check\psi=0\ \text{for unmixed cells: no sample splitting is needed}",
                    score,
                    "exact",
                    "Prop. 4, §2.3",
                ),
                Formula(
                    "Small-sample rule",
                    r"\kappa=n\,\alpha_{\mathrm{eff}}^2\min P(d,x)",
                    rf"\kappa={verdict.kappa:.3g}\quad(\text{{green from }}90)",
                    "heuristic",
                    "§2.7",
                ),
            ),
            assumptions=(
                *ASSUMED,
                "Cells are outcome · treatment · private category. The second view adds people to the same sample.",
                "The repair is for outcomes with few values; pseudo-counts are not added, since they pull the answer "
                "toward the unadjusted contrast. (§2.4)",
            ),
            extra={"names": cell_names(law)},
            runs=count,
        )

    @staticmethod
    def estimate(prepared: Prepared, target: str, table: FloatArray) -> tuple[float, float, str]:
        """Return estimate, standard error and the mean of the fitted scores in words; NaN where there is none."""
        law, counts = prepared.law, prepared.counts[0]
        inverse = prepared.mechanism.finite().inverse
        at = fit_table(table, law.values)
        value, error = estimate_with_error(TARGETS[target], at, inverse, sums_of_counts(counts, law.values))
        outcome = law.points.y
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            _, slopes, offsets = plug_in(TARGETS[target], at)
            psi = outcome * private_scores(inverse, slopes) + private_scores(inverse, offsets)
            mean = float((counts / counts.sum() * psi).sum())
        words = rf"{mean:.1e}" if np.isfinite(mean) else r"\text{not defined: a cell is empty}"
        return float(value), float(error), words

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one sample, the same with more people, or how often cells are negative."""
        scenario: Any = result.scenario
        if view == "often":
            return self.often_chart(result)
        if view == "growing":
            panels = []
            for times in LADDER:
                title = f"{whole(scenario.people * times)} people"
                panels.append(self.cells_panel(result, title, title, UNMIXED))
            return Chart(
                "Unmixed shares of the same sample as it grows",
                "share of all people; ticks: truth",
                Axis("outcome · treatment · category", "category"),
                Axis("share"),
                tuple(panels),
                columns=1,
                height=160 + 170 * len(panels),
            )
        return Chart(
            "Unmixed and repaired shares of one sample",
            "share of all people; ticks: truth",
            Axis("outcome · treatment · private category", "category"),
            Axis("share"),
            (
                self.cells_panel(result, "cells", "Unmixed", UNMIXED),
                self.cells_panel(result, "cells", "Repaired", REPAIRED),
            ),
            columns=1,
        )

    def cells_panel(self, result: Result, panel: str, title: str, series: str) -> Panel:
        """Return bars of one table, those below zero in another look, and ticks at the truth."""
        names = result.extra["names"]
        values = result.series(series, panel)["y"].to_numpy(dtype=np.float64)
        truth = result.series(TRUTH, panel)["y"].to_numpy(dtype=np.float64)
        role: Any = "data" if series == UNMIXED else "local"
        marks: list[Any] = [
            Bars(role, names, np.where(values < -1e-12, np.nan, values), series, stack=True, hover=f"{series} {{y}}"),
            Points("truth", names, truth, TRUTH, size=16, hover="true share {y}"),
        ]
        below = np.where(values < -1e-12, values, np.nan)
        if np.isfinite(below).any():
            marks.insert(
                1,
                Bars(
                    "attacker", names, below, "below zero", "below zero", stack=True,
                    hover="below zero: {y}",
                ),
            )  # fmt: skip
        return Panel(tuple(marks), title)

    def often_chart(self, result: Result) -> Chart:
        """Describe the share of samples with a negative cell against the number of people."""
        scenario: Any = result.scenario
        rows, mass = result.series(ANY, "often"), result.series(MASS, "often")
        return Chart(
            f"How often a share comes out negative (α = {scenario.keep_probability:g})",
            f"{result.runs:,} samples of each size",
            Axis("people n", "log", symbol="n"),
            Axis("share", low=0.0, high=1.0),
            (
                Panel(
                    (
                        Line(
                            "private", rows["x"].to_numpy(), rows["y"].to_numpy(), ANY, "samples with<br>any below 0",
                            rows["std_error"].to_numpy(), main=True, hover="a cell below zero in {y} ± {e} of samples",
                        ),
                        Line(
                            "attacker", mass["x"].to_numpy(), mass["y"].to_numpy(), MASS, "sum of shares<br>below 0",
                            mass["std_error"].to_numpy(), hover="shares below zero add up to {y} ± {e}",
                        ),
                    ),
                    here=(float(scenario.people), f"your n = {scenario.people:,}"),
                ),
            ),
        )  # fmt: skip


def about(people: float) -> str:
    """Write a number of people to the one digit that is known: sizes simulated are 1.8-fold apart.

    Examples
    --------
    >>> about(31_623), about(316)
    ('30,000', '300')
    """
    return whole(float(f"{people:.0e}"))


def _number(value: float) -> str:
    return significant(value, 3) if np.isfinite(value) else "not defined"


def _capital(words: str) -> str:
    return words[0].upper() + words[1:]
