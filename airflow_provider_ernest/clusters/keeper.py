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
import signal
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import NoReturn

from airflow_provider_ernest.clusters.base import LOCAL, ClusterHandle, Machine
from airflow_provider_ernest.clusters.cpu_share import CpuGroup, find_cpu_controller, remove_group
from airflow_provider_ernest.clusters.daemons import Daemon, DaemonLauncher, wait_for_web_url
from airflow_provider_ernest.clusters.directory import ClusterDirectory, ClusterState, KeeperOrder
from airflow_provider_ernest.exceptions import (
    ClusterError,
    ClusterLostError,
    ClusterStartError,
    MissingResourceError,
)
from airflow_provider_ernest.owned_folders import runtime_folder, sweep
from airflow_provider_ernest.processes import ProcessIdentity, adopt_orphans, end_descendants, reap_adopted
from airflow_provider_ernest.spark.master import MasterState, read_state

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
    """Starts the daemons of a cluster, watches over them and ends them.

    Args:
        order: what the starter wants.
        directory: of the cluster.
    """

    def __init__(self, order: KeeperOrder, directory: ClusterDirectory) -> None:
        self._order = order
        self._spec = order.spec
        self._directory = directory
        self._started = time.monotonic()
        self._expires_at = datetime.now(UTC) + timedelta(seconds=order.spec.time_to_live_seconds)
        self._state = ClusterState(keeper=ProcessIdentity.of(os.getpid()), spec=order.spec)
        self._daemons: dict[int, Daemon] = {}
        self._cpu_groups: list[CpuGroup] = []
        self._web_url = ""

    def tell_starter(self) -> None:
        """Write down who keeps the cluster, before there is one."""
        self._directory.write_state(self._state)

    def run(self) -> bool:
        """Start the cluster, keep it until it is to end, end it. Returns whether it has been ready."""
        try:
            self._start()
            reason = self._watch()
        except StopRequestedError as request:
            reason = str(request)
        except ClusterError as error:
            reason = str(error)
        except Exception as error:
            log.exception("The keeper failed")
            reason = f"The keeper failed: {type(error).__name__}: {error}"
        self._end(reason)
        return self._state.handle is not None

    def _start(self) -> None:
        deadline = self._started + self._spec.start_timeout_seconds
        self._create_cpu_groups()
        launcher = DaemonLauncher(
            self._spec,
            self._directory,
            java=Path(self._order.java),
            spark_home=Path(self._order.spark_home),
        )
        master = self._own(launcher.start_master())
        self._web_url = wait_for_web_url(master, deadline=deadline)
        master_url = self._ask_master(deadline).master_url
        workers = [
            self._own(launcher.start_worker(index, master_url)) for index in range(1, self._spec.machines + 1)
        ]
        state = self._wait_for_workers(deadline)
        # Not before: a start under a quota would take many times as long and measure nothing.
        for group, worker in zip(self._cpu_groups, workers, strict=False):
            group.add(worker.process.pid)
        self._update_state(handle=self._make_handle(state))
        log.info("The cluster is ready at %s after %.1f s", master_url, self._elapsed())

    def _own(self, daemon: Daemon) -> Daemon:
        self._daemons[daemon.process.pid] = daemon
        return daemon

    def _create_cpu_groups(self) -> None:
        if self._spec.cpu_share is None:
            return
        controller = find_cpu_controller()
        names = [f"ernest-{os.getpid()}-{index}" for index in range(1, self._spec.machines + 1)]
        # Written down first: should this process be killed, the next one knows what to remove.
        self._update_state(cpu_groups=tuple(str(controller.parent / name) for name in names))
        for name in names:
            self._cpu_groups.append(controller.create_group(name, share=self._spec.cpu_share))

    def _ask_master(self, deadline: float) -> MasterState:
        """Ask until it answers: on a busy host it may be slow at first."""
        while True:
            try:
                return read_state(self._web_url, timeout_seconds=_MASTER_TIMEOUT_SECONDS)
            except ClusterLostError as error:
                if time.monotonic() >= deadline:
                    raise
                log.info("Asking the master again: %s", error)
            time.sleep(_START_POLL_SECONDS)

    def _wait_for_workers(self, deadline: float) -> MasterState:
        while True:
            for daemon in self._daemons.values():
                daemon.require_running()
            if not self._order.starter.is_alive():
                raise ClusterStartError("The process that started the cluster ended before it was ready.")
            state = self._ask_master(deadline)
            registered = len(state.workers_alive)
            if registered != self._state.workers_registered:
                self._update_state(workers_registered=registered)
                log.info("%s", progress(self._state, self._elapsed()))
            if registered == self._spec.machines:
                return state
            if time.monotonic() >= deadline:
                raise ClusterStartError(f"{progress(self._state, self._elapsed())}, then the time was up.")
            time.sleep(_START_POLL_SECONDS)

    def _make_handle(self, state: MasterState) -> ClusterHandle:
        workers = sorted(state.workers_alive, key=lambda worker: int(worker.host.rpartition(".")[2]))
        return ClusterHandle(
            kind=LOCAL,
            name=self._order.name,
            master_url=state.master_url,
            web_url=self._web_url,
            machines=tuple(
                Machine(
                    worker_id=worker.id,
                    host=worker.host,
                    cores=worker.cores,
                    memory_megabytes=worker.memory_megabytes,
                )
                for worker in workers
            ),
            instance_type=self._spec.instance_type,
            cores_per_machine=self._spec.cores_per_machine,
            expires_at=self._expires_at.isoformat(timespec="seconds"),
            directory=str(self._directory.path),
            authenticates=True,
        )

    def _watch(self) -> str:
        """Wait for a reason to end the cluster, and return it."""
        active_at = time.monotonic()
        while True:
            time.sleep(_WATCH_POLL_SECONDS)
            dead = reap_adopted(self._daemons)
            if dead is not None:
                return f"{self._daemons[dead].name} died"
            if self._elapsed() >= self._spec.time_to_live_seconds:
                return f"its time to live of {self._spec.time_to_live_seconds:g} s was over"
            if self._has_applications():
                active_at = time.monotonic()
            elif time.monotonic() - active_at >= self._spec.idle_limit_seconds:
                return f"no application was active for {self._spec.idle_limit_seconds:g} s"

    def _has_applications(self) -> bool:
        try:
            return bool(read_state(self._web_url, timeout_seconds=_MASTER_TIMEOUT_SECONDS).applications)
        except ClusterLostError as error:
            # A master that is too busy to answer is no idle one. One that never answers again ends
            # with the time to live.
            log.warning("%s", error)
            return True

    def _end(self, reason: str) -> None:
        for signum in _STOP_SIGNALS:
            signal.signal(signum, signal.SIG_IGN)
        log.info("Ending the cluster: %s", reason)
        end_descendants(grace_seconds=DAEMON_GRACE_SECONDS)
        for daemon in self._daemons.values():
            daemon.process.poll()
        for group in self._state.cpu_groups:
            remove_group(Path(group))
        self._directory.remove_scratch()
        self._directory.remove_secret()
        # Of a task that was killed with the cluster's secret in its hands.
        with contextlib.suppress(MissingResourceError):
            sweep(runtime_folder())
        self._directory.write_reason(reason)
        self._directory.remove_state()
        log.info("Ended the cluster, %.1f s after its start", self._elapsed())

    def _update_state(self, **changes: object) -> None:
        self._state = replace(self._state, **changes)  # type: ignore[arg-type]
        self._directory.write_state(self._state)

    def _elapsed(self) -> float:
        return time.monotonic() - self._started


def progress(state: ClusterState, seconds: float) -> str:
    """How far a start has come, in words."""
    return f"workers registered {state.workers_registered} of {state.spec.machines} after {seconds:.1f} s"


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
        keeper.tell_starter()
        os.write(writable, b"1")
        os.close(writable)
        return 0 if keeper.run() else 1


def _request_stop(signum: int, _frame: FrameType | None) -> NoReturn:
    for other in _STOP_SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise StopRequestedError(f"the keeper got {signal.Signals(signum).name}")


if __name__ == "__main__":
    sys.exit(main())
