from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ec2_testbed import EC2Api


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
    return served_api
