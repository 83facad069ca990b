"""Following a run from beside spark-submit: progress for the log, time spent waiting, limits."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_provider_ernest.eventlog.files import application_of_name, find_event_log
from airflow_provider_ernest.eventlog.reading import EventLogProgress
from airflow_provider_ernest.exceptions import ClusterLostError
from airflow_provider_ernest.spark.master import read_state
from airflow_provider_ernest.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType
    from typing import Any, Self

POLL_SECONDS = 1.0
REPORT_SECONDS = 10.0
CLUSTER_LOST_SECONDS = 15.0
"""The master may be silent this long: a driver whose cluster has died would wait for ever."""
REGISTER_SECONDS = 120.0
"""Granted machines may take this long to register. If an executor's JVM cannot start, because of a wrong
option for example, the master starts another one, again and again, and the driver would wait for ever."""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """How long a run may wait for its machines, and how long it may take once it has them."""

    wait_seconds: float
    run_seconds: float | None = None


def require_workers(web_url: str, machines: int) -> None:
    """Raise a `ClusterLostError` if the cluster has lost machines that a run would wait for in vain."""
    state = read_state(web_url, timeout_seconds=10.0)
    alive = len(state.machines)
    if alive < machines:
        lost = f" (lost: {', '.join(state.lost)})" if state.lost else ""
        raise ClusterLostError(
            f"The run needs {machines} machines, and of the cluster at {web_url} {alive} are alive{lost}.",
            remedy="Machines were lost, as by a spot interruption: clear the task that starts the cluster to "
            "have it start anew, or take on-demand machines.",
        )


class RunWatch:
    """Watches one run in a thread of its own while the main thread is in spark-submit.

    Use it as a context manager around the submission. When a limit is passed, or the cluster or a machine of
    the run is lost, it calls `end`, once and from its thread, and keeps the reason in `ended_because`. Only
    this run writes its event log into the directory; without a standalone master's page (`web_url`) waiting
    cannot be told from starting.
    """

    def __init__(
        self,
        *,
        directory: Path,
        machines: int,
        cores: int,
        web_url: str | None,
        limits: RunLimits,
        end: Callable[[], object],
        log: Any,
    ) -> None:
        self.waited_seconds = 0.0
        self.application_id: str | None = None
        self.ended_because: str | None = None
        self._directory = directory
        self._machines = machines
        self._cores = cores
        self._web_url = web_url
        self._limits = limits
        self._end = end
        self._log = log
        self._progress = EventLogProgress()
        self._waiting_since: float | None = None
        self._granted_at: float | None = None
        self._alive: int | None = None
        self._master_seen_at = self._reported_at = time.monotonic()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="ernest-run-watch", daemon=True)

    def __enter__(self) -> Self:
        """Start watching."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop watching."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        started_at = time.monotonic()
        while not self._stopped.wait(POLL_SECONDS):
            event_log = find_event_log(self._directory)
            if event_log is not None:
                if self.application_id is None:
                    self.application_id = application_of_name(event_log.name)
                    self._log.info("Spark application %s, event log %s", self.application_id, event_log)
                self._progress.read(event_log)
            self._look_at_master()
            reason = self._reason_to_end(time.monotonic() - started_at)
            if reason is not None:
                self.ended_because = reason
                self._log.error("Ending the run: %s", reason)
                self._end()
                return
            self._report()

    def _look_at_master(self) -> None:
        if self._web_url is None:
            is_running = self._progress.tasks or not self._progress.is_followed
            self._granted_at = self._granted_at or (time.monotonic() if is_running else None)
            return
        try:
            state = read_state(self._web_url, timeout_seconds=5.0)
        except ClusterLostError:
            return
        now = self._master_seen_at = time.monotonic()
        self._alive = len(state.machines)
        granted = next((app.cores for app in state.applications if app.id == self.application_id), None)
        if granted is None or self._granted_at is not None:
            return
        if granted >= self._cores:
            self._granted_at = now
            self.waited_seconds = now - self._waiting_since if self._waiting_since is not None else 0.0
        elif self._waiting_since is None:
            self._waiting_since = now
            self._log.info("Waiting for machines: other runs hold some of them")

    def _reason_to_end(self, watched_seconds: float) -> str | None:
        now = time.monotonic()
        if self._web_url is not None and now - self._master_seen_at > CLUSTER_LOST_SECONDS:
            lost = duration(CLUSTER_LOST_SECONDS)
            return f"the cluster's master at {self._web_url} has not answered for {lost}"
        if self._progress.lost is not None:
            return f"it lost {self._progress.lost}; its time would be no measurement"
        if self._granted_at is None:
            if self._alive is not None and self._alive < self._machines:
                return (
                    f"it waits for {self._machines} machines, and {self._alive} of the cluster are still "
                    "alive (lost to a spot interruption?)"
                )
            if watched_seconds > self._limits.wait_seconds:
                return f"it did not get its {self._cores} cores within {duration(self._limits.wait_seconds)}"
        elif self._is_short_of_machines and now - self._granted_at > REGISTER_SECONDS:
            return (
                f"{self._progress.executors} of its {self._machines} machines registered "
                f"within {duration(REGISTER_SECONDS)}; see the executors' stderr on the workers (a wrong "
                "JVM option?)"
            )
        elif self._limits.run_seconds is not None and now - self._granted_at > self._limits.run_seconds:
            return f"it took longer than run_timeout_seconds={self._limits.run_seconds:.0f}"
        return None

    @property
    def _is_short_of_machines(self) -> bool:
        return self._progress.is_followed and self._progress.executors < self._machines

    def _report(self) -> None:
        now = time.monotonic()
        if now - self._reported_at < REPORT_SECONDS:
            return
        self._reported_at = now
        if self._granted_at is not None:
            self._log.info("Running for %s: %s", duration(round(now - self._granted_at)), self._progress)
        elif self._waiting_since is not None:
            self._log.info("Waiting for machines for %s", duration(round(now - self._waiting_since)))
        else:
            self._log.info("Starting the driver")
