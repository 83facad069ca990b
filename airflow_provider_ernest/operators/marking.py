"""Marks beside models that no longer speak for their jobs: kept in the store, and told to who asked."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

    from airflow_provider_ernest.model.documents import Origin
    from airflow_provider_ernest.model.records import ModelMark
    from airflow_provider_ernest.model.storage.catalogue_entry import CatalogueEntry


def new_mark(
    model: CatalogueEntry,
    of_job: Sequence[CatalogueEntry],
    *,
    cause: str,
    reason: str,
    artifact_sha256: str | None,
    origin: Origin | None,
) -> ModelMark | None:
    """The mark of a model; None where its lineage has one of that cause already, or there is no cause.

    Args:
        model: the newest of its lineage.
        of_job: all that the catalogue lists of the job.
        cause: see `records.ModelMark`; empty for none.
        reason: likewise.
        artifact_sha256: of the application that was seen; it counts where that is the cause.
        origin: the task instance that noticed.
    """
    from airflow_provider_ernest.model.identity import new_id
    from airflow_provider_ernest.model.life.freshness import marks_of
    from airflow_provider_ernest.model.records import CODE, ModelMark

    seen = artifact_sha256 if cause == CODE else None
    known = {(mark.cause, mark.artifact_sha256) for mark in marks_of(model, of_job)}
    if not cause or (cause, seen) in known:
        return None
    now = datetime.now(UTC)
    return ModelMark(
        mark_id=new_id(now),
        marked_at=now.isoformat(),
        job=model.job,
        instance_type=model.instance_type,
        model_id=model.id,
        cause=cause,
        reason=reason,
        artifact_sha256=seen,
        origin=origin,
    )


def keep_marks(
    marks: Sequence[ModelMark], *, store: str | None, callbacks: Any, context: Context, log: Any
) -> None:
    """Save marks, see `record_in_time`, and call who wants to know. Nothing of it fails the task.

    Args:
        marks: that are new.
        store: root of the model store; None for the configured one.
        callbacks: see `stale_messages.tell_stale`.
        context: of the task that noticed.
        log: the logger that the marks and what hinders them go to.
    """
    if not marks:
        return
    from airflow_provider_ernest.model.store import ModelStore
    from airflow_provider_ernest.operators.locations import store_root
    from airflow_provider_ernest.operators.recording import record_in_time
    from airflow_provider_ernest.operators.stale_messages import tell_stale

    for mark in marks:
        log.warning("STALE: the model %s of %r. %s", mark.model_id, mark.job, mark.reason)

    def save() -> None:
        model_store = ModelStore(store_root(store))
        for mark in marks:
            model_store.save_mark(mark)

    record_in_time(save, what="That the model is stale", log=log)
    tell_stale(callbacks, context=context, marks=marks, log=log)
