"""Parquet files: the chosen columns only, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from privexplorer.data import source as files
from privexplorer.data._sample import Ragged, Sample, check_columns, sample_rows
from privexplorer.data._values import as_doubles, as_text
from privexplorer.data.reference import ReadOptions
from privexplorer.data.source import Source, megabytes
from privexplorer.errors import DataError

if TYPE_CHECKING:
    from privexplorer.data.layout import Layout

_BATCH = 65_536
_DIGITS = 15  # floats tell exact numbers of so many digits apart


def sample(source: Source, options: ReadOptions) -> Sample:
    """Read the schema and the first rows."""
    del options
    with _opened(source) as file:
        names = tuple(file.schema_arrow.names)
        if not names:
            raise DataError(f"“{source.name}” has no columns; save a table with at least one.")
        check_columns(source.name, len(names))
        rows: list[list[str]] = []
        for batch in file.iter_batches(batch_size=sample_rows(len(names)), use_threads=False):
            if batch.num_rows:
                rows = [list(row) for row in zip(*(_shown(column) for column in batch.columns), strict=True)]
                break
        return Sample(rows=rows, detected=_DETECTED, total=file.metadata.num_rows, exact=True, names=names)


def chunks(source: Source, layout: Layout, columns: Sequence[int], ragged: Ragged) -> Iterator[list[pa.Array]]:
    """Read some columns in batches."""
    del ragged  # a Parquet row always has every column
    with _opened(source) as file:
        schema = file.schema_arrow
        for index in columns:
            if _nested(schema.field(index).type):
                raise DataError(
                    f"Column “{layout.columns[index].name}” holds lists or binary data; choose another column.",
                    field="column",
                )
        wanted = [schema.names[index] for index in columns]
        _check_size(source, file, set(wanted))
        for batch in file.iter_batches(batch_size=_BATCH, columns=list(dict.fromkeys(wanted)), use_threads=False):
            yield [_plain(batch.columns[_place(schema.names, batch.schema.names, index)]) for index in columns]


_DETECTED = ReadOptions(delimiter="none", decimal="point", encoding="utf-8", header="yes", quote="none")


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    with source.open() as raw:
        try:
            yield pq.ParquetFile(pa.PythonFile(raw, mode="r"), pre_buffer=False)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            raise DataError(
                f"“{source.name}” is damaged or no complete Parquet file; save it again and drop the new file."
            ) from None


def _place(names: Sequence[str], found: Sequence[str], index: int) -> int:
    """Where column ``index`` is among the columns of a batch (two may have one name)."""
    earlier = list(names[:index]).count(names[index])
    return [place for place, name in enumerate(found) if name == names[index]][earlier]


def _check_size(source: Source, file: Any, wanted: set[str]) -> None:
    size = 0
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)
        for index in range(group.num_columns):
            if group.column(index).path_in_schema in wanted:
                size += group.column(index).total_uncompressed_size
    if size > files.UNPACKED_LIMIT:
        raise DataError(
            f"The column unpacks to {megabytes(size)}, more than the {megabytes(files.UNPACKED_LIMIT)} allowed; "
            f"keep a part of the rows of “{source.name}”."
        )


def _nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _plain(column: pa.Array) -> pa.Array:
    """Bring a column to the types that are understood further on: text, whole or floating numbers."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64()) if kind.precision <= _DIGITS else _decimals(column)
    if pa.types.is_uint64(kind):
        return column.cast(pa.string())
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    return as_doubles(column) if pa.types.is_floating(kind) else as_text(column)


def _decimals(column: pa.Array) -> pa.Array:
    """Write exact numbers out, without zeros at the end of a fraction: a float would not hold all their digits."""
    texts = column.cast(pa.string())
    if column.type.scale <= 0:
        return texts
    return pc.replace_substring_regex(pc.replace_substring_regex(texts, r"(\.\d*?)0+$", r"\1"), r"\.$", "")


def _shown(column: pa.Array) -> list[str]:
    if _nested(column.type):
        return ["…" if value is not None else "" for value in column.to_pylist()]
    return [text or "" for text in as_text(_plain(column)).to_pylist()]


__all__ = ["chunks", "sample"]
