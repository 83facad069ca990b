from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ec2_testbed import EC2Api
from tests.unit.ec2_machines import IDENTITY


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
