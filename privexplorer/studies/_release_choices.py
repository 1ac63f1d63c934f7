"""What can be published, asked and leaked, as records that a form draws over the columns of a table.

They turn into the releases, conditions and processes of :mod:`privexplorer.predictability`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.errors import DataError, ParameterError, PrivExplorerError
from privexplorer.privacy.mechanisms.gaussian import gaussian_delta
from privexplorer.records import Number, Record, field
from privexplorer.studies._picked import picked_order
from privexplorer.studies._predictability import AnyData, OwnTable, People, read_people
from privexplorer.studies.words import listed, percent

NUMERIC = ("number", "count", "binary")
ANY = ("number", "count", "binary", "category")
SIGNS = {
    ">": "is above", ">=": "is at least", "<": "is below", "<=": "is at most", "=": "equals", "!=": "is not",
}  # fmt: skip
Sign = Literal[">", ">=", "<", "<=", "=", "!="]
ColumnName = Annotated[str, Field(min_length=1, max_length=400)]
ColumnNames = Annotated[
    tuple[Annotated[str, Field(min_length=1, max_length=400)], ...], Field(min_length=1, max_length=50)
]
TextValue = Annotated[str, Field(max_length=400)]
VALUE_HELP = "A number, or one of the column's texts; left empty: the middle number, or the most frequent text."
DELTA = 1e-6
"""Slack at which the ε of Gaussian noise is quoted."""
MOST_TIED = 0.05
"""Largest share of people at a quantile itself for which it still counts as smooth."""


def column_field(default: Any, title: str, help: str, key: str, kinds: tuple[str, ...] = ANY) -> Any:
    """Declare a column (or columns) of the data of the scenario."""
    return field(default, title, help, key=key, column_of="data", kinds=kinds)


# --- what is published ---------------------------------------------------------------------------------------


class Published(Record):
    """Base of what can be published."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that are needed."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """What it is, as it reads in a sentence: "the mean of pressure"."""
        raise NotImplementedError

    def record(self, table: pr.Table) -> pr.ReleaseRecord:
        """Return the release."""
        raise NotImplementedError


class PublishedMeans(Published):
    """Means of columns."""

    kind: Literal["mean"] = "mean"
    title: ClassVar[str] = "Means"
    formula: ClassVar[str] = pr.Mean.formula
    source: ClassVar[str] = pr.Mean.source
    columns: ColumnNames = column_field(
        ("pressure",), "Published means of", "One mean per column is published.", "columns", NUMERIC
    )

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns."""
        return self.columns

    @property
    def words(self) -> str:
        """Name it."""
        return f"the mean{'s' * (len(self.columns) > 1)} of {listed(self.columns)}"

    def record(self, table: pr.Table) -> pr.ReleaseRecord:
        """Return the release."""
        return pr.Mean(columns=self.columns)


def sign_field(title: str, start: Sign = "=", key: str = "sign") -> Any:
    """Declare how a column is compared; beside a column of numbers the form begins with "greater"."""
    return field(start, title, "How it is compared.", key=key, titles=SIGNS, fresh=(">", "="))


def value_field(title: str, start: str = "1", key: str = "value", column: str = "column") -> Any:
    """Declare the value that a column is compared with."""
    return field(start, title, VALUE_HELP, key=key, fresh=("", ""), value_of=("data", column))


class PublishedCondition(Published):
    """Base of what is published about the people who meet a condition."""

    release: ClassVar[type[pr.Proportion | pr.Count]]
    said: ClassVar[str]

    if TYPE_CHECKING:  # each kind declares them, with its own words
        column: str
        sign: Sign
        value: str

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    @property
    def words(self) -> str:
        """Name it."""
        return f"{self.said} {self.column} {self.sign} {self.value}"

    def record(self, table: pr.Table) -> pr.ReleaseRecord:
        """Return the release."""
        return self.release(condition=compared(table, self.column, self.sign, self.value).text)


class PublishedRate(PublishedCondition):
    """The share of people who meet a condition."""

    kind: Literal["rate"] = "rate"
    title: ClassVar[str] = "A rate"
    formula: ClassVar[str] = pr.Proportion.formula
    source: ClassVar[str] = pr.Proportion.source
    release: ClassVar[type[pr.Proportion | pr.Count]] = pr.Proportion
    said: ClassVar[str] = "the rate of"
    column: ColumnName = column_field("diabetic", "Published: the share of people whose", "A column.", "column")
    sign: Sign = sign_field("compares so")
    value: TextValue = value_field("with")


class PublishedCount(PublishedCondition):
    """The number of people who meet a condition."""

    kind: Literal["count"] = "count"
    title: ClassVar[str] = "A count"
    formula: ClassVar[str] = pr.Count.formula
    source: ClassVar[str] = pr.Count.source
    release: ClassVar[type[pr.Proportion | pr.Count]] = pr.Count
    said: ClassVar[str] = "the number of people with"
    column: ColumnName = column_field("diabetic", "Published: the number of people whose", "A column.", "column")
    sign: Sign = sign_field("compares so")
    value: TextValue = value_field("with")


class PublishedQuantile(Published):
    """A quantile of a column."""

    kind: Literal["quantile"] = "quantile"
    title: ClassVar[str] = "A quantile (approximate)"
    formula: ClassVar[str] = pr.Quantile.formula
    source: ClassVar[str] = pr.Quantile.source
    column: ColumnName = column_field("age", "Published quantile of", "A column of numbers.", "column", NUMERIC)
    level: Annotated[float, Number] = field(
        0.5, "Share of people at or below it", "0.5 is the median.", key="level", gt=0, lt=1
    )

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    @property
    def words(self) -> str:
        """Name it."""
        return f"the {self.level:g} quantile of {self.column}"

    def record(self, table: pr.Table) -> pr.ReleaseRecord:
        """Return the release (ParameterError where too many people have exactly the quantile)."""
        values = table.get(self.column)
        if values is not None and values.dtype.kind in "buif" and len(values):
            at = np.quantile(values, self.level, method="inverted_cdf")
            tied = int(np.sum(values == at))
            if tied > max(1.0, MOST_TIED * len(values)):
                raise ParameterError(
                    f"A quantile of a column with so few different values is not smooth: {percent(tied / len(values))} "
                    f"of the people have exactly the {self.level:g} quantile of “{self.column}”, and the formulas hold "
                    f"up to {percent(MOST_TIED)}; publish a mean or a rate instead.",
                    field="column",
                )
        return pr.Quantile(column=self.column, level=self.level)


class PublishedFormula(Published):
    """The mean of a formula over columns."""

    kind: Literal["formula"] = "formula"
    title: ClassVar[str] = "Mean of a formula"
    formula: ClassVar[str] = pr.Formula.formula
    source: ClassVar[str] = pr.Formula.source
    text: Annotated[str, Field(min_length=1, max_length=1000)] = field(
        "age * visits", "Published: the mean of", "Such as clip(cost, 0, 5000) / visits.", key="text"
    )

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it names."""
        return pr.parse(self.text).columns

    @property
    def words(self) -> str:
        """Name it."""
        return f"the mean of {self.text}"

    def record(self, table: pr.Table) -> pr.ReleaseRecord:
        """Return the release."""
        return pr.Formula(text=self.text)


MODELS = {
    "linear": "Linear",
    "ridge": "Ridge",
    "logistic": "Logistic",
    "logistic-l2": "Logistic with L2 penalty",
    "poisson": "Poisson",
}
Penalty = Annotated[
    float,
    Number,
    Field(
        gt=0,
        le=1e6,
        title="Penalty μ",
        description="For ridge and penalised logistic regression: adds (μ/2)‖w‖² to the mean loss.",
        json_schema_extra={"key": "penalty", "advanced": True},
    ),
]


class PublishedRegression(Published):
    """The coefficients of a fitted model."""

    kind: Literal["regression"] = "regression"
    title: ClassVar[str] = "A regression"
    formula: ClassVar[str] = r"g_i=\nabla_w\ell(z_i,w),\quad J=\frac1N\sum_i\nabla^2_w\ell(z_i,w)"
    source: ClassVar[str] = "predictability, Thm 4.2"
    model: Literal["linear", "ridge", "logistic", "logistic-l2", "poisson"] = field(
        "linear", "Model", "Whose coefficients are published.", key="model", titles=MODELS
    )
    outcome: ColumnName = column_field("pressure", "Outcome", "What is explained.", "outcome", NUMERIC)
    features: ColumnNames = column_field(
        ("age", "weight"), "Features", "What explains it; a constant is added.", "features", NUMERIC
    )
    penalty: Penalty = 0.01
    intercept: bool = field(True, "Intercept", "Add a constant to the features.", key="intercept", advanced=True)

    @property
    def reads(self) -> tuple[str, ...]:
        """Outcome and features."""
        return (self.outcome, *self.features)

    @property
    def words(self) -> str:
        """Name it."""
        return f"a {MODELS[self.model].lower()} regression of {self.outcome} on {listed(self.features)}"

    def record(self, table: pr.Table) -> pr.ReleaseRecord:
        """Return the release."""
        what: dict[str, Any] = {"features": self.features, "target": self.outcome, "intercept": self.intercept}
        if self.model == "linear":
            return pr.LinearRegression(**what)
        if self.model == "logistic":
            return pr.LogisticRegression(**what)
        if self.model == "poisson":
            return pr.PoissonRegression(**what)
        if self.model == "ridge":
            return pr.RidgeRegression(**what, penalty=self.penalty)
        return pr.PenalisedLogisticRegression(**what, penalty=self.penalty)


PublishedChoice: TypeAlias = Annotated[
    PublishedMeans | PublishedRate | PublishedCount | PublishedRegression | PublishedQuantile | PublishedFormula,
    Field(discriminator="kind"),
]
"""What a select box of releases lists."""


# --- what is asked -------------------------------------------------------------------------------------------


def compared(table: pr.Table, column: str, sign: Sign, value: str, is_not: bool = False) -> pr.Expression:
    """Return the condition that a form's clicks mean: numbers compare with numbers, texts with texts.

    Raises
    ------
    ParameterError
        If a column of numbers is compared with a text, or the order of texts is asked for.
    """
    number = column in table and table[column].dtype.kind in "buif"
    with_what: float | str = value
    if not value.strip() and column in table and len(table[column]):
        with_what = usual(table[column])
    elif number:
        with_what = _number(value)
        if not math.isfinite(with_what):
            raise ParameterError(
                f"“{column}” holds numbers, so it must be compared with a number; “{value[:60]}” is none.",
                field="question",
            )
    if not number and sign not in ("=", "!="):
        raise ParameterError(
            f"“{column}” holds texts, which can only equal a value or not; choose “equals” or “is not”.",
            field="question",
        )
    found = pr.comparison(column, sign, with_what)
    return pr.negation(found) if is_not else found


def usual(values: Any) -> float | str:
    """Return the middle number of a column, to six digits, or its most frequent text."""
    if values.dtype.kind in "buif":
        return float(f"{float(np.median(values)):.6g}")
    texts, counts = np.unique(values, return_counts=True)
    return str(texts[int(np.argmax(counts))])


def _number(text: str) -> float:
    try:
        return float(text.strip())
    except ValueError:
        return math.nan


class Question(Record):
    """Base of what can be asked."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that are needed."""
        raise NotImplementedError

    def expression(self, table: pr.Table) -> pr.Expression:
        """Return the question over the table's columns."""
        raise NotImplementedError


class OneCondition(Question):
    """Whether one column compares so with a value."""

    kind: Literal["one"] = "one"
    title: ClassVar[str] = "One condition"
    formula: ClassVar[str] = r"q_i=\mathbb 1\{x_i\ \text{meets the condition}\}"
    source: ClassVar[str] = "predictability §1.1"
    column: ColumnName = column_field("smoker", "Column", "What is asked about.", "column")
    sign: Sign = sign_field("Comparison")
    value: TextValue = value_field("Value")

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def expression(self, table: pr.Table) -> pr.Expression:
        """Return the condition."""
        return compared(table, self.column, self.sign, self.value)


class TwoConditions(Question):
    """Two conditions joined by and, or, with a "not" for each."""

    kind: Literal["two"] = "two"
    title: ClassVar[str] = "Two conditions"
    formula: ClassVar[str] = r"q_i=\mathbb 1\{x_i\in A\cap B\}\ \text{or}\ \mathbb 1\{x_i\in A\cup B\}"
    source: ClassVar[str] = "predictability §1.1"
    column: ColumnName = column_field("smoker", "First column", "What is asked about.", "column")
    sign: Sign = sign_field("First comparison")
    value: TextValue = value_field("First value")
    is_not: bool = field(False, "Not the first", "Ask for the opposite of the first condition.", key="not")
    joined: Literal["and", "or"] = field(
        "and", "Joined by", "Both conditions, or at least one.", key="join", titles={"and": "and", "or": "or"}
    )
    second_column: ColumnName = column_field("pressure", "Second column", "What is asked about.", "column2")
    second_sign: Sign = sign_field("Second comparison", ">", "sign2")
    second_value: TextValue = value_field("Second value", "140", "value2", "column2")
    second_is_not: bool = field(False, "Not the second", "Ask for the opposite of the second condition.", key="not2")

    @property
    def reads(self) -> tuple[str, ...]:
        """Both columns."""
        return (self.column, self.second_column)

    def expression(self, table: pr.Table) -> pr.Expression:
        """Return the joined condition."""
        first = compared(table, self.column, self.sign, self.value, self.is_not)
        second = compared(table, self.second_column, self.second_sign, self.second_value, self.second_is_not)
        return pr.all_of(first, second) if self.joined == "and" else pr.any_of(first, second)


class NumberQuestion(Question):
    """The mean of a column of numbers."""

    kind: Literal["number"] = "number"
    title: ClassVar[str] = "A column of numbers"
    formula: ClassVar[str] = r"q_i=x_i"
    source: ClassVar[str] = "predictability §1.1"
    column: ColumnName = column_field("cost", "Column", "Whose mean the attacker wants.", "column", NUMERIC)

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def expression(self, table: pr.Table) -> pr.Expression:
        """Return the column."""
        quoted = self.column.replace("\\", "\\\\").replace("`", "\\`")
        return pr.parse(f"`{quoted}`")


class TypedQuestion(Question):
    """A condition or formula in words."""

    kind: Literal["typed"] = "typed"
    title: ClassVar[str] = "Typed"
    formula: ClassVar[str] = r"q_i=q(x_i)"
    source: ClassVar[str] = "predictability §1.1"
    text: Annotated[str, Field(min_length=1, max_length=1000)] = field(
        "diabetic = 1 or cost > 3000", "Question", "Such as age >= 65 and not smoker = 1, or cost / visits.", key="text"
    )

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that it names."""
        return pr.parse(self.text).columns

    def expression(self, table: pr.Table) -> pr.Expression:
        """Return what it says."""
        return pr.parse(self.text)


QuestionChoice: TypeAlias = Annotated[
    OneCondition | TwoConditions | NumberQuestion | TypedQuestion, Field(discriminator="kind")
]
"""What a select box of questions lists."""


# --- what has leaked -----------------------------------------------------------------------------------------


class Leak(Record):
    """Base of how records leaked; how many is said by the compromised fraction."""

    @property
    def reads(self) -> tuple[str, ...]:
        """Columns that are needed."""
        return ()

    def process(self, records: int, draws: int, table: pr.Table) -> pr.Process:
        """Return the process with so many draws."""
        raise NotImplementedError


class LeakedShard(Leak):
    """A random share of the people, nobody twice."""

    kind: Literal["shard"] = "shard"
    title: ClassVar[str] = pr.RandomShard.title
    formula: ClassVar[str] = pr.RandomShard.formula
    source: ClassVar[str] = pr.RandomShard.source

    def process(self, records: int, draws: int, table: pr.Table) -> pr.Process:
        """Return the process."""
        return pr.ShardProcess(records, draws / records)


class LeakedDraws(Leak):
    """Independent draws of uniform people."""

    kind: Literal["iid"] = "iid"
    title: ClassVar[str] = pr.IndependentDraws.title
    formula: ClassVar[str] = pr.IndependentDraws.formula
    source: ClassVar[str] = pr.IndependentDraws.source

    def process(self, records: int, draws: int, table: pr.Table) -> pr.Process:
        """Return the process."""
        return pr.IndependentProcess(records, draws)


class BiasedDraws(Leak):
    """Independent draws in which some people are likelier than others."""

    kind: Literal["weighted"] = "weighted"
    title: ClassVar[str] = pr.WeightedDraws.title
    formula: ClassVar[str] = pr.WeightedDraws.formula
    source: ClassVar[str] = pr.WeightedDraws.source
    column: ColumnName = column_field("visits", "More likely with", "A column of numbers above 0.", "column", NUMERIC)
    bias: Annotated[float, Number] = field(
        1.0, "Bias", "Power of the column; 0 is uniform, 1 in proportion.", key="bias", ge=-3, le=3
    )

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def process(self, records: int, draws: int, table: pr.Table) -> pr.Process:
        """Return the process."""
        return pr.WeightedDraws(draws=draws, column=self.column, bias=self.bias).process(records, table)


class StickyDraws(Leak):
    """A walk over groups that stays in a group for a while."""

    kind: Literal["chain"] = "chain"
    title: ClassVar[str] = pr.StickyStrata.title
    formula: ClassVar[str] = pr.StickyStrata.formula
    source: ClassVar[str] = pr.StickyStrata.source
    column: ColumnName = column_field("ward", "Groups", "Column whose values are the groups.", "column", ("category",))
    restart: Annotated[float, Number] = field(
        0.2, "Fresh start", "Chance to leave for a new group at each step; 1 gives independent draws.",
        key="restart", gt=0, le=1,
    )  # fmt: skip

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def process(self, records: int, draws: int, table: pr.Table) -> pr.Process:
        """Return the process."""
        return pr.StickyStrata(draws=draws, column=self.column, restart=self.restart).process(records, table)


class PickedPeople(Leak):
    """People picked by hand: those who meet a condition first, in table order, then the others."""

    kind: Literal["adversary"] = "adversary"
    title: ClassVar[str] = "Picked by hand"
    formula: ClassVar[str] = pr.Adversary.formula
    source: ClassVar[str] = pr.Adversary.source
    column: ColumnName = column_field("smoker", "Picks first those whose", "A column.", "column")
    sign: Sign = field("=", "compares so", "How it is compared.", key="sign", titles=SIGNS, fresh=(">", "="))
    value: TextValue = field("1", "with", VALUE_HELP, key="value", fresh=("", ""), value_of=("data", "column"))

    @property
    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def process(self, records: int, draws: int, table: pr.Table) -> pr.Process:
        """Return the process, people in the order in which they are picked; the first ones are a smaller leak."""
        return pr.FixedProcess(records, self.order(table)[: records - 1])

    def order(self, table: pr.Table, scores: FloatArray | None = None) -> IntArray:
        """Return everybody in the order in which they are picked; scores play no part."""
        return picked_order(compared(table, self.column, self.sign, self.value).evaluate(table))


class HighestScores(Record):
    """People picked by hand: those with the largest numbers in the column of the biased draws."""

    kind: Literal["scores"] = "scores"
    title: ClassVar[str] = "Largest numbers of that column"
    formula: ClassVar[str] = r"C=\{i: s_i\ \text{largest}\}"
    source: ClassVar[str] = pr.Adversary.source

    @property
    def reads(self) -> tuple[str, ...]:
        """No further column."""
        return ()

    def order(self, table: pr.Table, scores: FloatArray) -> IntArray:
        """Return everybody in the order in which they are picked."""
        return picked_order(scores)


class EverybodyButOne(Leak):
    """The worst case of differential privacy: everybody but one person is known."""

    kind: Literal["all-but-one"] = "all-but-one"
    title: ClassVar[str] = pr.AllButOne.title
    formula: ClassVar[str] = pr.AllButOne.formula
    source: ClassVar[str] = pr.AllButOne.source

    def process(self, records: int, draws: int, table: pr.Table) -> pr.Process:
        """Return the process."""
        return pr.AllButOneProcess(records)


LeakChoice: TypeAlias = Annotated[LeakedShard | LeakedDraws | BiasedDraws | StickyDraws, Field(discriminator="kind")]
"""What a select box of attackers lists."""
AnyLeakChoice: TypeAlias = Annotated[
    LeakedShard | LeakedDraws | BiasedDraws | StickyDraws | PickedPeople | EverybodyButOne,
    Field(discriminator="kind"),
]
"""The same with leaks to which no large-sample theory applies."""
HandChoice: TypeAlias = Annotated[HighestScores | PickedPeople, Field(discriminator="kind")]
"""How an attacker picks by hand where attackers are compared."""
UNTHEORIED = (PickedPeople, EverybodyButOne)
"""Leaks to which no large-sample theory applies."""


def size_of(leak: Leak, compromised: float, people: int) -> pr.AttackSize:
    """Return effective size and noise multiplier at a compromised fraction."""
    if isinstance(leak, EverybodyButOne):
        return pr.shard_size(1.0 - 1.0 / people, people)
    if isinstance(leak, LeakedShard | PickedPeople):  # an attacker who picks treats its records as a shard
        return pr.shard_size(compromised, people)
    return pr.sample_attack_size(max(2.0, compromised * people))


# --- checks and public bounds --------------------------------------------------------------------------------

_BOUND = re.compile(
    r"^\s*(.+?)\s*[:=]?\s+([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s+(?:to\s+)?([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*$"
)


def parse_bounds(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return public bounds of columns from texts such as ``bmi 10 80``.

    Raises
    ------
    ParameterError
        If a text is not a name and two numbers, the smaller one first.

    Examples
    --------
    >>> parse_bounds(["bmi 10 80", "blood pressure 40 to 260"])
    {'bmi': (10.0, 80.0), 'blood pressure': (40.0, 260.0)}
    """
    out = {}
    for text in texts:
        found = _BOUND.match(text)
        try:
            if found is None:
                raise ValueError
            low, high = float(found.group(2)), float(found.group(3))
            if not low < high:
                raise ValueError
        except ValueError:
            raise ParameterError(
                "Public bounds are a column's name, its smallest and its largest possible value, such as “bmi 10 80”; "
                f"“{text[:60]}” is not.",
                field="bounds",
            ) from None
        out[found.group(1)] = (low, high)
    return out


TYPED_HINT = (
    'in what you type, texts need quotation marks, such as "east", and names of columns with blanks or commas back '
    "quotes, such as `hours per week`"
)


def is_typed(part: Any) -> bool:
    """Whether a part names its columns in typed text."""
    return isinstance(part, TypedQuestion | PublishedFormula)


def wrong_columns(data: AnyData, columns: Sequence[str], hint: str = "") -> tuple[str, ...]:
    """Return a sentence for the first column that a synthetic population lacks; a table says so when it is read."""
    if isinstance(data, OwnTable):
        return ()
    known = data.column_kinds()
    for name in columns:
        if name not in known:
            shown = listed([f"“{one}”" for one in known])
            return (f"There is no column “{name[:60]}” among these people; they have {shown}{hint and f'; {hint}'}.",)
    return ()


def people_of(data: AnyData, tables: Tables | None, columns: Sequence[str], parts: Sequence[Any]) -> People:
    """Return the people; where a column is not there that a typed part names, say how texts and names are typed.

    Raises
    ------
    DataError
        There is no such column, or no table.
    """
    try:
        return read_people(data, tables, columns)
    except DataError as error:
        typed = [name for part in parts if is_typed(part) for name in part.reads]
        if error.field != "column" or not any(f"“{name}”; " in str(error) for name in typed):
            raise
        raise DataError(f"{str(error).removesuffix('.')}; {TYPED_HINT}.", field="column") from error


def problems_of(data: AnyData, parts: Sequence[Any], bounds: Sequence[str] = ()) -> tuple[str, ...]:
    """Return sentences about what does not go together in releases, questions and attackers."""
    columns: list[str] = []
    typed: list[str] = []
    try:
        parse_bounds(bounds)
        for part in parts:
            (typed if is_typed(part) else columns).extend(part.reads)
    except PrivExplorerError as error:
        return (str(error),)
    return wrong_columns(data, columns) or wrong_columns(data, typed, TYPED_HINT)


def epsilon_of_gaussian(std: float, sensitivity: float, delta: float = DELTA) -> float:
    """Return the ε that Gaussian noise of this size gives at slack δ (analytic Gaussian mechanism), to 6 digits.

    Examples
    --------
    >>> round(epsilon_of_gaussian(4.224679, 1.0), 4)
    1.0
    """
    if std <= 0.0:
        return math.inf
    if gaussian_delta(std, sensitivity, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while gaussian_delta(std, sensitivity, high) > delta:
        low, high = high, 2.0 * high
        if high > 1e6:
            return math.inf
    for _ in range(60):
        middle = 0.5 * (low + high)
        if gaussian_delta(std, sensitivity, middle) > delta:
            low = middle
        else:
            high = middle
    return high


__all__ = [
    "ANY",
    "DELTA",
    "MODELS",
    "MOST_TIED",
    "NUMERIC",
    "SIGNS",
    "TYPED_HINT",
    "UNTHEORIED",
    "AnyLeakChoice",
    "BiasedDraws",
    "EverybodyButOne",
    "HandChoice",
    "HighestScores",
    "Leak",
    "LeakChoice",
    "LeakedDraws",
    "LeakedShard",
    "NumberQuestion",
    "OneCondition",
    "PickedPeople",
    "Published",
    "PublishedChoice",
    "PublishedCount",
    "PublishedFormula",
    "PublishedMeans",
    "PublishedQuantile",
    "PublishedRate",
    "PublishedRegression",
    "Question",
    "QuestionChoice",
    "StickyDraws",
    "TwoConditions",
    "TypedQuestion",
    "column_field",
    "compared",
    "epsilon_of_gaussian",
    "is_typed",
    "parse_bounds",
    "people_of",
    "problems_of",
    "size_of",
    "wrong_columns",
]
