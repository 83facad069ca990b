"""What a reader wants of the page of a run and of the task that decides: runs made up by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.axe import broken_rules
from tests.browser.site import Site
from tests.browser.visit import expect_no_scrolling_sideways

pytestmark = pytest.mark.airflow

RUN = {"dag_id": "nightly_sizing"}


@pytest.mark.parametrize(("run_id", "shown"), [("kept", "kept"), ("missed", "missed")])
def test_see_whether_the_deadline_was_kept(made_up: Site, visit, run_id: str, shown: str):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id=run_id)
    figure = here.page.locator(".key-figure", has=here.page.get_by_text("Deadline", exact=True))
    expect(figure).to_contain_text(shown)
    expect(here.page.locator(".headline").first).to_contain_text(f"deadline {shown}")


def test_find_out_why_the_goal_is_out_of_reach(made_up: Site, visit):
    """The nearest goal, all sizes with time, dollars and chance, and the way to the model with the goal."""
    here = visit(made_up, None)
    for page, more in (("run", {}), ("task", {"task_id": "ernest.choose_config"})):
        here.open(page, **RUN, run_id="out_of_reach", **more)
        notice = here.page.locator(".out-of-reach")
        expect(notice).to_contain_text("nothing meets the deadline of 3 min 20 s")
        expect(notice).to_contain_text(re.compile(r"a deadline of 10\smin\s40\ss \(16\smachines"))
        rows = here.page.locator("table.candidates tbody tr")
        expect(rows).to_have_count(4)
        expect(rows.last).to_contain_text(re.compile(r"Nearest.*16.*8\smin.*\$0\.427.*99\s%"))
        link = here.page.locator("a[href*='deadline_seconds=200']").first
        expect(link).to_have_attribute("href", re.compile("confidence=0.995.*boot_seconds=60"))


def test_see_what_there_was_to_choose_from(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("task", **RUN, run_id="kept", task_id="ernest.choose_config")
    rows = here.page.locator("table.candidates tbody tr")
    expect(rows).to_have_count(4)
    expect(rows.filter(has_text="chosen")).to_contain_text(re.compile(r"8.*10\smin\s30\ss.*\$0\.28.*93\s%"))
    link = here.page.get_by_role("link", name="Open the model page")
    expect(link).to_have_attribute("href", re.compile("deadline_seconds=900"))


def test_the_costs_of_the_steps_add_up(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="kept")
    costs = {}
    for row in here.page.locator("table.steps tbody tr").all():
        name, cost = row.locator("th").inner_text(), row.locator("td[data-title=Cost]").inner_text()
        if cost.startswith("$") and name != "production":
            costs[name] = float(cost.removeprefix("$"))
    training = costs.pop("Training")
    assert sum(costs.values()) == pytest.approx(training, abs=0.002)
    expect(here.page.locator(".key-figure").filter(has_text="Training cost")).to_contain_text(
        f"${training:g}"
    )


def test_a_sample_run_that_failed_says_why(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="broken_sample")
    notice = here.page.locator(".notice.bad")
    expect(notice).to_contain_text("ValueError: unknown zone ...")
    expect(notice).to_contain_text("sample_run")


@pytest.mark.parametrize("run_id", ["kept", "out_of_reach", "broken_sample"])
def test_by_the_rules_of_axe(made_up: Site, visit, run_id: str):
    here = visit(made_up, None)
    for page, more in (("run", {}), ("task", {"task_id": "ernest.choose_config"})):
        here.open(page, **RUN, run_id=run_id, **more)
        assert not broken_rules(here.page)


@pytest.mark.parametrize("run_id", ["kept", "out_of_reach"])
def test_on_a_phone_nothing_is_cut_off(made_up: Site, visit, run_id: str):
    here = visit(made_up, None, viewport={"width": 360, "height": 740})
    here.open("run", **RUN, run_id=run_id)
    expect_no_scrolling_sideways(here.page)
