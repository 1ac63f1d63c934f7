"""Run all benchmarks and print one table; ``--write`` puts it into README.md.

Each row is measured against something in the same run, or against a stated limit. Times are medians.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
from pathlib import Path

import numpy as np
import scipy

HERE = Path(__file__).parent
MODULES = (
    "entropy_panels",
    "coefficients",
    "histogram",
    "coverage_panels",
    "read_csv",
    "locally_private",
    "effects",
    "predictability",
    "browser",
)
BEGIN, END = "<!-- table begins -->", "<!-- table ends -->"


def table(rows: list[dict[str, str]]) -> str:
    """Lay rows out as a Markdown table."""
    heads = ("what", "measured", "against", "limit", "holds")
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(str(row.get(head, "")) for head in heads) + " |" for row in rows]
    return "\n".join(lines)


def main() -> None:
    """Run, print and, on request, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=list(MODULES), choices=MODULES)
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    choice = parser.parse_args()
    sys.path.insert(0, str(HERE))
    rows: list[dict[str, str]] = []
    for name in choice.only:
        found = importlib.import_module(name).run()
        rows += found
        for row in found:
            print(" | ".join(f"{key}: {value}" for key, value in row.items()), flush=True)
    text = table(rows)
    stamp = (
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"{platform.machine()}, two cores."
    )
    print(f"\n{text}\n\n{stamp}")
    if choice.write:
        page = HERE / "README.md"
        before, _, rest = page.read_text("utf-8").partition(BEGIN)
        page.write_text(f"{before}{BEGIN}\n{text}\n\n{stamp}\n{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
