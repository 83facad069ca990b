"""Retraining by a button: what is asked first, the run that Airflow is given, and who may not."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from playwright.sync_api import Error, Page, expect

from tests.browser.site import HTTP, RUN_DAG, RUN_JOB, RUN_TYPE, Site, access_token, of

pytestmark = pytest.mark.airflow

POST = """async ({ url, type, mode }) => {
  const body = JSON.stringify({ logical_date: null, conf: {} });
  await fetch(url, { method: "POST", mode, credentials: "include", headers: { "Content-Type": type }, body });
}"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[str]:
    """The address of an empty page of another origin."""
    (tmp_path / "index.html").write_text("<!doctype html>")
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=tmp_path)
    ) as server:
        Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def paused(site: Site) -> Iterator[httpx.Client]:
    """A client of Airflow's own API, while the DAG is paused: its runs wait, and are deleted at the end."""
    client = httpx.Client(base_url=f"{site.url}/api/v2/dags", **HTTP)
    token = access_token(site.url, "admin", site.passwords["admin"])
    client.headers["Authorization"] = f"Bearer {token}"
    before = {run["dag_run_id"] for run in runs(client)}
    client.patch(RUN_DAG, json={"is_paused": True}).raise_for_status()
    yield client
    for run in runs(client):
        if run["dag_run_id"] not in before:
            client.delete(f"{RUN_DAG}/dagRuns/{run['dag_run_id']}").raise_for_status()
    client.patch(RUN_DAG, json={"is_paused": False}).raise_for_status()
    client.close()


def runs(client: httpx.Client) -> list[dict[str, Any]]:
    return list(client.get(f"{RUN_DAG}/dagRuns").raise_for_status().json()["dag_runs"])


def ask(page: Page) -> None:
    page.get_by_role("button", name="Retrain").click()


def test_one_question_then_the_run_with_its_link(site: Site, visit, paused: httpx.Client):
    here = visit(site)
    here.open("model", job=RUN_JOB, instance_type=RUN_TYPE)
    before = runs(paused)
    ask(here.page)
    question = here.page.get_by_role("status").filter(has_text=f"Run {RUN_DAG} now?")
    expect(question).to_contain_text("sample runs anew and a new model")
    expect(question).to_contain_text("The last ")
    expect(question).to_contain_text("The DAG is paused")
    here.page.get_by_role("button", name="Cancel").click()
    expect(here.page.get_by_role("button", name="Retrain")).to_be_focused()
    assert runs(paused) == before
    ask(here.page)
    here.page.get_by_role("button", name="Start the run").click()
    link = here.page.get_by_role("link", name="Open the run in Airflow")
    expect(link).to_be_visible()
    (started,) = [run for run in runs(paused) if run not in before]
    assert started["conf"] == {"ernest_retrain": True}
    assert started["triggering_user_name"] == "admin"
    expect(link).to_have_attribute("href", site.airflow("dags", RUN_DAG, "runs", started["dag_run_id"]))


def test_a_dag_that_is_gone_is_said_to_be(site: Site, visit):
    here = visit(site)
    here.expected_errors = (404,)
    here.open("model", **of(site.seeded.nightly_join))
    ask(here.page)
    expect(here.page.get_by_text("Airflow does not know this DAG any more")).to_be_visible()
    expect(here.page.get_by_role("button", name="Start the run")).to_have_count(0)


def test_whoever_may_not_start_runs_sees_no_button(site: Site, visit):
    here = visit(site, "viewer")
    here.open("model", job=RUN_JOB, instance_type=RUN_TYPE)
    expect(here.page.locator("#decision")).to_contain_text("machine")
    expect(here.page.get_by_role("button", name="Retrain")).to_have_count(0)


def test_a_right_that_was_taken_away_meanwhile_is_refused_in_words(site: Site, visit, paused: httpx.Client):
    here = visit(site)
    here.expected_errors = (403,)
    here.page.route("**/dagRuns", lambda route: route.fulfill(status=403, json={"detail": "Forbidden"}))
    here.open("model", job=RUN_JOB, instance_type=RUN_TYPE)
    ask(here.page)
    here.page.get_by_role("button", name="Start the run").click()
    expect(here.page.get_by_text("You may not start runs of this DAG")).to_be_visible()


def test_no_page_of_another_origin_starts_a_run(site: Site, visit, elsewhere: str, paused: httpx.Client):
    """With the reader's cookie, which browsers send to all ports of a host."""
    page = visit(site).page
    page.goto(elsewhere)
    before, url = runs(paused), f"{site.url}/api/v2/dags/{RUN_DAG}/dagRuns"
    with pytest.raises(Error):
        page.evaluate(POST, {"url": url, "type": "application/json", "mode": "cors"})
    page.evaluate(POST, {"url": url, "type": "text/plain", "mode": "no-cors"})
    assert runs(paused) == before
