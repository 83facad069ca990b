"""The page of all models: what costs most, what misses its deadlines, and finding one among many."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from airflow_provider_ernest.words import dollars
from tests.browser.site import Site, of
from tests.browser.visit import downloaded

pytestmark = pytest.mark.airflow


def jobs(page: Page) -> list[str]:
    """The jobs listed, from top to bottom."""
    return page.locator("tbody th a").all_inner_texts()


def rows(page: Page) -> Locator:
    return page.locator("tbody tr")


def cell(row: Locator, title: str) -> Locator:
    """The cell of a row below the heading of that name."""
    return row.locator(f'[data-title="{title}"]')


def test_find_the_job_that_costs_most(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models")
    listed = site.answer("api/models", limit=200)
    known = [row for row in listed["rows"] if row["dollars_per_month"] is not None]
    dearest = max(known, key=lambda row: row["dollars_per_month"])
    total = listed["per_month"]
    all_jobs = total["jobs"] + total["unknown_jobs"]
    told = f"{total['jobs']} of {all_jobs} jobs cost {dollars(total['dollars'])} a month, "
    expect(page.locator(".totals")).to_contain_text(told)
    assert total["dollars"] == pytest.approx(sum(row["dollars_per_month"] for row in known))
    page.get_by_role("columnheader", name="Dollars a month").get_by_role("button").click()
    first = rows(page).first
    expect(first.get_by_role("rowheader")).to_contain_text(dearest["job"])
    expect(first.get_by_role("rowheader")).to_contain_text(dearest["instance_type"])
    expect(cell(first, "Dollars a month")).to_have_text(re.compile(r"^\$\d.*\$\d.* a run$"))
    first.get_by_role("rowheader").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(dearest["job"])


def test_what_needs_attention_comes_first_with_its_dollars_and_what_to_do(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models")
    listed = site.answer("api/models")
    urgent = [row for row in listed["rows"] if row["need"]]
    assert urgent == listed["rows"][: len(urgent)]
    first = rows(page).first
    expect(cell(first, "What to do")).to_contain_text("drifting")
    expect(cell(first, "What to do")).to_contain_text(f"{dollars(urgent[0]['dollars_per_month'])} a month.")
    page.get_by_role("group", name="State").get_by_role("button", name="Needs attention").click()
    expect(rows(page)).to_have_count(len(urgent))
    cell(rows(page).first, "What to do").get_by_role("link", name="Retrain").click()
    expect(page.get_by_role("button", name="Retrain")).to_be_visible()


def test_the_list_can_be_saved_with_all_that_matches(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models", limit=10)
    name, text = downloaded(page, page.locator("main"), "CSV")
    assert name == "models.csv"
    wanted = site.answer("api/models", limit=200)["rows"]
    heading, *lines = text.splitlines()
    assert "dollars_per_month" in heading
    assert len(lines) == len(wanted)


def test_see_what_sizing_saves_and_of_which_jobs_nobody_knows(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models")
    header = page.get_by_role("columnheader", name="Saved a month")
    header.get_by_role("button").click()
    expect(header).to_have_attribute("aria-sort", "descending")
    first = rows(page).first
    expect(first.get_by_role("rowheader")).to_contain_text(of(site.seeded.stale)["job"])
    expect(cell(first, "Saved a month")).to_have_text(re.compile(r"^\$\d.*was \$\d"))
    expect(page.locator(".totals")).to_contain_text(re.compile(r"\$\d.* less than before Ernest"))
    expect(cell(rows(page).filter(has_text="daily_report"), "Saved a month")).to_have_text("not known")


def test_see_which_job_misses_its_deadlines(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models")
    page.get_by_role("columnheader", name="Deadlines kept").get_by_role("button").click()
    expect(page.get_by_role("columnheader", name="Deadlines kept")).to_have_attribute(
        "aria-sort", "ascending"
    )
    worst, *others = site.answer("api/models", sort="deadlines", descending=False)["rows"]
    assert (worst["job"], worst["instance_type"]) == ("nightly_join", site.seeded.drifting.instance_type)
    kept, judged = worst["deadlines"]["kept"], worst["deadlines"]["judged"]
    assert kept < judged
    assert others[0]["deadlines"]["kept"] / others[0]["deadlines"]["judged"] >= kept / judged
    first = rows(page).first
    expect(first.get_by_role("rowheader")).to_contain_text(worst["job"])
    expect(cell(first, "Deadlines kept")).to_contain_text(f"{kept} of {judged}")
    expect(cell(first, "Deadlines kept").locator(".wrong")).to_contain_text("80")
    # Its last runs took far longer than predicted, and that stands out, too.
    expect(cell(first, "Time").locator(".wrong")).to_contain_text("longer")


def test_a_job_that_nobody_has_priced_or_run_says_nothing_of_either(site: Site, visit):
    page = (here := visit(site)).page
    here.open("models", search="ad_hoc_clicks")
    expect(rows(page)).to_have_count(1)
    expect(cell(rows(page), "What to do")).to_have_text("Nothing")
    for title in ("Size", "Time", "Dollars a month", "Saved a month", "Deadlines kept"):
        expect(cell(rows(page), title)).to_have_text("–")
    expect(cell(rows(page), "Last run")).to_contain_text("Not run yet")


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
    expect(page.get_by_role("link", name="hourly_sessions", exact=True)).to_be_visible()


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
    [("stale", "hourly_sessions", "train"), ("drifting", "nightly_join", "Retrain")],
)
def test_states_can_be_picked_and_say_what_to_do(site: Site, visit, state: str, job: str, reason: str):
    words = re.compile({"stale": "out of date"}.get(state, state), re.IGNORECASE)
    page = (here := visit(site)).page
    here.open("models")
    chip = page.get_by_role("group", name="State").get_by_role("button", name=words)
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    wanted = site.answer("api/models", state=state)["total"]
    expect(rows(page)).to_have_count(wanted)
    expect(chip).to_contain_text(str(wanted))
    badge = rows(page).filter(has_text=job).get_by_role("button", name=words)
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
    expect(here.page.get_by_role("link", name="hourly_sessions", exact=True)).to_be_visible()
