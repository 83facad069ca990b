"""The route of DAG runs and task instances."""

from pathlib import Path

import pytest

from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.views.run import RunRecord
from airflow_provider_ernest.web import models
from tests.browser.preview_runs import PREVIEW_RUNS, preview_run
from tests.unit.views.dag_runs import DAG_ID, RUN_ID, example_run, failing
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
def test_a_run_and_its_task_instances_have_the_described_form(name: str, store: ModelStore):
    client = pages(store=store, runs=preview_run)
    run = {"dag_id": "a", "run_id": name}
    asked = [{"task_id": each.task_id, "map_index": each.map_index} for each in preview_run("a", name).tasks]
    for each in [{}, *asked]:
        answer = client.get("/api/run", params={**run, **each})
        assert answer.status_code == 200
        assert_described("Run", answer.json())


class TestRefusals:
    @pytest.mark.parametrize(
        ("other", "said"),
        [
            ({"run_id": "no such run"}, "no such DAG run"),
            ({"task_id": "no such task"}, "no such task instance"),
        ],
    )
    def test_what_is_not_there(self, store, other, said):
        answer = pages(store=store, runs=example).get("/api/run", params={**A_TASK, **other})
        assert answer.status_code == 404
        assert said in answer.json()["detail"]

    def test_a_dag_that_may_not_be_read_says_the_same_with_and_without_such_a_run(self, store):
        client = pages(StubAuthManager(dags={"another"}), store=store, runs=example)
        there = client.get("/api/run", params=A_TASK)
        absent = client.get("/api/run", params={**A_TASK, "run_id": "no such run"})
        assert there.status_code == absent.status_code == 403
        assert there.text == absent.text

    @pytest.mark.parametrize("entity", ["RUN", "TASK_INSTANCE", "XCOM"])
    def test_each_part_of_the_run_must_be_readable(self, store, entity):
        client = pages(StubAuthManager(denied={entity}), store=store, runs=example)
        answer = client.get("/api/run", params=A_TASK)
        assert answer.status_code == 403
        assert "runs, task instances and XComs" in answer.json()["detail"]

    def test_the_dag_that_is_checked_is_the_one_that_is_read(self, store):
        asked = []
        read = lambda dag_id, run_id: asked.append(dag_id)  # noqa: E731
        client = pages(StubAuthManager(dags={"mine"}), store=store, runs=read)
        for query in ("dag_id=mine&dag_id=secret", "dag_id=secret&dag_id=mine"):
            client.get(f"/api/run?{query}&run_id=r&task_id=t")
        assert "secret" not in asked


def test_map_indices(store: ModelStore):
    client = pages(store=store, runs=example)
    # The placeholder that Airflow leaves for tasks that are not mapped.
    assert client.get("/api/run", params={**A_TASK, "map_index": "{MAP_INDEX}"}).status_code == 200
    answer = client.get("/api/run", params={**A_TASK, "map_index": "first"})
    assert answer.status_code == 422
    assert "map_index='first'" in answer.json()["detail"]


def test_halves_of_characters_in_xcoms_are_no_error(store: ModelStore):
    run = failing(example_run(changed={"fit_model": {"state": "failed"}}), "fit_model", "\ud800")
    assert pages(store=store, runs=lambda *_: run).get("/api/run", params=RUN).status_code == 200


def test_a_store_that_cannot_be_opened_does_not_hide_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def unopenable(_: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", "s3://a-store-of-this-test")
    monkeypatch.setattr(models, "store_root", unopenable)
    (card,) = pages(runs=example).get("/api/run", params=RUN).json()["cards"]
    assert card["decision"]["executors"] == 8
    assert "Install s3fs" in caplog.text
