# PYTHON_ARGCOMPLETE_OK
"""The programs ``ernest`` and ``airflow ernest``: commands about models, event logs and cloud machines."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli import (
    analyze,
    choose,
    design,
    doctor,
    history,
    machines,
    models,
    store,
    survey,
)
from airflow_provider_ernest.cli.command import SUMMARY, Command, build_parser, run_command

if TYPE_CHECKING:
    from airflow.cli.cli_config import CLICommand

COMMANDS = (
    design.COMMAND,
    models.FIT,
    models.PREDICT,
    choose.CHOOSE,
    choose.REPORT,
    store.COMMAND,
    analyze.COMMAND,
    history.COMMAND,
    survey.COMMAND,
    machines.CLUSTERS,
    machines.REAP,
    doctor.COMMAND,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line; `argv` is None for this process's own.

    Returns:
        See `cli.command.EXIT_CODES`.

    Raises:
        SystemExit: with 2 where the command line cannot be understood, with 0 after ``--help``.
    """
    parser = build_parser(COMMANDS)
    if argv is None and "_ARGCOMPLETE" in os.environ:
        from argcomplete import autocomplete

        autocomplete(parser)
    args = parser.parse_args(argv)
    return run_command(args.command, args, program="ernest")


def get_ernest_commands() -> list[CLICommand]:
    """The group ``ernest`` of Airflow's command line, which Airflow 3.2 and later ask this provider for."""
    from airflow.cli.cli_config import ActionCommand, Arg, GroupCommand

    class AllArguments(Arg):
        """Stands for all options of a command: they are added as they are to the parser of ``ernest``."""

        def __init__(self, command: Command) -> None:
            super().__init__(flags=("--help",))  # type: ignore[no-untyped-call]
            self._command = command

        def add_to_parser(self, parser: ArgumentParser) -> None:
            self._command.add_arguments(parser)

    actions = [
        ActionCommand(
            name=command.name,
            help=command.summary,
            description=command.description,
            epilog=command.epilog,
            func=partial(_run_for_airflow, command),
            args=[AllArguments(command)],
        )
        for command in COMMANDS
    ]
    return [GroupCommand(name="ernest", help="Size Spark clusters", description=SUMMARY, subcommands=actions)]


def _run_for_airflow(command: Command, args: Namespace) -> None:
    # Airflow's own main drops what a command returns.
    sys.exit(run_command(command, args, program="airflow ernest"))
