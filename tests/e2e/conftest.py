"""A real server and a real browser: one of each for the whole folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser_tools import FLAGS, Visitor, running_app


@pytest.fixture(scope="module")  # not longer: its event loop would stay in the way of other tests
def server() -> Iterator[str]:
    with running_app() as address:
        yield address


@pytest.fixture(scope="module")  # not longer: its event loop would stay in the way of other tests
def browser(chromium: str) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        engine = play.chromium.launch(executable_path=chromium, args=FLAGS)
        yield engine
        engine.close()


@pytest.fixture
def visit(browser: Any, server: str) -> Iterator[Any]:
    """Open tabs: ``visit(width=390, dark=True)``; all are closed at the end."""
    contexts: list[Any] = []

    def new(
        width: int = 1440, height: int = 1000, dark: bool = False, phone: bool = False, address: str = server
    ) -> Visitor:
        options: dict[str, Any] = {"user_agent": "Mozilla/5.0 (Linux; Android 14) Mobi"} if phone else {}
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
            **options,
        )
        contexts.append(context)
        return Visitor(context, address)

    yield new
    for context in contexts:
        context.close()
