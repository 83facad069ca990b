"""A Spark standalone cluster on the own host, for trying things out and for tests.

It is a real one: a master and one worker process for each machine, each with an address of its own, so
that what executors exchange passes through sockets. What it cannot show is more CPU than the host has.
Master and workers listen on loopback addresses only, and share a secret with whoever may submit to them: else
anybody with an account on the host could run code as the user of the Airflow worker.

All tasks that use a local cluster must run on one host.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from airflow_provider_ernest.clusters.base import ClusterHandle, Kind, register
from airflow_provider_ernest.clusters.local_spec import LOCAL, LocalClusterSpec
from airflow_provider_ernest.documents.base import Document
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterLostError,
    ClusterStartError,
    InvalidDocumentError,
    InvalidParameterError,
)
from airflow_provider_ernest.processes import ProcessIdentity, end_processes, find_by_environment
from airflow_provider_ernest.spark.installation import find_java, find_spark_home
from airflow_provider_ernest.words import duration

log = logging.getLogger(__name__)

MASTER_HOST = "127.0.0.1"
DIRECTORY_VARIABLE = "ERNEST_LOCAL_CLUSTER"
"""All processes of a cluster carry its directory in this environment variable."""
STATE_FILE = "state.json"
CLIENT_FILE = "client.conf"

# The keeper itself counts the start's time; this is for its own start and its cleaning up.
_KEEPER_SECONDS = 30.0
_STOP_SECONDS = 30.0
_SWEEP_GRACE_SECONDS = 3.0
_POLL_SECONDS = 0.1
_TAIL_LINES = 20
# They separate the entries of Java's class path and of Spark's list of directories.
_FORBIDDEN_IN_PATHS = ":,*"
_SECRET_LINES = "spark.authenticate true\nspark.authenticate.secret "  # noqa: S105  what a secret stands behind


class LocalCluster:
    """A local cluster, as seen by whoever starts or ends it; its life is the keeper's matter.

    Its directory, which it shares with no other, holds state and logs, and tells which cluster is meant.
    """

    def __init__(self, spec: LocalClusterSpec, *, name: str, directory: Path) -> None:
        self.spec = spec
        self.name = name
        self.directory = Path(directory).absolute()
        self._files = ClusterDirectory(self.directory)
        self._longest_start_seconds = spec.start_timeout_seconds + _KEEPER_SECONDS
        if any(character in str(directory) for character in _FORBIDDEN_IN_PATHS):
            raise InvalidParameterError(
                "directory",
                str(directory),
                f"contains one of {_FORBIDDEN_IN_PATHS!r}, which neither Java nor Spark allow in paths",
            )

    @classmethod
    def from_handle(cls, handle: ClusterHandle, *, below: Path) -> LocalCluster:
        """The cluster of a handle, to end it from another process.

        A handle has come through XCom, where others may write, and what is in its directory is removed at the
        end. So an InvalidParameterError is raised unless it is one that only we make, `below` the folder of
        all local clusters, and its master is on this host.
        """
        directory = Path(handle.directory or "/")
        problem = ""
        # Links and ".." followed: what counts is where it really lies.
        real, folder = directory.resolve(), below.resolve()
        if real == folder or not real.is_relative_to(folder):
            problem = f"lies in {directory}, which is not below {below}"
        elif directory.exists() and directory.stat().st_uid != os.geteuid():
            problem = f"lies in {directory}, which belongs to another user"
        elif not handle.machines or not handle.master_url.startswith(f"spark://{MASTER_HOST}:"):
            problem = f"has {len(handle.machines)} machines and its master at {handle.master_url}"
        if problem:
            raise InvalidParameterError(
                "cluster",
                handle.name,
                f"{problem}: that is not a local cluster of this Airflow worker",
                remedy="Pass the output of the task that started the local cluster unchanged, and set "
                "[ernest] clusters alike for all tasks.",
            )
        spec = LocalClusterSpec(
            machines=len(handle.machines),
            cores_per_machine=handle.cores_per_machine,
            memory_megabytes_per_machine=min(machine.memory_megabytes for machine in handle.machines),
        )
        return cls(spec, name=handle.name, directory=directory)

    def start(self) -> ClusterHandle:
        """Start the cluster and wait until all of its machines are there.

        A cluster that already runs in the directory, such as that of an earlier try of the task, is taken
        over if it has the same specification; otherwise it is ended first. If another process is starting one
        there, it is waited for. A failed start ends what it has started.

        Raises:
            MissingResourceError: Java or Spark is missing.
            ClusterStartError: it did not become ready, with the end of the log that tells why; or another
                process takes too long to start its own.
        """
        self._files.create()
        with self._files.starting(wait_seconds=self._longest_start_seconds):
            state = self._files.read_state()
            if state and state.handle and state.spec == self.spec and state.keeper.is_alive():
                log.info("Cluster %s already runs at %s", self.name, state.handle.master_url)
                return state.handle
            log.info("Before the start of cluster %s: %s", self.name, self.terminate())
            find_java()  # without one that Spark can run on, nothing is started
            order = KeeperOrder(
                name=self.name,
                spec=self.spec,
                spark_home=str(find_spark_home()),
                starter=ProcessIdentity.of(os.getpid()),
            )
            self._files.write_order(order)
            try:
                self._launch_keeper()
                return self._wait_until_ready()
            except BaseException:
                log.info("The start of cluster %s failed: %s", self.name, self.terminate())
                raise

    def terminate(self) -> str:
        """End the cluster, whatever is left of it, from any process of the user; returns what was done."""
        began = time.monotonic()
        state = self._files.read_state()
        done = []
        if state is not None and state.keeper.signal(signal.SIGTERM):
            while state.keeper.is_alive() and time.monotonic() - began < _STOP_SECONDS:
                time.sleep(_POLL_SECONDS)
            done.append(f"ended its keeper {state.keeper.pid}")
        marked = find_by_environment(DIRECTORY_VARIABLE, str(self.directory))
        left = end_processes(marked, grace_seconds=_SWEEP_GRACE_SECONDS)
        if left:
            done.append(f"ended left-over processes {left}")
        if state is not None and not done:
            done.append(f"cleaned up after its keeper {state.keeper.pid}, which had died,")
        self._files.clear()
        if not done:
            reason = self._files.why_stopped()
            return "nothing to do, no cluster runs" + (f"; the last one ended: {reason}" if reason else "")
        return f"{', '.join(done)} in {duration(time.monotonic() - began)}"

    def secret(self) -> str:
        """The secret that its processes share. Do not log it, and keep it out of command lines."""
        secret = self._files.read_secret()
        if secret is None:
            reason = self._files.why_stopped() or "nobody could write down why"
            raise ClusterLostError(
                f"Cluster {self.name} has ended: {reason}.",
                remedy="Clear the task that starts it.",
            )
        return secret

    def _launch_keeper(self) -> None:
        environment = {**os.environ, DIRECTORY_VARIABLE: str(self.directory)}
        package_root = Path(__file__).parents[2]
        if package_root.name not in ("site-packages", "dist-packages"):  # a source tree: not found otherwise
            earlier = environment.get("PYTHONPATH")
            environment["PYTHONPATH"] = os.pathsep.join([str(package_root), *([earlier] if earlier else [])])
        with self._files.keeper_log.open("ab") as output:
            launched = subprocess.run(
                [sys.executable, "-m", "airflow_provider_ernest.clusters.keeper", str(self.directory)],
                env=environment,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                timeout=_KEEPER_SECONDS,
                check=False,
            )
        if launched.returncode != 0:
            raise ClusterStartError(f"The cluster's keeper did not start.\n{tail(self._files.keeper_log)}")

    def _wait_until_ready(self) -> ClusterHandle:
        began = time.monotonic()
        while True:
            state = self._files.read_state()
            if state is None or not state.keeper.is_alive():
                reason = self._files.why_stopped() or f"its keeper died.\n{tail(self._files.keeper_log)}"
                raise ClusterStartError(f"Cluster {self.name} did not start: {reason}")
            if state.handle is not None:
                return state.handle
            elapsed = time.monotonic() - began
            if elapsed > self._longest_start_seconds:
                log_end = tail(self._files.keeper_log)
                raise ClusterStartError(
                    f"Cluster {self.name} was not ready after {duration(round(elapsed))}.\n{log_end}"
                )
            time.sleep(_POLL_SECONDS)


def _spark_conf() -> dict[str, str]:
    """Executors share the driver's machine: they find its packages, and nobody else finds the driver."""
    return {
        "spark.pyspark.python": sys.executable,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


register(
    LOCAL,
    Kind(
        terminate=lambda handle, clusters, _: LocalCluster.from_handle(handle, below=clusters).terminate(),
        # One that has ended limits nothing: the next one may be larger.
        limits_production=lambda handle: bool(handle.master_url),
        spark_conf=_spark_conf,
    ),
)


class KeeperOrder(Document):
    """What the starter wants of the keeper, who gives up when that process ends before all is ready."""

    name: str
    spec: LocalClusterSpec
    spark_home: str
    starter: ProcessIdentity


class ClusterState(Document):
    """What a keeper tells of its cluster: a handle once it is ready."""

    keeper: ProcessIdentity
    spec: LocalClusterSpec
    handle: ClusterHandle | None = None


class ClusterDirectory:
    """The directory of a local cluster: how starter, keeper and terminator, all different processes, meet.

    ::

        order.json      what the starter wants of the keeper
        state.json      who the keeper is, and the cluster's handle once it is ready; there while it runs
        starting        held by a starter while it starts the cluster
        lock            held by the keeper while it lives
        stopped         why the last cluster ended
        keeper.log      what the keeper says
        logs/           of master and workers; executors/ has those of the executors
        conf/           Spark's configuration of the daemons; with the secret, removed at the end
        client.conf     properties that spark-submit needs there: the secret; removed at the end
        scratch/        work and shuffle files; removed at the end
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state_file = path / STATE_FILE
        self.keeper_log = path / "keeper.log"
        self.logs = path / "logs"
        self.conf = path / "conf"
        self.defaults_file = self.conf / "spark-defaults.conf"
        self.client_file = path / CLIENT_FILE
        self.scratch = path / "scratch"
        self.work = self.scratch / "work"
        self._order_file = path / "order.json"
        self._reason_file = path / "stopped"

    def create(self) -> None:
        """Make it, for the own user only: logs can hold what a job prints."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            for part in (self.logs, self.conf):
                part.mkdir(exist_ok=True)
        except OSError as error:
            raise ClusterError(
                f"The directory {self.path} of the local cluster cannot be made: {error}.",
                remedy="Name a directory of a local file system that the Airflow worker may write to.",
            ) from error

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the directory: the kernel lets go of it when this process ends, however that happens."""
        with (self.path / "lock").open("w") as file:
            if not _is_locked_by_us(file):
                raise ClusterError(f"Another keeper holds {self.path}.")
            yield

    @contextlib.contextmanager
    def starting(self, *, wait_seconds: float) -> Iterator[None]:
        """Be the only process that starts a cluster here; wait while another one does, but not longer."""
        give_up_at = time.monotonic() + wait_seconds
        with (self.path / "starting").open("w") as file:
            while not _is_locked_by_us(file):
                if time.monotonic() >= give_up_at:
                    raise ClusterStartError(
                        f"Another process has been starting a cluster in {self.path} for more than "
                        f"{duration(wait_seconds)}.",
                        remedy="Let it end, or end it, and try again.",
                    )
                time.sleep(_POLL_SECONDS)
            yield

    def write_order(self, order: KeeperOrder) -> None:
        """A new cluster starts: why the last one ended is of no interest any more."""
        self._reason_file.unlink(missing_ok=True)
        _write_atomically(self._order_file, json.dumps(order.to_dict(), indent=1))

    def read_order(self) -> KeeperOrder:
        """What `write_order` wrote."""
        return KeeperOrder.from_dict(_read_json(self._order_file))

    def write_secret(self, secret: str, *, defaults: str) -> None:
        """Have the daemons, with their `defaults`, and submitters share a secret that only we may read."""
        properties = f"{_SECRET_LINES}{secret}\n"
        for file, text in ((self.defaults_file, defaults + properties), (self.client_file, properties)):
            file.unlink(missing_ok=True)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
                opened.write(text)

    def read_secret(self) -> str | None:
        """The secret; None where no cluster runs."""
        try:
            return self.client_file.read_text().removeprefix(_SECRET_LINES).strip()
        except FileNotFoundError:
            return None

    def write_state(self, state: ClusterState) -> None:
        """Replace the state as a whole: no reader ever sees half of one."""
        _write_atomically(self.state_file, json.dumps(state.to_dict(), indent=1))

    def read_state(self) -> ClusterState | None:
        """What the keeper told last; None where no cluster runs, or where the file cannot be read."""
        try:
            return ClusterState.from_dict(_read_json(self.state_file))
        except FileNotFoundError:
            return None
        except InvalidDocumentError as error:
            # Its processes still can be found: they carry the directory in their environment.
            log.warning("Ignoring the state of a local cluster in %s: %s", self.state_file, error)
            return None

    def why_stopped(self) -> str | None:
        """Why the last cluster ended; None while it runs, or when nobody could write it down."""
        try:
            return self._reason_file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def clear(self, *, reason: str | None = None) -> None:
        """Remove what a cluster that has ended leaves: what executors wrote but their logs, secret and state.

        The state goes last: who waits for its end reads the reason then.
        """
        for file in self.work.glob("*/*/*/std*"):
            if file.name in ("stdout", "stderr") and file.stat().st_size > 0:
                kept = self.logs / "executors" / file.relative_to(self.work)
                kept.parent.mkdir(parents=True, exist_ok=True)
                file.replace(kept)
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.defaults_file.unlink(missing_ok=True)
        self.client_file.unlink(missing_ok=True)
        if reason is not None:
            _write_atomically(self._reason_file, reason)
        self.state_file.unlink(missing_ok=True)


def tail(file: Path) -> str:
    """The last lines of a log, under a line that names it; for error messages."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"{file} cannot be read: {error}."
    last = text.splitlines()[-_TAIL_LINES:]
    return f"{file} is empty." if not last else "\n".join([f"{file} ends with:", *last])


def _is_locked_by_us(file: IO[str]) -> bool:
    """Take the lock of a file, which lasts until it is closed; False where another process has it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidDocumentError(f"{file} holds no JSON: {error}.") from error


def _write_atomically(file: Path, text: str) -> None:
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(file)
