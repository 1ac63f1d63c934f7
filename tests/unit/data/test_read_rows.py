"""Several columns row by row: only complete rows stay, and what goes is counted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from privexplorer.data import Source, TableChoice, bundled, inspect, read_rows, resolve
from privexplorer.errors import DataError


def source(text: str, name: str = "small.csv") -> Source:
    return Source.from_bytes(name, text.encode())


def test_rows_stay_together_and_what_goes_is_said() -> None:
    many = "".join(f"{age},b,{age / 2}\n" for age in range(100, 6100))  # the kind is guessed from the first rows
    table = source(f"age,group,income\n30,b,1.5\n,a,2\n40,a,NA\n60,b,4\n70,c,5\n{many}50,a,x\n80,c\n")
    rows = read_rows(table, TableChoice(data=table.digest), ["income", "group", "age"])
    assert rows.n == 6003
    assert rows.number("age")[:4].tolist() == [30, 60, 70, 100]
    assert rows.number("income")[:4].tolist() == [1.5, 4, 5, 50]
    assert rows.texts("group")[:4].tolist() == ["b", "b", "c", "b"]
    said = " ".join(rows.notes)
    assert "3 of 6,006 rows were left out for lacking a value" in said
    assert "“age” is empty in 1 (first in record 2)" in said
    assert "“income” is no finite number in 1, such as “x”" in said
    assert "1 row was left out for having another number of values" in said


def test_what_is_infinite_is_not_called_empty(tmp_path) -> None:  # type: ignore[no-untyped-def]
    frame = pd.DataFrame({"x": [np.inf, np.nan], "y": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "t.pq")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for ending in ("pq", "csv"):
        table = Source.from_path(tmp_path / f"t.{ending}")
        with pytest.raises(DataError) as caught:
            read_rows(table, TableChoice(data=table.digest), ["x"])
        assert str(caught.value) == (
            f"No row of “t.{ending}” has a value in “x” (“x” is empty in 1; “x” is no finite number in 1, such as “inf”"
            " (first in record 1)); choose other columns."
        )
    table = source("x,y\n,1\n")
    with pytest.raises(DataError, match="in each of “x”, “y” \\(“x” is empty in 1"):
        read_rows(table, TableChoice(data=table.digest), ["x", "y"])


def test_every_format_gives_the_same_rows(tmp_path) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 500),
            "score": rng.normal(size=500).round(6),
            "group": np.array(["north", "south", "west"])[rng.integers(0, 3, 500)],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_csv(tmp_path / "t.csv.gz", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    for ending in ("csv", "csv.gz", "parquet", "xlsx", "dta"):
        table = Source.from_path(tmp_path / f"t.{ending}")
        rows = read_rows(table, TableChoice(data=table.digest), ["group", "age", "score"])
        assert rows.notes == ()
        assert rows.number("age").tolist() == frame["age"].tolist()
        assert np.allclose(rows.number("score"), frame["score"], rtol=0, atol=1e-12)
        assert rows.texts("group").tolist() == frame["group"].tolist()


def test_bundled_tables_read_whole() -> None:
    for item in bundled()[2:]:
        table = resolve(TableChoice(data=item.id), None)
        layout = inspect(table)
        rows = read_rows(table, TableChoice(data=item.id), layout.names)
        assert rows.n == layout.rows
        assert set(rows.names) == set(layout.names)


def test_binary_texts_are_numbers_and_levels_can_be_texts() -> None:
    table = source("smoker,level\nno,1\nyes,2\nno,3\nyes,10\n")
    rows = read_rows(table, TableChoice(data=table.digest), ["smoker", "level"], as_text=["level"])
    assert rows.number("smoker").tolist() == [0, 1, 0, 1]
    assert rows.texts("level").tolist() == ["1", "2", "3", "10"]


@pytest.mark.parametrize(
    ("columns", "word"), [(["aeg"], "nearest"), ([], "No column is chosen"), (["empty", "age"], "has a value in each")]
)
def test_one_sentence_for_what_cannot_be_read(columns: list[str], word: str) -> None:
    table = source("age,empty\n30,\n40,\n50,\n")
    with pytest.raises(DataError, match=word):
        read_rows(table, TableChoice(data=table.digest), columns)


def test_texts_are_not_numbers() -> None:
    table = source("name,age\nann,1\nbob,2\ncid,3\n")
    rows = read_rows(table, TableChoice(data=table.digest), ["name"])
    with pytest.raises(DataError, match="numbers are needed"):
        rows.number("name")


@pytest.mark.parametrize("last", ["0.5", "3"])
def test_numbers_that_lose_digits_are_said(last: str) -> None:
    cells = ["9007199254740993", "9007199254740992", "9007199254740993", last]
    source = Source.from_bytes("t.csv", ("v,w\n" + "".join(f"{cell},1\n" for cell in cells)).encode())
    table = read_rows(source, TableChoice(), ["v", "w"])
    assert table.notes == (
        "2 values have more digits in “v” than a number can keep; values that differ in their last digits may be one "
        "here.",
    )
