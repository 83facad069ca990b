"""What a job's runs say of dynamic allocation, for the task that decides on bounds.

A module of its own since it loads the mathematics, which a DAG file that is parsed should not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.clarity.bottleneck_report import profiles_of
from airflow_provider_ernest.clarity.profile import profile_run
from airflow_provider_ernest.clarity.replay_dynamic import bounds_to_try
from airflow_provider_ernest.clarity.replay_scaled import replay_allocations
from airflow_provider_ernest.eventlog.reading import read_event_log
from airflow_provider_ernest.exceptions import ErnestError
from airflow_provider_ernest.hooks.store_location import store_root
from airflow_provider_ernest.places import place_of
from airflow_provider_ernest.store.store import ModelStore

if TYPE_CHECKING:
    from airflow_provider_ernest.decision.deciding import Offered
    from airflow_provider_ernest.decision.offers import Offer
    from airflow_provider_ernest.documents.models import Model
    from airflow_provider_ernest.documents.profiles import RunProfile
    from airflow_provider_ernest.settings import SizingGoal

MOST_LOGS = 3  # so many are tried, the newest runs' first, where no run has left a profile


def with_allocations(
    offered: Offered, goal: SizingGoal, *, store: str | None, iterations: int | None, log: Any
) -> Offered:
    """Add what each type's runs say of dynamic allocation: by stored profiles, else by an event log."""

    def completed(offer: Offer) -> Offer:
        profiles = _profiles(offer.model, store=store, log=log)
        allocations = replay_allocations(
            profiles,
            allowed=bounds_to_try(offer.counts),
            scale=goal.scale * offer.input_growth,
            executor_cores=max((each.slots // each.executors for each in profiles), default=1),
            iterations=iterations,
        )
        return replace(offer, allocations=allocations)

    return replace(offered, offers=[completed(offer) for offer in offered.offers])


def _profiles(model: Model, *, store: str | None, log: Any) -> list[RunProfile]:
    try:
        records = profiles_of(model.observations, job=model.job, store=ModelStore(store_root(store)))
        if records:
            return [record.profile for record in records]
    except ErnestError as error:
        log.warning("The profiles of the job's runs cannot be read: %s", error)
    for run in [run for run in reversed(model.observations) if run.event_log][:MOST_LOGS]:
        try:
            return [profile_run(read_event_log(place_of(run.event_log)), scale=run.scale)]
        except ErnestError as error:
            log.warning("A run cannot be replayed: %s", error)
    return []
