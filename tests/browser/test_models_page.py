"""The page of all models: finding one among many."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Site

pytestmark = pytest.mark.airflow


def jobs(page: Page) -> list[str]:
    """The jobs listed, from top to bottom."""
    return page.locator("tbody th a").all_inner_texts()


def rows(page: Page):
    return page.locator("tbody tr")


def test_search_takes_words_in_any_order_and_case(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models")
    page.get_by_label("Search models").fill("R3.2XLARGE nightly")
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_role("status").filter(has_text="1 model")).to_be_visible()
    expect(rows(page)).to_contain_text("nightly_join")
    page.get_by_label("Search models").fill("no such thing")
    expect(page.get_by_role("heading", name=re.compile("No model"))).to_be_visible()
    page.get_by_role("button", name="Clear the search").click()
    expect(page.get_by_label("Search models")).to_be_focused()
    expect(page.get_by_role("link", name="hourly_sessions")).to_be_visible()


def test_columns_sort_both_ways(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models")
    header = page.get_by_role("columnheader", name="Job")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "ascending")
    ascending = [row["job"] for row in site.answer("api/models", sort="job", descending=False)["rows"]]
    expect(page.locator("tbody th a")).to_have_text(ascending)
    header.get_by_role("button").press("Enter")
    expect(header).to_have_attribute("aria-sort", "descending")
    expect(header.get_by_role("button")).to_be_focused()
    descending = [row["job"] for row in site.answer("api/models", sort="job", descending=True)["rows"]]
    expect(page.locator("tbody th a")).to_have_text(descending)
    assert sorted(ascending) == sorted(descending)


def test_pages_follow_each_other_and_the_address_knows_which(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models", limit=10)
    everything = site.answer("api/models", limit=200)
    assert 10 < everything["total"] <= 20, "the samples must fill two pages of ten"
    first = jobs(page)
    assert len(first) == 10
    page.get_by_role("button", name="Next").click()
    expect(rows(page)).to_have_count(everything["total"] - 10)
    expect(page.get_by_role("button", name="Next")).to_be_disabled()
    expect(page).to_have_url(re.compile("offset=10"))
    second = jobs(page)
    page.reload()
    expect(rows(page)).to_have_count(everything["total"] - 10)
    assert jobs(page) == second
    page.get_by_role("button", name="Previous").click()
    expect(page.locator("tbody th a")).to_have_text(first)
    assert sorted(first + second) == sorted(row["job"] for row in everything["rows"])


@pytest.mark.parametrize(
    ("state", "job", "reason"),
    [("Stale", "hourly_sessions", "train"), ("Drifting", "nightly_join", "sample runs again")],
)
def test_states_can_be_picked_and_say_what_to_do(site: Site, visit, state: str, job: str, reason: str):
    page = (here := visit(site)).page
    here.open("models")
    chip = page.get_by_role("group", name="State").get_by_role("button", name=re.compile(state))
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    wanted = site.answer("api/models", state=state.lower())["total"]
    expect(rows(page)).to_have_count(wanted)
    expect(chip).to_contain_text(str(wanted))
    badge = rows(page).filter(has_text=job).get_by_role("button", name=state)
    badge.focus()
    expect(page.get_by_role("tooltip")).to_contain_text(re.compile(reason, re.IGNORECASE))


def test_an_unreadable_answer_can_be_tried_again(site: Site, visit):
    """A server that restarts, for instance."""
    here = visit(site)
    here.expected_errors = (503,)
    here.page.route("**/ernest/api/models*", lambda route: route.fulfill(status=503, body="restarting"))
    here.page.goto(site.page("models"))
    expect(here.page.get_by_role("alert")).to_contain_text("API server")
    here.page.unroute_all()
    here.page.get_by_role("button", name="Try again").click()
    expect(here.page.get_by_role("link", name="hourly_sessions")).to_be_visible()
