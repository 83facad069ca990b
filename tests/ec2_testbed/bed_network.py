"""The network between the hosts: a bridge in a namespace without a name, which goes when its processes go.

Every host has a namespace of its own, also without a name. The machine is attached to the bridge by one
link, which carries the gateway's address; nothing is routed further.
"""

from __future__ import annotations

import ctypes
import ipaddress
import os
import socket
import subprocess
import threading
from dataclasses import dataclass

METADATA_ADDRESS = "169.254.169.254"
_CLONE_NEWNET = 0x40000000


@dataclass(frozen=True)
class Switch:
    """The bridge of a bed."""

    keeper: int
    network: ipaddress.IPv4Network
    uplink: str

    @property
    def gateway(self) -> str:
        return str(self.network[1])

    def build(self) -> None:
        """Make the bridge and attach the machine to it."""
        self._inside("ip", "link", "add", "bridge", "type", "bridge")
        self._inside("ip", "link", "set", "bridge", "up")
        peer = ["peer", "name", "uplink", "netns", str(self.keeper)]
        run("ip", "link", "add", self.uplink, "type", "veth", *peer)
        self._inside("ip", "link", "set", "uplink", "master", "bridge", "up")
        run("ip", "address", "add", f"{self.gateway}/{self.network.prefixlen}", "dev", self.uplink)
        run("ip", "link", "set", self.uplink, "up")

    def attach_this_thread(self, address: str) -> None:
        """Attach the namespace of the calling thread as a host with this address."""
        port = _port(address)
        commands = [
            "link set lo up",
            f"address add {METADATA_ADDRESS}/32 dev lo",
            f"link add eth0 type veth peer name {port} netns {self.keeper}",
            f"address add {address}/{self.network.prefixlen} dev eth0",
            "link set eth0 up",
        ]
        run("ip", "-batch", "-", text="\n".join(commands) + "\n")
        self._inside("ip", "link", "set", port, "master", "bridge", "up")

    def shape(self, namespace: str, address: str, megabits_per_second: float | None) -> None:
        """Limit the speed of a host's network, each way."""
        for inside, device in ((f"/proc/{self.keeper}/ns/net", _port(address)), (namespace, "eth0")):
            enter = ["nsenter", f"--net={inside}"]
            if megabits_per_second is None:
                run(*enter, "tc", "qdisc", "del", "dev", device, "root", may_fail=True)
                continue
            # A burst of 10 ms of traffic: less cannot be kept up with by the kernel's clock.
            burst_bytes = max(int(megabits_per_second * 1e6 / 8 * 0.01), 16_000)
            rate = ["rate", f"{round(megabits_per_second * 1000)}kbit", "burst", str(burst_bytes)]
            run(*enter, "tc", "qdisc", "replace", "dev", device, "root", "tbf", *rate, "latency", "50ms")

    def cut(self, address: str) -> None:
        """Nothing goes to the host or comes from it any more."""
        self._inside("ip", "link", "set", _port(address), "down", may_fail=True)

    def detach(self, address: str) -> None:
        """Remove the host's link, so that its address is free at once."""
        self._inside("ip", "link", "del", _port(address), may_fail=True)

    def remove(self) -> None:
        """Detach the machine at once; the kernel removes the rest when the keeper has ended."""
        run("ip", "link", "del", self.uplink, may_fail=True)

    def _inside(self, *command: str, may_fail: bool = False) -> None:
        run("nsenter", f"--net=/proc/{self.keeper}/ns/net", *command, may_fail=may_fail)


def enter_new_namespace() -> int:
    """Give the calling thread a network namespace of its own; returns a descriptor that keeps it."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare(CLONE_NEWNET) failed")
    return os.open(f"/proc/self/task/{threading.get_native_id()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def metadata_socket() -> socket.socket:
    """A socket that listens at the metadata service's address in the calling thread's namespace."""
    return socket.create_server((METADATA_ADDRESS, 80), backlog=16)


def run(*command: str, text: str | None = None, may_fail: bool = False) -> str:
    """Run a command; returns its output."""
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
    if done.returncode and not may_fail:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _port(address: str) -> str:
    """Name of the bridge's end of a host's link."""
    return f"v{int(ipaddress.ip_address(address)):08x}"
