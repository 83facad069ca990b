"""A process that reads event logs for a scan: ``python -m airflow_provider_ernest.history.worker``.

Lines of JSON go in and out: each asks for one log and is answered by one line. It ends when its input does.
A log that makes it hang or takes all memory costs this process and nothing else: another is started.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.places import Place, boto3_client, place_of
from airflow_provider_ernest.privacy import without_addresses

READY = "ready"
RUN, PROFILE, PROBLEM = "run", "profile", "problem"
"""What an answer holds; the first two are also what is asked for."""

NO_LOG = "no event log of Spark"


def main() -> None:
    """Answer until the input ends."""
    _be_the_first_to_go()
    # What libraries print is no answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    # What each log needs is loaded before the first: whoever waits counts the time from here.
    import airflow_provider_ernest.eventlog.reading
    import airflow_provider_ernest.history.runs  # noqa: F401

    _answer(answers, {READY: True})
    for line in sys.stdin:
        _answer(answers, _read(json.loads(line)))


def _be_the_first_to_go() -> None:
    """Where memory runs out, the kernel shall end this process, not the one that asked."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def _answer(answers: Any, told: dict[str, Any]) -> None:
    answers.write(f"{json.dumps(told)}\n")
    answers.flush()


def _read(asked: dict[str, Any]) -> dict[str, Any]:
    place = asked["place"]
    began = time.monotonic()
    is_lasting = False
    try:
        return _read_log(asked)
    except ErnestError as error:
        cause = error.__cause__
        told = getattr(cause, "strerror", None) or (type(cause).__name__ if cause else "")
        problem = f"cannot be read: {told}" if told else error.message.replace(str(place), "it")
        is_lasting = cause is None and time.monotonic() - began < asked["most_seconds"]
    # A log is whatever an application wrote: what it makes the reader stumble over costs no other.
    except Exception as error:
        problem = f"cannot be read: {type(error).__name__}"
    return _problem(problem, asked, is_lasting=is_lasting)


def _problem(problem: str, asked: dict[str, Any], *, is_lasting: bool) -> dict[str, Any]:
    told = without_addresses(problem).rstrip(".")
    return {PROBLEM: told, "is_lasting": is_lasting, "most_tasks": asked["most_tasks"]}


def _read_log(asked: dict[str, Any]) -> dict[str, Any]:
    from airflow_provider_ernest.eventlog.reading import read_event_log
    from airflow_provider_ernest.history.runs import past_run

    source = asked["place"]
    place = place_of(source, s3_clients=_s3_client)
    if not _begins_as_a_log(place):
        return _problem(NO_LOG, asked, is_lasting=True)
    log = read_event_log(place, most_tasks=asked["most_tasks"], most_seconds=asked["most_seconds"])
    if asked["what"] == PROFILE:
        from airflow_provider_ernest.clarity.profile import profile_run

        return {PROFILE: profile_run(log, event_log=source).to_dict()}
    return {RUN: past_run(log, event_log=source).to_dict(), "is_complete": log.is_complete}


@lru_cache
def _s3_client(connection: str) -> Any:
    """One for all logs: to make one takes longer than to read a small log. None where s3fs reads S3."""
    return None if find_spec("s3fs") else boto3_client(connection, f"s3://{connection}")


def _begins_as_a_log(place: Place) -> bool:
    """Whether its first line may be an event, so that gigabytes of something else are not gone through."""
    from airflow_provider_ernest.eventlog.bounds import Notes
    from airflow_provider_ernest.eventlog.events import event_name
    from airflow_provider_ernest.eventlog.files import open_lines

    notes = Notes()
    for line in open_lines(place, notes=notes):
        if line.strip():
            return bool(event_name(line))
    return bool(notes.too_long_lines)


if __name__ == "__main__":
    main()
