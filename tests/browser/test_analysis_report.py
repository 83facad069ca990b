"""The page that ``ernest analyze --html`` writes, opened as the file that it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from airflow_provider_ernest.views.report.clarity import render
from tests.browser.axe import broken_rules
from tests.unit.run_profiles import bare, hostile, network_bound

PROFILES = {
    "rich": network_bound(name="orders"),
    "bare": bare(),
    "hostile": hostile("<img src=x onerror=alert(1)>"),
}


def opened(browser: Browser, folder: Path, name: str, **options: object) -> Page:
    file = folder / f"{name}.html"
    file.write_text(render(PROFILES[name]), encoding="utf-8")
    page = browser.new_context(**options).new_page()  # type: ignore[arg-type]
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("name", PROFILES)
def test_it_breaks_no_rule_of_accessibility(browser: Browser, tmp_path: Path, name: str):
    # Its policy forbids scripts, axe-core's, too.
    page = opened(browser, tmp_path, name, bypass_csp=True)
    try:
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            for colours in ("light", "dark"):
                page.emulate_media(color_scheme=colours)  # type: ignore[arg-type]
                assert broken_rules(page) == [], (width, colours)
                assert page.evaluate("document.documentElement.scrollWidth") == width
    finally:
        page.context.close()


def test_it_loads_nothing_and_runs_nothing(browser: Browser, tmp_path: Path):
    page = opened(browser, tmp_path, "bare")
    asked, problems = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    try:
        for name in PROFILES:
            (tmp_path / f"{name}.html").write_text(render(PROFILES[name]), encoding="utf-8")
            page.goto((tmp_path / f"{name}.html").as_uri())
            assert page.get_by_role("heading", level=1).is_visible()
        assert asked == [(tmp_path / f"{name}.html").as_uri() for name in PROFILES]
        assert problems == []
    finally:
        page.context.close()


@pytest.mark.parametrize(("width", "shown"), [(1280, "wide"), (400, "narrow")])
def test_each_chart_is_drawn_for_the_screen(browser: Browser, tmp_path: Path, width: int, shown: str):
    page = opened(browser, tmp_path, "rich", viewport={"width": width, "height": 900})
    try:
        charts = page.locator("svg.chart")
        visible = [chart for chart in charts.all() if chart.is_visible()]
        assert len(visible) == charts.count() / 2 == 6
        assert all(shown in (chart.get_attribute("class") or "") for chart in visible)
    finally:
        page.context.close()
