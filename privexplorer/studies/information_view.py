"""Information view: nats against ε, MI-DP conversions, log-loss gaps and belief shifts (predictability V12)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.predictability import (
    LogLossToy,
    belief_shift,
    coarse_count_channel,
    log_loss_toy,
    mi_dp_from_predictability,
    mi_dp_level,
    mi_dp_to_slack,
    mutual_information,
    randomised_response_information,
)
from privexplorer.records import Epsilon, Number, Scenario, field
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, ratio, significant

EPSILONS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 20.0, 34)])
PANELS = {
    "answer": "One answer",
    "slack": "What it promises",
    "query": "Queries of a record",
    "toy": "Log loss by count",
    "shift": "Belief shift",
}
RESPONSE, LINE_ = "randomised answer", "bound γ ≤ ε"
SLACK_EPSILON, SLACK_INFORMATION, SLACK_EXACT = "√(2ε), from ε alone", "√(2 MI), from the nats", "exact δ"
WHOLE, FIXED, SCALED = "whole record", "best fixed query", "bits × best fixed query"
GAP, MEAN_GAP, INFORMATION = "drop of the log loss", "average drop", "mutual information"
SHIFT = "bound e^ε"


class InformationScenario(Scenario):
    """A randomised answer, and a count over bits."""

    epsilon: Epsilon = 1.0
    prior: Annotated[float, Number] = field(
        0.5,
        "Chance of a yes beforehand π",
        "What the attacker, who knows everybody else, believes about the one unknown answer.",
        key="prior",
        group="Attacker",
        gt=0,
        lt=1,
    )
    record_values: Annotated[int, Number] = field(
        4,
        "Values of a record",
        "How many values one record may take, for the view “Queries”.",
        key="values",
        group="Data",
        ge=2,
        le=10,
    )
    people: Annotated[int, Number] = field(
        4,
        "People N in the count",
        "Yes/no answers that are counted, for the view “Log loss”; every count is equally likely beforehand.",
        key="people",
        group="Data",
        scale="log",
        low=3,
        high=200,
        ge=3,
        le=200,
    )
    known: Annotated[int, Number] = field(
        2,
        "Known answers n",
        "How many of them the attacker holds; at least one must be unknown.",
        key="draws",
        group="Attacker",
        scale="log",
        low=1,
        high=199,
        ge=1,
        le=199,
    )
    width: Annotated[int, Number] = field(
        1,
        "Count rounded down to a multiple of",
        "1 publishes the exact count; larger steps tell less.",
        key="width",
        group="Privacy",
        ge=1,
        le=200,
    )


@dataclass(frozen=True)
class Prepared:
    """Nothing is worth keeping: all numbers are closed forms of the scenario."""


def response_channel(values: int, epsilon: float) -> FloatArray:
    """Return randomised response on so many values: the truth is e^ε times as likely as any other answer."""
    other = math.exp(-epsilon)
    out = np.full((values, values), other)
    np.fill_diagonal(out, 1.0)
    return np.asarray(out / (1.0 + (values - 1) * other))


def exact_slack(epsilon: float) -> float:
    """Return the δ of (0, δ)-DP of a randomised yes/no answer: tanh(ε/2), the distance of its two laws."""
    return math.tanh(epsilon / 2)


class InformationView(Study[InformationScenario]):
    """What ε means in nats, and what nats mean in δ."""

    id: ClassVar[str] = "information-view"
    question: ClassVar[str] = "How many nats does an ε let through?"
    lead: ClassVar[str] = (
        "Under log loss, predictability is information. Against somebody who knows everybody else, ε bounds the nats, "
        "and the nats bound what is promised."
    )
    tab: ClassVar[str] = "Information"
    card: ClassVar[str] = "Nats under the line ε, promises that become empty at one half, and log loss by count."
    link: ClassVar[str] = "Turn ε into nats"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "epsilon"
    scenario: ClassVar[type[Scenario]] = InformationScenario
    late: ClassVar[frozenset[str]] = frozenset(InformationScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {
        "nats": "Nats and promises",
        "toy": "Log loss",
        "query": "Queries",
        "shift": "Belief shift",
    }
    rows: ClassVar[tuple[str, ...]] = (
        "P-X1", "P-D2.3", "P-T2.4", "P-T2.4pf", "P-X7", "P-D2.6", "P-T2.7", "P-X8", "P-TA.9",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[InformationScenario], ...]:
        """Finished examples."""
        make = InformationScenario
        return (
            Preset("One answer at ε = 1", make()),
            Preset("Twenty people, five known", make(people=20, known=5)),
            Preset("A deployed ε of 20", make(epsilon=20.0)),
            Preset("A count in steps of ten", make(people=60, known=20, width=10, epsilon=0.5)),
        )

    def check(self, scenario: InformationScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        if scenario.known >= scenario.people:
            return (
                f"At least one of the {scenario.people:,} counted answers must be unknown; {scenario.known:,} are "
                f"known. Take at most {scenario.people - 1:,}.",
            )
        if scenario.width > scenario.people:
            return (
                f"Steps of {scenario.width:,} would round every count of {scenario.people:,} people down to 0. Take "
                f"at most {scenario.people:,}.",
            )
        return ()

    def prepare(self, scenario: InformationScenario, tables: Tables | None) -> Prepared:
        """Compute nothing."""
        return Prepared()

    def assemble(self, scenario: InformationScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out all views and say what they mean."""
        toy = log_loss_toy(scenario.people, scenario.known, coarse_count_channel(scenario.people, scenario.width))
        frame = pd.concat(
            [answer_rows(scenario), slack_rows(), query_rows(scenario), toy_rows(toy), shift_rows()], ignore_index=True
        )
        epsilon = scenario.epsilon
        nats = randomised_response_information(epsilon, scenario.prior)
        worst, worst_prior = mi_dp_level(response_channel(2, epsilon))
        promised = mi_dp_to_slack(worst)
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card(
                    "One answer tells",
                    f"{significant(nats)}\u00a0nats",
                    f"ε allows {epsilon:.3g}"[:18],
                    "Mutual information of the unknown answer and its randomised version, everybody else known; at "
                    "most ε.",
                ),
                Card(
                    "At worst",
                    f"{significant(worst)}\u00a0nats",
                    f"worst π = {worst_prior[1]:.2g}",
                    "The same for the worst chance beforehand: the ε of mutual-information DP of a randomised answer.",
                ),
                Card(
                    "Promised δ",
                    significant(promised) if promised < 1 else "none",
                    f"exact: {significant(exact_slack(epsilon))}",
                    "min(1, √(2 MI)): the (0, δ)-DP that follows from the nats alone; beside it the exact δ.",
                ),
                Card(
                    "Count, average",
                    f"{significant(toy.average)}\u00a0nats",
                    f"worst: {significant(toy.largest)}",
                    f"Drop of the log loss when the count of {scenario.people:,} answers is published and "
                    f"{scenario.known:,} of them are known: average over all counts, and at the worst one.",
                ),
            ),
            shows=self.words(scenario, nats, promised, toy),
            takeaway=(
                f"Nats that a randomised answer tells against epsilon, below the line epsilon. At epsilon {epsilon:g} "
                f"it tells {significant(nats)} nats; the promise that follows from the worst case is delta "
                f"{significant(promised)}."
            ),
            notes=self.notes(scenario),
            formulas=self.formulas(scenario, toy, nats, worst),
            assumptions=(
                "The attacker of differential privacy knows everybody but one person (the worst-case process); the "
                "unknown person is then no longer random, only their answer is. (before Def 2.6)",
                "Randomised answer: the truth with chance e^ε/(1 + e^ε). It is ε-DP, and no ε-DP release of one yes/no "
                "answer tells more than ε nats. (Thm A.9)",
                "Count: answers are exchangeable with every count equally likely, the prior that the Bayes answers "
                "need. Average drop and information agree over that prior, not for each count. (Thm 2.4, corrected)",
                "The predictability of Def 2.3 takes the worst data set: the largest drop over all counts.",
                "Queries of a record: randomised response on that many values, for the worst chances beforehand.",
                "MI-DP from predictability: queries may depend on the data. For queries fixed beforehand the chain "
                "rule over the bits of the record gives ⌈log₂ values⌉ times as much. (Thm 2.7, corrected)",
            ),
            extra={"toy": toy},
        )

    def words(self, scenario: InformationScenario, nats: float, promised: float, toy: LogLossToy) -> str:
        """Say what the numbers show."""
        epsilon = scenario.epsilon
        slack = (
            f"Read back from the nats, that promises δ = {significant(promised, 2)}, where the exact δ is "
            f"{significant(exact_slack(epsilon), 2)}. "
            if promised < 1
            else "Read back from the nats, that promises nothing: √(2 MI) has reached 1. "
        )
        release = "the exact count" if scenario.width == 1 else f"the count in steps of {scenario.width:,}"
        return (
            f"At **ε = {epsilon:g}** a randomised yes/no answer tells **{significant(nats, 2)} nats**, "
            f"{percent(nats / epsilon)} of what ε allows. {slack}"
            f"With {scenario.known:,} of {scenario.people:,} answers known, {release} lowers the log loss by "
            f"{significant(toy.average, 2)} nats on average, by {significant(toy.largest, 2)} at the worst count: the "
            "average is the mutual information, single counts are not."
        )

    def notes(self, scenario: InformationScenario) -> tuple[Note, ...]:
        """Say where a promise is empty."""
        if scenario.epsilon < 0.5:
            return ()
        return (
            Note(
                f"From ε-MI-DP alone follows (0, √(2ε))-DP, which is empty from ε = 0.5 on; yours is "
                f"{scenario.epsilon:g}.",
                title="This conversion promises nothing",
            ),
        )

    def formulas(
        self, scenario: InformationScenario, toy: LogLossToy, nats: float, worst: float
    ) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers."""
        epsilon, k = scenario.epsilon, scenario.record_values
        law, prior = response_channel(k, epsilon), np.full(k, 1 / k)
        fixed, whole = fixed_query_level(k, epsilon), mutual_information(law, prior)
        bits = math.ceil(math.log2(k))
        return (
            Formula(
                "Randomised answer",
                r"\mathrm{MI}=h(\pi(1-f)+(1-\pi)f)-h(f)\le\varepsilon,\qquad f=\frac1{1+e^{\varepsilon}}",
                rf"\pi={scenario.prior:g},\ f={1 / (1 + math.exp(epsilon)):.4g}:\quad {nats:.4g}\le{epsilon:g}",
                "exact",
                "Thm A.9",
            ),
            Formula(
                "Mutual-information DP",
                r"\sup_{\chi,i}\mathrm{MI}(x_i;A\mid S\setminus x_i)\le\varepsilon_{\mathrm{MI}}",
                rf"\varepsilon_{{\mathrm{{MI}}}}={worst:.4g}",
                "exact",
                "Def 2.6",
            ),
            Formula(
                "From MI-DP to (0, δ)-DP",
                r"\delta=\min(1,\sqrt{2\varepsilon_{\mathrm{MI}}})",
                rf"{mi_dp_to_slack(worst):.4g}\quad\text{{(from }}\varepsilon\text{{ alone: }}"
                rf"{mi_dp_to_slack(epsilon):.4g}\text{{; exact }}\tanh(\varepsilon/2)={exact_slack(epsilon):.4g})",
                "bound",
                "after Thm 2.7",
            ),
            Formula(
                "From predictability to MI-DP",
                r"\gamma\ \text{(any query)},\qquad\lceil\log_2|\mathcal X|\rceil\,\gamma\ \text{(fixed queries)}",
                rf"|\mathcal X|={k}:\quad\mathrm{{MI}}={whole:.4g},\ \text{{fixed queries }}\gamma={fixed:.4g},\ "
                rf"{bits}\times{fixed:.4g}={mi_dp_from_predictability(fixed, k, 'fixed'):.4g}",
                "bound",
                "Thm 2.7; corrected for fixed queries (derived)",
            ),
            Formula(
                "Log loss is information",
                r"\sum_SP(S)\,\big(\text{drop of the log loss}\big)=E\,D_{KL}(P_{q\mid C,A}\Vert P_{q\mid C})"
                r"=\mathrm{MI}(q(x);A\mid C)",
                rf"{toy.average:.6g}={toy.divergence:.6g}={toy.information:.6g},\qquad\sup_S={toy.largest:.6g}",
                "exact",
                "Thm 2.4 and its proof; Def 2.3",
            ),
            Formula(
                "Belief shift",
                r"\text{posterior odds}\le e^{\varepsilon}\times\text{prior odds}",
                rf"e^{{{epsilon:g}}}={float(belief_shift(epsilon)):.6g},\qquad e^{{20}}={float(belief_shift(20)):.5g}",
                "bound",
                "§1, Def A.2",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe one of the four views."""
        if view == "toy":
            return self.toy_chart(result)
        if view == "query":
            return self.query_chart(result)
        if view == "shift":
            return self.shift_chart(result)
        scenario: Any = result.scenario
        x = Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε")
        here = (scenario.epsilon, f"your ε = {scenario.epsilon:g}")
        left = drawn(
            result,
            "answer",
            (
                ("upper bound", LINE_, "bound<br>γ ≤ ε", "ε allows {y} nats"),
                ("attacker", RESPONSE, "randomised<br>answer", "a randomised answer tells {y} nats"),
            ),
        )
        right = drawn(
            result,
            "slack",
            (
                ("upper bound", SLACK_EPSILON, "from ε:<br>√(2ε)", "promised from ε alone: δ = {y}"),
                ("private", SLACK_INFORMATION, "from nats:<br>√(2 MI)", "promised from the nats: δ = {y}"),
                ("truth", SLACK_EXACT, "exact δ", "exact: δ = {y}"),
            ),
        )
        return Chart(
            "What a randomised answer tells, and what that promises",
            "everybody else known; first panel: log scale",
            x,
            Axis("nats", "log", unit="nats"),
            (
                Panel(left, "Information, nats", here, y=Axis("nats", "log", unit="nats")),
                Panel(right, "δ of (0, δ)-DP", here, y=Axis("δ", "linear", 0.0, 1.05)),
            ),
            columns=2,
            shared_y=False,
        )

    def toy_chart(self, result: Result) -> Chart:
        """Describe the drop of the log loss by count, and its average on the information."""
        scenario: Any = result.scenario
        rows = result.series(GAP, PANELS["toy"])
        toy = result.extra["toy"]
        x = rows["x"].to_numpy(dtype=np.float64)
        marks = (Bars("attacker", x, rows["y"].to_numpy(), GAP, hover="this count: {y} nats"),)
        level_lines = (
            (toy.average, f"average = information: {significant(toy.average)}"),
            (toy.largest, f"worst count: {significant(toy.largest)}"),
        )
        what = "exact count" if scenario.width == 1 else f"count in steps of {scenario.width:,}"
        return Chart(
            f"Drop of the log loss by count ({what})",
            f"nats; {scenario.known:,} of {scenario.people:,} answers are known",
            Axis("answers that are yes, of all", "linear", -0.7, scenario.people + 0.7, symbol="count"),
            Axis("drop", "linear", unit="nats"),
            (Panel(marks, level_lines=level_lines),),
        )

    def query_chart(self, result: Result) -> Chart:
        """Describe what queries fixed beforehand see of a record with several values."""
        scenario: Any = result.scenario
        marks = drawn(
            result,
            "query",
            (
                (
                    "upper bound",
                    SCALED,
                    f"{math.ceil(math.log2(scenario.record_values))} × best<br>query",
                    SCALED + ": {y} nats",
                ),
                ("attacker", WHOLE, "whole<br>record", "the whole record: {y} nats"),
                ("non-private", FIXED, "best fixed<br>query", "best fixed yes/no query: {y} nats"),
            ),
        )
        return Chart(
            f"Information about a record with {scenario.record_values} values",
            "nats; randomised response, worst prior chances",
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε"),
            Axis("information", "log", unit="nats"),
            (Panel(marks, here=(scenario.epsilon, f"your ε = {scenario.epsilon:g}")),),
        )

    def shift_chart(self, result: Result) -> Chart:
        """Describe the factor by which ε lets odds move."""
        scenario: Any = result.scenario
        marks = drawn(result, "shift", (("upper bound", SHIFT, "bound e^ε", "odds move by at most {y}"),))
        return Chart(
            "How far the odds of anything may move",
            "factor e^ε on the odds, log scale",
            Axis("ε", "linear", 0.0, 20.0, symbol="ε"),
            Axis("factor", "log"),
            (
                Panel(
                    marks,
                    here=(
                        scenario.epsilon,
                        f"your ε = {scenario.epsilon:g}: {ratio(float(belief_shift(scenario.epsilon)))}",
                    ),
                ),
            ),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        wanted = ("answer", "slack") if view == "nats" else (view,)
        return result.frame[result.frame["panel"].isin([PANELS[name] for name in wanted if name in PANELS])]


Look = tuple[Role, str, str, str]


def drawn(result: Result, panel: str, looks: Sequence[Look]) -> tuple[Line, ...]:
    """Describe curves of one panel: role, series, end label, hover phrase; the attacker's or private one is bold."""
    out = []
    for role, name, label, hover in looks:
        rows = result.series(name, PANELS[panel])
        out.append(
            Line(
                role,
                rows["x"].to_numpy(dtype=np.float64),
                rows["y"].to_numpy(dtype=np.float64),
                name,
                label,
                main=role in ("attacker", "private"),
                hover=hover,
            )
        )
    return tuple(out)


def answer_rows(scenario: InformationScenario) -> pd.DataFrame:
    """Return the nats of a randomised answer against ε, and the line y = ε (Thm A.9, R6)."""
    nats = np.array([randomised_response_information(float(e), scenario.prior) for e in EPSILONS])
    return tidy([(LINE_, EPSILONS, EPSILONS, 0.0), (RESPONSE, EPSILONS, nats, 0.0)], panel=PANELS["answer"])


def slack_rows() -> pd.DataFrame:
    """Return what the nats of the worst prior promise, beside the exact δ (after Thm 2.7, R4)."""
    worst = [randomised_response_information(float(e)) for e in EPSILONS]
    return tidy(
        [
            (SLACK_EPSILON, EPSILONS, np.array([mi_dp_to_slack(float(e)) for e in EPSILONS]), 0.0),
            (SLACK_INFORMATION, EPSILONS, np.array([mi_dp_to_slack(one) for one in worst]), 0.0),
            (SLACK_EXACT, EPSILONS, np.array([exact_slack(float(e)) for e in EPSILONS]), 0.0),
        ],
        panel=PANELS["slack"],
    )


def query_rows(scenario: InformationScenario) -> pd.DataFrame:
    """Return the information about a whole record and its best fixed yes/no query, worst chances (Thm 2.7, E9)."""
    k = scenario.record_values
    prior = np.full(k, 1 / k)
    grid = EPSILONS[::2]
    whole = np.array([mutual_information(response_channel(k, float(e)), prior) for e in grid])
    fixed = np.array([fixed_query_level(k, float(e)) for e in grid])
    scaled = np.array([mi_dp_from_predictability(float(one), k, "fixed") for one in fixed])
    return tidy(
        [(SCALED, grid, scaled, 0.0), (WHOLE, grid, whole, 0.0), (FIXED, grid, fixed, 0.0)], panel=PANELS["query"]
    )


def fixed_query_level(values: int, epsilon: float) -> float:
    """Return the largest information of a yes/no query fixed beforehand, for the worst chances of the values.

    Information is convex in the channel, so the worst chances leave one value on either side of the query, and by
    symmetry half and half. Derived, checked in tests/unit/studies/test_information_view.py.
    """
    return mutual_information(response_channel(values, epsilon)[:, :2], np.array([0.5, 0.5]))


def toy_rows(toy: LogLossToy) -> pd.DataFrame:
    """Return the drop of the log loss at each count, and its average (Thm 2.4, R5)."""
    flat = np.full(toy.counts.size, 1.0)
    return tidy(
        [
            (GAP, toy.counts, toy.gaps, 0.0),
            (MEAN_GAP, toy.counts, toy.average * flat, 0.0),
            (INFORMATION, toy.counts, toy.information * flat, 0.0),
        ],
        panel=PANELS["toy"],
    )


def shift_rows() -> pd.DataFrame:
    """Return the factor by which ε lets odds move (section 1, R1)."""
    grid = np.linspace(0.0, 20.0, 41)
    return tidy([(SHIFT, grid, belief_shift(grid), 0.0)], panel=PANELS["shift"])


__all__ = ["InformationScenario", "InformationView", "exact_slack", "fixed_query_level", "response_channel"]
