"""A Spark cluster of hosts that can be made slow: by their networks, their CPU, their disks.

The hosts are those of the test bed for EC2 (`tests.ec2_testbed`): each has an address of its own, and what
goes from host to host goes over links whose speed can be set, while the cluster runs, too. The driver is on
this machine, which is attached to the same network at full speed.

Disks are files behind loop devices, throttled by control groups of version 1. Writes to them are synchronous,
so that a task waits for its disk as long as the disk takes; otherwise the machine's memory would take what
these short runs write, and the disk nothing. Reads come from that memory.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.installation import find_java
from airflow_provider_ernest.spark.machines import read_state
from tests.ec2_testbed import Performance, Testbed
from tests.ec2_testbed.bed_network import run as run_command

CORES_OFFERED = 4
RUN_SECONDS = 300.0

_START_SECONDS = 120.0
_POLL_SECONDS = 0.2
_MASTER_PORT, _WEB_PORT = 7077, 8080
_FULL_SPEED = Performance()

# On few cores compiling well takes longer than these short runs last.
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_MASTER_CLASS = "org.apache.spark.deploy.master.Master"
_WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"

_SETTINGS = {
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.driver.memory": "1g",
    "spark.eventLog.compress": "false",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.executor.extraJavaOptions": QUICK_JAVA,
    "spark.executor.memory": "1000m",
    "spark.locality.wait": "0s",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    # What is sent shall be as many bytes as the job says.
    "spark.shuffle.compress": "false",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_WORKER_MEMORY = "1500m"  # room for one executor

_THROTTLE = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
_DISK_BYTES = 1 << 30


@dataclass(frozen=True)
class Disk:
    """A disk of a speed that can be set.

    Attributes:
        folder: where it is mounted.
        number: of its device, major and minor.
    """

    folder: Path
    number: str

    def set_speed(self, megabytes_per_second: float | None) -> None:
        """Limit the speed of writing; None for no limit."""
        _THROTTLE.write_text(f"{self.number} {round(1e6 * (megabytes_per_second or 0))}")

    @staticmethod
    def missing() -> str | None:
        """Why there can be none on this machine; None when there can."""
        for path in (_THROTTLE, Path("/dev/loop-control")):
            if not path.exists():
                return f"disks of a set speed need {path} (control groups of version 1, and loop devices)"
        return None

    @classmethod
    @contextmanager
    def made(cls, folder: Path) -> Iterator[Disk]:
        """A disk that is there for as long as the context lasts."""
        folder.mkdir(parents=True)
        image = folder.with_suffix(".image")
        with image.open("wb") as file:
            file.truncate(_DISK_BYTES)
        run_command("mkfs.ext4", "-q", "-F", "-O", "^has_journal", str(image))
        # By `mount`, so that the loop device ends with the mount, however that ends.
        run_command("mount", "-o", "loop,sync,noatime", str(image), str(folder))
        try:
            disk = cls(
                folder, run_command("findmnt", "--noheadings", "--output", "MAJ:MIN", str(folder)).strip()
            )
            disk.set_speed(None)  # a killed process may have left the throttle of a device of this number
            yield disk
            disk.set_speed(None)
        finally:
            run_command("umount", "--lazy", str(folder))
            image.unlink()


class SlowableCluster:
    """A standalone cluster in a test bed, for as long as the context lasts.

    Each worker offers `CORES_OFFERED` cores to Spark, whatever CPU time it gets. `disks` are folders for
    shuffle files, one a worker; none for the memory of the hosts.
    """

    def __init__(self, work_directory: Path, *, workers: int, disks: Sequence[Path] = ()) -> None:
        self.work_directory = work_directory
        self.workers = workers
        self._disks = tuple(disks)
        self._bed = Testbed(work_directory / "bed", writable=disks, disk_megabytes=4096)
        self._addresses: tuple[str, ...] = ()
        self._master_address = ""

    @staticmethod
    def missing() -> str | None:
        """Why there can be none on this machine; None when there can."""
        return Testbed.missing()

    @property
    def slow_host(self) -> str:
        """Address of the host that is made slow where one is."""
        return self._addresses[0]

    def set_hosts(self, performance: Performance = _FULL_SPEED, *, slow: Performance | None = None) -> None:
        """Make all workers so fast, and the slow host another way."""
        for address in self._addresses:
            wanted = slow if slow and address == self.slow_host else performance
            self._bed.set_performance(address, cpu=wanted.cpu, megabits_per_second=wanted.megabits_per_second)

    def run(
        self,
        application: Path,
        arguments: Sequence[str],
        *,
        event_log: Path,
        executors: int | None = None,
        cores: int = 1,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Run a PySpark application to its end. It is ended when this process ends.

        `event_log` is the file that becomes its event log; `machines` is None for all.

        Raises:
            RuntimeError: it failed, with the end of what it said.
        """
        folder = self.work_directory / "event_logs" / event_log.name
        folder.mkdir(parents=True)
        size = {
            "spark.cores.max": str((executors or self.workers) * cores),
            "spark.executor.cores": str(cores),
        }
        places = {
            "spark.driver.bindAddress": self._bed.gateway_address,
            "spark.driver.host": self._bed.gateway_address,
            "spark.eventLog.dir": folder.as_uri(),
            "spark.master": f"spark://{self._master_address}:{_MASTER_PORT}",
        }
        conf = _SETTINGS | size | places | dict(settings or {})
        submit = [word for pair in conf.items() for word in ("--conf", "=".join(pair))]
        own = {
            name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))
        }
        environment = own | {"PYSPARK_SUBMIT_ARGS": shlex.join([*submit, "pyspark-shell"])}
        output = folder / "driver.txt"
        with output.open("w") as file:
            done = subprocess.run(
                ["setpriv", "--pdeathsig", "KILL", sys.executable, str(application), *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=RUN_SECONDS,
                check=False,
            )
        written = [path for path in folder.iterdir() if path.name.startswith("app-")]
        if done.returncode or len(written) != 1:
            raise RuntimeError(
                f"{application.name} ended with {done.returncode}: {output.read_text()[-3000:]}"
            )
        event_log.parent.mkdir(parents=True, exist_ok=True)
        written[0].rename(event_log)

    def __enter__(self) -> Self:
        self._bed.start()
        try:
            [self._master_address] = self._launch(1, self._start_master())
            self._addresses = tuple(self._launch(self.workers, self._start_worker()))
            self._wait_for_workers()
        except BaseException:
            self._bed.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bed.stop()

    def _launch(self, count: int, script: str) -> list[str]:
        found = self._bed.client("ec2").run_instances(
            ImageId=self._bed.image_id,
            InstanceType="m5.large",
            SubnetId=self._bed.subnet_ids[0],
            MinCount=count,
            MaxCount=count,
            UserData=script,
        )["Instances"]
        return [str(instance["PrivateIpAddress"]) for instance in found]

    def _start_master(self) -> str:
        ports = f"--port {_MASTER_PORT} --webui-port {_WEB_PORT}"
        return _user_data(self._bed, f"{_MASTER_CLASS} --host $address {ports}")

    def _start_worker(self) -> str:
        master = f"spark://{self._master_address}:{_MASTER_PORT}"
        offer = f"--cores {CORES_OFFERED} --memory {_WORKER_MEMORY}"
        command = f"{_WORKER_CLASS} --host $address --webui-port 0 {offer} {master}"
        disks = shlex.join(str(disk) for disk in self._disks)
        # A disk of its own for each host: the first whose folder it can make there.
        take = "mkdir $disk/local && export SPARK_LOCAL_DIRS=$disk/local && break"
        choose = f"for disk in {disks}; do {take}; done\n"
        return _user_data(self._bed, command, before=choose if self._disks else "")

    def _registered(self) -> int:
        try:
            return len(read_state(f"http://{self._master_address}:{_WEB_PORT}", timeout_seconds=5).machines)
        except ClusterLostError:
            return 0

    def _wait_for_workers(self) -> None:
        deadline = time.monotonic() + _START_SECONDS
        while self._registered() != self.workers:
            if time.monotonic() > deadline:
                consoles = [self._bed.console(host.instance_id)[-1500:] for host in self._bed.hosts()]
                raise RuntimeError("the cluster did not come up: " + "\n".join(consoles))
            time.sleep(_POLL_SECONDS)


def _user_data(bed: Testbed, command: str, *, before: str = "") -> str:
    """A script that becomes a daemon of Spark at the host's own address."""
    environment = {
        "JAVA_HOME": str(bed.java_home or find_java().resolve().parents[1]),
        "SPARK_HOME": str(bed.spark_home),
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in environment.items())
    return (
        f"#!/bin/bash\n{exports}export SPARK_LOCAL_DIRS=/tmp/local SPARK_WORKER_DIR=/tmp/work\n{before}"
        "address=$(hostname | sed 's/^ip-//; s/-/./g')\n"
        f"export SPARK_LOCAL_IP=$address\nexec $SPARK_HOME/bin/spark-class {command}\n"
    )
