from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.ec2_testbed import EC2Api


@pytest.fixture(scope="module")
def served_api() -> Iterator[EC2Api]:
    with EC2Api() as api:
        yield api


@pytest.fixture
def api(served_api: EC2Api) -> EC2Api:
    """An endpoint with an account in which nothing was done yet."""
    served_api.reset()
    return served_api


@pytest.fixture
def ec2(api: EC2Api) -> Any:
    """A client that tries each call once."""
    return client_that_tries(api, 1)


def client_that_tries(api: EC2Api, attempts: int) -> Any:
    from botocore.config import Config

    return api.client("ec2", config=Config(retries={"mode": "standard", "total_max_attempts": attempts}))


@pytest.fixture
def launch(api: EC2Api, ec2: Any) -> Callable[..., list[str]]:
    """Launches m5.large machines; returns their ids."""

    def launch(least: int = 1, most: int | None = None, *, client: Any = None, **request: Any) -> list[str]:
        what: dict[str, Any] = {
            "ImageId": api.image_id,
            "InstanceType": "m5.large",
            "SubnetId": api.subnet_ids[0],
            "MinCount": least,
            "MaxCount": least if most is None else most,
            **request,
        }
        return [one["InstanceId"] for one in (client or ec2).run_instances(**what)["Instances"]]

    return launch
