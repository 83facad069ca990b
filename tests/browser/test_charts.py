"""Charts in a real browser: what is hidden at first, and what fits phones and paper."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Site, of
from tests.browser.visit import expect_no_scrolling_sideways

pytestmark = pytest.mark.airflow

PAPER_PIXELS = 718  # of A4 between its margins

UNFOLD = "() => document.querySelectorAll('details').forEach(each => { each.open = true; })"
WIDER_THAN_THEY_ARE = """() => [...document.querySelectorAll(".table-scroll")]
    .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1)
    .map(each => `${each.getAttribute("aria-label")}: ${each.scrollWidth} in ${each.clientWidth}`)
"""
TICKS = "chart => [...chart.querySelectorAll('svg text')].map(each => each.textContent)"


def opened(site: Site, visit: Any) -> Page:
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    return here.page


def drawn(page: Page) -> Page:
    expect(page.locator("#time-chart svg path").first).to_be_attached()
    return page


def show(page: Page, tab: str) -> None:
    page.locator("#chart-" + tab).check(force=True)


def unfold_all(page: Page) -> None:
    """Also what is unfolded within it."""
    for _ in range(3):
        page.evaluate(UNFOLD)
        expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_sample_runs_come_when_asked_for_and_take_their_room_with_them(own_page: Page):
    page = drawn(own_page)
    chart, box = page.locator("#time-chart"), page.locator("#time").get_by_role("checkbox")
    without = chart.evaluate(TICKS)
    expect(box).not_to_be_checked()
    box.check()
    assert chart.evaluate(TICKS) != without
    box.uncheck()
    assert chart.evaluate(TICKS) == without


def test_a_chart_that_was_hidden_while_the_window_changed_fits_it(own_page: Page):
    page = drawn(own_page)
    show(page, "cost")
    page.set_viewport_size({"width": 390, "height": 844})
    show(page, "time")
    svg = page.locator("#time-chart svg")
    width = page.locator("#time-chart").evaluate("chart => chart.clientWidth")
    assert 0 < width < 390
    expect(svg).to_have_attribute("width", str(width))


@pytest.mark.parametrize(("media", "width"), [("screen", 390), ("print", PAPER_PIXELS)])
def test_tables_fit_phones_and_paper(site: Site, visit, media: str, width: int):
    here = visit(site, viewport={"width": width, "height": 844})
    for page, parameters in (("model", of(site.seeded.learned)), ("models", {})):
        here.open(page, **parameters)
        unfold_all(here.page)
        here.page.emulate_media(media=media)  # type: ignore[arg-type]
        assert here.page.evaluate(WIDER_THAN_THEY_ARE) == []
        if media == "screen":
            expect_no_scrolling_sideways(here.page)
        here.page.emulate_media(media="screen")
