from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from botocore.loaders import create_loader

from tests.ec2_testbed import EC2Api
from tests.unit.ec2_machines import IDENTITY

# Each account of moto makes itself a thousand images before its first answer; the tests bring their own.
os.environ["MOTO_EC2_LOAD_DEFAULT_AMIS"] = "false"


@pytest.fixture(scope="session", autouse=True)
def descriptions_of_aws_read_once() -> Iterator[None]:
    """Each session of boto3 reads the descriptions of services that it calls; that of EC2 takes a second."""
    loader = create_loader()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("botocore.session.create_loader", lambda _search_path=None: loader)
        yield


@pytest.fixture(scope="session")
def served_api() -> Iterator[EC2Api]:
    with EC2Api() as api:
        yield api


@pytest.fixture
def api(served_api: EC2Api, monkeypatch: pytest.MonkeyPatch) -> EC2Api:
    """A fresh account that Airflow's default connection of AWS leads to."""
    served_api.reset()
    served_api.forget_calls()
    served_api.forget_faults()
    monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", served_api.airflow_connection())
    # The machines that the tests launch are those of this deployment, and show at once.
    monkeypatch.setenv("AIRFLOW__ERNEST__DEPLOYMENT", IDENTITY.deployment)
    monkeypatch.setattr("airflow_provider_ernest.clusters.ec2.ending.SETTLE_SECONDS", 0.5)
    return served_api
