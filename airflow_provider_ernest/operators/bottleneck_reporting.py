"""The report of what binds a job, made of the profiles of its sample runs and of the model fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from airflow_provider_ernest.model.bottleneck_table import disagreement
from airflow_provider_ernest.model.bottlenecks import SAMPLE, BottleneckReport, ProfileRecord
from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.operators.replay_opinion import replay_opinion

if TYPE_CHECKING:
    from airflow_provider_ernest.model.documents import Observation, Origin
    from airflow_provider_ernest.model.results import Model
    from airflow_provider_ernest.model.store import ModelStore

NEWER_PROFILES = 100
"""So many more than a training has runs are looked through: other runs of the job may have come between."""


def profiles_of(
    observations: Sequence[Observation], *, job: str, store: ModelStore
) -> tuple[ProfileRecord, ...]:
    """The stored profiles of some sample runs, the run first that is most like production.

    That is the one with the largest share of the input, and of those the one on the most machines.

    Raises:
        StoreError: the store cannot be read.
    """
    wanted = {run.application_id: run for run in observations if run.application_id}
    found: dict[str, ProfileRecord] = {}
    for instance_type in sorted({run.instance_type for run in observations}):
        for record in store.profiles(job, instance_type, limit=len(observations) + NEWER_PROFILES):
            if record.purpose == SAMPLE and record.profile.application_id in wanted:
                found[record.profile.application_id] = record
    return tuple(
        sorted(
            found.values(),
            key=lambda record: (record.profile.scale, record.profile.machines, record.profile_id),
            reverse=True,
        )
    )


def report_of(
    records: Sequence[ProfileRecord],
    model: Model | None,
    *,
    machines: Sequence[int],
    scale: float,
    iterations: int | None,
    origin: Origin | None,
) -> BottleneckReport:
    """The report of some runs.

    Args:
        records: their profiles, at least one, the run first that the report is to go by.
        model: that was fitted to the runs; None where there is none.
        machines: the numbers that production may have.
        scale: of production's input.
        iterations: of production, for iterative jobs.
        origin: the task instance that reports.
    """
    first = records[0]
    profile = first.profile
    opinion = replay_opinion(
        [record.profile for record in records], model, machines=machines, scale=scale, iterations=iterations
    )
    apart = disagreement(opinion)
    now = datetime.now(UTC)
    return BottleneckReport(
        report_id=new_id(now),
        reported_at=now.isoformat(),
        job=first.job,
        instance_type=first.instance_type,
        profile_ids=tuple(record.profile_id for record in records),
        application_id=profile.application_id,
        scale=profile.scale,
        machines=profile.machines,
        category=profile.category,
        bottleneck=profile.bottleneck,
        headline=profile.headline,
        limits=profile.limits,
        straggler_causes=profile.straggler_causes,
        advice=profile.advice,
        replay=opinion,
        model_id=model.model_id if model else None,
        warnings=(*([apart] if apart else ()), *profile.warnings),
        origin=origin,
    )
