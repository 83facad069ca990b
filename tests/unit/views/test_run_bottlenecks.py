"""What the page of a run tells of why the job takes as long as it does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.run_documents import stored_of
from tests.unit.views.dag_runs import (
    FIRST,
    MODEL_ID,
    REPORT,
    SECOND,
    branch_of,
    downstream,
    group_of,
    model,
    origin,
    page_of,
    pushing,
    record,
    report,
    reported_run,
    steps_of,
    task_of,
    two_reports_run,
)

DISAGREES = report().replay.disagreement


def test_step_branch_and_task_say_what_binds_and_where_replay_disagrees():
    step = steps_of(reported_run())[REPORT]
    assert step["says"] == f"{report().headline}. {DISAGREES}"
    task = task_of(reported_run(), f"ernest.{REPORT}")
    assert (task["kind"], task["says"]) == ("bottleneck_report", step["says"])
    assert step["model"]["model_id"] == task["model"]["model_id"] == MODEL_ID
    assert branch_of(reported_run())["bottlenecks"] == {
        "headline": report().headline,
        "bottleneck": "network",
        "application_id": report().application_id,
        "machines": 4,
        "scale": 0.1,
        "disagreement": DISAGREES,
    }


def test_it_stands_between_fit_and_choice():
    kinds = [each["kind"] for each in group_of(reported_run())["steps"]]
    assert kinds[-5:] == ["fit", "bottleneck_report", "choose", "production", "terminate"]


def test_it_is_never_taken_for_production():
    after = {**downstream(), "ernest.choose_config": frozenset({f"ernest.{REPORT}", "production"})}
    assert group_of(reported_run(downstream=after))["production"]["task_id"] == "production"


@pytest.mark.parametrize(("failed", "told"), [((), ["network", "cpu"]), ((SECOND,), ["network", None])])
def test_each_type_has_its_own(failed: tuple[str, ...], told: list[str | None]):
    run = two_reports_run(failed=failed)
    known = [each["bottlenecks"] for each in group_of(run)["branches"]]
    assert [each and each["bottleneck"] for each in known] == told
    assert steps_of(run)[f"{FIRST}.{REPORT}"]["says"].startswith("Network-bound")


@pytest.mark.parametrize("state", ["failed", "upstream_failed", "skipped"])
def test_without_it_nothing_is_missing(state: str):
    run = reported_run(state=state)
    assert steps_of(run)[REPORT]["says"].endswith("The model and the decision do without it.")
    assert page_of(run)["hints"] == []
    assert branch_of(run)["bottlenecks"] is None
    assert group_of(run)["training"] == group_of(reported_run())["training"]


def test_nothing_could_be_told():
    run = reported_run()
    values = dict(run.values)
    del values[f"ernest.{REPORT}", -1, "return_value"]
    run = replace(run, values=values)
    assert "found nothing in the runs" in steps_of(run)[REPORT]["says"]
    assert page_of(run)["hints"] == []


@pytest.mark.parametrize("value", ["a custom backend's name", {"headline": "x"}, [1], {"id": 3}])
def test_what_is_no_report_hides_nothing_else(value: Any):
    run = pushing(reported_run(), REPORT, value)
    branch = branch_of(run)
    assert (branch["bottlenecks"], branch["model"]["model_id"]) == (None, MODEL_ID)
    assert any(REPORT in hint for hint in page_of(run)["hints"])


def test_where_the_xcoms_are_gone_the_store_tells(tmp_path: Path):
    store = ModelStore(tmp_path)
    elsewhere = replace(origin(REPORT), run_id="another run")
    other = report(id="20261121T000000.000000Z-0badcafe", headline="?", origin=elsewhere)
    for each in (model(), record(), report(), other):
        store.save(each)
    run = replace(reported_run(), values={})
    assert steps_of(run, stored_of(store, run))[REPORT]["says"].startswith("Network-bound")


def test_a_store_that_cannot_be_read_leaves_the_rest(tmp_path: Path):
    store = ModelStore(tmp_path)
    store.save(model())
    file = store.save(report())
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("no folder", encoding="utf-8")
    run = replace(reported_run(), values={})
    assert "found nothing in the runs" in steps_of(run, stored_of(store, run))[REPORT]["says"]
