"""Real clusters: how they start, what they run, and above all how they end."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local import ClusterDirectory, LocalCluster
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import ClusterStartError, MissingResourceError
from airflow_provider_ernest.spark.machines import read_state

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(sys.platform != "linux", reason="needs Linux: addresses 127.0.1.i, prctl"),
]

# The longest that anything here may take on a host that is busy with other things.
PATIENCE_SECONDS = 240
MEMORY_MEGABYTES = 512

# Runs one job after the other in one driver: for each line with an order, a context of its own in
# which each of `machines` tasks tells where it ran.
DRIVER = """
import json, os, sys, time
from pyspark import SparkConf, SparkContext

def where(seconds):
    time.sleep(seconds)
    return os.environ["SPARK_LOCAL_HOSTNAME"], os.getppid()

for line in sys.stdin:
    order = json.loads(line)
    machines, seconds = order["machines"], order["seconds"]
    conf = SparkConf().setMaster(order["master_url"]).setAppName("where").setAll({
        "spark.cores.max": str(machines), "spark.executor.cores": "1", "spark.executor.memory": "480m",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "200s",
        "spark.locality.wait": "0s", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.authenticate": "true", "spark.authenticate.secret": order["secret"],
    }.items())
    with SparkContext(conf=conf) as context:
        answer = context.parallelize([seconds] * machines, machines).map(where).collect()
    print("ANSWER " + json.dumps(answer), flush=True)
"""


def wait_until(condition, what, seconds=PATIENCE_SECONDS):
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)
    return result


def processes_of(directory, *, running=""):
    """The processes that carry the directory in environment or command line and run this program."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            command = " ".join(process.cmdline())
            marked = str(directory) in process.environ().values() or str(directory) in command
            if marked and running in command:
                found.append(process)
    return found


def make_cluster(directory, **spec):
    spec = {
        "machines": 1,
        "memory_megabytes_per_machine": MEMORY_MEGABYTES,
        "time_to_live_seconds": 600,
    } | spec
    return LocalCluster(
        LocalClusterSpec(start_timeout_seconds=PATIENCE_SECONDS, **spec), name="test", directory=directory
    )


@pytest.fixture
def directory(tmp_path):
    """For a test's own cluster: whatever the test does, nothing may be left of it."""
    directory = tmp_path / "cluster"
    yield directory
    left = processes_of(directory)
    make_cluster(directory).terminate()
    assert left == []


class Driver:
    """A real Spark driver in another process."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            start_new_session=True,
        )

    def submit(self, handle, *, machines, seconds):
        secret = ClusterDirectory(Path(handle.directory)).read_secret()
        order = {"master_url": handle.master_url, "machines": machines, "seconds": seconds, "secret": secret}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def answer(self):
        patience = threading.Timer(PATIENCE_SECONDS, self.process.kill)
        patience.start()
        try:
            for line in self.process.stdout:
                if line.startswith("ANSWER "):
                    return json.loads(line.removeprefix("ANSWER "))
        finally:
            patience.cancel()
        raise AssertionError("the driver ended without an answer")

    def end(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate(timeout=60)


@pytest.fixture(scope="module")
def driver():
    driver = Driver()
    yield driver
    driver.end()


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A cluster of three machines for the tests that leave it as it is.

    It is started by two processes at once, each in a session of its own, as Airflow tasks are, with pipes
    for their output: one starts it, the other takes it over. Then all of these sessions are killed.
    """
    directory = tmp_path_factory.mktemp("shared") / "cluster"
    cluster = make_cluster(directory, machines=3)
    code = f"""
import json, os, signal, sys
from pathlib import Path
from airflow_provider_ernest.clusters.local import LocalCluster, LocalClusterSpec
spec = LocalClusterSpec.from_dict(json.loads({json.dumps(cluster.spec.to_dict())!r}))
handle = LocalCluster(spec, name="test", directory=Path({str(directory)!r})).start()
print(json.dumps(handle.to_dict()), flush=True)
os.killpg(0, signal.SIGKILL)
"""
    starters = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "AIRFLOW_CONN_SECRET": "secret", "SPARK_WORKER_CORES": "7"},
        )
        for _ in range(2)
    ]
    # It only returns when no process holds the pipes any more.
    (first, first_error), (second, second_error) = (
        one.communicate(timeout=PATIENCE_SECONDS) for one in starters
    )
    assert [one.returncode for one in starters] == [-signal.SIGKILL] * 2, first_error + second_error
    assert first == second
    yield cluster, ClusterHandle.from_dict(json.loads(first))
    cluster.terminate()
    assert processes_of(directory) == []


def test_the_handle_tells_all_of_a_cluster_that_outlives_its_starter(shared):
    cluster, handle = shared
    state = read_state(handle.web_url, timeout_seconds=30)
    assert state.master_url == handle.master_url
    assert re.fullmatch(r"spark://127\.0\.0\.1:\d+", handle.master_url)
    assert [machine.host for machine in handle.machines] == ["127.0.1.1", "127.0.1.2", "127.0.1.3"]
    assert set(handle.machines) == set(state.machines)
    assert {(machine.cores, machine.memory_megabytes) for machine in handle.machines} == {
        (1, MEMORY_MEGABYTES)
    }
    assert (handle.kind, handle.name, handle.cores_per_machine) == ("local", "test", 1)
    assert handle.directory == str(cluster.directory)
    assert handle.expires_at is not None
    assert state.applications == ()


def test_a_second_start_takes_the_running_cluster_over(shared):
    cluster, handle = shared
    before = {process.pid for process in processes_of(cluster.directory)}
    assert make_cluster(cluster.directory, machines=3).start() == handle
    assert {process.pid for process in processes_of(cluster.directory)} == before


def test_daemons_listen_on_loopback_only_and_do_not_see_the_starters_settings(shared):
    cluster, _ = shared
    daemons = processes_of(cluster.directory, running="org.apache.spark.deploy")
    assert len(daemons) == 4
    for daemon in daemons:
        assert {
            connection.laddr.ip.removeprefix("::ffff:")
            for connection in daemon.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        } <= {"127.0.0.1", "127.0.1.1", "127.0.1.2", "127.0.1.3"}
        assert not {"AIRFLOW_CONN_SECRET", "SPARK_WORKER_CORES"} & daemon.environ().keys()


def test_only_the_user_may_read_the_secret_and_nobody_ends_jobs_on_the_pages(shared):
    cluster, handle = shared
    files = ClusterDirectory(cluster.directory)
    secret = files.read_secret()
    assert len(secret) == 64
    for file in (files.client_file, files.defaults_file):
        assert file.stat().st_mode & 0o777 == 0o600
    for process in processes_of(cluster.directory):
        assert secret not in " ".join(process.cmdline())
    for file in cluster.directory.rglob("*.log"):
        assert secret not in file.read_text()
    with urllib.request.urlopen(handle.web_url) as page:
        assert "(kill)" not in page.read().decode()


def test_an_application_on_two_of_three_machines_runs_on_two_hosts(shared, driver):
    cluster, handle = shared
    driver.submit(handle, machines=2, seconds=3)

    def executors():
        return processes_of(cluster.directory, running="CoarseGrainedExecutorBackend")

    wait_until(lambda: len(executors()) == 2, "two executors")
    hosts = {host for host, _ in driver.answer()}
    assert len(hosts) == 2
    assert hosts <= {machine.host for machine in handle.machines}


def test_a_dead_worker_ends_the_cluster(shared):
    """The last test of the shared cluster."""
    cluster, _ = shared
    # Not by the address alone: an executor of an earlier test, which has it too, may still be ending.
    workers = processes_of(cluster.directory, running="org.apache.spark.deploy.worker.Worker")
    (second,) = [worker for worker in workers if "127.0.1.2" in worker.cmdline()]
    second.kill()
    wait_until(lambda: not processes_of(cluster.directory), "the end of the other processes")
    assert ClusterDirectory(cluster.directory).why_stopped() == "worker-2 died"
    assert "nothing to do" in cluster.terminate()
    assert "worker-2 died" in cluster.terminate()


def test_a_killed_keeper_takes_daemons_and_running_executors_with_it(directory):
    cluster = make_cluster(directory)
    handle = cluster.start()
    driver = Driver()
    try:
        driver.submit(handle, machines=1, seconds=600)
        wait_until(lambda: processes_of(directory, running="pyspark.daemon"), "the executor's Python")
        assert processes_of(directory, running="CoarseGrainedExecutorBackend")
        assert ClusterDirectory(directory).read_state().keeper.signal(signal.SIGKILL)
        wait_until(lambda: not processes_of(directory), "the end of all processes", seconds=60)
    finally:
        driver.end()
    assert ClusterDirectory(cluster.directory).why_stopped() is None
    assert ClusterDirectory(directory).read_secret()
    assert "cleaned up" in cluster.terminate()
    assert ClusterDirectory(directory).read_secret() is None
    assert not ClusterDirectory(directory).defaults_file.exists()
    assert "nothing to do" in cluster.terminate()
    assert not ClusterDirectory(directory).scratch.exists()
    assert len(list(directory.glob("logs/executors/**/stderr"))) == 1


def test_another_specification_starts_anew_and_another_process_terminates(directory, caplog):
    caplog.set_level("INFO")
    first = make_cluster(directory).start()
    second = make_cluster(directory, machines=2).start()
    assert second.master_url != first.master_url
    assert len(second.machines) == 2
    assert len(processes_of(directory, running="org.apache.spark.deploy.master.Master")) == 1
    code = (
        "import json, sys; from pathlib import Path;"
        "from airflow_provider_ernest.clusters.base import ClusterHandle;"
        "from airflow_provider_ernest.clusters.local import LocalCluster;"
        "handle = ClusterHandle.from_dict(json.load(sys.stdin));"
        "below = Path(handle.directory).parent;"
        "print(LocalCluster.from_handle(handle, below=below).terminate())"
    )
    other = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(second.to_dict()),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    assert "ended its keeper" in other.stdout
    assert processes_of(directory) == []
    assert not ClusterDirectory(directory).scratch.exists()
    assert (directory / "logs" / "master.log").stat().st_size > 0
    assert "nothing to do" in LocalCluster.from_handle(second, below=directory.parent).terminate()


def test_idleness_counts_from_the_end_of_the_last_application(directory, driver):
    limit = 15
    cluster = make_cluster(directory, idle_limit_seconds=limit)
    driver.submit(cluster.start(), machines=1, seconds=limit + 3)
    assert (
        driver.answer() is not None
    )  # it outlasted the limit: an application, though it waits, is no idleness
    ended_at = time.monotonic()
    wait_until(lambda: not processes_of(directory), "the end of the cluster")
    # The keeper may have seen the application for the last time a moment before its end.
    assert time.monotonic() - ended_at > limit - 3
    assert ClusterDirectory(cluster.directory).why_stopped() == f"no application was active for {limit} s"
    assert "no application was active" in cluster.terminate()


def test_a_cluster_ends_with_its_time_to_live(directory):
    cluster = make_cluster(directory, time_to_live_seconds=1)
    cluster.start()
    wait_until(lambda: not processes_of(directory), "the end of the cluster")
    assert ClusterDirectory(cluster.directory).why_stopped() == "its time to live of 1 s was over"


def test_a_worker_that_cannot_start_fails_the_start_with_its_log(directory):
    # Spark counts megabytes in 32 bits: this overflows to a negative number, which the worker refuses.
    with pytest.raises(ClusterStartError, match=r"(?s)worker-1 ended with exit code.*Memory"):
        make_cluster(directory, memory_megabytes_per_machine=3_000_000_000).start()
    assert processes_of(directory) == []


def test_a_start_that_takes_too_long_fails_and_leaves_nothing(directory):
    spec = LocalClusterSpec(machines=2, start_timeout_seconds=0.05)
    with pytest.raises(ClusterStartError, match="in time"):
        LocalCluster(spec, name="test", directory=directory).start()
    assert processes_of(directory) == []


def test_a_java_that_cannot_run_spark_fails_the_start_and_leaves_nothing(directory, tmp_path, monkeypatch):
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        '#!/bin/sh\n[ "$1" = -version ] && echo \'java version "17"\' >&2 && exit\necho broken >&2\nexit 3\n'
    )
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "java"))
    with pytest.raises(ClusterStartError, match=r"(?s)master ended with exit code.*broken"):
        make_cluster(directory).start()
    assert processes_of(directory) == []


def test_a_missing_java_is_told_before_anything_starts(directory, tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(MissingResourceError, match="JAVA_HOME"):
        make_cluster(directory).start()
    assert not ClusterDirectory(directory).keeper_log.exists()


def test_a_port_that_is_taken_ends_the_start_with_what_spark_says_of_it(directory):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(
            ClusterStartError, match=r"(?s)master ended with exit code.*Address already in use"
        ):
            make_cluster(directory, master_port=port).start()


def test_a_starter_killed_during_the_start_leaves_nothing(directory):
    code = f"""
from pathlib import Path
from airflow_provider_ernest.clusters.local import LocalCluster, LocalClusterSpec
LocalCluster(LocalClusterSpec(machines=2), name="test", directory=Path({str(directory)!r})).start()
"""
    with subprocess.Popen([sys.executable, "-c", code], start_new_session=True) as starter:
        wait_until(
            lambda: processes_of(directory, running="org.apache.spark.deploy.worker.Worker"), "a worker"
        )
        os.killpg(starter.pid, signal.SIGKILL)
    wait_until(lambda: not processes_of(directory), "the end of all processes")
    assert "ended before it was ready" in ClusterDirectory(directory).why_stopped()


def test_a_cluster_terminated_while_it_starts_fails_the_start(directory):
    code = f"""
from pathlib import Path
from airflow_provider_ernest.clusters.local import LocalCluster, LocalClusterSpec
LocalCluster(LocalClusterSpec(machines=2), name="test", directory=Path({str(directory)!r})).start()
"""
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True) as starter:
        wait_until(
            lambda: processes_of(directory, running="org.apache.spark.deploy.master.Master"), "a master"
        )
        assert "ended its keeper" in make_cluster(directory).terminate()
        _, errors = starter.communicate(timeout=PATIENCE_SECONDS)
    assert starter.returncode == 1
    assert "ClusterStartError" in errors
    assert "SIGTERM" in errors
    assert processes_of(directory) == []
