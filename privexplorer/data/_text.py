"""Text tables (CSV and its kin): detection from the first part of the file, then a stream of one column.

Everything is read as text; what a text means is settled later and per distinct value.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv

from privexplorer.data import source as files
from privexplorer.data._cells import is_number, parse_date
from privexplorer.data._sample import COLUMN_LIMIT, SAMPLE_ROWS, Ragged, Sample, check_columns
from privexplorer.data.reference import ReadOptions
from privexplorer.data.source import PIECE, Source, megabytes
from privexplorer.errors import DataError

if TYPE_CHECKING:
    from privexplorer.data.layout import Layout

_DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "space": " ", "none": "\x1f"}
_GUESSED = ("comma", "semicolon", "tab", "pipe")
_QUOTES: dict[str, str | Literal[False]] = {"double": '"', "single": "'", "none": False}
_ENCODING_NAMES = {"utf-8": "UTF-8", "utf-16": "UTF-16", "cp1252": "Windows-1252"}
_SAMPLE_BYTES = 1024 * 1024
_SOME_COLUMNS = 50
_BLOCK = 256 * 1024
_LINES_BLOCK = 512 * 1024
_LARGEST_BLOCK = 16 * 1024 * 1024
_END = "\x1eend\x1e"
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1a")) + b"\x7f"
_SEPARATOR_LINE = re.compile(rb"\Asep=[^\r\n]\r?\n")  # Excel's hint; the delimiter is detected anyway
_SINGLE_QUOTED = re.compile(r"(?m)(?:^|[,;\t|])'[^'\r\n]*'(?=[,;\t|\r\n]|$)")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


def sample(source: Source, options: ReadOptions) -> Sample:
    """Detect encoding, quotation mark, delimiter and decimal mark, and read the first rows."""
    facts = _look_through(source, options.encoding)
    encoding = facts.encoding
    text, whole = _first_part(source, encoding)
    if not text.strip():
        raise DataError(f"“{source.name}” holds only blank lines; choose a file with a header and at least one row.")
    quote = options.quote if options.quote != "auto" else _quote(text)
    chosen, parse = _delimiter(source, text, whole, quote, options.delimiter)
    check_columns(source.name, parse.width, exact=whole or parse.count + parse.ragged.count > 1)
    _refuse_unclosed(parse)
    _refuse_ragged(parse, chosen)
    if not whole and parse.count < 2 and options.header != "no":
        raise DataError(
            f"One of the first two rows of “{source.name}” is longer than {megabytes(_SAMPLE_BYTES)}; shorten it, or "
            "look for a quotation mark that is never closed there."
        )
    decimal = options.decimal if options.decimal != "auto" else _decimal(parse.rows, chosen)
    notes = ["The file begins with a byte-order mark, which was left out."] if facts.marked else []
    if encoding == "cp1252":
        notes.append("The letters are not UTF-8; they were read as Windows-1252.")
    detected = ReadOptions.model_validate(
        {"delimiter": chosen, "decimal": decimal, "encoding": encoding, "header": options.header, "quote": quote}
    )
    return Sample(
        rows=parse.rows[:SAMPLE_ROWS],
        detected=detected,
        total=parse.count if whole else max(facts.lines, parse.count),
        exact=whole,
        notes=tuple(notes),
        longest_line=facts.longest,
    )


def chunks(source: Source, layout: Layout, columns: Sequence[int], ragged: Ragged) -> Iterator[list[pa.Array]]:
    """Read some columns as text, piece by piece; no other column is kept.

    Parameters
    ----------
    layout : Layout
        How to read the file.
    columns : sequence of int
        Indices of the columns wanted.
    ragged : Ragged
        Is told of rows with another number of values.

    Yields
    ------
    list of string arrays
        One per column, equally long; nothing is null.
    """
    detected, width = layout.detected, len(layout.columns)
    names = [f"f{index}" for index in columns]
    block = min(max(_BLOCK, 2 * layout.longest_line), _LARGEST_BLOCK)
    delimiter = _DELIMITERS[detected.delimiter]
    feed = _Feed(_utf8(source, detected.encoding), delimiter.join([_END] * width))
    seen, plain = 0, 0
    held: list[pa.Array] | None = None

    def note(row: Any) -> str:
        number = plain + row.number
        ragged.add(number, row.actual_columns)
        return "error" if ragged.hopeless(number) else "skip"

    def batches() -> Iterator[list[pa.Array]]:
        nonlocal plain
        if width == 1:
            for texts in _lines(feed, max(block, _LINES_BLOCK), (_QUOTES[detected.quote], delimiter, "\r")):
                plain += len(texts)
                yield [texts]
        yield from _cells(feed, block, _parse_options(delimiter, detected.quote, width, note), width, names)

    try:
        for batch in batches():
            skip = 1 if detected.header == "yes" and held is None else 0
            if held:
                yield held
            seen += len(batch[0])
            held = [column.slice(skip) for column in batch]
    except pa.ArrowInvalid as error:
        if "straddling" in str(error):
            raise DataError(
                f"A row after row {seen:,} is longer than {megabytes(block)}; a quotation mark is probably never "
                "closed there (close it, or read the file without quotation marks)."
            ) from None
        if ragged.hopeless(seen + ragged.count):
            raise ragged.refusal(width) from None
        raise DataError(
            f"“{source.name}” cannot be read after row {seen:,}; check the delimiter and the quotation marks."
        ) from None
    if not held or len(held[0]) == 0 or held[0][-1].as_py() != _END:
        raise _unclosed(seen)
    if ragged.count > seen:
        raise ragged.refusal(width)
    yield [column.slice(0, len(column) - 1) for column in held]


def _lines(feed: _Feed, block: int, special: Sequence[str | Literal[False]]) -> Iterator[pa.Array]:
    """Read a single column as long as a row is a line and nothing else: three times as fast as the parser."""
    marks = [mark.encode() for mark in special if mark]
    rest = b""
    while data := rest + feed.read(block):
        end = data.rfind(b"\n") + 1
        if end == 0 or any(mark in data for mark in marks):
            feed.unread(data)
            return
        line_ends = np.flatnonzero(np.frombuffer(data, np.uint8, end) == ord("\n"))
        places = np.zeros(line_ends.size + 1, dtype=np.int32)
        np.subtract(line_ends, np.arange(line_ends.size), out=places[1:], casting="unsafe")
        letters = data[:end].translate(None, b"\n")
        yield pa.StringArray.from_buffers(line_ends.size, pa.py_buffer(places), pa.py_buffer(letters))
        rest = data[end:]


def _cells(feed: _Feed, block: int, parsing: Any, width: int, names: list[str]) -> Iterator[list[pa.Array]]:
    """Parse what is left."""
    start = feed.read(1)
    if not start:
        return
    feed.unread(start)
    with pacsv.open_csv(
        pa.PythonFile(feed, mode="r"),
        read_options=pacsv.ReadOptions(
            use_threads=False, block_size=block, column_names=[f"f{index}" for index in range(width)]
        ),
        parse_options=parsing,
        convert_options=pacsv.ConvertOptions(
            include_columns=names, column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        ),
    ) as reader:
        for batch in reader:
            if batch.num_rows:
                yield batch.columns


# ------------------------------------------------------------------ bytes


def _unpacked(source: Source) -> Iterator[bytes]:
    """Raw bytes in pieces; a packed file is unpacked on the way and left when it grows too large."""
    with source.open() as raw:
        if not source.compressed:
            while piece := raw.read(PIECE):
                yield piece
            return
        total = 0
        try:
            with gzip.GzipFile(fileobj=raw) as inner:
                while piece := inner.read(PIECE):
                    total += len(piece)
                    if total > files.UNPACKED_LIMIT:
                        raise DataError(
                            f"“{source.name}” unpacks to more than {megabytes(files.UNPACKED_LIMIT)}; reading stopped "
                            "there, so drop the columns you do not need and pack it again."
                        )
                    yield piece
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise DataError(f"“{source.name}” is damaged or cut off and cannot be unpacked; pack it again.") from None


def _utf16(head: bytes) -> str | None:
    """Codec if the bytes look like UTF-16, by their mark or by where the zero bytes are."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > 20 * even and odd > 0.15 * len(head):
        return "utf-16-le"
    return "utf-16-be" if even > 20 * odd and even > 0.15 * len(head) else None


def _decoder(encoding: str, head: bytes) -> Any:
    codec = (_utf16(head) or "utf-16-le") if encoding == "utf-16" else encoding
    return codecs.getincrementaldecoder(codec)()


@dataclass(frozen=True)
class _Facts:
    """Encoding, whether a UTF-8 mark leads, number of lines, bytes of the longest line (if it is a long one).

    Blank lines at either end of the file do not count as lines.
    """

    encoding: str
    marked: bool
    lines: int
    longest: int


def _look_through(source: Source, wanted: str) -> _Facts:
    """Go through the whole file once, without parsing."""
    pieces = _unpacked(source)
    head = next(pieces, b"")
    marked = head.startswith(b"\xef\xbb\xbf")
    encoding = wanted
    if wanted == "auto":
        encoding = "utf-16" if _utf16(head[:4096]) else "utf-8"
    if wanted == "utf-16" and b"\0" not in head and _utf16(head[:2]) is None:
        raise DataError(
            f"“{source.name}” is not valid UTF-16 (read that way, it has no line end); choose another encoding, or let "
            "it be detected."
        )
    decoder = _decoder(encoding, head[:4096])
    lines, blank, longest, run, other, piece = 0, 0, 0, 0, 0, head
    blanks = b"\r\n\0" if encoding == "utf-16" else b"\r\n"
    valid, started = True, False
    while piece:
        end = b"\n" if b"\n" in piece else b"\r"
        count = int(np.count_nonzero(np.frombuffer(piece, np.uint8) == end[0]))
        body = len(piece.rstrip(blanks))
        if body and not started:
            started, count = True, count - piece[: len(piece) - len(piece.lstrip(blanks))].count(end)
        if started:
            lines += count
            blank = piece.count(end, body) + (0 if body else blank)
        run += piece.find(end) if end in piece else len(piece)
        longest = max(longest, run)
        if end in piece:
            run = len(piece) - piece.rfind(end) - 1
        if encoding != "utf-16" and b"\0" in piece:
            if wanted != "auto" and _utf16(head[:4096]):
                raise DataError(
                    f"“{source.name}” is UTF-16, not {_ENCODING_NAMES[encoding]}; choose that encoding, or let it be "
                    "detected."
                )
            raise DataError(
                f"“{source.name}” contains zero bytes, so it is not a text table; save it again as CSV in UTF-8."
            )
        if encoding == "cp1252" or not valid:
            other += sum(piece.count(byte) for byte in b"\x81\x8d\x8f\x90\x9d")
        elif not piece.isascii() or encoding == "utf-16" or decoder.getstate()[0]:
            try:
                decoded = decoder.decode(piece)
            except UnicodeDecodeError:
                valid = False
                if wanted != "auto" or encoding == "utf-16":
                    break
                return _look_through(source, "cp1252")
            if encoding == "utf-16" and "\0" in decoded:
                raise DataError(f"“{source.name}” contains zero characters; save it again as CSV in UTF-8.")
        piece = next(pieces, b"")
    if valid and encoding != "cp1252":
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            if wanted == "auto" and encoding == "utf-8":
                return _look_through(source, "cp1252")
            valid = False
    if not valid or other:
        name = _ENCODING_NAMES[encoding]
        raise DataError(
            f"“{source.name}” is neither UTF-8 nor UTF-16 nor Windows-1252 text; save it again as CSV in UTF-8."
            if other
            else f"“{source.name}” is not valid {name}; choose another encoding or save it again in UTF-8."
        )
    start = head if encoding != "utf-16" else _decoder(encoding, head[:4096]).decode(head).encode()
    if len(start) - len(start.translate(None, _CONTROLS)) > 0.01 * len(start):
        raise DataError(f"“{source.name}” is not a text table (it contains control characters); save it as CSV.")
    return _Facts(encoding, marked and encoding == "utf-8", lines - blank + int(started), longest)


def _utf8(source: Source, encoding: str) -> Iterator[bytes]:
    """Pieces in UTF-8 without a mark."""
    pieces = _unpacked(source)
    head = next(pieces, b"")
    if encoding == "utf-8":
        yield _SEPARATOR_LINE.sub(b"", head.removeprefix(b"\xef\xbb\xbf"))
        yield from pieces
        return
    decoder = _decoder(encoding, head[:4096])
    yield _SEPARATOR_LINE.sub(b"", cast(str, decoder.decode(head)).removeprefix("\ufeff").encode())
    for piece in pieces:
        yield decoder.decode(piece).encode()


def _without_blank_ends(pieces: Iterator[bytes], last: bytes) -> Iterator[bytes]:
    """Leave out line ends at the start and, however many they are, at the end; then give the last bytes.

    Line ends are held back until something follows them; very many are known by their number only.
    """
    held, lines, started = b"", 0, False
    for piece in pieces:
        text = piece if started else piece.lstrip(b"\r\n")
        started = started or bool(text)
        body = text.rstrip(b"\r\n")
        if body:
            for start in range(0, lines, PIECE):
                yield b"\n" * min(PIECE, lines - start)
            yield held + body
            held, lines = b"", 0
        held += text[len(body) :]
        if len(held) > PIECE:
            whole = held.removesuffix(b"\r")  # its second half may follow
            lines += whole.count(b"\n") + whole.count(b"\r") - whole.count(b"\r\n")
            held = held[len(whole) :]
    yield last


class _Feed:
    """What the parser reads from: no blank lines at either end, and a last row that shows the end was reached."""

    closed = False

    def __init__(self, pieces: Iterator[bytes], last_row: str) -> None:
        self._pieces = _without_blank_ends(pieces, b"\n" + last_row.encode() + b"\n")
        self._buffer = bytearray()

    def read(self, size: int) -> bytes:
        """Give the next bytes."""
        while len(self._buffer) < size and (piece := next(self._pieces, None)) is not None:
            self._buffer += piece
        with memoryview(self._buffer) as view:
            out = bytes(view[:size])
        del self._buffer[:size]
        return out

    def unread(self, data: bytes) -> None:
        """Take bytes back."""
        self._buffer[:0] = data

    def readable(self) -> bool:
        """Say yes."""
        return True

    def writable(self) -> bool:
        """Say no."""
        return False

    def seekable(self) -> bool:
        """Say no."""
        return False

    def close(self) -> None:
        """Nothing to close: the pieces end by themselves."""


def _first_part(source: Source, encoding: str) -> tuple[str, bool]:
    """Text of the first part of the file, cut at a line end, and whether that is all of it."""
    parts, size, whole = [], 0, True
    for piece in _utf8(source, encoding):
        parts.append(piece if size else piece.lstrip(b"\r\n"))
        size += len(parts[-1])
        if size > _SAMPLE_BYTES:
            whole = False
            break
    data = b"".join(parts)
    if not whole:
        cut = max(data.rfind(b"\n"), data.rfind(b"\r"))
        data = data[: cut + 1] if cut > 0 else data
    return data.decode(errors="ignore").strip("\r\n"), whole


# ------------------------------------------------------------------ shape


@dataclass(frozen=True)
class _Parse:
    """First rows under one choice of delimiter and quotation mark.

    Of a row that is wider than any table may be, only the first few values are in ``rows``. ``indented`` counts the
    rows that do not fit only because of tabs before or after their one value.
    """

    rows: list[list[str]]
    width: int
    count: int
    ragged: Ragged
    widths: Counter[int]
    indented: int
    closed: bool

    @property
    def fitting(self) -> float:
        """Share of the rows below the first that have as many values as the first."""
        rows = max(self.count - 1, 0)
        return rows / (rows + self.ragged.count) if rows + self.ragged.count else 1.0

    @property
    def usual_width(self) -> int:
        """Number of values that most rows below the first have; 0 if there is no usual one."""
        widths = Counter(self.widths)
        widths[self.width] += max(self.count - 1, 0)
        width, times = widths.most_common(1)[0]
        return width if times > 0 and times >= 0.9 * sum(widths.values()) else 0


def _parse_options(delimiter: str, quote: str, width: int, note: Any) -> Any:
    mark = _QUOTES[quote]
    return pacsv.ParseOptions(
        delimiter=delimiter,
        quote_char=mark,
        double_quote=bool(mark),
        newlines_in_values=bool(mark),
        ignore_empty_lines=width > 1,
        invalid_row_handler=note,
    )


def _parse(text: str, whole: bool, delimiter: str, quote: str) -> _Parse | None:
    data = f"{text}\n{_END}\n".encode()
    mark, ragged, widths, ends, indented = _DELIMITERS[delimiter], Ragged(), Counter[int](), False, 0

    def note(row: Any) -> str:
        nonlocal ends, indented
        words = row.text.rstrip("\r\n")
        if words == _END:
            ends = True
        else:
            ragged.add(row.number, row.actual_columns)
            widths[row.actual_columns] += 1
            indented += mark == "\t" and mark not in words.strip(mark)
        return "skip"

    width = _first_width(data, mark, quote)
    if width is None:
        return None
    names = [f"f{index}" for index in range(width if width <= COLUMN_LIMIT else _SOME_COLUMNS)]
    try:
        table = pacsv.read_csv(
            pa.BufferReader(data),
            read_options=pacsv.ReadOptions(use_threads=False, block_size=len(data) + 1, autogenerate_column_names=True),
            parse_options=_parse_options(mark, quote, width, note),
            convert_options=pacsv.ConvertOptions(
                include_columns=names, column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    count = table.num_rows
    if width == 1 and count and table.column(0)[count - 1].as_py() == _END:
        ends = True
        count -= 1
    closed = ends or not whole
    if not ends and not whole:
        count -= 1  # the last row is cut within a quoted value
    shown = table.slice(0, min(count, SAMPLE_ROWS + 1))
    rows = [list(row) for row in zip(*(column.to_pylist() for column in shown.columns), strict=True)]
    return _Parse(rows, width, count, ragged, widths, indented, closed)


def _first_width(data: bytes, mark: str, quote: str) -> int | None:
    """Count the values of the first row, without parsing more than that; None if it cannot be told."""
    found = None

    def stop(row: Any) -> str:
        nonlocal found
        found = row.actual_columns if row.number == 1 else 1
        return "error"

    try:
        pacsv.read_csv(
            pa.BufferReader(data),
            read_options=pacsv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=["f0"]),
            parse_options=_parse_options(mark, quote, 2, stop),
            convert_options=pacsv.ConvertOptions(column_types={"f0": pa.string()}, strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        return found
    return 1


def _quote(text: str) -> str:
    if '"' in text:
        return "double"
    return "single" if len(_SINGLE_QUOTED.findall(text)) > 0.5 * (text.count("\n") + 1) else "double"


def _delimiter(source: Source, text: str, whole: bool, quote: str, wanted: str) -> tuple[str, _Parse]:
    if wanted != "auto":
        parse = _parse(text, whole, wanted, quote)
        if parse is None:
            raise DataError(
                f"“{source.name}” cannot be read with this delimiter and quotation mark; let them be detected."
            )
        return wanted, parse
    parses = {name: parse for name in _GUESSED if (parse := _parse(text, whole, name, quote)) is not None}
    best, best_score = "none", 0.0
    for name, parse in parses.items():
        if parse.width > 1 and parse.fitting >= 0.5:
            score = parse.fitting + 0.5 * _typed(parse.rows[1:200] or parse.rows, name)
            if name == "tab" and source.name.lower().endswith((".tsv", ".tab", ".tsv.gz", ".tab.gz")):
                score += 0.5
            if score > best_score + 1e-9:
                best, best_score = name, score
    if best != "none":
        return best, parses[best]
    # no delimiter fits the first row: another number of values in nearly all rows below is a fault to
    # report; otherwise a row is one value, such as a sentence with a comma in it
    for name, parse in parses.items():
        if name == "tab" and parse.width == 1 and parse.indented == sum(parse.widths.values()):
            continue  # a single column whose values are moved to the right
        usual = parse.usual_width
        if usual > 1 and usual != parse.width and (parse.width > 1 or usual > 2 or name != "comma"):
            return name, parse
    single = _parse(text, whole, "none", quote)
    if single is None:
        raise DataError(f"“{source.name}” cannot be read as a table; check that it is a CSV file.")
    return "none", single


def _typed(rows: Sequence[Sequence[str]], delimiter: str) -> float:
    """Share of the cells that are plainly a number or a date."""
    marks = ("point",) if delimiter == "comma" else ("point", "comma")
    cells = [cell.strip() for row in rows for cell in row]
    plain = sum(any(is_number(cell, mark) for mark in marks) or parse_date(cell) is not None for cell in cells)
    return plain / max(len(cells), 1)


def _decimal(rows: Sequence[Sequence[str]], delimiter: str) -> str:
    cells = [cell.strip() for row in rows for cell in row]
    dotted = sum("." in cell and is_number(cell, "point") for cell in cells)
    commas = [cell for cell in cells if "," in cell and is_number(cell, "comma")]
    grouped = [cell for cell in cells if _THOUSANDS.fullmatch(cell)]
    if any(cell.count(",") > 1 for cell in grouped):
        return "point"
    if delimiter != "semicolon" and all(_THOUSANDS.fullmatch(cell) for cell in commas):
        return "point"  # 1,234 is more likely a thousand than one and a bit
    return "comma" if len(commas) > dotted else "point"


def _refuse_ragged(parse: _Parse, delimiter: str) -> None:
    if parse.ragged.count and parse.fitting < 0.5:
        raise parse.ragged.refusal(parse.width)


def _unclosed(row: int) -> DataError:
    return DataError(
        f"Row {max(row, 1):,} opens a quotation mark that is never closed; close it, or read the file without "
        "quotation marks."
    )


def _refuse_unclosed(parse: _Parse) -> None:
    if not parse.closed:
        raise _unclosed(parse.count + parse.ragged.count)


__all__ = ["chunks", "sample"]
