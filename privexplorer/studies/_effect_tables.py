"""Reference tables of bias, coverage and variance, and how they are drawn again (spec section 6).

The source has no experiments. The tables come from an independent computation with 300 to 4,000 replications.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    ATE,
    ATT,
    LAW_A,
    LAW_B,
    LAW_C,
    AlphaIdentity,
    FiniteLaw,
    UniformNoise,
    efficiency_bound,
    replicate,
    uniform_levels,
)
from privexplorer.causal.crossfit import cross_fit_all, fold_labels

TARGETS = (ATE(), ATT())
LAWS: dict[str, FiniteLaw] = {"A": LAW_A, "B": LAW_B}
Quantity = Literal["coverage", "ratio", "bias"]
Cell = tuple[float, float, float]
"""Bias, coverage and variance over bound; NaN where nothing is printed."""
FAR = 3.0
"""Standard errors of both simulations together that a recomputed number may be away."""
WIDEST = 0.1
"""A coverage or a bias is judged where :data:`FAR` standard errors are no wider than this."""
WIDEST_RATIO = 0.5
"""A variance over its bound: no wider than this share of the number itself."""
NONE: Cell = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Setting:
    """One row of a table: where it is, and what is printed by (method, target)."""

    law: str
    n: int
    keep: float
    printed: dict[tuple[str, int], Cell]
    pseudo_count: float = 0.0

    @property
    def name(self) -> str:
        """Short name for an axis."""
        keep = f"{self.keep:g}".removeprefix("0")
        if ("likelihood", 0) in self.printed:
            return f"{self.law} {keep} +{self.pseudo_count:g}"
        return f"{self.n // 1000}k {keep}"


@dataclass(frozen=True)
class Table:
    """A table: its rows, the methods drawn, and what is shown of them."""

    settings: tuple[Setting, ...]
    methods: tuple[Any, ...]
    shown: tuple[tuple[str, Quantity, str], ...]
    """Method, quantity and title of each panel."""
    source_runs: int
    block: int
    usual: int


def _discrete(law: str) -> tuple[Setting, ...]:
    # per (n, keep): plug-in ATE, ATT; one-step ATE, ATT; naive ATE, ATT
    rows: dict[str, list[tuple[int, float, tuple[Cell, ...]]]] = {
        "B": [
            (3_000, 0.2, ((-0.0133, 0.943, 6.50), (-0.0263, 0.930, 11.8), (0.0242, 0.911, 2.75),
                          (0.0436, 0.908, 4.55), (0.109, 0.0, math.nan), (0.150, 0.0, math.nan))),
            (3_000, 0.5, ((-0.0012, 0.956, 1.004), (-0.0025, 0.954, 1.015), (0.0020, 0.954, 1.034),
                          (0.0036, 0.948, 1.064), (0.090, 0.001, math.nan), (0.126, 0.0, math.nan))),
            (3_000, 0.9, ((0.0001, 0.952, 1.0), (0.0001, 0.954, 0.992), (0.0004, 0.954, 1.0),
                          (0.0003, 0.943, 1.016), (0.026, 0.709, math.nan), (0.039, 0.497, math.nan))),
            (30_000, 0.2, ((-0.0006, 0.946, 1.062), (-0.0010, 0.942, 1.097), (0.0017, 0.947, 0.979),
                           (0.0034, 0.945, 1.018), (0.109, 0.0, math.nan), (0.150, 0.0, math.nan))),
            (30_000, 0.5, ((math.nan, 0.954, 1.017), (math.nan, 0.950, 1.003), (math.nan, 0.947, 1.042),
                           (math.nan, 0.945, 1.032), (0.090, 0.0, math.nan), (0.126, 0.0, math.nan))),
            (30_000, 0.9, ((math.nan, 0.953, 1.010), (math.nan, 0.953, 0.995), (math.nan, 0.957, 0.984),
                           (math.nan, 0.955, 0.974), (0.026, 0.008, math.nan), (0.039, 0.0, math.nan))),
        ],
        "A": [
            (3_000, 0.2, (NONE, NONE, (-0.027, 0.859, 9.99), (-0.068, 0.846, 13.3), (0.104, 0.0, math.nan),
                          (0.143, 0.0, math.nan))),
            (3_000, 0.5, ((-0.0063, 0.960, 1.76), (-0.0132, 0.951, 2.26), (0.0093, 0.944, 1.74),
                          (0.0193, 0.932, 2.25), (0.087, 0.002, math.nan), (0.125, 0.0, math.nan))),
            (3_000, 0.9, ((-0.0001, 0.951, 1.016), (-0.0004, 0.950, 1.034), (0.0008, 0.953, 1.023),
                          (0.0014, 0.948, 1.053), (0.031, 0.630, math.nan), (0.050, 0.313, math.nan))),
            (30_000, 0.2, ((-0.0055, 0.953, 1.55), (-0.0114, 0.941, 1.74), (0.0078, 0.935, 1.64),
                           (0.0170, 0.916, 1.93), (0.104, 0.0, math.nan), (0.143, 0.0, math.nan))),
            (30_000, 0.5, ((math.nan, 0.950, 1.030), (math.nan, 0.944, 1.028), (math.nan, 0.957, 0.980),
                           (math.nan, 0.954, 1.011), (0.087, 0.0, math.nan), (0.125, 0.0, math.nan))),
            (30_000, 0.9, ((math.nan, 0.950, 0.984), (math.nan, 0.951, 0.978), (math.nan, 0.951, 1.012),
                           (math.nan, 0.951, 1.000), (0.031, 0.0, math.nan), (0.050, 0.0, math.nan))),
        ],
    }  # fmt: skip
    keys = [(method, target) for method in ("plug-in", "one-step", "naive") for target in (0, 1)]
    return tuple(Setting(law, n, keep, dict(zip(keys, cells, strict=True))) for n, keep, cells in rows[law])


def _repair() -> tuple[Setting, ...]:
    rows: tuple[tuple[str, int, float, tuple[Cell, ...]], ...] = (
        ("B", 3_000, 0.2, ((-0.009, 0.951, 1.09), (-0.014, 0.930, 1.16), (0.016, 0.929, 0.55),
                           (0.027, 0.907, 0.46), (0.050, 0.759, 0.23), (0.074, 0.711, 0.15))),
        ("A", 3_000, 0.2, ((0.001, 0.934, 0.55), (0.004, 0.925, 0.46), (0.035, 0.885, 0.20),
                           (0.059, 0.857, 0.10), (0.060, 0.600, 0.09), (0.089, 0.493, 0.03))),
        ("A", 3_000, 0.5, ((-0.004, 0.959, 1.00), (-0.008, 0.949, 0.98), (0.010, 0.943, 0.64),
                           (0.019, 0.922, 0.45), (0.024, 0.856, 0.46), (0.044, 0.771, 0.23))),
    )  # fmt: skip
    return tuple(
        Setting(
            law,
            n,
            keep,
            {("likelihood", target): cells[2 * place + target] for target in (0, 1)},
            (0.0, 1.0, 5.0)[place],
        )
        for law, n, keep, cells in rows
        for place in range(3)
    )


def _law_c() -> tuple[Setting, ...]:
    # per keep: param ATE, ATT; series ATE, ATT; riesz ATE
    rows: tuple[tuple[float, tuple[Cell, ...]], ...] = (
        (0.2, ((0.119, 0.967, 1.65), (0.117, 0.935, 2.41), (0.389, 0.954, 5.67), (0.319, 0.948, 9.96),
               (0.471, 0.934, 5.43))),
        (0.5, ((0.003, 0.955, 1.07), (0.004, 0.950, 1.12), (0.033, 0.961, 1.47), (0.039, 0.952, 2.35),
               (0.055, 0.958, 2.02))),
        (0.9, ((0.001, 0.952, 0.97), (0.002, 0.958, 0.97), (0.002, 0.955, 0.98), (0.003, 0.960, 0.98),
               (0.002, 0.955, 0.96))),
    )  # fmt: skip
    keys = (("param", 0), ("param", 1), ("series", 0), ("series", 1), ("riesz", 0))
    return tuple(Setting("C", 3_000, keep, dict(zip(keys, cells, strict=True))) for keep, cells in rows)


_FINITE: tuple[tuple[str, Quantity, str], ...] = (
    ("plug-in", "coverage", "unmixing: coverage"),
    ("one-step", "coverage", "cross-fitting: coverage"),
    ("one-step", "ratio", "cross-fitting: variance ÷ bound"),
    ("naive", "bias", "naive: bias"),
)
TABLES: dict[str, Table] = {
    "law-b": Table(_discrete("B"), ("plug-in", "one-step", "naive"), _FINITE, 4_000, 200, 2_000),
    "law-a": Table(_discrete("A"), ("plug-in", "one-step", "naive"), _FINITE, 4_000, 200, 2_000),
    "repair": Table(
        _repair(),
        ("likelihood",),
        (("likelihood", "coverage", "coverage"), ("likelihood", "ratio", "variance ÷ bound")),
        1_500,
        16,
        272,
    ),
    "law-c": Table(
        _law_c(),
        ("param", "series", "riesz"),
        (
            ("param", "coverage", "two functions: coverage"),
            ("param", "ratio", "two functions: variance ÷ bound"),
            ("param", "bias", "two functions: bias"),
            ("series", "coverage", "three functions: coverage"),
            ("series", "ratio", "three functions: variance ÷ bound"),
            ("series", "bias", "three functions: bias"),
            ("riesz", "coverage", "direct weights: coverage"),
            ("riesz", "ratio", "direct weights: variance ÷ bound"),
            ("riesz", "bias", "direct weights: bias"),
        ),
        1_000,
        1,
        24,
    ),
}
"""Tables by the name in the link."""


def draw(table: Table, setting: Setting, rng: np.random.Generator) -> FloatArray:
    """Draw and analyse one block of data sets: estimate, standard error and use, ``(runs, methods · 2 · 3)``."""
    if setting.law == "C":
        return np.stack([_draw_continuous(table, setting, rng) for _ in range(table.block)])
    law = LAWS[setting.law]
    found = replicate(
        law, AlphaIdentity(setting.keep, uniform_levels(law.levels)), TARGETS, setting.n, table.block, rng,
        methods=table.methods, pseudo_count=setting.pseudo_count,
    )  # fmt: skip
    columns = []
    for method in table.methods:
        one = found.methods[method]
        for target in (0, 1):
            columns += [one.value[target], one.std_error[target], one.usable.astype(np.float64)]
    return np.stack(columns, axis=1)


def _draw_continuous(table: Table, setting: Setting, rng: np.random.Generator) -> FloatArray:
    mechanism = AlphaIdentity(setting.keep, UniformNoise(-1.0, 1.0))
    y, d, x = LAW_C.sample(setting.n, rng)
    z = mechanism.privatise(x, rng)
    labels = fold_labels(setting.n, 5, rng, d)
    row: list[float] = []
    for method in table.methods:
        for one in cross_fit_all(
            y, d, z, mechanism, TARGETS, learners=method, fold_ids=labels, refuse=False, guarded=False
        ):
            row += [one.value, one.std_error, 1.0]
    return np.array(row)


def truth_and_bound(setting: Setting, target: int) -> tuple[float, float]:
    """Return the true value of a target and its efficiency bound."""
    if setting.law == "C":
        mechanism = AlphaIdentity(setting.keep, UniformNoise(-1.0, 1.0))
        return LAW_C.value(TARGETS[target]), LAW_C.bound(TARGETS[target], mechanism)
    law = LAWS[setting.law]
    noisy = AlphaIdentity(setting.keep, uniform_levels(law.levels))
    return TARGETS[target].value(law), efficiency_bound(law, TARGETS[target], noisy)


@dataclass(frozen=True)
class Point:
    """One number of a table: printed and recomputed, with standard errors of both."""

    name: str
    printed: float
    found: float
    printed_error: float
    found_error: float
    widest: float
    """A difference that has to be seen: runs that cannot see it judge nothing."""

    @property
    def error(self) -> float:
        """Standard error of both simulations together."""
        return math.hypot(self.printed_error, self.found_error)

    @property
    def told(self) -> bool:
        """Whether :data:`FAR` standard errors are narrow enough to judge by."""
        return FAR * self.error <= self.widest

    @property
    def verdict(self) -> str:
        """Whether both agree: ``"holds"``, ``"does not hold"``, or ``"cannot be told"`` with so few runs."""
        if not self.told:
            return "cannot be told"
        return "holds" if self.away <= FAR else "does not hold"

    @property
    def away(self) -> float:
        """How many standard errors of both together they are apart; half a unit of the last digit is free."""
        gap = max(abs(self.found - self.printed) - 0.0005, 0.0)
        return gap / self.error


def point(
    table: Table, setting: Setting, method: str, target: int, quantity: Quantity, drawn: FloatArray
) -> Point | None:
    """Compare one number of a table; nothing where none is printed or fewer than two data sets are drawn."""
    cell = setting.printed.get((method, target), NONE)
    printed = cell[("bias", "coverage", "ratio").index(quantity)]
    start = 3 * (2 * table.methods.index(method) + target)
    value, error, usable = (drawn[:, start + place] for place in range(3))
    good = usable > 0
    runs = int(good.sum())
    if not math.isfinite(printed) or runs < 2:
        return None
    truth, bound = truth_and_bound(setting, target)
    off = value[good] - truth
    name = f"{setting.name}, {('ATE', 'ATT')[target]}"
    if quantity == "coverage":
        counted = np.isfinite(error[good])
        inside = np.abs(off[counted]) <= 1.959963984540054 * error[good][counted]
        found, many = float(inside.mean()), int(counted.sum())
        share = (found * many + printed * table.source_runs) / (many + table.source_runs)
        errors = [math.sqrt(max(share * (1 - share), 1 / size) / size) for size in (table.source_runs, many)]
        return Point(name, printed, found, errors[0], errors[1], WIDEST)
    centred = off - off.mean()
    spread = float(np.mean(centred**2)) * runs / (runs - 1)
    if quantity == "bias":
        # few runs do not know their own spread: the printed variance counts by its runs where there is one
        known = cell[2] * bound / setting.n
        if math.isfinite(known):
            spread = (runs * spread + table.source_runs * known) / (runs + table.source_runs)
        source, own = (math.sqrt(spread / size) for size in (table.source_runs, runs))
        return Point(name, printed, float(off.mean()), source, own, WIDEST)
    tail = max(3.0, float(np.mean(centred**4)) / float(np.mean(centred**2)) ** 2)
    found, shape = setting.n * spread / bound, math.sqrt(tail - 1)
    return Point(
        name,
        printed,
        found,
        printed * shape / math.sqrt(table.source_runs),
        max(found, printed) * shape / math.sqrt(runs),
        WIDEST_RATIO * printed,
    )


__all__ = ["FAR", "TABLES", "WIDEST", "Point", "Quantity", "Setting", "Table", "draw", "point", "truth_and_bound"]
