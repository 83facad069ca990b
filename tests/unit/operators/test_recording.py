"""Records and profiles: what hinders them is a warning, and nothing waits long for them."""

from __future__ import annotations

import logging
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.documents.profiles import PRODUCTION, SAMPLE, ProfileRecord
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.operators import recording
from airflow_provider_ernest.operators.recording import keep_profile, median_bandwidth, network_capacity
from airflow_provider_ernest.spark.machines import Bandwidth
from airflow_provider_ernest.store.store import ModelStore
from tests import examples
from tests.unit.operators.submissions import handle

LOG = logging.getLogger(__name__)
EVENT_LOG = Path(__file__).parents[1] / "eventlog" / "event_logs" / "spark-4.0.1.zstd"
RUN = examples.observation(scale=0.25, instance_type="local", event_log=str(EVENT_LOG))


def keep(root, run=RUN, **changes):
    arguments = {"job": "enrich", "artifact_sha256": "ab" * 32, "iterations": 3, "capacity": None, **changes}
    keep_profile(run, read_event_log(EVENT_LOG), store=str(root), log=LOG, **arguments)


@pytest.mark.parametrize(
    ("run", "purpose"),
    [(RUN, SAMPLE), (examples.production_run(instance_type="local", scale=0.25), PRODUCTION)],
)
def test_a_real_runs_profile_is_kept_with_what_it_read(tmp_path, run, purpose):
    keep(tmp_path, run)

    (record,) = ModelStore(tmp_path).newest(ProfileRecord, "enrich", "local")
    assert (record.purpose, record.artifact_sha256) == (purpose, "ab" * 32)
    assert (record.profile.scale, record.profile.iterations) == (0.25, 3)
    assert record.profile.event_log == run.event_log
    assert record.profile.stages
    assert record.profile.headline
    assert abs(record.profile.replay_error_percent) < 20


def test_a_run_with_too_many_tasks_is_left_alone(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(recording, "MOST_TASKS", 3)
    keep(tmp_path / "store")

    assert "more than 3 tasks" in caplog.text
    assert not (tmp_path / "store").exists()


def test_a_profile_that_cannot_be_kept_is_a_warning_without_the_password_of_an_address(
    tmp_path, monkeypatch, caplog
):
    def refused(self, record):
        raise PermissionError(f"Access to {run.event_log} is refused")

    run = replace(RUN, event_log="nowhere://me:hunter2@host/app-7")
    monkeypatch.setattr(ModelStore, "save", refused)
    keep(tmp_path, run)
    ended = threading.Event()
    monkeypatch.setattr(recording, "PROFILE_SECONDS", 0.01)
    monkeypatch.setattr(ModelStore, "save", lambda self, record: ended.wait())
    keep(tmp_path, run)
    ended.set()

    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert caplog.text.count("Why the run took this long is not known") == 2
    assert caplog.text.count("nowhere://host/app-7") == 2
    assert "ernest analyze" in caplog.text, "where nobody waited for it"
    assert "hunter2" not in caplog.text


def probed(*gigabytes_per_second: float | None) -> ClusterHandle:
    cluster = ClusterHandle.from_dict(handle(machines=len(gigabytes_per_second), cores_per_machine=4))
    return replace(
        cluster,
        machines=tuple(
            replace(
                machine,
                bandwidth=Bandwidth(
                    memory_gigabytes_per_second=10.0, network_gigabytes_per_second=network, score=1.0
                ),
            )
            for machine, network in zip(cluster.machines, gigabytes_per_second, strict=True)
        ),
    )


def test_what_the_probe_measured_is_the_capacity_of_a_machine():
    capacity = network_capacity(4, median_bandwidth(probed(1.0, 1.2, 1.4).machines))
    assert (capacity.cores, capacity.network_gigabytes_per_second, capacity.source) == (4, 1.2, "measured")


@pytest.mark.parametrize("cluster", [probed(None, None), ClusterHandle.from_dict(handle())])
def test_without_a_probe_of_the_network_nothing_is_made_up(cluster):
    assert network_capacity(4, median_bandwidth(cluster.machines)) is None
