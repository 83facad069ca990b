"""The routes of DAG runs and task instances."""

from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ernest.documents import ProductionRun
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.web import models
from tests.browser.preview_runs import PREVIEW_RUNS, preview_run
from tests.unit.views.run_examples import DAG_ID, JOB, RUN_ID, TYPE, example_run, model
from tests.unit.web.pages_app import StubAuthManager, assert_described, pages

RUN = {"dag_id": DAG_ID, "run_id": RUN_ID}


def example(dag_id: str, run_id: str) -> RunRecord | None:
    run = example_run()
    return run if (dag_id, run_id) == (run.dag_id, run.run_id) else None


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path)


@pytest.mark.parametrize("name", PREVIEW_RUNS)
def test_a_run_has_the_described_form(name: str, store: ModelStore):
    answer = pages(store=store, runs=preview_run).get("/api/run", params={"dag_id": "a", "run_id": name})
    assert answer.status_code == 200
    assert_described("Run", answer.json())


@pytest.mark.parametrize("name", PREVIEW_RUNS)
def test_each_of_its_task_instances_has_the_described_form(name: str, store: ModelStore):
    client = pages(store=store, runs=preview_run)
    for task in preview_run("a", name).tasks:
        named = {"dag_id": "a", "run_id": name, "task_id": task.task_id, "map_index": task.map_index}
        answer = client.get("/api/task", params=named)
        assert answer.status_code == 200
        assert_described("Task", answer.json())


@pytest.mark.parametrize("path", ["/api/run", "/api/task"])
class TestRefusals:
    def test_a_run_that_is_not_there(self, path, store):
        named = {**RUN, "run_id": "no such run", "task_id": "a"}
        answer = pages(store=store, runs=example).get(path, params=named)
        assert answer.status_code == 404
        assert "no such DAG run" in answer.json()["detail"]

    def test_a_dag_that_may_not_be_read_says_the_same_with_and_without_such_a_run(self, path, store):
        client = pages(StubAuthManager(dags={"another"}), store=store, runs=example)
        there = client.get(path, params={**RUN, "task_id": "ernest.design"})
        absent = client.get(path, params={**RUN, "run_id": "no such run", "task_id": "ernest.design"})
        assert there.status_code == absent.status_code == 403
        assert there.text == absent.text

    @pytest.mark.parametrize("entity", ["RUN", "TASK_INSTANCE", "XCOM"])
    def test_each_part_of_the_run_must_be_readable(self, path, store, entity):
        client = pages(StubAuthManager(denied={entity}), store=store, runs=example)
        assert client.get(path, params={**RUN, "task_id": "ernest.design"}).status_code == 403

    def test_the_dag_that_is_checked_is_the_one_that_is_read(self, path, store):
        asked = []

        def read(dag_id, run_id):
            asked.append(dag_id)

        client = pages(StubAuthManager(dags={"mine"}), store=store, runs=read)
        for query in ("dag_id=mine&dag_id=secret", "dag_id=secret&dag_id=mine"):
            client.get(f"{path}?{query}&run_id=r&task_id=t")
        assert "secret" not in asked


class TestTask:
    def test_one_that_is_not_there(self, store):
        answer = pages(store=store, runs=example).get("/api/task", params={**RUN, "task_id": "no such task"})
        assert answer.status_code == 404

    def test_the_placeholder_that_airflow_leaves_for_tasks_that_are_not_mapped(self, store):
        named = {**RUN, "task_id": "ernest.fit_model", "map_index": "{MAP_INDEX}"}
        answer = pages(store=store, runs=example).get("/api/task", params=named)
        assert answer.json()["kind"] == "fit"

    def test_a_map_index_that_cannot_be(self, store):
        named = {**RUN, "task_id": "ernest.fit_model", "map_index": "first"}
        answer = pages(store=store, runs=example).get("/api/task", params=named)
        assert answer.status_code == 422
        assert "map_index='first'" in answer.json()["detail"]


def test_what_airflow_has_deleted_is_taken_from_the_store(store: ModelStore):
    store.save(model())
    client = pages(store=store, runs=lambda dag_id, run_id: example_run(values={}))
    (group,) = client.get("/api/run", params=RUN).json()["groups"]
    assert group["branches"][0]["model"]["model_id"] == model().id
    assert len(group["branches"][0]["observations"]) == len(model().observations)


def test_a_store_that_cannot_be_read_does_not_hide_the_run(tmp_path: Path):
    root = tmp_path / "store"
    root.write_text("a file where a folder should be")
    answer = pages(store=ModelStore(root), runs=example).get("/api/run", params=RUN)
    assert answer.status_code == 200
    assert answer.json()["groups"][0]["decision"]["machines"] == 8


def test_halves_of_characters_in_xcoms_are_no_error(store: ModelStore):
    run = example_run()
    broken = {**run.values[("ernest.choose_config", -1, "return_value")], "goal": "\ud800"}
    values = {**run.values, ("ernest.choose_config", -1, "return_value"): broken}
    client = pages(store=store, runs=lambda dag_id, run_id: replace(run, values=values))
    assert client.get("/api/run", params=RUN).status_code == 200


def test_a_store_that_cannot_be_opened_does_not_hide_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def unopenable(_: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", "s3://a-store-of-this-test")
    monkeypatch.setattr(models, "store_root", unopenable)
    answer = pages(runs=example).get("/api/run", params=RUN)
    assert answer.status_code == 200
    assert answer.json()["groups"][0]["decision"]["machines"] == 8
    assert "Install s3fs" in caplog.text


def test_what_the_xcoms_tell_is_not_looked_for_in_the_store(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
):
    run = example_run()
    pushed = ProductionRun(
        id="1",
        at="2026-11-20T12:41:00+00:00",
        job=JOB,
        instance_type=TYPE,
        machines=8,
        scale=1.0,
        seconds=590.0,
    )
    run = replace(run, values={**run.values, ("production", -1, "production_run"): pushed.to_dict()})
    asked = []
    monkeypatch.setattr(type(store.catalogue), "entries", lambda _: asked.append(1) or [])
    client = pages(store=store, runs=lambda dag_id, run_id: run)
    assert client.get("/api/run", params=RUN).status_code == 200
    assert asked == []
