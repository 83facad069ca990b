"""Event logs by what people call a run: its application's id, or the last good run before another."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from airflow_provider_ernest.eventlog.files import application_of_name
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.exceptions import MissingResourceError
from airflow_provider_ernest.history.jobs import JobNames, by_job
from airflow_provider_ernest.history.observations import is_good, past_run
from airflow_provider_ernest.history.scan import LogFinder, Scan
from airflow_provider_ernest.places import local_path
from airflow_provider_ernest.privacy import without_credentials

LAST_GOOD = "last-good"


def log_of_application(name: str, logs: Sequence[str]) -> str:
    """The event log of the application with that id in such places (see `Scan`), found by the logs' names.

    A name that is itself a path or an address stands for itself.

    Raises:
        MissingResourceError: there is no such log.
    """
    if not logs or re.search(r"[/:]", name) or Path(name).exists():
        return name
    for entry in LogFinder().find(logs):
        # A rolled log is a folder; a History Server has .../applications/ID/1/logs.
        if name in map(application_of_name, str(entry.place).split("/")):
            return str(entry.place)
    raise MissingResourceError(
        f"No event log in {_named(logs)} has the name of the application {name!r}.",
        remedy="Give the path or the address of the log itself.",
    )


def last_good_before(
    event_log: str, logs: Sequence[str], scan: Callable[[Sequence[str]], Scan] = Scan
) -> str:
    """The event log of the newest run of the same job that began before this one, and ended well.

    The logs are where those of earlier runs are; the folder of its own if empty.

    Raises:
        MissingResourceError: there is no such run.
        EventLogError: its own log cannot be read.
    """
    run = past_run(read_event_log(event_log), event_log=event_log)
    run = replace(run, job=JobNames().job_of(run.job, run.main))
    places = logs or [folder_of(event_log)]
    key = run.application_id, run.started_at
    jobs = by_job(chain(scan(places), [run])).runs.values()
    of_job = next(job for job in jobs if key in [(each.application_id, each.started_at) for each in job])
    earlier = [each for each in of_job if each.started_at < run.started_at]
    if good := [each for each in earlier if is_good(each)]:
        return good[-1].event_log
    why = "".join(
        f": the newest, {each.application_id}, does not count, {each.failure}" for each in earlier[-1:]
    )
    raise MissingResourceError(
        f"No earlier run of {run.job!r} that ended well is in {_named(places)}{why}.",
        remedy="Name the other run by its event log, or the places of more logs with --logs.",
    )


def folder_of(event_log: str) -> str:
    """Where the logs of other runs are likely to be: beside a run's own, or in the same archive."""
    archive = event_log.partition("::")[2]
    local = local_path(event_log)
    return archive or (event_log.rstrip("/").rpartition("/")[0] if local is None else str(Path(local).parent))


def _named(logs: Sequence[str]) -> str:
    return ", ".join(map(without_credentials, logs))
