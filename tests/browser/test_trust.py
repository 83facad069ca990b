"""What came of a model's decisions, and whether the next one can be trusted."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.model_page import answer_to, decision, predicted
from tests.browser.sample_store import HIDDEN_REASON
from tests.browser.site import Site, of
from tests.browser.visit import unfold

pytestmark = pytest.mark.airflow

SPOKEN = {True: "Yes: ", False: "No: ", None: "Not known: "}
A_MOMENT_OF_THE_STORE = re.compile(r"\dT\d")


def opened(site: Site, visit: Any) -> Page:
    """The page of a model that production runs went by, and that has been marked."""
    here = visit(site)
    here.open("model", **of(site.seeded.learned))
    expect(here.page.locator("#production-chart svg")).to_be_attached()
    return here.page


def test_see_whether_deadlines_were_kept(site: Site, visit):
    model = site.seeded.drifting
    runs = site.answer("api/model", **of(model))["production_runs"]
    kept = [run["kept"] for run in runs]
    assert {True, False} <= set(kept)
    here = visit(site)
    # At such a price its own machines are chosen.
    here.open("model", **of(model), price_per_hour=0.1)
    expect(decision(here.page)).to_contain_text(f"Deadlines kept: {kept.count(True)} of {len(kept)}")
    figure = here.page.locator("section#production")
    expect(figure.locator(".chart")).to_have_attribute(
        "aria-label", re.compile(f"kept: {kept.count(True)} of {len(kept)}", re.IGNORECASE)
    )
    rows = unfold(figure).locator("tbody tr")
    expect(rows).to_have_count(len(runs))
    for place, run in enumerate(runs):
        expect(rows.nth(place)).to_contain_text("kept" if run["kept"] else "missed")
    origin = runs[0]["origin"]
    address = site.airflow("dags", origin["dag_id"], "runs", origin["run_id"], "tasks", origin["task_id"])
    expect(rows.first.get_by_role("link").first).to_have_attribute("href", address)


def test_what_was_saved_is_told_where_it_is_known(site: Site, visit):
    here = visit(site)
    told = {"baseline": 0.5, "baseline_runs": 3, "saved": 3.25, "break_even_run": 7}
    here.change("api/model", lambda page: page["money"].update(told))
    here.open("model", **of(site.seeded.learned))
    facts = here.page.locator("#history dl.facts")
    expect(facts).to_contain_text("$3.25, against $0.50 a run before")
    expect(facts).to_contain_text("by run 7")


def test_of_very_many_production_runs_the_newest_are_shown(site: Site, visit):
    here = visit(site)
    here.change("api/model", lambda page: page.update(production_runs=page["production_runs"][:2]))
    here.open("model", **of(site.seeded.learned))
    expect(here.page.locator("#history")).to_contain_text("The newest 2 of 19.")
    expect(here.page.locator("#production-chart")).to_have_attribute("aria-label", re.compile("2 production"))


def test_a_job_without_production_is_told_how_runs_are_recorded(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.third_type))
    expect(decision(here.page)).not_to_contain_text("Deadlines kept")
    expect(here.page.locator("#history")).to_contain_text("RecordRunOperator")
    expect(here.page.locator("#check-drift")).to_contain_text("Not known: ")


def test_each_check_says_how_it_went(site: Site, page: Page):
    answer = answer_to(site, site.seeded.learned)
    lines = page.locator("#trust .check")
    expect(lines).to_have_count(len(answer["checks"]))
    about = answer["caution"] and answer["caution"]["about"]
    for check in answer["checks"]:
        line = page.locator(f"#check-{check['name']}")
        expect(line).to_contain_text(f"{SPOKEN[check['passed']]}{check['title']}")
        if check["name"] != about:
            expect(line).to_contain_text(check["words"].split(": ")[0][:40])


def test_the_error_opens_each_run_predicted_from_the_others(site: Site, page: Page):
    told = site.answer("api/model", **of(site.seeded.learned))
    line = unfold(page.locator("#check-error"))
    expect(line.locator("#folds-chart svg path").first).to_be_attached()
    expect(unfold(line.locator("section#folds")).locator("tbody tr")).to_have_count(len(told["observations"]))


def test_the_conditions_open_what_it_was_trained_under_and_what_was_noted(page: Page):
    expect(page.locator(".page-header")).to_contain_text("out of date")
    expect(page.locator("#caution")).to_contain_text(HIDDEN_REASON)
    page.locator("#caution").get_by_role("link", name="Why").click()
    line = page.locator("#check-conditions")
    expect(line.locator("#conditions")).to_be_in_viewport()
    expect(line.locator("#conditions")).to_contain_text("640 partitions")
    line.get_by_text("3 compared").click()
    expect(line.locator("#conditions")).to_contain_text("spark.sql.shuffle.partitions")
    row = line.locator("#marks tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text(HIDDEN_REASON)
    expect(row.get_by_role("link", name="sizing.fit_model")).to_be_visible()
    expect(line.locator("#marks")).to_contain_text("The next run of its DAG trains a new model")


def test_a_replay_that_breaks_the_deadline_leads_and_opens_its_numbers(site: Site, visit):
    model = site.seeded.nightly_join
    # A size of its own type that production has not shown.
    asked = {"price_per_hour": 0.01, "min_executors": 22}
    told = predicted(site, model, **asked)
    (replay,) = [each for each in told["replays"] if each["instance_type"] == model.instance_type]
    assert told["answer"]["caution"]["about"] == "replay"
    here = visit(site)
    here.open("model", **of(model), **asked)
    here.page.locator("#caution").get_by_role("link", name="Why").click()
    line = here.page.locator("#check-replay")
    expect(line).to_contain_text("No: ")
    expect(line).to_contain_text(replay["from_application_id"])
    asked_sizes = {point["executors"] for point in told["curve"]}
    shown = asked_sizes.intersection(size["executors"] for size in replay["sizes"])
    expect(line.locator("tbody tr")).to_have_count(len(shown))
    expect(line.locator("tbody tr.warning")).to_have_count(
        sum(
            not low <= size["replayed_seconds"] <= high
            for size in replay["sizes"]
            for point in told["curve"]
            if point["executors"] == size["executors"]
            for low, high in [point["nearly_certain_seconds"]]
        )
    )


def test_where_there_is_no_replay_it_says_why(site: Site, visit):
    here = visit(site)

    def take_away(told: dict[str, Any]) -> None:
        (own,) = [each for each in told["replays"] if each["instance_type"] == "r3.xlarge"]
        own.update(sizes=[], problem="Its stages differ from run to run.")

    here.change("api/prediction", take_away)
    here.open("model", **of(site.seeded.nightly_join))
    line = unfold(here.page.locator("#check-replay"))
    expect(line).to_contain_text("Its stages differ from run to run.")


def test_a_drift_is_said_at_the_decision_and_shown_by_its_runs(site: Site, visit):
    model = site.seeded.drifting
    # On its own machines; of those of another type the drift says nothing.
    asked = {"price_per_hour": 0.1}
    here = visit(site)
    here.open("model", **of(model), **asked)
    answer = answer_to(site, model, **asked)
    expect(here.page.locator(".page-header")).to_contain_text("drifting")
    line = here.page.locator("#check-drift")
    (check,) = [each for each in answer["checks"] if each["name"] == "drift"]
    assert check["passed"] is False
    expect(line).to_contain_text(f"No: {check['title']}")
    assert answer["caution"]["about"] == "drift"
    expect(here.page.locator("#caution")).to_contain_text(answer["caution"]["words"][:60])
    here.page.locator("#caution").get_by_role("link", name="Why").click()
    expect(here.page.locator("#production-chart")).to_be_in_viewport()


def test_moments_in_reasons_are_those_of_the_reader(site: Site, visit):
    reason = site.answer("api/model", **of(site.seeded.stale))["state"]["reason"]
    assert A_MOMENT_OF_THE_STORE.search(reason)
    here = visit(site)
    here.open("model", **of(site.seeded.stale))
    expect(here.page.locator("#caution")).to_contain_text(re.compile(r"\d{4}-\d\d-\d\d\s\d\d:\d\d:\d\d"))
    unfold(here.page.locator("#check-conditions"))
    expect(here.page.locator("main")).not_to_contain_text(A_MOMENT_OF_THE_STORE)
    here.open("models", search="hourly_sessions")
    expect(here.page.locator("tbody")).not_to_contain_text(A_MOMENT_OF_THE_STORE)
