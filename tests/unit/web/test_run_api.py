"""The routes of DAG runs and task instances."""

from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.dag_run import RunRecord
from airflow_provider_ernest.web import models
from tests.browser.preview_runs import PREVIEW_RUNS, preview_run
from tests.unit.views.dag_runs import DAG_ID, RUN_ID, example_run, model, production_run, pushing
from tests.unit.web.pages_app import StubAuthManager, assert_described, pages

RUN = {"dag_id": DAG_ID, "run_id": RUN_ID}
A_TASK = {**RUN, "task_id": "ernest.design"}


def example(dag_id: str, run_id: str) -> RunRecord | None:
    run = example_run()
    return run if (dag_id, run_id) == (run.dag_id, run.run_id) else None


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path)


@pytest.mark.parametrize("name", PREVIEW_RUNS)
def test_a_run_and_its_task_instances_have_the_described_forms(name: str, store: ModelStore):
    client = pages(store=store, runs=preview_run)
    run = {"dag_id": "a", "run_id": name}
    answer = client.get("/api/run", params=run)
    assert answer.status_code == 200
    assert_described("Run", answer.json())
    for task in preview_run("a", name).tasks:
        named = {**run, "task_id": task.task_id, "map_index": task.map_index}
        answer = client.get("/api/task", params=named)
        assert answer.status_code == 200
        assert_described("Task", answer.json())


@pytest.mark.parametrize("path", ["/api/run", "/api/task"])
class TestRefusals:
    def test_a_run_that_is_not_there(self, path, store):
        answer = pages(store=store, runs=example).get(path, params={**A_TASK, "run_id": "no such run"})
        assert answer.status_code == 404
        assert "no such DAG run" in answer.json()["detail"]

    def test_a_dag_that_may_not_be_read_says_the_same_with_and_without_such_a_run(self, path, store):
        client = pages(StubAuthManager(dags={"another"}), store=store, runs=example)
        there = client.get(path, params=A_TASK)
        absent = client.get(path, params={**A_TASK, "run_id": "no such run"})
        assert there.status_code == absent.status_code == 403
        assert there.text == absent.text

    @pytest.mark.parametrize("entity", ["RUN", "TASK_INSTANCE", "XCOM"])
    def test_each_part_of_the_run_must_be_readable(self, path, store, entity):
        client = pages(StubAuthManager(denied={entity}), store=store, runs=example)
        answer = client.get(path, params=A_TASK)
        assert answer.status_code == 403
        assert "runs, task instances and XComs" in answer.json()["detail"]

    def test_the_dag_that_is_checked_is_the_one_that_is_read(self, path, store):
        asked = []
        read = lambda dag_id, run_id: asked.append(dag_id)  # noqa: E731
        client = pages(StubAuthManager(dags={"mine"}), store=store, runs=read)
        for query in ("dag_id=mine&dag_id=secret", "dag_id=secret&dag_id=mine"):
            client.get(f"{path}?{query}&run_id=r&task_id=t")
        assert "secret" not in asked


def test_a_task_that_is_not_there(store: ModelStore):
    answer = pages(store=store, runs=example).get("/api/task", params={**RUN, "task_id": "no such task"})
    assert answer.status_code == 404


def test_map_indices(store: ModelStore):
    client = pages(store=store, runs=example)
    fit = {**RUN, "task_id": "ernest.fit_model"}
    # The placeholder that Airflow leaves for tasks that are not mapped.
    assert client.get("/api/task", params={**fit, "map_index": "{MAP_INDEX}"}).json()["kind"] == "fit"
    answer = client.get("/api/task", params={**fit, "map_index": "first"})
    assert answer.status_code == 422
    assert "map_index='first'" in answer.json()["detail"]


def test_what_airflow_has_deleted_is_taken_from_the_store(store: ModelStore):
    store.save(model())
    client = pages(store=store, runs=lambda dag_id, run_id: example_run(values={}))
    (group,) = client.get("/api/run", params=RUN).json()["groups"]
    assert group["branches"][0]["model"]["model_id"] == model().id
    assert len(group["branches"][0]["observations"]) == len(model().observations)


def test_what_the_xcoms_tell_is_not_looked_for_in_the_store(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
):
    run = pushing(example_run(), "production", production_run().to_dict(), key="production_run")
    asked: list[Any] = []
    monkeypatch.setattr(type(store.catalogue), "entries", lambda _: asked.append(1) or [])
    assert pages(store=store, runs=lambda *_: run).get("/api/run", params=RUN).status_code == 200
    assert asked == []


def test_halves_of_characters_in_xcoms_are_no_error(store: ModelStore):
    told = example_run().values["ernest.choose_config", -1, "return_value"]
    run = pushing(example_run(), "choose_config", {**told, "goal": "\ud800"})
    assert pages(store=store, runs=lambda *_: run).get("/api/run", params=RUN).status_code == 200


class TestAStoreDoesNotHideTheRun:
    def shown(self, **known: Any) -> bool:
        answer = pages(runs=example, **known).get("/api/run", params=RUN)
        return answer.status_code == 200 and answer.json()["groups"][0]["decision"]["machines"] == 8

    def test_that_cannot_be_read(self, tmp_path: Path):
        root = tmp_path / "store"
        root.write_text("a file where a folder should be")
        assert self.shown(store=ModelStore(root))

    def test_that_cannot_be_opened(self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
        def unopenable(_: str) -> None:
            raise ImportError("Install s3fs to access S3")

        monkeypatch.setenv("AIRFLOW__ERNEST__STORE", "s3://a-store-of-this-test")
        monkeypatch.setattr(models, "store_root", unopenable)
        assert self.shown()
        assert "Install s3fs" in caplog.text
