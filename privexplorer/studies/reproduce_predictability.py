"""The published claims on predictability, checked (spec predictability, sections 4, 5 and 7).

The source has no data, no figure and no numbered table, so every quantitative claim is recomputed (R1 to R14), its
errata are shown as printed and corrected, and simulated attackers are held against its formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.records import Number, Scenario, Seed, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _predictability_claims as claims
from privexplorer.studies._predictability import READING
from privexplorer.studies._predictability_attacks import BLOCK_ATTACKS, NOISY, PRINTED, Setting, settings
from privexplorer.studies._predictability_claims import Answer, Row, Verdict
from privexplorer.studies._predictability_errata import errata
from privexplorer.studies._reproduced import ANOTHER_WAY, apart, beside, errata_table, in_turn, judged, runs_field, side
from privexplorer.studies.base import Preset, Study, blocks_for, stacked, wide
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Mark, Panel, Points, Role, Spread
from privexplorer.studies.result import Card, Note, Result, tidy
from privexplorer.studies.words import listed, ratio, significant, whole

Item = Literal[
    "R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "errata", "attacks"
]
WORDS: dict[str, str] = {
    "R1": "Beliefs shift by e^ε",
    "R2": "Private, yet predictable",
    "R3": "Not private, yet unpredictable",
    "R4": "Information to (0, δ)",
    "R5": "Log loss is information",
    "R6": "ε bounds what one answer tells",
    "R7": "From no noise to much noise",
    "R8": "Uncorrelated queries are free",
    "R9": "Every compromised fraction",
    "R10": "Calibrated noise, any query",
    "R11": "What noise costs a regression",
    "R12": "Many queries, unknown process",
    "R13": "Linear and Lipschitz families",
    "R14": "Time",
}
TITLES = {name: f"{name}: {words}" for name, words in WORDS.items()} | {
    "errata": "Errata: printed and corrected",
    "attacks": "Simulated attackers against theory",
}
PLACES: dict[str, str] = {
    "R1": "section 1",
    "R2": "Theorem 2.5, first part",
    "R3": "Theorem 2.5, second part",
    "R4": "the text after Theorem 2.7",
    "R5": "Theorem 2.4",
    "R6": "Theorem A.9",
    "R7": "Remark 3.7",
    "R8": "Remark 3.7",
    "R9": "Corollary 3.8",
    "R10": "Lemma 4.3",
    "R11": "Theorem 4.4 and Lemma 4.5",
    "R12": "Theorem 5.1",
    "R13": "Theorems 5.2, 5.4 and A.21",
    "R14": "Lemma 4.3",
}
USUAL_TRIALS = {"R2": 10_000, "R13": 10_000, "attacks": 1_000}
BLOCK_TRIALS = {"R2": 1_000, "R13": 1_000, "attacks": BLOCK_ATTACKS}


class ReproducePredictabilityScenario(Scenario):
    """Which claim."""

    item: Item = field(
        "R2",
        "Which",
        "The source has no figures or tables of numbers; each of its quantitative claims is recomputed here.",
        key="item",
        group="Claim",
        titles=TITLES,
    )
    trials: Annotated[int, Number] | None = runs_field(
        "Only R2, R13 and the simulated attackers draw anything: 10,000, 10,000 and 1,000 runs where this is empty.",
        100_000,
    )
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    item: str
    seed: int
    settings: tuple[Setting, ...] = ()
    seconds: FloatArray | None = None


class ReproducePredictability(Study[ReproducePredictabilityScenario]):
    """The fourteen claims, the errata and the simulated attackers."""

    id: ClassVar[str] = "reproduce-predictability"
    question: ClassVar[str] = "Do the published claims on predictability hold up?"
    lead: ClassVar[str] = (
        "Each quantitative claim recomputed, each number that was printed wrongly beside the right one, and simulated "
        "attackers against the formulas."
    )
    tab: ClassVar[str] = "Predictability"
    card: ClassVar[str] = "Every quantitative claim on predictability, recomputed, with its errata."
    link: ClassVar[str] = "Check a claim"
    theme: ClassVar[str] = "reproduce_predictability"
    picture: ClassVar[str] = "checks"
    scenario: ClassVar[type[Scenario]] = ReproducePredictabilityScenario
    late: ClassVar[frozenset[str]] = frozenset({"trials"})
    rows: ClassVar[tuple[str, ...]] = (
        "P-X1", "P-T2.5i", "P-T2.5ii", "P-X8", "P-T2.4", "P-T2.4pf", "P-D2.3", "P-TA.9", "P-R3.7b", "P-X19", "P-C3.8",
        "P-L4.3", "P-T4.4", "P-T4.4e", "P-L4.5", "P-X25", "P-T5.1", "P-T5.2", "P-T5.4", "P-TA.21", "P-X23", "P-X3",
        "P-L2.9H", "P-T3.6hp", "P-X17", "P-X29", "P-TA.22", "P-TA.16", "P-T3.6", "P-T3.4", "P-T3.2", "P-T2.7",
        "P-T4.1", "P-T4.2", "P-X18",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[ReproducePredictabilityScenario], ...]:
        """One claim of each kind."""
        make = ReproducePredictabilityScenario
        return (
            Preset("Private, yet predictable", make()),
            Preset("The U-curve", make(item="R9")),
            Preset("Families of queries", make(item="R13")),
            Preset("Errata", make(item="errata")),
            Preset("Simulated attackers", make(item="attacks")),
        )

    def trials(self, scenario: ReproducePredictabilityScenario) -> int:
        """Return the runs asked for; 0 where nothing is drawn."""
        usual = USUAL_TRIALS.get(scenario.item, 0)
        return usual if scenario.trials is None or not usual else scenario.trials

    def blocks(self, scenario: ReproducePredictabilityScenario) -> int:
        """Return the number of blocks: the settings of attackers take turns."""
        if scenario.item not in BLOCK_TRIALS:
            return 0
        turns = len(settings()) if scenario.item == "attacks" else 1
        return turns * blocks_for(self.trials(scenario), BLOCK_TRIALS[scenario.item])

    # ---- prepare and blocks ----

    def prepare(self, scenario: ReproducePredictabilityScenario, tables: Tables | None) -> Prepared:
        """Set up attackers, or take the time."""
        if scenario.item == "attacks":
            return Prepared(scenario.item, scenario.seed, settings())
        if scenario.item == "R14":
            return Prepared(scenario.item, scenario.seed, seconds=claims.measured_times())
        return Prepared(scenario.item, scenario.seed)

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw gains (R2), suprema (R13) or attacks; return ``(trials, series, points)``."""
        if prepared.item == "R2":
            rng = block_rng(prepared.seed, block, 1)
            gains = [pr.simulate_private_yet_predictable(n, BLOCK_TRIALS["R2"], rng)[1] for n in claims.PRIVATE_PEOPLE]
            return np.stack(gains, axis=1)[:, None, :]
        if prepared.item == "R13":
            rng = block_rng(prepared.seed, block, 2)
            suprema = [
                family.simulated_supremum(BLOCK_TRIALS["R13"], rng, 1.0, "gain" if what == 0 else "product")
                for family in claims.linear_families().values()
                for what in (0, 1)
            ]
            return np.stack(suprema, axis=1)[:, :, None]
        chunk, number = divmod(block, len(prepared.settings))
        one = prepared.settings[number]
        drawn = one.attack.run(
            BLOCK_ATTACKS, block_rng(prepared.seed, chunk, 10 + number), block_rng(prepared.seed, chunk, 50 + number)
        )
        return np.stack([drawn.truth, drawn.before, drawn.feasible, drawn.oracle], axis=1)

    # ---- assemble ----

    def assemble(
        self, scenario: ReproducePredictabilityScenario, prepared: Prepared, parts: Sequence[FloatArray]
    ) -> Result:
        """Turn an answer into numbers and words."""
        item, runs = scenario.item, 0
        if item == "attacks":
            answer, runs = self._attacks(scenario, prepared, parts)
        elif item == "errata":
            answer = _errata()
        elif item == "R14":
            assert prepared.seconds is not None  # noqa: S101
            answer = claims.times(prepared.seconds)
        elif item in BLOCK_TRIALS:
            drawn = stacked(parts, self.trials(scenario))
            runs = len(drawn)
            answer = (
                claims.private_yet_predictable(drawn[:, 0]) if item == "R2" else claims.ball_families(drawn[..., 0])
            )
        else:
            answer = claims.CLOSED[item](scenario.seed)
        held, count = claims.held(answer.verdicts), len(answer.verdicts)
        if item == "errata":
            shows = f"{ANOTHER_WAY}\n\n" + "\n".join(f"- {one.text} {one.evidence}" for one in answer.verdicts)
            takeaway = f"{count} printed numbers beside the corrected ones. {answer.notes[0].text}"
        else:
            opening = (
                f"**{runs:,} attacks** in each setting, with the best weights (“oracle”)."
                if item == "attacks"
                else f"Claim {item}, from {PLACES[item]}."
            )
            shows = f"{opening}\n\n" + "\n".join(judged(answer.verdicts))
            takeaway = f"{TITLES[item]}. {held} of {count} statements hold: " + " ".join(
                f"{one.text} {one.evidence}" for one in answer.verdicts
            )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=_frame(answer),
            cards=_cards(item, answer, runs),
            shows=shows,
            takeaway=takeaway,
            notes=answer.notes,
            formulas=answer.formulas,
            assumptions=ASSUMPTIONS,
            extra={"verdicts": answer.verdicts},
            runs=runs,
        )

    def _attacks(
        self, scenario: ReproducePredictabilityScenario, prepared: Prepared, parts: Sequence[FloatArray]
    ) -> tuple[Answer, int]:
        drawn = in_turn(parts, len(prepared.settings), self.trials(scenario))
        names = [one.name for one in prepared.settings[: len(drawn)]]
        ratios, errors, shares = [], [], []
        for one, draws in zip(prepared.settings, drawn, strict=False):
            given = pr.AttackDraws(draws[:, 0], draws[:, 1], draws[:, 2], draws[:, 3], one.attack.process.draws)
            found = pr.assess(
                given, one.theory, block_rng(prepared.seed, 0, 99), who="oracle", tau=one.tau, resamples=1
            )
            both = np.array([found.before_ratio[0], found.after_ratio[0], found.difference_ratio[0]])
            ratios.append(both)
            errors.append(_ratio_errors(given, one))
            shares.append((float(found.share_of_bound[0]), float(found.gain_error[0] / one.theory.printed[0])))
        table, fault = np.array(ratios), np.array(errors)
        share = np.array(shares)
        series = ("without the release", "with the release", "difference")
        good = [place for place, name in enumerate(names) if name != PRINTED]
        away = np.abs(table[good] - 1) / fault[good]
        slack = np.maximum(np.abs(table[good] - 1) - 4.5 * fault[good], 0.0)
        verdicts = [
            Verdict(
                "Variances without and with the release, and of their difference, are as in Theorems 3.2, 3.4 and 3.6.",
                bool(np.max(slack) <= 0.03),
                f"Simulated over theory they are {significant(table[good].min(), 3)} to "
                f"{significant(table[good].max(), 3)}; the farthest is {significant(float(away.max()), 2)} standard "
                "errors from 1 (we allow 4.5, and 3% for finite samples).",
            ),
            Verdict(
                "The printed bound is never exceeded.", bool(np.all(share[:, 0] - 4.5 * share[:, 1] < 1)),
                f"The realised gain is {significant(float(share[good, 0].min()), 2)} to "
                f"{apart(float(share[good, 0].max()), 1.0)[0]} of it (we allow 4.5 standard errors).",
            ),
        ]  # fmt: skip
        if PRINTED in names:
            place = names.index(PRINTED)
            verdicts.append(
                Verdict(
                    "(E1) The shared noise counts once, as printed.",
                    side(float(table[place, 2]), float(fault[place, 2]), 0.5) == 1,
                    "With noise of that size the difference has "
                    f"{beside(float(table[place, 2]), float(fault[place, 2]), 0.5)} of the printed variance (we count "
                    "from 0.5 on); as released (A1) it has "
                    f"{significant(float(table[names.index(NOISY), 2]), 3)} of it.",
                    unclear=side(float(table[place, 2]), float(fault[place, 2]), 0.5) == 0,
                )
            )  # fmt: skip
        rows: list[Row] = [(name, names, table[:, place], fault[:, place]) for place, name in enumerate(series)]
        answer = Answer(
            {
                "variance: simulated ÷ theory": rows,
                "gain ÷ printed bound": [("realised gain", names, share[:, 0], share[:, 1])],
            },
            tuple(verdicts),
            (
                Note(READING, "info", "How to read it"),
                Note("; ".join(f"**{one.name}**: {one.words}" for one in prepared.settings) + ".", "info", "Settings"),
            ),
        )
        return answer, min(len(draws) for draws in drawn)

    # ---- tables and charts ----

    def table(self, result: Result) -> pd.DataFrame:
        """One row per panel and x; for the errata, what each is about."""
        if _item(result) == "errata":
            return errata_table(errata())
        return wide(result.frame)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the chart of the chosen item."""
        look = LOOKS[_item(result)]
        frame = result.frame
        titles = list(dict.fromkeys(frame["panel"])) if "panel" in frame else [""]
        panels = [
            Panel(
                tuple(
                    mark for name, style in look.marks.items() for mark in _marks(result, name, title or None, style)
                ),
                title=title,
                level_lines=look.levels if place == 0 or not look.levels_once else (),
            )
            for place, title in enumerate(titles)
        ]
        if look.axes:
            panels = [replace(panel, x=x, y=y) for panel, (x, y) in zip(panels, look.axes, strict=False)]
        return Chart(
            look.title, look.subtitle, look.x, look.y, tuple(panels), columns=look.columns, height=look.height,
            shared_y=look.axes == (), names=tuple(look.marks) if len(panels) > 1 else (),
        )  # fmt: skip


def _ratio_errors(draws: pr.AttackDraws, one: Setting) -> FloatArray:
    """Return standard errors of the three variance ratios."""
    first, second = draws.before - draws.truth, draws.oracle - draws.truth
    n = one.theory.size.effective
    steps = first - second
    squares = (first**2, second**2, (steps - steps.mean(axis=0)) ** 2)
    theory = (one.theory.variance_before, one.theory.variance_after, one.theory.explained)
    return np.array(
        [
            float(square[:, 0].std(ddof=1)) / math.sqrt(len(square)) / float(value[0] / n)
            for square, value in zip(squares, theory, strict=True)
        ]
    )


def _errata() -> Answer:
    rows = errata()
    places = np.array([float(one.id[1:].replace("b", ".5")) for one in rows])
    small = [one for one in rows if one.printed < one.corrected]
    shown = [one for one in rows if one.printed > 0]
    hidden = [one for one in rows if one.printed <= 0]
    worst = min(shown, key=lambda one: one.ratio)
    best = max(shown, key=lambda one: one.ratio)
    verdicts = tuple(
        Verdict(
            f"**{one.id}** ({one.where}), {one.quantity}:", False,
            f"printed {significant(one.printed)}, corrected {significant(one.corrected)}.",
        )
        for one in rows
    )  # fmt: skip
    return Answer(
        {
            "": [
                ("printed ÷ corrected", places, np.array([max(one.ratio, 0.0) for one in rows]), 0.0),
                ("printed", places, np.array([one.printed for one in rows]), 0.0),
                ("corrected", places, np.array([one.corrected for one in rows]), 0.0),
            ]
        },
        verdicts,
        (
            Note(
                f"{whole(len(small))} of {whole(len(rows))} printed numbers are too small, from "
                f"{ratio(worst.ratio)} ({worst.id}) upwards; the others are too large, up to {ratio(best.ratio)} "
                f"({best.id}). {listed([one.id for one in hidden])} cannot stand on a log axis: printed "
                f"{listed([significant(one.printed, 2) for one in hidden])}."
            ),
        ),
    )


def _item(result: Result) -> str:
    scenario = result.scenario
    assert isinstance(scenario, ReproducePredictabilityScenario)  # noqa: S101
    return scenario.item


def _frame(answer: Answer) -> pd.DataFrame:
    several = len(answer.curves) > 1
    frame = pd.concat(
        [tidy(rows, panel=title) if several else tidy(rows) for title, rows in answer.curves.items()], ignore_index=True
    )
    if answer.intervals:
        frame["low"], frame["high"] = np.nan, np.nan
        for name, (low, high) in answer.intervals.items():
            frame.loc[frame["series"] == name, ["low", "high"]] = np.column_stack([low, high])
    return frame


def _cards(item: str, answer: Answer, runs: int) -> tuple[Card, ...]:
    if item == "errata":
        rows = errata()
        return (
            Card("Errata that change a number", whole(len(rows)), "printed, corrected"),
            Card("Printed too small", whole(sum(one.printed < one.corrected for one in rows)), "they understate"),
            Card("Printed too large", whole(sum(one.printed > one.corrected for one in rows)), "they overstate"),
        )
    cards = [
        Card(
            "Statements that hold",
            f"{claims.held(answer.verdicts)} of {len(answer.verdicts)}",
            "on these numbers",
            "Statements marked E are printed wrongly in the source; they are listed with the right number.",
        )
    ]
    if runs:
        cards.append(Card("Runs a point", whole(runs), "simulated"))
    return tuple(cards)


# ---- looks --------------------------------------------------------------------------------------------------

Kind = Literal["line", "points", "bars", "spread"]


@dataclass(frozen=True)
class Style:
    """How one series looks."""

    kind: Kind
    role: Role
    label: str | None = None
    hover: str | None = None
    main: bool = False
    dash: str | None = None


@dataclass(frozen=True)
class Look:
    """How the chart of one item looks."""

    title: str
    subtitle: str
    x: Axis
    y: Axis
    marks: Mapping[str, Style]
    levels: tuple[tuple[float, str], ...] = ()
    columns: int = 1
    height: int = 430
    axes: tuple[tuple[Axis, Axis], ...] = ()
    levels_once: bool = False


def _marks(result: Result, name: str, panel: str | None, style: Style) -> list[Mark]:
    rows = result.series(name, panel)
    if not len(rows):
        return []
    y, error = rows["y"].to_numpy(dtype=np.float64), rows["std_error"].to_numpy(dtype=np.float64)
    is_text = isinstance(rows["x"].iloc[0], str)
    x: Any = [str(one) for one in rows["x"]] if is_text else rows["x"].to_numpy(dtype=np.float64)
    noisy = bool(np.any(error > 0))
    if style.kind == "bars":
        return [Bars(style.role, x, y, name, style.label, error=2 * error if noisy else None, hover=style.hover)]
    if style.kind == "points":
        return [
            Points(
                style.role, x, y, name, style.label, y - 2 * error if noisy else None, y + 2 * error if noisy else None,
                text=[one.id for one in errata()] if _item(result) == "errata" else None, hover=style.hover,
            )
        ]  # fmt: skip
    out: list[Mark] = []
    if style.kind == "spread":
        low, high = (rows[bound].to_numpy(dtype=np.float64) for bound in ("low", "high"))
        out.append(Spread(style.role, x, low, high, f"{name}, 9 of 10 queries", label="9 of 10<br>queries"))
    out.append(
        Line(
            style.role, x, y, name, style.label, error if noisy else None, main=style.main, dash=style.dash,
            hover=style.hover,
        )
    )  # fmt: skip
    return out


def _line(role: Role, label: str, hover: str | None = None, **more: Any) -> Style:
    return Style("line", role, label, hover, **more)


_SIGMA = Axis("noise variance σ²", "log", symbol="σ²")
_PEOPLE = Axis("people N", "log", symbol="N")
_EPSILON = Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε")

LOOKS: dict[str, Look] = {
    "R1": Look(
        "How far beliefs may shift", "factor on the odds, e^ε, log scale", _EPSILON,
        Axis("factor", "log", unit="times"),
        {"largest shift": _line("upper bound", "e^ε", "odds shift up to {y} times", main=True)},
        ((4.8517e8, "4.85×10⁸ at ε = 20"),),
    ),
    "R2": Look(
        "Predictability γ of a private release", "squared loss, ε = 1/√N, half of them known",
        _PEOPLE, Axis("γ", "linear", 0.0, 0.27),
        {
            "lower bound": _line("lower bound", "¼ − 8/N,<br>theorem", "γ is at least {y}", main=True),
            "simulated": Style("points", "attacker", None, "simulated gain {y} ± {e}"),
        },
        ((0.25, "¼"),),
    ),
    "R3": Look(
        "Predictability γ of the exact mean", "squared loss, p = α = ½, log scale", _PEOPLE, Axis("γ", "log"),
        {
            "printed, cross term 0": _line("upper bound", "printed", "as printed: {y}"),
            "corrected": _line("truth", "1/(N − 1),<br>corrected", "corrected: {y}", main=True),
            "all shards counted": Style("points", "attacker", None, "every shard counted: {y}"),
        },
    ),
    "R4": Look(
        "What ε-MI-DP says as (0, δ)-DP", "δ; 1 says nothing", Axis("ε of MI-DP, nats", symbol="ε"),
        Axis("δ", "linear", 0.0, 1.1),
        {"δ of the conversion": _line("upper bound", "min(1, √2ε)", "δ = {y}", main=True)},
        ((1.0, "says nothing"),),
    ),
    "R5": Look(
        "Log loss saved by the release", "four yes/no records, two known, in nats",
        Axis("number of ones in the data set", symbol="ones"), Axis("loss saved", "linear", 0.0, unit="nats"),
        {
            "loss saved, this data set": Style("bars", "attacker", None, "this data set: {y} nats"),
            "mutual information": _line("truth", "average =<br>information", "information: {y} nats"),
        },
    ),
    "R6": Look(
        "What one randomised answer tells", "in nats, fair prior, log scale", _EPSILON,
        Axis("information", "log", unit="nats"),
        {
            "bound: ε": _line("upper bound", "ε, theorem", "at most {y} nats"),
            "randomised response": _line("private", "randomised<br>response", "tells {y} nats", main=True),
        },
    ),
    "R7": Look(
        "Predictability left by noise", "γ(σ²) ÷ γ(0), regression on 20 people", _SIGMA,
        Axis("share left", "linear", 0.0, 1.05),
        {
            "noise counted once": _line("upper bound", "as printed", "printed: {y}"),
            "noise as released": _line("private", "corrected", "corrected: {y}", main=True),
        },
    ),
    "R8": Look(
        "Predictability γ of two queries", "printed bound, squared loss", Axis("noise variance σ²", symbol="σ²"),
        Axis("γ", "linear", 0.0),
        {
            "the query": _line("attacker", "the query", "the query: {y}"),
            "its residual": _line("private", "its residual:<br>free", "its residual: {y}", main=True),
        },
    ),
    "R9": Look(
        "Predictability γ by compromised fraction", "printed bound, 20 people, log scale",
        Axis("compromised fraction α", "linear", 0.0, 1.0, symbol="α"), Axis("γ", "log"),
        {
            "no noise": _line("non-private", "no noise", "no noise: {y}"),
            "noise counted once": _line("upper bound", "noise,<br>as printed", "noise as printed: {y}"),
            "noise as released": _line("private", "noise,<br>corrected", "noise corrected: {y}", main=True),
        },
    ),
    "R10": Look(
        "Predictability left by noise, 200 queries", "share of the noiseless bound", _SIGMA,
        Axis("share left", "linear", 0.0, 1.0),
        {
            "round noise": Style("spread", "non-private", "round noise", "round noise, middle query: {y}"),
            "1/√(1 + σ²)": _line("truth", "1/√(1 + σ²)", "theorem: {y}"),
            "calibrated noise": Style("points", "private", None, "calibrated noise, every query: {y}"),
        },
    ),
    "R11": Look(
        "Excess error of a noisy regression", "mean squared, σ² = 0.5, 20 people", Axis("", "category"),
        Axis("excess error", "linear", 0.0),
        {
            "exact": Style("bars", "private", None, "exact: {y}"),
            "bound": Style("bars", "upper bound", None, "bound: {y}"),
        },
    ),
    "R12": Look(
        "Price of many queries", "log factor 1 + ln(4|Q||W|)",
        Axis("pairs of query and process", "log", symbol="|Q||W|"),
        Axis("factor", "linear", 0.0),
        {
            "1 + ln(4|Q||W|)": _line("upper bound", "theorem", "factor {y}", main=True),
            "computed families": Style("points", "data", None, "computed family: {y}"),
        },
    ),
    "R13": Look(
        "Predictability γ of all linear queries", "ball of radius B, squared loss, log scale",
        Axis("radius B", "log", symbol="B"), Axis("γ", "log"),
        {
            "Theorem 5.2, corrected": _line("upper bound", "5.2 with B²", "Theorem 5.2 corrected: {y}"),
            "Theorem A.21": _line("upper bound", "A.21", "Theorem A.21: {y}", dash="9px,4px"),
            "Theorem 5.2, printed": _line("upper bound", "5.2 printed", "Theorem 5.2 printed: {y}", dash="2px,6px"),
            "simulated": _line("attacker", "simulated<br>supremum", "simulated supremum: {y} ± {e}", main=True),
        },
        columns=2,
    ),
    "R14": Look(
        "Time for fit, sums and calibrated noise", "milliseconds on this machine, log scale", _PEOPLE,
        Axis("time", "log", unit="ms"),
        {
            "measured": Style("points", "data", "measured", "measured: {y} ms"),
            "slope 1": _line("truth", "slope 1", "slope 1: {y} ms"),
            "slope 2": _line("truth", "slope 2", "slope 2: {y} ms"),
        },
        columns=2,
        axes=(
            (_PEOPLE, Axis("time", "log", unit="ms")),
            (Axis("features d", "log", symbol="d"), Axis("time", "log", unit="ms")),
        ),
    ),
    "errata": Look(
        "Printed number over corrected number", "1 would be right; log scale",
        Axis("number of the erratum", symbol="erratum"),
        Axis("ratio", "log"),
        {"printed ÷ corrected": Style("points", "attacker", None, "printed is {y} times the corrected number")},
        ((1.0, "right"),),
    ),
    "attacks": Look(
        "Simulated attackers against theory", "oracle attacker, ± 2 standard errors", Axis("", "category"),
        Axis("ratio", "linear", 0.0),
        {
            "without the release": Style("points", "non-private", "without<br>release", "without release: {y} ± {e}"),
            "with the release": Style("points", "attacker", "with<br>release", "with the release: {y} ± {e}"),
            "difference": Style("points", "private", "difference", "their difference: {y} ± {e}"),
            "realised gain": Style("bars", "attacker", None, "gain is {y} ± {e} of the printed bound"),
        },
        ((1.0, "theory"),),
        height=620,
        levels_once=True,
        axes=(
            (Axis("", "category"), Axis("ratio", "linear", 0.0)),
            (Axis("", "category"), Axis("share of the bound", "linear", 0.0)),
        ),
    ),
}  # fmt: skip

ASSUMPTIONS = (
    "The source has no experiments, data or figures. “Expected” numbers are its formulas worked out independently of "
    "this app; printed and corrected numbers stand beside each other where they differ.",
    "The table of 20 people is made by integer arithmetic: x₁ = 7i mod 11 − 5, x₂ = 5i mod 13 − 6, "
    "y = x₁ − 2x₂ + 3i mod 7 − 3, and the query asks whether x₁ + 3i mod 7 − 3 is above 0; 40% of them are known.",
    "The printed noise scale counts the shared draw of noise once; corrected, it counts ν times (E1).",
    "Simulated attackers know the best weights (“oracle”), as the theory does; ± is two standard errors.",
)

__all__ = ["ReproducePredictability", "ReproducePredictabilityScenario"]
