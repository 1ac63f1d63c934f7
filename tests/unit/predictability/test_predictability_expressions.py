"""Formulas and conditions: what they mean, how they are written, what is refused; and queries made of them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privexplorer import predictability as pr
from privexplorer.errors import DataError, ParameterError
from privexplorer.predictability.expressions import FUNCTIONS

TABLE: dict[str, Any] = {
    "x": np.array([1.0, -4.0, np.nan, 9.0]),
    "k": np.array([3, 1, 2, 0]),
    "city": np.array(["Rome", None, "Oslo", "Rome"], dtype=object),
    "town": np.array(["Rome", "Bonn", "Oslo", "Bonn"]),
    "yes": np.array([True, False, True, False]),
    "hours per week": np.array([40, 35, 20, 60]),
}
NAN = np.nan


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k + 2 * 3", [9, 7, 8, 6]),
        ("(k + 2) * 3", [15, 9, 12, 6]),
        ("2 ^ 3 ^ 2 / 256", [2, 2, 2, 2]),
        ("-k ^ 2", [-9, -1, -4, 0]),
        ("2 ^ -1 - -k", [3.5, 1.5, 2.5, 0.5]),
        ("7 - 4 - 2 + 0 * k", [1, 1, 1, 1]),
        ("8 / 4 / 2 + 0 * k", [1, 1, 1, 1]),
        ("abs(x) + sqrt(k ^ 2)", [4, 5, NAN, 9]),
        ("clip(k, 1, 2) + min(k, 1, 5) + max(k, 2)", [2 + 1 + 3, 1 + 1 + 2, 2 + 1 + 2, 1 + 0 + 2]),
        ("exp(log(k + 1)) + sign(x) * 0 + floor(2.7) - ceil(0.2)", [5, 3, NAN, 2]),
        ("if(yes, k, -1)", [3, -1, 2, -1]),
        ("1.5e1 + .5 * k", [16.5, 15.5, 16, 15]),
        ("k >= 2", [1, 0, 1, 0]),
        ("1 <= k < 3", [0, 1, 1, 0]),
        ("k == 2 or k <> 3", [0, 1, 1, 1]),
        ("not k = 2 and yes", [1, 0, 0, 0]),
        ("not (k = 2 and yes)", [1, 1, 0, 1]),
        ("k = 3 or k = 2 and not yes", [1, 0, 0, 0]),
        ("yes = true", [1, 0, 1, 0]),
        ("yes + k", [4, 1, 3, 0]),
        ('town in ("Rome", "Oslo")', [1, 0, 1, 0]),
        ("k in (1, 2)", [0, 1, 1, 0]),
        ('town != "Rome"', [0, 1, 1, 1]),
        ("town = 'Rome' and `hours per week` > 30", [1, 0, 0, 0]),
        # missing values: what hangs on them is missing, what does not is not
        ("x > 0", [1, 0, NAN, 1]),
        ("x > 0 or k = 2", [1, 0, 1, 1]),
        ("x > 0 and k = 3", [1, 0, 0, 0]),
        ("x > 0 and k = 2", [0, 0, NAN, 0]),
        ("not x > 0", [0, 1, NAN, 0]),
        ("x > 0 and log(x) > 1", [0, 0, NAN, 1]),
        ("log(x) > 1", [0, NAN, NAN, 1]),
        ("if(x > 0, log(x), 0)", [0, 0, NAN, np.log(9)]),
        ('city = "Rome"', [1, NAN, 0, 1]),
        ('city != "Rome" or k = 1', [0, 1, 1, 0]),
        ("city = town", [1, NAN, 1, 0]),
        ("1 / k", [1 / 3, 1, 0.5, np.inf]),
        ("1 / k > 0", [1, 1, 1, NAN]),
        ("true", [1, 1, 1, 1]),
        ("3", [3, 3, 3, 3]),
    ],
)
def test_values(text: str, values: list[float]) -> None:
    expression = pr.parse(text)
    np.testing.assert_array_equal(np.round(expression.numbers(TABLE), 12), np.round(values, 12))
    again = pr.parse(expression.text)
    assert again == expression
    assert again.text == expression.text


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("k+1<=2", "k + 1 <= 2"),
        ("(a)and((b))", "a and b"),
        ("a and (b or c) or d", "a and (b or c) or d"),
        ("a or (b or c)", "a or b or c"),
        ("1<k<=2", "1 < k and k <= 2"),
        ("(1-2)-(3-4)", "1 - 2 - (3 - 4)"),
        ("(2^3)^2", "(2 ^ 3) ^ 2"),
        ("`a`+`a b`", "a + `a b`"),
        ("`and`=1", "`and` = 1"),
        ("x = 'q\"q'", 'x = "q\\"q"'),
        ("not(not(a))", "not not a"),
        ("-(k+1)", "-(k + 1)"),
        ("--k", "--k"),
        ("min ( 1 , k )", "min(1, k)"),
        ("10.0", "10"),
    ],
)
def test_spelling(text: str, spelling: str) -> None:
    assert pr.parse(text).text == spelling


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "formula is empty"),
        ("   ", "formula is empty"),
        ("k +", "expected at position 4"),
        ("k 2", "'2' stands there"),
        ("k $ 1", "character '\\$' at position 3"),
        ("(k", r"'\)' is expected"),
        ("foo(k)", "no function 'foo'"),
        ("__import__('os')", "no function '__import__'"),
        ("min(1)", "takes 2 to 9 values; it has 1"),
        ("abs(1, 2)", "takes 1 values; it has 2"),
        ('"abc', "quotation mark at position 1"),
        ("k and", "expected at position 6"),
        ("and", "'and' stands there"),
        ("k > 1 + true > 2 and 'a' > 'b'", "asks for an order between texts"),
        ("'a' + 1", "is a text, but a number is needed"),
        ("1 and true", "is a number, but a condition"),
        ("if(1, 2, 3)", "is a number, but a condition"),
        ("1e999", "too large"),
        ("(" * 60 + "1" + ")" * 60, "nested brackets"),
        ("2" + "^2" * 60, "nested powers"),
        ("+".join(["1"] * 500), "too long to be read"),
        ("1" * 3_000, "at most 2,000 characters"),
        ("k.__class__.__name__()", "no function"),
        ("lambda: 1", "character ':'"),
    ],
)
def test_refusals_of_texts(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        pr.parse(text)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("age > 1", DataError, "no column 'age'"),
        ("city > 1", ParameterError, "compares texts with numbers"),
        ("city + 1", ParameterError, "is a text, but a number"),
        ("city", ParameterError, "is a text; compare it"),
        ("k and yes", ParameterError, "'k' is a number, but a condition"),
        ('k = "a"', ParameterError, "compares numbers with texts"),
        ("1 / k", DataError, "no finite value in row 4"),
        ("x + 1", DataError, "no finite value in row 3"),
    ],
)
def test_refusals_on_a_table(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pr.parse(text).evaluate(TABLE)


def test_a_matrix_is_no_single_number() -> None:
    with pytest.raises(DataError, match="several numbers per person"):
        pr.parse("m > 1").evaluate({"m": np.zeros((3, 2))})


def test_columns_and_kinds() -> None:
    expression = pr.parse("if(yes, k, x) + k")
    assert expression.columns == ("yes", "k", "x")
    assert expression.kind(TABLE) == "number"
    assert pr.parse("k > 1").kind() == "condition"
    assert pr.parse("yes").kind() is None
    assert pr.parse("yes").kind(TABLE) == "condition"
    assert pickle.loads(pickle.dumps(expression)) == expression  # noqa: S301
    assert set(FUNCTIONS) == {"abs", "sqrt", "log", "exp", "sign", "floor", "ceil", "min", "max", "clip", "if"}


def test_conditions_by_clicking() -> None:
    old = pr.comparison("k", ">=", 2)
    rome = pr.comparison("town", "=", "Rome")
    assert pr.all_of(old, rome, pr.comparison("yes", "=", True)).text == 'k >= 2 and town = "Rome" and yes = true'
    assert pr.any_of(old, pr.all_of(rome, old)).text == 'k >= 2 or town = "Rome" and k >= 2'
    assert pr.negation(pr.any_of(old, rome)).text == 'not (k >= 2 or town = "Rome")'
    assert pr.all_of(old) is old
    assert pr.comparison("k", "<", -1.5).text == "k < -1.5"
    assert pr.parse(pr.comparison("a`b", "=", 'say "x"').text) == pr.comparison("a`b", "=", 'say "x"')
    np.testing.assert_array_equal(pr.all_of(old, pr.negation(rome)).evaluate(TABLE), [0, 0, 1, 0])
    for call, words in (
        (lambda: pr.comparison("k", "~", 2), "one of <"),  # type: ignore[arg-type]
        (lambda: pr.comparison("town", "<", "Rome"), "order between texts"),
        (lambda: pr.comparison("k", "<", float("nan")), "finite number"),
        (lambda: pr.all_of(), "At least one condition"),
        (lambda: pr.negation(pr.parse("1 + 1")), "condition"),
    ):
        with pytest.raises(ParameterError, match=words):
            call()


leaves = st.sampled_from(["k", "x", "2", "0.5", "yes", "k > 1", "`hours per week`", 'town = "Rome"', "true"])


@given(
    st.recursive(
        leaves,
        lambda part: st.one_of(
            st.tuples(part, st.sampled_from(["+", "-", "*", "/", "^", "<", ">=", "=", "and", "or"]), part).map(
                lambda three: f"({three[0]}) {three[1]} ({three[2]})"
            ),
            part.map(lambda one: f"-({one})"),
            part.map(lambda one: f"not ({one})"),
            st.tuples(part, part).map(lambda two: f"max({two[0]}, {two[1]})"),
        ),
        max_leaves=8,
    )
)
def test_reading_and_writing_are_inverse(text: str) -> None:
    try:
        expression = pr.parse(text)
        values = expression.numbers(TABLE)
    except ParameterError:
        return
    again = pr.parse(expression.text)
    assert again == expression
    np.testing.assert_array_equal(again.numbers(TABLE), values)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    refusal = ""
    try:
        pr.parse(text)
    except ParameterError as error:
        refusal = str(error)
    assert not refusal or refusal.endswith(".")


# --- queries -------------------------------------------------------------------------------------------------


def test_query_sets() -> None:
    asked = pr.query_set(["k >= 2", "k * 2", "yes"], TABLE)
    assert (asked.names, asked.binary, asked.width) == (("k >= 2", "k * 2", "yes"), (True, False, True), 3)
    np.testing.assert_array_equal(asked.evaluate(TABLE), [[1, 6, 1], [0, 2, 0], [1, 4, 1], [0, 0, 0]])
    assert pr.query_set(["k"], TABLE, names=["children"]).names == ("children",)
    for texts, names, words in (
        ([], None, "At least one query"),
        (["city"], None, "is a text; ask for one of its values"),
        (["k"], ["a", "b"], "1 queries but 2 names"),
    ):
        with pytest.raises(ParameterError, match=words):
            pr.query_set(texts, TABLE, names)


def test_column_queries() -> None:
    table = {"m": np.arange(6.0).reshape(3, 2), "b": np.array([True, False, True]), "t": np.array(["a", "b", "c"])}
    asked = pr.column_queries(["m", "b"], table)
    assert asked.names == ("m[1]", "m[2]", "b")
    assert asked.binary == (False, False, True)
    np.testing.assert_array_equal(asked.evaluate(table), [[0, 1, 1], [2, 3, 0], [4, 5, 1]])
    assert asked.view(table) is None
    with pytest.raises(DataError, match="must hold numbers"):
        pr.column_queries(["t"], table)
    with pytest.raises(ParameterError, match="At least one query"):
        pr.column_queries([], table)


def test_candidates_cover_every_kind_of_column() -> None:
    rng = np.random.default_rng(0)
    table = {
        "age": rng.integers(18, 90, 500), "income": rng.lognormal(10, 1, 500), "smoker": rng.random(500) < 0.2,
        "ward": np.array(["A", "B", "C", "D"])[rng.integers(0, 4, 500)], "sex": rng.integers(1, 3, 500),
        "rare": np.where(np.arange(500) == 0, "odd", "usual").astype(object), "matrix": np.zeros((500, 2)),
    }  # fmt: skip
    texts = pr.candidate_queries(table)
    assert [text for text in texts if text.startswith("ward")] != []
    assert "smoker = true" in texts
    assert "sex = 2" in texts
    assert "sex = 1" not in texts
    assert not any("rare" in text or "matrix" in text for text in texts)
    means = pr.query_set(texts, table).evaluate(table).mean(axis=0)
    assert ((means > 0.009) & (means < 0.991)).all()
    assert abs(means[[text.startswith("age") for text in texts]][0] - 0.5) < 0.05
    assert len(pr.candidate_queries(table, ["ward"], most=2)) == 2


def test_subgroups() -> None:
    np.testing.assert_array_equal(pr.subgroup("k >= 2", TABLE), [True, False, True, False])
    with pytest.raises(ParameterError, match="subgroup is empty"):
        pr.subgroup("k > 100", TABLE)
    with pytest.raises(ParameterError, match="needs a condition"):
        pr.subgroup("k + 1", TABLE)
    with pytest.raises(ParameterError, match="subgroup is empty"):
        pr.subgroup_target(np.zeros(4, dtype=bool))
    with pytest.raises(DataError, match="yes or no"):
        pr.subgroup_target(np.ones(4))
