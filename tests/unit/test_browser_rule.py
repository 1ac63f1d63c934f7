"""A missing browser is skipped on a user's machine, and a failure where CI is set."""

from __future__ import annotations

import sys

from browser_rule import find_chromium, without_browser


def test_missing_browser() -> None:
    nowhere = {"CHROMIUM": "/nowhere/chromium"}
    what, reason = without_browser(nowhere) or ("", "")
    assert what == "skip"
    assert "/nowhere/chromium" in reason
    assert (without_browser({**nowhere, "CI": "true"}) or ("", ""))[0] == "fail"


def test_browser_where_the_user_says() -> None:
    here = {"CHROMIUM": sys.executable, "CI": "true"}
    assert find_chromium(here) == sys.executable
    assert without_browser(here) is None
