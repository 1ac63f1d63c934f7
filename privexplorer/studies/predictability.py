"""How much does a release tell an attacker who already holds a part of the table? (predictability §1.3, Thm 3.6)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer import predictability as pr
from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.errors import UnsupportedCombination
from privexplorer.records import Number, Scenario, Seed, Trials, field
from privexplorer.studies import _leaks as leaking
from privexplorer.studies import _picked as picking
from privexplorer.studies._asking import (
    Asked,
    Summed,
    in_quotes,
    log_loss_problem,
    marks_stand,
    realised,
    summed,
)
from privexplorer.studies._predictability import (
    ABOUT_GROUPS,
    ASKED_BY_ANY_LEAK,
    FRACTIONS,
    GAUSSIAN_ONLY,
    NOT_PRIVATE,
    PRINTED_LOOSE,
    SHARED_NOISE,
    Clinic,
    CompromisedFraction,
    DataChoice,
    LinearPopulation,
    LossChoice,
    NoiseScaleChoice,
    OwnTable,
    check_leaked,
)
from privexplorer.studies._release_choices import (
    ANY,
    UNTHEORIED,
    AnyLeakChoice,
    EverybodyButOne,
    LeakedShard,
    OneCondition,
    PublishedChoice,
    PublishedMeans,
    PublishedRate,
    PublishedRegression,
    QuestionChoice,
    StickyDraws,
    TwoConditions,
    problems_of,
)
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Bars, Chart, Line, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result
from privexplorer.studies.words import percent, plain_markdown, significant, with_unit

NOISE_POINTS = 61
SHOWN_ALPHAS = np.concatenate([np.arange(0.02, 0.1, 0.01), np.arange(0.1, 0.991, 0.02)])
"""Compromised fractions of the curves."""
PRINTED, TIGHT, GAIN = "printed bound", "tightest bound", "realised gain"
SCHWARZ, ATTACKER, ORACLE = "Cauchy-Schwarz bound", "simulated attacker", "simulated oracle"
BEFORE, WITH = "no noise", "your noise"
CLIPPED = (
    "Under log loss the bounds take τ = min(p, 1 − p), as printed; H = 1/τ² supposes that the answers lie in "
    "[τ, 1 − τ], too, not the truth alone (corrected). Answers scatter around the truth, so the simulated attacker is "
    "clipped at half that τ."
)
HALF: tuple[tuple[float, str], ...] = ((0.5, "one half"),)
"""Where the printed bound is lowest without noise."""
TAIL = 0.05
"""Failure probability of the quoted high-probability bound."""

Asks = Literal["own", "easiest", "middle", "least"]
Curves = Literal["usual", "all", "questions"]


class PredictabilityScenario(Scenario):
    """What is published, asked and leaked."""

    data: DataChoice = field(Clinic(), "People", "Whose table it is.", key="data", group="Data", discriminator="kind")
    also: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=400)], ...], Field(max_length=30)] = field(
        (), "Also ask about", "Further columns of your table about which questions are prepared.",
        key="also", group="Data", column_of="data", kinds=ANY, advanced=True,
    )  # fmt: skip
    published: PublishedChoice = field(
        PublishedMeans(), "You publish", "Numbers computed from everybody.", key="publish", group="Data",
        discriminator="kind",
    )  # fmt: skip
    noise: pr.Noise = field(
        pr.Isotropic(std=0.5), "Noise", "What is added to the published numbers, once.", key="noise", group="Privacy",
        discriminator="kind",
    )  # fmt: skip
    further_noise: pr.Noise = field(
        pr.NoNoise(), "Further noise", "An independent second noise; both add up.", key="noise2", group="Privacy",
        discriminator="kind", advanced=True,
    )  # fmt: skip
    bounds: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=400)], ...], Field(max_length=60)] = field(
        ("pressure 60 240",), "Public bounds",
        "For noise with differential privacy: each column, its smallest and its largest possible value, such as "
        "bmi 10 80, age 0 120.",
        key="bounds", group="Privacy", advanced=True,
    )  # fmt: skip
    question: QuestionChoice = field(
        OneCondition(), "Sensitive question", ASKED_BY_ANY_LEAK, key="ask", group="Attacker", discriminator="kind",
    )  # fmt: skip
    shown: Asks = field(
        "own", "Show", "Your own question, or one of the prepared ones by how much easier it gets.", key="show",
        group="Attacker",
        titles={
            "own": "My question", "easiest": "The prepared one that gets easiest", "middle": "The one in the middle",
            "least": "The one that gains least",
        },
    )  # fmt: skip
    leak: AnyLeakChoice = field(
        LeakedShard(), "What has leaked", "How the attacker came by its records.", key="leak", group="Attacker",
        discriminator="kind",
    )  # fmt: skip
    compromised: CompromisedFraction = field(
        0.3, "Compromised fraction α", "Share of the people whose records the attacker already holds.",
        key="compromised", group="Attacker", scale="linear", low=0.01, high=0.95,
    )  # fmt: skip
    loss: LossChoice = "squared"
    tau: Annotated[float, Number] = field(
        0.0, "Clipping level τ",
        "Under log loss answers lie between τ and 1 − τ; the smaller τ, the larger the bounds. 0: as large as the "
        "truth allows, the smaller of p and 1 − p.",
        key="tau", group="Attacker", when=("loss", "log"), advanced=True, ge=0, le=0.5,
    )  # fmt: skip
    noise_scale: NoiseScaleChoice = "release"
    curves: Curves = field(
        "usual", "Curves", "More bounds and the oracle, or one curve per question.", key="curves", group="Method",
        titles={
            "usual": "Two bounds, gain, attacker", "all": "All bounds and the oracle",
            "questions": "The gain of several questions",
        },
    )  # fmt: skip
    trials: Trials = 200
    seed: Seed = 0

    @property
    def level(self) -> float | None:
        """The visitor's clipping level; None for the usual one, or where no loss is clipped."""
        return self.tau if self.loss == "log" and self.tau > 0 else None


@dataclass(frozen=True, eq=False)
class Prepared:
    """People summed out, and what the simulated attacker needs (or why there is none)."""

    asked: Asked
    leaks: leaking.Leaks | None
    why_none: str


@dataclass(frozen=True, eq=False)
class Moment:
    """The visitor's present choice, worked out."""

    place: int
    size: pr.AttackSize
    law: pr.NoiseLaw
    now: pr.Predictability
    clean: pr.Predictability
    std: float
    """Root mean square of the noise on the published numbers."""
    r2: FloatArray
    """Of all questions."""
    rho2: FloatArray
    """Of all questions, without noise."""


def is_percent(asked: Asked, place: int) -> bool:
    """Whether a question is answered by yes or no, so that errors are in percentage points."""
    return bool(asked.summary.query_binary[place])


def error_text(variance: float, yes_no: bool) -> str:
    """Write a typical error: percentage points for yes/no questions."""
    root = math.sqrt(max(variance, 0.0))
    return with_unit(significant(100 * root, 3), "pp") if yes_no else significant(root, 3)


class PredictabilityStudy(Study[PredictabilityScenario]):
    """γ against noise, against the compromised fraction, and question by question."""

    id: ClassVar[str] = "predictability"
    question: ClassVar[str] = "What does my release tell somebody who already holds part of the table?"
    lead: ClassVar[str] = (
        "You publish numbers from a table, part of which has leaked. Which questions about its people get easier?"
    )
    tab: ClassVar[str] = "Noise and leak"
    card: ClassVar[str] = "What a release adds to a leak: by how much, what noise helps, and what it costs."
    link: ClassVar[str] = "See what a release tells"
    theme: ClassVar[str] = "predictability"
    picture: ClassVar[str] = "leak"
    scenario: ClassVar[type[Scenario]] = PredictabilityScenario
    late: ClassVar[frozenset[str]] = frozenset(
        {"noise", "further_noise", "compromised", "loss", "tau", "noise_scale", "shown", "curves", "trials"}
    )
    views: ClassVar[Mapping[str, str]] = {
        "noise": "Noise", "fraction": "Compromised fraction", "questions": "Which questions",
    }  # fmt: skip
    rows: ClassVar[tuple[str, ...]] = (
        "P-L2.9", "P-L2.9H", "P-X11", "P-X12", "P-T3.6", "P-T3.6c0", "P-T3.6hp", "P-X16", "P-R3.7a", "P-R3.7b",
        "P-T4.1", "P-T4.2", "P-C3.8", "P-X19", "P-TA.19", "P-X3", "P-X26",
    )  # fmt: skip

    def presets(self) -> tuple[Preset[PredictabilityScenario], ...]:
        """Finished examples."""
        make = PredictabilityScenario
        return (
            Preset("A clinic's mean", make()),
            Preset(
                "A rate",
                make(
                    published=PublishedRate(),
                    noise=pr.LaplaceForPrivacy(epsilon=0.5),
                    question=TwoConditions(
                        column="diabetic", sign="=", value="1", second_column="weight", second_value="90"
                    ),
                ),
            ),
            Preset(
                "A regression",
                make(
                    data=LinearPopulation(),
                    published=PublishedRegression(outcome="y", features=("x1", "x2", "x3")),
                    noise=pr.Calibrated(level=1.0),
                    question=OneCondition(column="secret"),
                    compromised=0.1,
                ),
            ),
            Preset(
                "A table: diabetes",
                make(
                    data=OwnTable(),
                    also=("bmi", "age", "bp"),
                    published=PublishedMeans(columns=("progression",)),
                    noise=pr.Isotropic(std=3.0),
                    question=OneCondition(column="bmi", sign=">", value="30"),
                    bounds=("progression 0 400",),
                ),
            ),
        )

    def check(self, scenario: PredictabilityScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        parts = (scenario.published, scenario.question, scenario.leak)
        return problems_of(scenario.data, parts, scenario.bounds) or log_loss_problem(scenario.loss, scenario.question)

    def prepare(self, scenario: PredictabilityScenario, tables: Tables | None) -> Prepared:
        """Read the people once: sums for the formulas, and rows for the simulated attacker."""
        found = summed(
            scenario.data, tables, scenario.published, (scenario.question,), scenario.leak, prepared=True,
            also=scenario.also, bounds=scenario.bounds,
        )  # fmt: skip
        asked, people, fitted, queries = found.asked, found.people, found.fitted, found.queries
        height, m = 1 + queries.width + fitted.width, fitted.width
        reason = fitted.attack_reason() or ""
        if isinstance(scenario.leak, UNTHEORIED):
            if reason:
                raise UnsupportedCombination(f"{reason} {picking.NEITHER}")
            return Prepared(asked, self.one_leak(scenario, found), "")
        if isinstance(scenario.leak, StickyDraws):
            reason = "The simulated attacker who walks over groups is drawn where attackers are compared."
        elif height > leaking.ROW_LIMIT + 1 or leaking.work(people.n, height) > leaking.PRODUCT_LIMIT * 4:
            reason = "So many people and numbers would make the simulation slow, so only the formulas are drawn."
        counts = leaking.leak_counts(FRACTIONS, people.n, m, isinstance(scenario.leak, LeakedShard))
        if not reason and counts.size == 0:
            reason = "There are too few people for so many published numbers, so no attacker is simulated."
        if reason:
            return Prepared(asked, None, reason)
        leaks = leaking.prepare_leaks(
            people.table,
            queries.evaluate(people.table),
            asked.summary,
            fitted,
            scenario.leak.process(people.n, int(counts[-1]), people.table),
            counts,
            scenario.seed,
            self.block_trials(scenario),
        )
        return Prepared(asked, leaks, "")

    def one_leak(self, scenario: PredictabilityScenario, found: Summed) -> leaking.Leaks:
        """Lay out the one leak of an attacker who picks, or the leaks of one who knows everybody but one."""
        n, table = found.people.n, found.people.table
        return leaking.prepare_leaks(
            table,
            found.queries.evaluate(table),
            found.asked.summary,
            found.fitted,
            scenario.leak.process(n, n - 1, table),
            leaking.leak_counts(FRACTIONS, n, found.fitted.width, True),
            scenario.seed,
            1,
        )

    def block_trials(self, scenario: PredictabilityScenario) -> int:
        """Return the attacks of a block: fewer for more people, four for a table of unknown length."""
        people = getattr(scenario.data, "people", None if isinstance(scenario.data, OwnTable) else 20)
        return 4 if people is None else int(np.clip(40_000 // people, 1, 16))

    def blocks(self, scenario: PredictabilityScenario) -> int:
        """Return the number of blocks."""
        if isinstance(scenario.leak, (StickyDraws, *UNTHEORIED)):
            return 0
        return blocks_for(scenario.trials, self.block_trials(scenario))

    def run_block(self, prepared: Prepared, block: int) -> FloatArray:
        """Simulate one block of leaks; nothing where no attacker can be simulated."""
        if prepared.leaks is None:
            return np.zeros((1, 0, 0))
        return leaking.run_leaks(prepared.leaks, block)

    def assemble(self, scenario: PredictabilityScenario, prepared: Prepared, parts: Sequence[FloatArray]) -> Result:
        """Work out the curves for the present noise and leak, and tell them."""
        asked = prepared.asked
        if prepared.leaks is not None and isinstance(asked.leak, UNTHEORIED):
            return self.told_exactly(scenario, asked, prepared.leaks)
        check_leaked(scenario.compromised, asked.n, isinstance(asked.leak, LeakedShard))
        moment = self.moment(scenario, asked)
        one = asked.summary.select(queries=[moment.place])
        attacks = None
        if prepared.leaks is not None and parts:
            attacks = leaking.unpack(prepared.leaks, stacked(parts, scenario.trials), moment.place)
        frame = laid_out(
            {
                "noise": self.noise_rows(scenario, asked, moment, one, attacks),
                "fraction": self.fraction_rows(scenario, asked, moment, one, attacks),
                "questions": self.question_rows(moment, asked),
            }
        )
        return self.told(scenario, prepared, moment, frame, attacks)

    def moment(self, scenario: PredictabilityScenario, asked: Asked) -> Moment:
        """Work out the present choice: which question, which noise, how predictable."""
        size = asked.size(scenario.compromised)
        multiplier = size.multiplier(scenario.noise_scale)
        law = asked.law([scenario.noise, scenario.further_noise], multiplier)
        summary = asked.summary
        spectrum = pr.noise_spectrum(summary, law.covariance, multiplier)
        place = shown_place(scenario.shown, spectrum.r2())
        one = summary.select(queries=[place])
        mine = pr.noise_spectrum(one, law.covariance, multiplier)
        now = pr.from_spectrum(one, mine, size, multiplier, loss=scenario.loss, tau=scenario.level)
        clean = pr.from_spectrum(one, mine, size, multiplier, level=0.0, loss=scenario.loss, tau=scenario.level)
        std = math.sqrt(float(np.trace(law.covariance)) / law.covariance.shape[0])
        return Moment(place, size, law, now, clean, std, spectrum.r2(), spectrum.rho2)

    def noise_rows(
        self,
        scenario: PredictabilityScenario,
        asked: Asked,
        moment: Moment,
        one: pr.MomentSummary,
        attacks: leaking.Attacks | None,
    ) -> list[Row]:
        """Curves against the noise on the published numbers."""
        stds, shape = noises_shown(asked, moment)
        sweep = pr.noise_sweep(
            one,
            moment.size,
            shape,
            np.square(stds),
            noise_scale=scenario.noise_scale,
            loss=scenario.loss,
            tau=scenario.level,
        )
        rows = curve_rows(stds, sweep)
        if attacks is not None:
            point = leaking.nearest(attacks.counts, scenario.compromised, asked.n)
            some = stds[2:-1:7]
            covariances = np.square(some)[:, None, None] * shape
            points = np.full(some.size, point)
            rows += simulated(scenario, asked, moment.place, attacks, points, covariances, some)
        return rows

    def fraction_rows(
        self,
        scenario: PredictabilityScenario,
        asked: Asked,
        moment: Moment,
        one: pr.MomentSummary,
        attacks: leaking.Attacks | None,
    ) -> list[Row]:
        """Curves against the compromised fraction, and the gain of all questions."""
        few = np.minimum(SHOWN_ALPHAS, 1 - SHOWN_ALPHAS) if isinstance(asked.leak, LeakedShard) else SHOWN_ALPHAS
        alphas = SHOWN_ALPHAS[few * asked.n >= 2 - 1e-9]
        sizes = [asked.size(float(alpha)) for alpha in alphas]
        levels = np.array([size.multiplier(scenario.noise_scale) for size in sizes])
        if isinstance(asked.leak, LeakedShard):
            rows = curve_rows(
                alphas,
                pr.fraction_sweep(
                    one,
                    asked.n,
                    alphas,
                    moment.law.covariance,
                    noise_scale=scenario.noise_scale,
                    loss=scenario.loss,
                    tau=scenario.level,
                ),
            )
        else:
            spectrum = pr.noise_spectrum(one, moment.law.covariance)
            found = [
                pr.from_spectrum(one, spectrum, size, 1.0, level=float(level), loss=scenario.loss, tau=scenario.level)
                for size, level in zip(sizes, levels, strict=True)
            ]
            rows = [
                Row(name, alphas, np.array([getattr(item, at)[0] for item in found]))
                for name, at in CURVE_FIELDS.items()
            ]
        if scenario.curves == "questions":
            effective = np.array([size.effective for size in sizes])
            whole = pr.noise_spectrum(asked.summary, moment.law.covariance)
            gains = whole.r2(levels) * whole.variance / effective[:, None]
            rows += [Row(f"gain: {name}", alphas, gains[:, at]) for at, name in enumerate(asked.names)]
        if attacks is not None:
            points = np.arange(attacks.counts.size)
            covariances = np.broadcast_to(moment.law.covariance, (points.size, *moment.law.covariance.shape))
            shares = attacks.counts / asked.n
            rows += simulated(scenario, asked, moment.place, attacks, points, covariances, shares)
        return rows

    def question_rows(self, moment: Moment, asked: Asked) -> list[Row]:
        """How much easier each question gets: the share of the squared error that the release takes away."""
        values = [0.0] if moment.std == 0 else [0.0, moment.std]
        shares = np.stack([moment.rho2, moment.r2][: len(values)])
        return [Row(name, np.array(values), shares[:, place]) for place, name in enumerate(asked.names)]

    def told_exactly(self, scenario: PredictabilityScenario, asked: Asked, leaks: leaking.Leaks) -> Result:
        """Tell what an attacker gains to whom no theory applies, worked out exactly for the one leak."""
        is_one, n = isinstance(asked.leak, EverybodyButOne), asked.n
        if not is_one:
            check_leaked(scenario.compromised, n)
        moment = self.moment(scenario, asked)
        mine = round(scenario.compromised * n)
        now, sums = picking.exact_sums(leaks, np.union1d(leaks.counts, [mine]).astype(np.int64))
        here = 0 if is_one else int(np.searchsorted(now.counts, mine))
        law, (stds, shape) = moment.law.covariance, noises_shown(asked, moment)
        pair = np.stack([np.zeros_like(law), law])
        shares = np.zeros((2, len(asked.names)))
        for place in range(len(asked.names)):
            found = picking.gains_of(now, sums, np.array([here, here]), pair, scenario.loss, scenario.level)(place)
            with np.errstate(divide="ignore", invalid="ignore"):
                shares[:, place] = np.where(found.before > 0, 1.0 - found.after / found.before, 0.0)
        place = shown_place(scenario.shown, shares[1])
        of = np.concatenate([[here], np.full(stds.size, here), np.arange(now.counts.size)])
        noises = np.concatenate(
            [pair[1:], np.square(stds)[:, None, None] * shape, np.repeat(pair[1:], now.counts.size, axis=0)]
        )
        exact = picking.gains_of(now, sums, of, noises, scenario.loss, scenario.level)(place)
        values, many = [0.0] if moment.std == 0 else [0.0, moment.std], stds.size + 1
        frame = laid_out(
            {
                "noise": [Row(ATTACKER, stds, exact.drop[1:many])],
                "fraction": [Row(ATTACKER, now.counts / n, exact.drop[many:])],
                "questions": [
                    Row(name, np.array(values), np.maximum(shares[: len(values), at], 0.0))
                    for at, name in enumerate(asked.names)
                ],
            }
        )
        gain, start, end = float(exact.drop[0]), float(exact.before[0]), float(exact.after[0])
        yes_no, name = is_percent(asked, place), asked.names[place]
        before, after = error_text(start, yes_no), error_text(end, yes_no)
        _, paid, relative = asked.cost(law)
        dp, dp_chip, dp_words = asked.differential_privacy(moment.law)
        if moment.std == 0:
            paid, relative = "nothing", "exact numbers"
        about = "the one person who is unknown" if is_one else "the people whose records have not leaked"
        noise = f"noise of σ = {significant(moment.std, 2)}" if moment.std > 0 else "no noise"
        known = f"all but one of {n:,} records" if is_one else f"{percent(scenario.compromised)} of {n:,} records"
        turn = f"{'falls' if end < start else 'rises'} from {before} to" if before != after else "stays at"
        why = picking.WHY_ONE if is_one else picking.WHY_PICKED
        notes = [*asked.notes, Note(why, title="No formula applies")]
        told = dict.fromkeys((*moment.now.notes, *moment.law.notes))
        notes += [Note(plain_markdown(text)) for text in told]
        notes += asked.drowned(law, is_plain(scenario))
        if is_one and n > picking.MOST_LEFT_OUT:
            step = math.ceil(n / picking.MOST_LEFT_OUT)
            notes.append(Note(f"Of so many people one in {step:,} is left out in turn, evenly along the table."))
        if np.any(shares[: len(values)] < 0):
            notes.append(Note("Questions whose squared error the release raises for this attacker are drawn at 0%."))
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=(
                Card("Attacker's error", after, chip_of(f"{before} without"),
                     f"Typical error about {in_quotes(name)} for {about}, with and without your release."),
                Card("Gain γ", significant(gain, 2), "exact, no bound",
                     "How much this attacker's expected loss falls by your release; below 0 it is misled."),
                Card("Your price", paid, chip_of(relative), "What the noise does to the published numbers."),
                Card("Differential privacy", dp, chip_of(dp_chip), ABOUT_GROUPS),
            ),
            shows=(
                f"With **{known} {'known' if is_one else 'picked by hand'}** and {noise} on "
                f"{plain_markdown(scenario.published.words)}, the attacker's typical error about "
                f"*{plain_markdown(name)}* for {about} {turn} **{after}**. "
                f"{price_words(moment.std, paid, relative)} {dp_words}. {NOT_PRIVATE}"
            ),
            takeaway=(
                f"Gain of an attacker to whom no large-sample theory applies, against noise and leak. With {noise} the "
                f"typical error about {name} {turn} {after}."
            ),
            notes=tuple(notes),
            formulas=tuple(
                picking.formulas(now, sums, place, here, (start, end, gain), scenario.loss, moment.law)
            ),
            assumptions=(why, *clipped(scenario)),
            extra={"place": place, "names": asked.names, "std": moment.std, "n": n, "point": None},
        )  # fmt: skip

    def exact_chart(self, result: Result, view: str) -> Chart:
        """Describe the gain where no theory applies, against noise or compromised fraction."""
        scenario: Any = result.scenario
        is_one = isinstance(scenario.leak, EverybodyButOne)
        rows = self.numbers(result, view)
        x, y = rows["x"].to_numpy(), rows["y"].to_numpy()
        unit = "nats" if scenario.loss == "log" else "squared error"
        here: tuple[float, str] | None
        if view == "fraction":
            axis = Axis("compromised fraction α", "linear", 0.0, 1.0, symbol="α")
            here = None if is_one else (scenario.compromised, f"your α = {scenario.compromised:g}")
        else:
            axis = Axis("noise σ on each number", "log", ends=("leaks more", "leaks less"), symbol="σ")
            std = result.extra["std"]
            here = (std, f"your σ = {significant(std, 2)}") if std > 0 else None
        hover = f"this attacker: {{y}} {unit}"
        mark: Any = (
            Points("attacker", x, y, ATTACKER, "all but<br>one", hover=hover)
            if x.size == 1
            else Line("attacker", x, y, ATTACKER, "this<br>attacker", main=True, markers=view != "noise", hover=hover)
        )
        name = result.extra["names"][result.extra["place"]]
        is_log = bool(np.all(y > 0))
        return Chart(
            f"How much easier {in_quotes(name, 34)} gets: γ of this attacker",
            f"drop of the {'log loss, nats' if scenario.loss == 'log' else 'squared error'}"
            f"{', log scale' if is_log else ''}",
            axis,
            Axis("gain γ", "log" if is_log else "linear", unit=unit, symbol="γ"),
            (Panel((mark,), here=here),),
        )

    def told(
        self,
        scenario: PredictabilityScenario,
        prepared: Prepared,
        moment: Moment,
        frame: pd.DataFrame,
        attacks: leaking.Attacks | None,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        asked, now, clean = prepared.asked, moment.now, moment.clean
        yes_no = is_percent(asked, moment.place)
        name, n = asked.names[moment.place], now.size.effective
        start, end = float(now.variance_before[0]) / n, float(now.variance_after[0]) / n
        before = error_text(start, yes_no)
        # a linear relation explains everything but rounding
        after = "nothing" if start > 0 and end <= 1e-12 * start else error_text(end, yes_no)
        is_printed = scenario.noise_scale == "paper" and moment.std > 0
        share, free = float(now.r[0] ** 2), float(clean.r[0] ** 2)
        _, paid, relative = asked.cost(moment.law.covariance)
        dp, dp_chip, dp_words = asked.differential_privacy(moment.law)
        if moment.std == 0:
            paid, relative = "nothing", "exact numbers"
        gamma = float(now.product[0])
        among = "the people whose records have not leaked" if isinstance(asked.leak, LeakedShard) else asked.target
        cards = (
            Card(
                "Error, as printed" if is_printed else "Attacker's error",
                after,
                chip_of(f"{before} without"),
                f"Typical error about {in_quotes(name)} for {among}, with and without your release, for an attacker "
                "with very many records"
                + (
                    ", if the noise were drawn afresh for every record, as the printed formula counts it."
                    if is_printed
                    else "."
                )
                + (" Here pp are percentage points." if yes_no else ""),
            ),
            Card(
                "Predictability γ",
                f"≤ {significant(gamma, 2)}",
                chip_of(f"printed {significant(float(now.printed[0]), 2)}"),
                "How much the attacker's expected loss can fall by your release: the tightest bound, and the paper's.",
            ),
            Card("Your price", paid, chip_of(relative), "What the noise does to the published numbers."),
            Card("Differential privacy", dp, chip_of(dp_chip), ABOUT_GROUPS),
        )
        quoted = f"*{plain_markdown(name)}*"
        leak = f"{percent(scenario.compromised)} of {asked.n:,} records leaked"
        noise = f"noise of σ = {significant(moment.std, 2)}" if moment.std > 0 else "no noise"
        counted = ", counting the noise as printed," if is_printed else ""
        gets = "hardly gets easier" if share < 0.005 else "gets easier"
        words = [
            f"With **{leak}** and {noise} on {plain_markdown(scenario.published.words)}, the question {quoted} {gets}: "
            f"the attacker's typical error about {asked.target}{counted} {moves_words(before, after, share, free)}."
        ]
        words += self.which(asked, moment)
        words += self.simulated_words(scenario, asked, moment, frame, attacks)
        words += self.needed_words(scenario, asked, moment)
        words.append(
            f"{price_words(moment.std, paid, relative)} {dp_words}"
            f"{asked.group_privacy(moment.law, scenario.compromised)}. {NOT_PRIVATE}"
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=" ".join(words),
            takeaway=(
                f"Predictability of {name} against noise, compromised fraction and question. At a compromised fraction "
                f"of {scenario.compromised:g} and {noise}, the attacker's typical error "
                f"{moves(before, after).replace('**', '')}; the tightest bound on the gain is {significant(gamma, 2)}."
            ),
            notes=self.notes(scenario, prepared, moment),
            formulas=formulas(scenario, asked, moment),
            assumptions=(
                *asked.assumptions, PRINTED_LOOSE, SHARED_NOISE, *clipped(scenario),
                *((leaking.STEADIED,) if attacks is not None else ()),
            ),
            extra={
                "place": moment.place, "names": asked.names, "std": moment.std, "n": asked.n,
                "point": None if attacks is None else float(
                    attacks.counts[leaking.nearest(attacks.counts, scenario.compromised, asked.n)] / asked.n
                ),
            },
            runs=0 if attacks is None else int(attacks.before.shape[1]),
        )  # fmt: skip

    def which(self, asked: Asked, moment: Moment) -> list[str]:
        """Say which of the questions get easier."""
        if len(asked.names) < 2:
            return []
        most, least = int(np.argmax(moment.r2)), int(np.argmin(moment.r2))
        return [
            f"Of the {len(asked.names)} questions, *{plain_markdown(asked.names[most])}* gets easiest "
            f"({percent(float(moment.r2[most]))}), *{plain_markdown(asked.names[least])}* least "
            f"({percent(float(moment.r2[least]))})."
        ]

    def simulated_words(
        self,
        scenario: PredictabilityScenario,
        asked: Asked,
        moment: Moment,
        frame: pd.DataFrame,
        attacks: leaking.Attacks | None,
    ) -> list[str]:
        """Say what a simulated attacker gains at the present choice."""
        if attacks is None:
            return []
        theory = float(moment.now.gain[0])
        if not theory > 0:
            return []
        point = leaking.nearest(attacks.counts, scenario.compromised, asked.n)
        here = asked.size(float(attacks.counts[point] / asked.n))
        one = asked.summary.select(queries=[moment.place])
        # the attacker meets the noise as it is released, so that is the scale to compare with
        found = pr.predictability(one, here, moment.law.covariance, loss=scenario.loss)
        gain = float(found.gain[0])
        rows = frame[(frame["panel"] == "fraction") & (frame["series"] == ATTACKER)]
        value, error = float(rows["y"].iloc[point]), float(rows["std_error"].iloc[point])
        stand = marks_stand(int(attacks.counts[point]), scenario.compromised, asked.n)
        start, whose = "A real attacker must estimate its weights", "of that"
        if scenario.noise_scale == "paper" and moment.std > 0:
            as_printed = pr.predictability(
                one, here, moment.law.covariance, noise_scale="paper", loss=scenario.loss
            )  # fmt: skip
            share = gain / float(as_printed.gain[0])
            start = (
                "The printed gain is out of reach because of the scale, not of the attacker: all leaked records share "
                f"one draw of noise, so on the release scale the gain is {percent(share)} of the printed one. A real "
                "attacker must estimate its weights besides"
            )
            whose = "of the gain on the release scale"
        if 2 * error > gain:  # the gain is far below what so many runs can tell
            return [f"{start}; the gain is too small to be seen in {attacks.before.shape[1]} simulated leaks.{stand}"]
        return [
            f"{start}: in {attacks.before.shape[1]} simulated leaks it {realised(value, error, gain, whose)}.{stand}"
        ]

    def needed_words(self, scenario: PredictabilityScenario, asked: Asked, moment: Moment) -> list[str]:
        """Say how much noise of the same shape halves the tightest bound (inverse of Thm 3.6)."""
        target = 0.5 * float(moment.now.product[0])
        if not target > 0:
            return []
        one = asked.summary.select(queries=[moment.place])
        d = one.dimension
        shape = moment.law.covariance / moment.std**2 if moment.std > 0 else np.eye(d)
        level = pr.noise_level_for_bound(
            one, moment.size, shape, target, curve="product", noise_scale=scenario.noise_scale, loss=scenario.loss
        )
        wanted = f"To halve the bound, γ ≤ {significant(target, 2)}, the noise must have"
        if not math.isfinite(level):
            return ["No amount of noise of this shape halves the bound on γ."]
        counted = ", if counted as printed" if scenario.noise_scale == "paper" else ""
        return [f"{wanted} σ ≥ {significant(math.sqrt(level))}{counted}."]

    def notes(self, scenario: PredictabilityScenario, prepared: Prepared, moment: Moment) -> tuple[Note, ...]:
        """Return what a reader must know."""
        out = [*prepared.asked.notes]
        found = (*moment.now.notes, *moment.law.notes, *prepared.asked.leak_notes(scenario.compromised))
        out += [Note(plain_markdown(text)) for text in dict.fromkeys(found)]
        if not moment.law.is_gaussian and not any("Laplace" in text for text in found):
            out.append(Note(GAUSSIAN_ONLY))
        out += prepared.asked.drowned(moment.law.covariance, is_plain(scenario))
        if prepared.why_none:
            out.append(Note(plain_markdown(prepared.why_none)))
        if scenario.noise_scale == "paper":
            out.append(Note(SHARED_NOISE, "warning", "Counted as printed"))
        return tuple(out)

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Return the rows behind one view."""
        return result.frame[result.frame["panel"] == (view or "noise")].reset_index(drop=True)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe γ against noise or compromised fraction, or all questions side by side."""
        scenario: Any = result.scenario
        name = result.extra["names"][result.extra["place"]]
        unit = "nats" if scenario.loss == "log" else "squared error"
        if view == "questions":
            return self.question_chart(result)
        if isinstance(scenario.leak, UNTHEORIED):
            return self.exact_chart(result, view or "noise")
        if view == "fraction":
            x = Axis("compromised fraction α", "linear", 0.0, 1.0, symbol="α")
            here: tuple[float, str] | None = (scenario.compromised, f"your α = {scenario.compromised:g}")
            marked = HALF if abs(scenario.compromised - 0.5) > 0.005 else ()
        else:
            view, marked = "noise", ()
            x = Axis("noise σ on each number", "log", ends=("leaks more", "leaks less"), symbol="σ")
            std = result.extra["std"]
            here = (std, f"your σ = {significant(std, 2)}") if std > 0 else None
        if scenario.curves == "questions" and view == "fraction":
            return self.gains_chart(result, x, here, unit)
        frame = self.numbers(result, view)
        marks: list[Any] = []
        every = scenario.curves == "all"
        told: dict[str, tuple[Role, str, str | None]] = {
            PRINTED: ("upper bound", "printed<br>bound", None),
            TIGHT: ("upper bound", "tightest<br>bound", "9px,4px"),
        }
        if every:
            told[SCHWARZ] = ("upper bound", "Cauchy-<br>Schwarz", "9px,3px,2px,3px")
        for series, (bound, label, dash) in told.items():
            rows = frame[frame["series"] == series]
            marks.append(
                Line(bound, rows["x"].to_numpy(), positive(rows["y"]), series, label, dash=dash,
                     hover=f"{series}: {{y}} {unit}")
            )  # fmt: skip
        rows = frame[frame["series"] == GAIN]
        marks.append(
            Line("private", rows["x"].to_numpy(), positive(rows["y"]), GAIN, "realised<br>gain", main=True,
                 hover=f"realised gain: {{y}} {unit}")
        )  # fmt: skip
        dots: tuple[tuple[str, str, Role], ...] = (
            (ATTACKER, "simulated<br>attacker", "attacker"), (ORACLE, "oracle", "data"),
        )  # fmt: skip
        for series, label, role in dots:
            bottom = lowest(frame) or 0.0
            # the oracle's intervals may reach below the axis: they are cut off there
            rows = frame[(frame["series"] == series) & (frame["y" if series == ORACLE else "low"] > bottom)]
            if len(rows) and (series == ATTACKER or every):
                marks.append(
                    Points(role, rows["x"].to_numpy(), rows["y"].to_numpy(), series, label,
                           low=np.maximum(rows["low"].to_numpy(), bottom), high=rows["high"].to_numpy(),
                           hover=f"{series}: {{y}} {unit}", open=series == ORACLE, size=6 if series == ORACLE else 9)
                )  # fmt: skip
        return Chart(
            f"How much easier {in_quotes(name, 34)} gets: γ",
            f"drop of the attacker's {'log loss, nats' if scenario.loss == 'log' else 'squared error'}, log scale",
            x,
            Axis("predictability γ", "log", lowest(frame) if view == "noise" else None, unit=unit, symbol="γ"),
            (Panel(tuple(marks), here=here, marked=marked),),
        )

    def gains_chart(self, result: Result, x: Axis, here: tuple[float, str] | None, unit: str) -> Chart:
        """Describe the gains of up to four questions against the compromised fraction."""
        frame = self.numbers(result, "fraction")
        names = result.extra["names"][:4]
        dashes = ("solid", "9px,4px", "2px,3px", "14px,4px")
        marks = []
        for name, dash in zip(names, dashes, strict=False):
            rows = frame[frame["series"] == f"gain: {name}"]
            marks.append(
                Line("private", rows["x"].to_numpy(), positive(rows["y"]), f"gain: {name}", two_lines(name),
                     dash=dash, main=name == names[0], hover=f"{name}: {{y}} squared error")
            )  # fmt: skip
        return Chart(
            "Gain of the attacker, question by question",
            "drop of the squared error, log scale",
            x,
            Axis("realised gain", "log", unit="squared error", symbol="gain"),
            (Panel(tuple(marks), here=here),),
        )

    def question_chart(self, result: Result) -> Chart:
        """Describe all questions side by side."""
        frame, std = self.numbers(result, "questions"), result.extra["std"]
        clean = frame[frame["x"] == 0]
        names = [short_name(name) for name in clean["series"]]
        marks: list[Any] = [
            Bars("non-private", names, 100 * clean["y"].to_numpy(), BEFORE, "no noise", hover="no noise: {y}%")
        ]
        if std > 0:
            noisy = frame[frame["x"] != 0]
            marks.append(
                Bars("private", names, 100 * noisy["y"].to_numpy(), WITH, "your noise", hover="your noise: {y}%")
            )
        return Chart(
            "Which questions get easier, and by how much",
            "% of the squared error that the release removes",
            Axis("question", "category"),
            Axis("removed", "linear", 0.0, unit="%"),
            (Panel(tuple(marks)),),
        )


CURVE_FIELDS = {PRINTED: "printed", SCHWARZ: "cauchy_schwarz", TIGHT: "product", GAIN: "gain"}


@dataclass(frozen=True, eq=False)
class Row:
    """One series of the result: values over x, with standard errors and an interval where it was simulated."""

    series: str
    x: FloatArray
    y: FloatArray
    std_error: FloatArray | None = None
    low: FloatArray | None = None
    high: FloatArray | None = None


def clipped(scenario: PredictabilityScenario) -> tuple[str, ...]:
    """Say between which levels answers lie under log loss."""
    if scenario.loss != "log":
        return ()
    if scenario.level is None:
        return (CLIPPED,)
    return (
        f"Under log loss the bounds take your τ = {scenario.level:g}, and the simulated attacker is clipped there: "
        "H = 1/τ² supposes that the answers lie in [τ, 1 − τ], not the truth alone (corrected).",
    )


def is_plain(scenario: PredictabilityScenario) -> bool:
    """Whether the visitor sets σ itself, and no second noise is added."""
    return isinstance(scenario.noise, pr.Isotropic) and isinstance(scenario.further_noise, pr.NoNoise)


def noises_shown(asked: Asked, moment: Moment) -> tuple[FloatArray, FloatArray]:
    """Return the noise levels of the curves, and the shape of the noise (its covariance at level 1)."""
    d = moment.law.covariance.shape[0]
    shape = moment.law.covariance / moment.std**2 if moment.std > 0 else np.eye(d)
    low = 0.05 * asked.spread / math.sqrt(moment.size.noise_multiplier)
    high = 4.0 * asked.spread
    if moment.std > 0:
        low, high = min(low, moment.std / 2), max(high, 2 * moment.std)
    return np.geomspace(low, high, NOISE_POINTS), shape


def laid_out(panels: Mapping[str, Sequence[Row]]) -> pd.DataFrame:
    """Put all series of all views into one tidy frame."""
    rows = [(panel, row) for panel, of in panels.items() for row in of]
    sizes = [row.x.size for _, row in rows]

    def joined(name: str, fill: float) -> FloatArray:
        parts = [getattr(row, name) for _, row in rows]
        return np.concatenate(
            [np.full(size, fill) if part is None else part for part, size in zip(parts, sizes, strict=True)]
        )

    return pd.DataFrame(
        {
            "series": np.repeat(np.array([row.series for _, row in rows], dtype=object), sizes),
            "x": joined("x", 0.0),
            "y": joined("y", 0.0),
            "std_error": joined("std_error", 0.0),
            "low": joined("low", np.nan),
            "high": joined("high", np.nan),
            "panel": np.repeat(np.array([panel for panel, _ in rows], dtype=object), sizes),
        }
    )


def curve_rows(x: FloatArray, sweep: pr.Sweep) -> list[Row]:
    """Return the four curves of one question."""
    return [Row(name, x, getattr(sweep, at)[:, 0]) for name, at in CURVE_FIELDS.items()]


def shown_place(shown: Asks, r2: FloatArray) -> int:
    """Return which question is shown: the visitor's own, or a prepared one by how much easier it gets.

    Examples
    --------
    >>> [shown_place(how, np.array([0.5, 0.1, 0.3, 0.2])) for how in ("own", "easiest", "middle", "least")]
    [0, 2, 3, 1]
    """
    if shown == "own" or r2.size < 2:
        return 0
    order = np.argsort(-r2[1:], kind="stable") + 1
    return int(order[{"easiest": 0, "middle": order.size // 2, "least": -1}[shown]])


def simulated(
    scenario: PredictabilityScenario,
    asked: Asked,
    place: int,
    attacks: leaking.Attacks,
    points: Any,
    covariances: FloatArray,
    x: FloatArray,
) -> list[Row]:
    """Return the feasible attacker, and the oracle where all curves are wanted, with bootstrap intervals."""
    sizes = [asked.size(float(attacks.counts[point] / asked.n)) for point in points]
    multipliers = np.array([size.noise_multiplier for size in sizes])
    summary, p = asked.summary, attacks.mean
    weights = leaking.oracle_weights(summary, place, covariances, multipliers)
    log = scenario.loss == "log" and 0.0 < p < 1.0
    out = []
    for series, oracle in ((ATTACKER, None), (ORACLE, weights)):
        if series == ORACLE and scenario.curves != "all":
            continue
        drops, _ = leaking.loss_drops(
            attacks, points, covariances, multipliers, "log" if log else "squared", oracle, scenario.level
        )
        if oracle is None:
            scale = 1.0 / (2.0 * p * (1.0 - p)) if log else 1.0
            drops = leaking.steadied(drops, attacks, points, summary, place, weights, scale)
        out.append(Row(series, x, *leaking.bootstrap(drops)))
    return out


def lowest(frame: pd.DataFrame) -> float | None:
    """Return where the γ axis starts: four decades below the largest gain, where there is one."""
    top = float(np.nanmax(positive(frame.loc[frame["series"] == GAIN, "y"]), initial=0.0))
    return top * 1e-4 if top > 0 else None


def positive(values: Any) -> FloatArray:
    """Return values with gaps where a log axis has no place for them."""
    found = np.asarray(values, dtype=np.float64)
    return np.where(found > 0, found, np.nan)


def tiny(value: float, error: float) -> tuple[str, str]:
    """Write a small value and its ±.

    Examples
    --------
    >>> tiny(2.31e-5, 4.2e-6)
    ('2.3×10⁻⁵', '± 0.4×10⁻⁵')
    """
    power = math.floor(math.log10(max(abs(value), error, 1e-300)))
    scale = 10.0**power
    exponent = significant(scale, 1).split("×")[-1]
    return f"{value / scale:.1f}×{exponent}".replace("-", "−"), f"± {error / scale:.1f}×{exponent}"


def price_words(std: float, paid: str, relative: str) -> str:
    """Say what the noise costs.

    Examples
    --------
    >>> price_words(0.5, "± 0.50", "0.4% of the value")
    'The noise moves a published number by ± 0.50, 0.4% of the value.'
    """
    if std == 0:
        return "Exact numbers cost nothing."
    if relative == "squared error":
        return f"The noise adds {paid.lstrip('+')} to the model's squared error."
    return f"The noise moves a published number by {paid}{f', {relative}' if '%' in relative else ''}."


def moves(before: str, after: str) -> str:
    """Say that an error falls, or that it stays where both read alike; the first unit is written out.

    Examples
    --------
    >>> moves("2.17 pp", "2.04 pp"), moves("2.17 pp", "2.17 pp")
    ('falls from 2.17 percentage points (pp) to **2.04 pp**', 'stays at **2.17 percentage points**')
    """
    told = before.removesuffix("pp") + "percentage points" if before.endswith("pp") else before
    if before == after:
        return f"stays at **{told}**"
    unit = " (pp)" if told != before and after.endswith("pp") else ""
    return f"falls from {told}{unit} to **{after}**"


def moves_words(before: str, after: str, share: float, free: float) -> str:
    """Say where the error goes and which share of the squared error that is.

    Examples
    --------
    >>> moves_words("0.15", "0.15", 1e-6, 0.11)
    'stays at **0.15**: 1×10⁻⁴% of its squared error goes (with exact numbers 11%)'
    """
    lost = f"{percent(share)} of its squared error"
    lost = f": {lost} goes" if before == after else f", {lost}"
    return f"{moves(before, after)}{lost} (with exact numbers {percent(free)})"


def chip_of(text: str) -> str:
    """Cut a chip to 18 characters."""
    return text if len(text) <= 18 else text[:17] + "…"


def two_lines(name: str) -> str:
    """Break a question into two short lines for an end label."""
    words, lines = name.split(" "), [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > 14 and len(lines) < 2:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(line if len(line) <= 14 else line[:13] + "…" for line in lines)


def short_name(name: str) -> str:
    """Cut a question for a category axis."""
    return name if len(name) <= 26 else name[:25] + "…"


def formulas(scenario: PredictabilityScenario, asked: Asked, moment: Moment) -> tuple[Formula, ...]:
    """Return the formulas with the present numbers."""
    now = moment.now
    vq, r, n, nu = float(now.variance_before[0]), float(now.r[0]), now.size.effective, now.noise_multiplier
    smooth = float(now.smoothness_printed[0])
    base = f"{smooth:.4g}\\cdot {vq:.4g}\\cdot {r:.4g}/{n:.4g}"
    is_shard = isinstance(asked.leak, LeakedShard)
    one = asked.summary.select(queries=[moment.place])
    alphas = np.linspace(0.01, 0.99, 99)
    swept = pr.fraction_sweep(one, asked.n, alphas, moment.law.covariance, noise_scale=scenario.noise_scale)
    lowest_at = float(alphas[int(np.argmin(swept.printed[:, 0]))])
    high = [float(now.high_probability(TAIL, form)[0]) for form in ("corrected", "printed")]
    found = (
        Formula(
            "How much of the question the release explains",
            r"r^2=\rho_{cc}^2-c_0=\frac{c^\top(V_g+\nu J\Sigma_\Delta J^\top)^{+}c}{V_q}",
            rf"\rho_{{cc}}^2={float(now.rho_cc[0]) ** 2:.4g},\ c_0={float(now.c0[0]):.4g},\ r^2={r * r:.4g},\ "
            rf"\nu={nu:.4g}",
            "exact",
            "Thm 3.6, Rem 3.7; noise counted as released (corrected)"
            if scenario.noise_scale == "release"
            else "Thm 3.6, Rem 3.7; noise counted as printed",
        ),
        Formula(
            "A drop of loss is at most a product of errors",
            r"E\ell(\hat\theta_C)-E\ell(\hat\theta_{CA})\le H\,|\hat\theta_C-\theta_0|\,|\hat\theta_C-\hat\theta_{CA}|",
            rf"H={smooth:.4g}"
            + (
                rf"\ \text{{(printed; largest curvature }}{float(now.smoothness_sharp[0]):.4g}\text{{)}}"
                if scenario.loss == "log"
                else ""
            ),
            "bound",
            "Lem 2.9, for answers inside the clipping level" if scenario.loss == "log" else "Lem 2.9",
        ),
        Formula(
            "Printed bound",
            r"\gamma\le\frac{H\kappa}{n_{\mathrm{eff}}}V_q\,r,\quad\kappa=1+\log 4"
            + (r",\quad n_{\mathrm{eff}}=\alpha(1-\alpha)N" if is_shard else r",\quad n_{\mathrm{eff}}=n"),
            rf"{pr.KAPPA:.6g}\cdot {base}={float(now.printed[0]):.4g}",
            "bound",
            ("Cor 3.8" if is_shard else "Thm 3.6") + (", Lem 2.9" if scenario.loss == "log" else ""),
        ),
        Formula(
            "Tightest bound",
            r"\frac{HV_q r}{n_{\mathrm{eff}}}\cdot\frac2\pi\left(\sqrt{1-r^2}+r\arcsin r\right)",
            rf"{float(now.product[0]):.4g}",
            "bound",
            "derived, checked in tests/unit/predictability/test_predictability_bounds.py",
        ),
        Formula(
            "Realised gain, in the limit of many records",
            r"\frac{V_q r^2}{n_{\mathrm{eff}}}"
            if scenario.loss == "squared"
            else r"\frac{V_q r^2}{2p(1-p)\,n_{\mathrm{eff}}}",
            rf"{float(now.gain[0]):.4g}",
            "limit",
            "derived, checked in tests/unit/predictability/test_predictability_bounds.py",
        ),
        Formula(
            f"With probability {1 - TAIL:g}",
            r"\frac{H V_q r}{n_{\mathrm{eff}}}\cdot 2\log\frac4\delta",
            rf"\delta={TAIL:g}:\ {high[0]:.4g}\ \text{{(printed without the factor 2: {high[1]:.4g})}}",
            "bound",
            "Thm 3.6, corrected",
        ),
        *(
            (
                Formula(
                    "Over the compromised fraction",
                    r"\gamma(\alpha)\propto\frac{r(\alpha)}{\alpha(1-\alpha)},\quad\nu=\frac{\alpha N}{1-\alpha}",
                    rf"\text{{the printed bound is lowest at }}\alpha={lowest_at:.2g}"
                    r"\text{ (at one half without noise or as printed)}",
                    "exact",
                    "Cor 3.8 and the remark after it",
                ),
            )
            if is_shard
            else ()
        ),
    )
    return tuple(found)
