"""What a visitor waits for: first chart, a new ε, the first simulated curve; in Chromium on the same machine."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from timing import row

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

CHART = "[data-testid=stPlotlyChart] svg.main-svg"
WATCH = """
() => {
  window.times = [];
  document.addEventListener('keydown', () => { window.pressed = performance.now(); window.open_ = true; }, true);
  const seen = new MutationObserver((list) => {
    if (!window.open_) return;
    for (const item of list) {
      const place = item.target.nodeType === 1 ? item.target : item.target.parentElement;
      if (place && place.closest('[data-testid=stPlotlyChart]')) {
        window.times.push(performance.now() - window.pressed);
        window.open_ = false;
        return;
      }
    }
  });
  seen.observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
}
"""


def first_chart(page: Any, address: str) -> float:
    """Seconds until the chart is visible."""
    begun = time.perf_counter()
    page.goto(address)
    page.locator(CHART).first.wait_for(timeout=60_000)
    return time.perf_counter() - begun


def repaint(page: Any, title: str, times: int = 20) -> float:
    """Return the median of so many key presses on a slider, key press to chart change, in milliseconds."""
    page.evaluate(WATCH)
    slider = page.get_by_role("slider", name=title)
    slider.focus()
    for number in range(times):
        page.keyboard.press("ArrowLeft" if number % 2 else "ArrowRight")
        page.wait_for_function(f"window.times.length > {number}", timeout=30_000)
        page.wait_for_timeout(400)
    return float(statistics.median(page.evaluate("window.times")))


def repaint_choice(page: Any, title: str, times: int = 20) -> float:
    """Return the median time from choosing another entry of a list (Enter) to the chart's change, in milliseconds."""
    page.evaluate(WATCH)
    for number in range(times):
        page.get_by_role("combobox", name=title).click()
        page.keyboard.press("ArrowUp" if number % 2 else "ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_function(f"window.times.length > {number}", timeout=30_000)
        page.wait_for_timeout(400)
    return float(statistics.median(page.evaluate("window.times")))


def predictability(context: Any, server: str) -> list[dict[str, str]]:
    """Time how fast a new noise, compromised fraction and question repaint the chart for 100,000 people."""
    out = []
    page = context.new_page()
    first_chart(page, f"{server}/predictability?data.clinic.people=100000")
    page.get_by_role("slider", name="Compromised fraction α").wait_for(timeout=60_000)
    page.wait_for_timeout(5_000)
    for what, title, time_it in (
        ("noise", "Noise σ", repaint),
        ("compromised fraction", "Compromised fraction α", repaint),
        ("question", "Show", repaint_choice),
    ):
        median = time_it(page, title)
        out.append(
            row(
                f"predictability, 100,000 people: a new {what} repaints",
                f"{median:.0f} ms",
                "key press to chart, median of 20",
                "300 ms",
                median <= 300,
            )
        )
    page.close()
    return out


def run() -> list[dict[str, str]]:
    """Start the app, warm it up, and time visitors."""
    from browser_tools import FLAGS, running_app
    from playwright.sync_api import sync_playwright
    from streamlit.testing.v1 import AppTest

    root = Path(__file__).parents[1]
    out = []
    with running_app() as server, sync_playwright() as play:
        engine = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        fresh = []
        for _ in range(6):
            visitor = engine.new_context()
            fresh.append(first_chart(visitor.new_page(), f"{server}/entropy"))
            visitor.close()
        new = statistics.median(fresh[1:])
        # a returning visitor has a profile on disk: files and compiled scripts are there from the visits before
        profile = tempfile.mkdtemp()
        context = play.chromium.launch_persistent_context(profile, executable_path="/usr/bin/chromium", args=FLAGS)
        visits = []
        for _ in range(8):
            page = context.new_page()
            visits.append(first_chart(page, f"{server}/entropy"))
            page.wait_for_timeout(1_000)
            page.close()
        back = statistics.median(visits[3:])
        out.append(row("chart visible, new visitor", f"{new:.2f} s", "warm server, median of 5", "4.5 s", new <= 4.5))
        out.append(row("chart visible, returning visitor", f"{back:.2f} s", "median of 5", "2.5 s", back <= 2.5))
        page = context.new_page()
        first_chart(page, f"{server}/entropy")
        page.wait_for_timeout(2_000)
        median = repaint(page, "Privacy loss ε")
        out.append(
            row("a new ε repaints", f"{median:.0f} ms", "key press to chart, median of 20", "300 ms", median <= 300)
        )
        waits = []
        for seed in range(1, 6):
            page = context.new_page()
            first_chart(page, f"{server}/entropy")
            page.wait_for_timeout(1_500)
            page.evaluate(WATCH)
            page.get_by_text("Runs and seed").click()
            box = page.get_by_role("spinbutton", name="Seed")
            box.fill(str(100 + seed))
            page.keyboard.press("Enter")
            page.wait_for_function("window.times.length > 0", timeout=30_000)
            waits.append(page.evaluate("window.times[0]") / 1000)
            page.close()
        wait = statistics.median(waits)
        out.append(
            row("first simulated curve after a click", f"{wait:.2f} s", "new seed, median of 5", "1 s", wait <= 1)
        )
        out += predictability(context, server)
        context.close()
        engine.close()
    times = []
    for number in range(4):
        app = AppTest.from_file(str(root / "app.py"), default_timeout=60)
        app.run()
        app.query_params["seed"] = str(900 + number)
        begun = time.perf_counter()
        app.switch_page("pages/entropy.py").run()
        times.append(time.perf_counter() - begun)
    script = statistics.median(times[1:])
    out.append(
        row("script of a first run, simulation included", f"{script:.2f} s", "no browser", "0.5 s", script <= 0.5)
    )
    return out
