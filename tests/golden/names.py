"""Where what a user imports is found: the one place of these tests to change when it moves.

Programs and the plugin are found as pip and Airflow find them: by the entry points of pyproject.toml.
"""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path
from typing import Any

import airflow_provider_ernest

ROOT = Path(__file__).parents[2]
PACKAGE = airflow_provider_ernest.__name__
PUBLIC = airflow_provider_ernest.__all__


def public(name: str) -> Any:
    """A class or a function that DAG files import."""
    return getattr(airflow_provider_ernest, name)


def entry_point(*keys: str) -> Any:
    """What an entry point names, by its keys below ``[project]`` in pyproject.toml."""
    found: Any = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for key in keys:
        found = found[key]
    module, _, name = found.partition(":")
    return getattr(importlib.import_module(module), name)


def program() -> Any:
    """The program ``ernest``, a function of its arguments."""
    return entry_point("scripts", "ernest")
