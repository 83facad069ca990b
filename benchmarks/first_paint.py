"""How long the page of a model takes in a real browser, from a real Airflow on the same machine.

    python -m benchmarks.first_paint [--loads 9]

For a model of a handful of observations and for one of 1,000, from the start of the navigation: until
something is painted (first contentful paint, as the browser itself reports it), until the decision is (the
frame after its tiles are there), and until the first chart is drawn. Medians and extremes of several loads,
each with an empty cache of the browser; then of loads in new tabs of a browser that has the page's files.
The limit for the answer that the project sets itself is half a second, with an empty cache and a server
that has answered before.

The first rows are of a server that has not: of the very first page of its process, for which it loads what
it computes with. What else the machine does adds to all of it: its load is printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from playwright.sync_api import Browser, Page, StorageState

from airflow_provider_ernest.documents.models import Model
from benchmarks.browser import WAIT_SECONDS, chromium, log_in
from benchmarks.demo.airflow_server import USERNAME, AirflowServer
from tests.browser.sample_store import seed

LIMIT_SECONDS = 0.5
# Notes when what is waited for is there, before any of the page's own scripts run.
WATCH = """
window.noted = {};
new MutationObserver(() => {
  const is = (selector) => document.querySelector(selector) !== null;
  if (!noted.answer && is("#decision .tile")) {
    noted.answer = performance.now();
    requestAnimationFrame(() => setTimeout(() => { noted.painted = performance.now(); }));
  }
  if (!noted.chart && is(".chart svg path")) noted.chart = performance.now();
}).observe(document, {childList: true, subtree: true});
"""
IS_DRAWN = """() => window.noted.painted && window.noted.chart
  && performance.getEntriesByName("first-contentful-paint").length"""
LOAD = """() => {
  const files = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const first = performance.getEntriesByName("first-contentful-paint")[0].startTime;
  const sent = (until) => {
    const all = files.filter((each) => each.responseEnd <= until);
    return [all.length, all.reduce((sum, each) => sum + each.transferSize, 0) / 1000];
  };
  const { answer, painted, chart } = window.noted;
  return { first, answer: painted, chart, untilAnswer: sent(answer), untilChart: sent(chart) };
}"""


@dataclass(frozen=True, kw_only=True)
class Load:
    """One load of a page: milliseconds from the start of the navigation, and what was sent for it.

    Attributes:
        first: until something is painted.
        answer: until the decision is.
        chart: until the first chart is drawn.
        until_answer: requests, and their kilobytes.
        until_chart: the same.
    """

    first: float
    answer: float
    chart: float
    until_answer: tuple[int, float]
    until_chart: tuple[int, float]


@dataclass(frozen=True, kw_only=True)
class Site:
    """Airflow, a browser, and the cookies of a user who is logged in."""

    browser: Browser
    url: str
    cookies: StorageState

    @contextmanager
    def window(self) -> Iterator[Page]:
        """A page of a browser window with an empty cache."""
        context = self.browser.new_context(
            viewport={"width": 1440, "height": 900}, storage_state=self.cookies
        )
        context.set_default_timeout(1000 * WAIT_SECONDS)
        context.add_init_script(WATCH)
        yield context.new_page()
        context.close()

    def of_model(self, model: Model) -> str:
        """The address of its page."""
        named = {"job": model.job, "instance_type": model.instance_type}
        return f"{self.url}/ernest/model?{urlencode(named, quote_via=quote)}"


def load(page: Page, address: str) -> Load:
    """Load a page and wait for its first chart."""
    page.goto(address)
    page.wait_for_function(IS_DRAWN)
    found = page.evaluate(LOAD)
    return Load(
        first=found["first"],
        answer=found["answer"],
        chart=found["chart"],
        until_answer=found["untilAnswer"],
        until_chart=found["untilChart"],
    )


def with_empty_cache(site: Site, address: str) -> Load:
    """Load it in a window of its own."""
    with site.window() as page:
        return load(page, address)


def with_kept_files(site: Site, address: str, loads: int) -> list[Load]:
    """Load it in tabs of a window that has loaded it before."""
    found = []
    with site.window() as first:
        load(first, address)
        for _ in range(loads):
            tab = first.context.new_page()
            found.append(load(tab, address))
            tab.close()
    return found


def row(name: str, times: Sequence[float]) -> None:
    """Print a row of the table."""
    print(f"  {name:44s}  {min(times):7.0f}  {statistics.median(times):7.0f}  {max(times):7.0f}")


def rows(title: str, loads: Sequence[Load]) -> None:
    """Print the rows of loads of a page."""
    print(title)
    row("first paint", [each.first for each in loads])
    row("the answer is painted", [each.answer for each in loads])
    row("first chart", [each.chart for each in loads])
    (requests, kilobytes), (more, much) = loads[-1].until_answer, loads[-1].until_chart
    print(
        f"  {requests} requests, {kilobytes:.0f} kB until the answer; {more}, {much:.0f} kB until the chart"
    )


def report(site: Site, models: Sequence[Model], loads: int) -> None:
    """Measure and print."""
    print(f"milliseconds, {loads} loads each; limit for the answer: {1000 * LIMIT_SECONDS:.0f}")
    print(f"{os.cpu_count()} processors, with a load of {os.getloadavg()[0]:.1f} before")
    print(f"  {'':44s}  {'min':>7s}  {'median':>7s}  {'max':>7s}")
    rows("the first page of a server's process", [with_empty_cache(site, site.of_model(models[0]))])
    for model in models:
        address, what = site.of_model(model), f"{len(model.observations):,} observations"
        with_empty_cache(site, address)  # the first reader of the model
        rows(f"{what}, empty cache", [with_empty_cache(site, address) for _ in range(loads)])
        rows(f"{what}, files kept", with_kept_files(site, address, loads))


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
        with AirflowServer(home, Path(root), report=lambda line: print(line, file=sys.stderr)) as airflow:
            context = browser.new_context()
            log_in(context.new_page(), airflow.url, username=USERNAME, password=airflow.password)
            site = Site(browser=browser, url=airflow.url, cookies=context.storage_state())
            context.close()
            report(site, (seeded.nightly_join, seeded.big_history), loads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
