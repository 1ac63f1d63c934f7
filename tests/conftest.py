"""Settings that all tests share: Hypothesis profiles, and what happens without a browser."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS / "helpers"))  # `import record_data` and friends, from any test module

settings.register_profile("fast", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=500, derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def find_chromium() -> str | None:
    """Path of the browser for tests marked e2e: $CHROMIUM if set, else the system's."""
    return shutil.which(os.environ.get("CHROMIUM") or "/usr/bin/chromium")


def without_browser(environment: dict[str, str] | os._Environ[str], chromium: str | None) -> tuple[str, str] | None:
    """Say what to do with a browser test: None to run it, else ("fail" or "skip", reason)."""
    if chromium:
        return None
    wanted = environment.get("CHROMIUM") or "/usr/bin/chromium"
    reason = f"browser tests need Chromium: there is none at {wanted} (set CHROMIUM to its path)"
    return ("fail" if environment.get("CI") else "skip"), reason


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a browser test without a browser on a user's machine; fail it where CI is set."""
    if item.get_closest_marker("e2e") is None:
        return
    verdict = without_browser(os.environ, find_chromium())
    if verdict is None:
        return
    what, reason = verdict
    if what == "fail":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser; only for tests marked e2e."""
    found = find_chromium()
    assert found is not None
    return found
