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
from privexplorer.records._link import apply, dump, link_name, load, near, nearest, salvage, text, unknown_name
from privexplorer.records._sentences import Problem, problems, rule, validated
from privexplorer.records._walk import Leaf, Setting, extra, leaf, leaves, link_key, settings, shape, start_value

__all__ = [
    "Accuracy",
    "Delta",
    "Epsilon",
    "Grid",
    "Leaf",
    "Number",
    "Problem",
    "RealGrid",
    "Record",
    "SampleSize",
    "Scenario",
    "Seed",
    "Setting",
    "SymbolCount",
    "Trials",
    "apply",
    "dump",
    "extra",
    "field",
    "leaf",
    "leaves",
    "link_key",
    "link_name",
    "load",
    "near",
    "nearest",
    "once_each",
    "problems",
    "rule",
    "salvage",
    "settings",
    "shape",
    "sorted_distinct",
    "start_value",
    "text",
    "unknown_name",
    "validated",
]
