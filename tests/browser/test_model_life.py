"""A model since it was trained: production, evidence, marks, lineage, conditions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.hidden_documents import HIDDEN_REASON
from tests.browser.site import Site, of
from tests.browser.visit import Visit

pytestmark = pytest.mark.airflow


def opened(site: Site, visit: Any) -> Page:
    """The page of a model that has learned from production."""
    here = visit(site)
    here.open("model", **of(site.seeded.learned))
    expect(here.page.locator("#production-chart svg")).to_be_attached()
    return here.page


def test_predicted_and_actual_are_drawn_as_times_and_as_errors(own_page: Page):
    drawn = own_page.locator("#production-chart")
    expect(drawn).to_have_attribute("aria-label", re.compile(r"19 production runs .* changed 2 times"))
    expect(own_page.locator("#production .legend")).to_contain_text("80 % interval")
    expect(own_page.locator("#production .legend")).to_contain_text("another version predicts")
    times = drawn.inner_html()
    own_page.locator("#production").get_by_role("radio", name="Percent errors").check()
    expect(own_page.locator("#production .legend")).not_to_contain_text("80 % interval")
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


def test_the_versions_that_it_goes_on_from_are_linked(site: Site, own_page: Page):
    versions = site.answer("api/model", **of(site.seeded.learned))["life"]["lineage"]
    rows = own_page.locator("#lineage tbody tr")
    expect(rows).to_have_count(len(versions))
    expect(rows.first).to_contain_text("this one")
    expect(rows.first).to_contain_text("19 production runs")
    expect(rows.last).to_contain_text("sample runs alone")
    rows.last.get_by_role("link").click()
    expect(own_page.locator("#lineage")).to_contain_text("it has learned from no production run")
    expect(own_page.locator("#facts")).to_contain_text(versions[0]["model_id"])


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


def change(here: Visit, changed: Callable[[dict[str, Any]], None]) -> None:
    """Let the page of a model be answered with something else."""

    def answer(route: Route) -> None:
        response = route.fetch()
        told = response.json()
        changed(told)
        route.fulfill(response=response, body=json.dumps(told))

    here.page.route("**/api/model?*", answer)


def test_older_production_runs_come_when_asked_for(site: Site, visit):
    here = visit(site)

    def shorten(told: dict[str, Any]) -> None:
        told["production_runs"] = told["production_runs"][:5]

    change(here, shorten)
    here.open("model", **of(site.seeded.learned))
    production = here.page.locator(".production")
    expect(production.locator("figcaption")).to_contain_text("These are the newest 5 of 19 runs.")
    button = production.get_by_role("button", name="Show older runs (14)")
    button.click()
    expect(button).to_be_hidden()
    chart = here.page.locator("#production-chart")
    expect(chart).to_have_attribute("aria-label", re.compile("19 production"))


def test_behind_runs_that_nothing_was_predicted_of_lie_older_ones(site: Site, visit):
    here = visit(site)

    def forget(told: dict[str, Any]) -> None:
        told["production_runs"] = told["production_runs"][:2]
        for run in told["production_runs"]:
            nothing = ("predicted_seconds", "likely_seconds", "nearly_certain_seconds", "error_percent")
            run.update(dict.fromkeys(nothing), is_unlikely=False, is_unusual=False)

    change(here, forget)
    here.open("model", **of(site.seeded.learned))
    production = here.page.locator(".production")
    expect(production).to_contain_text("Of 2 production runs nothing was predicted")
    expect(production).to_contain_text("These are the newest 2 of 19 runs.")
    production.get_by_role("button", name="Show older runs (17)").click()
    chart = here.page.locator("#production-chart")
    expect(chart).to_have_attribute("aria-label", re.compile("17 production"))


def test_a_job_without_production_is_told_how_runs_are_recorded(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.third_type))
    production = here.page.locator(".production")
    expect(production).to_contain_text("No production run of this job has been recorded")
    expect(production.get_by_role("button", name="Show older runs")).to_be_hidden()


def test_of_a_drift_the_runs_up_to_it_are_told(site: Site, visit):
    found = site.answer("api/model", **of(site.seeded.drifting))["life"]["evidence"]
    here = visit(site)
    here.open("model", **of(site.seeded.drifting))
    words = f"Of the first {found['runs']} production runs that it predicted, "
    expect(here.page.locator("#evidence")).to_contain_text(words)


def test_moments_in_reasons_are_those_of_the_reader(site: Site, visit):
    reason = site.answer("api/model", **of(site.seeded.stale))["state"]["reason"]
    assert re.search(r"\dT\d", reason)
    here = visit(site)
    here.open("model", **of(site.seeded.stale))
    told = here.page.locator(".state-reason")
    expect(told).to_contain_text(re.compile(r"a production run of \d{4}-\d\d-\d\d\s\d\d:\d\d:\d\d is of"))
    expect(here.page.locator("#marks")).not_to_contain_text(re.compile(r"\dT\d"))
    here.open("models", search="hourly_sessions")
    expect(here.page.locator("tbody .reason")).not_to_contain_text(re.compile(r"\dT\d"))


def test_a_marked_model_says_what_comes_next(page: Page):
    words = "The next run of its DAG trains a new model"
    expect(page.locator(".state-reason")).to_contain_text(words)
    expect(page.locator("#marks")).to_contain_text(words)
