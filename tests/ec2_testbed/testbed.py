"""The bed: an EC2 endpoint whose instances are hosts on this machine."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from tests.ec2_testbed import bed_limits
from tests.ec2_testbed.api_client import ApiClient
from tests.ec2_testbed.process_life import REPOSITORY, start_server

_STOP_SECONDS = 60

# What is run on a host has the host's limits.
_JOIN_GROUPS = 'while read -r group; do echo $$ >"$group"; done <"$1"; shift; exec "$@"'


@dataclass(frozen=True, kw_only=True)
class Performance:
    """The resources of a host.

    Args:
        cpu: cores of CPU time that it gets; None for no limit.
        megabits_per_second: of its network, each way; None for no limit.
    """

    cpu: float | None = None
    megabits_per_second: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunningHost:
    """A host of the bed.

    Attributes:
        instance_id: of its instance.
        address: its private one.
        number: of its launch in this bed, from 1.
        first_process: id, on this machine, of its process 1; None while it boots or ends.
        performance: how fast it is.
    """

    instance_id: str
    address: str
    number: int
    first_process: int | None
    performance: Performance


class Testbed(ApiClient):
    """A cloud on this machine, for as long as the context lasts.

        with Testbed(tmp_path, writable=[tmp_path / "results"]) as bed:
            bed.client("ec2").run_instances(ImageId=bed.image_id, SubnetId=bed.subnet_ids[0], ...)

    Hosts see this machine's files, and what they write is gone with them; /tmp, /run and /dev are their own.
    The repository and this Python are always shared. Beds may run side by side.

    Args:
        work_directory: for the hosts' logs; must not be in use by another bed.
        shared: further paths that hosts see as they are, read-only, wherever they are.
        writable: paths that hosts may write to, like a network file system; they are opened for all users.
        seconds_per_minute: how long a minute of `shutdown +N` is.
        default_performance: of hosts of which nothing else is said.
        disk_megabytes: that a host may write.
    """

    __test__ = False  # no test, whatever pytest thinks of its name

    def __init__(
        self,
        work_directory: Path,
        *,
        shared: Iterable[Path | str] = (),
        writable: Iterable[Path | str] = (),
        seconds_per_minute: float = 60,
        default_performance: Performance | None = None,
        disk_megabytes: int = 2048,
    ) -> None:
        super().__init__("")
        self.work_directory = work_directory.resolve()
        self.gateway_address = ""
        self.network = ""
        self.java_home = find_java_home()
        self.python = sys.executable
        self._configuration = {
            "work_directory": str(self.work_directory),
            "shared": _outermost([*shared, REPOSITORY, sys.prefix, sys.base_prefix, self.java_home]),
            "writable": [str(Path(path).resolve()) for path in writable],
            "seconds_per_minute": seconds_per_minute,
            "disk_megabytes": disk_megabytes,
            "default_performance": asdict(default_performance or Performance()),
        }
        self._process: subprocess.Popen[str] | None = None

    @staticmethod
    def missing() -> str | None:
        """Why the bed cannot run on this machine; None when it can."""
        return what_is_missing()

    @property
    def process_id(self) -> int:
        assert self._process, "the bed was not started"
        return self._process.pid

    @property
    def spark_home(self) -> str:
        """The Spark that comes with pip's pyspark; the same path on the hosts."""
        import pyspark

        return str(Path(pyspark.__file__).parent)

    def start(self) -> Self:
        self.work_directory.mkdir(parents=True, exist_ok=True)
        for path in self._configuration["writable"]:
            Path(path).chmod(0o777)  # for the user that executors run as
        with (self.work_directory / "bed.log").open("w+") as log:
            arguments = ["--configuration", json.dumps(self._configuration)]
            self._process, ready = start_server("tests.ec2_testbed.bed_server", arguments, log)
        self.endpoint_url = f"http://127.0.0.1:{ready['port']}"
        self.gateway_address = ready["gateway"]
        self.network = ready["network"]
        return self

    def stop(self) -> None:
        """End all hosts and the bed; returns when nothing of it is left."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            # The warden has the same output: it ends when the last of both has.
            process.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()

    def hosts(self) -> list[RunningHost]:
        return [
            RunningHost(**{**host, "performance": Performance(**host["performance"])})
            for host in self.command("hosts")
        ]

    def set_performance(self, target: str | int | None = None, **changes: Any) -> None:
        """Change how fast hosts are, those that run and those to come."""
        self.command("set_performance", target=None if target is None else str(target), changes=changes)

    def console(self, instance_id: str) -> str:
        """What an instance's console said, as far as it is."""
        return str(self.command("console", instance_id=instance_id))

    def run(self, instance_id: str, *command: str, timeout_seconds: float = 60) -> str:
        """Run a command on a host, as root; returns its output."""
        first = {host.instance_id: host.first_process for host in self.hosts()}[instance_id]
        groups = str(self.work_directory / "hosts" / instance_id / "groups")
        join = ["bash", "-c", _JOIN_GROUPS, "join", groups]
        enter = ["nsenter", "--target", str(first), "--all", "--root", "--wd"]
        done = subprocess.run(
            [*join, *enter, *command], capture_output=True, text=True, check=True, timeout=timeout_seconds
        )
        return done.stdout


def find_java_home() -> str:
    """The machine's Java: JAVA_HOME, or where `java` on the PATH is; "" for none."""
    if home := os.environ.get("JAVA_HOME"):
        return home
    java = shutil.which("java")
    return str(Path(java).resolve().parents[1]) if java else ""


def _outermost(paths: Iterable[Path | str]) -> list[str]:
    """The paths without those that lie in others, and without the system's, which hosts see anyway."""
    wanted = {Path(path).resolve() for path in paths if str(path)}
    wanted -= {Path("/"), Path("/usr"), Path("/usr/local")}
    return sorted(str(path) for path in wanted if not wanted.intersection(path.parents))


_PROGRAMS = ("ip", "tc", "unshare", "nsenter", "setpriv", "bash", "curl", "awk", "ps")

# Makes, in namespaces of its own that end with it, one of everything a host is made of.
_PROBE = """
set -e
ip link set lo up
ip link add probe0 type veth peer name probe1
ip link add probe2 type bridge
tc qdisc add dev probe0 root tbf rate 1mbit burst 16000 latency 50ms
mount -t tmpfs none /mnt
mkdir /mnt/upper /mnt/work /mnt/merged
mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work none /mnt/merged
mount -t proc none /mnt/merged/proc
"""


@functools.cache
def what_is_missing() -> str | None:
    """Why the bed cannot run here, for a test's skip; None when it can."""
    if sys.platform != "linux":
        return "the EC2 test bed needs Linux"
    if os.geteuid() != 0:
        return "the EC2 test bed needs root, for network namespaces and mounts"
    absent = [program for program in _PROGRAMS if shutil.which(program) is None]
    if absent:
        return f"the EC2 test bed needs {', '.join(absent)} (on Debian: apt-get install iproute2 curl procps)"
    command = ["unshare", "--net", "--mount", "--propagation", "private", "--uts", "--ipc", "--pid", "--fork"]
    probe = subprocess.run([*command, "bash", "-c", _PROBE], capture_output=True, text=True, check=False)
    if probe.returncode:
        return f"the EC2 test bed cannot make hosts on this machine: {probe.stderr.strip()[-300:]}"
    return bed_limits.what_is_missing()
