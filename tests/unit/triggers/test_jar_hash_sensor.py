"""The sensor in its two modes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowSensorTimeout,
    AirflowSkipException,
)

from airflow_provider_ernest.sensors import jar_hash
from airflow_provider_ernest.sensors.jar_hash import JarHashSensor
from airflow_provider_ernest.spark import artifact
from airflow_provider_ernest.spark.artifact import combined_sha256
from tests.unit.triggers.applications import JOB, deploy, sha256, trained

try:
    from airflow.sdk.exceptions import AirflowRescheduleException
except ImportError:  # before Airflow 3.2
    from airflow.exceptions import AirflowRescheduleException


@pytest.fixture
def sensor(jar, store):
    def sensor(**changes: Any) -> JarHashSensor:
        arguments = {
            "task_id": "wait",
            "application": str(jar),
            "job": JOB,
            "poke_interval": 0.01,
        }
        return JarHashSensor(**{**arguments, **changes})

    return sensor


@pytest.fixture
def context() -> dict[str, Any]:
    return {"ti": SimpleNamespace(get_first_reschedule_date=lambda _: None)}


def test_poking_it_waits_until_the_application_is_another(sensor, store, jar, context, monkeypatch):
    trained(store, b"first")
    pokes = []
    poke = JarHashSensor.poke

    def counted(self: JarHashSensor, context: Any) -> Any:
        pokes.append(1)
        if len(pokes) == 3:
            deploy(jar, b"second")
        return poke(self, context)

    monkeypatch.setattr(JarHashSensor, "poke", counted)
    result = sensor().execute(context)
    assert result["sha256"] == sha256(b"second")
    assert len(pokes) == 3


def test_rescheduled_it_looks_again_in_a_new_process(sensor, store, jar, context):
    trained(store, b"first")
    for _ in range(2):
        with pytest.raises(AirflowRescheduleException):
            sensor(mode="reschedule").execute(context)
    deploy(jar, b"second")
    assert sensor(mode="reschedule").execute(context)["sha256"] == sha256(b"second")


def test_a_file_that_does_not_settle_is_left_to_the_next_poke(sensor, store, context, monkeypatch):
    trained(store, b"first")
    waits: list[float] = []
    monkeypatch.setattr(jar_hash.time, "sleep", waits.append)
    monkeypatch.setattr(artifact, "SETTLE_SECONDS", 3600.0)
    assert not sensor().poke(context)
    assert waits == [3600.0] * 4


def test_it_times_out_as_all_sensors_do(sensor, store, context):
    trained(store, b"first")
    with pytest.raises(AirflowSensorTimeout):
        sensor(timeout=0).execute(context)
    with pytest.raises(AirflowSkipException):
        sensor(timeout=0, soft_fail=True).execute(context)


def test_what_waiting_cannot_mend_fails_at_once(sensor, context):
    with pytest.raises(AirflowFailException, match=r"cluster's machines"):
        sensor(application="local:/opt/job.jar").execute(context)
    with pytest.raises(AirflowSkipException):
        sensor(application="local:/opt/job.jar", soft_fail=True).execute(context)
    with pytest.raises(AirflowFailException, match=r"unheard-of") as failure:
        sensor(application="unheard-of://me:hush-1@host/job.jar").execute(context)
    assert "hush" not in str(failure.value)


def test_fields_that_jinja_renders_to_texts_count_for_what_they_mean(sensor, jar, context, monkeypatch):
    monkeypatch.setenv("AIRFLOW_HOME", str(jar.parent))
    library = jar.with_name("library.jar")
    library.write_bytes(b"1")
    waiting = sensor(dependencies=f"{library},")
    assert set(waiting.template_fields) >= {"application", "dependencies", "job"}
    both = combined_sha256([sha256(b"first"), sha256(b"1")])
    assert waiting.execute(context)["sha256"] == both
