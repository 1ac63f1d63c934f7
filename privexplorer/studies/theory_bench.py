"""The theory behind the bounds, tried out (V13; Thm 3.2 to 3.4, A.7.1, A.12 to A.18, A.24, Def A.3 to A.7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtr

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.errors import ParameterError, PrivExplorerError
from privexplorer.records import Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies._predictability import READING, CompromisedFraction, check_leaked
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Mark, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import listed, percent, plus_minus, significant, whole

BLOCK_TRIALS = 50
STRATA = 4
SIZES = (50, 100, 200, 400, 800)
"""Sample sizes of the uniform law."""
BAYES_SIZES = (50, 200, 800)
"""Sample sizes at which two answers are compared."""
MOST_COMPROMISED = 0.98
"""Compromised fraction up to which the smallest of them leaves somebody."""
GRID = np.linspace(-2.0, 3.0, 9)
"""Values of θ of the uniform law."""
PATH = 4_000
LAGS = np.arange(1, 26)
TAU = 0.1
EDGES = np.linspace(-4.0, 4.0, 33)
CENTRES = 0.5 * (EDGES[1:] + EDGES[:-1])
WIDTH = float(EDGES[1] - EDGES[0])
SQUARES = np.linspace(0.0, 8.0, 41)
"""Where the law of the loss gap is compared with a χ²."""
DRAGS = np.linspace(0.0, 1.0, 41)

MEAN, BEFORE, AFTER, DIFFERENCE = (
    "mean of the sample", "answer without the release", "answer with the release", "difference of both",
)  # fmt: skip
SIMULATED, NORMAL = "simulated", "normal law"
MIXING, GEOMETRIC, WEIGHTED, UNWEIGHTED, TRUTH = (
    "mixing coefficient", "(1 − s)ᵏ max π(1 − π)", "running mean, weighted", "running mean, unweighted", "truth",
)  # fmt: skip
UNIFORM, ROOT = "largest error over θ", "slope −½"
TO_OMEGA, TO_IDENTITY, BEST = "towards Ω", "towards I", "efficient"
GAP, CHI, TWO, BAYES = "loss gap", "χ² with 1 degree", "two efficient estimates", "Bayes and efficient"
HOLDS, ASSUMED, FAILS = "holds", "assumed", "fails"
SQUARED, LOG, PRINTED_H, SHARP_H = "squared loss", "log loss", "H = 1/τ², printed", "H sharp"

VIEWS = {
    "laws": "Limit laws",
    "path": "Mixing",
    "uniform": "Uniform law",
    "weights": "Weights",
    "second": "Second order",
    "losses": "Losses",
    "checklist": "Checklist",
}
PANELS: dict[str, tuple[str, ...]] = {
    "laws": (MEAN, BEFORE, AFTER, DIFFERENCE),
    "path": ("mixing coefficient α(k)", "running mean along one path"),
    "uniform": ("largest error",),
    "weights": ("variance of the answer",),
    "second": ("law of n times the loss gap", "n times a difference of losses"),
    "losses": ("curvature of the loss",),
    "checklist": ("conditions",),
}
"""Panels of each view; they name the rows of the frame."""

SHORT = (
    "compact space", "moments ≥ parameters", "differentiable", "one root", "rank of G", "Ω > 0", "dominated",
    "CLT, uniform law", "noise apart", "Bayes ≈ efficient",
)  # fmt: skip
"""The lines of the checklist, short."""


class TheoryBenchScenario(Scenario):
    """A process, a release, and what is left out."""

    process: Literal["shard", "iid", "biased", "chain"] = field(
        "shard", "How records leak", "How the attacker's records are drawn.", key="process", group="Attacker",
        titles={
            "shard": "A random shard", "iid": "Independent, uniform", "biased": "Independent, biased",
            "chain": "A sticky walk over four groups",
        },
    )  # fmt: skip
    restart: Annotated[float, Number] = field(
        0.2, "Fresh start s", "Chance that the walk leaves for a fresh group; 1 gives independent draws.",
        key="restart", group="Attacker", ge=0.05, le=1, when=("process", "chain"),
    )  # fmt: skip
    compromised: CompromisedFraction = 0.3
    people: Annotated[int, Number] = field(
        1_000, "People N", "How many people there are.", key="people", group="Data", scale="log", low=100, high=10_000,
        ge=60, le=20_000,
    )  # fmt: skip
    published: Literal["mean", "pair", "twice"] = field(
        "pair", "You publish", "The same mean twice breaks a condition of the theory.", key="publish", group="Release",
        titles={"mean": "One mean", "pair": "Two means", "twice": "The same mean, twice"},
    )  # fmt: skip
    noise: Annotated[float, Number] = field(
        0.03, "Noise, as a share of one person's influence",
        "Standard deviation of the noise on each published mean, over that of one person's value; 0 publishes exactly.",
        key="noise", group="Release", scale="log", low=0.005, high=1.0, ge=0, le=100,
    )  # fmt: skip
    factor: Literal["used", "left out"] = field(
        "used", "Factor of the process",
        "Long-run variance along a walk, 1 − n/N for a shard: left out, the sample mean misses its normal law.",
        key="factor", group="Method", titles={"used": "Used", "left out": "Left out"},
    )  # fmt: skip
    drag: Annotated[float, Number] = field(
        0.5, "Weight W dragged from the best",
        "0 is the efficient weight Ω⁻¹; 1 is Ω (which the source prints as the best) or the identity.",
        key="drag", group="Method", scale="linear", ge=0, le=1,
    )  # fmt: skip
    trials: Trials = 2_000
    seed: Seed = 0


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that the draws share.

    Attributes
    ----------
    process : Process
        Draws the records.
    attack : PreparedAttack
        Answers with and without the release.
    theory : Predictability
        Their variances.
    summary : MomentSummary
        Of question and release.
    covariance : (d, d) float array
        Of the noise.
    looked_at : (N,) float array
        Column whose mean is looked at.
    wrong : float
        Factor on the standardised mean when the process's own factor is left out.
    growing : tuple of (Process, values, weights)
        The same process with other sample sizes.
    path : (PATH,) int array
        One path or sample.
    system : MomentSystem
        The attacker's moment conditions.
    weights : (3, drags) float array
        Variance of the answer towards Ω, towards the identity, and of the best weight.
    lowest : float
        Smallest eigenvalue of what a weight costs, over the largest variance.
    bayes : (sizes,) float array
        n times the difference of the Bayesian and the efficient answer's losses.
    checks : tuple of Condition
        The checklist.
    seed : int
        Of the study.
    """

    process: pr.Process
    attack: pr.PreparedAttack
    theory: pr.Predictability
    summary: pr.MomentSummary
    covariance: FloatArray
    looked_at: FloatArray
    wrong: float
    growing: tuple[tuple[pr.Process, FloatArray], ...]
    path: IntArray
    system: pr.MomentSystem
    weights: FloatArray
    lowest: float
    bayes: FloatArray
    checks: tuple[pr.Condition, ...]
    seed: int


class TheoryBench(Study[TheoryBenchScenario]):
    """Histograms over normal laws, mixing, uniform laws, weights, and the checklist."""

    id: ClassVar[str] = "theory-bench"
    question: ClassVar[str] = "Does the theory behind the bounds hold at this size?"
    lead: ClassVar[str] = (
        "The bounds rest on limit laws and on the best use of moments. Here they are tried out, one by one, and broken."
    )
    tab: ClassVar[str] = "Theory bench"
    card: ClassVar[str] = "Limit laws, mixing, efficient weights and the checklist behind the bounds."
    link: ClassVar[str] = "Try the theory out"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "bench"
    scenario: ClassVar[type[Scenario]] = TheoryBenchScenario
    late: ClassVar[frozenset[str]] = frozenset({"factor", "drag", "trials"})
    views: ClassVar[Mapping[str, str]] = VIEWS
    rows: ClassVar[tuple[str, ...]] = (
        "P-A3.1", "P-X10", "P-X13", "P-T3.2", "P-T3.3", "P-E2", "P-T3.4", "P-T3.4A", "P-T3.6s", "P-DA.3", "P-DA.4",
        "P-DA.5", "P-DA.6", "P-DA.7", "P-A7.1", "P-TA.12", "P-TA.13", "P-TA.14", "P-TA.15", "P-TA.16", "P-TA.17",
        "P-LA.18", "P-TA.24", "P-L2.9H", "P-A3", "P-X15",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[TheoryBenchScenario], ...]:
        """Each process, and a broken condition."""
        make = TheoryBenchScenario
        return (
            Preset("A shard", make()),
            Preset("A sticky walk", make(process="chain")),
            Preset("The walk, factor left out", make(process="chain", factor="left out")),
            Preset("Biased draws", make(process="biased")),
            Preset("The same mean twice", make(published="twice", noise=0.0)),
        )

    def check(self, scenario: TheoryBenchScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        least = math.ceil(20 / scenario.compromised)
        if scenario.compromised * scenario.people < 20:
            return (
                f"A limit law needs at least 20 leaked records; {scenario.compromised:g} of {scenario.people:,} people "
                f"are {scenario.compromised * scenario.people:.3g}, so choose at least {least:,} people.",
            )
        if scenario.compromised > MOST_COMPROMISED:
            return (
                f"Somebody must be left whom the attacker does not know: of samples of {BAYES_SIZES[0]} at a "
                f"compromised fraction of {scenario.compromised:g} nobody is; choose at most {MOST_COMPROMISED:g}.",
            )
        try:
            check_leaked(scenario.compromised, scenario.people)
        except ParameterError as error:
            return (str(error),)
        return ()

    # ---- prepare and blocks ----

    def prepare(self, scenario: TheoryBenchScenario, tables: Tables | None) -> Prepared:
        """Set up people, process and attacker."""
        table = crowd(scenario.people)
        n = max(2, round(scenario.compromised * scenario.people))
        process = process_of(scenario, table, n)
        columns = {"mean": ("x",), "pair": ("x", "z"), "twice": ("x", "x2")}[scenario.published]
        release = pr.Mean(columns=columns).fit(table)
        asked = pr.query_set(["q"], table)
        summary = process.summarise(table, asked, release)
        spreads = np.array([float(np.std(table[name])) for name in columns])
        sigma = np.diag(np.square(scenario.noise * spreads))
        noise = pr.NoNoise() if scenario.noise == 0 else pr.GivenCovariance.of(sigma)
        law = noise.law(pr.noise_setting(summary, process.size().multiplier()))
        attack = pr.prepare_attack(table, asked.evaluate(table), release, process, law, summary=summary)
        both = [
            pr.standardised_means(table["x"], process, 4, np.random.default_rng(0), corrected=used)
            for used in (False, True)
        ]
        growing = []
        for size in SIZES:
            people = max(STRATA, round(size / scenario.compromised))
            larger = crowd(people)
            growing.append((process_of(scenario, larger, size), larger["x"]))
        # a shard has no longer path than its people: then one order of all of them
        path_rng = block_rng(scenario.seed, 0, 7)
        path = (
            path_rng.permutation(scenario.people)[:PATH]
            if scenario.process == "shard"
            else process_of(scenario, table, PATH).sample(1, path_rng)[0]
        )
        system = system_of(scenario, summary, law.covariance, process)
        weights, lowest = dragged_variances(system)
        pairs = [pr.bayes_against_gmm(size, scenario.compromised, 0.3) for size in BAYES_SIZES]
        return Prepared(
            process=process,
            attack=attack,
            theory=pr.predictability(summary, process.size(), law.covariance),
            summary=summary,
            covariance=law.covariance,
            looked_at=table["x"],
            wrong=float(both[0][0] / both[1][0]),
            growing=tuple(growing),
            path=path,
            system=system,
            weights=weights,
            lowest=lowest,
            bayes=np.array([n * abs(one - other) for n, (one, other) in zip(BAYES_SIZES, pairs, strict=True)]),
            checks=pr.regularity(summary, process, law.covariance),
            seed=scenario.seed,
        )

    def blocks(self, scenario: TheoryBenchScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, BLOCK_TRIALS)

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw one block, shape ``(trials, 1, values)``.

        Values: standardised mean; truth; answers without, feasible, oracle; largest errors at all sample sizes; squared
        errors of two efficient estimates at three sample sizes.
        """
        rng = block_rng(prepared.seed, block, 1)
        out = np.empty((BLOCK_TRIALS, 1, 5 + len(SIZES) + len(BAYES_SIZES)))
        out[:, 0, 0] = pr.standardised_means(prepared.looked_at, prepared.process, BLOCK_TRIALS, rng)
        drawn = prepared.attack.run(BLOCK_TRIALS, rng, block_rng(prepared.seed, block, 2))
        answers = (drawn.truth, drawn.before, drawn.feasible, drawn.oracle)
        for place, answer in enumerate(answers, start=1):
            out[:, 0, place] = answer[:, 0]
        few = max(1, BLOCK_TRIALS // 5)
        for place, (process, values) in enumerate(prepared.growing):
            errors = pr.uniform_error(values, process.sample(few, rng), GRID, process.weights)
            out[:, 0, 5 + place] = np.tile(errors, BLOCK_TRIALS // few)
        for place, n in enumerate(BAYES_SIZES):
            moments = rng.standard_normal((few, n, 1))
            query = 0.6 * moments[:, :, 0] + rng.exponential(size=(few, n))
            one, two = pr.two_efficient_estimates(query, moments)
            gap = n * np.abs(np.square(one - 1.0) - np.square(two - 1.0))
            out[:, 0, 5 + len(SIZES) + place] = np.tile(gap, BLOCK_TRIALS // few)
        return out

    # ---- assemble ----

    def assemble(self, scenario: TheoryBenchScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Compare everything with its limit."""
        drawn = stacked(parts, scenario.trials)[:, 0]
        standard = self.standardised(scenario, prepared, drawn)
        few = BLOCK_TRIALS // 5
        distinct = np.concatenate([part[:few, 0] for part in parts])
        frame = pd.concat(
            [
                *self.law_frames(standard),
                *self.path_frames(scenario, prepared),
                self.uniform_frame(distinct),
                self.weight_frame(prepared),
                *self.second_frames(prepared, drawn, distinct),
                self.loss_frame(),
                self.check_frame(prepared.checks),
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, standard, frame, len(drawn))

    def standardised(
        self, scenario: TheoryBenchScenario, prepared: Prepared, drawn: FloatArray
    ) -> dict[str, FloatArray]:
        """Return the four statistics, each to be standard normal."""
        theory = prepared.theory
        n = theory.size.effective
        truth, before, oracle = drawn[:, 1], drawn[:, 2], drawn[:, 4]
        spread = [float(one[0]) / n for one in (theory.variance_before, theory.variance_after, theory.explained)]
        factor = prepared.wrong if scenario.factor == "left out" else 1.0
        return {
            MEAN: factor * drawn[:, 0],
            BEFORE: (before - truth) / math.sqrt(spread[0]),
            AFTER: (oracle - truth) / math.sqrt(spread[1]) if spread[1] > 0 else np.zeros(len(drawn)),
            DIFFERENCE: (before - oracle) / math.sqrt(spread[2]) if spread[2] > 0 else np.zeros(len(drawn)),
        }

    def law_frames(self, standard: dict[str, FloatArray]) -> list[pd.DataFrame]:
        """Histograms over the normal law."""
        normal = (ndtr(EDGES[1:]) - ndtr(EDGES[:-1])) / WIDTH
        out = []
        for name, values in standard.items():
            share = np.histogram(np.clip(values, EDGES[0], EDGES[-1]), EDGES)[0] / len(values)
            error = np.sqrt(share * (1.0 - share) / len(values)) / WIDTH
            out.append(tidy([(SIMULATED, CENTRES, share / WIDTH, error), (NORMAL, CENTRES, normal, 0.0)], panel=name))
        return out

    def path_frames(self, scenario: TheoryBenchScenario, prepared: Prepared) -> list[pd.DataFrame]:
        """Mixing coefficients by lag, and one running mean."""
        lags = LAGS.astype(np.float64)
        rows: list[tuple[str, Any, Any, Any]] = []
        if isinstance(prepared.process, pr.ChainProcess):
            law = prepared.process.chain.stationary
            largest = max(
                float(one * (1.0 - one))
                for one in (law[list(map(bool, map(int, f"{code:0{STRATA}b}")))].sum() for code in range(2**STRATA))
            )
            rows += [
                (MIXING, lags, prepared.process.chain.mixing(LAGS), 0.0),
                (GEOMETRIC, lags, (1.0 - scenario.restart) ** lags * largest, 0.0),
            ]
        else:
            rows.append((MIXING, lags, np.zeros(lags.size), 0.0))
        steps = np.unique(np.rint(np.geomspace(10, prepared.path.size, 80)).astype(int))
        values, weights = prepared.looked_at, prepared.process.weights
        moving = [(WEIGHTED, steps.astype(float), pr.running_mean(values, prepared.path, weights)[steps - 1], 0.0)]
        if weights is not None and float(np.ptp(weights)) > 1e-9:
            moving.append((UNWEIGHTED, steps.astype(float), pr.running_mean(values, prepared.path)[steps - 1], 0.0))
        moving.append((TRUTH, steps.astype(float), np.full(steps.size, float(values.mean())), 0.0))
        return [tidy(rows, panel=PANELS["path"][0]), tidy(moving, panel=PANELS["path"][1])]

    def uniform_frame(self, distinct: FloatArray) -> pd.DataFrame:
        """Largest errors over a grid, by sample size."""
        n = np.array(SIZES, dtype=np.float64)
        worst = distinct[:, 5 : 5 + n.size]
        mean, error = worst.mean(axis=0), worst.std(axis=0, ddof=1) / math.sqrt(len(worst))
        return tidy(
            [(UNIFORM, n, mean, error), (ROOT, n, mean[0] * np.sqrt(n[0] / n), 0.0)], panel=PANELS["uniform"][0]
        )

    def weight_frame(self, prepared: Prepared) -> pd.DataFrame:
        """Variance of the answer as the weight leaves the best one."""
        names = (TO_OMEGA, TO_IDENTITY, BEST)
        rows = [(name, DRAGS, values, 0.0) for name, values in zip(names, prepared.weights, strict=True)]
        return tidy(rows, panel=PANELS["weights"][0])

    def second_frames(self, prepared: Prepared, drawn: FloatArray, distinct: FloatArray) -> list[pd.DataFrame]:
        """Law of n times the loss gap, and differences that vanish faster than 1/n."""
        theory = prepared.theory
        scaled = np.square(drawn[:, 2] - drawn[:, 1]) * theory.size.effective / float(theory.variance_before[0])
        share = (scaled[:, None] <= SQUARES[None, :]).mean(axis=0)
        error = np.sqrt(share * (1.0 - share) / len(scaled))
        chi = 2.0 * ndtr(np.sqrt(SQUARES)) - 1.0
        n = np.array(BAYES_SIZES, dtype=np.float64)
        two = distinct[:, 5 + len(SIZES) :]
        first = tidy([(GAP, SQUARES, share, error), (CHI, SQUARES, chi, 0.0)], panel=PANELS["second"][0])
        second = tidy(
            [
                (TWO, n, two.mean(axis=0), two.std(axis=0, ddof=1) / math.sqrt(len(two))),
                (BAYES, n, prepared.bayes, 0.0),
            ],
            panel=PANELS["second"][1],
        )
        return [first, second]

    def loss_frame(self) -> pd.DataFrame:
        """Curvature of both losses by answer, the truth being 0.1."""
        answers = np.concatenate([np.linspace(0.01, 0.1, 19), np.linspace(0.12, 0.9, 40)])
        rows = [
            (SQUARED, answers, pr.loss_curvature("squared", answers, TAU), 0.0),
            (LOG, answers, pr.loss_curvature("log", answers, TAU), 0.0),
            (PRINTED_H, answers, np.full(answers.size, pr.smoothness("log", TAU)), 0.0),
            (SHARP_H, answers, np.full(answers.size, pr.smoothness("log", TAU, "corrected")), 0.0),
        ]
        return tidy(rows, panel=PANELS["losses"][0])

    def check_frame(self, checks: Sequence[pr.Condition]) -> pd.DataFrame:
        """One row per condition."""
        height = {HOLDS: 2.0, ASSUMED: 1.0, FAILS: 0.0}
        rows = []
        for status in (HOLDS, ASSUMED, FAILS):
            names = [place + 1.0 for place, line in enumerate(checks) if line.status == status]
            if names:
                rows.append((status, names, np.full(len(names), height[status]), 0.0))
        return tidy(rows, panel=PANELS["checklist"][0])

    def told(
        self,
        scenario: TheoryBenchScenario,
        prepared: Prepared,
        standard: dict[str, FloatArray],
        frame: pd.DataFrame,
        runs: int,
    ) -> Result:
        """Put the comparison into words."""
        variances = {name: float(np.mean(np.square(values))) for name, values in standard.items()}
        errors = {
            name: float(np.square(values).std(ddof=1)) / math.sqrt(runs) if runs > 1 else math.inf
            for name, values in standard.items()
        }
        error = math.sqrt(2.0 / runs)
        off = [name for name, value in variances.items() if abs(value - 1.0) > 4.5 * error + 0.04]
        checks = prepared.checks
        failing = [line for line in checks if line.status == FAILS]
        efficient = frame[frame["series"] == BEST]["y"].iloc[0]
        here = frame[(frame["series"] == TO_OMEGA)].set_index("x")["y"]
        cost = float(np.interp(scenario.drag, DRAGS, here.to_numpy(dtype=float))) / float(efficient)
        value, around = plus_minus(variances[MEAN], 2 * error)
        most = PROCESS_WORDS[scenario.process]
        lines = (
            f"**{whole(runs)} samples** of {whole(prepared.process.draws)} out of {whole(scenario.people)} people, "
            f"{most}. "
        )
        if off:
            lines += (
                f"Over theory, the variance of {listed([f'the {name}' for name in off])} is "
                f"{listed([significant(variances[name], 2) for name in off])}: too far from 1"
                + (", as it must be with the factor left out. " if scenario.factor == "left out" else ". ")
            )
        else:
            lines += agreement(variances, errors, prepared.process.draws)
        lines += (
            f"A weight dragged {percent(scenario.drag)} of the way to Ω has {significant(cost, 3)} times the variance "
            "of the efficient one."
        )
        if failing:
            lines += f" The checklist fails: {listed([line.name.lower() for line in failing])}."
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("Sample mean", value, f"{around}, theory 1", "Variance of the standardised sample mean."),
                Card(
                    "Answer with release", significant(variances[AFTER]), f"± {significant(2 * error, 1)}, theory 1",
                    "Mean squared error of the best attacker over theory (Theorem 3.6).",
                ),
                Card(
                    "Difference", significant(variances[DIFFERENCE]), f"± {significant(2 * error, 1)}, theory 1",
                    "Variance of the difference of both answers over the difference of variances (Theorem 3.4).",
                ),
                Card(
                    "Conditions", f"{sum(line.status == HOLDS for line in checks)} hold",
                    f"{sum(line.status == ASSUMED for line in checks)} assumed, {len(failing)} fail",
                ),
            ),
            shows=lines,
            takeaway=lines.replace("**", ""),
            notes=_notes(scenario, checks),
            formulas=_formulas(scenario, prepared),
            assumptions=(
                "The people are invented: x skewed and different in four groups, z normal, and a question about a "
                "number that depends on both.",
                "The attacker uses the best weights (“oracle”), as the theory does. " + READING,
                "Loss gaps are those of squared loss; log loss has the same law with ℓ″/2 = 1/(2p(1 − p)).",
                "Two efficient estimates: one step, and fully minimised, of a mean with a known mean beside it. Bayes: "
                "uniform law of the count, exact mean published, shard.",
                "± is two standard errors.",
            ),
            extra={"checks": tuple(checks)},
            runs=runs,
        )  # fmt: skip

    # ---- charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows of one view."""
        return result.frame[result.frame["panel"].isin(PANELS[view])]

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one of the seven views."""
        return CHARTS[view](result)


def agreement(variances: Mapping[str, float], errors: Mapping[str, float], records: int) -> str:
    """Say which variances over theory agree with 1, and by how many standard errors others miss it.

    Examples
    --------
    >>> agreement({"a": 0.93, "b": 1.01}, {"a": 0.03, "b": 0.03}, 300).split(": ")[1]
    'that of the a is 0.930, 2.3 standard errors below, by chance or because 300 records are few for a limit law. '
    """
    low, high = significant(min(variances.values()), 3), significant(max(variances.values()), 3)
    away = {
        name: (value - 1.0) / errors[name]
        for name, value in variances.items()
        if value > 0 and abs(value - 1.0) > 2 * errors[name]
    }
    if not away:
        wide = significant(2 * max(errors.values()), 1)
        return (
            f"All four statistics have the variance that the theory says, within two standard errors: over theory "
            f"{low} to {high}, each ±\u00a0{wide} at most. "
        )
    told = listed(
        [
            f"that of the {name} is {significant(variances[name], 3)}, {abs(steps):.1f} standard errors "
            f"{'above' if steps > 0 else 'below'}"
            for name, steps in away.items()
        ]
    )
    others = len(variances) - len(away)
    return (
        f"{others} of {len(variances)} statistics have the variance that the theory says, within two standard errors "
        f"of 1 over theory: {told}, by chance or because {whole(records)} records are few for a limit law. "
    )


PROCESS_WORDS = {
    "shard": "nobody twice",
    "iid": "drawn independently",
    "biased": "drawn with a bias towards large x and weighted back",
    "chain": "along a sticky walk",
}


def crowd(people: int) -> dict[str, Any]:
    """Return the invented people: columns x, x2, z, q and the groups."""
    rng = np.random.default_rng([13, people])
    strata = np.sort(np.arange(people) % STRATA)
    x = np.exp(0.5 * rng.standard_normal(people)) - 1.0 + 0.35 * (strata - 1.5)
    z = 0.4 * x + rng.standard_normal(people)
    q = 0.9 * x - 0.5 * z + rng.standard_normal(people)
    return {"x": x, "x2": x.copy(), "z": z, "q": q, "strata": strata}


def process_of(scenario: TheoryBenchScenario, table: dict[str, Any], draws: int) -> pr.Process:
    """Return the process with so many draws."""
    people = table["x"].size
    if scenario.process == "shard":
        return pr.ShardProcess(people, min(draws, people - 1) / people)
    if scenario.process == "iid":
        return pr.IndependentProcess(people, draws)
    if scenario.process == "biased":
        return pr.IndependentProcess(people, draws, pr.law_from_scores(np.exp(0.5 * np.clip(table["x"], -2.0, 3.0))))
    chain = pr.lazy_chain(np.full(STRATA, 1.0 / STRATA), scenario.restart)
    return pr.ChainProcess(people, draws, chain, table["strata"])


def system_of(
    scenario: TheoryBenchScenario, summary: pr.MomentSummary, sigma: FloatArray, process: pr.Process
) -> pr.MomentSystem:
    """Return the attacker's moment conditions; those of one mean where the same one is published twice."""
    if scenario.published == "twice":
        summary, sigma = summary.select(moments=[0]), sigma[:1, :1]
    noisy = bool(np.any(sigma))
    return pr.moment_system(summary, sigma if noisy else None, process.size().multiplier())


def dragged_variances(system: pr.MomentSystem) -> tuple[FloatArray, float]:
    """Return the variance of the answer towards Ω, towards the identity and at best; and the least eigenvalue."""
    best = pr.gmm_covariance(system.slope, system.spread)
    out, lowest = np.empty((3, DRAGS.size)), math.inf
    out[2] = best[0, 0]
    for row, target in enumerate((system.spread, np.eye(len(system.spread)))):
        for place, share in enumerate(DRAGS):
            found = pr.gmm_covariance(system.slope, system.spread, dragged(system, target, float(share)))
            lowest = min(lowest, float(np.linalg.eigvalsh(found - best)[0] / np.abs(found).max()))
            out[row, place] = found[0, 0]
    return out, lowest


def dragged(system: pr.MomentSystem, target: FloatArray, share: float) -> FloatArray:
    """Return the weight on the way from Ω⁻¹ to another matrix, both scaled to trace 1."""
    best = np.linalg.inv(system.spread)
    return np.asarray((1.0 - share) * best / np.trace(best) + share * target / np.trace(target))


def _notes(scenario: TheoryBenchScenario, checks: Sequence[pr.Condition]) -> tuple[Note, ...]:
    rows = "\n".join(
        f"{place}. {_MARKS[line.status]} **{line.name}.** {line.text}" for place, line in enumerate(checks, start=1)
    )
    out = [Note(rows, "info", "Checklist A.7.1")]
    if scenario.process == "shard":
        out.append(
            Note(
                "A shard is not a mixing process: any two of its draws have correlation "
                f"−1/(N − 1) = −{significant(1 / (scenario.people - 1), 2)} at every lag, so it has limit laws of its "
                "own (A.14 to A.16)."
            )
        )
    if scenario.published == "twice":
        out.append(Note("Weights are shown for one of the two equal means: with both, Ω is singular without noise."))
    return tuple(out)


_MARKS = {"holds": "✓", "assumed": "○", "fails": "✗"}


def _formulas(scenario: TheoryBenchScenario, prepared: Prepared) -> tuple[Formula, ...]:
    system, theory, process, lowest = prepared.system, prepared.theory, prepared.process, prepared.lowest
    best = pr.optimal_combination(system.slope, system.spread)
    least = best.T @ system.spread @ best
    rng = np.random.default_rng(0)
    rows, columns = system.slope.shape
    null = np.linalg.svd(system.slope)[0][:, columns:]
    other = best + null @ rng.standard_normal((rows - columns, columns))
    worse = float(np.linalg.eigvalsh(other.T @ system.spread @ other - least)[0])
    cross = float(np.abs(other.T @ system.spread @ best - least).max() / np.abs(least).max())
    at_zero = np.concatenate([[float(theory.means[0]) + 0.01], np.full(rows - 1, 0.02)])
    found = pr.linear_gmm(at_zero, system.slope, np.linalg.inv(system.spread))
    names = [one[0] for one in _KNOWN_VARIANCES]
    block = float(system.query_covariance()[0, 0])
    mine = float(theory.variance_before[0] * (1 - theory.rho_cc[0] ** 2 + theory.c0[0]))
    law = process.probabilities
    weights = process.weights
    both = 1.0 if weights is None or law is None else float(np.sum(law * weights))
    out = [
        Formula(
            "Efficient estimator",
            r"\sqrt n(\hat\theta-\theta_0)\to\mathcal N\big(0,(G^\top\Omega^{-1}G)^{-1}\big)",
            rf"\text{{variance of the answer: }}{block:.6g}=V_q(1-\rho_{{cc}}^2+c_0)"
            + (rf"={mine:.6g}" if scenario.published != "twice" else ""),
            "exact",
            "Thm 3.2, Thm 3.6",
        ),
        Formula(
            "Moments before and after",
            r"f_C=[w(q-p)],\qquad f_{C,A}=[w(q-p);\ wg;\ \tilde\lambda-\lambda]",
            rf"1\ \text{{and}}\ {rows}\ \text{{moments}},\ {columns}\ \text{{parameters}},\ \mathrm{{rank}}\,G="
            rf"{int(np.linalg.matrix_rank(system.slope))},\ \max|\bar g|="
            rf"{float(np.abs(prepared.summary.moment_mean).max(initial=0.0)):.1e}",
            "exact",
            "Eq. (2), A.7.1",
        ),
        Formula(
            "Least variance among all combinations",
            r"A^*=\Omega^{-1}G(G^\top\Omega^{-1}G)^{-1},\quad A^\top\Omega A\succeq A^{*\top}\Omega A^*,\quad "
            r"A^\top\Omega A^*=A^{*\top}\Omega A^*",
            rf"\text{{another }}A:\ \lambda_{{\min}}\text{{ of the difference }}{worse:.1e},\ \text{{identity off by }}"
            rf"{cross:.0e}",
            "exact",
            "A.7.3, Thm 3.4",
        ),
        Formula(
            "Sandwich",
            r"(G^\top WG)^{-1}G^\top W\Omega WG(G^\top WG)^{-1}\succeq(G^\top\Omega^{-1}G)^{-1}",
            rf"\lambda_{{\min}}\text{{ of the difference, over all }}W\text{{ shown: }}{lowest:.1e}",
            "exact",
            "Thm A.24, A.16 (best weight printed as Ω, erratum E20)",
        ),
        Formula(
            "Objective",
            r"\hat\theta=\arg\min_\theta f_n(\theta)^\top W f_n(\theta)",
            rf"\text{{linear moments: }}\hat p={float(found[0]):.6g}",
            "exact",
            "section 3",
        ),
        Formula(
            "Variances divide by N",
            r"\mathrm{Var}(x)=\tfrac1N\sum(x_i-\bar x)^2",
            rf"\mathrm{{Var}}({names[0]})={_KNOWN_VARIANCES[0][1]:g}",
            "exact",
            "A.3",
        ),
        Formula(
            "Weights turn the process into everybody",
            r"w_i=\frac1{p_iN},\qquad E_D[w\,h]=\tfrac1N\sum h_i",
            rf"E_D[w]={both:.6g}",
            "exact",
            "section 3.1",
        ),
        Formula(
            "Curvature",
            r"0\le\ell''\le H:\quad 2\ \text{(squared)},\quad\frac{1-\tau}{\tau^2}+\frac{\tau}{(1-\tau)^2}\le\tau^{-2}"
            r"\ \text{(log)}",
            rf"\tau={TAU:g}:\ {pr.smoothness('log', TAU, 'corrected'):.6g}\ \text{{(printed }}"
            rf"{pr.smoothness('log', TAU):.4g}\text{{); an answer of }}0.01:\ "
            rf"{float(pr.loss_curvature('log', 0.01, TAU)):.5g}",
            "bound",
            "Lem 2.9, Def A.6, A.7, erratum E8",
        ),
        Formula(
            "Delta method",
            r"n\big(\ell(\hat\theta)-\ell(\theta_0)\big)\to\tfrac{\ell''(\theta_0)}2\sigma^2\chi^2_1",
            rf"\tfrac{{\ell''}}2=1,\ \sigma^2={float(theory.variance_before[0]):.4g}",
            "exact",
            "Lem A.18",
        ),
    ]
    if isinstance(process, pr.ChainProcess):
        s = scenario.restart
        values = np.arange(process.chain.states, dtype=np.float64)
        factor = float(process.chain.long_run(values)[0, 0] / process.chain.lag_zero(values)[0, 0])
        out.append(
            Formula(
                "A sticky walk",
                r"\alpha(k)=(1-s)^k\max_A\pi(A)\{1-\pi(A)\},\qquad\text{long-run}=\frac{2-s}{s}\times\text{lag 0}",
                rf"s={s:g}:\ \alpha(1)={float(process.chain.mixing([1])[0]):.4g},\ \frac{{2-s}}s={(2 - s) / s:.4g}="
                rf"{factor:.4g},\ \|\pi T-\pi\|={_drift(process.chain):.0e}",
                "exact",
                "Def A.3, A.5, Thm A.13 (derived)",
            )
        )
    else:
        reason = _refusal()
        out.append(
            Formula(
                "Without replacement" if scenario.process == "shard" else "Independent draws",
                r"\sqrt{\tfrac n{1-n/N}}(\hat\theta-\theta_0)" if scenario.process == "shard" else r"\alpha(k)=0",
                rf"1-n/N={1 - process.draws / process.records:.4g}"
                if scenario.process == "shard"
                else rf"\text{{{reason}}}",
                "exact",
                "A.15, A.16" if scenario.process == "shard" else "Assumption 3.1",
            )
        )
    return tuple(out)


_KNOWN_VARIANCES = ((r"1,\dots,8", float(np.var(np.arange(1.0, 9.0)))),)


def _drift(chain: pr.Chain) -> float:
    return float(np.abs(np.einsum("i,ij->j", chain.stationary, chain.transition) - chain.stationary).max())


def _refusal() -> str:
    """Say how a walk that runs in circles is refused."""
    try:
        pr.make_chain([[0.0, 1.0], [1.0, 0.0]])
    except PrivExplorerError:
        return "a walk that runs in circles is refused"
    return ""


# ---- looks --------------------------------------------------------------------------------------------------


def _part(result: Result, name: str, panel: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    rows = result.series(name, panel)
    x, y, error = (rows[column].to_numpy(dtype=np.float64) for column in ("x", "y", "std_error"))
    return x, y, error


def _line(result: Result, name: str, panel: str, role: Role, label: str | None, hover: str, **more: Any) -> Line:
    x, y, error = _part(result, name, panel)
    return Line(role, x, y, name, label, error if error.any() else None, hover=hover, **more)


def _laws(result: Result) -> Chart:
    panels = []
    for name in PANELS["laws"]:
        x, y, error = _part(result, SIMULATED, name)
        bars = Bars("attacker", x, y, SIMULATED, "simulated", error=2 * error, hover="simulated: {y} ± {e}")
        panels.append(Panel((bars, _line(result, NORMAL, name, "truth", "normal", "normal law: {y}")), title=name))
    return Chart(
        "Standardised statistics over their normal law",
        "density; 1 is one theoretical standard deviation",
        Axis("value over its theoretical deviation", "linear", -4.0, 4.0, symbol="value"),
        Axis("density", "linear", 0.0),
        tuple(panels),
        columns=2,
        height=620,
        names=(SIMULATED, NORMAL),
    )


def _path(result: Result) -> Chart:
    first, second = PANELS["path"]
    marks: list[Mark] = []
    x, y, _ = _part(result, MIXING, first)
    marks.append(Points("attacker", x, y, MIXING, "all sets<br>of groups", hover="α(k) = {y}"))
    if len(result.series(GEOMETRIC, first)):
        marks.append(_line(result, GEOMETRIC, first, "truth", "closed form", "closed form: {y}"))
    moving: list[Mark] = [_line(result, TRUTH, second, "truth", "truth", "truth: {y}")]
    if len(result.series(UNWEIGHTED, second)):
        moving.append(_line(result, UNWEIGHTED, second, "non-private", "unweighted", "unweighted: {y}"))
    moving.append(_line(result, WEIGHTED, second, "private", "weighted", "weighted: {y}", main=True))
    return Chart(
        "How fast a process forgets, and where it settles",
        "mixing by lag; running mean of one path",
        Axis("lag k", "linear", 0.0, symbol="k"),
        Axis("value"),
        (
            Panel(tuple(marks), title=first, x=Axis("lag k", "linear", 0.0, symbol="k"),
                  y=Axis("α(k)", "linear", 0.0, 0.25)),
            Panel(tuple(moving), title=second, x=Axis("records seen", "log", symbol="records"), y=Axis("mean of x")),
        ),
        columns=2,
        shared_y=False,
    )  # fmt: skip


def _uniform(result: Result) -> Chart:
    panel = PANELS["uniform"][0]
    x, y, error = _part(result, UNIFORM, panel)
    return Chart(
        "Largest error of a sample mean over θ",
        "mean of |x − θ|, worst of nine θ, log scale",
        Axis("sample size n", "log", symbol="n"),
        Axis("largest error", "log"),
        (
            Panel(
                (
                    _line(result, ROOT, panel, "truth", "slope −½", "slope −½: {y}"),
                    Points("attacker", x, y, UNIFORM, None, y - 2 * error, y + 2 * error, hover="{y} ± {e}"),
                )
            ),
        ),
    )


def _weights(result: Result) -> Chart:
    panel, scenario = PANELS["weights"][0], result.scenario
    assert isinstance(scenario, TheoryBenchScenario)  # noqa: S101
    return Chart(
        "Variance of the answer as the weight is dragged",
        "n times the variance; 0 is the best weight Ω⁻¹",
        Axis("dragged away from Ω⁻¹", "linear", 0.0, 1.0, symbol="dragged"),
        Axis("variance", "linear"),
        (
            Panel(
                (
                    _line(result, TO_OMEGA, panel, "attacker", "towards Ω,<br>as printed", "towards Ω: {y}", main=True),
                    _line(result, TO_IDENTITY, panel, "non-private", "towards I", "towards I: {y}"),
                    _line(result, BEST, panel, "lower bound", "efficient", "efficient: {y}"),
                ),
                here=(scenario.drag, "your weight"),
            ),
        ),
    )


def _second(result: Result) -> Chart:
    first, second = PANELS["second"]
    x, y, error = _part(result, TWO, second)
    points: list[Mark] = [
        Points("attacker", x, y, TWO, "two efficient<br>estimates", y - 2 * error, y + 2 * error, hover="{y} ± {e}")
    ]
    points.append(_line(result, BAYES, second, "private", "Bayes and<br>efficient", "Bayes and efficient: {y}"))
    return Chart(
        "What is left after the first order",
        "both fade faster than 1/n",
        Axis("value", "linear"),
        Axis("share"),
        (
            Panel(
                (
                    _line(result, CHI, first, "truth", "χ², one<br>degree", "χ²: {y}"),
                    _line(result, GAP, first, "attacker", "simulated", "simulated: {y} ± {e}", main=True),
                ),
                title=first,
                x=Axis("n × loss gap, over its scale", "linear", symbol="value"),
                y=Axis("share below", "linear", 0.0, 1.0),
            ),
            Panel(
                tuple(points),
                title=second,
                x=Axis("sample size n", "log", 40.0, 1_000.0, symbol="n"),
                y=Axis("n × difference", "log"),
            ),
        ),
        columns=2,
        shared_y=False,
    )


def _losses(result: Result) -> Chart:
    panel = PANELS["losses"][0]
    return Chart(
        "Curvature of the attacker's loss",
        "truth 0.1, τ = 0.1, log scale",
        Axis("answer", "linear", 0.0, 1.0, symbol="answer"),
        Axis("curvature", "log"),
        (
            Panel(
                (
                    _line(result, PRINTED_H, panel, "upper bound", "1/τ², printed", "printed H: {y}"),
                    _line(result, SHARP_H, panel, "upper bound", "sharp H", "sharp H: {y}", dash="9px,4px"),
                    _line(result, LOG, panel, "attacker", "log loss", "log loss: {y}", main=True),
                    _line(result, SQUARED, panel, "private", "squared loss", "squared loss: {y}"),
                ),
                here=(TAU, "τ: answers below are clipped"),
            ),
        ),
    )


def _checklist(result: Result) -> Chart:
    panel = PANELS["checklist"][0]
    looks: tuple[tuple[str, Role, str], ...] = (
        (HOLDS, "lower bound", "holds"), (ASSUMED, "truth", "assumed"), (FAILS, "attacker", "fails"),
    )  # fmt: skip
    marks = []
    for name, role, words in looks:
        rows = result.series(name, panel)
        if len(rows):
            marks.append(
                Points(role, rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64), name,
                       text=[SHORT[int(x) - 1] for x in rows["x"]], hover=words, open=name == ASSUMED, size=13)
            )  # fmt: skip
    return Chart(
        "Conditions of the theory",
        "checked on these people, or assumed",
        Axis("line of the checklist", "linear", 0.5, 10.5, symbol="line"),
        Axis("status", "linear", -0.3, 2.5),
        (Panel(tuple(marks), level_lines=((2.0, "holds"), (1.0, "assumed"), (0.0, "fails"))),),
    )


CHARTS = {
    "laws": _laws,
    "path": _path,
    "uniform": _uniform,
    "weights": _weights,
    "second": _second,
    "losses": _losses,
    "checklist": _checklist,
}

__all__ = ["TheoryBench", "TheoryBenchScenario"]
