"""A DAG run made up by hand in which two types of machine are trained, one after the other.

They share a design. On m5.xlarge the training takes from 12:00 to 12:27, on r5.large, at half the price and
with two machines, from 12:30 to 12:50; each ends its own cluster. The decision at 12:55 is for r5.large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from airflow_provider_ernest.documents import Configuration, Decision, DecisionRecord, Model
from airflow_provider_ernest.views.dag_run import RunRecord, TaskRow
from tests.unit.views.run_examples import (
    PRICE,
    RUNS,
    TYPE,
    decision,
    design,
    example_run,
    experiments,
    handle,
    model,
    observation,
    origin,
    record,
    row,
)

OTHER_TYPE, OTHER_MODEL_ID = "r5.large", "20261120T125000.000000Z-0badf00d"
FIRST, SECOND = "m5_xlarge", "r5_large"


def branch_rows(branch: str, begin: float, end: float) -> tuple[TaskRow, ...]:
    prefix = f"ernest.{branch}."
    return (
        row(f"{prefix}create_cluster", "EC2ClusterOperator", begin, begin + 2),
        *(
            row(
                f"{prefix}sample_run",
                "SampleRunOperator",
                begin + 3 + index,
                begin + 4 + index,
                map_index=index,
            )
            for index in range(len(RUNS))
        ),
        row(f"{prefix}fit_model", "FitModelOperator", end - 2, end - 1),
        row(f"{prefix}terminate_cluster", "TerminateClusterOperator", end - 1, end),
    )


def other_model() -> Model:
    return replace(
        model(),
        id=OTHER_MODEL_ID,
        instance_type=OTHER_TYPE,
        origin=origin(f"{SECOND}.fit_model"),
    )


def other_decision(**changes: Any) -> Decision:
    known = {
        "config": Configuration(machines=6, instance_type=OTHER_TYPE),
        "model_id": OTHER_MODEL_ID,
        "price_per_hour": PRICE / 2,
        "probability": 0.91,
        "confidence": 0.8,
    }
    return decision(**{**known, **changes})


def other_record(**changes: Any) -> DecisionRecord:
    return replace(
        record(),
        instance_type=OTHER_TYPE,
        decision=other_decision(**changes),
        model_id=OTHER_MODEL_ID,
        confidence=0.8,
        model_ids=(model().id, OTHER_MODEL_ID),
    )


def branch_values(branch: str) -> dict[tuple[str, int, str], Any]:
    is_first = branch == FIRST
    prefix, trained = f"ernest.{branch}.", replace(model(), origin=origin(f"{FIRST}.fit_model"))
    cluster = handle()
    if not is_first:
        trained = other_model()
        machine = {**cluster["machines"][0], "price_per_hour": PRICE / 2}
        cluster = {
            **cluster,
            "instance_type": OTHER_TYPE,
            "machines": [machine] * 2,
            "master": None,
            "culled": [],
        }
    kind = TYPE if is_first else OTHER_TYPE
    return {
        (f"{prefix}create_cluster", -1, "return_value"): cluster,
        (f"{prefix}fit_model", -1, "return_value"): trained.to_dict(),
        **{
            (f"{prefix}sample_run", index, "return_value"): replace(
                observation(index), instance_type=kind
            ).to_dict()
            for index in range(len(RUNS))
        },
    }


def two_types_run(
    *,
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    without: tuple[str, ...] = (),
    chosen: DecisionRecord | None = None,
    **facts: Any,
) -> RunRecord:
    """The run.

    Args:
        changed: fields of task instances to set, by the task's id without "ernest.".
        without: such ids of tasks that left no values.
        chosen: the record of the decision.
        facts: other fields of the run.
    """
    kept = chosen or other_record()
    tasks = (
        row("ernest.design", "ExperimentDesignOperator", -1, -0.5),
        *branch_rows(FIRST, 0, 27),
        *branch_rows(SECOND, 30, 50),
        row("ernest.choose_config", "ChooseConfigOperator", 54, 55),
        row("production", "SparkSubmitOperator", 56, 66),
    )
    values = {
        ("ernest.design", -1, "return_value"): [one.to_dict() for one in experiments()],
        ("ernest.design", -1, "design"): design().to_dict(),
        **branch_values(FIRST),
        **branch_values(SECOND),
        ("ernest.choose_config", -1, "return_value"): kept.decision.to_dict(),
        ("ernest.choose_config", -1, "record"): kept.to_dict(),
    }
    changes = changed or {}
    return example_run(
        **{
            "tasks": tuple(
                replace(task, **changes.get(task.task_id.removeprefix("ernest."), {})) for task in tasks
            ),
            "values": {
                key: value for key, value in values.items() if key[0].removeprefix("ernest.") not in without
            },
            "downstream": {
                f"ernest.{FIRST}.fit_model": frozenset({"ernest.choose_config"}),
                f"ernest.{SECOND}.fit_model": frozenset({"ernest.choose_config"}),
                "ernest.choose_config": frozenset({"production"}),
            },
            **facts,
        }
    )
