"""Text tables: what is detected, what a column holds, what is dropped."""

from __future__ import annotations

import gzip
import random
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privexplorer.data import (
    ReadOptions,
    Source,
    TableColumn,
    _tally,
    _text,
    _values,
    inspect,
    read_column,
    read_counts,
)
from privexplorer.data import counts as counts_module
from privexplorer.data._cells import MISSING, is_missing, parse_date
from privexplorer.errors import DataError

HEADER_NOTE = "The first row was taken as the names of the columns."


def layout(data: bytes | str, name: str = "t.csv", **options: str):
    raw = data.encode() if isinstance(data, str) else data
    return inspect(Source.from_bytes(name, raw), ReadOptions(**options))


def counts(data: bytes | str, column: str, counts: str = "", kind: str = "auto", name: str = "t.csv", **options: str):
    raw = data.encode() if isinstance(data, str) else data
    ref = TableColumn(column=column, counts=counts, kind=kind, read=ReadOptions(**options))
    return read_counts(Source.from_bytes(name, raw), ref)


@pytest.mark.parametrize(
    ("text", "delimiter", "decimal", "header", "names"),
    [
        ("a,b\n1,2\n3,4\n", "comma", "point", "yes", ("a", "b")),
        ("a;b\n1,5;x\n2,25;y\n", "semicolon", "comma", "yes", ("a", "b")),
        ("1,5;2,5\n3,5;4,5\n", "semicolon", "comma", "no", ("column 1", "column 2")),
        ("a\tb\nfoo, bar\t1\nbaz\t2\n", "tab", "point", "yes", ("a", "b")),
        ("a|b\nx,y|1\nz|2\n", "pipe", "point", "yes", ("a", "b")),
        ("id;name;note\n1;Smith, John;a, b\n2;Doe, Jane;c\n", "semicolon", "point", "yes", ("id", "name", "note")),
        ("a,genre\n1,Action|Drama\n2,Comedy|Action\n", "comma", "point", "yes", ("a", "genre")),
        ('a,b\n1,"x;y;z"\n2,"u;v;w"\n', "comma", "point", "yes", ("a", "b")),
        ('a,b\n"1,5","x"\n"2,25","y"\n', "comma", "comma", "yes", ("a", "b")),
        # one column
        ("word\n\tthe\n\tand\n\tthe\n", "none", "point", "yes", ("word",)),
        ("word\n\t\tthe\n\tand\t\n\tthe\n", "none", "point", "yes", ("word",)),
        ("word\tn\n\tthe\n\tand\n", "tab", "point", "yes", ("word", "n")),
        ("word\nthe\nand\nthe\n", "none", "point", "yes", ("word",)),
        ("the\nand\nthe\nof\n", "none", "point", "no", ("column 1",)),
        ("text\nHello, world\nfoo\nbar, baz, qux\n", "none", "point", "yes", ("text",)),
        ("author\nSmith, John\nDoe, Jane\nRoe, Ann\n", "none", "point", "yes", ("author",)),
        ("Height, cm\n175\n180\n190\n", "none", "point", "yes", ("Height, cm",)),
        ("height\n1,75\n1,80\n", "none", "comma", "yes", ("height",)),
        ("1\n2\n3\n", "none", "point", "no", ("column 1",)),
        ('"a"\n"x, y"\n"z"\n', "none", "point", "yes", ("a",)),
        # thousands are text, not decimals
        ('city,pop\nA,"1,234,567"\nB,"12,345"\n', "comma", "point", "yes", ("city", "pop")),
        ("city;pop\nA;1,234,567\nB;12,345\n", "semicolon", "point", "yes", ("city", "pop")),
        ("pop\n1,234\n5,678\n", "none", "point", "yes", ("pop",)),
        ("x;y\n0,125;a\n1,250;b\n", "semicolon", "comma", "yes", ("x", "y")),
        # line ends, blank lines, quotes
        ("a,b\r\n1,2\r\n3,4\r\n", "comma", "point", "yes", ("a", "b")),
        ("a,b\r1,2\r3,4\r", "comma", "point", "yes", ("a", "b")),
        ("\n\na,b\n1,2\n\n3,4\n\n", "comma", "point", "yes", ("a", "b")),
        ('"a,1","b"\n1,2\n3,4\n', "comma", "point", "yes", ("a,1", "b")),
        ('"a\nb",c\n1,2\n', "comma", "point", "yes", ("a b", "c")),
        ("'a','b'\n'x,y','1'\n'z','2'\n", "comma", "point", "yes", ("a", "b")),
        ("2020-01-01,3\n2020-01-02,4\n", "comma", "point", "no", ("column 1", "column 2")),
        ("a,b\n,\n,\n", "comma", "point", "yes", ("a", "b")),
        ("country,1990,1991,1992\nA,3,4,5\nB,6,7,8\n", "comma", "point", "yes", ("country", "1990", "1991", "1992")),
        ("A,3,4,5\nB,6,7,8\n", "comma", "point", "no", ("column 1", "column 2", "column 3", "column 4")),
        ("sep=;\na;b\n1;2\n", "semicolon", "point", "yes", ("a", "b")),
        ("a,b", "comma", "point", None, None),
    ],
)
def test_detection(text, delimiter, decimal, header, names):
    if header is None:
        with pytest.raises(ValueError, match="no rows"):
            layout(text)
        return
    found = layout(text)
    assert (found.detected.delimiter, found.detected.decimal, found.detected.header) == (delimiter, decimal, header)
    assert found.names == names


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [("utf-8", "utf-8"), ("utf-8-sig", "utf-8"), ("utf-16", "utf-16"), ("utf-16-le", "utf-16"), ("utf-16-be", "utf-16"),
     ("cp1252", "cp1252")],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(encoding, expected, packed):
    text = "größe;café\n1,5;naïve\n2,5;“x”\n2,5;naïve\n"
    raw = text.encode(encoding)
    if encoding in ("utf-16-le", "utf-16-be"):
        assert raw[:2] not in (b"\xff\xfe", b"\xfe\xff")
    name, raw = ("t.csv.gz", gzip.compress(raw)) if packed else ("t.csv", raw)
    found = layout(raw, name)
    assert found.detected.encoding == expected
    assert found.names == ("größe", "café")
    assert dict(counts(raw, "café", name=name).top(5)) == {"naïve": 2, "“x”": 1}
    assert any("byte-order mark" in note for note in found.notes) == (encoding == "utf-8-sig")


def test_a_letter_late_in_the_file_decides_the_encoding():
    body = "name,n\n" + "abc,1\n" * 400_000
    assert layout(body).detected.encoding == "utf-8"
    late = body.encode() + "é,1\n".encode("cp1252")
    assert layout(late).detected.encoding == "cp1252"
    assert dict(counts(late, "name").top(3)) == {"abc": 400_000, "é": 1}
    split = ("x" * 262_143 + "é\n").encode()  # the letter lies across two pieces
    assert layout(b"h\n" + split[2:] + b"y\n").detected.encoding == "utf-8"


def test_overrides_win():
    text = "a,b;c\n1,2;3\n4,5;6\n"
    assert layout(text, delimiter="semicolon").names == ("a,b", "c")
    assert layout(text, delimiter="semicolon", header="no").names == ("column 1", "column 2")
    assert layout("a b\n1 2\n", delimiter="space").names == ("a", "b")
    assert layout("é\nx\n".encode("cp1252"), encoding="cp1252").names == ("é",)
    assert layout('a\n"x\ny\n', quote="none").rows == 2
    column = counts("a;b\n1,5;x\n1.5;y\n", "a", kind="number", decimal="point")
    assert column.top(2) == [("1.5", 1)]
    assert column.dropped.unreadable == 1


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("x,x,x", ("x", "x (2)", "x (3)")),
        ("x,,y", ("x", "column 2", "y")),
        ("x,x,x (2)", ("x", "x (3)", "x (2)")),
        (",,", ("column 1", "column 2", "column 3")),
        ("column 2,,z", ("column 2", "column 2 (2)", "z")),
        (" x , x,y", ("x", "x (2)", "y")),
    ],
)
def test_headers_are_repaired_and_it_is_said(header, names):
    found = layout(f"{header}\n1,2,3\n4,5,6\n", header="yes")
    assert found.names == names
    assert len(set(found.names)) == len(found.names)
    assert found.notes
    assert [dict(counts(f"{header}\n1,2,3\n4,5,6\n", name, header="yes").top(1)) for name in names] == [
        {"1": 1}, {"2": 1}, {"3": 1},
    ]  # fmt: skip


def test_clean_headers_need_no_note():
    assert layout("a,b\n1,2\n").notes == (HEADER_NOTE,)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["3", "1", "4"], "count"),
        (["3", "", "NA"], "count"),
        (["3", "-1", "4"], "number"),
        (["3.5", "1", "4"], "number"),
        (["1e5", "inf", "4"], "number"),
        (["0", "1", "0"], "binary"),
        (["yes", "no", "no"], "binary"),
        (["x", "y"] * 10, "binary"),
        (["x", "y"], "category"),
        (["x", "y", "x", "z"], "category"),
        (["007", "012", "007"], "category"),
        (["1,234,567", "12"], "category"),
        (["2020-01-05", "2021-12-31"], "date"),
        (["2020-01-05T10:00:00Z", "2021-12-31 23:59"], "date"),
        (["5.1.2020", "31.12.2021"], "date"),
        (["12/31/2020", "1/2/2020"], "date"),
        (["31/12/2020", "12/31/2020"], "category"),
        (["2020-13-05", "2021-12-31"], "category"),
        (["2019", "2020", "2021"], "count"),
        ([f"u{i}x" for i in range(30)], "identifier"),
        ([str(10**9 + 17 * i) for i in range(30)], "identifier"),
        ([str(i) for i in range(1, 31)], "identifier"),
        ([str(3 * i) for i in range(30)], "count"),
        ([f"{i / 7:.6f}" for i in range(30)], "number"),
        ([f"{i:05d}" for i in range(30)], "identifier"),
        (["", "NA", "."], "category"),
        (["12345678901234567890", "5"], "count"),
        (["9" * 5000, "8" * 5000], "category"),
        (["१", "२"], "category"),
        (["1_000", "2"], "category"),
        (["0x1F", "0x2A"], "category"),
    ],
)
def test_kinds_are_guessed(cells, kind):
    text = "v,w\n" + "".join(f'"{cell}",q{index % 7}\n' for index, cell in enumerate(cells))
    assert layout(text).columns[0].kind == kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("surname,count\nSMITH,9\nNULL,4\nLEE,4\n", ("surname", "count")),
        ("Var1;Freq\nx;3\ny;1\n", ("Var1", "Freq")),
        ("word,times seen,n\na,x,3\nb,x,9\n", ("word", "n")),
        ("w,z\na,9\nb,5\nc,1\n", ("w", "z")),  # falling numbers
        ("id,age\n1,31\n2,45\n3,28\n", None),
        ("name,weight\na,80\nb,70\nc,90\n", None),
        ("word,count\na,3\na,2\n", None),  # a value twice
        ("word,count\na,3\nb,0\n", None),  # a count of nothing
        ("word,count\na,3\nb,1.5\n", None),
        ("word,count\na,3\nb," + "9" * 5000 + "\n", None),
        ("word,count\na,3\nb,00\n", None),
        ("word,count\na,3\nb,-1\n", None),
        ("count\n3\n4\n", None),
        ("a,count,n\nx,1,2\ny,3,4\n", None),  # two candidates
    ],
)
def test_histograms_are_recognised(text, expected):
    assert layout(text).histogram == expected


def test_a_histogram_is_read_with_its_counts():
    found = counts("surname,count\nSMITH,9\nNULL,4\n,2\nLEE,4\nZERO,0\nNONE,\nLEE,1\n", "surname", counts="count")
    assert found.top(9) == [("SMITH", 9), ("LEE", 5), ("NULL", 4)]
    assert (found.n, found.distinct) == (18, 3)
    assert found.dropped.missing == 3  # two records without a value, one row without a count
    text = " ".join(found.notes)
    assert "count of 0" in text
    assert "counts were added" in text
    assert "no count" in text


def test_missing_words_count_as_values_only_in_a_histogram():
    rows = counts("v\nNULL\nx\nx\n", "v")
    assert rows.top(3) == [("x", 2)]
    assert rows.dropped.missing == 1
    assert "“NULL”" in rows.notes[0]


@pytest.mark.parametrize("word", [word for word in MISSING if word])
def test_missing_words_are_missing_in_any_case(word):
    written = list(dict.fromkeys([word, word.upper(), word.title(), f" {word} "]))
    for rest in ("1,a\n2.5,a\n2.5,b\n", "x,a\ny,a\ny,b\n"):
        text = "v,w\n" + rest + "".join(f"{cell},c\n" for cell in written)
        found = counts(text, "v")
        assert found.kind == ("number" if rest[0] == "1" else "category")
        assert (found.n, found.distinct, found.dropped.missing) == (3, 2, len(written))
        assert all(f"“{cell.strip()}”" in found.notes[0] for cell in written)
        assert inspect(Source.from_bytes("t.csv", text.encode())).columns[0].kind == found.kind
    near = counts(f"v,w\nx{word},a\nx{word},a\n{word}x,a\n", "v")
    assert (near.n, near.distinct) == (3, 2)


@pytest.mark.parametrize("bad", ["-1", "2.5", "x", "1e400", "1 000"])
def test_bad_counts_are_refused(bad):
    with pytest.raises(ValueError, match="whole numbers from 0"):
        counts(f"w,count\na,3\nb,{bad}\n", "w", counts="count")


def test_what_is_dropped_is_counted():
    text = "v,w\n1,a\n,b\nNA,c\ninf,d\n-Infinity,e\nnan,f\n2,g\n1,h,i\n7\n2,z\n"
    found = counts(text, "v")
    assert found.kind == "number"
    assert found.top(5) == [("2", 2), ("1", 1)]
    assert (found.dropped.missing, found.dropped.non_finite, found.dropped.ragged) == (3, 2, 2)
    assert found.dropped.total == 7
    notes = " ".join(found.notes)
    for part in ("3 rows were left out", "empty", "“NA”", "“nan”", "2 rows were left out for holding an infinite"):
        assert part in notes
    assert "Row 9 has 3 values, the first row has 2" in notes
    column = read_column(Source.from_bytes("t.csv", text.encode()), TableColumn(column="v"))
    np.testing.assert_array_equal(column.values, [1.0, 2.0, 2.0])
    assert column.dropped == found.dropped
    assert column.notes == found.notes


def test_values_are_compared_exactly_but_for_spaces_at_the_ends():
    found = counts("v,w\nx,1\n x ,1\nX,1\nx y,1\nx  y,1\n\u00e9,1\ne\u0301,1\n", "v")
    assert dict(found.top(9)) == {"x": 2, "X": 1, "x y": 1, "x  y": 1, "\u00e9": 1, "e\u0301": 1}
    assert any("spaces before or after" in note for note in found.notes)


def test_quoted_values_keep_their_content():
    found = counts('v,w\n"a ""b""",1\n"a,b",1\n"a\nb",1\n5" pipe,2\n', "v")
    assert set(found.values) == {'a "b"', "a,b", "a\nb", '5" pipe'}


def test_numbers_are_compared_as_numbers_and_labels_are_short():
    found = counts("v,w\n1,a\n1.0,a\n1.50,a\n1.5,a\n-0.0,b\n0,b\n0.1,b\n", "v")
    assert found.kind == "number"
    assert dict(found.top(9)) == {"1": 2, "1.5": 2, "0": 2, "0.1": 1}
    whole = counts("v,w\n9007199254740993,a\n9007199254740992,a\n3.0,b\n3,b\n", "v", kind="count")
    assert dict(whole.top(9)) == {"3": 2, "9007199254740992": 1, "9007199254740993": 1}


def test_large_whole_numbers_stay_exact():
    found = counts("v,w\n9007199254740993,a\n9007199254740992,a\n9007199254740993,a\n", "v")
    assert found.kind == "count"
    assert found.top(2) == [("9007199254740993", 2), ("9007199254740992", 1)]


_TWENTY = [f"123456789012345{i % 490:05d}" for i in range(2000)]


@pytest.mark.parametrize(
    ("cells", "distinct"),
    [
        ([*_TWENTY, "5"], 491),
        (_TWENTY, 490),
        ([*(str(2**53 + i) for i in range(10)), "0.5"], 11),
        ([*(str(12345678901234560 + i) for i in range(3)), "-1"], 4),
        (["12345678901234567890.1", "12345678901234567890.2", "1.5"], 3),
        (["18446744073709551615", "18446744073709551614", "-2"], 3),
        ([str(-(2**60) - i) for i in range(3)], 3),
    ],
)
@pytest.mark.parametrize("other", ["", ",w"])
def test_long_numbers_are_never_merged_unsaid(cells, distinct, other):
    text = f"v{other}\n" + "".join(f"{cell}{other}\n" for cell in 2 * cells)
    found = counts(text, "v")
    assert found.kind in ("category", "count")
    assert (found.n, found.distinct) == (2 * len(cells), distinct)
    assert set(found.values) == set(cells)
    if found.kind == "category" and len(set(cells)) < 100:
        assert "has more digits than a number can keep, so the values are compared as texts." in found.notes[0]
    told = counts(text, "v", kind="number")
    assert told.kind == "number"
    assert told.distinct < distinct
    lost = 2 * sum(Decimal(cell) != Decimal(float(cell)) and len(cell.rstrip("0")) > 15 for cell in cells)
    assert f"{lost:,} rows hold values with more digits than a number can keep" in told.notes[0]
    assert "as category to keep them apart" in told.notes[0]
    column = read_column(Source.from_bytes("t.csv", text.encode()), TableColumn(column="v", kind="number"))
    assert column.notes == told.notes


@pytest.mark.parametrize(
    "cells",
    [
        ["1e300", "1.5E+20", "-2.2250738585072014e-308", "0.5"],  # as doubles are written
        ["0.1234567890123456", "-0.00012345678901234567", "123456789.12345678", "1.7976931348623157e+308"],
        ["12345678901234500000000", "9007199254740992", "18014398509481984", "-0.5"],  # nothing can be confused
    ],
)
def test_numbers_that_lose_nothing_stay_numbers(cells):
    found = counts("v,w\n" + "".join(f"{cell},a\n" for cell in 3 * cells), "v")
    assert (found.kind, found.distinct) == ("number", len(cells))
    assert not any("digits" in note for note in found.notes)


def test_long_fractions_are_numbers_and_it_is_said():
    found = counts("v,w\n" + "0.1234567890123456781,a\n0.1234567890123456782,a\n0.5,a\n", "v")
    assert (found.kind, found.distinct) == ("number", 2)
    assert found.notes[0].startswith("2 rows hold values with more digits than a number can keep, such as “0.12345678")


def test_counts_are_exact_up_to_what_they_hold():
    top = 2**63 - 1
    found = counts(f"v,w\n{top},a\n{top - 1},a\n3.0,a\n{top + 1},a\n{10**30},b\nx,b\n", "v", kind="count")
    assert dict(found.top(9)) == {"3": 1, str(top): 1, str(top - 1): 1}
    assert found.dropped.unreadable == 3
    assert found.notes[0] == "1 row was left out for not being a count, such as “x”."
    assert found.notes[1].startswith(f"2 rows were left out for holding too large a whole number, such as “{top + 1}”")
    assert "as category" in found.notes[1]


def test_a_guess_that_turns_out_wrong_is_given_up():
    rows = [f"{i % 50},a" for i in range(3000)]
    late = counts("v,w\n" + "\n".join([*rows, "2.5,a", ""]), "v")
    assert late.kind == "number"
    assert late.distinct == 51
    text = counts("v,w\n" + "\n".join([*rows, "unknown,a", ""]), "v")
    assert text.kind == "category"
    assert text.notes[0] == "“unknown” is not a number, so the values are compared as texts."
    assert text.n == 3001
    explicit = counts("v,w\n" + "\n".join([*rows, "unknown,a", ""]), "v", kind="count")
    assert explicit.kind == "count"
    assert (explicit.n, explicit.dropped.unreadable) == (3000, 1)
    assert "such as “unknown”" in explicit.notes[0]
    twice = counts("v,w\n" + "".join(f"u{i}x,a\n" for i in [*range(2000), 7]), "v")
    assert (twice.kind, twice.n, twice.distinct) == ("category", 2001, 2000)
    three = counts("v,w\n" + "x,a\ny,a\n" * 600 + "z,a\n", "v")
    assert (three.kind, three.distinct) == ("category", 3)


def test_kinds_can_be_chosen():
    text = "v,w\n1,a\n2,a\n2,a\nx,a\n-3,a\n2.5,a\n"
    assert dict(counts(text, "v", kind="category").top(9)) == {"2": 2, "1": 1, "x": 1, "-3": 1, "2.5": 1}
    assert dict(counts(text, "v", kind="count").top(9)) == {"2": 2, "1": 1}
    assert counts(text, "v", kind="count").dropped.unreadable == 3
    assert dict(counts(text, "v", kind="number").top(9)) == {"2": 2, "1": 1, "-3": 1, "2.5": 1}
    with pytest.raises(ValueError, match="a binary column has two"):
        counts(text, "v", kind="binary")
    with pytest.raises(ValueError, match="no value that can be used"):
        counts(text, "w", kind="number")


def test_dates_become_moments_in_either_order():
    def column(text: str, kind: str = "auto"):
        return read_column(Source.from_bytes("t.csv", text.encode()), TableColumn(column="d", kind=kind))

    iso = column("d,w\n2020-03-01,a\n2020-03-01T12:30:00+02:00,b\n,c\n")
    assert iso.kind == "date"
    assert [str(v) for v in iso.values] == ["2020-03-01T00:00:00.000000", "2020-03-01T10:30:00.000000"]
    assert iso.dropped.missing == 1
    month_first = column("d,w\n3/4/2020,a\n12/31/2020,b\n")
    assert str(month_first.values[0])[:10] == "2020-03-04"
    assert "Dates with slashes were read as month/day/year." in month_first.notes
    assert str(column("d,w\n3/4/2020,a\n5/6/2020,b\n").values[0])[:10] == "2020-04-03"
    mixed = column("d,w\n3/4/2020,a\nsoon,b\n", kind="date")
    assert (mixed.n, mixed.dropped.unreadable) == (1, 1)


def test_dates_are_counted_as_days_however_they_are_written():
    cells = ["2020-01-02", "02/01/2020", "2.1.2020", "2020-01-02 00:00", "02-01-2020", "2020-01-02T06:00:00+06:00"]
    text = "d,w\n" + "".join(f"{cell},a\n" for cell in cells) + "2020-01-02 12:30,b\n2019-12-31,b\n31/12/2019,b\n,b\n"
    found = counts(text, "d")
    assert (found.kind, found.dropped.missing) == ("date", 1)
    assert found.top(9) == [("2020-01-02", 6), ("2019-12-31", 2), ("2020-01-02 12:30:00", 1)]
    assert "Dates with slashes and hyphens were read as day/month/year." in found.notes
    american = counts("d,w\n" + "01/02/2020,a\n2020-01-02,a\n12/31/2019,b\n", "d")
    assert american.top(3) == [("2020-01-02", 2), ("2019-12-31", 1)]
    assert american.notes == ("Dates with slashes were read as month/day/year.",)
    assert counts(text, "d", kind="category").distinct == 9
    told = counts("d,w\n2020-01-02,a\nsoon,a\n", "d", kind="date")
    assert (told.n, told.dropped.unreadable) == (1, 1)
    assert "such as “soon”" in told.notes[0]
    fine = counts("d,w\n2020-01-02 00:00:00.123456701,a\n2020-01-02 00:00:00.123456702,a\n", "d")
    assert (fine.distinct, fine.top(1)) == (1, [("2020-01-02 00:00:00.123456", 2)])
    assert fine.notes[0].startswith("2 rows hold values with more digits than a date can keep")


DATES = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat(" ")),
    st.dates().map(str),
    st.tuples(st.integers(0, 40), st.integers(0, 14), st.integers(0, 2200), st.sampled_from("/.-")).map(
        lambda parts: f"{parts[0]:02d}{parts[3]}{parts[1]:02d}{parts[3]}{parts[2]:04d}"
    ),
    st.sampled_from(
        [
            "2020-01-01 05",
            "2020-1-1",
            "0000-01-01",
            "2020-01-01 24:00",
            "2020-01-01T05+02",
            "2020-01-01 05:30:00 Z",
            "x",
            "2020-02-30",
            "2020-01-01T05:30Z",
            "2020-01-01 05:30:00+0230",
            "1/2/2020",
            "3.4.2020 05:06",
            "2020/03/04",
            "2020-01-01 05:30:00,5",
            "2020-01-01 05:30:00.1234567",
            "02/03/2020 7:08",
            "2020-01-01T23:59:59+02",
        ]
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(DATES, min_size=1, max_size=4), st.booleans())
def test_dates_read_at_once_are_those_read_one_by_one(cells, day_first):
    whole = _values.moments(_values.to_texts(cells), day_first)
    for cell, found in zip(cells, whole.tolist(), strict=True):
        moment = parse_date(cell, day_first)
        expected = _values.NO_DATE if moment is None else int(np.datetime64(moment, "us").astype(np.int64))
        assert found == expected
        assert _values.moments(_values.to_texts([cell]), day_first)[0] == expected


def test_order_is_by_count_then_value_whatever_the_order_of_rows():
    rows = ["b"] * 3 + ["a"] * 3 + ["c"] * 5 + ["é", "Z"]
    for seed in range(3):
        random.Random(seed).shuffle(rows)  # noqa: S311
        found = counts("v,w\n" + "".join(f"{row},1\n" for row in rows), "v")
        assert found.values == ("c", "a", "b", "Z", "é")
        np.testing.assert_array_equal(found.counts, [5, 3, 3, 1, 1])
    assert not found.counts.flags.writeable


def test_blank_lines_of_a_single_column_are_missing_records_but_not_at_the_end():
    found = counts("v\n\nx\n\n\ny\n\n\n\n", "v", header="yes")
    assert (found.n, found.dropped.missing) == (2, 3)
    assert counts("v,w\n\nx,1\n\n\ny,2\n\n\n\n", "v", header="yes").dropped.total == 0


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("piece", [8, 9, 64, 2**18])
@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("more", ["", ",1"])
def test_blank_lines_count_the_same_whatever_the_pieces(end, piece, quoted, more, monkeypatch):
    """Three hundred and one rows, forty blank lines amid them, and as many as one likes around them."""
    monkeypatch.setattr(_text, "PIECE", piece)
    rows = [f"w{i % 60}{more}" for i in range(300)]
    rows[10:10] = [f'"q"{more}' if quoted else f"w7{more}"]
    rows[150:150] = [""] * 40
    column = TableColumn(column="v", read=ReadOptions(header="yes"))
    for before, after in ((0, 0), (0, 1), (3, 2), (0, 1000)):
        head = f"v{',w' if more else ''}"
        text = end * before + end.join([head, *rows]) + end * after
        source = Source.from_bytes("a.csv", text.encode())
        found, layout_rows = read_counts(source, column), inspect(source, column.read).rows
        assert (found.n, found.dropped.missing, found.dropped.ragged) == (301, 0 if more else 40, 0)
        assert layout_rows == 301 + found.dropped.missing
        assert read_column(source, column).dropped == found.dropped


def test_a_blank_end_of_a_single_column_is_no_record_and_nothing_is_said_of_it():
    found = counts("a\nx\n\ny\n\n", "a")
    assert (layout("a\nx\n\ny\n\n").rows, found.n, found.dropped.missing) == (3, 2, 1)
    assert found.notes == ("1 row was left out for having no value (empty).",)
    assert counts('a\nx\n""\n\n', "a").dropped.missing == 1
    assert "it is no record" in read_counts.__doc__


def test_values_that_begin_with_a_tab_are_read_without_it():
    found = counts("a\n\tx\n\ty\n\tx\n", "a")
    assert found.top(2) == [("x", 2), ("y", 1)]
    assert found.notes == ("3 rows had spaces before or after the value; they do not count.",)


def test_a_long_tail_of_blank_lines_is_no_row():
    text = "v\n" + "x\ny\n" * 20 + "\r\n" * 700_000
    source = Source.from_bytes("a.csv", text.encode())
    found = read_counts(source, TableColumn(column="v"))
    assert (found.n, found.dropped.total, inspect(source).rows) == (40, 0, 40)
    amid = Source.from_bytes("b.csv", (text + "z\n").encode())
    found = read_counts(amid, TableColumn(column="v"))
    assert (found.n, found.dropped.missing, inspect(amid).rows) == (41, 700_000, 700_041)


def test_a_path_is_streamed_and_watched(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,x\n2,y\n")
    source = Source.from_path(path)
    assert source._data is None
    assert source.digest == Source.from_bytes("a.csv", path.read_bytes()).digest
    assert read_counts(source, TableColumn(column="a")).n == 2
    path.write_bytes(b"a,b\n1,x\n2,y\n3,z\n")
    with pytest.raises(ValueError, match="was changed after it was opened"):
        read_counts(source, TableColumn(column="a"))
    path.unlink()
    with pytest.raises(ValueError, match="still there"):
        read_counts(source, TableColumn(column="a"))


def test_an_upload_is_not_copied():
    data = b"a,b\n" + b"1,x\n" * 10
    assert Source.from_bytes("a.csv", data)._data is data


def test_only_the_chosen_column_is_parsed(monkeypatch):
    from privexplorer.data import _text

    seen = []
    real = _text.pacsv.ConvertOptions
    source = Source.from_bytes("a.csv", b"a,b,c,d\n1,x,7,q\n2,y,8,r\n")
    inspect(source)
    monkeypatch.setattr(_text.pacsv, "ConvertOptions", lambda **k: seen.append(k["include_columns"]) or real(**k))
    read_counts(source, TableColumn(column="c"))
    read_column(source, TableColumn(column="a"))
    read_counts(source, TableColumn(column="b", counts="c"))
    assert seen == [["f2"], ["f0"], ["f1", "f2"]]


def test_pieces_and_long_lines():
    """Rows far longer than a block, quoted line ends across blocks, and more rows than one block."""
    long = "y" * 700_000
    text = f'v,w\nx,"{long}"\nx,b\nz,"' + "line\n" * 30_000 + '"\n'
    assert dict(counts(text, "v").top(3)) == {"x": 2, "z": 1}
    rng = random.Random(1)  # noqa: S311
    rows = [rng.choice(["red", "green, dark", 'blue "sky"', "two\nlines"]) for _ in range(60_000)]
    body = "v,w\n" + "".join('"' + row.replace('"', '""') + f'",{index}\n' for index, row in enumerate(rows))
    assert dict(counts(body, "v").top(9)) == Counter(rows)


def test_many_readings_given_up_midway_leave_nothing_behind(tmp_path: Path):
    """A misfit stops the stream in the middle of the file; the next kind starts again, time after time."""
    path = tmp_path / "a.csv"
    path.write_bytes(b"v,w\n" + b"12,x\n" * 150_000 + b"soon,x\n" + b"12,x\n" * 150_000)
    source = Source.from_path(path)
    for _ in range(5):
        found = read_counts(source, TableColumn(column="v"))
        assert (found.kind, found.n, found.top(1)) == ("category", 300_001, [("12", 300_000)])


def test_layouts_are_kept_by_digest_and_options():
    source = Source.from_bytes("a.csv", b"a,b\n1,x\n2,y\n")
    assert inspect(source) is inspect(Source.from_bytes("a.csv", b"a,b\n1,x\n2,y\n"))
    assert inspect(source, ReadOptions(header="no")) is not inspect(source)


def test_rows_and_preview():
    small = layout("a,b\n" + "1,x\n" * 20)
    assert (small.rows, small.rows_exact, len(small.preview)) == (20, True, 8)
    large = layout("a,b\n" + "1,x\n" * 400_000)
    assert (large.rows, large.rows_exact) == (400_000, False)
    assert layout("a,b\n" + "z" * 500 + ",2\n").preview[0][0] == "z" * 59 + "…"


def test_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(counts_module, "ROW_LIMIT", 5)
    with pytest.raises(ValueError, match="more than 5 rows"):
        counts("a,b\n" + "1,x\n" * 6, "a")


CELLS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=8).map(str.strip)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_any_table_written_with_quotes_is_read_back(rows, delimiter, encoding):
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("first", "second"), *rows])
    names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
    options = ReadOptions(delimiter=names[delimiter], header="yes", quote="double")
    source = Source.from_bytes("t.csv", out.getvalue().encode(encoding))
    expected = Counter(row[1] for row in rows if not is_missing(row[1]))
    ref = TableColumn(column="second", kind="category", read=options)
    if not expected:
        with pytest.raises(ValueError, match="no value that can be used"):
            read_counts(source, ref)
        return
    found = read_counts(source, ref)
    assert dict(zip(found.values, found.counts.tolist(), strict=True)) == expected
    assert found.n + found.dropped.missing == len(rows)
    column = read_column(source, ref)
    assert Counter(column.labels[place] for place in column.values) == expected


@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("place", [0, 3, 150, 999])
@pytest.mark.parametrize(
    ("cell", "delimiter"), [('"two\nlines, ""quoted"""', "auto"), ("a\r", "auto"), ("", "auto"), ("x,y", "comma")]
)
def test_a_single_column_is_read_line_by_line_until_something_else_comes(lines, place, cell, delimiter, monkeypatch):
    """A quotation mark, another line end, an empty line or a row of two values somewhere in plain lines."""
    monkeypatch.setattr(_text, "_BLOCK", 256)
    monkeypatch.setattr(_text, "_LINES_BLOCK", 256)
    if not lines:  # the parser alone tells the same
        monkeypatch.setattr(_text, "_lines", lambda *_: iter(()))
    rows = [f"w{i % 60}" for i in range(1000)]
    rows[place] = cell
    text = "v\n" + "".join(f"{row}\n" for row in rows) + "w5\n"
    source = Source.from_bytes("a.csv", text.encode())
    table = TableColumn(column="v", kind="category", read=ReadOptions(header="yes", delimiter=delimiter))
    found = read_column(source, table)
    told = [found.labels[code] for code in found.values]
    expected = [row.removesuffix("\r") for row in [*rows, "w5"]]
    if cell.startswith('"'):
        expected[place] = 'two\nlines, "quoted"'
    if cell in ("", "x,y"):
        del expected[place]
    assert told == expected
    assert (found.dropped.missing, found.dropped.ragged) == (cell == "", cell == "x,y")
    if cell == "x,y":
        assert f"Row {place + 2:,} has 2 values" in " ".join(found.notes)
    assert sorted(read_counts(source, table).top(1000)) == sorted(Counter(expected).items())


WEIRD = st.sampled_from(
    [
        *(
            "",
            " ",
            "NA",
            ".",
            "nan",
            "inf",
            "0",
            "7",
            "007",
            "7.0",
            "+7",
            "-1",
            "1e3",
            "0x1f",
            "3,5",
            "a",
            "é",
            " a",
            "a ",
        ),
        *("abcdefgh", "abcdefghi", "x" * 16, "x" * 17, "x" * 300, "12345678901234567890", "2020-01-31", "31/01/2020"),
        *('"q"', '"two\nlines"', '"', "'s'", "a\r", "\u00a0a", "a,b", "a;b", "\t", "a\x1fb", "\u2028"),
    ]
)
PLAIN = st.one_of(st.integers(0, 99).map(str), st.text("abcdé", min_size=1, max_size=20), st.floats(-9, 9).map(repr))


def outcome(source, table):
    """Everything that reading a column says, or the sentence that refuses it."""
    try:
        found = read_counts(source, table)
    except DataError as error:
        return re.sub(r"row [\d,]+", "row", str(error))  # how far reading came, which depends on the pieces
    return found.kind, found.counts.tolist(), found.values, found.dropped, found.notes


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.one_of(PLAIN, PLAIN, WEIRD), min_size=1, max_size=60),
    st.sampled_from(["auto", "category", "count", "number", "identifier"]),
    st.sampled_from(["auto", "none", "comma"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([40, 300, 100_000]),
)
def test_lines_tell_what_the_parser_tells(cells, kind, delimiter, encoding, end, block):
    """Files of one column, weird ones too: by lines, with small pieces, and by the parser alone."""
    source = Source.from_bytes("a.csv", ("v" + end + "".join(cell + end for cell in cells)).encode(encoding))
    table = TableColumn(column="v", kind=kind, read=ReadOptions(header="yes", delimiter=delimiter))
    by_lines, told = _text._lines, []
    for pieces in (lambda feed, _, special: by_lines(feed, block, special), lambda *_: iter(())):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_text, "_lines", pieces)
            patch.setattr(_tally, "_SLOT_BITS", 4)
            told.append(outcome(source, table))
    assert told[0] == told[1]


def test_none_is_a_level_that_people_have():
    """Of an illness, say: it must not go as if nothing had been written."""
    found = counts("illness\nnone\nNone\nmild\nnone\n", "illness")
    assert (found.n, found.distinct, found.dropped.missing) == (4, 3, 0)
