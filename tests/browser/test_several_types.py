"""The page of runs in which several types were trained, and of runs that fell back: runs made up by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.axe import broken_rules
from tests.browser.site import Site
from tests.browser.visit import expect_no_scrolling_sideways

pytestmark = pytest.mark.airflow

RUN = {"dag_id": "nightly_sizing"}


def test_all_types_are_one_group_with_one_timeline(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="two_types")
    page = here.page
    expect(page.locator(".run-group")).to_have_count(1)
    expect(page.locator(".run-group > div .headline")).to_contain_text("8 sample runs on 2 types")
    expect(page.locator(".run-group > div .headline")).to_contain_text("6 machines of r5.large")
    timeline = page.locator(".timeline")
    expect(timeline).to_have_count(1)
    expect(timeline).to_contain_text("m5.xlarge: fit_model")
    expect(timeline).to_contain_text("r5.large: fit_model")
    steps = page.locator("table.steps")
    expect(steps.get_by_role("columnheader", name="Type")).to_be_visible()
    links = steps.get_by_role("link", name="Open the model")
    expect(links).to_have_count(3)
    addresses = [link.get_attribute("href") or "" for link in links.all()]
    assert ["r5.large" in address for address in addresses] == [False, True, True]
    expect(page.locator(".key-figures")).to_contain_text("91 %")
    page.get_by_text("8 sample runs: what each took").click()
    expect(page.locator("details[id$=samples] tbody tr")).to_have_count(8)


@pytest.mark.parametrize(
    ("run_id", "kind", "reason"),
    [
        ("fallback", "the stated configuration", "its training failed or was skipped"),
        ("most_probable", "the most probable configuration", "No allowed configuration ends within 60 s"),
    ],
)
def test_a_fallback_shows_before_anything_else(made_up: Site, visit, run_id: str, kind: str, reason: str):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id=run_id)
    notice = here.page.locator(".notice.warning").first
    expect(notice.get_by_role("heading")).to_have_text(f"Fallback: {kind}")
    expect(notice).to_contain_text(reason)
    expect(here.page.locator(".headline")).to_contain_text(re.compile(f"fallback to {kind}", re.IGNORECASE))
    # The reason is told once.
    expect(here.page.locator(".notice").filter(has_text=reason)).to_have_count(1)
    here.open("task", **RUN, run_id=run_id, task_id="ernest.choose_config")
    expect(here.page.locator(".notice.warning")).to_contain_text(f"Fallback: {kind}")


def test_on_a_phone_nothing_is_cut_off(made_up: Site, visit):
    here = visit(made_up, None, viewport={"width": 360, "height": 740})
    here.open("run", **RUN, run_id="two_types")
    expect_no_scrolling_sideways(here.page)


def test_a_sample_run_names_its_type(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("task", **RUN, run_id="two_types", task_id="ernest.r5_large.sample_run", map_index=1)
    expect(here.page.locator(".headline")).to_contain_text("On r5.large: 2 machines")


@pytest.mark.parametrize("run_id", ["two_types", "most_probable"])
def test_by_the_rules_of_axe(made_up: Site, visit, run_id: str):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id=run_id)
    for colours in ("light", "dark"):
        here.in_colours(colours)
        broken = broken_rules(here.page)
        assert not broken, "\n".join(broken)
