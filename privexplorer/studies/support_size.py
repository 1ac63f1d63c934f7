"""How many different values are there, when each is at least so frequent? (properties §6; Lemma 30, E10, E11)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteDistribution, DiscreteLaw, TwoStep, Uniform, nested_fingerprints
from privexplorer.errors import ParameterError
from privexplorer.properties import (
    DenseSupport,
    SparseSupport,
    dense_recovery_size,
    support_bias_sample_size,
    support_coverage_records,
    support_privacy_sample_size,
)
from privexplorer.records import Accuracy, Epsilon, Grid, Scenario, Seed, SymbolCount, Trials, field
from privexplorer.simulation import block_rng, root_mean_square
from privexplorer.studies import _unseen as unseen
from privexplorer.studies._entropy import Curve, assumed_k
from privexplorer.studies._fields import distribution_field
from privexplorer.studies._notes import table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import significant, whole

EPSILONS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 10.0, 25)])
ACCURACIES = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 0.5, 25)])
WILDEST = 1e60
"""Sensitivities above this are refused: fourth powers of errors must stay numbers."""
NAMES = ("sparse", "dense")
RULES = {"exact": "exact sensitivity (private)", "thesis": "published bound (private)"}


class SupportSizeScenario(Scenario):
    """Error of the number of values against the sample size."""

    distribution: DiscreteDistribution = distribution_field(
        Uniform(k=800), help="Which values there really are, and how frequent."
    )
    k: SymbolCount = field(
        1_000,
        "Promise: every value has a share of at least 1/k",
        "Public. Without such a promise nobody can count values that are too rare to be seen.",
        group="Data",
    )
    n: Grid = field(Grid(low=900, high=20_000, points=12), "Sample sizes n, people", key="n", group="Data")
    epsilon: Epsilon = 1.0
    clip: bool = field(
        False,
        "Clip the answer to [0, k]",
        "Free by post-processing: there cannot be more than k values.",
        key="clip",
        group="Privacy",
        advanced=True,
    )
    noise_rule: Literal["exact", "thesis"] = field(
        "exact",
        "Noise calibrated to",
        "The published bound adds two to three times as much where the estimate extrapolates.",
        key="noise",
        group="Privacy",
        advanced=True,
        titles=RULES,
    )
    accuracy: Accuracy = field(
        0.1,
        "Error that you accept, as a share of k",
        "Also decides how far the sparse estimator looks ahead: to k ln(3/α) records.",
        group="Goal",
        low=0.01,
    )
    trials: Trials = 200
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share."""

    law: DiscreteLaw
    truth: int
    k: int
    ns: IntArray
    accuracy: float
    seed: int
    block_trials: int


@dataclass(frozen=True)
class Conditions:
    """Sample sizes that the theory asks for; None where its condition says nothing."""

    bias: float | None
    privacy: float | None
    dense: float | None
    change: float
    """From here on the sparse estimator counts what it sees."""

    @property
    def enough(self) -> float | None:
        """Sample size at which bias and privacy conditions both hold, or seen values may be counted."""
        if self.bias is None or self.privacy is None:
            return None
        return max(self.bias, self.privacy)


def conditions(k: int, accuracy: float, epsilon: float) -> Conditions:
    """Evaluate the conditions of Sec 4.4.2.1 (with E10 and E11 corrected)."""
    return Conditions(
        given(lambda: support_bias_sample_size(k, accuracy)),
        given(lambda: support_privacy_sample_size(k, accuracy, epsilon)),
        given(lambda: dense_recovery_size(k, accuracy if k * accuracy >= 1 else None)),
        0.5 * support_coverage_records(k, accuracy),
    )


def given(value: Callable[[], float]) -> float | None:
    """Return a threshold, or None where its condition has no solution."""
    try:
        return value()
    except ParameterError:
        return None


class SupportSize(Study[SupportSizeScenario]):
    """Error of the sparse and the dense support-size estimators, with and without privacy, against n."""

    id: ClassVar[str] = "support-size"
    question: ClassVar[str] = "How many different values are there in all?"
    lead: ClassVar[str] = (
        "If no value is rarer than 1 in k, a sample can tell how many there are: by extrapolating when it is short, by "
        "counting when it is long."
    )
    tab: ClassVar[str] = "Support size"
    card: ClassVar[str] = "Error of the number of values against the sample size, with the sizes that theory asks for."
    link: ClassVar[str] = "See what a count costs"
    theme: ClassVar[str] = "unseen"
    picture: ClassVar[str] = "curve"
    scenario: ClassVar[type[Scenario]] = SupportSizeScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "clip", "noise_rule", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "error": "Error against n",
        "conditions": "Records needed",
        "gap": "Coverage below support",
    }
    rows: ClassVar[tuple[str, ...]] = (
        "T-S-def",
        "T-Lem30",
        "T-Eq4.2",
        "T-Eq4.3",
        "T-SuppSparse",
        "T-SuppDense",
        "T-DenseY",
    )

    def presets(self) -> tuple[Preset[SupportSizeScenario], ...]:
        """Finished examples."""
        make = SupportSizeScenario
        return (
            Preset("Eight hundred values", make()),
            Preset("Strong privacy", make(epsilon=0.05)),
            Preset("Rare and frequent values", make(distribution=TwoStep(k=500))),
            Preset(
                "A small questionnaire",
                make(
                    distribution=Uniform(k=40), k=50, n=Grid(low=50, high=2_000, points=12), epsilon=0.2, accuracy=0.1
                ),
            ),
        )

    def check(self, scenario: SupportSizeScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        sparse, ns = SparseSupport(accuracy=scenario.accuracy), scenario.n.values()
        if scenario.distribution.kind == "empirical":
            return too_far(sparse, ns, scenario.k)  # the table is read once, in prepare
        values = scenario.distribution.law(tables).support_size()
        return too_many(values, scenario.k) or too_far(sparse, ns, scenario.k, values)

    def size(self, scenario: SupportSizeScenario) -> int:
        """Trials per block: a matter of the question alone."""
        ns, k = scenario.n.values(), assumed_k(scenario.distribution)
        work = 20 * int(ns[-1]) + 30 * len(ns) * min(k, int(ns[-1]))
        return int(min(64, max(1, 40_000_000 // work)))

    def blocks(self, scenario: SupportSizeScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: SupportSizeScenario, tables: Tables | None) -> Prepared:
        """Find the law and the true number of values."""
        law = scenario.distribution.law(tables)
        truth = law.support_size()
        for words in too_many(truth, scenario.k):
            raise ParameterError(words, field="k")
        for words in too_far(SparseSupport(accuracy=scenario.accuracy), scenario.n.values(), scenario.k, truth):
            raise ParameterError(words, field="n")
        return Prepared(
            law, truth, scenario.k, scenario.n.values(), scenario.accuracy, scenario.seed, self.size(scenario)
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Draw a block of nested samples; return ``(trials, 2, points)``: sparse and dense estimates."""
        k = prepared.k
        prints = nested_fingerprints(prepared.law, prepared.ns, prepared.block_trials, block_rng(prepared.seed, block))
        out = np.zeros((prepared.block_trials, 2, prepared.ns.size))
        for place, estimator in enumerate((SparseSupport(accuracy=prepared.accuracy), DenseSupport())):
            tables = [(lambda counts, n=int(n), e=estimator: e.values(counts, n, k)) for n in prepared.ns]
            out[:, place, :] = prints.totals(tables).T
        return out

    def assemble(self, scenario: SupportSizeScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put curves, thresholds and words together."""
        blocks = stacked(parts, scenario.trials)
        k, ns = prepared.k, prepared.ns
        estimators = (SparseSupport(accuracy=prepared.accuracy), DenseSupport())
        sens = np.array([[e.sensitivity(int(n), k, scenario.noise_rule) for n in ns] for e in estimators])
        targets = np.full(blocks[:, 0, :].shape, float(prepared.truth))
        highs = np.full(ns.size, float(k)) if scenario.clip else None
        rows: list[tuple[str, Any, Any, Any]] = []
        curves: dict[str, Curve] = {}
        for place, name in enumerate(NAMES):
            plain = Curve(*root_mean_square(((blocks[:, place, :] - targets) / k) ** 2))
            squares = unseen.noisy_squares(blocks[:, place, :], targets, sens[place], scenario.epsilon, highs)
            private = Curve(*root_mean_square(squares / k**2))
            curves[name], curves[f"{name}, private"] = plain, private
            rows += [(name, ns, plain.rmse, plain.error), (f"{name}, private", ns, private.rmse, private.error)]
        return self.told(scenario, prepared, rows, curves, sens, blocks)

    def told(
        self,
        scenario: SupportSizeScenario,
        prepared: Prepared,
        rows: list[tuple[str, Any, Any, Any]],
        curves: dict[str, Curve],
        sens: FloatArray,
        blocks: FloatArray,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        k, ns, accuracy, epsilon = prepared.k, prepared.ns, prepared.accuracy, scenario.epsilon
        need = conditions(k, accuracy, epsilon)
        sparse, dense = curves["sparse, private"], curves["dense, private"]
        good = np.flatnonzero(np.minimum(sparse.rmse, dense.rmse) <= accuracy)
        first = int(good[0]) if good.size else None
        at = int(np.argmin(np.abs(ns - need.enough))) if need.enough is not None else ns.size - 1
        value, error = unseen.measured(sparse.rmse[at] * k, 2 * sparse.error[at] * k)
        plain, plain_error = unseen.measured(curves["sparse"].rmse[at] * k, 2 * curves["sparse"].error[at] * k)
        cards = (
            Card(
                "Private error",
                value,
                error_chip(error, int(ns[at])),
                f"Root-mean-square error of the sparse estimator at n = {whole(ns[at])}, in values"
                + (
                    "; every simulated sample shows all values there, so this is the noise alone, exact."
                    if error == EXACT
                    else f" ({error}, two standard errors)."
                ),
            ),
            Card(
                "Without privacy",
                plain,
                error_chip(plain_error, int(ns[at])),
                f"The same at n = {whole(ns[at])}, without noise"
                + (
                    f"; in none of {blocks.shape[0]:,} simulated samples was it off."
                    if plain_error == EXACT
                    else f" ({plain_error}, two standard errors)."
                ),
            ),
            Card(
                "n for a small bias",
                threshold(need.bias),
                "theorem",
                "Sufficient for the sparse estimator's bias to stay within the accepted error; stated for α k > 2.",
            ),
            Card(
                "n for privacy",
                threshold(need.privacy),
                f"at ε = {epsilon:g}",
                "Sufficient for a sensitivity of at most α ε k (E10 corrected); stated for α ε k > 2.",
            ),
        )
        where = (
            f"The private error stays within {accuracy:g} k = {significant(accuracy * k, 2)} values from n = "
            f"{whole(ns[first])} on, on this grid. "
            if first is not None and np.all(np.minimum(sparse.rmse, dense.rmse)[first:] <= accuracy)
            else f"On this grid the private error does not stay within {accuracy:g} k = {significant(accuracy * k, 2)} "
            "values. "
        )
        wants = (
            f"Theory asks for n = {whole(math.ceil(need.enough))} (bias {whole(math.ceil(need.bias))}, privacy "
            f"{whole(math.ceil(need.privacy))}): sufficient, not necessary. "
            if need.enough is not None and need.bias is not None and need.privacy is not None
            else "The sufficient conditions say nothing here: they need α k and α ε k above 2. "
        )
        shows = (
            f"There are **{prepared.truth:,} values**, each promised to have a share of at least 1 in {k:,}. With "
            f"**{whole(ns[at])} records** and **ε = {epsilon:g}** the sparse estimator is typically off by **{value} "
            f"values**, without privacy by {plain}. {where}{wants}"
            f"From n = {whole(math.ceil(need.change))} on the sparse estimator counts what it sees, so its curve "
            f"jumps there.{unseen_zeros(ns, curves, int(blocks.shape[0]))}"
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=tidy(rows),
            cards=cards,
            shows=shows,
            takeaway=(
                f"Error of the number of values, as a share of k = {k:,}, against the sample size. At n = "
                f"{whole(ns[at])} and epsilon {epsilon:g} the sparse private estimate is off by {value} values, "
                f"without privacy by {plain}."
            ),
            notes=self.notes(scenario, prepared),
            formulas=self.formulas(prepared, int(ns[at]), sens[:, at], epsilon, need),
            assumptions=ASSUMPTIONS,
            extra={"blocks": blocks, "prepared": prepared, "sensitivities": sens},
            runs=int(blocks.shape[0]),
        )

    def notes(self, scenario: SupportSizeScenario, prepared: Prepared) -> tuple[Note, ...]:
        """Say what a reader must know about the choices."""
        out = []
        masses = prepared.law.groups[0]
        rarest = float(masses[masses > 0].min())
        if rarest < (1 - 1e-9) / prepared.k:
            out.append(
                Note(
                    f"The rarest value has a share of 1 in {significant(1 / rarest)}, rarer than the promised 1 in "
                    f"{prepared.k:,}: the theory's conditions do not cover this distribution.",
                    "warning",
                    "The promise does not hold",
                )
            )
        return (*out, *table_notes(scenario.distribution))

    def formulas(
        self, prepared: Prepared, n: int, sens: FloatArray, epsilon: float, need: Conditions
    ) -> tuple[Formula, ...]:
        """Write estimators, releases and conditions, with the current numbers."""
        k, accuracy = prepared.k, prepared.accuracy
        sparse, dense = SparseSupport(accuracy=accuracy), DenseSupport()
        gap = prepared.truth - float(prepared.law.coverage(support_coverage_records(k, accuracy)))
        return (
            Formula(
                "Sparse estimator",
                sparse.formula,
                rf"n = {n:,},\ k = {k:,},\ r = {sparse.rate:.4g},\ t = {sparse.ahead(n, k):.4g}",
                "exact",
                sparse.source,
            ),
            Formula("Dense estimator", dense.formula, rf"3k/n = {3 * k / n:.4g}", "exact", dense.source),
            Formula(
                "Private release",
                r"\tilde S=\hat S+\mathrm{Lap}(\Delta/\varepsilon)",
                rf"\Delta_{{\text{{sparse}}}} = {sens[0]:.4g},\quad\Delta_{{\text{{dense}}}} = {sens[1]:.4g},\quad"
                rf"\varepsilon = {epsilon:g}",
                "exact",
                "properties §1, §6 (derived)",
            ),
            Formula(
                "Coverage is close to the support",
                r"0\le S(p)-S_m(p)\le\tfrac{\alpha k}3\quad\text{for }m\ge k\ln\tfrac3\alpha",
                rf"{gap:.4g}\le{accuracy * k / 3:.4g}\quad(m = {support_coverage_records(k, accuracy):,.0f})",
                "bound",
                "Lemma 30, eq (4.2)",
            ),
            Formula(
                "Bias condition",
                r"n\ge\frac{k r^2}{\ln(\alpha k/2)+2r}",
                number(need.bias),
                "bound",
                "Sec 4.4.2.1, eq (4.3)",
            ),
            Formula(
                "Privacy condition",
                r"n\ge\frac{k r^2}{\ln(\frac12\alpha\varepsilon k-1)+2r}",
                number(need.privacy),
                "bound",
                "Sec 4.4.2.1, E10",
            ),
            Formula(
                "Dense condition",
                r"n\ge9k\ln\tfrac1\alpha\ \ (\alpha k\ge1),\qquad n\ge18k\ln k\ \ (\alpha k<1)",
                number(need.dense),
                "bound",
                "Sec 4.4.2.1, E11",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the error curves, the records needed, or the gap of Lemma 30."""
        if view == "conditions":
            return self.conditions_chart(result)
        if view == "gap":
            return self.gap_chart(result)
        scenario: Any = result.scenario
        dashes = {"sparse": "solid", "dense": "9px,4px"}
        marks = []
        for name in NAMES:
            for private in (False, True):
                series = f"{name}, private" if private else name
                rows = result.series(series)
                marks.append(
                    Line(
                        "private" if private else "non-private",
                        rows["x"].to_numpy(),
                        rows["y"].to_numpy(),
                        series,
                        f"{name},<br>private" if private else name,
                        rows["std_error"].to_numpy(),
                        main=series == "sparse, private",
                        dash=dashes[name],
                        hover=f"{series}: off by {{y}} ± {{e}} of k",
                    )
                )
        need = conditions(scenario.k, scenario.accuracy, scenario.epsilon)
        here = None
        if need.enough is not None and result.frame["x"].min() <= need.enough <= result.frame["x"].max():
            here = (need.enough, f"theory: n = {whole(math.ceil(need.enough))}")
        lowest = min(float(np.nanmin(np.where(np.asarray(m.y) > 0, m.y, np.nan))) for m in marks if m.role == "private")
        return Chart(
            "Error of the number of values",
            "root-mean-square, share of k, log scale",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("error", "log", low=lowest / 10),
            (Panel(tuple(marks), here=here, level_lines=((scenario.accuracy, f"you accept {scenario.accuracy:g}"),)),),
        )

    def needed(self, result: Result) -> pd.DataFrame:
        """Sample sizes that theory asks for, against ε."""
        scenario: Any = result.scenario
        k, accuracy = scenario.k, scenario.accuracy
        all_of = [(epsilon, conditions(k, accuracy, epsilon)) for epsilon in EPSILONS.tolist()]
        rows: list[tuple[str, Any, Any, Any]] = []
        privacy = [(epsilon, need.privacy) for epsilon, need in all_of if need.privacy is not None]
        if privacy:
            rows.append(("privacy condition", *np.array(privacy).T, 0.0))
        last = all_of[-1][1]
        for name, value in (
            ("bias condition", last.bias),
            ("counting starts", last.change),
            ("dense condition", last.dense),
        ):
            if value is not None:
                rows.append((name, EPSILONS, np.full(EPSILONS.size, value), 0.0))
        return tidy(rows)

    def conditions_chart(self, result: Result) -> Chart:
        """Describe the sample sizes that theory asks for."""
        scenario: Any = result.scenario
        frame = self.needed(result)
        looks: dict[str, tuple[Role, str, str | None]] = {
            "dense condition": ("upper bound", "dense", "9px,4px"),
            "counting starts": ("truth", "counting<br>starts", "2px,3px"),
            "bias condition": ("non-private", "bias", None),
            "privacy condition": ("private", "privacy", None),
        }
        marks = [
            Line(
                role,
                frame[frame["series"] == name]["x"].to_numpy(),
                frame[frame["series"] == name]["y"].to_numpy(),
                name,
                label,
                main=role == "private",
                dash=dash,
                hover=f"{name}: n from {{y}}",
            )
            for name, (role, label, dash) in looks.items()
            if (frame["series"] == name).any()
        ]
        return Chart(
            f"Records that theory asks for, α = {scenario.accuracy:g}",
            "sample size n, log scale; sufficient, theorems",
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε"),
            Axis("sample size n", "log"),
            (Panel(tuple(marks), here=(scenario.epsilon, f"your ε = {scenario.epsilon:g}")),),
        )

    def gap(self, result: Result) -> pd.DataFrame:
        """How far the coverage at k ln(3/α) records stays below the support, against α."""
        scenario: Any = result.scenario
        prepared = result.extra["prepared"]
        records = np.array([support_coverage_records(scenario.k, a) for a in ACCURACIES.tolist()])
        exact = prepared.truth - np.asarray(prepared.law.coverage(records))
        return tidy(
            [
                ("support less coverage", ACCURACIES, np.maximum(exact, 0.0), 0.0),
                ("bound, αk/3", ACCURACIES, ACCURACIES * scenario.k / 3, 0.0),
            ]
        )

    def gap_chart(self, result: Result) -> Chart:
        """Describe the gap of Lemma 30."""
        scenario: Any = result.scenario
        frame = self.gap(result)
        bound, exact = (frame[frame["series"] == name] for name in ("bound, αk/3", "support less coverage"))
        return Chart(
            "Values missing after k ln(3/α) records",
            "support less coverage, values, log scale",
            Axis("accepted error α", "log", symbol="α"),
            Axis("values", "log"),
            (
                Panel(
                    (
                        Line(
                            "upper bound",
                            bound["x"].to_numpy(),
                            bound["y"].to_numpy(),
                            "bound, αk/3",
                            "bound<br>(Lemma 30)",
                            hover="at most {y} values",
                        ),
                        Line(
                            "truth",
                            exact["x"].to_numpy(),
                            exact["y"].to_numpy(),
                            "support less coverage",
                            "exact",
                            hover="exact: {y} values",
                        ),
                    ),
                    here=(scenario.accuracy, f"your α = {scenario.accuracy:g}"),
                ),
            ),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind each view."""
        if view == "conditions":
            return self.needed(result)
        return self.gap(result) if view == "gap" else result.frame


EXACT = "± 0"


def error_chip(error: str, n: int) -> str:
    """Say for which n a card's error is, with its ± where there is one and room for it.

    Examples
    --------
    >>> error_chip("± 6", 1193), error_chip("± 0", 500), error_chip("± 0.0012", 1_000_000)
    ('± 6, n = 1,193', 'n = 500', 'n = 1,000,000')
    """
    text = f"n = {n:,}"
    both = f"{error}, {text}"
    return text if error == EXACT or len(both) > 18 else both


def unseen_zeros(ns: IntArray, curves: Mapping[str, Curve], runs: int) -> str:
    """Say which curves stop early because their error is 0, which a log scale cannot show."""
    found = []
    for name in NAMES:
        right = np.flatnonzero(curves[name].rmse == 0)
        if right.size:
            start = whole(ns[right[0]])
            to_the_end = right[0] + right.size == ns.size and right.size > 1
            places = f"from n = {start} on" if to_the_end else f"at n = {start}" if right.size == 1 else "at some n"
            found.append(f"the {name} estimator {places}")
    if not found:
        return ""
    was, curve = ("was", "curve stops") if len(found) == 1 else ("were", "curves stop")
    return (
        f" Without privacy, {' and '.join(found)} {was} off in none of the {runs:,} simulated samples: an error of 0 "
        f"has no place on a log scale, so the {curve}."
    )


def too_many(truth: int, k: int) -> tuple[str, ...]:
    """Say so where there are more values than the promise allows."""
    if truth <= k:
        return ()
    return (
        f"The distribution has {truth:,} values, but if each has a share of at least 1 in {k:,} there are at most "
        f"{k:,}; promise a larger k.",
    )


def too_far(estimator: SparseSupport, sizes: IntArray, k: int, values: int = 2) -> tuple[str, ...]:
    """Say so where the smallest sample lets the sparse estimator extrapolate beyond the range of numbers.

    Its weights grow like ``e^(r (t - 1))`` (Lemma 26), so more records bring them back, and so does a smaller k, if
    the distribution's number of values allows one.
    """
    first = int(sizes[0])
    try:
        if estimator.sensitivity(first, k) <= WILDEST:
            return ()
    except ParameterError:
        pass
    least = estimator.smallest_sample(k, math.log(WILDEST / 4))
    most = math.floor(first * (math.log(WILDEST / 4) / estimator.rate + 2) / estimator.rate)
    smaller = f", or promise a smaller k, at most {most:,} for {first:,} records" if most >= values else ""
    return (
        f"With {first:,} records and k = {k:,} the sparse estimator would look {estimator.ahead(first, k):,.0f} "
        "samples ahead, and its weights leave the range of numbers; let the sample sizes start higher, at "
        f"{least:,} or above{smaller}.",
    )


def threshold(value: float | None) -> str:
    """Write a sufficient sample size."""
    return "–" if value is None else whole(math.ceil(value))


def number(value: float | None) -> str:
    """Write a condition's current value in TeX."""
    return r"\text{says nothing here}" if value is None else rf"n\ge{value:,.7g}"


ASSUMPTIONS = (
    "Every value that occurs has a share of at least 1/k; k is public, and so is n. Neighbours differ in one record. "
    "(properties §0, §6)",
    "One number is released, with Laplace noise of scale sensitivity ÷ ε; the noise is integrated exactly, so only the "
    "sampling is simulated.",
    "Sparse: smoothed Good-Toulmin at m = k ln(3/α) records with r = ln(3/α), as long as n < m/2; from there on, "
    "values seen are counted, with sensitivity 1. (Sec 4.4.2.1)",
    "Dense: each value counts min(1, 3kN/n), with sensitivity min(1, 3k/n); meant for k up to 1/(α ε). (Sec 4.4.2.1)",
    "The conditions on n are sufficient; the printed privacy condition and the dense argument are corrected. (E10, "
    "E11)",
    "Neighbouring sample sizes share records, so the points move together.",
)

__all__ = ["SupportSize", "SupportSizeScenario", "conditions"]
