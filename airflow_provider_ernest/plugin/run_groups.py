"""Which tasks of a DAG run are steps of Ernest, and which of them belong together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_provider_ernest.plugin.run_record import RunRecord, TaskRow

PREFLIGHT, DESIGN, CLUSTER, SAMPLE_RUN, FIT, CHOOSE, RESIZE, PRODUCTION, TERMINATE = KINDS = (
    "preflight",
    "design",
    "cluster",
    "sample_run",
    "fit",
    "choose",
    "resize",
    "production",
    "terminate",
)
"""The steps, in the order in which they are made."""

OPERATORS = {
    "EC2PreflightOperator": PREFLIGHT,
    "ExperimentDesignOperator": DESIGN,
    "LocalClusterOperator": CLUSTER,
    "EC2ClusterOperator": CLUSTER,
    "EmrClusterOperator": CLUSTER,
    "ExistingClusterOperator": CLUSTER,
    "SampleRunOperator": SAMPLE_RUN,
    "FitModelOperator": FIT,
    "ChooseConfigOperator": CHOOSE,
    "TerminateClusterOperator": TERMINATE,
}
"""The database names a task's class and not its module: a subclass is known by another name."""

SPARK_SUBMIT = "SparkSubmit"
"""Part of the names of the operators that production is usually run by."""


@dataclass(frozen=True)
class Step:
    """A task instance and what it is in the way from design to production."""

    kind: str
    task: TaskRow


@dataclass(frozen=True)
class Group:
    """The steps of one task group, in their order; `group_id` is empty where the tasks are in none."""

    group_id: str
    steps: tuple[Step, ...]

    def tasks(self, kind: str) -> list[TaskRow]:
        """The task instances of a kind."""
        return [step.task for step in self.steps if step.kind == kind]

    def task(self, kind: str) -> TaskRow | None:
        """The first of them, None where there is none."""
        return next(iter(self.tasks(kind)), None)


def groups_of(run: RunRecord) -> list[Group]:
    """Ernest's steps by their task groups, each with its production run."""
    ours: dict[str, list[Step]] = {}
    for task in run.tasks:
        kind = OPERATORS.get(task.operator)
        if kind is not None:
            ours.setdefault(_group_id(task.task_id), []).append(Step(kind, task))
    groups = []
    for group_id, steps in sorted(ours.items()):
        told = [_with_resize(run, step, steps) for step in steps]
        production = [Step(PRODUCTION, task) for task in _production(run, told, alone=len(ours) == 1)]
        groups.append(Group(group_id, tuple(sorted([*told, *production], key=_place))))
    return groups


def _group_id(task_id: str) -> str:
    return task_id.rpartition(".")[0]


def _with_resize(run: RunRecord, step: Step, steps: Iterable[Step]) -> Step:
    """The step, called a resize where a cluster gets another size after the decision."""
    if step.kind != CLUSTER:
        return step
    deciders = [other.task.task_id for other in steps if other.kind == CHOOSE]
    if run.downstream:
        is_resize = any(step.task.task_id in run.downstream.get(decider, ()) for decider in deciders)
    else:
        is_resize = "resize" in step.task.task_id.rpartition(".")[2]
    return Step(RESIZE, step.task) if is_resize else step


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


def _first(tasks: list[TaskRow]) -> list[TaskRow]:
    """All instances of the task that began first; of those that have not begun, the first by name."""
    if not tasks:
        return []
    begun = [task for task in tasks if task.has_run]
    chosen = min(begun, key=lambda task: str(task.started_at)) if begun else min(tasks, key=_name)
    return [task for task in tasks if task.task_id == chosen.task_id]


def _name(task: TaskRow) -> tuple[str, int]:
    return task.task_id, task.map_index


def _place(step: Step) -> tuple[int, str, int]:
    return KINDS.index(step.kind), step.task.task_id, step.task.map_index
