"""Mechanisms, one module each: what they release, what they promise, and the exact law of their noise."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import Field

from privexplorer.privacy.mechanisms._base import MechanismRecord
from privexplorer.privacy.mechanisms.channels import (
    channel_delta,
    channel_epsilon,
    channel_total_variation,
    checked_channel,
)
from privexplorer.privacy.mechanisms.exponential import ExponentialMechanism, ReportNoisyMax
from privexplorer.privacy.mechanisms.gaussian import (
    Gaussian,
    GaussianNoise,
    analytic_gaussian_std,
    classic_gaussian_std,
    gaussian_delta,
    zcdp_gaussian_std,
)
from privexplorer.privacy.mechanisms.geometric import Geometric, GeometricNoise
from privexplorer.privacy.mechanisms.laplace import Laplace, LaplaceNoise
from privexplorer.privacy.mechanisms.randomised_response import (
    FrequencyEstimate,
    KaryRandomisedResponse,
    RandomisedResponse,
    epsilon_of_keep_probability,
    keep_probability,
)

RealNoise: TypeAlias = Annotated[Laplace | Gaussian, Field(discriminator="kind")]
"""Mechanisms that add noise to an answer that may be any number."""

AdditiveNoise: TypeAlias = Annotated[Laplace | Geometric | Gaussian, Field(discriminator="kind")]
"""Mechanisms that add noise to an answer; the geometric one needs whole-number answers."""

SelectionMechanism: TypeAlias = Annotated[ExponentialMechanism | ReportNoisyMax, Field(discriminator="kind")]
"""Mechanisms that choose one of several candidates by score."""

LocalMechanism: TypeAlias = Annotated[RandomisedResponse | KaryRandomisedResponse, Field(discriminator="kind")]
"""Mechanisms that randomise each record on its own."""

Mechanism: TypeAlias = Annotated[
    Laplace
    | Geometric
    | Gaussian
    | ExponentialMechanism
    | ReportNoisyMax
    | RandomisedResponse
    | KaryRandomisedResponse,
    Field(discriminator="kind"),
]
"""Every mechanism."""

__all__ = [
    "AdditiveNoise",
    "ExponentialMechanism",
    "FrequencyEstimate",
    "Gaussian",
    "GaussianNoise",
    "Geometric",
    "GeometricNoise",
    "KaryRandomisedResponse",
    "Laplace",
    "LaplaceNoise",
    "LocalMechanism",
    "Mechanism",
    "MechanismRecord",
    "RandomisedResponse",
    "RealNoise",
    "ReportNoisyMax",
    "SelectionMechanism",
    "analytic_gaussian_std",
    "channel_delta",
    "channel_epsilon",
    "channel_total_variation",
    "checked_channel",
    "classic_gaussian_std",
    "epsilon_of_keep_probability",
    "gaussian_delta",
    "keep_probability",
    "zcdp_gaussian_std",
]
