"""Smokers: what a private rate tells about everybody outside a leaked shard (predictability V7)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.predictability import RatePosterior, ShardProcess, belief_shift, laplace_scale, rate_posterior
from privexplorer.privacy import LaplaceNoise
from privexplorer.records import Epsilon, Number, Scenario, field
from privexplorer.studies._predictability import CompromisedFraction
from privexplorer.studies.base import Preset, Study
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Role, Spread
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, ratio

EPSILONS = np.array([float(f"{value:.6g}") for value in np.geomspace(0.01, 10.0, 25)])
PEOPLE = (20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000)
PANELS = {"belief": "belief", "epsilon": "against ε", "people": "against N"}
BEFORE, AFTER = "before the release", "after the release"
MIDDLE, WITHOUT = "believed share", "before"


class SmokersScenario(Scenario):
    """A noisy rate and a leaked shard."""

    people: Annotated[int, Number] = field(
        1_000,
        "People N",
        "How many people the table holds.",
        key="people",
        group="Data",
        scale="log",
        low=20,
        high=20_000,
        ge=20,
        le=20_000,
    )
    compromised: CompromisedFraction = 0.3
    known_rate: Annotated[float, Number] = field(
        0.1,
        "Smokers among the known people",
        "Share of smokers in the part of the table that has leaked.",
        key="known",
        group="Attacker",
        ge=0,
        le=1,
    )
    prior: Literal["exchangeable", "flat"] = field(
        "exchangeable",
        "What the known people say about the others",
        "A random shard resembles the rest; one server that leaked may hold quite different people.",
        key="prior",
        group="Attacker",
        titles={"exchangeable": "They are a random sample", "flat": "Nothing"},
    )
    released_rate: Annotated[float, Number] = field(
        0.3,
        "Published share of smokers",
        "Of all people, noise included.",
        key="released",
        group="Privacy",
        ge=0,
        le=1,
    )
    epsilon: Epsilon = 0.5


@dataclass(frozen=True)
class Prepared:
    """Nothing is worth keeping: every belief is a closed form of the scenario."""


@dataclass(frozen=True, eq=False)
class Told:
    """What the page says about one release."""

    view: RatePosterior
    low: float
    high: float
    odds: float


def known_people(people: int, compromised: float) -> int:
    """Size of the shard: at least 1, at most everybody but one."""
    return ShardProcess(people, compromised).draws


def posterior(scenario: SmokersScenario, people: int, epsilon: float) -> RatePosterior:
    """Beliefs about the unknown people before and after the release."""
    known = known_people(people, scenario.compromised)
    return rate_posterior(
        people,
        known,
        round(scenario.known_rate * known),
        scenario.released_rate,
        LaplaceNoise(laplace_scale(people, epsilon)),
        scenario.prior,
    )


def interval(view: RatePosterior, level: float = 0.95) -> tuple[float, float]:
    """Return where the believed share lies with this probability, equal tails."""
    below = np.cumsum(view.after)
    last = view.rates.size - 1
    places = np.searchsorted(below, [(1 - level) / 2, (1 + level) / 2])
    low, high = (float(view.rates[min(int(place), last)]) for place in places)
    return low, high


def odds(chance: float) -> float:
    """Return p/(1-p)."""
    return chance / (1 - chance) if chance < 1 else math.inf


def steps(view: RatePosterior, chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return shares in per cent and the chance of each in per cent: every possible one, or steps of 1%.

    Parameters
    ----------
    view : RatePosterior
        Its rates.
    chances : (m + 1,) float array
        One per rate.
    """
    if view.rates.size <= 101:
        return 100 * view.rates, 100 * chances
    share = np.bincount(np.rint(100 * view.rates).astype(np.int64), chances, minlength=101)
    return np.arange(101.0), np.asarray(100.0 * share, dtype=np.float64)


class Smokers(Study[SmokersScenario]):
    """Beliefs about the unknown people before and after a private rate."""

    id: ClassVar[str] = "smokers"
    question: ClassVar[str] = "What does a private rate say about everybody who has not leaked?"
    lead: ClassVar[str] = (
        "A table holds who smokes. A part of it has leaked; then its share of smokers is published with noise for "
        "differential privacy."
    )
    tab: ClassVar[str] = "Smokers"
    card: ClassVar[str] = "Few smokers in the leaked part, many in the published rate: so the others smoke."
    link: ClassVar[str] = "Read the others off a rate"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "posterior"
    scenario: ClassVar[type[Scenario]] = SmokersScenario
    late: ClassVar[frozenset[str]] = frozenset(SmokersScenario.model_fields)
    views: ClassVar[Mapping[str, str]] = {
        "belief": "Belief",
        "epsilon": "Against ε",
        "people": "Against N",
    }
    rows: ClassVar[tuple[str, ...]] = ("P-X2", "P-E1", "P-D2.2")

    def presets(self) -> tuple[Preset[SmokersScenario], ...]:
        """Finished examples."""
        make = SmokersScenario
        return (
            Preset("Smokers elsewhere", make()),
            Preset("Much noise", make(epsilon=0.1)),
            Preset("One server leaked", make(prior="flat", epsilon=0.1)),
            Preset("A typical shard", make(known_rate=0.28, epsilon=0.1)),
            Preset("A hundred people", make(people=100)),
        )

    def prepare(self, scenario: SmokersScenario, tables: Tables | None) -> Prepared:
        """Compute nothing."""
        return Prepared()

    def assemble(self, scenario: SmokersScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out the beliefs and say what they mean."""
        view = posterior(scenario, scenario.people, scenario.epsilon)
        belief = tidy(
            [(BEFORE, *steps(view, view.before), 0.0), (AFTER, *steps(view, view.after), 0.0)], panel=PANELS["belief"]
        )
        frame = pd.concat(
            [
                belief.assign(low=np.nan, high=np.nan),
                swept("epsilon", EPSILONS, [posterior(scenario, scenario.people, float(e)) for e in EPSILONS]),
                swept("people", np.array(PEOPLE), [posterior(scenario, n, scenario.epsilon) for n in PEOPLE]),
            ],
            ignore_index=True,
        )
        low, high = interval(view)
        told = Told(view, low, high, odds(view.mean_after) / odds(view.mean_before))
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=self.cards(scenario, told),
            shows=self.words(scenario, told),
            takeaway=(
                f"Belief about the share of smokers among the unknown people: {percent(view.mean_before)} before the "
                f"release, {percent(view.mean_after)} after it, between {percent(low)} and {percent(high)} with "
                "probability 19 of 20."
            ),
            notes=self.notes(scenario, view),
            formulas=self.formulas(scenario, told),
            assumptions=(
                "The attacker knows exactly who is in the leaked part and who of them smokes, and nothing about the "
                "others; each unknown person is as likely to be the one in question. (Def 2.1, Def 2.2, Eq. 1)",
                "“Nothing”: every number of smokers among the unknown people is equally likely beforehand. “A random "
                "sample”: every number of smokers among all people is, so that the known ones tell about the others.",
                "The published share carries Laplace noise of scale 1/(Nε); it is the one set in the form, not drawn.",
                "ε limits how much one person's own record moves the answer. What the table says about a group moves "
                "beliefs about everybody in it, whether or not their own record is in the table.",
            ),
            extra={"view": view},
        )

    def cards(self, scenario: SmokersScenario, told: Told) -> tuple[Card, ...]:
        """Four headline numbers."""
        view = told.view
        return (
            Card(
                "Believed after",
                percent(view.mean_after),
                f"before: {percent(view.mean_before)}",
                "Mean of the belief about the share of smokers among the unknown people; also the best answer under "
                "squared loss for any one of them.",
            ),
            Card(
                "19 times of 20",
                f"{percent(told.low)} to {percent(told.high)}",
                "after the release",
                "Interval of the share among the unknown people, equal tails.",
            ),
            Card(
                "Odds of one person",
                ratio(max(told.odds, 1 / told.odds)),
                "higher than before" if told.odds >= 1 else "lower than before",
                "How much the odds that a given unknown person smokes have moved, because the group is better known.",
            ),
            Card(
                "DP allows",
                ratio(float(belief_shift(scenario.epsilon))),
                "by one own record",
                f"e^ε at ε = {scenario.epsilon:g}: the most that the odds of anything can move because one record is "
                "in the table.",
            ),
        )

    def words(self, scenario: SmokersScenario, told: Told) -> str:
        """Say what the numbers show."""
        view, people = told.view, scenario.people
        known = known_people(people, scenario.compromised)
        implied = view.implied_rate
        allowed = float(belief_shift(scenario.epsilon))
        first = (
            f"**{known:,} of {people:,} people** have leaked, {percent(scenario.known_rate)} of them smokers; the "
            f"published share is {percent(scenario.released_rate)} with **ε = {scenario.epsilon:g}**. The belief about "
            f"the other {people - known:,} moves from {percent(view.mean_before)} to **{percent(view.mean_after)}** "
            f"({percent(told.low)} to {percent(told.high)}"
        )
        first += f"; without noise the rate implies {percent(implied)}). " if 0 <= implied <= 1 else "). "
        moved = max(told.odds, 1 / told.odds)
        second = f"The odds that any one of them smokes move by {ratio(moved)}, "
        if moved > allowed:
            second += (
                f"more than the {ratio(allowed)} that ε allows for a person's own record. That is no contradiction: "
                "without that record the release would say nearly the same. "
            )
        else:
            second += f"within the {ratio(allowed)} that ε allows for a person's own record. "
        return first + second + "Differential privacy hides one record, not what is true of a group."

    def notes(self, scenario: SmokersScenario, view: RatePosterior) -> tuple[Note, ...]:
        """Say where the numbers contradict each other."""
        if 0 <= view.implied_rate <= 1:
            return ()
        return (
            Note(
                f"With {percent(scenario.known_rate)} smokers among the known people a share of "
                f"{percent(scenario.released_rate)} is only possible with noise: without it the others would have a "
                f"share of {percent(view.implied_rate)}."
            ),
        )

    def formulas(self, scenario: SmokersScenario, told: Told) -> tuple[Formula, ...]:
        """Write the formulas with the current numbers."""
        view, people = told.view, scenario.people
        known = known_people(people, scenario.compromised)
        scale = laplace_scale(people, scenario.epsilon)
        held = round(scenario.known_rate * known)
        return (
            Formula(
                "What the rate implies without noise",
                r"p_U=\frac{A-\alpha\,p_C}{1-\alpha}",
                rf"\frac{{{scenario.released_rate:g}-{held / people:.4g}}}{{{1 - known / people:.4g}}}"
                rf"={view.implied_rate:.4g}",
                "exact",
                "predictability §8 V7, Thm A.19",
            ),
            Formula(
                "The unknown person",
                r"\Pi=\mathrm{Unif}(S\setminus C(S))",
                rf"N-n={people:,}-{known:,}={people - known:,}:\quad\text{{each }}{1 / (people - known):.3g}",
                "exact",
                "Eq. (1)",
            ),
            Formula(
                "Best answer under squared loss",
                r"\hat\theta^*=E[q(x)\mid C,A],\qquad P(u\mid C,A)\propto P(u\mid C)\,e^{-|A-(k+u)/N|/b}",
                rf"b=\frac1{{N\varepsilon}}={scale:.3g}:\quad E[q\mid C]={view.mean_before:.4g},\quad "
                rf"E[q\mid C,A]={view.mean_after:.4g}",
                "exact",
                "Def 2.2; prior stated below",
            ),
            Formula(
                "What ε limits",
                r"\frac{P(A\in E\mid S)}{P(A\in E\mid S')}\le e^{\varepsilon}",
                rf"e^{{{scenario.epsilon:g}}}={float(belief_shift(scenario.epsilon)):.4g}",
                "bound",
                "Def A.2",
            ),
        )

    # ---- charts ----

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the beliefs, or how they sharpen with ε or with N."""
        scenario: Any = result.scenario
        if view != "belief" and view in PANELS:
            return self.swept_chart(result, view)
        looks: tuple[tuple[Role, str, str], ...] = (
            ("non-private", BEFORE, "before"),
            ("attacker", AFTER, "after"),
        )
        marks = []
        for role, name, label in looks:
            x, y = supported(*columns(result.series(name)))
            marks.append(Line(role, x, y, name, label, main=label == "after", hover=f"{name}: {{y}}%"))
        coarse = result.extra["view"].rates.size > 101
        return Chart(
            "Belief about the people who have not leaked",
            "chance of each share, in steps of 1%" if coarse else "chance of each possible share",
            Axis("share of smokers among them", "linear", 0.0, 100.0, symbol="share", unit="%"),
            Axis("chance", "linear", 0.0, unit="%"),
            (Panel(tuple(marks), here=(100 * scenario.known_rate, f"known: {percent(scenario.known_rate)}")),),
        )

    def swept_chart(self, result: Result, view: str) -> Chart:
        """Describe the believed share against ε or N, with where it lies 19 times of 20."""
        scenario: Any = result.scenario
        rows = result.series(MIDDLE, PANELS[view])
        x = rows["x"].to_numpy(dtype=np.float64)
        marks = (
            Spread(
                "attacker",
                x,
                rows["low"].to_numpy(dtype=np.float64),
                rows["high"].to_numpy(dtype=np.float64),
                "19 times of 20",
            ),
            Line(
                "non-private",
                *columns(result.series(WITHOUT, PANELS[view])),
                WITHOUT,
                "before",
                hover="before the release: {y}%",
            ),
            Line("attacker", x, rows["y"].to_numpy(), MIDDLE, "after", main=True, hover="after the release: {y}%"),
        )
        if view == "epsilon":
            axis = Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε")
            here = (scenario.epsilon, f"your ε = {scenario.epsilon:g}")
        else:
            axis = Axis("people N in the table", "log", symbol="N")
            here = (float(scenario.people), f"your N = {scenario.people:,}")
        return Chart(
            "Believed share of smokers among the others",
            f"published share {percent(scenario.released_rate)}; band: 19 times of 20",
            axis,
            Axis("share", "linear", 0.0, 100.0, unit="%"),
            (Panel(marks, here=here),),
        )

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        rows = result.frame[result.frame["panel"] == PANELS[view]]
        return rows.drop(columns=["low", "high"]) if view == "belief" else rows


def columns(rows: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """Return x and y of a series."""
    return rows["x"].to_numpy(dtype=np.float64), rows["y"].to_numpy(dtype=np.float64)


def supported(x: FloatArray, y: FloatArray, least: float = 0.02) -> tuple[FloatArray, FloatArray]:
    """Cut off both ends of a curve where it is below ``least`` per cent, one point of it left on either side."""
    kept = np.flatnonzero(y >= least)
    if not kept.size:
        return x, y
    start, stop = max(int(kept[0]) - 1, 0), int(kept[-1]) + 2
    return x[start:stop], y[start:stop]


def swept(view: str, x: FloatArray, found: Sequence[RatePosterior]) -> pd.DataFrame:
    """Lay out believed shares and their intervals, in per cent."""
    ends = 100 * np.array([interval(one) for one in found])
    after = np.array([100 * one.mean_after for one in found])
    before = np.array([100 * one.mean_before for one in found])
    parts = (
        tidy([(MIDDLE, x, after, 0.0)]).assign(low=ends[:, 0], high=ends[:, 1]),
        tidy([(WITHOUT, x, before, 0.0)]).assign(low=np.nan, high=np.nan),
    )
    return pd.concat(parts, ignore_index=True).assign(panel=PANELS[view])


__all__ = ["Smokers", "SmokersScenario", "interval", "known_people", "posterior"]
