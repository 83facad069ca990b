"""Asking a model for more than a number of machines: how surely, of which type, by what bill."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.site import Site, of
from tests.browser.visit import unfold
from tests.examples import in_an_address

pytestmark = pytest.mark.airflow


def opened(site: Site, visit: Any) -> Page:
    """The page of the model of which most is known."""
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    return here.page


def answer(page: Page) -> Locator:
    return page.locator("#answer .headline")


def confidence(page: Page) -> Locator:
    return page.get_by_role("combobox", name=re.compile("holds? with a probability of"))


def kept_with(page: Page) -> float:
    """The probability that the page tells of its choice, as a percentage."""
    text = page.locator("#answer").inner_text()
    found = re.search(r"keeps it with a probability of (?:over )?([\d.]+)", text)
    assert found, text
    return float(found[1])


def test_more_confidence_by_keyboard_changes_the_choice(own_page: Page):
    expect(answer(own_page)).to_contain_text("machines of")
    before, probability = answer(own_page).inner_text(), kept_with(own_page)
    confidence(own_page).focus()
    expect(confidence(own_page)).to_have_value("0.8")
    for _ in range(2):
        own_page.keyboard.press("ArrowDown")
    expect(confidence(own_page)).to_have_value("0.95")
    expect(own_page).to_have_url(re.compile("confidence=0.95"))
    expect(own_page.locator("#answer")).to_contain_text("with a probability of 95 %")
    expect(own_page.locator("#answer")).not_to_have_attribute("aria-busy", "true")
    expect(answer(own_page)).not_to_have_text(before)
    assert kept_with(own_page) >= 95 > probability


def test_what_is_out_of_reach_names_the_most_probable(site: Site, own_page: Page):
    own_page.get_by_role("spinbutton", name="Deadline").fill("150")
    confidence(own_page).select_option("0.99")
    expect(own_page.locator("#answer .out-of-reach")).to_contain_text("Out of reach. Most probable:")
    told = site.answer(
        "api/prediction",
        **of(site.seeded.nightly_join),
        deadline_seconds=150,
        confidence=0.99,
        price_per_hour=0.333,
        max_machines=24,
        scale=own_page.get_by_role("spinbutton", name="Scale").input_value(),
    )["most_probable"]
    expect(answer(own_page)).to_contain_text(f"{told['machines']} machines of {told['instance_type']}")


def test_the_better_of_several_types_is_chosen_and_named(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.drifting))
    defaults = site.answer("api/model", **of(site.seeded.drifting))["defaults"]
    asked = in_an_address(defaults)
    decision = site.answer("api/prediction", **of(site.seeded.drifting), **asked)["decision"]
    assert decision["instance_type"] == "r3.xlarge"
    expect(answer(here.page)).to_contain_text(f"{decision['machines']} machines of r3.xlarge:")
    # The curve is of the page's own type: nothing on it was chosen.
    expect(here.page.locator("#time-chart")).not_to_have_attribute("aria-label", re.compile("Chosen:"))
    expect(here.page.locator("#cost-chart")).to_have_attribute(
        "aria-label", re.compile(rf"Chosen: {decision['machines']} machines of r3.xlarge")
    )
    here.page.get_by_role("link", name="Open the model of r3.xlarge").click()
    here.loaded(here.page)
    expect(here.page.get_by_role("heading", level=1)).to_have_text("nightly_join")
    expect(here.page.locator(".page-subtitle")).to_contain_text("r3.xlarge")


def test_a_dearer_machine_gives_way_to_another_type(own_page: Page):
    expect(answer(own_page)).to_contain_text("of r3.xlarge:")
    own_page.get_by_role("spinbutton", name="Price of a machine").fill("2")
    expect(answer(own_page)).to_contain_text(re.compile(r"of (r3\.2xlarge|m4\.xlarge):"))


def test_what_is_billed_counts(own_page: Page):
    expect(answer(own_page)).to_contain_text("machines of")
    before = answer(own_page).inner_text()
    summary = own_page.locator("details.billed summary")
    summary.focus()
    own_page.keyboard.press("Enter")
    own_page.get_by_role("spinbutton", name="Master").fill("1.5")
    expect(own_page.locator("#answer")).to_contain_text("for the master")
    expect(summary).to_contain_text("a master at $1.50 an hour")
    expect(answer(own_page)).not_to_have_text(before)
    own_page.get_by_role("spinbutton", name="Runs that share the training").fill("10")
    expect(own_page.locator("#answer")).to_contain_text("for training")


def test_a_deadline_and_a_budget_at_once(own_page: Page):
    own_page.get_by_role("radio", name="Both").check()
    expect(
        own_page.get_by_role("combobox", name="Deadline and budget hold with a probability of")
    ).to_be_visible()
    own_page.get_by_role("spinbutton", name="Budget").fill("0.6")
    expect(own_page.locator("#answer")).to_contain_text("Balanced within 420 s and $0.60")
    own_page.get_by_role("combobox", name="Best of those").select_option("fastest")
    expect(own_page.locator("#answer")).to_contain_text("Fastest within 420 s and $0.60")


def test_types_at_the_same_dollars_per_hour(site: Site, page: Page):
    card = page.locator("#same-cost")
    unfold(card)
    expect(card.locator("tbody tr")).not_to_have_count(0)
    for model in (site.seeded.nightly_join, site.seeded.drifting, site.seeded.third_type):
        expect(card.locator("table")).to_contain_text(model.instance_type)
    expect(card.locator("table")).to_contain_text("fastest")


def test_all_configurations_with_their_probability(page: Page):
    figure = page.locator("section#cost")
    unfold(figure)
    for title in ("Instance type", "Keeps the goal", "Pareto front", "Memory", "Not supported by the runs"):
        expect(figure.get_by_role("columnheader", name=title)).to_be_visible()
    expect(figure.locator("tbody")).to_contain_text("on it")


def test_what_may_keep_the_goal_is_not_said_to_miss_it(site: Site, page: Page):
    """A configuration that keeps the deadline with 70 % is less sure than asked for: it does not miss it."""
    defaults = site.answer("api/model", **of(site.seeded.nightly_join))["defaults"]
    asked = in_an_address(defaults)
    told = site.answer("api/prediction", **of(site.seeded.nightly_join), **asked)["alternatives"]
    unsure = [each for each in told if not each["feasible"]]
    assert unsure
    figure = page.locator("section#cost")
    unfold(figure)
    expect(figure.locator("tbody tr").filter(has_text="less sure than asked for")).to_have_count(len(unsure))
    expect(figure.locator(".legend")).to_contain_text("less sure than asked for")


def test_a_bargain_is_told_only_where_there_was_one(site: Site, visit):
    """A balanced choice has dearer and cheaper ones beside it, which are no reason to speak of certainty."""
    model = of(site.seeded.nightly_join)
    asked = {
        "deadline_seconds": 100_000,
        "budget_dollars": 1000,
        "objective": "balanced",
        "price_per_hour": 0.333,
        "max_machines": 24,
        "scale": 1,
    }
    told = site.answer("api/prediction", **model, **asked)
    decision, others = told["decision"], told["runners_up"]
    assert any(each["cost"] < decision["predicted_cost"] for each in others)
    assert any(each["seconds"] < decision["predicted_seconds"] for each in others)
    here = visit(site)
    here.open("model", **model, **asked)
    expect(here.page.locator("#answer")).to_contain_text("Runners-up")
    expect(here.page.locator("#answer")).not_to_contain_text("is a bargain")


def test_past_decisions_say_how_sure_they_were_and_which_were_fallbacks(page: Page):
    table = page.locator("#decisions table")
    for title in ("Of type", "Asked for", "Keeps the goal", "Fallback"):
        expect(table.get_by_role("columnheader", name=title)).to_be_visible()
    stated = table.locator("tr").filter(has_text="the stated configuration")
    expect(stated).to_contain_text("There is no model to choose by")
    probable = table.locator("tr").filter(has_text="the most probable configuration")
    expect(probable).to_contain_text("No allowed configuration ends within 60 s")
