from __future__ import annotations

import logging
import threading
from pathlib import Path

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle, Machine
from airflow_provider_ernest.documents import SAMPLE
from airflow_provider_ernest.eventlog import reading
from airflow_provider_ernest.operators import recording
from airflow_provider_ernest.operators.recording import capacity_of, keep_profile
from airflow_provider_ernest.spark.bandwidth import Bandwidth
from airflow_provider_ernest.store.store import ModelStore

LOG = logging.getLogger(__name__)
EVENT_LOGS = Path(__file__).parents[1] / "eventlog" / "event_logs"


@pytest.fixture
def event_log() -> Path:
    return EVENT_LOGS / "spark-4.0.1.zstd"


def keep(event_log, root, **changes):
    arguments = {"job": "enrich", "instance_type": "local", "purpose": SAMPLE, "scale": 0.1, **changes}
    keep_profile(event_log, store=str(root), log=LOG, **arguments)


def test_a_real_runs_profile_is_kept_with_what_it_read(event_log, tmp_path):
    keep(event_log, tmp_path, scale=0.25, iterations=3, artifact_sha256="ab" * 32)

    (record,) = ModelStore(tmp_path).profiles("enrich", "local")
    assert (record.purpose, record.artifact_sha256) == (SAMPLE, "ab" * 32)
    assert (record.profile.scale, record.profile.iterations) == (0.25, 3)
    assert record.profile.event_log == str(event_log)
    assert record.profile.stages
    assert record.profile.headline
    assert abs(record.profile.replay_error_percent) < 20


@pytest.mark.parametrize("without", [{"job": None}, {"event_log": None}])
def test_without_a_job_or_a_log_nothing_is_kept(event_log, tmp_path, without, caplog):
    keep(without.pop("event_log", event_log), tmp_path / "store", **without)

    assert not (tmp_path / "store").exists()
    assert not caplog.records


@pytest.mark.parametrize("content", [None, b"", b"no event\n", b"\x28\xb5\x2f\xfd broken"])
def test_a_log_that_cannot_be_read_is_a_warning_for_the_run_was_paid_for(tmp_path, content, caplog):
    log = tmp_path / "app-1"
    if content is not None:
        log.write_bytes(content)

    keep(log, tmp_path / "store")

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "Why the run took this long is not known" in caplog.text
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("is_read_already", [False, True])
def test_a_run_with_too_many_tasks_is_left_alone(event_log, tmp_path, monkeypatch, caplog, is_read_already):
    monkeypatch.setattr(recording, "MOST_TASKS", 3)

    read = reading.read_event_log(event_log) if is_read_already else None
    keep(event_log, tmp_path / "store", read=read)

    assert "more than 3 tasks" in caplog.text
    assert not (tmp_path / "store").exists()


def refused(event_log, *, most_tasks, most_seconds):
    assert most_seconds == recording.PROFILE_SECONDS, "what nobody waits for shall not go on"
    raise PermissionError(f"Access to {event_log} is refused")


def test_a_password_in_the_logs_address_is_in_no_warning(tmp_path, monkeypatch, caplog):
    ended = threading.Event()
    address = "nowhere://me:hunter2@host/app-7"
    keep(address, tmp_path / "store")
    monkeypatch.setattr(reading, "read_event_log", lambda log, **bounds: ended.wait())
    monkeypatch.setattr(recording, "PROFILE_SECONDS", 0.01)
    keep(address, tmp_path / "store")
    ended.set()
    monkeypatch.setattr(reading, "read_event_log", refused)
    keep(address, tmp_path / "store")

    assert caplog.text.count("nowhere://host/app-7") == 3
    assert "hunter2" not in caplog.text


def test_a_task_does_not_wait_for_ever(event_log, tmp_path, monkeypatch, caplog):
    """As where the log lies on storage that does not answer."""
    ended = threading.Event()
    monkeypatch.setattr(recording, "PROFILE_SECONDS", 0.01)
    monkeypatch.setattr(ModelStore, "save_profile", lambda self, record: ended.wait())

    keep(event_log, tmp_path)

    ended.set()
    assert "ernest analyze" in caplog.text


def cluster(*gigabytes_per_second: float | None) -> ClusterHandle:
    return ClusterHandle(
        kind="ec2",
        name="c",
        master_url="spark://10.0.0.1:7077",
        instance_type="m5.xlarge",
        cores_per_machine=4,
        machines=tuple(
            Machine(
                worker_id=f"w{place}",
                host=f"10.0.0.{place + 2}",
                cores=4,
                memory_megabytes=1000,
                bandwidth=Bandwidth(
                    memory_gigabytes_per_second=10.0, network_gigabytes_per_second=network, score=1.0
                ),
            )
            for place, network in enumerate(gigabytes_per_second)
        ),
    )


def test_what_the_probe_measured_is_the_capacity_of_a_machine():
    capacity = capacity_of(cluster(1.0, 1.2, 1.4))

    assert capacity is not None
    assert (capacity.cores, capacity.network_gigabytes_per_second, capacity.source) == (4, 1.2, "measured")


@pytest.mark.parametrize("handle", [None, cluster(None, None)])
def test_without_a_probe_of_the_network_nothing_is_made_up(handle):
    assert capacity_of(handle) is None
