"""The card of a DAG run and of a task instance: runs made up by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.axe import broken_rules
from tests.browser.preview_runs import PREVIEW_RUNS
from tests.browser.site import Site
from tests.browser.visit import expect_no_scrolling_sideways

pytestmark = pytest.mark.airflow

RUN = {"dag_id": "nightly_sizing"}


@pytest.mark.parametrize(
    ("run_id", "words"),
    [
        ("kept", r"8 machines of m5\.xlarge.*deadline kept.*10\smin\s49\ss.*9\smin\s50\ss.*9\.1\s% shorter"),
        (
            "kept",
            r"\$0\.28.*\$0\.30.*Best value within 15\smin.*\$0\.0358, 12\s% of",
        ),
        ("missed", r"deadline missed"),
        ("unrecorded", r"10\smin\s30\ss.*10\smin.*The run of production is not recorded"),
        ("recorded", r"within the 80\s% range.*11\smin\s4\ss"),
        ("fallback", r"Fallback: the stated configuration.*There is no model to choose by"),
        ("two_types", r"6 machines of r5\.large.*Model.*nightly join on r5\.large"),
        (
            "most_probable",
            r"Fallback: the most probable configuration.*No allowed configuration ends within 60\ss",
        ),
        ("reused", r"none: a stored model is reused.*nothing that it depends on has changed"),
        ("retrained", r"The application has changed"),
        ("half_reused", r"m5\.xlarge: .* is reused.*r5\.large: .* is not reused"),
        ("out_of_reach", r"Nothing was decided.*a deadline of 10\smin\s40\ss"),
        ("running", r"The run goes on.*Nothing is decided yet"),
        ("purged", r"is kept neither in Airflow"),
    ],
)
def test_what_it_says(made_up: Site, visit, run_id: str, words: str):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id=run_id)
    expect(here.page.locator("main")).to_contain_text(re.compile(words, re.DOTALL))


def test_what_failed_has_its_reason_and_its_log(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="broken_sample")
    failed = here.page.locator(".notice.bad li").nth(2)
    expect(failed).to_contain_text("sample_run [4 machines, 8.00\u00a0%]: job.py failed: ValueError: unknown")
    log = failed.get_by_role("link")
    expect(log).to_have_attribute("href", re.compile(r"/dags/.*/tasks/ernest\.sample_run/mapped/2$"))


def test_the_model_is_asked_what_was_asked(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="half_reused")
    link = here.page.get_by_role("link", name="nightly join on r5.large")
    expect(link).to_have_attribute("href", re.compile("deadline_seconds=900&.*confidence=0.9"))
    link.click()
    here.loaded(here.page)
    expect(here.page.get_by_role("heading", level=1)).to_have_text("nightly join")


def test_each_group_has_a_card_and_a_task_that_of_its_group(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", **RUN, run_id="two_groups")
    expect(here.page.locator(".run-card")).to_have_count(2)
    here.open("run", **RUN, run_id="two_groups", task_id="archive", map_index="{MAP_INDEX}")
    expect(here.page.locator(".run-card")).to_have_count(1)


def test_times_are_those_of_the_zone_that_was_chosen_in_airflow(made_up: Site, visit):
    here = visit(made_up, None, timezone_id="UTC")
    here.open("run", **RUN, run_id="kept")
    expect(here.page.locator(".facts")).to_contain_text("2026-11-20 12:30:00")
    here.page.evaluate("localStorage.setItem('timezone', JSON.stringify('Asia/Tokyo'))")
    here.page.reload()
    expect(here.page.locator(".facts")).to_contain_text("2026-11-20 21:30:00")
    expect(here.page.get_by_text("Times in Asia/Tokyo")).to_be_visible()


def test_all_runs_by_the_rules_of_axe_and_at_the_width_of_a_phone(made_up: Site, visit):
    here = visit(made_up, None, viewport={"width": 360, "height": 740})
    for run_id in PREVIEW_RUNS:
        here.open("run", **RUN, run_id=run_id)
        expect_no_scrolling_sideways(here.page)
        for colours in ("light", "dark"):
            here.in_colours(colours)
            broken = broken_rules(here.page)
            assert not broken, (run_id, broken)
