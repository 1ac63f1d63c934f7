"""The base of every record a user can fill in, and the field types that many records share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.errors import ParameterError


class Record(BaseModel):
    """A frozen set of choices, each declared once with its bounds, title, unit and help.

    A record that is one of several kinds (a distribution, a mechanism, an estimator) has a field
    ``kind: Literal["..."] = "..."``, which is its stable name in links and files, and a ``title``,
    which is what people read and may be reworded. ``formula`` (TeX) and ``source`` say what it is.

    Raises
    ------
    ParameterError
        For a bad value: one sentence that says what it may be.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    title: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    source: ClassVar[str] = ""

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise _refusal(type(self), error) from None

    # the records inside a record are then still built by pydantic alone: fast, with all that is wrong told together
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    if not TYPE_CHECKING:  # a type checker then still refuses an assignment itself

        def __setattr__(self, name: str, value: Any) -> None:
            try:
                super().__setattr__(name, value)
            except ValidationError:
                words = "Settings that are made do not change; make new ones with the other value."
                raise ParameterError(words, field=name) from None

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Build a record from plain data.

        Raises
        ------
        ParameterError
            The first problem in one sentence.
        """
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise _refusal(cls, error) from None

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """Build a record from the text of a JSON file.

        Raises
        ------
        ParameterError
            The first problem in one sentence.
        """
        try:
            return super().model_validate_json(json_data, **options)
        except ValidationError as error:
            raise _refusal(cls, error) from None


def _refusal(cls: type[Record], error: ValidationError) -> ParameterError:
    from privexplorer.records._sentences import refusal

    return refusal(cls, error, "the code")


class Scenario(Record):
    """Every choice that a user can make for one question: form, link, file and snippet come from it."""


RecordT = TypeVar("RecordT", bound=Record)


def field(
    default: Any,
    title: str,
    help: str = "",
    *,
    key: str | None = None,
    group: str | None = None,
    scale: str | None = None,
    low: float | None = None,
    high: float | None = None,
    unit: str | None = None,
    titles: dict[str, str] | None = None,
    ends: tuple[str, str] | None = None,
    when: tuple[str, str] | None = None,
    column_of: str | None = None,
    kinds: tuple[str, ...] | None = None,
    fresh: tuple[Any, Any] | None = None,
    value_of: tuple[str, str] | None = None,
    below: str | None = None,
    advanced: bool = False,
    **bounds: Any,
) -> Any:
    """Declare one setting of a record: a pydantic ``Field`` with what the form and the link need.

    Parameters
    ----------
    default : object
        Start value (treat it as API: defaults are left out of links).
    title : str
        What stands over the widget; carries the symbol.
    help : str
        One or two plain sentences.
    key : str, optional
        Short stable link name; the field's own name if left out.
    group : str, optional
        Sidebar group: ``"Data"``, ``"Privacy"``, ``"Method"``, ``"Runs"`` or another heading.
    scale : str, optional
        ``"log"`` draws a slider on decimal steps from ``low`` to ``high`` (the bounds where left out),
        ``"linear"`` one with even steps.
    titles : dict, optional
        Words for the values of a ``Literal`` field.
    when : (field, value), optional
        The form shows this field only while a field beside it has this value; otherwise it keeps its start value.
    column_of : str, optional
        Link name of the table (or of the choice of data) whose columns the form offers for this text or tuple of texts.
    kinds : tuple of str, optional
        Kinds of columns to offer first (``"number"``, ``"count"``, ``"binary"``, ``"category"`` ...); all if left out.
    fresh : (object, object), optional
        What a form sets this to when another table is chosen and the column beside it changes with it: for a column
        of numbers, and for any other.
    value_of : (str, str), optional
        Link name of the table, and the field beside this one that names a column: where that holds texts, the form
        lists them.
    below : str, optional
        Words that the refusal of a number below the bounds gives in brackets, where the reason is worth knowing.
    advanced : bool
        The form shows it in the closed part "More options".
    **bounds
        ``gt``, ``ge``, ``lt``, ``le``, ``min_length``, ``max_length``, ``discriminator`` ...
    """
    extra: dict[str, Any] = {
        name: value
        for name, value in (
            ("key", key), ("group", group), ("scale", scale), ("low", low), ("high", high), ("unit", unit),
            ("titles", titles), ("ends", list(ends) if ends else None),
            ("when", list(when) if when else None), ("advanced", advanced or None),
            ("column_of", column_of), ("kinds", list(kinds) if kinds else None),
            ("fresh", list(fresh) if fresh else None), ("value_of", list(value_of) if value_of else None),
            ("below", below),
        )
        if value is not None
    }  # fmt: skip
    # what is left out is taken from the named type (Epsilon, Seed, ...), if the field has one
    if extra:
        bounds["json_schema_extra"] = extra
    if help:
        bounds["description"] = help
    return Field(default, title=title, **bounds)


def _no_bool(value: Any) -> Any:
    # pydantic would turn true into 1 and "yes" never; a switch is not a number
    if isinstance(value, bool):
        raise PydanticCustomError("number_type", "a number is needed")
    return value


Number = BeforeValidator(_no_bool)

Epsilon = Annotated[
    float,
    Number,
    Field(
        ge=1e-6,
        le=50,
        title="Privacy loss ε",
        description="One record shifts the odds of any answer by at most a factor e^ε. Smaller is more private.",
        json_schema_extra={
            "scale": "log", "low": 0.01, "high": 10.0, "key": "eps", "group": "Privacy",
            "ends": ["more private", "more accurate"],
        },
    ),
]  # fmt: skip
Delta = Annotated[
    float,
    Number,
    Field(
        ge=0,
        lt=1,
        title="Failure chance δ",
        description="Probability with which the ε guarantee may fail; keep it far below 1 over the number of people.",
        json_schema_extra={"key": "delta", "group": "Privacy"},
    ),
]
Seed = Annotated[
    int,
    Number,
    Field(
        ge=0,
        le=2**32 - 1,
        title="Seed",
        description="The same seed gives the same numbers to the last digit, on any machine with the same versions.",
        json_schema_extra={"key": "seed", "group": "Runs"},
    ),
]
Trials = Annotated[
    int,
    Number,
    Field(
        ge=8,
        le=20_000,
        title="Runs",
        description="How many simulated data sets each point averages over. Four times as many halve the ± .",
        json_schema_extra={"key": "trials", "group": "Runs", "scale": "log", "low": 16, "high": 5_000},
    ),
]
SampleSize = Annotated[
    int,
    Number,
    Field(
        ge=1,
        le=100_000_000,
        title="Sample size n, people",
        description="How many records the sample has; public and fixed.",
        json_schema_extra={"key": "n", "group": "Data", "scale": "log", "low": 10, "high": 1_000_000},
    ),
]
SymbolCount = Annotated[
    int,
    Number,
    Field(
        ge=2,
        le=1_000_000,
        title="Number of symbols k",
        description="How many different values a record can take; public, never read off private data.",
        json_schema_extra={"key": "k", "scale": "log", "low": 10, "high": 100_000},
    ),
]
Accuracy = Annotated[
    float,
    Number,
    Field(
        ge=1e-6,
        lt=1,
        title="Target accuracy α",
        description="The error that the answer may have, as a share of its scale.",
        json_schema_extra={"key": "accuracy", "scale": "log", "low": 0.001, "high": 0.5},
    ),
]


class Grid(Record):
    """A grid of sample sizes: whole numbers, evenly spaced on a log scale."""

    low: Annotated[int, Number] = field(100, "From", "Smallest value of the grid.", ge=1, le=100_000_000)
    high: Annotated[int, Number] = field(10_000, "To", "Largest value of the grid.", ge=1, le=100_000_000)
    points: Annotated[int, Number] = field(10, "Points", "How many values the grid has.", ge=2, le=60)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a grid whose ends are the wrong way round."""
        if self.low > self.high:
            raise PydanticCustomError(
                "grid_order",
                "A grid must not start above its end; it runs from {low} to {high}, so exchange the two.",
                {"low": f"{self.low:,}", "high": f"{self.high:,}"},
            )

    def values(self) -> IntArray:
        """Grid values, increasing, without repeats.

        Examples
        --------
        >>> Grid(low=100, high=10_000, points=3).values()
        array([  100,  1000, 10000])
        """
        raw = np.geomspace(self.low, self.high, self.points)
        return np.unique(np.rint(raw).astype(np.int64))


class RealGrid(Record):
    """A grid of positive numbers, evenly spaced on a log scale."""

    low: Annotated[float, Number] = field(0.01, "From", "Smallest value of the grid.", ge=1e-12, le=1e9)
    high: Annotated[float, Number] = field(10.0, "To", "Largest value of the grid.", ge=1e-12, le=1e9)
    points: Annotated[int, Number] = field(25, "Points", "How many values the grid has.", ge=2, le=200)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse a grid whose ends are the wrong way round."""
        if self.low > self.high:
            raise PydanticCustomError(
                "grid_order",
                "A grid must not start above its end; it runs from {low} to {high}, so exchange the two.",
                {"low": f"{self.low:g}", "high": f"{self.high:g}"},
            )

    def values(self) -> FloatArray:
        """Grid values, increasing, rounded to six significant digits so that links and tables read well.

        Examples
        --------
        >>> RealGrid(low=0.1, high=10.0, points=3).values()
        array([ 0.1,  1. , 10. ])
        """
        raw = np.geomspace(self.low, self.high, self.points)
        return np.unique(np.array([float(f"{value:.6g}") for value in raw]))


def once_each(order: Sequence[str]) -> AfterValidator:
    """Let a tuple of kinds hold each kind once, in one canonical order.

    The order of clicking is not part of the question: link, file and form then mean the same set.
    """

    def check(items: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [item.kind for item in items]
        if len(set(names)) < len(names):
            raise PydanticCustomError("once_each", "Each choice may be listed once.")
        return tuple(sorted(items, key=lambda item: order.index(item.kind)))

    return AfterValidator(check)


def sorted_distinct(what: str) -> AfterValidator:
    """Let a tuple of numbers hold each number once, in increasing order."""

    def check(items: tuple[Any, ...]) -> tuple[Any, ...]:
        if len(set(items)) < len(items):
            raise PydanticCustomError("once_each", "Each of the {what} may be listed once.", {"what": what})
        return tuple(sorted(items))

    return AfterValidator(check)
