"""A run replayed from its event log: as it was, with other seconds of its tasks, or on other machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airflow_provider_ernest.exceptions import EventLogError
from airflow_provider_ernest.spark.log_reading.tables import EventLog, FloatColumn
from airflow_provider_ernest.spark.replay.launching import most_at_once, slot_share, slots_by_executor
from airflow_provider_ernest.spark.replay.plan import Plan, plan_of
from airflow_provider_ernest.spark.replay.simulation import Durations, Simulated, Slot, simulate
from airflow_provider_ernest.spark.replay.warm_up import WarmUp, separated


@dataclass(frozen=True, kw_only=True)
class ReplayedStage:
    """When an attempt of a stage began, with its first task, and ended; seconds of the clean time."""

    began_seconds: float
    ended_seconds: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.ended_seconds - self.began_seconds


@dataclass(frozen=True, kw_only=True, eq=False)
class Replayed:
    """A run as it would have been; what is not asked for is not worked out."""

    plan: Plan
    simulated: Simulated

    @property
    def seconds(self) -> float:
        """Its clean time, from when all machines are there to the application's end."""
        return self.simulated.seconds

    @cached_property
    def driver_seconds(self) -> float:
        """Of those, that in which no task ran."""
        began, finished = self.simulated.began.clip(0.0), self.simulated.finished.clip(0.0)
        return max(0.0, self.seconds - busy_seconds(began, finished))

    @cached_property
    def stages(self) -> Mapping[tuple[int, int], ReplayedStage]:
        """By Spark's number and the attempt."""
        stages = {}
        for stage in self.plan.stages:
            began = self.simulated.began[stage.tasks]
            submitted = self.simulated.moments[stage.submitted]
            stages[stage.key] = ReplayedStage(
                began_seconds=float(began.min()) if len(began) else submitted,
                ended_seconds=self.simulated.moments[stage.ended],
            )
        return stages


def replay(
    log: EventLog,
    *,
    machines: int | None = None,
    task_seconds: FloatColumn | None = None,
    plan: Plan | None = None,
    warm_up: WarmUp | None = None,
) -> Replayed:
    """Replay a run.

    Without `machines` it has the executors that it had, when it had them. On another number each has as many
    slots as the run's machines have in the middle, all are there from the beginning and none is lost; first
    tasks are as many as there are slots then, and data comes from as many other machines as there are.

    Args:
        log: of the run.
        machines: how many there shall be.
        task_seconds: of each task of the log, in its order; as they were by default.
        plan: of the same log, where it is known, so that it is made once.
        warm_up: likewise; it is asked for on other numbers of machines alone.

    Raises:
        EventLogError: no task ended, so that there is nothing to replay.
    """
    if not len(log.tasks):
        raise EventLogError(
            f"The event log of {log.application_id} tells of no task that ended.",
            remedy="Wait until the application has run some, or give the log of another run.",
        )
    plan = plan or plan_of(log)
    seconds = log.tasks.seconds if task_seconds is None else np.asarray(task_seconds, dtype=np.float64)
    if machines is None or machines == len(log.machines):
        durations, slots = _as_it_was(log, seconds), slots_of(log)
    else:
        durations = separated(log, plan, seconds, machines=machines, warm_up=warm_up)
        slots = equal_slots(log, machines)
    is_fair = log.properties.get("spark.scheduler.mode", "FIFO").upper() == "FAIR"
    return Replayed(plan=plan, simulated=simulate(plan, durations, slots, is_fair=is_fair))


def slots_of(log: EventLog) -> list[Slot]:
    """The slots of the run's own executors: one executor after another, each with one slot at a time.

    An executor that went when no task was launched any more went with the application, whose end may come
    later in a replay.
    """
    last_launch = float(log.tasks.launched_at.max())
    numbered = []
    slots_at = slots_by_executor(log)
    for executor in log.executors:
        ends = executor.removed_at if executor.removed_at and executor.removed_at < last_launch else np.inf
        slot = Slot(begins=executor.added_at - log.ready_at, ends=ends - log.ready_at)
        # More slots than tasks change nothing, and a log may tell of any number of cores.
        useful = min(slots_at[executor.number], len(log.tasks))
        numbered += [(number, executor.number, slot) for number in range(useful)]
    slots = [slot for _, _, slot in sorted(numbered, key=lambda entry: entry[:2])]
    return slots or [Slot()] * most_at_once(log.tasks)


def equal_slots(log: EventLog, machines: int) -> list[Slot]:
    """The slots of as many machines, each with as many as those of the run in the middle."""
    by_worker = list(log.slots_by_worker.values())
    each = int(np.median(by_worker)) if by_worker else most_at_once(log.tasks)
    return [Slot()] * min(machines * max(1, each), max(1, len(log.tasks)))


def _as_it_was(log: EventLog, seconds: FloatColumn) -> Durations:
    """No warm-up is told apart: the run's own first tasks are first again."""
    return Durations(seconds=seconds, slot_seconds=seconds * slot_share(log.tasks))


def busy_seconds(began: FloatColumn, finished: FloatColumn) -> float:
    """The length of the union of intervals."""
    if not len(began):
        return 0.0
    order = np.argsort(began, kind="stable")
    began, finished = began[order], finished[order]
    until = np.maximum.accumulate(finished)
    covered_before = np.concatenate([[-np.inf], until[:-1]])
    return float(np.maximum(0.0, until - np.maximum(began, covered_before)).sum())
