"""The reports of ``ernest report``, ``analyze`` and ``survey``, opened as the files that they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from airflow_provider_ernest.clarity.comparison import compare_runs
from airflow_provider_ernest.prediction.training import train
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.views import report
from airflow_provider_ernest.views.prediction import prediction_alone
from tests.browser.axe import broken_rules
from tests.browser.visit import expect_no_scrolling_sideways
from tests.examples import noisy_observations, sizing_goal
from tests.integration.conftest import wait_until
from tests.unit.run_profiles import bare, hostile, network_bound
from tests.unit.views.test_survey import orders, survey

HOSTILE = "</script><img src=x onerror=alert(1)>"


def of_a_model(job: str) -> str:
    trained = train(noisy_observations(event_log=job), job=job, instance_type=job)
    trained = replace(trained, terms=tuple(replace(term, meaning=job) for term in trained.terms))
    goal = sizing_goal(deadline_seconds=200)
    billing = Billing(price_per_hour=0.5, boot_seconds=20)
    prediction = prediction_alone(trained, executors=range(1, 17), billing=billing, goal=goal)
    return report.of_model(trained, prediction, goal=goal)


REPORTS = {
    "model": lambda: of_a_model("sort"),
    "hostile model": lambda: of_a_model(HOSTILE),
    "run": lambda: report.of_run(network_bound(name="orders")),
    "two runs": lambda: report.of_run(
        network_bound(name="orders"), compare_runs(hostile(HOSTILE), network_bound(name="orders"))
    ),
    "bare run": lambda: report.of_run(bare()),
    "hostile run": lambda: report.of_run(hostile(HOSTILE)),
    "survey": lambda: report.of_survey(survey(orders(), orders(job=HOSTILE))),
}
FIGURES = {
    "model": 2,
    "hostile model": 2,
    "run": 2,
    "two runs": 2,
    "bare run": 1,
    "hostile run": 2,
    "survey": 2,
}
"""Charts, where all is unfolded: of a model one at a time, and the errors."""
UNFOLD = "all => all.forEach(one => { one.open = true; })"


@contextmanager
def opened(browser: Browser, folder: Path, name: str, **options: object) -> Iterator[Page]:
    file = folder / f"{name}.html"
    file.write_text(REPORTS[name](), encoding="utf-8")
    page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
    try:
        page.goto(file.as_uri())
        yield page
    finally:
        page.context.close()


@pytest.mark.parametrize("name", REPORTS)
def test_it_breaks_no_rule_of_accessibility(browser: Browser, tmp_path: Path, name: str):
    # Its policy forbids axe-core's script, too.
    with opened(browser, tmp_path, name, bypass_csp=True) as page:
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            for colours in ("light", "dark"):
                page.emulate_media(color_scheme=colours)  # type: ignore[arg-type]
                assert broken_rules(page) == [], (width, colours)
                expect_no_scrolling_sideways(page)


@pytest.mark.parametrize("name", REPORTS)
def test_it_draws_its_charts_and_asks_nobody_for_anything(browser: Browser, tmp_path: Path, name: str):
    asked: list[str] = []
    problems: list[str] = []
    with opened(browser, tmp_path, name) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: problems.append(message.text))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        page.reload()
        page.locator("details").first.wait_for()
        page.locator("details").evaluate_all(UNFOLD)
        expect(page.locator(".chart svg, .bars")).to_have_count(FIGURES[name])
        expect(page.locator(".state.error")).to_have_count(0)
        addresses = page.locator("a[href]").evaluate_all("all => all.map(one => one.getAttribute('href'))")
        known = ("#", "https://spark.apache.org/docs/")
        assert [each for each in addresses if not each.startswith(known)] == []
        assert asked == [(tmp_path / f"{name}.html").as_uri()]
        assert problems == []


def test_on_paper_charts_are_as_wide_as_the_paper_and_light(browser: Browser, tmp_path: Path):
    with opened(browser, tmp_path, "model", color_scheme="dark") as page:
        page.locator(".chart svg").last.wait_for()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 700, "height": 990})
        expect(page.locator("html")).to_have_attribute("data-theme", "light")
        expect_no_scrolling_sideways(page)
        charts = page.locator(".chart svg")
        heights = "all => all.map(one => one.getBoundingClientRect().height)"
        wait_until(lambda: min(charts.evaluate_all(heights)) > 100, seconds=10, what="charts of some height")
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
