"""Light and dark as Airflow is, and narrow as a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import RUN_DAG, Site, of
from tests.browser.visit import expect_no_scrolling_sideways, unfold_all
from tests.integration.conftest import wait_until

pytestmark = pytest.mark.airflow

PHONE = {
    "viewport": {"width": 390, "height": 844},
    "is_mobile": True,
    "has_touch": True,
    "device_scale_factor": 2,
}
SMALLEST_TEXT_PIXELS = 11
TOO_SMALL = """smallest => {
  const hasText = node =>
    [...node.childNodes].some(child => child.nodeType === Node.TEXT_NODE && child.data.trim());
  return [...document.querySelectorAll("main *")]
    .filter(node => node.checkVisibility() && hasText(node))
    .filter(node => parseFloat(getComputedStyle(node).fontSize) < smallest)
    .map(node => node.outerHTML.slice(0, 120));
}
"""


def brightness(background: str) -> float:
    """0 (black) to 255 (white), of what browsers give as a computed colour."""
    numbers = background[background.index("(") + 1 : -1].replace(",", " ").split()[:3]
    return sum(map(float, numbers)) / 3


def set_airflows_appearance(page: Page, mode: str) -> None:
    page.get_by_role("button", name="User").click()
    page.get_by_role("menuitem", name="Appearance").click()
    page.get_by_role("menuitemradio", name=mode).click()
    page.keyboard.press("Escape")


def test_the_pages_follow_airflows_switch_at_once(site: Site, visit):
    here = visit(site)
    here.page.goto(site.airflow("plugin", "ernest"))
    here.frame.get_by_role("link", name="hourly_sessions", exact=True).click()
    chart = here.frame.locator("#time-chart")
    expect(chart.locator("svg path").first).to_be_attached()
    root = here.frame.locator("html")
    background = "node => getComputedStyle(node).backgroundColor"
    expect(root).to_have_attribute("data-theme", "light")
    for mode, theme, least, most in (("Dark Mode", "dark", 0, 80), ("Light Mode", "light", 200, 255)):
        drawn = chart.inner_html()
        set_airflows_appearance(here.page, mode)
        expect(root).to_have_attribute("data-theme", theme)
        wait_until(
            lambda: least <= brightness(root.evaluate(background)) <= most,  # noqa: B023 - called at once
            seconds=10,
            what=theme,
        )
        wait_until(lambda: chart.inner_html() != drawn, seconds=10, what="other colours")  # noqa: B023
        expect(chart.locator("svg path").first).to_be_attached()
    set_airflows_appearance(here.page, "Dark Mode")
    here.page.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    # A page that stands alone, such as one opened from a link, remembers it, too.
    here.open("models")
    expect(here.page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_without_a_choice_the_system_decides(site: Site, visit, scheme: str):
    here = visit(site, color_scheme=scheme)
    here.open("models")
    expect(here.page.locator("html")).to_have_attribute("data-theme", scheme)


@pytest.mark.parametrize("name", ["models", "nightly_join", "learned", "hostile", "run"])
def test_a_phone_needs_no_scrolling_sideways_and_its_text_can_be_read(site: Site, visit, name: str):
    here = visit(site, **PHONE)
    if name == "models":
        here.open("models")
    elif name == "run":
        here.open("run", dag_id=RUN_DAG, run_id=site.run_id)
    else:
        here.open("model", **of(getattr(site.seeded, name)))
    if name == "nightly_join":
        expect(here.page.locator("#time-chart svg text").first).to_be_attached()
        wait_until(
            lambda: here.page.evaluate(TOO_SMALL, SMALLEST_TEXT_PIXELS) == [], seconds=10, what="text to read"
        )
    unfold_all(here.page)
    for width in (390, 320):
        here.page.set_viewport_size({"width": width, "height": 844})
        expect_no_scrolling_sideways(here.page)


def test_the_models_on_a_phone_can_be_sorted(site: Site, visit):
    here = visit(site, **PHONE)
    here.open("models")
    here.page.get_by_label("Sort by").select_option(label="Job, A to Z")
    ascending = [row["job"] for row in site.answer("api/models", sort="job", descending=False)["rows"]]
    expect(here.page.locator("tbody th a")).to_have_text(ascending)
