"""Runs: followed from beside spark-submit, and read when they have ended.

A watch logs the progress, measures the time spent waiting, and keeps to limits. From a finished run comes
what a model is fitted to, or what its prediction is compared with.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from airflow_provider_ernest.documents.base import Origin
from airflow_provider_ernest.documents.runs import Experiment, Observation
from airflow_provider_ernest.eventlog.files import application_of_name, find_event_log
from airflow_provider_ernest.eventlog.reading import EventLogProgress
from airflow_provider_ernest.eventlog.run_facts import (
    executors_in_time,
    read_run,
    registered_at,
    require_all_kept,
    require_machines_of_their_own,
    run_metrics,
    run_seconds,
    waited_in_vain_seconds,
)
from airflow_provider_ernest.eventlog.tables import EventLog
from airflow_provider_ernest.exceptions import ClusterLostError, SampleRunError
from airflow_provider_ernest.spark.input import Sample
from airflow_provider_ernest.spark.machines import read_state
from airflow_provider_ernest.spark.sizing import sizing_conf
from airflow_provider_ernest.words import duration

_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")

POLL_SECONDS = 1.0
REPORT_SECONDS = 10.0
CLUSTER_LOST_SECONDS = 15.0
"""The master may be silent this long: a driver whose cluster has died would wait for ever."""
REGISTER_SECONDS = 120.0
"""Granted executors may take this long to register. If an executor's JVM cannot start, because of a wrong
option for example, the master starts another one, again and again, and the driver would wait for ever."""


@dataclass(frozen=True, kw_only=True)
class RunLimits:
    """How long a run may wait for its executors, and how long it may take once it has them."""

    wait_seconds: float
    run_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What to run, and on how many executors. Only this run's event log goes to the local `directory`."""

    name: str
    owner: str  # by which its task, in any of its tries, knows it again; no other task has it
    application: str
    application_args: Sequence[str]
    executors: int
    executor_cores: int
    directory: Path
    limits: RunLimits
    conf: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # named as the arguments of SparkSubmitHook

    def sized_conf(self) -> dict[str, str]:
        """The properties that size it, which win over all others."""
        sizing = sizing_conf(
            executors=self.executors,
            executor_cores=self.executor_cores,
            executors_wait_seconds=self.limits.wait_seconds,
        )
        # The driver's pages have no login and show arguments and properties; the event log has all we need.
        return {**sizing, "spark.ui.enabled": "false"}


def require_workers(web_url: str, executors: int) -> None:
    """Raise a `ClusterLostError` if the cluster has lost machines that a run would wait for in vain."""
    state = read_state(web_url, timeout_seconds=10.0)
    alive = len(state.machines)
    if alive < executors:
        lost = f" (lost: {', '.join(state.lost)})" if state.lost else ""
        raise ClusterLostError(
            f"The run needs {executors} machines, and of the cluster at {web_url} {alive} are alive{lost}.",
            remedy="Machines were lost, as by a spot interruption: clear the task that starts the cluster to "
            "have it start anew, or take on-demand machines.",
        )


class RunWatch:
    """Watches one run in a thread of its own while the main thread is in spark-submit.

    Use it as a context manager around the submission. When a limit is passed, or the cluster or an executor
    of the run is lost, it calls `end`, once and from its thread, and keeps the reason in `ended_because`.
    Without a standalone master's page (`web_url`)
    waiting cannot be told from starting, and Spark begins with the executors that came in time.
    `driver_has_begun` tells of a driver on the cluster, whose event log is not seen before its end; it
    returns None for one on this host.
    """

    def __init__(
        self,
        request: RunRequest,
        *,
        web_url: str | None,
        end: Callable[[], object],
        log: Any,
        driver_has_begun: Callable[[], bool | None] = lambda: None,
    ) -> None:
        self.waited_seconds = 0.0
        self.application_id: str | None = None
        self.ended_because: str | None = None
        self._request = request
        self._limits = request.limits
        self._cores = request.executors * request.executor_cores
        self._web_url = web_url
        self._end = end
        self._log = log
        self._driver_has_begun = driver_has_begun
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
            event_log = find_event_log(self._request.directory)
            if event_log is not None:
                if self.application_id is None:
                    self.application_id = application_of_name(event_log.name)
                    # Spark waits for executors from now on.
                    started_at = time.monotonic() if self._web_url is None else started_at
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
            is_running = self._driver_has_begun() or self._progress.tasks or not self._progress.is_followed
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
        now, wanted = time.monotonic(), self._request.executors
        if self._web_url is not None and now - self._master_seen_at > CLUSTER_LOST_SECONDS:
            lost = duration(CLUSTER_LOST_SECONDS)
            return f"the cluster's master at {self._web_url} has not answered for {lost}"
        if self._progress.lost is not None:
            return f"it lost {self._progress.lost}; its time would be no measurement"
        if self._granted_at is None:
            if self._alive is not None and self._alive < wanted:
                return (
                    f"it waits for {wanted} machines, and {self._alive} of the cluster are still "
                    "alive (lost to a spot interruption?)"
                )
            if watched_seconds > self._limits.wait_seconds and not self._begins_with_fewer:
                return f"it did not get its {self._cores} cores within {duration(self._limits.wait_seconds)}"
        elif self._is_short_of_executors and now - self._granted_at > REGISTER_SECONDS:
            return (
                f"{self._progress.executors} of its {wanted} machines registered "
                f"within {duration(REGISTER_SECONDS)}; see the executors' stderr on the workers (a wrong "
                "JVM option?)"
            )
        elif self._limits.run_seconds is not None and now - self._granted_at > self._most_seconds:
            return f"it took longer than run_timeout_seconds={self._limits.run_seconds:.0f}"
        return None

    @property
    def _begins_with_fewer(self) -> bool:
        return self._web_url is None and self._progress.executors > 0

    @property
    def _is_short_of_executors(self) -> bool:
        is_known = self._web_url is not None and self._progress.is_followed
        return is_known and self._progress.executors < self._request.executors

    @property
    def _most_seconds(self) -> float:
        # A driver on the cluster waits for its executors when it has begun.
        waits = self._limits.wait_seconds if self._driver_has_begun() else 0.0
        return waits + (self._limits.run_seconds or 0.0)

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


def observe(
    experiment: Experiment,
    sample: Sample,
    directory: Path,
    *,
    instance_type: str,
    executors_per_machine: int | None,
    submitted_at: float,
    waited_seconds: float,
    origin: Origin | None = None,
) -> tuple[Observation, EventLog]:
    """Read from a run's event log what it really did; with the log, which nobody need read again.

    Times are seconds since the epoch, but for the seconds that the run waited for executors that others held.
    Only this run wrote its event log into the directory. Where a cluster places executors as it likes, and
    fewer came in time than the experiment asks for, it counts as a run on these.

    Raises:
        SampleRunError: there is no event log, or executors were missing, late or lost.
    """
    event_log = find_event_log(directory)
    if event_log is None:
        raise SampleRunError(
            f"The application wrote no event log into {directory}.",
            remedy="It must be a Spark application, and must not set spark.eventLog.* itself.",
        )
    log = read_run(event_log)
    require_all_kept(log)
    executors = experiment.executors
    if executors_per_machine != 1:
        executors = executors_in_time(log, executors)
    startup_seconds = registered_at(log, executors) - submitted_at - waited_seconds
    if executors_per_machine == 1:
        require_machines_of_their_own(log, executors)
    in_vain_seconds = waited_in_vain_seconds(log, executors) if executors < experiment.executors else 0.0
    observation = Observation(
        index=experiment.index,
        executors=executors,
        scale=sample.scale,
        seconds=run_seconds(log, executors) - in_vain_seconds,
        startup_seconds=max(0.0, startup_seconds),
        waited_seconds=waited_seconds + in_vain_seconds,
        instance_type=instance_type,
        iterations=experiment.iterations,
        application_id=log.application_id,
        event_log=str(event_log),
        hosts=tuple(executor.worker for executor in log.executors),
        metrics=run_metrics(log),
        origin=origin,
        executors_per_machine=executors_per_machine,
    )
    return observation, log


def logged_application(directory: Path) -> str | None:
    """Spark's id of the application that wrote its event log into a folder; None where there is none yet."""
    event_log = find_event_log(directory)
    return application_of_name(event_log.name) if event_log is not None else None


@dataclass(frozen=True, kw_only=True)
class TimedRun:
    """How a run that nobody designed went, such as one of production."""

    executors: int
    seconds: float  # from submission to end
    # the part from the moment that all executors were there, without those that joined during the work, as
    # under dynamic allocation
    run_seconds: float | None = None
    startup_seconds: float | None = None  # the part before
    application_id: str | None = None
    event_log: str | None = None
    log: EventLog | None = None  # None where it cannot be read

    @property
    def spark(self) -> str | None:
        """Spark's version where it is of numbers alone: services (3.5.1-amzn-0) go by their releases."""
        version = (self.log.spark if self.log else None) or ""
        return version if _VERSION.fullmatch(version) else None


def time_run(log: EventLog, *, submitted_at: float | None, executors: int) -> TimedRun:
    """How long a run took on how many executors.

    Without the time of submission (seconds since the epoch) it counts from the driver's start. Replacements
    of lost executors do not count beside those that were asked for.

    Raises:
        SampleRunError: the log has no end, or no executor worked.
    """
    present = log.most_executors
    used = min(present, executors) if log.lost else present
    if used < 1:
        raise SampleRunError(f"Application {log.application_id} had no machine that worked.")
    work_began_at = log.all_there_at(log.executors[:used])
    # Clean time, and what was worked before the last of them had joined.
    seconds = run_seconds(log, used) + registered_at(log, used) - work_began_at
    began_at = log.started_at if submitted_at is None else submitted_at
    startup_seconds = max(0.0, work_began_at - began_at)
    return TimedRun(
        executors=used,
        seconds=startup_seconds + seconds,
        run_seconds=seconds,
        startup_seconds=startup_seconds,
        application_id=log.application_id,
        log=log,
    )
