"""A Spark that is so simple that it is right: logs of jobs on any number of machines, with known times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_ernest.eventlog.tables import EventLog
from tests.unit.eventlog.logs import event_log, executor, job, stage, task


@dataclass(frozen=True)
class SimulatedStage:
    """Tasks of these seconds; the first one on each slot takes `warm_up` longer. `columns` are of each."""

    seconds: Sequence[float]
    warm_up: float = 0.0
    parents: Sequence[int] = ()
    columns: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SimulatedJob:
    """Stages in the order of their numbers, submitted after the driver worked for so long."""

    driver_seconds: float
    stages: Sequence[SimulatedStage]


def run(jobs: Sequence[SimulatedJob], *, machines: int, cores: int = 1, tail: float = 0.5) -> EventLog:
    """Run the jobs one after another, and the stages of a job one after another.

    A task is launched on the slot that is free first; the one of the lowest number where several are.
    """
    now, stage_id = 0.0, 0
    rows: list[dict[str, Any]] = []
    stages, made = [], []
    for job_id, each in enumerate(jobs):
        now += each.driver_seconds
        submitted, first = now, stage_id
        for work in each.stages:
            began = now
            free = [now] * (machines * cores)
            for seconds in work.seconds:
                slot = min(range(len(free)), key=lambda number: (free[number], number))
                took = float(seconds) + (work.warm_up if free[slot] == began else 0.0)
                rows.append(task(stage_id, free[slot], took, executor=slot % machines, **work.columns))
                free[slot] += took
            now = max(free)
            stages.append(
                stage(
                    stage_id,
                    submitted=began,
                    completed=now,
                    tasks=len(work.seconds),
                    parents=[first + parent for parent in work.parents],
                    job_id=job_id,
                )
            )
            stage_id += 1
        made.append(job(job_id, submitted=submitted, completed=now, stages=range(first, stage_id)))
    return event_log(
        rows,
        executors=[executor(number, cores=cores) for number in range(machines)],
        stages=stages,
        jobs=made,
        ended=now + tail,
    )
