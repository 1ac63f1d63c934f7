"""Do the published figures on private property estimation hold up? (properties §8: F1-F12, claims (a)-(c)).

Every figure is recomputed at its printed setting. Whether a claim holds is read off the curves that are on screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import TableColumn, Tables
from privexplorer.distributions import DiscreteLaw, Empirical, figure_families, nested_fingerprints, nested_samples
from privexplorer.properties import (
    GoodToulmin,
    MillerMadow,
    PlugIn,
    Polynomial,
    SmoothedGoodToulmin,
    polynomial_parameters,
)
from privexplorer.records import Number, Scenario, Seed, field
from privexplorer.simulation import block_rng, root_mean_square
from privexplorer.studies import _entropy as core
from privexplorer.studies._reproduced import (
    Estimate,
    Outcome,
    among,
    apart,
    beside,
    error_ratio,
    in_turn,
    judged,
    mean_of,
    runs_field,
    side,
    worst_of,
    yes_or_no,
)
from privexplorer.studies.base import Preset, Study, blocks_for, wide
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, significant, whole

Figure = Literal["F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12"]
Kind = Literal["degrees", "entropy", "coverage", "real"]


@dataclass(frozen=True)
class Setting:
    """A figure's printed setting."""

    kind: Kind
    words: str
    section: str
    k: int = 0
    epsilons: tuple[float, ...] = (1.0,)
    trials: int = 100
    table: str = ""


SETTINGS: dict[str, Setting] = {
    "F1": Setting("degrees", "Entropy by degree, k = 2,000, ε = 1", "4.5.1", 2_000),
    "F2": Setting("entropy", "Entropy, k = 1,000, ε = 1", "4.5.1", 1_000),
    "F3": Setting("coverage", "Unseen symbols, k = 20,000", "4.5.2.1", 20_000, (1.0, 2.0, 10.0), 1_000),
    "F4": Setting("real", "Surnames of the census", "4.5.2.2", 0, (0.5, 1.0, 2.0), 100, "census-surnames"),
    "F5": Setting("real", "Words of Hamlet", "4.5.2.2", 0, (0.5, 1.0, 2.0), 100, "hamlet-words"),
    "F6": Setting("entropy", "Entropy, k = 100, ε = 1", "4.6.1", 100),
    "F7": Setting("entropy", "Entropy, k = 100, ε = 2", "4.6.1", 100, (2.0,)),
    "F8": Setting("entropy", "Entropy, k = 1,000, ε = 0.5", "4.6.1", 1_000, (0.5,)),
    "F9": Setting("entropy", "Entropy, k = 1,000, ε = 2", "4.6.1", 1_000, (2.0,)),
    "F10": Setting("coverage", "Unseen symbols, k = 1,000", "4.6.2", 1_000, (1.0, 2.0, 10.0), 1_000),
    "F11": Setting("coverage", "Unseen symbols, k = 5,000", "4.6.2", 5_000, (1.0, 2.0, 10.0), 1_000),
    "F12": Setting("coverage", "Unseen symbols, k = 100,000", "4.6.2", 100_000, (1.0, 2.0, 10.0), 1_000),
}
NOTICED = 1.25
"""An error is noticeably larger from this ratio on; below, curves nearly coincide (ours; the source gives none)."""
ALIKE = 1.08
"""Curves are almost indistinguishable up to this ratio."""
WORSE = 2.0
"""A degree is several times worse from this ratio on."""
SWEET = (0.9, 1.2)
"""The degrees over ln k that the source recommends, about."""
DEGREE_FACTORS = (0.3, 0.6, 0.9, 1.2, 1.5, 1.8)
TIMES = np.arange(1.0, 11.0)
SHARES = np.arange(1, 10) / 10
RULES = {
    "thesis": "as published (thesis bound)",
    "exact": "exact sensitivity",
    "paper_code": "as in the published code",
}


class ReproduceScenario(Scenario):
    """Which figure, with which noise."""

    figure: Figure = field(
        "F2",
        "Which",
        "The source's own figure numbers repeat its section numbers, so the figures have short names here.",
        key="figure",
        group="Figure",
        titles={name: f"{name}: {setting.words}" for name, setting in SETTINGS.items()},
    )
    noise_rule: Literal["thesis", "exact", "paper_code"] = field(
        "thesis",
        "Noise",
        "The source prints a bound on the sensitivity; the exact value needs less noise; its code used something else.",
        key="noise",
        group="Compare with",
        titles=RULES,
    )
    unit: Literal["bits", "nats"] = field(
        "bits", "Unit of entropy", "The published code works in bits.", key="unit", group="Compare with"
    )
    trials: Annotated[int, Number] | None = runs_field(
        "Empty runs as many as printed: 100 for entropy and real data, 1,000 for the unseen symbols.",
        5_000,
    )
    seed: Seed = 0


@dataclass(frozen=True)
class PanelPart:
    """What one panel's blocks need."""

    title: str
    law: DiscreteLaw
    truth: float


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    setting: Setting
    seed: int
    block_trials: int
    panels: tuple[PanelPart, ...]
    names: tuple[str, ...]
    ns: IntArray
    ahead: FloatArray
    listed: tuple[tuple[FloatArray, ...], ...]
    """One list of tables (by series, then by point) per figure; arrays over counts."""
    constants: FloatArray
    cutoff: int = 0


@dataclass(frozen=True)
class Claim:
    """A sentence of the source, and whether the curves on screen bear it out."""

    text: str
    outcome: Outcome
    evidence: str

    @property
    def holds(self) -> bool:
        """Whether it is true here beyond doubt."""
        return self.outcome == "holds"


class ReproduceProperties(Study[ReproduceScenario]):
    """The twelve figures, recomputed, with the claims beside them."""

    id: ClassVar[str] = "reproduce-properties"
    question: ClassVar[str] = "Do the published figures hold up?"
    lead: ClassVar[str] = (
        "Private entropy, unseen symbols and real data: each figure recomputed here, its claims checked on the curves."
    )
    tab: ClassVar[str] = "Private property estimation"
    card: ClassVar[str] = "Every figure on private property estimation, recomputed, its claims checked."
    link: ClassVar[str] = "Check a figure"
    theme: ClassVar[str] = "reproduce_properties"
    picture: ClassVar[str] = "panels"
    scenario: ClassVar[type[Scenario]] = ReproduceScenario
    late: ClassVar[frozenset[str]] = frozenset({"noise_rule", "unit", "trials"})
    rows: ClassVar[tuple[str, ...]] = (
        *(f"T-F{number}" for number in range(1, 13)),
        "T-Claim-poly",
        "T-Claim-cov",
        "T-Claim-real",
        "T-Dists",
        "T-PolyDeg",
        "T-SGTr",
    )

    def presets(self) -> tuple[Preset[ReproduceScenario], ...]:
        """One figure of each kind."""
        make = ReproduceScenario
        return (
            Preset("Entropy", make()),
            Preset("Degrees", make(figure="F1")),
            Preset("Unseen symbols", make(figure="F10")),
            Preset("Census surnames", make(figure="F4")),
            Preset("Hamlet", make(figure="F5")),
        )

    def block_trials(self, scenario: ReproduceScenario) -> int:
        """Trials per block; a block belongs to one panel."""
        setting = SETTINGS[scenario.figure]
        if setting.kind == "real":
            return 4
        if setting.kind == "coverage":
            return max(8, min(64, 600_000 // setting.k))
        return 50 if setting.k <= 1_000 else 25

    def trials(self, scenario: ReproduceScenario) -> int:
        """Return the runs asked for."""
        return scenario.trials if scenario.trials is not None else SETTINGS[scenario.figure].trials

    def blocks(self, scenario: ReproduceScenario) -> int:
        """Return the number of blocks: the panels take turns."""
        panels = 1 if SETTINGS[scenario.figure].kind == "real" else 6
        return panels * blocks_for(self.trials(scenario), self.block_trials(scenario))

    # ---- prepare ----

    def prepare(self, scenario: ReproduceScenario, tables: Tables | None) -> Prepared:
        """Compute laws and tables."""
        setting = SETTINGS[scenario.figure]
        base = (setting, scenario.seed, self.block_trials(scenario))
        if setting.kind == "real":
            return _prepare_real(base)
        panels = tuple(
            PanelPart(title, family.law(), family.law().entropy())
            for title, family in figure_families(setting.k, draw=scenario.seed).items()
        )
        if setting.kind == "coverage":
            n = setting.k // 2
            tables_ = [_coverage_values(n, float(t)) for t in TIMES]
            return Prepared(*base, panels, ("SGT",), np.array([n]), TIMES, (tuple(tables_),), np.zeros((1, TIMES.size)))
        ns = np.array([setting.k * step // 10 for step in range(1, 11)])
        rows: list[tuple[str, Callable[[int], Any]]] = []
        if setting.kind == "entropy":
            rows = [
                ("plug-in", lambda n: PlugIn().table(n, setting.k)),
                ("Miller-Madow", lambda n: MillerMadow().table(n, setting.k)),
                ("poly", lambda n: Polynomial(preset="non-private").table(n, setting.k)),
                ("private poly", lambda n: Polynomial(preset="private").table(n, setting.k, private=True)),
            ]
        else:
            rows = [
                (f"L = {e.degree}", lambda n, e=e: e.table(n, setting.k, private=True))  # type: ignore[misc]
                for e in degree_estimators(setting.k)
            ]
        tabled = [[make(int(n)) for n in ns] for _, make in rows]
        return Prepared(
            *base,
            panels,
            tuple(name for name, _ in rows),
            ns,
            np.zeros(0),
            tuple(tuple(t.values for t in row) for row in tabled),
            np.array([[t.constant for t in row] for row in tabled]),
            polynomial_parameters(setting.k, "private")[2],
        )

    # ---- blocks ----

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Simulate a block of one panel; return ``(trials, series, points)``."""
        chunk, number = divmod(block, len(prepared.panels))
        rng = block_rng(prepared.seed, chunk, 100 + number)
        law, trials, kind = prepared.panels[number].law, prepared.block_trials, prepared.setting.kind
        if kind == "coverage":
            return np.stack(_coverage_block(prepared, law, trials, rng), axis=1)
        if kind == "real":
            return np.stack(_real_block(prepared, law, trials, rng), axis=1)
        prints = nested_fingerprints(law, prepared.ns, trials, rng)
        parts = [
            np.maximum(prints.totals(row) + constants[:, None], 0.0).T
            for row, constants in zip(prepared.listed, prepared.constants, strict=True)
        ]
        if kind == "entropy":
            steps = [
                core.data_dependent_step(values, prints.common[point], min(prepared.cutoff, int(prepared.ns[point])))
                for point, values in enumerate(prepared.listed[3])
            ]
            parts.append(np.stack(steps, axis=1))
        return np.stack(parts, axis=1)

    # ---- assemble ----

    def assemble(self, scenario: ReproduceScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Turn blocks into curves and check the claims on them."""
        blocks = in_turn(parts, len(prepared.panels), self.trials(scenario))
        runs = min(part.shape[0] for part in blocks)
        make = {
            "degrees": _degree_curves,
            "entropy": _entropy_curves,
            "coverage": _coverage_curves,
            "real": _real_curves,
        }
        kind = prepared.setting.kind
        frame_rows, claims, notes = make[kind](scenario, prepared, blocks)
        import pandas as pd

        frame = pd.concat(
            [tidy(rows, panel=title) if len(prepared.panels) > 1 else tidy(rows) for title, rows in frame_rows.items()],
            ignore_index=True,
        )
        held = sum(claim.holds for claim in claims)
        shows = "\n".join(judged(claims))
        setting = prepared.setting
        first = (
            f"{scenario.figure} of section {setting.section}, at its printed setting, {runs:,} runs a point. "
            + (
                f"All t are answered from the same {runs:,} samples, so the points move together."
                if kind == "coverage"
                else "Neighbouring points share nested samples, so they move together."
            )
            + " ± is two standard errors; where a number is that close to its limit, nothing is claimed.\n\n"
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card(
                    "Claims that hold",
                    f"{held} of {len(claims)}",
                    "on these curves",
                    "Computed from the curves on screen.",
                ),
                Card(
                    "Runs a point",
                    whole(runs),
                    f"printed: {setting.trials:,}",
                    "Simulated data sets behind each point.",
                ),
                Card(
                    "Noise",
                    {"thesis": "Published", "exact": "Exact", "paper_code": "Code"}[scenario.noise_rule],
                    "no new runs needed",
                ),
            ),
            shows=first + shows,
            takeaway=(
                f"Figure {scenario.figure} recomputed: {setting.words}. {held} of {len(claims)} claims hold: "
                + " ".join(c.evidence for c in claims)
            ),
            notes=notes,
            formulas=_formulas(setting),
            assumptions=ASSUMPTIONS,
            extra={"kind": kind, "names": list(dict.fromkeys(frame["series"])), "claims": tuple(claims)},
            runs=runs,
        )

    def table(self, result: Result) -> Any:
        """One row per panel and x."""
        return wide(result.frame)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe six panels, or one for real data."""
        kind, names, scenario = result.extra["kind"], result.extra["names"], result.scenario
        assert isinstance(scenario, ReproduceScenario)  # noqa: S101
        titles = list(dict.fromkeys(result.frame["panel"])) if "panel" in result.frame else [""]
        unit = scenario.unit if kind in ("entropy", "degrees") else "symbols" if kind == "real" else ""
        panels = []
        for place, title in enumerate(titles):
            marks = []
            for name in names:
                rows = result.series(name, title or None)
                role, dash, label, width = STYLES.get(name) or _degree_style(name, names)
                marks.append(
                    Line(
                        role,
                        rows["x"].to_numpy(),
                        rows["y"].to_numpy(),
                        name,
                        label,
                        rows["std_error"].to_numpy() if kind == "real" else None,
                        main=name in ("private poly", "ε = 1", "ε = 0.5"),
                        dash=dash,
                        width=width,
                        hover=f"{name}: " + "{y} ± {e}" + (f" {unit}" if unit else ""),
                    )
                )
            panels.append(Panel(tuple(marks), title=title if place >= 0 else ""))
        x, sub = {
            "entropy": (Axis("sample size n", "linear", symbol="n"), f"in {unit}, log scale"),
            "degrees": (Axis("sample size n", "linear", symbol="n"), f"in {unit}, log scale"),
            "coverage": (Axis("t, further samples ÷ n", "linear", symbol="t"), "new symbols, as a share of nt"),
            "real": (
                Axis("share of the individuals seen", "linear", symbol="share"),
                "different names or words, log scale",
            ),
        }[kind]
        return Chart(
            "Root-mean-square error",
            sub,
            x,
            Axis("error", "log", unit=unit) if kind != "coverage" else Axis("error", "linear", low=0.0),
            tuple(panels),
            columns=3 if len(panels) > 1 else 1,
            height=620 if len(panels) > 1 else 430,
            names=tuple(names),
        )


STYLES: dict[str, tuple[Role, str | None, str, float | None]] = {
    "plug-in": ("non-private", "2px,4px", "plug-in", 2.0),
    "Miller-Madow": ("non-private", "9px,4px", "Miller–<br>Madow", 2.0),
    "poly": ("non-private", "solid", "polynomial", 2.0),
    "private plug-in": ("private", "2px,4px", "plug-in,<br>private", 2.0),
    "private poly": ("private", "solid", "polynomial,<br>private", 3.0),
    "non-private": ("non-private", "9px,4px", "without<br>privacy", 2.0),
    "ε = 0.5": ("private", "solid", "ε = 0.5", 3.0),
    "ε = 1": ("private", "solid", "ε = 1", 2.5),
    "ε = 2": ("private", "6px,3px", "ε = 2", 2.0),
    "ε = 10": ("private", "2px,3px", "ε = 10", 2.0),
}


def _degree_style(name: str, names: Sequence[str]) -> tuple[Role, str | None, str, float | None]:
    roles: tuple[Role, ...] = ("data", "lower bound", "private", "private", "upper bound", "attacker")
    dashes = ("2px,3px", "9px,3px", "6px,3px", "solid", "9px,4px", "2px,4px")
    place = list(names).index(name)
    return roles[place], dashes[place], name.replace("L = ", "L = "), 3.0 if place == 3 else 2.0


ASSUMPTIONS = (
    "Neighbours differ in one record; n and k are public. Six distributions, in this order: uniform, two steps, "
    "Zipf ½, Zipf 1, one Dirichlet(1) draw, one Dirichlet(½) draw, shared by all runs. (properties §8)",
    "Entropy: n = k/10, …, k; private answers are not clipped to [0, ln k]; polynomial presets of properties §4.3.",
    "Unseen symbols: n = k/2; the target is the expected number of new symbols given the sample; private answers are "
    "clipped to [0, nt], the others are not (as in the published code).",
    "Real data: samples without replacement; smoothed for t > 1, plain Good–Toulmin from half of the individuals on; "
    "the answer is the total number of different symbols.",
    "Error bars are ± two standard errors. The noise is integrated exactly.",
    f"Our limits, where the source gives no number. An error counts as noticeably larger from {NOTICED:g} times on: a "
    "quarter more, what a third fewer records would do. “Nearly coincides” means less than that on average from "
    "n = k/2 on, on every panel: on F2, which the sentence is about, an independent check found 1.2 or less at most "
    "points, and the line is a twentieth of the height of that chart. “Little” means less at every t, “noticeably” "
    f"more at some t. “Almost indistinguishable”: at most {ALIKE:g} times at every share.",
    "Verdicts count what is sure: a number within two standard errors of its limit cannot be told. Both errors of a "
    "ratio come from the same runs, and its ± takes that into account.",
)


def degree_estimators(k: int) -> tuple[Polynomial, ...]:
    """Return the polynomial estimators of F1: degree ⌈c ln k⌉ with M = 2 ln k and the published cutoff."""
    cutoff = polynomial_parameters(k, "private")[2]
    return tuple(
        Polynomial(preset="custom", degree=math.ceil(c * math.log(k)), interval=2 * math.log(k), cutoff=cutoff)
        for c in DEGREE_FACTORS
    )


def _coverage_values(n: int, t: float) -> FloatArray:
    """Coefficients of the number of new symbols, up to where the series has vanished."""
    size = min(n, 400)
    return np.asarray(SmoothedGoodToulmin(smoothing_mean=_rate(n, t)).new_values(np.arange(size + 1), n, t))


def _rate(n: int, t: float) -> float:
    from privexplorer.properties import smoothing_rate

    return smoothing_rate(n, t)


def _coverage_block(prepared: Prepared, law: DiscreteLaw, trials: int, rng: np.random.Generator) -> list[FloatArray]:
    n = int(prepared.ns[0])
    drawn = nested_samples(law, prepared.ns, trials, rng, extra_sizes=n * prepared.ahead)
    assert drawn.unseen_targets is not None  # noqa: S101
    reach = prepared.listed[0][0].size

    def total(given: FloatArray) -> FloatArray:
        # beyond the table the series has vanished
        return np.asarray(drawn.fingerprints.totals([lambda counts: given[np.minimum(counts, reach - 1)]])[0])

    estimates = np.stack([total(given) for given in prepared.listed[0]], axis=1)
    return [estimates, drawn.unseen_targets[0]]


def _prepare_real(base: tuple[Setting, int, int]) -> Prepared:
    setting = base[0]
    law = Empirical(table=_bundled_column(setting.table)).law({})
    total = law.population_size
    ns = np.array([math.floor(share * total + 1e-9) for share in SHARES])
    ahead = (total - ns) / ns
    values = tuple(_real_values(int(n), float(t)) for n, t in zip(ns, ahead, strict=True))
    panel = PanelPart("", law, float(law.support_size()))
    return Prepared(*base, (panel,), ("SGT",), ns, ahead, (values,), np.zeros((1, ns.size)))


def _bundled_column(name: str) -> TableColumn:
    from privexplorer.data import bundled

    table = next(item for item in bundled() if item.id == name)
    return TableColumn(data=name, column=table.column, counts=table.counts)


def _real_values(n: int, t: float) -> FloatArray:
    estimator = SmoothedGoodToulmin() if t > 1 else GoodToulmin()
    return np.asarray(estimator.values(np.arange(n + 1), n, t))


def _real_block(prepared: Prepared, law: DiscreteLaw, trials: int, rng: np.random.Generator) -> list[FloatArray]:
    prints = nested_fingerprints(law, prepared.ns, trials, rng, replace=False)
    return [prints.totals(prepared.listed[0]).T, prints.distinct().T.astype(np.float64)]


Curves = tuple[dict[str, list[tuple[str, Any, Any, Any]]], list[Claim], tuple[Note, ...]]


def _rms(squares: FloatArray, scale: Any = 1.0) -> tuple[FloatArray, FloatArray]:
    root, error = root_mean_square(squares)
    return root / scale, error / scale


def _entropy_curves(scenario: ReproduceScenario, prepared: Prepared, blocks: Sequence[FloatArray]) -> Curves:
    setting, unit, ns = prepared.setting, core.unit_size(scenario.unit), prepared.ns
    k, rule, epsilon = setting.k, scenario.noise_rule, setting.epsilons[0]
    plug = np.array([PlugIn().sensitivity(int(n), k, rule=rule) for n in ns])
    poly = np.array([Polynomial(preset="private").sensitivity(int(n), k, rule="exact") for n in ns])
    out: dict[str, list[tuple[str, Any, Any, Any]]] = {}
    other = {1.0: 2.0, 0.5: 1.0, 2.0: 1.0}[epsilon]
    gaps: dict[float, list[float]] = {epsilon: [], other: []}
    ratios: list[Estimate] = []
    rivals: list[Estimate] = []
    for panel, mine in zip(prepared.panels, blocks, strict=False):  # a draft may not have reached every panel
        squares = [(mine[:, s, :] - panel.truth) ** 2 for s in range(4)]
        scale = mine[:, 4, :] if rule == "paper_code" else poly
        private_plug = squares[0] + 2 * (plug / epsilon) ** 2
        private = {level: squares[3] + 2 * (scale / level) ** 2 for level in gaps}
        for level, found in private.items():
            gaps[level].append(float(np.mean(error_ratio(found, squares[2]).value)))
        mine_now = private[epsilon]
        ratios.append(error_ratio(mine_now, squares[2]))
        three = np.concatenate([squares[0], squares[1], private_plug], axis=1)
        rivals.append(error_ratio(np.tile(mine_now, 3), three))
        names = ("plug-in", "Miller-Madow", "poly", "private plug-in", "private poly")
        curves = (*squares[:3], private_plug, mine_now)
        out[panel.title] = [(name, ns, *_rms(curve, unit)) for name, curve in zip(names, curves, strict=True)]
    titles = list(out)
    claims = [_near(titles, ratios), _nearer(ratios), _beaten(titles, rivals, ns)]
    low, high = min(gaps), max(gaps)
    less, more = float(np.mean(gaps[high])), float(np.mean(gaps[low]))
    shown = apart(less, more)
    claims.append(
        Claim(
            f"The gap is smaller at ε = {high:g} than at ε = {low:g}.",
            yes_or_no(less < more),
            f"On average {shown[0]} times the error against {shown[1]} times, from the same samples with less noise.",
        )
    )
    notes: tuple[Note, ...] = ()
    if rule == "paper_code":
        notes = (
            Note(
                "The published code reads the noise of the polynomial off the sample, so its answer is **not "
                "private** (E12). "
                "On these settings it happens to add more noise than needed.",
                "warning",
                "This noise does not protect in general",
            ),
        )
    return out, claims, notes


def _near(titles: Sequence[str], ratios: Sequence[Estimate]) -> Claim:
    """Judge whether the private polynomial nearly coincides with the other, panel by panel."""
    late = [one.part(one.value.size // 2 - 1) for one in ratios]  # from n = k/2 on
    middle = [one.typical() for one in late]
    sides = [side(float(one.value), float(one.error), NOTICED) for one in middle]
    far = max(range(len(sides)), key=lambda at: (sides[at], float(middle[at].value)))
    unclear = f", {sides.count(0)} cannot be told" if 0 in sides else ""
    return Claim(
        "Private polynomial nearly coincides with the non-private one.",
        among(sides),
        f"From n = k/2 on it is on average {_times(middle[far], NOTICED)} as far off on the farthest panel, "
        f"{titles[far]}, and up to {NOTICED:g} counts: so it is on {sides.count(-1)} of {len(sides)} panels{unclear}. "
        f"Single points reach {significant(max(float(one.value.max()) for one in late), 3)}.",
    )


def _nearer(ratios: Sequence[Estimate]) -> Claim:
    """Judge whether the gap closes as n grows."""
    first, last = (float(np.mean([one.value[at] for one in ratios])) for at in (0, -1))
    change, error = mean_of(
        [Estimate(one.value[-1] - one.value[0], one.shares[:, -1] - one.shares[:, 0]) for one in ratios]
    )
    shown = apart(first, last, 3)
    return Claim(
        "The more so the larger n is.",
        among([side(change, error, 0.0)]),
        f"On average over the panels, {shown[0]} times at n = k/10 and {shown[1]} times at n = k: a change of "
        f"{beside(change, error, 0.0)}.",
    )


def _beaten(titles: Sequence[str], rivals: Sequence[Estimate], ns: IntArray) -> Claim:
    """Judge whether the private polynomial is ahead of three rivals at every n."""
    found = [worst_of(one.value, one.error, 1.0) for one in rivals]
    sides = [where for where, _ in found]
    far = max(range(len(found)), key=lambda at: (sides[at], float(rivals[at].value[found[at][1]])))
    place = found[far][1]
    rival = ("the plug-in", "Miller–Madow", "the private plug-in")[place // ns.size]
    unclear = f", {sides.count(0)} cannot be told" if 0 in sides else ""
    return Claim(
        "It beats plug-in and Miller–Madow, private or not.",
        among(sides),
        f"It does so at every n on {sides.count(-1)} of {len(sides)} panels{unclear}. The closest is {titles[far]} at "
        f"n = {whole(ns[place % ns.size])}, with {_times(rivals[far].at(place), 1.0)} the error of {rival}.",
    )


def _times(found: Estimate, limit: float) -> str:
    """Write a ratio with its ± beside a limit."""
    return f"{beside(float(found.value), float(found.error), limit)} times"


def _degree_curves(scenario: ReproduceScenario, prepared: Prepared, blocks: Sequence[FloatArray]) -> Curves:
    setting, unit, ns = prepared.setting, core.unit_size(scenario.unit), prepared.ns
    estimators, count = degree_estimators(setting.k), len(prepared.names)
    sens = np.array([[e.sensitivity(int(n), setting.k, rule="exact") for n in ns] for e in estimators])
    out: dict[str, list[tuple[str, Any, Any, Any]]] = {}
    best, worse, sides = [], [], []
    inside = [DEGREE_FACTORS.index(factor) for factor in SWEET]
    for panel, mine in zip(prepared.panels, blocks, strict=False):
        squares = [(mine[:, s, :] - panel.truth) ** 2 + 2 * (sens[s] / setting.epsilons[0]) ** 2 for s in range(count)]
        out[panel.title] = [
            (name, ns, *_rms(square, unit)) for name, square in zip(prepared.names, squares, strict=True)
        ]
        # average errors from n = k/2 on, over those of the better of the two recommended degrees
        half = ns.size // 2 - 1
        middle = [float(np.mean(np.log(square.mean(axis=0)[half:]))) for square in squares]
        best.append(DEGREE_FACTORS[int(np.argmin(middle))])
        chosen = min(inside, key=lambda at: middle[at])
        over = [error_ratio(square, squares[chosen]).part(half).typical() for square in squares]
        worse.append(over[-1])
        others = [over[at] for at in range(count) if at not in inside]
        sides.append(-min(side(float(one.value), float(one.error), 1.0) for one in others))
    sure, unclear = sides.count(-1), sides.count(0)
    wanted = max(1, len(best) - 1)
    near = min(range(len(worse)), key=lambda at: float(worse[at].value))
    claims = [
        Claim(
            "The degree trades bias against sensitivity; about 0.9 to 1.2 times ln k is best.",
            "holds" if sure >= wanted else "cannot be told" if sure + unclear >= wanted else "does not hold",
            f"From n = k/2 on, the best factor is 0.9 or 1.2 on {sum(b in SWEET for b in best)} of {len(best)} panels, "
            f"on {sure} of them beyond doubt (we count from {wanted} on).",
        ),
        Claim(
            "A degree of 1.8 ln k is several times worse.",
            among([-side(float(one.value), float(one.error), WORSE) for one in worse]),
            f"From n = k/2 on it is on average {_times(worse[near], WORSE)} to "
            f"{significant(max(float(one.value) for one in worse), 3)} times as far off as the better of those two (we "
            f"count from {WORSE:g} on).",
        ),
    ]
    note = Note(
        "The source does not state which degrees it plots; these are c ln k for c = 0.3, 0.6, …, 1.8, with exact noise."
    )
    return out, claims, (note,)


def _coverage_sensitivity(n: int, t: float, rule: str) -> float:
    estimator = SmoothedGoodToulmin(smoothing_mean=_rate(n, t))
    used: Any = "exact" if rule == "exact" or t <= 1 else "thesis"
    return estimator.sensitivity(n, t, used, new_only=True)


def _coverage_curves(scenario: ReproduceScenario, prepared: Prepared, blocks: Sequence[FloatArray]) -> Curves:
    n, epsilons = int(prepared.ns[0]), prepared.setting.epsilons
    extra = n * prepared.ahead
    out: dict[str, list[tuple[str, Any, Any, Any]]] = {}
    used: list[Estimate] = []
    final: dict[str, list[Estimate]] = {"exact": [], "thesis": []}
    sens = {
        rule: np.array([_coverage_sensitivity(n, float(t), rule) for t in prepared.ahead])
        for rule in {"exact", "thesis", scenario.noise_rule}
    }
    for panel, mine in zip(prepared.panels, blocks, strict=False):
        estimate, target = mine[:, 0, :], mine[:, 1, :]
        plain = (estimate - target) ** 2
        rows = [("non-private", prepared.ahead, *_rms(plain, extra))]
        for epsilon in epsilons:
            squares = _clipped(estimate, target, sens[scenario.noise_rule] / epsilon, extra)
            rows.append((f"ε = {epsilon:g}", prepared.ahead, *_rms(squares, extra)))
            if epsilon == 1:
                used.append(error_ratio(squares, plain))
        for rule, found in final.items():
            found.append(error_ratio(_clipped(estimate, target, sens[rule], extra), plain).at(-1))
        out[panel.title] = rows
    claims = [_noticed(prepared, list(out), used), _removed(final)]
    at = int(np.argmin(np.abs(prepared.ahead - 5)))
    noise = {rule: math.sqrt(2) * float(sens[rule][at]) / float(extra[at]) for rule in ("exact", "thesis")}
    note = Note(
        f"Noise alone at t = 5 and ε = 1, as a share of nt: {significant(noise['exact'], 2)} with the exact "
        "sensitivity, "
        f"{significant(noise['thesis'], 2)} with the published bound 2(1 + e^(r(t−1))), which the source prints as "
        "2(1 + e^r(t−1)) (E1). The axis of the published figure says MSE; it is the root of it over nt (E17)."
    )
    return out, claims, (note,)


def _noticed(prepared: Prepared, titles: Sequence[str], ratios: Sequence[Estimate]) -> Claim:
    """Judge whether privacy costs noticeably (small supports) or little (large ones), over panels and t."""
    values, errors = (np.concatenate(parts) for parts in zip(*((e.value, e.error) for e in ratios), strict=True))
    where, place = worst_of(values, errors, NOTICED)
    small = prepared.setting.k <= 5_000
    panel, at = divmod(place, prepared.ahead.size)
    return Claim(
        "Small supports pay noticeably at ε = 1." if small else "Privacy costs little at ε = 1, far above 1/k.",
        among([-where if small else where]),
        f"The private error at ε = 1 is farthest from the other on {titles[panel]} at t = {prepared.ahead[at]:g}: "
        f"{_times(ratios[panel].at(at), NOTICED)} as large (we call it noticeable above {NOTICED:g}).",
    )


def _removed(final: dict[str, list[Estimate]]) -> Claim:
    """Judge how much of the published bound's cost the exact sensitivity removes at the largest t."""
    (exact, _), (thesis, error) = mean_of(final["exact"]), mean_of(final["thesis"])
    shown = (
        f"At t = 10 the private error is on average over the panels {beside(thesis, error, 1.05)} times that without "
    )
    if side(thesis, error, 1.05) < 1:
        return Claim(
            "(ours) Even the published bound costs next to nothing here, so the exact sensitivity has little to "
            "remove.",
            among([side(thesis, error, 1.05)]),
            f"{shown}privacy with the published bound (we count up to 1.05) and {significant(exact, 4)} times with the "
            "exact sensitivity.",
        )
    # less than half of the excess is left: a difference of two ratios from the same runs
    pairs = zip(final["exact"], final["thesis"], strict=True)
    left, doubt = mean_of([Estimate(a.value - 1 - (b.value - 1) / 2, a.shares - b.shares / 2) for a, b in pairs])
    return Claim(
        "(ours) The exact sensitivity removes most of the reported cost.",
        among([side(left, doubt, 0.0)]),
        f"{shown}privacy with the published bound and {significant(exact, 4)} times with the exact sensitivity, which "
        f"removes {percent(1 - (exact - 1) / (thesis - 1))} of the excess (most is more than half).",
    )


def _clipped(estimate: FloatArray, target: FloatArray, scales: FloatArray, cap: FloatArray) -> FloatArray:
    """Exact squared error of the noisy number of new symbols, clipped to [0, nt]."""
    from privexplorer.privacy import LaplaceNoise

    unit = LaplaceNoise(1.0)
    return np.asarray(
        unit.clipped_squared_error(
            estimate / scales, target / scales, 0.0, np.broadcast_to(cap / scales, estimate.shape)
        )
        * scales**2
    )


def _real_curves(scenario: ReproduceScenario, prepared: Prepared, blocks: Sequence[FloatArray]) -> Curves:
    truth, ns = prepared.panels[0].truth, prepared.ns
    estimate, distinct = blocks[0][:, 0, :], blocks[0][:, 1, :]
    rule = scenario.noise_rule
    sens = np.array([_real_sensitivity(int(n), float(t), rule) for n, t in zip(ns, prepared.ahead, strict=True)])
    plain = (estimate - truth) ** 2
    rows: list[tuple[str, Any, Any, Any]] = [("non-private", SHARES, *_rms(plain))]
    found = Estimate(np.ones(1), np.zeros((1, 1)))
    more = ns * prepared.ahead
    for epsilon in prepared.setting.epsilons:
        scales = sens / epsilon
        if (
            rule == "paper_code"
        ):  # the code clips the noisy number of new symbols and adds the exact distinct count (E13)
            squares = _clipped(estimate - distinct, truth - distinct, scales, more)
        else:
            squares = _total_clipped(estimate, truth, scales, float(ns[0] + more[0]))
        curve = _rms(squares)
        rows.append((f"ε = {epsilon:g}", SHARES, *curve))
        if epsilon == 0.5:
            found = error_ratio(squares, plain)
    # a smaller error is as distinguishable as a larger one
    away = Estimate(
        np.maximum(found.value, 1 / found.value), found.shares * np.where(found.value < 1, -1 / found.value**2, 1.0)
    )
    where, place = worst_of(away.value, away.error, ALIKE)
    claims = [
        Claim(
            "The private estimate at ε = 0.5 is almost indistinguishable from the non-private one.",
            among([where]),
            f"Its error is {significant(float(found.value.min()), 3)} to "
            f"{apart(float(found.value.max()), ALIKE, 3)[0]} times that without privacy. What decides is a share of "
            f"{SHARES[place]:g}: {'smaller' if found.value[place] < 1 else 'larger'} by a factor of "
            f"{beside(float(away.value[place]), float(away.error[place]), ALIKE)} (we count up to {ALIKE:g}).",
        )
    ]
    notes: list[Note] = []
    if prepared.setting.table == "hamlet-words":
        notes.append(
            Note(
                "Our count of Hamlet has 32,053 words and 4,756 different ones; the source reports 31,999 and "
                "4,804, from "
                "another way of cutting words. The curves are close, not identical."
            )
        )
    else:
        notes.append(
            Note(
                "The source's “subsample” of the census is a deterministic thinning: every count divided by 2421.25 "
                "and rounded "
                f"(E18). That gives {whole(truth)} names and {whole(float(ns[0] + more[0]))} people, its whole "
                "histogram."
            )
        )
    if rule == "paper_code":
        notes.append(
            Note(
                "The published code adds an exact distinct count after clipping the noisy rest, and its noise is "
                "too small for "
                "t ≤ 1 (E13), so this curve is **not private**.",
                "warning",
                "This noise does not protect",
            )
        )
    return {"": rows}, claims, tuple(notes)


def _real_sensitivity(n: int, t: float, rule: str) -> float:
    estimator: Any = SmoothedGoodToulmin() if t > 1 else GoodToulmin()
    return float(estimator.sensitivity(n, t, rule))


def _total_clipped(estimate: FloatArray, truth: float, scales: FloatArray, cap: float) -> FloatArray:
    """Exact squared error of the noisy total, clipped to [0, number of individuals]."""
    return core.private_squares(estimate, truth, scales, 0.0, cap)


def _formulas(setting: Setting) -> tuple[Formula, ...]:
    if setting.kind in ("entropy", "degrees"):
        degree, interval, cutoff = polynomial_parameters(setting.k, "private")
        return (
            Formula(
                "Private polynomial",
                Polynomial.formula,
                rf"L = {degree},\quad M = {interval:.4g},\quad N = {cutoff}",
                "exact",
                "properties §4.3",
            ),
            Formula(
                "Private error",
                r"\mathrm{RMSE}^2=\mathrm{bias}^2+\mathrm{Var}+2\Delta^2/\varepsilon^2",
                rf"\varepsilon \in \{{{', '.join(f'{e:g}' for e in setting.epsilons)}\}}",
                "exact",
                "properties §2",
            ),
        )
    return (
        Formula("Smoothed Good–Toulmin", SmoothedGoodToulmin.formula, "", "exact", "properties §5"),
        Formula("Tuning", r"r=\frac1{2t}\ln\frac{n(t+1)^2}{t-1}", "", "heuristic", "Sec 4.5.2"),
        Formula(
            "Published noise", r"\mathrm{Lap}\bigl(2(1+e^{r(t-1)})/\varepsilon\bigr)", "", "bound", "eq. (4.1), E1"
        ),
    )


__all__ = ["Claim", "ReproduceProperties", "ReproduceScenario"]
