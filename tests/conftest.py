"""Shared by all tests: an Airflow home of their own, before anything imports Airflow."""

from __future__ import annotations

import os
import tempfile

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# Airflow reads its home on import; tests must not see the own one of a developer, nor that of another process
# that shares their work. Removed at the end.
_home = tempfile.TemporaryDirectory(prefix="ernest-airflow-home-")
os.environ["AIRFLOW_HOME"] = _home.name
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__USAGE_DATA_COLLECTION__ENABLED", "False")
# What is in use lies in the temporary folder, which tests can replace.
os.environ.pop("XDG_RUNTIME_DIR", None)


# What takes longest goes first, so that the processes end at about the same time.
LONGEST_FIRST = (
    "tests/integration/test_ec2_airflow.py",
    "tests/integration/test_ec2_leak_safety.py",
    "tests/integration/test_ernest_dag.py",
    "tests/integration/test_yarn",
    "tests/integration/test_sample_run.py",
    "tests/integration/test_kubernetes.py",
    "tests/browser/",
    "tests/integration/test_retraining.py",
    "tests/integration/test_local_cluster.py",
)


# Files that share what takes long to make: an Airflow, a Spark cluster, the tables of a database.
SHARING = (
    ("tests/browser/",),
    (
        "tests/integration/test_sample_run.py",
        "tests/integration/test_bandwidth_probe.py",
        "tests/integration/test_existing_cluster.py",
    ),
    ("tests/integration/test_yarn",),
    (
        "tests/integration/test_branches_run.py",
        "tests/integration/test_lineage_run.py",
        "tests/integration/test_recordings_run.py",
    ),
)


class ByFile(LoadFileScheduling):
    """Gives whole files to each process, and all that share something to the same."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return next((files[0] for files in SHARING if file.startswith(files)), file)

    def _reschedule(self, node: WorkerController) -> None:
        """Give a process its next file when it needs it: before the last test of the one before.

        The base class gives it two tests earlier, and two tests may take minutes.
        """
        if not self.workqueue or self._pending_of(self.assigned_work[node]) < 2:
            super()._reschedule(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> ByFile:
    """Called where several processes share the tests."""
    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put what takes longest first."""

    def rank(item: pytest.Item) -> int:
        ranks = (rank for rank, start in enumerate(LONGEST_FIRST) if item.nodeid.startswith(start))
        return next(ranks, len(LONGEST_FIRST))

    items.sort(key=rank)
