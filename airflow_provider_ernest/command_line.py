"""The programs ``ernest`` and ``airflow ernest``: commands about models, event logs and cloud machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_provider_ernest.cli import commands
from airflow_provider_ernest.cli import main as program
from airflow_provider_ernest.cloud_cli import clusters, reap
from airflow_provider_ernest.log_cli import analyze

if TYPE_CHECKING:
    from airflow.cli.cli_config import CLICommand

COMMANDS = (*commands.COMMANDS, analyze.COMMAND, clusters.COMMAND, reap.COMMAND)
"""All of them."""


def main(argv: Sequence[str] | None = None) -> int:
    """The program ``ernest``; see `cli.main.main`."""
    return program.main(argv, commands=COMMANDS)


def get_ernest_commands() -> list[CLICommand]:
    """What Airflow, 3.2 and later, asks this provider for."""
    from airflow_provider_ernest.cli.airflow_commands import ernest_group

    return [ernest_group(COMMANDS)]
