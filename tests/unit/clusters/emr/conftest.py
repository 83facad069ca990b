from __future__ import annotations

from collections.abc import Callable
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from airflow_provider_ernest.clusters.emr.spec import EmrJobFlow
from tests.unit.iam_policy import DEPLOYMENT

REGION = "eu-west-1"
BUCKET = "ernest-logs"


class FakeClient:
    """moto's client of EMR, with answers of our own where moto knows no waiting, failing or cancelling.

    Each entry of `answers` is a list of what the next calls of that name return or raise; then moto answers.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.answers: dict[str, list[Any]] = {"cancel_steps": [{}] * 9}
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if not callable(attribute) or name in ("get_paginator", "can_paginate"):
            return attribute

        def call(**arguments: Any) -> Any:
            self.calls.append((name, arguments))
            if not self.answers.get(name):
                return attribute(**arguments)
            answer = self.answers[name].pop(0)
            if callable(answer):
                answer = answer(**arguments)
            if isinstance(answer, BaseException):
                raise answer
            return answer

        return call

    def called(self, name: str) -> list[dict[str, Any]]:
        return [arguments for called, arguments in self.calls if called == name]


@pytest.fixture
def emr(aws: None) -> FakeClient:
    return FakeClient(boto3.client("emr", region_name=REGION))


@pytest.fixture
def s3(aws: None) -> Any:
    client = boto3.client("s3", region_name=REGION)
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    return client


@pytest.fixture
def clients(emr: FakeClient, s3: Any) -> Callable[[str], Any]:
    return {"emr": emr, "s3": s3}.__getitem__


REQUEST: dict[str, Any] = {
    "Name": "sample runs",
    "ReleaseLabel": "emr-7.5.0",
    "LogUri": f"s3://{BUCKET}/emr/",
    "Applications": [{"Name": "Spark"}],
    "ServiceRole": "EMR_DefaultRole",
    "JobFlowRole": "EMR_EC2_DefaultRole",
    "Instances": {
        "InstanceGroups": [
            {"InstanceRole": "MASTER", "InstanceType": "m5.xlarge", "InstanceCount": 1},
            {"InstanceRole": "CORE", "InstanceType": "m5.xlarge", "InstanceCount": 3},
        ],
        "KeepJobFlowAliveWhenNoSteps": True,
    },
    "AutoTerminationPolicy": {"IdleTimeout": 900},
    "Tags": [{"Key": "ernest:deployment", "Value": DEPLOYMENT}],
}
"""What a job flow of somebody else's is started with."""


def specification(job_flow_id: str | None = "j-1", **changes: Any) -> EmrJobFlow:
    fields = {
        "job_flow_id": job_flow_id,
        "machines": 3,
        "instance_type": "m5.xlarge",
        "release_label": "emr-7.5.0",
        "event_log_uri": f"s3://{BUCKET}/spark",
        **changes,
    }
    return EmrJobFlow(**fields)


def started(emr: Any, **changes: Any) -> str:
    """The id of a job flow that somebody has started."""
    return str(emr.run_job_flow(**{**REQUEST, **changes})["JobFlowId"])


def job_flow(state: str, *, reason: dict[str, str] | None = None) -> dict[str, Any]:
    """An answer of DescribeCluster."""
    status = {"State": state, "StateChangeReason": reason or {}}
    return {"Cluster": {"Id": "j-1", "LogUri": f"s3://{BUCKET}/emr/", "Status": status}}


def throttled(call: str, code: str = "ThrottlingException") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "Rate exceeded"}}, call)
