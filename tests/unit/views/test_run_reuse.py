"""The page of a run that looks for a stored model before it trains."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.views.run import run_page, task_page
from airflow_provider_ernest.views.run_documents import StoredOfRun, stored_of
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.reuse_examples import (
    REUSED_ID,
    SKIPPED,
    WHY_REUSED,
    WHY_TRAINED,
    half_reused_run,
    mark,
    recorded_run,
    retrained_run,
    reused_model,
    reused_run,
)
from tests.unit.views.run_examples import NOW, TYPE, example_run, record
from tests.unit.views.two_types import OTHER_TYPE

NOT_NEEDED = "Not needed: a stored model is reused."


def page(run: RunRecord, stored: StoredOfRun | None = None) -> dict[str, Any]:
    told: dict[str, Any] = json_ready(run_page(run, stored=stored or StoredOfRun(), now=NOW))
    return told


def group(run: RunRecord, stored: StoredOfRun | None = None) -> dict[str, Any]:
    (only,) = page(run, stored)["groups"]
    return only


def said(told: dict[str, Any]) -> dict[str, str]:
    return {step["task_id"].removeprefix("ernest."): step["says"] for step in told["steps"]}


class TestReused:
    def test_looking_comes_first_and_says_why(self):
        told = group(reused_run())
        first = told["steps"][0]
        assert (first["kind"], first["says"]) == ("find", WHY_REUSED)
        assert first["model"]["model_id"] == REUSED_ID

    def test_the_training_was_not_needed(self):
        told = group(reused_run())
        sentences = said(told)
        training = ("check_cluster", "design", "create_cluster", "sample_run", "fit_model")
        assert {sentences[task] for task in (*training, "terminate_cluster")} == {NOT_NEEDED}
        assert (told["training"]["cost"], told["training"]["seconds"]) == (None, None)
        assert told["training"]["share_of_production_percent"] is None

    def test_the_model_is_the_one_that_is_reused(self):
        (branch,) = group(reused_run())["branches"]
        assert branch["model"]["model_id"] == REUSED_ID
        assert branch["model"]["median_error_percent"] == 3.0
        assert branch["is_decided_by"]
        assert branch["reuse"] == {
            "is_reused": True,
            "reason": WHY_REUSED,
            "growth": 1.3,
            "trained_at": "2026-11-01T06:00:00+00:00",
        }
        # They are of the run that trained it.
        assert (branch["design"], branch["cluster"], branch["observations"]) == (None, None, [])

    def test_the_decision_says_so(self):
        decision = group(reused_run())["decision"]
        assert decision["machines"] == 8
        assert decision["reuse"] == WHY_REUSED

    def test_nothing_is_missing(self):
        assert page(reused_run())["hints"] == []

    def test_plumbing_is_no_step(self):
        assert not [step for step in group(reused_run())["steps"] if "cluster_ready" in step["task_id"]]

    def test_a_cluster_that_only_production_needs_is_no_training(self):
        run = reused_run()
        trained = example_run()
        create = next(task for task in trained.tasks if task.task_id.endswith("create_cluster"))
        handle = {key: value for key, value in trained.values.items() if key[0] == create.task_id}
        tasks = tuple(create if task.task_id == create.task_id else task for task in run.tasks)
        told = group(replace(run, tasks=tasks, values={**run.values, **handle}))
        assert told["training"]["cost"] is None
        assert said(told)["create_cluster"].startswith("4 machines")

    def test_production_is_compared_as_ever(self):
        production = group(reused_run())["production"]
        assert (production["predicted_seconds"], production["seconds"]) == (630.0, 600.0)


class TestTrained:
    def test_it_says_why(self):
        told = group(retrained_run())
        assert said(told)["find_model"] == f"{WHY_TRAINED} So one is trained."
        (branch,) = told["branches"]
        assert (branch["reuse"]["is_reused"], branch["reuse"]["reason"]) == (False, WHY_TRAINED)
        assert told["training"]["cost"] is not None

    def test_a_step_that_is_skipped_for_another_reason_is_just_skipped(self):
        assert said(group(retrained_run(changed={"terminate_cluster": SKIPPED})))["terminate_cluster"] == (
            "It was skipped."
        )

    def test_a_run_that_does_not_look_tells_nothing_of_it(self):
        told = group(example_run())
        assert told["branches"][0]["reuse"] is None
        assert told["decision"]["reuse"] == ""


class TestSeveralTypes:
    def test_one_is_reused_and_the_other_trained(self):
        told = group(half_reused_run())
        first, second = told["branches"]
        assert (first["instance_type"], first["reuse"]["is_reused"]) == (TYPE, True)
        assert first["model"]["model_id"] == REUSED_ID
        assert first["training"]["cost"] is None
        assert (second["instance_type"], second["reuse"]["is_reused"]) == (OTHER_TYPE, False)
        assert second["training"]["cost"] is not None
        assert told["training"]["cost"] == second["training"]["cost"]
        sentences = said(told)
        assert sentences["m5_xlarge.fit_model"] == NOT_NEEDED
        assert sentences["r5_large.fit_model"].startswith("Error of")
        assert sentences["design"].startswith("4 runs")

    def test_looking_names_each_type(self):
        sentence = said(group(half_reused_run()))["find_model"]
        assert f"{TYPE}: {WHY_REUSED}" in sentence
        assert f"{OTHER_TYPE}: {WHY_TRAINED}" in sentence


class TestValuesGone:
    def test_the_kept_decision_tells_it(self):
        told = record()
        kept = replace(
            told, model_id=REUSED_ID, reuse=WHY_REUSED, decision=replace(told.decision, model_id=REUSED_ID)
        )
        stored = StoredOfRun(decisions=lambda: (kept,))
        whole = page(reused_run(values={}), stored)
        (only,) = whole["groups"]
        (branch,) = only["branches"]
        assert branch["reuse"]["reason"] == WHY_REUSED
        assert branch["model"] == {
            "job": kept.job,
            "instance_type": TYPE,
            "model_id": REUSED_ID,
            "median_error_percent": 3.0,
            "max_error_percent": 3.1,
        }
        assert said(only)["find_model"] == WHY_REUSED
        assert said(only)["fit_model"] == NOT_NEEDED
        assert whole["hints"] == []

    def test_without_that_the_states_tell_that_there_was_one(self):
        whole = page(reused_run(values={}))
        (only,) = whole["groups"]
        assert only["branches"][0]["reuse"]["is_reused"]
        assert said(only)["design"] == NOT_NEEDED
        assert "ernest.find_model" in whole["hints"][0]


@pytest.mark.parametrize(
    "told",
    [
        {"models": {TYPE: {"model_id": "<b>"}}, "reasons": {TYPE: 7}, "growth": {TYPE: "nan"}},
        {"models": [1], "reasons": "s3://elsewhere", "growth": None},
        {"models": {TYPE: {}}, "reasons": {}, "growth": {TYPE: -1.0}},
    ],
)
def test_whatever_the_values_hold(told: dict[str, Any]):
    values = {("ernest.find_model", -1, key): value for key, value in told.items()}
    whole = page(reused_run(values={**reused_run().values, **values}))
    assert whole["groups"][0]["decision"]["machines"] == 8


class TestMarks:
    def test_what_the_run_noted_is_told(self, tmp_path: Path):
        store = ModelStore(tmp_path)
        store.save(reused_model())
        store.save(mark())
        other = mark(id="20261120T115725.000000Z-0badcafe")
        store.save(replace(other, origin=replace(other.origin, run_id="another")))
        run = retrained_run()
        (told,) = page(run, stored_of(store, run))["marks"]
        assert (told["cause"], told["reason"], told["model_id"]) == ("code", WHY_TRAINED, REUSED_ID)
        assert told["task_id"] == "ernest.find_model"

    def test_the_store_is_not_asked_where_nobody_notes_anything(self):
        def asked() -> Any:
            raise AssertionError

        assert page(example_run(), StoredOfRun(marks=asked))["marks"] == []


class TestRecordedBehindProduction:
    def test_the_record_is_productions(self):
        told = group(recorded_run())
        assert told["production"]["task_id"] == "production"
        assert (told["production"]["seconds"], told["production"]["cost"]) == (664.0, 0.3)
        assert told["production"]["held_likely"]
        sentences = {step["kind"]: step["says"] for step in told["steps"]}
        assert sentences["record"] == "Recorded: 11 min 4 s; 10 min 30 s were predicted."

    def test_where_the_dag_is_gone(self):
        told = group(replace(recorded_run(), downstream={}))
        assert told["production"]["seconds"] == 664.0

    def test_from_the_store_where_its_value_is_gone(self):
        run = recorded_run()
        kept = {key: value for key, value in run.values.items() if key[0] != "record_run"}
        from airflow_provider_ernest.documents import ProductionRun

        stored = ProductionRun.from_dict(run.values["record_run", -1, "production_run"])
        told = group(replace(run, values=kept), StoredOfRun(production_runs=lambda: (stored,)))
        assert told["production"]["seconds"] == 664.0


class TestTaskPages:
    def told(self, task: str, run: RunRecord | None = None) -> dict[str, Any]:
        page = json_ready(
            task_page(run or reused_run(), stored=StoredOfRun(), task_id=f"ernest.{task}", map_index=-1)
        )
        assert page is not None
        return page

    def test_the_one_that_looks(self):
        told = self.told("find_model")
        assert (told["kind"], told["says"]) == ("find", WHY_REUSED)
        assert told["model"]["model_id"] == REUSED_ID

    def test_one_that_was_not_needed_has_no_hint_that_something_is_missing(self):
        told = self.told("fit_model")
        assert (told["says"], told["hints"]) == (NOT_NEEDED, [])
        assert told["model"]["model_id"] == REUSED_ID

    def test_the_one_that_looks_and_finds_nothing(self):
        told = self.told("find_model", retrained_run())
        assert (told["model"], told["hints"]) == (None, [])
