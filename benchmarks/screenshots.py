"""Takes the screenshots of the documentation: the pages inside a real Airflow, in a real browser.

    python -m benchmarks.screenshots [--into docs/pictures]

It needs Chromium. The store is that of the browser tests, the DAG run their synthetic one: the same code
shows the same models, and only times of day and Airflow's own run ids differ. Each picture has twice the
pixels of the page, and as many colours as a palette holds.
"""

from __future__ import annotations

import argparse
import io
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote, urlencode

from PIL import Image
from playwright.sync_api import Browser, FrameLocator, Page, StorageState, expect

from airflow_provider_ernest.command_line import main as ernest
from benchmarks.browser import chromium, log_in
from benchmarks.demo.airflow_server import USERNAME, AirflowServer
from benchmarks.recordings import HISTORY, unpack
from tests.browser.sample_store import seed
from tests.browser.site import RUN_DAG, first_run

FOLDER = Path("docs/pictures")
DAGS = Path("tests/browser/dags")
SCALE = 2
COLOURS = 256
# To the element, with a little of what is above it.
SCROLL = "node => { node.scrollIntoView({block: 'start'}); window.scrollBy(0, -20); }"
PICTURED_JOBS = ("nightly_join", "hourly_sessions", "ad_hoc_clicks", "daily_report")
LARGE_JOB = {"work_seconds": 1200.0, "deadline_seconds": 180.0}
"""Else the tasks of the DAG run would take longer to start than to do what they do."""


@dataclass(frozen=True, kw_only=True)
class Shot:
    """A picture to take.

    Attributes:
        page: ours, with its parameters, in Airflow's frame; or alone.
        width: of the window in pixels of the page.
        scroll_to: id of the element that the page is scrolled to; empty for its top.
        unfold: what is opened before, as a selector of CSS; empty for nothing.
    """

    name: str
    page: str
    width: int = 1280
    height: int = 800
    colours: Literal["light", "dark"] = "light"
    in_airflow: bool = True
    scroll_to: str = ""
    unfold: str = ""


NUMBERS = "#production .numbers-of-figure"


def shots(run_id: str) -> list[Shot]:
    """All pictures."""
    model = address("model", job="nightly_join", instance_type="r3.xlarge")
    learned = address("model", job="daily_report", instance_type="r3.xlarge")
    run = address("run", dag_id=RUN_DAG, run_id=run_id)
    return [
        Shot(name="models", page="models", height=660),
        Shot(name="model", page=learned, width=1440, height=900),
        Shot(name="model-dark", page=learned, width=1024, height=768, colours="dark"),
        Shot(name="why", page=model, height=1240, scroll_to="why", unfold="#logs-sample"),
        Shot(name="history", page=learned, height=900, scroll_to="history", unfold=NUMBERS),
        Shot(name="run", page=run, height=660),
        Shot(name="phone", page=learned, width=390, height=844, in_airflow=False),
        Shot(name="phone-dark", page=learned, width=390, height=844, colours="dark", in_airflow=False),
    ]


def address(page: str, **parameters: str) -> str:
    """Of one of our pages, below the root of our pages."""
    return f"{page}?{urlencode(parameters, quote_via=quote)}"


def take(browser: Browser, airflow: AirflowServer, cookies: StorageState, shot: Shot, folder: Path) -> Path:
    """Take a picture, and return the path of its file."""
    context = browser.new_context(
        storage_state=cookies,
        viewport={"width": shot.width, "height": shot.height},
        device_scale_factor=SCALE,
        color_scheme=shot.colours,
        is_mobile=shot.width < 600,
    )
    page = context.new_page()
    framed = "plugin/ernest/" if shot.in_airflow else ""
    page.goto(f"{airflow.url}/{framed}ernest/{shot.page}")
    ours = page.frame_locator("iframe[title='Ernest']") if shot.in_airflow else page
    wait_until_drawn(ours)
    if shot.unfold:
        ours.locator(f"{shot.unfold} > summary").click()
    if shot.scroll_to:
        ours.locator(f"#{shot.scroll_to}").evaluate(SCROLL)
    path = folder / f"{shot.name}.png"
    path.write_bytes(smaller(page.screenshot(animations="disabled", caret="hide")))
    context.close()
    return path


def take_survey(browser: Browser, folder: Path) -> Path:
    """The upper part of a survey's page of recorded logs, with its first job unfolded."""
    with tempfile.TemporaryDirectory() as root:
        logs, report = Path(root) / "spark-events", Path(root) / "survey.html"
        unpack(HISTORY, logs)
        ernest(["survey", str(logs), "--price", "0.192", "--html", str(report)])
        page = browser.new_page(viewport={"width": 1320, "height": 1500}, device_scale_factor=1.5)
        page.goto(report.as_uri())
        page.evaluate("document.getElementById('job-0').open = true")
        wait_until_drawn(page)
        path = folder / "survey.png"
        path.write_bytes(smaller(page.screenshot()))
        page.close()
    return path


def wait_until_drawn(ours: Page | FrameLocator) -> None:
    """Wait until nothing loads any more and each chart is drawn."""
    expect(ours.get_by_role("heading", level=1)).to_be_visible()
    expect(ours.locator(".state.loading")).to_have_count(0)
    expect(ours.locator("[aria-busy=true]")).to_have_count(0)
    charts = ours.locator(".chart")
    for place in range(charts.count()):
        expect(charts.nth(place)).not_to_be_empty()


def smaller(png: bytes) -> bytes:
    """The picture with a palette: pages have few colours, and Git keeps each version for ever."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    palette = picture.quantize(
        colors=COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=2, dither=Image.Dither.NONE
    )
    written = io.BytesIO()
    palette.save(written, "PNG", optimize=True)
    return written.getvalue()


def main() -> int:
    """Take all pictures; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screenshots", description=__doc__)
    parser.add_argument("--into", type=Path, default=FOLDER, metavar="DIR", help="folder of the PNG files")
    folder: Path = parser.parse_args().into
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as root, chromium() as browser:
        home = Path(root) / "home"
        store = home / "ernest" / "store"
        seed(store)
        for each in store.iterdir():
            if unquote(each.name) not in PICTURED_JOBS:
                shutil.rmtree(each)  # the catalogue, too: it is made again of what is left
        with AirflowServer(home, DAGS) as airflow:
            with airflow.api() as api:
                run_id = first_run(api, **LARGE_JOB)
            context = browser.new_context()
            log_in(context.new_page(), airflow.url, username=USERNAME, password=airflow.password)
            cookies = context.storage_state()
            taken = [take(browser, airflow, cookies, shot, folder) for shot in shots(run_id)]
            for path in (*taken, take_survey(browser, folder)):
                print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
