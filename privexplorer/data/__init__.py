"""Uploads, paths and bundled data, read into checked columns.

A :class:`Source` is a file, :func:`inspect` says what is in it, a :class:`TableColumn` names one column,
and :func:`read_counts` or :func:`read_column` reads that column and nothing else.
"""

from __future__ import annotations

from privexplorer.data._bundled import BundledTable, bundled
from privexplorer.data.counts import Column, ColumnCounts, Dropped, read_column, read_counts, require_varied
from privexplorer.data.layout import ColumnInfo, Layout, inspect
from privexplorer.data.reference import KIND_TITLES, Kind, KindChoice, ReadOptions, TableColumn
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
    "TableColumn",
    "Tables",
    "bundled",
    "inspect",
    "read_column",
    "read_counts",
    "require_varied",
    "resolve",
]
