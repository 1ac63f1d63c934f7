"""One table in every format gives the same layout, counts and columns."""

# ruff: noqa: PD011  (no pandas objects)

from __future__ import annotations

import datetime as dt
import gzip
import io
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privexplorer.data import ReadOptions, Source, TableColumn, inspect, read_column, read_counts

FRAME = pd.DataFrame(
    {
        "city": ["Rome", "Oslo", "Rome", "Bern", "Oslo", "Rome"],
        "age": [31, 45, 28, 31, 60, 31],
        "height": [1.75, 1.5, 2.0, 1.75, 1.5, 1.75],
        "smoker": [1, 0, 0, 1, 0, 1],
        "day": pd.to_datetime(["2020-01-05", "2021-12-31", "2020-01-05", "2019-07-01", "2020-02-29", "2020-01-05"]),
    }
)
KINDS = {"city": "category", "age": "count", "height": "number", "smoker": "binary", "day": "date"}
TOPS = {
    "city": [("Rome", 3), ("Oslo", 2), ("Bern", 1)],
    "age": [("31", 3), ("28", 1), ("45", 1), ("60", 1)],
    "height": [("1.75", 3), ("1.5", 2), ("2", 1)],
    "smoker": [("0", 3), ("1", 3)],
    "day": [("2020-01-05", 3), ("2019-07-01", 1), ("2020-02-29", 1), ("2021-12-31", 1)],
}


def written(kind: str) -> tuple[str, bytes]:
    out = io.BytesIO()
    if kind == "parquet":
        FRAME.to_parquet(out)
    elif kind == "xlsx":
        FRAME.to_excel(out, index=False)
    elif kind == "dta":
        FRAME.to_stata(out, write_index=False)
    elif kind == "german.csv":
        text = FRAME.to_csv(sep=";", decimal=",", index=False)
        out.write(text.encode("utf-16"))
    elif kind == "csv.gz":
        out.write(gzip.compress(FRAME.to_csv(index=False).encode()))
    else:
        out.write(FRAME.to_csv(index=False, sep="\t" if kind == "tsv" else ",").encode())
    return f"t.{kind}", out.getvalue()


FORMATS = ["csv", "tsv", "csv.gz", "german.csv", "parquet", "xlsx", "dta"]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("by_path", [False, True])
def test_every_format_gives_the_same_table(kind, by_path, tmp_path):
    name, data = written(kind)
    if by_path:
        (tmp_path / name).write_bytes(data)
        source = Source.from_path(tmp_path / name)
    else:
        source = Source.from_bytes(name, data)
    layout = inspect(source)
    assert {column.name: column.kind for column in layout.columns} == KINDS
    assert (layout.rows, layout.rows_exact) == (6, True)
    assert layout.preview[0][0] == "Rome"
    for column, top in TOPS.items():
        found = read_counts(source, TableColumn(column=column))
        assert found.top(9) == top
        assert found.kind == KINDS[column]
        assert found.dropped.total == 0
        assert found.notes == ()
    np.testing.assert_array_equal(read_column(source, TableColumn(column="age")).values, FRAME["age"])
    np.testing.assert_array_equal(read_column(source, TableColumn(column="height")).values, FRAME["height"])
    np.testing.assert_array_equal(
        read_column(source, TableColumn(column="day")).values, FRAME["day"].to_numpy().astype("datetime64[us]")
    )
    cities = read_column(source, TableColumn(column="city"))
    assert [cities.labels[place] for place in cities.values] == list(FRAME["city"])


def test_missing_and_infinite_values_in_typed_formats():
    frame = pd.DataFrame({"x": [1.5, np.nan, np.inf, 1.5], "s": ["a", None, " a", "b"]})
    out = io.BytesIO()
    frame.to_parquet(out)
    source = Source.from_bytes("t.parquet", out.getvalue())
    number = read_counts(source, TableColumn(column="x", kind="number"))
    assert number.top(3) == [("1.5", 2)]
    assert (number.dropped.missing, number.dropped.non_finite) == (1, 1)
    text = read_counts(source, TableColumn(column="s"))
    assert text.top(3) == [("a", 2), ("b", 1)]
    assert text.dropped.missing == 1


def test_parquet_types():
    table = pa.table(
        {
            "big": pa.array([2**53 + 1, 2**53 + 2, 2**53 + 1]),
            "unsigned": pa.array([2**64 - 1, 1, 1], pa.uint64()),
            "short": pa.array([0.1, 0.1, 0.25], pa.float32()),
            "dictionary": pa.array(["u", "v", "u"]).dictionary_encode(),
            "truth": pa.array([True, False, True]),
            "decimal": pa.array([1, 2, 2], pa.int64()).cast(pa.decimal128(22, 2)),
            "time": pa.array([dt.datetime(2020, 1, 1, 5, 30), None, dt.datetime(2020, 1, 1)], pa.timestamp("ns")),
            "zone": pa.array([dt.datetime(2020, 1, 1, 5, tzinfo=dt.UTC)] * 3, pa.timestamp("us", "UTC")),
            "empty": pa.nulls(3),
            "list": pa.array([[1], [2], None]),
            "a.b": pa.array(["p", "q", "q"]),
            "struct": pa.array([{"x": 1}] * 3),
            "large": pa.array(["p", "q", "q"], pa.large_string()),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out, row_group_size=2)
    source = Source.from_bytes("t.parquet", out.getvalue())
    expected = {
        "big": {"9007199254740993": 2, "9007199254740994": 1},
        "unsigned": {"1": 2, "18446744073709551615": 1},
        "short": {"0.1": 2, "0.25": 1},
        "dictionary": {"u": 2, "v": 1},
        "truth": {"true": 2, "false": 1},
        "decimal": {"2": 2, "1": 1},
        "time": {"2020-01-01": 1, "2020-01-01 05:30:00": 1},
        "zone": {"2020-01-01 05:00:00": 3},
        "a.b": {"q": 2, "p": 1},
        "large": {"q": 2, "p": 1},
    }
    for column, top in expected.items():
        kind = "category" if column == "unsigned" else "auto"
        assert dict(read_counts(source, TableColumn(column=column, kind=kind)).top(9)) == top, column
    zone = read_column(source, TableColumn(column="zone"))
    assert (zone.kind, str(zone.values[0])) == ("date", "2020-01-01T05:00:00.000000")
    for column in ("list", "struct"):
        with pytest.raises(ValueError, match="lists or binary"):
            read_counts(source, TableColumn(column=column))
    with pytest.raises(ValueError, match="no value"):
        read_counts(source, TableColumn(column="empty"))


def test_long_numbers_of_parquet_stay_apart():
    exact = ["12345678901234567890.1", "12345678901234567890.2", "1.5"]
    table = pa.table(
        {
            "unsigned": pa.array([2**64 - 1, 2**64 - 2, 2**64 - 3] * 2, pa.uint64()),
            "negative": pa.array([-(2**60), -(2**60) - 1, -(2**60) - 2] * 2),
            "decimal": pa.array([Decimal(text) for text in exact] * 2, pa.decimal128(38, 10)),
            "whole": pa.array([Decimal(10**25 + i) for i in (1, 2, 3)] * 2, pa.decimal128(30, 0)),
            "some": pa.array([2**62 + 1, 2**62 + 2, -1, None, 2**63 - 1, 2**63 - 2]),
        }
    )
    out = io.BytesIO()
    pq.write_table(table, out)
    source = Source.from_bytes("t.parquet", out.getvalue())
    for column, lost in {"unsigned": 6, "negative": 4, "decimal": 4, "whole": 6, "some": 4}.items():
        values = {str(value) for value in table[column].to_pylist() if value is not None}
        values = set(exact) if column == "decimal" else values
        for kind in ("auto", "category"):
            found = read_counts(source, TableColumn(column=column, kind=kind))
            assert (found.kind, set(found.values)) == ("category", values), column
        told = read_counts(source, TableColumn(column=column, kind="number"))
        assert told.distinct < len(values)
        assert any(note.startswith(f"{lost} rows hold values with more digits") for note in told.notes), told.notes
    assert read_counts(source, TableColumn(column="some", kind="count")).distinct == 4


def test_parquet_with_two_columns_of_one_name():
    table = pa.Table.from_arrays([pa.array(["p", "p"]), pa.array(["q", "r"])], names=["x", "x"])
    out = io.BytesIO()
    pq.write_table(table, out)
    source = Source.from_bytes("t.parquet", out.getvalue())
    assert inspect(source).names == ("x", "x (2)")
    assert read_counts(source, TableColumn(column="x (2)")).values == ("q", "r")
    assert read_counts(source, TableColumn(column="x", counts="")).values == ("p",)


def test_parquet_reads_the_chosen_column_only(monkeypatch):
    name, data = written("parquet")
    source = Source.from_bytes(name, data)
    inspect(source)
    seen = []
    real = pq.ParquetFile.iter_batches
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda self, **k: seen.append(k["columns"]) or real(self, **k))
    read_counts(source, TableColumn(column="age"))
    assert seen == [["age"]]


def book(rows: list[list[object]], second: list[list[object]] | None = None) -> bytes:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    for row in rows:
        sheet.append(row)
    if second is not None:
        other = workbook.create_sheet("other")
        for row in second:
            other.append(row)
    out = io.BytesIO()
    workbook.save(out)
    return out.getvalue()


def test_excel_cells_and_blank_surroundings():
    rows: list[list[object]] = [
        [], [None, "v", "w"], [None, 3, "x"], [None, 3.5, True], [], [None, None, dt.datetime(2020, 1, 5)],
        [None, "=1+1", "#N/A"], [], [],
    ]  # fmt: skip
    source = Source.from_bytes("t.xlsx", book(rows))
    layout = inspect(source)
    assert layout.names == ("v", "w")
    assert layout.rows == 4
    found = read_counts(source, TableColumn(column="w", kind="category"))
    assert dict(found.top(9)) == {"x": 1, "true": 1, "2020-01-05": 1}
    assert found.dropped.missing == 1
    assert dict(read_counts(source, TableColumn(column="v", kind="number")).top(9)) == {"3": 1, "3.5": 1}


def test_excel_sheets_and_headers():
    data = book([["a"], ["x"], [None], ["y"], [None]], [["b", "c"], [1, 2], [3, 4]])
    source = Source.from_bytes("t.xlsx", data)
    first = inspect(source)
    assert first.sheets == ("Sheet", "other")
    assert first.detected.sheet == "Sheet"
    assert first.rows == 3
    assert read_counts(source, TableColumn(column="a")).dropped.missing == 1
    options = ReadOptions(sheet="other")
    assert inspect(source, options).names == ("b", "c")
    assert read_counts(source, TableColumn(column="c", read=options)).top(3) == [("2", 1), ("4", 1)]
    assert first.notes[0] == "The sheet “Sheet” was read; “other” was not."
    assert inspect(source, options).notes[0] == "The sheet “other” was read; “Sheet” was not."
    assert not any("sheet" in note for note in inspect(Source.from_bytes("t.xlsx", book([["a"], ["x"]]))).notes)
    bare = ReadOptions(sheet="other", header="no")
    assert inspect(source, bare).names == ("column 1", "column 2")
    assert read_counts(source, TableColumn(column="column 1", read=bare)).n == 3


def test_many_sheets_are_counted():
    workbook = openpyxl.Workbook()
    workbook.active.append(["a"])
    workbook.active.append(["x"])
    for number in range(9):
        workbook.create_sheet(f"s{number}")
    out = io.BytesIO()
    workbook.save(out)
    layout = inspect(Source.from_bytes("t.xlsx", out.getvalue()))
    assert layout.about_sheets == "The sheet “Sheet” was read; “s0”, “s1”, “s2”, “s3”, “s4” and 4 more were not."


def test_a_long_sheet_states_its_length():
    layout = inspect(Source.from_bytes("t.xlsx", book([["a", "b"], *([i, i] for i in range(3000))])))
    assert (layout.rows, layout.rows_exact) == (3000, False)


def test_excel_rows_that_are_too_wide_are_counted():
    rows: list[list[object]] = [["a", "b"], *([i, i] for i in range(1500)), [1, 2, 3], [1, 2]]
    source = Source.from_bytes("t.xlsx", book(rows))
    found = read_counts(source, TableColumn(column="a", kind="number"))
    assert (found.n, found.dropped.ragged) == (1501, 1)
    assert "Row 1,502 has 3 values, the first row has 2" in found.notes[0]


def test_stata_labels_and_missing_values():
    frame = pd.DataFrame(
        {
            "sex": pd.Categorical(["male", "female", "male", None]),
            "score": [1.5, None, 2.0, 2.0],
            "narrow": np.array([0.1, 0.1, 0.25, 0.5], dtype=np.float32),
            "text": ["x", "", "y", "x"],
        }
    )
    out = io.BytesIO()
    frame.to_stata(out, write_index=False, version=118)
    source = Source.from_bytes("t.dta", out.getvalue())
    sex = read_counts(source, TableColumn(column="sex"))
    assert sex.top(3) == [("male", 2), ("female", 1)]
    assert sex.dropped.missing == 1
    assert read_counts(source, TableColumn(column="score")).dropped.missing == 1
    assert dict(read_counts(source, TableColumn(column="narrow")).top(4)) == {"0.1": 2, "0.25": 1, "0.5": 1}
    assert read_counts(source, TableColumn(column="text")).dropped.missing == 1


def test_stata_labels_that_are_not_unique_and_partly_given():
    out = io.BytesIO()
    frame = pd.DataFrame({"x": [1, 2, 2, 3], "y": [1, 2, 2, 9]})
    frame.to_stata(out, write_index=False, version=118, value_labels={"y": {1: "one", 2: "two"}})
    source = Source.from_bytes("t.dta", out.getvalue())
    assert dict(read_counts(source, TableColumn(column="y")).top(9)) == {"two": 2, "one": 1, "9": 1}
    doubled = out.getvalue().replace(b"one\0two\0", b"two\0two\0")
    assert doubled != out.getvalue()
    found = read_counts(Source.from_bytes("t.dta", doubled), TableColumn(column="y"))
    assert dict(found.top(9)) == {"2": 2, "1": 1, "9": 1}


def test_long_stata_and_parquet_files_are_read_in_pieces():
    frame = pd.DataFrame({"x": np.arange(120_000) % 7, "s": ["a", "b", "c"] * 40_000})
    stata, parquet = io.BytesIO(), io.BytesIO()
    frame.to_stata(stata, write_index=False)
    frame.to_parquet(parquet)
    for name, out in (("t.dta", stata), ("t.parquet", parquet)):
        source = Source.from_bytes(name, out.getvalue())
        assert inspect(source).rows == 120_000
        np.testing.assert_array_equal(read_column(source, TableColumn(column="x")).values, frame["x"])
        assert read_counts(source, TableColumn(column="s")).top(3) == [("a", 40_000), ("b", 40_000), ("c", 40_000)]


def test_a_parquet_column_that_unpacks_beyond_the_limit(monkeypatch):
    from privexplorer.data import source as source_module

    out = io.BytesIO()
    pq.write_table(pa.table({"x": np.arange(10_000), "y": ["a"] * 10_000}), out, use_dictionary=False)
    source = Source.from_bytes("t.parquet", out.getvalue())
    monkeypatch.setattr(source_module, "UNPACKED_LIMIT", 60_000)
    with pytest.raises(ValueError, match=r"unpacks to 7\d KB"):
        read_counts(source, TableColumn(column="x"))
    assert read_counts(source, TableColumn(column="y")).n == 10_000
