"""Stata files, in pieces; values with labels become the labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.io.stata import StataReader

from privexplorer.data._sample import Ragged, Sample, check_columns, sample_rows
from privexplorer.data._values import as_doubles, as_text, number_label
from privexplorer.data.reference import ReadOptions
from privexplorer.data.source import Source
from privexplorer.errors import DataError

if TYPE_CHECKING:
    from privexplorer.data.layout import Layout

_PIECE = 50_000
_DETECTED = ReadOptions(delimiter="none", decimal="point", encoding="utf-8", header="yes", quote="none")


def sample(source: Source, options: ReadOptions) -> Sample:
    """Read the variables and the first rows."""
    del options
    rows: list[list[str]] = []
    with _opened(source) as file:
        names = tuple(file.variable_labels())
        check_columns(source.name, len(names))
        total = int(getattr(file, "_nobs", 0))  # there is no public name for it
        frame = next(_frames(file, sample_rows(len(names)), None), None)
        if frame is not None:
            shown = [as_text(_array(frame[name])).to_pylist() for name in names]
            rows = [[text or "" for text in row] for row in zip(*shown, strict=True)]
    return Sample(rows=rows, detected=_DETECTED, total=max(total, len(rows)), exact=total >= len(rows), names=names)


def chunks(source: Source, layout: Layout, columns: Sequence[int], ragged: Ragged) -> Iterator[list[pa.Array]]:
    """Read some columns in pieces."""
    del ragged  # a Stata row always has every variable
    with _opened(source) as file:
        names = list(file.variable_labels())
        wanted = [names[index] for index in columns]
        for frame in _frames(file, _PIECE, list(dict.fromkeys(wanted))):
            yield [_array(frame[name]) for name in wanted]


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    with source.open() as raw, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # values without a label stay numbers
        try:
            with StataReader(raw, convert_categoricals=_clear_labels(raw)) as file:
                yield file
        except DataError:
            raise
        except Exception:  # a damaged file can make the reader fail in any way
            raise DataError(
                f"“{source.name}” is damaged or of an unknown Stata version; save it again or export it as CSV."
            ) from None


def _frames(file: Any, size: int, columns: list[str] | None) -> Iterator[Any]:
    """Pieces of the table with some of the columns, or all."""
    while True:
        try:
            yield file.read(nrows=size, columns=columns)
        except StopIteration:
            return


def _clear_labels(raw: BinaryIO) -> bool:
    """Whether value labels can stand for the values: no two values have one label."""
    with StataReader(raw) as probe:
        clear = all(len(set(labels.values())) == len(labels) for labels in probe.value_labels().values())
    raw.seek(0)
    return clear


def _array(column: Any) -> pa.Array:
    kind = column.dtype.kind
    if isinstance(column.dtype, pd.CategoricalDtype):
        names = [label if isinstance(label, str) else number_label(float(label)) for label in column.cat.categories]
        return pa.array(np.array([*names, None], dtype=object)[np.asarray(column.cat.codes)], pa.string())
    if kind in "iu":
        return pa.array(np.asarray(column, dtype=np.int64))
    if kind == "f":
        return as_doubles(pa.array(np.asarray(column), from_pandas=True))
    if kind == "M":
        texts = np.datetime_as_string(np.asarray(column), unit="s").tolist()
        return pa.array([None if text == "NaT" else text.removesuffix("T00:00:00") for text in texts], pa.string())
    return pa.array([None if pd.isna(value) else str(value) for value in column.tolist()], pa.string())


__all__ = ["chunks", "sample"]
