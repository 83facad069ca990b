"""DAG runs for the preview, by the id that is asked for; every DAG has all of them.

succeeded, retried, running, failed_design, fallback, most_probable, two_types, too_inaccurate,
production_failed, purged, hostile, two_groups, without_ernest, reused, reused_purged, retrained, half_reused,
recorded, reported, report_failed, report_skipped, report_hostile, two_reports,
out_of_reach, kept, missed, broken_sample. Any other run does not exist.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_provider_ernest.documents.models import DATA
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.dag_run import RunRecord
from tests.unit.views.dag_runs import (
    WHY_TRAINED,
    chosen_run,
    decision,
    downstream,
    example_run,
    half_reused_run,
    mark,
    never_run,
    other_model,
    other_record,
    production_run,
    pushing,
    recorded_run,
    refused_run,
    report,
    reported_run,
    retrained_run,
    reused_model,
    reused_run,
    row,
    rows,
    two_reports_run,
    two_types_run,
    values,
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
    fallback_reason="There is no model to choose by: its training failed or was skipped.",
    warnings=("The stated fallback of 8 machines was taken: there is no model to choose by.",),
)


def preview_run(dag_id: str, run_id: str) -> RunRecord | None:
    """The run of that id."""
    made = PREVIEW_RUNS.get(run_id)
    return replace(made(), dag_id=dag_id, run_id=run_id) if made else None


def seed_runs(store: ModelStore) -> None:
    """Write what the runs "two_types", "retrained" and "hostile" stored, in the examples' DAG."""
    for model in (reused_model(), other_model()):
        store.save(model)
    for number, (run_id, reason) in enumerate((("retrained", WHY_TRAINED), ("hostile", MARKUP))):
        told = mark(id=f"2026112011572{number}.000000Z-0badcafe", reason=reason)
        assert told.origin is not None
        store.save(replace(told, cause=DATA, origin=replace(told.origin, run_id=run_id)))


def _running() -> RunRecord:
    now = datetime.now(UTC)
    return example_run(
        changed={
            "create_cluster": {
                "started_at": now - timedelta(minutes=9),
                "ended_at": now - timedelta(minutes=4),
            },
            "sample_run": {"state": "running", "started_at": now - timedelta(seconds=70), "ended_at": None},
            **dict.fromkeys(("fit_model", "choose_config", "terminate_cluster", "production"), NOT_YET),
        },
        without=("sample_run", "fit_model", "choose_config"),
        state="running",
        ended_at=None,
    )


def _ended(deadline_seconds: float) -> RunRecord:
    """Production took 590 s."""
    run = chosen_run(deadline_seconds=deadline_seconds)
    return pushing(run, "production", production_run().to_dict(), key="production_run")


def _broken_sample() -> RunRecord:
    why = "job.py failed: ValueError: unknown zone ..."
    run = example_run(changed={"sample_run": {"state": "failed"}, **never_run("fit_model", "choose_config")})
    return pushing(run, "sample_run", why, key="failure", map_index=2)


def _fallback() -> RunRecord:
    run = example_run(
        changed={"sample_run": {"state": "failed"}, **never_run("fit_model")},
        without=("sample_run", "fit_model"),
    )
    return replace(
        run, values={**run.values, ("ernest.choose_config", -1, "return_value"): FALLBACK.to_dict()}
    )


def _hostile() -> RunRecord:
    run = retrained_run(changed={"design": {"name": MARKUP}, "production": {"task_id": MARKUP}})
    broken: dict[tuple[str, int, str], Any] = {
        ("ernest.find_model", -1, "reasons"): {MARKUP: MARKUP},
        ("ernest.find_model", -1, "models"): {MARKUP: {"model_id": MARKUP}},
        ("ernest.fit_model", -1, "return_value"): {"model_id": MARKUP},
        ("ernest.sample_run", 0, "return_value"): {"index": 0, "machines": -1, "scale": 1, "seconds": MARKUP},
        ("ernest.choose_config", -1, "return_value"): decision(goal=MARKUP, warnings=(MARKUP,)).to_dict(),
    }
    return replace(
        run,
        values={**run.values, **broken},
        downstream={**run.downstream, "ernest.choose_config": frozenset({MARKUP})},
    )


def _two_groups() -> RunRecord:
    names = (("small_input", "report"), ("large_input", "archive"))
    return example_run(
        tasks=tuple(task for group, production in names for task in rows(group, production)),
        values={key: value for group, _ in names for key, value in values(group).items()},
        downstream={
            key: value for group, production in names for key, value in downstream(group, production).items()
        },
    )


PREVIEW_RUNS = {
    "succeeded": example_run,
    "retried": lambda: example_run(changed={"sample_run": {"try_number": 3}}),
    "running": _running,
    "failed_design": lambda: example_run(
        changed={"design": {"state": "failed"}, **never_run(*BEHIND_THE_DESIGN)},
        without=("design", *BEHIND_THE_DESIGN),
        state="failed",
    ),
    "fallback": _fallback,
    "most_probable": lambda: two_types_run(
        chosen=other_record(fallback_reason=OUT_OF_REACH, probability=0.04)
    ),
    "two_types": two_types_run,
    "too_inaccurate": lambda: replace(
        example_run(
            changed={"fit_model": {"state": "failed"}, **never_run("choose_config", "production")},
            without=("choose_config",),
            state="failed",
        ),
        values={
            key: value
            for key, value in example_run(without=("choose_config",)).values.items()
            if key != ("ernest.fit_model", -1, "return_value")
        },
    ),
    "production_failed": lambda: example_run(changed={"production": {"state": "failed"}}, state="failed"),
    "purged": lambda: example_run(values={}),
    "hostile": _hostile,
    "two_groups": _two_groups,
    "reused": reused_run,
    "reused_purged": lambda: reused_run(values={}),
    "retrained": retrained_run,
    "half_reused": half_reused_run,
    "recorded": recorded_run,
    "reported": reported_run,
    "report_failed": lambda: reported_run(state="failed"),
    "report_skipped": lambda: reported_run(state="skipped"),
    "out_of_reach": refused_run,
    "kept": lambda: _ended(900.0),
    "broken_sample": lambda: _broken_sample(),
    "missed": lambda: _ended(500.0),
    "report_hostile": lambda: reported_run(told=report(headline=MARKUP, application_id=MARKUP)),
    "two_reports": two_reports_run,
    "without_ernest": lambda: example_run(tasks=(row("hello", "BashOperator", 0, 1),), values={}),
}
