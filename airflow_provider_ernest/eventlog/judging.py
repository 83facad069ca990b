"""Whether a run's time says something about its job: of the history, and of a single log that is analysed.

A run counts if it ended well at one known size, on machines that were there whenever there was work for them,
and its log is whole. Streams, runs inside the driver, and those that lost machines, waited for some or shared
them do not, for a reason that is told.

Why executors were lost is told by the words of Spark, YARN and Kubernetes; what dynamic allocation lets go is
no loss.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from airflow_provider_ernest.documents.profiles import (
    DECOMMISSIONED,
    HEAP_FULL,
    KILLED_FOR_MEMORY,
    LOST,
    PREEMPTED,
    PYTHON_WORKER_KILLED,
    SHUFFLE_LOST,
    ExecutorLoss,
)
from airflow_provider_ernest.eventlog.tables import DRIVER, busy_seconds
from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.words import count, counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from airflow_provider_ernest.eventlog.tables import EventLog, ExecutorRow

LET_GO = ""
"""By Spark itself, under dynamic allocation."""

_EXIT_CODE = r"exit(?:ed with)?(?: exit)? (?:code|status)(?: is)?\W{0,3}"

_CAUSES = {
    # Of YARN -102; first, for what is preempted is ended by a signal, too.
    PREEMPTED: re.compile(r"preempt|exit (?:code|status):? *-102\b", re.IGNORECASE),
    LET_GO: re.compile(
        r"killed by driver|idle|dynamic allocation|Executor finished|spark scale down"
        # On YARN.
        r"|exited from explicit termination request",
        re.IGNORECASE,
    ),
    DECOMMISSIONED: re.compile(r"decommission", re.IGNORECASE),
    # Of Spark itself 52.
    HEAP_FULL: re.compile(rf"OutOfMemory|{_EXIT_CODE}52\b", re.IGNORECASE),
    # By the kernel's and YARN's signals.
    KILLED_FOR_MEMORY: re.compile(rf"memory limits|OOMKilled|{_EXIT_CODE}(?:137|143)\b", re.IGNORECASE),
}


_POD_DELETED = "deleted by a user or the framework"
"""Of Kubernetes: the framework lets pods go under dynamic allocation, else somebody has deleted it."""

_THE_WORST_FIRST = (
    *(KILLED_FOR_MEMORY, HEAP_FULL, PYTHON_WORKER_KILLED),
    *(PREEMPTED, DECOMMISSIONED, LOST, SHUFFLE_LOST),
)

STEADY_SHARE = 0.9
"""Of its most machines a run must have had so many on average, or have missed the others for no more than the
rest of its time; otherwise its size is not known. Where executors take some seconds to come, as on YARN and
Kubernetes, a short run has a little less than all."""

LEAST_TOLD = 0.99
"""Of the tasks of its stages a log must tell of so many: without more of them, what was read is not known."""

BUSY_SHARE = 0.5
"""Of its time a stream that takes what is there has so much of it jobs; one that waits for more has less."""

DATABRICKS_CLUSTER = "spark.databricks.clusterUsageTags.clusterName"
JOB_CLUSTER = re.compile(r"job-(?P<job>\d+)-run-\d+(?:-(?P<key>.+))?")
"""A cluster that Databricks started for one run of a job; others are shared by whoever works on them."""


@dataclass(frozen=True)
class NotCounted:
    """Why a run's time is not that of its job at one size.

    Attributes:
        reason: as a clause.
        is_other_kind: whether it is a stream or a program on one host: where its time went is asked all the
            same.
    """

    reason: str
    is_other_kind: bool = False


A_STREAM = NotCounted("it is a stream, whose time is not that of a job", is_other_kind=True)
IN_DRIVER = NotCounted("it ran inside its driver, not on machines", is_other_kind=True)


class Sizes:
    """How many machines there were at once, from the moment of clean time to the end.

    Attributes:
        most: at once.
        mean: over that time.
        machine_seconds: that machines were there from when each had come: what they waited for others is in
            it, what the run waited for the first of them, as in a queue, is not.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._steps = self._steps_since(log.ready_at)
        self.most = int(np.cumsum(self._steps[:, 1]).max(initial=0.0))
        seconds = log.ended_at - log.ready_at
        self.mean = self._machine_seconds(self._steps) / seconds if seconds > 0 else float(self.most)
        self.machine_seconds = self._machine_seconds(self._steps_since(log.started_at))

    def _machine_seconds(self, steps: NDArray[np.float64]) -> float:
        return float(steps[:, 1] @ (self._log.ended_at - steps[:, 0]))

    def _steps_since(self, moment: float) -> NDArray[np.float64]:
        """Moments, and by how many machines and slots there are more from then on; shape (steps, 3)."""
        here: Counter[str] = Counter()
        steps: list[tuple[float, int, int]] = []
        for at, slots, worker in self._changes(moment):
            before = here[worker] > 0
            here[worker] += 1 if slots > 0 else -1
            steps.append((at, (here[worker] > 0) - before, slots))
        return np.array(steps, dtype=np.float64).reshape(-1, 3)

    def _changes(self, since: float) -> list[tuple[float, int, str]]:
        """Moments at which slots come, or go (less than 0), with the machine they are on."""
        log = self._log
        changes: list[tuple[float, int, str]] = []
        for executor in log.executors:
            gone_at = executor.removed_at if executor.is_lost and executor.removed_at else log.ended_at
            began, ended = max(executor.added_at, since), min(gone_at, log.ended_at)
            if executor.executor_id != DRIVER and ended >= began:
                slots = log.slots_by_executor[executor.number]
                changes += [(began, slots, executor.worker), (ended, -slots, executor.worker)]
        # At one moment they come before others go: one that replaces another was there all the time.
        return sorted(changes, key=lambda change: (change[0], -change[1]))

    @property
    def are_steady(self) -> bool:
        """Whether nearly all machines were there nearly all the time."""
        return self.mean >= STEADY_SHARE * self.most

    @property
    def are_enough(self) -> bool:
        """Whether the run may count as one on the most machines: it would have been no faster with all."""
        seconds = self._log.ended_at - self._log.ready_at
        return self.are_steady or self._missed_seconds() <= (1 - STEADY_SHARE) * seconds

    def _missed_seconds(self) -> float:
        """How long there was work for more machines than were there, and not the most were there.

        Dynamic allocation lets machines go that have nothing to do, and takes a while to have new ones.
        """
        log, tasks = self._log, self._log.task_columns
        begun, ended = (
            [job.submitted_at for job in log.jobs],
            [job.completed_at or log.ended_at for job in log.jobs],
        )
        # Moments, and by how many machines, slots, running tasks and jobs there are more from then on.
        changes = np.concatenate(
            (
                np.pad(self._steps, ((0, 0), (0, 2))),
                *(
                    _each(moments, (0, 0, more, 0))
                    for moments, more in ((tasks.launched_at, 1), (tasks.finished_at, -1))
                ),
                *(_each(moments, (0, 0, 0, more)) for moments, more in ((begun, 1), (ended, -1))),
            )
        )
        changes[:, 0] = np.clip(changes[:, 0], log.ready_at, log.ended_at)
        changes = changes[np.argsort(changes[:, 0], kind="stable")]
        machines, slots, running, jobs = np.cumsum(changes[:-1, 1:], axis=0).T
        is_missed = (machines < self.most) & (jobs > 0) & (running >= slots)
        return float(np.diff(changes[:, 0])[is_missed].sum())


def _each(
    moments: Sequence[float] | NDArray[np.float64], more: tuple[int, int, int, int]
) -> NDArray[np.float64]:
    """A row of changes for each moment."""
    return np.column_stack((np.asarray(moments, dtype=np.float64), np.tile(more, (len(moments), 1))))


def why_not_counted(log: EventLog, sizes: Sizes | None = None) -> NotCounted | None:
    """The most telling reason for which a run does not count; None where it does."""
    if log.is_streaming and not _is_batch(log):
        return A_STREAM
    if reason := _of_the_application(log):
        return NotCounted(reason)
    if any(each.executor_id == DRIVER for each in log.executors):
        return IN_DRIVER
    reason = _of_the_machines(log, sizes or Sizes(log))
    if not reason and not log.task_columns.succeeded.any():
        reason = "no task did its work"
    reason = reason or why_not_whole(log)
    return NotCounted(reason) if reason else None


def _of_the_application(log: EventLog) -> str:
    if not log.is_complete and not _has_ended(log):
        return "its log has no end: it was cut off, or still runs"
    if log.exit_code:
        return f"its application ended with exit code {log.exit_code}"
    return _last_failure(log)


def _is_batch(log: EventLog) -> bool:
    """Whether a streaming query took what was there and ended (availableNow, once), and waited for no more.

    No event names its trigger: its jobs followed one another for most of the time.
    """
    if not log.streams_ended or not log.is_complete or not log.jobs:
        return False
    began = np.array([job.submitted_at for job in log.jobs])
    ended = np.array([job.completed_at or log.ended_at for job in log.jobs])
    return busy_seconds(began, ended) >= BUSY_SHARE * float(ended.max() - began.min())


def _of_the_machines(log: EventLog, sizes: Sizes) -> str:
    if _is_shared(log.properties):
        return "it ran on a cluster that others share"
    if not sizes.most:
        return "no machine came"
    causes = {cause_in(log, each) for each in log.lost if _is_at_work(log, each.removed_at)}
    if causes - {LET_GO}:
        is_for_memory = not causes.isdisjoint((KILLED_FOR_MEMORY, HEAP_FULL))
        return f"it lost executors{', killed for their memory' * is_for_memory}"
    if not sizes.are_enough:
        return "it waited for machines that came and went"
    return ""


def _is_at_work(log: EventLog, moment: float | None) -> bool:
    """Whether it had not ended by then: Databricks ends clusters before their logs, when all jobs have."""
    return (
        log.is_complete
        or moment is None
        or any(job.completed_at is None or job.completed_at > moment for job in log.jobs)
    )


def _has_ended(log: EventLog) -> bool:
    """Whether a log without an end is whole all the same: Databricks ends clusters before their logs."""
    is_idle = bool(log.jobs) and all(job.succeeded is not None for job in log.jobs)
    return is_idle and any(name.startswith("spark.databricks.") for name in log.properties)


def _last_failure(log: EventLog) -> str:
    """How the run failed, as far as its log tells: a job that failed before others went well was caught."""
    if not log.jobs:
        return ""
    if log.is_complete and any(job.succeeded is None for job in log.jobs):
        return "it ended while a job of it still ran"
    last = max(log.jobs, key=lambda job: (job.completed_at or 0.0, job.job_id))
    if last.succeeded is False:
        return "its last job failed"
    query = max(log.sql_executions, key=lambda each: each.ended_at or 0.0, default=None)
    is_last = query is not None and (query.ended_at or 0.0) >= (last.completed_at or 0.0)
    return "its last query failed" if query is not None and is_last and query.failed else ""


def _is_shared(properties: Mapping[str, str]) -> bool:
    name = properties.get(DATABRICKS_CLUSTER)
    source = properties.get("spark.databricks.clusterSource", "")
    return name is not None and not JOB_CLUSTER.fullmatch(name) and source != "JOB"


def why_not_whole(log: EventLog) -> str:
    """What of the run is missing in the log: a file, what compaction left out, or events that Spark dropped.

    It drops them where its listeners do not keep up. Then stages have more tasks than the log tells of, or
    tasks ran on executors that it does not know. Empty where all is there.
    """
    tasks = log.task_columns
    attempts, place = tasks.by_stage
    ended = dict(zip(attempts, np.bincount(place, minlength=len(attempts)).tolist(), strict=True))
    done = [stage for stage in log.stages if stage.completed_at and not stage.failure]
    every = sum(stage.tasks for stage in done)
    missing = every - sum(min(stage.tasks, ended.get(stage.key, 0)) for stage in done)
    if missing > (1.0 - LEAST_TOLD) * every:
        return f"its log is not whole: {count(missing)} of {counted(every, 'task')} are missing"
    # Those are the words of the reader for what is missing.
    is_in_pieces = any(word in each for each in log.warnings for word in ("compacted", "missing", "damaged"))
    is_whole = not is_in_pieces and not (tasks.executor < 0).any()
    return "" if is_whole else "its log is not whole: some of what happened is not in it"


def cause_of(removed_because: str, *, is_dynamic: bool = True) -> str:
    """Why an executor was lost, by Spark's words; `LET_GO` where it was no loss."""
    if is_dynamic and _POD_DELETED in removed_because:
        return LET_GO
    told = (cause for cause, words in _CAUSES.items() if words.search(removed_because))
    return next(told, LOST)


def cause_in(log: EventLog, lost: ExecutorRow) -> str:
    """The same of an executor that a run lost."""
    is_dynamic = log.properties.get("spark.dynamicAllocation.enabled", "").lower() == "true"
    return cause_of(lost.removed_because, is_dynamic=is_dynamic)


def losses_of(log: EventLog) -> tuple[ExecutorLoss, ...]:
    """What a run lost, by cause, what was killed for its memory first."""
    by_cause: dict[str, list[ExecutorRow]] = {}
    for executor in log.lost:
        by_cause.setdefault(cause_in(log, executor), []).append(executor)
    losses = {cause: _loss(log, cause, executors) for cause, executors in by_cause.items()}
    if log.python_crashes:
        losses[PYTHON_WORKER_KILLED] = ExecutorLoss(
            cause=PYTHON_WORKER_KILLED, failed_tasks=log.python_crashes
        )
    if unfetched := next((each.failure for each in log.stages if "fetch" in each.failure.lower()), ""):
        # With the stage that failed, those are made again that had made its data.
        tasks = log.task_columns
        again = tasks.stage_attempt > 0
        losses[SHUFFLE_LOST] = ExecutorLoss(
            cause=SHUFFLE_LOST,
            because=without_credentials(" ".join(unfetched.split())),
            failed_tasks=int(again.sum()),
            lost_seconds=round(float(tasks.seconds[again].sum()), 3),
        )
    return tuple(losses[cause] for cause in _THE_WORST_FIRST if cause in losses)


def _loss(log: EventLog, cause: str, executors: list[ExecutorRow]) -> ExecutorLoss:
    tasks = log.task_columns
    again = ~tasks.succeeded & np.isin(tasks.executor, [each.number for each in executors])
    return ExecutorLoss(
        cause=cause,
        executors=tuple(f"{each.executor_id} on {each.worker}" for each in executors),
        because=without_credentials(executors[0].removed_because),
        failed_tasks=int(again.sum()),
        lost_seconds=round(float(tasks.seconds[again].sum()), 3),
    )
