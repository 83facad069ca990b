"""DAG runs for the preview, by the id that is asked for; every DAG has all of them.

`PREVIEW_RUNS` has their names. Any other run does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.run import RunRecord
from tests.unit.views.dag_runs import (
    TRAINED_ON,
    TYPE,
    WHY_TRAINED,
    broken_sample_run,
    decision,
    downstream,
    example_run,
    failing,
    half_reused_run,
    looking,
    model,
    never_run,
    other_model,
    other_record,
    record,
    recorded_run,
    recording,
    refused_run,
    reused_model,
    reused_run,
    row,
    rows,
    two_types_run,
)

MARKUP = "<img src=x onerror=alert(1)> \u202e名前"
NOT_YET: dict[str, Any] = {"state": None, "started_at": None, "ended_at": None}
BEHIND_THE_DESIGN = ("create_cluster", "sample_run", "fit_model", "choose_config", "production")
OUT_OF_REACH = "No allowed configuration ends within 60 s in 80 % of runs."
FALLBACK = decision(
    predicted_seconds=None,
    run_seconds=None,
    likely_seconds=None,
    nearly_certain_seconds=None,
    predicted_cost=None,
    probability=None,
    fallback_reason="There is no model to choose by: its training failed or was skipped.",
    warnings=("The stated fallback of 8 machines was taken: there is no model to choose by.",),
)


def preview_run(dag_id: str, run_id: str) -> RunRecord | None:
    """The run of that id."""
    made = PREVIEW_RUNS.get(run_id)
    return replace(made(), dag_id=dag_id, run_id=run_id) if made else None


def seed_runs(store: ModelStore) -> None:
    """Write the models of the examples' DAG; of the run "kept" what it cost, too."""
    trained = model(cluster=TRAINED_ON)
    assert trained.origin is not None
    for each in (
        reused_model(),
        other_model(),
        replace(trained, origin=replace(trained.origin, run_id="kept")),
    ):
        store.save(each)


def _running() -> RunRecord:
    changed = {
        "sample_run": {"state": "running", "ended_at": None},
        **dict.fromkeys(("fit_model", "choose_config", "terminate_cluster", "production"), NOT_YET),
    }
    return example_run(changed=changed, state="running")


def _ended(deadline_seconds: float) -> RunRecord:
    """Production took 590 s."""
    return recording(example_run(chosen=record(deadline_seconds=deadline_seconds)))


def _hostile() -> RunRecord:
    chosen = record(decision=decision(goal=MARKUP, warnings=(MARKUP,)))
    run = example_run(chosen=chosen, changed={"production": {"task_id": MARKUP, "state": "failed"}})
    run = looking(run, **{MARKUP: MARKUP, TYPE: MARKUP})
    return replace(run, downstream={**run.downstream, "ernest.choose_config": frozenset({MARKUP})})


def _two_groups() -> RunRecord:
    names = (("small_input", "report"), ("large_input", "archive"))
    told = {(f"{group}.choose_config", -1, "record"): record().to_dict() for group, _ in names}
    return example_run(
        tasks=tuple(task for group, production in names for task in rows(group, production)),
        values=told,
        downstream={
            key: value for group, production in names for key, value in downstream(group, production).items()
        },
    )


PREVIEW_RUNS: dict[str, Callable[[], RunRecord]] = {
    "kept": lambda: _ended(900.0),
    "missed": lambda: _ended(500.0),
    "unrecorded": example_run,
    "recorded": recorded_run,
    "running": _running,
    "failed_design": lambda: example_run(
        changed={"design": {"state": "failed"}, **never_run(*BEHIND_THE_DESIGN)}, state="failed"
    ),
    "fallback": lambda: example_run(
        changed={"sample_run": {"state": "failed"}, **never_run("fit_model")},
        chosen=record(decision=FALLBACK, model_id=None),
    ),
    "most_probable": lambda: two_types_run(
        chosen=other_record(fallback_reason=OUT_OF_REACH, probability=0.04)
    ),
    "two_types": two_types_run,
    "production_failed": lambda: failing(
        example_run(changed={"production": {"state": "failed"}}, state="failed"), "production", "Exit code 1."
    ),
    "purged": lambda: example_run(values={}),
    "hostile": _hostile,
    "two_groups": _two_groups,
    "reused": reused_run,
    "retrained": lambda: looking(example_run(), **{TYPE: WHY_TRAINED}),
    "half_reused": half_reused_run,
    "out_of_reach": refused_run,
    "broken_sample": broken_sample_run,
    "without_ernest": lambda: example_run(tasks=(row("hello", "BashOperator", 0, 1),)),
}
