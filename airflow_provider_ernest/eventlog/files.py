"""The files of an event log, their names, and their lines.

* Spark writes one file, or rolls the log over in a folder ``eventlog_v2_<application>``: files
  ``events_<number>_<application>``, and an empty ``appstatus_<application>``. The History Server may replace
  the older files by one that ends in ``.compact``, without what ended jobs did.
* Databricks delivers a folder with ``eventlog``, which is being written, and earlier files such as
  ``eventlog-2022-01-14--17-00.gz``.
* The History Server gives either in a ZIP (``/api/v1/applications/<application>/logs``), read as a folder.
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
# The compression by the last suffix of a name; Spark writes the short names of its codecs.
CODECS = {
    ".zstd": "zstd",
    ".zst": "zstd",
    ".lz4": "lz4",
    ".snappy": "snappy",
    ".lzf": "lzf",
    ".gz": "gzip",
    ".gzip": "gzip",
}

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
    if f"{dot}{suffix}" in CODECS:
        plain = stem
    attempt = _YARN_ATTEMPT.fullmatch(plain)
    return attempt.group(1) if attempt else plain


def codec_of_name(name: str) -> str | None:
    """The compression by a file's name; None for none."""
    plain = name.removesuffix(COMPACT_SUFFIX).removesuffix(IN_PROGRESS_SUFFIX)
    return CODECS.get(f".{plain.rpartition('.')[2].lower()}") if "." in plain else None


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


def lines_of(
    chunks: Iterable[bytes], notes: Notes, *, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[bytes]:
    """The lines of a text that is cut anywhere, without their ends; the last may be incomplete.

    Lines of more than `max_line_bytes` are counted in `notes` and skipped.
    """
    # A line of many chunks is joined once, not chunk by chunk.
    parts: list[bytes] = []
    held_bytes = 0
    # Of small pieces even the shortest lines take little memory.
    small = (chunk[at : at + CHUNK_BYTES] for chunk in chunks for at in range(0, len(chunk), CHUNK_BYTES))
    for chunk in small:
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
