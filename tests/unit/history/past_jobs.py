"""Past runs of simulated jobs, and the profiles of them, for tests of what history tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.documents.profiles import RunProfile
from airflow_provider_ernest.documents.runs import PastRun
from airflow_provider_ernest.eventlog.run_facts import run_metrics
from airflow_provider_ernest.eventlog.tables import EventLog
from tests.unit.eventlog.logs import SimulatedJob, SimulatedStage, run

FIRST = datetime(2026, 9, 1, 3, 0, tzinfo=UTC)
BYTES = 40_000_000
"""That a task reads."""


def work(
    *,
    executors: int,
    tasks: int = 64,
    scale: float = 1.0,
    driver_seconds: float = 4.0,
    cores: int = 2,
    seed: int = 0,
) -> EventLog:
    """A job that reads its input in tasks of 2 s, and gathers it in 8 tasks."""
    noise = np.random.default_rng(seed).lognormal(0.0, 0.1, size=max(1, round(tasks * scale)))
    reading = SimulatedStage(seconds=(2.0 * noise).tolist(), columns={"input_bytes": BYTES})
    gathering = SimulatedStage(seconds=[0.5] * 8, parents=[0])
    log = run(
        [SimulatedJob(driver_seconds=driver_seconds, stages=[reading, gathering])],
        executors=executors,
        cores=cores,
    )
    return replace(log, application_id=f"app-{executors}-{scale:g}-{seed}")


def past_run(log: EventLog, *, job: str = "daily", days: float = 0.0, **changes: Any) -> PastRun:
    """A run as its log tells it, so many days after the first."""
    metrics = run_metrics(log)
    told = PastRun(
        job=job,
        application_id=log.application_id,
        event_log=f"/logs/{log.application_id}",
        started_at=(FIRST + timedelta(days=days)).isoformat(),
        executors=len(log.executors),
        executor_cores=log.slots // len(log.executors),
        seconds=log.clean_seconds,
        startup_seconds=5.0,
        instance_type="m5.xlarge",
        input_bytes=metrics.input_bytes,
        spark="4.0.1",
        metrics=metrics,
    )
    return replace(told, **changes)


def daily(
    executors: Sequence[int] = (8,) * 10, *, job: str = "daily", growth: float = 1.0, **of_work: Any
) -> tuple[list[PastRun], list[RunProfile]]:
    """A job that ran once a day, on so many machines each time, and the profiles of all runs.

    By `growth`, its input grows from run to run.
    """
    logs = [
        work(executors=count, scale=growth**day, seed=day, **of_work) for day, count in enumerate(executors)
    ]
    logs = [replace(log, application_id=f"{job}-{log.application_id}") for log in logs]
    runs = [past_run(log, job=job, days=day) for day, log in enumerate(logs)]
    return runs, [profile_run(log) for log in logs]
