"""Every identity and inequality of local privacy, checked live on one law and one mechanism (view 7.13)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.causal import (
    ATE,
    ATT,
    AlphaIdentity,
    BenchRow,
    Cell,
    Finite,
    FiniteLaw,
    FiniteMechanism,
    FiniteNoise,
    MeanUnder,
    Part,
    SeveralRegressions,
    Target,
    TimeDiscount,
    UntreatedMeanOfTreated,
    checked_matrix,
    efficiency_bound,
    identity_bench,
    private_influence,
    tangent_rank,
    two_regressions,
    uniform_levels,
)
from privexplorer.causal.bench import TOLERANCE
from privexplorer.causal.operators import norm
from privexplorer.data import Tables
from privexplorer.errors import ParameterError
from privexplorer.records import Number, Record, Scenario, Seed, field
from privexplorer.studies._effects import EvenNoise, KeepProbability, LawA, LawB, NoiseChoice, OwnLaw, Share
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Panel, Points, RowName
from privexplorer.studies.result import Card, Formula, Result, tidy
from privexplorer.studies.words import NO_BREAK, plain_markdown, significant

ERROR, SLACK, SLIP = "relative error", "relative slack", "as printed or transposed"
PANELS = {"identities": "identities", "inequalities": "inequalities", "slips": "slips"}
FIGURE_SPACE = "\u2007"
FLOOR = 1e-18
"""Where an error of exactly 0 is drawn."""
SKEW = ((0.7, 0.1, 0.2), (0.2, 0.6, 0.1), (0.1, 0.3, 0.7))


class RandomLaw(Record):
    """A strictly positive law, drawn by the seed."""

    kind: Literal["random"] = "random"
    title: ClassVar[str] = "A random law"
    formula: ClassVar[str] = r"p(y,d,x)\sim\mathrm{Dirichlet}"
    source: ClassVar[str] = "locally private inference §1.1"
    levels: Annotated[int, Number] = field(4, "Private categories", "", key="levels", ge=2, le=8)
    outcomes: Annotated[int, Number] = field(3, "Values of the outcome", "", key="outcomes", ge=2, le=6)
    concentration: Annotated[float, Number] = field(
        1.0,
        "Evenness",
        "Small values make some cells far rarer than others.",
        key="even",
        scale="log",
        low=0.1,
        high=10.0,
        ge=0.05,
        le=100,
    )

    def law(self, rng: np.random.Generator) -> FiniteLaw:
        """Draw the law."""
        return FiniteLaw.random(rng, self.levels, self.outcomes, self.concentration)


AnyBenchLaw: TypeAlias = RandomLaw | LawA | LawB | OwnLaw


class KeptOrNoise(Record):
    """Shows the truth with probability α and noise otherwise."""

    kind: Literal["keep"] = "keep"
    title: ClassVar[str] = "Truth or noise"
    formula: ClassVar[str] = r"Q(\cdot\mid x)=\alpha\delta_x+(1-\alpha)\bar Q"
    source: ClassVar[str] = "(15)"
    keep_probability: KeepProbability = field(0.5, "Keep probability α", group=None)
    noise: NoiseChoice = field(
        EvenNoise(),
        "What is shown instead",
        "The law of the noise.",
        key="noise",
        discriminator="kind",
    )

    def mechanism(self, law: FiniteLaw, rng: np.random.Generator) -> Finite:
        """Return the mechanism."""
        return AlphaIdentity(self.keep_probability, self.noise.noise(law))


class RandomMatrix(Record):
    """Any invertible matrix, drawn by the seed; not symmetric."""

    kind: Literal["random"] = "random"
    title: ClassVar[str] = "A random matrix"
    formula: ClassVar[str] = r"Q=wI+(1-w)R,\quad R\text{ with random columns}"
    source: ClassVar[str] = "Ex. 1"
    weight: Annotated[float, Number] = field(
        0.5, "Weight of the truth", "Share of the identity in the matrix.", key="weight", gt=0, lt=1
    )

    def mechanism(self, law: FiniteLaw, rng: np.random.Generator) -> Finite:
        """Draw the matrix."""
        columns = rng.dirichlet(np.ones(law.levels), size=law.levels).T
        return FiniteMechanism(self.weight * np.eye(law.levels) + (1 - self.weight) * columns)


Row = Annotated[tuple[Share, ...], Field(min_length=2, max_length=8)]


class OwnMatrix(Record):
    """A matrix typed in, one number after the other; each column is the law of what a category shows."""

    kind: Literal["own"] = "own"
    title: ClassVar[str] = "A matrix of your own"
    formula: ClassVar[str] = r"Q_{zx}=P(Z=z\mid X=x),\quad \mathbf 1^\top Q=\mathbf 1^\top"
    source: ClassVar[str] = "Ex. 1"
    entries: Annotated[tuple[Share, ...], Field(min_length=4, max_length=64)] = field(
        tuple(value for row in SKEW for value in row),
        "Entries, row by row",
        "A square number of them; row z, column x holds the chance that category x shows z. Columns add up to 1.",
        key="entries",
    )

    def square(self) -> FloatArray:
        """Return the entries as a matrix.

        Raises
        ------
        ParameterError
            If their number is no square.
        """
        size = math.isqrt(len(self.entries))
        if size * size != len(self.entries):
            raise ParameterError(
                f"A matrix needs a square number of entries such as 4, 9 or 16; there are {len(self.entries)}."
            )
        return np.array(self.entries).reshape(size, size)

    def problem(self, levels: int) -> str:
        """Say what is wrong with the entries for a law of so many categories, the cause alone; empty if nothing is."""
        try:
            matrix = checked_matrix(self.square())
        except ParameterError as error:
            return str(error)
        size = len(matrix)
        if size != levels:
            return (
                f"The matrix is for {size} categories, but the law has {levels}; type {levels * levels} entries or "
                "choose another law."
            )
        if np.linalg.cond(matrix) > 1e8:
            return "The matrix cannot be inverted, so what was true is not determined by what is shown."
        return ""

    def mechanism(self, law: FiniteLaw, rng: np.random.Generator) -> Finite:
        """Return the mechanism."""
        return FiniteMechanism(self.square())


AnyMechanism: TypeAlias = KeptOrNoise | RandomMatrix | OwnMatrix


def two_means() -> SeveralRegressions:
    """Two regressions and two low-dimensional means that multiply: μ₁(1, x) and E[Y² | x], γ₁γ₂ (end of Ex. 9)."""
    return SeveralRegressions(
        (
            Part(lambda p: p.y, lambda mu, p: mu(p.at(d=1))),
            Part(lambda p: np.asarray(p.y) ** 2, lambda mu, p: mu(p), given_treatment=False),
        ),
        (
            Cell(lambda p: p.y, lambda p: np.asarray(p.d) == 1),
            Cell(lambda p: np.asarray(p.x) + 1.0, lambda p: np.asarray(p.d) == 0),
        ),
        factor=lambda g: float(g[0] * g[1]),
        factor_gradient=lambda g: np.array([g[1], g[0]]),
    )


TARGET_TITLES = {
    "ate": "Average effect (ATE)",
    "att": "Effect on the treated (ATT)",
    "treated": "Mean outcome if all were treated",
    "untreated": "Mean outcome of the treated, untreated",
    "discount": "Discounted mean outcome",
    "two": "Two regressions",
    "means": "Two regressions, two means",
}
BenchTarget = Annotated[
    Literal["ate", "att", "treated", "untreated", "discount", "two", "means"],
    Field(
        title="Target",
        description="The number whose influence function, representer and bias are checked.",
        json_schema_extra={"key": "target", "group": "Goal", "titles": TARGET_TITLES},
    ),
]


def target_of(name: str) -> Target:
    """Return a target by its short name."""
    made: dict[str, Target] = {
        "ate": ATE(),
        "att": ATT(),
        "treated": MeanUnder(1),
        "untreated": UntreatedMeanOfTreated(),
        "discount": TimeDiscount(lambda x: x),
        "two": two_regressions(),
        "means": two_means(),
    }
    return made[name]


class IdentityBenchScenario(Scenario):
    """A law, a mechanism and a target."""

    law: Annotated[AnyBenchLaw, Field(discriminator="kind")] = field(
        RandomLaw(),
        "Law",
        "Law of outcome, treatment and private category.",
        key="law",
        group="Data",
        discriminator="kind",
    )
    mechanism: Annotated[AnyMechanism, Field(discriminator="kind")] = field(
        RandomMatrix(),
        "Mechanism",
        "How the private category is swapped.",
        key="mech",
        group="Privacy",
        discriminator="kind",
    )
    target: BenchTarget = "att"
    seed: Seed = field(
        0,
        "Seed",
        "Draws the random law and matrix, and the functions and wrong models that statements “for all” are tried on.",
        key="seed",
        group="Method",
    )


@dataclass(frozen=True)
class Prepared:
    """Nothing is worth keeping: the bench runs in a few milliseconds."""


@dataclass(frozen=True)
class Slip:
    """A statement as printed, or with a usual mistake: what it gives where 0 is right."""

    name: str
    source: str
    size: float
    right: float
    """The same for the corrected statement."""


def more_rows(law: FiniteLaw, target: Target, mechanism: Finite, rng: np.random.Generator) -> list[BenchRow]:
    """Check what the bench of the library leaves out: (30), (7), and the tangent space of Lemma 1 elsewhere."""
    rows = []
    truth = target.nuisances(law)
    for place, (m, mu) in enumerate(zip(target.moments(law.points), truth.regressions, strict=True)):
        table = mu + rng.standard_normal(mu.shape)
        residual = np.asarray(m) - (mu[:, None, :].swapaxes(0, 1) if len(mu) == 2 else mu)
        wrong = np.asarray(m) - (table[:, None, :].swapaxes(0, 1) if len(mu) == 2 else table)
        gain = law.mean(wrong**2) - law.mean(residual**2)
        weights = law.p_dx if len(mu) == 2 else law.p_x[None, :]
        square = float(np.sum(weights * (table - mu) ** 2))
        name = "Excess loss of a wrong regression" + (f", no. {place + 1}" if len(truth.regressions) > 1 else "")
        rows.append(BenchRow(name, "(30)", "identity", gain, square, abs(gain - square) / max(1.0, square)))
    flat = law.joint.reshape(-1, law.levels)
    # a singular matrix: two categories show the same
    singular = np.array(mechanism.finite().matrix)
    singular[:, -1] = singular[:, 0]
    found, full = tangent_rank(singular, law.joint), flat.shape[0] * (law.levels - 1) - 1
    rows.append(
        BenchRow(
            "Dimension left by a singular matrix", "Lem 1(ii)", "identity", float(found), float(full),
            float(abs(found - full)),
        )
    )  # fmt: skip
    # noise on a category that nobody has: not every direction is seen
    bare = flat.copy()
    bare[:, -1] = 0.0
    bare = bare / bare.sum()
    outside = AlphaIdentity(0.5, uniform_levels(law.levels)).finite().matrix
    found, full = tangent_rank(outside, bare), flat.shape[0] * (law.levels - 1) - 1
    rows.append(
        BenchRow(
            "Dimension with noise outside the data", "Lem 1(iii), E4", "identity", float(found), float(full),
            float(abs(found - full)),
        )
    )  # fmt: skip
    return rows


def slips(law: FiniteLaw, target: Target, mechanism: Finite, rng: np.random.Generator) -> list[Slip]:
    """Work out what printed slips and a transposed matrix give where 0 is right."""
    out = []
    shown = law.privatised(mechanism)
    score = target.influence(law)
    right = abs(float(np.sum(shown * private_influence(score, mechanism))))
    if isinstance(target, ATT):
        printed = law.mean(target.influence(law, printed=True))
        out.append(
            Slip("Mean of the printed influence function (ATT)", "Ex. 3, E1", abs(printed), abs(law.mean(score)))
        )
    matrix = mechanism.finite().matrix
    if not np.allclose(matrix, matrix.T):
        turned = np.einsum("zx,ydx->ydz", mechanism.finite().inverse, score)
        out.append(
            Slip("Mean of the private score, matrix transposed", "Lem 3(iv)", abs(float(np.sum(shown * turned))), right)
        )
    h = rng.standard_normal(law.joint.shape)
    undone = private_influence(h, mechanism)
    spread = float(np.sum(shown * undone**2)) - float(np.sum(shown * undone)) ** 2
    ratio = spread / float(norm(h.reshape(-1, law.levels), shown.reshape(-1, law.levels))) ** 2
    out.append(Slip("Variance over its bound without the factor 4/a²", "Ex. 12, E8", max(ratio - 1, 0.0), 0.0))
    gradient = _gradient(law, target, rng)
    if gradient is not None:
        out.append(Slip("Gradient of the loss without its minus sign", "Cor. 2, E6", *gradient))
    return out


def _gradient(law: FiniteLaw, target: Target, rng: np.random.Generator) -> tuple[float, float] | None:
    """Gap of the printed and of the corrected derivative of a squared loss along a direction to its difference."""
    mu = target.nuisances(law).regressions[0]
    if len(mu) != 2:
        return None
    m = np.broadcast_to(np.asarray(target.moments(law.points)[0], dtype=np.float64), law.joint.shape)
    start, step = mu + 0.3 * rng.standard_normal(mu.shape), rng.standard_normal(mu.shape)

    def loss(t: float) -> float:
        return law.mean((m - (start + t * step)[None]) ** 2)

    difference = (loss(1e-3) - loss(-1e-3)) / 2e-3
    printed = law.mean(2 * (m - start[None]) * step[None])
    return abs(printed - difference), abs(-printed - difference)


class IdentityBench(Study[IdentityBenchScenario]):
    """A bench of statements, each with its live error or slack."""

    id: ClassVar[str] = "identity-bench"
    question: ClassVar[str] = "Do the identities and inequalities hold, whatever the law?"
    lead: ClassVar[str] = (
        "Draw or type a law and a mechanism. Every statement behind the private estimates is computed both ways, and "
        "the difference is shown."
    )
    tab: ClassVar[str] = "Bench of identities"
    card: ClassVar[str] = "Some fifty statements checked on any law, beside what printed slips would give."
    link: ClassVar[str] = "Try your own law"
    theme: ClassVar[str] = "effects_theory"
    picture: ClassVar[str] = "bench"
    scenario: ClassVar[type[Scenario]] = IdentityBenchScenario
    late: ClassVar[frozenset[str]] = frozenset(IdentityBenchScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {
        "identities": "Identities",
        "inequalities": "Inequalities",
        "slips": "Slips",
    }
    rows: ClassVar[tuple[str, ...]] = (
        "L-E2", "L-E4", "L-E10", "L-P1g", "L-E36", "L-E16", "L-E22", "L-E30", "L-E31", "L-P3v", "L-Ex9", "L-Ex9m",
        "L-L1a", "L-L1b", "L-L1c", "L-L3a", "L-L3b", "L-L3c", "L-L3d", "L-L3e", "L-L4b", "L-L5", "L-L6b",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[IdentityBenchScenario], ...]:
        """Finished examples."""
        make = IdentityBenchScenario
        return (
            Preset("Random law and matrix", make()),
            Preset("Law A, randomised response", make(law=LawA(), mechanism=KeptOrNoise())),
            Preset("Law A, lopsided matrix", make(law=LawA(), mechanism=OwnMatrix(), target="ate")),
            Preset("Two regressions, two means", make(mechanism=KeptOrNoise(), target="means")),
        )

    def check(self, scenario: IdentityBenchScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        levels = scenario.law.levels if isinstance(scenario.law, RandomLaw) else scenario.law.law().levels
        if isinstance(scenario.law, OwnLaw):
            means = (*scenario.law.outcome_untreated, *scenario.law.outcome_treated)
            if not all(0 < value < 1 for value in means):
                return (
                    "The bench needs a law with positive cells; choose chances of the outcome strictly between 0 "
                    "and 1.",
                )
        if isinstance(scenario.mechanism, OwnMatrix):
            words = scenario.mechanism.problem(levels)
            return (words,) if words else ()
        return ()

    def prepare(self, scenario: IdentityBenchScenario, tables: Tables | None) -> Prepared:
        """Prepare nothing."""
        return Prepared()

    def parts(self, scenario: IdentityBenchScenario) -> tuple[FiniteLaw, Finite, Target]:
        """Return law, mechanism and target of a scenario."""
        rng = np.random.default_rng(scenario.seed)
        law = scenario.law.law(rng) if isinstance(scenario.law, RandomLaw) else scenario.law.law()
        return law, scenario.mechanism.mechanism(law, rng), target_of(scenario.target)

    def assemble(self, scenario: IdentityBenchScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Run the bench."""
        law, mechanism, target = self.parts(scenario)
        rng = np.random.default_rng([scenario.seed, 1])
        every = [*identity_bench(law, target, mechanism, rng), *more_rows(law, target, mechanism, rng)]
        equal = [row for row in every if row.kind != "inequality"]
        less = [row for row in every if row.kind == "inequality"]
        wrong = slips(law, target, mechanism, rng)
        frame = pd.concat(
            [
                tidy([(ERROR, _places(equal), [row.size for row in equal], 0.0)], panel=PANELS["identities"]),
                tidy([(SLACK, _places(less), [row.size for row in less], 0.0)], panel=PANELS["inequalities"]),
                tidy(
                    [
                        (SLIP, _places(wrong), [slip.size for slip in wrong], 0.0),
                        ("corrected", _places(wrong), [slip.right for slip in wrong], 0.0),
                    ],
                    panel=PANELS["slips"],
                ),
            ],
            ignore_index=True,
        )
        return self.told(scenario, law, mechanism, target, frame, equal, less, wrong)

    def told(
        self,
        scenario: IdentityBenchScenario,
        law: FiniteLaw,
        mechanism: Finite,
        target: Target,
        frame: pd.DataFrame,
        equal: list[BenchRow],
        less: list[BenchRow],
        wrong: list[Slip],
    ) -> Result:
        """Add cards, words and formulas."""
        held, kept = sum(row.holds for row in equal), sum(row.holds for row in less)
        worst = max(equal, key=lambda row: row.size)
        nearest = min(less, key=lambda row: row.size)
        failing = [row.name for row in (*equal, *less) if not row.holds]
        value = target.value(law)
        bound, private = efficiency_bound(law, target), efficiency_bound(law, target, mechanism)
        cards = (
            Card(
                "Identities that hold",
                f"{held} of {len(equal)}",
                "within rounding",
                "Relative error below 10⁻⁹; below 10⁻⁷ where a derivative is taken by differences.",
            ),
            Card(
                "Inequalities that hold",
                f"{kept} of {len(less)}",
                "slack at least 0",
                "Relative slack, up to rounding.",
            ),
            Card("Largest error", significant(worst.size, 2), worst.source[:18], worst.name + "."),
            Card(
                "Price of the mechanism",
                f"{significant(private / bound, 3)}×" if bound > 1e-300 else "–",
                "in variance",
                f"Efficiency bound {significant(bound)} without and {significant(private)} with noise.",
            ),
        )
        big = max(wrong, key=lambda slip: slip.size)
        verdict = (
            "Nothing fails"
            if not failing
            else f"These fail: {plain_markdown('; '.join(failing[:3]))}{' and more' if len(failing) > 3 else ''}"
        )
        shows = (
            f"On a law with **{law.levels} private categories** and {law.joint.shape[0]} outcome values, "
            f"**{held} of {len(equal)} identities** and **{kept} of {len(less)} inequalities** hold; "
            f"the target, “{TARGET_TITLES[scenario.target]}”, "
            f"is truly {significant(value)}. {verdict}: the largest error is {significant(worst.size, 2)}, and the "
            f"tightest inequality has a slack of {significant(100 * nearest.size, 2)}%. A slip would stand out: "
            f"“{plain_markdown(big.name)}” is off by **{significant(big.size, 2)}**. "
            "One law is an example, not a proof."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Errors of {len(equal)} identities, all but {len(equal) - held} below the limit, the largest "
                f"{significant(worst.size, 2)}; {kept} of {len(less)} inequalities hold."
            ),
            formulas=self.formulas(scenario, law, mechanism, target, value, private),
            assumptions=(
                "Every cell of the law is positive, so that regressions, representers and posteriors exist.",
                "Statements “for all functions” are tried on functions drawn by the seed; other seeds try others.",
                "Dimensions count linearly independent directions; the three rows on Lemma 1 use the mechanism, the "
                "same with two equal columns, and noise on a category that nobody has.",
            ),
            extra={"equal": equal, "less": less, "slips": wrong},
        )

    def formulas(
        self,
        scenario: IdentityBenchScenario,
        law: FiniteLaw,
        mechanism: Finite,
        target: Target,
        value: float,
        private: float,
    ) -> tuple[Formula, ...]:
        """Return the statements that carry the theory."""
        shown = law.privatised(mechanism)
        psi = private_influence(target.influence(law), mechanism)
        out = [
            Formula(
                "The inverse is a change of measure",
                r"P_{VZ}\,Q^{-1}_{\mathcal X}h=P_{VX}h",
                rf"h=\tilde\chi:\ {float(np.sum(shown * psi)):.2g}={law.mean(target.influence(law)):.2g}",
                "exact",
                "(22), Lem 3(iii)",
            ),
            Formula(
                "Target by its representer",
                r"E f(V,X,\mu,\gamma)=\textstyle\sum_kE\,r_k(V_1,X)\mu_k(V_1,X)",
                rf"\chi={value:.6g}",
                "exact",
                "(10), Ex. 9",
            ),
            Formula(
                "Private efficiency bound",
                r"\sigma^2(Q)=P_{VZ}\,(Q^{-1}_{\mathcal X}\tilde\chi)^2",
                rf"{private:.6g}",
                "exact",
                "(17), Thm 2",
            ),
        ]
        if isinstance(mechanism, AlphaIdentity) and isinstance(mechanism.noise, FiniteNoise):
            keep = mechanism.keep_probability
            out.append(
                Formula(
                    "Variance of an undone weight",
                    r"\mathrm{Var}\,Q^{-1}_{\mathcal X}h\le\tfrac{2(2-\alpha)}{\alpha^2}E h^2\le\tfrac4{\alpha^2}E h^2",
                    rf"\alpha={keep:g}:\quad {2 * (2 - keep) / keep**2:.4g}\le{4 / keep**2:.4g}",
                    "bound",
                    "Prop. 3, (12); the first factor: derived",
                )
            )
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        return result.frame[result.frame["panel"] == PANELS[view or "identities"]].reset_index(drop=True)

    def table(self, result: Result) -> pd.DataFrame:
        """One row per statement: both sides, error or slack, and whether it holds."""
        equal, less, wrong = (result.extra[name] for name in ("equal", "less", "slips"))
        held = [*equal, *less]
        left, right = same_format([row.left for row in held], [row.right for row in held])
        rows: list[dict[str, Any]] = []
        for place, row in enumerate(held):
            identity = place < len(equal)
            rows.append(
                {
                    "no.": place + 1 if identity else place + 1 - len(equal),
                    "statement": row.name,
                    "source": row.source,
                    "holds": "yes" if row.holds else "no",
                    "left": left[place],
                    "right": right[place],
                    ERROR if identity else SLACK: row.size,
                }
            )
        rows += [
            {
                "no.": place, "statement": slip.name, "source": slip.source, "holds": "a slip",
                SLIP: significant(slip.size), "corrected": significant(slip.right),
            }
            for place, slip in enumerate(wrong, 1)
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the dots of one view."""
        if view == "inequalities":
            return self.slack_chart(result.extra["less"])
        if view == "slips":
            return self.slip_chart(result.extra["slips"])
        rows: list[BenchRow] = result.extra["equal"]
        names = [f"{row.name}, by differences" if row.kind == "difference quotient" else row.name for row in rows]
        return Chart(
            "How exactly the identities hold",
            "one dot per identity; number as in the table",
            Axis("relative error", "log", FLOOR / 2, 10.0, symbol="error"),
            _rows(names),
            (
                Panel(
                    _dots(rows, [max(row.size, FLOOR) for row in rows]),
                    here=(TOLERANCE["identity"], "holds left of 10⁻⁹"),
                    marked=((TOLERANCE["difference quotient"], "by differences: left of 10⁻⁷"),),
                ),
            ),
            height=110 + _row_height(names) * len(rows),
            by_point=True,
        )

    def slack_chart(self, rows: list[BenchRow]) -> Chart:
        """Describe the slack of the inequalities."""
        low = min(0.0, *(row.size for row in rows))
        names = [row.name for row in rows]
        return Chart(
            "How much room the inequalities leave",
            "share of the larger side; number as in the table",
            Axis("relative slack", "linear", low - 0.03, 1.6, symbol="slack"),
            _rows(names),
            (Panel(_dots(rows, [row.size for row in rows]), here=(0.0, "fails left of 0")),),
            height=110 + _row_height(names) * len(rows),
            by_point=True,
        )

    def slip_chart(self, rows: list[Slip]) -> Chart:
        """Describe what printed slips give beside the corrected statements."""
        places = _heights(rows)
        texts = [f"{slip.name}, {slip.source}: {significant(slip.size, 2)}" for slip in rows]
        sizes, right = [max(slip.size, FLOOR) for slip in rows], [max(slip.right, FLOOR) for slip in rows]
        return Chart(
            "What a slip would give",
            "size of what should be 0; number as in the table",
            Axis("error", "log", FLOOR / 2, 1e3, symbol="error"),
            _rows([slip.name for slip in rows]),
            (
                Panel(
                    (
                        Points("attacker", sizes, places, SLIP, "with the slip", text=texts, hover="with the slip"),
                        Points("lower bound", right, places, "corrected", "corrected", hover="corrected"),
                    ),
                    here=(TOLERANCE["identity"], "holds left of 10⁻⁹"),
                ),
            ),
            height=360,
            by_point=True,
        )


def _places(rows: Sequence[Any]) -> FloatArray:
    return np.arange(1.0, len(rows) + 1.0)


def _heights(rows: Sequence[Any]) -> FloatArray:
    """Heights of the rows of a chart: the first on top, as in the table."""
    return _places(rows)[::-1]


def _rows(names: Sequence[str]) -> Axis:
    """Return the y axis: a name and the number of the table for each row."""
    named = tuple(
        RowName(float(at), f"{name}{NO_BREAK * 2}{place}", str(place))
        for place, (at, name) in enumerate(zip(_heights(names), names, strict=True), 1)
    )
    return Axis("number", "linear", 0.0, len(names) + 1.0, symbol="no.", rows=named)


def _row_height(names: Sequence[str]) -> int:
    """Pixels of a row: more where some name needs two lines."""
    return 40 if max(len(name) for name in names) > 58 else 21


def same_format(*columns: Sequence[float]) -> list[list[str]]:
    """Write numbers of several columns alike: six decimals, in columns of one width; rounding errors are 0.

    Examples
    --------
    >>> [[text.strip(FIGURE_SPACE) for text in texts] for texts in same_format([0.2064, -3e-17], [23.0, float("nan")])]
    [['0.206400', '0.000000'], ['23.000000', '']]
    """
    texts = [
        [f"{round(value, 6) + 0.0:,.6f}" if math.isfinite(value) else "" for value in values] for values in columns
    ]
    wide = max((len(text) for part in texts for text in part), default=0)
    return [[text.replace("-", "−").rjust(wide, FIGURE_SPACE) for text in part] for part in texts]


def _dots(rows: list[BenchRow], values: list[float]) -> tuple[Points, ...]:
    """Put rows that hold and rows that do not into two groups, each dot with its statement and number."""
    out = []
    for name, holds in (("holds", True), ("fails", False)):
        chosen = [place for place, row in enumerate(rows) if row.holds is holds]
        if chosen:
            texts = [f"{rows[place].name}, {rows[place].source}: {_short(rows[place])}" for place in chosen]
            out.append(
                Points(
                    "lower bound" if holds else "attacker",
                    [values[place] for place in chosen],
                    _heights(rows)[chosen].tolist(),
                    name,
                    text=texts,
                    hover=name,
                )
            )
    return tuple(out)


def _short(row: BenchRow) -> str:
    if row.kind == "inequality":
        return f"{significant(100 * row.size, 2)}%"
    return significant(row.size, 1)
