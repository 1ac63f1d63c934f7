"""A file as it came: its bytes once (or its path), what it is called, what it is, and its digest.

Nothing is parsed here beyond the first bytes, which must agree with the file's extension.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from privexplorer.data.reference import TableChoice, TableColumn
from privexplorer.errors import DataError

Format = Literal["csv", "parquet", "excel", "stata"]
Tables = Mapping[str, "Source"]

UPLOAD_LIMIT = 200 * 1024 * 1024
"""Largest upload in bytes."""
UNPACKED_LIMIT = 1024 * 1024 * 1024
"""Reading a compressed file stops after this many unpacked bytes."""
PIECE = 256 * 1024

_EXTENSIONS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".xlsm": "excel",
    ".xls": "excel",
    ".dta": "stata",
}
_FORMAT_NAMES: dict[Format, str] = {
    "csv": "a text table",
    "parquet": "a Parquet file",
    "excel": "an Excel workbook",
    "stata": "a Stata file",
}
_FORMAT_ENDINGS: dict[Format, str] = {"csv": ".csv", "parquet": ".parquet", "excel": ".xlsx", "stata": ".dta"}
_READABLE = "CSV, TSV, TXT (also as .gz), Parquet, Excel (.xlsx) and Stata (.dta) can be read"
_FOREIGN: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"BM", "a bitmap picture"),
    (b"RIFF", "a media file"),
    (b"%PDF", "a PDF document"),
    (b"{\\rtf", "a rich-text document"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"SQLite format 3", "an SQLite database"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow file"),
    (b"FEA1", "a Feather file"),
    (b"Obj\x01", "an Avro file"),
    (b"$FL2", "an SPSS file"),
    (b"$FL3", "an SPSS file"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\x80\x05\x95", "a Python pickle"),
)


@dataclass(frozen=True)
class Source:
    """One file: from an upload (its bytes, kept once), from a path (never loaded whole) or bundled.

    Attributes
    ----------
    name : str
        File name as people know it.
    digest : str
        First 16 hex digits of the SHA-256 of the bytes.
    size : int
        Bytes.
    format : {"csv", "parquet", "excel", "stata"}
        From the first bytes and the extension, which must agree; "csv" is every text table.
    compressed : bool
        Whether the text is packed with gzip.
    id : str
        Name of a bundled table; empty for all others.
    """

    name: str
    digest: str
    size: int
    format: Format
    compressed: bool = False
    id: str = ""
    _data: bytes | None = field(default=None, repr=False, compare=False)
    _path: Path | None = field(default=None, repr=False, compare=False)
    _changed: int = field(default=0, repr=False, compare=False)

    @classmethod
    def from_bytes(cls, name: str, data: bytes, *, limit: int | None = UPLOAD_LIMIT, id: str = "") -> Source:
        """Take an upload; the object keeps a reference to ``data`` and makes no copy.

        Parameters
        ----------
        name : str
            File name; a folder before it is cut off.
        data : bytes
            The file.
        limit : int or None
            Largest size in bytes.

        Raises
        ------
        DataError
            The file is empty, over the limit, or not a table that can be read.
        """
        name = _plain(name)
        _check_size(name, len(data), limit)
        kind, packed = _detect(name, io.BytesIO(data))
        digest = hashlib.sha256(data).hexdigest()[:16]
        return cls(name, digest, len(data), kind, packed, id, _data=data)

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], *, limit: int | None = None) -> Source:
        """Take a file on this machine; it is read in pieces whenever it is needed.

        Raises
        ------
        DataError
            There is no such file, it cannot be opened, or as for :meth:`from_bytes`.
        """
        where = Path(os.path.expanduser(path))
        name, said = _plain(str(where)), _brief(str(where))
        try:
            if where.is_dir():
                raise DataError(f"“{said}” is a folder; name one file in it.")
            status = where.stat()
            _check_size(name, status.st_size, limit)
            with where.open("rb") as stream:
                kind, packed = _detect(name, stream)
                stream.seek(0)
                digest = hashlib.file_digest(stream, "sha256").hexdigest()[:16]
        except FileNotFoundError:
            raise DataError(f"There is no file “{said}”; check the path.") from None
        except OSError as error:
            raise DataError(
                f"“{said}” cannot be opened ({error.strerror or 'unknown reason'}); check the path."
            ) from None
        return cls(name, digest, status.st_size, kind, packed, _path=where.absolute(), _changed=status.st_mtime_ns)

    @classmethod
    def bundled(cls, id: str) -> Source:
        """Take a table that comes with the program, by its id."""
        from privexplorer.data._bundled import load

        return load(id)

    @property
    def key(self) -> str:
        """What a :class:`TableColumn` calls this table: the bundled id, else the digest."""
        return self.id or self.digest

    def open(self) -> BinaryIO:
        """Open the raw bytes from the start (no copy is made of an upload)."""
        if self._data is not None:
            return io.BytesIO(self._data)
        if self._path is None:
            raise DataError(f"“{self.name}” has no content here; drop the file again.")
        try:
            status = self._path.stat()
            if (status.st_size, status.st_mtime_ns) != (self.size, self._changed):
                raise DataError(f"“{self.name}” was changed after it was opened; open it again.")
            return self._path.open("rb")
        except OSError:
            raise DataError(f"“{self.name}” can no longer be opened; check that it is still there.") from None


def resolve(ref: TableColumn | TableChoice, tables: Tables | None) -> Source:
    """Find the table that a scenario names.

    Parameters
    ----------
    ref : TableColumn or TableChoice
        Only ``ref.data`` is looked at.
    tables : mapping of str to Source, or None
        The tables at hand, by digest. Bundled tables need not be among them.

    Raises
    ------
    DataError
        No table is named, or it is not at hand.
    """
    from privexplorer.data._bundled import bundled

    if not ref.data:
        raise DataError("No table is chosen yet; drop a file here or take a bundled table.", field="data")
    if tables is not None and ref.data in tables:
        return tables[ref.data]
    if any(ref.data == table.id for table in bundled()):
        return Source.bundled(ref.data)
    raise DataError(
        "This link was made with a table that is not in the link; drop the same file here.",
        field="data",
        hint=f"Its fingerprint is {ref.data}.",
    )


def megabytes(size: int) -> str:
    """Write a size in words, for messages.

    Examples
    --------
    >>> megabytes(200 * 1024 * 1024)
    '200 MB'
    >>> megabytes(2048)
    '2 KB'
    """
    if size < 1024 * 1024:
        return f"{size / 1024:.0f} KB" if size >= 1024 else f"{size} bytes"
    return f"{size / 1024 / 1024:.0f} MB"


def _plain(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] or "table"


def _brief(path: str) -> str:
    """Shorten a path to its end for a message."""
    return path if len(path) <= 60 else f"…{path[-59:]}"


def _check_size(name: str, size: int, limit: int | None) -> None:
    if size == 0:
        raise DataError(f"“{name}” is empty; choose a file with a header and at least one row.")
    if limit is not None and size > limit:
        raise DataError(
            f"“{name}” has {size / 1024 / 1024:,.0f} MB, more than the {megabytes(limit)} allowed here; "
            "drop the columns you do not need, or open it by its path from the command line."
        )


def _detect(name: str, stream: BinaryIO) -> tuple[Format, bool]:
    """Format and whether it is packed, from the first bytes; the extension must not contradict."""
    head = stream.read(4096)
    lower = name.lower()
    packed_name = lower.endswith(".gz")
    inner = lower[:-3] if packed_name else lower
    expected = next((kind for ending, kind in _EXTENSIONS.items() if inner.endswith(ending)), None)
    if head.startswith(b"\x1f\x8b"):
        if packed_name and expected in (None, "csv"):
            return "csv", True
        if packed_name:
            raise DataError(f"“{name}” is packed; unpack it and drop the file inside.")
        raise DataError(
            f"“{name}” is a gzip archive; if a text table is in it, call it “{name}.gz”, else unpack it first."
        )
    found = _content(name, head, stream)
    if packed_name:
        raise DataError(f"“{name}” is not a gzip archive although its name ends in .gz; rename it without .gz.")
    if expected is not None and found != expected:
        raise DataError(
            f"“{name}” is {_FORMAT_NAMES[found]}, not {_FORMAT_NAMES[expected]} as its name says; "
            f"let its name end in {_FORMAT_ENDINGS[found]}."
        )
    return found, False


def _content(name: str, head: bytes, stream: BinaryIO) -> Format:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"PK\x03\x04"):
        return _zip_content(name, stream)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        stream.seek(0)
        if "EncryptedPackage".encode("utf-16-le") in stream.read(64 * 1024 * 1024):
            raise DataError(f"“{name}” is protected by a password; save it as .xlsx without one.")
        raise DataError(
            f"“{name}” is an old Office file (.xls); open it in a spreadsheet program and save it as .xlsx."
        )
    if head.startswith(b"<stata_dta>") or (
        name.lower().endswith(".dta") and head[0] in range(102, 116) and head[1:2] in (b"\x01", b"\x02")
    ):
        return "stata"
    for magic, what in _FOREIGN:
        # two-letter marks also begin honest words, so they count only before a byte that no text has
        if head.startswith(magic) and (len(magic) > 3 or any(byte < 9 for byte in head[:64])):
            raise DataError(f"“{name}” is {what}, not a table; {_READABLE}.")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:200].lower()
    if start.startswith((b"<!doctype html", b"<html")):
        raise DataError(f"“{name}” is a web page, not a table; download the file that the page offers.")
    if start.startswith((b"<?xml", b"<svg")):
        raise DataError(f"“{name}” is an XML document, not a table; {_READABLE}.")
    if start.startswith((b'{"', b"[{", b"[[")) or (start.startswith(b"{") and name.lower().endswith(".json")):
        raise DataError(f"“{name}” is a JSON file, not a table; save it as CSV.")
    return "csv"


def _zip_content(name: str, stream: BinaryIO) -> Format:
    try:
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            members = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, UnicodeDecodeError):
        raise DataError(f"“{name}” is damaged or cut off; save it again and drop the new file.") from None
    if "xl/workbook.xml" in members:
        return "excel"
    if any(member.startswith("xl/") for member in members) or "mimetype" in members:
        raise DataError(f"“{name}” is a spreadsheet of another kind; save it as .xlsx.")
    if any(member.startswith(("word/", "ppt/")) for member in members):
        raise DataError(f"“{name}” is a text document or slides, not a table; {_READABLE}.")
    raise DataError(f"“{name}” is a ZIP archive; unpack it and drop the table inside.")


__all__ = ["PIECE", "UNPACKED_LIMIT", "UPLOAD_LIMIT", "Format", "Source", "Tables", "megabytes", "resolve"]
