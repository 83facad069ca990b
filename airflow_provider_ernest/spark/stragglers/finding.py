"""Tasks that held their stage up, why, and what they cost (Ousterhout and others, NSDI 2015, section 2.7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from airflow_provider_ernest.model.documents import run_profile
from airflow_provider_ernest.spark.log_reading.tables import EventLog, FloatColumn, IntColumn
from airflow_provider_ernest.spark.replay.replaying import Replayed, replay
from airflow_provider_ernest.spark.stragglers.causes import Measured, causes, measured
from airflow_provider_ernest.spark.stragglers.evidence import evidence

TIMES_THE_MEDIAN = 1.5
LEAST_EXCESS_SECONDS = 0.1
"""Tasks of milliseconds differ by more than half, and nobody waits for them."""

WORST = 20
"""As many are told one by one."""


@dataclass(frozen=True, kw_only=True)
class Stragglers:
    """Those of a run.

    Attributes:
        worst: with the largest excess, the largest first; at most `WORST`.
        causes: of all of them, with the largest excess first.
        by_stage: how many each stage had, by Spark's number and the attempt; stages without are not there.
    """

    worst: tuple[run_profile.Straggler, ...]
    causes: tuple[run_profile.StragglerCause, ...]
    by_stage: Mapping[tuple[int, int], int]

    @property
    def count(self) -> int:
        """How many there were."""
        return sum(self.by_stage.values())


def find_stragglers(log: EventLog, *, as_it_was: Replayed | None = None) -> Stragglers:
    """Find the tasks that succeeded and took over 1.5 times the median of their stage, and why.

    Args:
        log: of the run.
        as_it_was: the replay of the same log without any change, where it is at hand.

    Raises:
        EventLogError: no task ended.
    """
    as_it_was = as_it_was or replay(log)
    facts = measured(log, as_it_was.plan)
    excess = facts.seconds - facts.median_seconds
    late = log.tasks.succeeded & (facts.seconds > TIMES_THE_MEDIAN * facts.median_seconds)
    rows = np.flatnonzero(late & (excess >= LEAST_EXCESS_SECONDS))
    rows = rows[np.lexsort((log.tasks.task_id[rows], -excess[rows]))]
    found = causes(facts, rows)
    keys = zip(log.tasks.stage_id[rows].tolist(), log.tasks.stage_attempt[rows].tolist(), strict=True)
    return Stragglers(
        worst=tuple(
            _straggler(log, facts, row, cause)
            for row, cause in zip(rows[:WORST].tolist(), found, strict=False)
        ),
        causes=_by_cause(log, as_it_was, rows, excess[rows], found, facts.median_seconds),
        by_stage=Counter(keys),
    )


def _straggler(log: EventLog, facts: Measured, row: int, cause: str) -> run_profile.Straggler:
    tasks = log.tasks
    hosts = {executor.number: executor.host for executor in log.executors}
    host = hosts.get(int(tasks.executor[row]), "")
    return run_profile.Straggler(
        stage_id=int(tasks.stage_id[row]),
        task_id=int(tasks.task_id[row]),
        host=host,
        seconds=float(facts.seconds[row]),
        median_seconds=float(facts.median_seconds[row]),
        cause=cause,
        evidence=evidence(facts, row, cause, host=host),
    )


def _by_cause(
    log: EventLog,
    as_it_was: Replayed,
    rows: IntColumn,
    excess: FloatColumn,
    found: list[str],
    medians: FloatColumn,
) -> tuple[run_profile.StragglerCause, ...]:
    if not found:
        return ()
    names = np.array(found)
    told = []
    for cause in sorted(set(found)):
        of_cause = names == cause
        seconds = log.tasks.seconds.copy()
        seconds[rows[of_cause]] = medians[rows[of_cause]]
        without = replay(log, task_seconds=seconds, plan=as_it_was.plan).seconds
        told.append(
            run_profile.StragglerCause(
                cause=cause,
                tasks=int(of_cause.sum()),
                excess_seconds=float(excess[of_cause].sum()),
                # As in `blocked_time`, an anomaly of list scheduling is no gain.
                seconds_without=min(as_it_was.seconds, without),
            )
        )
    return tuple(sorted(told, key=lambda cause: -cause.excess_seconds))
