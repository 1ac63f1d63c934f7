"""A real server and a real browser, and how to start them."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running_app(*options: str) -> Iterator[str]:
    """Start the app as a user does and yield its address; end it afterwards."""
    with running_server([sys.executable, "-m", "privexplorer", "app"], *options) as address:
        yield address


@contextlib.contextmanager
def running_server(command: list[str], *options: str) -> Iterator[str]:
    """Start a Streamlit server and yield its address once it answers; end it afterwards."""
    port = free_port()
    environment = {**os.environ, "STREAMLIT_CLIENT_SHOW_ERROR_DETAILS": "full"}
    process = subprocess.Popen(
        [*command, "--server.port", str(port), "--server.headless", "true", *options],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(240):
            if process.poll() is not None:
                pytest.fail("the app ended before it answered")
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    break
            time.sleep(0.25)
        else:
            pytest.fail("the app did not answer within a minute")
        yield address
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)


class Visitor:
    """A browser tab with what the tests ask of it."""

    def __init__(self, context: Any, server: str) -> None:
        self.context, self.server, self.page = context, server, context.new_page()
        self.page.set_default_timeout(90_000)  # a busy machine is slow, not broken
        self.foreign: list[str] = []
        self.page.on("request", self._note)

    def _note(self, request: Any) -> None:
        if not request.url.startswith((self.server, self.server.replace("http", "ws"), "data:", "blob:", "about:")):
            self.foreign.append(request.url)

    def open(self, path: str = "/") -> None:
        self.page.goto(self.server + path)

    def chart(self) -> Any:
        """Wait for the finished chart and return it."""
        chart = self.page.locator("[data-testid=stPlotlyChart] svg.main-svg").first
        chart.wait_for(timeout=90_000)
        # the first page of a session shows its chart before the rest, which ends with this box
        self.page.get_by_text("Share this view").first.wait_for(timeout=90_000)
        self.settled()
        return chart

    def settled(self) -> None:
        """Wait until the page has stopped computing."""
        self.page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for(timeout=120_000)

    def text(self) -> str:
        return str(self.page.locator("[data-testid=stMain]").inner_text())

    def cards(self) -> list[str]:
        self.page.locator("[data-testid=stMetricValue]").first.wait_for(timeout=90_000)
        return [str(value) for value in self.page.locator("[data-testid=stMetricValue]").all_inner_texts()]

    def slide(self, title: str, until: str, up: bool = False, most: int = 30) -> None:
        """Move a slider with the keyboard, step by step, until the address matches."""
        slider = self.page.get_by_role("slider", name=title)
        for _ in range(most):
            slider.focus()
            before = self.page.url
            self.page.keyboard.press("ArrowRight" if up else "ArrowLeft")
            for _ in range(30):  # a key that comes while the page is drawn again is lost: press it once more
                self.page.wait_for_timeout(100)
                if self.page.url != before:
                    break
            self.settled()
            if re.search(until, self.page.url):
                return
        pytest.fail(f"{title} never reached {until}")

    def broken(self) -> bool:
        return self.page.locator("[data-testid=stException]").count() > 0
