"""The test's own calls to the test bed, the record of what others called, and the account that they find."""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable
from typing import Any, TypedDict

from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.moto_api._internal.models import moto_api_backend

from tests.ec2_testbed import api_describe
from tests.ec2_testbed.api_state import REGION, Capacity, EC2State, Fault, FaultPlan, Kind
from tests.ec2_testbed.api_wire import Answer, Environment, Request, json_answer

Command = Callable[..., Any]


class Control:
    """Answers POST /testbed/<command> with a JSON object of arguments."""

    def __init__(self, state: EC2State, network: str, subnet_prefix: int) -> None:
        self.state = state
        self.faults = FaultPlan()
        self._network = network
        self._subnet_prefix = subnet_prefix
        self._calls: list[dict[str, Any]] = []
        self.account: Account = build_account(state, network, subnet_prefix)
        self.commands: dict[str, Command] = {
            "account": lambda: self.account,
            "calls": lambda: list(self._calls),
            "forget_calls": lambda: self._calls.clear(),
            "fail": lambda **fault: self.faults.add(Fault(**fault)),
            "forget_faults": self.faults.clear,
            "set_capacity": self._set_capacity,
            "set_state": state.set_state,
            "set_console": self._set_console,
            "instances": self._instances,
            "interrupt_spot": state.interrupt_spot,
            "set_tag": self._set_tag,
            "reset": self._reset,
        }

    def record(self, request: Request) -> dict[str, Any]:
        """Note a call; its outcome is filled in by the caller."""
        call: dict[str, Any] = {
            "service": request.service,
            "action": request.action,
            "parameters": request.parameters,
            "seconds": time.time(),
            "outcome": "pending",
        }
        self._calls.append(call)
        return call

    def answer(self, environment: Environment, command: str) -> Answer:
        """Run a command; what it raises becomes the answer's error."""
        length = int(environment.get("CONTENT_LENGTH") or 0)
        arguments = json.loads(environment["wsgi.input"].read(length) or b"{}")
        try:
            return json_answer(self.commands[command](**arguments))
        except (KeyError, TypeError, ValueError) as error:
            return json_answer({"error": f"{command}: {error!r}"}, 400)

    def _set_capacity(
        self, instance_type: str, places: int | None, market: str | None, zone: str | None
    ) -> None:
        with self.state.lock:
            self.state.capacity.limit(Kind(instance_type, market, zone), places)

    def _set_console(self, instance_id: str, text: str) -> None:
        self.state.consoles[instance_id] = text

    def _instances(self) -> list[dict[str, Any]]:
        with self.state.lock:
            return api_describe.documents(self.state.backend())

    def _set_tag(self, instance_id: str, key: str, value: str) -> None:
        self.state.instance(instance_id)
        self.state.backend().create_tags([instance_id], {key: value})

    def _reset(self) -> Account:
        with self.state.lock:
            self._calls.clear()
            self.faults.clear()
            self.state.capacity = Capacity()
            for known in (self.state.tokens, self.state.consoles):
                known.clear()
            self.account = build_account(self.state, self._network, self._subnet_prefix)
        return self.account


IMAGE_PARAMETER = "/ernest/testbed/image"
INSTANCE_PROFILE = "ernest-testbed"


class Account(TypedDict):
    """What a launch refers to."""

    vpc_id: str
    subnet_ids: list[str]
    security_group_id: str
    open_security_group_id: str
    image_id: str


def build_account(state: EC2State, network: str, subnet_prefix: int) -> Account:
    """Empty the account, then make two subnets in two zones and what else machines need."""
    moto_api_backend.reset()
    ec2 = state.backend()
    vpc = ec2.create_vpc(network)
    ranges = ipaddress.ip_network(network).subnets(new_prefix=subnet_prefix)
    subnets = [
        ec2.create_subnet(vpc.id, str(next(ranges)), availability_zone=f"{REGION}{zone}") for zone in "ab"
    ]
    group = ec2.create_security_group("ernest-testbed", "Members and the network", vpc_id=vpc.id)
    ec2.authorize_security_group_ingress(
        group.id, "-1", "-1", "-1", [{"CidrIp": network}], source_groups=[{"GroupId": group.id}]
    )
    world = ec2.create_security_group("ernest-testbed-open", "Open to the world", vpc_id=vpc.id)
    ec2.authorize_security_group_ingress(world.id, "tcp", "22", "22", [{"CidrIp": "0.0.0.0/0"}])
    image = _make_image(ec2)
    _service("ssm").put_parameter(
        IMAGE_PARAMETER, "", image.id, "String", "", "", True, [], "text", "Standard", None
    )
    iam = get_backend("iam")[DEFAULT_ACCOUNT_ID]["aws"]
    iam.create_instance_profile(INSTANCE_PROFILE, "/", [])
    return {
        "vpc_id": vpc.id,
        "subnet_ids": [subnet.id for subnet in subnets],
        "security_group_id": group.id,
        "open_security_group_id": world.id,
        "image_id": image.id,
    }


def _make_image(ec2: Any) -> Any:
    image = ec2.register_image("ernest-testbed", "Linux with cloud-init, curl, Java and Python")
    image.architecture = "x86_64"
    image.virtualization_type = "hvm"
    image.root_device_type = "ebs"
    return image


def _service(name: Any) -> Any:
    return get_backend(name)[DEFAULT_ACCOUNT_ID][REGION]
