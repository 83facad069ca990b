"""Names that would be markup, scripts or addresses are shown as what they are: text."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.preview_runs import MARKUP
from tests.browser.sample_store import HOSTILE
from tests.browser.site import Site, of
from tests.browser.visit import unfold, unfold_all

pytestmark = pytest.mark.airflow


def assert_inert(page: Page) -> None:
    """Nothing of the names has become an element or an address to run. Dialogs fail each test anyway."""
    assert page.locator("[onerror], [onload], main img, main script, main iframe").count() == 0
    assert page.locator("main svg[onload], b").filter(has_text="host").count() == 0
    addresses = page.locator("a").evaluate_all("links => links.map(link => link.protocol)")
    assert set(addresses) <= {"http:", "https:"}
    ours = page.locator("head script, body > script#answers[type='application/json']")
    assert page.evaluate("document.scripts.length") == ours.count()


def test_in_the_list(site: Site, visit):
    here = visit(site)
    here.open("models", search="quoted")
    expect(here.page.get_by_role("link", name=HOSTILE, exact=True)).to_have_text(HOSTILE)
    assert_inert(here.page)
    here.page.get_by_role("link", name=HOSTILE, exact=True).click()
    expect(here.page.get_by_role("heading", level=1)).to_have_text(HOSTILE)


def test_on_the_page_of_the_model(site: Site, visit):
    here = visit(site)
    model = site.seeded.hostile
    here.open("model", **of(model))
    page = here.page
    expect(page.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    expect(page).to_have_title(re.compile("onerror"))
    unfold_all(page)
    for text in ("<script>alert(1)</script>", "<b>host</b>", "<svg onload=alert(1)>", model.warnings[0]):
        expect(page.get_by_text(text).first).to_be_visible()
    expect(page.locator("#observations")).to_contain_text("javascript:alert(1)")
    expect(page.locator("#marks")).to_contain_text(HOSTILE)
    expect(page.locator("#conditions")).to_contain_text("<b>spark.setting</b>")
    expect(page.locator("#conditions")).to_contain_text("<i>csv</i>")
    assert_inert(page)


def test_on_the_card_of_a_run(made_up: Site, visit):
    here = visit(made_up, None)
    here.open("run", dag_id="nightly_sizing", run_id="hostile")
    for place in (".notice.bad", ".notice.warning", ".facts"):
        expect(here.page.locator(place)).to_contain_text(MARKUP)
    assert_inert(here.page)


def test_in_a_tooltip_of_a_chart(site: Site, visit):
    """Charts draw their own text, tooltips as elements of the page."""
    here = visit(site)
    here.open("model", **of(site.seeded.hostile))
    drawn = unfold(here.page.locator("#measured")).locator("#machines-chart")
    drawn.scroll_into_view_if_needed()
    expect(drawn.locator("svg path").first).to_be_attached()
    box = drawn.bounding_box()
    assert box
    for across in (0.2, 0.35, 0.5, 0.65, 0.8):
        for down in (0.1, 0.3, 0.5, 0.7):
            here.page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
    assert_inert(here.page)


def test_in_a_search_that_finds_nothing(site: Site, visit):
    here = visit(site)
    here.open("models")
    words = "<img src=x onerror=alert(1)>"
    here.page.get_by_label("Search models").fill(f"{words} nothing")
    expect(here.page.get_by_role("heading", name=re.compile("No model"))).to_contain_text(words)
    assert_inert(here.page)


def test_in_addresses_that_somebody_sent(site: Site, visit):
    here = visit(site)
    here.expected_errors = (404, 403)
    words = "<img src=x onerror=alert(1)>"
    here.open("run", dag_id=words, run_id=words, task_id=words)
    expect(here.page.get_by_role("alert")).to_be_visible()
    expect(here.page.locator("main")).to_contain_text(words)
    assert_inert(here.page)
