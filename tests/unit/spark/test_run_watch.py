"""A run whose cluster shrinks below what it needs, before it has got its machines."""

from __future__ import annotations

import logging
import threading

import pytest

from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark import run_watch
from airflow_provider_ernest.spark.master import MasterState, RegisteredWorker
from airflow_provider_ernest.spark.run_watch import RunLimits, RunWatch, require_workers


class Master:
    """A standalone master with workers that can be lost."""

    def __init__(self) -> None:
        self.alive = [True, True, True]

    def state(self, web_url: str, *, timeout_seconds: float) -> MasterState:
        workers = tuple(
            RegisteredWorker(
                id=f"w{number}", host=f"10.0.0.{number}", port=1, cores=2, memory_megabytes=512, alive=alive
            )
            for number, alive in enumerate(self.alive)
        )
        return MasterState(master_url="spark://m:7077", workers=workers, applications=())


@pytest.fixture
def master(monkeypatch) -> Master:
    master = Master()
    monkeypatch.setattr(run_watch, "read_state", master.state)
    monkeypatch.setattr(run_watch, "POLL_SECONDS", 0.01)
    return master


def test_a_waiting_run_ends_when_its_machines_are_lost(master, tmp_path):
    ended = threading.Event()
    watch = RunWatch(
        directory=tmp_path,
        machines=3,
        cores=6,
        web_url="http://m:8080",
        limits=RunLimits(wait_seconds=3600),
        end=ended.set,
        log=logging.getLogger("test"),
    )
    with watch:
        master.alive[1] = False
        assert ended.wait(30)
    assert watch.ended_because.startswith("it waits for 3 machines, and 2 of the cluster are still alive")


def test_a_run_is_not_submitted_to_too_few_machines(master):
    require_workers("http://m:8080", 3)
    master.alive[1] = False
    require_workers("http://m:8080", 2)
    with pytest.raises(
        ClusterLostError, match=r"needs 3 machines.*http://m:8080 2 are alive \(lost: 10.0.0.1\).*spot"
    ) as told:
        require_workers("http://m:8080", 3)
    assert told.value.retryable
