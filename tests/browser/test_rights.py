"""Who gets to see what: nothing without a login or rights, and of others' DAGs not even a number."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.sample_store import DAG_ID as READABLE_DAG
from tests.browser.sample_store import HIDDEN_HEADLINE, HIDDEN_REASON, HIDDEN_TYPE, SECRET_DAG_ID
from tests.browser.site import RUN_DAG, RUN_JOB, RUN_TYPE, Site, of

pytestmark = pytest.mark.airflow

ROUTES = (
    "",
    "models",
    "model",
    "run",
    "api/models",
    "api/model",
    "api/prediction",
    "api/clarity",
    "api/run",
    "openapi.json",
    "assets/0/models.js",
    "assets/0/models.css",
    "assets/0/echarts.min.js",
    "docs",
    "redoc",
    "no/such/page",
)


@pytest.mark.parametrize("route", ROUTES)
def test_without_a_login_there_is_nothing(site: Site, route: str):
    with site.client(None) as client:
        answer = client.get(route)
    assert answer.status_code == 401
    assert "echarts" not in answer.text
    assert "nightly" not in answer.text


@pytest.mark.parametrize("route", ROUTES)
def test_without_a_role_there_is_nothing(site: Site, route: str):
    with site.client("nobody") as client:
        answer = client.get(route)
    assert answer.status_code == 403
    assert "administrator" in answer.text


def test_a_made_up_token_opens_nothing(site: Site):
    with site.client() as client:
        client.headers["Authorization"] += "x"
        assert client.get("api/models").status_code in (401, 403)
        assert client.get("models").status_code in (401, 403)


def test_whoever_is_logged_out_is_told_so_by_a_page_that_is_open(site: Site, visit):
    visit = visit(site)
    visit.open("models")
    visit.expected_errors = (401,)
    visit.page.context.clear_cookies()
    visit.page.get_by_label("Search models").fill("clicks")
    expect(visit.page.get_by_role("alert")).to_contain_text("log in to Airflow")


def test_whoever_is_logged_out_comes_back_to_the_page_by_the_login(site: Site, visit):
    visit = visit(site, None)
    visit.expected_errors = (401,)
    visit.page.goto(site.page("models", search="clicks"))
    visit.page.get_by_role("link", name="Log in").click()
    visit.page.get_by_label("Username").fill("admin")
    visit.page.get_by_label("Password").fill(site.passwords["admin"])
    visit.page.get_by_role("button", name="Sign in").click()
    expect(visit.page).to_have_url(re.compile(r"/ernest/models\?search=clicks$"))


def test_whoever_has_no_role_is_told_whom_to_ask(site: Site, visit):
    visit = visit(site, "nobody")
    visit.expected_errors = (403,)
    visit.page.goto(site.page("models"))
    expect(visit.page.get_by_text("Ask your Airflow administrator")).to_be_visible()


def test_the_list_holds_only_models_of_ones_own_dags(behind_prefix: Site):
    with behind_prefix.client("viewer") as client:
        answer = client.get("api/models", params={"limit": 200}).json()
    assert {row["dag_id"] for row in answer["rows"]} == {READABLE_DAG}
    states = sum(answer["counts"][state] for state in ("fresh", "stale", "drifting"))
    assert len(answer["rows"]) == answer["total"] == states
    with behind_prefix.client() as client:
        everything = client.get("api/models", params={"limit": 200}).json()
    assert {row["dag_id"] for row in everything["rows"]} > {READABLE_DAG, SECRET_DAG_ID, RUN_DAG, None}


def test_models_of_others_are_refused_as_if_they_did_not_exist(behind_prefix: Site):
    seeded = behind_prefix.seeded
    hidden = [of(seeded.secret), of(seeded.without_dag), {"job": RUN_JOB, "instance_type": RUN_TYPE}]
    hidden += [{**of(seeded.secret), "model_id": seeded.secret.id}]
    with behind_prefix.client("viewer") as client:
        missing = client.get("api/model", params={"job": "no such job", "instance_type": "r3.xlarge"})
        assert missing.status_code == 403
        for path in (
            "api/model",
            "api/prediction",
            "api/clarity",
        ):
            for parameters in hidden:
                answer = client.get(path, params=parameters)
                assert (answer.status_code, answer.text) == (403, missing.text)
        own = client.get("api/model", params=of(seeded.nightly_join))
    assert own.status_code == 200


def test_a_models_page_shows_nothing_of_models_of_others(behind_prefix: Site):
    model = of(behind_prefix.seeded.nightly_join)
    goal = {"deadline_seconds": 420, "price_per_hour": 0.333}
    with behind_prefix.client("viewer") as client, behind_prefix.client() as administrator:
        page = client.get("api/model", params=model).json()
        everything = administrator.get("api/model", params=model).json()
        prediction = client.get("api/prediction", params={**model, **goal}).text
        assert HIDDEN_TYPE in administrator.get("api/prediction", params={**model, **goal}).text
    assert SECRET_DAG_ID in str(everything)
    assert HIDDEN_TYPE in str(everything)
    assert SECRET_DAG_ID not in str(page)
    assert HIDDEN_TYPE not in str(page)
    assert HIDDEN_TYPE not in prediction
    for part in ("versions", "decisions", "production_runs", "other_types"):
        assert len(page[part]) == len(everything[part]) - 1, part


def test_a_mark_by_another_dag_is_no_mark(behind_prefix: Site):
    learned = of(behind_prefix.seeded.learned)
    with behind_prefix.client("viewer") as client, behind_prefix.client() as administrator:
        page = client.get("api/model", params=learned).json()
        everything = administrator.get("api/model", params=learned).json()
    assert (everything["state"]["name"], everything["state"]["cause"]) == ("stale", "cluster")
    assert [mark["reason"] for mark in everything["marks"]] == [HIDDEN_REASON]
    assert (page["state"]["name"], page["marks"]) == ("fresh", [])


def test_why_a_job_takes_so_long_is_not_told_by_other_dags(behind_prefix: Site):
    stale = of(behind_prefix.seeded.stale)
    with behind_prefix.client("viewer") as client, behind_prefix.client() as administrator:
        told = client.get("api/clarity", params=stale).json()
        everything = administrator.get("api/clarity", params=stale).json()
    for run in ("sample", "production"):
        assert everything[run]["headline"] == HIDDEN_HEADLINE
        assert everything[run]["stragglers"], "which name the machines by their addresses"
        assert told[run] is None
    assert told == {"sample": None, "reported_by": None, "production": None, "comparison": None}


def test_runs_of_others_are_refused_as_if_they_did_not_exist(behind_prefix: Site):
    path = "api/run"
    run = {"dag_id": RUN_DAG, "run_id": behind_prefix.run_id, "task_id": "ernest.fit_model"}
    with behind_prefix.client("viewer") as client:
        hidden = client.get(path, params=run)
        missing = client.get(path, params={**run, "dag_id": "no_such_dag"})
    assert (hidden.status_code, hidden.text) == (missing.status_code, missing.text)
    assert hidden.status_code == 403
    with behind_prefix.client() as client:
        assert client.get(path, params=run).status_code == 200
        assert client.get(path, params={**run, "run_id": "no such run"}).status_code == 404


def test_a_viewer_is_told_in_the_page_what_he_may_not_see(behind_prefix: Site, visit):
    visit = visit(behind_prefix, "viewer")
    visit.expected_errors = (403,)
    visit.open("model", **of(behind_prefix.seeded.secret))
    expect(visit.page.get_by_role("alert")).to_contain_text("administrator")
    visit.open("models")
    expect(visit.page.get_by_role("link", name="payroll")).to_have_count(0)
    expect(visit.page.get_by_role("link", name="nightly_join").first).to_be_visible()
