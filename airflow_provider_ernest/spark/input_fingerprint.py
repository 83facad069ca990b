"""The shape of an input: how many partitions, bytes and columns, in which format. Nothing of its content.

Columns are counted at the beginnings of a few files: of text by its records, of Avro and columnar files by
their headers and footers. The count is compared later with that of other data, so it must not depend on which
records come first: rare keys of JSON records are no columns. Sparse records (libsvm) have no count, since how
many features they name, and the largest index, change from day to day; dense ones have.
"""

from __future__ import annotations

import bz2
import csv
import io
import json
import re
import zlib
from collections import Counter
from importlib import import_module
from pathlib import PurePosixPath
from statistics import median_low, mode
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.documents.runs import InputFingerprint
from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.spark.sampling import list_input, opened_input

if TYPE_CHECKING:
    from airflow_provider_ernest.spark.sampling import InputFile, InputListing

FILES = 3
"""Files whose beginnings are looked at: the first may be an odd one."""
BEGINNING_BYTES = 1 << 20
"""Read of each at most, and decompressed at most: enough for the block that bzip2 needs to begin with."""

_COLUMNAR = ("parquet", "orc")
_COMPRESSED = ("gz", "bz2", "deflate", "zst", "snappy", "lz4", "zip", "xz", "lzo")
_READABLE_COMPRESSION = ("gz", "bz2", "deflate")
RECORDS = 1_000
"""No more records than these are looked at."""

_DELIMITERS = {"csv": ",;\t|", "tsv": "\t", "tab": "\t", "psv": "|"}
_JSON_LINES = ("json", "jsonl", "ndjson")
_SPARSE = ("libsvm", "svm", "svmlight")
_SPARSE_RECORD = re.compile(r"\s*[-+]?[\d.]\S*(?P<features>(?:\s+\d+:\S+)*)\s*(?:#.*)?")
_USUAL_SHARE = 0.01
"""Keys of fewer JSON records than this share are no columns."""
_DENSE_SHARE = 0.95
"""Libsvm is dense if this share of the records name equally many features."""
_ENOUGH_TO_GUESS = 10
"""Fewer records of equal shape do not make a table of text in an unknown format."""


def input_fingerprint(input_path: str, *, partitions: int | None, header: bool, log: Any) -> InputFingerprint:
    """Tell the shape of an input by its listing and the beginnings of its first files.

    Never raises: what cannot be listed or read stays None, and one line in the log says why. The partitions
    are by default the number of files; with `header`, each file begins with a line that names the columns.
    """
    if not input_path:
        return InputFingerprint(partitions=partitions)
    try:
        listing = list_input(input_path)
        total_bytes = listing.total_bytes
    # The libraries behind fsspec raise errors of their own. None should fail a run.
    except Exception as error:
        log.info("The shape of the input cannot be told: %s", _problem(error))
        return InputFingerprint(partitions=partitions)
    sizes: Counter[str] = Counter()
    for file in listing.files:
        sizes[_format(file.path)] += file.size_bytes
    # That of most bytes; of equals the first in the alphabet.
    file_format = min(sizes, key=lambda name: (-sizes[name], name)) or None
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


def _format(path: str) -> str:
    """A file's suffix; with the one before where it is the compression's, as in "csv.gz"."""
    # Others are numbers and dates, which differ from file to file.
    names = [suffix[1:].lower() for suffix in PurePosixPath(path).suffixes]
    suffixes = [name for name in names if name.isalnum() and name[0].isalpha()]
    *_, before, last = ("", "", *suffixes)
    return f"{before}.{last}" if before and last in _COMPRESSED else last


def _columns(input_path: str, listing: InputListing, *, file_format: str | None, header: bool) -> int | None:
    """The median over the first files of the input's format that tell theirs."""
    filesystem, base = opened_input(input_path)
    files = [file for file in listing.files if _format(file.path) == (file_format or "")][:FILES]
    counts = [_file_columns(filesystem, str(base / file.path), file, header=header) for file in files]
    found = [count for count in counts if count is not None]
    return median_low(found) if found else None


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


def columns_of_text(beginning: bytes, *, kind: str, header: bool, is_whole: bool) -> int | None:
    """Columns of line-oriented text, by its kind such as "csv" (empty: unknown); None without structure.

    Unless `is_whole`, the last line of the beginning may be cut off.
    """
    # Whatever the encoding, if it has ASCII's delimiters: each byte stays one character.
    text = beginning.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    if not is_whole:
        text = text[: text.rfind("\n") + 1]
    if not text.strip() or "\0" in text:
        return None
    if kind in _DELIMITERS:
        return _delimited_columns(text, _DELIMITERS[kind], header=header, is_whole=is_whole)
    lines = [line for line in text.split("\n", RECORDS + 1)[:RECORDS] if line.strip()]
    if kind in _JSON_LINES:
        return _json_columns(lines)
    if kind in _SPARSE:
        return _sparse_columns(lines)
    return _json_columns(lines) or _sparse_columns(lines) or _guessed_columns(text)


def columns_of_avro(beginning: bytes) -> int | None:
    """Fields of an Avro container's records, from the schema in its header; None where there is none.

    Source: Avro specification, "Object Container Files".
    """
    reader = io.BytesIO(beginning)
    if reader.read(4) != b"Obj\x01":
        return None
    while count := _avro_long(reader):
        if count < 0:  # the size of the block in bytes follows, for those who would pass over it
            _avro_long(reader)
        for _ in range(abs(count)):
            key, value = _avro_bytes(reader), _avro_bytes(reader)
            if key == b"avro.schema":
                schema = json.loads(value)
                return len(schema["fields"]) if schema["type"] == "record" else None
    return None


def _delimited_columns(text: str, delimiters: str, *, header: bool, is_whole: bool) -> int | None:
    """By the delimiter with which most records have equally many fields.

    `csv.Sniffer` is not asked: on unlucky content its patterns take minutes.
    """
    counted = [_field_counts(text, delimiter, is_whole=is_whole) for delimiter in delimiters]
    several = [counts for counts in counted if counts and mode(counts) > 1]
    if not several:
        return 1 if any(counted) else None
    best = max(several, key=lambda counts: (counts.count(mode(counts)) / len(counts), mode(counts)))
    return best[0] if header else mode(best)


def _guessed_columns(text: str) -> int | None:
    """Of text that may be a table, as one where all records have equally many fields."""
    for delimiter in ",;\t| ":
        counts = _field_counts(text, delimiter, is_whole=True)
        if len(counts) >= _ENOUGH_TO_GUESS and len(set(counts)) == 1 and counts[0] > 1:
            return counts[0]
    return None


def _field_counts(text: str, delimiter: str, *, is_whole: bool) -> list[int]:
    """Fields of each of the first records; quoted fields may hold delimiters and line ends."""
    counts: list[int] = []
    try:
        for record in csv.reader(io.StringIO(text), delimiter=delimiter):
            if record:
                counts.append(len(record))
            if len(counts) >= RECORDS:
                return counts
    except csv.Error:  # such as a quotation that never ends
        return []
    # A cut may have fallen into a quoted field, which makes the last record a stump.
    return counts if is_whole or len(counts) < 2 else counts[:-1]


def _json_columns(lines: list[str]) -> int | None:
    """The keys that more than a few records have."""
    keys: Counter[str] = Counter()
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(record, dict):
            return None
        keys.update(record.keys())
    return sum(count >= _USUAL_SHARE * len(lines) for count in keys.values()) or None


def _sparse_columns(lines: list[str]) -> int | None:
    """The features that records name, where nearly all name equally many."""
    found = [_SPARSE_RECORD.fullmatch(line) for line in lines]
    counts = [len(record["features"].split()) for record in found if record]
    if not counts or len(counts) < len(lines):
        return None
    usual = mode(counts)
    return usual or None if counts.count(usual) >= _DENSE_SHARE * len(counts) else None


def _avro_long(reader: io.BytesIO) -> int:
    """A zigzag number of variable length; a ValueError where there is none."""
    value = shift = 0
    while True:
        byte = reader.read(1)
        if not byte or shift > 63:
            raise ValueError("no Avro header, or a longer one than is read")
        value |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return (value >> 1) ^ -(value & 1)
        shift += 7


def _avro_bytes(reader: io.BytesIO) -> bytes:
    return reader.read(max(0, _avro_long(reader)))
