"""Tests that the package cites as witnesses are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_cited_test_file_exists() -> None:
    cited = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "privexplorer").rglob("*.py")
        for name in re.findall(r"\btests/[\w/]+\.py", path.read_text(encoding="utf-8"))
    }
    assert len(cited) > 20
    gone = sorted(f"{where} cites {name}" for where, name in cited if not (ROOT / name).is_file())
    assert not gone, "\n".join(gone)
