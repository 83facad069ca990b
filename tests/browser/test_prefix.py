"""Airflow below a path, as behind most companies' proxies: each address keeps to it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from benchmarks.browser import log_in
from tests.browser.conftest import PREFIX
from tests.browser.site import RUN_JOB, Site, of

pytestmark = pytest.mark.airflow


def test_all_of_it_works_below_a_path(behind_prefix: Site, visit):
    visit = visit(behind_prefix, None)
    asked_for: list[str] = []
    visit.page.on("request", lambda request: asked_for.append(request.url))
    log_in(visit.page, behind_prefix.url, username="admin", password=behind_prefix.passwords["admin"])
    visit.page.get_by_role("button", name="Browse").click()
    visit.page.get_by_role("menuitem", name="Ernest").click()
    visit.loaded(visit.frame)
    visit.frame.get_by_role("link", name=RUN_JOB).click()
    expect(visit.frame.locator("#decision")).to_contain_text("machine")
    expect(visit.frame.locator("#time-chart svg path").first).to_be_attached()
    visit.page.reload()
    expect(visit.frame.get_by_role("heading", level=1)).to_contain_text(RUN_JOB)
    visit.frame.locator("#sample-runs > summary").click()
    visit.frame.locator("a[href*='ernest.sample_run/mapped/']").first.click()
    expect(visit.page).to_have_url(re.compile(re.escape(behind_prefix.url) + "/dags/.*/mapped/"))
    expect(visit.page.get_by_role("heading", name="ernest.sample_run")).to_be_visible()
    visit.page.get_by_role("link", name="Ernest", exact=True).click()
    visit.loaded(visit.frame)
    outside = [url for url in asked_for if url.startswith("http") and not url.startswith(behind_prefix.url)]
    assert outside == []


def test_pages_that_stand_alone_work_below_a_path(behind_prefix: Site, visit):
    visit = visit(behind_prefix)
    visit.page.goto(f"{behind_prefix.url}/ernest/")
    visit.loaded(visit.page)
    expect(visit.page).to_have_url(re.compile(re.escape(PREFIX)))
    visit.open("model", **of(behind_prefix.seeded.nightly_join))
    expect(visit.page.locator("#decision")).to_contain_text("machine")
    visit.page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Models").click()
    expect(visit.page.get_by_role("link", name="hourly_sessions", exact=True)).to_be_visible()
    expect(visit.page).to_have_url(re.compile("^" + re.escape(f"{behind_prefix.url}/ernest/")))
