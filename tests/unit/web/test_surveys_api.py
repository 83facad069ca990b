"""The route of surveys: which one is answered with, and whom it is for."""

from pathlib import Path

import pytest

from airflow_provider_ernest.store.store import ModelStore
from tests.examples import survey, surveyed_job
from tests.unit.views.dag_runs import DAG_ID, model
from tests.unit.web.pages_app import StubAuthManager, assert_described, pages

OLD, NEW = survey(days=30), survey(days=2)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    """Two surveys, and a model of a DAG."""
    store = ModelStore(tmp_path)
    for each in (model(), OLD, NEW):
        store.save(each)
    return store


def test_the_newest_is_shown_and_others_can_be_asked_for(store: ModelStore):
    client = pages(store=store)
    newest = client.get("/api/survey").json()
    assert_described("SurveyPage", newest)
    assert (newest["survey_id"], [each["survey_id"] for each in newest["others"]]) == (NEW.id, [OLD.id])
    older = client.get("/api/survey", params={"survey_id": OLD.id}).json()
    assert (older["survey_id"], [each["at"] for each in older["others"]]) == (OLD.id, [NEW.at])
    assert client.get("/api/models").json()["survey"] == {"survey_id": NEW.id, "at": NEW.at}


@pytest.mark.parametrize(("apart", "unit"), [(1, "machine"), (4, "executor"), (None, "executor")])
def test_it_says_what_its_sizes_count(tmp_path: Path, apart: int | None, unit: str):
    store = ModelStore(tmp_path)
    store.save(survey(jobs=(surveyed_job(executors_per_machine=apart),)))
    assert pages(store=store).get("/api/survey").json()["unit"] == unit


@pytest.mark.parametrize("asked", [{}, {"survey_id": OLD.id}, {"survey_id": "no such survey"}])
def test_who_may_not_read_all_dags_learns_of_none(store: ModelStore, tmp_path: Path, asked: dict[str, str]):
    readers_of_one = StubAuthManager(dags={DAG_ID})
    refused = pages(readers_of_one, store=store).get("/api/survey", params=asked)
    without = pages(readers_of_one, store=ModelStore(tmp_path / "empty")).get("/api/survey", params=asked)
    assert (refused.status_code, refused.text) == (without.status_code, without.text)
    assert refused.status_code == 403
    assert "read all DAGs" in refused.json()["detail"]
    listed = pages(readers_of_one, store=store).get("/api/models").json()
    assert (listed["survey"], listed["total"]) == (None, 1)


def test_where_there_is_none_it_says_how_to_make_one(store: ModelStore, tmp_path: Path):
    answer = pages(store=ModelStore(tmp_path / "empty")).get("/api/survey")
    assert answer.status_code == 404
    assert "ernest survey LOGS --store" in answer.json()["detail"]
    assert pages(store=store).get("/api/survey", params={"survey_id": "../x"}).status_code == 404


def test_a_torn_one_gives_way_to_the_one_before(store: ModelStore):
    path = store.root / ".surveys" / f"{NEW.id}.json"
    path.write_text(path.read_text()[:99])
    assert pages(store=store).get("/api/survey").json()["survey_id"] == OLD.id
