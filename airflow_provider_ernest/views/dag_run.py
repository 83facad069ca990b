"""A DAG run as its pages need it, wherever it was read: tasks, what they pushed, what follows on what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

RETURNED = "return_value"
"""Airflow's key for what a task returns."""
DESIGN_KEY, RECORD_KEY, STORED_AT = "design", "record", "stored_at"
"""Further keys of this package: the whole design, the record of a decision, the place of a model."""
MODELS, REASONS, GROWTH = "models", "reasons", "growth"
"""Those of the task that looks for stored models, each a mapping by type of machine: the models that are
reused, why or why not, and how many times the input has grown."""
FAILURE = "failure"
"""That of a task that failed: why, as a sentence or two."""
REFUSAL = "refusal"
"""That of a task that decided on nothing, since nothing keeps to the goal: what there was to choose from."""
KEYS = (RETURNED, DESIGN_KEY, RECORD_KEY, STORED_AT, MODELS, REASONS, GROWTH, FAILURE, REFUSAL)
PRODUCTION_RUN_KEY = "production_run"
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


FIND, PREFLIGHT, HISTORY, DESIGN, CLUSTER = "find", "preflight", "history", "design", "cluster"
SAMPLE_RUN, NEXT_RUNS = "sample_run", "next_runs"
FIT, BOTTLENECKS, CHOOSE = "fit", "bottleneck_report", "choose"
RESIZE, PRODUCTION, RECORD, TERMINATE = "resize", "production", "record", "terminate"
KINDS = (
    *(FIND, PREFLIGHT, HISTORY, DESIGN, CLUSTER),
    *(SAMPLE_RUN, NEXT_RUNS, FIT, BOTTLENECKS, CHOOSE),
    *(RESIZE, PRODUCTION, RECORD, TERMINATE),
)
"""The steps, in the order in which they are made."""

OPERATORS = {
    "FindModelOperator": FIND,
    "EC2PreflightOperator": PREFLIGHT,
    "ReadHistoryOperator": HISTORY,
    "ExperimentDesignOperator": DESIGN,
    "LocalClusterOperator": CLUSTER,
    "EC2ClusterOperator": CLUSTER,
    "EmrJobFlowOperator": CLUSTER,
    "ExistingClusterOperator": CLUSTER,
    "SampleRunOperator": SAMPLE_RUN,
    "NextRunsOperator": NEXT_RUNS,
    "FitModelOperator": FIT,
    "BottleneckReportOperator": BOTTLENECKS,
    "ChooseConfigOperator": CHOOSE,
    "RecordRunOperator": RECORD,
    "TerminateClusterOperator": TERMINATE,
}
"""The database names a task's class and not its module: a subclass is known by another name."""

SPARK_SUBMIT = "SparkSubmit"
"""Part of the names of the operators that production is usually run by."""


@dataclass(frozen=True)
class Step:
    """A task instance and what it is in the way from design to production.

    Attributes:
        kind: one of `KINDS`.
        branch: id of the nested group that it trains in, for one of several types of machine; empty for what
            all types share, and where there is but one.
    """

    kind: str
    task: TaskRow
    branch: str = ""


_ROUND = re.compile(r"_(\d+)$")


def _round(task: TaskRow) -> str:
    """The round of a task, by its id in a task group; empty for the first."""
    found = _ROUND.search(task.task_id)
    return found[1] if found else ""


@dataclass(frozen=True)
class Group:
    """The steps of one task group, in their order; `group_id` is empty where the tasks are in none."""

    group_id: str
    steps: tuple[Step, ...]

    @property
    def told(self) -> tuple[Step, ...]:
        """The steps without those that are only the machinery of rounds, and without rounds not begun.

        Why a round is made, or none any more, is said of the design.
        """
        rounds = {(step.branch, _round(step.task)) for step in self.steps if step.kind == NEXT_RUNS}
        return tuple(
            step
            for step in self.steps
            if step.kind != NEXT_RUNS
            and (
                step.kind != SAMPLE_RUN
                or step.task.map_index >= 0
                or (step.branch, _round(step.task)) not in rounds
            )
        )

    def chooser(self, sample_run: Step) -> TaskRow | None:
        """The task that chose a sample run: of a further round another than the design."""
        its = [
            step
            for step in self.steps
            if step.branch in ("", sample_run.branch)
            and (
                step.kind == DESIGN
                or (step.kind == NEXT_RUNS and _round(step.task) == _round(sample_run.task))
            )
        ]
        return its[-1].task if its else None

    @property
    def branches(self) -> list[Group]:
        """The training of each type of machine, with the steps that all share; itself where there is one."""
        names = sorted({step.branch for step in self.steps} - {""})
        if not names:
            return [self]
        return [
            Group(name, tuple(step for step in self.steps if step.branch in ("", name))) for name in names
        ]

    def tasks(self, kind: str) -> list[TaskRow]:
        """The task instances of a kind."""
        return [step.task for step in self.steps if step.kind == kind]

    def task(self, kind: str) -> TaskRow | None:
        """The first of them, None where there is none."""
        return next(iter(self.tasks(kind)), None)


def groups_of(run: RunRecord) -> list[Group]:
    """Ernest's steps by their task groups, each with its production run."""
    own: dict[str, list[Step]] = {}
    for task in run.tasks:
        kind = OPERATORS.get(task.operator)
        if kind is not None and kind != RECORD:
            own.setdefault(_group_id(task.task_id), []).append(Step(kind, task))
    ours = _with_branches(own)
    _give_clusters_to_their_decisions(run, ours)
    groups = []
    for group_id, steps in sorted(ours.items()):
        told = [_with_resize(run, step, steps) for step in steps]
        alone = len(ours) == 1
        told += [Step(PRODUCTION, task) for task in _production(run, told, alone=alone)]
        told += [Step(RECORD, task) for task in _recorders(run, told, alone=alone)]
        groups.append(Group(group_id, tuple(sorted(told, key=_place))))
    return groups


def _group_id(task_id: str) -> str:
    return task_id.rpartition(".")[0]


def _with_branches(own: dict[str, list[Step]]) -> dict[str, list[Step]]:
    """The groups with those nested in them that train for them, each for a type of machine."""
    merged: dict[str, list[Step]] = {}
    for group_id, steps in own.items():
        decider = _decider(group_id, own)
        branch = group_id if decider != group_id else ""
        merged.setdefault(decider, []).extend(Step(step.kind, step.task, branch) for step in steps)
    return merged


def _decider(group_id: str, own: dict[str, list[Step]]) -> str:
    """The group that decides by what is trained in this one: the nearest around it that only decides."""
    around = group_id
    while FIT in _kinds(own[group_id]) and CHOOSE not in _kinds(own[group_id]) and around:
        around = _group_id(around)
        kinds = _kinds(own.get(around, []))
        if CHOOSE in kinds and FIT not in kinds:
            return around
    return group_id


def _kinds(steps: Iterable[Step]) -> set[str]:
    return {step.kind for step in steps}


def _give_clusters_to_their_decisions(run: RunRecord, ours: dict[str, list[Step]]) -> None:
    """Put clusters that were started for production, and their ends, to the group that decided their size."""
    owners = {
        after: group_id
        for group_id, steps in ours.items()
        for step in steps
        if step.kind == CHOOSE
        for after in run.downstream.get(step.task.task_id, ())
    }
    for group_id, steps in list(ours.items()):
        if not _kinds(steps) <= {CLUSTER, TERMINATE}:
            continue
        for step in sorted(steps, key=_place):
            owner = owners.get(step.task.task_id)
            if owner is not None:
                steps.remove(step)
                ours[owner].append(step)
                owners |= dict.fromkeys(run.downstream.get(step.task.task_id, ()), owner)
        if not steps:
            del ours[group_id]


def _with_resize(run: RunRecord, step: Step, steps: Iterable[Step]) -> Step:
    """The step, called a resize where a cluster gets another size after the decision."""
    if step.kind != CLUSTER:
        return step
    deciders = [other.task.task_id for other in steps if other.kind == CHOOSE]
    if run.downstream:
        is_resize = any(step.task.task_id in run.downstream.get(decider, ()) for decider in deciders)
    else:
        is_resize = "resize" in step.task.task_id.rpartition(".")[2]
    return Step(RESIZE, step.task, step.branch) if is_resize else step


def _production(run: RunRecord, steps: Iterable[Step], *, alone: bool) -> list[TaskRow]:
    """The task instances that the decision was made for.

    Those directly after the decision or the resize, whatever operator they are of: production may be
    submitted by any. Among several, the ones that submit to Spark by their name, else the first to begin.
    Where the DAG's version is not known any more, only those names are left to tell, and only where there is
    but one group.
    """
    others = [task for task in run.tasks if task.operator not in OPERATORS]
    submits = [task for task in others if SPARK_SUBMIT in task.operator]
    if not run.downstream:
        return _first(submits) if alone else []
    after: set[str] = set()
    for step in steps:
        if step.kind in (CHOOSE, RESIZE):
            after |= run.downstream.get(step.task.task_id, frozenset())
    return _first([task for task in submits if task.task_id in after]) or _first(
        [task for task in others if task.task_id in after]
    )


def _recorders(run: RunRecord, steps: Iterable[Step], *, alone: bool) -> list[TaskRow]:
    """The task instances that record what production took, where its operator does not.

    Those behind a step of the group; where there is but one group, anywhere.
    """
    recorders = [task for task in run.tasks if OPERATORS.get(task.operator) == RECORD]
    after: set[str] = set()
    for step in steps:
        after |= run.downstream.get(step.task.task_id, frozenset())
    return [task for task in recorders if alone or task.task_id in after]


def _first(tasks: list[TaskRow]) -> list[TaskRow]:
    """All instances of the task that began first; of those that have not begun, the first by name."""
    if not tasks:
        return []
    begun = [task for task in tasks if task.has_run]
    chosen = min(begun, key=lambda task: str(task.started_at)) if begun else min(tasks, key=_name)
    return [task for task in tasks if task.task_id == chosen.task_id]


def _name(task: TaskRow) -> tuple[str, int]:
    return task.task_id, task.map_index


def _place(step: Step) -> tuple[int, str, int, str, int]:
    """What all types share comes first; then the training of one type after the other; then the decision."""
    kind = KINDS.index(step.kind)
    part = 1 if step.branch else 0 if kind < KINDS.index(CHOOSE) else 2
    return part, step.branch, kind, step.task.task_id, step.task.map_index
