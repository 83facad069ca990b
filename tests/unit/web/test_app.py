"""The application as a whole: its pages, what they load, and what it says when things go wrong."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.exceptions import InvalidParameterError, MissingResourceError
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.web.answers import JsonAnswer, error_answer
from airflow_provider_ernest.web.app import asset
from tests.unit.web.pages_app import StubAuthManager, pages

SHELLS = ("/models", "/model", "/run", "/survey")
A_RUN = "/api/run?dag_id=a&run_id=b"


class TestPages:
    @pytest.mark.parametrize("path", SHELLS)
    def test_one_loads_only_what_is_shipped(self, path: str):
        client = pages()
        page = client.get(path)
        assert page.headers["Content-Type"] == "text/html; charset=utf-8"
        loaded = re.findall(r'"(assets/[^"]+)"', page.text)
        assert loaded
        # Relative, since nobody knows the prefix that Airflow runs under.
        assert not re.search(r'(?:src|href)="(?:/|(?!data:)[a-z]+:)', page.text)
        for file in loaded:
            assert client.get(f"/{file}").status_code == 200, file

    def test_the_start_leads_on_relatively(self):
        answer = pages().get("/")
        assert answer.is_redirect
        assert answer.headers["Location"] == "models"

    def test_only_reading_is_possible(self):
        client = pages()
        assert {client.post(path).status_code for path in ("/api/models", "/models", "/nothing")} == {405}

    @pytest.mark.parametrize("is_logged_in", [True, False])
    @pytest.mark.parametrize(
        "path", ["/models", "/assets/0/model.js", "/assets/0/no.js", A_RUN, "/openapi.json", "/no", "/"]
    )
    def test_every_answer_bears_the_headers(self, path: str, is_logged_in: bool):
        headers = pages(is_logged_in=is_logged_in).get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'self'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cache-Control"] in ("no-cache", "no-store")


class TestFiles:
    @pytest.mark.parametrize("name", ["model.js", "model.css", "echarts.min.js"])
    def test_one_is_kept_for_good(self, name: str):
        client, one = pages(), asset(name)
        answer = client.get(f"/{one.address}")
        assert answer.headers["Content-Type"] == one.media_type
        assert answer.content == one.content
        assert "immutable" in answer.headers["Cache-Control"]

    def test_the_address_of_another_version_leads_to_this_one_which_is_not_kept(self):
        answer = pages().get("/assets/0123456789abcdef/model.js")
        assert answer.content == asset("model.js").content
        assert answer.headers["Cache-Control"] == "no-store"

    @pytest.mark.parametrize(
        "name",
        [
            "../app.py",
            "%2e%2e/app.py",
            "..%2fapp.py",
            "%2fetc%2fpasswd",
            "model.html",
            "model",
            "model.js%00.png",
            "report.js",
            "echarts.LICENSE",
            "",
        ],
    )
    def test_nothing_else_is_served(self, name: str):
        answer = pages().get(f"/assets/{asset('model.js').digest}/{name}")
        assert answer.status_code == 404
        assert "root:" not in answer.text


def failing(error: Exception) -> Any:
    def read(dag_id: str, run_id: str) -> None:
        raise error

    return read


class TestErrors:
    def test_what_is_unforeseen_is_told_plainly_and_logged(self, caplog: pytest.LogCaptureFixture):
        client = pages(runs=failing(RuntimeError("secret of the code")))
        with caplog.at_level(logging.ERROR):
            answer = client.get(A_RUN)
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
    def test_our_own_say_what_to_do(self, error: Exception, status: int):
        answer = pages(runs=failing(error)).get(A_RUN)
        assert (answer.status_code, answer.json()) == (status, {"detail": str(error)})

    def test_a_store_that_cannot_be_read_says_what_to_check_and_no_path(self, tmp_path: Path):
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
            ("state=rotten", r"state='rotten' .*stale"),
            (f"limit={'9' * 5000}", "limit='9"),
            ("job=a", "instance_type is missing"),
        ],
    )
    def test_a_wrong_parameter_is_named_and_not_sent_back_whole(self, query: str, words: str, tmp_path: Path):
        path = "/api/model" if "missing" in words else "/api/models"
        answer = pages(store=ModelStore(tmp_path)).get(f"{path}?{query}")
        assert answer.status_code == 422
        assert re.search(words, answer.json()["detail"])
        assert len(answer.text) < 500

    def test_people_are_told_by_a_page_and_scripts_in_json(self):
        client = pages(is_logged_in=False)
        for path in SHELLS:
            answer = client.get(path)
            assert answer.headers["Content-Type"].startswith("text/html")
            assert "<h1>Unauthorized</h1>" in answer.text
        client = pages(StubAuthManager(sees_pages=False))
        answer = client.get("/api/models", headers={"Accept": "text/html"})
        assert answer.json()["detail"].startswith("You may not see these pages.")

    def test_markup_in_a_page_of_an_error_is_text(self):
        scope = {"path": "/prefix/ernest/model", "root_path": "/prefix/ernest", "headers": []}
        answer = error_answer(scope, 404, "<script>alert(1)</script>")
        assert b"<script" not in answer.body
        assert b"&lt;script&gt;" in answer.body


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ({"a": [float("nan"), 1.5], "b": float("inf")}, b'{"a":[null,1.5],"b":null}'),
        ({"\ud800": 10**30}, b'{"\\ud800":1000000000000000000000000000000}'),
    ],
    ids=["numbers that JSON does not know", "halves of characters and huge numbers"],
)
def test_whatever_is_answered_is_json(answer: Any, written: bytes):
    assert JsonAnswer(answer).body == written
