"""The operator of EMR, through the amazon provider's connection; moto answers."""

from __future__ import annotations

import json

import boto3
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException
from moto import mock_aws

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.emr import steps
from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from airflow_provider_ernest.exceptions import ClusterStartError, InvalidParameterError
from airflow_provider_ernest.operators.cluster import EmrJobFlowOperator
from tests.unit.clusters.emr.conftest import started

SPEC = {
    "machines": 3,
    "instance_type": "m5.xlarge",
    "release_label": "emr-7.5.0",
    "event_log_uri": "s3://ernest-logs/spark",
}


@pytest.fixture(autouse=True)
def job_flow_id(monkeypatch):
    """Of one that somebody has started."""
    extra = {"region_name": "eu-west-1"}
    login = {"conn_type": "aws", "login": "testing", "password": "testing", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DATA", json.dumps(login))
    key = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
    with mock_aws():
        yield started(boto3.client("emr", "eu-west-1", **key))


def operator(spec, **changes) -> EmrJobFlowOperator:
    return EmrJobFlowOperator(task_id="cluster", spec=spec, **{"aws_conn_id": "aws_data", **changes})


@pytest.mark.parametrize("kind", [dict, EmrJobFlow])
def test_it_is_found_through_its_connection(context, job_flow_id, kind):
    handle = ClusterHandle.from_dict(operator(kind(**SPEC, job_flow_id=job_flow_id)).execute(context))

    assert (handle.kind, handle.region, handle.aws_conn_id) == ("emr", "eu-west-1", "aws_data")
    assert (handle.name, len(handle.machines)) == (job_flow_id, 3)


@pytest.mark.parametrize(
    ("changes", "options", "named"),
    [
        ({"release_label": "emr-6.1.0"}, {}, r"emr-6.1.0"),
        ({}, {"aws_conn_id": "nowhere"}, r"no Airflow connection 'nowhere'"),
        (
            {"job_flow_id": None, "job_flow": {"AutoTerminationPolicy": {"IdleTimeout": 60}}},
            {},
            "names no job",
        ),
    ],
)
def test_what_cannot_work_is_not_retried(context, job_flow_id, changes, options, named):
    with pytest.raises(AirflowFailException, match=named):
        operator({**SPEC, "job_flow_id": job_flow_id, **changes}, **options).execute(context)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"machines": "many"}, r"machines='many' is not a finite number"),
        ({"market": "spot"}, r"spec='market' is unknown"),
    ],
)
def test_what_cannot_work_is_refused_with_the_dag_file_and_when_it_is_rendered(context, changes, named):
    with pytest.raises(InvalidParameterError, match=named):
        operator({**SPEC, "job_flow_id": "j-1", **changes})
    looking = operator({**SPEC, "job_flow_id": "j-1"})
    looking.spec = {**SPEC, "job_flow_id": "j-1", **changes}
    with pytest.raises(AirflowFailException, match=named):
        looking.execute(context)


def test_a_template_is_left_for_the_task_and_checked_there(context, job_flow_id):
    looking = operator({**SPEC, "job_flow_id": "{{ params.id }}", "machines": "{{ params.machines }}"})
    looking.render_template_fields({**context, "params": {"machines": 3, "id": job_flow_id}})
    assert len(looking.execute(context)["machines"]) == 3
    with pytest.raises(AirflowFailException, match=r"machines=.* is still a template"):
        operator({**SPEC, "job_flow_id": job_flow_id, "machines": "{{ params.machines }}"}).execute(context)


def test_a_killed_task_waits_no_longer(context, monkeypatch):
    looking = operator({**SPEC, "job_flow_id": "j-1"})
    monkeypatch.setattr(steps, "describe", lambda *_: looking.on_kill() or _starting())
    with pytest.raises(ClusterStartError, match="task was ended"):
        looking.execute(context)


def _starting() -> steps.JobFlow:
    return steps.JobFlow({"Id": "j-1", "Status": {"State": "STARTING"}}, as_of=None)
