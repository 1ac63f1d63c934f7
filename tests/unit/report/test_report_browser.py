"""A report in a browser: charts appear, nothing is requested, both image buttons save a file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from privexplorer import report
from privexplorer.studies import study

CHROMIUM = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.mark.e2e
def test_report_in_a_browser(tmp_path):
    from playwright.sync_api import sync_playwright

    asked = study("entropy-epsilon")
    path = tmp_path / "report.html"
    path.write_text(report.to_html(asked.run(asked.scenario(trials=16)), asked), encoding="utf-8")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        page = browser.new_page(viewport={"width": 390, "height": 800})
        requests: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector(".js-plotly-plot [data-svg]", state="attached")
        for words, start in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
            button = page.get_by_label(re.compile(f"Download plot as an? {words}")).first
            with page.expect_download() as download:
                button.dispatch_event("click")
            saved = Path(download.value.path())
            assert saved.read_bytes().startswith(start)
            assert download.value.suggested_filename == f"entropy-epsilon-error.{words.lower()}"
            page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, "no sideways scroll"
        line = page.locator(".js-plotly-plot .scatterlayer .js-line").first
        assert re.fullmatch(r"rgb\(\d+, \d+, \d+\)", line.evaluate("node => getComputedStyle(node).stroke"))
        browser.close()
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []
    assert complaints == []
