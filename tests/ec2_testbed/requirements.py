"""Whether the bed can run on this machine."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys

from airflow_provider_ernest.clusters.cpu_groups import find_cpu_controller
from airflow_provider_ernest.exceptions import ClusterStartError

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
    try:
        find_cpu_controller()
    except ClusterStartError as error:
        return f"the EC2 test bed: {error}"
    return None
