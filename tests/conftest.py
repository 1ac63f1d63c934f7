"""Settings that all tests share: Hypothesis profiles, and what happens without a browser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS / "helpers"))  # `import record_data` and friends, from any test module

from browser_rule import find_chromium, without_browser  # noqa: E402

from privexplorer.simulation import one_thread_for_good  # noqa: E402

one_thread_for_good()  # as the app and every run do: parts that a test computes by hand must have the same bits

settings.register_profile("fast", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("thorough", max_examples=500, derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a browser test without a browser on a user's machine; fail it where CI is set."""
    if item.get_closest_marker("e2e") is None:
        return
    verdict = without_browser(os.environ)
    if verdict is None:
        return
    what, reason = verdict
    if what == "fail":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the browser; only for tests marked e2e."""
    found = find_chromium(os.environ)
    assert found is not None
    return found
