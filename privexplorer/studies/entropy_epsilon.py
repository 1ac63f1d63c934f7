"""How does the error of a private entropy estimate fall as ε grows? (properties §2, §4; Thm 10)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from privexplorer.arrays import FloatArray
from privexplorer.distributions import Uniform, Zipf
from privexplorer.properties import PlugIn, Polynomial
from privexplorer.records import Number, RealGrid, Scenario, field
from privexplorer.simulation import mixture_quantiles, root_mean_square
from privexplorer.studies import _entropy as core
from privexplorer.studies._fields import people_field
from privexplorer.studies.base import Preset, stacked
from privexplorer.studies.chart import Axis, Chart
from privexplorer.studies.entropy_error import DASHES, EntropyError, EntropyScenario, upper_bound
from privexplorer.studies.result import Card, Result
from privexplorer.studies.words import plus_minus, significant, with_unit


class EntropyEpsilonScenario(EntropyScenario):
    """Error against ε."""

    n: Annotated[int, Number] = people_field(
        1_000, "How many records the sample has; public and fixed.", low=10, high=100_000, ge=2, le=1_000_000
    )
    epsilons: RealGrid = field(RealGrid(low=0.01, high=10.0, points=25), "Range of ε", key="grid", group="Method")


class EntropyEpsilon(EntropyError):
    """RMSE of entropy estimates with and without privacy against ε."""

    id: ClassVar[str] = "entropy-epsilon"
    question: ClassVar[str] = "How much privacy can this sample afford?"
    lead: ClassVar[str] = "One sample size, every ε: where the noise stops mattering and where it takes over."
    tab: ClassVar[str] = "Error against ε"
    card: ClassVar[str] = "Error against ε, between an upper and a lower bound."
    link: ClassVar[str] = "See where noise takes over"
    picture: ClassVar[str] = "epsilon"
    scenario: ClassVar[type[Scenario]] = EntropyEpsilonScenario
    late: ClassVar[frozenset[str]] = EntropyError.late | {"epsilons"}
    rows: ClassVar[tuple[str, ...]] = ("T-Thm10", "T-CoinRef", "T-Claim-poly")

    def presets(self) -> tuple[Preset[Any], ...]:
        """Finished examples."""
        make = EntropyEpsilonScenario
        return (
            Preset("A thousand people", make()),
            Preset("A hundred people", make(distribution=Zipf(k=100, exponent=1.0), n=100)),
            Preset("A large survey", make(n=100_000, estimators=(PlugIn(),))),
            Preset(
                "Two estimators", make(distribution=Uniform(k=1000), estimators=(PlugIn(), Polynomial()), bounds=False)
            ),
        )

    def grid(self, scenario: Any) -> Any:
        """Return the one sample size."""
        return np.array([scenario.n])

    def assemble(self, scenario: Any, prepared: core.Prepared, parts: Sequence[FloatArray]) -> Result:
        """Put curves, bounds and words together."""
        blocks = stacked(parts, scenario.trials)
        unit, grid = core.unit_size(scenario.unit), scenario.epsilons.values()
        sens = core.sensitivities(scenario.estimators, prepared, scenario.noise_rule)
        cap = math.log(prepared.law.k) if scenario.clip else None
        rows: list[tuple[str, Any, Any, Any]] = []
        mine: list[tuple[core.Curve, core.Curve]] = []
        for place, estimator in enumerate(scenario.estimators):
            plain = core.plain_curve(blocks, place, prepared.truth)
            size = np.full(grid.shape, plain.rmse[0] / unit)
            rows.append((estimator.title, grid, size, np.full(grid.shape, plain.error[0] / unit)))
            private = core.Curve(*root_mean_square(self.squares(scenario, prepared, blocks, sens, place, grid, cap)))
            rows.append((f"{estimator.title}, private", grid, private.rmse / unit, private.error / unit))
            at = np.array([scenario.epsilon])
            here = core.Curve(*root_mean_square(self.squares(scenario, prepared, blocks, sens, place, at, cap)))
            mine.append((plain, here))
        n = float(prepared.ns[0])
        if scenario.bounds and prepared.law.k > 1:
            bound = upper_bound(prepared.bias[-1], np.full(grid.shape, n), sens[-1], sens[-1] / grid)
            rows.append(("upper bound", grid, bound / unit, 0.0))
            lower = np.array([core.lower_bound_shape(prepared.law.k, n, epsilon) for epsilon in grid])
            rows.append(("lower bound (shape only)", grid, core.moved_below(lower, private.rmse) / unit, 0.0))
        result = self.told(scenario, prepared, rows, mine, sens, blocks)
        quiet = core.quiet_curve(blocks, len(scenario.estimators) - 1, prepared.truth)
        return self.retold(result, scenario, mine[-1], float(quiet.rmse[0]), float(sens[-1, 0]))

    def squares(
        self,
        scenario: Any,
        prepared: core.Prepared,
        blocks: FloatArray,
        sens: FloatArray,
        place: int,
        epsilons: FloatArray,
        cap: float | None,
    ) -> FloatArray:
        """Return expected squared errors, shape (trials, epsilons)."""
        scales = core.noise_scales(scenario.noise_rule, blocks, place, sens, prepared, 1.0)[..., :1] / epsilons
        estimates = np.repeat(blocks[:, 3 * place + 1, :1], epsilons.size, axis=1)
        low, high = (0.0, cap) if cap is not None else (-math.inf, math.inf)
        return core.private_squares(estimates, prepared.truth, scales, low, high)

    def retold(
        self, result: Result, scenario: Any, mine: tuple[core.Curve, core.Curve], quiet: float, delta: float
    ) -> Result:
        """Say it in terms of ε."""
        unit, words = core.unit_size(scenario.unit), scenario.unit
        plain, private = mine
        value, error = plus_minus(private.rmse[0] / unit, 2 * private.error[0] / unit)
        value0, error0 = plus_minus(plain.rmse[0] / unit, 2 * plain.error[0] / unit)
        free = core.epsilon_for(0.05, delta, quiet)
        double = core.epsilon_for(1.0, delta, quiet)
        cards = (
            Card(
                "Private error",
                with_unit(value, words),
                error,
                f"At ε = {scenario.epsilon:g}; ± is two standard errors.",
            ),
            Card("Without privacy", with_unit(value0, words), error0, "The same estimator without noise."),
            Card("Twice the error at", f"ε = {significant(double, 2)}", "unclipped", "Closed form of properties §2."),
            Card(
                "Nearly free from",
                f"ε = {significant(free, 2)}",
                "at most 5% more",
                "Closed form of properties §2.",
            ),
        )
        shows = (
            f"With **{scenario.n:,} people** and **ε = {scenario.epsilon:g}**, a private estimate is typically off by "
            f"**{with_unit(value, words)}**; without privacy by {with_unit(value0, words)}. From ε = "
            f"{significant(free, 2)} on "
            "the noise adds less than 5%: there the sample size limits you, not privacy. Below ε = "
            f"{significant(double, 2)} "
            f"the noise more than doubles the error."
            + (" The lower bound shows a shape only; its constant is unknown." if scenario.bounds else "")
        )
        takeaway = (
            f"Error of an entropy estimate against epsilon for {scenario.n:,} people: {value} {words} at epsilon "
            f"{scenario.epsilon:g}, {value0} {words} without privacy."
        )
        return replace(result, cards=cards, shows=shows, takeaway=takeaway)

    def chart(self, result: Result, view: str) -> Chart:
        """Describe the error curves against ε, or the spread of one release."""
        scenario: Any = result.scenario
        x = Axis("ε", "log", ends=("more private", "more accurate"), symbol="ε")
        if view == "release":
            return self.release_chart(result, x)
        marks = core.error_marks(result, scenario.estimators, DASHES, scenario.unit)
        return core.error_chart(marks, x, scenario.unit, (scenario.epsilon, f"your ε = {scenario.epsilon:g}"))

    def axis_values(self, result: Result) -> FloatArray:
        """Values on the x axis."""
        scenario: Any = result.scenario
        return np.asarray(scenario.epsilons.values())

    def release_quantiles(self, result: Result) -> FloatArray:
        """Quantiles of a single release at each ε, shape (5, epsilons)."""
        scenario: Any = result.scenario
        prepared, blocks = result.extra["prepared"], result.extra["blocks"]
        place, grid = len(scenario.estimators) - 1, self.axis_values(result)
        scales = (
            core.noise_scales(scenario.noise_rule, blocks, place, result.extra["sensitivities"], prepared, 1.0)[..., :1]
            / grid
        )
        values = np.repeat(blocks[:, 3 * place + 1, :1], grid.size, axis=1)
        quantiles = mixture_quantiles(values, scales, (0.025, 0.25, 0.5, 0.75, 0.975))
        if scenario.clip:
            quantiles = np.clip(quantiles, 0.0, math.log(prepared.law.k))
        return np.asarray(quantiles / core.unit_size(scenario.unit))
