"""DAG runs made up by hand that look for a stored model before they train."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from airflow_provider_ernest.documents import CODE, Model, ModelMark, ProductionRun
from airflow_provider_ernest.views.dag_run import RunRecord
from tests.unit.views.run_examples import (
    JOB,
    NOON,
    TYPE,
    decision,
    downstream,
    example_run,
    model,
    origin,
    record,
    row,
)
from tests.unit.views.two_types import FIRST, OTHER_TYPE, other_model, two_types_run

REUSED_ID = "20261101T060000.000000Z-0badcafe"
WHY_REUSED = (
    f"The model of 2026-11-01 06:00 UTC ({REUSED_ID}) is reused: nothing that it depends on has changed. "
    "The input is 1.3 times as large as then."
)
WHY_TRAINED = (
    f"The model of 2026-11-01 06:00 UTC ({REUSED_ID}) is not reused. The application has changed: it is "
    "c4c4c4c4c4c4 and was 1f1f1f1f1f1f."
)
SKIPPED = {"state": "skipped", "started_at": NOON, "ended_at": NOON}
TRAINING = ("check_cluster", "design", "create_cluster", "sample_run", "fit_model", "terminate_cluster")
FIND = row("ernest.find_model", "FindModelOperator", -3, -2.5)


def reused_model() -> Model:
    """A model that an earlier run trained."""
    earlier = replace(origin("fit_model"), run_id="scheduled__2026-11-01T06:00:00+00:00")
    at = "2026-11-01T06:00:00+00:00"
    return replace(model(), id=REUSED_ID, at=at, origin=earlier)


def found(**types: Any) -> dict[tuple[str, int, str], Any]:
    """What the task that looks pushes: by type (with its dot) why, and the model if it is reused."""
    return {
        ("ernest.find_model", -1, "models"): {
            name: each.to_dict() for name, (_, each) in types.items() if each is not None
        },
        ("ernest.find_model", -1, "reasons"): {name: reason for name, (reason, _) in types.items()},
        ("ernest.find_model", -1, "growth"): dict.fromkeys(types, 1.3),
    }


def reused_run(*, values: Mapping[tuple[str, int, str], Any] | None = None, **facts: Any) -> RunRecord:
    """A stored model is reused: nothing is trained.

    Args:
        values: other XComs than those that the tasks of such a run push.
        facts: other fields of the run.
    """
    chosen = decision(model_id=REUSED_ID)
    kept = replace(record(), decision=chosen, model_id=REUSED_ID, reuse=WHY_REUSED)
    run = example_run(changed=dict.fromkeys(TRAINING, SKIPPED))
    # Airflow does not expand a mapped task that it skips.
    tasks = [task for task in run.tasks if task.map_index <= 0]
    pushed = {
        **found(**{TYPE: (WHY_REUSED, reused_model())}),
        ("ernest.choose_config", -1, "return_value"): chosen.to_dict(),
        ("ernest.choose_config", -1, "record"): kept.to_dict(),
    }
    after = {**downstream(), "ernest.find_model": frozenset({"ernest.design", "ernest.choose_config"})}
    return replace(
        run,
        **{
            "tasks": (
                FIND,
                *(replace(task, map_index=-1, name="") if task.map_index == 0 else task for task in tasks),
                row("ernest.cluster_ready", "EmptyOperator", 0, 0, state="skipped"),
            ),
            "values": pushed if values is None else values,
            "downstream": after,
            **facts,
        },
    )


def retrained_run(**changes: Any) -> RunRecord:
    """There is a model, but the application has changed."""
    run = example_run(**changes)
    return replace(
        run,
        tasks=(FIND, *run.tasks, row("ernest.cluster_ready", "EmptyOperator", 5, 5)),
        values={**found(**{TYPE: (WHY_TRAINED, None)}), **run.values},
        downstream={**run.downstream, "ernest.find_model": frozenset({"ernest.design"})},
    )


def half_reused_run() -> RunRecord:
    """Of two types, the first has a stored model, and the second is trained."""
    skipped = {
        f"{FIRST}.{task}": SKIPPED
        for task in ("create_cluster", "sample_run", "fit_model", "terminate_cluster")
    }
    run = two_types_run(changed=skipped, without=tuple(skipped))
    stored = replace(reused_model(), origin=replace(origin("fit_model"), run_id="earlier"))
    told = found(**{TYPE: (WHY_REUSED, stored), OTHER_TYPE: (WHY_TRAINED, None)})
    return replace(run, tasks=(FIND, *run.tasks), values={**run.values, **told})


def recorded_run() -> RunRecord:
    """Production is submitted by a stock operator, and a task behind it records what it took."""
    run = example_run()
    told = ProductionRun(
        id="20261120T124200.000000Z-0badcafe",
        at="2026-11-20T12:42:00+00:00",
        job=JOB,
        instance_type=TYPE,
        machines=8,
        scale=1.0,
        seconds=664.0,
        predicted_seconds=630.0,
        likely_seconds=(590.0, 670.0),
        nearly_certain_seconds=(560.0, 700.0),
        cost=0.3,
        origin=replace(origin("record"), task_id="record_run"),
    )
    return replace(
        run,
        tasks=(*run.tasks, row("record_run", "RecordRunOperator", 41, 42)),
        values={**run.values, ("record_run", -1, "production_run"): told.to_dict()},
        downstream={**run.downstream, "production": frozenset({"record_run"})},
    )


def mark(**changes: Any) -> ModelMark:
    """What the task that looks for models has noted."""
    at = NOON - timedelta(minutes=2.6)
    known = ModelMark(
        id="20261120T115724.000000Z-0badcafe",
        at=at.isoformat(),
        job=JOB,
        instance_type=TYPE,
        model_id=REUSED_ID,
        cause=CODE,
        reason=WHY_TRAINED,
        artifact_sha256="c4" * 32,
        origin=replace(origin("find_model"), task_id="ernest.find_model"),
    )
    return replace(known, **changes)


def second_model() -> Model:
    """That of the type that is trained in `half_reused_run`."""
    return other_model()
