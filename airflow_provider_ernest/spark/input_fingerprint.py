"""The shape of an input: how many partitions, bytes and columns, in which format. Nothing of its content."""

from __future__ import annotations

import bz2
import zlib
from collections import Counter
from importlib import import_module
from pathlib import PurePosixPath
from statistics import median_low
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.model.documents import InputFingerprint
from airflow_provider_ernest.spark.file_systems import filesystem_of
from airflow_provider_ernest.spark.input_files import list_input
from airflow_provider_ernest.spark.record_columns import columns_of_avro, columns_of_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from airflow_provider_ernest.spark.input_files import InputFile, InputListing

FILES = 3
"""Files whose beginnings are looked at: the first may be an odd one."""
BEGINNING_BYTES = 1 << 20
"""Read of each at most, and decompressed at most: enough for the block that bzip2 needs to begin with."""

_COLUMNAR = ("parquet", "orc")
_COMPRESSED = ("gz", "bz2", "deflate", "zst", "snappy", "lz4", "zip", "xz", "lzo")
_READABLE_COMPRESSION = ("gz", "bz2", "deflate")


def input_fingerprint(input_path: str, *, partitions: int | None, header: bool, log: Any) -> InputFingerprint:
    """Tell the shape of an input by its listing and the beginnings of its first files.

    Never raises: what cannot be listed or read stays None, and one line in the log says why.

    Args:
        input_path: a file or folder, local or of any fsspec scheme; empty for none.
        partitions: that Spark reads of it; None for its number of files.
        header: each file begins with a line that names the columns.
        log: the logger that is told what cannot be found out.
    """
    if not input_path:
        return InputFingerprint(partitions=partitions)
    try:
        listing = list_input(input_path)
        total_bytes = listing.total_bytes
    # The libraries behind fsspec raise errors of their own. None is worth a run.
    except Exception as error:
        log.info("The shape of the input cannot be told: %s", _problem(error))
        return InputFingerprint(partitions=partitions)
    file_format = _most_common_format(listing)
    try:
        columns = _columns(input_path, listing, file_format=file_format, header=header)
        problem = f"nothing tells them in {file_format or 'such'} files" if columns is None else ""
    except Exception as error:
        columns, problem = None, _problem(error)
    if problem:
        log.info("The columns of the input are not known: %s", problem)
    return InputFingerprint(
        partitions=partitions or len(listing.files),
        total_bytes=total_bytes,
        columns=columns,
        format=file_format,
    )


def _most_common_format(listing: InputListing) -> str | None:
    """The suffix that most bytes have; of equals the first in the alphabet."""
    sizes: Counter[str] = Counter()
    for file in listing.files:
        sizes[_format(file.path)] += file.size_bytes
    return min(sizes, key=lambda name: (-sizes[name], name)) or None


def _format(path: str) -> str:
    """A file's suffix; with the one before where it is the compression's, as in "csv.gz"."""
    # Others are numbers and dates, which each file may have its own of.
    names = [suffix[1:].lower() for suffix in PurePosixPath(path).suffixes]
    suffixes = [name for name in names if name.isalnum() and name[0].isalpha()]
    *_, before, last = ("", "", *suffixes)
    return f"{before}.{last}" if before and last in _COMPRESSED else last


def _columns(input_path: str, listing: InputListing, *, file_format: str | None, header: bool) -> int | None:
    """The median over the first files of the input's format that tell theirs."""
    filesystem, root = filesystem_of(input_path)
    base = PurePosixPath(root) if filesystem.isdir(root) else PurePosixPath(root).parent
    files = [file for file in listing.files if _format(file.path) == (file_format or "")][:FILES]
    counts = _told(_file_columns(filesystem, str(base / file.path), file, header=header) for file in files)
    return median_low(counts) if counts else None


def _told(counts: Iterable[int | None]) -> list[int]:
    return [count for count in counts if count is not None]


def _file_columns(filesystem: Any, path: str, file: InputFile, *, header: bool) -> int | None:
    kind = _format(file.path)
    if kind in _COLUMNAR:
        return _columnar_columns(filesystem, path, kind)
    beginning = filesystem.cat_file(path, start=0, end=min(file.size_bytes, BEGINNING_BYTES))
    is_whole = file.size_bytes <= len(beginning)
    if kind == "avro":
        return columns_of_avro(beginning)
    before, _, compression = kind.rpartition(".")
    if compression in _COMPRESSED:
        if compression not in _READABLE_COMPRESSION:
            return None
        kind, beginning = before, _decompressed(beginning, compression)
        is_whole = is_whole and len(beginning) < BEGINNING_BYTES
    return columns_of_text(beginning, kind=kind, header=header, is_whole=is_whole)


def _decompressed(beginning: bytes, compression: str) -> bytes:
    """The beginning of what a beginning holds: a small file may hold any amount."""
    if compression == "bz2":
        return bz2.BZ2Decompressor().decompress(beginning, BEGINNING_BYTES)
    # 32 more than the window's size: zlib tells gzip and its own format apart.
    return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(beginning, BEGINNING_BYTES)


def _columnar_columns(filesystem: Any, path: str, kind: str) -> int | None:
    """From the footer, by pyarrow; None where that is not installed."""
    try:
        reader = import_module(f"pyarrow.{kind}")
    except ImportError:
        return None
    # Small blocks: remote file systems would read tens of megabytes ahead.
    with filesystem.open(path, "rb", block_size=1 << 16) as file:
        schema = reader.read_schema(file) if kind == "parquet" else reader.ORCFile(file).schema
        return len(schema.names)


def _problem(error: Exception) -> str:
    """What is wrong, in a line. Messages of libraries may hold addresses with credentials in them."""
    if isinstance(error, MissingResourceError):
        return str(error).partition("\n")[0]
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
