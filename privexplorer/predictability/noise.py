"""Noise of a release: isotropic, with a given covariance, calibrated, or that of a DP mechanism; and sums of them.

Spec predictability, sections 2.4 (Lem 4.3, "Combining with DP") and 3.7; errata E1, E15, E18.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError, UnsupportedCombination
from privexplorer.predictability._checks import check_covariance
from privexplorer.predictability.spectrum import noise_root
from privexplorer.predictability.summary import MomentSummary
from privexplorer.privacy import ApproxDP, Gaussian, Guarantee, Laplace, PureDP
from privexplorer.records import Epsilon, Number, Record, field


@dataclass(frozen=True, eq=False)
class NoiseSetting:
    """What the size of a noise may depend on.

    Attributes
    ----------
    dimension : int
        Number of released numbers d.
    noise_multiplier : float
        ν of the noise scale in use (1 on the paper's).
    sandwich_root : (d, rank) float array or None
        Root of V_sand, for calibrated noise.
    sensitivity_l1, sensitivity_l2 : float or None
        How far one record moves the numbers, for DP mechanisms.
    reason : str or None
        Why there is no sensitivity.
    """

    dimension: int
    noise_multiplier: float = 1.0
    sandwich_root: FloatArray | None = None
    sensitivity_l1: float | None = None
    sensitivity_l2: float | None = None
    reason: str | None = None


def noise_setting(
    summary: MomentSummary,
    noise_multiplier: float = 1.0,
    sensitivity_l1: float | None = None,
    sensitivity_l2: float | None = None,
    reason: str | None = None,
) -> NoiseSetting:
    """Return the setting of a release from its summary; without V_sand where J is not square."""
    kept = summary.moments - summary.weight_moment
    root = summary.sandwich_root if kept == summary.dimension else None
    return NoiseSetting(summary.dimension, noise_multiplier, root, sensitivity_l1, sensitivity_l2, reason)


@dataclass(frozen=True, eq=False)
class NoiseLaw:
    """A noise with its covariance and what it promises; laws of independent noises add with ``+``.

    Attributes
    ----------
    covariance : (d, d) float array
        Σ, unit of the released numbers squared.
    gaussian_root : (k, d) float array
        Root of the covariance of the Gaussian part.
    laplace_scales : (parts, d) float array
        Scales of independent Laplace parts, one row each.
    guarantee : Guarantee or None
        What the noise promises for one replaced record, if anything.
    notes : tuple of str
        Sentences for the reader.
    """

    covariance: FloatArray
    gaussian_root: FloatArray
    laplace_scales: FloatArray
    guarantee: Guarantee | None = None
    notes: tuple[str, ...] = ()

    @property
    def is_gaussian(self) -> bool:
        """Whether the large-sample value is an upper bound for every attacker (erratum E15)."""
        return not np.any(self.laplace_scales)

    def sample(self, trials: int, rng: np.random.Generator) -> FloatArray:
        """Draw noise, shape ``(trials, d)``."""
        out = np.einsum("tk,kd->td", rng.standard_normal((trials, self.gaussian_root.shape[0])), self.gaussian_root)
        for scales in self.laplace_scales:
            out += rng.laplace(size=(trials, scales.size)) * scales
        return np.asarray(out)

    def __add__(self, other: NoiseLaw) -> NoiseLaw:
        """Return the law of the sum of independent noises: covariances add."""
        if self.covariance.shape != other.covariance.shape:
            raise ParameterError("Only noises of the same number of released values add up.")
        guarantee = self.guarantee if other.guarantee is None else other.guarantee
        notes = dict.fromkeys((*self.notes, *other.notes))
        if self.guarantee is not None and other.guarantee is not None:
            guarantee = _smaller(self.guarantee, other.guarantee)
            notes[
                "Of two private noises on one release the stronger promise is quoted; their sum may promise more."
            ] = None
        return NoiseLaw(
            self.covariance + other.covariance,
            np.vstack([self.gaussian_root, other.gaussian_root]),
            np.vstack([self.laplace_scales, other.laplace_scales]),
            guarantee,
            tuple(notes),
        )


def _smaller(first: Guarantee, second: Guarantee) -> Guarantee:
    return min((first, second), key=lambda one: (one.levels().get("δ", 0.0), one.levels().get("ε", math.inf)))


def gaussian_law(covariance: ArrayLike, dimension: int, notes: tuple[str, ...] = ()) -> NoiseLaw:
    """Return the law of Gaussian noise with this covariance."""
    sigma = check_covariance(covariance, dimension)
    return NoiseLaw(sigma, noise_root(sigma), np.zeros((0, dimension)), None, notes)


class NoiseRecord(Record):
    """Base of the noises."""

    def law(self, setting: NoiseSetting) -> NoiseLaw:
        """Return the law of the noise that is really added, in the unit of the released numbers."""
        raise NotImplementedError


class NoNoise(NoiseRecord):
    """The exact numbers are published."""

    kind: Literal["none"] = "none"
    title: ClassVar[str] = "No noise"
    formula: ClassVar[str] = r"\Sigma_\Delta=0"
    source: ClassVar[str] = "predictability, Rem 3.7"

    def law(self, setting: NoiseSetting) -> NoiseLaw:
        """Return zero noise."""
        return gaussian_law(np.zeros((setting.dimension, setting.dimension)), setting.dimension)


class Isotropic(NoiseRecord):
    """The same independent Gaussian noise on every number."""

    kind: Literal["isotropic"] = "isotropic"
    title: ClassVar[str] = "Equal Gaussian noise"
    formula: ClassVar[str] = r"\Sigma_\Delta=\sigma^2 I"
    source: ClassVar[str] = "predictability, Rem 3.7"
    std: Annotated[float, Number] = field(
        0.1, "Noise σ", "Standard deviation of the noise, in the unit of the published numbers.", key="sigma",
        ge=0, le=1e9, scale="log", low=1e-4, high=100.0,
    )  # fmt: skip

    def law(self, setting: NoiseSetting) -> NoiseLaw:
        """Return the law."""
        return gaussian_law(self.std**2 * np.eye(setting.dimension), setting.dimension)


class GivenCovariance(NoiseRecord):
    """Gaussian noise with a covariance matrix that the user types in."""

    kind: Literal["covariance"] = "covariance"
    title: ClassVar[str] = "Gaussian noise with a given covariance"
    formula: ClassVar[str] = r"\Sigma_\Delta"
    source: ClassVar[str] = "predictability §1.1"
    entries: Annotated[
        tuple[Annotated[float, Number, Field(ge=-1e18, le=1e18)], ...], Field(min_length=1, max_length=10_000)
    ] = field((1.0,), "Covariance Σ", "All entries row by row: d times d numbers.", key="covariance")

    @classmethod
    def of(cls, covariance: ArrayLike) -> GivenCovariance:
        """Return the noise with this matrix."""
        return cls(entries=tuple(float(entry) for entry in np.asarray(covariance, dtype=np.float64).ravel()))

    def law(self, setting: NoiseSetting) -> NoiseLaw:
        """Return the law (ParameterError if the entries do not make a covariance of the right size)."""
        size = math.isqrt(len(self.entries))
        if size * size != len(self.entries):
            raise ParameterError(
                f"A covariance matrix has d times d entries, for the {setting.dimension} published number"
                f"{'s' if setting.dimension > 1 else ''} here {setting.dimension} times {setting.dimension} = "
                f"{setting.dimension**2}; {len(self.entries)} are given, which is not the square of a whole number.",
                field="covariance",
            )
        return gaussian_law(np.reshape(self.entries, (size, size)), setting.dimension)


class Calibrated(NoiseRecord):
    """Predictability-calibrated noise: every query's r falls by the same factor (Lem 4.3).

    Its covariance is σ²V_sand/ν: with the noise multiplier it weighs σ²V_sand in the formula, so r = ρ/√(1+σ²) on
    either noise scale (erratum E1).
    """

    kind: Literal["calibrated"] = "calibrated"
    title: ClassVar[str] = "Calibrated noise"
    formula: ClassVar[str] = (
        r"\Sigma_\Delta=\tfrac{\sigma^2}{\nu}V_{\mathrm{sand}},\quad V_{\mathrm{sand}}=J^{-1}V_gJ^{-\top}"
    )
    source: ClassVar[str] = "predictability, Lem 4.3"
    level: Annotated[float, Number] = field(
        1.0, "Noise level σ²", "Unit-free: the correlation with every query falls by a factor √(1+σ²).",
        key="level", ge=0, le=1e12, scale="log", low=0.01, high=1000.0,
    )  # fmt: skip

    def law(self, setting: NoiseSetting) -> NoiseLaw:
        """Return the law (UnsupportedCombination where J cannot be inverted)."""
        if setting.sandwich_root is None:
            raise UnsupportedCombination(
                "Calibrated noise needs a release with as many moments as published numbers.", field="noise"
            )
        root = math.sqrt(self.level / setting.noise_multiplier) * setting.sandwich_root.T
        note = (
            "The covariance of calibrated noise is computed from the private data, so publishing it (or a promise that "
            "rests on it) would itself need protection."
        )
        return NoiseLaw(np.einsum("ki,kj->ij", root, root), root, np.zeros((0, setting.dimension)), None, (note,))

    @classmethod
    def for_factor(cls, fraction: float) -> Calibrated:
        """Return the noise that multiplies the noiseless bound by a factor in (0, 1]: σ² = 1/fraction² - 1.

        Examples
        --------
        >>> Calibrated.for_factor(0.5).level
        3.0
        """
        if not 0.0 < fraction <= 1.0:
            raise ParameterError(
                f"The factor on the noiseless value must be above 0 and at most 1; it is {fraction:g}.",
                field="fraction",
            )
        return cls(level=fraction**-2 - 1.0)


class LaplaceForPrivacy(NoiseRecord):
    """The noise of the Laplace mechanism: variance 2b² on every number, b = sensitivity/ε."""

    kind: Literal["laplace"] = "laplace"
    title: ClassVar[str] = "Laplace noise for differential privacy"
    formula: ClassVar[str] = r"b=\Delta_1/\varepsilon,\quad \Sigma_\Delta=2b^2I"
    source: ClassVar[str] = "predictability §2.4"
    epsilon: Epsilon = 1.0

    def law(self, setting: NoiseSetting) -> NoiseLaw:
        """Return the law (UnsupportedCombination where the release has no finite sensitivity)."""
        mechanism = Laplace(epsilon=self.epsilon)
        noise = mechanism.noise(_sensitivity(setting, setting.sensitivity_l1))
        note = (
            "Laplace noise is not Gaussian: an attacker who uses its shape can do a little better than the "
            "large-sample value shown, which is exact for Gaussian noise only."
        )
        d = setting.dimension
        return NoiseLaw(
            noise.variance * np.eye(d),
            np.zeros((0, d)),
            np.full((1, d), noise.scale),
            PureDP(self.epsilon),
            (note,),
        )


class GaussianForPrivacy(NoiseRecord):
    """The noise of the Gaussian mechanism, calibrated exactly to (ε, δ)."""

    kind: Literal["gaussian"] = "gaussian"
    title: ClassVar[str] = "Gaussian noise for differential privacy"
    formula: ClassVar[str] = r"\sigma=\sigma(\varepsilon,\delta)\,\Delta_2,\quad \Sigma_\Delta=\sigma^2I"
    source: ClassVar[str] = "predictability §2.4"
    epsilon: Epsilon = 1.0
    delta: Annotated[float, Number] = field(
        1e-6, "Failure chance δ", "Probability with which ε may fail; keep it far below 1 over the number of people.",
        key="delta", group="Privacy", ge=1e-300, le=0.5, scale="log", low=1e-12,
    )  # fmt: skip

    def law(self, setting: NoiseSetting) -> NoiseLaw:
        """Return the law (UnsupportedCombination where the release has no finite sensitivity)."""
        mechanism = Gaussian(epsilon=self.epsilon, delta=self.delta)
        noise = mechanism.noise(_sensitivity(setting, setting.sensitivity_l2))
        d = setting.dimension
        return NoiseLaw(
            noise.variance * np.eye(d), noise.std * np.eye(d), np.zeros((0, d)), ApproxDP(self.epsilon, self.delta)
        )


def _sensitivity(setting: NoiseSetting, value: float | None) -> float:
    if value is None:
        raise UnsupportedCombination(
            setting.reason
            or "Differentially private noise needs to know how far one record can move the published numbers; give "
            "public bounds of the columns.",
            field="noise",
        )
    return value


Noise: TypeAlias = Annotated[
    NoNoise | Isotropic | GivenCovariance | Calibrated | LaplaceForPrivacy | GaussianForPrivacy,
    Field(discriminator="kind"),
]
"""What a select box of noises lists."""


def total_noise(noises: Sequence[NoiseRecord], setting: NoiseSetting) -> NoiseLaw:
    """Return the law of the sum of independent noises; no noise if there are none (end of section 4.3)."""
    out = NoNoise().law(setting)
    for one in noises:
        out = out + one.law(setting)
    return out


__all__ = [
    "Calibrated",
    "GaussianForPrivacy",
    "GivenCovariance",
    "Isotropic",
    "LaplaceForPrivacy",
    "NoNoise",
    "Noise",
    "NoiseLaw",
    "NoiseRecord",
    "NoiseSetting",
    "gaussian_law",
    "noise_setting",
    "total_noise",
]
