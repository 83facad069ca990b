"""The process that owns a local cluster: ``python -m airflow_provider_ernest.clusters.keeper DIRECTORY``.

It is started by `LocalCluster.start` and outlives the task that called that. It ends, and with it all
that it has started, on a signal, at the end of its time to live, when no application has been active
for the idle limit, and when one of the daemons has died. If it is killed, the kernel kills the daemons;
the executors notice the loss of their worker and exit.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import NoReturn

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local import (
    MASTER_HOST,
    ClusterDirectory,
    ClusterState,
    KeeperOrder,
    tail,
)
from airflow_provider_ernest.clusters.local_spec import LOCAL
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterLostError,
    ClusterStartError,
    MissingResourceError,
)
from airflow_provider_ernest.processes import (
    ProcessIdentity,
    adopt_orphans,
    die_with_parent,
    end_descendants,
    reap_adopted,
    runtime_folder,
    sweep,
)
from airflow_provider_ernest.spark.machines import MasterState, read_state
from airflow_provider_ernest.words import duration

log = logging.getLogger(__name__)

DAEMON_GRACE_SECONDS = 5.0
"""How long master, workers and executors may take to end by themselves."""

_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_START_POLL_SECONDS = 0.2
_WATCH_POLL_SECONDS = 1.0
_MASTER_TIMEOUT_SECONDS = 5.0


class StopRequestedError(Exception):
    """Somebody asked the keeper by a signal to end its cluster."""


class Keeper:
    """Starts the daemons of a cluster, watches over them and ends them."""

    def __init__(self, order: KeeperOrder, directory: ClusterDirectory) -> None:
        self._order = order
        self._spec = order.spec
        self._directory = directory
        self._started = time.monotonic()
        self._expires_at = datetime.now(UTC) + timedelta(seconds=order.spec.time_to_live_seconds)
        self._state = ClusterState(keeper=ProcessIdentity.of(os.getpid()), spec=order.spec)
        self._daemons: dict[int, Daemon] = {}
        self._web_url = ""
        # Who keeps the cluster, before there is one.
        directory.write_state(self._state)

    def run(self) -> bool:
        """Start the cluster, keep it until it is to end, end it. Returns whether it has been ready."""
        try:
            self._start()
            reason = self._watch()
        except (StopRequestedError, ClusterError) as error:
            reason = str(error)
        except Exception as error:
            log.exception("The keeper failed")
            reason = f"The keeper failed: {type(error).__name__}: {error}"
        self._end(reason)
        return self._state.handle is not None

    def _start(self) -> None:
        launcher = DaemonLauncher(self._order, self._directory)
        master = self._own(launcher.start_master())
        self._web_url = self._wait_for_web_url(master)
        master_url = self._ask_master().master_url
        state = self._start_workers(launcher, master_url)
        handle = ClusterHandle(
            kind=LOCAL,
            name=self._order.name,
            master_url=state.master_url,
            web_url=self._web_url,
            machines=tuple(sorted(state.machines, key=lambda one: int(one.host.rpartition(".")[2]))),
            instance_type=self._spec.instance_type,
            cores_per_machine=self._spec.cores_per_machine,
            expires_at=self._expires_at.isoformat(timespec="seconds"),
            directory=str(self._directory.path),
            authenticates=True,
        )
        self._state = replace(self._state, handle=handle)
        self._directory.write_state(self._state)
        log.info("The cluster is ready at %s after %s", master_url, duration(self._elapsed()))

    def _wait_for_web_url(self, master: Daemon) -> str:
        """Wait until the master's log says where its web page is."""
        while True:
            # Looked at before the log: what it wrote last is there to be read once it has ended.
            master.require_running()
            found = _WEB_URL.search(master.log_file.read_text(encoding="utf-8", errors="replace"))
            if found:
                return found[1]
            if self._is_too_long():
                raise ClusterStartError(f"The master did not come up in time.\n{tail(master.log_file)}")
            time.sleep(_DAEMON_POLL_SECONDS)

    def _own(self, daemon: Daemon) -> Daemon:
        self._daemons[daemon.process.pid] = daemon
        return daemon

    def _is_too_long(self) -> bool:
        return self._elapsed() >= self._spec.start_timeout_seconds

    def _ask_master(self) -> MasterState:
        """Ask until it answers: on a busy host it may be slow at first."""
        while True:
            try:
                return read_state(self._web_url, timeout_seconds=_MASTER_TIMEOUT_SECONDS)
            except ClusterLostError as error:
                if self._is_too_long():
                    raise
                log.info("Asking the master again: %s", error)
            time.sleep(_START_POLL_SECONDS)

    def _start_workers(self, launcher: DaemonLauncher, master_url: str) -> MasterState:
        """Start them, no more at once than there are cores: side by side they would only slow each other."""
        wanted, at_once = self._spec.machines, os.cpu_count() or 1
        started = registered = 0
        while True:
            for number in range(started + 1, min(wanted, registered + at_once) + 1):
                self._own(launcher.start_worker(number, master_url))
                started = number
            for daemon in self._daemons.values():
                daemon.require_running()
            if not self._order.starter.is_alive():
                raise ClusterStartError("The process that started the cluster ended before it was ready.")
            state = self._ask_master()
            registered = len(state.machines)
            if registered == wanted:
                return state
            if self._is_too_long():
                raise ClusterStartError(
                    f"{registered} of {wanted} workers had registered after {duration(self._elapsed())}.",
                    remedy="Raise start_timeout_seconds, or start fewer machines on a busy host.",
                )
            time.sleep(_START_POLL_SECONDS)

    def _watch(self) -> str:
        """Wait for a reason to end the cluster, and return it."""
        active_at = time.monotonic()
        while True:
            time.sleep(_WATCH_POLL_SECONDS)
            dead = reap_adopted(self._daemons)
            if dead is not None:
                return f"{self._daemons[dead].name} died"
            if self._elapsed() >= self._spec.time_to_live_seconds:
                return f"its time to live of {duration(self._spec.time_to_live_seconds)} was over"
            try:
                is_active = bool(
                    read_state(self._web_url, timeout_seconds=_MASTER_TIMEOUT_SECONDS).applications
                )
            except ClusterLostError as error:
                # A master that is too busy to answer is no idle one. One that never answers again ends
                # with the time to live.
                log.warning("%s", error)
                is_active = True
            if is_active:
                active_at = time.monotonic()
            elif time.monotonic() - active_at >= self._spec.idle_limit_seconds:
                return f"no application was active for {duration(self._spec.idle_limit_seconds)}"

    def _end(self, reason: str) -> None:
        for signum in _STOP_SIGNALS:
            signal.signal(signum, signal.SIG_IGN)
        log.info("Ending the cluster: %s", reason)
        end_descendants(grace_seconds=DAEMON_GRACE_SECONDS)
        for daemon in self._daemons.values():
            daemon.process.poll()
        # Of a task that was killed with the cluster's secret in its hands.
        with contextlib.suppress(MissingResourceError):
            sweep(runtime_folder())
        self._directory.clear(reason=reason)
        log.info("Ended the cluster, %s after its start", duration(self._elapsed()))

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


_MASTER_CLASS = "org.apache.spark.deploy.master.Master"
_WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"
_WEB_URL = re.compile(r"MasterWebUI\b.*\bstarted at (http://\S+)")
_DAEMON_POLL_SECONDS = 0.1
_SECRET_BYTES = 32

# The daemons live for minutes and do little: what counts is how much CPU their start costs.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_DAEMON_MEMORY = "128m"

# Whose settings the daemons must not see. The executors, which inherit their environment, run the
# code of jobs, and that has no business with Airflow's connections.
_FOREIGN_SETTINGS = ("SPARK_", "PYSPARK_", "_PYSPARK_", "AIRFLOW", "_AIRFLOW", "__AIRFLOW")

# Without retries a port that is taken is an error; otherwise Spark would quietly take the next one.
_DEFAULTS = """\
spark.master.rest.enabled false
spark.port.maxRetries 0
spark.ui.killEnabled false
"""


@dataclass(frozen=True)
class Daemon:
    """A master or worker process, whose standard output and error are in its log."""

    name: str
    process: subprocess.Popen[bytes]
    log_file: Path

    def require_running(self) -> None:
        """Raise a ClusterStartError with the end of its log if it has ended."""
        if self.process.poll() is not None:
            raise ClusterStartError(
                f"{self.name} ended with exit code {self.process.returncode}.\n{tail(self.log_file)}"
            )


class DaemonLauncher:
    """Starts Spark's master and workers. They end with the process (and thread) that starts them."""

    def __init__(self, order: KeeperOrder, directory: ClusterDirectory) -> None:
        self._spec = order.spec
        self._directory = directory
        directory.write_secret(secrets.token_hex(_SECRET_BYTES), defaults=_DEFAULTS)
        directory.work.mkdir(parents=True, exist_ok=True)
        self._environment = _environment(directory, order.spark_home)
        self._program = f"{order.spark_home}/bin/spark-class"

    def start_master(self) -> Daemon:
        """Start the master; its web page gets a free port."""
        arguments = ["--host", MASTER_HOST, "--port", str(self._spec.master_port), "--webui-port", "0"]
        return self._start("master", MASTER_HOST, [_MASTER_CLASS, *arguments])

    def start_worker(self, index: int, master_url: str) -> Daemon:
        """Start worker number `index`, counted from 1.

        Each has an address of its own: Spark would read the shuffle files of a worker at the same
        address directly, and machines that exchange data for nothing are no model of a cluster.
        """
        host = f"127.0.1.{index}"
        arguments = [
            *("--host", host, "--port", "0", "--webui-port", "0"),
            *("--cores", str(self._spec.cores_per_machine)),
            *("--memory", f"{self._spec.memory_megabytes_per_machine}m"),
            *("--work-dir", str(self._directory.work / str(index)), master_url),
        ]
        return self._start(f"worker-{index}", host, [_WORKER_CLASS, *arguments])

    def _start(self, name: str, host: str, class_and_arguments: list[str]) -> Daemon:
        log_file = self._directory.logs / f"{name}.log"
        with log_file.open("wb") as output:
            process = subprocess.Popen(
                [
                    self._program,
                    *class_and_arguments,
                    "--properties-file",
                    str(self._directory.defaults_file),
                ],
                env={**self._environment, "SPARK_LOCAL_IP": host, "SPARK_LOCAL_HOSTNAME": host},
                cwd=self._directory.path,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent(),
            )
        log.info("Started %s at %s, pid %d", name, host, process.pid)
        return Daemon(name, process, log_file)


def _environment(directory: ClusterDirectory, spark_home: str) -> dict[str, str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN_SETTINGS)
    }
    # Executors look for "python3" where the submitter names no other: let it be the one that has pyspark.
    path = [str(Path(sys.executable).parent), environment.get("PATH", os.defpath)]
    return environment | {
        "PATH": os.pathsep.join(path),
        "SPARK_HOME": spark_home,
        # None: neither the installation's own configuration applies, nor do files on the class path keep Java
        # from sharing the classes that it has read before.
        "SPARK_CONF_DIR": str(directory.conf / "none"),
        "SPARK_LOCAL_DIRS": str(directory.scratch / "local"),
        "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
        "SPARK_DAEMON_JAVA_OPTS": _JAVA_OPTIONS,
    }


def main() -> int:
    """Detach from the starter and keep its cluster; see the module."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    directory = ClusterDirectory(Path(sys.argv[1]))
    order = directory.read_order()
    with directory.locked():
        readable, writable = os.pipe()
        if os.fork() > 0:
            # The starter waits for this process only, and so never has a keeper among its children.
            os.close(writable)
            os._exit(0 if os.read(readable, 1) else 1)
        os.close(readable)
        for signum in _STOP_SIGNALS:
            signal.signal(signum, _request_stop)
        adopt_orphans()
        keeper = Keeper(order, directory)
        os.write(writable, b"1")
        os.close(writable)
        return 0 if keeper.run() else 1


def _request_stop(signum: int, _frame: FrameType | None) -> NoReturn:
    for other in _STOP_SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise StopRequestedError(f"the keeper got {signal.Signals(signum).name}")


if __name__ == "__main__":
    sys.exit(main())
