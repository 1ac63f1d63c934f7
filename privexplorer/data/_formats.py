"""Which module reads which format; each is imported when it is needed."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from privexplorer.data._sample import Ragged, Sample
from privexplorer.data.reference import ReadOptions
from privexplorer.data.source import Format, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from privexplorer.data.layout import Layout


class Reader(Protocol):
    """What a format must offer."""

    def sample(self, source: Source, options: ReadOptions) -> Sample:
        """Read the first rows as texts."""

    def chunks(
        self, source: Source, layout: Layout, columns: Sequence[int], ragged: Ragged
    ) -> Iterator[list[pa.Array]]:
        """Read the chosen columns piece by piece: strings, numbers, truth values or dates; nulls allowed."""


_MODULES: dict[Format, str] = {"csv": "_text", "parquet": "_parquet", "excel": "_excel", "stata": "_stata"}


def reader(kind: Format) -> Reader:
    """Give the reader of a format."""
    return cast(Reader, importlib.import_module(f"privexplorer.data.{_MODULES[kind]}"))


__all__ = ["Reader", "reader"]
