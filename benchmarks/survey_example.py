"""The example of docs/start/from_event_logs.md: event logs to begin with, and what the commands say of them.

python -m benchmarks.survey_example spark-events              unpacks the recorded logs into a folder
python -m benchmarks.survey_example --docs                    runs the page's commands, writes what they say
into it, and takes its picture (Chromium)
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.history.packing import PACKED, unpack

PAGE = Path("docs/start/from_event_logs.md")
PICTURE = Path("docs/pictures/survey.png")
LOGS = "spark-events"

_ERNEST = "import sys; from airflow_provider_ernest.command_line import main; sys.exit(main(sys.argv[1:]))"
_BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
_HEIGHT = 1500


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.survey_example", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", metavar="FOLDER")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--archives", type=Path, default=PACKED)
    options = parser.parse_args()
    if options.folder is not None:
        print(f"{unpack_logs(options.folder, options.archives)} event logs in {options.folder}")
    if options.docs:
        with tempfile.TemporaryDirectory(prefix="ernest-survey-") as folder:
            unpack_logs(Path(folder) / LOGS, options.archives)
            PAGE.write_text(told(PAGE.read_text(), Path(folder)))
            take_picture(Path(folder) / "survey.html", PICTURE)
    return 0


def unpack_logs(into: Path, archives: Path = PACKED) -> int:
    """Unpack the recorded logs; gives how many there are."""
    into.mkdir(parents=True, exist_ok=True)
    runs = unpack(into, packed=archives)
    if not runs:
        raise SystemExit(f"{archives} holds no archive of event logs.")
    return len(runs)


def commands_of(page: str) -> list[str]:
    """All command lines of the page."""
    lines = [line for block in _BLOCK.findall(page) for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def told(page: str, folder: Path) -> str:
    """The page, with what its commands say when they are run in the folder."""

    def block(found: re.Match[str]) -> str:
        return "".join(_said(command, folder) for command in commands_of(f"```console\n{found[0]}```"))

    return _BLOCK.sub(block, page)


def _said(command: str, folder: Path) -> str:
    lines = list(_output(command, folder))
    return "\n".join([f"$ {command}", *lines, ""])


def _output(command: str, folder: Path) -> Iterator[str]:
    """What ``ernest ...`` says, maybe with ``| head -N``."""
    line, _, most = command.partition(" | head -")
    said = subprocess.run(
        [sys.executable, "-c", _ERNEST, *shlex.split(line)[1:]],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONPATH": str(Path.cwd())},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    yield from said.rstrip().splitlines()[: int(most) if most else None]


def take_picture(page: Path, picture: Path) -> None:
    """Of the upper part of a survey's page, with its first job unfolded."""
    from playwright.sync_api import sync_playwright

    from benchmarks.browser import ARGUMENTS, find_chromium
    from benchmarks.screenshots import smaller

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=find_chromium(), args=list(ARGUMENTS))
        shown = browser.new_page(viewport={"width": 1320, "height": _HEIGHT}, device_scale_factor=1.5)
        shown.goto(page.as_uri())
        shown.evaluate("document.getElementById('job-0').open = true")
        shown.wait_for_timeout(1500)
        picture.write_bytes(smaller(shown.screenshot()))
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
