"""Distributions on finitely many symbols: their exact functionals and fast, reproducible samples."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from privexplorer.distributions.empirical import Empirical
from privexplorer.distributions.families import (
    Dirichlet,
    Distribution,
    Geometric,
    TwoStep,
    Typed,
    Uniform,
    Zipf,
    figure_families,
)
from privexplorer.distributions.fingerprints import (
    Fingerprints,
    NestedSamples,
    nested_counts,
    nested_fingerprints,
    nested_samples,
    unseen_targets,
)
from privexplorer.distributions.law import DiscreteLaw, Unit

DiscreteDistribution = Annotated[
    Uniform | TwoStep | Zipf | Dirichlet | Geometric | Empirical | Typed, Field(discriminator="kind")
]
"""What a select box of distributions lists."""

__all__ = [
    "Dirichlet",
    "DiscreteDistribution",
    "DiscreteLaw",
    "Distribution",
    "Empirical",
    "Fingerprints",
    "Geometric",
    "NestedSamples",
    "TwoStep",
    "Typed",
    "Uniform",
    "Unit",
    "Zipf",
    "figure_families",
    "nested_counts",
    "nested_fingerprints",
    "nested_samples",
    "unseen_targets",
]
