"""The page of a run that looks for a stored model: runs made up by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.axe import broken_rules
from tests.browser.site import Site
from tests.browser.visit import expect_no_scrolling_sideways

pytestmark = pytest.mark.airflow

RUN = {"dag_id": "nightly_sizing"}


def test_a_reused_model_is_nothing_wrong(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="reused")
    page = here.page
    expect(page.locator(".headline").first).to_contain_text("A stored model is reused → 8 machines")
    training = page.locator(".key-figure").filter(has_text="Training cost")
    expect(training).to_contain_text("none")
    expect(training).to_contain_text("trained 2026-11-01")
    steps = page.locator("table.steps tbody tr")
    expect(steps.first).to_contain_text("nothing that it depends on has changed")
    expect(steps.filter(has_text="Not needed: a stored model is reused.")).to_have_count(6)
    expect(page.locator(".notice")).to_have_count(0)
    expect(page.locator(".timeline-figure figcaption")).to_contain_text("6 steps were skipped.")
    expect(page.locator("main")).not_to_contain_text("cluster_ready")
    link = steps.first.get_by_role("link", name="Open the model")
    link.click()
    here.loaded(page)
    expect(page).to_have_url(re.compile("model_id=20261101T060000.000000Z-0badcafe"))


def test_a_training_says_why_and_what_it_marked(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="retrained")
    page = here.page
    notice = page.locator(".notice.warning").first
    expect(notice.get_by_role("heading")).to_have_text("This run marked a model as stale")
    expect(notice).to_contain_text("nightly join on m5.xlarge, data: ")
    expect(notice.get_by_role("link", name="Open the model")).to_be_visible()
    expect(page.locator("dl.facts").first).to_contain_text("Why trained")
    expect(page.locator("dl.facts").first).to_contain_text("The application has changed")


def test_of_two_types_one_may_be_reused(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="half_reused")
    page = here.page
    expect(page.locator(".headline").first).to_contain_text("a stored model is reused for m5.xlarge")
    expect(page.locator("dl.facts").first).to_contain_text("no training: a stored model is reused")
    expect(page.locator("dl.facts").first).to_contain_text("training cost")


def test_a_record_behind_a_stock_operator_is_productions(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="recorded")
    expect(here.page.locator(".key-figure").filter(has_text="Actual")).to_contain_text("11 min 4 s")
    here.open("task", **RUN, run_id="recorded", task_id="record_run")
    expect(here.page.get_by_role("heading", level=1)).to_have_text("The record of the production run")


def test_the_task_that_looks_has_a_page(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("task", **RUN, run_id="reused", task_id="ernest.find_model")
    expect(here.page.get_by_role("heading", level=1)).to_have_text("The search for a stored model")
    expect(here.page.locator(".headline")).to_contain_text("is reused")
    expect(here.page.get_by_role("link", name="Open the model page")).to_be_visible()


@pytest.mark.parametrize("run_id", ["reused", "reused_purged", "retrained", "half_reused", "recorded"])
def test_on_a_phone_nothing_is_cut_off(made_up: Site, visit, run_id: str):
    here = visit(made_up, None, viewport={"width": 360, "height": 740})
    here.open("run", **RUN, run_id=run_id)
    expect_no_scrolling_sideways(here.page)


@pytest.mark.parametrize("run_id", ["reused", "retrained", "half_reused"])
def test_by_the_rules_of_axe(made_up: Site, visit, run_id: str):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id=run_id)
    for colours in ("light", "dark"):
        here.in_colours(colours)
        broken = broken_rules(here.page)
        assert not broken, "\n".join(broken)
