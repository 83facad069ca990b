"""What is downloaded: the numbers of the API, in files that no spreadsheet runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from tests.browser.site import Site, of
from tests.examples import in_an_address

pytestmark = pytest.mark.airflow


def downloaded(page: Page, part: Locator, kind: str) -> tuple[str, str]:
    """The name and the text of the file that a button saves."""
    with page.expect_download() as download:
        part.get_by_role("button", name=f"Download {kind}").click()
    return download.value.suggested_filename, Path(download.value.path()).read_text(encoding="utf-8")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture(scope="module")
def page(site: Site, long_visit) -> Page:
    here = long_visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    return here.page


def prediction(site: Site, page: Page) -> dict[str, Any]:
    """What the page asked the API for at first."""
    model = of(site.seeded.nightly_join)
    defaults = site.answer("api/model", **model)["defaults"]
    return site.answer("api/prediction", **model, **in_an_address(defaults))


def test_the_csv_holds_the_numbers_of_the_api(site: Site, page: Page):
    figure = page.locator("section#time")
    figure.locator("summary").click()
    name, text = downloaded(page, figure, "CSV")
    assert name == "nightly_join-r3.xlarge-time.csv"
    curve = prediction(site, page)["curve"]
    rows = rows_of(text)
    assert [int(row["machines"]) for row in rows] == [point["machines"] for point in curve]
    for row, point in zip(rows, curve, strict=True):
        assert float(row["seconds"]) == pytest.approx(point["seconds"])
        assert float(row["likely_low"]) == pytest.approx(point["likely_seconds"][0])
        assert float(row["nearly_certain_high"]) == pytest.approx(point["nearly_certain_seconds"][1])


def test_the_json_holds_the_numbers_of_the_api(site: Site, page: Page):
    figure = page.locator("section#cost")
    figure.locator("summary").click()
    name, text = downloaded(page, figure, "JSON")
    assert name.endswith(".json")
    alternatives = prediction(site, page)["alternatives"]
    found = [(row["instance_type"], row["machines"], row["seconds"], row["cost"]) for row in json.loads(text)]
    expected = [(one["instance_type"], one["machines"], one["seconds"], one["cost"]) for one in alternatives]
    assert found == expected


def test_the_observations_are_those_of_the_api(site: Site, page: Page):
    observations = site.answer("api/model", **of(site.seeded.nightly_join))["observations"]
    _, text = downloaded(page, page.locator("#observations"), "CSV")
    rows = rows_of(text)
    assert [row["application_id"] for row in rows] == [run["application_id"] for run in observations]
    assert [float(row["seconds"]) for row in rows] == [run["seconds"] for run in observations]
    assert [row["hosts"].split() for row in rows] == [run["hosts"] for run in observations]


def test_no_cell_of_a_stranger_is_a_formula(site: Site, visit):
    here = visit(site)
    model = site.seeded.hostile
    here.open("model", **of(model))
    name, text = downloaded(here.page, here.page.locator("#observations"), "CSV")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and not is_number(cell) and cell]
    # Nothing is lost by that: behind the apostrophe it is what it was.
    application_id = model.observations[0].application_id
    assert application_id is not None
    assert application_id.startswith("=")
    assert f"'{application_id}" in cells
    assert "<script>alert(1)</script>" in cells


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
