"""The main study of local privacy: an effect on people whose private columns are swapped for noise (section 3)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.causal import AlphaIdentity, Estimate, Guard, GuardLevel
from privexplorer.causal.counts import arm_codes, outcome_numbers
from privexplorer.causal.estimate import sense_of_error
from privexplorer.causal.study_data import Categories, EffectAnalysis, Numbers, Private, analyse_effect, mechanism_for
from privexplorer.data import TableChoice, Tables, read_rows, resolve
from privexplorer.errors import DataError, ParameterError, PrivExplorerError
from privexplorer.privacy.answers import PrivateAnswer, release_rng
from privexplorer.privacy.guarantees import LocalDP
from privexplorer.records import Number, Record, Scenario, Seed, dump, field
from privexplorer.studies import _effects as effects
from privexplorer.studies._effects import EffectTarget, KeepProbability
from privexplorer.studies.base import Preset, Request, Study
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import listed, percent, plain_markdown, significant, too_few_rows, whole

LADDER: tuple[float, ...] = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Keep probabilities that are compared beside the visitor's own."""
PRIVATE, NAIVE, OPEN = "private estimate", "shown values taken as true", "without noise"
SHOWN, NOISE = "trimmed among shown values", "trimmed under the noise"
WORTH = "people with open data who tell as much"
WARNED = "few people for this noise"
TREATED, UNTREATED = "treated", "untreated"
PANELS = {"effect": "effect", "trimmed": "trimmed share", "people": "people", "overlap": "overlap"}
BINS = 20
LEVEL = 0.95
FEWEST = 50
VERDICTS: tuple[GuardLevel, ...] = ("green", "amber", "red", "refused")
"""What the small-sample rule may say, from enough people to too few."""

ColumnName = Annotated[str, Field(min_length=1, max_length=400)]
ColumnNames = Annotated[tuple[ColumnName, ...], Field(max_length=12)]
ColumnsOf: TypeAlias = dict[str, NDArray[Any]]


# --- who the people are --------------------------------------------------------------------------------------


class TrainingProgramme(Record):
    """People on an invented training programme: what everybody would earn with and without it is known."""

    kind: Literal["training"] = "training"
    title: ClassVar[str] = "An invented training programme"
    formula: ClassVar[str] = (
        r"\text{pay}=520-90\,\text{mild}-190\,\text{severe}+2(\text{age}-44)+\tau\,\text{course}+\eta"
    )
    source: ClassVar[str] = "made for this page"
    kinds: ClassVar[Mapping[str, str]] = {
        "pay": "number",
        "employed": "binary",
        "course": "binary",
        "illness": "category",
        "age": "number",
        "site": "category",
        "years": "count",
    }
    facts: ClassVar[str] = "illness: none, mild, severe; age: 18 to 70; site: north, south, west; years: 0 to 52"
    people: Annotated[int, Number] = field(
        10_000,
        "People n",
        "How many took part, with or without the course.",
        key="people",
        scale="log",
        low=500,
        high=100_000,
        ge=100,
        le=200_000,
    )
    age_decides: Annotated[float, Number] = field(
        0.0,
        "Age decides who takes the course",
        "0: only illness does. Above 0 older people take it more often, so that age must be adjusted for as well.",
        key="age",
        ge=0,
        le=2,
        advanced=True,
    )

    def column_kinds(self) -> dict[str, str]:
        """Return the columns and their kinds, for the form."""
        return dict(self.kinds)

    def people_and_outcomes(self) -> tuple[ColumnsOf, dict[str, tuple[FloatArray, FloatArray]]]:
        """Return the columns, and both potential outcomes of each outcome column."""
        n, rng = self.people, np.random.default_rng([4, 1])
        # one draw per person and column, so that more people start with the same ones
        even, normal = rng.random((n, 5)), rng.standard_normal((n, 3))
        ill = np.searchsorted([0.55, 0.83], even[:, 0])
        age = np.clip(np.round(44 + 12 * normal[:, 0]), 18, 70)
        score = np.array([-0.85, 0.0, 0.85])[ill] + self.age_decides * (age - 44) / 12
        course = (even[:, 1] < 1 / (1 + np.exp(-score))).astype(np.float64)
        gain = np.array([30.0, 60.0, 110.0])[ill]
        without = np.round(520 - np.array([0.0, 90.0, 190.0])[ill] + 2 * (age - 44) + 80 * normal[:, 1])
        ease = np.array([0.75, 0.55, 0.3])[ill] + 0.002 * (age - 44)
        lift = np.array([0.05, 0.12, 0.25])[ill]
        idle, busy = ((even[:, 2] < chance).astype(np.float64) for chance in (ease, ease + lift))
        outcomes = {"pay": (without, without + gain), "employed": (idle, busy)}
        site = np.array(["north", "south", "west"])[np.searchsorted([0.4, 0.75], even[:, 3])]
        years = np.clip(np.round(0.55 * (age - 18) + 4 * normal[:, 2]), 0, 52)
        columns: ColumnsOf = {name: np.where(course > 0, two[1], two[0]) for name, two in outcomes.items()}
        columns |= {
            "course": course,
            "illness": np.array(["none", "mild", "severe"])[ill],
            "age": age,
            "site": site,
            "years": years,
        }
        return columns, outcomes


class EffectTable(Record):
    """The visitor's own table, or a bundled one."""

    kind: Literal["table"] = "table"
    title: ClassVar[str] = "A table of your own"
    formula: ClassVar[str] = r"(Y_i,D_i,W_i,X_i),\ i=1,\dots,n"
    source: ClassVar[str] = "locally private inference §3"
    table: TableChoice = field(TableChoice(data="diabetes"), "Table", "The people, one per row.", key="table")
    facts: Annotated[str, Field(max_length=4000)] = field(
        "age: 18 to 90",
        "Public ranges and categories",
        "What is known about each private column without looking at it, such as “age: 18 to 90; illness: none, mild, "
        "severe”. Reading it off the column would break the protection.",
        key="facts",
    )
    treated: Annotated[str, Field(max_length=400)] = field(
        "", "Value that means treated", "Needed where the treatment column does not hold 0 and 1.", key="treated"
    )


AnyPeople: TypeAlias = TrainingProgramme | EffectTable


class PrivateEffectScenario(Scenario):
    """People, what is asked about them, and how much of the private columns is kept."""

    data: Annotated[AnyPeople, Field(discriminator="kind")] = field(
        TrainingProgramme(),
        "People",
        "An invented programme whose true effect is known, or a table of yours.",
        key="data",
        group="Data",
        discriminator="kind",
    )
    outcome: ColumnName = field(
        "pay",
        "Outcome",
        "What the treatment may change; published in the clear.",
        key="outcome",
        group="Data",
        column_of="data",
        kinds=("number", "count", "binary"),
    )
    treatment: ColumnName = field(
        "course",
        "Treatment",
        "Two values; published in the clear.",
        key="treatment",
        group="Data",
        column_of="data",
        kinds=("binary", "category"),
    )
    private: Annotated[tuple[ColumnName, ...], Field(min_length=1, max_length=6)] = field(
        ("illness",),
        "Private columns",
        "Swapped for noise, all together, before anybody sees them.",
        key="private",
        group="Data",
        column_of="data",
        kinds=("category", "number", "count", "binary"),
    )
    public: ColumnNames = field(
        (),
        "Public columns to adjust for",
        "In the clear. Without what makes treated and untreated people differ the estimate is no effect.",
        key="public",
        group="Data",
        column_of="data",
        kinds=("number", "count", "binary", "category"),
    )
    keep: KeepProbability = 0.5
    target: EffectTarget = "ate"
    learners: Literal["param", "series", "riesz"] = field(
        "param",
        "How chances and outcomes are fitted",
        "Not used for a single private column of categories, which is analysed by its table. More flexible fits need "
        "many more people.",
        key="fit",
        group="Goal",
        titles={
            "param": "Straight lines",
            "series": "Three functions per column",
            "riesz": "Three functions, no chance of treatment",
        },
        advanced=True,
    )
    seed: Seed = field(
        0,
        "Seed",
        "Decides the noise. A new seed draws it again: averaging over draws undoes the protection.",
    )


# --- reading -------------------------------------------------------------------------------------------------

_RANGE = re.compile(r"^\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*(?:to|–|\.\.)\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*$", re.I)


def read_facts(text: str) -> dict[str, Private]:
    """Read public ranges and categories: ``"age: 18 to 90; illness: none, mild, severe"``.

    Raises
    ------
    ParameterError
        If an entry is neither a range nor a list of categories.

    Examples
    --------
    >>> read_facts("age: 18 to 90; illness: none, mild")["age"]
    Numbers(low=18.0, high=90.0, law=None)
    """
    out: dict[str, Private] = {}
    for entry in filter(str.strip, text.split(";")):
        name, colon, values = entry.rpartition(":")
        name = name.strip()
        if not colon or not name:
            raise ParameterError(
                f"Public facts are written as “age: 18 to 90; illness: none, mild”; “{entry.strip()[:60]}” has no "
                "column and colon in front.",
                field="facts",
            )
        found = _RANGE.match(values)
        if found:
            low, high = float(found[1]), float(found[2])
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise ParameterError(
                    f"The public range of “{name}” must run from a smaller to a larger number; it is "
                    f"“{values.strip()}”.",
                    field="facts",
                )
            out[name] = Numbers(low, high)
            continue
        levels = tuple(part.strip() for part in values.split(",") if part.strip())
        if len(levels) < 2 or len(set(levels)) < len(levels):
            raise ParameterError(
                f"Give “{name}” a range such as “18 to 90”, or two or more different categories with commas between; "
                f"it has “{values.strip()[:60]}”.",
                field="facts",
            )
        out[name] = Categories(levels)
    return out


@dataclass(frozen=True, eq=False)
class PeopleAtHand:
    """Columns of the people with what is publicly known about the private ones.

    Attributes
    ----------
    columns : dict of str to array
        All columns in use, one value per person.
    private : dict of str to Categories or Numbers
        Public facts about the private columns.
    truth : float or None
        True effect among these people, where it is known.
    name : str
        Name of the content, for the noise.
    places : (n,) int array, optional
        Which records of the table they are; left out where they are all of them.
    total : int
        Records of the table: each has coins of its own, whatever the other columns in use leave out.
    """

    columns: ColumnsOf
    private: dict[str, Private]
    treated: Any
    truth: float | None
    title: str
    name: str
    notes: tuple[str, ...] = ()
    places: IntArray | None = None
    total: int = 0

    @property
    def n(self) -> int:
        """Number of people."""
        return int(next(iter(self.columns.values())).shape[0])


def roles_clash(scenario: PrivateEffectScenario) -> str:
    """Name a column with two roles, in a sentence; empty if there is none."""
    names = (scenario.outcome, scenario.treatment, *scenario.private, *scenario.public)
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled is None:
        return ""
    return (
        f"The column “{doubled}” has two roles; outcome, treatment, private and public columns must all be different."
    )


class NotSaid(ParameterError):
    """Something about the table that only the visitor can say is not said yet."""


def facts_for(scenario: PrivateEffectScenario) -> dict[str, Private]:
    """Return the public facts about the private columns, in their order.

    Raises
    ------
    ParameterError
        If the facts cannot be read; ``NotSaid`` if nothing is said about one of the columns.
    """
    known = read_facts(scenario.data.facts)
    for name in scenario.private:
        if name not in known:
            raise NotSaid(
                f"Say what is publicly known about the private column “{name}”, such as “{name}: 0 to 100” or "
                f"“{name}: no, yes”. Reading it off the column would break the protection.",
                field="facts",
            )
    return {name: known[name] for name in scenario.private}


def read_people(scenario: PrivateEffectScenario, tables: Tables | None) -> PeopleAtHand:
    """Read the columns in use.

    Raises
    ------
    DataError, ParameterError
        A column is missing or unusable, or the public facts are.
    """
    clash = roles_clash(scenario)
    if clash:
        raise ParameterError(clash, field="outcome")
    private = facts_for(scenario)
    names = (scenario.outcome, scenario.treatment, *scenario.private, *scenario.public)
    data = scenario.data
    if isinstance(data, TrainingProgramme):
        columns, outcomes = data.people_and_outcomes()
        for name in names:
            if name not in columns:
                raise DataError(
                    f"There is no column “{name}” among these people; they have {', '.join(columns)}.", field="column"
                )
        truth = None
        if scenario.treatment == "course" and scenario.outcome in outcomes:
            gain = outcomes[scenario.outcome][1] - outcomes[scenario.outcome][0]
            truth = float(gain.mean() if scenario.target == "ate" else gain[columns["course"] > 0].mean())
        label = "|".join(f"{key}={value}" for key, value in dump(data))
        return PeopleAtHand(
            {name: columns[name] for name in names}, private, None, truth, data.title, f"training|{label}"
        )
    source = resolve(data.table, tables)
    as_text = [name for name, kind in private.items() if isinstance(kind, Categories)]
    rows = read_rows(source, data.table, names, as_text)
    if rows.n < FEWEST:
        raise DataError(too_few_rows(rows.n, FEWEST), field="data")
    found: ColumnsOf = {name: rows.numbers[name] if name in rows.numbers else rows.texts(name) for name in names}
    treated: Any = data.treated.strip() or None
    if treated is not None and scenario.treatment in rows.numbers:
        try:
            treated = float(treated)
        except ValueError:
            raise DataError(
                f"The treatment column holds numbers, but “{treated}” is meant as treated; write one of its numbers.",
                field="treated",
            ) from None
    return PeopleAtHand(found, private, treated, None, rows.title, rows.digest, rows.notes, rows.places, rows.total)


# --- the analysis --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rung:
    """What one keep probability gives.

    Attributes
    ----------
    keep : float
        Keep probability.
    private, naive : (4,) float array
        Value, standard error and both ends of the interval, of the private estimate and of the one that takes shown
        values for true ones; NaN where the data do not support it.
    trimmed_shown, trimmed_noise : float
        Shares of shown values and of the noise with an extreme fitted chance of treatment.
    verdict : float
        Place in ``VERDICTS`` of what the small-sample rule says; NaN where it was not asked.
    """

    keep: float
    private: FloatArray
    naive: FloatArray
    trimmed_shown: float
    trimmed_noise: float
    verdict: float = math.nan

    @property
    def level(self) -> str:
        """What the small-sample rule says, in a word; empty where it was not asked."""
        return VERDICTS[int(self.verdict)] if math.isfinite(self.verdict) else ""

    def row(self) -> FloatArray:
        """Return all numbers in a row, as a block holds them."""
        return np.array([self.keep, *self.private, *self.naive, self.trimmed_shown, self.trimmed_noise, self.verdict])

    @classmethod
    def from_row(cls, row: FloatArray) -> Rung:
        """Read a row."""
        return cls(float(row[0]), row[1:5], row[5:9], float(row[9]), float(row[10]), float(row[11]))


@dataclass(frozen=True, eq=False)
class Prepared:
    """People, and the analysis at the visitor's keep probability and without noise."""

    scenario: PrivateEffectScenario
    people: PeopleAtHand
    unadjusted: Estimate
    own: Estimate
    opened: Estimate
    own_rung: Rung
    open_rung: Rung
    others: tuple[float, ...]
    """Keep probabilities that blocks analyse, the largest first."""
    overlap: FloatArray
    edges: FloatArray
    notes: tuple[str, ...]
    epsilon: float
    continuous: bool
    same_outcome: bool
    """Whether everybody has the same outcome, so that no effect can show."""
    treated_share: float


@dataclass(frozen=True, eq=False)
class Shown:
    """What charts need beside the frame; nothing about single people."""

    people: int
    truth: float | None
    unadjusted: float
    opened: float
    trimmed: float
    verdicts: tuple[tuple[float, str], ...] = ()
    """Keep probabilities with few people, and what the small-sample rule says there: amber, red or refused."""
    same_outcome: bool = False
    """Whether everybody has the same outcome, so that no effect can show."""


def draw(people: PeopleAtHand, mechanism: AlphaIdentity, rng: np.random.Generator) -> tuple[ColumnsOf, tuple[str, ...]]:
    """Swap the private columns, all of a person together; values outside a public range are moved to its end first."""
    coded, notes = [], []
    for name, kind in people.private.items():
        values = people.columns[name]
        if isinstance(kind, Numbers):
            if values.dtype.kind not in "buif":
                raise DataError(
                    f"The private column “{name}” holds texts, so it needs a list of categories instead of a range.",
                    field="facts",
                )
            inside = np.clip(values.astype(np.float64), kind.low, kind.high)
            moved = int(np.sum(inside != values))
            if moved:
                notes.append(
                    f"{moved:,} values of “{name}” outside the public range were moved to its nearer end before the "
                    "noise."
                )
            coded.append(inside)
            continue
        places = {str(level): code for code, level in enumerate(kind.levels)}
        texts, where = np.unique(values.astype(str), return_inverse=True)
        strange = [text for text in texts.tolist() if text not in places]
        if strange:
            shown = ", ".join(f"“{text}”" for text in strange[:5])
            raise DataError(
                f"The private column “{name}” holds {shown}, which its public list of categories does not name; add "
                "what may occur.",
                field="facts",
            )
        coded.append(np.array([places[text] for text in texts.tolist()])[where])
    x = coded[0] if len(coded) == 1 else np.column_stack([np.asarray(part, dtype=np.float64) for part in coded])
    if people.places is None:
        shown_values = np.asarray(mechanism.privatise(x, rng)).reshape(people.n, -1)
    else:  # coins for every record of the table, so that a person's are the same whoever else is left out
        everybody = np.repeat(x[:1], people.total, axis=0)
        everybody[people.places] = x
        shown_values = np.asarray(mechanism.privatise(everybody, rng))[people.places].reshape(people.n, -1)
    released = dict(people.columns)
    for column, (name, kind) in enumerate(people.private.items()):
        part = shown_values[:, column]
        released[name] = np.array(kind.levels)[part.astype(np.int64)] if isinstance(kind, Categories) else part
    return released, tuple(notes)


def others_of(scenario: PrivateEffectScenario) -> tuple[float, ...]:
    """Return the keep probabilities beside the visitor's own and 1, the largest first."""
    return tuple(sorted({*LADDER} - {scenario.keep, 1.0}, reverse=True))


def facts_text(people: PeopleAtHand) -> str:
    """Write the public facts that shape the noise; two releases with other facts must not share their coins.

    The noise is a place on a list of categories or in a range. Under another list the same coins would give other
    texts to those who show noise, and the same text to those who show the truth.
    """
    parts = []
    for kind in people.private.values():
        if isinstance(kind, Categories):
            parts.append(f"{[str(level) for level in kind.levels]} {kind.probabilities}")
        else:
            parts.append(f"{float(kind.low)!r} to {float(kind.high)!r} {kind.law}")
    return "; ".join(parts)


def is_by_table(scenario: PrivateEffectScenario, private: Mapping[str, Private]) -> bool:
    """Whether one private column of categories stands alone, so that its table is unmixed and nobody needs folds."""
    return len(private) == 1 and not scenario.public and isinstance(next(iter(private.values())), Categories)


def analysis(
    scenario: PrivateEffectScenario, people: PeopleAtHand, keep: float
) -> tuple[EffectAnalysis, tuple[str, ...]]:
    """Analyse the release at one keep probability; all of them share one draw of coins and noise.

    The draw is named by the seed, the people, the private columns and what is publicly known about them: neither
    outcome nor treatment nor the keep probability changes anybody's coin or noise.
    """
    mechanism = mechanism_for(people.private, keep)
    said = (facts_text(people),) if isinstance(scenario.data, EffectTable) else ()  # the facts of the others are fixed
    rng = release_rng(scenario.seed, people.name, *people.private, *said)
    released, moved = draw(people, mechanism, rng)
    found = analyse_effect(
        released,
        outcome=scenario.outcome,
        treatment=scenario.treatment,
        private=people.private,
        mechanism=mechanism,
        public=scenario.public,
        target=effects.TARGET_SHORT[scenario.target],
        treated=people.treated,
        learners=None if is_by_table(scenario, people.private) else scenario.learners,
        is_released=True,
        level=LEVEL,
        rng=np.random.default_rng(scenario.seed),
    )
    same = same_outcome(people.columns[scenario.outcome])
    return (found if same is None else without_effect(found, same)), moved


def same_outcome(values: NDArray[Any]) -> float | None:
    """Return the one outcome that everybody has; None if people differ.

    Examples
    --------
    >>> same_outcome(np.array([7.5, 7.5])), same_outcome(np.array([0, 1])) is None
    (7.5, True)
    """
    numbers = outcome_numbers(values)
    return float(numbers[0]) if np.ptp(numbers) == 0 else None


def without_effect(found: EffectAnalysis, outcome: float) -> EffectAnalysis:
    """Put 0 where rounding alone made numbers: outcomes are public, so equal ones show no effect under any noise."""

    def flat(estimate: Estimate) -> Estimate:
        naive = None if estimate.naive is None else flat(estimate.naive)
        return replace(estimate, value=0.0, std_error=0.0, low=0.0, high=0.0, guard=None, notes=(), naive=naive)

    _, words = sense_of_error(0.0, 0.0, outcome, outcome)
    return replace(found, estimate=flat(found.estimate), unadjusted=flat(found.unadjusted), notes=words)


def rung_of(keep: float, found: EffectAnalysis | None) -> Rung:
    """Keep the numbers of an analysis."""

    def numbers(estimate: Estimate | None) -> FloatArray:
        if estimate is None or not math.isfinite(estimate.std_error):
            return np.full(4, np.nan)
        error = estimate.std_error if estimate.has_interval else math.nan  # what is refused has no ± either
        return np.array([estimate.value, error, estimate.low, estimate.high])

    if found is None:
        return Rung(keep, np.full(4, np.nan), np.full(4, np.nan), math.nan, math.nan)
    return Rung(
        keep,
        numbers(found.estimate),
        numbers(found.estimate.naive if keep < 1 else found.estimate),
        found.trimmed_released,
        found.trimmed_noise,
        VERDICTS.index(found.estimate.guard.level) if found.estimate.guard is not None else math.nan,
    )


def bare(estimate: Estimate) -> Estimate:
    """Drop what has one value per person."""
    naive = None if estimate.naive is None else bare(estimate.naive)
    return replace(estimate, nuisances={}, scores=None, naive=naive)


def is_not_said(scenario: PrivateEffectScenario, error: PrivExplorerError) -> bool:
    """Whether an error only says that the visitor has a fact about the table left to give."""
    data = scenario.data
    which_arm = error.field == "treated" and isinstance(data, EffectTable) and not data.treated.strip()
    return isinstance(data, EffectTable) and (which_arm or isinstance(error, NotSaid))


class PrivateEffect(Study[PrivateEffectScenario]):
    """An effect with its interval for a ladder of keep probabilities, beside the naive and the open analysis."""

    id: ClassVar[str] = "private-effect"
    question: ClassVar[str] = "Does it work, if one column never leaves the device in the clear?"
    lead: ClassVar[str] = (
        "Each person swaps the private column for noise with probability 1 − α. The effect can still be estimated, "
        "with an honest interval that grows as α falls."
    )
    tab: ClassVar[str] = "Your effect"
    spread: ClassVar[str] = "± 2 s.e."
    card: ClassVar[str] = "A treatment effect from noisy covariates, on an example or on your own table."
    link: ClassVar[str] = "Estimate a private effect"
    theme: ClassVar[str] = "effects"
    picture: ClassVar[str] = "effect"
    scenario: ClassVar[type[Scenario]] = PrivateEffectScenario
    views: ClassVar[Mapping[str, str]] = {
        "effect": "Estimates",
        "people": "In people",
        "overlap": "Overlap",
        "trimmed": "Trimmed shares",
    }
    rows: ClassVar[tuple[str, ...]] = (
        "L-E8", "L-E34", "L-Ex2", "L-Ex3", "L-E19", "L-E21", "L-Tb1", "L-E57", "L-X10", "L-X12",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[PrivateEffectScenario], ...]:
        """Finished examples."""
        make = PrivateEffectScenario
        return (
            Preset("Illness is private", make()),
            Preset(
                "Illness and age are private",
                make(
                    data=TrainingProgramme(people=8_000, age_decides=0.5),
                    private=("illness", "age"),
                    keep=0.7,
                ),
            ),
            Preset("Effect on the treated", make(target="att", keep=0.7)),
            Preset("Employed or not", make(outcome="employed", data=TrainingProgramme(people=20_000), keep=0.3)),
            Preset(
                "A table: diabetes",
                make(
                    data=EffectTable(treated="2"),
                    outcome="progression",
                    treatment="sex",
                    private=("age",),
                    public=("bmi",),
                    keep=0.9,
                ),
            ),
        )

    def check(self, scenario: PrivateEffectScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        try:
            people = read_people(scenario, tables)
            outcome_numbers(people.columns[scenario.outcome])
            arm_codes(people.columns[scenario.treatment], people.treated)
            draw(people, mechanism_for(people.private, scenario.keep), np.random.default_rng(0))
        except PrivExplorerError as error:
            words = f"{error} {error.hint}" if error.hint else str(error)
            return (Request(words) if is_not_said(scenario, error) else words,)
        return ()

    def prepare(self, scenario: PrivateEffectScenario, tables: Tables | None) -> Prepared:
        """Read the people, and analyse them at the visitor's keep probability and without noise."""
        people = read_people(scenario, tables)
        found, moved = analysis(scenario, people, scenario.keep)
        opened = found if scenario.keep == 1 else analysis(scenario, people, 1.0)[0]
        edges = np.linspace(0.0, 1.0, BINS + 1)
        place = np.clip((found.propensity * BINS).astype(np.int64), 0, BINS - 1)
        counts = np.stack([np.bincount(place[found.treated == arm], minlength=BINS) for arm in (0, 1)])
        return Prepared(
            scenario,
            people,
            bare(found.unadjusted),
            bare(found.estimate),
            bare(opened.estimate),
            rung_of(scenario.keep, found),
            rung_of(1.0, opened),
            others_of(scenario),
            counts / counts.sum(axis=1, keepdims=True),
            edges,
            (*moved, *found.notes),
            mechanism_for(people.private, scenario.keep).ldp_epsilon(),
            any(isinstance(kind, Numbers) for kind in people.private.values()),
            same_outcome(people.columns[scenario.outcome]) is not None,
            float(found.treated.mean()),
        )

    def blocks(self, scenario: PrivateEffectScenario) -> int:
        """Return one block per further keep probability."""
        return len(others_of(scenario))

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Analyse the same draw at another keep probability, ``(1, 1, numbers)``."""
        keep = prepared.others[block]
        try:
            found = analysis(prepared.scenario, prepared.people, keep)[0]
        except (DataError, ParameterError):
            found = None
        return rung_of(keep, found).row()[None, None, :]

    def assemble(self, scenario: PrivateEffectScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put estimates, shares and people together, and say what they mean."""
        known = {prepared.own_rung.keep: prepared.own_rung, 1.0: prepared.open_rung}
        known |= {rung.keep: rung for rung in (Rung.from_row(part[0, 0]) for part in parts)}
        rungs = [known[keep] for keep in sorted(known)]
        keeps = np.array([rung.keep for rung in rungs])
        private, naive = (np.array([getattr(rung, name) for rung in rungs]) for name in ("private", "naive"))
        opened = prepared.opened
        frames = [
            estimate_rows(PRIVATE, keeps, private),
            estimate_rows(NAIVE, keeps, naive),
            estimate_rows(OPEN, keeps[-1:], private[-1:]),
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = prepared.people.n * (opened.std_error / private[:, 1]) ** 2
        worth = np.where(np.isfinite(worth), worth, np.nan)
        frames.append(tidy([(WORTH, keeps, worth, 0.0)], panel=PANELS["people"]))
        shares = [(SHOWN, [rung.trimmed_shown for rung in rungs]), (NOISE, [rung.trimmed_noise for rung in rungs])]
        frames.append(tidy([(name, keeps, share, 0.0) for name, share in shares], panel=PANELS["trimmed"]))
        middle = (prepared.edges[1:] + prepared.edges[:-1]) / 2
        frames.append(
            tidy(
                [(name, middle, prepared.overlap[arm], 0.0) for arm, name in ((1, TREATED), (0, UNTREATED))],
                panel=PANELS["overlap"],
            )
        )
        frame = pd.concat([part.reindex(columns=COLUMNS) for part in frames], ignore_index=True)
        frame["std_error"] = np.where(np.isnan(frame["y"]), 0.0, frame["std_error"])
        return self.told(scenario, prepared, frame, rungs, len(parts) == self.blocks(scenario))

    def told(
        self,
        scenario: PrivateEffectScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        rungs: Sequence[Rung],
        whole_ladder: bool,
    ) -> Result:
        """Add cards, words, notes and formulas."""
        own, opened = prepared.own, prepared.opened
        n, keep, truth = prepared.people.n, scenario.keep, prepared.people.truth
        same = prepared.same_outcome
        worth = n * (opened.std_error / own.std_error) ** 2 if own.std_error > 0 and own.has_interval else math.nan
        name = effects.TARGET_WORDS[scenario.target]
        value, around = interval_words(own)
        known = truth is not None
        reference = truth if truth is not None else opened.value
        cards = [
            Card(
                f"{name[0].upper()}{name[1:]}",
                value,
                "same outcome" if same else around,
                "Everybody has the same outcome, so no effect can show, whatever the noise."
                if same
                else "Private estimate and its 95% interval, from the one draw of noise that is kept.",
            ),
            Card(
                f"{whole(n)} people count as",
                effects.people_words(round(worth)) if math.isfinite(worth) else "–",
                "no number here" if same else "with open data",
                "Nobody's outcome differs, so every analysis says 0 and none is worth fewer people."
                if same
                else "So many people with open data would give as narrow an interval: n times the squared standard "
                "error without noise over the one with noise, both estimated here.",
            ),
        ]
        naive = own.naive if keep < 1 else None
        if naive is not None:
            off = naive.value - reference
            cards.append(
                Card(
                    "Noise ignored",
                    significant(naive.value),
                    f"off by {signed(off)}"[:18],
                    "What an analysis finds that takes shown values for true ones, and how far that is from "
                    + ("the true effect." if known else "the estimate without noise, which is not private."),
                )
            )
        cards.append(
            Card(
                "True effect",
                significant(reference),
                "known here",
                "Mean of what the treatment changes, person by person.",
            )
            if known
            else Card("Without noise", significant(opened.value), "not private", interval_words(opened)[1])
        )
        result = Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=tuple(cards),
            shows=self.words(scenario, prepared, own, opened, worth, naive),
            takeaway=(
                f"Estimates of the {name} against the keep probability. At {keep:g} the private estimate is {value} "
                f"({'everybody has the same outcome' if same else around}); "
                + (
                    f"the true effect is {significant(reference)}."
                    if known
                    else f"without noise it is {significant(reference)}."
                )
            ),
            notes=self.notes(scenario, prepared, own.guard, rungs),
            formulas=self.formulas(scenario, prepared),
            assumptions=(
                *effects.ASSUMED[:1],
                "Treated and untreated people with the same private and public columns would have had the same "
                "outcomes on average: nothing else that matters is left out. No data can check this. (34)",
                effects.ASSUMED[2],
                "Categories of a single private column are unmixed exactly; numbers, several columns and public "
                "columns are analysed by private moments with five folds. (Ex. 1, Prop. 2, Cor. 1)",
                samples_words(is_by_table(scenario, prepared.people.private)),
                "Noise is drawn for each person alone, independently of all others, so samples or folds without a "
                "person in common have independent noise; nobody's value is shown twice. (footnote on three samples)",
                "Intervals are Normal, from the private influence function; no resampling. (Thm 2, Cor. 1)",
                "Ranges, categories and the noise law are public settings, never read off the private column. "
                "(locally private inference §3)",
            ),
            extra=self.spent(scenario, prepared, rungs),
            runs=1,
            complete=whole_ladder,
        )
        outside = outside_words(result, rungs)
        return replace(result, notes=(*result.notes, Note(outside))) if outside else result

    def spent(self, scenario: PrivateEffectScenario, prepared: Prepared, rungs: Sequence[Rung]) -> dict[str, Any]:
        """List what a table of the visitor's has released; without a finite ε, its total-variation level stands as δ.

        Total-variation privacy at level α is (0, α)-privacy. (Def 1, Def 2)
        """
        out: dict[str, Any] = {
            "shown": Shown(
                prepared.people.n,
                prepared.people.truth,
                prepared.unadjusted.value,
                prepared.opened.value,
                prepared.own_rung.trimmed_shown,
                tuple((rung.keep, rung.level) for rung in rungs if rung.level in VERDICTS[1:]),
                prepared.same_outcome,
            )
        }
        if isinstance(scenario.data, EffectTable) and scenario.keep < 1:
            has_epsilon = math.isfinite(prepared.epsilon)
            out["answers"] = (
                PrivateAnswer(
                    prepared.people.name,
                    listed(scenario.private),
                    f"one release at α = {scenario.keep:g}, noise over {facts_text(prepared.people)}",
                    LocalDP(prepared.epsilon) if has_epsilon else LocalDP(0.0, scenario.keep),
                    scenario.seed,
                ),
            )
        return out

    def words(
        self,
        scenario: PrivateEffectScenario,
        prepared: Prepared,
        own: Estimate,
        opened: Estimate,
        worth: float,
        naive: Estimate | None,
    ) -> str:
        """Say what the numbers show."""
        value, around = interval_words(own)
        what = plain_markdown(f"{scenario.treatment} on {scenario.outcome}")
        name = effects.TARGET_WORDS[scenario.target]
        if prepared.same_outcome:
            return (
                f"With **{effects.keep_words(scenario.keep)}**, the {name} of {what} is **0**, as it is without noise "
                "and with noise ignored: outcomes are in the clear, and all "
                f"{prepared.people.n:,} people here have the same one. So no effective number of people can be given, "
                "and nothing is learnt about other people. Choose an outcome that differs from person to person."
            )
        first = (
            f"With **{effects.keep_words(scenario.keep)}**, the {name} of {what} is **{value}** "
            f"({around}) from {prepared.people.n:,} people, who tell as much as "
            f"{effects.people_words(round(worth)) if math.isfinite(worth) else 'an unknown number'} with open data. "
        )
        if prepared.people.truth is not None:
            inside = own.covers(prepared.people.truth)
            second = f"The true effect is {significant(prepared.people.truth)}" + (
                ", inside the interval. "
                if inside
                else ", outside this interval, which happens once in twenty draws. "
                if own.has_interval
                else ". "
            )
        else:
            second = f"Without noise it would be {significant(opened.value)} (not private). "
        third = ""
        if naive is not None:
            missed = prepared.people.truth if prepared.people.truth is not None else opened.value
            where = "misses it" if naive.has_interval and not naive.covers(missed) else "holds it here"
            third = (
                f"Taking shown values for true ones gives {significant(naive.value)} with an interval that {where}: "
                + (
                    f"as α falls it slides to the unadjusted contrast, {significant(prepared.unadjusted.value)}."
                    if not scenario.public
                    else "as α falls it slides to what the public columns alone would give."
                )
            )
        return first + second + third

    def notes(
        self, scenario: PrivateEffectScenario, prepared: Prepared, guard: Guard | None, rungs: Sequence[Rung]
    ) -> tuple[Note, ...]:
        """Say what is protected, what was drawn, and what a reader must know."""
        out = []
        if guard is not None and guard.level in ("red", "refused"):
            out.append(Note(guard.sentence, "warning", effects.GUARD_TITLES[guard.level]))
        elif guard is not None and guard.level == "amber":
            out.append(Note(guard.sentence, title=effects.GUARD_TITLES["amber"]))
        own_table = isinstance(scenario.data, EffectTable)
        if own_table:
            out.append(
                Note(
                    "This app sees the true private values and swaps them here: it plays the curator, which people's "
                    "own devices would do in earnest. The estimates at α = 1 and every rung above your α are **not "
                    "private**; use them to choose α, do not publish them.",
                    "not-private",
                    "The app sees the raw column",
                )
            )
        levels = effects.LEVEL_IS_NOT_EPSILON + (f" {effects.CONTINUOUS_LEAK}" if prepared.continuous else "")
        if not prepared.continuous and math.isfinite(prepared.epsilon):
            levels += f" For these categories ε = {significant(prepared.epsilon)} holds as well, person by person."
        out.append(Note(f"{effects.ONE_COLUMN} {levels}", title="What is protected"))
        out.append(
            Note(
                f"The noise was drawn once for seed {scenario.seed}, these people, these private columns and their "
                "public facts, and kept; all estimates, whatever the outcome or the treatment, use it, and all rungs "
                "share its coins. So publish a release at one level only: two levels side by side would show who kept "
                "the true value. Another seed draws again, and averaging over seeds would take the noise off.",
                title="One draw, kept",
            )
        )
        if own_table and not math.isfinite(prepared.epsilon):
            out.append(Note(plain_markdown(bill_words(scenario, prepared)), title="Privacy spent: no finite ε"))
        guard_sentence = guard.sentence if guard is not None else ""
        said = [
            note for note in prepared.notes if note != guard_sentence and not note.startswith("The noise was drawn")
        ]
        if prepared.people.notes:
            out.append(Note(plain_markdown(" ".join(prepared.people.notes)), title="How the table was read"))
        if said:
            out.append(Note(plain_markdown(" ".join(dict.fromkeys(said))), title="About this analysis"))
        few = few_words(rungs)
        if few:
            out.append(Note(few, title="Levels with few people"))
        return tuple(out)

    def formulas(self, scenario: PrivateEffectScenario, prepared: Prepared) -> tuple[Formula, ...]:
        """Write the target, the private score and the interval with the current numbers."""
        keep, n, same = scenario.keep, prepared.people.n, prepared.same_outcome
        own, opened = prepared.own, prepared.opened
        target = r"\chi=E\{\mu(1,X)-\mu(0,X)\}" if scenario.target == "ate" else r"\chi=E\{\mu(1,X)-\mu(0,X)\mid D=1\}"
        score = (
            r"\frac D\pi(Y-\mu_1)-\frac{1-D}{1-\pi}(Y-\mu_0)+\mu_1-\mu_0"
            if scenario.target == "ate"
            else r"\frac{D}{p_1}(Y-\mu_0)-\frac{1-D}{p_1}\frac{\pi}{1-\pi}(Y-\mu_0)"
        )
        out = [
            Formula("What is estimated", target, "", "exact", "Ex. 2" if scenario.target == "ate" else "Ex. 3"),
            Formula(
                "Score without noise",
                r"\check\chi_0=" + score,
                "",
                "exact",
                "Prop. 1" + ("" if scenario.target == "ate" else "; sign of the last term corrected (E1)"),
            ),
            nuisances(scenario, prepared),
            Formula(
                "Score from what is shown",
                r"\psi_i=\frac1\alpha\check\chi_0(V_i,Z_i)-\frac{1-\alpha}\alpha\int\check\chi_0(V_i,x)\,\bar Q(dx)",
                rf"\alpha={keep:g}:\quad\tfrac1\alpha={1 / keep:.4g},\ \tfrac{{1-\alpha}}\alpha={1 / keep - 1:.4g}",
                "exact",
                "(19), Thm 2",
            ),
            Formula(
                "Estimate and interval",
                r"\hat\chi=\frac1n\sum_i\psi_i,\qquad\hat\chi\pm1.96\,\hat\sigma/\sqrt n",
                rf"n={n:,}:\quad{own.value:.5g}"
                + (rf"\pm1.96\cdot{own.std_error:.4g}" if own.has_interval else r"\ \text{, no interval}"),
                "exact",
                "Cor. 1, large samples",
            ),
            Formula(
                "Effective number of people",
                r"n_{\mathrm{eff}}=n\,\frac{\sigma^2(1)}{\sigma^2(\alpha)}",
                r"\text{not defined: all outcomes are equal, so }\sigma(1)=0"
                if same
                else rf"{n:,}\cdot\left(\frac{{{opened.std_error:.4g}}}{{{own.std_error:.4g}}}\right)^2"
                if own.has_interval
                else "",
                "exact",
                "locally private inference §1.6, with estimated variances",
            ),
        ]
        if own.guard is not None:
            out.append(
                Formula(
                    "Small-sample rule",
                    r"\kappa\ge90\ \text{green},\ \ge30\ \text{amber},\ \ge10\ \text{red, else no interval}",
                    rf"\kappa={own.guard.kappa:.3g}",
                    "heuristic",
                    "locally private inference §2.7",
                )
            )
        return tuple(out)

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the estimates, people, overlap or trimmed shares."""
        scenario: Any = result.scenario
        x = Axis("keep probability α", "log", ends=("more private", "more accurate"), symbol="α", low=0.095, high=1.0)
        here = (scenario.keep, f"your α = {scenario.keep:g}")
        if scenario.keep < 0.1:
            x = Axis("keep probability α", "log", ends=("more private", "more accurate"), symbol="α")
        if view == "people":
            return self.people_chart(result, x, here)
        if view == "overlap":
            return self.overlap_chart(result)
        if view == "trimmed":
            return self.trimmed_chart(result, x, here)
        return self.effect_chart(result, x, here)

    def effect_chart(self, result: Result, x: Axis, here: tuple[float, str]) -> Chart:
        """Describe private and naive estimates with their intervals."""
        scenario: Any = result.scenario
        shown: Shown = result.extra["shown"]
        marks: list[Any] = []
        rows = result.series(PRIVATE, PANELS["effect"])
        keeps, y = rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64)
        low, high = rows["low"].to_numpy(dtype=np.float64), rows["high"].to_numpy(dtype=np.float64)
        naive = result.series(NAIVE, PANELS["effect"])
        bottom, top = effect_range(result, shown, scenario.keep)
        sure = np.isfinite(low)
        if sure.any():
            marks.append(Spread("private", keeps[sure], low[sure], high[sure], "95% interval", "light", "95% interval"))
        if len(naive):
            ends = [naive[name].to_numpy(dtype=np.float64) for name in ("low", "high")]
            at = naive["x"].to_numpy(dtype=np.float64)
            marks += [
                Spread("attacker", at, ends[0], ends[1], "95% interval, noise ignored", "light"),
                Line(
                    "attacker", at, naive["y"].to_numpy(dtype=np.float64), NAIVE, "noise<br>ignored",
                    hover="noise ignored: {y}",
                ),
            ]  # fmt: skip
        inside = np.where((y >= bottom) & (y <= top), y, np.nan)
        marks.append(Line("private", keeps, inside, PRIVATE, "private", main=True, markers=True, hover="private: {y}"))
        marks += warned_marks(shown, keeps, inside)
        if shown.truth is None:
            marks.append(
                Line(
                    "non-private",
                    np.array([keeps[0], 1.0]),
                    np.array([shown.opened, shown.opened]),
                    OPEN,
                    "without noise,<br>not private",
                    hover="without noise (not private): {y}",
                )
            )
        lines: list[tuple[float, str]] = [(shown.unadjusted, "unadjusted contrast")]
        if shown.truth is not None:
            lines.append((shown.truth, "true effect"))
        return Chart(
            f"{effects.TARGET_WORDS[scenario.target].capitalize()} of {short(scenario.treatment)} on "
            f"{short(scenario.outcome)}",
            "bands: 95% intervals, from one draw of noise",
            x,
            Axis("effect", "linear", bottom, top),
            (Panel(tuple(marks), here=here, level_lines=tuple(lines)),),
        )

    def people_chart(self, result: Result, x: Axis, here: tuple[float, str]) -> Chart:
        """Describe how many people with open data would tell as much."""
        shown: Shown = result.extra["shown"]
        rows = result.series(WORTH, PANELS["people"])
        keeps, worth = rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64)
        return Chart(
            f"What {shown.people:,} people are worth",
            "no number: everybody has the same outcome" if shown.same_outcome else "people with open data, log scale",
            x,
            Axis("people", "log", unit="people"),
            (
                Panel(
                    (
                        Line(
                            "private",
                            keeps,
                            worth,
                            WORTH,
                            "tell as much",
                            main=True,
                            markers=True,
                            hover="as much as {y} people with open data",
                        ),
                        *warned_marks(shown, keeps, worth),
                    ),
                    here=here,
                    level_lines=((float(shown.people), "all of them"),),
                ),
            ),
        )

    def overlap_chart(self, result: Result) -> Chart:
        """Describe fitted chances of treatment at what is shown, in both arms."""
        shown: Shown = result.extra["shown"]
        marks = tuple(
            Bars(
                role,  # type: ignore[arg-type]
                rows["x"].to_numpy(dtype=np.float64),
                rows["y"].to_numpy(dtype=np.float64),
                name,
                name,
                hover=f"{name}: {{y}} of them",
            )
            for name, role in ((TREATED, "private"), (UNTREATED, "upper bound"))
            for rows in (result.series(name, PANELS["overlap"]),)
        )
        return Chart(
            "Who could have been in either group?",
            f"share of each group; {percent(_zero(shown.trimmed))} have an extreme chance",
            Axis("fitted chance of treatment, at what is shown", "linear", 0.0, 1.0, symbol="chance"),
            Axis("share of the group", "linear", low=0.0),
            (Panel(marks),),
        )

    def trimmed_chart(self, result: Result, x: Axis, here: tuple[float, str]) -> Chart:
        """Describe shares of shown values and of the noise with an extreme fitted chance of treatment."""
        marks = tuple(
            Line(
                role,  # type: ignore[arg-type]
                rows["x"].to_numpy(dtype=np.float64),
                rows["y"].to_numpy(dtype=np.float64),
                name,
                label,
                markers=True,
                hover=f"{name}: {{y}}",
            )
            for name, role, label in ((SHOWN, "private", "shown values"), (NOISE, "local", "under the<br>noise"))
            for rows in (result.series(name, PANELS["trimmed"]),)
        )
        return Chart(
            "How much had to be trimmed",
            "share with an extreme chance of treatment",
            x,
            Axis("share", "linear", 0.0, max(0.1, 1.1 * max(float(np.nanmax(mark.y)) for mark in marks))),
            (Panel(marks, here=here),),
        )


COLUMNS = ["series", "x", "y", "std_error", "low", "high", "panel"]


def estimate_rows(name: str, keeps: FloatArray, found: FloatArray) -> pd.DataFrame:
    """Lay estimates (rows of value, standard error, ends of the interval) out as rows."""
    return tidy([(name, keeps, found[:, 0], found[:, 1])], panel=PANELS["effect"]).assign(
        low=found[:, 2], high=found[:, 3]
    )


MOST_HEIGHT = 2.2
"""Wide intervals at small α may make the chart of effects so many times as high as it is from the visitor's α on."""


def effect_range(result: Result, shown: Shown, keep: float) -> tuple[float, float]:
    """Choose what the y axis spans: all from the visitor's α on, and below it whole intervals while they fit."""
    rows = result.frame[result.frame["panel"] == PANELS["effect"]]
    near = rows[(rows["x"] >= 0.99 * min(keep, 0.5)) | (rows["series"] == NAIVE)]
    values = np.concatenate([near[name].to_numpy(dtype=np.float64) for name in ("y", "low", "high")])
    values = np.append(values[np.isfinite(values)], [shown.unadjusted])
    if shown.truth is not None:
        values = np.append(values, [shown.truth])
    low, high = float(values.min()), float(values.max())
    most = MOST_HEIGHT * (high - low)
    # wider intervals too, from the narrowest on, as long as they leave the rest readable
    rest = rows[rows["low"].notna() & rows["high"].notna()].sort_values("x", ascending=False)
    for bottom, top in zip(rest["low"].tolist(), rest["high"].tolist(), strict=True):
        if max(high, top) - min(low, bottom) > most:
            break
        low, high = min(low, bottom), max(high, top)
    if not high - low > 1e-9 * max(abs(low), abs(high)):  # one flat line: an axis about it
        return low - 1.0, high + 1.0
    pad = 0.08 * (high - low)
    return low - pad, high + pad


def nuisances(scenario: PrivateEffectScenario, prepared: Prepared) -> Formula:
    """List the parts that are fitted before scores are averaged: r, μ, γ, p and e ((21))."""
    title, regression = "What is fitted first: r, μ, γ, p, e", r"\mu_d(x)=E(Y\mid D=d,X=x)"
    if scenario.target == "ate":
        return Formula(
            title,
            r"r=\frac D\pi-\frac{1-D}{1-\pi},\quad " + regression + r",\quad\gamma,p:\text{ none},\quad "
            r"e=E\,\partial_\gamma f=0",
            r"f=\mu_1-\mu_0\text{ holds no }\gamma,\text{ so only }r\text{ and }\mu\text{ are fitted}",
            "exact",
            "(21), Ex. 2",
        )
    share = prepared.treated_share
    return Formula(
        title,
        r"r=\frac1\gamma\Big\{D-(1-D)\frac\pi{1-\pi}\Big\},\quad " + regression + r",\quad\gamma=p_1=E\,D,\quad "
        r"p=1,\quad e=E\,\partial_\gamma f=-\frac\chi{p_1}",
        rf"\hat\gamma={share:.4g},\quad p=1\text{{ (everybody counts in }}\gamma),\quad "
        rf"\hat e=-\frac{{{prepared.own.value:.4g}}}{{{share:.4g}}}={-prepared.own.value / share:.4g}",
        "exact",
        "(21), Ex. 3",
    )


def samples_words(by_table: bool) -> str:
    """Say which people feed which estimate, against the three samples of the source (sample table)."""
    three = (
        "The source takes three separate samples: one is averaged over, the second gives r, μ, γ and p, the third e. "
    )
    here = (
        "Here all three are the same people: with categories the fitted scores average to the plug-in, so nothing has "
        "to be split. (sample table; Prop. 4)"
        if by_table
        else "Here each of five folds is averaged over in turn, with r and μ fitted on the other four; γ and p are "
        "shares of all people, and dividing by them spares e. Taking turns keeps the variance at σ²/n, where three "
        "samples used once would have three times that. (sample table; §2.5)"
    )
    return three + here


def bill_words(scenario: PrivateEffectScenario, prepared: Prepared) -> str:
    """Say what a release costs the people of a table where no finite ε holds."""
    if scenario.keep >= 1:
        return "At α = 1 the private columns are shown as they are: nothing about them is protected."
    numeric = [f"“{name}”" for name, kind in prepared.people.private.items() if isinstance(kind, Numbers)]
    return (
        f"The numbers in {listed(numeric)} are swapped on a continuous scale, so one release has no finite ε. What "
        f"holds is the total-variation level α = {scenario.keep:g}: one person's private values change the chance of "
        f"anything that is seen by at most {scenario.keep:g}. The bill writes this as ε = 0 with δ = "
        f"{scenario.keep:g}, which is no small price: δ is the chance that the true values are shown. The δ of "
        "further draws add up, and at 1 nothing is protected."
    )


def at_levels(keeps: Sequence[float]) -> str:
    """Write keep probabilities as a place in a sentence."""
    return f"α = {listed([f'{keep:g}' for keep in keeps])}"


def warned_marks(shown: Shown, keeps: FloatArray, y: FloatArray) -> tuple[Points, ...]:
    """Draw a ring around each number of a curve that the small-sample rule warns of; nothing where it warns of none."""
    told = dict(shown.verdicts)
    at = np.array([float(keep) in told for keep in keeps]) & np.isfinite(y)
    if not at.any():
        return ()
    return (
        Points(
            "private",
            keeps[at],
            y[at],
            WARNED,
            hover=f"ring: {WARNED}",
            open=True,
            size=16,
        ),
    )


def few_words(rungs: Sequence[Rung]) -> str:
    """Say at which keep probabilities the people are too few, and what the page leaves out there; empty if nowhere."""
    failed = [rung.keep for rung in rungs if math.isnan(rung.private[0])]
    refused, red, amber = (
        [rung.keep for rung in rungs if rung.level == level and rung.keep not in failed]
        for level in ("refused", "red", "amber")
    )
    out = []
    if failed:
        out.append(f"At {at_levels(failed)} these people are too few for any estimate, so the curves have gaps there.")
    if refused:
        noisy = [keep for keep in refused if keep < 1]
        few = "there are too few people in the smallest group"
        why = f"At {at_levels(noisy)} there are too few people for this much noise" if noisy else f"At α = 1 {few}"
        if noisy and len(noisy) < len(refused):
            why += f", and at 1, without noise, {few}"
        out.append(
            f"{why}, so no interval is given: the band and “In people” leave that out, and the table's ± is empty."
        )
    if red:
        out.append(f"At {at_levels(red)} there are very few: the interval may be unreliable.")
    if amber:
        out.append(f"At {at_levels(amber)} there are few: expect a bias of up to one standard error.")
    if refused or red or amber:
        out.append("Rings in the charts mark these levels.")
    return " ".join(out)


def outside_words(result: Result, rungs: Sequence[Rung]) -> str:
    """Say which estimates the chart leaves out since they lie far beyond the rest; empty if it shows all."""
    scenario: Any = result.scenario
    bottom, top = effect_range(result, result.extra["shown"], scenario.keep)
    far = [rung for rung in rungs if math.isfinite(rung.private[0]) and not bottom <= rung.private[0] <= top]
    if not far:
        return ""
    found = [f"{significant(rung.private[0])} at α = {rung.keep:g}" for rung in far]
    ending = "it is in the table." if len(far) == 1 else "they are in the table."
    verb = "lies" if len(far) == 1 else "lie"
    return (
        f"The chart leaves out the private estimate{'s' if len(far) > 1 else ''} {listed(found)}, which {verb} far "
        f"beyond the others; {ending}"
    )


def interval_words(estimate: Estimate) -> tuple[str, str]:
    """Write an estimate and its interval, both to the digits that the standard error supports.

    Examples
    --------
    >>> interval_words(Estimate.normal(48.237, 3.2, records=10, target="ATE", method="plug-in"))
    ('48.2', '42.0 to 54.5')
    """
    if not estimate.has_interval:
        return significant(estimate.value), "no interval"
    digits = max(0, 1 - math.floor(math.log10(max(estimate.std_error, 1e-12))))
    if digits > 6:
        return significant(estimate.value), "exactly"
    text = [f"{number:,.{digits}f}".replace("-", "−") for number in (estimate.value, estimate.low, estimate.high)]
    return text[0], f"{text[1]} to {text[2]}"


def signed(value: float) -> str:
    """Write a difference with its sign."""
    return f"+{significant(value, 2)}" if value > 0 else significant(value, 2)


def short(name: str) -> str:
    """Shorten a column name for a chart's title."""
    return name if len(name) <= 24 else f"{name[:23]}…"


def _zero(value: float) -> float:
    return value if math.isfinite(value) else 0.0


__all__ = [
    "EffectTable",
    "PrivateEffect",
    "PrivateEffectScenario",
    "TrainingProgramme",
    "read_facts",
]
