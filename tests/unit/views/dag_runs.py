"""DAG runs made up by hand, as Airflow's database would hold them.

`example_run`: one type of machine; the decision ends at 12:30, production runs from 12:31 to 12:41 on eight
machines. `two_types_run`: two types share a design, and the decision at 12:55 is for r5.large.

In changes and values tasks go by their id without the group's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import Configuration, Decision, DecisionRecord, ProductionRun
from airflow_provider_ernest.documents.models import FittedTerm, Fold, Model, ModelMark, Validation
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.views.run import RunRecord, TaskRow
from tests import examples

DAG_ID, RUN_ID = "nightly_sizing", "manual__2026-11-20T12:00:00+00:00"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
PRICE = 0.2
JOB, TYPE, MODEL_ID = "nightly join", "m5.xlarge", "20261120T122900.000000Z-0badcafe"
OTHER_TYPE, OTHER_MODEL_ID = "r5.large", "20261120T125000.000000Z-0badf00d"
OF_THE_JOB = {"job": JOB, "instance_type": TYPE}
FIRST, SECOND = "m5_xlarge", "r5_large"
"""The groups of the two types."""

RUNS = ((1, 0.02, 31.0), (2, 0.04, 33.0), (4, 0.08, 36.0), (4, 0.1, 41.0))
"""Machines, scale and seconds of the sample runs."""
SKIPPED = {"state": "skipped", "started_at": NOON, "ended_at": NOON}
REUSED_ID = "20261101T060000.000000Z-0badcafe"
WHY_REUSED = (
    f"The model of 2026-11-01 06:00 UTC ({REUSED_ID}) is reused: nothing that it depends on has changed. "
    "The input is 1.3 times as large as then."
)
WHY_TRAINED = (
    f"The model of 2026-11-01 06:00 UTC ({REUSED_ID}) is not reused. The application has changed: it is "
    "c4c4c4c4c4c4 and was 1f1f1f1f1f1f."
)


# What the tasks store.


def origin(task: str, map_index: int = -1) -> Origin:
    return Origin(dag_id=DAG_ID, run_id=RUN_ID, task_id=f"ernest.{task}", map_index=map_index)


def observation(index: int) -> Observation:
    executors, scale, seconds = RUNS[index]
    return examples.observation(
        index,
        executors=executors,
        scale=scale,
        seconds=seconds,
        startup_seconds=5.0,
        instance_type=TYPE,
        application_id=f"app-20261120120{index}00-0000",
        event_log=f"file:/var/log/spark/app-20261120120{index}00-0000",
        hosts=tuple(f"10.0.0.{host + 1}" for host in range(executors)),
        origin=origin("sample_run", index),
    )


def model(**fields: Any) -> Model:
    folds = tuple(
        Fold(index=index, executors=executors, scale=scale, seconds=seconds, predicted_seconds=1.03 * seconds)
        for index, (executors, scale, seconds) in enumerate(RUNS)
    )
    return examples.model(
        **{
            **OF_THE_JOB,
            "id": MODEL_ID,
            "at": "2026-11-20T12:29:00+00:00",
            "terms": (FittedTerm(name="1", meaning="serial work", coefficient=20.0),),
            "validation": Validation(
                folds=folds, residual_sum_of_squares=4.2, median_error_percent=3.0, max_error_percent=3.1
            ),
            "observations": tuple(observation(index) for index in range(len(RUNS))),
            "startup_seconds": 5.0,
            "warnings": (),
            "origin": origin("fit_model"),
            **fields,
        }
    )


TRAINED_ON = examples.training_cluster(4, instance_type=TYPE, price_per_hour=PRICE)


def other_model(**fields: Any) -> Model:
    fitted = origin(f"{SECOND}.fit_model")
    return model(**{"id": OTHER_MODEL_ID, "instance_type": OTHER_TYPE, "origin": fitted, **fields})


def reused_model() -> Model:
    """A model that an earlier run trained."""
    earlier = replace(origin("fit_model"), run_id="scheduled__2026-11-01T06:00:00+00:00")
    return model(id=REUSED_ID, at="2026-11-01T06:00:00+00:00", origin=earlier)


INTERVALS = {"likely_seconds": (590.0, 670.0), "nearly_certain_seconds": (560.0, 700.0)}


def decision(**fields: Any) -> Decision:
    return examples.decision(
        **{
            "config": Configuration(executors=8, instance_type=TYPE),
            "goal": "best value within 15 min in 90 % of runs",
            "price_per_hour": PRICE,
            "predicted_seconds": 630.0,
            "run_seconds": 625.0,
            "startup_seconds": 5.0,
            **INTERVALS,
            "predicted_cost": 0.28,
            "error_percent": 3.0,
            "max_error_percent": 3.1,
            "model_id": MODEL_ID,
            "warnings": (),
            "probability": 0.93,
            "confidence": 0.9,
            **fields,
        }
    )


def record(**fields: Any) -> DecisionRecord:
    return examples.decision_record(
        **{
            **OF_THE_JOB,
            "id": "20261120T123000.000000Z-0badcafe",
            "at": "2026-11-20T12:30:00+00:00",
            "decision": decision(),
            "model_id": MODEL_ID,
            "deadline_seconds": 900.0,
            "confidence": 0.9,
            "origin": origin("choose_config"),
            **fields,
        }
    )


def other_record(**changes: Any) -> DecisionRecord:
    """The decision for the other type, with changes of the decision itself."""
    chosen = {
        "config": Configuration(executors=6, instance_type=OTHER_TYPE),
        "model_id": OTHER_MODEL_ID,
        "price_per_hour": PRICE / 2,
    }
    return record(
        instance_type=OTHER_TYPE,
        decision=decision(**{**chosen, **changes}),
        model_id=OTHER_MODEL_ID,
        model_ids=(MODEL_ID, OTHER_MODEL_ID),
    )


def production_run(map_index: int = -1, **fields: Any) -> ProductionRun:
    """As the task that production is would record it: 590 s on 8 machines, of 649 s predicted."""
    return examples.production_run(
        **{
            **OF_THE_JOB,
            "id": "20261120T124100.000000Z-0badcafe",
            "at": "2026-11-20T12:41:00+00:00",
            "seconds": 590.0,
            "predicted_seconds": 649.0,
            "likely_seconds": (600.0, 700.0),
            "nearly_certain_seconds": (580.0, 720.0),
            "cost": 0.3,
            "model_id": MODEL_ID,
            "decision_id": record().id,
            "origin": replace(origin("", map_index), task_id="production"),
            **fields,
        }
    )


def mark(**fields: Any) -> ModelMark:
    """What the task that looks for models has noted."""
    return examples.mark(
        **{
            **OF_THE_JOB,
            "id": "20261120T115724.000000Z-0badcafe",
            "at": (NOON - timedelta(minutes=2.6)).isoformat(),
            "model_id": REUSED_ID,
            "reason": WHY_TRAINED,
            "origin": origin("find_model"),
            **fields,
        }
    )


# Its tasks.


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


def _training_rows(prefix: str, begin: float, end: float) -> tuple[TaskRow, ...]:
    samples = (
        row(f"{prefix}sample_run", "SampleRunOperator", begin + 6, end - 3, map_index=index, name=name)
        for index, name in enumerate(
            f"{executors} machines, {100 * scale:.2f} %" for executors, scale, _ in RUNS
        )
    )
    return (
        row(f"{prefix}create_cluster", "EC2ClusterOperator", begin, begin + 5),
        *samples,
        row(f"{prefix}fit_model", "FitModelOperator", end - 2, end),
        row(f"{prefix}terminate_cluster", "TerminateClusterOperator", end, end + 2),
    )


def rows(group: str = "ernest", production: str = "production") -> tuple[TaskRow, ...]:
    prefix = f"{group}." if group else ""
    return (
        row(f"{prefix}check_cluster", "EC2PreflightOperator", -2, -1.5),
        row(f"{prefix}design", "ExperimentDesignOperator", -1, -0.5),
        *_training_rows(prefix, 0, 29),
        row(f"{prefix}choose_config", "ChooseConfigOperator", 29, 30),
        row(production, "SparkSubmitOperator", 31, 41),
    )


def downstream(group: str = "ernest", production: str = "production") -> dict[str, frozenset[str]]:
    prefix = f"{group}." if group else ""
    order = ("check_cluster", "design", "create_cluster", "sample_run", "fit_model", "choose_config")
    after = {f"{prefix}{one}": frozenset({f"{prefix}{other}"}) for one, other in pairwise(order)}
    return {**after, f"{prefix}choose_config": frozenset({f"{prefix}terminate_cluster", production})}


# The runs.


def example_run(
    *,
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    chosen: DecisionRecord | None = None,
    **facts: Any,
) -> RunRecord:
    """The run of one type.

    Args:
        changed: fields of task instances to set, by task.
        chosen: another decision; none where the task that decides has not succeeded.
        facts: other fields of the run.
    """
    tasks = _changed(facts.pop("tasks", rows()), changed or {})
    has_decided = any(task.task_id == "ernest.choose_config" and task.state == "success" for task in tasks)
    told = {("ernest.choose_config", -1, "record"): (chosen or record()).to_dict()} if has_decided else {}
    known = {"dag_id": DAG_ID, "run_id": RUN_ID, "state": "success", "values": told}
    return RunRecord(**{**known, "tasks": tasks, "downstream": downstream(), **facts})


def _changed(tasks: tuple[TaskRow, ...], changes: Mapping[str, Mapping[str, Any]]) -> tuple[TaskRow, ...]:
    return tuple(replace(task, **changes.get(task.task_id.removeprefix("ernest."), {})) for task in tasks)


def never_run(*tasks: str) -> dict[str, dict[str, Any]]:
    """Changes that keep tasks from running, as Airflow notes it: with times all the same."""
    at = NOON + timedelta(minutes=20)
    return {task: {"state": "upstream_failed", "started_at": at, "ended_at": at} for task in tasks}


def pushing(run: RunRecord, task: str, value: Any, *, key: str, map_index: int = -1) -> RunRecord:
    """The run with another value of a task."""
    task_id = task if task in ("production", "record_run") else f"ernest.{task}"
    return replace(run, values={**run.values, (task_id, map_index, key): value})


def recording(run: RunRecord, told: ProductionRun | None = None, task: str = "production") -> RunRecord:
    """The run whose production is recorded."""
    return pushing(run, task, (told or production_run()).to_dict(), key="production_run")


def failing(run: RunRecord, task: str, why: str, map_index: int = -1) -> RunRecord:
    """The run whose task says why it failed."""
    return pushing(run, task, why, key="failure", map_index=map_index)


def two_types_run(**facts: Any) -> RunRecord:
    """The run of two types, with another decision if one is given."""
    tasks = (
        row("ernest.design", "ExperimentDesignOperator", -1, -0.5),
        *_training_rows(f"ernest.{FIRST}.", 0, 26),
        *_training_rows(f"ernest.{SECOND}.", 30, 49),
        row("ernest.choose_config", "ChooseConfigOperator", 54, 55),
        row("production", "SparkSubmitOperator", 56, 66),
    )
    after = {
        **{f"ernest.{each}.fit_model": frozenset({"ernest.choose_config"}) for each in (FIRST, SECOND)},
        "ernest.choose_config": frozenset({"production"}),
    }
    return example_run(**{"tasks": tasks, "downstream": after, "chosen": other_record(), **facts})


FIND = row("ernest.find_model", "FindModelOperator", -3, -2.5)
"""The task that looks for a stored model before anything is trained."""
TRAINING = ("check_cluster", "design", "create_cluster", "sample_run", "fit_model", "terminate_cluster")


def looking(run: RunRecord, **reasons: str) -> RunRecord:
    """The run whose first task looked for stored models, with what it told by type."""
    return pushing(replace(run, tasks=(FIND, *run.tasks)), "find_model", reasons, key="reasons")


def reused_run() -> RunRecord:
    """A stored model is reused: nothing is trained."""
    kept = record(decision=decision(model_id=REUSED_ID), model_id=REUSED_ID, reuse=WHY_REUSED)
    run = example_run(changed=dict.fromkeys(TRAINING, SKIPPED), chosen=kept)
    # Airflow does not expand a mapped task that it skips.
    tasks = (replace(task, map_index=-1, name="") for task in run.tasks if task.map_index <= 0)
    return looking(replace(run, tasks=tuple(tasks)), **{TYPE: WHY_REUSED})


def half_reused_run() -> RunRecord:
    """Of two types, the first has a stored model, and the second is trained."""
    run = two_types_run(changed={f"{FIRST}.{task}": SKIPPED for task in TRAINING})
    return looking(run, **{TYPE: WHY_REUSED, OTHER_TYPE: WHY_TRAINED})


def recorded_run() -> RunRecord:
    """Production is submitted by a stock operator, and a task behind it records what it took."""
    told = production_run(seconds=664.0, predicted_seconds=630.0, **INTERVALS, origin=origin("record_run"))
    run = example_run(
        tasks=(*rows(), row("record_run", "RecordRunOperator", 41, 42)),
        downstream={**downstream(), "production": frozenset({"record_run"})},
    )
    return recording(run, told, "record_run")


OUT_OF_REACH = (
    "No allowed configuration ends within 3 min 20 s in 99.5 % of runs. Possible: a deadline of 10 min 40 s "
    "(16 machines of m5.xlarge). Extend the deadline."
)


def refused_run() -> RunRecord:
    """A run whose goal was out of reach."""
    changed = {"choose_config": {"state": "failed"}, **never_run("production")}
    return failing(example_run(changed=changed, state="failed"), "choose_config", OUT_OF_REACH)


def broken_sample_run() -> RunRecord:
    """A sample run failed by the job's own exception."""
    changed = {"sample_run": {"state": "failed"}, **never_run("fit_model", "choose_config", "production")}
    why = "job.py failed: ValueError: unknown zone ..."
    return failing(example_run(changed=changed, state="failed"), "sample_run", why, map_index=2)
