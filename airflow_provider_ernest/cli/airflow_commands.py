"""The commands as ``airflow ernest ...``: Airflow 3.2 and later ask providers for theirs."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence

from airflow.cli.cli_config import ActionCommand, Arg, CLICommand, GroupCommand

from airflow_provider_ernest.cli.command import Command
from airflow_provider_ernest.cli.main import SUMMARY, run_command


class _AllArguments(Arg):
    """Stands for all options of a command: they are added as they are to the parser of ``ernest``."""

    def __init__(self, add_arguments: Callable[[ArgumentParser], None]) -> None:
        super().__init__(flags=("--help",))  # type: ignore[no-untyped-call]
        self._add_arguments = add_arguments

    def add_to_parser(self, parser: ArgumentParser) -> None:
        """Add them."""
        self._add_arguments(parser)


def ernest_group(commands: Sequence[Command]) -> CLICommand:
    """The group ``ernest`` of Airflow's command line."""
    return GroupCommand(
        name="ernest",
        help="Size Spark clusters",
        description=SUMMARY,
        subcommands=[_action(command) for command in commands],
    )


def _action(command: Command) -> ActionCommand:
    def run(args: Namespace) -> None:
        # Airflow's own main drops what a command returns.
        sys.exit(run_command(command, args, program="airflow ernest"))

    return ActionCommand(
        name=command.name,
        help=command.summary,
        description=command.description,
        epilog=command.epilog,
        func=run,
        args=[_AllArguments(command.add_arguments)],
    )
