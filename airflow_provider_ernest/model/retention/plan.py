"""What of a store may go by its age, and what stays in spite of it, with the reason.

What stays is whole: a production run keeps its decision, a decision its models, and a model that has learned
the one that it goes on from. The runs that it has learned from are part of it, so their own documents may go.
Nor does a model look better afterwards: what tells that it no longer speaks for its job stays with it. And as
long as it stays, so does the last that was found of what binds its job.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from airflow_provider_ernest.exceptions import InvalidParameterError
from airflow_provider_ernest.model.records import CODE
from airflow_provider_ernest.model.retention.items import Item, Key
from airflow_provider_ernest.model.storage.catalogue_entry import DECISION, MARK, MODEL, PRODUCTION_RUN
from airflow_provider_ernest.model.storage.stored_documents import BOTTLENECK_REPORT, OBSERVATION, PROFILE

KEEP_MODELS = 5
"""So many newest models of each job and type of machine stay, unless another number is asked for. Models that
have learned count as one with the model that they go on from."""

KEEP_PROFILES = 3
"""So many newest profiles of each job's sample runs, and of its production runs, stay on each type of
machine; and so does the newest report of what binds it."""

SECONDS_PER_DAY = 86_400.0

ORDER = (PRODUCTION_RUN, DECISION, BOTTLENECK_REPORT, MODEL, MARK, OBSERVATION, PROFILE)
"""In this order documents are removed, so that at no moment one that is there lacks what it needs. Marks go
after their model: without its mark a stale one would be taken for fresh."""

YOUNG = "it is young"
REFERS = "refers to it"


@dataclass(frozen=True, kw_only=True)
class RetentionPlan:
    """What goes and what stays.

    Attributes:
        removed: in the order in which they are to be removed.
        kept_because: for each that is old enough to go and stays all the same, why.
        kept: how many stay, by kind.
        event_logs: locations that only removed documents name, by the key of the one that goes last.
    """

    removed: tuple[Item, ...]
    kept_because: Mapping[Key, str]
    kept: Mapping[str, int]
    event_logs: Mapping[Key, tuple[str, ...]]

    @property
    def removed_by_kind(self) -> dict[str, int]:
        """How many go, by kind."""
        return dict(Counter(item.kind for item in self.removed))


def plan_retention(
    items: Iterable[Item], *, now: datetime, older_than_days: float, keep_models: int = KEEP_MODELS
) -> RetentionPlan:
    """What of a store may go.

    Args:
        items: all that is in it.
        now: with its time zone.
        older_than_days: younger documents stay.
        keep_models: so many newest models of each job and type of machine stay, however old; see
            `KEEP_MODELS`.

    Raises:
        InvalidParameterError: an age below 0, or no model of a job were to stay.
    """
    _check(older_than_days, keep_models)
    by_key: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        by_key[item.key].append(item)
    all_items = [item for same in by_key.values() for item in same]
    old = {
        key
        for key, same in by_key.items()
        if all((now - item.at).total_seconds() > SECONDS_PER_DAY * older_than_days for item in same)
    }
    kept: dict[Key, str] = {key: YOUNG for key in by_key if key not in old and key[0] != MARK}
    _keep(kept, _newest_models(all_items, keep_models), by_key)
    _keep(kept, _signs_of_code(all_items, kept), by_key)
    _keep(kept, _marks(by_key, kept, old), by_key)
    _keep(kept, _reports(all_items, kept), by_key)
    _keep(kept, _newest_profiles(all_items), by_key)
    removed = sorted(
        (item for item in all_items if item.key not in kept),
        key=lambda item: (ORDER.index(item.kind), not item.needs, item.at, item.id),
    )
    return RetentionPlan(
        removed=tuple(removed),
        kept_because={key: why for key, why in kept.items() if key in old},
        kept=dict(Counter(item.kind for item in all_items if item.key in kept)),
        event_logs=_free_event_logs(removed, (item for item in all_items if item.key in kept)),
    )


def _check(older_than_days: float, keep_models: int) -> None:
    if not 0 <= older_than_days < float("inf"):
        raise InvalidParameterError(
            "older_than_days",
            older_than_days,
            "is not a number of days of at least 0",
            remedy="Give an age in days, such as 90.",
        )
    if keep_models < 1:
        raise InvalidParameterError(
            "keep_models",
            keep_models,
            "would leave jobs without their newest model",
            remedy="Keep at least 1.",
        )


def _keep(
    kept: dict[Key, str], further: Iterable[tuple[Key, str]], by_key: Mapping[Key, Sequence[Item]]
) -> None:
    """Keep these, too, and all that is needed by what is kept, in turn."""
    for key, why in further:
        kept.setdefault(key, why)
    waiting = list(kept)
    while waiting:
        key = waiting.pop()
        for needed in (each for item in by_key[key] for each in item.needs):
            if needed in by_key and needed not in kept:
                kept[needed] = f"{key[0]} {key[1]}, which stays, {REFERS}"
                waiting.append(needed)


def _newest_models(items: Iterable[Item], keep_models: int) -> Iterator[tuple[Key, str]]:
    models: dict[tuple[str, str], list[Item]] = defaultdict(list)
    for item in items:
        if item.kind == MODEL:
            models[item.job, item.instance_type].append(item)
    why = "it is the newest" if keep_models == 1 else f"it is one of the {keep_models} newest"
    for of_type in models.values():
        newest: dict[str, Item] = {}
        # A model that learns from each run has made a hundred others soon: of a lineage only the last counts.
        for item in sorted(of_type, key=_age, reverse=True):
            newest.setdefault(item.lineage, item)
        yield from (
            (item.key, f"{why} of its job and type of machine")
            for item in islice(newest.values(), keep_models)
        )


def _signs_of_code(items: Sequence[Item], kept: Mapping[Key, str]) -> Iterator[tuple[Key, str]]:
    """The last sign of each job's code, where it makes a model stale that stays, or a marked one fresh again.

    See `freshness.state_of`.
    """
    last: dict[str, Item] = {}
    for item in items:
        if item.kind in (MODEL, PRODUCTION_RUN) and item.artifact_sha256:
            last[item.job] = max(last.get(item.job, item), item, key=_age)
    told = {item.job for item in items if item.cause == CODE}
    for item in items:
        sign = last.get(item.job)
        if sign and item.kind == MODEL and item.key in kept and item.artifact_sha256 != sign.artifact_sha256:
            told.add(item.job)
    yield from ((last[job].key, "it tells what the job's code was last") for job in told if job in last)


def _marks(
    by_key: Mapping[Key, Sequence[Item]], kept: Mapping[Key, str], old: set[Key]
) -> list[tuple[Key, str]]:
    """Marks of lineages that stay, and with them the models they are of; and young ones of no model here."""
    lineages = {item.lineage for key in kept for item in by_key[key] if key[0] == MODEL}
    found = []
    for key, marks in by_key.items():
        if key[0] != MARK:
            continue
        models = [model for mark in marks for need in mark.needs for model in by_key.get(need, ())]
        if any(model.lineage in lineages for model in models):
            found.append((key, "it speaks against a model that stays"))
        elif not models and key not in old:
            found.append((key, YOUNG))
    return found


def _reports(items: Iterable[Item], kept: Mapping[Key, str]) -> Iterator[tuple[Key, str]]:
    """The newest reports of what binds a job: of each model that stays, and on each type of machine."""
    of_model: dict[str, Item] = {}
    of_type: dict[tuple[str, str], Item] = {}
    for item in sorted(items, key=_age):
        if item.kind == BOTTLENECK_REPORT:
            of_type[item.job, item.instance_type] = item
            if (MODEL, item.of_model) in kept:
                of_model[item.of_model] = item
    yield from ((item.key, "it tells what binds the job of a model that stays") for item in of_model.values())
    yield from ((item.key, "it is the newest of its job and type of machine") for item in of_type.values())


def _newest_profiles(items: Iterable[Item]) -> Iterator[tuple[Key, str]]:
    profiles: dict[tuple[str, str, str], list[Item]] = defaultdict(list)
    for item in sorted(items, key=_age, reverse=True):
        if item.kind == PROFILE:
            profiles[item.job, item.instance_type, item.purpose].append(item)
    for of_purpose in profiles.values():
        for item in of_purpose[:KEEP_PROFILES]:
            yield item.key, f"it is one of the {KEEP_PROFILES} newest of its job, type of machine and purpose"


def _age(item: Item) -> tuple[datetime, str]:
    return item.at, item.id


def _free_event_logs(removed: Iterable[Item], kept: Iterable[Item]) -> dict[Key, tuple[str, ...]]:
    """The logs that nothing kept names, by the last of the removed documents that names them."""
    named = {log for item in kept for log in item.event_logs}
    last = {log: item.key for item in removed for log in item.event_logs if log not in named}
    free: dict[Key, list[str]] = defaultdict(list)
    for log, key in last.items():
        free[key].append(log)
    return {key: tuple(logs) for key, logs in free.items()}
