"""How long one column of a 200 MB text table takes from its path, and how much memory.

Each file is written once to a temporary folder and read in a fresh process; the memory is the peak of
that process above the peak of one that has imported the package (and nothing else). The limits are 3 s
and 200 MB. The last shape is a file that is nothing but one column of different values.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

SIZE = 200_000_000
ROWS = 20_000

CHILD = """
import json, resource, sys, time
import privexplorer.data as data

def peak():
    try:
        line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)

idle = peak()
began, spent = time.perf_counter(), time.process_time()
source = data.Source.from_path(sys.argv[1])
data.inspect(source)
found = data.read_counts(source, data.TableColumn(column=sys.argv[2]))
seconds, spent = time.perf_counter() - began, time.process_time() - spent
print(json.dumps({"kind": found.kind, "rows": found.n, "distinct": found.distinct, "seconds": seconds,
                  "cpu_seconds": spent, "extra_mb": peak() - idle, "idle_mb": idle}))
"""

Maker = Callable[[np.random.Generator, int], str]


def mixed(rng: np.random.Generator, start: int) -> str:
    city, value, number = rng.integers(0, 300, ROWS), rng.normal(size=ROWS), rng.integers(0, 100_000, ROWS)
    day, flag = 1 + number % 12, np.where(city % 2, "yes", "no")
    return "".join(
        f"{start + i},City {city[i]},{value[i]:.6f},{number[i]},2021-{day[i]:02d}-03,{flag[i]}\n" for i in range(ROWS)
    )


def quoted(rng: np.random.Generator, start: int) -> str:
    city, number = rng.integers(0, 300, ROWS), rng.integers(0, 1000, ROWS)
    return "".join(
        f'"{start + i}","City, no ""{city[i]}""","line one\nline {number[i]}","{number[i]}"\n' for i in range(ROWS)
    )


def semicolon(rng: np.random.Generator, start: int) -> str:
    city, value = rng.integers(0, 300, ROWS), rng.normal(size=ROWS)
    text = "".join(f"{start + i};City {city[i]};{value[i]:.6f};{100 * value[i]:.1f}\n" for i in range(ROWS))
    return text.replace(".", ",")


def crowded(rng: np.random.Generator, start: int) -> str:
    name, number = rng.bytes(16 * ROWS).hex(), rng.integers(0, 1000, ROWS)
    return "".join(f"{name[32 * i : 32 * i + 32]},{number[i]},{start + i},abc\n" for i in range(ROWS))


def whole(rng: np.random.Generator, start: int) -> str:
    numbers = rng.integers(0, 1_000_000, (ROWS, 4))
    return "".join(f"{a},{b},{c},{d},{start + i}\n" for i, (a, b, c, d) in enumerate(numbers))


def single(rng: np.random.Generator, start: int) -> str:
    return "".join(f"{number}\n" for number in rng.integers(0, 1_000_000_000, ROWS))


SHAPES: tuple[tuple[str, str, Maker, tuple[str, ...]], ...] = (
    ("comma, six columns", "id,city,x,c,day,flag", mixed, ("city", "x", "c", "id", "day", "flag")),
    ("quotes and line ends inside", "id,city,text,c", quoted, ("city", "text")),
    ("semicolon, decimal comma", "id;city;x;y", semicolon, ("city", "x", "y")),
    ("four million keys of 32 letters", "key,c,id,w", crowded, ("key", "c")),
    ("whole numbers", "a,b,c,d,e", whole, ("a", "e")),
    ("one column of 20 million numbers", "v", single, ("v",)),
)


def write(path: Path, header: str, make: Maker) -> None:
    rng, start = np.random.default_rng(1), 0
    with path.open("w", newline="") as out:
        out.write(header + "\n")
        while out.tell() < SIZE:
            out.write(make(rng, start))
            start += ROWS


def measure(path: Path, column: str) -> dict[str, Any]:
    out = subprocess.run([sys.executable, "-c", CHILD, str(path), column], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(out.stdout)
    return answer


def rows() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for shape, header, make, columns in SHAPES:
            path = Path(folder) / "table.csv"
            write(path, header, make)
            for column in columns:
                yield {"shape": shape, "column": column, "mb": path.stat().st_size / 1e6, **measure(path, column)}


def run() -> list[dict[str, Any]]:
    """Give one row per file and column: seconds, processor seconds, megabytes above the idle process."""
    return list(rows())


def main() -> None:
    """Print the table."""
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(
        f"{'file of 200 MB':34s} {'column':6s} {'kind':10s} {'distinct':>10s} {'s':>6s} {'cpu s':>6s} {'extra MB':>8s}"
    )
    for row in rows():
        print(
            f"{row['shape']:34s} {row['column']:6s} {row['kind']:10s} {row['distinct']:>10,} "
            f"{row['seconds']:6.2f} {row['cpu_seconds']:6.2f} {row['extra_mb']:8.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
