"""How long a run would have taken on other numbers of machines (as Sparklens does), warm-up told apart."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog
from airflow_provider_ernest.spark.replay.plan import plan_of
from airflow_provider_ernest.spark.replay.replaying import replay


def replay_sizes(log: EventLog, machine_counts: Iterable[int]) -> tuple[run_profile.ReplayedSize, ...]:
    """Replay the run on each number of machines; each number once, by ascending number.

    Raises:
        EventLogError: no task ended, so that there is nothing to replay.
    """
    plan = plan_of(log)
    return tuple(
        run_profile.ReplayedSize(machines=machines, seconds=replay(log, machines=machines, plan=plan).seconds)
        for machines in sorted(set(machine_counts))
    )
