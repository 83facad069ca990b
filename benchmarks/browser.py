"""A real browser for the pages: finds Chromium, starts it, and logs in to Airflow as a person does."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, expect, sync_playwright

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# Nothing of its own over the network, and no sandbox of its own, which containers do not allow.
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# A busy machine takes its time.
WAIT_SECONDS = 30.0


def find_chromium() -> str | None:
    """The program of Chromium: that of the environment variable CHROMIUM, or one on PATH; None without."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PROGRAMS)), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser, and end it.

    Raises:
        FileNotFoundError: there is none.
    """
    program = find_chromium()
    if program is None:
        raise FileNotFoundError(
            "There is no Chromium: run .ci/ensure_browser, or set CHROMIUM to its program."
        )
    expect.set_options(timeout=1000 * WAIT_SECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


def log_in(page: Page, url: str, *, username: str, password: str) -> None:
    """Open Airflow and fill in its form; the page is then Airflow's first."""
    page.goto(f"{url}/")
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{url}/")
    expect(page.get_by_role("button", name="Browse")).to_be_visible()
