"""An effect on somebody's table: every edge case of section 3 has its sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from privexplorer.causal.bases import Legendre
from privexplorer.causal.crossfit import cross_fit
from privexplorer.causal.geometric import one_step_average, weighted_average
from privexplorer.causal.mechanisms import (
    AlphaIdentity,
    FiniteMechanism,
    GaussianNoise,
    LaplaceAddition,
    RandomisedResponse,
    UniformNoise,
    uniform_levels,
)
from privexplorer.causal.study_data import Categories, EffectAnalysis, Numbers, analyse_effect, mechanism_for
from privexplorer.causal.targets import AverageDerivative, KnownRepresenter
from privexplorer.errors import DataError, ParameterError, PrivExplorerError, UnsupportedCombination

ILLNESS = {"illness": Categories(("none", "some", "much"))}
AGE = {"age": Numbers(20, 60)}


def people(n: int = 3000, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 3, n)
    age = rng.uniform(20, 60, n)
    town = rng.integers(0, 4, n)
    lift = 0.7 * (code - 1) + (age - 40) / 20 + 0.3 * (town - 1.5)
    course = (rng.random(n) < 1 / (1 + np.exp(-lift))).astype(int)
    pay = 2.0 * course + code + age / 10 + town + rng.normal(size=n)
    names = np.array(["none", "some", "much"], dtype=object)
    return {
        "pay": pay,
        "course": course,
        "illness": names[code],
        "age": age,
        "town": np.array(["a", "b", "c", "d"], dtype=object)[town],
        "years": age - 18,
    }


def analyse(table: Any, private: Any, mechanism: Any = None, **more: Any) -> EffectAnalysis:
    settings: dict[str, Any] = {"outcome": "pay", "treatment": "course", "rng": np.random.default_rng(3)}
    return analyse_effect(
        table, private=private, mechanism=mechanism or mechanism_for(private, 0.7), **(settings | more)
    )


# --- what comes out ----------------------------------------------------------------------------------------------


def test_categories_with_public_columns() -> None:
    table = people()
    found = analyse(table, ILLNESS, public=("years", "town"), keep_probabilities=(0.4, 0.7, 1.0))
    assert found.estimate.covers(2.0)
    assert found.oracle is not None
    assert found.oracle.covers(2.0)
    assert found.oracle.std_error < found.estimate.std_error < 0.15
    assert found.unadjusted.value > 3
    assert found.estimate.naive is not None
    assert found.estimate.value < found.estimate.naive.value < found.unadjusted.value
    assert [rung.keep_probability for rung in found.rungs] == [0.4, 0.7, 1.0]
    assert found.rungs[2].estimate is not None
    assert found.rungs[2].estimate.value == pytest.approx(found.oracle.value, rel=1e-9)
    assert found.arms == (0, 1)
    assert found.propensity.shape == found.treated.shape == (3000,)
    assert 0 <= found.trimmed_released < 0.05
    assert any("noise was drawn once" in note for note in found.notes)


def test_one_column_of_categories_goes_by_its_table() -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, 6000)
    d = (rng.random(6000) < 0.3 + 0.2 * x).astype(int)
    table = {"pay": d + x + rng.normal(size=6000), "course": d, "illness": ILLNESS["illness"].levels}
    table["illness"] = np.array(ILLNESS["illness"].levels, dtype=object)[x]
    found = analyse(table, ILLNESS)
    assert "one-step, param" not in found.estimate.method
    assert found.estimate.covers(1.0)
    assert found.propensity.shape == (6000,)
    assert len(np.unique(found.propensity)) == 3
    assert found.oracle is not None
    assert found.oracle.std_error < found.estimate.std_error
    crossed = analyse(table, ILLNESS, learners="param")
    assert abs(crossed.estimate.value - found.estimate.value) < 0.5 * found.estimate.std_error


def test_numbers_mixed_columns_and_data_frames() -> None:
    table = pd.DataFrame(people(6000))
    both = {**ILLNESS, **AGE}
    found = analyse(table, both, public=("town",), target="ATT")
    assert found.estimate.covers(2.0)
    assert found.released.shape == (6000, 2)
    assert found.estimate.target == "att"
    only_age = analyse(table, AGE, public=("town", "illness"))
    assert only_age.estimate.covers(2.0)
    kept = float(np.mean(only_age.released == table["age"].to_numpy()))
    assert abs(kept - 0.7) < 4 * math.sqrt(0.21 / 6000)


def test_released_columns_are_not_noised_again() -> None:
    table = people()
    mechanism = mechanism_for(AGE, 0.6)
    table["age"] = np.asarray(mechanism.privatise(table["age"], np.random.default_rng(9)))
    found = analyse(table, AGE, mechanism, public=("town", "illness"), is_released=True, keep_probabilities=(0.5,))
    np.testing.assert_array_equal(found.released, table["age"])
    assert found.oracle is None
    assert found.rungs == ()
    assert not any("drawn once" in note for note in found.notes)


def test_same_seed_same_noise() -> None:
    one, other = (analyse(people(), AGE, public=("town", "illness")) for _ in range(2))
    np.testing.assert_array_equal(one.released, other.released)
    assert one.estimate.value == other.estimate.value


# --- edge cases of section 3 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0.0, -0.1, 1.1, math.nan])
def test_keep_probability_out_of_range(keep: float) -> None:
    with pytest.raises(ParameterError, match=r"above 0 and at most 1; it is .* At 0 nothing .* is released"):
        mechanism_for(AGE, keep)


def test_keep_probability_one_is_the_oracle() -> None:
    found = analyse(people(), AGE, mechanism_for(AGE, 1.0), public=("town", "illness"))
    assert found.oracle is not None
    assert found.estimate.value == found.oracle.value
    assert found.estimate.guard is None


@pytest.mark.parametrize("epsilon", [0.0, -1.0])
def test_epsilon_of_randomised_response(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="cannot be undone"):
        RandomisedResponse(3, epsilon)


BAD_MATRICES: list[tuple[Any, str]] = [
    ([[0.5, 0.5, 0.1], [0.5, 0.5, 0.9]], "2 rows and 3 columns"),
    ([[1.2, 0.0], [-0.2, 1.0]], "may be negative"),
    ([[0.9, 0.3], [0.2, 0.7]], "must add up to one; one adds up to"),
    ([[0.9, 0.1], [0.4, 0.6]], "exchange rows and columns"),
    ([[0.5, 0.5], [0.5, 0.5]], "cannot be inverted"),
]


@pytest.mark.parametrize(("matrix", "words"), BAD_MATRICES)
def test_bad_matrices_have_their_own_sentences(matrix: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        FiniteMechanism(np.array(matrix))


def test_nearly_singular_matrix_is_a_warning() -> None:
    tiny = 2e-5
    matrix = FiniteMechanism(np.array([[0.5 + tiny, 0.5 - tiny], [0.5 - tiny, 0.5 + tiny]]))
    rng = np.random.default_rng(0)
    table = {"pay": rng.normal(size=400), "course": rng.integers(0, 2, 400), "sick": rng.integers(0, 2, 400)}
    found = analyse_effect(
        table, outcome="pay", treatment="course", private={"sick": Categories((0, 1))}, mechanism=matrix
    )
    assert any("nearly impossible to invert" in note for note in found.notes)
    assert not found.estimate.has_interval


def test_labels_outside_the_list() -> None:
    table = people()
    table["illness"][:7] = ["x", "y", "z", "u", "v", "t", "x"]
    with pytest.raises(DataError, match="'illness' holds values outside the 3 declared categories") as caught:
        analyse(table, ILLNESS)
    assert sum(f"“{letter}”" in str(caught.value) for letter in "xyzuvt") == 5


def test_noise_where_nobody_is() -> None:
    """E4: half of the noise lands beyond every true value."""
    table = people(6000)
    wide = {"age": Numbers(20, 100)}
    found = analyse(table, wide, public=("town", "illness"))
    assert any("of the noise in 'age' lands where hardly anybody" in note for note in found.notes)
    fine = analyse(table, AGE, public=("town", "illness"))
    assert not any("lands where hardly anybody" in note for note in fine.notes)


def test_category_that_nobody_has() -> None:
    table = people(6000)
    more = {"illness": Categories(("none", "some", "much", "extreme"))}
    found = analyse(table, more)
    assert any("hardly anybody seems to have (“extreme”)" in note for note in found.notes)


def test_outcome_must_be_numeric() -> None:
    table = people()
    table["pay"] = np.array(["high"] * 3000, dtype=object)
    with pytest.raises(DataError, match="outcome column must be numeric; it holds “high”"):
        analyse(table, ILLNESS)
    table["pay"] = np.full(3000, math.inf)
    with pytest.raises(DataError, match="numeric and finite"):
        analyse(table, ILLNESS)


def test_missing_rows_fail_or_drop() -> None:
    table = people()
    table["pay"][:10] = math.nan
    table["town"][5:20] = None
    with pytest.raises(DataError, match="20 of 3,000 rows have a missing value, for example in the column 'pay'"):
        analyse(table, AGE, public=("town",))
    found = analyse(table, AGE, public=("town", "illness"), missing="drop")
    assert (found.records, found.dropped) == (2980, 20)
    assert "20 rows with missing values were left out." in found.notes
    with pytest.raises(ParameterError, match="refused \\(fail\\) or left out \\(drop\\); “guess” is neither"):
        analyse(table, AGE, missing="guess")


def test_treatment_must_have_two_values() -> None:
    table = people()
    table["course"] = np.array(["no", "yes", "maybe"], dtype=object)[np.arange(3000) % 3]
    with pytest.raises(DataError, match="exactly two values; this column has “maybe”, “no” and “yes”"):
        analyse(table, ILLNESS)
    table["course"] = np.array(["no", "yes"], dtype=object)[people()["course"]]
    with pytest.raises(DataError, match="“no” and “yes”; say which of them means treated"):
        analyse(table, ILLNESS)
    found = analyse(table, AGE, public=("town", "illness"), treated="yes")
    assert found.arms == ("no", "yes")
    assert found.estimate.covers(2.0)
    turned = analyse(table, AGE, public=("town", "illness"), treated="no")
    assert turned.estimate.covers(-2.0)
    with pytest.raises(DataError, match="“perhaps”, meant as treated, is not one of them"):
        analyse(table, ILLNESS, treated="perhaps")


@pytest.mark.parametrize(("arm", "private"), [(0, ILLNESS), (1, AGE)])
def test_empty_arm(arm: int, private: Any) -> None:
    table = people()
    table["course"] = np.full(3000, arm)
    with pytest.raises(DataError, match="no treated or no control units"):
        analyse(table, private)
    with pytest.raises(DataError, match=f"no {'treated' if arm == 0 else 'control'} units"):
        cross_fit(table["pay"], table["course"], table["age"], mechanism_for(AGE, 0.5), "ATT")


def far_apart(shift: float, n: int = 8000) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 60, n)
    course = (rng.random(n) < 1 / (1 + np.exp(-shift * (age - 40) / 20))).astype(int)
    return {"pay": course + age / 10 + rng.normal(size=n), "course": course, "age": age}


def test_little_overlap_warns_and_none_refuses() -> None:
    some = analyse(far_apart(6.0), AGE, mechanism_for(AGE, 0.9))
    assert "little overlap" in some.estimate.flags
    assert any("arms overlap little" in note and "of the noise" in note for note in some.notes)
    assert 0.2 < max(some.trimmed_released, some.trimmed_noise) < 0.8
    good = analyse(far_apart(1.0), AGE, mechanism_for(AGE, 0.9))
    assert "little overlap" not in good.estimate.flags
    with pytest.raises(DataError, match=r"arms do not overlap: .* for \d+% of the values"):
        analyse(far_apart(200.0), AGE, mechanism_for(AGE, 0.9))


def test_impossible_cells_are_repaired_and_flagged() -> None:
    rng = np.random.default_rng(0)
    x = np.minimum(rng.integers(0, 40, 800), 2)
    table = {"pay": rng.integers(0, 2, 800), "course": rng.integers(0, 2, 800), "illness": x}
    private = {"illness": Categories((0, 1, 2))}
    found = analyse(table, private, mechanism_for(private, 0.3))
    assert "constrained" in found.estimate.flags


def test_small_samples_are_judged() -> None:
    small = analyse(people(400), AGE, mechanism_for(AGE, 0.5), public=("town", "illness"))
    assert small.estimate.guard is not None
    assert small.estimate.guard.level == "refused"
    assert not small.estimate.has_interval
    assert small.estimate.guard.sentence in small.notes


def test_basis_too_large() -> None:
    with pytest.raises(ParameterError, match=r"basis functions are too many for 400 records at keep probability 0\.15"):
        analyse(people(400), AGE, mechanism_for(AGE, 0.15))


def test_average_derivative_of_a_bounded_column() -> None:
    y, z = np.zeros(200), np.linspace(0, 1, 200)
    basis = Legendre(0, 1, 2)
    with pytest.raises(UnsupportedCombination, match="shifted law must be dominated by the law of X") as caught:
        one_step_average(y, z, mechanism_for(AGE, 0.9), AverageDerivative(0.1), regression=basis, representer=basis)
    assert "average with a known weight" in str(caught.value)


def test_laplace_noise_for_trimmed_or_discrete_nuisances() -> None:
    with pytest.raises(UnsupportedCombination, match="twice differentiable functions of x"):
        analyse(people(), AGE, LaplaceAddition(2.0))
    step = KnownRepresenter(lambda at: (np.asarray(at.x) > 0).astype(float))
    z = np.random.default_rng(0).normal(size=100)
    with pytest.raises(ParameterError, match="twice differentiable"):
        weighted_average(np.ones(100), z, LaplaceAddition(1.0), step, second_derivative=lambda v: np.zeros_like(v))


def test_values_outside_the_public_range_are_moved_and_counted() -> None:
    table = people()
    table["age"][:5] = 99.0
    found = analyse(table, AGE, public=("town", "illness"))
    assert any(note.startswith("5 values of 'age' outside the public range") for note in found.notes)
    assert np.asarray(found.released).max() <= 60


SETTINGS: list[tuple[str, dict[str, Any], str]] = [
    ("no such column", {"public": ("height",)}, "no column 'height'"),
    ("two roles", {"public": ("pay",)}, "'pay' has two roles"),
    ("no private column", {"private": {}}, "at least one private column"),
    ("text as numbers", {"private": {"town": Numbers(0, 1)}}, "'town' must be numeric, or be given a list"),
    ("empty range", {"private": {"age": Numbers(60, 20, UniformNoise(20, 60))}}, "lower end below its upper end"),
    ("noise law", {"private": {"illness": Categories(("a", "b"), (1.0,))}}, "2 categories, but 1 noise probabilities"),
    ("wrong width", {"mechanism": AlphaIdentity(0.5, GaussianNoise()), "private": {**AGE, **ILLNESS}}, "1 private col"),
    ("wrong levels", {"mechanism": AlphaIdentity(0.5, uniform_levels(2)), "private": ILLNESS}, "outside its 2"),
    ("median", {"target": "median"}, "use their own estimators"),
]


@pytest.mark.parametrize(("change", "words"), [s[1:] for s in SETTINGS], ids=[s[0] for s in SETTINGS])
def test_bad_settings(change: dict[str, Any], words: str) -> None:
    settings: dict[str, Any] = {"private": AGE} | change
    with pytest.raises(PrivExplorerError, match=words):
        analyse(people(200), settings.pop("private"), **settings)


def test_many_public_categories() -> None:
    table = people(200)
    table["town"] = np.array([f"t{k}" for k in range(200)], dtype=object)
    with pytest.raises(DataError, match="'town' has 200 categories; at most 50"):
        analyse(table, AGE, public=("town",))


def test_ladder_needs_a_keep_probability() -> None:
    rng = np.random.default_rng(0)
    table = {"pay": rng.normal(size=900), "course": rng.integers(0, 2, 900), "sick": rng.integers(0, 2, 900)}
    matrix = FiniteMechanism(np.array([[0.9, 0.3], [0.1, 0.7]]))
    with pytest.raises(UnsupportedCombination, match="ladder of keep probabilities"):
        analyse_effect(
            table,
            outcome="pay",
            treatment="course",
            private={"sick": Categories((0, 1))},
            mechanism=matrix,
            keep_probabilities=(0.5,),
        )
