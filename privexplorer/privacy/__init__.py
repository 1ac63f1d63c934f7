"""Privacy: guarantees and their conversions, composition, mechanisms, public parameters and repeatable noise."""

from __future__ import annotations

from privexplorer.privacy.guarantees import (
    ZCDP,
    ApproxDP,
    Guarantee,
    LocalDP,
    Model,
    Neighbours,
    PureDP,
    TotalVariation,
)
from privexplorer.privacy.mechanisms import Laplace, LaplaceNoise

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Guarantee",
    "Laplace",
    "LaplaceNoise",
    "LocalDP",
    "Model",
    "Neighbours",
    "PureDP",
    "TotalVariation",
]
