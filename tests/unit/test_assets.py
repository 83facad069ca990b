"""The asset of a job's code, as Airflow keeps and shares it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from airflow.sdk import DAG, Asset
from airflow.triggers.base import BaseEventTrigger

from airflow_provider_ernest.assets import application_changed
from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.triggers.jar_hash import JarHashTrigger
from tests.airflow_versions import DagSerialization


def shared(asset: Asset) -> tuple[str, str, int]:
    """What Airflow knows an asset and its trigger by."""
    (watcher,) = asset.watchers
    return asset.name, asset.uri, BaseEventTrigger.hash(*watcher.trigger.serialize())


def test_the_same_arguments_make_the_same_asset():
    one = application_changed("nightly", "/opt/job.jar", dependencies=["/opt/b.jar", "/opt/a.jar"])
    assert shared(one) == shared(
        application_changed("nightly", "/opt/job.jar", dependencies="/opt/a.jar, /opt/b.jar", poll_seconds=60)
    )


@pytest.mark.parametrize(
    "other",
    [
        application_changed("daily", "/opt/job.jar"),
        application_changed("nightly", "/opt/other.jar"),
        application_changed("nightly", "/opt/job.jar", dependencies=["/opt/a.jar"]),
    ],
)
def test_other_arguments_make_another_asset(other):
    one = application_changed("nightly", "/opt/job.jar")
    assert not set(shared(one)) & set(shared(other))


def test_how_often_it_looks_does_not_make_another_asset():
    often = application_changed("nightly", "/opt/job.jar", poll_seconds=1)
    assert (often.name, often.uri) == shared(application_changed("nightly", "/opt/job.jar"))[:2]
    trigger = often.watchers[0].trigger
    assert isinstance(trigger, JarHashTrigger)
    assert trigger.poll_seconds == 1.0


def test_its_name_and_address_hold_no_credentials_and_any_job(recwarn):
    asset = application_changed("x/ü: ?#", "https://me:hush@host/job.jar?sig=hush")
    assert "hush" not in f"{asset.name} {asset.uri} {asset.extra}"
    assert asset.name.isascii()
    assert asset.uri.isascii()
    assert not recwarn.list


def test_a_dag_that_it_schedules_can_be_kept_in_the_database():
    asset = application_changed("nightly", "/opt/job.jar", dependencies=["/opt/a.jar"])
    with DAG("retrain", schedule=[asset]) as dag:
        pass
    kept = DagSerialization.to_dict(dag)
    assert JarHashTrigger.__qualname__ in json.dumps(kept["dag"]["timetable"])
    DagSerialization.from_dict(kept)


def test_what_only_the_machines_have_is_refused_where_the_dag_is_written():
    with pytest.raises(InvalidParameterError, match=r"cluster's machines"):
        application_changed("nightly", "local:///opt/job.jar")


def test_a_dag_file_loads_nothing_heavy_for_it():
    program = (
        "import airflow.triggers.base, sys; from airflow.sdk import Asset, AssetWatcher, BaseSensorOperator;"
        "before = set(sys.modules);"
        "from airflow_provider_ernest.assets import application_changed;"
        "from airflow_provider_ernest.sensors.jar_hash import JarHashSensor;"
        "application_changed('nightly', '/opt/job.jar');"
        "JarHashSensor(task_id='wait', application='/opt/job.jar', job='nightly');"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = ("numpy", "scipy", "pandas", "boto3", "botocore", "pyspark", "fsspec", "aiohttp", "msgspec")
    loaded = [name for name in done.stdout.split() if not name.startswith("airflow_provider_ernest")]
    assert not [name for name in loaded if name.startswith(heavy)], loaded
    assert "airflow_provider_ernest.store.store" not in done.stdout
