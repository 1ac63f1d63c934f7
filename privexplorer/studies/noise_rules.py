"""Three ways to set the noise: exact, as published, as in the published code (properties §12.8; E1, E12, E13)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray, IntArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteDistribution, DiscreteLaw, Uniform, Zipf, nested_fingerprints
from privexplorer.properties import (
    EntropyEstimator,
    NoiseRule,
    PlugIn,
    Polynomial,
    SmoothedGoodToulmin,
    noise_share,
    paper_code_sensitivity,
)
from privexplorer.records import Epsilon, Grid, Number, Scenario, Seed, Trials, field
from privexplorer.simulation import block_rng, root_mean_square
from privexplorer.studies import _entropy as core
from privexplorer.studies._fields import distribution_field
from privexplorer.studies._notes import rows_of, table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, ratio, significant, whole, with_unit

EXAMPLE_K = 100
EXAMPLE = (10,) * 99 + (7,)
"""Erratum E12's sample: 99 symbols seen 10 times and one 7 times, 997 records in all."""
KS = (100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
"""Numbers of symbols of the coverage view; each sample has k/2 records, as in the published figures."""

COVERAGE_N = 500
"""Sample size at which card and text compare the rules of coverage."""


class NoiseRulesScenario(Scenario):
    """Noise by rule."""

    distribution: DiscreteDistribution = distribution_field(Uniform(k=100))
    n: Grid = field(Grid(low=100, high=10_000, points=13), "Sample sizes n, people", key="n", group="Data")
    epsilon: Epsilon = 1.0
    estimator: EntropyEstimator = field(
        Polynomial(),
        "Entropy estimator",
        "The published code reads the noise of the polynomial off the sample.",
        key="est",
        group="Method",
        discriminator="kind",
    )
    ahead: Annotated[float, Number] = field(
        5.0,
        "Look-ahead t (coverage)",
        "Further records per record, for the view “Coverage by k”.",
        key="t",
        group="Method",
        ge=1e-6,
        le=10,
    )
    trials: Trials = 200
    seed: Seed = 0


@dataclass(frozen=True)
class Prepared:
    """What all blocks share: one table per sample size, and the sensitivities that do not depend on the data.

    ``data_dependent`` says that the published code has no fixed sensitivity for this estimator.
    """

    law: DiscreteLaw
    truth: float
    ns: IntArray
    seed: int
    block_trials: int
    tables: tuple[FloatArray, ...]
    constants: FloatArray
    exact: FloatArray
    thesis: FloatArray
    code: FloatArray
    data_dependent: bool
    cutoff: int


def code_steps(prepared: Prepared, blocks: FloatArray) -> FloatArray:
    """Return what the published code calls its sensitivity, one per sample, shape ``(trials, points)``."""
    if prepared.data_dependent:
        return np.asarray(blocks[:, 1, :])
    return np.broadcast_to(prepared.code, (blocks.shape[0], prepared.ns.size))


class NoiseRules(Study[NoiseRulesScenario]):
    """Exact, published and code noise side by side."""

    id: ClassVar[str] = "noise-rules"
    question: ClassVar[str] = "How much noise is enough, and when is it too little?"
    lead: ClassVar[str] = (
        "Noise must cover the largest change that one record can cause: not more, and never less, whatever the sample."
    )
    tab: ClassVar[str] = "Noise rules"
    card: ClassVar[str] = "Exact noise, the published bound, and code whose noise can vanish."
    link: ClassVar[str] = "Compare noise rules"
    theme: ClassVar[str] = "price"
    picture: ClassVar[str] = "rules"
    scenario: ClassVar[type[Scenario]] = NoiseRulesScenario
    late: ClassVar[frozenset[str]] = frozenset({"epsilon", "ahead", "trials"})
    views: ClassVar[Mapping[str, str]] = {
        "noise": "Noise by rule",
        "error": "Error by rule",
        "coverage": "Coverage by k",
    }
    rows: ClassVar[tuple[str, ...]] = ("T-Framework", "T-Eq4.4", "T-PolySens", "T-Eq4.1", "T-SGTr", "T-Claim-cov")

    def presets(self) -> tuple[Preset[NoiseRulesScenario], ...]:
        """Finished examples."""
        make = NoiseRulesScenario
        return (
            Preset("Noise that vanishes", make()),
            Preset("The published figure", make(distribution=Uniform(k=1000), n=Grid(low=100, high=1_000, points=10))),
            Preset(
                "The plug-in's bound", make(distribution=Zipf(k=1000, exponent=1.0), estimator=PlugIn(), epsilon=0.02)
            ),
            Preset("Looking half a sample ahead", make(ahead=0.5)),
        )

    def size(self, scenario: NoiseRulesScenario) -> int:
        """Trials per block."""
        ns = scenario.n.values()
        return core.block_size(ns.size, int(ns[-1]), core.assumed_k(scenario.distribution))

    def blocks(self, scenario: NoiseRulesScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: NoiseRulesScenario, tables: Tables | None) -> Prepared:
        """Compute tables and sensitivities."""
        law, ns, estimator = scenario.distribution.law(tables), scenario.n.values(), scenario.estimator
        made = [estimator.table(int(n), law.k, private=True) for n in ns]
        rules: tuple[NoiseRule, ...] = ("exact", "thesis", "paper_code")
        exact, thesis, code = (
            np.array([estimator.sensitivity(int(n), law.k, rule=rule) for n in ns]) for rule in rules
        )
        poly = isinstance(estimator, Polynomial)
        return Prepared(
            law,
            law.entropy(),
            ns,
            scenario.seed,
            self.size(scenario),
            tuple(np.asarray(table.values) for table in made),
            np.array([table.constant for table in made]),
            exact,
            thesis,
            code,
            poly,
            estimator.parameters(law.k, True)[2] if isinstance(estimator, Polynomial) else 0,
        )

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Return estimates and the published code's "sensitivity", ``(trials, 2, points)``."""
        rng = block_rng(prepared.seed, block)
        prints = nested_fingerprints(prepared.law, prepared.ns, prepared.block_trials, rng)
        out = np.zeros((prepared.block_trials, 2, prepared.ns.size))
        out[:, 0, :] = (prints.totals(prepared.tables) + prepared.constants[:, None]).T
        if prepared.data_dependent:
            for point, values in enumerate(prepared.tables):
                top = min(prepared.cutoff, int(prepared.ns[point]))
                out[:, 1, point] = core.data_dependent_step(values, prints.common[point], top)
        return out

    def assemble(self, scenario: NoiseRulesScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put the three rules side by side: the noise itself, the error, and coverage."""
        blocks = stacked(parts, scenario.trials)
        ns = prepared.ns
        code = code_steps(prepared, blocks)
        short = (code < prepared.exact * (1 - 1e-9)).mean(axis=0)
        frames = [
            self.noise_rows(prepared, code, short),
            self.error_rows(scenario, prepared, blocks[:, 0, :], code),
            coverage_rows(scenario.ahead, scenario.epsilon).assign(panel=self.views["coverage"]),
        ]
        return self.told(scenario, prepared, pd.concat(frames, ignore_index=True), code, short, ns)

    def noise_rows(self, prepared: Prepared, code: FloatArray, short: FloatArray) -> pd.DataFrame:
        """Lay out what each rule makes the noise for, times n; the code's varies with the sample."""
        ns = prepared.ns
        rows: list[tuple[str, Any, Any, Any]] = [("exact", ns, ns * prepared.exact, 0.0)]
        if not prepared.data_dependent:
            rows.append(("published bound", ns, ns * prepared.thesis, 0.0))
        low, middle, high = np.quantile(code, (0.025, 0.5, 0.975), axis=0)
        rows.append(("published code", ns, ns * middle, 0.0))
        rows.append(("share of samples with too little noise", ns, short, np.sqrt(short * (1 - short) / len(code))))
        frame = tidy(rows, panel=self.views["noise"])
        if prepared.data_dependent:
            mine = (frame["series"] == "published code").to_numpy()
            frame.loc[mine, "low"], frame.loc[mine, "high"] = ns * low, ns * high
            if prepared.law.k == EXAMPLE_K:
                example = tidy([("99 symbols ×10, one ×7", [sum(EXAMPLE)], [sum(EXAMPLE) * example_step()], 0.0)])
                frame = pd.concat([frame, example.assign(panel=self.views["noise"])], ignore_index=True)
        return frame

    def error_rows(
        self, scenario: NoiseRulesScenario, prepared: Prepared, estimates: FloatArray, code: FloatArray
    ) -> pd.DataFrame:
        """Root-mean-square errors under each rule; the noise is integrated exactly."""
        off = (estimates - prepared.truth) ** 2
        curves = {"without privacy": 0.0 * code, "exact": np.broadcast_to(prepared.exact, code.shape)}
        if not prepared.data_dependent:
            curves["published bound"] = np.broadcast_to(prepared.thesis, code.shape)
        curves["published code"] = code
        rows: list[tuple[str, Any, Any, Any]] = []
        for name, steps in curves.items():
            rmse, error = root_mean_square(off + 2 * (steps / scenario.epsilon) ** 2)
            rows.append((name, prepared.ns, rmse, error))
        return tidy(rows, panel=self.views["error"])

    def told(
        self,
        scenario: NoiseRulesScenario,
        prepared: Prepared,
        frame: pd.DataFrame,
        code: FloatArray,
        short: FloatArray,
        ns: IntArray,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        n, epsilon, k = int(ns[-1]), scenario.epsilon, prepared.law.k
        exact = float(prepared.exact[-1])
        std = math.sqrt(2) * exact / epsilon
        worst = int(np.argmax(short))
        middle = float(np.median(code[:, -1]))
        bound = float(prepared.thesis[-1])
        covered = coverage_at(2 * COVERAGE_N, scenario.ahead, epsilon)
        times = covered["published bound" if scenario.ahead > 1 else "published code"] / covered["exact"]
        if prepared.data_dependent:
            rule = Card(
                "Published code",
                ratio(middle / exact) if exact else "–",
                "÷ exact noise",
                "Its noise in the middle sample, over the noise that protects. It depends on the data: not private.",
            )
        else:
            rule = Card("Published bound", ratio(bound / exact) if exact else "–", "÷ exact noise", f"At n = {n:,}.")
        error = math.sqrt(float(short[worst] * (1 - short[worst])) / len(code))
        cards = (
            Card(
                "Exact noise",
                with_unit(significant(std), "nats"),
                f"at n = {n:,}"[:18],
                f"Standard deviation of the Laplace noise at ε = {epsilon:g}: √2 Δ/ε.",
            ),
            rule,
            Card(
                "Too little noise",
                percent(float(short[worst])) if short[worst] else "0%",
                f"at n = {int(ns[worst]):,}"[:18] if short[worst] else "of the samples",
                "Share of the samples for which the published code adds less noise than privacy needs, at the worst n; "
                f"± {2 * error:.2g}.",
            ),
            Card(
                "Coverage bound" if scenario.ahead > 1 else "Coverage code",
                ratio(times),
                f"÷ exact, t = {scenario.ahead:.3g}"[:18],
                f"What the published bound makes the noise for, over the exact sensitivity, at n = {COVERAGE_N}."
                if scenario.ahead > 1
                else "What the published code makes the noise for, max(t, 0.01), over the exact (1 + t)²; the sample "
                "size does not matter.",
            ),
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=self.words(scenario, prepared, short, times),
            takeaway=(
                f"What three noise rules protect against, by sample size. At n = {n:,} the exact sensitivity times n "
                "is "
                f"{significant(n * exact)}; the published code uses {significant(n * middle)} in the middle sample, "
                "and "
                f"too little in up to {percent(float(short[worst]))} of the samples."
            ),
            notes=self.notes(scenario, prepared, short),
            formulas=self.formulas(scenario, prepared, k),
            assumptions=(
                "Neighbours are two samples of the same size n that differ in one record; n and k are public. "
                "(properties §0, Def. 1)",
                "Exact: the largest change over all neighbouring samples, from the estimator's table. For the "
                "polynomial the "
                "source describes the same; for the plug-in it prints 2 ln n ÷ n. (properties §1, §4; eqs 4.4–4.9)",
                "Published code, polynomial: twice the largest step at counts up to N that occur in the sample "
                "(E12). Where "
                "every symbol was seen more than N times the code stops with an error; no noise is shown there.",
                "Errors are for unclipped answers, with the noise integrated exactly; only the samples are simulated, "
                f"{len(code)} of them, nested along n.",
                "Coverage: smoothed Good-Toulmin with the published smoothing and k/2 records; up to t = 1 the plain "
                "estimator, whose exact sensitivity is (1 + t)². (properties §5, §8.2; E13)",
            ),
            extra={"short": short, "example": example_step()},
            runs=len(code),
        )

    def words(self, scenario: NoiseRulesScenario, prepared: Prepared, short: FloatArray, times: float) -> str:
        """Say what the numbers show."""
        ns, n = prepared.ns, int(prepared.ns[-1])
        first = (
            f"With **{n:,} people** and **ε = {scenario.epsilon:g}**, noise with a standard deviation of "
            f"**{with_unit(significant(math.sqrt(2) * float(prepared.exact[-1]) / scenario.epsilon, 2), 'nats')}** is "
            "exactly enough. "
        )
        if not prepared.data_dependent:
            loose = float(prepared.thesis[-1] / prepared.exact[-1]) if prepared.exact[-1] else math.nan
            middle = (
                f"The published bound, which the published code uses as well, adds {ratio(loose)} as much: private, "
                "and more than needed. "
            )
        elif short.any():
            start = int(ns[np.flatnonzero(short)[0]])
            middle = (
                f"The published code reads its noise off the sample: from n = {whole(start)} on some samples get too "
                "little, "
                f"at n = {int(ns[np.argmax(short)]):,} **{percent(float(short.max()))}** of them. The sample with 99 "
                "symbols seen "
                f"10 times and one 7 times would get none at all, where n Δ = {significant(example_exact())} is "
                "needed. "
            )
        else:
            middle = (
                "The published code adds more than enough in every simulated sample here, because some symbol is "
                "always "
                "unseen; but its noise depends on the data, and some possible samples would get none. "
            )
        return first + middle + coverage_words(scenario.ahead, times)

    def notes(self, scenario: NoiseRulesScenario, prepared: Prepared, short: FloatArray) -> tuple[Note, ...]:
        """Warn where the data-dependent rule under-noises."""
        out = list(table_notes(scenario.distribution))
        if short.any():
            worst = int(np.argmax(short))
            out.insert(
                0,
                Note(
                    f"In {percent(float(short[worst]))} of the simulated samples of {int(prepared.ns[worst]):,} "
                    "people the published "
                    "code adds less noise than privacy needs. Its curve is lower because it **does not protect**.",
                    "warning",
                    "This noise is too little",
                ),
            )
        elif prepared.data_dependent:
            out.append(
                Note(
                    "The published code's noise depends on the data, so it is **not private** even where it happens "
                    "to be "
                    "large enough.",
                )
            )
        if scenario.ahead <= 1:
            out.append(
                Note(
                    "Up to t = 1 the published code makes coverage noise for a sensitivity of max(t, 0.01) = "
                    f"{max(scenario.ahead, 0.01):g}, "
                    f"while one record can move the answer by (1 + t)² = {(1 + scenario.ahead) ** 2:.3g}.",
                    "warning",
                    "This noise is too little",
                )
            )
        return tuple(out)

    def formulas(self, scenario: NoiseRulesScenario, prepared: Prepared, k: int) -> tuple[Formula, ...]:
        """Write the rules with the current numbers; errata with the printed and the corrected value."""
        n, exact = int(prepared.ns[-1]), float(prepared.exact[-1])
        out = [
            Formula(
                "Private release",
                r"\tilde H=\hat H+\mathrm{Lap}(\Delta/\varepsilon)",
                rf"n = {n:,},\quad k = {k:,},\quad\Delta = {exact:.4g}\ \text{{nats}}",
                "exact",
                "properties §4.4, Lem 3",
            )
        ]
        if prepared.data_dependent:
            out.append(
                Formula(
                    "Published code (not private)",
                    r"2\max_{j\le N,\ j\ \text{occurs}}|g(j)-g(\min(j+1,N))|",
                    rf"k = {EXAMPLE_K},\ n = {sum(EXAMPLE)},\ 99\times10\ \text{{and}}\ 1\times7:\quad "
                    rf"{example_step():g}"
                    rf"\ \text{{instead of}}\ n\Delta = {example_exact():.3g}",
                    "heuristic",
                    "properties E12",
                )
            )
        else:
            out.append(
                Formula(
                    "Published bound",
                    r"\Delta\le\frac{2\ln n}{n},\qquad\text{exact: }\frac{\ln n}{n}+\frac{n-1}{n}\ln\frac{n}{n-1}"
                    if isinstance(scenario.estimator, PlugIn)
                    else r"\Delta\le\frac{2\ln n}{n}+\frac1{2n}",
                    rf"{float(prepared.thesis[-1]):.4g}\quad\text{{exact: }}{exact:.4g}",
                    "bound",
                    "eqs (4.4)–(4.9); properties §4.1",
                )
            )
        size, t = COVERAGE_N, scenario.ahead
        sgt = SmoothedGoodToulmin()
        tight = sgt.sensitivity(size, t)
        if t > 1:
            r = sgt.rate(size, t)
            out.append(
                Formula(
                    "Coverage: published bound",
                    r"\Delta\le2\,(1+e^{r(t-1)}),\qquad r=\frac1{2t}\ln\frac{n(t+1)^2}{t-1}",
                    rf"n = {size},\ t = {t:g},\ r = {r:.4g}:\quad {sgt.sensitivity(size, t, 'thesis'):.4g}\ "
                    rf"\text{{(printed }}2(1+e^r(t-1)) = {2 * (1 + math.exp(r) * (t - 1)):.4g}\text{{)}},"
                    rf"\quad\text{{exact }}{tight:.4g}",
                    "bound",
                    "eq (4.1), erratum E1; exact: properties §5 (derived)",
                )
            )
        else:
            out.append(
                Formula(
                    "Coverage up to t = 1",
                    r"\Delta=(1+t)^2",
                    rf"{tight:.4g}\quad\text{{(published code }}{sgt.sensitivity(size, t, 'paper_code'):.4g}\text{{)}}",
                    "exact",
                    "properties §5 (derived), erratum E13",
                )
            )
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        return rows_of(result.frame, self.views[view])

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one of the three views."""
        if view == "error":
            return self.error_chart(result)
        if view == "coverage":
            return self.coverage_chart(result)
        return self.noise_chart(result)

    def noise_chart(self, result: Result) -> Chart:
        """Describe what each rule makes the noise for."""
        panel = self.views["noise"]
        marks: list[Any] = []
        code, bound, exact = (result.series(name, panel) for name in ("published code", "published bound", "exact"))
        if "low" in code and code["low"].notna().any():
            marks.append(
                Spread(
                    "attacker",
                    code["x"].to_numpy(),
                    code["low"].to_numpy(dtype=np.float64),
                    code["high"].to_numpy(dtype=np.float64),
                    "19 of 20 samples",
                    "light",
                    "19 of 20<br>samples",
                )
            )
        if len(bound):
            marks.append(mark(bound, "upper bound", "published<br>bound and code", "published bound: {y}"))
        else:
            marks.append(
                mark(code, "attacker", "published<br>code", "published code, middle sample: {y}", markers=True)
            )
        marks.append(mark(exact, "private", "exact", "exact: {y}", main=True))
        example = result.series("99 symbols ×10, one ×7", panel)
        if len(example):
            marks.append(
                Points(
                    "attacker",
                    example["x"].to_numpy(),
                    example["y"].to_numpy(),
                    "99 symbols ×10, one ×7",
                    text=("99 symbols ×10, one ×7",),
                    hover="the code's noise: {y}",
                    size=11,
                )
            )
        return Chart(
            "What the noise is made for",
            "n × sensitivity, in nats; at least the exact one",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("n × sensitivity", "linear", 0.0, unit="nats"),
            (Panel(tuple(marks)),),
        )

    def error_chart(self, result: Result) -> Chart:
        """Describe the error under each rule."""
        panel = self.views["error"]
        plain, exact, bound, code = (
            result.series(name, panel) for name in ("without privacy", "exact", "published bound", "published code")
        )
        marks = [mark(plain, "non-private", "without<br>privacy", "without privacy: off by {y} ± {e} nats")]
        if len(bound):
            marks.append(
                mark(bound, "upper bound", "published<br>bound and code", "published bound: off by {y} ± {e} nats")
            )
        else:
            marks.append(
                mark(
                    code,
                    "attacker",
                    "code, not<br>private",
                    "published code, not private: off by {y} ± {e} nats",
                    markers=True,
                )
            )
        marks.append(mark(exact, "private", "exact", "exact noise: off by {y} ± {e} nats", main=True))
        return Chart(
            "Error of the private estimate",
            "root-mean-square, in nats, log scale",
            Axis("sample size n, people", "log", symbol="n"),
            Axis("error", "log", unit="nats"),
            (Panel(tuple(marks)),),
        )

    def coverage_chart(self, result: Result) -> Chart:
        """Describe the noise of support coverage by number of symbols."""
        scenario: Any = result.scenario
        panel = self.views["coverage"]
        marks = []
        for name, role, label in (
            ("published code", "attacker", "published code,<br>too little"),
            ("published bound", "upper bound", "published<br>bound"),
            ("exact", "private", "exact"),
        ):
            rows = result.series(name, panel)
            if len(rows):
                marks.append(mark(rows, role, label, f"{name}: {{y}} of n t", main=name == "exact", markers=True))
        return Chart(
            f"Noise of private coverage, ε = {scenario.epsilon:g}, t = {scenario.ahead:g}",
            "std of the noise ÷ further records n t; n = k/2",
            Axis("number of symbols k", "log", symbol="k"),
            Axis("noise ÷ n t", "log"),
            (Panel(tuple(marks)),),
        )


def mark(rows: pd.DataFrame, role: Any, label: str, hover: str, **more: Any) -> Line:
    """Describe one curve of the frame."""
    return Line(
        role,
        rows["x"].to_numpy(),
        rows["y"].to_numpy(),
        str(rows["series"].iloc[0]),
        label,
        rows["std_error"].to_numpy(),
        hover=hover,
        **more,
    )


def coverage_words(ahead: float, times: float) -> str:
    """Say what is published about coverage: a bound beyond t = 1, up to there only what the code does (E13).

    Examples
    --------
    >>> print(coverage_words(5.0, 2.34))
    For coverage at t = 5 the published bound is 2.3× the exact value (n = 500).
    """
    if ahead > 1:
        return (
            f"For coverage at t = {ahead:g} the published bound is {ratio(times)} the exact value (n = {COVERAGE_N})."
        )
    return (
        f"For coverage at t = {ahead:g} the published code makes the noise for max(t, 0.01) = {max(ahead, 0.01):g}, "
        f"only {ratio(times)} the (1 + t)² = {significant((1 + ahead) ** 2)} that is needed, whatever the sample size: "
        "it does not protect."
    )


def example_step() -> float:
    """Return what the published code calls the sensitivity of erratum E12's sample."""
    return paper_code_sensitivity(EXAMPLE, EXAMPLE_K)


def example_exact() -> float:
    """Return n times the exact sensitivity at the size of erratum E12's sample."""
    return sum(EXAMPLE) * Polynomial().sensitivity(sum(EXAMPLE), EXAMPLE_K)


def coverage_at(k: int, ahead: float, epsilon: float) -> dict[str, float]:
    """Return the noise's standard deviation over ``n t`` by rule, for ``n = k/2`` records.

    The published code is listed only up to t = 1, where it differs from the published bound (erratum E13).
    """
    n, sgt = k // 2, SmoothedGoodToulmin()
    out = {
        "exact": noise_share(sgt.sensitivity(n, ahead), epsilon, n * ahead),
        "published bound": noise_share(sgt.sensitivity(n, ahead, "thesis"), epsilon, n * ahead),
    }
    if ahead <= 1:
        out["published code"] = noise_share(sgt.sensitivity(n, ahead, "paper_code"), epsilon, n * ahead)
    return out


def coverage_rows(ahead: float, epsilon: float) -> pd.DataFrame:
    """Return the noise of coverage by rule and number of symbols."""
    found = [coverage_at(k, ahead, epsilon) for k in KS]
    names = [name for name in found[0] if ahead > 1 or name != "published bound"]
    return tidy([(name, np.array(KS), np.array([each[name] for each in found]), 0.0) for name in names])
