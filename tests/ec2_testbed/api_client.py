"""The test's side of the API: AWS clients for it, and the controls that AWS has not."""

from __future__ import annotations

import json
import subprocess
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import IO, Any, Self

from airflow_provider_ernest.clusters.ec2.identity import CLUSTER_TAG, EXPIRY_TAG, ROLE_TAG
from tests.ec2_testbed.process_life import start_server

REGION = "us-east-1"
LONG_AGO = "2020-01-01T00:00:00+00:00"


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call of an AWS action that the endpoint got.

    Attributes:
        service: such as "ec2".
        action: such as "RunInstances".
        parameters: as they came: flat for EC2 ("Filter.1.Name"), a JSON document for others.
        seconds: since the epoch.
        outcome: "ok" or the error's code, of the effect: what a fault then did to the answer is not in it.
    """

    service: str
    action: str
    parameters: dict[str, Any]
    seconds: float
    outcome: str


@dataclass(frozen=True, kw_only=True)
class Machine:
    """An instance as the account has it."""

    instance_id: str
    state: str
    instance_type: str
    market: str
    zone: str
    private_address: str | None
    image_id: str
    reason: str
    tags: dict[str, str]

    @property
    def cluster(self) -> str | None:
        """Name of the Ernest cluster that it belongs to."""
        return self.tags.get(CLUSTER_TAG)

    @property
    def role(self) -> str | None:
        return self.tags.get(ROLE_TAG)


class ApiClient:
    """Controls of an API that is being served."""

    def __init__(self, endpoint_url: str) -> None:
        self.endpoint_url = endpoint_url

    def start(self) -> Self:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def command(self, command: str, /, **arguments: Any) -> Any:
        request = urllib.request.Request(
            f"{self.endpoint_url}/testbed/{command}", data=json.dumps(arguments).encode(), method="POST"
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise ValueError(error.read().decode()) from error

    def client(self, service: str = "ec2", **settings: Any) -> Any:
        """A boto3 client of the endpoint; settings go to boto3.client."""
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.endpoint_url,
            region_name=REGION,
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
            **settings,
        )

    def airflow_connection(self) -> str:
        """An Airflow connection to the endpoint, for AIRFLOW_CONN_AWS_DEFAULT."""
        extra = {"endpoint_url": self.endpoint_url, "region_name": REGION}
        return json.dumps({"conn_type": "aws", "login": "testing", "password": "testing", "extra": extra})

    def fail(self, action: str, *, when: str = "before", **fault: Any) -> None:
        """Order a fault: see `api_state.Fault` for the fields."""
        self.command("fail", action=action, when=when, **fault)

    def forget_faults(self) -> None:
        self.command("forget_faults")

    def set_capacity(
        self, instance_type: str, places: int | None, *, market: str | None = None, zone: str | None = None
    ) -> None:
        """Set how many more machines of a type there are."""
        self.command("set_capacity", instance_type=instance_type, places=places, market=market, zone=zone)

    def calls(self, action: str | None = None, *, service: str | None = None) -> list[Call]:
        """What the endpoint was called for, in order."""
        found = [Call(**call) for call in self.command("calls")]
        return [call for call in found if action in (None, call.action) and service in (None, call.service)]

    def forget_calls(self) -> None:
        self.command("forget_calls")

    def instances(self, *, cluster: str | None = None) -> list[Machine]:
        """All instances in the order of launch, the terminated ones too."""
        found = [_machine(document) for document in self.command("instances")]
        return [one for one in found if cluster in (None, one.cluster)]

    def live_instances(self, *, cluster: str | None = None, role: str | None = None) -> list[Machine]:
        """Instances that cost money: all that are not terminated (nor on the way there)."""
        gone = ("terminated", "shutting-down")
        found = self.instances(cluster=cluster)
        return [one for one in found if one.state not in gone and role in (None, one.role)]

    def set_state(self, instance_id: str, state: str, *, reason: str = "") -> None:
        """Move an instance to a state by hand."""
        self.command("set_state", instance_id=instance_id, name=state, reason=reason)

    def set_console(self, instance_id: str, text: str) -> None:
        """What GetConsoleOutput returns for an instance that nothing boots."""
        self.command("set_console", instance_id=instance_id, text=text)

    def interrupt_spot(self, instance_id: str) -> None:
        """AWS takes a spot instance back."""
        self.command("interrupt_spot", instance_id=instance_id)

    def expire(self, *instance_ids: str) -> None:
        """Put the expiry tag of instances into the past, as if nobody had ended them for years."""
        for instance_id in instance_ids:
            self.command("set_tag", instance_id=instance_id, key=EXPIRY_TAG, value=LONG_AGO)

    @property
    def subnet_ids(self) -> tuple[str, ...]:
        return tuple(self._account()["subnet_ids"])

    @property
    def security_group_id(self) -> str:
        """A group that is open to its members and to the network."""
        return str(self._account()["security_group_id"])

    @property
    def open_security_group_id(self) -> str:
        """A group that is open to the world, to be refused."""
        return str(self._account()["open_security_group_id"])

    @property
    def image_id(self) -> str:
        return str(self._account()["image_id"])

    @property
    def image_parameter(self) -> str:
        """Name of the SSM parameter that holds the image."""
        return "/ernest/testbed/image"

    @property
    def instance_profile(self) -> str:
        return "ernest-testbed"

    def _account(self) -> dict[str, Any]:
        account: dict[str, Any] = self.command("account")
        return account


def _machine(document: dict[str, Any]) -> Machine:
    return Machine(
        instance_id=document["instanceId"],
        state=document["instanceState"]["name"],
        instance_type=document["instanceType"],
        market=document["instanceLifecycle"] or "on-demand",
        zone=document["placement"]["availabilityZone"],
        private_address=document.get("privateIpAddress"),
        image_id=document["imageId"],
        reason=document["reason"] or "",
        tags={tag["key"]: tag["value"] for tag in document["tagSet"]},
    )


class EC2Api(ApiClient):
    """moto's EC2, made true to AWS where it is not, in a process of its own.

        with EC2Api() as api:
            ec2 = api.client("ec2")
            api.fail("RunInstances", when="drop")

    Machines run, and are gone, at once.
    """

    def __init__(self) -> None:
        super().__init__("")
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[str] = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in stop

    def start(self) -> Self:
        self._process, ready = start_server("tests.ec2_testbed.api_server", [], self._log)
        self.endpoint_url = f"http://127.0.0.1:{ready['port']}"
        return self

    def stop(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
            self._process = None
        self._log.close()

    def reset(self) -> None:
        """An account as after the start; its ids are new ones."""
        self.command("reset")
