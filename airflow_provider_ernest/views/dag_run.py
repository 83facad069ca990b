"""A DAG run as its card needs it: tasks, XComs and dependencies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

RECORD_KEY, REASONS, FAILURE = "record", "reasons", "failure"
"""XComs of Ernest's tasks: a decision's record; why models are reused or not, by type of machine; why a task
failed.
"""
KEYS = (RECORD_KEY, REASONS, FAILURE)
PRODUCTION_RUN_KEY = "production_run"
"""XCom key of a production run's record, whatever operator made it."""

SUCCESS, FAILED, SKIPPED, UP_FOR_RETRY = "success", "failed", "skipped", "up_for_retry"
NOT_RUN = (None, "scheduled", "queued", "upstream_failed", "skipped", "removed")
"""States of task instances that have not begun. Some still have times, of a cleared try or of Airflow's."""


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """A task instance, by its last try.

    Attributes:
        operator: name of its class.
        state: Airflow's; None if not scheduled.
        name: display name in Airflow's pages; empty for the task's id.
    """

    task_id: str
    map_index: int = -1
    operator: str = ""
    state: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    name: str = ""

    @property
    def has_run(self) -> bool:
        """Whether it has begun."""
        return self.started_at is not None and self.state not in NOT_RUN

    @property
    def seconds(self) -> float | None:
        """How long it took; None before its end."""
        if self.started_at is None or self.ended_at is None or not self.has_run:
            return None
        return max(0.0, (self.ended_at - self.started_at).total_seconds())


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A DAG run.

    Attributes:
        values: XComs by task id, map index and key, of any form.
        downstream: ids of the tasks directly after each task; empty if the DAG is no longer known.
    """

    dag_id: str
    run_id: str
    state: str | None = None
    tasks: tuple[TaskRow, ...] = ()
    values: Mapping[tuple[str, int, str], Any] = field(default_factory=dict)
    downstream: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def value(self, task: TaskRow, key: str) -> Any:
        """The XCom of a task instance; None if there is none."""
        return self.values.get((task.task_id, task.map_index, key))


FIND, CLUSTER, FIT, REPORT, CHOOSE, RECORD = "find", "cluster", "fit", "report", "choose", "record"
OTHER = "other"
OPERATORS = {
    "FindModelOperator": FIND,
    "EC2PreflightOperator": OTHER,
    "ReadHistoryOperator": OTHER,
    "ExperimentDesignOperator": OTHER,
    "LocalClusterOperator": CLUSTER,
    "EC2ClusterOperator": CLUSTER,
    "EmrJobFlowOperator": CLUSTER,
    "ExistingClusterOperator": CLUSTER,
    "SampleRunOperator": OTHER,
    "NextRunsOperator": OTHER,
    "FitModelOperator": FIT,
    "BottleneckReportOperator": REPORT,
    "ChooseConfigOperator": CHOOSE,
    "RecordRunOperator": RECORD,
    "TerminateClusterOperator": OTHER,
}
"""What Ernest's tasks do. Airflow's database has a task's class name only: a subclass has another name."""

SPARK_SUBMIT = "SparkSubmit"
"""Part of the names of the operators that usually run production."""


@dataclass(frozen=True)
class Group:
    """Ernest's tasks around one decision, and the production task downstream.

    Attributes:
        group_id: of the task group; empty if the tasks are in none.
        production: all instances of one task.
    """

    group_id: str
    steps: tuple[TaskRow, ...]
    production: tuple[TaskRow, ...]

    def of_kind(self, kind: str) -> list[TaskRow]:
        """Its steps of a kind."""
        return _of_kind(self.steps, kind)


def groups_of(run: RunRecord) -> list[Group]:
    """A group for each task group that decides, trains or records, by their ids."""
    ours = [task for task in run.tasks if task.operator in OPERATORS]
    deciders = {_group_id(task.task_id): task.task_id for task in _of_kind(ours, CHOOSE)}
    behind = _behind(run, deciders)
    owned: dict[str, list[TaskRow]] = {}
    for task in sorted(ours, key=_name):
        owned.setdefault(_owner(task, deciders, behind), []).append(task)
    told = {
        group_id: steps
        for group_id, steps in sorted(owned.items())
        if {OPERATORS[task.operator] for task in steps} & {FIT, CHOOSE, RECORD}
    }
    return [
        Group(group_id, tuple(steps), tuple(_production(run, steps, behind, alone=len(told) == 1)))
        for group_id, steps in told.items()
    ]


def _of_kind(tasks: Iterable[TaskRow], kind: str) -> list[TaskRow]:
    return [task for task in tasks if OPERATORS.get(task.operator) == kind]


def _group_id(task_id: str) -> str:
    return task_id.rpartition(".")[0]


def _name(task: TaskRow) -> tuple[str, int]:
    return task.task_id, task.map_index


def _behind(run: RunRecord, deciders: Mapping[str, str]) -> dict[str, str]:
    """The nearest deciding group upstream, by task."""
    owners: dict[str, str] = {}
    reached = {task_id: group_id for group_id, task_id in deciders.items()}
    while reached:
        nearest: dict[str, str] = {}
        for task_id, group_id in reached.items():
            nearest |= dict.fromkeys(run.downstream.get(task_id, ()), group_id)
        reached = {task_id: group_id for task_id, group_id in nearest.items() if task_id not in owners}
        owners |= reached
    return owners


def _owner(task: TaskRow, deciders: Mapping[str, str], behind: Mapping[str, str]) -> str:
    """The nearest enclosing group that decides, else the group whose decision it follows, else its own.

    Trainings for several types of machine are nested groups that do not decide.
    """
    own = around = _group_id(task.task_id)
    while around not in deciders and around:
        around = _group_id(around)
    if around in deciders:
        return around
    if not behind and len(deciders) == 1 and OPERATORS[task.operator] == RECORD:
        return next(iter(deciders))  # the DAG is no longer known
    return behind.get(task.task_id, own)


def _production(
    run: RunRecord, steps: Sequence[TaskRow], behind: Mapping[str, str], *, alone: bool
) -> list[TaskRow]:
    """The task instances that the decision was made for.

    They are directly downstream of the decision, or of the task that starts production's cluster. Of several,
    those named like Spark submit operators count, else the first to begin. If the DAG's version is no longer
    known, only the names are left, and only if there is a single group.
    """
    others = [task for task in run.tasks if task.operator not in OPERATORS]
    submits = [task for task in others if SPARK_SUBMIT in task.operator]
    if not run.downstream:
        return _first(submits) if alone else []
    before = [task for task in _of_kind(steps, CLUSTER) if task.task_id in behind] + _of_kind(steps, CHOOSE)
    after = {task_id for task in before for task_id in run.downstream.get(task.task_id, ())}
    return _first([task for task in submits if task.task_id in after]) or _first(
        [task for task in others if task.task_id in after]
    )


def _first(tasks: list[TaskRow]) -> list[TaskRow]:
    """All instances of the task that began first; if none has begun, of the first by name."""
    if not tasks:
        return []
    begun = [task for task in tasks if task.has_run]
    first = min(begun, key=lambda task: str(task.started_at)) if begun else min(tasks, key=_name)
    return sorted((task for task in tasks if task.task_id == first.task_id), key=_name)
