import json
import logging
import os
import signal
import subprocess
import sys
import threading

import pytest

from airflow_provider_ernest.clusters.local import ClusterDirectory, ClusterState
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError
from airflow_provider_ernest.processes import ProcessIdentity


@pytest.fixture
def directory(tmp_path):
    directory = ClusterDirectory(tmp_path / "cluster")
    directory.create()
    return directory


@pytest.fixture
def state(cluster_handle):
    return ClusterState(
        keeper=ProcessIdentity.of(os.getpid()),
        spec=LocalClusterSpec(machines=2, cpu_share=0.5),
        workers_registered=2,
        handle=cluster_handle,
        cpu_groups=("/sys/fs/cgroup/cpu/a",),
    )


def test_the_state_survives_the_file_and_goes_with_the_cluster(directory, state):
    directory.write_state(state)
    assert directory.read_state() == state
    directory.clear(reason="worker-2 died")
    directory.clear()
    assert directory.read_state() is None
    assert directory.read_reason() == "worker-2 died"


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


def test_a_second_start_waits_for_the_first_and_says_whose_it_is_when_that_takes_too_long(directory):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout.readline() == "holds\n"
        with (
            pytest.raises(ClusterStartError, match=rf"Process {holder.pid} has been starting a cluster"),
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
