"""Mechanisms, one module each: what they release, what they promise, and the exact law of their noise."""

from __future__ import annotations

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

__all__ = [
    "Gaussian",
    "GaussianNoise",
    "Geometric",
    "GeometricNoise",
    "Laplace",
    "LaplaceNoise",
    "analytic_gaussian_std",
    "classic_gaussian_std",
    "gaussian_delta",
    "zcdp_gaussian_std",
]
