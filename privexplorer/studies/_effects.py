"""What the studies of locally private effects share: field types, laws, noise laws, targets and words.

Spec locally_private_inference, sections 1.3 to 1.6, 2.7, 3 and 5.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from pydantic import Field
from pydantic_core import PydanticCustomError

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    ATE,
    ATT,
    LAW_A,
    LAW_B,
    AlphaIdentity,
    CausalTarget,
    Decomposition,
    FiniteLaw,
    FiniteNoise,
    Guard,
    GuardLevel,
    binary_law,
    decomposition,
    epsilon_for_keep_probability,
    least_people,
    small_sample_guard,
    uniform_levels,
)
from privexplorer.records import Number, Record, field
from privexplorer.studies.words import percent, significant, whole

# --- field types ---------------------------------------------------------------------------------------------

KeepProbability = Annotated[
    float,
    Number,
    Field(
        gt=0,
        le=1,
        title="Keep probability α",
        description=(
            "Each person shows the true private value with this probability and noise otherwise. 1 keeps everything; "
            "smaller is more private."
        ),
        json_schema_extra={
            "key": "keep", "group": "Privacy", "scale": "linear", "low": 0.05, "high": 1.0,
            "ends": ["more private", "more accurate"],
            "below": "at 0 nothing about the private column is released",
        },
    ),
]  # fmt: skip
"""α, a slider from 0.05 to 1; a link or a file may say any number in (0, 1]."""

EffectTarget = Annotated[
    Literal["ate", "att"],
    Field(
        title="Which effect",
        description="Averaged over everybody, or over those who were treated; the second needs more people.",
        json_schema_extra={
            "key": "target",
            "group": "Goal",
            "titles": {"ate": "Average effect (ATE)", "att": "Effect on the treated (ATT)"},
        },
    ),
]

TARGETS: dict[str, CausalTarget] = {"ate": ATE(), "att": ATT()}
TARGET_WORDS = {"ate": "average effect", "att": "effect on the treated"}
TARGET_SHORT = {"ate": "ATE", "att": "ATT"}

People = Annotated[
    int,
    Number,
    Field(
        ge=20,
        le=100_000_000,
        title="People n",
        description="How many people the study has, both arms together.",
        json_schema_extra={"key": "n", "group": "Data", "scale": "log", "low": 200, "high": 1_000_000},
    ),
]
"""n of a study; log slider."""

Share = Annotated[float, Number, Field(ge=0, le=1)]
Shares = Annotated[tuple[Share, ...], Field(min_length=2, max_length=8)]

KEEPS: tuple[float, ...] = (
    0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
)  # fmt: skip
"""Keep probabilities of a curve that is simulated."""


def keep_grid(*more: float, points: int = 61) -> FloatArray:
    """Return keep probabilities of an exact curve, from 0.05 to 1 on a log scale, with further ones let in.

    Examples
    --------
    >>> keep_grid(0.3, points=3).round(3)
    array([0.05 , 0.224, 0.3  , 1.   ])
    """
    grid = [float(f"{value:.6g}") for value in np.geomspace(0.05, 1.0, points)]
    return np.unique(np.array([*grid, *more]))


# --- laws ----------------------------------------------------------------------------------------------------


class EffectLaw(Record):
    """A law of (outcome, treatment, private category) with a yes/no outcome."""

    def law(self) -> FiniteLaw:
        """Return the law."""
        raise NotImplementedError


class KnownLaw(EffectLaw):
    """One of the laws that the reference tables use."""

    known: ClassVar[FiniteLaw]

    def law(self) -> FiniteLaw:
        """Return the law."""
        return self.known


class LawA(KnownLaw):
    """Three categories with a thin corner: few untreated people in the last category."""

    kind: Literal["a"] = "a"
    title: ClassVar[str] = "Law A: three categories"
    formula: ClassVar[str] = r"p_X=(.5,.3,.2),\ \pi=(.3,.5,.8),\ \mu_0=(.2,.4,.7),\ \mu_1=(.5,.6,.75)"
    source: ClassVar[str] = "locally private inference §5"
    known: ClassVar[FiniteLaw] = LAW_A


class LawB(KnownLaw):
    """Two categories, well balanced."""

    kind: Literal["b"] = "b"
    title: ClassVar[str] = "Law B: two categories"
    formula: ClassVar[str] = r"p_X=(.6,.4),\ \pi=(.3,.7),\ \mu_0=(.2,.6),\ \mu_1=(.5,.7)"
    source: ClassVar[str] = "locally private inference §6.1"
    known: ClassVar[FiniteLaw] = LAW_B


class OwnLaw(EffectLaw):
    """A law typed in, category by category."""

    kind: Literal["own"] = "own"
    title: ClassVar[str] = "A law of your own"
    formula: ClassVar[str] = r"p(y,d,x)=p_X(x)\,\pi(x)^d(1-\pi(x))^{1-d}\,\mu_d(x)^y(1-\mu_d(x))^{1-y}"
    source: ClassVar[str] = "locally private inference §1.3"
    shares: Shares = field(
        (0.5, 0.3, 0.2), "Shares of the categories", "Between 0 and 1, adding up to 1; two to eight.", key="shares"
    )
    treated: Shares = field(
        (0.3, 0.5, 0.8),
        "Chance of treatment by category",
        "Strictly between 0 and 1: both arms need people in every category.",
        key="treated",
    )
    outcome_untreated: Shares = field(
        (0.2, 0.4, 0.7), "Chance of the outcome, untreated", "One number per category.", key="without"
    )
    outcome_treated: Shares = field(
        (0.5, 0.6, 0.75), "Chance of the outcome, treated", "One number per category.", key="with"
    )

    def model_post_init(self, context: Any, /) -> None:
        """Refuse lists that make no law."""
        sizes = {len(self.shares), len(self.treated), len(self.outcome_untreated), len(self.outcome_treated)}
        if len(sizes) > 1:
            raise PydanticCustomError(
                "own_law", "The four lists of a law must be equally long, one number per category."
            )
        total = sum(self.shares)
        if abs(total - 1) > 1e-6:
            raise PydanticCustomError(
                "own_law", "The shares of the categories must add up to 1; they add up to {total}.",
                {"total": f"{total:.6g}"},
            )  # fmt: skip
        if min(self.shares) <= 0 or min(self.treated) <= 0 or max(self.treated) >= 1:
            raise PydanticCustomError(
                "own_law",
                "Every category needs a share above 0 and a chance of treatment strictly between 0 and 1: without "
                "people in both arms the effect is not determined.",
            )

    def law(self) -> FiniteLaw:
        """Return the law."""
        shares = np.array(self.shares)
        return binary_law(shares / shares.sum(), self.treated, self.outcome_untreated, self.outcome_treated)


AnyLaw: TypeAlias = LawA | LawB | OwnLaw
LawChoice: TypeAlias = Annotated[AnyLaw, Field(discriminator="kind")]


def law_field(default: EffectLaw | None = None) -> Any:
    """Declare the law of a study (annotate the field with ``LawChoice``)."""
    return field(
        default if default is not None else LawA(),
        "Who the people are",
        "A known law of outcome, treatment and one private category, so that the truth is known.",
        key="law",
        group="Data",
        discriminator="kind",
    )


# --- noise laws ----------------------------------------------------------------------------------------------


class EvenNoise(Record):
    """Every category equally likely: randomised response."""

    kind: Literal["even"] = "even"
    title: ClassVar[str] = "All categories alike (randomised response)"
    formula: ClassVar[str] = r"\bar q(x)=1/J"
    source: ClassVar[str] = "Ex. 1, (15)"

    def noise(self, law: FiniteLaw) -> FiniteNoise:
        """Return the noise law."""
        return uniform_levels(law.levels)


class PopulationNoise(Record):
    """Noise distributed like the private column; its law must be known publicly."""

    kind: Literal["population"] = "population"
    title: ClassVar[str] = "Like the population"
    formula: ClassVar[str] = r"\bar q=p_X"
    source: ClassVar[str] = "(15)"

    def noise(self, law: FiniteLaw) -> FiniteNoise:
        """Return the noise law."""
        return FiniteNoise(law.p_x)


class PointNoise(Record):
    """Noise that is always the same category: it erases rather than confuses."""

    kind: Literal["point"] = "point"
    title: ClassVar[str] = "Always the same category"
    formula: ClassVar[str] = r"\bar q=\delta_{x_0}"
    source: ClassVar[str] = "(15); locally private inference §1.6"
    code: Annotated[int, Number] = field(
        0, "Category shown instead", "Counted from 0; the last one if there are fewer.", key="code", ge=0, le=7
    )

    def noise(self, law: FiniteLaw) -> FiniteNoise:
        """Return the noise law."""
        shown = np.zeros(law.levels)
        shown[min(self.code, law.levels - 1)] = 1.0
        return FiniteNoise(shown)


AnyNoise: TypeAlias = EvenNoise | PopulationNoise | PointNoise
NoiseChoice: TypeAlias = Annotated[AnyNoise, Field(discriminator="kind")]


def noise_field(default: AnyNoise | None = None, advanced: bool = False) -> Any:
    """Declare the noise law of a study (annotate the field with ``NoiseChoice``)."""
    return field(
        default if default is not None else EvenNoise(),
        "What is shown instead",
        "The law that the noise is drawn from; public, the same for everybody.",
        key="noise",
        group="Privacy",
        discriminator="kind",
        advanced=advanced,
    )


def mechanism_of(law: FiniteLaw, noise: AnyNoise, keep_probability: float) -> AlphaIdentity:
    """Return what swaps the private category of a law."""
    return AlphaIdentity(keep_probability, noise.noise(law))


def law_faults(law: FiniteLaw, target: str) -> tuple[str, ...]:
    """Say what keeps a law from being studied: no uncertainty at all, so that nothing can be compared."""
    if decomposition(law, TARGETS[target], uniform_levels(law.levels)).t0 > 1e-9:
        return ()
    return (
        "Under this law every outcome is certain and the effect is the same for everybody, so a handful of people tell "
        "it exactly. Give some category a chance of the outcome strictly between 0 and 1.",
    )


def cost_of(law: FiniteLaw, target: str, noise: AnyNoise) -> Decomposition:
    """T₀, T₁ and T₂ of a target (``"ate"`` or ``"att"``) under a law and a noise law."""
    return decomposition(law, TARGETS[target], noise.noise(law))


# --- guard and privacy in words ------------------------------------------------------------------------------

GUARD_TITLES = {
    "green": "Enough people",
    "amber": "Few people for this noise",
    "red": "Very few people for this noise",
    "refused": "Too few people: no interval",
}


def guard_of(law: FiniteLaw, n: float, mechanism: AlphaIdentity) -> Guard:
    """Judge n people by the small-sample rule: smallest cell and smallest singular value (section 2.7)."""
    return small_sample_guard(n, mechanism.finite().smallest_singular, smallest_cell=law.smallest_cell)


def guard_words(guard: Guard) -> str:
    """Say the verdict without symbols, for a text: the sentence up to its bracket."""
    return guard.sentence.split(" (κ", 1)[0]


def guard_floor(
    law: FiniteLaw, noise: AnyNoise, keep_probability: FloatArray, level: GuardLevel = "green"
) -> FloatArray:
    """Smallest n that reaches a level of the small-sample rule, for each keep probability (section 2.7)."""
    strength = [mechanism_of(law, noise, float(keep)).finite().smallest_singular for keep in keep_probability]
    return least_people(np.array(strength), level, smallest_cell=law.smallest_cell)


def ldp_words(mechanism: AlphaIdentity) -> str:
    """Say what the mechanism is worth in ε: a number, or that there is none.

    Examples
    --------
    >>> print(ldp_words(AlphaIdentity(0.5, uniform_levels(3))))
    ε = 1.39
    """
    epsilon = mechanism.ldp_epsilon()
    return f"ε = {significant(epsilon, 3)}" if math.isfinite(epsilon) else "no finite ε"


def response_epsilon(levels: int, keep_probability: float) -> float:
    """ε of the randomised response with this keep probability; infinite at 1."""
    return math.inf if keep_probability >= 1 else epsilon_for_keep_probability(levels, keep_probability)


def keep_words(keep_probability: float) -> str:
    """Say what a keep probability does.

    Examples
    --------
    >>> keep_words(0.2), keep_words(1.0)
    ('20% show the true value, 80% noise', 'everybody shows the true value')
    """
    if keep_probability >= 1:
        return "everybody shows the true value"
    return f"{percent(keep_probability)} show the true value, {percent(1 - keep_probability)} noise"


def people_words(n: float) -> str:
    """Write a number of people: whole below a million, three digits above."""
    return whole(n) if abs(n) < 1e6 else significant(n, 3)


ONE_COLUMN = (
    "Only the private column is protected. Outcome, treatment and every public column leave the device in the clear."
)
LEVEL_IS_NOT_EPSILON = (
    "α is a total-variation level, not an ε: what somebody sees moves by at most α in total variation when one "
    "person's private value changes, and that value itself is shown with probability α."
)
CONTINUOUS_LEAK = (
    "With noise on a continuous scale the exact true value is shown with probability α and can be recognised as such: "
    "no finite ε holds, δ(ε) = α for every ε."
)
KNOWN_LAW = (
    "The people are drawn from a known law, so that truth and error are known; nothing here comes from a person."
)

ASSUMED: tuple[str, ...] = (
    "Each person's private value is swapped on its own, with the same known mechanism, before anybody sees it. (15)",
    "Given the private category, treatment does not depend on what the outcomes would have been, and both arms have "
    "people in every category. (34)",
    f"{ONE_COLUMN} (locally private inference, E19)",
)

__all__ = [
    "ASSUMED",
    "CONTINUOUS_LEAK",
    "GUARD_TITLES",
    "KEEPS",
    "KNOWN_LAW",
    "LEVEL_IS_NOT_EPSILON",
    "ONE_COLUMN",
    "TARGETS",
    "TARGET_SHORT",
    "TARGET_WORDS",
    "AnyLaw",
    "AnyNoise",
    "EffectLaw",
    "EffectTarget",
    "EvenNoise",
    "KeepProbability",
    "LawA",
    "LawB",
    "LawChoice",
    "NoiseChoice",
    "OwnLaw",
    "People",
    "PointNoise",
    "PopulationNoise",
    "Share",
    "Shares",
    "cost_of",
    "guard_floor",
    "guard_of",
    "guard_words",
    "keep_grid",
    "keep_words",
    "law_faults",
    "law_field",
    "ldp_words",
    "mechanism_of",
    "noise_field",
    "people_words",
    "response_epsilon",
]
