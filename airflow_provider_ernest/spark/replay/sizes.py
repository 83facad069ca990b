"""How long a run would have taken on other numbers of machines (as Sparklens does), warm-up told apart."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog
from airflow_provider_ernest.spark.replay.replaying import Replayed, replay
from airflow_provider_ernest.spark.replay.warm_up import warm_up_of


def replay_sizes(
    log: EventLog, machine_counts: Iterable[int], *, as_it_was: Replayed | None = None
) -> tuple[run_profile.ReplayedSize, ...]:
    """Replay the run on each number of machines; each number once, by ascending number.

    Args:
        log: of the run.
        machine_counts: to replay it on.
        as_it_was: the replay of the same log without any change, where it is at hand.

    Raises:
        EventLogError: no task ended, so that there is nothing to replay.
    """
    as_it_was = as_it_was or replay(log)
    warm_up = warm_up_of(log, as_it_was.plan)
    sizes = []
    for machines in sorted(set(machine_counts)):
        replayed = as_it_was
        if machines != len(log.machines):
            replayed = replay(log, machines=machines, plan=as_it_was.plan, warm_up=warm_up)
        sizes.append(run_profile.ReplayedSize(machines=machines, seconds=replayed.seconds))
    return tuple(sizes)
