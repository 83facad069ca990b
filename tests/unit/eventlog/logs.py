"""Event logs for tests, made of the few figures that a test is about; the rest changes nothing."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from airflow_provider_ernest.eventlog.tables import (
    EventLog,
    ExecutorRow,
    JobRow,
    SqlExecutionRow,
    StageRow,
    TaskColumns,
)

START = 1_700_000_000.0
"""When all machines are there; the times that tests give count from it."""


def task(stage: int = 0, launched: float = 0.0, seconds: float = 1.0, **columns: Any) -> dict[str, Any]:
    """A row of the table of tasks; what is not told of its seconds it ran on its CPU.

    `columns` are those of `TaskColumns`; times in them that count from the epoch do not belong there.
    """
    overhead = sum(
        columns.get(name, 0.0)
        for name in ("deserialise_seconds", "result_serialisation_seconds", "getting_result_seconds")
    )
    run = columns.get("run_seconds", seconds - overhead)
    waited = columns.get("fetch_wait_seconds", 0.0) + columns.get("shuffle_write_seconds", 0.0)
    collected = columns.get("garbage_collection_seconds", 0.0)
    return {
        "stage_id": stage,
        "launched_at": START + launched,
        "finished_at": START + launched + seconds,
        "run_seconds": run,
        "cpu_seconds": max(0.0, run - waited - collected),
        "python_seconds": float("nan"),
        **columns,
    }


def task_table(rows: Iterable[dict[str, Any]] = ()) -> TaskColumns:
    """The rows as columns; task numbers ascend where they are not told."""
    numbered = [{"task_id": number, **row} for number, row in enumerate(rows)]
    columns = {}
    for column in fields(TaskColumns):
        values = [row.get(column.name, column.name == "succeeded") for row in numbered]
        columns[column.name] = np.array(values, dtype=_kind(column.type))
    return TaskColumns(**columns)


def _kind(annotation: Any) -> type:
    return {"IntColumn": np.int64, "FloatColumn": np.float64, "BoolColumn": np.bool_}[str(annotation)]


def executor(
    number: int = 0,
    *,
    cores: int = 1,
    added: float = 0.0,
    removed: float | None = None,
    host: str | None = None,
) -> ExecutorRow:
    """An executor on a machine of its own, unless `host` says otherwise."""
    host = host or f"10.0.0.{number + 1}"
    return ExecutorRow(
        number=number,
        executor_id=str(number),
        host=host,
        worker=f"{host}:8081",
        cores=cores,
        added_at=START + added,
        removed_at=None if removed is None else START + removed,
        removed_because="" if removed is None else "Worker shutting down.",
    )


def job(
    job_id: int = 0,
    *,
    submitted: float = 0.0,
    completed: float | None = None,
    stages: Iterable[int] = (),
    **columns: Any,
) -> JobRow:
    """A job; its times count from `START`."""
    return JobRow(
        job_id=job_id,
        submitted_at=START + submitted,
        completed_at=None if completed is None else START + completed,
        succeeded=None if completed is None else True,
        stage_ids=tuple(stages),
        **columns,
    )


def stage(
    stage_id: int = 0,
    *,
    submitted: float | None = 0.0,
    completed: float | None = None,
    tasks: int = 1,
    parents: Iterable[int] = (),
    job_id: int = 0,
    **columns: Any,
) -> StageRow:
    """A stage; its times count from `START`."""
    return StageRow(
        **{"attempt": 0, "name": f"stage {stage_id}", **columns},
        stage_id=stage_id,
        tasks=tasks,
        parents=tuple(parents),
        job_id=job_id,
        submitted_at=None if submitted is None else START + submitted,
        completed_at=None if completed is None else START + completed,
    )


def event_log(
    rows: Iterable[dict[str, Any]] = (),
    *,
    executors: Iterable[ExecutorRow] | None = None,
    stages: Iterable[StageRow] | None = None,
    jobs: Iterable[JobRow] | None = None,
    ended: float | None = None,
    **parts: Any,
) -> EventLog:
    """An application of these tasks.

    What is not given follows from the tasks: an executor of one core for each that they name, a stage from
    its first task's launch to its last one's end, one job of all stages, an end with the last task's.
    """
    tasks = task_table(rows)
    stages = tuple(_stages_of(tasks) if stages is None else stages)
    last = float(tasks.finished_at.max()) if len(tasks) else START
    jobs = (_job_of(stages, tasks),) if jobs is None else tuple(jobs)
    if executors is None:
        executors = [executor(int(number)) for number in sorted(set(tasks.executor))]
    return EventLog(
        **{"application_id": "app-1", "started_at": START - 5.0, **parts},
        ended_at=last if ended is None else START + ended,
        task_columns=tasks,
        jobs=jobs,
        stages=stages,
        executors=tuple(executors),
    )


def _stages_of(tasks: TaskColumns) -> list[StageRow]:
    made = []
    for stage_id, attempt in sorted(set(zip(tasks.stage_id, tasks.stage_attempt, strict=True))):
        rows = (tasks.stage_id == stage_id) & (tasks.stage_attempt == attempt)
        made.append(
            stage(
                int(stage_id),
                attempt=int(attempt),
                submitted=float(tasks.launched_at[rows].min()) - START,
                completed=float(tasks.finished_at[rows].max()) - START,
                tasks=int(rows.sum()),
            )
        )
    return made


def _job_of(stages: tuple[StageRow, ...], tasks: TaskColumns) -> JobRow:
    first = min((row.submitted_at for row in stages if row.submitted_at is not None), default=START)
    last = max((row.completed_at for row in stages if row.completed_at is not None), default=START)
    numbers = sorted({row.stage_id for row in stages})
    return job(0, submitted=first - START, completed=last - START, stages=numbers)


# A Spark that is so simple that it is right: logs of jobs on any number of machines, with known times.


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


def run(jobs: Sequence[SimulatedJob], *, executors: int, cores: int = 1, tail: float = 0.5) -> EventLog:
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
            free = [now] * (executors * cores)
            for seconds in work.seconds:
                slot = min(range(len(free)), key=lambda number: (free[number], number))
                took = float(seconds) + (work.warm_up if free[slot] == began else 0.0)
                rows.append(task(stage_id, free[slot], took, executor=slot % executors, **work.columns))
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
        executors=[executor(number, cores=cores) for number in range(executors)],
        stages=stages,
        jobs=made,
        ended=now + tail,
    )


# Logs of whatever figures a seed gives, for what must hold of all of them.


def random_log(seed: int) -> EventLog:
    """Stages one after another on a few machines; tasks whose metrics may add up to more than they took."""
    rng = random.Random(seed)
    executors, cores = rng.randint(1, 4), rng.randint(1, 3)
    rows: list[dict[str, Any]] = []
    stages = []
    now = rng.uniform(0.0, 3.0)
    for number in range(rng.randint(1, 5)):
        began = now
        free = [began] * (executors * cores)
        tasks = rng.randint(1, 12)
        for _ in range(tasks):
            slot = min(range(len(free)), key=free.__getitem__)
            made = _random_task(rng, number, free[slot], slot // cores)
            free[slot] = made["finished_at"] - START
            rows.append(made)
        now = max(free)
        stages.append(
            stage(
                number,
                submitted=began,
                completed=now,
                tasks=tasks,
                parents=[number - 1] if number and rng.random() < 0.7 else [],
                library=rng.choice(["", "", "ml"]),
                scopes=(rng.choice(["map", "PythonRDD"]),),
            )
        )
        now += rng.uniform(0.0, 2.0)
    return event_log(
        rows,
        executors=[executor(number, cores=cores) for number in range(executors)],
        stages=stages,
        jobs=[job(0, submitted=rows[0]["launched_at"] - START, completed=now, stages=range(len(stages)))],
        ended=now + rng.uniform(0.0, 2.0),
        sql_executions=(
            SqlExecutionRow(
                execution_id=0,
                started_at=START,
                ended_at=START + now,
                broadcast_seconds=rng.choice([0.0, rng.uniform(0.0, 3.0)]),
            ),
        ),
    )


def _random_task(rng: random.Random, number: int, launched: float, on: int) -> dict[str, Any]:
    seconds = rng.choice([0.0, rng.uniform(0.001, 5.0)])
    shares = [rng.random() for _ in range(6)]
    cpu, fetch, write, collected, deserialise, rest = (
        seconds * share * rng.choice([1.0, 1.5]) / sum(shares) for share in shares
    )
    return task(
        number,
        launched,
        seconds,
        executor=on,
        run_seconds=max(0.0, seconds - deserialise - 0.1 * rest),
        cpu_seconds=cpu,
        fetch_wait_seconds=rng.choice([0.0, fetch]),
        shuffle_write_seconds=rng.choice([0.0, write]),
        garbage_collection_seconds=collected,
        deserialise_seconds=deserialise,
        python_seconds=rng.choice([float("nan"), rest]),
        input_bytes=rng.choice([0, rng.randint(1, 10**8)]),
        shuffle_remote_bytes=rng.choice([0, rng.randint(1, 10**8)]),
        shuffle_local_bytes=rng.choice([0, rng.randint(1, 10**8)]),
        shuffle_written_bytes=rng.choice([0, rng.randint(1, 10**8)]),
    )
