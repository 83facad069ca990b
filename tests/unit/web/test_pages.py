"""The HTML pages and what they load."""

import re
from pathlib import Path

import pytest

import airflow_provider_ernest.web
from tests.unit.web.pages_app import StubAuthManager, pages

SHELLS = ("/models", "/model", "/run", "/task")
STATIC = Path(airflow_provider_ernest.web.__file__).parent / "static"


@pytest.mark.parametrize("path", SHELLS)
def test_a_page_loads_only_what_is_shipped(path: str):
    client = pages()
    page = client.get(path)
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    loaded = re.findall(r'(?:src|href)="(static/[^"]+)"', page.text)
    assert loaded
    # Relative, since nobody knows the prefix that Airflow runs under.
    assert not re.search(r'(?:src|href)="(?:/|(?!data:)[a-z]+:)', page.text)
    for file in loaded:
        assert client.get(f"/{file}").status_code == 200, file


def test_the_start_leads_on_relatively():
    answer = pages().get("/")
    assert answer.is_redirect
    assert answer.headers["Location"] == "models"


@pytest.mark.parametrize(
    ("name", "media_type"), [("js/dom.js", "text/javascript"), ("vendor/echarts.min.js", "text/javascript")]
)
def test_a_file_is_what_it_is(name: str, media_type: str):
    answer = pages().get(f"/static/{name}")
    assert answer.headers["Content-Type"].startswith(media_type)
    assert answer.content == (STATIC / name).read_bytes()


def test_a_file_that_the_browser_has_is_not_sent_again():
    client = pages()
    first = client.get("/static/js/dom.js")
    assert first.headers["Cache-Control"] == "no-cache"
    again = client.get("/static/js/dom.js", headers={"If-None-Match": f'"other", W/{first.headers["ETag"]}'})
    assert again.status_code == 304
    assert not again.content
    assert again.headers["ETag"] == first.headers["ETag"]


@pytest.mark.parametrize(
    "path",
    [
        "../app.py",
        "%2e%2e/app.py",
        "..%2fapp.py",
        "js/..%2f..%2fapp.py",
        "%2fetc%2fpasswd",
        "%2f..%2f..%2fetc%2fpasswd",
        "models.html",
        "vendor/echarts.LICENSE",
        "js",
        "",
        "js/dom.js%00.png",
        "nothing.js",
    ],
)
def test_nothing_else_is_served(path: str):
    answer = pages().get(f"/static/{path}")
    assert answer.status_code == 404
    assert "root:" not in answer.text


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "secret.js").write_text("secret")
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "link.js").symlink_to(tmp_path / "secret.js")
    monkeypatch.setattr("airflow_provider_ernest.web.app.STATIC", folder)
    assert pages().get("/static/link.js").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/models",
        "/static/js/dom.js",
        "/static/no.js",
        "/api/run?dag_id=a&run_id=b",
        "/openapi.json",
        "/no",
        "/",
    ],
)
@pytest.mark.parametrize("is_logged_in", [True, False])
def test_every_answer_bears_the_headers(path: str, is_logged_in: bool):
    headers = pages(is_logged_in=is_logged_in).get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'self'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] in ("no-cache", "no-store")


@pytest.mark.parametrize("path", SHELLS)
def test_people_are_told_of_errors_by_a_page(path: str):
    answer = pages(is_logged_in=False).get(path)
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "<h1>Unauthorized</h1>" in answer.text


def test_scripts_are_told_of_errors_in_json():
    answer = pages(StubAuthManager(sees_pages=False)).get("/api/models", headers={"Accept": "text/html"})
    assert answer.json()["detail"].startswith("You may not see these pages.")
