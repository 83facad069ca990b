"""What is folded away at the end of a model's page: where each number comes from, also as files."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.site import Site, of
from tests.browser.visit import downloaded, unfold

pytestmark = pytest.mark.airflow

FORMULA = "=+-@\t\r"


def opened(site: Site, visit: Any) -> Page:
    """The page of the model of which most is known."""
    here = visit(site)
    here.open("model", **of(site.seeded.nightly_join))
    return here.page


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_find_the_log_of_a_sample_run(site: Site, page: Page):
    observations = site.answer("api/model", **of(site.seeded.nightly_join))["observations"]
    table = unfold(page.locator("#sample-runs")).locator("table")
    expect(table.locator("tbody tr")).to_have_count(len(observations))
    for observation in observations:
        row = table.locator("tbody tr").filter(has_text=observation["application_id"])
        origin = observation["origin"]
        path = ["dags", origin["dag_id"], "runs", origin["run_id"], "tasks", origin["task_id"]]
        link = row.get_by_role("link", name="sizing.sample_run")
        expect(link).to_have_attribute("href", site.airflow(*path, "mapped", str(origin["map_index"])))


def test_see_how_the_sample_runs_were_planned_and_what_came_of_them(site: Site, page: Page):
    told = site.answer("api/model", **of(site.seeded.nightly_join))
    design = unfold(page.locator("#check-size"))
    expect(design.locator("#design-chart svg path").first).to_be_attached()
    expect(unfold(design.locator("#design")).locator("tbody tr")).to_have_count(
        len(told["design"]["experiments"])
    )
    terms = unfold(page.locator("#fitted")).locator("#terms")
    for term in told["model"]["terms"]:
        expect(terms).to_contain_text(term["name"])


def test_see_which_machines_were_culled_and_why(site: Site, page: Page):
    executors = site.answer("api/model", **of(site.seeded.nightly_join))["cluster"]["machines"]
    culled = [machine for machine in executors if machine["culled_because"]]
    assert culled, "the sample cluster must have stragglers"
    figure = unfold(page.locator("#measured"))
    expect(figure.locator("#machines-chart svg path").first).to_be_attached()
    unfold(figure.locator("#machines"))
    for machine in culled:
        row = figure.locator("tbody tr").filter(has_text=machine["host"])
        expect(row).to_contain_text(machine["culled_because"])


def test_see_past_decisions_and_which_were_fallbacks(site: Site, page: Page):
    table = unfold(page.locator("#decided")).locator("table")
    for words in ("the stated configuration", "the most probable configuration"):
        (made,) = [
            each
            for each in site.answer("api/model", **of(site.seeded.nightly_join))["decisions"]
            if each["fallback"] and each["fallback"].replace("_", " ") in words
        ]
        row = table.locator("tr").filter(has_text=words)
        expect(row).to_contain_text(made["fallback_reason"][:40])


def test_the_versions_are_linked(site: Site, visit):
    model = site.seeded.learned
    versions = site.answer("api/model", **of(model))["versions"]
    here = visit(site)
    here.open("model", **of(model))
    rows = unfold(here.page.locator("#versions-of")).locator("tbody tr")
    expect(rows).to_have_count(len(versions))
    expect(rows.first).to_contain_text("this one")
    expect(rows.first).to_contain_text("19 production runs")
    rows.last.get_by_role("link").click()
    expect(unfold(here.page.locator("#known"))).to_contain_text(versions[-1]["model_id"])
    rows = unfold(here.page.locator("#versions-of")).locator("tbody tr")
    expect(rows.last).to_contain_text("sample runs alone")


def test_the_files_of_runs_hold_their_numbers(site: Site, page: Page):
    told = site.answer("api/model", **of(site.seeded.nightly_join))
    _, text = downloaded(page, unfold(page.locator("#sample-runs")), "CSV")
    rows, runs = rows_of(text), told["observations"]
    assert [row["application_id"] for row in rows] == [run["application_id"] for run in runs]
    assert [float(row["seconds"]) for row in rows] == [run["seconds"] for run in runs]
    assert [row["hosts"].split() for row in rows] == [run["hosts"] for run in runs]
    _, text = downloaded(page, unfold(page.locator("#production")), "CSV")
    rows, runs = rows_of(text), told["production_runs"]
    assert [float(row["seconds"]) for row in rows] == [run["seconds"] for run in runs]
    assert [float(row["cost_dollars"]) for row in rows] == [run["cost"] for run in runs]
    assert [float(row["latest_seconds"]) for row in rows] == [run["latest_seconds"] for run in runs]


def test_no_cell_of_a_stranger_is_a_formula(site: Site, visit):
    here = visit(site)
    model = site.seeded.hostile
    here.open("model", **of(model))
    name, text = downloaded(here.page, unfold(here.page.locator("#sample-runs")), "CSV")
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not [cell for cell in cells if cell and cell[0] in FORMULA and not is_number(cell)]
    # Nothing is lost by that: behind the apostrophe it is what it was.
    application_id = model.observations[0].application_id
    assert application_id is not None
    assert application_id.startswith("=")
    assert f"'{application_id}" in cells
    assert "<script>alert(1)</script>" in cells
