"""What happens to a browser test where there is no browser."""

from __future__ import annotations

import shutil
from collections.abc import Mapping


def wanted(environment: Mapping[str, str]) -> str:
    """Where the browser should be: $CHROMIUM if set, else where the system puts it."""
    return environment.get("CHROMIUM") or "/usr/bin/chromium"


def find_chromium(environment: Mapping[str, str]) -> str | None:
    """Path of the browser, or None."""
    return shutil.which(wanted(environment))


def without_browser(environment: Mapping[str, str]) -> tuple[str, str] | None:
    """Say what to do with a browser test: None to run it, else ("fail" or "skip", reason)."""
    if find_chromium(environment):
        return None
    reason = f"browser tests need Chromium: there is none at {wanted(environment)} (set CHROMIUM to its path)"
    return ("fail" if environment.get("CI") else "skip"), reason
