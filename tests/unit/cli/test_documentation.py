"""The examples of docs/reference/command_line.md are run, and those of the how-to understood."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from airflow_provider_ernest.cli import analyze, history, survey
from airflow_provider_ernest.cli.main import COMMANDS, build_parser
from airflow_provider_ernest.command_line import COMMANDS as ALL_COMMANDS
from airflow_provider_ernest.command_line import main
from benchmarks.survey_example import commands_of
from tests.unit.cli.conftest import LOG

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "reference" / "command_line.md"
HOW_TO = DOCS / "start" / "from_event_logs.md"


def test_every_command_line_of_the_page_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    page = PAGE.read_text(encoding="utf-8")
    (runs,) = re.findall(r"```text\n(#machines.*?)```", page, re.DOTALL)
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
        command.name for command in (*COMMANDS, analyze.COMMAND, history.COMMAND, survey.COMMAND)
    }


def test_the_command_lines_of_the_how_to_can_be_understood():
    """`benchmarks.survey_example` runs them on the logs that the page is about, and writes what they say."""
    commands = [shlex.split(line.partition(" | ")[0]) for line in commands_of(HOW_TO.read_text())]
    parser = build_parser(ALL_COMMANDS)
    understood = [parser.parse_args(argv).command.name for program, *argv in commands if program == "ernest"]
    assert understood == ["survey", "history", "analyze"]
