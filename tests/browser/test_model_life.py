"""What has become of a model: production, evidence, marks, lineage, conditions."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.hidden_documents import HIDDEN_REASON
from tests.browser.site import Site, of

pytestmark = pytest.mark.airflow


@pytest.fixture
def page(site: Site, visit) -> Page:
    here = visit(site)
    here.open("model", **of(site.seeded.learned))
    expect(here.page.locator("#production-chart svg")).to_be_attached()
    return here.page


def test_predicted_and_actual_are_drawn_as_times_and_as_errors(page: Page):
    drawn = page.locator("#production-chart")
    expect(drawn).to_have_attribute("aria-label", re.compile(r"19 production runs .* changed 2 times"))
    expect(page.locator("#production .legend")).to_contain_text("80 % interval")
    expect(page.locator("#production .legend")).to_contain_text("another version predicts")
    times = drawn.inner_html()
    page.locator("#production").get_by_role("radio", name="Percent errors").check()
    expect(page.locator("#production .legend")).not_to_contain_text("80 % interval")
    expect(drawn).to_contain_text("error of the prediction")
    assert drawn.inner_html() != times


def test_the_numbers_say_which_version_predicted_and_how_it_went(site: Site, page: Page):
    runs = site.answer("api/model", **of(site.seeded.learned))["production_runs"]
    page.locator("#production summary").click()
    rows = page.locator("#production tbody tr")
    expect(rows).to_have_count(len(runs))
    expect(rows.first).to_contain_text(runs[0]["model_id"])
    for run in runs:
        if run["is_unusual"]:
            row = rows.nth(runs.index(run))
            expect(row).to_contain_text(re.compile("(slower|faster) than its 95 % interval"))


def test_the_evidence_is_told_in_words(site: Site, page: Page):
    found = site.answer("api/model", **of(site.seeded.learned))["life"]["evidence"]
    card = page.locator("#evidence")
    expect(card).to_contain_text(f"Of {found['runs']} production runs that it predicted, ")
    expect(card).to_contain_text(f", {found['unlikely']} lay outside the 80 % interval")
    expect(card).to_contain_text("of 1,000")


def test_drift_asks_for_sample_runs(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.drifting))
    expect(here.page.locator("#evidence .headline")).to_have_text("No: make the sample runs again.")
    expect(here.page.locator("#marks .badge")).to_contain_text("Drifting")


def test_marks_tell_cause_reason_and_who(page: Page):
    expect(page.locator(".page-header .badge")).to_contain_text("Stale: cluster")
    row = page.locator("#marks tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(HIDDEN_REASON)
    expect(row.get_by_role("link", name="sizing.fit_model")).to_be_visible()


def test_the_list_names_the_cause(site: Site, visit):
    here = visit(site)
    here.open("models", search="daily_report")
    expect(here.page.locator("tbody .badge")).to_contain_text("Stale: cluster")


def test_the_versions_that_it_goes_on_from_are_linked(site: Site, page: Page):
    versions = site.answer("api/model", **of(site.seeded.learned))["life"]["lineage"]
    rows = page.locator("#lineage tbody tr")
    expect(rows).to_have_count(len(versions))
    expect(rows.first).to_contain_text("this one")
    expect(rows.first).to_contain_text("19 production runs")
    expect(rows.last).to_contain_text("sample runs alone")
    rows.last.get_by_role("link").click()
    expect(page.locator("#lineage")).to_contain_text("it has learned from no production run")
    expect(page.locator("#facts")).to_contain_text(versions[0]["model_id"])


def test_what_it_was_trained_under(page: Page):
    card = page.locator("#conditions")
    expect(card).to_contain_text("640 partitions, 500 MB each, 320 GB in all, parquet")
    card.get_by_text("3 compared").click()
    expect(card).to_contain_text("spark.sql.shuffle.partitions")


def test_sample_runs_without_a_model_are_counted(page: Page):
    line = page.locator("#untrained")
    expect(line).to_contain_text("3 sample runs of this job on r3.xlarge are in no model")


def test_a_second_opinion_stands_with_the_answer(page: Page):
    expect(page.locator("#answer")).to_contain_text("extended Amdahl model")


def test_older_production_runs_come_when_asked_for(site: Site, visit):
    here = visit(site)

    def shorten(route: Route) -> None:
        answer = route.fetch()
        told = answer.json()
        told["production_runs"] = told["production_runs"][:5]
        route.fulfill(response=answer, body=json.dumps(told))

    here.page.route("**/api/model?*", shorten)
    here.open("model", **of(site.seeded.learned))
    production = here.page.locator(".production")
    expect(production.locator("figcaption")).to_contain_text("These are the newest 5 of 19 runs.")
    button = production.get_by_role("button", name="Show older runs (14)")
    button.click()
    expect(button).to_be_hidden()
    chart = here.page.locator("#production-chart")
    expect(chart).to_have_attribute("aria-label", re.compile("19 production"))
