"""Finding the event logs of thousands of runs, and reading each but once.

Logs lie in files, folders of any depth, and globs, on this machine or wherever fsspec reads. A folder of
which the names say that it is one log (rolled over by Spark, or Databricks') is one; every other file may be
a log, which shows when it is read. A ZIP, as the History Server gives logs, is gone through as a folder is.

What was read is kept in a folder, if one is named: a scan that is repeated, or was interrupted, reads only
what is new or has changed. How logs are read is the matter of `reading`, or of `on_spark`.
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.eventlog.files import databricks_order, events_number
from airflow_provider_ernest.exceptions import ErnestError, InvalidParameterError, MissingResourceError
from airflow_provider_ernest.history.jobs import NO_JOB, JobNames
from airflow_provider_ernest.history.reading import PROBLEM, PROFILE, RUN, Reader, in_processes
from airflow_provider_ernest.places import (
    HTTP_SCHEMES,
    Archive,
    Entry,
    ZipPlace,
    is_zip,
    local_path,
    place_of,
)
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.version import __version__
from airflow_provider_ernest.words import count

MOST_ENTRIES = 2_000_000  # files and folders that are looked at; more are a slip, such as the root of a disk

HIDDEN, EMPTY, ARCHIVE, NO_ZIP, NO_FILE, LOCKED, OLD = (
    "hidden or a marker, by its name",
    "empty",
    "an archive: unpack it",
    "a ZIP that is damaged or may not be read",
    "a broken link, a pipe or a device",
    "folder that may not be read",
    "written before the time asked for",
)
"""Why something is passed over."""

_MAGIC = re.compile(r"[*?\[]")
_NEVER_LOGS = (".crc", ".tmp", ".parquet", ".orc", ".avro", ".csv", ".html", ".jar", ".py", ".md")
_ARCHIVES = (".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz", ".7z", ".rar", ".bz2", ".xz")
_IN_NO_LOG = ("appstatus_", ".", "_")

_FRESH_SECONDS = 86_400.0
"""A log without an end that was written to more lately may go on: it is read again next time."""

_FORM = 10  # of what is kept; another number when a log would tell more, or something else

Told = Callable[[int, int], None]  # is told how many logs are done, and of how many


class Scan(Iterator[PastRun]):
    """Finds event logs and reads them; gives the runs as they are read, those that are known already first.

    Runs that do not count are among them (`PastRun.failure` says why). The counts are complete at its end.

    Args:
        logs: files, folders of any depth, globs, or addresses of such that fsspec reads.
        names: how runs are told apart by jobs; by rule where None.
        since: only runs that started then or later.
        reader: reads the logs, such as `on_spark.SparkReader`; by default a process of this machine a core.
        cache: folder in which what was read is kept, but no arguments or queries; None to keep nothing.
        told: of the progress.

    Raises:
        MissingResourceError: (while it is gone through) there is no such place, nothing that reads it, or no
            process that reads can be started.
        InvalidParameterError: (likewise) there are more files than anybody means; or nothing can be kept in
            the folder.
    """

    logs = 0  # that were found
    read = 0  # of them in this scan; the others were known
    passed_over: Counter[str]  # files and folders that are no logs by their name or kind, by the reason

    def __init__(
        self,
        logs: Iterable[str | os.PathLike[str]],
        *,
        names: JobNames | None = None,
        since: datetime | None = None,
        reader: Reader | None = None,
        cache: str | Path | None = None,
        told: Told | None = None,
    ) -> None:
        self.unread: Counter[str] = Counter()  # how many could not be, by the reason
        self.stated: set[str] = set()  # jobs' names that the user's pattern or mapping gave
        self._names = names or JobNames()
        self._since = since
        self._reader = reader or in_processes()
        self._cache = _Cache(cache)
        self._told = told
        finder = LogFinder(since=None if since is None else since.timestamp())
        self.passed_over = finder.passed_over
        self._done = 0
        self._seen: dict[tuple[str, str], bool] = {}
        self._runs = self._scanned(finder.find(map(_absolute, logs)))

    def __next__(self) -> PastRun:
        return next(self._runs)

    def close(self) -> None:
        """Stop reading, and end its processes."""
        self._runs.close()

    def _scanned(self, logs: Iterable[Entry]) -> Generator[PastRun, None, None]:
        found: dict[str, Entry] = {}
        for log in logs:
            found[_key(log.place, log.size_bytes, log.version)] = log
            self.logs = len(found)
        for key, answer in self._cache.answers(found.keys()):
            del found[key]
            self._is_done()
            yield from self._run_of(answer)
        # The largest first: at the end all processes have small ones left.
        waiting = sorted(found.items(), key=lambda each: -each[1].size_bytes)
        places = {key: log.place for key, log in waiting}
        for key, answer in self._reader(RUN, places):
            self.read += 1
            modified_at = found.pop(key).modified_at
            is_old = modified_at is not None and time.time() - modified_at >= _FRESH_SECONDS
            if answer.get("is_lasting") or (RUN in answer and is_old):
                self._cache.keep(key, answer)
            self._is_done()
            yield from self._run_of(answer)

    def _is_done(self) -> None:
        self._done += 1
        if self._told is not None:
            self._told(self._done, self.logs)

    def _run_of(self, answer: dict[str, Any]) -> Iterator[PastRun]:
        """The run that an answer tells of, if it is one that is asked for."""
        if RUN not in answer:
            self.unread[answer[PROBLEM]] += 1
            return
        run = PastRun.from_dict(answer[RUN])
        if self._since is not None and datetime.fromisoformat(run.started_at) < self._since:
            return
        same = (run.application_id, run.started_at)
        if self._seen.get(same) or (run.failure and same in self._seen):
            self.unread["a copy of another log"] += 1
            return
        self._seen[same] = not run.failure
        if stated := self._names.stated_job_of(run.job, run.main):
            self.stated.add(stated)
        if not self._names.told_job_of(run.job, run.main):
            run = replace(run, failure=run.failure or NO_JOB, metrics=None)
        yield replace(run, job=self._names.job_of(run.job, run.main))


def _absolute(log: str | os.PathLike[str]) -> str:
    """What is kept of a run names its log, also for whoever reads that from another folder."""
    source = os.fspath(log)
    local = local_path(source)
    return source if local is None else str(Path(local).expanduser().absolute())


def profiles(
    runs: Iterable[PastRun],
    *,
    reader: Reader | None = None,
    cache: str | Path | None = None,
    told: Told | None = None,
) -> Iterator[tuple[PastRun, RunProfile | None]]:
    """Past runs and where their time went; None where a log cannot be read again. See `Scan`."""
    keeper = _Cache(cache, name="profiles")
    waiting = {_key(run.event_log, run.application_id, run.started_at, run.seconds): run for run in runs}
    total = len(waiting)

    def done(key: str, answer: dict[str, Any]) -> tuple[PastRun, RunProfile | None]:
        profile = RunProfile.from_dict(answer[PROFILE]) if PROFILE in answer else None
        run = waiting.pop(key)
        if told is not None:
            told(total - len(waiting), total)
        return run, profile

    for key, answer in keeper.answers(waiting.keys()):
        yield done(key, answer)
    places = {key: run.event_log for key, run in waiting.items()}
    for key, answer in (reader or in_processes())(PROFILE, places):
        if PROFILE in answer:
            keeper.keep(key, answer)
        yield done(key, answer)


# Finding the logs.


class LogFinder:
    """Finds event logs, but for what was written last before `since`, in seconds since the epoch."""

    def __init__(self, *, since: float | None = None) -> None:
        self.passed_over: Counter[str] = Counter()  # how much was, by the reason
        self._since = since
        self._looked_at = 0
        self._seen: set[str] = set()

    def find(self, sources: Iterable[str]) -> Iterator[Entry]:
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

    def _found(self, source: str) -> Iterator[Entry]:
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

    def _in_folder(self, folder: Entry, depth: int) -> Iterator[Entry]:
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
        for entry in inside:
            if entry.is_folder:
                if self._is_open(entry):
                    yield from self._in_folder(entry, depth + 1)
            elif entry not in parts and self._is_open(entry):
                yield from self._of_file(entry, depth)

    def _is_open(self, entry: Entry) -> bool:
        """Whether a name does not say that there is no log."""
        name = entry.place.name
        hidden = name.startswith(_IN_NO_LOG) or (not entry.is_folder and name.endswith(_NEVER_LOGS))
        self.passed_over.update([HIDDEN] * hidden)
        return not hidden

    def _of_file(self, entry: Entry, depth: int) -> Iterator[Entry]:
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

    def _log(self, place: str, files: list[Entry]) -> Iterator[Entry]:
        moments = [each.modified_at for each in files if each.modified_at is not None]
        modified_at = max(moments) if len(moments) == len(files) else None
        if self._since is not None and modified_at is not None and modified_at < self._since:
            self.passed_over[OLD] += 1
        elif place not in self._seen:
            self._seen.add(place)
            told = "\n".join(f"{each.place.name} {each.version or each.size_bytes}" for each in files)
            yield Entry(
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


# What is kept.


def _key(place: str, *state: object) -> str:
    """Of what is kept of a log: where it lies, and in which state it was."""
    return _digest(place)[:16] + _digest(*state)[:16]


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode(errors="surrogateescape")).hexdigest()


class _Cache:
    """What was read, a line of JSON each, by a digest of the log's place, size and version.

    Lines are added, each by one write: scans at the same time, and those that are killed, do no harm. What
    another version of this package kept is removed. Only its user may enter the folder; None keeps nothing.
    """

    def __init__(self, folder: str | Path | None, *, name: str = "runs") -> None:
        self._file: Path | None = None
        if folder is None:
            return
        kept = Path(folder).expanduser()
        self._file = kept / f"{name}-{_digest(__version__, _FORM)[:16]}.jsonl"
        try:
            kept.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file.touch(mode=0o600)
            for file in kept.glob(f"{name}-{'[0-9a-f]' * 16}.jsonl"):
                if file != self._file:
                    file.unlink(missing_ok=True)
        except OSError as error:
            raise InvalidParameterError(
                "cache", str(folder), f"cannot be written to: {error.strerror}", remedy="Name another folder."
            ) from error

    def answers(self, keys: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Those that are known, one by one; a key that is taken out of those asked for is not given again."""
        if self._file is None:
            return
        with self._file.open("rb") as lines:
            for line in lines:
                # After b'{"key": "'.
                if (key := line[9:41].decode(errors="replace")) in keys:
                    # The last of a process that was killed while it wrote is no JSON.
                    with contextlib.suppress(ValueError):
                        yield key, json.loads(line)

    def keep(self, key: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        if self._file is None:
            return
        # What another process was killed over ends with this line's beginning.
        line = b"\n" + json.dumps({"key": key, **answer}).encode() + b"\n"
        target = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode=0o600)
        try:
            os.write(target, line)
        finally:
            os.close(target)
