"""All best-polynomial coefficients up to degree 24, once in a fresh process."""

from __future__ import annotations

from timing import child, row

CODE = """
from privexplorer.properties import remez
import time
begun = time.perf_counter()
for degree in range(1, 25):
    remez(degree)
print(time.perf_counter() - begun)
"""


def run() -> list[dict[str, str]]:
    """Time the computation in a fresh interpreter."""
    spent = float(child(CODE))
    return [row("Remez, degrees 1 to 24", f"{spent:.2f} s", "once per process", "2 s", spent <= 2)]
