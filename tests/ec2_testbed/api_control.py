"""The test's own calls to the test bed, and the record of what others called."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from tests.ec2_testbed import api_describe
from tests.ec2_testbed.api_account import Account, build_account
from tests.ec2_testbed.api_capacity import Capacity, Kind
from tests.ec2_testbed.api_faults import Fault, FaultPlan
from tests.ec2_testbed.api_state import EC2State
from tests.ec2_testbed.api_wire import Answer, Environment, Request, json_answer

Command = Callable[..., Any]


class Control:
    """Answers POST /testbed/<command> with a JSON object of arguments.

    Args:
        state: of the account.
        network: of the account's VPC, in CIDR notation.
        subnet_prefix: length of the prefix of its two subnets.
    """

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
            "faults": self.faults.pending,
            "forget_faults": self.faults.clear,
            "set_capacity": self._set_capacity,
            "set_page_size": self._set_page_size,
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

    def _set_page_size(self, page_size: int) -> None:
        self.state.page_size = page_size

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
            self.state.page_size = 1000
            for known in (self.state.tokens, self.state.consoles, self.state.notices):
                known.clear()
            self.account = build_account(self.state, self._network, self._subnet_prefix)
        return self.account
