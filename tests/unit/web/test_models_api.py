"""The routes of the stored models: what is passed on, and whom it is shown to."""

from pathlib import Path
from urllib.parse import quote

import pytest

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.web import models
from airflow_provider_ernest.web.models import model_store
from tests.examples import in_an_address
from tests.unit.views.dag_runs import DAG_ID, JOB, MODEL_ID, TYPE, decision, model, record
from tests.unit.web.pages_app import StubAuthManager, assert_described, pages

OLDER_ID = "20261101T000000.000000Z-00000000"
ONE = {"job": JOB, "instance_type": TYPE}
QUESTION = {"price_per_hour": 0.2, "deadline_seconds": 900, "max_executors": 8}
API = ("/api/model", "/api/prediction", "/api/clarity")


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """A model of a DAG, an older version of it by another DAG, and one that no DAG made."""
    store = ModelStore(tmp_path)
    store.save(model())
    other = Origin(dag_id="secret_dag", run_id="r", task_id="t")
    store.save(model(id=OLDER_ID, at="2026-11-01T00:00:00+00:00", origin=other))
    store.save(model(job="by hand", origin=None))
    store.save(record())
    return store


class TestModels:
    def test_the_list_has_the_described_form(self, store):
        answer = pages(store=store).get("/api/models")
        assert_described("Models", answer.json())
        assert {row["job"] for row in answer.json()["rows"]} == {JOB, "by hand"}

    @pytest.mark.parametrize(("dag_id", "model_id"), [("secret_dag", OLDER_ID), (DAG_ID, MODEL_ID)])
    def test_only_what_the_user_may_read_is_listed_and_counted(self, store, dag_id, model_id):
        listed = pages(StubAuthManager(dags={dag_id}), store=store).get("/api/models").json()
        (row,) = listed["rows"]
        assert (row["model_id"], row["versions"], listed["total"]) == (model_id, 1, 1)

    def test_parameters_are_passed_on(self, store):
        client = pages(store=store)
        assert client.get("/api/models?search=HAND").json()["total"] == 1
        jobs = [
            client.get(f"/api/models?sort=job&descending={order}&limit=1").json()["rows"][0]["job"]
            for order in ("true", "false")
        ]
        assert jobs == [JOB, "by hand"]
        assert client.get("/api/models?offset=2").json()["rows"] == []
        assert client.get("/api/models?state=drifting").json()["total"] == 0


class TestModel:
    @pytest.mark.parametrize(
        ("dags", "asked", "model_id", "is_newest", "versions"),
        [
            (None, {}, MODEL_ID, True, 2),
            (None, {"model_id": OLDER_ID}, OLDER_ID, False, 2),
            ({"secret_dag"}, {}, OLDER_ID, True, 1),
        ],
        ids=["the newest", "a version", "the newest that may be read"],
    )
    def test_it_has_the_described_form(self, store, dags, asked, model_id, is_newest, versions):
        page = pages(StubAuthManager(dags=dags), store=store).get("/api/model", params={**ONE, **asked})
        assert_described("ModelPage", page.json())
        assert page.json()["model"]["model_id"] == model_id
        assert page.json()["is_newest"] == is_newest
        assert len(page.json()["versions"]) == versions

    @pytest.mark.parametrize("name", ["../../etc/passwd", "..", "a/b", "\x00", "%2e%2e"])
    def test_names_are_no_paths(self, store, name):
        answer = pages(store=store).get("/api/model", params={"job": name, "instance_type": name})
        assert answer.status_code == 404


class TestPrediction:
    def test_it_has_the_described_form(self, store):
        answer = pages(store=store).get("/api/prediction", params={**ONE, **QUESTION})
        assert_described("Prediction", answer.json())
        assert [point["executors"] for point in answer.json()["curve"]] == list(range(1, 9))
        assert answer.json()["decision"] is not None

    @pytest.mark.parametrize(
        ("parameter", "value"),
        [
            ("scale", "nan"),
            ("max_executors", "0"),
            ("price_per_hour", "-1"),
            ("confidence", "1"),
            ("objective", "builtins.print"),
            ("boot_seconds", "1e300"),
            ("increment_seconds", "0"),
            ("expected_runs", "0"),
            ("training_dollars", "inf"),
            ("budget_dollars", "1"),
        ],
    )
    def test_what_cannot_be_asked_is_named(self, store, parameter, value):
        deadline = {"deadline_seconds": 900}
        answer = pages(store=store).get("/api/prediction", params={**ONE, **deadline, parameter: value})
        assert answer.status_code == 422
        assert parameter in answer.json()["detail"]

    def test_what_the_page_asks_at_first_can_be_asked(self, store):
        absurd = record(
            id="20261121T000000.000000Z-00000000",
            decision=decision(price_per_hour=1e12),
            scale=1e300,
            min_executors=0,
            max_executors=10**9,
            iterations=0,
            deadline_seconds=0.0,
            budget_dollars=1e200,
        )
        store.save(absurd)
        client = pages(store=store)
        defaults = client.get("/api/model", params=ONE).json()["defaults"]
        assert (defaults["min_executors"], defaults["max_executors"]) == (1, 10**6)
        assert client.get("/api/prediction", params={**ONE, **in_an_address(defaults)}).status_code == 200


@pytest.mark.parametrize("path", API)
class TestNobodyLearnsByGuessing:
    @pytest.mark.parametrize(
        ("dag_id", "hidden", "absent"),
        [
            ("another_dag", {}, {"job": "no such job"}),
            (DAG_ID, {"model_id": OLDER_ID}, {"model_id": "20260101T000000.000000Z-00000000"}),
        ],
        ids=["jobs", "versions"],
    )
    def test_what_there_is(self, store, path, dag_id, hidden, absent):
        client = pages(StubAuthManager(dags={dag_id}), store=store)
        answers = [client.get(path, params={**ONE, **asked}) for asked in (hidden, absent)]
        assert [answer.status_code for answer in answers] == [403, 403]
        assert answers[0].text == answers[1].text

    def test_what_was_made_by_hand_which_a_dag_in_the_address_opens_no_more(self, store, path):
        client = pages(StubAuthManager(dags={DAG_ID}), store=store)
        for more in ({}, {"dag_id": DAG_ID}):
            assert client.get(path, params={**ONE, "job": "by hand", **more}).status_code == 403

    def test_who_may_read_all_is_told_that_there_is_none(self, store, path):
        answer = pages(store=store).get(path, params={**ONE, "job": "no such job"})
        assert answer.status_code == 404
        assert "no such model" in answer.json()["detail"]


def test_the_store_is_the_configured_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AIRFLOW__ERNEST__STORE", str(tmp_path / "models"))
    store = model_store()
    assert store.root == tmp_path / "models"
    # It remembers the catalogue that it has read.
    assert model_store() is store


class TestAStoreThatCannotBeOpened:
    @pytest.mark.parametrize("problem", [ImportError("Install s3fs"), ValueError("unknown scheme")])
    @pytest.mark.parametrize("path", ["/api/models", *API])
    def test_is_told_without_the_words_of_a_library(self, path, problem, monkeypatch, caplog):
        def unopenable(_: str) -> None:
            raise problem

        monkeypatch.setenv("AIRFLOW__ERNEST__STORE", "s3://another-store-of-this-test")
        monkeypatch.setattr(models, "store_root", unopenable)
        answer = pages().get(path, params=ONE)
        assert answer.status_code == 503
        assert "model store cannot be read" in answer.json()["detail"]
        assert str(problem) not in answer.text
        assert str(problem) in caplog.text


@pytest.mark.parametrize("path", API)
class TestAModelThatIsListedAndGone:
    @pytest.fixture
    def gone(self, store) -> ModelStore:
        (store.root / quote(JOB) / TYPE / "models" / f"{MODEL_ID}.json").unlink()
        return store

    def test_the_next_version_is_shown(self, gone, path):
        answer = pages(store=gone).get(path, params=ONE)
        assert answer.status_code == 200
        page = pages(store=gone).get("/api/model", params=ONE).json()
        assert page["model"]["model_id"] == OLDER_ID
        assert page["is_newest"]

    def test_that_version_is_as_one_that_never_was(self, gone, path):
        named = {**ONE, "model_id": MODEL_ID}
        assert pages(store=gone).get(path, params=named).status_code == 404
        client = pages(StubAuthManager(dags={DAG_ID}), store=gone)
        absent = client.get(path, params={**ONE, "job": "no such job"})
        assert client.get(path, params=named).text == absent.text
        assert client.get(path, params=named).status_code == absent.status_code == 403

    def test_one_that_is_damaged_is_no_absent_one(self, store, path):
        assert store.catalogue.entries()
        (store.root / quote(JOB) / TYPE / "models" / f"{MODEL_ID}.json").write_text("{")
        assert pages(store=store).get(path, params=ONE).status_code == 503
