"""Turns the account's instances into hosts, and what happens to hosts into states of instances."""

from __future__ import annotations

import ipaddress
import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from tests.ec2_testbed.api_state import INSTANCE_INITIATED, EC2State
from tests.ec2_testbed.bed_host import Host, HostSettings, decode_user_data
from tests.ec2_testbed.bed_metadata import Pages, describe_instance
from tests.ec2_testbed.testbed import Performance

log = logging.getLogger(__name__)

SERVER_ERROR = "Server.InternalError"
_LIVE = ("pending", "running")


class Booter:
    """Watches the account; `look` is to be called all the time."""

    def __init__(self, state: EC2State, settings: HostSettings, performance: Performance) -> None:
        self._state = state
        self._settings = settings
        self._default = performance
        self._wishes: dict[str, Performance] = {}
        self._lock = threading.RLock()
        self._hosts: dict[str, Host] = {}
        self._numbers: dict[str, int] = {}
        self._consoles: dict[str, Host] = {}
        state.read_console = self._console

    def look(self) -> None:
        """Boot what was launched, end what was terminated."""
        with self._state.lock:
            found = [(one.id, one.state) for one in self._state.instances()]
        with self._lock:  # also those that end before they boot: they were launched
            for instance_id, _ in found:
                self._numbers.setdefault(instance_id, len(self._numbers) + 1)
        for instance_id, state in found:
            host = self._hosts.get(instance_id)
            if state == "pending" and host is None:
                # A machine that ends frees its address before its host has taken down its link.
                if not self._holds_address(self._state.instance(instance_id).private_ip):
                    self._try_boot(instance_id)
            elif state not in _LIVE and host is not None and not host.is_ending:
                host.shut_down()
            elif state == "shutting-down" and host is None:
                self._settle(instance_id)

    def _holds_address(self, address: str) -> bool:
        with self._lock:
            return any(host.address == address for host in self._hosts.values())

    def _try_boot(self, instance_id: str) -> None:
        try:
            self._boot(instance_id)
        except Exception:  # a machine that cannot boot ends, as on AWS, and does not keep its launch waiting
            log.exception("instance %s cannot boot", instance_id)
            self._state.set_state(instance_id, "terminated", SERVER_ERROR)

    def _boot(self, instance_id: str) -> None:
        instance = self._state.instance(instance_id)
        network = self._settings.switch.network
        if ipaddress.ip_address(instance.private_ip) not in network:
            raise ValueError(f"its address {instance.private_ip} is not in {network}: use the bed's subnets")
        with self._lock:
            performance = self._performance(instance_id, instance.private_ip)
            host = Host(
                instance_id,
                instance.private_ip,
                decode_user_data(instance.user_data),
                performance,
                self._settings,
                lambda: self._metadata(instance_id),
                self._on_running,
                self._on_end,
            )
            self._hosts[instance_id] = self._consoles[instance_id] = host
        host.start()

    def _on_running(self, host: Host) -> None:
        with self._state.lock:
            if self._state.instance(host.instance_id).state == "pending":
                self._state.set_state(host.instance_id, "running")

    def _on_end(self, host: Host, of_itself: bool, problem: Exception | None) -> None:
        if problem:
            log.error("host %s: %s", host.instance_id, problem)
        with self._lock, self._state.lock:
            self._hosts.pop(host.instance_id, None)
            instance = self._state.instance(host.instance_id)
            if of_itself and instance.state in _LIVE:
                reason = SERVER_ERROR if problem else INSTANCE_INITIATED
                self._state.set_state(host.instance_id, "terminated", reason)
            else:
                self._settle(host.instance_id)

    def _settle(self, instance_id: str) -> None:
        """The host is gone; say so."""
        with self._state.lock:
            if self._state.instance(instance_id).state == "shutting-down":
                self._state.set_state(instance_id, "terminated")

    def _metadata(self, instance_id: str) -> Pages:
        instance = self._state.instance(instance_id)
        return describe_instance(instance, decode_user_data(instance.user_data))

    def _console(self, instance_id: str) -> str | None:
        host = self._consoles.get(instance_id)
        return host.console if host else None

    def _performance(self, instance_id: str, address: str) -> Performance:
        for key in (instance_id, address, str(self._numbers[instance_id])):
            if key in self._wishes:
                return self._wishes[key]
        return self._default

    def set_performance(self, target: str | None, changes: Mapping[str, Any]) -> None:
        """Change hosts, those that run and those to come."""
        with self._lock:
            wish = replace(self._default, **changes)
            if target is None:
                self._default = wish
            else:
                self._wishes[target] = wish
            hosts = list(self._hosts.values())
        for host in hosts:
            wanted = self._performance(host.instance_id, host.address)
            if wanted != host.performance:
                host.set_performance(wanted)

    def describe_hosts(self) -> list[dict[str, Any]]:
        with self._lock:
            hosts = list(self._hosts.values())
        return [
            {
                "instance_id": host.instance_id,
                "address": host.address,
                "number": self._numbers[host.instance_id],
                "first_process": host.first_process,
                "performance": asdict(host.performance),
            }
            for host in hosts
        ]

    def end_all(self) -> None:
        """Kill all hosts and wait until they are gone."""
        with self._lock:
            hosts = list(self._hosts.values())
        for host in hosts:
            host.power_off()
        for host in hosts:
            host.ended.wait(10)
