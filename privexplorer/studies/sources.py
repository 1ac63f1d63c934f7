"""Every labelled item of the three sources: its kind, the study that shows it, the test that witnesses it.

The items are shipped as data (``ledger/*.csv``); which study shows one is said by the study itself
(``Study.rows``), which test witnesses one stands in ``ledger/witnesses.json``.
"""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from privexplorer.studies.catalogue import catalogue

SOURCES = {
    "thesis_1_to_5": "Statistical inference in the DP model",
    "thesis_6_to_8": "Statistical inference in the DP model",
    "predictability": "Predictability",
    "locally_private_inference": "Locally private inference",
}
KINDS = {
    "computable": "can be computed",
    "illustratable": "can be illustrated",
    "proof-only": "part of a proof",
}


STARTS = {"T-Thm11": "5"}
"""Items that open a chapter without saying so in their label."""


@dataclass(frozen=True)
class Item:
    """One labelled item of a source."""

    id: str
    source: str
    chapter: str
    label: str
    title: str
    kind: str
    check: str
    studies: tuple[str, ...]
    test: str

    @property
    def done(self) -> bool:
        """Whether the app shows it and a test witnesses it."""
        return bool(self.studies and self.test)

    @property
    def counts(self) -> bool:
        """Whether there is anything to show: parts of proofs are listed, not counted."""
        return self.kind != "proof-only"


def chapter_of(label: str, before: str) -> str:
    """Read the chapter or section off a label; items without one stand in that of the item before.

    Examples
    --------
    >>> chapter_of("Sec 4.4.1.2, u1,u2", "3"), chapter_of("Lemma 28", "4"), chapter_of("Eq (4.1)", "4")
    ('4', '4', '4')
    """
    found = re.search(r"(?:Ch|Sec|Section|Sections|Table|Algorithm|Eqs?|§)\s*\(?(\d+)(?=[.\s,)]|$)", label)
    number = int(found.group(1)) if found else int(before)
    return str(max(number, int(before)))


def section_of(label: str) -> str:
    """Tell the body of a paper from its appendix.

    Examples
    --------
    >>> section_of("Theorem A.9"), section_of("Theorem 3.6; A.7.4"), section_of("Lemma 3(iv)")
    ('appendix', 'body', 'body')
    """
    return "appendix" if re.match(r"^(?:\w+ )?A\.", label) else "body"


@cache
def items() -> tuple[Item, ...]:
    """Return all items in the order of the sources."""
    home = resources.files("privexplorer.studies") / "ledger"
    tests: dict[str, str] = json.loads((home / "witnesses.json").read_text("utf-8"))
    shown: dict[str, list[str]] = {}
    for name, study in catalogue().items():
        for item in study.rows:
            shown.setdefault(item, []).append(name)
    out = []
    for stem, source in SOURCES.items():
        chapter = "6" if stem.endswith("6_to_8") else "1"
        for line in csv.DictReader((home / f"{stem}.csv").read_text("utf-8").splitlines()):
            row: dict[str, str] = dict(line)
            if stem.startswith("thesis"):
                chapter = chapter_of(row["source_label"], STARTS.get(row["id"], chapter))
                place = f"Chapter {chapter}"
            else:
                place = section_of(row["source_label"]).capitalize()
            out.append(
                Item(
                    row["id"],
                    source,
                    place,
                    row["source_label"],
                    row["title"],
                    row["kind"],
                    row["check"],
                    tuple(shown.get(row["id"], ())),
                    tests.get(row["id"], ""),
                )
            )
    return tuple(out)
