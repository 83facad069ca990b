"""Shared by all tests: an Airflow home of their own, before anything imports Airflow."""

from __future__ import annotations

import os
import tempfile

import pytest
from xdist.scheduler import LoadFileScheduling

# Airflow reads its home on import; tests must not see the own one of a developer, nor that of another process
# that shares their work. Removed at the end.
_home = tempfile.TemporaryDirectory(prefix="ernest-airflow-home-")
os.environ["AIRFLOW_HOME"] = _home.name
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__USAGE_DATA_COLLECTION__ENABLED", "False")
# What is in use lies in the temporary folder, which tests can replace.
os.environ.pop("XDG_RUNTIME_DIR", None)


class ByFile(LoadFileScheduling):
    """Gives whole files to each process, and all of tests/browser to one: its files share an Airflow."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "tests/browser" if file.startswith("tests/browser/") else file


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile:
    """Called where several processes share the tests."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the machines of the EC2 test bed to the end, when no test with a browser runs any more.

    Each machine is an interface that comes and goes, and Chromium breaks off what it loads when the network
    of its host changes. What lies between takes the other process longer than this one takes for the pages.
    """
    items.sort(key=lambda item: item.path.name.startswith("test_ec2_"))
