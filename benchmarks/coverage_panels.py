"""F12 at full size on two workers: six panels, k = 100,000, 1,000 runs."""

from __future__ import annotations

from timing import child, row

CODE = """
import time, threading, psutil
from privexplorer.studies import study

peak = 0
done = False

def watch():
    global peak
    me = psutil.Process()
    while not done:
        total = 0
        for process in [me, *me.children(recursive=True)]:
            try:
                total = max(total, process.memory_info().rss)
            except psutil.Error:
                pass
        peak = max(peak, total)
        time.sleep(0.1)

if __name__ == "__main__":
    thread = threading.Thread(target=watch)
    thread.start()
    question = study("reproduce-properties")
    begun = time.perf_counter()
    question.run(question.scenario(figure="F12"), workers=2)
    print(time.perf_counter() - begun, peak / 2**20)
    done = True
    thread.join()
"""


def run() -> list[dict[str, str]]:
    """Time the figure and watch the largest process."""
    spent, peak = map(float, child(CODE).split())
    return [
        row(
            "F12 at full size, two workers",
            f"{spent:.0f} s, {peak:.0f} MB in the largest process",
            "six panels, 1,000 runs",
            "60 s, 500 MB",
            spent <= 60 and peak <= 500,
        )
    ]
