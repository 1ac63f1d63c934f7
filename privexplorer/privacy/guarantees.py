"""What a mechanism promises, as types: pure, approximate, zCDP, local and total-variation privacy.

Holds Def 1 of lower_bounds (pure and approximate), Def 22 of markov_random_fields (zCDP), Defs 1 and 2 of
locally_private_inference (total variation, local). Each guarantee names its neighbour relation and its model.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from privexplorer.errors import ParameterError

Neighbours = Literal["substitution", "add-remove"]
Model = Literal["central", "local"]

_NEIGHBOURS_TEXT: dict[str, str] = {
    "substitution": "Neighbours: one record is replaced by any other; the number of records is public and fixed.",
    "add-remove": "Neighbours: one record is added or removed; the number of records is protected too.",
}
_MODEL_TEXT: dict[str, str] = {
    "central": "Central model: a trusted curator sees the records and only the noisy answer leaves.",
    "local": "Local model: each person's record is randomised before anyone else sees it.",
}


def _number(value: float) -> str:
    """Write a number the way a sentence shows it: at most four significant digits."""
    return f"{value:.4g}"


def check_epsilon(epsilon: float) -> None:
    """Refuse an ε that is negative, infinite or not a number (ParameterError)."""
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise ParameterError(f"ε must be a number of at least 0; it is {epsilon:g}.", field="epsilon")


def check_delta(delta: float) -> None:
    """Refuse a δ outside [0, 1] (ParameterError)."""
    if not 0 <= delta <= 1:
        raise ParameterError(f"δ must lie between 0 and 1; it is {delta:g}.", field="delta")


@dataclass(frozen=True, kw_only=True)
class Guarantee(ABC):
    """Base of all guarantees: neighbour relation, model, and what follows from it.

    Guarantees are partially ordered by ``implies``. They are statements about one release; what several
    releases promise together is in ``composition``.

    Attributes
    ----------
    neighbours : {"substitution", "add-remove"}
        Which pairs of data sets are compared.
    model : {"central", "local"}
        Whether the guarantee protects a person from the readers of the answer (central) or from the
        collector as well (local). A local guarantee compares two values of one record, so its neighbour
        relation is substitution.
    """

    kind: ClassVar[str] = ""
    title: ClassVar[str] = ""
    symbol: ClassVar[str] = ""
    neighbours: Neighbours = "substitution"
    model: Model = "central"

    def __post_init__(self) -> None:
        """Refuse parameters that are no guarantee at all."""
        if self.neighbours not in _NEIGHBOURS_TEXT:
            raise ParameterError(
                f"The neighbour relation must be substitution or add-remove; it is '{self.neighbours}'.",
                field="neighbours",
            )
        if self.model not in _MODEL_TEXT:
            raise ParameterError(f"The model must be central or local; it is '{self.model}'.", field="model")
        if self.model == "local" and self.neighbours != "substitution":
            raise ParameterError(
                "A local guarantee compares two values of one record, so its neighbour relation is substitution; "
                "choose substitution, or the central model.",
                field="neighbours",
            )
        self._check()

    @abstractmethod
    def _check(self) -> None:
        """Refuse levels out of range."""

    @abstractmethod
    def levels(self) -> dict[str, float]:
        """Return the numbers of the guarantee by symbol, in reading order."""

    @abstractmethod
    def _claim(self) -> str:
        """Return the promise itself in one sentence."""

    def sentence(self) -> str:
        """Return the guarantee in plain words: the promise, the neighbours and the model.

        Examples
        --------
        >>> print(PureDP(0.5).sentence())
        One person's record shifts the odds of any answer by at most a factor e^0.5 = 1.649. \
Neighbours: one record is replaced by any other; the number of records is public and fixed. \
Central model: a trusted curator sees the records and only the noisy answer leaves.
        """
        return f"{self._claim()} {_NEIGHBOURS_TEXT[self.neighbours]} {_MODEL_TEXT[self.model]}"

    def implies(self, other: Guarantee) -> bool:
        """Return whether every mechanism with this guarantee also has the other one.

        Uses the conversions of ``privexplorer.privacy.conversions``. ``True`` is always right. ``False`` is
        right wherever the conversion is tight (all but those that start from zCDP).

        Examples
        --------
        >>> PureDP(1.0).implies(ZCDP(0.5)), ZCDP(0.5).implies(PureDP(1.0))
        (True, False)
        """
        from privexplorer.privacy.conversions import implies

        return implies(self, other)

    def __str__(self) -> str:
        """Short form for tables, such as ``ε = 0.5, δ = 1e-06``."""
        return ", ".join(f"{symbol} = {_number(value)}" for symbol, value in self.levels().items())


@dataclass(frozen=True)
class PureDP(Guarantee):
    """ε-differential privacy: probabilities of any event differ by at most a factor e^ε (lower_bounds, Def 1).

    Parameters
    ----------
    epsilon : float
        Privacy loss, at least 0.
    """

    kind: ClassVar[str] = "pure"
    title: ClassVar[str] = "Pure differential privacy"
    symbol: ClassVar[str] = "ε"
    epsilon: float

    def _check(self) -> None:
        check_epsilon(self.epsilon)

    def levels(self) -> dict[str, float]:
        """Return ``{"ε": epsilon}``."""
        return {"ε": self.epsilon}

    def _claim(self) -> str:
        return f"One person's record shifts the odds of any answer by at most a factor {_factor(self.epsilon)}."


@dataclass(frozen=True)
class ApproxDP(Guarantee):
    """(ε, δ)-differential privacy: factor e^ε up to an additive slack δ (lower_bounds, Def 1).

    Parameters
    ----------
    epsilon : float
        Privacy loss, at least 0.
    delta : float
        Slack in [0, 1]; 0 is pure differential privacy.
    """

    kind: ClassVar[str] = "approximate"
    title: ClassVar[str] = "Approximate differential privacy"
    symbol: ClassVar[str] = "ε, δ"
    epsilon: float
    delta: float

    def _check(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)

    def levels(self) -> dict[str, float]:
        """Return ``{"ε": epsilon, "δ": delta}``."""
        return {"ε": self.epsilon, "δ": self.delta}

    def _claim(self) -> str:
        return (
            f"One person's record changes the probability of any answer by at most a factor {_factor(self.epsilon)} "
            f"plus {_number(self.delta)}."
        )


@dataclass(frozen=True)
class ZCDP(Guarantee):
    """Zero-concentrated privacy: Rényi divergence of every order a > 1 is at most ρ·a (markov_random_fields, Def 22).

    Parameters
    ----------
    rho : float
        Level ρ, at least 0.
    """

    kind: ClassVar[str] = "zcdp"
    title: ClassVar[str] = "Zero-concentrated differential privacy"
    symbol: ClassVar[str] = "ρ"
    rho: float

    def _check(self) -> None:
        if not (math.isfinite(self.rho) and self.rho >= 0):
            raise ParameterError(f"ρ must be a number of at least 0; it is {self.rho:g}.", field="rho")

    def levels(self) -> dict[str, float]:
        """Return ``{"ρ": rho}``."""
        return {"ρ": self.rho}

    def _claim(self) -> str:
        return (
            f"The privacy loss of one person's record has tails no heavier than a Gaussian with mean "
            f"{_number(self.rho)} and variance {_number(2 * self.rho)}."
        )


@dataclass(frozen=True)
class LocalDP(Guarantee):
    """Local (ε, δ)-privacy: each record is randomised on its own (locally_private_inference, Def 2).

    Parameters
    ----------
    epsilon : float
        Privacy loss of one report, at least 0.
    delta : float
        Slack in [0, 1]; 0 by default (pure local privacy).
    """

    kind: ClassVar[str] = "local"
    title: ClassVar[str] = "Local differential privacy"
    symbol: ClassVar[str] = "ε"
    epsilon: float
    delta: float = 0.0
    model: Model = field(default="local", kw_only=True)

    def _check(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)
        if self.model != "local":
            raise ParameterError(
                "Local differential privacy belongs to the local model; choose pure or approximate differential "
                "privacy for a trusted curator.",
                field="model",
            )

    def levels(self) -> dict[str, float]:
        """Return ``{"ε": epsilon}``, and δ where it is above 0."""
        return {"ε": self.epsilon} | ({"δ": self.delta} if self.delta else {})

    def _claim(self) -> str:
        slack = f" plus {_number(self.delta)}" if self.delta else ""
        factor = _factor(self.epsilon)
        return f"Any two values of a record give each report with probabilities within a factor {factor}{slack}."


@dataclass(frozen=True)
class TotalVariation(Guarantee):
    """Total-variation privacy: output laws of neighbours lie within ``level`` (locally_private_inference, Def 1).

    Parameters
    ----------
    level : float
        Largest total-variation distance, in [0, 1]; 1 promises nothing.
    """

    kind: ClassVar[str] = "total-variation"
    title: ClassVar[str] = "Total-variation privacy"
    symbol: ClassVar[str] = "τ"
    level: float
    model: Model = field(default="local", kw_only=True)

    def _check(self) -> None:
        if not 0 <= self.level <= 1:
            raise ParameterError(
                f"The total-variation level must lie between 0 and 1; it is {self.level:g}.", field="level"
            )

    def levels(self) -> dict[str, float]:
        """Return ``{"τ": level}``."""
        return {"τ": self.level}

    def _claim(self) -> str:
        best_guess = _number(50 + 50 * self.level)
        return (
            f"No event's probability changes by more than {_number(self.level)}, so telling two neighbours apart "
            f"after a fair toss succeeds at most {best_guess}% of the time."
        )


def _factor(epsilon: float) -> str:
    value = f"{math.exp(epsilon):.4g}" if epsilon < 700 else "beyond all measure"
    return f"e^{_number(epsilon)} = {value}"


__all__ = ["ZCDP", "ApproxDP", "Guarantee", "LocalDP", "Model", "Neighbours", "PureDP", "TotalVariation"]
