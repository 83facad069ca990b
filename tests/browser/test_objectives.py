"""Taking the cheapest that meets the deadline instead of the best value."""

import pytest
from playwright.sync_api import expect

from tests.browser.site import Site, of

pytestmark = pytest.mark.airflow


def test_the_cheapest_is_what_it_says_and_the_best_value_says_what_its_more_buys(site: Site, visit):
    model = of(site.seeded.nightly_join)
    question = {"deadline_seconds": 420, "price_per_hour": 0.333, "max_machines": 24, "scale": 1}
    value, cheapest = (
        site.answer("api/prediction", **model, **question, **objective)["decision"]
        for objective in ({}, {"objective": "cheapest"})
    )
    assert cheapest["predicted_cost"] < value["predicted_cost"]
    assert cheapest["probability"] < value["probability"]
    assert cheapest["worth"] == ""
    here = visit(site)
    here.open("model", **model, **question)
    page = here.page

    chosen = page.locator("table.candidates tr.highlight")
    expect(chosen).to_contain_text(f"{value['machines']}")
    expect(page.get_by_text(value["worth"])).to_be_visible()
    page.get_by_role("combobox", name="Then choose").select_option("cheapest")

    expect(chosen).to_contain_text("Cheapest that meets it, chosen")
    expect(chosen).to_contain_text(f"{cheapest['machines']}")
    expect(page.get_by_text("Best value: for")).to_have_count(0)
    assert "objective=cheapest" in page.url
