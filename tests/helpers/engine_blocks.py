"""Blocks for the tests of the engine; importable by name, as worker processes need."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.errors import ParameterError
from privexplorer.simulation import block_rng


def draw(prepared: dict[str, Any], block: int) -> FloatArray:
    """Draw a block of averages; digits would differ if anything depended on order or worker."""
    values = block_rng(prepared["seed"], block).standard_normal((7, 3, 50))
    return (values * prepared["weights"]).sum(axis=-1)


def uneven(prepared: dict[str, Any], block: int) -> FloatArray:
    """Take longest for the first blocks, so that they finish last."""
    time.sleep(0.1 if block < 3 else 0.0)
    return draw(prepared, block)


def busy(prepared: dict[str, Any], block: int) -> FloatArray:
    """Compute for as long as a long block may."""
    end = time.perf_counter() + 0.1
    while time.perf_counter() < end:
        sum(range(1000))
    return np.full((1, 1, 1), float(block))


def failing(prepared: dict[str, Any], block: int) -> FloatArray:
    """Fail at block 3, when others are on their way."""
    if block == 3:
        raise ParameterError("The fourth block cannot be computed.")
    return busy(prepared, block)
