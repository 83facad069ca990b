"""What a model's page brings along: what the API would answer to the same user, and nothing else."""

import json
import re
import threading
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.web import app
from airflow_provider_ernest.web.app import load_soon
from tests.unit.views.dag_runs import DAG_ID, JOB, TYPE, model, record
from tests.unit.web.pages_app import StubAuthManager, pages

ADDRESS = f"/model?job={quote(JOB)}&instance_type={quote(TYPE)}"
MARKUP = "</script><!--<script>&"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However busy the machine is."""
    load_soon().join()
    monkeypatch.setattr(app, "MOST_SECONDS", 60.0)
    monkeypatch.setattr(app, "MOST_SECONDS_OF_PREDICTION", 60.0)


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    store = ModelStore(tmp_path)
    store.save(model())
    store.save(record())
    store.save(model(job=MARKUP, origin=Origin(dag_id=DAG_ID, run_id="r", task_id="t")))
    return store


def brought(client: TestClient, address: str) -> dict[str, Any]:
    """The answers in a page, by the paths that they are of; each is the answer to its parameters."""
    page = client.get(address)
    assert page.status_code == 200
    blocks = re.findall(r'<script type="application/json" id="answers">(.*?)</script>', page.text, re.DOTALL)
    assert page.headers["Cache-Control"] == ("no-store" if blocks else "no-cache")
    answers = json.loads(blocks[0]) if blocks else []
    for each in answers:
        assert each["answer"] == client.get(f"/{each['path']}", params=each["params"]).json()
    return {each["path"]: each for each in answers}


def test_the_model_and_its_first_prediction_are_in_the_page(store: ModelStore):
    found = brought(pages(store=store), ADDRESS)
    assert found["api/model"]["params"] == {"job": JOB, "instance_type": TYPE}
    assert found["api/prediction"]["answer"]["decision"]


def test_where_the_address_asks_something_the_prediction_is_left_to_the_script(store: ModelStore):
    assert brought(pages(store=store), f"{ADDRESS}&deadline_seconds=100").keys() == {"api/model"}


@pytest.mark.parametrize(
    "address", ["/model", "/model?job=a", f"/model?job=no+job&instance_type={TYPE}", f"{ADDRESS}&model_id=no"]
)
def test_what_is_not_there_is_left_to_the_script(store: ModelStore, address: str):
    assert brought(pages(store=store), address) == {}


def test_nobody_gets_what_the_api_would_refuse(store: ModelStore):
    client = pages(StubAuthManager(dags={"another_dag"}), store=store)
    assert brought(client, ADDRESS) == {}
    assert client.get("/api/model", params={"job": JOB, "instance_type": TYPE}).status_code == 403
    assert pages(store=store, is_logged_in=False).get(ADDRESS).status_code == 401
    of_a_team = pages(store=store, teams=lambda dag_ids: {"another team": dag_ids})
    assert brought(of_a_team, ADDRESS) == {}


def test_no_name_breaks_out_of_the_data(store: ModelStore):
    client = pages(store=store)
    address = f"/model?job={quote(MARKUP)}&instance_type={quote(TYPE)}"
    assert brought(client, address)["api/model"]["answer"]["model"]["job"] == MARKUP
    text = client.get(address).text
    assert text.count("</script") == 2  # of the page's script and of its data
    assert "<!--" not in text


def test_a_store_that_cannot_be_read_is_left_to_the_script(tmp_path: Path):
    root = tmp_path / "store"
    root.write_text("a file where a folder should be")
    assert brought(pages(store=ModelStore(root)), ADDRESS) == {}


def test_a_store_that_does_not_answer_does_not_hold_back_the_page(
    store: ModelStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(app, "MOST_SECONDS", 0.01)
    goes_on = threading.Event()
    entries = store.catalogue.entries

    def hanging(*arguments: Any) -> Any:
        assert goes_on.wait(60)
        return entries(*arguments)

    monkeypatch.setattr(store.catalogue, "entries", hanging)
    with pages(store=store) as client:
        page = client.get(ADDRESS)
        goes_on.set()
    assert (page.status_code, 'id="answers"' in page.text) == (200, False)
