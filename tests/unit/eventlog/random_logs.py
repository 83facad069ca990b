"""Event logs of whatever figures a seed gives, for what must hold of all of them."""

from __future__ import annotations

import random
from typing import Any

from airflow_provider_ernest.eventlog.tables import EventLog, SqlExecutionRow
from tests.unit.eventlog.logs import START, event_log, executor, job, stage, task


def random_log(seed: int) -> EventLog:
    """Stages one after another on a few machines; tasks whose metrics may add up to more than they took."""
    rng = random.Random(seed)
    machines, cores = rng.randint(1, 4), rng.randint(1, 3)
    rows: list[dict[str, Any]] = []
    stages = []
    now = rng.uniform(0.0, 3.0)
    for number in range(rng.randint(1, 5)):
        began = now
        free = [began] * (machines * cores)
        tasks = rng.randint(1, 12)
        for _ in range(tasks):
            slot = min(range(len(free)), key=free.__getitem__)
            made = _task(rng, number, free[slot], slot // cores)
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
        executors=[executor(number, cores=cores) for number in range(machines)],
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


def _task(rng: random.Random, number: int, launched: float, on: int) -> dict[str, Any]:
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
