"""Spark's own master and worker processes, started by java on loopback addresses."""

from __future__ import annotations

import logging
import os
import re
import secrets
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from airflow_provider_ernest.clusters.directory import ClusterDirectory, tail
from airflow_provider_ernest.clusters.installation import daemon_command, scala_version
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import ClusterStartError
from airflow_provider_ernest.processes import die_with_parent

log = logging.getLogger(__name__)

MASTER_HOST = "127.0.0.1"

_MASTER_CLASS = "org.apache.spark.deploy.master.Master"
_WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"

# The daemons live for minutes and do little: what counts is how much CPU their start costs.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_DAEMON_MEMORY = "128m"

# Whose settings the daemons must not see. The executors, which inherit their environment, run the
# code of jobs, and that has no business with Airflow's connections.
_FOREIGN_SETTINGS = ("SPARK_", "PYSPARK_", "_PYSPARK_", "AIRFLOW", "_AIRFLOW", "__AIRFLOW")

_WEB_URL = re.compile(r"MasterWebUI\b.*\bstarted at (http://\S+)")
_POLL_SECONDS = 0.1

_LOGGING = """\
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""

# Without retries a port that is taken is an error; otherwise Spark would quietly take the next one.
_DEFAULTS = """\
spark.master.rest.enabled false
spark.port.maxRetries 0
spark.ui.killEnabled false
"""
_SECRET_BYTES = 32


@dataclass(frozen=True)
class Daemon:
    """A master or worker process.

    Args:
        name: "master" or "worker-1" and so on.
        process: which this process must wait for.
        log_file: its standard output and error.
    """

    name: str
    process: subprocess.Popen[bytes]
    log_file: Path

    def require_running(self) -> None:
        """Check that it has not ended.

        Raises:
            ClusterStartError: it has; with the end of its log.
        """
        if self.process.poll() is not None:
            raise ClusterStartError(
                f"{self.name} ended with exit code {self.process.returncode}.\n{tail(self.log_file)}"
            )


class DaemonLauncher:
    """Starts the daemons of one cluster. They end with the process (and thread) that starts them.

    Args:
        spec: the cluster wanted.
        directory: of the cluster.
        java: the ``java`` program.
        spark_home: the Spark installation.
    """

    def __init__(
        self, spec: LocalClusterSpec, directory: ClusterDirectory, *, java: Path, spark_home: Path
    ) -> None:
        self._spec = spec
        self._directory = directory
        (directory.conf / "log4j2.properties").write_text(_LOGGING)
        directory.write_secret(secrets.token_hex(_SECRET_BYTES), defaults=_DEFAULTS)
        directory.work.mkdir(parents=True, exist_ok=True)
        self._environment = _environment(directory, spark_home)
        self._command = daemon_command(java, spark_home, self._environment)

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
        spec = self._spec
        arguments = ["--host", host, "--port", "0", "--webui-port", "0"]
        arguments += ["--cores", str(spec.cores_per_machine)]
        arguments += ["--memory", f"{spec.memory_megabytes_per_machine}m"]
        arguments += ["--work-dir", str(self._directory.work / str(index)), master_url]
        return self._start(f"worker-{index}", host, [_WORKER_CLASS, *arguments])

    def _start(self, name: str, host: str, class_and_arguments: list[str]) -> Daemon:
        log_file = self._directory.logs / f"{name}.log"
        with log_file.open("wb") as output:
            process = subprocess.Popen(
                [*self._command, *class_and_arguments],
                env={**self._environment, "SPARK_LOCAL_IP": host, "SPARK_LOCAL_HOSTNAME": host},
                cwd=self._directory.path,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent(),
            )
        log.info("Started %s at %s, pid %d", name, host, process.pid)
        return Daemon(name, process, log_file)


def wait_for_web_url(master: Daemon, *, deadline: float) -> str:
    """Wait until the master says in its log where its web page is.

    Args:
        master: the daemon.
        deadline: until when, on the clock of `time.monotonic`.

    Raises:
        ClusterStartError: it ended, or has not said it by then.
    """
    while True:
        # Looked at before the log: what it wrote last is there to be read once it has ended.
        master.require_running()
        found = _WEB_URL.search(master.log_file.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found[1]
        if time.monotonic() >= deadline:
            raise ClusterStartError(f"The master did not come up in time.\n{tail(master.log_file)}")
        time.sleep(_POLL_SECONDS)


def _environment(directory: ClusterDirectory, spark_home: Path) -> dict[str, str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN_SETTINGS)
    }
    # Executors look for "python3" where the submitter names no other: let it be the one that has pyspark.
    path = [str(Path(sys.executable).parent), environment.get("PATH", os.defpath)]
    return environment | {
        "PATH": os.pathsep.join(path),
        "SPARK_HOME": str(spark_home),
        "SPARK_CONF_DIR": str(directory.conf),
        "SPARK_LOCAL_DIRS": str(directory.scratch / "local"),
        "SPARK_SCALA_VERSION": scala_version(spark_home),
        "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
        "SPARK_DAEMON_JAVA_OPTS": _JAVA_OPTIONS,
    }
