"""How long one column of a 200 MB text table takes from its path, and how much memory.

Each file is written once to a temporary folder and read in fresh processes, three times; the time is the
median, the memory the peak of such a process above the peak of one that has imported the package (and
nothing else). The limits are 3 s and 200 MB. The last files are nothing but one column of up to 20 million
rows. Keys of crowded columns go to a temporary file: where the temporary folder lies in memory, that file
does too and is not counted here.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from timing import row

SIZE = 200_000_000
ROWS = 20_000
REPEATS = 3

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
found = data.read_counts(source, data.TableColumn(column=sys.argv[2], kind=sys.argv[3]))
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


def fractions(rng: np.random.Generator, start: int) -> str:
    return "".join(f"{number:.6f}\n" for number in rng.normal(size=ROWS))


def longs(rng: np.random.Generator, start: int) -> str:
    return "".join(f"{number!r}\n" for number in rng.normal(size=ROWS).tolist())


def texts(rng: np.random.Generator, start: int) -> str:
    name = rng.bytes(100 * ROWS).hex()
    return "".join(f"{name[200 * i : 200 * i + 200]}\n" for i in range(ROWS))


def short(rng: np.random.Generator, start: int) -> str:
    return "".join(f"{number}\n" for number in rng.integers(1000, 10_000, ROWS))


def words(different: int, letters: int, more: str = "") -> Maker:
    """Words of some letters, so many different ones (all rows differ if there are enough), and further cells."""

    def make(rng: np.random.Generator, start: int) -> str:
        number = rng.integers(0, different, ROWS) if different < 20_000_000 else start + np.arange(ROWS)
        number = number * 100_000_000_003 % 26**9  # one to one, in no order
        out = np.empty((ROWS, letters), dtype=np.uint8)
        for place in range(letters):
            out[:, place] = 97 + number // 26 ** (place % 9) % 26
        return "".join(f"{word.decode()}{more}\n" for word in out.view(f"S{letters}").ravel().tolist())

    return make


SHAPES: tuple[tuple[str, str, Maker, tuple[tuple[str, str], ...]], ...] = (
    (
        "six columns",
        "id,city,x,c,day,flag",
        mixed,
        tuple((name, "auto") for name in ("city", "x", "c", "id", "day", "flag")),
    ),
    ("quotes and line ends inside", "id,city,text,c", quoted, (("city", "auto"), ("text", "auto"))),
    ("semicolon, decimal comma", "id;city;x;y", semicolon, (("city", "auto"), ("x", "auto"), ("y", "auto"))),
    ("keys of 32 letters", "key,c,id,w", crowded, (("key", "auto"), ("c", "auto"))),
    ("whole numbers", "a,b,c,d,e", whole, (("a", "auto"), ("e", "auto"))),
    ("40 columns", "v," + ",".join(f"c{i}" for i in range(39)), words(10**7, 12, ",12.5" * 39), (("v", "auto"),)),
    ("3 columns", "v,x,y", words(3_000_000, 8, ",1,2"), (("v", "auto"),)),
    ("words of 16 letters", "v", words(3_000_000, 16), (("v", "auto"),)),
    *((f"words, {d // 10**6} million", "v", words(d, 9), (("v", "auto"),)) for d in (10**6, 3 * 10**6, 10**7)),
    ("words, all rows differ", "v", words(20_000_000, 9), (("v", "auto"),)),
    ("one column of long texts", "v", texts, (("v", "auto"),)),
    ("one column of numbers", "v", single, (("v", "auto"), ("v", "count"), ("v", "number"))),
    ("one column of fractions", "v", fractions, (("v", "number"), ("v", "category"))),
    ("one column of doubles", "v", longs, (("v", "number"),)),
    ("one column of four digits", "v", short, (("v", "count"), ("v", "category"))),
)


def write(path: Path, header: str, make: Maker) -> None:
    rng, start = np.random.default_rng(1), 0
    with path.open("w", newline="") as out:
        out.write(header + "\n")
        while out.tell() < SIZE:
            out.write(make(rng, start))
            start += ROWS


def measure(path: Path, column: str, kind: str) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    for _ in range(REPEATS):
        command = [sys.executable, "-c", CHILD, str(path), column, kind]
        runs.append(json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    out = dict(runs[0])
    for name in ("seconds", "cpu_seconds"):
        out[name] = statistics.median(found[name] for found in runs)
    out["extra_mb"] = max(found["extra_mb"] for found in runs)
    return out


def rows() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        for shape, header, make, columns in SHAPES:
            path = Path(folder) / "table.csv"
            write(path, header, make)
            for column, kind in columns:
                yield {"shape": shape, "column": column, "mb": path.stat().st_size / 1e6, **measure(path, column, kind)}


def run() -> list[dict[str, str]]:
    """Give one row per file and column."""
    return [
        row(
            f"200 MB CSV, {found['shape']}: {found['column']} as {found['kind']}",
            f"{found['seconds']:.1f} s ({found['cpu_seconds']:.1f} s of the processors), "
            f"{found['extra_mb']:.0f} MB above idle",
            f"{found['distinct']:,} different values in {found['rows']:,} rows",
            "3 s, 200 MB",
            found["seconds"] <= 3 and found["extra_mb"] <= 200,
        )
        for found in rows()
    ]


def main() -> None:
    """Print the table."""
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(
        f"{'file of 200 MB':28s} {'column':6s} {'kind':10s} {'rows':>10s} {'distinct':>10s} "
        f"{'s':>6s} {'cpu s':>6s} {'extra MB':>8s}"
    )
    for found in rows():
        print(
            f"{found['shape']:28s} {found['column']:6s} {found['kind']:10s} {found['rows']:>10,} "
            f"{found['distinct']:>10,} {found['seconds']:6.2f} {found['cpu_seconds']:6.2f} {found['extra_mb']:8.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
