"""What a visitor waits for: first chart, a new ε, the first simulated curve; in Chromium on the same machine."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from timing import row

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from browser_tools import FLAGS, running_app, running_server  # found on the path above

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


def new_visitor(engine: Any, address: str) -> dict[str, str]:
    """Time visitors whose browser has nothing of the app yet."""
    times = []
    for _ in range(6):
        visitor = engine.new_context()
        times.append(first_chart(visitor.new_page(), address))
        visitor.close()
    new = statistics.median(times[1:])
    return row("chart visible, new visitor", f"{new:.2f} s", "warm server, median of 5", "4.5 s", new <= 4.5)


def visitor_with_a_past(play: Any) -> Any:
    """Open a browser with a profile on disk: files and compiled scripts stay there from visit to visit."""
    return play.chromium.launch_persistent_context(tempfile.mkdtemp(), executable_path="/usr/bin/chromium", args=FLAGS)


def median_of_visits(context: Any, address: str, new_tab: bool = True) -> float:
    """Return the median of five visits after three others, each in a new tab or all in one."""
    times = []
    page = context.new_page()
    for _ in range(8):
        if new_tab:
            page.close()
            page = context.new_page()
        times.append(first_chart(page, address))
        page.wait_for_timeout(1_000)
        page.goto("about:blank")
    page.close()
    return statistics.median(times[3:])


SEEN = """
new MutationObserver(() => {
  const chart = document.querySelector('[data-testid=stPlotlyChart] svg.main-svg');
  if (!window.chartSeen && chart && chart.getBoundingClientRect().width) window.chartSeen = performance.now();
}).observe(document, {subtree: true, childList: true, attributes: true});
"""


def undisturbed_visits(address: str, visits: int = 8) -> list[float]:
    """Seconds until the chart is visible, visit after visit, as the page itself counts them.

    A program that steers the browser asks it for the place in the code of every error, caught or not; the library that
    draws charts makes such errors when it starts, and finding their places takes most of a second on the machine of the
    table. No visitor has that. Here the browser gets one script with the page and is asked for the time afterwards.
    """
    from websockets.sync.client import connect

    times = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = ["/usr/bin/chromium", "--headless", *FLAGS, f"--user-data-dir={profile}"]
        command += ["--remote-debugging-port=0", "about:blank"]
        browser = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            place = Path(profile) / "DevToolsActivePort"
            for _ in range(200):
                if place.exists() and place.read_text():
                    break
                time.sleep(0.1)
            door = f"http://127.0.0.1:{place.read_text().split()[0]}/json"
            for _ in range(visits):
                new = urllib.request.Request(f"{door}/new?about:blank", method="PUT")  # noqa: S310
                with urllib.request.urlopen(new) as answer:  # noqa: S310
                    tab = json.load(answer)
                with connect(tab["webSocketDebuggerUrl"], max_size=None) as line:
                    number = 0

                    def ask(method: str, line: Any = line, **given: Any) -> Any:
                        nonlocal number
                        number += 1
                        line.send(json.dumps({"id": number, "method": method, "params": given}))
                        while (said := json.loads(line.recv(60))).get("id") != number:
                            pass
                        return said["result"]

                    ask("Page.enable")
                    ask("Page.addScriptToEvaluateOnNewDocument", source=SEEN)
                    ask("Page.navigate", url=address)
                    for _ in range(60):
                        time.sleep(1)
                        seen = ask("Runtime.evaluate", expression="window.chartSeen || 0")["result"]["value"]
                        if seen:
                            break
                    times.append(seen / 1000)
                    time.sleep(2)
                urllib.request.urlopen(f"{door}/close/{tab['id']}").close()  # noqa: S310
        finally:
            browser.terminate()
            browser.wait(20)
    return times


@contextlib.contextmanager
def bare_page() -> Iterator[str]:
    """Serve the least that Streamlit and Plotly can show: no app can be faster in the same browser."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bare.py"
        script.write_text(
            "import plotly.graph_objects as go\nimport streamlit as st\n"
            "st.plotly_chart(go.Figure(go.Scatter(x=[1, 2, 3], y=[1, 4, 9])))\n",
            "utf-8",
        )
        with running_server([sys.executable, "-m", "streamlit", "run", str(script)]) as address:
            yield address


def run() -> list[dict[str, str]]:
    """Start the app, warm it up, and time visitors."""
    from playwright.sync_api import sync_playwright
    from streamlit.testing.v1 import AppTest

    root = Path(__file__).parents[1]
    out = []
    with running_app() as server, sync_playwright() as play:
        engine = play.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        out.append(new_visitor(engine, f"{server}/entropy"))
        context = visitor_with_a_past(play)
        with bare_page() as bare:
            least = median_of_visits(context, bare)
        back = statistics.median(undisturbed_visits(f"{server}/entropy")[3:])
        out.append(
            row("chart visible, returning visitor, new tab", f"{back:.2f} s", "median of 5", "2.5 s", back <= 2.5)
        )
        same = median_of_visits(context, f"{server}/entropy", new_tab=False)
        what = "chart visible, returning visitor, same tab, browser steered by a program"
        out.append(row(what, f"{same:.2f} s", "median of 5", "2.5 s", same <= 2.5))
        steered = median_of_visits(context, f"{server}/entropy")
        against = f"median of 5; a bare Streamlit page with three points {least:.2f} s"
        what = "chart visible, returning visitor, new tab, browser steered by a program"
        out.append(row(what, f"{steered:.2f} s", against, "2.5 s", steered <= 2.5))
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
