"""Each state of a page at three widths and in both colours: its first sentence whole, nothing cut or broken.

The pictures are kept in the folder of the test, for whoever wants to look: ``pytest --basetemp=FOLDER``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.site import Site, of
from tests.browser.visit import expect_no_scrolling_sideways

pytestmark = pytest.mark.airflow

WIDTHS = (1440, 1024, 390)
COLOURS = ("light", "dark")

BROKEN = """() => {
  const lines = (node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.bottom))).size;
  };
  const isNumber = ({ nodeType, data, parentElement }) =>
    nodeType === Node.TEXT_NODE && /^[$\\d]/.test(data) && !parentElement.closest(".below");
  const numbers = [...document.querySelectorAll("td.number")].filter((cell) => cell.checkVisibility())
    .flatMap((cell) => [cell, ...cell.querySelectorAll("*")]).flatMap((node) => [...node.childNodes])
    .filter((node) => isNumber(node) && lines(node) > 1);
  const cut = [...document.querySelectorAll(".headline, .candidates, .comparison, button, .badge")]
    .filter(({ scrollWidth, clientWidth }) => clientWidth && scrollWidth > clientWidth + 1);
  return [...numbers, ...cut].map((node) => node.data ?? node.outerHTML.slice(0, 200));
}"""
"""Numbers on two lines, and what is wider than its place."""


def model(name: str, **asked: Any) -> Any:
    return lambda site: ("model", {**of(getattr(site.seeded, name)), **asked})


def run(run_id: str) -> Any:
    return lambda _: ("run", {"dag_id": "nightly_sizing", "run_id": run_id})


STATES = {
    "list": lambda _: ("models", {}),
    "survey": lambda _: ("survey", {}),
    "healthy": model("learned"),
    "several types": model("nightly_join"),
    "drifting": model("drifting"),
    "stale": model("stale"),
    "no production, no question": model("third_type"),
    "no price": model("without_dag", deadline_seconds=480),
    "out of reach": model("nightly_join", deadline_seconds=60),
    "far beyond what was tried": model("nightly_join", deadline_seconds=200, max_executors=200),
    "cannot predict": model("unknown_term"),
    "a run in time": run("kept"),
    "a run with a fallback": run("fallback"),
    "a failed run": run("production_failed"),
}


@pytest.mark.parametrize("state", STATES)
def test_every_state_at_all_widths_and_in_both_colours(
    site: Site, made_up: Site, visit, tmp_path: Path, state: str
):
    page, asked = STATES[state](site)
    here = visit(made_up if page == "run" else site, None if page == "run" else "admin")
    here.expected_errors = (422,)
    here.open(page, **asked)
    for width in WIDTHS:
        here.page.set_viewport_size({"width": width, "height": 900})
        for colours in COLOURS:
            here.in_colours(colours)
            first = here.page.locator(".headline, #decision .notice, .notice.bad").first
            expect(first).to_be_in_viewport()
            expect_no_scrolling_sideways(here.page)
            assert here.page.evaluate(BROKEN) == [], (width, colours)
            here.page.screenshot(path=tmp_path / f"{width}-{colours}.png", full_page=True)
