"""DAG runs made up by hand, as Airflow's database would hold them, and what the pages tell of them.

`example_run`: a cluster on EC2 at 0.20 dollars for a machine and hour: a master, four workers, one more that
was culled. It forms from 12:00 to 12:05, the decision ends at 12:30, production runs from 12:31 to 12:41 on
eight machines.

`two_types_run`: two types share a design. On m5.xlarge the training takes from 12:00 to 12:27, on r5.large,
at half the price and with two machines, from 12:30 to 12:50; each ends its own cluster. The decision at 12:55
is for r5.large.

In changes and values tasks go by their id without the group's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from airflow_provider_ernest.billing import Billing
from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.decisions import (
    Alternative,
    Configuration,
    Decision,
    DecisionRecord,
    ProductionRun,
    Reachable,
    Refusal,
)
from airflow_provider_ernest.documents.models import FittedTerm, Fold, Model, ModelMark, Validation
from airflow_provider_ernest.documents.profiles import BottleneckReport, ReplayOpinion, TwoOpinions
from airflow_provider_ernest.documents.runs import Design, Experiment, Observation
from airflow_provider_ernest.views.dag_run import RunRecord, TaskRow
from airflow_provider_ernest.views.run import run_page, task_page
from airflow_provider_ernest.views.run_documents import StoredOfRun
from airflow_provider_ernest.web.answers import json_ready
from tests import examples
from tests.unit.run_profiles import cpu_bound, network_bound, reported_of

Values = dict[tuple[str, int, str], Any]
"""XComs by the task's id, its map index and their key."""

DAG_ID, RUN_ID = "nightly_sizing", "manual__2026-11-20T12:00:00+00:00"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOW = NOON + timedelta(hours=2)
PRICE = 0.2
JOB, TYPE, MODEL_ID = "nightly join", "m5.xlarge", "20261120T122900.000000Z-0badcafe"
OTHER_TYPE, OTHER_MODEL_ID = "r5.large", "20261120T125000.000000Z-0badf00d"
OF_THE_JOB = {"job": JOB, "instance_type": TYPE}
FIRST, SECOND = "m5_xlarge", "r5_large"
"""The groups of the two types."""
NOTHING_STORED = StoredOfRun()

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
REPORT = "bottleneck_report"


# What the pages tell.


def page_of(run: RunRecord, stored: StoredOfRun = NOTHING_STORED) -> dict[str, Any]:
    return json_ready(run_page(run, stored=stored, now=NOW))


def group_of(run: RunRecord, stored: StoredOfRun = NOTHING_STORED) -> dict[str, Any]:
    """What the page tells of the only group."""
    (only,) = page_of(run, stored)["groups"]
    return only


def branch_of(run: RunRecord, stored: StoredOfRun = NOTHING_STORED) -> dict[str, Any]:
    """What the page tells of the only branch."""
    (only,) = group_of(run, stored)["branches"]
    return only


def steps_of(run: RunRecord, stored: StoredOfRun = NOTHING_STORED) -> dict[Any, dict[str, Any]]:
    """The steps by their task, those of mapped tasks by task and map index."""
    told = {}
    for step in group_of(run, stored)["steps"]:
        name = step["task_id"].removeprefix("ernest.")
        told[name if step["map_index"] < 0 else (name, step["map_index"])] = step
    return told


def task_of(
    run: RunRecord, task_id: str, map_index: int = -1, stored: StoredOfRun = NOTHING_STORED
) -> dict[str, Any]:
    """The page of a task instance."""
    return json_ready(task_page(run, stored=stored, task_id=task_id, map_index=map_index))


# What the tasks return.


def origin(task: str, map_index: int = -1) -> Origin:
    return Origin(dag_id=DAG_ID, run_id=RUN_ID, task_id=f"ernest.{task}", map_index=map_index)


def experiments() -> tuple[Experiment, ...]:
    return tuple(
        examples.experiment(index, machines=machines, scale=scale, weight=1.0, cost=0.5)
        for index, (machines, scale, _) in enumerate(RUNS)
    )


def design() -> Design:
    return examples.design(*experiments(), criterion="bayesian I", efficiency=0.93, candidates=54)


def observation(index: int) -> Observation:
    machines, scale, seconds = RUNS[index]
    return examples.observation(
        index,
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


def model(**fields: Any) -> Model:
    folds = tuple(
        Fold(index=index, machines=machines, scale=scale, seconds=seconds, predicted_seconds=1.03 * seconds)
        for index, (machines, scale, seconds) in enumerate(RUNS)
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


def other_model() -> Model:
    return model(id=OTHER_MODEL_ID, instance_type=OTHER_TYPE, origin=origin(f"{SECOND}.fit_model"))


def reused_model() -> Model:
    """A model that an earlier run trained."""
    earlier = replace(origin("fit_model"), run_id="scheduled__2026-11-01T06:00:00+00:00")
    return model(id=REUSED_ID, at="2026-11-01T06:00:00+00:00", origin=earlier)


INTERVALS = {"likely_seconds": (590.0, 670.0), "nearly_certain_seconds": (560.0, 700.0)}


def decision(**fields: Any) -> Decision:
    return examples.decision(
        **{
            "config": Configuration(machines=8, instance_type=TYPE),
            "goal": "a deadline of 900 s",
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
            "origin": origin("choose_config"),
            **fields,
        }
    )


def other_record(**changes: Any) -> DecisionRecord:
    """The decision for the other type, with changes of the decision itself."""
    chosen = {
        "config": Configuration(machines=6, instance_type=OTHER_TYPE),
        "model_id": OTHER_MODEL_ID,
        "price_per_hour": PRICE / 2,
        "probability": 0.91,
        "confidence": 0.8,
    }
    return record(
        instance_type=OTHER_TYPE,
        decision=decision(**{**chosen, **changes}),
        model_id=OTHER_MODEL_ID,
        confidence=0.8,
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


def replay(**fields: Any) -> ReplayOpinion:
    """Within the model's intervals on 8 machines, above them on 16."""
    both = (
        TwoOpinions(machines=8, replayed_seconds=640.0, model_seconds=630.0, **INTERVALS),
        TwoOpinions(
            machines=16,
            replayed_seconds=520.0,
            model_seconds=350.0,
            likely_seconds=(320.0, 380.0),
            nearly_certain_seconds=(300.0, 400.0),
        ),
    )
    known = {"sizes": both, "from_application_id": "app-20260312101500-0007", "error_percent": 6.0}
    return ReplayOpinion(**{"scale": 1.0, "from_scale": 0.1, **known, **fields})


def report(**fields: Any) -> BottleneckReport:
    """Of the run of `example_run`: the network binds, and on 16 machines replay and model disagree."""
    return examples.bottleneck_report(
        **{
            **OF_THE_JOB,
            **reported_of(network_bound()),
            "id": "20261120T123100.000000Z-0badcafe",
            "at": "2026-11-20T12:31:00+00:00",
            "replay": replay(),
            "model_id": MODEL_ID,
            "warnings": ("The disks' capacity is what this run's own tasks got: a lower bound.",),
            "origin": origin(REPORT),
            **fields,
        }
    )


def other_report() -> BottleneckReport:
    """On the other type of machine, where nothing but the cores binds and both say the same."""
    return report(
        **reported_of(cpu_bound()),
        id="20261120T125100.000000Z-0badf00d",
        instance_type=OTHER_TYPE,
        replay=None,
        model_id=OTHER_MODEL_ID,
        origin=origin(f"{SECOND}.{REPORT}"),
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


def other_handle() -> dict[str, Any]:
    """Of two machines of the other type, at half the price."""
    cluster = handle()
    machines = [{**cluster["machines"][0], "price_per_hour": PRICE / 2}] * 2
    return {**cluster, "instance_type": OTHER_TYPE, "machines": machines, "master": None, "culled": []}


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


def values(group: str = "ernest") -> Values:
    prefix = f"{group}." if group else ""
    return {
        (f"{prefix}check_cluster", -1, "return_value"): {"cores_per_machine": 4, "price_per_hour": PRICE},
        **_design_values(f"{prefix}design"),
        **_training_values(prefix, handle(), model()),
        **_decision_values(record(), task=f"{prefix}choose_config"),
        (f"{prefix}fit_model", -1, "stored_at"): f"/store/nightly%20join/{TYPE}/{MODEL_ID}.json",
    }


def downstream(group: str = "ernest", production: str = "production") -> dict[str, frozenset[str]]:
    prefix = f"{group}." if group else ""
    order = ("check_cluster", "design", "create_cluster", "sample_run", "fit_model", "choose_config")
    after = {f"{prefix}{one}": frozenset({f"{prefix}{other}"}) for one, other in pairwise(order)}
    return {**after, f"{prefix}choose_config": frozenset({f"{prefix}terminate_cluster", production})}


def _design_values(task: str = "ernest.design") -> Values:
    return {
        (task, -1, "return_value"): [one.to_dict() for one in experiments()],
        (task, -1, "design"): design().to_dict(),
    }


def _training_values(prefix: str, cluster: Mapping[str, Any], trained: Model) -> Values:
    runs = (replace(observation(index), instance_type=trained.instance_type) for index in range(len(RUNS)))
    return {
        (f"{prefix}create_cluster", -1, "return_value"): cluster,
        (f"{prefix}fit_model", -1, "return_value"): trained.to_dict(),
        **{(f"{prefix}sample_run", run.index, "return_value"): run.to_dict() for run in runs},
    }


def _decision_values(kept: DecisionRecord, task: str = "ernest.choose_config") -> Values:
    return {
        (task, -1, "return_value"): kept.decision.to_dict(),
        (task, -1, "record"): kept.to_dict(),
    }


def _branch_rows(branch: str, begin: float, end: float) -> tuple[TaskRow, ...]:
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


# The runs.


def example_run(
    *,
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    without: tuple[str, ...] = (),
    **facts: Any,
) -> RunRecord:
    """The run of one type.

    Args:
        changed: fields of task instances to set, by task.
        without: tasks that left no values.
        facts: other fields of the run.
    """
    return RunRecord(
        **{
            "dag_id": DAG_ID,
            "run_id": RUN_ID,
            "state": "success",
            "started_at": NOON - timedelta(minutes=2),
            "ended_at": NOON + timedelta(minutes=41),
            "tasks": _changed(rows(), changed or {}),
            "values": _without(values(), without),
            "downstream": downstream(),
            **facts,
        }
    )


def _name(task_id: str) -> str:
    return task_id.removeprefix("ernest.")


def _changed(tasks: tuple[TaskRow, ...], changes: Mapping[str, Mapping[str, Any]]) -> tuple[TaskRow, ...]:
    return tuple(replace(task, **changes.get(_name(task.task_id), {})) for task in tasks)


def _without(told: Values, tasks: tuple[str, ...]) -> Values:
    return {key: value for key, value in told.items() if _name(key[0]) not in tasks}


def never_run(*tasks: str) -> dict[str, dict[str, Any]]:
    """Changes that keep tasks from running, as Airflow notes it: with times all the same."""
    at = NOON + timedelta(minutes=20)
    return {task: {"state": "upstream_failed", "started_at": at, "ended_at": at} for task in tasks}


def pushing(
    run: RunRecord, task: str, value: Any, *, key: str = "return_value", map_index: int = -1
) -> RunRecord:
    """The run with another value of a task."""
    task_id = task if task in ("production", "record_run") else f"ernest.{task}"
    return replace(run, values={**run.values, (task_id, map_index, key): value})


def two_types_run(
    *,
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    without: tuple[str, ...] = (),
    chosen: DecisionRecord | None = None,
    **facts: Any,
) -> RunRecord:
    """The run of two types, with another decision if one is given."""
    tasks = (
        row("ernest.design", "ExperimentDesignOperator", -1, -0.5),
        *_branch_rows(FIRST, 0, 27),
        *_branch_rows(SECOND, 30, 50),
        row("ernest.choose_config", "ChooseConfigOperator", 54, 55),
        row("production", "SparkSubmitOperator", 56, 66),
    )
    told = {
        **_design_values(),
        **_training_values(f"ernest.{FIRST}.", handle(), model(origin=origin(f"{FIRST}.fit_model"))),
        **_training_values(f"ernest.{SECOND}.", other_handle(), other_model()),
        **_decision_values(chosen or other_record()),
    }
    after = {
        **{f"ernest.{each}.fit_model": frozenset({"ernest.choose_config"}) for each in (FIRST, SECOND)},
        "ernest.choose_config": frozenset({"production"}),
    }
    known = {"tasks": _changed(tasks, changed or {}), "values": _without(told, without), "downstream": after}
    return example_run(**{**known, **facts})


FIND = row("ernest.find_model", "FindModelOperator", -3, -2.5)
"""The task that looks for a stored model before anything is trained."""


def _found(**types: tuple[str, Model | None]) -> Values:
    """What it pushes: by type why, and the model if it is reused."""
    told = {
        "models": {name: each.to_dict() for name, (_, each) in types.items() if each is not None},
        "reasons": {name: reason for name, (reason, _) in types.items()},
        "growth": dict.fromkeys(types, 1.3),
    }
    return {("ernest.find_model", -1, key): value for key, value in told.items()}


def reused_run(**facts: Any) -> RunRecord:
    """A stored model is reused: nothing is trained."""
    kept = record(decision=decision(model_id=REUSED_ID), model_id=REUSED_ID, reuse=WHY_REUSED)
    training = ("check_cluster", "design", "create_cluster", "sample_run", "fit_model", "terminate_cluster")
    run = example_run(changed=dict.fromkeys(training, SKIPPED))
    # Airflow does not expand a mapped task that it skips.
    tasks = (replace(task, map_index=-1, name="") for task in run.tasks if task.map_index <= 0)
    known = {
        "tasks": (FIND, *tasks, row("ernest.cluster_ready", "EmptyOperator", 0, 0, state="skipped")),
        "values": {**_found(**{TYPE: (WHY_REUSED, reused_model())}), **_decision_values(kept)},
        "downstream": {
            **run.downstream,
            "ernest.find_model": frozenset({"ernest.design", "ernest.choose_config"}),
        },
    }
    return replace(run, **{**known, **facts})


def retrained_run(**changes: Any) -> RunRecord:
    """There is a model, but the application has changed."""
    run = example_run(**changes)
    return replace(
        run,
        tasks=(FIND, *run.tasks, row("ernest.cluster_ready", "EmptyOperator", 5, 5)),
        values={**_found(**{TYPE: (WHY_TRAINED, None)}), **run.values},
        downstream={**run.downstream, "ernest.find_model": frozenset({"ernest.design"})},
    )


def half_reused_run() -> RunRecord:
    """Of two types, the first has a stored model, and the second is trained."""
    skipped = tuple(
        f"{FIRST}.{task}" for task in ("create_cluster", "sample_run", "fit_model", "terminate_cluster")
    )
    run = two_types_run(changed=dict.fromkeys(skipped, SKIPPED), without=skipped)
    told = _found(**{TYPE: (WHY_REUSED, reused_model()), OTHER_TYPE: (WHY_TRAINED, None)})
    return replace(run, tasks=(FIND, *run.tasks), values={**run.values, **told})


def recorded_run() -> RunRecord:
    """Production is submitted by a stock operator, and a task behind it records what it took."""
    told = production_run(
        id="20261120T124200.000000Z-0badcafe",
        seconds=664.0,
        predicted_seconds=630.0,
        **INTERVALS,
        origin=replace(origin(""), task_id="record_run"),
    )
    run = pushing(example_run(), "record_run", told.to_dict(), key="production_run")
    return replace(
        run,
        tasks=(*run.tasks, row("record_run", "RecordRunOperator", 41, 42)),
        downstream={**run.downstream, "production": frozenset({"record_run"})},
    )


def reported_run(
    *, state: str | None = "success", told: BottleneckReport | None = None, **facts: Any
) -> RunRecord:
    """`example_run` with a task in that state that reports why the job takes as long as it does."""
    run = example_run(**facts)
    times = {} if state in ("success", "failed") else {"started_at": None, "ended_at": None}
    reporting = row(f"ernest.{REPORT}", "BottleneckReportOperator", 29, 29.5, state=state, **times)
    run = replace(run, tasks=(*run.tasks, reporting))
    return pushing(run, REPORT, (told or report()).to_dict()) if state == "success" else run


def two_reports_run(*, failed: tuple[str, ...] = ()) -> RunRecord:
    """`two_types_run` with a task that reports in each branch, which failed in some."""
    run = two_types_run()
    for branch, begin, told in ((FIRST, 26.5, report()), (SECOND, 49.5, other_report())):
        task, state = f"{branch}.{REPORT}", "failed" if branch in failed else "success"
        reporting = row(f"ernest.{task}", "BottleneckReportOperator", begin, begin + 0.5, state=state)
        run = replace(run, tasks=(*run.tasks, reporting))
        if state == "success":
            run = pushing(run, task, replace(told, origin=origin(task)).to_dict())
    return run


SECONDS = {2: 1500.0, 4: 1000.0, 8: 630.0, 16: 480.0}
CHANCES = {2: 0.0, 4: 0.31, 8: 0.93, 16: 0.99}


def alternatives(confidence: float) -> tuple[Alternative, ...]:
    return tuple(
        examples.alternative(
            machines,
            instance_type=TYPE,
            seconds=seconds,
            cost=machines * seconds / 3600 * 0.2,
            probability=CHANCES[machines],
            feasible=CHANCES[machines] >= confidence,
        )
        for machines, seconds in SECONDS.items()
    )


def refused_run() -> RunRecord:
    """A run whose goal was out of reach."""
    options = alternatives(0.995)
    refusal = Refusal(
        goal="cheapest within 200 s",
        reason="No allowed configuration ends within 200 s.",
        remedy="Extend the deadline.",
        scale=1.3,
        min_machines=2,
        max_machines=16,
        confidence=0.995,
        alternatives=options,
        nearest=options[-1],
        earliest_deadline=Reachable(limit=640.0, machines=16, instance_type=TYPE),
        model_id=MODEL_ID,
        deadline_seconds=200.0,
        billing=Billing(price_per_hour=0.2, boot_seconds=60.0),
    )
    run = example_run(
        changed={"choose_config": {"state": "failed"}, "production": {"state": "upstream_failed"}},
        without=("choose_config", "production"),
    )
    run = pushing(run, "choose_config", refusal.to_dict(), key="refusal")
    return pushing(run, "choose_config", refusal.reason, key="failure")


def chosen_run(**fields: Any) -> RunRecord:
    """A run that decided among four sizes, with changes of the record."""
    kept = record(
        decision=decision(alternatives=alternatives(0.9), probability=0.93, confidence=0.9),
        confidence=0.9,
        **fields,
    )
    run = pushing(example_run(), "choose_config", kept.decision.to_dict())
    return pushing(run, "choose_config", kept.to_dict(), key="record")
