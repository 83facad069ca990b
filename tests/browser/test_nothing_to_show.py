"""Where there is nothing, little or something broken, the page says so, and what to do."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from airflow_provider_ernest.store.store import ModelStore
from tests.browser.conftest import NO_CHROMIUM
from tests.browser.model_page import decision, more
from tests.browser.site import Site, of
from tests.browser.visit import unfold

pytestmark = pytest.mark.airflow


def test_an_empty_store_tells_how_to_begin(site: Site, empty_store: dict[str, str]):
    if not empty_store:
        pytest.skip(NO_CHROMIUM)
    assert "There are no models yet" in empty_store["admin"]
    assert "ErnestTaskGroup" in empty_store["admin"]
    assert "nightly_join" not in empty_store["admin"]


def test_what_has_come_meanwhile_is_there_without_a_restart(site: Site):
    """The store was empty when the server first read it."""
    assert site.answer("api/models", search="nightly_join")["total"] > 0


def test_a_model_of_the_command_line_says_what_it_lacks(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.without_dag))
    page = here.page
    expect(page.get_by_role("button", name="Retrain")).to_have_count(0)
    expect(unfold(page.locator("#check-size"))).to_contain_text("Train it by the Ernest DAG")
    expect(unfold(page.locator("#measured"))).to_contain_text("not kept")
    expect(page.locator("#history")).to_contain_text("No production run")
    page.get_by_role("radio", name="Cost", exact=True).check(force=True)
    expect(page.locator("#cost")).to_contain_text("Enter the price")
    expect(decision(page)).not_to_contain_text("$")
    more(page).get_by_label("Price of a machine").fill("0.2")
    expect(decision(page)).to_contain_text("$")
    expect(page.locator("#cost-chart svg path").first).to_be_attached()


def test_a_model_of_a_newer_version_still_shows_what_it_holds(site: Site, visit):
    here = visit(site)
    here.expected_errors = (422,)
    model = site.seeded.unknown_term
    here.open("model", **of(model))
    expect(here.page.locator("#decision")).to_contain_text("entangled(executors)")
    expect(here.page.locator(".chart-and-table")).to_be_hidden()
    runs = unfold(here.page.locator("#sample-runs")).locator("tbody tr")
    expect(runs).to_have_count(len(model.observations))


def test_a_model_of_a_thousand_runs_is_not_too_much(site: Site, visit):
    here = visit(site)
    here.open("model", **of(site.seeded.big_history))
    expect(here.page.locator("#time-chart svg path").first).to_be_attached()
    table = unfold(here.page.locator("#sample-runs"))
    expect(table.locator("tbody tr").first).to_be_attached()
    assert table.locator("tbody tr").count() < 200
    table.get_by_role("button", name="Show all 1,000 rows").click()
    expect(table.locator("tbody tr")).to_have_count(1000)


def test_broken_files_hide_no_others(site: Site, visit):
    """Such as those of a disk that was full, or of a person's editor."""
    folder = site.home / "ernest" / "store" / "half_written" / "r3.xlarge" / "models"
    folder.mkdir(parents=True)
    broken = [folder / "20260101T000000.000000Z-00000000.json", folder / "notes.txt"]
    broken[0].write_text('{"schema": 1, "id": ')
    broken[1].write_text("do not touch")
    catalogue = ModelStore(site.home / "ernest" / "store").root / ".catalogue"
    catalogue.mkdir(exist_ok=True)
    broken.append(catalogue / "half_written.json")
    broken[2].write_bytes(b"\xff\xfe\x00 no JSON")
    try:
        here = visit(site)
        here.expected_errors = (404, 503)
        here.open("models")
        expect(here.page.get_by_role("link", name="nightly_join").first).to_be_visible()
        here.open("model", job="half_written", instance_type="r3.xlarge")
        expect(here.page.get_by_role("alert")).to_contain_text("Choose one on the page of all models")
        expect(here.page.get_by_role("link", name="Models")).to_be_visible()
    finally:
        for path in broken:
            path.unlink()


@pytest.mark.parametrize("page", ["model", "run"])
def test_an_address_cut_short_leads_on(site: Site, visit, page: str):
    here = visit(site)
    here.open(page)
    expect(here.page.get_by_role("heading", name="Which")).to_be_visible()
    here.page.locator("main").get_by_role("link", name="models").last.click()
    expect(here.page.get_by_label("Search models")).to_be_visible()
