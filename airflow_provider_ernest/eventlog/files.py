"""The files of an event log, their names, compression and lines; limits on what reading a log may take.

* Spark writes one file, or rolls the log over in a folder ``eventlog_v2_<application>``: files
  ``events_<number>_<application>``, and an empty ``appstatus_<application>``. The History Server may replace
  the older files by one that ends in ``.compact``, without what ended jobs did.
* Databricks delivers a folder with ``eventlog``, which is being written, and earlier files such as
  ``eventlog-2022-01-14--17-00.gz``.
* The History Server gives either in a ZIP (``/api/v1/applications/<application>/logs``), read as a folder.

A file's first bytes show how it is compressed; its name may lie, or say nothing. Spark's codecs write blocks
of Java libraries' own (not LZ4's frames, nor Snappy's framing), and several streams may follow one another.

Logs that Spark writes take little memory; a log that was made to be large could take anything, since a line
of numbers packs to nothing. So the output of decompressors is limited, piece by piece and in all, and what is
kept is counted as it comes (tasks have a limit of their own, see `TaskRows`). What no longer fits is left
out, with a warning.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, pairwise
from pathlib import Path
from struct import Struct
from sys import getsizeof
from typing import Any

from airflow_provider_ernest.exceptions import ErnestError, EventLogError
from airflow_provider_ernest.places import Archive, Place, ZipPlace, is_zip, place_of
from airflow_provider_ernest.words import count

IN_PROGRESS_SUFFIX = ".inprogress"
COMPACT_SUFFIX = ".compact"
ROLLED_PREFIX = "eventlog_v2_"
EVENTS_PREFIX = "events_"
# Suffixes of compressed files; Spark writes the short names of its codecs.
PACKED_SUFFIXES = (".zstd", ".zst", ".lz4", ".snappy", ".lzf", ".gz", ".gzip")

_YARN_ATTEMPT = re.compile(r"(application_\d+_\d+)_\d+")
DATABRICKS_NAME = "eventlog"
_DATABRICKS_FILE = re.compile(rf"{DATABRICKS_NAME}(?:-(\d{{4}}-\d\d-\d\d--\d\d-\d\d))?(?:\.\w+)?")
_EVENTS_NUMBER = re.compile(rf"{EVENTS_PREFIX}(\d+)_")

# Longer lines are skipped. The longest of real logs are plans of large queries, some megabytes.
MAX_LINE_BYTES = 16 << 20

_NAMED = 5
MOST_FILES = 100_000  # in a folder; no application rolls its log over so often


def open_lines(source: Any, *, notes: Notes | None = None) -> Iterator[bytes]:
    """The lines of an event log (see `read_event_log`), decompressed, as they are read.

    Raises:
        EventLogError: it does not exist or cannot be read.
        MissingResourceError: the library that opens such an address is not installed.
    """
    notes = notes or Notes()
    try:
        for file in event_files(place_of(source), notes):
            # No line continues in the next file.
            with _opened(file) as content:
                yield from lines_of(text_of(content, file.name, notes), notes)
    except ErnestError:
        raise
    # The libraries behind object stores raise errors of their own.
    except Exception as error:
        raise EventLogError(
            f"Cannot read the event log {source}: {error or type(error).__name__}.",
            remedy="Check that it exists and can be read from here.",
        ) from error


def event_files(place: Place, notes: Notes) -> list[Place]:
    """The files of a log in the order of their events; `notes` get which ones are missing.

    The place is the log's file or folder, or a folder or ZIP that holds it and nothing else.

    Raises:
        EventLogError: a folder holds no log, or several, or too many files.
    """
    if not place.is_dir():
        if not is_zip(place):
            return [place]
        place = ZipPlace(Archive(place))
    inside = list(islice(place.iterdir(), MOST_FILES + 1))
    if len(inside) > MOST_FILES:
        raise EventLogError(
            f"The folder {place} holds more than {count(MOST_FILES)} files.",
            remedy="Give the event log of one application: a file, or the folder eventlog_v2_...",
        )
    inside.sort(key=lambda each: str(each.name))
    parts = _parts(inside, notes)
    if parts:
        return parts
    logs = [each for each in inside if _is_log(each)]
    if len(logs) != 1:
        raise EventLogError(
            f"The folder {place} holds {len(logs) or 'no'} event log{'s' * (len(logs) > 1)}"
            f"{': ' + ', '.join(each.name for each in logs[:_NAMED]) if logs else ''}"
            f"{' ...' if len(logs) > _NAMED else ''}.",
            remedy="Give the event log of one application.",
        )
    return event_files(logs[0], notes)


def _parts(inside: list[Place], notes: Notes) -> list[Place]:
    """The files of a rolled log; none if it is no such folder."""
    numbered = [(number, each) for each in inside if (number := events_number(each.name)) is not None]
    if numbered:
        return _rolled(numbered, notes)
    named = [(order, each) for each in inside if (order := databricks_order(each.name)) is not None]
    # Databricks also has a folder of this name.
    files = [pair for pair in named if pair[1].name != DATABRICKS_NAME or not pair[1].is_dir()]
    return [each for _, each in sorted(files, key=lambda pair: pair[0])]


def _is_log(place: Place) -> bool:
    if place.name.startswith((".", "_", "appstatus_")):
        return False
    return place.name.startswith(ROLLED_PREFIX) or not place.is_dir()


def _rolled(numbered: list[tuple[int, Place]], notes: Notes) -> list[Place]:
    """The files by number, from the last compacted one on, which replaces those before and its own."""
    ordered = sorted(numbered, key=lambda each: (each[0], each[1].name.endswith(COMPACT_SUFFIX)))
    compact = [at for at, (_, file) in enumerate(ordered) if file.name.endswith(COMPACT_SUFFIX)]
    if compact:
        ordered = ordered[compact[-1] :]
        notes.add_problem("It was compacted: tasks of jobs that had ended by then are not in it.")
    numbers = sorted({number for number, _ in ordered})
    if not compact:
        numbers = [0, *numbers]
    # A name may hold any number: no more are counted than are shown.
    gaps = (range(before + 1, after) for before, after in pairwise(numbers))
    missing = list(islice(chain.from_iterable(gaps), _NAMED + 1))
    if missing:
        shown = ", ".join(str(number) for number in missing[:_NAMED])
        more = " and more" if len(missing) > _NAMED else ""
        notes.add_problem(f"Its files number {shown}{more} are missing.")
    return [file for _, file in ordered]


def _opened(file: Place) -> Any:
    try:
        return file.open("rb")
    except FileNotFoundError:
        # Spark removes the suffix when the application ends.
        with_name = getattr(file, "with_name", None)
        if with_name is None or not file.name.endswith(IN_PROGRESS_SUFFIX):
            raise
        return with_name(file.name.removesuffix(IN_PROGRESS_SUFFIX)).open("rb")


def find_event_log(directory: Path) -> Path | None:
    """The event log in the directory of one run; None until Spark has begun it."""
    logs = sorted(path for path in directory.glob("*") if _is_log(path))
    return logs[-1] if logs else None


def application_of_name(name: str) -> str:
    """The application id in the name of a log."""
    plain = name.removeprefix(ROLLED_PREFIX).removesuffix(IN_PROGRESS_SUFFIX)
    stem, dot, suffix = plain.rpartition(".")
    if f"{dot}{suffix}" in PACKED_SUFFIXES:
        plain = stem
    attempt = _YARN_ATTEMPT.fullmatch(plain)
    return attempt.group(1) if attempt else plain


def is_packed(name: str) -> bool:
    """Whether a file is compressed, by its name."""
    plain = name.removesuffix(COMPACT_SUFFIX).removesuffix(IN_PROGRESS_SUFFIX)
    return plain.lower().endswith(PACKED_SUFFIXES)


def databricks_order(name: str) -> str | None:
    """Sorts the files of a Databricks log; None for other names.

    They are named after the minute in which they were closed; the open one, the last, is not.
    """
    found = _DATABRICKS_FILE.fullmatch(name)
    return (found.group(1) or "open") if found else None


def is_rolled(names: Iterable[str]) -> bool:
    """Whether files of these names are the parts of one log."""
    return any(events_number(name) is not None or databricks_order(name) is not None for name in names)


def events_number(name: str) -> int | None:
    """The number of a file of a rolled log; None for other names."""
    found = _EVENTS_NUMBER.match(name)
    return int(found.group(1)) if found else None


def lines_of(chunks: Iterable[bytes], notes: Notes) -> Iterator[bytes]:
    """The lines of a text that is cut anywhere, without their ends; the last may be incomplete.

    Lines of more than `MAX_LINE_BYTES` are counted in `notes` and skipped.
    """
    # A line of many chunks is joined once, not chunk by chunk.
    parts: list[bytes] = []
    held_bytes = 0
    # Of small pieces even the shortest lines take little memory.
    small = (chunk[at : at + CHUNK_BYTES] for chunk in chunks for at in range(0, len(chunk), CHUNK_BYTES))
    for chunk in small:
        first, *others = chunk.split(b"\n")
        held_bytes += len(first)
        if held_bytes <= MAX_LINE_BYTES:
            parts.append(first)
        else:
            parts.clear()
        if not others:
            continue
        if held_bytes <= MAX_LINE_BYTES:
            yield b"".join(parts)
        else:
            notes.too_long_lines += 1
        last = others.pop()
        yield from others
        parts, held_bytes = [last], len(last)
    if held_bytes > MAX_LINE_BYTES:
        notes.too_long_lines += 1
    elif held_bytes:
        yield b"".join(parts)


# For jobs, stages, executors, queries, cached blocks and properties: 200,000 stages with their jobs.
MOST_KEPT_BYTES = 256 << 20

# Rough sizes: of a table's row with its index, of a number in a set, of a number in a tuple.
ROW_BYTES, ENTRY_BYTES, NUMBER_BYTES = 600, 120, 40

MOST_CHARACTERS = 500  # of names, hosts and reasons
PLAIN_LINE_BYTES = 1 << 20  # the values of longer lines are counted before they are decoded
MOST_VALUES = 250_000  # in one line; each takes up to 200 bytes while it is decoded

# A file may unpack to this many times its length. Logs come to 20 to 60 times, gzip to 1,032.
MOST_UNPACKED_TIMES = 2_000

ALWAYS_UNPACKED_BYTES = 128 << 20

_MOST_PROBLEMS = 100


class NoRoomError(ValueError):
    """An event cannot be kept: the log's memory is used up."""


class Notes:
    """What could not be read of one log, and how much of its limits it has used."""

    def __init__(self) -> None:
        self.last_at = 0.0  # the last moment of an event, in seconds since the epoch; tasks do not count
        self.too_long_lines = 0
        self.unreadable_lines = 0
        self.problems: list[str] = []
        self.is_full = False  # something was left out for want of room
        self._kept_bytes = 0

    def seen(self, moment: float) -> None:
        """Note a moment that an event names."""
        self.last_at = max(self.last_at, moment)

    def add_problem(self, problem: str) -> None:
        """Add a problem, once."""
        if len(self.problems) < _MOST_PROBLEMS and problem not in self.problems:
            self.problems.append(problem)

    def keep(self, size_bytes: int, *texts: str) -> None:
        """Count what is about to be kept: its size, and that of its texts.

        Raises:
            NoRoomError: it is too much.
        """
        # Measured, not counted by characters: one character makes some texts four times as long.
        size_bytes += sum(map(getsizeof, texts))
        if self._kept_bytes + size_bytes > MOST_KEPT_BYTES:
            self.is_full = True
            raise NoRoomError("no room")
        self._kept_bytes += size_bytes


def has_too_many_values(line: bytes) -> bool:
    """Whether a line would take much memory to decode."""
    # Each value of a list or a mapping follows one of these, or begins with one.
    return len(line) > PLAIN_LINE_BYTES and sum(map(line.count, (b",", b"[", b"{"))) > MOST_VALUES


def shortened(text: str | None) -> str:
    """The beginning of a text."""
    return (text or "")[:MOST_CHARACTERS]


CHUNK_BYTES = 1 << 18
_LZF_MAGIC = b"ZV"
MAX_BLOCK_BYTES = 16 << 20  # Spark's codecs make much smaller blocks, of ten to some hundred KiB


def text_of(content: Any, name: str, notes: Notes) -> Iterator[bytes]:
    """The pieces of an open file's text; if it is damaged or cut off, those before that, with a note.

    Raises:
        EventLogError: the library that decompresses it is not installed, or it is compressed by LZF.
    """
    counted = _CountedBytes(content)
    packed: io.BufferedReader = io.BufferedReader(counted, CHUNK_BYTES)
    beginning = packed.peek()
    if beginning.startswith(_LZF_MAGIC):
        raise EventLogError(
            f"{name} is compressed by LZF, which is not read.",
            remedy="Let Spark compress its logs by zstd: spark.eventLog.compression.codec.",
        )
    reader = next((reader for magic, reader in _READERS if beginning.startswith(magic)), _plain_text)
    unpacked_bytes = 0
    try:
        for chunk in reader(packed):
            unpacked_bytes += len(chunk)
            if unpacked_bytes > max(ALWAYS_UNPACKED_BYTES, MOST_UNPACKED_TIMES * counted.read_bytes):
                raise _DamagedError(f"it unpacks to more than {count(MOST_UNPACKED_TIMES)} times its length")
            yield chunk
    except _DamagedError as error:
        notes.add_problem(f"{name} is damaged or was cut off: {error}. The rest is not read.")
    except ImportError as error:
        raise EventLogError(
            f"{name} is compressed, and the library that reads it cannot be imported: {error}.",
            remedy=f"Install it beside this package: pip install {error.name}.",
        ) from error


class _DamagedError(Exception):
    """A compressed file is damaged."""


class _CountedBytes(io.RawIOBase):
    """An open file, whose bytes are counted as they are read."""

    def __init__(self, content: Any) -> None:
        self.read_bytes = 0
        self._content = content

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        chunk = self._content.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self.read_bytes += len(chunk)
        return len(chunk)


def _exactly(packed: io.BufferedReader, size: int, what: str) -> bytes:
    """The next bytes, so many; damage if the file ends before."""
    if not 0 <= size <= MAX_BLOCK_BYTES:
        raise _DamagedError(f"{what} of {size} bytes")
    data = packed.read(size)
    if len(data) < size:
        raise _DamagedError(f"it ends within {what}")
    return data


def _plain_text(packed: io.BufferedReader) -> Iterator[bytes]:
    return iter(lambda: packed.read1(CHUNK_BYTES), b"")


def _streamed(text: Any, errors: tuple[type[Exception], ...]) -> Iterator[bytes]:
    """The pieces that a decompressing file gives; its errors are damage."""
    with text:
        while True:
            try:
                chunk = text.read1(CHUNK_BYTES)
            except errors as error:
                raise _DamagedError(str(error)) from error
            if not chunk:
                return
            yield chunk


def _gzip_text(packed: io.BufferedReader) -> Iterator[bytes]:
    return _streamed(gzip.GzipFile(fileobj=packed, mode="rb"), (EOFError, OSError, zlib.error))


_LZ4_MAGIC = b"LZ4Block"
_LZ4_HEADER = Struct("<8sBiii")  # magic, method and level, both lengths, checksum
_LZ4_METHODS, _LZ4_RAW, _LZ4_COMPRESSED = 0xF0, 0x10, 0x20
_LZ4_LEVEL_BASE = 10


def _lz4_text(packed: io.BufferedReader) -> Iterator[bytes]:
    """Blocks of lz4-java's ``LZ4BlockOutputStream``; one without data ends a stream."""
    import cramjam

    while packed.peek(1):
        header = _exactly(packed, _LZ4_HEADER.size, "a header")
        magic, token, packed_bytes, text_bytes, _ = _LZ4_HEADER.unpack(header)
        method, level = token & _LZ4_METHODS, token & ~_LZ4_METHODS
        if magic != _LZ4_MAGIC or method not in (_LZ4_RAW, _LZ4_COMPRESSED):
            raise _DamagedError("a block without LZ4's header")
        data = _exactly(packed, packed_bytes, "a block")
        if not 0 <= text_bytes <= 1 << (_LZ4_LEVEL_BASE + level):
            raise _DamagedError(f"a block that says to hold {text_bytes} bytes")
        if method == _LZ4_RAW or not data:
            yield data
            continue
        try:
            yield bytes(cramjam.lz4.decompress_block(data, output_len=text_bytes))
        except cramjam.DecompressionError as error:
            raise _DamagedError(str(error)) from error


_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_SNAPPY_VERSIONS_BYTES = 8


def _snappy_text(packed: io.BufferedReader) -> Iterator[bytes]:
    """A header and blocks of snappy-java's ``SnappyOutputStream``: each its length and raw Snappy."""
    import cramjam

    while packed.peek(1):
        length = _exactly(packed, 4, "a block's length")
        if length == _SNAPPY_MAGIC[:4]:
            _exactly(packed, len(_SNAPPY_MAGIC) - 4 + _SNAPPY_VERSIONS_BYTES, "a header")
            continue
        size = int.from_bytes(length, "big")
        data = _exactly(packed, size, "a block")
        try:
            # cramjam allocates what the block claims.
            if cramjam.snappy.decompress_raw_len(data) > MAX_BLOCK_BYTES:
                raise _DamagedError("a block that says to hold more than any of Spark's")
            yield bytes(cramjam.snappy.decompress_raw(data))
        except cramjam.DecompressionError as error:
            raise _DamagedError(str(error)) from error


_ZSTD_WINDOW_BYTES = 128 << 20  # zstd's own limit; Spark's frames ask for 8 MiB at most


def _zstd_text(packed: io.BufferedReader) -> Iterator[bytes]:
    """Spark's default: many frames, since a flush ends one. An incomplete frame is read as far as it goes."""
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    text = decompressor.stream_reader(packed, CHUNK_BYTES, read_across_frames=True, closefd=False)
    return _streamed(text, (zstandard.ZstdError,))


# By a file's first bytes.
_READERS: tuple[tuple[bytes, Callable[[io.BufferedReader], Iterator[bytes]]], ...] = (
    (b"\x28\xb5\x2f\xfd", _zstd_text),
    (_LZ4_MAGIC, _lz4_text),
    (_SNAPPY_MAGIC, _snappy_text),
    (b"\x1f\x8b", _gzip_text),
)
