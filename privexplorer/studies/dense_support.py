"""How many records until no value is missed: the dense support estimator (properties §6; Sec 4.4.2.1, E11)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteLaw, Uniform, nested_fingerprints
from privexplorer.privacy import LaplaceNoise
from privexplorer.properties import DenseSupport, dense_recovery_size, rare_count_tail
from privexplorer.records import Epsilon, Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng, mean_and_error
from privexplorer.studies._notes import stated
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, significant, whole

ESTIMATE, FOUND, DRAWS = range(3)
"""Series of a block: the estimate, the values seen often enough, and the draws until all are seen."""
DENSE = DenseSupport()
CENTRES = np.linspace(-2.5, 7.5, 41)
"""Where the chance to have seen all is shown: after ``k (ln k + c)`` draws."""
EULER = 0.5772156649015329
PANELS = {"error": "chance of a large error", "tail": "chance that a value is rare", "coupon": "all seen"}


class DenseScenario(Scenario):
    """So many values, all as rare as allowed."""

    k: Annotated[int, Number] = field(
        50,
        "Number of values k",
        "Public: no value has a share below 1/k. Here all k occur and are equally rare, the hardest case.",
        key="k",
        group="Data",
        scale="log",
        low=5,
        high=2_000,
        ge=2,
        le=10_000,
    )
    epsilon: Epsilon = 0.1
    accuracy: Annotated[float, Number] = field(
        0.1,
        "Error α that you accept, as a share of k",
        "Also the chance with which it may be exceeded.",
        key="accuracy",
        group="Goal",
        scale="log",
        low=0.01,
        high=0.4,
        ge=1e-6,
        lt=0.5,
    )
    trials: Trials = 400
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    law: DiscreteLaw
    k: int
    ns: IntArray
    seed: int
    block_trials: int


def exact_tail(n: int, k: int) -> float:
    """Return ``Pr(N < n/(3k))`` for a binomial count of n records with chance 1/k."""
    return float(special.bdtr((n - 1) // (3 * k), n, 1.0 / k))


def printed_chance(k: int, accuracy: float) -> float:
    """Return the source's bound ``1/(4.5 α k)``, which its argument does not give (E11)."""
    return 1.0 / (4.5 * accuracy * k)


def corrected_chance(n: float, k: int, accuracy: float) -> float:
    """Return ``e^(-2n/(9k))/α``, at most 1: the chance that α k values or more are seen too rarely (E11, derived).

    Each value is missed with at most the tail's chance, so k times it are missed on average, and Markov's
    inequality does the rest. At ``n = 9 k ln(1/α)`` it equals α.
    """
    return min(1.0, math.exp(-2.0 * n / (9.0 * k)) / accuracy)


def harmonic(k: int) -> float:
    """Return ``k (1 + 1/2 + ... + 1/k)``: the draws until all k equally likely values are seen, on average."""
    return k * math.fsum(1.0 / i for i in range(1, k + 1))


class DenseSupportStudy(Study[DenseScenario]):
    """The clipped-count estimator: tails, error probability and the coupon collector."""

    id: ClassVar[str] = "dense-support"
    question: ClassVar[str] = "How many people until no value is missed?"
    lead: ClassVar[str] = (
        "If no value is rarer than 1 in k, a long enough sample shows each of them often, and a private count of the "
        "values is nearly exact."
    )
    tab: ClassVar[str] = "Dense support"
    card: ClassVar[str] = "Sample sizes that let a private count of all values be right, with the chances behind them."
    link: ClassVar[str] = "Count every value"
    theme: ClassVar[str] = "plan"
    picture: ClassVar[str] = "grid"
    scenario: ClassVar[type[Scenario]] = DenseScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "error": "Chance of a large error",
        "tail": "One rare value",
        "coupon": "Until all are seen",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-SuppDense", "T-Chern", "T-DenseY", "T-Coupon")

    def presets(self) -> tuple[Preset[DenseScenario], ...]:
        """Finished examples."""
        make = DenseScenario
        return (
            Preset("Fifty values", make()),
            Preset("A sharp count", make(accuracy=0.02, epsilon=0.5)),
            Preset("Five answers of a questionnaire", make(k=5, accuracy=0.2, epsilon=0.1)),
            Preset("A thousand values", make(k=1_000, epsilon=0.01)),
        )

    def sizes(self, scenario: DenseScenario) -> IntArray:
        """Sample sizes: from k on, past what theory asks for, and that size itself."""
        k = scenario.k
        last = max(enough(scenario), everything(k), 2 * k)
        grid = np.rint(np.geomspace(k, 1.2 * last, 16)).astype(np.int64)
        return np.unique(np.append(grid, [enough(scenario), max(2, everything(k))]))

    def size(self, scenario: DenseScenario) -> int:
        """Trials per block: a matter of the question alone."""
        return int(min(64, max(1, 300_000 // (scenario.k * 18))))

    def blocks(self, scenario: DenseScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: DenseScenario, tables: Tables | None) -> Prepared:
        """Choose the sample sizes."""
        law = Uniform(k=scenario.k).law()
        return Prepared(law, scenario.k, self.sizes(scenario), scenario.seed, self.size(scenario))

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw nested samples and, apart from them, draws until all values are seen; ``(trials, 3, points)``."""
        rng, k = block_rng(prepared.seed, block), prepared.k
        prints = nested_fingerprints(prepared.law, prepared.ns, prepared.block_trials, rng)
        out = np.empty((prepared.block_trials, 3, prepared.ns.size))
        estimates = [(lambda counts, n=int(n): DENSE.values(counts, n, k)) for n in prepared.ns]
        often = [(lambda counts, n=int(n): (3 * k * counts >= n).astype(np.float64)) for n in prepared.ns]
        out[:, ESTIMATE, :] = prints.totals(estimates).T
        out[:, FOUND, :] = prints.totals(often).T
        # the wait for the next new value is geometric, with the share of the values still unseen
        waits = rng.geometric(np.arange(1, k + 1) / k, size=(prepared.block_trials, k))
        out[:, DRAWS, :] = waits.sum(axis=1)[:, None]
        return out

    def assemble(self, scenario: DenseScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put chances, bounds and words together."""
        blocks = stacked(parts, scenario.trials)
        k, ns, accuracy = prepared.k, prepared.ns, scenario.accuracy
        limit = accuracy * k - 1e-9  # a whole number of values, reached
        noise = [LaplaceNoise(DENSE.sensitivity(int(n), k) / scenario.epsilon) for n in ns]
        off = blocks[:, ESTIMATE, :] - k
        missed, missed_error = mean_and_error((off <= -limit).astype(np.float64))
        rare, rare_error = mean_and_error((k - blocks[:, FOUND, :] >= limit).astype(np.float64))
        too_far = np.stack(
            [n.survival(limit - off[:, p]) + n.cdf(-limit - off[:, p]) for p, n in enumerate(noise)], axis=1
        )
        private, private_error = mean_and_error(too_far)
        bound = np.array([corrected_chance(float(n), k, accuracy) for n in ns])
        draws = blocks[:, DRAWS, 0]
        after = k * (math.log(k) + CENTRES)
        after = after[after > 0]
        share, share_error = mean_and_error((draws[:, None] <= after[None, :]).astype(np.float64))
        frame = pd.concat(
            [
                tidy(
                    [
                        ("bound", ns, bound, 0.0),
                        ("private", ns, private, private_error),
                        ("values seen too rarely", ns, rare, rare_error),
                        ("without privacy", ns, missed, missed_error),
                    ],
                    panel=PANELS["error"],
                ),
                tidy(
                    [
                        ("bound e^(−2n/(9k))", ns, [rare_count_tail(int(n), k) for n in ns], 0.0),
                        ("exact", ns, [exact_tail(int(n), k) for n in ns], 0.0),
                    ],
                    panel=PANELS["tail"],
                ),
                tidy(
                    [
                        ("all seen, simulated", after, share, share_error),
                        ("limit for large k", after, np.exp(-np.exp(math.log(k) - after / k)), 0.0),
                    ],
                    panel=PANELS["coupon"],
                ),
            ],
            ignore_index=True,
        )
        at = int(np.searchsorted(ns, enough(scenario)))
        wait, wait_error = (float(v) for v in mean_and_error(draws))
        chances = {
            "private": (float(private[at]), float(private_error[at])),
            "missed": (float(missed[at]), float(missed_error[at])),
            "rare": (float(rare[at]), float(rare_error[at])),
        }
        return self.told(scenario, prepared, frame, chances, (wait, wait_error), int(blocks.shape[0]))

    def told(
        self,
        scenario: DenseScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        chances: Mapping[str, tuple[float, float]],
        wait: tuple[float, float],
        runs: int,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        k, accuracy, epsilon = prepared.k, scenario.accuracy, scenario.epsilon
        n, all_of = enough(scenario), everything(k)
        expected, few = harmonic(k), values_of(accuracy * k)
        value, around = stated(wait[0], 2 * wait[1])
        cards = (
            Card(
                missed_from(accuracy * k),
                f"n = {whole(n)}",
                "before the noise",
                f"Fewer than {few} uncounted, with chance 1 − α: theorem, 9 k ln(1/α), its argument corrected (E11)."
                if accuracy * k >= 1
                else "Every value counts in full: theorem, 18 k ln k.",
            ),
            Card(
                "Exact from",
                f"n = {whole(all_of)}",
                "chance ≥ 1 − k⁻³",
                "Before the noise every value counts in full: theorem, 18 k ln k.",
            ),
            Card(
                f"Off by {number(accuracy * k)} or more",
                chance(*chances["private"], runs)[0],
                f"private, ε = {epsilon:g}"[:18],
                f"Chance that a private answer is off by α k = {few} or more at n = {whole(n)}: "
                f"{' '.join(chance(*chances['private'], runs))}. ± is two standard errors.",
            ),
            Card(
                "Draws to see all",
                significant(expected),
                f"simulated {value}"[:18],
                f"k (1 + 1/2 + … + 1/k), exact; simulated {value} {around}.",
            ),
        )
        rare, doubt = chance(*chances["rare"], runs)
        shows = (
            f"With **{k:,} values**, each with a share of 1 in {k:,}, **n = {whole(n)} records** leave {few} or "
            f"more uncounted with a chance of at most {percent(accuracy)}; in the simulation it was {rare}"
            f"{' (' + doubt + ')' if doubt else ''}: the condition is sufficient, not necessary. With the noise for "
            f"**ε = {epsilon:g}**, an answer is off by that much with chance "
            f"**{chance(*chances['private'], runs)[0]}**. Seeing each value once takes only {significant(expected)} "
            f"draws on average, about k (ln k + 0.577) = {significant(k * (math.log(k) + EULER))}."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=shows,
            takeaway=(
                f"Chance that a count of {k:,} equally rare values is off by {few} or more, against the "
                f"sample size. At n = {whole(n)} theory allows {percent(accuracy)}; without noise it was "
                f"{chance(*chances['missed'], runs)[0]}, with noise {chance(*chances['private'], runs)[0]}."
            ),
            notes=self.notes(scenario),
            formulas=self.formulas(scenario, n, all_of, expected),
            assumptions=ASSUMPTIONS,
            extra={"prepared": prepared},
            runs=runs,
        )

    def notes(self, scenario: DenseScenario) -> tuple[Note, ...]:
        """Say where the estimator is not the one to take, or the accuracy asks for every value."""
        out = []
        most = 1 / (scenario.accuracy * scenario.epsilon)
        if scenario.k > most:
            out.append(
                Note(
                    f"The dense estimator is meant for k up to 1/(α ε) = {significant(most)}; with k = {scenario.k:,} "
                    "an extrapolating estimator needs fewer records."
                )
            )
        if scenario.k * scenario.accuracy < 1:
            out.append(
                Note(
                    f"An error below α k = {scenario.k * scenario.accuracy:.3g} values means that none may be "
                    "missed: then 18 k ln k records are what theory asks for."
                )
            )
        return tuple(out)

    def formulas(self, scenario: DenseScenario, n: int, all_of: int, expected: float) -> tuple[Formula, ...]:
        """Write estimator, tail, conditions, the printed and the corrected argument, with the current numbers."""
        k, accuracy, epsilon = scenario.k, scenario.accuracy, scenario.epsilon
        delta = DENSE.sensitivity(n, k)
        return (
            Formula("Clipped counts", DENSE.formula, rf"3k/n = {3 * k / n:.6g}", "exact", DENSE.source),
            Formula(
                "Private release",
                r"\tilde S=\hat S+\mathrm{Lap}(\Delta/\varepsilon),\qquad\Delta=\min(1,3k/n)",
                rf"\Delta/\varepsilon = {delta / epsilon:.6g}",
                "exact",
                "properties §6",
            ),
            Formula(
                "One value is seen too rarely",
                r"\Pr\bigl(N_x<\tfrac n{3k}\bigr)\le e^{-2n/(9k)}\quad\text{for }p_x\ge\tfrac1k",
                rf"n = {n:,}:\quad{exact_tail(n, k):.4g}\le{rare_count_tail(n, k):.4g}",
                "bound",
                "Sec 4.4.2.1",
            ),
            Formula(
                "All values in full",
                r"n\ge18k\ln k\ \Rightarrow\ \Pr(\hat S=S)\ge1-k^{-3}",
                rf"n\ge{all_of:,}:\quad1-k^{{-3}} = {1 - k**-3.0:.8g}",
                "bound",
                "Sec 4.4.2.1",
            ),
            Formula(
                "Few values missed, as printed",
                r"\Pr\le\frac1{4.5\,\alpha S(p)}\le\frac1{4.5\,\alpha k}",
                rf"\frac1{{4.5\,\alpha k}} = {printed_chance(k, accuracy):.4g}"
                r"\quad\text{(wrong way round: }S(p)\le k)",
                "heuristic",
                "Sec 4.4.2.1 (E11)",
            ),
            Formula(
                "Few values missed, corrected",
                r"n\ge9k\ln\tfrac1\alpha\ \Rightarrow\ \Pr(S-\hat S\ge\alpha k)\le\frac{\alpha^2S}{\alpha k}\le\alpha",
                rf"n\ge{n:,}:\quad\Pr\le{corrected_chance(n, k, accuracy):.4g}",
                "bound",
                "E11 (derived)",
            ),
            Formula(
                "Coupon collector",
                r"\mathrm E\,T=k\sum_{i\le k}\tfrac1i\approx k(\ln k+0.577)",
                rf"{expected:.7g}\approx{k * (math.log(k) + EULER):.7g}",
                "exact",
                "Sec 4.4.2.2",
            ),
        )

    # ---- charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        return result.frame[result.frame["panel"] == PANELS[view]]

    def line(self, result: Result, view: str, name: str, role: Any, label: str, phrase: str, **more: Any) -> Line:
        """Describe one curve."""
        rows = result.series(name, PANELS[view])
        if view == "error" and name != "private":  # names at one point of the axis would say nothing
            rows = rows.iloc[: until_nothing_is_left(rows["y"].to_numpy())]
        error = rows["std_error"].to_numpy()
        return Line(
            role,
            rows["x"].to_numpy(dtype=np.float64),
            rows["y"].to_numpy(),
            name,
            label,
            error if error.any() else None,
            hover=phrase,
            **more,
        )

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the chance of a large error, of a rare value, or of having seen all."""
        if view == "tail":
            return self.tail_chart(result)
        return self.coupon_chart(result) if view == "coupon" else self.error_chart(result)

    def error_chart(self, result: Result) -> Chart:
        """Describe the chance that the answer is off by α k or more."""
        scenario: Any = result.scenario
        n = enough(scenario)
        marks = (
            self.line(result, "error", "bound", "upper bound", "bound<br>(no noise)", "at most {y} without noise"),
            self.line(
                result,
                "error",
                "values seen too rarely",
                "non-private",
                "seen too<br>rarely",
                "values seen too rarely: {y} ± {e}",
                dash="2px,3px",
            ),
            self.line(
                result, "error", "without privacy", "non-private", "without<br>privacy", "without noise: {y} ± {e}"
            ),
            self.line(result, "error", "private", "private", "private", "private: {y} ± {e}", main=True, markers=True),
        )
        return Chart(
            f"Chance to be off by {values_of(scenario.accuracy * scenario.k)} or more",
            "share of samples",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("chance", "linear", low=0.0, high=1.0),
            (
                Panel(
                    marks,
                    here=(float(n), f"theory: n = {whole(n)}"),
                    level_lines=((scenario.accuracy, f"α = {scenario.accuracy:g}"),),
                ),
            ),
        )

    def tail_chart(self, result: Result) -> Chart:
        """Describe the chance that one value is seen too rarely, below its bound."""
        scenario: Any = result.scenario
        n = enough(scenario)
        return Chart(
            "Chance that one value counts less than in full",
            "seen less than n/(3k) times, log scale",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("chance", "log"),
            (
                Panel(
                    (
                        self.line(
                            result, "tail", "bound e^(−2n/(9k))", "upper bound", "bound<br>e^(−2n/(9k))", "at most {y}"
                        ),
                        self.line(result, "tail", "exact", "truth", "exact<br>binomial", "exactly {y}"),
                    ),
                    here=(float(n), f"theory: n = {whole(n)}"),
                ),
            ),
        )

    def coupon_chart(self, result: Result) -> Chart:
        """Describe the chance that all values have been seen."""
        scenario: Any = result.scenario
        wait = harmonic(scenario.k)
        return Chart(
            "Chance that all values have been seen",
            f"share of runs; k = {scenario.k:,}, all equally likely",
            Axis("records drawn", "linear", symbol="n"),
            Axis("chance", "linear", low=0.0, high=1.0),
            (
                Panel(
                    (
                        self.line(
                            result,
                            "coupon",
                            "limit for large k",
                            "truth",
                            "limit for<br>large k",
                            "limit: {y}",
                            dash="2px,3px",
                        ),
                        self.line(result, "coupon", "all seen, simulated", "data", "simulated", "all seen: {y} ± {e}"),
                    ),
                    here=(wait, f"on average {significant(wait)} draws"),
                ),
            ),
        )


def number(value: float) -> str:
    """Write α k: whole where it is.

    Examples
    --------
    >>> number(5.000000000001), number(0.1 * 25), number(4000.0)
    ('5', '2.50', '4,000')
    """
    return whole(value) if abs(value - round(value)) < 1e-9 * max(1.0, value) else significant(value)


def values_of(value: float) -> str:
    """Write a number of values, α k.

    Examples
    --------
    >>> print(values_of(0.02 * 50), values_of(5.0), sep=", ")
    1 value, 5 values
    """
    return f"{number(value)} value" + ("" if number(value) == "1" else "s")


def missed_from(limit: float) -> str:
    """Say how many values may be missed where fewer than α k are.

    Examples
    --------
    >>> missed_from(1.0), missed_from(5.0), missed_from(2.5), missed_from(0.3)
    ('None missed from', '≤ 4 missed from', '≤ 2 missed from', 'None missed from')
    """
    most = math.ceil(limit - 1e-9) - 1
    return f"≤ {most:,} missed from" if most > 0 else "None missed from"


def until_nothing_is_left(chances: FloatArray) -> int:
    """Return how many points of a falling curve to draw: up to the first from which all are below 0.5%, included.

    Examples
    --------
    >>> until_nothing_is_left(np.array([1.0, 0.2, 0.001, 0.0])), until_nothing_is_left(np.array([0.0, 0.0]))
    (3, 2)
    """
    large = np.flatnonzero(chances >= 0.005)
    return min(chances.size, int(large[-1]) + 2) if large.size else chances.size


def enough(scenario: DenseScenario) -> int:
    """Return ``9 k ln(1/α)``: fewer than α k values stay uncounted, with chance 1 - α; all records for α k below 1."""
    if scenario.accuracy * scenario.k < 1:
        return max(2, everything(scenario.k))
    return math.ceil(dense_recovery_size(scenario.k, scenario.accuracy))


def everything(k: int) -> int:
    """Return the records at which every value counts in full with chance ``1 - k^-3``: ``18 k ln k``."""
    return math.ceil(dense_recovery_size(k))


def chance(value: float, error: float, runs: int) -> tuple[str, str]:
    """Write a simulated chance and its ±; what never happened is below three in the number of runs.

    Examples
    --------
    >>> chance(0.0, 0.0, 400), chance(0.25, 0.02, 400)
    (('under 0.8%', ''), ('25%', '± 4.0%'))
    """
    if value < 1e-12:
        return f"under {percent(3 / runs)}", ""
    return percent(value), f"± {percent(2 * error)}" if error > 0 else ""


ASSUMPTIONS = (
    "No value has a share below 1/k, and k is public. Shown is the hardest such case: k values of share 1/k each. "
    "(properties §6)",
    "Neighbours are two samples of the same size n that differ in one record; one number is released, with Laplace "
    "noise of scale min(1, 3k/n)/ε, integrated exactly. (Lem 3)",
    "A value counts in full once it is seen n/(3k) times; the estimate never exceeds the true number. Counts are whole "
    "numbers, so chances jump where n/(3k) passes one. (Sec 4.4.2.1)",
    "The printed argument for 9 k ln(1/α) bounds a chance by 1/(4.5 α k), which points the wrong way; each value is "
    "missed with chance at most α², and Markov's inequality gives α. (E11, derived)",
    "Sample sizes share records, so their points move together; the draws until all are seen are simulated apart.",
)

__all__ = ["DenseScenario", "DenseSupportStudy", "corrected_chance", "exact_tail", "harmonic", "printed_chance"]
