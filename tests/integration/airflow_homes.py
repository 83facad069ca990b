"""Homes for an Airflow of a test's own, and programs that run in them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

DATABASE = "airflow.db"


def run_in_home(home: Path, program: Path, *arguments: str, **environment: str) -> None:
    """Run a program of DAGs in an Airflow of its own, which has a database and nothing else.

    Args:
        home: an empty folder.
        program: the file; its folder is that of the DAGs.
        arguments: of the program.
        environment: further variables.
    """
    shutil.copy(_migrated() / DATABASE, home / DATABASE)
    _run([str(program), *arguments], _environment(home, program.parent, environment))


@cache
def _migrated() -> Path:
    """A home whose database has its tables: making them takes longer than most runs."""
    home = Path(_kept().name)
    _run(["-m", "airflow", "db", "migrate"], _environment(home, home, {}))
    return home


@cache
def _kept() -> TemporaryDirectory[str]:
    """Lives, as the cache does, until the process ends."""
    return TemporaryDirectory(prefix="airflow-home-")


def _environment(home: Path, dags: Path, further: Mapping[str, str]) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("OPENLINEAGE")},
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        **further,
    }


def _run(command: list[str], environment: dict[str, str]) -> None:
    ended = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
