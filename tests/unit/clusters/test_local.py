from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from airflow_provider_ernest.clusters import keeper as keeper_module
from airflow_provider_ernest.clusters.base import terminate
from airflow_provider_ernest.clusters.keeper import Daemon, Keeper
from airflow_provider_ernest.clusters.local import (
    ClusterDirectory,
    ClusterState,
    KeeperOrder,
    LocalCluster,
)
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError, InvalidParameterError
from airflow_provider_ernest.processes import ProcessIdentity
from airflow_provider_ernest.settings.values import settings_of

REFUSED = {
    "machines": [0, -1, 2.0, True, "4", 255],  # there are no more addresses 127.0.1.i
    "cores_per_machine": [0],
    "memory_megabytes_per_machine": [100],
    "time_to_live_seconds": [0, float("inf")],
    "idle_limit_seconds": [-3, "900"],
    "start_timeout_seconds": [0],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in REFUSED.items() for value in values]
)
def test_a_value_that_cannot_work_is_refused_by_its_name(field, value):
    values = {"machines": 2, field: value}
    with pytest.raises(InvalidParameterError, match=f"{field}=") as error:
        LocalClusterSpec(**values)
    assert error.value.parameter == field


def test_templates_are_checked_when_they_are_rendered():
    text = "{{ params.x }}"
    LocalClusterSpec(**dict.fromkeys(("machines", "cores_per_machine", "idle_limit_seconds"), text))
    assert (
        settings_of(
            LocalClusterSpec, {"machines": "3", "idle_limit_seconds": "0.5"}, "spec"
        ).idle_limit_seconds
        == 0.5
    )
    with pytest.raises(InvalidParameterError, match=r"machines=255 is not a whole number from 1 to 254"):
        settings_of(LocalClusterSpec, {"machines": "255"}, "spec")
    with pytest.raises(InvalidParameterError, match=r"machines=.*is still a template"):
        settings_of(LocalClusterSpec, {"machines": text}, "spec")


@pytest.mark.parametrize("name", ["manual__2026-01-01T00:00:00", "a,b", "all*"])
def test_a_directory_that_would_split_the_class_path_is_refused(tmp_path, name):
    with pytest.raises(InvalidParameterError, match="directory="):
        LocalCluster(LocalClusterSpec(machines=1), name="c", directory=tmp_path / name)


def test_terminating_what_never_ran_is_a_success(tmp_path):
    cluster = LocalCluster(LocalClusterSpec(machines=1), name="c", directory=tmp_path / "never")
    assert "nothing to do" in cluster.terminate()
    assert "nothing to do" in cluster.terminate()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"directory": "/home/somebody"}, "lies in /home/somebody, which is not below"),
        ({"directory": "{clusters}"}, "which is not below"),
        ({"directory": "{clusters}/../elsewhere"}, "which is not below"),
        ({"directory": "{clusters}/link"}, "which is not below"),
        ({"directory": "relative"}, "which is not below"),
        ({"directory": None}, "which is not below"),
        ({"machines": ()}, "has 0 machines"),
        ({"master_url": "spark://10.0.0.7:7077"}, "its master at spark://10.0.0.7:7077"),
    ],
)
def test_a_handle_that_was_tampered_with_is_refused(cluster_handle, tmp_path, changes, named):
    clusters = tmp_path / "clusters"
    clusters.mkdir()
    (tmp_path / "elsewhere" / "scratch").mkdir(parents=True)
    (clusters / "link").symlink_to(tmp_path / "elsewhere")
    if changes.get("directory"):
        changes = {"directory": changes["directory"].format(clusters=clusters)}
    handle = replace(cluster_handle, **{"directory": str(clusters / "ours"), **changes})

    with pytest.raises(InvalidParameterError, match=rf"cluster='a cluster' .*{named}"):
        LocalCluster.from_handle(handle, below=clusters)
    assert (tmp_path / "elsewhere" / "scratch").exists()


def test_a_directory_of_another_user_is_refused(cluster_handle, tmp_path, monkeypatch):
    (tmp_path / "cluster").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(InvalidParameterError, match="belongs to another user"):
        LocalCluster.from_handle(cluster_handle, below=tmp_path)


def test_a_kind_that_nobody_registered_is_refused(cluster_handle, tmp_path):
    with pytest.raises(ClusterError, match="kind 'toaster'"):
        terminate(replace(cluster_handle, kind="toaster"), clusters=tmp_path, client=None)


@pytest.fixture
def directory(tmp_path):
    directory = ClusterDirectory(tmp_path / "cluster")
    directory.create()
    return directory


@pytest.fixture
def state(cluster_handle):
    return ClusterState(
        keeper=ProcessIdentity.of(os.getpid()),
        spec=LocalClusterSpec(machines=2),
        handle=cluster_handle,
    )


def test_the_state_survives_the_file_and_goes_with_the_cluster(directory, state):
    directory.write_state(state)
    assert directory.read_state() == state
    directory.clear(reason="worker-2 died")
    directory.clear()
    assert directory.read_state() is None
    assert directory.why_stopped() == "worker-2 died"


@pytest.mark.parametrize("damage", ["", '{"keeper": {"pi', "newer"])
def test_a_torn_or_newer_state_file_is_no_cluster_and_no_crash(directory, state, damage, caplog):
    directory.state_file.write_text(
        json.dumps(state.to_dict() | {"schema": 99}) if damage == "newer" else damage
    )
    with caplog.at_level(logging.WARNING):
        assert directory.read_state() is None
    assert str(directory.state_file) in caplog.text


def test_only_one_keeper_can_hold_the_directory(directory):
    with directory.locked(), pytest.raises(ClusterError, match="Another keeper"), directory.locked():
        pytest.fail("two keepers hold the directory")
    with directory.locked():
        pass


def test_secret_and_scratch_files_go_and_the_executors_logs_stay(directory):
    directory.write_secret("0f" * 32, defaults="")
    assert [file.stat().st_mode & 0o777 for file in (directory.client_file, directory.defaults_file)] == [
        0o600,
        0o600,
    ]
    executor = directory.work / "2" / "app-1" / "0"
    executor.mkdir(parents=True)
    (executor / "stderr").write_text("why it failed")
    (executor / "stdout").write_text("")
    (executor / "job.jar").write_text("large")
    directory.clear()
    directory.clear()
    assert directory.read_secret() is None
    assert not directory.defaults_file.exists()
    assert not directory.scratch.exists()
    kept = [file for file in (directory.logs / "executors").rglob("*") if file.is_file()]
    assert [file.read_text() for file in kept] == ["why it failed"]


def test_the_directory_belongs_to_the_user_alone_and_one_that_cannot_be_made_is_named(directory, tmp_path):
    assert directory.path.stat().st_mode & 0o077 == 0
    (tmp_path / "file").write_text("")
    with pytest.raises(ClusterError, match="file/cluster"):
        ClusterDirectory(tmp_path / "file" / "cluster").create()


HOLDER = """
import sys
from pathlib import Path
from airflow_provider_ernest.clusters.local import ClusterDirectory
with ClusterDirectory(Path(sys.argv[1])).starting(wait_seconds=0):
    print("holds", flush=True)
    sys.stdin.readline()
"""


def test_a_second_start_waits_for_the_first_but_not_without_end(directory):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "holds\n"
        with (
            pytest.raises(ClusterStartError, match="Another process has been starting a cluster"),
            directory.starting(wait_seconds=0.2),
        ):
            pass
        let_go = threading.Timer(0.2, holder.kill)
        let_go.start()
        with directory.starting(wait_seconds=60):
            assert holder.wait(10) == -signal.SIGKILL
    finally:
        holder.kill()
        holder.communicate()


@pytest.fixture
def keeper(tmp_path, monkeypatch):
    """Of a cluster of six workers whose processes are stand-ins that just wait."""
    directory = ClusterDirectory(tmp_path / "cluster")
    directory.create()
    starter = ProcessIdentity.of(os.getpid())
    spec = LocalClusterSpec(machines=6, start_timeout_seconds=600)
    kept = Keeper(KeeperOrder(name="test", spec=spec, spark_home="/spark", starter=starter), directory)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(keeper_module, "_START_POLL_SECONDS", 0.0)
    return kept


class Launcher:
    """Starts processes that wait, and counts them."""

    def __init__(self) -> None:
        self.started: list[Daemon] = []

    def start_worker(self, index: int, master_url: str) -> Daemon:
        process = subprocess.Popen(["sleep", "600"])
        daemon = Daemon(f"worker-{index}", process, None)
        self.started.append(daemon)
        return daemon


@pytest.fixture
def launcher():
    launched = Launcher()
    yield launched
    for daemon in launched.started:
        daemon.process.kill()
        daemon.process.wait()


def test_no_more_start_at_once_than_there_are_cores(keeper, launcher, monkeypatch):
    registered: list[SimpleNamespace] = []
    starting: list[int] = []

    def read_state(*_args, **_kwargs):
        starting.append(len(launcher.started) - len(registered))
        registered.append(SimpleNamespace())
        return SimpleNamespace(machines=tuple(registered))

    monkeypatch.setattr(keeper_module, "read_state", read_state)

    keeper._start_workers(launcher, "spark://127.0.0.1:7077")

    assert len(launcher.started) == 6
    assert max(starting) == 2
