"""What docstrings show of the package's use happens as they say."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import airflow_provider_ernest

PACKAGE = Path(airflow_provider_ernest.__file__).parent
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", MODULES)
def test_examples_happen_as_shown(module: str):
    tried = doctest.testmod(import_module(module))

    assert tried.attempted
    assert not tried.failed
