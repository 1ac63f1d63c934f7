"""The propositions, errata and reference tables of locally private inference, checked (spec sections 1, 4, 5 and 6).

The source has no data and no experiments: its propositions are recomputed as numbers, its errata are shown printed and
corrected, and tables of an independent computation are drawn again at a reduced size.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.records import Number, Scenario, Seed, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _effects as effects
from privexplorer.studies._effect_claims import CLAIMS, Check, number
from privexplorer.studies._effect_errata import BESIDE_EXACT, WITHOUT_NUMBER, errata
from privexplorer.studies._effect_tables import FAR, TABLES, Point, Table, draw, point
from privexplorer.studies._reproduced import (
    ANOTHER_WAY,
    WORDS,
    Erratum,
    apart,
    errata_table,
    in_turn,
    judged,
    runs_field,
)
from privexplorer.studies.base import Preset, Study, blocks_for, wide
from privexplorer.studies.chart import Axis, Chart, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import listed, ratio, significant, whole

Item = Literal[
    "prop1", "thm1", "thm2", "bounds", "lem1", "lem3", "lem6", "examples", "prop2", "prop3", "prop4", "noise", "bench",
    "law-b", "law-a", "repair", "law-c", "errata",
]  # fmt: skip
TITLES: dict[str, str] = {
    "prop1": "Prop. 1: influence function",
    "thm1": "Theorem 1: exact bias",
    "thm2": "Theorem 2: influence function under noise",
    "bounds": "(18), Lemma 3: the price of privacy",
    "lem1": "Lemma 1: what the noise leaves",
    "lem3": "Lemmas 3 to 5: undoing the noise",
    "lem6": "Lemma 6: levels of privacy",
    "examples": "Ex. 4 to 9: slopes, rays, discounts",
    "prop2": "Prop. 2, Ex. 10: private moments",
    "prop3": "Prop. 3, Ex. 11 to 13: curves",
    "prop4": "Prop. 4, Ex. 1: finite cells",
    "noise": "Section 10.5: added noise",
    "bench": "All identities at once",
    "law-b": "Cor. 1: coverage, law B",
    "law-a": "Cor. 1: coverage, law A",
    "repair": "Coverage after repair",
    "law-c": "Cor. 1: coverage, continuous X",
    "errata": "Errata: printed and corrected",
}
PRINTED, FOUND = "reference", "recomputed"
ERROR = "relative difference"
EFFECTS = ("ATE", "ATT")
GAP = (math.nan, 0.0, math.nan, 0.0)
FLOOR = 1e-17
"""Differences of exactly 0 stand here on a log axis."""


class ReproduceEffectsScenario(Scenario):
    """Which claim."""

    item: Item = field(
        "thm2",
        "Which",
        "The source proves propositions and has no experiments; each is recomputed here as numbers.",
        key="item",
        group="Claim",
        titles=TITLES,
    )
    trials: Annotated[int, Number] | None = runs_field(
        "Only the coverage tables draw anything: 2,000, 2,000, 272 and 24 runs where this is empty.",
        20_000,
    )
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """Checks and errata are computed once; tables are drawn block by block."""

    item: str
    seed: int
    checks: tuple[Check, ...] = ()
    rows: tuple[Erratum, ...] = ()


class ReproduceEffects(Study[ReproduceEffectsScenario]):
    """Propositions, coverage tables and errata."""

    id: ClassVar[str] = "reproduce-effects"
    question: ClassVar[str] = "Do the published results on locally private inference hold up?"
    lead: ClassVar[str] = (
        "Each proposition recomputed as numbers, coverage drawn again, and each number that was printed wrongly beside "
        "the right one."
    )
    tab: ClassVar[str] = "Locally private inference"
    card: ClassVar[str] = "Propositions, coverage tables and errata of locally private inference, recomputed."
    link: ClassVar[str] = "Check a proposition"
    theme: ClassVar[str] = "reproduce_effects"
    picture: ClassVar[str] = "printed"
    scenario: ClassVar[type[Scenario]] = ReproduceEffectsScenario
    late: ClassVar[frozenset[str]] = frozenset({"trials"})
    rows: ClassVar[tuple[str, ...]] = (
        "L-E3", "L-P1", "L-P1g", "L-X1", "L-T1", "L-Ex2", "L-Ex2b", "L-Ex3", "L-Ex3b", "L-X6", "L-T2", "L-E17", "L-E18",
        "L-L3f", "L-X11", "L-L1a", "L-L1b", "L-L1c", "L-E16", "L-L3c", "L-L3e", "L-L4c", "L-L4e", "L-E22", "L-L3b",
        "L-Ex1k", "L-X2", "L-D1", "L-D2", "L-L6a", "L-L6b", "L-Ex4", "L-Ex4c", "L-Ex5", "L-Ex6", "L-Ex8", "L-Ex9",
        "L-P2", "L-X7", "L-L7", "L-E52", "L-Ex10", "L-Ex11", "L-Ex12", "L-Ex12r", "L-P4", "L-Ex1", "L-X8", "L-X9",
        "L-C1", "L-P3v", "L-E10", "L-E13", "L-L5", "L-P4f",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[ReproduceEffectsScenario], ...]:
        """One item of each kind."""
        make = ReproduceEffectsScenario
        return (
            Preset("Under noise", make()),
            Preset("All identities", make(item="bench")),
            Preset("Coverage, two categories", make(item="law-b")),
            Preset("Coverage after repair", make(item="repair")),
            Preset("Errata", make(item="errata")),
        )

    def trials(self, scenario: ReproduceEffectsScenario) -> int:
        """Return the runs asked for; 0 where nothing is drawn."""
        if scenario.item not in TABLES:
            return 0
        return TABLES[scenario.item].usual if scenario.trials is None else scenario.trials

    def blocks(self, scenario: ReproduceEffectsScenario) -> int:
        """Return the number of blocks: the rows of a table take turns."""
        if scenario.item not in TABLES:
            return 0
        table = TABLES[scenario.item]
        return len(table.settings) * blocks_for(self.trials(scenario), table.block)

    # ---- prepare and blocks ----

    def prepare(self, scenario: ReproduceEffectsScenario, tables: Tables | None) -> Prepared:
        """Recompute the claims of an item."""
        if scenario.item in CLAIMS:
            return Prepared(scenario.item, scenario.seed, CLAIMS[scenario.item]())
        return Prepared(scenario.item, scenario.seed, rows=errata() if scenario.item == "errata" else ())

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw data sets of one row of a table; return ``(data sets, numbers, 1)``."""
        table = TABLES[prepared.item]
        chunk, number = divmod(block, len(table.settings))
        rng = block_rng(prepared.seed, chunk, 10 + number)
        return np.asarray(draw(table, table.settings[number], rng), dtype=np.float64)[:, :, None]

    # ---- assemble ----

    def assemble(self, scenario: ReproduceEffectsScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Turn checks, errata or drawn data sets into numbers and words."""
        if prepared.checks:
            return self.claims(scenario, prepared.checks)
        if prepared.rows:
            return self.printed(scenario, prepared.rows)
        return self.coverage(scenario, TABLES[prepared.item], parts)

    def claims(self, scenario: ReproduceEffectsScenario, checks: tuple[Check, ...]) -> Result:
        """Say which statements of a proposition hold."""
        held = sum(one.holds for one in checks)
        frame = tidy([(ERROR, [one.label for one in checks], [max(one.error, FLOOR) for one in checks], 0.0)])
        worst = max(checks, key=lambda one: one.error)
        shown = checks if len(checks) <= 12 else tuple(one for one in checks if not one.holds)
        lines = judged(shown)
        if not lines:
            lines = [
                "- **Holds.** Every identity is true up to rounding and every inequality has slack; see the table."
            ]
        title = TITLES[scenario.item]
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card(
                    "Statements that hold",
                    f"{held} of {len(checks)}",
                    "on these numbers",
                    "Expected numbers were worked out apart from this program; they have twelve digits.",
                ),
                Card(
                    "Largest difference",
                    significant(worst.error, 2),
                    worst.label[:18],
                    "Relative; for an inequality, by how much it fails.",
                ),
            ),
            shows=f"**{title}**, {held} of {len(checks)} statements hold.\n\n" + "\n".join(lines),
            takeaway=f"{title}. {held} of {len(checks)} statements hold; the largest relative difference is "
            f"{significant(worst.error, 2)}.",
            formulas=FORMULAS.get(scenario.item, ()),
            assumptions=ASSUMPTIONS,
            extra={
                "verdicts": [
                    {
                        "statement": one.text,
                        "expected": listed([number(value) for value in one.expected]),
                        "found": listed([number(value) for value in one.found]),
                        "verdict": one.outcome,
                    }
                    for one in checks
                ]
            },
        )

    def printed(self, scenario: ReproduceEffectsScenario, rows: tuple[Erratum, ...]) -> Result:
        """Put printed and corrected numbers side by side."""
        hidden = [one for one in rows if one.ratio <= 0]
        shown = [one for one in rows if one.ratio > 0]
        big, small = (pick(shown, key=lambda one: one.ratio) for pick in (max, min))
        names = [one.id for one in rows]
        frame = tidy(
            [
                ("printed ÷ corrected", names, [one.ratio if one.ratio > 0 else math.nan for one in rows], 0.0),
                ("printed", names, [one.printed for one in rows], 0.0),
                ("corrected", names, [one.corrected for one in rows], 0.0),
            ]
        )
        lines = [
            f"- **{one.id}** ({one.where}), {one.quantity}: printed {significant(one.printed)}, "
            f"{'exact' if one.id in BESIDE_EXACT else 'corrected'} {significant(one.corrected)}."
            for one in rows
        ]
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("Numbers that change", whole(len(rows)), "printed, corrected"),
                Card("Largest factor", ratio(big.ratio), f"{big.id}, too large"[:18]),
                Card("Smallest factor", ratio(small.ratio), f"{small.id}, too small"[:18]),
            ),
            shows=f"{ANOTHER_WAY}\n\n" + "\n".join(lines),
            takeaway=f"{len(rows)} printed numbers beside the corrected ones, from {ratio(small.ratio)} ({small.id}) "
            f"to {ratio(big.ratio)} ({big.id}).",
            notes=(
                Note(
                    f"{listed([one.id for one in hidden])} have the wrong sign and cannot stand on a log axis; see the "
                    "list.",
                ),
                Note(
                    " ".join(f"**{name}**: {words}" for name, words in WITHOUT_NUMBER), title="Errata without a number"
                ),
            ),
            assumptions=ASSUMPTIONS,
        )

    def coverage(self, scenario: ReproduceEffectsScenario, table: Table, parts: Sequence[FloatArray]) -> Result:
        """Compare a table with what was drawn."""
        turns = len(table.settings)
        drawn = [one[:, :, 0] for one in in_turn(parts, turns, self.trials(scenario))]
        runs = min(len(one) for one in drawn)
        frames, found = [], []
        names = [setting.name for setting in table.settings]
        for method, quantity, title in table.shown:
            points, rows = [], []
            for target, word in enumerate(EFFECTS):
                column: list[Point | None] = [
                    point(table, setting, method, target, quantity, data)
                    for setting, data in zip(table.settings, drawn, strict=False)
                ]
                column += [None] * (turns - len(column))
                if not any(column):
                    continue
                points += [one for one in column if one is not None]
                shown = [(one.printed, one.printed_error, one.found, one.found_error) if one else GAP for one in column]
                printed, printed_error, again, again_error = (list(part) for part in zip(*shown, strict=True))
                rows += [
                    (f"{word}, {PRINTED}", names, printed, printed_error),
                    (f"{word}, {FOUND}", names, again, again_error),
                ]
            if points:
                found.append((title, points))
                frames.append(tidy(rows, panel=title))
        every = [one for _, points in found for one in points]
        near = sum(one.verdict == "holds" for one in every)
        dim = sum(one.verdict == "cannot be told" for one in every)
        farthest = max(every, key=lambda one: one.away)
        lines = [f"- {_judged(points)} {_told(title, points)}" for title, points in found]
        unclear = f"; {dim} cannot be told with this many runs" if dim else ""
        distance = apart(farthest.away, FAR)[0]
        item = scenario.item
        return Result(
            study=self.id,
            scenario=scenario,
            frame=pd.concat(frames, ignore_index=True),
            cards=(
                Card(
                    "Numbers that agree",
                    f"{near} of {len(every)}",
                    f"within {FAR:g} s.e.",
                    "Standard errors of both simulations together. By chance one number in 370 is farther away. "
                    f"A number is judged where {FAR:g} standard errors are narrow enough: 0.1 for coverage and bias, "
                    "half of itself for variance ÷ bound.",
                ),
                Card("Farthest", f"{distance} s.e.", farthest.name[:18]),
                Card("Runs a number", whole(runs), f"reference {table.source_runs:,}"[:18]),
            ),
            shows=(
                f"**{TITLES[item]}**: {runs:,} simulated studies of each kind against a reference of "
                f"{table.source_runs:,}; {near} of {len(every)} numbers agree within {FAR:g} "
                f"standard errors of both{unclear}."
                "\n\n" + "\n".join(lines) + f"\n\n{READING[item]}"
            ),
            takeaway=f"{TITLES[item]}. {near} of {len(every)} numbers agree with the reference tables within {FAR:g} "
            f"standard errors{unclear}; the farthest is {distance} away.",
            formulas=FORMULAS["tables"],
            assumptions=(*ASSUMPTIONS, effects.KNOWN_LAW),
            runs=runs,
        )

    # ---- tables and charts ----

    def table(self, result: Result) -> pd.DataFrame:
        """Statements with their numbers, errata with what they are about, or printed beside recomputed."""
        item = _item(result)
        if item in CLAIMS:
            rows = result.frame
            return pd.DataFrame(
                [
                    {"x": name, **words, ERROR: error}
                    for name, words, error in zip(rows["x"], result.extra["verdicts"], rows["y"], strict=True)
                ]
            )
        if item == "errata":
            return errata_table(errata())
        return wide(result.frame)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe differences, errata or a table."""
        item = _item(result)
        names = Axis("", "category")
        if item in CLAIMS:
            rows = result.series(ERROR)
            mark = Points(
                "private", [str(one) for one in rows["x"]], rows["y"].to_numpy(dtype=np.float64), ERROR,
                hover="differs by {y} of its size",
            )  # fmt: skip
            if item == "bench":
                names = Axis("statement, by number", "linear", symbol="statement")
                mark = Points(
                    "private", np.arange(1.0, len(rows) + 1), rows["y"].to_numpy(dtype=np.float64), ERROR,
                    text=[""] * len(rows), hover="differs by {y} of its size",
                )  # fmt: skip
            return Chart(
                f"{TITLES[item]}",
                "found against expected, relative, log scale",
                names,
                Axis("relative difference", "log", low=FLOOR / 3, high=1e-3),
                (Panel((mark,), level_lines=((1e-9, "holds below"),)),),
                by_point=True,
            )
        if item == "errata":
            rows = result.series("printed ÷ corrected").dropna(subset=["y"])
            mark = Points(
                "attacker", [str(one) for one in rows["x"]], rows["y"].to_numpy(dtype=np.float64),
                "printed ÷ corrected",
                hover="printed is {y} times the corrected number",
            )  # fmt: skip
            return Chart(
                "Printed number over corrected number",
                "1 would be right; log scale",
                names,
                Axis("ratio", "log"),
                (Panel((mark,), level_lines=((1.0, "right"),)),),
                by_point=True,
            )
        return self.table_chart(result, item)

    def table_chart(self, result: Result, item: str) -> Chart:
        """Describe one panel for each method and quantity."""
        panels = []
        columns = 3 if item == "law-c" else 1  # a row of three panels for each method
        for place, title in enumerate(dict.fromkeys(result.frame["panel"])):
            marks = []
            looks: tuple[tuple[str, Role], ...] = (("ATE", "private"), ("ATT", "local"))
            for word, role in looks:
                for kind_of in (PRINTED, FOUND):
                    name = f"{word}, {kind_of}"
                    rows = result.series(name, title)
                    if not len(rows):
                        continue
                    y, error = (rows[column].to_numpy(dtype=np.float64) for column in ("y", "std_error"))
                    known = kind_of == PRINTED
                    marks.append(
                        Points(
                            role, [str(one) for one in rows["x"]], y, name,
                            None if place != columns - 1 or known else word,
                            None if known else y - 2 * error, None if known else y + 2 * error, open=known,
                            size=13 if known else 8, hover=f"{name}: {{y}}" if known else f"{name}: {{y}} ± {{e}}",
                        )
                    )  # fmt: skip
            kind = title.split(": ")[-1]
            scale: Literal["log", "linear"] = "log" if kind == "variance ÷ bound" else "linear"
            level = {"coverage": 0.95, "variance ÷ bound": 1.0, "bias": 0.0}[kind]
            words = {"coverage": "95%", "variance ÷ bound": "the bound", "bias": "no bias"}[kind]
            panels.append(
                Panel(
                    tuple(marks), title=title.capitalize(), y=Axis(kind, scale),
                    level_lines=((level, words),),
                )
            )  # fmt: skip
        return Chart(
            TITLES[item],
            "open: reference, filled: recomputed ± 2 s.e.",
            Axis("law, α and people added" if item == "repair" else "people and α", "category"),
            Axis("number", "linear"),
            tuple(panels),
            columns=columns,
            shared_y=False,
            height=200 + 190 * math.ceil(len(panels) / columns),
        )


def _item(result: Result) -> str:
    scenario = result.scenario
    assert isinstance(scenario, ReproduceEffectsScenario)  # noqa: S101
    return scenario.item


def _judged(points: Sequence[Point]) -> str:
    """Judge one panel; runs that cannot see a difference that matters do not confirm anything."""
    verdicts = [one.verdict for one in points]
    if "does not hold" in verdicts:
        return f"**Does not hold** for {verdicts.count('does not hold')} of {len(points)}."
    if "cannot be told" in verdicts:
        many = verdicts.count("cannot be told")
        which = "" if many == len(points) else f" So it is for {many} of {len(points)}; the others hold."
        return WORDS["cannot be told"] + which
    return WORDS["holds"]


def _told(title: str, points: Sequence[Point]) -> str:
    """Tell how far apart printed and recomputed numbers of one panel are."""
    worst = max(points, key=lambda one: one.away)
    return (
        f"{title.capitalize()}: {len(points)} numbers; the farthest is {worst.name} with {significant(worst.printed)} "
        f"in the reference and {significant(worst.found)} ± {significant(2 * worst.found_error, 2)} here, "
        f"{apart(worst.away, FAR)[0]} standard errors of both apart."
    )


READING: Mapping[str, str] = {
    "law-b": "Coverage is near 95% from about 90 effective people in the thinnest cell on; the naive estimate is "
    "precisely wrong.",
    "law-a": "With a thin cell, 3,000 people and α = 0.2, unmixing breaks down in one sample of ten, so it has no "
    "entry.",
    "repair": "The likelihood solution keeps variance and coverage; adding people to cells (+1, +5) pulls the answer "
    "to the confounded contrast.",
    "law-c": "Two functions for each curve are safe from α = 0.5 on; three are not at α = 0.2, where the small-sample "
    "rule refuses or warns.",
}

FORMULAS: dict[str, tuple[Formula, ...]] = {
    "prop1": (
        Formula(
            "Influence function",
            r"\tilde\chi=r(m-\mu)+\frac{1\{v_2=c\}}{p_{V_2}(c)}(g-\gamma)\,e+f(\cdot,\mu,\gamma)-\chi",
            "", "exact", "Prop. 1; erratum E1",
        ),
    ),
    "thm1": (
        Formula(
            "Exact bias",
            r"\chi'-\chi+P\tilde\chi'=-P(r-r')(\mu-\mu')+(\gamma-\gamma')\Big(\tfrac{p}{p'}e''-e'\Big)"
            r"-\tfrac12(\gamma-\gamma')^2P\partial^2_\gamma f",
            "", "exact", "Thm 1",
        ),
    ),
    "thm2": (
        Formula(
            "Influence function under noise",
            r"\tilde\psi=Q_{\mathcal X}^{-1}\tilde\chi=\tfrac1\alpha\tilde\chi(v,z)-\tfrac{1-\alpha}\alpha"
            r"\int\tilde\chi(v,x)\,\bar Q(dx)",
            "", "exact", "Thm 2, Lemma 3",
        ),
    ),
    "bounds": (
        Formula(
            "Three terms",
            r"\sigma^2(\alpha)=T_0+\tfrac{1-\alpha}\alpha T_1+\tfrac{1-\alpha}{\alpha^2}T_2",
            "", "exact", "(17); locally private inference §1.6, derived",
        ),
    ),
    "tables": (
        Formula(
            "One-step estimate",
            r"\sqrt n(\hat\psi-\chi)\Rightarrow N(0,\sigma^2(Q))",
            r"\text{coverage}\to95\%,\qquad n\,\mathrm{Var}\,\hat\psi/\sigma^2\to1",
            "shape only", "Cor. 1; erratum E16",
        ),
    ),
}  # fmt: skip

ASSUMPTIONS = (
    "The source has no experiments. Expected numbers and reference tables were worked out apart from this program, "
    "from the formulas of the source; printed and corrected numbers stand beside each other where they differ.",
    "Law A: shares .5, .3, .2; treated .3, .5, .8; outcome untreated .2, .4, .7, treated .5, .6, .75. Law B: shares "
    ".6, .4; treated .3, .7; outcome .2, .6 and .5, .7. Law C: X on −1 to 1, log odds of treatment 0.3 + x, means "
    "1 + 2x and 2 + 3x.",
    "Unless said otherwise a category is kept with probability α and replaced by an even draw else. (15)",
    effects.ONE_COLUMN,
)

__all__ = ["ReproduceEffects", "ReproduceEffectsScenario"]
