"""How swapped values are undone: every shown value stands for signed weights (locally private inference 7.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    AlphaIdentity,
    FiniteMechanism,
    FiniteNoise,
    RandomisedResponse,
    UniformNoise,
    mixed_noise,
)
from privexplorer.causal.operators import mix
from privexplorer.data import Tables
from privexplorer.errors import ParameterError
from privexplorer.records import Number, Record, Scenario, field
from privexplorer.studies._effects import KeepProbability, Share
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Bars, Chart, HeatMap, Panel, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import NO_BREAK, significant

BINS = 6
"""Parts into which the number of a mixed record is cut for the picture; the mechanism does not cut it."""
OWN = "weights of this record"
TRUE, SHOWN, BACK, WRONG = "true shares", "shown shares", "weighted back", "rows for columns"


class Response(Record):
    """Each person tells the true category with a fixed chance and otherwise any category, all alike."""

    kind: Literal["response"] = "response"
    title: ClassVar[str] = "Randomised response"
    formula: ClassVar[str] = r"Q=\frac{(e^\varepsilon-1)I+\mathbf 1\mathbf 1^\top}{e^\varepsilon+J-1}"
    source: ClassVar[str] = "Ex. 1"
    levels: Annotated[int, Number] = field(4, "Categories J", "How many there are.", key="levels", ge=2, le=8)
    epsilon: Annotated[float, Number] = field(
        1.1,
        "Privacy loss ε",
        "The odds of any answer change by at most a factor e^ε. Smaller is more private.",
        key="eps",
        scale="log",
        low=0.1,
        high=5.0,
        ge=1e-3,
        le=20,
        ends=("more private", "more accurate"),
        below="at 0 the answers say nothing about the true category",
    )

    def mechanism(self) -> RandomisedResponse:
        """Return the mechanism."""
        return RandomisedResponse(self.levels, self.epsilon)


class Swap(Record):
    """Keep the category with probability α, else draw one from a public law."""

    kind: Literal["swap"] = "swap"
    title: ClassVar[str] = "Keep or swap, any noise"
    formula: ClassVar[str] = r"Q(\cdot\mid x)=\alpha\delta_x+(1-\alpha)\bar Q"
    source: ClassVar[str] = "(15)"
    keep_probability: KeepProbability = 0.5
    noise: Annotated[tuple[Share, ...], Field(min_length=2, max_length=8)] = field(
        (0.2, 0.5, 0.3), "Noise law", "Chance of each category when the true one is not kept; adds up to 1.", key="law"
    )

    def mechanism(self) -> AlphaIdentity:
        """Return the mechanism."""
        return AlphaIdentity(self.keep_probability, FiniteNoise(np.array(self.noise)))


class OwnMatrix(Record):
    """Any table of chances that can be undone."""

    kind: Literal["matrix"] = "matrix"
    title: ClassVar[str] = "A table of your own"
    formula: ClassVar[str] = r"Q_{zx}=P(\text{shown }z\mid\text{true }x)"
    source: ClassVar[str] = "Ex. 1"
    entries: Annotated[tuple[Share, ...], Field(min_length=4, max_length=64)] = field(
        (0.7, 0.1, 0.2, 0.2, 0.6, 0.1, 0.1, 0.3, 0.7),
        "Chances, row by row",
        "One row per shown category, one column per true one; each column adds up to 1.",
        key="q",
    )

    def mechanism(self) -> FiniteMechanism:
        """Return the mechanism."""
        size = math.isqrt(len(self.entries))
        if size * size != len(self.entries):
            raise ParameterError(
                f"A table with as many rows as columns has 4, 9, 16 ... entries; this one has {len(self.entries)}."
            )
        return FiniteMechanism(np.array(self.entries).reshape(size, size))


class MixedRecord(Record):
    """A category and a number, kept together or swapped together."""

    kind: Literal["mixed"] = "mixed"
    title: ClassVar[str] = "A category and a number together"
    formula: ClassVar[str] = r"Q(\cdot\mid x)=\alpha\delta_x+(1-\alpha)\,\bar Q_1\otimes\mathrm U[0,1]"
    source: ClassVar[str] = "(15); Sec. 10.5"
    keep_probability: KeepProbability = 0.5
    noise: Annotated[tuple[Share, ...], Field(min_length=2, max_length=8)] = field(
        (0.5, 0.3, 0.2), "Noise law of the category", "Adds up to 1; the number is uniform from 0 to 1.", key="law"
    )
    number: Annotated[float, Number] = field(0.4, "Number shown", "Beside the shown category.", key="at", ge=0, le=1)

    def mechanism(self) -> AlphaIdentity:
        """Return the mechanism."""
        return AlphaIdentity(self.keep_probability, mixed_noise(self.noise, UniformNoise(0.0, 1.0)))


AnyMechanism: TypeAlias = Response | Swap | OwnMatrix | MixedRecord


class SignedScenario(Scenario):
    """One mechanism and one shown value."""

    mechanism: Annotated[AnyMechanism, Field(discriminator="kind")] = field(
        Swap(), "Mechanism", "How values are swapped for noise.", key="mech", group="Privacy", discriminator="kind"
    )
    shown: Annotated[int, Number] = field(
        0, "Category that one person shows", "Counted from 0; the last one if there are fewer.", key="shown",
        group="You", ge=0, le=7,
    )  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """Nothing is worth keeping: all numbers are closed forms of the scenario."""


def falling_shares(levels: int) -> FloatArray:
    """Return true shares for the second view: the first category most frequent, in proportion to 1, 1/2, 1/3 ..."""
    weights = 1.0 / np.arange(1.0, levels + 1.0)
    return np.asarray(weights / weights.sum())


def mixed_weights(choice: MixedRecord, shown: int) -> tuple[FloatArray, FloatArray]:
    """Return signed weights of one mixed record by category and part of the number's range, and the parts' edges.

    Returns
    -------
    weights : (categories, BINS) array
        Add up to 1: 1/α where the record lies, minus (1 - α)/α times the noise mass of each field.
    edges : (BINS + 1,) array
    """
    noise = np.array(choice.noise)
    factor = 1.0 / choice.keep_probability
    out = np.repeat(-(factor - 1.0) * noise[:, None] / BINS, BINS, axis=1)
    out[shown, min(int(choice.number * BINS), BINS - 1)] += factor
    return out, np.linspace(0.0, 1.0, BINS + 1)


def words_of_bins(edges: FloatArray) -> list[str]:
    """Write the parts of the number's range."""
    return [f"{low:.2g}–{high:.2g}" for low, high in pairwise(edges.tolist())]


class SignedImputation(Study[SignedScenario]):
    """Matrix, inverse, and the signed weights of one record."""

    id: ClassVar[str] = "signed-imputation"
    question: ClassVar[str] = "How can swapped values be undone?"
    lead: ClassVar[str] = (
        "Nobody knows who was swapped, but everybody knows the odds. So one shown value counts as several true ones, "
        "some of them less than zero times."
    )
    tab: ClassVar[str] = "Undoing"
    card: ClassVar[str] = "The table of chances, its inverse, and what one shown value stands for."
    link: ClassVar[str] = "See how swaps are undone"
    theme: ClassVar[str] = "swapped"
    picture: ClassVar[str] = "signed"
    scenario: ClassVar[type[Scenario]] = SignedScenario
    late: ClassVar[frozenset[str]] = frozenset(SignedScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {"weights": "Signed weights", "undo": "There and back"}
    rows: ClassVar[tuple[str, ...]] = ("L-E11", "L-Ex1", "L-Ex1k", "L-X3", "L-X12", "L-L3c")

    def presets(self) -> tuple[Preset[SignedScenario], ...]:
        """Finished examples."""
        make = SignedScenario
        return (
            Preset("Keep or swap", make()),
            Preset("Randomised response", make(mechanism=Response())),
            Preset("An uneven table", make(mechanism=OwnMatrix())),
            Preset("Category and number", make(mechanism=MixedRecord())),
        )

    def check(self, scenario: SignedScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what is wrong with a mechanism."""
        try:
            made = scenario.mechanism.mechanism()
            if not isinstance(scenario.mechanism, MixedRecord):
                made.finite()
        except ParameterError as problem:
            return (str(problem),)
        return ()

    def prepare(self, scenario: SignedScenario, tables: Tables | None) -> Prepared:
        """Compute nothing."""
        return Prepared()

    def assemble(self, scenario: SignedScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Lay out matrix, inverse and weights, and say what they mean."""
        choice = scenario.mechanism
        if isinstance(choice, MixedRecord):
            return self.mixed(scenario, choice)
        finite = choice.mechanism().finite()
        levels = finite.levels
        shown = min(scenario.shown, levels - 1)
        codes = np.arange(levels)
        weights = finite.signed_weights([shown])[0]
        truth = falling_shares(levels)
        seen = np.asarray(mix(finite, truth))
        back = np.einsum("xz,z->x", finite.inverse, seen)
        wrong = np.einsum("zx,z->x", finite.inverse, seen)
        pieces = [
            tidy([(f"true {x}", codes, finite.matrix[:, x], 0.0) for x in codes]).assign(panel="chances"),
            tidy([(f"shown {z}", codes, finite.inverse[:, z], 0.0) for z in codes]).assign(panel="inverse"),
            tidy([(OWN, codes, weights, 0.0)]).assign(panel="weights"),
            tidy([(TRUE, codes, truth, 0.0), (SHOWN, codes, seen, 0.0), (BACK, codes, back, 0.0)]).assign(panel="undo"),
        ]
        slip = float(np.abs(wrong - truth).max())
        if slip > 1e-9:
            pieces.append(tidy([(WRONG, codes, wrong, 0.0)]).assign(panel="undo"))
        frame = pd.concat(pieces, ignore_index=True)
        size, least = float(np.abs(weights).sum()), float(weights.min())
        fixed = float(np.abs(back - truth).max())
        others = (
            f"and between {significant(least, 2)} and {significant(float(np.delete(weights, shown).max()), 2)} for the "
            "others"
        )
        exact = "exactly" if fixed < 1e-9 else f"up to rounding ({significant(fixed, 1)})"
        confused = (
            f" With rows and columns exchanged the shares would come out wrong by up to {significant(slip, 2)}."
            if slip > 1e-9
            else " This table is symmetric where it matters, so exchanging rows and columns would go unnoticed here."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("Shown value’s weight", significant(float(weights[shown])), f"shows {shown}"),
                Card("Smallest weight", significant(least), "below 0: taken off" if least < 0 else "none below 0"),
                Card("Sum of the weights", significant(float(weights.sum())), "always 1"),
                Card(
                    "Size of the weights",
                    significant(size),
                    "1 without noise",
                    "Sum of the weights without their signs: how much louder one person speaks in the data.",
                ),
            ),
            shows=(
                f"A person who shows category **{shown}** counts **{significant(float(weights[shown]), 3)} times** for "
                f"that category {others}; the weights add up to 1. Averaged over everybody they give the true shares "
                f"back {exact}, although no single record can be undone.{confused}"
            ),
            takeaway=(
                f"Table of chances for {levels} categories, its inverse, and the signed weights of a record that shows "
                f"{shown}: {', '.join(significant(float(weight), 3) for weight in weights)}; they add up to 1."
            ),
            notes=tuple(Note(text, "warning", "Hard to undo") for text in finite.notes),
            formulas=self.formulas(scenario, finite, weights),
            assumptions=(
                "The table of chances is public, the same for everybody, and does not look at other people. (Ex. 1)",
                "Columns are the laws of what is shown: column x adds up to 1. The inverse then gives column z as the "
                "weights of a record that shows z. (§0, Lem 3(iv))",
                "What is published in the clear beside the private column keeps its law: only the private column is "
                "mixed. (11)",
                "The true shares of the second view fall as 1, 1/2, 1/3 ...; any others would do.",
            ),
            extra={"matrix": finite.matrix, "inverse": finite.inverse, "shown": shown, "slip": slip},
        )

    def formulas(self, scenario: SignedScenario, finite: FiniteMechanism, weights: FloatArray) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers."""
        choice = scenario.mechanism
        out = [
            Formula(
                "Law of what is shown, and back",
                r"p_{VZ}(v)=Q\,p_{VX}(v),\qquad p_{VX}(v)=Q^{-1}p_{VZ}(v)",
                rf"\|Q^{{-1}}Q-I\|_\infty={float(np.abs(self.identity_gap(finite))):.1e},\quad "
                rf"\text{{condition number }}{finite.condition:.3g}",
                "exact",
                "(11), (13), Ex. 1",
            ),
            Formula(
                "Signed weights of one record",
                r"\omega_z(x)=(Q^{-1})_{xz},\qquad\sum_x\omega_z(x)=1",
                r"\omega=(" + ",\\ ".join(f"{weight:.4g}" for weight in weights) + ")",
                "exact",
                "§1.5 (derived)",
            ),
        ]
        if isinstance(choice, Response):
            grown, levels = math.exp(choice.epsilon), choice.levels
            out.append(
                Formula(
                    "Randomised response",
                    r"Q^{-1}=\frac{(e^\varepsilon+J-1)I-\mathbf 1\mathbf 1^\top}{e^\varepsilon-1}",
                    rf"\varepsilon={choice.epsilon:g},\ J={levels}:\quad\text{{diagonal }}"
                    rf"{(grown + levels - 2) / math.expm1(choice.epsilon):.6g},\ \text{{else }}"
                    rf"{-1 / math.expm1(choice.epsilon):.6g}",
                    "exact",
                    "Ex. 1, (8)",
                )
            )
        if isinstance(choice, Swap):
            keep = choice.keep_probability
            out.append(
                Formula(
                    "Keep or swap",
                    r"\omega_z=\frac1\alpha\delta_z-\frac{1-\alpha}{\alpha}\bar Q",
                    rf"\alpha={keep:g}:\quad\frac1\alpha={1 / keep:.4g},\ \frac{{1-\alpha}}\alpha={1 / keep - 1:.4g}",
                    "exact",
                    "after (15)",
                )
            )
        return tuple(out)

    @staticmethod
    def identity_gap(finite: FiniteMechanism) -> float:
        """Largest entry of inverse times matrix minus the identity."""
        product = np.einsum("xz,zw->xw", finite.inverse, finite.matrix)
        return float(np.abs(product - np.eye(finite.levels)).max())

    def mixed(self, scenario: SignedScenario, choice: MixedRecord) -> Result:
        """Lay out the weights of a record with a category and a number."""
        levels = len(choice.noise)
        shown = min(scenario.shown, levels - 1)
        weights, edges = mixed_weights(choice, shown)
        codes = np.arange(levels)
        names = words_of_bins(edges)
        truth = falling_shares(levels)
        keep, noise = choice.keep_probability, np.array(choice.noise)
        seen = keep * truth + (1 - keep) * noise
        back = seen / keep - (1 / keep - 1) * noise
        frame = pd.concat(
            [
                tidy([(f"number {name}", codes, weights[:, place], 0.0) for place, name in enumerate(names)]).assign(
                    panel="weights"
                ),
                tidy([(TRUE, codes, truth, 0.0), (SHOWN, codes, seen, 0.0), (BACK, codes, back, 0.0)]).assign(
                    panel="undo"
                ),
            ],
            ignore_index=True,
        )
        factor = 1.0 / keep
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("Shown pair’s weight", significant(factor), "1/α"),
                Card("Spread over noise", significant(-(factor - 1.0)), "−(1 − α)/α"),
                Card("Sum of the weights", significant(float(weights.sum())), "always 1"),
            ),
            shows=(
                f"A person shows category **{shown}** and the number **{choice.number:g}**. The pair counts "
                f"**{significant(factor, 3)} times** as it is; {significant(factor - 1.0, 3)} times the noise is taken "
                "off again, spread over all categories and numbers. One coin decides for the whole pair, so nothing is "
                "needed that is special to categories or to numbers. The number is cut into parts for the picture only."
            ),
            takeaway=(
                f"Signed weights of a record with category {shown} and number {choice.number:g}: one field far above "
                f"zero, all others a little below; they add up to {significant(float(weights.sum()))}."
            ),
            notes=(
                Note(
                    "With a continuous number an unlikely coincidence gives kept values away: no finite ε holds, "
                    "δ(ε) = α for every ε.",
                    "warning",
                    "The exact value leaks with probability α",
                ),
            ),
            formulas=(
                Formula(
                    "Keep or swap, values of any kind",
                    r"\omega_z=\frac1\alpha\delta_z-\frac{1-\alpha}{\alpha}\bar Q,\qquad "
                    r"(Q^{-1}h)(v,z)=\frac1\alpha h(v,z)-\frac{1-\alpha}\alpha\int h(v,x)\,\bar Q(dx)",
                    rf"\alpha={keep:g}:\quad{factor:.4g}\,\delta_z-{factor - 1:.4g}\,\bar Q",
                    "exact",
                    "after (15); Sec. 10.5",
                ),
            ),
            assumptions=(
                "One coin per person decides for category and number together; the noise draws both independently.",
                "The noise law is public, the same for everybody. (15)",
                "The true shares of the second view fall as 1, 1/2, 1/3 ...; any others would do.",
            ),
            extra={"weights": weights, "names": names, "shown": shown, "slip": 0.0},
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe matrix, inverse and weights, or shares there and back."""
        if view == "undo":
            return self.undo_chart(result)
        if "weights" in result.extra:
            return self.mixed_chart(result)
        matrix, inverse, shown = (result.extra[name] for name in ("matrix", "inverse", "shown"))
        codes = [str(code) for code in range(matrix.shape[0])]
        weights = result.series(OWN)["y"].to_numpy(dtype=np.float64)
        return Chart(
            "From chances to signed weights",
            "hue: above or below 0; number on each square",
            Axis("true category", symbol="true"),
            Axis("shown category", symbol="shown"),
            (
                table_panel(matrix, codes, codes, "chances", "Chance of what is shown", "true", "shown", "chance {z}"),
                table_panel(
                    inverse,
                    codes,
                    codes,
                    "inverse",
                    "Inverse: weights by column",
                    "shown",
                    "true",
                    "weight {z}",
                    [whole_column(code, inverse[:, place]) for place, code in enumerate(codes)],
                ),
                Panel(
                    signed_bars([f"true {code}" for code in codes], weights),
                    f"A record that shows {shown}",
                    x=Axis("", "category"),
                    y=Axis("weight"),
                ),
            ),
            columns=3,
            shared_y=False,
        )

    def mixed_chart(self, result: Result) -> Chart:
        """Describe the weights of one mixed record."""
        weights, names = result.extra["weights"], result.extra["names"]
        codes = [str(code) for code in range(weights.shape[0])]
        return Chart(
            "What one shown pair stands for",
            "signed weights; they add up to 1",
            Axis("number", symbol="number"),
            Axis("category", symbol="category"),
            (table_panel(weights, codes, names, "weights", "", "number", "category", "weight {z}"),),
            shared_y=False,
        )

    def undo_chart(self, result: Result) -> Chart:
        """Describe true, shown and weighted-back shares."""
        looks: list[tuple[Role, str, str, str]] = [
            ("truth", TRUE, "true", "true share {y}"),
            ("data", SHOWN, "shown", "shown share {y}"),
            ("private", BACK, "weighted back", "weighted back {y}"),
        ]
        if result.extra["slip"] > 1e-9:
            looks.append(("upper bound", WRONG, "rows for<br>columns", "with rows for columns {y}"))
        marks = []
        for role, name, label, hover in looks:
            rows = result.series(name, "undo")
            marks.append(Bars(role, [str(code) for code in rows["x"]], rows["y"].to_numpy(), name, label, hover=hover))
        return Chart(
            "Shares: true, shown, and weighted back",
            "share of people; everybody counted, no chance",
            Axis("category", "category"),
            Axis("share", "linear"),
            (Panel(tuple(marks)),),
        )


def table_panel(
    z: FloatArray,
    rows: Sequence[str],
    columns: Sequence[str],
    name: str,
    title: str,
    across: str,
    along: str,
    hover: str,
    column_hover: Sequence[str] = (),
) -> Panel:
    """Return a panel with a table of signed numbers; its first row stands on top.

    Parameters
    ----------
    z : (len(rows), len(columns)) array
        What is written in the table.
    rows, columns : sequence of str
        Their names.
    name, title : str
        Stable name of the mark, and title of the panel.
    across, along : str
        What the columns and what the rows are.
    hover : str
        Phrase with ``{z}``.
    column_hover : sequence of str
        What hovering tells further of each column.
    """
    height, width = z.shape
    unit = NO_BREAK
    table = HeatMap(
        np.arange(width, dtype=np.float64),
        np.arange(height, dtype=np.float64),
        np.asarray(z)[::-1],
        (),
        name,
        hover=hover,
        cells=True,
        x_names=tuple(columns),
        y_names=tuple(f"{along}{unit}{row}" for row in rows)[::-1],
        column_hover=tuple(column_hover),
    )
    return Panel(
        (table,),
        title,
        x=Axis(across, low=-0.5, high=width - 0.5, symbol=across),
        y=Axis(along, low=-0.5, high=height - 0.5, symbol=""),
    )


def whole_column(code: str, weights: FloatArray) -> str:
    """Say how one shown value is turned into weights: each of them, and their sum.

    Examples
    --------
    >>> whole_column("0", np.array([1.5, -0.5])).replace(NO_BREAK, " ")
    'shown 0 counts as:<br>1.500 times true 0<br>−0.500 times true 1<br>together 1.000'
    """
    lines = [f"{weight:.3f} times true{NO_BREAK}{x}" for x, weight in enumerate(weights.tolist())]
    text = "<br>".join([f"shown{NO_BREAK}{code} counts as:", *lines, f"together {float(weights.sum()):.3f}"])
    return text.replace("-", "−")


def signed_bars(names: Sequence[str], values: FloatArray) -> tuple[Bars, ...]:
    """Return bars that change their look below zero; all on the same places."""
    above = np.where(values >= 0, values, np.nan)
    below = np.where(values < 0, values, np.nan)
    out = [Bars("private", names, above, "above 0", stack=True, hover="weight {y}")]
    if np.any(values < 0):
        out.append(Bars("upper bound", names, below, "below 0", stack=True, hover="weight {y}"))
    return tuple(out)
