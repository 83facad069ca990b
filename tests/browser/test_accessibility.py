"""Without a mouse, without eyes: pages by keyboard, by roles and names, and by the rules of axe-core."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.axe import broken_rules
from tests.browser.site import RUN_DAG, Site, of
from tests.browser.visit import Visit

pytestmark = pytest.mark.airflow

FOCUSED = """() => {
  const node = document.activeElement;
  const box = node.getBoundingClientRect();
  const style = getComputedStyle(node);
  return {
    tag: node.tagName, id: node.id,
    text: (node.innerText || node.getAttribute("aria-label") || "").slice(0, 60),
    isSeen: box.width > 0 && box.height > 0,
    isMarked: style.outlineStyle !== "none" || style.boxShadow !== "none",
  };
}"""
# Of the radio buttons of a group only the chosen one is a stop.
STOPS = """main =>
  [...main.querySelectorAll("a[href], button, summary, select, input, [tabindex='0']")]
    .filter(node => node.checkVisibility() && !node.disabled)
    .filter(node => node.type !== "radio" || node.checked)
    .length
"""


PAGES: dict[str, Callable[[Site], tuple[str, dict[str, Any]]]] = {
    "models": lambda site: ("models", {}),
    "model": lambda site: ("model", of(site.seeded.nightly_join)),
    "model that has learned": lambda site: ("model", of(site.seeded.learned)),
    "model without a DAG": lambda site: ("model", of(site.seeded.without_dag)),
    "run": lambda site: ("run", {"dag_id": RUN_DAG, "run_id": site.run_id}),
    "survey": lambda site: ("survey", {}),
    "no such model": lambda site: ("model", {"job": "none", "instance_type": "none"}),
}


def opened(site: Site, visit: Any, name: str) -> Visit:
    here: Visit = visit(site)
    here.expected_errors = (404,)
    page, parameters = PAGES[name](site)
    here.open(page, **parameters)
    return here


@pytest.fixture(scope="module", params=PAGES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def seen(site: Site, long_visit, name: str) -> Visit:
    """Each of the pages, for tests that look at it and unfold what is folded."""
    return opened(site, long_visit, name)


def test_headings_and_landmarks_say_where_one_is(seen: Visit, name: str):
    page = seen.page
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    levels = [
        int(level)
        for level in page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(one => one.tagName[1])")
    ]
    assert all(below <= above + 1 for above, below in pairwise(levels)), levels
    if name != "models":
        expect(page.get_by_role("navigation", name="Breadcrumb")).to_be_visible()
    nameless = page.locator("a, button, summary, input, select, [role=img], [role=group]").evaluate_all(
        """all => all.filter(node => node.checkVisibility() && !(node.innerText || "").trim()
            && !node.getAttribute("aria-label") && !node.getAttribute("aria-labelledby")
            && !(node.labels && node.labels.length)).map(node => node.outerHTML.slice(0, 120))"""
    )
    assert nameless == []


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_by_the_rules_of_axe(seen: Visit, colours: str):
    seen.in_colours(colours)
    broken = broken_rules(seen.page)
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("page_name", ["models", "model", "run"])
def test_tab_goes_through_all_of_the_page_and_is_seen(site: Site, visit, page_name: str):
    page = opened(site, visit, page_name).page
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED)["text"] == "Skip to content"
    wanted = page.locator("main").evaluate(STOPS)
    reached = []
    for _ in range(wanted + 20):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["tag"] == "BODY":
            break
        reached.append(focused)
    assert len(reached) >= wanted
    assert [one for one in reached if not one["isSeen"]] == []
    assert [one for one in reached if not one["isMarked"]] == []


def test_what_changes_is_announced(site: Site, visit):
    page = opened(site, visit, "model").page
    # Only the headline: all of the answer at each step of a slider were too much.
    expect(page.locator("#decision [aria-live=polite]")).to_contain_text("machines")
    page = opened(site, visit, "models").page
    expect(page.locator(".results-summary")).to_have_attribute("aria-live", "polite")
