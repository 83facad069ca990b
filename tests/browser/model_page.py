"""The page of a model as its readers know it, and what the API answers to the same question."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import FrameLocator, Locator, Page, expect

from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.words import dollars, duration
from tests.browser.site import Site, of
from tests.examples import in_an_address


def predicted(site: Site, model: Model, **changed: Any) -> dict[str, Any]:
    """What the API predicts where the page's first question is asked with these changes."""
    defaults = in_an_address(site.answer("api/model", **of(model))["defaults"])
    asked = {name: value for name, value in {**defaults, **changed}.items() if value is not None}
    return dict(site.answer("api/prediction", **of(model), **asked))


def answer_to(site: Site, model: Model, **changed: Any) -> dict[str, Any]:
    """The answer of it: its sentence, facts, rows, caution and checks."""
    return dict(predicted(site, model, **changed)["answer"])


def decision(page: Page | FrameLocator) -> Locator:
    """The decision: the sentence, the facts, and the caution."""
    return page.locator("#decision")


def deadline(page: Page) -> Locator:
    """The field."""
    return page.locator("#question").get_by_label("Deadline", exact=True)


def more(page: Page) -> Locator:
    """What can be asked besides, unfolded."""
    folded = page.locator("#question details.more")
    if folded.get_attribute("open") is None:
        folded.locator("summary").first.click()
    return folded


def expect_answer(page: Page, answer: dict[str, Any]) -> None:
    """Wait until the page gives this answer: the sentence, the one caution, the configurations to compare."""
    expect(decision(page).get_by_role("status")).to_have_text(answer["sentence"])
    for fact in answer["facts"]:
        expect(decision(page)).to_contain_text(fact)
    if answer["caution"] is None:
        expect(page.locator("#caution")).to_have_count(0)
    else:
        expect(page.locator("#caution")).to_contain_text(answer["caution"]["words"])
    rows = page.locator("#candidates tbody tr")
    expect(rows).to_have_count(len(answer["rows"]))
    for place, row in enumerate(answer["rows"]):
        expect(rows.nth(place)).to_contain_text(row["roles"][0])
        expect(rows.nth(place)).to_contain_text(str(row["executors"]))
        expect(rows.nth(place)).to_contain_text(duration(row["seconds"]))
        if row["cost"] is not None:
            expect(rows.nth(place)).to_contain_text(dollars(row["cost"]))
