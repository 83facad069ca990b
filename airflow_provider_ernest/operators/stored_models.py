"""For each type of machine: the stored model that speaks for the run at hand, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.model.identity import new_id
from airflow_provider_ernest.model.life.freshness import state_of
from airflow_provider_ernest.model.life.reuse import ReusePolicy, Verdict, judge
from airflow_provider_ernest.model.records import CODE, ModelMark
from airflow_provider_ernest.model.storage.catalogue_entry import entry_of
from airflow_provider_ernest.operators.in_time import in_time

if TYPE_CHECKING:
    from airflow_provider_ernest.model.documents import Origin, RunConditions
    from airflow_provider_ernest.model.results import Model
    from airflow_provider_ernest.model.storage.catalogue_entry import CatalogueEntry
    from airflow_provider_ernest.model.store import ModelStore

MOST_MODELS = 20
"""So many of a job's models are looked at: after a change back, an older one speaks for the job again."""

MOST_SECONDS = 120.0
"""So long the store may take to answer before a training is made without it."""

NO_MODEL = "There is no model yet."


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found for a type of machine.

    Attributes:
        model: to be reused; None where a training is needed.
        verdict: on that one, or on the newest.
        mark: that the newest no longer speaks for the job, where that was not noted before.
    """

    model: Model | None
    verdict: Verdict
    mark: ModelMark | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run at hand.

    Attributes:
        job: the job's name in the store.
        artifact_sha256: of the application as it is now; None where it cannot be taken.
        policy: how long models are good for.
        origin: the task instance that asks.
    """

    job: str
    artifact_sha256: str | None
    policy: ReusePolicy
    origin: Origin


def find_stored(
    store: ModelStore, run: Run, *, conditions: Mapping[str, RunConditions], log: Any
) -> dict[str, Found]:
    """Look for models; whatever hinders that is a warning, and a training.

    Args:
        store: the model store.
        run: what is asked for.
        conditions: by type of machine.
        log: the logger that the warning goes to.
    """

    def find() -> dict[str, Found]:
        of_job = [entry for entry in store.catalogue.entries() if entry.job == run.job]
        return {
            instance_type: _find(store, run, instance_type, now, of_job)
            for instance_type, now in conditions.items()
        }

    try:
        return in_time(find, most_seconds=MOST_SECONDS)
    except (StoreError, TimeoutError) as error:
        log.warning("No stored model is looked at: %s", error)
        return _none(conditions, f"The model store cannot be read: {error}")


def _find(
    store: ModelStore,
    run: Run,
    instance_type: str,
    conditions: RunConditions,
    of_job: Sequence[CatalogueEntry],
) -> Found:
    newest: tuple[Model, Verdict] | None = None
    for model in store.newest_models(run.job, instance_type, limit=MOST_MODELS):
        verdict = judge(
            model,
            artifact_sha256=run.artifact_sha256,
            conditions=conditions,
            state=state_of(entry_of(model), others=of_job),
            policy=run.policy,
            now=datetime.now(UTC),
        )
        if verdict.is_reused:
            # One that is newer, and does not fit, is of another version of the job; both may be needed again.
            return Found(model=model, verdict=verdict)
        newest = newest or (model, verdict)
    if newest is None:
        return Found(model=None, verdict=Verdict(is_reused=False, reason=NO_MODEL))
    return Found(model=None, verdict=newest[1], mark=_mark(store, run, *newest))


def _mark(store: ModelStore, run: Run, model: Model, verdict: Verdict) -> ModelMark | None:
    """The mark of a model that was fresh until now; None where it is marked already, or not for good."""
    if not verdict.cause:
        return None
    seen = run.artifact_sha256 if verdict.cause == CODE else None
    for mark in store.marks(model.job, model.instance_type):
        if (mark.model_id, mark.cause, mark.artifact_sha256) == (model.model_id, verdict.cause, seen):
            return None
    now = datetime.now(UTC)
    return ModelMark(
        mark_id=new_id(now),
        marked_at=now.isoformat(),
        job=model.job,
        instance_type=model.instance_type,
        model_id=model.model_id,
        cause=verdict.cause,
        reason=verdict.reason,
        artifact_sha256=seen,
        origin=run.origin,
    )


def not_asked(types: Iterable[str], *, is_forced: bool) -> dict[str, Found]:
    """What there is where a training is wanted in any case.

    Args:
        types: of machines.
        is_forced: this run asked for it; else all runs train.
    """
    return _none(
        types, "This run was asked to train." if is_forced else "Each run trains: models are not reused."
    )


def _none(types: Iterable[str], reason: str) -> dict[str, Found]:
    return {name: Found(model=None, verdict=Verdict(is_reused=False, reason=reason)) for name in types}
