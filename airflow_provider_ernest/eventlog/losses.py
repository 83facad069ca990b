"""Why a run lost executors, and what it cost: what was killed for its memory is what a user must hear first.

The cause is told by the words of Spark, YARN and Kubernetes. What dynamic allocation lets go is no loss.
"""

from __future__ import annotations

import re
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
from airflow_provider_ernest.privacy import without_credentials

if TYPE_CHECKING:
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


def cause_of(removed_because: str, *, is_dynamic: bool = True) -> str:
    """Why an executor was lost, by Spark's words; `LET_GO` where it was no loss.

    Args:
        removed_because: those words.
        is_dynamic: whether the run had dynamic allocation.
    """
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
