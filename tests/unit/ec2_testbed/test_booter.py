from __future__ import annotations

import ipaddress
import threading
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import MagicMock

import pytest

from tests.ec2_testbed.api_state import EC2State
from tests.ec2_testbed.bed_booter import Booter
from tests.ec2_testbed.bed_host import HostSettings
from tests.ec2_testbed.performance import Performance


class Account(SimpleNamespace):
    """Instances whose states the test sets; what the booter makes of them is kept."""

    def __init__(self, **states: str) -> None:
        super().__init__(lock=threading.RLock(), read_console=None)
        self.found = {
            instance_id: SimpleNamespace(
                id=instance_id, state=state, private_ip=f"10.0.0.{number}", user_data=""
            )
            for number, (instance_id, state) in enumerate(states.items(), 4)
        }

    def instances(self) -> list[Any]:
        return list(self.found.values())

    def instance(self, instance_id: str) -> Any:
        return self.found[instance_id]

    def set_state(self, instance_id: str, name: str, reason: str = "") -> None:
        self.found[instance_id].state = name


def test_a_machine_that_ended_before_it_booted_counts_as_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    host = MagicMock()
    monkeypatch.setattr("tests.ec2_testbed.bed_booter.Host", host)
    account = Account(ended="shutting-down", next="pending")
    settings = SimpleNamespace(switch=SimpleNamespace(network=ipaddress.ip_network("10.0.0.0/24")))
    booter = Booter(cast(EC2State, account), cast(HostSettings, settings), Performance())
    booter.set_performance("2", {"boot_fails": True})
    booter.look()
    assert not host.called
    assert account.instance("next").state == "terminated"
