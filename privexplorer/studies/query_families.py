"""How bounds grow when the attacker may choose the question (V11; Thm 5.1, 5.2, 5.4, A.21 to A.23, Def 5.3, A.20)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.errors import DataError
from privexplorer.records import Number, Record, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies._predictability import (
    ASSUMPTIONS,
    Clinic,
    CompromisedFraction,
    DataChoice,
    LinearPopulation,
    NoiseScaleChoice,
    TwentyPeople,
    check_leaked,
    data_notes,
    question_words,
)
from privexplorer.studies._release_choices import (
    NUMERIC,
    BiasedDraws,
    ColumnNames,
    PublishedChoice,
    PublishedMeans,
    PublishedRegression,
    people_of,
    problems_of,
)
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import listed, plain_markdown, plus_minus, ratio, significant, whole

BLOCK_TRIALS = 250
MOST_FEATURES, MOST_QUESTIONS = 12, 12
DELTAS = np.array([0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5])
SIZES = np.unique(np.rint(np.geomspace(1, 200, 16)).astype(int))
BOUND, LOOSE, PRINTED, SIMULATED, FAMILY = (
    "Theorem A.21", "Theorem 5.2", "Theorem 5.2, printed", "simulated supremum", "Theorem 5.1",
)  # fmt: skip
COMPUTED, SIMULATED_FAMILY = "these questions", "simulated, these questions"
LEVEL, QUANTILE, TAIL, TAIL_PRINTED, GAP = (
    "level of Theorem A.23", "simulated quantile of the error", "bound at level δ", "printed bound at level δ",
    "simulated quantile of the gap",
)  # fmt: skip
EXACT, CORRECTED, COMPLEXITY_PRINTED, YOURS = (
    "exact complexity", "bound on complexity", "complexity as printed", "your features",
)  # fmt: skip
VIEWS = {"bounds": "Bounds", "complexity": "Complexity", "tail": "With what probability"}
GROUPS = {
    "bounds": (BOUND, LOOSE, PRINTED, SIMULATED, FAMILY, COMPUTED, SIMULATED_FAMILY),
    "complexity": (EXACT, CORRECTED, COMPLEXITY_PRINTED, YOURS),
    "tail": (LEVEL, QUANTILE, TAIL, TAIL_PRINTED, GAP),
}
"""Series of each view."""


class OneProcess(Record):
    """The attacker draws uniformly, and that is known."""

    kind: Literal["known"] = "known"
    title: ClassVar[str] = "Known: uniform draws"
    formula: ClassVar[str] = r"|\mathcal W|=1"
    source: ClassVar[str] = "predictability, Thm 3.6"

    @property
    def reads(self) -> tuple[str, ...]:
        """No column."""
        return ()


class UnknownBias(BiasedDraws):
    """The attacker may have drawn uniformly, or with a bias towards or away from a column."""

    kind: Literal["unknown"] = "unknown"  # type: ignore[assignment]
    title: ClassVar[str] = "Unknown: uniform or biased, either way"
    formula: ClassVar[str] = r"|\mathcal W|=3"
    source: ClassVar[str] = "predictability, Thm 5.1"


class QueryFamiliesScenario(Scenario):
    """Which family of questions, which release."""

    data: DataChoice = field(Clinic(), "People", "Whose table it is.", key="data", group="Data", discriminator="kind")
    features: ColumnNames = field(
        ("age", "weight", "pressure", "diabetic"), "Questions are about",
        "Linear questions are weighted sums of the means of these columns.",
        key="features", group="Data", column_of="data", kinds=NUMERIC,
    )  # fmt: skip
    scaled: bool = field(
        True, "In units of their spread", "Divide each column by its standard deviation, so that weights compare.",
        key="scaled", group="Data", advanced=True,
    )  # fmt: skip
    published: PublishedChoice = field(
        PublishedMeans(columns=("pressure",)), "You publish", "Numbers computed from everybody.", key="publish",
        group="Release", discriminator="kind",
    )  # fmt: skip
    noise: Annotated[float, Number] = field(
        0.02, "Noise, as a share of one person's influence",
        "Each published number gets independent noise: this share of the standard deviation of one person's influence "
        "on it; 0 publishes exactly.",
        key="noise", group="Release", scale="log", low=0.001, high=10.0, ge=0, le=1_000,
    )  # fmt: skip
    shape: Literal["l2", "l1", "finite"] = field(
        "l2", "Family of questions",
        "All weighted sums with squares summing to at most B², with absolute values summing to at most B, or a list of "
        "yes/no questions.",
        key="family", group="Question",
        titles={"l2": "Euclidean ball", "l1": "L1 ball", "finite": "A list of questions"},
    )  # fmt: skip
    radius: Annotated[float, Number] = field(
        1.0, "Radius B (or Lipschitz constant L)", "Size of the weights of a question.", key="radius", group="Question",
        scale="log", low=0.1, high=100.0, gt=0, le=1e6,
    )  # fmt: skip
    process: Annotated[OneProcess | UnknownBias, Field(discriminator="kind")] = field(
        OneProcess(), "How records leak", "For a list of questions: whether the process is known.", key="process",
        group="Attacker", discriminator="kind", advanced=True,
    )  # fmt: skip
    compromised: CompromisedFraction = 0.3
    noise_scale: NoiseScaleChoice = "release"
    trials: Trials = 2_000
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class Prepared:
    """People summed out.

    Attributes
    ----------
    n : int
        People N.
    features, questions : tuple of str
        In words.
    linear : MomentSummary
        Its queries are the features.
    listed : tuple of MomentSummary
        Its queries are the yes/no questions; one summary per possible process, uniform first.
    spreads : (d,) float array
        Standard deviation of one person's influence on each published number.
    published : str
        In words.
    seed : int
        Of the study.
    notes : tuple of Note
        About the table.
    """

    n: int
    features: tuple[str, ...]
    questions: tuple[str, ...]
    linear: pr.MomentSummary
    listed: tuple[pr.MomentSummary, ...]
    spreads: FloatArray
    published: str
    seed: int
    notes: tuple[Note, ...]


@dataclass(frozen=True, eq=False)
class Worked:
    """One family at the present noise, worked out."""

    size: pr.AttackSize
    family: pr.LinearFamily
    finite: pr.FiniteFamily | None
    gains: FloatArray
    """Simulated suprema of the gain, one per draw."""
    products: FloatArray
    sizes: FloatArray
    """Simulated suprema of u·ξ with covariance Σ₁."""
    complexity: float
    spread: float


class QueryFamilies(Study[QueryFamiliesScenario]):
    """Bounds for families beside the simulated supremum."""

    id: ClassVar[str] = "query-families"
    question: ClassVar[str] = "What if the attacker may choose the question?"
    lead: ClassVar[str] = (
        "A bound for one question says little about the worst of many. The price of a whole family, beside what the "
        "worst question gains in the limit of many records."
    )
    tab: ClassVar[str] = "Many questions"
    card: ClassVar[str] = "The worst of all linear questions, or of a list: bounds beside the simulated worst case."
    link: ClassVar[str] = "Ask for the worst question"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "fan"
    scenario: ClassVar[type[Scenario]] = QueryFamiliesScenario
    late: ClassVar[frozenset[str]] = frozenset({"noise", "shape", "radius", "compromised", "noise_scale", "trials"})
    views: ClassVar[Mapping[str, str]] = VIEWS
    rows: ClassVar[tuple[str, ...]] = (
        "P-T5.1", "P-X27", "P-T5.2", "P-D5.3", "P-T5.4", "P-DA.8", "P-DA.20", "P-TA.21", "P-TA.21hp", "P-E3",
        "P-TA.22", "P-TA.23", "P-X29", "P-X30",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[QueryFamiliesScenario], ...]:
        """One of each family."""
        make = QueryFamiliesScenario
        return (
            Preset("All weighted sums", make()),
            Preset("Few weights at a time", make(shape="l1")),
            Preset("A list, process unknown", make(shape="finite", process=UnknownBias(column="visits"))),
            Preset(
                "A published regression",
                make(
                    data=LinearPopulation(), features=("x1", "x2", "x3", "y"),
                    published=PublishedRegression(outcome="y", features=("x1", "x2", "x3")),
                ),
            ),
            Preset(
                "Twenty people",
                make(
                    data=TwentyPeople(), features=("x1", "x2"), published=PublishedMeans(columns=("y",)), scaled=False,
                    radius=1.5, compromised=0.4, noise=0.3, noise_scale="paper",
                ),
            ),
        )  # fmt: skip

    def check(self, scenario: QueryFamiliesScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        if len(scenario.features) > MOST_FEATURES:
            return (
                f"At most {MOST_FEATURES} columns can be asked about at once; there are {len(scenario.features)}, so "
                "leave some out.",
            )
        named = problems_of(scenario.data, (scenario.published, scenario.process))
        return named or problems_of(scenario.data, (PublishedMeans(columns=scenario.features),))

    def prepare(self, scenario: QueryFamiliesScenario, tables: Tables | None) -> Prepared:
        """Read the people once."""
        wanted = dict.fromkeys((*scenario.features, *scenario.published.reads, *scenario.process.reads))
        people = people_of(scenario.data, tables, tuple(wanted), (scenario.published,))
        table = dict(people.table)
        names = []
        for place, name in enumerate(scenario.features):
            values = table[name]
            if values.dtype.kind not in "buif":
                raise DataError(f"“{name}” holds texts; a weighted sum needs columns of numbers.", field="features")
            given = np.asarray(values, dtype=np.float64)
            spread = float(given.std())
            if not spread > 0:
                raise DataError(
                    f"“{name}” has the same value for everybody, so no question about it is open; leave it out.",
                    field="features",
                )
            table[f"feature {place}"] = given / spread if scenario.scaled else given
            names.append(f"feature {place}")
        release = scenario.published.record(table).fit(table)
        linear = pr.summarise(table, pr.column_queries(names, table), release)
        texts = people.questions or pr.candidate_queries(people.table, tuple(scenario.features), MOST_QUESTIONS)
        asked = pr.query_set(list(texts)[:MOST_QUESTIONS], people.table)
        laws: list[pr.Process] = [pr.IndependentProcess(people.n, max(2, people.n // 3))]
        if isinstance(scenario.process, UnknownBias):
            for bias in (scenario.process.bias, -scenario.process.bias):
                towards = BiasedDraws(column=scenario.process.column, bias=bias)
                laws.append(towards.process(people.n, laws[0].draws, people.table))
        listed_ = tuple(law.summarise(table, asked, release) for law in laws)
        return Prepared(
            people.n,
            scenario.features,
            tuple(question_words(str(text), people.table) for text in list(texts)[:MOST_QUESTIONS]),
            linear,
            listed_,
            np.sqrt(np.maximum(np.diagonal(linear.sandwich), 0.0)),
            scenario.published.words,
            scenario.seed,
            (*data_notes(people), *(Note(plain_markdown(text)) for text in linear.notes)),
        )

    def blocks(self, scenario: QueryFamiliesScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK_TRIALS)

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw standard normal vectors, shape ``(trials, 2, features or questions)``: noise and family come later."""
        width = max(len(prepared.features), len(prepared.questions))
        return block_rng(prepared.seed, block).standard_normal((BLOCK_TRIALS, 2, width))

    # ---- assemble ----

    def work(self, scenario: QueryFamiliesScenario, prepared: Prepared, drawn: FloatArray) -> Worked:
        """Work out the family at the present noise."""
        is_list = scenario.shape == "finite"
        size = (
            pr.sample_attack_size(max(2.0, scenario.compromised * prepared.n))
            if is_list
            else pr.shard_size(scenario.compromised, prepared.n)
        )
        sigma = np.diag(np.square(scenario.noise * prepared.spreads))
        multiplier = size.multiplier(scenario.noise_scale)
        summary = prepared.listed[0] if is_list else prepared.linear
        family = pr.linear_family(summary, size, sigma, noise_multiplier=multiplier)
        width = summary.queries
        normals = (drawn[:, 0, :width], drawn[:, 1, :width])
        finite, directions, radius = None, None, scenario.radius
        if is_list:
            finite = pr.finite_family(prepared.listed, size, sigma, noise_multiplier=multiplier)
            directions = np.eye(width)
        shape: Any = "l1" if scenario.shape == "l1" else "l2"
        gains, products = (family.suprema(*normals, radius, what, directions, shape) for what in ("gain", "product"))
        errors = np.einsum("nk,kp->np", normals[0], _root(family.before))
        if scenario.shape == "l2":
            sizes = radius * np.sqrt(np.square(errors).sum(axis=1))
            complexity = pr.ball_complexity(family.before, radius, "exact")
            spread = radius**2 * float(np.linalg.eigvalsh(family.before)[-1])
        else:
            scale = 1.0 if is_list else radius
            sizes = scale * np.abs(errors).max(axis=1)
            complexity = float(sizes.mean())
            spread = scale**2 * float(np.diagonal(family.before).max())
        return Worked(size, family, finite, gains, products, sizes, complexity, spread)

    def assemble(self, scenario: QueryFamiliesScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out bounds and suprema for the present noise and family."""
        check_leaked(scenario.compromised, prepared.n, scenario.shape != "finite")
        drawn = stacked(parts, scenario.trials)
        worked = self.work(scenario, prepared, drawn)
        bounds = self.list_rows if scenario.shape == "finite" else self.ball_rows
        rows = {
            "bounds": bounds(scenario, prepared, worked, drawn),
            "complexity": self.complexity_rows(scenario, prepared, worked),
            "tail": self.tail_rows(scenario, worked),
        }
        frame = pd.concat([tidy(some) for some in rows.values()], ignore_index=True)
        shows, cards = _told(scenario, prepared, worked)
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=re.sub(r"\\(.)", r"\1", shows.replace("**", "")),
            notes=(*prepared.notes, *_notes(scenario, prepared, worked)),
            formulas=_formulas(scenario, prepared, worked),
            assumptions=(
                *ASSUMPTIONS,
                "The simulated supremum draws both errors from their limiting normal law and takes the worst question "
                "in each draw; ± is two standard errors.",
                "Bounds hold for the expected supremum, so the worst question may be chosen after seeing the release.",
            ),
            extra={"questions": prepared.questions, "pairs": worked.finite.pairs if worked.finite else 0},
            runs=len(drawn),
        )

    def ball_rows(
        self, scenario: QueryFamiliesScenario, prepared: Prepared, worked: Worked, drawn: FloatArray
    ) -> list[tuple[str, Any, Any, Any]]:
        """Bounds and supremum by radius."""
        shape: Any = scenario.shape
        radii = scenario.radius * np.geomspace(0.05, 20.0, 27)
        share = np.square(radii / scenario.radius)
        family, loose = worked.family, worked.family.trace_bound(scenario.radius)
        error = float(worked.gains.std(ddof=1)) / math.sqrt(worked.gains.size)
        return [
            (LOOSE, radii, share * loose, 0.0),
            (PRINTED, radii, radii * loose / scenario.radius**2, 0.0),
            (BOUND, radii, share * family.bound(shape, scenario.radius), 0.0),
            (SIMULATED, radii, share * float(worked.gains.mean()), share * error),
        ]

    def list_rows(
        self, scenario: QueryFamiliesScenario, prepared: Prepared, worked: Worked, drawn: FloatArray
    ) -> list[tuple[str, Any, Any, Any]]:
        """Bounds by size of the list, and the lists that were worked out."""
        finite = worked.finite
        assert finite is not None  # noqa: S101
        pairs = np.unique(np.rint(np.geomspace(1, 1e6, 49)))
        base = finite.smoothness / finite.size.effective * finite.largest
        count = worked.family.before.shape[0]
        sizes = np.arange(1, count + 1)
        normals = (drawn[:, 0, :count], drawn[:, 1, :count])
        gains = np.stack(
            [worked.family.suprema(*normals, directions=np.eye(count)[:several]) for several in sizes], axis=1
        )
        terms = finite.terms[0]
        computed = [
            finite.smoothness / finite.size.effective * (1 + math.log(4 * several)) * float(terms[:several].max())
            for several in sizes
        ]
        x, y = sizes.astype(float), np.array(computed)
        if finite.pairs > count:
            x, y = np.r_[x, float(finite.pairs)], np.r_[y, finite.bound]
        return [
            (FAMILY, pairs, base * (1 + np.log(4 * pairs)), 0.0),
            (COMPUTED, x, y, 0.0),
            (
                SIMULATED_FAMILY, sizes.astype(float), gains.mean(axis=0),
                gains.std(axis=0, ddof=1) / math.sqrt(len(gains)),
            ),
        ]  # fmt: skip

    def complexity_rows(
        self, scenario: QueryFamiliesScenario, prepared: Prepared, worked: Worked
    ) -> list[tuple[str, Any, Any, Any]]:
        """Gaussian complexity of the unit ball by dimension, and of the visitor's features."""
        d = SIZES.astype(float)
        mine = np.array([float(worked.family.before.shape[0])])
        before = worked.family.before
        exact, bound, printed = _standard_complexities(scenario.shape == "l2")
        if scenario.shape == "l2":
            own = [pr.ball_complexity(before, method="exact")]
            return [(CORRECTED, d, bound, 0.0), (EXACT, d, exact, 0.0), (YOURS, mine, own, 0.0)]
        scale = 1.0 if scenario.shape == "finite" else scenario.radius
        error = float(worked.sizes.std(ddof=1)) / math.sqrt(worked.sizes.size) / scale
        return [
            (CORRECTED, d, bound, 0.0),
            (EXACT, d, exact, 0.0),
            (COMPLEXITY_PRINTED, d, printed, 0.0),
            (YOURS, mine, [float(worked.sizes.mean()) / scale], error),
        ]

    def tail_rows(self, scenario: QueryFamiliesScenario, worked: Worked) -> list[tuple[str, Any, Any, Any]]:
        """Levels that suprema exceed with a small probability."""
        shape: Any = scenario.shape
        level = [pr.supremum_level(worked.complexity, worked.spread, float(delta)) for delta in DELTAS]
        quantile, error = _quantiles(worked.sizes)
        gap, gap_error = _quantiles(worked.products)
        if worked.finite is not None:
            bound = [worked.finite.high_probability(float(delta)) for delta in DELTAS]
            printed = [worked.finite.high_probability(float(delta), "printed") for delta in DELTAS]
        else:
            bound = [worked.family.bound(shape, scenario.radius, delta=float(delta)) for delta in DELTAS]
            printed = []
        rows: list[tuple[str, Any, Any, Any]] = [
            (LEVEL, DELTAS, level, 0.0),
            (QUANTILE, DELTAS, quantile, error),
            (TAIL, DELTAS, bound, 0.0),
            (GAP, DELTAS, gap, gap_error),
        ]
        if printed:
            rows.append((TAIL_PRINTED, DELTAS, printed, 0.0))
        return rows

    # ---- charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows of one view."""
        return result.frame[result.frame["series"].isin(GROUPS[view])]

    def chart(self, result: Result, view: str) -> Chart:
        """Describe bounds, complexity or tails."""
        if view == "complexity":
            return self.complexity_chart(result)
        return self.tail_chart(result) if view == "tail" else self.bounds_chart(result)

    def bounds_chart(self, result: Result) -> Chart:
        """Describe bounds beside the simulated supremum."""
        scenario: Any = result.scenario
        if scenario.shape == "finite":
            marks: tuple[Any, ...] = (
                _line(result, FAMILY, "upper bound", "Theorem 5.1", "bound for {x} pairs: {y}"),
                _points(result, COMPUTED, "upper bound", None, "bound for these questions: {y}"),
                _points(result, SIMULATED_FAMILY, "attacker", None, "simulated worst gain: {y} ± {e}"),
            )
            return Chart(
                "Worst question of a list: γ",
                "drop of the attacker's squared error, log scale",
                Axis("pairs of question and process", "log", symbol="|Q||W|"),
                Axis("γ", "log"),
                (Panel(marks, here=(float(result.extra["pairs"]), "all of these")),),
            )
        ball = "L1 ball" if scenario.shape == "l1" else "Euclidean ball"
        lines = (
            _line(result, LOOSE, "upper bound", "5.2 and 5.4", "Theorem 5.2, and 5.4 with L = B: {y}"),
            _line(result, BOUND, "upper bound", "A.21", "Theorem A.21: {y}", dash="9px,4px"),
            _line(result, PRINTED, "upper bound", "5.2 printed", "Theorem 5.2 printed: {y}", dash="2px,6px"),
            _line(
                result, SIMULATED, "attacker", "simulated<br>supremum", "worst gain: {y} ± {e}", main=True
            ),
        )  # fmt: skip
        return Chart(
            f"Worst linear question in the {ball}: γ",
            "drop of the attacker's squared error, log scale",
            Axis("radius B", "log", symbol="B"),
            Axis("γ", "log"),
            (Panel(lines, here=(scenario.radius, "your B")),),
        )

    def complexity_chart(self, result: Result) -> Chart:
        """Describe the Gaussian complexity by dimension."""
        scenario: Any = result.scenario
        marks = [
            _line(result, CORRECTED, "upper bound", "bound", "bound: {y}"),
            _line(result, EXACT, "truth", "exact", "exact: {y}", main=True),
        ]
        if scenario.shape != "l2":
            marks.append(_line(result, COMPLEXITY_PRINTED, "lower bound", "as printed", "as printed: {y}"))
        what = {"l2": "Euclidean ball", "l1": "L1 ball", "finite": "finite family"}[scenario.shape]
        yours = _points(result, YOURS, "attacker", "your<br>features", "your features: {y} ± {e}")
        return Chart(
            f"Gaussian complexity of the {what}",
            "independent features, radius 1",
            Axis("questions" if scenario.shape == "finite" else "features d", "log", symbol="d"),
            Axis("complexity", "linear", 0.0),
            (Panel((*marks, yours)),),
        )

    def tail_chart(self, result: Result) -> Chart:
        """Describe levels by failure probability."""
        is_list = any(result.frame["series"] == TAIL_PRINTED)
        first = (
            _line(result, LEVEL, "upper bound", "theorem", "Theorem A.23: {y}"),
            _line(result, QUANTILE, "attacker", "simulated", "simulated: {y} ± {e}", main=True),
        )
        second = [
            _line(result, TAIL, "upper bound", "corrected" if is_list else "theorem", "bound: {y}"),
            _line(result, GAP, "attacker", "simulated", "simulated: {y} ± {e}", main=True),
        ]
        if is_list:
            second.append(_line(result, TAIL_PRINTED, "upper bound", "printed", "printed: {y}", dash="2px,6px"))
        return Chart(
            "Level exceeded with probability δ only",
            "supremum over the family, log scale",
            Axis("failure probability δ", "log", symbol="δ"),
            Axis("level", "log"),
            (Panel(first, title="error of the answer"), Panel(tuple(second), title="product of both errors")),
            columns=2,
            shared_y=False,
        )


@cache
def _standard_complexities(is_ball: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return exact values, bounds and printed values for independent features."""
    units = [np.eye(int(k)) for k in SIZES]
    if is_ball:
        bound = np.sqrt(SIZES.astype(np.float64))
        return np.array([pr.ball_complexity(one, method="exact") for one in units]), bound, bound
    ways: tuple[Literal["independent", "bound", "printed"], ...] = ("independent", "bound", "printed")
    exact, bound, printed = (np.array([pr.l1_complexity(one, method=way) for one in units]) for way in ways)
    return exact, bound, printed


def _root(sigma: FloatArray) -> FloatArray:
    """Return a symmetric root of a covariance."""
    values, vectors = np.linalg.eigh(sigma)
    return np.asarray(np.einsum("ij,j,kj->ik", vectors, np.sqrt(np.maximum(values, 0.0)), vectors))


def _quantiles(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return upper quantiles at all δ with standard errors from neighbouring order statistics."""
    out, n = [], values.size
    ordered = np.sort(values)
    for delta in DELTAS:
        step = 2.0 * math.sqrt(n * delta * (1.0 - delta))
        place = (1.0 - delta) * n
        low, high = (int(np.clip(round(at), 0, n - 1)) for at in (place - step, place + step))
        middle = float(np.quantile(ordered, 1.0 - delta))
        out.append((middle, (float(ordered[high]) - float(ordered[low])) / 4.0))
    found = np.array(out)
    return found[:, 0], found[:, 1]


def _line(result: Result, name: str, role: Any, label: str, hover: str, **more: Any) -> Line:
    rows = result.series(name)
    error = rows["std_error"].to_numpy(dtype=np.float64)
    return Line(
        role, rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64), name, label,
        error if error.any() else None, hover=hover.replace("{x} pairs", "so many pairs"), **more,
    )  # fmt: skip


def _points(result: Result, name: str, role: Any, label: str | None, hover: str) -> Points:
    rows = result.series(name)
    y, error = (rows[column].to_numpy(dtype=np.float64) for column in ("y", "std_error"))
    low, high = (y - 2 * error, y + 2 * error) if error.any() else (None, None)
    return Points(
        role, rows["x"].to_numpy(dtype=np.float64), y, name, label, low, high,
        hover=hover if error.any() else hover.replace(" ± {e}", ""),
    )  # fmt: skip


def _told(scenario: QueryFamiliesScenario, prepared: Prepared, worked: Worked) -> tuple[str, tuple[Card, ...]]:
    gain = float(worked.gains.mean())
    text, around = plus_minus(gain, 2 * float(worked.gains.std(ddof=1)) / math.sqrt(worked.gains.size))
    if gain < 1e-3:
        text, around = significant(gain, 2), f"{whole(worked.gains.size)} runs"
    if worked.finite is not None:
        finite = worked.finite
        place = int(np.argmax(finite.terms.max(axis=0)))
        worst = prepared.questions[place]
        alone = finite.smoothness / finite.size.effective * (1 + math.log(4)) * finite.largest
        shows = (
            f"**{whole(finite.terms.shape[1])} questions** and {whole(finite.terms.shape[0])} possible "
            f"process{'es' if finite.terms.shape[0] > 1 else ''}, {plain_markdown(prepared.published)} published: the "
            f"worst is “{plain_markdown(worst)}”. Covering all {whole(finite.pairs)} pairs costs "
            f"{ratio(finite.bound / alone) if alone else '1×'} the bound for that one alone, and a million pairs would "
            f"cost {ratio((1 + math.log(4e6)) / (1 + math.log(4)))}. In the limit of many records the worst question "
            f"gains **{significant(gain, 2)}** on average, under uniform draws."
        )
        cards = (
            Card("Theorem 5.1", significant(finite.bound), f"{whole(finite.pairs)} pairs"),
            Card("For one question", significant(alone), "the worst one"),
            Card("Simulated worst", text, around),
            Card("Log factor", significant(finite.log_factor), "1 + ln(4|Q||W|)"),
        )
        return shows, cards
    family, shape = worked.family, scenario.shape
    bound, loose = family.bound(shape, scenario.radius), family.trace_bound(scenario.radius)
    over = f"{ratio(bound / gain)} simulated" if gain > 0 else ""
    shows = (
        f"Over all weighted sums of {plain_markdown(listed(prepared.features))} with "
        f"{'absolute weights' if shape == 'l1' else 'squared weights'} summing to at most "
        f"{significant(scenario.radius if shape == 'l1' else scenario.radius**2, 3)}, the worst question gains "
        f"**{significant(gain, 2)}** on average, in the limit of many records, when "
        f"{plain_markdown(prepared.published)} is published. Theorem A.21 "
        f"allows {significant(bound, 2)}, Theorem 5.2 {significant(loose, 2)}. Both grow like B²: printed with B "
        "alone, Theorem 5.2 is too small for large B (E6). "
        f"The readings: ρ¹ = {significant(family.rho1_cc, 3)}, 𝒢 = {significant(worked.complexity, 3)}, "
        f"𝒟 = {significant(worked.spread, 3)}."
    )
    cards = (
        Card("Theorem A.21", significant(bound), over, "Bound on the expected supremum over the family."),
        Card("Theorem 5.2", significant(loose), f"{ratio(loose / bound)} A.21" if bound > 0 else ""),
        Card("Simulated worst", text, around, "Mean over draws of the largest gain of squared loss in the family."),
        Card("Correlation ρ¹", significant(family.rho1_cc), "first canonical", "Of features and release, no noise."),
    )
    return shows, cards


def _notes(scenario: QueryFamiliesScenario, prepared: Prepared, worked: Worked) -> tuple[Note, ...]:
    if scenario.shape == "finite":
        return (Note("Questions: " + "; ".join(plain_markdown(one) for one in prepared.questions) + "."),)
    out = [Note(pr.LIPSCHITZ_NOTE, "info", "Theorem 5.4 reads the same with L for B (E7)")]
    if scenario.shape == "l1":
        out.append(
            Note("Theorem 5.2 is about the Euclidean ball of the same radius, which holds the L1 ball inside it.")
        )
    return tuple(out)


def _formulas(scenario: QueryFamiliesScenario, prepared: Prepared, worked: Worked) -> tuple[Formula, ...]:
    if worked.finite is not None:
        f = worked.finite
        high = [f.high_probability(0.05, form) for form in ("corrected", "printed")]
        return (
            Formula(
                "Finite family",
                r"\gamma\le\frac{H\,(1+\log(4|\mathcal Q||\mathcal W|))}{n_{\rm eff}}\max_{w,q}V_q\,r",
                rf"\frac{{2\times{f.log_factor:.4f}}}{{{f.size.effective:.4g}}}\times{f.largest:.4g}={f.bound:.4g}",
                "bound",
                "Thm 5.1",
            ),
            Formula(
                "With probability 1 − δ",
                r"2\log\frac{4|\mathcal Q||\mathcal W|}{\delta}\ \text{in place of}\ 1+\log(4|\mathcal Q||\mathcal W|)",
                rf"\delta=0.05:\ {high[0]:.4g}\quad\text{{(printed without the 2: }}{high[1]:.4g}\text{{)}}",
                "bound",
                "Thm 5.1, erratum E4",
            ),
        )
    family = worked.family
    shape: Any = scenario.shape
    first, second = float(np.trace(family.before)), float(np.trace(family.explained))
    lowest = [float(np.linalg.eigvalsh(one)[0]) for one in (family.printed_after, family.after)]
    hp = [family.bound(shape, scenario.radius, delta=delta) for delta in (0.05, 0.01)]
    d = family.before.shape[0]
    widest = math.sqrt(float(np.diagonal(family.before).max()))
    complexity = (
        (r"\mathcal G\le B\sqrt{\mathrm{tr}\,\Sigma}", pr.ball_complexity(family.before, scenario.radius), "exact")
        if shape == "l2"
        else (
            r"\mathcal G\le B\sqrt{2\log 2d}\max_i\sqrt{\Sigma_{ii}}",
            pr.l1_complexity(family.before, scenario.radius),
            "simulated",
        )
    )
    printed = (
        ""
        if shape == "l2"
        else rf",\quad\text{{printed }}B\sqrt{{\log d}}: {scenario.radius * math.sqrt(math.log(d)) * widest:.4g}"
    )
    grid = np.linspace(-2.0, 2.0, 81)
    steep = pr.lipschitz_constant(np.abs(grid), grid)
    return (
        Formula(
            "General bound",
            r"\gamma\le\frac{H}{n_{\rm eff}}\prod_{\Sigma\in\{\Sigma_1,\Sigma_1-\Sigma_2\}}\Big(\mathcal G"
            r"(\Sigma^{1/2}U)+\sqrt{2(1+\log2)\mathcal D_\Sigma}\Big)",
            rf"n_{{\rm eff}}={worked.size.effective:.4g}:\ {family.bound(shape, scenario.radius):.6g};\quad"
            rf"\delta=0.05:\ {hp[0]:.5g},\ \delta=0.01:\ {hp[1]:.5g}",
            "bound",
            "Thm A.21; with log(2/δ) for 1 + log 2 with probability 1 − δ",
        ),
        Formula(
            "Euclidean ball",
            r"\gamma\le\frac{4HB^2(2+\log2)}{n_{\rm eff}}\,\mathrm{tr}\,\Sigma_1\sqrt{(\rho^1_{cc})^2-"
            r"\lambda_{\min}(c_0)/\mathrm{tr}\,\Sigma_1}",
            rf"{family.trace_bound(scenario.radius):.6g}\quad\text{{(printed with }}B\text{{: }}"
            rf"{family.trace_bound(scenario.radius, 'printed'):.6g}\text{{)}}",
            "bound",
            "Thm 5.2; Thm 5.4 with L for B; erratum E6",
        ),
        Formula(
            "Covariances",
            r"\Sigma_1=\mathrm{Var}[x],\quad\Sigma_1-\Sigma_2=C_{xg}(V_g+J\Sigma_\Delta J^\top)^{+}C_{gx}",
            rf"\mathrm{{tr}}\,\Sigma_1={first:.6g},\ \mathrm{{tr}}(\Sigma_1-\Sigma_2)={second:.6g},\ "
            rf"\lambda_{{\min}}(\Sigma_2)={lowest[1]:.4g}\ \text{{(printed sign: }}{lowest[0]:.4g}\text{{)}}",
            "exact",
            "Thm A.22, Eq. (3), erratum E19",
        ),
        Formula(
            "First canonical correlation",
            r"(\rho^1_{cc})^2=\lambda_{\max}(V_X^{-1}C_{XY}V_Y^{-1}C_{YX})",
            rf"{family.rho1_cc:.6g}",
            "exact",
            "Def 5.3",
        ),
        Formula(
            "Gaussian complexity",
            complexity[0],
            rf"{complexity[1]:.4g},\quad\text{{{complexity[2]} }}{worked.complexity:.4g}{printed}",
            "bound",
            "Def A.20, erratum E10",
        ),
        Formula(
            "Lipschitz constant",
            r"L=\sup\frac{|f(a)-f(b)|}{|a-b|}",
            rf"f=|\cdot|\ \text{{on a grid}}:\ L={steep:.4g}",
            "exact",
            "Def A.8",
        ),
    )


__all__ = ["OneProcess", "QueryFamilies", "QueryFamiliesScenario", "UnknownBias"]
