"""Reading the event logs of thousands of runs, in processes, and each but once.

What was read is kept in a folder, if one is named: a scan that is repeated, or was interrupted, reads only
what is new or has changed. A log that cannot be read, or takes its process with it, costs no other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.exceptions import (
    ErnestError,
    InvalidDocumentError,
    InvalidParameterError,
    MissingResourceError,
)
from airflow_provider_ernest.history.finding import FoundLog, LogFinder
from airflow_provider_ernest.history.jobs import NO_JOB, JobNames
from airflow_provider_ernest.places import Place, boto3_client, local_path, place_of
from airflow_provider_ernest.privacy import without_addresses
from airflow_provider_ernest.version import __version__
from airflow_provider_ernest.words import duration

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.profiles import RunProfile

MOST_TASKS = 1_000_000  # of a log that is read: a process takes 230 MB for so many
MOST_SECONDS = 900.0  # for one log


RUN, PROFILE, PROBLEM = "run", "profile", "problem"  # what an answer holds; the first two are asked for

_FRESH_SECONDS = 86_400.0
"""A log without an end that was written to more lately may go on: it is read again next time."""

_MONTHS_KEPT = 6

_FORM = 7  # of what is kept; another number when a log would tell more, or something else

Told = Callable[[int, int], None]  # is told how many logs are done, and of how many


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Scan(Iterator[PastRun]):
    """Finds event logs and reads them; gives the runs as they are read, those that are known already first.

    Runs that do not count are among them (`PastRun.failure` says why). The counts are complete at its end.

    Args:
        logs: files, folders of any depth, globs, or addresses of such that fsspec reads.
        names: how runs are told apart by jobs; by rule where None.
        since: only runs that started then or later.
        processes: that read at the same time; as many as there are cores where None.
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
        processes: int | None = None,
        cache: str | Path | None = None,
        told: Told | None = None,
    ) -> None:
        self.unread: Counter[str] = Counter()  # how many could not be, by the reason
        self.stated: set[str] = set()  # jobs' names that the user's pattern or mapping gave
        self._names = names or JobNames()
        self._since = since
        self._processes = processes or cores()
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

    def _scanned(self, logs: Iterable[FoundLog]) -> Generator[PastRun, None, None]:
        found: dict[str, FoundLog] = {}
        for log in logs:
            found[_key(log.place, log.size_bytes, log.version)] = log
            self.logs = len(found)
        for key, answer in self._cache.answers(found.keys()):
            # What another version kept may not be readable: then it is read anew.
            try:
                runs = list(self._run_of(answer))
            except InvalidDocumentError:
                continue
            del found[key]
            self._is_done()
            yield from runs
        # The largest first: at the end all processes have small ones left.
        waiting = sorted(found.items(), key=lambda each: -each[1].size_bytes)
        places = {key: log.place for key, log in waiting}
        for key, answer in _answers(RUN, places, processes=self._processes):
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
    processes: int | None = None,
    cache: str | Path | None = None,
    told: Told | None = None,
) -> Iterator[tuple[PastRun, RunProfile | None]]:
    """Past runs and where their time went; None where a log cannot be read again. See `Scan`."""
    from airflow_provider_ernest.documents.profiles import RunProfile

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
        with contextlib.suppress(InvalidDocumentError):
            yield done(key, answer)
    places = {key: run.event_log for key, run in waiting.items()}
    for key, answer in _answers(PROFILE, places, processes=processes or cores()):
        if PROFILE in answer:
            keeper.keep(key, answer)
        yield done(key, answer)


# Reading in several processes.


def _answers(what: str, places: Mapping[str, str], *, processes: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the logs tell, each with the key of its place, in the order in which they have been read.

    A process that dies, as where memory runs out, takes its pool with it. The logs that were being read then
    are read again, each alone; one that ends its process once more is given up.
    """
    left = dict(places)
    while left:
        for suspect in (yield from _answers_of_a_pool(what, left, processes)):
            alone = {suspect: left.pop(suspect)}
            if (yield from _answers_of_a_pool(what, alone, 1)):
                yield suspect, {PROBLEM: "reading it ended its process"}


def _answers_of_a_pool(
    what: str, left: dict[str, str], processes: int
) -> Generator[tuple[str, dict[str, Any]], None, list[str]]:
    """The same by one pool, until a process dies; returns the keys of the logs that were being read then."""
    running: dict[Future[dict[str, Any]], str] = {}
    waiting = iter(list(left))
    # Nothing is ever sent: the processes end when the other end of the pipe is closed, and so when this
    # process dies.
    life, held = _SPAWN.Pipe(duplex=False)
    pool = ProcessPoolExecutor(
        min(processes, len(left)), mp_context=_SPAWN, initializer=_begin, initargs=(life,)
    )
    started = _submitted(pool, os.getpid)

    def begin(most: int) -> None:
        for key in islice(waiting, most):
            running[_submitted(pool, _read, what, left[key], MOST_TASKS, MOST_SECONDS)] = key

    try:
        begin(processes + 1)  # one more than there are: none waits for whoever takes the answers
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                answer = future.result()
                key = running.pop(future)
                del left[key]
                yield key, answer
                begin(1)
    except BrokenProcessPool as error:
        if started.exception() is not None:
            raise MissingResourceError(
                "The processes that read event logs cannot be started.",
                remedy="See what Python says above, and whether memory is left for them.",
            ) from error
    finally:
        held.close()
        pool.shutdown(cancel_futures=True)
        life.close()
    return list(running.values())


# What reads S3 has threads, and a forked process would hold their locks for ever.
_SPAWN = get_context("spawn")


def _submitted(pool: ProcessPoolExecutor, do: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Submit to the pool, so that a process that it starts does not run this one's program again."""
    # multiprocessing would have it so. In a task that program is Airflow's command, which fails where tasks
    # may not reach Airflow's database, and takes three times the memory.
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        return pool.submit(do, *arguments)
    finally:
        sys.modules["__main__"] = main


def _begin(life: Connection) -> None:
    """What a process that reads does first."""

    def end_with_the_one_that_asked() -> None:  # at once, whatever is being read, also when it lets go
        life.poll(None)
        os._exit(1)

    Thread(target=end_with_the_one_that_asked, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, _stop_reading)
    # Where memory runs out, the kernel shall end this process, not the one that asked.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    # What libraries print is nothing for the user.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    # What each log needs is loaded before the first.
    import airflow_provider_ernest.eventlog.reading
    import airflow_provider_ernest.history.observations  # noqa: F401


class _TooLongError(BaseException):
    """A log has taken its time; no library takes it for an error of its own."""


def _stop_reading(signum: int, frame: object) -> NoReturn:
    raise _TooLongError


def _read(what: str, source: str, most_tasks: int, most_seconds: float) -> dict[str, Any]:
    """What a log tells, and whether it would tell the same next time. Runs in a process of the pool."""
    is_lasting = False
    # A pipe or a network may hang. Again each second, should the first signal be lost in a callback.
    signal.setitimer(signal.ITIMER_REAL, most_seconds, 1.0)
    try:
        return _read_log(what, source, most_tasks)
    except _TooLongError:
        problem = f"not read within {duration(most_seconds)}"
    except ErnestError as error:
        cause = error.__cause__
        told = getattr(cause, "strerror", None) or (type(cause).__name__ if cause else "")
        problem = f"cannot be read: {told}" if told else error.message.replace(source, "it")
        is_lasting = cause is None
    # A log is whatever an application wrote: what it makes the reader stumble over costs no other.
    except Exception as error:
        problem = f"cannot be read: {type(error).__name__}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {PROBLEM: without_addresses(problem).rstrip("."), "is_lasting": is_lasting}


def _read_log(what: str, source: str, most_tasks: int) -> dict[str, Any]:
    from airflow_provider_ernest.eventlog.reading import read_event_log
    from airflow_provider_ernest.history.observations import past_run

    place = place_of(source, s3_clients=_s3_client)
    if not _begins_as_a_log(place):
        return {PROBLEM: "no event log of Spark", "is_lasting": True}
    log = read_event_log(place, most_tasks=most_tasks)
    if what == PROFILE:
        from airflow_provider_ernest.clarity.profile import profile_run

        return {PROFILE: profile_run(log, event_log=source).to_dict()}
    return {RUN: past_run(log, event_log=source).to_dict(), "is_lasting": log.is_complete}


@lru_cache
def _s3_client(connection: str) -> Any:
    """One for all logs: to make one takes longer than to read a small log. None where s3fs reads S3."""
    return None if find_spec("s3fs") else boto3_client(connection, f"s3://{connection}")


def _begins_as_a_log(place: Place) -> bool:
    """Whether its first line may be an event, so that gigabytes of something else are not gone through."""
    from airflow_provider_ernest.eventlog.events import event_name
    from airflow_provider_ernest.eventlog.files import Notes, open_lines

    notes = Notes()
    for line in open_lines(place, notes=notes):
        if line.strip():
            return bool(event_name(line))
    return bool(notes.too_long_lines)


# What is kept.


def _key(place: str, *state: object) -> str:
    """Of what is kept of a log: who wrote it, where the log lies, and in which state it was."""
    return _digest(__version__, _FORM)[:8] + _digest(place)[:12] + _digest(*state)[:12]


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode(errors="surrogateescape")).hexdigest()


class _Cache:
    """What was read, a line of JSON each, by a digest of the log's place, size and version.

    Lines are added, each by one write: scans at the same time, and those that are killed, do no harm. Each
    month has a file, which is removed half a year later: logs that are still there are read again. Only its
    user may enter the folder; None keeps nothing.
    """

    def __init__(self, folder: str | Path | None, *, name: str = "runs") -> None:
        self._folder = None if folder is None else Path(folder).expanduser()
        self._name = name
        if self._folder is not None:
            try:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._file_of(self._folder, _month()).touch(mode=0o600)
            except OSError as error:
                raise InvalidParameterError(
                    "cache",
                    str(folder),
                    f"cannot be written to: {error.strerror}",
                    remedy="Name another folder.",
                ) from error

    def _file_of(self, folder: Path, month: str) -> Path:
        return folder / f"{self._name}-{month}.jsonl"

    def answers(self, keys: Collection[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Those that are known, one by one; a key that is taken out of those asked for is not given again."""
        if self._folder is None:
            return
        oldest = self._file_of(self._folder, _month(_MONTHS_KEPT))
        for file in sorted(self._folder.glob(f"{self._name}-*.jsonl")):
            if file < oldest:
                file.unlink(missing_ok=True)
                continue
            with file.open("rb") as lines:
                for line in lines:
                    # After b'{"key": "'.
                    if (key := line[9:41].decode(errors="replace")) in keys:
                        # The last of a process that was killed while it wrote is no JSON.
                        with contextlib.suppress(ValueError):
                            yield key, json.loads(line)

    def keep(self, key: str, answer: dict[str, Any]) -> None:
        """Keep an answer."""
        if self._folder is None:
            return
        # What another process was killed over ends with this line's beginning.
        line = b"\n" + json.dumps({"key": key, **answer}).encode() + b"\n"
        file = self._file_of(self._folder, _month())
        target = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode=0o600)
        try:
            os.write(target, line)
        finally:
            os.close(target)


def _month(before: int = 0) -> str:
    """This month, such as 2026-01, or so many months before."""
    today = datetime.now(UTC)
    year, month = divmod(12 * today.year + today.month - 1 - before, 12)
    return f"{year}-{month + 1:02}"
