"""Reading the event logs of thousands of runs, in processes, and each but once.

What was read is kept in a folder, if one is named: a scan that is repeated, or was interrupted, reads only
what is new or has changed. A log that cannot be read, or takes its process with it, costs no other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.exceptions import InvalidDocumentError, InvalidParameterError
from airflow_provider_ernest.history.finding import FoundLog, LogFinder
from airflow_provider_ernest.history.jobs import NO_JOB, JobNames
from airflow_provider_ernest.history.pool import Pool, cores
from airflow_provider_ernest.history.worker import PROBLEM, PROFILE, RUN
from airflow_provider_ernest.places import local_path
from airflow_provider_ernest.version import __version__

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.profiles import RunProfile

MOST_TASKS = 1_000_000
"""Of a log that is read: a process takes 230 MB for so many."""

MOST_SECONDS = 900.0
"""For one log."""

COPY = "a copy of another log"

_FRESH_SECONDS = 86_400.0
"""A log without an end that was written to more lately may go on: it is read again next time."""

_DAYS_KEPT = 180
_LEAST_LINES_TO_DROP = 1000
"""Of what is kept: so long where no scan asks for it, and so many lines are no burden whatever they hold."""

_FORM = 7
"""Of what is kept; another number when a log would tell more, or something else."""

Told = Callable[[int, int], None]
"""Is told how many logs are done, and of how many."""


def scan(
    logs: Iterable[str | os.PathLike[str]],
    *,
    names: JobNames | None = None,
    since: datetime | None = None,
    processes: int | None = None,
    cache: str | Path | None = None,
    most_tasks: int = MOST_TASKS,
    most_seconds: float = MOST_SECONDS,
    told: Told | None = None,
) -> Scan:
    """Find event logs and read them; gives the runs as they are read, those that are known already first.

    Args:
        logs: files, folders of any depth, globs, or addresses of such that fsspec reads.
        names: how runs are told apart by jobs; by rule where None.
        since: only runs that started then or later.
        processes: that read at the same time; as many as there are cores where None.
        cache: folder in which what was read is kept; None to keep nothing. What it keeps tells no arguments,
            paths or texts of queries but where the logs lie.
        most_tasks: of a log; one with more counts as unread, to bound the memory.
        most_seconds: for one log, likewise.
        told: of the progress.

    Returns:
        An iterator of the runs, also of those that do not count (`PastRun.failure` says why).

    Raises:
        MissingResourceError: (while it is gone through) there is no such place, or nothing that reads it.
        InvalidParameterError: (likewise) there are more files than anybody means.
    """
    return Scan(
        [_absolute(os.fspath(log)) for log in logs],
        names=names or JobNames(),
        since=since,
        processes=processes or cores(),
        cache=_Cache(cache),
        limits={"most_tasks": most_tasks, "most_seconds": most_seconds},
        told=told or (lambda done, of: None),
    )


def _absolute(source: str) -> str:
    """What is kept of a run names its log, also for whoever reads that from another folder."""
    local = local_path(source)
    return source if local is None else str(Path(local).expanduser().absolute())


class Scan(Iterator[PastRun]):
    """Runs of event logs; see `scan`. What it counts is complete when it has come to its end.

    Attributes:
        logs: that were found.
        read: of them in this scan; the others were known.
        unread: how many could not be, by the reason.
        passed_over: files and folders that are no logs by their name or kind, by the reason.
        stated: jobs' names that the user's pattern or mapping gave.
    """

    def __init__(
        self,
        sources: list[str],
        *,
        names: JobNames,
        since: datetime | None,
        processes: int,
        cache: _Cache,
        limits: dict[str, Any],
        told: Told,
    ) -> None:
        self.logs = 0
        self.read = 0
        self.unread: Counter[str] = Counter()
        self.stated: set[str] = set()
        self._names = names
        self._since = since
        self._processes = processes
        self._cache = cache
        self._limits = limits
        self._told = told
        self._finder = LogFinder(since=None if since is None else since.timestamp())
        self._done = 0
        self._seen: dict[tuple[str, str], bool] = {}
        self._runs = self._scanned(sources)

    @property
    def passed_over(self) -> Counter[str]:
        """See the class."""
        return self._finder.passed_over

    def __next__(self) -> PastRun:
        return next(self._runs)

    def close(self) -> None:
        """Stop reading, and end its processes."""
        self._runs.close()

    def _scanned(self, sources: list[str]) -> Generator[PastRun, None, None]:
        found: dict[str, FoundLog] = {}
        for log in self._finder.find(sources):
            found[_key(log.place, log.size_bytes, log.version)] = log
            self.logs = len(found)
        for key, answer in self._cache.answers(found.keys()):
            if answer.get("most_tasks", self._limits["most_tasks"]) != self._limits["most_tasks"]:
                continue
            # What another version kept may not be readable: then it is read anew.
            try:
                runs = list(self._run_of(answer))
            except InvalidDocumentError:
                continue
            del found[key]
            self._is_done()
            yield from runs
        yield from self._read(found)

    def _read(self, found: dict[str, FoundLog]) -> Iterator[PastRun]:
        # The largest first: at the end all processes have small ones left.
        waiting = sorted(found.items(), key=lambda each: -each[1].size_bytes)
        pool = Pool(min(self._processes, len(waiting)), most_seconds=self._limits["most_seconds"])
        asked = ((key, {"what": RUN, "place": log.place, **self._limits}) for key, log in waiting)
        for key, answer in pool.answers(asked):
            self.read += 1
            if _is_lasting(answer, found.pop(key)):
                self._cache.keep(key, answer)
            self._is_done()
            yield from self._run_of(answer)

    def _is_done(self) -> None:
        self._done += 1
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
            self.unread[COPY] += 1
            return
        self._seen[same] = not run.failure
        if stated := self._names.stated_job_of(run.job, run.main):
            self.stated.add(stated)
        if not self._names.told_job_of(run.job, run.main):
            run = replace(run, failure=run.failure or NO_JOB, metrics=None)
        yield replace(run, job=self._names.job_of(run.job, run.main))


def _is_lasting(answer: dict[str, Any], log: FoundLog) -> bool:
    """Whether the log would tell the same next time."""
    if RUN not in answer:
        return bool(answer.get("is_lasting"))
    is_fresh = log.modified_at is None or time.time() - log.modified_at < _FRESH_SECONDS
    return bool(answer.get("is_complete")) or not is_fresh


def profiles(
    runs: Iterable[PastRun],
    *,
    processes: int | None = None,
    cache: str | Path | None = None,
    most_tasks: int = MOST_TASKS,
    most_seconds: float = MOST_SECONDS,
    told: Told | None = None,
) -> Iterator[tuple[PastRun, RunProfile | None]]:
    """Where the time of past runs went: their logs are read again and analysed.

    Args:
        runs: of a scan.
        processes: see `scan`.
        cache: likewise.
        most_tasks: likewise.
        most_seconds: likewise.
        told: likewise.

    Returns:
        Each run with its profile, in the order in which they come; None where its log cannot be read again.
    """
    from airflow_provider_ernest.documents.profiles import RunProfile

    keeper = _Cache(cache, name="profiles.jsonl")
    waiting = {_key(run.event_log, run.application_id, run.started_at, run.seconds): run for run in runs}
    total = len(waiting)

    def done(key: str, answer: dict[str, Any]) -> tuple[PastRun, RunProfile | None]:
        profile = RunProfile.from_dict(answer[PROFILE]) if PROFILE in answer else None
        run = waiting.pop(key)
        if told is not None:
            told(total - len(waiting), total)
        return run, profile

    for key, answer in keeper.answers(waiting.keys()):
        try:
            known = done(key, answer)
        except InvalidDocumentError:
            continue
        yield known
    limits = {"most_tasks": most_tasks, "most_seconds": most_seconds}
    asked = [(key, {"what": PROFILE, "place": run.event_log, **limits}) for key, run in waiting.items()]
    pool = Pool(min(processes or cores(), len(asked)), most_seconds=most_seconds)
    for key, answer in pool.answers(asked):
        if PROFILE in answer:
            keeper.keep(key, answer)
        yield done(key, answer)


def profile_of(run: PastRun, *, cache: str | Path | None = None) -> RunProfile | None:
    """Where the time of one past run went; None where its log cannot be read any more."""
    return next(profiles([run], processes=1, cache=cache))[1]


def _key(place: str, *state: object) -> str:
    """Of what is kept of a log: who wrote it, where the log lies, and in which state it was."""
    return _digest(__version__, _FORM)[:8] + _digest(place)[:12] + _digest(*state)[:12]


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode(errors="surrogateescape")).hexdigest()


class _Cache:
    """What was read, a line of JSON each, by a digest of the log's place, size and version.

    Lines are added, each by one write: scans at the same time, and those that are killed, cost nothing. Where
    most lines are of no use any more, the file is written anew without them; what another scan adds in that
    moment may have to be read again.

    Args:
        folder: only its user may enter; None to keep nothing.
        name: of the file.
    """

    _BEGINS = b'{"key": "'
    _KEY = slice(len(_BEGINS), len(_BEGINS) + 32)
    _PLACE = slice(_KEY.start + 8, _KEY.start + 20)
    _BETWEEN = b'", "kept": "'
    _DAY = slice(_KEY.stop + len(_BETWEEN), _KEY.stop + len(_BETWEEN) + 10)

    def __init__(self, folder: str | Path | None, *, name: str = "runs.jsonl") -> None:
        self._file = None if folder is None else Path(folder).expanduser() / name
        if self._file is not None:
            try:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file.touch(mode=0o600)
            except OSError as error:
                raise InvalidParameterError(
                    "cache",
                    str(folder),
                    f"cannot be written to: {error.strerror}",
                    remedy="Name another folder.",
                ) from error

    def answers(self, keys: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Those that are known, one by one: there may be more than memory holds.

        Args:
            keys: that are asked for; whoever takes one out of them is not given it again.
        """
        if self._file is None:
            return
        asked, lines = frozenset(keys), 0
        newest: dict[bytes, int] = {}
        with self._file.open("rb") as file:
            for line in filter(bytes.strip, file):
                lines += 1
                key = line[self._KEY].decode(errors="replace")
                if self._is_of_use(line, asked):
                    newest[line[self._PLACE]] = lines
                if key in keys:
                    try:
                        yield key, json.loads(line)
                    # The last of a process that was killed while it wrote.
                    except ValueError:
                        continue
        if lines >= _LEAST_LINES_TO_DROP and len(newest) <= lines // 2:
            self._write_anew(newest, asked)

    def _is_of_use(self, line: bytes, asked: Collection[str]) -> bool:
        """Whether this version wrote it, all of it, and lately, or it was asked for now."""
        if line[: self._KEY.start + 8] != self._BEGINS + _key("")[:8].encode() or not line.endswith(b"}\n"):
            return False
        return line[self._KEY].decode() in asked or line[self._DAY].decode(errors="replace") >= _day(
            _DAYS_KEPT
        )

    def _write_anew(self, newest: Mapping[bytes, int], asked: Collection[str]) -> None:
        """Of each log what was kept last; what cannot be written now is left as it is."""
        if self._file is None:
            return
        today, lines = _day(), 0
        folder, beginning = self._file.parent, f"{self._file.name}."
        with (
            contextlib.suppress(OSError),
            self._file.open("rb") as file,
            NamedTemporaryFile(dir=folder, prefix=beginning, delete=False) as fresh,
        ):
            try:
                for line in filter(bytes.strip, file):
                    lines += 1
                    if newest.get(line[self._PLACE]) == lines:
                        is_asked = line[self._KEY].decode() in asked
                        day = today.encode() if is_asked else line[self._DAY]
                        fresh.write(line[: self._DAY.start] + day + line[self._DAY.stop :])
                fresh.flush()
                Path(fresh.name).replace(self._file)
            except BaseException:
                Path(fresh.name).unlink(missing_ok=True)
                raise

    def keep(self, key: str, answer: dict[str, Any]) -> None:
        """Remember an answer."""
        if self._file is None:
            return
        # What another process was killed over ends with this line's beginning.
        line = b"\n" + json.dumps({"key": key, "kept": _day(), **answer}).encode() + b"\n"
        target = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode=0o600)
        try:
            os.write(target, line)
        finally:
            os.close(target)


def _day(before: int = 0) -> str:
    """Today, or so many days before."""
    return (datetime.now(UTC) - timedelta(days=before)).date().isoformat()
