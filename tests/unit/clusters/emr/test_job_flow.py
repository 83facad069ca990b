"""A job flow that somebody else starts: waited for, told apart, described, and left alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from airflow_provider_ernest.clusters.base import ClusterHandle, terminate
from airflow_provider_ernest.clusters.emr.steps import look_up
from airflow_provider_ernest.exceptions import (
    ClusterLostError,
    ClusterStartError,
    InvalidParameterError,
    MissingResourceError,
)

from .conftest import REQUEST, job_flow, specification, started, throttled


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch):
    monkeypatch.setattr("airflow_provider_ernest.clusters.emr.steps.START_POLL_SECONDS", 0.01)


def test_what_is_found_is_handed_over_and_left_alone(emr):
    before = datetime.now(UTC)
    spec = specification(started(emr), price_per_hour=0.24, python="python3.11")
    handle = look_up(spec, emr=emr, aws_conn_id="aws_data")

    assert (handle.kind, handle.name, handle.master_url) == ("emr", spec.job_flow_id, "yarn")
    assert len({machine.instance_id for machine in handle.machines}) == 3
    assert all(machine.host for machine in handle.machines)
    assert handle.master is not None
    assert handle.master.instance_id not in {machine.instance_id for machine in handle.machines}
    assert handle.cores_per_machine == 4
    # m5.xlarge has 16 GB, of which EMR's documentation gives YARN 12 GB: heap, a tenth of it, and 1 GB.
    assert 12288 / 2 < handle.machines[0].memory_megabytes * 1.1 <= 12288 - 1024
    assert handle.spark_conf()["spark.executor.memory"] == f"{handle.machines[0].memory_megabytes}m"
    assert handle.spark_conf()["spark.pyspark.python"] == "python3.11"
    assert handle.price_per_hour == pytest.approx(0.24)
    assert (handle.aws_conn_id, handle.region) == ("aws_data", "eu-west-1")
    expires_in = datetime.fromisoformat(handle.expires_at) - before
    assert expires_in.total_seconds() == pytest.approx(7200, abs=60)
    assert ClusterHandle.from_dict(handle.to_dict()) == handle

    assert terminate(handle, clusters=Path(), client=None).startswith("nothing to do")
    assert emr.describe_cluster(ClusterId=handle.name)["Cluster"]["Status"]["State"] == "WAITING"


def test_it_is_the_clock_of_aws_that_counts(emr, monkeypatch):
    class Wrong(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=3)

    monkeypatch.setattr("airflow_provider_ernest.clusters.emr.steps.datetime", Wrong)
    handle = look_up(specification(started(emr)), emr=emr)
    life = datetime.fromisoformat(handle.expires_at) - datetime.now(UTC)
    assert abs(life - timedelta(seconds=7200)) < timedelta(seconds=60)


def test_it_is_waited_for(emr):
    spec = specification(started(emr))
    emr.answers["describe_cluster"] = [
        job_flow("STARTING"),
        throttled("DescribeCluster"),
        job_flow("BOOTSTRAPPING"),
    ]
    assert look_up(spec, emr=emr).name == spec.job_flow_id


def test_one_that_fails_to_start_says_why_in_the_words_of_emr(emr):
    reason = {"Code": "BOOTSTRAP_FAILURE", "Message": "On the master instance, bootstrap action 1 failed"}
    emr.answers["describe_cluster"] = [
        job_flow("STARTING"),
        job_flow("TERMINATED_WITH_ERRORS", reason=reason),
    ]
    with pytest.raises(
        ClusterStartError, match=r"BOOTSTRAP_FAILURE: On the master.*logs below s3://ernest-logs/emr/"
    ):
        look_up(specification(), emr=emr)


def test_waiting_has_an_end(emr):
    emr.answers["describe_cluster"] = [job_flow("STARTING")] * 99
    with pytest.raises(ClusterStartError, match=r"not ready after .*\(last: STARTING\).*start_timeout"):
        look_up(specification(start_timeout_seconds=0.2), emr=emr)


@pytest.mark.parametrize(
    ("request_changes", "stated", "error", "named"),
    [
        ({}, {"machines": 4}, ClusterLostError, "has 3 core instances, and machines=4"),
        (
            {},
            {"instance_type": "m5.large"},
            InvalidParameterError,
            r"m5.large' is not what .* has: m5.xlarge",
        ),
        (
            {},
            {"release_label": "emr-6.1.0"},
            InvalidParameterError,
            r"emr-6.1.0' is not that of .* emr-7.5.0",
        ),
        (
            {"StepConcurrencyLevel": 2},
            {},
            InvalidParameterError,
            "runs 2 steps at once: .* StepConcurrencyLevel",
        ),
    ],
)
def test_another_one_than_stated_is_refused(emr, request_changes, stated, error, named):
    spec = specification(started(emr, **request_changes), **stated)
    with pytest.raises(error, match=named):
        look_up(spec, emr=emr)


def test_instance_fleets_are_refused(emr):
    described = job_flow("WAITING")
    described["Cluster"]["InstanceCollectionType"] = "INSTANCE_FLEET"
    emr.answers["describe_cluster"] = [described]
    with pytest.raises(InvalidParameterError, match="has instance fleets"):
        look_up(specification(), emr=emr)


@pytest.mark.parametrize(
    ("code", "error", "named"),
    [
        ("InvalidRequestException", InvalidParameterError, r"job flow j-1 of EMR in eu-west-1.*was refused"),
        ("AccessDenied", MissingResourceError, r"AWS refused to look up the job flow"),
    ],
)
def test_what_emr_refuses_is_an_error_of_ours(emr, code, error, named):
    emr.answers["describe_cluster"] = [throttled("DescribeCluster", code)]
    with pytest.raises(error, match=named):
        look_up(specification(), emr=emr)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machines": 0}, r"machines=0 is not a number of at least 1"),
        ({"time_to_live_seconds": float("nan")}, r"time_to_live_seconds=nan"),
        ({"price_per_hour": 0}, r"price_per_hour=0 is not above 0"),
        ({"instance_type": ""}, r"instance_type='' is not a text of one line"),
        ({"event_log_uri": "/var/log"}, r"event_log_uri='/var/log' is not a folder on S3.*s3://BUCKET"),
        ({"event_log_uri": "s3://bucket/a b; rm"}, r"event_log_uri=.*is not a folder on S3"),
        ({"event_log_uri": "s3://b/l"}, r"event_log_uri='s3://b/l' is not a folder on S3.*3 to 63"),
        ({"job_flow_id": "j-1\nx"}, r"job_flow_id=.* is not a text of one line"),
        ({"job_flow_id": None}, r"job_flow_id=None and job_flow are both given, or neither"),
        ({"job_flow": REQUEST}, r"job_flow_id='j-1' and job_flow are both given"),
        (
            {"job_flow_id": None, "job_flow": {**REQUEST, "AutoTerminationPolicy": {}}},
            r"has no AutoTerminationPolicy, without which a forgotten job flow would run on",
        ),
    ],
)
def test_what_cannot_work_is_refused(changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        specification(**changes)
