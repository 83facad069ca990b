"""Why the sample jobs take as long as they do: profiles of runs and reports of them, made up by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.decision.offers import Offer
from airflow_provider_ernest.documents.base import Origin, new_id, new_stamp
from airflow_provider_ernest.documents.decisions import DecisionRecord
from airflow_provider_ernest.documents.models import Model
from airflow_provider_ernest.documents.profiles import (
    PRODUCTION,
    SAMPLE,
    BottleneckReport,
    ProfileRecord,
    ReplayOpinion,
    RunProfile,
    TwoOpinions,
)
from airflow_provider_ernest.settings import Billing
from airflow_provider_ernest.store.store import ModelStore
from tests.choices import choice_of
from tests.examples import sizing_goal
from tests.unit.run_profiles import cpu_bound, hostile, network_bound, reported_of

if TYPE_CHECKING:
    from tests.browser.sample_store import SeededModels

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24)
SAMPLE_RUN = 6
REPLAY_ERROR_PERCENT = 6.0
BEFORE = "app-20260319020000-0041"
"""The last good production run before the newest."""
MARKUP = "<img src=x onerror=alert(1)>"
OF_PRODUCTION: dict[str, Any] = {
    "seconds": 388.0,
    "replayed_seconds": 395.0,
    "headline": "CPU-bound: at most 3 % (11 s of 388 s) from a faster network",
}


def profiled(
    model: Model, profile: RunProfile, *, when: datetime, purpose: str = SAMPLE, origin: Origin | None = None
) -> ProfileRecord:
    """The profile of a run of the model's job."""
    return ProfileRecord(
        **new_stamp(when),
        job=model.job,
        instance_type=model.instance_type,
        purpose=purpose,
        profile=profile,
        origin=origin
        or (model.origin and replace(model.origin, task_id="sizing.sample_run", map_index=SAMPLE_RUN)),
    )


def of_production(profile: RunProfile) -> RunProfile:
    """The same on all of the input."""
    return replace(
        profile,
        application_id="app-20260320020000-0042",
        event_log="s3a://logs/app-20260320020000-0042.zstd",
        scale=1.0,
        executors=8,
        slots=32,
    )


def reported(record: ProfileRecord, model: Model, *, when: datetime) -> BottleneckReport:
    """A report that goes by a profile, without a replay."""
    return BottleneckReport(
        **new_stamp(when),
        job=model.job,
        instance_type=model.instance_type,
        profile_ids=(record.id, new_id(when - timedelta(minutes=9))),
        model_id=model.id,
        origin=record.origin and replace(record.origin, task_id="sizing.bottleneck_report", map_index=-1),
        **reported_of(record.profile),
    )


def replayed(
    report: BottleneckReport,
    offer: Offer,
    *,
    scale: float,
    off: Callable[[int], float] = lambda executors: 1.02,
) -> BottleneckReport:
    """The same with a replay that is so many times what the model says of each number of machines."""
    goal = sizing_goal(objective="cheapest", scale=scale)
    considered = choice_of(replace(offer, executors=SIZES), goal=goal)
    sizes = [
        TwoOpinions(
            executors=each.executors,
            replayed_seconds=each.seconds * off(each.executors),
            model_seconds=each.seconds,
            nearly_certain_seconds=each.nearly_certain_seconds,
        )
        for each in considered.alternatives
    ]
    opinion = ReplayOpinion(
        scale=scale,
        sizes=tuple(sizes),
        from_application_id=report.application_id,
        from_scale=report.scale,
        error_percent=REPLAY_ERROR_PERCENT,
    )
    return replace(report, replay=opinion)


def slower_on_many(executors: int) -> float:
    """A replay that sees skew on many machines, where the model does not."""
    return 1.01 + 0.2 * max(0, executors - 6)


def add_explanations(store: ModelStore, seeded: SeededModels) -> None:
    """Add reports and profiles to what the browser tests seed.

    "nightly_join": a report whose replay disagrees on many machines, on another type one that agrees, and a
    production run. "daily_report": a report of the version
    of sample runs alone, by tasks that waited for nothing. And the model whose names are markup.
    """
    nightly, drifting = seeded.nightly_join, seeded.drifting
    scale = store.newest(DecisionRecord, nightly.job, nightly.instance_type, limit=1)[-1].scale
    # The last of the decisions is what the page asks at first.
    report = _add(store, nightly, network_bound())
    store.save(replayed(report, _offer(nightly), scale=scale, off=slower_on_many))
    store.save(replayed(_add(store, drifting, cpu_bound()), _offer(drifting), scale=scale))
    newest = of_production(cpu_bound(**OF_PRODUCTION))
    store.save(profiled(nightly, newest, when=_after(nightly), purpose=PRODUCTION))
    before = replace(
        newest, application_id=BEFORE, startup_seconds=newest.startup_seconds + 50.0, spark="4.0.0"
    )
    before = replace(
        before, stages=tuple(replace(each, name=f"{MARKUP} {each.name}") for each in before.stages)
    )
    store.save(profiled(nightly, before, when=_after(nightly) - timedelta(days=1), purpose=PRODUCTION))
    (base,) = (
        model
        for model in store.newest(Model, seeded.learned.job, seeded.learned.instance_type)
        if model.id == seeded.learned.base_model_id
    )
    store.save(_add(store, base, cpu_bound()))
    store.save(
        replayed(_add(store, seeded.hostile, hostile(seeded.hostile.job)), _offer(seeded.hostile), scale=1.0)
    )


def _add(store: ModelStore, model: Model, profile: RunProfile) -> BottleneckReport:
    """Save the profile; returns a report that goes by it."""
    record = profiled(model, profile, when=_after(model))
    store.save(record)
    return reported(record, model, when=_after(model) + timedelta(minutes=1))


def _after(model: Model) -> datetime:
    return datetime.fromisoformat(model.at) + timedelta(minutes=1)


def _offer(model: Model) -> Offer:
    return Offer(model=model, executors=SIZES, billing=Billing(price_per_hour=1.0))
