"""Private estimates of entropy, support coverage and support size."""

from __future__ import annotations

from privexplorer.properties.entropy import (
    AdditiveEntropy,
    EntropyEstimator,
    MillerMadow,
    NoiseRule,
    PlugIn,
    Polynomial,
    bounded_difference_variance,
    plug_in_bias_bound,
    plug_in_sensitivity,
    plug_in_variance_bound,
    polynomial_parameters,
)
from privexplorer.properties.remez import Approximation, remez
from privexplorer.properties.tables import AdditiveTable, sensitivity, sensitivity_pair

__all__ = [
    "AdditiveEntropy",
    "AdditiveTable",
    "Approximation",
    "EntropyEstimator",
    "MillerMadow",
    "NoiseRule",
    "PlugIn",
    "Polynomial",
    "bounded_difference_variance",
    "plug_in_bias_bound",
    "plug_in_sensitivity",
    "plug_in_variance_bound",
    "polynomial_parameters",
    "remez",
    "sensitivity",
    "sensitivity_pair",
]
