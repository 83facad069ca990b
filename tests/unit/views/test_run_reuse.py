"""The page of a run that looks for a stored model before it trains, or that records what production took."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents.decisions import ProductionRun
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.run_documents import StoredOfRun, stored_of
from tests.examples import design
from tests.unit.views.dag_runs import (
    FIRST,
    JOB,
    OTHER_TYPE,
    REUSED_ID,
    SECOND,
    SKIPPED,
    TYPE,
    WHY_REUSED,
    WHY_TRAINED,
    branch_of,
    decision,
    example_run,
    group_of,
    half_reused_run,
    handle,
    mark,
    origin,
    page_of,
    pushing,
    record,
    recorded_run,
    retrained_run,
    reused_model,
    reused_run,
    rows,
    steps_of,
    task_of,
)

NOT_NEEDED = "Not needed: a stored model is reused."
TRAINING = ("check_cluster", "design", "create_cluster", "sample_run", "fit_model", "terminate_cluster")


class TestReused:
    def test_a_cluster_that_only_production_needs_is_no_training(self):
        create = next(task for task in rows() if task.task_id == "ernest.create_cluster")
        run = reused_run()
        tasks = tuple(create if task.task_id == create.task_id else task for task in run.tasks)
        run = pushing(replace(run, tasks=tasks), "create_cluster", handle())
        assert group_of(run)["training"]["cost"] is None
        assert steps_of(run)["create_cluster"]["says"].startswith("4 machines")

    def test_task_pages(self):
        looked = task_of(reused_run(), "ernest.find_model")
        assert (looked["kind"], looked["says"]) == ("find", WHY_REUSED)
        skipped = task_of(reused_run(), "ernest.fit_model")
        assert (skipped["says"], skipped["hints"]) == (NOT_NEEDED, [])
        assert looked["model"]["model_id"] == skipped["model"]["model_id"] == REUSED_ID


class TestTrained:
    def test_it_says_why(self):
        told = group_of(retrained_run())
        assert steps_of(retrained_run())["find_model"]["says"] == f"{WHY_TRAINED} So one is trained."
        (branch,) = told["branches"]
        assert (branch["reuse"]["is_reused"], branch["reuse"]["reason"]) == (False, WHY_TRAINED)
        assert told["training"]["cost"] is not None
        looked = task_of(retrained_run(), "ernest.find_model")
        assert (looked["model"], looked["hints"]) == (None, [])

    def test_what_past_runs_make_needless_says_so(self):
        needless = ("create_cluster", "terminate_cluster")
        run = retrained_run(changed=dict.fromkeys(needless, SKIPPED))
        enough = design(experiments=(), past_runs=9, reason="9 past runs tell enough.")
        steps = steps_of(pushing(run, "design", enough.to_dict(), key="design"))

        assert steps["design"]["says"] == "9 past runs tell enough."
        assert {steps[name]["says"] for name in needless} == {"Not needed: past runs tell enough."}

    def test_a_step_that_is_skipped_for_another_reason_is_just_skipped(self):
        run = retrained_run(changed={"terminate_cluster": SKIPPED})
        assert steps_of(run)["terminate_cluster"]["says"] == "It was skipped."


def test_of_several_types_one_is_reused_and_the_other_trained():
    told = group_of(half_reused_run())
    first, second = told["branches"]
    assert (first["instance_type"], first["reuse"]["is_reused"]) == (TYPE, True)
    assert first["model"]["model_id"] == REUSED_ID
    assert (second["instance_type"], second["reuse"]["is_reused"]) == (OTHER_TYPE, False)
    assert first["training"]["cost"] is None
    assert told["training"]["cost"] == second["training"]["cost"] is not None
    steps = steps_of(half_reused_run())
    assert steps[f"{SECOND}.fit_model"]["says"].startswith("Error of")
    assert steps["design"]["says"].startswith("4 runs")
    assert steps[f"{FIRST}.fit_model"]["says"] == NOT_NEEDED
    for name, why in ((TYPE, WHY_REUSED), (OTHER_TYPE, WHY_TRAINED)):
        assert f"{name}: {why}" in steps["find_model"]["says"]


class TestValuesGone:
    def test_the_kept_decision_tells_it(self):
        chosen = record(decision=decision(model_id=REUSED_ID), model_id=REUSED_ID, reuse=WHY_REUSED)
        stored = StoredOfRun(decisions=lambda: (chosen,))
        run = reused_run(values={})
        assert page_of(run, stored)["hints"] == []
        branch, steps = branch_of(run, stored), steps_of(run, stored)
        assert branch["reuse"]["reason"] == WHY_REUSED
        assert branch["model"] == {
            "job": JOB,
            "instance_type": TYPE,
            "model_id": REUSED_ID,
            "median_error_percent": 3.0,
            "max_error_percent": 3.1,
        }
        assert (steps["find_model"]["says"], steps["fit_model"]["says"]) == (WHY_REUSED, NOT_NEEDED)

    def test_without_that_the_states_tell_that_there_was_one(self):
        run = reused_run(values={})
        assert branch_of(run)["reuse"]["is_reused"]
        assert steps_of(run)["design"]["says"] == NOT_NEEDED
        assert "ernest.find_model" in page_of(run)["hints"][0]


@pytest.mark.parametrize(
    "told",
    [
        {"models": {TYPE: {"model_id": "<b>"}}, "reasons": {TYPE: 7}, "growth": {TYPE: "nan"}},
        {"models": [1], "reasons": "s3://elsewhere", "growth": None},
        {"models": {TYPE: {}}, "reasons": {}, "growth": {TYPE: -1.0}},
    ],
)
def test_whatever_the_values_hold(told: dict[str, Any]):
    run = reused_run()
    for key, value in told.items():
        run = pushing(run, "find_model", value, key=key)
    assert group_of(run)["decision"]["machines"] == 8


class TestMarks:
    def test_what_the_run_noted_is_told(self, tmp_path: Path):
        store = ModelStore(tmp_path)
        elsewhere = replace(origin("find_model"), run_id="another")
        for each in (reused_model(), mark(), mark(id="20261120T115725.000000Z-0badcafe", origin=elsewhere)):
            store.save(each)
        run = retrained_run()
        (told,) = page_of(run, stored_of(store, run))["marks"]
        assert (told["cause"], told["reason"], told["model_id"]) == ("code", WHY_TRAINED, REUSED_ID)
        assert told["origin"]["task_id"] == "ernest.find_model"

    def test_the_store_is_not_asked_where_nobody_notes_anything(self):
        def asked() -> Any:
            raise AssertionError

        assert page_of(example_run(), StoredOfRun(marks=asked))["marks"] == []


class TestRecordedBehindProduction:
    def test_the_record_is_productions(self):
        production = group_of(recorded_run())["production"]
        assert production["task_id"] == "production"
        assert (production["seconds"], production["cost"], production["held_likely"]) == (664.0, 0.3, True)
        says = steps_of(recorded_run())["record_run"]["says"]
        assert says == "Recorded: 11 min 4 s; predicted: 10 min 30 s."

    def test_where_the_dag_is_gone(self):
        assert group_of(replace(recorded_run(), downstream={}))["production"]["seconds"] == 664.0

    def test_from_the_store_where_its_value_is_gone(self):
        run = recorded_run()
        values = dict(run.values)
        told = ProductionRun.from_dict(values.pop(("record_run", -1, "production_run")))
        stored = StoredOfRun(production_runs=lambda: (told,))
        assert group_of(replace(run, values=values), stored)["production"]["seconds"] == 664.0
