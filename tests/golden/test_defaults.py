"""Defaults are part of every link: what is left out of a link means these values, so they change on purpose only."""

from __future__ import annotations

import json
from pathlib import Path

from privexplorer.records import leaves, text
from privexplorer.studies import catalogue

KNOWN = json.loads((Path(__file__).parent / "defaults.json").read_text(encoding="utf-8"))


def test_defaults_are_those_of_the_links_that_were_sent() -> None:
    now = {
        name: {setting: text(value) for setting, value in leaves(study.scenario())}
        for name, study in catalogue().items()
    }
    changed = [
        f"{name}: {setting} was {KNOWN.get(name, {}).get(setting)}, is {settings.get(setting)}"
        for name, settings in now.items()
        for setting in {**settings, **KNOWN.get(name, {})}
        if settings.get(setting) != KNOWN.get(name, {}).get(setting)
    ]
    gone = sorted(set(KNOWN) - set(now))
    assert not changed, "old links would mean something else:\n" + "\n".join(changed)
    assert not gone, f"links to {gone} would open nothing"
