"""Event logs of past runs, as small as they can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.unit.eventlog.event_log_texts import (
    ended,
    environment,
    executor,
    job,
    job_end,
    stage,
    started,
    task,
    write,
)


def events_of(
    name: str = "etl 2024-01-31",
    *,
    application: str = "app-1",
    executors: int = 2,
    input_bytes: int = 1000,
    tasks: int | None = None,
    dropped: int = 0,
    end: int = 160_000,
    **properties: str,
) -> list[dict[str, Any]]:
    """Of a run of one stage with a task on each machine, or so many, which read as much each.

    Of `dropped` more tasks, the stage knows, but no event tells.
    """
    told = executors if tasks is None else tasks
    tasks = told + dropped
    return [
        started(**{"App Name": name, "App ID": application}),
        environment(**{"spark.master": "spark://10.0.0.9:7077", **properties}),
        *(executor(number, host=f"10.0.0.{number}") for number in range(executors)),
        job(0, 0),
        stage(0, **{"Number of Tasks": tasks}),
        *(
            task(
                number,
                executor=str(number % executors),
                metrics={"Input Metrics": {"Bytes Read": input_bytes}},
            )
            for number in range(told)
        ),
        stage(0, completed=120_000, **{"Number of Tasks": tasks}),
        job_end(0),
        ended(end),
    ]


def log_of(path: Path, name: str = "etl 2024-01-31", **told: Any) -> Path:
    """The log of such a run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, *events_of(name, **told))
