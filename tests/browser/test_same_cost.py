"""Types of machines at the same dollars per hour, while what is asked changes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.axe import broken_rules
from tests.browser.site import Site, of
from tests.browser.visit import expect_no_scrolling_sideways

pytestmark = pytest.mark.airflow

SAME_COST = re.compile(r"/api/same_cost\?")


@pytest.fixture
def page(site: Site, visit) -> Page:
    """The page of a model, with the types compared."""
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    here.page.locator("#same-cost summary").click()
    expect(here.page.locator("#same-cost tbody tr")).not_to_have_count(0)
    return here.page


def scale(page: Page) -> Locator:
    return page.get_by_role("spinbutton", name="Scale")


def test_only_a_sentence_is_read_aloud(page: Page):
    expect(page.locator("#same-cost [role=status]")).to_contain_text(re.compile(r"^Fastest of \d rates?: "))
    expect(page.locator("#same-cost [role=status] table")).to_have_count(0)


def test_the_answer_is_to_what_was_asked_last(page: Page):
    table = page.locator("#same-cost tbody")
    before, first = table.inner_text(), scale(page).input_value()
    held: list[Route] = []
    page.route(SAME_COST, lambda route: held.append(route))
    with page.expect_request(SAME_COST):
        scale(page).fill("0.31")
    # Asked again for what is shown: the answer under way must not take its place.
    with page.expect_event("requestfailed", lambda request: bool(SAME_COST.search(request.url))):
        scale(page).fill(first)
    expect(page.locator("#same-cost [aria-busy=true]")).to_have_count(0)
    expect(table).to_have_text(before, use_inner_text=True)
    page.unroute(SAME_COST)
    with page.expect_response(SAME_COST):
        scale(page).fill("0.31")
    expect(table).not_to_have_text(before, use_inner_text=True)


def test_nothing_is_compared_of_a_question_that_cannot_be(page: Page):
    most = page.get_by_role("spinbutton", name="At most")
    before = most.input_value()
    page.get_by_role("spinbutton", name="At least").fill("20")
    most.fill("2")
    expect(page.locator("#same-cost [role=status]")).to_contain_text("nothing to compare")
    expect(page.locator("#same-cost table")).to_have_count(0)
    page.get_by_role("spinbutton", name="At least").fill("1")
    most.fill(before)
    expect(page.locator("#same-cost tbody tr")).not_to_have_count(0)


def test_unfolded_on_a_phone(site: Site, visit):
    here = visit(site, viewport={"width": 360, "height": 740})
    here.open("model", **of(site.seeded.nightly_join))
    here.page.locator("details.billed summary").click()
    here.page.locator("#same-cost summary").click()
    expect(here.page.locator("#same-cost tbody tr")).not_to_have_count(0)
    expect_no_scrolling_sideways(here.page)
    for colours in ("light", "dark"):
        here.in_colours(colours)
        broken = broken_rules(here.page)
        assert not broken, "\n".join(broken)
