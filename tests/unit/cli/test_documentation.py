"""The examples of docs/reference/command_line.md are run."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from airflow_provider_ernest.command_line import COMMANDS, main
from tests.unit.cli.conftest import LOG

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "command_line.md"


def test_every_command_line_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = PAGE.read_text(encoding="utf-8")
    (runs,) = re.findall(r"```text\n(#executors.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    shutil.copy(LOG, tmp_path)
    commands = [
        shlex.split(line) for line in re.findall(r"^\$ (.*)$", page.replace("\\\n", " "), re.MULTILINE)
    ]
    for _, *argv in commands:
        assert main(argv) == 0, argv
        if "runs.csv" in argv and argv[0] == "design" and "--output" in argv:
            assert Path("runs.csv").read_text().splitlines()[0] == runs.splitlines()[0]
            Path("runs.csv").write_text(runs, encoding="utf-8")
    assert {program for program, *_ in commands} == {"ernest"}
    assert {argv[0] for _, *argv in commands} == {
        command.name for command in COMMANDS if command.name not in ("clusters", "reap", "doctor")
    }
