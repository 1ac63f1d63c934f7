"""Families of distributions that a user can choose: records that turn into a :class:`DiscreteLaw`.

The six panels of the published figures are in :func:`figure_families` (spec properties, section 8).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from privexplorer.distributions.law import DiscreteLaw
from privexplorer.records import Number, Record, SymbolCount, field

if TYPE_CHECKING:
    from privexplorer.data.source import Tables


class Distribution(Record):
    """Base of the families: what records look like before anybody is protected."""

    formula: ClassVar[str] = ""
    source: ClassVar[str] = "properties §8"

    def law(self, tables: Tables | None = None) -> DiscreteLaw:
        """Return the probabilities; ``tables`` are the checked tables at hand (only data-based kinds read them)."""
        raise NotImplementedError

    @property
    def label(self) -> str:
        """Short name with the parameters that matter, for legends."""
        return self.title


class Uniform(Distribution):
    """All symbols equally likely."""

    kind: Literal["uniform"] = "uniform"
    title: ClassVar[str] = "Uniform"
    formula: ClassVar[str] = r"p_i = 1/k"
    k: SymbolCount = 1000

    def law(self, tables: Tables | None = None) -> DiscreteLaw:
        """Return the uniform law on ``k`` symbols."""
        return _uniform(self.k)


class TwoStep(Distribution):
    """Half of the symbols carry weight 1, the other half weight 3."""

    kind: Literal["two-step"] = "two-step"
    title: ClassVar[str] = "Two-step"
    formula: ClassVar[str] = r"p_i \propto 1\ (i \le k/2),\quad p_i \propto 3\ (i > k/2)"
    k: SymbolCount = 1000

    def law(self, tables: Tables | None = None) -> DiscreteLaw:
        """Return the two-step law; with odd ``k`` the extra symbol carries weight 3."""
        return _two_step(self.k)


class Zipf(Distribution):
    """Few frequent symbols and a long tail: the i-th most frequent has weight i to a negative power."""

    kind: Literal["zipf"] = "zipf"
    title: ClassVar[str] = "Zipf"
    formula: ClassVar[str] = r"p_i \propto i^{-s}"
    k: SymbolCount = 1000
    exponent: Annotated[float, Number] = field(
        1.0,
        "Zipf exponent s",
        "0 is uniform; the larger, the fewer symbols carry the weight.",
        key="exponent",
        ge=0,
        le=5,
    )
    drop_last: bool = field(
        False,
        "Leave out the last symbol",
        "The published experiment code has k - 1 symbols in this family; switch on to compare with it.",
        key="drop_last",
        advanced=True,
    )

    def law(self, tables: Tables | None = None) -> DiscreteLaw:
        """Return the Zipf law on ``k`` symbols, or on ``k - 1`` with ``drop_last`` (erratum E15)."""
        return _zipf(self.k - 1 if self.drop_last else self.k, self.exponent)

    @property
    def label(self) -> str:
        """``Zipf(s)``, with 1/2 written as a fraction."""
        return f"Zipf({_fraction(self.exponent)})"


class Dirichlet(Distribution):
    """A random distribution, drawn once: normalised gamma variables."""

    kind: Literal["dirichlet"] = "dirichlet"
    title: ClassVar[str] = "Dirichlet draw"
    formula: ClassVar[str] = r"p \sim \mathrm{Dirichlet}(c, \ldots, c)"
    k: SymbolCount = 1000
    concentration: Annotated[float, Number] = field(
        1.0, "Dirichlet parameter c", "Small values make a few symbols carry the weight.", key="concentration",
        ge=1e-4, le=1000, scale="log", low=0.01,
    )  # fmt: skip
    draw: Annotated[int, Number] = field(
        0, "Draw number", "Which random distribution; the same for all runs.", key="draw", ge=0, le=2**32 - 1
    )

    def law(self, tables: Tables | None = None) -> DiscreteLaw:
        """Return the distribution with this draw number."""
        return _dirichlet(self.k, self.concentration, self.draw)

    @property
    def label(self) -> str:
        """``Dirichlet(c)``, with 1/2 written as a fraction."""
        return f"Dirichlet({_fraction(self.concentration)})"


class Geometric(Distribution):
    """Each symbol has a fixed share of the weight of the one before, cut off after ``k`` symbols."""

    kind: Literal["geometric"] = "geometric"
    title: ClassVar[str] = "Geometric"
    formula: ClassVar[str] = r"p_i \propto q^i"
    source: ClassVar[str] = "extension"
    k: SymbolCount = 1000
    ratio: Annotated[float, Number] = field(
        0.99, "Ratio q", "Weight of a symbol over the weight of the one before.", key="ratio", ge=1e-6, lt=1
    )

    def law(self, tables: Tables | None = None) -> DiscreteLaw:
        """Return the truncated geometric law; weights below the smallest double count as 0."""
        return _geometric(self.k, self.ratio)

    @property
    def label(self) -> str:
        """``Geometric(q)``."""
        return f"Geometric({self.ratio:g})"


def _sums_to_one(values: tuple[float, ...]) -> tuple[float, ...]:
    total = math.fsum(values)
    if abs(total - 1.0) > 1e-9:
        raise PydanticCustomError(
            "probabilities_sum", "The probabilities must sum to 1; they sum to {total} now.", {"total": f"{total:.10g}"}
        )
    return values


class Typed(Distribution):
    """Probabilities typed by hand."""

    kind: Literal["typed"] = "typed"
    title: ClassVar[str] = "Typed by hand"
    formula: ClassVar[str] = r"p = (p_1, \ldots, p_k)"
    source: ClassVar[str] = "extension"
    probabilities: Annotated[
        tuple[Annotated[float, Number, field(..., "Probability", ge=0, le=1)], ...], AfterValidator(_sums_to_one)
    ] = field(
        (0.5, 0.25, 0.125, 0.125),
        "Probabilities",
        "Numbers of at least 0 that sum to 1.",
        key="probabilities",
        min_length=1,
        max_length=1000,
    )

    def law(self, tables: Tables | None = None) -> DiscreteLaw:
        """Return the typed law."""
        return DiscreteLaw(np.array(self.probabilities))

    @property
    def label(self) -> str:
        """``Typed (k symbols)``."""
        return f"Typed ({len(self.probabilities)} symbols)"


def figure_families(k: int = 1000, draw: int = 0, zipf_drop_last: bool = False) -> dict[str, Distribution]:
    """Return the six panels of the published figures, in their order.

    Parameters
    ----------
    k : int
        Number of symbols.
    draw : int
        Draw number of the two Dirichlet panels, shared by all runs of a figure.
    zipf_drop_last : bool
        Use ``k - 1`` symbols in the Zipf panels, as the published experiment code does (erratum E15).
    """
    shared: dict[str, Any] = {"k": k, "drop_last": zipf_drop_last}
    panels: list[Distribution] = [
        Uniform(k=k),
        TwoStep(k=k),
        Zipf(exponent=0.5, **shared),
        Zipf(exponent=1.0, **shared),
        Dirichlet(k=k, concentration=1.0, draw=draw),
        Dirichlet(k=k, concentration=0.5, draw=draw),
    ]
    return {panel.label: panel for panel in panels}


# ---- laws, cached by their parameters ----


@lru_cache(maxsize=16)
def _uniform(k: int) -> DiscreteLaw:
    return DiscreteLaw(np.full(k, 1.0 / k))


@lru_cache(maxsize=16)
def _two_step(k: int) -> DiscreteLaw:
    weights = np.ones(k)
    weights[k // 2 :] = 3.0
    return DiscreteLaw.from_weights(weights)


@lru_cache(maxsize=16)
def _zipf(k: int, exponent: float) -> DiscreteLaw:
    return DiscreteLaw.from_weights(np.exp(-exponent * np.log(np.arange(1, k + 1, dtype=np.float64))))


@lru_cache(maxsize=16)
def _dirichlet(k: int, concentration: float, draw: int) -> DiscreteLaw:
    rng = np.random.default_rng(np.random.SeedSequence(draw))
    # gamma(c) is gamma(c + 1) times U^(1/c): in logarithms nothing vanishes for small c
    logs = np.log(rng.standard_gamma(concentration + 1.0, k)) + np.log1p(-rng.random(k)) / concentration
    return DiscreteLaw.from_weights(np.exp(logs - logs.max()))


@lru_cache(maxsize=16)
def _geometric(k: int, ratio: float) -> DiscreteLaw:
    return DiscreteLaw.from_weights(np.exp(np.arange(k, dtype=np.float64) * math.log(ratio)))


def _fraction(value: float) -> str:
    return {0.5: "1/2", 0.25: "1/4", 1.5: "3/2", 2.5: "5/2"}.get(value, f"{value:g}")


__all__ = ["Dirichlet", "Distribution", "Geometric", "TwoStep", "Typed", "Uniform", "Zipf", "figure_families"]
