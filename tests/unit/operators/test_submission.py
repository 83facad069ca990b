"""Which way a run goes to its cluster, and with which Spark properties."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import boto3
import pytest
from moto import mock_aws

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.emr.steps import StepRun
from airflow_provider_ernest.clusters.local import ClusterDirectory
from airflow_provider_ernest.exceptions import ClusterLostError, InvalidParameterError
from airflow_provider_ernest.operators import locations
from airflow_provider_ernest.operators.sample_run import DriverSubmission, RunRequest, submission
from airflow_provider_ernest.spark.run_watch import RunLimits
from tests import examples
from tests.unit.clusters.emr.conftest import started

LOG = logging.getLogger("test")


def handle(kind: str, **changes: Any) -> ClusterHandle:
    each = {"memory_megabytes": 2048}
    return examples.cluster(
        3, each=each, **{"kind": kind, "name": "c", "instance_type": "m5.large", **changes}
    )


@pytest.fixture
def request_for(tmp_path):
    def make(**changes: Any) -> RunRequest:
        fields = {
            "name": "ernest-sample-3",
            "application": "job.py",
            "application_args": ["a b"],
            "machines": 2,
            "cores_per_machine": 2,
            "directory": tmp_path,
            "limits": RunLimits(wait_seconds=60.0),
            "conf": {"spark.sql.shuffle.partitions": "8"},
            **changes,
        }
        return RunRequest(**fields)

    return make


def hook_of(submitted: Any) -> Any:
    assert isinstance(submitted, DriverSubmission)
    return submitted._hook


def command(submitted: Any) -> list[str]:
    return hook_of(submitted)._build_spark_submit_command("job.py")


def conf(submitted: Any) -> dict[str, str]:
    parts = command(submitted)
    return dict(parts[at + 1].split("=", 1) for at, part in enumerate(parts) if part == "--conf")


def test_a_local_cluster_is_reached_by_its_address_with_its_secret(request_for, tmp_path, monkeypatch):
    monkeypatch.setenv("AIRFLOW__ERNEST__CLUSTERS", str(tmp_path))
    directory = ClusterDirectory(tmp_path / "here")
    directory.create()
    directory.write_secret("0f" * 32, defaults="")
    cluster = handle("local", directory=str(directory.path), authenticates=True)
    submitted = submission(cluster, spark_conn_id=None, request=request_for(), log=LOG)

    assert command(submitted)[1:3] == ["--master", "spark://127.0.0.1:7077"]
    assert command(submitted)[-2:] == ["job.py", "a b"]
    told = conf(submitted)
    assert told["spark.cores.max"] == "4"
    assert told["spark.executor.memory"] == "2048m"
    assert told["spark.sql.shuffle.partitions"] == "8"
    assert told["spark.eventLog.dir"] == str(tmp_path)
    assert told["spark.driver.host"] == "127.0.0.1"
    assert told["spark.ui.enabled"] == "false"
    assert hook_of(submitted)._env == {"SPARK_LOCAL_IP": "127.0.0.1"}
    assert hook_of(submitted)._secret == "0f" * 32

    directory.clear()
    with pytest.raises(ClusterLostError, match=r"Cluster c has ended"):
        submission(cluster, spark_conn_id=None, request=request_for(), log=LOG)


def test_a_cluster_on_ec2_gets_its_secret_and_the_way_back(request_for, monkeypatch):
    monkeypatch.setattr(locations, "cluster_secret", lambda asked: f"secret of {asked.name}")
    cluster = handle("ec2", authenticates=True, encrypts=True, python="python3.11")
    submitted = submission(cluster, spark_conn_id=None, request=request_for(), log=LOG)

    told = conf(submitted)
    assert told["spark.authenticate"] == "true"
    assert told["spark.network.crypto.enabled"] == "true"
    assert told["spark.pyspark.python"] == "python3.11"
    assert told["spark.pyspark.driver.python"] == sys.executable
    assert told["spark.driver.host"] == "127.0.0.1", "the address of the route to the master"
    assert hook_of(submitted)._secret == "secret of c"
    assert "secret of c" not in " ".join(command(submitted))


def test_what_the_job_sets_wins_over_the_cluster_but_not_over_the_experiment(request_for):
    own = {"spark.executor.memory": "1g", "spark.driver.host": "127.0.0.9", "spark.cores.max": "99"}
    own |= {"spark.ui.enabled": "true"}
    submitted = submission(handle("ec2"), spark_conn_id=None, request=request_for(conf=own), log=LOG)

    told = conf(submitted)
    assert told["spark.executor.memory"] == "1g"
    assert told["spark.driver.host"] == "127.0.0.9"
    assert told["spark.cores.max"] == "4"
    assert told["spark.ui.enabled"] == "false"


@pytest.mark.parametrize("with_handle", [True, False])
def test_an_existing_cluster_is_reached_by_its_connection(request_for, monkeypatch, with_handle):
    fields = {"conn_type": "spark", "host": "yarn", "extra": {"queue": "nightly"}}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_THERE", json.dumps(fields))
    cluster = handle("existing", spark_conn_id="spark_there", master_url="yarn") if with_handle else None

    submitted = submission(cluster, spark_conn_id="spark_there", request=request_for(), log=LOG)

    parts = command(submitted)
    assert parts[parts.index("--master") + 1] == "yarn"
    assert parts[parts.index("--queue") + 1] == "nightly"
    assert conf(submitted)["spark.executor.instances"] == "2"
    assert ("spark.executor.memory" in conf(submitted)) == with_handle


@pytest.mark.parametrize(
    ("fields", "options"),
    [({"extra": {"deploy-mode": "cluster"}}, {}), ({}, {"deploy_mode": "cluster"})],
)
def test_a_driver_that_would_run_elsewhere_is_refused(request_for, monkeypatch, fields, options):
    monkeypatch.setenv(
        "AIRFLOW_CONN_SPARK_THERE", json.dumps({"conn_type": "spark", "host": "yarn", **fields})
    )
    with pytest.raises(InvalidParameterError, match=r"deploy_mode='cluster' puts the driver where"):
        submission(None, spark_conn_id="spark_there", request=request_for(options=options), log=LOG)


@pytest.fixture
def emr(monkeypatch):
    login = {"conn_type": "aws", "login": "testing", "password": "testing"}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DATA", json.dumps(login))
    with mock_aws():
        yield boto3.client("emr", "eu-west-1", aws_access_key_id="testing", aws_secret_access_key="testing")


def on_emr(emr: Any) -> ClusterHandle:
    return handle(
        "emr",
        name=started(emr),
        master_url="yarn",
        directory="s3://ernest-logs/spark",
        aws_conn_id="aws_data",
        region="eu-west-1",
        expires_at="2126-01-01T00:00:00+00:00",
    )


def test_a_run_on_emr_is_a_step_of_its_job_flow(request_for, emr):
    """That its three machines are noticed shows that it was asked, through its connection."""
    submitted = submission(on_emr(emr), spark_conn_id=None, request=request_for(machines=4), log=LOG)

    assert isinstance(submitted, StepRun)
    with pytest.raises(ClusterLostError, match=r"needs 4 machines; job flow j-\w+ has 3"):
        submitted.run("s3://code/job.py")
