"""Why a run lost executors, and what it cost: what was killed for its memory is what a user must hear first.

The cause is told by the words of Spark, YARN and Kubernetes. What dynamic allocation lets go is no loss.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from airflow_provider_ernest.privacy import without_credentials
from airflow_provider_ernest.run_profile import (
    DECOMMISSIONED,
    HEAP_FULL,
    KILLED_FOR_MEMORY,
    LOST,
    PREEMPTED,
    PYTHON_WORKER_KILLED,
    ExecutorLoss,
)

if TYPE_CHECKING:
    from airflow_provider_ernest.eventlog.tables import EventLog, ExecutorRow

LET_GO = ""
"""By Spark itself, under dynamic allocation."""

_EXIT_CODE = r"exit(?:ed with)?(?: exit)? (?:code|status)(?: is)?\W{0,3}"

_CAUSES = {
    # Of YARN -102; first, for what is preempted is ended by a signal, too.
    PREEMPTED: re.compile(r"preempt|exit (?:code|status):? *-102\b", re.IGNORECASE),
    DECOMMISSIONED: re.compile(r"decommission", re.IGNORECASE),
    LET_GO: re.compile(
        r"killed by driver|idle|dynamic allocation|Executor finished"
        # On YARN, and on Kubernetes.
        r"|exited from explicit termination request|deleted by a user or the framework",
        re.IGNORECASE,
    ),
    # Of Spark itself 52.
    HEAP_FULL: re.compile(rf"OutOfMemory|{_EXIT_CODE}52\b", re.IGNORECASE),
    # By the kernel's and YARN's signals.
    KILLED_FOR_MEMORY: re.compile(rf"memory limits|OOMKilled|{_EXIT_CODE}(?:137|143)\b", re.IGNORECASE),
}


_THE_WORST_FIRST = (KILLED_FOR_MEMORY, HEAP_FULL, PYTHON_WORKER_KILLED, PREEMPTED, DECOMMISSIONED, LOST)


def cause_of(removed_because: str) -> str:
    """Why an executor was lost, by Spark's words; `LET_GO` where it was no loss."""
    told = (cause for cause, words in _CAUSES.items() if words.search(removed_because))
    return next(told, LOST)


def losses_of(log: EventLog) -> tuple[ExecutorLoss, ...]:
    """What a run lost, by cause, what was killed for its memory first."""
    by_cause: dict[str, list[ExecutorRow]] = {}
    for executor in log.lost:
        by_cause.setdefault(cause_of(executor.removed_because), []).append(executor)
    losses = {cause: _loss(log, cause, executors) for cause, executors in by_cause.items()}
    if log.python_crashes:
        losses[PYTHON_WORKER_KILLED] = ExecutorLoss(
            cause=PYTHON_WORKER_KILLED, failed_tasks=log.python_crashes
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
