"""How Spark names event logs: by the application, with what tells compression and state."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
