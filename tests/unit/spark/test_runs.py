"""A run whose cluster shrinks below what it needs, before it has got its machines."""

from __future__ import annotations

import logging
import threading

import pytest

from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark import runs
from airflow_provider_ernest.spark.runs import RunLimits, RunRequest, RunWatch, require_workers
from tests.unit.spark_masters import master_state

HOSTS = ("10.0.0.0", "10.0.0.1", "10.0.0.2")


@pytest.fixture
def lost(monkeypatch) -> list[str]:
    """Hosts whose workers the master has lost."""
    lost: list[str] = []
    monkeypatch.setattr(runs, "read_state", lambda *_, **__: master_state(HOSTS, lost=lost))
    monkeypatch.setattr(runs, "POLL_SECONDS", 0.01)
    return lost


def test_a_waiting_run_ends_when_its_machines_are_lost(lost, tmp_path):
    ended = threading.Event()
    request = RunRequest(
        name="sample",
        owner="5f2a",
        application="job.py",
        application_args=[],
        executors=3,
        executor_cores=2,
        directory=tmp_path,
        limits=RunLimits(wait_seconds=3600),
    )
    watch = RunWatch(
        request,
        web_url="http://m:8080",
        end=ended.set,
        log=logging.getLogger("test"),
    )
    with watch:
        lost.append("10.0.0.1")
        assert ended.wait(30)
    assert watch.ended_because.startswith("it waits for 3 machines, and 2 of the cluster are still alive")


def test_a_run_is_not_submitted_to_too_few_machines(lost):
    require_workers("http://m:8080", 3)
    lost.append("10.0.0.1")
    require_workers("http://m:8080", 2)
    with pytest.raises(
        ClusterLostError, match=r"needs 3 machines.*http://m:8080 2 are alive \(lost: 10.0.0.1\).*spot"
    ) as told:
        require_workers("http://m:8080", 3)
    assert told.value.retryable
