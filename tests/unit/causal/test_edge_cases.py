"""Every edge case of spec section 3 by way of what a user calls: the sentence comes, and no number without one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privexplorer.causal import (
    ATE,
    ATT,
    AlphaIdentity,
    AverageDerivative,
    DiscreteCounts,
    Estimate,
    FiniteMechanism,
    GaussianNoise,
    Hermite,
    KnownRepresenter,
    LaplaceAddition,
    Legendre,
    MomentLearners,
    RandomisedResponse,
    UniformNoise,
    cross_fit,
    discrete_estimate,
    kernel_regression,
    one_step_average,
    series_regression,
    shift_check,
    tabulate,
    uniform_levels,
    weighted_average,
)
from privexplorer.causal.estimate import sense_of_error
from privexplorer.causal.moments import private_design, private_least_squares
from privexplorer.errors import UnsupportedCombination

N = 3000
RNG = np.random.default_rng(11)
X = RNG.integers(0, 3, N)
D = RNG.integers(0, 2, N)
Y = RNG.integers(0, 2, N)
NUMBER = RNG.uniform(-1.0, 1.0, N)
KEEP = AlphaIdentity(0.8, uniform_levels(3))
OPEN = AlphaIdentity(1.0, uniform_levels(3))
Z = KEEP.privatise(X, RNG)
RANGE = AlphaIdentity(0.6, UniformNoise(-1.0, 1.0))
SHOWN = RANGE.privatise(NUMBER, RNG)
BELL = AlphaIdentity(0.6, GaussianNoise())


def with_value(column: np.ndarray, value: Any) -> np.ndarray:
    found = np.array(column, dtype=object if isinstance(value, str) else float)
    found[3] = value
    return found


def by_table(y: Any = Y, d: Any = D, z: Any = Z, mechanism: AlphaIdentity = KEEP, target: Any = None) -> Estimate:
    return discrete_estimate(tabulate(y, d, z, 3), mechanism, ATE() if target is None else target)


def derivative(y: Any, *, law: Any = None) -> Estimate:
    basis = Hermite(2, 0.0, 1.0)
    z = BELL.privatise(NUMBER, np.random.default_rng(0))
    return one_step_average(y, z, BELL, AverageDerivative(0.5), regression=basis, representer=basis, law=law)


# what is refused: the call, and what its sentence says
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "keep probability 0": (lambda: AlphaIdentity(0.0, uniform_levels(3)), "above 0 and at most 1; it is 0. At 0 noth"),
    "keep probability 1.1": (lambda: AlphaIdentity(1.1, uniform_levels(3)), "above 0 and at most 1; it is 1.1"),
    "keep probability NaN": (lambda: AlphaIdentity(math.nan, uniform_levels(3)), "above 0 and at most 1; it is nan"),
    "ε 0": (lambda: RandomisedResponse(3, 0.0), "above 0; it is 0. At 0 the shown value says nothing"),
    "ε -1": (lambda: RandomisedResponse(3, -1.0), "above 0; it is -1"),
    "not square": (lambda: FiniteMechanism(np.full((2, 3), 0.5)), "2 rows and 3 columns"),
    "negative": (lambda: FiniteMechanism([[1.2, 0.1], [-0.2, 0.9]]), "may be negative; the smallest is -0.2"),
    "columns": (lambda: FiniteMechanism([[0.7, 0.1], [0.2, 0.9]]), "column .* add up to one; one adds up to 0.9"),
    "columns, hardly off": (
        lambda: FiniteMechanism([[0.7 + 2e-9, 0.1], [0.3, 0.9]]),
        "one adds up to 1.000000002",
    ),
    "rows": (lambda: FiniteMechanism([[0.7, 0.3], [0.1, 0.9]]), "exchange rows and columns"),
    "singular": (lambda: FiniteMechanism([[0.5, 0.5], [0.5, 0.5]]), "cannot be inverted, so the answer is not determ"),
    "labels, table": (lambda: by_table(z=np.where(Z == 2, np.arange(N) + 3, Z)), "3 declared categories: 5, .* others"),
    "labels, folds": (lambda: cross_fit(Y, D, np.where(Z == 2, 7, Z), KEEP), "outside the 3 public categories .*: 7"),
    "text, table": (lambda: by_table(with_value(Y, "high")), "outcome column must be numeric; it holds “high”"),
    "text, folds": (lambda: cross_fit(with_value(Y, "high"), D, Z, KEEP), "outcome column must be numeric"),
    "text, slope": (lambda: derivative(with_value(Y, "high")), "outcome column must be numeric"),
    "text, known weight": (
        lambda: weighted_average(with_value(Y, "high"), SHOWN, RANGE, KnownRepresenter(lambda at: at.x)),
        "outcome column must be numeric",
    ),
    "text, curve": (
        lambda: kernel_regression(SHOWN, with_value(Y, "high"), RANGE, public_range=(-1.0, 1.0)),
        "outcome column must be numeric",
    ),
    "text, series": (
        lambda: series_regression(RANGE, SHOWN, with_value(Y, "high"), Legendre(-1.0, 1.0, 2), lambda x: 0.5 + 0 * x),
        "outcome column must be numeric",
    ),
    "text, moments": (
        lambda: private_least_squares(
            private_design(RANGE, SHOWN, Legendre(-1.0, 1.0, 2)),
            with_value(Y, "high"),
        ),
        "outcome must be numeric",
    ),
    "gap, table": (lambda: by_table(with_value(Y, math.nan)), "1 of 3,000 rows have a missing value"),
    "gap, folds": (lambda: cross_fit(with_value(Y, math.nan), D, Z, KEEP), "without gaps; 1 records have no finite"),
    "gap, slope": (lambda: derivative(with_value(Y, math.nan)), "without gaps; 1 records have no finite"),
    "gap, curve": (
        lambda: kernel_regression(SHOWN, with_value(Y, math.nan), RANGE, public_range=(-1.0, 1.0)),
        "without gaps; 1 records have no finite",
    ),
    "infinite, table": (lambda: by_table(with_value(Y, math.inf)), "numeric and finite; row 4 is not"),
    "three arms, table": (lambda: by_table(d=np.arange(N) % 3), "exactly two values; this column has 0, 1 and 2"),
    "three arms, folds": (lambda: cross_fit(Y, np.arange(N) % 3, Z, KEEP), "exactly two values, .* it has 0, 1, 2"),
    "arms of words": (
        lambda: by_table(d=np.where(D == 1, "drug", "none")),
        "“drug” and “none”; say which of them",
    ),
    "nobody treated, table": (lambda: by_table(d=0 * D), "everybody has 0, so there are no treated"),
    "nobody treated, counts": (lambda: DiscreteCounts.from_counts([[[3, 4], [0, 0]]]), "no treated units"),
    "nobody treated, folds": (lambda: cross_fit(Y, 0 * D, Z, KEEP, "ATT"), "no treated units"),
    "nobody untreated": (lambda: cross_fit(Y, 0 * D + 1, Z, KEEP, "ATT"), "no control units"),
    "overlap, table": (lambda: by_table(d=(X == 1).astype(int)), "hardly ever alike: 100% of the propensities"),
    "overlap, folds": (lambda: cross_fit(Y, (np.arange(N) < 10).astype(int), SHOWN, RANGE), "do not overlap"),
    "slope in a range": (
        lambda: derivative(Y, law=shift_check(np.zeros_like, 0.5, low=-1.0, high=1.0)),
        "must be dominated by the law of X.* average with a known weight",
    ),
    "slope, bounded basis": (
        lambda: one_step_average(
            Y, SHOWN, RANGE, AverageDerivative(0.5), regression=Legendre(-1.0, 1.0, 2), representer=np.sin
        ),
        "must be dominated by the law of X",
    ),
    "Laplace and trimming": (lambda: cross_fit(Y, D, NUMBER, LaplaceAddition(0.5)), "twice differentiable functions"),
    "Laplace and steps": (lambda: LaplaceAddition(0.5).invert(np.sign(NUMBER), None), "twice differentiable"),
    "basis too large": (
        lambda: cross_fit(Y[:200], D[:200], SHOWN[:200], RANGE, learners=MomentLearners(size=8)),
        "8 basis functions are too many for 200 records .* use at most 7",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_refused_with_its_sentence(case: str) -> None:
    call, words = REFUSED[case]
    with pytest.raises((ValueError, UnsupportedCombination), match=words) as caught:
        call()
    sentence = str(caught.value)
    assert sentence[0].isupper() or sentence[0].isdigit() or sentence[0] == "ε"
    assert sentence.endswith(".")
    assert caught.type.__module__ == "privexplorer.errors"


def test_keep_probability_one_is_allowed_and_without_noise() -> None:
    gaps = [Y[(x == X) & (D == 1)].mean() - Y[(x == X) & (D == 0)].mean() for x in range(3)]
    assert by_table(z=X, mechanism=OPEN).value == pytest.approx(np.sum(np.bincount(X) / N * gaps), abs=1e-12)


def test_a_nearly_singular_mechanism_is_told_with_the_estimate() -> None:
    nearly = FiniteMechanism([[0.50001, 0.5], [0.49999, 0.5]])
    assert "nearly impossible to invert" in nearly.notes[0]
    found = discrete_estimate(tabulate(Y, D, X % 2, 2), nearly, ATE())
    assert nearly.notes[0] in found.notes


def test_gaps_are_dropped_on_request_and_counted() -> None:
    counts = tabulate(with_value(Y, math.nan), D, Z, 3, missing="drop")
    assert "1 rows with missing values were left out." in discrete_estimate(counts, KEEP, ATE()).notes


def test_noise_where_nobody_is_gets_a_warning() -> None:
    found = by_table(z=KEEP.privatise(np.minimum(X, 1), np.random.default_rng(1)))
    assert any("(2) cannot be told from ones that nobody has" in note for note in found.notes)


def test_overlap_warning_gives_the_share() -> None:
    treated = (RNG.random(N) < np.array([0.001, 0.5, 0.5])[X]).astype(int)
    for found in (by_table(d=treated), cross_fit(Y, treated, Z, KEEP)):
        assert "little overlap" in found.flags
        assert any("33%" in note for note in found.notes)


def test_unmixed_cells_below_zero_are_repaired_and_said() -> None:
    little = AlphaIdentity(0.2, uniform_levels(3))
    found = by_table(y=Y[:300], d=D[:300], z=little.privatise(X[:300], np.random.default_rng(2)), mechanism=little)
    assert found.method == "likelihood"
    assert "constrained" in found.flags
    assert any("most likely possible table is used" in note for note in found.notes)
    assert found.guard is not None
    assert found.guard.level == "refused"
    assert not found.has_interval


def test_too_few_people_for_the_noise_get_no_interval() -> None:
    found = cross_fit(Y[:400], D[:400], SHOWN[:400], AlphaIdentity(0.3, UniformNoise(-1.0, 1.0)))
    assert math.isfinite(found.value)
    assert not found.has_interval
    assert any("too few people for this much noise" in note for note in found.notes)


# --- a cell that nobody is in ------------------------------------------------------------------------------------

NEVER = ((D == 1) & (X > 0)).astype(int)


def test_a_huge_standard_error_has_its_sentence() -> None:
    """Nobody with the first category is treated: the share is divided by although it is next to nothing.

    A little fewer of the treated show the first category than noise alone makes it, 1000 · 0.2/3 = 67.
    """
    table = [[[200, 160, 140], [30, 235, 235]], [[140, 160, 200], [28, 236, 236]]]
    found = discrete_estimate(DiscreteCounts.from_counts(table), KEEP, ATE())
    assert found.std_error > 1.0  # effects on a 0/1 outcome are at most 1
    assert {"no overlap", "uninformative"} <= set(found.flags)
    assert any("No overlap at level 0: there are no treated units" in note for note in found.notes)
    assert f"standard error of {found.std_error:.3g}" in " ".join(found.notes)
    assert "wider than all effects that this outcome allows (1 either way)" in " ".join(found.notes)


def test_the_treated_can_still_be_compared() -> None:
    """The ATT needs controls like the treated only: no complaint about its standard error."""
    found = by_table(d=NEVER, target=ATT())
    assert found.std_error < 0.05
    assert "uninformative" not in found.flags


def test_an_estimate_that_does_not_exist_is_said() -> None:
    found = by_table(d=NEVER, z=X, mechanism=OPEN)
    assert math.isnan(found.value)
    assert "not defined" in found.flags
    assert any("needs the outcomes of a group that nobody is in" in note for note in found.notes)
    assert any("too few people in the smallest group" in note for note in found.notes)  # nothing was noised
    assert not any("noise, so no interval" in note or "Unmixing" in note for note in found.notes)


@pytest.mark.parametrize(
    ("std_error", "flags"),
    [(0.4, ()), (0.505, ()), (0.515, ("uninformative",)), (math.inf, ("not defined",)), (math.nan, ("not defined",))],
)
def test_where_a_standard_error_stops_to_say_anything(std_error: float, flags: tuple[str, ...]) -> None:
    """1/1.96 = 0.5102: from there on the interval is wider than [-1, 1]."""
    assert sense_of_error(0.1, std_error, 2.0, 3.0)[0] == flags


# --- an outcome that does not vary -------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [1.0, 0.1, -3.7])
@pytest.mark.parametrize("keep", [0.8, 1.0])
def test_a_constant_outcome_has_its_sentence(value: float, keep: float) -> None:
    y = np.full(N, value)
    categories, numbers = AlphaIdentity(keep, uniform_levels(3)), AlphaIdentity(keep, UniformNoise(-1.0, 1.0))
    shown = numbers.privatise(NUMBER, np.random.default_rng(4))
    for target in (ATE(), ATT()):
        for found in (
            by_table(y=y, z=categories.privatise(X, np.random.default_rng(4)), mechanism=categories, target=target),
            cross_fit(y, D, shown, numbers, target),
            cross_fit(y, D, shown, numbers, target, learners="riesz"),
        ):
            assert found.value == pytest.approx(0.0, abs=1e-12)
            assert found.std_error == pytest.approx(0.0, abs=1e-12)
            assert "constant outcome" in found.flags
            assert any(f"Everybody has the same outcome ({value:g})" in note for note in found.notes)
            assert not any("enough people" in note for note in found.notes)


def test_other_outcomes_get_no_such_sentence() -> None:
    for found in (by_table(), cross_fit(Y, D, SHOWN, RANGE)):
        assert not {"constant outcome", "not defined", "uninformative"} & set(found.flags)
