"""Incomparable: a private release that tells almost all, and an exact one that tells almost nothing (V5; Thm 2.5)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.predictability import (
    EmptyCore,
    PrivateYetPredictable,
    ShardProcess,
    empty_core,
    exact_mean_predictability,
    laplace_scale,
    private_yet_predictable,
    rate_log_ratio,
)
from privexplorer.privacy import LaplaceNoise
from privexplorer.records import Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng, mean_and_error
from privexplorer.studies._predictability import ABOUT_GROUPS, CompromisedFraction, PopulationSize
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points, Role, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import significant

BLOCK_TRIALS = 500
SIZES = np.unique(np.rint(np.geomspace(20, 1_000_000, 29)).astype(np.int64))
MARKED = (100, 1_000, 10_000, 100_000)
EMPTY_LIMIT = 3_000
"""Most people for the exact value of an attacker who holds nobody."""
NOT_PRIVATE_AT = (12.0, 95.0)
"""Where the axis of ε shows what has none."""
EXACT_AT = 14.0
"""Where in that band its line stands: on the left, so that there is room for the sizes on its right."""
PRIVATE, EXACT, EMPTY = "ε-private rate", "exact rate", "ε-private rate, nobody known"
SIMULATED = ", simulated"
WITH, WITHOUT = "with the release", "without the release"
THEORY = ", exact law"
PANELS = {"epsilon": "by ε", "size": "by N", "left": "ε-private rate", "right": "exact rate"}
NOISE, GAP = range(2)
BINS = 41


class IncomparableScenario(Scenario):
    """The two families of Thm 2.5 at one size."""

    people: PopulationSize = 400
    unknown_rate: Annotated[float, Number] = field(
        0.0,
        "Private release: rate among the others",
        "An adversary holds half of the table, only people who answer yes; this share of the other half does, too.",
        key="other",
        group="Data",
        ge=0,
        le=1,
    )
    rate: Annotated[float, Number] = field(
        0.5,
        "Exact release: rate of yes",
        "Share of all people in the second table.",
        key="rate",
        group="Data",
        ge=0,
        le=1,
    )
    compromised: CompromisedFraction = 0.5
    rule: Literal["theorem", "own"] = field(
        "theorem",
        "Privacy loss of the private release",
        "In the theorem ε falls as the table grows.",
        key="rule",
        group="Privacy",
        titles={"theorem": "ε = 1/√N", "own": "A fixed ε"},
    )
    epsilon: Annotated[float, Number] = field(
        0.1,
        "Privacy loss ε",
        "One record shifts the odds of any answer by at most a factor e^ε.",
        key="eps",
        group="Privacy",
        when=("rule", "own"),
        scale="log",
        low=0.001,
        high=10.0,
        ge=1e-4,
        le=10,
    )
    trials: Trials = 4_000
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share: sizes of the second table and its shard."""

    people: int
    ones: int
    draws: int
    seed: int
    edges: FloatArray
    masses: FloatArray
    """Bins of the difference of both rates, and their exact probabilities."""

    @property
    def gain(self) -> float:
        """γ of the exact rate at the rate and fraction that whole people allow."""
        return exact_mean_predictability(self.people, self.ones / self.people, self.draws / self.people)


def level_at(scenario: IncomparableScenario, people: int) -> float:
    """Privacy loss of the private release in a table of this size."""
    return people**-0.5 if scenario.rule == "theorem" else scenario.epsilon


def private_at(scenario: IncomparableScenario, people: int) -> PrivateYetPredictable:
    """Numbers of Thm 2.5(i) at one size."""
    level = None if scenario.rule == "theorem" else scenario.epsilon
    return private_yet_predictable(people, scenario.unknown_rate, level)


def gap_law(people: int, ones: int, draws: int) -> tuple[FloatArray, FloatArray]:
    """Return bins of the rate of a random shard minus that of the others, and their exact probabilities."""
    law = hypergeom(people, ones, draws)
    low, high = max(0, draws + ones - people), min(draws, ones)
    middle, share = draws * ones / people, ones / people
    far = 10.0 * math.sqrt(draws * share * (1 - share) * (people - draws) / (people - 1)) + 1.0
    counts = np.arange(max(low, math.floor(middle - far)), min(high, math.ceil(middle + far)) + 1)
    gaps = counts / draws - (ones - counts) / (people - draws)
    chance = law.pmf(counts)
    # the law lives on equal steps: each bin holds as many of them, so that none stands empty by its place
    step = people / (draws * (people - draws))
    reach = 4.2 * math.sqrt(float((chance * gaps**2).sum()))
    each = max(1, round(2 * reach / (BINS * step)))
    half = max(1, math.ceil(reach / (each * step)))
    places = round(ones * draws / people) + each * (np.arange(-half, half + 2) - 0.5)
    edges = np.asarray(places * step - ones / (people - draws), dtype=np.float64)
    return edges, np.asarray(np.histogram(gaps, edges, weights=chance)[0], dtype=np.float64)


class Incomparable(Study[IncomparableScenario]):
    """ε against γ: neither implies the other."""

    id: ClassVar[str] = "incomparable"
    question: ClassVar[str] = "Does a small ε mean that little can be predicted?"
    lead: ClassVar[str] = (
        "Two tables of yes and no. One rate is published with strong differential privacy and gives the others away; "
        "one is published exactly and tells next to nothing."
    )
    tab: ClassVar[str] = "ε against γ"
    card: ClassVar[str] = "Private yet predictable, and the other way round."
    link: ClassVar[str] = "Compare ε and γ"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "quadrant"
    scenario: ClassVar[type[Scenario]] = IncomparableScenario
    late: ClassVar[frozenset[str]] = frozenset({"unknown_rate", "rule", "epsilon", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "quadrant": "ε against γ",
        "estimate": "The attacker's error",
        "size": "Against N",
    }
    rows: ClassVar[tuple[str, ...]] = ("P-T2.5i", "P-T2.5ii", "P-X5", "P-X6", "P-DA.2")

    def presets(self) -> tuple[Preset[IncomparableScenario], ...]:
        """Finished examples."""
        make = IncomparableScenario
        return (
            Preset("Four hundred people", make()),
            Preset("A hundred people", make(people=100)),
            Preset("A large table", make(people=100_000)),
            Preset("A group of five hundred", make(people=1_000, rule="own", epsilon=0.1)),
        )

    def prepare(self, scenario: IncomparableScenario, tables: Tables | None) -> Prepared:
        """Count the people of the second table."""
        people, ones = scenario.people, round(scenario.rate * scenario.people)
        draws = ShardProcess(people, scenario.compromised).draws
        return Prepared(people, ones, draws, scenario.seed, *gap_law(people, ones, draws))

    def blocks(self, scenario: IncomparableScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK_TRIALS)

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw noise of scale 1, and how far the shard's rate is from that of the others, ``(trials, 2)``."""
        rng = block_rng(prepared.seed, block)
        noise = LaplaceNoise(1.0).sample(BLOCK_TRIALS, rng)
        ones, rest = prepared.ones, prepared.people - prepared.ones
        held = rng.hypergeometric(ones, rest, prepared.draws, size=BLOCK_TRIALS)
        gap = held / prepared.draws - (ones - held) / (prepared.people - prepared.draws)
        return np.stack([np.asarray(noise), gap], axis=1)

    def assemble(self, scenario: IncomparableScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put curves, simulated points and error laws together."""
        draws = stacked(parts, scenario.trials)
        case = private_at(scenario, scenario.people)
        errors = 2.0 * case.scale * draws[:, NOISE]
        reach = (0.5 - scenario.unknown_rate) ** 2
        simulated = [mean_and_error(reach - errors**2), mean_and_error(draws[:, GAP] ** 2)]
        empty = empty_core(min(scenario.people, EMPTY_LIMIT), level_at(scenario, min(scenario.people, EMPTY_LIMIT)))
        frame = pd.concat(
            [self.curve_rows(scenario, prepared, case, simulated), self.error_rows(prepared, case, errors, draws)],
            ignore_index=True,
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=self.cards(scenario, prepared, case, empty),
            shows=self.words(scenario, prepared, case),
            takeaway=(
                f"Predictability against epsilon. With {scenario.people:,} people the private release at epsilon "
                f"{significant(case.epsilon)} has predictability at least {significant(case.bound)}, the exact "
                f"release {significant(prepared.gain)}."
            ),
            notes=self.notes(scenario, prepared, case),
            formulas=self.formulas(scenario, prepared, case, empty),
            assumptions=(
                "Private release: the rate of yes with Laplace noise of scale 1/(Nε). The adversary holds half of the "
                "table, only people who answer yes, so that it cannot tell anything about the others: its answer is "
                "one half. With the release it answers 2A − 1. (Thm 2.5, first part)",
                "That answer is one way to use the release, so the value shown is a lower bound.",
                "Exact release: a random shard; without the release its rate is the answer, with it the others' rate "
                "is known exactly. (Thm 2.5, second part)",
                "Nobody known: every number of yes is equally likely beforehand; exact Bayes gain. (remark after "
                "Thm 2.5; derived)",
                "Loss is the squared error of the predicted rate.",
                ABOUT_GROUPS,
            ),
            extra={"case": case, "gain": prepared.gain, "simulated": simulated, "empty": empty},
            runs=len(draws),
        )

    def curve_rows(
        self,
        scenario: IncomparableScenario,
        prepared: Prepared,
        case: PrivateYetPredictable,
        simulated: Sequence[tuple[FloatArray, FloatArray]],
    ) -> pd.DataFrame:
        """Lay out γ by ε and by N, and the simulated values."""
        cases = [private_at(scenario, int(n)) for n in SIZES]
        good = [one for one in cases if one.bound > 0]
        here, people = [float(scenario.people)], prepared.people
        by_epsilon: list[tuple[str, Any, Any, Any]] = []
        by_size: list[tuple[str, Any, Any, Any]] = []
        if good:
            bounds = np.array([one.bound for one in good])
            if scenario.rule == "theorem":
                by_epsilon.append((PRIVATE, np.array([one.epsilon for one in good]), bounds, 0.0))
            by_size.append((PRIVATE, np.array([float(one.records) for one in good]), bounds, 0.0))
        if scenario.rule == "own" or not good:
            by_epsilon.append((PRIVATE, [case.epsilon], [case.bound], 0.0))
        for rows, x in ((by_epsilon, [case.epsilon]), (by_size, here)):
            rows.append((PRIVATE + SIMULATED, x, [float(simulated[0][0])], float(simulated[0][1])))
        gains = np.array([exact_mean_predictability(int(n), scenario.rate, scenario.compromised) for n in SIZES])
        by_size.append((EXACT, SIZES.astype(np.float64), gains, 0.0))
        by_size.append((EXACT + SIMULATED, [float(people)], [float(simulated[1][0])], float(simulated[1][1])))
        small = SIZES[SIZES <= EMPTY_LIMIT]
        alone = np.array([empty_core(int(n), level_at(scenario, int(n))).gain for n in small])
        by_size.append((EMPTY, small.astype(np.float64), alone, 0.0))
        return pd.concat(
            [tidy(by_epsilon, panel=PANELS["epsilon"]), tidy(by_size, panel=PANELS["size"])], ignore_index=True
        )

    def error_rows(
        self, prepared: Prepared, case: PrivateYetPredictable, errors: FloatArray, draws: FloatArray
    ) -> pd.DataFrame:
        """Lay out how far the attacker is off: shares of attacks in bins, in per cent, and the exact laws."""
        noise = LaplaceNoise(2.0 * case.scale)
        first = np.linspace(-1, 1, BINS + 1) * max(12.0 * case.scale, abs(0.5 - case.unknown_rate)) * 1.1
        frames = []
        for panel, name, edges, found, masses in (
            ("left", WITH, first, errors, np.diff(noise.cdf(first))),
            ("right", WITHOUT, prepared.edges, draws[:, GAP], prepared.masses),
        ):
            middle = (edges[:-1] + edges[1:]) / 2
            share = np.histogram(found, edges)[0] / found.size
            error = np.sqrt(share * (1 - share) / found.size)
            rows = [(name, middle, 100 * share, 100 * error), (name + THEORY, middle, 100 * np.asarray(masses), 0.0)]
            frames.append(tidy(rows, panel=PANELS[panel]))
        return pd.concat(frames, ignore_index=True)

    def cards(
        self, scenario: IncomparableScenario, prepared: Prepared, case: PrivateYetPredictable, empty: EmptyCore
    ) -> tuple[Card, ...]:
        """Four headline numbers."""
        group = prepared.people - prepared.draws
        return (
            Card(
                "Private release",
                f"γ ≥ {significant(case.bound)}" if case.bound > 0 else "γ ≥ 0",
                f"ε = {significant(case.epsilon)}",
                "How much the squared error of the adversary's answer falls, at least; a quarter is all there is.",
            ),
            Card(
                "Exact release",
                f"γ = {significant(prepared.gain)}",
                "no finite ε",
                "How much the squared error of an attacker with a random shard falls. The release has no noise, so it "
                "tells neighbouring tables apart with certainty.",
            ),
            Card(
                "Group budget",
                significant(group * case.epsilon),
                f"k = {group:,}",
                "What ε gives for all unknown people together: k ε for a group of k. Useless above a few units.",
            ),
            Card(
                "Nobody known",
                f"γ = {significant(empty.gain)}",
                f"at least {significant(max(empty.lower_bound, 0.0))}"[:18],
                "What the private rate tells somebody who holds no record at all, every count equally likely "
                f"beforehand; worked out for at most {EMPTY_LIMIT:,} people.",
            ),
        )

    def words(self, scenario: IncomparableScenario, prepared: Prepared, case: PrivateYetPredictable) -> str:
        """Say what the numbers show."""
        people = scenario.people
        first = f"With **{people:,} people** the private rate has **ε = {significant(case.epsilon, 2)}**, " + (
            f"yet it lowers the adversary's squared error by at least **{significant(case.bound, 2)}** of "
            f"{significant((0.5 - case.unknown_rate) ** 2, 2)}. "
            if case.bound > 0
            else "and here its noise hides all that the bound counts. "
        )
        second = (
            f"The exact rate has no finite ε, yet it lowers the error of somebody with a random "
            f"{prepared.draws:,} of them by only **{significant(prepared.gain, 2)}**. "
        )
        third = (
            "As the table grows, the first tends to one quarter while ε tends to 0, and the second falls as 1/N: "
            "neither measure implies the other."
            if scenario.rule == "theorem" and scenario.unknown_rate == 0
            else "Neither measure implies the other."
        )
        return first + second + third

    def notes(
        self, scenario: IncomparableScenario, prepared: Prepared, case: PrivateYetPredictable
    ) -> tuple[Note, ...]:
        """Say where a statement is empty."""
        out = []
        if case.bound <= 0:
            why = (
                "the adversary's answer of one half is already right"
                if abs(scenario.unknown_rate - 0.5) < 0.02
                else f"its noise is as large as what there is to gain (in the theorem it takes more than "
                f"32 people; here are {scenario.people:,})"
            )
            out.append(Note(f"The bound of the private release is empty here: {why}."))
        if prepared.gain <= 0:
            out.append(Note("Everybody in the second table answers the same: there is nothing to predict, γ is 0."))
        return tuple(out)

    def formulas(
        self, scenario: IncomparableScenario, prepared: Prepared, case: PrivateYetPredictable, empty: EmptyCore
    ) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers; errata with the printed and the corrected value."""
        n, epsilon, alpha = scenario.people, case.epsilon, prepared.draws / prepared.people
        group = prepared.people - prepared.draws
        printed = laplace_scale(n, epsilon, "printed")
        grid = np.linspace(-0.5, 1.5, 401)
        ratio = float(np.abs(rate_log_ratio(n, epsilon, grid, n // 2)).max())
        found = (
            Formula(
                "Private, yet predictable",
                r"\gamma\ge\left(\tfrac12-p_U\right)^2-\frac{8}{(N\varepsilon)^2}",
                rf"{(0.5 - case.unknown_rate) ** 2:.4g}-{case.noise_variance:.4g}\ \to\ {case.bound:.4g}",
                "bound",
                "Thm 2.5, first part",
            ),
            Formula(
                "Laplace scale",
                r"b=\frac1{N\varepsilon}\qquad\text{(printed: }\varepsilon/N\text{)}",
                rf"{case.scale:.4g}\quad\text{{(printed: }}{printed:.4g}\text{{, which is }}"
                rf"{1 / (n * printed):.4g}\text{{-DP)}}",
                "exact",
                "proof of Thm 2.5, corrected",
            ),
            Formula(
                "Not private, yet unpredictable",
                r"\gamma=\frac{p(1-p)}{\alpha(1-\alpha)(N-1)}",
                rf"p={prepared.ones / n:.4g},\ \alpha={alpha:.4g}:\quad{prepared.gain:.4g}",
                "exact",
                "Thm 2.5, second part; cross term corrected",
            ),
            Formula(
                "Nobody known",
                r"\gamma\ge\frac{N+2}{12N}-\frac{2}{(N\varepsilon)^2}",
                rf"\gamma={empty.gain:.4g}\ge{empty.lower_bound:.4g}\quad\text{{of }}{empty.prior_variance:.4g}",
                "bound",
                "after Thm 2.5 (derived)",
            ),
            Formula(
                "Group privacy beside",
                r"k\varepsilon,\qquad k=(1-\alpha)N",
                rf"{group:,}\times{epsilon:.4g}={group * epsilon:.4g},\qquad\gamma={prepared.gain:.4g}",
                "exact",
                "after Thm 2.5",
            ),
            Formula(
                "Differential privacy of the noisy rate",
                r"\max_A\left|\log\frac{f_S(A)}{f_{S'}(A)}\right|\le\varepsilon",
                rf"{ratio:.4g}\le{epsilon:.4g}",
                "bound",
                "Def A.2",
            ),
        )
        return tuple(found)

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the quadrant, the attacker's error, or γ against N."""
        if view == "estimate":
            return self.error_chart(result)
        if view == "size":
            return self.size_chart(result)
        return self.quadrant_chart(result)

    def quadrant_chart(self, result: Result) -> Chart:
        """Describe ε against γ; what has no ε stands in a band of its own on the right."""
        scenario: Any = result.scenario
        case, gain = result.extra["case"], result.extra["gain"]
        floor = 3e-7
        far = EXACT_AT
        marks: list[Any] = [
            Spread("data", NOT_PRIVATE_AT, (floor, floor), (1.0, 1.0), "not private"),
        ]
        path, exact = result.series(PRIVATE, PANELS["epsilon"]), result.series(EXACT, PANELS["size"])
        if len(path) > 1:
            marks.append(
                Line(
                    "private",
                    path["x"].to_numpy(),
                    path["y"].to_numpy(),
                    PRIVATE,
                    "private, yet<br>predictable",
                    main=True,
                    hover="ε-private rate: γ ≥ {y}",
                )
            )
            sizes = [n for n in MARKED if private_at(scenario, n).bound > 0]
            found = [private_at(scenario, n) for n in sizes]
            marks.append(
                named_points(
                    "private",
                    "private sizes",
                    [one.epsilon for one in found],
                    [one.bound for one in found],
                    sizes,
                    scenario.people,
                )
            )
        y = exact["y"].to_numpy()
        if np.any(y > 0):
            marks.append(
                Line(
                    "non-private",
                    np.full(y.size, far),
                    y,
                    EXACT,
                    "not private,<br>unpredictable",
                    hover="exact rate: γ = {y}",
                )
            )
            gains = [exact_mean_predictability(n, scenario.rate, scenario.compromised) for n in MARKED]
            marks.append(named_points("non-private", "exact sizes", [far] * len(gains), gains, MARKED, scenario.people))
        if case.bound > 0:
            marks.append(you("private", "you, private", case.epsilon, case.bound, scenario.people, "γ ≥ {y}"))
        if gain > 0:
            marks.append(you("non-private", "you, exact", far, gain, scenario.people, "γ = {y}"))
        return Chart(
            "What differential privacy says, and what can be predicted",
            "γ: drop of the squared error; both log scales",
            Axis("ε", "log", 0.0007, NOT_PRIVATE_AT[1], ends=("more private", "less private"), symbol="ε"),
            Axis("γ", "log", floor, 1.0),
            (Panel(tuple(marks), here=(NOT_PRIVATE_AT[0], "no finite ε →")),),
            by_point=True,
        )

    def error_chart(self, result: Result) -> Chart:
        """Describe how far the attacker is off in both tables."""
        case = result.extra["case"]
        off = 0.5 - case.unknown_rate
        panels = []
        looks: tuple[tuple[str, str, Role, str, tuple[float, str]], ...] = (
            (
                "left",
                WITH,
                "attacker",
                f"ε = {significant(case.epsilon, 2)}: with the release",
                (off, f"without: {off:.2g} off"),
            ),
            ("right", WITHOUT, "data", "Exact rate: without it", (0.0, "with it: exact")),
        )
        for panel, name, role, title, here in looks:
            bars, law = result.series(name, PANELS[panel]), result.series(name + THEORY, PANELS[panel])
            x = bars["x"].to_numpy(dtype=np.float64)
            marks = (
                Bars(role, x, bars["y"].to_numpy(), name, hover=f"{name}: {{y}}% of attacks"),
                Line("truth", x, law["y"].to_numpy(), name + THEORY, hover="exact: {y}%"),
            )
            edge = float(abs(x[0]) + (x[1] - x[0]) / 2)
            panels.append(Panel(marks, title, here, x=Axis("answer − truth", "linear", -edge, edge, symbol="error")))
        return Chart(
            "How far the attacker's answer is off",
            f"share of {result.runs:,} attacks; line: exact law",
            Axis("answer − truth", "linear"),
            Axis("share", "linear", 0.0, unit="%"),
            tuple(panels),
            columns=2,
            shared_y=False,
        )

    def size_chart(self, result: Result) -> Chart:
        """Describe γ against the number of people."""
        scenario: Any = result.scenario
        looks: tuple[tuple[Role, str, str, str], ...] = (
            ("private", PRIVATE, "ε-private,<br>at least", "ε-private rate: γ ≥ {y}"),
            ("local", EMPTY, "nobody<br>known", "ε-private rate, nobody known: γ = {y}"),
            ("non-private", EXACT, "exact rate", "exact rate: γ = {y}"),
        )
        marks: list[Any] = []
        for role, name, label, hover in looks:
            rows = result.series(name, PANELS["size"])
            if len(rows) and (rows["y"] > 0).any():
                marks.append(
                    Line(
                        role,
                        rows["x"].to_numpy(),
                        rows["y"].to_numpy(),
                        name,
                        label,
                        main=role == "private",
                        hover=hover,
                    )
                )
        for name in (PRIVATE, EXACT):
            rows = result.series(name + SIMULATED, PANELS["size"])
            y, error = float(rows["y"].iloc[0]), 2 * float(rows["std_error"].iloc[0])
            if y > 0:
                marks.append(
                    Points(
                        "attacker",
                        rows["x"].to_numpy(),
                        [y],
                        name + SIMULATED,
                        "simulated" if name == EXACT else None,
                        low=[max(y - error, y / 10)],
                        high=[y + error],
                        hover="simulated: {y} ± {e}",
                    )
                )
        return Chart(
            "Predictability as the table grows",
            "drop of the squared error, log scale",
            Axis("people N in the table", "log", symbol="N"),
            Axis("γ", "log"),
            (
                Panel(
                    tuple(marks),
                    here=(float(scenario.people), f"your N = {scenario.people:,}"),
                    level_lines=((0.25, "one quarter"),),
                ),
            ),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        frame = result.frame
        if view == "estimate":
            return frame[frame["panel"].isin([PANELS["left"], PANELS["right"]])]
        if view == "size":
            return frame[frame["panel"] == PANELS["size"]]
        return frame[
            (frame["panel"] == PANELS["epsilon"])
            | frame["series"].str.startswith(EXACT) & (frame["panel"] == PANELS["size"])
        ]


def named_points(
    role: Role, name: str, x: Sequence[float], y: Sequence[float], sizes: Sequence[int], people: int
) -> Points:
    """Mark table sizes on a path; those near the visitor's stay without a name, which would run into the visitor's."""
    text = tuple("" if max(n / people, people / n) < 3 else f"N = {n:,}" for n in sizes)
    return Points(role, list(x), list(y), name, text=text, hover="γ = {y}", size=7)


def you(role: Role, name: str, x: float, y: float, people: int, hover: str) -> Points:
    """Mark the visitor's table."""
    return Points(role, [x], [y], name, text=(f"your N = {people:,}",), hover=hover, size=13)


__all__ = ["Incomparable", "IncomparableScenario", "level_at", "private_at"]
