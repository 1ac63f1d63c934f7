"""Every file that cannot be used is refused with one sentence that says what to do."""

from __future__ import annotations

import gzip
import io
import os
import random
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

from privexplorer.data import (
    ReadOptions,
    Source,
    TableColumn,
    _excel,
    _parquet,
    _sample,
    _stata,
    _text,
    bundled,
    inspect,
    read_column,
    read_counts,
    require_varied,
    resolve,
)
from privexplorer.data import source as source_module
from privexplorer.data._sample import Ragged
from privexplorer.errors import DataError

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(200))
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
JUNK = random.Random(3).randbytes(5000)  # noqa: S311


def frame_bytes(kind: str) -> bytes:
    frame = pd.DataFrame({"a": range(50), "b": ["x", "y"] * 25})
    out = io.BytesIO()
    if kind == "parquet":
        frame.to_parquet(out)
    elif kind == "xlsx":
        frame.to_excel(out, index=False)
    else:
        frame.to_stata(out, write_index=False)
    return out.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def parts_of(book: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def empty_book() -> bytes:
    out = io.BytesIO()
    openpyxl.Workbook().save(out)
    return out.getvalue()


def sentence(call) -> str:
    """The message of the refusal; it must be for people."""
    with pytest.raises(DataError) as caught:
        call()
    text = str(caught.value)
    assert text[0].isupper() or text[0] == "“"
    assert text.endswith(".")
    assert "\n" not in text
    for word in (
        "Error",
        "Traceback",
        "Arrow",
        "pandas",
        "openpyxl",
        "zlib",
        "codec",
        "None",
        "utf-8'",
        "0x",
        "Invalid",
    ):
        assert word not in text, text
    assert caught.value.__cause__ is None
    assert len(text) < 260
    return text


def whole(name: str, data: bytes, column: str | None = None, **options: str) -> None:
    source = Source.from_bytes(name, data)
    read = ReadOptions(**options)
    layout = inspect(source, read)
    read_counts(source, TableColumn(column=layout.names[0] if column is None else column, read=read))


PARQUET, XLSX, STATA = frame_bytes("parquet"), frame_bytes("xlsx"), frame_bytes("dta")

CASES = {
    "empty": ("a.csv", b"", "is empty"),
    "blank lines": ("a.csv", b"\n\n \n\n", "only blank lines"),
    "header only": ("a.csv", b"a,b\n", "no rows below"),
    "header only, no line end": ("a.csv", b"a,b", "no rows below"),
    "bom only": ("a.csv", b"\xef\xbb\xbf", "only blank lines"),
    "utf-16 mark only": ("a.csv", b"\xff\xfe", "only blank lines"),
    "png as csv": ("a.csv", PNG, "PNG picture"),
    "pdf as txt": ("a.txt", b"%PDF-1.4\n1 0 obj\n", "PDF document"),
    "csv as xlsx": ("a.xlsx", b"a,b\n1,2\n", "end in .csv"),
    "csv as parquet": ("a.parquet", b"a,b\n1,2\n", "end in .csv"),
    "csv as stata": ("a.dta", b"a,b\n1,2\n", "end in .csv"),
    "hello as stata": ("a.dta", b"hello,b\n1,2\n", "end in .csv"),
    "csv as xls": ("a.xls", b"a,b\n1,2\n", "end in .csv"),
    "csv as gz": ("a.csv.gz", b"a,b\n1,2\n", "not a gzip archive"),
    "gz as csv": ("a.csv", gzip.compress(b"a,b\n1,2\n"), "a.csv.gz"),
    "parquet as csv": ("a.csv", PARQUET, "end in .parquet"),
    "xlsx as csv": ("a.csv", XLSX, "end in .xlsx"),
    "xlsx as parquet": ("a.parquet", XLSX, "end in .xlsx"),
    "packed xlsx": ("a.xlsx.gz", gzip.compress(XLSX), "unpack it"),
    "gz in gz": ("a.csv.gz", gzip.compress(gzip.compress(b"a,b\n1,2\n")), "."),
    "web page": ("a.csv", b"<!DOCTYPE html><html><body>x</body></html>", "web page"),
    "json": ("a.json", b'[{"a": 1}]', "JSON file"),
    "xml": ("a.csv", b"<?xml version='1.0'?><a/>", "XML document"),
    "zip": ("a.zip", zipped({"a.csv": b"a,b\n1,2\n"}), "ZIP archive"),
    "docx": ("a.docx", zipped({"word/document.xml": b"<a/>"}), "text document"),
    "ods": ("a.ods", zipped({"mimetype": b"application/vnd.oasis", "content.xml": b""}), "save it as .xlsx"),
    "xlsb": ("a.xlsb", zipped({"xl/workbook.bin": b"x"}), "save it as .xlsx"),
    "old xls": ("a.xls", OLE, "save it as .xlsx"),
    "encrypted xlsx": ("a.xlsx", OLE + "EncryptedPackage".encode("utf-16-le") + b"\0" * 50, "password"),
    "pickle": ("a.csv", b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00", "pickle"),
    "sqlite": ("a.csv", b"SQLite format 3\x00" + b"\0" * 100, "SQLite database"),
    "junk": ("a.csv", JUNK, "."),
    "junk without zeros": ("a.csv", JUNK.replace(b"\0", b"\x01"), "."),
    "control characters": ("a.csv", b"a,b\n" + bytes(range(1, 32)) * 40, "control characters"),
    "a zero byte": ("a.csv", b"a,b\n1,x\0y\n", "zero bytes"),
    "a late zero byte": ("a.csv", b"a,b\n" + b"1,x\n" * 200_000 + b"1,\0\n", "zero bytes"),
    "a zero letter in utf-16": ("a.csv", "a,b\n1,\0\n2,x\n".encode("utf-16"), "zero characters"),
    "half a letter in utf-16": ("a.csv", "a,b\n1,x\n".encode("utf-16") + b"\n", "not valid UTF-16"),
    "neither encoding": ("a.csv", b"a,b\n\x81\x8d,2\n\xff,3\n", "neither UTF-8"),
    "cut gzip": ("a.csv.gz", gzip.compress(os.urandom(5000).hex().encode())[:-200], "cut off"),
    "damaged gzip": ("a.csv.gz", gzip.compress(b"a,b\n1,2\n")[:12] + b"\xff\xff\xff\xff\xff\xff\xff\xff", "damaged"),
    "rubbish after gzip": ("a.csv.gz", gzip.compress(b"a,b\n1,2\n") + b"rubbish", "damaged"),
    "cut parquet": ("a.parquet", PARQUET[:-100], "damaged"),
    "parquet mark only": ("a.parquet", b"PAR1" * 5, "damaged"),
    "parquet with rubbish inside": ("a.parquet", PARQUET[:4] + b"\xff" * 300 + PARQUET[304:], "damaged"),
    "cut xlsx": ("a.xlsx", XLSX[:-300], "damaged"),
    "zip with one xlsx part": ("a.xlsx", zipped({"xl/workbook.xml": b"<a/>"}), "damaged"),
    "xlsx with broken xml": (
        "a.xlsx",
        zipped({name: part[:-20] for name, part in parts_of(XLSX).items()}),
        "damaged",
    ),
    "empty sheet": ("a.xlsx", empty_book(), "is empty"),
    "cut stata": ("a.dta", STATA[: len(STATA) // 2], "damaged"),
    "stata of version 200": ("a.dta", b"<stata_dta><header><release>200</release>" + b" " * 200, "damaged"),
    "unclosed quote": ("a.csv", b'a,b\n1,x\n2,"y\n3,z\n', "Row 3 opens a quotation mark"),
    "unclosed quote at the end": ("a.csv", b'a,b\n1,x\n2,"', "never closed"),
    "unclosed quote in one column": ("a.csv", b'a\nx\n"y\nz\n', "never closed"),
    "late unclosed quote": ("a.csv", b"a,b\n" + b"1,x\n" * 400_000 + b'2,"y\n3,z\n', "never closed"),
    "late unclosed quote, far from the end": (
        "a.csv", b"a,b\n" + b"1,x\n" * 400_000 + b'2,"y\n' + b"3,z\n" * 400_000, "never closed",
    ),
    "long second row": ("a.csv", b"a\n" + b"x" * 3_000_000 + b"\ny\n", "One of the first two rows of “a.csv”"),
    "long first row": ("a.csv", b"x" * 3_000_000 + b"\ny\nz\n", "is longer than 1 MB; shorten it"),
    "early unclosed quote": ("a.csv", b'a,b\n1,"' + b"x\n" * 1_500_000, "a quotation mark that is never closed there"),
    "all ragged": ("a.csv", b"a,b\n" + b"1,2,3\n" * 20, "Row 2 has 3 values, the first row has 2"),
    "mostly ragged": ("a.csv", b"a,b\n1,2\n" + b"1,2,3\n" * 20, "Row 3 has 3 values, the first row has 2"),
    "a title over the table": ("a.csv", b"Sales of 2020\na,b,c\n1,2,3\n4,5,6\n", "first row has 1"),
    "ragged later": ("a.csv", b"a,b\n" + b"1,2\n" * 300_000 + b"1,2,3\n" * 600_000, "the first row has 2"),
    "too many columns": ("a.csv", b"c," * 10_000 + b"c\n" + b"1," * 10_000 + b"1\n", "10,001 columns"),
    "too many columns for a part": ("a.csv", b"c" + b",c" * 600_000, "more than the 10,000 columns allowed"),
    "no value": ("a.csv", b"a,b\n,1\nNA,2\n", "2 rows have no value"),
    "infinite": ("a.csv", b"a\ninf\n-Inf\ninf\n", "“a” holds no value that can be used: 3 rows hold infinite numbers;"),
    "one infinite": ("a.csv", b"a,b\ninf,1\n,2\n", "used: 1 row has no value and 1 row holds an infinite number;"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_refused_with_one_sentence(case):
    name, data, part = CASES[case]
    text = sentence(lambda: whole(name, data))
    assert part in text, text


@pytest.mark.parametrize(
    ("data", "options", "part"),
    [
        ("é,b\n1,2\n".encode("cp1252"), {"encoding": "utf-8"}, "not valid UTF-8"),
        (b"a,b\n1,2\n1", {"encoding": "utf-16"}, "not valid UTF-16"),
        ("größe;n\nä;1\nö;2\n".encode("cp1252"), {"encoding": "utf-16"}, "not valid UTF-16 (read that way, it has no"),
        (("größe;n\n" + "ä;1\n" * 200_000).encode("cp1252"), {"encoding": "utf-16"}, "choose another encoding, or let"),
        ("a,b\n1,2\n".encode("utf-16"), {"encoding": "cp1252"}, "is UTF-16, not Windows-1252; choose that encoding"),
        ("a,b\n1,2\n".encode("utf-16-le"), {"encoding": "utf-8"}, "is UTF-16, not UTF-8; choose that encoding"),
        (b"a;b\n1;2\n1,5;3,2\n1,2;4,3\n", {"delimiter": "comma"}, "values, the first row has 1"),
        (b'a,b\n1,"x,y"\n2,"u,v"\n', {"quote": "none"}, "values, the first row has 2"),
    ],
)
def test_a_wrong_choice_is_refused(data, options, part):
    assert part in sentence(lambda: whole("a.csv", data, **options))


@pytest.mark.parametrize(
    ("name", "delimiter"), [("a.csv", ","), ("a.tsv", "\t"), ("a.csv", ";"), ("a.txt", "|")]
)  # fmt: skip
def test_the_width_of_a_text_table_is_checked_before_its_columns_are_read(name, delimiter, monkeypatch):
    """Two megabytes of 200,000 columns once took half a minute and more than a gigabyte."""
    cells = []
    real = _text.pacsv.read_csv

    def counted(*args, **options):
        table = real(*args, **options)
        cells.append(table.num_columns)
        return table

    monkeypatch.setattr(_text.pacsv, "read_csv", counted)
    row = delimiter.join(["column"] * 60_000).encode() + b"\n"
    assert "60,000 columns, more than the 10,000" in sentence(lambda: whole(name, row + row))
    assert sum(cells) < 1000, "columns turned into arrays"


def test_a_long_first_row_of_prose_is_no_wide_table():
    data = b"text\n" + b"one, two; three|four" * 20_000 + b"\nfive\nsix, seven\n"
    for given in (data, data[5:]):
        layout = inspect(Source.from_bytes("a.txt", given))
        assert len(layout.columns) == 1


def test_wide_rows_below_a_narrow_one_are_counted(monkeypatch):
    data = b"a,b\n" + b"1,2\n" * 60 + b"1," * 60_000 + b"1\n" + b"3,4\n" * 60
    source = Source.from_bytes("a.csv", data)
    found = read_counts(source, TableColumn(column="a"))
    assert (len(inspect(source).columns), found.n, found.dropped.ragged) == (2, 120, 1)
    text = sentence(lambda: whole("b.csv", b"a\n" + (b"1," * 20_000 + b"1\n") * 20))
    assert text.startswith("Row 2 has 20,001 values, the first row has 1;")


def test_names_of_ten_thousand_columns_are_repaired_once_each():
    source = Source.from_bytes("a.csv", b"x," * 9_999 + b"x\n" + b"1," * 9_999 + b"1\n")
    names = inspect(source).names
    assert (len(set(names)), names[1], names[-1]) == (10_000, "x (2)", "x (10000)")


def sheet_of(rows: str) -> bytes:
    parts = parts_of(XLSX)
    data = f"<sheetData>{rows}</sheetData>".encode()
    parts[SHEET] = re.sub(rb"<sheetData>.*</sheetData>", lambda _: data, parts[SHEET], flags=re.DOTALL)
    return zipped(parts)


def sheet_row(number: int, *columns: str) -> str:
    return f'<row r="{number}">' + "".join(f'<c r="{c}{number}"><v>1</v></c>' for c in columns) + "</row>"


def test_the_width_of_a_sheet_is_checked_row_by_row(monkeypatch):
    """A row with its last value in column XFD is a few bytes, and 16,384 cells once it is read."""
    cells = []
    real = _excel._text
    monkeypatch.setattr(_excel, "_text", lambda cell: cells.append(1) or real(cell))
    wide = sheet_of("".join(sheet_row(i, "A", "XFD") for i in range(1, 400)))
    assert "16,384 columns, more than the 10,000 allowed" in sentence(lambda: whole("a.xlsx", wide))
    assert len(cells) < 20_000
    late = sheet_of("".join(sheet_row(i, "A", "B" if i < 1200 else "XFD") for i in range(1, 3000)))
    monkeypatch.setattr(_excel, "_text", real)
    monkeypatch.setattr(Ragged, "hopeless", lambda self, rows: self.count > 5)
    text = sentence(lambda: whole("a.xlsx", late))
    assert text.startswith("Row 1,200 has 16,384 values, the first row has 2;")
    assert "delimiter" not in text


def test_the_blank_end_of_a_row_costs_nothing(monkeypatch):
    cells = []
    real = _excel._text
    monkeypatch.setattr(_excel, "_text", lambda cell: cells.append(1) or real(cell))
    styled = "".join(f'<row r="{i}"><c r="A{i}"><v>{i}</v></c><c r="XFD{i}" s="0"/></row>' for i in range(1, 40))
    assert len(inspect(Source.from_bytes("a.xlsx", sheet_of(styled))).columns) == 1
    assert len(cells) < 100


@pytest.mark.parametrize("kind", ["parquet", "dta"])
def test_the_width_of_a_typed_file_is_checked_before_its_rows(kind, monkeypatch):
    frame = pd.DataFrame([[1] * 6] * 2, columns=list("abcdef"))
    out = io.BytesIO()
    if kind == "parquet":
        frame.to_parquet(out)
    else:
        frame.to_stata(out, write_index=False)
    monkeypatch.setattr(_sample, "COLUMN_LIMIT", 5)
    for module, rows in ((_parquet, "_shown"), (_stata, "_frames")):
        monkeypatch.setattr(module, rows, lambda *_: pytest.fail("rows were read"))
    assert "6 columns, more than the 5 allowed" in sentence(lambda: whole(f"a.{kind}", out.getvalue()))


def test_counts_that_cannot_be_used():
    """Each sentence gives the reason."""
    for table, said in (
        (b"v,n\nx,9000000000000000000\ny,1\n",
         "Column “n” holds “9000000000000000000”, but counts must be below 2 to the power of 53 "
         "(9,007,199,254,740,992); choose another column for the counts, or none."),
        (b"v,n\nx,9007199254740992\ny,1\n", "“9007199254740992”, but counts must be below 2 to the power"),
        (b"v,n\nx,-1\ny,1\n", "“-1”, but counts must be whole numbers from 0;"),
        (b"v,n\nx,inf\ny,1\n", "“inf”, but counts must be whole numbers from 0;"),
        (b"v,n\nx,0\ny,0\n",
         "All counts in column “n” are 0, so there is no record; choose another column for the counts, or none."),
        (b"v,n\nx,0\ny,\n", "“v” holds no value that can be used: 1 row has no count and 1 row has a count of 0;"),
    ):  # fmt: skip
        source = Source.from_bytes("a.csv", table)
        assert said in sentence(lambda s=source: read_counts(s, TableColumn(column="v", counts="n")))
    source = Source.from_bytes("a.csv", b"v,n\nx,9007199254740991\n")
    assert read_counts(source, TableColumn(column="v", counts="n")).n == 2**53 - 1


def test_one_record_is_no_plural():
    found = read_counts(Source.from_bytes("a.csv", b"v,w\nx,1\n"), TableColumn(column="v"))
    assert "“x” in its only record;" in sentence(lambda: require_varied(found))


def test_names_that_would_turn_a_sentence_around():
    source = Source.from_bytes("a\u202e.csv", "v\u202ew,b\nx,1\nx,2\n".encode())
    told = [
        sentence(lambda: read_counts(source, TableColumn(column="q\u202e"))),
        sentence(lambda: require_varied(read_counts(source, TableColumn(column="v\u202ew")))),
        sentence(lambda: Source.from_bytes("e\u202e.csv", b"")),
    ]
    doubled = inspect(Source.from_bytes("a.csv", "v\u202ew,v\u202ew\nx,1\ny,2\n".encode()))
    for words in (*told, *doubled.notes):
        assert "\u202e" not in words
    assert all("\\u202e" in words for words in (*told, doubled.notes[-1]))


def test_sizes(monkeypatch):
    text = sentence(lambda: Source.from_bytes("a.csv", b"a,b\n" + b"1,2\n" * 1000, limit=2048))
    assert "more than the 2 KB allowed" in text
    monkeypatch.setattr(source_module, "UNPACKED_LIMIT", 1024 * 1024)
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 400_000)
    assert len(bomb) < 20_000
    assert "unpacks to more than 1 MB; reading stopped there" in sentence(lambda: whole("a.csv.gz", bomb))


def test_a_gzip_bomb_is_left_at_the_limit_in_bounded_memory(tmp_path: Path):
    """Three thousand million bytes in three million; reading stops at 64 MB and 100 MB of memory are never needed."""
    path = tmp_path / "bomb.csv.gz"
    line = b"1,2\n" * 250_000
    with gzip.open(path, "wb", compresslevel=1) as out:
        out.write(b"a,b\n")
        for _ in range(200):
            out.write(line)
    code = textwrap.dedent(f"""
        import time
        import pyarrow.csv
        import privexplorer.data as data
        from privexplorer.data import source
        source.UNPACKED_LIMIT = 64 * 1024 * 1024
        peak = lambda: int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1])
        before = peak()
        try:
            data.inspect(data.Source.from_path({str(path)!r}))
        except ValueError as error:
            print(error)
        print((peak() - before) // 1024)
    """)
    if not Path("/proc/self/status").exists():
        pytest.skip("needs /proc to measure memory")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert "reading stopped there" in out[0]
    assert int(out[1]) < 40


def test_a_workbook_bomb_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr(_excel, "UNPACKED_LIMIT", 8 * 1024 * 1024)
    parts = parts_of(XLSX)
    parts["xl/media/zeros.bin"] = b"\0" * (20 * 1024 * 1024)
    bomb = zipped(parts)
    assert len(bomb) < 100_000
    assert "unpacks to 20 MB, more than the 8 MB allowed" in sentence(lambda: whole("a.xlsx", bomb))


def test_an_xml_entity_bomb_is_refused():
    parts = parts_of(XLSX)
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    parts["xl/worksheets/sheet1.xml"] = (
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "aaaaaaaaaa">{entities}]><worksheet><a>&e11;</a></worksheet>'
    ).encode()
    assert "." in sentence(lambda: whole("a.xlsx", zipped(parts)))


MB, SHEET = 1024 * 1024, "xl/worksheets/sheet1.xml"
ROW, SPACES = b"<row ", b" " * (2 * MB)
ENDLESS = {
    "spaces in a tag": (ROW, ROW + SPACES, "a tag or a cell of more than 256 KB"),
    "a value in a tag": (ROW, b'<row x=">' + SPACES + b'" ', "a tag or a cell of more than 256 KB"),
    "many ends within a value": (ROW, b'<row x="' + b"> " * MB + b'" ', "a tag or a cell of more than 256 KB"),
    "a comment full of tags": (ROW, b"<!--" + b"<a> " * MB + b"-->" + ROW, "a tag or a cell of more than 256 KB"),
    "an instruction full of tags": (ROW, b"<?x " + b"<a> " * MB + b"?>" + ROW, "a tag or a cell of more than 256 KB"),
    "spaces before the first tag": (b"<worksheet", SPACES + b"<worksheet", "a tag or a cell of more than 256 KB"),
    "a document type": (b"<worksheet", b'<!DOCTYPE x [<!ENTITY e "' + b"<" * MB + b'">]><worksheet', "a document type"),
    "comments without end": (ROW, b"<!---->" * 1_000_001 + ROW, "more than 1,000,000 comments"),
}


@pytest.mark.parametrize("case", ENDLESS)
def test_what_would_keep_the_parser_busy_is_refused_before_parsing(case):
    """These take the parser a time that grows with the square of their length, and pack to nothing."""
    place, instead, said = ENDLESS[case]
    parts = parts_of(XLSX)
    assert place in parts[SHEET]
    parts[SHEET] = parts[SHEET].replace(place, instead, 1)
    book = zipped(parts)
    assert len(book) < 100_000
    text = sentence(lambda: whole("a.xlsx", book))
    assert f"“a.xlsx” holds {said}" in text


@pytest.mark.parametrize(
    "part", ["xl/workbook.xml", "xl/styles.xml", "xl/_rels/workbook.xml.rels", "docProps/core.xml"]
)
def test_every_part_that_is_parsed_is_looked_through(part):
    parts = parts_of(XLSX)
    parts[part] = re.sub(rb"<[\w:]+ ", lambda tag: tag[0] + SPACES, parts[part], count=1)
    assert "holds a tag or a cell of more than 256 KB" in sentence(lambda: whole("a.xlsx", zipped(parts)))


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_part_in_another_encoding_is_refused(codec):
    parts = parts_of(XLSX)
    plain = parts[SHEET].decode()
    parts[SHEET] = plain[plain.index("<worksheet") :].encode(codec)
    assert "a part that is not in UTF-8" in sentence(lambda: whole("a.xlsx", zipped(parts)))


@pytest.mark.parametrize("shift", [*range(0, 12), *range(100, 4000, 977)])
def test_comments_and_the_like_are_no_reason_to_refuse(shift):
    """Also where a piece ends within one, and where what they hold looks like something else."""
    parts = parts_of(XLSX)
    sheet = parts[SHEET]
    odd = b"<!-- <!DOCTYPE a <? --><?x <!DOCTYPE ?><!-- > -->"
    fill = b"<!--" + b"x" * (64 * 1024 - sheet.index(ROW) - 60 + shift) + b"-->"
    sheet = sheet.replace(ROW, fill + odd * 3 + ROW, 1)
    cell = b"<is><t><![CDATA[<!DOCTYPE <!-- >]]>" + b"&quot;" * 32_000 + b"</t></is>"
    sheet = sheet.replace(b"</sheetData>", b'<row r="52"><c r="A52" t="inlineStr">' + cell + b"</c></row></sheetData>")
    parts[SHEET] = sheet
    layout = inspect(Source.from_bytes("a.xlsx", zipped(parts)))
    assert (layout.rows, layout.names) == (51, ("a", "b"))


def test_paths(tmp_path: Path):
    assert "no file" in sentence(lambda: Source.from_path(tmp_path / "none.csv"))
    assert "is a folder" in sentence(lambda: Source.from_path(tmp_path))
    (tmp_path / "a.csv").write_bytes(b"")
    assert "is empty" in sentence(lambda: Source.from_path(tmp_path / "a.csv"))
    (tmp_path / "b.csv").write_bytes(b"a,b\n1,2\n")
    assert "allowed here" in sentence(lambda: Source.from_path(tmp_path / "b.csv", limit=4))


def test_names_that_do_not_exist():
    source = Source.from_bytes("a.csv", b"age,income,wage\n1,2,3\n4,5,6\n")
    text = sentence(lambda: read_counts(source, TableColumn(column="agee")))
    assert text.startswith("The table has no column “agee”; the nearest are “age”")
    text = sentence(lambda: read_counts(source, TableColumn(column="zzzzz")))
    assert text == "The table has no column “zzzzz”; it has “age”, “income”, “wage”."
    wide = Source.from_bytes("b.csv", b"aa,ab,ac,ad,ae\n1,2,3,4,5\n")
    for name, said in (("a", "the nearest are “ae”, “ad”, “ac”"), ("zzzzz", "it has “aa”, “ab”, “ac”, …")):
        text = sentence(lambda name=name: read_counts(wide, TableColumn(column=name)))
        assert text == f"The table has no column “{name}”; {said}."
    assert "No column is chosen" in sentence(lambda: read_counts(source, TableColumn()))
    assert "“incom”" in sentence(lambda: read_counts(source, TableColumn(column="age", counts="incom")))
    assert "cannot be both" in sentence(lambda: read_counts(source, TableColumn(column="age", counts="age")))
    book = Source.from_bytes("a.xlsx", XLSX)
    assert "no sheet “x”; it has “Sheet1”" in sentence(lambda: inspect(book, ReadOptions(sheet="x")))
    assert "there are census-surnames" in sentence(lambda: Source.bundled("nothing"))


def test_one_value_is_refused_where_it_cannot_work():
    source = Source.from_bytes("a.csv", b"v,w\nx,1\nx,2\nx,3\n,4\n")
    found = read_counts(source, TableColumn(column="v"))
    text = sentence(lambda: require_varied(found))
    assert text == (
        "Column “v” holds the one value “x” in all 3 records; choose a column with at least two different values."
    )
    varied = read_counts(source, TableColumn(column="w"))
    assert require_varied(varied) is varied


def test_a_link_without_its_table():
    source = Source.from_bytes("a.csv", b"v,w\nx,1\ny,2\n")
    ref = TableColumn(data=source.digest, column="v")
    assert resolve(ref, {source.digest: source}) is source
    for tables in (None, {}, {"0" * 16: source}):
        assert sentence(lambda tables=tables: resolve(ref, tables)) == (
            "This link was made with a table that is not in the link; drop the same file here."
        )
    assert "No table is chosen" in sentence(lambda: resolve(TableColumn(), {source.digest: source}))
    first = bundled()[0]
    assert resolve(first.reference(), None).key == first.id


def test_counts_too_large_to_write_out():
    source = Source.from_bytes("a.csv", b"v,count\nx,90000000\ny,90000000\n")
    ref = TableColumn(column="v", counts="count")
    assert read_counts(source, ref).n == 180_000_000
    assert "too many to write out" in sentence(lambda: read_column(source, ref))
    huge = Source.from_bytes("a.csv", b"v,count\nx,9000000000000000\ny,9000000000000000\n")
    assert "check the count column" in sentence(lambda: read_counts(huge, ref))


def test_random_bytes_never_escape_as_another_error():
    """Whatever a file holds, it is read or refused in one sentence."""
    rng = random.Random(11)  # noqa: S311
    starts = {
        "csv": b"a,b\n1,2\n",
        "parquet": PARQUET,
        "xlsx": XLSX,
        "dta": STATA,
        "csv.gz": gzip.compress(b"a,b\n1,2\n"),
    }
    refused = 0
    for trial in range(250):
        kind = rng.choice(list(starts))
        data = bytearray(starts[kind])
        for _ in range(rng.randint(1, 12)):
            at = rng.randrange(len(data))
            data[at : at + rng.randint(0, 3)] = rng.randbytes(rng.randint(0, 3))
        try:
            whole(f"t{trial}.{kind}", bytes(data))
        except DataError as error:
            refused += str(error).endswith(".")
    assert refused > 50
