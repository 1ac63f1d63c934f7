"""Two populations that look alike in a small sample (properties §8 claim (b), §12.7; Lemmas 28 and 31)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteLaw, Uniform, nested_fingerprints
from privexplorer.privacy import LaplaceNoise
from privexplorer.properties import nested_edits, support_pair
from privexplorer.records import Epsilon, Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng, mean_and_error
from privexplorer.studies import _unseen as unseen
from privexplorer.studies._fields import people_field
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Role
from privexplorer.studies.result import Card, Formula, Result, tidy
from privexplorer.studies.words import percent, significant

EPSILONS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 10.0, 25)])
RARE = 0.02
"""Counts expected for fewer symbols than this are not shown."""
FIRST, SECOND, EDITS = range(3)


class TwinsScenario(Scenario):
    """Two supports and a sample size."""

    first: Annotated[int, Number] = field(
        100,
        "Values of the first population",
        "All equally likely.",
        key="k1",
        group="Data",
        scale="log",
        low=10,
        high=10_000,
        ge=2,
        le=100_000,
    )
    second: Annotated[int, Number] = field(
        200,
        "Values of the second population",
        "All equally likely.",
        key="k2",
        group="Data",
        scale="log",
        low=10,
        high=10_000,
        ge=2,
        le=100_000,
    )
    n: Annotated[int, Number] = people_field(
        50, "How many records are drawn from one of the two.", low=10, high=10_000, ge=2, le=20_000
    )
    epsilon: Epsilon = 0.1
    trials: Trials = 500
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share; the expected fingerprints are exact."""

    laws: tuple[DiscreteLaw, DiscreteLaw]
    n: int
    seed: int
    block_trials: int
    counts: FloatArray
    expected: tuple[FloatArray, FloatArray]


class Twins(Study[TwinsScenario]):
    """Fingerprints of two populations, and the number of edits between their samples."""

    id: ClassVar[str] = "twins"
    question: ClassVar[str] = "Why is a small sample so hard to protect?"
    lead: ClassVar[str] = (
        "Samples of two populations may differ in a few records alone: the fewer have to change to turn one into the "
        "other, the less a private answer can tell them apart."
    )
    tab: ClassVar[str] = "Twins"
    card: ClassVar[str] = "Two populations whose samples differ by a handful of records."
    link: ClassVar[str] = "Compare the twins"
    theme: ClassVar[str] = "unseen"
    picture: ClassVar[str] = "twins"
    scenario: ClassVar[type[Scenario]] = TwinsScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "fingerprints": "Fingerprints",
        "edits": "Edits between them",
        "guess": "Telling them apart",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-Twins", "T-Lem28", "T-Lem31")

    def presets(self) -> tuple[Preset[TwinsScenario], ...]:
        """Finished examples."""
        make = TwinsScenario
        return (
            Preset("One hundred or two hundred", make()),
            Preset("A larger sample", make(n=500)),
            Preset("Close relatives", make(first=100, second=110, n=200)),
            Preset("Large populations", make(first=10_000, second=20_000, n=5_000)),
        )

    def check(self, scenario: TwinsScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        if scenario.first == scenario.second:
            return (
                f"Both populations have {scenario.first:,} values, so there is nothing to tell apart; change one of "
                "the two.",
            )
        return ()

    def size(self, scenario: TwinsScenario) -> int:
        """Trials per block: a matter of the question alone."""
        work = scenario.n + max(scenario.first, scenario.second)
        return int(min(128, max(8, 1_000_000 // work)))

    def blocks(self, scenario: TwinsScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: TwinsScenario, tables: Tables | None) -> Prepared:
        """Compute the expected fingerprints."""
        laws = (Uniform(k=scenario.first).law(), Uniform(k=scenario.second).law())
        n = scenario.n
        mean = n / min(scenario.first, scenario.second)
        size = min(n, int(mean + 12 * math.sqrt(mean) + 12))
        both = [unseen.expected_fingerprint(law, n, size) for law in laws]
        usual = np.flatnonzero(np.maximum(*both) >= RARE)
        shown = slice(int(usual[0]), int(usual[-1]) + 1)
        counts = np.arange(1, size + 1)[shown]
        return Prepared(
            laws,
            n,
            scenario.seed,
            self.size(scenario),
            counts.astype(np.float64),
            (both[0][shown], both[1][shown]),
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw pairs of samples; return ``(trials, 3, 1)``: distinct values of both, and edits between them."""
        rng = block_rng(prepared.seed, block)
        one, two = (nested_fingerprints(law, [prepared.n], prepared.block_trials, rng) for law in prepared.laws)
        found = np.stack((one.distinct()[0], two.distinct()[0], nested_edits(one, two)[0]), axis=1)
        return found.astype(np.float64)[:, :, None]

    def assemble(self, scenario: TwinsScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put fingerprints, edits and words together."""
        blocks = stacked(parts, scenario.trials)[:, :, 0]
        names = (series_name(scenario.first), series_name(scenario.second))
        rows: list[tuple[str, Any, Any, Any]] = [
            (names[0], prepared.counts, prepared.expected[0], 0.0),
            (names[1], prepared.counts, prepared.expected[1], 0.0),
        ]
        edits, edits_error = (float(v) for v in mean_and_error(blocks[:, EDITS]))
        distinct = [float(law.coverage(prepared.n)) for law in prepared.laws]
        right, right_error = self.guesses(scenario, blocks, np.array([scenario.epsilon]))
        best, _ = ceiling(blocks[:, EDITS], np.array([scenario.epsilon]))
        value, error = unseen.measured(edits, 2 * edits_error)
        coupled = hamming(scenario)
        free = float(self.without_privacy(scenario, blocks)[0])
        cards = (
            Card(
                "Values differ by",
                significant(abs(distinct[0] - distinct[1])),
                f"{significant(distinct[0])} and {significant(distinct[1])}",
                f"Expected number of different values among {prepared.n:,} records of either population; exact.",
            ),
            Card(
                "Edits in between",
                value,
                error,
                "Records to change in one sample to give it the other's fingerprint.",
            ),
            Card(
                "Right guesses",
                percent(float(right[0])),
                f"at ε = {scenario.epsilon:g}",
                "How often the private number of distinct values names the right population; a coin is right half the "
                "time.",
            ),
            Card(
                "No test exceeds",
                percent(float(best[0])),
                "label-blind tests",
                "A bound for every ε-private test that looks at how often values occur and not at which values they "
                "are.",
            ),
        )
        shows = (
            f"**{prepared.n:,} records** from **{scenario.first:,} values** show {significant(distinct[0])} different "
            f"ones on average, from **{scenario.second:,}** they show {significant(distinct[1])}. Changing about "
            f"**{value} records** ({error}) gives one sample the other's fingerprint; record by record, by Lemma 31, "
            f"one would change {significant(coupled, 2)}. At **ε = {scenario.epsilon:g}** the private number of "
            f"distinct values names the right population in {percent(float(right[0]))} of the cases, without privacy "
            f"in {percent(free)}, and no private test of this kind can exceed {percent(float(best[0]))}."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=tidy(rows),
            cards=cards,
            shows=shows,
            takeaway=(
                f"Average fingerprints of {prepared.n:,} records from {scenario.first:,} and {scenario.second:,} "
                f"equally likely values; about {value} changed records turn one sample into the other."
            ),
            formulas=self.formulas(scenario, edits, coupled, float(best[0])),
            assumptions=ASSUMPTIONS,
            extra={"blocks": blocks, "prepared": prepared, "right_error": right_error},
            runs=int(blocks.shape[0]),
        )

    def formulas(self, scenario: TwinsScenario, edits: float, coupled: float, best: float) -> tuple[Formula, ...]:
        """Write the edits, the coupling and the bound, with the current numbers."""
        low, high = sorted((scenario.first, scenario.second))
        return (
            Formula(
                "Edits between two samples",
                r"d=\tfrac12\sum_j|N_{(j)}-N'_{(j)}|\quad\text{(counts in decreasing order)}",
                rf"\mathrm E\,d = {edits:.4g}",
                "exact",
                "properties §12.7 (derived)",
            ),
            Formula(
                "Record by record",
                r"\mathrm E\,d_{\mathrm{ham}}=n\,d_{TV}(U[k],U[k'])=n\,(1-k'/k)",
                rf"{scenario.n:,}\,(1-{low:,}/{high:,}) = {coupled:.5g}",
                "exact",
                "Lemmas 28, 31",
            ),
            Formula(
                "No private test is right more often",
                r"\Pr(\text{right})\le\tfrac12+\tfrac12\,\mathrm E\tanh\tfrac{\varepsilon d}2",
                rf"\varepsilon = {scenario.epsilon:g}:\quad{best:.4g}",
                "bound",
                "Lemma 2 (group property); derived for tests that do not look at labels",
            ),
        )

    def guesses(
        self, scenario: TwinsScenario, blocks: FloatArray, epsilons: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Compute how often the noisy number of distinct values names the right population, with the best threshold.

        The noise, of scale 1/ε, is integrated exactly; the number of distinct values is simulated.
        """
        right, error = np.zeros(epsilons.size), np.zeros(epsilons.size)
        for place, epsilon in enumerate(epsilons.tolist()):
            right[place], error[place] = best_threshold(*ordered(scenario, blocks), LaplaceNoise(1 / epsilon))
        return right, error

    def without_privacy(self, scenario: TwinsScenario, blocks: FloatArray) -> tuple[float, float]:
        """Compute the same without noise."""
        return best_threshold(*ordered(scenario, blocks), LaplaceNoise(0.0))

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the fingerprints, the edits, or the chance of a right guess."""
        if view == "edits":
            return self.edits_chart(result)
        if view == "guess":
            return self.guess_chart(result)
        scenario: Any = result.scenario
        prepared = result.extra["prepared"]
        shown = [f"{count:.0f}×" for count in prepared.counts]
        roles: tuple[tuple[Role, int], ...] = (("data", scenario.first), ("local", scenario.second))
        marks = [
            Bars(role, shown, mean, series_name(k), f"{k:,} values", hover=f"{k:,} values: {{y}} on average")
            for (role, k), mean in zip(roles, prepared.expected, strict=True)
        ]
        return Chart(
            "How many values are seen how often",
            f"average over samples of {prepared.n:,} records",
            Axis("times seen in the sample", "category"),
            Axis("values", "linear", low=0.0),
            (Panel(tuple(marks)),),
        )

    def edits(self, result: Result) -> pd.DataFrame:
        """Share of pairs that are so many edits apart, with standard errors."""
        found = result.extra["blocks"][:, EDITS].astype(np.int64)
        width = max(1, math.ceil((found.max() - found.min() + 1) / 30))
        start = int(found.min()) // width * width
        places = (found - start) // width
        share = np.bincount(places) / found.size
        error = np.sqrt(share * (1 - share) / found.size)
        edits = start + width * np.arange(share.size)
        return tidy([("share of pairs", edits, share, error)]).assign(width=width)

    def edits_chart(self, result: Result) -> Chart:
        """Describe how many edits pairs of samples are apart."""
        scenario: Any = result.scenario
        frame = self.edits(result)
        width = int(frame["width"].iloc[0])
        x = frame["x"].to_numpy(dtype=np.float64) + (width - 1) / 2
        coupled = hamming(scenario)
        return Chart(
            "Records to change to turn one sample into the other",
            f"share of {result.runs:,} pairs of samples",
            Axis(
                "changed records" if width == 1 else f"changed records, in steps of {width}",
                "linear",
                high=1.03 * max(coupled, float(x.max())) + width / 2,
                symbol="edits",
            ),
            Axis("share", "linear", low=0.0),
            (
                Panel(
                    (
                        Bars(
                            "data",
                            x,
                            frame["y"].to_numpy(),
                            "share of pairs",
                            error=2 * frame["std_error"].to_numpy(),
                            hover="{y} ± {e} of all pairs",
                        ),
                    ),
                    here=(coupled, f"record by record: {significant(coupled, 2)}"),
                ),
            ),
        )

    def guess(self, result: Result) -> pd.DataFrame:
        """Chances of a right guess against ε."""
        scenario: Any = result.scenario
        blocks = result.extra["blocks"]
        right, error = self.guesses(scenario, blocks, EPSILONS)
        best, best_error = ceiling(blocks[:, EDITS], EPSILONS)
        free, free_error = self.without_privacy(scenario, blocks)
        return tidy(
            [
                ("private count", EPSILONS, right, error),
                ("no private test exceeds", EPSILONS, best, best_error),
                ("count without privacy", EPSILONS, np.full(EPSILONS.size, free), free_error),
            ]
        )

    def guess_chart(self, result: Result) -> Chart:
        """Describe how often a guess is right, against ε."""
        scenario: Any = result.scenario
        frame = self.guess(result)
        looks: dict[str, tuple[Any, str]] = {
            "no private test exceeds": ("upper bound", "no private<br>test exceeds"),
            "count without privacy": ("non-private", "without<br>privacy"),
            "private count": ("private", "private"),
        }
        marks = []
        for name, (role, label) in looks.items():
            rows = frame[frame["series"] == name]
            marks.append(
                Line(
                    role,
                    rows["x"].to_numpy(),
                    rows["y"].to_numpy(),
                    name,
                    label,
                    rows["std_error"].to_numpy(),
                    main=role == "private",
                    hover=f"{name}: {{y}} ± {{e}}",
                )
            )
        return Chart(
            "How often a guess names the right population",
            "share of samples; one half is a coin",
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε"),
            Axis("right guesses", "linear", low=0.45, high=1.0),
            (Panel(tuple(marks), here=(scenario.epsilon, f"your ε = {scenario.epsilon:g}")),),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind each view."""
        if view == "edits":
            return self.edits(result).drop(columns="width")
        return self.guess(result) if view == "guess" else result.frame


def series_name(k: int) -> str:
    """Return the stable name of a population."""
    return f"support {k}"


def hamming(scenario: TwinsScenario) -> float:
    """Compute the expected number of records that differ under the best coupling record by record (Lemmas 28, 31)."""
    low, high = sorted((scenario.first, scenario.second))
    return support_pair(high, 1 - low / high).expected_hamming(scenario.n)


def ordered(scenario: TwinsScenario, blocks: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Numbers of distinct values, those of the smaller support first."""
    pair = blocks[:, FIRST], blocks[:, SECOND]
    return pair if scenario.first < scenario.second else pair[::-1]


def best_threshold(fewer: FloatArray, more: FloatArray, noise: LaplaceNoise) -> tuple[float, float]:
    """Chance of a right guess with the best threshold on a noisy count, both cases equally likely.

    Parameters
    ----------
    fewer, more : (trials,) float arrays
        Counts under either case.
    noise : LaplaceNoise
        Added to the count.

    Returns
    -------
    chance, std_error : float
        The standard error is that of the two averages at the threshold, which is chosen on the same samples.
    """
    low, high = min(fewer.min(), more.min()), max(fewer.max(), more.max())
    thresholds = np.arange(low - 0.5, high + 1) if high - low <= 200 else np.linspace(low - 0.5, high + 0.5, 201)
    chances = []
    for counts, sign in ((fewer, 1.0), (more, -1.0)):
        values, weight = np.unique(counts, return_counts=True)
        room = sign * (thresholds[:, None] - values[None, :])
        found = noise.cdf(room)
        mean = (found * weight).sum(axis=1) / counts.size
        square = (found**2 * weight).sum(axis=1) / counts.size
        chances.append((mean, np.maximum(square - mean**2, 0.0) / counts.size))
    right = (chances[0][0] + chances[1][0]) / 2
    best = int(np.argmax(right))
    return float(right[best]), float(np.sqrt(chances[0][1][best] + chances[1][1][best]) / 2)


def ceiling(edits: FloatArray, epsilons: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Largest chance of a right guess for any ε-private test that looks at the fingerprint only, with its s.e.

    Changing d records changes the odds of any answer by at most e^(εd) (Lemma 2), so the answers to two such samples
    are at total variation at most tanh(εd/2); a test is right with chance (1 + TV)/2 at most, and total variation is
    at most its average over any way of pairing the samples. Derived, checked in
    tests/unit/studies/test_twins_study.py.
    """
    means, errors = mean_and_error(np.tanh(edits[:, None] * epsilons[None, :] / 2))
    return 0.5 + 0.5 * means, 0.5 * errors


ASSUMPTIONS = (
    "Each population has so many equally likely values; neighbours are two samples of n records that differ in one.",
    "Two samples look alike when as many values occur once, twice, ... in both: no estimator here sees more. "
    "(properties §12.7)",
    "The fingerprints shown are exact averages; edits and distinct values are simulated.",
    "The private guess adds Laplace noise of scale 1/ε to the number of distinct values and compares it with the best "
    "threshold; the noise is integrated exactly.",
    "The bound holds for tests that do not look at which values occur; it is not attained.",
)

__all__ = ["Twins", "TwinsScenario", "best_threshold", "ceiling"]
