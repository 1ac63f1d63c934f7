"""What does a private answer about this very column say? (properties §4.4, §5, §12.6; Lem 3).

Two answers are released: the number of distinct values among ``m = (1 + t) n`` records, and the entropy. Each is one
number ``f`` of the whole column, and gets Laplace noise of scale ``Δ / ε`` once, after which it is clipped.

*What the noise is made for.* Both numbers are additive over values: ``f = c + sum_x g(N_x)``, where value ``x``
occurs ``N_x`` times. Replacing one record takes one from the count of a value that occurs ``i + 1`` times and adds
one to that of another, which occurs ``j`` times without it, so ``i + j <= n - 1``. With ``D(j) = g(j + 1) - g(j)`` the
sum changes by exactly ``D(j) - D(i)``, hence ``Δ = max |D(j) - D(i)|`` over ``i + j <= n - 1`` is the largest change
over all pairs of neighbouring samples: no smaller noise scale protects, and no larger one is needed (properties §1,
derived). ``Δ`` depends on public things only: ``n`` (public where neighbours replace a record), ``t``, the smoothing
and, for the polynomial, the declared ``k``. Clipping afterwards to ``[0, m]`` or ``[0, ln k]`` looks at nothing but the
answer, so it costs nothing (Lemma 1), and so does the interval. The two answers together cost ``2 ε``.

*One answer per question.* The noise comes from seed, file, column, question and ε. The same question shows the same
answer. Another t or ε is another question with noise of its own: the same noise at two scales would give the exact
number away. The curve along t is therefore not a series of releases; it is drawn without noise and marked as not
private, beside the one answer that was released.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.data import Source, TableColumn, Tables, read_counts, require_varied, resolve
from privexplorer.errors import ParameterError, PrivExplorerError
from privexplorer.privacy import LaplaceNoise, PrivateAnswer, PureDP, SpentBudget, declared_domain_size
from privexplorer.properties import (
    EntropyEstimator,
    Histogram,
    MillerMadow,
    PlugIn,
    SmoothedGoodToulmin,
    answer,
    noise_for,
    release,
)
from privexplorer.records import Epsilon, Number, Record, Scenario, Seed, extra, field, fields
from privexplorer.studies import _unseen as unseen
from privexplorer.studies._entropy import unit_size
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import plain_markdown, significant, whole, with_unit

LEVEL = 0.95
FIRST = TableColumn(data="census-surnames", column="surname", counts="count")


class UnseenInDataScenario(Scenario):
    """A column, the privacy level of each answer, and how far to look ahead."""

    table: TableColumn = field(FIRST, "Table", "The column that the answers are about.", key="table", group="Data")
    declared_k: Annotated[int, Number] | None = field(
        None,
        "Number of possible values k, declared by you",
        "From public knowledge such as a code book, never counted in the data. Only the best polynomial needs it.",
        key="k",
        group="Data",
        ge=2,
        le=100_000_000,
    )
    epsilon: Epsilon = field(
        1.0,
        "Privacy loss ε of each answer",
        "Two answers are given, one about distinct values and one about the entropy: together they cost twice as much.",
    )
    t: Annotated[float, Number] = field(
        1.0,
        "Look-ahead t, further records per record",
        "How many distinct values would (1 + t) n records show? Each t is a question of its own and costs its own ε.",
        key="t",
        group="Method",
        scale="log",
        low=0.1,
        high=10.0,
        ge=1e-6,
        le=100,
    )
    coverage: SmoothedGoodToulmin = field(
        SmoothedGoodToulmin(),
        "Distinct values",
        "Up to t = 1 this is Good-Toulmin; beyond, its series is faded out.",
        key="cov",
        group="Method",
    )
    entropy: EntropyEstimator = field(
        MillerMadow(),
        "Entropy estimator",
        "The best polynomial needs the declared k.",
        key="est",
        group="Method",
        discriminator="kind",
    )
    unit: Literal["nats", "bits"] = field(
        "nats", "Unit of the entropy", "One bit is 0.693 nats.", key="unit", group="Method"
    )
    ahead: unseen.AheadGrid = field(
        unseen.AheadGrid(low=0.25, high=5.0, points=20),
        "Range of t that is drawn",
        "The curve without noise, for your eyes only.",
        key="grid",
        group="Method",
        advanced=True,
    )
    seed: Seed = field(
        0,
        "Seed",
        "Decides the noise. A new seed draws new answers, which cost ε again: averaging them undoes the privacy.",
    )


@dataclass(frozen=True)
class ColumnAtHand:
    """How often each value of the column occurs, and what was left out; not private."""

    histogram: Histogram
    title: str
    digest: str
    notes: tuple[str, ...]
    n: int
    distinct: int


@dataclass(frozen=True)
class Released:
    """One private answer with its exact value, which is not private."""

    identity: PrivateAnswer
    exact: float
    sensitivity: float
    noise: LaplaceNoise
    value: float
    low: float
    high: float
    """Interval that holds the exact value in 19 of 20 releases."""

    @property
    def half_width(self) -> float:
        """Half of the interval before clipping: Δ/ε ln 20."""
        return self.noise.half_width(LEVEL)


_known: WeakKeyDictionary[Source, dict[TableColumn, ColumnAtHand]] = WeakKeyDictionary()
"""Columns that were read, for as long as their file is held by somebody: an upload goes with its session."""
_MOST_COLUMNS = 8


def read(ref: TableColumn, tables: Tables | None) -> ColumnAtHand:
    """Read a column once, and remember it as long as its file is held.

    Raises
    ------
    DataError
        The table is not at hand, the column cannot be read, or it holds one value only.
    """
    source = resolve(ref, tables)
    held = _known.setdefault(source, {})
    if ref not in held:
        counts = require_varied(read_counts(source, ref))
        histogram = Histogram(*counts.multiplicities)
        while len(held) >= _MOST_COLUMNS:
            held.pop(next(iter(held)))
        held[ref] = ColumnAtHand(histogram, counts.title, source.digest, counts.notes, counts.n, counts.distinct)
    return held[ref]


class UnseenInData(Study[UnseenInDataScenario]):
    """Private number of distinct values and private entropy of a column, each with an interval."""

    id: ClassVar[str] = "unseen-in-data"
    question: ClassVar[str] = "What is still unseen in your data?"
    lead: ClassVar[str] = (
        "Drop a table, choose a column: a private answer says how many distinct values more records would show, and "
        "how evenly they are spread."
    )
    tab: ClassVar[str] = "Your data"
    spread: ClassVar[str] = "± 2 s.d. of the noise"
    card: ClassVar[str] = "Your own column: distinct values still to come and its entropy, answered privately."
    link: ClassVar[str] = "Try your own column"
    theme: ClassVar[str] = "unseen"
    picture: ClassVar[str] = "unseen"
    scenario: ClassVar[type[Scenario]] = UnseenInDataScenario
    late: ClassVar[frozenset[str]] = frozenset(set(UnseenInDataScenario.model_fields) - {"table"})
    views: ClassVar[Mapping[str, str]] = {
        "coverage": "Distinct values",
        "fingerprint": "Fingerprint",
        "entropy": "Entropy",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-Sm-def", "T-H-def", "T-Framework", "T-SGT", "T-GT-claim")

    def presets(self) -> tuple[Preset[UnseenInDataScenario], ...]:
        """Finished examples."""
        make = UnseenInDataScenario
        return (
            Preset("Surnames", make()),
            Preset(
                "Words of Hamlet", make(table=TableColumn(data="hamlet-words", column="word", counts="count"), t=2.0)
            ),
            Preset(
                "Patients' body mass",
                make(table=TableColumn(data="diabetes", column="bmi"), entropy=PlugIn(), epsilon=0.5),
            ),
        )

    def check(self, scenario: UnseenInDataScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together: a table that is not here, a column that cannot work, an impossible k."""
        try:
            column = read(scenario.table, tables)
        except PrivExplorerError as error:
            return (f"{error} {error.hint}".strip() if error.hint else str(error),)
        out = []
        if scenario.declared_k is not None or scenario.entropy.needs_k:
            try:
                declared_domain_size(scenario.declared_k, column.distinct)
            except ParameterError as error:
                out.append(str(error))
        rate = scenario.coverage.smoothing_mean
        furthest = max(scenario.t, scenario.ahead.high)
        if rate is not None and rate * (furthest - 1) > unseen.LARGEST_GROWTH:
            out.append(
                f"At t = {furthest:g} a smoothing rate r of {rate:g} leaves the range of numbers; lower r to "
                f"{unseen.LARGEST_GROWTH / (furthest - 1):.3g} or less, or leave it empty."
            )
        return tuple(out)

    def prepare(self, scenario: UnseenInDataScenario, tables: Tables | None) -> ColumnAtHand:
        """Read the column."""
        return read(scenario.table, tables)

    def assemble(self, scenario: UnseenInDataScenario, prepared: ColumnAtHand, parts: Sequence[FloatArray]) -> Result:
        """Release both answers, and put the curve and the words together."""
        n, t, unit = prepared.n, scenario.t, unit_size(scenario.unit)
        coverage = self.coverage_answer(scenario, prepared)
        entropy = self.entropy_answer(scenario, prepared)
        ts = scenario.ahead.values()
        curve = np.array([answer(scenario.coverage, prepared.histogram, t=ahead) for ahead in ts.tolist()])
        half = curve[:, 1] / scenario.epsilon * math.log(1 / (1 - LEVEL))
        most = n * (1 + ts)
        frames = [
            interval_rows(DISTINCT, "private", [t], coverage, 1.0),
            tidy([(f"{DISTINCT}, {PLAIN}", ts, curve[:, 0], 0.0)]).assign(
                low=np.clip(curve[:, 0] - half, 0, most), high=np.clip(curve[:, 0] + half, 0, most)
            ),
        ]
        frame = unseen.stack_panels(
            {
                DISTINCT: unseen.joined(frames),
                "entropy": unseen.joined(
                    [
                        interval_rows("entropy", "private", [float(n)], entropy, unit),
                        tidy([(f"entropy, {PLAIN}", [float(n)], [entropy.exact / unit], 0.0)]),
                    ]
                ),
            }
        )
        return self.told(scenario, prepared, coverage, entropy, frame)

    def coverage_answer(self, scenario: UnseenInDataScenario, prepared: ColumnAtHand) -> Released:
        """Release the number of distinct values among (1 + t) n records, clipped to [0, (1 + t) n]."""
        exact, sensitivity = answer(scenario.coverage, prepared.histogram, t=scenario.t)
        question = f"distinct values at t = {scenario.t!r}{tuning(scenario.coverage)}"
        words = f"Distinct values at t = {scenario.t:g}{told_tuning(scenario.coverage)}"
        return self.released(scenario, prepared, question, words, exact, sensitivity, prepared.n * (1 + scenario.t))

    def entropy_answer(self, scenario: UnseenInDataScenario, prepared: ColumnAtHand) -> Released:
        """Release the entropy in nats, clipped to [0, ln k] where k is declared and to [0, ∞) elsewhere."""
        k, estimator = scenario.declared_k, scenario.entropy
        own = k if estimator.needs_k else None
        exact, sensitivity = answer(estimator, prepared.histogram, own)
        # where k only clips the answer, a new k is the same noisy number, seen through another clip
        question = f"entropy, {estimator.title.lower()}" + (f", k = {own}" if own is not None else "")
        highest = math.inf if k is None else math.log(k)
        words = f"Entropy, {estimator.title}{'' if own is None else f', k = {own:,}'}{told_tuning(estimator)}"
        return self.released(scenario, prepared, question + tuning(estimator), words, exact, sensitivity, highest)

    def released(
        self,
        scenario: UnseenInDataScenario,
        prepared: ColumnAtHand,
        question: str,
        words: str,
        exact: float,
        sensitivity: float,
        highest: float,
    ) -> Released:
        """Release one number: noise of its own for every question, clipped; the interval around what was released."""
        identity = PrivateAnswer(
            prepared.digest,
            column_words(scenario.table),
            question,
            PureDP(scenario.epsilon),
            scenario.seed,
            f"{words}, of {told_column(scenario.table)}",
        )
        noise = noise_for(sensitivity, scenario.epsilon)
        value = release(exact, sensitivity, scenario.epsilon, identity.rng(), 0.0, highest)
        reach = noise.half_width(LEVEL)
        return Released(
            identity, exact, sensitivity, noise, value, max(0.0, value - reach), min(highest, value + reach)
        )

    def told(
        self,
        scenario: UnseenInDataScenario,
        prepared: ColumnAtHand,
        coverage: Released,
        entropy: Released,
        frame: Any,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        n, t, epsilon, unit = prepared.n, scenario.t, scenario.epsilon, unit_size(scenario.unit)
        answers = (coverage.identity, entropy.identity)
        total = SpentBudget(answers).total()
        value, slack = unseen.measured(coverage.value, coverage.half_width)
        bits, bits_slack = unseen.measured(entropy.value / unit, entropy.half_width / unit)
        help_ = (
            "± covers the noise in 19 of 20 releases; it says nothing about how far the sample is from the population."
        )
        cards = (
            Card(
                f"Distinct at t = {t:g}", value, slack, f"Distinct values among {whole(n * (1 + t))} records. {help_}"
            ),
            Card("Entropy", with_unit(bits, scenario.unit), bits_slack, help_),
            Card("Both answers cost", f"ε = {total.epsilon:g}", f"{epsilon:g} each", "Basic composition: they add up."),
            Card("Seen so far", whole(prepared.distinct), "not private", "Distinct values in the column as it is."),
        )
        clipped = (
            " The noise is wider than the answer can be, so the answer says little."
            if 2 * coverage.half_width >= n * (1 + t)
            else ""
        )
        shows = (
            f"From **{n:,} records** the private answer is **{value} distinct "
            f"values** ({slack}) among {whole(n * (1 + t))} records (t = {t:g}), and an entropy of "
            f"**{with_unit(bits, scenario.unit)}** ({bits_slack}).{clipped} Each answer costs ε = {epsilon:g}, both "
            f"together ε = {total.epsilon:g}. The ± covers the noise in 19 of 20 releases; how far the sample itself "
            f"is from the population comes on top.{thin_words(frame)}"
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Private number of distinct values among {whole(n * (1 + t))} records: {value} {slack}. Private "
                f"entropy: {bits} {scenario.unit} {bits_slack}. Both answers together cost epsilon {total.epsilon:g}."
            ),
            notes=self.notes(scenario, prepared),
            formulas=self.formulas(scenario, prepared, coverage, entropy),
            assumptions=ASSUMPTIONS,
            extra={
                "answers": answers,
                "spent": tuple((f"{item.words}, seed {item.seed}", epsilon) for item in answers),
                "coverage": coverage,
                "entropy": entropy,
                "column": prepared,
            },
        )

    def notes(self, scenario: UnseenInDataScenario, prepared: ColumnAtHand) -> tuple[Note, ...]:
        """Say what is not private, what was left out, and what else a reader must know."""
        out = [
            Note(
                f"The dashed curve, the fingerprint and the {prepared.distinct:,} distinct values seen so far come "
                "straight from the table and are **not private**. Use them to choose ε; do not publish them.",
                "not-private",
            )
        ]
        if prepared.notes:
            out.append(Note(plain_markdown(" ".join(prepared.notes)), title="How the column was read"))
        if prepared.distinct == prepared.n:
            out.append(
                Note("Every record has a value of its own, so nothing was seen twice and every new record looks new.")
            )
        note = scenario.coverage.note(prepared.n, scenario.t)
        if note:
            out.append(Note(note))
        if scenario.table.data == "hamlet-words":
            out.append(
                Note(
                    "The source reports 31,999 words of Hamlet, 4,804 of them distinct; this file, counted from "
                    f"another edition, has {prepared.n:,} and {prepared.distinct:,}."
                )
            )
        out.append(
            Note(
                "The seed decides the noise and stands in the link: whoever knows it and the file can take the noise "
                "off again. This page is for trying out, not for publishing an answer.",
                title="A draw you can repeat",
            )
        )
        return tuple(out)

    def formulas(
        self, scenario: UnseenInDataScenario, prepared: ColumnAtHand, coverage: Released, entropy: Released
    ) -> tuple[Formula, ...]:
        """Write both answers, their noise and their intervals, with the current numbers."""
        n, t, epsilon = prepared.n, scenario.t, scenario.epsilon
        rate = scenario.coverage.rate(n, t)
        smoothing = (
            rf",\quad Z\sim\mathrm{{Poi}}({rate:.4g})"
            if scenario.coverage.smoothing == "poisson" and math.isfinite(rate)
            else r",\quad \Pr(Z\ge i)=1"
            if not math.isfinite(rate)
            else r",\quad Z\text{ binomial}"
        )
        out = []
        for title, estimator, numbers, found, source in (
            (
                "Distinct values",
                scenario.coverage,
                rf"n = {n:,},\quad t = {t:g}" + smoothing,
                coverage,
                scenario.coverage.sensitivity_source(n, t),
            ),
            ("Entropy", scenario.entropy, rf"n = {n:,}", entropy, scenario.entropy.sensitivity_source()),
        ):
            unit = r"\ \text{nats}" if title == "Entropy" else ""
            out += [
                Formula(title, estimator.formula, numbers, "exact", estimator.source),
                Formula(
                    f"{title}: private answer",
                    r"\tilde f=\mathrm{clip}\bigl(\hat f+\mathrm{Lap}(\Delta/\varepsilon)\bigr)",
                    rf"\Delta = {found.sensitivity:.5g}{unit},\qquad\Delta/\varepsilon = "
                    rf"{found.noise.scale:.5g}{unit},\quad\varepsilon = {epsilon:g}",
                    "exact",
                    f"Lem 3; sensitivity: {source}",
                ),
                Formula(
                    f"{title}: 95% interval",
                    r"\tilde f\pm\frac\Delta\varepsilon\ln20",
                    rf"\pm{found.half_width:.5g}{unit}",
                    "exact",
                    "properties §12.6",
                ),
            ]
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind each view; the fingerprint, which is not private, stands on screen only."""
        if view != "fingerprint":
            return result.frame[result.frame["panel"] == ("entropy" if view == "entropy" else DISTINCT)]
        histogram: Histogram = result.extra["column"].histogram
        return tidy([(f"fingerprint, {PLAIN}", histogram.counts, histogram.symbols, 0.0)])

    def table(self, result: Result) -> pd.DataFrame:
        """Lay the numbers out by look-ahead: one row per number, private or not, with the interval beside it.

        One row per look-ahead would leave the private columns empty but for one of them.
        """
        frame = result.frame
        if "low" not in frame.columns:
            return super().table(result)
        frame = frame.assign(private=frame["series"].str.endswith(", private")).sort_values(
            ["panel", "x", "private"], kind="stable"
        )
        kinds = frame["panel"].unique()
        short = np.where(frame["private"], "private", "not private")
        return pd.DataFrame(
            {
                "n" if list(kinds) == ["entropy"] else "x": frame["x"],
                "answer": short if len(kinds) == 1 else frame["series"],
                kinds[0] if len(kinds) == 1 else "value": frame["y"],
                "19 of 20 from": frame["low"],
                "to": frame["high"],
            }
        ).reset_index(drop=True)

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the distinct values against t, the fingerprint, or the entropy."""
        if view == "fingerprint":
            return self.fingerprint_chart(result)
        if view == "entropy":
            return self.entropy_chart(result)
        scenario: Any = result.scenario
        column: ColumnAtHand = result.extra["column"]
        coverage: Released = result.extra["coverage"]
        rows = result.series(f"{DISTINCT}, {PLAIN}")
        x = rows["x"].to_numpy()
        return Chart(
            "Distinct values that (1 + t) n records would show",
            f"number of values, n = {column.n:,}",
            Axis("look-ahead t, further records per record", "linear", symbol="t", low=0.0),
            Axis("distinct values", "linear"),
            (
                Panel(
                    (
                        Spread(
                            "non-private",
                            x,
                            rows["low"].to_numpy(),
                            rows["high"].to_numpy(),
                            "19 of 20 answers",
                            "light",
                            None if is_thin(rows) else "19 of 20<br>answers",
                        ),
                        Line(
                            "non-private",
                            x,
                            rows["y"].to_numpy(),
                            f"{DISTINCT}, {PLAIN}",
                            "without noise,<br>not private",
                            hover="without noise (not private): {y} values",
                        ),
                        Points(
                            "private",
                            [scenario.t],
                            [coverage.value],
                            f"{DISTINCT}, private",
                            "private answer",
                            [coverage.low],
                            [coverage.high],
                            hover="private answer: {y} ± {e} values",
                            size=11,
                        ),
                    ),
                    level_lines=((float(column.distinct), "seen so far, not private"),),
                ),
            ),
        )

    def fingerprint_chart(self, result: Result) -> Chart:
        """Describe how many values occur how often."""
        rows = self.numbers(result, "fingerprint")
        return Chart(
            "How many values occur how often (not private)",
            "number of values, both axes on a log scale",
            Axis("occurs i times", "log", symbol="i"),
            Axis("values", "log"),
            (
                Panel(
                    (
                        Points(
                            "data",
                            rows["x"].to_numpy(),
                            rows["y"].to_numpy(),
                            f"fingerprint, {PLAIN}",
                            hover="{y} values",
                            size=6,
                        ),
                    )
                ),
            ),
        )

    def entropy_chart(self, result: Result) -> Chart:
        """Describe the private entropy with its interval, beside the exact one."""
        scenario: Any = result.scenario
        entropy: Released = result.extra["entropy"]
        unit = unit_size(scenario.unit)
        pad = max(1.6 * entropy.half_width, 1e-6)
        centre = (entropy.exact + entropy.value) / 2
        far = abs(entropy.exact - entropy.value) / 2 + pad
        cap = scenario.declared_k
        return Chart(
            "Entropy of the column",
            f"in {scenario.unit}; bar: 19 of 20 releases",
            Axis("", "category"),
            Axis(
                "entropy", "linear", low=max(0.0, centre - far) / unit, high=(centre + far) / unit, unit=scenario.unit
            ),
            (
                Panel(
                    (
                        Points(
                            "private",
                            ["private answer"],
                            [entropy.value / unit],
                            "entropy, private",
                            low=[entropy.low / unit],
                            high=[entropy.high / unit],
                            hover="private answer: {y} ± {e} " + scenario.unit,
                            size=11,
                        ),
                        Points(
                            "non-private",
                            ["without noise (not private)"],
                            [entropy.exact / unit],
                            f"entropy, {PLAIN}",
                            hover="without noise (not private): {y} " + scenario.unit,
                            size=11,
                        ),
                    ),
                    level_lines=((math.log(cap) / unit, f"largest possible, ln {cap:,}"),)
                    if cap is not None and math.log(cap) <= centre + far
                    else (),
                ),
            ),
        )


DISTINCT = "distinct values"
PLAIN = "without privacy"


def interval_rows(name: str, how: str, x: Sequence[float], found: Released, unit: float) -> Any:
    """Lay a private answer out as a row: value, standard deviation of its noise, interval."""
    return tidy([(f"{name}, {how}", x, [found.value / unit], found.noise.std / unit)]).assign(
        low=found.low / unit, high=found.high / unit
    )


THIN = 0.025
"""A band below this share of the chart's height, about eight pixels, hardly shows beside its line."""


def is_thin(rows: pd.DataFrame) -> bool:
    """Whether the band of 19 of 20 answers is hardly wider than the line through it."""
    width = float((rows["high"] - rows["low"]).max())
    return width < THIN * float(rows["high"].max() - min(0.0, float(rows["low"].min())))


def thin_words(frame: pd.DataFrame) -> str:
    """Say that the band of 19 of 20 answers cannot be seen, where it cannot."""
    rows = frame[frame["series"] == f"{DISTINCT}, {PLAIN}"]
    if not is_thin(rows):
        return ""
    half = float((rows["high"] - rows["low"]).max()) / 2
    return (
        f" Around the curve of distinct values, 19 of 20 answers lie within ± {significant(half, 2)} or less, a band "
        "hardly wider than the line."
    )


def told_tuning(record: Record) -> str:
    """Name the settings of an estimator that differ from its defaults, as the form names them.

    Examples
    --------
    >>> told_tuning(SmoothedGoodToulmin()), told_tuning(SmoothedGoodToulmin(smoothing="binomial-1"))
    ('', ', Smoothing: Binomial, 1/(1+t)')
    """
    default, words = type(record)(), ""
    for name, info in fields(type(record)):
        value = getattr(record, name)
        if value != getattr(default, name):
            shown = extra(info).get("titles", {}).get(value) or (f"{value:g}" if isinstance(value, float) else value)
            words += f", {info.title or name}: {shown}"
    return words


def told_column(ref: TableColumn) -> str:
    """Name the column for people to read.

    Examples
    --------
    >>> print(told_column(FIRST))
    “surname”, counted by “count”
    """
    words = f"“{ref.column}”" + (f", counted by “{ref.counts}”" if ref.counts else "")
    words += f", as {ref.kind}" if ref.kind != "auto" else ""
    return words + (", read another way" if ref.read != TableColumn().read else "")


def tuning(record: Record) -> str:
    """Name the settings of an estimator that differ from its defaults: they are part of the question.

    Examples
    --------
    >>> tuning(SmoothedGoodToulmin()), tuning(SmoothedGoodToulmin(smoothing="binomial-1"))
    ('', ' (smoothing = binomial-1)')
    """
    default = type(record)()
    fields = [(name, getattr(record, name)) for name in type(record).model_fields if name != "kind"]
    changed = [f"{name.replace('_', ' ')} = {value}" for name, value in fields if value != getattr(default, name)]
    return f" ({', '.join(changed)})" if changed else ""


def column_words(ref: TableColumn) -> str:
    """Name the column and whatever changes what is read from it: that is part of the question too.

    Names are quoted as in JSON, so that no column's name can be taken for another reading of another column: two
    questions must never share their noise.

    Examples
    --------
    >>> print(column_words(FIRST), column_words(TableColumn(data="iris", column="species", kind="category")), sep="; ")
    "surname", counted by "count"; "species", as category
    """
    words = [json.dumps(ref.column, ensure_ascii=False)]
    words += [f"counted by {json.dumps(ref.counts, ensure_ascii=False)}"] if ref.counts else []
    words += [f"as {ref.kind}"] if ref.kind != "auto" else []
    if ref.read != TableColumn().read:
        words.append(f"reading {hashlib.sha256(ref.read.model_dump_json().encode()).hexdigest()[:16]}")
    return ", ".join(words)


ASSUMPTIONS = (
    "Neighbours are two tables of the same number of records that differ in one record, so n is public; so is which "
    "records have a value at all. (properties §0, Def. 1)",
    "Each answer gets Laplace noise of scale sensitivity ÷ ε once, and is then clipped to what is possible, which "
    "costs nothing. (Lem 3, Lemma 1)",
    "The sensitivity is exact: the largest change over all tables of n records when one is replaced. It uses n, t, the "
    "smoothing and the declared k only, never the data. (properties §1, derived)",
    "One answer per table, column, question, ε and seed: asking the same again shows the same answer and costs "
    "nothing; another t, ε or seed is a new answer with noise of its own and costs its own ε.",
    "The two answers add up to twice ε. (basic composition)",
    "The interval is ± Δ/ε · ln 20 around the answer, clipped: it holds the number without noise in at least 19 of 20 "
    "releases.",
)

__all__ = ["ColumnAtHand", "Released", "UnseenInData", "UnseenInDataScenario"]
