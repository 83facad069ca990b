"""A simulated run of a synthetic job: the tables that its event log would have been read into."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from airflow_provider_ernest.eventlog.tables import EventLog, ExecutorRow, JobRow, StageRow
from airflow_provider_ernest.eventlog.tasks import TaskColumns
from airflow_provider_ernest.numbers import FloatArray
from benchmarks.replay_prior.jobs import Growth, Job, Step

CORES = 2
START = 1_700_000_000.0
STARTUP_SECONDS = 8.0
DISPATCH_SECONDS = 0.002
"""That the driver takes to send a task: of thousands, the last begin late."""
CLOSURE_SECONDS = 0.02
WARM_UP_SECONDS = 0.4
"""That the first task of a stage on a slot takes longer, in the first stages; later ones a tenth."""
RUN_NOISE, MACHINE_NOISE = 0.03, 0.03
"""Standard deviations of the logarithms of a run's speed and of each of its machines'."""
BYTES_PER_SECOND = 1e8
"""That a task works through; of shuffled data the share of the other machines is remote."""


@dataclass
class _Tables:
    """What is known of the run so far; times count from when all machines were there."""

    now: float = 0.0
    rows: list[dict[str, float]] = field(default_factory=list)
    stages: list[StageRow] = field(default_factory=list)
    jobs: list[JobRow] = field(default_factory=list)


def run(job: Job, *, machines: int, scale: float, generator: np.random.Generator) -> EventLog:
    """Run a job.

    Args:
        job: what runs.
        machines: that it runs on, of `CORES` slots each.
        scale: the share of the input that it reads.
        generator: of the noise.
    """
    tables = _Tables()
    slowness = np.exp(
        RUN_NOISE * generator.standard_normal() + MACHINE_NOISE * generator.standard_normal(machines)
    )
    for number in range(1 + job.rounds):
        if number:
            tables.now += job.between_seconds + job.broadcast_seconds * float(np.log2(machines))
        else:
            tables.now += job.driver_seconds
        _add_job(tables, job, job.repeated if number else job.steps, scale, slowness, generator)
    executors = [
        ExecutorRow(
            number=number,
            executor_id=str(number),
            host=f"host-{number}",
            worker=f"host-{number}",
            cores=CORES,
            added_at=START,
        )
        for number in range(machines)
    ]
    return EventLog(
        application_id=f"app-{machines}-{scale:g}",
        started_at=START - STARTUP_SECONDS,
        ended_at=START + tables.now,
        task_columns=_task_table(tables.rows),
        jobs=tuple(tables.jobs),
        stages=tuple(tables.stages),
        executors=tuple(executors),
    )


def _add_job(
    tables: _Tables,
    job: Job,
    steps: tuple[Step, ...],
    scale: float,
    slowness: FloatArray,
    generator: np.random.Generator,
) -> None:
    """One of Spark's jobs: its stages one after the other, those without parents side by side."""
    job_id, first_stage = len(tables.jobs), len(tables.stages)
    submitted, free = tables.now, [(tables.now, slot) for slot in range(CORES * len(slowness))]
    heapq.heapify(free)
    ends: list[float] = []
    for place, step in enumerate(steps):
        parents = [place - back for back in step.waits_for if place - back >= 0]
        begin = max((ends[parent] for parent in parents), default=submitted)
        tasks = _tasks_of(step, scale)
        seconds, fetch = _work(step, job, scale, tasks, slowness, generator)
        ended = _add_tasks(tables, first_stage + place, begin, free, seconds, fetch, slowness, step)
        ended += job.result_seconds * tasks
        ends.append(ended)
        tables.stages.append(
            StageRow(
                stage_id=first_stage + place,
                attempt=0,
                name=f"stage {place} at job.py:{place}",
                tasks=tasks,
                parents=tuple(first_stage + parent for parent in parents),
                job_id=job_id,
                submitted_at=START + begin,
                completed_at=START + ended,
            )
        )
    tables.now = max(ends) + 0.01
    tables.jobs.append(
        JobRow(
            job_id=job_id,
            submitted_at=START + submitted,
            completed_at=START + tables.now,
            succeeded=True,
            stage_ids=tuple(range(first_stage, len(tables.stages))),
        )
    )


def _tasks_of(step: Step, scale: float) -> int:
    return max(1, round(step.tasks * scale)) if step.growth is Growth.TASKS else step.tasks


def _work(
    step: Step,
    job: Job,
    scale: float,
    tasks: int,
    slowness: FloatArray,
    generator: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """The tasks' own seconds and those for fetched data, shape (tasks,) each."""
    machines = len(slowness)
    share = scale if step.growth is Growth.SECONDS else 1.0
    uneven = np.exp(step.spread * generator.standard_normal(tasks))
    uneven[generator.integers(tasks)] *= step.largest
    remote = 1.0 - 1.0 / machines
    behind_a_shuffle = step.growth is Growth.SECONDS
    fetch = step.fetch_seconds * share * remote * uneven + job.connect_seconds * machines * behind_a_shuffle
    return step.seconds * share * uneven, np.asarray(fetch, dtype=np.float64)


def _add_tasks(
    tables: _Tables,
    stage_id: int,
    begin: float,
    free: list[tuple[float, int]],
    seconds: FloatArray,
    fetch: FloatArray,
    slowness: FloatArray,
    step: Step,
) -> float:
    """Put tasks on slots; returns when the last ends."""
    warm: set[int] = set()
    warm_up = WARM_UP_SECONDS if stage_id < 2 else WARM_UP_SECONDS / 10
    last = begin
    for number, (own, waited) in enumerate(zip(seconds.tolist(), fetch.tolist(), strict=True)):
        at, slot = free[0]
        launched = max(at, begin + DISPATCH_SECONDS * number)
        factor = float(slowness[slot // CORES])
        deserialise = CLOSURE_SECONDS + (0.0 if slot in warm else warm_up)
        warm.add(slot)
        finished = launched + deserialise + own * factor + waited
        heapq.heapreplace(free, (finished, slot))
        last = max(last, finished)
        reads = step.growth is Growth.TASKS
        data = int(BYTES_PER_SECOND * own)
        remote = round(data * (1.0 - 1.0 / len(slowness)))
        tables.rows.append(
            {
                "task_id": len(tables.rows),
                "stage_id": stage_id,
                "executor": slot // CORES,
                "launched_at": START + launched,
                "finished_at": START + finished,
                "run_seconds": own * factor + waited,
                "cpu_seconds": own * factor,
                "deserialise_seconds": deserialise,
                "fetch_wait_seconds": waited,
                "input_bytes": data if reads else 0,
                "shuffle_remote_bytes": 0 if reads else remote,
                "shuffle_local_bytes": 0 if reads else data - remote,
                "shuffle_written_bytes": data // 10,
            }
        )
    return last


_KINDS = {"IntColumn": np.int64, "FloatColumn": np.float64, "BoolColumn": np.bool_}
_TRUE = ("succeeded", "is_local")


def _task_table(rows: list[dict[str, float]]) -> TaskColumns:
    columns: dict[str, NDArray[Any]] = {}
    for column in fields(TaskColumns):
        missing = float("nan") if column.name == "python_seconds" else column.name in _TRUE
        values = [row.get(column.name, missing) for row in rows]
        columns[column.name] = np.array(values, dtype=_KINDS[str(column.type)])
    return TaskColumns(**columns)
