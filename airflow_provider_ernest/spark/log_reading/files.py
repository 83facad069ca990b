"""What an event log consists of, and its lines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.spark.log_reading.lines import lines_of
from airflow_provider_ernest.spark.log_reading.notes import Notes

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 1 << 18


def open_lines(source: Any, *, notes: Notes | None = None) -> Iterator[bytes]:
    """The lines of an event log, decompressed, as they are read.

    Args:
        source: see `read_event_log`.
        notes: where what cannot be read is told.

    Raises:
        EventLogError: it does not exist or cannot be read.
    """
    place = Path(source) if isinstance(source, str) else source
    yield from lines_of(_chunks(place), notes or Notes())


def _chunks(place: Any) -> Iterator[bytes]:
    try:
        with place.open("rb") as content:
            while chunk := content.read(CHUNK_BYTES):
                yield chunk
    except OSError as error:
        raise EventLogError(f"Cannot read the event log {place}: {error}.") from error
