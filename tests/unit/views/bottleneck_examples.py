"""DAG runs made up by hand in which a task reports why the job takes as long as it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from airflow_provider_ernest.documents import BottleneckReport, ReplayOpinion, TwoOpinions
from airflow_provider_ernest.views.dag_run import RunRecord
from tests.unit.run_profiles import cpu_bound, network_bound, reported_of
from tests.unit.views.run_examples import JOB, MODEL_ID, TYPE, example_run, origin, row
from tests.unit.views.two_types import FIRST, OTHER_MODEL_ID, OTHER_TYPE, SECOND, two_types_run

TASK = "bottleneck_report"


def report(**changes: Any) -> BottleneckReport:
    """Of the run of `example_run`: the network binds, and on 16 machines replay and model disagree."""
    known = BottleneckReport(
        id="20261120T123100.000000Z-0badcafe",
        at="2026-11-20T12:31:00+00:00",
        job=JOB,
        instance_type=TYPE,
        profile_ids=("20261120T121000.000000Z-0badcafe",),
        replay=replay(),
        model_id=MODEL_ID,
        warnings=("The disks' capacity is what this run's own tasks got: a lower bound.",),
        origin=origin(TASK),
        **reported_of(network_bound()),
    )
    return replace(known, **changes)


def replay(**changes: Any) -> ReplayOpinion:
    """Within the model's intervals on 8 machines, above them on 16."""
    known = ReplayOpinion(
        scale=1.0,
        sizes=(
            TwoOpinions(
                machines=8,
                replayed_seconds=640.0,
                model_seconds=630.0,
                likely_seconds=(590.0, 670.0),
                nearly_certain_seconds=(560.0, 700.0),
            ),
            TwoOpinions(
                machines=16,
                replayed_seconds=520.0,
                model_seconds=350.0,
                likely_seconds=(320.0, 380.0),
                nearly_certain_seconds=(300.0, 400.0),
            ),
        ),
        from_application_id="app-20260312101500-0007",
        from_scale=0.1,
        error_percent=6.0,
    )
    return replace(known, **changes)


def other_report(**changes: Any) -> BottleneckReport:
    """On another type of machine, where nothing but the cores binds and both say the same."""
    profile = cpu_bound()
    known = {
        "id": "20261120T125100.000000Z-0badf00d",
        "instance_type": OTHER_TYPE,
        "application_id": profile.application_id,
        "bottleneck": profile.bottleneck,
        "headline": profile.headline,
        "limits": profile.limits,
        "replay": None,
        "model_id": OTHER_MODEL_ID,
        "origin": origin(f"{SECOND}.{TASK}"),
    }
    return report(**{**known, **changes})


def reported_run(
    *, state: str | None = "success", told: BottleneckReport | None = None, values: bool = True, **facts: Any
) -> RunRecord:
    """`example_run` with a task that reports.

    Args:
        state: of that task.
        told: what it returns; a report that disagrees with the model by default.
        values: whether anything that tasks pushed is still there.
        facts: other fields of the run.
    """
    run = example_run(**facts)
    has_run = state in ("success", "failed")
    times = {} if has_run else {"started_at": None, "ended_at": None}
    reporting = row(f"ernest.{TASK}", "BottleneckReportOperator", 29, 29.5, state=state, **times)
    pushed = {(f"ernest.{TASK}", -1, "return_value"): (told or report()).to_dict()}
    return replace(
        run,
        tasks=(*run.tasks, reporting),
        values={**run.values, **(pushed if state == "success" else {})} if values else {},
    )


def two_reports_run(*, changed: Mapping[str, Mapping[str, Any]] | None = None, **facts: Any) -> RunRecord:
    """`two_types_run` with a task that reports in each branch.

    Args:
        changed: fields of the tasks that report to set, by branch.
        facts: other arguments of `two_types_run`.
    """
    run, changes = two_types_run(**facts), changed or {}
    told = {FIRST: report(origin=origin(f"{FIRST}.{TASK}")), SECOND: other_report()}
    tasks = tuple(
        replace(
            row(f"ernest.{branch}.{TASK}", "BottleneckReportOperator", begin, begin + 0.5),
            **changes.get(branch, {}),
        )
        for branch, begin in ((FIRST, 26.5), (SECOND, 49.5))
    )
    pushed = {
        (f"ernest.{branch}.{TASK}", -1, "return_value"): each.to_dict()
        for branch, each in told.items()
        if changes.get(branch, {}).get("state", "success") == "success"
    }
    return replace(run, tasks=(*run.tasks, *tasks), values={**run.values, **pushed})
