"""Excel workbooks: one sheet, row by row; cells become the texts that a text table would hold."""

from __future__ import annotations

import datetime as dt
import itertools
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, Literal

import pyarrow as pa
from openpyxl.reader.excel import ExcelReader

from privexplorer.data._sample import SAMPLE_CELLS, SAMPLE_ROWS, Ragged, Sample, check_columns
from privexplorer.data.reference import ReadOptions
from privexplorer.data.source import Source, megabytes
from privexplorer.errors import DataError

if TYPE_CHECKING:
    from privexplorer.data.layout import Layout

UNPACKED_LIMIT = 400 * 1024 * 1024
"""Largest size of the parts of a workbook once unpacked, bytes."""

STRETCH_LIMIT = 256 * 1024
"""Largest distance between two tags of a part, and largest comment, bytes; an Excel cell never needs more."""
ODD_LIMIT = 1_000_000
"""Largest number of comments and the like in one part."""

_PIECE = 20_000
_WINDOW = 64 * 1024
_ODD = re.compile(rb"<(?:!--|\?|!\[CDATA\[|!)")
_ENDS = {b"<!--": b"-->", b"<?": b"?>", b"<![CDATA[": b"]]>"}
_LONGEST_ODD = 9  # bytes of "<![CDATA["


def sample(source: Source, options: ReadOptions) -> Sample:
    """Read the first rows of the chosen sheet."""
    with _opened(source) as book:
        sheets = tuple(sheet.title for sheet in book.worksheets)
        sheet = _sheet(book, options.sheet)
        stated = int(sheet.max_row or 0)
        rows, cells = [], 0
        for row in itertools.islice(_table(sheet, source.name), SAMPLE_ROWS + 1):
            rows.append(row)
            cells += len(row)
            if cells > SAMPLE_CELLS and len(rows) > 20:
                break
        if not rows:
            others = " choose another sheet." if len(sheets) > 1 else " add a header and at least one row."
            raise DataError(f"The sheet “{options.sheet or sheets[0]}” of “{source.name}” is empty;{others}")
        width = max((place + 1 for row in rows for place, cell in enumerate(row) if cell), default=1)
        rows = rows if width == 1 else [row for row in rows if any(row)]
        total = len(rows)
        exact = total <= SAMPLE_ROWS and cells <= SAMPLE_CELLS
        if not exact:
            total = max(stated, total)
    return Sample(
        rows=[_fit(row, width) for row in rows[:SAMPLE_ROWS]],
        detected=ReadOptions(
            delimiter="none", decimal="point", encoding="utf-8", header=options.header, quote="none",
            sheet=options.sheet or sheets[0],
        ),
        total=total,
        exact=exact,
        sheets=sheets,
    )  # fmt: skip


def chunks(source: Source, layout: Layout, columns: Sequence[int], ragged: Ragged) -> Iterator[list[pa.Array]]:
    """Read some columns; rows that are wider than the sheet's first ones are told to ``ragged``."""
    width = len(layout.columns)
    with _opened(source) as book:
        rows = _table(_sheet(book, layout.detected.sheet), source.name)
        if layout.detected.header == "yes":
            next(rows, None)
        number = int(layout.detected.header == "yes")
        held: list[list[str]] = [[] for _ in columns]
        for row in rows:
            if width > 1 and not any(row):
                continue
            number += 1
            if any(row[width:]):
                ragged.add(number, max(place + 1 for place, cell in enumerate(row) if cell))
                if ragged.hopeless(number):
                    raise ragged.refusal(width, "check")
                continue
            for cells, index in zip(held, columns, strict=True):
                cells.append(row[index] if index < len(row) else "")
            if len(held[0]) >= _PIECE:
                yield [pa.array(cells, pa.string()) for cells in held]
                held = [[] for _ in columns]
        yield [pa.array(cells, pa.string()) for cells in held]


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    damaged = DataError(
        f"“{source.name}” is damaged or no complete Excel workbook; save it again and drop the new file."
    )
    with source.open() as raw, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions that do not concern the cells
        try:
            with zipfile.ZipFile(raw) as archive:
                size = sum(member.file_size for member in archive.infolist())
            if size > UNPACKED_LIMIT:
                raise DataError(
                    f"“{source.name}” unpacks to {megabytes(size)}, more than the {megabytes(UNPACKED_LIMIT)} allowed; "
                    "save the sheet you need as CSV."
                )
            raw.seek(0)
            reader = ExcelReader(raw, read_only=True, data_only=True, keep_links=False)
            reader.archive = _Archive(raw, source.name)
            reader.read()
            book = reader.wb
            try:
                yield book
            finally:
                book.close()
        except DataError:
            raise
        except Exception as error:  # a damaged file can make the reader fail in any way
            raise error.__cause__ if isinstance(error.__cause__, DataError) else damaged from None


class _Archive(zipfile.ZipFile):
    """A workbook's parts; each is looked through before it is first parsed.

    An XML parser that is fed in pieces goes back to the start of an unfinished token with every piece, so one tag of
    some megabytes (a few kilobytes when packed) would keep it busy for minutes.
    """

    def __init__(self, raw: IO[bytes], called: str) -> None:
        super().__init__(raw)
        self._called = called
        self._seen: set[str] = set()

    def open(
        self,
        name: str | zipfile.ZipInfo,
        mode: Literal["r", "w"] = "r",
        pwd: bytes | None = None,
        *,
        force_zip64: bool = False,
    ) -> IO[bytes]:
        """Open one part, or refuse it in one sentence."""
        part = name if isinstance(name, str) else name.filename
        if part not in self._seen:
            with super().open(name) as stream:
                why = _oddity(stream)
            if why:
                raise DataError(
                    f"“{self._called}” holds {why}, which no spreadsheet program writes; save its sheet as CSV."
                )
            self._seen.add(part)
        return super().open(name, mode, pwd, force_zip64=force_zip64)


def _oddity(stream: IO[bytes]) -> str:
    """Say what would keep an XML parser busy in one part; empty if nothing would.

    Outside comments and the like, ``<`` stands only where a tag begins, so its distances bound every token (``>`` may
    stand within the values of a tag and bounds nothing).
    """
    too_long = f"a tag or a cell of more than {megabytes(STRETCH_LIMIT)}"
    run, tail, end, inside, odd = 0, b"", b"", 0, 0
    first = True
    while piece := stream.read(_WINDOW):
        if first and (piece[:2] in (b"\xff\xfe", b"\xfe\xff") or 0 in piece[:4]):
            return "a part that is not in UTF-8"
        first = False
        begins = piece.find(b"<")
        run += len(piece) if begins < 0 else begins
        if run > STRETCH_LIMIT:
            return too_long
        if begins >= 0:
            run = len(piece) - piece.rfind(b"<")
        if not end and not tail and b"<!" not in piece and b"<?" not in piece:
            tail = b"<" if piece.endswith(b"<") else b""
            continue
        data, place = tail + piece, 0
        while True:
            if end:
                close = data.find(end, place)
                inside += (len(data) if close < 0 else close) - place
                if inside > STRETCH_LIMIT:
                    return too_long
                if close < 0:
                    tail = data[max(place, len(data) - len(end) + 1) :]
                    inside -= len(tail)
                    break
                place, end, inside = close + len(end), b"", 0
            found = _ODD.search(data, place)
            if found is None:
                tail = b"<" if data.endswith(b"<", place) else b""
                break
            if found.start() > len(data) - _LONGEST_ODD:  # it may be cut
                tail = data[found.start() :]
                break
            if found[0] not in _ENDS:
                return "a document type of its own"
            odd += 1
            if odd > ODD_LIMIT:
                return f"more than {ODD_LIMIT:,} comments"
            place, end = found.end(), _ENDS[found[0]]
    return ""


def _sheet(book: Any, wanted: str) -> Any:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    if not sheets:
        raise DataError("The workbook has no sheet with cells; save it again with a table in it.")
    if not wanted:
        return book.worksheets[0]
    if wanted not in sheets:
        listed = ", ".join(f"“{title}”" for title in list(sheets)[:8])
        raise DataError(f"The workbook has no sheet “{wanted}”; it has {listed}.", field="sheet")
    return sheets[wanted]


def _table(sheet: Any, called: str) -> Iterator[list[str]]:
    """Rows as texts, without the blank rows around the table and the blank columns before it."""
    sheet.reset_dimensions()  # the size that a file states may be wrong
    rows = (_texts(cells) for cells in sheet.iter_rows(values_only=True))
    head: list[list[str]] = []
    cells = 0
    for row in itertools.islice(rows, SAMPLE_ROWS):
        check_columns(called, len(row))
        head.append(row)
        cells += len(row)
        if cells > SAMPLE_CELLS:
            break
    first = min((place for row in head for place, cell in enumerate(row) if cell), default=0)
    blank, begun = 0, False
    for row in itertools.chain(head, rows):
        if not any(row):
            blank += begun
            continue
        yield from ([] for _ in range(blank))
        blank, begun = 0, True
        yield row[first:]


def _fit(row: Sequence[str], width: int) -> list[str]:
    return [*row[:width], *[""] * (width - len(row))]


def _texts(cells: Sequence[Any]) -> list[str]:
    """Cells of one row up to its last value; a row of few values may end in thousands of blank cells."""
    end = len(cells)
    while end and (cells[end - 1] is None or cells[end - 1] == ""):
        end -= 1
    return [_text(cell) for cell in cells[:end]]


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, dt.datetime):
        return str(cell.date()) if cell.time() == dt.time() else cell.isoformat(" ", "seconds")
    return str(cell)


__all__ = ["ODD_LIMIT", "STRETCH_LIMIT", "UNPACKED_LIMIT", "chunks", "sample"]
