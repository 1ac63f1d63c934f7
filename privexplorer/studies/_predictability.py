"""What the predictability studies share: field types, synthetic populations, the visitor's own table, and words.

Spec predictability, sections 1, 7 ("Reading") and 8.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.data import TableChoice, Tables, read_rows, resolve
from privexplorer.errors import DataError, ParameterError
from privexplorer.records import Number, Record, field
from privexplorer.studies.result import Note
from privexplorer.studies.words import plain_markdown, too_few_rows

# --- field types ---------------------------------------------------------------------------------------------

CompromisedFraction = Annotated[
    float,
    Number,
    Field(
        gt=0,
        lt=1,
        title="Compromised fraction α",
        description="Share of the people whose records the attacker already holds.",
        json_schema_extra={
            "key": "compromised", "group": "Attacker", "scale": "log", "low": 0.01, "high": 0.9,
        },
    ),
]  # fmt: skip
"""α, drawn as a slider; set a default in the scenario."""

NoiseLevel = Annotated[
    float,
    Number,
    Field(
        ge=0,
        le=1e9,
        title="Noise σ",
        description="Standard deviation of the noise on every published number, in its unit; 0 publishes it exactly.",
        json_schema_extra={"key": "noise", "group": "Privacy", "scale": "log", "low": 0.001, "high": 100.0},
    ),
]
"""σ of equal Gaussian noise; the slider starts above 0, a link or file may say 0."""

PopulationSize = Annotated[
    int,
    Number,
    Field(
        ge=20,
        le=1_000_000,
        title="People N",
        description="How many people the table holds.",
        json_schema_extra={"key": "people", "group": "Data", "scale": "log", "low": 100, "high": 100_000},
    ),
]

NoiseScaleChoice = Annotated[
    Literal["release", "paper"],
    Field(
        title="How the noise is counted",
        description=(
            "One draw of noise is shared by all the attacker's records, so it does not average out: counted as "
            "released, it protects far better than printed. The printed formula counts a fresh draw per record and "
            "asks for √ν times as much noise (ν about the number of leaked records)."
        ),
        json_schema_extra={
            "key": "scale",
            "group": "Privacy",
            "titles": {"release": "As released (corrected)", "paper": "As printed in the paper"},
            "advanced": True,
        },
    ),
]
"""Erratum E1; the default of a scenario is ``"release"``."""

LossChoice = Annotated[
    Literal["squared", "log"],
    Field(
        title="Attacker's loss",
        description=(
            "How the attacker's answer is scored: by its squared error, or by log loss in nats, which needs a question "
            "answered by yes or no."
        ),
        json_schema_extra={
            "key": "loss",
            "group": "Attacker",
            "titles": {"squared": "Squared error", "log": "Log loss (yes/no questions)"},
            "advanced": True,
        },
    ),
]

FRACTIONS: tuple[float, ...] = (
    0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9,
)  # fmt: skip
"""Compromised fractions that are simulated: all steps of the slider, and what a curve over them needs."""


# --- populations ---------------------------------------------------------------------------------------------

ColumnsOf: TypeAlias = dict[str, NDArray[Any]]


class Population(Record):
    """A synthetic population: the same choices give the same people, whatever the seed of a study."""

    public: ClassVar[Mapping[str, tuple[float, float]]] = {}
    """Public bounds of columns, known without looking at the people."""
    sensitive: ClassVar[tuple[str, ...]] = ()
    """Prepared questions."""

    def table(self) -> ColumnsOf:
        """Return the columns, one value per person."""
        raise NotImplementedError

    def column_kinds(self) -> dict[str, str]:
        """Return the columns and their kinds, for the form."""
        raise NotImplementedError

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return public bounds of the columns."""
        return dict(self.public)

    def questions(self) -> tuple[str, ...]:
        """Return prepared sensitive questions, as conditions."""
        return self.sensitive


class Clinic(Population):
    """Patients of an invented clinic."""

    kind: Literal["clinic"] = "clinic"
    title: ClassVar[str] = "An invented clinic"
    formula: ClassVar[str] = r"\text{pressure}=104+0.5\,(\text{age}-50)+s\,\text{smoker}+\dots"
    source: ClassVar[str] = "made for this page"
    kinds: ClassVar[Mapping[str, str]] = {
        "age": "number",
        "weight": "number",
        "pressure": "number",
        "cost": "number",
        "visits": "count",
        "smoker": "binary",
        "diabetic": "binary",
        "ward": "category",
    }
    public: ClassVar[Mapping[str, tuple[float, float]]] = {
        "age": (0.0, 100.0),
        "weight": (30.0, 200.0),
        "pressure": (60.0, 240.0),
        "cost": (0.0, 20_000.0),
        "visits": (1.0, 50.0),
        "smoker": (0.0, 1.0),
        "diabetic": (0.0, 1.0),
    }
    sensitive: ClassVar[tuple[str, ...]] = (
        "pressure > 140",
        "diabetic = 1",
        "smoker = 1",
        "smoker = 1 and pressure > 140",
        'ward = "east"',
    )
    people: PopulationSize = 2_000
    smoking: Annotated[float, Number] = field(
        12.0,
        "Smoking raises the pressure by, mmHg",
        "How strongly smoking shows in the blood pressure: larger makes the question about smokers easier.",
        key="smoking",
        ge=0,
        le=60,
        advanced=True,
    )

    def column_kinds(self) -> dict[str, str]:
        """Return the columns and their kinds."""
        return dict(self.kinds)

    def table(self) -> ColumnsOf:
        """Return the patients."""
        n, rng = self.people, np.random.default_rng([3, 20])
        # one draw per person and column, so that a larger clinic starts with the patients of a smaller one
        draws = rng.standard_normal((n, 8))
        age = np.clip(np.round(52 + 17 * draws[:, 0]), 18, 95)
        weight = np.clip(np.round(78 + 13 * draws[:, 1], 1), 40, 180)
        smoker = (draws[:, 2] - 0.01 * (age - 52) > 0.67).astype(np.float64)
        pressure = 122 + 0.45 * (age - 52) + 0.35 * (weight - 78) + self.smoking * smoker + 9 * draws[:, 3]
        pressure = np.clip(np.round(pressure), 70, 230)
        score = 0.045 * (weight - 78) + 0.035 * (age - 52) + 0.9 * draws[:, 4]
        diabetic = (score > 1.35).astype(np.float64)
        cost = np.exp(6.6 + 0.013 * (age - 52) + 0.5 * diabetic + 0.35 * smoker + 0.75 * draws[:, 5])
        visits = np.clip(np.round(1 + 3 * np.exp(0.7 * draws[:, 6] + 0.4 * diabetic)), 1, 50)
        wards = np.array(["north", "east", "south", "west"])
        ward = wards[np.searchsorted([-0.6, 0.1, 0.8], draws[:, 7] + 0.012 * (age - 52))]
        return {
            "age": age,
            "weight": weight,
            "pressure": pressure,
            "cost": np.clip(np.round(cost), 10, 20_000),
            "visits": visits,
            "smoker": smoker,
            "diabetic": diabetic,
            "ward": ward,
        }


class LinearPopulation(Population):
    """Features, an outcome that is linear in them, and a secret yes or no."""

    kind: Literal["linear"] = "linear"
    title: ClassVar[str] = "A linear model"
    formula: ClassVar[str] = r"y=\beta^\top x+\eta,\quad \text{secret}=1\{c\,\eta+\sqrt{1-c^2}\,z>0\}"
    source: ClassVar[str] = "spec predictability §7, setting B, and own"
    people: PopulationSize = 2_000
    dimension: Annotated[int, Number] = field(
        3, "Features d", "How many features the outcome depends on.", key="d", ge=1, le=20
    )
    correlation: Annotated[float, Number] = field(
        0.6,
        "Correlation of secret and residual",
        "How strongly the secret shows in what the model does not explain.",
        key="corr",
        ge=-1,
        le=1,
    )
    tail: Literal["normal", "heavy"] = field(
        "normal",
        "Tails",
        "Heavy tails make a real attacker's estimates rougher.",
        key="tail",
        titles={"normal": "Normal", "heavy": "Heavy (t, 5 degrees of freedom)"},
    )
    stretch: Annotated[float, Number] = field(
        1.0,
        "Stretch of the first feature",
        "Its spread, next to 1 for the others: its coefficient is then known that much better.",
        key="stretch",
        ge=0.01,
        le=100,
        advanced=True,
    )

    def names(self) -> tuple[str, ...]:
        """Return the names of the features."""
        return tuple(f"x{place + 1}" for place in range(self.dimension))

    def column_kinds(self) -> dict[str, str]:
        """Return the columns and their kinds."""
        numbers = dict.fromkeys((*self.names(), "y"), "number")
        return numbers | {"secret": "binary", "weight": "number", "group": "category"}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return public bounds: values are clipped to them."""
        known = {name: (-8.0, 8.0) for name in (*self.names(), "y")}
        wide = 8.0 * self.stretch
        return known | {"x1": (-wide, wide), "secret": (0.0, 1.0), "weight": (0.01, 100.0)}

    def questions(self) -> tuple[str, ...]:
        """Return prepared questions."""
        return ("secret = 1", "y > 1", "y * x1 > 0.5", "secret = 1 and x1 > 0", "x1 > 1")

    def table(self) -> ColumnsOf:
        """Return the people."""
        n, d, rng = self.people, self.dimension, np.random.default_rng([3, 36])
        heavy = self.tail == "heavy"

        def draw() -> FloatArray:
            normal = rng.standard_normal(n)
            square = rng.chisquare(5, n)
            return np.asarray(normal * np.sqrt(3.0 / square) if heavy else normal)

        rest, other, score, member = draw(), rng.standard_normal(n), rng.standard_normal(n), rng.random(n)
        features = [np.clip(draw(), -8.0, 8.0) for _ in range(d)]
        slopes = [(-1.0) ** place / (1.0 + 0.5 * place) for place in range(d)]
        y = rest.copy()
        for slope, x in zip(slopes, features, strict=True):
            y += slope * x
        features[0] = self.stretch * features[0]  # after y: the coefficient shrinks as the feature grows
        secret = self.correlation * rest + np.sqrt(1.0 - self.correlation**2) * other > 0
        return {
            **dict(zip(self.names(), features, strict=True)),
            "y": np.clip(y, -8.0, 8.0),
            "secret": secret.astype(np.float64),
            "weight": np.clip(np.exp(0.8 * score), 0.01, 100.0),
            "group": np.array(["a", "b", "c", "d"])[np.searchsorted([0.4, 0.7, 0.9], member)],
        }


class TwentyPeople(Population):
    """The twenty people on whom the formulas are checked by hand."""

    kind: Literal["twenty"] = "twenty"
    title: ClassVar[str] = "Twenty people, to check by hand"
    formula: ClassVar[str] = r"x_1=7i\bmod 11-5,\ x_2=5i\bmod 13-6,\ y=x_1-2x_2+3i\bmod 7-3"
    source: ClassVar[str] = "spec predictability §6, data D20"
    sensitive: ClassVar[tuple[str, ...]] = ("q = 1", "x1 > 0", "x2 > 0", "y > 0")

    def column_kinds(self) -> dict[str, str]:
        """Return the columns and their kinds."""
        return {"x1": "number", "x2": "number", "y": "number", "q": "binary", "weight": "count"}

    def bounds(self) -> dict[str, tuple[float, float]]:
        """Return bounds that follow from the formulas."""
        return {"x1": (-5.0, 5.0), "x2": (-6.0, 6.0), "y": (-20.0, 20.0), "q": (0.0, 1.0), "weight": (1.0, 4.0)}

    def table(self) -> ColumnsOf:
        """Return the people."""
        i = np.arange(1, 21)
        x1, x2, rest = (7 * i) % 11 - 5.0, (5 * i) % 13 - 6.0, (3 * i) % 7 - 3.0
        asked = (x1 + rest > 0).astype(np.float64)
        return {"x1": x1, "x2": x2, "y": x1 - 2 * x2 + rest, "q": asked, "weight": 1.0 + i % 4}


class OwnTable(Record):
    """The visitor's own table, or a bundled one."""

    kind: Literal["table"] = "table"
    title: ClassVar[str] = "A table of your own"
    formula: ClassVar[str] = r"S=(x_1,\dots,x_N)"
    source: ClassVar[str] = "predictability §1.1"
    table: TableChoice = field(TableChoice(data="diabetes"), "Table", "The people, one per row.", key="table")


AnyData: TypeAlias = Clinic | LinearPopulation | TwentyPeople | OwnTable
DataChoice: TypeAlias = Annotated[AnyData, Field(discriminator="kind")]
"""What a select box of data lists; use link key ``data``, which ``column_of="data"`` then names."""


@dataclass(frozen=True, eq=False)
class People:
    """Columns of everybody, with what is publicly known about them.

    Attributes
    ----------
    table : dict of str to array
        Columns, one value per person: numbers, or texts.
    bounds : dict
        Public bounds of columns.
    questions : tuple of str
        Prepared questions.
    title : str
        Name of the table.
    notes : tuple of str
        What was left out.
    is_own : bool
        Whether it is a visitor's or bundled table.
    """

    table: ColumnsOf
    bounds: dict[str, tuple[float, float]]
    questions: tuple[str, ...]
    title: str
    notes: tuple[str, ...] = ()
    is_own: bool = made(default=False)

    @property
    def n(self) -> int:
        """Number of people N."""
        return int(next(iter(self.table.values())).shape[0])


def read_people(data: AnyData, tables: Tables | None, columns: Sequence[str]) -> People:
    """Return the people of a choice of data.

    Parameters
    ----------
    data : record
        Which.
    tables : mapping of str to Source, or None
        Tables at hand.
    columns : sequence of str
        Columns that are needed of a table; rows without one of them are left out.

    Raises
    ------
    DataError
        There is no such column, or no table.
    """
    wanted = tuple(dict.fromkeys(name for name in columns if name))
    if not isinstance(data, OwnTable):
        table = data.table()
        for name in wanted:
            if name not in table:
                known = ", ".join(f"“{other}”" for other in table)
                raise DataError(f"There is no column “{name}” among these people; they have {known}.", field="column")
        return People(table, data.bounds(), data.questions(), data.title)
    rows = read_rows(resolve(data.table, tables), data.table, wanted)
    if rows.n < 20:
        raise DataError(too_few_rows(rows.n, 20), field="data")
    found: ColumnsOf = {name: rows.numbers[name] if name in rows.numbers else rows.texts(name) for name in wanted}
    return People(found, {}, (), rows.title, rows.notes, True)


def check_leaked(compromised: float, people: int, is_shard: bool = True) -> None:
    """Refuse a compromised fraction that leaves too few records on either side (spec predictability, section 9).

    Parameters
    ----------
    compromised : float
        α in (0, 1).
    people : int
        N.
    is_shard : bool
        Whether nobody leaks twice, so that at least two people must be left.

    Raises
    ------
    ParameterError
        Fewer than two records have leaked, or are left.
    """
    step = 10.0 ** (math.floor(math.log10(2 / people)) - 2)
    least = math.ceil(2 / people / step - 1e-9) * step
    leaked, left = compromised * people, (1 - compromised) * people
    if leaked < 2 - 1e-9 or (is_shard and left < 2 - 1e-9):
        few, what = (leaked, "have leaked") if leaked < 2 else (left, "are left")
        allowed = f"lie between {least:g} and {1 - least:g}" if is_shard else f"be at least {least:g}"
        raise ParameterError(
            f"The compromised fraction must {allowed} for {people:,} people, so that at least "
            f"2 records have leaked{' and 2 are left' if is_shard else ''}; with {compromised:g} only {few:.2g} "
            f"{what}.",
            field="compromised",
        )


# --- words ---------------------------------------------------------------------------------------------------

NOT_PRIVATE = "γ itself is computed from the table and not private: use it to choose the noise, do not publish it."
READING = (
    "The realised gain is what an attacker with very many records reaches. A real one must estimate its weights and "
    "gains less, and may gain nothing where r² is below the number of published values over the number of leaked "
    "records: it is an upper reference, not a forecast."
)
PRINTED_LOOSE = (
    "The printed bound holds but is loose: for squared loss it is never less than 4.77 times the realised gain."
)
GAUSSIAN_ONLY = (
    "For noise that is not Gaussian an attacker who knows its shape can do a little better than the value shown."
)
ABOUT_GROUPS = (
    "Differential privacy limits what one record changes; for a group of k people it gives kε, no limit for a large "
    "group. What a release tells about people as a group is what γ measures; neither implies the other."
)
SHARED_NOISE = (
    "All leaked records see the same one draw of noise, so it counts ν times in the formula; the paper prints it once, "
    "which is a valid but much looser bound at the same noise."
)

ASKED_BY_ANY_LEAK = (
    "What the attacker wants to know: about the people who have not leaked, or about everybody where records leak by "
    "draws with replacement."
)
"""Help of a question beside a choice of leaks."""
TARGET_LEFT = "The attacker predicts the mean of the question over the people whose records have not leaked."
TARGET_ALL = (
    "The attacker predicts the mean of the question over everybody: draws with replacement leave nobody out for good, "
    "and the formulas suppose that far fewer records leak than there are people."
)
ASSUMPTIONS = (
    "The attacker knows how the release is computed, how large the noise is and, of the leaked records, everything.",
    "Leaked records are drawn at random as said; the formulas are for large samples, with far more leaked records than "
    "published numbers.",
    TARGET_LEFT,
    READING,
    NOT_PRIVATE,
)

_EQUALS_ONE = re.compile(r"(?<![\w`])([^\W\d]\w*) = 1(?![\w.])")


def question_words(text: str, table: Mapping[str, NDArray[Any]]) -> str:
    """Return a condition as it stands on a chart: ``smoker = 1`` becomes ``smoker`` if smoker is only ever 0 or 1.

    Examples
    --------
    >>> people = {"smoker": np.array([0, 1]), "visits": np.array([1, 4])}
    >>> question_words("smoker = 1 and visits = 1", people)
    'smoker and visits = 1'
    """
    return _EQUALS_ONE.sub(lambda found: found[1] if _is_yes_no(table.get(found[1])) else found[0], text)


def _is_yes_no(values: NDArray[Any] | None) -> bool:
    return values is not None and values.dtype.kind in "buif" and bool(np.isin(values, (0, 1)).all())


def data_notes(people: People) -> tuple[Note, ...]:
    """Return the notes about a table: what was left out, and that numbers are not private."""
    notes = [Note(plain_markdown(sentence), "warning") for sentence in people.notes]
    if people.is_own:
        notes.append(
            Note(
                "These numbers come from your table and are **not private**. Use them to choose the noise; do not "
                "publish them.",
                "not-private",
                "For your eyes only",
            )
        )
    return tuple(notes)


__all__ = [
    "ABOUT_GROUPS",
    "ASKED_BY_ANY_LEAK",
    "ASSUMPTIONS",
    "FRACTIONS",
    "GAUSSIAN_ONLY",
    "NOT_PRIVATE",
    "PRINTED_LOOSE",
    "READING",
    "SHARED_NOISE",
    "TARGET_ALL",
    "TARGET_LEFT",
    "AnyData",
    "Clinic",
    "ColumnsOf",
    "CompromisedFraction",
    "DataChoice",
    "LinearPopulation",
    "LossChoice",
    "NoiseLevel",
    "NoiseScaleChoice",
    "OwnTable",
    "People",
    "Population",
    "PopulationSize",
    "TwentyPeople",
    "check_leaked",
    "data_notes",
    "question_words",
    "read_people",
]
