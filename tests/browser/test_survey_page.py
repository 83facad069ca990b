"""The page of a survey of event logs: what saves most, why, and what nobody knows."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.sample_store import HOSTILE
from tests.browser.site import Site
from tests.browser.test_hostile_names import assert_inert

pytestmark = pytest.mark.airflow


def test_find_the_job_that_saves_most_and_why(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models")
    page.get_by_role("link", name="Survey of event logs").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Survey of event logs")
    told = site.answer("api/survey")
    expect(page.locator(".headline")).to_have_text(re.compile(r"take \$\d.* can be saved \(80.%"))
    first = page.locator("table.surveyed tbody tr").first
    expect(first.get_by_role("rowheader")).to_contain_text(told["jobs"][0]["job"])
    expect(first.locator('[data-title="Saves a month"]')).to_contain_text(re.compile(r"\$\d.*80.%: \$\d"))
    first.get_by_role("link").click()
    part = page.locator("#job-0")
    expect(part).to_have_attribute("open", "")
    expect(part).to_contain_text("Why it takes as long")
    expect(first.locator('[data-title="Late"]')).to_have_text(re.compile(r"in \d weeks \(\d to \d\)"))
    expect(part).to_contain_text("12 machines by then should keep it for more than a year.")
    expect(part.locator(".figure")).to_contain_text("on other sizes")
    expect(part.get_by_role("img", name=re.compile("^today: 30"))).to_be_visible()


def test_see_what_is_not_known_and_what_would_tell_it(site: Site, visit):
    page = (here := visit(site)).page
    here.open("survey")
    row = page.locator("table.surveyed tbody tr").filter(has_text="weekly_export")
    expect(row.locator('[data-title="Saves a month"]')).to_have_text("not known")
    row.get_by_role("link").click()
    expect(page.locator("#job-3")).to_contain_text(re.compile(r"What is not known.*all at one size"))
    # A job's name is text wherever it stands.
    page.locator("#job-1 > summary").click()
    expect(page.locator("#job-1 > summary")).to_contain_text(HOSTILE)
    assert_inert(page)


def test_an_older_survey_can_be_chosen(site: Site, visit):
    page = (here := visit(site)).page
    here.open("survey")
    older = site.answer("api/survey")["others"][0]["survey_id"]
    page.get_by_label("Survey").select_option(older)
    expect(page).to_have_url(re.compile(f"survey_id={older}"))
    expect(page.get_by_label("Survey")).to_have_value(older)


def test_who_may_read_some_dags_only_is_told_why_there_is_none(behind_prefix: Site, visit):
    here = visit(behind_prefix, "viewer")
    here.expected_errors = (403,)
    here.open("models")
    expect(here.page.get_by_role("link", name="nightly_join").first).to_be_visible()
    expect(here.page.get_by_role("link", name="Survey of event logs")).to_have_count(0)
    here.page.goto(behind_prefix.page("survey"))
    expect(here.page.get_by_role("alert")).to_contain_text("the right to read all DAGs")
