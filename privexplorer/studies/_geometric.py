"""Averages of an unknown curve or field along paths, as problems with both sides of the Riesz identity.

Spec locally_private_inference, sections 1.3, 2.8 and 4 (Ex. 4 to 8, E7, E11).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.causal import Decomposition, Points, TimeDiscount
from privexplorer.causal.geometric import (
    GaussianLine,
    GaussianRay,
    ShiftCheck,
    average_derivative,
    average_derivative_representer,
    curve_integral,
    line_integral,
    path_nodes,
    ray_integral,
    shift_check,
    shift_check_gaussian,
    shift_check_laplace,
)
from privexplorer.records import Number, Record, field

Function = Callable[[FloatArray], FloatArray]
Field2 = Literal["hills", "bowl", "waves", "plane"]

FIELDS: dict[Field2, tuple[str, str]] = {
    "hills": (
        "A hill and a hollow",
        r"\mu(x)=1+1.4\,e^{-\|x-a\|^2/0.98}-1.1\,e^{-\|x-b\|^2/1.28}",
    ),
    "bowl": ("A bowl", r"\mu(x)=\|x\|^2"),
    "waves": ("Waves", r"\mu(x)=1+\sin(2x_1)\cos(x_2)"),
    "plane": ("A plane", r"\mu(x)=1+2x_1"),
}  # fmt: skip
"""Regressions by name: words and formula; in one dimension the second coordinate is 0."""


@lru_cache
def regression(name: Field2) -> Callable[[Any], Any]:
    """Return μ for points of shape (m, 2), or (m,) in one dimension; complex points are allowed.

    Examples
    --------
    >>> regression("bowl")(np.array([[1.0, 2.0]])), regression("plane")(np.array([0.5]))
    (array([5.]), array([2.]))
    """

    def mu(x: Any) -> Any:
        at = np.asarray(x)
        first, second = (at, np.zeros_like(at)) if at.ndim == 1 else (at[:, 0], at[:, 1])
        up = 0.0 if at.ndim == 1 else 1.0
        if name == "bowl":
            return first**2 + second**2
        if name == "waves":
            return 1 + np.sin(2 * first) * np.cos(second)
        if name == "plane":
            return 1 + 2 * first
        hill = np.exp(-((first - 1.0) ** 2 + (second - 0.7 * up) ** 2) / 0.98)
        hollow = np.exp(-((first + 0.9) ** 2 + (second + 0.5 * up) ** 2) / 1.28)
        return 1 + 1.4 * hill - 1.1 * hollow

    return mu


def derivative(mu: Callable[[Any], Any], x: FloatArray) -> FloatArray:
    """Return μ'(x), exact to rounding (a step in the imaginary direction).

    Examples
    --------
    >>> derivative(regression("bowl"), np.array([3.0]))
    array([6.])
    """
    return np.asarray(np.imag(mu(x + 1e-30j)) / 1e-30)


def pieces(*ends: float, size: int = 100) -> tuple[FloatArray, FloatArray]:
    """Return Gauss-Legendre nodes and weights on intervals that meet at the inner ends."""
    parts = [path_nodes(low, high, size) for low, high in pairwise(ends)]
    return np.concatenate([x for x, _ in parts]), np.concatenate([w for _, w in parts])


@lru_cache(maxsize=8)
def _line_value(mu: Function) -> float:
    # four million points: kept for as long as the program runs
    return GaussianLine(2, 1.0, 1.4).value(mu)


def radial(function: Function, x: FloatArray) -> FloatArray:
    """Evaluate a function of the length of x alone, once for each length."""
    length, place = np.unique(np.sqrt(np.sum(x**2, axis=1)).round(12), return_inverse=True)
    return function(np.stack([length, np.zeros_like(length)], axis=1))[place.reshape(-1)]


class Average(Record):
    """What is averaged: a functional E f(·, μ), its weights r, and the law of the private X."""

    words: ClassVar[str]
    short: ClassVar[str]
    paths: ClassVar[str]
    reaches: ClassVar[tuple[float, float]]
    """What the picture shows of the x axis."""

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Points and weights of the law of X; the weights add up to 1."""
        raise NotImplementedError

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw X, (size,) or (size, 2)."""
        raise NotImplementedError

    def weight(self, x: FloatArray) -> FloatArray:
        """Return the weights r(x)."""
        raise NotImplementedError

    def value(self, mu: Function) -> float:
        """Return E f."""
        raise NotImplementedError

    def weighted(self, mu: Function) -> float:
        """Return E r(X) μ(X)."""
        x, share = self.nodes()
        return float(np.sum(share * self.weight(x) * mu(x)))

    @property
    def holds(self) -> bool:
        """Whether the weights exist and have a finite variance."""
        return True

    @property
    def exists(self) -> bool:
        """Whether there are any weights at all: else the two sides differ."""
        return True

    @property
    def sentence(self) -> str:
        """The verdict for a reader."""
        raise NotImplementedError


class OverPaths(Average):
    """Integrals of μ along paths in the plane whose public ends are drawn beside X."""

    def public(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw the public ends of the paths."""
        raise NotImplementedError

    def along(self, mu: Function, w: FloatArray) -> FloatArray:
        """Return f for paths with public ends, (size,)."""
        raise NotImplementedError

    def ends(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the paths begin and end, two (size, 2) arrays."""
        raise NotImplementedError


class AtPoints(Average):
    """Averages of something that μ does near X, a number."""

    def density(self, x: FloatArray) -> FloatArray:
        """Density of X."""
        raise NotImplementedError

    def at_x(self, mu: Function, x: FloatArray) -> FloatArray:
        """Return f, (size,)."""
        raise NotImplementedError

    def left(self, mu: Function, x: FloatArray) -> FloatArray:
        """Return what is averaged in words; f itself unless another form is easier to read."""
        return self.at_x(mu, x)

    def value(self, mu: Function) -> float:
        """Return E f."""
        x, share = self.nodes()
        return float(np.sum(share * self.left(mu, x)))


class KnownWeight(AtPoints):
    """Averages of the outcome with weights that are known and need no fit; X lies evenly between 0 and 1 (E7)."""

    reaches: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def density(self, x: FloatArray) -> FloatArray:
        """Density of X."""
        return np.where((x >= 0) & (x <= 1), 1.0, 0.0)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Nodes on the range."""
        return pieces(0.0, 1.0)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw X, (size,)."""
        return rng.random(size)


class Rays(OverPaths):
    """Integrals of μ along rays from near the origin, through random public points (Ex. 5)."""

    kind: Literal["rays"] = "rays"
    title: ClassVar[str] = "Along rays"
    formula: ClassVar[str] = r"E\int_{t_0}^{t_1}\mu(tW)\,\|W\|\,dt"
    source: ClassVar[str] = "Ex. 5"
    words: ClassVar[str] = "integral along a ray"
    short: ClassVar[str] = "along rays"
    paths: ClassVar[str] = "rays"
    reaches: ClassVar[tuple[float, float]] = (-3.0, 3.0)
    low: Annotated[float, Number] = field(
        0.2, "Rays start at t₀", "In lengths of W: 0 is the origin, 1 the public point.", key="from", ge=0.05, le=1.0
    )
    high: Annotated[float, Number] = field(
        1.5, "Rays end at t₁", "Above 1 they run on beyond the public point.", key="to", ge=1.05, le=3.0
    )
    x_std: Annotated[float, Number] = field(
        1.3, "Spread of X", "Standard deviation of each private coordinate; that of W is 1.", key="sx", ge=0.5, le=4.0
    )

    @property
    def ray(self) -> GaussianRay:
        """The rays in closed form."""
        return GaussianRay(2, 1.0, self.x_std, self.low, self.high)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Polar nodes."""
        return plane_nodes(self.x_std)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw X, (size, 2)."""
        return self.x_std * rng.standard_normal((size, 2))

    def public(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw W, (size, 2)."""
        return rng.standard_normal((size, 2))

    def along(self, mu: Function, w: FloatArray) -> FloatArray:
        """Integrate along the rays through w."""
        return ray_integral(mu, w, self.low, self.high)

    def weight(self, x: FloatArray) -> FloatArray:
        """Return r at points (m, 2)."""
        return radial(self.ray.representer, x)

    def value(self, mu: Function) -> float:
        """Return E f."""
        return self.ray.value(mu)

    @property
    def holds(self) -> bool:
        """Whether X is spread widely enough for the rays."""
        return self.ray.holds

    @property
    def sentence(self) -> str:
        """The verdict for a reader."""
        return self.ray.sentence

    def ends(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the paths begin and end, two (n, 2) arrays."""
        return self.low * w, self.high * w


class Lines(OverPaths):
    """Integrals of μ along the line between two random public points (Ex. 6)."""

    kind: Literal["lines"] = "lines"
    title: ClassVar[str] = "Along lines"
    formula: ClassVar[str] = r"E\int_0^1\mu\big((1-t)W_b+tW_e\big)\,\|W_e-W_b\|\,dt"
    source: ClassVar[str] = "Ex. 6"
    words: ClassVar[str] = "integral along a line"
    short: ClassVar[str] = "along lines"
    paths: ClassVar[str] = "lines"
    reaches: ClassVar[tuple[float, float]] = (-3.0, 3.0)
    x_std: Annotated[float, Number] = field(
        1.4, "Spread of X", "Standard deviation of each private coordinate; that of the ends is 1.", key="sx",
        ge=0.5, le=4.0,
    )  # fmt: skip

    @property
    def line(self) -> GaussianLine:
        """The lines in closed form."""
        return GaussianLine(2, 1.0, self.x_std)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Polar nodes."""
        return plane_nodes(self.x_std)

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw X, (size, 2)."""
        return self.x_std * rng.standard_normal((size, 2))

    def public(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw both ends, (size, 2, 2)."""
        return rng.standard_normal((size, 2, 2))

    def along(self, mu: Function, w: FloatArray) -> FloatArray:
        """Integrate along the lines."""
        return line_integral(mu, w[:, 0], w[:, 1])

    def weight(self, x: FloatArray) -> FloatArray:
        """Return r at points (m, 2)."""
        return radial(self.line.representer, x)

    def value(self, mu: Function) -> float:
        """Return E f."""
        return _line_value(mu)

    @property
    def holds(self) -> bool:
        """Whether X is spread widely enough for the lines."""
        return self.line.holds

    @property
    def sentence(self) -> str:
        """The verdict for a reader."""
        return self.line.sentence

    def ends(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Where the paths begin and end, two (n, 2) arrays."""
        return w[:, 0], w[:, 1]

    def bent(self, mu: Function, w: FloatArray, pull: float) -> tuple[float, float]:
        """Average along curves whose middle is pulled sideways, and how far pull 0 is from the straight lines."""
        middle = w.mean(axis=1)
        across = np.stack([-(w[:, 1] - w[:, 0])[:, 1], (w[:, 1] - w[:, 0])[:, 0]], axis=1)
        controls = np.stack([w[:, 0], middle + pull * across, w[:, 1]], axis=1)
        off = np.abs(curve_integral(mu, w) - self.along(mu, w))
        return float(curve_integral(mu, controls).mean()), float(off.max())


class Slope(AtPoints):
    """Average of the slope of μ over a step (Ex. 4)."""

    kind: Literal["slope"] = "slope"
    title: ClassVar[str] = "Average slope"
    formula: ClassVar[str] = r"E\,\frac{\mu(X+\epsilon)-\mu(X)}{\epsilon}"
    source: ClassVar[str] = "Ex. 4"
    words: ClassVar[str] = "slope over a step"
    short: ClassVar[str] = "slope over a step"
    paths: ClassVar[str] = "steps"
    step: Annotated[float, Number] = field(
        0.5, "Step", "How far x is moved; the slope is the difference over the step.", key="step", ge=0.05, le=2.0
    )
    law: Literal["normal", "laplace", "uniform"] = field(
        "normal",
        "Law of X",
        "A range with an upper end is refused: a step leads out of it, to where nobody is.",
        key="xlaw",
        titles={"normal": "Normal", "laplace": "Laplace (heavier tails)", "uniform": "Even from 0 to 1 (bounded)"},
    )

    @property
    def reaches(self) -> tuple[float, float]:  # type: ignore[override]
        """What the picture shows."""
        return (0.0, 1.0) if self.law == "uniform" else (-3.0, 3.0)

    def density(self, x: FloatArray) -> FloatArray:
        """Density of X."""
        if self.law == "normal":
            return np.asarray(np.exp(-0.5 * x**2) / math.sqrt(2 * math.pi))
        if self.law == "laplace":
            return np.asarray(0.5 * np.exp(-np.abs(x)))
        return np.where((x >= 0) & (x <= 1), 1.0, 0.0)

    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """Nodes on pieces: the weights jump or bend at 0 and at the step."""
        if self.law == "uniform":
            return pieces(0.0, min(self.step, 0.999), 1.0)
        reach = (10.0, 12.0 + 2 * self.step) if self.law == "normal" else (36.0, 36.0)
        middle = 0.5 * (self.step + reach[1])
        x, weights = pieces(-reach[0], 0.0, self.step, middle, reach[1])
        share = weights * self.density(x)
        return x, share / share.sum()

    def sample(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draw X, (size,)."""
        if self.law == "normal":
            return rng.standard_normal(size)
        return rng.laplace(size=size) if self.law == "laplace" else rng.random(size)

    def at_x(self, mu: Function, x: FloatArray) -> FloatArray:
        """Return the slope over the step."""
        return np.asarray((mu(x + self.step) - mu(x)) / self.step)

    def weight(self, x: FloatArray) -> FloatArray:
        """Return r(x)."""
        return average_derivative_representer(self.density, self.step)(x)

    def value(self, mu: Function) -> float:
        """Return E f."""
        return average_derivative(mu, self.step, *self.nodes())

    @property
    def verdict(self) -> ShiftCheck:
        """Whether the weights exist."""
        if self.law == "normal":
            return shift_check_gaussian(self.step, 1.0)
        if self.law == "laplace":
            return shift_check_laplace(self.step, 1.0)
        return shift_check(np.zeros_like, self.step, low=0.0, high=1.0)

    @property
    def holds(self) -> bool:
        """Whether the weights have a finite variance."""
        return self.verdict.holds

    @property
    def exists(self) -> bool:
        """Whether there are weights at all."""
        return self.verdict.holds

    @property
    def sentence(self) -> str:
        """The verdict for a reader."""
        return self.verdict.sentence


class Middle(KnownWeight):
    """The slope of μ on a bounded range, weighted towards the middle: a known weight on the outcome (Ex. 7)."""

    kind: Literal["middle"] = "middle"
    title: ClassVar[str] = "Slope in the middle of a range"
    formula: ClassVar[str] = r"E\,6X(1-X)\,\mu'(X)=E\,b(X)\,\mu(X),\ b(x)=12x-6"
    source: ClassVar[str] = "Ex. 7"
    words: ClassVar[str] = "slope weighted by 6x(1 − x)"
    short: ClassVar[str] = "weighted slope"
    paths: ClassVar[str] = "slopes"

    def at_x(self, mu: Function, x: FloatArray) -> FloatArray:
        """Return b μ."""
        return np.asarray(self.weight(x) * mu(x))

    def left(self, mu: Function, x: FloatArray) -> FloatArray:
        """Return the weighted slope."""
        return np.asarray(6 * x * (1 - x) * derivative(mu, x))

    def weight(self, x: FloatArray) -> FloatArray:
        """Return b(x) = -(6x(1 - x))'."""
        return np.asarray(12 * x - 6)

    @property
    def sentence(self) -> str:
        """The verdict for a reader."""
        return "The weight is known and bounded, so the average is regular and nothing has to be fitted."


class Discount(KnownWeight):
    """Outcomes discounted by a rate that depends on the private value (Ex. 8)."""

    kind: Literal["discount"] = "discount"
    title: ClassVar[str] = "Discounted value"
    formula: ClassVar[str] = r"E\,\mu(X)/(1+\kappa(X)),\ \kappa(x)=c\,x^2"
    source: ClassVar[str] = "Ex. 8"
    words: ClassVar[str] = "discounted outcome"
    short: ClassVar[str] = "discounted"
    paths: ClassVar[str] = "discounts"
    rate: Annotated[float, Number] = field(
        1.0, "Largest discount rate c", "The rate is c x², from 0 to c over the range of x.", key="rate", ge=0, le=10
    )

    def at_x(self, mu: Function, x: FloatArray) -> FloatArray:
        """Return the discounted mean."""
        return np.asarray(mu(x) / (1 + self.rate * x**2))

    def weight(self, x: FloatArray) -> FloatArray:
        """Return 1/(1 + κ(x))."""
        return TimeDiscount(lambda at: self.rate * np.asarray(at) ** 2).weight(Points(x=x))

    @property
    def sentence(self) -> str:
        """The verdict for a reader."""
        return "The weight is known and at most 1, so the average is regular and nothing has to be fitted."


AnyAverage: TypeAlias = Rays | Lines | Slope | Middle | Discount
AverageChoice: TypeAlias = Annotated[AnyAverage, Field(discriminator="kind")]


def plane_nodes(std: float, radius: int = 160, angles: int = 64) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights of N(0, std² I) in the plane, in polar coordinates (good for a kink at 0)."""
    length, share = path_nodes(0.0, 12.0 * std, radius)
    share = share * np.exp(-0.5 * (length / std) ** 2) * length / std**2
    turn = 2 * math.pi * (np.arange(angles) + 0.5) / angles
    points = length[:, None, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    return points.reshape(-1, 2), np.repeat(share / angles, angles)


@dataclass(frozen=True)
class Score:
    """The influence function a(x) y + c(x) + (f of public columns) - χ on nodes of X, all (M,).

    a = r and c = -r μ, plus f where f reads X; for a known weight c = 0 (E7).
    """

    a: FloatArray
    c: FloatArray


def score(average: AnyAverage, mu: Function, x: FloatArray) -> Score:
    """Evaluate the influence function at points."""
    a = average.weight(x)
    if isinstance(average, KnownWeight):
        return Score(a, np.zeros_like(a))
    c = -a * mu(x)
    return Score(a, c if isinstance(average, OverPaths) else c + average.at_x(mu, x))


def parts_of(
    law: tuple[FloatArray, Score, FloatArray], noise: tuple[FloatArray, Score], std: float, public_variance: float
) -> Decomposition:
    """Return T₀, T₁ and T₂ where Y has mean μ(X) and spread ``std`` (section 1.6 for scores a y + c, derived).

    Derived, checked in tests/unit/studies/test_geometric_targets.py against G17 and G20.

    Parameters
    ----------
    law : (weights, score, mean)
        Weights (M,) of the law of X, the score there and μ there.
    noise : (weights, score)
        The same for the noise law, without μ.
    std : float
        Standard deviation of Y given X.
    public_variance : float
        Variance of f where it reads public columns only.
    """
    share, here, mean = law
    mass, there = noise

    def second(a: FloatArray, c: FloatArray) -> float:
        return float(np.sum(share * ((a * mean + c) ** 2 + (a * std) ** 2)))

    centre = float(np.sum(share * (here.a * mean + here.c)))
    a_bar, c_bar = float(np.sum(mass * there.a)), float(np.sum(mass * there.c))
    t0 = second(here.a, here.c - centre) + public_variance
    t1 = second(here.a - a_bar, here.c - c_bar)
    da, dc = there.a - a_bar, there.c - c_bar
    y, y2 = float(np.sum(share * mean)), float(np.sum(share * (mean**2 + std**2)))
    t2 = float(np.sum(mass * da**2)) * y2 + 2 * float(np.sum(mass * da * dc)) * y + float(np.sum(mass * dc**2))
    return Decomposition(t0, t1, t2)


__all__ = [
    "FIELDS",
    "AnyAverage",
    "Average",
    "AverageChoice",
    "Discount",
    "Field2",
    "Function",
    "Lines",
    "Middle",
    "OverPaths",
    "Rays",
    "Score",
    "Slope",
    "derivative",
    "parts_of",
    "pieces",
    "plane_nodes",
    "regression",
    "score",
]
