"""What an event log consists of, how Spark names it, and its lines.

Spark writes one file, or a folder of many that it rolls over: ``eventlog_v2_<application>`` with the files
``events_<number>_<application>``, and ``appstatus_<application>``, which holds nothing. The History Server
may replace the older files by one that ends in ``.compact`` and leaves out what ended jobs did.

Databricks delivers a folder of ``eventlog``, which is written, and of what was before it, such as
``eventlog-2022-01-14--17-00.gz``.

The History Server gives either in a ZIP (``/api/v1/applications/<application>/logs``), which is read as a
folder.
"""

from __future__ import annotations

import re
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.eventlog.bounds import Notes
from airflow_provider_ernest.eventlog.compression import CHUNK_BYTES, text_of
from airflow_provider_ernest.exceptions import ErnestError, EventLogError
from airflow_provider_ernest.places import Archive, Place, ZipPlace, is_zip, place_of
from airflow_provider_ernest.words import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

IN_PROGRESS_SUFFIX = ".inprogress"
COMPACT_SUFFIX = ".compact"
ROLLED_PREFIX = "eventlog_v2_"
EVENTS_PREFIX = "events_"
CODECS = {
    ".zstd": "zstd",
    ".zst": "zstd",
    ".lz4": "lz4",
    ".snappy": "snappy",
    ".lzf": "lzf",
    ".gz": "gzip",
    ".gzip": "gzip",
}
"""What the last suffix of a name tells of its compression; Spark writes the short names of its codecs."""

_YARN_ATTEMPT = re.compile(r"(application_\d+_\d+)_\d+")
DATABRICKS_NAME = "eventlog"
_DATABRICKS_FILE = re.compile(rf"{DATABRICKS_NAME}(?:-(\d{{4}}-\d\d-\d\d--\d\d-\d\d))?(?:\.\w+)?")
_EVENTS_NUMBER = re.compile(rf"{EVENTS_PREFIX}(\d+)_")

MAX_LINE_BYTES = 16 << 20
"""Longer lines are passed over. The longest of real logs are the plans of large queries, some megabytes."""

_NAMED = 5
MOST_FILES = 100_000
"""In a folder: no application rolls its log over so often."""


def open_lines(source: Any, *, notes: Notes | None = None) -> Iterator[bytes]:
    """The lines of an event log, decompressed, as they are read.

    Args:
        source: see `read_event_log`.
        notes: get what cannot be read.

    Raises:
        EventLogError: it does not exist or cannot be read.
        MissingResourceError: the library that opens such an address is not installed.
    """
    notes = notes or Notes()
    try:
        for file in event_files(place_of(source), notes):
            # A line does not go over from one file to the next: where it was cut off, it ends.
            with _opened(file) as content:
                yield from lines_of(text_of(content, file.name, notes), notes)
    except ErnestError:
        raise
    # The libraries behind object stores raise errors of their own.
    except Exception as error:
        raise EventLogError(
            f"Cannot read the event log {source}: {error or type(error).__name__}.",
            remedy="Look whether it is there, and may be read from here.",
        ) from error


def event_files(place: Place, notes: Notes) -> list[Place]:
    """The files of a log in the order of their events.

    Args:
        place: the log's file; its folder; or a folder, or ZIP, that holds it and nothing else.
        notes: get which files are missing.

    Raises:
        EventLogError: a folder holds no log, or several, or too many files.
    """
    if not place.is_dir():
        if not is_zip(place):
            return [place]
        place = ZipPlace(Archive(place))
    inside = _inside(place)
    parts = _parts(inside, notes)
    if parts:
        return parts
    logs = [each for each in inside if _is_log(each)]
    if len(logs) != 1:
        raise EventLogError(
            f"The folder {place} holds {len(logs) or 'no'} event log{'s' * (len(logs) > 1)}"
            f"{': ' + ', '.join(each.name for each in logs[:_NAMED]) if logs else ''}"
            f"{' ...' if len(logs) > _NAMED else ''}.",
            remedy="Give that of one application.",
        )
    return event_files(logs[0], notes)


def _inside(folder: Place) -> list[Place]:
    """What a folder holds, by name."""
    found = list(islice(folder.iterdir(), MOST_FILES + 1))
    if len(found) > MOST_FILES:
        raise EventLogError(
            f"The folder {folder} holds more than {count(MOST_FILES)} files.",
            remedy="Give the event log of one application: a file, or the folder eventlog_v2_...",
        )
    return sorted(found, key=lambda each: str(each.name))


def _parts(inside: list[Place], notes: Notes) -> list[Place]:
    """The files of a log that was rolled over; none where it is no such folder."""
    numbered = [(number, each) for each in inside if (number := events_number(each.name)) is not None]
    if numbered:
        return _rolled(numbered, notes)
    named = [(order, each) for each in inside if (order := databricks_order(each.name)) is not None]
    # The folder above is called so, too.
    files = [pair for pair in named if pair[1].name != DATABRICKS_NAME or not pair[1].is_dir()]
    return [each for _, each in sorted(files, key=lambda pair: pair[0])]


def _is_log(place: Place) -> bool:
    if place.name.startswith((".", "_", "appstatus_")):
        return False
    return place.name.startswith(ROLLED_PREFIX) or not place.is_dir()


def _rolled(numbered: list[tuple[int, Place]], notes: Notes) -> list[Place]:
    """The files by number, from the last that is compact on: it stands for those before, and its own."""
    ordered = sorted(numbered, key=lambda each: (each[0], each[1].name.endswith(COMPACT_SUFFIX)))
    compact = [at for at, (_, file) in enumerate(ordered) if file.name.endswith(COMPACT_SUFFIX)]
    if compact:
        ordered = ordered[compact[-1] :]
        notes.add_problem("It was compacted: tasks of jobs that had ended by then are not in it.")
    numbers = sorted({number for number, _ in ordered})
    if not compact:
        numbers = [0, *numbers]
    # A name may tell of any number: only as many as are shown are counted through.
    gaps = (range(before + 1, after) for before, after in pairwise(numbers))
    missing = list(islice(chain.from_iterable(gaps), _NAMED + 1))
    if missing:
        shown = ", ".join(str(number) for number in missing[:_NAMED])
        more = " and more" if len(missing) > _NAMED else ""
        notes.add_problem(f"Of its files, those of number {shown}{more} are missing.")
    return [file for _, file in ordered]


def _opened(file: Place) -> Any:
    try:
        return file.open("rb")
    except FileNotFoundError:
        # Spark takes the suffix away when the application ends.
        with_name = getattr(file, "with_name", None)
        if with_name is None or not file.name.endswith(IN_PROGRESS_SUFFIX):
            raise
        return with_name(file.name.removesuffix(IN_PROGRESS_SUFFIX)).open("rb")


def find_event_log(directory: Path) -> Path | None:
    """The event log in a directory that was made for one run; None while Spark has not begun it."""
    logs = sorted(path for path in directory.glob("*") if _is_log(path))
    return logs[-1] if logs else None


def application_of_name(name: str) -> str:
    """The application that a log of this name is of."""
    plain = name.removeprefix(ROLLED_PREFIX).removesuffix(IN_PROGRESS_SUFFIX)
    stem, dot, suffix = plain.rpartition(".")
    if f"{dot}{suffix}" in CODECS:
        plain = stem
    attempt = _YARN_ATTEMPT.fullmatch(plain)
    return attempt.group(1) if attempt else plain


def codec_of_name(name: str) -> str | None:
    """The compression that a file's name tells of; None for none."""
    plain = name.removesuffix(COMPACT_SUFFIX).removesuffix(IN_PROGRESS_SUFFIX)
    return CODECS.get(f".{plain.rpartition('.')[2].lower()}") if "." in plain else None


def databricks_order(name: str) -> str | None:
    """What sorts the files of one of Databricks' logs; None where the name is none of such.

    They are named after the minute in which they were closed, and the last, which is open, after none.
    """
    found = _DATABRICKS_FILE.fullmatch(name)
    return (found.group(1) or "open") if found else None


def is_rolled(names: Iterable[str]) -> bool:
    """Whether the files of these names are parts of one log, each in a folder of its own."""
    return any(events_number(name) is not None or databricks_order(name) is not None for name in names)


def events_number(name: str) -> int | None:
    """The number of a file of a log that is rolled over; None where the name is none of such."""
    found = _EVENTS_NUMBER.match(name)
    return int(found.group(1)) if found else None


def lines_of(
    chunks: Iterable[bytes], notes: Notes, *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[bytes]:
    """The lines of a text, without their ends; the last may be one that was cut off.

    Args:
        chunks: the text, cut anywhere.
        notes: get how many lines were too long.
        max_line_bytes: of the longest line that is kept.
    """
    # One line that goes over many chunks is put together once, not chunk by chunk.
    parts: list[bytes] = []
    held_bytes = 0
    for chunk in _small(chunks):
        first, *others = chunk.split(b"\n")
        held_bytes += len(first)
        if held_bytes <= max_line_bytes:
            parts.append(first)
        else:
            parts.clear()
        if not others:
            continue
        if held_bytes <= max_line_bytes:
            yield b"".join(parts)
        else:
            notes.too_long_lines += 1
        last = others.pop()
        yield from others
        parts, held_bytes = [last], len(last)
    if held_bytes > max_line_bytes:
        notes.too_long_lines += 1
    elif held_bytes:
        yield b"".join(parts)


def _small(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text in pieces of which even the shortest lines take little memory."""
    for chunk in chunks:
        if len(chunk) <= CHUNK_BYTES:
            yield chunk
            continue
        for at in range(0, len(chunk), CHUNK_BYTES):
            yield chunk[at : at + CHUNK_BYTES]
