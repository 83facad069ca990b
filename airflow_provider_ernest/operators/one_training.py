"""Of runs of a job at the same time one trains; the others wait for its model."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.operators.stored_models import MOST_SECONDS
from airflow_provider_ernest.operators.task_context import in_time, origin_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.store.leases import TrainingLease, TrainingLeases

_ENDED = {"success", "failed", "skipped", "upstream_failed", "removed"}
"""States in which Airflow does not start a task any more."""


class Turn(NamedTuple):
    """Whether a run trains.

    Attributes:
        waits_for: the training of another run; None where this one trains.
        left_seconds: how long that may still be waited for.
        is_first: nobody else has trained before, whose model may have come meanwhile.
    """

    waits_for: TrainingLease | None = None
    left_seconds: float = 0.0
    is_first: bool = True


def take_turn(
    leases: TrainingLeases, tasks: Sequence[str], *, most_seconds: float, context: Context, log: Any
) -> Turn:
    """Train, or wait for whoever does. Whatever hinders that is a warning, and a training.

    Args:
        leases: on the job.
        tasks: ids of the training's tasks in this DAG run.
        most_seconds: after which a training is not waited for any more.
        context: of the task that asks.
        log: its logger.
    """
    try:
        return _take_turn(leases, tasks, most_seconds=most_seconds, context=context)
    except (StoreError, TimeoutError) as error:
        log.warning("Other runs of the job may train at the same time: %s", error)
        return Turn()


def _take_turn(
    leases: TrainingLeases, tasks: Sequence[str], *, most_seconds: float, context: Context
) -> Turn:
    from airflow_provider_ernest.store.leases import TrainingLease

    origin = origin_of(context)
    while True:
        number, held = in_time(leases.newest, most_seconds=MOST_SECONDS)
        now = datetime.now(UTC)
        if held is not None:
            # Another try of the same task goes on with its own training.
            if replace(held.origin, try_number=origin.try_number) == origin:
                return Turn()
            left_seconds = most_seconds - (now - held.taken_at).total_seconds()
            if left_seconds > 0 and not _has_ended(held, context):
                return Turn(held, left_seconds)
        own = TrainingLease(origin=origin, tasks=tuple(tasks), taken_at=now)
        if in_time(partial(leases.take, number + 1, own), most_seconds=MOST_SECONDS):
            return Turn(is_first=number == 0)


def _has_ended(lease: TrainingLease, context: Context) -> bool:
    """Whether a training has, as Airflow tells. One of another Airflow on the same store it does not know."""
    origin = lease.origin
    found = context["ti"].get_task_states(
        dag_id=origin.dag_id, task_ids=list(lease.tasks), run_ids=[origin.run_id]
    )
    states = {str(state) for state in found.get(origin.run_id, {}).values()}
    return bool(states) and states <= _ENDED


_LOOKS_SECONDS = 60.0
"""Between two looks at who trains."""

_LATE_SECONDS = 600.0
"""So much later than it was to a triggerer may end a wait; where there is none, the task fails then."""


def look_again_in(left_seconds: float) -> dict[str, Any]:
    """Arguments of an operator's `defer` until the next look, or until the training is too old."""
    from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger

    pause = timedelta(seconds=min(_LOOKS_SECONDS, left_seconds))
    return {"trigger": TimeDeltaTrigger(pause), "timeout": pause + timedelta(seconds=_LATE_SECONDS)}
