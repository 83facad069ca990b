"""How long the page of a model takes in a real browser, from a real Airflow on the same machine.

    python -m benchmarks.first_paint [--loads 9]

Two times for a model of a handful of observations and for one of 1,000, each from the start of the
navigation: until something is painted (first contentful paint, as the browser itself reports it), and until
the first chart is drawn. Each load is one of a new tab of a browser that has loaded the page before, as a
person's has: files are kept, but asked for anew. The first load of all, into an empty cache, is shown beside
them. Medians and extremes of several loads; the limit for the first paint that the project sets itself is one
second.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from playwright.sync_api import Browser, BrowserContext, Page, expect

from benchmarks.browser import chromium, log_in
from benchmarks.demo.airflow_server import USERNAME, AirflowServer
from tests.browser.sample_store import seed

LIMIT_SECONDS = 1.0
# Notes when the first chart has something in it, before any of the page's own scripts run.
WATCH = """
new MutationObserver((_, observer) => {
  if (document.querySelector(".chart svg path")) {
    window.firstChartAt = performance.now();
    observer.disconnect();
  }
}).observe(document, {childList: true, subtree: true});
"""
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


@dataclass(frozen=True, kw_only=True)
class Load:
    """One load of a page: milliseconds from the start of the navigation."""

    first_paint: float
    first_chart: float


def load(page: Page, address: str) -> Load:
    """Load a page and wait for its first chart."""
    page.goto(address)
    expect(page.locator(".chart svg path").first).to_be_attached()
    page.wait_for_function(f"({FIRST_PAINT}) !== null && window.firstChartAt !== undefined")
    return Load(first_paint=page.evaluate(FIRST_PAINT), first_chart=page.evaluate("window.firstChartAt"))


def window(browser: Browser, airflow: AirflowServer) -> BrowserContext:
    """A fresh browser window of a user who is logged in."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    log_in(page, airflow.url, username=USERNAME, password=airflow.password)
    page.close()
    context.add_init_script(WATCH)
    return context


def measure(browser: Browser, airflow: AirflowServer, address: str, loads: int) -> tuple[Load, list[Load]]:
    """The first load into an empty cache, and the loads after it, each in a tab of its own."""
    context = window(browser, airflow)
    times = []
    for _ in range(loads + 1):
        page = context.new_page()
        times.append(load(page, address))
        page.close()
    context.close()
    return times[0], times[1:]


def line(name: str, first: float, others: Sequence[float]) -> str:
    """A row of the table."""
    return (
        f"{name:44s}  {first:7.0f}  {min(others):7.0f}  {statistics.median(others):7.0f}  {max(others):7.0f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.first_paint", description=(__doc__ or "").partition("\n\n")[0]
    )
    parser.add_argument("--loads", type=int, default=9, help="counted loads of each page (default 9)")
    loads = parser.parse_args(arguments).loads
    with tempfile.TemporaryDirectory() as root, chromium() as browser:
        home = Path(root) / "home"
        seeded = seed(home / "ernest" / "store")
        with AirflowServer(home, Path(root)) as airflow:
            print(f"milliseconds, {loads} loads each; limit for the first paint: {1000 * LIMIT_SECONDS:.0f}")
            print(f"{'':44s}  {'cold':>7s}  {'min':>7s}  {'median':>7s}  {'max':>7s}")
            for model in (seeded.nightly_join, seeded.big_history):
                address = f"{airflow.url}/ernest/model?" + urlencode(
                    {"job": model.job, "instance_type": model.instance_type}, quote_via=quote
                )
                first, others = measure(browser, airflow, address, loads)
                what = f"{len(model.observations):,} observations"
                print(line(f"{what}: first paint", first.first_paint, [each.first_paint for each in others]))
                print(line(f"{what}: first chart", first.first_chart, [each.first_chart for each in others]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
