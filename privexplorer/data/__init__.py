"""Uploads, paths and bundled data, read into checked columns.

A :class:`Source` is a file, :func:`inspect` says what is in it, a :class:`TableColumn` names one column,
and :func:`read_counts` or :func:`read_column` reads that column and nothing else. A :class:`TableChoice` names a
table of which :func:`read_rows` reads several columns, row by row.
"""

from __future__ import annotations

from privexplorer.data._bundled import BundledTable, bundled
from privexplorer.data.counts import Column, ColumnCounts, Dropped, read_column, read_counts, require_varied
from privexplorer.data.layout import ColumnInfo, Layout, inspect
from privexplorer.data.reference import KIND_TITLES, Kind, KindChoice, ReadOptions, TableChoice, TableColumn, tables_of
from privexplorer.data.rows import TableRows, read_rows
from privexplorer.data.source import UNPACKED_LIMIT, UPLOAD_LIMIT, Format, Source, Tables, resolve

__all__ = [
    "KIND_TITLES",
    "UNPACKED_LIMIT",
    "UPLOAD_LIMIT",
    "BundledTable",
    "Column",
    "ColumnCounts",
    "ColumnInfo",
    "Dropped",
    "Format",
    "Kind",
    "KindChoice",
    "Layout",
    "ReadOptions",
    "Source",
    "TableChoice",
    "TableColumn",
    "TableRows",
    "Tables",
    "bundled",
    "inspect",
    "read_column",
    "read_counts",
    "read_rows",
    "require_varied",
    "resolve",
    "tables_of",
]
