# PYTHON_ARGCOMPLETE_OK
"""The programs ``ernest`` and ``airflow ernest``: commands about models, event logs and cloud machines."""

from __future__ import annotations

from collections.abc import Sequence
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
from airflow_provider_ernest.cli import main as program

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
"""All of them."""


def main(argv: Sequence[str] | None = None) -> int:
    """The program ``ernest``; see `cli.main.main`."""
    return program.main(argv, commands=COMMANDS)


def get_ernest_commands() -> list[CLICommand]:
    """What Airflow, 3.2 and later, asks this provider for."""
    from airflow_provider_ernest.cli.airflow_commands import ernest_group

    return [ernest_group(COMMANDS)]
