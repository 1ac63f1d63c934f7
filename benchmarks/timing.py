"""Timing helpers: medians of repeated runs, and peak memory of a fresh process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median wall time of ``repeats`` runs."""
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def row(what: str, measured: str, against: str, limit: str, holds: bool) -> dict[str, str]:
    """Make one line of the table."""
    return {"what": what, "measured": measured, "against": against, "limit": limit, "holds": "yes" if holds else "NO"}


def child(code: str) -> str:
    """Run code in a fresh interpreter and return what it printed."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()
