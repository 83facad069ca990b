"""The lines that a catalogue is made of: that a thing is in the store, or that it is there no more.

Lines have no order: writers know nothing of each other. So each says when it was written, and of the lines
of one thing the latest counts. Lines without a time, of a look through the store or of an earlier version
of this package, are older than all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from airflow_provider_ernest.exceptions import InvalidDocumentError, StoreError
from airflow_provider_ernest.model.document import SCHEMA
from airflow_provider_ernest.model.storage.catalogue_entry import CatalogueEntry
from airflow_provider_ernest.model.storage.stored_files import decode_json

Key = tuple[str, str, str, str]
"""Id, kind, job and instance type, as `CatalogueEntry.key`."""
KEY = ("id", "kind", "job", "instance_type")
"""Their names in a line."""

REMOVALS_KEPT = timedelta(days=30)
"""Who read a line before its thing was removed, and writes it again by merging, has long done so by then."""


class Line(NamedTuple):
    """What a line says.

    Attributes:
        key: the thing it is of.
        at: when it was written, ISO 8601 in UTC, so that later times sort last; empty where it does not say.
        entry: what is known of the thing; None where it was removed.
    """

    key: Key
    at: str
    entry: CatalogueEntry | None

    def is_later_than(self, other: Line) -> bool:
        """Whether this one counts; of two of the same moment the one that removes."""
        return (self.at, self.entry is None) > (other.at, other.entry is None)


def read_line(text: str) -> Line:
    """What a line says.

    Raises:
        InvalidDocumentError: it is none, or a newer version's.
    """
    data = decode_json(text)
    if not isinstance(data, dict) or not data.get("is_removed"):
        at = _text_in(data, "listed_at") if isinstance(data, dict) else ""
        if at:
            del data["listed_at"]
        entry = CatalogueEntry.from_dict(data)
        return Line(entry.key, at, entry)
    if data.get("schema") != SCHEMA:
        raise InvalidDocumentError(f"This line has schema {data.get('schema')!r}, that of another version.")
    name, kind, job, instance_type = (_text_in(data, field) for field in KEY)
    return Line((name, kind, job, instance_type), _text_in(data, "listed_at"), None)


def _text_in(data: dict[str, Any], field: str) -> str:
    text = data.get(field, "")
    if not isinstance(text, str):
        raise InvalidDocumentError(f"{field}={text!r} of a line is no text.")
    return text


def line_text(line: Line) -> str:
    """The line as it is written.

    Raises:
        StoreError: it holds text that no file can hold.
    """
    try:
        content = _removal(line.key) if line.entry is None else line.entry.to_dict()
        if line.at:
            content["listed_at"] = line.at
        return msgspec.json.encode(content).decode("utf-8")
    except UnicodeEncodeError as error:
        name, kind, *_ = line.key
        raise StoreError(f"The entry of {kind} {name!r} cannot be written: {error}") from error


def _removal(key: Key) -> dict[str, Any]:
    # Earlier versions of this package skip it with a warning: it lacks what an entry must have.
    names = dict(zip(KEY, key, strict=True))
    return {"schema": SCHEMA, "is_removed": True, **names}


def time_after(line: Line | None) -> str:
    """Now, or the moment after that line was written where the clock that it was written by is ahead."""
    now = _text(datetime.now(UTC))
    if line is None or line.at < now:
        return now
    try:
        return _text(datetime.fromisoformat(line.at) + timedelta(microseconds=1))
    except (ValueError, OverflowError, TypeError):
        # No time at all; what goes on from a text sorts after it.
        return f"{line.at}+"


def needed(lines: Sequence[Line], *, are_all: bool) -> list[int]:
    """The positions of those lines that must be kept when these are merged.

    A line that removes is kept as well as one that lists: what it removes may be in another file yet, that
    somebody is merging now.

    Args:
        lines: what is merged.
        are_all: whether there are no others. Removals of long ago can be forgotten then.
    """
    latest: dict[Key, int] = {}
    for position, line in enumerate(lines):
        other = latest.get(line.key)
        if other is None or line.is_later_than(lines[other]):
            latest[line.key] = position
    oldest = _text(datetime.now(UTC) - REMOVALS_KEPT)
    return sorted(
        position
        for position in latest.values()
        if lines[position].entry is not None or not are_all or lines[position].at >= oldest
    )


def _text(moment: datetime) -> str:
    # Always of the same length.
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
