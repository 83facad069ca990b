"""The report of what binds a job, from the profiles of its sample runs and the model fitted to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from airflow_provider_ernest.clarity.replay_dynamic import thinned
from airflow_provider_ernest.clarity.replay_scaled import replay_scaled
from airflow_provider_ernest.decision.offers import NEARLY_CERTAIN, Offer
from airflow_provider_ernest.documents.base import Origin, new_stamp
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import (
    SAMPLE,
    BottleneckReport,
    ProfileRecord,
    ReplayOpinion,
    RunProfile,
)
from airflow_provider_ernest.documents.runs import Observation
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.store.store import ModelStore
from airflow_provider_ernest.words import duration, percentage

# Profiles looked through beyond a training's number of runs: other runs of the job may have come between.
_NEWER_PROFILES = 100

_MOST_SIZES = 48  # of more numbers of executors so many are replayed
_LEAST_PERCENT = 0.5  # less is not worth a line

# Fields of the report that come from the first run's profile.
_OF_PROFILE = (
    *("application_id", "scale", "executors", "category", "bottleneck", "headline"),
    *("limits", "straggler_causes", "advice"),
)


def profiles_of(
    observations: Sequence[Observation], *, job: str, store: ModelStore
) -> tuple[ProfileRecord, ...]:
    """The stored profiles of some sample runs; first those with the largest scale and the most executors.

    Raises:
        StoreError: the store cannot be read.
    """
    wanted = {run.application_id for run in observations if run.application_id}
    found: dict[str, ProfileRecord] = {}
    for instance_type in sorted({run.instance_type for run in observations}):
        for record in store.newest(
            ProfileRecord, job, instance_type, limit=len(observations) + _NEWER_PROFILES
        ):
            if record.purpose == SAMPLE and record.profile.application_id in wanted:
                found[record.profile.application_id] = record
    return tuple(
        sorted(
            found.values(),
            key=lambda record: (record.profile.scale, record.profile.executors, record.id),
            reverse=True,
        )
    )


def report_of(
    records: Sequence[ProfileRecord],
    model: Model | None,
    *,
    executors: Sequence[int],
    scale: float,
    iterations: int | None,
    origin: Origin | None,
) -> BottleneckReport:
    """The report of some runs, at least one: by the first of their profiles."""
    first = records[0]
    opinion = replay_opinion(
        [record.profile for record in records], model, executors=executors, scale=scale, iterations=iterations
    )
    return BottleneckReport(
        **new_stamp(),
        job=first.job,
        instance_type=first.instance_type,
        profile_ids=tuple(record.id for record in records),
        **{name: getattr(first.profile, name) for name in _OF_PROFILE},
        replay=opinion,
        model_id=model.id if model else None,
        warnings=(*([opinion.disagreement] if opinion.disagreement else ()), *first.profile.warnings),
        origin=origin,
    )


def replay_opinion(
    profiles: Sequence[RunProfile],
    model: Model | None,
    *,
    executors: Sequence[int],
    scale: float = 1.0,
    iterations: int | None = None,
) -> ReplayOpinion:
    """The replay of a job's sample runs on production's executors, beside its model's predictions."""
    silent = ReplayOpinion(scale=scale, iterations=iterations)
    if iterations is not None and any(profile.iterations is None for profile in profiles):
        return replace(
            silent,
            problem=f"The runs' numbers of iterations are unknown, so {iterations} iterations cannot be "
            "replayed.",
        )
    counts = thinned(executors, _MOST_SIZES)
    try:
        replayed = replay_scaled(
            profiles,
            executors=counts,
            scale=scale,
            executor_cores=max(profile.slots // profile.executors for profile in profiles),
            iterations=iterations,
        )
        if model is None or not replayed.sizes:
            return replayed
        # Any price: only seconds are asked for.
        offer = Offer(model=model, executors=counts, billing=Billing(price_per_hour=1.0))
        forecast = offer.forecast(scale=scale, iterations=iterations)
        bounds = np.transpose(forecast.interval(NEARLY_CERTAIN)).tolist()
    except ErnestError as error:
        return replace(silent, problem=error.message)
    startup = model.startup_seconds
    sizes = tuple(
        replace(
            size,
            replayed_seconds=size.replayed_seconds + startup,
            model_seconds=seconds + startup,
            nearly_certain_seconds=(startup + low, startup + high),
        )
        for size, seconds, (low, high) in zip(replayed.sizes, forecast.seconds.tolist(), bounds, strict=True)
    )
    return replace(replayed, sizes=sizes)


def bottleneck_table(report: BottleneckReport) -> list[str]:
    """A report as lines of text: what binds the job, what could be won, and what to change."""
    return [
        report.headline,
        *(
            f"  without waiting for {limit.resource}: {duration(limit.seconds_without)}, "
            f"{percentage(limit.improvement_percent)} less at most"
            for limit in report.limits
            if limit.improvement_percent >= _LEAST_PERCENT
        ),
        *(f"  {each.text} ({each.figure}) {each.documentation}".rstrip() for each in report.advice),
    ]
