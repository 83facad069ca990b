"""Runs that lost a machine: seen in the log of a finished run, and in one that is still being written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_ernest.documents import Experiment
from airflow_provider_ernest.eventlog.reading import EventLogProgress
from airflow_provider_ernest.eventlog.run_facts import read_run, require_all_kept
from airflow_provider_ernest.exceptions import SampleRunError
from airflow_provider_ernest.spark.observing import observe
from airflow_provider_ernest.spark.sampling import Sample

REASON = "Worker shutting down.\n"
END = {"Event": "SparkListenerApplicationEnd", "Timestamp": 160_000}


def added(number: int) -> dict[str, Any]:
    return {
        "Event": "SparkListenerExecutorAdded",
        "Timestamp": 103_000,
        "Executor ID": str(number),
        "Executor Info": {
            "Host": f"10.0.0.{number}",
            "Total Cores": 1,
            "Log Urls": {"stderr": f"http://10.0.0.{number}:8081/logPage/?executorId={number}"},
        },
    }


def removed(number: int, *, at: int = 130) -> dict[str, Any]:
    return {
        "Event": "SparkListenerExecutorRemoved",
        "Timestamp": 1000 * at,
        "Executor ID": str(number),
        "Removed Reason": REASON,
    }


def write(directory: Path, *events: dict[str, Any]) -> Path:
    log = directory / "app-1"
    start = {"Event": "SparkListenerApplicationStart", "App Name": "job", "App ID": "app-1", "Timestamp": 1}
    lines = [json.dumps(event, separators=(",", ":")) for event in (start, *events)]
    log.write_text("\n".join(lines) + "\n")
    return log


def observed(directory: Path):
    observation, _ = observe(
        Experiment(index=0, machines=2, scale=0.1, partitions=4),
        Sample(input="in", scale=0.1, machines=2, partitions=4),
        directory,
        instance_type="local",
        submitted_at=90.0,
        waited_seconds=0.0,
    )
    return observation


@pytest.mark.parametrize("replaced", [[], [added(3)]], ids=["not replaced", "replaced"])
def test_a_lost_machine_makes_the_time_no_measurement(tmp_path, replaced):
    write(tmp_path, added(1), added(2), removed(2), *replaced, END)
    with pytest.raises(
        SampleRunError,
        match=r"app-1 lost executor 2 on machine 10\.0\.0\.2:8081 \(Worker shutting down\): its time is no",
    ) as told:
        observed(tmp_path)
    assert told.value.retryable


def test_executors_that_go_after_the_end_are_not_lost(tmp_path):
    log = write(tmp_path, added(1), added(2), END, removed(1), removed(2))
    assert observed(tmp_path).seconds == pytest.approx(57)
    progress = EventLogProgress()
    progress.read(log)
    assert progress.lost is None


def test_executors_that_never_started_are_not_lost(tmp_path):
    """Spark starts another one in their place, before the run's time begins to count."""
    log = write(tmp_path, removed(0), added(1), added(2), END)
    assert observed(tmp_path).seconds == pytest.approx(57)
    progress = EventLogProgress()
    progress.read(log)
    assert progress.lost is None


def test_all_losses_are_named(tmp_path):
    run = read_run(write(tmp_path, added(1), added(2), removed(2, at=130), removed(1, at=131), END))
    with pytest.raises(SampleRunError, match=r"executor 2 on .* and executor 1 on"):
        require_all_kept(run)


def test_a_loss_is_seen_while_the_log_is_written(tmp_path):
    progress = EventLogProgress()
    log = write(tmp_path, added(1), added(2))
    progress.read(log)
    assert progress.lost is None
    with log.open("a") as more:
        more.write(json.dumps(removed(2), separators=(",", ":")))
        more.flush()
        progress.read(log)
        assert progress.lost is None, "the line is not whole yet"
        more.write("\n")
    progress.read(log)
    assert str(progress.lost) == "executor 2 on machine 10.0.0.2:8081 (Worker shutting down)"
    assert progress.executors == 2
