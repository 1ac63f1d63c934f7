"""Frozen records of choices: their fields, names, links and the sentences for bad values."""

from __future__ import annotations

from privexplorer.records._base import (
    Accuracy,
    Delta,
    Epsilon,
    Grid,
    Number,
    RealGrid,
    Record,
    SampleSize,
    Scenario,
    Seed,
    SymbolCount,
    Trials,
    field,
    once_each,
    sorted_distinct,
)

__all__ = [
    "Accuracy",
    "Delta",
    "Epsilon",
    "Grid",
    "Number",
    "RealGrid",
    "Record",
    "SampleSize",
    "Scenario",
    "Seed",
    "SymbolCount",
    "Trials",
    "field",
    "once_each",
    "sorted_distinct",
]
