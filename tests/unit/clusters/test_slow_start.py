"""A busy host is no broken one: a start is waited for while it goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from airflow_provider_ernest.clusters import keeper as keeper_module
from airflow_provider_ernest.clusters.keeper import Daemon, Keeper
from airflow_provider_ernest.clusters.local import (
    ClusterDirectory,
    ClusterState,
    KeeperOrder,
    Patience,
    busy_host,
)
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.processes import ProcessIdentity, cpu_seconds


@pytest.fixture
def clock():
    return SimpleNamespace(now=0.0)


def test_what_goes_on_is_waited_for_and_what_stands_still_is_not(clock):
    patience = Patience(10.0, clock=lambda: clock.now)

    for clock.now in (5.0, 14.0, 23.0, 32.0):
        assert not patience.is_over(("goes on", clock.now))
    clock.now = 41.0
    assert not patience.is_over(("goes on", 32.0))
    clock.now = 42.0
    assert patience.is_over(("goes on", 32.0))


def test_nothing_is_waited_for_for_ever(clock):
    patience = Patience(10.0, clock=lambda: clock.now)

    for clock.now in range(50):
        assert not patience.is_over(clock.now)
    clock.now = 50.0
    assert patience.is_over(50)


def test_a_process_that_starts_shows_by_its_processor_time():
    program = "input(); sum(range(5_000_000)); print(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        before = cpu_seconds(process.pid)
        process.stdin.write("\n")
        process.stdin.flush()
        process.stdout.readline()
        assert cpu_seconds(process.pid) > before
        process.kill()
    assert cpu_seconds(process.pid) == 0.0


def test_a_busy_host_is_named_with_its_figures(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (9.27, 1.0, 1.0))
    spec = LocalClusterSpec(machines=6)
    state = ClusterState(keeper=ProcessIdentity.of(os.getpid()), spec=spec, workers_registered=1)

    said = state.progress(125.0)

    assert said == ("workers registered 1 of 6 after 2 min 5 s (this host is busy: a load of 9.3 on 2 cores)")
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 9.0, 9.0))
    assert busy_host() == ""


@pytest.fixture
def keeper(tmp_path, monkeypatch):
    """Of a cluster of six workers whose processes are stand-ins that just wait."""
    directory = ClusterDirectory(tmp_path / "cluster")
    directory.create()
    starter = ProcessIdentity.of(os.getpid())
    spec = LocalClusterSpec(machines=6, start_timeout_seconds=0.01)
    kept = Keeper(
        KeeperOrder(name="test", spec=spec, java="java", spark_home="/spark", starter=starter), directory
    )
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(keeper_module, "_START_POLL_SECONDS", 0.0)
    return kept


class Launcher:
    """Starts processes that wait, and counts them."""

    def __init__(self) -> None:
        self.started: list[Daemon] = []

    def start_worker(self, index: int, master_url: str) -> Daemon:
        process = subprocess.Popen(["sleep", "600"])
        daemon = Daemon(f"worker-{index}", f"127.0.1.{index}", process, None)
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
    keeper._patience = Patience(600.0)
    registered: list[SimpleNamespace] = []
    starting: list[int] = []

    def read_state(*_args, **_kwargs):
        starting.append(len(launcher.started) - len(registered))
        registered.append(SimpleNamespace(host=launcher.started[len(registered)].host))
        return SimpleNamespace(machines=tuple(registered))

    monkeypatch.setattr(keeper_module, "read_state", read_state)

    workers, _ = keeper._start_workers(launcher, "spark://127.0.0.1:7077")

    assert len(workers) == 6
    assert max(starting) == 2
