"""The application as a whole: its description, and what it says when things go wrong."""

import logging
import re
from pathlib import Path

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.web.answers import JsonAnswer, error_answer
from tests.unit.web.pages_app import StubAuthManager, pages


def failing(error: Exception):
    def read(dag_id: str, run_id: str):
        raise error

    return read


def test_what_is_unforeseen_is_told_plainly_and_logged(caplog: pytest.LogCaptureFixture):
    client = pages(runs=failing(RuntimeError("secret of the code")))
    with caplog.at_level(logging.ERROR):
        answer = client.get("/api/run?dag_id=a&run_id=b")
    assert answer.status_code == 500
    assert "log of Airflow's API server" in answer.json()["detail"]
    assert "secret" not in answer.text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "secret of the code" in caplog.text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InvalidParameterError("scale", -1, "is negative", remedy="Raise it."), 422),
        (MissingResourceError("There is no such thing.", remedy="Look elsewhere."), 404),
    ],
)
def test_our_own_errors_say_what_to_do(error: Exception, status: int):
    answer = pages(runs=failing(error)).get("/api/run?dag_id=a&run_id=b")
    assert answer.status_code == status
    assert answer.json() == {"detail": str(error)}


def test_a_store_that_cannot_be_read_says_what_to_check_and_no_path(tmp_path: Path):
    root = tmp_path / "store"
    root.write_text("a file where a folder should be")
    answer = pages(store=ModelStore(root)).get("/api/models")
    assert answer.status_code == 503
    assert "[ernest] store" in answer.json()["detail"]
    assert str(tmp_path) not in answer.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("limit=1000", r"limit='1000': .*200"),
        ("sort=colour", r"sort='colour' .*job"),
        ("offset=-1", r"offset='-1'"),
        ("state=rotten", r"state='rotten' .*stale"),
    ],
)
def test_a_wrong_parameter_is_named(query: str, words: str, tmp_path: Path):
    answer = pages(store=ModelStore(tmp_path)).get(f"/api/models?{query}")
    assert answer.status_code == 422
    assert re.search(words, answer.json()["detail"])


def test_a_long_wrong_parameter_is_not_sent_back_whole(tmp_path: Path):
    answer = pages(store=ModelStore(tmp_path)).get("/api/models", params={"limit": "9" * 5000})
    assert answer.status_code == 422
    assert len(answer.text) < 500


def test_markup_in_an_error_page_is_text():
    scope = {"path": "/prefix/ernest/model", "root_path": "/prefix/ernest", "headers": []}
    answer = error_answer(scope, 404, "<script>alert(1)</script>")
    assert b"<script" not in answer.body
    assert b"&lt;script&gt;" in answer.body


@pytest.fixture(scope="module")
def description() -> dict:
    return pages().get("/openapi.json").json()


class TestDescription:
    def test_it_has_all_of_the_api(self, description):
        assert set(description["paths"]) == {
            "/openapi.json",
            "/api/models",
            "/api/model",
            "/api/prediction",
            "/api/same_cost",
            "/api/production",
            "/api/clarity",
            "/api/untrained_runs",
            "/api/run",
            "/api/task",
        }

    def test_each_route_says_what_it_is_and_what_may_come(self, description):
        for path, methods in description["paths"].items():
            assert set(methods) == {"get"}
            route = methods["get"]
            assert route["summary"]
            assert route["tags"]
            expected = {"200", "401", "403"} | ({"404", "422"} if path.startswith("/api/") else set())
            assert expected <= set(route["responses"]), path

    def test_each_answer_has_a_form(self, description):
        for path in ("models", "model", "prediction", "run", "task"):
            answer = description["paths"][f"/api/{path}"]["get"]["responses"]["200"]
            form = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
            assert description["components"]["schemas"][form]["properties"]

    def test_its_paths_begin_where_it_lies(self, description):
        assert description["servers"] == [{"url": "."}]

    def test_it_is_not_public(self):
        assert pages(is_logged_in=False).get("/openapi.json").status_code == 401


class TestJson:
    def test_numbers_that_json_does_not_know_become_null(self):
        assert JsonAnswer({"a": [float("nan"), 1.5], "b": float("inf")}).body == b'{"a":[null,1.5],"b":null}'

    def test_halves_of_characters_and_huge_numbers_pass(self):
        assert JsonAnswer({"\ud800": 10**30}).body == b'{"\\ud800":1000000000000000000000000000000}'


def test_only_reading_is_possible():
    client = pages(StubAuthManager())
    assert {client.post(path).status_code for path in ("/api/models", "/models", "/nothing")} == {405}
