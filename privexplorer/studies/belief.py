"""What a shown value tells about the person behind it: prior and posterior (locally private inference 7.8)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.causal import AlphaIdentity, FiniteLaw, posterior, posterior_kept, posterior_true
from privexplorer.data import Tables
from privexplorer.records import Scenario, field
from privexplorer.studies._effects import (
    CONTINUOUS_LEAK,
    LEVEL_IS_NOT_EPSILON,
    KeepProbability,
    LawChoice,
    NoiseChoice,
    keep_grid,
    keep_words,
    law_field,
    mechanism_of,
    noise_field,
)
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.signed_imputation import table_panel
from privexplorer.studies.words import percent, ratio

KEPT, CHANCE, PRIOR = "kept", "noise that happens to be true", "before anything is shown"
DASHES = ("solid", "9px,4px", "2px,3px", "9px,3px,2px,3px", "16px,5px", "5px,2px", "1px,6px", "12px,2px")
Known = Literal["nothing", "no-untreated", "yes-untreated", "no-treated", "yes-treated"]
KNOWN: dict[str, tuple[int, int] | None] = {
    "nothing": None,
    "no-untreated": (0, 0),
    "yes-untreated": (1, 0),
    "no-treated": (0, 1),
    "yes-treated": (1, 1),
}
KNOWN_WORDS = {
    "nothing": "nothing else is known",
    "no-untreated": "not treated, without the outcome",
    "yes-untreated": "not treated, with the outcome",
    "no-treated": "treated, without the outcome",
    "yes-treated": "treated, with the outcome",
}
CELL_NAMES = {(0, 0): "no, untreated", (1, 0): "yes, untreated", (0, 1): "no, treated", (1, 1): "yes, treated"}


class BeliefScenario(Scenario):
    """One mechanism, and what is known beside the shown value."""

    law: LawChoice = law_field()
    keep_probability: KeepProbability = 0.5
    noise: NoiseChoice = noise_field()
    known: Known = field(
        "nothing",
        "Known beside the shown value",
        "Outcome and treatment are published in the clear, so whoever looks may use them.",
        key="known",
        group="Attacker",
        titles={
            "nothing": "Nothing else",
            "no-untreated": "Not treated, no outcome",
            "yes-untreated": "Not treated, outcome",
            "no-treated": "Treated, no outcome",
            "yes-treated": "Treated, outcome",
        },
    )


@dataclass(frozen=True)
class Prepared:
    """Nothing is worth keeping: all numbers are closed forms of the scenario."""


def prior_of(law: FiniteLaw, known: str) -> FloatArray:
    """Return P(X = x) given what is known, (J,)."""
    cell = KNOWN[known]
    table = law.p_x if cell is None else law.joint[cell[0], cell[1]]
    return np.asarray(table / table.sum())


def beliefs(mechanism: AlphaIdentity, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return P(kept | shown z) and P(true | shown z), both (J,); NaN where z is never shown."""
    return posterior_kept(mechanism, prior), posterior_true(mechanism, prior)


def true_by_keep(grid: FloatArray, noise: FloatArray, prior: FloatArray) -> FloatArray:
    """Return P(true | shown z) at many keep probabilities, (grid, J): Q_zz p(z)/p_Z(z) (Lem 4)."""
    keep = grid[:, None]
    shown = keep * prior + (1.0 - keep) * noise
    top = (keep + (1.0 - keep) * noise) * prior
    return np.divide(top, shown, out=np.full_like(shown, np.nan), where=shown > 0)


class Belief(Study[BeliefScenario]):
    """Prior and posterior of the private category."""

    id: ClassVar[str] = "belief"
    question: ClassVar[str] = "How far can a shown value be believed?"
    lead: ClassVar[str] = (
        "A shown value is true because it was kept, or because noise hit the truth by chance. Both together are what "
        "an onlooker may believe."
    )
    tab: ClassVar[str] = "Belief"
    card: ClassVar[str] = "The chance that the shown value is true, beside the chance before."
    link: ClassVar[str] = "See what an onlooker believes"
    theme: ClassVar[str] = "swapped"
    picture: ClassVar[str] = "posterior"
    scenario: ClassVar[type[Scenario]] = BeliefScenario
    late: ClassVar[frozenset[str]] = frozenset(BeliefScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {
        "belief": "Shown value",
        "table": "All true values",
        "curve": "By α",
        "given": "Shown, by group",
    }
    rows: ClassVar[tuple[str, ...]] = ("L-E50", "L-L4a", "L-L4c", "L-L4d", "L-L4e")

    def presets(self) -> tuple[Preset[BeliefScenario], ...]:
        """Finished examples."""
        make = BeliefScenario
        return (
            Preset("Half are kept", make()),
            Preset("A treated person with the outcome", make(known="yes-treated")),
            Preset("Strong privacy", make(keep_probability=0.1)),
        )

    def prepare(self, scenario: BeliefScenario, tables: Tables | None) -> Prepared:
        """Compute nothing."""
        return Prepared()

    def assemble(self, scenario: BeliefScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out all beliefs and say what they mean."""
        law = scenario.law.law()
        mechanism = mechanism_of(law, scenario.noise, scenario.keep_probability)
        prior = prior_of(law, scenario.known)
        kept, true = beliefs(mechanism, prior)
        codes = np.arange(law.levels)
        grid = keep_grid(scenario.keep_probability)
        by_keep = true_by_keep(grid, mechanism.noise.density(codes), prior)
        shown_given = np.einsum("ydz,yd->ydz", law.privatised(mechanism), 1.0 / law.p_v)
        whole = posterior(mechanism, prior)  # (z, x)
        frame = pd.concat(
            [
                tidy([(KEPT, codes, kept, 0.0), (CHANCE, codes, true - kept, 0.0), (PRIOR, codes, prior, 0.0)]).assign(
                    panel="belief"
                ),
                tidy([(f"true {x}", codes, whole[:, x], 0.0) for x in codes]).assign(panel="table"),
                tidy([(f"shown {z}", grid, by_keep[:, z], 0.0) for z in codes]).assign(panel="curve"),
                tidy([(name, codes, shown_given[cell], 0.0) for cell, name in CELL_NAMES.items()]).assign(
                    panel="given"
                ),
            ],
            ignore_index=True,
        )
        return self.told(scenario, law, mechanism, frame, prior, kept, true, whole, shown_given)

    def told(
        self,
        scenario: BeliefScenario,
        law: FiniteLaw,
        mechanism: AlphaIdentity,
        frame: pd.DataFrame,
        prior: FloatArray,
        kept: FloatArray,
        true: FloatArray,
        whole: FloatArray,
        shown_given: FloatArray,
    ) -> Result:
        """Add cards, words and formulas."""
        keep = scenario.keep_probability
        top, low = int(np.nanargmax(true)), int(np.nanargmin(true))
        odds = _odds(true) / _odds(prior)
        grown = float(np.nanmax(np.where(np.isfinite(odds), odds, np.nan))) if np.isfinite(odds).any() else math.inf
        epsilon = mechanism.ldp_epsilon()
        limit = f"ε allows {ratio(math.exp(epsilon))}" if epsilon < 50 else "no finite ε"
        never = np.isnan(true)
        rare = (
            "Rare categories are believed less: most people who show them were swapped there. "
            if scenario.noise.kind == "even" and scenario.keep_probability < 1
            else ""
        )
        matrix = mechanism.finite().matrix
        seen = np.einsum("zx,x->z", matrix, prior)
        joint = law.with_shown(mechanism)
        given = KNOWN_WORDS[scenario.known]
        if scenario.known != "nothing":
            given = f"for somebody known to be {given}"
        else:
            given = "for somebody about whom nothing else is known"
        notes = [Note(LEVEL_IS_NOT_EPSILON, "info", "What α promises")]
        if math.isinf(epsilon) and keep < 1:
            sure = [str(int(z)) for z in np.flatnonzero(true > 1 - 1e-12)]
            if sure:
                notes.append(
                    Note(
                        f"Noise never shows some categories: whoever shows {' or '.join(sure)} certainly tells the "
                        "truth.",
                        "warning",
                        "Some shown values give themselves away",
                    )
                )
        notes.append(Note(CONTINUOUS_LEAK, "info", "A private number instead of categories"))
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card(
                    "Most believed",
                    percent(float(true[top])),
                    f"shown {top}",
                    f"Chance that a shown {top} is true; it was {percent(float(prior[top]))} before.",
                ),
                Card(
                    "Least believed",
                    percent(float(true[low])),
                    f"shown {low}",
                    f"Chance that a shown {low} is true; it was {percent(float(prior[low]))} before.",
                ),
                Card("Kept, given that", percent(float(kept[top])), f"shown {top}"),
                Card(
                    "Odds of truth grow",
                    f"up to {ratio(grown)}" if math.isfinite(grown) else "without limit",
                    limit[:18],
                    "Odds that the shown value is true, after against before; ε bounds the factor by e^ε.",
                ),
            ),
            shows=(
                f"At **α = {keep:g}** ({keep_words(keep)}), and {given}, a shown **{top}** is true with chance "
                f"**{percent(float(true[top]))}** ({percent(float(prior[top]))} before anything was shown): "
                f"{percent(float(kept[top]))} because it was kept, and {percent(float(true[top] - kept[top]))} because "
                f"noise hit the truth. A shown {low} is true with chance {percent(float(true[low]))}. {rare}Kept "
                "and true are the same only for a private number, which noise never hits by chance."
            ),
            takeaway=(
                "Chance that a shown value is true: "
                + ", ".join(
                    f"shown {z}: {percent(float(value))} (before {percent(float(prior[z]))})"
                    for z, value in enumerate(true)
                    if not never[z]
                )
                + "."
            ),
            notes=tuple(notes),
            formulas=(
                Formula(
                    "Joint law",
                    r"P_{VXZ}=\alpha P_{VX}\,\delta_x+(1-\alpha)P_{VX}\otimes\bar Q",
                    rf"\text{{sum }}{float(joint.sum()):.6g};\quad\text{{largest gap of the margin over }}z:\ "
                    rf"{float(np.abs(joint.sum(axis=3) - law.joint).max()):.1e}",
                    "exact",
                    "(50), Lem 4(i)",
                ),
                Formula(
                    "Law of what is shown",
                    r"p_Z=\alpha p_X+(1-\alpha)\bar q",
                    "(" + ",\\ ".join(f"{value:.6g}" for value in seen) + ")",
                    "exact",
                    "Lem 4(ii), (iii)",
                ),
                Formula(
                    "Kept, given what is shown",
                    r"k(z)=\alpha\,p(z)/p_Z(z)",
                    _numbers(kept),
                    "exact",
                    "Lem 4(v)" if scenario.known == "nothing" else "Lem 4(vii)",
                ),
                Formula(
                    "True, given what is shown",
                    r"k(z)+(1-k(z))\,p(z)=Q_{zz}\,p(z)/p_Z(z)",
                    _numbers(true),
                    "exact",
                    "Lem 4 (derived for categories)",
                ),
                Formula(
                    "Odds",
                    r"\frac{\text{odds after}}{\text{odds before}}\le e^\varepsilon",
                    (rf"{grown:.5g}" if math.isfinite(grown) else r"\infty")
                    + (rf"\le{math.exp(epsilon):.5g}" if epsilon < 50 else r"\quad(\varepsilon=\infty)"),
                    "bound",
                    "Def 2",
                ),
                Formula(
                    "Shown, given outcome and treatment",
                    r"P_{Z\mid V}=\alpha P_{X\mid V}+(1-\alpha)\bar Q",
                    rf"\text{{each row adds up to }}{float(shown_given.sum(axis=-1).max()):.6g}",
                    "exact",
                    "Lem 4(vi)",
                ),
            ),
            assumptions=(
                "The onlooker knows the law of the people and the mechanism, and nothing else about the coin. (Lem 4)",
                "Outcome and treatment may be known beside the shown value; they are not protected. (E19)",
                "Each person is swapped on their own, so what others show tells nothing. (15)",
            ),
            extra={"whole": whole, "given": shown_given},
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one of the four views."""
        scenario: Any = result.scenario
        keep = scenario.keep_probability
        if view == "curve":
            return self.curve_chart(result)
        codes = [str(code) for code in range(result.extra["whole"].shape[0])]
        if view == "table":
            return Chart(
                "What every shown value says",
                "chance of each true value; rows add up to 1",
                Axis("true category", symbol="true"),
                Axis("shown category"),
                (
                    table_panel(
                        np.nan_to_num(result.extra["whole"]), codes, codes, "belief", "", "true", "shown", "chance {z}"
                    ),
                ),
                shared_y=False,
            )
        if view == "given":
            cells = list(CELL_NAMES)
            table = np.stack([result.extra["given"][cell] for cell in cells])
            return Chart(
                "What people show, by outcome and treatment",
                "chance of each shown value; rows add up to 1",
                Axis("shown category", symbol="shown"),
                Axis("outcome and treatment"),
                (
                    table_panel(
                        table, [CELL_NAMES[cell] for cell in cells], codes, "shown", "", "shown", "", "chance {z}"
                    ),
                ),
                shared_y=False,
            )
        kept, chance, prior = (
            result.series(name, "belief")["y"].to_numpy(dtype=np.float64) for name in (KEPT, CHANCE, PRIOR)
        )
        names = [f"shown {code}" for code in codes]
        return Chart(
            f"Is the shown value true? (α = {keep:g})",
            f"chance; {KNOWN_WORDS[scenario.known]}"[:48],
            Axis("", "category"),
            Axis("chance", low=0.0, high=1.0),
            (
                Panel(
                    (
                        Bars("local", names, kept, KEPT, "kept", stack=True, hover="kept: {y}"),
                        Bars(
                            "upper bound", names, chance, CHANCE, "noise, true<br>by chance", stack=True,
                            hover="noise, and true by chance: {y}",
                        ),
                        Points("truth", names, prior, PRIOR, "before", size=26, hover="true before: {y}"),
                    )
                ),
            ),
        )  # fmt: skip

    def curve_chart(self, result: Result) -> Chart:
        """Describe the chance that the shown value is true at every keep probability."""
        scenario: Any = result.scenario
        levels = result.extra["whole"].shape[0]
        marks = []
        for z in range(levels):
            rows = result.series(f"shown {z}", "curve")
            values = rows["y"].to_numpy(dtype=np.float64)
            marks.append(
                Line(
                    "private", rows["x"].to_numpy(), values, f"shown {z}", f"shown {z}", dash=DASHES[z],
                    width=3.0 if z == 0 else 2.0, hover=f"shown {z}: true with chance {{y}}",
                )
            )  # fmt: skip
        keep = scenario.keep_probability
        return Chart(
            "Chance that the shown value is true",
            f"chance; {KNOWN_WORDS[scenario.known]}"[:48],
            Axis("keep probability α", "log", ends=("more private", "more accurate"), symbol="α"),
            Axis("chance", low=0.0, high=1.0),
            (Panel(tuple(marks), here=(keep, f"your α = {keep:g}")),),
        )


def _odds(chance: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(chance / (1.0 - chance))


def _numbers(values: FloatArray) -> str:
    shown = [f"{value:.6g}" if math.isfinite(value) else r"\text{never shown}" for value in values.tolist()]
    return "(" + ",\\ ".join(shown) + ")"


__all__ = ["Belief", "BeliefScenario", "beliefs", "prior_of"]
