"""Where event logs lie: in files, folders of any depth, and globs, on this machine or wherever fsspec reads.

Only listings are read here. A folder of which the names say that it is one log (rolled over by Spark, or
Databricks') is one; every other file may be a log, and who reads it sees whether it is (`scan`). A ZIP, as
the History Server gives logs that are downloaded from it, is gone through as a folder is.
"""

from __future__ import annotations

import fnmatch
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from airflow_provider_ernest.eventlog.files import DATABRICKS_NAME, databricks_order, events_number
from airflow_provider_ernest.exceptions import ErnestError, InvalidParameterError, MissingResourceError
from airflow_provider_ernest.places import HTTP_SCHEMES, Archive, Entry, ZipPlace, is_zip, place_of
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.words import count

MOST_ENTRIES = 2_000_000  # files and folders that are looked at; more are a slip, such as the root of a disk
MOST_DEPTH = 20  # folders in folders: links on other storage than this machine's cannot be told from folders

HIDDEN, EMPTY, ARCHIVE, NO_ZIP, NO_FILE, LOCKED, DEEP, OLD = (
    "hidden or a marker, by its name",
    "empty",
    "an archive: unpack it",
    "a ZIP that is damaged or may not be read",
    "a broken link, a pipe or a device",
    "folder that may not be read",
    f"more than {MOST_DEPTH} folders deep",
    "written before the time asked for",
)
"""Why something is passed over."""

_MAGIC = re.compile(r"[*?\[]")
_NEVER_LOGS = (".crc", ".tmp", ".parquet", ".orc", ".avro", ".csv", ".html", ".jar", ".py", ".md")
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz", ".7z", ".rar", ".bz2", ".xz")
_BESIDE_LOGS = ("driver", "executor", "init_scripts")
_IN_NO_LOG = ("appstatus_", ".", "_")


@dataclass(frozen=True, kw_only=True)
class FoundLog:
    """An event log, perhaps: that it is one shows when it is read."""

    place: str  # its file, or the folder of one that is rolled over, as `read_event_log` takes it
    size_bytes: int  # of all its files, as they lie there
    modified_at: float | None  # when it was written last, in seconds since the epoch; None where unknown
    version: str  # changes with its content


class LogFinder:
    """Finds event logs, but for what was written last before `since`, in seconds since the epoch."""

    def __init__(self, *, since: float | None = None) -> None:
        self.passed_over: Counter[str] = Counter()  # how much was, by the reason
        self._since = since
        self._looked_at = 0
        self._seen: set[str] = set()

    def find(self, sources: Iterable[str]) -> Iterator[FoundLog]:
        """The logs, each once, in files, folders and globs (``**`` is any depth).

        A `MissingResourceError` where there is no such place, or it cannot be looked at.
        """
        for source in sources:
            try:
                yield from self._found(source)
            except ErnestError:
                raise
            # The libraries behind object stores raise errors of their own.
            except Exception as error:
                told = getattr(error, "strerror", None) or str(error)
                # By HTTP the error is the address alone, whatever was wrong.
                if told in ("", source):
                    told = str(error.__cause__ or "") or type(error).__name__
                raise MissingResourceError(
                    f"{without_credentials(source)} cannot be looked at: {without_credentials(told)}.",
                    remedy="Check that it exists and may be read from here.",
                ) from error

    def _found(self, source: str) -> Iterator[FoundLog]:
        if of_server := list(_logs_of_history_server(source)):
            for address, written_at in of_server:
                if self._since is not None and written_at < self._since:
                    self.passed_over[OLD] += 1
                else:
                    yield from self._found(address)
            return
        entries: list[Entry] = []
        if _MAGIC.search(source):
            parts = source.split("/")
            first = next(at for at, part in enumerate(parts) if _MAGIC.search(part))
            base = place_of("/".join(parts[:first]) or ("/" if first else "."))
            if base.is_dir():
                entries = list(self._below(base, parts[first:], 0))
        for entry in entries or [place_of(source).entry()]:
            # What a user names is looked at whatever its name.
            yield from self._in_folder(entry, 0) if entry.is_folder else self._of_file(entry, 0)

    def _below(self, folder: Any, parts: list[str], depth: int) -> Iterator[Entry]:
        """What matches the parts of a pattern, each of one level, but ``**`` of any number."""
        part, *rest = parts
        any_depth = part == "**"
        if any_depth and rest:
            yield from self._below(folder, rest, depth)
        for entry in self._listed(folder, depth):
            name = entry.place.name
            if any_depth:
                if entry.is_folder and self._is_new(entry, "/".join(parts)):
                    yield from self._below(entry.place, parts, depth + 1)
                elif not rest and not entry.is_folder:
                    yield entry
            elif fnmatch.fnmatchcase(name, part) and (not name.startswith(".") or part.startswith(".")):
                if not rest or rest == [""]:
                    yield entry
                elif entry.is_folder:
                    yield from self._below(entry.place, rest, depth + 1)

    def _listed(self, folder: Any, depth: int) -> list[Entry]:
        """What a folder holds, by name; nothing of one that may not be read."""
        if depth > MOST_DEPTH:
            self.passed_over[DEEP] += 1
            return []
        found: list[Entry] = []
        try:
            for entry in folder.entries():
                self._looked_at += 1
                if self._looked_at > MOST_ENTRIES:
                    raise InvalidParameterError(
                        "logs",
                        without_credentials(str(folder)),
                        f"and what was named before it hold more than {count(MOST_ENTRIES)} files",
                        remedy="Name the folder of the event logs.",
                    )
                found.append(entry)
        except InvalidParameterError:
            raise
        except Exception:
            # One folder of thousands, such as another user's, costs no other; the first is the user's own.
            if depth == 0:
                raise
            self.passed_over[LOCKED] += 1
        return sorted(found, key=lambda entry: str(entry.place.name))

    def _in_folder(self, folder: Entry, depth: int) -> Iterator[FoundLog]:
        if not self._is_new(folder):
            return
        inside = self._listed(folder.place, depth)
        # The files of a log that has this folder for itself.
        files = [each for each in inside if each.is_file]
        rolled = [each for each in files if events_number(each.place.name) is not None]
        parts = rolled or [each for each in files if databricks_order(each.place.name) is not None]
        if parts:
            yield from self._log(str(folder.place), parts)
        if rolled:
            return
        # Beside its folder of logs Databricks delivers what the driver and the executors printed.
        is_databricks = any(each.is_folder and each.place.name == DATABRICKS_NAME for each in inside)
        for entry in inside:
            if entry.is_folder:
                is_beside = is_databricks and entry.place.name in _BESIDE_LOGS
                if not is_beside and self._is_open(entry):
                    yield from self._in_folder(entry, depth + 1)
            elif entry not in parts and self._is_open(entry):
                yield from self._of_file(entry, depth)

    def _is_open(self, entry: Entry) -> bool:
        """Whether a name does not say that there is no log."""
        name = entry.place.name
        hidden = name.startswith(_IN_NO_LOG) or (not entry.is_folder and name.endswith(_NEVER_LOGS))
        self.passed_over.update([HIDDEN] * hidden)
        return not hidden

    def _of_file(self, entry: Entry, depth: int) -> Iterator[FoundLog]:
        if not entry.is_file:
            self.passed_over[NO_FILE] += 1
        elif is_zip(entry.place) and not isinstance(entry.place, ZipPlace):
            archive = Archive(entry.place)
            try:
                archive.content.namelist()
            # As where a folder may not be read: one of thousands costs no other.
            except Exception:
                self.passed_over[NO_ZIP] += 1
                return
            yield from self._in_folder(Entry(place=ZipPlace(archive), is_folder=True), depth + 1)
        # A ZIP in another is nobody's event log.
        elif entry.place.name.endswith(_ARCHIVES) or is_zip(entry.place):
            self.passed_over[ARCHIVE] += 1
        elif not entry.size_bytes and entry.version:
            self.passed_over[EMPTY] += 1
        else:
            yield from self._log(str(entry.place), [entry])

    def _log(self, place: str, files: list[Entry]) -> Iterator[FoundLog]:
        moments = [each.modified_at for each in files if each.modified_at is not None]
        modified_at = max(moments) if len(moments) == len(files) else None
        if self._since is not None and modified_at is not None and modified_at < self._since:
            self.passed_over[OLD] += 1
        elif place not in self._seen:
            self._seen.add(place)
            told = "\n".join(f"{each.place.name} {each.version or each.size_bytes}" for each in files)
            yield FoundLog(
                place=place,
                size_bytes=sum(each.size_bytes for each in files),
                modified_at=modified_at,
                version=hashlib.sha256(told.encode(errors="surrogateescape")).hexdigest()[:16],
            )

    def _is_new(self, folder: Entry, pattern: str = "") -> bool:
        """Whether it was not gone through yet: links may lead in circles, and sources overlap."""
        name = f"folder {pattern}\n{folder.version or folder.place}"
        is_new = name not in self._seen
        self._seen.add(name)
        return is_new


class _Attempt(msgspec.Struct, rename="camel"):
    attempt_id: str = ""
    last_updated_epoch: float = math.inf


class _OnServer(msgspec.Struct):
    """An application, as Spark's history server tells it."""

    id: str
    attempts: list[_Attempt] = []


def _logs_of_history_server(address: str) -> Iterator[tuple[str, float]]:
    """The addresses of all event logs of a history server, and when each was written last; else none."""
    base = address.rstrip("/").removesuffix("/api/v1/applications").removesuffix("/api/v1")
    if not address.startswith(HTTP_SCHEMES) or "/api/v1/" in base:
        return
    try:
        with place_of(f"{base}/api/v1/applications").open() as answer:
            applications = msgspec.json.decode(answer.read(), type=list[_OnServer])
    # Whatever else stands there is looked at as it is, and says what is wrong with it.
    except Exception:
        return
    for each in applications:
        for attempt in each.attempts:
            parts = filter(None, (base, "api/v1/applications", each.id, attempt.attempt_id, "logs"))
            yield "/".join(parts), attempt.last_updated_epoch / 1000
