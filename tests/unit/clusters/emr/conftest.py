from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from airflow_provider_ernest.clusters.ec2.identity import ClusterIdentity
from airflow_provider_ernest.clusters.emr.spec import EmrClusterSpec

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


def specification(**changes: Any) -> EmrClusterSpec:
    fields = {
        "machines": 3,
        "instance_type": "m5.xlarge",
        "release_label": "emr-7.5.0",
        "log_uri": f"s3://{BUCKET}/emr/",
        "event_log_uri": f"s3://{BUCKET}/spark",
        **changes,
    }
    return EmrClusterSpec(**fields)


def identity(**changes: Any) -> ClusterIdentity:
    fields = {
        "deployment": "ours",
        "dag_id": "nightly",
        "run_id": "manual__2026-01-01T00:00:00+00:00",
        "task_id": "ernest.create_cluster",
        "try_number": 1,
        **changes,
    }
    return ClusterIdentity(**fields)


def job_flow(state: str, *, reason: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    """An answer of DescribeCluster."""
    expires_at = datetime.now(UTC) + timedelta(hours=1)
    return {
        "Cluster": {
            "Id": "j-1",
            "Name": identity().cluster_name,
            "LogUri": f"s3://{BUCKET}/emr/",
            "Status": {"State": state, "StateChangeReason": reason or {}},
            "Tags": [
                {"Key": "ernest:expires-at", "Value": expires_at.isoformat()},
                {"Key": "ernest:cluster", "Value": identity().cluster_name},
            ],
            **changes,
        }
    }


def throttled(call: str, code: str = "ThrottlingException") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "Rate exceeded"}}, call)


def states(emr: Any) -> list[str]:
    """The states of all job flows, the ended ones included."""
    pages = emr.get_paginator("list_clusters").paginate()
    return sorted(one["Status"]["State"] for page in pages for one in page["Clusters"])
