"""How Spark names event logs: by the application, with what tells compression and state."""

from __future__ import annotations

import re

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


def events_number(name: str) -> int | None:
    """The number of a file of a log that is rolled over; None where the name is none of such."""
    found = _EVENTS_NUMBER.match(name)
    return int(found.group(1)) if found else None
