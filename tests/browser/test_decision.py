"""What a person comes to a model's page for: how many machines, how long, how much, how surely, what if."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.model_page import answer_to, deadline, decision, expect_answer, more, predicted
from tests.browser.sample_store import DEADLINE_SECONDS
from tests.browser.site import Site, of
from tests.browser.visit import unfold

pytestmark = pytest.mark.airflow

PREDICTION = re.compile(r"/api/prediction\?")


def opened(site: Site, visit: Any) -> Page:
    """The page of the model of which most is known."""
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    return here.page


def test_find_the_size_and_its_chance(site: Site, page: Page):
    answer = answer_to(site, site.seeded.nightly_join)
    expect_answer(page, answer)
    expect(decision(page)).to_be_in_viewport(ratio=1)
    assert page.locator("#decision .notice").count() <= 1


def test_each_chart_comes_when_asked_for_with_its_numbers(site: Site, page: Page):
    told = predicted(site, site.seeded.nightly_join)
    chosen = f"Chosen: {told['decision']['executors']} machines"
    rows = {"Time": told["curve"], "Cost": told["alternatives"], "Where time goes": told["curve"]}
    for label, section in (("Where time goes", "shares"), ("Cost", "cost"), ("Time", "time")):
        page.get_by_role("radio", name=label, exact=True).check(force=True)
        expect(page.locator(".tabs .chart:visible")).to_have_count(1)
        drawn = page.locator(f"#{section}-chart")
        expect(drawn.locator("svg path").first).to_be_attached()
        if section != "shares":
            expect(drawn).to_have_attribute("aria-label", re.compile(chosen))
        expect(unfold(page.locator(f"section#{section}")).locator("tbody tr")).to_have_count(len(rows[label]))


def test_what_if_the_deadline_were_a_minute_sooner(site: Site, own_page: Page):
    before = predicted(site, site.seeded.nightly_join)["decision"]
    deadline(own_page).fill("6m30")
    told = predicted(site, site.seeded.nightly_join, deadline_seconds=390)
    assert told["decision"]["predicted_seconds"] < before["predicted_seconds"]
    expect_answer(own_page, told["answer"])
    expect(own_page.locator("#time-chart")).to_have_attribute(
        "aria-label", re.compile(f"Chosen: {told['decision']['executors']} machines")
    )


def test_ask_by_keyboard_alone(site: Site, own_page: Page):
    model = site.seeded.nightly_join
    deadline(own_page).focus()
    own_page.keyboard.press("Control+a")
    own_page.keyboard.type("390")
    expect_answer(own_page, answer_to(site, model, deadline_seconds=390))
    own_page.keyboard.press("Tab")
    expect(own_page.get_by_label("Met in")).to_be_focused()
    own_page.keyboard.press("ArrowDown")
    expect_answer(own_page, answer_to(site, model, deadline_seconds=390, confidence=0.9))
    own_page.keyboard.press("Tab")
    own_page.keyboard.press("Tab")
    own_page.keyboard.press("Enter")
    own_page.get_by_label("Scale of the input", exact=True).focus()
    own_page.keyboard.press("Control+a")
    own_page.keyboard.type("0.5")
    asked = {"deadline_seconds": 390, "confidence": 0.9, "scale": 0.5}
    expect_answer(own_page, answer_to(site, model, **asked))


def test_find_out_why_the_goal_is_out_of_reach_and_what_could_be_asked(site: Site, own_page: Page):
    model = site.seeded.nightly_join
    deadline(own_page).fill("20")
    told = predicted(site, model, deadline_seconds=20)
    assert told["decision"] is None
    assert told["out_of_reach"]
    expect_answer(own_page, told["answer"])
    nearest = told["most_probable"]
    expect(decision(own_page)).to_contain_text("is out of reach")
    expect(decision(own_page)).to_contain_text(f"{nearest['executors']} come nearest")
    expect(own_page.locator("#time-chart")).not_to_have_attribute("aria-label", re.compile("Chosen:"))


def test_a_budget_a_price_and_a_bill(site: Site, own_page: Page):
    model = site.seeded.nightly_join
    deadline(own_page).fill("")
    expect_answer(own_page, answer_to(site, model, deadline_seconds=None))
    asking = more(own_page)
    asking.get_by_label("Budget").fill("0.5")
    expect_answer(own_page, answer_to(site, model, deadline_seconds=None, budget_dollars=0.5))
    asking.get_by_label("Budget").fill("")
    deadline(own_page).fill(f"{DEADLINE_SECONDS:g}")
    own_page.get_by_role("combobox", name="Then choose").select_option("fastest")
    expect_answer(own_page, answer_to(site, model, objective="fastest"))
    unfold(asking.locator("details.billed")).get_by_label("Master").fill("1.5")
    expect(asking.locator("details.billed summary")).to_contain_text("a master at $1.50 an hour")
    expect_answer(own_page, answer_to(site, model, objective="fastest", master_price_per_hour=1.5))


def test_a_dearer_machine_gives_way_to_another_type(site: Site, own_page: Page):
    more(own_page).get_by_label("Price of a machine").fill("2")
    told = predicted(site, site.seeded.nightly_join, price_per_hour=2)
    other = told["decision"]["instance_type"]
    assert other != site.seeded.nightly_join.instance_type
    expect_answer(own_page, told["answer"])
    own_page.get_by_role("link", name=f"Open the model of {other}").click()
    expect(own_page.get_by_label("Instance type")).to_have_value(other)


def test_with_an_invalid_question_the_old_answer_is_marked_as_old(site: Site, own_page: Page):
    before = answer_to(site, site.seeded.nightly_join)
    problem = own_page.locator("#decision .notice.bad")
    asking = more(own_page)
    asking.get_by_label("At least", exact=True).fill("20")
    asking.get_by_label("At most").fill("2")
    expect(problem).to_contain_text("At least 20 and at most 2 machines leave none")
    expect(problem).to_contain_text("previous answer")
    expect(decision(own_page)).to_contain_text(before["sentence"])
    expect(decision(own_page).locator(".headline")).to_have_css("opacity", "0.5")
    asking.get_by_label("At least", exact=True).fill("1")
    asking.get_by_label("At most").fill("24")
    expect_answer(own_page, before)
    expect(own_page.get_by_text("previous answer")).to_have_count(0)
    deadline(own_page).fill("soon")
    expect(deadline(own_page)).to_have_attribute("aria-invalid", "true")
    expect(problem).to_contain_text("previous answer")
    deadline(own_page).fill("7m30")
    expect_answer(own_page, before)


def test_the_answer_is_to_what_was_asked_last(site: Site, own_page: Page):
    held: list[Route] = []
    own_page.route(PREDICTION, lambda route: route.continue_() if held else held.append(route))
    with own_page.expect_request(PREDICTION):
        deadline(own_page).fill("360")
    with own_page.expect_event("requestfailed", lambda request: bool(PREDICTION.search(request.url))):
        deadline(own_page).fill("390")
    expect_answer(own_page, answer_to(site, site.seeded.nightly_join, deadline_seconds=390))


def test_switch_the_type(site: Site, own_page: Page):
    seeded = site.seeded
    types = own_page.get_by_label("Instance type")
    for model in (seeded.drifting, seeded.third_type):
        types.select_option(model.instance_type)
        expect(types).to_have_value(model.instance_type)
        expect(own_page).to_have_url(re.compile(rf"instance_type={re.escape(model.instance_type)}(&|$)"))
        expect_answer(own_page, answer_to(site, model))


def test_an_older_version_says_so(site: Site, visit):
    model = site.seeded.nightly_join
    versions = site.answer("api/model", **of(model))["versions"]
    here = visit(site)
    here.open("model", **of(model), model_id=versions[-1]["model_id"])
    expect(here.page.get_by_text("A newer version")).to_be_visible()
    here.page.get_by_role("link", name="Show the newest version").click()
    expect(here.page.get_by_text("A newer version")).to_have_count(0)
    expect(unfold(here.page.locator("#known"))).to_contain_text(versions[0]["model_id"])
