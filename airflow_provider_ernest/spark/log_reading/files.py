"""What an event log consists of, and its lines.

Spark writes one file, or a folder of many that it rolls over: ``eventlog_v2_<application>`` with the files
``events_<number>_<application>``, and ``appstatus_<application>``, which holds nothing. The History Server
may replace the older files by one that ends in ``.compact`` and leaves out what ended jobs did.

Databricks delivers a folder of ``eventlog``, which is written, and of what was before it, such as
``eventlog-2022-01-14--17-00.gz``.
"""

from __future__ import annotations

from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import ErnestError, EventLogError
from airflow_provider_ernest.spark.log_reading.compression import text_of
from airflow_provider_ernest.spark.log_reading.lines import lines_of
from airflow_provider_ernest.spark.log_reading.log_names import (
    COMPACT_SUFFIX,
    DATABRICKS_NAME,
    IN_PROGRESS_SUFFIX,
    ROLLED_PREFIX,
    databricks_order,
    events_number,
)
from airflow_provider_ernest.spark.log_reading.notes import Notes
from airflow_provider_ernest.spark.log_reading.places import Place, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMED = 5
MOST_FILES = 100_000
"""In a folder: no application rolls its log over so often."""


def open_lines(source: Any, *, notes: Notes | None = None) -> Iterator[bytes]:
    """The lines of an event log, decompressed, as they are read.

    Args:
        source: see `read_event_log`.
        notes: where what cannot be read is told.

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
        place: the log's file; its folder; or a folder that holds it and nothing else.
        notes: where it is told which files are missing.

    Raises:
        EventLogError: a folder holds no log, or several, or too many files.
    """
    if not place.is_dir():
        return [place]
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
    """What a folder holds, by name.

    Raises:
        EventLogError: too much for an event log.
    """
    found = list(islice(folder.iterdir(), MOST_FILES + 1))
    if len(found) > MOST_FILES:
        raise EventLogError(
            f"The folder {folder} holds more than {MOST_FILES:,} files.",
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
        notes.tell("It was compacted: tasks of jobs that had ended by then are not in it.")
    numbers = sorted({number for number, _ in ordered})
    if not compact:
        numbers = [0, *numbers]
    # A name may tell of any number: only as many as are shown are counted through.
    gaps = (range(before + 1, after) for before, after in pairwise(numbers))
    missing = list(islice(chain.from_iterable(gaps), _NAMED + 1))
    if missing:
        shown = ", ".join(str(number) for number in missing[:_NAMED])
        more = " and more" if len(missing) > _NAMED else ""
        notes.tell(f"Of its files, those of number {shown}{more} are missing.")
    return [file for _, file in ordered]


def _opened(file: Place) -> Any:
    try:
        return file.open("rb")
    except FileNotFoundError:
        # Spark takes the suffix away when the application ends.
        ended = _without_progress(file)
        if ended is None:
            raise
        return ended.open("rb")


def _without_progress(file: Place) -> Any:
    with_name = getattr(file, "with_name", None)
    if with_name is None or not file.name.endswith(IN_PROGRESS_SUFFIX):
        return None
    return with_name(file.name.removesuffix(IN_PROGRESS_SUFFIX))
