"""What the tab of a task instance tells."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_ernest.documents import Origin, ProductionRun
from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.views.run import task_page
from airflow_provider_ernest.views.run_documents import StoredOfRun
from airflow_provider_ernest.web.answers import json_ready
from tests.unit.views.run_examples import (
    JOB,
    MODEL_ID,
    TYPE,
    example_run,
    row,
    rows,
)

MODEL = {"job": JOB, "instance_type": TYPE, "model_id": MODEL_ID}


class TestTask:
    def told(self, task_id: str, map_index: int = -1, run: RunRecord | None = None) -> dict[str, Any] | None:
        page = task_page(run or example_run(), stored=StoredOfRun(), task_id=task_id, map_index=map_index)
        return json_ready(page)

    def test_a_sample_run(self):
        told = self.told("ernest.sample_run", 2)
        assert told["kind"] == "sample_run"
        assert told["experiment"]["machines"] == told["observation"]["machines"] == 4
        assert told["observation"]["seconds"] == 36.0
        assert told["model"] == MODEL

    def test_a_sample_run_that_failed_was_planned_all_the_same(self):
        run = example_run(changed={"sample_run": {"state": "failed"}}, without=("sample_run",))
        told = self.told("ernest.sample_run", 1, run)
        assert told["observation"] is None
        assert told["experiment"]["machines"] == 2
        assert "log says why" in told["says"]

    def test_before_there_is_a_model(self):
        run = example_run(
            changed={"fit_model": {"state": None}, "choose_config": {"state": None}},
            without=("fit_model", "choose_config"),
        )
        told = self.told("ernest.sample_run", 1, run)
        assert told["model"] is None
        assert "no model of this run yet" in told["hints"][-1]

    def test_all_instances_of_a_mapped_task(self):
        told = self.told("ernest.sample_run")
        assert told["says"] == "It has 4 mapped instances."
        assert told["hints"] == ["Open one of them."]

    def test_production_says_where_its_log_is(self):
        recorded = ProductionRun(
            id="1",
            at="2026-11-20T12:41:00+00:00",
            job=JOB,
            instance_type=TYPE,
            machines=8,
            scale=1.0,
            seconds=590.0,
            application_id="app-1",
            event_log="/logs/app-1",
            origin=Origin(dag_id="d", run_id="r", task_id="production"),
        )
        stored = StoredOfRun(production_runs=lambda: (recorded,))
        told = json_ready(task_page(example_run(), stored=stored, task_id="production", map_index=-1))
        assert "as application app-1 is /logs/app-1" in told["hints"][-1]

    def test_a_task_that_is_not_ours(self):
        run = example_run(tasks=(*rows(), row("hello", "BashOperator", 0, 1)))
        told = self.told("hello", run=run)
        assert told["kind"] is None
        assert "none of Ernest's" in told["hints"][0]

    @pytest.mark.parametrize(
        ("task", "index"), [("nothing", -1), ("ernest.sample_run", 99), ("production", 3)]
    )
    def test_one_that_is_not_there(self, task, index):
        assert self.told(task, index) is None

    def test_a_design_of_anything(self):
        run = example_run()
        for planned in ({}, "x", [1, 2, 3, 4], [None] * 4, [{"index": 10**400}] * 4):
            values = {**run.values, ("ernest.design", -1, "return_value"): planned}
            assert self.told("ernest.sample_run", 1, replace(run, values=values))["experiment"] is None
