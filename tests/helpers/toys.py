"""Records that have every shape a field can have; small, and with no meaning."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic_core import PydanticCustomError

from privexplorer.records import (
    Delta,
    Epsilon,
    Grid,
    Number,
    RealGrid,
    Record,
    Scenario,
    Seed,
    Trials,
    field,
    once_each,
    sorted_distinct,
)


class Flat(Record):
    title: ClassVar[str] = "Flat"
    kind: Literal["flat"] = "flat"


class Power(Record):
    title: ClassVar[str] = "Power law"
    kind: Literal["power"] = "power"
    exponent: Annotated[float, Number] = field(1.0, "Exponent", "How steep.", ge=0, le=4)
    shift: Annotated[float, Number] = field(0.0, "Shift", "Where it starts.", gt=-1, lt=1, key="by")


class Typed(Record):
    title: ClassVar[str] = "Typed"
    kind: Literal["typed"] = "typed"
    weights: tuple[Annotated[float, Number, Field(ge=0, le=1)], ...] = field(
        (0.5, 0.5), "Weights", "One per symbol.", min_length=2, max_length=6
    )
    public: bool = field(False, "Public")


Shape = Annotated[Flat | Power | Typed, Field(discriminator="kind")]


class Even(Record):
    title: ClassVar[str] = "Even"
    kind: Literal["even"] = "even"
    scale: Annotated[float, Number] = field(1.0, "Scale", gt=0, le=1e300)


class Mixed(Record):
    """A union inside a union; its default is not the default of its own class."""

    title: ClassVar[str] = "Mixed"
    kind: Literal["mixed"] = "mixed"
    share: Annotated[float, Number] = field(0.25, "Share", gt=0, lt=1)
    inner: Shape = field(Power(exponent=2.5), "Inner shape")


Noise = Annotated[Even | Mixed, Field(discriminator="kind")]


class Plain(Record):
    title: ClassVar[str] = "Plain"
    kind: Literal["plain"] = "plain"


class Poly(Record):
    title: ClassVar[str] = "Polynomial"
    kind: Literal["poly"] = "poly"
    degree: Annotated[int, Number] = field(4, "Degree", "Of the polynomial.", ge=1, le=24)
    shape: Shape = field(Flat(), "Shape of the weights")


class Smooth(Record):
    title: ClassVar[str] = "Smooth"
    kind: Literal["smooth"] = "smooth"
    rate: Annotated[float, Number] | None = field(None, "Rate", "Left empty: chosen from the sample.", gt=0, le=9)


Method = Annotated[Plain | Poly | Smooth, Field(discriminator="kind")]
ORDER = ("plain", "poly", "smooth")


class Window(Record):
    """A group with a rule between its fields and a union inside."""

    start: Annotated[int, Number] = field(1, "Start", ge=0, le=1000)
    stop: Annotated[int, Number] = field(10, "Stop", ge=0, le=1000)
    edge: Shape = field(Flat(), "Edge")
    kind: Literal["auto", "round"] = field("auto", "Kind of window", "A choice, not a tag.", key="as")

    def model_post_init(self, context: object, /) -> None:
        if self.start > self.stop:
            raise PydanticCustomError("window", "The window must start before it stops.")


class Toy(Scenario):
    epsilon: Epsilon = 1.0
    delta: Delta = 0.0
    shape: Shape = field(Power(exponent=2.0), "Shape", "What the weights look like.", key="s")
    noise: Noise = field(Even(), "Noise")
    methods: Annotated[tuple[Method, ...], once_each(ORDER)] = field(
        (Plain(), Poly(degree=6)), "Methods", key="m", min_length=1
    )
    extras: Annotated[tuple[Method, ...], once_each(ORDER)] = field((), "Extras", max_length=2)
    n: Grid = field(Grid(low=50, high=500, points=3), "Sample sizes n")
    widths: RealGrid = field(RealGrid(), "Widths", key="w")
    window: Window = field(Window(stop=20), "Window", key="win")
    degrees: Annotated[tuple[Annotated[int, Number, Field(ge=1, le=24)], ...], sorted_distinct("degrees")] = field(
        (2, 4), "Degrees", key="L", max_length=5
    )
    levels: tuple[Annotated[float, Number, Field(gt=0, lt=1)], ...] = field((), "Levels")
    columns: tuple[str, ...] = field(("age",), "Columns")
    column: str | None = field(None, "Column", max_length=40)
    name: str = field("a name", "Name", max_length=40)
    target: Annotated[float, Number] | None = field(0.1, "Target", gt=0, le=1)
    limit: Annotated[int, Number] | None = field(None, "Limit", ge=1, le=10**12)
    marks: tuple[Annotated[float, Number], ...] | None = field(None, "Marks")
    unit: Literal["nats", "bits"] = field("nats", "Unit", titles={"nats": "in nats", "bits": "in bits"})
    is_shown: bool = field(True, "Shown", key="show")
    trials: Trials = 200
    seed: Seed = 0
