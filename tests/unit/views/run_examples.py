"""A DAG run made up by hand, as Airflow's database would hold it, and variants of it.

A cluster on EC2 at 0.20 dollars for a machine and hour: a master, four workers, one more that was culled. It
forms from 12:00 to 12:05, the decision ends at 12:30, production runs from 12:31 to 12:41 on eight machines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from airflow_provider_ernest.documents import (
    Configuration,
    Decision,
    DecisionRecord,
    Design,
    Experiment,
    FittedTerm,
    Fold,
    Model,
    Observation,
    Origin,
    Validation,
)
from airflow_provider_ernest.views.dag_run import RunRecord, TaskRow

DAG_ID = "nightly_sizing"
RUN_ID = "manual__2026-11-20T12:00:00+00:00"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = NOON + timedelta(hours=2)
PRICE = 0.2
JOB, TYPE, MODEL_ID = "nightly join", "m5.xlarge", "20261120T122900.000000Z-0badcafe"

RUNS = ((1, 0.02, 31.0), (2, 0.04, 33.0), (4, 0.08, 36.0), (4, 0.1, 41.0))
"""Machines, scale and seconds of the sample runs."""


def origin(task: str, map_index: int = -1) -> Origin:
    return Origin(dag_id=DAG_ID, run_id=RUN_ID, task_id=f"ernest.{task}", map_index=map_index)


def experiments() -> tuple[Experiment, ...]:
    return tuple(
        Experiment(
            index=index, machines=machines, scale=scale, partitions=10 * (index + 1), weight=1.0, cost=0.5
        )
        for index, (machines, scale, _) in enumerate(RUNS)
    )


def design() -> Design:
    return Design(
        experiments=experiments(),
        terms=("1", "scale/machines", "log(machines)", "machines"),
        criterion="bayesian I",
        efficiency=0.93,
        cost=2.0,
        budget=3.0,
        cost_unit="relative time",
        candidates=54,
    )


def observation(index: int) -> Observation:
    machines, scale, seconds = RUNS[index]
    return Observation(
        index=index,
        machines=machines,
        scale=scale,
        seconds=seconds,
        startup_seconds=5.0,
        instance_type=TYPE,
        application_id=f"app-20261120120{index}00-0000",
        event_log=f"file:/var/log/spark/app-20261120120{index}00-0000",
        hosts=tuple(f"10.0.0.{host + 1}" for host in range(machines)),
        origin=origin("sample_run", index),
    )


def model() -> Model:
    folds = tuple(
        Fold(index=index, machines=machines, scale=scale, seconds=seconds, predicted_seconds=1.03 * seconds)
        for index, (machines, scale, seconds) in enumerate(RUNS)
    )
    return Model(
        id=MODEL_ID,
        job=JOB,
        instance_type=TYPE,
        at="2026-11-20T12:29:00+00:00",
        terms=(FittedTerm(name="1", meaning="serial work", coefficient=20.0),),
        validation=Validation(
            folds=folds, residual_sum_of_squares=4.2, median_error_percent=3.0, max_error_percent=3.1
        ),
        observations=tuple(observation(index) for index in range(len(RUNS))),
        startup_seconds=5.0,
        origin=origin("fit_model"),
    )


def decision(**changes: Any) -> Decision:
    chosen = Decision(
        config=Configuration(machines=8, instance_type=TYPE),
        goal="a deadline of 900 s",
        price_per_hour=PRICE,
        predicted_seconds=630.0,
        run_seconds=625.0,
        startup_seconds=5.0,
        likely_seconds=(590.0, 670.0),
        nearly_certain_seconds=(560.0, 700.0),
        predicted_cost=0.28,
        error_percent=3.0,
        max_error_percent=3.1,
        model_id=MODEL_ID,
    )
    return replace(chosen, **changes)


def record() -> DecisionRecord:
    return DecisionRecord(
        id="20261120T123000.000000Z-0badcafe",
        at="2026-11-20T12:30:00+00:00",
        job=JOB,
        instance_type=TYPE,
        decision=decision(),
        scale=1.0,
        min_machines=1,
        max_machines=16,
        model_id=MODEL_ID,
        deadline_seconds=900.0,
        origin=origin("choose_config"),
    )


def handle() -> dict[str, Any]:
    """A cluster's handle as its task returns it."""

    def machine(number: int) -> dict[str, Any]:
        return {
            "schema": 1,
            "worker_id": f"worker-{number}",
            "host": f"10.0.0.{number}",
            "cores": 4,
            "memory_megabytes": 12000,
            "instance_id": f"i-{number:04d}",
            "market": "spot",
            "price_per_hour": PRICE,
        }

    return {
        "schema": 1,
        "kind": "ec2",
        "name": "ernest-nightly",
        "master_url": "spark://10.0.0.9:7077",
        "machines": [machine(number) for number in range(1, 5)],
        "instance_type": TYPE,
        "cores_per_machine": 4,
        "master": machine(9),
        "culled": [{"machine": machine(5), "reason": "slow memory: scores 0.71, below 0.85"}],
    }


def row(task: str, operator: str, begin: float, end: float | None, **facts: Any) -> TaskRow:
    """A task instance that ran between two minutes after noon."""
    return TaskRow(
        **{
            "task_id": task,
            "operator": operator,
            "state": "success",
            "started_at": NOON + timedelta(minutes=begin),
            "ended_at": None if end is None else NOON + timedelta(minutes=end),
            **facts,
        }
    )


def rows(group: str = "ernest", production: str = "production") -> tuple[TaskRow, ...]:
    prefix = f"{group}." if group else ""
    return (
        row(f"{prefix}check_cluster", "EC2PreflightOperator", -2, -1.5),
        row(f"{prefix}design", "ExperimentDesignOperator", -1, -0.5),
        row(f"{prefix}create_cluster", "EC2ClusterOperator", 0, 5),
        *(
            row(
                f"{prefix}sample_run",
                "SampleRunOperator",
                6 + 5 * index,
                10 + 5 * index,
                map_index=index,
                name=f"{machines} machines, {100 * scale:.2f} %",
            )
            for index, (machines, scale, _) in enumerate(RUNS)
        ),
        row(f"{prefix}fit_model", "FitModelOperator", 27, 29),
        row(f"{prefix}choose_config", "ChooseConfigOperator", 29, 30),
        row(f"{prefix}terminate_cluster", "TerminateClusterOperator", 30, 32),
        row(production, "SparkSubmitOperator", 31, 41),
    )


def values(group: str = "ernest") -> dict[tuple[str, int, str], Any]:
    prefix = f"{group}." if group else ""
    returned = {
        f"{prefix}check_cluster": {"cores_per_machine": 4, "price_per_hour": PRICE},
        f"{prefix}design": [one.to_dict() for one in experiments()],
        f"{prefix}create_cluster": handle(),
        f"{prefix}fit_model": model().to_dict(),
        f"{prefix}choose_config": decision().to_dict(),
    }
    return {
        **{(task, -1, "return_value"): value for task, value in returned.items()},
        **{
            (f"{prefix}sample_run", index, "return_value"): observation(index).to_dict()
            for index in range(len(RUNS))
        },
        (f"{prefix}design", -1, "design"): design().to_dict(),
        (f"{prefix}choose_config", -1, "record"): record().to_dict(),
        (f"{prefix}fit_model", -1, "stored_at"): f"/store/nightly%20join/{TYPE}/{MODEL_ID}.json",
    }


def downstream(group: str = "ernest", production: str = "production") -> dict[str, frozenset[str]]:
    prefix = f"{group}." if group else ""
    order = ("check_cluster", "design", "create_cluster", "sample_run", "fit_model", "choose_config")
    after = {f"{prefix}{one}": frozenset({f"{prefix}{other}"}) for one, other in pairwise(order)}
    return {**after, f"{prefix}choose_config": frozenset({f"{prefix}terminate_cluster", production})}


def example_run(
    *,
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    without: tuple[str, ...] = (),
    **facts: Any,
) -> RunRecord:
    """The run.

    Args:
        changed: fields of task instances to set, by the last part of their task's id.
        without: last parts of the ids of tasks that left no values.
        facts: other fields of the run.
    """
    changes = changed or {}
    tasks = tuple(replace(task, **changes.get(_last(task.task_id), {})) for task in rows())
    kept = {key: value for key, value in values().items() if _last(key[0]) not in without}
    return RunRecord(
        **{
            "dag_id": DAG_ID,
            "run_id": RUN_ID,
            "state": "success",
            "started_at": NOON - timedelta(minutes=2),
            "ended_at": NOON + timedelta(minutes=41),
            "tasks": tasks,
            "values": kept,
            "downstream": downstream(),
            **facts,
        }
    )


def never_run(*tasks: str) -> dict[str, dict[str, Any]]:
    """Changes that keep tasks from running, as Airflow notes it: with times all the same."""
    at = NOON + timedelta(minutes=20)
    return {task: {"state": "upstream_failed", "started_at": at, "ended_at": at} for task in tasks}


def _last(task_id: str) -> str:
    return task_id.rpartition(".")[2]
