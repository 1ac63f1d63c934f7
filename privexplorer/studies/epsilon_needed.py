"""Which ε does a target error take, at a given sample size? (properties §2; Lem 32)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from privexplorer.arrays import FloatArray
from privexplorer.data import Tables
from privexplorer.distributions import DiscreteDistribution, TwoStep, Zipf
from privexplorer.errors import ParameterError
from privexplorer.records import Grid, Number, RealGrid, Record, Scenario, Seed, Trials, field
from privexplorer.studies import _goals as goals
from privexplorer.studies._fields import distribution_field, people_field
from privexplorer.studies._notes import stated, table_notes
from privexplorer.studies.base import Preset, Study, blocks_for, stacked
from privexplorer.studies.chart import Axis, Chart, Line, Panel, Points, Role
from privexplorer.studies.result import Card, Formula, Note, Result, tidy
from privexplorer.studies.words import percent, plus_minus, significant, whole, with_unit

PANELS = {"error": "error against ε", "people": "ε against n"}
LARGEST_EPSILON = 50.0


class AbsoluteTarget(Record):
    """An error of a given size."""

    kind: Literal["absolute"] = "absolute"
    title: ClassVar[str] = "An error of this size"
    error: Annotated[float, Number] = field(
        0.1,
        "Error that you accept",
        "Root-mean-square: in nats for the entropy, as a share of the further records for coverage, as a share of k "
        "for the support size.",
        key="error",
        scale="log",
        low=0.005,
        high=1.0,
        ge=1e-6,
        le=10,
    )

    def at(self, plain: FloatArray) -> FloatArray:
        """Return the target where the error without privacy is this large."""
        return np.full(plain.shape, self.error)

    def words(self, unit: str) -> str:
        """Say what is accepted."""
        return f"an error of **{with_unit(f'{self.error:g}', unit)}**"


class RelativeTarget(Record):
    """So much more than the error without privacy."""

    kind: Literal["relative"] = "relative"
    title: ClassVar[str] = "A share on top of the error without privacy"
    more: Annotated[float, Number] = field(
        0.05,
        "Share ρ that privacy may add",
        "0.05 lets the error grow by 5%, 1 doubles it.",
        key="more",
        scale="log",
        low=0.01,
        high=1.0,
        ge=1e-6,
        le=100,
    )

    def at(self, plain: FloatArray) -> FloatArray:
        """Return the target where the error without privacy is this large."""
        return plain * (1 + self.more)

    def words(self, unit: str) -> str:
        """Say what is accepted."""
        return f"an error **{percent(self.more)} above** the one without privacy"


Target = Annotated[AbsoluteTarget | RelativeTarget, Field(discriminator="kind")]


class EpsilonNeededScenario(Scenario):
    """A goal, a sample size and a target."""

    goal: goals.Goal = field(
        goals.EntropyGoal(),
        "What do you want to know?",
        "Errors of coverage are shares of the further records, errors of support size shares of k.",
        key="goal",
        group="Data",
        discriminator="kind",
    )
    target: Target = field(
        AbsoluteTarget(),
        "What you accept",
        "Either a size, or a price of privacy.",
        key="target",
        group="Goal",
        discriminator="kind",
    )
    distribution: DiscreteDistribution = distribution_field(Zipf(k=1000, exponent=1.0), "Distribution that you expect")
    n: Annotated[int, Number] = people_field(
        2_000, "How many records you have; public and fixed.", low=100, high=20_000, ge=2, le=1_000_000
    )
    sizes: Grid = field(
        Grid(low=100, high=20_000, points=14),
        "Sample sizes to compare with, people",
        "Your own must lie inside. They tell how many people it would take.",
        key="sizes",
        group="Method",
    )
    epsilons: RealGrid = field(
        RealGrid(low=0.01, high=10.0, points=31), "Range of ε", key="grid", group="Method", advanced=True
    )
    trials: Trials = 300
    seed: Seed = 0


class EpsilonNeeded(Study[EpsilonNeededScenario]):
    """The ε at which the error of a private answer meets a target."""

    id: ClassVar[str] = "epsilon-needed"
    version: ClassVar[int] = 2
    question: ClassVar[str] = "How much privacy can I promise?"
    lead: ClassVar[str] = (
        "Say how many people you have and how large an error you accept: the smallest ε that reaches it."
    )
    tab: ClassVar[str] = "How much privacy"
    card: ClassVar[str] = "The smallest ε that keeps the error within your target, or how many people are missing."
    link: ClassVar[str] = "Plan the privacy"
    theme: ClassVar[str] = "plan"
    picture: ClassVar[str] = "target"
    scenario: ClassVar[type[Scenario]] = EpsilonNeededScenario
    late: ClassVar[frozenset[str]] = frozenset({"target", "n", "epsilons", "trials"})
    views: ClassVar[Mapping[str, str]] = {"error": "Error against ε", "people": "ε against n"}
    rows: ClassVar[tuple[str, ...]] = ("T-Lem32", "T-CoinRef")

    def presets(self) -> tuple[Preset[EpsilonNeededScenario], ...]:
        """Finished examples."""
        make = EpsilonNeededScenario
        return (
            Preset("Entropy of a survey", make()),
            Preset("Next to nothing", make(target=RelativeTarget(more=0.05))),
            Preset("Too few people", make(n=400, target=AbsoluteTarget(error=0.05))),
            Preset(
                "Number of values",
                make(
                    goal=goals.SupportGoal(k=1000),
                    distribution=TwoStep(k=500),
                    target=AbsoluteTarget(error=0.05),
                    n=1_500,
                    sizes=Grid(low=600, high=10_000, points=14),
                ),
            ),
        )

    def check(self, scenario: EpsilonNeededScenario, tables: Tables | None) -> tuple[str, ...]:
        """Say what does not go together."""
        sizes = scenario.sizes.values()
        for words in goals.refused(scenario.goal, scenario.distribution, sizes, tables):
            return (words,)
        if not sizes[0] <= scenario.n <= sizes[-1]:
            return (
                f"Your sample size n = {scenario.n:,} lies outside the sample sizes to compare with, {sizes[0]:,} to "
                f"{sizes[-1]:,}; widen them, or choose another n.",
            )
        return ()

    def size(self, scenario: EpsilonNeededScenario) -> int:
        """Trials per block."""
        return goals.block_size(scenario.goal, scenario.distribution, scenario.sizes.values())

    def blocks(self, scenario: EpsilonNeededScenario) -> int:
        """Return the number of blocks."""
        return blocks_for(scenario.trials, self.size(scenario))

    def prepare(self, scenario: EpsilonNeededScenario, tables: Tables | None) -> goals.Prepared:
        """Compute tables, exact biases and sensitivities."""
        return goals.prepare(
            scenario.goal, scenario.distribution, scenario.sizes.values(), scenario.seed, self.size(scenario), tables
        )

    def run_block(self, prepared: goals.Prepared, block: int) -> FloatArray:
        """Return a block of estimates."""
        return goals.run_block(prepared, block)

    def assemble(
        self, scenario: EpsilonNeededScenario, prepared: goals.Prepared, parts: Sequence[FloatArray]
    ) -> Result:
        """Solve for ε at the visitor's sample size and at all others."""
        blocks = stacked(parts, scenario.trials)[:, 0, :]
        points = goals.parts_at_points(prepared, blocks)
        mine = goals.parts_at(prepared, points, scenario.n)
        own = solved(scenario, mine)
        if not own["target"][0] > 0:
            raise ParameterError(
                "Without privacy there is no error at all here, so no share can be put on top of it; choose an error "
                "of a given size.",
                field="target",
            )
        frame = pd.concat(
            [
                tidy(self.error_rows(scenario, mine, own), panel=PANELS["error"]),
                tidy(self.people_rows(scenario, points), panel=PANELS["people"]),
            ],
            ignore_index=True,
        )
        people = goals.people_needed(goals.parts_between(prepared, points), own["target"][0], None)
        return self.told(scenario, prepared, frame, own, people, int(blocks.shape[0]))

    def error_rows(
        self, scenario: EpsilonNeededScenario, mine: goals.Parts, own: Mapping[str, tuple[float, float]]
    ) -> list[tuple[str, Any, Any, Any]]:
        """Numbers of the first view: error against ε at the visitor's sample size."""
        grid = scenario.epsilons.values()
        private = [mine.errors(float(epsilon)) for epsilon in grid]
        plain, doubt = own["plain"]
        rows: list[tuple[str, Any, Any, Any]] = [
            ("private", grid, [float(value[0]) for value, _ in private], [float(error[0]) for _, error in private]),
            ("without privacy", grid, np.full(grid.size, plain), np.full(grid.size, doubt)),
            ("upper bound", grid, [float(mine.bound(float(epsilon))[0]) for epsilon in grid], 0.0),
            ("a coin", grid, [goals.coin_error(scenario.n, float(epsilon)) for epsilon in grid], 0.0),
        ]
        if math.isfinite(own["epsilon"][0]):
            rows.append(("private, found", [own["epsilon"][0]], [own["target"][0]], 0.0))
        return rows

    def people_rows(self, scenario: EpsilonNeededScenario, points: goals.Parts) -> list[tuple[str, Any, Any, Any]]:
        """Numbers of the second view: the ε needed at each simulated sample size, where one will do."""
        plain, doubt = points.errors(None)
        wanted = scenario.target.at(plain)
        ns = points.n.astype(np.int64)
        rows = [
            kept("ε needed", ns, *needed(scenario, points)),
            kept("ε that is surely enough", ns, enough(points, wanted), 0.0),
            kept("ε for a coin", ns, coins(points, wanted), 0.0),
        ]
        return [row for row in rows if len(row[1])] or [("error without privacy", ns, plain, doubt)]

    # ---- words ----

    def told(
        self,
        scenario: EpsilonNeededScenario,
        prepared: goals.Prepared,
        frame: pd.DataFrame,
        numbers: Mapping[str, tuple[float, float]],
        people: goals.Found,
        runs: int,
    ) -> Result:
        """Add cards, words, formulas and notes."""
        goal, n = scenario.goal, scenario.n
        target = numbers["target"][0]
        plain, plain_around = stated(numbers["plain"][0], 2 * numbers["plain"][1])
        reached = math.isfinite(numbers["epsilon"][0])
        epsilon, around = stated(numbers["epsilon"][0], 2 * numbers["epsilon"][1]) if reached else ("–", "")
        sure, coin = numbers["sure"][0], numbers["coin"][0]
        last = int(prepared.ns[-1])
        cards = (
            Card("ε that you need", epsilon, around, f"At n = {n:,}; ± is two standard errors.")
            if reached
            else Card(
                "ε that you need",
                "none will do",
                f"with {n:,} people"[:18],
                "The error is too large without any noise.",
            ),
            Card(
                "Without privacy",
                with_unit(plain, goal.unit if goal.unit == "nats" else ""),
                plain_around,
                f"Error at n = {n:,} without noise; ± is two standard errors.",
            ),
            Card(
                "Surely enough",
                promised(sure) if math.isfinite(sure) else "–",
                "ε, theorem" if math.isfinite(sure) else "bound too loose",
                "Where the bound meets the target: exact bias, Lemma 32 for the variance, and the noise.",
            ),
            Card("A coin would need", significant(coin) if math.isfinite(coin) else "–", "ε, closed form")
            if reached
            else Card("People it takes", *at_least(people, last), "Without privacy; with privacy it takes more."),
        )
        wish = f"With **{n:,} people**, {scenario.target.words(goal.unit)}"
        if reached:
            told = (
                f"{wish} takes **ε = {epsilon}** ({around}); any larger ε does better. Without privacy the error is "
                f"{with_unit(plain, goal.unit)} ({plain_around}). "
            )
        else:
            told = (
                f"{wish} cannot be reached at any ε: without any noise the error is already "
                f"{with_unit(plain, goal.unit)} ({plain_around}). "
                + (
                    f"It takes about **{whole(people.people)} people** ({plus_minus(people.n, 2 * people.error)[1]}) "
                    "even without privacy, and more with it; the second chart shows which ε goes with how many. "
                    if people.place == "inside"
                    else f"Even {last:,} people, the largest sample looked at, are too few. "
                )
            )
        told += (
            f"The bound that is a theorem for this distribution asks for ε = {promised(sure)}. "
            if math.isfinite(sure)
            else "The bound that is a theorem for this distribution is too loose to promise it. "
        )
        told += (
            f"A coin's bias would need ε = {significant(coin)} for the same error."
            if math.isfinite(coin)
            else "Not even a coin's bias could be known that well."
        )
        return Result(
            study=self.id,
            scenario=scenario,
            frame=frame,
            cards=cards,
            shows=told,
            takeaway=(
                f"Error of a private estimate ({goal.title.lower()}) against epsilon for {n:,} people, with a line at "
                f"{significant(target)} {goal.unit}. "
                + (f"It is met at epsilon {epsilon} {around}." if reached else "No epsilon meets it.")
            ),
            notes=self.notes(scenario, numbers),
            formulas=self.formulas(scenario, prepared, numbers),
            assumptions=tuple(goals.ASSUMPTIONS),
            extra={"numbers": dict(numbers), "people": people, "prepared": prepared},
            runs=runs,
        )

    def notes(self, scenario: EpsilonNeededScenario, numbers: Mapping[str, tuple[float, float]]) -> tuple[Note, ...]:
        """Say what a reader must know about the choices."""
        out = list(table_notes(scenario.distribution))
        (plain, error), target = numbers["plain"], numbers["target"][0]
        if scenario.target.kind == "absolute" and abs(plain - target) <= 2 * error:
            out.append(
                Note(
                    "The target lies within two standard errors of the error without privacy, so whether any ε reaches "
                    "it cannot be told from so few runs; take more runs.",
                    "warning",
                    "Too close to call",
                )
            )
        return tuple(out)

    def formulas(
        self, scenario: EpsilonNeededScenario, prepared: goals.Prepared, numbers: Mapping[str, tuple[float, float]]
    ) -> tuple[Formula, ...]:
        """Write the closed forms for ε, then the error algebra behind them."""
        target, epsilon = numbers["target"][0], numbers["epsilon"][0]
        plain = numbers["plain"][0]
        delta = goals.exact_parts(scenario.goal, prepared.law, scenario.n)[1]
        found = rf"= {epsilon:.6g}" if math.isfinite(epsilon) else r"\text{: no room}"
        if scenario.target.kind == "relative":
            first = Formula(
                "ε for a share ρ more",
                r"\varepsilon_\rho=\frac{\sqrt2\,\Delta}{R_0\sqrt{(1+\rho)^2-1}}",
                rf"\rho = {scenario.target.more:g},\ R_0 = {plain:.4g},\ \Delta = {delta:.4g}:\quad"
                rf"\varepsilon_\rho {found}",
                "exact",
                "properties §2 (derived; R₀ simulated)",
            )
        else:
            first = Formula(
                "ε for a target R",
                r"\varepsilon=\frac{\sqrt2\,\Delta}{\sqrt{R^2-\mathrm{bias}^2-\mathrm{Var}}}",
                rf"R = {target:.4g},\ R_0 = {plain:.4g},\ \Delta = {delta:.4g}:\quad\varepsilon {found}",
                "exact",
                "properties §2 (derived; the variance simulated)",
            )
        used = epsilon if math.isfinite(epsilon) else 1.0
        return (first, *goals.error_formulas(scenario.goal, prepared, scenario.n, used, target))

    # ---- charts ----

    def numbers(self, result: Result, view: str) -> pd.DataFrame:
        """Rows behind the chart of one view."""
        return result.frame[result.frame["panel"] == PANELS[view]]

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the error against ε at n, or the ε needed against n."""
        if view == "people":
            return self.people_chart(result)
        scenario: Any = result.scenario
        goal = scenario.goal
        looks: dict[str, tuple[Role, str]] = {
            "a coin": ("truth", "a coin"),
            "upper bound": ("upper bound", "upper bound"),
            "without privacy": ("non-private", "without<br>privacy"),
            "private": ("private", "private"),
        }
        marks: list[Any] = [
            curve(result, "error", name, role, label, f"{name}: off by {{y}} ± {{e}} {goal.unit}")
            for name, (role, label) in looks.items()
        ]
        target, (epsilon, _) = result.extra["numbers"]["target"][0], result.extra["numbers"]["epsilon"]
        here = None
        if math.isfinite(epsilon):
            here = (epsilon, f"ε = {significant(epsilon)}")
            marks.append(Points("private", [epsilon], [target], "private, found", hover="meets the target"))
        return Chart(
            f"Error of the estimate ({goal.title.lower()}), n = {scenario.n:,}",
            f"root-mean-square, {goal.measure}",
            Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε"),
            Axis("error", "log", unit=goal.unit if goal.unit == "nats" else ""),
            (Panel(tuple(marks), here=here, level_lines=((target, f"you accept {target:.3g}"),)),),
        )

    def people_chart(self, result: Result) -> Chart:
        """Describe the ε needed against n; where no ε will do, there is no curve."""
        scenario: Any = result.scenario
        looks: dict[str, tuple[Role, str]] = {
            "ε for a coin": ("truth", "a coin"),
            "ε that is surely enough": ("upper bound", "surely<br>enough"),
            "ε needed": ("private", "ε needed"),
        }
        shown = set(self.numbers(result, "people")["series"])
        marks: list[Any] = [
            curve(result, "people", name, role, label, f"{name}: {{y}} ± {{e}}")
            for name, (role, label) in looks.items()
            if name in shown
        ]
        x = Axis("sample size n, people", "log", symbol="n")
        here = (float(scenario.n), f"your n = {scenario.n:,}")
        if not marks:
            target = result.extra["numbers"]["target"][0]
            marks = [
                curve(
                    result,
                    "people",
                    "error without privacy",
                    "non-private",
                    "without<br>privacy",
                    "without privacy: off by {y} ± {e}",
                )
            ]
            return Chart(
                "Error without privacy: no ε will do",
                "root-mean-square, log scale",
                x,
                Axis("error", "log"),
                (Panel(tuple(marks), here=here, level_lines=((target, f"you accept {target:.3g}"),)),),
            )
        return Chart(
            "ε that the target takes",
            "log scale; no curve where no ε will do",
            x,
            Axis("ε", "log"),
            (Panel(tuple(marks), here=here),),
        )


def needed(scenario: EpsilonNeededScenario, points: goals.Parts) -> tuple[FloatArray, FloatArray]:
    """Return the ε needed at each sample size and its standard error; NaN where none will do."""
    plain = points.errors(None)[0]
    wanted = scenario.target.at(plain)
    epsilon, error = goals.epsilon_needed(points.bias, points.variance, points.doubt, points.sensitivity, wanted)
    if scenario.target.kind == "relative":
        # the target moves with the error without privacy: ε is proportional to its inverse
        safe = np.where(plain > 0, plain, np.nan)
        error = epsilon * points.doubt / (2 * safe**2)
    return epsilon, error


def solved(scenario: EpsilonNeededScenario, mine: goals.Parts) -> dict[str, tuple[float, float]]:
    """Return target, error without privacy and the three ε at one sample size, each with its standard error."""
    plain, doubt = mine.errors(None)
    wanted = scenario.target.at(plain)
    epsilon, error = needed(scenario, mine)
    return {
        "epsilon": (float(epsilon[0]), float(error[0])),
        "plain": (float(plain[0]), float(doubt[0])),
        "target": (float(wanted[0]), 0.0),
        "sure": (float(enough(mine, wanted)[0]), 0.0),
        "coin": (float(coins(mine, wanted)[0]), 0.0),
    }


def enough(points: goals.Parts, wanted: FloatArray) -> FloatArray:
    """Return the ε at which the bound meets the target (variance at most ``n Δ²/4``); NaN where it never does."""
    silent = np.zeros_like(points.n)
    return goals.epsilon_needed(points.bias, points.n / 4 * points.sensitivity**2, silent, points.sensitivity, wanted)[
        0
    ]


def promised(epsilon: float) -> str:
    """Write an ε that is surely enough with three digits, rounded up: less would not be promised.

    Examples
    --------
    >>> promised(1.9011), promised(0.5), promised(0.49257)
    ('1.91', '0.500', '0.493')
    """
    unit = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    return significant(math.ceil(epsilon / unit - 1e-9) * unit)


def coins(points: goals.Parts, wanted: FloatArray) -> FloatArray:
    """Return the ε that a coin needs at each sample size; NaN where none will do."""
    pairs = zip(points.n.tolist(), wanted.tolist(), strict=True)
    found = [goals.coin_epsilon(n, target) for n, target in pairs]
    return np.array([math.nan if one is None else one for one in found])


def kept(name: str, x: Any, y: FloatArray, error: Any) -> tuple[str, Any, Any, Any]:
    """Keep the points that have a number, and one that is a promise of privacy at all."""
    good = np.isfinite(y) & (y <= LARGEST_EPSILON)
    return name, x[good], y[good], np.broadcast_to(np.asarray(error, dtype=np.float64), y.shape)[good]


def at_least(people: goals.Found, last: int) -> tuple[str, str]:
    """Write how many people it takes without privacy, for a card."""
    if people.place == "inside":
        return whole(people.people), plus_minus(people.n, 2 * people.error)[1]
    return f"over {last:,}", "target not reached"


def curve(result: Result, view: str, name: str, role: Role, label: str, phrase: str) -> Line:
    """Describe one curve; the private one is the main one."""
    rows = result.series(name, PANELS[view])
    error = rows["std_error"].to_numpy()
    return Line(
        role,
        rows["x"].to_numpy(dtype=np.float64),
        rows["y"].to_numpy(),
        name,
        label,
        error if error.any() else None,
        main=role == "private",
        hover=phrase,
    )


__all__ = ["AbsoluteTarget", "EpsilonNeeded", "EpsilonNeededScenario", "RelativeTarget"]
