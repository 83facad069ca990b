"""Reading event logs in several processes: one that cannot be read, or ends its process, costs no other."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Any, NoReturn

from airflow_provider_ernest.exceptions import ErnestError, MissingResourceError
from airflow_provider_ernest.places import Place, boto3_client, place_of
from airflow_provider_ernest.privacy import without_addresses
from airflow_provider_ernest.words import duration

MOST_TASKS = 1_000_000  # of a log that is read: a process takes 230 MB for so many
MOST_SECONDS = 900.0  # for one log

RUN, PROFILE, PROBLEM = "run", "profile", "problem"  # what an answer holds; the first two are asked for

Reader = Callable[[str, Mapping[str, str]], Iterator[tuple[str, dict[str, Any]]]]
"""Reads logs: for RUN or PROFILE, and places by keys, it gives each key with its answer, in any order."""


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(processes: int | None = None) -> Reader:
    """Reads in so many processes of this machine; in one a core where None."""
    return partial(_answers, processes=processes or cores())


def _answers(what: str, places: Mapping[str, str], *, processes: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the logs tell, each with the key of its place, in the order in which they have been read.

    A process that dies, as where memory runs out, takes its pool with it. The logs that were being read then
    are read again, each alone; one that ends its process once more is given up.
    """
    left = dict(places)
    while left:
        for suspect in (yield from _by_a_pool(what, left, processes)):
            alone = {suspect: left.pop(suspect)}
            if (yield from _by_a_pool(what, alone, 1)):
                yield suspect, {PROBLEM: "reading it ended its process"}


def _by_a_pool(
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
            running[_submitted(pool, read_log, what, left[key], MOST_TASKS, MOST_SECONDS)] = key

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
    # Where memory runs out, the kernel shall end this process, not the one that asked.
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    # What libraries print is nothing for the user.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    prepare()


def prepare() -> None:
    """What a process does before it reads logs: it loads what each log needs, and can be stopped at one."""
    signal.signal(signal.SIGALRM, _stop_reading)
    import airflow_provider_ernest.eventlog.reading
    import airflow_provider_ernest.history.observations  # noqa: F401


def read_part(lines: Iterable[str], attempt: int) -> Iterator[str]:
    """The answers for the logs of a task of Spark. Runs in the Python of an executor.

    Each log is read in that Python, which has loaded the libraries. If a log ends it, Spark tries the task
    again: then each log has a process of its own, so that this one costs no other, as on one machine.
    """
    prepare()
    for what, key, place in map(json.loads, lines):
        if attempt:
            [(_, answer)] = in_processes(1)(what, {key: place})
        else:
            answer = read_log(what, place, MOST_TASKS, MOST_SECONDS)
        yield json.dumps({"key": key, **answer})


class _TooLongError(BaseException):
    """A log has taken its time; no library takes it for an error of its own."""


def _stop_reading(signum: int, frame: object) -> NoReturn:
    raise _TooLongError


def read_log(what: str, source: str, most_tasks: int, most_seconds: float) -> dict[str, Any]:
    """What a log tells, and whether it would tell the same next time. See `prepare`."""
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
