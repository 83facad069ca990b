"""The directory of a local cluster: how starter, keeper and terminator, all different processes, meet.

::

    order.json      what the starter wants of the keeper
    state.json      who the keeper is, and the cluster's handle once it is ready; there while it runs
    starting        held by a starter while it starts the cluster; says which process that is
    lock            held by the keeper while it lives
    stopped         why the last cluster ended
    keeper.log      what the keeper says
    logs/           of master and workers; executors/ has those of the executors
    conf/           Spark's configuration of the daemons; with the secret, removed at the end
    client.conf     properties that spark-submit needs there: the secret; removed at the end
    scratch/        work and shuffle files; removed at the end
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from airflow_provider_ernest.clusters.base import ClusterHandle
from airflow_provider_ernest.clusters.local_spec import LocalClusterSpec
from airflow_provider_ernest.exceptions import ClusterError, ClusterStartError, InvalidDocumentError
from airflow_provider_ernest.model.documents import Document
from airflow_provider_ernest.processes import ProcessIdentity

log = logging.getLogger(__name__)

TAIL_LINES = 20
STATE_FILE = "state.json"
CLIENT_FILE = "client.conf"
_POLL_SECONDS = 0.1
_SECRET_LINES = "spark.authenticate true\nspark.authenticate.secret "  # noqa: S105  what a secret stands behind


@dataclass(frozen=True, kw_only=True)
class KeeperOrder(Document):
    """What the starter wants of the keeper.

    Attributes:
        name: of the cluster.
        spec: what to start.
        java: the ``java`` program.
        spark_home: the Spark installation.
        starter: the keeper gives up when this process ends before the cluster is ready.
    """

    name: str
    spec: LocalClusterSpec
    java: str
    spark_home: str
    starter: ProcessIdentity


@dataclass(frozen=True, kw_only=True)
class ClusterState(Document):
    """What a keeper tells of its cluster.

    Attributes:
        keeper: its process.
        spec: what it was asked for.
        workers_registered: with the master so far.
        handle: of the cluster; None until it is ready.
        cpu_groups: directories of the control groups made for it.
    """

    keeper: ProcessIdentity
    spec: LocalClusterSpec
    workers_registered: int = 0
    handle: ClusterHandle | None = None
    cpu_groups: tuple[str, ...] = ()


class ClusterDirectory:
    """Names, reads and writes the files of a local cluster.

    Args:
        path: the directory; made by `create`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.order_file = path / "order.json"
        self.state_file = path / STATE_FILE
        self.reason_file = path / "stopped"
        self.keeper_log = path / "keeper.log"
        self.logs = path / "logs"
        self.conf = path / "conf"
        self.defaults_file = self.conf / "spark-defaults.conf"
        self.client_file = path / CLIENT_FILE
        self.scratch = path / "scratch"
        self.work = self.scratch / "work"

    def create(self) -> None:
        """Make it, for the own user only: logs can hold what a job prints.

        Raises:
            ClusterError: it cannot be made.
        """
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
        """Hold the directory: the kernel lets go of it when this process ends, however that happens.

        Raises:
            ClusterError: another keeper holds it.
        """
        with (self.path / "lock").open("w") as file:
            if not _is_locked_by_us(file):
                raise ClusterError(f"Another keeper holds {self.path}.")
            yield

    @contextlib.contextmanager
    def starting(self, *, wait_seconds: float) -> Iterator[None]:
        """Be the only process that starts a cluster here; wait while another one does.

        Args:
            wait_seconds: how long to wait for the other one at most.

        Raises:
            ClusterStartError: the other one has not ended by then; says which process it is.
        """
        give_up_at = time.monotonic() + wait_seconds
        with (self.path / "starting").open("a+", encoding="utf-8") as file:
            while not _is_locked_by_us(file):
                if time.monotonic() >= give_up_at:
                    file.seek(0)
                    other = file.read() or "of unknown id"
                    raise ClusterStartError(
                        f"Process {other} has been starting a cluster in {self.path} for more than "
                        f"{wait_seconds:g} s.",
                        remedy="Let it end, or end it, and try again.",
                    )
                time.sleep(_POLL_SECONDS)
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def write_order(self, order: KeeperOrder) -> None:
        """Store the starter's order."""
        _write_atomically(self.order_file, json.dumps(order.to_dict(), indent=1))

    def read_order(self) -> KeeperOrder:
        """The starter's order.

        Raises:
            InvalidDocumentError: the file is none.
        """
        return KeeperOrder.from_dict(_read_json(self.order_file))

    def write_secret(self, secret: str, *, defaults: str) -> None:
        """Have the daemons and whoever submits to them share a secret; only this user may read it.

        Args:
            secret: of letters and digits.
            defaults: the other properties of the daemons.
        """
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

    def remove_secret(self) -> None:
        """Forget it, when the cluster has ended."""
        self.defaults_file.unlink(missing_ok=True)
        self.client_file.unlink(missing_ok=True)

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

    def remove_state(self) -> None:
        """Say that no cluster runs any more."""
        self.state_file.unlink(missing_ok=True)

    def write_reason(self, reason: str) -> None:
        """Store why the cluster ended."""
        _write_atomically(self.reason_file, reason)

    def read_reason(self) -> str | None:
        """Why the last cluster ended; None while it runs, or when nobody could write it down."""
        try:
            return self.reason_file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def forget_reason(self) -> None:
        """A new cluster starts: why the last one ended is of no interest any more."""
        self.reason_file.unlink(missing_ok=True)

    def remove_scratch(self) -> None:
        """Remove what executors wrote, but keep their logs."""
        for file in self.work.glob("*/*/*/std*"):
            if file.name in ("stdout", "stderr") and file.stat().st_size > 0:
                kept = self.logs / "executors" / file.relative_to(self.work)
                kept.parent.mkdir(parents=True, exist_ok=True)
                file.replace(kept)
        shutil.rmtree(self.scratch, ignore_errors=True)


def tail(file: Path, *, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, under a line that names it; for error messages."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        return f"{file} cannot be read: {error}."
    last = text.splitlines()[-lines:]
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
