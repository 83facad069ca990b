"""A DAG run as its pages need it, wherever it was read: tasks, what they pushed, what follows on what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

RETURNED = "return_value"
"""Airflow's key for what a task returns."""
DESIGN, RECORD, STORED_AT = "design", "record", "stored_at"
"""Further keys of this package: the whole design, the record of a decision, the place of a model."""
MODELS, REASONS, GROWTH = "models", "reasons", "growth"
"""Those of the task that looks for stored models, each a mapping by type of machine: the models that are
reused, why or why not, and how many times the input has grown."""
KEYS = (RETURNED, DESIGN, RECORD, STORED_AT, MODELS, REASONS, GROWTH)
PRODUCTION_RUN = "production_run"
"""The key under which a production run is recorded, by whatever operator made it."""

SUCCESS, FAILED, RUNNING, SKIPPED = "success", "failed", "running", "skipped"
NOT_RUN = (None, "scheduled", "queued", "upstream_failed", "skipped", "removed")
"""States of task instances that have not begun: some have times all the same, those of an attempt that was
cleared or those that Airflow gives to what it never starts."""


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """A task instance.

    Attributes:
        operator: name of its class.
        state: Airflow's; None where it has not been scheduled.
        started_at: of the last attempt.
        ended_at: of the last attempt; None while it runs.
        name: how Airflow's pages call it; empty for the task's id.
    """

    task_id: str
    map_index: int = -1
    operator: str = ""
    state: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    try_number: int = 1
    name: str = ""

    @property
    def has_run(self) -> bool:
        """Whether its last attempt has begun."""
        return self.started_at is not None and self.state not in NOT_RUN

    def seconds(self, now: datetime) -> float | None:
        """How long the last attempt took, or takes by now; None where it has not begun."""
        if self.started_at is None or not self.has_run:
            return None
        return max(0.0, ((self.ended_at or now) - self.started_at).total_seconds())


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A DAG run.

    Attributes:
        values: XComs by task id, map index and key: whatever tasks pushed, of any form.
        downstream: ids of the tasks directly after each task; empty where the DAG is not known any more.
    """

    dag_id: str
    run_id: str
    state: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    tasks: tuple[TaskRow, ...] = ()
    values: Mapping[tuple[str, int, str], Any] = field(default_factory=dict)
    downstream: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def value(self, task: TaskRow, key: str = RETURNED) -> Any:
        """What a task instance pushed; None where there is nothing."""
        return self.values.get((task.task_id, task.map_index, key))
