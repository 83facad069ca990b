"""From Airflow's own pages to each of ours and back, by clicking alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import log_in
from tests.browser.site import RUN_DAG, RUN_JOB, RUN_TYPE, Site, of
from tests.browser.visit import Visit

pytestmark = pytest.mark.airflow


@pytest.fixture(scope="module")
def visit(long_visit: Callable[..., Visit]) -> Callable[..., Visit]:
    """One window for each reader: what Airflow's own pages need is loaded once."""
    windows: dict[str | None, Visit] = {}

    def visit(site: Site, username: str | None = "admin") -> Visit:
        if username not in windows:
            windows[username] = long_visit(site, username)
        return windows[username]

    return visit


def open_run(page: Page, site: Site) -> None:
    """From Airflow's first page to the DAG run."""
    page.goto(site.airflow())
    page.get_by_role("link", name="Dags", exact=True).click()
    page.get_by_role("link", name=RUN_DAG, exact=True).first.click()
    page.get_by_role("link", name="Runs", exact=True).click()
    page.locator(f"a[href$='{site.run_id}'], a[href$='{quote(site.run_id)}']").last.click()


def open_task(page: Page, site: Site, task_id: str) -> None:
    """From Airflow's page of the DAG run to that of a task instance."""
    open_run(page, site)
    page.get_by_role("table").get_by_role("link", name=task_id, exact=True).click()
    # Until then, and for some time after the address has changed, the tabs are those of the run.
    ours = page.get_by_role("link", name="Ernest", exact=True)
    expect(ours).to_have_attribute("href", re.compile(rf"/tasks/{re.escape(task_id)}/plugin/"))


def test_from_the_login_to_a_model(site: Site, visit):
    visit = visit(site, None)
    log_in(visit.page, site.url, username="admin", password=site.passwords["admin"])
    visit.page.get_by_role("button", name="Browse").click()
    visit.page.get_by_role("menuitem", name="Ernest").click()
    visit.loaded(visit.frame)
    row = visit.frame.get_by_role("row").filter(has_text=RUN_JOB)
    expect(row).to_contain_text(RUN_DAG)
    row.get_by_role("link", name=RUN_JOB).click()
    expect(visit.frame.get_by_role("heading", level=1)).to_contain_text(RUN_JOB)
    visit.loaded(visit.frame)
    # And back by the page's own way.
    visit.frame.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Models").click()
    expect(visit.frame.get_by_label("Search models")).to_be_visible()


def test_the_tab_of_a_run(site: Site, visit):
    visit = visit(site)
    open_run(visit.page, site)
    visit.page.get_by_role("link", name="Ernest", exact=True).click()
    visit.loaded(visit.frame)
    (card,) = site.answer("api/run", dag_id=RUN_DAG, run_id=site.run_id)["cards"]
    size = f"{card['decision']['executors']} machine"
    expect(visit.frame.get_by_role("heading", level=2).first).to_contain_text(size)
    visit.frame.get_by_role("link", name=f"{RUN_JOB} on {RUN_TYPE}").click()
    expect(visit.frame.get_by_role("heading", level=1)).to_contain_text(RUN_JOB)


@pytest.mark.parametrize("task_id", ["ernest.fit_model", "production"])
def test_the_tab_of_a_task(site: Site, visit, task_id: str):
    visit = visit(site)
    open_task(visit.page, site, task_id)
    visit.page.get_by_role("link", name="Ernest", exact=True).click()
    visit.loaded(visit.frame)
    expect(visit.frame.get_by_role("link", name=f"{RUN_JOB} on {RUN_TYPE}")).to_be_visible()


def test_the_link_of_the_fit(site: Site, visit):
    visit = visit(site)
    open_task(visit.page, site, "ernest.fit_model")
    visit.page.get_by_role("link", name="Details", exact=True).click()
    link = visit.page.get_by_role("link", name="Model fit")
    expect(link).to_be_visible()
    link.click()
    expect(visit.page).to_have_url(re.compile("/tasks/ernest.fit_model/plugin/"))
    visit.loaded(visit.frame)
    expect(visit.frame.locator("main")).to_contain_text(RUN_JOB)


def test_a_log_opens_in_the_surrounding_airflow(site: Site, visit):
    """Airflow's frame lets no page of ours leave it."""
    visit = visit(site)
    visit.page.goto(site.airflow("plugin", "ernest"))
    visit.frame.get_by_role("link", name=RUN_JOB).click()
    expect(visit.frame.get_by_role("heading", level=1)).to_contain_text(RUN_JOB)
    visit.loaded(visit.frame)
    visit.frame.locator("summary").filter(has_text=re.compile("^Sample runs")).click()
    visit.frame.locator("a[href*='ernest.sample_run/mapped/']").first.click()
    expect(visit.page).to_have_url(
        re.compile(r"/dags/synthetic_sizing/runs/.*/tasks/ernest\.sample_run/mapped/\d")
    )
    expect(visit.page.locator("iframe")).to_have_count(0)
    expect(visit.page.get_by_role("heading", name="ernest.sample_run")).to_be_visible()


def test_what_is_asked_is_in_the_address_and_in_the_copied_link(site: Site, visit):
    """A colleague who opens it sees the same question."""
    visit = visit(site)
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.page.goto(site.airflow("plugin", "ernest"))
    visit.frame.get_by_role("link", name="hourly_sessions", exact=True).click()
    expect(visit.page).to_have_url(re.compile("hourly_sessions"))
    deadline = visit.frame.get_by_role("textbox", name="Deadline")
    deadline.fill("17m")
    deadline.press("Enter")
    expect(visit.page).to_have_url(re.compile("deadline_seconds=1020"))
    visit.frame.get_by_role("button", name="Copy link").click()
    expect(visit.frame.get_by_role("button", name="Copied")).to_be_visible()
    copied = visit.page.evaluate("navigator.clipboard.readText()")
    assert copied == visit.page.url
    visit.page.goto(copied)
    expect(visit.frame.get_by_role("textbox", name="Deadline")).to_have_value(re.compile(r"^17\s?m"))


def test_the_browsers_back_button_works(site: Site, visit):
    visit = visit(site)
    visit.open("models", search="sessions")
    visit.page.get_by_role("link", name="hourly_sessions", exact=True).click()
    expect(visit.page.get_by_role("heading", level=1)).to_contain_text("hourly_sessions")
    visit.page.go_back()
    expect(visit.page.get_by_label("Search models")).to_have_value("sessions")
    expect(visit.page.get_by_role("link", name="hourly_sessions", exact=True)).to_be_visible()
    assert of(site.seeded.stale)["job"] == "hourly_sessions"
