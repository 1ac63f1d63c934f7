"""Bad input: each row is refused in one sentence that names the value and what is allowed (spec, section 9)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from privexplorer import predictability as pr
from privexplorer.errors import ConvergenceError, DataError, ParameterError, PrivExplorerError, UnsupportedCombination

X = np.column_stack([np.arange(10.0), np.arange(10.0) ** 2])
G = X - X.mean(axis=0)
Q = (np.arange(10) % 3 == 0).astype(float)
TABLE: dict[str, Any] = {"x": X[:, 0], "z": X[:, 1], "y": X[:, 0] + Q, "q": Q, "b": Q == 1}
SIZE = pr.shard_size(0.4, 10)


def summary() -> pr.MomentSummary:
    return pr.moment_summary(Q, G)


def with_nan() -> dict[str, Any]:
    return dict(TABLE, z=np.where(np.arange(10) == 6, np.nan, TABLE["z"]))


CASES: list[tuple[str, Callable[[], Any], type[PrivExplorerError], str]] = [
    ("fraction 0", lambda: pr.shard_size(0.0, 10), ParameterError, "strictly between 0 and 1; it is 0"),
    ("fraction 1", lambda: pr.ShardProcess(10, 1.0), ParameterError, "strictly between 0 and 1; it is 1"),
    ("n below 2", lambda: pr.IndependentProcess(10, 1), ParameterError, "at least 2; it is 1"),
    ("n of all", lambda: pr.FixedProcess(10, np.arange(10)), ParameterError, "at most 9 people; it chose 10"),
    ("nan in a column", lambda: pr.Mean(columns=("z",)).fit(with_nan()) and pr.summarise(
        with_nan(), pr.query_set(["q"], TABLE), pr.Mean(columns=("z",)).fit(with_nan())
    ), DataError, "row 7, 'z', is missing or not a number"),
    ("nan in a query", lambda: pr.moment_summary(np.where(np.arange(10) == 2, np.nan, Q), G), DataError,
     "row 3, the query"),
    ("nan in moments", lambda: pr.moment_summary(Q, np.where(np.arange(20).reshape(10, 2) == 5, np.inf, G)), DataError,
     "row 3, column 2 of the moments, is infinite"),
    ("nan in noise", lambda: pr.predictability(summary(), SIZE, [[1.0, np.nan], [np.nan, 1.0]]), ParameterError,
     "row 1, column 2 is not one"),
    ("lengths", lambda: pr.moment_summary(Q[:4], G), DataError, "the query has 4 rows and the moments has 10"),
    ("noise shape", lambda: pr.predictability(summary(), SIZE, np.eye(3)), ParameterError, "2 × 2 matrix.*it is 3 × 3"),
    ("J shape", lambda: pr.moment_summary(Q, G, np.eye(3)), ParameterError, "it is 3 × 3, and there are 2 moments"),
    ("noise not symmetric", lambda: pr.predictability(summary(), SIZE, [[1.0, 0.5], [0.0, 1.0]]), ParameterError,
     "symmetric.*differ by 0.5"),
    ("noise not positive", lambda: pr.predictability(summary(), SIZE, [[1.0, 2.0], [2.0, 1.0]]), ParameterError,
     "smallest is -1"),
    ("negative level", lambda: pr.noise_sweep(summary(), SIZE, np.eye(2), [-1.0]), ParameterError, "at least 0"),
    ("law not positive", lambda: pr.IndependentProcess(2, 2, np.array([1.0, 0.0])), ParameterError, r"Assumption 3\.1"),
    ("law not one", lambda: pr.IndependentProcess(2, 2, np.array([0.5, 0.4])), ParameterError, r"they sum to 0\.9"),
    ("not stochastic", lambda: pr.make_chain([[0.5, 0.4], [0.5, 0.5]]), ParameterError, r"row 1 sums to 0\.9"),
    ("reducible", lambda: pr.make_chain(np.eye(2)), ParameterError, "reducible"),
    ("periodic", lambda: pr.make_chain([[0.0, 1.0], [1.0, 0.0]]), ParameterError, "periodic with period 2"),
    ("not the root", lambda: pr.moment_summary(Q, X), ConvergenceError, r"average is 28\.5"),
    ("fewer moments", lambda: pr.moment_summary(Q, G, np.ones((2, 3))), ParameterError, "3 of them but only 2 moments"),
    ("rank of J", lambda: pr.moment_summary(Q, G, np.ones((2, 2))), ParameterError, "rank 1, below their number 2"),
    ("rank of X", lambda: pr.LinearRegression(features=("x", "w"), target="y").fit(dict(TABLE, w=2 * TABLE["x"])),
     ParameterError, "'x', 'w' carry the same information.*ridge"),
    ("separable", lambda: pr.LogisticRegression(features=("q",), target="b").fit(TABLE), ParameterError,
     r"penalty \(L2\)"),
    ("long step", lambda: pr.GradientDescent(features=("x",), target="y", step_size=1.0).fit(TABLE), ParameterError,
     r"must stay below 0\.0\d+"),
    ("tau", lambda: pr.predictability(summary(), SIZE, loss="log", tau=0.7), ParameterError, "it is 0.7",
    ),
    ("tau zero", lambda: pr.predictability(summary(), SIZE, loss="log", tau=0.0), ParameterError, "it is 0"),
    ("log loss of a number", lambda: pr.predictability(pr.moment_summary(X[:, 0], G), SIZE, loss="log"), ParameterError,
     "answered by yes or no"),
    ("empty group", lambda: pr.subgroup("x > 99", TABLE), ParameterError, "subgroup is empty"),
    ("adversary in theory", lambda: pr.FixedProcess(10, np.arange(3)).size(), UnsupportedCombination,
     r"Assumption 3\.1.*simulated attacker"),
    ("adversary in sums", lambda: pr.FixedProcess(10, np.arange(3)).summarise(
        TABLE, pr.query_set(["q"], TABLE), pr.Mean(columns=("x",)).fit(TABLE)
    ), UnsupportedCombination, r"Assumption 3\.1"),
    ("Laplace for a regression", lambda: pr.LinearRegression().sensitivity(10, {}, "l1"), UnsupportedCombination,
     "without limit"),
    ("texts as numbers", lambda: pr.moment_summary(np.array(["a"] * 10), G), DataError, "Numbers are needed"),
    ("another dimension", lambda: pr.moment_summary(Q, G, weights=np.ones((10, 2))), DataError, r"1 dimension\(s\)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "call", "error", "words"), CASES, ids=[case[0] for case in CASES])
def test_bad_input_is_refused_in_a_sentence(name: str, call: Any, error: type[PrivExplorerError], words: str) -> None:
    with pytest.raises(error, match=words) as caught:
        call()
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert not re.search(r"[.!?] +[A-Z]", sentence.replace("A. ", ""))
    assert "  " not in sentence
    assert sentence[0].isupper()


def test_groups_with_one_answer_are_zero_with_a_note() -> None:
    target = pr.subgroup_target(Q == 1)
    found = pr.predictability(pr.moment_summary(Q, G, target=target), SIZE)
    assert found.printed[0] == found.gain[0] == 0.0
    assert any("nothing to predict" in note for note in found.notes)


def test_statistics_without_spread_are_zero_with_a_note() -> None:
    table = dict(TABLE, one=np.full(10, 0.1))
    found = pr.predictability(
        pr.summarise(table, pr.query_set(["q"], table), pr.Mean(columns=("one",)).fit(table)), SIZE, [[1.0]]
    )
    assert found.printed[0] == 0.0
    assert any("same for every person" in note for note in found.notes)


def test_a_shard_of_one_person_is_too_small_for_the_formulas() -> None:
    table = {"x": np.arange(60.0), "ill": np.arange(60) % 4 == 0}
    queries = pr.query_set(["ill"], table)
    with pytest.raises(ValueError, match=r"one person, too few .* at least 0\.0333"):
        pr.analyse(table, queries, pr.Mean(columns=("x",)), pr.RandomShard(compromised_fraction=0.01))
    assert (
        pr.analyse(table, queries, pr.Mean(columns=("x",)), pr.RandomShard(compromised_fraction=0.034)).process.draws
        == 2
    )


def test_all_of_them_are_value_errors() -> None:
    assert all(issubclass(kind, ValueError) for _, _, kind, _ in CASES)
    assert issubclass(UnsupportedCombination, ValueError)


def test_a_weight_of_zero_names_its_column_and_what_to_do() -> None:
    people = {"smoker": np.array([1.0, 0.0, 1.0]), "ward": np.array(["a", "b", "a"])}
    with pytest.raises(ParameterError) as caught:
        pr.WeightedDraws(draws=2, column="smoker").process(3, people)
    assert str(caught.value).endswith("the one in row 2 of column “smoker” is 0; choose another column, all above 0.")
    with pytest.raises(DataError, match="column of weights “ward”"):
        pr.WeightedDraws(draws=2, column="ward").process(3, people)
    with pytest.raises(ParameterError, match=r"the one in row 3 is -1; choose others, all above 0\.$"):
        pr.law_from_scores([1.0, 2.0, -1.0])
