"""How long the pages are: words, heights, and where the answer ends, at three widths of a window.

    python -m benchmarks.page_lengths                       the pages as they are
    python -m benchmarks.page_lengths --before 1c0adaf      beside them the pages of an earlier revision

Words are those that can be seen before anything is opened; what is in charts is not counted. Heights are in
pixels of the page. "answer" is where the machines to take are told: the lower edge of the tiles, or of what
stood in their place before. It needs Chromium, and opens the pages without Airflow around them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from playwright.sync_api import Browser

from benchmarks.browser import chromium
from benchmarks.demo.airflow_server import free_ports
from tests.integration.conftest import wait_until

WIDTHS = ((1440, 900), (1024, 768), (390, 844))
PAGES = {
    "model": "model?job=nightly_join&instance_type=r3.xlarge",
    "model, out of reach": "model?job=nightly_join&instance_type=r3.xlarge&deadline_seconds=60",
    "model, drifting": "model?job=nightly_join&instance_type=r3.2xlarge",
    "models": "models",
    "run": "run?dag_id=nightly_sizing&run_id=two_types",
}
MEASURE = """() => {
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  let words = 0;
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    const parent = text.parentElement;
    if (parent.closest("option, svg, .visually-hidden") || !parent.checkVisibility()) continue;
    words += text.textContent.split(/\\s+/).filter(Boolean).length;
  }
  const answer = document.querySelector(".tiles, .answer .headline");
  return {
    words,
    height: document.documentElement.scrollHeight,
    answer: answer ? Math.round(answer.getBoundingClientRect().bottom) : null,
    fields: [...document.querySelectorAll("main input, main select")].filter(e => e.checkVisibility()).length,
  };
}"""


@dataclass(frozen=True, kw_only=True)
class Length:
    """How long a page is at a width of the window."""

    words: int
    height: int
    answer: int | None
    fields: int


@contextmanager
def pages_of(tree: Path) -> Iterator[str]:
    """The address of the pages of a checkout, with its own sample store and runs."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "tests.browser.sample_store", folder],
            cwd=tree,
            env=environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (port,) = free_ports(1)
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.preview", folder, str(port)], cwd=tree, env=environment
        )
        try:
            url = f"http://127.0.0.1:{port}/some/prefix/ernest"
            wait_until(lambda: _answers(url) or None, seconds=60, what="the pages")
            yield url
        finally:
            server.terminate()
            server.wait(timeout=30)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/models", trust_env=False).is_success
    except httpx.TransportError:
        return False


def measure(browser: Browser, url: str) -> dict[tuple[str, int], Length]:
    """All pages at all widths."""
    lengths = {}
    for width, height in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": height})
        for name, address in PAGES.items():
            page.goto(f"{url}/{address}")
            page.wait_for_load_state("networkidle")
            page.wait_for_function("!document.querySelector('[aria-busy=true], .state.loading')")
            lengths[name, width] = Length(**page.evaluate(MEASURE))
        page.close()
    return lengths


def table(measured: dict[str, dict[tuple[str, int], Length]]) -> Iterator[str]:
    """Lines of Markdown: a row for each page and width, the revisions beside each other."""
    yield f"| page | width | {' | '.join(f'{what} {name}' for what in FIGURES for name in measured)} |"
    yield f"|---|---:|{'---:|' * (len(FIGURES) * len(measured))}"
    for width, _ in WIDTHS:
        for name in PAGES:
            cells = [
                _cell(getattr(of[name, width], figure))
                for figure in FIGURES.values()
                for of in measured.values()
            ]
            yield f"| {name} | {width} | {' | '.join(cells)} |"


FIGURES = {"words": "words", "height": "height", "answer at": "answer", "fields": "fields"}


def _cell(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--before", metavar="REV", help="the earlier revision to set beside the pages")
    options = parser.parse_args(arguments)
    measured = {}
    with chromium() as browser:
        if options.before:
            with tempfile.TemporaryDirectory() as folder:
                tree = Path(folder) / "tree"
                subprocess.run(["git", "worktree", "add", "-q", "--detach", tree, options.before], check=True)
                try:
                    with pages_of(tree) as url:
                        measured[options.before] = measure(browser, url)
                finally:
                    subprocess.run(["git", "worktree", "remove", "--force", tree], check=True)
        with pages_of(Path.cwd()) as url:
            measured["now"] = measure(browser, url)
    sys.stdout.write("\n".join(table(measured)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
