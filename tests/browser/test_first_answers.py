"""A model's page has its answer with it: nothing that it brings along is asked for again."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.site import Site, of
from tests.integration.conftest import wait_until

pytestmark = pytest.mark.airflow
FIRST = {"api/model", "api/prediction"}


@pytest.mark.parametrize("name", ["nightly_join", "drifting", "without_dag", "big_history"])
def test_the_page_asks_for_nothing_that_it_brings_along(site: Site, visit, name: str):
    visit = visit(site)
    asked: list[str] = []
    visit.page.on(
        "request", lambda request: asked.append(urlsplit(request.url).path.partition("/ernest/")[2])
    )

    def brings_all() -> bool:
        """A busy server leaves to the script what takes its time, and so does one that has just begun."""
        asked.clear()
        visit.open("model", **of(getattr(site.seeded, name)))
        expect(visit.page.locator("#decision .tile").first).to_be_visible()
        answers = json.loads(visit.page.evaluate("document.getElementById('answers')?.textContent ?? '[]'"))
        return {each["path"] for each in answers} == FIRST

    wait_until(lambda: brings_all() or None, seconds=120, what="a page with its first answers")
    assert not FIRST & set(asked)
