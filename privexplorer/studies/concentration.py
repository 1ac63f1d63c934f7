"""Low sensitivity does two things: answers concentrate, and privacy is cheap (properties §2; Sec 4.1.1, Lem 25)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteDistribution, DiscreteLaw, Uniform, Zipf
from privexplorer.errors import ParameterError
from privexplorer.properties import (
    START_FAILURE,
    EntropyEstimator,
    PlugIn,
    Polynomial,
    boosting_blocks,
    coin_sample_size,
    mcdiarmid_tail,
    sensitivity_sample_size,
)
from privexplorer.records import Accuracy, Epsilon, Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng
from privexplorer.studies import _entropy as core
from privexplorer.studies._notes import rows_of, table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import significant, whole, with_unit

REACH = np.linspace(0.0, 2.0, 81)
"""Deviations of the first view, in units of √n times the sensitivity."""
KS = np.array([10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000])
EPSILONS = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0])
FAILURES = np.array([1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 1 / 3])
MOST = 10**17
"""Sample sizes beyond this are not counted."""
THIRD = 1 / 3
"""Failure probability of one block without noise; with it, Lemma 25 has 1/3 + e^-2, 0.469."""


class ConcentrationScenario(Scenario):
    """One sample size, its deviations, and what privacy adds."""

    distribution: DiscreteDistribution = field(
        Zipf(k=100, exponent=1.0),
        "Distribution",
        "What the records look like before anybody is protected.",
        key="dist",
        group="Data",
        discriminator="kind",
    )
    n: Annotated[int, Number] = field(
        500,
        "Sample size n, people",
        "How many records the sample has; public and fixed.",
        key="n",
        group="Data",
        scale="log",
        low=20,
        high=10_000,
        ge=2,
        le=1_000_000,
    )
    epsilon: Epsilon = 1.0
    estimator: EntropyEstimator = field(
        PlugIn(),
        "Entropy estimator",
        "Its sensitivity sets the bound on deviations and the noise.",
        key="est",
        group="Method",
        discriminator="kind",
    )
    accuracy: Accuracy = field(
        0.1,
        "Target accuracy α",
        "For “A coin as yardstick”: the error that the answer may have.",
        group="Goal",
        low=0.01,
    )
    failure: Annotated[float, Number] = field(
        0.05,
        "Failure probability β",
        "For “Median of blocks”: how often the answer may be off by more than α.",
        key="failure",
        group="Goal",
        scale="log",
        low=0.0001,
        high=0.3,
        ge=1e-6,
        le=0.33,
    )
    trials: Trials = 4_000
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share: the estimator's table, and both exact means."""

    law: DiscreteLaw
    n: int
    seed: int
    block_trials: int
    table: FloatArray
    constant: float
    sensitivity: float
    mean: float
    distance: float


def mean_distance(law: DiscreteLaw, n: int) -> float:
    """Return the exact mean of ``sum_x |N_x/n - p_x|`` by de Moivre's formula (distribution_estimation §3)."""
    chances, sizes = law.groups
    used = (chances > 0) & (chances < 1)
    p, size = chances[used], sizes[used]
    v = np.floor(n * p) + 1
    logs = special.gammaln(n + 1.0) - special.gammaln(v + 1) - special.gammaln(n - v + 1)
    logs += special.xlogy(v, p) + special.xlog1py(n - v + 1, -p)
    return float((size * 2 * v / n * np.exp(logs)).sum())


def records_for(estimator: Any, k: int, limit: float) -> int:
    """Return the smallest ``n`` from which on the sensitivity is at most ``limit`` (Lemma 25's ``D``)."""

    def at(n: int) -> float:
        return float(estimator.sensitivity(n, k))

    falling_from = estimator.falling_from(k)
    largest = max(falling_from, math.ceil(4 / limit))
    while at(largest) > limit:
        if largest > MOST:
            raise ParameterError(
                f"With this tuning even 10¹⁷ records do not bring the sensitivity down to {limit:.3g}; take a lower "
                "degree, a smaller largest count, or accept a larger error.",
                field="estimator",
            )
        largest *= 2
    return sensitivity_sample_size(at, limit, largest, falling_from)


class Concentration(Study[ConcentrationScenario]):
    """Deviations under McDiarmid's bound, and what privacy costs an entropy, a coin and a whole distribution."""

    id: ClassVar[str] = "concentration"
    question: ClassVar[str] = "What does a low sensitivity buy?"
    lead: ClassVar[str] = (
        "If one record moves the answer little, samples agree with one another, and little noise protects each record."
    )
    tab: ClassVar[str] = "Concentration"
    card: ClassVar[str] = "How far an answer strays, what privacy adds to it, and how often to repeat."
    link: ClassVar[str] = "See what it buys"
    theme: ClassVar[str] = "price"
    picture: ClassVar[str] = "strays"
    scenario: ClassVar[type[Scenario]] = ConcentrationScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "accuracy", "failure", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "tail": "Deviations",
        "symbols": "Privacy by k",
        "coin": "A coin as yardstick",
        "median": "Median of blocks",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-McD", "T-McD-counter", "T-CoinRef", "T-Median", "T-Lem25")

    def presets(self) -> tuple[Preset[ConcentrationScenario], ...]:
        """Finished examples."""
        make = ConcentrationScenario
        return (
            Preset("A few frequent symbols", make()),
            Preset("All symbols equal", make(distribution=Uniform(k=100))),
            Preset("Polynomial estimator", make(distribution=Zipf(k=1000, exponent=1.0), estimator=Polynomial())),
            Preset("Strong privacy", make(epsilon=0.05, accuracy=0.05, failure=0.01)),
        )

    def size(self, scenario: ConcentrationScenario) -> int:
        """Trials per block."""
        k = core.assumed_k(scenario.distribution)
        return int(max(1, min(500, 800_000 // (k + min(scenario.n, 4 * k)))))

    def blocks(self, scenario: ConcentrationScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: ConcentrationScenario, tables: Tables | None) -> Prepared:
        """Compute the table, its sensitivity and the exact means."""
        law, n = scenario.distribution.law(tables), scenario.n
        table = scenario.estimator.table(n, law.k, private=True)
        return Prepared(
            law,
            n,
            scenario.seed,
            self.size(scenario),
            np.asarray(table.values),
            table.constant,
            scenario.estimator.sensitivity(n, law.k),
            table.mean(law),
            mean_distance(law, n),
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Return entropy estimates and distances to the truth, ``(trials, 2, 1)``."""
        counts = prepared.law.sample_counts(prepared.n, prepared.block_trials, block_rng(prepared.seed, block))
        out = np.empty((prepared.block_trials, 2, 1))
        out[:, 0, 0] = prepared.table[counts].sum(axis=1) + prepared.constant
        out[:, 1, 0] = np.abs(counts / prepared.n - prepared.law.probabilities).sum(axis=1)
        return out

    def assemble(self, scenario: ConcentrationScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Measure the tails and add the closed forms."""
        blocks = stacked(parts, scenario.trials)[:, :, 0]
        off = np.abs(blocks - np.array([prepared.mean, prepared.distance]))
        frame = pd.concat(
            [
                tail_rows(prepared, off).assign(panel=self.views["tail"]),
                *(
                    part.assign(panel=f"{self.views['symbols']}: {name}")
                    for name, part in symbol_rows(scenario).items()
                ),
                coin_rows(scenario, prepared.law.k).assign(panel=self.views["coin"]),
                median_rows().assign(panel=self.views["median"]),
            ],
            ignore_index=True,
        )
        return self.told(scenario, prepared, frame, off)

    def told(self, scenario: ConcentrationScenario, prepared: Prepared, frame: pd.DataFrame, off: FloatArray) -> Result:
        """Add cards, words and formulas."""
        n, k, epsilon, accuracy = scenario.n, prepared.law.k, scenario.epsilon, scenario.accuracy
        delta = prepared.sensitivity
        usual = float(np.quantile(off[:, 0], 0.95))
        half = half_width(n, delta)
        added = 2 * k / (n * epsilon)
        coin = coin_sample_size(accuracy, epsilon)
        exact = boosting_blocks(scenario.failure)
        formula = boosting_blocks(scenario.failure, exact=False)
        needed = records_for(scenario.estimator, k, accuracy * epsilon / 4)
        cards = (
            Card(
                "19 of 20 samples",
                f"± {with_unit(significant(usual, 2), 'nats')}",
                f"bound: ± {significant(half, 2)}"[:18],
                f"Distance from the mean estimate at n = {n:,}; simulated, against McDiarmid's bound.",
            ),
            Card(
                "Noise, one entropy",
                with_unit(significant(delta / epsilon, 2), "nats"),
                "mean size",
                f"Mean size of Laplace noise at ε = {epsilon:g}: Δ/ε.",
            ),
            Card(
                "Noise, all shares",
                significant(added, 2),
                f"ℓ1, k = {k:,}"[:18],
                "Mean ℓ1 distance that Laplace noise on each of the k shares adds, 2k/(n ε), before any repair.",
            ),
            Card(
                f"Blocks for β = {scenario.failure:.3g}",
                whole(exact),
                f"formula: {formula:,}"[:18],
                "Independent blocks whose median fails this rarely, if each fails with probability 1/3; exact count.",
            ),
        )
        beyond = " before repair (no two distributions are more than 2 apart)" if added > 2 else ""
        shows = (
            f"With **{n:,} people** 19 of 20 samples give an entropy within "
            f"**{with_unit(significant(usual, 2), 'nats')}** of "
            f"the mean; McDiarmid's bound, which knows only the sensitivity, says {significant(half, 2)}. The "
            "distance of all "
            f"{k:,} shares from the truth concentrates just as well, but privacy at ε = {epsilon:g} then adds "
            f"**{significant(added, 2)}**{beyond}, in proportion to k, against "
            f"{with_unit(significant(delta / epsilon, 2), 'nats')} for "
            f"the entropy. A coin with accuracy {accuracy:g} needs about {whole(coin)} people; privacy alone asks for "
            f"{needed:,} or more for this entropy (Lemma 25's count). Constants of the coin's rule are set to one."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Chance that an entropy estimate from {n:,} records strays from its mean, simulated and bounded. 19 "
                "of 20 "
                f"samples stay within {significant(usual, 2)} nats; the bound allows {significant(half, 2)}."
            ),
            notes=self.notes(scenario, prepared),
            formulas=(
                Formula(
                    "Deviation",
                    r"\Pr\bigl(|\hat f-E\hat f|\ge z\bigr)\le2\,e^{-2z^2/(n\Delta^2)}",
                    rf"n = {n:,},\ \Delta = {delta:.4g}:\quad z = {half:.3g}\ \text{{at 5\%}}",
                    "bound",
                    "properties §2, Sec 4.1.1 (McDiarmid)",
                ),
                Formula(
                    "Noise on a whole distribution",
                    r"E\sum_{x\le k}|\mathrm{Lap}(2/(n\varepsilon))|=\frac{2k}{n\varepsilon}",
                    rf"k = {k:,}:\quad {added:.4g}",
                    "exact",
                    "distribution_estimation §3",
                ),
                Formula(
                    "A coin",
                    r"\frac1{\alpha^2}+\frac1{\alpha\varepsilon}",
                    rf"\alpha = {accuracy:g},\ \varepsilon = {epsilon:g}:\quad {1 / accuracy**2:.4g} + "
                    rf"{1 / (accuracy * epsilon):.4g} = {coin:.4g}",
                    "shape only",
                    "properties §2, Sec 4.1.1",
                ),
                Formula(
                    "Cost of privacy",
                    r"S(\alpha,\varepsilon)\le S(\hat f,\alpha/2)+\min\{n:\Delta_j\le\alpha\varepsilon/4\ "
                    r"\forall j\ge n\},\qquad\tfrac13+e^{-2}\approx0.469<\tfrac12",
                    rf"\min\{{n:\Delta_j\le{accuracy * epsilon / 4:.3g}\ \forall j\ge n\}} = {needed:,}",
                    "bound",
                    "Lem 25 (up to the blocks of the next formula)",
                ),
                Formula(
                    "Median of blocks",
                    r"\Pr\bigl(\mathrm{Bin}(B,\tfrac13)>B/2\bigr)\le\beta,\qquad"
                    r"\text{by formula: }B=\lceil18\ln(1/\beta)\rceil",
                    rf"\beta = {scenario.failure:.3g}:\quad B = {exact},\ \text{{by formula }}{formula};\qquad"
                    rf"0.469\to\tfrac13:\ {boosting_blocks(THIRD, START_FAILURE)},\ \text{{by formula }}"
                    rf"{boosting_blocks(THIRD, START_FAILURE, exact=False)}",
                    "exact",
                    "properties §0, §2 (derived); Sec 4.2",
                ),
            ),
            assumptions=(
                "Neighbours are two samples of the same size n that differ in one record; n and k are public. "
                "(properties §0, Def. 1)",
                "Deviations are from the estimate's exact mean, not from the true entropy: a bias does not "
                "concentrate away.",
                "One record moves the ℓ1 distance between shares and truth by at most 2/n, whatever k is. Noise on "
                "the shares "
                "is Laplace of scale 2/(n ε) on every symbol, before projection onto the probabilities. "
                "(distribution_estimation §3)",
                "Lemma 25's count has Δ ≤ αε/4 for this n and all larger ones (with few records the sensitivity can "
                "rise with n); for the coin, counted alike, that is 4/(αε).",
                "Each block of the median is a data set of its own, so the people needed multiply with the blocks; "
                "each block is "
                "private by itself. (properties §0)",
            ),
            extra={"usual": usual, "half": half, "needed": needed},
            runs=int(off.shape[0]),
        )

    def notes(self, scenario: ConcentrationScenario, prepared: Prepared) -> tuple[Note, ...]:
        """Say what a reader must know about the choices."""
        out = list(table_notes(scenario.distribution))
        if prepared.sensitivity == 0:
            out.append(
                Note("With one symbol no record can move the estimate: there is nothing to bound or to protect.")
            )
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        return rows_of(result.frame, self.views[view])

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one of the four views."""
        make = {"symbols": self.symbols_chart, "coin": self.coin_chart, "median": self.median_chart}
        return make.get(view, self.tail_chart)(result)

    def tail_chart(self, result: Result) -> Chart:
        """Describe the tails under their common bound."""
        panel = self.views["tail"]
        return Chart(
            "Chance to be this far from the mean",
            f"log scale; simulated with {result.runs:,} samples",
            Axis("distance from the mean ÷ (√n · sensitivity)", "linear", 0.0, 2.0, symbol="distance"),
            Axis("chance", "log", 10.0 ** math.floor(math.log10(0.5 / max(result.runs, 1))), 1.0),
            (
                Panel(
                    (
                        line(result, panel, "McDiarmid's bound", "upper bound", "bound for<br>both", "at most {y}"),
                        line(
                            result, panel, "all shares", "data", "all shares,<br>ℓ1 distance", "all shares: {y} ± {e}"
                        ),
                        line(
                            result,
                            panel,
                            "entropy",
                            "non-private",
                            "entropy",
                            "entropy: {y} ± {e}",
                            main=True,
                            dash="solid",
                        ),
                    )
                ),
            ),
        )

    def symbols_chart(self, result: Result) -> Chart:
        """Describe noise and deviations by the number of symbols, for an entropy and for all shares."""
        scenario: Any = result.scenario
        panels = []
        for name, title in (("entropy", "One entropy, in nats"), ("all shares", "All shares, ℓ1 distance")):
            panel = f"{self.views['symbols']}: {name}"
            panels.append(
                Panel(
                    (
                        line(
                            result, panel, "deviation bound", "upper bound", "deviation,<br>19 of 20", "deviation: {y}"
                        ),
                        line(result, panel, "privacy noise", "private", "noise", "noise: {y}", main=True, markers=True),
                    ),
                    title=title,
                )
            )
        return Chart(
            "What privacy adds, by number of symbols",
            f"n = {scenario.n:,}, ε = {scenario.epsilon:g}; mean noise, log scale",
            Axis("number of symbols k", "log", symbol="k"),
            Axis("size", "log"),
            tuple(panels),
            columns=2,
        )

    def coin_chart(self, result: Result) -> Chart:
        """Describe how many people privacy asks for, a coin beside the entropy."""
        scenario: Any = result.scenario
        panel = self.views["coin"]
        return Chart(
            "People needed",
            f"for accuracy α = {scenario.accuracy:g}, log scale",
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε"),
            Axis("people", "log"),
            (
                Panel(
                    (
                        line(result, panel, "a coin", "truth", "a coin, all", "a coin, sampling and privacy: {y}"),
                        line(
                            result, panel, "a coin, privacy", "data", "a coin,<br>privacy", "a coin, privacy alone: {y}"
                        ),
                        line(
                            result,
                            panel,
                            "entropy, privacy",
                            "private",
                            "entropy,<br>privacy",
                            "entropy, privacy alone: {y}",
                            main=True,
                            markers=True,
                        ),
                    ),
                    here=(scenario.epsilon, f"your ε = {scenario.epsilon:g}"),
                ),
            ),
        )

    def median_chart(self, result: Result) -> Chart:
        """Describe how many blocks the median needs, exactly and by formula."""
        scenario: Any = result.scenario
        panel = self.views["median"]
        return Chart(
            "Blocks whose median is right",
            "independent data sets needed, log scale",
            Axis("failure probability β", "log", symbol="β"),
            Axis("blocks", "log"),
            (
                Panel(
                    (
                        line(
                            result,
                            panel,
                            "noisy block, formula",
                            "upper bound",
                            "with noise,<br>formula",
                            "by formula: {y}",
                        ),
                        line(
                            result, panel, "noisy block", "private", "with noise,<br>exact", "exact: {y}", markers=True
                        ),
                        line(result, panel, "formula", "upper bound", "formula", "18 ln(1/β): {y}"),
                        line(result, panel, "exact", "non-private", "exact", "exact: {y}", main=True, markers=True),
                    ),
                    here=(scenario.failure, f"your β = {scenario.failure:.3g}"),
                ),
            ),
        )


def line(result: Result, panel: str, name: str, role: Any, label: str, hover: str, **more: Any) -> Line:
    """Describe one curve of the frame."""
    rows = result.series(name, panel)
    return Line(
        role,
        rows["x"].to_numpy(dtype=np.float64),
        rows["y"].to_numpy(),
        name,
        label,
        rows["std_error"].to_numpy(),
        hover=hover,
        **more,
    )


def half_width(n: int, sensitivity: float, chance: float = 0.05) -> float:
    """Return the deviation that McDiarmid's bound allows with this chance: ``Δ sqrt(n ln(2/chance)/2)``."""
    return sensitivity * math.sqrt(n * math.log(2 / chance) / 2)


def tail_rows(prepared: Prepared, off: FloatArray) -> pd.DataFrame:
    """Share of samples at least so far from the mean, for the entropy and for all shares, and the bound."""
    n, runs = prepared.n, off.shape[0]
    rows: list[tuple[str, Any, Any, Any]] = []
    for place, (name, delta) in enumerate((("entropy", prepared.sensitivity), ("all shares", 2 / n))):
        unit = math.sqrt(n) * delta if delta > 0 else 1.0
        share = (off[:, place][:, None] >= REACH * unit).mean(axis=0)
        rows.append((name, REACH, share, np.sqrt(share * (1 - share) / runs)))
    bound = [mcdiarmid_tail(float(u), 1, 1.0) for u in REACH]
    rows.append(("McDiarmid's bound", REACH, bound, 0.0))
    return tidy(rows)


def symbol_rows(scenario: ConcentrationScenario) -> dict[str, pd.DataFrame]:
    """Mean noise and deviation bound by the number of symbols."""
    n, epsilon = scenario.n, scenario.epsilon
    delta = np.array([scenario.estimator.sensitivity(n, int(k)) for k in KS])
    return {
        "entropy": tidy(
            [
                ("deviation bound", KS, [half_width(n, float(each)) for each in delta], 0.0),
                ("privacy noise", KS, delta / epsilon, 0.0),
            ]
        ),
        "all shares": tidy(
            [
                ("deviation bound", KS, np.full(KS.size, half_width(n, 2 / n)), 0.0),
                ("privacy noise", KS, 2 * KS / (n * epsilon), 0.0),
            ]
        ),
    }


def coin_rows(scenario: ConcentrationScenario, k: int) -> pd.DataFrame:
    """People needed by ε: the coin, and the records at which noise of scale α/4 is enough."""
    grid = np.union1d(EPSILONS, [scenario.epsilon])
    accuracy = scenario.accuracy
    return tidy(
        [
            ("a coin", grid, [coin_sample_size(accuracy, float(each)) for each in grid], 0.0),
            ("a coin, privacy", grid, np.ceil(4 / (accuracy * grid)), 0.0),
            (
                "entropy, privacy",
                grid,
                [records_for(scenario.estimator, k, accuracy * float(each) / 4) for each in grid],
                0.0,
            ),
        ]
    )


@cache
def median_rows() -> pd.DataFrame:
    """Blocks by failure probability, from 1/3 and from 0.469, exactly and by formula."""
    rows: list[tuple[str, Any, Any, Any]] = []
    for name, start in (("", THIRD), ("noisy block", START_FAILURE)):
        for exact in (True, False):
            words = f"{name}, formula" if name and not exact else name or ("exact" if exact else "formula")
            rows.append((words, FAILURES, [boosting_blocks(float(each), start, exact) for each in FAILURES], 0.0))
    return tidy(rows)
