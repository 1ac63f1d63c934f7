"""F12 at full size on two workers: six panels, k = 100,000, 1,000 runs; memory of all processes together.

A page that several processes share is counted in shares (proportional set size) where the system tells
it, else once per process (resident set size, too much).
"""

from __future__ import annotations

from timing import child, row

CODE = """
import time, threading, psutil
from privexplorer.studies import study

peak, most, measure = 0, 0, "resident"
done = False

def watch():
    global peak, most, measure
    me = psutil.Process()
    while not done:
        total, number = 0, 0
        for process in [me, *me.children(recursive=True)]:
            try:
                try:
                    total += process.memory_full_info().pss
                    measure = "proportional"
                except (AttributeError, psutil.AccessDenied):
                    total += process.memory_info().rss
                number += 1
            except psutil.Error:
                pass
        if total > peak:
            peak, most = total, number
        time.sleep(0.05)

if __name__ == "__main__":
    thread = threading.Thread(target=watch)
    thread.start()
    question = study("reproduce-properties")
    begun = time.perf_counter()
    question.run(question.scenario(figure="F12"), workers=2)
    print(time.perf_counter() - begun, peak / 2**20, most, measure)
    done = True
    thread.join()
"""


def run() -> list[dict[str, str]]:
    """Time the figure and watch all its processes."""
    spent, peak, number, measure = child(CODE).split()
    return [
        row(
            "F12 at full size, two workers",
            f"{float(spent):.0f} s, {float(peak):.0f} MB in all {number} processes together ({measure} set size)",
            "six panels, 1,000 runs",
            "60 s, 500 MB",
            float(spent) <= 60 and float(peak) <= 500,
        )
    ]


if __name__ == "__main__":
    print(run())
