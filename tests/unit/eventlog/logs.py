"""Event logs for tests, made of the few figures that a test is about; the rest changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from airflow_provider_ernest.eventlog.tables import EventLog, ExecutorRow, JobRow, StageRow
from airflow_provider_ernest.eventlog.tasks import TaskColumns

START = 1_700_000_000.0
"""When all machines are there; the times that tests give count from it."""

_TRUE_BY_DEFAULT = ("succeeded", "is_local")


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
    for field in fields(TaskColumns):
        absent = field.name in _TRUE_BY_DEFAULT
        values = [row.get(field.name, absent) for row in numbered]
        columns[field.name] = np.array(values, dtype=_kind(field.type))
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
