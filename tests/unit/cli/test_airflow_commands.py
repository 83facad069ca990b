import argparse
import json

import pytest
from airflow.cli.cli_config import GroupCommand

from airflow_provider_ernest.cli.command import build_parser
from airflow_provider_ernest.command_line import COMMANDS, get_ernest_commands
from airflow_provider_ernest.provider_info import get_provider_info
from tests.unit.cli.conftest import csv_of_runs


def airflow_parser() -> argparse.ArgumentParser:
    """As Airflow builds it from a provider's commands."""
    from airflow.cli.cli_parser import _add_command

    parser = argparse.ArgumentParser(prog="airflow")
    subparsers = parser.add_subparsers(dest="subcommand")
    for command in get_ernest_commands():
        _add_command(subparsers, command)
    return parser


def options_of(parser: argparse.ArgumentParser, *path: str) -> set[str]:
    for name in path:
        (action,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
        parser = action.choices[name]
    return {option for action in parser._actions for option in (action.option_strings or [action.dest])}


def test_the_provider_names_the_function():
    (name,) = get_provider_info()["cli"]
    assert name == f"{get_ernest_commands.__module__}.{get_ernest_commands.__name__}"


def test_airflow_has_the_same_commands_with_the_same_options():
    (group,) = get_ernest_commands()
    assert isinstance(group, GroupCommand)
    assert group.name == "ernest"
    assert [command.name for command in group.subcommands] == [command.name for command in COMMANDS]
    for command in group.subcommands:
        ours = options_of(build_parser(COMMANDS), command.name)
        assert options_of(airflow_parser(), "ernest", command.name) == ours


def test_a_command_runs_under_airflow_and_ends_with_its_code(tmp_path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "runs.csv"
    path.write_text(csv_of_runs())
    args = airflow_parser().parse_args(
        ["ernest", "predict", str(path), "--executors", "4", "--format", "json"]
    )
    with pytest.raises(SystemExit) as ended:
        args.func(args)
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["predictions"][0]["executors"] == 4
    args = airflow_parser().parse_args(["ernest", "predict", str(tmp_path / "absent"), "--executors", "4"])
    with pytest.raises(SystemExit) as ended:
        args.func(args)
    assert ended.value.code == 1
    assert capsys.readouterr().err.startswith("airflow ernest predict: ")
