"""One person's visit in the browser, of which everything is noted that he would not see going wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Dialog,
    FrameLocator,
    Locator,
    Page,
    Request,
    Route,
    WebError,
    expect,
)

from tests.browser.site import Site


def unfold(part: Locator) -> Locator:
    """Open a part of a page that is folded, or the first folded in it; a test before may have done so."""
    details = part.locator("xpath=descendant-or-self::details").first
    if details.get_attribute("open") is None:
        details.locator("summary").first.click()
    return part


def unfold_all(page: Page) -> None:
    """Open all that is folded, also in what is made when it is opened."""
    folded = page.locator("details:not([open]) > summary:visible")
    while folded.count():
        folded.first.click()


def downloaded(page: Page, part: Locator, kind: str) -> tuple[str, str]:
    """The name and the text of the file that the first button of a part saves, as "CSV" or "JSON"."""
    with page.expect_download() as download:
        part.get_by_role("button", name=f"Download {kind}").first.click()
    return download.value.suggested_filename, Path(download.value.path()).read_text(encoding="utf-8")


TOO_WIDE = """width =>
  [...document.querySelectorAll("body *")]
    .filter(node => node.checkVisibility() && !node.parentElement.closest(".table-scroll"))
    .filter(node => node.getBoundingClientRect().right > width + 1)
    .slice(0, 10)
    .map(node => node.outerHTML.slice(0, 160))
"""


def expect_no_scrolling_sideways(page: Page) -> None:
    """Wait until a page is as wide as its window: charts are drawn anew a moment after a change of it."""
    width = page.viewport_size["width"]  # type: ignore[index]
    try:
        expect(page.locator("html")).to_have_js_property("scrollWidth", width)
    except AssertionError as error:
        raise AssertionError(f"wider than {width}: {page.evaluate(TOO_WIDE, width)}") from error


OURS = "/ernest/"
LOOPBACK = ("127.0.0.1", "localhost")
# What the browser says of the frame that Airflow puts all pages of plugins in.
ABOUT_THE_FRAME = "allow-scripts and allow-same-origin"
# What a page makes itself; a name of a host is in none of them.
LOCAL_SCHEMES = ("blob", "data", "about")


class Visit:
    """A fresh browser window.

    Attributes:
        page: it.
        problems: what went wrong unseen: errors in the console that come from our pages, exceptions,
            requests to other hosts, dialogs.
        expected_errors: statuses of HTTP that the test provokes: the browser writes them to its console.
    """

    def __init__(self, site: Site, context: BrowserContext) -> None:
        self.site = site
        self.problems: list[str] = []
        self.expected_errors: tuple[int, ...] = ()
        self._context = context
        context.on("console", self._console)
        context.on("request", self._request)
        context.on("weberror", self._exception)
        self.page = context.new_page()
        self.page.on("dialog", self._dialog)

    def open(self, page: str, **parameters: Any) -> None:
        """Go to one of our pages, without Airflow around it, and wait until it shows what it has loaded."""
        self.page.goto(self.site.page(page, **parameters))
        self.loaded(self.page)

    def loaded(self, where: Any) -> None:
        """Wait until our page, alone or in Airflow's frame, shows what it has loaded."""
        expect(where.get_by_role("heading", level=1)).to_be_visible()
        expect(where.locator(".state.loading")).to_have_count(0)
        expect(where.locator("[aria-busy=true]")).to_have_count(0)

    def change(self, path: str, changed: Callable[[Any], None]) -> None:
        """Let the page get another answer of the API than there is: as the function changes it."""

        def answer(route: Route) -> None:
            response = route.fetch()
            told = response.json()
            changed(told)
            route.fulfill(response=response, body=json.dumps(told))

        self.page.route(f"**/{path}?*", answer)

    def in_colours(self, scheme: str) -> None:
        """Let the reader's system change to "light" or "dark" colours, which our page follows at once."""
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        expect(self.page.locator("html")).to_have_attribute("data-theme", scheme)

    @property
    def frame(self) -> FrameLocator:
        """Our page within Airflow's."""
        return self.page.frame_locator("iframe[title='Ernest']")

    def cookies(self) -> dict[str, str]:
        """By name."""
        return {cookie["name"]: cookie["value"] for cookie in self._context.cookies()}

    def close(self) -> None:
        """End the visit."""
        self._context.close()

    def _console(self, message: ConsoleMessage) -> None:
        address = message.location.get("url", "")
        if message.type not in ("error", "warning") or OURS not in urlsplit(address).path:
            return
        if ABOUT_THE_FRAME in message.text:
            return
        if any(f"status of {status}" in message.text for status in self.expected_errors):
            return
        self.problems.append(f"console {message.type}: {message.text} ({address})")

    def _exception(self, error: WebError) -> None:
        text = getattr(error.error, "stack", None) or str(error.error)
        if OURS in text:
            self.problems.append(f"exception: {text}")

    def _request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in LOCAL_SCHEMES and address.hostname not in LOOPBACK:
            self.problems.append(f"request to another host: {request.url}")

    def _dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()
