"""How a scenario names a column: the table by its digest, the column by its name, and how to read it.

A scenario or a link never holds data; it holds a :class:`TableColumn`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from privexplorer.records import Record, field

Kind = Literal["category", "count", "number", "binary", "date", "identifier"]
KindChoice = Literal["auto", "category", "count", "number", "binary", "date", "identifier"]

KIND_TITLES: dict[str, str] = {
    "auto": "Detect",
    "category": "Category",
    "count": "Count (whole numbers from 0)",
    "number": "Number",
    "binary": "Binary (two values)",
    "date": "Date",
    "identifier": "Identifier (one per person)",
}


class ReadOptions(Record):
    """How a file is to be read; every choice that is left at its default is detected and shown."""

    delimiter: Literal["auto", "comma", "semicolon", "tab", "pipe", "space", "none"] = field(
        "auto",
        "Delimiter",
        "What stands between two values of a row.",
        key="sep",
        group="Data",
        titles={
            "auto": "Detect",
            "comma": "Comma",
            "semicolon": "Semicolon",
            "tab": "Tab",
            "pipe": "Vertical bar",
            "space": "Space",
            "none": "None: a row is one value",
        },
    )
    decimal: Literal["auto", "point", "comma"] = field(
        "auto",
        "Decimal mark",
        "What stands before the decimals of a number.",
        key="dec",
        group="Data",
        titles={"auto": "Detect", "point": "Point (1.5)", "comma": "Comma (1,5)"},
    )
    encoding: Literal["auto", "utf-8", "utf-16", "cp1252"] = field(
        "auto",
        "Encoding",
        "How letters are stored; change it when accented letters look wrong.",
        key="enc",
        group="Data",
        titles={"auto": "Detect", "utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252"},
    )
    header: Literal["auto", "yes", "no"] = field(
        "auto",
        "Header",
        "Whether the first row names the columns.",
        key="head",
        group="Data",
        titles={"auto": "Detect", "yes": "First row names the columns", "no": "First row is data"},
    )
    quote: Literal["auto", "double", "single", "none"] = field(
        "auto",
        "Quotation mark",
        "What encloses a value that contains the delimiter.",
        key="quote",
        group="Data",
        titles={
            "auto": "Detect",
            "double": 'Double (")',
            "single": "Single (')",
            "none": "None: an ordinary character",
        },
    )
    sheet: str = field(
        "",
        "Sheet",
        "Which sheet of an Excel workbook; empty takes the first.",
        key="sheet",
        group="Data",
        max_length=100,
    )


class TableColumn(Record):
    """One column of one table, named but not contained.

    ``counts`` names a second column when the table is already a histogram (a value and how often it
    occurs); otherwise each row is one record.
    """

    data: str = field(
        "",
        "Table",
        "A bundled table's name, or the first 16 hex digits of the file's SHA-256.",
        key="data",
        group="Data",
        pattern=r"^[a-z0-9-]{0,40}$",
    )
    column: str = field("", "Column", "The column to read.", key="column", group="Data", max_length=400)
    counts: str = field(
        "",
        "Counts",
        "The column that says how often each value occurs; empty when each row is one record.",
        key="counts",
        group="Data",
        max_length=400,
    )
    kind: KindChoice = field(
        "auto", "Read the column as", "What the values are.", key="as", group="Data", titles=KIND_TITLES
    )
    read: ReadOptions = field(ReadOptions(), "Reading the file", key="read", group="Data")


class TableChoice(Record):
    """A whole table, named but not contained; which of its columns are used is said beside it.

    A text field declared with ``column_of="<link name of this field>"`` is drawn as a choice among the
    table's columns, a tuple of texts as a choice of several.
    """

    data: str = field(
        "",
        "Table",
        "A bundled table's name, or the first 16 hex digits of the file's SHA-256.",
        key="data",
        group="Data",
        pattern=r"^[a-z0-9-]{0,40}$",
    )
    read: ReadOptions = field(ReadOptions(), "Reading the file", key="read", group="Data")


def tables_of(record: Record) -> Iterator[TableColumn | TableChoice]:
    """Yield the tables that a record names, those of records inside it included."""
    for name in type(record).model_fields:
        value = getattr(record, name)
        if isinstance(value, (TableColumn, TableChoice)):
            yield value
        elif isinstance(value, Record):
            yield from tables_of(value)


__all__ = ["KIND_TITLES", "Kind", "KindChoice", "ReadOptions", "TableChoice", "TableColumn", "tables_of"]
