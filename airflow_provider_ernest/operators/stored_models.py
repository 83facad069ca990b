"""For each type of machine: the stored model that holds for the run at hand, or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow_provider_ernest.documents.models import Model, ModelMark
from airflow_provider_ernest.exceptions import StoreError
from airflow_provider_ernest.learning.conditions import is_other_code
from airflow_provider_ernest.learning.freshness import SEEN_DIRECTLY, Lineage
from airflow_provider_ernest.learning.reuse import Verdict, judge
from airflow_provider_ernest.operators.marking import new_mark
from airflow_provider_ernest.operators.task_context import in_time
from airflow_provider_ernest.store.catalogue import MODEL, entry_of

if TYPE_CHECKING:
    from airflow_provider_ernest.documents.base import Origin
    from airflow_provider_ernest.documents.runs import RunConditions
    from airflow_provider_ernest.settings import Reuse
    from airflow_provider_ernest.store.catalogue import CatalogueEntry
    from airflow_provider_ernest.store.store import ModelStore

MOST_MODELS = 20
"""So many of a job's models are looked at, and so many earlier lineages: after a change back, an older one
holds for the job again."""

MOST_SECONDS = 120.0
"""So long the store may take to answer before a training is made without it."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What was found for a type of machine.

    Attributes:
        model: to be reused; None where a training is needed.
        verdict: on that one, or on the newest.
        mark: that the newest no longer holds for the job, where that was not noted of its lineage before.
    """

    model: Model | None
    verdict: Verdict
    mark: ModelMark | None = None


@dataclass(frozen=True, kw_only=True)
class Run:
    """The run at hand: of which job, by which code, and which models are good enough for it."""

    job: str
    artifact_sha256: str | None
    reuse: Reuse
    max_error_percent: float | None
    origin: Origin


def find_stored(
    store: ModelStore, run: Run, *, conditions: Mapping[str, RunConditions], log: Any
) -> dict[str, Found]:
    """Look for models, by type of machine; whatever hinders that is a warning, and a training."""

    def find() -> dict[str, Found]:
        of_job = store.catalogue.entries(run.job)
        return {
            instance_type: _find(store, run, instance_type, now, of_job)
            for instance_type, now in conditions.items()
        }

    try:
        return in_time(find, most_seconds=MOST_SECONDS)
    except (StoreError, TimeoutError) as error:
        log.warning("No stored model is looked at: %s", error)
        return none_found(conditions, f"The model store cannot be read: {error}")


def none_found(types: Iterable[str], reason: str) -> dict[str, Found]:
    """No model for any of the types of machines, and why."""
    return {name: Found(model=None, verdict=Verdict(is_reused=False, reason=reason)) for name in types}


def _find(
    store: ModelStore,
    run: Run,
    instance_type: str,
    conditions: RunConditions,
    of_job: Sequence[CatalogueEntry],
) -> Found:
    newest: tuple[Model, Lineage, Verdict] | None = None
    for model in _candidates(store, run, instance_type, of_job):
        lineage = Lineage(entry_of(model), of_job)
        verdict = judge(
            model,
            artifact_sha256=run.artifact_sha256,
            conditions=conditions,
            # What is compared here anew must not cover what is not.
            state=lineage.state(passed_over=SEEN_DIRECTLY),
            reuse=run.reuse,
            max_error_percent=run.max_error_percent,
            now=datetime.now(UTC),
        )
        if verdict.is_reused:
            # One that is newer, and does not fit, is of another version of the job; both may be needed again.
            return Found(model=model, verdict=verdict)
        newest = newest or (model, lineage, verdict)
    if newest is None:
        return Found(model=None, verdict=Verdict(is_reused=False, reason="There is no model yet."))
    model, lineage, verdict = newest
    if model.origin is not None and model.origin.dag_id != run.origin.dag_id:
        # It may well hold for that one's job: two jobs that are called alike make no model stale.
        told = (
            f"{verdict.reason} DAG {model.origin.dag_id} trained it: if its job is another, give each a name "
            "of its own (SparkJob.name)."
        )
        return Found(model=None, verdict=replace(verdict, reason=told))
    mark = new_mark(
        lineage,
        cause=verdict.cause,
        reason=verdict.reason,
        artifact_sha256=run.artifact_sha256,
        origin=run.origin,
    )
    return Found(model=None, verdict=verdict, mark=mark)


def _candidates(
    store: ModelStore, run: Run, instance_type: str, of_job: Sequence[CatalogueEntry]
) -> Iterator[Model]:
    """The newest models, and then the newest of each earlier lineage, newest first; read as asked for.

    Each production run may add a model to its lineage, so that the newest may all be of one.
    """
    known: set[str] = set()
    for model in store.newest_first(Model, run.job, instance_type, limit=MOST_MODELS):
        known.add(model.base_model_id or model.id)
        yield model
    models = [entry for entry in of_job if entry.kind == MODEL and entry.instance_type == instance_type]
    left = MOST_MODELS
    for entry in sorted(models, key=lambda entry: entry.id, reverse=True):
        lineage = entry.base_model_id or entry.id
        if lineage in known or is_other_code(entry.artifact_sha256, run.artifact_sha256) or not left:
            continue
        known.add(lineage)
        left -= 1
        try:
            yield store.load(Model, run.job, instance_type, entry.id)
        except StoreError:  # such as one that was removed meanwhile
            continue
